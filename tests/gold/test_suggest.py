"""`gold suggest`: places that hold the answer, for a person to accept."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from conftest import run_cli, write_jsonl
from places import SHARED

CHUNKS = [
    {"chunk_id": "a#1", "doc_id": "a.md", "text": "Buckets hold objects. A bucket name is free again after 24 hours."},
    {"chunk_id": "a#2", "doc_id": "a.md", "text": "A report takes 24 hours. Nothing here is about names."},
    {"chunk_id": "b#1", "doc_id": "b.md", "text": "Tokens expire in 2011."},
]


def item(qid: str, question: str, *pieces: str, **more: Any) -> dict[str, Any]:
    return {"qid": qid, "question": question, "answerable": True, "gold_claim_substr": list(pieces), **more}


def suggested(folder: Path, *items: dict[str, Any], args: tuple[str, ...] = ()) -> tuple[str, list[dict[str, Any]]]:
    gold, corpus = write_jsonl(folder / "gold.jsonl", items), write_jsonl(folder / "chunks.jsonl", CHUNKS)
    done = run_cli("gold", "suggest", gold, "--corpus", corpus, "-o", folder / "s.jsonl", *args)
    assert (done.code, done.err) == (0, "")
    return done.out, [json.loads(line) for line in (folder / "s.jsonl").read_text("utf-8").splitlines()]


def test_chunks_that_hold_the_answer_come_in_the_order_of_what_they_share_with_the_question(tmp_path: Path) -> None:
    _, (one,) = suggested(tmp_path, item("q", "When is a bucket name free again?", "24 hours"))
    assert [(each["chunk"], each["evidence"], each["why"]) for each in one["candidates"]] == [
        ("a#1", "A bucket name is free again after 24 hours.", "holds the answer"),
        ("a#2", "A report takes 24 hours.", "holds the answer"),
    ]
    assert one["accept"] is None and one["answers"] == ["24 hours"]


def test_short_answers_count_as_whole_words_and_references_as_texts(tmp_path: Path) -> None:
    out, (year, reference) = suggested(
        tmp_path,
        item("y", "When do tokens expire?", "2011"),
        item("r", "Where do objects live?", gold_reference="Objects live in buckets."),
    )
    assert [each["chunk"] for each in year["candidates"]] == ["b#1"]
    # no chunk holds the reference word for word: the nearest are shown, and said to be no more than that
    assert reference["candidates"][0]["chunk"] == "a#1"
    assert reference["candidates"][0]["why"].endswith("does not hold the answer")
    assert "2 questions: the answer is in the corpus for 1\n" in out


def test_what_is_not_asked_for_is_counted(tmp_path: Path) -> None:
    bound = item("b", "x?", "24 hours", gold_citations=["a#1"])
    closed = {"qid": "c", "question": "y?", "answerable": False}
    bare = item("d", "z?")
    out, found = suggested(tmp_path, bound, closed, bare)
    assert found == []
    assert "not asked for: 1 that have evidence (--all for these too)\n" in out
    assert (
        "not asked for: 1 that are unanswerable\n" in out and "not asked for: 1 that have no text of an answer" in out
    )
    assert len(suggested(tmp_path, bound, closed, bare, args=("--all",))[1]) == 1


def test_accepted_evidence_goes_into_the_gold_set_and_nothing_else_moves(tmp_path: Path) -> None:
    items = [item("q", "When is a bucket name free again?", "24 hours", topic="buckets"), item("y", "When?", "2011"),
             item("n", "Why?", "24 hours")]  # fmt: skip
    _, found = suggested(tmp_path, *items)
    found[0]["accept"], found[1]["accept"] = [1, 2], 0
    answered = write_jsonl(tmp_path / "answered.jsonl", found)
    done = run_cli("gold", "suggest", tmp_path / "gold.jsonl", "--accept", answered, "-o", tmp_path / "new.jsonl")
    assert (done.code, done.out.splitlines()[0]) == (0, "accepted 1, refused 1, not answered 1")
    new = [json.loads(line) for line in (tmp_path / "new.jsonl").read_text("utf-8").splitlines()]
    evidence = ["A bucket name is free again after 24 hours.", "A report takes 24 hours."]
    assert new == [{**items[0], "gold_evidence": evidence, "gold_source": ["a.md"]}, *items[1:]]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"accept": 7}, "s.jsonl:1: accept: expected a number from 1 to 2, or 0 for none, got 7 [RW-G29]"),
        ({"accept": "yes"}, "s.jsonl:1: accept: expected int | array | null, got str [RW-G29]"),
        ({"qid": "other", "accept": 1}, 's.jsonl:1: qid: expected a qid of the gold set, got "other" [RW-G29]'),
    ],
)
def test_answers_that_mean_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], said: str
) -> None:
    _, (one,) = suggested(tmp_path, item("q", "When is a bucket name free again?", "24 hours"))
    monkeypatch.chdir(tmp_path)
    write_jsonl(tmp_path / "s.jsonl", [one | change])
    done = run_cli("gold", "suggest", "gold.jsonl", "--accept", "s.jsonl", "-o", "new.jsonl")
    assert (done.code, done.err.splitlines()[0]) == (2, said)
    assert not Path("new.jsonl").exists()


def test_it_never_writes_over_what_it_reads(tmp_path: Path) -> None:
    gold, corpus = write_jsonl(tmp_path / "g.jsonl", [item("q", "x?", "y")]), write_jsonl(tmp_path / "c.jsonl", CHUNKS)
    before = gold.read_bytes()
    assert run_cli("gold", "suggest", gold, "--corpus", corpus, "-o", gold).code == 2
    assert gold.read_bytes() == before
    assert run_cli("gold", "suggest", gold, "-o", tmp_path / "o.jsonl").code == 2


@pytest.mark.data("data/squad2/dev/gold.jsonl.gz")
def test_on_real_questions_the_right_paragraph_is_nearly_always_the_first(tmp_path: Path) -> None:
    folder = SHARED / "data/squad2/dev"
    with gzip.open(folder / "gold.jsonl.gz", "rt", encoding="utf-8") as file:
        items = [json.loads(line) for line, _ in zip(file, range(400), strict=False)]
    truth = {one["qid"]: one["gold_citations"] for one in items}
    gold = write_jsonl(tmp_path / "g.jsonl", [one | {"gold_citations": []} for one in items])
    run_cli("gold", "suggest", gold, "--corpus", folder / "corpus.jsonl", "-o", tmp_path / "s.jsonl")
    found = [json.loads(line) for line in (tmp_path / "s.jsonl").read_text("utf-8").splitlines()]
    first = sum(one["candidates"][0]["chunk"] in truth[one["qid"]] for one in found)
    among = sum(any(each["chunk"] in truth[one["qid"]] for each in one["candidates"]) for one in found)
    assert (len(found), first, among) == (187, 178, 186)
