"""Spans as tests write them: OTLP JSON lines with OpenInference attributes."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from conftest import Done, run_cli
from places import TESTS
from ragworthy.codes import CATALOGUE

FILES = TESTS / "adapters" / "files" / "spans"
TRACE = "0af7651916cd43dd8448eb211c80319c"
Row = dict[str, Any]


def said(code: str, message: str) -> str:
    """An error as it is printed."""
    return f"{message} [{code}]\n  {CATALOGUE[code].name}: {CATALOGUE[code].do}\n"


def span(nth: int, parent: int, kind: str, name: str = "step", trace: str = TRACE, **more: Any) -> Row:
    """A span: its number, its parent's (0 for none), its kind, and attributes under `attributes`."""
    attributes = {"openinference.span.kind": kind} if kind else {}
    attributes |= more.pop("attributes", {})
    return {
        "traceId": trace,
        "spanId": f"{nth:016x}",
        "parentSpanId": f"{parent:016x}" if parent else "",
        "name": name,
        "startTimeUnixNano": str(1_700_000_000_000_000_000 + nth * 1_000_000),
        "endTimeUnixNano": str(1_700_000_001_000_000_000 - nth * 1_000_000),
        "attributes": [{"key": key, "value": _value(value)} for key, value in attributes.items()],
        **more,
    }


def _value(value: Any) -> Row:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_value(one) for one in value]}}
    return {"stringValue": value}


def docs(*texts: str, name: str = "retrieval.documents", first: int = 0) -> Row:
    """Documents as numbered attributes; each is called like its text in small letters."""
    held: Row = {}
    for number, text in enumerate(texts, first):
        held[f"{name}.{number}.document.id"] = text.lower()
        held[f"{name}.{number}.document.content"] = text
    return held


def said_by_model(text: str) -> Row:
    return {"llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": text}


def pipeline(question: str = "How long?", answer: str = "45 days [2].", trace: str = TRACE, **root: Any) -> list[Row]:
    """A question, two documents, an answer."""
    return [
        span(1, 0, "CHAIN", "rag", trace, attributes={"input.value": question, **root.pop("attributes", {})}, **root),
        span(2, 1, "RETRIEVER", "search", trace, attributes={"input.value": question, **docs("A", "B")}),
        span(3, 1, "LLM", "model", trace, attributes=said_by_model(answer)),
    ]


def otlp(path: Path, spans: Iterable[Mapping[str, Any]]) -> Path:
    lines = [json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [one]}]}]}) + "\n" for one in spans]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def imported(form: str, *flags: object, out: Path) -> tuple[Done, list[Row]]:
    """An import on the command line, and the traces that it wrote."""
    done = run_cli("import", form, *flags, "--trace-out", out)
    return done, rows_of(out) if out.exists() else []


def rows_of(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
