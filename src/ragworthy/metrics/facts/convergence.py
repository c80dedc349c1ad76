"""λ: whether the runs of one question lead to the same place, over its wordings and seeds; and all questions
of one trace file with their runs.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations, pairwise
from typing import NamedTuple

import msgspec

from ragworthy.ids import natural
from ragworthy.metrics.facts.distance import BLOCK
from ragworthy.metrics.facts.orders import DEPTH, alike_by_tau
from ragworthy.metrics.facts.returned import Found
from ragworthy.metrics.facts.runs import Facts, Reading
from ragworthy.metrics.facts.wanted import Wanted

FORWARD, BACKWARD, SPLIT, CHAOS = "→", "←", "<>", "×"
MARKS = (FORWARD, BACKWARD, SPLIT, CHAOS)
"""Convergent, collapsed to nothing, divided, and without any agreement."""
PARAPHRASES, SEEDS = 3, 2
"""What a question needs before its convergence counts."""

_SPELLINGS = {
    FORWARD: ("→", "->", "convergent", "forward", "â†’", "‚Üí"),
    BACKWARD: ("←", "<-", "divergent", "collapse", "â†", "‚Üê", "â†\x90"),
    SPLIT: ("<>", "recursive", "transitional"),
    CHAOS: ("×", "x", "chaotic", "Ã—", "√ó"),
}
_MARK_OF = {spelling: mark for mark, spellings in _SPELLINGS.items() for spelling in spellings}

RunKey = tuple[int, int]
"""Paraphrase and seed."""


class Seen(NamedTuple):
    """What one run cites first (its section, or nothing), and all the ids it cites."""

    key: str
    ids: tuple[str, ...]


def declared(state: str | None) -> str | None:
    """The mark behind a spelling that a trace may carry; None for one that means nothing.

    >>> declared("convergent"), declared("â†’"), declared("x"), declared("?")
    ('→', '→', '×', None)
    """
    return None if state is None else _MARK_OF.get(state.strip().lower(), _MARK_OF.get(state.strip()))


def mark(runs: Sequence[Seen]) -> str:
    """The mark of a question.

    >>> same, other, none = Seen("4.2", ("a",)), Seen("4.1", ("b",)), Seen("", ())
    >>> mark([same] * 6), mark([same] * 5 + [other]), mark([none] * 6), mark([none] * 3 + [same] * 3)
    ('→', '<>', '←', '←')
    """
    keys = [run.key for run in runs]
    empty = keys.count("")
    if empty == len(keys):
        return BACKWARD
    if len(set(keys)) == 1:
        return FORWARD
    if 2 * empty >= len(keys):
        return BACKWARD
    filled = [set(run.ids) for run in runs if run.ids]
    alone = all(count == 1 for key, count in Counter(keys).items() if key)
    if alone and len(filled) > 1 and all(one.isdisjoint(other) for one, other in combinations(filled, 2)):
        return CHAOS
    return SPLIT


def run_marks(runs: Sequence[Seen]) -> list[str]:
    """The mark of each run against the section most runs lead to."""
    keys = [run.key for run in runs if run.key]
    if not keys:
        return [BACKWARD] * len(runs)
    counts = {key: keys.count(key) for key in dict.fromkeys(keys)}
    often = [key for key, count in counts.items() if count == max(counts.values())]
    modal = often[0] if len(often) == 1 else min(often, key=natural)
    shared = {name for run in runs if run.key == modal for name in run.ids}
    marks = []
    for run in runs:
        if run.key == modal:
            marks.append(FORWARD)
        elif not run.key:
            marks.append(BACKWARD)
        else:
            marks.append(CHAOS if shared.isdisjoint(run.ids) else SPLIT)
    return marks


def flips(states: Sequence[str]) -> Fraction:
    """Changes between neighbours in a sequence of marks, as a share of the steps.

    >>> flips(["→", "→", "<>", "→"]), flips(["→"])
    (Fraction(2, 3), Fraction(0, 1))
    """
    return Fraction(sum(one != other for one, other in pairwise(states)), max(1, len(states) - 1))


class Question(msgspec.Struct, frozen=True, dict=True):
    """Every run of one question by paraphrase and seed; one without any run has the facts of a missing one.

    A dozen metrics ask for its marks: what follows from the runs is worked out when somebody first asks, and kept.
    """

    runs: Mapping[RunKey, Facts]
    facts: tuple[Facts, ...]
    """The facts of every run in order, or of the missing one."""
    steady: bool = False
    """Whether one seed is enough, because seeds change nothing."""
    twice: frozenset[int] = frozenset()
    """Wordings that are another one again, by the queries that were recorded: they say nothing of wordings."""

    @classmethod
    def of(
        cls, runs: Mapping[RunKey, Facts], absent: Callable[[], Facts], twice: frozenset[int] = frozenset()
    ) -> "Question":
        """A question from its runs; what `absent` makes is in where there is none."""
        return cls(runs, tuple([runs[key] for key in sorted(runs)]) or (absent(),), twice=twice)

    @cached_property
    def errored(self) -> bool:
        """Nothing but errors."""
        return bool(self.runs) and all(one.errored for one in self.facts)

    @cached_property
    def counted(self) -> bool:
        """Whether convergence can be told: answers, three wordings and two seeds, and not one run missing.

        One seed is enough where it is known that another changes nothing.
        """
        return _is_whole(tuple(self.runs), self.steady, self.twice) and self.asked

    @cached_property
    def asked(self) -> bool:
        """Whether the question has an answer to converge to, and its traces carry answers."""
        facts = self.facts
        return facts[0].answerable and all([one.answers for one in facts])

    @cached_property
    def seen(self) -> list[Seen]:
        """What every run cites."""
        return [Seen(one.key, one.cited) for one in self.facts]

    @cached_property
    def run_marks(self) -> list[str]:
        """The mark of each run."""
        return run_marks(self.seen)

    @cached_property
    def mark(self) -> str:
        """The convergence mark; one seed that is enough stands for two that say the same."""
        return mark(self.seen * (SEEDS if self.steady else 1))

    @property
    def flips(self) -> Fraction:
        """How often the mark changes from one run to the next."""
        return flips(self.run_marks)

    def triplets(self) -> list[bool]:
        """Whether each set of three wordings under one seed leads to one section."""
        found = []
        for seed in sorted({seed for _, seed in self.runs}):
            own = [key for key in sorted(self.runs) if key[1] == seed and key[0] not in self.twice]
            keys = [self.runs[key].key for key in own][:PARAPHRASES]
            found.append(len(keys) == PARAPHRASES and bool(keys[0]) and len(set(keys)) == 1)
        return found

    @cached_property
    def _tops(self) -> "_Tops":
        return _Tops.of(self.runs)

    def taus(self, *, seeds: bool) -> list[float]:
        """Kendall's τ of the first results of every two runs: under two seeds in one wording, or in two wordings."""
        tops = self._tops
        return [
            tops.tau(mine, its)
            for (wording, mine), (other, its) in combinations(tops.runs, 2)
            if (wording == other) is seeds and (tops.lists[mine] or tops.lists[its])
        ]


class _Tops(NamedTuple):
    """The first results of the runs of a question. Seeds often change nothing: equal lists are compared once."""

    runs: list[tuple[int, int]]
    """The wording of each run, and the number of its list."""
    lists: list[tuple[str, ...]]
    taus: dict[tuple[int, int], float]

    @classmethod
    def of(cls, runs: Mapping[RunKey, Facts]) -> "_Tops":
        """Those of some runs."""
        numbers: dict[tuple[str, ...], int] = {}
        keys = sorted(runs)
        first = [numbers.setdefault(tuple(dict.fromkeys(runs[key].names[:DEPTH])), len(numbers)) for key in keys]
        return cls([(wording, number) for (wording, _), number in zip(keys, first, strict=True)], list(numbers), {})

    def tau(self, mine: int, its: int) -> float:
        """How alike two of the lists are."""
        if mine == its:
            return 1.0
        if (mine, its) not in self.taus:
            self.taus[mine, its] = alike_by_tau(self.lists[mine], self.lists[its])
        return self.taus[mine, its]


@lru_cache(maxsize=1 << 10)  # most questions have the same wordings and seeds
def _is_whole(keys: tuple[RunKey, ...], steady: bool, twice: frozenset[int]) -> bool:
    """Whether there are enough wordings and seeds, and a run of each."""
    seeds = {seed for _, seed in keys}
    wordings = {wording for wording, _ in keys}
    several = len(wordings - twice) >= PARAPHRASES and len(seeds) >= (1 if steady else SEEDS)
    return several and len(keys) == len(wordings) * len(seeds)


# one trace file over one gold set: every question with all its runs


class Asked(NamedTuple):
    """One gold question and everything that was done about it."""

    wanted: Wanted
    runs: dict[RunKey, Reading]
    question: Question

    @property
    def marked(self) -> str | None:
        """The convergence mark; None where it cannot be told."""
        return self.question.mark if self.question.counted else None


class Steady(NamedTuple):
    """Whether seeds change nothing, so that one of them is enough."""

    questions: int = 0
    """Questions that were asked under one seed, and for which that was enough."""
    why: str = ""
    """What shows that; empty where nothing does."""
    sample: int = 0
    """Questions that were asked under several seeds, and came out the same under each: what shows it."""
    belied: int = 0
    """Questions that came out differently under another seed, though the traces say that this cannot be."""


class Arm(NamedTuple):
    """One trace file over one gold set."""

    asked: list[Asked]
    traces: int
    replaced: int
    orphans: int
    orphan_ids: list[str]
    answers: bool
    hashes: dict[str, int]
    """Every index the traces came from, with the byte offset of its first trace."""
    normalisers: list[str]
    rerankers: list[str]
    models: list[tuple[str, str]]
    cited_by_rank: int
    declared_otherwise: int
    type_mismatches: list[str]
    unknown_ids: list[str]
    """Ids that the corpus does not have, where there is a corpus."""
    errored: int
    bare: list[str]
    """Questions with a run that says nothing of results."""
    steady: Steady
    left_out: int = 0
    """Ranges that count characters of texts that are not at hand."""

    @property
    def runs(self) -> int:
        """How many runs were scored."""
        return sum(len(one.runs) for one in self.asked)


def with_distances(arm: Arm, of: Callable[[str, RunKey, Reading], Fraction | None], *, scaled: bool) -> Arm:
    """The same arm with the distance of every first citation; `scaled` when bands mean something on its scale."""

    def more(one: Asked, key: RunKey, facts: Facts) -> Found:
        distance = of(one.wanted.qid, key, one.runs[key])
        return {"delta_s": distance, "far": scaled and distance is not None and distance >= BLOCK}

    return with_facts(arm, more)


def with_facts(arm: Arm, more: Callable[[Asked, RunKey, Facts], Found]) -> Arm:
    """The same arm with more facts of every run; runs of a question that share their facts go on sharing them."""
    asked = []
    for one in arm.asked:
        made: dict[Hashable, Facts] = {}
        runs: dict[RunKey, Facts] = {}
        for key, facts in one.question.runs.items():
            found = more(one, key, facts)
            same = id(facts), *map(id, found.values())  # what is kept here keeps them alive
            if same not in made:
                made[same] = facts._replace(**found)
            runs[key] = made[same]
        every = tuple([runs[key] for key in sorted(runs)]) or one.question.facts
        question = msgspec.structs.replace(one.question, runs=runs, facts=every)
        asked.append(one._replace(question=question))
    return arm._replace(asked=asked)
