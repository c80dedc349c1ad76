"""What suites declare, and that everything else is derived from it."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ragworthy as rw
from conftest import run_cli, write_jsonl
from places import ROOT
from ragworthy import flow, given, receipts
from ragworthy.names import SUITES as NAMES
from ragworthy.policy.declare import Declared
from ragworthy.policy.sections import check_settings, keys_of
from ragworthy.suites import SUITES


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


EVERY = pytest.mark.parametrize("suite", SUITES.values(), ids=list(SUITES))


def test_every_suite_is_a_folder_with_a_declaration_of_its_name() -> None:
    assert tuple(SUITES) == NAMES == tuple(suite.name for suite in SUITES.values())
    for suite in SUITES.values():
        assert (ROOT / "src" / suite.package.replace(".", "/")).is_dir()


def test_what_type_checkers_know_is_what_suites_declare() -> None:
    assert set(given.Given.__annotations__) == given.names()


def test_declarations_load_nothing_heavy() -> None:
    code = "import sys, ragworthy.suites\nprint(*sys.modules, sep='\\n')"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert (
        loaded & {"msgspec", "fractions", "decimal", "pathlib", "json", "ragworthy.gates", "ragworthy.errors"} == set()
    )


@EVERY
def test_declarations_are_whole(suite: Declared) -> None:
    keys = [one.key for one in suite.inputs] + [one.name for one in suite.fields()]
    assert len(keys) == len(set(keys))
    assert set(suite.settings._fields) == set(suite.settings._field_defaults)
    flags = [one.option for one in suite.inputs if one.help]
    flags += [one.key.flag.split()[0] for one in suite.fields() if one.key.flag]
    assert len(flags) == len(set(flags))
    assert suite.by_role("gold") is not None and suite.by_role("trace") is not None
    assert {key for keys in suite.forms.values() for key in keys} <= {one.key for one in suite.inputs}
    assert "lock" in keys_of(suite)


@EVERY
def test_default_settings_and_gates_hold(suite: Declared) -> None:
    settings = suite.settings()
    check_settings(settings, suite, "")
    gates = suite.default_gates(settings, {})
    assert gates
    assert all((gate.suite or gate.metric.partition(".")[0]) == suite.name for gate in gates)
    assert suite.regression


@EVERY
def test_every_flag_is_documented_in_its_order(suite: Declared) -> None:
    page = (ROOT / "docs/cli.md").read_text(encoding="utf-8")
    part = page.split(f"## ragworthy score {suite.name}\n")[1].split("\n## ")[0]
    groups = [re.findall(r"^  (--[\w-]+)", group, re.M) for group in part.split("\n\n")]
    shown = [[flag for flag in group if flag in suite.flags] for group in groups]
    assert sorted(flag for group in shown for flag in group) == sorted(suite.flags)
    for group in shown:
        assert group == sorted(group, key=list(suite.flags).index)


@EVERY
def test_a_receipt_leads_back_to_the_request_it_was_made_from(suite: Declared, tmp_path: Path) -> None:
    """Every role of a suite's inputs, one form of files at a time."""
    forms: list[Any] = list(suite.forms) or [None]
    for form in forms:
        settings = suite.settings() if form is None else suite.settings(form=form)
        inputs: dict[str, Any] = {}
        for one in suite.inputs_of(settings):
            if one.key in ("qrels", "run", "live_run") or one.written:
                continue
            paths = [tmp_path / f"{one.key}{nth}" for nth in range(11)]
            inputs[one.key] = tuple(paths) if one.form == "files" else paths[0]
        request = flow.Request(suite.name, inputs, settings, ())
        found = receipts.files([request])
        assert receipts._given(suite, settings, found, trec=False) == inputs


@EVERY
def test_every_output_is_kept_from_every_input(suite: Declared) -> None:
    form = next(iter(suite.forms), None)
    settings = suite.settings() if form is None else suite.settings(form=form)
    inputs = [one for one in suite.inputs_of(settings) if one.help and not one.written]
    if "qrels" in {one.key for one in inputs}:
        inputs = [one for one in inputs if one.key not in ("qrels", "run", "live_run")]
    if suite.forms:
        inputs = [one for one in inputs if one.form != "corpus"]
    words: list[str] = []
    for one in inputs:
        write_jsonl(Path(f"{one.key}.json"), [{"qid": "a"}])
        words += [one.option, f"{one.key}.json"]
    for one in inputs:
        done = run_cli("score", suite.name, *words, "-o", f"{one.key}.json")
        assert (done.code, "got one that is read" in done.err) == (2, True), done
        assert json.loads(Path(f"{one.key}.json").read_text()) == {"qid": "a"}


GOLD = [{"qid": "a", "question": "A?", "answerable": True, "gold_claim_substr": ["alpha"], "gold_citations": ["p#1"]}]
ANSWER = {"claim": "It is alpha.", "citations": ["p#1"]}
RUNS = [{"qid": "a", "retrieved_ids": ["p#1"], "answer_json": ANSWER, "e2e_ms": 100}]


def test_python_takes_every_setting_of_a_suite() -> None:
    done = rw.score("latency", gold=GOLD, runs=RUNS, use="batch", frontier="strict", batch_p95=50.5)
    body = done.report["suites"]["latency"]
    assert (body["selection"]["frontier"], body["selection"]["batch_p95"]) == ("strict", "50.5")
    assert next(gate["threshold"] for gate in done.gates if gate["metric"] == "latency.p95") == "50.5"
    for bad in (0, -1, "x", True, float("nan")):
        with pytest.raises(rw.RagworthyError, match="batch_p95: expected a number above 0"):
            rw.score("latency", gold=GOLD, runs=RUNS, batch_p95=bad)
    with pytest.raises(rw.RagworthyError, match="frontier: expected usual or strict, got 'x'"):
        rw.score("latency", gold=GOLD, runs=RUNS, frontier="x")


def test_python_takes_every_setting_of_operators() -> None:
    row = {"q_id": "a", "question": "?", "expected_snippet": "alpha", "candidate_snippet": "It is alpha.", "ΔS": 0.3}
    row |= {"λ_state": "→", "correct": True, "cost_usd": 0.01, "notes": ""}
    operators = [row | {"operator": name} for name in ("ann", "ben")]
    done = rw.score("agreement", operators=operators, release=True, baseline_cost=0.02, fixes=["reindex"])
    settings = done.report["suites"]["agreement"]["settings"]
    assert (settings["release"], settings["baseline_cost"], settings["fixes"]) == (True, "0.02", ["reindex"])
    assert [gate["outcome"] for gate in done.gates if gate["metric"] == "agreement.raters"] == ["fail"]
    with pytest.raises(rw.RagworthyError, match=r'fixes: expected a list of texts, got a text: write \["reindex"\]'):
        rw.score("agreement", operators=operators, fixes="reindex")


def test_python_takes_trec_files() -> None:
    Path("q.qrels").write_text("q1 0 d1 1\nq1 0 d2 0\n")
    Path("r.run").write_text("q1 Q0 d1 1 2.0 t\nq1 Q0 d2 2 1.0 t\n")
    done = rw.score("retrieval", qrels="q.qrels", run="r.run", gates={"recall@5": 0.9})
    assert (done.verdict, done.metrics["retrieval.recall@5"].value) == ("SHIP", 1.0)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"qrels": "q.qrels"}, "expected gold and traces, or qrels and run, got a mixture"),
        ({"qrels": "q.qrels", "run": "r.run", "gold": []}, "expected gold and traces, or qrels and run, got a mixture"),
        ({"qrels": "q.qrels", "run": "r.run", "corpus": "c"}, "corpus: TREC files hold ids and ranks only"),
        ({"qrels": "q.qrels", "run": "r.run", "lock": "c"}, "lock: TREC files hold ids and ranks only"),
        ({"qrels": "q.qrels", "run": "r.run", "slices": ["a"]}, "slices: TREC files hold ids and ranks only"),
        ({"qrels": [], "run": "r.run"}, "qrels: expected a path, got list"),
    ]
    for words, message in wrong:
        with pytest.raises(rw.RagworthyError, match=message):
            rw.score("retrieval", **words)


@pytest.mark.parametrize("name", ["tsv", "form", "live_redirects", "nonsense", "pairs_out"])
def test_python_refuses_what_no_suite_takes(name: str) -> None:
    words: dict[str, Any] = {name: "x"}
    with pytest.raises(TypeError, match=rf"score\(\) got an unexpected keyword argument '{name}'"):
        rw.score("answers", gold=GOLD, traces=RUNS, **words)
