"""What the report says of the structured suite."""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

from ragworthy import gates as g
from ragworthy.ids import natural
from ragworthy.metrics.definition import ABSENT, Field, value_at
from ragworthy.metrics.grading import Scored, label, losses, why
from ragworthy.metrics.kinds import COUNTS
from ragworthy.names import HARMLESS, SEVERITY, Failure, Label, Outcome, Stage
from ragworthy.records import StructuredGold, StructuredOutput
from ragworthy.report import model, show
from ragworthy.report.advice import RELEASE, SMOKE, plain, release_warnings
from ragworthy.report.findings import Part
from ragworthy.report.marked import Graded, Step
from ragworthy.text import visible

PLACES = 3
"""An item's score is reported to so many places."""


def part(found: Graded, *, provenance: dict[str, Any], evidence: dict[str, Any]) -> Part:
    """What the suite contributes to the report."""
    invalid = _invalid(found)
    ships = g.verdict(found.judged, invalid) == "SHIP"
    labels = [label(item, found.definition.good) for item in found.items]
    fails = _fails(found)
    body = {
        "profile": found.provenance["scorer_profile"],
        "inputs": found.inputs,
        "settings": found.settings,
        "frozen": found.frozen.state,
        "counts": _counts(found),
        "fail_counts": fails,
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
    return reasons + model.unmeasured(found.judged)


def _fails(found: Graded) -> dict[str, int]:
    counts = Counter(str(item.reason) if item.reason is not None else "ok" for item in found.items)
    return {name: counts[name] for name in ("ok", *map(str, Failure)) if counts[name]}


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
        "gold_citations": _files((gold.expected or {}).get("source_map")),
        "score": points(item.score),
        "lost": {one.field.name: points(one.points) for one in losses(found.definition, item)} if item.parts else {},
        "fail_reason": str(item.reason) if item.reason is not None else None,
    }


def _cited(output: StructuredOutput | None) -> list[str]:
    """The files that an answer refers to, where it can be read."""
    from ragworthy.metrics.answer_json import parse

    value = parse(output.raw or "").value if output is not None else None
    return _files((value or {}).get("source_map"))


def _files(entries: Any) -> list[str]:
    refs = [
        ref
        for entry in (entries if isinstance(entries, list) else [])
        if isinstance(entry, dict) and isinstance(entry.get("refs"), list)
        for ref in entry["refs"]
    ]
    files = [value_at(ref, ("file",)) for ref in refs]
    return list(dict.fromkeys(one for one in files if one is not ABSENT and isinstance(one, str)))


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


# what to look at, and what to do


def warnings(found: Graded) -> list[dict[str, Any]]:
    """What should be looked at, one entry a kind."""
    total = len(found.items)
    repaired = [qid for qid, item in zip(found.qids, found.items, strict=True) if item.repaired]
    over = [qid for qid, item in zip(found.qids, found.items, strict=True) if item.over]
    need = SMOKE if found.distinct < SMOKE else RELEASE
    reference = found.provenance["scorer_profile"] == "reference"
    few = found.distinct if found.distinct < total else 0
    small = found.distinct if found.distinct < RELEASE else 0
    grounded = any(field.kind == "grounding" for field in found.definition.fields)
    gaps = {key: found.gaps[key] if grounded else 0 for key in ("context", "source_path", "text")}
    thin = [qid for qid, item in zip(found.qids, found.items, strict=True) if item.thin]
    use = "a smoke test" if need == SMOKE else "a release"
    plural = show.plural
    strays = f"{plural(found.orphans, 'output belongs', 'outputs belong')} to no question"
    noted = [
        (
            "RW-W06",
            found.replaced,
            f"{plural(found.replaced, 'output was', 'outputs were')} replaced by a later one",
            [],
        ),
        ("RW-W07", found.orphans, f"{strays}, e.g. {', '.join(found.orphan_ids)}", found.orphan_ids),
        ("RW-W49", gaps["context"], f"{plural(gaps['context'], 'output')} without context to refer to", []),
        (
            "RW-W49",
            gaps["source_path"],
            f"{plural(gaps['source_path'], 'output')} whose chunks have no source_path",
            [],
        ),
        ("RW-W49", gaps["text"], f"{plural(gaps['text'], 'output')} whose chunks have no text", []),
        (
            "RW-W50",
            len(thin),
            f"{plural(len(thin), 'answer')} with matches on a few characters of a long text",
            thin[:3],
        ),
        ("RW-W41", few, f"{plural(total, 'question')}, but only {few:,} different ones", []),
        ("RW-W44", len(over), f"{plural(len(over), 'answer has', 'answers have')} lists longer than allowed", over[:3]),
        ("RW-W45", len(repaired), f"{plural(len(repaired), 'answer')} repaired: scored, not passed", repaired[:3]),
        ("RW-W47", found.slices_cut, f"{plural(found.slices_cut, 'slice is', 'slices are')} not shown", []),
        ("RW-W48", len(found.lacking) if reference else 0, f"the outputs do not say {', '.join(found.lacking)}", []),
        ("RW-W15", small, f"{plural(small, 'different question')}: {use} needs at least {need}", []),
    ]
    entries = [plain(code, message, count, qids) for code, count, message, qids in noted if count]
    return entries + release_warnings(found.frozen, found.baseline_verdict, found.judged)


_TO_DO = {
    Failure.PROVIDER_ERROR: (
        "the provider failed",
        "run these questions again; look at the error field of the outputs",
    ),
    Failure.TRUNCATED_JSON: ("answers are cut off", "allow more tokens, or ask for fewer and shorter items"),
    Failure.PARSE_FAILED: (
        "answers are not JSON",
        "turn on the model's JSON mode, or constrain its output by a schema",
    ),
    Failure.CODE_FENCE: (
        "answers stand in a code fence",
        "ask for the bare object; --repair shows what it would score",
    ),
    Failure.EXTRA_TEXT: (
        "answers have text around them",
        "ask for the bare object; --repair shows what it would score",
    ),
    Failure.PLACEHOLDER_STRING: ("the template was copied", "show the model a filled-in example, not a list of types"),
    Failure.SCHEMA_FAILED: ("answers lack fields or have wrong types", "name every field and its type in the prompt"),
}


def next_steps(found: Graded) -> list[dict[str, str]]:
    """What the pattern of failures means and what to do, most telling first."""
    failed = {one.gate.metric for one in found.judged if one.outcome is Outcome.FAIL}
    fails = _fails(found)
    steps: list[tuple[str, str]] = []
    if found.values[None, "structured.missing"].num:
        steps.append(("questions without an output", "run the model over the whole question set and score again"))
    if found.invalid and found.lacking:
        steps.append(("the run does not say how it was made", f"write {', '.join(found.lacking)} into meta"))
    if any(one.outcome is Outcome.NOT_MEASURED and not one.gate.optional for one in found.judged):
        steps.append(("a gate was not measured", "give it cases (see the reason beside it), or mark the gate optional"))
    if failed:
        for reason in sorted(_TO_DO, key=lambda reason: -fails.get(str(reason), 0)):
            if count := fails.get(str(reason)):
                pattern, do = _TO_DO[reason]
                do = do.partition(";")[0] if found.settings["repair"] else do
                steps.append((f"{pattern} ({count:,} of {len(found.items):,})", do))
        steps += _weakest(found)
    stages = Counter(item.stage for item in found.items if item.stage is not None)
    if failed and stages[Stage.RETRIEVAL]:
        many = show.plural(stages[Stage.RETRIEVAL], "question was", "questions were")
        steps.append(("retrieval", f"{many} not given the passage that answers: start with the index"))
    if any(one.gate.op == g.EACH and one.outcome is Outcome.FAIL for one in found.judged):
        steps.append(("questions that must pass do not", "look at each with --item QID"))
    return [{"pattern": pattern, "do": do} for pattern, do in steps]


def _weakest(found: Graded) -> list[tuple[str, str]]:
    """The field that costs most over all answers that can be read."""
    read = sum(item.ok or item.repaired for item in found.items)
    lost: dict[Field, Fraction] = {}
    for field in found.definition.fields:
        value = found.values[None, f"structured.{field.name}"]
        got = (value.exact or Fraction(0)) * (value.n or 0)  # answers that fail add nothing to the sum
        lost[field] = field.weight * (read - got)
    dearest = max(lost, key=lambda one: lost[one])
    if lost[dearest] <= 0:
        return []
    mean = float(100 * lost[dearest] / read)
    nth = next(n for n, field in enumerate(found.definition.fields) if field is dearest)
    worst = min((item.parts[nth], n) for n, item in enumerate(found.items) if item.ok or item.repaired)[1]
    qid = visible(found.qids[worst])
    return [(f"{dearest.name} costs most", f"{mean:.1f} points an answer that can be read: see why with --item {qid}")]
