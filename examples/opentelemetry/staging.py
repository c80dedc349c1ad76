"""A day of staging: the questions of the gold set are asked, and the spans of the app go to a file."""

import json
from pathlib import Path

from app import ask
from opentelemetry import trace
from opentelemetry.exporter.otlp.json.file.trace_exporter import FileSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(FileSpanExporter("spans.jsonl")))
trace.set_tracer_provider(provider)

for line in Path("gold.jsonl").read_text(encoding="utf-8").splitlines():
    ask(json.loads(line)["question"])
provider.shutdown()
