"""`--engine`: who reads the traces."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ragworthy.errors import usage_error
from ragworthy.load.uri import is_uri

if TYPE_CHECKING:
    from ragworthy.suites.parts import Engine


@contextmanager
def engine_of(given: argparse.Namespace) -> "Iterator[Engine | None]":
    """What `--engine` names, for as long as the command runs; None for the processes of this machine."""
    local = given.engine == "local"
    if local and given.master is not None:
        raise usage_error("--master: expected --engine spark besides it")
    for name in given.output:
        if is_uri(name):
            raise usage_error(f"--output: expected a path on this machine, got {name}")
    if is_uri(given.rows) and (local or not given.rows.endswith(".parquet")):
        raise usage_error(f"--rows: expected a .parquet folder and --engine spark for a URI, got {given.rows}")
    if local:
        yield None
        return
    if getattr(given, "shard", None):
        raise usage_error("--shard: expected --engine local, got spark: it cuts the input by itself")
    if getattr(given, "profile", "default") == "reference":
        raise usage_error("--profile: expected the default with --engine spark, got reference")
    from ragworthy.spark.engine import Spark
    from ragworthy.spark.session import own_session

    with own_session(given.master) as session:
        yield Spark(session)
