"""Every kind of target against real parts: a server process, real processes, real callables, a file."""

import asyncio
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from conftest import write_jsonl
from places import SERVERS
from ragworthy.errors import DataError, MissingExtra, UsageError
from ragworthy.runner.contract import Ask, Options, Reply, Target, checked, reason_of
from ragworthy.runner.targets import open_target
from ragworthy.runner.targets.callables import Called

GOOD: dict[str, Any] = {"answer_json": {"claim": "x"}, "retrieved_ids": []}
LINES = f"cmd:{sys.executable} {SERVERS / 'line_target.py'}"


class Served(NamedTuple):
    """A server process, and what it was asked."""

    port: int
    log: Path
    process: "subprocess.Popen[str]"

    def url(self, path: str = "/ask", userinfo: str = "") -> str:
        return f"http://{userinfo}127.0.0.1:{self.port}{path}"

    def asked(self) -> list[str]:
        return [json.loads(line)["qid"] for line in self.log.read_text().splitlines()]


def serve(folder: Path, port: int = 0) -> Served:
    log = folder / "asked.jsonl"
    process = subprocess.Popen(
        [sys.executable, str(SERVERS / "ask_server.py"), str(log), str(port)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return Served(int(process.stdout.readline()), log, process)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    made = serve(tmp_path_factory.mktemp("server"))
    with made.process:
        yield made
        made.process.kill()


@pytest.fixture
def callables(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(SERVERS)
    yield
    for name in ("slow_callables", "broken_module"):
        sys.modules.pop(name, None)


def replies(target: Target, asks: list[Ask], timeout: float = 20.0) -> list[Reply]:
    """The replies to questions asked one after another."""

    async def all_of_them() -> list[Reply]:
        await target.open()
        try:
            return [await target.ask(one, timeout) for one in asks]
        finally:
            await target.close()

    return asyncio.run(all_of_them())


def asked(name: str, q: str = "what?", timeout: float = 20.0, **options: Any) -> Reply:
    """The reply of a target to one question."""
    return replies(open_target(name, Options(**options)), [Ask("A1", q)], timeout)[0]


def usage(name: str, **options: Any) -> str:
    with pytest.raises(UsageError) as caught:
        target = open_target(name, Options(**options))
        replies(target, [Ask("A1", "what?")])
    return caught.value.problems[0].message


# the contract


def test_only_the_fields_of_the_contract_are_kept() -> None:
    given = {
        "retrieved_ids": ["b", "a"],
        "answer_json": {"claim": "x", "citations": ["a"], "why": {"z": 1, "y": 2}},
        "topk": [{"id": "b", "score": 0.5}],
        "usage": None,
        "debug": "much",
    }
    reply = checked(given)
    assert reply.error is None
    assert list(reply.fields) == ["answer_json", "retrieved_ids", "topk"]
    assert reply.fields["retrieved_ids"] == ["b", "a"]
    assert reply.fields["answer_json"] == {"claim": "x", "citations": ["a"], "why": {"y": 2, "z": 1}}


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (None, "bad reply: expected object, got null"),
        ([], "bad reply: expected object, got array"),
        ({}, "bad reply: object missing required field answer_json"),
        ({"answer_json": {"claim": "x"}}, "bad reply: object missing required field retrieved_ids"),
        ({"answer_json": {}, "retrieved_ids": []}, "bad reply: answer_json: object missing required field claim"),
        ({"answer_json": None, "retrieved_ids": []}, "bad reply: answer_json: expected object, got null"),
        (
            {"answer_json": {"claim": "x"}, "retrieved_ids": ["a", 4]},
            "bad reply: retrieved_ids[1]: expected str, got int: write ids as texts",
        ),
        (
            {"answer_json": {"claim": "x"}, "retrieved_ids": [], "stage_ms": {"llm": float("inf")}},
            "bad reply: stage_ms.llm: expected a finite number, got inf",
        ),
        (GOOD | {"usage": {"cost": float("nan")}}, "bad reply: usage.cost: expected a finite number, got nan"),
        (
            GOOD | {"usage": {"llm": {"steps": [{"n": 1}, {"n": float("-inf")}]}}},
            "bad reply: usage.llm.steps[1].n: expected a finite number, got -inf",
        ),
        (GOOD | {"stage_ms": {"llm": -1}}, "bad reply: stage_ms[...]: expected float >= 0.0"),
        (GOOD | {"stage_ms": {"llm": "5"}}, "bad reply: stage_ms[...]: expected float, got str"),
        (GOOD | {"topk": [{"foo": 1}]}, "bad reply: topk[0]: object missing required field id"),
        (GOOD | {"topk": [{"id": "a"}, {"id": 4}]}, "bad reply: topk[1].id: expected str, got int"),
        (GOOD | {"topk": [{"id": "a", "score": "x"}]}, "bad reply: topk[0].score: expected float | null, got str"),
        (
            GOOD | {"topk": [{"id": "a", "offsets": [1]}]},
            "bad reply: topk[0].offsets: expected array of length 2, got 1",
        ),
        (GOOD | {"topk": [{"id": "a", "type": 1}]}, "bad reply: topk[0].type: expected str | null, got int"),
        (GOOD | {"usage": {"prompt_tokens": -3}}, "bad reply: usage.prompt_tokens: expected a number from 0, got -3"),
        (GOOD | {"usage": {"llm": {"n": -0.5}}}, "bad reply: usage.llm.n: expected a number from 0, got -0.5"),
        (
            GOOD | {"answer_json": {"claim": "x", "citations": "p1#2"}},
            'bad reply: answer_json.citations: expected a list of texts, got a text: write ["p1#2"]',
        ),
        (
            GOOD | {"retrieved_ids": "p1#2"},
            'bad reply: retrieved_ids: expected a list of texts, got a text: write ["p1#2"]',
        ),
        (GOOD | {"retrieved_ids": {"a"}}, "bad reply: retrieved_ids: expected a list, got a set, which has no order"),
        (
            GOOD | {"answer_json": {"claim": "x", ("a", "b"): 3}},
            "bad reply: answer_json: expected keys that are texts, got a tuple",
        ),
        (GOOD | {"answer_json": {"claim": "x" * (16 << 20)}}, "too large: expected at most 16 MB, got more"),
    ],
)
def test_wrong_replies_say_what_is_wrong(given: Any, error: str) -> None:
    assert checked(given) == Reply({}, error)


def test_a_reply_as_the_readers_take_it_is_kept_as_it_is() -> None:
    given = GOOD | {
        "topk": [{"id": "a", "score": None, "offsets": [0, 4], "type": "prose", "more": 1}, {"id": "b", "score": 1}],
        "stage_ms": {"llm": 0, "rerank": 2.5},
        "usage": {"model": "m", "prompt_tokens": 0, "llm": {"total_tokens": 3}, "cached": True},
    }
    assert checked(given) == Reply(given)


def test_numbers_as_keys_are_texts_as_json_has_it() -> None:
    reply = checked({"answer_json": {"claim": "x", 1: 2, "b": 3}, "retrieved_ids": []})
    assert reply == Reply({"answer_json": {"1": 2, "b": 3, "claim": "x"}, "retrieved_ids": []})


def test_an_unknown_target_is_told_the_forms() -> None:
    forms = (
        "expected a target such as module:callable, file.py:callable, http://… or https://…, cmd:COMMAND, "
        "replay:FILE, builtin:INDEX"
    )
    assert usage("ftp://user:pass@host/x") == f'{forms}, got "ftp:…"'
    assert usage("https:/user:pass@host/x?t=secret") == f'{forms}, got "https:…"'
    assert usage("HTTP:user:pass@host") == f'{forms}, got "HTTP:…"'
    assert usage("user:pass@host/x") == f'{forms}, got "…"'
    assert usage("nonsense") == f'{forms}, got "nonsense"'
    assert usage("cmd:") == f'{forms}, got "cmd:"'
    assert usage("a b:c") == f'{forms}, got "a b:c"'


# callables


@pytest.mark.parametrize("name", ["good", "good_async", "gives_awaitable", "pipeline"])
@pytest.mark.usefixtures("callables")
def test_callables_of_every_form(name: str) -> None:
    target = open_target(f"slow_callables:{name}", Options())
    assert target.name == f"slow_callables:{name}"
    got = replies(target, [Ask("A1", "why", 3, "ws")])[0]
    assert got == Reply({"answer_json": {"citations": ["A1"], "claim": "why 3 ws"}, "retrieved_ids": ["A1"]})


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("raises", "raised: ValueError: no index here"),
        ("raises_async", "raised: LookupError"),
        ("stops", "raised: StopIteration"),
        ("exits", "raised: SystemExit: 3"),
        ("exits_async", "raised: KeyboardInterrupt"),
        ("cancels", "raised: CancelledError"),
        (
            "disguised",
            "raised: TypeError: good() got an unexpected keyword argument 'qid'",
        ),
        ("nothing", "bad reply: expected object, got null"),
        ("numbers", "bad reply: stage_ms.llm: expected a finite number, got nan"),
        ("unwritable", "bad reply: answer_json.more: expected what JSON can hold, got an object"),
        (
            "half_a_pair",
            "bad reply: expected what JSON can hold, got: 'utf-8' codec can't encode character '\\ud800' in position "
            "0: surrogates not allowed",
        ),
    ],
)
@pytest.mark.usefixtures("callables")
def test_what_a_callable_does_wrong_is_its_reply(name: str, error: str) -> None:
    assert asked(f"slow_callables:{name}") == Reply({}, error)


@pytest.mark.parametrize("name", ["stuck", "stuck_async", "blocking_async", "stubborn"])
@pytest.mark.usefixtures("callables")
def test_a_callable_that_never_answers_is_given_up(name: str) -> None:
    begun = time.monotonic()
    assert asked(f"slow_callables:{name}", timeout=0.25) == Reply({}, "timeout: no reply within 0.25 s")
    assert time.monotonic() - begun < 15


@pytest.mark.usefixtures("callables")
def test_a_stuck_callable_does_not_keep_the_program_from_ending() -> None:
    code = (
        "import asyncio\nfrom ragworthy.runner.contract import Ask, Options\n"
        "from ragworthy.runner.targets import open_target\n"
        "async def main(name):\n"
        "    target = open_target(name, Options())\n"
        "    await target.open()\n    print((await target.ask(Ask('A', 'q'), 0.2)).error)\n    await target.close()\n"
        "for name in ('stuck', 'blocking_async', 'stubborn'): asyncio.run(main(f'slow_callables:{name}'))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=25, check=True)
    assert done.stdout.splitlines() == ["timeout: no reply within 0.2 s"] * 3
    assert done.stderr == ""


@pytest.mark.usefixtures("callables")
def test_a_callable_may_change_its_arguments_without_effect() -> None:
    knobs = {"k": 5, "deep": {"list": [1]}}
    target = open_target("slow_callables:mutates", Options())
    got = replies(target, [Ask(name, "q", knobs=knobs) for name in ("A", "B", "C")])
    assert [one.error for one in got] == [None] * 3
    assert knobs == {"k": 5, "deep": {"list": [1]}}
    assert sys.modules["slow_callables"].SEEN == [{"k": 5, "deep": [1]}] * 3


def called(call: Any, qid: str = "A1") -> Reply:
    return replies(Called("mine", call), [Ask(qid, "what?")])[0]


class Speechless(ValueError):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def test_an_exception_that_cannot_be_told_is_still_a_reply() -> None:
    def raises(**asked: Any) -> None:
        raise Speechless

    async def raises_later(**asked: Any) -> None:
        raise Speechless

    assert called(raises) == called(raises_later) == Reply({}, "raised: Speechless")


def test_a_reply_of_a_callable_has_a_limit_too() -> None:
    assert called(lambda **_: GOOD | {"debug": "x" * (17 << 20)}) == Reply(
        {}, "too large: expected at most 16 MB, got more"
    )


def test_a_reply_that_names_its_question_must_name_the_one_asked() -> None:
    assert called(lambda **_: GOOD | {"qid": "A1"}) == called(lambda **_: GOOD | {"qid": None}) == Reply(GOOD)
    assert called(lambda **_: GOOD | {"qid": "A1"}, "A2") == Reply({}, 'bad reply: qid: expected "A2", got "A1"')
    assert called(lambda **_: GOOD | {"qid": 1}, "1") == Reply({}, "bad reply: qid: expected str | null, got int")


@pytest.mark.usefixtures("callables")
def test_callables_that_cannot_be_used_are_wrong_usage() -> None:
    assert usage("no_such_module_x:f") == (
        "no_such_module_x: expected a module that can be imported, got "
        "ModuleNotFoundError: No module named 'no_such_module_x'"
    )
    assert usage("broken_module:f") == (
        "broken_module: expected a module that can be imported, got RuntimeError: the model file is missing"
    )
    assert usage("slow_callables:none_such") == "slow_callables:none_such: expected a callable, got nothing"
    assert usage("slow_callables:not_callable") == (
        "expected a callable, a chain, a query engine or a pipeline, got int"
    )
    assert usage("slow_callables:wants_less") == (
        "expected a callable that takes the question, or qid, q, seed, jitter and knobs, got one with: "
        "got an unexpected keyword argument 'seed'"
    )
    wanted = "--header: expected a target that is an http address, got another one"
    assert usage("slow_callables:good", headers=("A=B",)) == wanted


# HTTP


def test_a_good_answer_over_http(server: Served) -> None:
    target = open_target(server.url(), Options())
    got = replies(target, [Ask("H1", "how?", seed=7), Ask("H2", "refuse this")])
    assert got[0] == Reply(
        {
            "answer_json": {"citations": ["H1#1"], "claim": "how? (seed 7)"},
            "retrieved_ids": ["H1#1", "p1#2"],
            "stage_ms": {"llm": 2.5, "retrieval": 1.5},
            "usage": {"prompt_tokens": 4},
        }
    )
    assert got[1].fields["answer_json"]["claim"] == "not in context"
    last = json.loads(server.log.read_text().splitlines()[-1])
    assert last["asked"] == ["jitter", "knobs", "q", "qid", "seed"]


@pytest.mark.parametrize(
    ("q", "attempts", "error"),
    [
        ("json", 1, "bad reply: expected JSON, got <html>no</html> (invalid character (byte 0))"),
        ("shape", 1, "bad reply: answer_json.claim: expected str, got int"),
        ("status 404", 1, "status 404: so sorry"),
        ("status 500", 3, "status 500: so sorry"),
        ("status 429", 3, "status 429: so sorry"),
        ("drop", 3, "died: the connection broke: Server disconnected without sending a response."),
        ("nothttp", 3, None),
        ("moved", 1, "status 302: redirects are not followed, and this one points to {host}/elsewhere"),
        ("packed", 1, "bad reply: expected plain JSON, got it packed (gzip)"),
        ("huge", 1, "too large: expected at most 16 MB, got more"),
    ],
)
def test_bad_answers_over_http(server: Served, q: str, attempts: int, error: str | None) -> None:
    name = f"bad {q}"
    got = replies(open_target(server.url(), Options()), [Ask(name, q)])[0]
    assert "answer_json" not in got.fields
    expected = error and error.replace("{host}", server.url().rpartition("/")[0])
    assert got.error == expected or (error is None and reason_of(got.error or "") == "died")
    assert (got.attempts, got.unreachable) == (attempts, False)
    assert server.asked().count(name) == attempts


def test_failures_that_pass_are_tried_again(server: Served) -> None:
    target = open_target(server.url(), Options(retries=2))
    first, second = replies(target, [Ask("flaky2", "flaky 2"), Ask("flaky3", "flaky 3")])
    assert (first.error, first.attempts) == (None, 3)
    assert (second.error, second.attempts) == ("status 429: again", 3)
    assert replies(open_target(server.url(), Options(retries=0)), [Ask("f", "flaky 1")])[0].attempts == 1


def test_retry_after_is_honoured_and_never_longer_than_the_timeout(server: Served) -> None:
    begun = time.monotonic()
    got = asked(server.url(), "status 429 1", retries=1)
    assert (got.error, got.attempts) == ("status 429: so sorry", 2)
    assert time.monotonic() - begun >= 1
    begun = time.monotonic()
    got = asked(server.url(), "status 429 3600", retries=1)
    assert (got.error, got.attempts) == ("status 429: so sorry", 1)
    assert time.monotonic() - begun < 10


def test_a_server_that_never_answers(server: Served) -> None:
    assert asked(server.url(), "hang", timeout=0.5) == Reply({}, "timeout: no reply within 0.5 s")


def test_an_address_where_nothing_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    got = asked(f"http://127.0.0.1:{port}/", retries=1)
    assert got == Reply({}, "unreachable: Connection refused", 2, unreachable=True)


def test_no_secret_is_shown(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "sk-0123456789abcdef"
    monkeypatch.setenv("PIPELINE_KEY", f"Bearer {secret}")
    with_header = open_target(server.url("/ask?key=qsecret"), Options(headers=("Authorization=PIPELINE_KEY",)))
    assert with_header.name == f"http://127.0.0.1:{server.port}/ask"
    asks = [Ask("S1", "echo"), Ask("S2", "echo error"), Ask("S3", "echo wrong")]
    good, refused, wrong = replies(with_header, asks)
    assert good.fields["answer_json"]["claim"] == "*** /ask?***"
    assert refused.error == "status 403: no entry for *** /ask?***"
    assert wrong.error is not None
    assert wrong.error.startswith("bad reply: expected JSON, got *** /ask?*** (")
    by_url = open_target(server.url(userinfo="me:pass%20word-1234567@"), Options())
    assert by_url.name == f"http://127.0.0.1:{server.port}/ask"
    good, refused, _ = replies(by_url, asks)
    assert good.fields["answer_json"]["claim"] == "Basic *** /ask"
    assert refused.error == "status 403: no entry for Basic *** /ask"


@pytest.mark.parametrize("secret", ['a"b\\c/78', "zanzibar"])
def test_a_secret_of_eight_characters_is_hidden_in_a_good_reply(
    secret: str, server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIPELINE_KEY", secret)
    target = open_target(server.url(), Options(headers=("Authorization=PIPELINE_KEY",)))
    assert replies(target, [Ask("S1", "echo")])[0].fields["answer_json"]["claim"] == "*** /ask"


def test_a_short_value_is_hidden_in_errors_only(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIPELINE_KEY", "seven-7")
    target = open_target(server.url(), Options(headers=("Authorization=PIPELINE_KEY",)))
    good, refused, wrong = replies(target, [Ask("S1", "echo"), Ask("S2", "echo error"), Ask("S3", "echo wrong")])
    assert good.fields["answer_json"]["claim"] == "seven-7 /ask"
    assert refused.error == "status 403: no entry for *** /ask"
    assert (wrong.error or "").startswith("bad reply: expected JSON, got *** /ask (")


class Answers(BaseHTTPRequestHandler):
    """Gives the same text to every question."""

    text = b""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.text)))
        self.end_headers()
        self.wfile.write(self.text)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def answering(text: bytes) -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), type("Same", (Answers,), {"text": text}))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_secrets_in_escapes_in_keys_and_at_the_edge_of_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "sk-0123/456789"
    monkeypatch.setenv("PIPELINE_KEY", secret)
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in secret)
    inside = f'{{"answer_json": {{"claim": "my {escaped}", "{escaped}": [{{"a": "{escaped}"}}]}}, "retrieved_ids": []}}'
    headers = ("X-Key=PIPELINE_KEY",)
    with answering(inside.encode()) as url:
        assert asked(url, headers=headers).fields["answer_json"] == {"***": [{"a": "***"}], "claim": "my ***"}
    broken = "x" * 70 + " " + secret.replace("/", "\\/")  # what is shown is cut within the secret
    with answering(broken.encode()) as url:
        error = asked(url, headers=headers).error
    assert error == f"bad reply: expected JSON, got {'x' * 70} *** (invalid character (byte 0))"


def test_a_reply_over_http_that_names_another_question() -> None:
    with answering(json.dumps(GOOD | {"qid": "A1"}).encode()) as url:
        first, second = replies(open_target(url, Options()), [Ask("A1", "a"), Ask("A2", "b")])
    assert first == Reply(GOOD)
    assert second == Reply({}, 'bad reply: qid: expected "A2", got "A1"')


def test_an_address_in_capitals(server: Served) -> None:
    target = open_target(f"HTTP://127.0.0.1:{server.port}/ask", Options())
    assert target.name == server.url()
    assert replies(target, [Ask("H1", "how?")])[0].error is None


def test_headers_come_from_the_environment_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    url = "http://127.0.0.1:9/"
    monkeypatch.delenv("NOT_SET", raising=False)
    expected = "expected NAME=VARIABLE, the name of a header and of an environment variable"
    for text in ("X-Key", "X Key=NOT_SET", "Bearer sk-123=", "=", "=NOT_SET"):
        assert usage(url, headers=(text,)) == f"--header: {expected}"
    for text in ("X-Key=", "X-Key: Bearer sk-123==", "X-Key:sk-123"):
        assert usage(url, headers=(text,)) == f"--header X-Key: {expected}"
    missing = "--header X-Key: expected the name of an environment variable that is set, got one that is not"
    for value in ("NOT_SET", "Bearer sk-123", "sk-123==", "sk_123"):
        assert usage(url, headers=(f"X-Key={value}",)) == missing
    monkeypatch.setenv("NOT_SET", "two\r\nlines")
    got = usage(url, headers=("X-Key=NOT_SET",))
    assert got == "--header X-Key: expected printable ASCII text in NOT_SET, got something else"


@pytest.mark.parametrize(
    "url", ["http://", "http://:80/", "http://h:99999/", "http://[::1/", "http://h/a b", "http://h:0"]
)
def test_addresses_that_cannot_be_used(url: str) -> None:
    assert usage(url).startswith("expected an address such as http://localhost:8000/ask, got one ")


def test_http_without_httpx(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(MissingExtra) as caught:
        open_target("http://127.0.0.1:9/", Options())
    assert caught.value.problems[0].message == "an HTTP target needs httpx: pip install httpx (extra: http)"


# commands


def test_a_command_answers_line_by_line_in_one_process() -> None:
    got = replies(open_target(LINES, Options()), [Ask(f"C{n}", f"q{n}") for n in range(5)])
    assert [one.fields["answer_json"]["claim"] for one in got] == [f"C{n}: q{n}" for n in range(5)]
    assert [one.fields["usage"]["asked"] for one in got] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("q", "error"),
    [
        ("die 3", "died: exit code 3: the last complaint"),
        ("half", "died: exit code 0"),
        ("kill", "died: signal 9"),
        ("garbage", "bad reply: expected JSON, got Loading the model … (invalid character (byte 0))"),
        ("shape", "bad reply: expected object, got array"),
        ("huge", "too large: expected at most 16 MB, got more"),
    ],
)
def test_a_command_that_fails_is_started_again(q: str, error: str) -> None:
    before, failed, after = replies(open_target(LINES, Options()), [Ask("C1", "a"), Ask("C2", q), Ask("C3", "b")])
    assert failed == Reply({}, error)
    assert (before.error, after.error) == (None, None)
    assert after.fields["usage"]["asked"] == 1  # a new process
    assert after.fields["usage"]["pid"] != before.fields["usage"]["pid"]


def test_a_command_that_hangs_is_killed() -> None:
    target = open_target(LINES, Options())

    async def story() -> tuple[Reply, Reply]:
        late = await target.ask(Ask("C1", "hang"), 1.0)
        fine = await target.ask(Ask("C2", "a"), 20.0)
        await target.close()
        return late, fine

    late, fine = asyncio.run(story())
    assert late == Reply({}, "timeout: no reply within 1 s")
    assert fine.error is None


def test_a_line_too_many_never_becomes_the_next_answer() -> None:
    target = open_target(LINES, Options())

    async def story() -> tuple[Reply, Reply]:
        first = await target.ask(Ask("C1", "twice"), 20.0)
        await asyncio.sleep(0.3)
        second = await target.ask(Ask("C2", "b"), 20.0)
        await target.close()
        return first, second

    first, second = asyncio.run(story())
    assert first.fields["answer_json"]["claim"] == "C1: twice"
    assert second.fields["answer_json"]["claim"] == "C2: b"


def program(folder: Path, text: str) -> Target:
    path = folder / "program.py"
    path.write_text(f"import json, os, sys, time\nGOOD = {GOOD!r}\n{text}")
    return open_target(f"cmd:{sys.executable} {path}", Options())


def test_a_late_second_line_is_not_the_answer_to_the_next_question(tmp_path: Path) -> None:
    target = program(
        tmp_path,
        "for line in sys.stdin:\n"
        "    qid = json.loads(line)['qid']\n"
        "    said = json.dumps(GOOD | {'qid': qid, 'usage': {'pid': os.getpid()}})\n"
        "    print(said, flush=True)\n"
        "    if qid == 'H001':\n"
        "        time.sleep(0.2)\n"
        "        print(said, flush=True)\n",
    )
    first, second, third = replies(target, [Ask(name, "what?") for name in ("H001", "H002", "H003")])
    assert first.error is None
    assert second == Reply({}, 'bad reply: qid: expected "H002", got "H001"')
    assert third.error is None
    assert third.fields["usage"]["pid"] != first.fields["usage"]["pid"], "started again"


def test_a_last_line_without_its_end_is_a_reply(tmp_path: Path) -> None:
    target = program(tmp_path, "json.loads(input())\nsys.stdout.write(json.dumps(GOOD))\n")
    assert replies(target, [Ask("C1", "a"), Ask("C2", "b")]) == [Reply(GOOD)] * 2


def test_questions_in_flight_have_a_process_each_and_much_on_stderr_blocks_nothing() -> None:
    target = open_target(LINES, Options())

    async def story() -> list[Reply]:
        got = await asyncio.gather(*(target.ask(Ask(f"C{n}", "chatter"), 30.0) for n in range(3)))
        await target.close()
        return list(got)

    got = asyncio.run(story())
    assert len({one.fields["usage"]["pid"] for one in got}) == 3


def test_a_command_that_is_not_there() -> None:
    got = asked("cmd:no-such-program-x --flag")
    error = "unreachable: no-such-program-x cannot be started: No such file or directory"
    assert got == Reply({}, error, unreachable=True)
    assert usage("cmd:'open") == "cmd:'open: expected a command, got: No closing quotation"


def test_no_shell_is_involved(tmp_path: Path) -> None:
    assert reason_of(asked(f"cmd:echo x > {tmp_path / 'made'}").error or "") == "bad reply"
    assert list(tmp_path.iterdir()) == []


# replay


def test_recorded_traces_by_question_and_variation(tmp_path: Path) -> None:
    def trace(qid: str, claim: str, **more: Any) -> dict[str, Any]:
        return {"qid": qid, "answer_json": {"claim": claim}, "retrieved_ids": [], **more}

    rows = [
        trace("A", "any"),
        trace("B", "first", seed=1, jitter="none"),
        trace("B", "second", seed=2, jitter="none"),
        trace("B", "ws", seed=2, jitter="ws", paraphrase=1),
        trace("C", "old"),
        trace("C", "new"),
        trace("E", "x", error={"code": 5}),
        {"q_id": "F", "retrieved_ids": [], "answer_json": None},
    ]
    target = open_target(f"replay:{write_jsonl(tmp_path / 't.jsonl', rows)}", Options())
    asks = [
        Ask("A", "q", seed=9),
        Ask("B", "q", seed=1),
        Ask("B", "q", seed=2),
        Ask("B", "q", seed=2, jitter="ws", paraphrase=1),
        Ask("B", "q", seed=3),
        Ask("C", "q"),
        Ask("D", "q"),
        Ask("E", "q"),
        Ask("F", "q"),
    ]
    got = replies(target, asks)
    assert [one.error or one.fields["answer_json"]["claim"] for one in got] == [
        "any",
        "first",
        "second",
        "ws",
        "no recorded trace",
        "new",
        "no recorded trace",
        "{'code': 5}",
        "bad reply: answer_json: expected object, got null",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", ":1: expected a JSON object, got: Input data was truncated [RW-F07]"),
        ("\n4", ":2: expected a JSON object, got 4 [RW-F08]"),
        ('{"q": "x"}', ":1: qid: expected a string, got nothing [RW-T01]"),
        ('{"qid": 4}', ":1: qid: expected a string, got 4 [RW-T01]"),
    ],
)
def test_files_that_cannot_be_replayed(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        asked(f"replay:{path}")
    assert str(caught.value.problems[0]) == f"{path}{problem}"


def test_a_replay_reads_plain_files_that_are_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="expected a file, got nothing at this path"):
        asked(f"replay:{tmp_path / 'none.jsonl'}")
    assert usage("replay:t.jsonl.gz") == "replay:t.jsonl.gz: expected a plain .jsonl file"
