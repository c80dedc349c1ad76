"""Ids of questions are found by halving where that is cheaper than an index of all; both find the same."""

import random

import pytest

from ragworthy.suites.answers.parallel.ids import FEW, Ids

RISING = [f"q{number:04d}" for number in range(0, 4000, 2)]


def entered(ids: list[str], size: int = 700) -> tuple[Ids, int]:
    known = Ids()
    return known, sum(known.enter(ids[at : at + size]) for at in range(0, len(ids), size))


@pytest.mark.parametrize("order", ["rising", "shuffled", "repeated"])
def test_every_way_finds_the_last_row_of_an_id(order: str) -> None:
    ids = RISING.copy()
    if order == "shuffled":
        random.Random(3).shuffle(ids)
    if order == "repeated":
        ids += ids[:5]
    rows = {one: row for row, one in enumerate(ids)}
    for asked in (1, len(ids) // FEW + 1):
        known, repeated = entered(ids)
        assert (known.rising, repeated) == (order == "rising", 5 * (order == "repeated"))
        find = known.finder(asked)
        for wanted in (*ids, "q0001", "q9999", "", "a", None):
            assert find(wanted) == (None if wanted is None else rows.get(wanted)), wanted
        assert known.index == rows


def test_many_questions_are_worth_an_index() -> None:
    known, _ = entered(RISING)
    most = len(RISING) // FEW
    assert known.finder(most - 1) != known.index.get
    assert known.finder(2) == known.index.get


def test_an_empty_id_is_told_from_a_repeated_one() -> None:
    known = Ids()
    assert (known.enter(["a", "b"]), known.nameless) == (0, False)
    assert (known.enter(["", "c"]), known.nameless) == (0, False)
    assert (known.enter(["", "a"]), known.nameless) == (2, True)
