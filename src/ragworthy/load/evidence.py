"""The fields of a gold item that say what its evidence is, where it stands, and what it was bound to: their shape."""

from typing import Any

import msgspec

from ragworthy.errors import explained
from ragworthy.records import GoldSource
from ragworthy.text import described

Wrong = tuple[str, str]
"""A field and what is wrong with it."""


def wrong_evidence(value: dict[str, Any]) -> list[Wrong]:
    """What is wrong with `gold_evidence`, `gold_source` and `gold_groups`.

    >>> wrong_evidence({"gold_evidence": "text", "gold_source": ["a.md", {"section": "1"}]})
    ... # doctest: +NORMALIZE_WHITESPACE
    [('gold_evidence', 'expected a list of texts, got "text"'),
     ('gold_source[1].doc', 'expected a name or {doc, section?, page?}: a value, got nothing')]
    """
    found: list[Wrong] = []
    for field, what in (("gold_evidence", "texts"), ("gold_source", "documents"), ("gold_groups", "lists of ids")):
        given = value.get(field)
        if given is None:
            continue
        if not isinstance(given, list):
            found.append((field, f"expected a list of {what}, got {described(given)}"))
            continue
        for nth, one in enumerate(given):
            found += _ONE[field](one, f"{field}[{nth}]")
    return found


def _text(one: Any, field: str) -> list[Wrong]:
    return [] if isinstance(one, str) else [(field, f"expected a string, got {described(one)}")]


def _source(one: Any, field: str) -> list[Wrong]:
    shape = "expected a name or {doc, section?, page?}"
    if isinstance(one, str):
        return []
    if not isinstance(one, dict):
        return [(field, f"{shape}, got {described(one)}")]
    try:
        msgspec.convert(one, GoldSource)
    except msgspec.ValidationError as error:
        inside, message = explained(error)
        return [(f"{field}.{inside}".rstrip("."), f"{shape}: {message.removeprefix('expected ')}")]
    return []


def _group(one: Any, field: str) -> list[Wrong]:
    good = isinstance(one, list) and all(isinstance(name, str) for name in one)
    return [] if good else [(field, f"expected a list of ids, got {described(one)}")]


_ONE = {"gold_evidence": _text, "gold_source": _source, "gold_groups": _group}
