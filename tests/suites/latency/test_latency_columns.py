"""What is kept of timed runs: columns, whoever reads them; and what is shown of one is read again."""

import json
import tracemalloc
from array import array
from pathlib import Path
from typing import Any

import pytest

from conftest import run_cli, write_jsonl
from ragworthy.load.sources import open_source
from ragworthy.metrics.facts.answers import Rules
from ragworthy.metrics.facts.distinct import Distinct, floats, ints, packed
from ragworthy.records import Gold
from ragworthy.suites import fork
from ragworthy.suites.latency.columns import Part, merged, part_of, pass_of
from ragworthy.suites.latency.job import Job, Question

GOLD = [
    {"qid": f"q{nth}", "answerable": True, "gold_claim_substr": ["42"], "gold_citations": [f"d#{nth}"]}
    for nth in range(3)
]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(qid: str, claim: str, e2e: float, **more: Any) -> dict[str, Any]:
    answer = {"claim": claim, "citations": [f"d#{qid[1:]}"]}
    return {"qid": qid, "answer_json": answer, "retrieved_ids": [f"d#{qid[1:]}"], "e2e_ms": e2e} | more


def score(runs: list[dict[str, Any]], *more: object) -> dict[str, Any]:
    write_jsonl(Path("gold.jsonl"), GOLD)
    write_jsonl(Path("runs.jsonl"), runs)
    done = run_cli("score", "latency", "--gold", "gold.jsonl", "--runs", "runs.jsonl", "-o", "r.json", "-q", *more)
    assert done.code in (0, 1, 3, 4), done
    body: dict[str, Any] = json.loads(Path("r.json").read_text())["suites"]["latency"]
    return body


PLUGIN = '''"""Looks at everything that a run says."""

import ragworthy


@ragworthy.metric(
    suite="latency", better="lower", over="run", highest=None, kind="mean", cases="runs", event="signs", source="us",
    undefined="no run was measured",
)
def signs(sample):
    """How long a claim is, and how much was retrieved."""
    run = sample.timed.run
    return len(run.answer_json.claim) + 100 * len(run.retrieved_ids) + 1000 * len(sample.timed.stages)
'''


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_metrics_of_plugins_are_given_whole_runs(jobs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fork, "SMALL", 1)
    Path("mine.py").write_text(PLUGIN)
    runs = [run("q0", "42", 5), run("q1", "it is 42", 6), run("q2", "42!", 7, stage_ms={"llm": 3})]
    body = score(runs, "--plugin", "mine.py", "--jobs", jobs)
    assert body["metrics"]["latency.signs"]["value"] == (102 + 108 + 1103) / 3


def test_of_equally_slow_wrong_runs_the_first_by_its_claim_is_shown() -> None:
    claims = ["no", "maybe", "never", "maybe"]
    runs = [run("q0", claim, 5, run_id=f"r{nth}", q=f"{nth}") for nth, claim in enumerate(claims)]
    runs += [run("q0", "all", 4), run("q1", "42", 1), run("q2", "42", 1)]
    body = score(runs, "--no-default-gates", "--gates", "precision=1")
    assert [(one["qid"], one["claim"], one["e2e_ms"]) for one in body["offenders"]] == [("q0", "maybe", 5.0)]
    assert min(claims) == "maybe"


def test_the_slowest_runs_tell_their_errors_and_equal_ones_are_in_order() -> None:
    runs = [run("q0", "42", 9), run("q1", "42", 9), {"qid": "q1", "e2e_ms": 9, "error": "b"}]
    runs += [{"qid": "q1", "e2e_ms": 9, "error": {"code": "a"}}, run("q2", "42", 2)]
    body = score(runs, "--no-default-gates", "--gates", "p50=1")
    assert [(one["qid"], one["error"]) for one in body["slowest"]] == [
        ("q0", None), ("q1", None), ("q1", "b"), ("q1", "{'code': 'a'}"), ("q2", None),
    ]  # fmt: skip


def job() -> Job:
    golds = [Gold(qid=one["qid"], answerable=True, gold_claim_substr=["42"]) for one in GOLD]  # type: ignore[arg-type]
    questions = [Question(gold.qid or "", gold, 0, ()) for gold in golds]
    return Job(questions, Rules(), place={one.qid: nth for nth, one in enumerate(questions)})


def test_parts_are_the_whole_and_a_run_of_two_parts_counts_once() -> None:
    runs = [
        run(f"q{nth % 3}", f"claim {nth}", nth, ts=nth, stage_ms={"llm": nth} if nth % 2 else None) for nth in range(9)
    ]
    rows = [*runs[:8], runs[1], runs[8], runs[0] | {"ts": None}]
    source = open_source("trace", write_jsonl(Path("runs.jsonl"), rows))
    one = pass_of(source, job())
    parts: list[Part] = [one.unpack(one.pack(part_of(source, job(), None, False, nth, 4))) for nth in range(4)]
    assert all(len(part.runs) for part in parts)
    read, whole = merged(source, job(), None, parts), merged(source, job(), None, [part_of(source, job(), None, False)])
    for found in (read, whole):
        assert (found.records, found.repeated, list(found.runs.line)) == (11, 1, [1, 2, 3, 4, 5, 6, 7, 8, 10, 11])
        assert list(found.runs.e2e) == [0, 1, 2, 3, 4, 5, 6, 7, 8, 0]
        assert [list(found.runs.times_of(row)) for row in range(4)] == [[], [1], [], [3]]
        assert [found.runs.kinds[row].stages for row in range(2)] == [(), ("llm",)]


def test_what_is_kept_of_a_run_does_not_grow_with_its_texts() -> None:
    """A run of some kilobytes, with texts of its own, takes less than 200 bytes."""
    size = 2000
    text = "word " * 200
    rows = (
        run(f"q{nth % 3}", f"{nth} {text}", nth / 8, run_id=f"r{nth}", q=f"{nth} {text}", stage_ms={"llm": nth / 3})
        for nth in range(2 * size)
    )
    write_jsonl(Path("all.jsonl"), rows)
    lines = Path("all.jsonl").read_text().splitlines(keepends=True)
    Path("half.jsonl").write_text("".join(lines[:size]))
    kept = []
    tracemalloc.start()
    for name in ("half", "all"):
        before = tracemalloc.get_traced_memory()[0]
        part = part_of(open_source("trace", Path(f"{name}.jsonl")), job(), None, False)
        kept.append(tracemalloc.get_traced_memory()[0] - before)
        assert len(part.runs) == size * len(kept)
    tracemalloc.stop()
    assert (kept[1] - kept[0]) / size < 200


def test_columns_come_back_as_they_were() -> None:
    column = Distinct(["a", "b", "a"])
    column.extend(["c", "a"], [1, 0, 0])
    assert [column[nth] for nth in range(len(column))] == ["a", "b", "a", "a", "c", "c"]
    assert list(ints("q", packed(array("q", [-1, 1 << 40])))) == [-1, 1 << 40]
    assert list(floats(packed(array("d", [0.1, -2.5])))) == [0.1, -2.5]
    with pytest.raises(ValueError, match="multiple"):
        ints("I", b"abc")
