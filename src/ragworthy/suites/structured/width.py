"""Points lost only because a sign is full-width in one text and half-width in the other.

In Chinese and Japanese it is the most common difference there is, and it says nothing about an answer. Definitions of
version 2 do not see it; for others the report says what it costs.
"""

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import msgspec

from ragworthy.metrics import grading
from ragworthy.metrics.context import Context
from ragworthy.metrics.definition import Definition
from ragworthy.metrics.kinds.base import Detail
from ragworthy.suites.evidence import Found
from ragworthy.suites.structured.mark import again
from ragworthy.text import nfkc, unspaced

MOST = 1_000
"""So many answers that lost points are compared once more."""
SAME = 'equal under NFKC: form = "nfkc"'


class Cost(NamedTuple):
    """What full-width characters cost."""

    points: Fraction
    qids: list[str]
    looked_at: int


def cost(found: Found) -> Cost:
    """The points that answers would gain if texts were compared under NFKC."""
    own = found.own
    kinder = _kinder(own.definition)
    if kinder == own.definition or own.job.reference:
        return Cost(Fraction(0), [], 0)
    places = [nth for nth, case in enumerate(found.cases) if case.facts.parts and case.facts.score < 100][:MOST]
    total, qids = Fraction(0), []
    for nth, (gold, output) in zip(places, again(own.job, own.marked, places), strict=True):
        known = grading.read(kinder, output, repair=own.job.repair)
        if output is None or not _wide(gold.expected, known.value, output.context):
            continue
        wanted = grading.wanted_of(kinder, gold.expected)
        again_scored = grading.score(kinder, wanted, known, Context(output.context or []))
        gained = again_scored.score - found.cases[nth].facts.score
        if gained > 0:
            total += gained
            qids.append(gold.name)
    return Cost(total, qids, len(places))


def _kinder(definition: Definition) -> Definition:
    """The same definition with every text compared under NFKC that is compared as it is written."""
    fields = tuple(
        field._replace(rules=field.rules._replace(form="nfkc"))  # type: ignore[attr-defined]  # every kind is a tuple
        if getattr(field.rules, "form", "") == "exact"
        else field
        for field in definition.fields
    )
    return definition._replace(fields=fields)


def _wide(*values: Any) -> bool:
    """Whether there is any text that NFKC changes; most have none, and need no second look."""
    texts = json.dumps(values, ensure_ascii=False, default=msgspec.to_builtins)
    return not texts.isascii() and nfkc(texts) != texts


def marked(details: Sequence[Detail], form: str) -> list[Detail]:
    """The lines of a comparison, with a word where two texts differ in the width of signs alone."""
    if form != "exact":
        return list(details)
    lost = {_bare(one.expected) for one in details if not one.good and one.expected is not None}
    got = {_bare(one.got) for one in details if not one.good and one.got is not None}
    same = (lost & got) - {""}

    def told(one: Detail) -> Detail:
        text = one.expected if one.expected is not None else one.got
        if one.good or text is None or _bare(text) not in same:
            return one
        return one._replace(note=f"{one.note}; {SAME}" if one.note else SAME)

    return [told(one) for one in details]


def _bare(text: str) -> str:
    return unspaced(nfkc(text))
