"""Two sides, compared: whether they may be, suite by suite, and what changed."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragworthy.comparing.context import in_context
from ragworthy.comparing.row_files import NO_METRIC, lone_metrics, told_apart
from ragworthy.comparing.sides import Given, Measured, Side, side_of
from ragworthy.comparison.compared import Run, Text, Texts, compare, unchecked, values_only
from ragworthy.comparison.likeness import FREE, HELD, OTHERWISE, Made, Unlike, change_lines, kept, unlike, unsound
from ragworthy.comparison.records import SCHEMA, Compared, Suite
from ragworthy.comparison.records import Side as Named
from ragworthy.errors import Problem, UsageError
from ragworthy.metrics.registry import all_metrics
from ragworthy.report.texts import Said

ALLOWABLE = ("gold", "profile", "loads", *HELD)
"""What may be let differ, besides settings."""
NOTHING = "they have no question in common"
SAME_ID = "questions with the same id are taken for the same question"


class Asked(NamedTuple):
    """How two runs are to be compared."""

    given: Given = Given()
    corpora: tuple[Path | None, Path | None] = (None, None)
    allowed: Collection[str] = ()
    """What may differ: reranker, k or any other setting, because that is what is tried."""


def compared(a: Any, b: Any, asked: Asked) -> Compared:
    """Two reports, runs, traces or entries of the history, compared."""
    one, other = (side_of(given, corpus, asked.given) for given, corpus in zip((a, b), asked.corpora, strict=True))
    names = _common(one, other, asked.given.suite)
    made = {name: (one.suites[name].made, other.suites[name].made) for name in names}
    _check_allowed(asked.allowed, [each for both in made.values() for each in both])
    refused = {name: kept(_unlike(name, one, other), asked.allowed) for name in names}
    reasons = [f"{name}: {reason.text}" for name, found in refused.items() for reason in found]
    suites = {} if reasons else {name: _suite(name, one, other, asked) for name in names}
    reasons += [f"{name}: {NOTHING}" for name, suite in suites.items() if not suite.cases and suite.rowless is None]
    reasons += [
        f"{name}: {NO_METRIC}" for name, suite in suites.items() if not suite.metrics and not _known(one, other, name)
    ]
    suites = {} if reasons else suites
    return Compared(
        schema=SCHEMA,
        a=_named(one),
        b=_named(other),
        comparable=not reasons,
        unlike=reasons,
        allow=list(dict.fromkeys(reason.what for found in refused.values() for reason in found)),
        suites=suites,
        metrics={name: number for suite in suites.values() for name, number in suite.metrics.items()},
        only_a=_alone(one, other, asked.given.suite),
        only_b=_alone(other, one, asked.given.suite),
    )


def _known(one: Side, other: Side, name: str) -> bool:
    """Whether both sides say how they were made: a file of rows does not."""
    return one.suites[name].made.known and other.suites[name].made.known


def _unlike(name: str, one: Side, other: Side) -> list[Unlike]:
    """Every reason why two sides cannot be compared, by what they say of themselves, else by their rows."""
    a, b = one.suites[name], other.suites[name]
    if _known(one, other, name) or a.rows is None or b.rows is None:
        return unlike(a.made, b.made, name)
    return told_apart(a.rows, b.rows)


def _alone(side: Side, other: Side, asked: str | None) -> list[str]:
    """The suites that only one side has, unless somebody asked for another one."""
    return [name for name in side.suites if name not in other.suites and asked in (None, name)]


def _named(side: Side) -> Named:
    return Named(name=side.name, sha256=side.sha256, verdict=side.verdict)


def _common(a: Side, b: Side, asked: str | None) -> list[str]:
    """The suites that both sides have."""
    both = [name for name in a.suites if name in b.suites and asked in (None, name)]
    if both:
        return both
    there = (", ".join(side.suites) or "none" for side in (a, b))
    message = f"expected a suite that both have, got {' and '.join(there)}"
    raise UsageError([Problem("RW-Y03", message, f"{a.name}, {b.name}")])


def _check_allowed(allowed: Collection[str], made: Sequence[Made]) -> None:
    """Refuse names of what neither side has: a typo would go unseen."""
    of_rows = () if all(one.known for one in made) else ("k",)
    known = dict.fromkeys((*ALLOWABLE, *of_rows, *(key for one in made for key in one.settings if key not in FREE)))
    for name in allowed:
        if name not in known:
            message = f'expected something that may differ ({", ".join(known)}), got "{name}"'
            raise UsageError([Problem("RW-Y04", message, "--allow")])


def _suite(name: str, a: Side, b: Side, asked: Asked) -> Suite:
    one, other = a.suites[name], b.suites[name]
    known = all_metrics(name) | (all_metrics("answers") if name == "latency" else {})
    if one.rows is None or other.rows is None:
        why = "; ".join(f"{side.name}: {each.rowless}" for side, each in ((a, one), (b, other)) if each.rows is None)
        found = values_only(one.values, other.values, known, why)
    else:
        left_out = unchecked(one.made.settings or other.made.settings)  # of a file of rows nobody knows any
        runs = Run(one.rows, one.values).without(left_out), Run(other.rows, other.values).without(left_out)
        found = compare(*runs, known, _texts(one, other))
        lone = [] if _known(a, b, name) else lone_metrics(*(run.rows for run in runs))
        found = msgspec.structs.replace(found, notes=[*found.notes, *lone])
    context = in_context(name, (a, b), asked.corpora) if all(asked.corpora) else None
    return msgspec.structs.replace(found, notes=[*found.notes, *_notes(a, b, name, asked.allowed)], context=context)


def _notes(a: Side, b: Side, name: str, allowed: Collection[str]) -> list[str]:
    """What was let pass."""
    one, other = a.suites[name].made, b.suites[name].made
    notes = [f"they differ, as asked for: {each.text}" for each in _unlike(name, a, b) if each.what in allowed]
    notes += [SAME_ID] if one.gold != other.gold else []
    changed = change_lines(one.told, other.told)
    notes += [f"{OTHERWISE}{'; '.join(changed)}"] if changed else []
    for side, made in ((a, one), (b, other)):
        said = [*side.suites[name].notes, *(each.text for each in unsound(made))]
        notes += [f"{side.name}: {text}" for text in said]
    return notes


def _texts(a: Measured, b: Measured) -> Texts:
    def find(qids: Sequence[str]) -> Mapping[str, Text]:
        one, other = a.texts(qids), b.texts(qids)
        found = {}
        for qid in {*one, *other}:
            old, new = one.get(qid, Said()), other.get(qid, Said())
            found[qid] = Text(new.question or old.question, old.claim(new), new.claim(old))
        return found

    return find
