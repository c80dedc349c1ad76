"""The retrieval suite: the same steps as the answers suite, and the comparison with the index in use."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ragworthy import gates as g
from ragworthy.errors import DataError, PolicyError, Problem, data_error
from ragworthy.index.blocks import Corpus, load_corpus, text_hash
from ragworthy.load.extras import Earlier, Lock, load_lock, load_report
from ragworthy.load.sources import FileSource, Source, open_source
from ragworthy.metrics.facts.asked import Arm
from ragworthy.metrics.facts.redirects import Redirects, Table
from ragworthy.metrics.facts.wanted import Moves, Place, Rules, Section
from ragworthy.metrics.registry import MetricName, find
from ragworthy.records import RetrievalGold, RetrievalTrace
from ragworthy.report.part import Part
from ragworthy.report.show import lost_ids
from ragworthy.suites import common as evidence
from ragworthy.suites.fold import is_good
from ragworthy.suites.reading import Flaws
from ragworthy.suites.request import Progress, Request
from ragworthy.suites.retrieval import describe, distances, shadow
from ragworthy.suites.retrieval.compared import Retrieved
from ragworthy.suites.retrieval.read import Job, read_arm, read_gold
from ragworthy.suites.retrieval.rules import ALWAYS
from ragworthy.suites.retrieval.summary import summarise, words_of
from ragworthy.text import trim_fold

SECTIONED = ("retrieval.anchor_hit", "retrieval.anchor_distance", "retrieval.coverage")
"""Metrics that need the section of every block."""


class Inputs(NamedTuple):
    """Everything that is read, opened."""

    gold: Source
    traces: Source
    live: Source | None
    corpus: Corpus | None
    live_corpus: Corpus | None
    lock: Lock | None
    lock_path: Path | None
    earlier: Earlier | None
    rules: Rules
    live_rules: Rules

    @property
    def files(self) -> list[Source]:
        """The sources that are read once."""
        corpora = [one.source for one in (self.corpus, self.live_corpus) if one is not None]
        return [one for one in (self.gold, self.traces, self.live, *corpora) if one is not None]


def score(request: Request, progress: Progress | None = None) -> Part:
    """Score the retrieval suite."""
    if request.get("qrels") is not None:
        from ragworthy.suites.retrieval.ranks import score_files

        return score_files(request)
    inputs = _open(request)
    shadow_arm, live_arm = _read(request, inputs)
    source = distances.choose(request, shadow_arm, inputs.corpus, inputs.lock)
    distances.check_reachable(request, source)
    filled = distances.fill(shadow_arm, source, inputs.corpus)
    live_corpus = inputs.live_corpus or inputs.corpus
    live = distances.fill(live_arm, filled.source, live_corpus) if live_arm is not None else None
    names = evidence.names("retrieval", inputs.rules.ks)
    words = words_of(filled.arm, names)
    values = summarise(filled.arm, names, words)
    cannot(values, names, filled, known_corpus=inputs.corpus is not None)
    settings = _settings(request, inputs, filled.source)
    compared = None
    if live is not None:
        live_words = words_of(live.arm, names)
        live_values = summarise(live.arm, names, live_words)
        cannot(live_values, names, live, known_corpus=live_corpus is not None)
        sides = shadow.Side(live.arm, live_values, live_words), shadow.Side(filled.arm, values, words)
        compared = shadow.compare(*sides, names=names, mode=filled.source.mode, same_ids=_same_ids(inputs))
    gold_sha256 = inputs.gold.sha256()
    earlier = evidence.baseline(inputs.earlier, gold_sha256, settings)
    before = compared.baseline if compared is not None else earlier
    judged = g.judge(
        _gates(request), values, baseline=before, waivers=request.waivers, each=_each(request, filled.arm, words)
    )
    found = Retrieved(
        arm=filled.arm,
        ks=inputs.rules.ks,
        names=names,
        values=values,
        words=words,
        judged=judged,
        inputs=_listed(inputs, filled.arm, live.arm if live else None),
        settings=settings,
        frozen=evidence.frozen(request, inputs.lock, gold_sha256),
        baseline_verdict=inputs.earlier.verdict if inputs.earlier else None,
        delta_s=distances.described(filled, [word for word in words["retrieval.delta_s_mean"] if word is not None]),
        compared=compared,
        invalid=_invalid(request, inputs, filled.arm),
        most_offenders=request.most_offenders,
        known_corpus=inputs.corpus is not None,
    )
    return describe.part(
        found,
        provenance=evidence.provenance(request, inputs.lock, inputs.lock_path, inputs.earlier),
        rows=partial(describe.rows, found),
        evidence={"rows_sha256": evidence.rows_hash(describe.rows(found))},
    )


# load


def _open(request: Request) -> Inputs:
    settings = request.settings
    corpus = load_corpus(request.get("corpus")) if request.get("corpus") is not None else None
    lock_path = evidence.lock_of(request)
    lock = load_lock(lock_path) if lock_path is not None else None
    rules = Rules(
        ks=evidence.depths(request),
        subtree=settings.anchor_scope == "subtree",
        refusals=frozenset(trim_fold(text) for text in settings.refusals),
    )
    live_corpus = load_corpus(request.get("live_corpus")) if request.get("live_corpus") is not None else None
    live_rules = rules._replace(moves=load_moves(request.get("live_redirects", ()), lock))
    moves = load_moves(request.get("redirects", ()), lock)
    rules = rules._replace(moves=moves, place=corpus.place if corpus else rules.place)
    if live_corpus is not None:  # then the gold set is read as the index in use has its ids
        live_rules = live_rules._replace(place=live_corpus.place)
    else:
        live_rules = rules
    return Inputs(
        gold=open_source("gold", request.get("gold")),
        traces=open_source("trace", request.get("traces")),
        live=open_source("live", request.get("live")) if request.get("live") is not None else None,
        corpus=corpus,
        live_corpus=live_corpus,
        lock=lock,
        lock_path=lock_path,
        earlier=load_report(request.baseline, "retrieval") if request.baseline is not None else None,
        rules=rules,
        live_rules=live_rules,
    )


def load_moves(given: Sequence[Path | Table], lock: Lock | None) -> Moves | None:
    """Redirect tables, ready to be followed; None where there are none."""
    if not given:
        return None
    from ragworthy.corpus.migration import read_table

    tables = [one if isinstance(one, Table) else read_table(one) for one in given]
    redirects = Redirects.from_tables(tables)
    newest = [table for table in tables if table.to_version == redirects.versions[-1]]
    return Moves(redirects, frozenset().union(*(table.live for table in newest)), frozen_on(lock))


def frozen_on(lock: Lock | None) -> str | None:
    """The index that a gold set was frozen on, where its lock says so."""
    found = (lock.corpus or {}).get("index_hash") if lock is not None else None
    return found if isinstance(found, str) else None


def _read(request: Request, inputs: Inputs) -> tuple[Arm, Arm | None]:
    """Both arms, or what is wrong with the files."""
    flaws = Flaws()
    job = _job(request, inputs, inputs.rules, inputs.corpus)
    wanted = read_gold(job, flaws)
    arm = read_arm(job, wanted, "trace", evidence.reader(inputs.traces, RetrievalTrace), flaws)
    live = None
    if inputs.live is not None and not flaws.count:
        job = _job(request, inputs, inputs.live_rules, inputs.live_corpus or inputs.corpus)._replace(damage=None)
        if inputs.live_corpus is None:  # bytes of another text: they cannot be held against this one
            job = job._replace(limits=None, known=None)
        live = read_arm(job, read_gold(job, flaws), "live", evidence.reader(inputs.live, RetrievalTrace), flaws)
    if flaws.count:
        by_role = {source.role: source for source in inputs.files}
        raise DataError(list(evidence.problems(flaws, by_role)), flaws.count)
    if not wanted:
        raise data_error("RW-G05", "expected gold records, got none", where=inputs.gold.given)
    for source in inputs.files:
        if isinstance(source, FileSource):
            source.check_unchanged()
    return arm, live


def _same_ids(inputs: Inputs) -> tuple[Callable[[str], str], Callable[[str], str]]:
    """How ids of the live and of the shadow arm are made comparable: both as the newest version has them."""
    if inputs.live_corpus is None:
        return _itself, _itself
    return partial(_newest, inputs.rules.moves), partial(_newest, inputs.live_rules.moves)


def _newest(moves: Moves | None, name: str) -> str:
    now = moves.gold(name) if moves is not None else ()
    return now[0] if now else name


def _itself(name: str) -> str:
    return name


def _job(request: Request, inputs: Inputs, rules: Rules, corpus: Corpus | None) -> Job:
    return Job(
        gold=evidence.reader(inputs.gold, RetrievalGold),
        rules=rules,
        slice_fields=evidence.slice_fields(request),
        tokens=partial(corpus.tokens, subtree=rules.subtree) if corpus else lambda section: 0,
        known=corpus.places if corpus else None,
        index_hash=corpus.index_hash if corpus else None,
        limits=corpus.lengths if corpus else None,
        allow_gold_errors=request.allow_gold_errors,
        damage=request.damage,
    )


# summarise


def cannot(
    values: dict[tuple[str | None, str], g.Value],
    names: list[MetricName],
    filled: distances.Filled,
    *,
    known_corpus: bool,
) -> None:
    """Say of every metric that these files cannot measure why not, instead of giving it a number."""
    arm = filled.arm
    short = sum(one.question.asked and not one.question.counted for one in arm.asked)
    runs = [facts for one in arm.asked for facts in one.question.runs.values() if facts.answerable]
    blind = sum(facts.answered and facts.accurate is None for facts in runs)
    opaque = 0 if known_corpus else sum(facts.anchored and facts.opaque for facts in runs)
    for (group, metric), value in values.items():
        name = next(one for one in names if one.id == metric)
        needs, why = name.metric.needs, None
        if needs in ("answers", "distances", "runs") and not arm.answers:
            why = "the traces carry no answers (answer_citations)"
        elif needs == "distances" and filled.source.missing:
            why = filled.source.missing
        elif needs == "runs" and short:
            why = f"{short} of {len(arm.asked)} questions were not asked in three wordings under two seeds"
        elif name.metric.id in ("retrieval.citation_accuracy", "retrieval.citation_exact") and blind:
            why = f"{blind} citations have no bytes to compare with: give --corpus, or offsets in both files"
        elif group is not None and group.startswith("type=") and value.undefined and not known_corpus:
            why = "the types of blocks are known from a corpus: give --corpus"
        elif name.metric.id in SECTIONED and opaque:
            why = f"{opaque} runs name blocks whose section only a corpus knows: give --corpus"
        if why is not None:
            values[group, metric] = g.Value(0, 0, why, better=value.better, cases=value.cases, event=value.event)


# judge


def _gates(request: Request) -> tuple[g.Gate, ...]:
    (always,) = ALWAYS
    there = any(gate.metric == always.metric for gate in request.gates)
    return request.gates if there else (*request.gates, always)


def _each(request: Request, arm: Arm, words: dict[str, list[Any]]) -> dict[tuple[str, str], bool | None]:
    """What each must_pass question says: whether it has the best value there is."""
    place = {one.wanted.qid: nth for nth, one in enumerate(arm.asked)}
    said: dict[tuple[str, str], bool | None] = {}
    for gate in request.gates:
        name = find(gate.metric, default_k=5) if gate.must_pass else None
        if name is None:
            continue
        for qid in gate.must_pass:
            if qid not in place:
                message = f'expected a qid of the gold set, got "{qid}"'
                raise PolicyError([Problem("RW-P09", message, field=f"{gate.metric}: must_pass")])
            word = words[gate.metric][place[qid]]
            good = None if word is None else is_good(name.metric, word)
            said[gate.metric, qid] = good if good is None or name.metric.better == "higher" else not good
    return said


def _invalid(request: Request, inputs: Inputs, arm: Arm) -> list[str]:
    """Why these files cannot carry a verdict, whatever the numbers say."""
    reasons = []
    if len(arm.hashes) > 1:
        lines = inputs.traces.lines_at(arm.hashes.values())
        named = ", ".join(f'"{name}" (line {lines[place]})' for name, place in sorted(arm.hashes.items()))
        reasons.append(f"the traces come from several indexes: {named} [RW-T05]")
    lost, total = unknown_blocks(arm, inputs.corpus)
    if lost:
        reasons.append(lost_ids(len(lost), total, lost[0]))
    reasons += _other_index(inputs, arm)
    if inputs.corpus is not None:
        reasons += _reused(request, inputs, inputs.corpus) + _lost_anchors(inputs, inputs.corpus, arm)
    return reasons


def _other_index(inputs: Inputs, arm: Arm) -> list[str]:
    """Whether traces, corpus, redirects and gold set belong to different indexes."""
    moves, corpus, frozen = inputs.rules.moves, inputs.corpus, frozen_on(inputs.lock)
    if moves is not None:
        versions = moves.redirects.versions
        named = [("the traces come from", name) for name in sorted(arm.hashes)]
        named += [("the gold set was frozen on", frozen)] if frozen is not None else []
        newest = f"the redirects lead from {versions[0]} to {versions[-1]}"
        return [f"{what} the index {name}, but {newest}" for what, name in named if name not in versions]
    if corpus is not None and corpus.index_hash is not None:
        other = [name for name in sorted(arm.hashes) if name != corpus.index_hash]
        return [f"the traces come from the index {name}, but the corpus is {corpus.index_hash}" for name in other[:1]]
    other = [name for name in sorted(arm.hashes) if name != frozen] if frozen is not None and corpus is None else []
    return [
        f"the gold set was frozen on the index {frozen}, the traces come from {name}: give --corpus or --redirects"
        for name in other[:1]
    ]


def _lost_anchors(inputs: Inputs, corpus: Corpus, arm: Arm) -> list[str]:
    """Anchor sections in which the corpus has no block: nothing could ever hit them."""
    places = {(place.doc, path): place for place in corpus.places.values() for path in (place.section, place.page)}
    asked = [one.wanted for one in arm.asked if one.wanted.anchor is not None and any(one.wanted.blocks)]
    lost = [wanted.qid for wanted in asked if wanted.anchor and not _has_blocks(wanted.anchor, places, inputs.rules)]
    if not lost:
        return []
    return [f"{len(lost)} of {len(asked)} anchor sections are not in this index, e.g. that of {lost[0]} [RW-G13]"]


def _has_blocks(anchor: Section, places: dict[tuple[str | None, str | None], Place], rules: Rules) -> bool:
    if any((doc, anchor.path) in places for doc in anchor.docs):
        return True
    return (not anchor.docs or rules.subtree) and any(anchor.holds(place, rules.subtree) for place in places.values())


def unknown_blocks(arm: Arm, corpus: Corpus | None) -> tuple[list[str], int]:
    """Gold ids that lead to no block of the corpus, or to none at all, and how many gold ids there are."""
    pairs = [(name, one.wanted.blocks[number]) for one in arm.asked for name, number in one.wanted.names.items()]
    lost = [
        name
        for name, block in pairs
        if not block or (corpus is not None and not any(one in corpus.places for one in block))
    ]
    return lost, len(pairs)


def _reused(request: Request, inputs: Inputs, corpus: Corpus) -> list[str]:
    """Gold ids that name another text than when the gold set was frozen, where no redirects lead to it."""
    frozen = (inputs.lock.corpus or {}).get("blocks", {}) if inputs.lock is not None else {}
    if request.get("redirects") or not isinstance(frozen, dict):
        return []
    other = [name for name, known in frozen.items() if name in corpus.texts and text_hash(corpus.texts[name]) != known]
    if not other:
        return []
    return [
        f"{len(other)} of {len(frozen)} gold ids do not have the text they had when the gold set was frozen, "
        f"e.g. {other[0]}: give --redirects [RW-G15]"
    ]


# what goes into the report besides numbers


def _settings(request: Request, inputs: Inputs, source: distances.Source) -> dict[str, Any]:
    settings = request.settings
    return {
        "k": list(inputs.rules.ks),
        "delta_s": source.as_setting,
        "anchor_scope": settings.anchor_scope,
        "refusals": list(settings.refusals),
        "slices": list(settings.slices),
        "redirects": len(request.get("redirects", ())),
        "corpus": inputs.corpus is not None,
    }


def _listed(inputs: Inputs, arm: Arm, live: Arm | None) -> list[dict[str, Any]]:
    counts = [(inputs.gold, len(arm.asked)), (inputs.traces, arm.traces)]
    if inputs.live is not None and live is not None:
        counts.append((inputs.live, live.traces))
    listed = [
        {"role": source.role, "path": source.label, "sha256": source.sha256(), "records": count}
        for source, count in counts
    ]
    for role, corpus in (("corpus", inputs.corpus), ("live_corpus", inputs.live_corpus)):
        if corpus is not None:
            records = len(corpus.places)
            listed.append({"role": role, "path": corpus.label, "sha256": corpus.sha256, "records": records})
    return listed
