"""Charts: where things are in them is worked out by hand, and read back from the SVG."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from charts_read import classed, said, sound
from places import GOLDEN
from ragworthy.report.html.charts import bars, gate, histogram, lines, matrix, scatter, stacked
from ragworthy.report.html.charts.scale import COUNT, RATE, scale
from ragworthy.report.html.charts.svg import fitted, spread, width_of

HARD = (
    "a name that is far longer than any room there is for it in a chart of this size",
    "中文問題類型名稱很長很長很長",
    "שאלות ארוכות מאוד",
)


def report(name: str = "regressed") -> dict[str, Any]:
    found: dict[str, Any] = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
    return found


def x_of(mark: ElementTree.Element) -> float:
    """The middle of a mark along the x axis."""
    if "cx" in mark.attrib:
        return float(mark.attrib["cx"])
    places = [float(one.split(",")[0]) for one in mark.attrib["points"].split()]
    return (min(places) + max(places)) / 2


def test_a_gate_of_a_report_is_drawn_where_its_numbers_are() -> None:
    entry = report()["gates"][0]
    assert (entry["metric"], entry["threshold"]) == ("answers.precision", "0.80")
    assert [round(entry[key], 4) for key in ("value", "low", "high")] == [0.5957, 0.4365, 0.7371]
    root = sound(gate.picture(gate.of_report(entry)))
    # 0.4365 … 0.80 in eighths is 0.0454, so the step is 0.05 and the scale 0.40 … 0.85 on the pixels 5 … 215
    assert sorted(set(said(root))) == ["0.40", "0.80", "0.85"] or said(root) == ["0.80", "0.40"]
    begin = 0.40
    end = 0.85
    per = 210 / (end - begin)
    (threshold,) = classed(root, "threshold")
    assert float(threshold.attrib["x1"]) == pytest.approx(5 + (0.80 - begin) * per, abs=0.06)
    mark = next(one for one in classed(root, "fail") if one.tag == "polygon")
    assert x_of(mark) == pytest.approx(5 + (28 / 47 - begin) * per, abs=0.06)
    (interval,) = classed(root, "interval")
    low = float(interval.attrib["x"])
    assert low == pytest.approx(5 + (entry["low"] - begin) * per, abs=0.06)
    assert low + float(interval.attrib["width"]) == pytest.approx(5 + (entry["high"] - begin) * per, abs=0.11)
    assert root[0].text == "answers.precision: 0.5957, asked for ≥ 0.80"
    assert root[1].text == "fail; margin -0.2043; the interval is below the threshold 0.80"


def test_every_gate_of_the_golden_reports_is_sound() -> None:
    for name in ("regressed", "candidate"):
        for entry in report(name)["gates"]:
            sound(gate.picture(gate.of_report(entry)))


def test_the_good_side_of_a_gate_is_the_one_that_it_asks_for() -> None:
    above = sound(gate.picture(gate.Gate("m", "pass", "0.5", 0.75, "0.75", "≥ 0.5")))
    below = sound(gate.picture(gate.Gate("m", "fail", "0.5", 0.75, "0.75", "≤ 0.5", at_least=False)))
    (threshold,), (zone,), (other,) = classed(above, "threshold"), classed(above, "zone"), classed(below, "zone")
    x = float(threshold.attrib["x1"])
    assert float(zone.attrib["x"]) == x
    assert float(other.attrib["x"]) + float(other.attrib["width"]) == pytest.approx(x, abs=0.11)


def test_a_gate_that_compares_shows_the_loss_with_0_and_its_tolerance() -> None:
    entry = {
        "metric": "answers.precision", "slice": None, "op": "drop<=", "threshold": "0.02", "value": 0.81, "low": 0.7,
        "high": 0.9, "margin": 0.015, "outcome": "pass", "reason": None, "num": 81, "den": 100,
        "paired": {"upper": 0.031},
        "shown": {"value": "0.81 (was 0.815)", "rule": "drop ≤ 0.02", "margin": "+0.015"},
    }  # fmt: skip
    drawn = gate.of_report(entry)
    assert drawn.value == pytest.approx(0.005)
    assert drawn.interval == pytest.approx((0.005, 0.031))
    root = sound(gate.picture(drawn))
    assert "0.02" in said(root)
    assert root[1].text == "pass; margin +0.015; the interval is on both sides of the threshold 0.02"


def test_a_gate_that_was_not_measured_says_so() -> None:
    root = sound(gate.picture(gate.Gate("m", "not_measured", "0.8", None, "–", "≥ 0.8", reason="no trace")))
    assert said(root) == ["not measured"]
    assert root[1].text == "not measured: no trace"


def test_a_line_runs_through_its_values_and_breaks_where_there_is_none() -> None:
    chart = lines.Lines("recall", ["a", "b", "c", "d"], [lines.Line("m", [0.25, 0.5, None, 1.0])], limits=RATE)
    root = sound(lines.picture(chart))
    (path,) = classed(root, "line")
    marks = classed(root, "s0")
    places = [tuple(map(float, one.split(","))) for one in path.attrib["points"].split()]
    circles = [(float(one.attrib["cx"]), float(one.attrib["cy"])) for one in marks if one.tag == "circle"]
    assert places == circles[:2]
    assert len(circles) == 3
    # From 0.2 (the first round number below 0.25) to 1.0 over the pixels 128 … 10; the places are a third apart
    ys = [128 - (value - 0.2) / 0.8 * 118 for value in (0.25, 0.5, 1.0)]
    assert [y for _, y in circles] == pytest.approx(ys, abs=0.06)
    assert circles[1][0] - circles[0][0] == pytest.approx((circles[2][0] - circles[0][0]) / 3, abs=0.1)
    assert root[1].text == "m from 0.25 to 1.0 over 3 runs (least 0.25, most 1.0)"


def test_many_lines_have_their_names_apart() -> None:
    every = [lines.Line(f"{HARD[nth % 3]} {nth}", [0.5, 0.8 + nth / 1000]) for nth in range(14)]
    root = sound(lines.picture(lines.Lines("recall by type", ["1", "10"], every, 0.79)))
    assert len([one for one in said(root) if one.startswith("0.8") and " " in one]) == 14


def test_bars_of_a_histogram_are_as_tall_as_their_counts() -> None:
    bins = histogram.bins_of([0.05, 0.15, 0.15, 0.95], 0, 1, 10)
    bands = [histogram.Band("stable", 0, 0.4, times=3), histogram.Band("danger", 0.85, 1, True, 1)]
    root = sound(histogram.picture(histogram.Histogram("ΔS", bins, bands, limits=RATE)))
    heights = [float(one.attrib["height"]) for one in classed(root, "value")]
    assert heights[:3] == pytest.approx([55, 110, 0], abs=0.1)  # 2 is the top of the axis, 110 pixels
    assert (heights[9], sum(heights)) == pytest.approx((55, 220), abs=0.2)
    assert said(root)[-1] == "value"
    text = "4 results; most of them, 2, from 0.1 to 0.2; stable 3 (75 %) and danger 1 (25 %)"
    assert root[1].text == text


def test_parts_of_a_bar_are_as_long_as_their_shares() -> None:
    chart = stacked.Stacked("λ", ["→", "×"], [stacked.Whole("", [30, 10])])
    root = sound(stacked.picture(chart))
    first, second = [float(one.attrib["width"]) for one in classed(root, "fill") if one.find("title") is not None]
    assert first + 1 == pytest.approx(3 * (second + 1), abs=0.3)
    assert root[1].text == "→ 30 (75 %), × 10 (25 %) of 40 questions"


def test_a_bar_begins_at_0_and_ends_at_its_value() -> None:
    chart = bars.Bars("by jitter", [bars.Bar("plain", 1.0), bars.Bar("typo", 0.5, (0.4, 0.6), outcome="fail")], 0.75)
    root = sound(bars.picture(chart))
    whole, half = classed(root, "value")
    assert whole.attrib["x"] == half.attrib["x"]
    assert float(whole.attrib["width"]) == pytest.approx(2 * float(half.attrib["width"]), abs=0.11)
    assert "0.5 ✗" in said(root)
    text = "2 values, from 0.5 (typo) to 1.0 (plain); the gate is at 0.75; typo fail"
    assert root[1].text == text


def test_the_waterfall_of_a_report_loses_what_the_report_lost() -> None:
    steps = report()["suites"]["answers"]["waterfall"]["steps"]
    chart = bars.Waterfall("lost", [bars.Step(one["step"], one["left"], one["lost"]) for one in steps])
    root = sound(bars.waterfall(chart))
    assert "36 (−12)" in said(root)
    solid = [one for one in classed(root, "value") if "lost" not in one.attrib["class"].split()]
    retrieved, asked = float(solid[2].attrib["width"]), float(solid[0].attrib["width"])
    assert retrieved == pytest.approx(asked * 36 / 48, abs=0.1)
    assert (root[1].text or "").startswith(
        "27 of 48 answerable questions come through; lost: 12 at retrieved, 4 at right"
    )


def test_a_note_on_a_step_is_told_below_the_bars() -> None:
    chart = bars.Waterfall(
        "lost", [bars.Step("asked", 9, 0), bars.Step("in the first 5", 7, 2, "1 of them fine all the same")]
    )
    words = said(sound(bars.waterfall(chart)))
    assert "7 (−2)*" in words
    assert "* in the first 5: 1 of them fine all the same" in words


def test_slices_have_a_panel_for_each_metric() -> None:
    some = [bars.Bar("topic=a", 0.5, (0.2, 0.8)), bars.Bar(HARD[1], None)]
    chart = bars.Slices("slices", ["topic=a", HARD[1]], ["precision", "chr", HARD[0]], [some] * 3, [0.6, None, 0.1])
    root = sound(bars.small_multiples(chart))
    assert said(root).count("–") == 3
    assert len([one for one in classed(root, "s0") if one.tag == "circle"]) == 3
    assert (root[1].text or "").startswith("precision: least 0.5 in topic=a, most 0.5 in topic=a")


def test_a_matrix_has_a_number_in_every_cell_and_a_tick_where_both_agree() -> None:
    labels = ["SUPPORTED", "PARTIAL", "UNSUPPORTED", "ABSTAIN"]
    counts = [[30, 4, 1, 0], [2, 9, 3, 1], [0, 1, 12, 0], [0, 0, 0, 0]]
    right = frozenset((nth, nth) for nth in range(4))
    root = sound(
        matrix.picture(matrix.Matrix("validators", labels, labels, counts, "scholar", "auditor", right, "pairs"))
    )
    assert [one for one in said(root) if "✓" in one] == ["30 ✓", "9 ✓", "12 ✓"]
    assert len(classed(root, "cell")) == 16
    text = "51 of 63 pairs (81 %) are as they should be; the others: 4 SUPPORTED and PARTIAL, "
    assert (root[1].text or "").startswith(text)


def test_configurations_stand_at_their_values_with_names_that_can_be_read() -> None:
    dots = [
        scatter.Dot("fast", 500, 0.6, front=True),
        scatter.Dot("slow", 1500, 0.8, front=True, judged=True),
        scatter.Dot(HARD[0], 1500, 0.79),
        scatter.Dot(HARD[1], 1501, 0.79),
    ]
    root = sound(scatter.picture(scatter.Scatter("frontier", "p95, ms", "precision", dots, 1000, 0.75)))
    fast, slow = [one for one in classed(root, "s0") if one.tag == "circle"]
    # The axis goes from 0.55 to 0.85 over 140 pixels
    assert float(fast.attrib["cy"]) - float(slow.attrib["cy"]) == pytest.approx(140 * 0.2 / 0.3, abs=0.2)
    assert {"fast", "slow"} <= set(said(root))
    assert any(one.startswith("1 a name that is far longer") for one in said(root))
    assert "none keeps the gates" in (root[1].text or "")


def test_round_numbers_along_an_axis() -> None:
    assert [one.text for one in scale([0.1, 0.35], 0, 100).ticks] == ["0.10", "0.15", "0.20", "0.25", "0.30", "0.35"]
    assert [one.text for one in scale([7, 7], 0, 100, COUNT).ticks] == ["0", "2", "4", "6", "8"]
    assert scale([], 0, 100, RATE).ticks[0].text == "0.0"
    assert [one.text for one in scale([2_000_000, 9_000_000], 0, 100, COUNT).ticks] == [
        "0",
        "2M",
        "4M",
        "6M",
        "8M",
        "10M",
    ]


def test_labels_keep_their_distance_and_their_order() -> None:
    assert spread([50, 50, 50], 10, 0, 100) == [50, 60, 70]
    assert spread([99, 98, 97], 10, 0, 100) == [100, 90, 80]
    assert width_of(fitted(HARD[1], 80)) <= 80


def test_charts_have_no_ids_and_no_colours_of_their_own() -> None:
    drawn = lines.picture(lines.Lines("t", ["a", "b"], [lines.Line("m", [0.1, 0.2])]))
    assert " id=" not in drawn and "style=" not in drawn and "#" not in drawn
    css = (Path(lines.__file__).parent / "charts.css").read_text(encoding="utf-8")
    assert "url(" not in css and "@import" not in css
