"""Where it went wrong: what to do next, the way of the questions, causes, refusals, and where failures are crowded."""

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from markupsafe import Markup

from ragworthy.glossary import Kind
from ragworthy.metrics.causes import FIRST
from ragworthy.names import Cause, Label
from ragworthy.report.blamed import STEPS
from ragworthy.report.html.charts import bars, matrix
from ragworthy.report.html.env import fragment
from ragworthy.report.html.material import Material
from ragworthy.report.html.terms import Terms
from ragworthy.report.part import steps

_NONE = ("ERROR", "MISSING", "EMPTY_CLAIM")
_REFUSED = ("OVER_REFUSAL", "REFUSAL_OK", "UNANSWERABLE")
COLUMNS = ("right", "wrong", "refused", "none")
GOLD = ("answerable", "unanswerable")


class Blame(NamedTuple):
    """A cause with what it means."""

    cause: Markup
    cases: int
    means: str
    do: str


class Wrong(NamedTuple):
    """Where it went wrong in one suite."""

    suite: str
    waterfall: Markup
    matrix: Markup
    causes: list[Blame]
    stages: list[tuple[Markup, int]]
    clusters: list[dict[str, Any]]
    worst: bool
    """Whether a question has several runs, of which the worst one counts."""


def wrong(material: Material, terms: Terms) -> Markup:
    """What to do next, then suite by suite what is known of the failures."""
    report = material.report
    todo = steps(report, material.voices)
    each = (_of_suite(suite, body, material, terms) for suite, body in report["suites"].items())
    found = [one for one in each if one is not None]
    if not todo and not found:
        return Markup()
    return fragment("wrong.html", steps=todo, suites=found, several=len(report["suites"]) > 1)


def _of_suite(suite: str, body: dict[str, Any], material: Material, terms: Terms) -> Wrong | None:
    first = any(one["step"] == FIRST for one in (body.get("waterfall") or {"steps": []})["steps"])
    causes = [_blame(name, count, terms, first=first) for name, count in (body.get("causes") or {}).items()]
    asked = "refused" in body["counts"]
    refusals = _matrix(suite, [row for row in material.rows if asked and row["suite"] == suite])
    way = _waterfall(suite, body.get("waterfall") or {"steps": []})
    clusters = body.get("clusters") or []
    stages = [(terms.word(name, Kind.STAGE), count) for name, count in (body.get("stages") or {}).items()]
    if not (causes or refusals or way or clusters):
        return None
    worst = (body["counts"].get("runs") or 0) > (body["counts"].get("gold") or 0)
    return Wrong(suite, way, refusals, causes, stages, clusters, worst)


_SECOND = "Gold evidence was returned, but is not the first result, and without an answer that is what counts."


def _blame(cause: str, cases: int, terms: Terms, *, first: bool) -> Blame:
    """A cause; `first` says that the first result is all that counts."""
    known = terms.entry(cause, Kind.CAUSE)
    link = terms.word(cause, Kind.CAUSE)
    if known is not None and first and cause == Cause.BELOW_K:
        return Blame(link, cases, _SECOND, known.do)
    return Blame(link, cases, known.means, known.do) if known is not None else Blame(link, cases, "", "")


def _waterfall(suite: str, way: dict[str, Any]) -> Markup:
    """The way of the answerable questions; nothing where none was lost."""
    if not any(one["lost"] for one in way["steps"]):
        return Markup()
    taken = []
    for one in way["steps"]:
        told = [f"{one['fine']:,} of them fine all the same"] if one["fine"] else []
        told += [f"{one['unknown']:,} not known"] if one.get("unknown") else []
        name = STEPS.get(one["step"], one["step"]).format(k=way["k"])
        taken.append(bars.Step(name, one["left"] - one.get("unknown", 0), one["lost"], ", ".join(told)))
    return bars.waterfall(bars.Waterfall(f"The way of the answerable questions ({suite})", taken))


def _matrix(suite: str, rows: Iterable[dict[str, Any]]) -> Markup:
    """What the gold set says of a question against what became of it; only where there are questions of both kinds."""
    counts: Counter[tuple[bool, int]] = Counter()
    for row in rows:
        place = _place(row)
        if place is not None:
            counts[place] += 1
    if not all(any(counts[side, nth] for nth in range(len(COLUMNS))) for side in (True, False)):
        return Markup()
    table = [[counts[side, nth] for nth in range(len(COLUMNS))] for side in (True, False)]
    right = frozenset({(0, 0), (1, 2)})
    return matrix.picture(matrix.Matrix(f"Answers and refusals ({suite})", GOLD, COLUMNS, table, right=right))


def _place(row: dict[str, Any]) -> tuple[bool, int] | None:
    """Whether the gold set has an answer, and the column; None where nobody knows."""
    label, facts = row["label"], row.get("facts") or {}
    if label is None:
        return None
    answerable = facts.get("answerable")
    if answerable is None:
        answerable = None if label in _NONE else label not in (Label.HALLUCINATION, "REFUSAL_OK", "UNANSWERABLE")
    if answerable is None:
        return None
    if label in _NONE:
        return answerable, 3
    if label in _REFUSED:
        return answerable, 2
    return answerable, 0 if label == Label.OK else 1
