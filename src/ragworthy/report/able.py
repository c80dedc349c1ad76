"""What this set of questions can show, in words: notes beside gates, lines of `doctor`, entries of a report."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from ragworthy import gates as g
from ragworthy.names import Outcome
from ragworthy.report import show
from ragworthy.report.power import Drop, Rate, of_drop, of_rate, old_value
from ragworthy.report.rules import rule_text

ALPHA = 0.05

# one number


def note(one: g.Judged) -> str | None:
    """What this many cases cannot show, and how many would; None where they show on which side the value is.

    >>> gate = g.Gate("answers.under_refusal", "<=", "0.05")
    >>> value = g.Value(4, 200, None, (0.0078, 0.0503), "lower", "unanswerable questions", "answered")
    >>> print(note(g.Judged(gate, g.Outcome.PASS, "", value)).replace("; ", ";\\n"))
    4 of 200 unanswerable questions answered: the true rate may still be 5.03 %;
    to show 5 % with 80 % chance takes about 514 cases at 2.5 % (one bad case added)
    """
    rate = of_rate(one)
    if rate is None and one.value is not None and one.value.clusters == 1 and one.outcome is not Outcome.UNDECIDED:
        return f"it has no interval: {one.value.boundless}"
    if rate is None or (rate.settled and (rate.missed or rate.cases >= rate.to_fail)):
        return None
    seen, limit = _seen(rate.value), limit_of(rate)
    if rate.settled:
        return f"{seen}: {rate.to_fail} cases are needed before a failure at {limit} could be shown"
    return f"{seen}: the true {_what(rate)} may still be {_doubt(rate)}; {_takes(rate, limit)}{_clusters(rate)}"


def _takes(rate: Rate, limit: str) -> str:
    if rate.needed is None and not rate.missed:
        return f"to show {limit} takes {rate.clean} clean cases at least"
    if rate.needed is None:
        return f"that is too near to {limit} to tell them apart"
    wanted = f"that it misses {limit}" if rate.missed else limit
    other = "good" if rate.missed else "bad"
    planned = f"at {planned_of(rate)} (one {other} case added)"
    return f"to show {wanted} with 80 % chance takes about {rate.needed:,} cases {planned}"


def _clusters(rate: Rate) -> str:
    if rate.worth >= rate.cases:
        return ""
    return f"; {rate.cases:,} are worth {rate.worth:,}, as some share a document"


def _seen(value: g.Value) -> str:
    """What was counted."""
    of = f"{value.num} of {value.den}" if value.counts else f"{value.n}"
    cases = value.cases.removesuffix("s") if of == "1" else value.cases
    seen = f"{of} {cases}{f' {value.event}' if value.counts else ''}"
    return seen if value.independent is None else f"{seen}, {value.independent} of them different"


def _what(rate: Rate) -> str:
    return "rate" if rate.value.top == 1 else "mean"


def _doubt(rate: Rate) -> str:
    """The end of the interval that speaks against what was seen."""
    low, high = rate.value.interval or (0.0, 0.0)
    up = (rate.gate.op == g.MAX) is not rate.missed
    end = share_text(Fraction(high if up else low) / rate.value.top, rate)
    return end if up else f"as low as {end}"


def limit_of(rate: Rate) -> str:
    """The limit of a gate, as a share where it is one."""
    return rate.gate.threshold if rate.value.top != 1 else show.percent(float(Fraction(rate.gate.threshold)))


def planned_of(rate: Rate) -> str:
    """The rate that is planned with."""
    return share_text(rate.rate, rate)


def share_text(share: Fraction, rate: Rate) -> str:
    """A share of the top with a digit that says something, never rounded to the limit or across it."""
    top = rate.value.top
    scale, unit = (100, " %") if top == 1 else (top, "")
    limit = Fraction(rate.gate.threshold) / top * scale
    number = share * scale
    for digits in range(0 if top == 1 and abs(number - limit) >= 10 else 1, 12):
        text = f"{float(number):.{digits}f}"
        shown = Fraction(text)
        if (shown < limit, shown > limit) == (number < limit, number > limit) and bool(shown) is bool(number):
            break
    return f"{text.removesuffix('.0')}{unit}"


# differences


def loss_text(drop: Drop, loss: float, old: Fraction) -> str:
    """A loss in the unit of its gate."""
    top = drop.value.top
    if drop.gate.op == g.WORSE and old:
        return f"{_digits(100 * loss * top / abs(float(old)))} %"
    return f"{_digits(100 * loss)} points" if top == 1 else _digits(loss * top)


def _digits(number: float) -> str:
    """One place, two where it is small."""
    return f"{number:.1f}".removesuffix(".0") if number >= 0.95 else f"{number:.2g}"


# for people


def rule_of(gate: g.Gate, better: str = "higher") -> str:
    """A gate with its rule.

    >>> rule_of(g.Gate("answers.chr", "drop<=", "0.02")), rule_of(g.Gate("answers.chr", ">=", "0.75"))
    ('answers.chr drop ≤ 0.02', 'answers.chr ≥ 0.75')
    """
    return f"{g.name_of(gate)}{':' if gate.guard else ''} {rule_text(gate, better)}"


def rate_line(rate: Rate) -> str:
    """What a gate on one number can show, in a line."""
    cases = show.plural(rate.cases, "case")
    worth = f" (worth {rate.worth:,}, as some share a document)" if rate.worth < rate.cases else ""
    other = "good" if rate.missed else "bad"
    planned = f"at {planned_of(rate)}: one {other} case added"
    if rate.settled:
        told = f"{cases}{worth} show {'that it is missed' if rate.missed else 'it'}"
        return f"{told}; so would {show.percent(rate.chance)} of such sets ({planned})"
    if rate.needed is None and rate.missed:
        return f"{cases}{worth}, too near to tell on which side it is"
    if rate.needed is None:
        return f"{cases}{worth} cannot show it: that takes at least {rate.clean:,} without a bad one"
    that = "that it is missed" if rate.missed else "it"
    return (
        f"{cases}{worth} have a {show.percent(rate.chance)} chance to show {that}, "
        f"about {rate.needed:,} would have 80 % ({planned})"
    )


def drop_line(drop: Drop, old: Fraction) -> str:
    """What a gate that compares can show, in a line."""
    cases = show.plural(drop.cases, "case")
    worth = f" (worth {drop.worth:,})" if drop.worth < drop.cases else ""
    flips = f"{_digits(100 * drop.flips)} % flip, {drop.told_by}"
    if drop.finds is None:
        told = f"{cases}{worth}, too few to find any loss in four of five ({flips})"
    else:
        told = f"{cases}{worth} find a loss of {loss_text(drop, drop.finds, old)} in four of five ({flips})"
    return f"{told}; {sharp_text(drop, old)}" if drop.sharp else told


def sharp_text(drop: Drop, old: Fraction) -> str:
    """That a tolerance is too sharp, and what it takes."""
    tolerance = loss_text(drop, drop.tolerance or 0.0, old)
    if drop.fewest is None:
        return f"too sharp: two runs of an unchanged pipeline exceed {tolerance} in half of the cases, with any set"
    return (
        f"too sharp: two runs of an unchanged pipeline exceed {tolerance} in more than 5 % of the cases, "
        f"with fewer than about {drop.fewest:,}{_together(drop)}"
    )


def _together(drop: Drop) -> str:
    return f" ({drop.family:,} for {drop.gates} gates)" if drop.gates > 1 and drop.family else ""


def sharp_note(judged: Sequence[g.Judged]) -> str | None:
    """The tolerances that are too sharp for a set in which questions flip; None where there are none."""
    sharp = []
    for one in judged:
        drop = of_drop(one)
        tested = one.tested
        if drop is None or not drop.sharp or one.excused or tested is None or tested.unchanged or tested.proven:
            continue
        limit = loss_text(drop, drop.tolerance or 0.0, old_value(one))
        needs = (
            "any set has too few" if drop.fewest is None else f"it takes about {drop.fewest:,} cases{_together(drop)}"
        )
        sharp.append(f"{g.name_of(one.gate)}, {limit}: {needs}")
    if not sharp:
        return None
    which, them = ("a tolerance is", "it") if len(sharp) == 1 else (f"{len(sharp)} tolerances are", "each of them")
    return (
        f"{which} too sharp for this set: two runs of an unchanged pipeline would exceed {them} in more than 5 % of "
        f"the cases ({'; '.join(sharp)})"
    )


def about_more(judged: Sequence[g.Judged]) -> dict[g.Gate, int]:
    """About how many more questions settle each gate that is undecided, where that is known and not none."""
    found = {}
    for one in judged:
        if one.outcome is Outcome.UNDECIDED:
            rate, drop = of_rate(one), of_drop(one)
            more = drop.more if drop is not None else rate.more if rate is not None and not rate.settled else None
            if more:
                found[one.gate] = more
    return found


def steps(judged: Sequence[g.Judged]) -> list[tuple[str, str]]:
    """How many more questions settle intervals that straddle their thresholds, as something to do next."""
    more = [(gate, many) for gate, many in about_more(judged).items() if gate.op not in g.AGAINST]
    if not more:
        return []
    told = ", ".join(f"about {many:,} for {g.name_of(gate)}" for gate, many in more)
    return [("how many more questions decide it", f"in four of five cases, if they are as those here: {told}")]


def pair_line(cases: int, worse: int, better: int, proven: bool = False) -> str:
    """What two runs of so many questions can show, where so many of them changed: the loss that is found, and more,
    unless something is proven already.

    >>> print(pair_line(200, 11, 5).replace("; ", ";\\n"))
    200 questions of which 8 % were fixed or broken find a loss of 7.2 points in four of five;
    about 420 more would prove the loss of 3 points in good questions that is seen here (11 broken, 5 fixed)
    >>> print(pair_line(200, 11, 5, proven=True))
    200 questions of which 8 % were fixed or broken find a loss of 7.2 points in four of five
    """
    from ragworthy.paired import power
    from ragworthy.paired.exact import mcnemar

    finds = power.detectable(cases, power.flips_of(cases, worse + better))
    of = f"{show.plural(cases, 'question')} of which {show.percent((worse + better) / cases)} were fixed or broken"
    if finds is None:
        return f"{of} are too few to find any loss in four of five"
    told = f"{of} find a loss of {_digits(100 * finds)} points in four of five"
    more = None if proven or mcnemar(worse, better) <= ALPHA else power.about_more(cases, worse, better)
    seen = f"the loss of {_digits(100 * (worse - better) / cases)} points in good questions that is seen here"
    return f"{told}; about {more:,} more would prove {seen} ({worse:,} broken, {better:,} fixed)" if more else told


def entries(judged: Sequence[g.Judged]) -> list[dict[str, Any]]:
    """What the gates of a suite can show, as a report has it: one entry for each gate of which something is known."""
    found = []
    for one in judged:
        if (rate := of_rate(one)) is not None:
            found.append(_rate_entry(rate))
        elif (drop := of_drop(one)) is not None:
            found.append(_drop_entry(drop, old_value(one)))
    return found


def _rate_entry(rate: Rate) -> dict[str, Any]:
    return {
        "gate": rule_of(rate.gate),
        "enough": rate.settled,
        "says": rate_line(rate),
        "cases": rate.cases,
        "worth": rate.worth,
        "rate": _short(float(rate.rate * rate.value.top)),
        "chance": _short(rate.chance),
        "needed": rate.needed,
        "clean": rate.clean,
    }


def _drop_entry(drop: Drop, old: Fraction) -> dict[str, Any]:
    top = drop.value.top
    return {
        "gate": rule_of(drop.gate, drop.value.better),
        "enough": not drop.sharp,
        "says": drop_line(drop, old),
        "cases": drop.cases,
        "worth": drop.worth,
        "flips": _short(drop.flips),
        "flips_from": drop.told_by,
        "finds": None if drop.finds is None else _short(drop.finds * top),
        "tolerance": None if drop.tolerance is None else _short(drop.tolerance * top),
        "needed": drop.fewest,
        "needed_together": drop.family,
        "more": drop.more,
    }


def _short(number: float) -> float:
    """Four digits: the same on every machine."""
    return float(f"{number:.4g}")
