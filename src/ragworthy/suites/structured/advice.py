"""What the report of the structured suite says besides numbers: warnings, what to do next, and lines for people."""

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from ragworthy import gates as g
from ragworthy.load.definition import bundled
from ragworthy.metrics.grading import Scored
from ragworthy.names import Failure, Outcome, Stage
from ragworthy.report.part import Note, noted, orphan_note, size_note
from ragworthy.report.show import plural
from ragworthy.suites.evidence import Found
from ragworthy.suites.structured.read import Graded
from ragworthy.suites.structured.width import MOST, cost
from ragworthy.text import clip, visible


def warnings(found: Found) -> list[dict[str, Any]]:
    """What should be looked at, one entry a kind."""
    return noted([*_of_outputs(found), *_of_questions(found), *_of_answers(found)])


def _of_outputs(found: Found) -> list[Note]:
    own: Graded = found.own
    counts, told, gaps = found.evidence.counts, own.told, own.marked.gaps
    replaced, strays = counts["duplicate_traces"], counts["orphan_traces"]
    lacking = told.lacking if found.evidence.profile == "reference" else []  # else they are reasons for no verdict
    notes = [
        Note("RW-W06", replaced, f"{plural(replaced, 'output was', 'outputs were')} replaced by a later one"),
        orphan_note(strays, own.marked.orphan_ids),
        Note("RW-W52", len(told.doubtful), f"the outputs name another question set: {', '.join(told.doubtful[:3])}"),
        Note("RW-W48", len(lacking), f"the outputs do not say {', '.join(lacking)}"),
    ]  # fmt: skip
    if any(field.kind == "grounding" for field in own.definition.fields):
        notes += [
            Note("RW-W49", gaps[key], f"{plural(gaps[key], 'output')} {what}: no reference can hold")
            for key, what in _GAPS.items()
        ]
    return notes


_GAPS = {
    "context": "without context",
    "source_path": "whose chunks have no source_path",
    "text": "whose chunks have no text",
}


def _of_questions(found: Found) -> list[Note]:
    counts, cut = found.evidence.counts, len(found.own.cut.left_out)
    total, distinct = counts["gold"], counts["distinct_questions"]
    few = distinct if distinct < total else 0
    return [
        Note("RW-W41", few, f"{plural(total, 'question')}, but only {distinct:,} different ones"),
        Note("RW-W47", cut, f"{plural(cut, 'slice is', 'slices are')} not shown"),
        size_note(distinct, "different question", "structured", regression=found.request.regression),
    ]


def _of_answers(found: Found) -> list[Note]:
    def ids(holds: Callable[[Scored], bool]) -> list[str]:
        return [case.qid for case in found.cases if holds(case.facts)]

    over, repaired, thin = ids(lambda one: bool(one.over)), ids(lambda one: one.repaired), ids(lambda one: one.thin)
    return [
        Note("RW-W44", len(over), f"{plural(len(over), 'answer has', 'answers have')} lists longer than allowed", over),
        Note("RW-W45", len(repaired), f"{plural(len(repaired), 'answer')} repaired: scored, not passed", repaired),
        Note("RW-W50", len(thin), f"{plural(len(thin), 'answer')} with matches on a few characters of a long text",
             thin),
    ]  # fmt: skip


def fail_counts(found: Found) -> dict[str, int]:
    """How many answers failed for each reason; those that did not under `ok`."""
    counts = Counter("ok" if case.facts.reason is None else case.facts.reason.value for case in found.cases)
    return {name: counts[name] for name in ("ok", *map(str, Failure)) if counts[name]}


_TO_DO = {
    Failure.PROVIDER_ERROR: (
        "the provider failed",
        "run these questions again; look at the error field of the outputs",
    ),
    Failure.TRUNCATED_JSON: ("answers are cut off", "allow more tokens, or ask for fewer and shorter items"),
    Failure.PARSE_FAILED: (
        "answers are not JSON",
        "turn on the model's JSON mode, or constrain its output by a schema",
    ),
    Failure.CODE_FENCE: (
        "answers are in a code fence",
        "ask for the bare object; --repair shows what it would score",
    ),
    Failure.EXTRA_TEXT: (
        "answers have text around them",
        "ask for the bare object; --repair shows what it would score",
    ),
    Failure.PLACEHOLDER_STRING: ("the template was copied", "show the model a filled-in example, not a list of types"),
    Failure.SCHEMA_FAILED: ("answers lack fields or have wrong types", "name every field and its type in the prompt"),
}


def steps(found: Found) -> list[tuple[str, str]]:
    """What the pattern of failures means and what to do, most telling first."""
    told: list[tuple[str, str]] = []
    lacking = found.own.told.lacking
    if found.evidence.counts["missing"]:
        told.append(("questions without an output", "run the model over the whole question set and score again"))
    if found.evidence.invalid and lacking:
        told.append(("the run does not say how it was made", _how_to_say(lacking)))
    told += [*found.unmeasured_step(), *_of_width(found)]
    failed = found.outcomes(Outcome.FAIL)
    if not failed:
        return told
    told += [*_reasons(found), *_weakest(found)]
    unfound = sum(case.stage is Stage.RETRIEVAL for case in found.cases)
    if unfound:
        many = plural(unfound, "question was", "questions were")
        told.append(("retrieval", f"{many} not given the passage that answers: start with the index"))
    if any(one.gate.op == g.EACH for one in failed):
        told.append(("questions that must pass do not", "look at each of them: ragworthy show QID"))
    return told


def _how_to_say(lacking: list[str]) -> str:
    """What to write where: a file beside the outputs is the quick way, and holds for all of them."""
    skeleton = ", ".join(f'"{key}": "…"' for key in lacking)
    return f"save {{{skeleton}}} as provenance.json and give --provenance provenance.json, or write it into meta"


def _of_width(found: Found) -> list[tuple[str, str]]:
    """What full-width characters cost."""
    lost = cost(found)
    if not lost.points:
        return []
    of = f" of the first {lost.looked_at:,} that lost points" if lost.looked_at == MOST else ""
    points = f"{float(lost.points):.1f}".removesuffix(".0")
    many = f"{plural(len(lost.qids), 'answer')}{of}"
    costs = f"{points} points in {many} are lost to nothing else, e.g. {visible(lost.qids[0])}"
    if found.own.definition.sha256 == bundled().sha256:
        return [
            ("full-width characters", f"{costs}: ragworthy explain definition > mine.toml, then --definition mine.toml")
        ]
    return [("full-width characters", f'{costs}: write version = 2 or form = "nfkc" into the definition')]


def _reasons(found: Found) -> list[tuple[str, str]]:
    """Why answers fail, the most frequent reason first."""
    fails, told = fail_counts(found), []
    for reason in sorted(_TO_DO, key=lambda reason: -fails.get(reason.value, 0)):
        if count := fails.get(reason.value):
            pattern, do = _TO_DO[reason]
            do = do.partition(";")[0] if found.evidence.settings["repair"] else do
            told.append((f"{pattern} ({count:,} of {len(found.cases):,})", do))
    return told


def _weakest(found: Found) -> list[tuple[str, str]]:
    """The field that costs most over all answers that can be read."""
    fields = found.own.definition.fields
    read = [case for case in found.cases if case.facts.ok or case.facts.repaired]
    lost: list[Fraction] = []
    for field in fields:
        value = found.value(f"structured.{field.name}")
        got = (value.exact or Fraction(0)) * (value.n or 0)  # answers that fail add nothing to the sum
        lost.append(field.weight * (len(read) - got))
    nth = max(range(len(fields)), key=lost.__getitem__)
    if lost[nth] <= 0:
        return []
    mean = float(100 * lost[nth] / len(read))
    qid = visible(min(read, key=lambda case: case.facts.parts[nth]).qid)
    costs = f"{mean:.1f} points an answer that can be read: see why with --item {qid}"
    return [(f"{fields[nth].name} costs most", costs)]


# for people


def counts_line(counts: dict[str, Any]) -> str:
    """How many questions there were, and what became of them."""
    ends = f"{counts['valid']:,} valid, {counts['failed']:,} failed, {counts['missing']:,} missing"
    return f"{plural(counts['gold'], 'question')} ({counts['distinct_questions']:,} different), {ends}"


def lines(body: dict[str, Any]) -> list[str]:
    """Why answers failed, what the subset said, and how the answers were made."""
    told = []
    failed = {name: count for name, count in body["fail_counts"].items() if name != "ok"}
    if failed:
        told.append("failed: " + ", ".join(f"{name} {count:,}" for name, count in failed.items()))
    step = body["subset"]
    if step is not None:
        first = f"dev subset of {plural(step['questions'], 'question')}: {step['verdict']}"
        then = "the whole set was not scored" if step["scored"] == "subset" else "then the whole set was scored"
        told.append(f"{first}; {then}")
    made = body["provenance"]
    keys = ("model_id", "adapter_id", "prompt_version", "index_version")
    known = [f"{key} {clip(made[key], 60)}" for key in keys if made[key]]
    scorer = f"scored by {made['scorer_version']} ({made['scorer_profile']}, {made['definition']})"
    told.append("; ".join([", ".join(known), scorer] if known else [scorer]))
    versions = [f"{key} {clip(made[key], 200)}" for key in ("prompt_sha256", "eval_set_version") if made[key]]
    return [*told, ", ".join(versions)]
