"""An embedding endpoint, against a real HTTP server that answers well or badly."""

import errno
import json
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ragworthy.errors import DataError, MissingExtra, UsageError
from ragworthy.index import embed, endpoint, store
from ragworthy.records import Chunk

Answer = Callable[[dict[str, Any]], tuple[int, bytes]]


def vector(text: str) -> list[float]:
    return [float(len(text)), 1.0, 0.0]


def well(body: dict[str, Any]) -> tuple[int, bytes]:
    data = [{"object": "embedding", "index": n, "embedding": vector(text)} for n, text in enumerate(body["input"])]
    return 200, json.dumps({"object": "list", "model": body["model"], "data": data[::-1]}).encode()


class Server(ThreadingHTTPServer):
    """Answers with what `answer` makes of the request, and keeps what it was asked."""

    answer: Answer
    asked: list[tuple[str, str | None, dict[str, Any]]]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has gone is no news."""


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, self.headers["Authorization"], body))
        status, content = self.server.answer(body)
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.delenv(endpoint.KEY, raising=False)
    made = Server(("127.0.0.1", 0), Handler)
    made.answer, made.asked = well, []
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def url_of(server: Server) -> str:
    return f"http://127.0.0.1:{server.server_port}/v1"


def model_of(server: Server, waits: list[float] | None = None) -> endpoint.Endpoint:
    return endpoint.Endpoint("tiny", url_of(server), timeout=5, wait=(waits if waits is not None else []).append)


def failure(model: endpoint.Endpoint, texts: list[str]) -> str:
    with pytest.raises(DataError) as caught:
        model.embed(texts)
    assert caught.value.problems[0].code == "RW-I08"
    return caught.value.problems[0].message


def test_vectors_come_in_batches_in_the_order_of_the_texts(server: Server) -> None:
    model = embed.load(f"openai:tiny@{url_of(server)}/")
    texts = ["x" * (n % 9) for n in range(150)]  # every ninth is blank and is not sent
    rows = model.embed(texts)
    lengths = np.array([len(text) for text in texts], dtype=float)
    expected = np.stack([lengths, lengths > 0, 0 * lengths], axis=1)
    expected[lengths > 0] /= np.linalg.norm(expected[lengths > 0], axis=1)[:, None]
    assert np.abs(rows - expected).max() < 1e-6
    assert [len(body["input"]) for _, _, body in server.asked] == [64, 64, 5]
    assert all("" not in body["input"] for _, _, body in server.asked)
    path, key, body = server.asked[0]
    assert (path, key, body["model"]) == ("/v1/embeddings", None, "tiny")
    assert model.name == f"openai:tiny@{url_of(server)}"
    assert model.dimension == 3


def test_the_dimension_is_asked_for_when_nothing_was_embedded(server: Server) -> None:
    assert model_of(server).dimension == 3
    assert model_of(server).embed(["", " "]).tolist() == [[0, 0, 0], [0, 0, 0]]


def test_the_hash_stands_for_address_and_model(server: Server) -> None:
    one, other = model_of(server), endpoint.Endpoint("large", url_of(server))
    assert len(one.weights) == 64
    assert one.weights == model_of(server).weights != other.weights


def test_the_key_is_sent_and_never_shown(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(endpoint.KEY, "not-a-real-key")
    server.answer = lambda _: (401, b"who are you?")
    model = model_of(server)
    assert failure(model, ["x"]) == "expected status 200, got status 401: who are you?"
    assert [key for _, key, _ in server.asked] == ["Bearer not-a-real-key"]
    assert "not-a-real-key" not in model.name + model.weights


def test_a_failure_that_passes_is_waited_for(server: Server) -> None:
    left = [503, 429]
    server.answer = lambda body: (left.pop(), b"busy") if left else well(body)
    waits: list[float] = []
    assert model_of(server, waits).embed(["abc"])[0].tolist() == pytest.approx([3 / 10**0.5, 1 / 10**0.5, 0])
    assert waits == [0.5, 1.0]


def test_a_failure_that_stays_ends_after_four_attempts(server: Server) -> None:
    server.answer = lambda _: (500, b"on fire\x1b[31m")
    waits: list[float] = []
    message = failure(model_of(server, waits), ["x"])
    assert message == "expected vectors, got after 4 attempts status 500: on fire\x1b[31m"
    assert waits == [0.5, 1.0, 2.0]
    assert len(server.asked) == 4


def reply(*vectors: list[Any], **extra: Any) -> bytes:
    return json.dumps({"data": [{"embedding": one, **extra} for one in vectors]}).encode()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<html>", "expected a list of vectors under data, got: JSON is malformed: invalid character (byte 0)"),
        (b"\xff\xfe", "expected a list of vectors under data, got: JSON is malformed: invalid character (byte 0)"),
        (b'{"vectors": []}', "expected a list of vectors under data, got: Object missing required field `data`"),
        (
            b'{"data": [{"embedding": [NaN, 1]}, {"embedding": [1, 1]}]}',
            "expected a list of vectors under data, got: JSON is malformed: invalid character (byte 25)",
        ),
        (
            b'{"data": [{"embedding": [1e999]}, {"embedding": [1]}]}',
            "expected a list of vectors under data, got: Number out of range - at `$.data[0].embedding[0]`",
        ),
        (
            b'{"data": [{"embedding": [' + b"0," * (1 << 20) + b'0]}, {"embedding": [0]}]}',
            "expected at most 1,048,576 bytes at data[0].embedding, got more",
        ),
        (
            b'{"data": [{"embedding": ' + b"[" * 100_000,
            "expected a list of vectors under data, got: maximum recursion depth exceeded while deserializing an"
            " object",
        ),
        (reply([1e39, 1], [1, 1]), "expected finite numbers, got NaN or infinity"),
        (reply([1, 1]), "expected 2 vectors, got 1"),
        (reply([1, 1], [1, 1], [1, 1]), "expected 2 vectors, got 3"),
        (reply([1, 1], [1, 1, 1]), "expected vectors of dimension 2, got 3"),
        (reply([], []), "expected vectors of dimension at least 1, got 0"),
        (reply([1, 1], [1, 1], index=0), "expected every index once, got repeated or missing ones"),
        (
            reply(["a"], ["b"]),
            "expected a list of vectors under data, got: Expected `float`, got `str` - at `$.data[0].embedding[0]`",
        ),
    ],
)
def test_an_answer_that_is_not_vectors(server: Server, content: bytes, message: str) -> None:
    server.answer = lambda _: (200, content)
    assert failure(model_of(server), ["one", "two"]) == message


def test_the_dimension_may_not_change(server: Server) -> None:
    model = model_of(server)
    model.embed(["x"])
    server.answer = lambda _: (200, reply([1, 1]))
    assert failure(model, ["x"]) == "expected vectors of dimension 3, got 2"


def test_nobody_listens() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        model = endpoint.Endpoint("tiny", f"http://127.0.0.1:{port}", timeout=2, wait=lambda _: None)
        with pytest.raises(DataError) as caught:
            model.embed(["x"])
    assert caught.value.lines() == [
        f"http://127.0.0.1:{port}/embeddings: expected vectors, got after 4 attempts no connection:"
        f" {os.strerror(errno.ECONNREFUSED)} [RW-I08]",
        "  endpoint: Check the address, the key and the model name; nothing was written.",
    ]


def test_an_answer_that_never_comes(server: Server) -> None:
    release = threading.Event()

    def late(body: dict[str, Any]) -> tuple[int, bytes]:
        release.wait(10)
        return well(body)

    server.answer = late
    model = endpoint.Endpoint("tiny", url_of(server), timeout=0.1, wait=lambda _: None)
    try:
        assert failure(model, ["x"]) == "expected vectors, got none within 0.1 s"
        assert len(server.asked) == 1  # a server that is too slow is not asked to do it all again
    finally:
        release.set()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "openai:m@http://a:b@host/v1",
            f"expected an address without a password, got one: give the key in {endpoint.KEY}",
        ),
        (
            "openai:m@http:///v1",
            "expected an address such as http://localhost:8080/v1, got one without a host, or with spaces or letters"
            " that must be escaped",
        ),
        (
            "openai:m@http://h/v1?x=1",
            "expected an address such as http://localhost:8080/v1, got one with a query or a fragment",
        ),
        ("openai:m@ftp://h", 'expected a model (wordllama, minilm or openai:MODEL@URL), got "openai:…"'),
        ("openai:m@https:/u:pw@h", 'expected a model (wordllama, minilm or openai:MODEL@URL), got "openai:…"'),
        ("mini", 'expected a model (wordllama, minilm or openai:MODEL@URL), got "mini"'),
    ],
)
def test_addresses_that_are_refused(name: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        embed.load(name)
    assert caught.value.problems[0].message == message


def test_a_model_name_may_hold_an_at_sign() -> None:
    assert embed.load("openai:gecko@003@https://h/v1").name == "openai:gecko@003@https://h/v1"


def test_it_needs_httpx(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(MissingExtra, match=r"an embedding endpoint needs httpx: pip install httpx \(extra: http\)"):
        embed.load("openai:m@http://h/v1")


def test_an_index_from_an_endpoint_asks_it_again_only_when_allowed(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "a\n\nbbbbbbbb"
    chunks = [
        Chunk(chunk_id="d#0", doc_id="d", section_id="1", type="prose", offsets=(0, 1), text="a"),
        Chunk(chunk_id="d#1", doc_id="d", section_id="1", type="prose", offsets=(3, 11), text="bbbbbbbb"),
    ]
    documents = [store.CanonicalText("d", "d.md", "0", text)]
    options = {"normaliser": "n/1", "chunker": "c/1", "embedder": model_of(server)}
    store.build(tmp_path / "ix", chunks=chunks, documents=documents, **options)  # type: ignore[arg-type]
    index = store.open_index(tmp_path / "ix")
    asked = len(server.asked)
    monkeypatch.delenv(store.PERMIT, raising=False)
    with pytest.raises(DataError, match="no index may make us ask an address"):
        index.search("cccccccc", 1, "dense")
    assert len(server.asked) == asked
    monkeypatch.setenv(store.PERMIT, url_of(server))
    assert [(hit.chunk.name, hit.score) for hit in index.search("cccccccc", 1, "dense")] == [("d#1", 1.0)]
    server.answer = lambda _: (400, b"no")
    with pytest.raises(DataError, match="expected status 200, got status 400: no"):
        store.build(tmp_path / "ix", chunks=chunks, documents=documents, **options)  # type: ignore[arg-type]
    assert store.check(store.open_index(tmp_path / "ix")) == []  # the old index is untouched
