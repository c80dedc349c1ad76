"""Variance and drift over runs and windows, and the rules against the last accepted run."""

import json
import math
import statistics
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import run_cli, write_jsonl
from ragworthy.gates import DROP, WORSE, Baseline, Gate, Value, judge
from ragworthy.history import declines, drift, slope, variation
from ragworthy.metrics.registry import find
from ragworthy.suites import SUITES
from ragworthy.suites.latency.rules import LATENCY_GUARD

REGRESSION = [gate for suite in SUITES.values() for gate in suite.regression]

FRACTIONS = st.fractions(min_value=-5, max_value=5, max_denominator=1000)


def numbers(*texts: str) -> list[Fraction]:
    return [Fraction(text) for text in texts]


def test_w46_variation_is_sigma_over_mu_of_the_population() -> None:
    # mean 0.41333, squares of the deviations 0.0011111 + 0.0000444 + 0.0007111 = 0.0018667; /3 → σ 0.024944
    values = numbers("0.38", "0.42", "0.44")
    found = variation(values)
    assert found is not None
    assert math.isclose(found, math.sqrt(0.0018666666666666667 / 3) / (1.24 / 3), rel_tol=1e-12)
    assert round(found, 4) == 0.0603
    sample = statistics.stdev(map(float, values)) / statistics.fmean(map(float, values))
    assert round(sample, 4) == 0.0739  # not what is asked for


def test_w46_a_slope_within_its_limit_and_four_declines() -> None:
    # Σ (i − 2)(x − 0.872) = −2·0.028 − 0.018 − 0.012 − 2·0.032 = −0.15; Σ (i − 2)² = 10
    found = drift(numbers("0.90", "0.89", "0.87", "0.86", "0.84"))
    assert found.slope == Fraction(-15, 1000)
    assert found.declines == 4
    assert found.alerts == ("got worse 4 windows in a row",)


def test_w46_up_and_down_is_no_drift() -> None:
    # −2·(−0.004) − 0.016 + 0 + 0.006 + 2·(−0.004) = −0.01; / 10
    found = drift(numbers("0.80", "0.82", "0.79", "0.81", "0.80"))
    assert found.slope == Fraction(-1, 1000)
    assert found.alerts == ()


def test_a_rise_is_the_bad_direction_where_lower_is_better() -> None:
    up = numbers("0.30", "0.31", "0.33", "0.34")
    assert declines(up) == 0
    assert declines(up, better="lower") == 3
    assert drift(up, better="lower").alerts == ("got worse 3 windows in a row",)


def test_under_five_windows_a_slope_is_not_measured() -> None:
    assert slope(numbers("0.9", "0.5", "0.3", "0.1")) is None
    assert slope(numbers("0.9", "0.5", "0.3", "0.1", "0.0")) is not None
    assert drift(numbers("0.50", "0.55", "0.60", "0.65", "0.70")).alerts == (
        "moves by +0.0500 a window, more than 0.02",
    )


def test_the_limits_themselves_are_within() -> None:
    exact = [Fraction("0.5") + Fraction("0.02") * nth for nth in range(5)]
    assert slope(exact) == Fraction("0.02")
    assert not any("window" in alert for alert in drift(exact).alerts)


def test_no_mean_no_variation() -> None:
    assert variation([]) is None
    assert variation(numbers("0", "0")) is None
    assert variation(numbers("-1", "1")) is None
    assert variation(numbers("-1", "-1")) == 0


@given(st.lists(FRACTIONS, min_size=5, max_size=12))
def test_slope_agrees_with_the_standard_library(values: list[Fraction]) -> None:
    found = slope(values)
    assert found is not None
    exact = statistics.linear_regression(range(len(values)), [float(one) for one in values]).slope
    assert math.isclose(float(found), exact, rel_tol=1e-9, abs_tol=1e-9)


@given(st.lists(FRACTIONS, min_size=1, max_size=12))
def test_variation_agrees_with_the_standard_library(values: list[Fraction]) -> None:
    found, mean = variation(values), statistics.mean(values)
    if mean == 0:
        assert found is None
    else:
        assert found is not None
        assert math.isclose(found, statistics.pstdev(values) / abs(float(mean)), rel_tol=1e-9, abs_tol=1e-12)


# against a baseline


def judged(gate: Gate, before: str, after: str, better: str = "higher") -> str:
    number = Fraction(after)
    value = Value(number.numerator, number.denominator, better=better, counts=False, n=9)
    baseline = Baseline({(None, gate.metric): Fraction(before)}, {})
    return judge((gate,), {(None, gate.metric): value}, baseline=baseline)[0].outcome.value


@pytest.mark.parametrize(("after", "word"), [("1150", "pass"), ("1151", "fail"), ("900", "pass")])
def test_w40_p95_may_rise_by_exactly_fifteen_percent(after: str, word: str) -> None:
    assert judged(LATENCY_GUARD[0], "1000", after, "lower") == word


@pytest.mark.parametrize(("after", "word"), [("0.84", "pass"), ("0.839", "fail"), ("0.90", "pass")])
def test_w40_precision_may_drop_by_exactly_two_points(after: str, word: str) -> None:
    assert LATENCY_GUARD[1].op == DROP
    assert judged(LATENCY_GUARD[1], "0.86", after) == word


def test_a_share_of_nothing_cannot_be_kept() -> None:
    gate = Gate("cost.per_correct", WORSE, "0.30")
    assert judged(gate, "0", "0", "lower") == "pass"
    assert judged(gate, "0", "1", "lower") == "fail"
    assert judged(gate, "2", "1", "lower") == "pass"


@pytest.mark.parametrize(
    ("after", "word"),
    [("0.50", "pass"), ("0.55", "pass"), ("0.56", "undecided"), ("0.599999", "undecided"), ("0.6", "fail")],
)
def test_a_rise_in_distance_goes_to_a_person_before_it_fails(after: str, word: str) -> None:
    gate = next(one for one in REGRESSION if one.metric == "retrieval.delta_s_mean")
    assert judged(gate, "0.50", after, "lower") == word


@pytest.mark.parametrize(
    ("median", "word"), [("0.45", "pass"), ("0.450001", "undecided"), ("0.59", "undecided"), ("0.60", "fail")]
)
def test_the_median_distance_has_three_ways(median: str, word: str) -> None:
    gate = next(one for one in REGRESSION if one.metric == "retrieval.delta_s_median")
    number = Fraction(median)
    value = Value(number.numerator, number.denominator, better="lower", counts=False, n=9)
    assert judge((gate,), {(None, gate.metric): value})[0].outcome.value == word


def test_every_regression_rule_is_on_a_metric_that_exists() -> None:
    for gate in REGRESSION:
        found = find(gate.metric, default_k=5)
        assert found is not None and found.id == gate.metric


GOLD = [
    {
        "qid": f"q{nth}",
        "question": f"Question {nth}?",
        "answerable": True,
        "gold_claim_substr": ["right answer"],
        "gold_citations": ["d#1"],
    }
    for nth in range(100)
] + [{"qid": f"u{nth}", "question": f"Unknown {nth}?", "answerable": False} for nth in range(20)]


def traces(right: int) -> list[dict[str, Any]]:
    claims = ["the right answer" if nth < right else "a wrong one" for nth in range(100)]
    answers: list[dict[str, Any]] = [{"claim": claim, "citations": ["d#1"]} for claim in claims]
    answers += [{"claim": "not in context"}] * 20
    return [
        {"qid": gold["qid"], "retrieved_ids": ["d#1"], "answer_json": answer}
        for gold, answer in zip(GOLD, answers, strict=True)
    ]


POLICY = """
version = 1
baseline = "accepted.json"
regression = true
[answers]
gold = "gold.jsonl"
traces = "traces.jsonl"
[[gate]]
metric = "answers.chr"
min = 0.5
"""


@pytest.mark.parametrize(("right", "code"), [(100, 0), (97, 0), (96, 3), (95, 1)])
def test_regression_true_adds_the_rules_against_the_baseline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, right: int, code: int
) -> None:
    monkeypatch.chdir(tmp_path)
    write_jsonl(Path("gold.jsonl"), GOLD)
    write_jsonl(Path("traces.jsonl"), traces(100))
    done = run_cli("score", "answers", "--gold", "gold.jsonl", "--trace", "traces.jsonl", "-o", "accepted.json")
    assert done.code == 0
    write_jsonl(Path("traces.jsonl"), traces(right))
    Path("ragworthy.toml").write_text(POLICY.replace("regression = true", ""), encoding="utf-8")
    assert run_cli("gate").code == 0
    Path("ragworthy.toml").write_text(POLICY, encoding="utf-8")
    done = run_cli("gate", "-o", "report.json")
    report = json.loads(Path("report.json").read_text(encoding="utf-8"))
    rules = {(one["metric"], one["op"]): one["outcome"] for one in report["gates"]}
    assert rules[("answers.precision", "worse<=")] == {0: "pass", 3: "undecided", 1: "fail"}[code]
    assert report["gates"][0]["metric"] == "answers.chr"
    assert rules[("answers.under_refusal", "drop<=")] == "pass"
    assert done.code == code
    assert report["provenance"]["regression"] == {"E_resonance": "not_measured"}


def report_of(folder: Path, name: str, right: int, gates: str = "chr=0.5") -> str:
    write_jsonl(folder / "gold.jsonl", GOLD)
    write_jsonl(folder / "traces.jsonl", traces(right))
    done = run_cli(
        "score", "answers", "--gold", str(folder / "gold.jsonl"), "--trace", str(folder / "traces.jsonl"),
        "--gates", gates, "-o", str(folder / name),
    )  # fmt: skip
    assert done.code == 0
    return str(folder / name)


def test_trend_over_windows(tmp_path: Path) -> None:
    files = [report_of(tmp_path, f"{nth}.json", right) for nth, right in enumerate((90, 89, 87, 86, 84))]
    done = run_cli("history", "trend", *files)
    assert done.code == 1
    assert "  answers.precision      0.9 → 0.84" in done.out
    assert "slope -0.0150" in done.out
    assert "got worse 4 windows in a row" in done.out
    last = "trend: 2 alerts: 2 by the sources' fixed limits (exit 1)"  # precision and containment
    assert done.out.splitlines()[-1] == last
    done = run_cli("history", "trend", *files[::-1], "--format", "json", "-o", str(tmp_path / "trend.json"))
    assert done.code == 0
    found = json.loads(done.out)
    assert found["metrics"]["answers.precision"]["values"] == [0.84, 0.86, 0.87, 0.89, 0.9]
    assert found["metrics"]["answers.precision"]["slope"] == 0.015
    assert (tmp_path / "trend.json").read_text(encoding="utf-8") == done.out


def test_trend_of_the_same_thing_run_again(tmp_path: Path) -> None:
    files = [report_of(tmp_path, f"{nth}.json", right) for nth, right in enumerate((90, 90, 89))]
    assert run_cli("history", "trend", *files[:2], "--repeated").code == 0
    done = run_cli("history", "trend", *files, "--repeated")
    assert done.code == 1
    assert "0.0100 apart, more than 0.005" in done.out


def test_reports_of_different_gold_sets_or_settings_are_not_put_beside_each_other(tmp_path: Path) -> None:
    first = report_of(tmp_path, "a.json", 90)
    write_jsonl(tmp_path / "gold2.jsonl", GOLD[:50])
    second = str(tmp_path / "b.json")
    run_cli(
        "score", "answers", "--gold", str(tmp_path / "gold2.jsonl"), "--trace", str(tmp_path / "traces.jsonl"),
        "--gates", "chr=0.5", "--short-substr", "reject", "-o", second,
    )  # fmt: skip
    done = run_cli("history", "trend", first, second)
    assert done.code == 4
    assert "b.json: another gold set than" in done.out
    assert "b.json: another setting of short_substr than" in done.out
    assert done.out.splitlines()[-1] == "trend: not comparable (exit 4)"


@pytest.mark.parametrize("place", [0, 1])
def test_a_report_that_was_not_valid_itself_is_not_put_beside_others(tmp_path: Path, place: int) -> None:
    good = report_of(tmp_path, "good.json", 90)
    write_jsonl(tmp_path / "traces.jsonl", traces(90)[1:])
    bad = str(tmp_path / "bad.json")
    done = run_cli(
        "score", "answers", "--gold", tmp_path / "gold.jsonl", "--trace", tmp_path / "traces.jsonl",
        "--gates", "chr=0.5", "-o", bad,
    )  # fmt: skip
    assert done.code == 4
    files = [good, good]
    files[place] = bad
    done = run_cli("history", "trend", *files)
    assert done.code == 4
    assert done.out.splitlines()[1:3] == ["not comparable", "  bad.json: its evidence was not valid"]


def test_reports_under_other_loads_are_not_put_beside_each_other(tmp_path: Path) -> None:
    gold = write_jsonl(tmp_path / "gold.jsonl", GOLD[:2])

    def timed(name: str, *loads: int) -> str:
        runs = [
            trace | {"e2e_ms": 100 * load, "load_rps": load} for trace in traces(100)[:2] for load in loads
        ]  # fmt: skip
        path = write_jsonl(tmp_path / "runs.jsonl", runs)
        done = run_cli(
            "score", "latency", "--gold", gold, "--runs", path, "--gates", "p95=2000", "-o", tmp_path / f"{name}.json"
        )
        assert done.code == 0
        return str(tmp_path / f"{name}.json")

    first, same, other = timed("first", 1, 5), timed("same", 1, 5), timed("other", 1)
    assert run_cli("history", "trend", first, same).code == 0
    done = run_cli("history", "trend", first, other)
    assert done.code == 4
    assert "  other.json: other loads than first.json" in done.out.splitlines()


def test_trend_never_writes_over_a_report(tmp_path: Path) -> None:
    files = [report_of(tmp_path, f"{nth}.json", 90) for nth in range(2)]
    before = Path(files[1]).read_bytes()
    done = run_cli("history", "trend", *files, "-o", files[1])
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines()[0].endswith("[RW-U01]")
    assert Path(files[1]).read_bytes() == before


def test_counts_are_whole_and_constraints_that_nobody_checked_are_left_out(tmp_path: Path) -> None:
    def one(name: str, *flags: str) -> str:
        report_of(tmp_path, "other.json", 90)
        path = tmp_path / name
        run_cli(
            "score", "answers", "--gold", tmp_path / "gold.jsonl", "--trace", tmp_path / "traces.jsonl",
            "--gates", "chr=0.5", "-o", path, *flags,
        )  # fmt: skip
        return str(path)

    plain = run_cli("history", "trend", one("a.json"), one("b.json"))
    assert "answers.scu" not in plain.out
    (missing,) = [line.split() for line in plain.out.splitlines() if "answers.missing" in line]
    assert missing[:4] == ["answers.missing", "0", "→", "0"]
    (precision,) = [line.split() for line in plain.out.splitlines() if "answers.precision" in line]
    assert precision[:4] == ["answers.precision", "0.9", "→", "0.9"]
    checked = run_cli("history", "trend", one("c.json", "--scu-enforced"), one("d.json", "--scu-enforced"))
    assert "answers.scu_violations" in checked.out


def test_trend_of_what_is_no_report(tmp_path: Path) -> None:
    good = report_of(tmp_path, "a.json", 90)
    assert run_cli("history", "trend", good).err.startswith("expected two reports or more, got 1 [RW-U01]")
    (tmp_path / "b.json").write_text("{}", encoding="utf-8")
    done = run_cli("history", "trend", good, str(tmp_path / "b.json"))
    assert done.code == 2
    assert f"{tmp_path / 'b.json'}: schema: expected a value, got nothing [RW-B01]" in done.err
    done = run_cli("history", "trend", good, good, "--suite", "latency")
    assert (done.code, "suites.latency: expected this suite, got a report without it [RW-B01]" in done.err) == (2, True)
