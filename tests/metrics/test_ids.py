"""Ids: the forms, their sections, their order, and the distance between sections."""

import random
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ragworthy import ids
from ragworthy.ids import TYPE_TAGS, Id, parse, section_key
from ragworthy.metrics.facts.placed import Place, place_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "whitepaperX|r=8c1e9a02|s=3.2|p=014|b=006",
            Id("pipe", "whitepaperX", "3.2", None, 14, 6, None, "8c1e9a02"),
        ),
        ("d|r=8c1e9a02ffee|s=3.2|p=014|b=006", Id("pipe", "d", "3.2", None, 14, 6, None, "8c1e9a02ffee")),
        ("guide/a b.md|s=0|p=000|b=001", Id("pipe", "guide/a b.md", "0", None, 0, 1, None, None)),
        ("d|s=p014|p=014|b=1234", Id("pipe", "d", "p014", None, 14, 1234, None, None)),
        ("d|s=1|p=000|b=007aa", Id("pipe", "d", "1", None, 0, 7, "aa", None)),
        ("S.4.2.p.Bk011a", Id("dotted", None, "S.4.2", "p", None, 11, "a", None)),
        ("S.4.2.t.bK011", Id("dotted", None, "S.4.2", "t", None, 11, None, None)),
        ("A.3.1.bk012", Id("dotted", None, "A.3.1", None, None, 12, None, None)),
        ("B.2.bk045", Id("dotted", None, "B.2", None, None, 45, None, None)),
        ("p1#2", Id("hash", "p1", "p1", None, None, 2, None, None)),
        ("normans#0", Id("hash", "normans", "normans", None, None, 0, None, None)),
        ("C#.md#3", Id("hash", "C#.md", "C#.md", None, None, 3, None, None)),
        ("docA#s03#p002", Id("hash", "docA", "docA#s03", None, None, 2, None, None)),
        ("c_00123", Id("opaque")),
        ("S-114", Id("opaque")),
        ("hb24-sec-keys-0007", Id("opaque")),
        ("", Id("opaque")),
        # broken ids of a known shape are opaque, never half read
        ("d|r=8c1e9a0|s=1|p=000|b=001", Id("opaque")),
        ("d|p=000|s=1|b=001", Id("opaque")),
        ("|s=1|p=000|b=001", Id("opaque")),
        ("a|b|s=1|p=000|b=001", Id("opaque")),
        ("d|s=1..2|p=000|b=001", Id("opaque")),
        ("d|s=1|p=000|b=001\n", Id("opaque")),
        ("d|s=१|p=000|b=001", Id("opaque")),
        ("S.4.2.x.Bk011", Id("opaque")),
        ("S.p.Bk011", Id("opaque")),
        ("#2", Id("opaque")),
        ("p1#", Id("opaque")),
    ],
)
def test_every_form(text: str, expected: Id) -> None:
    assert ids.parse(text) == expected
    assert ids.section_of(text) == expected.section


def test_w34_sections_and_stable_ids() -> None:
    assert ids.section_of("S.4.2.p.Bk011a") == "S.4.2"
    assert ids.section_of("docA|r=8c1e9a02|s=1.2.3|p=002|b=007") == "1.2.3"
    assert ids.section_of("p1#2") == "p1"
    assert ids.stable("docA|r=8c1e9a02|s=1.2.3|p=002|b=007") == "docA|s=1.2.3|p=002|b=007"
    for text in ("docA|s=1.2.3|p=002|b=007", "p1#2", "x|r=nothex00|s=1|p=000|b=001", "S.4.2.p.Bk011a"):
        assert ids.stable(text) == text


def test_w34_natural_order() -> None:
    assert sorted(["1.1", "1.2", "1.10"]) == ["1.1", "1.10", "1.2"]
    assert sorted(["1.10", "1.2", "1.1"], key=ids.natural) == ["1.1", "1.2", "1.10"]


def test_natural_order_is_reading_order() -> None:
    sections = ["0", "1", "1.1", "1.1.1", "1.2", "1.10", "2", "10", "10.1"]
    reading = [
        ids.pipe(doc, section, block, part)
        for doc in ("a2.md", "a10.md", "b.md")
        for section in sections
        for block in (1, 2, 999, 1000)
        for part in ("", *map(ids.part_letters, range(0, 60, 7)))
    ]
    shuffled = reading[:]
    random.Random(4).shuffle(shuffled)
    assert sorted(shuffled, key=ids.natural) == reading


def test_numbers_of_any_length_are_ordered() -> None:
    long = "9" * 5000
    assert ids.natural("a" + long) < ids.natural("a1" + long)
    assert ids.parse(f"p1#{long}").block is None


@given(st.lists(st.text(alphabet="019.|#abkBS=pé", max_size=12), max_size=8))
def test_natural_is_a_total_order(texts: list[str]) -> None:
    assert len({ids.natural(text) for text in texts}) == len(set(texts))
    assert sorted(texts, key=ids.natural) == sorted(sorted(texts), key=ids.natural)


@given(st.text())
def test_any_text_has_an_id_form(text: str) -> None:
    found = ids.parse(text)
    assert (found.form == "opaque") == (found.section is None)
    assert ids.section_key(ids.section_key(text)) == ids.section_key(text)
    assert ids.stable(ids.stable(text)) == ids.stable(text)


@given(
    st.text(st.characters(exclude_characters="|\n\r", exclude_categories=["Cs"]), min_size=1),
    st.lists(st.integers(0, 40), min_size=1, max_size=6),
    st.integers(1, 5000),
    st.one_of(st.none(), st.integers(0, 2000)),
)
def test_built_ids_are_read_back(doc: str, path: list[int], block: int, part: int | None) -> None:
    section = ".".join(map(str, path))
    letters = "" if part is None else ids.part_letters(part)
    text = ids.pipe(doc, section, block, letters)
    assert ids.parse(text) == Id("pipe", doc, section, None, 0, block, letters or None, None)
    assert ids.stable(text.replace("|s=", "|r=0123abcd|s=", 1)) == text


def test_same_section_under_both_names() -> None:
    assert ids.section_key("S.4.2") == ids.section_key(" 4.2 ") == "4.2"
    assert ids.section_key("guide.md|s=S.4.2") == ids.section_key("guide.md|s=4.2")
    assert ids.section_key("A.4.2") != ids.section_key("4.2")
    assert ids.section_key("S.x") == "S.x"
    assert ids.section_key("normans/p000") == "normans/p000"


W27 = [
    ("S.4.2", "S.4.2", 0),
    ("S.4", "S.4.2", 1),
    ("S.4.2.1", "S.4.2", 1),
    ("S.4.1", "S.4.2", 2),
    ("S.4.10", "S.4.1", 2),
    ("S.5", "S.4.2", 3),
]


@pytest.mark.parametrize(("a", "b", "distance"), W27)
def test_w27_tree_distance(a: str, b: str, distance: int) -> None:
    assert ids.tree_distance(a, b) == ids.tree_distance(b, a) == distance
    assert ids.tree_distance(a.removeprefix("S."), b) == distance
    assert ids.tree_distance(f"d|s={a}", b) == distance
    assert ids.tree_distance(f"d|s={a}", f"d|s={b}") == distance


def test_w27_mean() -> None:
    cited = ["S.4.2", "S.4.1", "S.5"]
    assert Fraction(sum(ids.tree_distance(section, "S.4.2") for section in cited), 3) == Fraction(5, 3)


def test_distance_of_named_sections() -> None:
    assert ids.tree_distance("normans/p000", "normans/p000") == 0
    assert ids.tree_distance("normans/p000", "normans/p001") == 2
    assert ids.tree_distance("normans", "normans/p001") == 1
    assert ids.tree_distance("normans/p000", "sky/p000") == 4
    assert ids.tree_distance("a.md|s=1.2", "b.md|s=1") == 5
    assert ids.tree_distance("4.02", "4.2") == 0


PATH = st.lists(st.integers(1, 3), min_size=1, max_size=5).map(lambda path: ".".join(map(str, path)))


@given(PATH, PATH, PATH)
def test_tree_distance_is_a_metric(a: str, b: str, c: str) -> None:
    assert (ids.tree_distance(a, b) == 0) == (a == b)
    assert ids.tree_distance(a, b) == ids.tree_distance(b, a)
    assert ids.tree_distance(a, c) <= ids.tree_distance(a, b) + ids.tree_distance(b, c)


PIECES = (
    "doc",
    "guide.md",
    "|s=",
    "|p=",
    "|b=",
    "|r=",
    "|o=",
    "|",
    "#",
    "#s",
    "#p",
    "S.",
    "p.",
    "Bk",
    "c_",
    "t",
    "a",
    ".",
)


@given(st.lists(st.sampled_from((*PIECES, "1", "2.3", "007", "0")), min_size=1, max_size=8).map("".join))
@example("docA#s03")
@example("guide.md|s=1.2|p=003|b=10")
def test_where_an_id_stands_does_not_depend_on_the_number_at_its_end(name: str) -> None:
    """Places are looked up by the id without that number; here they follow from the whole id."""
    whole = parse(name)
    section = section_key(whole.section) if whole.section else None
    opaque = whole.form == "opaque"
    expected = Place(None, None) if opaque else Place(whole.doc, section, TYPE_TAGS.get(whole.type or ""))
    assert place_of(name) == expected
