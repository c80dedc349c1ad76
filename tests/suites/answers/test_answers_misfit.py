"""Traces that can be read and yet do not fit: no answers, other questions, ids that never meet."""

import json
from pathlib import Path
from typing import Any

import pytest

import ragworthy as rw
from ragworthy.cli.main import main
from ragworthy.errors import RagworthyError
from ragworthy.names import Verdict
from ragworthy.suites.id_forms import Forms

Row = dict[str, Any]


def gold(n: int, **extra: Any) -> Row:
    return {
        "qid": f"A{n}",
        "question": f"What is item {n}?",
        "answerable": True,
        "gold_claim_substr": [f"answer number {n}"],
        "gold_citations": [f"buckets#{n}"],
    } | extra


def trace(n: int, **extra: Any) -> Row:
    return {
        "qid": f"A{n}",
        "retrieved_ids": [f"buckets#{n}", f"limits#{n}"],
        "answer_json": {"claim": f"It is answer number {n}.", "citations": [f"buckets#{n}"]},
    } | extra


def cited(n: int, *ids: str) -> Row:
    return trace(n, answer_json={"claim": f"It is answer number {n}.", "citations": list(ids)})


GOLD = [gold(n) for n in range(1, 13)]
TRACES = [trace(n) for n in range(1, 13)]


def error_of(**given: Any) -> str:
    with pytest.raises(RagworthyError) as caught:
        rw.score(**given)
    first, second = str(caught.value).splitlines()
    assert second.startswith("  ")
    return first


def score(gates: str = "precision=0.8,chr=0.75", **given: Any) -> rw.Result:
    return rw.score("answers", gates=gates, **given)


def body(result: rw.Result) -> Row:
    found: Row = result.report["suites"]["answers"]
    return found


def warned(result: rw.Result) -> dict[str, str]:
    return {one["code"]: one["message"] for one in body(result)["warnings"]}


def first_step(result: rw.Result) -> tuple[str, str]:
    step = result.report["next"][0]
    return step["pattern"], step["do"]


def all_steps(result: rw.Result) -> list[tuple[str, str]]:
    return [(step["pattern"], step["do"]) for step in result.report["next"]]


def write(path: Path, rows: list[Row]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


# no trace has the field


@pytest.mark.parametrize(
    ("made", "fields", "mapped"),
    [
        (lambda n: {"answer": "x", "sources": ["d"]}, "answer, sources", " --map claim=answer,citations=sources"),
        (
            lambda n: {"question": "?", "response": "x", "contexts": ["c"]},
            "question, response, contexts",
            " --map claim=response,retrieved_ids=contexts",
        ),
        (
            lambda n: {"retrieved_ids": ["d"], "claim": "x", "citations": ["d"]},
            "retrieved_ids, claim, citations",
            "",
        ),
        (
            lambda n: {"answer_json.claim": "x", "answer_json.citations": ["d"]},
            "answer_json.claim, answer_json.citations",
            " --map claim=answer_json.claim,citations=answer_json.citations",
        ),
        (lambda n: {"retrieved_ids": ["d"]}, "retrieved_ids", ""),
    ],
)
def test_no_trace_has_an_answer(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    made: Any,
    fields: str,
    mapped: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "gold.jsonl", GOLD)
    write(tmp_path / "traces.jsonl", [{"qid": f"A{n}"} | made(n) for n in range(1, 13)])
    assert main(["score", "answers", "--gold", "gold.jsonl", "--trace", "traces.jsonl"]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.splitlines()) == (
        "",
        [
            f"traces.jsonl: no trace has answer_json; 12 of 12 have {fields}: read them with 'ragworthy import jsonl "
            f"traces.jsonl{mapped} --trace-out new-traces.jsonl' [RW-T14]",
            "  no_answers: Say which field holds the answer, as the line shows, or change what the pipeline writes "
            "(docs/formats.md).",
        ],
    )


def test_the_same_from_python() -> None:
    rows = [{"qid": one["qid"], "answer": "x", "sources": ["d"]} for one in GOLD]
    message = (
        "<traces>: no trace has answer_json; 12 of 12 have answer, sources: give "
        '{"qid": one["qid"], "answer_json": {"claim": one["answer"], "citations": one["sources"]}} '
        "for each of them [RW-T14]"
    )
    assert error_of(suite="answers", gold=GOLD, traces=rows) == message
    pandas = pytest.importorskip("pandas")
    assert error_of(suite="answers", gold=GOLD, traces=pandas.DataFrame(rows)) == message
    flat = pandas.json_normalize(TRACES)
    assert error_of(suite="answers", gold=GOLD, traces=flat) == (
        "<traces>: no trace has answer_json; 12 of 12 have retrieved_ids, answer_json.claim, answer_json.citations: "
        "give "
        '{"qid": one["qid"], "answer_json": {"claim": one["answer_json.claim"], '
        '"citations": one["answer_json.citations"]}, "retrieved_ids": one["retrieved_ids"]} for each of them [RW-T14]'
    )


@pytest.mark.parametrize("suite", ["stability", "agreement", "latency"])
def test_runs_of_other_suites_without_answers(suite: str) -> None:
    rows = [{"qid": one["qid"], "answer": "x", "e2e_ms": 5, "seed": 1} for one in GOLD]
    given: Row = {"gold": GOLD, "traces" if suite == "agreement" else "runs": rows}
    assert " no trace has answer_json; 12 of 12 have answer, e2e_ms, seed: give " in error_of(suite=suite, **given)


def test_timed_runs_need_no_answers_where_nothing_looks_like_one() -> None:
    rows = [{"qid": one["qid"], "e2e_ms": 5} for one in GOLD]
    assert rw.score("latency", gold=GOLD, runs=rows, gates="p95=100").verdict is Verdict.SHIP
    named = [row | {"answer": "x"} for row in rows]
    assert rw.score("latency", gold=GOLD, runs=named, gates="p95=100").verdict is Verdict.SHIP


def test_one_answer_or_one_error_is_enough() -> None:
    """Then the field is known, and the others are questions without an answer: an outage."""
    bare = [{"qid": one["qid"], "answer": "x"} for one in GOLD]
    for other in (TRACES[0], {"qid": "A1", "error": "status 500"}, {"qid": "A1", "answer_json": None}):
        result = score(gold=GOLD, traces=[other, *bare[1:]])
        assert result.verdict is Verdict.INVALID and body(result)["counts"]["errored"] >= 11


# the same id, another question


def test_the_traces_of_another_gold_set() -> None:
    for field in ("question", "query", "q"):
        rows = [trace(n, **{field: f"What is item {n + 1}?"}) for n in range(1, 13)]
        result = score(gold=GOLD, traces=rows)
        assert result.verdict is Verdict.INVALID
        assert result.report["invalid"] == [
            "the traces answer other questions than the gold set asks: 12 of 12 that can be compared, "
            'e.g. A1: "What is item 2?"'
        ]
        assert warned(result)["RW-W79"] == (
            '12 traces answer another question than the gold set asks, e.g. A1: "What is item 2?"'
        )
        assert first_step(result)[0] == "the traces answer other questions"


def test_case_and_blanks_are_no_other_question() -> None:
    rows = [trace(n, question=f"  what IS\titem {n}? ") for n in range(1, 13)]
    result = score(gold=GOLD, traces=rows)
    assert result.verdict is Verdict.SHIP and "RW-W79" not in warned(result)


@pytest.mark.parametrize(
    ("other", "total", "verdict"),
    [(2, 12, Verdict.SHIP), (3, 30, Verdict.SHIP), (3, 29, Verdict.INVALID), (6, 12, Verdict.INVALID)],
)
def test_a_few_other_questions_are_a_warning(other: int, total: int, verdict: Verdict) -> None:
    """Up to two, or a tenth."""
    asked = [gold(n) for n in range(1, total + 1)]
    rows = [trace(n, question=f"What is item {n if n > other else n + 50}?") for n in range(1, total + 1)]
    result = score(gold=asked, traces=rows)
    assert result.verdict is verdict
    assert warned(result)["RW-W79"].startswith(f"{other} traces answer another question ")
    named = next(one for one in body(result)["warnings"] if one["code"] == "RW-W79")["qids"]
    assert named == [f"A{n}" for n in range(1, min(other, 3) + 1)]


def test_a_search_text_counts_only_where_no_question_is_written() -> None:
    rows = [trace(n, question=f"What is item {n}?", query=f"item {n} rewritten") for n in range(1, 13)]
    assert "RW-W79" not in warned(score(gold=GOLD, traces=rows))
    same = [trace(n, query="the name of the collection") for n in range(1, 13)]
    result = score(gold=GOLD, traces=same)
    assert result.verdict is Verdict.SHIP and "RW-W79" not in warned(result)


# gold ids and traces


def test_gold_ids_in_no_trace() -> None:
    stale = [gold(n, gold_citations=[f"chunk_{n:04x}_old"]) if n <= 4 else gold(n) for n in range(1, 13)]
    result = score(gold=stale, traces=TRACES)
    assert result.verdict is Verdict.NO_SHIP  # 4 of 12 are wrong: 8/12 = 0.667 < 0.75
    assert warned(result)["RW-W81"] == (
        "4 of 12 gold ids occur in no trace, e.g. chunk_0001_old, chunk_0002_old, chunk_0003_old; ranked too low "
        "(raise k), or re-chunked ('ragworthy gold bind' or 'ragworthy gold rebind')? --corpus tells which"
    )
    # The corpus has them: nothing was cut again, and nothing is to be asked.
    ids = [*(one["gold_citations"][0] for one in stale), *(name for one in TRACES for name in one["retrieved_ids"])]
    known = score(gold=stale, traces=TRACES, corpus=[{"chunk_id": name, "text": "x"} for name in dict.fromkeys(ids)])
    assert "RW-W81" not in warned(known)
    assert [do for pattern, do in all_steps(known) if pattern.startswith("retrieval")] == [
        "4 answered without gold evidence: none was retrieved: raise k, or look at the search and its ranking "
        "(the corpus has it)"
    ]


def test_nearly_all_gold_ids_in_no_trace() -> None:
    """11 of 12: that is more than a small k explains, so another chunking comes first."""
    stale = [gold(n, gold_citations=[f"chunk_{n:04x}_old"]) if n <= 11 else gold(n) for n in range(1, 13)]
    result = score(gold=stale, traces=TRACES)
    assert result.verdict is Verdict.NO_SHIP
    assert warned(result)["RW-W81"].endswith(
        "; re-chunked ('ragworthy gold bind' or 'ragworthy gold rebind'), or ranked too low (raise k)? "
        "--corpus tells which"
    )
    assert first_step(result) == (
        "retrieval, 11 of 12 questions",
        "11 answered without gold evidence: none was retrieved: look for index or manifest drift, then at the search "
        "and its ranking",
    )


def test_what_another_question_retrieves_is_in_the_index() -> None:
    """Questions 1 and 2 retrieve each other's chunk: whatever is wrong, no index has drifted."""
    swapped = [trace(1, retrieved_ids=["x", gold(2)["gold_citations"][0]]),
               trace(2, retrieved_ids=["x", gold(1)["gold_citations"][0]]), *TRACES[2:]]  # fmt: skip
    swapped = [one | {"answer_json": one["answer_json"] | {"citations": ["x"]}} for one in swapped[:2]] + swapped[2:]
    result = score(gold=GOLD, traces=swapped, gates="precision=0.95")
    assert "RW-W81" not in warned(result)
    assert first_step(result)[1] == (
        "2 answered without gold evidence: none was retrieved: raise k, or look at the search and its ranking "
        "(the corpus has it)"
    )


def test_no_gold_id_in_any_trace_is_no_evidence() -> None:
    stale = [gold(n, gold_citations=[f"{n:040x}"]) for n in range(1, 13)]
    result = score(gold=stale, traces=TRACES)
    assert result.verdict is Verdict.INVALID
    (reason,) = result.report["invalid"]
    assert reason.startswith("the traces do not know the gold ids: 12 of 12 gold ids occur in no trace, e.g. 000")
    assert first_step(result)[0] == "gold ids are in no trace"
    # The corpus has them: then they are merely never found.
    corpus = [{"chunk_id": one["gold_citations"][0], "text": "x"} for one in stale]
    corpus += [{"chunk_id": name, "text": "x"} for one in TRACES for name in one["retrieved_ids"]]
    assert score(gold=stale, traces=TRACES, corpus=corpus).verdict is Verdict.NO_SHIP
    # Two questions may simply be missed.
    assert score(gold=stale[:2], traces=TRACES[:2]).verdict is Verdict.NO_SHIP


def test_gold_ids_in_another_form() -> None:
    other = [gold(n, gold_citations=[f"docs/Buckets.md#{n:02d}"]) for n in range(1, 13)]
    result = score(gold=other, traces=TRACES)
    assert result.verdict is Verdict.INVALID
    assert warned(result)["RW-W82"] == (
        "12 of 12 gold ids occur in no trace, e.g. docs/Buckets.md#01, docs/Buckets.md#02, docs/Buckets.md#03; "
        "ids differ in form: docs/Buckets.md#01, buckets#1"
    )
    assert first_step(result) == (
        "gold ids are in no trace",
        "ids differ in form (docs/Buckets.md#01, buckets#1): write them alike in the gold set and in the traces",
    )


def test_citations_in_another_form() -> None:
    rows = [cited(n, f"bucket-{n}") if n <= 3 else trace(n) for n in range(1, 13)]
    result = score(gold=GOLD, traces=rows, gates="chr=0.9")
    assert warned(result)["RW-W82"] == (
        "3 of 3 citations that were not retrieved differ from a retrieved id only in form: bucket-1, buckets#1"
    )
    assert first_step(result) == (
        "citation, 3 of 12 questions",
        "3 citing an id that was not retrieved: write ids in one form, in answers and in results (3 of 3 citations "
        "that were not retrieved differ from a retrieved id only in form: bucket-1, buckets#1)",
    )


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("bucket-2", "buckets#2"),
        ("Buckets#2", "buckets#2"),
        ("buckets.md#2", "buckets#2"),
        ("docs/en/buckets.md", "buckets.md"),
        ("buckets.md", "/srv/docs/buckets.md"),
        ("buckets", "buckets.html"),
        ("buckets#002", "buckets#2"),
        ("kb:buckets#2", "buckets#2"),
        ("buckets#2:chunk", "buckets#2"),
    ],
)
def test_forms_of_one_id(name: str, other: str) -> None:
    assert Forms([other, "limits#7", "tokens#9"]).meant(name) == other


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("buckets#2", ["buckets#3"]),
        ("buckets", ["buckets#1", "buckets#2"]),
        ("buckets", ["buckets#2"]),
        ("doc-1", ["doc-1-2"]),
        ("2", ["buckets#2"]),
        ("a#2", ["b/a#2", "c/a#2"]),
        ("buckets#2", ["buckets#2"]),
        ("", ["x"]),
    ],
)
def test_what_is_no_other_form(name: str, others: list[str]) -> None:
    """Another number, a document instead of a chunk, several that it could be, or the very same id."""
    assert Forms(others).meant(name) is None


def test_a_text_in_the_place_of_an_id_has_no_forms() -> None:
    """By its ends, 200,000 pieces would be 20,000,000,000 in all."""
    long = "/".join(["part"] * 200_000)
    forms = Forms([long, "limits#1"])
    assert forms.meant(long.upper()) is None
    assert forms.meant(f"{long}/limits#1") is None
    assert forms.meant("Limit-1") == "limits#1"
