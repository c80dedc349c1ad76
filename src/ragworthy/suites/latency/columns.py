"""The timed runs of a file in columns: what one part of it gives, and the parts as one.

What is established about a run is established where its line is read, so that nothing else of it is kept.
"""

from array import array
from collections.abc import Callable, Iterable, Sequence, Sized
from fractions import Fraction
from functools import partial
from itertools import accumulate
from math import isfinite
from typing import Any, NamedTuple

import msgspec

from ragworthy.errors import Problem, data_error
from ragworthy.load.sources import Source
from ragworthy.metrics.cost import prompt_of, spend_of, unpriced
from ragworthy.metrics.facts import answers as f
from ragworthy.metrics.facts.compared import Compared, has_reference
from ragworthy.metrics.facts.distinct import Distinct, floats, ints, packed
from ragworthy.metrics.facts.timed import Answered, Distance, Established, Far, Kind, TimedRuns
from ragworthy.metrics.latency import length_of
from ragworthy.records import Gold, Run, Trace
from ragworthy.suites.latency.job import Job, Question
from ragworthy.suites.latency.read import HASHED, Damage, Reader, Recorded, is_table, stop
from ragworthy.suites.parts import Pass, Tell

NOTHING = Established(-1, (0, None), "", "", None, None)
"""Of a warm-up, and of a run of no question of the gold set, nothing else is asked."""
_NO_HASH = bytes(HASHED)


class Part:
    """What one part of a file gives."""

    def __init__(self) -> None:
        self.runs = TimedRuns()
        self.problems: list[Problem] = []
        self.records = 0
        self.repeated = 0
        self.headers = 0
        self.knobs: dict[str, dict[str, Any]] = {}
        """What each configuration is set to, as the first run that says so has it."""
        self.contents = bytearray()
        """The hash of each run, by which one that stands in another part too is known."""
        self.seen: set[str] = set()
        """The gold ids that were retrieved for any question."""


class FileRuns(NamedTuple):
    """Every run of a file, in its order."""

    runs: TimedRuns
    records: int
    repeated: int
    """How many runs were copies of an earlier one, and left out."""
    headers: int
    """How many times the header of a table was repeated."""
    seen: frozenset[str]
    """The gold ids that were retrieved for any question."""


def pass_of(source: Source, job: Job, damage: Damage = None, *, whole: bool = False) -> Pass:
    """The reading of a JSONL or CSV file; `whole` keeps the runs themselves too."""
    return Pass(
        role=source.role,
        source=source,
        work=partial(_told, partial(part_of, source, job, damage, whole)),
        sound=lambda part: not part.problems,
        stop=lambda part: stop(part.problems, source),
        form=_Written,
        pack=_pack,
        unpack=_unpack,
        whole=is_table(source),
    )


def _told(work: Callable[[int, int], Part], part: int, parts: int, tell: Tell) -> Part:
    return work(part, parts)


def part_of(source: Source, job: Job, damage: Damage, whole: bool, part: int = 0, parts: int = 1) -> Part:
    """What one part of a file gives."""
    found, reader = Part(), Reader(source, part, parts, damage)
    establish, gold_ids = establisher(job), job.gold_ids
    for one in reader:
        question = job.place.get(one.run.name, -1)
        gold = job.questions[question].gold if question >= 0 else None
        found.runs.append(_kind(one, gold), one.line, one.e2e, one.at, one.stages.values())
        if question < 0 or one.run.warmup:
            found.runs.establish(NOTHING._replace(question=question))
        else:
            found.runs.establish(establish(question, one))
            found.seen.update(gold_ids.intersection(one.run.retrieved_ids or ()))
        found.contents += one.content or _NO_HASH
        if whole:
            found.runs.whole.append(one.run)
    found.problems, found.records = reader.problems, reader.records
    found.repeated, found.headers = reader.repeated, reader.headers
    found.knobs = {config: knobs for config, (knobs, _) in reader.knobs.items()}
    return found


def _kind(one: Recorded, gold: Gold | None) -> Kind:
    run = one.run
    return Kind(
        config=one.config,
        knobs=msgspec.json.encode(one.knobs).decode(),
        load=run.load_rps,
        warmup=run.warmup,
        answers=run.answer_json is not None,
        failed=run.error is not None,
        variant=(run.seed or 0, run.paraphrase or 0),
        length="" if gold is None else _length(gold, run),
        unpriced=unpriced(run.usage, errored=run.error is not None),
        stages=tuple(one.stages),
    )


def _length(gold: Gold, run: Run) -> str:
    """The slice of a run by the length of its question: in tokens where usage counts them, else in words."""
    counted = (run.usage or {}).get("question_tokens")
    if isinstance(counted, int) and not isinstance(counted, bool) and counted >= 0:
        return f"length={length_of(counted)}"
    text = gold.question or run.q
    return f"length={length_of(len(text.split())) if text else 'unknown'}"


def establisher(job: Job) -> Callable[[int, Recorded], Established]:
    """A function that establishes what a run of a question is worth."""
    flags_of = f.trace_flags(job.rules)

    def established(place: int, one: Recorded) -> Established:
        question, run = job.questions[place], one.run
        trace = Trace(qid=run.name, retrieved_ids=run.retrieved_ids, answer_json=run.answer_json, error=run.error)
        flags = question.flags | flags_of(question.gold, trace)
        return Established(
            question=place,
            answer=(flags, _compared(question.gold, trace, flags)),
            spend=spend_of(run.usage, job.prices, one.model, errored=run.error is not None),
            tokens=_tokens(job, question, run),
            prompt=prompt_of(run.usage),
            distance=job.distances.of(run, run.q or question.gold.question or ""),
        )

    return established


def _compared(gold: Gold, trace: Trace, flags: int) -> Compared | None:
    """An answer compared with the reference, where its question has one."""
    if not has_reference(gold):
        return None
    from ragworthy.metrics.facts.reference import compared_by

    return compared_by(gold, trace, flags)


def _tokens(job: Job, question: Question, run: Run) -> tuple[int, int] | str:
    """Tokens of the gold chunks that an answer cites, and of all the chunks it was given."""
    if job.tokens is None:
        return "needs chunk texts"
    context = list(dict.fromkeys(run.retrieved_ids or ()))
    unknown = [name for name in context if name not in job.tokens]
    if unknown:
        return f"the corpus does not have {unknown[0]}"
    cited = run.answer_json.citations if run.answer_json is not None and run.error is None else None
    useful = {one for one in cited if isinstance(one, str)} if isinstance(cited, list) else set()
    useful &= set(question.gold.gold_citations or ())
    return sum(job.tokens[name] for name in context if name in useful), sum(job.tokens[name] for name in context)


# the parts as one


def merged(source: Source, job: Job, damage: Damage, parts: Sequence[Part]) -> FileRuns:
    """Every run of a file, out of its parts; raises what is wrong with them."""
    if not _fit(parts):  # in one piece again: what is wrong with which line depends on the lines before it
        parts = [part_of(source, job, damage, bool(parts[0].runs.whole))]
    stop([problem for part in parts for problem in part.problems], source)
    records = sum(part.records for part in parts)
    if not records:
        raise data_error("RW-F04", "expected runs, got none", where=source.given)
    runs, repeated = parts[0].runs, 0
    seen = _hashes(parts[0]) if len(parts) > 1 else set()
    for part in parts[1:]:
        twice = frozenset(row for row, one in enumerate(_each_hash(part)) if one in seen)
        seen |= _hashes(part)
        repeated += len(twice)
        runs.extend(part.runs, twice)
    if any(not -1 <= question < len(job.questions) for question in runs.question):
        raise ValueError("a question that the gold set does not have")
    _measure(runs, job)
    return FileRuns(
        runs=runs,
        records=records,
        repeated=repeated + sum(part.repeated for part in parts),
        headers=sum(part.headers for part in parts),
        seen=frozenset[str]().union(*(part.seen for part in parts)),
    )


def _fit(parts: Sequence[Part]) -> bool:
    """Whether a configuration is set to the same in every part."""
    known: dict[str, dict[str, Any]] = {}
    return all(known.setdefault(config, knobs) == knobs for part in parts for config, knobs in part.knobs.items())


def _each_hash(part: Part) -> Sequence[bytes]:
    return [bytes(part.contents[at : at + HASHED]) for at in range(0, len(part.contents), HASHED)]


def _hashes(part: Part) -> set[bytes]:
    return set(_each_hash(part)) - {_NO_HASH}


def _measure(runs: TimedRuns, job: Job) -> None:
    """Work out the distances that the model of the lock tells, each pair of texts once."""
    places = [place for place, one in enumerate(runs.distances.values) if isinstance(one, Far)]
    pairs = [one for one in runs.distances.values if isinstance(one, Far)]
    for place, distance in zip(places, job.distances.measured(pairs), strict=True):
        runs.distances.values[place] = distance


# as it is written


class _Value(NamedTuple):
    """A number, or a text that says why there is none, or what it has to be worked out from; or nothing."""

    number: Fraction | None = None
    reason: str | None = None
    far: Far | None = None


class _Written(NamedTuple):
    """A part as it goes from one process to another, and into a file."""

    problems: list[Problem]
    records: int
    repeated: int
    headers: int
    knobs: dict[str, dict[str, Any]]
    contents: bytes
    seen: list[str]
    kinds: tuple[list[Kind], bytes]
    answers: tuple[list[Answered], bytes]
    spends: tuple[list[_Value], bytes]
    tokens: tuple[list[tuple[int, int] | str], bytes]
    prompts: tuple[list[tuple[int, int] | None], bytes]
    distances: tuple[list[_Value], bytes]
    question: bytes
    line: bytes
    e2e: bytes
    at: bytes
    times: bytes
    whole: list[Run]


def _pack(part: Part) -> _Written:
    runs = part.runs
    return _Written(
        problems=part.problems,
        records=part.records,
        repeated=part.repeated,
        headers=part.headers,
        knobs=part.knobs,
        contents=bytes(part.contents),
        seen=sorted(part.seen),
        kinds=(runs.kinds.values, packed(runs.kinds.at)),
        answers=(runs.answers.values, packed(runs.answers.at)),
        spends=(list(map(_value, runs.spends.values)), packed(runs.spends.at)),
        tokens=(runs.tokens.values, packed(runs.tokens.at)),
        prompts=(runs.prompts.values, packed(runs.prompts.at)),
        distances=(list(map(_value, runs.distances.values)), packed(runs.distances.at)),
        question=packed(runs.question),
        line=packed(runs.line),
        e2e=packed(runs.e2e),
        at=packed(runs.at),
        times=packed(runs.times),
        whole=runs.whole,
    )


def _value(given: Distance) -> _Value:
    if isinstance(given, Far):
        return _Value(far=given)
    return _Value(reason=given) if isinstance(given, str) else _Value(number=given)


def _given(value: _Value) -> Any:
    return next((one for one in value if one is not None), None)


def _unpack(written: _Written) -> Part:
    part = Part()
    part.problems, part.records = written.problems, written.records
    part.repeated, part.headers = written.repeated, written.headers
    part.knobs, part.contents, part.seen = written.knobs, bytearray(written.contents), set(written.seen)
    runs = part.runs
    columns: tuple[tuple[Distinct[Any], tuple[Iterable[Any], bytes]], ...] = (
        (runs.kinds, written.kinds),
        (runs.answers, written.answers),
        (runs.spends, (map(_given, written.spends[0]), written.spends[1])),
        (runs.tokens, written.tokens),
        (runs.prompts, written.prompts),
        (runs.distances, (map(_given, written.distances[0]), written.distances[1])),
    )
    for column, (values, at) in columns:
        column.extend(values, ints("I", at))
    runs.question, runs.line = ints("i", written.question), ints("q", written.line)
    runs.e2e, runs.at, runs.times = floats(written.e2e), floats(written.at), floats(written.times)
    sizes = [len(kind.stages) for kind in runs.kinds.values]
    ends = array("q", accumulate(map(sizes.__getitem__, runs.kinds.at)))
    runs.begins = array("q", [0, *ends[:-1]] if ends else [])
    runs.whole = written.whole
    _check(part, ends[-1] if ends else 0)
    return part


def _check(part: Part, times: int) -> None:
    """That the columns of a part that was read elsewhere belong together."""
    runs = part.runs
    texts: tuple[Sized, ...] = (runs.kinds, runs.answers, runs.spends, runs.tokens, runs.prompts, runs.distances)
    numbers: tuple[Sized, ...] = (runs.question, runs.line, runs.e2e, runs.at)
    hashes = len(part.contents) / HASHED
    if {hashes, *map(len, texts), *map(len, numbers)} != {len(runs)} or len(runs.times) != times:
        raise ValueError("columns of different lengths")
    if not all(map(isfinite, (*runs.e2e, *runs.times))):
        raise ValueError("a time that is no number")
