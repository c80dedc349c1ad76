"""`merge`: one report of all parts that `score … --shard I/N` wrote."""

import argparse
from pathlib import Path

from ragworthy import shards
from ragworthy.cli.outputs import finish, keep_inputs, options


def merge(given: argparse.Namespace) -> int:
    """The report that one process would have written."""
    more = options(given)
    keep_inputs([*given.output, given.rows, given.receipt, given.bundle], given.parts)
    request = shards.request_of([Path(name) for name in given.parts])._replace(keep_rows=more["keep_rows"])
    return finish(given, [request], Path(given.receipt) if given.receipt else None)
