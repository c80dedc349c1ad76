"""The same without a file of spans: a processor of Ragworthy writes the traces while the app runs."""

import json
from pathlib import Path

from app import ask
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

import ragworthy as rw

provider = TracerProvider()
recorder = rw.SpanRecorder("recorded.jsonl", gold="gold.jsonl", append=False)
provider.add_span_processor(recorder)
trace.set_tracer_provider(provider)

for line in Path("gold.jsonl").read_text(encoding="utf-8").splitlines():
    ask(json.loads(line)["question"])
provider.shutdown()
print(recorder.summary())
