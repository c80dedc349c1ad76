"""What is established about one retrieval run: at which ranks what is wanted was found, and what was cited.

A run is one wording of a question under one seed. Every metric in `retrieval.py` is a pure function of these facts.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from ragworthy.ids import stable, tree_distance
from ragworthy.metrics.facts.pieces import is_lost
from ragworthy.metrics.facts.wanted import Place, Rules, Span, Wanted, kind_of, qualified
from ragworthy.records import Citation, RetrievalTrace
from ragworthy.text import fold, trim_fold

FARTHEST = 1.0
"""The distance of a citation that was never retrieved."""
WINDOW = 30
"""A citation is accurate when it lies within this many bytes of a relevant block."""


class Facts(NamedTuple):
    """The facts of one run. Ranks start at 1; 0 stands for "not found"."""

    answerable: bool
    present: bool
    gone: bool
    """Whether nothing of what is relevant is in this version of the corpus."""
    returned: int
    blocks: tuple[int, ...]
    """For each relevant block the rank at which it was first found."""
    relevant: tuple[int, ...]
    """The ranks of distinct relevant ids."""
    gains: tuple[int, ...]
    ideal: tuple[int, ...]
    types: tuple[str, ...]
    anchor: int
    anchored: bool
    opaque: bool
    """Whether a block that was returned or cited, and is not relevant, has no known section."""
    negative: int
    negatives: bool
    answers: bool
    """Whether the traces carry answers at all."""
    by_rank: bool
    """Whether the citations are only the first results, because no answer was written."""
    errored: bool
    answered: bool
    covered: bool
    accurate: bool | None
    exact: bool | None
    distance: int | None
    cross_doc: bool
    delta_s: Fraction | None
    far: bool
    """Whether the citation is as far away as unrelated text, where distances are on a scale that says so."""
    key: str
    cited: tuple[str, ...]
    tokens: tuple[int, int] | None
    refused: bool = False
    in_scope: bool = True
    """Whether everything that is cited was returned."""
    named: bool = False
    """Whether a relevant block itself is cited, and not only its section."""
    lost: bool = False
    """Whether the gold text stands in a relevant block and in none that was returned; known only with a corpus."""


class Reading(NamedTuple):
    """The facts of a run, and what is needed to look at it again."""

    facts: Facts
    query: str
    names: tuple[str, ...]
    """The ids that were returned, in order."""
    first: str | None
    """The id of the first citation."""
    recorded: float | None
    """Its semantic distance as the trace says."""
    model: tuple[str, str] | None
    """The model that the trace says it comes from."""
    state: str | None


def missing(wanted: Wanted, *, answers: bool = True) -> Facts:
    """The facts of a question that was never asked."""
    return Facts(
        answerable=wanted.answerable,
        present=False,
        gone=bool(wanted.blocks) and not any(wanted.blocks),
        returned=0,
        blocks=(0,) * len(wanted.blocks),
        relevant=(),
        gains=(),
        ideal=tuple(sorted(wanted.grades, reverse=True)),
        types=(),
        anchor=0,
        anchored=wanted.anchor is not None,
        opaque=False,
        negative=0,
        negatives=bool(wanted.negatives),
        answers=answers,
        by_rank=False,
        errored=False,
        answered=False,
        covered=False,
        accurate=None,
        exact=None,
        distance=None,
        cross_doc=False,
        delta_s=None,
        far=False,
        key="",
        cited=(),
        tokens=(0, wanted.section_tokens) if wanted.section_tokens else None,
    )


def read(wanted: Wanted, trace: RetrievalTrace, rules: Rules) -> Reading:
    """Establish the facts of one run."""
    given = [one.id for one in trace.topk] if trace.topk is not None else trace.retrieved_ids or []
    names = [_meant(name, None, trace, rules)[0] for name in given]
    citations = citations_of(trace, rules)
    if trace.error is not None:
        # What was retrieved before an error counts as retrieved; nothing was answered, whatever stands beside it.
        facts = _ranked(wanted, names, trace, rules)._replace(answers=citations is not None, errored=True)
        return Reading(facts, trace.query or "", tuple(names), None, None, None, trace.state)
    facts = _ranked(wanted, names, trace, rules)
    if citations is None:
        return Reading(facts._replace(answers=False), trace.query or "", tuple(names), None, None, None, trace.state)
    cited = [_meant(one.id, one.offsets, trace, rules) for one in citations]
    first = cited[0][0] if cited else None
    recorded = None
    distances = trace.distances
    if first is not None and distances is not None:
        recorded = distances[names.index(first)] if first in names else FARTHEST
    facts = _cited(facts, wanted, cited, rules)._replace(
        by_rank=trace.cited_by == "rank",
        refused=not cited and refuses(trace, rules),
        in_scope=all(name in names for name, _ in cited),
        lost=any(facts.blocks) and _lost(wanted, names, trace, rules),
    )
    model = (trace.delta_s_model.name, trace.delta_s_model.weights) if trace.delta_s_model is not None else None
    return Reading(facts, trace.query or "", tuple(names), first, recorded, model, trace.state)


def _lost(wanted: Wanted, names: Sequence[str], trace: RetrievalTrace, rules: Rules) -> bool:
    """Whether what the claim lacks stands in a relevant block and in none that was returned, as in the answers suite.

    Where the gold set names short pieces, it is scored with them as words.
    """
    claims = claims_of(trace)
    if rules.texts is None or not wanted.pieces or not claims:
        return False
    claim = "" if refuses(trace, rules) else fold(claims[-1])
    return is_lost(wanted.pieces, sorted(wanted.ids), claim, names, rules.texts, short_words=True)


def _meant(name: str, offsets: Span, trace: RetrievalTrace, rules: Rules) -> tuple[str, Span]:
    name = stable(name)
    return (name, offsets) if rules.moves is None else rules.moves.trace(name, offsets, trace.index_hash)


def _ranked(wanted: Wanted, names: Sequence[str], trace: RetrievalTrace, rules: Rules) -> Facts:
    blocks = [0] * len(wanted.blocks)
    relevant: list[int] = []
    gains: list[int] = []
    seen: set[str] = set()
    anchor = negative = covered = 0
    places = [rules.place(name) for name in names]
    for rank, (name, place) in enumerate(zip(names, places, strict=True), 1):
        inside = wanted.anchor is not None and wanted.anchor.holds(place, rules.subtree)
        anchor = anchor or (rank if inside else 0)
        if name in seen:
            continue
        seen.add(name)
        covered += place.tokens if inside else 0
        numbers = wanted.ids.get(name)
        if numbers is not None:
            relevant.append(rank)
            gains.append(sum(wanted.grades[number] for number in numbers if not blocks[number]))
            for number in numbers:
                blocks[number] = blocks[number] or rank
        if name in wanted.negatives:
            negative = negative or rank
    given = [one.type for one in trace.topk] if trace.topk is not None else [None] * len(names)
    return missing(wanted)._replace(
        present=True,
        returned=len(names),
        blocks=tuple(blocks),
        relevant=tuple(relevant),
        gains=tuple(gains),
        types=tuple(kind_of(kind or place.type) for kind, place in zip(given, places, strict=True)),
        anchor=anchor,
        opaque=any(place.section is None and name not in wanted.ids for name, place in zip(names, places, strict=True)),
        negative=negative,
        tokens=(min(covered, wanted.section_tokens), wanted.section_tokens) if wanted.section_tokens else None,
    )


def citations_of(trace: RetrievalTrace, rules: Rules) -> list[Citation] | None:
    """What the answer cites, in order; None where the trace says nothing about an answer."""
    given = trace.answer_citations
    for answer in (trace.answer, trace.answer_json):
        if answer is not None and given is None:
            given = [] if isinstance(answer, str) else answer.citations or []
    if given is None or refuses(trace, rules):
        return None if given is None else []
    return [Citation(one) if isinstance(one, str) else one for one in given]


def claims_of(trace: RetrievalTrace) -> list[str]:
    """What the answer says, under whichever key it was written."""
    said = (one if isinstance(one, str) or one is None else one.claim for one in (trace.answer, trace.answer_json))
    return [claim for claim in said if claim is not None]


def refuses(trace: RetrievalTrace, rules: Rules) -> bool:
    """Whether the answer is a refusal, by its exact text or by a rule."""
    claims = claims_of(trace)
    if any(trim_fold(claim) in rules.refusals for claim in claims):
        return True
    return rules.by_rule is not None and any(map(rules.by_rule.rule, claims))


def _cited(facts: Facts, wanted: Wanted, cited: Sequence[tuple[str, Span]], rules: Rules) -> Facts:
    if not cited:
        return facts
    anchor = wanted.anchor
    covered = any(
        name in wanted.ids or (anchor is not None and anchor.holds(rules.place(name), rules.subtree))
        for name, _ in cited
    )
    name, offsets = cited[0]
    place = rules.place(name)
    if offsets is not None and offsets[0] < offsets[1]:
        place = place._replace(span=offsets)
    own = [spot for one, spot in wanted.spots if one == name]
    accurate: bool | None = True
    exact: bool | None = True  # the block itself, unless there are bytes that say more
    if not own or (place.span is not None and any(spot.span is not None for spot in own)):
        near = [spot for one, spot in wanted.spots if one == name or _same_section(spot, place)]
        accurate, exact = _accuracy(place, near)
    cross = bool(anchor and anchor.docs and place.doc is not None and place.doc not in anchor.docs)
    inside = anchor is not None and place.section is not None and not cross
    return facts._replace(
        answered=True,
        opaque=facts.opaque or any(rules.place(one).section is None and one not in wanted.ids for one, _ in cited),
        covered=covered,
        accurate=accurate,
        exact=exact,
        distance=tree_distance(place.section or "", anchor.path) if inside and anchor else None,
        cross_doc=cross,
        key=qualified(place) or name,
        named=any(name in wanted.ids for name, _ in cited),
        cited=tuple(dict.fromkeys(one for one, _ in cited)),
    )


def _accuracy(cited: Place, near: Sequence[Place]) -> tuple[bool | None, bool | None]:
    """Whether a citation lies within the window of a relevant block of its section, and whether both its edges do.

    None where there is such a block and no bytes are known to compare.
    """
    spans = [spot.span for spot in near if spot.span is not None]
    if cited.span is None:
        return (None, None) if near else (False, False)
    b, e = cited.span
    accurate = any(gap(cited.span, span) <= WINDOW for span in spans)
    exact = any(abs(b - begin) <= WINDOW and abs(e - end) <= WINDOW for begin, end in spans)
    if accurate or len(spans) == len(near):
        return accurate, exact
    return None, None


def _same_section(one: Place, other: Place) -> bool:
    same_doc = one.doc == other.doc or None in (one.doc, other.doc)
    return same_doc and one.section is not None and one.section == other.section


def gap(one: tuple[int, int], other: tuple[int, int]) -> int:
    """The bytes between two half-open ranges; 0 where they meet.

    >>> gap((1130, 1200), (1000, 1100)), gap((1050, 1200), (1000, 1100))
    (30, 0)
    """
    return max(0, max(one[0], other[0]) - min(one[1], other[1]))
