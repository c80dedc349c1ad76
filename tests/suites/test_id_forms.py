"""Ids that differ in form: only those that may be a form of another are taken to pieces, and nothing is missed."""

from hypothesis import given, settings
from hypothesis import strategies as st

from ragworthy.suites.id_forms import Forms, Pair, alike

PIECES = st.sampled_from(
    ["bucket", "Buckets", "doc", "a", "md", "S", "Ä", "ä3", "²", "٣", "0", "00", "7", "07", "12", "ß", "İs"]
)
BETWEEN = st.sampled_from(["", "#", "-", "/", ".", "|s="])
IDS = st.lists(st.tuples(PIECES, BETWEEN).map("".join), min_size=1, max_size=5).map("".join)


def among_all(names: list[str], others: set[str]) -> Pair | None:
    """Every id taken to pieces."""
    forms = Forms(sorted(others))
    return next((Pair(name, meant) for name in names if (meant := forms.meant(name)) is not None), None)


@settings(max_examples=1000)
@given(st.lists(IDS, max_size=4), st.sets(IDS, max_size=8))
def test_the_same_pair_is_found_as_among_all_ids(names: list[str], others: set[str]) -> None:
    assert alike(names, others) == among_all(names, others)


def test_zeros_and_case_are_form_and_other_numbers_are_not() -> None:
    others = {"docs/Buckets.md#02", "docs/limits.md#20", *(f"d{nth}#{nth}" for nth in range(50))}
    assert alike(["bucket-2"], others) == Pair("bucket-2", "docs/Buckets.md#02")
    assert alike(["bucket-3", "bucket-22"], others) is None
