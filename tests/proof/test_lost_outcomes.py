"""Outcomes of gates that compare, in a report that is added: they follow from its own loss, tolerance and proof."""

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import run_cli
from made_runs import answer, failed, lay

FILES = ("score", "answers", "--gold", "gold.jsonl", "--trace", "traces.jsonl", "-q")
STORE = Path("h.db")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def compared(wrong: int, evidence: str = "paired", rule: str = "max_drop = 0.02", errors: int = 0) -> Any:
    """A run in which so many of 200 questions are wrong, against one without a wrong answer, and with some errors."""
    lay(Path(), 200)
    failed(Path(), range(190, 190 + errors))
    run_cli(*FILES, "-o", "base.json", "--no-default-gates", "--gates", "containment=0.1")
    answer(Path(), range(wrong))
    gate = f'[[gate]]\nmetric = "answers.containment"\n{rule}\nevidence = "{evidence}"\n'
    Path("g.toml").write_text(f"defaults = false\n{gate}")
    run_cli(*FILES, "--baseline", "base.json", "--gates", "g.toml", "-o", "now.json")
    return json.loads(Path("now.json").read_text())


def added(body: Any) -> str:
    Path("r.json").write_text(json.dumps(body))
    done = run_cli("history", "add", "r.json", "--store", STORE)
    return "" if done.code == 0 else done.err.splitlines()[0]


def forged(body: Any, paired: dict[str, Any] | None = None, **told: Any) -> Any:
    gate = body["gates"][0] | told
    gate["paired"] = gate["paired"] | (paired or {})
    verdict = {"pass": ("SHIP", 0), "undecided": ("INCONCLUSIVE", 3), "fail": ("NO-SHIP", 1)}[gate["outcome"]]
    return body | {"gates": [gate, *body["gates"][1:]], "verdict": verdict[0], "exit_code": verdict[1]}


def test_a_proven_loss_that_passes_is_refused() -> None:
    body = compared(20)
    assert (body["verdict"], body["gates"][0]["baseline"]) == ("NO-SHIP", 1.0)
    shown = "a loss of 0.1 against a tolerance of 0.02, 20 worse and 0 better"
    for outcome in ("pass", "undecided"):
        said = f"r.json: gates[0].outcome: expected fail, which follows from {shown}, got {outcome} [RW-H16]"
        assert added(forged(body, outcome=outcome)) == said
    said = "r.json: gates[0].paired.loss: expected 0.1, which follows from 1.0 and 0.9, got 0.01 [RW-H16]"
    assert added(forged(body, {"loss": 0.01}, outcome="pass")) == said
    p = 2.0**-20
    said = f"r.json: gates[0].paired.p: expected {p}, which follows from 20 worse and 0 better, got 0.5 [RW-H16]"
    assert added(forged(body, {"p": 0.5, "adjusted": 0.5}, outcome="undecided")) == said
    body["gates"][0]["paired"]["adjusted"] = p / 4
    assert added(body).startswith("r.json: gates[0].paired.adjusted: expected no less than p, ")
    assert not STORE.exists()


def test_a_loss_that_is_not_proven_neither_passes_nor_fails() -> None:
    body = compared(4 + 1, rule="max_drop = 0.02\nmin_effect = 0.02")
    assert body["verdict"] == "NO-SHIP"  # 5 of 200: 2.5 points, 1/32
    body = compared(4, rule="max_drop = 0.01")
    assert body["verdict"] == "INCONCLUSIVE"
    shown = "a loss of 0.02 against a tolerance of 0.01, 4 worse and 0 better"
    for outcome in ("pass", "fail"):
        said = f"r.json: gates[0].outcome: expected undecided, which follows from {shown}, got {outcome} [RW-H16]"
        assert added(forged(body, outcome=outcome)) == said
    assert added(forged(body, outcome="pass", baseline=None)).startswith(
        "r.json: gates[0].outcome: expected not_measured without a baseline, got pass"
    )


@pytest.mark.parametrize("evidence", ["point", "paired", "interval", "anytime"])
@pytest.mark.parametrize("rule", ["max_drop = 0.02", "max_worse = 0.025", "max_drop = 0.05\nmin_effect = 0"])
def test_whatever_was_judged_is_kept(evidence: str, rule: str) -> None:
    if evidence == "point" and "min_effect" in rule:
        rule = "max_drop = 0.05"
    for wrong in (0, 4, 5, 9, 20):
        body = compared(wrong, evidence, rule, errors=5 if wrong == 9 else 0)
        assert added(body) == "", body["gates"][0]


def test_what_errors_of_the_baseline_hid_is_judged_again_too() -> None:
    body = compared(6, errors=6)
    assert (body["verdict"], body["gates"][0]["paired"]["loss"]) == ("NO-SHIP", 0.0)
    assert added(body) == ""
    assert "expected fail" in added(forged(body, outcome="pass"))
