"""What the report says of the latency suite."""

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from ragworthy import gates as g
from ragworthy.metrics.answers import blame, label
from ragworthy.metrics.cost import over_budget, projected
from ragworthy.metrics.latency import Sample, load_name
from ragworthy.metrics.registry import MetricName
from ragworthy.names import HARMLESS, SEVERITY, Label, Stage
from ragworthy.report import model, show
from ragworthy.report.part import Part
from ragworthy.stats import percentile
from ragworthy.suites.latency.advice import next_steps, warnings
from ragworthy.suites.latency.swept import Measurement, Swept

SLOWEST = 5
"""So many of the slowest runs are named."""


def part(found: Swept, *, provenance: dict[str, Any], evidence: dict[str, Any]) -> Part:
    """What the suite contributes to the report."""
    invalid = _invalid(found)
    ships = g.verdict(found.judged, invalid) == "SHIP"
    by_question = _by_question(found)
    worst = {nth: _worst(samples) for nth, samples in by_question.items()}
    labels = [_label(found, worst, nth) for nth in range(len(found.gold))]
    at = found.judged_at
    body = {
        "profile": found.settings["profile"],
        "inputs": found.inputs,
        "settings": found.settings,
        "selection": found.selection,
        "frozen": found.frozen.state,
        "counts": _counts(found),
        "judged": {
            "configuration": at.config,
            "load_rps": _float(at.load),
            "knobs": at.knobs,
            "why": found.choice.why,
            "compared_at": found.choice.load,
        },
        "chosen": found.choice.uses,
        "limits": _limits(found.judged),
        "metrics": {
            name.id: model.number(at.values[name.id]) | {"ledger": _ledger(found, name)} for name in found.names
        },
        "slices": _slices(found),
        "configurations": [_configuration(one) for one in found.measured],
        "labels": {what.value: count for what in (Label.OK, *Label) if (count := labels.count(what))},
        "stages": _stages(worst),
        "slowest": _slowest(at.samples),
        "cost": _cost(found),
        "offenders": [] if ships else _offenders(found, by_question, worst),
        "warnings": warnings(found),
    }
    return Part("latency", body, found.judged, invalid, next_steps(found), provenance, partial(rows, found), evidence)


def _invalid(found: Swept) -> list[str]:
    """Why the evidence cannot carry a verdict."""
    reasons = []
    for load, (errors, runs) in found.errors.items():
        reasons += model.mostly_errors(errors, runs, f"runs under load {load}")
    if found.missing:
        reasons.append(f"{show.plural(len(found.missing), 'question has', 'questions have')} no measured run")
    if found.frozen.state == "broken":
        reasons.append(found.frozen.reason)
    return reasons + model.unmeasured(found.judged)


def _counts(found: Swept) -> dict[str, int]:
    facts = [one.facts for one in found.judged_at.samples if one.facts is not None]
    return found.counts | {
        "judged_runs": len(found.judged_at.samples),
        "answered": sum(one.shipped for one in facts),
        "refused": sum(one.refused for one in facts),
        "missing": len(found.missing),
    }


def _float(number: Fraction | None) -> float | None:
    return None if number is None else float(number)


def _configuration(one: Measurement) -> dict[str, Any]:
    return {
        "config_id": one.config,
        "knobs": one.knobs,
        "load_rps": _float(one.load),
        "rate_held": one.held,
        "n": len(one.samples),
        "questions": len({sample.question for sample in one.samples}),
        "errors": one.errors,
        "warmup": one.warmups,
        "metrics": {name: model.number(value) for name, value in one.values.items()},
        "stages": {
            name: {"n": len(times), "p50": float(percentile(times, 50)), "p95": float(percentile(times, 95))}
            for name, times in one.stages.items()
        },
        "frontier": one.frontier,
        "meets_gates": not one.failing,
        "failing": one.failing,
    }


def _limits(judged: Sequence[g.Judged]) -> dict[str, str]:
    """The thresholds that hold for every configuration, by metric: the gates that are on no slice, or on every load."""
    found: dict[str, list[str]] = {}
    for one in judged:
        gate = one.gate
        if gate.op in (g.MIN, g.MAX) and (gate.slice is None or gate.slice.startswith("load=")):
            found.setdefault(gate.metric, []).append(gate.threshold)
    return {name: limits[0] for name, limits in found.items() if len(set(limits)) == 1}


def _ledger(found: Swept, name: MetricName) -> dict[str, int]:
    """Where every run went, and every question without one.

    expected = scored + refused + missing + errored + not_applicable.
    """
    ledger = dict.fromkeys(("expected", "scored", "refused", "missing", "errored", "not_applicable"), 0)
    samples = found.judged_at.samples
    ledger["missing"] = len(found.gold) - len({one.question for one in samples})
    for one in samples:
        ledger[_fate(one, name)] += 1
    ledger["expected"] = sum(ledger.values())
    return ledger


def _fate(one: Sample, name: MetricName) -> str:
    metric = name.metric
    if not metric.id.startswith("answers."):
        return "scored"
    if one.facts is None:
        return "not_applicable"
    if one.facts.errored:
        return "errored"
    word = metric.of(one.facts) if name.k is None else metric.of(one.facts, k=name.k)
    if word is not None:
        return "scored"
    return "refused" if one.facts.refused and metric.cases.startswith("shipped") else "not_applicable"


def _slices(found: Swept) -> dict[str, Any]:
    groups = dict.fromkeys(group for group, _ in found.values if group is not None)
    lengths = [f"length={name}" for name in ("short", "medium", "long", "unknown")]
    loads = [group for group in groups if group.startswith("load=")]
    first = [*loads, *(group for group in lengths if group in groups)]
    return {
        group: {name.id: model.number(found.values[group, name.id]) for name in found.names}
        for group in (*first, *sorted(group for group in groups if group not in first))
    }


# questions


def _by_question(found: Swept) -> dict[int, list[Sample]]:
    runs: dict[int, list[Sample]] = {}
    for one in found.judged_at.samples:
        runs.setdefault(one.question, []).append(one)
    return runs


def _badness(one: Sample) -> tuple[int, Fraction, str]:
    """The worst answer first, of equal ones the slowest."""
    claim = one.timed.run.answer_json.claim if one.timed.run.answer_json is not None else None
    severity = len(SEVERITY) if one.facts is None else SEVERITY[label(one.facts)]
    return severity, -one.timed.e2e, claim or ""


def _worst(samples: Sequence[Sample]) -> Sample:
    return min(samples, key=_badness)


def _label(found: Swept, worst: dict[int, Sample], nth: int) -> Label | None:
    """What became of a question: the worst that became of one of its runs; None where the runs hold no answers."""
    if nth not in worst:
        return Label.MISSING
    facts = worst[nth].facts
    return None if facts is None else label(facts)


def _stages(worst: dict[int, Sample]) -> dict[str, int]:
    """How many questions each stage is to blame for."""
    counts = Counter(_blame(one)[0] for one in worst.values())
    return {stage.value: counts[stage.value] for stage in Stage if counts[stage.value]}


def _blame(one: Sample) -> tuple[str | None, str]:
    """The stage to look at first, and why; None where nothing is wrong."""
    if one.facts is None or _bad(one) is None:
        return None, ""
    stage, why = blame(one.facts)
    return stage.value, why


def _slowest(samples: Sequence[Sample]) -> list[dict[str, Any]]:
    """The slowest runs, with the stage that took most of their time."""
    order = sorted(
        samples,
        key=lambda one: (-one.timed.e2e, one.question, str(one.timed.run.error), sorted(one.timed.stages.items())),
    )
    found = []
    for one in order[:SLOWEST]:
        stage, time = max(one.timed.stages.items(), key=lambda pair: (pair[1], pair[0]), default=(None, None))
        error = None if one.timed.run.error is None else str(one.timed.run.error)
        entry = {"qid": one.timed.run.name, "e2e_ms": float(one.timed.e2e), "stage": stage}
        found.append(entry | {"stage_ms": _float(time), "error": error})
    return found


def _cost(found: Swept) -> dict[str, Any] | None:
    """The unit of costs, and how the month goes on; None without a price list."""
    if found.prices is None:
        return None
    budget = found.prices.budget
    if budget is None:
        return {"currency": found.prices.currency, "budget": None}
    month = {"cap": float(budget.cap), "spent": float(budget.spent), "day": budget.day, "days": budget.days}
    month |= {"projected": float(projected(budget)), "alert": over_budget(budget)}
    return {"currency": found.prices.currency, "budget": month}


def _offenders(found: Swept, by_question: dict[int, list[Sample]], worst: dict[int, Sample]) -> list[dict[str, Any]]:
    bad = [(SEVERITY[what], nth) for nth, one in worst.items() if (what := _bad(one)) is not None]
    return [_offender(found, worst[nth], by_question[nth]) for _, nth in sorted(bad)[: found.most_offenders]]


def _bad(one: Sample) -> Label | None:
    """What is wrong with the answer of a run; None where nothing is, or where there is none."""
    what = None if one.facts is None else label(one.facts)
    return None if what in HARMLESS else what


def _offender(found: Swept, one: Sample, runs: Sequence[Sample]) -> dict[str, Any]:
    gold, run = found.gold[one.question], one.timed.run
    stage, why = _blame(one)
    alike = sum(_bad(other) is not None for other in runs)
    answer = run.answer_json
    return {
        "qid": run.name,
        "label": _bad(one),
        "stage": stage,
        "why": why if len(runs) == 1 else f"{why} ({alike} of {show.plural(len(runs), 'run')} not as they should be)",
        "question": gold.question,
        "claim": answer.claim if answer is not None else None,
        "citations": answer.citations if answer is not None and answer.citations is not None else [],
        "retrieved_ids": run.retrieved_ids or [],
        "gold_citations": gold.gold_citations or [],
        "e2e_ms": float(one.timed.e2e),
        "runs": len(runs),
        "bad_runs": alike,
    }


# rows


def rows(found: Swept) -> Iterator[dict[str, Any]]:
    """Every question's row, in gold order: its runs under the judged configuration at its highest load."""
    by_question = _by_question(found)
    worst = {nth: _worst(samples) for nth, samples in by_question.items()}
    for nth, (gold, values) in enumerate(zip(found.gold, found.rows, strict=True)):
        runs = by_question.get(nth, [])
        what = _label(found, worst, nth)
        facts = [one.facts for one in runs if one.facts is not None]
        metrics = {name: float(value.exact) for name, value in values.items() if value.exact is not None}
        yield {
            "qid": gold.qid or gold.q_id or "",
            "label": what.value if what is not None else None,
            "stage": _blame(worst[nth])[0] if runs else Stage.PIPELINE.value,
            "metrics": metrics,
            "undefined": {
                name: (value.undefined or "") if runs else "no run"
                for name, value in values.items()
                if value.exact is None
            },
            "facts": {
                "answerable": gold.answerable,
                "answered": any(one.shipped for one in facts),
                "refused": any(one.refused for one in facts),
                "missing": not runs,
                "errored": any(one.errored for one in runs),
                "always_good": bool(facts) and what in HARMLESS,
            },
            "runs": len(runs),
            "configuration": found.judged_at.config,
            "load": load_name(found.judged_at.load),
        }
