"""What a terminal can show, and lines laid out for it: how wide, in which signs, with which colours.

Whatever a line holds of the data, nothing in it steers a terminal: colours are added when that is done.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ragworthy.report.show import width_of
from ragworthy.report.wrapped import broken, fitting
from ragworthy.safe import spelled, terminal
from ragworthy.text import visible

PIPE = 100
"""Columns where there is no terminal that has a width, so that the same run prints the same bytes."""
NARROWEST = 40
"""Nothing is laid out for less."""
PROSE = 120
"""Sentences are broken at this width on a terminal that is wider: longer lines are hard to read."""
TEXT = 24
"""Columns that a text behind a row needs at least."""
CELL = 12
"""Columns that no cell of a table is squeezed below."""
_INDENT, _GAP = 2, 2
_CODES = {
    "SHIP": "1;32",
    "NO-SHIP": "1;31",
    "INCONCLUSIVE": "1;33",
    "INVALID": "1;35",
    "pass": "32",
    "fail": "31",
    "undecided": "33",
    "not_measured": "35",
    "waived": "33",
    "label": "33",
    "head": "1",
    "dim": "2",
}
"""What a role looks like; verdicts and outcomes are roles of their own."""


class Span(NamedTuple):
    """A piece of a line, and what it is, where that has a colour."""

    text: str
    role: str = ""


Piece = str | Span


class Said(NamedTuple):
    """Cells of a row, and a text behind them."""

    cells: Sequence[Piece]
    text: str
    most: int
    """How many lines of it are shown."""


class Screen(NamedTuple):
    """Where text is shown. The default is a file: as wide as need be, without colours."""

    width: int | None = None
    colour: bool = False
    encoding: str | None = None
    """The encoding of a stream that cannot take every sign; what it cannot take is spelled."""

    def seen(self, text: str) -> str:
        """A text as it is shown, before anything is measured."""
        return visible(text if self.encoding is None else spelled(text, self.encoding))

    def line(self, *pieces: Piece) -> str:
        """One line."""
        if not self.colour:
            return terminal("".join(self.seen(_span(one).text) for one in pieces)).rstrip()
        return "".join(map(self._painted, map(_span, pieces))).rstrip()

    def cut(self, text: str, room: int | None) -> str:
        """A text on one line, cut where it is wider."""
        line = self.seen(" ".join(text.split()))
        if room is None or width_of(line) <= room:
            return line
        more = self.seen("…")
        return line[: fitting(line, max(1, room - width_of(more)))].rstrip() + more

    def hung(
        self, head: Sequence[Piece], text: str, role: str = "", *, indent: int, most: int | None = None
    ) -> list[str]:
        """A text behind a head, broken where the screen ends; what goes on below is indented. `most`: so many lines,
        and the last one is cut.
        """
        shown = self.seen(" ".join(text.split()))
        if self.width is None:
            return [self.line(*head, Span(shown, role))]
        before = sum(width_of(self.seen(_span(one).text)) for one in head)
        limit = max(min(self.width, PROSE), before + CELL)
        first, room = limit - before, limit - indent
        pieces = _broken(shown, first, room)
        if most is not None and len(pieces) > most:
            rest = " ".join(pieces[most - 1 :])
            pieces = [*pieces[: most - 1], self.cut(rest, first if most == 1 else room)]
        lines = [self.line(*head, Span(pieces[0] if pieces else "", role))]
        return lines + [self.line(Span(" " * indent), Span(one, role)) for one in pieces[1:]]

    def prose(self, line: str, role: str = "") -> list[str]:
        """A line of a report, indented as it is; what does not fit goes on below, further in."""
        bare = line.lstrip(" ")
        blanks = len(line) - len(bare)
        if self.width is None or width_of(line) <= self.width:
            return [self.line(Span(line, role))]
        return self.hung([" " * blanks], bare, role, indent=blanks + 4)

    def table(self, header: Sequence[str], rows: Iterable[Sequence[Piece]], *, drop: Sequence[str] = ()) -> list[str]:
        """Rows in columns, two spaces apart. Where they do not fit: columns are dropped in the order of `drop`, names
        in the first column are shortened in the middle, cells are broken, and what is left goes into a table below.
        """
        cells = [[Span(self.seen(one.text), one.role) for one in map(_span, row)] for row in (header, *rows)]
        cells[0] = [Span(one.text, "dim") for one in cells[0]]
        for name in drop:
            if name in header and not self._fits(_widths(cells)):
                nth = [one.text for one in cells[0]].index(self.seen(name))
                cells = [[*row[:nth], *row[nth + 1 :]] for row in cells]
        widths = self._squeezed(_widths(cells))
        lines: list[str] = []
        for columns in self._blocks(widths):
            lines += [""] if lines else []
            for row in cells:
                lines += self._row([row[nth] for nth in columns], [widths[nth] for nth in columns])
        return lines

    def rows(self, rows: Sequence["Said"]) -> list[str]:
        """Rows in columns without a header, each with a text behind it. The second column holds names, which are
        shortened in the middle where they have to be. Where that leaves too little room behind the columns, texts that
        are long enough to matter go below their row, and the others are left out.
        """
        cells = [[Span(self.seen(one.text), one.role) for one in map(_span, row.cells)] for row in rows]
        if not cells:
            return []
        widths = _widths(cells)
        while not self._fits(widths) and widths[1] > CELL:
            widths[1] -= 1
        indent = _INDENT + sum(widths) + _GAP * len(widths)
        behind = self.width is None or self.width - indent >= TEXT
        lines = []
        for row, spans in zip(rows, cells, strict=True):
            head: list[Piece] = [" " * (_INDENT - _GAP)]
            for nth, (one, width) in enumerate(zip(spans, widths, strict=True)):
                name = self._middle(one.text, width) if nth == 1 else one.text
                head += [" " * _GAP, Span(name, one.role), " " * (width - width_of(name))]
            if behind:
                lines += self.hung([*head, " " * _GAP], row.text, indent=indent, most=row.most)
                continue
            lines.append(self.line(*head))
            below = _INDENT + widths[0] + _GAP
            if row.text and row.most > 1:
                lines += self.hung([" " * below], row.text, "dim", indent=below, most=row.most - 1)
        return lines

    def _painted(self, one: Span) -> str:
        shown = terminal(self.seen(one.text))
        code = _CODES.get(one.role)
        return f"\x1b[{code}m{shown}\x1b[0m" if code and shown.strip() else shown

    def _fits(self, widths: Sequence[int]) -> bool:
        return self.width is None or _INDENT + sum(widths) + _GAP * (len(widths) - 1) <= self.width

    def _squeezed(self, widths: list[int]) -> list[int]:
        """The widest columns, narrower until the table fits or none is wide any more."""
        while not self._fits(widths):
            nth = max(range(len(widths)), key=lambda each: (widths[each], each))
            if widths[nth] <= CELL:
                break
            widths[nth] -= 1
        return widths

    def _blocks(self, widths: Sequence[int]) -> list[list[int]]:
        """The columns of each table: all in one where they fit, else the first column is repeated in each."""
        blocks = [[0]]
        for nth in range(1, len(widths)):
            block = [*blocks[-1], nth]
            if len(blocks[-1]) == 1 or self._fits([widths[one] for one in block]):
                blocks[-1] = block
            else:
                blocks.append([0, nth])
        return blocks

    def _row(self, row: Sequence[Span], widths: Sequence[int]) -> list[str]:
        """A row as lines: one, or as many as its longest cell has."""
        cells = [
            [self._middle(one.text, width)] if not nth else broken(one.text, width) or [""]
            for nth, (one, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines = []
        for deep in range(max(map(len, cells))):
            pieces: list[Piece] = [" " * (_INDENT - _GAP)]
            for one, cell, width in zip(row, cells, widths, strict=True):
                text = cell[deep] if deep < len(cell) else ""
                pieces += [" " * _GAP, Span(text, one.role), " " * (width - width_of(text))]
            lines.append(self.line(*pieces))
        return lines

    def _middle(self, name: str, room: int) -> str:
        """A name, shortened in the middle: ids differ in how they begin and in how they end."""
        if width_of(name) <= room:
            return name
        more = self.seen("…")
        left = room - width_of(more)
        tail = name[::-1][: fitting(name[::-1], left // 2)][::-1]
        return name[: fitting(name, left - width_of(tail))] + more + tail


FILE = Screen()
"""As wide as need be, without colours."""


def _span(piece: Piece) -> Span:
    return piece if isinstance(piece, Span) else Span(piece)


def _widths(cells: Sequence[Sequence[Span]]) -> list[int]:
    return [max(width_of(row[nth].text) for row in cells) for nth in range(len(cells[0]))]


def _broken(text: str, first: int, room: int) -> list[str]:
    """A text in pieces; the first one has another width than the rest."""
    pieces = broken(text, first)
    if first == room or len(pieces) < 2:
        return pieces
    return [pieces[0], *broken(text[len(pieces[0]) :].lstrip(), room)]
