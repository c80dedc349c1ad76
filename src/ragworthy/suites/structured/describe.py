"""What the report says of the structured suite."""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

from ragworthy import gates as g
from ragworthy.ids import natural
from ragworthy.metrics.context import files_of
from ragworthy.metrics.grading import Scored, label, losses, why
from ragworthy.metrics.kinds import COUNTS
from ragworthy.names import HARMLESS, SEVERITY, Failure, Label, Stage
from ragworthy.records import StructuredGold, StructuredOutput
from ragworthy.report import model, show
from ragworthy.report.part import Part
from ragworthy.suites.structured.advice import fail_counts, next_steps, warnings
from ragworthy.suites.structured.graded import Graded, Step
from ragworthy.text import visible

PLACES = 3
"""An item's score is reported to so many places."""


def part(found: Graded, *, provenance: dict[str, Any], evidence: dict[str, Any]) -> Part:
    """What the suite contributes to the report."""
    invalid = _invalid(found)
    ships = g.verdict(found.judged, invalid) == "SHIP"
    labels = [label(item, found.definition.good) for item in found.items]
    body = {
        "profile": found.provenance["scorer_profile"],
        "inputs": found.inputs,
        "settings": found.settings,
        "frozen": found.frozen.state,
        "counts": _counts(found),
        "fail_counts": fail_counts(found),
        "metrics": {
            name: model.number(found.values[None, name]) | {"ledger": _ledger(found, name)} for name in found.names
        },
        "slices": _slices(found),
        "labels": {what.value: count for what in (Label.OK, *Label) if (count := labels.count(what))},
        "stages": {stage.value: count for stage in Stage if (count := sum(one.stage is stage for one in found.items))},
        "offenders": [] if ships else _offenders(found, labels),
        "provenance": found.provenance,
        "subset": _step(found.step, stopped=False) if found.step is not None else None,
        "warnings": warnings(found),
    }
    return Part(
        "structured", body, found.judged, invalid, next_steps(found), provenance, partial(rows, found), evidence
    )


def stopped(first: Part, step: Step) -> Part:
    """The part of a run that ended with its dev subset: the whole set was not scored."""
    todo = {"pattern": "the dev subset does not pass", "do": "mend that first: the whole set was not scored"}
    return first._replace(body=first.body | {"subset": _step(step, stopped=True)}, steps=[todo, *first.steps])


def _step(step: Step, *, stopped: bool) -> dict[str, Any]:
    return {
        "verdict": step.verdict,
        "questions": step.questions,
        "gates": {name: outcome.value for name, outcome in step.outcomes.items()},
        "scored": "subset" if stopped else "whole",
    }


def _invalid(found: Graded) -> list[str]:
    """Why the evidence cannot carry a verdict."""
    reasons = list(found.invalid)
    missing = found.values[None, "structured.missing"].num
    if missing:
        reasons.insert(0, f"{show.plural(missing, 'question has', 'questions have')} no output")
    if found.frozen.state == "broken":
        reasons.append(found.frozen.reason)
    counts = _counts(found)
    errors = model.mostly_errors(counts["errored"], counts["gold"], "questions")
    return errors + reasons + model.unmeasured(found.judged)


def _counts(found: Graded) -> dict[str, int]:
    missing = sum(item.reason is Failure.MISSING for item in found.items)
    valid = sum(item.ok for item in found.items)
    return {
        "gold": len(found.items),
        "distinct_questions": found.distinct,
        "distinct_expected": found.distinct_expected,
        "outputs": found.outputs,
        "valid": valid,
        "failed": len(found.items) - valid - missing,
        "missing": missing,
        "errored": sum(item.reason is Failure.PROVIDER_ERROR for item in found.items),
        "repaired": sum(item.repaired for item in found.items),
        "over_limit": sum(bool(item.over) for item in found.items),
        "duplicate_traces": found.replaced,
        "orphan_traces": found.orphans,
    }


def _ledger(found: Graded, name: str) -> dict[str, int]:
    """Where every question went: expected = scored + refused + missing + errored + not_applicable."""
    counted = name in ("structured.schema_pass_rate", "structured.missing")
    ledger = dict.fromkeys(("expected", "scored", "refused", "missing", "errored", "not_applicable"), 0)
    for item in found.items:
        ledger["expected"] += 1
        if item.reason is Failure.MISSING:
            ledger["missing"] += 1
        elif item.reason is Failure.PROVIDER_ERROR:
            ledger["errored"] += 1
        else:
            ledger["scored" if item.counted or counted else "not_applicable"] += 1
    return ledger


def _slices(found: Graded) -> dict[str, Any]:
    names = sorted({group for group, _ in found.values if group is not None}, key=natural)
    return {group: {name: model.number(found.values[group, name]) for name in found.names} for group in names}


# offenders


def _offenders(found: Graded, labels: list[Label]) -> list[dict[str, Any]]:
    bad = [nth for nth, what in enumerate(labels) if what not in HARMLESS]
    bad.sort(key=lambda nth: (SEVERITY[labels[nth]], found.items[nth].score, nth))
    seen: Counter[int] = Counter()
    turn: dict[int, int] = {}
    for nth in bad:  # the same question again stands behind all others
        turn[nth] = seen[found.text_ids[nth]]
        seen[found.text_ids[nth]] += 1
    chosen = sorted(bad, key=turn.__getitem__)[: found.most_offenders]
    return [
        _offender(found, found.qids[nth], found.items[nth], labels[nth], *records)
        for nth, records in zip(chosen, found.shown(chosen), strict=True)
    ]


def _offender(
    found: Graded, qid: str, item: Scored, what: Label, gold: StructuredGold, output: StructuredOutput | None
) -> dict[str, Any]:
    context = (output.context if output is not None else None) or []
    return {
        "qid": qid,
        "label": what.value,
        "stage": item.stage.value if item.stage is not None else None,
        "why": visible(why(found.definition, item)),
        "question": gold.question,
        "claim": output.raw[:300] if output is not None and output.raw is not None else None,
        "citations": _cited(output),
        "retrieved_ids": list(dict.fromkeys(chunk.source_path for chunk in context if chunk.source_path)),
        "gold_citations": files_of((gold.expected or {}).get("source_map")),
        "score": points(item.score),
        "lost": {one.field.name: points(one.points) for one in losses(found.definition, item)} if item.parts else {},
        "fail_reason": str(item.reason) if item.reason is not None else None,
    }


def _cited(output: StructuredOutput | None) -> list[str]:
    """The files that an answer refers to, where it can be read."""
    from ragworthy.metrics.answer_json import parse

    value = parse(output.raw or "").value if output is not None else None
    return files_of((value or {}).get("source_map"))


# rows


def points(score: Fraction) -> float:
    """A score as it is reported: three places, half to even.

    >>> points(Fraction(200, 3)), points(Fraction(100))
    (66.667, 100.0)
    """
    return float(round(score, PLACES))


def rows(found: Graded) -> Iterator[dict[str, Any]]:
    """Every question's row, in gold order."""
    fields = found.definition.fields
    for qid, item in zip(found.qids, found.items, strict=True):
        what = label(item, found.definition.good)
        metrics: dict[str, float] = {"structured.score": points(item.score)}
        metrics["structured.schema_pass_rate"] = float(item.ok)
        metrics["structured.missing"] = float(item.reason is Failure.MISSING)
        metrics |= {f"structured.{field.name}": float(one) for field, one in zip(fields, item.parts, strict=False)}
        reason = str(item.reason) if item.reason is not None else None
        yield {
            "qid": qid,
            "label": what.value,
            "stage": item.stage.value if item.stage is not None else None,
            "metrics": metrics,
            "undefined": {f"structured.{field.name}": "the answer has no parts" for field in fields[len(item.parts) :]},
            "facts": {
                "schema_ok": item.ok,
                "missing": item.reason is Failure.MISSING,
                "errored": item.reason is Failure.PROVIDER_ERROR,
                "repair_used": item.repaired,
                "over_limit": bool(item.over),
            },
            "schema_ok": item.ok,
            "fail_reason": reason,
            "fail_detail": item.detail or None,
            "counts": counts_of(found, item),
        }


def counts_of(found: Graded, item: Scored) -> dict[str, int]:
    """What the parts were counted from, e.g. `detailed_description.matched`."""
    named: dict[str, int] = {}
    for field, counts in zip(found.definition.fields, item.counts, strict=False):
        names = COUNTS.get(field.kind, ())
        named |= {f"{field.name}.{name}": count for name, count in zip(names, counts, strict=False)}
    return named
