"""Two runs of one suite, question by question. Pure: rows and values in, a record out."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from ragworthy.comparison.numbers import Pair, Tested, alike, exact_test, interval_of, method_of, pair_of, toward_worse
from ragworthy.comparison.records import Flip, Number, Suite
from ragworthy.differences import ALONE, Pairs, pair
from ragworthy.metrics.fold import percent_of
from ragworthy.metrics.of_runs import SUM, as_often, per_run, said_of
from ragworthy.metrics.registry import Metric
from ragworthy.names import HARMLESS
from ragworthy.paired.family import holm
from ragworthy.paired.swaps import ENUMERATED, seed_of, swap_all
from ragworthy.proving import apart
from ragworthy.rows import GOOD, GOOD_RUNS, Rows, Word, word_of

SEED = 0
MISSING = "MISSING"
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
        changed=len(_changed(joined, known) | flips.every),
        missing=sum(MISSING in (a.rows.labels[old], b.rows.labels[new]) for old, new in joined.both),
        notes=[
            *([] if whole else ["the runs do not have the same questions: values are those of the questions in both"]),
            *([apart(joined.regrouped)] if joined.regrouped else []),
        ],
    )


def _is_changed(one: Pair) -> bool:
    """Whether chance could call a metric changed; one in which nothing did costs the others nothing."""
    return not isinstance(one.found, str) and any(one.found.column.values())


def _changed(joined: Pairs, known: Mapping[str, Metric]) -> set[int]:
    """The places, among the questions in both runs, of those of which some metric says something else."""
    found: set[int] = set()
    for name in joined.old.words.keys() & joined.new.words.keys():
        metric = known.get(name.partition("@")[0])
        old, new = _said(joined.old, name, metric), _said(joined.new, name, metric)
        found.update(nth for nth, (one, other) in enumerate(joined.both) if not _same(old[one], new[other]))
    return found


def _said(rows: Rows, name: str, metric: Metric | None) -> Sequence[Any]:
    """What a metric says of every question; where it looks at single runs, a list of what it says of each."""
    if metric is not None and (metric.kind in ALONE or percent_of(metric.kind) is not None):
        return [one[0] if len(one) == 1 else list(one) or None for one in rows.of_runs(name)]
    words = said_of(rows, name, metric) or ()
    return per_run(words, rows.runs) if metric is not None and metric.kind == SUM else words


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, list) or isinstance(other, list):
        return as_often(*([] if said is None else said if isinstance(said, list) else [said] for said in (one, other)))
    return alike(one, other)


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
    """The paired test of every metric that has one. A metric in which few clusters changed is tested alone, in all ways
    there are; those of the others are swapped together.
    """
    found: dict[str, Tested] = {}
    columns: dict[str, tuple[dict[str, int], int]] = {}
    for name, one in pairs.items():
        if isinstance(one.found, str) or one.difference is None:
            continue
        known = exact_test(one.found)
        if known is not None:
            found[name] = known
        else:
            columns[name] = toward_worse(one.found.column), one.found.slack
    few = [name for name, (column, _) in columns.items() if sum(map(bool, column.values())) <= ENUMERATED]
    for some in (*([name] for name in few), [name for name in columns if name not in few]):
        moved, slack = [columns[name][0] for name in some], [columns[name][1] for name in some]
        swapped = swap_all(moved, seed=seed_of(seed, "compare"), slack=slack)
        for name, p in zip(some, swapped.p, strict=True):
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


# questions that are better in one run than in the other


class Flips(NamedTuple):
    fixed: list[Flip]
    broken: list[Flip]
    moved: list[Flip]
    every: set[int]
    """The places of all questions with another label or cause."""


def _flips(joined: Pairs, texts: Texts) -> Flips:
    """By how good a question is: of several runs the share of them that are, and not what most are called. A question
    that one of two runs gets right is no worse than one that half of four do.
    """
    a, b = joined.old, joined.new
    good = _good(joined)
    found: list[tuple[str, int]] = []
    every: set[int] = set()
    for nth, (old, new) in enumerate(joined.both):
        was, now = good[nth].was, good[nth].now
        if a.labels[old] == b.labels[new] and a.causes[old] == b.causes[new] and was == now:
            continue
        every.add(nth)
        if was is None or now is None:
            continue
        before, after = (was, a.labels[old] in HARMLESS), (now, b.labels[new] in HARMLESS)
        if not (before == after and was == 1 and after[1]):
            found.append(("moved" if before == after else "fixed" if before < after else "broken", nth))
    known = texts([b.qids[joined.both[nth][1]] for what, nth in found if what != "moved"])
    sides = {
        what: [_flip(joined, nth, known, good[nth]) for one, nth in found if one == what]
        for what in ("fixed", "broken", "moved")
    }
    return Flips(**sides, every=every)


class Good(NamedTuple):
    """How good a question is on both sides, from 0 to 1; None where nobody says."""

    was: Fraction | None
    now: Fraction | None
    shares: bool
    """Whether these are shares of its runs, and not only what it is called."""


def _good(joined: Pairs) -> list[Good]:
    """By the shares of good runs, where both sides know them; else by labels, which say of several runs too little."""
    told = _shares(joined.old), _shares(joined.new)
    labels = [_labelled(rows) for rows in (joined.old, joined.new)]
    found = []
    for old, new in joined.both:
        was, now = told[0][old], told[1][new]
        known = was is not None and now is not None
        found.append(Good(was, now, True) if known else Good(labels[0][old], labels[1][new], False))
    return found


def _labelled(rows: Rows) -> list[Fraction | None]:
    return [None if label is None else Fraction(label in HARMLESS) for label in rows.labels]


def _shares(rows: Rows) -> list[Fraction | None]:
    """The share of good runs of every question; of one run its label says it."""
    name = next((name for name in rows.words if name.partition(".")[2] == GOOD), None)
    if name is not None:
        return list(map(_share, rows.words[name]))
    kept = rows.own.get(GOOD_RUNS, (None,) * len(rows.qids))
    single = _labelled(rows)
    return [
        single[nth] if runs < 2 else None if text is None else _share(word_of(text))
        for nth, (text, runs) in enumerate(zip(kept, rows.runs, strict=True))
    ]


def _share(word: Word) -> Fraction | None:
    if isinstance(word, tuple):
        return Fraction(word[0]) / Fraction(word[1]) if word[1] else None
    return None if word is None else Fraction(word)


def _flip(joined: Pairs, nth: int, texts: Mapping[str, Text], good: Good) -> Flip:
    (old, new), a, b = joined.both[nth], joined.old, joined.new
    text = texts.get(b.qids[new], Text())
    several = good.shares and max(a.runs[old], b.runs[new]) > 1
    return Flip(
        qid=b.qids[new],
        label_a=a.labels[old] or "",
        label_b=b.labels[new] or "",
        cause_a=a.causes[old],
        cause_b=b.causes[new],
        question=text.question,
        claim_a=text.claim_a,
        claim_b=text.claim_b,
        good_a=float(good.was) if several and good.was is not None else None,
        good_b=float(good.now) if several and good.now is not None else None,
    )
