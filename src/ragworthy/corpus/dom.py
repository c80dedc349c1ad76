"""A parsed HTML page: walking it without recursion, and which of its parts are data tables or mere navigation."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

TEXT = "-text"
HEADINGS = {f"h{level}": level for level in range(1, 7)}
# fmt: off
DROPPED = frozenset((
    "audio", "button", "canvas", "embed", "head", "iframe", "input", "nav", "noscript", "object", "option", "script",
    "select", "style", "svg", "template", "textarea", "video",
))
"""Elements without text that belongs to the page."""
BLOCKS = frozenset((
    "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "div", "dl",
    "dt", "fieldset", "figcaption", "figure", "footer", "form", "frameset", "header", "hgroup", "hr", "html", "legend",
    "li", "listing", "main", "menu", "ol", "p", "pre", "search", "section", "summary", "table", "tbody", "td", "tfoot",
    "th", "thead", "tr", "ul", "xmp", *HEADINGS,
))
"""Elements that end the line of text they are in."""
# fmt: on
RAW = frozenset(("listing", "pre", "xmp"))
DEEPEST_NESTING = 1000
"""Parsers of HTML take quadratic time in the depth of nesting; no page made by people comes near this."""
_TAG = re.compile(r"<(?P<end>/?)(?P<name>[A-Za-z][A-Za-z0-9-]*)(?P<rest>[^<>]*)>")
# fmt: off
_UNCOUNTED = frozenset((
    "area", "base", "body", "br", "col", "dd", "dt", "embed", "head", "hr", "html", "img", "input", "li", "link",
    "meta", "option", "p", "param", "source", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "track", "wbr",
    *HEADINGS,
))
"""Tags that have no end or whose end is often left out, and those that a page must not lose."""
_DRAWING = frozenset((
    "a", "animate", "circle", "clippath", "defs", "desc", "ellipse", "g", "image", "line", "lineargradient", "marker",
    "mask", "path", "pattern", "polygon", "polyline", "radialgradient", "rect", "stop", "style", "svg", "symbol",
    "text", "textpath", "title", "tspan", "use",
))
"""Tags of a drawing; only there a tag can end itself."""
# fmt: on
_NAVIGATION = frozenset(("breadcrumb", "breadcrumbs", "menu", "nav", "navbar", "navigation", "sidebar", "toc"))
_NOT_IN_CELLS = frozenset(("blockquote", "dl", "figure", "form", "hr", "ol", "ul", *RAW))


def walk(root: "LexborNode") -> Iterator[tuple[bool, "LexborNode"]]:
    """Every node twice, in order: True when it is entered, False when it is left."""
    stack = [(root, False)]
    while stack:
        node, entered = stack.pop()
        if entered:
            yield False, node
            after = node.next if stack else None
        else:
            yield True, node
            stack.append((node, True))
            after = node.child
        if after is not None:
            stack.append((after, False))


def flattened(source: str) -> str:
    """The page without the tags that nest deeper than any page does; nearly always the page as it is.

    >>> flattened("<div>" * 1001 + "a" + "</div>" * 1001) == "<div>" * 1000 + " a " + "</div>" * 1000
    True
    """
    if source.count("<") <= DEEPEST_NESTING:
        return source
    depth = 0
    drawing = False

    def kept(found: re.Match[str]) -> str:
        nonlocal depth, drawing
        name = found["name"].lower()
        drawing = (drawing or name == "svg") and name in _DRAWING
        if name in _UNCOUNTED or (drawing and found["rest"].endswith("/")):
            return found[0]
        if found["end"]:
            depth = max(0, depth - 1)
            return found[0] if depth < DEEPEST_NESTING else " "
        depth += 1
        return found[0] if depth <= DEEPEST_NESTING else " "

    return _TAG.sub(kept, source)


class _Table:
    """What decides whether a table holds data or only lays out a page."""

    def __init__(self, node: "LexborNode") -> None:
        self.node = node
        self.layout = (node.attributes.get("role") or "").lower() in ("none", "presentation")
        self.header = False
        self.blocks = False
        self.rows = 0
        self.column = 0
        self.columns: set[int] = set()

    def is_data(self) -> bool:
        """A header makes a table; without one it takes two rows, two columns with text, and plain text in the cells."""
        return not self.layout and (self.header or (not self.blocks and self.rows >= 2 and len(self.columns) >= 2))


class Survey:
    """What is known of a page after one walk: the data tables, and the elements that are left out (by `mem_id`)."""

    def __init__(self, root: "LexborNode") -> None:
        self.data_tables: set[int] = set()
        self.left_out: set[int] = set()
        self._tables: list[_Table] = []
        self._navigation: list[LexborNode] = []
        self._links = 0
        self._in_header = 0
        self._hidden = 0
        for entered, node in walk(root):
            if node.tag == TEXT:
                if entered and not self._hidden and not (node.text_content or "").isspace():
                    self._text()
            elif entered:
                self._enter(node)
            else:
                self._leave(node)

    def _enter(self, node: "LexborNode") -> None:
        tag = node.tag or ""
        if tag in DROPPED or "hidden" in node.attributes:
            self.left_out.add(node.mem_id)
            self._hidden += 1
        if tag in HEADINGS:
            self._navigation.clear()
        if tag == "a":
            self._links += 1
        elif tag == "table":
            for table in self._tables[-1:]:
                table.layout = True
            self._tables.append(_Table(node))
        elif self._tables:
            self._inside_table(self._tables[-1], tag)
        if tag in BLOCKS and _names_navigation(node):
            self._navigation.append(node)

    def _inside_table(self, table: _Table, tag: str) -> None:
        if tag == "tr":
            table.rows += 1
            table.column = 0
        elif tag in ("td", "th"):
            table.column += 1
            self._in_header += tag == "th"
        elif tag in HEADINGS:
            table.layout = True
        elif tag in _NOT_IN_CELLS:
            table.blocks = True

    def _text(self) -> None:
        """Text that is read: it fills a cell, and what is not a link makes its surroundings more than navigation."""
        for table in self._tables[-1:]:
            if table.column:
                table.columns.add(table.column)
            table.header = table.header or self._in_header > 0
        if not self._links:
            self._navigation.clear()

    def _leave(self, node: "LexborNode") -> None:
        tag = node.tag
        if node.mem_id in self.left_out:
            self._hidden -= 1
        if tag == "a":
            self._links -= 1
        elif tag == "th":
            self._in_header -= bool(self._tables)
        elif tag == "table":
            table = self._tables.pop()
            if table.is_data():
                self.data_tables.add(node.mem_id)
            for outer in self._tables[-1:]:
                outer.layout = True
        if self._navigation and self._navigation[-1].mem_id == node.mem_id:
            self._navigation.pop()
            self.left_out.add(node.mem_id)


def _names_navigation(node: "LexborNode") -> bool:
    """Whether an element says of itself that it is a menu or a table of contents."""
    has = node.attributes
    if (has.get("role") or "").lower() == "navigation":
        return True
    words = f"{has.get('class') or ''} {has.get('id') or ''}".replace("-", " ").replace("_", " ").lower().split()
    return not _NAVIGATION.isdisjoint(words)
