"""The tally as cases, as counts, and as a receipt keeps it."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ragworthy.metrics.facts import answers as f
from ragworthy.suites.answers.offenders import case_of
from ragworthy.suites.answers.parallel.job import Measured, Tally
from ragworthy.suites.answers.read import Alike
from ragworthy.suites.evidence import Case
from ragworthy.suites.slices import Slice

if TYPE_CHECKING:
    from ragworthy.metrics.facts.compared import Compared


def cases_of(tally: Tally, ks: tuple[int, ...], whole: bool = True) -> list[Case]:
    """A case for each set of flags: a few hundred, however many questions there are."""
    counts: Counter[tuple[int, Compared | None]] = Counter()
    inside: dict[tuple[int, Compared | None], Counter[str]] = {}
    for (flags, slices, compared), count in tally.items():
        known = flags, compared
        counts[known] += count
        if slices:
            some = inside.setdefault(known, Counter())
            for name in slices:
                some[name] += count
    return [
        case_of(Alike(known[0], inside.get(known, {}), known[1]), ks, whole=whole)._replace(
            weight=count, slices=tuple(map(Slice, inside.get(known, ())))
        )
        for known, count in counts.items()
    ]


def entries_of(tally: Tally) -> list[list[Any]]:
    """The tally as a receipt has it."""
    return [_entry(*known, count) for known, count in sorted(tally.items(), key=_in_order)]


def _in_order(counted: "tuple[tuple[int, tuple[str, ...], Compared | None], int]") -> tuple[Any, ...]:
    (flags, slices, compared), _ = counted
    return flags, slices, compared or ()


def _entry(flags: int, slices: tuple[str, ...], compared: "Compared | None", count: int) -> list[Any]:
    """An entry of the tally as a receipt has it; the comparison only where there is a reference."""
    entry = [flags, list(slices), count]
    return entry if compared is None else [*entry, list(map(int, compared))]


def counts_of(cases: Sequence[Case], found: Measured, runs: int) -> dict[str, int]:
    """Questions by what they are; answers, of all runs, by what became of them."""

    def count(holds: Callable[[f.Facts], bool]) -> int:
        return sum(case.weight for case in cases if holds(case.facts))

    return {
        "gold": sum(case.weight for case in cases) // runs,
        **({"runs": runs} if runs > 1 else {}),
        "answered": count(lambda one: one.shipped),
        "refused": count(lambda one: one.refused),
        "missing": count(lambda one: one.missing),
        "errored": count(lambda one: one.errored),
        "answerable": count(lambda one: one.answerable) // runs,
        "unanswerable": count(lambda one: not one.answerable) // runs,
        "duplicate_traces": found.traces_replaced,
        "orphan_traces": found.orphans,
    }
