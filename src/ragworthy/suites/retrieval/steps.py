"""What to do next, from causes: what is in the way, the stages to blame, and what distances and wordings show."""

from collections import Counter

from ragworthy import gates as g
from ragworthy.names import Cause, Outcome, Stage
from ragworthy.report.show import plural
from ragworthy.suites.evidence import Found
from ragworthy.suites.retrieval.advice import Symptom, ids_are_lost, lost
from ragworthy.suites.retrieval.arms import Arms
from ragworthy.suites.retrieval.rules import RETRIEVAL_GATES
from ragworthy.suites.unfound import Absence, guessed, unfound

_REBOUND = "was the corpus chunked again? 'ragworthy gold bind' or 'gold rebind'"
_MEANS = {
    ("delta_s_median", "delta_s_p90", "delta_s_mean", "delta_s_within", "delta_s_unstable", "delta_s_far"): (
        "citations are far from the question",
        "check embedding model, metric and normalisation of the index",
    ),
    ("delta_s_topk_median", "delta_s_topk_p90", "delta_s_top1_within"): (
        "results are far from the question",
        "check embedding model, metric and normalisation of the index, and whether k is too large",
    ),
    ("triplet_rate", "convergence", "lambda_rate", "lambda_split", "collapsed"): (
        "wordings lead to different places",
        "pin the reranker, then look at the questions marked <> and ×",
    ),
    ("rank_tau",): (
        "runs of a question return results in different orders",
        "pin the reranker (model, ties, seeds), then look at the questions with the lowest rank_tau in the rows",
    ),
    ("rerank_uplift",): (
        "reranking gains too little",
        "look at what it is given: below k it can only change the order, and what no search found it cannot find",
    ),
    ("rank_rho", "identical_citations"): (
        "results or citations are not those of the index in use",
        "nothing, if the meaning of the index changed; else look at the most changed queries",
    ),
}
"""What it means when one of some metrics fails its gate, and what to do; of all others the stages tell it."""
_CANARY = (
    "a check of the canary fails",
    "go back to where chunks begin and end (section boundaries), and lift tables and code into typed blocks: "
    "'ragworthy index check' shows both",
)
_UNFOUND = "whether the index has it"
"""What to do depends on it."""
_CHUNKS = ("the section is found, the block is not", "check section boundaries, typed blocks and offsets")
_FAR = ("cited texts are far from the question", "check the embedding model and its normalisation")
_CITED = "look at how citations are chosen"
_CAUSES = {
    Cause.TARGET_ERROR: ("errors instead of results", "look at the error field of these traces, then run again"),
    Cause.NOT_IN_CORPUS: ("what answers them is not in this index", "check what was indexed"),
    Cause.NOT_RETRIEVED: ("no relevant block was returned", _UNFOUND),
    Cause.BELOW_K: ("a relevant block comes too late", "look at the reranker and at k"),
    Cause.REFUSED: ("refused although a relevant block was returned", "the guard is too strict, or facts are split"),
    Cause.OUT_OF_SCOPE: ("blocks are cited that were not returned", "let answers cite only what they were given"),
    Cause.NOT_CITED: ("a relevant block was returned, but another place or nothing is cited", _CITED),
}
"""What is seen where something went wrong, and what to do."""


def _of_stages(found: Found) -> list[tuple[str, str]]:
    """The stages to blame, those with most questions first, as the report counts them; by the causes behind them."""
    sizes: Counter[Stage] = Counter()
    causes: dict[Stage, Counter[Cause | None]] = {stage: Counter() for stage in Stage}
    for case in found.cases:
        if case.stage is not None and case.cause is not Cause.MISSING:  # these have a step of their own
            sizes[case.stage] += 1
            causes[case.stage][case.cause] += 1
    order = list(Stage)
    told = []
    for stage in sorted(sizes, key=lambda stage: (-sizes[stage], order.index(stage))):
        told.append((
            f"{stage.value}, {sizes[stage]:,} of {plural(len(found.cases), 'question')}",
            "; ".join(dict.fromkeys(_told(found, stage, cause) for cause, _ in causes[stage].most_common())),
        ))  # fmt: skip
    return told


def _told(found: Found, stage: Stage, cause: Cause | None) -> str:
    """What a cause means; without one, or with chunks that are cut badly, the stage says it."""
    own = {Stage.CHUNKING: _CHUNKS, Stage.INDEX: _FAR if cause is None else None}.get(stage)
    seen, do = own or (_CAUSES.get(cause) if cause is not None else None) or ("other places are cited first", _CITED)
    return f"{seen}: {unfound(_absence(found)) if do == _UNFOUND else do}"


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


def _fails_canary(found: Found) -> bool:
    """Whether the canary is what was judged, and one of its checks fails."""
    names = {gate.metric for gate in RETRIEVAL_GATES}
    judged = {one.gate.metric for one in found.judged if one.gate.slice is None and not one.gate.kept}
    return names <= judged and any(one.gate.metric in names for one in found.outcomes(Outcome.FAIL))


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
        (
            pattern,
            do if "baseline" in pattern else "give it what it needs (see the reason beside it), or mark it optional",
        )
        for pattern, do in found.unmeasured_step()
    ]
    steps += [step for metrics, step in _MEANS.items() if failed & {*metrics}]
    steps += [(one.symptom, one.look_at) for one in diagnosis if failed]
    if _fails_canary(found):
        steps.append(_CANARY)
    if any(one.gate.op == g.EACH for one in found.outcomes(Outcome.FAIL)):
        steps.append(("questions that must pass do not", "look at each of them: ragworthy show QID"))
    first: dict[str, str] = {}
    for pattern, do in steps:
        first.setdefault(pattern, do)
    return list(first.items())
