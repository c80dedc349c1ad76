"""How numbers become words; every display string is made here."""

import unicodedata
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from ragworthy.names import HARMLESS

PLACES = 4


def p_text(p: float, alpha: float = 0.05) -> str:
    """A p-value with two digits that say something, never rounded to the other side of what it is compared with.

    >>> p_text(0.42), p_text(0.00314), p_text(0.05004), p_text(0.00001), p_text(1.0)
    ('0.42', '0.0031', '0.05004', '<0.0001', '1')
    """
    if p < 0.0001:
        return "<0.0001"
    texts = (f"{p:.{digits}g}" for digits in range(2, 17))
    return next((text for text in texts if (float(text) <= alpha) == (p <= alpha)), repr(p))


def number(value: Fraction, *thresholds: Fraction, whole: bool = False) -> str:
    """At most four places, half to even, with more where rounding would reach or cross the threshold.

    >>> number(Fraction(2, 3)), number(Fraction(1)), number(Fraction(15999, 20000), Fraction("0.80"))
    ('0.6667', '1.0', '0.79995')
    """
    if whole or (value.denominator == 1 and abs(value) > 1):
        return str(value)
    places = PLACES
    while value and abs(value) < Fraction(1, 10 ** (places - 1)) and places < 30:
        places += 1  # small numbers keep four digits that say something
    shown = round(value, places)
    while places < 30 and any(_side(shown, threshold) != _side(value, threshold) for threshold in thresholds):
        places += 1
        shown = round(value, places)
    text = f"{'-' if shown < 0 else ''}{_decimal(abs(Fraction(shown)), places)}"
    return text.rstrip("0") + "0" if text.rstrip("0").endswith(".") else text.rstrip("0")


def _side(value: Fraction, threshold: Fraction) -> int:
    return (value > threshold) - (value < threshold)


def _decimal(value: Fraction, places: int) -> str:
    whole = round(value * 10**places)
    digits = str(whole).rjust(places + 1, "0")
    return f"{digits[:-places]}.{digits[-places:]}"


def percent(share: float) -> str:
    """A share as a whole percentage, never shown as 0 % or 100 % unless it is.

    >>> percent(0.1611), percent(0.9999), percent(1.0)
    ('16 %', '99.9 %', '100 %')
    """
    if 0 < share < 0.005 or 0.995 < share < 1:
        clipped = min(max(share, 0.001), 0.999)
        return f"{clipped * 100:.1f} %"
    return f"{share * 100:.0f} %"


def bound(value: float, threshold: Fraction) -> str:
    """An end of an interval: three places, more where rounding would reach or cross the threshold.

    >>> bound(0.342380, Fraction("0.80")), bound(0.79996, Fraction("0.80"))
    ('0.342', '0.79996')
    """
    for places in range(3, 17):
        text = f"{value:.{places}f}"
        if _side(Fraction(text), threshold) == _side(Fraction(value), threshold):
            return text
    return repr(value)


DESIGN_EFFECT = 1.05
"""From so much on, people are told what clusters cost."""


def design_effect(deff: float | None) -> str:
    """What is behind an interval where questions of one document made it wider.

    >>> design_effect(2.345), design_effect(1.04), design_effect(None)
    (' (deff 2.3)', '', '')
    """
    return f" (deff {deff:.1f})" if deff is not None and deff >= DESIGN_EFFECT else ""


def interval(metric: dict[str, Any]) -> str:
    """The interval of a metric of the report, with what clusters cost; nothing where it has none.

    >>> interval({"low": 0.25, "high": 0.5, "deff": 1.5}), interval({"low": None, "high": None})
    ('0.250 … 0.500 (deff 1.5)', '')
    """
    if metric["low"] is None:
        return ""
    return f"{metric['low']:.3f} … {metric['high']:.3f}{design_effect(metric.get('deff'))}"


def signed(value: Fraction, *, whole: bool = False) -> str:
    """A difference with its sign.

    >>> signed(Fraction(1, 20)), signed(Fraction(-1, 3))
    ('+0.05', '-0.3333')
    """
    text = number(value, Fraction(0), whole=whole)
    return text if text.startswith("-") else f"+{text}"


def columns_of(sign: str) -> int:
    """How many columns of a terminal a sign takes: Chinese, Japanese and Korean ones two, combining marks none."""
    if unicodedata.combining(sign) or unicodedata.category(sign) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(sign) in "WF" else 1


def width_of(line: str) -> int:
    """How many columns of a terminal a line takes.

    >>> width_of("人事 abc"), width_of("cafe\u0301")
    (8, 4)
    """
    return len(line) if line.isascii() else sum(map(columns_of, line))


def padded(line: str, width: int) -> str:
    """A line with spaces behind it, up to so many columns."""
    return line + " " * (width - width_of(line))


def plural(count: int, one: str, many: str | None = None) -> str:
    """A count with its noun.

    >>> plural(1, "question"), plural(1200, "question")
    ('1 question', '1,200 questions')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def counted(counts: dict[str, int]) -> str:
    """Names, each with its count.

    >>> counted({"OK": 1200, "ERROR": 3})
    'OK 1,200, ERROR 3'
    """
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())


def cases(num: int | None, den: int | None, n: int | None) -> str:
    """What a value rests on: the counts of a ratio, or the number of cases of a mean.

    >>> cases(2, 3, None), cases(None, None, 7), cases(4, None, None)
    ('2/3', 'n = 7', '')
    """
    if num is not None and den:
        return f"{num}/{den}"
    return "" if n is None else f"n = {n}"


def shown_metrics(suite: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The metrics of a suite as people see them; constraint metrics only where constraints were checked."""
    checked = suite["settings"].get("scu", True)
    return [(name, one) for name, one in suite["metrics"].items() if checked or not name.startswith("answers.scu")]


def answered_line(counts: dict[str, Any], runs: str = "") -> str:
    """How many questions there were, and how many of them were answered."""
    sides = f"{counts['answerable']:,} answerable, {counts['unanswerable']:,} not"
    refused = f"{counts['refused']:,} refused, " if "refused" in counts else ""
    fate = f"{counts['answered']:,} answered, {refused}{counts['missing']:,} missing"
    errored = counts.get("errored_questions", counts.get("errored", 0))  # of retrieval `errored` counts runs
    errors = f", {errored:,} errored" if errored else ""
    return f"{plural(counts['gold'], 'question')} ({sides}){runs}, {fate}{errors}"


def grid(body: dict[str, Any], gated: dict[str, list[Fraction]]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Metrics at several k side by side: the header, and a row per metric; no rows where there is one k only."""
    ks = body["settings"].get("k", [])
    if len(ks) < 2:
        return (), []
    metrics = body["metrics"]
    bases = dict.fromkeys(name.partition("@")[0] for name in metrics if "@" in name)
    rows = []
    for base in bases:
        names = [f"{base}@{k}" for k in ks]  # one that only a gate asks for is there at the k of the gate alone
        if any(name in metrics and metrics[name]["undefined"] is None for name in names):
            cells = (number_of(metrics[name], gated.get(name, [])) if name in metrics else "–" for name in names)
            rows.append((f"{base}@k", *cells))
    return ("metric", *(f"k = {k}" for k in ks)), rows


def is_rate(metric: dict[str, Any]) -> bool:
    """Whether a metric is a number over cases, and not a plain count."""
    return metric["den"] is not None or metric.get("n") is not None


def cases_of(metric: dict[str, Any]) -> int:
    """How many cases a metric rests on.

    >>> cases_of({"den": 12}), cases_of({"den": None, "n": 7}), cases_of({"den": None})
    (12, 7, 0)
    """
    return int(metric["den"] if metric["den"] is not None else metric.get("n") or 0)


def sliced(metric: dict[str, Any], thresholds: Iterable[Fraction] = ()) -> str:
    """A metric of a slice with what it rests on."""
    rests_on = cases(metric["num"], metric["den"], metric.get("n"))
    return f"{number_of(metric, thresholds)} ({rests_on or 0})"


def lost_ids(lost: int, total: int, example: str) -> str:
    """How many gold ids an index does not have.

    >>> lost_ids(37, 100, "d#1")
    '37 % of gold ids (37 of 100) are not in this index, e.g. d#1 [RW-G13]'
    """
    return f"{100 * lost / total:.3g} % of gold ids ({lost} of {total}) are not in this index, e.g. {example} [RW-G13]"


def of_all(body: dict[str, Any]) -> str:
    """How many more there are than are listed."""
    bad = sum(count for label, count in body["labels"].items() if label not in HARMLESS)
    return f" ({len(body['offenders'])} of {bad:,})" if bad > len(body["offenders"]) else ""


def limits(report: dict[str, Any]) -> dict[str, list[Fraction]]:
    """The thresholds that each metric's value must not be rounded across."""
    found: dict[str, list[Fraction]] = {}
    for gate in report["gates"]:
        if gate["op"] in (">=", "<="):
            edges = (gate["threshold"], *(gate.get("review") or ()))
            found.setdefault(gate["metric"], []).extend(map(Fraction, edges))
    return found


def number_of(metric: dict[str, Any], thresholds: Iterable[Fraction] = ()) -> str:
    """A metric of the report model as people read it."""
    if metric["undefined"] is not None:
        return "–"
    if metric.get("exact"):
        return number(Fraction(metric["exact"]), *thresholds)
    if metric["den"] is None:
        return str(metric["num"])
    return number(Fraction(metric["num"], metric["den"]), *thresholds)


def gate_name(gate: dict[str, Any]) -> str:
    """A gate as tables name it: the metric, with its slice, after the suite that borrows it."""
    metric = f"{gate['suite']}:{gate['metric']}" if gate.get("suite") else str(gate["metric"])
    return f"{metric}[{gate['slice']}]" if gate["slice"] else metric


def default_notes(gates: list[dict[str, Any]]) -> list[str]:
    """What became of default gates that nobody named, where there is something to say: one line each."""
    kept = [gate for gate in gates if gate.get("kept")]
    idle: dict[str, list[str]] = {}
    for gate in kept:
        if not gate["judged"]:
            idle.setdefault(gate["reason"] or "", []).append(gate_name(gate))
    stop = [gate_name(gate) for gate in kept if gate["judged"] and gate["outcome"] != "pass" and "waiver" not in gate]
    notes = packed_notes(gates)
    if idle:
        told = "; ".join(f"{', '.join(names)}: {reason}" for reason, names in idle.items())
        notes.append(f"not judged (default gates that nobody named): {told}")
    if stop:
        notes.append(f"nobody named {', '.join(stop)}: default gates hold beside yours unless {WITHOUT}")
    return notes


def packed_notes(gates: list[dict[str, Any]]) -> list[str]:
    """The packs that gates are of.

    >>> packed_notes([{"metric": "answers.chr", "pack": "ship"}, {"metric": "answers.precision", "pack": "ship"}])
    ['gate packs: ship (2 gates)']
    """
    counts = Counter(gate["pack"] for gate in gates if "pack" in gate and "instead" not in gate)
    told = [f"{name} ({plural(count, 'gate')})" for name, count in counts.items()]
    return [f"gate packs: {', '.join(told)}"] if told else []


WITHOUT = "the policy says defaults = false (--no-default-gates, defaults=False)"


def _tells(gate: dict[str, Any]) -> bool:
    """Whether the reason says more than the table; of gates that were not judged one line says it for all."""
    if gate["outcome"] == "pass" or not gate.get("judged", True):
        return False
    return bool(gate["reason"]) and not gate["reason"].endswith(" the threshold")


def gate_notes(gate: dict[str, Any]) -> list[str]:
    """What a table of gates has no room for."""
    notes: list[str] = []
    if "waiver" in gate:
        waiver = gate["waiver"]
        notes.append(f"waived until {waiver['expires']} by {waiver['owner']}: {waiver['reason']}")
    elif _tells(gate):
        notes.append(gate["reason"])
    if "instead" in gate:
        notes.append(f"in place of {gate['instead']}, which the pack {gate['pack']} has")
    if "over" in gate:
        notes.append(f"at this load in place of {gate['over']}")
    if "previous" in gate:
        notes.append(f"the baseline's threshold was {gate['previous']}")
    return [*notes, gate["note"]] if gate["note"] and gate.get("paired") is None else notes
