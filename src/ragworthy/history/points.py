"""Runs as points of a line, from reports or from a store, and where the line breaks."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ragworthy.comparison import likeness
from ragworthy.errors import usage_error
from ragworthy.history.entries import Run
from ragworthy.history.unjudged import unjudged
from ragworthy.load.baseline import load_report, suites_in
from ragworthy.rows import Rows
from ragworthy.stats import ratio

if TYPE_CHECKING:
    from ragworthy.history.store import Store


class Point(NamedTuple):
    """One run of a suite."""

    name: str
    """The path of its report, or its id."""
    verdict: str
    gold: str | None
    label: str | None
    profile: str
    settings: Mapping[str, Any]
    loads: tuple[str, ...]
    """The loads that a report on latency has."""
    metrics: Mapping[str, Fraction | None]
    rows: Callable[[], Rows | None]
    at: str = ""
    commit: str = ""
    told: Mapping[str, Any] = MappingProxyType({})
    """How its traces were made."""


def from_reports(paths: Sequence[Path], suite: str | None) -> tuple[str, list[Point]]:
    """The points of reports, oldest first, and their suite."""
    if len(paths) < 2:
        raise usage_error(f"expected two reports or more, got {len(paths)}")
    common = [name for name in suites_in(paths[0]) if all(name in suites_in(path) for path in paths)]
    chosen = suite or (common[0] if common else None)
    if chosen is None:
        raise usage_error("expected reports with a suite in common, got none")
    return chosen, [_of_report(path, chosen) for path in paths]


def _of_report(path: Path, suite: str) -> Point:
    one = load_report(path, suite)
    body = one.suite
    return Point(
        name=one.path,
        verdict=one.verdict,
        gold=next((each.sha256 for each in body.inputs if each.role == "gold"), None),
        label=None,
        profile=body.profile,
        settings=body.settings,
        loads=_loads(body.slices),
        metrics={name: number.exact for name, number in body.metrics.items()},
        rows=lambda: one.rows,
        told=one.made.told,
    )


def from_store(store: "Store", runs: Sequence[Run], suite: str) -> list[Point]:
    """The points of runs that are kept, oldest first."""
    return [_of_run(store, one, suite) for one in runs]


def _of_run(store: "Store", run: Run, suite: str) -> Point:
    report = store.report(run.id, rows=False)
    body = report["suites"][suite]
    exact = {one.metric: one.exact for one in store.summaries(run.id) if one.suite == suite and not one.slice}
    return Point(
        name=run.id,
        verdict="" if unjudged(report) else run.verdict,  # its own numbers are sound
        gold=next((one["sha256"] for one in body["inputs"] if one["role"] == "gold"), None),
        label=run.gold_label,
        profile=body["profile"],
        settings=body["settings"],
        loads=_loads(body["slices"]),
        metrics={name: None if (text := exact.get(name)) is None else ratio(text) for name in body["metrics"]},
        rows=lambda: store.rows(run.id, suite),
        at=run.created_at,
        commit=run.commit,
        told=likeness.told_of(body),
    )


def _loads(slices: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(name for name in slices if name.startswith("load="))


def unlike(one: Point, first: Point) -> list[str]:
    """Why the numbers of two points must not be put side by side."""
    reasons = [reason.what for reason in likeness.unlike(_made(first), _made(one))]
    labels = f" ({first.label or 'no label'} → {one.label or 'no label'})" if one.label or first.label else ""
    said = {"gold": f"another gold set{labels}", "loads": "other loads", "profile": "another profile"}
    said |= {what: f"another {what}" for what in likeness.HELD}
    moved = [what for what in reasons if what not in said]
    found = [text for what, text in said.items() if what in reasons]
    return [*found, *([f"another setting of {', '.join(moved)}"] if moved else [])]


def _made(point: Point) -> likeness.Made:
    return likeness.Made(point.gold, point.profile, point.settings, loads=point.loads, told=point.told)


class Break(NamedTuple):
    """Where a line breaks, and why."""

    before: str
    """The point that begins a new line."""
    why: str


def last_line(points: Sequence[Point]) -> tuple[list[Point], list[Break], int]:
    """The points from the last break on, all breaks, and how many points were left out since they are INVALID."""
    sound = [one for one in points if one.verdict != "INVALID"]
    line: list[Point] = []
    breaks = []
    for one in sound:
        if line and (reasons := unlike(one, line[0])):
            breaks.append(Break(one.name, "; ".join(reasons)))
            line = []
        line.append(one)
    return line, breaks, len(points) - len(sound)
