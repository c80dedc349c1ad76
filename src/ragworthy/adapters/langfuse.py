"""Langfuse: what its SDK exports (OTLP); observations, traces, items of data sets and of experiments from its API."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ragworthy.adapters.documents import opened
from ragworthy.adapters.examples import Link, example
from ragworthy.adapters.jsonstream import objects
from ragworthy.adapters.model import Adapter, Imported
from ragworthy.adapters.otel import otlp
from ragworthy.adapters.spans import EXAMPLE, Span, kind_of, nanoseconds
from ragworthy.adapters.tracing import OPTIONS, Part, imported
from ragworthy.errors import data_error

_SHAPE = "expected an observation, a trace, a data set item or OTLP JSON of Langfuse, got an object with {}"


def read(paths: Sequence[Path], options: Mapping[str, Any]) -> Imported:
    """Traces from observations, gold from data set items."""
    return imported("langfuse", paths, options, parts)


def parts(path: Path) -> Iterator[Part]:
    """Everything that a file holds."""
    for where, value in objects(path):
        pages = value.get("data")
        if isinstance(pages, list) and "id" not in value:
            for one in pages:
                yield from _parts(one if isinstance(one, Mapping) else {}, where)
        else:
            yield from _parts(value, where)


def _parts(value: Mapping[str, Any], where: str) -> Iterator[Part]:
    record = _Record(value)
    if "resourceSpans" in value:
        yield from otlp(value, where)
    elif record.has("experimentItemId") and record.has("traceId"):
        yield Link(record.text("traceId"), record.text("experimentItemId"))
        yield example(record.text("experimentItemId"), record.get("input"), record.get("expectedOutput"), _item(record))
    elif record.has("datasetItemId") and record.has("traceId"):
        yield Link(record.text("traceId"), record.text("datasetItemId"))
    elif record.has("expectedOutput") or record.has("datasetId"):
        item = example(record.text("id"), record.get("input"), record.get("expectedOutput"), record.get("metadata"))
        yield item._replace(why="archived" if record.text("status").upper() == "ARCHIVED" else "")
    elif record.has("traceId") and record.has("id"):
        yield _observation(record, "")
    elif record.has("id") and (record.has("input") or record.has("observations")):
        yield from _trace(record)
    else:
        raise data_error("RW-A12", _SHAPE.format(", ".join(list(value)[:6]) or "nothing"), where=where)


class _Record:
    """A record of the API (`traceId`) or of an export (`trace_id`)."""

    def __init__(self, value: Mapping[str, Any]) -> None:
        self._value = {str(key).replace("_", "").lower(): one for key, one in value.items()}

    def get(self, name: str) -> Any:
        return self._value.get(name.lower())

    def has(self, name: str) -> bool:
        return name.lower() in self._value and self.get(name) is not None

    def text(self, name: str) -> str:
        held = self.get(name)
        return str(held) if isinstance(held, str | int) else ""


def _item(record: _Record) -> Any:
    return record.get("experimentItemMetadata")


def _trace(record: _Record) -> Iterator[Span]:
    """A trace as its outermost step, with the observations that came along."""
    name = record.text("id")
    root = f"trace:{name}"
    held = record.get("observations")
    inside = [_observation(_Record(one), root) for one in held if isinstance(one, Mapping)] if held else []
    starts = [span.start for span in inside if span.start is not None]
    ends = [span.end for span in inside if span.end is not None]
    attributes = {
        "langfuse.trace.input": record.get("input"),
        "langfuse.trace.output": record.get("output"),
        "metadata": opened(record.get("metadata")),
    }
    yield Span(
        trace=name,
        id=root,
        parent="",
        name=record.text("name"),
        kind="",
        start=min(starts, default=nanoseconds(record.get("timestamp"))),
        end=max(ends, default=None),
        attributes={key: one for key, one in attributes.items() if one is not None},
    )
    yield from inside


def _observation(record: _Record, root: str) -> Span:
    metadata = opened(record.get("metadata"))
    item = metadata.get("dataset_item_id") if isinstance(metadata, Mapping) else None
    attributes = {
        "langfuse.observation.type": record.get("type"),
        "langfuse.observation.input": record.get("input"),
        "langfuse.observation.output": record.get("output"),
        "langfuse.observation.model.name": record.get("model"),
        "langfuse.observation.usage_details": record.get("usageDetails") or record.get("usage"),
        "metadata": metadata,
        EXAMPLE: item,
    }
    attributes = {key: one for key, one in attributes.items() if one is not None}
    failed = record.text("level").upper() == "ERROR"
    return Span(
        trace=record.text("traceId") or root.removeprefix("trace:"),
        id=record.text("id"),
        parent=record.text("parentObservationId") or root,
        name=record.text("name"),
        kind=kind_of(attributes),
        start=nanoseconds(record.get("startTime")),
        end=nanoseconds(record.get("endTime")),
        attributes=attributes,
        status=(record.text("statusMessage") or "error") if failed else "",
    )


ADAPTER = Adapter(
    "langfuse", "observations, traces and data sets of Langfuse", ("gold", "trace", "chunks"), OPTIONS, read,
    inputs="EXPORT",
)  # fmt: skip
