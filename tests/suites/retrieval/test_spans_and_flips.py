"""How much of a block is cited, and how often the mark of λ changes: worked by hand."""

import ragworthy as rw


def test_anchor_coverage_is_the_share_of_the_block_that_is_cited() -> None:
    """[1000, 1100) is relevant: cited are [990, 1040) and [1030, 1060), so 60 of its 100 bytes."""
    gold = [{"qid": "Q", "relevant": ["S.4.p.Bk001"], "relevant_offsets": {"S.4.p.Bk001": [1000, 1100]}}]

    def value(*spans: list[int]) -> float:
        cited = [{"id": "S.4.p.Bk001", "offsets": span} for span in spans]
        traces = [{"qid": "Q", "topk": [{"id": "S.4.p.Bk001"}], "answer_citations": cited}]
        result = rw.score("retrieval", gold=gold, traces=traces, gates="anchor_coverage=0.5", defaults=False)
        found = result.metrics["retrieval.anchor_coverage"].value
        assert found is not None
        return found

    assert value([990, 1040], [1030, 1060]) == 0.6
    assert value([1000, 1100]) == value([0, 9999]) == 1
    assert value([100, 200]) == value([1100, 1200]) == 0


def test_flip_rate_is_the_share_of_steps_that_change_the_mark() -> None:
    """Three wordings under two seeds, in this order: → → → × → →, so two of five steps change it."""
    gold = [{"qid": "Q", "paraphrases": ["a?", "b?", "c?"], "relevant": ["S.4.p.Bk001"]}]
    cited = ["S.4.p.Bk001"] * 3 + ["S.9.p.Bk001"] + ["S.4.p.Bk001"] * 2
    traces = [
        {"qid": "Q", "paraphrase": nth // 2, "seed": nth % 2, "topk": [{"id": name}], "answer_citations": [name]}
        for nth, name in enumerate(cited)
    ]
    result = rw.score("retrieval", gold=gold, traces=traces, gates={"λ_state_seq": "0.4"}, defaults=False)
    assert result.metrics["retrieval.flip_rate"].value == 0.4 and result.gates[0]["outcome"] == "pass"
    plain = rw.score("retrieval", gold=gold, traces=traces, gates="recall@5=0.5", defaults=False)
    assert not {"retrieval.flip_rate", "retrieval.anchor_coverage"} & {*plain.metrics}  # only where a gate names them
