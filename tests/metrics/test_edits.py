"""Edit distances without rapidfuzz, held against rapidfuzz."""

from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz import fuzz, process
from rapidfuzz.distance import Levenshtein

from ragworthy.edits import distance, nearest, plain_distance, ratio

texts = st.text("abé北\ud800", max_size=80)


@given(texts, texts)
def test_the_distance_is_that_of_rapidfuzz(one: str, other: str) -> None:
    assert plain_distance(one, other) == Levenshtein.distance(one, other) == distance(one, other)


@given(texts, texts)
def test_the_ratio_is_that_of_rapidfuzz(one: str, other: str) -> None:
    assert abs(100 * ratio(one, other) - fuzz.ratio(one, other)) < 1e-9


@given(st.text("ab1", max_size=6), st.lists(st.text("ab1", max_size=6), max_size=12))
def test_the_nearest_are_those_of_rapidfuzz(text: str, others: list[str]) -> None:
    theirs = process.extract(text, others, scorer=fuzz.ratio, limit=3, score_cutoff=60)
    assert nearest(text, others, most=3, least=0.6) == [one for one, _, _ in theirs]
