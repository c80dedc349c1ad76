"""HTML: what is text, what is a table, code, a figure, a list, and what is left out."""

from typing import Any

import pytest

from ragworthy.corpus import assemble, html
from ragworthy.corpus.dom import DEEPEST_NESTING, flattened
from ragworthy.corpus.model import Document


def made(text: str) -> Document:
    return assemble.document("a.html", "a.html", html.read(text), 2000)


def blocks(text: str) -> list[tuple[str, str]]:
    return [(chunk.type or "", chunk.text) for chunk in made(text).chunks]


def test_a_page() -> None:
    document = made(
        "<!DOCTYPE html><html><head><title>The\n page</title><style>p {}</style></head><body><nav><a>Home</a></nav>"
        "<script>var a = '<p>no</p>';</script><h1>One <i>and</i>\n only</h1>"
        "<p>Some <b>bo</b>ld &amp; plain<br>text,\nco&shy;n-\n"
        "tinued.<h2><a href=x>Sub</a></h2>loose text<p>more</body></html>"
    )
    assert document.title == "The page"
    assert document.text == "# One and only\n\nSome bold & plain text, continued.\n\n## Sub\n\nloose text\n\nmore\n"
    assert [(s.section_id, s.title) for s in document.sections] == [("1", "One and only"), ("1.1", "Sub")]
    assert document.chunks[0].title == "The page > One and only"


def test_code_is_fenced_and_keeps_its_lines() -> None:
    text = (
        '<pre class="language-sql">\nSELECT  1;\n\n\tx &lt; y\n\n</pre>'
        '<pre><code class="lang-py">a```b</code></pre><pre> </pre>'
    )
    assert blocks(text) == [("code", "```sql\nSELECT  1;\n\n    x < y\n```"), ("code", "````py\na```b\n````")]
    assert [chunk.attrs for chunk in made(text).chunks] == [{"lang": "sql"}, {"lang": "py"}]
    assert blocks("<p>Use <code>x()</code> here.</p>") == [("prose", "Use x() here.")]


TABLES: list[tuple[str, str, dict[str, Any] | None]] = [
    (
        "<table><tr><th>a<th>b<tr><td>1 | 2<td>x<br>y</table>",
        "| a | b |\n| --- | --- |\n| 1 \\| 2 | x y |",
        {"rows": 1, "cols": 2, "header_rows": 1},
    ),
    (
        "<table><tr><td>a<td><td>b<tr><td>c<td><td>d</table>",
        "| | | |\n| --- | --- | --- |\n| a | | b |\n| c | | d |",
        {"rows": 2, "cols": 3, "header_rows": 0},
    ),
    (
        "<table><tr><th rowspan=2>k<th colspan=2>v<tr><th>x<th>y<tr><td>1<td>2<td>3</table>",
        "| k | v | |\n| | x | y |\n| --- | --- | --- |\n| 1 | 2 | 3 |",
        {"rows": 1, "cols": 3, "header_rows": 2},
    ),
]


@pytest.mark.parametrize(("text", "canonical", "attrs"), TABLES)
def test_data_tables(text: str, canonical: str, attrs: dict[str, Any]) -> None:
    (table,) = made(text).chunks
    assert (table.type, table.text) == ("table", canonical)
    assert table.attrs == attrs | {"grid_kind": "html"}


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("<table><tr><td><pre>x</pre></table>", ["code"]),
        ("<table><tr><td>one cell</table>", ["prose"]),
        ("<table><tr><td>a<tr><td>b</table>", ["prose", "prose"]),
        ("<table><tr><td><ul><li>a</ul><td>x<tr><td>b<td>c</table>", ["prose", "prose", "prose", "prose"]),
        ("<table><tr><td>menu<td><table><tr><th>a<tr><td>1</table></table>", ["prose", "table"]),
        ("<table role=presentation><tr><th>a<th>b<tr><td>1<td>2</table>", ["prose", "prose", "prose", "prose"]),
        ("<table><tr><th>a<tr><td><pre>x</pre></table>", ["table"]),
    ],
)
def test_layout_is_not_data(text: str, types: list[str]) -> None:
    assert [kind for kind, _ in blocks(text)] == types


def test_headings_in_a_layout_table_are_headings() -> None:
    document = made("<table><tr><td><h2>Left</h2>a<td><h2>Right</h2>b</table>")
    assert [section.title for section in document.sections] == ["Left", "Right"]


def test_lists() -> None:
    assert blocks("<ul><li>a <b>b</b><li>c<ol><li>x<li>y</ol>d</ul><p>e</p>") == [
        ("prose", "- a b\n- c\n  1. x\n  2. y\n  d"),
        ("prose", "e"),
    ]
    assert blocks("<ol><li>a<ul><li>b</ul>c</ol>") == [("prose", "1. a\n   - b\n   c")]
    assert blocks("<dl><dt>T<dd>one<p>two</dl>") == [("prose", "T\n: one\n  two")]
    assert blocks("<ol><li>a<pre>x</pre>b<li>c</ol>") == [
        ("prose", "1. a"),
        ("code", "```\nx\n```"),
        ("prose", "b\n2. c"),
    ]


def test_figures_and_captions() -> None:
    document = made(
        "<p><img src=logo.png alt='The logo'></p><p>Look <img alt=here src=x> now</p><img src=spacer.gif>"
        "<figure><img src=a.png><figcaption>A <i>map</i></figcaption></figure>"
        "<table><caption>Sizes</caption><tr><th>a<tr><td>1</table><figure><figcaption>alone?</figcaption></figure>"
    )
    assert [(chunk.type, chunk.text, chunk.attrs) for chunk in document.chunks] == [
        ("figure", "![The logo](logo.png)", None),
        ("prose", "Look here now", None),
        ("figure", "![](a.png)", None),
        ("caption", "A map", {"target": "a.html|s=0|p=000|b=003"}),
        ("caption", "Sizes", {"target": "a.html|s=0|p=000|b=006"}),
        ("table", "| a |\n| --- |\n| 1 |", {"rows": 1, "cols": 1, "header_rows": 1, "grid_kind": "html"}),
        ("caption", "alone?", {"target": "a.html|s=0|p=000|b=001"}),
    ]
    assert blocks("<center><img src=t.gif alt='figure 1'><br>\nFigure 1: The layout</center>") == [
        ("figure", "![figure 1](t.gif)"),
        ("caption", "Figure 1: The layout"),
    ]
    assert blocks("<figure><figcaption>No picture</figcaption></figure>") == [("prose", "No picture")]
    assert "data:" not in made("<img alt=x src='data:image/png;base64,AAAA'>").text


@pytest.mark.parametrize(
    "text",
    [
        "<nav>Home</nav>",
        "<div class='menu main'><ul><li><a>Home</a><li><a>About</a></ul></div>",
        "<div id=page-toc><a>1. One</a> <a>2. Two</a></div>",
        "<div role=navigation><a>Home</a></div>",
        "<div hidden>secret</div>",
        "<button>hide</button><select><option>a</select><textarea>t</textarea>",
        "<svg><text>label</text></svg><noscript>n</noscript><template><p>t</template><!-- c -->",
    ],
)
def test_left_out(text: str) -> None:
    assert blocks(f"<p>a</p>{text}<p>b</p>") == [("prose", "a"), ("prose", "b")]


def test_what_only_looks_like_navigation_stays() -> None:
    assert blocks("<div class=menu><p>Soup <a>of the day</a></div>") == [("prose", "Soup of the day")]
    assert made("<div class=sidebar><h2><a>Title</a></h2></div>").sections[0].title == "Title"
    assert blocks("<ul><li><a>See also</a></ul>") == [("prose", "- See also")]


def test_broken_and_empty_pages() -> None:
    assert made("").text == ""
    assert made("<html><frameset><frame></frameset>").text == ""
    assert blocks("a < b & c") == [("prose", "a < b & c")]
    assert blocks("<p>open <b>tags <i>everywhere") == [("prose", "open tags everywhere")]


def test_deep_nesting_is_flattened_and_normal_pages_are_not() -> None:
    page = "<div><p>a" * 300 + "</div>" * 300
    assert flattened(page) == page
    drawing = "<svg><g>" + "<path d='x'/><text>a</text>" * 2000 + "</g></svg>"
    assert flattened(drawing) == drawing
    assert flattened("<svg>" + "<div/><path/>" * 2000).count("<path/>") < DEEPEST_NESTING
    deep = "<div>" * 200_000 + "<h2>Title</h2>text"
    assert flattened(deep).count("<div>") == DEEPEST_NESTING
    document = made(deep)
    assert [section.title for section in document.sections] == ["Title"]
    assert [chunk.text for chunk in document.chunks] == ["text"]
