"""Text from data stays text in every kind of output: a property for each kind, and the parsers that will read it."""

import ast
import csv
import io
import json
import re
import unicodedata
from collections.abc import Callable
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

import ragworthy
from ragworthy.safe import Markdown, code, field, fill, json_text, markdown, row, terminal, tsv, xml
from ragworthy.text import squeeze, visible

STEADY = settings(deadline=None, derandomize=True, database=None, max_examples=300)
PIECES = [
    *"\\`*_[](){}<>#@!|~$^&%=+-.,:;/\"' \t\n\r\x00\x1b\x7f\x85\x9b\xa0\u200b\u200d\u2028\u2029\u202e\u2066\ufeff\ud800",
    "a", "x", "1", "é", "電", "@ann", "#1", "GH-1", "GL-7", "o/r#1", "ann@1234567", "deadbeef", "CVE-2024-1",
    "http://e.org", "www.e.org", "e.org", "//localhost", "mailto:a@b.org", "a@b.org", ":tada:", ":tada", "$x$", "$`x`$",
    "[^1]", "[x](y)", "![x](y)", "[x]: y", "<img src=x>", "<!-- -->", "</details>", "&amp;", "&#64;", "```", "~~~",
    "---", "===", "- ", "1. ", "# ", "> ", "\n\n# h\n\n", "| a |", "|---|", "\\|", "::error::", "##[error]", "##vso[x]",
    "/assign", "!1", "%1", "&1", "~x", "=cmd|'/c calc'!A0", "+1", "]]>", "<![CDATA[", "\\x1b", "\\\\", "**",
    "__init__", "a_b", "(x)", "C++",
]  # fmt: skip
texts = st.one_of(st.lists(st.sampled_from(PIECES), max_size=8).map("".join), st.text(max_size=20))


def controls(text: str) -> list[str]:
    """What a terminal could be steered with, or what ends a line."""
    return [sign for sign in text if unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Zl", "Zp")]


# a terminal


@given(texts)
@STEADY
def test_a_line_for_a_terminal_is_printable_and_no_command(text: str) -> None:
    line = terminal(text)
    assert line.isprintable()
    assert not line.lstrip().startswith("::")
    assert not re.search(r"##\w*\[", line)
    assert terminal(line) == line  # so that it does no harm twice
    if text.isprintable() and "##" not in text and "::" not in text:
        assert line == text


def test_every_control_character_has_an_escape_of_its_own() -> None:
    signs = [*map(chr, range(32)), *map(chr, range(0x7F, 0xA0)), "\u2028", "\u2029", "\u202e", "\ud800", "\U000e0001"]
    assert len({visible(sign) for sign in signs}) == len(signs)


def test_everything_the_commands_print_goes_through_the_safe_print() -> None:
    source = Path(ragworthy.__file__).parent
    wrong = []
    safe_itself = ("cli/say.py", "safe.py", "api_run.py")  # the last one prints counts and nothing else
    for path in sorted(source.rglob("*.py")):
        name = path.relative_to(source).as_posix()
        text = path.read_text(encoding="utf-8")
        if name in safe_itself or ("print(" not in text and ".write(" not in text):
            continue
        nodes = list(ast.walk(ast.parse(text)))
        imported = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module == "ragworthy.cli.say"]
        safe = "print" in {alias.name for node in imported for alias in node.names}
        calls = [(node.lineno, ast.unparse(node.func)) for node in nodes if isinstance(node, ast.Call)]
        raw = ["sys.stdout.write", "sys.stderr.write", *([] if safe else ["print"])]
        wrong += [f"{name}:{line} {called}" for line, called in calls if called in raw]
    assert wrong == []


# Markdown: what GitHub's own parser and markdown-it make of it

LINES: dict[str, Callable[[str], str]] = {
    "paragraph": lambda text: fill("{}", text),
    "sentence": lambda text: fill("See {}: {}.", text, text),
    "item": lambda text: fill("- {}", text),
    "bold": lambda text: fill("- **{}**: x", text),
    "heading": lambda text: fill("### {}", text),
    "row": lambda text: "\n".join([row(("a", "b")), "|---|---|", row((text, "x"))]),
    "code": lambda text: fill("- {}: x", code(text)),
    "code in a row": lambda text: "\n".join([row(("a", "b")), "|---|---|", row((code(text), "x"))]),
}


class Page(HTMLParser):
    """The tags of a page, and its text; what is inside code is left out of `plain`."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text, self.plain, self._in_code = "", "", 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_code += tag == "code"
        self.plain += "\x00" if tag == "code" else ""
        if tag != "code":
            self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self._in_code -= tag == "code"

    def handle_data(self, data: str) -> None:
        self.text += data
        self.plain += "" if self._in_code else data


def by_markdown_it(text: str) -> str:
    made: str = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text)
    return made


def by_linkify(text: str) -> str:
    made: str = MarkdownIt("gfm-like").render(text)
    return made


def by_github(text: str) -> str:
    import cmarkgfm

    options = cmarkgfm.Options.CMARK_OPT_UNSAFE | cmarkgfm.Options.CMARK_OPT_FOOTNOTES
    made: str = cmarkgfm.github_flavored_markdown_to_html(text, options)
    return made


PARSERS = {"markdown_it": by_markdown_it, "linkify_it": by_linkify, "cmarkgfm": by_github}
"""By the package that each needs."""
INSTALLED = [
    pytest.param(name, marks=pytest.mark.skipif(find_spec(name) is None, reason=f"SKIPPED: {name} is not installed"))
    for name in PARSERS
]

LINKED = re.compile(
    r"@\w|#\d|\bG[HL]-\d|(?<!\w)[0-9a-f]{7,40}(?!\w)|//|www\.|:[\w+-]+:|\$"  # GitHub
    r"|(?<!\w)[~!%&]\w|\[|\]",  # GitLab
    re.IGNORECASE,
)
"""What hosts turn into mentions, references, links, pictures and formulas in the text outside code."""


@pytest.mark.parametrize("parser", INSTALLED)
@pytest.mark.parametrize("place", LINES)
@given(text=texts)
@example(text="x\n\n## ✅ Ragworthy: SHIP\n\n<img src=x onerror=alert(1)>")
@example(text="`@ann` @ann ``@ann`` \\`@ann\\`")
@settings(STEADY, max_examples=150)
def test_markdown_shows_the_text_and_nothing_else(parser: str, place: str, text: str) -> None:
    text = text if text.strip() else "x"
    page, plain = (Page(PARSERS[parser](LINES[place](one))) for one in (text, "harmless"))
    assert page.tags == plain.tags
    assert squeeze(page.text) == squeeze(plain.text.replace("harmless", visible(squeeze(text))))
    assert not LINKED.search(page.plain), page.plain
    assert "<" not in LINES[place](text)
    assert controls(LINES[place](text).replace("\n", "")) == []


@given(texts, texts)
@STEADY
def test_different_texts_differ_in_markdown(one: str, other: str) -> None:
    same = visible(squeeze(one)) == visible(squeeze(other))
    assert (markdown(one) == markdown(other)) == same
    assert (code(one) == code(other)) == same


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("H009", "H009"),
        ("Great! It is 5 % (e.g. 0.95), isn't it?", "Great! It is 5 % (e.g. 0.95), isn't it?"),
        ("cites p1#2, p2#3.", "cites `p1#2`, `p2#3`."),
        ("ask @ann", "ask `@ann`"),
        ("\\@ann &#64;ann", "`\\@ann &#64;ann`"),
        ("see GH-12 (deadbeef)", "see `GH-12` (`deadbeef`)"),
        ("go to https://e.org/x, now", "go to `https://e.org/x`, now"),
        ("a|b", "a\\|b"),
        ("p|s=1#2", "`p`\\|`s=1#2`"),
        ("it`s", "it&#96;s"),
        ("<b>", "&lt;b&gt;"),
        ("- x", "`-` x"),
        ("1. x", "`1`. x"),
        ("a - b = 1.", "a - b = 1."),
        ("SCU_VIOLATION _x_", "SCU_VIOLATION `_x_`"),
        ("a\x1bb \u202e", "`a\\x1bb \\u202e`"),
    ],
)
def test_what_markdown_looks_like_in_an_editor(text: str, shown: str) -> None:
    assert markdown(text) == shown


def test_what_is_markdown_already_stays() -> None:
    assert fill("{} {}", Markdown("**a**"), "**a**") == "**a** `**a**`"
    assert row((Markdown("`a`"), "`a`")) == "| `a` | &#96;a&#96; |"
    assert type(f"{Markdown('x')}") is str  # what is put together by hand loses the mark and is escaped


def test_long_words_take_no_longer_than_their_length() -> None:
    for word in ("!" * 50_000 + "#x", ":" * 50_000, "a" * 50_000 + "g", "##" * 50_000, "(" * 50_000 + "@"):
        assert squeeze(Page(by_markdown_it(markdown(word[:200]))).text) == word[:200]
        assert len(markdown(word)) >= len(word)  # in the time of one test, not of an afternoon


# table files


def unescaped(shown: str) -> str:
    """The text behind a field."""
    body = shown[1:] if shown.startswith("'") else shown
    one = r"\\(?:([\\trn])|x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))"

    def sign(found: re.Match[str]) -> str:
        short, *numbers = found.groups()
        return (
            {"\\": "\\", "t": "\t", "r": "\r", "n": "\n"}[short] if short else chr(int(next(filter(None, numbers)), 16))
        )

    return re.sub(one, sign, body)


@given(st.lists(st.lists(texts, min_size=2, max_size=2), max_size=4))
@STEADY
def test_a_table_keeps_its_shape_and_has_no_formula_and_gives_every_text_back(rows: list[list[str]]) -> None:
    text = tsv(rows)
    assert controls(text.replace("\t", "").replace("\n", "")) == []
    read = list(csv.reader(io.StringIO(text, newline=""), dialect="excel-tab"))
    assert [list(map(unescaped, cells)) for cells in read] == rows
    for cells in read:
        assert not any(cell.strip().startswith(tuple("=+-@＝＋－＠")) for cell in cells)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("H009", "H009"),
        ('=HYPERLINK("http://e.org")', '\'=HYPERLINK("http://e.org")'),
        ("+1", "'+1"),
        (" @SUM(A1)", "' @SUM(A1)"),
        ("＝1", "'＝1"),
        ("\t=1", "\\t=1"),
        ('"', "'\""),
        ("'", "''"),
        ("a\\b\x1b[31m", "a\\\\b\\x1b[31m"),
    ],
)
def test_fields_of_a_table(text: str, shown: str) -> None:
    assert field(text) == shown


# XML and JSON


@given(texts)
@STEADY
def test_xml_parses_and_gives_the_text_back(text: str) -> None:
    element = ElementTree.fromstring(f'<a b="{xml(text)}">{xml(text)}</a>')
    assert (element.get("b"), element.text or "", len(element)) == (visible(text), visible(text), 0)
    assert not xml(text).lstrip().startswith("::")
    assert not re.search(r"##\w*\[", xml(text))


@given(st.recursive(texts, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3)))
@STEADY
def test_json_is_the_same_value_and_steers_nothing(value: Any) -> None:
    text = json_text(value)
    assert json.loads(text) == value
    assert text.encode()
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]", text)
    assert not re.search(r"##\w*\[", text)


plain = texts | st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
keys = texts | st.none() | st.booleans() | st.integers(0, 3)


@given(
    st.recursive(
        plain,
        lambda inner: (
            st.lists(plain, max_size=3) | st.lists(inner, max_size=3) | st.tuples(inner) | st.dictionaries(keys, inner)
        ),
    )
)
@STEADY
def test_json_is_written_as_the_standard_library_does_it(value: Any) -> None:
    usual = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    steering = r"[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]|#(?=#\w*\[)"
    assert json_text(value) == re.sub(steering, lambda found: f"\\u{ord(found[0]):04x}", usual)


def test_json_has_no_number_that_is_none() -> None:
    for one in (float("nan"), [float("inf")], {"a": [{"b": float("-inf")}]}):
        with pytest.raises(ValueError, match="not JSON compliant"):
            json_text(one)
    assert json_text([float("nan")], nan=True) == "[\n  NaN\n]\n"
