"""Errors of the run that is compared with count as wrong there, so they can only get better: they must hide no loss."""

import json
import math
import random
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from conftest import run_cli, write_jsonl
from made_runs import failed, lay
from ragworthy import gates as g
from ragworthy.differences import Difference, difference
from ragworthy.loss_tests import prove
from ragworthy.metrics.fold import value_of
from ragworthy.metrics.registry import all_metrics
from ragworthy.names import Outcome
from ragworthy.paired.exact import mcnemar
from ragworthy.proving import Proving
from ragworthy.rows import Rows, pair
from ragworthy.unerrored import beside_errors

HERE = Path()
METRIC = "answers.containment"
DROP = f'defaults = false\n[[gate]]\nmetric = "{METRIC}"\nmax_drop = 0.02\n'


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def results(name: str, index: str, lost: Collection[int] = (), errors: Collection[int] = ()) -> None:
    traces: list[dict[str, Any]] = []
    for nth in range(100):
        found = {"retrieved_ids": ["z#1" if nth in lost else f"b{nth}#1"]}
        traces.append({"qid": f"r{nth}", "index_hash": index} | ({"error": "timeout"} if nth in errors else found))
    write_jsonl(HERE / name, traces)


def against_live() -> Any:
    write_jsonl(HERE / "g.jsonl", [{"qid": f"r{n}", "question": f"Q{n}?", "relevant": [f"b{n}#1"]} for n in range(100)])
    files = ("--gold", "g.jsonl", "--trace", "new.jsonl", "--live", "live.jsonl", "--against-live")
    done = run_cli("score", "retrieval", *files, "-o", "r.json")
    report = json.loads(Path("r.json").read_text())
    assert done.code == report["exit_code"], done.err
    return report


def warned(report: Any, suite: str) -> list[str]:
    return [one["message"] for one in report["suites"][suite]["warnings"] if one["code"] == "RW-W170"]


def test_timeouts_of_live_hide_no_loss_of_the_shadow() -> None:
    """Live answered 70 of 100, the shadow lost 20 of these: 0.7 → 0.8 is not a gain."""
    results("live.jsonl", "old", errors=range(70, 100))
    results("new.jsonl", "new", lost=range(20))
    report = against_live()
    assert report["verdict"] == "NO-SHIP"
    recall = next(one for one in report["gates"] if one["metric"] == "retrieval.recall@5")
    told = "of the 70 questions that neither run errored on: 20 worse, 0 better"
    assert recall["reason"] == f"dropped too far: the loss is proven; {told}"
    rest = recall["paired"]["unerrored"]
    assert (rest["questions"], rest["baseline"], rest["p"]) == (70, 1.0, 2.0**-20)
    assert rest["value"] == pytest.approx(50 / 70)
    assert warned(report, "retrieval") == [
        "30 of 100 questions ended in errors in the live index: they count as wrong there, so what would be lost of "
        "them cannot be seen"
    ]


def test_where_many_errors_went_and_nothing_else_changed_it_is_undecided() -> None:
    results("live.jsonl", "old", errors=range(11))
    results("new.jsonl", "new")
    report = against_live()
    assert report["verdict"] == "INCONCLUSIVE"
    reasons = {one["reason"] for one in report["gates"] if one["op"] == "drop<="}
    assert reasons == {"11 of 100 questions ended in errors in the live index, too many to say that nothing was lost"}
    results("live.jsonl", "old", errors=range(10))
    report = against_live()
    assert (report["verdict"], len(warned(report, "retrieval"))) == ("SHIP", 1)
    results("live.jsonl", "old")
    assert warned(against_live(), "retrieval") == []


def judged(old: tuple[Collection[int], Collection[int]], new: tuple[Collection[int], Collection[int]]) -> Any:
    """Errors and wrong answers of two runs over sixty questions, and the second compared with the first."""
    lay(HERE, 60)
    failed(HERE, *old)
    files = ("score", "answers", "--gold", "gold.jsonl", "--trace", "traces.jsonl")
    run_cli(*files, "-o", "base.json", "-q", "--no-default-gates", "--gates", "precision=0.1")
    failed(HERE, *new)
    Path("g.toml").write_text(DROP)
    run_cli(*files, "--baseline", "base.json", "--gates", "g.toml", "-o", "now.json", "-q")
    return json.loads(Path("now.json").read_text())


def test_a_few_errors_that_went_do_not_make_up_for_answers_that_were_lost() -> None:
    """Six errors are right now, six answers that were right are wrong: the same number, and a loss of 6 of 54."""
    report = judged((range(6), ()), ((), range(10, 16)))
    gate = next(one for one in report["gates"] if one["metric"] == METRIC)
    assert (gate["value"], gate["baseline"], report["verdict"]) == (0.9, 0.9, "NO-SHIP")
    assert gate["paired"]["unerrored"]["p"] == 1 / 64
    assert gate["reason"].endswith("of the 54 questions that neither run errored on: 6 worse, 0 better")
    few = judged((range(6), ()), ((), range(10, 14)))
    gate = next(one for one in few["gates"] if one["metric"] == METRIC)
    assert (gate["outcome"], few["verdict"]) == ("undecided", "INCONCLUSIVE")
    assert "but that is not proven" in gate["reason"]


def test_errors_of_the_new_run_alone_stay_losses_and_change_nothing_else() -> None:
    report = judged(((), ()), (range(6), ()))
    gate = next(one for one in report["gates"] if one["metric"] == METRIC)
    assert (gate["outcome"], gate["paired"]["p"], gate["paired"]["worse"]) == ("fail", 1 / 64, 6)
    assert "unerrored" not in gate["paired"] and "baseline_errors" not in gate["paired"]
    assert gate["paired"]["method"] == "McNemar, exact"
    assert warned(report, "answers") == []


def rows(words: list[int | None], labels: list[str]) -> Rows:
    qids = tuple(f"q{nth}" for nth in range(len(words)))
    none = (None,) * len(words)
    return Rows(qids, qids, tuple(labels), none, (1,) * len(words), ((),) * len(words), {METRIC: tuple(words)})


@pytest.mark.parametrize("effect", [None, "0"])
def test_equal_runs_with_errors_on_both_sides_raise_no_more_alarms(effect: str | None) -> None:
    """One question in twelve errors, one in ten flips, in both runs alike: NO-SHIP in 5 % and two standard errors."""
    gate = g.Gate(METRIC, g.DROP, "0.02", evidence="paired", min_effect=effect)
    metric, rng, alarms, second, sets = all_metrics()[METRIC], random.Random(7), 0, 0, 400
    for _ in range(sets):
        base = [rng.random() < 0.8 for _ in range(120)]
        runs = []
        for _side in range(2):
            right = [good ^ (rng.random() < 0.1) for good in base]
            error = [rng.random() < 1 / 12 for _ in base]
            labels = ["ERROR" if e else "OK" if r else "ANS_NO_CONTAIN" for r, e in zip(right, error, strict=True)]
            runs.append(rows([int(r and not e) for r, e in zip(right, error, strict=True)], labels))
        pairs = pair(*runs)
        whole = difference(gate, metric, pairs)
        assert isinstance(whole, Difference)
        found = beside_errors(whole, gate, metric, pairs)
        tested = prove({gate: found}, Proving())[gate]
        said: list[Any] = [one.words[METRIC] for one in runs]
        old, new = (value_of(metric, words) for words in said)
        assert old.exact is not None
        held = g.Baseline({(None, METRIC): old.exact}, {}, rows=runs[0])
        outcome = g.judge((gate,), {(None, METRIC): new}, baseline=held, tested={gate: tested})[0].outcome
        alarms += outcome is Outcome.FAIL
        second += tested.unerrored is not None and tested.unerrored.tested.adjusted >= tested.unerrored.tested.p
        assert whole.flips is not None and tested.p == mcnemar(*whole.flips.right_wrong)
    assert alarms / sets <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / sets)
    assert second > 0.9 * sets
