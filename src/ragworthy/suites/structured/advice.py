"""What the report of the structured suite says besides numbers: warnings, and what to do next."""

from collections import Counter
from fractions import Fraction
from typing import Any

from ragworthy import gates as g
from ragworthy.metrics.definition import Field
from ragworthy.metrics.grading import Scored
from ragworthy.names import Failure, Outcome, Stage
from ragworthy.report.show import plural
from ragworthy.report.warn import RELEASE, SMOKE, plain, release_warnings
from ragworthy.suites.structured.graded import Graded
from ragworthy.text import visible

Noted = tuple[str, int, str, list[str]]
"""A code, how often, what it says, and the first ids."""


def warnings(found: Graded) -> list[dict[str, Any]]:
    """What should be looked at, one entry a kind."""
    noted = [*_of_outputs(found), *_of_questions(found), *_of_answers(found)]
    entries = [plain(code, message, count, qids) for code, count, message, qids in noted if count]
    return entries + release_warnings(found.frozen, found.baseline_verdict, found.judged)


def _of_outputs(found: Graded) -> list[Noted]:
    replaced, strays = found.replaced, found.orphans
    examples = ", ".join(found.orphan_ids)
    reference = found.provenance["scorer_profile"] == "reference"
    noted: list[Noted] = [
        ("RW-W06", replaced, f"{plural(replaced, 'output was', 'outputs were')} replaced by a later one", []),
        ("RW-W07", strays, f"{plural(strays, 'output belongs', 'outputs belong')} to no question, e.g. {examples}",
         found.orphan_ids),
        ("RW-W52", len(found.doubtful), f"the outputs name another question set: {', '.join(found.doubtful[:3])}", []),
        ("RW-W48", len(found.lacking) if reference else 0, f"the outputs do not say {', '.join(found.lacking)}", []),
    ]  # fmt: skip
    lacks = {"context": "without context", "source_path": "whose chunks have no source_path",
             "text": "whose chunks have no text"}  # fmt: skip
    if any(field.kind == "grounding" for field in found.definition.fields):
        noted += [("RW-W49", found.gaps[key], f"{plural(found.gaps[key], 'output')} {what}: no reference can hold", [])
                  for key, what in lacks.items()]  # fmt: skip
    return noted


def _of_questions(found: Graded) -> list[Noted]:
    total, distinct, cut = len(found.items), found.distinct, found.slices_cut
    least = f"a smoke test needs at least {SMOKE}" if distinct < SMOKE else f"a release needs at least {RELEASE}"
    few, small = distinct * (distinct < total), distinct * (distinct < RELEASE)
    return [
        ("RW-W41", few, f"{plural(total, 'question')}, but only {distinct:,} different ones", []),
        ("RW-W47", cut, f"{plural(cut, 'slice is', 'slices are')} not shown", []),
        ("RW-W15", small, f"{plural(distinct, 'different question')}: {least}", []),
    ]


def _of_answers(found: Graded) -> list[Noted]:
    def ids(holds: Any) -> list[str]:
        return [qid for qid, item in zip(found.qids, found.items, strict=True) if holds(item)]

    over, repaired, thin = ids(_over), ids(_repaired), ids(_thin)
    return [
        ("RW-W44", len(over), f"{plural(len(over), 'answer has', 'answers have')} lists longer than allowed", over[:3]),
        ("RW-W45", len(repaired), f"{plural(len(repaired), 'answer')} repaired: scored, not passed", repaired[:3]),
        (
            "RW-W50",
            len(thin),
            f"{plural(len(thin), 'answer')} with matches on a few characters of a long text",
            thin[:3],
        ),
    ]


def _over(item: Scored) -> bool:
    return bool(item.over)


def _repaired(item: Scored) -> bool:
    return item.repaired


def _thin(item: Scored) -> bool:
    return item.thin


def fail_counts(found: Graded) -> dict[str, int]:
    """How many answers failed for each reason; those that did not under `ok`."""
    counts = Counter(str(item.reason) if item.reason is not None else "ok" for item in found.items)
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
        "answers stand in a code fence",
        "ask for the bare object; --repair shows what it would score",
    ),
    Failure.EXTRA_TEXT: (
        "answers have text around them",
        "ask for the bare object; --repair shows what it would score",
    ),
    Failure.PLACEHOLDER_STRING: ("the template was copied", "show the model a filled-in example, not a list of types"),
    Failure.SCHEMA_FAILED: ("answers lack fields or have wrong types", "name every field and its type in the prompt"),
}


def next_steps(found: Graded) -> list[dict[str, str]]:
    """What the pattern of failures means and what to do, most telling first."""
    failed = {one.gate.metric for one in found.judged if one.outcome is Outcome.FAIL}
    fails = fail_counts(found)
    steps: list[tuple[str, str]] = []
    if found.values[None, "structured.missing"].num:
        steps.append(("questions without an output", "run the model over the whole question set and score again"))
    if found.invalid and found.lacking:
        steps.append(("the run does not say how it was made", f"write {', '.join(found.lacking)} into meta"))
    if any(one.outcome is Outcome.NOT_MEASURED and not one.gate.optional for one in found.judged):
        steps.append(("a gate was not measured", "give it cases (see the reason beside it), or mark the gate optional"))
    if failed:
        for reason in sorted(_TO_DO, key=lambda reason: -fails.get(str(reason), 0)):
            if count := fails.get(str(reason)):
                pattern, do = _TO_DO[reason]
                do = do.partition(";")[0] if found.settings["repair"] else do
                steps.append((f"{pattern} ({count:,} of {len(found.items):,})", do))
        steps += _weakest(found)
    stages = Counter(item.stage for item in found.items if item.stage is not None)
    if failed and stages[Stage.RETRIEVAL]:
        many = plural(stages[Stage.RETRIEVAL], "question was", "questions were")
        steps.append(("retrieval", f"{many} not given the passage that answers: start with the index"))
    if any(one.gate.op == g.EACH and one.outcome is Outcome.FAIL for one in found.judged):
        steps.append(("questions that must pass do not", "look at each with --item QID"))
    return [{"pattern": pattern, "do": do} for pattern, do in steps]


def _weakest(found: Graded) -> list[tuple[str, str]]:
    """The field that costs most over all answers that can be read."""
    read = sum(item.ok or item.repaired for item in found.items)
    lost: dict[Field, Fraction] = {}
    for field in found.definition.fields:
        value = found.values[None, f"structured.{field.name}"]
        got = (value.exact or Fraction(0)) * (value.n or 0)  # answers that fail add nothing to the sum
        lost[field] = field.weight * (read - got)
    dearest = max(lost, key=lambda one: lost[one])
    if lost[dearest] <= 0:
        return []
    mean = float(100 * lost[dearest] / read)
    nth = next(n for n, field in enumerate(found.definition.fields) if field is dearest)
    worst = min((item.parts[nth], n) for n, item in enumerate(found.items) if item.ok or item.repaired)[1]
    qid = visible(found.qids[worst])
    return [(f"{dearest.name} costs most", f"{mean:.1f} points an answer that can be read: see why with --item {qid}")]
