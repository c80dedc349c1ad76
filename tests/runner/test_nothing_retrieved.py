"""Runs in which every reply lacks something: a document, a text."""

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import run_cli, write_jsonl

PIPELINE = """
def blind(question):
    return {"answer": "Nobody can say it better.", "documents": []}

def mute(question):
    return {"answer": " " if "3" in question else "", "documents": [{"id": "d", "text": "Names are free."}]}

WIND = "Das Handbuch weiß nichts davon, wie es scheint."

def evasive(question):
    said = {"0": "Dazu enthalten die Dokumente keine Angaben.", "1": WIND, "2": WIND}
    return {"answer": next((text for key, text in said.items() if key in question), "Ja."), "documents": []}

def ids(*, q, **_):
    return {"answer_json": {"claim": "Names.", "citations": []}, "retrieved_ids": []}
"""
POLICY = """
version = 1
[answers]
gold = "gold.jsonl"
traces = "out/traces.jsonl"
corpus = "out/chunks.jsonl"
"""


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four questions, one of which has no answer; evidence is known by its text."""
    monkeypatch.chdir(tmp_path)
    gold: list[dict[str, Any]] = [
        {"qid": f"q{n}", "question": f"What is {n}?", "answerable": True, "gold_claim_substr": ["free again"],
         "gold_evidence": ["Names are free again after 45 days."]} for n in range(3)
    ]  # fmt: skip
    write_jsonl(Path("gold.jsonl"), [*gold, {"qid": "q3", "question": "What is 3?", "answerable": False}])
    Path("rag.py").write_text(PIPELINE, encoding="utf-8")


def run(name: str) -> list[str]:
    done = run_cli("run", "--target", f"rag.py:{name}", "--gold", "gold.jsonl", "--out", "out")
    assert (done.code, done.err) == (0, "")
    return done.out.splitlines()


def test_a_retriever_that_finds_nothing_is_said_and_scored() -> None:
    said = run("blind")
    assert "no reply has a document: does the retriever find anything? Scores count every question as not found" in said
    assert said[-2].endswith("--corpus out/chunks.jsonl")
    assert Path("out/chunks.jsonl").read_bytes() == b""
    Path("ragworthy.toml").write_text(POLICY, encoding="utf-8")
    done = run_cli("gate", "--format", "json")
    report = json.loads(done.out)
    assert (done.code, report["verdict"], report["invalid"]) == (1, "NO-SHIP", [])
    hit = report["suites"]["answers"]["metrics"]["answers.hit@5"]
    assert (hit["num"], hit["den"]) == (0, 3)


def test_an_empty_corpus_that_no_run_wrote_is_refused() -> None:
    run("blind")
    Path("chunks.jsonl").touch()
    done = run_cli(
        "score", "answers", "--gold", "gold.jsonl", "--trace", "out/traces.jsonl", "--corpus", "chunks.jsonl"
    )
    assert done.code == 2
    assert done.err.splitlines()[0] == "chunks.jsonl: expected chunks, got none [RW-F04]"


def test_replies_that_name_ids_have_no_texts_to_write() -> None:
    said = run("ids")
    assert not any("document" in line for line in said)
    assert not Path("out/chunks.jsonl").exists()


def test_empty_answers_are_counted() -> None:
    said = run("mute")
    assert said[:2] == [
        "asked 4 = answered 4 + refused 0 + errored 0",
        "4 answers are empty: is the text where the target says it is?",
    ]


def test_how_many_answers_a_pack_makes_refusals() -> None:
    """Three read like a refusal; the pack knows one, and the other two are the same text."""
    wind = "Das Handbuch weiß nichts davon, wie es scheint."
    assert run("evasive")[1] == (
        '3 answers read like a refusal, e.g. "Dazu enthalten die Dokumente keine Angaben."; --refusal-pack de makes '
        f"1 of them refusals, --refusal '{wind}' 2 more; leave out what makes answers refusals (docs/refusals.md)"
    )
