"""The span processor in a real OpenTelemetry SDK: conventions, lost attributes, spans that come late or never end."""

import json
import os
import subprocess
import sys
import textwrap
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from openinference.instrumentation import using_attributes, using_metadata
from opentelemetry import baggage, context, trace
from opentelemetry.exporter.otlp.json.file.trace_exporter import FileSpanExporter
from opentelemetry.sdk.trace import SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.trace import SpanContext, Status, StatusCode, TraceFlags
from test_langchain_recorder import rag, rows

import ragworthy as rw

Row = dict[str, Any]
KIND = "openinference.span.kind"


class Bench:
    """A provider whose spans are recorded, and exported too."""

    def __init__(self, folder: Path, limit: int | None = None, **options: Any) -> None:
        self.folder = folder
        self.recorder = rw.SpanRecorder(folder / "traces.jsonl", **options)
        self.provider = TracerProvider(span_limits=SpanLimits(max_span_attributes=limit) if limit else None)
        self.provider.add_span_processor(self.recorder)
        self.provider.add_span_processor(SimpleSpanProcessor(FileSpanExporter(folder / "otlp.jsonl")))
        self.tracer = self.provider.get_tracer("test")

    @property
    def traces(self) -> list[Row]:
        return rows(self.folder / "traces.jsonl")

    def imported(self, **options: Any) -> list[Row]:
        return rw.import_file("otel", self.folder / "otlp.jsonl", **options).traces

    @contextmanager
    def step(self, name: str, kind: str = "", **attributes: Any) -> Iterator[Any]:
        held = {key.replace("__", "."): value for key, value in attributes.items()} | ({KIND: kind} if kind else {})
        with self.tracer.start_as_current_span(name, attributes=held) as span:
            yield span

    def search(self, count: int = 2) -> None:
        with self.step("search", "RETRIEVER", input__value="How long?") as span:
            for n in range(count):
                span.set_attribute(f"retrieval.documents.{n}.document.id", f"d{n}")
                span.set_attribute(f"retrieval.documents.{n}.document.content", f"Text {n}.")

    def say(self, text: str = "45 days [2].") -> None:
        with self.step("model", "LLM", llm__output_messages__0__message__content=text, llm__token_count__prompt=7):
            pass

    def ask(self, qid: str = "Q1", count: int = 2) -> None:
        with self.step("rag", "CHAIN", input__value="How long?", metadata=json.dumps({"qid": qid})):
            self.search(count)
            self.say()


def without_stamp(traces: list[Row]) -> list[Row]:
    return [{key: value for key, value in one.items() if key not in ("recorded", "imported")} for one in traces]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_trace_is_written_as_soon_as_its_root_has_ended(bench: Bench) -> None:
    assert isinstance(bench.recorder, SpanProcessor)
    bench.ask()
    (row,) = bench.traces
    assert (row["qid"], row["query"], row["retrieved_ids"]) == ("Q1", "How long?", ["d0", "d1"])
    assert row["answer_json"] == {"claim": "45 days.", "citations": ["d1"]}
    assert row["usage"] == {"prompt_tokens": 7}
    assert without_stamp(bench.traces) == without_stamp(bench.imported())  # e2e_ms and stage_ms too
    assert row["recorded"] == {"by": "otel", "at": bench.imported()[0]["imported"]["at"]}
    assert bench.recorder._groups == bench.recorder._where == {}


def test_dropped_attributes_are_refused_as_the_import_refuses_them(tmp_path: Path) -> None:
    bench = Bench(tmp_path, limit=32)
    with pytest.warns(RuntimeWarning) as warned:
        bench.ask("Q1", 30)
        bench.ask("Q2", 30)
    bench.ask("Q3", 3)
    lost = 'damaged: span "search": 30 of its attributes were dropped (OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT) [RW-A10]'
    assert [(row["qid"], row.get("error")) for row in bench.traces] == [("Q1", lost), ("Q2", lost), ("Q3", None)]
    assert [str(one.message) for one in warned] == [f"ragworthy: Q1 is an error in the traces: {lost}"]
    with pytest.raises(rw.RagworthyError, match="30 of its attributes were dropped"):
        bench.imported()
    assert without_stamp(bench.traces[2:]) == without_stamp(bench.imported(skip_damaged=True))


def test_a_limit_on_the_length_of_values_is_seen(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.provider._span_limits.max_span_attribute_length = bench.provider._span_limits.max_attribute_length = 20
    whole = json.dumps({"documents": [{"page_content": "x" * 50}]})
    with pytest.warns(RuntimeWarning), bench.step("rag", "CHAIN", input__value="How long?", metadata='{"qid": "Q1"}'):
        with bench.step("search", "RETRIEVER", output__value=whole, output__mime_type="application/json"):
            pass
        bench.say()
    assert bench.traces[0]["error"].endswith("(OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT) [RW-A13]")


def test_failed_traces_are_errors(bench: Bench) -> None:
    with pytest.raises(ValueError, match="no idea"), bench.step("rag", "CHAIN", input__value="How long?", qid="E1"):
        bench.search()
        raise ValueError("no idea")
    with bench.step("rag", "CHAIN", qid="E2") as span:  # it failed before anything was asked
        span.set_status(Status(StatusCode.ERROR, "bad request"))
    first, second = bench.traces
    assert (first["qid"], first["error"], first["retrieved_ids"]) == ("E1", "ValueError: no idea", ["d0", "d1"])
    assert (second["qid"], second["error"]) == ("E2", "bad request")


@pytest.mark.parametrize("way", ["metadata", "attributes", "attribute", "baggage"])
def test_how_the_qid_travels(way: str, bench: Bench) -> None:
    from openinference.instrumentation import get_attributes_from_context

    def steps(**more: Any) -> None:
        with bench.step("rag", "CHAIN", input__value="How long?", **more) as span:
            span.set_attributes(dict(get_attributes_from_context()))
            bench.search()
            bench.say()

    if way == "metadata":
        with using_metadata({"qid": "Q7"}):
            steps()
    elif way == "attributes":
        with using_attributes(metadata={"qid": "Q7"}):
            steps()
    elif way == "attribute":
        steps(qid="Q7")
    else:
        token = context.attach(baggage.set_baggage("qid", "Q7"))
        steps()
        context.detach(token)
    assert bench.traces[0]["qid"] == "Q7"
    if way != "baggage":  # a file of spans has no baggage, unless somebody copies it into attributes
        assert bench.imported()[0]["qid"] == "Q7"


def test_a_child_that_ends_after_its_root_is_waited_for(bench: Bench) -> None:
    with bench.step("rag", "CHAIN", input__value="How long?", metadata='{"qid": "Q1"}'):
        bench.search()
        late = bench.tracer.start_span("model", attributes={KIND: "LLM"})
    assert not (bench.folder / "traces.jsonl").exists()
    late.set_attribute("llm.output_messages.0.message.content", "45 days [1].")
    late.end()
    assert bench.traces[0]["answer_json"] == {"claim": "45 days.", "citations": ["d0"]}
    assert without_stamp(bench.traces) == without_stamp(bench.imported())


def test_a_child_that_is_open_too_long_is_not_waited_for(tmp_path: Path) -> None:
    bench = Bench(tmp_path, grace=0.0)
    with bench.step("rag", "CHAIN", input__value="How long?", metadata='{"qid": "Q1"}'):
        bench.search()
        bench.say()
        late = bench.tracer.start_span("log")
    assert [row["qid"] for row in bench.traces] == ["Q1"]
    with pytest.warns(RuntimeWarning) as warned:
        late.end()
    assert [str(one.message) for one in warned] == [
        'ragworthy: a step began or ended after its trace was written and is not in it: "log" [RW-J22]'
    ]
    assert bench.recorder.summary().endswith("; 1 late")


def test_flush_writes_what_waits_and_shutdown_gives_up_the_rest(bench: Bench) -> None:
    with bench.step("rag", "CHAIN", input__value="How long?", metadata='{"qid": "Q1"}'):
        bench.search()
        bench.say()
        bench.tracer.start_span("open")
    root = bench.tracer.start_span("rag", attributes={KIND: "CHAIN", "input.value": "How long?"})
    with trace.use_span(root), using_metadata({"qid": "Q2"}):
        bench.search()
        with bench.step("model", "LLM", metadata='{"qid": "Q2"}'):
            pass
    bench.tracer.start_span("no question")
    assert bench.provider.force_flush()
    assert [row["qid"] for row in bench.traces] == ["Q1"]
    with pytest.warns(RuntimeWarning) as warned:
        bench.provider.shutdown()
    why = "the recorder was closed before the outermost span ended"
    assert [(row["qid"], row.get("error")) for row in bench.traces[1:]] == [("Q2", f"unfinished: {why} [RW-J22]")]
    messages = [str(one.message) for one in warned]
    assert messages == [
        f"ragworthy: a trace did not end ({why}): Q2 [RW-J22]",
        f"ragworthy: a trace was not recorded (unfinished: {why}) [RW-J21]",
    ]
    assert bench.recorder.summary() == "finished 3 = written 2 (1 errors) + skipped 0 + lost 1; 2 unfinished"


def test_traces_that_never_end_are_given_up(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        many = Bench(tmp_path, max_traces=10)
        for _ in range(30):
            many.tracer.start_span("rag", attributes={KIND: "CHAIN"})
        assert len(many.recorder._groups) == len(many.recorder._where) == 10
        many.ask()
        assert [row["qid"] for row in many.traces] == ["Q1"]
        (tmp_path / "old").mkdir()
        old = Bench(tmp_path / "old", max_age=0.0, grace=0.0)
        old.tracer.start_span("rag")
        old.tracer.start_span("rag")
        old.tracer.start_span("rag")
        assert len(old.recorder._groups) <= 1
        assert old.recorder.lost >= 2
        (tmp_path / "long").mkdir()
        long = Bench(tmp_path / "long", max_spans=50)
        with long.step("notebook"):
            for n in range(100):
                long.ask(f"Q{n:02d}")
        assert long.recorder._groups == {}
    # 51 spans are 17 questions of three; those that come after begin traces of their own
    errors = {row["qid"]: row.get("error") for row in long.traces}
    assert sorted(errors) == [f"Q{n:02d}" for n in range(100)]
    assert {qid for qid, error in errors.items() if error} == {f"Q{n:02d}" for n in range(17)}
    assert errors["Q00"] == "unfinished: more than 50 spans [RW-J22]"
    assert many.recorder.summary().startswith("finished 22 = written 1 (0 errors) + skipped 0 + lost 21; 21 unfinished")


def test_what_is_below_a_span_that_was_given_up_gives_no_second_trace(tmp_path: Path) -> None:
    bench = Bench(tmp_path, max_age=0.0, grace=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with bench.step("rag", "CHAIN", input__value="How long?", metadata='{"qid": "Q1"}'):
            with bench.step("search", "RETRIEVER", metadata='{"qid": "Q1"}'):
                pass
            bench.say()
    assert bench.recorder.summary().startswith("finished 1 = ")
    assert bench.recorder._groups == bench.recorder._where == {}


def test_one_span_around_a_notebook_is_taken_apart_by_qid(bench: Bench) -> None:
    with bench.step("notebook"):
        for qid in ("Q1", "Q2"):
            with bench.step("rag", "CHAIN", input__value=f"How long is {qid}?", qid=qid):
                with bench.step("search", "RETRIEVER", qid=qid) as span:
                    span.set_attribute("retrieval.documents.0.document.id", f"of {qid}")
                with bench.step("model", "LLM", qid=qid, llm__output_messages__0__message__content=f"{qid} [1]"):
                    pass
    assert [(row["qid"], row["retrieved_ids"]) for row in bench.traces] == [("Q1", ["of Q1"]), ("Q2", ["of Q2"])]
    assert without_stamp(bench.traces) == without_stamp(bench.imported())


def test_a_service_that_is_called_from_outside_ends_its_own_part(bench: Bench) -> None:
    caller = SpanContext(0x1234, 0x5678, is_remote=True, trace_flags=TraceFlags(1))
    for qid in ("Q1", "Q2"):
        token = context.attach(trace.set_span_in_context(trace.NonRecordingSpan(caller)))
        bench.ask(qid)
        context.detach(token)
    assert [row["qid"] for row in bench.traces] == ["Q1", "Q2"]


def test_what_is_no_question_is_skipped_and_counted(bench: Bench) -> None:
    with bench.step("GET /health"):
        pass
    bench.ask()
    assert [row["qid"] for row in bench.traces] == ["Q1"]
    assert bench.recorder.summary() == (
        "finished 2 = written 1 (0 errors) + skipped 1 + lost 0; "
        "skipped 1: neither retrieval nor a model call in it (building an index?)"
    )


def test_many_threads(bench: Bench) -> None:
    def some(first: int) -> None:
        for n in range(first, first + 50):
            bench.ask(f"Q{n:03d}")

    threads = [threading.Thread(target=some, args=(first,)) for first in range(0, 400, 50)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(row["qid"] for row in bench.traces) == [f"Q{n:03d}" for n in range(400)]


def test_gen_ai_conventions(bench: Bench) -> None:
    documents = json.dumps([{"id": "d0", "score": 0.5}, {"id": "d1", "score": 0.25}])
    said = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "45 days [2]."}]}])
    asked = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "How long?"}]}])
    retrieval = {"gen_ai.operation.name": "retrieval", "gen_ai.retrieval.documents": documents}
    chat = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": asked, "gen_ai.output.messages": said}
    with bench.step("rag", qid="Q1", gen_ai__task__input="How long?"):
        with bench.tracer.start_as_current_span("retrieval docs", attributes=retrieval):
            pass
        with bench.tracer.start_as_current_span("chat m", attributes=chat | {"gen_ai.usage.input_tokens": 9}):
            pass
    (row,) = bench.traces
    assert row["topk"] == [{"id": "d0", "score": 0.5}, {"id": "d1", "score": 0.25}]
    assert (row["answer_json"]["citations"], row["usage"]) == (["d1"], {"prompt_tokens": 9})
    assert without_stamp(bench.traces) == without_stamp(bench.imported())


def test_openllmetry(bench: Bench) -> None:
    module = pytest.importorskip("opentelemetry.instrumentation.langchain")
    recorder = module.LangchainInstrumentor()
    recorder.instrument(tracer_provider=bench.provider)
    try:
        rag().invoke({"input": "How long?"}, config={"metadata": {"qid": "Q1"}})
    finally:
        recorder.uninstrument()
    (row,) = bench.traces
    assert (row["qid"], row["query"], row["retrieved_ids"]) == ("Q1", "How long?", ["a.md@0", "b.md@0", "c.md@0"])
    assert row["answer_json"] == {"claim": "45 days.", "citations": ["b.md@0"]}
    assert without_stamp(bench.traces) == without_stamp(bench.imported())


def test_ids_by_a_function(tmp_path: Path) -> None:
    bench = Bench(tmp_path, doc_id=lambda found: found.text[-2:-1])
    bench.ask()
    assert bench.traces[0]["retrieved_ids"] == ["0", "1"]
    assert bench.traces[0]["answer_json"]["citations"] == ["1"]


def test_what_breaks_in_the_recorder_never_breaks_the_pipeline(tmp_path: Path) -> None:
    bench = Bench(tmp_path, doc_id=lambda _: 1 / 0)
    with pytest.warns(RuntimeWarning, match="division by zero"):
        bench.ask()
    assert bench.traces[0]["error"] == "recorder: ZeroDivisionError: division by zero [RW-J21]"
    with pytest.warns(RuntimeWarning) as warned:
        bench.recorder.on_end(None)
        bench.recorder.on_start("no span")
    assert [str(one.message) for one in warned] == [
        "ragworthy: a step was not recorded (AttributeError: 'NoneType' object has no attribute 'context') [RW-J21]"
    ]
    assert bench.recorder.summary().endswith("; 2 failures")


def test_a_crash_in_the_middle_leaves_whole_lines(tmp_path: Path) -> None:
    code = """
        import os, sys
        from pathlib import Path
        sys.path.insert(0, sys.argv[2])
        from test_span_recorder import Bench
        bench = Bench(Path(sys.argv[1]))
        for n in range(50):
            bench.ask(f"Q{n}")
        bench.tracer.start_span("open")
        os._exit(9)
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path), str(Path(__file__).parent)]
    assert subprocess.run(command, env=os.environ, check=False).returncode == 9
    assert [row["qid"] for row in rows(tmp_path / "traces.jsonl")] == [f"Q{n}" for n in range(50)]
