"""`gate --selftest`: every gate is shown to fail on damaged traces, and one that cannot is named."""

import contextlib
import io
import json
from pathlib import Path
from typing import NamedTuple

import pytest

from ragworthy import starter
from ragworthy.cli.main import main

SUITE = 'version = 1\n[answers]\ngold = "gold.jsonl"\ntraces = "traces.jsonl"\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the twelve questions `init` writes."""
    monkeypatch.chdir(tmp_path)
    gold, traces = starter._tiny()
    Path("gold.jsonl").write_text(gold)
    Path("traces.jsonl").write_text(traces)
    return tmp_path


class Tried(NamedTuple):
    code: int
    can: list[str]
    cannot: list[str]
    last: str


def selftest(policy: str | Path, *args: str) -> Tried:
    """Which gates can fail and which cannot, as the command line says it."""
    path = policy if isinstance(policy, Path) else Path("ragworthy.toml")
    if isinstance(policy, str):
        path.write_text(policy)
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["gate", "--selftest", "-c", str(path), *args])
    assert err.getvalue() == ""
    *lines, last = out.getvalue().splitlines()
    can = [line.removeprefix("can fail     ") for line in lines if line.startswith("can fail ")]
    cannot = [line.removeprefix("CANNOT FAIL  ") for line in lines if line.startswith("CANNOT FAIL ")]
    assert len(can) + len(cannot) == len(lines)
    return Tried(code, can, cannot, last)


def gate(metric: str, rule: str) -> str:
    return f'[[gate]]\nmetric = "{metric}"\n{rule}\n'


@pytest.mark.parametrize("run", ["candidate", "regressed"])
def test_every_gate_of_the_bundled_example_can_fail(run: str, folder: Path) -> None:
    starter.demo(folder)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    tried = selftest(folder / f"{run}.toml")
    assert (tried.code, tried.cannot) == (0, [])
    assert tried.can == [
        "answers.precision ≥ 0.80: every claim and citation made wrong → fail",
        "answers.chr ≥ 0.75: every citation moved → fail",
        "answers.under_refusal ≤ 0.05: every question answered → fail",
        "answers.over_refusal ≤ 0.10: every question refused → fail",
        "answers.scu_violations ≤ 0: every echo dropped → fail",
        "answers.missing ≤ 0: every trace dropped → fail",
    ]
    assert tried.last == "selftest: 6 of 6 gates can fail (exit 0)"
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_every_metric_has_a_damage_that_makes_its_gate_fail(folder: Path) -> None:
    starter.demo(folder)
    metrics = ["precision", "chr", "recall@k", "hit@3", "chr_ceiling@5", "compliance", "containment", "support"]
    gates = "".join(gate(metric, "min = 0.01") for metric in metrics)
    gates += gate("scu", "min = 0.99")  # answers without constraints keep them, so it cannot fall to 0
    gates += gate("under", "max = 0.99") + gate("over", "max = 0.99") + gate("scu_violations", "max = 5")
    gates += gate("precision", 'min = 0.02\nslice = "topic=billing"') + gate("chr", 'must_pass = ["H001"]')
    text = Path("candidate.toml").read_text().partition("[[gate]]")[0]
    tried = selftest(text + gates)
    assert (tried.code, tried.cannot) == (0, [])
    assert len(tried.can) == len(metrics) + 7


def test_a_drop_gate_can_fail_against_its_baseline() -> None:
    Path("ragworthy.toml").write_text(SUITE)
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(["gate", "-q", "-o", "base.json"]) == 0
    drop = gate("precision", "max_drop = 0.02")
    assert selftest('baseline = "base.json"\n' + SUITE + drop).code == 0
    tried = selftest(SUITE + drop)
    assert (tried.code, len(tried.cannot)) == (1, 1)
    assert tried.cannot[0].startswith("answers.precision drop ≤ 0.02: ")
    assert tried.cannot[0].endswith("→ not_measured (no baseline was given)")


def test_containment_of_gold_without_text_cannot_fail() -> None:
    items = [json.loads(line) for line in Path("gold.jsonl").read_text().splitlines()]
    Path("gold.jsonl").write_text("".join(json.dumps(item | {"gold_claim_substr": []}) + "\n" for item in items))
    tried = selftest(SUITE + gate("containment", "min = 0.9") + gate("precision", "min = 0.9"))
    assert tried.code == 1
    assert tried.cannot == ["answers.containment ≥ 0.9: every claim made wrong → pass"]
    assert tried.last == "selftest: 5 of 6 gates can fail (exit 1)"


def test_a_slice_with_too_few_cases_cannot_fail() -> None:
    tried = selftest(SUITE + gate("chr", 'min = 0.9\nslice = "topic=buckets"\nmin_n = 50'))
    [line] = tried.cannot
    assert tried.code == 1
    assert line.startswith("answers.chr[topic=buckets] ≥ 0.9: every citation moved → undecided (")
    assert line.endswith("shipped answers are fewer than min_n = 50)")


def test_a_waived_gate_cannot_fail() -> None:
    waiver = '[[waiver]]\ngate = "chr"\nreason = "r"\nowner = "o"\nexpires = 2999-01-01\n'
    tried = selftest(SUITE + gate("chr", "min = 0.9") + gate("precision", "min = 0.9") + waiver)
    assert tried.code == 1
    [line] = tried.cannot
    assert line.startswith("answers.chr ≥ 0.9: every citation moved → waived")


def test_without_constraints_no_constraint_can_be_broken() -> None:
    items = [json.loads(line) for line in Path("gold.jsonl").read_text().splitlines()]
    Path("gold.jsonl").write_text("".join(json.dumps(item | {"constraints": []}) + "\n" for item in items))
    tried = selftest(SUITE + gate("scu_violations", "max = 0"))
    assert (tried.code, tried.cannot) == (1, ["answers.scu_violations ≤ 0: every echo dropped → pass"])


@pytest.mark.parametrize("refusals", ['["No idea."]', '["No idea.", "not in context"]'])
def test_the_damage_refuses_in_the_policys_own_words(refusals: str) -> None:
    traces = Path("traces.jsonl").read_text().replace("not in context", "No idea.")
    Path("traces.jsonl").write_text(traces)
    tried = selftest(f"{SUITE}refusals = {refusals}\n" + gate("over", "max = 0.10"))
    assert (tried.code, tried.cannot) == (0, [])


def test_nothing_is_written(folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    selftest(SUITE + gate("chr", "min = 0.9"))
    assert sorted(folder.rglob("*")) == sorted([*before, folder / "ragworthy.toml"])


# agreement


def votes(form: str, rows: list[dict[str, object]]) -> str:
    Path("votes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return f'version = 1\n[agreement]\n{form} = "votes.jsonl"\n'


RATINGS: list[dict[str, object]] = [
    {"qid": f"q{nth}", "rater": rater, "label": "good" if nth % 2 else "bad"} for nth in range(8) for rater in "abc"
]
RECORDS: list[dict[str, object]] = [
    {"q_id": f"q{nth}", "operator": operator, "correct": nth % 4 > 0, "cost_usd": 0.1, "ΔS": 0.2}
    for nth in range(8)
    for operator in ("ann", "bob", "cem")
]


def test_the_usual_gates_on_raters_can_fail() -> None:
    tried = selftest(votes("raters", RATINGS))
    assert (tried.code, tried.cannot) == (0, [])
    assert tried.can == ["agreement.pairwise ≥ 0.85: every second vote made another → fail"]


def test_the_usual_gates_on_operators_can_fail() -> None:
    tried = selftest(votes("operators", RECORDS))
    assert (tried.code, tried.cannot) == (0, [])
    assert tried.can == [
        "agreement.pairwise ≥ 0.85: every second vote made another → fail",
        "agreement.operator_variance ≤ 0.10: some raters made to find everything wrong → fail",
    ]


@pytest.mark.parametrize(("form", "rows"), [("raters", RATINGS), ("operators", RECORDS)])
def test_a_gate_on_the_number_of_raters_can_fail(form: str, rows: list[dict[str, object]]) -> None:
    tried = selftest(votes(form, rows) + gate("agreement.raters", "min = 3"))
    assert (tried.code, tried.cannot) == (0, [])
    assert "agreement.raters ≥ 3: every rater made the same one → fail" in tried.can
