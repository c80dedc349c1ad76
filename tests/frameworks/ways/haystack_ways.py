"""The pipeline, recorded by spans."""

from ask_all import OUT, by_spans
from haystack_rag import ask
from openinference.instrumentation.haystack import HaystackInstrumentor

by_spans(HaystackInstrumentor(), ask, OUT)
