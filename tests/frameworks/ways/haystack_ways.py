"""The pipeline, recorded by spans."""

from haystack_rag import ask
from openinference.instrumentation.haystack import HaystackInstrumentor
from recording import OUT, by_spans

by_spans(HaystackInstrumentor(), ask, OUT)
