"""What the answer of a retrieval trace says and cites, under whichever keys it was written."""

from collections.abc import Sequence
from typing import NamedTuple

from ragworthy.cited import Citation
from ragworthy.metrics.facts.wanted import Rules
from ragworthy.records import RetrievalTrace
from ragworthy.text import trim_fold


class Said(NamedTuple):
    """What an answer says and cites."""

    claims: Sequence[str]
    cited: Sequence[Citation | str] | None
    """What it cites, as it was written; None where the trace says nothing about an answer."""
    refused: bool
    speaks: bool
    """Whether it says something that is not a refusal."""


_SILENT = Said((), None, False, False)


def said_in(trace: RetrievalTrace, rules: Rules) -> Said:
    """What the answer of a trace says and cites."""
    cited = trace.answer_citations
    if trace.answer is None and trace.answer_json is None:
        return _SILENT if cited is None else Said((), cited, False, False)
    for answer in (trace.answer, trace.answer_json):
        if answer is not None and cited is None:
            cited = [] if isinstance(answer, str) else answer.citations or []
    claims = claims_of(trace)
    refused = any([trim_fold(claim) in rules.refusals for claim in claims]) or (
        rules.by_rule is not None and any(map(rules.by_rule.rule, claims))
    )
    return Said(claims, cited, refused, not refused and any([claim.strip() for claim in claims]))


def claims_of(trace: RetrievalTrace) -> list[str]:
    """What the answer says, under whichever key it was written."""
    said = []
    for one in (trace.answer, trace.answer_json):
        claim = one if isinstance(one, str) or one is None else one.text
        if claim is not None:
            said.append(claim)
    return said
