"""The chat answerer against a real endpoint in another process."""

import asyncio
import json
import re
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
from hypothesis import given
from hypothesis import strategies as st

from conftest import Cli, write_jsonl
from places import ROOT, SERVERS
from ragworthy.errors import UsageError
from ragworthy.index import build as indexing
from ragworthy.pipeline import Pipeline
from ragworthy.pipeline.chat import Chat, Said
from ragworthy.pipeline.endpoint import MOST_BYTES, _keys, asking
from ragworthy.pipeline.knobs import Knobs
from ragworthy.pipeline.prompt import RULES, response_format
from ragworthy.pipeline.written import read
from ragworthy.records import Chunk
from ragworthy.text import squeeze

pytest.importorskip("httpx", reason="SKIPPED: httpx is not installed")

CONTEXT = [Chunk(chunk_id="a#1", text="The lock must be closed. It is red."), Chunk(chunk_id="a#2", text="Tides turn.")]
QUESTION = "What colour is the lock?"
SERVER = SERVERS / "chat_server.py"
KNOBS = Knobs(temperature=0.5)


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


def said(name: str, *, named: bool = True, timeout: float = 10.0, retries: int = 0, knobs: Knobs = KNOBS) -> Said:
    """What comes of the question with a model."""

    async def one() -> Said:
        chat = Chat(name, named=named, retries=retries)
        await chat.endpoint.open()
        try:
            return await chat.answer(QUESTION, CONTEXT, asking("Q1", timeout), seed=7, knobs=knobs)
        finally:
            await chat.endpoint.close()

    return asyncio.run(one())


def asked(url: str, model: str, timeout: float = 10.0, retries: int = 0) -> Said:
    found = said(f"chat:{model}@{url}", timeout=timeout, retries=retries)
    assert not found.error
    return found


def refused(url: str, model: str, timeout: float = 10.0, retries: int = 0) -> tuple[str, str]:
    """The error and its code."""
    found = said(f"chat:{model}@{url}", timeout=timeout, retries=retries)
    assert "sk-" not in str(found)
    assert (found.claim, found.citations) == ("", [])
    return found.error, found.code


GOOD = ("It is as the first chunk says.", ["a#1"])
SCHEMA = {
    "type": "json_schema",
    "json_schema": {
        "name": "answer",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {
                "citations": {"type": "array", "items": {"type": "string", "enum": ["1", "2"]}, "maxItems": 2},
                "claim": {"type": "string", "maxLength": 300},
            },
            "required": ["citations", "claim"],
            "additionalProperties": False,
        },
    },
}


def test_a_good_answer_and_what_was_sent(url: str) -> None:
    before = len(requests(url))
    reply = asked(url, "good")
    assert (reply.claim, reply.citations, reply.sent) == (*GOOD, 1)
    counts = {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107, "cached_tokens": 40}
    assert reply.usage == {"model": "good", "attempts": 1, "format": "json_schema", **counts}
    (sent,) = requests(url)[before:]
    assert (sent["path"], sent["key"]) == ("/v1/chat/completions", "Bearer sk-secret-7")
    body = sent["body"]
    assert {name: body[name] for name in body if name != "messages"} == {
        "model": "good",
        "temperature": 0.5,
        "seed": 7,
        "max_tokens": 512,
        "response_format": SCHEMA,
    }
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert "not in context" in body["messages"][0]["content"]
    assert "constraints_echo" not in str(body)
    assert body["messages"][1]["content"] == (
        "[1]\nThe lock must be closed. It is red.\n\n[2]\nTides turn.\n\nQuestion: What colour is the lock?"
    )


def test_the_schema_leaves_room_for_the_refusal_and_for_no_number_that_is_not_there() -> None:
    held = response_format("json_schema", 5)
    assert held is not None
    made = held["json_schema"]["schema"]["properties"]
    assert made["citations"] == {
        "type": "array",
        "items": {"type": "string", "enum": ["1", "2", "3", "4", "5"]},
        "maxItems": 3,
    }
    assert "min" not in json.dumps(held)  # {"citations": [], "claim": "not in context"} fits
    assert len("not in context") <= made["claim"]["maxLength"]


def key_sent(url: str, *, named: bool, **environment: str) -> Any:
    """The key that reaches an address."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("RAGWORTHY_CHAT_KEY", "OPENAI_API_KEY", "RAGWORTHY_CHAT_URL"):
            patch.delenv(name, raising=False)
        for name, value in environment.items():
            patch.setenv(name, value)
        said(f"chat:good@{url}", named=named)
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
        hint = "; the key in RAGWORTHY_CHAT_KEY was not sent, for this is not the address in RAGWORTHY_CHAT_URL"
        for status in (401, 403):
            unnamed = said(f"chat:{status}@{address}", named=False)
            assert (unnamed.error, unnamed.code) == (f"status {status}: no entry{hint}", "RW-N03")
            assert refused(address, str(status)) == (f"status {status}: no entry", "RW-N03")
        shown = f"status 404: asked {address}/chat/completions; got: no entry"
        assert said(f"chat:404@{address}", named=False).error == shown


# what a server does not take


@pytest.mark.parametrize(
    ("model", "form", "forms"),
    [
        ("no-limits", "json_schema without limits", ["json_schema", "json_schema"]),
        ("no-schema", "json_object", ["json_schema", "json_schema", "json_object"]),
        ("no-json", "none", ["json_schema", "json_schema", "json_object", None]),
    ],
)
def test_a_form_that_is_refused_is_not_asked_for_again(url: str, model: str, form: str, forms: list[Any]) -> None:
    async def twice() -> tuple[list[Said], list[str]]:
        chat = Chat(f"chat:{model}@{url}")
        await chat.endpoint.open()
        try:
            told = [await chat.answer(QUESTION, CONTEXT, asking("Q1", 10), seed=7, knobs=KNOBS) for _ in range(2)]
            return told, chat.endpoint.notes
        finally:
            await chat.endpoint.close()

    before = len(requests(url))
    told, notes = asyncio.run(twice())
    assert [(one.claim, one.citations) for one in told] == [GOOD, GOOD]
    # what was refused is not an attempt of the model's
    assert [(one.usage["attempts"], one.usage["format"], one.sent) for one in told] == [
        (1, form, len(forms)),
        (1, form, 1),
    ]
    sent = [one["body"].get("response_format", {}).get("type") for one in requests(url)[before:]]
    assert sent == [*forms, forms[-1]]
    (note,) = notes
    assert note.startswith(f"{url}/chat/completions refuses json_schema: its replies are held to {form} (status 400: ")


def test_settings_that_a_server_does_not_know_are_left_out(url: str) -> None:
    before = len(requests(url))
    reply = asked(url, "new")
    assert (reply.claim, reply.citations, reply.usage["format"], reply.sent) == (*GOOD, "json_schema", 3)
    body = requests(url)[-1]["body"]
    assert (body["max_completion_tokens"], body["temperature"]) == (512, 0.5)
    assert not {"max_tokens", "seed"} & body.keys()
    assert len(requests(url)) - before == 3


def test_a_request_that_is_refused_in_every_form_is_an_error(url: str) -> None:
    error, code = refused(url, "too-long")
    assert error == "status 400: the request exceeds the available context size"
    assert code == "RW-N03"


# the second attempt


@pytest.mark.parametrize("model", ["bad", "outside", "uncited", "empty", "truncated", "nothing"])
def test_the_second_attempt_is_another_request(url: str, model: str) -> None:
    before = len(requests(url))
    reply = asked(url, f"{model}-once")
    assert (reply.claim, reply.citations) == GOOD
    assert reply.usage == {
        "model": f"{model}-once", "attempts": 2, "format": "json_schema",
        "prompt_tokens": 200, "completion_tokens": 14, "total_tokens": 214, "cached_tokens": 80,
    }  # fmt: skip
    first, second = (sent["body"] for sent in requests(url)[before:])
    assert (first["seed"], first["temperature"]) == (7, 0.5)
    assert (second["seed"], second["temperature"]) == (1016, 0.8)
    assert second["messages"][0] == first["messages"][0]
    # what the server has read already is the beginning of it
    assert second["messages"][1]["content"] == (
        first["messages"][1]["content"]
        + "\n\nReply with the JSON object only, in fewer words: cite by number, then the claim."
    )
    assert len(second["messages"]) == 2


USELESS = "bad reply: the model did not answer in the form asked for, twice: "


@pytest.mark.parametrize(
    ("model", "error", "code", "raw"),
    [
        (
            "bad",
            f"{USELESS}expected JSON with claim and citations, got: invalid character (byte 0)",
            "RW-N04",
            "Sure! The answer is 42.",
        ),
        (
            "outside",
            f'{USELESS}expected citations from 1 to 2, got "7"',
            "RW-N04",
            '{"citations": ["1", "7"], "claim": "From elsewhere."}',
        ),
        ("nothing", f"{USELESS}expected JSON with claim and citations, got: nothing", "RW-N04", ""),
        (
            "truncated",
            "truncated: the server cut the reply at 7 tokens, twice, before the 512 of the knob reply_tokens: "
            "its context is full, or it has a limit of its own",
            "RW-N05",
            '{"citations": ["1"], "claim": ',
        ),
    ],
)
def test_twice_of_no_use_is_an_error_that_keeps_what_was_written(
    url: str, model: str, error: str, code: str, raw: str
) -> None:
    found = said(f"chat:{model}@{url}")
    assert (found.error, found.code, found.raw, found.sent) == (error, code, raw, 2)
    assert (found.usage["attempts"], found.usage["total_tokens"]) == (2, 214)


def test_an_answer_that_cites_nothing_twice_is_its_answer(url: str) -> None:
    reply = asked(url, "uncited")
    assert (reply.claim, reply.citations, reply.usage["attempts"]) == ("Trust me.", [], 2)


def test_how_long_a_reply_may_be_is_a_knob(url: str) -> None:
    found = said(f"chat:talks@{url}", knobs=KNOBS._replace(reply_tokens=64))
    assert found.error == "truncated: the reply was cut at 64 tokens, twice; the knob reply_tokens allows more"
    assert requests(url)[-1]["body"]["max_tokens"] == 64


def test_where_nobody_counts_tokens_both_reasons_are_said(url: str) -> None:
    found = said(f"chat:uncounted@{url}")
    assert found.error == (
        "truncated: the reply was cut, twice: at the 512 tokens of the knob reply_tokens, or where its context ended"
    )


def test_what_is_no_completion_is_shown_without_the_key(url: str) -> None:
    assert said(f"chat:not-chat@{url}").raw == "<html>Welcome, Bearer ***</html>"
    assert said(f"chat:no-choices@{url}").raw == '{"choices": []}'


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/v1/chat/completions", ", and a base address mostly ends in /v1"),
        ("/v1", ""),
    ],
)
def test_a_path_that_is_not_there_is_shown(path: str, told: str) -> None:
    with replying(lambda key, model: (404, "Not Found")) as address:
        base = address.removesuffix("/v1") + path
        found = said(f"chat:m@{base}")
    assert found.error == f"status 404: asked {base}/chat/completions{told}; got: Not Found"


@pytest.mark.parametrize("model", ["thinks", "parts", "brackets"])
def test_what_models_put_around_an_answer_is_taken_away(url: str, model: str) -> None:
    reply = asked(url, model)
    assert (reply.claim, reply.usage["attempts"]) == (GOOD[0], 1)
    assert reply.citations == (["a#1", "a#2"] if model == "brackets" else ["a#1"])


# endpoints that fail


@pytest.mark.parametrize(
    ("model", "error", "code"),
    [
        ("fails", "status 500: overloaded, your header was Bearer ***", "RW-N03"),
        ("moved", "status 307: redirects are not followed, and this one points to {host}/elsewhere", "RW-N03"),
        ("busy-for-long", "status 429: slow down", "RW-N07"),
        (
            "huge",
            f"bad reply: expected a plain chat completion, got more than {MOST_BYTES:,} bytes",
            "RW-N03",
        ),
        ("no-choices", "bad reply: expected a chat completion, got one without choices", "RW-N03"),
        (
            "not-chat",
            "bad reply: expected a chat completion, got: JSON is malformed: invalid character (byte 0)",
            "RW-N03",
        ),
    ],
)
def test_an_endpoint_that_fails(url: str, model: str, error: str, code: str) -> None:
    before = len(requests(url))
    assert refused(url, model) == (error.replace("{host}", url.removesuffix("/v1")), code)
    assert len(requests(url)) - before == 1
    assert all(sent["path"] == "/v1/chat/completions" for sent in requests(url))


def test_a_slow_endpoint(url: str) -> None:
    started = time.monotonic()
    assert refused(url, "slow", 0.5) == ("timeout: no reply within 0.5 s", "RW-N06")
    assert refused(url, "drip", 0.5) == ("timeout: no reply within 0.5 s", "RW-N06")
    assert time.monotonic() - started < 4


def test_nobody_listens() -> None:
    assert refused("http://127.0.0.1:9/v1", "good", retries=1) == (
        "unreachable: http://127.0.0.1:9/v1/chat/completions: Connection refused",
        "RW-N03",
    )


def test_failures_that_pass_are_tried_again(url: str) -> None:
    before = len(requests(url))
    busy = asked(url, "busy", retries=1)
    assert (busy.claim, busy.citations, busy.sent, busy.usage["attempts"]) == (*GOOD, 2, 1)
    first, second = requests(url)[before:]
    assert second["at"] - first["at"] >= 1.0  # as Retry-After says
    assert second["body"] == first["body"]
    assert asked(url, "drops", retries=1).sent == 2
    assert refused(url, "drops", retries=0)[0].startswith("died: the connection broke: ")
    before = len(requests(url))
    assert refused(url, "fails", retries=2) == ("status 500: overloaded, your header was Bearer ***", "RW-N03")
    assert len(requests(url)) - before == 3


def test_a_server_that_loads_its_model_is_waited_for(url: str) -> None:
    before = len(requests(url))
    assert refused(url, "loading", retries=0) == ("status 503: Loading model", "RW-N07")
    found = asked(url, "loading", retries=1, timeout=20)  # four more times 503: more than one retry
    assert (found.claim, found.sent, len(requests(url)) - before) == (GOOD[0], 5, 6)


def test_a_wait_that_is_longer_than_the_time_is_not_waited_for(url: str) -> None:
    started = time.monotonic()
    assert refused(url, "busy-for-long", 5.0, retries=5) == ("status 429: slow down", "RW-N07")
    assert time.monotonic() - started < 2


def test_a_refusal_becomes_the_exact_token(url: str) -> None:
    for model in ("refuses", "echoes"):
        reply = asked(url, model)
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


AB = [Chunk(chunk_id="a", title="Locks", text="x"), Chunk(chunk_id="lock.md|s=1", text="y [2] z")]


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ('{"claim": "x", "citations": ["1", "1", "2"]}', ("x", ["a", "lock.md|s=1"])),
        ('{"claim": " x \\n y", "citations": ["2"], "more": 1}', ("x y", ["lock.md|s=1"])),
        ('{"claim": "x", "citations": [1, 2]}', ("x", ["a", "lock.md|s=1"])),
        ('{"claim": "x", "citations": "[1, 2]"}', ("x", ["a", "lock.md|s=1"])),
        ('{"claim": "x", "citations": 1}', ("x", ["a"])),
        ('{"claim": "x", "citations": ["[1] Locks", "(2)"]}', ("x", ["a", "lock.md|s=1"])),
        ('{"claim": "x", "citations": ["1.", "passage 2", "#1"]}', ("x", ["a", "lock.md|s=1"])),
        ('{"claim": "x", "citations": ["lock.md|s=1"]}', ("x", ["lock.md|s=1"])),
        ('{"claim": "x", "citations": ["[lock.md|s=1] Locks", "[a]"]}', ("x", ["lock.md|s=1", "a"])),
        ('{"claim": "It is 4 [1].", "citations": []}', ("It is 4.", ["a"])),
        ('{"claim": "[1] It is 4.[1]", "citations": ["1"]}', ("It is 4.", ["a"])),
        ('{"claim": "Use a[1] and b [9].", "citations": ["1"]}', ("Use a[1] and b [9].", ["a"])),
        ('{"claim": "It says y [2] z.", "citations": ["2"]}', ("It says y [2] z.", ["lock.md|s=1"])),
        ('Here you are:\n```json\n{"claim": "x", "citations": ["1"]}\n```', ("x", ["a"])),
        ('<think>{"claim": "no"}</think>{"claim": "x", "citations": ["1"]}', ("x", ["a"])),
        ('{"claim": "NOT IN CONTEXT", "citations": ["elsewhere"]}', ("not in context", [])),
        ('{"claim": "\\"not in context\\".", "citations": []}', ("not in context", [])),
        ('{"claim": "not in context"}', ("not in context", [])),
        ('{"claim": "The claim is \\"not in context\\".", "citations": ["1"]}', ("not in context", [])),
        ('{"claim": "claim: not in context", "citations": []}', ("not in context", [])),
        (
            '{"claim": "The claim is red, not in context.", "citations": ["1"]}',
            ("The claim is red, not in context.", ["a"]),
        ),
        ('{"claim": "Claims not in context", "citations": ["1"]}', ("Claims not in context", ["a"])),
        ('{"claim": " ", "citations": ["1"]}', "expected a claim, got an empty one"),
        ('{"claim": "x", "citations": ["0"]}', 'expected citations from 1 to 2, got "0"'),
        ('{"claim": "x", "citations": ["1, 3"]}', 'expected citations from 1 to 2, got "1, 3"'),
        ('{"claim": "x", "citations": ["lock.md"]}', 'expected citations from 1 to 2, got "lock.md"'),
        ('{"claim": "x", "citations": ["99999999999"]}', 'expected citations from 1 to 2, got "99999999999"'),
        (
            '{"claim": 4, "citations": []}',
            "expected JSON with claim and citations, got: Expected str, got int - at $.claim",
        ),
        ("\ud800", "expected JSON with claim and citations, got: invalid character (byte 0)"),
        ("<think>and so on", "expected JSON with claim and citations, got: nothing"),
    ],
)
def test_what_a_model_wrote_is_read(content: str, found: object) -> None:
    got = read(content, AB)
    assert (got if isinstance(got, str) else (got.claim, got.citations)) == found


def test_a_claim_without_citation_is_read_and_its_fault_named() -> None:
    assert read('{"claim": "x", "citations": []}', AB) == ("x", [], "expected at least one citation, got none")


@given(st.text(max_size=300))
def test_whatever_a_model_writes_is_read_or_refused(text: str) -> None:
    for content in (text, json.dumps({"claim": text, "citations": [text]})):
        got = read(content, AB)
        assert isinstance(got, str) or (got.claim and set(got.citations) <= {"a", "lock.md|s=1"})


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
    assert [sent["body"]["seed"] for sent in requests(url)[-2:]] == [3, 1012]

    async def notebook() -> dict[str, Any]:
        return pipeline(qid="1", q=QUESTION, seed=3, knobs=knobs)

    assert asyncio.run(notebook()) == reply
    before = len(requests(url))
    nothing = pipeline(qid="2", q="Zanzibar?", knobs=knobs)
    assert nothing["answer_json"] == {"claim": "not in context", "citations": [], "constraints_echo": []}
    assert (nothing["usage"], len(requests(url))) == ({"model": "bad-once", "attempts": 0, "context_tokens": 0}, before)
    wrong = pipeline(qid="3", q=QUESTION, knobs={"answerer": f"chat:bad@{url}"})
    assert wrong["error"].startswith(USELESS)
    assert (wrong["error_code"], wrong["raw"]) == ("RW-N04", "Sure! The answer is 42.")
    assert (wrong["retrieved_ids"], wrong["topk"]) == (reply["retrieved_ids"], reply["topk"])
    assert (wrong["usage"]["total_tokens"], list(wrong["stage_ms"])) == (214, ["retrieval", "rerank", "llm"])
    assert "answer_json" not in wrong
    assert "sk-secret-7" not in json.dumps(reply)


# one question by hand


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    (tmp_path / "lock.md").write_text("# Lock\n\nThe lock is red. It must be closed.\n", encoding="utf-8")
    indexing.build(tmp_path / "lock.md", tmp_path / "ix", dense="none")
    return tmp_path / "ix"


def lines(text: str) -> list[str]:
    """What was printed, without the times."""
    return re.sub(r"[\d,]+ ms", "N ms", text).splitlines()


def test_one_question_to_a_model(url: str, lock: Path, cli: Cli) -> None:
    done = cli("index", "ask", lock, QUESTION, "--answerer", f"chat:good@{url}", "--seed", 5)
    assert (done.code, done.err) == (0, "")
    assert lines(done.out) == [
        "It is as the first chunk says.",
        "cites:",
        "  [1] lock.md|s=1|p=000|b=001  Lock",
        "      The lock is red. It must be closed.",
        "time: retrieval N ms, rerank N ms, llm N ms, guard N ms",
        "tokens: 100 read (40 from the server's cache), 7 written",
        "1 attempt, held to: json_schema",
    ]
    sent = requests(url)[-1]
    assert (sent["key"], sent["body"]["seed"]) == ("Bearer sk-secret-7", 5)  # the command line names it
    by_knob = cli("index", "ask", lock, QUESTION, "--knob", f"answerer=chat:good@{url}")
    assert lines(by_knob.out) == lines(done.out)


def test_one_question_that_gets_no_answer(url: str, lock: Path, cli: Cli) -> None:
    done = cli("index", "ask", lock, QUESTION, "--answerer", f"chat:bad@{url}")
    assert done.code == 1
    assert lines(done.out) == [
        f"{USELESS}expected JSON with claim and citations, got: invalid character (byte 0) [RW-N04]",
        "  chat_answer: Look at what it wrote (raw in the trace; 'ragworthy index ask' shows it), and use a model that "
        "keeps to JSON and cites from the context it is given.",
        "the model wrote: Sure! The answer is 42.",
        "it had: [1] lock.md|s=1|p=000|b=001",
        "time: retrieval N ms, rerank N ms, llm N ms",
        "tokens: 200 read (80 from the server's cache), 14 written",
        "2 attempts, held to: json_schema",
        "ask: no answer (exit 1)",
    ]
    late = cli("index", "ask", lock, QUESTION, "--answerer", f"chat:slow@{url}", "--timeout", 0.3)
    assert (late.code, late.out.splitlines()[0]) == (1, "timeout: no reply within 0.3 s [RW-N06]")


def test_one_question_as_json_and_what_the_server_refuses(url: str, lock: Path, cli: Cli) -> None:
    done = cli("index", "ask", lock, QUESTION, "--answerer", f"chat:no-schema@{url}", "--format", "json")
    found = json.loads(done.out)
    assert (done.code, found["question"], found["usage"]["format"]) == (0, QUESTION, "json_object")
    assert found["answer_json"]["constraints_echo"] == ["It must be closed."]  # ours, not the model's
    assert len(found["notes"]) == 1
    shown = cli("index", "ask", lock, QUESTION, "--answerer", f"chat:no-schema@{url}")
    assert [line for line in shown.out.splitlines() if line.startswith("note: ")] == [f"note: {found['notes'][0]}"]


def test_one_question_with_nothing_to_answer_it_from(url: str, lock: Path, cli: Cli) -> None:
    before = len(requests(url))
    done = cli("index", "ask", lock, "Zanzibar?", "--answerer", f"chat:good@{url}")
    assert lines(done.out) == [
        "not in context",
        "cites: nothing",
        "nothing was retrieved: the model was not asked",
        "time: retrieval N ms, rerank N ms, llm N ms, guard N ms",
    ]
    assert (done.code, len(requests(url))) == (0, before)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("--answerer", "chat:m"),
            "--answerer: expected chat:MODEL@URL with a plain address such as http://localhost:8080/v1, "
            "got one without @URL [RW-U01]",
        ),
        (
            ("--answerer", "chat:local@127.0.0.1:8193/v1"),
            "--answerer: expected chat:MODEL@URL with a plain address such as http://localhost:8080/v1, "
            "got one without http:// [RW-U01]",
        ),
        (
            ("--knob", "answerer=chat:m@http://me:pw@host/v1"),
            "--knob: answerer: expected chat:MODEL@URL with a plain address such as http://localhost:8080/v1, "
            "got one with a user or a query [RW-U01]",
        ),
        (("--knob", "k=0"), "--knob: k: expected a whole number of at least 1, got 0 [RW-U01]"),
    ],
)
def test_an_answerer_that_cannot_be_asked(lock: Path, cli: Cli, words: tuple[str, ...], message: str) -> None:
    done = cli("index", "ask", lock, QUESTION, *words)
    assert (done.code, done.err.splitlines()[0]) == (2, message)


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
        assert refused(url, "cites") == (f'{USELESS}expected citations from 1 to 2, got "key ***"', "RW-N04")
        assert "***" in said(f"chat:cites@{url}").raw
        # the key would be cut in two at the 200th character: its first half must not be shown either
        cut, _ = refused(url, "fails-at-length")
        assert cut.startswith(f"status 500: {'x' * 194} *** ")
        assert "secret" not in cut and "sk" not in cut
        assert refused(url, "odd")[0].startswith("bad reply: expected a chat completion, got: JSON is malformed")


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
        # the proxy does listen: a client that follows the environment goes there
        reply = httpx.post(f"{url}/chat/completions", json={"model": "m"}, headers={"Authorization": "Bearer other"})
        assert "From the proxy." in reply.text
        assert heard == ["other"]


def test_the_page_shows_the_rules_that_are_sent() -> None:
    page = (ROOT / "docs" / "pipeline.md").read_text(encoding="utf-8")
    assert squeeze(RULES) in squeeze(page)
