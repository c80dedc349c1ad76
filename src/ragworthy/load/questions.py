"""Questions of a structured set: JSON lines, one JSON array, or a subset drawn from another set.

Whatever the file is, its source yields one record per line. The lines of an array are at the same byte offsets as its
elements do in the file, so that every place can be named.
"""

import codecs
import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from ragworthy.errors import DataError, Problem, data_error
from ragworthy.files import open_input
from ragworthy.load import unpack
from ragworthy.load.decode import Item, items_of, lines_of
from ragworthy.load.sources import (
    BLOCK,
    BOM,
    LONGEST_LINE,
    Block,
    FileSource,
    PackedFile,
    PlainFile,
    Source,
    open_source,
)
from ragworthy.names import SUBSET_SCHEMA
from ragworthy.records import SchemaOnly, StructuredGold, explained
from ragworthy.text import clip, visible

_ANY_SUBSET = "ragworthy.subset/"
LARGEST_ARRAY = 1 << 30
"""An array is read in one piece; JSON lines have no limit."""
_SNIFFED = 4096
_BLANKS = b" \t\r\n"
_OPENING = re.compile(rb"[ \t\r\n]*\[[ \t\r\n]*")
_GAP = re.compile(rb"[ \t\r\n]*[,\]]?[ \t\r\n]*")
_HALF_PAIR = re.compile(rb"(?<!\\)(?:\\\\)*(\\u[dD][89abAB]\w\w)(?!\\u[dD][c-fC-F]|\\?u?[dD]?\Z)")
"""The first half of a surrogate pair without the second one; a file may also be cut off in the middle of a pair."""


class BrokenArray(DataError):
    """The text of a question file cannot be taken apart; each problem names its line."""


class Parent(msgspec.Struct, frozen=True):
    """The question set that a subset was drawn from."""

    file: str
    sha256: str
    items: int
    distinct: int


class _Header(msgspec.Struct, frozen=True, kw_only=True):
    schema: str
    algorithm: str
    seed: int
    size: int
    strata: list[str]
    parent: Parent


class Subset(_Header, frozen=True, kw_only=True):
    """A subset file: how it was drawn, and its questions."""

    questions: list[dict[str, Any]]


class _Rows(_Header, frozen=True, kw_only=True):
    questions: msgspec.Raw


class _Marked(msgspec.Struct, frozen=True):
    schema: Any = None

    @property
    def is_subset(self) -> bool:
        return isinstance(self.schema, str) and self.schema.startswith(_ANY_SUBSET)


def open_questions(role: str, given: Any) -> Source:
    """The source behind a question file, an iterable of records or a data frame."""
    source = open_source(role, given)
    if not isinstance(source, (PlainFile, PackedFile)):
        return source
    head = _head(source)
    if head.startswith(b"["):
        return ArrayFile(source)
    if head.startswith(b"{") and _is_subset(source, head):
        return ArrayFile(source, subset=True)
    return source


def is_drawn(source: Source) -> bool:
    """Whether a source is a subset file, and not a plain array or JSON lines."""
    return isinstance(source, ArrayFile) and source.drawn


def read_questions(source: Source) -> tuple[list[Item], list[Problem]]:
    """Every question with its line and all fields, and the problems of what is none."""
    return items_of(source.numbered(), source.at, StructuredGold)


def read_subset(path: Path) -> Subset:
    """A subset file with its header."""
    source = open_source("gold", path)
    if not isinstance(source, (PlainFile, PackedFile)):
        raise data_error("RW-Q05", "expected a subset file, got another kind of file", where=source.given)
    text = _text(source)
    _check_utf8(source, text)
    subset: Subset = _decoded(source, text, Subset)
    return subset


class ArrayFile(FileSource):
    """A JSON array, or the questions of a subset file, as one record per line."""

    def __init__(self, source: PlainFile | PackedFile, *, subset: bool = False) -> None:
        super().__init__(source.role, source.path)
        self.drawn = subset
        """Whether it is a subset file that says how it was drawn."""
        text = _text(source)
        self._kept = text if isinstance(source, PackedFile) else None
        _check_utf8(source, text)
        begin = _begin(text)
        length = len(text) - begin
        if subset:
            rows = bytes(_decoded(source, text, _Rows).questions)
            begin, length = text.find(rows), len(rows)
        self._starts, self._ends = _elements(source, text, begin, length)

    def between(self, begin: int, end: int) -> Iterator[Block]:
        first = 0
        for nth in range(1, len(self._ends) + 1) if begin <= 0 < end else ():
            if self._starts[nth] - self._starts[first] >= BLOCK or nth == len(self._ends):
                yield self._block(first, nth)
                first = nth

    def block_at(self, offset: int, length: int, part: int, parts: int) -> Block:
        return self._block(bisect_left(self._starts, offset), bisect_left(self._starts, offset + length))

    def _block(self, first: int, last: int) -> Block:
        """Some elements, each on one line: what is between them becomes spaces and a line end."""
        begin = self._starts[first]
        data = bytearray(self._bytes(begin, self._starts[last]).replace(b"\n", b" "))
        for nth in range(first, last):
            end, following = self._ends[nth] - begin, self._starts[nth + 1] - begin
            data[end:following] = b" " * (following - end - 1) + b"\n"
        return Block(begin, bytes(data))

    def _bytes(self, begin: int, end: int) -> bytes:
        if self._kept is not None:
            return self._kept[begin:end]
        with open_input(self.path) as file:
            file.seek(begin)
            data = file.read(end - begin)
        if len(data) < end - begin:
            raise data_error("RW-F16", "the file changed while it was being read", where=self.given)
        return data

    def lines_at(self, offsets: Iterable[int]) -> dict[int, int]:
        left = sorted(set(offsets), reverse=True)
        lines: dict[int, int] = {}
        line, at = 1, 0
        size = self._starts[-1]
        while left and at < size:
            chunk = self._bytes(at, min(at + BLOCK, size))
            seen = 0
            while left and left[-1] < at + len(chunk):
                offset = left.pop()
                line += chunk.count(b"\n", seen, offset - at)
                seen = offset - at
                lines[offset] = line
            line += chunk.count(b"\n", seen)
            at += len(chunk)
        return lines | dict.fromkeys(left, line)

    def numbered_between(self, begin: int, end: int) -> Iterator[tuple[int, bytes]]:
        """Every element as one line, with the line of the file on which it starts."""
        lines = self.lines_at(self._starts[:-1])
        for block in self.between(begin, end):
            offset = block.offset
            for line in lines_of(block.data):
                yield lines[offset], line
                offset += len(line)


def _text(source: PlainFile | PackedFile) -> bytes:
    """All bytes of a file, unpacked."""
    return unpack.whole(source.path, limit=LARGEST_ARRAY, given=source.given)


def _head(source: PlainFile | PackedFile) -> bytes:
    """The first line that is not blank, as far as it tells what the file is."""
    pieces: list[bytes] = []
    size = 0
    for chunk in unpack.chunks(source.path, source.given):
        if not pieces:
            chunk = chunk.removeprefix(BOM).lstrip(_BLANKS)
        if chunk:
            line, end, _ = chunk.partition(b"\n")
            pieces.append(line)
            size += len(line)
            if end or size >= LONGEST_LINE or not pieces[0].startswith(b"{"):
                break
    return b"".join(pieces)


def _is_subset(source: PlainFile | PackedFile, head: bytes) -> bool:
    """Whether a file that starts with an object is a subset; else it is JSON lines."""
    try:
        return msgspec.json.decode(head, type=_Marked).is_subset
    except (msgspec.MsgspecError, RecursionError):
        text = _text(source)
    begin = _begin(text)
    try:
        if msgspec.json.decode(memoryview(text)[begin:], type=_Marked).is_subset:
            return True
    except (msgspec.MsgspecError, RecursionError):
        return f'"{_ANY_SUBSET}'.encode() in text[begin : begin + _SNIFFED]
    if len(head) >= LONGEST_LINE:
        return False
    line = _line(text, text.find(b"{"))
    message = "expected a JSON array or one record per line, got one object over several lines"
    raise BrokenArray([Problem("RW-F07", message, f"{source.given}:{line}")])


def _begin(text: bytes) -> int:
    return len(BOM) if text[: len(BOM)] == BOM else 0


def _elements(source: Source, text: bytes, begin: int, length: int) -> tuple["array[int]", "array[int]"]:
    """Where the elements of an array start and end; one more start tells where the array ends."""
    try:
        raws = msgspec.json.decode(memoryview(text)[begin : begin + length], type=list[msgspec.Raw])
    except (msgspec.MsgspecError, RecursionError) as error:
        raise _broken(source, text, begin, error, "array") from None
    starts, ends = array("q"), array("q")
    opening = _OPENING.match(text, begin)
    at = opening.end() if opening is not None else begin
    for raw in raws:
        starts.append(at)
        ends.append(at + len(memoryview(raw)))
        if ends[-1] - at > LONGEST_LINE:
            message = f"expected records of at most {LONGEST_LINE >> 20} MiB, got a longer one"
            raise data_error("RW-F05", message, where=f"{source.given}:{_line(text, at)}")
        gap = _GAP.match(text, ends[-1])
        at = gap.end() if gap is not None else ends[-1]
    starts.append(at)
    return starts, ends


def _decoded(source: Source, text: bytes, kind: type[Any]) -> Any:
    """A subset file as one object."""
    begin = _begin(text)
    try:
        schema = msgspec.json.decode(memoryview(text)[begin:], type=SchemaOnly).schema
        if schema != SUBSET_SCHEMA:
            message = f'expected "{SUBSET_SCHEMA}", got "{clip(visible(schema), 40)}"'
            raise data_error("RW-Q05", message, where=source.given, field="schema")
        return msgspec.json.decode(memoryview(text)[begin:], type=kind)
    except msgspec.ValidationError as error:
        field, message = explained(error)
        raise data_error("RW-Q05", message, where=source.given, field=field) from None
    except (msgspec.MsgspecError, RecursionError) as error:
        raise _broken(source, text, begin, error, "object") from None


def _line(text: bytes, at: int) -> int:
    """The line, from 1, of a byte."""
    return 1 + sum(text[begin : min(begin + BLOCK, at)].count(b"\n") for begin in range(0, at, BLOCK))


def _column(text: bytes, at: int) -> int:
    return at - text.rfind(b"\n", 0, at)


def _check_utf8(source: Source, text: bytes) -> None:
    decoder = codecs.getincrementaldecoder("utf-8")()
    for begin in range(0, len(text), BLOCK):
        held = len(decoder.getstate()[0])
        try:
            decoder.decode(text[begin : begin + BLOCK], final=begin + BLOCK >= len(text))
        except UnicodeDecodeError as error:
            at = begin - held + error.start
            message = f"expected UTF-8, got byte 0x{text[at]:02x} at column {_column(text, at)}"
            raise BrokenArray([Problem("RW-F06", message, f"{source.given}:{_line(text, at)}")]) from None


def _broken(source: Source, text: bytes, begin: int, error: Exception, what: str) -> BrokenArray:
    """Why a file is not JSON, with the line on which it stops being it."""
    code, at, message = _fault(text, begin, error, what)
    return BrokenArray([Problem(code, message, f"{source.given}:{_line(text, at)}")])


def _fault(text: bytes, begin: int, error: Exception, what: str) -> tuple[str, int, str]:
    if isinstance(error, RecursionError):
        return "RW-F11", begin, "expected flat records, got JSON nested too deeply"
    if found := re.fullmatch(r"(?:JSON is malformed: )?(.*) \(byte (\d+)\)", str(error)):
        reason, at = found[1], begin + int(found[2])
    elif half := _HALF_PAIR.search(text, begin):
        reason, at = "surrogate", half.start(1)
    else:
        return "RW-F09", len(text), f"expected a whole JSON {what}, got the end of the file in the middle of it"
    at -= reason == "trailing characters"  # which are counted from 1
    if "surrogate" in reason:
        return "RW-F07", at, "expected JSON, got half of a surrogate pair (\\ud8xx)"
    if text[at : at + 1] == b"\x00":
        return "RW-F10", at, f"expected JSON, got a NUL byte at column {_column(text, at)}"
    rest = clip(visible(text[at : at + 200].decode("utf-8", "replace").strip()), 40)
    return "RW-F07", at, f"expected a JSON {what}, got {rest} ({reason})"
