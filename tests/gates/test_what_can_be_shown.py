"""What a set of questions can show: chances, losses that are found, how many questions it takes; how it is told."""

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats

import ragworthy as rw
from conftest import run_cli, write_jsonl
from places import ROOT
from ragworthy import gates as g
from ragworthy import proving as pv
from ragworthy.differences import difference, pair
from ragworthy.metrics.registry import all_metrics
from ragworthy.names import Outcome
from ragworthy.paired import power
from ragworthy.paired.bounds import tango
from ragworthy.paired.exact import mcnemar
from ragworthy.report import able, panel
from ragworthy.report.power import ASSUMED, PAIR, RUNS, of_drop, of_rate
from ragworthy.rows import Rows
from ragworthy.stats import cases_needed, wilson

# the chance of a gate on one number

ADVICE = [
    # op, limit, true rate, clean cases, chance to pass with them (%), cases for 80 %
    (">=", "0.80", "0.82", 16, 4.2, 3110),
    (">=", "0.80", "0.85", 16, 7.4, 482),
    (">=", "0.80", "0.9", 16, 18.5, 112),
    (">=", "0.75", "0.77", 12, 4.3, 3660),
    (">=", "0.75", "0.8", 12, 6.9, 575),
    (">=", "0.75", "0.85", 12, 14.2, 141),
    (">=", "0.95", "0.97", 73, 10.8, 827),
    (">=", "0.95", "0.99", 73, 48.0, 173),
    ("<=", "0.05", "0.04", 73, 5.1, 3550),
    ("<=", "0.05", "0.03", 73, 10.8, 827),
    ("<=", "0.05", "0.02", 73, 22.9, 337),
    ("<=", "0.05", "0.01", 73, 48.0, 173),
    ("<=", "0.10", "0.08", 35, 5.4, 1705),
    ("<=", "0.10", "0.05", 35, 16.6, 254),
    ("<=", "0.02", "0.01", 189, 15.0, 1295),
    ("<=", "0.02", "0.005", 189, 38.8, 510),
    ("<=", "0.01", "0.005", 381, 14.8, 2600),
    ("<=", "0.01", "0.002", 381, 46.6, 880),
]


@pytest.mark.parametrize(("op", "limit", "rate", "clean", "passes", "cases"), ADVICE)
def test_clean_cases_are_a_floor_and_no_promise(
    op: str, limit: str, rate: str, clean: int, passes: float, cases: int
) -> None:
    needed = cases_needed(op, Fraction(limit))
    assert needed is not None and needed.to_pass == clean
    assert 100 * power.chance(op, Fraction(limit), Fraction(rate), clean) == pytest.approx(passes, abs=0.051)
    advised = power.cases_to_show(op, Fraction(limit), Fraction(rate))
    assert advised is not None and 0.995 * cases <= advised <= 1.05 * cases
    assert power.chance(op, Fraction(limit), Fraction(rate), advised) >= 0.795


@pytest.mark.parametrize(("op", "limit"), [(">=", 0.8), ("<=", 0.05), (">=", 0.5)])
@pytest.mark.parametrize("cases", [1, 7, 40, 333])
def test_the_chance_is_that_of_all_outcomes_gone_through(op: str, limit: float, cases: int) -> None:
    for rate in (0.0, 0.03, 0.5, 0.86, 1.0):
        expected = 0.0
        for count in range(cases + 1):
            low, high = wilson(count, cases) or (0.0, 1.0)
            if (low >= limit) if op == ">=" else (high <= limit):
                expected += float(scipy.stats.binom.pmf(count, cases, rate))
        assert power.chance(op, limit, rate, cases) == pytest.approx(expected, abs=1e-9)


def test_the_chance_with_very_many_cases() -> None:
    """With 1,000,000 cases at 0.8008: 0.8008 is 2.00 standard errors above 0.8, and Wilson's end needs 1.96 of them."""
    found = power.chance(">=", 0.8, 0.8008, 1_000_000)
    assert found == pytest.approx(float(scipy.stats.norm.cdf(2.0 - 1.96)), abs=0.005)


@pytest.mark.parametrize(
    ("op", "limit", "rate", "cases", "undecided"),
    [
        (">=", 0.80, 0.85, 100, 75.2),
        (">=", 0.80, 0.85, 50, 88.6),
        ("<=", 0.05, 0.03, 100, 95.2),
        ("<=", 0.05, 0.02, 200, 56.9),
        ("<=", 0.10, 0.07, 100, 83.5),
        (">=", 0.95, 0.97, 200, 85.3),
    ],
)
def test_where_clean_cases_said_yes_and_nothing_is_shown(
    op: str, limit: float, rate: float, cases: int, undecided: float
) -> None:
    other = "<=" if op == ">=" else ">="
    settled = power.chance(op, limit, rate, cases) + power.chance(other, limit, rate, cases)
    assert 100 * (1 - settled) == pytest.approx(undecided, abs=0.051)


# what is advised would settle it


def test_the_questions_that_are_advised_prove_the_loss() -> None:
    """Pairs of 200 with 5 % flips and a true loss of 3 points that prove nothing: as many more as advised."""
    chance, proven, asked = np.random.default_rng(20261116), 0, 0
    for _ in range(400):
        changed = chance.binomial(200, 0.08)
        worse = chance.binomial(changed, 0.055 / 0.08)
        advised = power.about_in_all(200, worse, changed - worse)
        if advised is None or mcnemar(worse, changed - worse) <= 0.05:
            continue
        asked += 1
        changed = chance.binomial(advised, 0.08)
        worse = chance.binomial(changed, 0.055 / 0.08)
        proven += mcnemar(worse, changed - worse) <= 0.05
    assert asked > 100
    assert proven / asked >= 0.72


def test_the_questions_that_are_advised_exclude_a_loss() -> None:
    """Equal runs with 5 % flips, tolerance 2 points: Tango's bound is below it in about four of five."""
    chance, cases = np.random.default_rng(20261117), power.about_to_exclude(0.02, 0.05)
    changed = chance.binomial(cases, 0.05, size=300)
    below = 0
    for one in changed:
        worse = int(chance.binomial(one, 0.5))
        below += tango(worse, int(one) - worse, cases).high <= 0.02
    assert 0.74 <= below / 300 <= 0.9


# one number, in words


def judged(
    num: int, den: int, op: str = "<=", limit: str = "0.05", outcome: Outcome = Outcome.PASS, **more: Any
) -> g.Judged:
    gate = g.Gate("answers.under_refusal", op, limit, evidence=more.pop("evidence", "point"))
    value = g.Value(num, den, None, wilson(num, den), "lower", "unanswerable questions", "answered")
    return g.Judged(gate, outcome, "", value._replace(**more))


@pytest.mark.parametrize(
    ("num", "den", "note"),
    [
        # shrunk (4 + 1) / 201 = 2.5 %
        (4, 200, "4 of 200 unanswerable questions answered: the true rate may still be 5.03 %; to show 5 % with 80 % "
         "chance takes about 514 cases at 2.5 % (one bad case added)"),
        # shrunk 1/21 = 4.76 %: 64,900 cases, which nobody writes
        (0, 20, "0 of 20 unanswerable questions answered: the true rate may still be 16 %; to show 5 % takes 73 clean "
         "cases at least"),
        (0, 72, "0 of 72 unanswerable questions answered: the true rate may still be 5.1 %; to show 5 % with 80 % "
         "chance takes about 230 cases at 1.4 % (one bad case added)"),
        (0, 73, None),
        # shrunk 8/101 = 7.9 %, one good case more
        (8, 100, "8 of 100 unanswerable questions answered: the true rate may still be as low as 4.1 %; to show that "
         "it misses 5 % with 80 % chance takes about 528 cases at 7.9 % (one good case added)"),
        (3, 59, "3 of 59 unanswerable questions answered: the true rate may still be as low as 1.7 %; that is too near "
         "to 5 % to tell them apart"),
        (40, 100, None),
    ],
)  # fmt: skip
def test_notes(num: int, den: int, note: str | None) -> None:
    assert able.note(judged(num, den)) == note


def test_questions_of_one_document_count_less() -> None:
    """With a design effect of 2 half as many cases are there, and twice as many are needed."""
    plain, twice = of_rate(judged(4, 200)), of_rate(judged(4, 200, deff=2.0, clusters=20))
    assert plain is not None and twice is not None
    assert (plain.worth, plain.needed) == (200, 514)
    assert (twice.worth, twice.needed) == (100, 1100)  # 1,028, to two digits
    assert plain.chance == power.chance("<=", Fraction("0.05"), Fraction(5, 201), 200)
    assert twice.chance == power.chance("<=", Fraction("0.05"), Fraction(5, 201), 100)
    note = able.note(judged(4, 200, deff=2.0, clusters=20))
    assert note is not None and note.endswith("; 200 are worth 100, as some share a document")


def test_a_limit_that_hardly_anything_misses_needs_cases_to_fail() -> None:
    gate = g.Gate("answers.under_refusal", "<=", "0.9")
    value = g.Value(0, 4, None, wilson(0, 4), "lower", "unanswerable questions", "answered")
    assert able.note(g.Judged(gate, Outcome.PASS, "", value)) == (
        "0 of 4 unanswerable questions answered: 35 cases are needed before a failure at 90 % could be shown"
    )


def test_means_on_another_scale() -> None:
    """Scores up to 100: 96.2 of 95 in 40 answers is planned with 96.2·40/41 = 93.9, which is on the other side."""
    gate = g.Gate("structured.score", ">=", "95")
    value = g.Value(962, 10, None, (80.0, 99.0), "higher", "answers", n=40, counts=False, top=100)
    assert able.note(g.Judged(gate, Outcome.PASS, "", value)) == (
        "40 answers: the true mean may still be as low as 80; to show 95 takes 73 clean cases at least"
    )


@pytest.mark.parametrize(
    "one", [judged(0, 20)._replace(by_errors=True), judged(0, 20, rate=False), judged(0, 20, "each")]
)
def test_of_some_gates_nothing_is_said(one: g.Judged) -> None:
    assert (of_rate(one), of_drop(one), able.note(one)) == (None, None, None)
    assert able.entries([one]) == []


def test_undecided_by_its_interval_says_how_many_more() -> None:
    one = judged(4, 200, outcome=Outcome.UNDECIDED, evidence="interval")
    assert able.steps([one]) == [
        (
            "how many more questions decide it",
            "in four of five cases, if they are as those here: about 320 for answers.under_refusal",  # 514 − 200 = 314
        )
    ]
    assert able.steps([judged(4, 200)]) == able.steps([judged(0, 20, outcome=Outcome.UNDECIDED)]) == []


# differences


def compared(worse: int, better: int, cases: int, *, gate: g.Gate | None = None, **more: Any) -> g.Judged:
    gate = gate or g.Gate("answers.chr", g.DROP, "0.02", evidence="paired")
    right = cases // 2
    value = g.Value(right - worse + better, cases, None, None, "higher", "answers", "cited")
    told: dict[str, Any] = {"square": (worse + better) / cases, **more}
    tested = pv.Tested(
        worse=worse, better=better, changed=worse + better, cases=cases, clusters=cases, moved=worse + better, **told
    )
    outcome = Outcome.UNDECIDED if worse > better else Outcome.PASS
    return g.Judged(gate, outcome, "", value, baseline=Fraction(right, cases), tested=tested)


def test_the_loss_that_is_found_and_the_tolerance_that_is_too_sharp() -> None:
    """11 worse and 5 better of 200: ψ = 17/202 = 8.4 %; 1.645²·0.0842/0.02² = 569.2; for 5 gates with 2.326²."""
    drop = of_drop(compared(11, 5, 200)._replace(family=5))
    assert drop is not None
    assert (drop.told_by, drop.worth) == (PAIR, 200)
    assert drop.flips == pytest.approx(17 / 202)
    assert drop.finds == power.detectable(200, 17 / 202) == pytest.approx(0.0715, abs=0.0005)
    assert (drop.fewest, drop.family, drop.sharp) == (570, 1200, True)
    assert drop.more == 420  # 615.6 in all, see the test of about_more
    assert able.drop_line(drop, Fraction(1, 2)) == (
        "200 cases find a loss of 7.2 points in four of five (8.4 % flip, these two runs); too sharp: two runs of an "
        "unchanged pipeline exceed 2 points in more than 5 % of the cases, with fewer than about 570 "
        "(1,200 for 5 gates)"
    )


def test_where_the_flips_come_from() -> None:
    known = of_drop(compared(11, 5, 200, flips=Fraction(1, 50)))
    assert known is not None and (known.flips, known.told_by, known.fewest) == (0.02, RUNS, 136)
    unknown = compared(11, 5, 200)._replace(tested=None, baseline=None)
    before = of_drop(unknown)
    assert before is not None and (before.flips, before.told_by, before.fewest) == (0.05, ASSUMED, 339)
    assert before.finds == pytest.approx(0.06, abs=0.0005)
    # Of a proven loss, 20 worse and 2 better, four went either way: (4 + 1) / 202.
    proven = of_drop(compared(20, 2, 200, adjusted=0.001))
    assert proven is not None and proven.flips == pytest.approx(5 / 202)


def test_a_tolerance_as_a_share_of_the_baseline_and_none_at_all() -> None:
    """3 % of 0.5 are 1.5 points."""
    share = of_drop(compared(11, 5, 200, gate=g.Gate("answers.chr", g.WORSE, "0.03", evidence="paired")))
    assert share is not None and share.tolerance == pytest.approx(0.015)
    assert able.loss_text(share, 0.015, Fraction(1, 2)) == "3 %"
    none = of_drop(compared(11, 5, 200, gate=g.Gate("answers.chr", g.DROP, "0", evidence="paired")))
    assert none is not None and none.sharp and none.fewest is None
    assert "exceed 0 points in half of the cases, with any set" in able.drop_line(none, Fraction(1, 2))
    guard = of_drop(compared(11, 5, 200, gate=g.Gate("answers.good", g.DROP, "1", min_effect="0", evidence="paired")))
    assert guard is not None and guard.tolerance is None and not guard.sharp


def test_clusters_cost_a_comparison_too() -> None:
    plain, twice = of_drop(compared(11, 5, 200)), of_drop(compared(11, 5, 200, deff=2.0))
    assert plain is not None and twice is not None
    assert (twice.worth, twice.fewest) == (100, 1200)  # 2 · 569.2, to two digits
    assert plain.finds is not None and twice.finds is not None and twice.finds > plain.finds
    assert twice.more == 1100  # 2 · 620 − 200 = 1,040


def test_the_warning() -> None:
    several = [compared(11, 5, 200), compared(3, 3, 200, gate=g.Gate("answers.precision", g.DROP, "0.02"))]
    assert able.sharp_note(several[:1]) == (
        "a tolerance is too sharp for this set: two runs of an unchanged pipeline would exceed it in more than 5 % of "
        "the cases (answers.chr, 2 points: it takes about 570 cases)"
    )
    assert able.sharp_note(several) == (
        "2 tolerances are too sharp for this set: two runs of an unchanged pipeline would exceed each of them in more "
        "than 5 % of the cases (answers.chr, 2 points: it takes about 570 cases; answers.precision, 2 points: it takes "
        "about 235 cases)"
    )
    quiet = [compared(0, 0, 200), compared(20, 2, 200, adjusted=0.001), compared(11, 5, 2000)]
    assert able.sharp_note(quiet) is None


def test_what_a_question_changed_by_and_what_clusters_make_of_it() -> None:
    """Rates: Σd²/n is the share that flipped. Two that flip together in one cluster: (2² + 1)/3 of three flips."""
    metric = all_metrics()["answers.containment"]
    gate = g.Gate(metric.id, g.DROP, "0.02", evidence="paired")
    qids = tuple("abcdefgh")

    def rows(words: tuple[bool, ...]) -> Rows:
        clusters = ("x", "x", "c", "d", "e", "f", "g", "h")
        empty = (None,) * 8
        return Rows(qids, clusters, empty, empty, (1,) * 8, ((),) * 8, {metric.id: words})

    before, after = (True,) * 8, (False, False, False, True, True, True, True, True)
    found = difference(gate, metric, pair(rows(before), rows(after)))
    assert not isinstance(found, str)
    assert found.square == pytest.approx(3 / 8)
    assert found.deff == pytest.approx(5 / 3)
    same = difference(gate, metric, pair(rows(before), rows(before)))
    assert not isinstance(same, str) and (same.square, same.deff) == (0.0, 1.0)


# through reports

POLICY = (
    'version = 1\nbaseline = "base.json"\ndefaults = false\n[answers]\ngold = "gold.jsonl"\ntraces = "traces.jsonl"\n'
    '[[gate]]\nmetric = "containment"\nmin = 0.80\n[[gate]]\nmetric = "containment"\nmax_drop = 0.02\n'
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """100 questions: 88 right before, 86 now; 6 are worse and 4 better."""
    monkeypatch.chdir(tmp_path)
    gold: list[dict[str, Any]] = []
    before: list[dict[str, Any]] = []
    after: list[dict[str, Any]] = []
    for nth in range(100):
        cited = f"doc{nth}#s01#p001"
        item = {"qid": f"q{nth}", "question": f"question {nth}", "answerable": True, "gold_claim_substr": ["gold text"]}
        gold.append(item | {"gold_citations": [cited], "topic": f"t{nth % 4}"})
        was, now = nth < 88, 6 <= nth < 92
        for traces, good in ((before, was), (after, now)):
            told = {"claim": "the gold text" if good else "something else", "citations": [cited]}
            traces.append({"qid": f"q{nth}", "retrieved_ids": [cited], "answer_json": told})
    write_jsonl(tmp_path / "gold.jsonl", gold)
    write_jsonl(tmp_path / "traces.jsonl", before)
    done = run_cli("score", "answers", "--gold", "gold.jsonl", "--trace", "traces.jsonl", "-o", "base.json", "-q",
                   "--gates", "containment=0.01", "--no-default-gates")  # fmt: skip
    assert done.code == 0
    write_jsonl(tmp_path / "traces.jsonl", after)
    (tmp_path / "ragworthy.toml").write_text(POLICY)
    return tmp_path


RATE = "100 cases have a 26 % chance to show it, about 454 would have 80 % (at 85.1 %: one bad case added)"
LOSS = "100 cases find a loss of 12.8 points in four of five (10.8 % flip, these two runs); too sharp: two runs of an "


def test_doctor_says_no_where_an_interval_is_undecided(folder: Path) -> None:
    lines = run_cli("doctor").out.splitlines()
    start = lines.index("What the gates can show") + 1
    assert lines[start] == f"  no   answers.containment ≥ 0.80: {RATE}"
    assert lines[start + 1].startswith(f"  no   answers.containment drop ≤ 0.02: {LOSS}")
    (folder / "ragworthy.toml").write_text(POLICY.replace('baseline = "base.json"\n', ""))
    assert "(5 % flip, assumed); too sharp: " in run_cli("doctor").out


def test_reports_say_it_once_and_full_ones_all(folder: Path) -> None:
    done = run_cli("gate", "-o", "r.json", "-o", "r.md")
    report = json.loads((folder / "r.json").read_text())
    entries = report["suites"]["answers"]["can_show"]
    assert done.code == 0  # two points were lost, and so much may be
    assert [(one["gate"], one["enough"]) for one in entries] == [
        ("answers.containment ≥ 0.80", False),
        ("answers.containment drop ≤ 0.02", False),
    ]
    assert entries[0] == {
        "gate": "answers.containment ≥ 0.80",
        "enough": False,
        "says": RATE,
        "cases": 100,
        "worth": 100,
        "rate": 0.8515,
        "chance": entries[0]["chance"],
        "needed": 454,
        "clean": 16,
    }
    assert {key: entries[1][key] for key in ("cases", "worth", "flips", "flips_from", "tolerance", "more")} == {
        "cases": 100, "worth": 100, "flips": 0.1078, "flips_from": PAIR, "tolerance": 0.02, "more": None,
    }  # fmt: skip
    (warning,) = [one for one in report["suites"]["answers"]["warnings"] if one["code"] == "RW-W115"]
    assert warning["message"] == (
        "a tolerance is too sharp for this set: two runs of an unchanged pipeline would exceed it in more than 5 % of "
        "the cases (answers.containment, 2 points: it takes about 730 cases)"
    )
    assert panel.TITLE not in done.out and done.out.count(RATE) == 0
    full = run_cli("gate", "--full").out
    assert full.count(f"  answers.containment ≥ 0.80: {RATE}\n") == full.count(f"{panel.TITLE}\n") == 1
    assert full.endswith("verdict: SHIP (exit 0)\n")
    assert f"### {panel.TITLE}\n" in (folder / "r.md").read_text()
    assert rw.gate("ragworthy.toml").can_show == entries


TWO = """version = 1
baseline = "base.json"
defaults = false
[answers]
gold = "gold.jsonl"
traces = "traces.jsonl"
[stability]
gold = "gold.jsonl"
runs = "traces.jsonl"
"""


def test_all_suites_are_one_family_wherever_it_is_told(folder: Path) -> None:
    """Five gates of two suites compare, one of which is on what did not change; each line counts all of them."""
    metrics = ("answers.containment", "answers.precision", "answers.chr", "stability.acr", "stability.unstable")
    compare = "".join(f'[[gate]]\nmetric = "{name}"\nmax_drop = 0.02\n' for name in metrics)
    floors = "".join(f'[[gate]]\nmetric = "{name}"\nmin = 0.01\n' for name in ("answers.precision", "stability.acr"))
    now = (folder / "traces.jsonl").read_text()
    turned = [json.loads(line) for line in now.splitlines()]
    for nth, one in enumerate(turned):
        one["answer_json"]["claim"] = "the gold text" if nth < 88 else "something else"
    write_jsonl(folder / "traces.jsonl", turned)
    (folder / "ragworthy.toml").write_text(TWO.replace('baseline = "base.json"\n', "") + floors)
    assert run_cli("gate", "-q", "--no-history", "-o", "base.json").code == 0
    (folder / "traces.jsonl").write_text(now)
    (folder / "ragworthy.toml").write_text(TWO + floors + compare)
    for command in (("gate", "--full", "--no-history"), ("doctor",)):
        told = re.findall(r"for (\d+) gates", run_cli(*command).out)
        assert len(told) >= 4 and {*told} == {"5"}, command


def test_a_blessed_baseline_knows_how_many_questions_flip(folder: Path) -> None:
    """1.645²·0.02/0.02² = 135.3 cases."""
    base = json.loads((folder / "base.json").read_text())
    (folder / "base.json").write_text(json.dumps(base | {"flips": {"answers.containment": "1/50"}}))
    entry = rw.gate("ragworthy.toml").can_show[1]
    assert (entry["flips"], entry["flips_from"], entry["needed"]) == (0.02, RUNS, 136)
    (folder / "base.json").write_text(json.dumps(base | {"flips": {"answers.containment": "3/2"}}))
    done = run_cli("gate")
    line = 'base.json: flips.answers.containment: expected a share, got "3/2" [RW-B01]'
    assert (done.code, done.err.splitlines()[0]) == (2, line)


def test_the_panel(folder: Path) -> None:
    result = rw.score("answers", gold="gold.jsonl", traces="traces.jsonl", slices=["topic"])
    lines = panel.lines("answers", result.report["suites"]["answers"])
    assert lines[0] == "answers: 100 questions; nothing is known about questions unlike these"
    small = "topic=t0 (25), topic=t1 (25), topic=t2 (25), topic=t3 (25)"
    assert f"slices of fewer than 30 cases show hardly anything: {small}" in lines
    assert any(line.startswith("not measured: answers.under_refusal: no unanswerable question") for line in lines)
    body = dict(result.report["suites"]["answers"])
    body["metrics"] = body["metrics"] | {"retrieval.delta_s_median": {"undefined": None, "den": None}}
    assert any(line.startswith("ΔS does not see citations of the nearest wrong") for line in panel.lines("x", body))


def test_slices_are_as_small_as_their_questions_not_as_their_runs(folder: Path) -> None:
    body = dict(rw.score("answers", gold="gold.jsonl", traces="traces.jsonl").report["suites"]["answers"])
    of_runs = {"value": 0.9, "num": 54, "den": 60, "n": 10, "low": 0.6, "high": 0.98, "undefined": None}
    of_questions = of_runs | {"num": None, "den": None}
    body["slices"] = {"type=code": {"retrieval.recall@5": of_runs, "retrieval.hit@5": of_questions}}
    assert "slices of fewer than 30 cases show hardly anything: type=code (10)" in panel.lines("retrieval", body)


# the page


def _table(title: str) -> list[list[str]]:
    """The rows of the table with this header on the page about verdicts."""
    lines = (ROOT / "docs/verdicts.md").read_text(encoding="utf-8").splitlines()
    start = next(nth for nth, line in enumerate(lines) if line.startswith(title)) + 2
    end = next(nth for nth in range(start, len(lines)) if not lines[nth].startswith("|"))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[start:end]]


def test_the_page_has_the_numbers_of_the_functions() -> None:
    for gate, rate, clean, passes, cases in _table("| Gate | True rate |"):
        op, limit = (">=" if gate[0] == "≥" else "<="), Fraction(gate[2:])
        assert cases_needed(op, limit) is not None
        assert f"{power.chance(op, limit, Fraction(rate), int(clean)):.0%}".replace("%", " %") == passes
        assert f"{power.cases_to_show(op, limit, Fraction(rate)):,}" == cases
    shares = (0.0, 0.02, 0.05, 0.10, 0.17)
    for cases, *drops in _table("| Cases | 0 % flip |"):
        found = [power.detectable(int(cases.replace(",", "")), flips) for flips in shares]
        assert [f"{100 * (one or 1):.1f}" for one in found] == drops
    for tolerance, *many in _table("| Tolerance | 2 % flip |"):
        loss = int(tolerance.split()[0]) / 100
        counts = [f"{power.fewest_for(loss, flips):,} ({power.fewest_for(loss, flips, 12):,})" for flips in shares[1:]]
        assert counts == many
