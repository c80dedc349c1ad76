"""Single items of the agreement suite: who said what, how it ends, and why."""

from typing import TYPE_CHECKING, Any

from ragworthy.metrics.facts.arbitration import Voted
from ragworthy.report.sheet import Expected, Viewed
from ragworthy.suites.agreement.cases import Ended
from ragworthy.suites.evidence import Case, Found
from ragworthy.suites.looking import answered_of, expected_of, is_good, sheet_of

if TYPE_CHECKING:
    from ragworthy.suites.protocol import Suite


def look(suite: "Suite", case: Case, found: Found) -> Viewed:
    """One item with every vote on it."""
    voted = case.facts if isinstance(case.facts, Voted) else None
    gold = case.own.gold if isinstance(case.own, Ended) else None
    has_answer = voted is not None and (voted.claim is not None or bool(voted.citations) or bool(voted.retrieved))
    sheet = sheet_of(
        case,
        suite.said(case, found),
        suite.offender(case, found)._replace(why="" if is_good(case) else case.why),
        found,
        expected=Expected() if gold is None else expected_of(gold),
        answer=answered_of(gold, voted.claim, voted.citations) if voted is not None and has_answer else None,
        runs=_votes(case),
        own={**suite.established(case, found), **({"flags": list(voted.flags)} if voted is not None else {})},
    )
    return Viewed(sheet)


def _votes(case: Case) -> list[dict[str, Any]]:
    """Both votes and how they end; or the vote of every rater."""
    voted = case.facts
    if not isinstance(voted, Voted):
        return [{"rater": rater, "vote": said} for rater, said in voted.votes]
    final = case.own.final
    said = (("scholar", voted.scholar, voted.reasons[0]), ("auditor", voted.auditor, voted.reasons[1]))
    return [
        {"who": who, "vote": vote, "why": why or None} for who, vote, why in (*said, ("final", final.label, final.why))
    ]
