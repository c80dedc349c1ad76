"""What a mirror may say: INVALID, NO-SHIP, INCONCLUSIVE or SHIP, with the reasons."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from ragworthy.mirror.arms import Side
from ragworthy.mirror.compare import Pair
from ragworthy.mirror.gold import Judged
from ragworthy.names import Verdict
from ragworthy.paired.exact import mcnemar

FEWER = Fraction(2, 100)
"""A shadow may leave this share of the questions more than live without an answer, whatever is proven."""
FAR_FEWER = Fraction(10, 100)
"""More than this needs no proof."""
ALPHA = 0.05


def given_by(pairs: Sequence[Pair]) -> dict[str, int]:
    """Who gave an answer, over the questions that both sides were asked; a refusal and an error are none."""
    seen = [(one.live.shipped, one.shadow.shipped) for one in pairs if one.live is not None and one.shadow is not None]
    return {
        "compared": len(seen),
        "live": sum(live for live, _ in seen),
        "shadow": sum(shadow for _, shadow in seen),
        "only_live": sum(live and not shadow for live, shadow in seen),
        "only_shadow": sum(shadow and not live for live, shadow in seen),
    }


def why_invalid(
    shadow: Side, gold: Judged | None, pairs: Sequence[Pair], cite_first: Mapping[str, Any]
) -> Iterator[str]:
    """Why nothing can be said."""
    counts = shadow.counts
    if not counts.asked:
        yield "the shadow was asked nothing"
    elif 2 * counts.errored > counts.asked:
        yield f"more than half of the replies of the shadow are errors: {counts.errored} of {counts.asked}"
    elif not cite_first["answers"]:
        yield f"no answer of the shadow was judged: {counts.refused} refused, {counts.errored} errored"
    drifted = {one.index_hash for pair in pairs if (one := pair.shadow) is not None and one.index_hash}
    if len(drifted) > 1:
        yield f"the shadow answered from several indexes: {', '.join(sorted(drifted))}"
    if gold is None:
        return
    if gold.run is None:
        yield f"the gold set was not asked to its end{f': {gold.over} are used up' if gold.over else ''}"
    elif gold.run.verdict is Verdict.INVALID:
        reasons = gold.run.report["invalid"] or ["no reason is given, look at gold/report.json"]
        yield from (f"the gold set: {reason}" for reason in reasons)


def why_inconclusive(shadow: Side, answers: Mapping[str, int]) -> Iterator[str]:
    """Why what was seen is too little, or too odd, to ship on."""
    chosen = len(shadow.entries)
    left = chosen - shadow.counts.asked
    if 2 * left > chosen:
        yield f"more than half of the questions were not asked: {left} of {chosen}"
    compared = answers["compared"]
    if not compared:
        return
    fewer = Fraction(answers["live"] - answers["shadow"], compared)
    if fewer > FAR_FEWER or (fewer > FEWER and mcnemar(answers["only_live"], answers["only_shadow"]) <= ALPHA):
        yield (
            f"the shadow answers fewer questions than live: {answers['shadow']} and {answers['live']} of {compared}, "
            f"{answers['only_live']} answered by live alone"
        )


def verdict_of(
    cite_first: Mapping[str, Any],
    uncited: Fraction,
    invalid: Sequence[str],
    inconclusive: Sequence[str],
    gold: Judged | None,
) -> Verdict:
    """INVALID before NO-SHIP before INCONCLUSIVE before SHIP, over the gold set and what was mirrored."""
    judged = gold.run.verdict if gold is not None and gold.run is not None else Verdict.SHIP
    if invalid or judged is Verdict.INVALID:
        return Verdict.INVALID
    broken = cite_first["answers"] - cite_first["kept"]
    if judged is Verdict.NO_SHIP or broken > uncited * cite_first["answers"]:
        return Verdict.NO_SHIP
    return Verdict.INCONCLUSIVE if inconclusive else judged
