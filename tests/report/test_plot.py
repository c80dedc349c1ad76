"""The picture: what is drawn, that nothing covers anything, the same bytes twice, and files whole or not at all."""

import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import run_cli, write_jsonl
from ragworthy.errors import DataError, MissingExtra, UsageError
from ragworthy.ids import config_id
from ragworthy.suites.latency.plot import HEIGHT, WIDTH, Box, Frame, spec, write_plot

Body = dict[str, Any]
WORKED = (("A", 900, 0.80), ("B", 1200, 0.86), ("C", 1200, 0.84), ("D", 1500, 0.85), ("E", 2100, 0.90))


def cell(config: str, p95: float | None, precision: float | None, load: float | None = None, **more: Any) -> Body:
    tail, cited = more.pop("p99", None), more.pop("chr", None)
    named = {"latency.p95": p95, "answers.precision": precision, "latency.p99": tail, "answers.chr": cited}
    metrics = {name: {"value": value} for name, value in named.items()}
    good = p95 is not None and precision is not None and p95 <= 2000 and precision >= 0.8
    base = {"config_id": config, "knobs": {}, "load_rps": load, "metrics": metrics, "frontier": config in "ABE"}
    return base | {"meets_gates": good} | more


def body(*cells: Body, limits: dict[str, str] | None = None) -> Body:
    first = cells[0]
    judged = {"configuration": first["config_id"], "load_rps": first["load_rps"], "why": "the only one"}
    usual = {"latency.p95": "2000", "answers.precision": "0.80"}
    return {"configurations": list(cells), "judged": judged, "limits": usual if limits is None else limits}


def worked() -> Body:
    return body(*(cell(*one) for one in WORKED))


def layers(chart: Body, kind: str) -> list[list[Body]]:
    return [one["data"]["values"] for one in chart["layer"] if one["mark"]["type"] == kind]


def texts(chart: Body) -> list[str]:
    written = [row["text"] for rows in layers(chart, "text") for row in rows if "text" in row]
    return written + [one["mark"]["text"] for one in chart["layer"] if "text" in one["mark"]]


def test_what_is_drawn() -> None:
    chart = spec(worked())
    (line,) = layers(chart, "line")
    assert [(one["slow"], one["right"]) for one in line] == [(900, 0.8), (1200, 0.86), (2100, 0.9)]
    filled, hollow, ring = layers(chart, "point")
    assert [one["config"] for one in filled] == ["A", "B", "C", "D"]
    assert [one["config"] for one in hollow] == ["E"]
    assert [one["config"] for one in ring] == ["A"]
    assert len(layers(chart, "rule")) == 2
    assert sorted(texts(chart)) == ["A", "B", "C", "D", "E", "gate: P95 ≤ 2,000 ms", "gate: precision ≥ 0.8"]
    assert chart["layer"][0]["encoding"]["x"]["title"] == "P95 latency, end to end (ms)"


def test_p99_and_chr_are_drawn_beside_their_point() -> None:
    chart = spec(body(cell("A", 900, 0.8, p99=1500, chr=0.7), cell("B", 1200, 0.9)))
    *_, to_p99, to_chr = layers(chart, "rule")
    assert [(one["config"], one["slow"], one["tail"]) for one in to_p99] == [("A", 900, 1500)]
    assert [(one["config"], one["right"], one["cited"]) for one in to_chr] == [("A", 0.8, 0.7)]
    diamonds = [one for one in chart["layer"] if one["mark"].get("shape") == "diamond"]
    assert [(row["slow"], row["right"]) for one in diamonds for row in one["data"]["values"]] == [(900, 0.7)]


def test_gates_that_do_not_exist_are_not_drawn() -> None:
    chart = spec(body(cell("A", 900, 0.8), limits={}))
    assert layers(chart, "rule") == []
    assert texts(chart) == ["A"]


def test_loads_have_colours_and_a_legend() -> None:
    chart = spec(body(*(cell("A", 900 + load, 0.8, load) for load in (1, 5, 20))))
    colour = next(one["encoding"]["color"] for one in chart["layer"] if "color" in one["encoding"])
    assert colour["scale"]["domain"] == ["1", "5", "20"]
    assert len(set(colour["scale"]["range"])) == 3
    assert colour["legend"]["title"] == "requests/s"
    alone = spec(body(cell("A", 900, 0.8)))
    assert next(one["encoding"]["color"] for one in alone["layer"] if "color" in one["encoding"])["legend"] is None


def test_hashed_configurations_are_called_by_the_knobs_that_differ() -> None:
    knobs: dict[int, Body] = {k: {"k": k, "model": "m"} for k in (5, 20)}
    cells = [cell(config_id(one), 900 + k, 0.9, knobs=one) for k, one in knobs.items()]
    assert [text for text in texts(spec(body(*cells))) if not text.startswith("gate")] == ["k 5", "k 20"]


def test_long_names_get_letters_and_a_key() -> None:
    names = [f"a configuration with a long name {n}" for n in range(3)]
    cells = [cell(name, 900 + 300 * n, 0.8 + n / 20) for n, name in enumerate(names)]
    found = texts(spec(body(*cells)))
    assert [one for one in found if one in "ABC"] == ["A", "B", "C"]
    assert "A  a configuration with a long n…" in found
    many = [cell(f"c{n}", 900 + n, 0.8) for n in range(30)]
    assert "… 12 more" in texts(spec(body(*many)))


def test_points_without_both_numbers_are_left_out() -> None:
    chart = spec(body(cell("A", 900, 0.8), cell("B", 900, None), cell("C", None, 0.8)))
    assert [one["config"] for rows in layers(chart, "point")[:1] for one in rows] == ["A"]
    with pytest.raises(UsageError) as caught:
        spec(body(cell("B", 900, None)))
    assert str(caught.value).splitlines()[0] == (
        "nothing to draw: no configuration has both a P95 and a precision [RW-U01]"
    )


def test_a_gate_far_beyond_every_point_is_told_and_not_drawn() -> None:
    near, far = (spec(body(cell("A", slow, 0.8), cell("B", 100, 0.9))) for slow in (500, 499))
    assert (len(layers(near, "rule")), len(layers(far, "rule"))) == (2, 1)  # the gate is 2,000 ms, four times 500
    assert far["title"]["subtitle"][2] == "the gate P95 ≤ 2,000 ms lies far to the right"
    assert len(near["title"]["subtitle"]) == 2


def boxes(chart: Body) -> list[Box]:
    """Where labels stand, by the axes of the picture itself and the size of a letter."""
    axes = next(one["encoding"] for one in chart["layer"] if one["mark"]["type"] == "point")
    frame = Frame(*(tuple(axes[axis]["scale"]["domain"]) for axis in "xy"))
    found = []
    for row in layers(chart, "text")[len(layers(chart, "rule"))]:
        x, y = frame.at(row["slow"], row["right"])
        found.append(Box(x, y - 6, x + 6 * len(row["text"]), y + 6))
    return found


numbers = st.tuples(st.floats(100, 4000), st.floats(0, 1))


@settings(max_examples=60, deadline=None)
@given(st.lists(numbers, min_size=3, max_size=12, unique=True))
def test_labels_stay_inside_and_never_cover_each_other(points: list[tuple[float, float]]) -> None:
    chart = spec(body(*(cell(f"c{n}", *one) for n, one in enumerate(points))))
    placed = boxes(chart)
    for nth, one in enumerate(placed):
        assert 0 <= one.left < one.right <= WIDTH
        assert 0 <= one.top < one.bottom <= HEIGHT
        assert not any(one.meets(other) for other in placed[:nth])


def test_the_worked_example_has_every_label() -> None:
    assert len(boxes(spec(worked()))) == 5


def test_svg_is_the_same_twice_and_holds_what_people_read(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    for name in ("one.svg", "two.svg"):
        write_plot(tmp_path / name, worked())
    data = (tmp_path / "one.svg").read_bytes()
    assert data == (tmp_path / "two.svg").read_bytes()
    words = "".join(ElementTree.fromstring(data).itertext())
    for text in ("Accuracy against latency", "judged: A, the only one", "precision of shipped answers", "2,000 ms"):
        assert text in words


def test_png(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    write_plot(tmp_path / "plot.PNG", worked())
    data = (tmp_path / "plot.PNG").read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(data[16:20]) > 2 * WIDTH


def test_hostile_names_are_text_and_nothing_else(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    write_plot(tmp_path / "plot.svg", body(cell("<script>&\x1b", 900, 0.9)))
    data = (tmp_path / "plot.svg").read_text()
    assert "<script>" not in data
    assert "&lt;script&gt;&amp;" in data
    ElementTree.fromstring(data)


def test_other_suffixes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        write_plot(tmp_path / "plot.pdf", worked())
    assert str(caught.value).splitlines()[0] == "expected a .png or .svg file to draw into, got plot.pdf [RW-U01]"


def test_without_the_extra_the_error_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(MissingExtra) as caught:
        write_plot(tmp_path / "plot.svg", worked())
    assert str(caught.value).splitlines()[0] == (
        "drawing needs vl-convert-python: pip install vl-convert-python (extra: plot) [RW-F15]"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_picture_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be written"):
        write_plot(tmp_path / "file" / "plot.svg", worked())
    (tmp_path / "plot.svg").mkdir()
    with pytest.raises(DataError, match="cannot be written"):
        write_plot(tmp_path / "plot.svg", worked())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "plot.svg"]


def test_through_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("vl_convert")
    monkeypatch.chdir(tmp_path)
    item = {"qid": "a", "question": "?", "answerable": True}
    gold = write_jsonl(Path("gold.jsonl"), [item | {"gold_claim_substr": ["right"], "gold_citations": ["d#1"]}])
    answer = {"claim": "It is right.", "citations": ["d#1"]}
    row = {"qid": "a", "retrieved_ids": ["d#1"], "answer_json": answer, "load_rps": 5}
    cells = [row | {"e2e_ms": 100 * k, "knobs": {"k": k}} for k in (1, 2, 3)]
    runs = write_jsonl(Path("runs.jsonl"), cells)
    done = run_cli("score", "latency", "--gold", gold, "--runs", runs, "--gates", "p95=2000", "--plot", "plot.svg")
    assert (done.code, done.err) == (0, "")
    words = "".join(ElementTree.fromstring(Path("plot.svg").read_bytes()).itertext())
    assert all(f"k {k}" in words for k in (1, 2, 3))
