"""What the order of the results of a run shows: at which ranks what is wanted was found."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from ragworthy.ids import stable
from ragworthy.metrics.facts.placed import Place, kind_of, place_of
from ragworthy.metrics.facts.wanted import Rules, Section, Span, Wanted
from ragworthy.records import RetrievalTrace

Found: TypeAlias = dict[str, Any]
"""Some of the facts of a run, by the name of their field."""


def meant(name: str, offsets: Span, trace: RetrievalTrace, rules: Rules) -> tuple[str, Span]:
    """The id and bytes that a trace means: as the newest version of the corpus has them, where redirects say so."""
    name = stable(name)
    return (name, offsets) if rules.moves is None else rules.moves.trace(name, offsets, trace.index_hash)


def returned(wanted: Wanted, names: tuple[str, ...], trace: RetrievalTrace, rules: Rules) -> Found:
    """What the order of the results shows."""
    blocks = [0] * len(wanted.blocks)
    gains: list[int] = []
    anchor = negative = covered = 0
    places = list(map(rules.place, names))
    sections = [place.section for place in places]
    if wanted.anchor is not None:
        inside = _inside(wanted.anchor, places, sections, rules)
        anchor = inside[0] + 1 if inside else 0
        if wanted.section_tokens:
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


def _inside(anchor: Section, places: Sequence[Place], sections: Sequence[str | None], rules: Rules) -> list[int]:
    """The places that are in a section; most are in another, and only those are asked that may be in it."""
    path, near = anchor.path, range(len(places))
    if rules.place is place_of and not rules.subtree:  # an id alone names one section and no page
        return [nth for nth in near if sections[nth] == path and anchor.holds(places[nth])]
    return [
        nth
        for nth, place in enumerate(places)
        if (rules.subtree or place.section == path or place.page == path) and anchor.holds(place, rules.subtree)
    ]


def _types(trace: RetrievalTrace, places: Sequence[Place]) -> tuple[str, ...]:
    """The type of each result: as the trace says, else as its place does."""
    kinds = [place.type for place in places] if trace.topk is None else [one.type for one in trace.topk]
    if not all(kinds):
        kinds = [kind or place.type for kind, place in zip(kinds, places, strict=True)]
    different = {*kinds}  # a handful, however many results there are
    if len(different) == 1:
        return (kind_of(different.pop()),) * len(kinds)
    counted = {kind: kind_of(kind) for kind in different}
    return tuple([counted[kind] for kind in kinds])


def _before(wanted: Wanted, trace: RetrievalTrace, rules: Rules) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Where each relevant block stood in each list before reranking."""
    given = trace.before_rerank
    lists = given if isinstance(given, dict) else {"": given or []}
    found = []
    for search, results in sorted(lists.items()):
        ranks = [0] * len(wanted.blocks)
        for rank, one in enumerate(results, 1):
            name, _ = meant(one if isinstance(one, str) else one.id, None, trace, rules)
            for number in wanted.ids.get(name, ()):
                ranks[number] = ranks[number] or rank
        found.append((search, tuple(ranks)))
    return tuple(found)
