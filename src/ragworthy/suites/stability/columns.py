"""The runs of a file as far as they are compared: what each says, and in which variation its question was asked.

Most runs of a question say the same. What a run says is kept once for all that do, and a run is a row of small numbers.
"""

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from functools import partial
from typing import Any, NamedTuple

from ragworthy.errors import DataError, Problem
from ragworthy.load.decode import each_item
from ragworthy.load.gold import name_of
from ragworthy.load.sources import Source
from ragworthy.metrics.facts.distinct import Distinct, ints, packed
from ragworthy.metrics.facts.jitters import Variation, id_of, varied
from ragworthy.metrics.stability import Said
from ragworthy.records import Gold, Ints, Run
from ragworthy.suites.parts import Pass, of_lines
from ragworthy.suites.reading import nameless, records_at, stranger

NOOP, BLIND, GONE = 1, 2, 4
"""What is known of a run besides: the jitter changed nothing, it does not say what was retrieved, it has no answer."""


class Runs:
    """Runs in the order of the file, column by column; warm-ups are only counted."""

    def __init__(self) -> None:
        self.question: Ints = array("I")
        self.line: Ints = array("q")
        self.known: Ints = array("B")
        self.varied = Distinct[Variation]()
        self.said = Distinct[Said]()
        self.text = Distinct[str | None]()
        """The question as it was asked."""
        self.ids: list[str | None] = []
        """The ids of the runs that have one."""
        self.warmups = 0
        self.answers = False
        """Whether any run holds an answer."""
        self._parts: dict[Any, Any] = {}

    def __len__(self) -> int:
        return len(self.line)

    def append(self, question: int, line: int, run: Run, said: Said) -> None:
        """One more run of a question, and what it says."""
        gone = run.error is not None or run.answer_json is None
        self.question.append(question)
        self.line.append(line)
        self.known.append(NOOP * run.noop | BLIND * (run.retrieved_ids is None) | GONE * gone)
        self.varied.append(varied(run))
        self.said.append(self._shared(said))
        self.text.append(run.q)
        self.ids.append(run.run_id or None)

    def _shared(self, said: Said) -> Said:
        """The same with texts and sets that other runs have too: each is kept once."""
        part = self._parts.setdefault
        retrieved = tuple(part(name, name) for name in said.retrieved)
        return said._replace(
            claim=part(said.claim, said.claim),
            cited=part(said.cited, said.cited),
            retrieved=part(retrieved, retrieved),
            steps=part(said.steps, said.steps),
        )

    def close(self) -> None:
        """Forget what only a further run would need."""
        self._parts = {}

    def extend(self, other: "Runs") -> None:
        """The runs of the next part of the file."""
        self.question.extend(other.question)
        self.line.extend(other.line)
        self.known.extend(other.known)
        self.varied.extend(other.varied.values, other.varied.at)
        self.said.extend(map(self._shared, other.said.values), other.said.at)
        self.text.extend(other.text.values, other.text.at)
        self.ids += other.ids
        self.warmups += other.warmups
        self.answers = self.answers or other.answers

    def id_of(self, row: int, gold: Gold) -> str:
        """The id of a run; where it has none, what was varied."""
        return self.ids[row] or id_of(name_of(gold), self.varied[row])

    def by_question(self, questions: int) -> list[Ints]:
        """The rows of each question."""
        rows: list[Ints] = [array("I") for _ in range(questions)]
        for row, question in enumerate(self.question):
            rows[question].append(row)
        return rows


class Part(NamedTuple):
    """What one part of a file gives."""

    runs: Runs
    problems: list[Problem]
    """What is wrong with its lines; runs of other questions too."""

    def stop(self) -> None:
        """Raise what is wrong."""
        if self.problems:
            raise DataError(self.problems)


Asks = Callable[[Gold, Run], Said]
"""What establishes what a run says."""


def pass_of(source: Source, golds: Mapping[str, tuple[int, Gold]], says: Asks, damage: Any = None) -> Pass:
    """The reading of the runs of some questions."""
    one = of_lines(source, partial(_part, source, golds, says, damage), _Written, Part.stop)
    return one._replace(pack=_pack, unpack=_unpack)


def _part(
    source: Source, golds: Mapping[str, tuple[int, Gold]], says: Asks, damage: Any, part: int, parts: int
) -> Part:
    runs, problems, strangers = Runs(), list[Problem](), list[Problem]()
    some = False
    for item in each_item(source.numbered(part, parts), source.at, Run, problems):
        some = True
        qid = item.record.name
        if qid not in golds:
            where = source.at(item.line)
            strangers.append(stranger(qid, where) if qid else nameless(where))
            continue
        runs.answers = runs.answers or item.record.answer_json is not None
        run = item.record if damage is None else damage(item.record)
        if run is None:
            continue
        if run.warmup:
            runs.warmups += 1
            continue
        place, gold = golds[qid]
        runs.append(place, item.line, run, says(gold, run))
    runs.close()
    if problems and parts == 1:
        from ragworthy.load.foreign import check_gold

        check_gold(source, Run.__name__, some=some)
    return Part(runs, problems + strangers)


def read_runs(source: Source, parts: Sequence[Part]) -> Runs:
    """Every run, in the order of the file; raises what is wrong with them."""
    for part in parts:
        part.stop()
    runs = parts[0].runs
    for part in parts[1:]:
        runs.extend(part.runs)
    runs.close()
    if not runs.answers:
        from ragworthy.load.bare import stop_if_bare

        stop_if_bare(source, "Run", ("answer_json",), "RW-T14")
    return runs


class Again:
    """The runs of one file, read again from their lines where their texts are shown."""

    def __init__(self, source: Source, runs: Runs, damage: Any) -> None:
        self._source, self._runs, self._damage = source, runs, damage
        self._fetched: dict[int, Run] = {}

    def fetch(self, rows: Iterable[int]) -> None:
        """Keep the runs of some rows: each fetch goes through the file once."""
        lines = {self._runs.line[row] for row in rows} - self._fetched.keys()
        for line, run in records_at(self._source, Run, lines):
            self._fetched[line] = run if self._damage is None else self._damage(run)

    def run(self, row: int) -> Run:
        """The run of a row."""
        if self._runs.line[row] not in self._fetched:
            self.fetch([row])
        return self._fetched[self._runs.line[row]]


# as it is written


class _Written(NamedTuple):
    """A part as it goes from one process to another, and into a file."""

    question: bytes
    line: bytes
    known: bytes
    varied: tuple[list[Variation], bytes]
    said: tuple[list[Said], bytes]
    text: tuple[list[str | None], bytes]
    ids: list[str | None]
    warmups: int
    answers: bool


def _pack(part: Part) -> _Written:
    runs = part.runs
    return _Written(
        question=packed(runs.question),
        line=packed(runs.line),
        known=packed(runs.known),
        varied=(runs.varied.values, packed(runs.varied.at)),
        said=(runs.said.values, packed(runs.said.at)),
        text=(runs.text.values, packed(runs.text.at)),
        ids=runs.ids,
        warmups=runs.warmups,
        answers=runs.answers,
    )


def _unpack(written: _Written) -> Part:
    runs = Runs()
    runs.question, runs.line, runs.known = (
        ints(kind, data) for kind, data in (("I", written.question), ("q", written.line), ("B", written.known))
    )
    runs.varied.extend(written.varied[0], ints("I", written.varied[1]))
    runs.said.extend(map(runs._shared, written.said[0]), ints("I", written.said[1]))
    runs.text.extend(written.text[0], ints("I", written.text[1]))
    runs.ids, runs.warmups, runs.answers = written.ids, written.warmups, written.answers
    runs.close()
    columns: tuple[Sized, ...] = (runs.question, runs.known, runs.varied, runs.said, runs.text, runs.ids)
    if {*map(len, columns)} != {len(runs)}:
        raise ValueError("columns of different lengths")
    return Part(runs, [])
