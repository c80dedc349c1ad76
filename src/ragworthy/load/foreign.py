"""A file that does not fit says what it is: its first bytes, its columns or its fields tell, and which import reads it.

Nothing is looked at while reading goes well. Only where a file could not be read, or none of its records fits, its
head is looked at once more; a file of the right kind with a broken line keeps the messages of its lines.
"""

import csv
import io
import json
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragworthy.errors import DataError, Problem, RagworthyError
from ragworthy.load import parquet, unpack
from ragworthy.load.encoding import likely_encoding
from ragworthy.load.misnamed import as_told, command, fields_of, have, mapping, role_of
from ragworthy.load.shapes import KINDS, Shape, held_by, kinds_of, own_file, shape_of
from ragworthy.load.sources import BOM, FileSource, Source
from ragworthy.load.spread import spread
from ragworthy.text import clip, visible

WHOLE = 32 << 20
"""Up to here a file is looked at as a whole; of a larger one only the head."""
HEAD = 1 << 20
_LINES = 200
_NAMED = (
    "RW-F01", "RW-F02", "RW-F03", "RW-F12", "RW-F13", "RW-F16", "RW-F18", "RW-F19", "RW-F20", "RW-F22", "RW-F23",
    "RW-F24", "RW-T12", "RW-T14", "RW-T15",
)  # fmt: skip
"""Codes of errors that say already what is the matter with a file as a whole."""
_COLUMNS = 6
_TRACES = ("traces",)
_FAMILIES = {
    "Gold": ("gold",),
    "RetrievalGold": ("retrieval gold", "gold"),
    "StructuredGold": ("questions",),
    "StructuredOutput": ("outputs",),
    "Trace": _TRACES,
    "RetrievalTrace": _TRACES,
    "Run": _TRACES,
}
"""The kinds of our own that an input takes, by the record type that is read from it; votes for all others."""
_ARRAYS = ("StructuredGold", "StructuredOutput")
"""Record types that may also are in a JSON array."""
_NEEDED = {"Gold": (("qid", "q_id"), ("answerable",)), "RetrievalGold": (("qid", "q_id"),)}
_MAGIC = (
    (b"\xd0\xcf\x11\xe0", "an old Excel file (.xls)", "save it as .xlsx or .csv"),
    (b"%PDF", "a PDF", "give the questions as JSON lines, CSV or .xlsx"),
    (b"SQLite format 3", "an SQLite database", "export the table as CSV"),
    (b"\x1f\x8b", "a gzip file", "give it a name that ends with .gz"),
    (b"\x28\xb5\x2f\xfd", "a zstd file", "give it a name that ends with .zst"),
    (b"PAR1", "a Parquet file", "give it a name that ends with .parquet"),
)


class Look(NamedTuple):
    """What the head of a file shows."""

    form: str
    """lines, array, object, or objects: several, each over several lines."""
    records: Sequence[dict[str, Any]]
    """Those that could be read; of a large file the first ones."""
    total: int
    """How many lines or elements there are; 0 where the whole was not looked at."""


def name_misfits(error: DataError, inputs: Iterable[tuple[Source, str]]) -> None:
    """Raise in one line that a file is something else altogether, where that is why it could not be read.

    `inputs` are the sources, each with the name of the record type that is read from it.
    """
    if any(one.code in _NAMED for one in error.problems):
        return
    for source, record in [(one, record) for given, record in inputs for one in given.parts()]:
        if record and any(
            one.where == source.given or one.where.startswith(f"{source.given}:") for one in error.problems
        ):
            check(source, record)


def check(source: Source, record: str, *, strict: bool = True) -> None:
    """Raise what a file is when it is something else than records of this type; to be called once reading failed.

    Where not `strict`, gold questions of any suite do, as they do for commands that only ask them.
    """
    problem = misfit(source, record, strict=strict)
    if problem is not None:
        raise DataError([problem])


def check_gold(source: Source, record: str, *, some: bool) -> None:
    """The same for gold questions of any suite. Where `some` could be read, the file may still be an array: an element
    on a line of its own reads as a record.
    """
    begins = (block.data.lstrip()[:1] for block in source.blocks() if block.data.strip())
    if not some or next(begins, b"") == b"[":
        check(source, record, strict=False)


def misfit(source: Source, record: str, *, strict: bool = True) -> Problem | None:
    """What a file is when it is something else than records of this type; None where it seems to be just these."""
    try:
        data = _bytes(source)
    except RagworthyError:
        return None
    if not data.strip():
        return None
    found = _binary(source, data, record)
    if found is not None:
        return found
    text = data.removeprefix(BOM).lstrip()
    if text[:1] in (b"{", b"["):
        look = _look(text)
        return None if look is None else _of_records(source, record, look, strict)
    return _of_table(source, record, data)


def elsewhere(source: Source, name: str, *, surely: bool = False) -> Problem | None:
    """What a file is that the import `name` is to read, when another import reads it or none does.

    `surely` asks for what no mapping of fields can read: spans, and answers of frameworks.
    """
    try:
        data = _bytes(source)
    except RagworthyError:
        return None
    text = data.removeprefix(BOM).lstrip()
    look = _look(text) if text[:1] in (b"{", b"[") else None
    first = look.records[0] if look is not None and look.records else {}
    shape = shape_of(first)
    if shape is None or shape.reads == name or (surely and not shape.sure):
        return None
    record = "Gold" if "gold" in shape.gives and shape.reads else "Trace"
    return _told(source, _of_shape(source, record, shape, first), _these(shape))


def _bytes(source: Source) -> bytes:
    """The beginning of a file, unpacked: all of it up to 32 MiB."""
    if isinstance(source, FileSource) and not isinstance(source, parquet.ParquetFile):
        chunks: Iterator[bytes] = unpack.chunks(source.path, source.given)
    else:
        chunks = (block.data for block in source.blocks())
    pieces: list[bytes] = []
    size = 0
    for chunk in chunks:
        pieces.append(chunk)
        size += len(chunk)
        if size > WHOLE:
            return b"".join(pieces)[: WHOLE + 1]
    return b"".join(pieces)


# bytes


def _binary(source: Source, data: bytes, record: str) -> Problem | None:
    if data.startswith(b"PK\x03\x04"):
        if b"opendocument.spreadsheet" in data[:4096]:
            return _told(source, "an OpenDocument spreadsheet (.ods): save it as .xlsx or .csv, and import that")
        if b"xl/" in data or source.given.lower().endswith(".xlsx"):
            return _told(source, f"an Excel file (.xlsx): {_read_with(source, 'xlsx', record, ('gold', 'trace'))}")
        return _told(source, "a zip archive: unpack it, and give the file in it")
    for magic, what, do in _MAGIC:
        if data.startswith(magic):
            return _told(source, f"{what}: {do}")
    return None


def _told(source: Source, rest: str, these: str = "this is") -> Problem:
    return Problem("RW-F22", f"{these} {rest}", source.given)


def _read_with(
    source: Source, name: str, record: str, gives: Sequence[str], more: str = "", it: str = "it",
    first: dict[str, Any] | None = None,
) -> str:  # fmt: skip
    """The command that reads a file, and what that gives: all of it where the fields of a record tell."""
    role, note = role_of(record), ""
    held = held_by(first or {}) if name in ("ragas", "deepeval") else []
    if role in held:
        return f"read {it} with '{command(source, name, held, more)}'"
    if role not in gives:
        note = f", which gives {'traces' if 'trace' in gives else 'gold questions'}"
        role = "trace" if "trace" in gives else "gold"
    return f"read {it} with '{command(source, name, role, more)}'{note}"


# tables


def _of_table(source: Source, record: str, data: bytes) -> Problem | None:
    """Files of lines that are not JSON: tables, and the files of TREC."""
    head = data[:HEAD]
    encoding = likely_encoding(data)
    text = head.decode(encoding or "utf-8-sig", "replace")
    lines = [line for line in text.splitlines()[:_LINES] if line.strip()]
    if len(data) > HEAD:
        lines = lines[:-1]
    if not lines or any(line.lstrip().startswith("{") for line in lines) or "\x00" in text:
        return None
    if lines[0].split()[:3] == ["query-id", "corpus-id", "score"]:
        more = f"judgements of a BEIR data set: {_folder(source)}"
        return _told(source, more, "these are")
    cells = [line.split() for line in lines]
    if all(len(one) == 4 and _is_number(one[3]) and one[1] != "Q0" for one in cells):
        return None if record == "Qrels" else _told(source, _trec("judgements", "--qrels", source), "these are")
    if all(len(one) == 6 and _is_number(one[3]) and _is_number(one[4]) for one in cells):
        return None if record == "TrecRun" else _told(source, _trec("a run", "--run", source))
    header = _header(text, source.given)
    if not header or record == "StructuredOutput":
        return None if not header else _told(source, f"{_columns('CSV', header)}: expected one JSON object a line")
    more = f" --encoding {encoding}" if encoding else ""
    return _csv(source, record, header, "\t" in lines[0] and "," not in lines[0], more)


def _csv(source: Source, record: str, header: list[str], tabs: bool, more: str = "") -> Problem:
    what = _columns("TSV" if tabs else "CSV", header)
    if role_of(record) == "vote":
        return _told(source, f"{what}: write the votes as one JSON object per line (docs/formats.md)")
    named = dict[str, Any].fromkeys(header, "")
    shape = shape_of(named)
    if shape is not None and shape.reads in ("ragas", "deepeval"):
        reads = _read_with(source, shape.reads, record, shape.gives, first=named)
        return _told(source, f"{what} with {shape.what}: {reads}")
    return _told(source, f"{what}: {_read_with(source, 'csv', record, ('gold', 'trace'), more)}")


def _folder(source: Source) -> str:
    place = Path(source.given).parent
    folder = place.parent if place.name == "qrels" else place
    return f"read the folder with 'ragworthy import beir {shlex.quote(str(folder))} --gold-out gold.jsonl'"


def _trec(what: str, flag: str, source: Source) -> str:
    return (
        f"{what} of TREC: score them with 'ragworthy score retrieval --qrels QRELS --run RUN', where this is {flag}, "
        f"or turn them into records with 'ragworthy import trec'"
    )


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text) is not None


def _header(text: str, given: str) -> list[str]:
    """The columns of a table; nothing where the text is none."""
    best: list[str] = []
    named = given.lower().endswith((".csv", ".tsv"))
    for mark in (",", "\t", ";", "|"):
        try:
            rows = [row for row, _ in zip(csv.reader(io.StringIO(text), delimiter=mark), range(5), strict=False) if row]
        except csv.Error:
            continue
        # The last row may be cut off, and stands for nothing unless the name of the file says what it is.
        alike = [len(row) == len(rows[0]) for row in rows[1:]]
        if rows and len(rows[0]) > max(1, len(best)) and (all(alike[:-1]) if named else alike and all(alike)):
            best = rows[0]
    if not best and named:
        best = [text.splitlines()[0]]
    return best if all(name.strip() for name in best[:1]) else []


def _columns(what: str, header: list[str]) -> str:
    names = ", ".join(clip(visible(name.strip()), 30) for name in header[:_COLUMNS])
    more = f" and {len(header) - _COLUMNS} more" if len(header) > _COLUMNS else ""
    return f"a {what} file (column{'s' * (len(header) != 1)} {names}{more})"


# records


def _look(text: bytes) -> Look | None:
    """JSON: as lines, as an array, or as one object or several over several lines."""
    whole = len(text) <= WHOLE
    if text.startswith(b"["):
        elements = _decoded(text) if whole else _first(text)
        if not isinstance(elements, list) or not elements:
            return None
        records = [one for one in elements if isinstance(one, dict)]
        return Look("array", records, len(elements) if whole else 0)
    lines = [line for line in text[: len(text) if whole else HEAD].split(b"\n") if line.strip()]
    if several := () if isinstance(_decoded(lines[0]), dict) else spread(text[:HEAD]):
        return Look("objects", several, 0)
    records = [one for line in lines[:_LINES] if isinstance(one := _decoded(line), dict)]
    if records:
        return Look("lines", records, len(lines) if whole else 0)
    one = _decoded(text) if whole else dict.fromkeys(_top_keys(text))
    return Look("object", [one], 1) if isinstance(one, dict) and one else None


def _decoded(text: bytes) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _first(text: bytes) -> list[Any] | None:
    """The first element of an array that is too large to be read."""
    head = text[1:HEAD].decode("utf-8", "ignore").lstrip()
    try:
        return [json.JSONDecoder().raw_decode(head)[0]]
    except (ValueError, RecursionError):
        return None


def _top_keys(text: bytes) -> list[str]:
    """The first keys of an object that is too large to be read."""
    depth, keys, last = 0, list[str](), ""
    for sign in re.findall(r'"(?:[^"\\]|\\.)*"|[{}\[\]:]', text[:HEAD].decode("utf-8", "ignore")):
        if sign in "{[":
            depth += 1
        elif sign in "}]":
            depth -= 1
        elif sign == ":" and depth == 1:
            keys.append(last[1:-1])
        last = sign
    return keys


def _of_records(source: Source, record: str, look: Look, strict: bool) -> Problem | None:
    """What records are, when they are not of the type that was to be read."""
    families = _FAMILIES.get(record, ("votes",))
    if not strict and role_of(record) == "gold":
        families = ("gold", "retrieval gold", "questions")
    kinds = [kinds_of(one) for one in look.records]
    as_lines = look.form == "lines" or (look.form == "array" and record in _ARRAYS)
    ours = 2 * sum(not one.isdisjoint(families) for one in kinds) >= len(kinds) > 0
    if ours and as_lines:
        return _unnamed(source, record, look)
    first = look.records[0] if look.records else {}
    if (what := own_file(first)) and look.form != "array":
        return Problem("RW-F23", f"this is {what}, and not {_expected(record)}", source.given)
    shape = shape_of(first)
    if shape is not None and not ours:
        return _told(source, _of_shape(source, record, shape, first), _these(shape))
    if look.form == "objects":
        new = f"{Path(source.given).stem}.lines.jsonl"
        do = f"'jq -c . {shlex.quote(source.given)} > {shlex.quote(new)}' writes them so"
        return _told(source, f"JSON objects over several lines each, and not one object per line: {do}", "these are")
    if not as_lines and role_of(record) != "vote":
        what = "a JSON array" if look.form == "array" else "one JSON object over several lines"
        mapped = mapping(record, first) if not ours else ""
        rest = f"{what}, and not one object per line: {_read_with(source, 'jsonl', record, ('gold', 'trace'), mapped)}"
        return _told(source, rest)
    counts = Counter(name for one in kinds for name in one if name not in families)
    other = max(KINDS, key=lambda kind: counts[kind.name])
    if 2 * counts[other.name] > len(kinds):
        return _other_kind(source, record, other.what, first)
    return _unnamed(source, record, look)


def _these(shape: Shape) -> str:
    return "this is" if shape.what.startswith(("a ", "an ")) else "these are"


def _of_shape(source: Source, record: str, shape: Shape, first: dict[str, Any]) -> str:
    what = f"{shape.what} ({fields_of(first)})"
    if not shape.reads:
        return f"{what}: {shape.do}"
    if shape.reads == "beir":
        return f"{what}: {_folder(source)}"
    it = "it" if _these(shape) == "this is" else "them"
    return f"{what}: {_read_with(source, shape.reads, record, shape.gives, it=it, first=first)}"


def _expected(record: str) -> str:
    names = {kind.name: kind.what for kind in KINDS}
    return names[_FAMILIES.get(record, ("votes",))[0]]


def _other_kind(source: Source, record: str, what: str, first: dict[str, Any]) -> Problem:
    expected = _expected(record)
    made = what.startswith(("traces", "structured outputs"))
    swapped = role_of(record) == ("gold" if made else "trace") and "chunks" not in what
    ask = ": did the gold set and the traces change places?" if swapped else ""
    if record == "Gold" and "retrieval" in what:
        ask = ": 'ragworthy score retrieval' takes these"
    message = f"these are {what} ({fields_of(first)}), and {expected} are expected here{ask}"
    return Problem("RW-F23", message, source.given)


def _unnamed(source: Source, record: str, look: Look) -> Problem | None:
    """Records of which none has a field that all need; a single one may just lack it."""
    needed = _NEEDED.get(record, (("qid", "q_id"),) if record in ("Trace", "RetrievalTrace", "Run") else ())
    lacking = [names[0] for names in needed if not any(name in one for one in look.records for name in names)]
    count = look.total or len(look.records)
    readable = len(look.records) == min(count, _LINES)
    if not lacking or not readable or not look.records[0] or (count < 2 and not mapping(record, look.records[0])):
        return None
    thing = "item" if role_of(record) == "gold" else "trace"
    told = as_told(source, record, look.records[0])
    message = f"no {thing} has {' or '.join(lacking)}; {have(look.records, count)}: {told}"
    return Problem("RW-F24", message, source.given)
