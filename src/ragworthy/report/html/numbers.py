"""Everything else that a report holds: each metric, slices, tables of a suite, warnings, and the files."""

from fractions import Fraction
from typing import Any, NamedTuple

from markupsafe import Markup

from ragworthy.glossary import Kind
from ragworthy.report.html.env import fragment
from ragworthy.report.html.material import Material
from ragworthy.report.html.terms import Terms
from ragworthy.report.part import Table, Voice
from ragworthy.report.show import (
    cases,
    grid,
    interval,
    is_rate,
    limits,
    number_of,
    shown_metrics,
    sliced,
)

MOST_COLUMNS = 5

Cells = tuple[Markup | str, ...]
Limits = dict[str, list[Fraction]]
"""The thresholds that a value must not be rounded across, by metric."""


class Numbers(NamedTuple):
    """All numbers of one suite."""

    suite: str
    labels: list[tuple[Markup, str]]
    lines: list[str]
    grid_header: tuple[str, ...]
    grid: list[Cells]
    metrics: list[Cells]
    unmeasured: list[tuple[str, Markup]]
    slice_header: Cells
    slices: list[Cells]
    tables: list[Table]
    warnings: list[dict[str, Any]]
    inputs: list[dict[str, Any]]


def numbers(material: Material, terms: Terms) -> Markup:
    """Suite by suite."""
    report = material.report
    gated = limits(report)
    found = [_of_suite(suite, body, gated, material.voices(suite), terms) for suite, body in report["suites"].items()]
    return fragment("numbers.html", suites=found, several=len(found) > 1) if found else Markup()


def _of_suite(suite: str, body: dict[str, Any], gated: Limits, voice: Voice, terms: Terms) -> Numbers:
    header, ranked = grid(body, gated)
    plain = [(name, one) for name, one in shown_metrics(body) if not ranked or "@" not in name]
    measured = [(name, one) for name, one in plain if one["undefined"] is None]
    reasons: dict[str, list[Markup]] = {}
    for name, one in plain:
        if one["undefined"] is not None:
            reasons.setdefault(one["undefined"], []).append(terms.link(name))
    slice_header, slices = _slices(body, gated, terms)
    labels = [(terms.word(name, Kind.LABEL), f"{count:,}") for name, count in body["labels"].items()]
    return Numbers(
        suite,
        labels,
        voice.lines(body),
        header,
        [(terms.link(name.partition("@")[0], terms.name(name)), *cells) for name, *cells in ranked],
        [_metric(name, one, gated.get(name, []), terms) for name, one in measured],
        [(why, Markup(", ").join(names)) for why, names in reasons.items()],
        slice_header,
        slices,
        [] if body.get("live") else voice.tables(body),
        body["warnings"],
        body["inputs"],
    )


def _metric(name: str, metric: dict[str, Any], thresholds: list[Fraction], terms: Terms) -> Cells:
    rests_on = cases(metric["num"], metric["den"], metric.get("n"))
    return terms.link(name), number_of(metric, thresholds), rests_on, terms.interval(interval(metric))


def _slices(body: dict[str, Any], gated: Limits, terms: Terms) -> tuple[Cells, list[Cells]]:
    """The gated rates of every slice; the first rates where none is gated."""
    wanted = {*gated, "retrieval.recall@5"}
    rates = [(name, one) for name, one in body["metrics"].items() if is_rate(one)]
    names = [name for name, _ in rates if name in wanted] or [name for name, one in rates if not one["undefined"]]
    names = names[:MOST_COLUMNS]
    rows = [
        (group, *(sliced(metrics[name], gated.get(name, [])) for name in names))
        for group, metrics in body["slices"].items()
        if any(metrics[name]["undefined"] is None for name in names)
    ]
    return ("slice", *(terms.link(name) for name in names)), rows if names else []
