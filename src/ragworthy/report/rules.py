"""The rule of a gate in words, as tables and lines have it."""

from fractions import Fraction

from ragworthy import gates as g
from ragworthy.proving import POINT
from ragworthy.report import show


def rule_text(gate: g.Gate, better: str | None = "higher") -> str:
    """What a gate asks for. Where less of a loss may be proven than is tolerated, both are said.

    >>> rule_text(g.Gate("answers.chr", "drop<=", "0.02")), rule_text(g.Gate("answers.chr", ">=", "0.75"))
    ('drop ≤ 0.02', '≥ 0.75')
    >>> rule_text(g.Gate("answers.chr", "drop<=", "0.02", evidence="paired", min_effect="0"))
    'no proven drop, unproven ≤ 0.02'
    >>> rule_text(g.Gate("latency.p95", "worse<=", "0.15", evidence="paired", min_effect="0.05"), "lower")
    'proven rise ≤ 5 %, unproven ≤ 15 %'
    """
    if gate.op == g.EACH:
        return "each must pass"
    if gate.op not in g.AGAINST:
        return f"{'≥' if gate.op == g.MIN else '≤'} {gate.threshold}"
    word = "rise" if better == "lower" else "drop"
    if gate.guard:
        return f"no proven {word}"
    limit, effect = _amount(gate, gate.threshold), Fraction(gate.effect_text)
    if gate.evidence == POINT or effect == Fraction(gate.threshold):
        return f"{word} ≤ {limit}"
    proven = f"proven {word} ≤ {_amount(gate, gate.effect_text)}" if effect else f"no proven {word}"
    return f"{proven}, unproven ≤ {limit}"


def _amount(gate: g.Gate, written: str) -> str:
    return written if gate.op == g.DROP else show.percent(float(Fraction(written)))
