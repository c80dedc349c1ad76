"""Questions that are alike: what rows and ledgers say of them is worked out once."""

from collections import Counter
from collections.abc import Hashable, Iterator

from ragworthy.suites.evidence import Case, Fate, Found, Ledger, Row
from ragworthy.suites.protocol import Suite

MOST = 1 << 12
"""So many different rows are kept to be compared with; each is a few kilobytes."""


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

    Many have the same words: those rows have the same numbers, and lack the others for the same reasons. Of a question
    itself, `undefined` sees whether it has traces, is answerable, and is answered.
    """
    words = found.summary.words
    known: dict[Hashable, tuple[dict[str, float], dict[str, str]]] = {}
    for case, said in zip(found.cases, zip(*words.values(), strict=True), strict=True):
        state = case.fate is Fate.MISSING, case.own.wanted.answerable, is_answered(case)
        key = state, tuple(map(id, said))  # words that are the same are mostly the same object
        numbers = known.get(key)
        if numbers is None:
            numbers = suite.numbers(found.summary.names, case, dict(zip(words, said, strict=True)), found)
            if len(known) < MOST:
                known[key] = numbers
        metrics, undefined = numbers
        yield suite.row_of(case, metrics.copy(), undefined.copy(), found)
