"""Plain text: paragraphs between empty lines, headings by their numbers, code by indentation, tables by columns."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ragworthy.corpus import markup
from ragworthy.corpus.model import Parsed, Piece
from ragworthy.corpus.normalise import characters, prose, table_line
from ragworthy.corpus.outline import DEEPEST, Number, numbering

LONGEST_HEADING = 120
LONGEST_CELL = 60
"""Of a table whose commas could be those of a sentence."""

_BULLET = re.compile(r"[ \t]*(?:[-*+•‣◦]|[0-9]{1,3}[.)]|[A-Za-z][.)]|\([0-9A-Za-z]{1,3}\))[ \t]+\S")
_PAGE_NUMBER = re.compile(r"(?:(?:\.[ ]?){3,}|…[ ]?|[ ]{2,}|\t)[0-9]{1,4}$")
_CONTENTS = re.compile(r"(?:table of )?contents:?|目录|目錄|目次", re.IGNORECASE)
_REFERENCES = re.compile(r"references|bibliography|works cited|参考文献|參考文獻", re.IGNORECASE)
_INDENTED = re.compile(r"(?: {4}| {0,3}\t)[ \t]*\S")


class _Run(NamedTuple):
    """Lines that belong together, where they start, and what they may be."""

    begin: int
    lines: list[str]
    kind: str
    info: str = ""
    closed: bool = True


def read(source: str) -> Parsed:
    """The headings and blocks of a plain text."""
    runs = list(_merged(_runs(characters(source).split("\n"))))
    levels = _headings(runs)
    pieces: list[Piece] = []
    for index, run in enumerate(runs):
        if index in levels:
            title = " ".join(run.lines[0].split())
            pieces.append(Piece("heading", title, level=levels[index], title=title))
            pieces += _blocks(run._replace(lines=run.lines[1:]))
        else:
            pieces += _blocks(run)
    return Parsed([piece for piece in pieces if piece.text.strip()])


def _runs(lines: list[str]) -> Iterator[_Run]:
    """Fenced code, indented code and paragraphs, in order."""
    at = 0
    while at < len(lines):
        fence = markup.FENCE.fullmatch(lines[at])
        if not lines[at].strip():
            at += 1
        elif fence:
            end, closed = _closing(lines, at + 1, fence["fence"])
            yield _Run(at, lines[at:end], "code", fence["info"], closed)
            at = end
        else:
            end = at + 1
            while end < len(lines) and lines[end].strip() and not markup.FENCE.fullmatch(lines[end]):
                end += 1
            is_code = all(_INDENTED.match(line) for line in lines[at:end]) and not _BULLET.match(lines[at])
            yield _Run(at, lines[at:end], "indented" if is_code else "paragraph")
            at = end


def _merged(runs: Iterable[_Run]) -> Iterator[_Run]:
    """The runs, indented code in one piece although it has empty lines."""
    held: _Run | None = None
    for run in runs:
        if held and held.kind == run.kind == "indented":
            held.lines.extend([""] * (run.begin - held.begin - len(held.lines)) + run.lines)
            continue
        if held:
            yield held
        held = run
    if held:
        yield held


def _closing(lines: list[str], at: int, fence: str) -> tuple[int, bool]:
    """The place after the closing fence, or the end of the text where there is none."""
    for end in range(at, len(lines)):
        line = lines[end].strip()
        if len(line) >= len(fence) and line[0] == fence[0] and not line.strip(fence[0]):
            return end + 1, True
    return len(lines), False


def _candidate(run: _Run) -> Number | None:
    """The number of a paragraph that looks like a heading, or whose first line does."""
    line = run.lines[0].strip()
    if run.kind != "paragraph" or len(line) > LONGEST_HEADING or _PAGE_NUMBER.search(line):
        return None
    number = numbering(line)
    if number is None or not _reads_like_a_title(line, number):
        return None
    if len(run.lines) == 1:
        single = number.kind == "dotted" and len(number.parts) == 1
        return None if single and number.rest[:1].islower() else number
    strong = number.kind in ("chapter", "appendix") or len(number.parts) > 1
    starts_large = bool(number.rest) and not number.rest[0].islower()
    return number if strong and starts_large and not numbering(run.lines[1].strip()) else None


def _reads_like_a_title(line: str, number: Number) -> bool:
    """Whether a numbered line has words, does not end like a sentence, and is not full of punctuation."""
    rest = number.rest
    if number.kind in ("dotted", "letter") and not any(character.isalpha() for character in rest):
        return False
    if number.kind in ("chapter", "appendix") and rest[:1].islower():
        return False
    if rest and line.endswith((".", ";", ",", "。", "；", "，", "!", "！")):
        return False
    marks = sum(1 for character in rest if not character.isalnum() and not character.isspace())
    return 3 * marks <= len(rest)


def _headings(runs: list[_Run]) -> dict[int, int]:
    """The level of each paragraph that is a heading or starts with one."""
    numbers = {index: number for index, run in enumerate(runs) if (number := _candidate(run))}
    for index in _in_contents(runs, numbers):
        del numbers[index]
    found: dict[int, int] = {}
    references: Number | None = None
    numbered = False
    for index, number in numbers.items():
        if references is not None and not _leaves(references, number):
            continue
        references = number if _REFERENCES.fullmatch(number.rest) else None
        level = len(number.parts)
        if number.kind == "letter":
            level = 2 if numbered else 1
        numbered = numbered or number.kind != "letter"
        found[index] = min(level, DEEPEST)
    return found


def _in_contents(runs: list[_Run], numbers: dict[int, Number]) -> list[int]:
    """The candidates that are lines of a table of contents: they come again later."""
    start = next((n for n, run in enumerate(runs) if _CONTENTS.fullmatch(run.lines[0].strip())), len(runs))
    listed: list[int] = []
    seen: set[tuple[str, ...]] = set()
    for index, number in numbers.items():
        if index > start:
            if number.parts in seen:
                return listed
            seen.add(number.parts)
            listed.append(index)
    return []


def _leaves(references: Number, number: Number) -> bool:
    """Whether a number goes on after the list of references instead of being a line of it."""
    if number.kind in ("chapter", "appendix") or len(number.parts) > 1:
        return True
    first = references.parts[0]
    return first.isdecimal() and number.parts[0] == str(int(first) + 1)


def _blocks(run: _Run) -> Iterator[Piece]:
    """The blocks of a run of lines."""
    lines = run.lines
    if not lines:
        return
    if run.kind != "paragraph":
        yield markup.code(lines, run.info, closed=run.closed)
        return
    text = "\n".join(line.strip() for line in lines)
    if markup.is_formula(text):
        yield Piece("formula", text)
        return
    at = 0
    for begin, end, separator in _tables(lines):
        yield from _prose(lines[at:begin])
        yield _table(lines[begin:end], separator)
        at = end
    yield from _prose(lines[at:])


def _prose(lines: list[str]) -> Iterator[Piece]:
    """A paragraph on one line; a list with a line for each item."""
    if not lines:
        return
    if not _BULLET.match(lines[0]):
        text = prose(lines)
        yield Piece("figure" if markup.is_figure(text) else "prose", text)
        return
    items: list[list[str]] = []
    for line in lines:
        if _BULLET.match(line):
            items.append([line])
        else:
            items[-1].append(line)
    yield Piece("prose", "\n".join(prose(item) for item in items), {"kind": "list"})


def _tables(lines: list[str]) -> list[tuple[int, int, str]]:
    """The runs of lines that are tables: with pipes, or at least three lines with much the same columns."""
    found: list[tuple[int, int, str]] = []
    free = [(0, len(lines))]
    for separator in "|\t;,":
        rest: list[tuple[int, int]] = []
        for begin, end in free:
            at = begin
            for first, last in _table_runs(lines, begin, end, separator):
                found.append((first, last, separator))
                rest.append((at, first))
                at = last
            rest.append((at, end))
        free = rest
    return sorted(found)


def _table_runs(lines: list[str], begin: int, end: int, separator: str) -> Iterator[tuple[int, int]]:
    """The tables with this separator between two places."""
    at = begin
    while at < end:
        if separator == "|" and at + 1 < end and "|" in lines[at] and markup.is_delimiter(lines[at + 1]):
            stop = at + 2
            while stop < end and "|" in lines[stop]:
                stop += 1
            yield at, stop
        else:
            stop = max(at + 1, _similar(lines, at, end, separator))
            if stop - at >= 3 and _is_data(lines[at:stop], separator):
                yield at, stop
        at = stop


def _similar(lines: list[str], at: int, end: int, separator: str) -> int:
    """The place after the last line from here on whose columns are like those of the first."""
    columns = lines[at].strip().count(separator)
    while columns and at < end and abs(lines[at].strip().count(separator) - columns) <= (columns > 2):
        at += 1
    return at


def _is_data(lines: list[str], separator: str) -> bool:
    """Whether lines with the same columns are rows and not sentences."""
    if separator in "\t|":
        return True
    rows = [line.strip() for line in lines]
    longest = max(len(cell) for row in rows for cell in row.split(separator))
    if longest > LONGEST_CELL or any(row.endswith((".", separator)) for row in rows):
        return False
    borders = [row.count(separator) for row in rows]
    if 2 * sum(row.count(f"{separator} ") for row in rows) < sum(borders):
        return True
    return min(borders) == max(borders) > 1 and len(rows) > 3 and 2 * longest <= LONGEST_CELL


def _table(lines: list[str], separator: str) -> Piece:
    """A table in plain text; the first row is taken as header where there is a row of dashes or no number in it."""
    if separator == "|" and len(lines) > 1 and markup.is_delimiter(lines[1]):
        return markup.pipe_table(lines)
    first = lines[0].strip().split(separator)
    header = int(all(cell.strip() and not any(character.isdecimal() for character in cell) for cell in first))
    attrs = {"rows": len(lines) - header, "cols": len(first), "header_rows": header, "grid_kind": "csv"}
    return Piece("table", "\n".join(table_line(line, tabs=separator == "\t") for line in lines), attrs)
