"""What a score writes besides its report: the plot of latencies, the table of disagreements, the votes as pairs."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ragworthy import flow
from ragworthy.cli.say import print
from ragworthy.errors import UsageError, usage_error
from ragworthy.files import check_inside, check_ours, write_whole
from ragworthy.policy.settings import Agreement


def paths(given: argparse.Namespace, requests: Sequence[flow.Request]) -> list[str | None]:
    """The files that will be written, checked before anything is scored."""
    plots = getattr(given, "plot", [])
    for name in plots:
        if Path(name).suffix not in (".png", ".svg"):
            raise usage_error(f"--plot: expected a .png or .svg file, got {name}")
    tables = [str(path) for request in requests if (path := _table(request)) is not None]
    return [*plots, *tables, getattr(given, "pairs_out", None)]


def write(given: argparse.Namespace, requests: Sequence[flow.Request], run: flow.Run) -> None:
    """Write them."""
    suites = run.report["suites"]
    for name in getattr(given, "plot", []):
        from ragworthy.suites.latency.plot import write_plot

        try:
            write_plot(Path(name), suites["latency"])
        except UsageError as error:  # the verdict does not depend on a picture
            print(f"--plot {name}: {error.lines()[0]}", file=sys.stderr)
    for request in requests:
        table = _table(request)
        if table is not None:
            from ragworthy.suites.agreement.describe import tsv_of

            write_whole(table, tsv_of(suites["agreement"]).encode())
    pairs = getattr(given, "pairs_out", None)
    if pairs:
        from ragworthy.suites.agreement.suite import pairs_of

        write_whole(Path(pairs), pairs_of(requests[0]))


def _table(request: flow.Request) -> Path | None:
    """Where the disagreements go. A path in a policy is relative to it, and may come from somebody else's repository:
    it stays inside the policy's folder and replaces nothing but an earlier table.
    """
    if not isinstance(request.settings, Agreement) or request.settings.tsv is None:
        return None
    path = Path(request.settings.tsv)
    if request.policy is not None:
        path = request.policy.parent / path
        check_unnamed(path, request.policy.parent)
    elif str(path) == TABLE:
        check_unnamed(path, Path())
    return path


TABLE = "runs/consistency_disagreements.tsv"
"""Where the sources' own program writes the table when nobody says."""


def check_unnamed(path: Path, folder: Path) -> None:
    """Refuse a table in a place that nobody typed, unless that is in the folder and free, or holds such a table."""
    check_inside(path, folder, "the table of disagreements")
    check_ours(path, lambda data: data.startswith(b"qid\t"))
