"""`score answers --item`: one question with all its texts."""

from pathlib import Path
from typing import Any

import pytest

from conftest import run_cli, write_jsonl

LONG = "It is kept for a long time, " * 20 + "as the contract says."


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    monkeypatch.chdir(tmp_path)
    asked: dict[str, Any] = {"question": "How long is it kept, and where?", "answerable": True, "gold_citations": ["a"]}
    gold = [
        {"qid": "q1", **asked, "gold_claim_all": [["45 days", "forty-five days"], "in Bonn"]},
        {"qid": "q2", **asked, "gold_claim_substr": ["45 days"]},
        {"qid": "q3", "question": "Who founded it?", "answerable": False},
        {"qid": "q4", **asked, "gold_claim_substr": ["45 days"]},
    ]
    write_jsonl(Path("gold.jsonl"), gold)
    said = {"q1": f"{LONG}\nAnd 45 days.", "q2": "145 days", "q3": "not in context"}
    traces = [
        {"qid": qid, "retrieved_ids": ["a", "b"], "answer_json": {"claim": claim, "citations": ["a"]}}
        for qid, claim in said.items()
    ]
    traces.insert(0, traces[0] | {"answer_json": {"claim": "an earlier one", "citations": []}})
    write_jsonl(Path("traces.jsonl"), [*traces, {"qid": "q4", "error": "timeout: 60 s", "error_code": "RW-J03"}])
    return "score", "answers", "--gold", "gold.jsonl", "--trace", "traces.jsonl"


def test_a_question_is_shown_with_its_whole_texts(files: tuple[str, ...]) -> None:
    done = run_cli(*files, "--item", "q2", "--item", "q1")
    assert done.code == 1
    right, wrong = done.out.split("\n\nq1  ")
    assert right.startswith("""\
q2  OK
  question   How long is it kept, and where?
  expected   45 days
  claim      1⟦45 days⟧
  cites      a
  gold       a (rank 1)
  retrieved  1 a (gold, cited), 2 b
  remarks    inside a longer number

""")
    assert wrong.startswith("""\
ANS_NO_CONTAIN (generation: claim_wrong)
  question   How long is it kept, and where?
  expected   45 days or forty-five days; and in Bonn
  claim      It is kept for a long time, It is kept for a long time,""")
    # Wrapped, and whole: nothing of it is cut.
    claim = wrong.split("  claim      ")[1].split("  lacks")[0]
    assert " ".join(claim.replace("| ", "").split()) == f"{LONG} And ⟦45 days⟧."
    assert (
        """
           | And ⟦45 days⟧.
  lacks      in Bonn
  cites      a
  gold       a (rank 1)
  retrieved  1 a (gold, cited), 2 b
  why        cites the right evidence, but the claim lacks the gold text; missing: in Bonn

"""
        in wrong
    )
    assert wrong.endswith("\nitems: 1 of 2 good (exit 1)\n")


def test_refusals_and_errors(files: tuple[str, ...]) -> None:
    refused = run_cli(*files, "--item", "q3")
    assert refused.code == 0
    assert "q3  REFUSAL_OK\n  question   Who founded it?\n  expected   a refusal\n" in refused.out
    failed = run_cli(*files, "--item", "q4")
    assert "q4  ERROR (pipeline: target_error)" in failed.out
    assert "  why        an error instead of an answer: timeout: 60 s [RW-J03]\n" in failed.out
    assert "**why:** an error instead of an answer: " in run_cli(*files, "--item", "q4", "--format", "markdown").out


def test_what_is_no_question_of_the_set(files: tuple[str, ...]) -> None:
    done = run_cli(*files, "--item", "q9")
    assert (done.code, done.err.splitlines()[0]) == (
        2, 'expected a question of answers, got "q9" [RW-U13]'
    )  # fmt: skip
    assert run_cli(*files, "--item", "q1", "--format", "json").code == 2
