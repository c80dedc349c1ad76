"""How far numbers move over several runs: from window to window in time, or when the same thing is run again."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ragworthy.comparison.likeness import ALIKE, changes
from ragworthy.errors import data_error
from ragworthy.history.drift import HELD, drift, rerun
from ragworthy.history.points import Break, Point, from_reports, from_store, last_line, unlike
from ragworthy.history.taken import was_checked
from ragworthy.metrics.registry import all_metrics, meant
from ragworthy.names import DEFAULT_K
from ragworthy.report import show
from ragworthy.report.show import plural
from ragworthy.safe import terminal

if TYPE_CHECKING:
    from ragworthy.history.proof import Look
    from ragworthy.history.store import Store

SCHEMA = "ragworthy.trend/1"
"""
1  first version
"""
MOST = 100
"""So many runs are looked at where nobody says how many."""
BARS = "▁▂▃▄▅▆▇█"
FEWEST_BARS = 3
FIXED, TESTED = "by the sources' fixed limits", "by test"
"""Which rule an alert speaks by: limits on numbers that know nothing of chance, or a test of the questions."""
REPEATED = (
    "repeated: tests whether the same thing gives the same numbers again (determinism), not whether two pipelines are "
    "the same"
)


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
    look: "Look | None" = None
    """What the questions of the last run say, compared with those of earlier ones."""
    note: str = ""
    """What is good to know of it and no alert."""


class Trend(NamedTuple):
    """What the reports of one suite show, or why they cannot be compared."""

    suite: str
    reports: tuple[str, ...]
    lines: tuple[Line, ...]
    unlike: tuple[str, ...] = ()
    noun: str = "report"
    times: tuple[str, ...] = ()
    """When each of them was, where that is known."""
    breaks: tuple[Break, ...] = ()
    """Where earlier runs were left behind, since they cannot be compared with later ones."""
    invalid: int = 0
    """Runs that were left out, since their evidence was not valid."""
    against: str = ""
    """The blessed run that the last one is compared with, question by question."""
    pooled: int = 0
    """Where none is blessed: so many runs before it, all of them together."""
    repeated: bool = False
    advice: str = ""
    """What to do, where the same thing was run again and was made in another way."""

    @property
    def alerts(self) -> int:
        """How many alerts there are."""
        return sum(len(line.alerts) for line in self.lines)

    @property
    def said(self) -> str:
        """How many, and by which rule."""
        every = [alert for line in self.lines for alert in line.alerts]
        by = {rule: sum(alert.startswith(rule) for alert in every) for rule in (TESTED, FIXED)}
        told = [f"{count} {rule}" for rule, count in by.items() if count]
        return ": ".join([show.plural(len(every), "alert"), *([", ".join(told)] if told else [])])


def trend(paths: Sequence[Path], *, suite: str | None = None, repeated: bool = False) -> Trend:
    """The metrics of a suite over reports, oldest first; `repeated` means the same thing run again."""
    chosen, points = from_reports(paths, suite)
    reasons = _unlike(points)
    names = tuple(one.name for one in points)
    lines = () if reasons else tuple(_lines(points, repeated))
    advice = _otherwise(points, lines) if repeated else ""
    return Trend(chosen, names, lines, reasons, repeated=repeated, advice=advice)


def _otherwise(points: Sequence[Point], lines: Sequence[Line]) -> str:
    """Why the same thing may give other numbers: it was not made in the same way. Nothing where numbers are the same,
    where the commits differ, or where nothing else is known to.
    """
    changed = dict.fromkeys(key for one in points[1:] for key, *_ in changes(points[0].told, one.told))
    if not changed or "commit" in changed or (lines and all(len({*line.values}) == 1 for line in lines)):
        return ""
    return f"the runs differ in {', '.join(changed)}: {ALIKE}"


def _unlike(points: Sequence[Point]) -> tuple[str, ...]:
    """Why numbers of these reports must not be put side by side."""
    first = points[0]
    found = [f"{one.name}: its evidence was not valid" for one in points if one.verdict == "INVALID"]
    found += [f"{other.name}: {reason} than {first.name}" for other in points[1:] for reason in unlike(other, first)]
    return tuple(found)


def kept_trend(
    store: "Store", *, suite: str | None = None, repeated: bool = False, last: int | None = None, name: str = "main"
) -> Trend:
    """The metrics of a suite over the runs of a store. Runs that do not compare with later ones are left behind."""
    runs = store.runs(suite=suite)
    if not runs:
        raise data_error("RW-H15", "expected two runs or more, got none", where=str(store.place))
    chosen = suite or runs[-1].suites[0]
    runs = [one for one in runs if chosen in one.suites]
    every = len(runs)
    if repeated:  # the same thing: one commit and one gold set
        runs = [one for one in runs if (one.commit, one.gold_sha256) == (runs[-1].commit, runs[-1].gold_sha256)]
    points = from_store(store, runs[-(last or MOST) :], chosen)
    line, breaks, invalid = last_line(points)
    if len(line) < 2:
        why = f": {breaks[-1].why}" if breaks else ""
        if every > len(runs):
            others = plural(every - len(runs), "other is", "others are")
            why += f": --repeated takes the runs of the last one's commit and gold set, and {others} of another"
        message = f"expected two runs or more that can be compared, got {len(line)}{why}"
        raise data_error("RW-H15", message, where=str(store.place))
    blessed = store.baseline(name)
    at = next((nth for nth, one in enumerate(line[:-1]) if blessed is not None and one.name == blessed.run), None)
    lines = _lines(line, repeated)
    tested, pooled = (lines, 0) if repeated else _tested(lines, line, at)
    return Trend(
        chosen,
        tuple(one.name for one in line),
        tuple(tested),
        noun="run",
        times=tuple(one.at for one in line),
        breaks=tuple(breaks),
        invalid=invalid,
        against="" if repeated or at is None else line[at].name,
        pooled=pooled,
        repeated=repeated,
        advice=_otherwise(points, () if breaks else lines) if repeated else "",
    )


def _tested(lines: Sequence[Line], points: Sequence[Point], at: int | None) -> tuple[list[Line], int]:
    """Every line with what the questions say of its last run, where there are rows; and how many runs before it, all
    together, it is compared with: none where one of them is blessed.
    """
    from ragworthy.history.looks import over_time
    from ragworthy.history.proof import looked

    names = [line.metric for line in lines]
    if at is not None:
        old, new = points[at].rows(), points[-1].rows()
        looks = {} if old is None or new is None else looked(old, new, names, len(points) - 1 - at)
        return [_with_look(line, looks.get(line.metric), _one_look) for line in lines], 0
    rows = [rows for one in points if (rows := one.rows()) is not None]
    if len(rows) < 2 or points[-1].rows() is None:
        return list(lines), 0
    looks = over_time(rows, names)
    return [_with_look(line, looks.get(line.metric), _all_looks) for line in lines], len(rows) - 1


def _with_look(line: Line, look: "Look | None", said: "Callable[[Look], str]") -> Line:
    if look is None or not look.proven:
        return line._replace(look=look)
    return line._replace(look=look, alerts=(*line.alerts, f"{TESTED}: worse, proven: {said(look)}"))


def _one_look(look: "Look") -> str:
    """The last run compared with one: counts and proof are of the same look."""
    return f"{look.worse} worse, {look.better} better, e-value {_short(look.adjusted)} (20 proves it)"


def _all_looks(look: "Look") -> str:
    """The last run compared with all before it: the proof is of all looks, the counts are of the last one alone."""
    looks = f" over {look.looks} looks" if look.looks > 1 else ""
    last = f"last run: {look.worse} worse, {look.better} better than mostly before"
    return f"e-value {_short(look.adjusted)}{looks} (20 proves it); {last}"


def _short(value: float) -> str:
    return f"{value:.1f}" if value < 1000 else "over 1,000"


def _lines(points: Sequence[Point], repeated: bool) -> list[Line]:
    known = all_metrics()
    lines = []
    for name in dict.fromkeys(name for point in points for name in point.metrics):
        metric = known.get(name.partition("@")[0])
        values = tuple(point.metrics.get(name) for point in points)
        there = [value for value in values if value is not None]
        if metric is None or not there or not _checked(points, name):
            continue
        rate = metric.highest == 1
        found = drift(there, better=metric.better, rate=rate)
        held = metric.id.partition(".")[2] in HELD
        said = rerun(there, rate=rate, held=held) if repeated else found.alerts
        alerts = [f"{FIXED}: {one}" for one in said]
        late = next(nth for nth, value in enumerate(values) if value is not None)
        if lost := len(values) - late - len(there):
            alerts.append(f"not measured in {lost} of {len(values)}, although it was before")
        line = Line(name, values, found.variation, found.slope, found.declines, tuple(alerts), metric.kind == "count")
        lines.append(line._replace(note=f"measured since {points[late].name} only") if late else line)
    return lines


def _checked(points: Sequence[Point], name: str) -> bool:
    """Whether a number was measured in all runs."""
    return all(was_checked(name, point.settings) for point in points)


def only(found: Trend, metrics: Sequence[str]) -> Trend:
    """The lines of some metrics."""
    there = {line.metric for line in found.lines}
    named = {name: [one.id for one in meant(name, default_k=DEFAULT_K, suite=found.suite)] for name in metrics}
    metrics = [name if name in there else next((one for one in named[name] if one in there), name) for name in metrics]
    missing = [name for name in metrics if name not in there]
    if missing and not found.unlike:
        raise data_error("RW-H14", f"expected a metric of {found.suite}, got {missing[0]}")
    return found._replace(lines=tuple(line for line in found.lines if not metrics or line.metric in metrics))


def as_json(found: Trend) -> dict[str, Any]:
    """The trend as it is written."""
    body: dict[str, Any] = {
        "schema": SCHEMA,
        "suite": found.suite,
        "reports": list(found.reports),
        "unlike": list(found.unlike),
        "metrics": {line.metric: _line_json(line) for line in found.lines},
    }
    if found.repeated:
        body["advice"] = found.advice or None
    if found.noun == "run":
        kept = {"times": list(found.times), "breaks": [one._asdict() for one in found.breaks]}
        body |= kept | {"invalid": found.invalid, "against": found.against or None, "pooled": found.pooled}
    return body


def _line_json(line: Line) -> dict[str, Any]:
    look = {} if line.look is None else {"tested": line.look._asdict() | {"proven": line.look.proven}}
    return {
        "values": [None if value is None else float(value) for value in line.values],
        "variation": line.variation,
        "slope": None if line.slope is None else float(line.slope),
        "declines": line.declines,
        "alerts": list(line.alerts),
        **({"note": line.note} if line.note else {}),
    } | look


def as_text(found: Trend) -> list[str]:
    """The trend as lines for people."""
    return list(map(terminal, _told(found)))


def _told(found: Trend) -> list[str]:
    ends = f"{found.reports[0]} … {found.reports[-1]}"
    lines = [f"{found.suite}: {show.plural(len(found.reports), found.noun)}, {ends}"]
    if found.unlike:
        reasons = [*found.unlike, *([found.advice] if found.advice else [])]
        return [*lines, "not comparable", *(f"  {reason}" for reason in reasons)]
    lines += [f"  the line breaks before {one.before}: {one.why}" for one in found.breaks]
    were = "was" if found.invalid == 1 else "were"
    lines += [f"  left out: {show.plural(found.invalid, 'run')} that {were} INVALID"] if found.invalid else []
    lines += [f"  {REPEATED}"] if found.repeated else []
    lines += [f"  {found.advice}"] if found.advice else []
    before = "the run before it" if found.pooled == 1 else f"the {found.pooled} runs before it together"
    against = f"{found.against} (blessed)" if found.against else before if found.pooled else ""
    lines += [f"  the last run is compared with {against}, question by question"] if against else []
    wide = max((len(line.metric) for line in found.lines), default=0)
    sloped = any(line.slope is not None for line in found.lines)
    lines += [] if sloped or not found.lines else ["  no slopes: they take 5 reports or more"]
    for line in found.lines:
        first, last = (next((v for v in order if v is not None), None) for order in (line.values, line.values[::-1]))
        ends = " → ".join("–" if value is None else show.number(value, whole=line.whole) for value in (first, last))
        tilt = f"  slope {'–' if line.slope is None else f'{float(line.slope):+.4f}'}" if sloped else ""
        spread = "–" if line.variation is None else f"{line.variation:.4f}"
        bars = f"  {sparkline(line.values)}" if len(line.values) >= FEWEST_BARS else ""
        lines.append(f"  {line.metric.ljust(wide)}  {ends:<20} σ/μ {spread}{tilt}{bars}")
        lines += [f"  {' ' * wide}  ! {alert}" for alert in line.alerts]
        lines += [f"  {' ' * wide}  note: {line.note}"] if line.note else []
    return lines


def sparkline(values: Sequence[Fraction | None]) -> str:
    """Values as bars between the lowest and the highest; a dot where there is none.

    >>> sparkline([Fraction(0), None, Fraction(1, 2), Fraction(1)])
    '▁·▅█'
    """
    there = [value for value in values if value is not None]
    low, high = min(there, default=Fraction(0)), max(there, default=Fraction(0))
    width = high - low
    return "".join(
        "·" if value is None else BARS[3] if not width else BARS[round((value - low) / width * (len(BARS) - 1))]
        for value in values
    )
