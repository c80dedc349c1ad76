"""What the retrieval suite says besides numbers: symptoms, warnings, what to do next, and lines for people."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from ragworthy.metrics.facts.convergence import SPLIT, Arm, Asked, declared
from ragworthy.metrics.facts.distance import ACCEPT, BLOCK
from ragworthy.metrics.facts.runs import Facts
from ragworthy.report.part import Note, again_note, noted, orphan_note, size_note, unchecked_note
from ragworthy.report.show import plural
from ragworthy.suites.evidence import Found
from ragworthy.suites.retrieval import contract
from ragworthy.suites.retrieval.arms import LOST, Arms, foreign, unbound, why_moot
from ragworthy.suites.retrieval.cases import DEPTH, incomplete
from ragworthy.suites.retrieval.compared import listed
from ragworthy.suites.retrieval.cuts import cut_otherwise
from ragworthy.suites.retrieval.distances import RAW, out_of_reach
from ragworthy.suites.retrieval.probes import probes_are_raw, undistanced, why_unprobed
from ragworthy.text import clip

LOW_TYPE = Fraction(1, 10)
"""A type of block whose recall is this much below the whole is treated worse than the rest."""
TYPED = ("code", "figure", "table")
"""Types of blocks that are compared with prose."""
SHARE = Fraction(1, 20)
"""A symptom that fewer of the questions show is not worth naming."""


STABLE = 0.6
"""Kendall's τ below which two orders of the same results are not taken for one."""


class Symptom(NamedTuple):
    """Something that many questions show, with where to look."""

    symptom: str
    look_at: str
    questions: int = 0


_KNOWN = {
    "similar_but_wrong": Symptom(
        "similar but wrong meaning", "embedding against meaning: check metric and normalisation"
    ),
    "order_flips": Symptom("order flips across runs", "make the reranker deterministic: pin model, ties and seeds"),
    "boundary_leaks": Symptom(
        "the section is found, the block is not", "section boundaries: chunks mix topics or cut them"
    ),
    "typed_blocks": Symptom(
        "tables or code do worse than prose", "lift tables and code into typed blocks before indexing"
    ),
    "offsets_off": Symptom(
        "the right block is cited at other bytes", "canonical text: use one normaliser for both builds"
    ),
    "rebuild": Symptom(
        "gold ids are not in the index", "reindex migration: 'ragworthy index migrate', then 'gold rebind'"
    ),
    "flat_high": Symptom(
        "distances are high at every rank",
        "index or metric mismatch: check the model and its normalisation",
    ),
    "decoys": Symptom(
        "hard negatives are above the answer", "chunk alignment: anchor and decoy look alike to the index"
    ),
}

_SHOWN_BY: Mapping[str, Callable[[Asked], bool]] = {
    "order_flips": lambda one: (one.marked == SPLIT and _flips(one)) or _reordered(one),
    "boundary_leaks": lambda one: any(0 < run.anchor <= DEPTH and not _hit(run) for run in one.question.facts),
    "offsets_off": lambda one: any(
        run.accurate is False and run.cited[0] in one.wanted.ids for run in one.question.facts
    ),
    "decoys": lambda one: any(0 < run.negative < min(run.relevant, default=99) for run in one.question.facts),
}
"""Symptoms that one question shows by itself, whatever distances mean."""


def diagnose(found: Found) -> list[Symptom]:
    """Symptoms that a noticeable share of the questions shows, with where to look."""
    arm: Arm = found.own.arm
    asked = [one for one in arm.asked if one.wanted.answerable and one.question.runs]
    counts = {name: sum(map(shows, asked)) for name, shows in _SHOWN_BY.items()}
    if found.own.source.scaled:
        counts |= {"similar_but_wrong": sum(map(_similar_but_wrong, asked)), "flat_high": _flat(found)}
    told = [
        _KNOWN[name]._replace(questions=counts[name])
        for name in _KNOWN
        if name in counts and asked and Fraction(counts[name], len(asked)) >= SHARE
    ]
    told += _weak_types(found)
    if ids_are_lost(found):
        gone = sum(not all(one.wanted.blocks) for one in arm.asked) or len(arm.asked)
        told.append(Symptom(_KNOWN["rebuild"].symptom, lost(found), gone))
    return told


def ids_are_lost(found: Found) -> bool:
    """Whether the gold set names blocks that the index does not have."""
    return any(LOST in reason for reason in found.evidence.invalid)


def _hit(facts: Facts) -> bool:
    return any(0 < rank <= DEPTH for rank in facts.blocks)


def _similar_but_wrong(one: Asked) -> bool:
    return any(
        facts.answered and not facts.covered and facts.delta_s is not None and facts.delta_s <= ACCEPT
        for facts in one.question.facts
    )


def _flips(one: Asked) -> bool:
    """Whether the same wording leads elsewhere under another seed."""
    keys: dict[int, set[str]] = {}
    for (wording, _), facts in one.question.runs.items():
        keys.setdefault(wording, set()).add(facts.key)
    return any(len(seen) > 1 for seen in keys.values())


def _reordered(one: Asked) -> bool:
    """Whether the same wording gets its first results in another order under another seed, whatever is cited."""
    return min(one.question.taus(seeds=True), default=1.0) < STABLE


def _flat(found: Found) -> int:
    """How many questions are far from what they cite, when hardly any is near."""
    words: list[Any] = [word for word in found.summary.words["retrieval.delta_s_mean"] if word is not None]
    far = sum(word >= BLOCK for word in words)
    return far if words and far * 10 >= len(words) * 9 else 0


def _weak_types(found: Found) -> list[Symptom]:
    """Types of blocks whose recall is far below that of prose."""
    known, weak = _KNOWN["typed_blocks"], []
    recall = {
        kind: value.exact
        for kind in ("prose", *TYPED)
        if (value := found.summary.values.get((f"type={kind}", f"retrieval.recall@{DEPTH}"))) is not None
    }
    prose = recall.get("prose")
    for kind in TYPED:
        own = recall.get(kind)
        if own is not None and prose is not None and prose - own > LOW_TYPE:
            with_it = sum(kind in one.wanted.types for one in found.own.arm.asked)
            weak.append(known._replace(symptom=f"{known.symptom}: {kind}", questions=with_it))
    return weak


def warnings(found: Found) -> list[dict[str, Any]]:
    """What should be looked at, one entry a kind."""
    cannot: dict[str, list[str]] = {}
    for name in found.summary.names:
        why = found.value(name.id).undefined
        if why is not None:
            cannot.setdefault(why, []).append(name.id.partition(".")[2])
    notes = [Note("RW-W26", len(names), f"not measured: {', '.join(names)}: {why}") for why, names in cannot.items()]
    arm: Arm = found.own.arm
    said = [
        *_of_gold(arm, found.own.sides.shadow.whole),
        *_of_corpus(found.own),
        *_of_traces(arm),
        *contract.notes(arm),
        *found.own.fit.notes,
        *_of_distances(found),
        size_note(len(arm.asked), "question", "retrieval", regression=found.request.regression),
    ]
    return noted([*notes, _of_cuts(found.own), _of_indexes(found), *said])


def _of_indexes(found: Found) -> Note:
    """Two files that do not say that they are of two indexes."""
    live = found.summary.own
    told = live.not_two if live is not None and not (live.arm.hashes and found.own.arm.hashes) else None
    return Note("RW-W180", int(told is not None), told or "")


def _of_cuts(arms: Arms) -> Note:
    """Gold ids that were followed to blocks of another chunking."""
    cut, total = cut_otherwise(arms.arm, arms.sides.shadow.rules.moves)
    message = (
        f"{len(cut):,} of {total:,} gold ids lead to blocks that are cut differently: any part of a block counts "
        "as the block, so these numbers may be too high"
    )
    return Note("RW-W93", 0 if why_moot(arms) else len(cut), message)


def _of_gold(arm: Arm, whole: bool) -> list[Note]:
    """What was read into the gold set, and what of it this index does not have."""
    judging = [one.wanted.qid for one in arm.asked if one.wanted.documents]
    lost = unbound(arm)
    first = f"{lost[0][1].name} ({lost[0][0]}): {lost[0][1].why}" if lost else ""
    held = plural(len(lost), "source or evidence text is", "sources or evidence texts are")
    where = "in no chunk of this index" if whole else "in nothing that was retrieved"
    return [
        Note("RW-W90", len(judging), f"{plural(len(judging), 'question judges', 'questions judge')} documents: "
             "any chunk of a document counts as the document", judging),
        Note("RW-W91", len(lost), f"{held} {where} and counted as not found, e.g. {first}",
             list(dict.fromkeys(qid for qid, _ in lost))),
    ]  # fmt: skip


def _of_corpus(arms: Arms) -> list[Note]:
    """Chunks that are twice; ids beside evidence, where there is no corpus to hold one against the other."""
    corpus = arms.sides.shadow.corpus
    if corpus is not None:
        return [again_note(corpus.again)]
    return [unchecked_note([one.wanted.qid for one in arms.arm.asked if one.wanted.by_evidence])]


def _of_traces(arm: Arm) -> list[Note]:
    by_rank, otherwise, replaced, orphans = arm.cited_by_rank, arm.declared_otherwise, arm.replaced, arm.orphans
    short = incomplete(arm) if arm.answers else 0
    short = 0 if short == sum(one.question.asked for one in arm.asked) else short  # then it is said of the metrics
    belied = arm.steady.belied
    by_id = sum(facts.by_id for one in arm.asked for facts in one.question.facts)
    states = [run.state for one in arm.asked for run in one.runs.values() if run.state is not None]
    odd = [state for state in states if declared(state) is None]
    types, unknown = (", ".join(some[:3]) for some in (arm.type_mismatches, arm.unknown_ids))
    return [
        Note("RW-W27", by_rank, f"{plural(by_rank, 'run cites', 'runs cite')} the first result: no answer was written"),
        Note("RW-W28", otherwise,
             f"{plural(otherwise, 'question declares', 'questions declare')} another λ than computed"),
        Note("RW-W184", len(odd), f"{plural(len(odd), 'run declares', 'runs declare')} a λ that is none of the four "
             f"marks, e.g. {', '.join(repr(clip(state, 40)) for state in odd[:1])}"),
        Note("RW-W29", len(arm.type_mismatches), f"the traces and the corpus give different types, e.g. to {types}"),
        Note("RW-W31", len(arm.unknown_ids), f"the traces name blocks that the corpus does not have, e.g. {unknown}"),
        Note("RW-W181", by_id, f"{plural(by_id, 'citation is', 'citations are')} accurate by the id of a relevant "
             "block alone: there are no bytes to compare"),
        Note("RW-W30", short, f"{plural(short, 'question lacks', 'questions lack')} three wordings under two seeds"),
        Note("RW-W06", replaced, f"{plural(replaced, 'trace was', 'traces were')} replaced by a later one"),
        orphan_note(orphans, arm.orphan_ids[:3], listed=False),
        Note("RW-W05", len(arm.bare), f"{plural(len(arm.bare), 'question has', 'questions have')} a trace without topk "
             f"and retrieved_ids, which counts as nothing returned, e.g. {', '.join(arm.bare[:1])}", arm.bare),
        Note("RW-W124", belied, f"{plural(belied, 'question comes', 'questions come')} out differently under another "
             "seed, though the traces say that no seed goes into their results (deterministic)"),
        Note("RW-W24", arm.errored, f"{plural(arm.errored, 'trace')} with an error instead of an answer"),
    ]  # fmt: skip


def _of_distances(found: Found) -> list[Note]:
    arms: Arms = found.own
    bare = undistanced(arms.arm) if why_unprobed(arms.arm, arms.source) is None else 0
    without = Note("RW-W125", bare, f"{plural(bare, 'result has', 'results have')} no distance, and others have one: "
                   "the distances of results are of the others")  # fmt: skip
    on_a_model = probes_are_raw(arms.arm, arms.source) or (bool(arms.shadow.raw) and not arms.source.scaled)
    high = out_of_reach(found.request, arms.source)
    reach = Note("RW-W160", len(high), "; ".join(high))
    raw = Note("RW-W39", int(on_a_model), RAW)
    if not arms.shadow.raw:
        return [raw, without, reach]
    lacking = sum(
        word is None and one.wanted.answerable and any(facts.answered for facts in one.question.facts)
        for one, word in zip(arms.arm.asked, found.summary.words["retrieval.delta_s_mean"], strict=True)
    )
    return [
        Note("RW-W40", lacking, f"{plural(lacking, 'answered question has', 'answered questions have')} no distance"),
        raw,
        without,
        reach,
    ]


def lost(found: Found) -> str:
    """What to do about them."""
    if foreign(found.own):
        return "they are ids of neither index: take the gold set of these documents, or write gold_evidence"
    if found.evidence.settings["redirects"]:
        return "their text is gone from this version: retire or rewrite these questions, and freeze the gold set again"
    return "'ragworthy index migrate OLD NEW -o TABLE', then score with --redirects TABLE or 'ragworthy gold rebind'"


# for people


def lines(body: dict[str, Any]) -> list[str]:
    """What the retrieval suite says besides its metrics; nothing for TREC files."""
    if "delta_s" not in body:
        return []
    told = []
    marks = body["lambda"]
    if marks["questions"]:
        told.append("λ: " + ", ".join(f"{mark} {count:,}" for mark, count in marks["marks"].items()))
    if marks["one_seed"]:
        one = marks["one_seed"]
        told.append(f"λ: one seed is enough for {plural(one['questions'], 'question')}: {one['why']}")
    if body.get("contract"):
        told.append("traceability: " + ", ".join(f"{code} {count:,}" for code, count in body["contract"].items()))
    told += _distances(body["delta_s"])
    if body["bad_qids"]:
        told.append(f"not justified by what is cited: {listed(body['bad_qids'])}")
    for one in body["diagnosis"]:
        told.append(f"{one['symptom']} ({plural(one['questions'], 'question')}): {one['look_at']}")
    return told


def _distances(found: dict[str, Any]) -> list[str]:
    if found["source"] == "none" or found["missing"] or not found["raw"]:
        return []
    model = f" by {found['model']}" if found["model"] else ""
    bands = ", ".join(f"{name} {count:,}" for name, count in found["bands"].items()) if found["scaled"] else "no bands"
    raw = f"raw median {found['raw']['median']:.4f}, p90 {found['raw']['p90']:.4f}"
    lines = [f"ΔS {found['source']}{model}: {bands}; {raw}"]
    calibration = found["calibration"]
    if calibration:
        perfect, plain = calibration["perfect"], calibration["perfect_raw"]
        shown = f", calibrated {float(perfect['median']):.4f} and {float(perfect['p90']):.4f}"
        shown = shown if calibration["separates"] else ""
        auc = "" if calibration["auc"] is None else f"; AUC against hard negatives {calibration['auc']:.3f}"
        lines.append(
            f"perfect retrieval would score raw median {float(plain['median']):.4f}, "
            f"p90 {float(plain['p90']):.4f}{shown}{auc}"
        )
    return lines


def counts_line(counts: dict[str, Any]) -> str:
    """How many questions there were, and what became of them; TREC files have judged queries and no answers."""
    if "empty" in counts:
        none = f", {counts['unanswerable']:,} of them without a relevant document" if counts["unanswerable"] else ""
        empty = f", {counts['empty']:,} without results" if counts["empty"] else ""
        return f"{plural(counts['gold'], 'judged query', 'judged queries')}{none}{empty}"
    sides = f"{counts['answerable']:,} answerable, {counts['unanswerable']:,} not"
    runs = "" if counts["runs"] == counts["gold"] else f" in {plural(counts['runs'], 'run')}"
    fate = f"{counts['answered']:,} answered, {counts['missing']:,} missing"
    errored = counts.get("errored_questions", counts.get("errored", 0))  # `errored` counts runs
    errors = f", {errored:,} errored" if errored else ""
    return f"{plural(counts['gold'], 'question')} ({sides}){runs}, {fate}{errors}"
