"""What to do next, from causes: what stands in the way, the stages to blame, and what distances and wordings show."""

from collections import Counter

from ragworthy import gates as g
from ragworthy.names import Outcome, Stage
from ragworthy.report.show import plural
from ragworthy.suites.evidence import Found
from ragworthy.suites.retrieval.advice import Symptom, ids_are_lost, lost
from ragworthy.suites.retrieval.arms import Arms
from ragworthy.suites.unfound import Absence, guessed, unfound

_REBOUND = "was the corpus chunked again? 'ragworthy gold bind' or 'gold rebind'"
_MEANS = {
    ("delta_s_median", "delta_s_p90", "delta_s_mean"): (
        "citations are far from the question",
        "check embedding model, metric and normalisation of the index",
    ),
    ("triplet_rate", "convergence", "collapsed"): (
        "wordings lead to different places",
        "pin the reranker, then look at the questions marked <> and ×",
    ),
}
"""What it means when one of some metrics fails its gate, and what to do; of all others the stages tell it."""
_UNFOUND = "whether the index has it"
"""What to do depends on it."""
_STAGES = {
    Stage.PIPELINE: ("errors instead of results", "look at the error field of these traces, then run again"),
    Stage.INDEX: ("what answers them is not in this index, or far from the question",
                  "check what was indexed, then the embedding model and its normalisation"),
    Stage.CHUNKING: ("the section is found, the block is not", "check section boundaries, typed blocks and offsets"),
    Stage.RETRIEVAL: ("no relevant block was returned", _UNFOUND),
    Stage.RANKING: ("a relevant block comes too late", "look at the reranker and at k"),
    Stage.CITATION: ("a relevant block was returned, but another place or nothing is cited",
                     "look at how citations are chosen"),
}  # fmt: skip
"""What is seen where a stage is to blame, and what to do."""


def _of_stages(found: Found) -> list[tuple[str, str]]:
    """The stages to blame, those with most questions first, as the report counts them."""
    sizes: Counter[Stage] = Counter(case.stage for case in found.cases if case.stage is not None)
    order = list(Stage)
    told = []
    for stage in sorted(sizes, key=lambda stage: (-sizes[stage], order.index(stage))):
        if stage is Stage.PIPELINE and not found.own.arm.errored:
            continue  # questions without a trace have a step of their own
        seen, do = _STAGES.get(stage, ("", "look at the offenders"))
        do = unfound(_absence(found)) if do == _UNFOUND else do
        told.append((f"{stage.value}, {sizes[stage]:,} of {plural(len(found.cases), 'question')}", f"{seen}: {do}"))
    return told


def _absence(found: Found) -> Absence:
    """What is known of relevant blocks that were not returned: whether the index has them at all."""
    arms: Arms = found.own
    if not arms.sides.shadow.whole:
        blocks = [block for one in arms.arm.asked for block in one.wanted.blocks]
        return guessed(sum(not block for block in blocks), len(blocks))
    if arms.fit.unseen is not None:
        return arms.fit.unseen.absence
    met = any(any(facts.blocks) for one in arms.arm.asked for facts in one.question.facts)
    return Absence.RANKED if met or arms.sides.shadow.corpus is not None else Absence.OPEN


def next_steps(found: Found, diagnosis: list[Symptom]) -> list[tuple[str, str]]:
    """What the pattern of failures means and what to do, most telling first."""
    failed = {one.gate.metric.partition("@")[0].partition(".")[2] for one in found.outcomes(Outcome.FAIL)}
    steps: list[tuple[str, str]] = []
    fit = found.own.fit
    if fit.elsewhere:
        do = "score the traces against the gold set that they were made for, or run the wordings of this one"
        steps.append(("the traces answer other questions", do))
    if found.value("retrieval.missing").num:
        steps.append(("questions without a trace", "run every paraphrase and seed over the whole gold set again"))
    if ids_are_lost(found):
        steps.append(("gold ids are not in the index", lost(found)))
    if fit.unseen is not None and fit.unseen.all:
        alike = fit.unseen.alike
        do = f"ids differ in form ({alike}): write them alike in the gold set and in the traces" if alike else _REBOUND
        steps.append(("gold ids are in no trace", do))
    steps += _of_stages(found) if failed else []
    steps += [
        (pattern, "give it what it needs (see the reason beside it), or mark it optional")
        for pattern, _ in found.unmeasured_step()
    ]
    steps += [step for metrics, step in _MEANS.items() if failed & {*metrics}]
    steps += [(one.symptom, one.look_at) for one in diagnosis if failed]
    if any(one.gate.op == g.EACH for one in found.outcomes(Outcome.FAIL)):
        steps.append(("questions that must pass do not", "look at each of them by its qid in the rows (--rows FILE)"))
    first: dict[str, str] = {}
    for pattern, do in steps:
        first.setdefault(pattern, do)
    return list(first.items())
