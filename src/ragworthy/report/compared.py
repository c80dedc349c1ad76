"""What reports say of gates that compare: which way questions went, how sure that is, and what is not excluded."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from ragworthy import gates as g
from ragworthy.names import Outcome
from ragworthy.proving import Tested, left_out, unchanged
from ragworthy.report.show import gate_name, number, p_text, plural

HEADER = ("gate that compares", "worse", "better", "p", "loss not excluded")
BETTER = "better by at least "


def entry(one: g.Judged) -> dict[str, Any] | None:
    """The key `paired` of a gate that compares; None where nothing was compared."""
    if one.gate.op not in g.AGAINST or one.baseline is None:
        return None
    tested = one.tested
    if tested is None:
        return {"without": 'evidence = "point"'}
    if tested.without is not None:
        return {"without": tested.without}
    lost, upper = one.lost, one.upper
    return {
        "loss": None if lost is None else float(lost),
        "upper": None if upper is None else float(upper),
        "p": None if tested.unweighed else tested.p,
        "adjusted": None if _by_evalue(tested) else tested.adjusted,
        "worse": tested.worse,
        "better": tested.better,
        "changed": tested.changed,
        "cases": tested.cases,
        "clusters": tested.clusters,
        "method": tested.method,
        "gates": tested.gates,
        "alpha": tested.alpha,
        "min_effect": one.gate.effect_text,
        "only_baseline": len(tested.only_old),
        "only_here": len(tested.only_new),
        "errored": tested.errored,
        "shown": {"p": _decides(tested), "upper": _up_to(one)},
    } | (_weighed(tested) | _unerrored(tested))


def _unerrored(tested: Tested) -> dict[str, Any]:
    """The questions that neither run errored on, where the one that is compared with has errors."""
    rest = tested.unerrored
    found: dict[str, Any] = {} if not tested.gone[0] else {"baseline_errors": tested.gone[0]}
    if rest is None:
        return found
    told = {key: getattr(rest.tested, key) for key in ("p", "adjusted", "worse", "better")}
    ends = {"questions": rest.questions, "baseline": float(rest.old), "value": float(rest.new)}
    return found | {"unerrored": ends | told | _weighed(rest.tested)}


def _weighed(tested: Tested) -> dict[str, Any]:
    """The e-value, where one was asked for."""
    return {"evalue": tested.evalue} if _by_evalue(tested) else {}


def _by_evalue(tested: Tested) -> bool:
    """Whether an e-value decides, or would: p-values in a family are of other gates then."""
    return tested.evalue is not None or bool(tested.unweighed)


def note(one: g.Judged) -> str | None:
    """One sentence on what was compared; None where nothing was."""
    tested = one.tested
    if tested is None or one.baseline is None:
        return None
    if tested.without is not None:
        return f"judged by its point: {tested.without}" if one.gate.evidence == "paired" else None
    if tested.unchanged:
        return unchanged(tested, one.lost)
    if tested.unweighed:
        return f"no e-value: {tested.unweighed}"
    if not tested.worse + tested.better:
        return "no question is worse or better"
    over = f" over {tested.gates} gates" if tested.gates > 1 else ""
    told = f"{plural(tested.worse, 'question')} worse, {tested.better:,} better: {measured(tested)}{over}"
    if tested.unerrored is not None:
        told += f" ({tested.unerrored.told}: {measured(tested.unerrored.tested)})"
    up_to = _up_to(one)
    if gone := left_out(tested, one.lost):
        told += f"; {gone}"
    if one.outcome is Outcome.FAIL or not up_to:
        return told
    if up_to.startswith(BETTER):
        return f"{told}; {up_to}"
    return f"{told}; a loss up to {up_to} is not excluded"


def measured(tested: Tested) -> str:
    """The number that decides, with its name.

    >>> measured(Tested(adjusted=0.0312)), measured(Tested(evalue=22.224))
    ('p = 0.031', 'e = 22.22, of 20')
    """
    if tested.evalue is None:
        return f"p = {_decides(tested)}"
    return f"e = {_e_text(tested)}, of {_bound(tested)}"


def _bound(tested: Tested) -> str:
    """What an e-value must reach: 1/alpha, or of a half of alpha where p-values have the other."""
    return f"{1 / tested.alpha:.4g}"


def _e_text(tested: Tested) -> str:
    """An e-value, never rounded up to what it is compared with."""
    e = tested.evalue or 0.0
    for digits in range(4, 17):
        text = f"{e:.{digits}g}"
        if (float(text) * tested.alpha >= 1) == (e * tested.alpha >= 1):
            return text
    return repr(e)


def _decides(tested: Tested) -> str:
    """The p-value or the e-value that decides.

    >>> _decides(Tested(adjusted=0.0312)), _decides(Tested(adjusted=0.05004)), _decides(Tested(adjusted=1e-9))
    ('0.031', '0.05004', '<0.0001')
    """
    if tested.unweighed:
        return "–"
    if tested.evalue is not None:
        return f"e {_e_text(tested)} of {_bound(tested)}"
    return p_text(tested.adjusted, tested.alpha)


def _up_to(one: g.Judged) -> str:
    """The loss that is not excluded, in the unit of the threshold; rounded up, so that it says no less."""
    upper = one.upper
    if upper is None:
        return ""
    if upper < 0:
        return f"{BETTER}{_in_unit(one, -upper, math.floor)}"
    return _in_unit(one, upper, math.ceil)


def _in_unit(one: g.Judged, upper: Fraction, cut: Callable[[Fraction], int]) -> str:
    value, gate = one.value, one.gate
    if gate.op == g.WORSE:
        return f"{_tenths(100 * upper, cut)} %"
    if value is not None and value.rate and value.top == 1 and value.den is not None:
        return f"{_tenths(100 * upper, cut)} points"
    return number(Fraction(cut(upper * 10_000), 10_000))


def _tenths(share: Fraction, cut: Callable[[Fraction], int]) -> str:
    return f"{cut(10 * share) / 10:.1f}"


def table(gates: list[dict[str, Any]]) -> tuple[tuple[str, ...], list[tuple[str, ...]], list[str]]:
    """The header, a row for each gate in which questions changed, and lines on all others that compare."""
    rows: list[tuple[str, ...]] = []
    alike: dict[str, list[str]] = {}
    several = 1
    for gate in gates:
        paired = gate.get("paired")
        if paired is None or not gate.get("judged", True):
            continue
        if "without" in paired or not paired["worse"] + paired["better"]:
            if gate["note"]:
                alike.setdefault(gate["note"], []).append(gate_name(gate))
            continue
        shown, several = paired["shown"], max(several, paired["gates"])
        counts = (f"{paired[key]:,}" for key in ("worse", "better"))
        rows.append((gate_name(gate), *counts, shown["p"], shown["upper"] or "–"))
    header = (*HEADER[:3], f"p ({several} gates)" if several > 1 else HEADER[3], HEADER[4])
    every = len(rows) + sum(map(len, alike.values()))
    return header, rows, [_of_all(told, names, every) for told, names in alike.items()]


def _of_all(told: str, names: list[str], every: int) -> str:
    """What holds of some gates, or of all that compare."""
    if len(names) == every > 1:
        return f"{told} (all {every} gates that compare)"
    return f"{told}: {', '.join(names)}"
