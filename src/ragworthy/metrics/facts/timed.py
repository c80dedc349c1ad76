"""Timed runs in columns: what is kept of millions of runs is what is measured of them.

What a metric is given is a `Sample`, which looks its numbers up. Texts are not kept: whoever shows an answer reads the
run again from its line. Only for metrics from outside this package, which may look at anything, runs are kept whole.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, partial
from math import isnan, nan
from typing import Any, NamedTuple, overload

import msgspec

from ragworthy.metrics.facts.answers import Facts
from ragworthy.metrics.facts.compared import Compared
from ragworthy.metrics.facts.distinct import Distinct
from ragworthy.records import Ints, Run


class Kind(NamedTuple):
    """What many runs have in common."""

    config: str
    knobs: str
    """What it is set to, as JSON."""
    load: float | None
    """Requests a second, where they were recorded."""
    warmup: bool
    answers: bool
    """Whether it holds an answer."""
    failed: bool
    """Whether it ended in an error."""
    variant: tuple[int, int]
    """Its seed and its wording; 0 where none is recorded."""
    length: str
    """The slice of its question by length."""
    unpriced: bool
    """Whether nobody knows what it used, because it ended in an error."""
    stages: tuple[str, ...]
    """The stages that it has times of."""


class Far(NamedTuple):
    """A distance that is not worked out yet: of a question as it was asked, and the chunk that is cited first."""

    question: str
    chunk: str


Distance = Fraction | str | Far | None
Answered = tuple[int, Compared | None]
"""The flags of an answer and, where its question has a reference, how it compares."""


class Established(NamedTuple):
    """What is established about a run, as far as it takes its texts."""

    question: int
    """The place of its question in the gold set; -1 where that does not have it."""
    answer: Answered
    spend: Fraction | str
    tokens: tuple[int, int] | str
    prompt: tuple[int, int] | None
    """The tokens of its prompt, and how many of them came out of the server's cache, where usage says so."""
    distance: Distance


@lru_cache(1 << 16)
def exact(number: float) -> Fraction:
    """The decimal that was written, exactly.

    >>> exact(0.1), exact(120.5)
    (Fraction(1, 10), Fraction(241, 2))
    """
    return Fraction(*Decimal(repr(number)).as_integer_ratio())


class TimedRuns:
    """Runs in the order of the file, column by column."""

    def __init__(self) -> None:
        self.kinds = Distinct[Kind]()
        self.answers = Distinct[Answered]()
        self.spends = Distinct[Fraction | str]()
        self.tokens = Distinct[tuple[int, int] | str]()
        self.prompts = Distinct[tuple[int, int] | None]()
        self.distances = Distinct[Distance]()
        self.question: Ints = array("i")
        self.line: Ints = array("q")
        self.e2e: array[float] = array("d")
        self.at: array[float] = array("d")
        """When each was sent, in seconds; not a number where that was not recorded."""
        self.times: array[float] = array("d")
        """The times of the stages of all runs, one after another."""
        self.begins: Ints = array("q")
        """Where the times of each run begin."""
        self.whole: list[Run] = []
        """The runs as they are, where metrics may look at anything."""
        self.facts: list[Facts | None] = []
        """What became of answers, by their place in `answers`, once it is known which configurations answer."""

    def __len__(self) -> int:
        return len(self.line)

    def append(self, kind: Kind, line: int, e2e: float, at: float | None, times: Iterable[float]) -> None:
        """One more run: what its line says."""
        self.kinds.append(kind)
        self.line.append(line)
        self.e2e.append(e2e)
        self.at.append(nan if at is None else at)
        self.begins.append(len(self.times))
        self.times.extend(times)

    def establish(self, known: Established) -> None:
        """And what is established about it."""
        self.question.append(known.question)
        self.answers.append(known.answer)
        self.spends.append(known.spend)
        self.tokens.append(known.tokens)
        self.prompts.append(known.prompt)
        self.distances.append(known.distance)

    def extend(self, other: "TimedRuns", left_out: frozenset[int] = frozenset()) -> None:
        """The runs of a further part of the file, some of them left out."""
        rows = [row for row in range(len(other)) if row not in left_out] if left_out else range(len(other))
        for mine, theirs in zip(self._shared(), other._shared(), strict=True):
            mine.extend(theirs.values, map(theirs.at.__getitem__, rows))
        for name in ("question", "line", "e2e", "at"):
            getattr(self, name).extend(map(getattr(other, name).__getitem__, rows))
        for row in rows:
            self.begins.append(len(self.times))
            self.times.extend(other.times_of(row))
        if other.whole:
            self.whole.extend(map(other.whole.__getitem__, rows))

    def _shared(self) -> tuple[Distinct[Any], ...]:
        return self.kinds, self.answers, self.spends, self.tokens, self.prompts, self.distances

    def times_of(self, row: int) -> "array[float]":
        """The times of the stages of a run, in the order in which its kind names them."""
        begin = self.begins[row]
        return self.times[begin : begin + len(self.kinds[row].stages)]

    def settle(self, facts_of: Callable[[int, Compared | None], Facts], configs: frozenset[str]) -> None:
        """Work out what became of the answers of these configurations; the runs of the others hold none."""
        self.facts = [facts_of(*answer) for answer in self.answers.values]
        silent = [kind.config not in configs for kind in self.kinds.values]
        if any(silent):
            nothing = len(self.facts)
            self.facts.append(None)
            for row, kind in enumerate(self.kinds.at):
                if silent[kind]:
                    self.answers.at[row] = nothing


class Timed:
    """One run as it was recorded, with its numbers made exact."""

    __slots__ = ("_row", "_runs")

    def __init__(self, runs: TimedRuns, row: int) -> None:
        self._runs, self._row = runs, row

    @property
    def line(self) -> int:
        """Its line in the file."""
        return self._runs.line[self._row]

    @property
    def run(self) -> Run:
        """The whole run, for metrics from outside this package."""
        return self._runs.whole[self._row]

    @property
    def kind(self) -> Kind:
        """What many runs have in common."""
        return self._runs.kinds[self._row]

    @property
    def config(self) -> str:
        """The id of its configuration."""
        return self.kind.config

    @property
    def knobs(self) -> dict[str, Any]:
        """What the configuration is set to."""
        found: dict[str, Any] = msgspec.json.decode(self.kind.knobs)
        return found

    @property
    def load(self) -> Fraction | None:
        """Requests a second, where they were recorded."""
        return None if self.kind.load is None else exact(self.kind.load)

    @property
    def e2e(self) -> Fraction:
        """Milliseconds from the question to the checked answer."""
        return exact(self._runs.e2e[self._row])

    @property
    def stages(self) -> Mapping[str, Fraction]:
        """The time of each stage."""
        return dict(zip(self.kind.stages, map(exact, self._runs.times_of(self._row)), strict=True))

    @property
    def model(self) -> str | None:
        """The model that answered, where the knobs name it."""
        model = self.knobs.get("model")
        return model if isinstance(model, str) else None

    @property
    def at(self) -> float | None:
        """When it was sent, in seconds, where that was recorded."""
        at = self._runs.at[self._row]
        return None if isnan(at) else at


class Sample:
    """One measured run and everything that was established about it."""

    __slots__ = ("_runs", "row")

    def __init__(self, runs: TimedRuns, row: int) -> None:
        self._runs, self.row = runs, row

    @property
    def timed(self) -> Timed:
        """The run as it was recorded."""
        return Timed(self._runs, self.row)

    @property
    def question(self) -> int:
        """The place of its question in the gold set."""
        return self._runs.question[self.row]

    @property
    def facts(self) -> Facts | None:
        """What became of the answer; None where the runs hold no answers."""
        return self._runs.facts[self._runs.answers.at[self.row]]

    @property
    def spend(self) -> Fraction | str:
        """What it cost, or why that is not known."""
        return self._runs.spends[self.row]

    @property
    def tokens(self) -> tuple[int, int] | str:
        """Tokens of cited gold chunks and of all its context, or why they are not known."""
        return self._runs.tokens[self.row]

    @property
    def distance(self) -> Fraction | str | None:
        """ΔS of what it cites first, or why that is not known; None where nothing is cited."""
        found = self._runs.distances[self.row]
        return None if isinstance(found, Far) else found

    @property
    def prompt(self) -> tuple[int, int] | None:
        """The tokens of its prompt, and how many of them came out of the server's cache, where usage says so."""
        return self._runs.prompts[self.row]

    @property
    def variant(self) -> tuple[int, int]:
        """Its seed and its wording; 0 where none is recorded."""
        return self._runs.kinds[self.row].variant

    @property
    def errored(self) -> bool:
        """Whether it ended in an error, or without an answer where runs hold answers."""
        facts = self.facts
        return self._runs.kinds[self.row].failed or (facts is not None and facts.errored)


class Samples(Sequence[Sample]):
    """Some runs of a file, in its order: the numbers of their rows, each a `Sample` when it is looked at."""

    __slots__ = ("rows", "runs")

    def __init__(self, runs: TimedRuns, rows: Ints) -> None:
        self.runs, self.rows = runs, rows

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Sample]:
        return map(partial(Sample, self.runs), self.rows)

    @overload
    def __getitem__(self, nth: int) -> Sample: ...
    @overload
    def __getitem__(self, nth: slice) -> "Samples": ...
    def __getitem__(self, nth: int | slice) -> "Sample | Samples":
        if isinstance(nth, slice):
            return Samples(self.runs, self.rows[nth])
        return Sample(self.runs, self.rows[nth])

    def questions(self) -> Iterator[int]:
        """The question of each."""
        return map(self.runs.question.__getitem__, self.rows)

    def answers(self) -> Iterator[int]:
        """The place in `runs.facts` of what became of each."""
        return map(self.runs.answers.at.__getitem__, self.rows)

    def kinds(self) -> Iterator[Kind]:
        """What each has in common with others."""
        return map(self.runs.kinds.values.__getitem__, map(self.runs.kinds.at.__getitem__, self.rows))

    def facts(self) -> list[Facts | None]:
        """What became of their answers, each different one once."""
        return [self.runs.facts[place] for place in sorted(set(self.answers()))]

    def lines(self) -> Iterator[int]:
        """The line of each."""
        return map(self.runs.line.__getitem__, self.rows)

    def moments(self) -> Iterator[float]:
        """When each was sent, in seconds; not a number where that was not recorded."""
        return map(self.runs.at.__getitem__, self.rows)

    def times(self) -> Iterator["array[float]"]:
        """The times of the stages of each, in the order in which its kind names them."""
        return map(self.runs.times_of, self.rows)
