"""Replies to structured questions, whatever they are: an output or an error, never an exception."""

import json
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from ragworthy.load.definition import bundled
from ragworthy.metrics import grading
from ragworthy.pipeline.structured import schema_of
from ragworthy.records import StructuredOutput
from ragworthy.runner.contract import Reply
from ragworthy.runner.outputs import Making, Output
from structured_case import answer

MAKING = Making("q@sha256:00", bundled())
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.just(object())
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)
FIELDS = st.dictionaries(
    st.sampled_from(("raw", "context", "meta", "usage", "stage_ms", "qid", "error", "answer", "documents")), VALUES
)


@settings(max_examples=150, deadline=None)
@given(FIELDS | VALUES)
def test_any_value_is_an_output_or_an_error_that_says_why(value: Any) -> None:
    reply = MAKING.checked(value, qid="Q1")
    assert isinstance(reply, Reply)
    line = msgspec.json.encode(reply.fields)  # whatever it is, it can be written and read again
    if reply.error is None:
        assert msgspec.json.decode(line, type=Output).raw == reply.fields["raw"]
    else:
        assert reply.error.partition(":")[0]


def test_the_text_of_the_model_is_kept_to_the_letter() -> None:
    for raw in ("", " {}\n", "```json\n{}\n```", "\u202e\x00\x1b[2J", "𝕏" * 5, "\\u0000"):
        assert MAKING.checked({"raw": raw}).fields == {"raw": raw}


def test_the_schema_that_a_server_holds_replies_to_is_that_of_a_valid_answer() -> None:
    schema = schema_of(bundled())
    good = answer()
    assert set(schema["required"]) == set(good) == set(schema["properties"])
    assert grading.read(bundled(), StructuredOutput(raw=json.dumps(good))).reason is None
    for key in schema["required"]:
        without = {name: value for name, value in good.items() if name != key}
        assert grading.read(bundled(), StructuredOutput(raw=json.dumps(without))).reason is not None
    kinds = {"string": str, "array": list}
    assert all(isinstance(good[key], kinds[one["type"]]) for key, one in schema["properties"].items())
