"""Ids that name other texts by now, ids twice in a corpus, and ids beside evidence, without a corpus to check them."""

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import run_cli as ragworthy
from conftest import write_jsonl

Row = dict[str, Any]

FACTS = ["at most 5 GB", "sixty-four letters", "rotated yearly", "blue and green", "made of copper"]
TEXTS = [f"Fact {n}: the thing is {fact}, as everybody knows." for n, fact in enumerate(FACTS)]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def gold(**more: Any) -> list[Row]:
    return [
        {"qid": f"q{n}", "question": f"What of {n}?", "answerable": True, "gold_claim_substr": [fact],
         "gold_citations": [f"c{n}"]} | more
        for n, fact in enumerate(FACTS)
    ]  # fmt: skip


def scored(rows: list[Row], order: list[int], *args: str, texts: list[str] = TEXTS) -> Row:
    """The chunks c0, c1 … with these texts, cited by a pipeline that answers right."""
    write_jsonl(Path("gold.jsonl"), rows)
    write_jsonl(Path("chunks.jsonl"), [{"id": f"c{n}", "doc_id": "d", "text": texts[at]} for n, at in enumerate(order)])
    traces = [{"qid": f"q{n}", "retrieved_ids": [f"c{n}"], "answer_json": {"claim": fact, "citations": [f"c{n}"]}}
              for n, fact in enumerate(FACTS)]  # fmt: skip
    write_jsonl(Path("trace.jsonl"), traces)
    files = ("--gold", "gold.jsonl", "--trace", "trace.jsonl", "--format", "json")
    report: Row = json.loads(ragworthy("score", "answers", *files, *args).out)
    return report


def messages(report: Row, code: str, suite: str = "answers") -> list[str]:
    return [one["message"] for one in report["suites"][suite]["warnings"] if one["code"] == code]


CORPUS = ("--corpus", "chunks.jsonl")
CHR = ("--gates", "chr=0.1", "--no-default-gates")
WHY = "were they cut again? say what the evidence is (gold_evidence)"
SAID = "the chunks that gold_citations names do not hold the gold text"


def test_ids_whose_chunks_hold_the_gold_text_are_fine() -> None:
    report = scored(gold(), [0, 1, 2, 3, 4], *CORPUS, *CHR)
    assert (report["verdict"], messages(report, "RW-W89")) == ("SHIP", [])


def test_a_few_that_do_not_are_named() -> None:
    report = scored(gold(), [1, 0, 2, 3, 4], *CORPUS, *CHR)
    assert report["verdict"] == "SHIP"
    assert messages(report, "RW-W89") == [f"2 of 5 questions: {SAID}, e.g. q0; {WHY}"]


def test_most_of_them_in_other_chunks_are_stale_for_certain() -> None:
    report = scored(gold(), [1, 2, 0, 3, 4], *CORPUS, *CHR)
    assert report["verdict"] == "INVALID"
    assert report["invalid"] == [f"3 of 5 questions: {SAID}, which is in other chunks: {WHY} [RW-G21]"]
    assert report["next"][0] == {"pattern": f"3 of 5 questions: {SAID}", "do": WHY}
    without = scored(gold(), [1, 2, 0, 3, 4], *CORPUS, "--gates", "containment=0.1", "--no-default-gates")
    assert without["verdict"] == "SHIP"  # no gate looks at citations


def test_texts_that_no_chunk_has_are_only_named() -> None:
    """The pieces may be in other words than the documents: then nothing says that the ids are wrong."""
    report = scored(gold(), [0, 1, 2, 3, 4], *CORPUS, *CHR, texts=["Nothing of the kind."] * 5)
    assert report["verdict"] == "SHIP"
    assert messages(report, "RW-W89") == [f"5 of 5 questions: {SAID}, e.g. q0; {WHY}"]


def test_ids_beside_evidence_were_not_checked_without_a_corpus() -> None:
    rows = [row | {"gold_evidence": [TEXTS[n]]} for n, row in enumerate(gold())]
    said = ["5 gold items name evidence and ids: the ids were not checked: give --corpus"]
    assert messages(scored(rows, [1, 2, 0, 3, 4], *CHR), "RW-G20") == said
    assert messages(scored(rows, [1, 2, 0, 3, 4], *CORPUS, *CHR), "RW-G20") == []
    files = ("--gold", "gold.jsonl", "--trace", "trace.jsonl", "--format", "json")
    for args, told in (((), said), (CORPUS, [])):
        report = json.loads(ragworthy("score", "retrieval", *files, *args).out)
        assert messages(report, "RW-G20", "retrieval") == told


@pytest.mark.parametrize("suite", ["answers", "retrieval"])
def test_one_id_with_two_texts_is_an_error_and_with_one_text_a_note(suite: str) -> None:
    scored(gold(), [0, 1, 2, 3, 4])
    once = Path("chunks.jsonl").read_text()
    files = ("--gold", "gold.jsonl", "--trace", "trace.jsonl", "--corpus", "chunks.jsonl")
    Path("chunks.jsonl").write_text(once + json.dumps({"id": "c1", "doc_id": "d", "text": "Another."}) + "\n")
    done = ragworthy("score", suite, *files)
    assert (done.code, done.err.splitlines()[0]) == (
        2,
        'chunks.jsonl:6: chunk_id: expected one text for each id, got "c1" again with another text [RW-I06]',
    )
    Path("chunks.jsonl").write_text(once + once.splitlines()[1] + "\n")
    report = json.loads(ragworthy("score", suite, *files, "--format", "json").out)
    assert messages(report, "RW-G19", suite) == ["1 chunk is in the corpus again, with the same text"]
