"""What the Markdown and the plain text reader share: the looks of figures, formulas, tables, code and HTML."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from ragworthy.corpus.model import Piece
from ragworthy.corpus.normalise import code_line, table_line

FENCE = re.compile(r"(?P<indent>[ ]{0,3})(?P<fence>`{3,}(?=[^`]*$)|~{3,})(?P<info>.*)")

_TAG = re.compile(r"<!--.*?(?:-->|\Z)|</?[A-Za-z][^<>]*>", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_MEDIA = re.compile(r"<(?:img|picture|svg|video|iframe|object|embed)\b", re.IGNORECASE)
_IMAGE = re.compile(r"!\[[^\[\]]*\](?:\((?:[^()]|\([^()]*\))*\)|\[[^\[\]]*\])(?:\{[^{}]*\})?")
_LINKED_IMAGE = re.compile(r"\[\s*(!)\s*\]\((?:[^()]|\([^()]*\))*\)")
_DASHES = re.compile(r":?-+:?")
_CELL_BORDER = re.compile(r"(?<!\\)\|")
_ROW = re.compile(r"<tr\b.*?(?=<tr\b|</table\b|\Z)", re.DOTALL | re.IGNORECASE)
_CELL = re.compile(r"<t[dh]\b", re.IGNORECASE)
_HEADER_CELL = re.compile(r"<th\b", re.IGNORECASE)


def language(info: str) -> str:
    """The language that the opening fence names, in lower case.

    >>> language("Python hl_lines='1'"), language("{.yaml}"), language("")
    ('python', 'yaml', '')
    """
    words = info.replace("{", " ").replace("}", " ").replace(",", " ").split()
    return words[0].lstrip(".").lower() if words else ""


def code(lines: Iterable[str], info: str = "", *, closed: bool = True) -> Piece:
    """A block of code; its lines stay as they are, apart from tabs."""
    attrs: dict[str, Any] = {}
    if named := language(info):
        attrs["lang"] = named
    if not closed:
        attrs["closed"] = False
    return Piece("code", "\n".join(code_line(line) for line in lines).rstrip("\n"), attrs)


def cells(row: str) -> list[str]:
    """The cells of a row with pipes.

    >>> cells("| a | b \\\\| c |"), cells("a | b")
    (['a', 'b \\\\| c'], ['a', 'b'])
    """
    inner = row.strip().removeprefix("|")
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    return [cell.strip() for cell in _CELL_BORDER.split(inner)]


def is_delimiter(line: str) -> bool:
    """Whether a line is the row of dashes under the header of a table."""
    return "-" in line and "|" in line and all(_DASHES.fullmatch(cell) for cell in cells(line))


def pipe_table(lines: Sequence[str]) -> Piece:
    """A table with pipes: header, row of dashes, data."""
    attrs = {"rows": len(lines) - 2, "cols": len(cells(lines[0])), "header_rows": 1, "grid_kind": "markdown"}
    return Piece("table", "\n".join(table_line(line) for line in lines), attrs)


def is_formula(text: str) -> bool:
    """Whether a paragraph is nothing but a formula.

    >>> is_formula("$$ E = mc^2 $$"), is_formula("$$a$$ and $$b$$"), is_formula("$$")
    (True, False, False)
    """
    return len(text) > 4 and text.startswith("$$") and text.endswith("$$") and "$$" not in text[2:-2]


def is_figure(text: str) -> bool:
    """Whether a paragraph is nothing but images (which may be links).

    >>> is_figure("![map](map.png)"), is_figure("[![map](map.png)](map.html)"), is_figure("See ![map](map.png)")
    (True, True, False)
    """
    if not text.startswith(("![", "[![", "<")):
        return False
    if text.startswith("<"):
        return _MEDIA.search(text) is not None and not _TAG.sub("", text).strip()
    bare = _LINKED_IMAGE.sub("!", _IMAGE.sub("!", text))
    return not bare.replace("!", "").strip()


def html_block(lines: list[str]) -> Piece | None:
    """A piece of HTML between Markdown; None where it has neither text nor a picture."""
    text = "\n".join(lines)
    if not _TAG.sub("", text).strip():
        return Piece("figure", text) if _MEDIA.search(_COMMENT.sub("", text)) else None
    low = text.lower()
    if low.startswith("<pre"):
        return Piece("code", text)
    if low.startswith("<table") and "</table" in low:
        rows = _ROW.findall(text)
        header = sum(1 for row in rows if _HEADER_CELL.search(row) and "<td" not in row.lower())
        cols = max((len(_CELL.findall(row)) for row in rows), default=0)
        return Piece(
            "table", text, {"rows": len(rows) - header, "cols": cols, "header_rows": header, "grid_kind": "html"}
        )
    return Piece("prose", text, {"kind": "html"})


def without_tags(text: str) -> str:
    """The text of a piece of HTML, on one line."""
    return " ".join(_TAG.sub(" ", text).split())


def first_html_row(text: str) -> str:
    """The text of the first row of an HTML table."""
    found = _ROW.search(text)
    return without_tags(found[0]) if found else without_tags(text)
