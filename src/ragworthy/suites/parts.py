"""Large files are read in parts, each of which gives something that merges exactly. Here is who reads the parts.

A suite says what one part gives (`Pass`) and goes on with what all of them gave. It makes no difference to it whether
one process read the whole, several read a part each, or parts came out of files that other machines wrote.
"""

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeAlias

import msgspec

from ragworthy.errors import data_error, explained
from ragworthy.load.sources import Source
from ragworthy.report.part import Voice
from ragworthy.suites.evidence import Evidence
from ragworthy.suites.fork import answer, processes, workers
from ragworthy.suites.reading import told
from ragworthy.suites.request import Progress, Request

Tell: TypeAlias = Callable[[int], None] | None
"""Takes how many bytes were read since the last call."""


class Stored(NamedTuple):
    """What a part gives, as it was written."""

    where: str
    data: bytes

    def decoded(self, form: Any, role: str) -> Any:
        """What was written."""
        try:
            return msgspec.json.decode(self.data, type=form, dec_hook=_from_text)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            field, message = explained(error)
            place = f"read.{role}.{field}".rstrip(".")
            raise data_error("RW-S01", f"expected a part, got: {message}", where=self.where, field=place) from None


def encoded(given: Any) -> bytes:
    """What a part gives, to be written."""
    return msgspec.json.encode(given, enc_hook=_as_text)


def _as_text(value: Any) -> Any:
    if isinstance(value, Fraction):
        return str(value)
    raise NotImplementedError


def _from_text(kind: type, value: Any) -> Any:
    if kind is Fraction and isinstance(value, str):
        return Fraction(value)
    raise NotImplementedError


def _same(given: Any) -> Any:
    return given


class Engine(Protocol):
    """Who reads large files in parts, where the processes of this machine do not."""

    def opened(self, role: str, given: Any) -> Source | None:
        """The source behind what only the engine can open; None for anything else."""

    def parts(self, one: "Pass", progress: Progress | None) -> list[Any] | None:
        """What every part gives, in the order of the file; None where this machine is to read it."""

    def said(self, source: Source) -> dict[str, Counter[str]] | None:
        """What the traces of a file that was read say of how they were made; None of another file."""

    def check_new(self, uri: str) -> None:
        """Refuse a place to write to that is taken."""

    def write_rows(self, uri: str, rows: Iterable[dict[str, Any]], suites: Sequence[Voice]) -> None:
        """Write rows as a folder of Parquet files, in their order."""


class Pass(NamedTuple):
    """One reading of one file, in parts."""

    role: str
    source: Source
    work: Callable[[int, int, Tell], Any]
    """What one part of so many gives."""
    sound: Callable[[Any], bool]
    """Whether nothing is wrong with the lines of a part. Where something is, one process reads the whole again, so that
    problems come in the order of the file.
    """
    stop: Callable[[Any], None]
    """Raise what is wrong with the lines of a part."""
    form: Any
    """The type that a part has as it goes from one process to another, and into a file."""
    pack: Callable[[Any], Any] = _same
    unpack: Callable[[Any], Any] = _same
    whole: bool = False
    """Whether its lines belong together, so that the first part has all of them."""
    weight: int = 1
    """How many times as long a byte takes as one of an answer: smaller files are worth a second process then."""


def of_lines(source: Source, work: Callable[[int, int], Any], form: Any, stop: Callable[[Any], None]) -> Pass:
    """The reading of a file whose records are kept as they are: what a part gives has its `problems`."""
    return Pass(
        role=source.role,
        source=source,
        work=partial(_untold, work),
        sound=lambda given: not given.problems,
        stop=stop,
        form=form,
    )


def _untold(work: Callable[[int, int], Any], part: int, parts: int, tell: Tell) -> Any:
    return work(part, parts)


Reading: TypeAlias = Generator[Sequence[Pass], Sequence[list[Any]], Evidence]
"""A suite that reads: it yields its passes once, gets what the parts of each gave, in order, and returns evidence."""


def read(reading: Reading, request: Request, progress: Progress | None) -> Evidence:
    """The evidence of a suite: its passes are read here, or were read elsewhere."""
    passes = next(reading)
    parts = [_parts(one, request, progress) for one in passes]
    try:
        reading.send(parts)
    except StopIteration as done:
        evidence: Evidence = done.value
        return evidence
    except (TypeError, ValueError, LookupError, ArithmeticError) as error:
        if request.parts is None:
            raise
        what = f"{type(error).__name__}: {error}"
        message = f"expected what parts of one score give, got something else ({what})"
        raise data_error("RW-S01", message, where=request.parts[passes[0].role][0].where) from None
    raise RuntimeError("a suite yields its passes once")


def _parts(one: Pass, request: Request, progress: Progress | None) -> list[Any]:
    """What every part gives, in the order of the file."""
    if request.parts is not None:
        return [one.unpack(part.decoded(one.form, one.role)) for part in request.parts[one.role]]
    if request.engine is not None and (found := request.engine.parts(one, progress)) is not None:
        return found
    tell = told(progress, one.source.size)
    many = processes(request.jobs, one.source.size, one.source.splits and not one.whole, one.weight)
    found = _in_processes(one, many, tell) if many > 1 else None
    return [one.work(0, 1, tell)] if found is None else found


def _in_processes(one: Pass, many: int, tell: Tell) -> list[Any] | None:
    """The same from a process for each part; None where one found something wrong, failed or was killed."""
    found: list[Any] = []
    try:
        with workers(partial(_work, one, many, tell is not None), many) as pipes:
            for pipe in pipes:
                part = answer(pipe, "part", tell)
                if part is None:
                    return None
                found.append(one.unpack(part))
    except (EOFError, OSError):  # a process died, or the system has no room for another one
        return None
    return found


def _work(one: Pass, many: int, report: bool, part: int, pipe: Any) -> None:
    tell = (lambda size: pipe.send(("progress", size))) if report else None
    found = one.work(part, many, tell)
    pipe.send(("part", one.pack(found) if one.sound(found) else None))
