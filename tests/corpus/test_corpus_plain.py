"""Plain text: headings by their numbers and what is rejected, tables by columns, code by indentation."""

import pytest

from ragworthy.corpus import assemble, plain
from ragworthy.corpus.model import Document


def made(text: str) -> Document:
    return assemble.document("a.txt", "a.txt", plain.read(text), 2000)


def titles(text: str) -> list[tuple[str, str]]:
    return [(section.section_id, section.title) for section in made(text).sections if section.section_id != "0"]


def blocks(text: str) -> list[tuple[str, str]]:
    return [(chunk.type or "", chunk.text) for chunk in made(text).chunks]


def test_numbered_headings_make_the_outline() -> None:
    text = (
        "Preface text.\n\nChapter 1\n\nIn it.\n\n1.1  Scope\n\nbody\n\n1.1.1 Deep\n\n"
        "1.1.1.1.1.1.1 Too deep\n\n1.2 More\n\n"
        "Chapter II: Next\n\nAppendix A\n\nA.1 First\n\nA.2 Second\n\nAppendix B - Terms\n"
    )
    assert titles(text) == [
        ("1", "Chapter 1"),
        ("1.1", "1.1 Scope"),
        ("1.1.1", "1.1.1 Deep"),
        ("1.1.1.1", "1.1.1.1.1.1.1 Too deep"),
        ("1.2", "1.2 More"),
        ("2", "Chapter II: Next"),
        ("3", "Appendix A"),
        ("3.1", "A.1 First"),
        ("3.2", "A.2 Second"),
        ("4", "Appendix B - Terms"),
    ]


def test_letters_lie_below_numbers() -> None:
    assert titles("1. Start\n\nA) Ways\n\nB) Means\n\n2. End\n") == [
        ("1", "1. Start"),
        ("1.1", "A) Ways"),
        ("1.2", "B) Means"),
        ("2", "2. End"),
    ]
    assert titles("A. Ways\n\nx\n\nB. Means\n") == [("1", "A. Ways"), ("2", "B. Means")]


def test_a_strong_heading_may_stand_right_above_its_text() -> None:
    assert titles("2.1 Limits\nNobody may\nask for more.\n") == [("1", "2.1 Limits")]
    assert blocks("2.1 Limits\nNobody may\nask for more.\n") == [("prose", "Nobody may ask for more.")]


@pytest.mark.parametrize(
    "line",
    [
        "1. This is a sentence.",
        "2.1 It ends here。",
        "1.2 million people live there\nin the city",
        "1. install the package",
        "3.1 ... *** --- ///",
        "1.1 Scope ........ 12",
        "1.1 Scope   12",
        "1.2",
        "2024-01-01 Release",
        "Chapter 3 describes the limits",
        "1. one\n2. two\n3. three",
        "1.1 " + "word " * 30,
        "    1.1 Code comment",
        "Figure 1: a map",
        "```\n1.1 In code\n```",
    ],
)
def test_what_is_no_heading(line: str) -> None:
    assert titles(f"Text.\n\n{line}\n\nMore.\n") == []


def test_a_table_of_contents_is_not_the_outline() -> None:
    text = "Contents\n\n1. One\n\n2. Two\n\n1. One\n\nbody one\n\n2. Two\n\nbody two\n"
    assert titles(text) == [("1", "1. One"), ("2", "2. Two")]
    assert [chunk.section_id for chunk in made(text).chunks] == ["0", "0", "0", "1", "2"]
    # a heading of that name without a list under it changes nothing
    assert titles("Contents\n\n1. One\n\nx\n\n2. Two\n") == [("1", "1. One"), ("2", "2. Two")]


def test_references_are_not_headings() -> None:
    text = "6. End\n\nx\n\n7. References\n\n1. Smith, On Things\n\n2. Jones, More Things\n\n8. Index\n\nAppendix A\n"
    assert [title for _, title in titles(text)] == ["6. End", "7. References", "8. Index", "Appendix A"]


@pytest.mark.parametrize(
    ("text", "canonical", "attrs"),
    [
        ("name,size\na,1\nb,2\n", "name,size\na,1\nb,2", (2, 2, 1, "csv")),
        ("x\t1\ny\t2\nz  z\t3\n", "x\t1\ny\t2\nz z\t3", (3, 2, 0, "csv")),
        ("a;b;c\nd;e;f\ng;h\n", "a;b;c\nd;e;f", None),
        ("a | b\n--|--\n1 | 2\n", "a | b\n--|--\n1 | 2", (1, 2, 1, "markdown")),
        (
            "name, size, kind\na, 1, x\nb, 2, y\nc, 3, z\n",
            "name, size, kind\na, 1, x\nb, 2, y\nc, 3, z",
            (3, 3, 1, "csv"),
        ),
    ],
)
def test_tables(text: str, canonical: str, attrs: tuple[int, int, int, str] | None) -> None:
    first = made(text).chunks[0]
    if attrs is None:  # two like rows are not a table
        assert first.type == "prose"
        return
    assert (first.type, first.text) == ("table", canonical)
    assert first.attrs == dict(zip(("rows", "cols", "header_rows", "grid_kind"), attrs, strict=True))


@pytest.mark.parametrize(
    "text",
    [
        "When it rains, it pours,\nand when it pours, we stay\nat home, warm and dry.\n",
        "The first, the second, and\nthe third, as well as\nthe fourth, they said\n",
        "one, two\nthree, four\n",
    ],
)
def test_sentences_with_commas_are_no_table(text: str) -> None:
    assert [kind for kind, _ in blocks(text)] == ["prose"]


def test_a_table_in_the_middle_of_a_paragraph() -> None:
    assert blocks("Sizes are:\na,1,x\nb,2,y\nc,3,z\nThat is all.\n") == [
        ("prose", "Sizes are:"),
        ("table", "a,1,x\nb,2,y\nc,3,z"),
        ("prose", "That is all."),
    ]


def test_indented_code_lists_and_paragraphs() -> None:
    text = "Run:\n\n    make  all\n\n\n    make test\n\n    - not code\n    - a list\n\n   three spaces\nare prose\n"
    assert blocks(text) == [
        ("prose", "Run:"),
        ("code", "    make  all\n\n\n    make test"),
        ("prose", "- not code\n- a list"),
        ("prose", "three spaces are prose"),
    ]


def test_lists_keep_their_lines_and_formulas_are_formulas() -> None:
    assert blocks("* one\n  goes on\n* two\n\n$$ a = b $$\n") == [
        ("prose", "* one goes on\n* two"),
        ("formula", "$$ a = b $$"),
    ]
