"""Two validators of answers that ask no model: a scholar who knows the gold, and an auditor who only knows the rules.

They look at different things on purpose. Where both agree, an answer is right and made by the rules; where they do not,
one of the two looks at something that the other cannot see.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from ragworthy.ids import stable
from ragworthy.metrics.facts import answers as f
from ragworthy.metrics.facts.arbitration import ABSTAIN, FLAGS, NOT_IN_CONTEXT, REJECT, VALID
from ragworthy.metrics.facts.pieces import has_pieces
from ragworthy.records import NO_ANSWER, Gold, Pair, Trace, Vote
from ragworthy.text import clip, has_cjk, words

SUPPORT = Fraction(1, 2)
"""The share of the content words of a claim that must occur in the chunks it cites."""
CONTENT = 4
"""Words of so many letters say something; shorter ones only where they are numbers or Chinese, Japanese or Korean."""


class Opinion(NamedTuple):
    """What a validator says, why, and which red flags it saw."""

    label: str
    reason: str
    flags: tuple[str, ...] = ()


class Validators(NamedTuple):
    """Both validators, ready to vote."""

    scholar: Callable[[Gold, Trace | None], Opinion]
    auditor: Callable[[Gold, Trace | None], Opinion]

    def vote(self, gold: Gold, trace: Trace | None) -> Pair:
        """What both say of a trace."""
        scholar, auditor = self.scholar(gold, trace), self.auditor(gold, trace)
        return Pair(
            qid=gold.qid or gold.q_id,
            scholar=Vote(scholar.label, scholar.reason),
            auditor=Vote(auditor.label, auditor.reason),
            answer_json=None if trace is None or f.is_error(trace) else trace.answer_json,
            retrieved_ids=trace.retrieved_ids if trace is not None else None,
            flags={flag: flag in auditor.flags for flag in FLAGS},
        )


def validators(rules: f.Rules) -> Validators:
    """Both validators under these rules; chunk texts among them let the auditor look citations up."""
    return Validators(_scholar(rules), _auditor(rules))


def _scholar(rules: f.Rules) -> Callable[[Gold, Trace | None], Opinion]:
    """Whether the claim says what the gold says and cites its evidence."""
    flags_of = f.trace_flags(rules._replace(scu=False, chunks=None))

    def vote(gold: Gold, trace: Trace | None) -> Opinion:
        if trace is None:
            return Opinion(ABSTAIN, "no trace")
        if f.is_error(trace):
            return Opinion(ABSTAIN, "an error instead of an answer")
        flags = flags_of(gold, trace)
        if flags & f.REFUSED:
            wrong = gold.answerable and flags & f.RETRIEVED
            return Opinion(NOT_IN_CONTEXT, "refused, although the evidence was retrieved" if wrong else "refused")
        if not flags & f.CLAIM:
            return Opinion(ABSTAIN, "the claim is empty")
        if not gold.answerable:
            return Opinion(REJECT, "answers a question that has no answer")
        if not flags & f.CONTAINS:
            return Opinion(REJECT, "the claim lacks the gold text")
        if not gold.gold_citations:
            return Opinion(VALID, "the claim has the gold text; the gold set names no evidence")
        if not flags & f.HIT:
            return Opinion(REJECT, "cites no gold evidence, or something besides what was retrieved")
        what = "the claim has the gold text and cites" if has_pieces(gold) else "no gold text to look for; cites"
        return Opinion(VALID, f"{what} its evidence")

    return vote


def _auditor(rules: f.Rules) -> Callable[[Gold, Trace | None], Opinion]:
    """Whether an answer is made by the rules; the gold is only asked for the constraints that were locked."""
    flags_of = f.trace_flags(rules._replace(chunks=None))
    supported = _supported(rules.chunks) if rules.chunks is not None else None

    def vote(gold: Gold, trace: Trace | None) -> Opinion:
        if trace is None:
            return Opinion(ABSTAIN, "no trace")
        flags = flags_of(Gold(answerable=True, constraints=gold.constraints), trace)
        answer = trace.answer_json or NO_ANSWER
        if f.is_error(trace):
            return Opinion(REJECT, "an error instead of an answer")
        if flags & f.REFUSED:
            return Opinion(REJECT, "refuses and cites") if answer.citations else Opinion(NOT_IN_CONTEXT, "refused")
        problems = _template(flags, answer.claim, answer.citations)
        strange = _provenance(trace, answer.citations, rules.chunks)
        problems += [] if flags & f.IN_SCOPE else ["cites what was not retrieved"]
        problems += strange
        problems += [] if flags & f.KEPT else ["does not keep the locked constraints"]
        if not problems and supported is not None:
            held = supported(answer.claim or "", answer.citations)
            if held is None:
                return Opinion(ABSTAIN, "the chunks it cites have no text")
            problems += [] if held else [f"fewer than {SUPPORT} of its content words are in the chunks it cites"]
        raised = (bool(strange), not flags & f.KEPT)
        red = tuple(flag for flag, up in zip(FLAGS, raised, strict=True) if up)
        return Opinion(REJECT if problems else VALID, problems[0] if problems else "made by the rules", red)

    return vote


def _template(flags: int, claim: str | None, citations: Any) -> list[str]:
    """What is wrong with the shape of an answer that was shipped."""
    if not flags & f.CLAIM or claim is None:
        return ["the claim is empty"]
    if not flags & f.WELL_FORMED:
        return ["citations are not a list of ids"]
    return [] if citations else ["cites nothing"]


def _provenance(trace: Trace, citations: Any, chunks: Mapping[str, str] | None) -> list[str]:
    """What does not come from where it should."""
    if trace.retrieved_ids is None:
        return ["does not say what was retrieved"]
    given = citations if isinstance(citations, list) else []
    unknown = [one for one in given if chunks is not None and not (isinstance(one, str) and stable(one) in chunks)]
    return [f"cites {clip(str(unknown[0]), 40)}, which the corpus does not have"] if unknown else []


def _supported(chunks: Mapping[str, str]) -> Callable[[str, list[str]], bool | None]:
    """A function that tells whether enough content words of a claim occur in what it cites; None without any text."""
    known: dict[str, frozenset[str]] = {}

    def holds(claim: str, citations: list[str]) -> bool | None:
        for one in citations:
            if one not in known:
                known[one] = words(chunks[stable(one)])
        there = frozenset().union(*(known[one] for one in citations))
        if not there:
            return None
        wanted = content_words(claim)
        return len(wanted & there) >= SUPPORT * len(wanted)

    return holds


def content_words(text: str) -> frozenset[str]:
    """The words of a text that say something; all of them where none does.

    >>> sorted(content_words("It was in the year 1990 that Rome grew"))
    ['1990', 'grew', 'rome', 'that', 'year']
    """
    found = words(text)
    telling = frozenset(
        word for word in found if len(word) >= CONTENT or has_cjk(word) or any(sign.isdigit() for sign in word)
    )
    return telling or found
