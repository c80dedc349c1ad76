"""What `rollout` and `mirror` take. Imports nothing heavier than the argument parser."""

import argparse

from ragworthy.cli.driving import TARGET, seconds
from ragworthy.cli.flags import SEVERAL, count, jobs, number, quiet, whole
from ragworthy.cli.parser import command

LEDGER = ".ragworthy/rollout.jsonl"


def rollouts(group: argparse.ArgumentParser) -> None:
    """Every verb of `rollout`."""
    verbs = group.add_subparsers(dest="verb", metavar="VERB", required=True)
    _start(
        command(verbs, "start", "begin one: which build wants the place of which, and by what rules", "rollout:start")
    )

    one = command(verbs, "status", "where it stands, and who moved it on what", "rollout:status")
    one.add_argument("--verify", action="store_true", help="look whether the file and its reports are as they were")
    one.add_argument("--head", metavar="HASH", help="a hash that was shown before: lines after it were cut off unless "
                     "it is there")  # fmt: skip
    _form(one)
    ledger_flag(one)

    one = command(verbs, "check", "exit 0 to go on, 1 to roll back, 3 to wait, 4 for a broken file", "rollout:check")
    _logs(one)
    _evidence(one)
    one.add_argument("-o", "--output", metavar="FILE", help="write the check as JSON")
    _form(one)
    quiet(one)
    ledger_flag(one)

    one = command(verbs, "advance", "to the next stage, where the evidence allows it", "rollout:advance")
    one.add_argument(
        "--to", metavar="STAGE", help="only if this is next, as status shows it: eligible, 'canary 5 %%', …"
    )
    _signed(one)
    _evidence(one)
    _logs(one)
    ledger_flag(one)

    one = command(verbs, "rollback", "take it back, from wherever it stands; needs no evidence", "rollout:rollback")
    _signed(one)
    _evidence(one)
    ledger_flag(one)


def _start(one: argparse.ArgumentParser) -> None:
    one.add_argument("name", metavar="NAME", help="what the rollout is called")
    one.add_argument("--live", required=True, metavar="BUILD", help="the build in use, as live records name it")
    one.add_argument("--shadow", required=True, metavar="BUILD", help="the build that wants its place")
    one.add_argument("--shares", default="0.05,0.10", metavar="LIST",
                     help="shares of the traffic, one after the other (default: 0.05,0.10)")  # fmt: skip
    one.add_argument("--hold", type=lambda text: number(text, 1, 100_000), default=60, metavar="MINUTES",
                     help="how long each share is held at least (default: 60)")  # fmt: skip
    one.add_argument("--p95-ms", default="2000", metavar="MS", help="the target of p95 (default: 2000)")
    one.add_argument("--error-rate", metavar="RATE",
                     help="what errors are compared with (default: the rate of the live side)")  # fmt: skip
    one.add_argument("--alerts", metavar="LIST",
                     help="alerts that take it back in two windows in a row, or all (default: the seven of the page "
                     "that says so)")  # fmt: skip
    _signed(one)
    ledger_flag(one)


def _signed(one: argparse.ArgumentParser) -> None:
    one.add_argument("--by", required=True, metavar="NAME", help="who does it")
    one.add_argument("--reason", required=True, metavar="TEXT", help="why")
    one.add_argument("--at", metavar="TIME", help="when it was done, where it is told afterwards (default: now)")


def _evidence(one: argparse.ArgumentParser) -> None:
    one.add_argument(
        "--receipt", metavar="RECEIPT|BUNDLE", help="a verdict that is derived again, the stronger evidence"
    )
    one.add_argument("--report", metavar="FILE", help="a JSON report; it leads as far as the canary, not to promotion")
    one.add_argument("--jobs", type=jobs, metavar="N", help="how many processes derive it (default: one for each core)")


def _logs(one: argparse.ArgumentParser) -> None:
    log_flags(one)
    one.add_argument("--until", metavar="TIME|now", help="look at the records up to here (default: the last one)")


def log_flags(one: argparse.ArgumentParser) -> None:
    """Where live traffic is."""
    one.add_argument("--log", action="append", default=[], metavar="LOG",
                     help="live records of both builds: a file, a folder or a pattern (repeatable)")  # fmt: skip
    one.add_argument("--live-log", action="append", default=[], metavar="LOG", help="those of the live side alone")
    one.add_argument("--canary-log", action="append", default=[], metavar="LOG", help="those of the canary alone")


def _form(one: argparse.ArgumentParser) -> None:
    one.add_argument("--format", choices=("text", "json"), default="text", help="format of stdout")


def ledger_flag(one: argparse.ArgumentParser) -> None:
    """Which rollout."""
    one.add_argument("--ledger", default=LEDGER, metavar="FILE",
                     help=f"the file that keeps every move (default: {LEDGER})")  # fmt: skip


def mirror_flags(one: argparse.ArgumentParser) -> None:
    """What `mirror` takes."""
    one.add_argument("--live", required=True, metavar="LOG|TARGET",
                     help="a log with questions and answers, or the pipeline in use, which is asked too")  # fmt: skip
    one.add_argument("--shadow", required=True, metavar="TARGET", help=TARGET)
    one.add_argument("--questions", **SEVERAL, metavar="FILE",
                     help="with a live TARGET: where questions come from, a log, a gold set or lines")  # fmt: skip
    one.add_argument("--share", default="0.01", metavar="SHARE", help="which share of the questions (default: 0.01)")
    one.add_argument("--out", required=True, metavar="DIR", help="where the journal, the records and the report go")
    one.add_argument("--resume", action="store_true", help="go on where an earlier run stopped")
    one.add_argument("--gold", metavar="FILE", help="the frozen gold set, asked and judged too")
    one.add_argument("--gold-live", metavar="FILE", help="traces of the live side over it, where live is a log")
    one.add_argument("--redirects", **SEVERAL, metavar="FILE", help="where ids of the gold set moved (repeatable)")
    one.add_argument("--live-corpus", metavar="DIR|FILE", help="the live index or its chunks: texts and places")
    one.add_argument("--shadow-corpus", metavar="DIR|FILE", help="the shadow index or its chunks")
    one.add_argument("--delta-s", default="auto", metavar="HOW",
                     help="calibrated, recorded, or a model for raw distances (default: calibrated where the lock is, "
                     "else wordllama)")  # fmt: skip
    one.add_argument("--lock", metavar="FILE", help="the lock with the calibration of ΔS (default: beside --gold)")
    one.add_argument("--live-build", default="live", metavar="NAME", help="what records call the live build")
    one.add_argument("--shadow-build", default="shadow", metavar="NAME", help="what records call the shadow")
    one.add_argument("--max-uncited", default="0", metavar="SHARE",
                     help="how many answers of the shadow may not cite first (default: 0)")  # fmt: skip
    _limited(one)
    one.add_argument("-o", "--output", action="append", default=[], metavar="FILE",
                     help="write the report (repeatable); format by suffix: .json .md .txt")  # fmt: skip
    one.add_argument("--format", choices=("text", "json", "markdown"), default="text", help="format of stdout")
    quiet(one)


def _limited(one: argparse.ArgumentParser) -> None:
    """How fast and how much is asked."""
    one.add_argument("--budget", type=whole, metavar="N", help="so many requests at most, over all runs of a folder")
    one.add_argument("--spend", metavar="AMOUNT", help="so much money at most, by the usage of replies and --price")
    one.add_argument("--price", metavar="AMOUNT", help="what a thousand tokens cost")
    one.add_argument("--rate", metavar="N", help="so many requests a second at most")
    one.add_argument("--concurrency", type=whole, default=4, metavar="N", help="how many at a time (default: 4)")
    one.add_argument("--timeout", type=seconds, default=60.0, metavar="SECONDS", help="for one question (default: 60)")
    one.add_argument("--retries", type=count, default=0, metavar="N",
                     help="after connection errors, 429 and 5xx (default: 0; with a budget always 0)")  # fmt: skip
    one.add_argument("--keep-going", action="store_true", help="do not stop after ten replies with the same mistake")
    one.add_argument("--limit", type=whole, metavar="N", help="only the first questions of the sample")
    one.add_argument("--header", **SEVERAL, metavar="NAME=VARIABLE",
                     help="an HTTP header from an environment variable (repeatable)")  # fmt: skip
    one.add_argument("--knob", **SEVERAL, metavar="NAME=VALUE", help="a knob (repeatable)")
