"""A request of OTLP over HTTP: its body, unpacked and checked, as one line of JSON."""

import zlib
from typing import Any

import msgspec

from ragworthy.adapters.otel import otlp
from ragworthy.errors import RagworthyError
from ragworthy.monitor import protobuf
from ragworthy.monitor.traces import RECEIVED
from ragworthy.text import clip

MOST_BYTES = 4 << 20
"""So large a body may be as it is sent."""
MOST_UNPACKED = 8 << 20
MOST_VALUES = 200_000
MOST_COMMAS = 500_000
"""So many objects and lists, and so many commas, a body of JSON may have: a few megabytes could fill gigabytes."""
JSON, PROTOBUF = "application/json", "application/x-protobuf"


class Refused(Exception):
    """A request that is not taken: its status, and why."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status
        self.why = why


def line(body: bytes, kind: str, coding: str, received: int) -> bytes:
    """The spans of a request, and when it came, as a line for the spool; empty where it has none."""
    data = unpacked(body, coding)
    if kind == PROTOBUF:
        value = _of_protobuf(data)
    elif kind == JSON:
        value = _of_json(data)
    else:
        raise Refused(415, f"expected {PROTOBUF} or {JSON}, got {clip(kind, 60) or 'no type'}")
    try:
        spans = sum(1 for _ in otlp(value, "the request"))
    except RagworthyError as error:
        problem = error.problems[0]
        raise Refused(400, clip(f"{problem.field}: {problem.message}", 200)) from None
    except RecursionError:
        raise Refused(400, "expected flat attributes, got values nested too deeply") from None
    made = {"resourceSpans": value.get("resourceSpans", []), RECEIVED: received}
    return msgspec.json.encode(made) + b"\n" if spans else b""


def unpacked(body: bytes, coding: str) -> bytes:
    """A body without its packing, which may hold so much and no more."""
    if coding in ("", "identity"):
        return body
    if coding != "gzip":
        raise Refused(415, f"expected gzip or no packing, got {clip(coding, 60)}")
    unpack = zlib.decompressobj(31)
    try:
        data = unpack.decompress(body, MOST_UNPACKED + 1)
    except zlib.error:
        raise Refused(400, "expected gzip, got other bytes") from None
    if len(data) > MOST_UNPACKED:
        raise Refused(413, f"expected at most {MOST_UNPACKED >> 20} MiB unpacked, got more")
    if not unpack.eof:
        raise Refused(400, "expected gzip, got the end in the middle of it")
    if unpack.unused_data:  # a second member would be lost without a word
        raise Refused(400, "expected one member of gzip, got more after its end")
    return data


def _of_protobuf(data: bytes) -> dict[str, Any]:
    try:
        return protobuf.spans(data)
    except protobuf.TooMany as error:
        raise Refused(413, str(error)) from None
    except protobuf.Wrong as error:
        raise Refused(400, str(error)) from None


def _of_json(data: bytes) -> dict[str, Any]:
    if data.count(b"{") + data.count(b"[") > MOST_VALUES or data.count(b",") > MOST_COMMAS:
        raise Refused(413, f"expected at most {MOST_VALUES:,} objects and lists, got more")
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refused(400, clip(f"expected JSON, got: {error}", 200)) from None
    except RecursionError:
        raise Refused(400, "expected flat attributes, got values nested too deeply") from None
    if not isinstance(value, dict):
        raise Refused(400, "expected an object with resourceSpans, got something else")
    if "resource_spans" in value and "resourceSpans" not in value:
        value["resourceSpans"] = value.pop("resource_spans")
    return value
