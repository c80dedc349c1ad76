"""TREC files: judgements (qrels) and results (runs), read strictly into columns.

A qrels line is `query iteration document grade`, a run line `query Q0 document rank score tag`, with spaces between.
As in trec_eval, iteration, Q0 and rank may be anything, and text after the tag is ignored (but counted).
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ragworthy.errors import MOST_PROBLEMS, DataError, Problem, data_error
from ragworthy.text import clip
from ragworthy.trec.fields import blocks, integers, number, singles, split, unpacked
from ragworthy.trec.ranking import WORD, Ints, Qrels, Run, Texts, Words, hashes, pair_keys, same
from ragworthy.trec.records import read_topics, to_records, write_qrels, write_run

__all__ = ["Qrels", "Run", "read_qrels", "read_run", "read_topics", "to_records", "write_qrels", "write_run"]

MOST_GRADE_DIGITS = 9
_SHOWN = 60

Good: TypeAlias = NDArray[np.bool_]
Column: TypeAlias = NDArray[np.int64] | NDArray[np.float32]


class Shape(NamedTuple):
    """What a line of a file looks like, and how its number is read."""

    names: tuple[str, ...]
    number: int
    expected: str
    read: Callable[[bytes, Ints, Ints], tuple[Column, Good]]
    more: bool
    """Whether text after the last field is ignored."""


def _grades(block: bytes, begin: Ints, end: Ints) -> tuple[Column, Good]:
    return integers(block, begin, end, MOST_GRADE_DIGITS)


def _scores(block: bytes, begin: Ints, end: Ints) -> tuple[Column, Good]:
    return singles(block, begin, end)


_QRELS = Shape(
    ("query", "iteration", "document", "grade"),
    3,
    f"an integer of at most {MOST_GRADE_DIGITS} digits",
    _grades,
    more=False,
)
_RUN = Shape(("query", "Q0", "document", "rank", "score", "tag"), 4, "a finite number", _scores, more=True)
_QUERY, _DOCUMENT = 0, 2


class Block(NamedTuple):
    """The columns of some lines; `doc` and `written` are places in the text of the whole file."""

    lines: Ints
    query: Ints
    doc: Ints
    doc_length: Ints
    doc_hash: Words
    value: Column
    written: Ints
    written_length: Ints


class Table(NamedTuple):
    """The columns of a file."""

    qids: list[str]
    query: Ints
    docs: Texts
    keys: Words
    values: Column
    written: Texts
    tail: str
    extra: int


def read_qrels(path: Path) -> Qrels:
    """Read judgements; a DataError names the malformed and repeated lines, up to 20."""
    table = _read(path, _QRELS)
    return Qrels(table.qids, table.query, table.docs, table.keys, table.values.astype(np.int64, copy=False))


def read_run(path: Path) -> Run:
    """Read results; a DataError names the malformed and repeated lines, up to 20."""
    table = _read(path, _RUN)
    scores = table.values.astype(np.float32, copy=False)
    return Run(table.qids, table.query, table.docs, table.keys, scores, table.written, table.tail, table.extra)


class _Reader:
    """Collects the columns of a file block by block, and what is wrong with it."""

    def __init__(self, path: Path, shape: Shape) -> None:
        self.path = path
        self.shape = shape
        self.problems: list[tuple[int, Problem]] = []
        self.codes: dict[bytes, int] = {}
        self.blocks: list[Block] = []
        self.mended: list[bytes] = []
        self.mended_size = 0
        self.tail = ""
        self.extra = 0

    def flaw(self, line: int, message: str, field: str = "", code: str = "RW-E01") -> None:
        self.problems.append((line, Problem(code, message, f"{self.path}:{line}", field)))

    def read(self, data: bytes) -> None:
        """Read all lines, or up to the twentieth problem."""
        offset, line = 0, 1
        for block in blocks(data):
            edges = split(block, len(self.shape.names)) if _is_clean(block) else None
            if edges is not None:
                self.take(block, edges, np.arange(line, line + len(edges)), offset)
            else:
                self.take_sound_lines(block, line, len(data))
            if len(self.problems) >= MOST_PROBLEMS:
                return
            offset += len(block)
            line += block.count(b"\n")

    def take(self, block: bytes, edges: Ints, lines: Ints, offset: int) -> None:
        """Add lines whose fields are known; those without a number are flaws."""
        begin, end = _column(edges, self.shape.number)
        values, good = self.shape.read(block, begin, end)
        if not good.all():
            for row in np.flatnonzero(~good)[:MOST_PROBLEMS].tolist():
                message = f"expected {self.shape.expected}, got {_shown(block[begin[row] : end[row]])}"
                self.flaw(int(lines[row]), message, self.shape.names[self.shape.number])
            edges, lines, values, begin, end = edges[good], lines[good], values[good], begin[good], end[good]
        if not len(lines):
            return
        padded = block + bytes(WORD)
        doc, doc_end = _column(edges, _DOCUMENT)
        docs = Texts(padded, doc, doc_end - doc)
        query = self.coded(padded, *_column(edges, _QUERY))
        self.tail = self.tail or block[: edges[0, -1]].rsplit(maxsplit=1)[-1].decode()
        self.blocks.append(
            Block(lines, query, doc + offset, docs.length, hashes(docs), values, begin + offset, end - begin)
        )

    def coded(self, data: bytes, begin: Ints, end: Ints) -> Ints:
        """The number of each query: 0 for the first that appears in the file, and so on."""
        texts = Texts(data, begin, end - begin)
        starts = np.append(0, np.flatnonzero(~same(texts.at(slice(1, None)), texts.at(slice(-1)))) + 1)
        qids, codes = texts.at(starts).pieces(), self.codes
        found = [*map(codes.get, qids)]
        if None in found:
            found = [
                codes.setdefault(qid, len(codes)) if code is None else code
                for qid, code in zip(qids, found, strict=True)
            ]
        return np.repeat(np.array(found, np.int64), np.diff(np.append(starts, len(begin))))

    def take_sound_lines(self, block: bytes, line: int, size: int) -> None:
        """Look at each line by itself, note the flaws, and add the others without blank lines and extra text."""
        kept: list[bytes] = []
        lines: list[int] = []
        count = len(self.shape.names)
        for at, text in enumerate(block.split(b"\n")[:-1], line):
            fields = text.split()
            if b"\0" in text:
                self.flaw(at, "expected text, got a NUL byte", code="RW-F10")
            elif (bad := _first_bad_byte(text)) is not None:
                self.flaw(at, f"expected UTF-8, got byte 0x{bad:02x}")
            elif fields and not self.fits(fields):
                self.flaw(at, f"expected {count} fields ({' '.join(self.shape.names)}), got {len(fields)}")
            elif fields:
                self.extra += len(fields) > count
                kept.append(b" ".join(fields[:count]) + b"\n")
                lines.append(at)
            if len(self.problems) >= MOST_PROBLEMS:
                return
        mended = b"".join(kept)
        edges = split(mended, count) if mended else None
        if edges is not None:
            self.take(mended, edges, np.array(lines, np.int64), size + self.mended_size)
            self.mended.append(mended)
            self.mended_size += len(mended)

    def fits(self, fields: list[bytes]) -> bool:
        """Whether a line has its fields; a number as tag says that an id with a blank has moved them."""
        count = len(self.shape.names)
        return len(fields) == count or (self.shape.more and len(fields) > count and number(fields[count - 1]) is None)


def _read(path: Path, shape: Shape) -> Table:
    reader = _Reader(path, shape)
    data = unpacked(path)
    reader.read(data)
    if not reader.blocks and not reader.problems:
        raise data_error("RW-F04", f"expected lines '{' '.join(shape.names)}', got none", where=str(path))
    if reader.blocks and len(reader.problems) < MOST_PROBLEMS:
        table = _table(reader, b"".join([data, *reader.mended, bytes(WORD)]))
        _find_repeats(reader, table)
    if reader.problems:
        raise DataError([problem for _, problem in sorted(reader.problems)[:MOST_PROBLEMS]])
    return table


def _table(reader: _Reader, data: bytes) -> Table:
    query, doc, doc_length, doc_hash, values, written, written_length = (
        np.concatenate(column) for column in list(zip(*reader.blocks, strict=True))[1:]
    )
    qids = [qid.decode() for qid in reader.codes]
    return Table(
        qids,
        query,
        Texts(data, doc, doc_length),
        pair_keys(qids, query, doc_hash),
        values,
        Texts(data, written, written_length),
        reader.tail,
        reader.extra,
    )


def _column(edges: Ints, field: int) -> tuple[Ints, Ints]:
    """Where a field begins and ends in each line."""
    return np.ascontiguousarray(edges[:, 2 * field]), np.ascontiguousarray(edges[:, 2 * field + 1])


def _find_repeats(reader: _Reader, table: Table) -> None:
    """Note every line that repeats the query and document of an earlier one."""
    ordered = np.sort(table.keys)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if not twice.size:
        return
    lines = np.concatenate([block.lines for block in reader.blocks])
    first: dict[tuple[int, bytes], int] = {}
    rows = np.flatnonzero(np.isin(table.keys, twice))
    for row, document in zip(rows.tolist(), table.docs.at(rows).pieces(), strict=True):
        query, line = int(table.query[row]), int(lines[row])
        known = first.setdefault((query, document), line)
        if known != line:
            pair = f"query {_shown(table.qids[query])} and document {_shown(document)}"
            reader.flaw(line, f"expected one line for {pair}, got another after line {known}", "document", "RW-E02")
        if len(reader.problems) >= 2 * MOST_PROBLEMS:
            return


def _is_clean(block: bytes) -> bool:
    return b"\0" not in block and (block.isascii() or _first_bad_byte(block) is None)


def _first_bad_byte(text: bytes) -> int | None:
    try:
        text.decode()
    except UnicodeDecodeError as error:
        return text[error.start]
    return None


def _shown(text: bytes | str) -> str:
    return f"'{clip(text if isinstance(text, str) else text.decode(), _SHOWN)}'"
