"""What a set of flags is called, and single questions as reports show them."""

from ragworthy.metrics.answers import blame, is_right, label, steps_of
from ragworthy.metrics.causes import depth_of
from ragworthy.metrics.facts import answers as f
from ragworthy.names import Label
from ragworthy.suites.answers.parallel.job import Offender as Worst
from ragworthy.suites.answers.read import Alike, Kept
from ragworthy.suites.answers.wording import INSIDE, REPEATS, Shown
from ragworthy.suites.evidence import Case, Fate, Offender


def case_of(own: Alike, ks: tuple[int, ...], qid: str = "", whole: bool = True) -> Case:
    """What all questions with the same flags are: what they are called, and where to look first."""
    facts = f.unpack(own.flags, ks, own.compared)
    what = label(facts)
    k = depth_of(ks)
    cause, stage, why = blame(facts, k, whole=whole)
    fate = Fate.MISSING if facts.missing else Fate.ERRORED if facts.errored else Fate.SCORED
    return Case(
        qid=qid,
        facts=facts,
        fate=Fate.REFUSED if facts.refused else fate,
        label=what,
        stage=stage,
        why=why,
        own=own,
        cause=cause,
        steps=steps_of(facts, k, whole=whole),
    )


def remarks_of(own: Kept) -> dict[str, list[str]]:
    """What a second look says of claims, by question."""
    found: dict[str, list[str]] = {}
    for remark, qids in ((REPEATS, own.fit.echoes), (INSIDE, own.fit.inside)):
        for qid in qids:
            found.setdefault(qid, []).append(remark)
    return found


def offender_of(one: Worst, own: Kept) -> Offender:
    """A question that the reader kept, as reports have it."""
    case = case_of(Alike(one.flags, compared=one.compared), own.ks, one.qid, own.whole)
    return _offender(one, case, own.rules.get(one.qid), inside=one.qid in own.fit.inside)


def _offender(one: Worst, case: Case, rule: str | None, *, inside: bool) -> Offender:
    facts = case.facts
    lacks = one.missing if facts.claim and not facts.contains else None
    claim = one.claim if facts.shipped else None
    why, own = Shown(one.question, claim, one.expected, lacks or (), one.error, inside).told(case.why)
    if rule is not None:
        why, own["refusal_rule"] = f"{why}, by the rule {rule}", rule
    if case.label in (Label.ANS_NO_HIT, Label.OUT_OF_SCOPE):
        own["claim_right"] = is_right(facts)
    if one.constraints is not None:
        own["constraints"] = one.constraints
    return Offender(
        qid=one.qid,
        label=case.label,
        stage=case.stage,
        cause=case.cause,
        why=why,
        question=one.question,
        claim=one.claim,
        citations=one.citations if one.citations is not None else [],
        retrieved_ids=one.retrieved_ids,
        gold_citations=one.gold_citations,
        own=own,
    )
