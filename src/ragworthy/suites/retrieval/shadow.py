"""Shadow against live: the index that wants to go live, compared with the one in use, question by question."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from ragworthy import gates as g
from ragworthy.comparison.likeness import Unlike, asking, changed, differing, mixed
from ragworthy.metrics.facts.convergence import Arm, Asked, RunKey
from ragworthy.metrics.facts.orders import alike, jaccard, rbo, spearman
from ragworthy.metrics.facts.wanted import GONE
from ragworthy.metrics.fold import of_nothing
from ragworthy.metrics.registry import MetricName
from ragworthy.names import Outcome
from ragworthy.proving import Tested
from ragworthy.suites.evidence import Summary
from ragworthy.suites.retrieval.distances import Filled, meaningless
from ragworthy.suites.retrieval.probes import probes_are_raw
from ragworthy.suites.retrieval.rules import LIVE_GATE, RETRIEVAL_GATES
from ragworthy.suites.retrieval.steady import unshown

AGAINST_LIVE = g.with_evidence(LIVE_GATE, LIVE_GATE.evidence)
CHANGED_SHOWN = 20
DEPTH = 5
VARIED = ("reranker", "retriever")
"""What can be tried on one index: with either of them asked for, an index is compared with itself."""


class Live(NamedTuple):
    """The index in use: the same questions, with the same numbers."""

    arm: Arm
    summary: Summary
    unlike: list[str]
    """Why it cannot be compared with the shadow; empty when it can."""
    allowed: Sequence[str] = ()
    """What differs and was asked for."""
    refused: Sequence[Unlike] = ()
    """What differs in how both were made and was not asked for."""
    not_two: str | None = None
    """Why it is not shown that these are two indexes; then neither of them is a canary."""

    def steps(self, *, policy: bool) -> list[tuple[str, str]]:
        """What to do about the last."""
        do = asking([one.what for one in self.refused], policy=policy)
        return [("live and shadow were made in different ways", do)] if self.refused else []

    @property
    def baseline(self) -> g.Baseline:
        """Its numbers as those that a shadow must not fall behind."""
        values = {key: value.exact for key, value in self.summary.values.items() if value.exact is not None}
        unlike = "; ".join(self.unlike) or None
        gone = sum(one.question.errored for one in self.arm.asked), len(self.arm.asked)
        return g.Baseline(values, {}, unlike, "the live index", self.summary.rows, self.summary.rowless, gone=gone)


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
    shadow: Filled,
    summary: Summary,
    renamed: tuple[Callable[[str], str], Callable[[str], str]],
    gates: Sequence[g.Gate],
    tested: Tested | None,
) -> Compared:
    """Paired differences of every metric, blocks gained and lost, the churn of results, and the canary verdict.

    `tested` is what the questions say of the check against the index in use.
    """
    checks, arm = (*RETRIEVAL_GATES, AGAINST_LIVE), shadow.arm
    canary = g.judge(checks, summary.values, baseline=live.baseline, tested={AGAINST_LIVE: tested} if tested else {})
    canary = meant(canary, shadow)
    before = meant(g.judge(RETRIEVAL_GATES, live.summary.values), shadow)
    today = [one.gate.metric for one in before if one.outcome is Outcome.FAIL]
    gained, lost = _moved(live.arm, arm)
    old, new = live.summary.words, summary.words
    return Compared(
        live=live,
        paired={name.id: _paired(old.get(name.id, ()), new.get(name.id, ())) for name in summary.names},
        gained=gained,
        lost=lost,
        changed=_changed(live.arm, arm, renamed),
        canary=canary,
        failing_live=today,
        judged=_among(checks, gates),
        eligible=not live.unlike and not live.not_two and all(one.outcome is Outcome.PASS for one in canary),
        gone=sum(name.startswith(GONE) for one in live.arm.asked for run in one.runs.values() for name in run.names),
        live_hash=next(iter(live.arm.hashes), None),
        shadow_hash=next(iter(arm.hashes), None),
    )


def meant(judged: Sequence[g.Judged], filled: Filled) -> list[g.Judged]:
    """The same outcomes, with limits on distances that mean nothing for the model behind them undecided; a default gate
    beside gates that somebody named is not judged. A limit on λ that passes, and that one seed cannot show, is not
    measured.
    """
    raw_results = probes_are_raw(filled.arm, filled.source)
    judged = [
        one._replace(outcome=Outcome.NOT_MEASURED, reason=why)
        if one.outcome is Outcome.PASS and (why := unshown(one, filled.arm))
        else one
        for one in judged
    ]
    return [
        one._replace(outcome=Outcome.NOT_MEASURED if one.gate.kept else Outcome.UNDECIDED, reason=why)
        if (why := meaningless(one.gate, filled.source, raw_results=raw_results))
        and one.outcome is not Outcome.NOT_MEASURED
        else one
        for one in judged
    ]


def _among(checks: Sequence[g.Gate], gates: Sequence[g.Gate]) -> bool:
    """Whether gates are among others, whatever else is said of them."""
    rules = {(one.metric, one.op, one.threshold) for one in gates}
    return all((one.metric, one.op, one.threshold) in rules for one in checks)


UNSEEN = "no traces of the index in use were given (--live)"
"""Why the canary's check against the index in use was not looked at."""


def unfinished(judged: Sequence[g.Judged]) -> dict[str, Any] | None:
    """The canary where no index in use was given: it cannot be eligible, since one of its checks was not looked at.

    None where the gates are others than those of the canary.
    """
    if not _among(RETRIEVAL_GATES, [one.gate for one in judged if not one.excused]):
        return None
    names = {gate.metric for gate in RETRIEVAL_GATES}
    checks = [_check(one) for one in judged if one.gate.metric in names and one.gate.slice is None]
    open_one = _check(g.Judged(AGAINST_LIVE, Outcome.NOT_MEASURED, UNSEEN, None))
    return {"eligible": False, "checks": [*checks, open_one], "not_looked_at": [AGAINST_LIVE.metric]}


def made_unlike(live: Arm, shadow: Arm, made: tuple[Mapping[str, Any], Mapping[str, Any]]) -> list[Unlike]:
    """What differs in how two arms were made, and must not unless somebody asks for it."""
    told = ("normaliser", live.normalisers, shadow.normalisers), ("reranker", live.rerankers, shadow.rerankers)
    apart = [(what, differing(what, one, other, ("live", "shadow"))) for what, one, other in told]
    ways = [(key, one, other) for key, one, other in changed(*made) if key == "retriever"]
    apart += [(key, differing(key, [one], [other], ("live", "shadow"))) for key, one, other in ways]
    found = [Unlike(what, reason) for what, reason in apart if reason is not None]
    return found + [one for one in mixed(*made) if one.what not in {other.what for other in found}]


def not_two(live: Arm, shadow: Arm) -> str | None:
    """Why it is not shown that two arms are two indexes; None where their hashes show it."""
    ours, theirs = set(shadow.hashes), set(live.hashes)
    if ours and ours == theirs:
        return f"both come from the same index, {sorted(ours)[0]}"
    nameless = [name for name, arm in (("live", live), ("shadow", shadow)) if not arm.hashes]
    if not nameless:
        return None
    return f"nothing shows that these are two indexes: no index_hash in the traces of {' and '.join(nameless)}"


def why_unlike(live: Arm, shadow: Arm, *, recorded: bool, same_file: bool, varied: bool) -> list[str]:
    """Why two arms cannot be compared; empty when they can.

    The same index is compared with itself where something else is varied, as a reranker is.
    """
    reasons = []
    ours, theirs = set(shadow.hashes), set(live.hashes)
    if len(theirs) > 1:
        reasons.append("the live traces come from several indexes")
    if ours and ours == theirs and not varied:
        reasons.append(f"both come from the same index, {sorted(ours)[0]}")
    elif same_file:
        reasons.append("both are the same file")
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
    """Two rankings of every query: Jaccard and rank-biased overlap of the first results, Spearman's ρ of all."""
    rows: list[dict[str, Any]] = []
    for one in pairs:
        depth = max(1, min(10, max(len(one.live), len(one.shadow))))
        rows.append(
            {
                "qid": one.qid,
                "query": one.query,
                "jaccard": round(jaccard(one.live, one.shadow, depth), 6),
                "rbo": round(rbo(one.live, one.shadow, k=depth), 6),
                "rho": round(alike(spearman, one.live, one.shadow, max(1, len(one.live), len(one.shadow))), 6),
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
        "rho_mean": round(sum(row["rho"] for row in rows) / count, 6) if count else None,
        "most_changed": [rows[nth] for nth in order[:CHANGED_SHOWN] if rows[nth]["rbo"] < 1],
    }


# as the report has it


def as_json(compared: Compared, shadow: Summary, *, sound: bool) -> dict[str, Any]:
    """The comparison as the report has it; only sound evidence makes a canary eligible."""
    live = compared.live
    return {
        "comparable": not live.unlike,
        "unlike": live.unlike,
        "allowed": list(live.allowed),
        "live_index": compared.live_hash,
        "shadow_index": compared.shadow_hash,
        "deltas": {name.id: delta(name, live.summary, shadow) | compared.paired[name.id] for name in shadow.names},
        "gone": compared.gone,
        "canary": {
            "judged": compared.judged,
            "eligible": compared.eligible and sound,
            "failing_live": compared.failing_live,
            "not_two": live.not_two,
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
