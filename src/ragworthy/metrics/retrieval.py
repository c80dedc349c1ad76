"""Metrics of the retrieval suite. Most map the facts of one run to a number; a question's is the mean over its runs.

Those of convergence look at all runs of a question at once.
"""

import math
from fractions import Fraction
from functools import lru_cache, partial

from ragworthy.metrics.facts.convergence import CHAOS, FORWARD, Question, mark, run_marks
from ragworthy.metrics.facts.runs import Facts
from ragworthy.metrics.registry import metric

_CASES, _NO_CASES = "answerable questions", "no answerable question with relevant blocks"
_ANSWERED, _NO_ANSWER = "answered questions", "nothing was answered"


@lru_cache(maxsize=1 << 14)
def _ratio(part: int, whole: int) -> Fraction:
    return Fraction(part, whole)


def _counted(facts: Facts) -> bool:
    return facts.answerable and bool(facts.blocks)


@metric(
    better="higher",
    kind="mean",
    over="run",
    at_k=True,
    cases=_CASES,
    event="relevant among the first k returned",
    undefined=_NO_CASES,
    source="ProblemMap GlobalFixMap/Chunking/eval_rag_precision_recall.md, Precision@k; divided by the items returned",
)
def precision(facts: Facts, *, k: int) -> Fraction | None:
    """Share of the first k returned items that are relevant; repeated items count against it."""
    if not _counted(facts):
        return None
    found = sum(rank <= k for rank in facts.relevant)
    return _ratio(found, max(1, min(k, facts.returned)))


@metric(
    better="higher",
    kind="mean",
    over="run",
    at_k=True,
    cases=_CASES,
    event="relevant blocks in the first k",
    undefined=_NO_CASES,
    source="ProblemMap GlobalFixMap/Chunking/eval_rag_precision_recall.md, Recall@k",
)
def recall(facts: Facts, *, k: int) -> Fraction | None:
    """Share of the relevant blocks that are among the first k returned."""
    if not _counted(facts):
        return None
    return _ratio(sum(0 < rank <= k for rank in facts.blocks), len(facts.blocks))


@metric(
    better="higher",
    kind="mean",
    over="run",
    at_k=True,
    cases=_CASES,
    event="with a relevant block in the first k",
    undefined=_NO_CASES,
    source="usual success@k",
)
def hit(facts: Facts, *, k: int) -> bool | None:
    """Share of questions with at least one relevant block among the first k returned."""
    return any(0 < rank <= k for rank in facts.blocks) if _counted(facts) else None


@metric(
    better="higher",
    kind="mean",
    over="run",
    at_k=True,
    cases=_CASES,
    event="of the ideal gain",
    undefined=_NO_CASES,
    source="usual nDCG: gain is the grade, discount is log2(rank + 1)",
)
def ndcg(facts: Facts, *, k: int) -> float | None:
    """Gain of the first k returned, discounted by rank, over the gain of the best order."""
    if not _counted(facts):
        return None
    best = math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(facts.ideal[:k], 1))
    got = math.fsum(
        gain / math.log2(rank + 1) for rank, gain in zip(facts.relevant, facts.gains, strict=True) if rank <= k
    )
    return min(1.0, got / best) if best else 0.0  # a chunk that holds two of them gains both at once


@metric(
    better="higher",
    kind="mean",
    over="run",
    cases=_CASES,
    event="one over the rank of the first relevant block",
    undefined=_NO_CASES,
    source="usual mean reciprocal rank",
)
def mrr(facts: Facts) -> Fraction | None:
    """Mean of one over the rank of the first relevant block; 0 where none was returned."""
    if not _counted(facts):
        return None
    first = facts.relevant[0] if facts.relevant else 0
    return _ratio(1, first) if first else _ratio(0, 1)


@metric(
    better="higher",
    kind="mean",
    over="run",
    at_k=True,
    cases="questions with an anchor section",
    event="with a block of the anchor section in the first k",
    undefined="no question has an anchor section",
    source="ProblemMap GlobalFixMap/Chunking/eval_rag_precision_recall.md, Anchor hit",
)
def anchor_hit(facts: Facts, *, k: int) -> bool | None:
    """Share of questions with a block of the anchor section among the first k returned."""
    return 0 < facts.anchor <= k if facts.answerable and facts.anchored else None


@metric(
    better="higher",
    kind="mean",
    over="run",
    needs="answers",
    cases="answerable questions",
    event="citing a relevant block or the anchor section",
    undefined="no answerable question",
    source="ProblemMap GlobalFixMap/Chunking/eval_rag_precision_recall.md, Coverage; any citation counts",
)
def coverage(facts: Facts) -> bool | None:
    """Share of questions whose answer cites a relevant block or a block of the anchor section."""
    return facts.covered if facts.answerable else None


@metric(
    better="higher",
    kind="mean",
    over="run",
    needs="answers",
    cases=_ANSWERED,
    event="citing the right bytes",
    undefined=_NO_ANSWER,
    source="ProblemMap GlobalFixMap/Chunking/eval_rag_precision_recall.md, Citation accuracy; over answered questions",
)
def citation_accuracy(facts: Facts) -> bool | None:
    """Share of answered questions whose first citation lies in the section and within 30 bytes of a relevant block."""
    return facts.accurate if facts.answerable and facts.answered else None


@metric(
    better="higher",
    kind="mean",
    over="run",
    needs="answers",
    cases=_ANSWERED,
    event="citing a relevant block edge by edge",
    undefined=_NO_ANSWER,
    source="ProblemMap GlobalFixMap/Chunking/eval_rag_precision_recall.md, 30-byte window read as both edges",
)
def citation_exact(facts: Facts) -> bool | None:
    """Share of answered questions whose first citation has both edges within 30 bytes of a relevant block."""
    return facts.exact if facts.answerable and facts.answered else None


@metric(
    better="lower",
    kind="mean",
    over="run",
    needs="answers",
    highest=None,
    cases=_ANSWERED,
    event="steps in the title tree",
    undefined="no answer cites a section of the right document",
    source="ProblemMap GlobalFixMap/Chunking/eval_rag_precision_recall.md, Anchor proximity",
)
def anchor_distance(facts: Facts) -> int | None:
    """Steps in the title tree from the section of the first citation to the anchor section."""
    return facts.distance if facts.answerable and facts.answered else None


_distance = partial(
    metric,
    better="lower",
    over="run",
    needs="distances",
    cases=_ANSWERED,
    event="distance",
    undefined="no answered question has a distance",
)


def _delta_s(facts: Facts) -> Fraction | None:
    return facts.delta_s if facts.answerable and facts.answered else None


@_distance(
    kind="median",
    source="ProblemMap GlobalFixMap/Chunking/eval_rag_precision_recall.md, ΔS median of the cited snippet",
    short=("ds_median",),
)
def delta_s_median(facts: Facts) -> Fraction | None:
    """Median semantic distance between the question and the first citation."""
    return _delta_s(facts)


@_distance(
    kind="p90",
    source="ProblemMap GlobalFixMap/Chunking/eval_rag_precision_recall.md, ΔS 90th percentile of the cited snippet",
    short=("ds_p90",),
)
def delta_s_p90(facts: Facts) -> Fraction | None:
    """90th percentile of the semantic distance between the question and the first citation."""
    return _delta_s(facts)


@_distance(
    kind="mean",
    source="ProblemMap GlobalFixMap/Eval_Observability/deltaS_thresholds.md, batch mean",
    short=("ds_mean",),
)
def delta_s_mean(facts: Facts) -> Fraction | None:
    """Mean semantic distance between the question and the first citation."""
    return _delta_s(facts)


@metric(
    better="higher",
    kind="share",
    needs="runs",
    cases="triplets of paraphrases",
    event="leading to one section",
    undefined="no question was asked in three wordings under two seeds",
    source="ProblemMap GlobalFixMap/Chunking/eval_rag_precision_recall.md, λ convergent on paraphrase triplets",
)
def triplet_rate(question: Question) -> tuple[int, int] | None:
    """Share of paraphrase triplets (three wordings under one seed) whose first citations share a section."""
    found = question.triplets() if question.counted else []
    return (sum(found), len(found)) if found else None


@metric(
    better="higher",
    kind="mean",
    needs="runs",
    cases="questions asked in three wordings under two seeds",
    event="of the runs lead to the section most lead to",
    undefined="no question was asked in three wordings under two seeds",
    source="ProblemMap GlobalFixMap/Eval_Observability/lambda_observe.md, convergence",
)
def convergence(question: Question) -> Fraction | None:
    """Share of a question's runs that lead to the section most of them lead to."""
    if not question.counted:
        return None
    marks = run_marks(question.seen)
    return _ratio(marks.count(FORWARD), len(marks))


@metric(
    better="lower",
    kind="count",
    needs="runs",
    cases="questions asked in three wordings under two seeds",
    event="without any agreement between runs",
    undefined="never: a count of nothing is 0",
    source="ProblemMap GlobalFixMap/Eval_Observability/lambda_observe.md, the mark ×",
)
def collapsed(question: Question) -> bool | None:
    """Number of questions whose runs agree on nothing (×)."""
    return mark(question.seen) == CHAOS if question.counted else None


@metric(
    better="lower",
    kind="mean",
    over="run",
    at_k=True,
    cases="questions with hard negatives",
    event="with a hard negative in the first k",
    undefined="no question has hard negatives",
    source="ProblemMap GlobalFixMap/Chunking/eval_rag_precision_recall.md, hard negatives",
)
def negatives(facts: Facts, *, k: int) -> bool | None:
    """Share of questions with a hard negative among the first k returned; an error without results counts as one."""
    lost = facts.errored and not facts.returned
    return lost or 0 < facts.negative <= k if facts.answerable and facts.negatives else None


@metric(
    better="lower",
    kind="mean",
    over="run",
    at_k=True,
    cases="questions with hard negatives",
    event="with a hard negative above the first relevant block",
    undefined="no question has hard negatives",
    source="ProblemMap GlobalFixMap/Chunking/eval_rag_precision_recall.md, hard negatives",
)
def negative_first(facts: Facts, *, k: int) -> bool | None:
    """Share of questions with a hard negative above the first relevant block; an error without results is one."""
    if not facts.answerable or not facts.negatives:
        return None
    if facts.errored and not facts.returned:
        return True
    first = facts.relevant[0] if facts.relevant and facts.relevant[0] <= k else k + 1
    return 0 < facts.negative <= k and facts.negative < first


@metric(
    better="higher",
    kind="mean",
    over="run",
    needs="corpus",
    cases="questions with an anchor section",
    event="of the section's tokens returned",
    undefined="the corpus does not know the anchor sections",
    source="ProblemMap GlobalFixMap/Eval_Observability/coverage_tracking.md, token coverage",
)
def token_coverage(facts: Facts) -> Fraction | None:
    """Share of the tokens of the anchor section that stand in returned blocks."""
    return _ratio(*facts.tokens) if facts.answerable and facts.tokens else None


@metric(
    better="lower",
    kind="count",
    cases="gold questions",
    event="without a trace",
    undefined="never: a count of nothing is 0",
    source="Ragworthy: every question needs a trace",
)
def missing(question: Question) -> bool | None:
    """Number of gold questions without any trace."""
    return not question.runs
