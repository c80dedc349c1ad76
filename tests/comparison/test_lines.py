"""What the lines of a comparison say: the metric that moved, the loss that is meant, and no word of gates."""

from pathlib import Path
from typing import Any

import pytest

from conftest import run_cli, write_jsonl
from ragworthy.report.able import pair_line
from ragworthy.report.changes import _most_telling


def number(a: float, b: float, p: float, fixed: int, broken: int) -> dict[str, Any]:
    return {"a": a, "b": b, "difference": b - a, "low": -0.1, "high": 0.1, "p": p, "fixed": fixed, "broken": broken}


def test_the_headline_is_a_metric_that_moved() -> None:
    """All three p-values are 1: the first metric did not move, and in the last one most questions did."""
    metrics = {
        "retrieval.precision@1": number(0.0, 0.0, 1.0, 0, 0),
        "retrieval.precision@5": number(0.5, 0.49, 1.0, 0, 1),
        "retrieval.recall@5": number(0.9, 0.89, 1.0, 6, 7),
    }
    assert _most_telling({"metrics": metrics}).startswith("; recall@5 0.9 → 0.89, -1.0 points")
    metrics["retrieval.mrr"] = number(0.9, 0.8, 0.2, 0, 3)
    assert _most_telling({"metrics": metrics}).startswith("; mrr 0.9 → 0.8")
    assert _most_telling({"metrics": {"retrieval.precision@1": metrics["retrieval.precision@1"]}}) == ""


def test_more_questions_are_for_a_loss_that_is_named() -> None:
    told = "about 420 more would prove the loss of 3 points in good questions that is seen here (11 broken, 5 fixed)"
    assert pair_line(200, 11, 5).endswith(told)
    assert "more would prove" not in pair_line(200, 11, 5, proven=True)


def test_traces_are_compared_without_a_word_of_gates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody asked for a gate. That a question has no trace is told all the same."""
    monkeypatch.chdir(tmp_path)
    write_jsonl(Path("gold.jsonl"), [{"qid": f"q{nth}", "relevant": [f"d{nth}#1"]} for nth in range(8)])
    for name, cut in (("a", 8), ("b", 6)):
        found = [[f"d{nth}#1"] if nth < cut else ["x#1"] for nth in range(8)]
        write_jsonl(Path(f"{name}.jsonl"), [{"qid": f"q{n}", "retrieved_ids": ids} for n, ids in enumerate(found)])
    write_jsonl(Path("c.jsonl"), [{"qid": f"q{nth}", "retrieved_ids": ["x#1"]} for nth in range(7)])
    flags = ("--gold", "gold.jsonl", "--suite", "retrieval")
    done = run_cli("compare", "a.jsonl", "b.jsonl", *flags)
    assert done.code == 0 and "2 broken" in done.out
    assert "not valid" not in done.out and "gate was measured" not in done.out
    lacking = run_cli("compare", "a.jsonl", "c.jsonl", *flags).out
    assert "c.jsonl: its own evidence was not valid (1 question has no trace; " in lacking
