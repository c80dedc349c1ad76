"""`ragworthy.run`: the runner of the command from Python, in every place that people call it from."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pandas
import pytest

import ragworthy as rw
from conftest import run_cli
from places import ROOT

EXAMPLE = ROOT / "examples/plain-python"
GOLD = EXAMPLE / "gold.jsonl"
ROWS: list[dict[str, Any]] = [
    {
        "qid": "A1",
        "question": "Null keys?",
        "answerable": True,
        "gold_claim_substr": ["rejects null keys"],
        "gold_citations": ["p1#2"],
    },
    {"qid": "A2", "question": "Explain Z.", "answerable": False},
]


def answer(question: str) -> dict[str, Any]:
    """Right on both questions."""
    if "Null" in question:
        return {"answer_json": {"claim": "X rejects null keys.", "citations": ["p1#2"]}, "retrieved_ids": ["p1#2"]}
    return {"answer_json": {"claim": "not in context", "citations": []}, "retrieved_ids": []}


def whole(*, qid: str, q: str, seed: int, jitter: str, knobs: dict[str, Any]) -> dict[str, Any]:
    """The same with the whole request, which it repeats in the claim."""
    told = f"{qid} {seed} {jitter} {knobs}"
    return {"answer_json": {"claim": told, "citations": []}, "retrieved_ids": []}


async def later(question: str) -> dict[str, Any]:
    await asyncio.sleep(0.001)
    return answer(question)


# the same as the command


def test_traces_are_those_of_the_command_byte_for_byte(tmp_path: Path) -> None:
    target = f"{EXAMPLE}/rag.py:answer"
    done = run_cli("run", "-q", "--target", target, "--gold", GOLD, "--out", tmp_path / "command")
    assert done.code == 0, done.err
    ran = rw.run(target, GOLD, out=tmp_path / "python")
    command = (tmp_path / "command/traces.jsonl").read_bytes()
    assert (tmp_path / "python/traces.jsonl").read_bytes() == command
    assert ran.traces == [json.loads(line) for line in command.splitlines()]
    assert ran.summary == json.loads((tmp_path / "command/run.json").read_text())
    assert rw.run(target, GOLD).traces == ran.traces


def test_knobs_seeds_jitters_and_paraphrases_are_those_of_the_experiment(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "def whole(*, qid, q, seed, jitter, knobs):\n"
        "    told = f'{qid} {seed} {jitter} {knobs}'\n"
        "    return {'answer_json': {'claim': told, 'citations': []}, 'retrieved_ids': []}\n"
    )
    out = tmp_path / "command"
    flags = ("--seeds", "3,4", "--jitters", "none,ws", "--knob", "k=5")
    done = run_cli("experiment", "stability", "-q", "--target", f"{tmp_path}/mine.py:whole", "--gold", GOLD, *flags,
                   "--out", out)  # fmt: skip
    assert done.code == 0, done.err
    ran = rw.run(whole, GOLD, seeds=[3, 4], jitters=["none", "ws"], knobs={"k": 5}, paraphrases="all")
    assert ran.traces == [json.loads(line) for line in (out / "traces.jsonl").read_text().splitlines()]
    assert ran.traces[0]["answer_json"]["claim"] == "T01 3 none {'k': 5}"
    assert len(ran) == len(ran.traces) == 30 * 2 * 2


@pytest.mark.parametrize("target", [answer, later, lambda q: answer(q)], ids=["sync", "async", "lambda"])
@pytest.mark.parametrize("concurrency", [1, 4])
def test_callables(target: Any, concurrency: int) -> None:
    ran = rw.run(target, ROWS, concurrency=concurrency)
    assert [trace["answer_json"]["claim"] for trace in ran.traces] == ["X rejects null keys.", "not in context"]
    assert ran.score().verdict == "SHIP"


@pytest.mark.parametrize("given", ["path", "text", "list", "generator", "frame"])
def test_gold_as_file_records_and_frame(given: str, tmp_path: Path) -> None:
    path = tmp_path / "gold.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    blank: dict[str, Any] = {"gold_claim_substr": [], "gold_citations": []}
    rows = [blank | row for row in ROWS]
    forms: dict[str, Any] = {
        "path": path,
        "text": str(path),
        "list": ROWS,
        "generator": (row for row in ROWS),
        "frame": pandas.DataFrame(rows),
    }
    ran = rw.run(answer, forms[given])
    assert ran.score().verdict == "SHIP"
    assert ran.score().metrics["answers.precision"].den == 1  # a generator is still known the second time


def test_an_object_and_a_target_of_the_protocol() -> None:
    class Bot:
        def __call__(self, question: str) -> dict[str, Any]:
            return answer(question)

    ran = rw.run(Bot(), ROWS)
    assert ran.errors == {}
    assert ran.summary["target"].endswith("Bot")

    from ragworthy.runner.targets.callables import Called

    assert rw.run(Called("mine", answer), ROWS).summary["target"] == "mine"


# what is kept


def test_without_a_folder_nothing_stays_and_traces_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    ran = rw.run(answer, ROWS)
    assert list(tmp_path.iterdir()) == []
    assert ran.out is None
    assert [trace["qid"] for trace in ran.traces] == ["A1", "A2"]
    assert [time["qid"] for time in ran.timings] == ["A1", "A2"]
    assert all(time["e2e_ms"] >= 0 for time in ran.timings)
    with pytest.raises(AttributeError, match=r"take ran\.traces"):
        _ = ran.path


def test_a_folder_is_that_of_the_command_and_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "run"
    asked: list[str] = []

    def flaky(question: str) -> dict[str, Any]:
        asked.append(question)
        if "Null" in question and len(asked) < 3:
            raise ValueError("not yet")
        return answer(question)

    ran = rw.run(flaky, ROWS, out=out, concurrency=1)
    assert ran.errors == {"raised": 1}
    assert repr(ran).endswith("flaky: 2 questions, 0 answered, 1 refused, 1 errored (raised 1)>")
    with pytest.raises(rw.RagworthyError) as caught:
        rw.run(flaky, ROWS, out=out)
    assert caught.value.lines() == [
        f"{out}/journal.jsonl: expected a new folder, got one with 2 replies [RW-J01]",
        "  journal_there: Go on with that run with resume=True (and retry_errors=True, to ask errors again), "
        "or name a new folder; nothing is overwritten.",
    ]
    assert len(asked) == 2
    again = rw.run(flaky, ROWS, out=out, resume=True, retry_errors=True)
    assert (again.errors, len(asked)) == ({}, 3)
    assert again.path == out / "traces.jsonl"


def test_errors_stay_in_the_score() -> None:
    def broken(question: str) -> dict[str, Any]:
        if "Null" in question:
            raise ValueError("no idea")
        return answer(question)

    ran = rw.run(broken, ROWS)
    assert ran.traces[0]["error"] == "raised: ValueError: no idea"
    assert [row["label"] for row in ran.score().rows()] == ["ERROR", "REFUSAL_OK"]


def test_a_slow_question_is_a_timeout() -> None:
    def slow(question: str) -> dict[str, Any]:
        time.sleep(5 if "Null" in question else 0)
        return answer(question)

    begun = time.monotonic()
    ran = rw.run(slow, ROWS, timeout=0.3)
    assert time.monotonic() - begun < 4
    assert ran.errors == {"timeout": 1}


# scores


DOCUMENTS = [
    {"id": "d1", "text": "X rejects null keys.", "metadata": {"source": "x.md"}},
    {"id": "d2", "text": "Y takes them.", "metadata": {"source": "y.md"}},
]


def test_an_answer_with_documents_brings_the_texts_that_evidence_is_bound_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found(question: str) -> dict[str, Any]:
        if "Null" in question:
            return rw.reply("X rejects null keys [1].", DOCUMENTS)
        return {"answer": "not in context", "documents": DOCUMENTS}

    bound = {"gold_evidence": ["X rejects null keys."], "gold_citations": []}
    rows = [ROWS[0] | bound, ROWS[1]]
    ran = rw.run(found, rows)
    assert [chunk["chunk_id"] for chunk in ran.chunks] == ["d1", "d2"]
    result = ran.score()
    assert (result.verdict, result.metrics["answers.precision"].num) == ("SHIP", 1)
    plain = rw.run(lambda question: {"answer": "so [1]", "documents": DOCUMENTS}, rows, doc_id="metadata:source")
    assert plain.traces[0]["retrieved_ids"] == ["x.md", "y.md"]
    assert rw.run(answer, ROWS).chunks == []
    monkeypatch.chdir(tmp_path)
    Path("gold.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("ragworthy.toml").write_text(
        'version = 1\n[answers]\ngold = "gold.jsonl"\ntraces = "runs/1/traces.jsonl"\ncorpus = "runs/1/chunks.jsonl"\n'
    )
    assert rw.run(found, "gold.jsonl").gate().verdict == "SHIP"


def test_every_suite_that_reads_traces() -> None:
    ran = rw.run(answer, ROWS, seeds=[0, 1])
    assert ran.score("stability").metrics["stability.failing_questions"].value == 0
    latency = ran.score("latency", gates={"p95": 60_000}, defaults=False)
    assert latency.metrics["latency.p95"].value == pytest.approx(max(one["e2e_ms"] for one in ran.timings), rel=1)
    one = rw.run(answer, ROWS)
    assert one.score("agreement", defaults=False, gates={"percent": 0.5}).metrics["agreement.percent"].value == 1
    with pytest.raises(rw.RagworthyError, match="expected one that scores traces, got structured"):
        one.score("structured")
    assert one.score("answers", gates={"precision": 0.5}, defaults=False).gates[0]["threshold"] == "0.5"


def test_a_policy_judges_the_run_and_not_the_traces_that_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("gold.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    Path("ragworthy.toml").write_text('version = 1\n[answers]\ngold = "gold.jsonl"\ntraces = "nowhere.jsonl"\n')
    for out in (None, "runs/1"):
        assert rw.run(answer, "gold.jsonl", out=out).gate().verdict == "SHIP"
    wrong = rw.run(lambda question: answer("Null"), "gold.jsonl").gate("ragworthy.toml")
    assert wrong.verdict == "NO-SHIP"
    with pytest.raises(rw.RagworthyError) as caught:
        rw.run(answer, ROWS[:1]).gate()
    assert caught.value.lines() == [
        "ragworthy.toml: expected a section with traces over the gold set that was asked, got none [RW-U08]",
        "  gold_not_in_policy: Run over the gold set that the policy names, or score the run with gates of its own.",
    ]


# where it is called from


def test_inside_a_running_loop_as_in_a_notebook() -> None:
    async def cell() -> rw.Ran:
        return rw.run(later, ROWS)

    assert asyncio.run(cell()).score().verdict == "SHIP"


def test_errors_inside_a_running_loop_are_the_same() -> None:
    async def cell() -> rw.Ran:
        return rw.run(lambda question: {"a": 1}, ROWS, timeout=5)

    assert asyncio.run(cell()).errors == {"bad reply": 2}

    async def refused() -> rw.Ran:
        return rw.run("http://127.0.0.1:9/x", ROWS)

    with pytest.raises(rw.RagworthyError, match="expected a target that can be reached"):
        asyncio.run(refused())


def test_in_a_thread() -> None:
    found: list[rw.Ran] = []
    thread = threading.Thread(target=lambda: found.append(rw.run(answer, ROWS, concurrency=1)))
    thread.start()
    thread.join()
    assert found[0].errors == {}


def test_what_the_program_does_on_signals_stays() -> None:
    def mine(number: int, frame: Any) -> None:
        raise AssertionError("not called")

    before = signal.signal(signal.SIGINT, mine)
    try:
        for concurrency in (1, 4):
            rw.run(answer, ROWS, concurrency=concurrency)
            assert signal.getsignal(signal.SIGINT) is mine
    finally:
        signal.signal(signal.SIGINT, before)


def test_it_prints_nothing_unless_asked(capfd: pytest.CaptureFixture[str]) -> None:
    rw.run(answer, ROWS)
    assert capfd.readouterr() == ("", "")
    rw.run(answer, ROWS, progress=True)
    assert capfd.readouterr() == ("", "\rasked 1/2  0 errors\rasked 2/2  0 errors\n")
    told: list[tuple[int, int, int]] = []
    rw.run(answer, ROWS, progress=lambda *now: told.append(now))
    assert told == [(1, 2, 0), (2, 2, 0)]
    assert capfd.readouterr() == ("", "")


STOPPED = """
import asyncio, json, os, signal, sys, threading, time
import ragworthy as rw
rows = [{"qid": f"q{n}", "question": f"Why {n}?", "answerable": False} for n in range(40)]
def answer(question):
    if question == "Why 9?":
        os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.02)
    return {"answer_json": {"claim": "not in context"}, "retrieved_ids": []}
async def cell():
    return rw.run(answer, rows, out="out", concurrency=CONCURRENCY)
try:
    asyncio.run(cell()) if "loop" in sys.argv else rw.run(answer, rows, out="out", concurrency=CONCURRENCY)
except KeyboardInterrupt as stopped:
    print("stopped", stopped)
kept = sum(1 for _ in open("out/journal.jsonl")) - 1
again = rw.run(lambda question: answer("Why 1?"), rows, out="other")
asked = []
def rest(question):
    asked.append(question)
    return answer("Why 1?")
rest.__qualname__ = "answer"
ran = rw.run(rest, rows, out="out", resume=True)
print(json.dumps([kept, len(asked), len(ran.traces), ran.traces == again.traces]))
"""


@pytest.mark.skipif(os.name != "posix", reason="SKIPPED: needs signals")
@pytest.mark.parametrize("where", ["main", "loop"])
@pytest.mark.parametrize("concurrency", [1, 4])
def test_ctrl_c_leaves_a_folder_that_can_go_on(where: str, concurrency: int, tmp_path: Path) -> None:
    script = STOPPED.replace("CONCURRENCY", str(concurrency))
    done = subprocess.run(
        [sys.executable, "-c", script, where], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    first, last = done.stdout.strip().splitlines()[0], done.stdout.strip().splitlines()[-1]
    assert first.startswith("stopped stopped: ") and first.endswith("the same call with resume=True goes on")
    kept, asked, traces, same = json.loads(last)
    assert 5 <= kept < 40
    assert (kept + asked, traces, same) == (40, 40, True)


# what cannot be


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"target": 5},
            "target: expected a callable, a chain, an engine, a pipeline, or a text such as module:callable, "
            "file.py:callable, http://… or https://…, cmd:COMMAND, replay:FILE, builtin:INDEX, got 5 [RW-U07]\n"
            "  target_unknown: Give a function that takes the question, or a text such as rag.py:answer; docs/run.md "
            "lists the forms.",
        ),
        ({"target": None}, "got nothing [RW-U07]"),
        ({"timeout": 0}, "timeout: expected seconds, above 0 and up to 86400, got 0 [RW-U01]"),
        ({"timeout": True}, "timeout: expected seconds, above 0 and up to 86400, got True [RW-U01]"),
        ({"concurrency": 0}, "concurrency: expected a whole number from 1, got 0 [RW-U01]"),
        ({"retries": -1}, "retries: expected a whole number from 0, got -1 [RW-U01]"),
        ({"limit": 1.5}, "limit: expected a whole number from 1, got 1.5 [RW-U01]"),
        ({"seeds": "1"}, "seeds: expected a whole number from 0, got '1' [RW-U01]"),
        ({"seeds": [1, 1]}, "seeds: expected different whole numbers, got [1, 1] [RW-U01]"),
        ({"knobs": 3}, "knobs: expected names with values, got int [RW-U01]"),
        ({"knobs": {"k": {1, 2}}}, "knobs: k: expected a list, got a set, which has no order [RW-U05]"),
        ({"jitters": "zap"}, 'expected one of the jitters none, ws, punct, syn, order, got "zap" [RW-U01]'),
        ({"resume": True}, "resume: expected out with it, the folder of an earlier run [RW-U01]"),
        ({"retry_errors": True}, "retry_errors: expected resume=True with it"),
        ({"headers": {"A": "B"}}, "headers: expected a target that is an http address, got another one [RW-U01]"),
        ({"pipeline": "x.toml"}, "pipeline: expected the target builtin:INDEX, got another one [RW-U01]"),
        ({"progress": 3}, "progress: expected True, False or a function, got 3 [RW-U01]"),
        ({"out": " "}, 'out: expected a folder, got " " [RW-U01]'),
        ({"gold": "nowhere.jsonl"}, "nowhere.jsonl: expected a file, got nothing at this path [RW-F01]"),
        ({"gold": [{"qid": "1"}]}, "<gold>:1: question: expected a text to ask, got nothing [RW-G16]"),
        ({"gold": 5}, "gold: expected a path, records or a data frame, got int [RW-U01]"),
        ({"target": lambda a, b: 1}, "expected a callable that takes the question, or qid, q, seed, jitter and knobs"),
    ],
)
def test_wrong_calls_speak_python(given: dict[str, Any], message: str) -> None:
    usual: dict[str, Any] = {"target": answer, "gold": ROWS}
    with pytest.raises(rw.RagworthyError) as caught:
        rw.run(**usual | given)
    assert message in str(caught.value)
    assert "--" not in str(caught.value)


def test_the_same_mistake_ten_times_ends_it_without_a_word_of_a_folder_that_is_gone() -> None:
    rows = [{"qid": f"q{n}", "question": "Why?", "answerable": False} for n in range(20)]

    def other(question: str) -> dict[str, Any]:
        other.asked += 1  # type: ignore[attr-defined]
        return answer("Z") if other.asked <= 2 else {"a": 1}  # type: ignore[attr-defined]

    other.asked = 0  # type: ignore[attr-defined]
    with pytest.raises(rw.RagworthyError) as caught:
        rw.run(other, rows, concurrency=1)
    assert "[RW-J09]" in str(caught.value)
    assert tempfile.gettempdir() not in str(caught.value)
    assert "journal" not in str(caught.value)
