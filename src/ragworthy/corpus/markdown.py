"""Markdown: the parser says where blocks are, the canonical text keeps their markup."""

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from ragworthy.corpus import markup
from ragworthy.corpus.model import Parsed, Piece
from ragworthy.corpus.normalise import characters, indented, prose
from ragworthy.corpus.outline import clean_title

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_KEY = re.compile(r"[A-Za-z_][\w.-]*\s*:(?:\s|$)")
_TITLE = re.compile(r"title\s*:\s*(?P<title>\S.*)")
_REFERENCE = re.compile(r"\s{0,3}\[[^\[\]]+\]:\s*\S")
_QUOTE_MARKS = re.compile(r"(?:[ \t]*>)*[ \t]*")
_TYPED = ("fence", "code_block", "table_open")


def front_matter(lines: list[str]) -> tuple[int, str]:
    """How many lines of front matter a document starts with, and the title it gives.

    >>> front_matter(["---", "title: 'Docker Swarm'", "rank: 1", "---", "", "# Docker"])
    (4, 'Docker Swarm')
    >>> front_matter(["---", "", "A line between two rules.", "", "---"])
    (0, '')
    """
    if lines[0].rstrip() != "---" or len(lines) < 2 or not _KEY.match(lines[1]):
        return 0, ""
    title = ""
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() in ("---", "..."):
            return number + 1, title
        if line and not line[0].isspace() and not _KEY.match(line) and not line.startswith(("#", "- ")):
            break
        if found := _TITLE.match(line):
            title = " ".join(found["title"].strip().strip("\"'").split())
    return 0, ""


def _tokens(text: str) -> "list[Token]":
    """The block tokens; inline markup is left alone, and link definitions stay paragraphs."""
    return _parser().parse(text)


@cache
def _parser() -> "MarkdownIt":
    """The parser, made once: making it takes longer than parsing a page."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.disable(["inline", "text_join"])
    parser.block.ruler.disable("reference")
    return parser


def read(source: str) -> Parsed:
    """The headings and blocks of a Markdown document."""
    lines = characters(source).split("\n")
    skipped, title = front_matter(lines)
    lines = lines[skipped:]
    tokens = _tokens("\n".join(lines))
    return Parsed([piece for piece in _pieces(tokens, lines) if piece.text.strip()], title)


def _pieces(tokens: "list[Token]", lines: list[str]) -> Iterator[Piece]:
    """The pieces in order; lines that no token covers are prose, so that nothing is lost."""
    at = index = 0
    while index < len(tokens):
        token = tokens[index]
        after = _after(tokens, index)
        begin, end = token.map or (at, at)
        yield from _uncovered(lines[at:begin])
        yield from _piece(tokens[index:after], lines, begin, end)
        at, index = max(at, end), after
    yield from _uncovered(lines[at:])


def _after(tokens: "list[Token]", index: int) -> int:
    """The index after the block that starts here."""
    level = tokens[index].level
    index += 1
    if tokens[index - 1].nesting == 1:
        while tokens[index].level > level:
            index += 1
        index += 1
    return index


def _uncovered(lines: list[str]) -> Iterator[Piece]:
    text = prose(lines)
    if text:
        yield Piece("prose", text)


def _piece(tokens: "list[Token]", lines: list[str], begin: int, end: int) -> Iterator[Piece]:
    """The pieces of one block at the top level."""
    token = tokens[0]
    own = _trimmed(lines[begin:end])
    if token.type == "heading_open":
        text = "\n".join(" ".join(line.split()) for line in own)
        yield Piece("heading", text, level=int(token.tag[1]), title=clean_title(tokens[1].content))
    elif token.type == "paragraph_open":
        yield paragraph(own)
    elif token.type in _TYPED:
        yield _typed(token, own)
    elif token.type == "html_block":
        found = markup.html_block([indented(line).lstrip() if n == 0 else indented(line) for n, line in enumerate(own)])
        if found:
            yield found
    elif token.type != "hr":
        yield from _container(tokens, lines, begin, end)


def _trimmed(lines: list[str]) -> list[str]:
    """The lines without empty ones at the end."""
    last = len(lines)
    while last and not lines[last - 1].strip():
        last -= 1
    return lines[:last]


def paragraph(lines: list[str]) -> Piece:
    """A paragraph: prose on one line, or a figure, a formula, a list of link definitions."""
    text = "\n".join(line.strip() for line in lines)
    if markup.is_formula(text):
        return Piece("formula", text)
    if _REFERENCE.match(text) and all(_REFERENCE.match(line) for line in lines):
        return Piece("prose", "\n".join(" ".join(line.split()) for line in lines), {"kind": "links"})
    joined = prose(lines)
    return Piece("figure" if markup.is_figure(joined) else "prose", joined)


def _typed(token: "Token", lines: list[str]) -> Piece:
    """A block of code or a table."""
    if token.type == "table_open":
        return markup.pipe_table(lines)
    if token.type == "code_block":
        return markup.code(lines)
    closing = lines[-1].lstrip(" \t>") if len(lines) > 1 else ""
    closed = closing.startswith(token.markup) and not closing.strip(token.markup[0] + " \t")
    return markup.code(lines, token.info, closed=closed)


def _container(tokens: "list[Token]", lines: list[str], begin: int, end: int) -> Iterator[Piece]:
    """A list or a quotation: prose with its line breaks; code and tables inside stand by themselves."""
    attrs = {"kind": "quote" if tokens[0].type == "blockquote_open" else "list"}
    continued: set[int] = set()
    typed: list[Token] = []
    for token in tokens:
        if token.map is None:
            continue
        if token.type == "paragraph_open":
            continued.update(range(token.map[0] + 1, token.map[1]))
        elif token.type in _TYPED:
            typed.append(token)
    at = begin
    for token in typed:
        first, last = token.map or (at, at)
        yield Piece("prose", _laid_out(lines, at, first, continued), attrs)
        yield _typed(token, _trimmed(lines[first:last]))
        at = last
    yield Piece("prose", _laid_out(lines, at, end, continued), attrs)


def _laid_out(lines: list[str], begin: int, end: int, continued: set[int]) -> str:
    """The lines of a list or quotation: continued lines joined, at most one empty line between two."""
    out: list[str] = []
    at = begin
    while at < end:
        stop = at + 1
        while stop < end and stop in continued:
            stop += 1
        if stop == at + 1:
            line = indented(lines[at])
        else:
            line = _joined(lines[at:stop])
        if line or (out and out[-1]):
            out.append(line)
        at = stop
    return "\n".join(_trimmed(out))


def _joined(lines: list[str]) -> str:
    """A paragraph of an item: the first line with its marker, the others without theirs."""
    body = lines[0].lstrip(" \t")
    indent = lines[0][: len(lines[0]) - len(body)].replace("\t", "    ")
    rest = [_QUOTE_MARKS.sub("", line, count=1) for line in lines[1:]]
    return indent + prose([body, *rest])
