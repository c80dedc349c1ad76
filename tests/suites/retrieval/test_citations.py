"""How many of the cited blocks are relevant, and how many of the relevant blocks are cited: worked by hand."""

from fractions import Fraction as F
from typing import Any

import ragworthy as rw

GOLD = [
    {"qid": "Q1", "relevant": ["g|b=1", "g|b=2"]},
    {"qid": "Q2", "relevant": ["g|b=3"]},
    {"qid": "Q3", "relevant": ["g|b=4"]},
    {"qid": "Q4", "relevant": [], "answerable": False},
]


def asked(qid: str, *cited: str) -> dict[str, object]:
    found = [{"id": name} for name in ("g|b=1", "g|b=2", "g|b=3", "x|b=9")]
    return {"qid": qid, "topk": found, "answer_citations": [{"id": name} for name in cited]}


def test_citations_are_counted_one_by_one() -> None:
    traces = [asked("Q1", "g|b=1", "g|b=1", "x|b=9"), asked("Q2", "g|b=3"), asked("Q3"), asked("Q4", "x|b=9")]
    result = rw.score("retrieval", gold=GOLD, traces=traces, gates={"Citation recall": "0.5"}, defaults=False)
    precision, recall = (result.metrics[f"retrieval.citation_{name}"] for name in ("precision", "recall"))
    # Q1 cites two different blocks, one of them relevant; Q2 one, which is; Q3 answers nothing; Q4 has no answer
    assert (precision.value, precision.n) == (float((F(1, 2) + 1) / 2), 2)
    # one of two relevant blocks, one of one, none of one
    assert (recall.value, recall.n) == (float((F(1, 2) + 1 + 0) / 3), 3)
    assert result.gates[0]["metric"] == "retrieval.citation_recall" and result.gates[0]["outcome"] == "pass"


def test_the_pack_of_citations_passes_right_at_its_thresholds() -> None:
    gold = [{"qid": f"Q{nth}", "relevant": [f"g|b={nth}"]} for nth in range(20)]
    good = 15
    traces = [
        {"qid": one["qid"], "topk": [{"id": one["relevant"][0]}], "answer_citations": [{"id": name}]}
        for nth, one in enumerate(gold)
        for name in [one["relevant"][0] if nth < good else "x|b=9"]
    ]
    loose = rw.score("retrieval", gold=gold, traces=traces, packs=["citations"], defaults=False)
    assert [one["outcome"] for one in loose.gates[:2]] == ["pass", "pass"]  # 15/20 is 0.75
    strict = rw.score("retrieval", gold=gold, traces=traces, packs=["citations-strict"], defaults=False)
    assert [one["outcome"] for one in strict.gates[:2]] == ["fail", "pass"]


# bytes and sections that a citation states

BLOCK = "S.4.2.p.Bk011a"
BY_ID = "1 citation is accurate by the id of a relevant block alone: there are no bytes to compare"


def judged(citation: dict[str, Any], result: dict[str, Any], **offsets: Any) -> tuple[float | None, list[str]]:
    """Citation accuracy of one answer, and what is said of citations without bytes."""
    gold = [{"qid": "Q1", "question": "what?", "relevant": [BLOCK], **offsets}]
    trace = {"qid": "Q1", "topk": [{"id": BLOCK, **result}], "answer_citations": [{"id": BLOCK, **citation}]}
    found = rw.score("retrieval", gold=gold, traces=[trace], gates="citation_accuracy=0.95", defaults=False)
    warnings = found.report["suites"]["retrieval"]["warnings"]
    return found.metrics["retrieval.citation_accuracy"].value, [
        one["message"] for one in warnings if one["code"] == "RW-W181"
    ]


def test_a_relevant_id_without_bytes_is_accurate_and_that_is_said() -> None:
    known = {"relevant_offsets": {BLOCK: [1000, 1100]}}
    assert judged({"offsets": [1000, 1100]}, {}, **known) == (1, [])
    assert judged({}, {}, **known) == (1, [BY_ID])  # the block itself
    assert judged({"offsets": [1, 2]}, {}) == (1, [BY_ID])  # nobody knows the bytes of the block
    assert judged({"offsets": [1, 2]}, {}, **known) == (0, [])


def test_bytes_that_the_cited_result_does_not_have_are_not_accurate() -> None:
    result = {"offsets": [1000, 1100]}
    assert judged({"offsets": [1000, 1100]}, result) == (1, [BY_ID])
    assert judged({"offsets": [1, 2]}, result) == (0, [])
    assert judged({"offsets": [1130, 1200]}, result) == (1, [BY_ID])  # 30 bytes away
    assert judged({"offsets": [1131, 1200]}, result) == (0, [])


def test_a_citation_that_names_another_section_than_its_block_has_is_not_accurate() -> None:
    known = {"relevant_offsets": {BLOCK: [1000, 1100]}}
    right = {"offsets": [1000, 1100]}
    for section, wanted in (("S.4.2", 1), ("4.2", 1), ("guide.md|s=4.2", 1), ("S.9.9", 0), ("4.20", 0)):
        assert judged(right | {"section_id": section}, {}, **known)[0] == wanted
    # a path of titles, or an id of its own, cannot be compared with a number
    for section in ("policies/security/keys", "17"):
        assert judged(right | {"section_id": section}, {}, **known)[0] == 1
