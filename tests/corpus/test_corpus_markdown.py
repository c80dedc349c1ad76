"""Markdown: which blocks are found, of which type, and how their canonical text looks."""

from typing import Any

import pytest

from ragworthy.corpus import assemble, markdown
from ragworthy.corpus.model import Document


def made(text: str, limit: int = 2000) -> Document:
    return assemble.document("a.md", "a.md", markdown.read(text), limit)


def blocks(text: str) -> list[tuple[str, str]]:
    return [(chunk.type or "", chunk.text) for chunk in made(text).chunks]


def attrs(text: str) -> list[dict[str, Any] | None]:
    return [chunk.attrs for chunk in made(text).chunks]


def test_canonical_text_keeps_the_markup_and_one_empty_line() -> None:
    source = (
        '\ufeff---\ntitle: "Swarm"\nsort_rank: 1\n---\n\n\n# Docker  Swarm   #\nA first\nparagraph   that is con-\n'
        "tinued.\n\n\n\n## Set up { #set-up }\n```sh\n\techo  1\n\n\n  x\n```\n|a  |  b|\n|---|:-:|\n|1   2|x|\n"
    )
    document = made(source)
    assert document.title == "Swarm"
    assert document.text == (
        "# Docker Swarm #\n\nA first paragraph that is continued.\n\n## Set up { #set-up }\n\n"
        "```sh\n    echo  1\n\n\n  x\n```\n\n|a | b|\n|---|:-:|\n|1 2|x|\n"
    )
    assert [(s.section_id, s.title, s.slug, s.depth) for s in document.sections] == [
        ("1", "Docker Swarm", "docker-swarm", 1),
        ("1.1", "Set up", "set-up", 2),
    ]
    assert [chunk.chunk_id for chunk in document.chunks] == [
        "a.md|s=1|p=000|b=001",
        "a.md|s=1.1|p=000|b=001",
        "a.md|s=1.1|p=000|b=002",
    ]
    assert [chunk.title for chunk in document.chunks] == [
        "Swarm > Docker Swarm",
        "Swarm > Docker Swarm > Set up",
        "Swarm > Docker Swarm > Set up",
    ]


def test_setext_headings_and_text_before_the_first() -> None:
    document = made("Before.\n\nTitle\n=====\n\nBody.\n\nSub\n---\n")
    assert document.text == "Before.\n\nTitle\n=====\n\nBody.\n\nSub\n---\n"
    assert [(s.section_id, s.title, s.own_span) for s in document.sections] == [
        ("0", "", (0, 7)),
        ("1", "Title", (22, 27)),
        ("1.1", "Sub", None),
    ]


def test_headings_in_quotations_lists_and_code_are_text() -> None:
    document = made("> # Quoted\n\n- # Listed\n\n```\n# comment\n```\n\n    # indented\n\n\\# escaped\n")
    assert [section.section_id for section in document.sections] == ["0"]
    assert [chunk.type for chunk in document.chunks] == ["prose", "prose", "code", "code", "prose"]


def test_a_list_is_one_block_with_its_lines() -> None:
    text = "* one\n  goes on\n* two\n    * inner   one\n\n\n  more of two\n1. x\n2. y\n"
    assert blocks(text) == [
        ("prose", "* one goes on\n* two\n    * inner one\n\n  more of two"),
        ("prose", "1. x\n2. y"),
    ]
    assert attrs(text) == [{"kind": "list"}, {"kind": "list"}]


def test_code_and_tables_in_a_list_stand_by_themselves() -> None:
    text = "1. run\n\n   ```sh\n   ls  -l\n   ```\n\n   then\n\n   | a | b |\n   |---|---|\n   | 1 | 2 |\n2. done\n"
    assert blocks(text) == [
        ("prose", "1. run"),
        ("code", "   ```sh\n   ls  -l\n   ```"),
        ("prose", "then"),
        ("table", "| a | b |\n|---|---|\n| 1 | 2 |"),
        ("prose", "2. done"),
    ]


def test_quotations_keep_their_marks() -> None:
    assert blocks("> one\n> two\nlazy\n>\n> three\n") == [("prose", "> one two lazy\n>\n> three")]
    assert attrs("> one\n") == [{"kind": "quote"}]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```Python hl_lines='2'\nx\n```\n", {"lang": "python"}),
        ("~~~ {.yaml}\nx\n~~~\n", {"lang": "yaml"}),
        ("```\nx\n```\n", None),
        ("    x = 1\n", None),
        ("```js\nx\n\n\n", {"lang": "js", "closed": False}),
    ],
)
def test_code_and_its_language(text: str, expected: dict[str, Any] | None) -> None:
    (block,) = made(text).chunks
    assert block.type == "code"
    assert block.attrs == expected


def test_an_open_fence_runs_to_the_end() -> None:
    assert blocks("```\n# no heading\n\n| a |\n\n~~~\n") == [("code", "```\n# no heading\n\n| a |\n\n~~~")]


def test_a_table_has_rows_columns_and_a_header() -> None:
    (table,) = made("a | b | c\n-|-|-\n1 | 2 | x \\| y\n").chunks
    assert (table.type, table.anchor) == ("table", "a | b | c")
    assert table.attrs == {"rows": 1, "cols": 3, "header_rows": 1, "grid_kind": "markdown"}


def test_figures_formulas_and_inline_code() -> None:
    text = (
        '![map](m.png)\n\n[![logo](l.png)](x.html)\n\n<img src="a.png">\n\n$$\nE = m  c^2\n$$\n\n'
        "See `x` and ![i](j.png).\n"
    )
    assert blocks(text) == [
        ("figure", "![map](m.png)"),
        ("figure", "[![logo](l.png)](x.html)"),
        ("figure", '<img src="a.png">'),
        ("formula", "$$\nE = m  c^2\n$$"),
        ("prose", "See `x` and ![i](j.png)."),
    ]


def test_captions_are_bound_to_the_nearest_figure_or_table_of_their_section() -> None:
    document = made(
        "# A\n\n![x](x.png)\n\n**Figure 1**: The x.\n\nTable 1. Rows.\n\n"
        "| a |\n|---|\n| 1 |\n\nTable 2: More.\n\n| b |\n|---|\n\n"
        "Figure 2.3 shows nothing.\n\n# B\n\nFigure 9: lost.\n"
    )
    found = [
        (c.chunk_id, c.type, c.attrs) for c in document.chunks if (c.attrs or {}).get("target") or c.type == "prose"
    ]
    assert found == [
        ("a.md|s=1|p=000|b=002", "caption", {"target": "a.md|s=1|p=000|b=001"}),
        ("a.md|s=1|p=000|b=003", "caption", {"target": "a.md|s=1|p=000|b=004"}),
        ("a.md|s=1|p=000|b=005", "caption", {"target": "a.md|s=1|p=000|b=006"}),
        ("a.md|s=1|p=000|b=007", "prose", None),
        ("a.md|s=2|p=000|b=001", "prose", None),
    ]


def test_html_in_markdown() -> None:
    text = (
        '<div class="termy">\n\n```sh\nx\n```\n\n</div>\n\n<!-- a\n\ncomment -->\n\n'
        "<details>\n<summary>More</summary>\n\n"
        "<table>\n<tr><th>a</th></tr>\n<tr><td>1</td></tr>\n</table>\n\n<pre>\n  x\n</pre>\n"
    )
    assert blocks(text) == [
        ("code", "```sh\nx\n```"),
        ("prose", "<details>\n<summary>More</summary>"),
        ("table", "<table>\n<tr><th>a</th></tr>\n<tr><td>1</td></tr>\n</table>"),
        ("code", "<pre>\n  x\n</pre>"),
    ]
    assert attrs(text)[2] == {"rows": 1, "cols": 1, "header_rows": 1, "grid_kind": "html"}


def test_link_definitions_stay_lines_and_rules_go() -> None:
    assert blocks("Text.\n\n---\n\n[a]: http://a\n[b]:   http://b 'B'\n") == [
        ("prose", "Text."),
        ("prose", "[a]: http://a\n[b]: http://b 'B'"),
    ]


def test_extras_of_other_dialects_are_text() -> None:
    text = "/// tip | Note\n\nInside.\n\n///\n\n{* ../../a.py hl[1] *}\n"
    assert [text for _, text in blocks(text)] == ["/// tip | Note", "Inside.", "///", "{* ../../a.py hl[1] *}"]


@pytest.mark.parametrize(
    "text",
    [
        "---\n\nNot front matter.\n\n---\n",
        "---\ntitle: open\n",
        "text\n---\ntitle: x\n---\n",
        "---\nJust a line\n---\n",
    ],
)
def test_what_is_not_front_matter_stays(text: str) -> None:
    document = made(text)
    assert document.title == ""
    words = ("Not front matter.", "title: open", "title: x", "Just a line")
    assert any(word in document.text for word in words)


def test_titles_read_plainly() -> None:
    document = made("# Use [the `API`](api.md) now { #use .x }\n\nx\n\n#\n\ny\n")
    assert [(s.title, s.slug) for s in document.sections] == [("Use the `API` now", "use-the-api-now"), ("", "section")]
    assert document.text.startswith("# Use [the `API`](api.md) now { #use .x }\n\n")
