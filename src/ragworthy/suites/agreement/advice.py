"""What the report of the agreement suite says besides numbers: warnings, steps, its own keys, lines for people."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from ragworthy.metrics.facts import raters as r
from ragworthy.metrics.facts.arbitration import HEADER, LABELS, REJECT, Voted, disagreements, tsv
from ragworthy.metrics.facts.distance import ACCEPT
from ragworthy.names import Outcome
from ragworthy.report.part import Note, noted, orphan_note, size_note
from ragworthy.report.show import number, plural
from ragworthy.suites.agreement import audit
from ragworthy.suites.agreement.read import SEVERAL, Votes
from ragworthy.suites.evidence import Case, Found
from ragworthy.suites.locked import unchecked, unruled_note

AGREEING = {"agreement.percent", "agreement.kappa", "agreement.pairwise", "agreement.fleiss"}
"""Metrics that are low where votes differ."""
_TO_DO = {
    "agreement.abstain": (
        "abstentions",
        "give the validators what they need to decide, or fix answers that are empty",
    ),
    "agreement.operator_variance": (
        "operators differ in strictness",
        "mark some questions together before going on alone",
    ),
    "agreement.audit_reproducibility": (
        "a second look comes to another mark",
        "look at these records together, write down the rule that was missing, and mark all of them by it",
    ),
    "agreement.delta_s_drift": (
        "distances moved",
        "record ΔS by one model, and look at whether the snippet is the one that was marked",
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
        [
            *notes,
            Note(code, votes.replaced, f"{many} replaced by a later one"),
            size_note(len(found.cases), "item", "agreement"),
        ]
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
    errored, orphans = votes.asked.errored, votes.asked.orphans
    return [
        Note("RW-W24", len(errored), f"{plural(len(errored), 'trace')} with an error instead of an answer", errored),
        renamed,
        orphan_note(len(orphans), orphans[:3]),
        unchecked(votes.asked.unchecked),
        unruled_note(votes.asked.unruled),
    ]


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
        *audit.notes(found.own),
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
        told.append(("red flags", f"{many} provenance, scope or constraints: fix these first, then the rest"))
    if failed & AGREEING:
        told.append(("agreement low", "read the disagreements one by one: sharpen the rule that both apply"))
    return told + [what for metric, what in _TO_DO.items() if metric in failed]


# keys of the report


def of_pairs(found: Found) -> dict[str, Any]:
    """Who said what, how it ended, and every disagreement."""
    pairs = [case.facts for case in found.cases]
    both = Counter((one.scholar, one.auditor) for one in pairs)
    labels = Counter(case.own.final.label for case in found.cases)
    why = Counter(case.own.final.why for case in found.cases)
    return {
        "confusion": {
            one: {other: both[one, other] for other in LABELS}
            for one in LABELS
            if any(both[one, two] for two in LABELS)
        },
        "finals": {label: labels[label] for label in LABELS if labels[label]},
        "why": dict(sorted(why.items())),
        "disagreements": [dict(zip(HEADER, row, strict=True)) for row in disagreements(pairs)],
        "unpaired": {"scholar": list(found.own.scholar_only), "auditor": list(found.own.auditor_only)},
    }


def of_raters(found: Found, escalations: Sequence[r.Escalation]) -> dict[str, Any]:
    """How each rater voted, how each two agree, every disagreement; of operators, what has to be looked at."""
    ballots = [case.facts for case in found.cases]
    rates = r.correct_rates(ballots)
    body: dict[str, Any] = {
        "raters": {name: {"votes": total} for name, (_, total) in rates.items()},
        "by_pair": [{"raters": list(one.raters), "same": one.same, "both": one.both} for one in r.by_pair(ballots)],
        "disagreements": [
            {"qid": ballot.qid, "votes": dict(ballot.votes)} for ballot in ballots if len(ballot.labels) > 1
        ],
    }
    if found.request.settings.form != "operators":
        return body
    cost = r.mean_cost(found.own.marks)
    states = Counter(mark.state for mark in found.own.marks if mark.state)
    return body | {
        "raters": {name: {"votes": total, "correct": good} for name, (good, total) in rates.items()},
        "marking": dict(sorted(Counter(map(r.marked, found.own.marks)).items())),
        "lambda": dict(sorted(states.items())),
        "mean_cost_usd": None if cost is None else float(cost),
        "escalations": list(map(_escalation, escalations)),
        **(audit.told(found.own) if found.own.audits else {}),
    }


def _escalation(one: r.Escalation) -> dict[str, Any]:
    return {
        "what": one.what,
        "value": None if one.value is None else float(one.value),
        "limit": None if one.limit is None else float(one.limit),
        "qids": list(one.qids),
    }


def tsv_of(body: dict[str, Any]) -> str:
    """The table of disagreements of a report, in input order; only its header where there is none."""
    if "raters" not in body:
        return tsv(tuple(one.values()) for one in body["disagreements"])
    names = list(body["raters"])
    return tsv(
        ([one["qid"], *(one["votes"].get(name, "") for name in names)] for one in body["disagreements"]),
        ("qid", *names),
    )


# what text and Markdown say


def counts_line(counts: dict[str, Any]) -> str:
    """How many votes there were, and how far they agree."""
    apart = f"{counts['agreed']:,} agreed, {counts['disagreements']:,} not"
    if "pairs" in counts:
        return f"{plural(counts['pairs'], 'pair')}: {apart}, {counts['abstained']:,} with an abstention"
    items = f"{plural(counts['items'], 'item')}, {plural(counts['raters'], 'rater')}"
    return f"{items}, {plural(counts['votes'], 'vote')}: {apart}, {counts['single']:,} with one vote only"


def lines(body: dict[str, Any]) -> list[str]:
    """Who said what, how it ends, and why κ has no value where it has none."""
    if "raters" in body:
        return _rater_lines(body)
    told = []
    if body["finals"]:
        ends = ", ".join(f"{name} {count:,}" for name, count in body["finals"].items())
        by = ", ".join(f"{name} {count:,}" for name, count in body["why"].items())
        told.append(f"ends as: {ends} (by {by})")
    apart = Counter(f"{one['scholar']}/{one['auditor']}" for one in body["disagreements"])
    if apart:
        told.append("scholar/auditor: " + ", ".join(f"{both} {count:,}" for both, count in apart.most_common()))
    reason = body["metrics"]["agreement.kappa"]["undefined"]
    return [*told, f"κ has no value ({reason})"] if reason else told


def _rater_lines(body: dict[str, Any]) -> list[str]:
    who = [
        f"{name} {one['correct']:,}/{one['votes']:,}" if "correct" in one else f"{name} {one['votes']:,}"
        for name, one in body["raters"].items()
    ]
    told = [f"{'correct by operator' if 'marking' in body else 'votes by rater'}: {', '.join(who)}"]
    pairs = [f"{' and '.join(one['raters'])} {one['same']:,}/{one['both']:,}" for one in body["by_pair"] if one["both"]]
    told += [f"agreeing: {', '.join(pairs)}"] if pairs else []
    if "marking" in body:
        told.append("by the marking rule: " + ", ".join(f"{name} {n:,}" for name, n in body["marking"].items()))
    if "audit" in body:
        told.append(audit.line(body["audit"]))
    reason = body["metrics"]["agreement.fleiss"]["undefined"]
    return [*told, f"Fleiss' κ has no value ({reason})"] if reason else told
