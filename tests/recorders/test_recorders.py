"""The recorders where neither LangChain nor OpenTelemetry is installed: what they call is known by its shape.

With the real ones: tests/frameworks/inside.
"""

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

import ragworthy as rw
from ragworthy.recorders.objects import as_data
from recorder_parts import Document, Message, result, span

Row = dict[str, Any]


def rows(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def run(recorder: rw.LangChainRecorder, *answers: str, end: bool = True, **metadata: object) -> str:
    """What LangChain calls for a chain that retrieves and asks a model, once for each answer."""
    root = uuid4()
    documents = [Document("Names.", id="a"), Document("45 days.", id="b")]
    recorder.on_chain_start(None, {"input": "How long?"}, run_id=root, metadata=metadata, name="rag")
    inner = {"parent_run_id": root, "metadata": metadata}
    found = uuid4()
    recorder.on_retriever_start(None, "How long?", run_id=found, **inner)
    recorder.on_retriever_end(documents, run_id=found, parent_run_id=root)
    for answer in answers:
        call = uuid4()
        recorder.on_chat_model_start(None, [[Message("…", type="human")]], run_id=call, **inner)
        recorder.on_llm_end(
            result(answer, input_tokens=10, output_tokens=2, total_tokens=12), run_id=call, parent_run_id=root
        )
    if end:
        recorder.on_chain_end({"answer": answers[-1]}, run_id=root)
    return str(root)


def test_usage_is_summed_and_the_last_answer_counts(tmp_path: Path) -> None:
    with rw.LangChainRecorder(tmp_path / "t.jsonl") as recorder:
        run(recorder, "a draft", "45 days [2].", qid="Q1")
    (row,) = rows(tmp_path / "t.jsonl")
    assert row["usage"] == {"prompt_tokens": 20, "completion_tokens": 4, "total_tokens": 24}
    assert row["answer_json"] == {"claim": "45 days.", "citations": ["b"]}
    assert row["retrieved_ids"] == ["a", "b"]


def test_traces_are_scored_as_they_are(tmp_path: Path) -> None:
    with rw.LangChainRecorder(tmp_path / "t.jsonl") as recorder:
        run(recorder, "45 days [2].", qid="Q1")
    item = {"qid": "Q1", "question": "How long?", "answerable": True, "gold_claim_substr": ["45 days"]}
    scored = rw.score("answers", gold=[item | {"gold_citations": ["b"]}], traces=tmp_path / "t.jsonl")
    assert scored.metrics["answers.precision"].value == 1


def test_a_run_without_a_qid_is_named_by_its_run(tmp_path: Path) -> None:
    recorder = rw.LangChainRecorder(tmp_path / "t.jsonl")
    with pytest.warns(RuntimeWarning) as warned:
        root = run(recorder, "45 days [2].")
    assert [str(one.message) for one in warned] == [
        f"ragworthy: no qid: the id of the run is taken ({root}); attach one, or give gold= [RW-J20]"
    ]
    assert rows(tmp_path / "t.jsonl")[0]["qid"] == root


def test_what_cannot_be_read_is_an_error_of_its_question(tmp_path: Path) -> None:
    class Broken:
        @property
        def page_content(self) -> str:
            raise OSError("gone")

    recorder = rw.LangChainRecorder(tmp_path / "t.jsonl")
    root, found = uuid4(), uuid4()
    recorder.on_chain_start(None, {"input": "How long?"}, run_id=root, metadata={"qid": "Q1"})
    recorder.on_retriever_start(None, "How long?", run_id=found, parent_run_id=root)
    recorder.on_retriever_end([Broken()], run_id=found, parent_run_id=root)
    with pytest.warns(RuntimeWarning) as warned:
        recorder.on_chain_end({"answer": "45 days."}, run_id=root)
        recorder.on_chain_end({"answer": "45 days."})  # an event that is none
    assert rows(tmp_path / "t.jsonl")[0]["error"] == "recorder: OSError: gone [RW-J21]"
    assert [str(one.message) for one in warned] == [
        "ragworthy: Q1 is an error in the traces: recorder: OSError: gone [RW-J21]",
        "ragworthy: a step was not recorded (KeyError: 'run_id') [RW-J21]",
    ]
    assert recorder.summary() == "finished 1 = written 1 (1 errors) + skipped 0 + lost 0; 1 failures"


def test_a_run_that_does_not_end_is_an_error_of_its_question(tmp_path: Path) -> None:
    recorder = rw.LangChainRecorder(tmp_path / "t.jsonl")
    run(recorder, "45 days.", end=False, qid="Q1")
    with pytest.warns(RuntimeWarning) as warned:
        recorder.close()
    why = "the recorder was closed before the run ended"
    assert [str(one.message) for one in warned] == [f"ragworthy: a trace did not end ({why}): Q1 [RW-J22]"]
    assert rows(tmp_path / "t.jsonl")[0]["error"] == f"unfinished: {why} [RW-J22]"


def test_a_step_that_comes_too_late_is_counted(tmp_path: Path) -> None:
    recorder = rw.LangChainRecorder(tmp_path / "t.jsonl")
    run(recorder, "45 days [2].", qid="Q1")
    root = list(recorder._done)[-1]
    with pytest.warns(RuntimeWarning) as warned:
        recorder.on_llm_start(None, ["…"], run_id=uuid4(), parent_run_id=root, name="audit")
    assert [str(one.message) for one in warned] == [
        'ragworthy: a step began or ended after its trace was written and is not in it: "audit" [RW-J22]'
    ]
    assert len(rows(tmp_path / "t.jsonl")) == 1


def test_errors_hide_secrets_and_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    with rw.LangChainRecorder(tmp_path / "t.jsonl") as recorder:
        root = uuid4()
        recorder.on_chain_start(None, {"input": "How long?"}, run_id=root, metadata={"qid": "Q1"})
        recorder.on_chain_error(ValueError("key sk-very-secret " + "x" * 1000), run_id=root)
    (row,) = rows(tmp_path / "t.jsonl")
    assert row["error"].startswith("raised: ValueError: key *** xxx")
    assert len(row["error"]) == 400


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"doc_id": "page"}, 'doc_id: expected id, content or metadata:KEY,KEY, got "page"'),
        ({"doc_id": [""]}, "doc_id: expected metadata keys, got"),
        ({"marker": "("}, 'marker: expected none or a regular expression, got "("'),
        ({"answer": "best"}, 'answer: expected "model" or "root", got "best"'),
    ],
)
@pytest.mark.parametrize("kind", [rw.LangChainRecorder, rw.SpanRecorder])
def test_wrong_options_are_said_at_once(kind: Any, options: Row, message: str, tmp_path: Path) -> None:
    with pytest.raises(rw.RagworthyError) as raised:
        kind(tmp_path / "t.jsonl", **options)
    assert message in str(raised.value)


def test_markers_and_what_the_whole_chain_gave_back(tmp_path: Path) -> None:
    with rw.LangChainRecorder(tmp_path / "t.jsonl", marker="none", answer="root") as recorder:
        run(recorder, "45 days [2].", qid="Q1")
    assert rows(tmp_path / "t.jsonl")[0]["answer_json"] == {"claim": "45 days [2].", "citations": []}


def test_a_recorder_appends_or_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    for qid, options in (("Q1", {}), ("Q2", {}), ("Q3", {"append": False, "chunks": tmp_path / "c.jsonl"})):
        before = len(rows(path)) if path.exists() else 0
        assert before == {"Q1": 0, "Q2": 1, "Q3": 2}[qid]
        with rw.LangChainRecorder(path, **options) as recorder:  # type: ignore[arg-type]
            run(recorder, "45 days [2].", qid=qid)
    assert [row["qid"] for row in rows(path)] == ["Q3"]
    assert [row["chunk_id"] for row in rows(tmp_path / "c.jsonl")] == ["a", "b"]
    (tmp_path / "folder").mkdir()
    with pytest.raises(rw.RagworthyError, match=r"folder: cannot be removed: .* \[RW-F14\]"):
        rw.SpanRecorder(tmp_path / "folder", append=False)


def test_spans_are_known_by_their_shape(tmp_path: Path) -> None:
    recorder = rw.SpanRecorder(tmp_path / "t.jsonl", gold=[{"qid": "Q1", "question": "How long?"}])
    documents = {"retrieval__documents": json.dumps([{"id": "a"}, {"id": "b"}])}
    spans = [
        span(1, 0, "rag", openinference__span__kind="CHAIN", input__value="How long?"),
        span(2, 1, "search", openinference__span__kind="RETRIEVER", **documents),
        span(3, 1, "model", openinference__span__kind="LLM", llm__output_messages__0__message__content="45 days [2]."),
    ]
    for one in spans:
        recorder.on_start(one)
        recorder._on_ending(one)
    for one in reversed(spans):
        recorder.on_end(one)
    (row,) = rows(tmp_path / "t.jsonl")
    assert (row["qid"], row["retrieved_ids"]) == ("Q1", ["a", "b"])
    assert row["answer_json"] == {"claim": "45 days.", "citations": ["b"]}


def test_objects_as_data() -> None:
    class Number:
        def tolist(self) -> float:
            return 0.5

    deep: list[Any] = []
    for _ in range(100):
        deep = [deep]
    given = {"messages": [Message("How long?", type="human")], "documents": (Document("A", {"n": Number()}, "a"),)}
    assert as_data(given) == {
        "messages": [{"role": "human", "content": "How long?"}],
        "documents": [{"page_content": "A", "metadata": {"n": 0.5}, "id": "a"}],
    }
    assert json.dumps(as_data(deep)).count("[") == 12
    assert as_data({1: object(), "f": print}) == {"1": None, "f": None}


def retrieve(recorder: rw.LangChainRecorder, qid: str, *documents: Document) -> None:
    root, found = uuid4(), uuid4()
    recorder.on_chain_start(None, {"input": "How long?"}, run_id=root, metadata={"qid": qid})
    recorder.on_retriever_start(None, "How long?", run_id=found, parent_run_id=root)
    recorder.on_retriever_end(list(documents), run_id=found, parent_run_id=root)
    recorder.on_chain_end({"answer": "45 days [1]."}, run_id=root)


def test_an_id_that_names_several_texts_is_said_and_nothing_is_scored_with_it(tmp_path: Path) -> None:
    place = {"source": "a.pdf", "start_index": 0}  # every page begins with it, and none says which it is
    with rw.LangChainRecorder(tmp_path / "t.jsonl") as recorder, pytest.warns(RuntimeWarning) as warned:
        retrieve(recorder, "Q1", Document("45 days.", place))
        retrieve(recorder, "Q2", Document("Imprint.", place))
    assert [str(one.message) for one in warned] == [
        'ragworthy: an id names several texts (a.pdf@0), and a score is INVALID: doc_id="content"'
    ]
    assert recorder.summary().endswith('; 1 ids name several texts (a.pdf@0): doc_id="content"')
    assert [one.get("ambiguous_ids") for one in rows(tmp_path / "t.jsonl")] == [None, ["a.pdf@0"]]
    gold = [
        {"qid": qid, "question": "How long?", "answerable": True, "gold_claim_substr": ["45 days"]}
        | {"gold_citations": ["a.pdf@0"]}
        for qid in ("Q1", "Q2")
    ]
    scored = rw.score("answers", gold=gold, traces=tmp_path / "t.jsonl", gates={"answers.precision": 0.5})
    assert scored.verdict == "INVALID"
    told = "1 id names several texts (a.pdf@0): make the traces again with --doc-id content"
    assert told in scored.text()


def test_texts_of_one_document_under_its_id_are_no_clash_where_a_rule_says_so(tmp_path: Path) -> None:
    with rw.LangChainRecorder(tmp_path / "t.jsonl", doc_id="metadata:source") as recorder:
        retrieve(recorder, "Q1", Document("45 days.", {"source": "a.pdf", "page": 1}))
        retrieve(recorder, "Q2", Document("Imprint.", {"source": "a.pdf", "page": 2}))
    assert [one.get("ambiguous_ids") for one in rows(tmp_path / "t.jsonl")] == [None, None]


def test_recorded_chunks_say_that_they_are_what_was_retrieved(tmp_path: Path) -> None:
    with rw.LangChainRecorder(tmp_path / "t.jsonl", chunks=tmp_path / "c.jsonl") as recorder:
        run(recorder, "45 days [2].", qid="Q1")
    assert [one["attrs"] for one in rows(tmp_path / "c.jsonl")] == [{"retrieved": True}] * 2
    item = {"qid": "Q1", "question": "How long?", "answerable": True, "gold_claim_substr": ["45 days"]}
    scored = rw.score(
        "answers",
        gold=[item | {"gold_evidence": ["A text that nobody found."]}],
        traces=tmp_path / "t.jsonl",
        corpus=tmp_path / "c.jsonl",
        gates={"answers.hit@4": 0.5},
        defaults=False,
    )
    assert scored.verdict != "INVALID"  # it was not found, which is a matter of retrieval
    assert scored.metrics["answers.hit@4"].value == 0
