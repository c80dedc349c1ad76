"""LangSmith: runs (as the SDK posts them, as `list_runs` and `collect_runs` give them) and examples of data sets."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ragworthy.adapters.examples import Example, example
from ragworthy.adapters.jsonstream import objects
from ragworthy.adapters.model import Adapter, Imported
from ragworthy.adapters.spans import CHAIN, EMBEDDING, EXAMPLE, LLM, RETRIEVER, Span, nanoseconds
from ragworthy.adapters.tracing import OPTIONS, Part, imported
from ragworthy.errors import data_error
from ragworthy.text import described

_KINDS = {"retriever": RETRIEVER, "llm": LLM, "embedding": EMBEDDING}
_DEEPEST = 200
_SHAPE = "expected a run (id, run_type) or an example (id, inputs, outputs), got an object with {}"


def read(paths: Sequence[Path], options: Mapping[str, Any]) -> Imported:
    """Traces from runs, gold from examples."""
    return imported("langsmith", paths, options, parts)


def parts(path: Path) -> Iterator[Part]:
    """The runs and the examples of a file. What is posted in two pieces, its start and its end, is put together."""
    begun: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for where, value in objects(path):
        for record in _records(value, where):
            name = str(record.get("id"))
            whole = {**begun.pop(name)[1], **_given(record)} if name in begun else record
            if "run_type" in whole and whole.get("end_time") is None and not record.get("child_runs"):
                begun[name] = (where, whole)
            else:
                yield from _parts(whole, where, "", 0)
    for where, record in begun.values():
        yield from _parts(record, where, "", 0)


def _records(value: Mapping[str, Any], where: str) -> Iterator[Mapping[str, Any]]:
    """Single records, the lists of a batch, and the pairs that `evaluate` gives back."""
    if isinstance(value.get("run"), Mapping) and isinstance(value.get("example"), Mapping):
        yield value["run"]
        yield value["example"]
        return
    lists = [value[key] for key in ("post", "patch", "runs", "examples") if isinstance(value.get(key), list)]
    if not lists:
        yield value
    for one in (one for held in lists for one in held):
        if not isinstance(one, Mapping):
            raise data_error("RW-A12", f"expected an object, got {described(one)}", where=where)
        yield one


def _given(record: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if value is not None}


def _parts(record: Mapping[str, Any], where: str, trace: str, depth: int) -> Iterator[Span | Example]:
    if "run_type" not in record and "inputs" in record and ("outputs" in record or "dataset_id" in record):
        yield example(record.get("id"), record["inputs"], record.get("outputs"), record.get("metadata"))
        return
    if "run_type" not in record or not isinstance(record.get("id"), str):
        raise data_error("RW-A12", _SHAPE.format(", ".join(list(record)[:6]) or "nothing"), where=where)
    span = _span(record, trace)
    yield span
    inner = record.get("child_runs")
    for child in inner if isinstance(inner, list) and depth < _DEEPEST else []:
        if isinstance(child, Mapping):
            yield from _parts({"parent_run_id": span.id, **_given(child)}, where, span.trace, depth + 1)


def _span(run: Mapping[str, Any], trace: str) -> Span:
    extra = run.get("extra")
    metadata = extra.get("metadata") if isinstance(extra, Mapping) else None
    metadata = metadata if isinstance(metadata, Mapping) else {}
    attributes: dict[str, Any] = {
        "input.value": run.get("inputs"),
        "output.value": run.get("outputs"),
        "metadata": dict(metadata),
        "usage": {key: run.get(key) for key in ("prompt_tokens", "completion_tokens", "total_tokens")},
        "llm.model_name": metadata.get("ls_model_name"),
        EXAMPLE: run.get("reference_example_id"),
    }
    counted = _usage(run.get("outputs"))
    attributes |= {"usage": counted} if counted and not any(attributes["usage"].values()) else {}
    error = run.get("error")
    parent = run.get("parent_run_id")
    dotted = str(run.get("dotted_order") or "").split(".")[0].partition("Z")[2]
    return Span(
        trace=trace or str(run.get("trace_id") or dotted or run["id"]),
        id=str(run["id"]),
        parent=str(parent) if parent else "",
        name=str(run.get("name") or ""),
        kind=_KINDS.get(str(run["run_type"]), CHAIN),
        start=nanoseconds(run.get("start_time")),
        end=nanoseconds(run.get("end_time")),
        attributes={key: value for key, value in attributes.items() if value is not None},
        status=_first_line(error) if error else "",
    )


def _first_line(error: Any) -> str:
    """What went wrong, without the stack that LangChain appends."""
    text = str(error).strip()
    return text.split("Traceback (most recent call last)")[0].strip() or text.splitlines()[0]


def _usage(outputs: Any) -> Mapping[str, Any]:
    """The tokens that LangChain keeps in the message of the model."""
    held = outputs
    for key in ("generations", 0, 0, "message", "kwargs", "usage_metadata"):
        if isinstance(key, int):
            held = held[key] if isinstance(held, list) and held else None
        else:
            held = held.get(key) if isinstance(held, Mapping) else None
    return held if isinstance(held, Mapping) else {}


ADAPTER = Adapter(
    "langsmith", "runs and examples of LangSmith", ("gold", "trace", "chunks"), OPTIONS, read, inputs="RUNS"
)
