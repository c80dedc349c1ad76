"""What the runs of single questions show: which of them are proven below a limit, and what so few runs cannot show."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

from ragworthy.metrics import stability as st
from ragworthy.report.show import plural
from ragworthy.suites.evidence import Case

ALPHA = Fraction(1, 20)
SHARES = ("acr", "cghc", "refusal_rate")
"""Limits on a share of the runs of a question."""
MOST_NAMED = 5
NOTHING: Mapping[str, Any] = {"questions": 0}
"""What a report of an earlier version says of it."""


@cache
def at_most(good: int, runs: int, limit: Fraction) -> Fraction:
    """How often so few runs or fewer are good, where each is with a chance of `limit`: exact.

    >>> at_most(0, 2, Fraction(1, 2)), at_most(4, 5, Fraction(19, 20))
    (Fraction(1, 4), Fraction(723901, 3200000))
    """
    return sum(
        (math.comb(runs, k) * limit**k * (1 - limit) ** (runs - k) for k in range(good + 1)),
        Fraction(0),
    )


def clean_runs(limit: Fraction) -> int | None:
    """How many runs without a failure show that a question keeps a limit; None where none ever do.

    >>> clean_runs(Fraction("0.95")), clean_runs(Fraction("0.5")), clean_runs(Fraction(1))
    (59, 5, None)
    """
    if not 0 < limit < 1:
        return None
    runs = max(1, math.floor(math.log(ALPHA) / math.log(limit)) - 1)
    while limit**runs > ALPHA:
        runs += 1
    return runs


def shows(runs: int) -> float:
    """The share that so many clean runs show, rounded down.

    >>> shows(5), shows(59)
    (0.549, 0.95)
    """
    share: float = float(ALPHA) ** (1 / runs)
    return math.floor(1000 * share) / 1000


def proven(cases: Sequence[Case], limits: Mapping[str, str]) -> dict[str, Any]:
    """The questions that are proven below a limit on a share of their runs, by Holm's rule over all of them."""
    tests: list[tuple[Fraction, str, str]] = []
    sizes: list[int] = []
    for name in (name for name in SHARES if name in limits):
        limit = Fraction(limits[name])
        for case in cases:
            word = st.AT_LEAST[name](case.facts)
            if word is not None:
                tests.append((at_most(*word, limit), name, case.qid))
                sizes.append(word[1])
    below: dict[str, list[str]] = {}
    for nth, (p, name, qid) in enumerate(sorted(tests)):
        if p * (len(tests) - nth) > ALPHA:
            break
        below.setdefault(name, []).append(qid)
    needed = {name: clean_runs(Fraction(limits[name])) for name in SHARES if any(one[1] == name for one in tests)}
    return {
        "questions": len({qid for _, _, qid in tests}),
        "below": {name: sorted(below[name]) for name in SHARES if name in below},
        "fewest_runs": min(sizes, default=0),
        "clean_runs": needed,
    }


def lines(found: Mapping[str, Any], limits: Mapping[str, str]) -> list[str]:
    """The same for people."""
    if not found["questions"]:
        return []
    below: Mapping[str, list[str]] = found["below"]
    qids = sorted({qid for some in below.values() for qid in some})
    names = ", ".join(qids[:MOST_NAMED]) + (" …" if len(qids) > MOST_NAMED else "")
    of = plural(found["questions"], "question")
    which = ", ".join(f"{name} {len(some):,}" for name, some in below.items())
    verb = "is" if len(qids) == 1 else "are"
    told = [f"{len(qids):,} of {of} {verb} proven below a limit{f' ({which}): {names}' if qids else ''}"]
    runs = found["fewest_runs"]
    short = {name: need for name, need in found["clean_runs"].items() if need is None or need > runs}
    if short:
        name, need = max(short.items(), key=lambda one: (one[1] is None, one[1] or 0))
        takes = "no number of runs does" if need is None else f"that takes {need:,}"
        clean = plural(runs, "clean run shows", "clean runs show")
        told.append(f"{clean} a share of {shows(runs)} and no more: {name} {limits[name]} is not shown, {takes}")
    return told
