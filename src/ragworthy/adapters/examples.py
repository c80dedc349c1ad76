"""A question of a tool's data set as the fields of a gold item: what was asked, and what a right answer says."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from ragworthy.adapters.columns import Columns
from ragworthy.adapters.documents import document, opened
from ragworthy.adapters.shapes import answer_in, question_in

FIELDS = (
    "qid", "question", "answer", "answerable", "evidence", "source", "gold_citations", "constraints", "response",
    "retrieved", "error",
)  # fmt: skip
"""What a row of `Example.row` may hold; anything else in it is kept for slices."""
_REFERENCE = ("expected_response", "expected_output", "expectedOutput", "reference", "ground_truth", "gold_reference")
_FACTS = ("expected_facts", "gold_claim_substr", "answers")
_EVIDENCE = ("gold_evidence", "reference_contexts", "evidence", "contexts", "expected_retrieved_context")
_PLACES = {"gold_citations": ("gold_citations", "reference_context_ids", "relevant"),
           "source": ("gold_source", "source", "sources", "doc_uri"), "constraints": ("constraints",)}  # fmt: skip
_USED = {"answerable", "qid", *_REFERENCE, *_FACTS, *_EVIDENCE, *(key for keys in _PLACES.values() for key in keys)}


class Example(NamedTuple):
    """One question of a data set."""

    row: dict[str, Any]
    why: str = ""
    """Why it is not to be used."""


class Link(NamedTuple):
    """Which question of a data set a trace answers."""

    trace: str
    example: str


def example(name: Any, inputs: Any, outputs: Any, metadata: Any = None) -> Example:
    """A question from what goes in and what is expected to come out, as a tool stores them."""
    asked, expected, more = opened(inputs), opened(outputs), opened(metadata)
    held: dict[str, Any] = {}
    for part in (more, expected):
        held |= {str(key): value for key, value in part.items()} if isinstance(part, Mapping) else {}
    row: dict[str, Any] = {key: value for key, value in held.items() if _plain(value) and key not in _USED}
    if isinstance(expected, Mapping):
        row = {key: value for key, value in row.items() if key not in expected}
    row |= {"qid": "" if name is None else str(name), "question": question_in(asked)}
    row["answer"] = _expected(held, expected)
    row |= {"answerable": held["answerable"]} if isinstance(held.get("answerable"), bool | str) else {}
    texts = next((some for key in _EVIDENCE if (some := _texts(held.get(key)))), [])
    row |= {"evidence": texts} if texts else {}
    for field, keys in _PLACES.items():
        named = next((held[key] for key in keys if held.get(key)), None)
        row |= {field: named} if named else {}
    return Example(row)


def _expected(held: Mapping[str, Any], expected: Any) -> Any:
    for key in _REFERENCE:
        if isinstance(held.get(key), str):
            return held[key]
    for key in _FACTS:
        if isinstance(held.get(key), list):
            return [one for one in held[key] if isinstance(one, str)]
    return answer_in(expected) if expected is not None else None


def _texts(value: Any) -> list[str]:
    """The texts of documents, or plain ones."""
    found = [document(one) for one in value] if isinstance(value, list) else []
    return [one.text for one in found if one is not None and one.text]


def _plain(value: Any) -> bool:
    return isinstance(value, str | int | float)


def columns(rows: list[dict[str, Any]]) -> Columns:
    """Where the fields of some rows are, and what is kept for slices."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return Columns(
        {name: name for name in FIELDS if name in names},
        [name for name in names if name not in FIELDS and "." not in name],
    )
