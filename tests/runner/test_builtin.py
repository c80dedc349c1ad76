"""The built-in pipeline as a target, with a chat endpoint that is busy, slow, loading or dead."""

import json
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli, write_jsonl
from places import SERVERS
from ragworthy.index import build as indexing

pytest.importorskip("httpx", reason="SKIPPED: httpx is not installed")

SERVER = SERVERS / "chat_server.py"


@contextmanager
def serving() -> Iterator[str]:
    process = subprocess.Popen([sys.executable, str(SERVER)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()


@pytest.fixture
def url() -> Iterator[str]:
    with serving() as address:
        yield address


def told(url: str, path: str) -> Any:
    with urllib.request.urlopen(f"{url}/{path}") as reply:
        return json.load(reply)


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    """An index of one document."""
    (tmp_path / "lock.md").write_text("# Lock\n\nThe lock is red. It must be closed.\n", encoding="utf-8")
    indexing.build(tmp_path / "lock.md", tmp_path / "ix", dense="none")
    return tmp_path


def driven(cli: Cli, folder: Path, answerer: str, *more: object, questions: int = 6) -> Any:
    """A run over some questions about the lock."""
    rows = [{"qid": f"Q{n}", "question": f"What colour is lock {n}?", "answerable": True} for n in range(questions)]
    gold = write_jsonl(folder / "gold.jsonl", rows)
    words = ("--target", f"builtin:{folder / 'ix'}", "--gold", gold, "--out", folder / "out")
    return cli("run", *words, "--knob", f"answerer={answerer}", *more)


def traces(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "out" / "traces.jsonl").read_text("utf-8").splitlines()]


KEPT = ["lock.md|s=1|p=000|b=001"]


def test_a_question_whose_time_is_up_leaves_no_request_behind(url: str, lock: Path, cli: Cli) -> None:
    begun = time.monotonic()
    done = driven(cli, lock, f"chat:slow@{url}", "--concurrency", 2, "--timeout", 0.5)
    assert done.code == 1
    assert time.monotonic() - begun < 12  # three rounds of half a second; the server would take five for each
    for _ in range(50):
        if not told(url, "flight")["now"]:
            break
        time.sleep(0.02)
    assert told(url, "flight") == {"now": 0, "most": 2, "left": 6}
    for trace in traces(lock):
        assert (trace["error"], trace["error_code"]) == ("timeout: no reply within 0.5 s", "RW-N06")
        assert (trace["retrieved_ids"], trace["usage"]["model"]) == (KEPT, "slow")
        assert trace["stage_ms"]["llm"] >= 400


@pytest.mark.parametrize("concurrency", [1, 4])
def test_no_more_requests_are_in_flight_than_questions(url: str, lock: Path, cli: Cli, concurrency: int) -> None:
    done = driven(cli, lock, f"chat:good@{url}", "--concurrency", concurrency, questions=24)
    assert done.code == 0
    assert 1 <= told(url, "flight")["most"] <= concurrency
    assert len(told(url, "requests")) == 24


@pytest.mark.parametrize("model", ["busy", "drops", "loading"])
def test_what_a_retry_gets_is_not_lost(url: str, lock: Path, cli: Cli, model: str) -> None:
    done = driven(cli, lock, f"chat:{model}@{url}", "--retries", 3)
    assert (done.code, done.err) == (0, "")
    assert {trace["answer_json"]["claim"] for trace in traces(lock)} == {"It is as the first chunk says."}
    assert {trace["usage"]["attempts"] for trace in traces(lock)} == {1}
    timed = [json.loads(line) for line in (lock / "out" / "timings.jsonl").read_text("utf-8").splitlines()]
    assert sum(one["attempts"] for one in timed) == len(told(url, "requests")) > 6


def test_without_retries_each_of_them_is_an_error(url: str, lock: Path, cli: Cli) -> None:
    done = driven(cli, lock, f"chat:busy@{url}", "--retries", 0)
    assert done.code == 1
    assert {(trace["error"], trace["error_code"]) for trace in traces(lock)} == {("status 429: slow down", "RW-N07")}


def test_a_dead_endpoint_stops_the_run_with_one_sentence(lock: Path, cli: Cli) -> None:
    done = driven(cli, lock, "chat:m@http://127.0.0.1:9/v1", "--retries", 0, questions=40)
    assert done.code == 2
    line = (
        f"builtin:{lock / 'ix'}: expected a target that can be reached, got in 10 questions: "
        "unreachable: http://127.0.0.1:9/v1/chat/completions: Connection refused [RW-J06]"
    )
    assert done.err.splitlines()[0] == line
    assert not (lock / "out" / "traces.jsonl").exists()


def test_an_endpoint_that_dies_in_the_middle_stops_the_run_and_loses_nothing(lock: Path, cli: Cli) -> None:
    with serving() as address:
        done = driven(cli, lock, f"chat:dies-8@{address}", "--retries", 1, "--timeout", 3, questions=40)
        assert done.code == 2
        first = done.err.splitlines()[0]
        assert first.startswith(f"builtin:{lock / 'ix'}: expected a target that can be reached, got in 1")
        assert first.endswith(
            f" questions in a row: unreachable: {address}/chat/completions: Connection refused [RW-J06]"
        )
    replies = [json.loads(line) for line in (lock / "out" / "journal.jsonl").read_text("utf-8").splitlines()[1:]]
    assert [one.get("error") for one in replies].count(None) == 8


def test_errors_keep_what_is_known_and_what_the_model_wrote(url: str, lock: Path, cli: Cli) -> None:
    done = driven(cli, lock, f"chat:truncated@{url}")
    assert done.code == 1
    for trace in traces(lock):
        assert trace["error"].startswith("truncated: the server cut the reply at 7 tokens, twice, before the 512 of")
        assert (trace["error_code"], trace["retrieved_ids"]) == ("RW-N05", KEPT)
        assert trace["raw"] == '{"citations": ["1"], "claim":'
        assert (trace["usage"]["attempts"], trace["usage"]["total_tokens"]) == (2, 214)
        assert set(trace["stage_ms"]) == {"retrieval", "rerank", "llm"}
        assert trace["topk"][0]["id"] == KEPT[0]


def test_a_model_that_never_keeps_to_the_form_stops_the_run(url: str, lock: Path, cli: Cli) -> None:
    done = driven(cli, lock, f"chat:bad@{url}", questions=40)
    assert done.code == 2
    assert "the model did not answer in the form asked for, twice: expected JSON with claim" in done.err
    assert "[RW-J09]" in done.err.splitlines()[0]
    assert "Sure! The answer is 42." in done.err
    assert "wanted:" not in done.err  # that is for whoever writes a target
    assert len(told(url, "requests")) < 40


def test_a_model_that_is_always_cut_stops_the_run(url: str, lock: Path, cli: Cli) -> None:
    done = driven(cli, lock, f"chat:truncated@{url}", "--concurrency", 1, questions=15)
    first, _, _, got, advice = done.err.splitlines()
    assert first.startswith(
        f"builtin:{lock / 'ix'}: expected replies that can be read, got in 10 questions: truncated: the server cut"
    )
    assert (done.code, got.strip()) == (2, 'got: {"citations": ["1"], "claim":')
    assert "start the server with a larger context" in advice
    assert len(told(url, "requests")) == 20


def test_what_is_no_completion_is_shown_when_the_run_stops(url: str, lock: Path, cli: Cli) -> None:
    done = driven(cli, lock, f"chat:not-chat@{url}", questions=12)
    assert (done.code, "  got: <html>Welcome," in done.err) == (2, True)


def test_one_question_that_fails_is_no_matter_of_concurrency(url: str, lock: Path, cli: Cli) -> None:
    for model, words in (("slow", "raise --timeout"), ("busy-for-long", "Wait until the server answers")):
        done = driven(cli, lock, f"chat:{model}@{url}", "--check", "--timeout", 1)
        assert (done.code, words in done.err, "--concurrency" in done.err) == (2, True, False), done.err


def test_where_most_replies_are_errors_they_are_asked_again_before_a_score(tmp_path: Path, cli: Cli) -> None:
    rows = [{"qid": f"Q{n}", "question": f"lock {n}?", "answerable": False} for n in range(4)]
    gold = write_jsonl(tmp_path / "gold.jsonl", rows)
    body = "{'answer_json': {'claim': 'not in context'}, 'retrieved_ids': []}"
    for bad, again in ((3, True), (2, False)):
        (tmp_path / f"mine{bad}.py").write_text(f"def answer(q):\n    assert int(q[5]) >= {bad}\n    return {body}\n")
        out = tmp_path / f"out{bad}"
        done = cli("run", "--target", f"{tmp_path / f'mine{bad}.py'}:answer", "--gold", gold, "--out", out)
        score = f"ragworthy score answers --gold {gold} --trace {out / 'traces.jsonl'}"
        first = "the same command with --resume --retry-errors asks the 3 errors again; --check shows one reply"
        ending = [f"next: {first}", f"then: {score}"] if again else [f"next: {score}"]
        assert [line for line in done.out.splitlines() if line[:5] in ("next:", "then:")] == ending


def test_the_next_command_names_the_index(url: str, lock: Path, cli: Cli) -> None:
    rows = [{"qid": f"Q{n}", "question": f"What colour is lock {n}?", "answerable": False} for n in range(2)]
    source = {"answerable": True, "gold_evidence": ["The lock is red."], "gold_claim_substr": ["red"]}
    gold = write_jsonl(lock / "more.jsonl", [*rows, {"qid": "Q9", "question": "What colour is the lock?", **source}])
    words = ("--target", f"builtin:{lock / 'ix'}", "--gold", gold, "--out", lock / "more", "--knob")
    done = cli("run", *words, f"answerer=chat:good@{url}")
    score = f"next: ragworthy score answers --gold {gold} --trace {lock / 'more/traces.jsonl'} --corpus {lock / 'ix'}"
    assert score in done.out.splitlines()
    scored = cli(*score.split()[2:])
    assert "verdict" in scored.out


def test_what_a_server_refuses_is_said_once(url: str, lock: Path, cli: Cli) -> None:
    done = driven(cli, lock, f"chat:no-schema@{url}", "--concurrency", 1)
    assert done.code == 0
    (note,) = [line for line in done.out.splitlines() if line.startswith("note: ")]
    assert note.startswith(f"note: {url}/chat/completions refuses json_schema: its replies are held to json_object")
    assert len(told(url, "requests")) == 6 + 2
    assert {trace["usage"]["format"] for trace in traces(lock)} == {"json_object"}


# the index


class Embeds:
    """An embedding endpoint that takes its time, and counts."""

    def __init__(self) -> None:
        self.now = self.most = self.asked = 0
        self.seconds = 0.0
        self.status = 200
        embeds, guard = self, threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing."""

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with guard:
                    embeds.asked += 1
                    embeds.now += 1
                    embeds.most = max(embeds.most, embeds.now)
                time.sleep(embeds.seconds)
                with guard:
                    embeds.now -= 1
                data = json.dumps({"data": [{"embedding": [1.0, 2.0]} for _ in body["input"]]}).encode()
                self.send_response(embeds.status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"


@pytest.fixture
def embeds(tmp_path: Path) -> Iterator[Embeds]:
    """An index whose vectors come from an endpoint."""
    made = Embeds()
    thread = threading.Thread(target=made.server.serve_forever)
    thread.start()
    try:
        (tmp_path / "lock.md").write_text("# Lock\n\nThe lock is red. It must be closed.\n", encoding="utf-8")
        indexing.build(tmp_path / "lock.md", tmp_path / "ix", dense=f"openai:m@{made.url}")
        yield made
    finally:
        made.server.shutdown()
        made.server.server_close()
        thread.join()


def test_an_index_whose_model_may_not_be_asked_is_refused_once(
    embeds: Embeds, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RAGWORTHY_EMBED_URL", raising=False)
    done = driven(cli, tmp_path, "extractive", questions=40)
    assert done.code == 2
    assert done.err.splitlines()[0] == (
        f"{tmp_path / 'ix' / 'manifest.json'}: embedding.model: expected RAGWORTHY_EMBED_URL={embeds.url} in the "
        "environment, without which no index may make us ask an address [RW-I04]"
    )
    assert len(done.err.splitlines()) == 2
    # the same command works once it may, and what needs no model works without
    monkeypatch.setenv("RAGWORTHY_EMBED_URL", embeds.url)
    assert driven(cli, tmp_path, "extractive").code == 0


def test_an_embedding_endpoint_that_is_gone_stops_the_run(
    embeds: Embeds, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGWORTHY_EMBED_URL", embeds.url)
    embeds.server.shutdown()
    embeds.server.server_close()
    done = driven(cli, tmp_path, "extractive", "--concurrency", 10, questions=40)
    assert done.code == 2
    first = done.err.splitlines()[0]
    assert "expected a target that can be reached, got in 10 questions: unreachable: " in first
    assert f"{embeds.url}/embeddings" in first
    assert first.endswith("[RW-J06]")


def test_an_embedding_endpoint_that_refuses_every_question_stops_the_run(
    embeds: Embeds, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGWORTHY_EMBED_URL", embeds.url)
    embeds.status = 401
    done = driven(cli, tmp_path, "extractive", questions=40)
    first = done.err.splitlines()[0]
    assert (done.code, first.endswith("[RW-J09]")) == (2, True)
    assert f"status 401: {embeds.url}/embeddings: expected status 200, got status 401" in first


def test_retrieval_that_goes_on_after_its_question_counts_as_in_flight(
    embeds: Embeds, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("RAGWORTHY_EMBED_URL", embeds.url)
    embeds.seconds = 1.2
    done = driven(cli, tmp_path, "extractive", "--concurrency", 2, "--timeout", 0.4)
    assert done.code == 1
    assert embeds.most <= 2
    assert {trace["error"] for trace in traces(tmp_path)} == {"timeout: no reply within 0.4 s"}
    embeds.seconds = 0.0
    threads = [one for one in threading.enumerate() if one.name == "retrieval"]
    assert threads
    for thread in threads:
        thread.join(30)
    assert caplog.records == []  # what comes when the run is over disturbs nobody
