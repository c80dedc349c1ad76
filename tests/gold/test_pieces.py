"""Pieces of gold text that say nothing, or that the question says already."""

import gzip
import json
import re
from pathlib import Path

import pytest

from conftest import run_cli, write_jsonl
from places import DATA
from ragworthy.metrics.facts import answers as f
from ragworthy.records import Answer, Gold, Trace


def contains(pieces: list[str], claim: str) -> bool:
    gold = Gold(answerable=True, qid="q", question="?", gold_claim_substr=pieces, gold_citations=["a"])
    answer = Answer(claim=claim, citations=["a"])
    return bool(
        f.trace_flags(f.Rules(short_words=True))(gold, Trace(retrieved_ids=["a"], answer_json=answer)) & f.CONTAINS
    )


@pytest.mark.parametrize("piece", [".", "–", "-----", "。。", "….…….", " . . . ."])
def test_a_piece_without_a_letter_or_digit_makes_no_answer_right(piece: str) -> None:
    claim = f"He was bored ({piece}) in 1973 {piece}"
    assert not contains([piece], claim)
    assert not contains([piece, "another piece"], claim)
    assert contains([piece, "in 1973"], claim)


def test_letters_of_any_script_and_digits_count() -> None:
    assert contains(["(5)"], "It is (5).")
    assert contains(["%北京%%%"], "他住在%北京%%%")
    assert contains(['"Rome"'], 'It is "Rome".')


def test_an_item_with_nothing_else_is_an_error_and_beside_others_it_is_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    known = {"question": "When?", "answerable": True, "gold_citations": ["a"]}
    write_jsonl(Path("bad.jsonl"), [{"qid": "q", **known, "gold_claim_substr": [".", "-"]}])
    trace = {"qid": "q", "retrieved_ids": ["a"], "answer_json": {"claim": "He was bored.", "citations": ["a"]}}
    write_jsonl(Path("traces.jsonl"), [trace])
    done = run_cli("score", "answers", "--gold", "bad.jsonl", "--trace", "traces.jsonl")
    assert done.code == 2
    assert done.err.splitlines()[0] == (
        "bad.jsonl:1: gold_claim_substr: expected an entry with a letter or a digit, got none [RW-G30]"
    )
    forced = run_cli(
        "score", "answers", "--gold", "bad.jsonl", "--trace", "traces.jsonl", "--allow-gold-errors", "--format", "json"
    )
    assert json.loads(forced.out)["suites"]["answers"]["labels"] == {"ANS_NO_CONTAIN": 1}
    lint = run_cli("gold", "lint", "bad.jsonl")
    assert (lint.code, lint.out.count("[RW-G30]"), lint.out.count("[RW-G07]")) == (1, 2, 0)
    assert 'error: bad.jsonl:1: gold_claim_substr[1]: expected a letter or a digit, got "-" [RW-G30]' in lint.out

    write_jsonl(Path("gold.jsonl"), [{"qid": "q", **known, "gold_claim_substr": [".", "in 1973"]}])
    report = run_cli("score", "answers", "--gold", "gold.jsonl", "--trace", "traces.jsonl", "--format", "json")
    body = json.loads(report.out)["suites"]["answers"]
    assert body["labels"] == {"ANS_NO_CONTAIN": 1}
    (warning,) = [one for one in body["warnings"] if one["code"] == "RW-W99"]
    assert warning["message"] == "1 gold item with pieces of text that have no letter or digit, which never count"
    assert warning["where"] == "gold.jsonl:1"


@pytest.mark.data("data/squad2/dev/gold.jsonl.gz")
def test_squad_has_two_full_stops_and_some_pieces_of_its_questions() -> None:
    path = DATA / "squad2/dev/gold.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        items = [json.loads(line) for line in lines]
    found = json.loads(run_cli("gold", "lint", path, "--format", "json").out)["findings"]
    bare = [one["qid"] for one in found if one["code"] == "RW-G30"]
    assert bare == [item["qid"] for item in items if "." in item["gold_claim_substr"]]
    assert len(bare) == 2
    named = {one["qid"] for one in found if one["code"] == "RW-G32"}
    held = {
        item["qid"]
        for item in items
        if any(len(piece) >= 5 and piece.lower() in item["question"].lower() for piece in item["gold_claim_substr"])
    }
    short = {
        item["qid"]
        for item in items
        for piece in item["gold_claim_substr"]
        if len(piece) < 5 and piece != "."
        if re.search(rf"\b{re.escape(piece.lower())}\b", item["question"].lower())
    }
    assert named == held | short
    assert (len(held), len(named)) == (21, 27)


def test_evidence_and_references_that_say_nothing_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    known = {"question": "How long are copies kept?", "answerable": True}
    items = [
        {"qid": "a", **known, "gold_claim_substr": ["45 days"], "gold_evidence": ["Kept for 45 days.", "..."]},
        {"qid": "b", **known, "gold_claim_substr": ["45 days"], "gold_evidence": [" "]},
        {"qid": "c", **known, "gold_reference": ["For 45 days.", "How long are copies kept"], "gold_citations": ["a"]},
        {"qid": "d", **known, "gold_claim_substr": [" "], "gold_citations": ["a"]},
    ]
    write_jsonl(Path("gold.jsonl"), items)
    done = run_cli("gold", "lint", "gold.jsonl")
    assert done.code == 1
    assert 'error: gold.jsonl:1: gold_evidence[1]: expected a letter or a digit, got "..." [RW-G33]' in done.out
    assert 'error: gold.jsonl:2: gold_evidence[0]: expected a letter or a digit, got " " [RW-G33]' in done.out
    assert (
        'warning: gold.jsonl:3: gold_reference: "How long are copies kept" is the question itself [RW-G32]'
        in done.out
    )  # fmt: skip
    assert 'error: gold.jsonl:4: gold_claim_substr[0]: expected a letter or a digit, got " " [RW-G30]' in done.out
    assert "RW-G07" not in done.out
    write_jsonl(Path("one.jsonl"), items[3:])
    write_jsonl(Path("traces.jsonl"), [{"qid": "d", "retrieved_ids": ["a"], "answer_json": {"claim": "No."}}])
    files = ("--gold", "one.jsonl", "--trace", "traces.jsonl")
    assert "[RW-G30]" in run_cli("score", "answers", *files).err
    assert "expected" not in run_cli("score", "answers", *files, "--allow-gold-errors").out.partition("offenders")[2]
