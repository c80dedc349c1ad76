"""The rules of `import otel`, one by one, on spans made for them."""

import base64
import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import run_cli, write_jsonl
from ragworthy.adapters.documents import content_id
from ragworthy.adapters.spans import Span, below, nanoseconds, roots
from recording import TRACE, Row, docs, imported, otlp, pipeline, rows_of, said, said_by_model, span

OTHER = "1" * 32


def one(tmp_path: Path, spans: list[Row], *flags: object) -> Row:
    """The only trace of an import that goes well."""
    done, traces = imported("otel", otlp(tmp_path / "s.jsonl", spans), *flags, out=tmp_path / "t.jsonl")
    assert done.code == 0, done.err
    (trace,) = traces
    return trace


def out_of(tmp_path: Path, spans: list[Row], *flags: object) -> str:
    done, _ = imported("otel", otlp(tmp_path / "s.jsonl", spans), *flags, out=tmp_path / "t.jsonl")
    assert done.code == 0, done.err
    return done.out


def test_a_question_its_documents_and_its_answer(tmp_path: Path) -> None:
    trace = one(tmp_path, pipeline())
    assert trace.pop("imported")["at"] == TRACE
    assert trace == {
        "qid": TRACE,
        "query": "How long?",
        "retrieved_ids": ["a", "b"],
        "answer_json": {"claim": "45 days.", "citations": ["b"]},
        "e2e_ms": 998.0,
        "stage_ms": {"retrieval": 996.0, "llm": 994.0},
    }


# which documents


def test_the_outermost_retriever_that_has_documents(tmp_path: Path) -> None:
    spans = [
        span(1, 0, "CHAIN", attributes={"input.value": "How long?"}),
        span(2, 1, "RETRIEVER", "empty"),
        span(3, 2, "RETRIEVER", "fused", attributes=docs("C", "A")),
        span(4, 3, "RETRIEVER", "bm25", attributes=docs("A", "B")),
        span(5, 3, "RETRIEVER", "dense", attributes=docs("C", "D")),
    ]
    trace = one(tmp_path, spans)
    assert trace["retrieved_ids"] == ["c", "a"]
    assert "answer_json" not in trace and "error" not in trace


def test_a_reranker_stands_over_a_retriever(tmp_path: Path) -> None:
    ranked = docs("B", "A", name="reranker.output_documents") | docs("A", "B", name="reranker.input_documents")
    spans = [*pipeline(), span(4, 1, "RERANKER", attributes=ranked)]
    trace = one(tmp_path, spans)
    assert trace["retrieved_ids"] == ["b", "a"]
    assert trace["answer_json"]["citations"] == ["a"], "[2] is the second document that the model saw"
    assert trace["stage_ms"]["rerank"] == 992.0


def test_reranked_texts_get_the_ids_they_were_retrieved_with(tmp_path: Path) -> None:
    ranked = {"reranker.output_documents.0.document.content": "B", "reranker.output_documents.0.document.score": 0.5}
    trace = one(tmp_path, [*pipeline(answer="x [1]"), span(4, 1, "RERANKER", attributes=ranked)])
    assert trace["topk"] == [{"id": "b", "score": 0.5}]
    assert trace["answer_json"]["citations"] == ["b"]


def test_several_retrievals_are_listed_one_after_another(tmp_path: Path) -> None:
    spans = [*pipeline(), span(4, 1, "RETRIEVER", "again", attributes=docs("C"))]
    spans[1]["endTimeUnixNano"] = spans[1]["startTimeUnixNano"]
    assert one(tmp_path, spans)["retrieved_ids"] == ["a", "b", "c"]
    assert "note: in 1 of 1 traces: several retrievals; the documents of all are listed" in out_of(tmp_path, spans)


def test_a_retriever_that_found_nothing_is_an_empty_list(tmp_path: Path) -> None:
    spans = pipeline(answer="not in context")
    spans[1] = span(2, 1, "RETRIEVER", attributes={"input.value": "How long?", "output.value": '{"documents": []}'})
    assert one(tmp_path, spans)["retrieved_ids"] == []


def test_without_a_retrieval_step_nothing_is_said_of_it(tmp_path: Path) -> None:
    trace = one(tmp_path, [pipeline()[0], pipeline()[2]])
    assert "retrieved_ids" not in trace
    assert trace["answer_json"] == {"claim": "45 days.", "citations": ["[2]"]}
    told = out_of(tmp_path, [pipeline()[0], pipeline()[2]])
    assert "note: in 1 of 1 traces: no retrieval step\n" in told
    assert "note: in 1 of 1 traces: a number is cited that is not a document, such as [7]; kept as a citation" in told


def test_the_genai_conventions(tmp_path: Path) -> None:
    message = [{"role": "assistant", "parts": [{"type": "text", "content": "45 days [1]."}]}]
    spans = [
        span(2, 1, "", "retrieval", attributes={
            "gen_ai.operation.name": "retrieval", "gen_ai.retrieval.query.text": "How long?",
            "gen_ai.retrieval.documents": '[{"id": "a", "score": 0.75}, {"id": "b"}]'}),
        span(3, 1, "", "chat m", attributes={
            "gen_ai.operation.name": "chat", "gen_ai.output.messages": json.dumps(message),
            "gen_ai.usage.input_tokens": 7, "gen_ai.usage.output_tokens": 3, "gen_ai.response.model": "m"}),
    ]  # fmt: skip
    trace = one(tmp_path, spans)
    assert trace["query"] == "How long?"
    assert trace["topk"] == [{"id": "a", "score": 0.75}, {"id": "b"}]
    assert trace["answer_json"] == {"claim": "45 days.", "citations": ["a"]}
    assert trace["usage"] == {"prompt_tokens": 7, "completion_tokens": 3, "model": "m"}
    assert "note: 2 of 2 retrieved documents have no text in the spans" in out_of(tmp_path, spans)


def test_a_web_server_around_the_pipeline(tmp_path: Path) -> None:
    spans = pipeline()
    spans[0]["parentSpanId"] = f"{9:016x}"
    outer = span(9, 0, "", "POST /ask", attributes={"http.route": "/ask"})
    outer |= {"startTimeUnixNano": "1700000000000000000", "endTimeUnixNano": "1700000002000000000"}
    trace = one(tmp_path, [*spans, outer])
    assert trace["query"] == "How long?"
    assert trace["e2e_ms"] == 2000.0


# which answer


def test_a_model_call_inside_retrieval_is_not_the_answer(tmp_path: Path) -> None:
    rewrite = span(4, 2, "LLM", "rewrite", attributes=said_by_model("what is the period?"))
    rewrite["endTimeUnixNano"] = "1800000000000000000"
    assert one(tmp_path, [*pipeline(), rewrite])["answer_json"]["claim"] == "45 days."


def test_a_judge_inside_of_the_trace_is_not_the_answer(tmp_path: Path) -> None:
    judge = [span(4, 1, "EVALUATOR", "judge"), span(5, 4, "LLM", "model", attributes=said_by_model("0.9"))]
    for each in judge:
        each["endTimeUnixNano"] = "1800000000000000000"
    assert one(tmp_path, [*pipeline(), *judge])["answer_json"]["claim"] == "45 days."


def test_a_prompt_builder_that_calls_itself_a_model(tmp_path: Path) -> None:
    builder = span(4, 1, "LLM", "PromptBuilder.run", attributes={"output.value": "Answer from: A B"})
    builder["endTimeUnixNano"] = "1800000000000000000"
    trace = one(tmp_path, [*pipeline(), builder])
    assert trace["answer_json"]["claim"] == "45 days."
    assert trace["stage_ms"]["llm"] == 994.0


def test_what_the_root_gave_back_where_the_model_is_silent(tmp_path: Path) -> None:
    spans = pipeline(attributes={"output.value": json.dumps({"input": "How long?", "answer": "45 days [1]"})})[:2]
    assert one(tmp_path, spans)["answer_json"] == {"claim": "45 days", "citations": ["a"]}


def test_the_model_and_the_root_may_differ_and_that_is_said(tmp_path: Path) -> None:
    spans = pipeline(attributes={"output.value": "I don't know."})
    assert one(tmp_path, spans)["answer_json"]["claim"] == "45 days."
    assert one(tmp_path, spans, "--answer", "root")["answer_json"] == {"claim": "I don't know.", "citations": []}
    assert "note: in 1 of 1 traces: the pipeline gave back something else than the model said" in out_of(
        tmp_path, spans
    )
    same = pipeline(attributes={"output.value": json.dumps({"answer": "45  days."})})
    assert "something else" not in out_of(tmp_path, same)


def test_an_answer_in_our_own_form_names_its_citations(tmp_path: Path) -> None:
    answer = json.dumps({"claim": "45 days.", "citations": ["b", "z"]})
    assert one(tmp_path, pipeline(answer=answer))["answer_json"] == {"claim": "45 days.", "citations": ["b", "z"]}


def test_a_trace_that_failed_is_an_error(tmp_path: Path) -> None:
    raised = {"name": "exception", "attributes": [
        {"key": "exception.type", "value": {"stringValue": "RuntimeError"}},
        {"key": "exception.message", "value": {"stringValue": "model is down"}}]}  # fmt: skip
    trace = one(tmp_path, pipeline(status={"code": 2}, events=[raised])[:2])
    assert trace["error"] == "RuntimeError: model is down"
    assert "answer_json" not in trace
    assert trace["retrieved_ids"] == ["a", "b"]
    assert one(tmp_path, pipeline(status={"code": "STATUS_CODE_ERROR", "message": "no"}))["error"] == "no"


def test_a_step_that_failed_and_was_tried_again_is_no_error(tmp_path: Path) -> None:
    failed = span(4, 1, "LLM", status={"code": 2, "message": "rate limit"})
    assert "error" not in one(tmp_path, [failed, *pipeline()])


def test_a_model_call_without_an_answer_is_an_error(tmp_path: Path) -> None:
    spans = pipeline()
    spans[2] = span(3, 1, "LLM", "model")
    assert one(tmp_path, spans)["error"] == "no answer in the spans of the trace"


# which question


def gold(tmp_path: Path, *questions: tuple[str, str]) -> Path:
    rows = [{"qid": qid, "question": text, "answerable": True} for qid, text in questions]
    return write_jsonl(tmp_path / "gold.jsonl", rows)


def test_a_qid_in_the_metadata_wins(tmp_path: Path) -> None:
    asked = gold(tmp_path, ("Q1", "How long?"), ("Q2", "Other"))
    named = pipeline(attributes={"metadata": '{"qid": "Q2"}'})
    assert one(tmp_path, named, "--gold", asked)["qid"] == "Q2"
    assert one(tmp_path, named, "--gold", asked, "--qid", "input")["qid"] == "Q1"
    assert one(tmp_path, named, "--qid", "trace")["qid"] == TRACE
    other = pipeline(attributes={"metadata": '{"case": 17}'})
    assert one(tmp_path, other, "--qid", "metadata:case")["qid"] == "17"


@pytest.mark.parametrize("attribute", ["traceloop.association.properties.qid", "langfuse.observation.metadata.qid",
                                       "metadata.qid", "langfuse.experiment.item.id"])  # fmt: skip
def test_where_qids_stand(attribute: str, tmp_path: Path) -> None:
    assert one(tmp_path, pipeline(attributes={attribute: "Q7"}))["qid"] == "Q7"


def test_an_unknown_qid_is_kept_and_said(tmp_path: Path) -> None:
    asked = gold(tmp_path, ("Q1", "Other?"))
    spans = pipeline(attributes={"metadata": '{"qid": "Q9"}'})
    assert one(tmp_path, spans, "--gold", asked)["qid"] == "Q9"
    told = out_of(tmp_path, spans, "--gold", asked)
    assert "note: in 1 of 1 traces: a qid and a question that the gold set does not have\n" in told


def test_questions_match_but_for_case_and_blanks(tmp_path: Path) -> None:
    asked = gold(tmp_path, ("Q1", "How long?"), ("Q2", "how LONG?"), ("Q3", "Same"), ("Q4", "Same"))
    traces = [f"{number:032x}" for number in range(1, 6)]
    texts = ["How long?", " how  LONG?\n", "HOW LONG?", "Same", "Never asked"]
    spans = [one for trace, text in zip(traces, texts, strict=True) for one in pipeline(text, trace=trace)]
    done, found = imported("otel", otlp(tmp_path / "s.jsonl", spans), "--gold", asked, out=tmp_path / "t.jsonl")
    assert [trace["qid"] for trace in found] == ["Q1"], "the second is neither one exactly, and both but for case"
    assert "in 5 = written 1 + skipped 4\n" in done.out
    assert f"skipped 3: its question is under several qids in the gold set (trace {traces[1]}, " in done.out
    assert f"skipped 1: its question is not in the gold set (trace {traces[4]})\n" in done.out


def test_without_a_gold_set_the_trace_names_the_question(tmp_path: Path) -> None:
    told = out_of(tmp_path, pipeline())
    assert "note: in 1 of 1 traces: no qid, so the id of the trace is taken: attach a qid as metadata" in told


def test_one_trace_around_many_questions_is_taken_apart(tmp_path: Path) -> None:
    spans = [span(99, 0, "CHAIN", "notebook")]
    for number, qid in enumerate(("Q1", "Q2"), 1):
        for each in pipeline(f"Question {number}", f"Answer {number} [1]"):
            shift = 10 * number
            each["spanId"] = f"{int(each['spanId'], 16) + shift:016x}"
            parent = int(each["parentSpanId"] or "0", 16)
            each["parentSpanId"] = f"{parent + shift if parent else 99:016x}"
            each["attributes"].append({"key": "metadata", "value": {"stringValue": json.dumps({"qid": qid})}})
            spans.append(each)
    done, traces = imported("otel", otlp(tmp_path / "s.jsonl", spans), out=tmp_path / "t.jsonl")
    assert [(one["qid"], one["query"], one["answer_json"]["claim"]) for one in traces] == [
        ("Q1", "Question 1", "Answer 1"), ("Q2", "Question 2", "Answer 2")]  # fmt: skip
    assert [one["imported"]["at"] for one in traces] == [f"{TRACE}/Q1", f"{TRACE}/Q2"]
    assert "in 2 = written 2 + skipped 0\n" in done.out


def test_an_evaluation_is_left_out(tmp_path: Path) -> None:
    judge = span(1, 0, "EVALUATOR", trace=OTHER, attributes={"input.value": "How long?"})
    told = out_of(tmp_path, [*pipeline(), judge])
    assert f"skipped 1: an evaluation and not an answer (trace {OTHER})\n" in told


def test_a_trace_without_a_question_is_left_out(tmp_path: Path) -> None:
    silent = span(2, 0, "RETRIEVER", trace=OTHER, attributes=docs("A"))
    assert f"skipped 1: no question in its spans (trace {OTHER})\n" in out_of(tmp_path, [*pipeline(), silent])


def test_spans_that_come_twice_are_read_once(tmp_path: Path) -> None:
    first, second = (otlp(tmp_path / name, spans) for name, spans in (("a", pipeline()), ("b", pipeline()[::-1])))
    done, traces = imported("otel", first, second, out=tmp_path / "t.jsonl")
    assert len(traces) == 1
    assert "note: 3 spans are in the files several times and were read once\n" in done.out


# ids


def test_ids_that_name_several_texts_are_said(tmp_path: Path) -> None:
    spans = [*pipeline(), *pipeline(trace=OTHER)]
    spans[4] = span(
        2, 1, "RETRIEVER", trace=OTHER, attributes=docs("A") | {"retrieval.documents.0.document.content": "Z"}
    )
    told = out_of(tmp_path, spans, "--qid", "trace")
    assert "note: 1 ids name several texts (a); the chunks have the first: --doc-id content\n" in told


def test_random_ids_are_said_and_trusted_where_the_corpus_has_such(tmp_path: Path) -> None:
    name = "ff0a9ff2-7603-48b9-8b04-109597ec1156"
    spans = pipeline()
    spans[1] = span(2, 1, "RETRIEVER", attributes={"retrieval.documents.0.document.id": name,
                                                   "retrieval.documents.0.document.content": "A"})  # fmt: skip
    assert one(tmp_path, spans)["retrieved_ids"] == ["sha256:559aead08264d579"]
    assert "note: in 1 of 1 traces: documents have random UUIDs, which the next build changes" in out_of(
        tmp_path, spans
    )
    corpus = write_jsonl(tmp_path / "c.jsonl", [{"chunk_id": "00fbe967-ed10-47fd-954a-1716e7eb97e7", "text": "B"}])
    assert one(tmp_path, spans, "--corpus", corpus)["retrieved_ids"] == [name]
    assert one(tmp_path, spans, "--doc-id", "id")["retrieved_ids"] == [name]


def test_a_document_without_an_id_by_the_rule_is_an_error(tmp_path: Path) -> None:
    path = otlp(tmp_path / "s.jsonl", pipeline())
    done, _ = imported("otel", path, "--doc-id", "metadata:page", out=tmp_path / "t.jsonl")
    message = (
        f"{path}: expected an id by --doc-id for every document, got 2 without one; "
        f"the first is of trace {TRACE} and has the metadata nothing"
    )
    assert done == (2, "", said("RW-A11", message))


# loss


def refused(tmp_path: Path, spans: list[Row], code: str = "RW-A10") -> str:
    path = otlp(tmp_path / "s.jsonl", spans)
    done, traces = imported("otel", path, out=tmp_path / "t.jsonl")
    assert (done.code, done.out, traces) == (2, "", [])
    line, _, rest = done.err.partition("\n")
    assert rest == said(code, "").partition("\n")[2]
    return line.removeprefix(f"{path}: trace {TRACE}: ")


LIMIT = "(OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT) [RW-A10]"


def test_dropped_attributes_of_what_is_read(tmp_path: Path) -> None:
    for number, name in ((0, "rag"), (1, "search"), (2, "model")):
        spans = pipeline()
        spans[number]["droppedAttributesCount"] = 5
        assert refused(tmp_path, spans) == f'span "{name}": 5 of its attributes were dropped {LIMIT}'


def test_dropped_attributes_of_what_is_not_read(tmp_path: Path) -> None:
    embedding = span(5, 2, "EMBEDDING", "embed", droppedAttributesCount=900)
    inner = span(6, 2, "RETRIEVER", "inner", droppedAttributesCount=5)
    assert one(tmp_path, [*pipeline(), embedding, inner])["retrieved_ids"] == ["a", "b"]


def test_a_span_that_lost_its_kind_may_have_been_the_retriever(tmp_path: Path) -> None:
    spans = pipeline()
    spans[1] = span(2, 1, "", "search", droppedAttributesCount=200)
    assert refused(tmp_path, spans) == f'span "search": 200 of its attributes were dropped {LIMIT}'


@pytest.mark.parametrize(
    ("held", "loss"),
    [
        (docs("C", "D", first=3), "3 of at least 5 documents are missing, the first is retrieval.documents.3"),
        (docs("A") | docs("C", first=2), "1 of at least 3 documents are missing, retrieval.documents has holes"),
        ({"retrieval.documents.0.document.score": 1.0} | docs("B", first=1),
         "retrieval.documents.0 has no text and others have"),
    ],
)  # fmt: skip
def test_gaps_in_the_documents(held: Row, loss: str, tmp_path: Path) -> None:
    spans = pipeline()
    spans[1] = span(2, 1, "RETRIEVER", "search", attributes=held)
    assert refused(tmp_path, spans) == f'span "search": {loss} {LIMIT}'


def test_output_that_was_cut_off(tmp_path: Path) -> None:
    spans = pipeline()
    spans[1] = span(2, 1, "", "search", attributes={
        "traceloop.entity.output": '{"documents": [{"page_content": "Names sta', "gen_ai.operation.name":
        "vector_db_retrieve"})  # fmt: skip
    loss = "the JSON of traceloop.entity.output is cut off after 42 characters (OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT)"
    assert refused(tmp_path, spans, "RW-A13") == f'span "search": {loss} [RW-A13]'


def test_json_that_a_model_left_unfinished_is_an_answer(tmp_path: Path) -> None:
    trace = one(tmp_path, pipeline(answer='{"claim": "45 da'))
    assert trace["answer_json"]["claim"] == '{"claim": "45 da'


def test_values_that_all_end_after_the_same_number_of_characters(tmp_path: Path) -> None:
    text = "Names stay blocked for 45 days after a bucket is gone for good. "
    spans = [
        span(1, 0, "CHAIN", "rag", attributes={"input.value": "How long?", "output.value": ("It is 45. " + text)[:40]}),
        span(2, 1, "RETRIEVER", "search", attributes={"input.value": "How long?", **docs(text[:40], "B" + text[:39])}),
        span(3, 1, "LLM", "model", attributes={"input.value": ("Answer: " + text)[:40], **said_by_model("45 days.")}),
    ]
    loss = "3 values end after exactly 40 characters (input.value, output.value, retrieval.documents.document.content)"
    assert refused(tmp_path, spans, "RW-A13") == (
        f"{loss}: they were cut off (OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT) [RW-A13]"
    )
    done, _ = imported(
        "otel", otlp(tmp_path / "s.jsonl", [*spans, *pipeline(trace=OTHER)]), "--skip-damaged", out=tmp_path / "t"
    )
    assert "in 2 = written 1 + skipped 1\n  skipped 1: values of its spans were cut off (trace " in done.out


def test_pieces_of_one_length_and_an_answer_that_stands_twice_are_not_cut(tmp_path: Path) -> None:
    pieces = [f"{number:03d} " + "lorem ipsum " * 40 for number in range(5)]
    answer = "x" * len(pieces[0])
    spans = [
        span(1, 0, "CHAIN", "rag", attributes={"input.value": "How long?", "output.value": answer}),
        span(2, 1, "RETRIEVER", "search", attributes={"input.value": "How long?", **docs(*pieces)}),
        span(3, 1, "LLM", "model", attributes=said_by_model(answer)),
    ]
    assert len(one(tmp_path, spans)["retrieved_ids"]) == 5


def test_documents_that_are_missing_at_the_end(tmp_path: Path) -> None:
    listed = json.dumps({"documents": [{"page_content": text} for text in ("A", "B", "C")]})
    spans = pipeline()
    spans[1] = span(2, 1, "RETRIEVER", "search", attributes={"output.value": listed, **docs("A", "B")})
    loss = "1 of 3 documents of its output are missing in retrieval.documents"
    assert refused(tmp_path, spans) == f'span "search": {loss} {LIMIT}'


# ids that are in the output only


def test_ids_of_the_output_where_the_attributes_have_none(tmp_path: Path) -> None:
    bare = {f"retrieval.documents.{nth}.document.content": text for nth, text in enumerate(("A", "B", "C"))}
    kept = [{"id": "d4", "page_content": "A"}, {"id": None, "page_content": "B"}, {"id": "d6", "page_content": "other"}]
    spans = pipeline()
    spans[1] = span(2, 1, "RETRIEVER", "search", attributes={"output.value": json.dumps({"documents": kept}), **bare})
    assert one(tmp_path, spans)["retrieved_ids"] == ["d4", content_id("B"), content_id("C")]
    assert (
        "note: in 1 of 1 traces: documents have no id, so ids are made of their texts (sha256:…) and change with them "
        "(--doc-id names metadata instead)\n"
    ) in out_of(tmp_path, spans)
    assert "sha256:…" not in out_of(tmp_path, spans, "--doc-id", "content")


# Haystack


def haystack(*steps: Row, output: Row | None) -> list[Row]:
    held = {"input.value": json.dumps({"data": {"ret": {"query": "How long?"}}})}
    if output is not None:
        held |= {"output.value": json.dumps(output), "output.mime_type": "application/json"}
    return [
        span(1, 0, "CHAIN", "Pipeline.run", attributes=held),
        span(2, 1, "RETRIEVER", "InMemoryBM25Retriever.run", attributes=docs("A", "B")),
        span(3, 1, "LLM", "PromptBuilder.run", attributes={"output.value": "[1] A [2] B Q: How long?"}),
        *steps,
    ]


def test_a_prompt_is_never_the_answer(tmp_path: Path) -> None:
    outputs: list[Row | None] = [{"pb": {"prompt": "[1] A [2] B Q: How long?"}}, {"ret": {"documents": []}}, None]
    for output in outputs:
        trace = one(tmp_path, haystack(output=output))
        assert "answer_json" not in trace
        assert trace["error"] == "no answer in the spans of the trace"
    other = span(4, 1, "LLM", "Mine.run", attributes={"output.value": '{"prompt": "Q: How long?"}'})
    assert one(tmp_path, [*pipeline(), other])["answer_json"]["claim"] == "45 days."


@pytest.mark.parametrize("reply", [
    "45 days [2].",
    "ChatMessage(_role=<ChatRole.ASSISTANT: 'assistant'>, _content=[TextContent(text='45 days [2].')], _meta={})",
])  # fmt: skip
def test_a_generator_that_its_recorder_does_not_know(reply: str, tmp_path: Path) -> None:
    replies = json.dumps({"replies": [reply, "Second."], "meta": [{}, {}]})
    own = span(4, 1, "CHAIN", "Gen.run", attributes={"output.value": replies})
    for output in (
        None,
        {"gen": {"meta": [{}]}, "ab": {"answers": ["GeneratedAnswer(data='45 days [2].', query='')"]}},
    ):
        for flags in ((), ("--answer", "root")):
            trace = one(tmp_path, haystack(own, output=output), *flags)
            assert trace["answer_json"] == {"claim": "45 days.", "citations": ["b"]}
        assert trace["stage_ms"]["llm"] == 992.0


# postprocessors


def postprocessed(output: str, *, start: str = "1700000000999000000") -> list[Row]:
    spans = pipeline()
    spans.insert(2, span(4, 1, "CHAIN", "Top2._postprocess_nodes", attributes={"output.value": output}))
    spans[2]["startTimeUnixNano"] = start
    return spans


def test_the_documents_that_a_postprocessor_left(tmp_path: Path) -> None:
    nodes = [f"<NodeWithScore(node=TextNode(id_={name}), score={score})>" for name, score in (("b", 0.5), ("a", None))]
    trace = one(tmp_path, postprocessed(json.dumps(nodes)))
    assert trace["retrieved_ids"] == ["b", "a"]
    assert trace["answer_json"]["citations"] == ["a"]
    assert one(tmp_path, postprocessed("[]"))["retrieved_ids"] == []


def test_a_postprocessor_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    unknown = json.dumps(["<NodeWithScore(node=TextNode(id_=z), score=1.0)>"])
    for output in (unknown, "nodes", '{"nodes": 2}'):
        assert one(tmp_path, postprocessed(output))["retrieved_ids"] == ["a", "b"]
        assert (
            "note: in 1 of 1 traces: a postprocessor changed what was retrieved and what it gave back cannot be read; "
            "the list before it was taken\n"
        ) in out_of(tmp_path, postprocessed(output))


def test_many_damaged_traces_are_three_lines_and_a_count(tmp_path: Path) -> None:
    spans = [one for number in range(1, 8) for one in pipeline(trace=f"{number:032x}", droppedAttributesCount=5)]
    done, _ = imported("otel", otlp(tmp_path / "s.jsonl", spans), out=tmp_path / "t.jsonl")
    assert done.err.count("[RW-A10]") == 3
    assert done.err.endswith("… and 4 more\n")


# forms of files


def test_ids_in_base64_and_other_spellings(tmp_path: Path) -> None:
    spans = pipeline()
    for each in spans:
        each["trace_id"] = base64.b64encode(bytes.fromhex(each.pop("traceId"))).decode()
        each["span_id"] = base64.b64encode(bytes.fromhex(each.pop("spanId"))).decode()
        parent = each.pop("parentSpanId")
        each["parent_span_id"] = base64.b64encode(bytes.fromhex(parent)).decode() if parent else None
        each["start_time_unix_nano"], each["end_time_unix_nano"] = (
            each.pop("startTimeUnixNano"), each.pop("endTimeUnixNano"))  # fmt: skip
    path = tmp_path / "s.json"
    path.write_text(json.dumps({"resource_spans": [{"scope_spans": [{"spans": spans}]}]}, indent=1))
    _, traces = imported("otel", path, out=tmp_path / "t.jsonl")
    assert traces[0]["imported"]["at"] == TRACE
    assert traces[0]["e2e_ms"] == 998.0


def sdk(each: Row) -> Row:
    """A span as `span.to_json()` has it."""
    return {
        "name": each["name"], "kind": "SpanKind.INTERNAL",
        "context": {"trace_id": f"0x{each['traceId']}", "span_id": f"0x{each['spanId']}", "trace_state": "[]"},
        "parent_id": f"0x{each['parentSpanId']}" if each["parentSpanId"] else None,
        "start_time": "2026-11-15T19:32:30.001865Z", "end_time": "2026-11-15T19:32:31.501865Z",
        "status": {"status_code": "UNSET"},
        "attributes": {one["key"]: next(iter(one["value"].values())) for one in each["attributes"]},
    }  # fmt: skip


@pytest.mark.parametrize("layout", ["array", "concatenated", "lines", "bom"])
def test_layouts_of_the_sdk_json(layout: str, tmp_path: Path) -> None:
    spans = [sdk(each) for each in pipeline()]
    text = {
        "array": json.dumps(spans, indent=4),
        "concatenated": "\n".join(json.dumps(one, indent=4) for one in spans),
        "lines": "\n\n".join(json.dumps(one) for one in spans) + "\r\n",
        "bom": "\ufeff" + "\n".join(json.dumps(one) for one in spans),
    }[layout]
    path = tmp_path / "s.json"
    path.write_text(text, encoding="utf-8", newline="")
    done, traces = imported("otel", path, out=tmp_path / "t.jsonl")
    assert done.code == 0, done.err
    assert traces[0]["answer_json"] == {"claim": "45 days.", "citations": ["b"]}
    assert traces[0]["e2e_ms"] == 1500.0


def test_logs_and_metrics_of_a_collector_are_passed_over(tmp_path: Path) -> None:
    path = otlp(tmp_path / "s.jsonl", pipeline())
    path.write_text('{"resourceLogs": []}\n' + path.read_text() + '{"resourceMetrics": []}\n')
    assert len(imported("otel", path, out=tmp_path / "t.jsonl")[1]) == 1


WRONG: list[tuple[str, str, str, str]] = [
    ("a gold set", '{"qid": "Q1", "question": "x"}\n', "RW-A12",
     ":1: expected spans (resourceSpans of OTLP JSON, or span.to_json() with a context), "
     "got an object with qid, question"),
    ("no object", "[1]\n", "RW-F08", ":1: expected a JSON object, got 1"),
    ("no JSON", "hello\n", "RW-F07", ": value 1: expected JSON, got hello (Expecting value)"),
    ("a bad second line", '{"resourceSpans": []}\n{"a"\n', "RW-F07",
     ':2: expected JSON, got {"a" (Input data was truncated)'),
    ("not a number", '{"resourceSpans": [],\n "a": NaN}\n', "RW-F07",
     ': value 1: expected JSON, got {"resourceSpans": [], "a": NaN} (NaN is not JSON)'),
    ("spans that are none", '{"resourceSpans": [{"scopeSpans": [{"spans": [7]}]}]}\n', "RW-A12",
     ":1: spans: expected a list of objects, got 7"),
    ("a list that is none", '{"resourceSpans": {"a": 1}}\n', "RW-A12",
     ":1: resourceSpans: expected a list of objects, got an object"),
    ("no trace id", '{"resourceSpans": [{"scopeSpans": [{"spans": [{"spanId": "a"}]}]}]}\n', "RW-A12",
     ":1: traceId: expected an id of 32 hex digits (or base64), got nothing"),
    ("a bad span id", json.dumps({"context": {"trace_id": TRACE, "span_id": "zz"}}) + "\n", "RW-A12",
     ':1: context.span_id: expected an id of 16 hex digits (or base64), got "zz"'),
    ("attributes that are none", json.dumps({"context": {"trace_id": TRACE, "span_id": "1" * 16}, "attributes": [1]})
     + "\n", "RW-A12", ":1: attributes: expected an object, got a list"),
    ("nested too deeply", '{"resourceSpans": ' + "[" * 100_000 + "]" * 100_000 + "}\n", "RW-F11",
     ":1: expected a flat record, got JSON nested too deeply"),
    ("nothing", "\n \n", "RW-F04", ": expected records, got none"),
    ("no span", '{"resourceSpans": []}\n', "RW-A02", ": expected traces, got none"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code", "message"), [one[1:] for one in WRONG], ids=[one[0] for one in WRONG])
def test_files_that_are_no_spans(text: str, code: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(text)
    done, _ = imported("otel", path, out=tmp_path / "t.jsonl")
    assert done == (2, "", said(code, f"{path}{message}"))


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"resourceSpans": []}\n{"a": "\xff"}\n')
    done, _ = imported("otel", path, out=tmp_path / "t.jsonl")
    assert done.err == said("RW-F06", f"{path}:2: expected UTF-8, got byte 0xff at offset 7")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--qid", "foo"), '--qid: expected metadata:KEY, input or trace, got "foo"'),
        (("--qid", "metadata:"), '--qid: expected metadata:KEY, input or trace, got "metadata:"'),
        (("--qid", "input"), "--qid input: expected --gold, whose questions are compared, got none"),
    ],
)
def test_options_that_do_not_fit(flags: tuple[str, ...], message: str, tmp_path: Path) -> None:
    done, _ = imported("otel", otlp(tmp_path / "s.jsonl", pipeline()), *flags, out=tmp_path / "t.jsonl")
    assert done == (2, "", said("RW-U01", message))


# hostile input


def test_parents_in_a_circle(tmp_path: Path) -> None:
    spans = pipeline()
    spans[0]["parentSpanId"] = spans[2]["spanId"]
    assert one(tmp_path, spans)["answer_json"]["claim"] == "45 days."


def test_wrong_types_inside_of_attributes(tmp_path: Path) -> None:
    first = "retrieval.documents.0.document"
    held: dict[str, Any] = {
        f"{first}.content": "A",
        f"{first}.score": "high",
        f"{first}.metadata": "[1",
        "metadata": "{",
    }
    held |= {"llm.token_count.prompt": -3, f"{first}.id": True}
    spans = pipeline()
    spans[1] = span(2, 1, "RETRIEVER", attributes=held)
    spans[2]["attributes"] += [{"key": 7, "value": 1}, {"key": "x"}, {"key": "y", "value": {"arrayValue": 3}}]
    spans[2] |= {"startTimeUnixNano": {}, "endTimeUnixNano": "soon", "status": "?", "events": {"a": 1}, "name": 7}
    trace = one(tmp_path, spans)
    assert trace["retrieved_ids"] == ["sha256:559aead08264d579"]
    assert "topk" not in trace
    assert trace["stage_ms"] == {"retrieval": 996.0}


def test_a_hundred_thousand_spans_in_one_chain_of_parents(tmp_path: Path) -> None:
    count = 100_000
    spans = {f"{n}": Span(TRACE, f"{n}", f"{n - 1}" if n else "", "", "CHAIN", n, 2 * count - n) for n in range(count)}
    began = time.perf_counter()
    assert len(below(spans, {"10"})) == count - 11
    assert [one.id for one in roots(spans)] == ["0"]
    assert time.perf_counter() - began < 5


def test_a_hundred_thousand_spans_with_a_qid_each(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with path.open("w") as file:
        for number in range(1, 100_001):
            each = span(number, 0, "CHAIN", attributes={"metadata": f'{{"qid": "Q{number}"}}', "input.value": "x"})
            file.write(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [each]}]}]}) + "\n")
        for each in pipeline(attributes={"metadata": '{"qid": "Q0"}'}, trace=OTHER):
            file.write(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [each]}]}]}) + "\n")
    began = time.process_time()
    done, traces = imported("otel", path, out=tmp_path / "t.jsonl")
    assert time.process_time() - began < 30
    assert len(traces) == 1
    assert "in 100001 = written 1 + skipped 100000\n" in done.out


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(st.data())
def test_any_damage_ends_in_an_orderly_way(tmp_path: Path, data: st.DataObject) -> None:
    spans = pipeline()
    for _ in range(data.draw(st.integers(1, 3))):
        place: Any = data.draw(st.sampled_from(spans))
        if data.draw(st.booleans()):
            place = data.draw(st.sampled_from(place["attributes"])) if place["attributes"] else place
        key = data.draw(st.sampled_from(sorted(place)))
        place[key] = data.draw(JSON)
        held = [s["attributes"] for s in spans]
        if not all(isinstance(each, list) and all(isinstance(one, dict) for one in each) for each in held):
            break
    path = tmp_path / "s.jsonl"
    path.write_text(
        "".join(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [one]}]}]}) + "\n" for one in spans)
    )
    out = tmp_path / "t.jsonl"
    out.unlink(missing_ok=True)
    done = run_cli("import", "otel", path, "--trace-out", out)
    assert done.code in (0, 2)
    assert (done.code == 0) == out.exists()
    assert "Traceback" not in done.err and "RW-X70" not in done.err


# times


@pytest.mark.parametrize(
    ("given_time", "expected"),
    [
        ("2026-11-15T19:32:30.001865Z", 1794771150001865000),
        ("2026-11-15T20:32:30.001865123+01:00", 1794771150001865000),
        ("2026-11-15T19:32:30", 1794771150000000000),
        (1794771150001, 1794771150001000000),
        (1794771150001865, 1794771150001865000),
        (1794771150001865000, 1794771150001865000),
        ("1794771150001865000", 1794771150001865000),
        (1794771150.5, 1794771150500000000),
        ("yesterday", None),
        (None, None),
        (True, None),
        ([], None),
        (float("nan"), None),
    ],
)
def test_times_however_they_are_written(given_time: object, expected: int | None) -> None:
    # date -u -d '2026-11-15 19:32:30' +%s gives 1794771150
    assert nanoseconds(given_time) == expected


@settings(deadline=None)
@given(start=st.integers(1_600_000_000_000_000_000, 1_900_000_000_000_000_000), took=st.integers(0, 10**11))
def test_a_span_lasts_as_long_in_both_forms(start: int, took: int) -> None:
    """The SDK writes `datetime.fromtimestamp(nanoseconds / 1e9)`, OTLP the nanoseconds."""
    told = [datetime.fromtimestamp(time / 1e9, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ") for time in (start, start + took)]
    otlp_form = Span("t", "1", "", "", "", nanoseconds(str(start)), nanoseconds(str(start + took)))
    sdk_form = Span("t", "1", "", "", "", nanoseconds(told[0]), nanoseconds(told[1]))
    assert otlp_form.milliseconds == sdk_form.milliseconds
    assert abs((otlp_form.milliseconds or 0) - took / 1e6) <= 0.0015


def test_the_preview_and_the_command_that_goes_on(tmp_path: Path) -> None:
    asked = gold(tmp_path, ("Q1", "How long?"))
    done = run_cli("import", "otel", otlp(tmp_path / "s.jsonl", pipeline()), "--gold", asked, "--trace-out",
                   tmp_path / "t.jsonl", "--chunks-out", tmp_path / "c.jsonl")  # fmt: skip
    assert done.out == (
        "the first 1 of 1, as they were read:\n"
        "  Q1  question: How long?\n"
        "      reply: 45 days.\n"
        "      cites: b\n"
        "      retrieved: a (and 1 other)\n"
        "in 1 = written 1 + skipped 0\n"
        f"traces: 1 trace: {tmp_path}/t.jsonl\n"
        f"chunks: 2 chunks: {tmp_path}/c.jsonl\n"
        f"next: ragworthy score answers --gold {asked} --trace {tmp_path}/t.jsonl --corpus {tmp_path}/c.jsonl\n"
    )
    assert rows_of(tmp_path / "c.jsonl") == [{"chunk_id": "a", "text": "A"}, {"chunk_id": "b", "text": "B"}]
