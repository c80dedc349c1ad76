"""What a selftest does to the outputs of the structured suite."""

import msgspec

from ragworthy.metrics.registry import all_metrics
from ragworthy.records import StructuredOutput
from ragworthy.suites.damage import Damage, dropped

_MISSING = "structured.missing"
_WHOLE = ("structured.score", "structured.schema_pass_rate", "structured.score_median", "structured.score_p95")
"""Metrics of answers as a whole; all others are about one field."""


def damages() -> tuple[Damage, ...]:
    """Every damage. The fields of a definition of its own have metrics that nobody knows here: all are tried."""
    fields = tuple(name for name in all_metrics("structured") if name not in (*_WHOLE, _MISSING))
    return (
        Damage("every answer emptied", _WHOLE, _silenced),
        Damage("every output dropped", (_MISSING,), dropped),
        Damage("every answer emptied", fields, _silenced),
    )


def _silenced(output: StructuredOutput) -> StructuredOutput:
    return msgspec.structs.replace(output, raw="")
