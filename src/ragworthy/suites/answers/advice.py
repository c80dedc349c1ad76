"""What the answers suite warns of."""

from typing import Any, NamedTuple

from ragworthy.metrics.answers import OF_REFERENCES
from ragworthy.metrics.facts import answers as f
from ragworthy.metrics.facts.constraints import UNRULED
from ragworthy.report.part import Note, noted, orphan_note, plain, size_note
from ragworthy.report.show import plural
from ragworthy.suites.answers.read import Kept
from ragworthy.suites.evidence import Found
from ragworthy.suites.locked import unchecked, unruled_note


class Mark(NamedTuple):
    """A flag that is worth a warning."""

    bit: int
    code: str
    noun: str
    text: str


_MARKS = (
    Mark(f.NOT_EXACT, "RW-W01", "refusal", "spelled with other case or spaces around it"),
    Mark(f.REFUSED_CITING, "RW-W02", "refusal", "with citations, which are ignored"),
    Mark(f.NEAR_REFUSAL, "RW-W03", "shipped claim", "reading like a refusal, but counted as an answer"),
    Mark(f.REPEATED, "RW-W04", "answer", "repeating a citation id"),
    Mark(f.NO_RETRIEVED, "RW-W05", "trace", "without retrieved_ids"),
    Mark(f.UNKNOWN_CHUNK, "RW-W17", "answer", "citing ids that are not in the corpus given"),
    Mark(f.ERRORED, "RW-W24", "trace", "with an error instead of an answer"),
    Mark(f.VACUOUS, "RW-W08", "answerable gold item", "without gold_claim_substr: any claim counts as containing it"),
    Mark(f.SHORT_ENTRY, "RW-W09", "gold item", "with gold_claim_substr entries under 5 characters"),
    Mark(f.LETTERLESS, "RW-W99", "gold item", "with pieces of text that have no letter or digit, which never count"),
    Mark(f.NOT_NFC, "RW-W10", "gold item", "with text that is not in Unicode form NFC"),
)


# warnings


def warnings(found: Found) -> list[dict[str, Any]]:
    """What should be looked at, one entry a kind, with the first places in gold order."""
    return [*_of_marks(found), *_of_files(found), *_of_gold(found)]


def _of_marks(found: Found) -> list[dict[str, Any]]:
    """Flags that questions carry."""
    own: Kept = found.own
    entries = []
    for mark in _MARKS:
        count = sum(case.weight for case in found.cases if case.own.flags & mark.bit)
        if "gold item" in mark.noun:
            count //= found.evidence.runs
        if not count or (mark.bit == f.SHORT_ENTRY and found.evidence.settings["short_substr"] == "word"):
            continue
        places = own.places.get(mark.bit, [])
        example = f", e.g. {places[0].said}" if mark.bit == f.ERRORED else ""
        message = f"{plural(count, mark.noun)} {mark.text}{example}"
        entry = plain(mark.code, message, count, [place.qid for place in places])
        if places:
            entry["where"] = places[0].where
            entry["places"] = [place.where for place in places]
        entries.append(entry)
    return entries


def _of_files(found: Found) -> list[dict[str, Any]]:
    """Records that have no question of their own."""
    own: Kept = found.own
    counts, repeated = found.evidence.counts, own.repeated
    replaced, orphans = counts["duplicate_traces"], counts["orphan_traces"]
    twice = f"{plural(len(repeated), 'question is', 'questions are')} under a second qid"
    example = f", e.g. {' and '.join(repeated[0])}" if repeated else ""
    return noted(
        [
            Note("RW-W06", replaced, f"{plural(replaced, 'trace was', 'traces were')} replaced by a later one"),
            orphan_note(orphans, own.orphans),
            *own.fit.notes,
            Note("RW-W11", len(repeated), f"{twice}{example}", [one.again for one in repeated]),
        ]
    )


def _of_gold(found: Found) -> list[dict[str, Any]]:
    """The gold set as a whole."""
    counts, settings = found.evidence.counts, found.evidence.settings
    bare = 0 if settings["scu"] else sum(case.weight for case in found.cases if case.facts.constrained)
    bare //= found.evidence.runs
    one_sided = [] if counts["unanswerable"] else [plain("RW-W12", "the gold set has no unanswerable question", 0)]
    size = size_note(counts["gold"], "question", "answers", regression=found.request.regression)
    loose = sum(case.weight for case in found.cases if case.own.flags & UNRULED) // found.evidence.runs
    rest = [unchecked(bare), unruled_note(loose), _by_reference(found), size]
    return [*one_sided, *noted(rest)]


def _by_reference(found: Found) -> Note:
    """Questions whose right answer only a reference says, where no gate looks at references."""
    gated = {one.gate.metric for one in found.judged} & OF_REFERENCES
    some = 0 if gated else sum(case.weight for case in found.cases if case.facts.answerable and case.facts.by_reference)
    some //= found.evidence.runs
    whole = found.evidence.counts["answerable"]
    value = found.value("answers.reference_f1").exact if some else None
    now = f" (answers.reference_f1 is {float(value):.2f})" if value is not None else ""
    asked = plural(whole, "answerable question")
    message = f"{some:,} of {asked} have a reference only, and no gate judges what they were answered{now}"
    return Note("RW-W58", some, message)
