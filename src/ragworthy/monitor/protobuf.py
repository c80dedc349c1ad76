"""Spans as OTLP sends them in protobuf, read into the form that its JSON has.

Only the messages that spans are made of are read, and so many at most: a few megabytes of empty messages would fill
gigabytes in a general parser before anyone could count them.
"""

import base64
import struct
from collections.abc import Callable, Iterator
from typing import Any

MOST_MESSAGES = 200_000
_DEPTH = 16
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class Wrong(ValueError):
    """The bytes are not spans."""


class TooMany(Wrong):
    """There are more messages than anyone has spans."""


Value = int | bytes


def _fields(data: bytes) -> Iterator[tuple[int, int, Value]]:
    """Number, kind and value of each field of a message."""
    place, end = 0, len(data)
    while place < end:
        key, place = _varint(data, place)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, place = _varint(data, place)
            yield number, kind, value
            continue
        if kind == _BYTES:
            size, place = _varint(data, place)
        elif kind in (_FIXED64, _FIXED32):
            size = 8 if kind == _FIXED64 else 4
        else:
            raise Wrong(f"expected a field of protobuf, got kind {kind}")
        if place + size > end:
            raise Wrong("expected a whole message, got its end in the middle of a field")
        yield number, kind, data[place : place + size]
        place += size


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if place >= len(data):
            raise Wrong("expected a whole message, got its end in the middle of a number")
        byte = data[place]
        place += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, place
        shift += 7
        if shift > 63:
            raise Wrong("expected a number of protobuf, got a longer one")


def spans(data: bytes) -> dict[str, Any]:
    """An export request as an object of OTLP JSON."""
    reader = _Reader()
    return {"resourceSpans": reader.listed(data, 1, reader.resource_spans)}


class _Reader:
    def __init__(self) -> None:
        self.left = MOST_MESSAGES

    def _count(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise TooMany(f"expected at most {MOST_MESSAGES:,} messages, got more")

    def listed(self, data: bytes, number: int, read: Callable[[bytes], Any]) -> list[Any]:
        """Every message under a number."""
        found = []
        for one, kind, value in _fields(data):
            self._count()
            if one == number:
                found.append(read(_bytes(value, kind)))
        return found

    def resource_spans(self, data: bytes) -> dict[str, Any]:
        made: dict[str, Any] = {"scopeSpans": []}
        for number, kind, value in _fields(data):
            self._count()
            if number == 1:
                made["resource"] = {"attributes": self.listed(_bytes(value, kind), 1, self.pair)}
            elif number == 2:
                made["scopeSpans"].append({"spans": self.listed(_bytes(value, kind), 2, self.span)})
        return made

    def span(self, data: bytes) -> dict[str, Any]:
        made: dict[str, Any] = {"attributes": [], "events": []}
        for number, kind, value in _fields(data):
            self._count()
            if number in _IDS:
                made[_IDS[number]] = _bytes(value, kind).hex()
            elif number == 5:
                made["name"] = _text(value, kind)
            elif number in _SPAN_TIMES:
                made[_SPAN_TIMES[number]] = str(int.from_bytes(_bytes(value, kind), "little"))
            elif number == 9:
                made["attributes"].append(self.pair(_bytes(value, kind)))
            elif number == 10 and isinstance(value, int):
                made["droppedAttributesCount"] = value & 0xFFFFFFFF
            elif number == 11:
                made["events"].append(self.event(_bytes(value, kind)))
            elif number == 15:
                made["status"] = self.status(_bytes(value, kind))
        return made

    def event(self, data: bytes) -> dict[str, Any]:
        made: dict[str, Any] = {"attributes": []}
        for number, kind, value in _fields(data):
            self._count()
            if number == 2:
                made["name"] = _text(value, kind)
            elif number == 3:
                made["attributes"].append(self.pair(_bytes(value, kind)))
        return made

    def status(self, data: bytes) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for number, kind, value in _fields(data):
            self._count()
            if number == 2:
                made["message"] = _text(value, kind)
            elif number == 3 and isinstance(value, int):
                made["code"] = value
        return made

    def pair(self, data: bytes, depth: int = _DEPTH) -> dict[str, Any]:
        made: dict[str, Any] = {"key": "", "value": {}}
        for number, kind, value in _fields(data):
            self._count()
            if number == 1:
                made["key"] = _text(value, kind)
            elif number == 2:
                made["value"] = self.value(_bytes(value, kind), depth)
        return made

    def value(self, data: bytes, depth: int) -> dict[str, Any]:
        if not depth:
            raise Wrong("expected flat attributes, got values nested too deeply")
        made: dict[str, Any] = {}
        for number, kind, value in _fields(data):
            self._count()
            if number == 1:
                made = {"stringValue": _text(value, kind)}
            elif number == 2 and isinstance(value, int):
                made = {"boolValue": bool(value)}
            elif number == 3 and isinstance(value, int):
                made = {"intValue": str(value - (1 << 64) if value >> 63 else value)}
            elif number == 4:
                made = {"doubleValue": struct.unpack("<d", _sized(value, kind, 8))[0]}
            elif number == 5:
                inner = self.listed(_bytes(value, kind), 1, lambda one: self.value(one, depth - 1))
                made = {"arrayValue": {"values": inner}}
            elif number == 6:
                pairs = self.listed(_bytes(value, kind), 1, lambda one: self.pair(one, depth - 1))
                made = {"kvlistValue": {"values": pairs}}
            elif number == 7:
                made = {"bytesValue": base64.b64encode(_bytes(value, kind)).decode()}
        return made


_IDS = {1: "traceId", 2: "spanId", 4: "parentSpanId"}
_SPAN_TIMES = {7: "startTimeUnixNano", 8: "endTimeUnixNano"}


def _bytes(value: Value, kind: int) -> bytes:
    if not isinstance(value, bytes):
        raise Wrong(f"expected bytes, got a field of kind {kind}")
    return value


def _sized(value: Value, kind: int, size: int) -> bytes:
    data = _bytes(value, kind)
    if len(data) != size:
        raise Wrong(f"expected {size} bytes, got {len(data)}")
    return data


def _text(value: Value, kind: int) -> str:
    try:
        return _bytes(value, kind).decode()
    except UnicodeDecodeError:
        raise Wrong("expected UTF-8, got other bytes") from None


def refusal(message: str) -> bytes:
    """A message for a sender that speaks protobuf: google.rpc.Status."""
    text = message.encode()[:1000]
    return b"\x12" + _written(len(text)) + text


def _written(number: int) -> bytes:
    made = b""
    while number > 127:
        made += bytes([number & 127 | 128])
        number >>= 7
    return made + bytes([number])
