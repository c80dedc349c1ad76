"""Documents of every framework, their ids, and the markers of answers."""

import re
import time
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragworthy.adapters.documents import (
    DocIds,
    Document,
    content_id,
    doc_ids,
    document,
    documents,
    markers,
    new_each_build,
)
from ragworthy.errors import UsageError

RANDOM = "ff0a9ff2-7603-48b9-8b04-109597ec1156"
BY_NAME = "cfbff0d1-9375-5685-968c-48ce8b15ae17"  # version 5, of example.com


@dataclass
class LangChain:
    page_content: str
    metadata: dict[str, Any] = field(default_factory=dict)
    id: str | None = None


@dataclass
class TextNode:
    id_: str
    text: str
    metadata: dict[str, Any] = field(default_factory=dict)


class NodeWithScore:
    """LlamaIndex raises where a node that is not text is asked for its text."""

    def __init__(self, node: TextNode, score: float) -> None:
        self.node, self.score = node, score

    @property
    def text(self) -> str:
        raise ValueError("Node must be a TextNode to get text.")


@dataclass
class Haystack:
    id: str
    content: str
    meta: dict[str, Any]
    score: float


SHAPES: list[tuple[str, Any, Document]] = [
    ("plain text", "Names stay blocked.", Document("", "Names stay blocked.", None, {})),
    ("LangChain", LangChain("T", {"source": "a.md"}), Document("", "T", None, {"source": "a.md"})),
    ("LangChain with a score", (LangChain("T", {}, "7"), 0.5), Document("7", "T", 0.5, {})),
    ("LangChain as JSON", {"id": None, "metadata": {"source": "a"}, "page_content": "T", "type": "Document"},
     Document("", "T", None, {"source": "a"})),
    ("LangChain's constructor", {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "Document"],
                                 "kwargs": {"page_content": "T", "metadata": {"source": "a"}}},
     Document("", "T", None, {"source": "a"})),
    ("LlamaIndex", NodeWithScore(TextNode(RANDOM, "T", {"file_name": "a.md"}), 3.5),
     Document(RANDOM, "T", 3.5, {"file_name": "a.md"})),
    ("LlamaIndex as JSON", {"node": {"id_": RANDOM, "text": "Source 3:\nT", "metadata": {}}, "score": 2},
     Document(RANDOM, "T", 2.0, {})),
    ("Haystack", Haystack("79", "T", {"file_path": "a"}, 1.5), Document("79", "T", 1.5, {"file_path": "a"})),
    ("OpenInference", {"document.id": "7", "document.content": "T", "document.score": 1,
                       "document.metadata": '{"source": "a"}'}, Document("7", "T", 1.0, {"source": "a"})),
    ("Phoenix", {"document": {"content": "T", "id": 7}}, Document("7", "T", None, {})),
    ("ours", {"chunk_id": "a#1", "text": "T", "id": "other"}, Document("a#1", "T", None, {})),
    ("an id and a score", {"id": "a", "score": 0.25}, Document("a", "", 0.25, {})),
    ("a score in the metadata", {"page_content": "T", "metadata": {"relevance_score": 0.75}},
     Document("", "T", 0.75, {"relevance_score": 0.75})),
]  # fmt: skip


@pytest.mark.parametrize(("value", "expected"), [one[1:] for one in SHAPES], ids=[one[0] for one in SHAPES])
def test_documents_of_every_framework(value: object, expected: Document) -> None:
    assert document(value) == expected


@pytest.mark.parametrize(
    "value",
    [None, 4, True, [], {}, {"score": 1}, {"metadata": {"a": 1}}, ["a", 1], b"x", {"id": ["a"]}, {"id": True},
     "<NodeWithScore(node=TextNode(id_=1), score=2)>", "Document(id=7, content: 'x')"],
)  # fmt: skip
def test_what_is_no_document(value: object) -> None:
    assert document(value) is None


def test_a_list_of_documents_leaves_out_what_is_none() -> None:
    assert [one.text for one in documents(["a", None, {"text": "b"}])] == ["a", "b"]


def test_scores_that_are_no_numbers_are_none() -> None:
    scores: list[object] = ["high", float("nan"), float("inf"), True, [], 10**400, {"a": 1}]
    for score in scores:
        found = document({"text": "T", "score": score})
        assert found is not None
        assert found.score is None


def test_documents_that_hold_themselves_end() -> None:
    value: dict[str, Any] = {}
    value["node"] = value
    assert document(value) is None


# ids


def test_a_content_id_is_the_hash_of_the_evened_text() -> None:
    # printf 'Names stay blocked.' | sha256sum
    assert content_id(" Names  stay\n\tblocked.\n") == "sha256:e5199e7341a11bf4"
    assert content_id("Names stay blocked") != content_id("Names stay blocked.")


def named(found: Document, rule: str | None = None, known: tuple[str, ...] = ()) -> str:
    return doc_ids(rule, known).named(found).id


def test_the_chain_takes_an_id_then_metadata_then_the_text() -> None:
    assert named(Document("a#1", "T", None, {"source": "a", "start_index": 0})) == "a#1"
    assert named(Document("", "T", None, {"source": "a.md", "start_index": 467})) == "a.md@467"
    assert named(Document("", "T", None, {"file_path": "a.md", "split_id": 3, "page_number": 1})) == "a.md@3"
    assert named(Document("", "T", None, {"source": "a.pdf", "page": 0, "start_index": 0})) == "a.pdf@p0@0"
    assert named(Document("", "T", None, {"source": "a.pdf", "page_number": 3, "start_index": 40})) == "a.pdf@p3@40"
    assert named(Document("", "T", None, {"source": "a.csv", "row": 7, "start_index": 0})) == "a.csv@row7@0"
    assert named(Document("", "T", None, {"source": "a.json", "seq_num": 2, "start_index": 0})) == "a.json@s2@0"
    assert named(Document("", "T", None, {"doc_uri": "a.md", "chunk_id": "a-3"})) == "a-3"
    assert named(Document("", "T", None, {"source": "a.md", "page": 3})) == content_id("T")
    assert named(Document("", "T", None, {})) == content_id("T")


def test_random_uuids_are_passed_over_unless_the_gold_set_has_such_ids() -> None:
    found = Document(RANDOM, "T", None, {"source": "a.md", "start_index": 0})
    assert named(found) == "a.md@0"
    assert named(found._replace(metadata={})) == content_id("T")
    assert named(found, known=("a.md@0",)) == "a.md@0"
    assert named(found, known=("00fbe967-ed10-47fd-954a-1716e7eb97e7",)) == RANDOM
    assert named(found, "id") == RANDOM
    assert named(found._replace(id=BY_NAME)) == BY_NAME, "made from a name: the same in every build"
    assert named(Document(RANDOM, "", None, {})) == RANDOM, "nothing else is there"


def test_ids_that_are_no_random_uuids() -> None:
    assert new_each_build(RANDOM) and new_each_build(RANDOM.replace("-", ""))
    for name in (BY_NAME, "79789684f19a99786c6cf3d09b5418e9e5e46c07fe2e23a41fba247c5e55c1f2", "a.md@467", "", "7"):
        assert not new_each_build(name)


def test_a_rule_of_metadata_keys() -> None:
    found = Document("x", "T", None, {"source": "a.md", "page": 3, "bad": [1], "no": None})
    assert named(found, "metadata:source,page") == "a.md@3"
    assert named(found, "metadata:source, bad") == ""
    assert named(found, "metadata:no") == ""
    assert named(found, "content") == content_id("T")


@pytest.mark.parametrize("rule", ["metadata:", "metadata", "source", "metadata: ,", "ID"])
def test_a_rule_that_is_none(rule: str) -> None:
    with pytest.raises(UsageError) as caught:
        doc_ids(rule)
    assert caught.value.problems[0].message == (
        f'--doc-id: expected id, content or metadata:KEY,KEY, got "{rule}"'
    )  # fmt: skip


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda inner: (
    st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ["page_content", "text", "id", "node", "document", "kwargs", "metadata", "score", "document.content"]), inner)
), max_leaves=12))  # fmt: skip
def test_any_json_is_a_document_or_none(value: Any) -> None:
    found = document(value)
    if found is not None:
        assert found.id or isinstance(found.text, str)
        assert isinstance(DocIds().named(found).id, str)


# markers

CASES = [
    ("one", "45 days [2].", "45 days.", ["b"]),
    ("attached to a word", "45 days[2].", "45 days.", ["b"]),
    ("several in a row", "45 days [1][3].", "45 days.", ["a", "c"]),
    ("several in one", "45 days [3, 1].", "45 days.", ["c", "a"]),
    ("a range", "45 days [1-3].", "45 days.", ["a", "b", "c"]),
    ("named", "45 days [doc1] [Source 2] [Document 3].", "45 days.", ["a", "b", "c"]),
    ("wide brackets", "45天【2】。", "45天。", ["b"]),
    ("again", "A [1]. B [1].", "A. B.", ["a"]),
    ("at the front", "[1] 45 days.", "45 days.", ["a"]),
    ("no document of that number", "45 days [7].", "45 days.", ["[7]"]),
    ("zero", "45 days [0].", "45 days.", ["[0]"]),
    ("a year", "As of [2024], 45 days [1].", "As of [2024], 45 days.", ["a"]),
    ("a code", "Status [404].", "Status [404].", []),
    ("in code", "Use `xs[1]` or\n```\nxs[2]\n```\n[3]", "Use `xs[1]` or\n```\nxs[2]\n```", ["c"]),
    ("code that does not end", "```\nxs[1]", "```\nxs[1]", []),
    ("a backward range", "From [3-1].", "From [3-1].", []),
    ("words in brackets", "The [sic] and [a1] and [].", "The [sic] and [a1] and [].", []),
    ("lines are kept", "A\n- B [1]\n- C [2]", "A\n- B\n- C", ["a", "b"]),
]


@pytest.mark.parametrize(("text", "claim", "cited"), [one[1:] for one in CASES], ids=[one[0] for one in CASES])
def test_markers_are_cut_out_and_become_citations(text: str, claim: str, cited: list[str]) -> None:
    read = markers(None).read(text, ["a", "b", "c"])
    assert (read.claim, read.citations) == (claim, cited)
    assert read.outside == sum(one.startswith("[") for one in cited)


def test_without_markers_nothing_is_cited_and_nothing_cut() -> None:
    assert markers("none").read(" 45 days [1]. ", ["a"]) == ("45 days [1].", [], 0)


def test_a_marker_of_ones_own_counts_every_number() -> None:
    read = markers(r"\((\d+)\)").read("45 days (2) (2024) [1].", ["a", "b"])
    assert read == ("45 days [1].", ["b", "[2024]"], 1)
    assert markers(r"#\d+").read("x #1", ["a"]).citations == ["a"]


def test_a_marker_that_is_no_pattern() -> None:
    for option, reason in (
        ("(", "missing ), unterminated subpattern at position 0"),
        (".*", "it matches the empty text"),
    ):
        with pytest.raises(UsageError) as caught:
            markers(option)
        assert caught.value.problems[0].message == (
            f'--marker: expected none or a regular expression, got "{option}" ({reason})'
        )


@given(
    st.lists(st.integers(1, 5), max_size=6), st.lists(st.text(st.characters(exclude_characters="[]【】`"), max_size=8))
)
def test_markers_agree_with_a_plain_reading(numbers: list[int], words: list[str]) -> None:
    text = "".join(f"{word} [{number}]" for word, number in zip(words, numbers, strict=False))
    seen = ["a", "b", "c", "d", "e"]
    read = markers(None).read(text, seen)
    plain = [seen[int(number) - 1] for number in re.findall(r"\[(\d+)\]", text)]
    assert read.citations == list(dict.fromkeys(plain))
    assert "[" not in read.claim


def test_long_hostile_answers_are_read_in_no_time() -> None:
    hostile = {"[1," * 50_000: 0, "[" * 200_000: 0, "`[1]" * 49_999: 1, "[1] " * 50_000: 1, "[" + "1" * 200_000: 0}
    began = time.process_time()
    assert [len(markers(None).read(text, ["a"]).citations) for text in hostile] == list(hostile.values())
    assert time.process_time() - began < 5
