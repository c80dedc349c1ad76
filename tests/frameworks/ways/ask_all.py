"""What the scripts share: the questions, and spans that go to a file and to a recorder at once."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ragworthy as rw


def asked() -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(os.environ["GOLD"]).read_text("utf-8").splitlines()]


def by_spans(instrumentor: Any, ask: Callable[[str], Any], out: Path) -> None:
    """Ask every question with OpenInference on; spans are exported as OTLP JSON and recorded."""
    from openinference.instrumentation import using_metadata
    from opentelemetry.exporter.otlp.json.file.trace_exporter import FileSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    provider = TracerProvider()
    recorder = rw.SpanRecorder(out / "spans.jsonl")
    provider.add_span_processor(recorder)
    provider.add_span_processor(SimpleSpanProcessor(FileSpanExporter(out / "otlp.jsonl")))
    instrumentor.instrument(tracer_provider=provider)
    for one in asked():
        with using_metadata({"qid": one["qid"]}):
            ask(one["question"])
    provider.shutdown()
    instrumentor.uninstrument()
    print(recorder.summary())


OUT = Path(sys.argv[1]) if len(sys.argv) > 1 else Path()
