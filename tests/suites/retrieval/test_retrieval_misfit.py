"""Retrieval traces that can be read and yet do not fit: no results, wordings told apart by their text, strange ids."""

from typing import Any

import pytest

import ragworthy as rw
from ragworthy.errors import RagworthyError
from ragworthy.names import Verdict

Row = dict[str, Any]


def gold(n: int, **extra: Any) -> Row:
    wordings = [f"What is item {n}?", f"Item {n}: what is it?", f"Tell me of item {n}."]
    return {"qid": f"Q{n}", "paraphrases": wordings, "relevant": [f"guide#{n}"]} | extra


def trace(n: int, query: str | None = None, **extra: Any) -> Row:
    asked = {} if query is None else {"query": query}
    return {"qid": f"Q{n}", **asked, "topk": [{"id": f"guide#{n}"}, {"id": "other#99"}]} | extra


GOLD = [gold(n) for n in range(1, 9)]


def score(questions: list[Row], traces: list[Row], gates: str = "recall@5=0.5") -> rw.Result:
    return rw.score("retrieval", gold=questions, traces=traces, gates=gates)


def body(result: rw.Result) -> Row:
    found: Row = result.report["suites"]["retrieval"]
    return found


def warned(result: rw.Result) -> dict[str, str]:
    return {one["code"]: one["message"] for one in body(result)["warnings"]}


def steps(result: rw.Result) -> list[tuple[str, str]]:
    return [(one["pattern"], one["do"]) for one in result.report["next"]]


# no results


def test_no_trace_has_results() -> None:
    rows = [{"qid": one["qid"], "query": "?", "seen": ["d"]} for one in GOLD]
    with pytest.raises(RagworthyError) as caught:
        score(GOLD, rows)
    assert str(caught.value).splitlines()[0].partition(": ")[2] == (
        "no trace has topk or retrieved_ids; 8 of 8 have query, seen: give "
        '{"qid": one["qid"], "retrieved_ids": …} for each of them [RW-T15]'
    )
    for name in ("doc_ids", "hits", "items", "results"):
        named = [{"qid": one["qid"], name: ["d"]} for one in GOLD]
        with pytest.raises(
            RagworthyError, match=rf'give \{{"qid": one\["qid"\], "retrieved_ids": one\["{name}"\]\}} for '
        ):
            score(GOLD, named)


def test_nothing_found_is_no_missing_field() -> None:
    assert score(GOLD, [trace(n, topk=[]) for n in range(1, 9)]).verdict is Verdict.NO_SHIP


# wordings


def test_wordings_are_told_apart_by_their_text() -> None:
    """Three runs of one question, the second of which finds nothing: 2/3 and not the last one alone."""
    question = gold(1)
    first, second, third = question["paraphrases"]
    rows = [trace(1, first), trace(1, second, topk=[{"id": "other#99"}]), trace(1, third)]
    for order in (rows, rows[::-1], [rows[1], rows[0], rows[2]]):
        result = score([question], order)
        assert body(result)["counts"]["runs"] == 3
        assert body(result)["counts"]["duplicate_traces"] == 0
        assert result.metrics["retrieval.recall@5"].value == pytest.approx(2 / 3)
        assert not {"RW-W06", "RW-W79", "RW-W80"} & warned(result).keys()


def test_case_and_blanks_make_no_other_wording() -> None:
    question = gold(1)
    rows = [trace(1, f"  {text.upper()} ") for text in question["paraphrases"]]
    numbered = [trace(1, text, paraphrase=n) for n, text in enumerate(question["paraphrases"])]
    result, usual = score([question], rows), score([question], numbered)
    assert body(result)["counts"] == body(usual)["counts"]
    again = score([question], [*rows, trace(1, "what is   item 1?")])
    assert (body(again)["counts"]["runs"], warned(again)["RW-W06"]) == (3, "1 trace was replaced by a later one")


def test_convergence_is_measured_without_numbers() -> None:
    rows = [
        trace(n, text, seed=seed, answer_citations=[f"guide#{n}"])
        for n in range(1, 9)
        for text in gold(n)["paraphrases"]
        for seed in (1, 2)
    ]
    result = score(GOLD, rows, gates="triplet_rate=0.9")
    assert (body(result)["counts"]["incomplete"], result.metrics["retrieval.triplet_rate"].value) == (0, 1.0)
    split = [row | {"answer_citations": ["other#99"]} if "Tell" in row["query"] else row for row in rows]
    assert score(GOLD, split, gates="triplet_rate=0.9").metrics["retrieval.triplet_rate"].value == 0.0


def test_a_wording_that_the_gold_set_does_not_have() -> None:
    rows = [trace(n, gold(n)["paraphrases"][0]) for n in range(1, 9)]
    rows += [trace(1, "And item 1, my friend?", topk=[]), trace(1, "Once more: item 1?")]
    result = score(GOLD, rows)
    assert body(result)["counts"]["runs"] == 10
    assert warned(result)["RW-W80"] == (
        '2 wordings are in no gold question and scored as a run of its own, e.g. Q1: "And item 1, my friend?"'
    )
    assert result.metrics["retrieval.recall@5"].value == pytest.approx((7 + 2 / 3) / 8)


def test_the_traces_of_another_gold_set() -> None:
    rows = [trace(n, f"What is item {n + 1}?", paraphrase=0) for n in range(1, 9)]
    result = score(GOLD, rows)
    assert (result.verdict, result.report["invalid"]) == (
        Verdict.INVALID,
        [
            "the traces answer other questions than the gold set asks: 8 of 8 that can be compared, "
            'e.g. Q1: "What is item 2?"'
        ],
    )
    assert warned(result)["RW-W79"] == (
        '8 questions were asked with another text than the gold set has, e.g. Q1: "What is item 2?"'
    )
    assert steps(result)[0][0] == "the traces answer other questions"


def test_the_question_itself_is_a_wording_too() -> None:
    questions = [one | {"question": f"The question {one['qid']}?"} for one in GOLD]
    result = score(questions, [trace(n, f"the question Q{n}?") for n in range(1, 9)])
    assert result.verdict is Verdict.SHIP and not {"RW-W79", "RW-W80"} & warned(result).keys()


# ids


def test_gold_ids_in_no_trace() -> None:
    stale = [gold(n, relevant=[f"chunk{n:07x}"]) if n < 4 else gold(n) for n in range(1, 9)]
    result = score(stale, [trace(n) for n in range(1, 9)])
    assert warned(result)["RW-W81"] == (
        "3 of 8 gold ids occur in no trace, e.g. chunk0000001, chunk0000002, chunk0000003; ranked too low "
        "(raise k), or re-chunked ('ragworthy gold bind' or 'ragworthy gold rebind')? --corpus tells which"
    )
    assert result.verdict is Verdict.SHIP  # 5 of 8


@pytest.mark.parametrize(
    ("missed", "corpus", "do"),
    [
        (3, None, "raise k, or look at the search and its ranking, then for index or manifest drift"),
        (9, None, "look for index or manifest drift, then at the search and its ranking"),
        (9, True, "raise k, or look at the search and its ranking (the corpus has it)"),
    ],
)
def test_blocks_that_were_not_returned(missed: int, corpus: bool | None, do: str) -> None:
    """3 of 10 ids in no trace are a matter of rank, 9 of 10 are not; with a corpus that has them they are, too."""
    questions = [gold(n, relevant=[f"chunk{n:07x}"]) if n <= missed else gold(n) for n in range(1, 11)]
    ids = [*(one["relevant"][0] for one in questions), *(f"guide#{n}" for n in range(1, 11)), "other#99"]
    given: Row = {"corpus": [{"chunk_id": name, "text": "x"} for name in dict.fromkeys(ids)]} if corpus else {}
    traces = [trace(n) for n in range(1, 11)]
    result = rw.score("retrieval", gold=questions, traces=traces, gates="recall@5=0.95", **given)
    pattern = f"retrieval, {missed} of 10 questions"
    assert dict(steps(result))[pattern] == f"no relevant block was returned: {do}"


def test_what_a_run_did_not_retrieve_may_be_in_its_index() -> None:
    questions = [gold(n) for n in range(1, 8)] + [{"qid": "Q8", "question": "?", "gold_evidence": ["a volume of 7 GB"]}]
    corpus = [{"chunk_id": f"guide#{n}", "text": f"text {n}"} for n in range(1, 9)]
    corpus += [{"chunk_id": "other#99", "text": "other"}]
    for chunks, stage in ((corpus, "index"), ([one | {"attrs": {"retrieved": True}} for one in corpus], "retrieval")):
        result = rw.score("retrieval", gold=questions, traces=[trace(n) for n in range(1, 9)], corpus=chunks,
                          gates="recall@5=0.95")  # fmt: skip
        assert body(result)["stages"] == {stage: 1}
        where = "in nothing that was retrieved" if stage == "retrieval" else "in no chunk of this index"
        assert f" is {where} and counted as not found" in warned(result)["RW-W91"]


def test_no_gold_id_in_any_trace_is_no_evidence() -> None:
    other = [gold(n, relevant=[f"docs/Guide.md#{n}"]) for n in range(1, 9)]
    result = score(other, [trace(n) for n in range(1, 9)])
    assert result.verdict is Verdict.INVALID
    assert result.report["invalid"] == [
        "the traces do not know the gold ids: 8 of 8 gold ids occur in no trace, e.g. docs/Guide.md#1, "
        "docs/Guide.md#2, docs/Guide.md#3; ids differ in form: docs/Guide.md#1, guide#1"
    ]
    assert steps(result)[0] == (
        "gold ids are in no trace",
        "ids differ in form (docs/Guide.md#1, guide#1): write them alike in the gold set and in the traces",
    )


# what to do


@pytest.mark.parametrize(
    ("topk", "citations", "pattern"),
    [
        (["a#1"], None, "retrieval, 8 of 8 questions"),
        (["a#1", "a#2", "a#3", "a#4", "a#5", "guide"], None, "ranking, 8 of 8 questions"),
        (["guide", "a#1"], ["a#1"], "citation, 8 of 8 questions"),
    ],
)
def test_the_first_step_names_the_stage(topk: list[str], citations: list[str] | None, pattern: str) -> None:
    rows = []
    for n in range(1, 9):
        named = [{"id": f"guide#{n}" if name == "guide" else name} for name in topk]
        rows.append(trace(n, topk=named) | ({} if citations is None else {"answer_citations": citations}))
    rows.append(trace(9))
    gates = "recall@5=0.95" if citations is None else "coverage=0.9"
    known = [*GOLD, gold(9)] if pattern.startswith("retrieval") else GOLD
    result = score(known, rows if pattern.startswith("retrieval") else rows[:8], gates)
    if pattern.startswith("retrieval"):  # one gold id is met, so that the ids are known to the traces
        pattern = "retrieval, 8 of 9 questions"
    assert steps(result)[0][0] == pattern
    assert list(body(result)["stages"]) == [pattern.partition(",")[0]]
