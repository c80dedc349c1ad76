"""Gold and traces become a tally, by the parallel reader, and what is kept of single questions."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ragworthy.errors import data_error
from ragworthy.load.decode import Decoder, Record
from ragworthy.load.gold import has_ids, name_of, names_evidence
from ragworthy.load.sources import Source
from ragworthy.metrics.facts import answers as f
from ragworthy.records import Gold, Ints, Trace
from ragworthy.rows import MOST
from ragworthy.suites.answers.bound import Bindings, bindings, gold_reader, is_whole
from ragworthy.suites.answers.broken import broken_rows
from ragworthy.suites.answers.fit import Fit, fit_of, met_by
from ragworthy.suites.answers.parallel.job import Job, Measured, Offender, Tally, Told, Watched
from ragworthy.suites.answers.parallel.measure import measure
from ragworthy.suites.answers.parallel.parts import Part, merged, pass_of
from ragworthy.suites.answers.reruns import Copy, Rerun, copies, open_reruns, pooled, rerun_of
from ragworthy.suites.answers.second import Look, clusters_in, look_at
from ragworthy.suites.clusters import Clusters
from ragworthy.suites.crowds import Home, Placed, place_of, placed_by
from ragworthy.suites.fork import processes
from ragworthy.suites.locked import locks_of
from ragworthy.suites.made import told_in, told_reader
from ragworthy.suites.opened import Opened
from ragworthy.suites.parts import Pass
from ragworthy.suites.reading import Flaws, told
from ragworthy.suites.refusing import by_rule_of
from ragworthy.suites.request import Progress, Request
from ragworthy.text import fold

if TYPE_CHECKING:
    from ragworthy.metrics.facts.compared import Compared


class Alike(NamedTuple):
    """What all questions of a case have in common, and how many of them belong to each slice."""

    flags: int
    slices: Mapping[str, int] = MappingProxyType({})
    compared: "Compared | None" = None


class Place(NamedTuple):
    """Where a question that carries a mark stands."""

    qid: str
    where: str
    """File and line."""
    said: str
    """What an errored trace says went wrong, or a claim that reads like a refusal."""


class Repeated(NamedTuple):
    """Two questions with the same text."""

    first: str
    again: str


class Kept(NamedTuple):
    """The tally itself, and what is kept of single questions."""

    ks: tuple[int, ...]
    tally: Tally
    qids: list[str]
    flags: Ints
    """The flags of every question of `qids`; both are empty where nobody asked for rows."""
    compared: "Mapping[int, Compared]"
    """What was found of each question with a reference, by its place in `qids`."""
    watched: Mapping[str, Watched]
    """The questions that must pass, by their id."""
    offenders: list[Offender]
    places: Mapping[int, list[Place]]
    """The first questions that carry each mark, by its bit."""
    orphans: list[str]
    """The first traces that belong to no question."""
    repeated: list[Repeated]
    fit: Fit
    """What a second look over small files shows."""
    rules: Mapping[str, str] = MappingProxyType({})
    """The rule by which each question that no exact text refuses is a refusal."""
    parts: "Mapping[str, Mapping[str, Sequence[str]]]" = MappingProxyType({})
    """What the claim has and lacks of all that a question needs, where rows are asked for."""
    locks: "Mapping[str, Mapping[str, Any]]" = MappingProxyType({})
    """What is locked, echoed and contradicted in questions that break a constraint, where rows are asked for."""
    bindings: Bindings | None = None
    """How evidence was bound, where a corpus is given."""
    unchecked: Sequence[str] = ()
    """Questions with evidence and ids, where no corpus is given to hold one against the other."""
    how: f.Rules = f.Rules()
    """How claims were compared."""
    homes: Sequence[Home] = ()
    """Where the first evidence of every question of `qids` stands; empty where that is not known."""
    slices: Sequence[tuple[str, ...]] = ()
    """The slices of every question of `qids`; empty where nothing is split."""
    clusters: Clusters | None = None
    """Where every question of `qids` belongs; None where there are too many for rows."""
    reruns: Sequence[Rerun] = ()
    """The further runs, where the same questions were asked several times; `flags` are those of the first."""
    others: Sequence[Fit] = ()
    """What a second look shows of these."""
    copies: Sequence[Copy] = ()
    """Files that hold what an earlier run holds: they are not runs."""
    told: Mapping[str, Told] = MappingProxyType({})
    """What the traces of each file say of how they were made, by its role; nothing where parts were read apart."""

    @property
    def runs(self) -> "list[tuple[Ints, Mapping[int, Compared]]]":
        """The flags of every run."""
        return [(self.flags, self.compared), *((one.flags, one.compared) for one in self.reruns)]

    @property
    def whole(self) -> bool:
        """Whether what the corpus does not have is not in the index."""
        return is_whole(self.bindings)


class Corpus(NamedTuple):
    """The chunks that were given: their texts by id, folded for comparison, and how the gold set is bound to them."""

    texts: dict[str, str] | None = None
    bindings: Bindings | None = None
    placed: Placed = place_of

    @property
    def whole(self) -> bool:
        """Whether what it does not have is not in the index."""
        return is_whole(self.bindings)


Runs: TypeAlias = tuple[Measured, Kept, dict[str, int]]
"""What was measured over all runs, what is kept of single questions, and how many traces each file has."""


class How(NamedTuple):
    """How answers are looked at."""

    rules: f.Rules
    fields: tuple[str, ...]
    """What they are split by."""
    corpus: "Corpus"


def how_of(opened: Opened, request: Request, ks: tuple[int, ...], fields: tuple[str, ...]) -> How:
    """How answers are looked at, by the settings and the corpus that is given."""
    settings, corpus, locks = request.settings, corpus_of(opened, request), locks_of(request)
    rules = f.Rules(
        ks=ks,
        refusals=settings.refusals,
        short_words=settings.short_substr == "word",
        scu=locks.scu,
        contradictions=locks.contradictions,
        chunks=corpus.texts,
        by_rule=by_rule_of(settings),
    )
    return How(rules, fields, corpus)


def passes_of(opened: Opened, request: Request, how: How, roles: Sequence[str]) -> list[Pass]:
    """How the traces of each run are read in parts apart."""
    return [pass_of(_job(opened, request, how, role), opened[role], opened.sources) for role in roles]


def _job(opened: Opened, request: Request, how: How, role: str) -> Job:
    gold, traces, rules = opened["gold"], opened[role], how.rules
    return Job(
        gold=gold_reader(gold, how.corpus.bindings),
        traces=told_reader(traces),
        rules=rules,
        parts=processes(request.jobs, gold.size + traces.size, gold.splits and traces.splits),
        allow_gold_errors=request.allow_gold_errors,
        slice_fields=how.fields,
        watch=request.wanted.union(qid for gate in request.gates for qid in gate.must_pass),
        keep_rows=request.keep_rows or rules.by_rule is not None,
        up_to=MOST,
        most_offenders=request.most_offenders,
        damage=request.damage,
        told=told_in,
    )


def measured(
    opened: Opened,
    request: Request,
    how: How,
    tell: Progress | None,
    role: str,
    parts: Sequence[Part] | None,
    meanwhile: Callable[[], None],
) -> Measured:
    """Every question's flags in one run, counted, with something else `meanwhile`; raises what is wrong with files."""
    job, traces = _job(opened, request, how, role), opened[role]
    found = measure(job, told(tell, traces.size), meanwhile) if parts is None else merged(job, parts, meanwhile)
    _stop_on_flaws(found, opened, traces)
    return found


def _stop_on_flaws(found: Measured, opened: Opened, traces: Source) -> None:
    """Raise what is wrong with the files, gold first, each with its line."""
    short = sum(count for (flags, _, _), count in found.tally.items() if flags & f.ONLY_SHORT and flags & f.RESCUABLE)
    advice = f'short_substr = "word" would make {short:,} of these items scorable' if short else ""
    Flaws(found.flaws, found.flaw_count).stop({**opened.sources, "trace": traces}, advice)
    if not found.tally:
        raise data_error("RW-G05", "expected gold records, got none", where=opened["gold"].given)
    if found.traces and not any(flags & f.PRESENT and not flags & f.ERRORED for flags, *_ in found.tally):
        from ragworthy.load.bare import stop_if_bare

        stop_if_bare(traces, "Trace", ("answer_json",), "RW-T14")
    elif found.traces and not any(flags & (f.CLAIM | f.REFUSED) for flags, *_ in found.tally):
        from ragworthy.load.bare import stop_if_claimless

        stop_if_claimless(traces)


def refusing_rules(found: Measured, traces: Source, rules: f.Rules) -> dict[str, str]:
    """The rule by which each question is refused, where no exact text says so; traces are gone through once more."""
    if rules.by_rule is None:
        return {}
    wanted = {qid for qid, flags in zip(found.qids, found.flags, strict=True) if flags & f.BY_RULE}
    told: dict[str, str] = {}
    for trace in _all(traces, Trace) if wanted else ():
        qid = trace.qid or trace.q_id or ""
        if qid in wanted:
            claim = trace.answer_json.claim if trace.answer_json is not None else None
            told[qid] = rules.by_rule.rule(claim or "") or ""
    return told


def _parts(found: Measured, opened: Opened, rules: f.Rules) -> dict[str, dict[str, Sequence[str]]]:
    """Of questions that need several pieces, those that were met and those that are missing; each file once more."""
    wanted = {qid for qid, flags in zip(found.qids, found.flags, strict=True) if flags & f.ALL_OF}
    if not wanted:
        return {}
    from ragworthy.suites.answers.wording import parts_of

    claims: dict[str, str | None] = {}
    for trace in _all(opened["trace"], Trace):
        if (qid := name_of(trace)) in wanted:
            claims[qid] = trace.answer_json.claim if trace.answer_json is not None and trace.error is None else None
    told: dict[str, dict[str, Sequence[str]]] = {}
    for gold in _all(opened["gold"], Gold):
        if (qid := name_of(gold)) in wanted:
            found_of = parts_of(gold, claims.get(qid), rules)
            told[qid] = {"met": list(found_of.met), "missing": list(found_of.missing)}
    return told


def _locks(found: Measured, opened: Opened, rules: f.Rules) -> dict[str, dict[str, Any]]:
    """Constraints that are broken; each file once more, where there are some."""
    flags = dict(zip(found.qids, found.flags, strict=True))
    return broken_rows(flags, _all(opened["gold"], Gold), _all(opened["trace"], Trace), rules)


def _all(source: Source, kind: type[Record]) -> Iterator[Record]:
    decoder = Decoder(kind)
    for block in source.blocks():
        yield from decoder.records(block)


def roles_of(opened: Opened, request: Request) -> list[str]:
    """The roles of all runs, the further ones opened now."""
    return open_reruns(opened, request) if request.get("reruns") else ["trace"]


def read_runs(
    opened: Opened,
    request: Request,
    how: How,
    tell: Progress | None,
    roles: Sequence[str],
    parts: Sequence[Sequence[Part]] | None = None,
) -> Runs:
    """Every run one after another, as one: what was measured, what is kept, and how many traces each file has.

    `parts` are those of each run, where they were read apart.
    """
    rules, corpus = how.rules, how.corpus
    apart = dict(zip(roles, parts or (), strict=False))
    all_rows = request.keep_rows or rules.by_rule is not None
    look = cache(partial(look_at, opened["gold"], corpus.bindings, corpus.placed, all_rows=all_rows))

    def meanwhile() -> None:
        opened.hash_all()
        look()

    first = measured(opened, request, how, tell, "trace", apart.get("trace"), meanwhile)
    own = kept(first, opened, rules, corpus, look(), parts=request.keep_rows)
    own = own._replace(told={} if apart else {"trace": first.told})
    if len(roles) == 1:
        return first, own, {"trace": first.traces}
    again = {role: measured(opened, request, how, None, role, apart.get(role), opened.hash_all) for role in roles[1:]}
    every = {"trace": first, **again}
    own = own._replace(
        copies=copies(opened, every), told={} if apart else {role: one.told for role, one in every.items()}
    )
    counted = {role: one.traces for role, one in every.items()}
    for one in own.copies:
        del again[one.role], every[one.role]
    if not again:
        return first, own, counted
    found = pooled(list(every.values()), list(every), request.most_offenders)
    own = own._replace(
        tally=found.tally,
        offenders=found.offenders,
        places=_places(found, opened),
        orphans=found.orphan_ids,
        reruns=[rerun_of(role, one) for role, one in again.items()],
        others=[fit_of(look().golds, opened[role], rules) for role in again],
    )
    return found, own._replace(fit=met_by(own.fit, own.others)), counted


def kept(found: Measured, opened: Opened, rules: f.Rules, corpus: "Corpus", look: Look, *, parts: bool) -> Kept:
    """What was kept of single questions, with places as people read them; `parts` of claims only where rows are."""
    golds = look.golds
    return Kept(
        ks=rules.ks,
        tally=found.tally,
        qids=found.qids,
        flags=found.flags,
        compared=found.compared,
        watched=found.watched,
        offenders=found.offenders,
        places=_places(found, opened),
        orphans=found.orphan_ids,
        repeated=_repeated(golds),
        fit=fit_of(golds, opened["trace"], rules),
        rules=refusing_rules(found, opened["trace"], rules),
        parts=_parts(found, opened, rules) if parts else {},
        locks=_locks(found, opened, rules) if parts else {},
        unchecked=[name_of(one) for one in golds if rules.chunks is None and names_evidence(one) and has_ids(one)],
        how=rules,
        bindings=corpus.bindings,
        slices=found.slices,
        clusters=clusters_in(found.qids, opened["gold"], look, corpus.bindings, corpus.placed),
        homes=look.homes if len(golds) == len(found.qids) else (),
    )


def _places(found: Measured, opened: Opened) -> dict[int, list[Place]]:
    """The examples of each mark as file:line. Lines are counted from the top, so each file is gone through once."""
    offsets: dict[str, set[int]] = {}
    for examples in found.examples.values():
        for one in examples:
            offsets.setdefault(one.role, set()).add(one.offset)
    lines = {role: opened[role].lines_at(some) for role, some in offsets.items()}
    return {
        mark: [Place(one.qid, opened[one.role].shown(lines[one.role][one.offset]), one.said) for one in examples]
        for mark, examples in found.examples.items()
    }


def texts_of(opened: Opened, *, claims: bool = True) -> dict[str, dict[str, str]]:
    """The question and the claim of every gold item; of several traces the last one counts, of several runs none."""
    texts: dict[str, dict[str, str]] = {}
    for gold in _all(opened["gold"], Gold):
        texts[gold.qid or gold.q_id or ""] = {"question": gold.question or "", "claim": ""}
    for trace in _all(opened["trace"], Trace) if claims else ():
        mine = texts.get(trace.qid or trace.q_id or "")
        if mine is not None:
            mine["claim"] = (trace.answer_json.claim if trace.answer_json is not None else None) or ""
    return texts


def _repeated(golds: Sequence[Gold]) -> list[Repeated]:
    """Questions that are under a second qid ('gold lint' finds them in sets of any size)."""
    if len({one.question for one in golds}) == len(golds):  # as nearly always
        return []
    first: dict[str, str] = {}
    found: list[Repeated] = []
    for gold in golds:
        if gold.question:
            qid = gold.qid or gold.q_id or ""
            earlier = first.setdefault(gold.question, qid)
            if earlier != qid:
                found.append(Repeated(earlier, qid))
    return found


# rules


def corpus_of(opened: Opened, request: Request) -> Corpus:
    """The chunks and what they hold of the gold evidence, where a corpus is given."""
    given = request.get("corpus")
    if given is None:
        return Corpus()
    from ragworthy.index.blocks import chunk_source
    from ragworthy.load.chunks import read_chunks, retrieved_nothing

    chunks = read_chunks(opened.enter(chunk_source(given)), empty=retrieved_nothing(given))
    texts = {chunk.name: fold(chunk.text) for chunk in chunks}
    return Corpus(texts, bindings(opened["gold"], chunks, texts), placed_by(chunks))
