"""The fields of a gold item that hold more than texts: what a claim has all of, what its evidence is, where it stands,
and what it was bound to. Their shape.
"""

from typing import Any

import msgspec

from ragworthy.errors import explained
from ragworthy.records import GoldSource
from ragworthy.text import described

Wrong = tuple[str, str]
"""A field and what is wrong with it."""


def wrong_evidence(value: dict[str, Any]) -> list[Wrong]:
    """What is wrong with `gold_claim_all`, `gold_evidence`, `gold_source` and `gold_groups`.

    >>> wrong_evidence({"gold_evidence": "text", "gold_source": ["a.md", {"section": "1"}]})
    ... # doctest: +NORMALIZE_WHITESPACE
    [('gold_evidence', 'expected a list of texts, got "text"'),
     ('gold_source[1].doc', 'expected a name or {doc, section?, page?}: a value, got nothing')]
    """
    found: list[Wrong] = []
    for field, (what, wrong_one) in _FIELDS.items():
        given = value.get(field)
        if given is None:
            continue
        if not isinstance(given, list):
            found.append((field, f"expected a list of {what}, got {described(given)}"))
            continue
        for nth, one in enumerate(given):
            found += wrong_one(one, f"{field}[{nth}]")
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


def _pieces(one: Any, field: str) -> list[Wrong]:
    if isinstance(one, str):
        return []
    if not isinstance(one, list):
        return [(field, f"expected a text or a list of texts, got {described(one)}")]
    return [wrong for nth, each in enumerate(one) for wrong in _text(each, f"{field}[{nth}]")]


_FIELDS = {
    "gold_claim_all": ("texts, or of lists of texts", _pieces),
    "gold_evidence": ("texts", _text),
    "gold_source": ("documents", _source),
    "gold_groups": ("lists of ids", _group),
}
