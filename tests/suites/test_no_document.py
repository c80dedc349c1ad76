"""Questions without a known document beside others that have one: nobody knows which of them go together."""

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import run_cli, write_jsonl

REFUSED = {"claim": "not in context", "citations": []}


def scored(folder: Path, answered: int, *, cluster: bool, evidence: str = "interval") -> Any:
    """Six documents with twenty answerable questions each, all of two refused; 120 unanswerable ones, some answered."""
    gold: list[dict[str, Any]] = []
    traces: list[dict[str, Any]] = []
    for nth in range(120):
        cited, document = [f"doc{nth % 6}#{nth}"], nth % 6
        gold.append({"qid": f"a{nth}", "question": f"What is {nth}?", "answerable": True,
                     "gold_claim_substr": [f"value {nth}"], "gold_citations": cited})  # fmt: skip
        refuses = document < 2
        answer = REFUSED if refuses else {"claim": f"value {nth}", "citations": cited}
        traces.append({"qid": f"a{nth}", "retrieved_ids": cited, "answer_json": answer})
        one = {"qid": f"u{nth}", "question": f"Why is {nth}?", "answerable": False, "gold_claim_substr": []}
        gold.append(one | {"gold_citations": []} | ({"cluster": document} if cluster else {}))
        told = REFUSED if nth >= answered else {"claim": "so", "citations": cited}
        traces.append({"qid": f"u{nth}", "retrieved_ids": cited, "answer_json": told})
    write_jsonl(folder / "gold.jsonl", gold)
    write_jsonl(folder / "t.jsonl", traces)
    files = ("--gold", folder / "gold.jsonl", "--trace", folder / "t.jsonl", "-o", folder / "r.json")
    run_cli("score", "answers", *files, "--no-default-gates", "--gates", "under=0.20", "--evidence", evidence, "-q")
    return json.loads((folder / "r.json").read_text())


def warned(report: Any) -> list[str]:
    return [one["message"] for one in report["suites"]["answers"]["warnings"] if one["code"] == "RW-W171"]


def test_a_gate_by_interval_does_not_take_them_for_independent(tmp_path: Path) -> None:
    report = scored(tmp_path, 12, cluster=False)
    gate = report["gates"][0]
    assert (gate["metric"], gate["outcome"], report["verdict"]) == (
        "answers.under_refusal",
        "undecided",
        "INCONCLUSIVE",
    )
    assert gate["high"] == pytest.approx(0.1666, abs=1e-3)  # Wilson of 12 in 120, as if each were independent
    assert gate["reason"].startswith("120 cases have no known document, and might stand or fall together: then the ")
    assert warned(report) == [
        "answers.under_refusal: 120 cases have no known document, while other questions have one: add cluster or "
        "gold_source to these gold items"
    ]


def test_clean_ones_are_wide_too_and_points_are_left_alone(tmp_path: Path) -> None:
    """Two of six documents are lost: deff = 6/5 · 20 = 24, so that 120 cases are worth 5, and t has 5 degrees."""
    report = scored(tmp_path, 0, cluster=False)
    worth, t = 5, 2.5705818
    high = t * t / (worth + t * t)
    assert report["gates"][0]["reason"].endswith(f"would be 0.000 … {high:.3f}")
    plain = scored(tmp_path, 12, cluster=False, evidence="point")
    assert (plain["gates"][0]["outcome"], warned(plain)) == ("pass", [])


def test_with_a_cluster_the_interval_is_theirs_and_nothing_is_warned_of(tmp_path: Path) -> None:
    report = scored(tmp_path, 12, cluster=True)
    number = report["suites"]["answers"]["metrics"]["answers.under_refusal"]
    assert (number["clusters"], warned(report)) == (6, [])
    assert "no known document" not in (report["gates"][0]["reason"] or "")
