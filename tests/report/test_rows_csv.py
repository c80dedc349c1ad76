"""Rows as CSV: the same values as the JSON lines, flat, for every suite; and nothing in them becomes a formula."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cases as c
import ragworthy as rw
from conftest import run_cli
from ragworthy.report.table import write_csv
from ragworthy.safe import field

FORMS = [c.answers, c.retrieval, c.trec, c.structured, c.stability, c.latency, c.agreement, c.raters, c.operators]


def flat(row: dict[str, Any]) -> dict[str, Any]:
    """The cells of a row, by columns, as they are meant: maps of plain values spread, everything else as it is."""
    cells: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, dict) and not any(isinstance(one, dict | list) for one in value.values()):
            cells |= {f"{key}.{name}": one for name, one in value.items()}
        else:
            cells[key] = value
    return {key: value for key, value in cells.items() if value is not None}


def meant(cell: str, like: Any) -> Any:
    """A cell read back as a value of the kind that was written."""
    if isinstance(like, bool):
        return {"true": True, "false": False}[cell]
    if isinstance(like, int | float):
        return type(like)(cell)
    return cell if isinstance(like, str) else json.loads(cell.removeprefix("'"))


@pytest.mark.parametrize("form", FORMS, ids=lambda one: one.__name__)
def test_every_suite_writes_the_values_of_its_json_lines(
    form: Callable[[Path], c.Case], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    case = form(Path())
    flags = ("--gates", f"{case.metric}={case.least}") if form is c.trec else ()
    done = run_cli(*c.command(case, *flags, "--rows", "rows.jsonl"))
    assert done.code in (0, 1, 3, 4), done
    again = run_cli(*c.command(case, *flags, "-q", "--rows", "rows.csv"))
    assert again.code == done.code
    rows = [json.loads(line) for line in Path("rows.jsonl").read_text(encoding="utf-8").splitlines()]
    data = Path("rows.csv").read_bytes()
    assert data.endswith(b"\r\n")
    table = list(csv.DictReader(io.StringIO(data.decode(), newline="")))
    assert len(table) == len(rows)
    for cells, row in zip(table, rows, strict=True):
        wanted = flat(row)
        texts = [cells.pop(name) for name in ("question", "claim") if form is c.answers]
        assert len(texts) == 2 * (form is c.answers)
        assert {name for name, cell in cells.items() if cell} <= wanted.keys()
        for name, value in wanted.items():
            assert name in cells
            if value not in ("", [], {}):
                assert meant(cells[name], value) == (field(value) if isinstance(value, str) else value), name
    assert next(iter(table[0])) == "qid"


def test_what_comes_first_in_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_cli(*c.command(c.answers(Path()), "--rows", "rows.csv"))
    header = Path("rows.csv").read_text().splitlines()[0].split(",")
    assert header[:5] == ["qid", "label", "stage", "cause", "cluster"]
    assert header[-2:] == ["question", "claim"]
    groups = [name.partition(".")[0] for name in header[5:-2]]
    assert groups == sorted(groups, key=["metrics", "undefined", "facts"].index)


def test_from_python_and_ids_that_look_like_formulas(tmp_path: Path) -> None:
    gold = [{"qid": "=1+1", "question": "?", "answerable": False}]
    traces = [{"qid": "=1+1", "retrieved_ids": [], "answer_json": {"claim": "not in context"}}]
    rw.score("answers", gold=gold, traces=traces).write(tmp_path / "r.csv")
    row = next(csv.DictReader(io.StringIO((tmp_path / "r.csv").read_text())))
    assert (row["qid"], row["label"], row["facts.refused"]) == ("'=1+1", "REFUSAL_OK", "true")
    assert (row["question"], row["claim"]) == ("?", "not in context")


def test_of_several_traces_the_table_shows_the_claim_that_was_scored(tmp_path: Path) -> None:
    gold = [{"qid": qid, "question": f"{qid}?", "answerable": True, "gold_claim_substr": ["forty"]} for qid in "ab"]
    said = [{"qid": "a", "answer_json": {"claim": text, "citations": []}} for text in ("thirty", "forty")]
    result = rw.score("answers", gold=gold, traces=[*said, {"qid": "b", "error": "timeout"}])
    result.write(tmp_path / "r.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "r.csv").read_text())))
    assert [(row["question"], row["claim"], row["facts.contains"]) for row in rows] == [
        ("a?", "forty", "true"), ("b?", "", "false"),
    ]  # fmt: skip
    assert all("claim" not in row for row in result.rows())


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec="utf-8"), max_size=6),
    lambda inner: st.lists(inner, max_size=2),
    max_leaves=4,
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.dictionaries(st.sampled_from(["qid", "label", "note", "a b"]), values, max_size=4), max_size=5))
def test_no_cell_becomes_a_formula_or_breaks_the_table(rows: list[dict[str, Any]]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "r.csv"
        write_csv(path, lambda: rows)
        with path.open(newline="", encoding="utf-8") as file:
            header, *table = list(csv.reader(file, strict=True)) or [[]]
    if not header:
        return
    assert len(table) == len(rows)
    for cells, row in zip(table, rows, strict=True):
        assert len(cells) == len(header)
        for name, cell in zip(header, cells, strict=True):
            assert cell.isprintable()
            number = isinstance(row.get(name), int | float)
            assert number or not cell.lstrip(" ").startswith(tuple("=+-@＝＋－＠"))
