"""The stability suite: the whole flow on one page."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ragworthy import gates as g
from ragworthy.errors import DataError, PolicyError, Problem, policy_error
from ragworthy.load.decode import Item, read_items
from ragworthy.load.extras import Earlier, Lock, load_lock, load_report
from ragworthy.load.gold import name_of, read_gold
from ragworthy.load.sources import FileSource, Source, open_source
from ragworthy.metrics import stability as st
from ragworthy.metrics.facts import answers as f
from ragworthy.metrics.facts.jitters import PLAIN, Variation, run_id, varied
from ragworthy.metrics.registry import Metric, Word, all_metrics
from ragworthy.names import Outcome
from ragworthy.records import Gold, Run
from ragworthy.report.part import Part
from ragworthy.stats import wilson_mean
from ragworthy.suites import common as evidence
from ragworthy.suites.fold import is_good, value_of
from ragworthy.suites.request import Progress, Request
from ragworthy.suites.slices import values_of
from ragworthy.suites.stability import describe
from ragworthy.suites.stability.rules import ALWAYS
from ragworthy.text import fold, squeeze

MOST_SLICES = 200
COMPARING = ("stability.failing_questions", "stability.css", "stability.rcr")
"""Metrics that are at their best with one run of a question, because there is nothing to compare it with."""


class Inputs(NamedTuple):
    """Everything that is read, opened."""

    gold: Source
    runs: Source
    lock: Lock | None
    lock_path: Path | None
    earlier: Earlier | None

    def check_unchanged(self) -> None:
        """Raise when a file changed while it was being read."""
        for source in (self.gold, self.runs):
            if isinstance(source, FileSource):
                source.check_unchanged()


def score(request: Request, progress: Progress | None = None) -> Part:
    """Score the stability suite."""
    inputs = _open(request)
    golds = read_gold(inputs.gold, _rules(request), allow_errors=request.allow_gold_errors)
    runs = _read_runs(request, inputs.runs, {name_of(item.record) for item in golds})
    inputs.check_unchanged()
    if progress is not None:
        progress(inputs.runs.size, inputs.runs.size)

    limits = dict(one.split("=", 1) for one in request.settings.limits)
    asked = _ask([item.record for item in golds], runs, _rules(request), limits)
    metrics = all_metrics("stability")
    words = {name: [metric.of(one.question) for one in asked] for name, metric in metrics.items()}
    values = _summarise(request, golds, asked, metrics, words)
    gold_sha256, settings = inputs.gold.sha256(), _settings(request, limits)
    judged = g.judge(
        _gates(request),
        values,
        baseline=evidence.baseline(inputs.earlier, gold_sha256, settings),
        waivers=request.waivers,
        each=_each(request, asked, metrics, words),
    )
    judged = _undecided(judged, asked, request.waivers)
    found = describe.Steady(
        asked=asked,
        read=len(runs),
        warmups=sum(run.warmup for run in runs),
        words=words,
        values=values,
        judged=judged,
        inputs=[
            {"role": source.role, "path": source.label, "sha256": source.sha256(), "records": count}
            for source, count in ((inputs.gold, len(golds)), (inputs.runs, len(runs)))
        ],
        settings=settings,
        frozen=evidence.frozen(request, inputs.lock, gold_sha256),
        baseline_verdict=inputs.earlier.verdict if inputs.earlier else None,
        gold_flags=list(map(f.gold_flags(_rules(request)), (item.record for item in golds))),
        distinct=_distinct(asked),
        most_offenders=request.most_offenders,
    )
    return describe.part(
        found,
        provenance=evidence.provenance(request, inputs.lock, inputs.lock_path, inputs.earlier),
        evidence={"rows_sha256": evidence.rows_hash(describe.rows(found))},
    )


# load


def _open(request: Request) -> Inputs:
    lock_path = evidence.lock_of(request)
    return Inputs(
        gold=open_source("gold", request.get("gold")),
        runs=open_source("trace", request.get("runs")),
        lock=load_lock(lock_path) if lock_path is not None else None,
        lock_path=lock_path,
        earlier=load_report(request.baseline, "stability") if request.baseline is not None else None,
    )


def _rules(request: Request) -> f.Rules:
    settings = request.settings
    return f.Rules(refusals=settings.refusals, short_words=settings.short_substr == "word")


def _read_runs(request: Request, source: Source, known: set[str]) -> list[Run]:
    """Every run, in the order of the file; raises what is wrong with them, runs of other questions too."""
    items, problems = read_items(source, Run)
    for item in items:
        where, qid = f"{source.given}:{item.line}", item.record.name
        if not qid:
            problems.append(Problem("RW-T01", "expected a non-empty string, got nothing", where, "qid"))
        elif qid not in known:
            problems.append(Problem("RW-T11", f'expected a qid of the gold set, got "{qid}"', where, "qid"))
    if problems:
        raise DataError(problems)
    runs = [item.record for item in items]
    if request.damage is None:
        return runs
    return [damaged for run in runs if (damaged := request.damage(run)) is not None]


# measure


def _ask(golds: Sequence[Gold], runs: Sequence[Run], rules: f.Rules, limits: Mapping[str, str]) -> list[describe.Asked]:
    """Every gold question with its runs: the last one of each id, without warm-ups, those that count apart."""
    by_qid: dict[str, list[Run]] = {}
    for run in runs:
        if not run.warmup:
            by_qid.setdefault(run.name, []).append(run)
    said_of = st.said_by(rules)
    asked = []
    for gold in golds:
        given = by_qid.get(name_of(gold), [])
        last = {run_id(run): run for run in given}
        runs_of = [last[key] for key in sorted(last)]
        pairs = _noops(runs_of)
        unlike = [noop for noop, plain in pairs if not st.repeats(said_of(gold, noop), said_of(gold, plain))]
        noops = [noop for noop, _ in pairs if noop not in unlike]
        counted = [run for run in runs_of if run not in noops]
        said = tuple(said_of(gold, run) for run in counted)
        asked.append(
            describe.Asked(
                qid=name_of(gold),
                gold=gold,
                question=st.judged(st.Question(gold.answerable, bool(gold.constraints), said), limits),
                runs=tuple(counted),
                noops=tuple(noops),
                unlike=len(unlike),
                replaced=len(given) - len(last),
                varied=frozenset(map(varied, last.values())),
            )
        )
    return asked


def _noops(runs: Sequence[Run]) -> list[tuple[Run, Run]]:
    """The runs that asked the very same thing again, each with the run that it repeats.

    Where the question was not asked as it stands, the first run whose jitter left it so stands for that.
    """
    first: dict[Variation, Run] = {}
    for run in sorted(runs, key=lambda run: varied(run).jitter != PLAIN):
        if varied(run).jitter == PLAIN or run.noop:
            first.setdefault(varied(run)._replace(jitter=""), run)
    found = []
    for run in runs:
        plain = first.get(varied(run)._replace(jitter=""))
        if plain is None or run is plain or varied(run).jitter == PLAIN:
            continue
        if run.noop or (run.q is not None and run.q == plain.q):
            found.append((run, plain))
    return found


# summarise

Values = dict[tuple[str | None, str], g.Value]
Words = Mapping[str, Sequence[Word]]


def _summarise(
    request: Request,
    golds: Sequence[Item],
    asked: Sequence[describe.Asked],
    metrics: Mapping[str, Metric],
    words: Words,
) -> Values:
    """Every metric for all questions and for each slice."""
    groups: dict[str | None, list[int]] = {None: list(range(len(asked)))}
    for field in evidence.slice_fields(request):
        for nth, item in enumerate(golds):
            for value in values_of(item.value.get(field)):
                groups.setdefault(f"{field}={value}", []).append(nth)
        if not any(group and group.startswith(f"{field}=") for group in groups):
            message = f'expected a field that questions have, got "{field}"'
            raise policy_error("RW-P03", message, where=str(request.policy or ""), field="slices")
    if len(groups) - 1 > MOST_SLICES:
        message = f"expected at most {MOST_SLICES} slices, got {len(groups) - 1}: slice by a field with fewer values"
        raise policy_error("RW-P03", message, field="stability.slices")
    return {
        (group, name): _value(metric, [(asked[nth], words[name][nth]) for nth in members])
        for group, members in groups.items()
        for name, metric in metrics.items()
    }


def _value(metric: Metric, said: Sequence[tuple[describe.Asked, Word]]) -> g.Value:
    """One number; its interval rests on different questions, not on runs."""
    counted = [one for one, word in said if word is not None]
    different = _distinct(counted)
    independent = different if different < len(counted) else None
    value = value_of(metric, [word for _, word in said], independent=independent)
    if metric.kind == "share" and independent is not None and value.exact is not None:
        return value._replace(interval=wilson_mean(value.exact, independent))
    return value


def _distinct(asked: Sequence[describe.Asked]) -> int:
    """How many different questions there are; one without a text is one of its own."""
    return len({squeeze(fold(one.gold.question)) if one.gold.question else (one.qid,) for one in asked})


# judge


def _gates(request: Request) -> tuple[g.Gate, ...]:
    (always,) = ALWAYS
    there = any(gate.metric == always.metric for gate in request.gates)
    return request.gates if there else (*request.gates, always)


def _undecided(judged: list[g.Judged], asked: Sequence[describe.Asked], waivers: Sequence[g.Waiver]) -> list[g.Judged]:
    """With one run of a question nothing can be said about its stability: no limit of it is shown to hold."""
    single = sum(len(one.runs) == 1 for one in asked)
    if not single:
        return judged
    waived = {waiver.gate: waiver for waiver in waivers}
    reason = f"{single:,} of {len(asked):,} questions have one run only: nothing to compare it with"
    return [
        one._replace(outcome=Outcome.UNDECIDED, reason=reason, waiver=waived.get(g.name_of(one.gate)))
        if one.gate.metric in COMPARING and one.outcome is Outcome.PASS
        else one
        for one in judged
    ]


def _each(
    request: Request, asked: Sequence[describe.Asked], metrics: Mapping[str, Metric], words: Words
) -> dict[tuple[str, str], bool | None]:
    """What each must_pass question says: within its limit where the metric has one, as it should be elsewhere."""
    place = {one.qid: nth for nth, one in enumerate(asked)}
    limited = {one.split("=", 1)[0] for one in request.settings.limits}
    said: dict[tuple[str, str], bool | None] = {}
    for gate in request.gates:
        for qid in gate.must_pass:
            if qid not in place:
                message = f'expected a qid of the gold set, got "{qid}"'
                where = str(request.policy or "")
                raise PolicyError([Problem("RW-P09", message, where, f"{gate.metric}: must_pass")])
            metric, word = metrics[gate.metric], words[gate.metric][place[qid]]
            local = gate.metric.partition(".")[2]
            broken = {one.name for one in asked[place[qid]].question.broken}
            if word is None:
                said[gate.metric, qid] = None
                continue
            good = local not in broken if local in limited else is_good(metric, word)
            said[gate.metric, qid] = good is (metric.better == "higher")
    return said


def _settings(request: Request, limits: dict[str, str]) -> dict[str, Any]:
    return {
        "limits": limits,
        "refusals": list(request.settings.refusals),
        "short_substr": request.settings.short_substr,
        "slices": list(request.settings.slices),
        "allow_gold_errors": request.allow_gold_errors,
    }
