"""What the citations of a run show: whether they are of what is relevant, and lie where it lies."""

from collections.abc import Sequence
from fractions import Fraction

from ragworthy.cited import Citation
from ragworthy.ids import is_numbered, section_key, tree_distance
from ragworthy.metrics.facts.contract import turned_round
from ragworthy.metrics.facts.placed import Place, qualified
from ragworthy.metrics.facts.returned import Found, meant
from ragworthy.metrics.facts.spans import gap, held, placed
from ragworthy.metrics.facts.wanted import Rules, Span, Wanted
from ragworthy.records import RetrievalTrace

WINDOW = 30
"""A citation is accurate when it lies within this many bytes of a relevant block."""


def citing(wanted: Wanted, cited: Sequence[tuple[str, Span]], rules: Rules, *, opaque: bool) -> Found:
    """What the citations show; there is one at least."""
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


def held_of(wanted: Wanted, citations: Sequence[Citation], cited: Sequence[tuple[str, Span]], rules: Rules) -> Fraction:
    """How much of a relevant block the cited ranges hold."""
    ranges = [
        (name, placed(rules.place(name), span))
        for one, (name, span) in zip(citations, cited, strict=True)
        if not turned_round(one)
    ]
    return held(ranges, wanted.spots)


def pointed(citations: Sequence[Citation], trace: RetrievalTrace, rules: Rules) -> list[tuple[str, Span]]:
    """Where citations point; one that states no bytes points at those of the result it names."""
    found: dict[str, Span] = {}
    if trace.topk is not None and any([one.offsets is None for one in citations]):
        for one in reversed(trace.topk):  # of one that is there twice, the first counts
            if one.offsets is not None and one.offsets[0] < one.offsets[1]:
                found[one.id] = one.offsets
    spans = [None if turned_round(one) else one.offsets or found.get(one.id) for one in citations]
    return [meant(one.id, span, trace, rules) for one, span in zip(citations, spans, strict=True)]


def contradicts(citation: Citation, found: Found, trace: RetrievalTrace, rules: Rules) -> bool:
    """Whether a citation says of its block what is not so: another section, or bytes that the result did not have."""
    if rules.moves is not None:
        return False  # it was written against another version
    if isinstance(citation.section_id, str) and "." in citation.section_id:
        number, place = section_key(citation.section_id).rpartition("|s=")[2], rules.place(found["cited"][0])
        if is_numbered(number) and is_numbered(place.section or "") and number not in (place.section, place.page):
            return True
    if not found["by_id"] or citation.offsets is None or citation.offsets[0] >= citation.offsets[1]:
        return False
    spans = [one.offsets for one in trace.topk or () if one.id == citation.id and one.offsets is not None]
    return bool(spans) and all(gap(citation.offsets, span) > WINDOW for span in spans if span[0] < span[1])
