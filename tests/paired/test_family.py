"""Families of p-values and e-values, against the definitions gone through."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragworthy.paired import family

ps = st.lists(st.floats(0, 1), min_size=1, max_size=6)
es = st.lists(st.floats(0, 1000), min_size=1, max_size=6)


def test_the_known_example() -> None:
    assert family.holm([0.01, 0.04, 0.03, 0.005, 0.2]) == pytest.approx([0.04, 0.09, 0.09, 0.025, 0.2])
    assert family.holm([]) == family.e_holm([]) == []


@settings(deadline=None)
@given(ps)
def test_holm_is_bonferroni_over_every_group(values: list[float]) -> None:
    """Closed testing: a gate is proven when every group with it is, and a group is by its smallest p times its size."""
    for place, found in enumerate(family.holm(values)):
        assert found == pytest.approx(max(min(1, len(group) * min(group)) for group in groups(values, place)))


@settings(deadline=None)
@given(es)
def test_e_holm_is_the_mean_of_every_group(values: list[float]) -> None:
    for place, found in enumerate(family.e_holm(values)):
        assert found == pytest.approx(min(family.e_mean(group) for group in groups(values, place)), abs=1e-12)


def groups(values: list[float], place: int) -> list[list[float]]:
    others = values[:place] + values[place + 1 :]
    sizes = range(len(values))
    return [[values[place], *some] for size in sizes for some in itertools.combinations(others, size)]


def test_means_and_products_of_evidence() -> None:
    assert (family.e_mean([]), family.e_product([])) == (1, 1)
    assert family.e_mean([60.0, 0.0, 0.0]) == 20
    assert family.e_product([4.0, 5.0]) == 20
    assert family.e_product([1e300, 1e300]) == family.e_mean([1.7976931348623157e308] * 3) == 1.7976931348623157e308
