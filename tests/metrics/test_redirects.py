"""Following ids and offsets through redirect tables (W-34, W-52)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragworthy.errors import DataError
from ragworthy.metrics.facts.redirects import (
    SCHEMA,
    DocumentRedirects,
    Part,
    Place,
    Redirect,
    Redirects,
    Table,
    redirect_coverage,
)


def shift(old: str, new: str, conf: float = 1.0, **fields: Any) -> Redirect:
    row: dict[str, Any] = {"move": "shift", "old_off": (0, 10), "new_off": (100, 110), "conf": conf} | fields
    return Redirect(old_block_id=old, new_block_id=new, **row)


def split(old: str, *new: str) -> Redirect:
    parts = tuple(Part(id, (100 * n, 100 * n + 5)) for n, id in enumerate(new, start=1))
    return Redirect(old_block_id=old, new_block_id=new[0], move="split", old_off=(0, 10), new_parts=parts, conf=0.95)


def gone(old: str) -> Redirect:
    return Redirect(old_block_id=old, new_block_id=None, move="unmapped", old_off=(0, 10), conf=0.0)


def table(start: str, end: str, *rows: Redirect) -> Table:
    return Table(SCHEMA, start, end, (DocumentRedirects("d", None, None, rows, 1000, 1000),))


def through(*tables: Table) -> Redirects:
    return Redirects.from_tables(tables)


def test_one_step() -> None:
    redirects = through(table("1", "2", shift("a", "b"), split("c", "d", "e"), gone("f")))
    assert redirects.resolve("a") == ("b",)
    assert redirects.resolve("c") == ("d", "e")
    assert redirects.resolve("f") == ()
    assert redirects.resolve("never heard of") == ("never heard of",)
    assert redirects.versions == ("1", "2")


def test_ids_of_one_table_are_not_followed_twice() -> None:
    """Every block moved down by one: b=001 is b=002 now, and not the last one."""
    redirects = through(table("1", "2", shift("p#1", "p#2"), shift("p#2", "p#3"), shift("p#3", "p#4")))
    assert [redirects.resolve(f"p#{n}") for n in (1, 2, 3)] == [("p#2",), ("p#3",), ("p#4",)]


def test_chains() -> None:
    first = table("1", "2", split("a", "b", "c"), shift("x", "y"))
    second = table("2", "3", shift("b", "b2"), split("c", "c1", "c2"), gone("y"), shift("late", "later"))
    third = table("3", "4", shift("b2", "m", 0.89), shift("c1", "m"))
    redirects = through(first, second, third)
    assert redirects.resolve("a") == ("m", "c2")
    assert redirects.resolve("x") == ()
    assert redirects.resolve("late") == ("later",)  # came with version 2
    way = redirects.follow("a")
    assert (way.moves, way.move, way.conf, way.risky) == (
        ("split", "shift", "split", "shift", "shift"),
        "split",
        0.89,
        True,
    )
    assert through(third, first, second).resolve("a") == ("m", "c2")  # given in any order
    assert redirects.versions == ("1", "2", "3", "4")


def test_no_tables_at_all() -> None:
    assert through().resolve("a") == ("a",)
    assert through().follow("a").move == ""


def test_the_revision_in_an_id_does_not_matter() -> None:
    """W-34: citations are compared by the id without r=."""
    redirects = through(table("1", "2", shift("docA|s=1.2.3|p=002|b=007", "docA|s=1.2.3|p=002|b=008")))
    assert redirects.resolve("docA|r=8c1e9a02|s=1.2.3|p=002|b=007") == ("docA|s=1.2.3|p=002|b=008",)


@pytest.mark.parametrize(
    ("tables", "way"),
    [
        ([("1", "2"), ("2", "1")], '"1" → "2" → "1"'),
        ([("1", "2"), ("2", "3"), ("3", "2")], '"1" → "2" → "3" → "2"'),
        ([("0", "1"), ("5", "6"), ("6", "5")], '"5" → "6" → "5"'),
        ([("1", "1")], '"1" → "1"'),
    ],
)
def test_circles(tables: list[tuple[str, str]], way: str) -> None:
    with pytest.raises(DataError) as error:
        through(*(table(start, end, shift("a", "b")) for start, end in tables))
    assert str(error.value).splitlines() == [
        f"redirects: expected versions that lead to a newest one, got {way} [RW-M02]",
        "  redirect_circle: Give the tables in the order of the versions, oldest first.",
    ]


def test_a_version_that_stayed_the_same_is_no_circle() -> None:
    still = table("2", "2", shift("b", "b"))
    assert through(still).resolve("b") == ("b",)
    assert through(table("1", "2", shift("a", "b")), still).resolve("a") == ("b",)


@pytest.mark.parametrize("tables", [[("1", "2"), ("3", "4")], [("1", "2"), ("1", "3")], [("1", "3"), ("2", "3")]])
def test_tables_that_do_not_follow_one_another(tables: list[tuple[str, str]]) -> None:
    with pytest.raises(DataError) as error:
        through(*(table(start, end, shift("a", "b")) for start, end in tables))
    steps = ", ".join(f'"{start}" → "{end}"' for start, end in tables)
    assert str(error.value).splitlines() == [
        f"redirects: expected tables of which each goes on where one ends, got {steps} [RW-M03]",
        "  redirects_apart: Give one table for each step from the oldest version to the newest.",
    ]


# offsets


def test_offsets_of_a_block_that_moved() -> None:
    redirects = through(table("1", "2", shift("a", "b")))
    assert redirects.places("a", (0, 10)) == (Place("b", (100, 110), True),)
    assert redirects.places("a", (2, 5)) == (Place("b", (102, 105), True),)
    assert redirects.places("a", (2, 50)) == (Place("b", (102, 110), True),)  # as far as the block goes
    assert redirects.places("a", (20, 30)) == (Place("b", (100, 110), False),)  # not in the block
    assert redirects.places("z", (2, 5)) == (Place("z", (2, 5), True),)


def test_offsets_of_an_edited_block_follow_its_runs() -> None:
    """Old [0, 10): bytes 0–4 moved to 100–104, bytes 6–10 to 120–124; between them nothing is left."""
    row = shift("a", "b", 0.8, new_off=(100, 124), runs=((0, 100, 4), (6, 120, 4)))
    redirects = through(table("1", "2", row))
    assert redirects.places("a", (1, 3)) == (Place("b", (101, 103), True),)
    assert redirects.places("a", (2, 8)) == (Place("b", (102, 122), True),)
    assert redirects.places("a", (3, 5)) == (Place("b", (103, 104), True),)
    assert redirects.places("a", (4, 6)) == (Place("b", (100, 124), False),)
    assert redirects.places("a", (0, 10)) == (Place("b", (100, 124), True),)  # the whole block stays the whole block


def test_offsets_of_a_merged_block_are_its_part_of_the_new_one() -> None:
    row = shift("a", "b", move="merge", new_off=(100, 160), runs=((0, 130, 10),))
    assert through(table("1", "2", row)).places("a", (0, 10)) == (Place("b", (130, 140), True),)


def test_offsets_of_a_split_block_go_to_the_part_that_holds_them() -> None:
    parts = (Part("b", (100, 105), ((0, 100, 5),)), Part("c", (200, 205), ((5, 200, 5),)))
    row = Redirect(old_block_id="a", new_block_id="b", move="split", old_off=(0, 10), new_parts=parts, conf=1.0)
    redirects = through(table("1", "2", row))
    assert redirects.places("a", (6, 8)) == (Place("c", (201, 203), True),)
    assert redirects.places("a", (4, 6)) == (Place("b", (104, 105), True), Place("c", (200, 201), True))
    assert redirects.places("a", (0, 10)) == (Place("b", (100, 105), True), Place("c", (200, 205), True))


def test_offsets_without_runs_in_a_table_of_others() -> None:
    redirects = through(table("1", "2", shift("a", "b", 0.9, new_off=(100, 130)), split("c", "d", "e"), gone("f")))
    assert redirects.places("a", (2, 5)) == (Place("b", (100, 130), False),)
    assert redirects.places("c", (2, 5)) == (Place("d", (100, 105), False), Place("e", (200, 205), False))
    assert redirects.places("f", (2, 5)) == ()


def test_offsets_through_a_chain() -> None:
    first = table("1", "2", shift("a", "b"))
    second = table("2", "3", shift("b", "c", old_off=(100, 110), new_off=(40, 50)))
    assert through(first, second).places("a", (3, 4)) == (Place("c", (43, 44), True),)


# coverage


@pytest.mark.parametrize(("lost", "reached"), [(0, True), (1, True), (2, False)])
def test_w52_coverage_of_200(lost: int, reached: bool) -> None:
    """W-52: 199 of 200 is enough, 198 is not."""
    rows = [gone(f"o{n}") if n < lost else shift(f"o{n}", f"n{n}") for n in range(200)]
    found = redirect_coverage(
        through(table("1", "2", *rows)), [f"o{n}" for n in range(200)], {f"n{n}" for n in range(200)}
    )
    assert (found.num, found.den, found.reached) == (200 - lost, 200, reached)
    assert found.lost == tuple(f"o{n}" for n in range(lost))


def test_an_id_counts_only_when_it_leads_to_a_live_block() -> None:
    redirects = through(table("1", "2", shift("a", "b"), split("c", "d", "e")))
    assert redirect_coverage(redirects, ["a", "c", "live", "dead"], {"e", "live"}) == (2, 4, ("a", "dead"))
    assert redirect_coverage(redirects, ["docA|r=8c1e9a02|s=1|p=000|b=001"], {"docA|s=1|p=000|b=001"}).reached
    assert not redirect_coverage(redirects, [], {"e"}).reached


@given(st.permutations(range(8)), st.permutations(range(8)))
def test_two_steps_are_the_two_steps(first: list[int], second: list[int]) -> None:
    one = table("1", "2", *(shift(f"p{a}", f"p{b}") for a, b in enumerate(first)))
    two = table("2", "3", *(shift(f"p{a}", f"p{b}") for a, b in enumerate(second)))
    assert [through(one, two).resolve(f"p{a}") for a in range(8)] == [(f"p{second[first[a]]}",) for a in range(8)]
