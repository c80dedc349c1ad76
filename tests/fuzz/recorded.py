"""Sound records of tools that record traces, a question each, for the fuzzer to damage."""

import json
from typing import Any

Row = dict[str, Any]
TRACE, QUESTION, ANSWER = "0af7651916cd43dd8448eb211c80319c", "How long?", "45 days [1]."
ATTRIBUTES: list[Row] = [
    {"openinference.span.kind": "CHAIN", "input.value": QUESTION, "output.value": json.dumps({"answer": ANSWER}),
     "metadata": '{"qid": "A0001"}'},
    {"openinference.span.kind": "RETRIEVER", "input.value": QUESTION, "retrieval.documents.0.document.id": "a",
     "retrieval.documents.0.document.content": "Names stay blocked.", "retrieval.documents.0.document.score": 0.5,
     "retrieval.documents.0.document.metadata": '{"source": "a.md", "start_index": 3}',
     "retrieval.documents.1.document.content": "Other."},
    {"openinference.span.kind": "RERANKER", "reranker.output_documents.0.document.content": "Names stay blocked."},
    {"openinference.span.kind": "LLM", "llm.output_messages.0.message.content": ANSWER, "llm.token_count.prompt": 7},
]  # fmt: skip
TIMES = ("2026-11-15T19:00:00Z", "2026-11-15T19:00:01.5Z")


def _value(value: Any) -> Row:
    return {"stringValue": value} if isinstance(value, str) else {"doubleValue" if value < 1 else "intValue": value}


OTLP: list[Row] = [
    {"resourceSpans": [{"scopeSpans": [{"spans": [
        {"traceId": TRACE, "spanId": f"{nth:016x}", "parentSpanId": "" if nth == 1 else f"{1:016x}", "name": "step",
         "startTimeUnixNano": str(10**18 + nth), "endTimeUnixNano": str(10**18 + 10**9), "status": {"code": 1},
         "attributes": [{"key": key, "value": _value(value)} for key, value in held.items()],
         "droppedAttributesCount": 0}]}]}]}
    for nth, held in enumerate(ATTRIBUTES, 1)
]  # fmt: skip
SDK: list[Row] = [
    {"name": "step", "context": {"trace_id": f"0x{TRACE}", "span_id": f"0x{nth:016x}"}, "status": {"status_code": "OK"},
     "parent_id": None if nth == 1 else f"0x{1:016x}", "start_time": TIMES[0], "end_time": TIMES[1], "attributes": held}
    for nth, held in enumerate(ATTRIBUTES, 1)
]  # fmt: skip
DOCUMENTS = [{"id": "a", "page_content": "Names stay blocked.", "metadata": {"source": "a.md"}}]
RUNS: list[Row] = [
    {"id": "r1", "trace_id": "r1", "run_type": "chain", "name": "rag", "inputs": {"question": QUESTION},
     "outputs": {"answer": ANSWER}, "start_time": TIMES[0], "end_time": TIMES[1], "reference_example_id": "E1",
     "extra": {"metadata": {"qid": "A0001"}}, "error": None},
    {"post": [{"id": "r2", "trace_id": "r1", "parent_run_id": "r1", "run_type": "retriever", "inputs": {}}]},
    {"patch": [{"id": "r2", "outputs": {"documents": DOCUMENTS}, "end_time": TIMES[1]}]},
    {"id": "r3", "trace_id": "r1", "parent_run_id": "r1", "run_type": "llm", "end_time": TIMES[1],
     "outputs": {"generations": [[{"text": ANSWER, "message": {"kwargs": {"usage_metadata": {"input_tokens": 7}}}}]]}},
    {"id": "E1", "inputs": {"question": QUESTION}, "outputs": {"answer": "45 days"}, "metadata": {"topic": "x"}},
]  # fmt: skip
LANGFUSE: list[Row] = [
    {"id": "t1", "input": {"question": QUESTION}, "output": ANSWER, "timestamp": TIMES[0], "observations": [
        {"id": "o1", "traceId": "t1", "type": "RETRIEVER", "output": DOCUMENTS, "startTime": TIMES[0]},
        {"id": "o2", "traceId": "t1", "type": "GENERATION", "output": ANSWER, "usageDetails": {"input": 7},
         "parentObservationId": "o1", "level": "DEFAULT"}]},
    {"data": [{"id": "I1", "datasetId": "D", "status": "ACTIVE", "input": QUESTION, "expectedOutput": "45 days"},
              {"datasetItemId": "I1", "traceId": "t1"}]},
]  # fmt: skip
MLFLOW: list[Row] = [
    {"info": {"client_request_id": "C1", "tags": {}, "trace_metadata": {}, "request_preview": QUESTION, "assessments": [
        {"assessment_name": "expected_response", "expectation": {"value": "45 days"}}]},
     "data": {"spans": [
         {"trace_id": "6GGEEs7L0STF988hL4OhjQ==", "span_id": "WF82wYZaVeQ=", "parent_span_id": None, "name": "rag",
          "start_time_unix_nano": 10**18, "end_time_unix_nano": 10**18 + 5, "status": {"code": "STATUS_CODE_OK"},
          "attributes": {"mlflow.spanType": '"RETRIEVER"', "mlflow.spanInputs": json.dumps({"q": QUESTION}),
                         "mlflow.spanOutputs": json.dumps(DOCUMENTS)}}]}},
    {"columns": ["inputs", "targets", "outputs", "retrieved_context"], "data": [[QUESTION, "45 days", ANSWER, ["x"]]]},
]  # fmt: skip
PHOENIX: list[Row] = [
    {"data": [{"name": "step", "context": {"trace_id": TRACE, "span_id": f"{nth:016x}"}, "span_kind": "CHAIN",
               "parent_id": None if nth == 1 else f"{1:016x}", "status_code": "OK", "attributes": held}
              for nth, held in enumerate(ATTRIBUTES, 1)], "next_cursor": None},
    {"context.trace_id": "1" * 32, "context.span_id": "2" * 16, "span_kind": "RETRIEVER", "start_time": 1794821101943,
     "attributes.input.value": QUESTION, "attributes.retrieval.documents": [{"document.content": "x"}]},
    {"dataset_example_id": "E1", "id": "R1", "output": {"answer": ANSWER}, "trace_id": None, "error": None},
    {"data": {"examples": [{"id": "E1", "input": {"question": QUESTION}, "output": {"answer": "45 days"}}]}},
]  # fmt: skip
