"""What is established about one retrieval run: at which ranks what is wanted was found, and what was cited.

A run is one wording of a question under one seed. Every metric in `retrieval.py` is a pure function of these facts.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

from ragworthy.ids import all_stable, is_numbered, section_key, stable, tree_distance
from ragworthy.metrics.facts.contract import carries, finding, turned_round
from ragworthy.metrics.facts.pieces import is_lost
from ragworthy.metrics.facts.placed import Place, kind_of, qualified
from ragworthy.metrics.facts.spans import gap, held, placed
from ragworthy.metrics.facts.wanted import Rules, Section, Span, Wanted
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
    """Whether the gold text is in a relevant block and in none that was returned; known only with a corpus."""
    names: tuple[str, ...] = ()
    """The ids that were returned, in order."""
    probes: tuple[Fraction, Fraction] | None = None
    """The median and the 90th percentile of the distances of everything that was returned, where the trace has them."""
    top: Fraction | None = None
    """The distance of the first of them, where the trace has it."""
    before: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """Each list before reranking by its name: for each relevant block the rank at which it stood there."""
    better: tuple[tuple[int, str], ...] = ()
    """For each k the list that is the better one over all questions."""
    rho: Fraction | None = None
    """How alike its order is to that of the index in use, where there is one."""
    as_live: bool | None = None
    """Whether it cites what the index in use cites."""
    claims: bool = False
    """Whether an answer says something that is not a refusal."""
    payload: bool = False
    """Whether a citation is more than an id with a range: the traceability payload."""
    contract: str = ""
    """What the traceability contract says of the citations of an answer: "ok", or the first thing that is wrong."""
    held: Fraction = Fraction(0)
    """How much of a relevant block the cited ranges hold: the share of its bytes, of the block that has most."""
    right: tuple[int, int] = (0, 0)
    """How many of the different ids that are cited are relevant, and how many relevant blocks they are."""
    by_id: bool = False
    """Whether the first citation is of a relevant block and has no bytes to compare, its own or those of the block."""


Found: TypeAlias = dict[str, Any]
"""Some of the facts of a run, by the name of their field."""


class Reading(NamedTuple):
    """The facts of a run, and what is needed to look at it again."""

    facts: Facts
    query: str
    names: tuple[str, ...]
    """The ids that were returned, in order; those of the facts too."""
    first: str | None
    """The id of the first citation."""
    recorded: float | None
    """Its semantic distance as the trace says."""
    model: tuple[str, str] | None
    """The model that the trace says it comes from."""
    state: str | None
    distances: Sequence[float | None] = ()
    """The distance of each result, as the trace says."""


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
    names = all_stable(given) if rules.moves is None else tuple([_meant(one, None, trace, rules)[0] for one in given])
    claims = claims_of(trace)
    refused = _refuses(claims, rules)
    citations = citations_of(trace, refused=refused)
    found = _ranked(wanted, names, trace, rules)
    first, recorded, distances = None, None, trace.distances
    if trace.error is not None:
        # What was retrieved before an error counts as retrieved; nothing was answered, whatever is beside it.
        found |= {"answers": citations is not None, "errored": True}
    elif citations is None:
        found["answers"] = False
    else:
        cited = _pointed(citations, trace, rules)
        first = cited[0][0] if cited else None
        if first is not None and distances is not None:
            recorded = distances[names.index(first)] if first in names else FARTHEST
        found |= _cited(wanted, cited, rules, opaque=found["opaque"])
        found |= {
            "by_rank": trace.cited_by == "rank",
            "refused": not cited and refused,
            "in_scope": all([name in names for name, _ in cited]),
            "claims": not refused and any([claim.strip() for claim in claims]),
            "payload": any(map(carries, citations)),
            "held": _held(wanted, citations, cited, rules),
            "contract": finding(citations, trace),
            "lost": any(found["blocks"]) and _lost(wanted, names, claims, rules, refused=refused),
        }
        if citations and (turned_round(citations[0]) or _contradicts(citations[0], found, trace, rules)):
            found |= {"accurate": False, "exact": False, "by_id": False}  # it points nowhere, or elsewhere
    # Made once, with everything that was found: each copy of so many fields is a noticeable part of a run.
    facts = missing(wanted)._replace(**found)
    model = (trace.delta_s_model.name, trace.delta_s_model.weights) if trace.delta_s_model is not None else None
    return Reading(facts, trace.query or "", names, first, recorded, model, trace.state, distances or ())


def _held(wanted: Wanted, citations: Sequence[Citation], cited: Sequence[tuple[str, Span]], rules: Rules) -> Fraction:
    """How much of a relevant block the cited ranges hold."""
    ranges = [
        (name, placed(rules.place(name), span))
        for one, (name, span) in zip(citations, cited, strict=True)
        if not turned_round(one)
    ]
    return held(ranges, wanted.spots)


def _pointed(citations: Sequence[Citation], trace: RetrievalTrace, rules: Rules) -> list[tuple[str, Span]]:
    """Where citations point; one that states no bytes points at those of the result it names."""
    found: dict[str, Span] = {}
    if trace.topk is not None and any(one.offsets is None for one in citations):
        for one in reversed(trace.topk):  # of one that is there twice, the first counts
            if one.offsets is not None and one.offsets[0] < one.offsets[1]:
                found[one.id] = one.offsets
    spans = [None if turned_round(one) else one.offsets or found.get(one.id) for one in citations]
    return [_meant(one.id, span, trace, rules) for one, span in zip(citations, spans, strict=True)]


def _contradicts(citation: Citation, found: Found, trace: RetrievalTrace, rules: Rules) -> bool:
    """Whether a citation says of its block what is not so: another section, or bytes that the result did not have."""
    if rules.moves is not None:
        return False  # it was written against another version
    said = citation.section_id if isinstance(citation.section_id, str) and "." in citation.section_id else ""
    number, place = section_key(said).rpartition("|s=")[2], rules.place(found["cited"][0])
    if is_numbered(number) and is_numbered(place.section or "") and number not in (place.section, place.page):
        return True
    if not found["by_id"] or citation.offsets is None or citation.offsets[0] >= citation.offsets[1]:
        return False
    spans = [one.offsets for one in trace.topk or () if one.id == citation.id and one.offsets is not None]
    return bool(spans) and all(gap(citation.offsets, span) > WINDOW for span in spans if span[0] < span[1])


def _lost(wanted: Wanted, names: Sequence[str], claims: Sequence[str], rules: Rules, *, refused: bool) -> bool:
    """Whether what the claim lacks is in a relevant block and in none that was returned, as in the answers suite.

    Where the gold set names short pieces, it is scored with them as words.
    """
    if rules.texts is None or not wanted.pieces or not claims:
        return False
    claim = "" if refused else fold(claims[-1])
    return is_lost(wanted.pieces, sorted(wanted.ids), claim, names, rules.texts, short_words=True)


def _meant(name: str, offsets: Span, trace: RetrievalTrace, rules: Rules) -> tuple[str, Span]:
    name = stable(name)
    return (name, offsets) if rules.moves is None else rules.moves.trace(name, offsets, trace.index_hash)


def _ranked(wanted: Wanted, names: tuple[str, ...], trace: RetrievalTrace, rules: Rules) -> Found:
    """What the order of the results shows."""
    blocks = [0] * len(wanted.blocks)
    gains: list[int] = []
    anchor = negative = covered = 0
    places = list(map(rules.place, names))
    sections = [place.section for place in places]
    if wanted.anchor is not None:
        inside = _inside(wanted.anchor, places, rules)
        anchor = inside[0] + 1 if inside else 0
        covered = sum({names[nth]: places[nth].tokens for nth in inside}.values())
    ids, negatives = wanted.ids, wanted.negatives
    relevant = sorted([names.index(name) + 1 for name in ids.keys() & names])
    for rank in relevant:
        numbers = ids[names[rank - 1]]
        gains.append(sum([wanted.grades[number] for number in numbers if not blocks[number]]))
        for number in numbers:
            blocks[number] = blocks[number] or rank
    if negatives and not negatives.isdisjoint(names):
        negative = next(rank for rank, name in enumerate(names, 1) if name in negatives)
    return {
        "present": True,
        "returned": len(names),
        "blocks": tuple(blocks),
        "relevant": tuple(relevant),
        "gains": tuple(gains),
        "types": _types(trace, places),
        "anchor": anchor,
        "opaque": None in sections
        and any([section is None and name not in ids for name, section in zip(names, sections, strict=True)]),
        "negative": negative,
        "names": names,
        "before": _before(wanted, trace, rules) if trace.before_rerank is not None else (),
        "tokens": (min(covered, wanted.section_tokens), wanted.section_tokens) if wanted.section_tokens else None,
    }


def _inside(anchor: Section, places: Sequence[Place], rules: Rules) -> list[int]:
    """The places that are in a section; most are in another, and only those are asked that may be in it."""
    path, subtree = anchor.path, rules.subtree
    return [
        nth
        for nth, place in enumerate(places)
        if (subtree or place.section == path or place.page == path) and anchor.holds(place, subtree)
    ]


def _types(trace: RetrievalTrace, places: Sequence[Place]) -> tuple[str, ...]:
    """The type of each result: as the trace says, else as its place does."""
    kinds = [place.type for place in places] if trace.topk is None else [one.type for one in trace.topk]
    if not all(kinds):
        kinds = [kind or place.type for kind, place in zip(kinds, places, strict=True)]
    counted = {kind: kind_of(kind) for kind in {*kinds}}  # a handful, however many results there are
    return tuple([counted[kind] for kind in kinds])


def _before(wanted: Wanted, trace: RetrievalTrace, rules: Rules) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Where each relevant block stood in each list before reranking."""
    given = trace.before_rerank
    lists = given if isinstance(given, dict) else {"": given or []}
    found = []
    for search, results in sorted(lists.items()):
        ranks = [0] * len(wanted.blocks)
        for rank, one in enumerate(results, 1):
            name, _ = _meant(one if isinstance(one, str) else one.id, None, trace, rules)
            for number in wanted.ids.get(name, ()):
                ranks[number] = ranks[number] or rank
        found.append((search, tuple(ranks)))
    return tuple(found)


def citations_of(trace: RetrievalTrace, *, refused: bool) -> list[Citation] | None:
    """What the answer cites, in order; None where the trace says nothing about an answer."""
    given = trace.answer_citations
    for answer in (trace.answer, trace.answer_json):
        if answer is not None and given is None:
            given = [] if isinstance(answer, str) else answer.citations or []
    if given is None or refused:
        return None if given is None else []
    return [Citation(one) if isinstance(one, str) else one for one in given]


def claims_of(trace: RetrievalTrace) -> list[str]:
    """What the answer says, under whichever key it was written."""
    said = []
    for one in (trace.answer, trace.answer_json):
        claim = one if isinstance(one, str) or one is None else one.text
        if claim is not None:
            said.append(claim)
    return said


def refuses(trace: RetrievalTrace, rules: Rules) -> bool:
    """Whether the answer is a refusal, by its exact text or by a rule."""
    return _refuses(claims_of(trace), rules)


def _refuses(claims: Sequence[str], rules: Rules) -> bool:
    if any([trim_fold(claim) in rules.refusals for claim in claims]):
        return True
    return rules.by_rule is not None and any(map(rules.by_rule.rule, claims))


def _cited(wanted: Wanted, cited: Sequence[tuple[str, Span]], rules: Rules, *, opaque: bool) -> Found:
    """What the citations show; nothing where nothing is cited."""
    if not cited:
        return {}
    anchor, ids = wanted.anchor, wanted.ids
    places = [rules.place(name) for name, _ in cited]
    name, offsets = cited[0]
    place = placed(places[0], offsets)
    own = [spot for one, spot in wanted.spots if one == name]
    accurate: bool | None = True
    exact: bool | None = True  # the block itself, unless there are bytes that say more
    by_id = bool(own) and (place.span is None or all([spot.span is None for spot in own]))
    if not by_id:
        near = [spot for one, spot in wanted.spots if one == name or _same_section(spot, place)]
        accurate, exact = _accuracy(place, near)
    cross = bool(anchor and anchor.docs and place.doc is not None and place.doc not in anchor.docs)
    inside = anchor is not None and place.section is not None and not cross
    different = tuple(dict.fromkeys([one for one, _ in cited]))
    right = [one for one in different if one in ids]
    return {
        "answered": True,
        "opaque": opaque
        or any([at.section is None and one not in ids for (one, _), at in zip(cited, places, strict=True)]),
        "covered": bool(right) or (anchor is not None and any([anchor.holds(at, rules.subtree) for at in places])),
        "accurate": accurate,
        "exact": exact,
        "distance": tree_distance(place.section or "", anchor.path) if inside and anchor else None,
        "cross_doc": cross,
        "key": qualified(place) or name,
        "named": bool(right),
        "cited": different,
        "right": (len(right), len({number for one in right for number in ids[one]})),
        "by_id": by_id,
    }


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
