"""A second look at the records of operators: whether it comes to the same, and how far distances moved."""

import hashlib
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

import msgspec

from ragworthy.ids import natural
from ragworthy.metrics.facts.distance import exact
from ragworthy.records import Mark
from ragworthy.text import squeeze

SAMPLE = 10
"""One of so many records of each operator is looked at again."""
STEADY = Fraction("0.05")
"""So far a distance may be from the first one that was recorded."""


class Moved(NamedTuple):
    """A distance that was recorded again for the same snippet."""

    qid: str
    who: str
    """The operator or the auditor who recorded it again."""
    first: Fraction
    again: Fraction

    @property
    def by(self) -> Fraction:
        """How far it moved, whichever way."""
        return abs(self.again - self.first)


def record_of(mark: Mark) -> str:
    """The hash of a record: what it says, whatever the order of its keys, and however it spells ΔS."""
    said = {
        "qid": mark.name,
        "operator": mark.operator,
        "correct": mark.correct,
        "question": mark.question,
        "expected_snippet": mark.expected_snippet,
        "candidate_snippet": mark.candidate_snippet,
        "delta_s": mark.distance,
    }
    return hashlib.sha256(msgspec.json.encode(said, order="sorted")).hexdigest()


def drawn(marks: Sequence[Mark], seed: int) -> list[Mark]:
    """A tenth of the records of each operator, rounded up: which of them, the seed decides and nothing else."""
    by_operator: dict[str, list[Mark]] = {}
    for one in marks:
        by_operator.setdefault(one.operator, []).append(one)
    return [
        mark for operator in sorted(by_operator, key=natural) for mark in _some(by_operator[operator], operator, seed)
    ]


def _some(marks: Sequence[Mark], operator: str, seed: int) -> list[Mark]:
    chance = {
        one.name: hashlib.sha256(f"{seed}\0spot check\0{operator}\0{one.name}".encode()).digest() for one in marks
    }
    chosen = sorted(marks, key=lambda one: chance[one.name])[: wanted(len(marks))]
    return sorted(chosen, key=lambda one: natural(one.name))


def wanted(records: int) -> int:
    """How many of so many records of an operator are looked at again.

    >>> wanted(0), wanted(1), wanted(10), wanted(11)
    (0, 1, 1, 2)
    """
    return -(-records // SAMPLE)


def lacking(marks: Iterable[Mark], audits: Iterable[Mark]) -> dict[str, int]:
    """How many records of each operator still want a second look; nobody who has had enough."""
    made, seen = _by_operator(marks), _by_operator(audits)
    few = {operator: wanted(count) - seen.get(operator, 0) for operator, count in made.items()}
    return {operator: few[operator] for operator in sorted(few, key=natural) if few[operator] > 0}


def _by_operator(marks: Iterable[Mark]) -> dict[str, int]:
    found: dict[str, int] = {}
    for one in marks:
        found[one.operator] = found.get(one.operator, 0) + 1
    return found


def moves(marks: Iterable[Mark], audits: Iterable[Mark]) -> list[Moved]:
    """Every distance that was recorded again: by another operator for the same snippet, or in a second look.

    An operator is compared with the first who recorded it, a second look against the record that it looks at.
    """
    first: dict[tuple[str, str], Fraction] = {}
    own: dict[tuple[str, str], Fraction] = {}
    found = []
    for one in marks:
        if one.distance is None:
            continue
        now, key = exact(one.distance), (one.name, squeeze(one.candidate_snippet or "").casefold())
        own[one.name, one.operator] = now
        if key in first:
            found.append(Moved(one.name, one.operator, first[key], now))
        first.setdefault(key, now)
    for again in audits:
        before = own.get((again.name, again.operator))
        if again.distance is not None and before is not None:
            found.append(Moved(again.name, again.auditor or "", before, exact(again.distance)))
    return found


def sheet(marks: Sequence[Mark], seed: int, records: str) -> list[dict[str, object]]:
    """Records drawn for a second look, without the mark and the ΔS of the first; what is to be filled in is null."""
    return [
        {
            "qid": one.name,
            "operator": one.operator,
            "question": one.question,
            "expected_snippet": one.expected_snippet,
            "candidate_snippet": one.candidate_snippet,
            "record": record_of(one),
            "records": records,
            "auditor": None,
            "correct": None,
            "delta_s": None,
            "notes": None,
        }
        for one in drawn(marks, seed)
    ]
