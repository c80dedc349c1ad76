"""Questions and outputs of the structured suite, joined and scored. Nothing is left out unseen.

The questions stay in memory, packed; the outputs are read once, block by block, and only what they are worth is kept.
"""

import hashlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from ragworthy.engine.job import Reader, Table
from ragworthy.engine.retrieval import Flaws
from ragworthy.engine.slices import slicer, values_of
from ragworthy.metrics import grading, reference_structured
from ragworthy.metrics.context import Context
from ragworthy.metrics.definition import ABSENT, Definition, value_at
from ragworthy.metrics.expected import problem_of
from ragworthy.metrics.grading import Scored
from ragworthy.names import HARMLESS, Failure
from ragworthy.records import Ints, StructuredGold, StructuredOutput
from ragworthy.text import squeeze

ORPHANS_SHOWN = 3
ALLOWED = ("RW-Q03",)
"""Gold errors that may be passed over on request: a question without text."""
Damage = Callable[[StructuredOutput], StructuredOutput | None]


class Job(NamedTuple):
    """Everything that decides the result."""

    questions: Reader
    outputs: Reader
    definition: Definition
    reference: bool = False
    repair: bool = False
    slice_fields: tuple[str, ...] = ()
    allow_gold_errors: bool = False
    damage: Damage | None = None


class Questions:
    """Every question in the order of the file: ids, the packed expected objects, slices, and what repeats."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.place: dict[str, int] = {}
        self.expected: list[bytes] = []
        self.slices: list[tuple[str, ...]] = []
        self.text_ids: Ints = array("q")
        """The same number for the same question text."""
        self.distinct_expected = 0
        self.graded = 0
        self.table = Table()

    @property
    def distinct(self) -> int:
        """How many different question texts there are."""
        return len(set(self.text_ids))


def read_questions(job: Job, flaws: Flaws) -> Questions:
    """Every question, checked against the definition."""
    found = Questions()
    decoder = job.questions.decoder()
    own = {field.name: field for field in job.definition.fields}
    sliced = slicer(tuple(name for name in job.slice_fields if name not in own))
    packed: dict[bytes, bytes] = {}
    texts: dict[bytes, int] = {}
    for block in job.questions.blocks(0, 1):
        found.table.enter(block, len(found.names))
        records: list[StructuredGold] = decoder.records(block)
        groups = sliced(block.data) if sliced and not decoder.faults else [()] * len(records)
        offsets: list[int] = []
        for nth, (gold, more) in enumerate(zip(records, groups, strict=True)):
            problem = _problem(job, gold, found.place)
            if problem is not None:
                offsets = offsets or job.questions.offsets(block)
                flaws.add("gold", offsets[nth], *problem)
                continue
            data = msgspec.json.encode(gold.expected)
            text = squeeze(gold.question or "").encode()
            key = hashlib.sha256(text or gold.name.encode()).digest()
            found.place[gold.name] = len(found.names)
            found.names.append(gold.name)
            found.expected.append(packed.setdefault(data, data))
            found.text_ids.append(texts.setdefault(key, len(texts)))
            found.slices.append((*_labels(job, gold), *more))
    for fault in decoder.faults:
        flaws.add("gold", *fault)
    found.distinct_expected = len(packed)
    return found


def _problem(job: Job, gold: StructuredGold, seen: Mapping[str, int]) -> tuple[str, str, str] | None:
    if not gold.name:
        return "RW-G01", "id", "expected a non-empty string, got nothing"
    if gold.name in seen:
        return "RW-G02", "id", f'expected a unique id, got "{gold.name}" again'
    problem = problem_of(gold, job.definition)
    return None if problem is not None and job.allow_gold_errors and problem[0] in ALLOWED else problem


def _labels(job: Job, gold: StructuredGold) -> Iterable[str]:
    """The slices that a question belongs to by its expected fields."""
    fields = value_at(gold.expected, job.definition.expected)
    for field in job.definition.fields:
        if field.name in job.slice_fields:
            value = value_at(fields, field.at)
            for text in values_of(None if value is ABSENT else value):
                yield f"{field.name}={squeeze(text)}"


class Meta:
    """What the outputs say of how they were made: the values of each key, and how many outputs lack it."""

    def __init__(self) -> None:
        self.values: dict[str, Counter[str]] = {}
        self.outputs = 0

    def add(self, meta: Mapping[str, Any] | None) -> None:
        """Note what one output says."""
        self.outputs += 1
        for key, value in (meta or {}).items():
            if value is not None and value != "":
                text = value if isinstance(value, str) else msgspec.json.encode(value, order="deterministic").decode()
                self.values.setdefault(key, Counter())[text] += 1


class Marked(NamedTuple):
    """Every question with what its output is worth, in gold order, and what was noticed on the way."""

    questions: Questions
    items: list[Scored]
    numbers: Ints
    """Which record of the outputs counts for each question; -1 where there is none."""
    table: Table
    outputs: int
    replaced: int
    orphans: int
    orphan_ids: list[str]
    meta: Meta
    context_sha256: str


class _Gathered:
    """What is noted while outputs are read."""

    def __init__(self, questions: Questions) -> None:
        self.questions = questions
        self.items: list[Scored | None] = [None] * len(questions.names)
        self.numbers: Ints = array("q", [-1]) * len(questions.names)
        self.contexts: list[bytes] = [b""] * len(questions.names)
        self.orphans: Counter[str] = Counter()
        self.meta, self.table = Meta(), Table()
        self.read = self.replaced = 0

    def take(self, job: Job, output: StructuredOutput) -> None:
        """One output: scored where it belongs to a question."""
        number = self.read
        self.read += 1
        place = self.questions.place.get(output.name)
        if place is None:
            self.orphans[output.name] += 1
            return
        self.replaced += self.numbers[place] >= 0
        self.numbers[place] = number
        self.contexts[place] = hashlib.sha256(msgspec.json.encode(output.context)).digest()
        self.meta.add(output.meta)
        self.items[place] = _scored(job, self.questions.expected[place], output)


def mark(job: Job, questions: Questions, flaws: Flaws, tell: Callable[[int], None] | None = None) -> Marked:
    """Read every output and score it; the last one of a question counts."""
    found = _Gathered(questions)
    decoder = job.outputs.decoder()
    for block in job.outputs.blocks(0, 1):
        found.table.enter(block, found.read)
        records: list[StructuredOutput] = decoder.records(block)
        if not all(output.name for output in records):
            for offset, output in zip(job.outputs.offsets(block), records, strict=True):
                if not output.name:
                    flaws.add("trace", offset, "RW-T01", "id", "expected a non-empty string, got nothing")
        for output in records:
            found.take(job, output)
        if tell is not None:
            tell(len(block.data))
    for fault in decoder.faults:
        flaws.add("trace", *fault)
    return Marked(
        questions=questions,
        items=[item or _missing(job, questions.expected[nth]) for nth, item in enumerate(found.items)],
        numbers=found.numbers,
        table=found.table,
        outputs=found.read,
        replaced=found.replaced,
        orphans=found.orphans.total(),
        orphan_ids=sorted(found.orphans)[:ORPHANS_SHOWN],
        meta=found.meta,
        context_sha256=hashlib.sha256(b"".join(found.contexts)).hexdigest(),
    )


def _missing(job: Job, expected: bytes) -> Scored:
    return _scored(job, expected, None)


def _scored(job: Job, packed: bytes, given: StructuredOutput | None) -> Scored:
    """What one output is worth, and what is to blame where it is not good."""
    expected = msgspec.json.decode(packed)
    output = given if given is None or job.damage is None else job.damage(given)
    wanted = grading.wanted_of(job.definition, expected)
    context = Context((output.context if output is not None else None) or [])
    if job.reference:
        item = reference_structured.score(value_at(expected, job.definition.expected), output)
    else:
        known = grading.read(job.definition, output, repair=job.repair)
        item = grading.score(job.definition, wanted, known, context)
    if grading.label(item, job.definition.good) in HARMLESS:
        return item
    return item._replace(stage=grading.blame(job.definition, wanted, gold_files(expected), item, context))


def gold_files(expected: Mapping[str, Any]) -> frozenset[str]:
    """The files that a question says its answer comes from."""
    entries = _listed(expected.get("source_map"))
    refs = [ref for entry in entries if isinstance(entry, dict) for ref in _listed(entry.get("refs"))]
    return frozenset(ref["file"] for ref in refs if isinstance(ref, dict) and isinstance(ref.get("file"), str))


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def again(job: Job, marked: Marked, places: Iterable[int]) -> list[tuple[StructuredGold, StructuredOutput | None]]:
    """The question and the output behind some places, in the order asked for."""
    wanted = list(places)
    golds = dict(marked.questions.table.pick(job.questions, 0, 1, wanted))
    numbers = {place: marked.numbers[place] for place in wanted if marked.numbers[place] >= 0}
    outputs = dict(marked.table.pick(job.outputs, 0, 1, numbers.values()))
    return [(golds[place], outputs[numbers[place]] if place in numbers else None) for place in wanted]


def fail_counts(items: Iterable[Scored]) -> dict[str, int]:
    """How many items failed for each reason; those that did not under `ok`."""
    counts = Counter(str(item.reason) if item.reason is not None else "ok" for item in items)
    return {name: counts[name] for name in ("ok", *map(str, Failure)) if counts[name]}
