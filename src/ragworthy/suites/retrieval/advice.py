"""What the numbers of the retrieval suite point to: symptoms, warnings, and what to do next."""

from fractions import Fraction
from typing import Any

from ragworthy import gates as g
from ragworthy.metrics.facts.asked import Asked
from ragworthy.metrics.facts.convergence import SPLIT
from ragworthy.metrics.facts.distance import ACCEPT, BLOCK
from ragworthy.names import Outcome
from ragworthy.report import show
from ragworthy.report.warn import RELEASE, plain, release_warnings
from ragworthy.suites.retrieval.compared import Retrieved

LOW_TYPE = Fraction(1, 10)
"""A type of block whose recall is this much below the whole is treated worse than the rest."""
SHARE = Fraction(1, 20)
"""A symptom that fewer of the questions show is not worth naming."""

_MAP = {
    "similar_but_wrong": ("similar but wrong meaning", "embedding against meaning: check metric and normalisation"),
    "order_flips": ("order flips across runs", "make the reranker deterministic: pin model, ties and seeds"),
    "boundary_leaks": ("the section is found, the block is not", "section boundaries: chunks mix topics or cut them"),
    "typed_blocks": ("tables or code do worse than prose", "lift tables and code into typed blocks before indexing"),
    "offsets_off": ("the right block is cited at other bytes", "canonical text: use one normaliser for both builds"),
    "rebuild": ("gold ids are not in the index", "reindex migration: 'ragworthy index migrate', then 'gold rebind'"),
    "flat_high": (
        "distances are high at every rank",
        "index or metric mismatch: check the model and its normalisation",
    ),
    "decoys": ("hard negatives stand above the answer", "chunk alignment: anchor and decoy look alike to the index"),
}


def _share(found: Retrieved, holds: Any) -> int:
    return sum(bool(holds(one)) for one in found.arm.asked if one.wanted.answerable and one.question.runs)


def diagnose(found: Retrieved) -> list[dict[str, Any]]:
    """Symptoms that a noticeable share of the questions shows, with where to look."""
    asked = [one for one in found.arm.asked if one.wanted.answerable and one.question.runs]
    counts = {
        "similar_but_wrong": _share(found, _similar_but_wrong) if found.delta_s["scaled"] else 0,
        "order_flips": _share(found, lambda one: one.marked == SPLIT and _flips(one)),
        "boundary_leaks": _share(found, lambda one: any(0 < f.anchor <= 5 and not _hit(f) for f in one.question.facts)),
        "offsets_off": _share(
            found, lambda one: any(f.accurate is False and f.cited[0] in one.wanted.ids for f in one.question.facts)
        ),
        "flat_high": _flat(found) if found.delta_s["scaled"] else 0,
        "decoys": _share(
            found, lambda one: any(0 < f.negative < min(f.relevant, default=99) for f in one.question.facts)
        ),
    }
    found_list = [
        {"symptom": _MAP[key][0], "look_at": _MAP[key][1], "questions": count}
        for key, count in counts.items()
        if asked and Fraction(count, len(asked)) >= SHARE
    ]
    for kind, metric in _weak_types(found):
        symptom, look = _MAP["typed_blocks"]
        found_list.append({"symptom": f"{symptom}: {kind}", "look_at": look, "questions": metric})
    if any("RW-G13" in reason for reason in found.invalid):
        symptom, look = _MAP["rebuild"][0], _lost(found)
        gone = sum(not all(one.wanted.blocks) for one in found.arm.asked) or len(found.arm.asked)
        found_list.append({"symptom": symptom, "look_at": look, "questions": gone})
    return found_list


def _hit(facts: Any) -> bool:
    return any(0 < rank <= 5 for rank in facts.blocks)


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


def _flat(found: Retrieved) -> int:
    """How many questions are far from what they cite, when hardly any is near."""
    words = [word for word in found.words["retrieval.delta_s_mean"] if word is not None]
    far = sum(word >= BLOCK for word in words)
    return far if words and far * 10 >= len(words) * 9 else 0


def _weak_types(found: Retrieved) -> list[tuple[str, int]]:
    name = next((one.id for one in found.names if one.id == "retrieval.recall@5"), None)
    prose = found.values.get(("type=prose", name or ""))
    weak = []
    for (group, metric), value in sorted(found.values.items(), key=lambda item: str(item[0])):
        typed = group in ("type=code", "type=table", "type=figure") and metric == name
        if group is None or not typed or value.exact is None or prose is None or prose.exact is None:
            continue
        if prose.exact - value.exact > LOW_TYPE:
            kind = group.partition("=")[2]
            weak.append((kind, sum(kind in one.wanted.types for one in found.arm.asked)))
    return weak


def warnings(found: Retrieved) -> list[dict[str, Any]]:
    """What should be looked at, one entry a kind."""
    cannot: dict[str, list[str]] = {}
    for name in found.names:
        why = found.values[None, name.id].undefined
        if why is not None:
            cannot.setdefault(why, []).append(name.id.partition(".")[2])
    entries = [plain("RW-W26", f"not measured: {', '.join(names)}: {why}", len(names)) for why, names in cannot.items()]
    entries += [plain(code, message, count) for code, count, message in _noticed(found) if count]
    return entries + release_warnings(found.frozen, found.baseline_verdict, found.judged)


def _noticed(found: Retrieved) -> list[tuple[str, int, str]]:
    """Everything that may be noticed about the traces, with how often it was."""
    arm, plural = found.arm, show.plural
    by_rank, otherwise, replaced, orphans = arm.cited_by_rank, arm.declared_otherwise, arm.replaced, arm.orphans
    short = sum(one.question.asked and not one.question.counted for one in arm.asked) if arm.answers else 0
    far = found.words["retrieval.delta_s_mean"]
    lacking = sum(
        word is None and one.wanted.answerable and any(facts.answered for facts in one.question.facts)
        for one, word in zip(arm.asked, far, strict=True)
    )
    lacking = lacking if found.delta_s["raw"] else 0
    raw = int(bool(found.delta_s["raw"]) and not found.delta_s["scaled"])
    small = len(arm.asked) if len(arm.asked) < RELEASE else 0
    types, unknown, strays = (", ".join(some[:3]) for some in (arm.type_mismatches, arm.unknown_ids, arm.orphan_ids))
    return [
        ("RW-W27", by_rank, f"{plural(by_rank, 'run cites', 'runs cite')} the first result: no answer was written"),
        ("RW-W28", otherwise, f"{plural(otherwise, 'question declares', 'questions declare')} another λ than computed"),
        ("RW-W29", len(arm.type_mismatches), f"the traces and the corpus give different types, e.g. to {types}"),
        ("RW-W31", len(arm.unknown_ids), f"the traces name blocks that the corpus does not have, e.g. {unknown}"),
        ("RW-W30", short, f"{plural(short, 'question lacks', 'questions lack')} three wordings under two seeds"),
        ("RW-W06", replaced, f"{plural(replaced, 'trace was', 'traces were')} replaced by a later one"),
        ("RW-W07", orphans, f"{plural(orphans, 'trace belongs', 'traces belong')} to no gold question, e.g. {strays}"),
        ("RW-W24", arm.errored, f"{plural(arm.errored, 'trace')} with an error instead of an answer"),
        ("RW-W40", lacking, f"{plural(lacking, 'answered question has', 'answered questions have')} no distance"),
        ("RW-W39", raw, "distances are raw: the thresholds mean nothing for this model until it is calibrated"),
        ("RW-W15", small, f"{plural(small, 'question')}: a release needs at least {RELEASE}"),
    ]


def _lost(found: Retrieved) -> str:
    if found.settings["redirects"]:
        return "their text is gone from this version: retire or rewrite these questions, and freeze the gold set again"
    return "'ragworthy index migrate OLD NEW -o TABLE', then score with --redirects TABLE or 'ragworthy gold rebind'"


def next_steps(found: Retrieved) -> list[dict[str, str]]:
    """What the pattern of failures means and what to do, most telling first."""
    failed = {one.gate.metric.partition("@")[0] for one in found.judged if one.outcome is Outcome.FAIL}
    steps: list[tuple[str, str]] = []
    if found.values[None, "retrieval.missing"].num:
        steps.append(("questions without a trace", "run every paraphrase and seed over the whole gold set again"))
    if any("RW-G13" in reason for reason in found.invalid):
        steps.append(("gold ids are not in the index", _lost(found)))
    if any(one.outcome is Outcome.NOT_MEASURED and not one.gate.optional for one in found.judged):
        steps.append(
            ("a gate was not measured", "give it what it needs (see the reason beside it), or mark it optional")
        )
    if failed & {"retrieval.coverage", "retrieval.citation_accuracy", "retrieval.recall", "retrieval.hit"}:
        steps.append(
            (
                "blocks are missed or miscited",
                "check section boundaries, then typed blocks (tables, code), then offsets",
            )
        )
    if failed & {"retrieval.delta_s_median", "retrieval.delta_s_p90", "retrieval.delta_s_mean"}:
        steps.append(
            ("citations are far from the question", "check embedding model, metric and normalisation of the index")
        )
    if failed & {"retrieval.triplet_rate", "retrieval.convergence", "retrieval.collapsed"}:
        steps.append(
            ("wordings lead to different places", "pin the reranker, then look at the questions marked <> and ×")
        )
    steps += [(one["symptom"], one["look_at"]) for one in diagnose(found) if failed]
    if any(one.gate.op == g.EACH and one.outcome is Outcome.FAIL for one in found.judged):
        steps.append(("questions that must pass do not", "look at each of them by its qid in the rows (--rows FILE)"))
    first: dict[str, str] = {}
    for pattern, do in steps:
        first.setdefault(pattern, do)
    return [{"pattern": pattern, "do": do} for pattern, do in first.items()]
