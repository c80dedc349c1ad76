"""What the answers suite says where evidence is missing: in the gold set, in the corpus, or for want of a corpus."""

from collections.abc import Iterable, Sequence
from typing import Any

from ragworthy.gates import MIN, Gate
from ragworthy.metrics.answers import OF_PIECES, OF_REFERENCES, by_reference_only
from ragworthy.metrics.facts.answers import Facts
from ragworthy.metrics.registry import find
from ragworthy.names import DEFAULT_K
from ragworthy.report.part import Note, again_note, noted, plain, unchecked_note
from ragworthy.report.show import plural
from ragworthy.suites.answers.bound import STEPS, Bindings
from ragworthy.suites.answers.rules import TEXT_GATE
from ragworthy.suites.evidence import Case, Found

NO_EVIDENCE = "no gold evidence"
"""Why metrics of citations say nothing of a question, or of a gold set, that names none."""
TO_BIND = "give --corpus to bind the evidence"
_TEXT = "answers.containment"
_SAYS = "containment and refusals are measured; precision, CHR, recall and hit are not"
_SAYS_BY_REFERENCE = "references and refusals are measured; precision, containment, CHR, recall and hit are not"


def needs_evidence(metric: str) -> bool:
    """Whether a metric looks at citations or at what was retrieved."""
    found = find(metric, default_k=DEFAULT_K)
    return found is not None and found.metric.needs == "evidence"


def for_text(gates: tuple[Gate, ...]) -> tuple[Gate, ...]:
    """The gates where no question has evidence: those on citations that nobody wrote give way to one on the text."""
    gone = [gate for gate in gates if gate.usual and needs_evidence(gate.metric)]
    stay = tuple(gate for gate in gates if gate not in gone)
    first = next((gate for gate in gone if gate.op == MIN), None)
    if first is None or any((gate.metric, gate.op) == (_TEXT, MIN) for gate in stay):
        return stay
    return (TEXT_GATE._replace(suite=first.suite, evidence=first.evidence), *stay)


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
    instead = any(one.gate.usual and one.gate.metric == _TEXT for one in found.judged)
    says = f"{_SAYS}, and {_TEXT} is judged in their place" if instead else _SAYS
    if by_reference_only(case.facts for case in found.cases):
        says = _SAYS_BY_REFERENCE
    rest = "no case of precision, CHR, recall and hit: only their text is judged" if bare < answerable else says
    notes = [
        Note("RW-W88", bare, f"{some} without evidence: {rest}"),
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


def evidence_steps(bound: Bindings | None) -> list[tuple[str, str]]:
    """What to do about evidence and ids that the corpus does not have."""
    steps = bound.stale.steps() if bound is not None else []
    if bound is not None and bound.lost and not bound.retrieved:
        mend = "'ragworthy gold bind' lists it with the nearest chunks: mend the evidence, or the corpus"
        steps.append(("gold evidence is in no chunk", mend))
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
