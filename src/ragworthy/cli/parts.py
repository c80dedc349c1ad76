"""`score … --shard I/N`: one part of a score, for `merge`."""

import argparse
from pathlib import Path

from ragworthy import flow, shards
from ragworthy.cli.outputs import guard
from ragworthy.cli.progress import on_terminal
from ragworthy.cli.say import print
from ragworthy.errors import usage_error
from ragworthy.names import Exit


def write_part(given: argparse.Namespace, request: flow.Request) -> int:
    """Score one part and write it to the one output."""
    cut = shards.cut_of(given.shard)
    unfit = [name for name in ("rows", "receipt", "bundle", "sign", "item") if getattr(given, name, None)]
    if unfit:
        raise usage_error(f"--{unfit[0]}: expected nothing besides -o FILE.json for a part: 'merge' writes the rest")
    if [Path(name).suffix for name in given.output] != [".json"]:
        raise usage_error("--shard: expected one -o FILE.json besides it, for the part")
    if given.profile == "reference":
        raise usage_error("--profile: expected the default for a part, got reference")
    guard(given, [request], given.output)
    path = Path(given.output[0])
    size = shards.write(path, request, cut, on_terminal(quiet=given.quiet))
    print(f"part {cut.nth + 1} of {cut.of}: {path}, {size:,} bytes; next: ragworthy merge, once all are there")
    return int(Exit.SHIP)
