"""Logs that have ended, as closed minutes."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from ragworthy.live.minutes import Minute
from ragworthy.monitor.intake import Intake, Keep, Options
from ragworthy.monitor.logs import found
from ragworthy.monitor.reading import closing, now, opened


def minutes(paths: Sequence[str | Path], keep: Keep | None = None, options: Options | None = None) -> Iterator[Minute]:
    """The minutes of log files (JSONL, .gz, .zst, Parquet, folders, patterns), in order; those without a record are
    left out. `keep` picks records, e.g. those of one build.
    """
    asked = (options or Options())._replace(keep=keep) if keep is not None else options or Options()
    reading = opened(Intake(asked), found(paths), whole=True)
    yield from closing(reading, now())
