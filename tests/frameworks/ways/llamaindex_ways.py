"""The query engine, recorded by spans."""

from llamaindex_rag import engine
from openinference.instrumentation.llama_index import LlamaIndexInstrumentor
from recording import OUT, by_spans

by_spans(LlamaIndexInstrumentor(), engine.query, OUT)
