"""Whether gold set, traces, corpus and redirects belong together: why they cannot carry a verdict."""

from ragworthy.index.blocks import Corpus, text_hash
from ragworthy.load.lock import Lock
from ragworthy.metrics.facts.convergence import Arm
from ragworthy.metrics.facts.wanted import Place, Rules, Section
from ragworthy.report.show import lost_ids
from ragworthy.suites.opened import Opened
from ragworthy.suites.retrieval.arms import Arms, Side, frozen_on

LOST = "RW-G13"
"""Gold ids that the index does not have."""


def invalid(opened: Opened, arms: Arms) -> tuple[str, ...]:
    """Why these files cannot carry a verdict, whatever the numbers say."""
    arm, side = arms.arm, arms.sides.shadow
    reasons = []
    if len(arm.hashes) > 1:
        lines = opened["trace"].lines_at(arm.hashes.values())
        named = ", ".join(f'"{name}" (line {lines[place]})' for name, place in sorted(arm.hashes.items()))
        reasons.append(f"the traces come from several indexes: {named} [RW-T05]")
    lost, total = unknown_blocks(arm, side.corpus)
    if lost:
        reasons.append(lost_ids(len(lost), total, lost[0]))
    reasons += _other_index(side, arm, frozen_on(opened.lock))
    if side.corpus is not None:
        reasons += _reused(side, side.corpus, opened.lock) + _lost_anchors(side.rules, side.corpus, arm)
    return tuple(reasons)


def unknown_blocks(arm: Arm, corpus: Corpus | None) -> tuple[list[str], int]:
    """Gold ids that lead to no block of the corpus, or to none at all, and how many gold ids there are."""
    pairs = [(name, one.wanted.blocks[number]) for one in arm.asked for name, number in one.wanted.names.items()]
    lost = [
        name
        for name, block in pairs
        if not block or (corpus is not None and not any(one in corpus.places for one in block))
    ]
    return lost, len(pairs)


def _other_index(side: Side, arm: Arm, frozen: str | None) -> list[str]:
    """Whether traces, corpus, redirects and gold set belong to different indexes."""
    moves, corpus = side.rules.moves, side.corpus
    if moves is not None:
        versions = moves.redirects.versions
        named = [("the traces come from", name) for name in sorted(arm.hashes)]
        named += [("the gold set was frozen on", frozen)] if frozen is not None else []
        newest = f"the redirects lead from {versions[0]} to {versions[-1]}"
        return [f"{what} the index {name}, but {newest}" for what, name in named if name not in versions]
    if corpus is not None and corpus.index_hash is not None:
        other = [name for name in sorted(arm.hashes) if name != corpus.index_hash]
        return [f"the traces come from the index {name}, but the corpus is {corpus.index_hash}" for name in other[:1]]
    other = [name for name in sorted(arm.hashes) if name != frozen] if frozen is not None and corpus is None else []
    return [
        f"the gold set was frozen on the index {frozen}, the traces come from {name}: give --corpus or --redirects"
        for name in other[:1]
    ]


def _reused(side: Side, corpus: Corpus, lock: Lock | None) -> list[str]:
    """Gold ids that name another text than when the gold set was frozen, where no redirects lead to it."""
    frozen = (lock.corpus or {}).get("blocks", {}) if lock is not None else {}
    if side.rules.moves is not None or not isinstance(frozen, dict):
        return []
    other = [name for name, known in frozen.items() if name in corpus.texts and text_hash(corpus.texts[name]) != known]
    if not other:
        return []
    return [
        f"{len(other)} of {len(frozen)} gold ids do not have the text they had when the gold set was frozen, "
        f"e.g. {other[0]}: give --redirects [RW-G15]"
    ]


def _lost_anchors(rules: Rules, corpus: Corpus, arm: Arm) -> list[str]:
    """Anchor sections in which the corpus has no block: nothing could ever hit them."""
    places = {(place.doc, path): place for place in corpus.places.values() for path in (place.section, place.page)}
    asked = [one.wanted for one in arm.asked if one.wanted.anchor is not None and any(one.wanted.blocks)]
    lost = [wanted.qid for wanted in asked if wanted.anchor and not _has_blocks(wanted.anchor, places, rules)]
    if not lost:
        return []
    return [f"{len(lost)} of {len(asked)} anchor sections are not in this index, e.g. that of {lost[0]} [{LOST}]"]


def _has_blocks(anchor: Section, places: dict[tuple[str | None, str | None], Place], rules: Rules) -> bool:
    if any((doc, anchor.path) in places for doc in anchor.docs):
        return True
    return (not anchor.docs or rules.subtree) and any(anchor.holds(place, rules.subtree) for place in places.values())
