"""The latency suite: runs by configuration and load, the frontier, and the one configuration that is judged."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from ragworthy import gates as g
from ragworthy.errors import DataError, PolicyError, Problem, data_error, policy_error
from ragworthy.files import sha256_of, shown_path
from ragworthy.index.blocks import Corpus, load_corpus
from ragworthy.load.extras import Earlier, Lock, load_lock, load_report
from ragworthy.load.gold import read_gold
from ragworthy.load.sources import FileSource, Source, open_source
from ragworthy.metrics.cost import Prices
from ragworthy.metrics.facts import answers as f
from ragworthy.metrics.latency import Timed, load_name
from ragworthy.metrics.registry import MetricName, all_metrics, find
from ragworthy.names import DEFAULT_K
from ragworthy.report.part import Part
from ragworthy.suites import common as evidence
from ragworthy.suites.fold import is_good
from ragworthy.suites.latency import choice, describe
from ragworthy.suites.latency import sweep as engine
from ragworthy.suites.latency.prices import load_prices
from ragworthy.suites.latency.read import Runs, read_runs
from ragworthy.suites.latency.rules import ALWAYS
from ragworthy.suites.latency.swept import Measurement, Swept
from ragworthy.suites.request import Progress, Request
from ragworthy.text import fold

ACCURACY = ("precision", "chr", "under_refusal", "over_refusal", "containment")
"""What is always told about the answers."""
MOST_SLICES = 200
RESERVED = ("load", "length")
"""Slices that are not fields of the gold set."""
Values = dict[tuple[str | None, str], g.Value]


class Inputs(NamedTuple):
    """Everything that is read, opened."""

    gold: Source
    runs: Source
    corpus: Corpus | None
    prices: Prices | None
    lock: Lock | None
    lock_path: Path | None
    earlier: Earlier | None

    def check_unchanged(self) -> None:
        """Raise when a file changed while it was being read."""
        for source in (self.gold, self.runs, self.corpus.source if self.corpus is not None else None):
            if isinstance(source, FileSource):
                source.check_unchanged()


def score(request: Request, progress: Progress | None = None) -> Part:
    """Score the latency suite."""
    request = request._replace(gates=_gates(request))
    inputs = _open(request)
    job = _job(request, inputs)
    runs = read_runs(inputs.runs, request.damage)
    found = engine.sweep(job, runs.timed)
    _check(found, inputs.runs, runs.timed)
    inputs.check_unchanged()
    if progress is not None:
        progress(inputs.runs.size, inputs.runs.size)

    names = _names(request)
    by_cell = {cell: engine.values(job, group.samples, names) for cell, group in found.groups.items()}
    lacking = {cell: _lacking(job, group) for cell, group in found.groups.items()}
    chosen = choice.choose(request, found.groups, by_cell, {config for (config, _), gaps in lacking.items() if gaps})
    loads = [load for config, load in found.groups if config == chosen.choice.config]
    values = _summarise(job, found, chosen.choice.config, loads, by_cell, names, request.gates)

    gold_sha256 = inputs.gold.sha256()
    settings = _settings(request)
    earlier = evidence.baseline(inputs.earlier, gold_sha256, settings)
    baseline = choice.same_load(earlier, loads)
    asked = choice.guarded(chosen.gates) if baseline is not None else chosen.gates
    gates = choice.at_every_load(asked, loads, baseline)
    waivers = choice.waivers_at_every_load(request.waivers, gates)
    each = _each(request, job, found, chosen.choice.config)
    judged = g.judge(gates, values, baseline=baseline, waivers=waivers, each=each)
    judged = choice.nothing_correct_fails(judged, waivers)

    measured = _measured(found, by_cell, chosen)
    last = found.groups[chosen.choice.config, loads[-1]]
    swept = Swept(
        gold=[question.gold for question in job.questions],
        measured=measured,
        judged_at=next(one for one in measured if (one.config, one.load) == (last.config, last.load)),
        choice=chosen.choice,
        names=names,
        values=values,
        rows=[engine.values(job, samples, names, 1) for samples in engine.by_question(job, last)],
        judged=judged,
        inputs=_listed(request, inputs, job, runs),
        settings=settings,
        selection=_selection(request),
        frozen=evidence.frozen(request, inputs.lock, gold_sha256),
        baseline_verdict=inputs.earlier.verdict if inputs.earlier else None,
        counts=_counts(job, runs, found),
        missing=_missing(job, [lacking[chosen.choice.config, load] for load in loads]),
        errors={load_name(load): _errors(found.groups[chosen.choice.config, load]) for load in loads},
        uneven=_uneven(job, found),
        prices=inputs.prices,
        most_offenders=request.most_offenders,
    )
    return describe.part(
        swept,
        provenance=evidence.provenance(request, inputs.lock, inputs.lock_path, inputs.earlier),
        evidence={"rows_sha256": evidence.rows_hash(describe.rows(swept))},
    )


# load


def _open(request: Request) -> Inputs:
    lock_path = evidence.lock_of(request)
    return Inputs(
        gold=open_source("gold", request.get("gold")),
        runs=open_source("trace", request.get("runs")),
        corpus=load_corpus(request.get("corpus")) if request.get("corpus") is not None else None,
        prices=load_prices(Path(request.get("prices"))) if request.get("prices") is not None else None,
        lock=load_lock(lock_path) if lock_path is not None else None,
        lock_path=lock_path,
        earlier=load_report(request.baseline, "latency") if request.baseline is not None else None,
    )


def _job(request: Request, inputs: Inputs) -> engine.Job:
    settings = request.settings
    corpus = inputs.corpus
    rules = f.Rules(
        ks=evidence.depths(request) or (DEFAULT_K,),
        refusals=settings.refusals,
        short_words=settings.short_substr == "word",
        scu=settings.scu,
        chunks=None if corpus is None else {name: fold(text) for name, text in corpus.texts.items()},
    )
    items = read_gold(inputs.gold, rules, allow_errors=request.allow_gold_errors)
    fields = [name for name in evidence.slice_fields(request) if name not in RESERVED]
    return engine.Job(
        questions=[engine.question_of(item.record, item.value, fields, rules) for item in items],
        rules=rules,
        prices=inputs.prices,
        tokens=None if corpus is None else {name: place.tokens or 0 for name, place in corpus.places.items()},
        reference=settings.profile == "reference",
    )


def _check(found: engine.Sweep, source: Source, runs: Sequence[Timed]) -> None:
    """Stop at runs that nothing can be said about, and where there is nothing to measure."""
    problems = [
        Problem("RW-T11", f'expected a qid of the gold set, got "{one.run.name}"', f"{source.given}:{one.line}", "qid")
        for one in found.strangers
    ]
    message = "expected a string, got an object or a list"
    problems += [
        Problem("RW-T02", message, f"{source.given}:{one.line}", "answer_json.citations") for one in found.nested
    ]
    if problems:
        raise DataError(problems)
    if not found.groups:
        got = "only warm-ups" if runs else "none"
        raise data_error("RW-F04", f"expected measured runs, got {got}", where=source.given)


# summarise


def _gates(request: Request) -> tuple[g.Gate, ...]:
    """The gates asked for, and always one on errors: a pipeline that fails at once must not win by its speed."""
    (always,) = ALWAYS
    there = any((one.metric, one.op, one.slice) == (always.metric, always.op, None) for one in request.gates)
    if request.gates and all(gate.evidence == "interval" for gate in request.gates):
        always = always._replace(evidence="interval")
    return request.gates if there else (*request.gates, always)


def _names(request: Request) -> list[MetricName]:
    """The metrics of the suite, and of those it borrows the usual ones and those that gates ask for."""
    own = [MetricName(metric, None) for metric in all_metrics("latency").values()]
    borrowed = [f"answers.{name}" for name in ACCURACY] + [gate.metric for gate in request.gates]
    found = {
        name.id: name
        for text in borrowed
        if text.startswith("answers.") and (name := find(text, default_k=DEFAULT_K)) is not None
    }
    return [*own, *found.values()]


def _summarise(
    job: engine.Job,
    found: engine.Sweep,
    config: str,
    loads: Sequence[Fraction | None],
    by_cell: dict[engine.Cell, dict[str, g.Value]],
    names: Sequence[MetricName],
    gates: Sequence[g.Gate],
) -> Values:
    """The values of the judged configuration: at its highest load, at each load, and for each kind of question.

    Kinds of questions that gates name are there once more for each load.
    """
    highest = loads[-1]
    values: Values = {(None, name): value for name, value in by_cell[config, highest].items()}
    for load in loads if highest is not None else ():
        values |= {(f"load={load_name(load)}", name): value for name, value in by_cell[config, load].items()}
    gated = {gate.slice for gate in gates if gate.slice}
    for load in loads if len(loads) > 1 else ():
        for group, samples in engine.slices(job, found.groups[config, load].samples).items():
            if group in gated:
                here = choice.at_load(group, load)
                values |= {(here, name): value for name, value in engine.values(job, samples, names).items()}
    split = engine.slices(job, found.groups[config, highest].samples)
    if len(split) > MOST_SLICES:
        message = f"expected at most {MOST_SLICES} slices, got {len(split)}: slice by a field with fewer values"
        raise policy_error("RW-P03", message, field="latency.slices")
    for group, samples in split.items():
        values |= {(group, name): value for name, value in engine.values(job, samples, names).items()}
    return values


def _measured(
    found: engine.Sweep, by_cell: dict[engine.Cell, dict[str, g.Value]], chosen: choice.Chosen
) -> list[Measurement]:
    measured = [
        Measurement(
            config=group.config,
            load=group.load,
            knobs=next((one.timed.knobs for one in group.samples if one.timed.knobs), {}),
            samples=group.samples,
            errors=group.errors,
            warmups=group.warmups,
            held=group.held,
            values=by_cell[cell],
            stages=engine.stages(group.samples),
            frontier=cell in chosen.frontier,
            failing=chosen.failing[cell],
        )
        for cell, group in found.groups.items()
    ]
    return sorted(measured, key=lambda one: (one.load is not None, one.load or 0, one.values["latency.p95"].exact or 0))


def _errors(group: engine.Group) -> tuple[int, int]:
    """How many runs of a configuration under one load ended in an error, of how many."""
    return group.errors, len(group.samples)


# judge


def _each(request: Request, job: engine.Job, found: engine.Sweep, config: str) -> dict[tuple[str, str], bool | None]:
    """What each must_pass question says: whether every run of it is as it should be."""
    place = {question.qid: nth for nth, question in enumerate(job.questions)}
    samples = [one for group in found.groups.values() if group.config == config for one in group.samples]
    said: dict[tuple[str, str], bool | None] = {}
    for gate in request.gates:
        name = find(gate.metric, default_k=DEFAULT_K) if gate.must_pass else None
        for qid in gate.must_pass if name is not None else ():
            if qid not in place:
                message = f'expected a qid of the gold set, got "{qid}"'
                raise PolicyError([Problem("RW-P09", message, field=f"{gate.metric}: must_pass")])
            if name is None or not gate.metric.startswith("answers."):
                raise policy_error(
                    "RW-P03", "expected min, max, max_drop or max_worse", field=f"{gate.metric}: must_pass"
                )
            own = [one.facts for one in samples if one.question == place[qid] and one.facts is not None]
            words = [name.metric.of(facts) if name.k is None else name.metric.of(facts, k=name.k) for facts in own]
            good = bool(words) and all(word is not None and is_good(name.metric, word) for word in words)
            said[gate.metric, qid] = good == (name.metric.better == "higher")
    return said


# what goes into the report besides numbers


def _settings(request: Request) -> dict[str, Any]:
    settings = request.settings
    return {
        "profile": settings.profile,
        "refusals": list(settings.refusals),
        "short_substr": settings.short_substr,
        "scu": settings.scu,
        "slices": list(settings.slices),
        "allow_gold_errors": request.allow_gold_errors,
    }


def _selection(request: Request) -> dict[str, Any]:
    settings = request.settings
    return {
        "configuration": settings.configuration,
        "use": settings.use,
        "frontier": "strict" if settings.profile == "reference" else settings.frontier,
        "batch_p95": settings.batch_p95,
    }


def _listed(request: Request, inputs: Inputs, job: engine.Job, runs: Runs) -> list[dict[str, Any]]:
    counted = [(inputs.gold, len(job.questions)), (inputs.runs, runs.records)]
    listed = [
        {"role": source.role, "path": source.label, "sha256": source.sha256(), "records": count}
        for source, count in counted
    ]
    if (corpus := inputs.corpus) is not None:
        listed.append({"role": "corpus", "path": corpus.label, "sha256": corpus.sha256, "records": len(corpus.texts)})
    if inputs.prices is not None:
        path = Path(request.get("prices"))
        prices = {"path": shown_path(path), "sha256": sha256_of(path), "records": len(inputs.prices.prices)}
        listed.append({"role": "prices"} | prices)
    return listed


def _counts(job: engine.Job, runs: Runs, found: engine.Sweep) -> dict[str, int]:
    """How many there are of everything, over all configurations and loads."""
    groups = found.groups.values()
    answerable = sum(question.gold.answerable for question in job.questions)
    return {
        "gold": len(job.questions),
        "answerable": answerable,
        "unanswerable": len(job.questions) - answerable,
        "runs": runs.records,
        "measured": sum(len(group.samples) for group in groups),
        "warmup": sum(timed.run.warmup for timed in runs.timed),
        "errored": sum(group.errors for group in groups),
        "duplicate_runs": runs.repeated,
        "repeated_headers": runs.headers,
        "configurations": len({group.config for group in groups}),
        "loads": len({group.load for group in groups}),
        "without_load": sum(len(group.samples) for group in groups if group.load is None),
    }


def _lacking(job: engine.Job, group: engine.Group) -> set[int]:
    """The questions that a configuration was never asked under a load."""
    return set(range(len(job.questions))) - {one.question for one in group.samples}


def _missing(job: engine.Job, lacking: Sequence[set[int]]) -> list[str]:
    """The questions that the judged configuration was not asked under each of its loads."""
    gaps = set[int]().union(*lacking)
    return [question.qid for nth, question in enumerate(job.questions) if nth in gaps]


def _uneven(job: engine.Job, found: engine.Sweep) -> list[str]:
    def cell(config: str, load: Fraction | None) -> str:
        return config if load is None else f"{config} at {load_name(load)}/s"

    return [
        f"{job.questions[nth].qid} met {cell(*most)} {_often(often)} and {cell(*least)} {_often(seldom)}"
        for nth, most, often, least, seldom in engine.uneven(found.groups)
    ]


def _often(count: int) -> str:
    return ("never", "once")[count] if count < 2 else f"{count} times"
