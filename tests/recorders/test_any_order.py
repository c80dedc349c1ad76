"""Whatever order events come in, and whatever they carry: nothing is raised, everything is counted, lines are whole."""

import json
import tempfile
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import ragworthy as rw
from ragworthy.adapters.documents import Document
from recorder_parts import Message, result, span

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just(object()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
QIDS = st.sampled_from([None, "Q1", "Q2", 3, ["no"], "\ud800"])
EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["chain", "tool", "retriever", "llm", "chat_model"]),
        st.sampled_from(["start", "end", "error"]),
        st.integers(0, 4),
        st.none() | st.integers(0, 4),
        QIDS,
        VALUES,
    ),
    max_size=25,
)


def counted(summary: str) -> None:
    """finished 3 = written 1 (0 errors) + skipped 1 + lost 1."""
    numbers = [int(word) for word in summary.partition(";")[0].replace("(", " ").split() if word.isdecimal()]
    finished, written, errors, skipped, lost = numbers
    assert finished == written + skipped + lost, summary
    assert errors <= written, summary


def whole_lines(path: Path, count: int) -> None:
    text = path.read_bytes() if path.exists() else b""
    assert text.endswith(b"\n") or not text
    assert [type(json.loads(line)) for line in text.splitlines()] == [dict] * count


@given(EVENTS)
@settings(deadline=None, max_examples=150)
def test_callbacks_in_any_order(events: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "t.jsonl"
        recorder = rw.LangChainRecorder(path)
        for kind, what, run, parent, qid, value in events:
            end = "llm" if kind == "chat_model" and what != "start" else kind
            call = getattr(recorder, f"on_{end}_{what}")
            more = {"run_id": run, "parent_run_id": parent}
            if what == "start":
                call(None, value, metadata={"qid": qid}, **more)
            elif what == "error":
                call(ValueError(value), **more)
            elif end == "llm":
                call(result(str(value), input_tokens=1), **more)
            else:
                call([Document("a", "b", None, {}), Message("m")] if kind == "retriever" else value, **more)
        recorder.close()
        counted(recorder.summary())
        whole_lines(path, recorder.written)
        assert recorder._trees == {}


SPANS = st.lists(
    st.tuples(
        st.booleans(),
        st.integers(1, 5),
        st.integers(0, 5),
        st.sampled_from(["CHAIN", "RETRIEVER", "LLM", "RERANKER", ""]),
        st.dictionaries(
            st.sampled_from(["input.value", "output.value", "retrieval.documents", "qid", "metadata"]),
            st.text(max_size=8) | st.sampled_from(['{"qid": "Q1"}', '[{"id": "a"}]', "How long?"]) | VALUES,
            max_size=4,
        ),
        st.integers(0, 2),
    ),
    max_size=30,
)


@given(SPANS)
@settings(deadline=None, max_examples=150)
def test_spans_in_any_order(events: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "t.jsonl"
        recorder = rw.SpanRecorder(path, max_traces=3, max_spans=6)
        for starts, number, parent, kind, attributes, dropped in events:
            one: SimpleNamespace = span(number, parent if parent < number else 0)
            one.attributes = attributes | {"openinference.span.kind": kind}
            one.dropped_attributes = dropped if dropped > 1 else 0
            (recorder.on_start if starts else recorder.on_end)(one)
        recorder.shutdown()
        counted(recorder.summary())
        whole_lines(path, recorder.written)
        assert recorder._groups == recorder._where == {}
