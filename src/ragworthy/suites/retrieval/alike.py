"""Questions that are alike: what rows and ledgers say of them is worked out once."""

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence

from ragworthy.metrics.registry import MetricName
from ragworthy.suites.evidence import Case, Fate, Found, Ledger, Row
from ragworthy.suites.protocol import Suite
from ragworthy.suites.rowing import WHOLE


def is_answered(case: Case) -> bool:
    """Whether any run of a question is an answer."""
    return any([facts.answered for facts in case.facts.facts])


def ledgers(suite: Suite, found: Found) -> dict[str, Ledger]:
    """The ledger of every metric. Questions of one fate, all answered or all not, are counted and asked once."""
    groups: dict[tuple[str, bool], int] = {}
    kinds: list[Case] = []
    group_of = []
    for case in found.cases:
        group = groups.setdefault((case.fate.value, is_answered(case)), len(groups))
        if group == len(kinds):
            kinds.append(case)
        group_of.append(group)
    sizes = Counter(group_of)
    told = {}
    for name in found.summary.names:
        value, words = found.value(name.id), found.summary.words.get(name.id)
        if words is None:  # it looks at all questions at once
            told[name.id] = suite.ledger(name, found)
            continue
        lacking = Counter([group for group, word in zip(group_of, words, strict=True) if word is None])
        counts: Counter[Fate] = Counter()
        for group, case in enumerate(kinds):
            counts[suite.fate(name, case, None, value)] += lacking[group]
            counts[suite.fate(name, case, True, value)] += sizes[group] - lacking[group]
        told[name.id] = Ledger.of(counts)
    return told


def rows(suite: Suite, found: Found) -> Iterator[Row]:
    """Every question's row, in gold order.

    Metrics are gone through one after another, because each has few different words. Of a question itself, `undefined`
    sees whether it has traces, is answerable, and is answered.
    """
    names = found.summary.names
    ids = [name.id for name in names]
    shown = [_shown(suite, name, found) for name in names]
    whys: dict[Hashable, list[str]] = {}
    for case, *numbers in zip(found.cases, *shown, strict=True):
        state = case.fate is Fate.MISSING, case.own.wanted.answerable, is_answered(case)
        if state not in whys:
            whys[state] = [
                WHOLE if name.metric.over == "all" else suite.undefined(name, case, found.value(name.id))
                for name in names
            ]
        metrics: dict[str, float] = {}
        undefined: dict[str, str] = {}
        for name, number, why in zip(ids, numbers, whys[state], strict=True):
            if number is None:
                undefined[name] = why
            else:
                metrics[name] = number
        yield suite.row_of(case, metrics, undefined, found)


def _shown(suite: Suite, name: MetricName, found: Found) -> Sequence[float | None]:
    """What rows show of a metric, question by question; None where it says nothing."""
    words, value = found.summary.words.get(name.id), found.value(name.id)
    if words is None or value.undefined is not None:
        return [None] * len(found.cases)
    known: dict[int, float | None] = {}  # words that are the same are mostly the same object
    for word in words:
        if id(word) not in known:
            known[id(word)] = None if suite.lacks(word, value) else suite.number(name, word)
    return [known[id(word)] for word in words]
