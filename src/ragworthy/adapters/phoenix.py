"""Phoenix: spans of its REST API, data frames of spans, data sets and experiments."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ragworthy.adapters.documents import opened
from ragworthy.adapters.examples import example
from ragworthy.adapters.jsonstream import objects
from ragworthy.adapters.model import Adapter, Imported
from ragworthy.adapters.otel import sdk_span
from ragworthy.adapters.spans import EXAMPLE, Span, nanoseconds
from ragworthy.adapters.tracing import OPTIONS, Part, imported
from ragworthy.errors import data_error

_SHAPE = "expected a span (context or context.trace_id), an example or a run of an experiment, got an object with {}"
_DEPTH = 6


def read(paths: Sequence[Path], options: Mapping[str, Any]) -> Imported:
    """Traces from spans, gold from the examples of data sets and experiments."""
    return imported("phoenix", paths, options, parts)


def parts(path: Path) -> Iterator[Part]:
    """Everything that a file holds."""
    for where, value in objects(path):
        for one in _records(value):
            yield from _parts(one, where)


def _records(value: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Single records, or those of a page of the API."""
    held: Any = value.get("data")
    held = held.get("examples") if isinstance(held, Mapping) else held
    held = value.get("examples") if held is None else held
    for one in held if isinstance(held, list) else [value]:
        yield one if isinstance(one, Mapping) else {}


def _parts(value: Mapping[str, Any], where: str) -> Iterator[Part]:
    if isinstance(value.get("context"), Mapping) or "context.trace_id" in value:
        yield _span(value, where)
    elif "dataset_example_id" in value or "example_id" in value:
        yield from _run(value)
    elif "input" in value and "id" in value:
        yield example(value.get("id"), value["input"], value.get("output"), value.get("metadata"))
    else:
        raise data_error("RW-A12", _SHAPE.format(", ".join(list(value)[:6]) or "nothing"), where=where)


def _span(value: Mapping[str, Any], where: str) -> Span:
    """A span of the API, or a row of a data frame, whose columns are called `attributes.input.value` and so on."""
    held = opened(value.get("attributes"))
    attributes = dict(_flat(held, "", _DEPTH)) if isinstance(held, Mapping) else {}
    for key, one in value.items():
        if key.startswith("attributes.") and one is not None:
            attributes |= dict(_flat(one, key.removeprefix("attributes."), _DEPTH))
    attributes.setdefault("openinference.span.kind", value.get("span_kind"))
    context = value.get("context") or {
        "trace_id": value.get("context.trace_id"),
        "span_id": value.get("context.span_id"),
    }
    status = {"code": value.get("status_code"), "message": value.get("status_message")}
    events = opened(value.get("events"))
    return sdk_span({**value, "context": context, "attributes": attributes, "status": status, "events": events}, where)


def _flat(value: Any, name: str, depth: int) -> Iterator[tuple[str, Any]]:
    """Attributes under dotted names; what the user attached stays as it is."""
    if isinstance(value, Mapping) and depth and name != "metadata":
        for key, one in value.items():
            yield from _flat(one, f"{name}.{key}" if name else str(key), depth - 1)
    else:
        yield name, value


def _run(value: Mapping[str, Any]) -> Iterator[Part]:
    """One answer of an experiment: a step around its trace that knows its example."""
    name = str(value.get("dataset_example_id") or value.get("example_id"))
    trace = str(value.get("trace_id") or "") or f"run {value.get('id') or name}"
    if "input" in value and ("reference_output" in value or "expected" in value):
        expected = value.get("reference_output", value.get("expected"))
        yield example(name, value["input"], expected, value.get("metadata"))
    attributes = {"input.value": value.get("input"), "output.value": value.get("output"), EXAMPLE: name}
    error = value.get("error")
    yield Span(
        trace=trace,
        id=f"experiment:{trace}",
        parent="",
        name="experiment",
        kind="",
        start=nanoseconds(value.get("start_time")),
        end=nanoseconds(value.get("end_time")),
        attributes={key: one for key, one in attributes.items() if one is not None},
        status=str(error) if error else "",
    )


ADAPTER = Adapter(
    "phoenix", "spans, data sets and experiments of Phoenix", ("gold", "trace", "chunks"), OPTIONS, read, inputs="SPANS"
)
