"""OpenTelemetry spans: OTLP JSON (a collector's or an exporter's file) and the JSON of the SDK (`span.to_json()`)."""

import base64
import binascii
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ragworthy.adapters.jsonstream import objects
from ragworthy.adapters.model import Adapter, Imported
from ragworthy.adapters.spans import Span, kind_of, nanoseconds
from ragworthy.adapters.tracing import OPTIONS, imported
from ragworthy.errors import data_error
from ragworthy.text import described

_DEPTH = 16
_SHAPE = "expected spans (resourceSpans of OTLP JSON, or span.to_json() with a context), got an object with {}"


def read(paths: Sequence[Path], options: Mapping[str, Any]) -> Imported:
    """Traces from files of spans."""
    return imported("otel", paths, options, spans)


def spans(path: Path) -> Iterator[Span]:
    """The spans of a file."""
    for where, value in objects(path):
        if "resourceSpans" in value or "resource_spans" in value:
            yield from otlp(value, where)
        elif isinstance(value.get("context"), Mapping):
            yield sdk_span(value, where)
        elif "resourceLogs" not in value and "resourceMetrics" not in value:  # a collector's file may have these too
            keys = ", ".join(list(value)[:6]) or "nothing"
            raise data_error("RW-A12", _SHAPE.format(keys), where=where)


def otlp(value: Mapping[str, Any], where: str) -> Iterator[Span]:
    """The spans of one OTLP request."""
    for resource in listed(value, ("resourceSpans", "resource_spans"), where):
        for scope in listed(resource, ("scopeSpans", "scope_spans", "instrumentationLibrarySpans"), where):
            for span in listed(scope, ("spans",), where):
                yield _otlp_span(span, where)


def listed(value: Mapping[str, Any], keys: Sequence[str], where: str) -> list[Mapping[str, Any]]:
    """A list of objects under one of some keys; nothing is an empty list."""
    key = next((one for one in keys if value.get(one) is not None), keys[0])
    held = value.get(key) or []
    wrong = held if not isinstance(held, list) else next((one for one in held if not isinstance(one, Mapping)), None)
    if wrong is not None:
        raise data_error("RW-A12", f"expected a list of objects, got {described(wrong)}", where=where, field=key)
    return list(held)


def _otlp_span(span: Mapping[str, Any], where: str) -> Span:
    attributes = {
        one["key"]: otlp_value(one.get("value"))
        for one in listed(span, ("attributes",), where)
        if isinstance(one.get("key"), str)
    }
    return Span(
        trace=hex_id(span.get("traceId", span.get("trace_id")), 32, "traceId", where),
        id=hex_id(span.get("spanId", span.get("span_id")), 16, "spanId", where),
        parent=parent_id(span.get("parentSpanId", span.get("parent_span_id")), "parentSpanId", where),
        name=str(span.get("name") or ""),
        kind=kind_of(attributes),
        start=nanoseconds(span.get("startTimeUnixNano", span.get("start_time_unix_nano"))),
        end=nanoseconds(span.get("endTimeUnixNano", span.get("end_time_unix_nano"))),
        attributes=attributes,
        status=status_of(span.get("status"), span.get("events")),
        dropped=_dropped(span.get("droppedAttributesCount", span.get("dropped_attributes_count"))),
    )


def sdk_span(span: Mapping[str, Any], where: str) -> Span:
    """A span as the SDK (and Phoenix) writes it."""
    context = span["context"]
    held = span.get("attributes") or {}
    if not isinstance(held, Mapping):
        raise data_error("RW-A12", f"expected an object, got {described(held)}", where=where, field="attributes")
    attributes = {str(key): value for key, value in held.items()}
    return Span(
        trace=hex_id(context.get("trace_id"), 32, "context.trace_id", where),
        id=hex_id(context.get("span_id"), 16, "context.span_id", where),
        parent=parent_id(span.get("parent_id"), "parent_id", where),
        name=str(span.get("name") or ""),
        kind=kind_of(attributes),
        start=nanoseconds(span.get("start_time")),
        end=nanoseconds(span.get("end_time")),
        attributes=attributes,
        status=status_of(span.get("status"), span.get("events")),
        dropped=_dropped(span.get("dropped_attributes")),
    )


def otlp_value(value: Any, depth: int = _DEPTH) -> Any:
    """What an attribute of OTLP holds."""
    if not isinstance(value, Mapping) or not depth:
        return None
    for key, held in value.items():
        if key in ("intValue", "int_value"):
            return int(held) if isinstance(held, str) and re.fullmatch(r"-?\d{1,19}", held) else held
        if key in ("arrayValue", "array_value"):
            inner = held.get("values") if isinstance(held, Mapping) else None
            return [otlp_value(one, depth - 1) for one in inner] if isinstance(inner, list) else []
        if key in ("kvlistValue", "kvlist_value"):
            inner = held.get("values") if isinstance(held, Mapping) else None
            pairs = [one for one in inner if isinstance(one, Mapping)] if isinstance(inner, list) else []
            return {str(one.get("key")): otlp_value(one.get("value"), depth - 1) for one in pairs}
        return held
    return None


def hex_id(value: Any, digits: int, field: str, where: str) -> str:
    """An id as lower-case hex, from hex, `0x` hex or base64."""
    if isinstance(value, str):
        text = value.removeprefix("0x").lower()
        if re.fullmatch(r"[0-9a-f]+", text) and len(text) in (digits, digits - 1):
            return text.zfill(digits)
        try:
            raw = base64.b64decode(value, validate=True).hex()
        except (binascii.Error, ValueError):
            raw = ""
        if len(raw) == digits:
            return raw
    message = (
        f"expected an id of {digits} hex digits (or base64), got {described(value) if value is not None else 'nothing'}"
    )
    raise data_error("RW-A12", message, where=where, field=field)


def parent_id(value: Any, field: str, where: str) -> str:
    """The id of the step around this one; empty for the outermost, however that is written."""
    if value in (None, "", "0" * 16, "AAAAAAAAAAA="):
        return ""
    return hex_id(value, 16, field, where)


def status_of(status: Any, events: Any) -> str:
    """What went wrong in a step; empty where nothing did."""
    held = status if isinstance(status, Mapping) else {"code": status}
    code = held.get("code", held.get("status_code"))
    if code not in (2, "2", "ERROR", "STATUS_CODE_ERROR", "StatusCode.ERROR"):
        return ""
    said = held.get("message") or held.get("description") or _exception(events)
    return str(said).strip() or "error" if said else "error"


def _exception(events: Any) -> str:
    """The message of the exception that a step recorded."""
    for event in events if isinstance(events, list) else []:
        if isinstance(event, Mapping) and event.get("name") == "exception":
            held = event.get("attributes")
            if isinstance(held, list):
                held = {one.get("key"): otlp_value(one.get("value")) for one in held if isinstance(one, Mapping)}
            if isinstance(held, Mapping):
                kind, message = held.get("exception.type"), held.get("exception.message")
                return ": ".join(str(one) for one in (kind, message) if one)
    return ""


def _dropped(value: Any) -> int:
    if isinstance(value, str) and value.isdecimal() and len(value) < 10:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


ADAPTER = Adapter(
    "otel",
    "OpenTelemetry spans: OpenInference, OpenLLMetry, Langfuse, GenAI",
    ("trace", "chunks"),
    OPTIONS,
    read,
    inputs="SPANS",
)
