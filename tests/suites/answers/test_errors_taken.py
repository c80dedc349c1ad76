"""Errors that take away the cases of a rate: what is left is too little to judge by."""

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import run_cli, write_jsonl

Row = dict[str, Any]
REASON = "{} ended in errors: ask them again (run --resume --retry-errors)"


def files(folder: Path, *, errors_yes: int = 0, errors_no: int = 0, yes: int = 40, no: int = 20) -> tuple[str, ...]:
    """Perfect answers and refusals, but for so many errors."""
    gold: list[Row] = []
    traces: list[Row] = []
    for n in range(yes):
        gold.append({"qid": f"y{n}", "question": f"What is {n}?", "answerable": True,
                     "gold_claim_substr": [f"answer number {n}"], "gold_citations": [f"d{n}"]})  # fmt: skip
        reply: Row = {"answer_json": {"claim": f"The answer number {n}.", "citations": [f"d{n}"]}}
        traces.append(
            {"qid": f"y{n}", "retrieved_ids": [f"d{n}"], **({"error": "timeout"} if n < errors_yes else reply)}
        )
    for n in range(no):
        gold.append({"qid": f"n{n}", "question": f"Who is {n}?", "answerable": False})
        reply = {"answer_json": {"claim": "not in context", "citations": []}}
        reply = {"error": "timeout"} if n < errors_no else reply
        traces.append({"qid": f"n{n}", "retrieved_ids": ["x"], **reply})
    paths = write_jsonl(folder / "gold.jsonl", gold), write_jsonl(folder / "traces.jsonl", traces)
    return ("--gold", str(paths[0]), "--trace", str(paths[1]))


def scored(flags: tuple[str, ...], *more: str) -> Row:
    report: Row = json.loads(run_cli("score", "answers", *flags, *more, "--format", "json").out)
    return report


def gate(report: Row, name: str) -> Row:
    found: Row = next(one for one in report["gates"] if one["metric"] == f"answers.{name}")
    return found


def test_nineteen_of_twenty_unanswerable_questions(tmp_path: Path) -> None:
    """0 of the 1 that is left was answered, which is not an under-refusal of 0."""
    flags = files(tmp_path, errors_no=19)
    report = scored(flags, "--gates", "under=0.05", "--no-default-gates")
    under = gate(report, "under_refusal")
    reason = REASON.format("19 of 20 unanswerable questions")
    assert report["verdict"] == "INVALID"
    assert (under["outcome"], under["reason"]) == ("not_measured", reason)
    assert (under["num"], under["den"], under["margin"], under["note"]) == (0, 1, None, None)
    assert report["invalid"] == [f"answers.under_refusal was not measured: {reason}"]
    assert [one["pattern"] for one in report["next"]] == ["errors instead of answers"]


@pytest.mark.parametrize(
    ("errors", "outcome", "verdict"),
    [(1, "pass", "SHIP"), (2, "undecided", "INCONCLUSIVE"), (3, "not_measured", "INVALID")],
)
def test_a_tenth_may_be_lost(errors: int, outcome: str, verdict: str, tmp_path: Path) -> None:
    """1 of 20 is the limit of 0.05, were it bad; 2 of 20 would be beyond it; 3 are more than a tenth."""
    report = scored(files(tmp_path, errors_no=errors), "--gates", "under=0.05", "--no-default-gates")
    assert (gate(report, "under_refusal")["outcome"], report["verdict"]) == (outcome, verdict)
    assert [one["code"] for one in report["suites"]["answers"]["warnings"] if one["code"] == "RW-W24"] == ["RW-W24"]


def test_answerable_questions_are_the_cases_of_the_other_rate(tmp_path: Path) -> None:
    """5 of 40 are an eighth. Precision counts an error as a wrong answer, so it loses no case: 35 of 40."""
    report = scored(files(tmp_path, errors_yes=5))
    assert gate(report, "over_refusal")["reason"] == REASON.format("5 of 40 answerable questions")
    assert gate(report, "under_refusal")["outcome"] == "pass"
    precision = gate(report, "precision")
    assert (precision["outcome"], precision["num"], precision["den"]) == ("pass", 35, 40)
    assert report["verdict"] == "INVALID"


def test_a_default_gate_is_not_excused_by_a_named_one(tmp_path: Path) -> None:
    for errors in (19, 20):
        report = scored(files(tmp_path, errors_no=errors), "--gates", "over=0.05")
        under = gate(report, "under_refusal")
        assert (report["verdict"], under["outcome"]) == ("INVALID", "not_measured")
        assert under["reason"] == REASON.format(f"{errors} of 20 unanswerable questions")
    assert under["judged"] is True


def test_an_outage_is_said_once(tmp_path: Path) -> None:
    report = scored(files(tmp_path, errors_yes=20, errors_no=19))
    assert report["invalid"] == ["39 of 60 questions ended in an error: this is an outage, not a measurement"]


def test_a_slice_loses_its_own_cases(tmp_path: Path) -> None:
    """5 of 60 unanswerable questions are fewer than a tenth; they are 5 of the 10 of one topic."""
    flags = files(tmp_path, errors_no=5, no=60)
    gold = [json.loads(line) for line in (tmp_path / "gold.jsonl").read_text("utf-8").splitlines()]
    for one in gold:
        one["topic"] = "names" if int(one["qid"][1:]) < 10 else "keys"
    write_jsonl(tmp_path / "gold.jsonl", gold)
    (tmp_path / "p.toml").write_text(
        'version = 1\n[answers]\ngold = "gold.jsonl"\ntraces = "traces.jsonl"\nslices = ["topic"]\n'
        '[[gate]]\nmetric = "answers.under_refusal"\nmax = 0.05\n'
        '[[gate]]\nmetric = "answers.under_refusal"\nmax = 0.05\nslice = "topic=names"\n',
        encoding="utf-8",
    )
    assert flags[1] == str(tmp_path / "gold.jsonl")
    report = json.loads(run_cli("gate", "-c", tmp_path / "p.toml", "--format", "json").out)
    by_slice = {one["slice"]: one for one in report["gates"] if one["metric"] == "answers.under_refusal"}
    would = "5 of 60 unanswerable questions ended in errors, and it would fail were these bad: ask them again"
    assert (by_slice[None]["outcome"], by_slice[None]["reason"]) == (
        "undecided",
        f"{would} (run --resume --retry-errors)",
    )
    assert by_slice["topic=names"]["reason"] == REASON.format("5 of 10 unanswerable questions")
    assert report["verdict"] == "INVALID"
