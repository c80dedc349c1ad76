"""The promises of docs/verdict-quality.md on real systems' answers, with fewer pairs than the benchmark has."""

import importlib.util
import sys
from types import ModuleType

import pytest

from places import ROOT

REPEATS = 60


@pytest.fixture(scope="module")
def quality() -> ModuleType:
    spec = importlib.util.spec_from_file_location("verdict_quality", ROOT / "benchmarks/verdict_quality.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["verdict_quality"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.data("data/squad2")
def test_verdicts_on_pairs_without_and_with_a_change_keep_their_promises(quality: ModuleType) -> None:
    answers = quality.answers_pool()
    paired = quality.unchanged(answers, REPEATS, quality.RULE_B, (50, 200))
    power = quality.power(answers, "answers.precision", REPEATS, (200,), (5, 10))
    tables = quality.Tables(
        paired,
        quality.unchanged(answers, REPEATS, quality.RULE_D, (50, 200)),
        {},
        {("answers.precision", *where): one for where, one in power.items()},
        {
            ("answers.under_refusal", *where): one
            for where, one in quality.coverage(answers, "answers.under_refusal", 300).items()
        },
        {},
    )
    assert quality.broken(tables, REPEATS) == []
    assert paired["5 %", 50].point > 40  # what the same thresholds would call without any test
    assert paired["5 %", 200].fixed > 25
    assert power["5 %", 200, 10].proven > 75


def test_a_promise_that_is_not_kept_is_named(quality: ModuleType) -> None:
    bad = quality.Cell(9.0, 0.0, 91.0, 9.0, 9.0, 2)
    tables = quality.Tables({("5 %", 200): bad}, {}, {}, {}, {}, {})
    assert quality.broken(tables, 500) == [
        "paired, flips 5 %, 200 questions: NO-SHIP in 9.0 %",
        "flips 5 %, 200 questions: 2 pairs ship under one rule only",
    ]
    assert round(quality.most(500), 1) == 6.9


@pytest.mark.data("data/squad2")
def test_what_was_planted_is_blamed_and_the_page_says_so(quality: ModuleType) -> None:
    found = quality.blame()
    assert len(found) == 12 and all(seen.total() == quality.PLANTED for seen in found.values())
    tables = quality.Tables({}, {}, {}, {}, {}, found)
    assert quality.broken(tables, REPEATS) == []
    assert quality.blame_table(found) in (ROOT / "docs/verdict-quality.md").read_text(encoding="utf-8")
    wrong = tables._replace(blame={"below_k": quality.Counter(below_k=94, not_cited=6)})
    said = "below_k is blamed in 94.0 % of the questions in which it was planted"
    assert quality.broken(wrong, REPEATS) == [said]
