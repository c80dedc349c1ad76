"""Trends and bisect over the runs that are kept: what is proven, where the line breaks, where a number fell."""

import json
import random
from collections.abc import Collection, Mapping
from fractions import Fraction
from pathlib import Path

import pytest

from conftest import run_cli
from made_runs import gated, ids, lay
from ragworthy.history.proof import looked, pooled
from ragworthy.history.trend import sparkline
from ragworthy.paired.exact import evalue
from ragworthy.rows import Rows, Word

FALL = {*range(10, 20)}
LINE: list[Collection[int]] = [{1}, {2}, {1}, {1, 3}, {1, *FALL}, {2, 20, *FALL}, FALL]
"""Wrong answers of seven runs: something happened between the fourth and the fifth."""


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    lay(Path())
    for nth, wrong in enumerate(LINE):
        gated(Path(), wrong, "--commit", f"c{nth:07}", run=str(nth))
    return ids(Path())


def test_the_trend_of_what_is_kept(runs: list[str]) -> None:
    done = run_cli("history", "trend", "--metric", "answers.precision", "-o", "trend.json", "--plot", "trend.svg")
    assert (done.code, done.out.splitlines()) == (
        1,
        [
            f"answers: 7 runs, {runs[0]} … {runs[-1]}",
            f"  the last run is held against {runs[0]}, question by question",
            "  answers.precision  0.975 → 0.75         σ/μ 0.1407  slope -0.0527  ███▇▂▁▂",
            "                     ! moves by -0.0527 a window, more than 0.02",
            "                     ! worse, proven: 10 worse, 1 better, e-value 30.9 (20 proves it)",
            "trend: 2 alerts (exit 1)",
        ],
    )
    line = json.loads(Path("trend.json").read_text())["metrics"]["answers.precision"]
    assert line["values"] == [0.975, 0.975, 0.975, 0.95, 0.725, 0.7, 0.75]
    # Σ_{k≤10} C(12, k) / (12 · C(11, 10)) = 4083 / 132
    assert line["tested"]["evalue"] == pytest.approx(4083 / 132, rel=1e-12)
    assert (line["tested"]["worse"], line["tested"]["better"], line["tested"]["looks"]) == (10, 1, 6)
    assert line["tested"]["p"] == pytest.approx(12 / 2048, rel=1e-12)  # McNemar: (C(11,10) + C(11,11)) / 2^11
    assert Path("trend.svg").read_text().startswith("<svg")


def test_a_blessed_run_is_what_the_last_one_is_held_against(runs: list[str]) -> None:
    run_cli("history", "bless", runs[4], "--by", "Ada", "--reason", "as it is now", "--single")
    done = run_cli("history", "trend", "--metric", "answers.precision", "--format", "json")
    body = json.loads(done.out)
    assert body["against"] == runs[4]
    assert body["metrics"]["answers.precision"]["tested"]["looks"] == 2
    assert not body["metrics"]["answers.precision"]["tested"]["proven"]


def test_the_line_breaks_where_the_gold_set_changes(runs: list[str]) -> None:
    lay(Path(), questions=41)
    run_cli("gold", "freeze", "gold.jsonl", "--signer", "Ada", "--reason", "one more", "--label", "v2")
    for run in "ab":
        gated(Path(), {1}, run=run)
    done = run_cli("history", "trend", "--metric", "answers.precision")
    new = ids(Path())[len(runs)]
    assert done.out.splitlines()[:2] == [
        f"answers: 2 runs, {new} … {ids(Path())[-1]}",
        f"  the line breaks before {new}: another gold set (no label → v2)",
    ]
    assert done.code == 0


def test_too_few_runs_are_said_with_the_reason(runs: list[str]) -> None:
    lay(Path(), questions=41)
    gated(Path(), {1})
    done = run_cli("history", "trend")
    assert (done.code, done.err.splitlines()[0]) == (
        2,
        ".ragworthy/history.db: expected two runs or more that can be compared, got 1: another gold set [RW-H15]",
    )


def test_repeated_says_what_it_tests(runs: list[str]) -> None:
    for run in "xy":
        gated(Path(), {1}, "--commit", "d0", run=run)
    done = run_cli("history", "trend", "--repeated")
    assert done.out.splitlines()[1] == (
        "  repeated: tests whether the same thing gives the same numbers again (determinism), not whether two "
        "pipelines are the same"
    )
    assert (done.code, done.out.splitlines()[0]) == (0, "answers: 2 runs, {} … {}".format(*ids(Path())[-2:]))


def test_bisect_finds_the_two_runs(runs: list[str]) -> None:
    done = run_cli("history", "bisect", "precision")
    lines = done.out.splitlines()
    assert done.code == 1
    assert lines[1].startswith(f"  before  0.9688 over 4 runs; next to it {runs[3]} (")
    assert lines[2].startswith(f"  after   0.725 over 3 runs; next to it {runs[4]} (")
    assert lines[4] == "  these two runs alone: 10 worse, 1 better, p 0.0059"
    assert lines[5] == "  worse: q010, q011, q012, q013, q014 …"
    assert lines[6:] == [
        "  next: git log c0000003..c0000004",
        f"bisect: it fell between {runs[3]} and {runs[4]} (exit 1)",
    ]
    body = json.loads(run_cli("history", "bisect", "answers.precision", "--format", "json").out)
    assert (body["fell"], body["between"]) == (True, [runs[3], runs[4]])
    assert body["adjusted"] == pytest.approx(6 * body["p"])


def test_bisect_proves_nothing_where_nothing_fell(runs: list[str]) -> None:
    done = run_cli("history", "bisect", "precision", "--bad", runs[3])
    assert (done.code, done.out.splitlines()[-1]) == (0, "bisect: no fall is proven (exit 0)")
    assert run_cli("history", "bisect", "precision", "--good", runs[4], "--bad", runs[1]).err.startswith(
        "--good: expected a run before --bad, got a later one"
    )
    assert run_cli("history", "bisect", "nothing").code == 2


def test_a_metric_without_rows_is_not_bisected(runs: list[str]) -> None:
    done = run_cli("history", "bisect", "answers.support")
    assert (done.code, done.err.splitlines()[0]) == (
        2,
        f"{runs[0]}: expected rows with answers.support, got none: it cannot be held against the others question by "
        "question [RW-H14]",
    )
    done = run_cli("history", "trend", "--metric", "answers.support")
    assert done.err.splitlines()[0] == "expected a metric of answers, got answers.support [RW-H14]"


# the parts


def rows(words: Mapping[str, Word], clusters: Mapping[str, str] | None = None) -> Rows:
    qids = tuple(words)
    return Rows(
        qids, tuple((clusters or {}).get(qid, qid) for qid in qids), (None,) * len(qids), (None,) * len(qids),
        (1,) * len(qids), ((),) * len(qids), {"answers.precision": tuple(words.values())},
    )  # fmt: skip


def test_pooled_runs_are_means_over_the_cases() -> None:
    given: list[dict[str, Word]] = [
        {"a": True, "b": None, "c": 1},
        {"a": False, "b": None, "c": None},
        {"c": 0, "a": 1, "b": True},
    ]
    found = pooled([rows(one) for one in given])
    assert found.words["answers.precision"] == (Fraction(2, 3), 1, Fraction(1, 2))
    assert found.runs == (3, 3, 3)


def test_a_document_bets_once() -> None:
    before = {f"q{nth}": True for nth in range(12)}
    after = dict.fromkeys(before, False)
    alone = looked(rows(before), rows(after), ["answers.precision"], 1)["answers.precision"]
    two = {qid: f"doc{nth % 2}" for nth, qid in enumerate(before)}
    together = looked(rows(before, two), rows(after, two), ["answers.precision"], 1)["answers.precision"]
    assert (alone.evalue, alone.proven) == (evalue(12, 0), True)
    assert (together.evalue, together.proven, together.p) == (evalue(2, 0), False, 0.25)


def test_looking_at_twenty_runs_raises_few_false_alarms() -> None:
    """One run is held against each of the next twenty; the pipeline never changes, 5 % of 500 questions flip."""
    chance, alarms, lines = random.Random(5), 0, 400
    for _ in range(lines):
        right = chance.getrandbits(50).bit_count()  # fifty questions are as good as a coin
        alarms += any(
            evalue(chance.getrandbits(right).bit_count() if right else 0, chance.getrandbits(50 - right).bit_count())
            >= 20
            for _ in range(20)
        )
    assert alarms / lines <= 0.05 + 2 * (0.05 * 0.95 / lines) ** 0.5


def test_bars() -> None:
    assert sparkline([Fraction(1), Fraction(1)]) == "▄▄"
    assert sparkline([None, Fraction(1), Fraction(3), Fraction(2)]) == "·▁█▅"
