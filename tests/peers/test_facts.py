"""What the tables of docs/from-ragas.md and docs/from-deepeval.md say, measured."""

import re
from pathlib import Path
from typing import Any

import pytest

import ragworthy as rw
from conftest import run_cli, write_jsonl
from example_folders import FOLDER
from peers_python import facts
from places import TESTS

RIGHT = {0, 1, 2, 3, 4, 5, 8, 9, 10}
"""The questions that come out right. Of the others, number 6 times out, 7 is empty and 11 is answered by mistake."""
TIMED_OUT, EMPTY, NO_ANSWER = 6, 7, (9, 10, 11)


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("facts")


@pytest.fixture
def ragas(place: Path) -> dict[str, Any]:
    return facts("from-ragas", TESTS / "peers/inside/ragas_facts.py", place / "ragas")


@pytest.fixture
def deepeval(place: Path) -> dict[str, Any]:
    return facts("from-deepeval", TESTS / "peers/inside/deepeval_facts.py", place / "deepeval")


def column(found: dict[str, Any], name: str) -> list[float | None]:
    return [row[name] for row in found["rows"]]


# ragas


def test_a_row_without_a_response_leaves_the_mean_of_ragas(ragas: dict[str, Any]) -> None:
    present = column(ragas["as_it_is"], "string_present")
    assert [nth for nth, one in enumerate(present) if one is None] == [TIMED_OUT]
    assert {nth for nth, one in enumerate(present) if one == 1} == RIGHT
    assert present[EMPTY] == 0, "an empty answer counts"
    assert f"'string_present': {9 / 11:.4f}" in ragas["as_it_is"]["printed"], "not 9 / 12"
    assert column(ragas["as_it_is"], "exact_match")[TIMED_OUT] == 0, "this one counts it"
    assert ragas["raise_exceptions"] == "Expecting a string"
    assert ragas["without_catching"] == TIMED_OUT, "a loop that catches nothing ends there"
    assert any(one.startswith("evaluate() is deprecated") for one in ragas["warned"])


def test_an_empty_retrieval_leaves_the_mean_of_some_metrics_of_ragas(ragas: dict[str, Any]) -> None:
    before, after = ragas["as_it_is"], ragas["nothing_found"]
    for name, counted in (
        ("non_llm_context_recall", None),
        ("id_based_context_precision", None),
        ("id_based_context_recall", 0),
        ("non_llm_context_precision_with_reference", 0),
    ):
        assert column(before, name)[0] is not None
        assert column(after, name)[0] == counted, name
    assert "'non_llm_context_recall': 1.0000" in after["printed"]


def test_questions_without_evidence_are_no_case_of_context_recall_in_ragas(ragas: dict[str, Any]) -> None:
    for name in ("id_based_context_recall", "non_llm_context_recall"):
        assert [column(ragas["as_it_is"], name)[nth] for nth in NO_ANSWER] == [None] * 3


def test_ragas_compares_texts_exactly_and_an_empty_reference_is_always_present(ragas: dict[str, Any]) -> None:
    assert column(ragas["no_reference"], "string_present")[0] == 1
    assert column(ragas["upper"], "string_present")[0] == 0


def test_context_recall_of_ragas_is_a_share_and_goes_by_likeness(ragas: dict[str, Any]) -> None:
    assert column(ragas["half"], "id_based_context_recall")[0] == 0.5
    assert column(ragas["edited"], "non_llm_context_recall")[0] == 1, "with both times in it changed"


# DeepEval


def test_a_case_without_an_answer_in_deepeval(deepeval: dict[str, Any]) -> None:
    missing = "MissingTestCaseParamsError: 'actual_output' cannot be None for the 'Exact Match' metric"
    assert deepeval["default"] == {"raised": missing}
    assert deepeval["ignored"]["counted"] == 12
    assert deepeval["ignored"]["rows"][TIMED_OUT] == deepeval["ignored"]["rows"][EMPTY] == [False, 1]
    assert deepeval["skipped"]["counted"] == 10
    assert deepeval["skipped"]["rows"][TIMED_OUT] == deepeval["skipped"]["rows"][EMPTY] == [True, 0]


def test_the_metrics_of_deepeval_that_ask_no_model(deepeval: dict[str, Any]) -> None:
    assert {nth for nth, row in enumerate(deepeval["contains"]["rows"]) if row[0]} == RIGHT
    assert all(success for success, _ in deepeval["exact"]["rows"])
    matched = [nth for nth, row in enumerate(deepeval["pattern"]["rows"]) if row[0]]
    assert matched == [2], "only the whole text matches: not '24 euros a night', which no case has"


# ours


@pytest.fixture
def ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> rw.Result:
    """The same pipeline, asked and scored by us; the gold set comes from the file of ragas."""
    monkeypatch.chdir(FOLDER / "from-ragas")
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    gold = rw.import_file("ragas", "questions.jsonl", unanswerable=["I don't know."]).gold
    return rw.run("rag.py:ask", gold).score("answers", k=2, refusals=["I don't know."])


def test_ours_counts_every_question(ours: rw.Result) -> None:
    rows = list(ours.rows())
    assert {nth for nth, row in enumerate(rows) if row["label"] in ("OK", "REFUSAL_OK")} == RIGHT
    assert [rows[nth]["label"] for nth in (TIMED_OUT, EMPTY, 11)] == ["ERROR", "EMPTY_CLAIM", "HALLUCINATION"]
    counted = {
        name: ours.metrics[f"answers.{name}"] for name in ("containment", "recall@2", "precision", "under_refusal")
    }
    assert {name: (one.num, one.den) for name, one in counted.items()} == {
        "containment": (7, 9),  # of the answerable ones: 9 less the timeout and the empty one
        "recall@2": (8, 9),  # all but the timeout, for which nothing is known
        "precision": (7, 10),  # 7 right; the timeout, the empty answer and the made-up one are wrong
        "under_refusal": (1, 3),
    }


def test_the_same_questions_pass_and_fail_as_with_ragas(ours: rw.Result, ragas: dict[str, Any]) -> None:
    good = [row["label"] in ("OK", "REFUSAL_OK") for row in ours.rows()]
    present = column(ragas["as_it_is"], "string_present")
    assert [one for nth, one in enumerate(good) if nth != TIMED_OUT] == [
        one == 1 for nth, one in enumerate(present) if nth != TIMED_OUT
    ]


def test_ours_counts_an_empty_retrieval_and_does_not_mind_the_case(tmp_path: Path) -> None:
    gold = [{"qid": "A", "question": "When?", "answerable": True, "gold_claim_substr": ["PITCHES are free"],
             "gold_citations": ["a"]}]  # fmt: skip
    trace = {"qid": "A", "retrieved_ids": [], "answer_json": {"claim": "Pitches are free from 14:00."}}
    found = rw.score("answers", gold=gold, traces=[trace])
    assert found.metrics["answers.containment"].num == 1
    assert (found.metrics["answers.recall@5"].num, found.metrics["answers.recall@5"].den) == (0, 1)


def test_our_recall_wants_all_the_evidence_and_its_numbers() -> None:
    asked = {"qid": "A", "question": "When?", "answerable": True, "gold_claim_substr": ["14:00"]}
    trace = {"qid": "A", "retrieved_ids": ["a"], "answer_json": {"claim": "From 14:00.", "citations": ["a"]}}
    half = rw.score("answers", gold=[asked | {"gold_citations": ["a", "b"]}], traces=[trace])
    assert half.metrics["answers.recall@5"].num == 0
    corpus = [{"chunk_id": "a", "text": "Pitches are free from 14:00 and must be left by 11:00."}]
    for text, found in (
        ("free from 14:00 and must be left", 1),
        ("Pitches are free from 15:00 and must be left by 10:00.", 0),
    ):
        scored = rw.score("answers", gold=[asked | {"gold_evidence": [text]}], traces=[trace], corpus=corpus)
        assert scored.metrics["answers.recall@5"].num == found, text


@pytest.mark.parametrize(("failed", "verdict", "code"), [(2, "SHIP", 0), (3, "INVALID", 4), (7, "INVALID", 4)])
def test_where_many_errors_are_no_measurement(tmp_path: Path, failed: int, verdict: str, code: int) -> None:
    asked = {"question": "?", "answerable": True, "gold_claim_substr": ["14:00 sharp"], "gold_citations": ["a"]}
    right = {"retrieved_ids": ["a"], "answer_json": {"claim": "At 14:00 sharp.", "citations": ["a"]}}
    lost = {"retrieved_ids": [], "error": "timeout"}
    gold = write_jsonl(tmp_path / "gold.jsonl", [{"qid": str(n), **asked} for n in range(12)])
    rows = [{"qid": str(n), **(lost if n < failed else right)} for n in range(12)]
    traces = write_jsonl(tmp_path / "traces.jsonl", rows)
    done = run_cli("score", "answers", "-q", "--gold", gold, "--trace", traces, "--gates", "precision=0.8")
    assert done.code == code
    why = "(: .*ended in (an error|errors): .*)?"
    assert re.fullmatch(rf"verdict: {verdict} \(exit {code}\){why}\n", done.out), done.out
