"""What `history` takes, and what other commands take of it. Imports nothing heavier than the argument parser."""

import argparse

from ragworthy.cli.flags import quiet, whole
from ragworthy.cli.parser import command


def kept_runs(group: argparse.ArgumentParser) -> None:
    """Every verb of `history`."""
    verbs = group.add_subparsers(dest="verb", metavar="VERB", required=True)
    one = command(verbs, "add", "keep a run whose report is at hand; 'gate' keeps its own", "history:add")
    one.add_argument("reports", nargs="+", metavar="REPORT", help="JSON reports, oldest first")
    one.add_argument("--receipt", metavar="FILE", help="the receipt of the run; with one report only")
    _commit(one)
    one.add_argument("--at", metavar="TIME", help="when it ran, e.g. 2026-03-01T12:00:00Z (default: now)")
    store(one)

    one = command(verbs, "list", "the runs and baselines that are kept", "history:listed")
    one.add_argument("--suite", dest="suite_name", metavar="SUITE", help="only runs with this suite")
    one.add_argument("--commit", metavar="SHA", help="only runs of this commit")
    one.add_argument("--last", type=whole, metavar="N", help="only so many")
    _form(one)
    _no_color(one)
    store(one)

    one = command(verbs, "show", "one run: numbers, attempts, who signed; or its report again", "history:shown")
    _run(one)
    one.add_argument("-o", "--output", action="append", default=[], metavar="FILE",
                     help="write its report (.html .json .md .xml .txt), or its receipt (receipt.json)")  # fmt: skip
    _form(one)
    _no_color(one)
    store(one)

    _over_time(verbs)
    _changes(verbs)


def _over_time(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    one = command(verbs, "trend", "how the numbers of several runs or reports move", "history:trend")
    one.add_argument("reports", nargs="*", metavar="REPORT", help="JSON reports, oldest first (default: what is kept)")
    one.add_argument("--suite", dest="suite_name", metavar="SUITE", help="which suite (default: the first in common)")
    one.add_argument("--metric", action="append", default=[], metavar="METRIC", help="only these metrics (repeatable)")
    one.add_argument("--repeated", action="store_true",
                     help="the same thing run again, not windows in time: is it deterministic?")  # fmt: skip
    one.add_argument("--last", type=whole, metavar="N", help="only so many kept runs (default: 100)")
    one.add_argument("--plot", metavar="FILE", help="draw the lines (.svg or .png)")
    one.add_argument("-o", "--output", metavar="FILE", help="write the trend as JSON, or draw it (.svg, .png)")
    _form(one)
    quiet(one)
    store(one)

    one = command(verbs, "bisect", "between which two runs a metric fell, with proof", "history:bisect")
    one.add_argument("metric", metavar="METRIC", help="the metric")
    one.add_argument("--good", metavar="RUN", help="a run where it was good (default: the oldest that compares)")
    one.add_argument("--bad", metavar="RUN", help="a run where it is not (default: the last)")
    _form(one)
    quiet(one)
    store(one)


def _changes(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    one = command(verbs, "bless", "make a run the baseline that later ones are compared with", "history:bless")
    _run(one)
    one.add_argument("--name", default="main", metavar="NAME", help="what the baseline is called (default: main)")
    one.add_argument("--by", required=True, metavar="NAME", help="who blesses it")
    one.add_argument("--reason", required=True, metavar="TEXT", help="why")
    one.add_argument("--single", action="store_true", help="although fewer than three runs of it are known")
    one.add_argument(
        "--errors", action="store_true", help="although more than a tenth of its questions ended in errors"
    )
    store(one)

    one = command(verbs, "prune", "remove old runs; blessed ones stay, attempts are not forgotten", "history:prune")
    one.add_argument("--keep", type=whole, metavar="N", help="all but the last N runs")
    one.add_argument("--before", metavar="DATE", help="runs before this day")
    one.add_argument("--dry-run", action="store_true", help="only say what would be removed")
    store(one)

    one = command(verbs, "export", "runs with their numbers, or every row, as a table", "history:export")
    one.add_argument("-o", "--output", required=True, metavar="FILE", help=".jsonl, .csv or .parquet")
    one.add_argument("--rows", action="store_true", help="a line for each question of each run")
    one.add_argument("--suite", dest="suite_name", metavar="SUITE", help="only this suite")
    store(one)

    one = command(verbs, "verify", "whether the history is as it was written; exit 1 when not", "history:verify")
    one.add_argument("--against", action="append", default=[], metavar="FILE",
                     help="an eval/history.jsonl: every run in it must be in the history (repeatable)")  # fmt: skip
    store(one)


def store(one: argparse.ArgumentParser) -> None:
    """Which store."""
    one.add_argument("--store", metavar="FILE|URL",
                     help="the history: a file, or postgresql://… (default: RAGWORTHY_STORE, the policy's, "
                     ".ragworthy/history.db)")  # fmt: skip
    one.add_argument("-c", "--config", metavar="FILE", help="the policy (default: ragworthy.toml or pyproject.toml)")


def no_history(one: argparse.ArgumentParser) -> None:
    """What `gate` takes of it."""
    one.add_argument("--no-history", action="store_true", help="do not keep this run")
    one.add_argument("--store", metavar="FILE|URL", help="where to keep it: a file, or postgresql://…")
    _commit(one)


def _commit(one: argparse.ArgumentParser) -> None:
    one.add_argument("--commit", metavar="SHA", help="the commit (default: what the build server or git says)")


def _run(one: argparse.ArgumentParser) -> None:
    one.add_argument("run", metavar="RUN", help="its id or the beginning of it, a baseline's name, or commit:SHA")


def _no_color(one: argparse.ArgumentParser) -> None:
    one.add_argument("--no-color", action="store_true", help="no colours; there are none here")


def _form(one: argparse.ArgumentParser) -> None:
    one.add_argument("--format", choices=("text", "json"), default="text", help="format of stdout")
