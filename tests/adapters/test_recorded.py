"""Spans that real tools recorded, against what their pipelines returned when they were called."""

import gzip
import hashlib
import json
from pathlib import Path

import pytest

import ragworthy as rw
from conftest import run_cli, write_jsonl
from places import ROOT, SHARED
from recording import FILES, Row, imported, rows_of, said

GOLD = ROOT / "src" / "ragworthy" / "examples" / "gold.jsonl"
EXPECTED: dict[str, list[Row]] = json.loads((FILES / "expected.json").read_text(encoding="utf-8"))
WHOLE = [name for name in EXPECTED if "lost" not in name]
SAMPLES = SHARED / "findings" / "samples"


def form_of(name: str) -> str:
    return name.split("_")[0] if name.startswith(("langsmith", "langfuse", "mlflow", "phoenix")) else "otel"


def facts(trace: Row) -> Row:
    """What both ways give, in the shape of expected.json."""
    reply = trace["answer_json"]
    return {
        "qid": trace["qid"],
        "claim": reply["claim"],
        "citations": reply["citations"],
        "ids": trace["retrieved_ids"],
    }


@pytest.mark.parametrize("name", WHOLE)
def test_an_import_gives_what_the_pipeline_returned(name: str, tmp_path: Path) -> None:
    done, traces = imported(form_of(name), FILES / name, "--gold", GOLD, out=tmp_path / "t.jsonl")
    assert done.code == 0, done.err
    by_qid = {trace["qid"]: facts(trace) for trace in traces}
    assert by_qid == {one["qid"]: one for one in EXPECTED[name]}
    digest = hashlib.sha256((FILES / name).read_bytes()).hexdigest()
    for trace in traces:
        assert trace["imported"] | {"at": ""} == {"format": form_of(name), "sha256": digest, "at": ""}
        assert trace["e2e_ms"] >= sum(trace["stage_ms"].values()) > 0


@pytest.mark.parametrize("name", WHOLE)
def test_questions_are_found_by_their_text_alone(name: str, tmp_path: Path) -> None:
    flags = ("--gold", GOLD, "--qid", "input")
    done, traces = imported(form_of(name), FILES / name, *flags, out=tmp_path / "t.jsonl")
    assert done.code == 0, done.err
    assert {trace["qid"] for trace in traces} == {one["qid"] for one in EXPECTED[name]}


def test_both_forms_of_opentelemetry_give_the_same_trace(tmp_path: Path) -> None:
    _, first = imported("otel", FILES / "langchain_otlp.jsonl.gz", out=tmp_path / "a.jsonl")
    _, second = imported("otel", FILES / "langchain_sdk.json.gz", out=tmp_path / "b.jsonl")
    by_qid = {trace["qid"]: trace for trace in first}
    for trace in second:
        other = by_qid[trace["qid"]]
        assert {k: v for k, v in trace.items() if k != "imported"} == {
            k: v for k, v in other.items() if k != "imported"
        }


def test_a_trace_that_builds_an_index_is_counted_and_left_out(tmp_path: Path) -> None:
    done, traces = imported("otel", FILES / "llamaindex_citations_sdk.json.gz", out=tmp_path / "t.jsonl")
    assert len(traces) == 3
    assert "in 4 = written 3 + skipped 1\n" in done.out
    assert "skipped 1: neither retrieval nor a model call in it (building an index?) (trace " in done.out


def test_tokens_and_times_come_along(tmp_path: Path) -> None:
    _, traces = imported("otel", FILES / "haystack_rerank_otlp.jsonl.gz", out=tmp_path / "t.jsonl")
    for trace in traces:
        assert set(trace["stage_ms"]) == {"retrieval", "rerank", "llm"}
        assert trace["usage"]["completion_tokens"] > 0
        assert [one["id"] for one in trace["topk"]] == trace["retrieved_ids"]
    gold = write_jsonl(tmp_path / "g.jsonl", [one for one in rows_of(GOLD) if one["qid"] in {t["qid"] for t in traces}])
    done = run_cli("score", "latency", "--gold", gold, "--runs", tmp_path / "t.jsonl")
    assert "2 runs measured" in done.out


def test_chunks_have_the_ids_of_the_traces(tmp_path: Path) -> None:
    chunks = tmp_path / "c.jsonl"
    _, traces = imported("otel", FILES / "langchain_otlp.jsonl.gz", "--chunks-out", chunks, out=tmp_path / "t.jsonl")
    texts = {one["chunk_id"]: one for one in rows_of(chunks)}
    assert set(texts) == {name for trace in traces for name in trace["retrieved_ids"]}
    corpus = GOLD.parent / "corpus"
    for name, chunk in texts.items():
        source, start = name.split("@")
        page = (corpus / Path(source).name).read_text(encoding="utf-8")
        assert page[int(start) :].startswith(chunk["text"])
        assert chunk["doc_id"] == source


@pytest.mark.parametrize(
    ("name", "loss"),
    [
        ("llamaindex_lost_otlp.jsonl.gz", "37 of its attributes were dropped (OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT)"),
        (
            "llamaindex_lost_sdk.json.gz",
            "8 of at least 40 documents are missing, the first is retrieval.documents.8"
            " (OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT)",
        ),
    ],
)
def test_spans_that_lost_documents_are_refused(name: str, loss: str, tmp_path: Path) -> None:
    path = FILES / name
    done, traces = imported("otel", path, out=tmp_path / "t.jsonl")
    text = gzip.decompress(path.read_bytes()).decode()
    trace = json.loads(text.splitlines()[0])["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["traceId"] if (
        "otlp" in name
    ) else text.split('"trace_id": "0x')[1][:32]  # fmt: skip
    assert done == (2, "", said("RW-A10", f'{path}: trace {trace}: span "BM25Retriever.retrieve": {loss}'))
    assert traces == []


def test_damaged_traces_can_be_left_out_and_are_counted(tmp_path: Path) -> None:
    files = (FILES / "llamaindex_lost_otlp.jsonl.gz", FILES / "llamaindex_otlp.jsonl.gz")
    done, traces = imported("otel", *files, "--skip-damaged", out=tmp_path / "t.jsonl")
    assert done.code == 0
    assert len(traces) == 2
    assert "in 3 = written 2 + skipped 1\n  skipped 1: its spans lost attributes (trace " in done.out


OWN = [
    ("H0", ["hs0", "hs1", "hs3", "hs5", "hs2"], "Chat answer 45 days.", ["hs1"]),
    ("H1", ["hs5", "hs3", "hs2"], "Chat answer 45 days.", ["hs3"]),
    ("H2", ["hs2", "hs1", "hs3", "hs5", "hs0"], "Chat answer 45 days.", ["hs1"]),
]


def short(trace: Row) -> tuple[object, ...]:
    one = facts(trace)
    return one["qid"], one["ids"], one["claim"], one["citations"]


def test_a_guard_that_replaced_the_answer(tmp_path: Path) -> None:
    path = FILES / "haystack_own_generator_sdk.jsonl.gz"
    done, traces = imported("otel", path, out=tmp_path / "t.jsonl")
    assert [short(one) for one in traces] == OWN
    told = "note: in 1 of 3 traces: the pipeline gave back something else than the model said; what the "
    assert f"{told}model said was taken (--answer root for the other)\n" in done.out
    done, traces = imported("otel", path, "--answer", "root", out=tmp_path / "t.jsonl")
    assert [short(one) for one in traces] == [*OWN[:2], ("H2", OWN[2][1], "I refuse.", [])]
    assert f"{told}pipeline gave back was taken (--answer model for the other)\n" in done.out


@pytest.mark.parametrize("flags", [(), ("--answer", "root")])
def test_a_postprocessor_and_a_generator_of_ones_own(flags: tuple[str, ...], tmp_path: Path) -> None:
    _, traces = imported("otel", FILES / "llamaindex_postprocessed_sdk.jsonl.gz", *flags, out=tmp_path / "t.jsonl")
    plain, postprocessed, haystack = (short(one) for one in traces)
    assert (plain[1], plain[3]) == ([f"node-{number}" for number in range(5)], ["node-1"])
    assert (postprocessed[1], postprocessed[3]) == (["node-4", "node-3"], ["node-3"])
    assert haystack == ("H1", ["hs1", "hs3", "hs5", "hs0"], "Two replies.", ["hs1"])


def test_values_that_the_sdk_cut_are_refused(tmp_path: Path) -> None:
    path = FILES / "llamaindex_cut_sdk.jsonl.gz"
    done, traces = imported("otel", path, out=tmp_path / "t.jsonl")
    assert (done.code, done.out, traces) == (2, "", [])
    loss = "the JSON of output.value is cut off after 200 characters (OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT) [RW-A13]\n"
    assert done.err.count(loss) == 3


def test_ids_that_stand_in_the_output_of_a_retriever(tmp_path: Path) -> None:
    _, (trace,) = imported("otel", FILES / "langchain_ids_sdk.jsonl.gz", out=tmp_path / "t.jsonl")
    assert short(trace) == ("L0", ["d4", "d5", "d6", "d7", "d8", "d9"], "It is **45 days**, see.", ["d5", "d4"])


def test_two_commands_from_spans_to_a_verdict(tmp_path: Path) -> None:
    """Evidence texts are bound to what was retrieved, so that nobody has to know ids."""
    by_qid = {one["qid"]: one for one in EXPECTED["langchain_otlp.jsonl.gz"]}
    asked = [
        {key: one[key] for key in ("qid", "question", "answerable")} for one in rows_of(GOLD) if one["qid"] in by_qid
    ]
    for one in asked:
        said_here = by_qid[one["qid"]]
        one["answerable"] = bool(said_here["citations"])
        if one["answerable"]:
            one |= {"gold_evidence": [said_here["claim"]], "gold_claim_substr": [said_here["claim"][:30]]}
    gold = write_jsonl(tmp_path / "g.jsonl", asked)
    flags = ("--gold", gold, "--trace-out", tmp_path / "t.jsonl", "--chunks-out", tmp_path / "c.jsonl")
    done = run_cli("import", "otel", FILES / "langchain_otlp.jsonl.gz", *flags)
    following = done.out.splitlines()[-1].removeprefix("next: ragworthy ").split()
    scored = run_cli(*following, "--refusal", "I don't know based on the provided context.", "--format", "json")
    report = json.loads(scored.out)["suites"]["answers"]
    assert report["counts"] | {"answered": 2, "refused": 1, "missing": 0} == report["counts"]
    assert report["metrics"]["answers.precision"]["value"] == 1.0
    assert report["metrics"]["answers.chr"]["num"] == 2
    assert report["metrics"]["answers.support"]["value"] == 1.0


def test_from_python(tmp_path: Path) -> None:
    found = rw.import_file("otel", FILES / "haystack_otlp.jsonl.gz", gold=str(GOLD))
    assert {one["qid"]: facts(one) for one in found.traces} == {
        one["qid"]: one for one in EXPECTED["haystack_otlp.jsonl.gz"]
    }
    assert found.taken == 2


HASH = "79789684f19a99786c6cf3d09b5418e9e5e46c07fe2e23a41fba247c5e55c1f2"
ANSWER = "Harbor keeps up to 250 noncurrent versions per key; after that the oldest unprotected one is dropped."


@pytest.mark.data("findings/samples")
@pytest.mark.parametrize(
    ("form", "name", "cited"),
    [
        ("otel", "openinference_llamaindex_otlp.jsonl", "sha256:6fd165b306d91f04"),
        ("otel", "openinference_llamaindex_sdk_trace.json", "sha256:6fd165b306d91f04"),
        ("otel", "openinference_haystack_otlp.jsonl", HASH),
        ("otel", "openinference_haystack_sdk_trace.json", HASH),
        ("otel", "openllmetry_langchain_otlp.jsonl", "/srv/app/buckets.md@1279"),
        ("langsmith", "langsmith_runs.jsonl", "/srv/app/buckets.md@1279"),
        ("langsmith", "langchain_run_tree.json", "/srv/app/buckets.md@1279"),
        ("mlflow", "mlflow_trace.json", "buckets-3"),
    ],
)  # fmt: skip
def test_samples_of_other_recorders(form: str, name: str, cited: str, tmp_path: Path) -> None:
    _, traces = imported(form, SAMPLES / name, "--gold", GOLD, out=tmp_path / "t.jsonl")
    (trace,) = traces
    assert trace["qid"] == "H002"
    assert trace["query"] == "How many older versions of one key does Harbor hold on to?"
    assert trace["answer_json"] == {"claim": ANSWER, "citations": [cited]}
    assert cited in trace["retrieved_ids"]
    assert len(trace["retrieved_ids"]) == 5


@pytest.mark.data("findings/samples")
def test_the_sample_of_langfuse_reads_the_same_as_otel(tmp_path: Path) -> None:
    _, first = imported("langfuse", SAMPLES / "langfuse_otlp.jsonl", out=tmp_path / "a.jsonl")
    _, second = imported("otel", SAMPLES / "langfuse_otlp.jsonl", out=tmp_path / "b.jsonl")
    assert first[0] | {"imported": None} == second[0] | {"imported": None}
    assert first[0]["topk"] == [{"id": "buckets-3", "score": 3.2}]
    assert first[0]["usage"] == {"prompt_tokens": 10, "completion_tokens": 5, "model": "m"}
