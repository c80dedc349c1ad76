"""The labels of two validators, and the one label that a pair of them ends with."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from ragworthy import safe
from ragworthy.records import NO_ANSWER, Pair, Vote

VALID, NOT_IN_CONTEXT, REJECT, ABSTAIN = "VALID", "NOT_IN_CONTEXT", "REJECT", "ABSTAIN"
LABELS = (VALID, NOT_IN_CONTEXT, REJECT, ABSTAIN)
RENAMED = {"INVALID": REJECT}
"""Labels of other programs, and what they are here."""
FLAGS = ("provenance_violation", "constraints_mismatch")
"""What ends as REJECT whatever the validators say."""
HEADER = ("qid", "scholar", "auditor", "final", "why")


class Voted(NamedTuple):
    """What both validators say of one answer, with the answer itself where it is known."""

    qid: str
    scholar: str
    auditor: str
    reasons: tuple[str, str] = ("", "")
    claim: str | None = None
    citations: Any = None
    retrieved: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()

    @property
    def agreed(self) -> bool:
        """Whether both say the same."""
        return self.scholar == self.auditor

    @property
    def abstained(self) -> bool:
        """Whether one of them does not decide."""
        return ABSTAIN in (self.scholar, self.auditor)

    @property
    def conflict(self) -> bool:
        """Whether one sees a refusal where the other sees a sound answer, and it ends as an answer."""
        return self.scholar == NOT_IN_CONTEXT and arbitrate(self).label == VALID


_NO_VOTE = Vote(ABSTAIN)


class Final(NamedTuple):
    """How a pair ends, and by which rule."""

    label: str
    why: str


def voted_of(pair: Pair) -> Voted:
    """A pair as the rules look at it; one without a vote counts as an abstention."""
    scholar, auditor = pair.scholar or _NO_VOTE, pair.auditor or _NO_VOTE
    answer = pair.answer_json or NO_ANSWER
    return Voted(
        qid=pair.name,
        scholar=scholar.label,
        auditor=auditor.label,
        reasons=(scholar.reason or "", auditor.reason or ""),
        claim=answer.claim,
        citations=answer.citations,
        retrieved=tuple(pair.retrieved_ids or ()),
        flags=tuple(flag for flag in FLAGS if (pair.flags or {}).get(flag)),
    )


def arbitrate(voted: Voted, *, agreed_refusal: bool = True) -> Final:
    """The first rule that applies; without `agreed_refusal` a refusal that both accept is rejected too.

    >>> arbitrate(Voted("q", NOT_IN_CONTEXT, VALID)), arbitrate(Voted("q", VALID, ABSTAIN))
    (Final(label='VALID', why='auditor_ok'), Final(label='REJECT', why='auditor_veto'))
    """
    if voted.flags:
        return Final(REJECT, "hard_flag")
    if voted.citations and not _within(voted.citations, voted.retrieved):
        return Final(REJECT, "citation_out_of_scope")
    if agreed_refusal and voted.scholar == voted.auditor == NOT_IN_CONTEXT:
        return Final(NOT_IN_CONTEXT, "agreed_refusal")
    if voted.auditor != VALID:
        return Final(REJECT, "auditor_veto")
    if voted.scholar in (VALID, NOT_IN_CONTEXT):
        return Final(VALID, "auditor_ok")
    return Final(REJECT, "incoherent_pair")


def _within(citations: Any, retrieved: tuple[str, ...]) -> bool:
    """Whether citations are a list of ids, all of them retrieved."""
    return isinstance(citations, list) and all(one in retrieved for one in citations)


def disagreements(pairs: Iterable[Voted]) -> list[tuple[str, ...]]:
    """The rows of the table of disagreements, in the order of the pairs."""
    return [(one.qid, one.scholar, one.auditor, *arbitrate(one)) for one in pairs if not one.agreed]


def tsv(rows: Iterable[Iterable[str]], header: Iterable[str] = HEADER) -> str:
    r"""Rows as a table with a header, separated by tabs.

    >>> tsv([("q\t1", "VALID", "REJECT", "REJECT", "auditor_veto")])
    'qid\tscholar\tauditor\tfinal\twhy\nq\\t1\tVALID\tREJECT\tREJECT\tauditor_veto\n'
    """
    return safe.tsv((header, *rows))
