"""Votes as cases: what became of every pair and of every ballot, and where to look first."""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from ragworthy.metrics.facts import raters as r
from ragworthy.metrics.facts.arbitration import ABSTAIN, NOT_IN_CONTEXT, Final, Voted, arbitrate, voted_of
from ragworthy.metrics.facts.audits import moves
from ragworthy.names import Cause, Label, Stage
from ragworthy.records import Gold
from ragworthy.report.show import plural
from ragworthy.suites.agreement.read import Asked, Votes
from ragworthy.suites.evidence import Case, Fate
from ragworthy.suites.slices import Slice

WORST = (Label.ERROR, Label.OVERRULED, Label.DISAGREED, Label.ABSTAINED, Label.ESCALATED, Label.SINGLE, Label.OK)
"""What can become of an item, worst first."""
_NOBODY = Asked({}, {})


class Ended(NamedTuple):
    """How a pair ends, and the gold question where there is one."""

    final: Final
    gold: Gold | None

    @property
    def flagged(self) -> bool:
        """Whether it ends as REJECT whatever the validators say."""
        return self.final.why in ("hard_flag", "citation_out_of_scope")


class Standing(NamedTuple):
    """What is known of a ballot among all others."""

    complete: bool
    """Whether every rater voted."""
    escalated: bool
    """Whether an operator calls it correct although its distance says otherwise, or a second look comes to another
    mark."""


def cases_of(votes: Votes) -> list[Case]:
    """Every pair and every ballot, in the order of the votes; a file has one of the two."""
    return [*_pairs(votes), *_ballots(votes)]


def agreed(facts: Voted | r.Ballot) -> bool:
    """Whether everybody who voted on an item says the same; one vote alone is not agreement."""
    return facts.agreed if isinstance(facts, Voted) else r.agreeing(facts) == 1


# two validators


def _pairs(votes: Votes) -> list[Case]:
    asked = votes.asked or _NOBODY
    fates = dict.fromkeys(asked.missing, Fate.MISSING) | dict.fromkeys(asked.errored, Fate.ERRORED)
    return [
        _pair(voted, fates.get(voted.qid, Fate.SCORED), asked.questions.get(voted.qid), asked.slices.get(voted.qid, ()))
        for voted in map(voted_of, votes.pairs)
    ]


def _pair(voted: Voted, fate: Fate, gold: Gold | None, slices: tuple[Slice, ...]) -> Case:
    ended = Ended(arbitrate(voted), gold)
    label = Label.ERROR if fate is Fate.ERRORED else _label(voted, ended.final)
    return Case(
        qid=voted.qid,
        facts=voted,
        fate=fate,
        label=label,
        stage=None if label is Label.OK else Stage.PIPELINE if label is Label.ERROR else _stage(voted, ended),
        why=_why(voted, ended.final),
        slices=slices,
        rank=(WORST.index(label),),
        own=ended,
        cause=Cause.TARGET_ERROR if label is Label.ERROR else None,
    )


def _label(voted: Voted, final: Final) -> Label:
    if not voted.agreed:
        return Label.DISAGREED
    if voted.abstained:
        return Label.ABSTAINED
    return Label.OK if final.label == voted.scholar else Label.OVERRULED


def _stage(voted: Voted, ended: Ended) -> Stage:
    if "constraints_mismatch" in voted.flags:
        return Stage.CONSTRAINTS
    if ended.flagged:
        return Stage.CITATION
    if ABSTAIN in (voted.scholar, voted.auditor):
        return Stage.PIPELINE
    return Stage.REFUSAL if NOT_IN_CONTEXT in (voted.scholar, voted.auditor) else Stage.GENERATION


def _why(voted: Voted, final: Final) -> str:
    labels = (f"scholar {voted.scholar}", f"auditor {voted.auditor}")
    said = [f"{one} ({reason})" if reason else one for one, reason in zip(labels, voted.reasons, strict=True)]
    return f"{', '.join(said)}; ends as {final.label} by {final.why}"


# raters and operators


def _ballots(votes: Votes) -> list[Case]:
    ballots = with_looks(r.ballots(votes.ratings), votes)
    everybody = len(r.raters_of(ballots))
    strange = {mark.name for mark in r.out_of_band(votes.marks)}
    return [
        _ballot(one, Standing(len(one.votes) == everybody, one.qid in strange or not all(one.again))) for one in ballots
    ]


def with_looks(ballots: Sequence[r.Ballot], votes: Votes) -> list[r.Ballot]:
    """The ballots of operators with what second looks say of them, and how far distances moved."""
    given = {(ballot.qid, rater): label for ballot in ballots for rater, label in ballot.votes}
    again: dict[str, list[bool]] = {}
    moved: dict[str, list[Fraction]] = {}
    for one in votes.audits:
        again.setdefault(one.name, []).append(given.get((one.name, one.operator)) == r.rating_of(one).label)
    for move in moves(votes.marks, votes.audits):
        moved.setdefault(move.qid, []).append(move.by)
    return [one._replace(again=tuple(again.get(one.qid, ())), moved=tuple(moved.get(one.qid, ()))) for one in ballots]


def _ballot(ballot: r.Ballot, standing: Standing) -> Case:
    share = r.agreeing(ballot)
    apart = Label.SINGLE if share is None else Label.DISAGREED if share < 1 else None
    label = apart or (Label.ESCALATED if standing.escalated else Label.OK)
    return Case(
        qid=ballot.qid,
        facts=ballot,
        fate=Fate.NOT_APPLICABLE if share is None else Fate.SCORED,
        label=label,
        why=_said(ballot),
        rank=(WORST.index(label),),
        own=standing,
    )


def _said(ballot: r.Ballot) -> str:
    """Who says what; and that second looks say otherwise."""
    said = ", ".join(f"{rater} {vote}" for rater, vote in ballot.votes)
    other = ballot.again.count(False)
    return f"{said}; {plural(other, 'second look says', 'second looks say')} otherwise" if other else said


# how many


def counts_of(votes: Votes, cases: Sequence[Case], *, several: bool) -> dict[str, int]:
    """What there is, and how far it agrees; of several raters, or of two validators."""
    facts = [case.facts for case in cases]
    if several:
        return {
            "items": len(cases),
            "raters": len(r.raters_of(facts)),
            "votes": sum(len(ballot.votes) for ballot in facts),
            "agreed": sum(map(agreed, facts)),
            "disagreements": sum(len(ballot.labels) > 1 for ballot in facts),
            "single": sum(len(ballot.votes) < 2 for ballot in facts),
            "duplicates": votes.replaced,
        }
    asked = votes.asked or _NOBODY
    return {
        "pairs": len(cases),
        "agreed": sum(map(agreed, facts)),
        "disagreements": sum(not one.agreed for one in facts),
        "abstained": sum(one.abstained for one in facts),
        "red_flags": sum(case.own.flagged for case in cases),
        "label_conflicts": sum(one.conflict for one in facts),
        "unpaired": votes.unpaired,
        "renamed": votes.renamed,
        "missing": len(asked.missing),
        "errored": len(asked.errored),
        "orphan_traces": len(asked.orphans),
        "duplicates": votes.replaced,
    }
