"""`run --check` finds settings that fit a target: what it is asked, what it says of time, tokens and seeds."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from conftest import Cli, write_jsonl
from places import SERVERS


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    rows = [{"qid": f"Q{n}", "question": f"what {n}?", "answerable": True} for n in range(12)]
    write_jsonl(tmp_path / "gold.jsonl", rows)


@contextmanager
def serving(folder: Path, *mood: object) -> Iterator[str]:
    words = [sys.executable, str(SERVERS / "moody_server.py"), str(folder / "asked.jsonl"), "0", *map(str, mood)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/ask"
        finally:
            process.kill()


def asked(folder: Path) -> list[str]:
    return [json.loads(line)["qid"] for line in (folder / "asked.jsonl").read_text().splitlines()]


def rest(out: str) -> list[str]:
    """What is told after the reply was read, with every time as T."""
    lines = out.splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("asking"))
    return [re.sub(r"\d+\.\d s", "T", line) for line in lines[start:]]


def test_a_server_with_one_slot(tmp_path: Path, cli: Cli) -> None:
    """1.5 s an answer, one after the other: two at once take 3 s, so four are not tried. 4 · 1.5 s is below 10 s."""
    with serving(tmp_path, "slow", 1.5) as url:
        done = cli("run", "--check", "--target", url, "--gold", "gold.jsonl", "--knob", "k=a b")
        assert rest(done.out) == [
            "asking up to 7 more questions, alone and several at once",
            "  at once        T alone, T with 2 at once, it answers one at a time",
            "  seed           not told: the same answer, whatever the seed",
            f"next: ragworthy run --target {url} --gold gold.jsonl --out runs/1 --knob 'k=a b' "
            "--concurrency 1 --timeout 10",
            "check: the reply can be read (exit 0)",
        ]
    assert asked(tmp_path) in (["Q0", "Q0", "Q1", "Q2", "Q0"], ["Q0", "Q0", "Q2", "Q1", "Q0"])


def test_a_server_that_answers_several_at_once(tmp_path: Path, cli: Cli) -> None:
    """Four at once may take 0.9 s longer than one alone, and still be fine: a busy machine does not decide this."""
    with serving(tmp_path, "takes", 1.5) as url:
        done = cli("run", "--check", "--target", url, "--gold", "gold.jsonl")
    assert rest(done.out)[1] == "  at once        T alone, T with 2 at once, T with 4 at once, 4 at once are fine"
    assert rest(done.out)[3].endswith(" --concurrency 4 --timeout 10")
    assert (len(asked(tmp_path)), set(asked(tmp_path))) == (8, {"Q0", "Q1", "Q2", "Q3", "Q4", "Q5"})


def test_a_quick_target_is_asked_once(tmp_path: Path, cli: Cli) -> None:
    with serving(tmp_path, "well") as url:
        done = cli("run", "--check", "--target", url, "--gold", "gold.jsonl")
    assert "asking" not in done.out
    assert asked(tmp_path) == ["Q0"]


MODEL = """
import random, time
USAGE = {"prompt_tokens": 1402, "completion_tokens": 31, "format": "json_schema", "attempts": 2}

def reply(claim):
    time.sleep(0.35)
    return {"answer_json": {"claim": claim}, "retrieved_ids": ["a"], "usage": USAGE}

def kept(*, q, seed, **rest):
    return reply(f"{q} {seed}")

def ignored(*, q, seed, **rest):
    return reply(f"{q} {random.random()}")

def alone(question):
    return reply(question)
"""


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        ("kept", "kept: the same seed gave the same answer, another seed another one"),
        ("ignored", "ignored: the same seed gave two answers"),
        ("alone", "not told: the callable takes the question alone"),
    ],
)
def test_tokens_format_and_seed(cli: Cli, name: str, seed: str) -> None:
    Path("model.py").write_text(MODEL)
    done = cli("run", "--check", "--target", f"model.py:{name}", "--gold", "gold.jsonl", "--out", "runs/7")
    assert rest(done.out)[2:5] == [
        "  tokens         1,402 in, 31 out",
        "  format         json_schema, 2 attempts",
        f"  seed           {seed}",
    ]
    assert f"next: ragworthy run --target model.py:{name} --gold gold.jsonl --out runs/7 --concurrency" in done.out


@pytest.mark.parametrize(
    ("knobs", "cold"),
    [
        (("--knob", "temperature=0"), " (temperature is 0; --knob temperature=0.8 lets a seed matter)"),
        (("--knob", "temperature=0.5"), ""),
        ((), ""),
    ],
)
def test_at_temperature_0_a_seed_says_nothing(cli: Cli, knobs: tuple[str, ...], cold: str) -> None:
    Path("model.py").write_text(f"{MODEL}\ndef same(*, q, **rest):\n    return reply(q)\n")
    done = cli("run", "--check", "--target", "model.py:same", "--gold", "gold.jsonl", *knobs)
    assert rest(done.out)[4] == f"  seed           not told: the same answer, whatever the seed{cold}"


def test_what_fails_with_two_at_once_is_asked_one_at_a_time(cli: Cli) -> None:
    Path("single.py").write_text(
        "import threading, time\n"
        "LOCK = threading.Lock()\n"
        "def answer(question):\n"
        "    if not LOCK.acquire(blocking=False):\n"
        "        return {'error': 'status 429: one at a time'}\n"
        "    time.sleep(0.35)\n"
        "    LOCK.release()\n"
        "    return {'answer_json': {'claim': 'x'}, 'retrieved_ids': ['a']}\n"
    )
    done = cli("run", "--check", "--target", "single.py:answer", "--gold", "gold.jsonl")
    assert rest(done.out)[1] == "  at once        T alone, T with 2 at once (status 429), it answers one at a time"
    assert "--concurrency 1 --timeout 10" in done.out


def test_nothing_reached_is_one_sentence(cli: Cli) -> None:
    done = cli("run", "--check", "--target", "http://127.0.0.1:1/ask", "--gold", "gold.jsonl")
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines() == [
        "http://127.0.0.1:1/ask: expected a reply, got unreachable: Connection refused [RW-J06]",
        "  target_unreachable: Start it, or fix its address; then run the same command with --resume.",
    ]
