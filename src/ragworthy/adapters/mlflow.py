"""MLflow: traces as JSON (schema 2 and 3), the table of `search_traces`, and tables of an evaluation."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ragworthy.adapters.documents import opened
from ragworthy.adapters.examples import Example, example
from ragworthy.adapters.jsonstream import objects
from ragworthy.adapters.model import Adapter, Imported
from ragworthy.adapters.otel import hex_id, listed, parent_id, status_of
from ragworthy.adapters.spans import EXAMPLE, Span, kind_of, nanoseconds
from ragworthy.adapters.tracing import OPTIONS, Part, imported
from ragworthy.errors import data_error
from ragworthy.text import described

_SHAPE = "expected a trace (info and data, or spans), or a table (columns and data), got an object with {}"
_TABLE = {
    "question": ("inputs", "request", "question", "query", "inputs/question", "inputs/query"),
    "response": ("outputs", "response", "output", "predictions"),
    "answer": ("targets", "expected_response", "ground_truth", "expectations/expected_response"),
    "retrieved": ("retrieved_context", "context", "contexts", "retrieved_documents"),
    "qid": ("client_request_id", "request_id", "trace_id", "id"),
}  # fmt: skip
"""What the columns of an evaluation table are called."""


def read(paths: Sequence[Path], options: Mapping[str, Any]) -> Imported:
    """Traces, and gold from the expectations that people attached to them."""
    return imported("mlflow", paths, options, parts)


def parts(path: Path) -> Iterator[Part]:
    """Everything that a file holds."""
    for where, value in objects(path):
        if isinstance(value.get("columns"), list) and isinstance(value.get("data"), list):
            yield from _table(value["columns"], value["data"], where)
            continue
        for one in listed(value, ("traces",), where) if "traces" in value else [value]:
            yield from _trace(one, where)


def _trace(value: Mapping[str, Any], where: str) -> Iterator[Part]:
    whole = opened(value.get("trace"))
    value = whole if isinstance(whole, Mapping) else value  # a row of search_traces carries the trace as text
    info = value.get("info") if isinstance(value.get("info"), Mapping) else value
    data = value.get("data") if isinstance(value.get("data"), Mapping) else value
    spans = opened(data.get("spans")) if isinstance(data, Mapping) else None
    if not isinstance(info, Mapping) or not isinstance(spans, list):
        raise data_error("RW-A12", _SHAPE.format(", ".join(list(value)[:6]) or "nothing"), where=where)
    name = _example(info)
    first = True
    for one in spans:
        if not isinstance(one, Mapping):
            raise data_error("RW-A12", f"expected an object, got {described(one)}", where=where, field="spans")
        span = _span(one, where)
        span.attributes |= {EXAMPLE: name} if name else {}
        if first:
            yield from _expected(info, span, name)
            first = False
        yield span


def _example(info: Mapping[str, Any]) -> str:
    """The id of the question: a tag or metadata `qid`, or the id that the client gave the request."""
    for key in ("tags", "trace_metadata", "request_metadata"):
        held = opened(info.get(key))
        if isinstance(held, Mapping) and isinstance(held.get("qid"), str):
            return str(held["qid"])
    given = info.get("client_request_id")
    return str(given) if given else ""


def _expected(info: Mapping[str, Any], span: Span, name: str) -> Iterator[Example]:
    """The expectations of a trace, as a question with what a right answer says."""
    held: dict[str, Any] = {}
    assessments = opened(info.get("assessments"))
    for one in assessments if isinstance(assessments, list) else []:
        value = one.get("expectation") if isinstance(one, Mapping) else None
        if isinstance(value, Mapping):
            held[str(one.get("assessment_name") or one.get("name"))] = _value(value)
    if held:
        metadata = info.get("trace_metadata") or info.get("request_metadata")
        metadata = metadata if isinstance(metadata, Mapping) else {}
        asked = metadata.get("mlflow.traceInputs") or info.get("request_preview") or span.input
        yield example(name or span.trace, asked, held)


def _value(expectation: Mapping[str, Any]) -> Any:
    serialised = expectation.get("serialized_value")
    if isinstance(serialised, Mapping):
        return opened(serialised.get("value"))
    return opened(expectation.get("value"))


def _span(span: Mapping[str, Any], where: str) -> Span:
    """A span of schema 3 (ids in base64) or 2 (a context, ids in hex)."""
    given = span.get("context")
    context = given if isinstance(given, Mapping) else {}
    held = span.get("attributes")
    attributes = {str(key): one for key, one in held.items()} if isinstance(held, Mapping) else {}
    status = span.get("status")
    if status is None:
        status = {"code": span.get("status_code"), "message": span.get("status_message")}
    start, end = span.get("start_time_unix_nano", span.get("start_time")), span.get("end_time_unix_nano")
    return Span(
        trace=hex_id(span.get("trace_id") or context.get("trace_id"), 32, "trace_id", where),
        id=hex_id(span.get("span_id") or context.get("span_id"), 16, "span_id", where),
        parent=parent_id(span.get("parent_span_id", span.get("parent_id")), "parent_span_id", where),
        name=str(span.get("name") or ""),
        kind=kind_of(attributes),
        start=nanoseconds(start),
        end=nanoseconds(end if end is not None else span.get("end_time")),
        attributes=attributes,
        status=status_of(status, span.get("events")),
    )


def _table(columns: Sequence[Any], rows: Sequence[Any], where: str) -> Iterator[Example]:
    """The rows of an evaluation table."""
    names = [str(name) for name in columns]
    there = {field: next((one for one in keys if one in names), "") for field, keys in _TABLE.items()}
    if not there["question"]:
        message = f"expected a column inputs, request or question, got {', '.join(names[:8]) or 'none'}"
        raise data_error("RW-A12", message, where=where, field="columns")
    for row in rows:
        cells = dict(zip(names, row, strict=False)) if isinstance(row, list) else {}
        asked = example(cells.get(there["qid"]), cells.get(there["question"]), cells.get(there["answer"]))
        found = asked.row | {
            field: opened(cells[there[field]])
            for field in ("response", "retrieved")
            if there[field] and cells.get(there[field]) is not None
        }
        yield Example(found)


ADAPTER = Adapter(
    "mlflow", "traces and evaluation tables of MLflow", ("gold", "trace", "chunks"), OPTIONS, read, inputs="TRACES"
)
