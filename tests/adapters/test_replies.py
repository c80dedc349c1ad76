"""`rw.reply`: an answer and documents of any framework as a reply. The objects here have the attributes that the real
ones have; the real ones are tried in tests/frameworks.
"""

import hashlib
import re
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ragworthy as rw
from ragworthy.runner.contract import checked


@dataclass
class LangChain:
    page_content: str
    metadata: dict[str, Any] = field(default_factory=dict)
    id: str | None = None


@dataclass
class Node:
    text: str
    node_id: str
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass
class NodeWithScore:
    node: Node
    score: float | None = None


@dataclass
class Haystack:
    id: str
    content: str
    meta: dict[str, Any] = field(default_factory=dict)
    score: float | None = None


class Text(str):
    """As LangChain's TextAccessor: a text, and more."""

    __slots__ = ()

    def __str__(self) -> str:
        raise AssertionError("code of the pipeline is not needed for its text")


@dataclass
class Message:
    content: Any
    usage_metadata: dict[str, int] | None = None
    response_metadata: dict[str, Any] = field(default_factory=dict)


UUID = "ff0a9ff2-7603-48b9-8b04-109597ec1156"


def by_text(text: str) -> str:
    return "sha256:" + hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:16]


def test_documents_of_langchain_are_named_by_file_and_place_and_scores_become_topk() -> None:
    documents = [
        LangChain("Names are blocked.", {"source": "buckets.md", "start_index": 467}),
        LangChain("Parts are 5 GB.", {"source": "parts.md", "start_index": 0}),
    ]
    assert rw.reply(Text("45 days [1][2]."), documents) == {
        "answer_json": {"claim": "45 days.", "citations": ["buckets.md@467", "parts.md@0"]},
        "retrieved_ids": ["buckets.md@467", "parts.md@0"],
    }
    scored = rw.reply("45 days.", [(documents[0], 0.75), (documents[1], 0.5)])
    assert scored["topk"] == [{"id": "buckets.md@467", "score": 0.75}, {"id": "parts.md@0", "score": 0.5}]
    assert type(rw.reply(Text("x"), documents)["answer_json"]["claim"]) is str


def test_nodes_of_llamaindex_are_named_by_their_text_without_the_line_of_the_citation_engine() -> None:
    nodes = [NodeWithScore(Node("Source 1:\nNames are\nblocked.", UUID), 1.5), NodeWithScore(Node("B.", "own-2"))]
    assert rw.reply("Blocked [1].", nodes) == {
        "answer_json": {"claim": "Blocked.", "citations": [by_text("Names are blocked.")]},
        "retrieved_ids": [by_text("Names are blocked."), "own-2"],
        "topk": [{"id": by_text("Names are blocked."), "score": 1.5}, {"id": "own-2"}],
    }


def test_a_response_brings_its_documents() -> None:
    @dataclass
    class Response:
        response: str
        source_nodes: list[NodeWithScore]

    nodes = [NodeWithScore(Node("A.", "a")), NodeWithScore(Node("B.", "b"))]
    wanted = {"answer_json": {"claim": "B.", "citations": ["b"]}, "retrieved_ids": ["a", "b"]}
    assert rw.reply(Response("B. [2]", nodes)) == wanted
    assert checked(Response("B. [2]", nodes)).fields == wanted


def test_documents_of_haystack_and_what_its_answer_builder_says_is_cited() -> None:
    found = [Haystack("h1", "A.", score=2.0), Haystack("h2", "B.", score=1.0)]
    reply = rw.reply("B. [2]", found, cited=[found[1]])
    assert reply["answer_json"] == {"claim": "B.", "citations": ["h2"]}
    assert reply["topk"] == [{"id": "h1", "score": 2.0}, {"id": "h2", "score": 1.0}]


def test_plain_texts_and_dicts() -> None:
    reply = rw.reply("print(x) [2]", ["print(x)", {"id": 7, "text": "y"}, {"chunk_id": "c", "document": "z"}])
    assert reply == {
        "answer_json": {"claim": "print(x)", "citations": ["7"]},
        "retrieved_ids": [by_text("print(x)"), "7", "c"],
    }


@pytest.mark.parametrize(
    ("rule", "ids"),
    [
        ("id", [UUID, "b"]),
        ("content", [by_text("A."), by_text("B.")]),
        ("metadata:page", ["1", "2"]),
        (["file", "page"], ["x.md@1", "x.md@2"]),
        (("page",), ["1", "2"]),
        (lambda one: f"{one.metadata['file']}/{one.page_content}", ["x.md/A.", "x.md/B."]),
        (None, [by_text("A."), "b"]),
    ],
)
def test_ids_by_every_rule(rule: Any, ids: list[str]) -> None:
    documents = [
        LangChain("A.", {"file": "x.md", "page": 1}, UUID),
        (LangChain("B.", {"file": "x.md", "page": 2}, "b"), 0.5),
    ]
    assert rw.reply("x", documents, doc_id=rule)["retrieved_ids"] == ids


def test_markers_by_every_rule() -> None:
    found = [{"id": "a"}, {"id": "b"}]

    def answer(text: str, marker: Any) -> tuple[str, list[str]]:
        read = rw.reply(text, found, marker=marker)["answer_json"]
        return read["claim"], read["citations"]

    assert answer("x [1-2], y [9]", None) == ("x, y", ["a", "b", "[9]"])
    assert answer("x [1]", "none") == ("x [1]", [])
    assert answer("x (2)", r"\((\d)\)") == ("x", ["b"])
    assert answer("x (2)", re.compile(r"\((\d)\)")) == ("x", ["b"])
    assert answer('{"claim": "x", "citations": ["b"]}', None) == ("x", ["b"])


def test_citations_can_be_given() -> None:
    found = [{"id": "a"}, {"id": "b"}]
    for cited in (["b", "a"], [2, 1], [{"id": "b"}, 1, 1]):
        assert rw.reply("x [1]", found, cited=cited)["answer_json"] == {"claim": "x", "citations": ["b", "a"]}
    assert rw.reply("x", found, cited=[7])["answer_json"]["citations"] == ["[7]"]


def test_tokens_come_from_the_message_unless_they_are_given() -> None:
    counts = {"input_tokens": 12, "output_tokens": 3, "total_tokens": 15}
    message = Message([{"type": "text", "text": "x [1]"}], counts, {"model_name": "m-1"})
    reply = rw.reply(message, [{"id": "a"}])
    assert reply["answer_json"] == {"claim": "x", "citations": ["a"]}
    assert reply["usage"] == {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15, "model": "m-1"}
    assert rw.reply(message, usage={"prompt_tokens": 1}, stage_ms={"llm": 2.5}) == {
        "answer_json": {"claim": "x", "citations": ["[1]"]},
        "retrieved_ids": [],
        "usage": {"prompt_tokens": 1},
        "stage_ms": {"llm": 2.5},
    }


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"text": None}, "rw.reply: text: expected a text, or a message that has one, got nothing [RW-U06]"),
        ({"text": 4}, "rw.reply: text: expected a text, or a message that has one, got 4 [RW-U06]"),
        ({"text": "x", "documents": "ab"},
         'rw.reply: documents: expected a list of documents, got a text: write ["ab"] [RW-U06]'),
        ({"text": "x", "documents": LangChain("A.")},
         "rw.reply: documents: expected a list of documents, got a LangChain [RW-U06]"),
        ({"text": "x", "documents": [{"id": "a"}, 4]},
         "rw.reply: documents[1]: expected a document with a text or an id, got 4 [RW-U06]"),
        ({"text": "x", "documents": ["Document(page_content='A.')"]},
         "rw.reply: documents[0]: expected a document with a text or an id, got "
         "\"Document(page_content='A.')\" [RW-U06]"),
        ({"text": "x", "documents": [LangChain("A.", {"b": 1, "a": 2})], "doc_id": ["source"]},
         "rw.reply: documents[0]: expected an id by metadata:source, got none: its metadata has a, b [RW-U06]"),
        ({"text": "x", "documents": [LangChain("A.")], "doc_id": "id"},
         "rw.reply: documents[0]: expected an id by id, got none: its metadata has nothing [RW-U06]"),
        ({"text": "x", "documents": [LangChain("A.")], "doc_id": lambda one: one.id},
         "rw.reply: documents[0]: expected an id by doc_id, got nothing [RW-U06]"),
        ({"text": "x", "usage": [1]}, "rw.reply: usage: expected an object, got a list [RW-U06]"),
        ({"text": "x", "doc_id": "source"},
         'doc_id: expected id, content or metadata:KEY,KEY, got "source" [RW-U01]'),
        ({"text": "x", "doc_id": []}, "doc_id: expected metadata keys, got a list [RW-U01]"),
        ({"text": "x", "marker": "("}, 'marker: expected none or a regular expression, got "(" '
         "(missing ), unterminated subpattern at position 0) [RW-U01]"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_named(arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(rw.RagworthyError) as caught:
        rw.reply(**arguments)
    assert caught.value.lines()[0] == told


@given(
    st.lists(st.text("abcdefgh", min_size=1, max_size=4), min_size=1, max_size=6, unique=True),
    st.lists(st.integers(1, 6), max_size=5),
)
def test_markers_cite_what_they_number(ids: list[str], numbers: list[int]) -> None:
    text = "claim" + "".join(f" [{n}]" for n in numbers)
    wanted = list(dict.fromkeys(ids[n - 1] if n <= len(ids) else f"[{n}]" for n in numbers))
    reply = rw.reply(text, [{"id": one, "text": "t"} for one in ids])
    assert reply == {"answer_json": {"claim": "claim", "citations": wanted}, "retrieved_ids": ids}


# the same as a reply of a target


def test_an_answer_with_documents_is_a_reply() -> None:
    documents = [{"id": "a", "text": "A.", "score": 0.5}]
    given = {"answer": "A. [1]", "documents": documents, "usage": {"prompt_tokens": 3}, "stage_ms": {"llm": 1}}
    reply = checked(given | {"qid": "Q1"}, qid="Q1")
    assert reply.fields == rw.reply("A. [1]", documents, usage={"prompt_tokens": 3}, stage_ms={"llm": 1})
    assert reply.how == "answer and 1 document of documents; ids: 1 by id; citations: markers"
    assert checked(given | {"qid": "Q2"}, qid="Q1").error == 'bad reply: qid: expected "Q1", got "Q2"'
    assert checked(given | {"stage_ms": {"llm": -1}}).error == "bad reply: stage_ms[...]: expected float >= 0.0"
    assert checked({"answer": "A.", "documents": documents, "citations": ["a"]}).fields["answer_json"] == {
        "claim": "A.",
        "citations": ["a"],
    }


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ({"answer": "x", "documents": None}, "documents: expected a list of documents, got nothing"),
        ({"answer": "x", "documents": {"a": 1}}, "documents: expected a list of documents, got an object"),
        ({"answer": "x", "context": "the text"}, 'context: expected a list of documents, got "the text"'),
        ({"answer": "x", "documents": [{"title": "t"}]},
         "documents[0]: expected a document with a text or an id, got an object"),
        ({"answer": 4, "documents": []}, "answer: expected a text, or a message that has one, got 4"),
        ({"answer": "x", "documents": [], "citations": "a"},
         'citations: expected a list of documents, got a text: write ["a"]'),
    ],
)  # fmt: skip
def test_parts_that_do_not_fit_are_named(value: dict[str, Any], error: str) -> None:
    reply = checked(value)
    assert reply.error == f"bad reply: {error}"
    assert reply.misfits == (tuple(error.split(": ", 1)),)


def test_chains_name_answer_and_documents_in_their_own_way() -> None:
    documents = [LangChain("A.", {"source": "a.md", "start_index": 0})]
    wanted = {"answer_json": {"claim": "A.", "citations": ["a.md@0"]}, "retrieved_ids": ["a.md@0"]}
    assert checked({"input": "q", "context": documents, "answer": Text("A. [1]")}).fields == wanted
    assert checked({"query": "q", "result": "A. [1]", "source_documents": documents}).fields == wanted


def test_an_id_counts_once_at_its_first_place_and_numbers_mean_the_list_as_given() -> None:
    found = [{"id": "a", "text": "One."}, {"id": "a", "text": "Two."}, {"id": "b", "text": "Three."}]
    assert rw.reply("It is [3].", found) == {
        "answer_json": {"claim": "It is.", "citations": ["b"]},
        "retrieved_ids": ["a", "b"],
    }
    assert rw.reply("It is.", found, cited=[3, 2])["answer_json"]["citations"] == ["b", "a"]
    scored = [{**one, "score": score} for one, score in zip(found, (0.9, 0.5, 0.4), strict=True)]
    assert rw.reply("It is.", scored)["topk"] == [{"id": "a", "score": 0.9}, {"id": "b", "score": 0.4}]
