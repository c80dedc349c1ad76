"""The share of unstable questions, and what the runs of single questions prove."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binom

from conftest import run_cli, write_jsonl
from ragworthy.stats import wilson
from ragworthy.suites.stability.shown import at_most, clean_runs

Report = dict[str, Any]


@pytest.mark.parametrize(("good", "runs", "limit"), [(0, 5, "0.95"), (3, 5, "0.95"), (50, 59, "0.98"), (7, 7, "0.5")])
def test_the_test_of_one_question_is_binomial(good: int, runs: int, limit: str) -> None:
    assert float(at_most(good, runs, Fraction(limit))) == pytest.approx(binom.cdf(good, runs, float(limit)), rel=1e-9)


def test_how_many_clean_runs_show_a_limit() -> None:
    assert clean_runs(Fraction("0.95")) == 59  # 0.95⁵⁹ = 4.8 %, 0.95⁵⁸ = 5.1 %
    assert clean_runs(Fraction("0.98")) == 149 and clean_runs(Fraction(1)) is None


def lay(tmp_path: Path, good: list[int], runs: int = 5) -> list[object]:
    """Questions of which so many runs are right, each as often as the list says."""
    gold = [{"qid": f"q{nth:02}", "question": f"question {nth}?", "answerable": True, "gold_citations": [f"c{nth}"],
             "gold_claim_substr": ["gold text"]} for nth in range(len(good))]  # fmt: skip
    said = [{"qid": f"q{nth:02}", "seed": seed, "retrieved_ids": [f"c{nth}"], "answer_json": {
             "claim": "the gold text" if seed < right else "something else", "citations": [f"c{nth}"]}}
            for nth, right in enumerate(good) for seed in range(runs)]  # fmt: skip
    files = {"--gold": write_jsonl(tmp_path / "gold.jsonl", gold), "--runs": write_jsonl(tmp_path / "runs.jsonl", said)}
    return [part for pair in files.items() for part in pair]


def test_the_share_of_unstable_questions_has_an_interval_and_a_gate(tmp_path: Path) -> None:
    files = lay(tmp_path, [5] * 37 + [0, 3, 4])
    gates = ("--gates", "unstable=0.10", "--no-default-gates", "--format", "json")
    done = run_cli("score", "stability", *files, *gates)
    report: Report = json.loads(done.out)
    metric = report["suites"]["stability"]["metrics"]["stability.unstable"]
    assert (metric["num"], metric["den"]) == (3, 40)
    assert (metric["low"], metric["high"]) == pytest.approx(tuple(wilson(3, 40) or ()))
    assert report["gates"][0]["outcome"] == "pass"
    done = run_cli("score", "stability", *files, *gates, "--evidence", "interval")
    assert json.loads(done.out)["gates"][0]["outcome"] == "undecided"
    assert run_cli("score", "stability", *files).code == 1  # no question may fail, unless a gate says otherwise


def test_which_questions_are_proven_below_their_limit(tmp_path: Path) -> None:
    """40 questions and two limits: of 0.05⁵ and P(X ≤ 2) = 0.00116 only the first is below 0.05/80 = 0.00063."""
    files = lay(tmp_path, [5] * 37 + [0, 2, 3])
    done = run_cli("score", "stability", *files, "--format", "json")
    shown = json.loads(done.out)["suites"]["stability"]["shown"]
    assert shown == {
        "questions": 40,
        "below": {"acr": ["q37"]},
        "fewest_runs": 5,
        "clean_runs": {"acr": 59, "cghc": 59},
    }
    text = run_cli("score", "stability", "--full", *files).out
    assert "1 of 40 questions is proven below a limit (acr 1): q37" in text
    assert "5 clean runs show a share of 0.549 and no more: acr 0.95 is not shown, that takes 59" in text
