"""What `monitor` takes. Imports nothing heavier than the argument parser."""

import argparse
import re

from ragworthy.cli.flags import above_zero, number, quiet


def monitor_flags(one: argparse.ArgumentParser) -> None:
    """Every flag of `monitor`."""
    one.add_argument("logs", nargs="*", metavar="LOG",
                     help="logs: files (.jsonl, .gz, .zst, .parquet), folders or patterns; "
                          "or: export prometheus-rules|grafana")  # fmt: skip
    one.add_argument("--once", action="store_true", help="read to the end and exit: 1 when an alert fired (default)")
    one.add_argument("--follow", action="store_true", help="go on as the logs grow, across rotation, until stopped")
    one.add_argument("--listen", metavar="HOST:PORT",
                     help="take spans over HTTP (OTLP: POST /v1/traces) and serve /metrics, until stopped")  # fmt: skip
    one.add_argument("--token-env", metavar="NAME",
                     help="the variable with the token that senders must show; needed beyond this machine")  # fmt: skip
    one.add_argument("--alerts", metavar="FILE", help="write alerts as lines of JSON; appended where a state is kept")
    one.add_argument("--webhook", metavar="URL", help="post each alert here, with retries")
    one.add_argument("--state", metavar="FILE",
                     help="go on where the last run ended (--follow, --listen: .ragworthy/monitor.db)")  # fmt: skip
    one.add_argument("--close", action="store_true", help="with --state: the logs have ended, judge their last minutes")
    one.add_argument("--baseline", metavar="FILE",
                     help="what was accepted: the JSON that monitor wrote of it, or times in ms")  # fmt: skip
    one.add_argument("--alarms", metavar="FILE",
                     help="alarms with a budget of false ones, against --baseline: settings, or {}")  # fmt: skip
    one.add_argument("--corpus", metavar="DIR|FILE", help="the index or its chunks: do citations resolve?")
    one.add_argument("--refusal-pack", action="append", default=[], metavar="LANGUAGE",
                     help="what counts as a refusal besides 'not in context' (repeatable)")  # fmt: skip
    one.add_argument("--lateness", type=_seconds, default=60, metavar="SECONDS",
                     help="how long after a later record one may come (default: 60)")  # fmt: skip
    one.add_argument("--sample", type=_share, default=1.0, metavar="SHARE",
                     help="look at this share of the records, chosen by their keys (default: all)")  # fmt: skip
    one.add_argument("--days", type=_days, default=30, metavar="N", help="keep minutes and alerts so long (30 to 90)")
    one.add_argument("--out", metavar="FILE|DIR", help="with export: where it goes (rules: stdout where not given)")
    one.add_argument("--by", action="append", default=[], type=_label, metavar="LABEL",
                     help="with export prometheus-rules: judge each value of a label apart (repeatable)")  # fmt: skip
    one.add_argument("--format", choices=("text", "json"), default="text", help="format of stdout in the end")
    quiet(one)


def _label(text: str) -> str:
    if not re.fullmatch("[a-zA-Z_][a-zA-Z0-9_]*", text):
        raise argparse.ArgumentTypeError("expected the name of a label: letters, digits and _")
    return text


def _seconds(text: str) -> int:
    return number(text, 0, 3600)


def _days(text: str) -> int:
    return number(text, 30, 90)


def _share(text: str) -> float:
    return above_zero(text, 1.0, "a share above 0 and up to 1")
