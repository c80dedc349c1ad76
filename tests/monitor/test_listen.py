"""`ragworthy monitor --listen`: spans over HTTP from real senders, and from hostile ones."""

import gzip
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from live_logs import NOON, run, told
from places import ROOT, SHARED

JSON = {"Content-Type": "application/json"}


class Here:
    """A monitor that listens."""

    def __init__(self, child: "subprocess.Popen[str]", port: int) -> None:
        self.child = child
        self.port = port

    def post(self, body: bytes, headers: dict[str, str] = JSON, path: str = "/v1/traces") -> tuple[int, bytes]:
        talk = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            talk.request("POST", path, body, headers)
            reply = talk.getresponse()
            return reply.status, reply.read()
        finally:
            talk.close()

    def peak(self) -> int:
        """The most memory it ever had, in MiB."""
        text = Path(f"/proc/{self.child.pid}/status").read_text(encoding="utf-8")
        return int(text.partition("VmHWM:")[2].split()[0]) // 1024

    def ended(self) -> dict[str, Any]:
        self.child.send_signal(signal.SIGTERM)
        out, errors = self.child.communicate(timeout=30)
        assert errors == ""
        found = json.loads(out)
        assert isinstance(found, dict)
        return found


@contextmanager
def listening(state: Path, *words: str, env: dict[str, str] | None = None) -> Iterator[Here]:
    command = [sys.executable, "-m", "ragworthy", "monitor", "--listen", "127.0.0.1:0", "--state", str(state)]
    child = subprocess.Popen(
        [*command, "--format", "json", *words], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | (env or {}),
    )  # fmt: skip
    try:
        line = child.stderr.readline() if child.stderr else ""
        assert line.startswith("listening at http://127.0.0.1:"), line + (child.stderr.read() if child.stderr else "")
        yield Here(child, int(line.partition("127.0.0.1:")[2].partition("/")[0]))
    finally:
        if child.poll() is None:
            child.kill()
        child.communicate()


def spans(n: int, minute: float = 1.0, *, build: str = "b1", error: str = "") -> list[dict[str, Any]]:
    """The spans of one question: a chain, its retriever and its model call."""
    trace, at = f"{n:032x}", int((NOON + 60 * minute) * 1e9)

    def span(nth: int, parent: str, kind: str, begin: int, end: int, **attributes: Any) -> dict[str, Any]:
        pairs = [{"key": "openinference.span.kind", "value": {"stringValue": kind}}]
        pairs += [{"key": key.replace("__", "."), "value": {"stringValue": value}} for key, value in attributes.items()]
        made = {
            "traceId": trace, "spanId": f"{nth:016x}", "parentSpanId": parent, "name": kind.lower(),
            "startTimeUnixNano": str(at - begin * 1_000_000), "endTimeUnixNano": str(at - end * 1_000_000),
            "attributes": pairs,
        }  # fmt: skip
        return made | ({"status": {"code": 2, "message": error}} if error and not parent else {})

    question = f"What is {n}?"
    documents = {
        "retrieval__documents__0__document__id": "a#1", "retrieval__documents__0__document__content": "One.",
        "retrieval__documents__1__document__id": "b#1", "retrieval__documents__1__document__content": "Two.",
    }  # fmt: skip
    said = {"llm__output_messages__0__message__role": "assistant"}
    said["llm__output_messages__0__message__content"] = "It is one [1]."
    return [
        span(2, f"{1:016x}", "RETRIEVER", 900, 850, input__value=question, **documents),
        span(3, f"{1:016x}", "LLM", 800, 100, input__value=question, **said),
        span(1, "", "CHAIN", 1000, 0, input__value=question, output__value="It is one [1].", build=build),
    ]


def request(some: list[dict[str, Any]]) -> dict[str, Any]:
    about = {"attributes": [{"key": "service.version", "value": {"stringValue": "v7"}}]}
    return {"resourceSpans": [{"resource": about, "scopeSpans": [{"scope": {"name": "t"}, "spans": some}]}]}


def body(some: list[dict[str, Any]]) -> bytes:
    return json.dumps(request(some)).encode()


def protobuf(some: list[dict[str, Any]]) -> bytes:
    """The same by the library of OpenTelemetry."""
    service = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
    from base64 import b64encode

    json_format = pytest.importorskip("google.protobuf.json_format")

    def coded(value: str) -> str:
        return b64encode(bytes.fromhex(value)).decode()

    ids = ("traceId", "spanId", "parentSpanId")
    made = [one | {name: coded(one[name]) for name in ids} for one in some]
    data = json_format.ParseDict(request(made), service.ExportTraceServiceRequest()).SerializeToString()
    assert isinstance(data, bytes)
    return data


def counted(found: dict[str, Any]) -> tuple[int, int]:
    """Records that were read, and those that wait for their minute to end."""
    return found["records"], found["counted"] + found["waiting"]


def test_spans_in_every_form_become_records(tmp_path: Path) -> None:
    pb = {"Content-Type": "application/x-protobuf"}
    with listening(tmp_path / "m.db") as here:
        assert here.post(body(spans(1))) == (200, b"{}")
        assert here.post(protobuf(spans(2)), pb) == (200, b"")
        assert here.post(gzip.compress(body(spans(3))), JSON | {"Content-Encoding": "gzip"}) == (200, b"{}")
        assert here.post(gzip.compress(protobuf(spans(4))), pb | {"Content-Encoding": "gzip"})[0] == 200
        retriever, model, chain = spans(5, 3.0)
        for part in ([retriever], [model], [chain]):  # as they end, each in a request of its own
            assert here.post(body(part))[0] == 200
        assert here.post(body([]))[0] == 200
        assert here.post(body(spans(6, 4.5, error="HTTP 401 from the model")))[0] == 200
        assert here.post(body(spans(7, 7.0)))[0] == 200
        assert here.post(body(spans(7, 7.0)))[0] == 200  # sent again
        for n in range(8, 80):  # after a pause of minutes enough records say that it is later now
            assert here.post(body(spans(n, 7.0 + n / 30)))[0] == 200
        found = here.ended()
    assert counted(found) == (80, 79)
    assert found["problems"]["twice"]["count"] == 1
    fields = found["fields"]
    valid = fields["valid"]["samples"]
    assert valid >= 5
    assert fields["valid"] == {"samples": valid, "mean": 1, "p50": 1, "p90": 1, "p95": 1}
    assert fields["e2e_ms"]["p50"] == 1000
    assert fields["retrieve_ms"]["p50"] == 50
    assert fields["reason_ms"]["p50"] == 700
    assert fields["unauthorised"]["mean"] == pytest.approx(1 / (valid + 1))
    assert found["fired"] == {"auth_failure": 1}


@pytest.mark.parametrize("answers", ["by itself", "by a model"])
def test_a_retriever_that_finds_nothing_is_an_empty_retrieval(tmp_path: Path, answers: str) -> None:
    log = tmp_path / "spans.jsonl"
    with log.open("w") as file:
        for n in range(1, 9):
            retriever, model, chain = spans(n, n)
            if n > 5:
                kept = [one for one in retriever["attributes"] if not one["key"].startswith("retrieval.")]
                retriever["attributes"] = kept
            asked = [retriever, chain] if n > 5 and answers == "by itself" else [retriever, model, chain]
            file.write(json.dumps(request(asked)) + "\n")
    found = told(log)
    assert (found["records"], found["problems"]) == (8, {})
    assert found["fields"]["empty"]["samples"] == 8
    assert found["fields"]["empty"]["mean"] == 3 / 8


def test_protobuf_is_read_as_the_library_reads_it() -> None:
    from ragworthy.monitor.protobuf import spans as read

    some = spans(9, error="boom")
    some[0]["attributes"] += [
        {"key": "n", "value": {"intValue": "-5"}}, {"key": "x", "value": {"doubleValue": 0.25}},
        {"key": "b", "value": {"boolValue": True}},
        {"key": "l", "value": {"arrayValue": {"values": [{"stringValue": "ä"}, {"intValue": "7"}]}}},
        {"key": "k", "value": {"kvlistValue": {"values": [{"key": "in", "value": {"stringValue": "x"}}]}}},
    ]  # fmt: skip
    some[0]["droppedAttributesCount"] = 3
    some[0]["events"] = [{"name": "exception", "attributes": [{"key": "m", "value": {"stringValue": "no"}}]}]
    found = read(protobuf(some))["resourceSpans"][0]["scopeSpans"][0]["spans"]
    for mine, one in zip(found, some, strict=True):
        assert {key: value for key, value in mine.items() if value not in ([], "")} == {
            key: value for key, value in one.items() if value != ""
        }


@pytest.mark.data("findings/samples")
@pytest.mark.parametrize("framework", ["langchain", "llamaindex", "haystack"])
def test_real_spans_of_frameworks(tmp_path: Path, framework: str) -> None:
    sample = SHARED / "findings/samples" / f"openinference_{framework}_otlp.jsonl"
    with listening(tmp_path / "m.db") as here:
        for one in sample.read_bytes().splitlines():
            assert here.post(one) == (200, b"{}")
        sent = here.ended()
    done = run(sample, "--once", "--format", "json")
    read = json.loads(done.stdout)
    assert counted(sent) == counted(read)
    assert read["records"] > 0
    assert sent["problems"].keys() <= {"no_question", "unfinished"}


def test_what_is_refused_is_told(tmp_path: Path) -> None:
    with listening(tmp_path / "m.db") as here:
        assert here.post(b"nonsense") == (400, b'{"message":"expected JSON, got: JSON is malformed: invalid character (byte 4)"}')  # fmt: skip # noqa: E501
        assert here.post(b'{"resourceSpans": 5}') == (
            400, b'{"message":"resourceSpans: expected a list of objects, got 5"}',
        )  # fmt: skip
        wrong = spans(1)
        wrong[0]["traceId"] = 12
        assert here.post(body(wrong))[0] == 400
        assert here.post(b"x", {"Content-Type": "text/plain"}) == (
            415, b'{"message":"expected application/x-protobuf or application/json, got text/plain"}',
        )  # fmt: skip
        assert here.post(b"\xff\xff", {"Content-Type": "application/x-protobuf"})[0] == 400
        assert here.post(b"x", JSON | {"Content-Encoding": "br"})[0] == 415
        assert here.post(b"x", JSON | {"Content-Encoding": "gzip"})[0] == 400
        two = gzip.compress(body(spans(2))) + gzip.compress(body(spans(3)))  # the second would be lost
        assert here.post(two, JSON | {"Content-Encoding": "gzip"})[0] == 400
        large = b'{"message":"expected at most 4 MiB, got more"}'
        assert here.post(b" " * (12 << 20)) == (413, large)  # it is told although it still sends
        assert here.post(b"{}", path="/elsewhere")[0] == 404
        assert here.post(b"{}", path="/metrics")[0] in (404, 405)
        deep = b'{"resourceSpans": ' + b"[" * 5000 + b"]" * 5000 + b"}"
        assert here.post(deep)[0] == 400
        assert here.post(body(spans(1)))[0] == 200
        assert counted(here.ended()) == (1, 1)


def test_metrics_are_served_beside_the_spans(tmp_path: Path) -> None:
    pytest.importorskip("prometheus_client")
    with listening(tmp_path / "m.db") as here:
        for n in range(1, 8):
            here.post(body(spans(n, n, error="status 401" if n == 2 else "")))
        for n in range(8, 60):  # enough to begin with
            here.post(body(spans(n, 7)))
        end = time.monotonic() + 20
        while True:
            talk = http.client.HTTPConnection("127.0.0.1", here.port, timeout=10)
            talk.request("GET", "/metrics")
            reply = talk.getresponse()
            text = reply.read().decode()
            talk.close()
            if "rag_request_count_total 5.0" in text:
                break
            assert time.monotonic() < end, text
            time.sleep(0.1)
        assert reply.headers["Content-Type"].startswith("application/openmetrics-text")
        assert text.endswith("# EOF\n")
        assert 'rule="auth_failure"' in text


def test_a_token_is_asked_for(tmp_path: Path) -> None:
    with listening(tmp_path / "m.db", "--token-env", "RW_TOKEN", env={"RW_TOKEN": "s3cret"}) as here:
        assert here.post(body(spans(1)))[0] == 401
        assert here.post(body(spans(1)), JSON | {"Authorization": "Bearer wrong"})[0] == 401
        assert here.post(body(spans(1)), JSON | {"Authorization": "s3cret"})[0] == 401
        assert here.post(body(spans(1)), JSON | {"Authorization": "bearer s3cret"})[0] == 200
        assert here.post(body(spans(1)), JSON | {"Authorization": "Bearer s3cret"})[0] == 200


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--listen", "0.0.0.0:0"),
         "--listen: expected a token (--token-env NAME) for 0.0.0.0, which others can reach, got none [RW-O05]"),
        (("--listen", "4318"), "--listen: expected HOST:PORT, got 4318 [RW-O05]"),
        (("--listen", "example.org:80"), "--listen: expected an IP address or localhost, got example.org [RW-O05]"),
        (("--listen", "127.0.0.1:0", "--token-env", "RW_NONE"),
         "--token-env: expected a token in RW_NONE, got nothing [RW-O05]"),
        (("--listen", "192.0.2.1:9", "--token-env", "HOME"),
         "--listen: expected an address to listen at, got 192.0.2.1:9: "),
    ],
)  # fmt: skip
def test_where_it_cannot_listen(tmp_path: Path, words: tuple[str, ...], told: str) -> None:
    done = run(*words, "--state", tmp_path / "m.db")
    assert done.returncode == 2
    assert done.stderr.splitlines()[0].startswith(told)


# hostile senders


def endless(port: int, ended: threading.Event) -> None:
    """A body without an end."""
    with socket.create_connection(("127.0.0.1", port)) as talk:
        talk.sendall(b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n")
        talk.sendall(b"Transfer-Encoding: chunked\r\n\r\n")
        piece = b"10000\r\n" + b" " * 65536 + b"\r\n"
        try:
            while not ended.is_set():
                talk.sendall(piece)
        except OSError:
            return


def test_hostile_senders_fill_nothing_and_stop_nobody(tmp_path: Path) -> None:
    bomb = gzip.compress(b" " * (1 << 30), 1)  # a gigabyte in a few megabytes
    many = b'{"resourceSpans":[' + b"{}," * 1_000_000 + b"{}]}"
    strings = b'{"resourceSpans":[{"a":[' + b'"a",' * 1_000_000 + b'"a"]}]}'
    empty = b"\x0a\x00" * 1_500_000  # a million and a half empty messages
    pb = {"Content-Type": "application/x-protobuf"}
    with listening(tmp_path / "m.db") as here:
        assert here.post(body(spans(0)))[0] == 200
        before = here.peak()
        ended = threading.Event()
        senders = [threading.Thread(target=endless, args=(here.port, ended)) for _ in range(8)]
        slow = [socket.create_connection(("127.0.0.1", here.port)) for _ in range(200)]
        for nth, one in enumerate(slow):  # each begins a request and never ends it
            with suppress(OSError):
                one.sendall(b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nX-%d: " % nth)
        for sender in senders:
            sender.start()
        begun = time.monotonic()
        for n in range(1, 20):
            assert here.post(body(spans(n)))[0] in (200, 503)
        assert time.monotonic() - begun < 10
        assert here.post(bomb[: 4 << 20], JSON | {"Content-Encoding": "gzip"})[0] == 413
        assert here.post(many)[0] == 413
        assert here.post(strings)[0] == 413
        assert here.post(empty, pb)[0] == 413
        with suppress(OSError):  # it may not even be read
            assert here.post(b" " * (5 << 20))[0] == 413
        ended.set()
        for sender in senders:
            sender.join()
        for one in slow:
            one.close()
        builds = [span for n in range(100, 400) for span in spans(n, 2.0, build=f"made up {n}")]
        assert here.post(body(builds))[0] == 200
        grown = here.peak() - before
        found = here.ended()
    assert grown < 120, f"{grown} MiB"
    assert found["records"] >= 300
    assert found["problems"] == {}


def test_kills_while_spans_come(tmp_path: Path) -> None:
    """A sender that repeats what was not taken: everything is counted, and once."""
    state, n = tmp_path / "m.db", 0
    for kill in range(4):
        with listening(state) as here:
            end = time.monotonic() + 0.7
            while time.monotonic() < end:
                try:
                    taken = here.post(body(spans(n, 1 + n / 100)))[0] == 200
                except OSError:
                    taken = False
                n += taken
            if kill < 3:
                here.child.kill()
                here.child.wait()
                n -= 1  # as if the last answer had not arrived
                continue
            found = here.ended()
    assert n > 40
    assert counted(found) == (n + 3, n), found["problems"]
    assert found["problems"] == {"twice": {"count": 3, "first": found["problems"]["twice"]["first"]}}
    assert sum(path.stat().st_size for path in (tmp_path / "m.spool").iterdir()) < 32 << 20
