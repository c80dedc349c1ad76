"""Stability and latency experiments against real targets: crossed designs, journals, stops, resumes, messages."""

import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from conftest import Cli, Row, write_jsonl
from places import SERVERS
from ragworthy.errors import DataError, UsageError
from ragworthy.experiments import latency, stability
from ragworthy.experiments.configurations import configurations
from ragworthy.ids import config_id
from ragworthy.records import Run
from ragworthy.runner.contract import Options
from ragworthy.runner.run import open_target

LINES = f"cmd:{sys.executable} {SERVERS / 'line_target.py'}"


class Served(NamedTuple):
    """A server process, and what it was asked."""

    url: str
    port: int
    log: Path

    def asked(self) -> list[str]:
        return [json.loads(line)["qid"] for line in self.log.read_text().splitlines()]


@contextmanager
def serving(folder: Path, port: int = 0) -> Iterator[Served]:
    log = folder / "asked.log"
    program = [sys.executable, str(SERVERS / "ask_server.py"), str(log), str(port)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            given = int(process.stdout.readline())
            yield Served(f"http://127.0.0.1:{given}/ask", given, log)
        finally:
            process.kill()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path) as served:
        yield served


def gold(folder: Path, *questions: str) -> Path:
    rows: list[Row] = [
        {"qid": f"A{place}", "question": text, "answerable": False, "gold_claim_substr": [], "gold_citations": []}
        for place, text in enumerate(questions, 1)
    ]
    return write_jsonl(folder / "gold.jsonl", rows)


def rows_of(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


# stability


def varied(folder: Path) -> Path:
    path = folder / "gold.jsonl"
    rows: list[Row] = [
        {"qid": "A1", "question": "Explain X , please?", "answerable": False, "paraphrases": ["What is X"]},
        {"qid": "A2", "question": "Why?", "answerable": False},
    ]
    return write_jsonl(path, rows)


def test_seeds_times_jitters_times_wordings(tmp_path: Path) -> None:
    plan = stability.plan(varied(tmp_path))
    assert len(plan.asks) == 3 * 4 * 5
    assert [one.ask.seed for one in plan.asks[:5]] == [0, 1, 2, 3, 4]
    assert [one.run_id for one in plan.asks[::5]][:8] == [
        *(f"A1#seed=0;j={name}" for name in ("none", "ws", "punct", "syn")),
        *(f"A1#seed=0;j={name};p=1" for name in ("none", "ws", "punct", "syn")),
    ]
    # "Explain X , please?": ws, punct and syn all change it; "What is X": punct appends a question mark, ws and syn do
    # nothing; "Why?": punct puts a blank before the mark, ws and syn do nothing
    assert stability.unchanged(plan) == [("ws", 2, 3), ("punct", 0, 3), ("syn", 2, 3)]


def test_fewer_wordings_and_questions(tmp_path: Path) -> None:
    plan = stability.plan(varied(tmp_path), seeds=[7], jitters=["none"], paraphrases=1)
    assert [one.run_id for one in plan.asks] == ["A1#seed=7;j=none", "A2#seed=7;j=none"]
    assert stability.unchanged(plan) == []
    assert len(stability.plan(varied(tmp_path), limit=1).asks) == 2 * 4 * 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seeds": [0, 1, 0]}, 'expected every seed once, got "0" again [RW-U01]'),
        ({"jitters": ["ws", "ws"]}, 'expected every jitter once, got "ws" again [RW-U01]'),
        ({"seeds": []}, "expected at least one seed, got none [RW-U01]"),
        ({"jitters": []}, "expected at least one jitter, got none [RW-U01]"),
    ],
)
def test_a_variation_stands_once(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        stability.plan(varied(tmp_path), **options)
    assert caught.value.lines()[0] == message


def test_an_empty_gold_set(tmp_path: Path) -> None:
    path = tmp_path / "gold.jsonl"
    path.write_text("\n")
    message = f"{path}: expected gold items, got none [RW-G05]"
    with pytest.raises(DataError) as caught:
        stability.plan(path)
    assert caught.value.lines()[0] == message
    with pytest.raises(DataError) as caught:
        latency.plan(path, [{}])
    assert caught.value.lines()[0] == message


def test_stability_end_to_end(tmp_path: Path, server: Served, cli: Cli) -> None:
    path, out = varied(tmp_path), tmp_path / "out"
    call = ("experiment", "stability", "--target", server.url, "--gold", path, "--seeds", "0,1")
    done = cli(*call, "--out", out, "--concurrency", 8)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        "2 questions in 3 wordings × 4 jitters × 2 seeds = 24 runs",
        "ws: leaves 2 of 3 wordings unchanged (noop)",
        "punct: leaves 0 of 3 wordings unchanged (noop)",
        "syn: leaves 2 of 3 wordings unchanged (noop)",
        "asked 24 = answered 24 + refused 0 + errored 0",
        f"traces: {out / 'traces.jsonl'}",
        f"next: ragworthy score stability --gold {path} --runs {out / 'traces.jsonl'}",
        "run: 24 replies (exit 0)",
    ]
    assert len(server.asked()) == 24
    again = tmp_path / "again"
    assert cli(*call, "--out", again, "--concurrency", 1).code == 0
    assert (again / "traces.jsonl").read_bytes() == (out / "traces.jsonl").read_bytes()
    runs = [msgspec.convert(row, Run) for row in rows_of(out / "traces.jsonl")]
    assert Counter(run.jitter for run in runs if run.noop) == {"ws": 4, "syn": 4}

    resumed = cli(*call, "--out", out, "--resume")
    assert resumed.code == 0
    assert len(server.asked()) == 48, "nothing is asked again"
    scored = cli("score", "stability", "--gold", path, "--runs", out / "traces.jsonl")
    assert scored.code in (0, 1, 3, 4), scored.err


@pytest.mark.parametrize(
    ("flag", "value", "message"),
    [
        ("--seeds", "0,x", '--seeds: expected whole numbers such as 0,1,2, got "0,x" [RW-U01]'),
        ("--seeds", "", '--seeds: expected whole numbers such as 0,1,2, got "" [RW-U01]'),
        ("--paraphrases", "0", '--paraphrases: expected a number from 1, or all, got "0" [RW-U01]'),
        ("--paraphrases", "some", '--paraphrases: expected a number from 1, or all, got "some" [RW-U01]'),
        ("--jitters", " , ", "expected at least one jitter, got none [RW-U01]"),
    ],
)
def test_wrong_variations(tmp_path: Path, cli: Cli, flag: str, value: str, message: str) -> None:
    call = ("experiment", "stability", "--target", LINES, "--gold", varied(tmp_path), "--out", tmp_path / "out")
    done = cli(*call, flag, value)
    assert (done.code, done.err.splitlines()[0]) == (2, message)
    assert not (tmp_path / "out").exists()


# latency: which cells


def toml(folder: Path, text: str) -> Path:
    path = folder / "knobs.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_configurations_from_a_file(tmp_path: Path) -> None:
    assert configurations(None, []) == [{}]
    assert configurations(None, ["k=3", "mode=fast"]) == [{"k": 3, "mode": "fast"}]
    listed = toml(tmp_path, "[knobs]\nknee = true\n[[config]]\nk_lex = 20\n[[config]]\nk_lex = 40\nknee = false\n")
    assert configurations(listed, []) == [{"knee": True, "k_lex": 20}, {"knee": False, "k_lex": 40}]
    grid = toml(tmp_path, '[knobs]\nmodel = "m"\n[grid]\nk = [1, 2]\ndepth = [0, 5, 9]\n')
    crossed = configurations(grid, ["model=n"])
    assert crossed == [{"model": "n", "k": k, "depth": depth} for k in (1, 2) for depth in (0, 5, 9)]
    assert configurations(toml(tmp_path, "[knobs]\nk = 1\n"), []) == [{"k": 1}]
    assert configurations(toml(tmp_path, "k = 1\nmode = 'x'\n"), []) == [{"k": 1, "mode": "x"}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[grid]\nk = 3\n", "grid.k: expected a list of values"),
        ("[grid]\nk = []\n", "grid.k: expected a list of values"),
        ("grid = 4\n", "grid: expected a table of lists"),
        ("config = 4\n", "config: expected [[config]] tables"),
        ("config = []\n", "config: expected [[config]] tables"),
        ("knobs = 4\n[grid]\nk = [1]\n", "knobs: expected a table"),
        ("[grid]\nk = [1]\n[[config]]\nk = 2\n", "expected [grid] or [[config]], got both"),
        ("[grid]\nk = [1]\n[gird]\nz = [2]\n", "gird: expected [knobs], [grid] or [[config]], got another key"),
        ("[grid]\nk = [1, 1]\n", 'expected configurations that differ, got {"k":1} twice'),
    ],
)
def test_wrong_configurations(tmp_path: Path, text: str, message: str) -> None:
    path = toml(tmp_path, text)
    with pytest.raises(UsageError) as caught:
        configurations(path, [])
    assert caught.value.lines()[0] == f"{path}: {message} [RW-U01]"


@pytest.mark.parametrize(("requests", "passes"), [(None, 1), (1, 1), (7, 1), (8, 2), (14, 2), (15, 3)])
def test_every_cell_asks_every_question_equally_often(tmp_path: Path, requests: int | None, passes: int) -> None:
    path = gold(tmp_path, *(f"question {n}?" for n in range(7)))
    sweep = latency.plan(path, [{"k": 1}, {"k": 2}], loads=[2, 4], requests=requests, warmup=3)
    assert Counter(ask.qid for ask in sweep.asks) == {f"A{n}": passes for n in range(1, 8)}
    assert (sweep.passes, sweep.questions) == (passes, 7)
    assert [(cell.knobs["k"], cell.load_rps) for cell in sweep.cells] == [(1, 2), (2, 2), (1, 4), (2, 4)]
    assert sweep.seconds(sweep.cells) == 2 * (3 + 7 * passes) / 2 + 2 * (3 + 7 * passes) / 4
    assert sweep == latency.plan(path, [{"k": 1}, {"k": 2}], loads=[2, 4], requests=requests, warmup=3)
    assert [ask.qid for ask in sweep.asks] != sorted(ask.qid for ask in sweep.asks), "shuffled"


def test_what_makes_another_experiment(tmp_path: Path) -> None:
    path = gold(tmp_path, "one?", "two?")
    made = [
        latency.plan(path, [{}]),
        latency.plan(path, [{"k": 1}]),
        latency.plan(path, [{}], loads=[1, 5]),
        latency.plan(path, [{}], requests=4),
        latency.plan(path, [{}], warmup=4),
        latency.plan(path, [{}], poisson=True),
        latency.plan(path, [{}], limit=1),
    ]
    assert len({sweep.sha256 for sweep in made}) == len(made)


@pytest.mark.parametrize("value", ["", "x", "0", "-1", "1,1", "nan", "inf", "10001", "1,,2"])
def test_wrong_loads(tmp_path: Path, cli: Cli, value: str) -> None:
    done = cli("experiment", "latency", "--target", LINES, "--gold", gold(tmp_path, "a?"), "--out", tmp_path / "out",
               f"--loads={value}")  # fmt: skip
    expected = "--loads: expected different requests a second such as 1,5,20, each up to 10000"
    assert (done.code, done.err.splitlines()[0]) == (2, f'{expected}, got "{value}" [RW-U01]')


# latency: measured


def test_latency_end_to_end(tmp_path: Path, server: Served, cli: Cli) -> None:
    path, out = gold(tmp_path, "one?", "two?", "slow 0.3", "refuse this"), tmp_path / "out"
    knobs = toml(tmp_path, "[grid]\nk = [1, 2]\n")
    done = cli("experiment", "latency", "--target", server.url, "--gold", path, "--out", out, "--knobs", knobs,
               "--loads", "10,20", "--requests", 7, "--warmup", 3)  # fmt: skip
    assert (done.code, done.err) == (0, "")
    first, second = config_id({"k": 1}), config_id({"k": 2})
    lines = done.out.splitlines()
    assert lines[:4] == [
        f"{first}: k=1",
        f"{second}: k=2",
        "2 configurations × 2 loads = 4 cells, each 3 for warm-up and 8 requests (4 questions × 2)",
        "this takes 0:04 and the time of the last replies",  # 2 · 11/10 + 2 · 11/20 = 3.3 s
    ]
    assert lines[-3:] == [
        f"runs: {out / 'latency.jsonl'}",
        f"next: ragworthy score latency --gold {path} --runs {out / 'latency.jsonl'}",
        "latency: 4 cells, 32 replies (exit 0)",
    ]
    rows = rows_of(out / "latency.jsonl")
    runs = [msgspec.convert(row, Run) for row in rows]
    assert len(runs) == len({run.run_id for run in runs}) == 4 * 11 == len(server.asked())
    counted = Counter((run.config_id, run.load_rps, run.qid) for run in runs if not run.warmup)
    wanted = {(c, r, f"A{n}"): 2 for c in (first, second) for r in (10, 20) for n in range(1, 5)}
    assert counted == wanted
    orders = [[row["qid"] for row in rows[start : start + 11]] for start in range(0, 44, 11)]
    assert orders == [orders[0]] * 4
    assert all(row["warmup"] for start in range(0, 44, 11) for row in rows[start : start + 3])
    assert [row["ts"] for row in rows] == sorted(row["ts"] for row in rows)
    for row in rows:
        assert row["e2e_ms"] >= row["lag_ms"] >= 0
        assert row["e2e_ms"] >= (300 if row["q"].startswith("slow") else 0)
        assert row["knobs"] == {"k": 1 if row["config_id"] == first else 2}
        assert row["stage_ms"] == {"retrieval": 1.5, "llm": 2.5}
        assert row["usage"] == {"prompt_tokens": len(row["q"])}
    scored = cli("score", "latency", "--gold", path, "--runs", out / "latency.jsonl")
    assert scored.code in (0, 1, 3, 4), scored.err


def test_a_part_of_the_gold_set_is_not_to_be_scored_with_the_whole(tmp_path: Path, server: Served, cli: Cli) -> None:
    path = gold(tmp_path, "one?", "two?")
    for verb in (("latency", "--loads", "20", "--warmup", "0"), ("stability", "--seeds", "0")):
        call = ("experiment", *verb, "--target", server.url, "--gold", path, "--out")
        assert "next: " in cli(*call, tmp_path / f"{verb[0]}-whole").out
        part = cli(*call, tmp_path / f"{verb[0]}-part", "--limit", 1)
        assert (part.code, "next: " in part.out) == (0, False)


def test_random_gaps_are_the_same_in_every_cell_and_keep_the_rate(tmp_path: Path, server: Served) -> None:
    path, out = gold(tmp_path, *(f"{n}?" for n in range(20))), tmp_path / "out"
    sweep = latency.plan(path, [{"k": 1}, {"k": 2}], loads=[20], warmup=0, poisson=True)
    done = latency.run(sweep, open_target(server.url, Options()), latency.Options(out))
    assert (done.finished, done.total, len(done.cells)) == (True, 2, 2)
    assert json.loads((out / "latency.json").read_bytes())["gaps"] == "poisson"
    rows = rows_of(out / "latency.jsonl")
    times = [datetime.fromisoformat(row["ts"]).timestamp() - row["lag_ms"] / 1000 for row in rows]  # when it was due
    first, second = ([after - before for before, after in pairwise(part)] for part in (times[:20], times[20:]))
    assert first == pytest.approx(second, abs=0.0025)  # time stamps are cut to milliseconds
    assert max(first) > 2 * 0.05 > 0.05 > 2 * min(first), "not every 50 ms"
    assert [cell.held_rps for cell in done.cells] == pytest.approx([20, 20], rel=0.05)


def test_what_the_summary_says(tmp_path: Path, server: Served, cli: Cli) -> None:
    path, out = gold(tmp_path, "one?", "status 500 x", "two?"), tmp_path / "out"
    done = cli("experiment", "latency", "--target", server.url, "--gold", path, "--out", out, "--loads", "20",
               "--retries", 0, "--warmup", 3, "--requests", 9, "--knob", "k=1")  # fmt: skip
    assert done.code == 1
    name = config_id({"k": 1})
    assert done.out.splitlines()[-1] == "latency: 1 cell, 3 of 9 replies are errors (exit 1)"
    assert "  errors: status 500 3" in done.out.splitlines()
    body = json.loads((out / "latency.json").read_bytes())
    cell = body["cells"][0]
    assert body["schema"] == "ragworthy.latency/1"
    assert body["target"] == server.url
    assert body["gold"] == {"path": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    assert (body["questions"], body["passes"], body["warmup"], body["gaps"]) == (3, 3, 3, "fixed")
    assert (cell["config_id"], cell["knobs"], cell["load_rps"]) == (name, {"k": 1}, 20.0)
    assert (cell["requests"], cell["warmup"], cell["errors"], cell["warmup_errors"]) == (9, 3, 3, 1)
    assert (cell["reasons"], cell["overloaded"], cell["retried"]) == ({"status 500": 3}, 0, 0)
    assert 1 <= cell["most_in_flight"] <= 9
    sent = [row for row in rows_of(out / "latency.jsonl") if not row["warmup"]]
    errors = [row for row in sent if "error" in row]
    assert [row["error"] for row in errors] == ["status 500: so sorry"] * 3
    assert all(row["answer_json"] is None and row["retrieved_ids"] == [] and row["e2e_ms"] > 0 for row in errors)


def test_a_retry_is_counted(tmp_path: Path, server: Served, cli: Cli) -> None:
    path, out = gold(tmp_path, "flaky 1"), tmp_path / "out"
    done = cli("experiment", "latency", "--target", server.url, "--gold", path, "--out", out, "--loads", "5",
               "--warmup", 0, "--retries", 2)  # fmt: skip
    assert done.code == 0
    cell = json.loads((out / "latency.json").read_bytes())["cells"][0]
    assert (cell["retried"], cell["held_rps"], cell["rate_off"]) == (1, None, None)
    assert f"{cell['config_id']} at 5/s: 1 request, 0 errors, at most 1 in flight" in done.out


def test_a_rate_that_was_not_held_is_warned_about(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hogging_target.py").write_text(
        "def ask(**asked):\n"
        "    sum(range(12_000_000))  # one step for the interpreter: nobody else runs meanwhile\n"
        "    return {'answer_json': {'claim': 'x'}, 'retrieved_ids': []}\n"
    )
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    path, out = gold(tmp_path, *(f"{n}?" for n in range(15))), tmp_path / "out"
    done = cli("experiment", "latency", "--target", "hogging_target:ask", "--gold", path, "--out", out,
               "--loads", "50", "--warmup", 0)  # fmt: skip
    del sys.modules["hogging_target"]
    assert done.code == 0
    cell = json.loads((out / "latency.json").read_bytes())["cells"][0]
    assert cell["rate_off"] == pytest.approx(cell["held_rps"] / 50 - 1, abs=1e-6)
    assert cell["rate_off"] < -0.02
    warning = f"  warning: the rate held is {-cell['rate_off']:.1%} below the rate asked for; repeat it on a freer"
    assert f"{warning} machine" in done.out.splitlines()
    rows = rows_of(out / "latency.jsonl")
    assert max(row["lag_ms"] for row in rows) == cell["most_lag_ms"] > 20
    assert all(row["e2e_ms"] > row["lag_ms"] for row in rows), "what we were late by counts"
    times = [datetime.fromisoformat(row["ts"]).timestamp() for row in rows]
    assert 14 / (times[-1] - times[0]) == pytest.approx(cell["held_rps"], rel=0.02), "the file tells the real rate"


@pytest.mark.parametrize(("held", "off"), [(20.4, None), (19.6, None), (20.41, 0.0205), (19.5, -0.025), (None, None)])
def test_two_per_cent_are_allowed(held: float | None, off: float | None) -> None:
    cell = latency.Measured(
        config_id="c", knobs={}, load_rps=20.0, held_rps=held, requests=9, warmup=0, errors=0, reasons={},
        warmup_errors=0, overloaded=0, retried=0, most_in_flight=1, most_lag_ms=0.1,
    )  # fmt: skip
    assert cell.off == off


# latency: stopped and resumed


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def test_a_target_that_is_not_there_and_then_is(tmp_path: Path, cli: Cli) -> None:
    path, out, port = gold(tmp_path, *(f"{n}?" for n in range(30))), tmp_path / "out", free_port()
    call = ("experiment", "latency", "--target", f"http://127.0.0.1:{port}/ask", "--gold", path, "--out", out,
            "--loads", "20", "--retries", 0)  # fmt: skip
    done = cli(*call)
    assert done.code == 2
    message = done.err.splitlines()[0]
    assert message.startswith(f"http://127.0.0.1:{port}/ask: expected a target that can be reached, got in 1")
    assert " questions: unreachable: " in message
    assert message.endswith("[RW-J06]")
    assert sorted(one.name for one in out.iterdir()) == ["journal.jsonl"]
    with serving(tmp_path, port):
        assert cli(*call, "--resume").code == 0
    assert len(rows_of(out / "latency.jsonl")) == 35


def test_a_folder_that_is_taken(tmp_path: Path, server: Served, cli: Cli) -> None:
    path, out = gold(tmp_path, "one?"), tmp_path / "out"
    call = ("experiment", "latency", "--target", server.url, "--gold", path, "--out", out, "--warmup", 0)
    assert cli(*call, "--loads", "20").code == 0
    before = (out / "latency.jsonl").read_bytes()
    again = cli(*call, "--loads", "20")
    taken = f"{out / 'journal.jsonl'}: expected a new folder, got one with 1 cell [RW-J01]"
    assert (again.code, again.err.splitlines()[0]) == (2, taken)
    other = cli(*call, "--loads", "10", "--resume")
    assert other.code == 2
    said = "expected the run that the journal was begun with"
    assert other.err.splitlines()[0] == f"{out / 'journal.jsonl'}: loads: {said} (20), got another (10) [RW-J02]"
    other = cli(*call, "--loads", "20", "--requests", 3, "--resume")
    assert other.err.splitlines()[0] == f"{out / 'journal.jsonl'}: requests: {said} (none), got another (3) [RW-J02]"
    same = cli(*call, "--loads", "20", "--resume", "--quiet")
    assert (same.code, same.out) == (0, "latency: 1 cell, 1 reply (exit 0)\n")
    assert (out / "latency.jsonl").read_bytes() == before
    assert len(server.asked()) == 1
    (out / "journal.jsonl").unlink()
    theirs = cli(*call, "--loads", "20")
    assert (theirs.code, theirs.err.splitlines()[0].rpartition(" ")[2]) == (2, "[RW-U03]")
    assert (out / "latency.jsonl").read_bytes() == before


def journaled(out: Path) -> int:
    path = out / "journal.jsonl"
    return max(0, path.read_bytes().count(b"\n") - 1) if path.exists() else 0


def until_under_way(out: Path, server: Served) -> None:
    """Wait until two cells of six questions are safe and the third is being asked."""
    end = time.monotonic() + 60
    while journaled(out) < 2 or len(server.asked()) < 14:
        assert time.monotonic() < end, "the experiment does not get on"
        time.sleep(0.02)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_after_a_stop_only_the_incomplete_cells_are_repeated(tmp_path: Path, server: Served, how: int) -> None:
    path, out = gold(tmp_path, "one?", "two?", "three?", "slow 0.2"), tmp_path / "out"
    call = [sys.executable, "-m", "ragworthy", "experiment", "latency", "--target", server.url, "--gold", str(path),
            "--out", str(out), "--loads", "8,9,7,11,12", "--warmup", "2"]  # fmt: skip
    with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        until_under_way(out, server)
        os.kill(process.pid, how)
        told, wrong = process.communicate(timeout=30)
    safe = journaled(out)
    assert 2 <= safe < 5
    assert not (out / "latency.jsonl").exists()
    if how != signal.SIGKILL:
        assert process.returncode == 130
        ending = f"stopped: {safe} of 5 cells are safe in {out}; the same command with --resume goes on from there"
        assert told.splitlines()[-1] == f"{ending} (exit 130)"
        assert wrong == ""
    kept = (out / "journal.jsonl").read_bytes()
    before = len(server.asked())
    assert before > 6 * safe, "a cell was under way"
    done = subprocess.run([*call, "--resume"], capture_output=True, text=True, check=True)
    assert f"{5 - safe} cell" in done.stdout
    assert len(server.asked()) - before == 6 * (5 - safe)
    assert (out / "journal.jsonl").read_bytes().startswith(kept[: kept.rindex(b"\n") + 1])
    rows = rows_of(out / "latency.jsonl")
    counted = Counter((row["load_rps"], row["qid"]) for row in rows if not row["warmup"])
    assert counted == {(load, f"A{n}"): 1 for load in (8, 9, 7, 11, 12) for n in range(1, 5)}
    assert len(rows) == 30


def test_a_cell_of_the_journal_that_was_changed(tmp_path: Path, server: Served, cli: Cli) -> None:
    path, out = gold(tmp_path, "one?"), tmp_path / "out"
    call = ("experiment", "latency", "--target", server.url, "--gold", path, "--out", out, "--loads", "20")
    assert cli(*call).code == 0
    journal = out / "journal.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b'"requests":1,', b'"requests":"x",'))
    done = cli(*call, "--resume")
    message = f"{journal}:2: expected a cell, got: Expected `int`, got `str` - at `$.cell.requests` [RW-J03]"
    assert (done.code, done.err.splitlines()[0]) == (2, message)


def test_a_disk_that_is_full(tmp_path: Path, server: Served) -> None:
    path, out = gold(tmp_path, "one?", "two?"), tmp_path / "out"
    call = [sys.executable, "-m", "ragworthy", "experiment", "latency", "--target", server.url, "--gold", str(path),
            "--out", str(out), "--loads", "20,40,60", "--warmup", "0"]  # fmt: skip
    limited = "import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (2500, 2500)); sys.argv[:1] = []"
    whole = f"{limited}; runpy.run_module('ragworthy', run_name='__main__')"
    full = subprocess.run([sys.executable, "-c", whole, "ragworthy", *call[3:]], capture_output=True, text=True)
    safe = journaled(out)
    assert 1 <= safe < 3, "room for one cell or two"
    assert full.returncode == 2
    assert full.stderr.startswith(f"{out / 'journal.jsonl'}: cannot be written: ")
    safe_cells = "1 cell is safe" if safe == 1 else f"{safe} cells are safe"
    assert f"; {safe_cells}, the same command with --resume goes on from there [RW-J05]" in full.stderr
    assert not (out / "latency.jsonl").exists()
    done = subprocess.run([*call, "--resume"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "latency: 3 cells, 6 replies (exit 0)"
    assert len(rows_of(out / "latency.jsonl")) == 6


def test_the_warm_up_asks_other_questions_where_there_are_some(tmp_path: Path, server: Served, cli: Cli) -> None:
    path = gold(tmp_path, *(f"question {n}?" for n in range(1, 8)))
    args = ("experiment", "latency", "--target", server.url, "--gold", path, "--loads", "50", "--warmup", 3)
    done = cli(*args, "--out", tmp_path / "some", "--limit", 4)
    rows = rows_of(tmp_path / "some" / "latency.jsonl")
    assert [row["qid"] for row in rows if row["warmup"]] == ["A5", "A6", "A7"]
    assert {row["qid"] for row in rows if not row["warmup"]} == {"A1", "A2", "A3", "A4"}
    assert "warm-up:" not in done.out
    done = cli(*args, "--out", tmp_path / "none")
    rows = rows_of(tmp_path / "none" / "latency.jsonl")
    warm, measured = ([row["qid"] for row in rows if row["warmup"] is flag] for flag in (True, False))
    assert warm == measured[:-4:-1]  # those that are measured last
    said = "warm-up: 3 of 3 are measured later, too, for the gold set has no others (--limit leaves some)"
    assert said in done.out.splitlines()
    assert json.loads((tmp_path / "none" / "latency.json").read_text())["warmup_measured"] == 3
