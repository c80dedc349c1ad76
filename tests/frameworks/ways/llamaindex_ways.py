"""The query engine, recorded by spans, which are exported as OTLP JSON too."""

from ask_all import OUT, asked
from llamaindex_rag import engine
from openinference.instrumentation import using_metadata
from openinference.instrumentation.llama_index import LlamaIndexInstrumentor
from opentelemetry.exporter.otlp.json.file.trace_exporter import FileSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

import ragworthy as rw

provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(FileSpanExporter(OUT / "otlp.jsonl")))

provider.add_span_processor(rw.SpanRecorder(OUT / "spans.jsonl"))
LlamaIndexInstrumentor().instrument(tracer_provider=provider)
for row in asked():
    with using_metadata({"qid": row["qid"]}):
        engine.query(row["question"])
provider.shutdown()
