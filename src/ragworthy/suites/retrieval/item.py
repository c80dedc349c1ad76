"""Single questions of the retrieval suite: every run with the ranks of what is relevant, and the texts of the worst."""

from typing import TYPE_CHECKING, Any

from ragworthy.metrics.causes import depth_of
from ragworthy.metrics.facts.convergence import Asked, RunKey
from ragworthy.metrics.runs_blamed import label
from ragworthy.report.sheet import Answered, Expected, Viewed
from ragworthy.suites.evidence import Case, Found
from ragworthy.suites.looking import sheet_of
from ragworthy.suites.retrieval.cases import worst

if TYPE_CHECKING:
    from ragworthy.suites.protocol import Suite


def look(suite: "Suite", case: Case, found: Found) -> Viewed:
    """One question with all its runs; ids and texts are those of the run that went worst."""
    one: Asked = case.own
    depth = depth_of(found.evidence.settings["k"])
    offender = suite.offender(case, found)
    reading = one.runs.get(_worst(one, depth))
    blocks = list(dict.fromkeys(name for block in one.wanted.blocks for name in sorted(block)))
    gold = [*blocks, *(name for name in offender.gold_citations if name not in blocks and name.endswith("(gone)"))]
    offender = offender._replace(
        retrieved_ids=list(reading.names) if reading is not None else [],
        gold_citations=gold,
        question=one.wanted.question or offender.question or next(iter(one.wanted.wordings), None),
    )
    sheet = sheet_of(
        case,
        suite.said(case, found),
        offender,
        found,
        expected=Expected(
            refusal=not one.wanted.answerable,
            evidence=[group.name for group in one.wanted.named.values()],
            ids=gold,
        ),
        answer=Answered(citations=offender.citations) if reading is not None and reading.facts.answers else None,
        runs=_runs(one, depth),
        own={"lambda": one.marked, "negatives": sorted(one.wanted.negatives), "facts": suite.established(case, found)},
    )
    return Viewed(sheet)


def _worst(one: Asked, depth: int) -> RunKey:
    facts = worst(one, depth)
    return next((key for key, run in sorted(one.question.runs.items()) if run == facts), (-1, -1))


def _runs(one: Asked, depth: int) -> list[dict[str, Any]]:
    """Every run: which wording under which seed, where the relevant blocks stand, and where it leads."""
    keys = sorted(one.question.runs)
    marks = one.question.run_marks if one.question.counted else [None] * len(keys)
    names = {number: name for name, number in reversed([*one.wanted.names.items()])}
    rows = []
    for key, mark in zip(keys, marks, strict=True):
        facts, reading = one.question.runs[key], one.runs[key]
        rows.append(
            {
                "wording": key[0],
                "seed": key[1],
                "query": reading.query or None,
                "label": label(facts, depth).value,
                "ranks": {names.get(nth, str(nth)): rank or None for nth, rank in enumerate(facts.blocks)},
                "returned": facts.returned,
                "cites": list(facts.cited) if facts.answers else None,
                "ΔS": None if facts.delta_s is None else float(facts.delta_s),
                "λ": mark,
            }
        )
    return rows
