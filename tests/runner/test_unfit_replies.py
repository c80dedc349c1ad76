"""A target that makes the same mistake in every reply stops the run early, and the folder is not a dead end."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import Cli, Row, write_jsonl
from places import SERVERS
from ragworthy.errors import DataError
from ragworthy.experiments import latency
from ragworthy.runner import run as running
from ragworthy.runner.contract import Options
from ragworthy.runner.faults import same_fault

SHAPE = (
    '{"answer_json": {"claim": "…", "citations": ["id", …]}, "retrieved_ids": ["id", …]}'
    ' or {"answer": "… [1]", "documents": [{"id": "…", "text": "…"}, …]}'
)
DO = (
    "  replies_unfit: Mend the target ('ragworthy run --check' shows one reply); then the same command with --resume "
    "asks these again. --keep-going asks on, whatever comes."
)


@pytest.fixture(autouse=True)
def callables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(SERVERS)
    monkeypatch.setenv("MENDED", str(tmp_path / "mended"))
    yield
    sys.modules.pop("unfit_callables", None)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    words = [sys.executable, str(SERVERS / "ask_server.py"), str(tmp_path / "asked.jsonl")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/ask"
        process.kill()


def gold_of(folder: Path, texts: list[str]) -> Path:
    rows = [{"qid": f"Q{n}", "question": text, "answerable": True} for n, text in enumerate(texts)]
    return write_jsonl(folder / "gold.jsonl", rows)


def lines(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def asked(folder: Path) -> int:
    return len((folder / "asked.jsonl").read_text().splitlines())


@pytest.mark.parametrize("concurrency", [1, 4])
def test_ten_replies_of_another_shape_stop_the_run_and_show_the_shape(
    tmp_path: Path, cli: Cli, concurrency: int
) -> None:
    gold = gold_of(tmp_path, [f"what {n}?" for n in range(30)])
    out = tmp_path / "out"
    args = ("run", "--target", "unfit_callables:mended", "--gold", gold, "--out", out, "--concurrency", concurrency)
    done = cli(*args)
    assert (done.code, done.out) == (2, "")
    told = done.err.splitlines()
    n = int(told[2].partition('"qid":"Q')[2].partition('"')[0])
    assert n < concurrency  # the first question, unless its thread was held up while the others went on
    assert told == [
        "unfit_callables:mended: expected replies that can be read, got in 10 questions: "
        "bad reply: documents: expected a list of documents, got nothing [RW-J09]",
        DO,
        f'  asked: {{"qid":"Q{n}","q":"what {n}?","seed":0,"jitter":"none","knobs":{{}}}}',
        f'  got: {{"answer": "re: what {n}?", "sources": ["c1"]}}',
        f"  wanted: {SHAPE}",
    ]
    assert [one.name for one in out.iterdir()] == ["journal.jsonl"]
    assert len(lines(out / "journal.jsonl")) == 1  # whatever the concurrency: nothing of it is kept
    (tmp_path / "mended").touch()
    done = cli(*args, "--resume")
    assert (done.code, done.out.splitlines()[0]) == (0, "asked 30 = answered 30 + refused 0 + errored 0")


@pytest.mark.parametrize("concurrency", [1, 4])
def test_the_same_mistake_in_a_row_stops_a_run_that_went_well_before(
    tmp_path: Path, cli: Cli, concurrency: int
) -> None:
    gold = gold_of(tmp_path, [*(f"what {n}?" for n in range(6)), *(f"bad {n}" for n in range(60)), "last?"])
    out = tmp_path / "out"
    args = ("run", "--target", "unfit_callables:fails_by_question", "--gold", gold, "--out", out)
    done = cli(*args, "--concurrency", concurrency)
    first, *rest = done.err.splitlines()
    assert (done.code, done.out) == (2, "")
    wanted = (
        "unfit_callables:fails_by_question: expected replies that can be read, got in 10 questions in a row: raised: "
    )
    assert first.startswith(f"{wanted}LookupError: nothing for bad ")
    place = f"  raised at: {SERVERS / 'unfit_callables.py'}, line "
    assert [line.startswith(place) for line in rest] == [False, False, True, False]
    kept = lines(out / "journal.jsonl")[1:]
    assert rest[-1] == f"  {len(kept)} replies are safe in {out / 'journal.jsonl'}"
    assert sorted(one["n"] for one in kept if "error" not in one) == list(range(6))  # those in flight among them
    assert len(kept) == 6 or concurrency == 4  # there an error may come before a good reply, and is not in that row
    # not mended, it stops again; whoever wants the errors gets them
    assert cli(*args, "--resume").code == 2
    done = cli(*args, "--resume", "--keep-going")
    assert (done.code, done.out.splitlines()[0]) == (1, "asked 67 = answered 7 + refused 0 + errored 60")
    # and once it is mended the errors, and nothing else, are asked again
    before = [one for one in lines(out / "journal.jsonl")[1:] if "error" not in one]
    (tmp_path / "mended").touch()
    assert cli(*args, "--resume").out.splitlines()[0] == "asked 67 = answered 7 + refused 0 + errored 60"
    done = cli(*args, "--resume", "--retry-errors")
    assert (done.code, done.out.splitlines()[0]) == (0, "asked 67 = answered 67 + refused 0 + errored 0")
    after = [one for one in lines(out / "journal.jsonl")[1:] if "error" not in one]
    assert after[: len(before)] == before
    assert len(after) == 67
    assert [one["q"] for one in lines(out / "traces.jsonl")][-1] == "last?"
    assert not [one for one in lines(out / "traces.jsonl") if "error" in one]


def test_a_retry_that_fails_again_keeps_the_errors_it_had(tmp_path: Path, cli: Cli) -> None:
    gold = gold_of(tmp_path, [f"bad {n}" for n in range(12)])
    out = tmp_path / "out"
    args = ("run", "--target", "unfit_callables:fails_by_question", "--gold", gold, "--out", out)
    done = cli(*args, "--keep-going")
    assert done.out.splitlines()[-2:] == [
        "next: the same command with --check shows one reply; --resume --retry-errors asks all again",
        "run: 12 of 12 replies are errors (exit 1)",
    ]
    journal = (out / "journal.jsonl").read_bytes()
    assert cli(*args, "--resume", "--retry-errors").err.startswith(
        "unfit_callables:fails_by_question: expected replies"
    )
    assert (out / "journal.jsonl").read_bytes() == journal
    done = cli(*args, "--resume")
    assert (done.code, done.out.splitlines()[0]) == (1, "asked 12 = answered 0 + refused 0 + errored 12")


def test_retry_errors_goes_with_resume(tmp_path: Path, cli: Cli) -> None:
    gold = gold_of(tmp_path, ["a"])
    args = ("run", "--target", "unfit_callables:foreign", "--gold", gold, "--out", tmp_path / "out", "--retry-errors")
    done = cli(*args)
    assert (done.code, done.err.splitlines()[0]) == (
        2,
        "--retry-errors: expected --resume with it, for it asks again what an earlier run has asked [RW-U01]",
    )


def test_a_retry_that_is_killed_at_random_moments_loses_nothing(tmp_path: Path) -> None:
    texts = [f"bad {n}" if n % 3 else f"what {n}?" for n in range(90)]
    gold = gold_of(tmp_path, texts)
    out = tmp_path / "out"
    command = [sys.executable, "-m", "ragworthy", "run", "--target", "unfit_callables:fails_by_question"]
    command += ["--gold", str(gold), "--out", str(out), "--concurrency", "2"]
    environment = {**os.environ, "MENDED": str(tmp_path / "mended")}
    first = subprocess.run([*command], cwd=SERVERS, env=environment, capture_output=True, text=True)
    assert first.stdout.splitlines()[0] == "asked 90 = answered 30 + refused 0 + errored 60"
    (tmp_path / "mended").touch()
    chance = random.Random(7)
    for _ in range(8):
        before = (out / "journal.jsonl").read_bytes()
        started = subprocess.Popen(
            [*command, "--resume", "--retry-errors"], cwd=SERVERS, env=environment, stdout=subprocess.DEVNULL
        )
        time.sleep(0.35 + chance.uniform(0, 0.25))
        started.send_signal(signal.SIGKILL)
        started.wait()
        assert (out / "journal.jsonl").read_bytes().startswith(before[: before.rindex(b"\n") + 1])
    if not (out / "run.json").exists():  # what is left are errors: they are results as well
        done = subprocess.run([*command, "--resume"], cwd=SERVERS, env=environment, capture_output=True, text=True)
        assert done.stdout.startswith("asked 90 = answered ")
    done = subprocess.run(
        [*command, "--resume", "--retry-errors"], cwd=SERVERS, env=environment, capture_output=True, text=True
    )
    assert done.stdout.splitlines()[0] == "asked 90 = answered 90 + refused 0 + errored 0"
    assert [one["answer_json"]["claim"] for one in lines(out / "traces.jsonl")] == texts
    whole = tmp_path / "whole"
    subprocess.run([*command[:-4], "--out", str(whole)], cwd=SERVERS, env=environment, check=True, capture_output=True)
    assert (whole / "traces.jsonl").read_bytes() == (out / "traces.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("q", "got", "hint"),
    [
        ("status 404", "status 404: so sorry", "  Nothing answers under this path: look at the end of the address."),
        (
            "status 401",
            "status 401: so sorry",
            "  A key is sent with --header Authorization=VARIABLE, which names an environment variable.",
        ),
        ("status 422", "status 422: so sorry", None),
        ("json", "bad reply: expected JSON, got <html>no</html> (invalid character (byte 0))", f"  wanted: {SHAPE}"),
        ("shape", "bad reply: answer_json.claim: expected str, got int", f"  wanted: {SHAPE}"),
    ],
)
def test_an_address_that_refuses_every_question_is_asked_ten_times(
    server: str, tmp_path: Path, cli: Cli, q: str, got: str, hint: str | None
) -> None:
    gold = gold_of(tmp_path, [q] * 40)
    done = cli("run", "--target", server, "--gold", gold, "--out", tmp_path / "out", "--concurrency", 1)
    first, do, *rest = done.err.splitlines()
    assert (done.code, first) == (
        2,
        f"{server}: expected replies that can be read, got in 10 questions: {got} [RW-J09]",
    )
    assert do == DO
    assert rest[-1] == (hint or "  got: so sorry")
    assert asked(tmp_path) == 10


@pytest.mark.parametrize("q", ["status 429 0", "status 500"])
def test_what_may_pass_does_not_stop_a_run(server: str, tmp_path: Path, cli: Cli, q: str) -> None:
    gold = gold_of(tmp_path, [q] * 12)
    done = cli("run", "--target", server, "--gold", gold, "--out", tmp_path / "out", "--retries", 0)
    assert (done.code, done.out.splitlines()[0]) == (1, "asked 12 = answered 0 + refused 0 + errored 12")


def test_no_secret_is_shown_with_the_reply(
    server: str, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIPELINE_KEY", "Bearer sk-0123456789abcdef")
    for q, shown in (("echo error", "no entry for *** /ask"), ("echo wrong", "*** /ask")):
        out = tmp_path / q.split()[1]
        gold = gold_of(tmp_path, [q] * 12)
        args = ("run", "--target", server, "--gold", gold, "--out", out)
        done = cli(*args, "--header", "Authorization=PIPELINE_KEY")
        assert done.code == 2
        assert f"  got: {shown}" in done.err.splitlines()
        assert "sk-0123456789abcdef" not in done.err


def test_a_key_of_the_environment_in_a_reply_is_not_shown(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-abcdef0123456789")
    target = 'cmd:sh -c \'while read line; do echo "{\\"key\\": \\"$OPENAI_API_KEY\\"}"; done\''
    gold = gold_of(tmp_path, ["a"] * 12)
    for more in ((), ("--check",)):
        done = cli("run", "--target", target, "--gold", gold, "--out", tmp_path / "out", *more)
        assert done.code == 2
        assert 'got: {"key": "***"}' in done.err + done.out
        assert "sk-abcdef0123456789" not in done.err + done.out


def test_a_command_that_dies_on_every_question_stops_too(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "broken.py").write_text("import no_such_module_x\n")
    gold = gold_of(tmp_path, [f"what {n}?" for n in range(30)])
    target = f"cmd:{sys.executable} {tmp_path / 'broken.py'}"
    done = cli("run", "--target", target, "--gold", gold, "--out", tmp_path / "out", "--concurrency", 2)
    assert done.err.splitlines()[0] == (
        f"{target}: expected replies that can be read, got in 10 questions: "
        "died: exit code 1: ModuleNotFoundError: No module named 'no_such_module_x' [RW-J09]"
    )


def test_a_few_questions_are_asked_to_the_end(tmp_path: Path, cli: Cli) -> None:
    gold = gold_of(tmp_path, [f"what {n}?" for n in range(9)])
    done = cli("run", "--target", "unfit_callables:foreign", "--gold", gold, "--out", tmp_path / "out")
    assert (done.code, done.out.splitlines()[1]) == (1, "errors: bad reply 9")


def test_different_mistakes_do_not_add_up(tmp_path: Path, cli: Cli) -> None:
    recorded = [{"qid": f"Q{n}", "answer_json": {"claim": "x"}} for n in range(9)]
    recorded += [{"qid": f"Q{n}", "answer_json": {"claim": 4}, "retrieved_ids": []} for n in range(9, 18)]
    traces = write_jsonl(tmp_path / "t.jsonl", recorded)
    gold = gold_of(tmp_path, ["what?"] * 18)
    done = cli("run", "--target", f"replay:{traces}", "--gold", gold, "--out", tmp_path / "out", "--concurrency", 1)
    assert (done.code, done.out.splitlines()[1]) == (1, "errors: bad reply 18")


def test_stability_stops_as_well(tmp_path: Path, cli: Cli) -> None:
    gold = gold_of(tmp_path, ["what?", "why?"])
    args = ("experiment", "stability", "--target", "unfit_callables:mended", "--gold", gold, "--out", tmp_path / "out")
    done = cli(*args)
    assert done.err.splitlines()[0].endswith("bad reply: documents: expected a list of documents, got nothing [RW-J09]")
    (tmp_path / "mended").touch()
    done = cli(*args, "--resume")
    assert (done.code, done.out.splitlines()[-1]) == (0, "run: 40 replies (exit 0)")


def test_latency_stops_as_well(tmp_path: Path) -> None:
    gold = gold_of(tmp_path, [f"what {n}?" for n in range(40)])
    sweep = latency.plan(gold, [{}], loads=[100.0], warmup=2)
    target = running.open_target("unfit_callables:foreign", Options())
    with pytest.raises(DataError) as caught:
        latency.run(sweep, target, latency.Options(tmp_path / "out", timeout=5))
    problem, *more = caught.value.lines()
    assert problem.endswith(" questions: bad reply: documents: expected a list of documents, got nothing [RW-J09]")
    assert f"  wanted: {SHAPE}" in more
    assert problem.startswith("unfit_callables:foreign: expected replies that can be read, got in 10 questions: ")
    done = latency.run(sweep, target, latency.Options(tmp_path / "out", timeout=5, keep_going=True))
    assert (done.finished, done.cells[0].reasons) == (True, {"bad reply": 40})


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (
            "bad reply: retrieved_ids[0]: expected str, got int",
            "bad reply: retrieved_ids[7]: expected str, got null",
            1,
        ),
        ('bad reply: qid: expected "Q1", got "Q0"', 'bad reply: qid: expected "Q2", got "Q1"', 1),
        ("bad reply: answer_json: expected object, got str", "bad reply: object missing required field answer_json", 0),
        ("raised: KeyError: 'a'", "raised: KeyError: 'b'", 1),
        ("raised: KeyError: 'a'", "raised: ValueError: a", 0),
        ("status 401: no", "status 403: no", 1),
        ("timeout: no reply within 5 s", "timeout: no reply within 5 s", 0),
        ("status 429: later", "status 429: later", 0),
        ("no recorded trace", "no recorded trace", 0),
    ],
)
def test_which_mistakes_are_the_same(one: str, other: str, same: int) -> None:
    assert (same_fault(one) is not None and same_fault(one) == same_fault(other)) is bool(same)
