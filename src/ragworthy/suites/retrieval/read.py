"""Gold and traces of the retrieval suite, joined: every question with all its runs is one case."""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ragworthy.ids import stable
from ragworthy.load.gold import wrong_id
from ragworthy.metrics.facts.convergence import Arm, Asked, Question, RunKey, declared, mark, run_marks
from ragworthy.metrics.facts.judgements import ids_of, is_named
from ragworthy.metrics.facts.runs import Facts, Reading, missing, read
from ragworthy.metrics.facts.wanted import Rules, Section, Wanted, kind_of, wanted_of, wording_of
from ragworthy.metrics.runs_blamed import blame, found_in, label, steps_of
from ragworthy.names import HARMLESS, SEVERITY
from ragworthy.records import Citation, RetrievalGold, RetrievalTrace
from ragworthy.suites.evidence import Case, Fate, Offender
from ragworthy.suites.reading import NAMELESS, Flaws, Reader
from ragworthy.suites.retrieval.fit import numbered
from ragworthy.suites.slices import Slice, slicer

ORPHANS_SHOWN = 3
UNHELD = "RW-G23"
"""Evidence without an index that could hold it."""
ALLOWED = ("RW-G10", "RW-G11")
"""Gold errors that may be passed over on request: a question without relevant blocks, negatives that are relevant."""
DEPTH = 5
"""How deep a relevant block may stand before its question is an offender, unless another k was asked for."""
MOST_IDS = 10


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
    """The index that the corpus is; traces of another are not held against its bytes."""
    limits: Mapping[str, int] | None = None
    """How many bytes each document of the corpus has."""
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
        self.traces = self.replaced = 0

    def add(self, later: "Gathered") -> None:
        """Add what later traces show: the last record of a run counts."""
        for qid, runs in later.runs.items():
            known = self.runs.setdefault(qid, {})
            self.replaced += len(known.keys() & runs.keys())
            known |= runs
        for name, place in later.hashes.items():
            self.hashes.setdefault(name, place)
        for name in ("normalisers", "rerankers", "models", "types", "unknown"):
            getattr(self, name).update(getattr(later, name))
        self.orphans += later.orphans
        self.traces += later.traces
        self.replaced += later.replaced


def read_arm(job: Job, wanted: list[Wanted], role: str, traces: Reader, flaws: Flaws) -> Arm:
    """Every trace of one file, joined with its question; the last record of a run counts."""
    by_id = {one.qid: one for one in wanted}
    decoder = traces.decoder()
    whole = Gathered()
    for block in traces.blocks(0, 1):
        records: list[RetrievalTrace] = decoder.records(block)
        part = gather(job, by_id, records, whole.hashes)
        if part.troubles or part.firsts:
            offsets = traces.offsets(block)
            part.found.hashes = {name: offsets[nth] for name, nth in part.firsts.items()}
            for nth, trouble in part.troubles.items():
                flaws.add(role, offsets[nth], *trouble)
        whole.add(part.found)
    for fault in decoder.faults:
        flaws.add(role, *fault)
    return _arm(wanted, whole)


class Part(NamedTuple):
    """What the traces of a block show. Traces are named by their number in it; few of them need their place."""

    found: Gathered
    troubles: dict[int, Trouble]
    firsts: dict[str, int]
    """The first trace of each index that was not known before."""


def gather(job: Job, by_id: Mapping[str, Wanted], records: Sequence[RetrievalTrace], known: Container[str]) -> Part:
    """Join the traces of a block with their questions."""
    part = Part(Gathered(), {}, {})
    for nth, trace in enumerate(records):
        if trace.index_hash is not None and trace.index_hash not in known:
            part.firsts.setdefault(trace.index_hash, nth)
        trouble = _trace_problem(trace, job)
        if trouble is None:
            _take(job, by_id, part.found, trace)
        else:
            part.troubles[nth] = trouble
    return part


def _take(job: Job, by_id: Mapping[str, Wanted], notes: Gathered, given: RetrievalTrace) -> None:
    notes.traces += 1
    question = by_id.get(given.name)
    if question is None:
        notes.orphans[given.name] += 1
        return
    trace = given if job.damage is None else job.damage(question, given)
    if trace is None:
        return
    for value, found in ((trace.normaliser_id, notes.normalisers), (trace.reranker_id, notes.rerankers)):
        if value is not None:
            found.add(value)
    if trace.delta_s_model is not None:
        notes.models.add((trace.delta_s_model.name, trace.delta_s_model.weights))
    runs = notes.runs.setdefault(trace.name, {})
    key = (_wording(question, trace), trace.seed or 0)
    notes.replaced += key in runs
    runs[key] = read(question, trace, job.rules)
    if job.known is None:
        return
    notes.unknown.update(name for name in (*runs[key].names, *runs[key].facts.cited) if name not in job.known)
    for name, result in zip(runs[key].names, trace.topk or [], strict=False):
        if name in job.known and kind_of(result.type) not in ("", job.rules.place(name).type):
            notes.types.add(name)


def _wording(question: Wanted, trace: RetrievalTrace) -> int:
    """Which wording a run asks: by its number, else by its text, so that several without a number stay apart."""
    if trace.paraphrase is not None:
        return trace.paraphrase
    return wording_of(question, trace.query) if trace.query else 0


def _trace_problem(trace: RetrievalTrace, job: Job) -> Trouble | None:
    if not trace.name:
        return Trouble("RW-T01", "qid", NAMELESS)
    count = len(trace.topk) if trace.topk is not None else len(trace.retrieved_ids or [])
    distances = trace.distances
    if distances is not None and len(distances) != count:
        return Trouble("RW-T04", "ΔS", f"expected {count} numbers, one for each result, got {len(distances)}")
    for field, name, offsets in _ranges(trace):
        begin, end = offsets
        if begin < 0 or begin > end or (begin == end and begin):
            return Trouble("RW-T03", field, f"expected begin < end, got [{begin}, {end}]")
        earlier = job.rules.moves is not None and job.rules.moves.is_earlier(trace.index_hash)
        other = None not in (job.index_hash, trace.index_hash) and job.index_hash != trace.index_hash
        length = None if earlier or other else (job.limits or {}).get(job.rules.place(name).doc or "")
        if length is not None and end > length:
            return Trouble("RW-T03", field, f"expected at most {length}, the length of the text, got {end}")
    return None


def _ranges(trace: RetrievalTrace) -> Iterator[tuple[str, str, tuple[int, int]]]:
    for nth, one in enumerate(trace.topk or []):
        if one.offsets is not None:
            yield f"topk[{nth}].offsets", one.id, one.offsets
    listed: list[tuple[str, list[Citation | str] | None]] = [("answer_citations", trace.answer_citations)]
    for field, answer in (("answer", trace.answer), ("answer_json", trace.answer_json)):
        if answer is not None and not isinstance(answer, str):
            listed.append((f"{field}.citations", answer.citations))
    for field, citations in listed:
        for nth, citation in enumerate(citations or []):
            if not isinstance(citation, str) and citation.offsets is not None:
                yield f"{field}[{nth}].offsets", citation.id, citation.offsets


def _arm(wanted: Iterable[Wanted], notes: Gathered) -> Arm:
    # Without an answer in any trace the file is of a retriever alone; with one, a trace without is an empty answer.
    answers = any(one.facts.answers for runs in notes.runs.values() for one in runs.values())
    asked = []
    otherwise = 0
    for one in wanted:
        runs = numbered(one, notes.runs.get(one.qid, {}))
        facts = {key: _answering(reading.facts, answers) for key, reading in runs.items()}
        question = Question.of(facts, missing(one, answers=answers))
        asked.append(Asked(one, runs, question))
        otherwise += question.counted and _says_otherwise(runs, question)
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
        models=sorted(notes.models),
        cited_by_rank=sum(one.facts.by_rank for runs in notes.runs.values() for one in runs.values()),
        declared_otherwise=otherwise,
        type_mismatches=sorted(notes.types),
        unknown_ids=sorted(notes.unknown),
        errored=sum(one.facts.errored for runs in notes.runs.values() for one in runs.values()),
    )


def _says_otherwise(runs: Mapping[RunKey, Reading], question: Question) -> bool:
    """Whether a run declares a mark that is neither its own nor that of its question."""
    whole = mark(question.seen)
    for key, own in zip(sorted(runs), run_marks(question.seen), strict=True):
        if declared(runs[key].state) not in (None, own, whole):
            return True
    return False


def _answering(facts: Facts, answers: bool) -> Facts:
    return facts if facts.answers == answers else facts._replace(answers=answers)


# cases


def case_of(one: Asked, depth: int = DEPTH, *, whole: bool = True, known: Container[str] | None = None) -> Case:
    """A question as the worst of its runs shows it; its type is that of its first relevant block."""
    facts = worst(one, depth)
    what, held = label(facts, depth), _is_held(one.wanted, known) if whole else None
    cause, stage, why = blame(facts, depth, held=held)
    types = tuple(f"type={kind}" for kind in one.wanted.types[:1] if kind)
    off = sum(label(run, depth) not in HARMLESS for run in one.question.facts)
    fate = Fate.ERRORED if one.question.errored else Fate.SCORED
    return Case(
        qid=one.wanted.qid,
        facts=one.question,
        fate=fate if one.question.runs else Fate.MISSING,
        label=what,
        stage=stage,
        why=why,
        slices=tuple(map(Slice, (*types, *one.wanted.slices))),
        rank=(SEVERITY[what], -off),
        own=one,
        cause=cause,
        steps=steps_of(facts, depth, held=held),
    )


def _is_held(wanted: Wanted, known: Container[str] | None) -> bool | None:
    """Whether the index has anything of what is relevant: what redirects or evidence lead to, and ids it knows."""
    if not wanted.blocks:
        return None
    if not any(wanted.blocks):
        return False
    return None if known is None else any(name in known for block in wanted.blocks for name in block)


def worst(one: Asked, depth: int = DEPTH) -> Facts:
    """The run of a question that went worst."""
    return min(one.question.facts, key=lambda facts: SEVERITY[label(facts, depth)])


def established(one: Asked, depth: int = DEPTH) -> dict[str, bool]:
    """What is known of a question: what holds of the worst of its runs."""
    facts = worst(one, depth)
    return {
        "answerable": one.wanted.answerable,
        "answered": facts.answered,
        "missing": not one.question.runs,
        "covered": facts.covered,
        "accurate": bool(facts.accurate),
        "hit": found_in(facts, depth),
    }


def offender_of(case: Case, depth: int = DEPTH) -> Offender:
    """A question with the run that went worst."""
    one: Asked = case.own
    facts = worst(one, depth)
    key = next((key for key, run in sorted(one.question.runs.items()) if run == facts), None)
    reading = one.runs[key] if key is not None else None
    runs = len(one.question.runs)
    alike = sum(label(run, depth) == case.label for run in one.question.facts)
    return Offender(
        qid=case.qid,
        label=case.label,
        stage=case.stage,
        cause=case.cause,
        why=case.why if runs < 2 else f"{case.why} (in {alike} of {runs} runs)",
        question=reading.query if reading else next(iter(one.wanted.wordings), None),
        claim=None,
        citations=list(facts.cited),
        retrieved_ids=list(reading.names[:MOST_IDS]) if reading else [],
        gold_citations=_gold_ids(one),
        own={"lambda": one.marked, "delta_s": None if facts.delta_s is None else float(facts.delta_s)},
    )


def _gold_ids(one: Asked) -> list[str]:
    """The relevant ids as they are now; one whose text is gone, and a document, as the gold set has it."""
    wanted = one.wanted
    blocks = [(name, wanted.blocks[number], number in wanted.named) for name, number in wanted.names.items()]
    now = [
        one
        for name, block, whole in blocks
        for one in ([name] if whole and block else sorted(block) or [f"{name} (gone)"])
    ]
    return list(dict.fromkeys(now))


def counts_of(arm: Arm) -> dict[str, int]:
    """How many questions and runs there were, and what became of them."""
    return {
        "gold": len(arm.asked),
        "runs": arm.runs,
        "answered": sum(any(facts.answered for facts in one.question.facts) for one in arm.asked),
        "missing": sum(not one.question.runs for one in arm.asked),
        "errored": arm.errored,
        "errored_questions": sum(one.question.errored for one in arm.asked),
        "answerable": sum(one.wanted.answerable for one in arm.asked),
        "unanswerable": sum(not one.wanted.answerable for one in arm.asked),
        "incomplete": incomplete(arm),
        "cross_doc": sum(any(facts.cross_doc for facts in one.question.facts) for one in arm.asked),
        "duplicate_traces": arm.replaced,
        "orphan_traces": arm.orphans,
    }


def incomplete(arm: Arm) -> int:
    """How many questions were not asked in three wordings under two seeds."""
    return sum(one.question.asked and not one.question.counted for one in arm.asked)
