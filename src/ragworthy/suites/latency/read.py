"""Timed runs, as JSON lines or as a table."""

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec

from ragworthy.errors import DataError, Problem, data_error
from ragworthy.ids import config_id
from ragworthy.load.decode import Item, each_item
from ragworthy.load.sources import Source
from ragworthy.metrics.latency import stage_name
from ragworthy.records import Run
from ragworthy.suites.reading import nameless, records_at
from ragworthy.text import clip, described, visible

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_TRUE, _FALSE = ("true", "1", "yes"), ("false", "0", "no", "none", "null")
_TIMES = ("e2e_ms", "retrieval_ms", "rerank_ms", "llm_ms", "guard_ms", "t_retrieve_ms", "t_reason_ms")
_JSON = ("answer_json", "retrieved_ids", "usage", "stage_ms")
_TEXTS = ("ts", "qid", "q_id", "q", "run_id", "jitter", "config_id", "knobs")
_NO_STAGE = ("lag_ms", "stage_ms")
"""Columns that end like a stage and are none."""
_MILLISECONDS = 1e11
"""Time stamps from this number on count milliseconds: in seconds it would be the year 5138."""

Damage = Callable[[Any], Any] | None
"""What a selftest does to every run; None leaves it out."""


class Recorded(NamedTuple):
    """A run as its line has it, with its numbers checked."""

    line: int
    run: Run
    config: str
    knobs: dict[str, Any]
    e2e: float
    """Milliseconds from the question to the checked answer."""
    stages: dict[str, float]
    """The time of each stage, under its one name."""
    at: float | None
    """When it was asked, in seconds."""
    content: bytes | None
    """The hash of all that the line says, where a time stamp or an id says that it is this one run and no other."""

    @property
    def model(self) -> str | None:
        """The model that answered, where the knobs name it."""
        model = self.knobs.get("model")
        return model if isinstance(model, str) else None


class Reader:
    """The runs of one part of a file, one after another. What is wrong with them is collected on the way, and known
    once all are read; so are the counts.
    """

    def __init__(self, source: Source, part: int = 0, parts: int = 1, damage: Damage = None) -> None:
        self.problems: list[Problem] = []
        self.records = 0
        self.repeated = 0
        """How many runs were copies of an earlier one, and left out."""
        self.headers = 0
        """How many times the header of a table was repeated."""
        self.knobs: dict[str, tuple[dict[str, Any], int]] = {}
        """The knobs of each configuration, and the line that has them first."""
        self._source, self._share, self._damage = source, (part, parts), damage

    def __iter__(self) -> Iterator[Recorded]:
        seen: set[bytes] = set()
        for item in self._items():
            self.records += 1
            alone = item.value.get("ts") or item.value.get("run_id")  # without either, two runs may well be alike
            content = None
            if alone:
                content = sha256(msgspec.json.encode(item.value, order="deterministic")).digest()[:HASHED]
                if content in seen:
                    self.repeated += 1
                    continue
                seen.add(content)
            run = item.record if self._damage is None else self._damage(item.record)
            if run is not None:
                yield from self._checked(run, item.line, _moment(item.value.get("ts")), content)

    def _items(self) -> Iterator[Item]:
        source, (part, parts) = self._source, self._share
        if not is_table(source):
            yield from each_item(source.numbered(part, parts), source.at, Run, self.problems)
        elif part == 0:
            table = _Table(source)
            yield from each_item(table.lines(), source.at, Run, self.problems)
            self.problems += table.problems
            self.headers = table.headers

    def _checked(self, run: Run, line: int, at: float | None, content: bytes | None) -> Iterator[Recorded]:
        """A run with its numbers; none where something is wrong with it."""
        where, source = self._source.at(line), self._source
        before = len(self.problems)

        def say(code: str, field: str, message: str) -> None:
            self.problems.append(Problem(code, message, where, field))

        if not run.name:
            self.problems.append(nameless(where))
        if not _is_time(run.e2e_ms):
            say("RW-T10", "e2e_ms", f"expected a number from 0, got {_got(run.e2e_ms)}")
        if run.load_rps is not None and not 0 < run.load_rps < float("inf"):
            say("RW-T02", "load_rps", f"expected a number above 0, got {_got(run.load_rps)}")
        stages = _stages(run, say)
        setting = _setting(msgspec.json.encode(run.knobs))
        if setting is None:
            say("RW-T13", "knobs", f"expected an object, its JSON text or a=1;b=2, got {described(run.knobs)}")
        knobs, config = setting or _setting(b"{}") or ({}, "")
        config = run.config_id or config
        first, there = self.knobs.setdefault(config, (knobs, line)) if run.knobs is not None else (knobs, line)
        if first != knobs:
            message = f"expected the knobs that {config} has in line {source.line(there)}, got others"
            say("RW-T13", "knobs", message)
        if len(self.problems) == before:
            yield Recorded(line, run, config, knobs, run.e2e_ms or 0.0, stages, at, content)

    def stop(self) -> None:
        """Raise what is wrong, in the order of the lines."""
        stop(self.problems, self._source)


HASHED = 16
"""So many bytes of a hash tell contents apart."""


def again(source: Source, wanted: Iterable[int], damage: Damage = None) -> Iterator[tuple[int, Run]]:
    """The runs of some lines once more, in the order of the file: of most runs no text is kept."""
    lines = _Table(source).lines() if is_table(source) else None
    for line, run in records_at(source, Run, wanted, lines):
        changed = run if damage is None else damage(run)
        if changed is not None:
            yield line, changed


def stop(problems: list[Problem], source: Source) -> None:
    """Raise what is wrong, in the order of the lines."""
    files = [one.given for one in source.parts()]

    def place(one: Problem) -> tuple[int, int]:
        path, _, line = one.where.rpartition(":")
        return files.index(path), int(line)

    if problems:
        raise DataError(sorted(problems, key=place))


# one run


def _stages(run: Run, say: Callable[[str, str, str], None]) -> dict[str, float]:
    """The times of the stages, each under its one name."""
    given = {name: getattr(run, name) for name in _TIMES[1:]} | {
        f"stage_ms.{name}": time for name, time in (run.stage_ms or {}).items()
    }
    found: dict[str, float] = {}
    for field, time in given.items():
        if time is None:
            continue
        if not _is_time(time):
            say("RW-T10", field, f"expected a number from 0, got {_got(time)}")
            continue
        name = stage_name(field.removeprefix("stage_ms."))
        if found.setdefault(name, time) != time:
            say("RW-T10", field, f"expected the time {name} has already ({found[name]:g}), got {_got(time)}")
    return found


def _moment(written: Any) -> float | None:
    """A time stamp in seconds: a number, or a date with time; None where it is neither.

    >>> _moment("1970-01-01T00:01:00.500Z"), _moment(12), _moment("12.5"), _moment("soon")
    (60.5, 12.0, 12.5, None)
    """
    text = str(written).strip()
    if _NUMBER.fullmatch(text):
        number = float(text)
        if number == float("inf"):
            return None
        return number if number < _MILLISECONDS else number / 1000
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()


def _is_time(value: float | None) -> bool:
    return value is not None and 0 <= value < float("inf")


def _got(value: float | None) -> str:
    return "nothing" if value is None else described(value).removesuffix(".0")


def knobs_of(given: dict[str, Any] | str | None) -> dict[str, Any] | None:
    """Knobs from an object, from its JSON text, or from a=1;b=2; None where the text is neither.

    >>> knobs_of('{"k": 5}') == knobs_of("k=5") == {"k": 5}, knobs_of("knee=auto; k=5"), knobs_of("x")
    (True, {'knee': 'auto', 'k': 5}, None)
    """
    if given is None or isinstance(given, dict):
        return given or {}
    text = given.strip()
    if not text:
        return {}
    if text.startswith("{"):
        try:
            value = msgspec.json.decode(text)
        except (msgspec.MsgspecError, RecursionError):
            return None
        return value if isinstance(value, dict) else None
    pairs = [one.partition("=") for one in text.split(";") if one.strip()]
    if not all(sign and name.strip() for name, sign, _ in pairs):
        return None
    return {name.strip(): _scalar(value.strip()) for name, _, value in pairs}


@lru_cache(1024)
def _setting(written: bytes) -> tuple[dict[str, Any], str] | None:
    """Knobs as they are written, with their id; None where they are none. Thousands of runs have the same."""
    knobs = knobs_of(msgspec.json.decode(written))
    return None if knobs is None else (knobs, config_id(knobs))


def _scalar(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return text


# tables


def is_table(source: Source) -> bool:
    """Whether a file is CSV, by its name."""
    return source.given.removesuffix(".gz").removesuffix(".zst").lower().endswith(".csv")


class _Table:
    """A CSV file as the JSON lines it stands for; what is wrong with a cell goes to `problems`."""

    def __init__(self, source: Source) -> None:
        self.given = source.given
        if len(source.parts()) > 1:
            raise data_error("RW-F02", "expected one table, got several: name one of them", where=self.given)
        self.problems: list[Problem] = []
        self.headers = 0
        data = b"".join(block.data for block in source.blocks())
        try:
            self.text = data.decode()
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            message = f"expected UTF-8, got byte 0x{data[error.start]:02x}"
            raise data_error("RW-F06", message, where=f"{self.given}:{line}") from None
        if "\0" in self.text:
            line = self.text.count("\n", 0, self.text.index("\0")) + 1
            raise data_error("RW-F10", "expected text, got a NUL byte", where=f"{self.given}:{line}")

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Every run with the line it starts in."""
        columns: list[str] = []
        for line, row in self._rows():
            cells = [cell.strip() for cell in row]
            if not columns:
                columns = self._header(cells, line)
            elif cells == columns:
                self.headers += 1
            elif "qid" in cells and "e2e_ms" in cells:
                self._say("RW-T12", line, "", "expected the columns of the first header again, got others")
            elif len(cells) != len(columns):
                self._say("RW-T12", line, "", f"expected {len(columns)} cells, got {len(cells)}")
            else:
                value = self._record(dict(zip(columns, cells, strict=True)), line)
                if value is not None:
                    yield line, msgspec.json.encode(value)

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        reader = csv.reader(io.StringIO(self.text, newline=""), strict=True)
        line = 1
        while True:
            try:
                row = next(reader, None)
            except csv.Error as error:
                raise data_error("RW-T12", f"expected CSV, got: {error}", where=f"{self.given}:{line}") from None
            if row is None:
                return
            if any(cell.strip() for cell in row):
                yield line, row
            line = reader.line_num + 1

    def _header(self, cells: list[str], line: int) -> list[str]:
        where = f"{self.given}:{line}"
        if "e2e_ms" not in cells or not {"qid", "q_id"} & set(cells):
            got = clip(visible(", ".join(cells)), 60)
            raise data_error("RW-T12", f"expected a header with qid and e2e_ms, got {got}", where=where)
        twice = next((name for name in cells if name and cells.count(name) > 1), None)
        if twice is not None:
            raise data_error("RW-T12", f'expected every column once, got "{visible(twice)}" twice', where=where)
        return cells

    def _record(self, cells: dict[str, str], line: int) -> dict[str, Any] | None:
        before = len(self.problems)
        value: dict[str, Any] = {}
        for name, cell in cells.items():
            if cell:
                value |= self._value(name, cell, line)
        extra = [name for name in value if name.endswith("_ms") and name not in (*_TIMES, *_NO_STAGE)]
        for name in extra:
            value.setdefault("stage_ms", {})[name] = value.pop(name)
        return value if len(self.problems) == before else None

    def _value(self, name: str, cell: str, line: int) -> dict[str, Any]:
        """What one cell says; columns that no run has say nothing."""
        if name in _TEXTS:
            return {name: cell}
        if name in _JSON:
            try:
                return {name: msgspec.json.decode(cell)}
            except (msgspec.MsgspecError, RecursionError):
                self._say("RW-T02", line, name, f"expected JSON, got {described(cell)}")
                return {}
        if name in ("warmup", "noop"):
            if cell.lower() in (*_TRUE, *_FALSE):
                return {name: cell.lower() in _TRUE}
            self._say("RW-T02", line, name, f"expected true or false, got {described(cell)}")
            return {}
        if name == "error":
            return {} if cell.lower() in _FALSE else {name: cell}
        if name in ("seed", "paraphrase"):
            return self._number(name, cell, line, "RW-T02", "a whole number", whole=True)
        if name == "load_rps":
            return self._number(name, cell, line, "RW-T02", "a number above 0")
        if name.endswith("_ms") and name not in _NO_STAGE:
            return self._number(name, cell, line, "RW-T10", "a number from 0")
        return {}

    def _number(
        self, name: str, cell: str, line: int, code: str, expected: str, *, whole: bool = False
    ) -> dict[str, Any]:
        if _NUMBER.fullmatch(cell) and (not whole or cell.lstrip("+-").isdigit()):
            number = float(cell)
            if abs(number) != float("inf") and (whole or number >= 0):
                return {name: int(cell) if whole else number}
        self._say(code, line, name, f"expected {expected}, got {described(cell)}")
        return {}

    def _say(self, code: str, line: int, field: str, message: str) -> None:
        self.problems.append(Problem(code, message, f"{self.given}:{line}", field))
