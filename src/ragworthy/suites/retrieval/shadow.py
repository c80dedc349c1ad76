"""Shadow against live: the index that wants to go live, compared with the one in use, question by question."""

import math
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any, NamedTuple

from ragworthy import gates as g
from ragworthy.comparison.likeness import differing
from ragworthy.metrics.facts.convergence import Arm, Asked, RunKey
from ragworthy.metrics.facts.wanted import GONE
from ragworthy.metrics.fold import of_nothing
from ragworthy.metrics.registry import MetricName
from ragworthy.names import Outcome
from ragworthy.proving import Tested
from ragworthy.suites.evidence import Summary
from ragworthy.suites.retrieval.rules import LIVE_GATE, RETRIEVAL_GATES

AGAINST_LIVE = g.with_evidence(LIVE_GATE, LIVE_GATE.evidence)
CHANGED_SHOWN = 20
DEPTH = 5
PERSISTENCE = 0.9
"""How likely the reader of a ranking is to go on to the next item."""


class Live(NamedTuple):
    """The index in use: the same questions, with the same numbers."""

    arm: Arm
    summary: Summary
    unlike: list[str]
    """Why it cannot be compared with the shadow; empty when it can."""

    @property
    def baseline(self) -> g.Baseline:
        """Its numbers as those that a shadow must not fall behind."""
        values = {key: value.exact for key, value in self.summary.values.items() if value.exact is not None}
        unlike = "; ".join(self.unlike) or None
        return g.Baseline(values, {}, unlike, "the live index", self.summary.rows, self.summary.rowless)


class Moved(NamedTuple):
    """A question with relevant blocks that came into, or fell out of, the first results."""

    qid: str
    blocks: list[str]


class Compared(NamedTuple):
    """What the comparison showed."""

    live: Live
    paired: dict[str, dict[str, int]]
    gained: list[Moved]
    lost: list[Moved]
    changed: dict[str, Any]
    canary: list[g.Judged]
    failing_live: list[str]
    """Checks of the canary that the index in use does not pass either."""
    judged: bool
    """Whether the canary is what the verdict is made of."""
    eligible: bool
    gone: int
    """Results of the live index that lead to no block of the shadow's: its numbers are understated by them."""
    live_hash: str | None
    shadow_hash: str | None


class Results(NamedTuple):
    """What two indexes return for the same query, by ids that can be compared."""

    qid: str
    query: str
    live: Sequence[str]
    shadow: Sequence[str]


def compare(
    live: Live,
    arm: Arm,
    summary: Summary,
    renamed: tuple[Callable[[str], str], Callable[[str], str]],
    gates: Sequence[g.Gate],
    tested: Tested | None,
) -> Compared:
    """Paired differences of every metric, blocks gained and lost, the churn of results, and the canary verdict.

    `tested` is what the questions say of the check against the index in use.
    """
    checks = (*RETRIEVAL_GATES, AGAINST_LIVE)
    canary = g.judge(checks, summary.values, baseline=live.baseline, tested={AGAINST_LIVE: tested} if tested else {})
    rules = {(one.metric, one.op, one.threshold) for one in gates}
    today = [one.gate.metric for one in g.judge(RETRIEVAL_GATES, live.summary.values) if one.outcome is Outcome.FAIL]
    gained, lost = _moved(live.arm, arm)
    before, after = live.summary.words, summary.words
    return Compared(
        live=live,
        paired={name.id: _paired(before.get(name.id, ()), after.get(name.id, ())) for name in summary.names},
        gained=gained,
        lost=lost,
        changed=_changed(live.arm, arm, renamed),
        canary=canary,
        failing_live=today,
        judged=all((one.metric, one.op, one.threshold) in rules for one in checks),
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
    told = ("normaliser", live.normalisers, shadow.normalisers), ("reranker", live.rerankers, shadow.rerankers)
    apart = (differing(what, one, other, ("live", "shadow")) for what, one, other in told)
    reasons += [reason for reason in apart if reason is not None]
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
        return None if of_nothing(word) else Fraction(*word)
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
        both = before.wanted.names.keys() & after.wanted.names.keys()  # a text may be in more parts on one side
        for key in sorted(before.question.runs.keys() & after.question.runs.keys()):
            old, new = _found(before, key), _found(after, key)
            came |= (new - old) & both
            went |= (old - new) & both
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


# as the report has it


def as_json(compared: Compared, shadow: Summary, *, sound: bool) -> dict[str, Any]:
    """The comparison as the report has it; only sound evidence makes a canary eligible."""
    live = compared.live
    return {
        "comparable": not live.unlike,
        "unlike": live.unlike,
        "live_index": compared.live_hash,
        "shadow_index": compared.shadow_hash,
        "deltas": {name.id: delta(name, live.summary, shadow) | compared.paired[name.id] for name in shadow.names},
        "gone": compared.gone,
        "canary": {
            "judged": compared.judged,
            "eligible": compared.eligible and sound,
            "failing_live": compared.failing_live,
            "checks": [_check(one) for one in compared.canary],
        },
        "gained": _listed(compared.gained),
        "lost": _listed(compared.lost),
        "churn": compared.changed,
    }


def delta(name: MetricName, live: Summary, shadow: Summary) -> dict[str, Any]:
    """What a metric says on both sides, and the difference."""
    before, after = live.values[None, name.id].exact, shadow.values[None, name.id].exact

    def plain(number: Fraction | None) -> int | float | None:
        return None if number is None else int(number) if name.metric.kind == "count" else float(number)

    return {
        "live": plain(before),
        "shadow": plain(after),
        "delta": None if before is None or after is None else plain(after - before),
        "better": name.metric.better,
    }


def _check(one: g.Judged) -> dict[str, Any]:
    return {
        "metric": one.gate.metric,
        "op": one.gate.op,
        "threshold": one.gate.threshold,
        "value": None if one.value is None or one.value.exact is None else float(one.value.exact),
        "outcome": one.outcome.value,
        "reason": one.reason or None,
    }


def _listed(moved: Sequence[Moved]) -> list[dict[str, Any]]:
    return [one._asdict() for one in moved]


# how much two rankings differ, whichever is right: a list counts up to its first k items, each where it stands first


def _first(items: Sequence[Hashable], k: int) -> list[Hashable]:
    if k < 1:
        raise ValueError(f"expected k of at least 1, got {k}")
    return list(dict.fromkeys(items))[:k]


def jaccard(a: Sequence[Hashable], b: Sequence[Hashable], k: int) -> float:
    """Shared items of the first k ÷ all items of the first k; 1 for two empty lists.

    >>> jaccard("abcd", "abxy", 4)
    0.3333333333333333
    """
    one, other = set(_first(a, k)), set(_first(b, k))
    return len(one & other) / len(one | other) if one or other else 1.0


def rbo(a: Sequence[Hashable], b: Sequence[Hashable], p: float = PERSISTENCE, k: int = 10) -> float:
    """Rank-biased overlap, extrapolated from the first k: agreement at each depth, weighted by p to the depth.

    Where one list is shorter, its agreement at its end is taken to go on. 1 for two empty lists.

    >>> round(rbo("abc", "acb", k=3), 6)
    0.955
    """
    if not 0 < p < 1:
        raise ValueError(f"expected p between 0 and 1, got {p}")
    short, long = sorted((_first(a, k), _first(b, k)), key=len)
    if not long:
        return 1.0
    if not short:
        return 0.0
    s, n = len(short), len(long)
    shared = _overlaps(short, long)
    terms = [shared[d] / d * p**d for d in range(1, n + 1)]
    terms += [shared[s] * (d - s) / (s * d) * p**d for d in range(s + 1, n + 1)]
    ending = ((shared[n] - shared[s]) / n + shared[s] / s) * p**n
    return min(1.0, (1 - p) / p * math.fsum(terms) + ending)


def _overlaps(short: list[Hashable], long: list[Hashable]) -> list[int]:
    """How many items both lists hold in their first 0, 1, 2 … items, up to the end of the longer one."""
    return [len(set(short[:depth]) & set(long[:depth])) for depth in range(len(long) + 1)]


def kendall_tau_b(a: Sequence[Hashable], b: Sequence[Hashable], k: int) -> float | None:
    """Kendall's τ-b over all items of both lists; those that a list lacks share the rank after its last.

    None where it is undefined: a single item, or a list in which all items are tied.

    >>> [kendall_tau_b("abcd", "abce", 4), kendall_tau_b("abc", "xyz", 3), kendall_tau_b("a", "a", 1)]
    [0.8, -0.75, None]
    """
    one = {item: rank for rank, item in enumerate(_first(a, k))}
    other = {item: rank for rank, item in enumerate(_first(b, k))}
    ranks = [(one.get(item, len(one)), other.get(item, len(other))) for item in {**one, **other}]
    balance = untied_one = untied_other = 0
    for (x, y), (v, w) in combinations(ranks, 2):
        balance += _sign(x - v) * _sign(y - w)
        untied_one += x != v
        untied_other += y != w
    return balance / math.sqrt(untied_one * untied_other) if untied_one and untied_other else None


def _sign(value: int) -> int:
    return (value > 0) - (value < 0)
