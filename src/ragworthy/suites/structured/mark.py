"""Questions and outputs of the structured suite, joined and scored. Nothing is left out unseen.

The questions stay in memory, packed; the outputs are read once, block by block, and only what they are worth is kept.
"""

import hashlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from ragworthy.load.gold import wrong_id
from ragworthy.metrics import grading, reference_structured
from ragworthy.metrics.context import Context, files_of
from ragworthy.metrics.definition import ABSENT, Definition, value_at
from ragworthy.metrics.facts.expected import problem_of
from ragworthy.metrics.grading import Scored, Unpacker, pack
from ragworthy.names import HARMLESS
from ragworthy.records import Ints, StructuredGold, StructuredOutput
from ragworthy.rows import MOST
from ragworthy.suites.clusters import Topic
from ragworthy.suites.parts import Tell
from ragworthy.suites.reading import NAMELESS, Flaws, Reader, Table
from ragworthy.suites.slices import slicer, values_of
from ragworthy.suites.structured import ALSO, MADE
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
    """Every question in the order of the file: ids, slices, what repeats; until all is marked, what was expected."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.place: dict[str, int] = {}
        self.expected: list[bytes] = []
        self.slices: list[tuple[str, ...]] = []
        self.text_ids: Ints = array("q")
        """The same number for the same question text."""
        self.topics: list[Topic] = []
        """Where the first questions belong: as many as rows are kept of."""
        self.distinct_expected = 0
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
    same: dict[tuple[str, ...], tuple[str, ...]] = {}
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
            if len(found.topics) < MOST:
                found.topics.append(_topic(gold, found.text_ids[-1]))
            group = (*_labels(job, gold), *more)
            found.slices.append(same.setdefault(group, group))
    for fault in decoder.faults:
        flaws.add("gold", *fault)
    found.distinct_expected = len(packed)
    return found


def _topic(gold: StructuredGold, text: int) -> Topic:
    """Where a question belongs: the first file that a right answer names; the number of its text stands for that."""
    files = files_of((gold.expected or {}).get("source_map"))
    return Topic(str(text), gold.cluster, files[0] if files else None)


def _problem(job: Job, gold: StructuredGold, seen: Mapping[str, int]) -> tuple[str, str, str] | None:
    if (wrong := wrong_id(gold.name, seen, "id")) is not None:
        return wrong
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


Said = tuple[tuple[str, str], ...]
"""What one output says of how it was made, as keys and texts."""


class Noted(NamedTuple):
    """What is kept of an output that counts, besides what it is worth."""

    context: bytes
    """The hash of its context."""
    said: Said
    gaps: tuple[str, ...]
    """What it lacks that a scorer needs."""


def said_by(meta: Mapping[str, Any] | None) -> Said:
    """What one output says of how it was made.

    >>> said_by({"model_id": "m", "registry_id": 7, "latency_ms": 12})
    (('model_id', 'm'), ('adapter_id', '7'))
    """
    found = []
    for key in MADE if meta else ():
        values = [(meta or {}).get(name) for name in (key, ALSO.get(key, key))]
        value = next((one for one in values if one is not None and one != ""), None)
        if value is not None:
            text = value if isinstance(value, str) else msgspec.json.encode(value, order="deterministic").decode()
            found.append((key, text))
    return tuple(found)


class Meta:
    """What the outputs that count say of how they were made: the values of each key, and how many outputs there are."""

    def __init__(self, said: Iterable[Said]) -> None:
        self.values: dict[str, Counter[str]] = {}
        self.outputs = 0
        for one, times in Counter(said).items():
            self.outputs += times
            for key, text in one:
                self.values.setdefault(key, Counter())[text] += times


class Marked(NamedTuple):
    """Every question with what its output is worth, in gold order, and what was noticed on the way."""

    questions: Questions
    items: list[Scored]
    parts: Ints
    """In which part of the outputs the one that counts for each question stands; -1 where there is none."""
    numbers: Ints
    """Which record of that part it is; -1 where there is none."""
    tables: list[Table]
    outputs: int
    replaced: int
    orphans: int
    orphan_ids: list[str]
    gaps: "Counter[str]"
    """How many outputs lack the raw text, the context, or the paths or texts of its chunks."""
    meta: Meta
    context_sha256: str


class Last(NamedTuple):
    """The last output of a question in one part of the outputs."""

    number: int
    """Which record of the part it is."""
    item: Scored
    noted: Noted


class Gathered(NamedTuple):
    """What one part of the outputs holds: for each question the last output there, and what was noted."""

    places: Ints
    """The questions that have an output in this part."""
    numbers: Ints
    """Which record of the part counts for each of them."""
    items: list[Scored]
    """What each of them is worth."""
    noted: list[Noted]
    orphans: "Counter[str]"
    table: Table
    read: int
    replaced: int
    flaws: Flaws


def gather(job: Job, questions: Questions, part: int, parts: int, tell: Tell) -> Gathered:
    """Read one part of the outputs and score it."""
    last: dict[int, Last] = {}
    kept = Unpacker()
    orphans: Counter[str] = Counter()
    table, flaws = Table(), Flaws()
    known: dict[Said, Said] = {}
    read = replaced = 0
    decoder = job.outputs.decoder()
    for block in job.outputs.blocks(part, parts):
        table.enter(block, read)
        records: list[StructuredOutput] = decoder.records(block)
        _nameless(job, block, records, flaws)
        for output in records:
            read += 1
            place = questions.place.get(output.name)
            if place is None:
                orphans[output.name] += 1
                continue
            replaced += place in last
            context = hashlib.sha256(msgspec.json.encode(output.context)).digest()
            said = said_by(output.meta)
            noted = Noted(context, known.setdefault(said, said), _gaps(output))
            last[place] = Last(read - 1, kept(pack(_scored(job, questions.expected[place], output))), noted)
        if tell is not None:
            tell(len(block.data))
    for fault in decoder.faults:
        flaws.add("trace", *fault)
    return Gathered(
        places=array("q", last),
        numbers=array("q", (one.number for one in last.values())),
        items=[one.item for one in last.values()],
        noted=[one.noted for one in last.values()],
        orphans=orphans,
        table=table,
        read=read,
        replaced=replaced,
        flaws=flaws,
    )


def _gaps(output: StructuredOutput) -> tuple[str, ...]:
    """What an output lacks that a scorer needs."""
    if output.error:
        return ()
    chunks = output.context or []
    there = {
        "raw": output.raw is not None,
        "context": bool(chunks),
        "source_path": not chunks or any(chunk.source_path for chunk in chunks),
        "text": not chunks or any(chunk.text for chunk in chunks),
    }
    return tuple(key for key, good in there.items() if not good)


def _nameless(job: Job, block: Any, records: list[StructuredOutput], flaws: Flaws) -> None:
    if not all(output.name for output in records):
        for offset, output in zip(job.outputs.offsets(block), records, strict=True):
            if not output.name:
                flaws.add("trace", offset, "RW-T01", "id", NAMELESS)


def marked_of(job: Job, questions: Questions, flaws: Flaws, parts: Sequence[Gathered]) -> Marked:
    """Every question with what its output is worth, from what the parts hold; the last output of a question counts."""
    for part in parts:
        flaws.count += part.flaws.count
        flaws.some += part.flaws.some
    marked = _merged(job, questions, parts)
    questions.expected.clear()  # the largest thing in memory, and only marking needs it
    return marked


def _merged(job: Job, questions: Questions, parts: Sequence[Gathered]) -> Marked:
    items: list[Scored | None] = [None] * len(questions.names)
    none = array("q", [-1]) * len(questions.names)
    at_part, at_number = none[:], none[:]
    notes: list[Noted | None] = [None] * len(questions.names)
    orphans: Counter[str] = Counter()
    replaced = 0
    for nth, part in enumerate(parts):
        replaced += part.replaced
        orphans.update(part.orphans)
        for place, number, item, noted in zip(part.places, part.numbers, part.items, part.noted, strict=True):
            replaced += items[place] is not None
            items[place], notes[place] = item, noted
            at_part[place], at_number[place] = nth, number
    there = [one for one in notes if one is not None]
    return Marked(
        questions=questions,
        items=[item or _scored(job, questions.expected[nth], None) for nth, item in enumerate(items)],
        parts=at_part,
        numbers=at_number,
        tables=[part.table for part in parts],
        outputs=sum(part.read for part in parts),
        replaced=replaced,
        orphans=orphans.total(),
        orphan_ids=sorted(orphans)[:ORPHANS_SHOWN],
        gaps=Counter(gap for one in there for gap in one.gaps),
        meta=Meta(one.said for one in there),
        context_sha256=hashlib.sha256(b"".join(one.context for one in there)).hexdigest(),
    )


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
    return item._replace(
        stage=grading.blame(job.definition, wanted, frozenset(files_of(expected.get("source_map"))), item, context)
    )


def again(job: Job, marked: Marked, places: Iterable[int]) -> list[tuple[StructuredGold, StructuredOutput | None]]:
    """The question and the output behind some places, in the order asked for."""
    wanted = list(places)
    golds = dict(marked.questions.table.pick(job.questions, 0, 1, wanted))
    parts = len(marked.tables)
    outputs: dict[tuple[int, int], StructuredOutput] = {}
    for part, table in enumerate(marked.tables):
        numbers = [marked.numbers[place] for place in wanted if marked.parts[place] == part]
        outputs |= {(part, number): one for number, one in table.pick(job.outputs, part, parts, numbers)}
    return [(golds[place], outputs.get((marked.parts[place], marked.numbers[place]))) for place in wanted]
