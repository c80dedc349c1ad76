"""Questions with a reference only, where gates look for pieces: nothing judges them, and the report says so."""

from typing import Any

import ragworthy as rw


def scored(**more: Any) -> rw.Result:
    gold: list[dict[str, Any]] = [
        {"qid": f"q{n}", "question": f"{n}?", "answerable": n < 8, "gold_citations": ["d#1"][: n < 8]}
        for n in range(12)
    ]
    for n, item in enumerate(gold[:8]):
        item |= {"gold_reference": "The limit is 5 GB for each object."} if n < 3 else {"gold_claim_substr": ["5 GB"]}
    traces = [
        {"qid": f"q{n}", "retrieved_ids": ["d#1"],
         "answer_json": {"claim": "It is 5 GB." if 3 <= n < 8 else "the sky" if n < 3 else "not in context",
                         "citations": ["d#1"][: n < 8]}}
        for n in range(12)
    ]  # fmt: skip
    return rw.score("answers", gold=gold, traces=traces, **more)


def test_they_are_counted_in_a_warning_with_what_they_reach() -> None:
    # "the sky" shares "the" with the reference, which is an article and no word: F1 is 0 for all three.
    told = {one["code"]: one["message"] for one in scored().report["suites"]["answers"]["warnings"]}
    asked = "3 of 8 answerable questions have a reference only"
    assert told["RW-W58"] == f"{asked}, and no gate judges what they were answered (answers.reference_f1 is 0.00)"


def test_a_gate_on_references_ends_it() -> None:
    codes = [one["code"] for one in scored(gates={"reference_f1": 0.2}).report["suites"]["answers"]["warnings"]]
    assert "RW-W58" not in codes
