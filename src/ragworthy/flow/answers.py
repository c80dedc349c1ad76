"""Read this first: load → measure → summarise → judge → report, for one suite and for a whole policy."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from ragworthy import gates as g
from ragworthy.engine.job import Damage, Job, Reader
from ragworthy.engine.measure import measure, processes
from ragworthy.errors import (
    PolicyError,
    Problem,
    policy_error,
)
from ragworthy.files import sha256_of, shown_path
from ragworthy.load.decode import Decoder, record_offsets
from ragworthy.load.extras import (
    Pack,
    as_baseline,
    load_chunks,
    load_lock,
    load_pack,
    load_report,
)
from ragworthy.load.extras import lock_path as default_lock
from ragworthy.load.inputs import Inputs, lines, repeated_questions, stop_on_flaws
from ragworthy.load.policy import Answers, Policy, load_policy, resolve
from ragworthy.load.rules import MISSING_GATE, MOST_KS, SCU_GATE
from ragworthy.load.sources import Source, open_source
from ragworthy.metrics import facts as f
from ragworthy.metrics.registry import Metric, MetricName, all_metrics, find
from ragworthy.names import Verdict
from ragworthy.records import Gold, Measured, Tally, Trace
from ragworthy.report import model
from ragworthy.report.findings import Findings, Frozen
from ragworthy.report.rows import rows as report_rows
from ragworthy.stats import wilson

MOST_SLICES = 200
SCU_METRICS = frozenset({"answers.scu", "answers.scu_violations"})


class Request(NamedTuple):
    """One suite to score: what, against what, by which rules."""

    gold: Any
    traces: Any
    settings: Answers
    gates: tuple[g.Gate, ...]
    corpus: Any = None
    waivers: tuple[g.Waiver, ...] = ()
    baseline: Path | None = None
    baseline_override: bool = False
    lock: Path | None = None
    packs: Mapping[str, Path] = MappingProxyType({})
    """Where rule packs stand, when it is not the policy's folder."""
    signers: tuple[str, ...] = ()
    policy: Path | None = None
    unfrozen: bool = False
    allow_gold_errors: bool = False
    jobs: int | None = None
    keep_rows: bool = False
    most_offenders: int = 10
    damage: Damage | None = None

    def with_baseline(self, path: Path) -> "Request":
        """The same with another baseline than the policy's."""
        return self._replace(baseline=path, baseline_override=True)


class Run(NamedTuple):
    """What came out: the report, and the facts it was made from."""

    report: dict[str, Any]
    measured: Measured
    judged: list[g.Judged]
    ks: tuple[int, ...]
    names: list[MetricName]

    @property
    def verdict(self) -> Verdict:
        """The one verdict."""
        return Verdict(self.report["verdict"])

    def rows(self) -> Iterator[dict[str, Any]]:
        """Every question's row, in gold order."""
        return report_rows(self.measured.qids, self.measured.flags, self.ks, self.names)


Progress = Callable[[int, int], None]


def gate(path: Path, *, today: date | None, **options: Any) -> Run:
    """Run every suite of a policy file."""
    return score(from_policy(load_policy(path, today=today), **options))


def from_policy(policy: Policy, **options: Any) -> Request:
    """What a policy asks for."""
    settings = policy.answers
    if settings is None:
        raise policy_error("RW-P12", "expected a section for a suite, got none", where=str(policy.path))
    return Request(
        gold=resolve(policy, settings.gold),
        traces=resolve(policy, settings.traces),
        corpus=resolve(policy, settings.corpus) if settings.corpus else None,
        settings=settings,
        gates=policy.gates,
        waivers=policy.waivers,
        baseline=resolve(policy, policy.baseline) if policy.baseline else None,
        lock=resolve(policy, settings.lock) if settings.lock else None,
        signers=policy.signers,
        policy=policy.path,
    )._replace(**options)


def score(request: Request, progress: Progress | None = None) -> Run:
    """Score the answers suite: the whole flow on one page."""
    inputs = _open(request)
    job = _job(request, inputs)
    hashes: dict[str, str] = {}
    total = inputs.gold.size + inputs.traces.size
    told = _told(progress, inputs.traces.size)
    job = job._replace(parts=processes(request.jobs, total, inputs.gold.splits and inputs.traces.splits))
    measured = measure(job, told, partial(_hash_all, inputs, hashes))
    stop_on_flaws(measured, inputs)
    inputs.check_unchanged()

    names = _names(request, job.rules.ks)
    values = summarise(measured.tally, names, job.rules.ks)
    judged = g.judge(
        _gates(request),
        values,
        baseline=_baseline(request, inputs, hashes, job.rules),
        waivers=request.waivers,
        each=_each(request, measured, job.rules.ks),
    )
    frozen = _frozen(request, inputs, hashes)
    report = model.build(
        Findings(
            measured=measured,
            ks=job.rules.ks,
            names=names,
            values=values,
            judged=judged,
            inputs=[
                {"role": source.role, "path": source.label, "sha256": hashes[source.role], "records": count}
                for source, count in inputs.counted(measured)
            ],
            settings=_settings(request, job.rules, inputs.packs),
            frozen=frozen,
            provenance=_provenance(request, inputs),
            lines=partial(lines, inputs),
            baseline_verdict=inputs.earlier.verdict if inputs.earlier else None,
            repeated_questions=repeated_questions(inputs.gold),
        )
    )
    return Run(report, measured, judged, job.rules.ks, names)


# load


def lock_of(request: Request) -> Path | None:
    """The lock file of the gold set: the one named, else the one beside it when there is one."""
    if request.lock is None and isinstance(request.gold, (str, Path)):
        beside = default_lock(Path(request.gold))
        return beside if beside.exists() else None
    return request.lock


def pack_path(request: Request, name: str) -> Path:
    """Where a rule pack stands: beside the policy, unless the request says otherwise."""
    return request.packs.get(name) or (request.policy.parent if request.policy else Path()) / name


def _open(request: Request) -> Inputs:
    gold, traces = open_source("gold", request.gold), open_source("trace", request.traces)
    corpus = open_source("corpus", request.corpus) if request.corpus is not None else None
    lock_path = lock_of(request)
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


def reader(source: Source, kind: type) -> Reader:
    """How the engine reads a source."""
    return Reader(source.blocks, source.block_at, partial(Decoder, kind), partial(record_offsets, kind))


def _job(request: Request, inputs: Inputs) -> Job:
    settings = request.settings
    depths = [name.k for gate in request.gates if (name := find(gate.metric, default_k=1)) and name.k]
    ks = tuple(dict.fromkeys((*settings.ks, *depths)))
    if len(ks) > MOST_KS:
        raise policy_error("RW-P03", f"expected at most {MOST_KS} different k, got {len(ks)}", field="k")
    rules = f.Rules(
        ks=ks,
        refusals=settings.refusals,
        short_words=settings.short_substr == "word",
        scu=_uses_scu(request),
        contradictions=tuple(rule for pack in inputs.packs for rule in pack.rules),
        chunks=inputs.chunks,
    )
    sliced = [gate.slice.partition("=")[0] for gate in request.gates if gate.slice]
    return Job(
        gold=reader(inputs.gold, Gold),
        traces=reader(inputs.traces, Trace),
        rules=rules,
        allow_gold_errors=request.allow_gold_errors,
        slice_fields=tuple(dict.fromkeys((*settings.slices, *sliced))),
        watch=frozenset(qid for gate in request.gates for qid in gate.must_pass),
        keep_rows=request.keep_rows,
        most_offenders=request.most_offenders,
        damage=request.damage,
    )


def _hash_all(inputs: Inputs, hashes: dict[str, str]) -> None:
    for source in (inputs.gold, inputs.traces, inputs.corpus):
        if source is not None:
            hashes[source.role] = source.sha256()


def _told(progress: Progress | None, total: int) -> Callable[[int], None] | None:
    if progress is None:
        return None
    read = 0

    def told(size: int) -> None:
        nonlocal read
        read += size
        progress(read, total)

    return told


# summarise


def _names(request: Request, ks: tuple[int, ...]) -> list[MetricName]:
    """Every metric of the suite, once for each k where it has one."""
    names = []
    for metric in all_metrics().values():
        if metric.id.startswith("answers."):
            names += [MetricName(metric, k) for k in ks] if metric.at_k else [MetricName(metric, None)]
    return names


def apply(metric: Metric, k: int | None, facts: f.Facts) -> bool | None:
    """A metric's word on one question."""
    return metric.of(facts) if k is None else metric.of(facts, k=k)


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
        return value._replace(den=None)
    if den == 0:
        return value._replace(undefined=metric.undefined)
    return value._replace(interval=wilson(num, den))


# judge


def _uses_scu(request: Request) -> bool:
    return request.settings.scu or any(gate.metric in SCU_METRICS for gate in request.gates)


def _gates(request: Request) -> tuple[g.Gate, ...]:
    """The gates asked for, and those that always hold."""
    gates = request.gates
    if _uses_scu(request) and not any(gate.metric in SCU_METRICS for gate in gates):
        gates += (SCU_GATE,)
    if not any(gate.metric == MISSING_GATE.metric for gate in gates):
        gates += (MISSING_GATE,)
    return gates


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


def _baseline(request: Request, inputs: Inputs, hashes: dict[str, str], rules: f.Rules) -> g.Baseline | None:
    earlier = inputs.earlier
    if earlier is None:
        return None
    gold = next((one.sha256 for one in earlier.suite.inputs if one.role == "gold"), None)
    theirs = earlier.suite.settings
    ours = _settings(request, rules, inputs.packs)
    unlike = None
    if gold != hashes["gold"]:
        unlike = "it was scored on another gold set"
    elif earlier.suite.profile != "default":
        unlike = "it was scored with another profile"
    elif earlier.suite.frozen in ("unfrozen", "broken"):
        unlike = "its gold set was not the frozen one"
    else:
        moved = [key for key in ours if ours[key] != theirs.get(key) and key not in ("slices", "k")]
        if moved:
            unlike = f"it was scored with another setting of {', '.join(moved)}"
    return as_baseline(earlier, unlike)


def _frozen(request: Request, inputs: Inputs, hashes: dict[str, str]) -> Frozen:
    """Whether the gold set is the one that was signed."""
    if inputs.lock is None and not request.signers:
        return Frozen("unlocked", "")
    if inputs.lock is None:
        reason = f"the policy asks for the signature of {', '.join(request.signers)}, but the gold set has no lock"
        return Frozen("unfrozen" if request.unfrozen else "broken", reason)
    missing = [name for name in request.signers if name not in inputs.lock.signers]
    if inputs.lock.sha256 != hashes["gold"]:
        reason = "the gold set is not the frozen one (its SHA-256 differs from the lock)"
    elif missing:
        reason = f"the lock lacks the signature of {', '.join(missing)}"
    else:
        return Frozen("frozen", "")
    return Frozen("unfrozen" if request.unfrozen else "broken", reason)


# what goes into the report besides numbers


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


def _provenance(request: Request, inputs: Inputs) -> dict[str, Any]:
    provenance: dict[str, Any] = {}
    if request.policy is not None:
        provenance["policy"] = {"path": shown_path(request.policy), "sha256": sha256_of(request.policy)}
    if inputs.lock is not None and inputs.lock_path is not None:
        provenance["lock"] = {
            "path": shown_path(inputs.lock_path),
            "sha256": sha256_of(inputs.lock_path),
            "signers": inputs.lock.signers,
        }
    if inputs.earlier is not None:
        provenance["baseline"] = {"path": inputs.earlier.path, "sha256": inputs.earlier.sha256}
    return provenance
