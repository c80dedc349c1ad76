"""What docs/from-ir-measures.md says of both tools, measured: on real runs, and on files that are not in order."""

import json
import re
from pathlib import Path
from typing import Any

import ir_measures
import pytest

from conftest import run_cli
from places import DATA, ROOT

PAGE = (ROOT / "docs/from-ir-measures.md").read_text(encoding="utf-8")
NAMES = {"nDCG@10": "ndcg@10", "R@10": "recall@10", "RR": "mrr", "P@10": "precision@10"}
TABLE = re.findall(r"^\| (robust03|scifact)/(\w+) \| (.+) \|$", PAGE, re.M)


def theirs(qrels: Path, run: Path, *measures: str) -> dict[str, dict[str, float]]:
    """The values of ir_measures, for each measure by query."""
    asked = [ir_measures.parse_measure(name) for name in measures]
    found: dict[str, dict[str, float]] = {name: {} for name in measures}
    for one in ir_measures.iter_calc(asked, _judged(qrels), _run(run)):
        found[str(one.measure)][one.query_id] = one.value
    return found


READ: Any = ir_measures
"""Its readers have no types."""


def _judged(path: Path) -> list[Any]:
    return list(READ.read_trec_qrels(str(path)))


def _run(path: Path) -> list[Any]:
    return list(READ.read_trec_run(str(path)))


@pytest.mark.data
@pytest.mark.parametrize(("folder", "name", "cells"), TABLE, ids=lambda cell: str(cell).split(" ")[0])
def test_both_give_the_numbers_of_the_page(folder: str, name: str, cells: str, tmp_path: Path) -> None:
    place = DATA / "trec" / folder / "dev"
    run = next(place.glob(f"run.{name}.txt*"))
    report, rows = tmp_path / "report.json", tmp_path / "rows.jsonl"
    done = run_cli(
        "score", "retrieval", "-q", "--qrels", place / "qrels.txt", "--run", run, "--k", "10",
        "--gates", "mrr=0.99", "-o", report, "--rows", rows,
    )  # fmt: skip
    assert done.code == 1, done.err
    metrics = json.loads(report.read_text())["suites"]["retrieval"]["metrics"]
    by_query = {row["qid"]: row for row in map(json.loads, rows.read_text().splitlines())}
    measured = theirs(place / "qrels.txt", run, *NAMES)
    for (measure, metric), told in zip(NAMES.items(), cells.split(" | "), strict=True):
        values = measured[measure]
        assert f"{sum(values.values()) / len(values):.4f}" == told, measure
        assert metrics[f"retrieval.{metric}"]["value"] == pytest.approx(sum(values.values()) / len(values), abs=1e-9)
        assert values.keys() == by_query.keys()
        for qid, value in values.items():
            assert by_query[qid]["metrics"][f"retrieval.{metric}"] == pytest.approx(value, abs=1e-9), (measure, qid)


def test_the_table_has_four_runs() -> None:
    assert len(TABLE) == 4


@pytest.mark.parametrize(
    ("run", "theirs_say", "code", "ours_say"),
    [
        ("", 0.0, 2, "RW-F04"),
        ("q1 Q0 d1 1 2.0 x\nq1 Q0 d1 2 1.0 x\n", 0.5, 2, "RW-E02"),
        ("q1 Q0 d1 1 nan x\n", 0.5, 2, "RW-E01"),
        ("q1 Q0 d1 1 1.0 x\nq9 Q0 d1 1 1.0 x\n", 0.5, 0, "RW-W32"),
    ],
)
def test_files_that_are_not_in_order(run: str, theirs_say: float, code: int, ours_say: str, tmp_path: Path) -> None:
    qrels, path = tmp_path / "qrels.txt", tmp_path / "run.txt"
    qrels.write_text("q1 0 d1 1\nq1 0 d2 1\n")
    path.write_text(run)
    assert theirs(qrels, path, "R@5")["R@5"] == {"q1": theirs_say}
    done = run_cli("score", "retrieval", "--qrels", qrels, "--run", path, "--k", "5", "--gates", "mrr=0.1", "--full")
    assert done.code == code
    assert ours_say in done.out + done.err


@pytest.mark.data
def test_another_provider_has_another_ndcg() -> None:
    place = DATA / "trec/robust03/dev"
    qrels = _judged(place / "qrels.txt")
    run = _run(place / "run.MU03rob01.txt.gz")
    measure = ir_measures.parse_measure("nDCG@10")
    told = re.search(r"provider `gdeval` the same run has an nDCG@10 of (\d\.\d+)", PAGE)
    assert told is not None
    assert f"{ir_measures.gdeval.calc_aggregate([measure], qrels, run)[measure]:.4f}" == told[1]
