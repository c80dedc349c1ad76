"""Rows as reports keep them: what is read is what was written, and whoever changes a row is found out."""

import copy
import json
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragworthy.rows import Rows, UnreadableError, decoded, encoded

WORDS = st.one_of(
    st.none(),
    st.integers(0, 1),
    st.fractions(0, 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.tuples(st.integers(0, 9), st.integers(0, 9)),
)


@st.composite
def tables(draw: st.DrawFn) -> Rows:
    qids = tuple(draw(st.lists(st.text(min_size=1), unique=True, max_size=90)))
    size = len(qids)

    def column(values: st.SearchStrategy[object]) -> tuple[object, ...]:
        return tuple(draw(st.lists(values, min_size=size, max_size=size)))

    slices = st.lists(st.sampled_from(["type=table", "topic=a b"]), unique=True, max_size=2).map(tuple)
    return Rows(
        qids,
        column(st.text(min_size=1)),  # type: ignore[arg-type]
        column(st.one_of(st.none(), st.sampled_from(["OK", "ERROR"]))),  # type: ignore[arg-type]
        column(st.one_of(st.none(), st.sampled_from(["missing", "below_k"]))),  # type: ignore[arg-type]
        column(st.integers(0, 5)),  # type: ignore[arg-type]
        column(slices),  # type: ignore[arg-type]
        {"m.a": column(WORDS), "m.b": column(WORDS)},  # type: ignore[dict-item]
        {"votes": column(st.one_of(st.none(), st.text()))},  # type: ignore[dict-item]
    )


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tables())
def test_what_is_read_is_what_was_written(rows: Rows) -> None:
    assert decoded(json.loads(json.dumps(encoded(rows)))) == rows


def small() -> Rows:
    return Rows(
        ("a", "b", "c"),
        ("d1", "d1", "d2"),
        ("OK", "ANS_NO_HIT", None),
        (None, "not_cited", None),
        (1, 3, 0),
        (("type=table",), (), ("type=table", "topic=x")),
        {"answers.precision": (True, Fraction(1, 3), None), "retrieval.delta_s_mean": (0.25, 0.5, None)},
    )


def test_few_different_values_take_one_character_a_question() -> None:
    body = encoded(small())
    assert body["words"]["answers.precision"] == {"values": ["1", "1/3"], "codes": "01-"}
    assert body["slices"] == {"values": ['["type=table","topic=x"]', '["type=table"]', "[]"], "codes": "120"}


def test_many_different_values_are_named_by_their_places() -> None:
    many = tuple(n / 100 for n in range(100))
    names = tuple(f"q{n}" for n in range(100))
    rows = Rows(names, names, (None,) * 100, (None,) * 100, (1,) * 100, ((),) * 100, {"m": many})
    body = encoded(rows)
    assert isinstance(body["words"]["m"]["codes"], list)
    assert decoded(body) == rows


@pytest.mark.parametrize("place", [("words", "answers.precision", "codes"), ("label", "codes"), ("cluster", "codes")])
def test_a_changed_row_is_found_out(place: tuple[str, ...]) -> None:
    body = copy.deepcopy(encoded(small()))
    inner = body
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = inner[place[-1]][::-1]
    with pytest.raises(UnreadableError, match="expected rows with the hash beside them, got rows that were changed"):
        decoded(body)


def test_rows_of_another_version_are_not_read() -> None:
    with pytest.raises(UnreadableError, match=r'expected "ragworthy\.rows/1", got other rows'):
        decoded(encoded(small()) | {"schema": "ragworthy.rows/2"})
    with pytest.raises(UnreadableError, match=r'expected "ragworthy\.rows/1", got no rows'):
        decoded(None)
