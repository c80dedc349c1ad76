"""HTML: the text of a page in the looks of Markdown, so that types and offsets can be checked by eye."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ragworthy.corpus.dom import BLOCKS, HEADINGS, RAW, TEXT, Survey, flattened, walk
from ragworthy.corpus.model import Parsed, Piece
from ragworthy.corpus.normalise import characters, code_line, prose

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

WIDEST_SPAN = 20
"""A cell is spread over at most this many columns."""
_DEEPEST_INDENT = 8
_LISTS = frozenset(("dl", "menu", "ol", "ul"))
_ITEMS = frozenset(("dd", "dt", "li"))
_LANGUAGE = re.compile(r"(?:^|\s)(?:language|lang|highlight|brush)[-:]\s*([\w+#.-]+)")
_BACKTICKS = re.compile(r"`+")


class _Image(NamedTuple):
    """An image in the text: what it shows, and its address."""

    alt: str
    source: str


class _Item:
    """An open list or list item: the marker its first line gets."""

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self.count = 0
        self.marker = ""


class _Rows:
    """The rows of an open data table."""

    def __init__(self, node: "LexborNode") -> None:
        self.mem_id = node.mem_id
        self.rows: list[list[str]] = []
        self.heads: list[bool] = []
        self.pending: dict[int, int] = {}
        self.caption: list[str] = []

    def row(self) -> None:
        """Start a row; cells of earlier rows that reach into it stay empty."""
        self.rows.append([])
        self.heads.append(True)

    def cell(self, node: "LexborNode", text: str) -> None:
        """Add a cell to the row."""
        if not self.rows:
            self.row()
        row = self.rows[-1]
        self._fill(row)
        wide, deep = _span(node, "colspan"), _span(node, "rowspan")
        for column in range(len(row), len(row) + wide):
            if deep > 1:
                self.pending[column] = deep - 1
        row.append(text)
        row.extend([""] * (wide - 1))
        if node.tag != "th":
            self.heads[-1] = False

    def _fill(self, row: list[str]) -> None:
        while self.pending.get(len(row), 0) > 0 and len(row) < 64:
            self.pending[len(row)] -= 1
            row.append("")

    def pieces(self) -> Iterator[Piece]:
        """The caption and the table; a table without header gets an empty one, as Markdown wants it."""
        rows = [(row, head) for row, head in zip(self.rows, self.heads, strict=True) if any(row)]
        caption = prose(["".join(self.caption)])
        if caption:
            yield Piece("caption", caption, {"of": "table", "side": "next"})
        if not rows:
            return
        header = next((n for n, (_, head) in enumerate(rows) if not head), len(rows))
        cols = max(len(row) for row, _ in rows)
        lines = [_pipes(row) for row, _ in rows]
        if not header:
            lines.insert(0, _pipes([""] * cols))
        lines.insert(max(header, 1), _pipes(["---"] * cols))
        attrs = {"rows": len(rows) - header, "cols": cols, "header_rows": header, "grid_kind": "html"}
        yield Piece("table", "\n".join(lines), attrs)


def _span(node: "LexborNode", name: str) -> int:
    """Over how many columns or rows a cell reaches."""
    value = node.attributes.get(name) or ""
    if not value.isascii() or not value.isdecimal() or len(value) > 5:
        return 1
    return min(max(int(value), 1), WIDEST_SPAN)


def _pipes(row: list[str]) -> str:
    return "|" + "".join(f" {cell} |" if cell else " |" for cell in row)


def read(source: str) -> Parsed:
    """The headings and blocks of an HTML page."""
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(flattened(characters(source)))
    root = tree.root
    if root is None:
        return Parsed([])
    title = tree.css_first("head > title")
    name = prose([characters(title.text())]) if title is not None else ""
    return Parsed([piece for piece in _Reader(root).pieces if piece.text.strip()], name)


class _Reader:
    """Walks the page once and collects its pieces."""

    def __init__(self, root: "LexborNode") -> None:
        self.pieces: list[Piece] = []
        self._survey = Survey(root)
        self._line: list[str | _Image] = []
        self._raw: list[str] | None = None
        self._language = ""
        self._heading = 0
        self._caption = False
        self._figures = 0
        self._items: list[_Item] = []
        self._list_lines: list[str] = []
        self._table: _Rows | None = None
        self._skip = 0
        self._read(root)

    def _read(self, root: "LexborNode") -> None:
        for entered, node in walk(root):
            if node.mem_id in self._survey.left_out:
                self._skip += 1 if entered else -1
            elif self._skip:
                continue
            elif node.tag == TEXT:
                if entered:
                    self._text(node.text_content or "")
            elif self._table is not None:
                self._in_table(node, self._table, entered)
            elif entered:
                self._enter(node)
            else:
                self._leave(node)
        self._end_list()

    def _text(self, text: str) -> None:
        if self._raw is not None:
            self._raw.append(text)
        else:
            self._line.append(text)

    # elements

    def _enter(self, node: "LexborNode") -> None:
        tag = node.tag or ""
        if self._raw is not None or self._heading:
            self._inside(node, tag)
        elif tag in BLOCKS:
            self._flush()
            self._enter_block(node, tag)
        else:
            self._inside(node, tag)

    def _inside(self, node: "LexborNode", tag: str) -> None:
        """An element within a line, a heading or code."""
        if tag == "img":
            self._image(node)
        elif tag == "br":
            self._break()
        elif tag == "code" and self._raw is not None:
            self._language = self._language or _language(node)
        elif tag in BLOCKS:
            self._text("\n" if self._raw is not None else " ")

    def _enter_block(self, node: "LexborNode", tag: str) -> None:
        if tag in HEADINGS:
            self._end_list()
            self._heading = HEADINGS[tag]
        elif tag in RAW:
            self._raw = []
            self._language = _language(node)
        elif tag == "table" and node.mem_id in self._survey.data_tables:
            self._end_list()
            self._table = _Rows(node)
        elif tag == "figure":
            self._end_list()
            self._figures += 1
        elif tag == "figcaption":
            self._caption = True
        elif tag in _LISTS:
            self._items.append(_Item(tag))
        elif tag in _ITEMS:
            self._enter_item(tag)

    def _enter_item(self, tag: str) -> None:
        if not self._items:
            return
        item = self._items[-1]
        item.count += 1
        item.marker = {"dt": "", "dd": ": "}.get(tag, f"{item.count}. " if item.tag == "ol" else "- ")

    def _leave(self, node: "LexborNode") -> None:
        tag = node.tag or ""
        if self._raw is not None:
            if tag in RAW:
                self._end_code()
        elif tag in HEADINGS and self._heading == HEADINGS[tag]:
            self._end_heading()
        elif self._heading:
            self._inside(node, tag if tag not in ("img", "br") else "")
        elif tag in BLOCKS:
            self._flush()
            if tag == "figure":
                self._figures = max(0, self._figures - 1)
            elif tag == "figcaption":
                self._caption = False
            elif tag in _LISTS and self._items:
                self._items.pop()
                if not self._items:
                    self._end_list()

    def _in_table(self, node: "LexborNode", table: _Rows, entered: bool) -> None:
        tag = node.tag or ""
        if entered:
            if tag in ("caption", "td", "th"):
                self._line.clear()
            elif tag == "tr":
                table.row()
            self._inside(node, tag)
        elif tag in ("td", "th"):
            table.cell(node, self._taken().replace("|", "\\|"))
        elif tag == "caption":
            table.caption.append(self._taken())
        elif tag == "table" and node.mem_id == table.mem_id:
            self._line.clear()
            self._table = None
            self.pieces += table.pieces()
        elif tag in BLOCKS:
            self._text(" ")

    # text

    def _break(self) -> None:
        """A line break; after an image it parts the image from its caption."""
        free = self._raw is None and not self._heading and self._table is None and not self._items
        if free and self._only_images():
            self._flush()
        else:
            self._text("\n")

    def _only_images(self) -> bool:
        parts = [part for part in self._line if isinstance(part, _Image) or not part.isspace()]
        return bool(parts) and all(isinstance(part, _Image) for part in parts)

    def _image(self, node: "LexborNode") -> None:
        alt = " ".join((node.attributes.get("alt") or "").split())
        source = "".join((node.attributes.get("src") or "").split())
        if alt or (self._figures and source):
            self._line.append(_Image(alt, "" if source.startswith("data:") else source))

    def _taken(self) -> str:
        """The line collected so far, in canonical form; images as what they show."""
        text = "".join(part.alt if isinstance(part, _Image) else part for part in self._line)
        self._line.clear()
        return prose(characters(text).split("\n"))

    def _flush(self) -> None:
        """End the line: a caption, figures, a line of a list, or a paragraph."""
        if not self._line:
            return
        images = [part for part in self._line if isinstance(part, _Image)]
        alone = self._only_images()
        text = self._taken()
        if alone and not self._items:
            for image in images:
                label = characters(image.alt).replace("[", "(").replace("]", ")")
                self.pieces.append(Piece("figure", f"![{label}]({characters(image.source)})"))
        elif self._caption and text:
            self.pieces.append(Piece("caption", text, {"of": "any", "side": "previous"}))
        elif text and self._items:
            self._list_lines.append(self._listed(text))
        elif text:
            self.pieces.append(Piece("prose", text))

    def _listed(self, text: str) -> str:
        """A line of a list: the first of an item with its marker, the others under it."""
        item = self._items[-1]
        indent = "".join(" " * len(outer.marker) for outer in self._items[:_DEEPEST_INDENT] if outer is not item)
        marker, item.marker = item.marker, " " * len(item.marker)
        return f"{indent}{marker}{text}"

    def _end_list(self) -> None:
        self._flush()
        if self._list_lines:
            self.pieces.append(Piece("prose", "\n".join(self._list_lines), {"kind": "list"}))
            self._list_lines.clear()

    def _end_heading(self) -> None:
        title = self._taken()
        if title:
            self.pieces.append(Piece("heading", f"{'#' * self._heading} {title}", level=self._heading, title=title))
        self._heading = 0

    def _end_code(self) -> None:
        lines = [code_line(line) for line in characters("".join(self._raw or [])).split("\n")]
        self._raw = None
        while lines and not lines[-1]:
            lines.pop()
        while lines and not lines[0]:
            del lines[0]
        if not lines:
            return
        self._end_list()
        longest = max((len(found) for line in lines for found in _BACKTICKS.findall(line)), default=0)
        fence = "`" * max(3, longest + 1)
        attrs = {"lang": self._language} if self._language else {}
        self.pieces.append(Piece("code", "\n".join([fence + self._language, *lines, fence]), attrs))


def _language(node: "LexborNode") -> str:
    """The language that a class such as `language-python` names."""
    found = _LANGUAGE.search(node.attributes.get("class") or "")
    return found[1].lower() if found else ""
