"""Where it went wrong, in a few lines: causes, the way of all questions, and where failures are crowded."""

from typing import Any

from ragworthy.report.show import counted

STEPS = {
    "asked": "asked",
    "traced": "traced",
    "in_corpus": "in the corpus",
    "retrieved": "retrieved",
    "in_top": "in the first {k}",
    "first": "first result right",
    "answered": "answered",
    "cited": "cited",
    "in_scope": "in scope",
    "right": "right",
    "kept": "constraints kept",
}


def lines(body: dict[str, Any]) -> list[str]:
    """What a report says of it; nothing where nothing went wrong. Reports of earlier versions do not know it."""
    told = []
    if body.get("causes"):
        told.append(f"causes: {counted(body['causes'])}")
    way = body.get("waterfall") or {"steps": []}
    if any(one["lost"] for one in way["steps"]):
        told.append(f"answerable questions: {waterfall(way)}")
    if body.get("clusters"):
        told.append(f"more than its share went wrong in: {crowded(body['clusters'])}")
    return told


def waterfall(way: dict[str, Any]) -> str:
    """How many questions took each step, how many were lost in it, and of how many nobody can tell.

    >>> asked = {"step": "asked", "left": 10, "lost": 0, "fine": 0}
    >>> waterfall({"k": 5, "steps": [asked, {"step": "in_top", "left": 7, "lost": 3, "fine": 1}]})
    '10 asked → 7 in the first 5 (-3, 1 of them fine all the same)'
    >>> waterfall({"k": 5, "steps": [asked, {"step": "cited", "left": 10, "lost": 0, "fine": 0, "unknown": 4}]})
    '10 asked → 6 cited, 4 not known'
    """
    told = []
    for one in way["steps"]:
        name = STEPS.get(one["step"], one["step"]).format(k=way["k"])
        fine = f", {one['fine']:,} of them fine all the same" if one["fine"] else ""
        lost = f" (-{one['lost']:,}{fine})" if one["lost"] else ""
        unknown = one.get("unknown", 0)
        rest = f", {unknown:,} not known" if unknown else ""
        told.append(f"{one['left'] - unknown:,} {name}{lost}{rest}")
    return " → ".join(told)


def crowded(clusters: list[dict[str, Any]]) -> str:
    """Groups with more than their share.

    >>> crowded([{"by": "type", "name": "table", "wrong": 9, "cases": 9, "of_all": 10, "cause": "below_k"}])
    'type table 9 of 9 (most of them below_k)'
    """
    return "; ".join(
        f"{one['by']} {one['name']} {one['wrong']:,} of {one['cases']:,} (most of them {one['cause']})"
        for one in clusters
    )


def named(one: dict[str, Any]) -> str:
    """The stage and the cause of an offender.

    >>> named({"stage": "ranking", "cause": "below_k"}), named({"stage": "votes"})
    ('ranking, below_k', 'votes')
    """
    return f"{one['stage']}, {one['cause']}" if one.get("cause") else str(one["stage"])
