"""How far numbers move over several reports: from window to window in time, or when the same thing is run again."""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from ragworthy.errors import usage_error
from ragworthy.load.baseline import Earlier, load_report, suites_in
from ragworthy.metrics.registry import Metric, all_metrics
from ragworthy.report import show
from ragworthy.safe import terminal
from ragworthy.stats import variation_squared

SCHEMA = "ragworthy.trend/1"
"""
1  first version
"""
MOST_RUN_TO_RUN = Fraction("0.10")
"""How much precision and recall may vary from run to run, as a share of their mean."""
MOST_RERUN = Fraction("0.005")
"""How far apart the rates of the same thing run again may be."""
HELD = ("precision", "recall")
MOST_VARIATION = Fraction("0.15")
"""How large the coefficient of variation over seeds and paraphrases may be."""
MOST_SLOPE = Fraction("0.02")
"""How far a number may go per window."""
WINDOWS = 5
"""A slope over fewer windows is not measured."""
DECLINES = 3
"""So many declines in a row are an alert."""


# how far one number moves


def variation(values: Sequence[Fraction]) -> float | None:
    """The coefficient of variation σ/|μ|, σ of the whole population; None for no values or a mean of 0.

    >>> round(variation([Fraction("0.38"), Fraction("0.42"), Fraction("0.44")]), 4)
    0.0603
    """
    square = variation_squared(values)
    return None if square is None else math.sqrt(square)


def slope(values: Sequence[Fraction]) -> Fraction | None:
    """The least-squares slope per window, exact; None over fewer than five windows.

    >>> slope([Fraction(text) for text in ("0.90", "0.89", "0.87", "0.86", "0.84")])
    Fraction(-3, 200)
    """
    cases = len(values)
    if cases < WINDOWS:
        return None
    middle = Fraction(cases - 1, 2)
    mean = sum(values, Fraction(0)) / cases
    above = sum(((nth - middle) * (value - mean) for nth, value in enumerate(values)), Fraction(0))
    below = sum(((nth - middle) ** 2 for nth in range(cases)), Fraction(0))
    return above / below


def declines(values: Sequence[Fraction], *, better: str = "higher") -> int:
    """How many times in a row the number got worse, up to the last window.

    >>> declines([Fraction(4), Fraction(3), Fraction(2)]), declines([Fraction(4), Fraction(3)], better="lower")
    (2, 0)
    """
    count = 0
    for before, after in pairwise(values):
        worse = after < before if better == "higher" else after > before
        count = count + 1 if worse else 0
    return count


class Drift(NamedTuple):
    """What the windows of one metric say."""

    windows: int
    variation: float | None
    slope: Fraction | None
    declines: int
    alerts: tuple[str, ...]


def drift(values: Sequence[Fraction], *, better: str = "higher", rate: bool = True) -> Drift:
    """The alerts of one metric over its windows, oldest first.

    The slope is held to its limit only for numbers between 0 and 1; a millisecond is not a point.

    >>> drift([Fraction(text) for text in ("0.90", "0.89", "0.87", "0.86", "0.84")]).alerts
    ('got worse 4 windows in a row',)
    """
    spread, tilt, row = variation(values), slope(values), declines(values, better=better)
    alerts = []
    if spread is not None and len(values) > 1 and spread > float(MOST_VARIATION):
        alerts.append(f"varies by {spread:.3f} of its mean, more than {float(MOST_VARIATION):g}")
    if rate and tilt is not None and abs(tilt) > MOST_SLOPE:
        alerts.append(f"moves by {float(tilt):+.4f} a window, more than {float(MOST_SLOPE):g}")
    if row >= DECLINES:
        alerts.append(f"got worse {row} windows in a row")
    return Drift(len(values), spread, tilt, row, tuple(alerts))


# several reports


class Line(NamedTuple):
    """One metric over all reports, oldest first."""

    metric: str
    values: tuple[Fraction | None, ...]
    variation: float | None
    slope: Fraction | None
    declines: int
    alerts: tuple[str, ...]
    whole: bool = False
    """Whether it counts something."""


class Trend(NamedTuple):
    """What the reports of one suite show, or why they cannot be compared."""

    suite: str
    reports: tuple[str, ...]
    lines: tuple[Line, ...]
    unlike: tuple[str, ...] = ()

    @property
    def alerts(self) -> int:
        """How many alerts there are."""
        return sum(len(line.alerts) for line in self.lines)


def trend(paths: Sequence[Path], *, suite: str | None = None, repeated: bool = False) -> Trend:
    """The metrics of a suite over reports, oldest first; `repeated` means the same thing run again."""
    if len(paths) < 2:
        raise usage_error(f"expected two reports or more, got {len(paths)}")
    common = [name for name in suites_in(paths[0]) if all(name in suites_in(path) for path in paths)]
    chosen = suite or (common[0] if common else None)
    if chosen is None:
        raise usage_error("expected reports with a suite in common, got none")
    reports = [load_report(path, chosen) for path in paths]
    names = tuple(one.path for one in reports)
    unlike = _unlike(reports)
    return Trend(chosen, names, () if unlike else tuple(_lines(reports, chosen, repeated)), unlike)


def _unlike(reports: Sequence[Earlier]) -> tuple[str, ...]:
    """Why numbers of these reports must not be put beside each other."""
    first = reports[0]
    found = [f"{one.path}: its evidence was not valid" for one in reports if one.verdict == "INVALID"]
    for other in reports[1:]:
        if _gold(other) != _gold(first):
            found.append(f"{other.path}: another gold set than {first.path}")
        if _loads(other) != _loads(first):
            found.append(f"{other.path}: other loads than {first.path}")
        if other.suite.profile != first.suite.profile:
            found.append(f"{other.path}: another profile than {first.path}")
        moved = [key for key, value in first.suite.settings.items() if other.suite.settings.get(key) != value]
        if moved:
            found.append(f"{other.path}: another setting of {', '.join(moved)} than {first.path}")
    return tuple(found)


def _gold(report: Earlier) -> str | None:
    return next((one.sha256 for one in report.suite.inputs if one.role == "gold"), None)


def _loads(report: Earlier) -> list[str]:
    """The loads that a report on latency has."""
    return [name for name in report.suite.slices if name.startswith("load=")]


def _lines(reports: Sequence[Earlier], suite: str, repeated: bool) -> list[Line]:
    known = all_metrics()
    lines = []
    for name in dict.fromkeys(name for report in reports for name in report.suite.metrics):
        metric = known.get(name.partition("@")[0])
        given = [report.suite.metrics.get(name) for report in reports]
        values = tuple(None if one is None else one.exact for one in given)
        there = [value for value in values if value is not None]
        if metric is None or not there or not _checked(reports, name):
            continue
        found = drift(there, better=metric.better, rate=metric.highest == 1)
        alerts = _rerun(metric, there) if repeated else list(found.alerts)
        if len(there) < len(values):
            alerts.append(f"not measured in {len(values) - len(there)} of {len(values)} reports")
        lines.append(
            Line(name, values, found.variation, found.slope, found.declines, tuple(alerts), metric.kind == "count")
        )
    return lines


def _checked(reports: Sequence[Earlier], name: str) -> bool:
    """Whether a number was measured at all: constraints that nobody checked are all kept."""
    return not name.startswith("answers.scu") or all(report.suite.settings.get("scu") for report in reports)


def _rerun(metric: Metric, values: Sequence[Fraction]) -> list[str]:
    """What the same thing, run again, must not show."""
    alerts = []
    apart = max(values) - min(values)
    if metric.highest == 1 and apart > MOST_RERUN:
        alerts.append(f"{float(apart):.4f} apart, more than {float(MOST_RERUN):g}")
    spread = variation(values)
    if metric.id.partition(".")[2] in HELD and spread is not None and spread > MOST_RUN_TO_RUN:
        alerts.append(f"varies by {spread:.3f} of its mean, more than {float(MOST_RUN_TO_RUN):g}")
    return alerts


def as_json(found: Trend) -> dict[str, Any]:
    """The trend as it is written."""
    return {
        "schema": SCHEMA,
        "suite": found.suite,
        "reports": list(found.reports),
        "unlike": list(found.unlike),
        "metrics": {
            line.metric: {
                "values": [None if value is None else float(value) for value in line.values],
                "variation": line.variation,
                "slope": None if line.slope is None else float(line.slope),
                "declines": line.declines,
                "alerts": list(line.alerts),
            }
            for line in found.lines
        },
    }


def as_text(found: Trend) -> list[str]:
    """The trend as lines for people."""
    return list(map(terminal, _told(found)))


def _told(found: Trend) -> list[str]:
    lines = [f"{found.suite}: {show.plural(len(found.reports), 'report')}, {found.reports[0]} … {found.reports[-1]}"]
    if found.unlike:
        return [*lines, "not comparable", *(f"  {reason}" for reason in found.unlike)]
    wide = max((len(line.metric) for line in found.lines), default=0)
    for line in found.lines:
        first, last = (next((v for v in order if v is not None), None) for order in (line.values, line.values[::-1]))
        ends = " → ".join("–" if value is None else show.number(value, whole=line.whole) for value in (first, last))
        tilt = "not measured (under 5)" if line.slope is None else f"{float(line.slope):+.4f}"
        spread = "–" if line.variation is None else f"{line.variation:.4f}"
        lines.append(f"  {line.metric.ljust(wide)}  {ends:<20} σ/μ {spread}  slope {tilt}")
        lines += [f"  {' ' * wide}  ! {alert}" for alert in line.alerts]
    return lines
