"""`init` for files that are there, its stubs, and `doctor` on one file alone."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from conftest import run_cli, write_jsonl
from structured_case import both

REFUSED = "I'm sorry, I couldn't find that in our documentation."


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def lay(**more: Any) -> None:
    """Twelve questions of two topics; the unanswerable ones are refused in the pipeline's own words."""
    gold, traces = [], []
    for n in range(12):
        can = n % 3 != 0
        item: dict[str, Any] = {"qid": f"q{n}", "question": f"number {n}?", "answerable": can, "topic": f"t{n % 2}"}
        gold.append(item | ({"gold_claim_substr": ["forty-two"], "gold_citations": ["d#1"]} if can else {}) | more)
        claim, cited = ("It is forty-two.", ["d#1"]) if can else (REFUSED, [])
        traces.append({"qid": f"q{n}", "retrieved_ids": ["d#1"], "answer_json": {"claim": claim, "citations": cited}})
    write_jsonl(Path("gold.jsonl"), gold)
    write_jsonl(Path("traces.jsonl"), traces)


def policy() -> dict[str, Any]:
    return tomllib.loads(Path("ragworthy.toml").read_text("utf-8"))


def test_a_policy_filled_in_with_what_the_files_show() -> None:
    lay()
    done = run_cli("init", "--gold", "gold.jsonl", "--trace", "traces.jsonl")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == ["wrote ragworthy.toml (answers)", "next: ragworthy gate"]
    written = policy()
    assert written["answers"] == {
        "gold": "gold.jsonl",
        "traces": "traces.jsonl",
        "refusals": ["not in context", REFUSED],
        "slices": ["topic"],
    }
    assert {gate["metric"] for gate in written["gate"]} >= {"answers.precision", "answers.under_refusal"}
    assert all(gate["why"] for gate in written["gate"])
    assert run_cli("gate", "-q").code == 0  # and it is a policy that loads and judges


def test_a_gate_that_cannot_be_measured_is_a_comment_and_another_stands_in() -> None:
    lay(gold_citations=[])
    done = run_cli("init", "--gold", "gold.jsonl", "--trace", "traces.jsonl")
    assert "note: not measured, so commented out: " in done.out
    text = Path("ragworthy.toml").read_text("utf-8")
    assert '# metric = "answers.precision"\n' in text
    assert {gate["metric"] for gate in policy()["gate"]} >= {"answers.containment", "answers.under_refusal"}
    done = run_cli("gate", "-q")
    assert done.code == 0, done.out


def test_retrieved_texts_beside_the_traces_are_the_corpus_of_evidence_without_ids() -> None:
    """A run wrote both; without the texts, evidence is bound to nothing and precision and CHR are not measured."""
    lay(gold_citations=[], gold_evidence=["forty-two is the number"])
    Path("run").mkdir()
    Path("traces.jsonl").rename("run/traces.jsonl")
    gold = [json.loads(line) for line in Path("gold.jsonl").read_text("utf-8").splitlines()]
    write_jsonl(Path("gold.jsonl"), [one if one["answerable"] else one | {"gold_evidence": []} for one in gold])
    write_jsonl(Path("run/chunks.jsonl"), [{"chunk_id": "d#1", "text": "Here forty-two is the number of things."}])
    done = run_cli("init", "--gold", "gold.jsonl", "--trace", "run/traces.jsonl")
    assert (done.code, done.err) == (0, "")
    assert policy()["answers"]["corpus"] == "run/chunks.jsonl"
    assert {gate["metric"] for gate in policy()["gate"]} >= {"answers.precision", "answers.chr"}
    assert run_cli("gate", "-q").code == 0

    Path("ragworthy.toml").unlink()
    lay()  # ids are there: nothing needs a text
    Path("traces.jsonl").rename("run/traces.jsonl")
    assert run_cli("init", "--gold", "gold.jsonl", "--trace", "run/traces.jsonl").code == 0
    assert "corpus" not in policy()["answers"]


def test_without_traces_the_policy_waits_for_a_run() -> None:
    lay()
    Path("traces.jsonl").unlink()
    done = run_cli("init", "--gold", "gold.jsonl")
    assert done.code == 0
    assert "next: ragworthy run --target MODULE:FUNCTION --gold gold.jsonl --out runs/latest\n" in done.out
    assert policy()["answers"]["traces"] == "runs/latest/traces.jsonl"


def test_other_suites() -> None:
    questions, outputs = both(12)
    write_jsonl(Path("q.jsonl"), questions)
    write_jsonl(Path("o.jsonl"), outputs)
    done = run_cli("init", "s", "--questions", "q.jsonl", "--outputs", "o.jsonl")
    assert (done.code, done.out.splitlines()[0]) == (0, "wrote s/ragworthy.toml (structured)")
    assert run_cli("gate", "-q", "-c", "s/ragworthy.toml").code == 0
    votes = [{"qid": f"q{n}", "scholar": {"label": "VALID"}, "auditor": {"label": "VALID"}} for n in range(12)]
    write_jsonl(Path("p.jsonl"), votes)
    assert run_cli("init", "a", "--pairs", "p.jsonl").out.startswith("wrote a/ragworthy.toml (agreement)")
    assert run_cli("gate", "-q", "-c", "a/ragworthy.toml").code in (0, 1, 3, 4)


def test_nothing_is_overwritten_and_wrong_files_are_named() -> None:
    lay()
    Path("ragworthy.toml").write_text("version = 1\n")
    done = run_cli("init", "--gold", "gold.jsonl", "--trace", "traces.jsonl")
    assert (done.code, done.err.splitlines()[0]) == (2, "ragworthy.toml: already there [RW-U03]")
    done = run_cli("init", "x", "--gold", "gold.jsonl", "--pairs", "traces.jsonl", "--suite", "stability")
    said = "--pairs: the suite stability has no such file; it has --gold, --runs, --corpus [RW-U01]"
    assert (done.code, done.err.splitlines()[0]) == (2, said)
    assert run_cli("init", "y", "--suite", "answers").code == 2


@pytest.mark.parametrize("kind", ["python", "command", "langchain", "llamaindex", "haystack"])
def test_every_stub_runs_as_it_is(kind: str) -> None:
    lay()
    done = run_cli("init", "--adapter", kind, "--gold", "gold.jsonl")
    assert (done.code, done.out.splitlines()[0]) == (0, "wrote rag_target.py")
    target = done.out.partition("--target ")[2].partition(" --gold")[0].replace("python", sys.executable, 1)
    if kind != "command":
        target = "rag_target:answer"
    done = run_cli("run", "--target", target, "--gold", "gold.jsonl", "--out", "runs/latest")
    assert "errored 0" in done.out, done.out + done.err
    trace = json.loads(Path("runs/latest/traces.jsonl").read_text("utf-8").splitlines()[0])
    assert trace["answer_json"]["citations"] == trace["retrieved_ids"] != []


def test_every_stub_is_python() -> None:
    from ragworthy import starter

    for kind in ("python", "http", "command", "langchain", "llamaindex", "haystack"):
        path, _ = starter.adapter(Path(kind), kind)
        assert subprocess.run([sys.executable, "-m", "py_compile", path], check=False).returncode == 0


def test_doctor_on_a_gold_set_alone() -> None:
    lay(gold_citations=[])
    done = run_cli("doctor", "--gold", "gold.jsonl")
    lines = done.out.splitlines()
    assert (done.code, done.err) == (0, "")
    assert lines[0] == "gold.jsonl: a gold set for the suite answers, 12 questions"
    assert "  yes  containment: 8 questions" in lines and "  yes  under_refusal: 4 questions" in lines
    said = "no item has gold_citations, gold_evidence or gold_source"
    assert f"  no   precision, chr, recall@k, hit@k: {said}" in lines
    assert '  slices = ["topic"]' in lines
    assert lines[-1] == "next: ragworthy init --gold gold.jsonl"


def test_doctor_on_traces_alone() -> None:
    lay()
    done = run_cli("doctor", "--trace", "traces.jsonl")
    lines = done.out.splitlines()
    assert lines[:2] == ["traces.jsonl: 12 traces", "read by: answers, retrieval"]
    assert "      12 of 12  claim" in lines and "       8 of 12  citations" in lines
    assert f"       4 ×  {REFUSED}" in lines and f"  refusals = {json.dumps([REFUSED])}" in lines
    traces: list[dict[str, Any]] = [{"qid": "a", "answer_json": {"claim": "x"}}, {"qid": "b", "error": "timeout"}]
    write_jsonl(Path("traces.jsonl"), traces)
    out = run_cli("doctor", "--trace", "traces.jsonl").out
    assert "no answer cites anything" in out and "       1 ×  timeout\n" in out
