"""Everything the report of the agreement suite is made from; its warnings, and what to do next."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from ragworthy import gates as g
from ragworthy.metrics.facts import raters as r
from ragworthy.metrics.facts.arbitration import REJECT, Voted, arbitrate
from ragworthy.metrics.facts.distance import ACCEPT
from ragworthy.names import Outcome
from ragworthy.records import Gold
from ragworthy.report import show
from ragworthy.report.part import Frozen
from ragworthy.report.warn import RELEASE, SMOKE, plain, release_warnings

Noted = tuple[str, int, str, list[str]]
"""A code, how often, what it says, and the ids."""


class Counted(NamedTuple):
    """What happened to votes while they were read."""

    replaced: int
    renamed: int
    scholar_only: Sequence[str]
    auditor_only: Sequence[str]


class Found(NamedTuple):
    """Everything a report is made from."""

    form: str
    pairs: list[Voted]
    ballots: list[r.Ballot]
    marks: list[r.Mark]
    names: tuple[str, ...]
    values: dict[tuple[str | None, str], g.Value]
    judged: list[g.Judged]
    inputs: list[dict[str, Any]]
    settings: dict[str, Any]
    frozen: Frozen
    baseline_verdict: str | None
    votes: Counted
    questions: dict[str, Gold]
    """The gold questions by id, where there is a gold set."""
    missing: list[str]
    """Questions without a trace; the validators abstain there."""
    errored: frozenset[str]
    """Questions whose trace is an error, or holds no answer."""
    orphans: list[str]
    unchecked: int
    """Gold items with constraints that nobody looked at."""
    escalations: list[r.Escalation]
    most_offenders: int


def several(found: Found) -> bool:
    """Whether the votes are those of several raters, and not of two validators."""
    return found.form in ("raters", "operators")


def flagged(one: Voted) -> bool:
    """Whether a pair ends as REJECT whatever the validators say."""
    return arbitrate(one).why in ("hard_flag", "citation_out_of_scope")


def all_rejected(found: Found) -> bool:
    """Whether the validators agree, and what they agree on is that nothing may ship."""
    return bool(found.pairs) and all(arbitrate(one).label == REJECT for one in found.pairs)


def warnings(found: Found) -> list[dict[str, Any]]:
    """What should be looked at, one entry a kind."""
    noted = _of_ballots(found) if several(found) else _of_votes(found)
    replaced, cases = found.votes.replaced, len(found.pairs) + len(found.ballots)
    what = "trace" if found.form == "traces" else "vote"
    noted.append(
        ("RW-W06" if what == "trace" else "RW-W73", replaced,
         f"{show.plural(replaced, f'{what} was', f'{what}s were')} replaced by a later one", [])
    )  # fmt: skip
    least = f"a smoke test needs at least {SMOKE}" if cases < SMOKE else f"a release needs at least {RELEASE}"
    noted.append(("RW-W15", cases if cases < RELEASE else 0, f"{show.plural(cases, 'item')}: {least}", []))
    entries = [plain(code, message, count, qids[:3]) for code, count, message, qids in noted if count]
    return entries + release_warnings(found.frozen, found.baseline_verdict, found.judged)


def _of_votes(found: Found) -> list[Noted]:
    votes, orphans = found.votes, found.orphans
    conflicts = [one.qid for one in found.pairs if one.conflict]
    rejected = len(found.pairs) if all_rejected(found) else 0
    noted: list[Noted] = [
        ("RW-W70", len(only), f"{show.plural(len(only), 'qid')} of the {who} without the {other}: left out, "
                              f"e.g. {', '.join(only[:3])}", list(only))
        for who, other, only in (("scholar", "auditor", votes.scholar_only), ("auditor", "scholar", votes.auditor_only))
    ]  # fmt: skip
    return [
        *noted,
        ("RW-W71", len(conflicts), f"{show.plural(len(conflicts), 'pair ends', 'pairs end')} as VALID although the "
                                   "scholar says NOT_IN_CONTEXT (label_conflict)", conflicts),
        ("RW-W78", rejected, f"all {show.plural(rejected, 'pair ends', 'pairs end')} as REJECT: agreement does not "
                             "mean that answers are good", []),
        ("RW-W24", len(found.errored), f"{show.plural(len(found.errored), 'trace')} with an error instead of an answer",
         sorted(found.errored)),
        ("RW-W72", votes.renamed, f"{show.plural(votes.renamed, 'label')} INVALID taken as REJECT", []),
        ("RW-W07", len(orphans), f"{show.plural(len(orphans), 'trace belongs', 'traces belong')} to no gold question, "
                                 f"e.g. {', '.join(orphans[:3])}", orphans),
        ("RW-W14", found.unchecked, f"{show.plural(found.unchecked, 'gold item carries', 'gold items carry')} "
                                    "constraints that were not checked", []),
    ]  # fmt: skip


def _of_ballots(found: Found) -> list[Noted]:
    everybody = len(r.raters_of(found.ballots))
    uneven = [ballot.qid for ballot in found.ballots if len(ballot.votes) < everybody]
    few = everybody if found.form == "operators" and everybody < r.RELEASE_RATERS else 0
    differs = [one.name for one in found.marks if (r.marked(one) == r.CORRECT) != one.correct]
    noted: list[Noted] = [
        ("RW-W74", few, f"{show.plural(everybody, 'operator')}: a release needs {r.RELEASE_RATERS}", []),
        ("RW-W75", len(uneven), f"{show.plural(len(uneven), 'item lacks', 'items lack')} the vote of a rater", uneven),
        ("RW-W77", len(differs), f"{show.plural(len(differs), 'record is', 'records are')} marked in another way than "
                                 "by the marking rule", list(dict.fromkeys(differs))),
    ]  # fmt: skip
    return noted + [("RW-W76", 1, _escalated(one), list(one.qids)) for one in found.escalations]


def _escalated(one: r.Escalation) -> str:
    number, limit = one.value or Fraction(0), one.limit or Fraction(0)
    if one.what == "disagreement":
        return f"disagreement {show.number(number, limit)} is above {show.number(limit)}: a third person decides"
    if one.what == "cost":
        return f"a record costs {show.number(number, limit)} USD on average, above {show.number(limit)}: halt"
    many = show.plural(int(number), "record is", "records are")
    return f"{many} labelled correct although the distance is above {show.number(ACCEPT)}"


def next_steps(found: Found) -> list[dict[str, str]]:
    """What the pattern of failures means and what to do, most telling first."""
    failed = {one.gate.metric for one in found.judged if one.outcome is Outcome.FAIL}
    red = sum(flagged(one) for one in found.pairs)
    steps: list[tuple[str, str]] = []
    if found.missing:
        steps.append(("questions without a trace", "run the pipeline over the whole gold set and score again"))
    if any(one.outcome is Outcome.NOT_MEASURED and not one.gate.optional for one in found.judged):
        steps.append(("a gate was not measured", "give it cases (see the reason beside it), or mark the gate optional"))
    if failed and red:
        many = show.plural(red, "answer breaks", "answers break")
        steps.append(("red flags", f"{many} provenance, scope or constraints: mend these first, then the rest"))
    if failed & {"agreement.percent", "agreement.kappa", "agreement.pairwise", "agreement.fleiss"}:
        steps.append(("agreement low", "read the disagreements one by one: sharpen the rule that both apply"))
    if "agreement.abstain" in failed:
        steps.append(("abstentions", "give the validators what they need to decide, or mend answers that are empty"))
    if "agreement.operator_variance" in failed:
        steps.append(("operators differ in strictness", "mark some questions together before going on alone"))
    if "agreement.raters" in failed:
        steps.append(("too few operators", f"a release needs {r.RELEASE_RATERS} who mark the same questions"))
    return [{"pattern": pattern, "do": do} for pattern, do in steps]
