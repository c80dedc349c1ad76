"""The report model: what `ragworthy.report/1` holds. Every renderer only formats this."""

from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, NamedTuple

from ragworthy import gates as g
from ragworthy.errors import CATALOGUE
from ragworthy.metrics import facts as f
from ragworthy.metrics.answers import blame, label
from ragworthy.metrics.registry import MetricName
from ragworthy.names import HARMLESS, VERSION, Label, Outcome, Stage, exit_code
from ragworthy.records import Measured, Note, Offender
from ragworthy.report import show
from ragworthy.stats import cases_needed

SCHEMA = "ragworthy.report/1"
"""
1  first version
"""

SMOKE, RELEASE = 10, 30
"""Gold sets below these sizes are fit for a smoke test, or not even that (spec operations §10)."""


class Frozen(NamedTuple):
    """The state of the gold set: unlocked, frozen, broken, or unfrozen (broken, and scored on purpose)."""

    state: str
    reason: str


class Findings(NamedTuple):
    """Everything a report is made from."""

    measured: Measured
    ks: tuple[int, ...]
    names: list[MetricName]
    values: dict[tuple[str | None, str], g.Value]
    judged: list[g.Judged]
    inputs: list[dict[str, Any]]
    settings: dict[str, Any]
    frozen: Frozen
    provenance: dict[str, Any]
    lines: Callable[[str, Iterable[int]], dict[int, str]]
    baseline_verdict: str | None
    repeated_questions: list[tuple[str, str]]


def build(found: Findings) -> dict[str, Any]:
    """The report as the JSON object it is written as."""
    facts = _facts(found)
    invalid = _invalid(found)
    verdict = g.verdict(found.judged, invalid)
    suite = {
        "profile": "default",
        "inputs": found.inputs,
        "settings": found.settings,
        "frozen": found.frozen.state,
        "counts": _counts(found, facts),
        "metrics": {name.id: _metric(found.values[None, name.id], _ledger(name, facts)) for name in found.names},
        "slices": _slices(found),
        "labels": _labels(facts),
        "stages": _stages(facts),
        "offenders": [] if verdict == "SHIP" else [_offender(one, found.ks) for one in found.measured.offenders],
        "warnings": _warnings(found, facts),
    }
    gates = [_gate(one) for one in found.judged]
    return {
        "schema": SCHEMA,
        "tool": {"name": "ragworthy", "version": VERSION},
        "verdict": verdict.value,
        "exit_code": int(exit_code(verdict)),
        "invalid": invalid,
        "suites": {"answers": suite},
        "gates": gates,
        "next": _next(found, invalid),
        "provenance": found.provenance,
    }


def _facts(found: Findings) -> Counter[f.Facts]:
    facts: Counter[f.Facts] = Counter()
    for (flags, _), count in found.measured.tally.items():
        facts[f.unpack(flags, found.ks)] += count
    return facts


def _invalid(found: Findings) -> list[str]:
    """Why the evidence cannot carry a verdict, apart from gates that were not measured."""
    reasons = []
    missing = found.values[None, "answers.missing"].num
    if missing:
        reasons.append(f"{show.plural(missing, 'question has', 'questions have')} no trace")
    if found.frozen.state == "broken":
        reasons.append(found.frozen.reason)
    for one in found.judged:
        if one.outcome is Outcome.NOT_MEASURED and not one.gate.optional:
            reasons.append(f"{g.name_of(one.gate)} was not measured: {one.reason}")
    return reasons


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


def _metric(value: g.Value, ledger: dict[str, int]) -> dict[str, Any]:
    return _number(value) | {"ledger": ledger}


def _number(value: g.Value) -> dict[str, Any]:
    number = value.exact
    if value.den is None:
        shown: dict[str, Any] = {"value": value.num, "num": value.num, "den": None}
    else:
        shown = {"value": None if number is None else float(number), "num": value.num, "den": value.den}
    low, high = value.interval or (None, None)
    return shown | {"low": low, "high": high, "undefined": value.undefined}


def _slices(found: Findings) -> dict[str, Any]:
    names = sorted({group for group, _ in found.values if group is not None})
    return {group: {name.id: _number(found.values[group, name.id]) for name in found.names} for group in names}


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
    }


def _gate(one: g.Judged) -> dict[str, Any]:
    gate, value = one.gate, one.value
    number = value.exact if value is not None else None
    interval = value.interval if value is not None else None
    entry: dict[str, Any] = {
        "metric": gate.metric,
        "op": gate.op,
        "threshold": gate.threshold,
        "value": None if number is None else (number.numerator if value and value.den is None else float(number)),
        "outcome": one.outcome.value,
        "why": gate.why,
        "reason": one.reason or None,
        "num": value.num if value is not None and number is not None else None,
        "den": value.den if value is not None and number is not None else None,
        "low": interval[0] if interval else None,
        "high": interval[1] if interval else None,
        "margin": None if one.margin is None else float(one.margin),
        "shown": _shown(one),
        "slice": gate.slice,
        "evidence": gate.evidence,
        "min_n": gate.min_n,
        "optional": gate.optional,
        "note": too_small(one),
    }
    if gate.op == g.DROP:
        entry["baseline"] = None if one.baseline is None else float(one.baseline)
    if gate.op == g.EACH:
        entry["must_pass"] = list(gate.must_pass)
        entry["failing"] = list(one.failing)
    if gate.review is not None:
        entry["review"] = list(gate.review)
    if one.previous is not None and one.previous != gate.threshold:
        entry["previous"] = one.previous
    if one.waiver is not None:
        entry["waiver"] = one.waiver._asdict()
    return entry


def _shown(one: g.Judged) -> dict[str, str]:
    """The strings people see; made here once, so that no renderer rounds across a threshold."""
    gate, value = one.gate, one.value
    number = value.exact if value is not None else None
    limit = Fraction(gate.threshold)
    whole = value is not None and value.den is None
    if gate.op == g.EACH:
        passing = len(gate.must_pass) - len(one.failing)
        text, rule = f"{passing} of {len(gate.must_pass)} pass", "each must pass"
    elif gate.op == g.DROP:
        text = "–" if number is None else show.number(number, whole=whole)
        if one.baseline is not None:
            text = f"{text} (was {show.number(one.baseline, whole=whole)})"
        rule = f"drop ≤ {gate.threshold}"
    else:
        text = "–" if number is None else show.number(number, limit, whole=whole)
        rule = f"{'≥' if gate.op == g.MIN else '≤'} {gate.threshold}"
    interval = value.interval if value is not None else None
    return {
        "value": text,
        "cases": f"{value.num}/{value.den}" if value is not None and value.den else "",
        "interval": f"{interval[0]:.3f} … {interval[1]:.3f}" if interval else "",
        "rule": rule,
        "margin": "" if one.margin is None else show.signed(one.margin, whole=whole),
    }


def too_small(one: g.Judged) -> str | None:
    """What this many cases cannot show, and how many would be needed; None when there are enough.

    >>> gate = g.Gate("answers.under_refusal", "<=", "0.05")
    >>> value = g.Value(0, 20, None, (0.0, 0.16113), "lower", "unanswerable questions", "answered")
    >>> too_small(g.Judged(gate, Outcome.PASS, "", value))
    '0 of 20 unanswerable questions answered: the true rate may still be 16 %; 73 clean cases are needed to show 5 %'
    """
    gate, value = one.gate, one.value
    if value is None or not value.den or value.interval is None or gate.op not in (g.MIN, g.MAX):
        return None
    needed = cases_needed(gate.op, Fraction(gate.threshold))
    if needed is None or value.den >= max(needed):
        return None
    low, high = value.interval
    seen = f"{value.num} of {value.den} {value.cases} {value.event}"
    limit = show.percent(float(Fraction(gate.threshold)))
    if value.den < needed.to_pass:
        doubt = show.percent(high) if gate.op == g.MAX else f"as low as {show.percent(low)}"
        return f"{seen}: the true rate may still be {doubt}; {needed.to_pass} clean cases are needed to show {limit}"
    return f"{seen}: {needed.to_fail} cases are needed before a failure at {limit} could be shown"


# warnings

_MARKS: dict[int, tuple[str, str]] = {
    f.NOT_EXACT: ("RW-W01", "{n} spelled with other case or blanks around it"),
    f.REFUSED_CITING: ("RW-W02", "{n} with citations, which are ignored"),
    f.NEAR_REFUSAL: ("RW-W03", "{n} reading like a refusal, but counted as an answer"),
    f.REPEATED: ("RW-W04", "{n} repeating a citation id"),
    f.NO_RETRIEVED: ("RW-W05", "{n} without retrieved_ids"),
    f.UNKNOWN_CHUNK: ("RW-W17", "{n} citing ids that are not in the corpus given"),
    f.ERRORED: ("RW-W24", "{n} with an error instead of an answer, counted as empty answers"),
    f.VACUOUS: ("RW-W08", "{n} without gold_claim_substr: any claim counts as containing it"),
    f.SHORT_ENTRY: ("RW-W09", "{n} with gold_claim_substr entries under 5 characters"),
    f.NOT_NFC: ("RW-W10", "{n} with text that is not in Unicode form NFC"),
}
_NOUNS = {
    f.NOT_EXACT: "refusal",
    f.REFUSED_CITING: "refusal",
    f.NEAR_REFUSAL: "shipped claim",
    f.REPEATED: "answer",
    f.NO_RETRIEVED: "trace",
    f.UNKNOWN_CHUNK: "answer",
    f.ERRORED: "trace",
    f.VACUOUS: "answerable gold item",
    f.SHORT_ENTRY: "gold item",
    f.NOT_NFC: "gold item",
}


def _warnings(found: Findings, facts: Counter[f.Facts]) -> list[dict[str, Any]]:
    """What should be looked at, one entry a kind, with the first places in gold order."""
    measured = found.measured
    marks = Counter[int]()
    for (flags, _), count in measured.tally.items():
        for mark in _MARKS:
            if flags & mark:
                marks[mark] += count
    if found.settings["short_substr"] == "word":
        marks.pop(f.SHORT_ENTRY, None)
    entries = []
    for mark, (code, text) in _MARKS.items():
        if marks[mark]:
            message = text.format(n=show.plural(marks[mark], _NOUNS[mark]))
            entries.append(_warning(found, code, message, marks[mark], measured.notes.get(mark, [])))
    if measured.traces_replaced:
        n = measured.traces_replaced
        entries.append(_plain("RW-W06", f"{show.plural(n, 'trace was', 'traces were')} replaced by a later one", n))
    if measured.orphans:
        names = ", ".join(measured.orphan_ids)
        n = measured.orphans
        message = f"{show.plural(n, 'trace belongs', 'traces belong')} to no gold question, e.g. {names}"
        entries.append(_plain("RW-W07", message, n, measured.orphan_ids))
    if found.repeated_questions:
        pairs = found.repeated_questions
        example = " and ".join(pairs[0])
        message = f"{show.plural(len(pairs), 'question stands', 'questions stand')} under a second qid, e.g. {example}"
        entries.append(_plain("RW-W11", message, len(pairs), [qid for _, qid in pairs[:3]]))
    return entries + _set_warnings(found, facts)


def _set_warnings(found: Findings, facts: Counter[f.Facts]) -> list[dict[str, Any]]:
    """Warnings about the gold set and the comparison as a whole."""
    entries = []
    total = sum(facts.values())
    if not any(not one.answerable for one in facts):
        entries.append(_plain("RW-W12", "the gold set has no unanswerable question", 0))
    constrained = sum(count for one, count in facts.items() if one.constrained)
    if constrained and not found.settings["scu"]:
        message = (
            f"{show.plural(constrained, 'gold item carries', 'gold items carry')} constraints that were not checked"
        )
        entries.append(_plain("RW-W14", message, constrained))
    if total < RELEASE:
        use = "a release" if total >= SMOKE else "a smoke test"
        need = RELEASE if total >= SMOKE else SMOKE
        entries.append(_plain("RW-W15", f"{show.plural(total, 'question')}: {use} needs at least {need}", total))
    if found.frozen.state == "unlocked":
        entries.append(_plain("RW-W13", "the gold set has no lock file", 0))
    if found.frozen.state == "unfrozen":
        entries.append(_plain("RW-W16", f"scored although {found.frozen.reason}", 0))
    if found.baseline_verdict not in (None, "SHIP"):
        entries.append(_plain("RW-W22", f"the baseline's verdict is {found.baseline_verdict}", 0))
    for one in found.judged:
        if one.previous is not None and _looser(one):
            message = f"{g.name_of(one.gate)}: the threshold was {one.previous}, now it is {one.gate.threshold}"
            entries.append(_plain("RW-W23", message, 0))
    return entries


def _looser(one: g.Judged) -> bool:
    before, now = Fraction(one.previous or 0), Fraction(one.gate.threshold)
    return now < before if one.gate.op == g.MIN else now > before


def _warning(found: Findings, code: str, message: str, count: int, notes: list[Note]) -> dict[str, Any]:
    entry = _plain(code, message, count, [note.qid for note in notes])
    if notes:
        places = found.lines(notes[0].role, [note.offset for note in notes])
        entry["where"] = places[notes[0].offset]
        entry["places"] = [places[note.offset] for note in notes]
    return entry


def _plain(code: str, message: str, count: int, qids: list[str] | None = None) -> dict[str, Any]:
    return {
        "code": code,
        "name": CATALOGUE[code].name,
        "message": message,
        "where": None,
        "count": count,
        "qids": qids or [],
    }


# what to do next (spec answers §9)

RECALL_LOW = Fraction(7, 10)


def _next(found: Findings, invalid: list[str]) -> list[dict[str, str]]:
    """What the pattern of failures means and what to do, most telling first."""
    failed = {one.gate.metric.partition("@")[0] for one in found.judged if one.outcome is Outcome.FAIL}
    steps: list[tuple[str, str]] = []
    if found.values[None, "answers.missing"].num:
        steps.append(("questions without a trace", "run the pipeline over the whole gold set and score again"))
    if found.frozen.state == "broken":
        steps.append(("gold set changed", "restore the gold set, or freeze the change with a signature and a reason"))
    if any(one.outcome is Outcome.NOT_MEASURED and not one.gate.optional for one in found.judged):
        steps.append(("a gate was not measured", "give it cases (see the reason beside it), or mark the gate optional"))
    if "answers.precision" in failed and "answers.chr" in failed:
        steps.append(
            (
                "precision low, CHR low",
                "grounding is broken: check what is retrieved, then rerank and guard the answer",
            )
        )
    elif "answers.precision" in failed:
        steps.append(
            (
                "precision low, CHR high",
                "claims miss the gold text: tighten the claim's schema, or check the gold pieces",
            )
        )
    elif "answers.chr" in failed:
        steps.append(("CHR low", "answers cite other evidence than the gold: check citation choice and retrieval"))
    if "answers.under_refusal" in failed:
        steps.append(
            (
                "under-refusal high",
                "unanswerable questions were answered: strengthen refusal or retrieval constraints",
            )
        )
    recall = found.values[None, f"answers.recall@{found.ks[0]}"]
    low = recall.exact is not None and recall.exact < RECALL_LOW
    if "answers.over_refusal" in failed:
        hint = f"; recall@{found.ks[0]} is low too, so start with retrieval" if low else ""
        steps.append(
            (
                "over-refusal high",
                f"the guard is too strict, facts are split by chunking, or recall is too low{hint}",
            )
        )
    if low or failed & {"answers.recall", "answers.hit"}:
        steps.append((f"recall@{found.ks[0]} low", "look for index or manifest drift, then at the retrieval logic"))
    if failed & {"answers.scu", "answers.scu_violations"}:
        steps.append(("constraints broken", "lock the constraints in the prompt and echo them in the answer"))
    if "answers.compliance" in failed:
        steps.append(("answers of the wrong shape", "emit a non-empty claim and a list of citation ids"))
    near = sum(count for (flags, _), count in found.measured.tally.items() if flags & f.NEAR_REFUSAL)
    if near and ("answers.under_refusal" in failed or "answers.precision" in failed):
        steps.append(
            (
                "near-refusals",
                f"{show.plural(near, 'claim reads', 'claims read')} like a refusal; 'ragworthy doctor' lists them",
            )
        )
    if any(one.outcome is Outcome.UNDECIDED for one in found.judged):
        steps.append(
            (
                "a gate is undecided",
                "add questions until the interval is clear of the threshold, or decide by hand",
            )
        )
    return [{"pattern": pattern, "do": do} for pattern, do in steps]
