"""Traces written while a pipeline runs on its own: a callback of LangChain, a span processor of OpenTelemetry."""
