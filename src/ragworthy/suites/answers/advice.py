"""What the answers suite warns of, and what to do next."""

from fractions import Fraction
from typing import Any, NamedTuple

from ragworthy import gates as g
from ragworthy.metrics.facts import answers as f
from ragworthy.names import Outcome
from ragworthy.report.part import Note, noted, orphan_note, plain, size_note
from ragworthy.report.show import plural
from ragworthy.suites.answers.read import Kept
from ragworthy.suites.evidence import Found
from ragworthy.text import clip

Step = tuple[str, str]
"""What a pattern means, and what to do."""
RECALL_LOW = Fraction(7, 10)


class Mark(NamedTuple):
    """A flag that is worth a warning."""

    bit: int
    code: str
    noun: str
    text: str


_MARKS = (
    Mark(f.NOT_EXACT, "RW-W01", "refusal", "spelled with other case or blanks around it"),
    Mark(f.REFUSED_CITING, "RW-W02", "refusal", "with citations, which are ignored"),
    Mark(f.NEAR_REFUSAL, "RW-W03", "shipped claim", "reading like a refusal, but counted as an answer"),
    Mark(f.REPEATED, "RW-W04", "answer", "repeating a citation id"),
    Mark(f.NO_RETRIEVED, "RW-W05", "trace", "without retrieved_ids"),
    Mark(f.UNKNOWN_CHUNK, "RW-W17", "answer", "citing ids that are not in the corpus given"),
    Mark(f.ERRORED, "RW-W24", "trace", "with an error instead of an answer"),
    Mark(f.VACUOUS, "RW-W08", "answerable gold item", "without gold_claim_substr: any claim counts as containing it"),
    Mark(f.SHORT_ENTRY, "RW-W09", "gold item", "with gold_claim_substr entries under 5 characters"),
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
    twice = f"{plural(len(repeated), 'question stands', 'questions stand')} under a second qid"
    example = f", e.g. {' and '.join(repeated[0])}" if repeated else ""
    return noted(
        [
            Note("RW-W06", replaced, f"{plural(replaced, 'trace was', 'traces were')} replaced by a later one"),
            orphan_note(orphans, own.orphans),
            Note("RW-W11", len(repeated), f"{twice}{example}", [one.again for one in repeated]),
        ]
    )


def _of_gold(found: Found) -> list[dict[str, Any]]:
    """The gold set as a whole."""
    counts, settings = found.evidence.counts, found.evidence.settings
    bare = 0 if settings["scu"] else sum(case.weight for case in found.cases if case.facts.constrained)
    unchecked = f"{plural(bare, 'gold item carries', 'gold items carry')} constraints that were not checked"
    one_sided = [] if counts["unanswerable"] else [plain("RW-W12", "the gold set has no unanswerable question", 0)]
    return [*one_sided, *noted([Note("RW-W14", bare, unchecked), size_note(counts["gold"], "question")])]


# what to do next


def steps(found: Found) -> list[Step]:
    """What the pattern of failures means and what to do, most telling first."""
    failed = {one.gate.metric.partition("@")[0] for one in found.outcomes(Outcome.FAIL) if one.gate.op != g.EACH}
    if found.evidence.counts["errored"]:
        failed -= _only_errors(found, failed)
    return [*_of_evidence(found), *_of_answers(found, failed), *_of_rules(found, failed)]


def _of_evidence(found: Found) -> list[Step]:
    """What has to be put right before the numbers mean anything."""
    own: Kept = found.own
    told: list[Step] = []
    if errors := dict.fromkeys(place.said for place in own.places.get(f.ERRORED, ())):
        told.append(("errors instead of answers", f"{'; '.join(errors)}: fix the pipeline and run it again"))
    if found.value("answers.missing").num:
        told.append(("questions without a trace", "run the pipeline over the whole gold set and score again"))
    if found.frozen.state == "broken":
        told.append(("gold set changed", "restore the gold set, or freeze the change with a signature and a reason"))
    return told + found.unmeasured_step()


def _of_answers(found: Found, failed: set[str]) -> list[Step]:
    """Grounding, refusals, retrieval."""
    told: list[Step] = []
    if {"answers.precision", "answers.chr"} <= failed:
        told.append(("precision low, CHR low",
                     "grounding is broken: check what is retrieved, then rerank and guard the answer"))  # fmt: skip
    elif "answers.precision" in failed:
        told.append(("precision low, CHR high",
                     "claims miss the gold text: tighten the claim's schema, or check the gold pieces"))  # fmt: skip
    elif "answers.chr" in failed:
        told.append(("CHR low", "answers cite other evidence than the gold: check citation choice and retrieval"))
    if "answers.under_refusal" in failed:
        told.append(("under-refusal high",
                     "unanswerable questions were answered: strengthen refusal or retrieval constraints"))  # fmt: skip
    own: Kept = found.own
    recall = f"recall@{own.ks[0]}"
    reached = _without_errors(found, f"answers.{recall}")
    low = reached.good < RECALL_LOW * reached.asked
    if "answers.over_refusal" in failed:
        hint = f"; {recall} is low too, so start with retrieval" if low else ""
        told.append(("over-refusal high",
                     f"the guard is too strict, facts are split by chunking, or recall is too low{hint}"))  # fmt: skip
    if low or failed & {"answers.recall", "answers.hit"}:
        told.append((f"{recall} low", "look for index or manifest drift, then at the retrieval logic"))
    return told


def _of_rules(found: Found, failed: set[str]) -> list[Step]:
    """Constraints, the shape of answers, single questions, gates that say neither yes nor no."""
    told: list[Step] = []
    if failed & {"answers.scu", "answers.scu_violations"}:
        told.append(("constraints broken", "lock the constraints in the prompt and echo them in the answer"))
    if "answers.compliance" in failed:
        told.append(("answers of the wrong shape", "emit a non-empty claim and a list of citation ids"))
    own: Kept = found.own
    near = sum(case.weight for case in found.cases if case.own.flags & f.NEAR_REFUSAL)
    if near and failed & {"answers.under_refusal", "answers.precision"}:
        told.append(("near-refusals", near_refusals(near, [one.said for one in own.places.get(f.NEAR_REFUSAL, ())])))
    if any(one.gate.op == g.EACH for one in found.outcomes(Outcome.FAIL)):
        told.append(("questions that must pass do not", "look at each of them by its qid in the rows (--rows FILE)"))
    if found.outcomes(Outcome.UNDECIDED):
        told.append(("a gate is undecided",
                     "add questions until the interval is clear of the threshold, or decide by hand"))  # fmt: skip
    return told


def near_refusals(count: int, claims: list[str]) -> str:
    """What to do about claims that read like a refusal and count as answers; some of them are shown."""
    from ragworthy.suites.answers.near import paste

    alike = plural(count, "claim reads", "claims read")
    shown = "; ".join(f'"{clip(claim, 80)}"' for claim in claims)
    line = paste(claims)
    add = f"if that is what they are, add {line.text} to [answers]" if line is not None else "see docs/refusals.md"
    return f"{alike} like a refusal: {shown}; {add}"


class _Rate(NamedTuple):
    good: int
    asked: int


def _without_errors(found: Found, name: str) -> _Rate:
    """A rate over the questions that did not end in an error."""
    pairs = zip(found.cases, found.summary.words[name], strict=True)
    said = [(case.weight, bool(word)) for case, word in pairs if word is not None and not case.facts.errored]
    return _Rate(sum(weight for weight, good in said if good), sum(weight for weight, _ in said))


def _only_errors(found: Found, failed: set[str]) -> set[str]:
    """Of the metrics that failed, those where every question but the errored ones is good: there is nothing to fix."""
    rates = {"answers.precision", "answers.chr", "answers.containment", "answers.compliance"} & failed
    return {name for name in rates if (rate := _without_errors(found, name)).good == rate.asked}
