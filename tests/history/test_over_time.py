"""Trends and bisect over the runs that are kept: what is proven, where the line breaks, where a number fell."""

import json
import random
from collections.abc import Collection, Mapping
from fractions import Fraction
from functools import partial
from itertools import permutations, product
from pathlib import Path

import pytest

from conftest import run_cli
from made_runs import gated, ids, lay
from ragworthy.history.looks import over_time
from ragworthy.history.points import Point
from ragworthy.history.pooled import pooled, rate
from ragworthy.history.proof import fall, looked
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
            "  the last run is compared with the 6 runs before it together, question by question",
            "  answers.precision  0.975 → 0.75         σ/μ 0.1407  slope -0.0527  ███▇▂▁▂",
            "                     ! by the sources' fixed limits: moves by -0.0527 a window, more than 0.02",
            "                     ! by test: worse, proven: e-value over 1,000 over 6 looks (20 proves it); "
            "last run: 10 worse, 1 better than mostly before",
            "trend: 2 alerts: 1 by test, 1 by the sources' fixed limits (exit 1)",
        ],
    )
    line = json.loads(Path("trend.json").read_text())["metrics"]["answers.precision"]
    assert line["values"] == [0.975, 0.975, 0.975, 0.95, 0.725, 0.7, 0.75]
    assert (line["tested"]["worse"], line["tested"]["better"], line["tested"]["looks"]) == (10, 1, 6)
    assert line["tested"]["p"] == pytest.approx(1 / line["tested"]["evalue"])
    assert Path("trend.svg").read_text().startswith("<svg")


def test_a_trend_is_written_in_the_form_that_its_name_says(runs: list[str]) -> None:
    done = run_cli("history", "trend", "--metric", "answers.precision", "-o", "trend.txt")
    assert Path("trend.txt").read_text().splitlines() == done.out.splitlines()[:-1]
    refused = run_cli("history", "trend", "-o", "trend.html")
    assert (refused.code, "expected .json .txt .svg or .png" in refused.err) == (2, True)
    assert not Path("trend.html").exists()


def test_the_first_run_blessed_is_held_against_by_itself(runs: list[str]) -> None:
    run_cli("history", "bless", runs[0], "--by", "Ada", "--reason", "release 1", "--single")
    done = run_cli("history", "trend", "--metric", "answers.precision", "--format", "json")
    line = json.loads(done.out)["metrics"]["answers.precision"]
    # Σ_{k≤10} C(12, k) / (12 · C(11, 10)) = 4083 / 132
    assert line["tested"]["evalue"] == pytest.approx(4083 / 132, rel=1e-12)
    assert (line["tested"]["worse"], line["tested"]["better"], line["tested"]["looks"]) == (10, 1, 6)
    assert line["tested"]["p"] == pytest.approx(12 / 2048, rel=1e-12)  # McNemar: (C(11,10) + C(11,11)) / 2^11


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
        f"{runs[0]}: expected rows with answers.support, got none: it cannot be compared with the others question by "
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


def test_pooled_runs_add_parts_and_wholes() -> None:
    given: list[dict[str, Word]] = [
        {"a": True, "b": None, "c": 1},
        {"a": False, "b": None, "c": None},
        {"c": 0, "a": 1, "b": True},
    ]
    alone = rows({"a": True, "b": False, "c": None})
    before, after = pooled([rows(one) for one in given], [alone])
    # three runs on one side and one on the other: that one counts three times
    assert before.words["answers.precision"] == ((2, 3), (1, 1), (1, 2))
    assert after.words["answers.precision"] == ((3, 3), (0, 3), None)
    assert before.runs == (3, 3, 3)
    assert rate(before.words["answers.precision"]) == Fraction(4, 6)
    assert pooled([alone], [alone]) == (alone, alone)


def line_of(runs: list[dict[str, Word]]) -> list[Point]:
    """Runs as the points of a line."""
    found = []
    for nth, words in enumerate(runs):
        mine = rows(words)
        metrics = {"answers.precision": rate(mine.words["answers.precision"])}
        found.append(Point(str(nth), "SHIP", "g", None, "default", {}, (), metrics, partial(lambda one: one, mine)))
    return found


def brute_force(runs: list[dict[str, Word]], split: int) -> tuple[float, Fraction, Fraction]:
    """The swap of the two sides, question by question, over all 2^n swaps; and the rates of both sides."""

    def side(some: list[dict[str, Word]], qid: str) -> tuple[Fraction, Fraction]:
        there = [Fraction(word) for one in some if (word := one[qid]) is not None]  # type: ignore[arg-type]
        return sum(there, Fraction(0)) / len(some), Fraction(len(there), len(some))

    both = [(side(runs[:split], qid), side(runs[split:], qid)) for qid in runs[0]]
    rates = [sum(one[k][0] for one in both) / sum(one[k][1] for one in both) for k in (0, 1)]
    mean = sum(a[0] + b[0] for a, b in both) / sum(a[1] + b[1] for a, b in both)
    lost = [(a[0] - mean * a[1]) - (b[0] - mean * b[1]) for a, b in both]
    lost = [one for one in lost if one]
    swapped = [
        sum(sign * one for sign, one in zip(signs, lost, strict=True)) for signs in product((1, -1), repeat=len(lost))
    ]
    return sum(one >= sum(lost) for one in swapped) / len(swapped), Fraction(rates[0]), Fraction(rates[1])


def test_a_question_that_is_rarely_a_case_weighs_little() -> None:
    """Six questions fall; six others, hardly ever answered, are wrong in the one run before the fall that has them."""
    before: list[dict[str, Word]] = [
        {f"a{nth}": True for nth in range(6)} | {f"b{nth}": False if nth == run else None for nth in range(6)}
        for run in range(8)
    ]
    after: list[dict[str, Word]] = [
        {f"a{nth}": False for nth in range(6)} | {f"b{nth}": None for nth in range(6)} for _ in range(4)
    ]
    found = fall("answers.precision", line_of(before + after))
    p, old, new = brute_force(before + after, 8)
    assert (found.split, found.before, found.after) == (8, old, new) == (8, Fraction(48, 54), Fraction(0))
    assert found.p == pytest.approx(p, rel=1e-12)
    assert found.worse == tuple(f"a{nth}" for nth in range(6))
    assert found.better == 6  # by an eighth each


def test_a_document_bets_once() -> None:
    before = {f"q{nth}": True for nth in range(12)}
    after = dict.fromkeys(before, False)
    alone = looked(rows(before), rows(after), ["answers.precision"], 1)["answers.precision"]
    two = {qid: f"doc{nth % 2}" for nth, qid in enumerate(before)}
    together = looked(rows(before, two), rows(after, two), ["answers.precision"], 1)["answers.precision"]
    assert (alone.evalue, alone.proven) == (evalue(12, 0), True)
    assert (together.evalue, together.proven, together.p) == (evalue(2, 0), False, 0.25)


def test_looking_at_twenty_runs_raises_few_false_alarms() -> None:
    """One run is compared with each of the next twenty; the pipeline never changes, 5 % of 500 questions flip."""
    chance, alarms, lines = random.Random(5), 0, 400
    for _ in range(lines):
        right = chance.getrandbits(50).bit_count()  # fifty questions are as good as a coin
        alarms += any(
            evalue(chance.getrandbits(right).bit_count() if right else 0, chance.getrandbits(50 - right).bit_count())
            >= 20
            for _ in range(20)
        )
    assert alarms / lines <= 0.05 + 2 * (0.05 * 0.95 / lines) ** 0.5


def noisy(chance: random.Random, lost: int = 0) -> Rows:
    """A run of sixty questions, half of them never wrong, the others as good as a coin or nearly always wrong."""
    good = [1.0 if nth % 2 else (0.5, 0.1, 0.9)[nth % 3] for nth in range(60)]
    return rows({f"q{nth}": chance.random() < one and not (nth % 2 and nth < 2 * lost) for nth, one in enumerate(good)})


def proven(runs: list[Rows]) -> bool:
    return over_time(runs, ["answers.precision"])["answers.precision"].proven


def test_looking_after_every_run_at_all_before_it_raises_few_false_alarms() -> None:
    chance, alarms, lines = random.Random(7), 0, 100
    for _ in range(lines):
        runs = [noisy(chance) for _ in range(13)]
        alarms += any(proven(runs[:many]) for many in range(2, 14))
    assert alarms / lines <= 0.05


def test_a_loss_that_stays_is_found_whatever_the_first_run_was() -> None:
    chance = random.Random(11)
    unlucky = rows({f"q{nth}": nth % 4 != 0 and nth > 12 for nth in range(60)})
    runs = [unlucky, *(noisy(chance) for _ in range(7))]
    assert not proven(runs)
    runs += [noisy(chance, lost=9) for _ in range(3)]  # nine of sixty: 15 points
    assert proven(runs)
    assert not proven([*runs, *(noisy(chance) for _ in range(2))])  # it has recovered


def test_a_run_that_could_as_well_be_the_last_wins_nothing() -> None:
    """Over all orders of three runs the bets come out at 1, cluster by cluster: the game is fair."""
    words: list[dict[str, Word]] = [{"a": True, "b": False}, {"a": False, "b": True}, {"a": False, "b": False}]
    bets = [
        over_time([rows({"a": words[x]["a"], "b": words[y]["b"]}) for x, y in zip(one, other, strict=True)],
                  ["answers.precision"])["answers.precision"].evalue
        for one in permutations(range(3))
        for other in permutations(range(3))
    ]  # fmt: skip
    assert sum(bets) / len(bets) == pytest.approx(1, rel=1e-9)


def test_what_is_measured_later_is_a_note_and_what_is_no_longer_an_alert(runs: list[str]) -> None:
    reports = []
    for nth, run in enumerate(runs[:4]):
        run_cli("history", "show", run, "-o", f"{nth}.json")
        body = json.loads(Path(f"{nth}.json").read_text())
        if nth < 2:
            del body["suites"]["answers"]["metrics"]["answers.chr"]
        if nth == 3:
            del body["suites"]["answers"]["metrics"]["answers.containment"]
        Path(f"{nth}.json").write_text(json.dumps(body))
        reports.append(f"{nth}.json")
    found = json.loads(run_cli("history", "trend", *reports, "--format", "json").out)["metrics"]
    assert (found["answers.chr"]["alerts"], found["answers.chr"]["note"]) == ([], "measured since 2.json only")
    assert found["answers.containment"]["alerts"] == ["not measured in 1 of 4, although it was before"]


def test_one_run_was_left_out(runs: list[str]) -> None:
    traces = Path("traces.jsonl")
    traces.write_text("\n".join(traces.read_text().splitlines()[:30]) + "\n")
    assert run_cli("gate", "-q").code == 4
    assert "  left out: 1 run that was INVALID" in run_cli("history", "trend").out.splitlines()


def test_a_commit_with_a_hostile_name_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lay(Path())
    for nth, (wrong, commit) in enumerate([(set(), "x;rm -rf"), (set(), "x;rm -rf"), (FALL, "b"), (FALL, "b")]):
        gated(Path(), wrong, "--commit", commit, run=str(nth))
    assert "  next: git log 'x;rm -rf..b'" in run_cli("history", "bisect", "precision").out.splitlines()


def test_bars() -> None:
    assert sparkline([Fraction(1), Fraction(1)]) == "▄▄"
    assert sparkline([None, Fraction(1), Fraction(3), Fraction(2)]) == "·▁█▅"


def test_quiet_prints_the_last_line_and_small_p_values_are_not_nothing(runs: list[str]) -> None:
    assert run_cli("history", "trend", "--metric", "answers.precision", "-q").out == (
        "trend: 2 alerts: 1 by test, 1 by the sources' fixed limits (exit 1)\n"
    )
    assert run_cli("history", "bisect", "answers.precision", "-q").out == (
        f"bisect: it fell between {runs[3]} and {runs[4]} (exit 1)\n"
    )
    for nth in (7, 8):
        gated(Path(), {*range(10, 40)}, "--commit", f"c{nth:07}", run=str(nth), code=1)
    told = run_cli("history", "bisect", "answers.precision").out
    assert ", p <0.0001\n" in told and "0.0000" not in told
