"""Without default gates only those hold that somebody named: neither a baseline nor live adds one of its own."""

import json
from pathlib import Path
from typing import Any

import pytest

import ragworthy as rw
from conftest import run_cli

GOLD = [
    {"qid": "A", "question": "Null keys?", "answerable": True, "gold_claim_substr": ["null keys"],
     "gold_citations": ["p1#2"]},
    {"qid": "U", "question": "Who is Z?", "answerable": False},
]  # fmt: skip
SAID = [
    {"qid": "A", "retrieved_ids": ["p1#2"], "answer_json": {"claim": "X rejects null keys.", "citations": ["p1#2"]}},
    {"qid": "U", "retrieved_ids": ["p1#2"], "answer_json": {"claim": "not in context", "citations": []}},
]
ASKED = [{"qid": "K", "paraphrases": ["Null keys?"], "relevant": ["S.1.p.Bk001"]}]
FOUND = [{"qid": "K", "topk": [{"id": "S.1.p.Bk001"}]}]


def write(name: str, rows: list[dict[str, Any]]) -> None:
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def timed(ms: int) -> list[dict[str, Any]]:
    return [one | {"e2e_ms": ms, "load_rps": 5} for one in SAID]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write("gold.jsonl", GOLD)
    write("trace.jsonl", SAID)
    write("asked.jsonl", ASKED)
    write("found.jsonl", FOUND)
    write("live.jsonl", [one | {"run_id": "live"} for one in FOUND])
    write("quick.jsonl", timed(1000))
    write("slow.jsonl", timed(1500))
    write("runs.jsonl", [one | {"seed": seed, "jitter": "none"} for one in SAID for seed in (0, 1)])
    write("pairs.jsonl", [{"qid": "A", "scholar": {"label": "VALID"}, "auditor": {"label": "VALID"}}])
    return tmp_path


SUITES = {
    "answers": ("--gold gold.jsonl --trace trace.jsonl", "answers.precision", "precision=0.8"),
    "retrieval": ("--gold asked.jsonl --trace found.jsonl --live live.jsonl", "retrieval.recall@5", "recall@5=0.5"),
    "stability": ("--gold gold.jsonl --runs runs.jsonl", "stability.acr", "acr=0.9"),
    "agreement": ("--pairs pairs.jsonl", "agreement.percent", "percent=0.9"),
    "latency": ("--gold gold.jsonl --runs quick.jsonl", "latency.p95", "p95=2000"),
}
ALWAYS = {
    "answers": {"answers.missing"},
    "retrieval": {"retrieval.missing"},
    "stability": {"stability.missing"},
    "agreement": set(),
    "latency": {"latency.errors"},
}
"""That there is anything to judge; this holds whatever else is asked for."""


def gated(name: str) -> list[tuple[str, str]]:
    return [(one["metric"], one["op"]) for one in json.loads(Path(name).read_text())["gates"]]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("suite", SUITES)
def test_a_baseline_and_live_add_no_gate_to_those_named(suite: str) -> None:
    files, metric, text = SUITES[suite]
    only = ("--gates", text, "--no-default-gates")
    assert run_cli("score", suite, *files.split(), *only, "-q", "-o", "base.json").code == 0
    done = run_cli("score", suite, *files.split(), *only, "-q", "-o", "now.json", "--baseline", "base.json")
    assert done.code == 0, done
    assert {name for name, _ in gated("now.json")} == {metric} | ALWAYS[suite]
    assert not [op for _, op in gated("now.json") if op in ("drop<=", "worse<=")]


def only_p95(way: str) -> list[tuple[str, str]]:
    """The gates of runs that took half as long again as the baseline, where only P95 ≤ 2000 ms is asked for."""
    files = ("--gold", "gold.jsonl", "--runs", "slow.jsonl", "--baseline", "base.json")
    policy = 'version = 1\nbaseline = "base.json"\n{top}[latency]\ngold = "gold.jsonl"\nruns = "slow.jsonl"\n{own}'
    gate = '[[gate]]\nmetric = "latency.p95"\nmax = 2000\n'
    Path("own.toml").write_text(f"defaults = false\n{gate}")
    Path("top.toml").write_text(policy.format(top="defaults = false\n", own=gate))
    Path("section.toml").write_text(policy.format(top="", own=f"defaults = false\n{gate}"))
    commands = {
        "flag": ("score", "latency", *files, "--gates", "p95=2000", "--no-default-gates"),
        "gate file": ("score", "latency", *files, "--gates", "own.toml"),
        "policy": ("gate", "-c", "top.toml"),
        "section": ("gate", "-c", "section.toml"),
    }
    if way == "python":
        given: dict[str, Any] = {"gold": "gold.jsonl", "runs": "slow.jsonl", "baseline": "base.json"}
        rw.score("latency", gates="p95=2000", defaults=False, **given).write("now.json")
    else:
        done = run_cli(*commands[way], "-q", "-o", "now.json", "--receipt", "receipt.json")
        assert done.code == 0, done
        assert run_cli("verify", "receipt.json").code == 0
    return gated("now.json")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("way", ["flag", "gate file", "policy", "section", "python"])
def test_the_guard_of_latency_is_a_default_gate(way: str) -> None:
    assert run_cli("score", "latency", *SUITES["latency"][0].split(), "-q", "-o", "base.json").code == 0
    assert only_p95(way) == [("latency.p95", "<="), ("latency.errors", "<=")]
    usual = run_cli("score", "latency", "--gold", "gold.jsonl", "--runs", "slow.jsonl", "--baseline", "base.json",
                    "-q", "-o", "usual.json")  # fmt: skip
    assert usual.code in (1, 3)  # half as long again is more than 15 %
    assert ("latency.p95", "worse<=") in gated("usual.json")


@pytest.mark.usefixtures("folder")
def test_a_pack_that_is_named_keeps_its_guard() -> None:
    assert run_cli("score", "latency", *SUITES["latency"][0].split(), "-q", "-o", "base.json").code == 0
    run_cli("score", "latency", "--gold", "gold.jsonl", "--runs", "slow.jsonl", "--baseline", "base.json",
            "--pack", "latency-guard", "--no-default-gates", "-q", "-o", "now.json")  # fmt: skip
    assert gated("now.json") == [("latency.p95", "worse<="), ("answers.precision", "drop<="), ("latency.errors", "<=")]
