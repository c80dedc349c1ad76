"""What the answers suite says where evidence is missing: in the gold set, in the corpus, or for want of a corpus."""

from collections.abc import Iterable, Sequence
from typing import Any

from ragworthy.gates import MIN, Gate, Value
from ragworthy.metrics.answers import OF_PIECES, OF_REFERENCES, by_reference_only
from ragworthy.metrics.facts.answers import Facts
from ragworthy.metrics.registry import MetricName, find
from ragworthy.names import DEFAULT_K
from ragworthy.report.part import Note, again_note, noted, plain, unchecked_note
from ragworthy.report.show import plural
from ragworthy.suites.answers.bound import STEPS, Bindings
from ragworthy.suites.answers.rules import TEXT_GATE
from ragworthy.suites.evidence import Case, Fate, Found

NO_EVIDENCE = "no gold evidence"
"""Why metrics of citations say nothing of a question, or of a gold set, that names none."""
TO_BIND = "give --corpus to bind the evidence"
NO_TEXT = "no gold text to look for"
"""Why nothing can be said of cited chunks where no question has some."""
SUPPORT = "answers.support"
_TEXT = "answers.containment"
_SAYS = "containment and refusals are measured; precision, CHR, recall and hit are not"
_SAYS_BY_REFERENCE = "references and refusals are measured; precision, containment, CHR, recall and hit are not"


def needs_evidence(metric: str) -> bool:
    """Whether a metric looks at citations or at what was retrieved."""
    found = find(metric, default_k=DEFAULT_K)
    return found is not None and found.metric.needs == "evidence"


def fitting(gates: tuple[Gate, ...], facts: Sequence[Facts]) -> tuple[Gate, ...]:
    """The gates that fit the evidence of a gold set: on citations where all questions have some, else on the text."""
    if without_evidence(facts) == NO_EVIDENCE:
        return for_text(gates)
    mixed = any(one.by_text and not one.by_reference for one in facts) and any(one.evidence for one in facts)
    return with_text(gates) if mixed else gates


def for_text(gates: tuple[Gate, ...]) -> tuple[Gate, ...]:
    """The gates where no question has evidence: those on citations that nobody wrote give way to one on the text."""
    gone = [gate for gate in gates if gate.usual and needs_evidence(gate.metric)]
    stay = tuple(gate for gate in gates if gate not in gone)
    first = next((gate for gate in gates if _stood_for(gate)), None)
    if first is None or any((gate.metric, gate.op) == (_TEXT, MIN) for gate in stay):
        return stay
    return (_on_text(first), *stay)


def with_text(gates: tuple[Gate, ...]) -> tuple[Gate, ...]:
    """The gates where some questions have no evidence: beside the default ones on citations, or what somebody named in
    their place, one on the text.

    Without it no gate would see a wrong answer to such a question.
    """
    usual = [nth for nth, gate in enumerate(gates) if _stood_for(gate)]
    if not usual or any((gate.metric, gate.op) == (_TEXT, MIN) for gate in gates):
        return gates
    first, after = gates[usual[0]], usual[-1] + 1
    return (*gates[:after], _on_text(first), *gates[after:])


def _stood_for(gate: Gate) -> bool:
    """Whether a gate on the text stands in for it: a default one on citations, or one that was named in its place."""
    return (gate.usual or gate.replaces) and gate.op == MIN and needs_evidence(gate.metric)


def _on_text(gate: Gate) -> Gate:
    return TEXT_GATE._replace(suite=gate.suite, evidence=gate.evidence, kept=gate.kept or gate.replaces)


def for_references(gates: tuple[Gate, ...]) -> tuple[Gate, ...]:
    """The gates where only references say what is right: with one on references, those on pieces give way."""
    if not any(gate.metric in OF_REFERENCES for gate in gates):
        return gates
    return tuple(gate for gate in gates if not (gate.usual and gate.metric in OF_PIECES))


def unmeasured(cases: Sequence[Case]) -> str | None:
    """Why nothing can be said about citations of these questions."""
    return without_evidence(case.facts for case in cases if case.weight)


def without_evidence(facts: Iterable[Facts]) -> str | None:
    """Why nothing can be said about citations: no answerable question has evidence to hold them against."""
    answerable = [one for one in facts if one.answerable]
    if not answerable or any(facts.evidence for facts in answerable):
        return None
    return TO_BIND if any(facts.unbound for facts in answerable) else NO_EVIDENCE


def textless(facts: Iterable[Facts]) -> bool:
    """Whether not one answerable question has gold text: then no cited chunk could hold any."""
    answerable = [one.textless for one in facts if one.answerable]
    return bool(answerable) and all(answerable)


def no_case(name: MetricName, case: Case, value: Value) -> str | None:
    """Why a question is not in a metric's denominator; None where it is for what the metric counts."""
    metric, facts = name.metric, case.facts
    if metric.id in OF_PIECES and facts.by_reference:
        return "a reference and no gold_claim_substr"
    if case.fate is Fate.ERRORED:
        return "error"
    if metric.needs == "evidence" and (facts.by_text or value.undefined == NO_EVIDENCE):
        return TO_BIND if facts.unbound else NO_EVIDENCE
    if case.fate is Fate.REFUSED and of_shipped(name):
        return "refused"
    if metric.id == SUPPORT and facts.tried:
        return NO_TEXT if value.undefined == NO_TEXT else "no chunk texts to look into (--corpus)"
    return None


def of_shipped(name: MetricName) -> bool:
    """Whether a metric looks at shipped answers only, so that a refusal does not count for it."""
    return name.metric.cases.startswith("shipped")


def invalid(found: Found, bound: Bindings | None) -> list[str]:
    """Why there is no verdict: a gate on citations rests on evidence that the corpus does not have."""
    if not any(needs_evidence(one.gate.metric) and not one.gate.optional for one in found.judged):
        return []
    lost = sum(case.weight for case in found.cases if case.facts.evidence and case.facts.unbound)
    if bound is None and lost:
        return [f"{plural(lost, 'question has', 'questions have')} evidence that was bound to no chunk [RW-G17]"]
    return bound.invalid if bound is not None else []


def evidence_warnings(found: Found, bound: Bindings | None, unchecked: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Questions that are judged by their text only, and evidence that is not where the gold set says."""
    answerable = found.evidence.counts["answerable"]
    bare = sum(case.weight for case in found.cases if case.facts.by_text and not case.facts.unbound)
    loose = sum(case.weight for case in found.cases if case.facts.by_text and case.facts.unbound)
    some = f"{bare:,} of {answerable:,} answerable gold items" if bare < answerable else plural(bare, "gold item")
    notes = [
        Note("RW-W88", bare, f"{some} without evidence: {_bare(found, mixed=bare < answerable)}"),
        Note("RW-W87", loose, f"{plural(loose, 'gold item names', 'gold items name')} evidence and no ids: {TO_BIND}"),
    ]
    if bound is None:
        return noted([*notes, unchecked_note(unchecked)])
    lost = list(dict.fromkeys(one.qid for one in bound.lost))
    entries = noted(
        [
            *notes,
            Note("RW-W86", len(bound.differing), f"{plural(len(bound.differing), 'gold item')} whose ids are not the "
                 "chunks that hold the evidence: the evidence counts", bound.differing),
            Note("RW-W85", len(bound.elsewhere), f"{plural(len(bound.elsewhere), 'gold item')} whose evidence is not "
                 f"just where its source says, e.g. {bound.elsewhere[0] if bound.elsewhere else ''}"),
            again_note(bound.again),
        ]
    )  # fmt: skip
    entries = [*bound.stale.warnings(), *entries]
    if bound.lost:
        one = bound.lost[0]
        where = "in nothing that was retrieved and counted as not found" if bound.retrieved else "in no chunk"
        message = f"{plural(len(bound.lost), 'piece')} of gold evidence {where}, e.g. that of {one.qid}: {one.why}"
        entries.append(plain("RW-G17", message, len(bound.lost), lost[:3]))
    if bound.gone:
        message = f"{plural(len(bound.gone), 'gold id')} not in the corpus, e.g. {bound.gone[0]}"
        entries.append(plain("RW-G13", message, len(bound.gone)))
    return entries


def _bare(found: Found, *, mixed: bool) -> str:
    """What becomes of questions without evidence."""
    judged = any(one.gate.metric == _TEXT for one in found.judged)
    if mixed:
        gate = f"{_TEXT} judges their text" if judged else f"no gate judges their text (gate {_TEXT})"
        return f"not counted in precision, CHR, recall and hit; {gate}"
    if by_reference_only(case.facts for case in found.cases):
        return _SAYS_BY_REFERENCE
    instead = any(one.gate.usual and one.gate.metric == _TEXT for one in found.judged)
    return f"{_SAYS}, and {_TEXT} is judged in their place" if instead else _SAYS


def evidence_steps(bound: Bindings | None) -> list[tuple[str, str]]:
    """What to do about evidence and ids that the corpus does not have."""
    steps = bound.stale.steps() if bound is not None else []
    if bound is not None and bound.lost and not bound.retrieved:
        fix = "'ragworthy gold bind' lists it with the nearest chunks: fix the evidence, or the corpus"
        steps.append(("gold evidence is in no chunk", fix))
    if bound is not None and bound.gone:
        other = "score against the chunks they were written for, or say what the evidence is (gold_evidence)"
        steps.append(("gold ids are not in the corpus", other))
    return steps


def told(bound: Bindings | None) -> dict[str, Any]:
    """How evidence was bound, as the report has it; nothing where none was."""
    if bound is None or not bound.items:
        return {}
    return {
        "binding": {
            "items": bound.items,
            "how": {step: bound.how[step] for step in STEPS},
            "unbound": [one._asdict() for one in bound.lost],
        }
    }


def evidence_lines(body: dict[str, Any]) -> list[str]:
    """The same for people, with the first pieces that no chunk holds."""
    binding = body.get("binding")
    if binding is None:
        return []
    how = {step: count for step, count in binding["how"].items() if count}
    steps = ", ".join(f"{count:,} {'by source' if step == 'source' else step}" for step, count in how.items())
    pieces = plural(sum(how.values()), "piece")
    lines = [f"evidence of {plural(binding['items'], 'question')}: {pieces}: {steps}"]
    guessed = how.get("overlap", 0) + how.get("parts", 0)
    if guessed:
        texts = plural(guessed, "text")
        lines.append(f"  {texts} bound by overlap or in parts: 'ragworthy gold bind --review' lists them to look at")
    lines += [f"  unbound: {one['qid']}: {one['why']}" for one in binding["unbound"][:3]]
    more = len(binding["unbound"]) - 3
    return lines if more <= 0 else [*lines, f"  … and {more:,} more (--format json lists all)"]
