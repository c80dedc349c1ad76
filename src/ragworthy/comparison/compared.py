"""Two runs of one suite, question by question. Pure: rows and values in, a record out."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from ragworthy.comparison.numbers import Pair, Tested, exact_test, interval_of, method_of, pair_of, toward_worse
from ragworthy.comparison.records import Flip, Number, Suite
from ragworthy.differences import Pairs, pair
from ragworthy.metrics.registry import Metric
from ragworthy.names import HARMLESS
from ragworthy.paired.family import holm
from ragworthy.paired.swaps import seed_of, swap_all
from ragworthy.rows import Rows

SEED = 0
NOT_PAIRED = "a run has no rows"
NO_VALUE = "one of the runs has no value of it"


class Run(NamedTuple):
    """One run: its rows, and the values of its report where there is one."""

    rows: Rows
    values: Mapping[str, Fraction | None] = {}

    def without(self, left_out: Callable[[str], bool]) -> "Run":
        """The same without some metrics."""
        words = {name: said for name, said in self.rows.words.items() if not left_out(name)}
        values = {name: value for name, value in self.values.items() if not left_out(name)}
        return Run(self.rows._replace(words=words), values)


def unchecked(settings: Mapping[str, object]) -> Callable[[str], bool]:
    """Whether a metric was not measured although it has a number: constraints that nobody checked are all kept."""
    scu = bool(settings.get("scu", True))
    return lambda name: not scu and name.startswith("answers.scu")


class Text(NamedTuple):
    """What is at hand of one question."""

    question: str | None = None
    claim_a: str | None = None
    claim_b: str | None = None


Texts = Callable[[Sequence[str]], Mapping[str, Text]]
"""The texts of some questions, by their ids."""


def no_texts(qids: Sequence[str]) -> Mapping[str, Text]:
    """Where none are at hand."""
    return {}


def compare(a: Run, b: Run, known: Mapping[str, Metric], texts: Texts = no_texts, *, seed: int = SEED) -> Suite:
    """What changed from A to B, in every metric and question that both have."""
    joined = pair(a.rows, b.rows)
    whole = not joined.only_old and not joined.only_new
    pairs = {name: one for name in _names(a, b) if (one := _pair(name, a, b, joined, known, whole)) is not None}
    tested = _tested(pairs, seed)
    family = [name for name in tested if _is_changed(pairs[name])]
    corrected = dict(zip(family, holm([tested[name].p for name in family]), strict=True))
    flips = _flips(joined, texts)
    return Suite(
        metrics={name: _number(one, tested.get(name), corrected.get(name)) for name, one in pairs.items()},
        fixed=flips.fixed,
        broken=flips.broken,
        moved=flips.moved,
        only_a=list(joined.only_old),
        only_b=list(joined.only_new),
        cases=len(joined.both),
        changed=len(_changed(joined) | flips.every),
        notes=[] if whole else ["the runs do not have the same questions: values are those of the questions in both"],
    )


def _is_changed(one: Pair) -> bool:
    """Whether chance could call a metric changed; one in which nothing did costs the others nothing."""
    return not isinstance(one.found, str) and any(one.found.column.values())


def _changed(joined: Pairs) -> set[int]:
    """The places, among the questions in both runs, of those of which some metric says something else."""
    found: set[int] = set()
    for name, old in joined.old.words.items():
        new = joined.new.words.get(name)
        if new is not None:
            found.update(nth for nth, (one, other) in enumerate(joined.both) if old[one] != new[other])
    return found


def values_only(
    a: Mapping[str, Fraction | None], b: Mapping[str, Fraction | None], known: Mapping[str, Metric], why: str
) -> Suite:
    """Where the rows of a run are not known: both values and the difference of each metric, and nothing more."""
    numbers = {}
    for name in (name for name in b if name in a):
        metric = known.get(name.partition("@")[0])
        if (a[name], b[name]) != (None, None):
            numbers[name] = _number(Pair(metric, (a[name], b[name]), NOT_PAIRED), None, None)
    return Suite(
        metrics=numbers, fixed=[], broken=[], moved=[], only_a=[], only_b=[], cases=0, changed=0,
        rowless=why,
    )  # fmt: skip


def _names(a: Run, b: Run) -> list[str]:
    """Every metric of either run, in the order of the second."""
    every = (*b.values, *b.rows.words, *a.values, *a.rows.words)
    return list(dict.fromkeys(every))


def _pair(name: str, a: Run, b: Run, joined: Pairs, known: Mapping[str, Metric], whole: bool) -> Pair | None:
    """A metric that has a value or words in both runs; None where one of them lacks it."""
    metric = known.get(name.partition("@")[0])
    there = name in a.values and name in b.values
    worded = name in a.rows.words and name in b.rows.words
    if not worded and not there:
        return None
    found = pair_of(name, metric, joined, (a.values[name], b.values[name]) if there and (whole or not worded) else None)
    return None if found.values == (None, None) else found


def _tested(pairs: Mapping[str, Pair], seed: int) -> dict[str, Tested]:
    """The paired test of every metric that has one; clusters of all of them are swapped together."""
    found: dict[str, Tested] = {}
    columns: dict[str, dict[str, int]] = {}
    for name, one in pairs.items():
        if isinstance(one.found, str) or one.difference is None:
            continue
        known = exact_test(one.found)
        if known is not None:
            found[name] = known
        else:
            columns[name] = toward_worse(one.found.column)
    swapped = swap_all(list(columns.values()), seed=seed_of(seed, "compare"))
    for name, p in zip(columns, swapped.p, strict=True):
        found[name] = Tested(min(1.0, 2 * p), method_of(pairs[name].metric))
    return {name: found[name] for name in pairs if name in found}


def _number(one: Pair, tested: Tested | None, corrected: float | None) -> Number:
    a, b = one.values
    interval, found = interval_of(one), one.found
    directed = one.metric is not None and tested is not None and not isinstance(found, str)
    counts = one.metric is not None and one.metric.kind == "count"
    return Number(
        a=_plain(a, counts),
        b=_plain(b, counts),
        difference=_plain(one.difference, counts),
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        p=None if tested is None else tested.p,
        fixed=found.better if directed and not isinstance(found, str) else None,
        broken=found.worse if directed and not isinstance(found, str) else None,
        better=None if one.metric is None else one.metric.better,
        cases=0 if isinstance(found, str) else found.cases,
        clusters=0 if isinstance(found, str) else found.clusters,
        method=None if tested is None else tested.method,
        holm=corrected,
        without=None if tested is not None else found if isinstance(found, str) else NO_VALUE,
    )


def _plain(value: Fraction | None, whole: bool) -> int | float | None:
    return None if value is None else int(value) if whole else float(value)


# questions that are right in one run and wrong in the other


class Flips(NamedTuple):
    fixed: list[Flip]
    broken: list[Flip]
    moved: list[Flip]
    every: set[int]
    """The places of all questions with another label or cause."""


def _flips(joined: Pairs, texts: Texts) -> Flips:
    a, b = joined.old, joined.new
    found: list[tuple[str, int]] = []
    every: set[int] = set()
    for nth, (old, new) in enumerate(joined.both):
        before, after = a.labels[old], b.labels[new]
        if before == after and a.causes[old] == b.causes[new]:
            continue
        every.add(nth)
        if before is None or after is None:
            continue
        was, now = before in HARMLESS, after in HARMLESS
        if not (was and now):
            found.append(("moved" if was == now else "fixed" if now else "broken", nth))
    known = texts([b.qids[joined.both[nth][1]] for what, nth in found if what != "moved"])
    sides = {
        what: [_flip(joined, nth, known) for one, nth in found if one == what] for what in ("fixed", "broken", "moved")
    }
    return Flips(**sides, every=every)


def _flip(joined: Pairs, nth: int, texts: Mapping[str, Text]) -> Flip:
    (old, new), a, b = joined.both[nth], joined.old, joined.new
    text = texts.get(b.qids[new], Text())
    return Flip(
        qid=b.qids[new],
        label_a=a.labels[old] or "",
        label_b=b.labels[new] or "",
        cause_a=a.causes[old],
        cause_b=b.causes[new],
        question=text.question,
        claim_a=text.claim_a,
        claim_b=text.claim_b,
    )
