"""Two runs of one suite, question by question. Pure: rows and values in, a record out."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import msgspec

from ragworthy.comparison.losses import testable
from ragworthy.comparison.numbers import Pair, Tested, exact_test, interval_of, method_of, pair_of, toward_worse
from ragworthy.comparison.records import Flip, Number, Suite
from ragworthy.metrics.registry import Metric
from ragworthy.names import HARMLESS
from ragworthy.paired.family import holm
from ragworthy.paired.swaps import seed_of, swap_all
from ragworthy.rows import Rows, Word

SEED = 0
WHOLE = "a number of all items at once"
SPREAD = "it says how far questions are apart: none has a part of its own in it"
NOT_PAIRED = "a run has no rows"
NO_ROWS = "no question has a value of it in both runs"


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
    joined = _joined(a.rows, b.rows)
    whole = len(joined.qids) == len(a.rows.qids) == len(b.rows.qids)
    pairs = {name: pair for name in _names(a, b) if (pair := _pair(name, a, b, joined, known, whole)) is not None}
    tested = _tested(pairs, seed)
    corrected = dict(zip(tested, holm([one.p for one in tested.values()]), strict=True))
    flips = _flips(a.rows, b.rows, joined, texts)
    changed = {place for pair in pairs.values() for place in pair.words.changed} | flips.every
    return Suite(
        metrics={name: _number(pair, tested.get(name), corrected.get(name)) for name, pair in pairs.items()},
        fixed=flips.fixed,
        broken=flips.broken,
        moved=flips.moved,
        only_a=[qid for qid in a.rows.qids if qid not in joined.known],
        only_b=[qid for qid in b.rows.qids if qid not in joined.known],
        cases=len(joined.qids),
        changed=len(changed),
        notes=[] if whole else ["the runs do not have the same questions: values are those of the questions in both"],
    )


def values_only(
    a: Mapping[str, Fraction | None], b: Mapping[str, Fraction | None], known: Mapping[str, Metric], why: str
) -> Suite:
    """Where the rows of a run are not known: both values and the difference of each metric, and nothing more."""
    numbers = {}
    for name in (name for name in b if name in a):
        metric = known.get(name.partition("@")[0])
        pair = pair_of(metric, ((), ()), (), (a[name], b[name]))
        if pair.values != (None, None):
            numbers[name] = msgspec.structs.replace(_number(pair, None, None), without=NOT_PAIRED)
    return Suite(
        metrics=numbers, fixed=[], broken=[], moved=[], only_a=[], only_b=[], cases=0, changed=0,
        rowless=why,
    )  # fmt: skip


class Joined(NamedTuple):
    """The questions that are in both runs, in the order of the second."""

    qids: list[str]
    a: list[int]
    """Where each stands in the first run."""
    b: list[int]
    clusters: list[str]
    known: set[str]


def _joined(a: Rows, b: Rows) -> Joined:
    places = a.places()
    both = [(qid, places[qid], nth) for nth, qid in enumerate(b.qids) if qid in places]
    qids = [qid for qid, _, _ in both]
    return Joined(qids, [old for _, old, _ in both], [new for _, _, new in both],
                  [b.clusters[new] for _, _, new in both], set(qids))  # fmt: skip


def _names(a: Run, b: Run) -> list[str]:
    """Every metric of either run, in the order of the second."""
    every = (*b.values, *b.rows.words, *a.values, *a.rows.words)
    return list(dict.fromkeys(every))


def _pair(name: str, a: Run, b: Run, joined: Joined, known: Mapping[str, Metric], whole: bool) -> Pair | None:
    """A metric that has a value or words in both runs; None where one of them lacks it."""
    metric = known.get(name.partition("@")[0])
    old, new = _column(a.rows, name, joined.a), _column(b.rows, name, joined.b)
    there = name in a.values and name in b.values
    if old is None or new is None:
        if not there:
            return None
        pair = pair_of(metric, ((), ()), (), (a.values[name], b.values[name]))
    else:
        values = (a.values[name], b.values[name]) if there and whole else None
        pair = pair_of(metric, (old, new), joined.clusters, values)
    return None if pair.values == (None, None) else pair


def _column(rows: Rows, name: str, places: Sequence[int]) -> list[Word] | None:
    words = rows.words.get(name)
    return None if words is None else [words[place] for place in places]


def _tested(pairs: Mapping[str, Pair], seed: int) -> dict[str, Tested]:
    """The paired test of every metric that has one; clusters of all of them are swapped together."""
    found: dict[str, Tested] = {}
    columns: dict[str, dict[str, int]] = {}
    for name, pair in pairs.items():
        if pair.difference is None or not testable(pair.metric) or not pair.words.places:
            continue
        known = exact_test(pair)
        if known is not None:
            found[name] = known
        else:
            columns[name] = toward_worse(pair.sums)
    swapped = swap_all(list(columns.values()), seed=seed_of(seed, "compare"))
    for name, p in zip(columns, swapped.p, strict=True):
        found[name] = Tested(min(1.0, 2 * p), method_of(pairs[name]))
    return {name: found[name] for name in pairs if name in found}


def _number(pair: Pair, tested: Tested | None, corrected: float | None) -> Number:
    a, b = pair.values
    interval = interval_of(pair)
    difference = pair.difference
    directed = pair.metric is not None and tested is not None
    whole = pair.metric is not None and pair.metric.kind == "count"
    return Number(
        a=_plain(a, whole),
        b=_plain(b, whole),
        difference=_plain(difference, whole),
        low=None if interval is None else interval[0],
        high=None if interval is None else interval[1],
        p=None if tested is None else tested.p,
        fixed=pair.losses.better if directed else None,
        broken=pair.losses.worse if directed else None,
        better=None if pair.metric is None else pair.metric.better,
        cases=len(pair.words.places),
        clusters=len(set(pair.clusters)),
        method=None if tested is None else tested.method,
        holm=corrected,
        without=None if tested is not None else _without(pair),
    )


def _plain(value: Fraction | None, whole: bool) -> int | float | None:
    return None if value is None else int(value) if whole else float(value)


def _without(pair: Pair) -> str:
    """Why there is no test."""
    if pair.metric is not None and not testable(pair.metric):
        return WHOLE if pair.metric.over == "all" else SPREAD
    return NO_ROWS


# questions that are right in one run and wrong in the other


class Flips(NamedTuple):
    fixed: list[Flip]
    broken: list[Flip]
    moved: list[Flip]
    every: set[int]
    """The places of all questions with another label or cause."""


def _flips(a: Rows, b: Rows, joined: Joined, texts: Texts) -> Flips:
    found: list[tuple[str, int]] = []
    every: set[int] = set()
    for nth, (old, new) in enumerate(zip(joined.a, joined.b, strict=True)):
        before, after = a.labels[old], b.labels[new]
        if before == after and a.causes[old] == b.causes[new]:
            continue
        every.add(nth)
        if before is None or after is None:
            continue
        was, now = before in HARMLESS, after in HARMLESS
        if not (was and now):
            found.append(("moved" if was == now else "fixed" if now else "broken", nth))
    known = texts([joined.qids[nth] for what, nth in found if what != "moved"])

    def flip(nth: int) -> Flip:
        qid, old, new = joined.qids[nth], joined.a[nth], joined.b[nth]
        text = known.get(qid, Text())
        return Flip(
            qid=qid,
            label_a=a.labels[old] or "",
            label_b=b.labels[new] or "",
            cause_a=a.causes[old],
            cause_b=b.causes[new],
            question=text.question,
            claim_a=text.claim_a,
            claim_b=text.claim_b,
        )

    fixed, broken, moved = ([flip(nth) for one, nth in found if one == what] for what in ("fixed", "broken", "moved"))
    return Flips(fixed, broken, moved, every)
