"""The sources' own scorer, run on files."""

import json
from pathlib import Path

from ragworthy.errors import usage_error
from ragworthy.files import check_readable
from ragworthy.load.inputs import plain_lines
from ragworthy.metrics import reference as ref


def reference(gold: Path, traces: Path, k: int, gates: str | None) -> tuple[str, bool]:
    """What the sources' own scorer prints, and whether it says pass."""
    for path in (gold, traces):
        check_readable(path)
    try:
        printed = ref.score(plain_lines(gold), plain_lines(traces), k, ref.DEFAULT_GATES if gates is None else gates)
        return json.dumps(printed, indent=2) + "\n", bool(printed["pass"])
    except (TypeError, ValueError, AttributeError, LookupError, RecursionError, OverflowError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise usage_error(f"the reference scorer stops on this input ({reason})", code="RW-U02") from None
