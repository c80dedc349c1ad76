"""What a report says besides numbers: warnings, and what to do next."""

from collections import Counter
from fractions import Fraction
from typing import Any

from ragworthy import gates as g
from ragworthy.metrics.facts import answers as f
from ragworthy.names import Outcome
from ragworthy.records import Note
from ragworthy.report import show
from ragworthy.report.warn import RELEASE, SMOKE, plain, release_warnings
from ragworthy.suites.answers.findings import Findings

_MARKS: dict[int, tuple[str, str]] = {
    f.NOT_EXACT: ("RW-W01", "{n} spelled with other case or blanks around it"),
    f.REFUSED_CITING: ("RW-W02", "{n} with citations, which are ignored"),
    f.NEAR_REFUSAL: ("RW-W03", "{n} reading like a refusal, but counted as an answer"),
    f.REPEATED: ("RW-W04", "{n} repeating a citation id"),
    f.NO_RETRIEVED: ("RW-W05", "{n} without retrieved_ids"),
    f.UNKNOWN_CHUNK: ("RW-W17", "{n} citing ids that are not in the corpus given"),
    f.ERRORED: ("RW-W24", "{n} with an error instead of an answer"),
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


def warnings(found: Findings, facts: Counter[f.Facts]) -> list[dict[str, Any]]:
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
            if mark == f.ERRORED:
                message += f", e.g. {said_errors(found)[0]}"
            entries.append(_warning(found, code, message, marks[mark], measured.notes.get(mark, [])))
    if measured.traces_replaced:
        n = measured.traces_replaced
        entries.append(plain("RW-W06", f"{show.plural(n, 'trace was', 'traces were')} replaced by a later one", n))
    if measured.orphans:
        names = ", ".join(measured.orphan_ids)
        n = measured.orphans
        message = f"{show.plural(n, 'trace belongs', 'traces belong')} to no gold question, e.g. {names}"
        entries.append(plain("RW-W07", message, n, measured.orphan_ids))
    if found.repeated_questions:
        pairs = found.repeated_questions
        example = " and ".join(pairs[0])
        message = f"{show.plural(len(pairs), 'question stands', 'questions stand')} under a second qid, e.g. {example}"
        entries.append(plain("RW-W11", message, len(pairs), [qid for _, qid in pairs[:3]]))
    return entries + _set_warnings(found, facts)


def _set_warnings(found: Findings, facts: Counter[f.Facts]) -> list[dict[str, Any]]:
    """Warnings about the gold set and the comparison as a whole."""
    entries = []
    total = sum(facts.values())
    if not any(not one.answerable for one in facts):
        entries.append(plain("RW-W12", "the gold set has no unanswerable question", 0))
    constrained = sum(count for one, count in facts.items() if one.constrained)
    if constrained and not found.settings["scu"]:
        message = (
            f"{show.plural(constrained, 'gold item carries', 'gold items carry')} constraints that were not checked"
        )
        entries.append(plain("RW-W14", message, constrained))
    if total < RELEASE:
        use = "a release" if total >= SMOKE else "a smoke test"
        need = RELEASE if total >= SMOKE else SMOKE
        entries.append(plain("RW-W15", f"{show.plural(total, 'question')}: {use} needs at least {need}", total))
    return entries + release_warnings(found.frozen, found.baseline_verdict, found.judged)


def _warning(found: Findings, code: str, message: str, count: int, notes: list[Note]) -> dict[str, Any]:
    entry = plain(code, message, count, [note.qid for note in notes])
    if notes:
        places = found.lines(notes[0].role, [note.offset for note in notes])
        entry["where"] = places[notes[0].offset]
        entry["places"] = [places[note.offset] for note in notes]
    return entry


# what to do next

RECALL_LOW = Fraction(7, 10)


def said_errors(found: Findings) -> list[str]:
    """What the first few errored traces say, each once."""
    return list(dict.fromkeys(note.said for note in found.measured.notes.get(f.ERRORED, ())))


def _without_errors(found: Findings, name: str) -> tuple[int, int]:
    """Numerator and denominator of a rate over the questions that did not end in an error."""
    metric = next(one for one in found.names if one.id == name)
    good = asked = 0
    for (flags, _), count in found.measured.tally.items():
        facts = f.unpack(flags, found.ks)
        word = metric.metric.of(facts) if metric.k is None else metric.metric.of(facts, k=metric.k)
        if word is not None and not facts.errored:
            good += count * word
            asked += count
    return good, asked


def _only_errors(found: Findings, failed: set[str]) -> set[str]:
    """Of the metrics that failed, those where every question but the errored ones is good: there is nothing to fix."""
    rates = {"answers.precision", "answers.chr", "answers.containment", "answers.compliance"} & failed
    counted = {name: _without_errors(found, name) for name in rates}
    return {name for name, (good, asked) in counted.items() if good == asked}


def next_steps(found: Findings) -> list[dict[str, str]]:
    """What the pattern of failures means and what to do, most telling first."""
    failing = [one for one in found.judged if one.outcome is Outcome.FAIL]
    failed = {one.gate.metric.partition("@")[0] for one in failing if one.gate.op != g.EACH}
    steps: list[tuple[str, str]] = []
    if errors := said_errors(found):
        steps.append(("errors instead of answers", f"{'; '.join(errors)}: fix the pipeline and run it again"))
        failed -= _only_errors(found, failed)
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
    reached, asked = _without_errors(found, f"answers.recall@{found.ks[0]}")
    low = reached < RECALL_LOW * asked
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
        alike = show.plural(near, "claim reads", "claims read")
        steps.append(("near-refusals", f"{alike} like a refusal; 'ragworthy doctor' lists those that recur"))
    if any(one.gate.op == g.EACH for one in failing):
        steps.append(("questions that must pass do not", "look at each of them by its qid in the rows (--rows FILE)"))
    if any(one.outcome is Outcome.UNDECIDED for one in found.judged):
        steps.append(
            (
                "a gate is undecided",
                "add questions until the interval is clear of the threshold, or decide by hand",
            )
        )
    return [{"pattern": pattern, "do": do} for pattern, do in steps]
