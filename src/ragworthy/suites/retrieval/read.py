"""Gold and traces of the retrieval suite, joined: every question with all its runs is one case."""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from ragworthy.ids import stable
from ragworthy.load.gold import wrong_id
from ragworthy.metrics.facts.contract import carries, turned_round
from ragworthy.metrics.facts.convergence import Arm, Asked, Question, RunKey, declared
from ragworthy.metrics.facts.distance import impossible
from ragworthy.metrics.facts.judgements import ids_of, is_named
from ragworthy.metrics.facts.placed import kind_of
from ragworthy.metrics.facts.runs import Facts, Reading, Runs, missing
from ragworthy.metrics.facts.wanted import Rules, Section, Wanted, wanted_of, wording_of
from ragworthy.records import Citation, RetrievalGold, RetrievalTrace
from ragworthy.suites.reading import NAMELESS, Flaws, Reader
from ragworthy.suites.retrieval.fit import asked_twice, numbered
from ragworthy.suites.retrieval.reranked import with_better
from ragworthy.suites.retrieval.steady import steadied
from ragworthy.suites.retrieval.units import (
    Ranged,
    are_whole,
    byte_range,
    cited_ranges,
    has_units,
    in_bytes,
    ranged,
    strange_unit,
)
from ragworthy.suites.slices import slicer
from ragworthy.text import clip

ORPHANS_SHOWN = 3
UNHELD = "RW-G23"
"""Evidence without an index that could hold it."""
UNNAMED = ("", "")
"""The model of distances that come without one, beside others that name theirs."""
ALLOWED = ("RW-G10", "RW-G11")
"""Gold errors that may be passed over on request: a question without relevant blocks, negatives that are relevant."""


class Trouble(NamedTuple):
    """What is wrong with a record."""

    code: str
    field: str
    message: str


class Job(NamedTuple):
    """Everything that decides the result."""

    gold: Reader
    rules: Rules
    slice_fields: tuple[str, ...] = ()
    tokens: Callable[[Section], int] = lambda section: 0
    known: Container[str] | None = None
    """Every id of the corpus, where there is one."""
    index_hash: str | None = None
    """The index that the corpus is; traces of another are not compared with its bytes."""
    limits: Mapping[str, int] | None = None
    """How many bytes each document of the corpus has."""
    canonical: Callable[[str], bytes | None] | None = None
    """The canonical text of a document, where the corpus has it."""
    allow_gold_errors: bool = False
    damage: Callable[[Wanted, RetrievalTrace], RetrievalTrace | None] | None = None


def read_gold(job: Job, flaws: Flaws) -> list[Wanted]:
    """Every gold question in the order of the file."""
    decoder = job.gold.decoder()
    sliced = slicer(job.slice_fields)
    questions: list[Wanted] = []
    seen: set[str] = set()
    unheld: list[tuple[int, Trouble]] = []
    for block in job.gold.blocks(0, 1):
        records: list[RetrievalGold] = decoder.records(block)
        groups = sliced(block.data) if sliced and not decoder.faults else [()] * len(records)
        bound = job.rules.groups is not None
        problems = [(nth, one) for nth, gold in enumerate(records) if (one := _gold_problem(gold, seen, bound=bound))]
        offsets = job.gold.offsets(block) if problems else []
        for nth, problem in problems:
            if problem.code == UNHELD:
                unheld.append((offsets[nth], problem))
            elif not (job.allow_gold_errors and problem.code in ALLOWED):
                flaws.add("gold", offsets[nth], *problem)
        for gold, slices in zip(records, groups, strict=True):
            questions.append(wanted_of(gold, job.rules, job.tokens, slices))
    for fault in decoder.faults:
        flaws.add("gold", *fault)
    for place, problem in unheld[:1]:  # the same of every question: one line says it
        more = f" ({len(unheld):,} questions)" if len(unheld) > 1 else ""
        flaws.add("gold", place, *problem._replace(message=problem.message + more))
    return questions


def _gold_problem(gold: RetrievalGold, seen: set[str], *, bound: bool) -> Trouble | None:
    """What is wrong with a gold item; its id goes to those that were seen."""
    wrong = wrong_id(gold.name, seen)
    seen.add(gold.name)
    if wrong is not None:
        return Trouble(*wrong)
    for name, (begin, end) in (gold.relevant_offsets or {}).items():
        if begin >= end or begin < 0:
            return Trouble("RW-G14", f"relevant_offsets.{name}", f"expected begin < end, got [{begin}, {end}]")
    if gold.answerable and not ids_of(gold) and not is_named(gold):
        return Trouble("RW-G10", "relevant", "expected at least one id, got none")
    if is_named(gold) and not ids_of(gold) and not bound:
        field = "gold_evidence" if gold.gold_evidence else "gold_source"
        return Trouble(UNHELD, field, "expected the index whose chunks hold it (--corpus INDEX), got none")
    if gold.negatives and not {*map(stable, gold.negatives)}.isdisjoint(map(stable, ids_of(gold))):
        relevant = {*map(stable, ids_of(gold))}
        both = sorted(name for name in gold.negatives if stable(name) in relevant)
        return Trouble("RW-G11", "negatives", f'expected no relevant id, got "{both[0]}"')
    return None


class Gathered:
    """What some traces of a file show; what later ones show can be added to it."""

    def __init__(self) -> None:
        self.runs: dict[str, dict[RunKey, Reading]] = {}
        self.hashes: dict[str, int] = {}
        self.normalisers: set[str] = set()
        self.rerankers: set[str] = set()
        self.models: set[tuple[str, str]] = set()
        self.orphans: Counter[str] = Counter()
        self.types: set[str] = set()
        self.unknown: set[str] = set()
        self.bare: dict[str, None] = {}
        """Questions with a run that says nothing of results."""
        self.seeded = False
        """Whether a run may come out differently under another seed: it does not say otherwise."""
        self.unnamed = False
        """Whether a run has distances and does not name their model."""
        self.traces = self.replaced = self.left_out = 0
        self.flaws = Flaws()

    def add(self, later: "Gathered") -> None:
        """Add what later traces show: the last record of a run counts."""
        for qid, runs in later.runs.items():
            known = self.runs.setdefault(qid, {})
            self.replaced += len(known.keys() & runs.keys())
            known |= runs
        for name, place in later.hashes.items():
            self.hashes.setdefault(name, place)
        for name in ("normalisers", "rerankers", "models", "types", "unknown", "bare"):
            getattr(self, name).update(getattr(later, name))
        self.orphans += later.orphans
        self.seeded |= later.seeded
        self.unnamed |= later.unnamed
        self.traces += later.traces
        self.replaced += later.replaced
        self.left_out += later.left_out
        self.flaws.count += later.flaws.count
        self.flaws.some += later.flaws.some


def arm_of(job: Job, wanted: list[Wanted], parts: Iterable[Gathered]) -> Arm:
    """Every trace of one file, joined with its question, from what its parts show."""
    whole = Gathered()
    for part in parts:
        whole.add(part)
    return with_better(_arm(wanted, whole), job.rules.ks)


class Part(NamedTuple):
    """What the traces of a block show. Traces are named by their number in it; few of them need their place."""

    found: Gathered
    troubles: dict[int, Trouble]
    firsts: dict[str, int]
    """The first trace of each index that was not known before."""


def gather(
    job: Job,
    by_id: Mapping[str, Wanted],
    records: Sequence[RetrievalTrace],
    known: Container[str],
    runs: Runs,
    may: Ranged,
) -> Part:
    """Join the traces of a block with their questions.

    `runs` reads those of every block, and `may` says what those of this one may have.
    """
    part = Part(Gathered(), {}, {})
    for nth, trace in enumerate(records):
        if trace.index_hash is not None and trace.index_hash not in known:
            part.firsts.setdefault(trace.index_hash, nth)
        units = may.units and has_units(trace)
        trouble = _trace_problem(trace, job, units=units, ranges=may.ranges)
        if trouble is None:
            _take(job, by_id, part.found, runs, trace, units=units)
        else:
            part.troubles[nth] = trouble
    return part


def _take(
    job: Job, by_id: Mapping[str, Wanted], notes: Gathered, reader: Runs, given: RetrievalTrace, *, units: bool
) -> None:
    notes.traces += 1
    qid = given.name
    question = by_id.get(qid)
    if question is None:
        notes.orphans[qid] += 1
        return
    trace = given if job.damage is None else job.damage(question, given)
    if trace is None:
        return
    if units:
        trace, left_out = in_bytes(trace, lambda name, span: _as_bytes(job, given, name, span))
        notes.left_out += left_out
    for value, found in ((trace.normaliser_id, notes.normalisers), (trace.reranker_id, notes.rerankers)):
        if value is not None:
            found.add(value)
    if trace.delta_s_model is not None:
        notes.models.add((trace.delta_s_model.name, trace.delta_s_model.weights))
    elif not notes.unnamed and trace.distances is not None:
        notes.unnamed = True
    if trace.topk is None and trace.retrieved_ids is None and trace.error is None:
        notes.bare[qid] = None
    notes.seeded |= not (trace.deterministic and trace.cited_by == "rank")  # a model that answers is another matter
    runs = notes.runs.setdefault(qid, {})
    key = (_wording(question, trace), trace.seed or 0)
    notes.replaced += key in runs
    runs[key] = reader.read(question, trace)
    if job.known is None or reader.again:  # ids and types of an earlier run with the same facts were looked at
        return
    names = runs[key].names
    notes.unknown.update([name for name in (*names, *runs[key].facts.cited) if name not in job.known])
    for name, result in zip(names, trace.topk or [], strict=False):
        if name in job.known and kind_of(result.type) not in ("", job.rules.place(name).type):
            notes.types.add(name)


def _wording(question: Wanted, trace: RetrievalTrace) -> int:
    """Which wording a run asks: by its number, else by its text, so that several without a number stay apart."""
    if trace.paraphrase is not None:
        return trace.paraphrase
    return wording_of(question, trace.query) if trace.query else 0


def _trace_problem(trace: RetrievalTrace, job: Job, *, units: bool, ranges: bool) -> Trouble | None:
    if not trace.name:
        return Trouble("RW-T01", "qid", NAMELESS)
    count = len(trace.topk) if trace.topk is not None else len(trace.retrieved_ids or [])
    distances = trace.distances
    if distances is not None and len(distances) != count:
        return Trouble("RW-T04", "ΔS", f"expected {count} numbers, one for each result, got {len(distances)}")
    if distances and any([one is not None and not 0 <= one <= 2 for one in distances]):  # a little outside is allowed
        odd = next(((nth, one) for nth, one in enumerate(distances) if one is not None and impossible(one)), None)
    else:
        odd = None
    if odd is not None:
        return Trouble("RW-T21", f"ΔS[{odd[0]}]", f"expected a distance, 1 − cos, from 0 to 2, got {odd[1]:g}")
    if units and (strange := strange_unit(trace)) is not None:
        field, unit = strange
        return Trouble("RW-T20", field, f'expected "byte" or "char", got "{clip(unit, 40)}"')
    if not ranges or (are_whole(trace) and _are_inside(trace, job)):
        return None
    for field, one, (begin, end) in ranged(trace):
        if isinstance(one, Citation) and carries(one) and turned_round(one):
            continue  # a finding of the contract: that answer is wrong, and the others count
        if begin < 0 or begin > end or (begin == end and begin):
            return Trouble("RW-T03", field, f"expected begin < end, got [{begin}, {end}]")
        length = None if _is_elsewhere(job, trace) else (job.limits or {}).get(job.rules.place(one.id).doc or "")
        if length is not None and end > length:
            return Trouble("RW-T03", field, f"expected at most {length}, the length of the text, got {end}")
    return None


def _are_inside(trace: RetrievalTrace, job: Job) -> bool:
    """Whether every range ends where its document does, or before."""
    if not job.limits or _is_elsewhere(job, trace):
        return True
    limits, place = job.limits, job.rules.place
    spans = [(one.id, one.offsets) for one in (*(trace.topk or ()), *cited_ranges(trace)) if one.offsets is not None]
    return all([span[1] <= limits.get(place(name).doc or "", span[1]) for name, span in spans])


def _is_elsewhere(job: Job, trace: RetrievalTrace) -> bool:
    """Whether a trace is of another index than the corpus, or of an earlier version."""
    earlier = job.rules.moves is not None and job.rules.moves.is_earlier(trace.index_hash)
    return earlier or (None not in (job.index_hash, trace.index_hash) and job.index_hash != trace.index_hash)


def _as_bytes(job: Job, trace: RetrievalTrace, name: str, span: tuple[int, int]) -> tuple[int, int] | None:
    """Characters of a document as bytes; None where its text is not at hand."""
    doc = job.rules.place(stable(name)).doc
    text = None if doc is None or job.canonical is None or _is_elsewhere(job, trace) else job.canonical(doc)
    return None if text is None else byte_range(text, span)


def _arm(wanted: Iterable[Wanted], notes: Gathered) -> Arm:
    # Without an answer in any trace the file is of a retriever alone; with one, a trace without is an empty answer.
    answers = any(one.facts.answers for runs in notes.runs.values() for one in runs.values())
    found = []
    for one in wanted:
        runs = numbered(one, notes.runs.get(one.qid, {}))
        facts = {key: _answering(reading.facts, answers) for key, reading in runs.items()}
        question = Question.of(facts, partial(missing, one, answers=answers), asked_twice(one, runs))
        found.append(Asked(one, runs, question))
    asked, steady = steadied(found, said=not notes.seeded)
    return Arm(
        asked=asked,
        traces=notes.traces,
        replaced=notes.replaced,
        orphans=sum(notes.orphans.values()),
        orphan_ids=sorted(notes.orphans)[:ORPHANS_SHOWN],
        answers=answers,
        hashes=notes.hashes,
        normalisers=sorted(notes.normalisers),
        rerankers=sorted(notes.rerankers),
        models=sorted(notes.models | ({UNNAMED} if notes.models and notes.unnamed else set())),
        cited_by_rank=sum(one.facts.by_rank for runs in notes.runs.values() for one in runs.values()),
        declared_otherwise=sum(one.question.counted and _says_otherwise(one.runs, one.question) for one in asked),
        type_mismatches=sorted(notes.types),
        unknown_ids=sorted(notes.unknown),
        errored=sum(one.facts.errored for runs in notes.runs.values() for one in runs.values()),
        bare=list(notes.bare),
        steady=steady,
        left_out=notes.left_out,
    )


def _says_otherwise(runs: Mapping[RunKey, Reading], question: Question) -> bool:
    """Whether a run declares a mark that is neither its own nor that of its question."""
    if all([run.state is None for run in runs.values()]):
        return False
    for key, own in zip(sorted(runs), question.run_marks, strict=True):
        if declared(runs[key].state) not in (None, own, question.mark):
            return True
    return False


def _answering(facts: Facts, answers: bool) -> Facts:
    return facts if facts.answers == answers else facts._replace(answers=answers)
