"""A baseline and a run with other numbers of runs of a question: a question is one question, however often asked."""

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import run_cli, write_jsonl
from ragworthy.history.looks import over_time
from ragworthy.history.pooled import pooled
from ragworthy.metrics.of_runs import said_of
from ragworthy.metrics.registry import all_metrics
from ragworthy.rows import Rows

Report = dict[str, Any]
ACR = "stability.acr"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def asked(wrong: int, runs: int, size: int = 300) -> None:
    """Answerable questions, of which the first ones are always wrong, the others always right; five are not."""
    gold = [
        {"qid": f"q{nth:03}", "question": f"question {nth}", "answerable": True, "gold_claim_substr": ["gold text"],
         "gold_citations": [f"c{nth}"]} for nth in range(size)
    ]  # fmt: skip
    gold += [{"qid": f"u{nth}", "question": f"nobody knows {nth}", "answerable": False} for nth in range(5)]
    write_jsonl(Path("gold.jsonl"), gold)
    said = [
        {"qid": f"q{nth:03}", "seed": seed, "retrieved_ids": [f"c{nth}"],
         "answer_json": {"claim": "other words" if nth < wrong else "the gold text", "citations": [f"c{nth}"]}}
        for nth in range(size) for seed in range(runs)
    ]  # fmt: skip
    refused = {"retrieved_ids": [], "answer_json": {"claim": "not in context", "citations": []}}
    said += [{"qid": f"u{nth}", "seed": seed, **refused} for nth in range(5) for seed in range(runs)]
    write_jsonl(Path("runs.jsonl"), said)


POLICY = 'version = 1\nregression = true\ndefaults = false\n[stability]\ngold = "gold.jsonl"\nruns = "runs.jsonl"\n'


def gated() -> tuple[int, Report]:
    Path("ragworthy.toml").write_text(f'baseline = "base.json"\n{POLICY}')
    done = run_cli("gate", "--format", "json")
    return done.code, json.loads(done.out)


def based(runs: int) -> None:
    asked(60, runs)
    assert (
        run_cli("score", "stability", "--gold", "gold.jsonl", "--runs", "runs.jsonl", "-q", "-o", "base.json").code < 2
    )


@pytest.mark.parametrize(("before", "now"), [(4, 4), (4, 2), (2, 4), (4, 1), (3, 7)])
def test_a_loss_is_proven_whatever_the_number_of_runs(before: int, now: int) -> None:
    """Six of 300 questions turned wrong in every run: 2⁻⁶, as often as they were asked."""
    based(before)
    asked(66, now)
    code, report = gated()
    gate = next(one for one in report["gates"] if one["metric"] == ACR)
    assert (code, gate["outcome"]) == (1, "fail")
    paired = gate["paired"]
    assert (paired["worse"], paired["better"], paired["p"]) == (6, 0, 1 / 64)
    assert paired["method"] == "McNemar, exact"


@pytest.mark.parametrize("now", [1, 2, 8])
def test_nothing_changed_by_asking_more_or_less_often(now: int) -> None:
    based(4)
    asked(60, now)
    code, report = gated()
    assert code == 0
    assert report["suites"]["stability"]["compared"]["changed"] == 0
    assert {one["reason"] for one in report["gates"] if one.get("paired")} == {"no question changed"}


# every metric of every suite

SIZE = 24


def _what(nth: int, seed: int) -> str:
    """Every second run says the same, so that two of them have the shares of four."""
    if nth % 8 == 7:
        return "refused" if nth % 16 == 7 or seed % 2 else "right"
    kinds = {0: ("wrong", "wrong"), 1: ("right", "wrong"), 2: ("right", "refused")}
    return kinds.get(nth % 6, ("right", "right"))[seed % 2]


def _run(nth: int, seed: int) -> Report:
    what = _what(nth, seed)
    claim = {"right": "the gold text", "wrong": "other words", "refused": "not in context"}[what]
    answer = {"claim": claim, "citations": [] if what == "refused" else [f"c{nth}"]}
    return {
        "qid": f"q{nth:02}", "seed": seed, "retrieved_ids": [f"c{nth}", "c0"],
        "answer_json": answer | {"constraints_echo": ["keep it"] if nth % 3 else []},
        "e2e_ms": 100 + nth + 10 * (seed % 2), "usage": {"prompt_tokens": 100 + nth, "completion_tokens": 10},
    }  # fmt: skip


def _ranked(nth: int, seed: int, wording: int) -> Report:
    good = nth % 5 != 0 if nth % 3 else wording < 2 or seed % 2
    first = f"d{nth}#1" if good else f"x{nth}#1"
    found = {"retrieved_ids": [first, f"y{nth}#1"], "answer_citations": [first]}
    return {"qid": f"q{nth:02}", "seed": seed, "paraphrase": wording, **found}


def lay(suite: str, runs: int) -> list[str]:
    """The files of a suite with so many runs of every question, and the flags that name them."""
    gold = [
        {"qid": f"q{nth:02}", "question": f"question {nth}", "answerable": nth % 8 != 7,
         **({"gold_claim_substr": ["gold text"], "gold_citations": [f"c{nth}"], "constraints": ["keep it"]}
            if nth % 8 != 7 else {})} for nth in range(SIZE)
    ]  # fmt: skip
    if suite == "retrieval":
        gold = [
            {"qid": f"q{nth:02}", "paraphrases": [f"{word} {nth}" for word in "abc"], "relevant": [f"d{nth}#1"]}
            for nth in range(SIZE)
        ]
        traces = [_ranked(nth, seed, word) for nth in range(SIZE) for seed in range(runs) for word in range(3)]
    else:
        traces = [_run(nth, seed) for nth in range(SIZE) for seed in range(runs)]
    write_jsonl(Path("gold.jsonl"), gold)
    if suite == "answers":
        for seed in range(runs):
            write_jsonl(Path(f"t{seed}.jsonl"), [{**one, "run_id": seed} for one in traces if one["seed"] == seed])
        return ["--scu-enforced", *(part for seed in range(runs) for part in ("--trace", f"t{seed}.jsonl"))]
    write_jsonl(Path("t.jsonl"), traces)
    if suite == "latency":
        chunks = [{"chunk_id": f"c{nth}", "doc_id": f"d{nth}", "text": "gold text " * (nth + 1)} for nth in range(SIZE)]
        write_jsonl(Path("chunks.jsonl"), chunks)
        Path("prices.toml").write_text('currency = "EUR"\n[[price]]\ninput_per_1k = 1.0\noutput_per_1k = 2.0\n')
        return ["--runs", "t.jsonl", "--corpus", "chunks.jsonl", "--prices", "prices.toml", "--scu-enforced"]
    return ["--trace" if suite == "retrieval" else "--runs", "t.jsonl"]


def score(suite: str, runs: int, name: str) -> None:
    flags = lay(suite, runs)
    run_cli("score", suite, "--gold", "gold.jsonl", *flags, "-q", "-o", name)


PAIRS_OF_RUNS = {"stability.ned50", "stability.iaa"}
"""Of the pairs of four runs, two right and two wrong, a third agree; of two such runs none does."""
SUMS = {"cost.total", "answers.scu_violations"}


@pytest.mark.parametrize("suite", ["answers", "retrieval", "stability", "latency"])
@pytest.mark.parametrize(("before", "now"), [(4, 2), (2, 4)])
def test_no_metric_of_any_suite_takes_more_runs_for_a_change(suite: str, before: int, now: int) -> None:
    score(suite, before, "a.json")
    score(suite, now, "b.json")
    done = run_cli("compare", "a.json", "b.json", "--format", "json")
    found = json.loads(done.out)["suites"][suite]
    moved = {name for name, one in found["metrics"].items() if one["fixed"] or one["broken"]}
    assert moved <= PAIRS_OF_RUNS
    assert (found["fixed"], found["broken"]) == ([], [])
    assert found["changed"] == 0 or suite == "stability"
    untested = {name for name, one in found["metrics"].items() if (one["without"] or "").startswith("it is a sum")}
    assert untested == SUMS & found["metrics"].keys()


@pytest.mark.parametrize(("metric", "suite"), [("cost.total", "latency"), ("answers.scu_violations", "answers")])
def test_sums_over_other_numbers_of_runs_are_not_measured(metric: str, suite: str) -> None:
    """Half as many runs cost half as much: that is not a gain, and twice as many are not a loss."""
    score(suite, 2, "a.json")
    flags = lay(suite, 4)
    gates = Path("gates.toml")
    gates.write_text(f'version = 1\n[[gate]]\nmetric = "{metric}"\nmax_worse = 0.1\n')
    rules = ("--gates", "gates.toml", "--no-default-gates", "--baseline", "a.json", "--format", "json")
    done = run_cli("score", suite, "--gold", "gold.jsonl", *flags, *rules)
    gate = next(one for one in json.loads(done.out)["gates"] if one["metric"] == metric and one["op"] == "worse<=")
    assert (done.code, gate["outcome"]) == (4, "not_measured")
    assert gate["reason"] == "it is a sum over all runs, and the two sides have other numbers of them"


# the history


def _rows(runs: int, good: list[int]) -> Rows:
    qids = tuple(f"q{nth}" for nth in range(len(good)))
    words = {ACR: tuple((one * runs, runs) for one in good)}
    return Rows(qids, qids, ("OK",) * len(good), (None,) * len(good), (runs,) * len(good), ((),) * len(good), words)


def test_runs_of_a_history_are_put_on_one_scale() -> None:
    line = [_rows(4, [1, 1, 0, 1]), _rows(2, [1, 1, 0, 1]), _rows(4, [1, 1, 0, 1])]
    look = over_time(line, [ACR])[ACR]
    assert (look.worse, look.better, look.evalue) == (0, 0, 1.0)
    known = all_metrics("stability")[ACR]
    before, after = (said_of(side, ACR, known) for side in pooled(line[:2], line[2:]))
    assert before == after == [(1, 1), (1, 1), (0, 1), (1, 1)]
