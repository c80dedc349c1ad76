"""What the report says of the retrieval suite."""

from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from ragworthy import gates as g
from ragworthy.ids import natural
from ragworthy.metrics.facts.asked import Asked
from ragworthy.metrics.facts.convergence import MARKS
from ragworthy.metrics.facts.runs import Facts
from ragworthy.metrics.registry import MetricName
from ragworthy.metrics.retrieval import blame, label
from ragworthy.names import HARMLESS, SEVERITY, Label, Stage
from ragworthy.report import model, show
from ragworthy.report.part import Part
from ragworthy.suites.retrieval.advice import diagnose, next_steps, warnings
from ragworthy.suites.retrieval.compared import Compared, Retrieved

DEPTH = 5
"""How deep a relevant block may stand before its question is an offender."""
FAR = Fraction("0.60")


def part(
    found: Retrieved,
    *,
    provenance: dict[str, Any],
    rows: Callable[[], Iterator[dict[str, Any]]],
    evidence: dict[str, Any],
) -> Part:
    """What the suite contributes to the report."""
    labels = [_label(one) for one in found.arm.asked]
    invalid = _invalid(found)
    ships = g.verdict(found.judged, invalid) == "SHIP"
    counts = _counts(found)
    body = {
        "profile": "default",
        "inputs": found.inputs,
        "settings": found.settings,
        "frozen": found.frozen.state,
        "counts": counts,
        "metrics": {
            name.id: model.number(found.values[None, name.id]) | {"ledger": _ledger(found, name)}
            for name in found.names
        },
        "slices": _slices(found),
        "labels": {what.value: count for what in Label if (count := labels.count(what))},
        "stages": _stages(found, labels),
        "offenders": [] if ships else _offenders(found, labels),
        "bad_qids": bad_qids(found),
        "lambda": _marks(found),
        "delta_s": found.delta_s,
        "diagnosis": diagnose(found),
        "live": _live(found, found.compared) if found.compared is not None else None,
        "warnings": warnings(found),
    }
    return Part("retrieval", body, found.judged, invalid, next_steps(found), provenance, rows, evidence)


def _invalid(found: Retrieved) -> list[str]:
    return _broken(found) + model.unmeasured(found.judged)


def _broken(found: Retrieved) -> list[str]:
    """Why the evidence cannot carry a verdict, apart from gates that were not measured."""
    reasons = list(found.invalid)
    missing = found.values[None, "retrieval.missing"].num
    if missing:
        reasons.insert(0, f"{show.plural(missing, 'question has', 'questions have')} no trace")
    if found.frozen.state == "broken":
        reasons.append(found.frozen.reason)
    reasons = model.mostly_errors(found.arm.errored, found.arm.runs, "runs") + reasons
    if found.compared is not None and found.compared.unlike:
        reasons += [f"live and shadow cannot be compared: {why}" for why in found.compared.unlike]
    return reasons


def _counts(found: Retrieved) -> dict[str, int]:
    arm = found.arm
    return {
        "gold": len(arm.asked),
        "runs": arm.runs,
        "answered": sum(any(facts.answered for facts in one.question.facts) for one in arm.asked),
        "missing": sum(not one.question.runs for one in arm.asked),
        "errored": arm.errored,
        "errored_questions": sum(one.question.errored for one in arm.asked),
        "answerable": sum(one.wanted.answerable for one in arm.asked),
        "unanswerable": sum(not one.wanted.answerable for one in arm.asked),
        "incomplete": sum(one.question.asked and not one.question.counted for one in arm.asked),
        "cross_doc": sum(any(facts.cross_doc for facts in one.question.facts) for one in arm.asked),
        "duplicate_traces": arm.replaced,
        "orphan_traces": arm.orphans,
    }


def _ledger(found: Retrieved, name: MetricName) -> dict[str, int]:
    """Where every question went: expected = scored + refused + missing + errored + not_applicable."""
    ledger = dict.fromkeys(("expected", "scored", "refused", "missing", "errored", "not_applicable"), 0)
    undefined = found.values[None, name.id].undefined is not None
    for one, word in zip(found.arm.asked, found.words[name.id], strict=True):
        ledger["expected"] += 1
        if not one.question.runs:
            ledger["missing"] += 1
        elif one.question.errored:
            ledger["errored"] += 1
        elif word is not None and not undefined:
            ledger["scored"] += 1
        elif name.metric.cases.startswith("answered") and not any(facts.answered for facts in one.question.facts):
            ledger["refused"] += 1
        else:
            ledger["not_applicable"] += 1
    return ledger


def _slices(found: Retrieved) -> dict[str, Any]:
    names = sorted({group for group, _ in found.values if group is not None}, key=natural)
    return {group: {name.id: model.number(found.values[group, name.id]) for name in found.names} for group in names}


def worst(one: Asked) -> Facts:
    """The run of a question that went worst."""
    return min(one.question.facts, key=lambda facts: SEVERITY[label(facts, DEPTH)])


def _label(one: Asked) -> Label:
    return label(worst(one), DEPTH)


def _stages(found: Retrieved, labels: list[Label]) -> dict[str, int]:
    counts = Counter(
        blame(worst(one), DEPTH)[0] for one, what in zip(found.arm.asked, labels, strict=True) if what not in HARMLESS
    )
    return {stage.value: counts[stage] for stage in Stage if counts[stage]}


def _offenders(found: Retrieved, labels: list[Label]) -> list[dict[str, Any]]:
    bad = [nth for nth, what in enumerate(labels) if what not in HARMLESS]
    bad.sort(key=lambda nth: (SEVERITY[labels[nth]], -_runs_off(found.arm.asked[nth]), nth))
    return [_offender(found.arm.asked[nth]) for nth in bad[: found.most_offenders]]


def _runs_off(one: Asked) -> int:
    return sum(label(facts, DEPTH) not in HARMLESS for facts in one.question.facts)


def _offender(one: Asked) -> dict[str, Any]:
    facts = worst(one)
    stage, why = blame(facts, DEPTH)
    key = next((key for key, run in sorted(one.question.runs.items()) if run == facts), None)
    reading = one.runs[key] if key is not None else None
    runs = len(one.question.runs)
    return {
        "qid": one.wanted.qid,
        "label": label(facts, DEPTH).value,
        "stage": stage.value,
        "why": why if runs < 2 else f"{why} (in {_alike(one, facts)} of {runs} runs)",
        "question": reading.query if reading else next(iter(one.wanted.wordings), None),
        "claim": None,
        "citations": list(facts.cited),
        "retrieved_ids": list(reading.names[:10]) if reading else [],
        "gold_citations": _gold_ids(one),
        "lambda": one.marked,
        "delta_s": None if facts.delta_s is None else float(facts.delta_s),
    }


def _gold_ids(one: Asked) -> list[str]:
    """The relevant ids as they are now; one whose text is gone as the gold set has it."""
    blocks = [(name, one.wanted.blocks[number]) for name, number in one.wanted.names.items()]
    now = [one for name, block in blocks for one in (sorted(block) or [f"{name} (gone)"])]
    return list(dict.fromkeys(now))


def _alike(one: Asked, facts: Facts) -> int:
    """In how many runs the same went wrong."""
    return sum(label(run, DEPTH) == label(facts, DEPTH) for run in one.question.facts)


def bad_qids(found: Retrieved) -> list[str]:
    """Questions that nothing justifies: no run is covered, or the citation is as far as unrelated text."""
    if not found.arm.answers:
        return []
    covered, far = found.words["retrieval.coverage"], found.words["retrieval.delta_s_mean"]
    return [
        one.wanted.qid
        for one, word, distance in zip(found.arm.asked, covered, far, strict=True)
        if word == 0 or (found.delta_s["scaled"] and distance is not None and distance >= FAR)
    ]


def _marks(found: Retrieved) -> dict[str, Any]:
    marks = Counter(one.marked for one in found.arm.asked if one.marked is not None)
    counted = sum(marks.values())
    return {
        "marks": {mark: marks[mark] for mark in MARKS},
        "questions": counted,
        "incomplete": sum(one.question.asked and not one.question.counted for one in found.arm.asked),
        "question_rate": marks["→"] / counted if counted else None,
    }


def _live(found: Retrieved, compared: Compared) -> dict[str, Any]:
    """The comparison with the index in use."""
    deltas = {}
    for name in found.names:
        live, shadow = compared.live[None, name.id].exact, found.values[None, name.id].exact
        plain = int if name.metric.kind == "count" else float
        deltas[name.id] = {
            "live": None if live is None else plain(live),
            "shadow": None if shadow is None else plain(shadow),
            "delta": None if live is None or shadow is None else plain(shadow - live),
            "better": name.metric.better,
            **compared.paired[name.id],
        }
    return {
        "comparable": not compared.unlike,
        "unlike": compared.unlike,
        "live_index": compared.live_hash,
        "shadow_index": compared.shadow_hash,
        "deltas": deltas,
        "gone": compared.gone,
        "canary": {
            "eligible": compared.eligible and not _broken(found),
            "failing_live": compared.failing_live,
            "checks": [
                {
                    "metric": one.gate.metric,
                    "op": one.gate.op,
                    "threshold": one.gate.threshold,
                    "value": None if one.value is None or one.value.exact is None else float(one.value.exact),
                    "outcome": one.outcome.value,
                    "reason": one.reason or None,
                }
                for one in compared.canary
            ],
        },
        "gained": compared.gained,
        "lost": compared.lost,
        "churn": compared.changed,
    }


def rows(found: Retrieved) -> Iterator[dict[str, Any]]:
    """Every question's row, in gold order."""
    for nth, one in enumerate(found.arm.asked):
        facts = worst(one)
        metrics: dict[str, float] = {}
        undefined: dict[str, str] = {}
        for name in found.names:
            word = found.words[name.id][nth]
            if word is None or found.values[None, name.id].undefined is not None:
                undefined[name.id] = _why(found, one, name)
            else:
                metrics[name.id] = float(Fraction(*word) if isinstance(word, tuple) else word)
        what = label(facts, DEPTH)
        yield {
            "qid": one.wanted.qid,
            "label": what.value,
            "stage": None if what in HARMLESS else blame(facts, DEPTH)[0].value,
            "metrics": metrics,
            "undefined": undefined,
            "facts": {
                "answerable": one.wanted.answerable,
                "answered": facts.answered,
                "missing": not one.question.runs,
                "covered": facts.covered,
                "accurate": bool(facts.accurate),
                "hit": any(0 < rank <= DEPTH for rank in facts.blocks),
            },
            "runs": len(one.question.runs),
            "lambda": one.marked,
        }


def _why(found: Retrieved, one: Asked, name: MetricName) -> str:
    """Why a question has no value of a metric."""
    if not one.question.runs:
        return "no trace"
    whole = found.values[None, name.id].undefined
    if whole is not None:
        return whole
    if not one.wanted.answerable:
        return "unanswerable"
    if name.metric.needs == "distances" and any(facts.answered for facts in one.question.facts):
        return "no distance is known"
    return f"not among the {name.metric.cases}"
