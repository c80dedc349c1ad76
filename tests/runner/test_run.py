"""`ragworthy run` from gold to traces: plans, results, the ledger, and the same bytes whatever the concurrency."""

import json
import os
import pty
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import G1, G2, G3, T1, T2, T3, Cli, Row, write_jsonl
from places import SERVERS
from ragworthy.errors import DataError, UsageError
from ragworthy.ids import config_id
from ragworthy.runner import run as running


@pytest.fixture(autouse=True)
def callables(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(SERVERS)
    yield
    sys.modules.pop("slow_callables", None)


def gold_of(folder: Path, count: int) -> Path:
    rows = [{"qid": f"Q{n}", "question": f"What is {n}?", "answerable": True} for n in range(count)]
    return write_jsonl(folder / "gold.jsonl", rows)


def lines(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_traces_are_the_same_bytes_whatever_the_concurrency(tmp_path: Path, cli: Cli) -> None:
    gold = gold_of(tmp_path, 60)
    seen = []
    for concurrency in (1, 4, 32):
        out = tmp_path / str(concurrency)
        args = ("--target", "slow_callables:sleepy", "--gold", gold, "--out", out, "--concurrency", concurrency)
        assert cli("run", *args, "--seed", 3, "--knob", "k=5").code == 0
        seen.append([(out / name).read_bytes() for name in ("traces.jsonl", "run.json")])
        order = [one["n"] for one in lines(out / "journal.jsonl")[1:]]
        assert sorted(order) == list(range(60))
        assert (order == sorted(order)) is (concurrency == 1)  # replies did come in another order
    assert seen[0] == seen[1] == seen[2]
    assert lines(tmp_path / "32" / "traces.jsonl") == [
        {
            "qid": f"Q{n}",
            "run_id": f"Q{n}#seed=3;j=none",
            "q": f"What is {n}?",
            "seed": 3,
            "jitter": "none",
            "paraphrase": 0,
            "noop": False,
            "knobs": {"k": 5},
            "config_id": config_id({"k": 5}),
            "answer_json": {"citations": [f"Q{n}"], "claim": f"What is {n}? 3 none"},
            "retrieved_ids": [f"Q{n}"],
        }
        for n in range(60)
    ]


def test_the_same_bytes_under_any_hash_seed(tmp_path: Path) -> None:
    gold = gold_of(tmp_path, 5)
    seen = []
    for number, seed in enumerate(("0", "1")):
        out = tmp_path / f"o{number}"
        command = [sys.executable, "-m", "ragworthy", "run", "--target", "slow_callables:good", "--gold", str(gold)]
        environment = os.environ | {"PYTHONHASHSEED": seed, "LC_ALL": "C", "TZ": "Asia/Tokyo"}
        knobs = ["--knob", "b=x", "--knob", "a=[1,2]"]
        subprocess.run([*command, "--out", str(out), *knobs], check=True, env=environment, capture_output=True)
        seen.append([(out / name).read_bytes() for name in ("traces.jsonl", "run.json")])
    assert seen[0] == seen[1]


def test_the_ledger_the_reasons_and_the_exit_code(tmp_path: Path, cli: Cli) -> None:
    gold = write_jsonl(tmp_path / "gold.jsonl", [G1(), G2(), G3(), G1() | {"qid": "A0004"}])
    recorded = write_jsonl(tmp_path / "t.jsonl", [T1(), T2(), T3() | {"retrieved_ids": 4}])
    out = tmp_path / "out"
    done = cli("run", "--target", f"replay:{recorded}", "--gold", gold, "--out", out)
    assert done.out.splitlines() == [
        "asked 4 = answered 1 + refused 1 + errored 2",
        "errors: bad reply 1, no recorded trace 1",
        "the first: bad reply: retrieved_ids: expected array, got int",
        "more than a tenth are errors: the same command with --resume --retry-errors asks them again",
        f"traces: {out / 'traces.jsonl'}",
        f"next: ragworthy score answers --gold {gold} --trace {out / 'traces.jsonl'}",
        "run: 2 of 4 replies are errors (exit 1)",
    ]
    assert (done.code, done.err) == (1, "")
    traces = lines(out / "traces.jsonl")
    assert [one["qid"] for one in traces] == ["A0001", "A0002", "A0003", "A0004"]
    assert list(traces[3].items())[-3:] == [
        ("retrieved_ids", []),
        ("answer_json", None),
        ("error", "no recorded trace"),
    ]
    assert traces[2]["error"] == "bad reply: retrieved_ids: expected array, got int"
    summary = json.loads((out / "run.json").read_text())
    assert summary["counts"] == {"asked": 4, "answered": 1, "refused": 1, "errored": 2}
    assert summary["reasons"] == {"bad reply": 1, "no recorded trace": 1}
    # error traces are counted by the scorer, not lost
    scored = cli("score", "answers", "--gold", gold, "--trace", out / "traces.jsonl", "--format", "json")
    counts = json.loads(scored.out)["suites"]["answers"]["counts"]
    assert (counts["gold"], counts["missing"]) == (4, 0)


def test_what_a_run_leaves(tmp_path: Path, cli: Cli) -> None:
    gold = write_jsonl(tmp_path / "gold.jsonl", [G1(), G2(), G3()])
    recorded = write_jsonl(tmp_path / "t.jsonl", [T1(), T2(), T3()])
    out = tmp_path / "out"
    done = cli("run", "--target", f"replay:{recorded}", "--gold", gold, "--out", out, "-q")
    assert (done.code, done.out, done.err) == (0, "run: 3 replies (exit 0)\n", "")
    assert sorted(one.name for one in out.iterdir()) == ["journal.jsonl", "run.json", "timings.jsonl", "traces.jsonl"]
    timings = lines(out / "timings.jsonl")
    assert [list(one) for one in timings] == [["run_id", "qid", "started", "e2e_ms", "attempts"]] * 3
    assert all(one["started"].endswith("Z") and one["e2e_ms"] >= 0 and one["attempts"] == 1 for one in timings)
    summary = json.loads((out / "run.json").read_text())
    assert summary["schema"] == "ragworthy.run/1"
    assert summary["target"] == f"replay:{recorded}"
    assert summary["gold"]["path"] == "gold.jsonl"
    assert (summary["questions"], summary["seeds"], summary["jitters"]) == (3, [0], ["none@1"])
    # traces that were recorded from a run replay to the same bytes
    again = tmp_path / "again"
    assert cli("run", "--target", f"replay:{out / 'traces.jsonl'}", "--gold", gold, "--out", again).code == 0
    assert (again / "traces.jsonl").read_bytes() == (out / "traces.jsonl").read_bytes()


def test_knobs_from_a_file_and_one_by_one(tmp_path: Path) -> None:
    file = tmp_path / "k.toml"
    file.write_text('k = 3\nmode = "bm25"\n[deep]\nratio = 0.5\nday = 2026-01-02\n')
    assert running.knobs_of(file, ["k=7", "name=plain text", "on=true", "empty=", 'text="5"']) == {
        "k": 7,
        "mode": "bm25",
        "deep": {"ratio": 0.5, "day": "2026-01-02"},
        "name": "plain text",
        "on": True,
        "empty": "",
        "text": "5",
    }
    for wrong in ("k", "=3"):
        with pytest.raises(UsageError) as caught:
            running.knobs_of(None, [wrong])
        assert caught.value.problems[0].message == f'--knob: expected NAME=VALUE, got "{wrong}"'
    file.write_text("k = ")
    with pytest.raises(UsageError, match="expected knobs as TOML, got: Invalid value"):
        running.knobs_of(file, [])


def test_a_plan_crosses_questions_wordings_jitters_and_seeds(tmp_path: Path) -> None:
    rows = [
        {"qid": "A", "question": "List all keys", "answerable": True, "paraphrases": ["Which keys?", "keys"]},
        {"qid": "B", "question": "Why?", "answerable": False},
    ]
    gold = write_jsonl(tmp_path / "gold.jsonl", rows)
    plan = running.plan(gold, seeds=(0, 5), jitters=("none", "syn"), paraphrases=2)
    assert [(one.run_id, one.ask.q, one.noop) for one in plan.asks] == [
        ("A#seed=0;j=none", "List all keys", False),
        ("A#seed=5;j=none", "List all keys", False),
        ("A#seed=0;j=syn", "Enumerate all keys", False),
        ("A#seed=5;j=syn", "Enumerate all keys", False),
        ("A#seed=0;j=none;p=1", "Which keys?", False),
        ("A#seed=5;j=none;p=1", "Which keys?", False),
        ("A#seed=0;j=syn;p=1", "Which keys?", True),
        ("A#seed=5;j=syn;p=1", "Which keys?", True),
        ("B#seed=0;j=none", "Why?", False),
        ("B#seed=5;j=none", "Why?", False),
        ("B#seed=0;j=syn", "Why?", True),
        ("B#seed=5;j=syn", "Why?", True),
    ]
    assert plan.jitters == ("none@1", "syn@1")
    assert [one.ask.q for one in running.plan(gold).asks] == ["List all keys", "Why?"]
    assert len(running.plan(gold, paraphrases="all").asks) == 4
    assert [one.ask.qid for one in running.plan(gold, limit=1).asks] == ["A"]
    assert running.plan(gold).sha256 == running.plan(gold, knobs={}).sha256
    others = [running.plan(gold, knobs={"k": 1}), running.plan(gold, seeds=(1,)), running.plan(gold, limit=1)]
    assert len({one.sha256 for one in (running.plan(gold), *others)}) == 4


def test_a_retrieval_gold_set_is_asked_in_every_wording(tmp_path: Path) -> None:
    rows = [{"qid": "R1", "paraphrases": ["one?", "two?", "three?"], "relevant": ["x#1"]}]
    plan = running.plan(write_jsonl(tmp_path / "gold.jsonl", rows))
    assert [(one.run_id, one.ask.q, one.ask.paraphrase) for one in plan.asks] == [
        ("R1#seed=0;j=none", "one?", 0),
        ("R1#seed=0;j=none;p=1", "two?", 1),
        ("R1#seed=0;j=none;p=2", "three?", 2),
    ]


def problems_of(path: Path, **more: Any) -> list[str]:
    with pytest.raises(DataError) as caught:
        running.plan(path, **more)
    return [str(one) for one in caught.value.problems]


def test_gold_that_cannot_be_asked(tmp_path: Path) -> None:
    rows: list[Row] = [
        {"qid": "A", "answerable": True},
        {"qid": "B", "answerable": True, "question": " ", "paraphrases": []},
        {"qid": "C", "answerable": True, "question": 4},
    ]
    gold = write_jsonl(tmp_path / "gold.jsonl", rows)
    assert problems_of(gold) == [
        f"{gold}:3: question: expected a string, got a whole number [RW-G03]",
        f"{gold}:1: question: expected a text to ask, got nothing [RW-G16]",
        f"{gold}:2: question: expected a text to ask, got nothing [RW-G16]",
    ]
    twice = write_jsonl(tmp_path / "twice.jsonl", [G1(), G1()])
    assert problems_of(twice) == [f'{twice}:2: qid: expected a unique id, got "A0001" again [RW-G02]']
    empty = write_jsonl(tmp_path / "empty.jsonl", [])
    assert problems_of(empty) == [f"{empty}: expected gold items, got none [RW-G05]"]
    with pytest.raises(UsageError, match='expected one of the jitters none, ws, punct, syn, order, got "x"'):
        running.plan(gold, jitters=("x",))


def test_wrong_targets_are_wrong_usage(tmp_path: Path, cli: Cli) -> None:
    gold = gold_of(tmp_path, 2)
    done = cli("run", "--target", "nonsense", "--gold", gold, "--out", tmp_path / "o")
    assert done.code == 2
    assert done.err.splitlines()[0] == (
        "expected a target such as module:callable, file.py:callable, http://… or https://…, cmd:COMMAND, "
        'replay:FILE, builtin:INDEX, got "nonsense" [RW-U01]'
    )
    assert not (tmp_path / "o").exists()
    done = cli("run", "--target", "a:b", "--pipeline", "p.toml", "--gold", gold, "--out", tmp_path / "o")
    assert done.err.splitlines()[0] == "--pipeline: expected the target builtin:INDEX, got another one [RW-U01]"


def test_nothing_is_overwritten(tmp_path: Path, cli: Cli) -> None:
    gold = gold_of(tmp_path, 2)
    out = tmp_path / "out"
    args = ("run", "--target", "slow_callables:good", "--gold", gold, "--out", out)
    assert cli(*args).code == 0
    before = {one.name: one.read_bytes() for one in out.iterdir()}
    done = cli(*args)
    assert done.code == 2
    assert done.err.splitlines()[0] == (
        f"{out / 'journal.jsonl'}: expected a new folder, got one with 2 replies [RW-J01]"
    )
    assert {one.name: one.read_bytes() for one in out.iterdir()} == before
    # a finished run can be resumed: it asks nothing and writes the same
    done = cli(*args, "--resume")
    assert (done.code, {one.name: one.read_bytes() for one in out.iterdir()}) == (0, before)
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "traces.jsonl").write_text("mine")
    done = cli("run", "--target", "slow_callables:good", "--gold", gold, "--out", foreign, "--resume")
    expected = f"{foreign / 'traces.jsonl'}: expected a new folder, got one with this file [RW-U03]"
    assert (done.code, done.err.splitlines()[0]) == (2, expected)
    assert (foreign / "traces.jsonl").read_text() == "mine"
    done = cli("run", "--target", "slow_callables:good", "--gold", gold, "--out", gold)
    assert (done.code, done.err.splitlines()[0]) == (2, f"{gold}: expected a new file, got one that is read [RW-U01]")


def test_progress_on_a_terminal_and_nothing_on_a_pipe(tmp_path: Path) -> None:
    gold = gold_of(tmp_path, 40)
    command = [sys.executable, "-m", "ragworthy", "run", "--target", "slow_callables:sleepy", "--gold", str(gold)]
    reading, terminal = pty.openpty()
    done = subprocess.run([*command, "--out", str(tmp_path / "a")], stdout=subprocess.PIPE, stderr=terminal, check=True)
    os.close(terminal)
    seen = b""
    while True:
        try:
            piece = os.read(reading, 4096)
        except OSError:  # how Linux tells the end
            break
        if not piece:
            break
        seen += piece
    os.close(reading)
    assert done.stdout.endswith(b"run: 40 replies (exit 0)\n")
    last = seen.decode().strip().rsplit("\r", 1)[-1]
    assert last.startswith("asked 40/40  ")
    assert last.endswith("/s  0:00 left  0 errors\x1b[K")
    piped = subprocess.run([*command, "--out", str(tmp_path / "b")], capture_output=True, check=True)
    assert piped.stderr == b""


def test_the_built_in_pipeline_is_a_target(tmp_path: Path, cli: Cli) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "buckets.md").write_text("# Buckets\n\nA bucket name is free again after 45 days.\n\nKeys are texts.\n")
    index = tmp_path / "index"
    assert cli("index", "build", "--docs", docs, "--out", index, "--dense", "none").code == 0
    rows = [{"qid": "A", "question": "After how many days is a bucket name free again?", "answerable": True}]
    gold = write_jsonl(tmp_path / "gold.jsonl", rows)
    args = ("run", "--target", f"builtin:{index}", "--gold", gold, "--knob", "timings=false", "--out")
    done = cli(*args, tmp_path / "a")
    assert (done.code, done.err) == (0, "")
    trace = lines(tmp_path / "a" / "traces.jsonl")[0]
    assert "45 days" in trace["answer_json"]["claim"]
    assert set(trace["answer_json"]["citations"]) <= set(trace["retrieved_ids"])
    assert trace["knobs"] == {"timings": False}
    assert json.loads((tmp_path / "a" / "run.json").read_text())["target"] == f"builtin:{index}"
    assert cli(*args, tmp_path / "b").code == 0
    assert (tmp_path / "a" / "traces.jsonl").read_bytes() == (tmp_path / "b" / "traces.jsonl").read_bytes()
    done = cli("run", "--target", f"builtin:{docs}", "--gold", gold, "--out", tmp_path / "c")
    assert (done.code, "[RW-I01]" in done.err) == (2, True)


# what a target does to its surroundings


@pytest.mark.parametrize("moment", ["when it is imported", "when it is asked"])
@pytest.mark.parametrize("verb", [("run",), ("experiment", "stability"), ("experiment", "latency", "--warmup", "0")])
def test_a_target_that_changes_the_working_folder(tmp_path: Path, verb: tuple[str, ...], moment: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    early, late = ("os.chdir('elsewhere')", "pass") if moment == "when it is imported" else ("pass", "os.chdir('/')")
    (tmp_path / "restless.py").write_text(
        f"import os\n{early}\ndef ask(**asked):\n    {late}\n"
        "    return {'answer_json': {'claim': 'y'}, 'retrieved_ids': []}\n"
    )
    gold_of(tmp_path, 2)
    words = [sys.executable, "-m", "ragworthy", *verb, "--target", "restless:ask", "--gold", "gold.jsonl"]
    words += ["--out", "deep/out"] + (["--loads", "20"] if "latency" in verb else [])
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, check=True)
    name = "latency.jsonl" if "latency" in verb else "traces.jsonl"
    assert f": deep/out/{name}" in done.stdout
    assert len(lines(tmp_path / "deep" / "out" / name)) >= 2
    assert sorted(one.name for one in tmp_path.iterdir() if one.name != "__pycache__") == [
        *("deep", "elsewhere", "gold.jsonl", "restless.py")
    ]
    again = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    assert again.stderr.startswith("deep/out/journal.jsonl: expected a new folder, got one with ")


def test_messages_name_the_folder_as_it_was_given(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    gold = gold_of(tmp_path, 2)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("x")
    args = ("run", "--target", f"replay:{gold}", "--gold", gold, "--out")
    assert cli(*args, "file").err.splitlines()[0] == "file: expected a folder, got a file [RW-U01]"
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "run.json").write_text("mine")
    wanted = "out/run.json: expected a new folder, got one with this file [RW-U03]"
    assert cli(*args, "out").err.splitlines()[0] == wanted
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "traces.jsonl").mkdir()
    (tmp_path / "full" / "journal.jsonl").touch()
    done = cli(*args, "full")
    assert done.err.splitlines()[0] == "full/traces.jsonl: cannot be written: Is a directory [RW-F14]"
    assert done.err.splitlines()[-1] == (
        "2 replies are safe in full/journal.jsonl: the same command with --resume goes on from there"
    )


@pytest.mark.parametrize(
    "verb", [("run",), ("experiment", "stability"), ("experiment", "latency"), ("experiment", "tune")]
)
def test_an_empty_name_is_no_folder(tmp_path: Path, cli: Cli, verb: tuple[str, ...]) -> None:
    target = ("--index", tmp_path) if "tune" in verb else ("--target", "slow_callables:good")
    done = cli(*verb, *target, "--gold", gold_of(tmp_path, 2), "--out", "")
    assert (done.code, done.err.splitlines()[0]) == (2, '--out: expected a folder, got "" [RW-U01]')


def test_gold_from_a_pipe_has_to_be_saved_first(tmp_path: Path, cli: Cli) -> None:
    reading, writing = os.pipe()
    os.write(writing, b'{"qid": "A", "question": "Why?", "answerable": true}\n')
    os.close(writing)
    pipe = Path(f"/dev/fd/{reading}")
    wanted = f"{pipe}: expected a regular file, got a pipe: save it first [RW-F18]"
    for verb in (("run",), ("experiment", "stability"), ("experiment", "latency")):
        done = cli(*verb, "--target", "slow_callables:good", "--gold", pipe, "--out", tmp_path / "out")
        assert (done.code, done.err.splitlines()[0]) == (2, wanted)
    done = cli("experiment", "tune", "--index", tmp_path / "index", "--gold", pipe, "--out", tmp_path / "out")
    assert (done.code, done.err.splitlines()[0]) == (2, wanted)
    os.close(reading)
    os.mkfifo(tmp_path / "fifo")
    assert problems_of(tmp_path / "fifo") == [
        f"{tmp_path / 'fifo'}: expected a regular file, got a pipe: save it first [RW-F18]"
    ]
    assert problems_of(Path("/dev/null")) == [
        "/dev/null: expected a regular file, got a device: save it first [RW-F18]"
    ]
    assert not (tmp_path / "out").exists()


# knobs that cannot be used


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("k = nan", "k: expected a finite number, got nan"),
        ("[deep]\nlist = [1.0, -inf]", "deep.list[1]: expected a finite number, got -inf"),
    ],
)
def test_numbers_that_json_cannot_hold(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "k.toml"
    file.write_text(text)
    with pytest.raises(UsageError) as caught:
        running.knobs_of(file, [])
    assert caught.value.problems[0].message == f"{file}: {message}"


@pytest.mark.parametrize("verb", [("run",), ("experiment", "stability"), ("experiment", "latency")])
def test_a_wrong_knob_is_looked_for_where_it_stands(tmp_path: Path, cli: Cli, verb: tuple[str, ...]) -> None:
    gold, file = gold_of(tmp_path, 2), tmp_path / "k.toml"
    file.write_text("k = 0\n")
    args = (*verb, "--target", f"builtin:{tmp_path}", "--gold", gold, "--out", tmp_path / "out", "--knobs", file)
    wanted = "k: expected a whole number of at least 1, got"
    assert cli(*args).err.splitlines()[0] == f"{file}: {wanted} 0 [RW-U01]"
    assert cli(*args, "--knob", "k=-1").err.splitlines()[0] == f"--knob: {wanted} -1 [RW-U01]"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("verb", [("run",), ("experiment", "stability"), ("experiment", "latency")])
@pytest.mark.parametrize("url", ["http://me:sk-12345678@h/v1", "http://h/v1?key=sk-12345678", "ftp://sk-12345678@h"])
def test_an_answerer_that_carries_a_secret_is_refused_unseen(
    tmp_path: Path, cli: Cli, verb: tuple[str, ...], url: str
) -> None:
    gold = gold_of(tmp_path, 2)
    args = (*verb, "--target", f"builtin:{tmp_path}", "--gold", gold, "--out", tmp_path / "out")
    done = cli(*args, "--knob", f"answerer=chat:m@{url}")
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines()[0] == (
        "--knob: answerer: expected chat:MODEL@URL with a plain address such as http://localhost:8080/v1, "
        "got one with a user or a query [RW-U01]"
    )
    assert "sk-12345678" not in done.err
    assert not (tmp_path / "out").exists()


POLICY = """\
version = 1
[answers]
gold = "gold.jsonl"
traces = "out/traces.jsonl"
refusals = ["It's \'none\'."]
[[gate]]
metric = "precision"
min = 0.5
"""


def test_a_run_with_a_policy_goes_on_with_its_gate(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    gold_of(tmp_path, 3)
    run = ["run", "--target", f"{SERVERS / 'slow_callables.py'}:good", "--gold", "gold.jsonl"]
    Path("own.toml").write_text(POLICY)

    def following(*more: str) -> str:
        done = cli(*run, *more)
        assert done.code == 0, done.err
        return done.out.splitlines()[-2]

    named = "next: ragworthy score answers --gold gold.jsonl --trace {}/traces.jsonl"
    assert following("--out", "out") == named.format("out")  # no policy says anything
    assert following("--out", "out", "-c", "own.toml", "--resume") == "next: ragworthy gate -c own.toml"
    # the policy judges other traces: what it says of refusals holds for these, too
    told = following("--out", "other", "-c", "own.toml")
    assert told == named.format("other") + " --refusal " + shlex.quote("It's 'none'.")
    # a refusal that is not part of the policy: its gate would count it otherwise
    told = following("--out", "out", "-c", "own.toml", "--resume", "--refusal", "No.")
    assert told == named.format("out") + " --refusal " + shlex.quote("It's 'none'.") + " --refusal No."
    Path("ragworthy.toml").write_text(POLICY)
    assert following("--out", "out", "--resume") == "next: ragworthy gate -c ragworthy.toml"
    assert following("--out", "other", "--resume") == named.format("other")
    Path("ragworthy.toml").write_text("version = ")
    assert following("--out", "out", "--resume") == named.format("out")


@pytest.mark.parametrize(("errors", "said"), [(1, False), (2, True)])
def test_more_than_a_tenth_of_errors_can_be_asked_again(tmp_path: Path, cli: Cli, errors: int, said: bool) -> None:
    gold = gold_of(tmp_path, 10)
    recorded = write_jsonl(tmp_path / "t.jsonl", [T1() | {"qid": f"Q{n}"} for n in range(10 - errors)])
    done = cli("run", "--target", f"replay:{recorded}", "--gold", gold, "--out", tmp_path / "out")
    again = "more than a tenth are errors: the same command with --resume --retry-errors asks them again"
    assert (done.code, again in done.out.splitlines()) == (1, said)
