"""Ranges that count characters: turned into bytes through the canonical text, or left out where there is none."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import msgspec

from ragworthy.cited import Citation, Result
from ragworthy.records import Cited, RetrievalTrace

_BYTES = ("byte", "bytes")
_CHARS = ("char", "chars", "character", "characters")
_Ranged = TypeVar("_Ranged", Result, Citation)
Convert = Callable[[str, tuple[int, int]], tuple[int, int] | None]
"""From the id of a block and a range of characters of its document to the range in bytes; None where it is unknown."""


class Counted(NamedTuple):
    """A trace whose ranges are bytes, and how many had to be left out."""

    trace: RetrievalTrace
    left_out: int = 0


class Ranged(NamedTuple):
    """What the lines of a block may have: most have neither, and one look at the bytes shows it for all of them."""

    units: bool
    """Ranges that say what they count."""
    ranges: bool

    @classmethod
    def of(cls, data: bytes) -> "Ranged":
        """What lines may have by the keys in them; a key may be written with escapes."""
        escaped = rb"\u" in data
        return cls(escaped or b"unit" in data, escaped or b"offsets" in data)


def strange_unit(trace: RetrievalTrace) -> tuple[str, str] | None:
    """The field of a range that counts neither bytes nor characters, and what it counts."""
    for field, one, _ in ranged(trace):
        if one.unit is not None and one.unit not in _BYTES + _CHARS:
            return f"{field}.unit", one.unit
    return None


def has_units(trace: RetrievalTrace) -> bool:
    """Whether a range says what it counts; most do not, and cost nothing more."""
    results = trace.topk or ()
    if [one.unit for one in results].count(None) < len(results):
        return True
    return any([one.unit is not None for _, some in _cited(trace) for one in some if not isinstance(one, str)])


def are_whole(trace: RetrievalTrace) -> bool:
    """Whether every range begins at 0 or later and ends after that: hardly any does not, and one look shows it."""
    spans = [one.offsets for one in trace.topk or () if one.offsets is not None]
    if any([not 0 <= begin < end for begin, end in spans]):
        return False
    return all([0 <= begin < end for _, some in _cited(trace) for begin, end in map(_span, some)])


def _span(one: Citation | str) -> tuple[int, int]:
    """The range of a citation; of one without any a range that is as it should be."""
    return (0, 1) if isinstance(one, str) or one.offsets is None else one.offsets


def _lists(trace: RetrievalTrace) -> Iterator[tuple[str, Sequence[Result | Citation | str]]]:
    """The results, and the citations under every key they may be written under."""
    yield "topk", trace.topk or ()
    yield from _cited(trace)


def _cited(trace: RetrievalTrace) -> Iterator[tuple[str, Sequence[Citation | str]]]:
    yield "answer_citations", trace.answer_citations or ()
    for field, answer in (("answer", trace.answer), ("answer_json", trace.answer_json)):
        if answer is not None and not isinstance(answer, str):
            yield f"{field}.citations", answer.citations or ()


def cited_ranges(trace: RetrievalTrace) -> list[Citation]:
    """The citations that are more than an id, under every key they may be written under."""
    return [one for _, some in _cited(trace) for one in some if not isinstance(one, str)]


def ranged(trace: RetrievalTrace) -> Iterator[tuple[str, Result | Citation, tuple[int, int]]]:
    """Every result and citation that has a range, with the field of that."""
    for field, some in _lists(trace):
        for nth, one in enumerate(some):
            if not isinstance(one, str) and one.offsets is not None:
                yield f"{field}[{nth}].offsets", one, one.offsets


def in_bytes(trace: RetrievalTrace, convert: Convert) -> Counted:
    """The trace with every range in bytes; one that nobody can convert is left out, and its id still counts."""
    left: list[str] = []

    def turned(one: _Ranged) -> _Ranged:
        if one.unit not in _CHARS or one.offsets is None or one.offsets[0] > one.offsets[1]:
            return one  # in bytes, or no range at all
        found = convert(one.id, one.offsets)
        left.extend([one.id] if found is None else [])
        return msgspec.structs.replace(one, offsets=found, unit=one.unit if found is None else None)

    def citing(citations: list[Citation | str] | None) -> list[Citation | str] | None:
        return citations and [one if isinstance(one, str) else turned(one) for one in citations]

    def answering(answer: Cited | None) -> Cited | None:
        return answer and msgspec.structs.replace(answer, citations=citing(answer.citations))

    changed = msgspec.structs.replace(
        trace,
        topk=trace.topk and [turned(one) for one in trace.topk],
        answer_citations=citing(trace.answer_citations),
        answer=trace.answer if isinstance(trace.answer, str) else answering(trace.answer),
        answer_json=answering(trace.answer_json),
    )
    return Counted(changed, len(left))


def byte_range(text: bytes, span: tuple[int, int]) -> tuple[int, int] | None:
    """Where characters are in UTF-8; None where the text is shorter.

    >>> byte_range("Käse und Öl".encode(), (4, 7)), byte_range(b"ab", (1, 9))
    ((5, 8), None)
    """
    begin, end = span
    letters = text.decode("utf-8", "replace")
    if not 0 <= begin <= end <= len(letters):
        return None
    first = len(letters[:begin].encode())
    return first, first + len(letters[begin:end].encode())
