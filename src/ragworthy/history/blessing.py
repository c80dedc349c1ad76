"""What makes a run a good baseline: how many runs of the same thing are known, and how much they differ."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from ragworthy.errors import data_error, usage_error
from ragworthy.history.entries import Run
from ragworthy.history.taken import exact_of, was_checked
from ragworthy.history.unjudged import accepted, unjudged
from ragworthy.metrics.registry import all_metrics
from ragworthy.proving import too_many
from ragworthy.report.show import plural
from ragworthy.rows import GONE, Rows

if TYPE_CHECKING:
    from ragworthy.history.store import Store

ENOUGH = 3
"""So many runs tell how much a pipeline flips by itself."""


class Ground(NamedTuple):
    """What a blessing rests on."""

    runs: tuple[str, ...]
    """The runs of the same gold set, commit and suites, the blessed one among them."""
    flips: Mapping[str, str]
    """By metric: how many of the questions change between two of the runs, of how many, over all pairs."""
    warnings: tuple[str, ...]
    accepted: str = ""
    """What is accepted besides, where the run was INVALID for want of a baseline."""


def ground(store: "Store", run: Run, *, single: bool, errors: bool = False) -> Ground:
    """Whether a run may be blessed, and what is known of it; refuses what no baseline can be, and without `errors` one
    with many of these.
    """
    report = store.report(run.id)
    _check(run, report, store)
    failed = _errors(report)
    if not errors and any(too_many(*gone) for gone in failed.values()):
        message = (
            f"expected a run without errors, got one in which {_ended(failed)}: they count as wrong, and hide what "
            "later runs lose. Ask them again (ragworthy run --resume --retry-errors), or give --errors to bless it"
        )
        raise usage_error(message, code="RW-H17")
    alike = [one for one in store.runs(gold=run.gold_sha256, commit=run.commit) if _same(store, one, run)]
    times = len(alike) + sum(_repeats(store, one) - 1 for one in alike)
    if times < ENOUGH and not single:
        known = plural(times, "run")
        message = (
            f"expected {ENOUGH} runs of this gold set and commit, got {known}: one run may be a lucky one. Run the "
            "pipeline again and gate it, or give --single where it answers the same every time"
        )
        raise usage_error(message, code="RW-H09")
    settings = {suite: body["settings"] for suite, body in report["suites"].items()}
    flips = flip_rates(store, alike)
    hidden = (f"{_ended(failed)}: they count as wrong, and hide what later runs lose of them",) if failed else ()
    warnings = (*hidden, *_warnings(run, _best(store, run, alike, report), len(alike)))
    told = {
        name: counted(*both)
        for name, both in flips.items()
        if all(was_checked(name, one) for suite, one in settings.items() if name.startswith(f"{suite}."))
    }
    return Ground(tuple(one.id for one in alike), told, warnings, accepted(report))


def _errors(report: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """By suite how many questions ended in an error, and of how many; nothing for suites without any."""
    labels = {suite: body["labels"] for suite, body in report["suites"].items()}
    found = {suite: (sum(one.get(name, 0) for name in GONE), sum(one.values())) for suite, one in labels.items()}
    return {suite: gone for suite, gone in found.items() if gone[0]}


def _ended(failed: Mapping[str, tuple[int, int]]) -> str:
    """How many questions ended in errors, in words."""
    told = [f"{gone:,} of {every:,} questions ({suite})" for suite, (gone, every) in failed.items()]
    return f"{' and '.join(told)} ended in errors"


def _check(run: Run, report: Mapping[str, Any], store: "Store") -> None:
    if run.verdict == "INVALID" and not unjudged(report):
        message = f"expected a run with a verdict, got one that is INVALID ({'; '.join(report['invalid'][:3])})"
        raise data_error("RW-H10", message, where=str(store.place))
    for suite, body in report["suites"].items():
        if body["frozen"] in ("unfrozen", "broken"):
            message = f"expected a run on the frozen gold set, got one whose set was not it ({suite})"
            raise data_error("RW-H10", message, where=str(store.place))


def _same(store: "Store", one: Run, run: Run) -> bool:
    if one.suites != run.suites or one.index_hash != run.index_hash:
        return False
    return one.verdict != "INVALID" or bool(unjudged(store.report(one.id, rows=False)))


def _repeats(store: "Store", run: Run) -> int:
    """How many runs of every question a report pools."""
    found = [rows for suite in run.suites if (rows := store.rows(run.id, suite)) is not None]
    return min((min((one for one in rows.runs if one), default=1) for rows in found), default=1)


def counted(changed: Fraction, cases: int) -> str:
    """So many of so many, as they were counted; a share of pairs inside a report may be no whole number.

    >>> counted(Fraction(4), 120), counted(Fraction(2, 3), 40)
    ('4/120', '1/60')
    """
    return f"{changed}/{cases}" if changed.denominator == 1 else str(changed / cases)


def flip_rates(store: "Store", runs: Sequence[Run]) -> dict[str, tuple[Fraction, int]]:
    """For each metric on how many questions two of the runs differ, and of how many, over all pairs. A report that
    pools runs has such pairs inside it.
    """
    found: dict[str, tuple[Fraction, int]] = {}
    for suite in dict.fromkeys(suite for run in runs for suite in run.suites):
        kept = [rows for run in runs if (rows := store.rows(run.id, suite)) is not None]
        pairs = [_flips(one, other) for one, other in combinations(kept, 2) if max(one.runs + other.runs) <= 1]
        for counts in (*pairs, *map(pooled_flips, kept)):
            for metric, (changed, cases) in counts.items():
                before = found.get(metric, (Fraction(0), 0))
                found[metric] = (before[0] + changed, before[1] + cases)
    return {metric: both for metric, both in sorted(found.items()) if both[1]}


def pooled_flips(rows: Rows) -> dict[str, tuple[Fraction, int]]:
    """The same inside a report that pools runs: of R runs of a question, k of them good, two differ in
    2·k·(R − k) / (R·(R − 1)) of the pairs. Nothing for metrics whose words are not a share of the runs.

    >>> rows = Rows(("a", "b"), ("a", "b"), ("", ""), (None, None), (3, 3), ((), ()), {"m": (Fraction(1, 3), 1)})
    >>> pooled_flips(rows)
    {'m': (Fraction(2, 3), 2)}
    """
    found = {}
    for metric, words in rows.words.items():
        cases = [
            (Fraction(word) * runs, runs)
            for word, runs in zip(words, rows.runs, strict=True)
            if runs > 1 and word is not None and not isinstance(word, tuple)
        ]
        if cases and all(good.denominator == 1 and 0 <= good <= runs for good, runs in cases):
            changed = sum((2 * good * (runs - good) / (runs * (runs - 1)) for good, runs in cases), Fraction(0))
            found[metric] = (changed, len(cases))
    return found


def _flips(one: Rows, other: Rows) -> dict[str, tuple[Fraction, int]]:
    """For each metric how many questions say something else, of those that are a case of either run."""
    there = other.places()
    both = [(nth, there[qid]) for nth, qid in enumerate(one.qids) if qid in there]
    found = {}
    for metric in one.words.keys() & other.words.keys():
        words = [(one.words[metric][here], other.words[metric][nth]) for here, nth in both]
        cases = [(a, b) for a, b in words if a is not None or b is not None]
        found[metric] = (Fraction(sum(a != b for a, b in cases)), len(cases))
    return found


def _best(store: "Store", run: Run, alike: Sequence[Run], report: Mapping[str, Any]) -> bool:
    """Whether no run like it is better in any gated metric, and one is worse in some. The first run was not chosen."""
    if alike[0].id == run.id:
        return False
    gated = {gate["metric"] for gate in report["gates"]}
    known = all_metrics()
    worse = False
    for other in alike:
        mine, theirs = (
            {one.metric: exact_of(one) for one in store.summaries(each.id) if not one.slice and one.metric in gated}
            for each in (run, other)
        )
        for metric, value in mine.items():
            rival, named = theirs.get(metric), known.get(metric.partition("@")[0])
            if value is None or rival is None or named is None or value == rival:
                continue
            if (rival > value) is (named.better == "higher"):
                return False
            worse = True
    return worse


def _warnings(run: Run, best: bool, alike: int) -> tuple[str, ...]:
    found = []
    if best:
        found.append(
            f"this is the best of {alike} runs: part of that is luck, and the next run will look worse than it is. "
            "Bless the first or the middle one"
        )
    if run.verdict not in ("SHIP", "INVALID"):  # what is accepted of an INVALID one is said by itself
        found.append(f"the verdict of this run is {run.verdict}")
    return tuple(found)
