"""Exports of LangSmith, Langfuse, MLflow and Phoenix in their other shapes: trees, pages, tables, data sets."""

import base64
import gzip
import json
from pathlib import Path

import pytest

from conftest import run_cli, write_jsonl
from recording import FILES, TRACE, Row, imported, rows_of, said

QUESTION = "How long does a name stay blocked?"
ANSWER = "45 days [1]."
START, END = "2026-11-15T19:00:00.000Z", "2026-11-15T19:00:01.500Z"
CLAIM = {"claim": "45 days.", "citations": ["a"]}


def write(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def one(form: str, tmp_path: Path, *files: object) -> Row:
    done, traces = imported(form, *files, out=tmp_path / "t.jsonl")
    assert done.code == 0, done.err
    (trace,) = traces
    return trace


def gold_of(form: str, tmp_path: Path, *files: object) -> tuple[str, list[Row]]:
    done = run_cli("import", form, *files, "--gold-out", tmp_path / "g.jsonl")
    assert done.code == 0, done.err
    rows = rows_of(tmp_path / "g.jsonl")
    return done.out, [{key: value for key, value in row.items() if key != "imported"} for row in rows]


# LangSmith

ROOT_RUN: Row = {
    "id": "r1", "trace_id": "r1", "run_type": "chain", "name": "rag", "start_time": START, "end_time": END,
    "inputs": {"question": QUESTION}, "outputs": {"answer": ANSWER}, "extra": {"metadata": {}},
    "reference_example_id": "E1",
}  # fmt: skip
RETRIEVER_RUN: Row = {
    "id": "r2", "trace_id": "r1", "parent_run_id": "r1", "run_type": "retriever", "name": "search",
    "start_time": START, "end_time": END, "inputs": {"query": QUESTION},
    "outputs": {"documents": [{"page_content": "A", "metadata": {"chunk_id": "a"}, "type": "Document"}]},
}  # fmt: skip
MODEL_RUN: Row = {
    "id": "r3", "trace_id": "r1", "parent_run_id": "r1", "run_type": "llm", "name": "model", "start_time": START,
    "end_time": END, "inputs": {"messages": []}, "prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10,
    "outputs": {"choices": [{"message": {"role": "assistant", "content": ANSWER}}]},
    "extra": {"metadata": {"ls_model_name": "m"}},
}  # fmt: skip
EXAMPLE = {"id": "E1", "dataset_id": "D", "inputs": {"question": QUESTION}, "outputs": {"answer": "45 days"},
           "metadata": {"topic": "buckets"}}  # fmt: skip


def test_runs_as_they_are_listed(tmp_path: Path) -> None:
    runs = write(tmp_path / "r.json", [MODEL_RUN, RETRIEVER_RUN, ROOT_RUN])
    trace = one("langsmith", tmp_path, runs)
    del trace["imported"]
    assert trace == {
        "qid": "E1", "query": QUESTION, "retrieved_ids": ["a"], "answer_json": CLAIM, "e2e_ms": 1500.0,
        "stage_ms": {"retrieval": 1500.0, "llm": 1500.0},
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10, "model": "m"},
    }  # fmt: skip


def test_a_tree_of_runs(tmp_path: Path) -> None:
    children = [
        {k: v for k, v in run.items() if k not in ("trace_id", "parent_run_id")} for run in (RETRIEVER_RUN, MODEL_RUN)
    ]
    tree = {key: value for key, value in ROOT_RUN.items() if key != "trace_id"} | {"child_runs": children}
    assert one("langsmith", tmp_path, write(tmp_path / "r.json", tree))["answer_json"] == CLAIM


def test_runs_that_were_posted_in_two_pieces(tmp_path: Path) -> None:
    late = ("end_time", "outputs")
    batches = [
        {"post": [{k: v for k, v in run.items() if k not in late} for run in (ROOT_RUN, RETRIEVER_RUN, MODEL_RUN)]},
        {"patch": [{k: run[k] for k in ("id", "trace_id", *late)} for run in (RETRIEVER_RUN, MODEL_RUN, ROOT_RUN)]},
    ]
    assert one("langsmith", tmp_path, write_jsonl(tmp_path / "r.jsonl", batches))["answer_json"] == CLAIM


def test_a_run_that_never_ended_is_there_all_the_same(tmp_path: Path) -> None:
    begun = {key: value for key, value in ROOT_RUN.items() if key not in ("end_time", "outputs")}
    trace = one("langsmith", tmp_path, write(tmp_path / "r.json", [begun, RETRIEVER_RUN]))
    assert "answer_json" not in trace
    assert "e2e_ms" not in trace


def test_a_run_that_failed(tmp_path: Path) -> None:
    error = "RuntimeError('model is down')Traceback (most recent call last):\n  File x"
    trace = one("langsmith", tmp_path, write(tmp_path / "r.json", [ROOT_RUN | {"error": error}, RETRIEVER_RUN]))
    assert trace["error"] == "RuntimeError('model is down')"


def test_examples_are_gold_and_runs_know_them(tmp_path: Path) -> None:
    pair = {"run": ROOT_RUN | {"child_runs": [RETRIEVER_RUN, MODEL_RUN]}, "example": EXAMPLE, "evaluation_results": {}}
    files = write(tmp_path / "r.json", [pair])
    told, gold = gold_of("langsmith", tmp_path, files)
    assert gold == [{"qid": "E1", "question": QUESTION, "answerable": True, "gold_claim_substr": ["45 days"],
                     "gold_citations": [], "topic": "buckets"}]  # fmt: skip
    assert "in 2 = written 2 + skipped 0\n" in told
    assert "note: 1 trace found and not written: add --trace-out FILE\n" in told
    assert one("langsmith", tmp_path, files)["qid"] == "E1"


def test_an_example_with_a_sentence_contexts_and_no_question(tmp_path: Path) -> None:
    sentence = "When a bucket is gone for good, its name stays blocked for 45 days."
    rows = [
        EXAMPLE | {"outputs": {"answer": sentence, "contexts": ["Names stay blocked."]}},
        {"id": "E2", "inputs": {"k": 5}, "outputs": {"answer": "x"}},
    ]
    told, gold = gold_of("langsmith", tmp_path, write_jsonl(tmp_path / "r.jsonl", rows))
    assert gold[0]["gold_reference"] == sentence
    assert gold[0]["gold_evidence"] == ["Names stay blocked."]
    assert "in 2 = written 1 + skipped 1\n  skipped 1: no question (example E2)\n" in told


# Langfuse

OBSERVATIONS: list[Row] = [
    {"id": "o1", "traceId": "t1", "type": "CHAIN", "name": "rag", "startTime": START, "endTime": END,
     "input": {"question": QUESTION}, "output": {"answer": ANSWER}, "parentObservationId": None, "level": "DEFAULT"},
    {"id": "o2", "traceId": "t1", "type": "RETRIEVER", "name": "search", "startTime": START, "endTime": END,
     "input": QUESTION, "output": [{"id": "a", "content": "A", "score": 0.5}], "parentObservationId": "o1"},
    {"id": "o3", "traceId": "t1", "type": "GENERATION", "name": "model", "startTime": START, "endTime": END,
     "input": [{"role": "user", "content": "q"}], "output": {"role": "assistant", "content": ANSWER},
     "parentObservationId": "o1", "model": "m", "usageDetails": {"input": 7, "output": 3, "total": 10}},
]  # fmt: skip
ITEM: Row = {"id": "I1", "status": "ACTIVE", "input": {"question": QUESTION}, "expectedOutput": "45 days",
             "metadata": {"topic": "buckets"}, "datasetId": "D", "datasetName": "harbor"}  # fmt: skip


def test_a_page_of_observations(tmp_path: Path) -> None:
    trace = one("langfuse", tmp_path, write(tmp_path / "o.json", {"data": OBSERVATIONS, "meta": {"page": 1}}))
    assert trace["answer_json"] == CLAIM
    assert trace["topk"] == [{"id": "a", "score": 0.5}]
    assert trace["usage"] == {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10, "model": "m"}


def test_an_export_with_other_spellings_and_text_inside_text(tmp_path: Path) -> None:
    spelt = {"traceId": "trace_id", "parentObservationId": "parent_observation_id", "startTime": "start_time",
             "endTime": "end_time", "usageDetails": "usage_details"}  # fmt: skip
    rows = [{spelt.get(key, key): value for key, value in row.items()} for row in OBSERVATIONS]
    for row in rows:
        row["input"], row["output"] = json.dumps(row["input"]), json.dumps(row["output"])
    assert one("langfuse", tmp_path, write_jsonl(tmp_path / "o.jsonl", rows))["answer_json"] == CLAIM


def test_a_trace_with_its_observations(tmp_path: Path) -> None:
    whole: Row = {"id": "t1", "name": "rag", "timestamp": START, "input": {"question": QUESTION}, "output": ANSWER,
             "metadata": {"qid": "Q7"}, "observations": [dict(row) for row in OBSERVATIONS[1:]]}  # fmt: skip
    for row in whole["observations"]:
        row.pop("parentObservationId", None)
    trace = one("langfuse", tmp_path, write(tmp_path / "t.json", whole))
    assert trace["qid"] == "Q7"
    assert trace["answer_json"] == CLAIM
    assert trace["e2e_ms"] == 1500.0


def test_a_trace_alone_is_a_question_and_an_answer(tmp_path: Path) -> None:
    trace = one("langfuse", tmp_path, write(tmp_path / "t.json", {"id": "t1", "input": QUESTION, "output": "45 days."}))
    assert (trace["query"], trace["answer_json"]) == (QUESTION, {"claim": "45 days.", "citations": []})
    assert "retrieved_ids" not in trace


def test_an_observation_that_failed(tmp_path: Path) -> None:
    failed = OBSERVATIONS[0] | {"level": "ERROR", "statusMessage": "model is down", "output": None}
    assert one("langfuse", tmp_path, write(tmp_path / "o.json", [failed, OBSERVATIONS[1]]))["error"] == "model is down"


def test_items_are_gold_and_run_items_join_them(tmp_path: Path) -> None:
    archived = ITEM | {"id": "I2", "status": "ARCHIVED"}
    join = {"id": "x", "datasetRunId": "R", "datasetItemId": "I1", "traceId": "t1", "observationId": None}
    files = [write(tmp_path / "i.json", {"data": [ITEM, archived]}), write(tmp_path / "j.json", {"data": [join]}),
             write(tmp_path / "o.json", OBSERVATIONS)]  # fmt: skip
    told, gold = gold_of("langfuse", tmp_path, *files)
    assert [(row["qid"], row["question"], row["gold_claim_substr"], row["topic"]) for row in gold] == [
        ("I1", QUESTION, ["45 days"], "buckets")
    ]
    assert "in 3 = written 2 + skipped 1\n  skipped 1: archived (example I2)\n" in told
    assert one("langfuse", tmp_path, *files)["qid"] == "I1"


def test_items_of_an_experiment(tmp_path: Path) -> None:
    item = {"id": "x", "traceId": "t1", "experimentId": "X", "experimentItemId": "I1", "input": {"question": QUESTION},
            "output": ANSWER, "expectedOutput": {"answer": "45 days"}}  # fmt: skip
    files = [write(tmp_path / "e.json", {"data": [item]}), write(tmp_path / "o.json", OBSERVATIONS)]
    _, gold = gold_of("langfuse", tmp_path, *files)
    assert [(row["qid"], row["gold_claim_substr"]) for row in gold] == [("I1", ["45 days"])]
    assert one("langfuse", tmp_path, *files)["qid"] == "I1"


# MLflow


def mlflow_span(nth: int, parent: int, kind: str, inputs: object, outputs: object) -> Row:
    def name(number: int) -> str:
        return base64.b64encode(number.to_bytes(8, "big")).decode()

    return {
        "trace_id": base64.b64encode(bytes.fromhex(TRACE)).decode(), "span_id": name(nth),
        "parent_span_id": name(parent) if parent else None, "name": kind.lower(), "start_time_unix_nano": 10**18 + nth,
        "end_time_unix_nano": 10**18 + 10**9 - nth, "events": [], "status": {"code": "STATUS_CODE_OK", "message": ""},
        "attributes": {"mlflow.spanType": json.dumps(kind), "mlflow.spanInputs": json.dumps(inputs),
                       "mlflow.spanOutputs": json.dumps(outputs)},
    }  # fmt: skip


MLFLOW_SPANS = [
    mlflow_span(1, 0, "CHAIN", {"question": QUESTION}, {"answer": ANSWER}),
    mlflow_span(
        2, 1, "RETRIEVER", {"q": QUESTION}, [{"page_content": "A", "metadata": {"doc_uri": "x.md"}, "id": "a"}]
    ),
    mlflow_span(
        3, 1, "CHAT_MODEL", {"messages": []}, {"choices": [{"message": {"role": "assistant", "content": ANSWER}}]}
    ),
]
INFO: Row = {"trace_id": f"tr-{TRACE}", "client_request_id": "C1", "state": "OK", "tags": {}, "trace_metadata": {
    "mlflow.traceInputs": json.dumps({"question": QUESTION})}}  # fmt: skip


def test_traces_of_the_third_schema_with_expectations(tmp_path: Path) -> None:
    facts = {"assessment_name": "expected_facts", "expectation": {"value": ["45 days", "blocked"]}}
    context = {
        "assessment_name": "expected_retrieved_context",
        "expectation": {
            "serialized_value": {
                "serialization_format": "JSON_FORMAT",
                "value": '[{"doc_uri": "x.md", "content": "A"}]',
            }
        },
    }
    judged = {"assessment_name": "relevance", "feedback": {"value": "yes"}}
    info = INFO | {"assessments": [facts, context, judged]}
    path = write(tmp_path / "m.json", {"info": info, "data": {"spans": MLFLOW_SPANS}})
    told, gold = gold_of("mlflow", tmp_path, path)
    assert gold == [{"qid": "C1", "question": QUESTION, "answerable": True, "gold_claim_substr": ["45 days", "blocked"],
                     "gold_citations": [], "gold_evidence": ["A"]}]  # fmt: skip
    trace = one("mlflow", tmp_path, path)
    assert (trace["qid"], trace["answer_json"], trace["retrieved_ids"]) == ("C1", CLAIM, ["a"])
    assert "in 2 = written 2 + skipped 0\n" in told


def test_traces_of_the_second_schema(tmp_path: Path) -> None:
    spans = []
    for span in MLFLOW_SPANS:
        old = {key: span[key] for key in ("name", "attributes", "events")}
        ids = {key: f"0x{base64.b64decode(span[key]).hex()}" for key in ("trace_id", "span_id")}
        parent = span["parent_span_id"]
        spans.append(
            old
            | {
                "context": ids,
                "parent_id": f"0x{base64.b64decode(parent).hex()}" if parent else None,
                "status_code": "OK",
                "start_time": span["start_time_unix_nano"],
                "end_time": span["end_time_unix_nano"],
                "status_message": "",
            }
        )
    info = {"request_id": TRACE, "status": "OK", "request_metadata": {}, "tags": {"qid": "Q7"}}
    trace = one("mlflow", tmp_path, write(tmp_path / "m.json", {"info": info, "data": {"spans": spans}}))
    assert (trace["qid"], trace["answer_json"]) == ("Q7", CLAIM)
    assert trace["e2e_ms"] == pytest.approx(1000, abs=0.001)


def test_an_evaluation_table(tmp_path: Path) -> None:
    table = {
        "columns": ["inputs", "targets", "outputs", "retrieved_context", "latency"],
        "data": [[QUESTION, "45 days", ANSWER, [{"content": "A", "id": "a"}], 0.1], ["", "x", "y", [], 0.1]],
    }
    path = write(tmp_path / "m.json", table)
    told, gold = gold_of("mlflow", tmp_path, path)
    assert gold == [{"qid": "Q001", "question": QUESTION, "answerable": True, "gold_claim_substr": ["45 days"],
                     "gold_citations": []}]  # fmt: skip
    assert "in 2 = written 1 + skipped 1\n" in told
    trace = one("mlflow", tmp_path, path)
    assert (trace["qid"], trace["answer_json"], trace["retrieved_ids"]) == ("Q001", CLAIM, ["a"])


# Phoenix


def test_what_phoenix_keeps_of_a_span_that_lost_documents(tmp_path: Path) -> None:
    path = FILES / "phoenix_lost.json.gz"
    trace = json.loads(gzip.decompress(path.read_bytes()))["data"][0]["context"]["trace_id"]
    done, traces = imported("phoenix", path, out=tmp_path / "t.jsonl")
    message = (
        f'{path}: trace {trace}: span "BM25Retriever": 63 documents and no input: '
        "the oldest attributes were dropped (OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT)"
    )
    assert done == (2, "", said("RW-A10", message))
    assert traces == []


def test_examples_and_runs_of_an_experiment(tmp_path: Path) -> None:
    told, gold = gold_of("phoenix", tmp_path, FILES / "phoenix_examples.json")
    assert "in 5 = written 5 + skipped 0\n" in told
    assert [row["answerable"] for row in gold] == [True, True, False, True, True]
    assert gold[0]["gold_claim_substr"] == ["45 days"]
    for files in (["phoenix_examples.json", "phoenix_runs.json"], ["phoenix_experiment.json"]):
        done, traces = imported("phoenix", *(FILES / name for name in files), out=tmp_path / "t.jsonl")
        assert done.code == 0, done.err
        assert {one["qid"]: one["query"] for one in traces} == {row["qid"]: row["question"] for row in gold}
        assert {one["answer_json"]["claim"] for one in traces} == {"45 days"}


# what does not fit

WRONG = [
    ("langsmith", {"qid": "Q1"}, "expected a run (id, run_type) or an example (id, inputs, outputs), "
     "got an object with qid"),
    ("langsmith", {"post": [7]}, "expected an object, got 7"),
    ("langfuse", {"qid": "Q1"},
     "expected an observation, a trace, a data set item or OTLP JSON of Langfuse, got an object with qid"),
    ("langfuse", {"data": [7]},
     "expected an observation, a trace, a data set item or OTLP JSON of Langfuse, got an object with nothing"),
    ("mlflow", {"qid": "Q1"}, "expected a trace (info and data, or spans), or a table (columns and data), "
     "got an object with qid"),
    ("mlflow", {"spans": [7]}, "spans: expected an object, got 7"),
    ("mlflow", {"spans": [{}]}, "trace_id: expected an id of 32 hex digits (or base64), got nothing"),
    ("mlflow", {"columns": ["a"], "data": []}, "columns: expected a column inputs, request or question, got a"),
    ("phoenix", {"qid": "Q1"}, "expected a span (context or context.trace_id), an example or a run of an experiment, "
     "got an object with qid"),
]  # fmt: skip


@pytest.mark.parametrize(("form", "value", "message"), WRONG)
def test_records_that_are_none_of_the_tool(form: str, value: Row, message: str, tmp_path: Path) -> None:
    path = write(tmp_path / "x.json", value)
    done, _ = imported(form, path, out=tmp_path / "t.jsonl")
    assert done == (2, "", said("RW-A12", f"{path}:1: {message}"))


HOSTILE: list[object] = [
    [],
    [{}],
    {"data": {}},
    {"id": 7, "run_type": []},
    {"info": [], "data": {"spans": {}}},
    {"context": {}, "attributes": 7},
    {"id": {}, "traceId": [], "input": {"a": [[]]}},
    {"columns": [1], "data": [7]},
    {"id": "x", "run_type": "llm", "extra": 7, "outputs": 3, "child_runs": [7], "start_time": [], "error": {"a": 1}},
]


@pytest.mark.parametrize("form", ["langsmith", "langfuse", "mlflow", "phoenix"])
@pytest.mark.parametrize("value", HOSTILE)
def test_wrong_types_end_in_an_orderly_way(form: str, value: object, tmp_path: Path) -> None:
    done, _ = imported(form, write(tmp_path / "x.json", value), out=tmp_path / "t.jsonl")
    assert done.code == 2
    assert "[RW-X70]" not in done.err
