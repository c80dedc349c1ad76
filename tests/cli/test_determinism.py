"""Same inputs, same bytes: twice, shuffled, with more processes, under any hash seed, time zone and locale."""

import contextlib
import io
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ragworthy.cli.main import main

Row = dict[str, Any]
OUTPUTS = ("r.json", "r.jsonl", "r.md", "r.xml", "r.txt", "receipt.json")
CLAIMS = ["the gold text", "something else", "not in context", "NOT in context ", "I cannot answer this.", ""]
POLICY = (
    'version = 1\n[answers]\ngold = "gold.jsonl"\ntraces = "traces.jsonl"\nk = [1, 5]\nscu = true\nslices = ["topic"]\n'
    '[[gate]]\nmetric = "precision"\nmin = 0.8\nmust_pass = ["q000001"]\n'
    '[[gate]]\nmetric = "recall@3"\nmin = 0.5\nslice = "topic=b"\n'
)


def lay(count: int, *, padding: int = 0, repeated: bool = False) -> None:
    """Questions of every kind: sliced, constrained, wrong, refused, missing, with stray and repeated traces."""
    dice = random.Random(count)
    gold, traces = [], []
    for i in range(count):
        can = i % 4 != 0
        pieces, cited = (["gold text", "1990"], [f"d#{i % 7}"]) if can else ([], [])
        item = {"qid": f"q{i:06}", "question": f"number {i // 2}", "answerable": can, "topic": "abc"[i % 3]}
        gold.append(item | {"gold_claim_substr": pieces, "gold_citations": cited, "constraints": ["x"] * (i % 5 == 0)})
        ids = [f"d#{dice.randrange(9)}" for _ in range(6)]
        told = {"claim": dice.choice(CLAIMS), "citations": ids[:2], "constraints_echo": ["x"] * (i % 10 == 0)}
        trace = {"qid": f"q{i:06}", "retrieved_ids": ids, "answer_json": told, "pad": "p" * padding}
        if i % 97:
            traces.append(trace)
        if i % 50 == 0:
            traces.append(trace | {"qid": f"stray{i}"})
        if repeated and i % 61 == 0:
            traces.append(trace | {"qid": f"q{max(i - 30, 1):06}"})
    for name, rows in (("gold.jsonl", gold), ("traces.jsonl", traces)):
        Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("ragworthy.toml").write_text(POLICY)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def arguments(folder: str) -> list[str]:
    written = [part for name in OUTPUTS[:-1] for part in ("-o", f"{folder}/{name}")]
    return ["gate", *written, "--receipt", f"{folder}/receipt.json"]


def files(folder: str, *args: str) -> dict[str, bytes]:
    """Every kind of output, as bytes, of a gate in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([*arguments(folder), *args])
    assert (code, err.getvalue()) == (4, "")
    shown = anywhere(folder, out.getvalue().encode())
    return {name: (Path(folder) / name).read_bytes() for name in OUTPUTS} | {"stdout": shown}


def anywhere(folder: str, shown: bytes) -> bytes:
    """What a terminal shows, with the folder that files were written to left open. Lines are as long as its name makes
    them, so these names have the same length."""
    assert len(folder) == len("one")
    return shown.replace(f"{folder}/".encode(), b"FOLDER/")


def test_twice() -> None:
    lay(400, repeated=True)
    assert files("one") == files("two")


def comparable(report: bytes) -> Row:
    """A report without what a shuffle may change: line numbers, and the hash of the traces."""
    body: Row = json.loads(report)
    suite = body["suites"]["answers"]
    for warning in suite["warnings"]:
        warning.pop("where")
        warning.pop("places", None)
    for one in suite["inputs"]:
        if one["role"] == "trace":
            del one["sha256"]
    return body


@pytest.mark.parametrize("seed", range(3))
def test_with_shuffled_traces(seed: int) -> None:
    lay(400)
    before = files("one")
    lines = Path("traces.jsonl").read_text().splitlines(keepends=True)
    random.Random(seed).shuffle(lines)
    Path("traces.jsonl").write_text("".join(lines))
    after = files("two")
    assert comparable(after["r.json"]) == comparable(before["r.json"])
    assert list(comparable(after["r.json"])) == list(comparable(before["r.json"]))
    assert after["r.jsonl"] == before["r.jsonl"]
    assert after["r.xml"] == before["r.xml"]
    receipts = [json.loads(one["receipt.json"]) for one in (before, after)]
    for receipt in receipts:
        del receipt["inputs"], receipt["report_sha256"]
    assert receipts[0] == receipts[1]


def test_with_one_process_and_with_several() -> None:
    lay(12_000, padding=1_200, repeated=True)
    size = Path("traces.jsonl").stat().st_size
    assert size > 16 << 20  # below this the work is never split
    alone = files("one", "--jobs", "1")
    for jobs in ("2", "3"):
        assert files("two", "--jobs", jobs) == alone


ENVIRONMENTS = [
    {"PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C"},
    {"PYTHONHASHSEED": "1", "TZ": "Asia/Kolkata", "LC_ALL": "C.UTF-8"},
    {"PYTHONHASHSEED": "2", "TZ": "UTC", "LC_ALL": "C.UTF-8"},
]


def outside(folder: str, more: dict[str, str]) -> tuple[int, bytes, bytes]:
    """The gate in a process of its own, in another environment."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("LC_", "PYTHON", "LANG", "TZ"))}
    kept.pop("GITHUB_STEP_SUMMARY", None)
    command = [sys.executable, "-m", "ragworthy", *arguments(folder)]
    done = subprocess.run(command, env=kept | more, capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_under_any_hash_seed_time_zone_and_locale() -> None:
    lay(400, repeated=True)
    expected = files("one")
    for n, environment in enumerate(ENVIRONMENTS):
        code, shown, complaints = outside(f"in{n}", environment)
        assert (code, anywhere(f"in{n}", shown), complaints) == (4, expected["stdout"], b"")
        for name in OUTPUTS:
            assert (Path(f"in{n}") / name).read_bytes() == expected[name], (name, environment)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_a_terminal_that_cannot_show_every_character_changes_no_verdict(encoding: str) -> None:
    lay(40)
    expected = files("one")
    code, out, err = outside("outside", {"PYTHONIOENCODING": encoding})
    assert (code, err) == (4, b"")
    assert out.splitlines()[-1].startswith(b"verdict: INVALID (exit 4): ")
    for name in OUTPUTS:
        assert (Path("outside") / name).read_bytes() == expected[name], name
