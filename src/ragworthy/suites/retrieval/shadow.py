"""Shadow against live: the index that wants to go live, compared with the one in use, question by question."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from ragworthy import gates as g
from ragworthy.metrics.facts.convergence import Arm, Asked, RunKey
from ragworthy.metrics.facts.wanted import GONE
from ragworthy.names import Outcome
from ragworthy.suites.evidence import Summary
from ragworthy.suites.retrieval.churn import jaccard, rbo
from ragworthy.suites.retrieval.compared import Compared, Live, Moved
from ragworthy.suites.retrieval.rules import LIVE_GATE, RETRIEVAL_GATES

CHANGED_SHOWN = 20
DEPTH = 5


class Results(NamedTuple):
    """What two indexes return for the same query, by ids that can be compared."""

    qid: str
    query: str
    live: Sequence[str]
    shadow: Sequence[str]


def compare(
    live: Live, arm: Arm, summary: Summary, renamed: tuple[Callable[[str], str], Callable[[str], str]]
) -> Compared:
    """Paired differences of every metric, blocks gained and lost, the churn of results, and the canary verdict."""
    canary = g.judge((*RETRIEVAL_GATES, LIVE_GATE), summary.values, baseline=live.baseline)
    today = [one.gate.metric for one in g.judge(RETRIEVAL_GATES, live.summary.values) if one.outcome is Outcome.FAIL]
    gained, lost = _moved(live.arm, arm)
    before, after = live.summary.words, summary.words
    return Compared(
        live=live,
        paired={name.id: _paired(before[name.id], after[name.id]) for name in summary.names},
        gained=gained,
        lost=lost,
        changed=_changed(live.arm, arm, renamed),
        canary=canary,
        failing_live=today,
        eligible=not live.unlike and all(one.outcome is Outcome.PASS for one in canary),
        gone=sum(name.startswith(GONE) for one in live.arm.asked for run in one.runs.values() for name in run.names),
        live_hash=next(iter(live.arm.hashes), None),
        shadow_hash=next(iter(arm.hashes), None),
    )


def why_unlike(live: Arm, shadow: Arm, *, recorded: bool) -> list[str]:
    """Why two arms cannot be compared; empty when they can."""
    reasons = []
    ours, theirs = set(shadow.hashes), set(live.hashes)
    if len(theirs) > 1:
        reasons.append("the live traces come from several indexes")
    if ours and ours == theirs:
        reasons.append(f"both come from the same index, {sorted(ours)[0]}")
    for what, one, other in (
        ("normaliser", live.normalisers, shadow.normalisers),
        ("reranker", live.rerankers, shadow.rerankers),
    ):
        if one != other:
            before, after = (", ".join(names) or "none named" for names in (one, other))
            reasons.append(f"they used different {what}s: live {before}, shadow {after}")
    if recorded and live.models != shadow.models:
        reasons.append("their distances come from different models")
    if live.answers != shadow.answers:
        reasons.append("only one of them carries answers")
    odd = [
        one.wanted.qid
        for one, other in zip(shadow.asked, live.asked, strict=True)
        if one.question.runs.keys() != other.question.runs.keys()
    ]
    worded = [
        one.wanted.qid
        for one, other in zip(shadow.asked, live.asked, strict=True)
        if any(
            one.runs[key].query and other.runs[key].query and one.runs[key].query != other.runs[key].query
            for key in one.runs.keys() & other.runs.keys()
        )
    ]
    if worded:
        reasons.append(f"{len(worded)} questions were asked in other words, e.g. {worded[0]}")
    if odd:
        reasons.append(f"{len(odd)} questions were not asked in the same wordings and seeds, e.g. {odd[0]}")
    return reasons


def _number(word: Any) -> Fraction | float | None:
    if isinstance(word, tuple):
        return Fraction(*word)
    return word if word is None or isinstance(word, float) else Fraction(word)


def _paired(live: Sequence[Any], shadow: Sequence[Any]) -> dict[str, int]:
    """How many questions went up, went down or stayed."""
    counts = {"up": 0, "down": 0, "same": 0, "only_one": 0}
    for before, after in zip(map(_number, live), map(_number, shadow), strict=True):
        if before is None or after is None:
            counts["only_one"] += (before is None) != (after is None)
        else:
            counts["up" if after > before else "down" if after < before else "same"] += 1
    return counts


def _moved(live: Arm, shadow: Arm) -> tuple[list[Moved], list[Moved]]:
    """Questions whose relevant blocks came into, or fell out of, the first results in some run."""
    gained, lost = [], []
    for before, after in zip(live.asked, shadow.asked, strict=True):
        came: set[str] = set()
        went: set[str] = set()
        for key in sorted(before.question.runs.keys() & after.question.runs.keys()):
            old, new = _found(before, key), _found(after, key)
            came |= new - old
            went |= old - new
        if came:
            gained.append(Moved(after.wanted.qid, sorted(came)))
        if went:
            lost.append(Moved(after.wanted.qid, sorted(went)))
    return gained, lost


def _found(one: Asked, key: RunKey) -> set[str]:
    """The relevant ids, as the gold set has them, whose block a run returned among the first."""
    ranks = one.question.runs[key].blocks
    return {name for name, number in one.wanted.names.items() if 0 < ranks[number] <= DEPTH}


def _changed(live: Arm, shadow: Arm, renamed: tuple[Callable[[str], str], Callable[[str], str]]) -> dict[str, Any]:
    """How much the first results of the same queries differ, the most changed first."""
    pairs: dict[Results, None] = {}
    for before, after in zip(live.asked, shadow.asked, strict=True):
        for key in sorted(before.runs.keys() & after.runs.keys()):
            one, other = before.runs[key], after.runs[key]
            ids = tuple(map(renamed[0], one.names)), tuple(map(renamed[1], other.names))
            pairs[Results(after.wanted.qid, other.query, *ids)] = None  # seeds that change nothing count once
    return churn(list(pairs))


def churn(pairs: Sequence[Results]) -> dict[str, Any]:
    """Overlap of two rankings for every query: Jaccard and rank-biased overlap of the first results."""
    rows: list[dict[str, Any]] = []
    for one in pairs:
        depth = max(1, min(10, max(len(one.live), len(one.shadow))))
        rows.append(
            {
                "qid": one.qid,
                "query": one.query,
                "jaccard": round(jaccard(one.live, one.shadow, depth), 6),
                "rbo": round(rbo(one.live, one.shadow, k=depth), 6),
                "live": list(one.live[:DEPTH]),
                "shadow": list(one.shadow[:DEPTH]),
            }
        )
    order = sorted(range(len(rows)), key=lambda nth: (rows[nth]["rbo"], rows[nth]["jaccard"], nth))
    identical = sum(list(one.live) == list(one.shadow) for one in pairs)
    count = len(rows)
    return {
        "queries": count,
        "identical": identical,
        "jaccard_mean": round(sum(row["jaccard"] for row in rows) / count, 6) if count else None,
        "rbo_mean": round(sum(row["rbo"] for row in rows) / count, 6) if count else None,
        "most_changed": [rows[nth] for nth in order[:CHANGED_SHOWN] if rows[nth]["rbo"] < 1],
    }
