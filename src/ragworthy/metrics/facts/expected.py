"""What a question of a structured set must have before any answer to it can be scored."""

from collections.abc import Iterator, Mapping
from typing import Any

from ragworthy.metrics.definition import ABSENT, Definition, Field, value_at
from ragworthy.records import StructuredGold
from ragworthy.text import described

LEGACY = ("must_include", "keywords")
"""Keys of the old form of `expected`, which names no fields."""

Found = tuple[str, str, str]
"""A code, the path of the field, and what is wrong with it."""


def problem_of(gold: StructuredGold, definition: Definition) -> Found | None:
    """The first thing that makes a question unscorable, or None; ids are for the caller to check.

    >>> problem_of(StructuredGold(id="q", question="Why?"), Definition("d", ()))
    ('RW-Q01', 'expected', 'expected an object, got nothing')
    """
    return next(problems_of(gold, definition), None)


def problems_of(gold: StructuredGold, definition: Definition) -> Iterator[Found]:
    """Everything that makes a question unscorable; that it has no text comes last."""
    yield from _of_expected(gold.expected, definition)
    if not (gold.question or "").strip():
        got = "nothing" if gold.question is None else "an empty one"
        yield "RW-Q03", "question", f"expected a text, got {got}"


def expected_value(expected: Any, definition: Definition, field: Field) -> Any:
    """The value that a field should have, or ABSENT."""
    return value_at(expected, (*definition.expected, *field.at))


def place_of(definition: Definition, field: Field) -> str:
    """Where the value of a field is in a question, as people write it."""
    return ".".join(("expected", *definition.expected, *field.at))


def _of_expected(expected: Mapping[str, Any] | None, definition: Definition) -> Iterator[Found]:
    if expected is None:
        yield "RW-Q01", "expected", "expected an object, got nothing"
        return
    answer = value_at(expected, definition.expected)
    if _is_legacy(expected, answer, definition):
        there = " and ".join(key for key in LEGACY if key in expected)
        yield "RW-Q02", "expected", f"expected {_wanted(definition)}, got the old form with {there}"
    elif not isinstance(answer, Mapping):
        got = "nothing" if answer is ABSENT else described(answer)
        yield "RW-Q01", ".".join(("expected", *definition.expected)), f"expected an object, got {got}"
    else:
        for field in definition.fields:
            message = _unfit(value_at(answer, field.at), field)
            if message is not None:
                yield "RW-Q01", place_of(definition, field), message


def _is_legacy(expected: Mapping[str, Any], answer: Any, definition: Definition) -> bool:
    if not any(key in expected for key in LEGACY):
        return False
    return answer is ABSENT or (answer is expected and not any(field.at[0] in answer for field in definition.fields))


def _wanted(definition: Definition) -> str:
    return ".".join(definition.expected) or "the fields of the definition"


def _unfit(value: Any, field: Field) -> str | None:
    """What is wrong with an expected value; only fields that are required need one."""
    if value is not ABSENT and value is not None:
        return field.rules.unfit(value)
    message = field.rules.unfit(None) if field.required else None
    return message and message.removesuffix("null") + ("nothing" if value is ABSENT else "null")
