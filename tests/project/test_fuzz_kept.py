"""Every case that the fuzz harness ever failed on, run again with the same checks (tests/fuzz/kept)."""

from collections.abc import Iterator

import pytest

from fuzz.case import Case
from fuzz.keep import kept_cases
from fuzz.pool import Pool

KEPT = kept_cases()


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool() as one:
        yield one


def test_there_are_kept_cases() -> None:
    assert KEPT


@pytest.mark.parametrize("case", KEPT.values(), ids=KEPT.keys())
def test_a_case_that_failed_once_ends_in_an_orderly_way(case: Case, pool: Pool) -> None:
    result = pool.case(case)
    assert result.problem == "", f"{result.problem} {result.blame}\n{case.about}; it was: {case.wrong}"
