"""Metrics of the retrieval suite. Most map the facts of one run to a number; a question's is the mean over its runs.

Those of convergence look at all runs of a question at once.
"""

import math
from fractions import Fraction
from functools import lru_cache, partial

from ragworthy.metrics.facts.contract import OK
from ragworthy.metrics.facts.convergence import CHAOS, FORWARD, SPLIT, Question
from ragworthy.metrics.facts.distance import ACCEPT, BLOCK, STABLE
from ragworthy.metrics.facts.orders import six
from ragworthy.metrics.facts.runs import Facts
from ragworthy.metrics.registry import metric

_PAGE = "ProblemMap GlobalFixMap/Chunking/eval_rag_precision_recall.md"
_RECIPES = "ProblemMap GlobalFixMap/Eval/eval_rag_precision_recall.md, Retrieval/retrieval_eval_recipes.md"
_TRACE = "ProblemMap GlobalFixMap/Retrieval/retrieval-traceability.md"
_RERANKER = "ProblemMap GlobalFixMap/Retrieval/checklists/reranker_sanity.md"
_LAMBDA = "ProblemMap GlobalFixMap/Eval_Observability/lambda_observe.md"
_THRESHOLDS = "ProblemMap GlobalFixMap/Eval_Observability/deltaS_thresholds.md"
_CASES, _NO_CASES = "answerable questions", "no answerable question with relevant blocks"
_ANSWERED, _NO_ANSWER = "answered questions", "nothing was answered"
_NO_DISTANCE = "no answered question has a distance"
_ASKED = "questions asked in three wordings under two seeds"
_NOT_ASKED = "no question was asked in three wordings under two seeds"
_of_run = partial(metric, better="higher", kind="mean", over="run")
_ranked = partial(_of_run, cases=_CASES, undefined=_NO_CASES)
_cited = partial(_of_run, needs="answers", cases=_ANSWERED, undefined=_NO_ANSWER)


@lru_cache(maxsize=1 << 14)
def _ratio(part: int, whole: int) -> Fraction:
    return Fraction(part, whole)


def _counted(facts: Facts) -> bool:
    return facts.answerable and bool(facts.blocks)


@_ranked(at_k=True, event="relevant among the first k returned",
         source=f"{_PAGE}, Precision@k; divided by the items returned")  # fmt: skip
def precision(facts: Facts, *, k: int) -> Fraction | None:
    """Share of the first k returned items that are relevant; repeated items count against it."""
    if not _counted(facts):
        return None
    found = sum(rank <= k for rank in facts.relevant)
    return _ratio(found, max(1, min(k, facts.returned)))


@_ranked(at_k=True, event="relevant blocks in the first k", source=f"{_PAGE}, Recall@k")
def recall(facts: Facts, *, k: int) -> Fraction | None:
    """Share of the relevant blocks that are among the first k returned."""
    if not _counted(facts):
        return None
    return _ratio(sum(0 < rank <= k for rank in facts.blocks), len(facts.blocks))


@_ranked(at_k=True, event="with a relevant block in the first k", source="usual success@k")
def hit(facts: Facts, *, k: int) -> bool | None:
    """Share of questions with at least one relevant block among the first k returned."""
    return any(0 < rank <= k for rank in facts.blocks) if _counted(facts) else None


@_ranked(at_k=True, event="of the ideal gain", source="usual nDCG: gain is the grade, discount is log2(rank + 1)")
def ndcg(facts: Facts, *, k: int) -> float | None:
    """Gain of the first k returned, discounted by rank, over the gain of the best order."""
    if not _counted(facts):
        return None
    best = math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(facts.ideal[:k], 1))
    got = math.fsum(
        gain / math.log2(rank + 1) for rank, gain in zip(facts.relevant, facts.gains, strict=True) if rank <= k
    )
    return min(1.0, got / best) if best else 0.0  # a chunk that holds two of them gains both at once


@_ranked(event="one over the rank of the first relevant block", source="usual mean reciprocal rank")
def mrr(facts: Facts) -> Fraction | None:
    """Mean of one over the rank of the first relevant block; 0 where none was returned."""
    if not _counted(facts):
        return None
    first = facts.relevant[0] if facts.relevant else 0
    return _ratio(1, first) if first else _ratio(0, 1)


@_of_run(at_k=True, cases="questions with an anchor section", event="with a block of the anchor section in the first k",
         undefined="no question has an anchor section", source=f"{_PAGE}, Anchor hit")  # fmt: skip
def anchor_hit(facts: Facts, *, k: int) -> bool | None:
    """Share of questions with a block of the anchor section among the first k returned."""
    return 0 < facts.anchor <= k if facts.answerable and facts.anchored else None


@_of_run(
    needs="answers",
    cases="answerable questions",
    event="citing a relevant block or the anchor section",
    undefined="no answerable question",
    source=f"{_PAGE}, Coverage; any citation counts",
)
def coverage(facts: Facts) -> bool | None:
    """Share of questions whose answer cites a relevant block or a block of the anchor section."""
    return facts.covered if facts.answerable else None


@_cited(event="citing the right bytes", source=f"{_PAGE}, Citation accuracy; over answered questions")
def citation_accuracy(facts: Facts) -> bool | None:
    """Share of answered questions whose first citation lies in the section and within 30 bytes of a relevant block."""
    return facts.accurate if facts.answerable and facts.answered else None


@_cited(event="citing a relevant block edge by edge", source=f"{_PAGE}, 30-byte window read as both edges")
def citation_exact(facts: Facts) -> bool | None:
    """Share of answered questions whose first citation has both edges within 30 bytes of a relevant block."""
    return facts.exact if facts.answerable and facts.answered else None


@_cited(event="cited blocks that are relevant", source=f"{_RECIPES}, citation precision")
def citation_precision(facts: Facts) -> Fraction | None:
    """Share of the blocks that an answer cites which are relevant."""
    return _ratio(facts.right[0], len(facts.cited)) if facts.answered and _counted(facts) else None


@_ranked(needs="answers", event="relevant blocks that are cited", source=f"{_RECIPES}, citation recall")
def citation_recall(facts: Facts) -> Fraction | None:
    """Share of the relevant blocks that the answer cites; without an answer it cites none."""
    return _ratio(facts.right[1], len(facts.blocks)) if _counted(facts) else None


@_cited(event="of the bytes of a relevant block cited",
        source="ProblemMap GlobalFixMap/Retrieval/retrieval_eval_recipes.md, coverage of the anchor")  # fmt: skip
def anchor_coverage(facts: Facts) -> Fraction | None:
    """Share of the bytes of a relevant block that the cited ranges hold; of the block that they hold most of."""
    return facts.held if facts.answered and _counted(facts) else None


def is_answer(facts: Facts) -> bool:
    """Whether a run says or cites something, of itself: neither a refusal nor an error, nor the first result cited."""
    return (facts.claims or facts.answered) and not facts.by_rank


@_of_run(needs="claims", cases="answers and errors", event="coming with citations", undefined="nothing was answered",
         source=f"{_TRACE}, rule 1: cite first, then explain")  # fmt: skip
def cite_first(facts: Facts) -> bool | None:
    """Share of answers with citations before or beside what they claim; refusals and errors are not answers."""
    return facts.answered if is_answer(facts) or facts.errored else None


@_of_run(needs="payload", cases="answers and errors", event="keeping the traceability contract",
         undefined="nothing was answered", source=f"{_TRACE}, citation payload schema and validators")  # fmt: skip
def traceable(facts: Facts) -> bool | None:
    """Share of answers all of whose citations carry snippet_id, section_id, source_url, offsets, tokens and fit."""
    return facts.contract == OK if is_answer(facts) or facts.errored else None


@metric(better="lower", kind="mean", over="run", needs="answers", highest=None, cases=_ANSWERED,
        event="steps in the title tree", undefined="no answer cites a section of the right document",
        source=f"{_PAGE}, Anchor proximity")  # fmt: skip
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
    undefined=_NO_DISTANCE,
)


def _delta_s(facts: Facts) -> Fraction | None:
    return facts.delta_s if facts.answerable and facts.answered else None


@_distance(kind="median", source=f"{_PAGE}, ΔS median of the cited snippet", short=("ds_median",))
def delta_s_median(facts: Facts) -> Fraction | None:
    """Median semantic distance between the question and the first citation."""
    return _delta_s(facts)


@_distance(kind="p90", source=f"{_PAGE}, ΔS 90th percentile of the cited snippet", short=("ds_p90",))
def delta_s_p90(facts: Facts) -> Fraction | None:
    """90th percentile of the semantic distance between the question and the first citation."""
    return _delta_s(facts)


@_distance(kind="mean", source=f"{_THRESHOLDS}, batch mean", short=("ds_mean",))
def delta_s_mean(facts: Facts) -> Fraction | None:
    """Mean semantic distance between the question and the first citation."""
    return _delta_s(facts)


@_of_run(needs="distances", cases=_ANSWERED, event="citing text at a distance of at most 0.45",
         undefined=_NO_DISTANCE, source=f"{_PAGE}, ΔS ≤ 0.45 for each cited snippet")  # fmt: skip
def delta_s_within(facts: Facts) -> bool | None:
    """Share of answered questions whose first citation is within an accepted distance (ΔS ≤ 0.45) of the question."""
    distance = _delta_s(facts)
    return None if distance is None else distance <= ACCEPT


@_distance(kind="mean", event="citing text at a distance of 0.40 and more",
           source=f"{_THRESHOLDS}, at most 10 % transitional")  # fmt: skip
def delta_s_unstable(facts: Facts) -> bool | None:
    """Share of answered questions whose first citation is not in the stable band (ΔS ≥ 0.40): transitional or worse."""
    distance = _delta_s(facts)
    return None if distance is None else distance >= STABLE


@_distance(kind="mean", event="citing text at a distance of 0.60 and more",
           source="ProblemMap GlobalFixMap/Eval_Observability/alerting_and_probes.md, any query ≥ 0.60")  # fmt: skip
def delta_s_far(facts: Facts) -> bool | None:
    """Share of answered questions whose first citation is as far away as unrelated text (ΔS ≥ 0.60)."""
    distance = _delta_s(facts)
    return None if distance is None else distance >= BLOCK


_probes = partial(
    metric,
    better="lower",
    kind="median",
    over="run",
    needs="probes",
    cases="questions whose results have distances",
    event="distance",
    undefined="no result has a distance",
)


@_probes(source=f"{_PAGE}, ΔS probes for each retrieved item")
def delta_s_topk_median(facts: Facts) -> Fraction | None:
    """Median over questions of the median recorded distance between the question and everything returned for it."""
    return facts.probes[0] if facts.answerable and facts.probes else None


@_probes(source=f"{_PAGE}, ΔS_p90 of the evaluator's pseudocode")
def delta_s_topk_p90(facts: Facts) -> Fraction | None:
    """Median over questions of the 90th percentile of the recorded distances of everything returned for each."""
    return facts.probes[1] if facts.answerable and facts.probes else None


@_of_run(needs="probes", cases="questions whose first result has a distance, or that nothing was returned for",
         event="returning text at a distance of at most 0.45 first", undefined="no first result has a distance",
         source=f"{_RERANKER}, ΔS(question, top1) ≤ 0.45 for 70 % of the queries")  # fmt: skip
def delta_s_top1_within(facts: Facts) -> bool | None:
    """Share of questions whose first result is within an accepted distance (ΔS ≤ 0.45); none is not within."""
    if not facts.answerable or (facts.top is None and facts.returned):
        return None
    return facts.top is not None and facts.top <= ACCEPT


@metric(better="higher", kind="share", needs="runs", cases="triplets of paraphrases", event="leading to one section",
        undefined=_NOT_ASKED, source=f"{_PAGE}, λ convergent on paraphrase triplets")  # fmt: skip
def triplet_rate(question: Question) -> tuple[int, int] | None:
    """Share of paraphrase triplets (three wordings under one seed) whose first citations share a section."""
    found = question.triplets() if question.counted else []
    return (sum(found), len(found)) if found else None


@metric(better="higher", kind="mean", needs="runs", cases=_ASKED, event="of the runs lead to the section most lead to",
        undefined=_NOT_ASKED, source=f"{_LAMBDA}, convergence")  # fmt: skip
def convergence(question: Question) -> Fraction | None:
    """Share of a question's runs that lead to the section most of them lead to."""
    if not question.counted:
        return None
    marks = question.run_marks
    return _ratio(marks.count(FORWARD), len(marks))


@metric(better="lower", kind="mean", needs="runs", cases=_ASKED, event="of the steps from run to run change the mark",
        undefined=_NOT_ASKED, source="ProblemMap GlobalFixMap/Eval/eval_benchmarking.md, λ_state_seq")  # fmt: skip
def flip_rate(question: Question) -> Fraction | None:
    """Share of the steps from one run of a question to the next, by wording and seed, that change the mark of λ."""
    return question.flips if question.counted else None


@metric(better="higher", needs="runs", cases=_ASKED, event="of which all runs lead to one section",
        undefined=_NOT_ASKED, source=f"{_PAGE}, λ on three paraphrases and two seeds")  # fmt: skip
def lambda_rate(question: Question) -> bool | None:
    """Share of questions all of whose runs, over wordings and seeds, lead to one section (→)."""
    return question.mark == FORWARD if question.counted else None


@metric(
    better="higher",
    kind="mean",
    needs="orders",
    lowest=-1,
    cases="questions with results in two runs",
    event="Kendall's τ-b of the first ten results",
    undefined="no question has results in two runs",
    source=f"{_RERANKER}, ranking stable across paraphrases",
)
def rank_tau(question: Question) -> Fraction | None:
    """Mean Kendall τ-b between the first ten results of a question's wordings; of one wording, between its seeds."""
    if not question.facts[0].answerable:
        return None
    # Runs that differ only in their seed say nothing of wordings: counted too, they would raise it by being more.
    taus = question.taus(seeds=False) or question.taus(seeds=True)
    return six(math.fsum(taus) / len(taus)) if taus else None


@_of_run(needs="before", lowest=-1, at_k=True, cases=_CASES, event="recall gained by reranking",
         undefined="no trace holds what was found before reranking (before_rerank)",
         source=f"{_RERANKER}, uplift over the better baseline")  # fmt: skip
def rerank_uplift(facts: Facts, *, k: int) -> Fraction | None:
    """Recall among the first k minus that of the better list before reranking; a list lost to an error had it all."""
    after, better = recall(facts, k=k), dict(facts.better)
    if after is None or k not in better:
        return None
    before = dict(facts.before).get(better[k])
    if before is None:
        return after - 1 if facts.errored else None
    return after - _ratio(sum(0 < rank <= k for rank in before), len(before))


@_of_run(needs="live", lowest=-1, cases="questions asked of both indexes", event="Spearman's ρ of the results",
         undefined="neither index returned anything",
         source="ProblemMap examples/example_05_vectorstore_repair.md, rank correlation between index builds",
)  # fmt: skip
def rank_rho(facts: Facts) -> Fraction | None:
    """Mean Spearman ρ between the results of this index and of the one in use, over everything either returned."""
    return facts.rho if facts.answerable else None


@_of_run(needs="live", cases="questions asked of both indexes", event="citing what the index in use cites",
         undefined="no question was asked of both indexes",
         source="ProblemMap GlobalFixMap/Chunking/reindex_migration.md, shadow read returns identical citations",
)  # fmt: skip
def identical_citations(facts: Facts) -> bool | None:
    """Share of questions that cite the same blocks in the same order as with the index in use; ids are followed."""
    return facts.as_live if facts.answerable else None


@metric(better="lower", needs="runs", cases=_ASKED, event="of which some runs lead elsewhere", undefined=_NOT_ASKED,
        source=f"{_LAMBDA}, <> at most 10 % of cases")  # fmt: skip
def lambda_split(question: Question) -> bool | None:
    """Share of questions whose runs are divided: they agree in part, and not all (<>)."""
    return question.mark == SPLIT if question.counted else None


@metric(better="lower", kind="count", needs="runs", cases=_ASKED, event="without any agreement between runs",
        undefined="never: a count of nothing is 0", source=f"{_LAMBDA}, the mark ×")  # fmt: skip
def collapsed(question: Question) -> bool | None:
    """Number of questions whose runs agree on nothing (×)."""
    return question.mark == CHAOS if question.counted else None


_negative = partial(metric, better="lower", kind="mean", over="run", at_k=True, cases="questions with hard negatives",
                    undefined="no question has hard negatives", source=f"{_PAGE}, hard negatives")  # fmt: skip


@_negative(event="with a hard negative in the first k")
def negatives(facts: Facts, *, k: int) -> bool | None:
    """Share of questions with a hard negative among the first k returned; an error without results counts as one."""
    lost = facts.errored and not facts.returned
    return lost or 0 < facts.negative <= k if facts.answerable and facts.negatives else None


@_negative(event="with a hard negative above the first relevant block")
def negative_first(facts: Facts, *, k: int) -> bool | None:
    """Share of questions with a hard negative above the first relevant block; an error without results is one."""
    if not facts.answerable or not facts.negatives:
        return None
    if facts.errored and not facts.returned:
        return True
    first = facts.relevant[0] if facts.relevant and facts.relevant[0] <= k else k + 1
    return 0 < facts.negative <= k and facts.negative < first


@_of_run(needs="corpus", cases="questions with an anchor section", event="of the section's tokens returned",
         undefined="the corpus does not know the anchor sections",
         source="ProblemMap GlobalFixMap/Eval_Observability/coverage_tracking.md, token coverage")  # fmt: skip
def token_coverage(facts: Facts) -> Fraction | None:
    """Share of the tokens of the anchor section that are in returned blocks."""
    return _ratio(*facts.tokens) if facts.answerable and facts.tokens else None


@metric(better="lower", kind="count", cases="gold questions", event="without a trace",
        undefined="never: a count of nothing is 0", source="Ragworthy: every question needs a trace")  # fmt: skip
def missing(question: Question) -> bool | None:
    """Number of gold questions without any trace."""
    return not question.runs
