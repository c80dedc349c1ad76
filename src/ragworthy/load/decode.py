"""Blocks of lines to typed records; where a line is broken, to problems that say exactly what is wrong.

Blocks are decoded in one go. Only where that fails, each line of the block is looked at by itself.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from io import BytesIO
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from ragworthy.errors import Problem
from ragworthy.load.evidence import wrong_evidence
from ragworthy.load.lines import BOM, Block, Source
from ragworthy.load.lines import lines_of as lines_of
from ragworthy.load.payload import CITING, MARK, PlainTrace, cited, with_ids
from ragworthy.records import (
    Answer,
    Chunk,
    Gold,
    RetrievalGold,
    RetrievalTrace,
    Run,
    StructuredGold,
    StructuredOutput,
    Trace,
    explained,
)
from ragworthy.text import clip, described, visible

Record = TypeVar("Record", bound=msgspec.Struct)


class Found(NamedTuple):
    """What does not fit a record: a code, the field, and what is wrong with it."""

    code: str
    field: str
    message: str


Explain = Callable[[dict[str, Any]], list[Found]]
"""From the fields of a line that is not a record of its kind to what does not fit, in plain words."""


class Fault(NamedTuple):
    """A problem at a byte offset; the line number is worked out only when it is shown."""

    offset: int
    code: str
    field: str
    message: str


class Decoder(Generic[Record]):
    """Decodes blocks into records of one type.

    `explain` says what does not fit a record, for types that this module does not know; `usual` are narrower types, the
    narrowest first: a block comes in the first of them that fits it as a whole.
    """

    def __init__(self, kind: type[Record], explain: Explain | None = None, usual: Sequence[type[Record]] = ()) -> None:
        self._one: Callable[[bytes], Record] = msgspec.json.Decoder(kind).decode
        narrower: Sequence[type[Any]] = usual or _PLAIN.get(kind, ())
        closed = [one.__struct_config__.forbid_unknown_fields for one in narrower]
        self._usual = list(zip((msgspec.json.Decoder(one).decode for one in narrower), closed, strict=True))
        self._explain = explain or _EXPLAIN[kind]
        self._mend: Callable[[Any], Any] = _MEND.get(kind) or partial(msgspec.convert, type=kind)
        self._plain: Callable[[Any], Any] = cited if kind in CITING else lambda one: one
        self.faults: list[Fault] = []

    def records(self, block: Block) -> list[Record]:
        """The records of a block; what cannot be read goes to `faults`."""
        data = block.data
        if data.isspace():
            return []
        try:
            checked = data.isascii()
            # A line at a time, so that each is one record: `decode_lines` takes any white space between records, and
            # line ends inside them, and looking for these takes longer than it saves.
            for nth, (usual, closed) in enumerate(self._usual):
                if not (checked or closed):  # where no field is skipped, every text is decoded and none left to look at
                    data.decode()
                    checked = True
                with suppress(msgspec.ValidationError):
                    found = [*map(usual, BytesIO(data))]
                    del self._usual[:nth]  # what did not fit one block is not tried on the next
                    return found
            if not checked:
                data.decode()
            records = [*map(self._one, BytesIO(data))]
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return self._line_by_line(block)
        return [*map(self._plain, records)] if MARK in data else records

    def _line_by_line(self, block: Block) -> list[Record]:
        records: list[Record] = []
        offset = block.offset
        *whole, last = block.data.split(b"\n")
        for line in whole:
            if line and not line.isspace():
                record = self.read(line + b"\n", offset)
                if record is not None:
                    records.append(record)
            offset += len(line) + 1
        if last and not last.isspace() and (record := self.read(last, offset)) is not None:
            records.append(record)
        return records

    def read(self, line: bytes, offset: int) -> Record | None:
        """The record of one line; what is wrong with it goes to `faults`."""
        try:
            line.decode()
            return self._plain(self._one(line)) if MARK in line else self._one(line)
        except UnicodeDecodeError as error:
            byte = line[error.start]
            message = f"expected UTF-8, got byte 0x{byte:02x} at column {error.start + 1}"
            self.faults.append(Fault(offset, "RW-F06", "", message))
        except msgspec.ValidationError:
            return self._look_closer(line, offset)
        except msgspec.DecodeError as error:
            self.faults.append(_bad_json(line, offset, str(error)))
        except RecursionError:
            self.faults.append(_too_deep(offset))
        return None

    def _look_closer(self, line: bytes, offset: int) -> Record | None:
        try:
            value = msgspec.json.decode(line)
        except msgspec.DecodeError as error:
            self.faults.append(_bad_json(line, offset, str(error)))
            return None
        except RecursionError:
            self.faults.append(_too_deep(offset))
            return None
        if not isinstance(value, dict):
            message = f"expected a JSON object, got {described(value)}"
            self.faults.append(Fault(offset, "RW-F08", "", message))
            return None
        found = self._explain(value)
        if found:
            self.faults += [Fault(offset, *one) for one in found]
            return None
        mended: Record = self._mend(value)
        return mended


def _too_deep(offset: int) -> Fault:
    return Fault(offset, "RW-F11", "", "expected a flat record, got JSON nested too deeply")


def _bad_json(line: bytes, offset: int, reason: str) -> Fault:
    if b"\x00" in line:
        message = f"expected JSON, got a NUL byte at column {line.index(0) + 1}"
        return Fault(offset, "RW-F10", "", message)
    if not line.endswith(b"\n") and "truncated" in reason:
        return Fault(offset, "RW-F09", "", "expected a whole record, got the end of the file in the middle of one")
    if BOM in line:
        return Fault(offset, "RW-F07", "", "expected JSON, got a byte order mark inside the file")
    if "surrogate" in reason or (r"\ud" in line.decode("latin-1").lower() and "truncated" in reason):
        return Fault(offset, "RW-F07", "", "expected JSON, got half of a surrogate pair (\\ud8xx)")
    shown = clip(visible(line.decode("utf-8", "replace").strip()), 40)
    detail = reason.removeprefix("JSON is malformed: ")
    return Fault(offset, "RW-F07", "", f"expected a JSON object, got {shown} ({detail})")


def _identity(
    value: dict[str, Any], code_missing: str, code_type: str, keys: tuple[str, str] = ("qid", "q_id")
) -> list[Found]:
    """Ids of the wrong type, or that there is none."""
    given = {key: value[key] for key in keys if value.get(key) is not None}
    if not given:
        key = next((one for one in keys if one in value), keys[0])
        got = "null" if key in value else "nothing"
        return [Found(code_missing, key, f"expected a string, got {got}")]
    return [
        Found(code_type, key, f"expected a string, got {described(one)}")
        for key, one in given.items()
        if not isinstance(one, str)
    ]


def _string_list(value: dict[str, Any], field: str, code: str) -> list[Found]:
    given = value.get(field)
    if given is None:
        return []
    if not isinstance(given, list):
        return [Found(code, field, f"expected a list of strings, got {described(given)}")]
    return [
        Found(code, f"{field}[{i}]", f"expected a string, got {described(one)}")
        for i, one in enumerate(given)
        if not isinstance(one, str)
    ]


def _explain_gold(value: dict[str, Any]) -> list[Found]:
    found = _identity(value, "RW-G01", "RW-G03")
    answerable = value.get("answerable")
    if "answerable" not in value:
        found.append(Found("RW-G04", "answerable", "expected true or false, got nothing"))
    elif not isinstance(answerable, bool):
        found.append(Found("RW-G04", "answerable", f"expected true or false, got {described(answerable)}"))
    question = value.get("question")
    if question is not None and not isinstance(question, str):
        found.append(Found("RW-G03", "question", f"expected a string, got {described(question)}"))
    cluster = value.get("cluster")
    if cluster is not None and (isinstance(cluster, bool) or not isinstance(cluster, (str, int))):
        found.append(Found("RW-G03", "cluster", f"expected a string or a whole number, got {described(cluster)}"))
    for field in ("gold_claim_substr", "gold_citations", "constraints"):
        found += _string_list(value, field, "RW-G03")
    reference = value.get("gold_reference")
    if isinstance(reference, list):
        found += _string_list(value, "gold_reference", "RW-G03")
    elif reference is not None and not isinstance(reference, str):
        expected = f"expected a text or a list of texts, got {described(reference)}"
        found.append(Found("RW-G03", "gold_reference", expected))
    return found + [Found("RW-G03", field, message) for field, message in wrong_evidence(value)]


def _explain_trace(value: dict[str, Any]) -> list[Found]:
    found = _identity(value, "RW-T01", "RW-T02")
    found += _string_list(value, "retrieved_ids", "RW-T02")
    answer = value.get("answer_json")
    if isinstance(answer, dict):
        claim = answer.get("claim")
        if claim is not None and not isinstance(claim, str):
            found.append(Found("RW-T02", "answer_json.claim", f"expected a string, got {described(claim)}"))
    elif answer is not None and answer != []:
        found.append(Found("RW-T02", "answer_json", f"expected an object, got {described(answer)}"))
    return found


def _explain_chunk(value: dict[str, Any]) -> list[Found]:
    found = [
        Found("RW-C01", field, f"expected a string, got {described(value[field])}")
        for field in ("chunk_id", "id", "snippet_id")
        if value.get(field) is not None and not isinstance(value[field], str)
    ]
    if not found and not any(map(value.get, ("chunk_id", "id", "snippet_id"))):
        found.append(Found("RW-C01", "chunk_id", "expected a non-empty string, got nothing"))
    text = value.get("text")
    if not isinstance(text, str):
        found.append(
            Found("RW-C01", "text", f"expected a string, got {described(text) if 'text' in value else 'nothing'}")
        )
    return found or explain_by_type(Chunk, "RW-C01")(value)


_WORDS = {
    "str": "a string",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
}


def explain_by_type(
    kind: type,
    wrong: str,
    identity: Explain = lambda value: [],
    *,
    null: str = "nothing",
    needed: Callable[[str], str] = lambda field: "a value",
) -> Explain:
    """What does not fit a record type, in the decoder's words made plain.

    `wrong` is the code of a value of another type, `identity` says what is wrong with the id, `null` is the word for
    null, and `needed` says what a field that is not there should hold.
    """
    words = _WORDS | {"null": null}

    def explain(value: dict[str, Any]) -> list[Found]:
        if found := identity(value):
            return found
        try:
            msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            field, message = explained(error)
            expected, _, got = message.removeprefix("expected ").partition(", got ")
            types = [words.get(one.strip(), one.strip()) for one in expected.split("|") if one.strip() != "null"]
            wanted = needed(field) if expected == "a value" else " or ".join(types)
            return [Found(wrong, field, f"expected {wanted}, got {words.get(got, got)}")]
        return []

    return explain


def _of_questions(kind: type, missing: str, wrong: str, keys: tuple[str, str] = ("qid", "q_id")) -> Explain:
    """What does not fit a record that belongs to a question; `missing` is the code of one without an id."""
    return explain_by_type(kind, wrong, partial(_identity, code_missing=missing, code_type=wrong, keys=keys))


def _mend_trace(value: dict[str, Any]) -> Trace:
    """A trace whose answer_json is an empty list: the same as an empty object."""
    return Trace(
        qid=value.get("qid"),
        q_id=value.get("q_id"),
        retrieved_ids=value.get("retrieved_ids"),
        answer_json=msgspec.convert(value.get("answer_json") or {}, Answer),
        error=value.get("error"),
    )


def _explain_retrieval(value: dict[str, Any]) -> list[Found]:
    return _of_questions(RetrievalTrace, "RW-T01", "RW-T02")(with_ids(value))


_EXPLAIN: dict[type, Explain] = {
    Gold: _explain_gold,
    Trace: _explain_trace,
    Chunk: _explain_chunk,
    RetrievalGold: _of_questions(RetrievalGold, "RW-G01", "RW-G03"),
    RetrievalTrace: _explain_retrieval,
    Run: _of_questions(Run, "RW-T01", "RW-T02"),
    StructuredGold: _of_questions(StructuredGold, "RW-G01", "RW-Q01", ("id", "qid")),
    StructuredOutput: _of_questions(StructuredOutput, "RW-T01", "RW-T02", ("id", "qid")),
}
_PLAIN: dict[type, tuple[type, ...]] = {Trace: (PlainTrace,)}
"""Narrower types that are tried first: what fits them needs no second look."""
_MEND: dict[type, Callable[[dict[str, Any]], Any]] = {
    Trace: _mend_trace,
    RetrievalTrace: lambda value: msgspec.convert(with_ids(value), RetrievalTrace),
}
"""How a line that is a record after all becomes one, where converting it does not do."""


def record_offsets(kind: type, block: Block) -> list[int]:
    """The byte offset of every record of a block; lines that give no record are skipped."""
    decoder: Decoder[Any] = Decoder(kind)
    offsets: list[int] = []
    offset = block.offset
    for line in lines_of(block.data):
        if line.strip() and decoder.read(line, offset) is not None:
            offsets.append(offset)
        offset += len(line)
    return offsets


class Item(NamedTuple):
    """A record with everything its line says: where it stands, all its fields, and the typed part."""

    line: int
    value: dict[str, Any]
    record: Any


def read_items(source: Source, kind: type[Record], part: int = 0, parts: int = 1) -> tuple[list[Item], list[Problem]]:
    """Every record with its line and all fields, and the problems of lines that have none; raises what a misfit is."""
    items, problems = items_of(source.numbered(part, parts), source.at, kind)
    if problems and parts == 1:
        from ragworthy.load.foreign import check_gold

        check_gold(source, kind.__name__, some=bool(items))
    return items, problems


def items_of(
    lines: Iterable[tuple[int, bytes]], at: Callable[[int], str], kind: type[Record]
) -> tuple[list[Item], list[Problem]]:
    """The records of numbered lines, and the problems of those that have none; `at` says where a line stands."""
    problems: list[Problem] = []
    return list(each_item(lines, at, kind, problems)), problems


def each_item(
    lines: Iterable[tuple[int, bytes]], at: Callable[[int], str], kind: type[Record], problems: list[Problem]
) -> Iterator[Item]:
    """The same one after another, for whoever keeps little of each; problems are added to those that are there."""
    decoder = Decoder(kind)
    for number, line in lines:
        if not line.strip():
            continue
        record = decoder.read(line, 0)
        value = whole_value(line, decoder.faults) if record is not None else None
        for fault in decoder.faults:
            problems.append(Problem(fault.code, fault.message, at(number), fault.field))
        decoder.faults.clear()
        if record is not None and value is not None:
            yield Item(number, value, record)


def whole_value(line: bytes, faults: list[Fault]) -> dict[str, Any] | None:
    """All fields of a line that is known to hold an object; those that no record has may be worse than it seemed."""
    try:
        value: dict[str, Any] = msgspec.json.decode(line)
    except RecursionError:
        faults.append(_too_deep(0))
        return None
    except msgspec.DecodeError as error:
        faults.append(_bad_json(line, 0, str(error)))
        return None
    return value
