"""What is wrong or doubtful about a retrieval gold set. Pure; `commands` reads and writes."""

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from ragworthy.corpus.groups import Groups
from ragworthy.errors import Problem
from ragworthy.gold.lint import Finding, finding, identities
from ragworthy.ids import section_key, stable, tree_distance
from ragworthy.metrics.facts.convergence import PARAPHRASES
from ragworthy.metrics.facts.distance import ACCEPT, BLOCK
from ragworthy.metrics.facts.judgements import ids_of, is_named, wordings_of
from ragworthy.metrics.facts.placed import Place
from ragworthy.names import MOST_RETRIEVAL, SIZES
from ragworthy.records import RetrievalGold
from ragworthy.report.show import number, plural
from ragworthy.text import trim_fold

NEAR = 2
"""Steps in the title tree from which a hard negative no longer tests a boundary: siblings are still near."""
SECTIONS = Fraction(8, 10)
"""goldset_curation.md: the share of the sections that a gold set should ask about."""
ANCHOR = Fraction("0.35")
"""goldset_curation.md: how near a question should be to the text that answers it."""
_LIMITS = (ANCHOR, ACCEPT, BLOCK)
_FARTHEST = 3


class Question(NamedTuple):
    """A gold item as the lint sees it."""

    line: int
    value: dict[str, Any]
    gold: RetrievalGold

    @property
    def qid(self) -> str:
        """The item's id."""
        return self.gold.name


class Known(NamedTuple):
    """What the corpus tells: every block by id, and how far each question is from its first relevant block."""

    places: Mapping[str, Place]
    distances: Mapping[str, Fraction]
    lengths: Mapping[str, int]
    """How many bytes each document has."""
    sections: frozenset[tuple[str | None, str | None]]
    """Every section, by document and path."""
    groups: Groups

    def has(self, name: str) -> bool:
        """Whether the corpus has a block or a document of this name."""
        return name in self.places or bool(self.groups.document(name))

    def relevant(self, gold: RetrievalGold) -> list[str]:
        """The blocks of the corpus that answer a question, each once."""
        if is_named(gold):
            return list(dict.fromkeys(one for group in self.groups.of(gold) for one in group.ids))
        names = [name for name in map(stable, ids_of(gold)) if name in self.places]
        names += [one for name in map(stable, ids_of(gold)) for one in self.groups.document(name)]
        return list(dict.fromkeys(names))


def lint(items: Sequence[Question], label: str, known: Known | None) -> list[Finding]:
    """Every finding, in the order of the file."""
    found = identities(items, label)
    for item in items:
        found += _shape(item, label)
        if known is not None:
            found += _against(item, label, known)
    found += _of_the_whole(items, label, known)
    return sorted(found, key=lambda one: (one.line, one.problem.code))


def _shape(item: Question, label: str) -> list[Finding]:
    """What an item alone shows."""
    gold, found = item.gold, []
    texts = wordings_of(gold)
    if not all(text.strip() for text in texts):
        found.append(finding("error", "RW-G12", item, label, "paraphrases", "expected a wording, got an empty one"))
    if len({trim_fold(text) for text in texts}) < len(texts):
        message = "two of them are the same but for case and spaces"
        found.append(finding("warning", "RW-W35", item, label, "paraphrases", message))
    if gold.answerable and not ids_of(gold) and not is_named(gold):
        found.append(finding("error", "RW-G10", item, label, "relevant", "expected at least one id, got none"))
    if not gold.answerable and (ids_of(gold) or is_named(gold)):
        message = "expected no relevant block for an unanswerable question, got some"
        found.append(finding("error", "RW-G08", item, label, "answerable", message))
    if len(set(map(stable, ids_of(gold)))) < len(ids_of(gold)):
        found.append(finding("warning", "RW-W04", item, label, "relevant", "an id is there twice"))
    both = sorted(set(ids_of(gold)) & set(gold.negatives or []))
    if both:
        message = f'expected no relevant id, got "{both[0]}"'
        found.append(finding("error", "RW-G11", item, label, "negatives", message))
    for name, (begin, end) in (gold.relevant_offsets or {}).items():
        if not 0 <= begin < end:
            message = f"expected begin < end, got [{begin}, {end}]"
            found.append(finding("error", "RW-G14", item, label, f"relevant_offsets.{name}", message))
    return found


def _against(item: Question, label: str, known: Known) -> list[Finding]:
    """What an item shows beside the corpus."""
    gold, found = item.gold, []
    for level, field, names in (("error", "relevant", ids_of(gold)), ("warning", "negatives", gold.negatives)):
        lost = [name for name in names or [] if not known.has(stable(name))]
        lost = [] if is_named(gold) and field == "relevant" else lost  # the evidence counts
        if lost:
            message = f'expected ids of this index, got "{lost[0]}"'
            message += (
                f" and {len(lost) - 1} more that it does not have" if len(lost) > 1 else ", which it does not have"
            )
            found.append(finding(level, "RW-G13", item, label, field, message))
    found += _evidence(item, label, known)
    doc, _, anchor = section_key(gold.anchor_section or "").rpartition("|s=")
    places = [known.places[name] for name in known.relevant(gold)]
    homes = [doc] if doc else [place.doc for place in places]
    if anchor and places and not any((home, anchor) in known.sections for home in homes):
        message = f'expected a section of this index, got "{gold.anchor_section}"'
        found.append(finding("error", "RW-G13", item, label, "anchor_section", message))
    docs = {place.doc for place in places}
    for name in map(stable, gold.negatives or []):
        place = known.places.get(name)
        if place is None or not anchor or place.section is None or not places:
            continue
        if place.doc not in docs or tree_distance(place.section, anchor) > NEAR:
            message = f'"{name}" is not near the anchor section: it tests no boundary'
            found.append(finding("note", "RW-W37", item, label, "negatives", message))
            break
    for name, (_, end) in (gold.relevant_offsets or {}).items():
        spot = known.places.get(stable(name))
        length = known.lengths.get(spot.doc or "") if spot is not None else None
        if length is not None and end > length:
            message = f"expected at most {length}, the length of the text, got {end}"
            found.append(finding("error", "RW-G14", item, label, f"relevant_offsets.{name}", message))
    return found + _far(item, label, known.distances.get(item.qid))


def _far(item: Question, label: str, distance: Fraction | None) -> list[Finding]:
    """A question that is too far from the text that answers it to be kept as it is."""
    if distance is None or distance <= ACCEPT:
        return []
    told = f"ΔS to its first relevant block is {number(distance, *_LIMITS)}"
    if distance >= BLOCK:
        return [finding("warning", "RW-W36", item, label, "paraphrases", f"{told}, as far as unrelated text")]
    message = f"{told}: an item beyond 0.45 is dropped or refreshed"
    return [finding("note", "RW-W172", item, label, "paraphrases", message)]


def _evidence(item: Question, label: str, known: Known) -> list[Finding]:
    """Evidence and sources that no chunk holds; an error where nothing else answers the question."""
    groups = known.groups.of(item.gold)
    field = "gold_evidence" if item.gold.gold_evidence else "gold_source"
    lost = [group for group in groups if not group.ids]
    alone = not known.relevant(item.gold)
    level, code = ("error", "RW-G24") if alone else ("warning", "RW-W91")
    return [finding(level, code, item, label, field, f"{group.name}: {group.why}") for group in lost]


def _wordings(items: Sequence[Question], label: str) -> list[Finding]:
    """One note on what fewer than three wordings cannot show."""
    few = sum(len(wordings_of(item.gold)) < PARAPHRASES for item in items)
    if not few:
        return []
    silent = sum(not wordings_of(item.gold) for item in items)
    asked = f", and {silent:,} have none: 'retrieve' and 'index diff' cannot ask them" if silent else ""
    message = (
        f"{few:,} of {len(items):,} questions have fewer than {PARAPHRASES} wordings{asked}: "
        "λ and triplets are not measured, everything else is"
    )
    return [Finding("note", Problem("RW-W92", message, label), 1, "")]


def _of_the_whole(items: Sequence[Question], label: str, known: Known | None) -> list[Finding]:
    """Size, and the types and sections that nobody asks about."""
    found = _wordings(items, label)
    first: dict[str, Question] = {}
    for item in items:
        for text in dict.fromkeys(trim_fold(text) for text in wordings_of(item.gold) if text.strip()):
            earlier = first.setdefault(text, item)
            if earlier is not item:
                message = f"a wording of {earlier.qid} (line {earlier.line})"
                found.append(finding("warning", "RW-W11", item, label, "paraphrases", message))
    least = SIZES["retrieval"][-1].least
    if items and not least <= len(items) <= MOST_RETRIEVAL:
        message = f"{plural(len(items), 'question')}: a retrieval gold set has {least} to {MOST_RETRIEVAL}"
        found.append(Finding("warning", Problem("RW-W33", message, label), 1, ""))
    if known is None:
        return found
    asked = [known.places[name] for item in items for name in known.relevant(item.gold)]
    types, there = Counter(place.type for place in asked), Counter(place.type for place in known.places.values())
    for kind in sorted(str(kind) for kind in there if kind):
        if not types[kind]:
            message = f"no question asks for a block of type {kind}, of which the corpus has {there[kind]}"
            found.append(Finding("warning", Problem("RW-W34", message, label), 1, ""))
    covered, sections = section_coverage(items, known)
    if sections and Fraction(covered, sections) < SECTIONS:
        found.append(Finding("note", Problem("RW-W38", coverage_text(covered, sections), label), 1, ""))
    return found + _off_target(items, label, known.distances)


def _off_target(items: Sequence[Question], label: str, distances: Mapping[str, Fraction]) -> list[Finding]:
    """One note on how many questions are farther from their text than curation wants them, the farthest by name."""
    far = [item for item in items if distances.get(item.qid, Fraction(0)) > ANCHOR]
    if not far:
        return []
    far.sort(key=lambda item: (-distances[item.qid], item.line))
    named = ", ".join(f"{item.qid} ({number(distances[item.qid], *_LIMITS)})" for item in far[:_FARTHEST])
    more = " …" if len(far) > _FARTHEST else ""
    measured = sum(item.qid in distances for item in items)
    message = (
        f"{len(far):,} of {measured:,} questions are farther than 0.35 from their first relevant block (ΔS), "
        f"the farthest first: {named}{more}"
    )
    return [Finding("note", Problem("RW-W173", message, label), 1, "")]


def coverage_text(covered: int, sections: int) -> str:
    """How many sections are asked about, and the target where they are too few.

    >>> coverage_text(2, 12)
    '2 of 12 sections are asked about (gold_section_coverage 0.1667; the target is at least 0.80)'
    >>> coverage_text(8, 10)
    '8 of 10 sections are asked about (gold_section_coverage 0.8)'
    """
    share = Fraction(covered, sections)
    target = f"; the target is at least {float(SECTIONS):.2f}" if share < SECTIONS else ""
    told = number(share, SECTIONS)
    return f"{covered:,} of {sections:,} sections are asked about (gold_section_coverage {told}{target})"


def section_coverage(items: Sequence[Question], known: Known) -> tuple[int, int]:
    """How many sections of the corpus hold a relevant block, and how many there are."""
    every = {(place.doc, place.section) for place in known.places.values()}
    asked = {
        (known.places[name].doc, known.places[name].section) for item in items for name in known.relevant(item.gold)
    }
    return len(asked), len(every)
