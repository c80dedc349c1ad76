"""The LangChain callback in a real LangChain: shapes of chains, errors, what it survives."""

import asyncio
import json
import os
import subprocess
import sys
import textwrap
import threading
import warnings
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.language_models import FakeListChatModel, FakeListLLM
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnablePassthrough, chain

import ragworthy as rw

Row = dict[str, Any]


class Found(BaseRetriever):
    texts: list[str]

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        if "no index" in query:
            raise ConnectionError("index is away")
        return [Document(text, metadata={"source": f"{text[0].lower()}.md", "start_index": 0}) for text in self.texts]


class State(TypedDict):
    question: str
    context: list[Document]
    answer: str


class Backwards(BaseDocumentCompressor):
    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> list[Document]:
        return list(reversed(documents))[:2]


TEXTS = ["A. Names.", "B. 45 days.", "C. Buckets."]
PROMPT = ChatPromptTemplate.from_template("{context} {input}")


def rag(retriever: BaseRetriever | None = None, said: str = "45 days [2].") -> Any:
    found = (lambda row: row["input"]) | (retriever or Found(texts=TEXTS))
    return RunnablePassthrough.assign(context=found) | PROMPT | FakeListChatModel(responses=[said]) | StrOutputParser()


def rows(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def told(recorder: rw.LangChainRecorder, qid: object = "Q1") -> Any:
    return {"callbacks": [recorder], "metadata": {"qid": qid}}


def test_it_is_a_handler_of_langchain_and_of_ours(tmp_path: Path) -> None:
    recorder = rw.LangChainRecorder(tmp_path / "t.jsonl")
    assert isinstance(recorder, BaseCallbackHandler)
    assert isinstance(recorder, rw.LangChainRecorder)
    assert type(recorder) is type(rw.LangChainRecorder(tmp_path / "u.jsonl"))
    assert not (tmp_path / "t.jsonl").exists()


def test_a_trace_says_what_happened(tmp_path: Path) -> None:
    with rw.LangChainRecorder(tmp_path / "t.jsonl", chunks=tmp_path / "c.jsonl") as recorder:
        assert rag().invoke({"input": "How long?"}, config=told(recorder)) == "45 days [2]."
    (row,) = rows(tmp_path / "t.jsonl")
    assert (row["qid"], row["query"]) == ("Q1", "How long?")
    assert row["retrieved_ids"] == ["a.md@0", "b.md@0", "c.md@0"]
    assert row["answer_json"] == {"claim": "45 days.", "citations": ["b.md@0"]}
    assert set(row["stage_ms"]) == {"retrieval", "llm"}
    assert 0 <= sum(row["stage_ms"].values()) <= row["e2e_ms"]
    assert row["recorded"]["by"] == "langchain"
    assert rows(tmp_path / "c.jsonl")[1] == {
        "chunk_id": "b.md@0", "text": "B. 45 days.", "doc_id": "b.md", "attrs": {"retrieved": True},
    }  # fmt: skip
    assert recorder.summary() == "finished 1 = written 1 (0 errors) + skipped 0 + lost 0"


@pytest.mark.parametrize(
    ("rule", "ids"),
    [
        (("source",), ["a.md", "b.md", "c.md"]),
        ("metadata:start_index,source", ["0@a.md", "0@b.md", "0@c.md"]),
        (lambda found: found.page_content[:1], ["A", "B", "C"]),
    ],
)
def test_ids_are_made_as_rw_reply_makes_them(rule: Any, ids: list[str], tmp_path: Path) -> None:
    with rw.LangChainRecorder(tmp_path / "t.jsonl", doc_id=rule) as recorder:
        rag().invoke({"input": "How long?"}, config=told(recorder))
    (row,) = rows(tmp_path / "t.jsonl")
    assert row["retrieved_ids"] == ids
    assert row["answer_json"]["citations"] == [ids[1]]
    documents = Found(texts=TEXTS).invoke("q")
    assert rw.reply("45 days [2].", documents, doc_id=rule)["retrieved_ids"] == ids


def test_a_compressor_wins_over_what_it_compressed(tmp_path: Path) -> None:
    retriever = ContextualCompressionRetriever(base_compressor=Backwards(), base_retriever=Found(texts=TEXTS))
    with rw.LangChainRecorder(tmp_path / "t.jsonl") as recorder:
        rag(retriever).invoke({"input": "How long?"}, config=told(recorder))
    (row,) = rows(tmp_path / "t.jsonl")
    assert row["retrieved_ids"] == ["c.md@0", "b.md@0"]
    assert row["answer_json"]["citations"] == ["b.md@0"]


class Rewriting(BaseRetriever):
    """Asks a model for a better query, as MultiQueryRetriever does."""

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        model = FakeListChatModel(responses=["days of blocking [3]"])
        better = model.invoke(query, config={"callbacks": run_manager.get_child()})
        return Found(texts=TEXTS).invoke(better.text, config={"callbacks": run_manager.get_child()})[:1]


def test_a_model_inside_of_retrieval_gives_no_answer(tmp_path: Path) -> None:
    with rw.LangChainRecorder(tmp_path / "t.jsonl") as recorder:
        rag(Rewriting(), "Yes [1].").invoke({"input": "How long?"}, config=told(recorder))
    (row,) = rows(tmp_path / "t.jsonl")
    assert row["retrieved_ids"] == ["a.md@0"]
    assert row["answer_json"] == {"claim": "Yes.", "citations": ["a.md@0"]}


def test_errors_are_traces_that_keep_what_is_known(tmp_path: Path) -> None:
    def broken(_: Any) -> str:
        raise ValueError("no idea")

    late = RunnablePassthrough.assign(context=(lambda row: row["input"]) | Found(texts=TEXTS)) | RunnableLambda(broken)
    with rw.LangChainRecorder(tmp_path / "t.jsonl") as recorder:
        with pytest.raises(ConnectionError):
            rag().invoke({"input": "no index?"}, config=told(recorder, "E1"))
        with pytest.raises(ValueError, match="no idea"):
            late.invoke({"input": "How long?"}, config=told(recorder, "E2"))
        with pytest.raises(KeyError):
            rag().invoke({"other": "How long?"}, config=told(recorder, "E3"))
    first, second, third = rows(tmp_path / "t.jsonl")
    assert (first["qid"], first["error"]) == ("E1", "raised: ConnectionError: index is away")
    assert (second["qid"], second["error"]) == ("E2", "raised: ValueError: no idea")
    assert second["retrieved_ids"] == ["a.md@0", "b.md@0", "c.md@0"]
    assert (third["qid"], third["error"]) == ("E3", "raised: KeyError: 'input'")
    assert "answer_json" not in first | second | third
    assert recorder.summary() == "finished 3 = written 3 (3 errors) + skipped 0 + lost 0"


def test_a_fallback_is_no_error(tmp_path: Path) -> None:
    def broken(_: Any) -> AIMessage:
        raise TimeoutError("busy")

    model = RunnableLambda(broken).with_fallbacks([FakeListChatModel(responses=["45 days [1]."])])
    whole = RunnablePassthrough.assign(context=(lambda row: row["input"]) | Found(texts=TEXTS)) | PROMPT | model
    with rw.LangChainRecorder(tmp_path / "t.jsonl") as recorder:
        whole.invoke({"input": "How long?"}, config=told(recorder))
    (row,) = rows(tmp_path / "t.jsonl")
    assert row["answer_json"] == {"claim": "45 days.", "citations": ["a.md@0"]}


def test_streams_and_async_and_cancelled_runs(tmp_path: Path) -> None:
    async def slow(_: Any) -> str:
        await asyncio.sleep(30)
        return "never"

    async def all_of_them(recorder: rw.LangChainRecorder) -> None:
        async for _ in rag().astream({"input": "How long?"}, config=told(recorder, "S1")):
            pass
        await rag().ainvoke({"input": "How long?"}, config=told(recorder, "S2"))
        slowly = RunnablePassthrough.assign(context=lambda row: row["input"]) | RunnableLambda(slow)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(slowly.ainvoke({"input": "How long?"}, config=told(recorder, "S3")), 0.2)

    with rw.LangChainRecorder(tmp_path / "t.jsonl") as recorder:
        assert "".join(rag().stream({"input": "How long?"}, config=told(recorder, "S0"))) == "45 days [2]."
        asyncio.run(all_of_them(recorder))
    found = {row["qid"]: row for row in rows(tmp_path / "t.jsonl")}
    for qid in ("S0", "S1", "S2"):
        assert found[qid]["query"] == "How long?"
        assert found[qid]["answer_json"] == {"claim": "45 days.", "citations": ["b.md@0"]}
    assert found["S3"]["error"].startswith("raised: CancelledError")


def test_a_thousand_runs_at_once_lose_nothing(tmp_path: Path) -> None:
    whole = rag()
    with rw.LangChainRecorder(tmp_path / "t.jsonl") as recorder:
        configs = [told(recorder, f"Q{n:04d}") for n in range(1000)]
        whole.batch([{"input": f"How long is {n}?"} for n in range(1000)], config=configs)
    found = {row["qid"]: row["query"] for row in rows(tmp_path / "t.jsonl")}
    assert found == {f"Q{n:04d}": f"How long is {n}?" for n in range(1000)}
    assert recorder._trees == {}


def test_questions_of_one_run_are_told_apart_by_their_qids(tmp_path: Path) -> None:
    inner = rag()

    @chain
    def several(_: Any, config: Any) -> list[str]:
        callbacks = config["callbacks"]
        asked = [({"input": f"How long is {n}?"}, {"callbacks": callbacks, "metadata": {"qid": n}}) for n in (1, 2)]
        return [inner.invoke(row, config=how) for row, how in asked]

    with rw.LangChainRecorder(tmp_path / "t.jsonl") as recorder:
        several.invoke("go", config={"callbacks": [recorder]})
    found = {row["qid"]: (row["query"], row["answer_json"]["claim"]) for row in rows(tmp_path / "t.jsonl")}
    assert found == {"1": ("How long is 1?", "45 days."), "2": ("How long is 2?", "45 days.")}


def test_a_chain_without_retriever_and_model_of_langchain(tmp_path: Path) -> None:
    found = [Document("45 days.", id="b")]
    plain = RunnableLambda(lambda row: {"answer": "45 days [1].", "context": found, "asked": row["question"]})
    with rw.LangChainRecorder(tmp_path / "t.jsonl") as recorder:
        plain.invoke({"question": "How long?"}, config=told(recorder))
    (row,) = rows(tmp_path / "t.jsonl")
    assert (row["retrieved_ids"], row["answer_json"]) == (["b"], {"claim": "45 days.", "citations": ["b"]})


def test_a_graph(tmp_path: Path) -> None:
    graphs = pytest.importorskip("langgraph.graph")

    def find(state: Row) -> Row:
        return {"context": Found(texts=TEXTS).invoke(state["question"])}

    def say(state: Row) -> Row:
        return {"answer": FakeListChatModel(responses=["45 days [2]."]).invoke(state["question"]).text}

    graph = graphs.StateGraph(State)
    graph.add_sequence([("find", find), ("say", say)])
    graph.set_entry_point("find")
    app = graph.compile()
    with rw.LangChainRecorder(tmp_path / "t.jsonl") as recorder:
        app.invoke({"question": "How long?"}, config=told(recorder, "G1"))
        list(app.stream({"question": "How long?"}, config=told(recorder, "G2")))
    found = {row["qid"]: (row["query"], row["retrieved_ids"], row["answer_json"]) for row in rows(tmp_path / "t.jsonl")}
    whole = ("How long?", ["a.md@0", "b.md@0", "c.md@0"], {"claim": "45 days.", "citations": ["b.md@0"]})
    assert found == {"G1": whole, "G2": whole}


def test_models_without_messages_and_questions_in_messages(tmp_path: Path) -> None:
    find = RunnableLambda(lambda row: row["messages"][-1].content) | Found(texts=TEXTS)
    prompt = ChatPromptTemplate.from_template("{context}")
    whole = RunnablePassthrough.assign(context=find) | prompt | FakeListLLM(responses=["45 days [1]."])
    with rw.LangChainRecorder(tmp_path / "t.jsonl") as recorder:
        whole.invoke({"messages": [HumanMessage("Hello"), HumanMessage("How long?")]}, config=told(recorder))
    (row,) = rows(tmp_path / "t.jsonl")
    assert row["query"] == "How long?"
    assert row["answer_json"] == {"claim": "45 days.", "citations": ["a.md@0"]}


def test_no_qid(tmp_path: Path) -> None:
    gold = [
        {"qid": "G1", "question": "How long?"},
        {"qid": "G2", "question": "twice"},
        {"qid": "G3", "question": "Twice"},
    ]
    with pytest.warns(RuntimeWarning) as warned, rw.LangChainRecorder(tmp_path / "a.jsonl") as recorder:
        rag().invoke({"input": "How long?"}, config={"callbacks": [recorder]})
        rag().invoke({"input": "How long?"}, config={"callbacks": [recorder]})
    first, second = rows(tmp_path / "a.jsonl")
    assert first["qid"] == first["recorded"]["at"] != second["qid"]
    (message,) = [str(one.message) for one in warned if "ragworthy" in str(one.message)]
    assert message == (
        f"ragworthy: no qid: the id of the run is taken ({first['qid']}); attach one, or give gold= [RW-J20]"
    )
    assert recorder.summary().endswith("; 2 without a qid")
    with (
        pytest.warns(RuntimeWarning, match="gave no trace"),
        rw.LangChainRecorder(tmp_path / "b.jsonl", gold=gold) as by,
    ):
        for question in ("how  LONG?", "TWICE", "Who?"):
            rag().invoke({"input": question}, config={"callbacks": [by]})
    assert [row["qid"] for row in rows(tmp_path / "b.jsonl")] == ["G1"]
    assert by.summary() == (
        "finished 3 = written 1 (0 errors) + skipped 2 + lost 0; "
        "skipped 1: its question is under several qids in the gold set; "
        "skipped 1: its question is not in the gold set"
    )


def test_what_breaks_in_the_recorder_never_breaks_the_chain(tmp_path: Path) -> None:
    def cannot(_: Any) -> str:
        raise RuntimeError("no such key")

    with pytest.warns(RuntimeWarning) as warned, rw.LangChainRecorder(tmp_path / "t.jsonl", doc_id=cannot) as recorder:
        for n in range(3):
            assert rag().invoke({"input": "How long?"}, config=told(recorder, f"Q{n}")) == "45 days [2]."
    assert [(row["qid"], row["error"]) for row in rows(tmp_path / "t.jsonl")] == [
        (f"Q{n}", "recorder: RuntimeError: no such key [RW-J21]") for n in range(3)
    ]
    messages = [str(one.message) for one in warned if "ragworthy" in str(one.message)]
    assert messages == ["ragworthy: Q0 is an error in the traces: recorder: RuntimeError: no such key [RW-J21]"]
    assert recorder.last_error == "recorder: RuntimeError: no such key [RW-J21]"


def test_a_document_without_an_id_is_an_error_of_its_question(tmp_path: Path) -> None:
    with pytest.warns(RuntimeWarning), rw.LangChainRecorder(tmp_path / "t.jsonl", doc_id="id") as recorder:
        rag().invoke({"input": "How long?"}, config=told(recorder))
    assert rows(tmp_path / "t.jsonl")[0]["error"] == "a retrieved document has no id by doc_id [RW-A11]"


def test_a_file_that_cannot_be_written_is_said_and_counted(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.warns(RuntimeWarning, match="a trace was not written"):
        recorder = rw.LangChainRecorder(tmp_path / "file" / "t.jsonl")
        assert rag().invoke({"input": "How long?"}, config=told(recorder)) == "45 days [2]."
    assert recorder.lost == 1
    assert recorder.summary() == "finished 1 = written 0 (0 errors) + skipped 0 + lost 1"


def test_warnings_that_are_errors_do_not_break_the_chain(tmp_path: Path) -> None:
    with warnings.catch_warnings(), rw.LangChainRecorder(tmp_path / "t.jsonl") as recorder:
        warnings.simplefilter("error", RuntimeWarning)
        assert rag().invoke({"input": "How long?"}, config={"callbacks": [recorder]}) == "45 days [2]."
    assert recorder.written == 1


def test_a_run_that_is_open_when_the_recorder_closes_is_an_error(tmp_path: Path) -> None:
    inside, go = threading.Event(), threading.Event()

    def waits(row: Row) -> str:
        inside.set()
        go.wait(20)
        return "45 days."

    recorder = rw.LangChainRecorder(tmp_path / "t.jsonl")
    thread = threading.Thread(target=RunnableLambda(waits).invoke, args=({"input": "How long?"}, told(recorder)))
    thread.start()
    assert inside.wait(20)
    with pytest.warns(RuntimeWarning, match=r"a trace did not end .*: Q1 \[RW-J22\]"):
        recorder.close()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        go.set()
        thread.join()
    (row,) = rows(tmp_path / "t.jsonl")
    assert row["error"] == "unfinished: the recorder was closed before the run ended [RW-J22]"
    assert recorder.summary().endswith("; 1 unfinished; 1 late")


def test_a_crash_in_the_middle_leaves_whole_lines(tmp_path: Path) -> None:
    code = """
        import os, sys
        sys.path.insert(0, sys.argv[2])
        import ragworthy as rw
        from test_langchain_recorder import rag, told
        recorder = rw.LangChainRecorder(sys.argv[1])
        for n in range(50):
            rag().invoke({"input": "How long?"}, config=told(recorder, f"Q{n}"))
        os._exit(9)
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path / "t.jsonl"), str(Path(__file__).parent)]
    done = subprocess.run(command, env=os.environ, check=False)
    assert done.returncode == 9
    assert [row["qid"] for row in rows(tmp_path / "t.jsonl")] == [f"Q{n}" for n in range(50)]


class Last(BaseRetriever):
    """The last two of another retriever, the last one first; it does not hand its callbacks on."""

    inner: Any

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return list(self.inner.invoke(query))[::-1][:2]


def numbered(found: list[Document]) -> str:
    return "\n".join(f"[{n}] {one.page_content}" for n, one in enumerate(found, 1))


def of(said: str = "45 days [1].", **steps: Any) -> Any:
    text = " / ".join(f"{{{name}}}" for name in steps)
    return steps | ChatPromptTemplate.from_template(text) | FakeListChatModel(responses=[said]) | StrOutputParser()


NAMES = ["A. Names of buckets.", "B. Free after 45 days.", "C. Buckets and their parts."]
SHOWN = ["X. An example.", "Y. Another one."]
LISTS = {
    "wrapped": (of(context=Last(inner=Found(texts=NAMES)) | numbered), ["c.md@0", "b.md@0"]),
    "folded": (of(context=lambda asked: numbered(Found(texts=NAMES).invoke(asked)[::-1][:2])), ["c.md@0", "b.md@0"]),
    "few": (
        of(
            examples=Found(texts=SHOWN) | (lambda found: " ".join(one.page_content for one in found)),
            context=Found(texts=NAMES) | numbered,
        ),
        ["a.md@0", "b.md@0", "c.md@0"],
    ),
}


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("way", ["sync", "async", "spans"])
def test_what_the_model_saw_counts(name: str, way: str, tmp_path: Path) -> None:
    made, ids = LISTS[name]
    if way == "spans":
        from openinference.instrumentation import using_metadata
        from openinference.instrumentation.langchain import LangChainInstrumentor
        from opentelemetry.sdk.trace import TracerProvider

        provider = TracerProvider()
        provider.add_span_processor(rw.SpanRecorder(tmp_path / "t.jsonl"))
        LangChainInstrumentor().instrument(tracer_provider=provider)
        with using_metadata({"qid": "Q1"}):
            made.invoke("How long?")
        provider.shutdown()
        LangChainInstrumentor().uninstrument()
    else:
        with rw.LangChainRecorder(tmp_path / "t.jsonl") as recorder:
            if way == "async":
                asyncio.run(made.ainvoke("How long?", config=told(recorder)))
            else:
                made.invoke("How long?", config=told(recorder))
    (row,) = rows(tmp_path / "t.jsonl")
    assert row["retrieved_ids"] == ids
    assert row["answer_json"] == {"claim": "45 days.", "citations": ids[:1]}


def test_lists_that_cannot_be_told_apart_are_an_error(tmp_path: Path) -> None:
    plain = lambda found: " ".join(one.page_content for one in found)  # noqa: E731
    made = of(examples=Found(texts=SHOWN) | plain, context=Found(texts=NAMES) | plain)
    with rw.LangChainRecorder(tmp_path / "t.jsonl") as recorder:
        made.invoke("How long?", config=told(recorder))
    (row,) = rows(tmp_path / "t.jsonl")
    assert row["error"].startswith("undecided: expected one list of documents, got several retrievers side by side")
    assert row["error"].endswith("[RW-J15]")
    assert "answer_json" not in row
