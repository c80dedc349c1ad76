"""What a question is called goes by most of its runs: one refusal or error among wrong answers does not name it."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from conftest import run_cli, write_jsonl
from ragworthy import flow
from ragworthy.metrics import stability as suite
from ragworthy.metrics.facts import answers as f
from ragworthy.records import Gold, Run
from ragworthy.suites.stability import Stability
from ragworthy.suites.stability.blame import Fault, fault
from ragworthy.suites.stability.rules import STABILITY_GATES

LIMITS = {"acr": "0.95", "cghc": "0.95", "css": "0.70", "ned50": "0.20", "refusal_rate": "0.98"}
GOLD = {
    "qid": "q", "question": "How are null keys treated?", "answerable": True,
    "gold_claim_substr": ["rejects null keys"], "gold_citations": ["g"],
}  # fmt: skip
NONE = {"qid": "u", "question": "What is Z?", "answerable": False}
Row = dict[str, Any]


def said(claim: str, cited: str = "g", retrieved: tuple[str, ...] = ("g", "x")) -> Row:
    return {"answer_json": {"claim": claim, "citations": [cited]}, "retrieved_ids": list(retrieved)}


RIGHT, WRONG = said("X rejects null keys."), said("X takes null keys.", "x")
BLIND = said("X takes null keys.", "x", ("x", "y"))
REFUSED: Row = {"answer_json": {"claim": "not in context", "citations": []}, "retrieved_ids": ["g", "x"]}
ERROR: Row = {"error": "timeout"}


def named(gold: Row, *rows: Row) -> Fault:
    item = msgspec.convert(gold, Gold)
    runs = [msgspec.convert({"qid": gold["qid"], "seed": nth, **row}, Run) for nth, row in enumerate(rows)]
    says = tuple(suite.said_by(f.Rules())(item, run) for run in runs)
    return fault(suite.judged(suite.Question(item.answerable, False, says), LIMITS))


@pytest.mark.parametrize(
    ("rows", "label", "stage", "why"),
    [
        ((WRONG, WRONG, WRONG, REFUSED), "ANS_NO_HIT", "citation",
         "no gold evidence cited in 3 of 3 runs, and 3 of 3 claims lack the gold text"),
        ((BLIND, BLIND, ERROR), "ANS_NO_HIT", "retrieval",
         "no gold evidence cited in 2 of 2 runs; no gold evidence was retrieved"),
        ((said("X takes null keys."),) * 2 + (ERROR,), "ANS_NO_CONTAIN", "generation",
         "every claim lacks the gold text"),
        ((said("X rejects null keys.", "x"),) * 2 + (ERROR,), "ANS_NO_HIT", "citation",
         "no gold evidence cited in 2 of 2 runs; every run retrieved the same"),
        ((RIGHT, RIGHT, RIGHT, ERROR), "ERROR", "pipeline", "the pipeline reported an error in 1 of 4 runs"),
        ((RIGHT, RIGHT, RIGHT, REFUSED), "OVER_REFUSAL", "refusal", "refused in 1 of 4 runs"),
        ((REFUSED, REFUSED, REFUSED, WRONG), "OVER_REFUSAL", "refusal", "refused in 3 of 4 runs"),
        ((ERROR, ERROR, REFUSED, WRONG), "ERROR", "pipeline", "the pipeline reported an error in 2 of 4 runs"),
        ((ERROR,) * 4, "ERROR", "pipeline", "the pipeline reported an error in 4 of 4 runs"),
    ],
)  # fmt: skip
def test_an_answerable_question(rows: tuple[Row, ...], label: str, stage: str, why: str) -> None:
    assert named(GOLD, *rows)[:3] == (label, stage, why)


@pytest.mark.parametrize(
    ("rows", "label", "why"),
    [
        ((WRONG, WRONG, ERROR), "HALLUCINATION", "answered in 2 of 3 runs although the corpus has no answer"),
        ((REFUSED, REFUSED, ERROR), "ERROR", "the pipeline reported an error in 1 of 3 runs"),
        ((WRONG, REFUSED, REFUSED), "HALLUCINATION", "answered in 1 of 3 runs although the corpus has no answer"),
    ],
)
def test_an_unanswerable_question(rows: tuple[Row, ...], label: str, why: str) -> None:
    found = named(NONE, *rows)
    assert (found[0], found[2]) == (label, why)


def scored(golds: list[Row], runs: list[Row]) -> tuple[dict[str, Any], dict[str, Any]]:
    request = flow.Request("stability", {"gold": golds, "runs": runs}, settings=Stability(), gates=STABILITY_GATES)
    report = flow.score(request).report
    return report, report["suites"]["stability"]


def advised(gold: Row, *rows: Row) -> list[tuple[str, str]]:
    report, _ = scored([gold], [{"qid": gold["qid"], "seed": seed, **row} for seed, row in enumerate(rows)])
    return [(step["pattern"], step["do"]) for step in report["next"]]


OTHER, UNCITED = said("X keeps null keys.", "x"), said("X rejects null keys.", "x")
GO = "fix the refusal text in the prompt, and decide on evidence, not on chance"
MOOT = "not a matter of stability: 'ragworthy score answers' says what is wrong"


@pytest.mark.parametrize(
    ("gold", "rows", "pattern", "do"),
    [
        (NONE, (WRONG, OTHER), "no run refuses what the corpus has no answer to",
         "strengthen refusals: it is no matter of chance"),
        (NONE, (WRONG, REFUSED), "refusals come and go", GO),
        (GOLD, (RIGHT, REFUSED), "refusals come and go", GO),
        (GOLD, (REFUSED, REFUSED, ERROR), "every run without an error refuses",
         "the guard is too strict, or no evidence reaches it: 'ragworthy score answers' says what is wrong"),
        (GOLD, (BLIND, said("X keeps null keys.", "x", ("x", "y"))), "no run retrieves gold evidence",
         "raise k, or look at the search and its ranking"),
        (GOLD, (RIGHT, said("X rejects null keys.", "x", ("x", "y"))), "other evidence from run to run",
         "make retrieval and reranking deterministic: pin model and ties"),
        (GOLD, (UNCITED, said("So X rejects null keys.", "x")), "no run cites the gold evidence that it retrieved",
         "look at how citations are chosen"),
        (GOLD, (RIGHT, UNCITED), "other citations for the same evidence",
         "near-duplicate chunks: merge them, or cite the best one"),
        (GOLD, (WRONG, OTHER), "no claim has the gold text", MOOT),
        (GOLD, (RIGHT, said("X takes null keys.")), "claims change",
         "lower the temperature; raise ned50 where only the wording moves"),
        (GOLD, (WRONG, WRONG), "the same in every run, and wrong", MOOT),
    ],
)  # fmt: skip
def test_advice_is_of_what_was_seen(gold: Row, rows: tuple[Row, ...], pattern: str, do: str) -> None:
    """Two claims that differ are not a refusal that comes and goes, and what no run retrieves is not chance."""
    assert (f"{pattern} (1 question)", do) in advised(gold, *rows)
    assert len(advised(gold, *rows)) == 1 + (ERROR in rows)


def test_every_question_with_an_error_is_counted_in_what_to_do() -> None:
    golds = [{**GOLD, "qid": qid, "question": f"{qid}?"} for qid in ("all", "one", "none")]
    runs = [{"qid": "all", "seed": seed, **ERROR} for seed in range(3)]
    runs += [{"qid": "one", "seed": seed, **(ERROR if seed else WRONG)} for seed in range(2)]
    runs += [{"qid": "one", "seed": seed, **WRONG} for seed in (2, 3)]
    runs += [{"qid": "none", "seed": seed, **RIGHT} for seed in range(3)]
    report, body = scored(golds, runs)
    patterns = [step["pattern"] for step in report["next"]]
    assert "runs end in errors (2 questions)" in patterns
    assert not any(pattern.startswith("the same in every run") for pattern in patterns)
    assert body["labels"] == {"ANS_NO_HIT": 1, "ERROR": 1, "OK": 1}
    (offender,) = [one for one in body["offenders"] if one["qid"] == "one"]
    assert offender["expected"] == "rejects null keys"


def test_errors_among_runs_left_out_are_counted() -> None:
    """Two jitters that change nothing ended in the same error as the plain question: 3 errors, one of which counts."""
    runs = [{"qid": "q", "seed": 0, "jitter": name, "noop": name != "none", **ERROR} for name in ("none", "ws", "syn")]
    runs += [{"qid": "q", "seed": seed, "jitter": "none", **RIGHT} for seed in (1, 2)]
    _, body = scored([GOLD], runs)
    assert (body["counts"]["errored_runs"], body["counts"]["noop_runs"]) == (1, 2)
    (warning,) = [one for one in body["warnings"] if one["code"] == "RW-W24"]
    assert (warning["count"], warning["message"]) == (
        3,
        "3 runs with an error instead of an answer, 2 of them among the runs left out",
    )


def test_the_run_that_is_shown_is_one_that_the_label_is_about(tmp_path: Path) -> None:
    """Both claims lack the gold text, and only the second cites no gold evidence."""
    gold = [GOLD, NONE, {**GOLD, "qid": "e", "gold_claim_all": ["sync"]}]
    runs = [
        {"qid": "q", "seed": 0, **said("one", "g")}, {"qid": "q", "seed": 1, **said("Buckets", "x")},
        {"qid": "u", "seed": 0, **REFUSED}, {"qid": "u", "seed": 1, **RIGHT},
        {"qid": "e", "seed": 0, **RIGHT}, {"qid": "e", "seed": 1, **ERROR, "error_code": "RW-J04"},
        {"qid": "e", "seed": 2, **ERROR}, {"qid": "e", "seed": 3, **ERROR},
    ]  # fmt: skip
    write_jsonl(tmp_path / "gold.jsonl", gold)
    write_jsonl(tmp_path / "runs.jsonl", runs)
    files = ("--gold", tmp_path / "gold.jsonl", "--runs", tmp_path / "runs.jsonl")
    body = json.loads(run_cli("score", "stability", *files, "--format", "json").out)["suites"]["stability"]
    shown = {one["qid"]: one for one in body["offenders"]}
    assert (shown["q"]["label"], shown["q"]["claim"], shown["q"]["citations"]) == ("ANS_NO_HIT", "Buckets", ["x"])
    assert shown["q"]["why"].startswith("citations change between runs, and 2 of 2 claims lack the gold text: ")
    assert (shown["u"]["label"], shown["u"]["claim"]) == ("HALLUCINATION", "X rejects null keys.")
    assert shown["e"]["why"].startswith("the pipeline reported an error in 3 of 4 runs, e.g. timeout [RW-J04]: ")
    assert shown["e"]["error"] == "timeout [RW-J04]"
    assert shown["e"]["expected"] == "rejects null keys; and sync"
