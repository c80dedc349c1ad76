"""What the agreement suite warns of, and what to do next."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from ragworthy.metrics.facts import raters as r
from ragworthy.metrics.facts.arbitration import REJECT, Voted
from ragworthy.metrics.facts.distance import ACCEPT
from ragworthy.names import Outcome
from ragworthy.report.part import Note, noted, size_note
from ragworthy.report.show import number, plural
from ragworthy.suites.agreement.votes import SEVERAL, Votes
from ragworthy.suites.evidence import Case, Found

AGREEING = {"agreement.percent", "agreement.kappa", "agreement.pairwise", "agreement.fleiss"}
"""Metrics that are low where votes differ."""
_TO_DO = {
    "agreement.abstain": (
        "abstentions",
        "give the validators what they need to decide, or mend answers that are empty",
    ),
    "agreement.operator_variance": (
        "operators differ in strictness",
        "mark some questions together before going on alone",
    ),
    "agreement.raters": ("too few operators", f"a release needs {r.RELEASE_RATERS} who mark the same questions"),
}
"""What the failure of a gate means, and what to do."""


def warnings(found: Found, escalations: Sequence[r.Escalation]) -> list[dict[str, Any]]:
    """What should be looked at."""
    form, votes = found.request.settings.form, found.own
    notes = _of_ballots(found, escalations) if form in SEVERAL else _of_pairs(found.cases, votes)
    code, what = ("RW-W06", "trace") if form == "traces" else ("RW-W73", "vote")
    many = plural(votes.replaced, f"{what} was", f"{what}s were")
    return noted(
        [*notes, Note(code, votes.replaced, f"{many} replaced by a later one"), size_note(len(found.cases), "item")]
    )


def _of_pairs(cases: Sequence[Case], votes: Votes) -> list[Note]:
    conflicts = [case.qid for case in cases if case.facts.conflict]
    rejected = len(cases) if all(case.own.final.label == REJECT for case in cases) else 0
    return [
        _alone("scholar", "auditor", votes.scholar_only),
        _alone("auditor", "scholar", votes.auditor_only),
        Note("RW-W71", len(conflicts), f"{plural(len(conflicts), 'pair ends', 'pairs end')} as VALID although the "
             "scholar says NOT_IN_CONTEXT (label_conflict)", conflicts),
        Note("RW-W78", rejected, f"all {plural(rejected, 'pair ends', 'pairs end')} as REJECT: agreement does not "
             "mean that answers are good"),
        *_of_traces(votes),
    ]  # fmt: skip


def _alone(who: str, other: str, qids: Sequence[str]) -> Note:
    """What only one of two files has."""
    text = f"{plural(len(qids), 'qid')} of the {who} without the {other}: left out, e.g. {', '.join(qids[:3])}"
    return Note("RW-W70", len(qids), text, qids)


def _of_traces(votes: Votes) -> list[Note]:
    renamed = Note("RW-W72", votes.renamed, f"{plural(votes.renamed, 'label')} INVALID taken as REJECT")
    if votes.asked is None:
        return [renamed]
    errored, orphans, unchecked = votes.asked.errored, votes.asked.orphans, votes.asked.unchecked
    return [
        Note("RW-W24", len(errored), f"{plural(len(errored), 'trace')} with an error instead of an answer", errored),
        renamed,
        Note("RW-W07", len(orphans), f"{plural(len(orphans), 'trace belongs', 'traces belong')} to no gold question, "
             f"e.g. {', '.join(orphans[:3])}", orphans),
        Note("RW-W14", unchecked, f"{plural(unchecked, 'gold item carries', 'gold items carry')} constraints that "
             "were not checked"),
    ]  # fmt: skip


def _of_ballots(found: Found, escalations: Sequence[r.Escalation]) -> list[Note]:
    everybody = found.evidence.counts["raters"]
    uneven = [case.qid for case in found.cases if not case.own.complete]
    few = everybody if found.request.settings.form == "operators" and everybody < r.RELEASE_RATERS else 0
    differs = [one.name for one in found.own.marks if (r.marked(one) == r.CORRECT) != one.correct]
    return [
        Note("RW-W74", few, f"{plural(everybody, 'operator')}: a release needs {r.RELEASE_RATERS}"),
        Note("RW-W75", len(uneven), f"{plural(len(uneven), 'item lacks', 'items lack')} the vote of a rater", uneven),
        Note("RW-W77", len(differs), f"{plural(len(differs), 'record is', 'records are')} marked in another way than "
             "by the marking rule", list(dict.fromkeys(differs))),
        *(Note("RW-W76", 1, _escalated(one), one.qids) for one in escalations),
    ]  # fmt: skip


def _escalated(one: r.Escalation) -> str:
    value, limit = one.value or Fraction(0), one.limit or Fraction(0)
    if one.what == "disagreement":
        return f"disagreement {number(value, limit)} is above {number(limit)}: a third person decides"
    if one.what == "cost":
        return f"a record costs {number(value, limit)} USD on average, above {number(limit)}: halt"
    many = plural(int(value), "record is", "records are")
    return f"{many} labelled correct although the distance is above {number(ACCEPT)}"


def steps(found: Found) -> list[tuple[str, str]]:
    """What the pattern of failures means and what to do, most telling first."""
    failed = {one.gate.metric for one in found.outcomes(Outcome.FAIL)}
    red = sum(isinstance(case.facts, Voted) and case.own.flagged for case in found.cases)
    told: list[tuple[str, str]] = []
    if found.evidence.missing[0]:
        told.append(("questions without a trace", "run the pipeline over the whole gold set and score again"))
    told += found.unmeasured_step()
    if failed and red:
        many = plural(red, "answer breaks", "answers break")
        told.append(("red flags", f"{many} provenance, scope or constraints: mend these first, then the rest"))
    if failed & AGREEING:
        told.append(("agreement low", "read the disagreements one by one: sharpen the rule that both apply"))
    return told + [what for metric, what in _TO_DO.items() if metric in failed]
