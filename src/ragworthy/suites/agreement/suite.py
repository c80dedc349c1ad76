"""The agreement suite: votes from one of five forms of files, then the same steps as the others."""

import hashlib
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragworthy import gates as g
from ragworthy.errors import PolicyError, Problem, policy_error
from ragworthy.index.blocks import Corpus, load_corpus
from ragworthy.load.extras import Earlier, Lock, as_baseline, load_lock, load_report
from ragworthy.load.gold import name_of
from ragworthy.load.sources import Source, as_lines, open_source
from ragworthy.metrics import agreement as a
from ragworthy.metrics.facts import answers as f
from ragworthy.metrics.facts import raters as r
from ragworthy.metrics.facts.arbitration import Voted, voted_of
from ragworthy.metrics.registry import Metric, all_metrics
from ragworthy.names import Outcome
from ragworthy.records import Gold, Pair
from ragworthy.report.part import Frozen, Part
from ragworthy.suites import common as evidence
from ragworthy.suites.agreement import describe
from ragworthy.suites.agreement.advice import Counted, Found
from ragworthy.suites.agreement.validators import validators
from ragworthy.suites.agreement.votes import Votes, read_asked, read_files, read_marks, read_pairs, read_ratings
from ragworthy.suites.fold import value_of
from ragworthy.suites.request import Progress, Request
from ragworthy.suites.slices import values_of

MOST_SLICES = 200
RELEASE_GATE = g.Gate("agreement.raters", g.MIN, str(r.RELEASE_RATERS))
"""What a release asks of operators besides the other gates."""
NO_GOLD = Frozen("none", "")
_KAPPAS = ("agreement.kappa", "agreement.fleiss")


class Asked(NamedTuple):
    """What only votes on traces have: a gold set."""

    gold: Source
    questions: dict[str, Gold]
    slices: dict[str, tuple[str, ...]]
    missing: list[str]
    errored: frozenset[str]
    orphans: list[str]
    unchecked: int
    """How many gold items have constraints that nobody looks at."""
    corpus: Corpus | None
    lock: Lock | None
    lock_path: Path | None


class Loaded(NamedTuple):
    """Everything that was read."""

    votes: Votes
    pairs: list[Voted]
    ballots: list[r.Ballot]
    asked: Asked | None
    earlier: Earlier | None

    @property
    def items(self) -> list[Any]:
        """What the votes are about: pairs of two validators, or ballots of several raters."""
        return [*self.pairs, *self.ballots]


def score(request: Request, progress: Progress | None = None) -> Part:
    """Score the agreement suite."""
    loaded = _load(request)
    if progress is not None:
        progress(1, 1)
    names = names_of(request.settings.form)
    values = _summarise(request, loaded, names)
    settings = _settings(request, loaded)
    judged = g.judge(
        _gates(request),
        values,
        baseline=_baseline(loaded, settings),
        waivers=request.waivers,
        each=_each(request, loaded),
    )
    asked, votes = loaded.asked, loaded.votes
    found = Found(
        form=request.settings.form,
        pairs=loaded.pairs,
        ballots=loaded.ballots,
        marks=list(votes.marks),
        names=names,
        values=values,
        judged=[_decided(one) for one in judged],
        inputs=_listed(loaded),
        settings=settings,
        frozen=evidence.frozen(request, asked.lock, asked.gold.sha256()) if asked is not None else NO_GOLD,
        baseline_verdict=loaded.earlier.verdict if loaded.earlier else None,
        votes=Counted(votes.replaced, votes.renamed, *votes.unpaired),
        questions=asked.questions if asked is not None else {},
        missing=asked.missing if asked is not None else [],
        errored=asked.errored if asked is not None else frozenset(),
        orphans=asked.orphans if asked is not None else [],
        unchecked=asked.unchecked if asked is not None else 0,
        escalations=_escalations(request, loaded, values),
        most_offenders=request.most_offenders,
    )
    lock, lock_path = (asked.lock, asked.lock_path) if asked is not None else (None, None)
    return describe.part(
        found,
        provenance=evidence.provenance(request, lock, lock_path, loaded.earlier),
        evidence={"rows_sha256": evidence.rows_hash(describe.rows(found))},
    )


# load


def _load(request: Request) -> Loaded:
    votes, asked = _votes(request)
    votes.check_unchanged()
    pairs = [voted_of(pair) for pair in votes.pairs]
    earlier = load_report(request.baseline, "agreement") if request.baseline is not None else None
    return Loaded(votes, pairs, r.ballots(votes.ratings), asked, earlier)


def _votes(request: Request) -> tuple[Votes, Asked | None]:
    form, damage = request.settings.form, request.damage
    if form == "traces":
        return _on_traces(request)
    if form == "files":
        scholar, auditor = (open_source(key, request.get(key)) for key in ("scholar", "auditor"))
        return read_files(scholar, auditor, damage), None
    source = open_source(form, request.get(form))
    if form == "raters":
        return read_ratings(source, damage), None
    if form == "operators":
        return read_marks(source, request.settings.fixes, damage), None
    return read_pairs(source, damage), None


def pairs_of(request: Request) -> bytes:
    """The votes of two validators as the lines of a file of pairs."""
    votes, _ = _votes(request)
    records = [msgspec.to_builtins(pair) for pair in votes.pairs]
    return as_lines({key: value for key, value in one.items() if value is not None} for one in records)


def _rules(request: Request, corpus: Corpus | None) -> f.Rules:
    settings = request.settings
    return f.Rules(
        refusals=settings.refusals,
        short_words=settings.short_substr == "word",
        scu=settings.scu,
        chunks=corpus.texts if corpus is not None else None,
    )


def _on_traces(request: Request) -> tuple[Votes, Asked]:
    """The votes of the two validators that come with the program, in gold order."""
    gold, traces = open_source("gold", request.get("gold")), open_source("trace", request.get("traces"))
    corpus = load_corpus(request.get("corpus")) if request.get("corpus") is not None else None
    rules = _rules(request, corpus)
    read = read_asked(gold, traces, rules, allow_gold_errors=request.allow_gold_errors)
    both = validators(rules)
    voted = [both.vote(item.record, read.traces.get(name_of(item.record))) for item in read.items]
    fields = evidence.slice_fields(request)
    golds: list[Gold] = [item.record for item in read.items]
    lock_path = evidence.lock_of(request)
    asked = Asked(
        gold=gold,
        questions={name_of(one): one for one in golds},
        slices={
            name_of(item.record): tuple(
                f"{field}={text}" for field in fields for text in values_of(item.value.get(field))
            )
            for item in read.items
        },
        missing=[qid for one in golds if (qid := name_of(one)) not in read.traces],
        errored=frozenset(qid for qid, trace in read.traces.items() if f.is_error(trace)),
        orphans=read.orphans,
        unchecked=0 if rules.scu else sum(bool(one.constraints) for one in golds),
        corpus=corpus,
        lock=load_lock(lock_path) if lock_path is not None else None,
        lock_path=lock_path,
    )
    inputs = [(gold, len(golds)), (traces, read.records)]
    return Votes(inputs, pairs=_damaged(voted, request.damage), replaced=read.replaced), asked


def _damaged(voted: list[Pair], damage: Any) -> list[Pair]:
    return voted if damage is None else [after for pair in voted if (after := damage(pair)) is not None]


# summarise

Values = dict[tuple[str | None, str], g.Value]


def names_of(form: str) -> tuple[str, ...]:
    """The metrics that votes of this form are measured by."""
    return {"raters": a.SEVERAL, "operators": a.OF_OPERATORS}.get(form, a.TWO)


def _summarise(request: Request, loaded: Loaded, names: tuple[str, ...]) -> Values:
    """Every metric for all items, and for each slice of a gold set."""
    groups: dict[str | None, list[Any]] = {None: loaded.items}
    known = loaded.asked.slices if loaded.asked is not None else {}
    for pair in loaded.pairs:
        for name in known.get(pair.qid, ()):
            groups.setdefault(name, []).append(pair)
    _check_slices(request, groups)
    metrics = all_metrics("agreement")
    return {(group, name): _value(metrics[name], some) for group, some in groups.items() for name in names}


def _check_slices(request: Request, groups: dict[str | None, list[Any]]) -> None:
    """Every field to split by must be one of a gold set that is there, with not too many values."""
    where = str(request.policy or "")
    for field in request.settings.slices:
        if not any(name is not None and name.startswith(f"{field}=") for name in groups):
            message = f'expected a field that gold items have, got "{field}"'
            raise policy_error("RW-P03", message, where=where, field="agreement.slices")
    if len(groups) - 1 > MOST_SLICES:
        message = f"expected at most {MOST_SLICES} slices, got {len(groups) - 1}: slice by a field with fewer values"
        raise policy_error("RW-P03", message, where=where, field="agreement.slices")


def _value(metric: Metric, items: list[Any]) -> g.Value:
    """The value of a metric: folded from its words, or worked out from all items at once."""
    if metric.id not in a.WHOLE:
        return value_of(metric, [metric.of(one) for one in items])
    if metric.kind == "count":
        return value_of(metric, [metric.of(items)])
    number: Fraction | None = metric.of(items)
    cases = len(r.raters_of(items)) if metric.id == "agreement.operator_variance" else len(items)
    base = g.Value(0, 0, better=metric.better, cases=metric.cases, event=metric.event, n=cases, rate=False)
    if number is None:
        return base._replace(counts=False, den=1, undefined=_why_none(metric, items))
    return base._replace(counts=False, num=number.numerator, den=number.denominator)


def _why_none(metric: Metric, items: list[Any]) -> str:
    if not items:
        return "there is no pair" if metric.id == "agreement.kappa" else "there is no vote"
    if metric.id == "agreement.fleiss":
        return str(r.fleiss_kappa(items))
    return metric.undefined


# judge


def _gates(request: Request) -> tuple[g.Gate, ...]:
    settings = request.settings
    there = any(gate.metric == RELEASE_GATE.metric for gate in request.gates)
    wanted = settings.release and settings.form == "operators" and not there
    return (*request.gates, RELEASE_GATE) if wanted else request.gates


def _decided(one: g.Judged) -> g.Judged:
    """Where κ has no value because there is one label only, agreement is complete and decides in its place."""
    without = one.value is not None and one.value.undefined == r.ONE_LABEL
    if not without or one.gate.metric not in _KAPPAS or one.gate.op == g.MAX:
        return one
    return one._replace(outcome=Outcome.PASS, reason="every label is the same: agreement is complete")


def _each(request: Request, loaded: Loaded) -> dict[tuple[str, str], bool | None]:
    """What each must_pass item says: whether there is agreement on it, or an abstention."""
    by_qid: dict[str, Any] = {one.qid: one for one in loaded.items}
    said: dict[tuple[str, str], bool | None] = {}
    for gate in request.gates:
        for qid in gate.must_pass:
            item = by_qid.get(qid)
            if item is None:
                message = f'expected the qid of a vote, got "{qid}"'
                where = str(request.policy or "")
                raise PolicyError([Problem("RW-P09", message, where, f"{gate.metric}: must_pass")])
            if isinstance(item, Voted):
                said[gate.metric, qid] = item.abstained if gate.metric == "agreement.abstain" else item.agreed
            else:
                said[gate.metric, qid] = r.agreeing(item) == 1
    return said


def _baseline(loaded: Loaded, settings: dict[str, Any]) -> g.Baseline | None:
    """The numbers of an earlier run over the same gold set, or over votes on the same items."""
    earlier = loaded.earlier
    if earlier is None:
        return None
    if loaded.asked is not None:
        return evidence.baseline(earlier, loaded.asked.gold.sha256(), settings)
    theirs = earlier.suite.settings
    moved = [key for key in settings if settings[key] != theirs.get(key) and key not in evidence.FREE_SETTINGS]
    unlike = None
    if earlier.verdict == "INVALID":
        unlike = "its own evidence was not valid"
    elif "items_sha256" in moved:
        unlike = "its votes are about other items"
    elif moved:
        unlike = f"it was scored with another setting of {', '.join(moved)}"
    return as_baseline(earlier, unlike)


# what goes into the report besides numbers


def _escalations(request: Request, loaded: Loaded, values: Values) -> list[r.Escalation]:
    if request.settings.form != "operators":
        return []
    agreed = values[None, "agreement.pairwise"].exact
    return r.escalations(loaded.votes.marks, agreed, request.settings.baseline_cost)


def _listed(loaded: Loaded) -> list[dict[str, Any]]:
    listed = [
        {"role": source.role, "path": source.label, "sha256": source.sha256(), "records": count}
        for source, count in loaded.votes.inputs
    ]
    corpus = loaded.asked.corpus if loaded.asked is not None else None
    if corpus is not None:
        listed.append({"role": "corpus", "path": corpus.label, "sha256": corpus.sha256, "records": len(corpus.texts)})
    return listed


def _settings(request: Request, loaded: Loaded) -> dict[str, Any]:
    given = request.settings
    settings: dict[str, Any] = {"form": given.form}
    if given.form == "traces":
        return settings | {
            "refusals": list(given.refusals),
            "short_substr": given.short_substr,
            "scu": given.scu,
            "support": request.get("corpus") is not None,
            "slices": list(given.slices),
            "allow_gold_errors": request.allow_gold_errors,
        }
    if given.form == "operators":
        settings |= {"release": given.release, "baseline_cost": given.baseline_cost, "fixes": list(given.fixes)}
    items = "\n".join(sorted(one.qid for one in loaded.items))
    return settings | {"items_sha256": hashlib.sha256(items.encode()).hexdigest()}
