"""Charts of anything: whatever the numbers and the names are, all of it is inside and can be read."""

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from charts_read import sound
from ragworthy.report.html.charts import bars, gate, histogram, lines, matrix, scatter, stacked
from ragworthy.report.html.charts.scale import ANY, COUNT, RATE, scale

HOSTILE = [
    "<script>alert(1)</script>", "]]>", '" onload="x', "&amp;", "a\u202eb", "\x1b[31m", "\ud800", "\ufffe",
    "x" * 100_000, "שלום עולם", "中文" * 50, "مرحبا", "e\u0301" * 30, "👩‍👩‍👧‍👦" * 9, "", " ", "\n\n",
]  # fmt: skip
names = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=40), st.text("abWm .", min_size=1, max_size=30))
titles = names.map("title {}".format)
rates = st.floats(0, 1)
numbers = st.floats(-1e9, 1e9)
counts = st.integers(0, 10**7)
Chart = Callable[[], Any]
quick = settings(max_examples=25, deadline=None)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[float, float]:
    low, high = sorted((draw(rates), draw(rates)))
    return low, high


some_bars = st.builds(
    bars.Bar, names, st.none() | rates, st.none() | pairs(), st.just(""), st.sampled_from(["", "fail"])
)


@quick
@given(
    st.builds(
        gate.Gate, names, st.sampled_from(["pass", "fail", "undecided", "not_measured"]),
        st.decimals(-1000, 1000, places=3).map(str), st.none() | numbers | rates, names, names, st.booleans(),
        st.none() | pairs(), names, st.none() | pairs(), st.booleans(), st.booleans(), st.booleans(), names,
    )
)  # fmt: skip
def test_gates(drawn: gate.Gate) -> None:
    sound(gate.picture(drawn))


@quick
@given(titles, st.integers(1, 60).flatmap(lambda size: st.tuples(
    st.lists(names, min_size=size, max_size=size),
    st.lists(st.builds(lines.Line, names, st.lists(st.none() | numbers, min_size=size, max_size=size)), max_size=12),
)), st.none() | numbers)  # fmt: skip
def test_lines(title: str, drawn: tuple[list[str], list[lines.Line]], threshold: float | None) -> None:
    sound(lines.picture(lines.Lines(title, drawn[0], drawn[1], threshold, ANY)))


@quick
@given(titles, st.lists(rates, max_size=30), st.integers(1, 40), names, names, counts, pairs())
def test_histograms(
    title: str, values: list[float], size: int, first: str, second: str, times: int, band: tuple[float, float]
) -> None:
    bands = [histogram.Band(first, 0, band[0], times=times), histogram.Band(second, *band, True)]
    bins = histogram.bins_of(values, 0, 1, size)
    sound(histogram.picture(histogram.Histogram(title, bins, bands, second, limits=RATE)))


@quick
@given(titles, st.lists(names, min_size=1, max_size=9).flatmap(lambda parts: st.tuples(
    st.just(parts),
    st.lists(
        st.builds(stacked.Whole, names, st.lists(counts, min_size=len(parts), max_size=len(parts))),
        min_size=1, max_size=9,
    ),
)))  # fmt: skip
def test_stacked(title: str, drawn: tuple[list[str], list[stacked.Whole]]) -> None:
    sound(stacked.picture(stacked.Stacked(title, *drawn)))


@quick
@given(titles, st.lists(some_bars, max_size=12), st.none() | rates)
def test_bars(title: str, drawn: list[bars.Bar], threshold: float | None) -> None:
    sound(bars.picture(bars.Bars(title, drawn, threshold)))


@quick
@given(st.lists(names, min_size=1, max_size=9), st.lists(names, min_size=1, max_size=7), st.data())
def test_slices(slices: list[str], metrics: list[str], data: st.DataObject) -> None:
    row = st.lists(some_bars, min_size=len(slices), max_size=len(slices))
    values = data.draw(st.lists(row, min_size=len(metrics), max_size=len(metrics)))
    overall = data.draw(st.lists(st.none() | rates, max_size=len(metrics)))
    sound(bars.small_multiples(bars.Slices("slices", slices, metrics, values, overall)))


@quick
@given(st.lists(st.builds(bars.Step, names, counts, counts, names), max_size=12))
def test_waterfalls(steps: list[bars.Step]) -> None:
    sound(bars.waterfall(bars.Waterfall("lost", steps)))


@quick
@given(st.lists(names, min_size=1, max_size=6), st.lists(names, min_size=1, max_size=8), names, st.data())
def test_matrices(rows: list[str], columns: list[str], side: str, data: st.DataObject) -> None:
    row = st.lists(counts, min_size=len(columns), max_size=len(columns))
    drawn = data.draw(st.lists(row, min_size=len(rows), max_size=len(rows)))
    sound(matrix.picture(matrix.Matrix("m", rows, columns, drawn, side, side, frozenset({(0, 0)}))))


@quick
@given(
    st.lists(st.builds(scatter.Dot, names, st.floats(0, 1e5), rates, st.booleans(), st.booleans()), max_size=25),
    st.none() | st.floats(0, 1e5), st.none() | rates, names,
)  # fmt: skip
def test_configurations(dots: list[scatter.Dot], x_gate: float | None, y_gate: float | None, label: str) -> None:
    sound(scatter.picture(scatter.Scatter("t", label, label, dots, x_gate, y_gate)))


@given(st.lists(st.floats(-1e12, 1e12), max_size=9), st.sampled_from([ANY, COUNT, RATE]))
def test_numbers_along_an_axis_are_few_and_differ(values: list[float], limits: Any) -> None:
    axis = scale(values, 0, 300, limits)
    assert axis.low < axis.high
    assert len({tick.text for tick in axis.ticks}) == len(axis.ticks) <= 9
    assert all(0 <= axis.at(tick.value) <= 300 for tick in axis.ticks)


def test_the_same_numbers_give_the_same_bytes() -> None:
    drawn = bars.Bars("t", [bars.Bar("a", 0.1), bars.Bar("b", 0.3, (0.1, 0.5))], 0.2)
    assert bars.picture(drawn) == bars.picture(drawn)
