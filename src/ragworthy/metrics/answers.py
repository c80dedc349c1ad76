"""Metrics of the answers suite. Each maps the facts of one question to True, False or None.

The value of a rate is the share of True among the questions that are not None; a count is the number of True.
"""

from ragworthy.metrics.facts.answers import Facts
from ragworthy.metrics.registry import metric
from ragworthy.names import Label, Stage


@metric(
    better="higher",
    short=("precision",),
    cases="shipped answers",
    event="right and cited",
    undefined="nothing was shipped",
    needs="evidence",
    source="ProblemMap eval/eval_rag_precision_recall.md §2 and eval/README.md §2",
)
def precision(facts: Facts) -> bool | None:
    """Share of shipped answers that are right, properly cited and keep their constraints; an error is none of it."""
    if not facts.tried or facts.by_text:
        return None
    return facts.answerable and facts.contains and facts.hit and facts.kept


@metric(
    better="higher",
    short=("chr",),
    cases="shipped answers",
    event="citing gold evidence",
    undefined="nothing was shipped",
    needs="evidence",
    source="ProblemMap eval/eval_rag_precision_recall.md §2 and eval/README.md §2",
)
def chr(facts: Facts) -> bool | None:
    """Share of shipped answers that cite gold evidence and nothing outside what was retrieved; an error does not."""
    return facts.hit if facts.tried and not facts.by_text else None


@metric(
    better="lower",
    short=("under",),
    cases="unanswerable questions",
    event="answered",
    undefined="no unanswerable question",
    source="ProblemMap eval/eval_rag_precision_recall.md §2 and eval/README.md §2",
)
def under_refusal(facts: Facts) -> bool | None:
    """Share of unanswerable questions that were answered anyway; an error is neither an answer nor a refusal."""
    return None if facts.answerable or facts.errored else facts.shipped


@metric(
    better="lower",
    short=("over",),
    cases="answerable questions",
    event="refused",
    undefined="no answerable question",
    source="ProblemMap eval/eval_rag_precision_recall.md §2 and eval/README.md §2",
)
def over_refusal(facts: Facts) -> bool | None:
    """Share of answerable questions that were refused; an error is neither an answer nor a refusal."""
    return facts.refused if facts.answerable and not facts.errored else None


@metric(
    better="higher",
    at_k=True,
    cases="answerable questions",
    event="with all gold evidence in the first k",
    undefined="no answerable question with gold evidence",
    needs="evidence",
    source="ProblemMap eval/eval_rag_precision_recall.md §2 and eval/README.md §2",
)
def recall(facts: Facts, *, k: int) -> bool | None:
    """Share of answerable questions with all gold evidence among the first k retrieved."""
    return k in facts.all_in_top if facts.answerable and facts.evidence else None


@metric(
    better="higher",
    at_k=True,
    cases="answerable questions",
    event="with some gold evidence in the first k",
    undefined="no answerable question with gold evidence",
    needs="evidence",
    source="ProblemMap examples/example_05 §6.1, where it is called recall@k",
)
def hit(facts: Facts, *, k: int) -> bool | None:
    """Share of answerable questions with some gold evidence among the first k retrieved."""
    return k in facts.any_in_top if facts.answerable and facts.evidence else None


@metric(
    better="higher",
    short=("chr_ub",),
    at_k=True,
    cases="shipped answers",
    event="with gold evidence in the first k",
    undefined="nothing was shipped",
    needs="evidence",
    source="ProblemMap eval/README.md §0, CHR@k (upper bound)",
)
def chr_ceiling(facts: Facts, *, k: int) -> bool | None:
    """Best citation hit rate the shipped answers could have reached with their first k retrieved."""
    return k in facts.any_in_top if facts.tried and not facts.by_text else None


@metric(
    better="higher",
    cases="shipped answers",
    event="keeping their constraints",
    undefined="nothing was shipped",
    source="ProblemMap eval/README.md §0",
)
def scu(facts: Facts) -> bool | None:
    """Share of shipped answers that keep their locked constraints; an error does not."""
    return facts.kept if facts.tried else None


@metric(
    better="lower",
    kind="count",
    cases="shipped answers with constraints",
    event="breaking a constraint",
    undefined="never: a count of nothing is 0",
    source="ProblemMap eval/README.md §2",
)
def scu_violations(facts: Facts) -> bool | None:
    """Number of shipped answers that break their locked constraints."""
    return not facts.kept if facts.shipped and facts.constrained else None


@metric(
    better="higher",
    cases="traces",
    event="of the agreed shape",
    undefined="no trace",
    source="ProblemMap examples/example_08 §2, gate G5",
)
def compliance(facts: Facts) -> bool | None:
    """Share of traces that refuse, or answer with a non-empty claim and a list of citation ids."""
    return None if facts.missing else facts.refused or (facts.claim and facts.well_formed)


@metric(
    better="higher",
    cases="answerable questions",
    event="with the gold text in the claim",
    undefined="no answerable question",
    source="ProblemMap examples/example_08, claim containment",
)
def containment(facts: Facts) -> bool | None:
    """Share of answerable questions that were answered with a claim containing the gold text."""
    return facts.shipped and facts.contains if facts.answerable else None


@metric(
    better="higher",
    short=("cited_support",),
    cases="shipped answers to answerable questions",
    event="whose cited chunks hold the gold text",
    undefined="needs chunk texts (--corpus) and shipped answers to answerable questions",
    source="ProblemMap eval/README.md §0, where CHR is described so",
)
def support(facts: Facts) -> bool | None:
    """Share of shipped answers to answerable questions where a cited chunk's text holds the gold text."""
    return facts.supported if facts.tried and facts.supportable else None


@metric(
    better="lower",
    kind="count",
    cases="gold questions",
    event="without a trace",
    undefined="never: a count of nothing is 0",
    source="Ragworthy: every question needs a trace",
)
def missing(facts: Facts) -> bool | None:
    """Number of gold questions without a trace."""
    return facts.missing


def label(facts: Facts) -> Label:
    """What became of the question: the first label that applies."""
    if facts.missing:
        return Label.MISSING
    if facts.errored:
        return Label.ERROR
    if facts.refused:
        return Label.OVER_REFUSAL if facts.answerable else Label.REFUSAL_OK
    if not facts.answerable:
        return Label.HALLUCINATION
    if not facts.claim:
        return Label.EMPTY_CLAIM
    if not facts.by_text:
        if not facts.in_scope:
            return Label.OUT_OF_SCOPE
        if not facts.hit:
            return Label.ANS_NO_HIT
    if not facts.contains:
        return Label.ANS_NO_CONTAIN
    return Label.OK if facts.kept else Label.SCU_VIOLATION


def blame(facts: Facts) -> tuple[Stage, str]:
    """The stage to look at first, and why."""
    what = label(facts)
    if what is Label.MISSING:
        return Stage.PIPELINE, "no trace was written for this question"
    if what is Label.ERROR:
        return Stage.PIPELINE, "an error instead of an answer"
    if what is Label.EMPTY_CLAIM:
        return Stage.GENERATION, "the claim is empty"
    if what is Label.HALLUCINATION:
        return Stage.REFUSAL, "answered although the gold set says that the corpus has no answer"
    if what is Label.OVER_REFUSAL and facts.by_text:
        return Stage.REFUSAL, "refused although the gold set has an answer"
    if what is Label.OVER_REFUSAL:
        if facts.retrieved:
            return Stage.REFUSAL, "refused although gold evidence was retrieved"
        if facts.unbound:
            return Stage.INDEX, "refused, and no chunk of the corpus holds the gold evidence"
        return Stage.RETRIEVAL, "refused, and no gold evidence was retrieved"
    if what is Label.OUT_OF_SCOPE:
        return Stage.CITATION, "cites an id that was not retrieved"
    if what is Label.ANS_NO_HIT:
        if facts.retrieved:
            return Stage.CITATION, "gold evidence was retrieved but not cited"
        if facts.unbound:
            return Stage.INDEX, "no chunk of the corpus holds the gold evidence"
        return Stage.RETRIEVAL, "no gold evidence was retrieved"
    if what is Label.ANS_NO_CONTAIN and facts.by_text:
        return Stage.GENERATION, "the claim lacks the gold text"
    if what is Label.ANS_NO_CONTAIN:
        return Stage.GENERATION, "cites the right evidence, but the claim lacks the gold text"
    if what is Label.SCU_VIOLATION:
        return Stage.CONSTRAINTS, "the locked constraints were not echoed or are contradicted"
    return Stage.PIPELINE, "nothing to blame"
