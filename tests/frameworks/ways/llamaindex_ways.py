"""The query engine, recorded by spans."""

from ask_all import OUT, by_spans
from llamaindex_rag import engine
from openinference.instrumentation.llama_index import LlamaIndexInstrumentor

by_spans(LlamaIndexInstrumentor(), engine.query, OUT)
