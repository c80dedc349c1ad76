"""The chat answerer against a real endpoint in another process."""

import json
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli, write_jsonl
from places import SERVERS
from ragworthy.errors import DataError, UsageError
from ragworthy.index import build as indexing
from ragworthy.pipeline import Pipeline
from ragworthy.pipeline.chat import MOST_BYTES, Chat, _keys, checked, prompt
from ragworthy.records import Chunk

pytest.importorskip("httpx", reason="SKIPPED: httpx is not installed")

CONTEXT = [Chunk(chunk_id="a#1", text="The lock must be closed. It is red."), Chunk(chunk_id="a#2", text="Tides turn.")]
QUESTION = "What colour is the lock?"
SERVER = SERVERS / "chat_server.py"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    process = subprocess.Popen([sys.executable, str(SERVER)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGWORTHY_CHAT_KEY", "sk-secret-7")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-other")
    monkeypatch.delenv("RAGWORTHY_CHAT_URL", raising=False)


def requests(url: str) -> list[dict[str, Any]]:
    with urllib.request.urlopen(url) as reply:
        found: list[dict[str, Any]] = json.load(reply)
    return found


def asked(url: str, model: str, timeout: float = 10.0) -> Any:
    chat = Chat(f"chat:{model}@{url}", named=True, timeout=timeout)
    return chat.answer(QUESTION, CONTEXT, [["The lock must be closed."], []], seed=7, temperature=0.5)


def refused(url: str, model: str, timeout: float = 10.0) -> str:
    with pytest.raises(DataError) as caught:
        asked(url, model, timeout)
    assert "sk-" not in str(caught.value)
    return caught.value.lines()[0]


def test_a_good_answer_and_what_was_sent(url: str) -> None:
    before = len(requests(url))
    reply = asked(url, "good")
    assert (reply.claim, reply.citations) == ("It is as the first chunk says.", ["a#1"])
    counts = {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107}
    assert reply.usage == {"model": "good", "attempts": 1, **counts}
    (sent,) = requests(url)[before:]
    assert (sent["path"], sent["key"]) == ("/v1/chat/completions", "Bearer sk-secret-7")
    body = sent["body"]
    assert {name: body[name] for name in body if name != "messages"} == {
        "model": "good",
        "temperature": 0.5,
        "seed": 7,
        "max_tokens": 512,
        "response_format": {"type": "json_object"},
    }
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert '"not in context"' in body["messages"][0]["content"]
    assert body["messages"][1]["content"] == (
        "Context:\n\n[a#1]\nThe lock must be closed. It is red.\nconstraint: The lock must be closed.\n\n"
        "[a#2]\nTides turn.\n\nQuestion: What colour is the lock?"
    )


def key_sent(url: str, *, named: bool, **environment: str) -> Any:
    """The key that reaches an address."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("RAGWORTHY_CHAT_KEY", "OPENAI_API_KEY", "RAGWORTHY_CHAT_URL"):
            patch.delenv(name, raising=False)
        for name, value in environment.items():
            patch.setenv(name, value)
        Chat(f"chat:good@{url}", named=named).answer(QUESTION, CONTEXT, [[], []], seed=0, temperature=0)
    return requests(url)[-1]["key"]


def test_which_key_goes_where(url: str) -> None:
    ours, openai = {"RAGWORTHY_CHAT_KEY": "sk-ours"}, {"OPENAI_API_KEY": "sk-openai"}
    here, elsewhere = {"RAGWORTHY_CHAT_URL": f"{url}/"}, {"RAGWORTHY_CHAT_URL": "http://other.example/v1"}
    # an address that a file names gets a key only if the environment names it, too
    assert key_sent(url, named=False) is None
    assert key_sent(url, named=False, **ours, **openai) is None
    assert key_sent(url, named=False, **ours, **openai, **elsewhere) is None
    assert key_sent(url, named=False, **ours, **openai, **here) == "Bearer sk-ours"
    assert key_sent(url, named=False, **openai, **here) == "Bearer sk-openai"
    # one on the command line gets ours, and not the one that every other program uses
    assert key_sent(url, named=True, **ours, **openai) == "Bearer sk-ours"
    assert key_sent(url, named=True, **openai) is None
    assert key_sent(url, named=True, **openai, **elsewhere) is None


@pytest.mark.parametrize(
    ("address", "sent"),
    [
        ("https://api.openai.com", True),
        ("https://api.openai.com/v1", True),
        ("http://api.openai.com/v1", False),
        ("https://api.openai.com:8443/v1", False),
        ("https://api.openai.com.evil.example/v1", False),
        ("https://evil.example/api.openai.com/v1", False),
    ],
)
def test_the_key_of_openai_goes_to_openai(address: str, sent: bool) -> None:
    assert (_keys(address, named=False).sent, _keys(address, named=True).sent) == (
        "sk-other" if sent else None,
        "sk-secret-7",
    )


def test_a_key_that_was_not_sent_is_named_where_one_is_missing() -> None:
    def refuses(key: str, model: str) -> tuple[int, str]:
        return int(model), "no entry"

    with replying(refuses) as address:
        where = f"{address}/chat/completions: expected status 200, got status"
        hint = "; the key in RAGWORTHY_CHAT_KEY was not sent, for this is not the address in RAGWORTHY_CHAT_URL"
        for status in (401, 403):
            with pytest.raises(DataError) as caught:
                Chat(f"chat:{status}@{address}").answer(QUESTION, CONTEXT, [[], []], seed=0, temperature=0)
            assert caught.value.lines()[0] == f"{where} {status}: no entry{hint} [RW-N03]"
            assert refused(address, str(status)) == f"{where} {status}: no entry [RW-N03]"
        with pytest.raises(DataError) as caught:
            Chat(f"chat:400@{address}").answer(QUESTION, CONTEXT, [[], []], seed=0, temperature=0)
        assert caught.value.lines()[0] == f"{where} 400: no entry [RW-N03]"


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ("bad-once", "expected JSON with claim and citations, got: JSON is malformed: invalid character (byte 0)"),
        ("outside-once", 'expected citations from the context, got "nowhere#1"'),
        ("uncited-once", "expected at least one citation, got none"),
    ],
)
def test_one_retry_with_the_reason(url: str, model: str, reason: str) -> None:
    before = len(requests(url))
    reply = asked(url, model)
    assert (reply.claim, reply.citations) == ("It is as the first chunk says.", ["a#1"])
    assert reply.usage == {
        "model": model, "attempts": 2, "prompt_tokens": 200, "completion_tokens": 14, "total_tokens": 214
    }  # fmt: skip
    first, second = (sent["body"]["messages"] for sent in requests(url)[before:])
    assert second[:2] == first
    assert [message["role"] for message in second[2:]] == ["assistant", "user"]
    assert second[3]["content"] == f"That was not usable: {reason}. Reply again with the JSON object only."


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ("bad", "expected JSON with claim and citations, got: JSON is malformed: invalid character (byte 0)"),
        ("outside", 'expected citations from the context, got "nowhere#1"'),
    ],
)
def test_twice_unusable_is_an_error(url: str, model: str, reason: str) -> None:
    before = len(requests(url))
    assert refused(url, model) == f"{url}/chat/completions: {reason}, after 2 attempts [RW-N04]"
    assert len(requests(url)) - before == 2


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ("fails", "expected status 200, got status 500: overloaded, your header was Bearer ***"),
        ("moved", "expected status 200, got status 307"),
        ("huge", f"expected a reply, got more than {MOST_BYTES:,} bytes"),
        ("no-choices", "expected a chat completion, got no choices"),
        ("not-chat", "expected a chat completion, got: JSON is malformed: invalid character (byte 0)"),
    ],
)
def test_an_endpoint_that_fails_is_asked_once(url: str, model: str, reason: str) -> None:
    before = len(requests(url))
    assert refused(url, model) == f"{url}/chat/completions: {reason} [RW-N03]"
    assert len(requests(url)) - before == 1
    assert all(sent["path"] == "/v1/chat/completions" for sent in requests(url))


def test_a_slow_endpoint(url: str) -> None:
    started = time.monotonic()
    line = f"{url}/chat/completions: expected a reply, got none within 0.5 s [RW-N03]"
    assert refused(url, "slow", 0.5) == line
    assert refused(url, "drip", 0.5) == line
    assert time.monotonic() - started < 4


def test_nobody_listens() -> None:
    assert refused("http://127.0.0.1:9/v1", "good") == (
        "http://127.0.0.1:9/v1/chat/completions: expected a reply, got no connection: Connection refused [RW-N03]"
    )


def test_a_refusal_becomes_the_exact_token(url: str) -> None:
    reply = asked(url, "refuses")
    assert (reply.claim, reply.citations) == ("not in context", [])


@pytest.mark.parametrize(
    "name",
    [
        "chat:m@http://user:pw@host/v1",
        "chat:m@http://host/v1?key=sk",
        "chat:m@http://host/v1#x",
        "chat:m@http:///v1",
        "m@http://host",
    ],
)
def test_addresses_that_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="answerer: expected chat:MODEL@URL with a plain address") as caught:
        Chat(name)
    assert "pw" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ('{"claim": "x", "citations": ["a", "a", "b"]}', ("x", ["a", "b"])),
        ('{"claim": " x \\n y", "citations": ["b"], "more": 1}', ("x y", ["b"])),
        ('{"claim": "NOT IN CONTEXT", "citations": ["elsewhere"]}', ("not in context", [])),
        ('{"claim": " ", "citations": ["a"]}', "expected a claim, got an empty one"),
        ('{"claim": "x", "citations": []}', "expected at least one citation, got none"),
        (
            '{"claim": "x"}',
            "expected JSON with claim and citations, got: Object missing required field citations",
        ),
        (
            '{"claim": 4, "citations": []}',
            "expected JSON with claim and citations, got: Expected str, got int - at $.claim",
        ),
        ("\ud800", "expected JSON with claim and citations, got: JSON is malformed: invalid character (byte 0)"),
    ],
)
def test_checks(content: str, found: object) -> None:
    assert checked(content, ["a", "b"]) == found


def test_a_prompt_names_titles() -> None:
    assert prompt("Q?", [Chunk(chunk_id="i", title="T", text="x")], [[]]) == "Context:\n\n[i] T\nx\n\nQuestion: Q?"


def test_an_address_in_a_file_of_knobs_gets_no_key(url: str, tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "lock.md").write_text("# Lock\n\nThe lock is red.\n", encoding="utf-8")
    indexing.build(tmp_path / "lock.md", tmp_path / "ix", dense="none")
    gold = write_jsonl(tmp_path / "gold.jsonl", [{"qid": "Q1", "question": QUESTION, "answerable": True}])
    knob = f"chat:good@{url}"
    (tmp_path / "knobs.toml").write_text(f'answerer = "{knob}"\n')
    common = ("--target", f"builtin:{tmp_path / 'ix'}", "--gold", gold)
    for verb, out in (("run",), "1"), (("experiment", "latency", "--loads", "50", "--warmup", 0), "2"):
        from_file = cli(*verb, *common, "--out", tmp_path / out, "--knobs", tmp_path / "knobs.toml")
        assert (from_file.code, requests(url)[-1]["key"]) == (0, None)
        by_hand = cli(*verb, *common, "--out", tmp_path / f"{out}b", "--knob", f"answerer={knob}")
        assert (by_hand.code, requests(url)[-1]["key"]) == (0, "Bearer sk-secret-7")


def test_the_pipeline_with_a_chat_model(url: str, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "lock.md").write_text("# Lock\n\nThe lock is red. It must be closed.\n", encoding="utf-8")
    indexing.build(tmp_path / "docs", tmp_path / "ix", dense="none")
    pipeline = Pipeline(tmp_path / "ix")
    knobs = {"answerer": f"chat:bad-once@{url}", "timings": False}
    reply = pipeline(qid="1", q=QUESTION, seed=3, knobs=knobs)
    assert reply["answer_json"] == {
        "claim": "It is as the first chunk says.",
        "citations": ["lock.md|s=1|p=000|b=001"],
        "constraints_echo": ["It must be closed."],
    }
    assert reply["usage"]["attempts"] == 2
    assert requests(url)[-1]["body"]["seed"] == 3
    before = len(requests(url))
    nothing = pipeline(qid="2", q="Zanzibar?", knobs=knobs)
    assert nothing["answer_json"] == {"claim": "not in context", "citations": [], "constraints_echo": []}
    assert (nothing["usage"], len(requests(url))) == ({"model": "bad-once", "attempts": 0, "context_tokens": 0}, before)
    with pytest.raises(DataError, match="RW-N04"):
        pipeline(qid="3", q=QUESTION, knobs={"answerer": f"chat:bad@{url}"})
    assert "sk-secret-7" not in json.dumps(reply)


@contextmanager
def replying(reply: Callable[[str, str], tuple[int, str]]) -> Iterator[str]:
    """An address whose replies are made from the key and the model it was sent."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

        def do_POST(self) -> None:
            model = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["model"]
            status, text = reply(self.headers.get("Authorization", "").removeprefix("Bearer "), model)
            data = text.encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        finally:
            server.shutdown()
            thread.join()


def says(claim: str, *citations: str) -> tuple[int, str]:
    content = json.dumps({"claim": claim, "citations": citations})
    return 200, json.dumps({"choices": [{"message": {"content": content}}]})


def telling(key: str, model: str) -> tuple[int, str]:
    """Everything that an endpoint can do with a key that it should keep to itself."""
    assert key == "sk-secret-7"
    if model == "claims":
        return says(f"Your key is {key}, {key}.", "a#1")
    if model == "cites":
        return says("It is red.", "a#1", f"key {key}")
    if model == "escapes":
        content = '{"claim": "Your key is \\u0073k-secret-7.", "citations": ["a#1"]}'
        return 200, json.dumps({"choices": [{"message": {"content": content}}]})
    if model == "fails-at-length":
        return 500, f"{'x' * 194} {key} {'y' * 500} {key}"
    return 200, f"no JSON, but {key}"


def test_a_key_that_comes_back_is_not_passed_on() -> None:
    with replying(telling) as url:
        reply = asked(url, "claims")
        assert (reply.claim, reply.citations) == ("Your key is ***, ***.", ["a#1"])
        assert asked(url, "escapes").claim == "Your key is ***."
        where = f"{url}/chat/completions: "
        assert refused(url, "cites") == (
            f'{where}expected citations from the context, got "key ***", after 2 attempts [RW-N04]'
        )
        # the key would be cut in two at the 200th character: its first half must not be shown either
        cut = refused(url, "fails-at-length")
        assert cut.startswith(f"{where}expected status 200, got status 500: {'x' * 194} *** ")
        assert "secret" not in cut and "sk" not in cut
        assert refused(url, "odd").startswith(f"{where}expected a chat completion, got: JSON is malformed")


def test_a_key_with_blanks_around_it_or_with_odd_letters(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGWORTHY_CHAT_KEY", " sk-secret-7\n")
    asked(url, "good")
    assert requests(url)[-1]["key"] == "Bearer sk-secret-7"
    for odd in ("sk-sécret", "sk-\x01secret"):
        monkeypatch.setenv("RAGWORTHY_CHAT_KEY", odd)
        with pytest.raises(UsageError) as caught:
            asked(url, "good")
        expected = "RAGWORTHY_CHAT_KEY: expected printable ASCII text, got something else"
        assert [problem.message for problem in caught.value.problems] == [expected]


def test_the_proxy_of_the_environment_hears_nothing(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import httpx

    heard: list[str] = []

    def proxy(key: str, model: str) -> tuple[int, str]:
        heard.append(key)
        return says("From the proxy.", "a#1")

    with replying(proxy) as address:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, address.removesuffix("/v1"))
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        assert asked(url, "good").claim == "It is as the first chunk says."
        assert heard == []
        # the proxy does listen: a client that heeds the environment goes there
        reply = httpx.post(f"{url}/chat/completions", json={"model": "m"}, headers={"Authorization": "Bearer other"})
        assert "From the proxy." in reply.text
        assert heard == ["other"]
