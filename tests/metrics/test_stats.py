"""Intervals and case numbers against published values, the defining equation, and brute force."""

import contextlib
import io
import json
import math
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ragworthy.cli.main import main
from ragworthy.stats import Z95, cases_needed, exact, wilson


@pytest.mark.parametrize(
    ("successes", "cases", "low", "high"),
    [
        # Newcombe, Statistics in Medicine 17 (1998) 857, table I, method 3 (score)
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
        # at the edges z² / (n + z²) and n / (n + z²): 3.8415 / 13.8415 and 10 / 13.8415
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
    ],
)
def test_wilson_against_published_values(successes: int, cases: int, low: float, high: float) -> None:
    interval = wilson(successes, cases)
    assert interval is not None
    assert (round(interval.low, 4), round(interval.high, 4)) == (low, high)


def test_wilson_without_cases_is_none() -> None:
    assert wilson(0, 0) is None


def test_z_is_the_normal_quantile() -> None:
    assert math.isclose(math.erf(Z95 / math.sqrt(2)), 0.95, rel_tol=1e-14)


def score_bound(successes: int, cases: int, side: int) -> float:
    """The p on one side of the observed share at which the score test just rejects, by bisection."""
    share = successes / cases
    near, far = share, 0.0 if side < 0 else 1.0
    for _ in range(200):
        middle = (near + far) / 2
        rejected = abs(share - middle) > Z95 * math.sqrt(middle * (1 - middle) / cases)
        near, far = (near, middle) if rejected else (middle, far)
    return near


@st.composite
def shares(draw: st.DrawFn) -> tuple[int, int]:
    cases = draw(st.integers(1, 1_000_000))
    return draw(st.integers(0, cases)), cases


@settings(deadline=None)
@given(shares())
def test_wilson_solves_the_score_test(share: tuple[int, int]) -> None:
    successes, cases = share
    interval = wilson(successes, cases)
    assert interval is not None
    assert math.isclose(interval.low, score_bound(successes, cases, -1), rel_tol=1e-7, abs_tol=1e-9)
    assert math.isclose(interval.high, score_bound(successes, cases, +1), rel_tol=1e-7, abs_tol=1e-9)


@settings(deadline=None)
@given(shares())
def test_wilson_holds_the_share_and_mirrors(share: tuple[int, int]) -> None:
    successes, cases = share
    interval, mirrored = wilson(successes, cases), wilson(cases - successes, cases)
    assert interval is not None
    assert mirrored is not None
    assert 0 <= interval.low <= successes / cases <= interval.high <= 1
    assert math.isclose(interval.low, 1 - mirrored.high, abs_tol=1e-12)


def brute(op: str, threshold: Fraction, *, good: bool, most: int) -> int | None:
    """The first n at which n cases, all good or all bad, put the interval on one side of the threshold."""
    for n in range(1, most + 1):
        interval = wilson(n if good == (op == ">=") else 0, n)
        assert interval is not None
        low, high = Fraction(interval.low), Fraction(interval.high)
        if good and (low >= threshold if op == ">=" else high <= threshold):
            return n
        if not good and (high < threshold if op == ">=" else low > threshold):
            return n
    return None


@settings(deadline=None)
@given(op=st.sampled_from([">=", "<="]), percent=st.integers(1, 99))
def test_cases_needed_against_brute_force(op: str, percent: int) -> None:
    threshold = Fraction(percent, 100)
    needed = cases_needed(op, threshold)
    assert needed is not None
    assert brute(op, threshold, good=True, most=400) == needed.to_pass
    assert brute(op, threshold, good=False, most=400) == needed.to_fail


@settings(deadline=None)
@given(op=st.sampled_from([">=", "<="]), threshold=st.fractions(0, 1, max_denominator=1000))
def test_cases_needed_is_the_first_number_that_does(op: str, threshold: Fraction) -> None:
    assume(0 < threshold < 1)
    needed = cases_needed(op, threshold)
    assert needed is not None
    z2 = Z95 * Z95
    reach = threshold / (1 - threshold) if op == ">=" else (1 - threshold) / threshold
    assert needed.to_pass == pytest.approx(max(1, math.ceil(z2 * reach)), abs=1)


@pytest.mark.parametrize("threshold", ["0", "1", "-0.5", "1.5"])
def test_no_number_of_cases_shows_a_threshold_at_the_edge(threshold: str) -> None:
    assert cases_needed(">=", Fraction(threshold)) is None
    assert cases_needed("<=", Fraction(threshold)) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [("0.80", Fraction(4, 5)), ("1e-2", Fraction(1, 100)), ("1/2", None), ("nan", None), ("inf", None), ("", None)],
)
def test_exact_reads_decimals_only(text: str, value: Fraction | None) -> None:
    assert exact(text) == value


def report_on(refused: int, answered: int, folder: Path) -> str:
    """The text report on unanswerable questions, and on as many right answers as make every other gate sure."""
    gold, traces = [], []
    for i in range(refused + answered + 200):
        can = i >= refused + answered
        evidence = ["d#1"] if can else []
        claim = "the gold text" if can else ("not in context" if i < refused else "an invention")
        pieces = ["gold text"] if can else []
        item = {"qid": f"q{i}", "question": f"number {i}", "answerable": can, "gold_claim_substr": pieces}
        gold.append(item | {"gold_citations": evidence})
        told = {"claim": claim, "citations": evidence}
        traces.append({"qid": f"q{i}", "retrieved_ids": ["d#1"], "answer_json": told})
    paths = []
    for name, rows in (("gold", gold), ("trace", traces)):
        path = folder / f"{name}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        paths += [f"--{name}", str(path)]
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        main(["score", "answers", "--full", *paths])
    return out.getvalue()


def test_a_gold_set_too_small_for_its_gate_is_told_so(tmp_path: Path) -> None:
    sentence = (
        "0 of 20 unanswerable questions answered: the true rate may still be 16 %; "
        "to show 5 % takes 73 clean cases at least"
    )
    text = report_on(20, 0, tmp_path)
    assert f"  answers.under_refusal: {sentence}\n" in text
    assert text.count("the true rate may still be") == 1
    assert text.endswith("verdict: SHIP (exit 0)\n")


@pytest.mark.parametrize(("refused", "answered", "told"), [(72, 0, True), (73, 0, False), (99, 2, True)])
def test_the_sentence_disappears_with_enough_cases(refused: int, answered: int, told: bool, tmp_path: Path) -> None:
    assert ("; to show 5 % with 80 % chance takes about" in report_on(refused, answered, tmp_path)) is told
