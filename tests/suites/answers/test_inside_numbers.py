"""Gold pieces inside longer numbers count, as the sources' rule says, and are told apart."""

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import run_cli, write_jsonl
from ragworthy.metrics.facts.inside import only_inside
from ragworthy.records import Gold


def inside(pieces: list[str], claim: str, all_of: list[Any] | None = None) -> bool:
    return only_inside(
        Gold(answerable=True, gold_claim_substr=pieces, gold_claim_all=all_of), claim, short_words=True
    )  # fmt: skip


@pytest.mark.parametrize(
    ("piece", "claim"),
    [
        ("12 books", "An adult may borrow 112 books."),
        ("22:15", "At 22:150."),
        ("22:15", "At 122:15."),
        ("6 euros", "It costs 56 euros, or 0.6 euros."),
        ("1,000 litres", "It holds 31,000 litres"),
        ("000 litres", "It holds 1,000 litres"),
        ("Version 3", "Version 3.10 has it"),
        ("5 GB", "It is 1.5 GB"),  # short, so a whole word: the point is a border of words
        ("May 2021", "In May 20214"),
        ("1.5.2021", "On 31.5.2021"),
    ],
)
def test_a_piece_of_a_longer_number(piece: str, claim: str) -> None:
    assert inside([piece], claim)
    assert not inside([piece], f"{claim} or {piece}")  # it also stands by itself
    assert not inside([piece, claim], claim)  # another piece is met


@pytest.mark.parametrize(
    ("piece", "claim"),
    [
        ("12 books", "It is 12 books, not 112 books."),
        ("12 books", "Up to 13 books."),  # it does not count at all
        ("22:15", "At 22:15."),
        ("22:15", "At 22:15:00, in 2021, 12 times"),
        ("in 2021", "It was in 2021."),
        ("2021", "On 3.5.2021 it began."),
        ("1990", "In 1990,1991 and 1992"),
        ("45 days", "For 45 days,5 hours"),
        ("Rome", "It is Rome, 3 of 3."),
        ("1,000 litres", "1,000 litres"),
    ],
)
def test_a_piece_that_stands_by_itself_or_not_at_all(piece: str, claim: str) -> None:
    assert not inside([piece], claim)


def test_one_of_several_pieces_that_are_all_needed() -> None:
    assert inside([], "In 18 weeks, by sync.", ["8 weeks", "sync"])
    assert not inside([], "In 18 weeks, by cp.", ["8 weeks", "sync"])  # not right at all
    assert not inside([], "In 8 weeks, by sync.", ["8 weeks", "sync"])


def item(qid: str, piece: str) -> dict[str, Any]:
    return {
        "qid": qid,
        "question": f"{qid}?",
        "answerable": True,
        "gold_claim_substr": [piece],
        "gold_citations": ["a"],
    }


def test_a_report_names_them_and_its_numbers_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    claims = {"n1": "It is 112 books.", "n2": "It is 12 books.", "n3": "It is 212 books.", "n4": "No 112 books here"}
    write_jsonl(Path("gold.jsonl"), [item(qid, "12 books") for qid in claims])
    cited = {"n3": ["b"]}
    answers = {qid: {"claim": claim, "citations": cited.get(qid, ["a"])} for qid, claim in claims.items()}
    traces = [{"qid": qid, "retrieved_ids": ["a", "b"], "answer_json": one} for qid, one in answers.items()]
    write_jsonl(Path("traces.jsonl"), traces)
    files = ("--gold", "gold.jsonl", "--trace", "traces.jsonl", "--rows", "rows.jsonl", "--format", "json")
    body = json.loads(run_cli("score", "answers", *files, "--refusal", "No 112 books here").out)["suites"]["answers"]
    (warning,) = [one for one in body["warnings"] if one["code"] == "RW-W101"]
    said = "2 answers count as right only because a gold piece is inside a longer number, e.g. that of n1"
    assert (warning["message"], warning["count"], warning["qids"]) == (said, 2, ["n1", "n3"])
    assert (body["metrics"]["answers.containment"]["num"], body["metrics"]["answers.precision"]["num"]) == (3, 2)
    rows = {row["qid"]: row.get("remarks") for row in map(json.loads, Path("rows.jsonl").read_text().splitlines())}
    assert rows == {"n1": ["inside a longer number"], "n2": None, "n3": ["inside a longer number"], "n4": None}
    offenders = {one["qid"]: one for one in body["offenders"]}
    assert offenders["n3"]["why"].endswith("; the gold text is inside a longer number")
    assert offenders["n3"]["remarks"] == ["inside a longer number"]


def test_a_rate_with_errors_is_not_said_to_be_of_shipped_answers_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two right answers and one error: 2 of 3 shipped answers and errors."""
    monkeypatch.chdir(tmp_path)
    write_jsonl(Path("gold.jsonl"), [item(qid, "12 books") for qid in ("a", "b", "c")])
    right = {"retrieved_ids": ["a"], "answer_json": {"claim": "12 books", "citations": ["a"]}}
    traces: list[dict[str, Any]] = [{"qid": "a", **right}, {"qid": "b", **right}, {"qid": "c", "error": "timeout"}]
    write_jsonl(Path("traces.jsonl"), traces)
    done = run_cli("score", "answers", "--full", "--gold", "gold.jsonl", "--trace", "traces.jsonl")
    assert "answers.precision: 2 of 3 shipped answers and errors right and cited: " in done.out
    write_jsonl(Path("traces.jsonl"), traces[:2])
    done = run_cli("score", "answers", "--full", "--gold", "gold.jsonl", "--trace", "traces.jsonl")
    assert "answers.precision: 2 of 2 shipped answers right and cited: " in done.out
