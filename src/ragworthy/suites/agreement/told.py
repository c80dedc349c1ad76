"""What only the report of the agreement suite has, and what it says to people."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ragworthy.metrics.facts import raters as r
from ragworthy.metrics.facts.arbitration import HEADER, LABELS, disagreements, tsv
from ragworthy.report.show import plural
from ragworthy.suites.base import Found


def of_pairs(found: Found) -> dict[str, Any]:
    """Who said what, how it ended, and every disagreement."""
    pairs = [case.facts for case in found.cases]
    both = Counter((one.scholar, one.auditor) for one in pairs)
    labels = Counter(case.own.final.label for case in found.cases)
    why = Counter(case.own.final.why for case in found.cases)
    return {
        "confusion": {
            one: {other: both[one, other] for other in LABELS}
            for one in LABELS
            if any(both[one, two] for two in LABELS)
        },
        "finals": {label: labels[label] for label in LABELS if labels[label]},
        "why": dict(sorted(why.items())),
        "disagreements": [dict(zip(HEADER, row, strict=True)) for row in disagreements(pairs)],
        "unpaired": {"scholar": list(found.own.scholar_only), "auditor": list(found.own.auditor_only)},
    }


def of_raters(found: Found, escalations: Sequence[r.Escalation]) -> dict[str, Any]:
    """How each rater voted, how each two agree, every disagreement; of operators, what has to be looked at."""
    ballots = [case.facts for case in found.cases]
    rates = r.correct_rates(ballots)
    body: dict[str, Any] = {
        "raters": {name: {"votes": total} for name, (_, total) in rates.items()},
        "by_pair": [{"raters": list(one.raters), "same": one.same, "both": one.both} for one in r.by_pair(ballots)],
        "disagreements": [
            {"qid": ballot.qid, "votes": dict(ballot.votes)} for ballot in ballots if len(ballot.labels) > 1
        ],
    }
    if found.request.settings.form != "operators":
        return body
    cost = r.mean_cost(found.own.marks)
    states = Counter(mark.state for mark in found.own.marks if mark.state)
    return body | {
        "raters": {name: {"votes": total, "correct": good} for name, (good, total) in rates.items()},
        "marking": dict(sorted(Counter(map(r.marked, found.own.marks)).items())),
        "lambda": dict(sorted(states.items())),
        "mean_cost_usd": None if cost is None else float(cost),
        "escalations": list(map(_escalation, escalations)),
    }


def _escalation(one: r.Escalation) -> dict[str, Any]:
    return {
        "what": one.what,
        "value": None if one.value is None else float(one.value),
        "limit": None if one.limit is None else float(one.limit),
        "qids": list(one.qids),
    }


def tsv_of(body: dict[str, Any]) -> str:
    """The table of disagreements of a report, in input order; only its header where there is none."""
    if "raters" not in body:
        return tsv(tuple(one.values()) for one in body["disagreements"])
    names = list(body["raters"])
    return tsv(
        ([one["qid"], *(one["votes"].get(name, "") for name in names)] for one in body["disagreements"]),
        ("qid", *names),
    )


# what text and Markdown say


def counts_line(counts: dict[str, Any]) -> str:
    """How many votes there were, and how far they agree."""
    apart = f"{counts['agreed']:,} agreed, {counts['disagreements']:,} not"
    if "pairs" in counts:
        return f"{plural(counts['pairs'], 'pair')}: {apart}, {counts['abstained']:,} with an abstention"
    items = f"{plural(counts['items'], 'item')}, {plural(counts['raters'], 'rater')}"
    return f"{items}, {plural(counts['votes'], 'vote')}: {apart}, {counts['single']:,} with one vote only"


def lines(body: dict[str, Any]) -> list[str]:
    """Who said what, how it ends, and why κ has no value where it has none."""
    if "raters" in body:
        return _rater_lines(body)
    told = []
    if body["finals"]:
        ends = ", ".join(f"{name} {count:,}" for name, count in body["finals"].items())
        by = ", ".join(f"{name} {count:,}" for name, count in body["why"].items())
        told.append(f"ends as: {ends} (by {by})")
    apart = Counter(f"{one['scholar']}/{one['auditor']}" for one in body["disagreements"])
    if apart:
        told.append("scholar/auditor: " + ", ".join(f"{both} {count:,}" for both, count in apart.most_common()))
    reason = body["metrics"]["agreement.kappa"]["undefined"]
    return [*told, f"κ has no value ({reason})"] if reason else told


def _rater_lines(body: dict[str, Any]) -> list[str]:
    who = [
        f"{name} {one['correct']:,}/{one['votes']:,}" if "correct" in one else f"{name} {one['votes']:,}"
        for name, one in body["raters"].items()
    ]
    told = [f"{'correct by operator' if 'marking' in body else 'votes by rater'}: {', '.join(who)}"]
    pairs = [f"{' and '.join(one['raters'])} {one['same']:,}/{one['both']:,}" for one in body["by_pair"] if one["both"]]
    told += [f"agreeing: {', '.join(pairs)}"] if pairs else []
    if "marking" in body:
        told.append("by the marking rule: " + ", ".join(f"{name} {n:,}" for name, n in body["marking"].items()))
    reason = body["metrics"]["agreement.fleiss"]["undefined"]
    return [*told, f"Fleiss' κ has no value ({reason})"] if reason else told
