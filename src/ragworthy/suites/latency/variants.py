"""Seeds × wordings of the judged configuration: each with its numbers, and their mean and deviation."""

import math
from array import array
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from ragworthy.metrics.facts.timed import Samples
from ragworthy.metrics.registry import MetricName
from ragworthy.records import Ints
from ragworthy.report.part import Table
from ragworthy.stats import variation_squared
from ragworthy.suites.latency.sweep import Runs

TOLD = {"latency.p50": "P50 ms", "latency.p95": "P95", "answers.precision": "precision", "answers.chr": "CHR"}
"""What is told of every variant, with its name in a table."""


def variants_key(runs: Runs, names: Sequence[MetricName]) -> dict[str, Any] | None:
    """Every seed and wording at the highest load; None where there is one."""
    samples = runs.samples
    found: dict[tuple[int, int], Ints] = {}
    for row, kind in zip(samples.rows, samples.kinds(), strict=True):
        found.setdefault(kind.variant, array("I")).append(row)
    if len(found) < 2:
        return None
    told = [name for name in names if name.id in TOLD]
    each = {
        variant: {name.id: Runs(some, runs.questions, runs.cut).value(name).exact for name in told}
        for variant, some in ((variant, Samples(samples.runs, rows)) for variant, rows in sorted(found.items()))
    }
    return {
        "by": [
            {"seed": seed, "paraphrase": wording, "n": len(found[seed, wording]), **_floats(values)}
            for (seed, wording), values in each.items()
        ],
        **_spread({name.id: [values[name.id] for values in each.values()] for name in told}),
    }


def _floats(values: Mapping[str, Fraction | None]) -> dict[str, float | None]:
    return {name: None if value is None else float(value) for name, value in values.items()}


def _spread(values: Mapping[str, Sequence[Fraction | None]]) -> dict[str, dict[str, float | None]]:
    """Mean and population deviation of each number over the variants that have it."""
    mean: dict[str, float | None] = {}
    deviation: dict[str, float | None] = {}
    for name, column in values.items():
        known = [value for value in column if value is not None]
        middle = sum(known, Fraction(0)) / len(known) if known else None
        mean[name] = None if middle is None else float(middle)
        square = variation_squared(known) if middle else None
        deviation[name] = 0.0 if middle == 0 else None
        if square is not None and middle is not None:
            deviation[name] = round(math.sqrt(square) * float(middle), 6)
    return {"mean": mean, "deviation": deviation}


def variants_table(key: Mapping[str, Any]) -> Table:
    """Every seed and wording, then mean and deviation."""
    rows = [(f"{one['seed']}", f"{one['paraphrase']}", f"{one['n']:,}", *_cells(one)) for one in key["by"]]
    rows += [(name, "", "", *_cells(key[name])) for name in ("mean", "deviation")]
    return Table(("seed", "wording", "runs", *TOLD.values()), rows)


def _cells(values: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple("–" if values.get(name) is None else f"{values[name]:.4g}" for name in TOLD)
