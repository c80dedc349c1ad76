"""What the report says of the answers suite."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from ragworthy import gates as g
from ragworthy.metrics.answers import blame, label
from ragworthy.metrics.facts import answers as f
from ragworthy.metrics.registry import MetricName
from ragworthy.names import HARMLESS, Label, Stage
from ragworthy.records import Offender
from ragworthy.report import model, show
from ragworthy.report.part import Part
from ragworthy.suites.answers.advice import next_steps, warnings
from ragworthy.suites.answers.findings import Findings


def part(found: Findings, *, provenance: dict[str, Any], rows: Callable[[], Iterator[dict[str, Any]]]) -> Part:
    """What the suite contributes to the report."""
    facts = _facts(found)
    invalid = _invalid(found)
    ships = g.verdict(found.judged, invalid) == "SHIP"
    body = {
        "profile": "default",
        "inputs": found.inputs,
        "settings": found.settings,
        "frozen": found.frozen.state,
        "counts": _counts(found, facts),
        "metrics": {
            name.id: model.number(found.values[None, name.id]) | {"ledger": _ledger(name, facts)}
            for name in found.names
        },
        "slices": _slices(found),
        "labels": _labels(facts),
        "stages": _stages(facts),
        "offenders": [] if ships else [_offender(one, found.ks) for one in found.measured.offenders],
        "warnings": warnings(found, facts),
    }
    tally = [[flags, list(slices), count] for (flags, slices), count in sorted(found.measured.tally.items())]
    return Part("answers", body, found.judged, invalid, next_steps(found), provenance, rows, {"tally": tally})


def _facts(found: Findings) -> Counter[f.Facts]:
    facts: Counter[f.Facts] = Counter()
    for (flags, _), count in found.measured.tally.items():
        facts[f.unpack(flags, found.ks)] += count
    return facts


def _invalid(found: Findings) -> list[str]:
    """Why the evidence cannot carry a verdict, apart from gates that were not measured."""
    counts = _counts(found, _facts(found))
    reasons = model.mostly_errors(counts["errored"], counts["gold"], "questions")
    missing = found.values[None, "answers.missing"].num
    if missing:
        reasons.append(f"{show.plural(missing, 'question has', 'questions have')} no trace")
    if found.frozen.state == "broken":
        reasons.append(found.frozen.reason)
    return reasons + model.unmeasured(found.judged)


def _counts(found: Findings, facts: Counter[f.Facts]) -> dict[str, int]:
    def count(holds: Callable[[f.Facts], bool]) -> int:
        return sum(n for one, n in facts.items() if holds(one))

    return {
        "gold": sum(facts.values()),
        "answered": count(lambda one: one.shipped),
        "refused": count(lambda one: one.refused),
        "missing": count(lambda one: one.missing),
        "errored": count(lambda one: one.errored),
        "answerable": count(lambda one: one.answerable),
        "unanswerable": count(lambda one: not one.answerable),
        "duplicate_traces": found.measured.traces_replaced,
        "orphan_traces": found.measured.orphans,
    }


def _ledger(name: MetricName, facts: Counter[f.Facts]) -> dict[str, int]:
    """Where every question went: expected = scored + refused + missing + errored + not_applicable."""
    ledger = dict.fromkeys(("expected", "scored", "refused", "missing", "errored", "not_applicable"), 0)
    for one, count in facts.items():
        word = name.metric.of(one) if name.k is None else name.metric.of(one, k=name.k)
        ledger["expected"] += count
        if one.missing:
            ledger["missing"] += count
        elif one.errored:
            ledger["errored"] += count
        elif word is not None:
            ledger["scored"] += count
        elif one.refused and name.metric.cases.startswith("shipped"):
            ledger["refused"] += count
        else:
            ledger["not_applicable"] += count
    return ledger


def _slices(found: Findings) -> dict[str, Any]:
    names = sorted({group for group, _ in found.values if group is not None})
    return {group: {name.id: model.number(found.values[group, name.id]) for name in found.names} for group in names}


def _labels(facts: Counter[f.Facts]) -> dict[str, int]:
    counts = Counter[Label]()
    for one, count in facts.items():
        counts[label(one)] += count
    return {what.value: counts[what] for what in (Label.OK, Label.REFUSAL_OK, *Label) if counts[what]}


def _stages(facts: Counter[f.Facts]) -> dict[str, int]:
    """How many questions each stage is to blame for."""
    counts = Counter[Stage]()
    for one, count in facts.items():
        if label(one) not in HARMLESS:
            counts[blame(one)[0]] += count
    return {stage.value: counts[stage] for stage in Stage if counts[stage]}


def _offender(one: Offender, ks: tuple[int, ...]) -> dict[str, Any]:
    facts = f.unpack(one.flags, ks)
    stage, why = blame(facts)
    said = {}
    if one.error is not None:
        said = {"error": one.error, "why": f"an error instead of an answer: {one.error}"}
    return {
        "qid": one.qid,
        "label": label(facts).value,
        "stage": stage.value,
        "why": why,
        "question": one.question,
        "claim": one.claim,
        "citations": one.citations if one.citations is not None else [],
        "retrieved_ids": one.retrieved_ids,
        "gold_citations": one.gold_citations,
    } | said
