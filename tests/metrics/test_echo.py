"""Claims that repeat the question: what counts as one, what does not, and that real answers hardly ever do."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from conftest import run_cli, write_jsonl
from places import DATA
from ragworthy.metrics.facts.echo import repeats

GRANT = "For how long is a trust grant from another project valid?"
SCANNER = (
    "A scanner produces one 30 TB image. Does Harbor take it as one object, and into how many parts may it be split?"
)


@pytest.mark.parametrize(
    ("claim", "question"),
    [
        (GRANT, GRANT),
        (GRANT.upper().rstrip("?"), GRANT),
        (f'  "{GRANT}"', GRANT),
        (f"Question: {GRANT}", GRANT),
        ("For how long is a trust grant from another project", GRANT),  # cut off
        ("For how long is trust grant from other project valid?", GRANT.replace("another", "other")),
        ("Does X support null keys", "Does X support null keys?"),
        ("X支持空键吗？", "X支持空键吗?"),
        ("¿Es posible borrar un bucket?", "¿Es posible borrar un bucket?"),
        ('The answer is: "By when does an invoice have to be paid?"', "By when does an invoice have to be paid?"),
        (
            "The ceiling applies to people who read an open bucket.",
            "What ceiling applies to people who read an open bucket?",
        ),
        ("Wie lange gilt ein Token", "Wie lange gilt ein Token?"),
        (f"The {SCANNER[2:]}", SCANNER),  # one word is another
        (SCANNER.replace("one object", "a single object"), SCANNER),
    ],
)
def test_the_question_over_again(claim: str, question: str) -> None:
    assert repeats(claim, question)


@pytest.mark.parametrize(
    ("claim", "question"),
    [
        ("", GRANT),
        ("365 days", GRANT),
        (f"{GRANT} For 365 days.", GRANT),
        ("A trust grant from another project is valid for 365 days.", GRANT),
        ("Tolkien wrote the Book of Days.", "Who wrote the Book of Days?"),
        ("It is possible to delete a bucket.", "Is it possible to delete a bucket?"),
        (
            "Harbor keeps copies of every key.",
            "Does Harbor keeps copies of every key?",
        ),  # only a word that asks is gone
        ("The maximum period is 10 seconds.", "What is the maximum period?"),
        ("X does support null keys", "Does X support null keys?"),
        ("The bridge was built in 1900", "The bridge was built in which year?"),
        ("X支持空键", "X支持空键吗？"),  # a statement: the particle that asks is gone
        ("Es posible borrar un bucket.", "¿Es posible borrar un bucket?"),  # a statement: only the marks are gone
        ("What?", GRANT),
        ("anything", ""),
        (SCANNER.replace("A scanner", "The scanner").replace("split?", "split: 12,000 parts."), SCANNER),
        ("Does Harbor take it? It does, as one object of up to 12,000 parts; is that what you asked?", SCANNER),
    ],
)
def test_what_says_something_else(claim: str, question: str) -> None:
    assert not repeats(claim, question)


@pytest.mark.data("data/squad2/dev/gold.jsonl.gz", "data/llm_answers/qwen3_squad2/dev")
def test_no_real_answer_is_taken_for_its_question() -> None:
    with gzip.open(DATA / "squad2/dev/gold.jsonl.gz", "rt", encoding="utf-8") as lines:
        asked = {item["qid"]: item["question"] for item in map(json.loads, lines)}
    claims = [
        (one["answer_json"]["claim"], asked[one["qid"]])
        for path in sorted((DATA / "llm_answers/qwen3_squad2/dev").glob("trace.*.jsonl"))
        for one in map(json.loads, path.read_text(encoding="utf-8").splitlines())
    ]
    assert len(claims) == 800
    assert not [claim for claim in claims if repeats(*claim)]
    assert all(repeats(question, question) for question in list(asked.values()) if question.strip().endswith("?"))


# in a report


def item(qid: str, question: str, piece: str) -> dict[str, Any]:
    return {"qid": qid, "question": question, "answerable": True, "gold_claim_substr": [piece], "gold_citations": ["a"]}


def test_it_is_named_and_scored_like_any_other_claim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    questions = {"q1": ("What is Harbor sync?", "Harbor sync"), "q2": ("How long is it kept?", "45 days")}
    questions["q3"] = ("Which fee is due?", "storage fee")
    claims = {"q1": "What is Harbor sync?", "q2": "How long is it kept", "q3": "The storage fee."}
    write_jsonl(Path("gold.jsonl"), [item(qid, *one) for qid, one in questions.items()])
    answers = {qid: {"claim": claim, "citations": ["a"]} for qid, claim in claims.items()}
    traces = [{"qid": qid, "retrieved_ids": ["a"], "answer_json": one} for qid, one in answers.items()]
    write_jsonl(Path("traces.jsonl"), traces)
    files = ("--gold", "gold.jsonl", "--trace", "traces.jsonl", "--rows", "rows.jsonl", "--format", "json")
    body = json.loads(run_cli("score", "answers", *files).out)["suites"]["answers"]
    (warning,) = [one for one in body["warnings"] if one["code"] == "RW-W98"]
    assert warning["message"] == "2 claims repeat the question in place of an answer, e.g. that of q1"
    assert (warning["count"], warning["qids"]) == (2, ["q1", "q2"])
    rows = {row["qid"]: row for row in map(json.loads, Path("rows.jsonl").read_text().splitlines())}
    assert {qid: row.get("remarks") for qid, row in rows.items()} == {
        "q1": ["repeats the question"],
        "q2": ["repeats the question"],
        "q3": None,
    }
    assert [row["label"] for row in rows.values()] == ["OK", "ANS_NO_CONTAIN", "OK"]  # q1: the piece is in the question
    (offender,) = body["offenders"]
    assert offender["why"].endswith("the claim lacks the gold text; the claim repeats the question")
    lint = run_cli("gold", "lint", "gold.jsonl").out
    assert 'warning: gold.jsonl:1: gold_claim_substr[0]: "Harbor sync" is in the question itself [RW-G32]' in lint
    assert "RW-G32 piece_in_question: 1 time." in lint
