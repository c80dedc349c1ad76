"""The answers suite: the whole flow on one page."""

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

from ragworthy import gates as g
from ragworthy.errors import PolicyError, Problem, policy_error
from ragworthy.load.extras import Pack, load_chunks, load_lock, load_pack, load_report
from ragworthy.load.sources import open_source
from ragworthy.metrics.facts import answers as f
from ragworthy.metrics.registry import Metric, MetricName, find
from ragworthy.records import Gold, Measured, Tally, Trace
from ragworthy.report.part import Part
from ragworthy.report.rows import rows as report_rows
from ragworthy.stats import wilson
from ragworthy.suites import common as evidence
from ragworthy.suites.answers import describe
from ragworthy.suites.answers.findings import Findings
from ragworthy.suites.answers.inputs import Inputs, lines, repeated_questions, stop_on_flaws
from ragworthy.suites.answers.job import Job
from ragworthy.suites.answers.measure import measure
from ragworthy.suites.answers.rules import ALWAYS, SCU_GATE
from ragworthy.suites.fork import processes
from ragworthy.suites.request import Progress, Request

MOST_SLICES = 200
SCU_METRICS = frozenset({"answers.scu", "answers.scu_violations"})


def score(request: Request, progress: Progress | None = None) -> Part:
    """Score the answers suite."""
    inputs = _open(request)
    job = _job(request, inputs)
    hashes: dict[str, str] = {}
    total = inputs.gold.size + inputs.traces.size
    job = job._replace(parts=processes(request.jobs, total, inputs.gold.splits and inputs.traces.splits))
    measured = measure(job, evidence.told(progress, inputs.traces.size), partial(_hash_all, inputs, hashes))
    stop_on_flaws(measured, inputs)
    inputs.check_unchanged()

    ks = job.rules.ks
    names = evidence.names("answers", ks)
    values = summarise(measured.tally, names, ks)
    settings = _settings(request, job.rules, inputs.packs)
    judged = g.judge(
        _gates(request),
        values,
        baseline=evidence.baseline(inputs.earlier, hashes["gold"], settings),
        waivers=request.waivers,
        each=_each(request, measured, ks),
    )
    found = Findings(
        measured=measured,
        ks=ks,
        names=names,
        values=values,
        judged=judged,
        inputs=[
            {"role": source.role, "path": source.label, "sha256": hashes[source.role], "records": count}
            for source, count in inputs.counted(measured)
        ],
        settings=settings,
        frozen=evidence.frozen(request, inputs.lock, hashes["gold"]),
        lines=partial(lines, inputs),
        baseline_verdict=inputs.earlier.verdict if inputs.earlier else None,
        repeated_questions=repeated_questions(inputs.gold),
    )
    return describe.part(
        found,
        provenance=evidence.provenance(request, inputs.lock, inputs.lock_path, inputs.earlier),
        rows=partial(report_rows, measured.qids, measured.flags, ks, names),
    )


# load


def pack_path(request: Request, name: str) -> Path:
    """Where a rule pack stands: beside the policy, unless the request says otherwise."""
    return request.packs.get(name) or (request.policy.parent if request.policy else Path()) / name


def _open(request: Request) -> Inputs:
    from ragworthy.index.blocks import chunk_source

    gold, traces = open_source("gold", request.get("gold")), open_source("trace", request.get("traces"))
    corpus = chunk_source(request.get("corpus")) if request.get("corpus") is not None else None
    lock_path = evidence.lock_of(request)
    return Inputs(
        gold=gold,
        traces=traces,
        corpus=corpus,
        chunks=load_chunks(corpus) if corpus is not None else None,
        packs=tuple(load_pack(name, pack_path(request, name)) for name in request.settings.rule_packs),
        earlier=load_report(request.baseline, "answers") if request.baseline is not None else None,
        lock=load_lock(lock_path) if lock_path is not None else None,
        lock_path=lock_path,
    )


def _job(request: Request, inputs: Inputs) -> Job:
    settings = request.settings
    rules = f.Rules(
        ks=evidence.depths(request),
        refusals=settings.refusals,
        short_words=settings.short_substr == "word",
        scu=_uses_scu(request),
        contradictions=tuple(rule for pack in inputs.packs for rule in pack.rules),
        chunks=inputs.chunks,
    )
    return Job(
        gold=evidence.reader(inputs.gold, Gold),
        traces=evidence.reader(inputs.traces, Trace),
        rules=rules,
        allow_gold_errors=request.allow_gold_errors,
        slice_fields=evidence.slice_fields(request),
        watch=frozenset(qid for gate in request.gates for qid in gate.must_pass),
        keep_rows=request.keep_rows,
        most_offenders=request.most_offenders,
        damage=request.damage,
    )


def _hash_all(inputs: Inputs, hashes: dict[str, str]) -> None:
    for source in (inputs.gold, inputs.traces, inputs.corpus):
        if source is not None:
            hashes[source.role] = source.sha256()


# summarise


def apply(metric: Metric, k: int | None, facts: f.Facts) -> bool | None:
    """A metric's word on one question."""
    word: bool | None = metric.of(facts) if k is None else metric.of(facts, k=k)
    return word


def summarise(tally: Tally, names: list[MetricName], ks: tuple[int, ...]) -> dict[tuple[str | None, str], g.Value]:
    """Numerators and denominators of every metric, for the whole and for each slice."""
    groups: dict[str | None, Counter[f.Facts]] = {None: Counter()}
    for (flags, slices), count in tally.items():
        facts = f.unpack(flags, ks)
        groups[None][facts] += count
        for name in slices:
            groups.setdefault(name, Counter())[facts] += count
    if len(groups) - 1 > MOST_SLICES:
        message = f"expected at most {MOST_SLICES} slices, got {len(groups) - 1}: slice by a field with fewer values"
        raise policy_error("RW-P03", message, field="answers.slices")
    return {(group, name.id): _value(name, counts) for group, counts in groups.items() for name in names}


def _value(name: MetricName, counts: Counter[f.Facts]) -> g.Value:
    metric = name.metric
    num = den = 0
    for facts, count in counts.items():
        word = apply(metric, name.k, facts)
        if word is not None:
            den += count
            num += count * word
    value = g.Value(num, den, better=metric.better, cases=metric.cases, event=metric.event)
    if metric.kind == "count":
        return value._replace(den=None, most=den)
    if den == 0:
        apart = " that did not end in an error" if any(facts.errored for facts in counts) else ""
        return value._replace(undefined=f"{metric.undefined}{apart}")
    return value._replace(interval=wilson(num, den))


# judge


def _uses_scu(request: Request) -> bool:
    return bool(request.settings.scu) or any(gate.metric in SCU_METRICS for gate in request.gates)


def _gates(request: Request) -> tuple[g.Gate, ...]:
    """The gates asked for, and those that always hold."""
    gates = request.gates
    if _uses_scu(request) and not any(gate.metric in SCU_METRICS for gate in gates):
        gates += (SCU_GATE,)
    return gates + tuple(one for one in ALWAYS if not any(gate.metric == one.metric for gate in gates))


def _each(request: Request, measured: Measured, ks: tuple[int, ...]) -> dict[tuple[str, str], bool | None]:
    """What each must_pass question says, metric by metric."""
    words: dict[tuple[str, str], bool | None] = {}
    for gate in request.gates:
        name = find(gate.metric, default_k=ks[0]) if gate.must_pass else None
        for qid in gate.must_pass if name is not None else ():
            if qid not in measured.watched:
                message = f'expected a qid of the gold set, got "{qid}"'
                raise PolicyError([Problem("RW-P09", message, field=f"{gate.metric}: must_pass")])
            words[gate.metric, qid] = apply(name.metric, name.k, f.unpack(measured.watched[qid], ks)) if name else None
    return words


def _settings(request: Request, rules: f.Rules, packs: tuple[Pack, ...]) -> dict[str, Any]:
    return {
        "k": list(rules.ks),
        "refusals": list(rules.refusals),
        "short_substr": "word" if rules.short_words else "reject",
        "scu": rules.scu,
        "rule_packs": [{"id": pack.id, "sha256": pack.sha256} for pack in packs],
        "slices": list(request.settings.slices),
        "allow_gold_errors": request.allow_gold_errors,
        "support": rules.chunks is not None,
    }
