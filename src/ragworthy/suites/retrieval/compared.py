"""What the retrieval suite says of the index in use beside the new one: the answer first, then everything else."""

from fractions import Fraction
from typing import Any

from ragworthy.report.part import Table
from ragworthy.report.show import number, plural, signed
from ragworthy.suites.retrieval.rules import COMPARED, depth_of
from ragworthy.text import clip

SHOWN = 8
DELTA_HEADER = ("shadow against live", "live", "shadow", "difference", "questions better", "worse")


def listed(names: list[str], most: int = SHOWN) -> str:
    """Some ids, and how many more there are."""
    more = f" … {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def tables(body: dict[str, Any]) -> list[Table]:
    """Shadow against live, where there is a live index."""
    live = body.get("live")
    return [Table(DELTA_HEADER, delta_rows(live), tuple(live_lines(live)), last=True)] if live else []


def delta_rows(live: dict[str, Any]) -> list[tuple[str, ...]]:
    """One row for each metric that both arms have, at every k."""
    rows: list[tuple[str, ...]] = []
    for name, one in live["deltas"].items():
        if one["delta"] is None:
            continue
        before, after, delta = (Fraction(one[key]) for key in ("live", "shadow", "delta"))
        good, bad = (one["up"], one["down"]) if one["better"] == "higher" else (one["down"], one["up"])
        whole = isinstance(one["delta"], int)
        change = signed(delta, whole=whole) if delta else "0"
        row = (name, number(before, whole=whole), number(after, whole=whole), change, str(good), str(bad))
        rows.append(row)
    return rows


def live_lines(live: dict[str, Any]) -> list[str]:
    """The canary verdict, blocks gained and lost, and how much the results changed."""
    lines = [f"not comparable: {why}" for why in live["unlike"]]
    lines += [f"as asked for, {why}" for why in live.get("allowed", ())]
    if live["gone"]:
        gone = plural(live["gone"], "result of live has", "results of live have")
        lines.append(f"{gone} no block here: its numbers are understated")
    lines += _canary(live["canary"]) if live["canary"] and "moot" not in live else []
    for word in ("gained", "lost"):
        moved = live[word]
        if moved:
            names = listed([f"{one['qid']} ({listed(one['blocks'], 2)})" for one in moved], 5)
            lines.append(f"{word} relevant blocks in the first 5: {plural(len(moved), 'question')}: {names}")
    lines += churn_lines(live["churn"], "results")
    if live.get("queries"):
        lines += churn_lines(live["queries"], "unlabelled queries", SHOWN)
    return lines + [f"the indexes differ in {one}" for one in live.get("settings", [])]


def _canary(canary: dict[str, Any]) -> list[str]:
    """The canary where it is what was judged; else one line on what stricter checks would say."""
    failing = [one for one in canary["checks"] if one["outcome"] != "pass"]
    if not canary["judged"]:
        total, held = len(canary["checks"]), len(canary["checks"]) - len(failing)
        lacking = _named("not", failing, measured=True) + _named("not measured:", failing, measured=False)
        can = all(one["outcome"] != "not_measured" for one in failing)
        hint = " (--pack canary judges by them; with index diff: --canary)" if can else ""
        return [f"stricter checks, not part of this verdict: {held} of {total} hold{lacking}{hint}"]
    if canary["eligible"]:
        return ["canary: eligible, every check holds"]
    why = ", ".join(f"{one['metric']} {one['outcome'].replace('_', ' ')}" for one in failing)
    told = [one for one in (why, canary["not_two"] or "") if one]
    lines = [f"canary: not eligible: {'; '.join(told) or 'the evidence is not valid'}"]
    if canary["failing_live"]:
        lines.append(f"the live index does not pass either: {', '.join(canary['failing_live'])}")
    return lines


def _named(word: str, checks: list[dict[str, Any]], *, measured: bool) -> str:
    """Checks that do not hold, or those that could not be measured."""
    names = [_short(one["metric"]) for one in checks if (one["outcome"] != "not_measured") == measured]
    return f"; {word} {', '.join(names)}" if names else ""


def _short(metric: str) -> str:
    return metric.partition(".")[2]


def lead(body: dict[str, Any]) -> list[str]:
    """What changes against the index in use: both values, and how many questions are better and worse."""
    live = body.get("live")
    if not live:
        return _without_live(body.get("canary"))
    if "moot" in live:
        return []
    k = depth_of(body["settings"]["k"])
    told = []
    for name in COMPARED:
        one = live["deltas"].get(f"retrieval.{name}@{k}")
        if one is None or one["delta"] is None:
            continue
        before, after = (number(Fraction(one[key])) for key in ("live", "shadow"))
        change = signed(Fraction(one["delta"])) if one["delta"] else "no difference"
        label = f"{name}@{k}"
        told.append(
            f"{label:<10} live {before}, shadow {after} ({change}): "
            f"{plural(one['up'], 'question')} better, {one['down']:,} worse, {one['same']:,} the same"
        )
    return told + _context(live.get("context"))


def _without_live(canary: dict[str, Any] | None) -> list[str]:
    """The canary where the index in use is not known: what holds, and what was not looked at."""
    if not canary:
        return []
    seen = [one for one in canary["checks"] if one["metric"] not in canary["not_looked_at"]]
    held = sum(one["outcome"] == "pass" for one in seen)
    last = ", ".join(f"{_short(name)} against the index in use" for name in canary["not_looked_at"])
    return [
        f"canary: not eligible yet: {held} of {len(canary['checks'])} checks hold, and one was not looked at: {last} "
        "(give its traces with --live)"
    ]


def _context(context: dict[str, Any] | None) -> list[str]:
    """What two indexes show where their chunks differ in size: at equal k one of them gives a model more to read."""
    if not context:
        return []
    size = context["bytes"]
    told = [
        f"chunks differ in size: the first {context['results']} results are "
        f"{size['live']:,} bytes live, {size['shadow']:,} shadow; at equal bytes:"
    ]
    for budget, one in context["recall"].items():
        before, after = (number(Fraction(one[key])) for key in ("live", "shadow"))
        change = signed(Fraction(one["delta"])) if one["delta"] else "no difference"
        told.append(
            f"  recall in {int(budget) // 1000} kB  live {before}, shadow {after} ({change}): "
            f"{plural(one['up'], 'question')} better, {one['down']:,} worse, {one['same']:,} the same"
        )
    return told


def churn_lines(churn: dict[str, Any], what: str, most: int = 3) -> list[str]:
    """How much the results of the same queries changed, and which changed most."""
    if not churn["queries"]:
        return []
    lines = [
        f"{what}: {churn['identical']:,} of {plural(churn['queries'], 'query', 'queries')} identical, "
        f"mean overlap {churn['jaccard_mean']:.3f} (Jaccard), {churn['rbo_mean']:.3f} (rank-biased), "
        f"mean ρ {churn['rho_mean']:.3f} (Spearman)"
    ]
    for one in churn["most_changed"][:most]:
        wording = f" {clip(one['query'], 80)!r}" if one["query"] else ""
        lines.append(f"most changed: {one['qid']}{wording}: rank-biased overlap {one['rbo']:.3f}")
    return lines
