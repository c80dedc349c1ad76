"""Usual claims and citations take a short way to their flags; the long way gives the same."""

from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ragworthy.metrics.facts import answers as f
from ragworthy.records import Answer, Gold, Trace

LETTERS = "abAB Σσς\u00e9e\u0301E\u0130ß\ufb01\u212b京."
PIECES = ("ΑΒΣ de", "straße", "cafe\u0301 au", "caf\u00e9 au", "İstan", "plain text", "…plain", "–––––")
IDS = ("a#1", "a#2", "b", "c")


def both_ways(gold: Gold, trace: Trace, ks: tuple[int, ...] = (2,)) -> tuple[int, int]:
    """The flags as they are, and those of an item that the short way does not take: it asks for all of nothing."""
    flags = f.trace_flags(f.Rules(ks=ks))
    return flags(gold, trace), flags(msgspec.structs.replace(gold, gold_claim_all=[]), trace)


def one(piece: str, claim: str | None, cited: Any = None, wanted: list[str] | None = None, **more: Any) -> list[Any]:
    gold = Gold(answerable=True, gold_claim_substr=[piece], gold_citations=wanted, **more)
    return [gold, Trace(qid="q", retrieved_ids=list(IDS[:3]), answer_json=Answer(claim, cited))]


@given(st.sampled_from(PIECES), st.text(LETTERS, max_size=20), st.text(LETTERS, max_size=20), st.booleans())
def test_claims_in_any_letters(piece: str, before: str, after: str, upper: bool) -> None:
    said = piece.upper() if upper else piece
    short, long = both_ways(*one(piece, before + said + after, ["b"], ["b"]))
    assert short == long


@pytest.mark.parametrize("claim", ["Αυτός είναι ο ΝΟΜΟΣ.", "Αυτός είναι ο ΝΟΜΟΣΤΑΣΙΟ.", "Αυτό είναι ο νομος, νομοσ."])
def test_a_final_sigma(claim: str) -> None:
    short, long = both_ways(*one("ΝΟΜΟΣ", claim))
    assert short == long


ids = st.lists(st.sampled_from(IDS), max_size=4)


@example(["a#1"], ["a#1"], ["c", "a#1"], True)
@example(["a#1"], ["a#1"], ["c", "b", "a#1"], True)
@example(["a#1", "a#1"], ["a#1", "a#1"], ["a#1"], True)
@example(["a#1", "b"], ["a#1", "b"], ["b", "a#1"], True)
@example(["a#1", "b"], ["a#1", "b"], ["b", "a#1"], False)
@given(ids | st.sampled_from([None, "b", ["a#1", 5], [{}]]), ids | st.none(), ids | st.none(), st.booleans())
def test_citations(cited: Any, wanted: list[str] | None, retrieved: list[str] | None, answerable: bool) -> None:
    gold, trace = one("plain text", "It is plain text, really.", cited, wanted)
    gold = msgspec.structs.replace(gold, answerable=answerable)
    trace = msgspec.structs.replace(trace, retrieved_ids=retrieved)
    for ks in ((2,), (1, 3)):
        for some in (gold, msgspec.structs.replace(gold, gold_groups=[[one] for one in wanted or ()] or None)):
            short, long = both_ways(some, trace, ks)
            assert short == long
