"""What the numbers of the retrieval suite need besides a fold: blocks counted one by one, and types of blocks.

Metrics that these files cannot measure say why not, instead of having a number.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ragworthy import gates as g
from ragworthy.metrics.facts.convergence import Asked
from ragworthy.metrics.fold import value_of
from ragworthy.metrics.registry import Metric, MetricName
from ragworthy.suites.evidence import Case, Summary
from ragworthy.suites.retrieval.cases import incomplete, of_one_seed
from ragworthy.suites.retrieval.contract import lacking as lacking_contract
from ragworthy.suites.retrieval.distances import FAR, FIRST_WITHIN, RAW, UNSTABLE, WITHIN, Filled
from ragworthy.suites.retrieval.probes import far_unknown, probes_are_raw, why_unprobed
from ragworthy.suites.retrieval.reranked import without_lists
from ragworthy.suites.retrieval.steady import ENOUGH

TYPES = ("prose", "code", "table", "figure")
"""Block types that are always reported."""
POOLED = ("retrieval.recall", "retrieval.precision")
"""Metrics that are also counted block by block, which tells one type of block from another."""
SECTIONED = ("retrieval.anchor_hit", "retrieval.anchor_distance", "retrieval.coverage")
"""Metrics that need the section of every block."""
ANCHORED = ("retrieval.anchor_distance", "retrieval.token_coverage")
"""Metrics that need an anchor section, besides what says so itself."""
CITING = ("retrieval.identical_citations", "retrieval.cite_first", "retrieval.traceable")
"""Metrics that need answers, besides what they say that they need."""
BYTES = ("retrieval.citation_accuracy", "retrieval.citation_exact", "retrieval.anchor_coverage")
"""Metrics that compare bytes."""

Values = dict[tuple[str | None, str], g.Value]


def types_of(cases: Iterable[Case]) -> list[str]:
    """Every type of block to report: the usual ones, then those that gold set or results name."""
    asked: list[Asked] = [case.own for case in cases]
    kinds = set[str]().union(*[one.wanted.types for one in asked])
    for one in asked:
        kinds.update(*[facts.types for facts in one.question.runs.values()])
    return [*TYPES, *sorted(kinds - {*TYPES, ""})]


def completed(
    summary: Summary, cases: Sequence[Case], filled: Filled, *, known_corpus: bool, beside: str | None
) -> Summary:
    """The same numbers with blocks counted one by one, and without those that these files cannot measure.

    `beside` says why there is no index in use to hold them against.
    """
    values = {**summary.values, **_block_by_block(summary, cases)}
    lacks = _lacks(filled, beside, known_corpus=known_corpus)
    by_id = {name.id: name.metric for name in summary.names}
    for (group, metric), value in values.items():
        why = lacks.why(by_id[metric], group, value)
        if why is not None:
            values[group, metric] = g.Value(0, 0, why, better=value.better, cases=value.cases, event=value.event)
    return summary._replace(values=values)


# blocks one by one


class _Blocks(NamedTuple):
    """Blocks of one type over all runs: those found of those wanted, or relevant of those returned."""

    part: int
    whole: int
    questions: int
    """How many questions have such blocks."""

    @property
    def words(self) -> list[tuple[int, int]]:
        """What they say as a share. Parts and wholes are only ever added: the first question may say it for all."""
        return [(self.part, self.whole), *[(0, 0)] * (self.questions - 1)]


def _block_by_block(summary: Summary, cases: Sequence[Case]) -> Values:
    """The values that change when blocks are counted: the whole, and each type of block."""
    values: Values = {}
    lists = _Lists.of([case.own for case in cases if case.own.wanted.answerable])
    kinds = types_of(cases)
    for name in summary.names:
        if name.metric.id not in POOLED:
            continue
        found = _pooled(lists, name)
        total = sum(one.part for one in found.values()), sum(one.whole for one in found.values())
        values[None, name.id] = summary.values[None, name.id]._replace(pooled=total if total[1] else None)
        share = name.metric._replace(kind="share")
        for kind in kinds:
            values[f"type={kind}", name.id] = value_of(share, found[kind].words if kind in found else [])
    return values


_Types = tuple[str, ...]


class _Lists(NamedTuple):
    """The types of blocks that were wanted and returned, counted: few lists of them are different."""

    wanted: Counter[tuple[_Types, tuple[int, ...]]]
    """Of each run the types of what is relevant, and the rank of each block."""
    asked: Counter[_Types]
    """Of each question the types of what is relevant."""
    returned: Counter[tuple[_Types, tuple[int, ...]]]
    """Of each run the types of its results, and the ranks of what is relevant."""
    given: Counter[frozenset[_Types]]
    """Of each question the types of the results of its runs."""

    @classmethod
    def of(cls, asked: Sequence[Asked]) -> "_Lists":
        """Those of some questions."""
        return cls(
            Counter([(one.wanted.types, facts.blocks) for one in asked for facts in one.question.facts]),
            Counter([one.wanted.types for one in asked]),
            Counter([(facts.types, facts.relevant) for one in asked for facts in one.question.facts]),
            Counter([frozenset([facts.types for facts in one.question.facts]) for one in asked]),
        )


def _pooled(lists: _Lists, name: MetricName) -> dict[str, _Blocks]:
    """Blocks of answerable questions, by type."""
    depth = name.k or 0
    part, whole, questions = Counter[str](), Counter[str](), Counter[str]()
    if name.metric.id == "retrieval.recall":
        for (types, ranks), count in lists.wanted.items():
            for kind, rank in zip(types, ranks, strict=True):
                whole[kind] += count
                part[kind] += count if 0 < rank <= depth else 0
        for types, count in lists.asked.items():
            questions.update(dict.fromkeys(types, count))
    else:
        for (types, ranks), count in lists.returned.items():
            for kind in types[:depth]:
                whole[kind] += count
            for rank in ranks:
                if rank <= depth:
                    part[types[rank - 1]] += count
        for several, count in lists.given.items():
            questions.update(dict.fromkeys({kind for types in several for kind in types[:depth]}, count))
    return {kind: _Blocks(part[kind], count, questions[kind]) for kind, count in whole.items()}


# what cannot be measured


class _Lacks(NamedTuple):
    """What an arm lacks."""

    answers: bool
    distances: str | None
    raw: frozenset[str]
    """The metrics whose threshold means nothing, because their distances are on the scale of some model."""
    questions: int
    short: int
    """Questions that were not asked often enough to tell convergence."""
    single: int
    """Those of them that lack nothing but another seed."""
    blind: int
    """Citations without bytes to compare with."""
    opaque: int
    """Runs with blocks of unknown sections."""
    anchors: bool
    """Whether no question names an anchor section."""
    corpus: bool
    others: Mapping[str, str]
    """Why metrics that need something of their own cannot be measured, by what they need."""

    def why(self, metric: Metric, group: str | None, value: g.Value) -> str | None:
        """Why a metric cannot be measured; None where it can."""
        if (metric.needs in ("answers", "distances", "runs") or metric.id in CITING) and self.answers:
            return "the traces carry no answers (answer_citations)"
        if metric.needs == "distances" and self.distances:
            return self.distances
        if metric.needs in self.others:
            return self.others[metric.needs]
        if metric.id in self.raw:
            return RAW
        if metric.needs == "runs" and self.short:
            many = f"{self.short} of {self.questions} questions were"
            if self.single == self.short:
                return f"{many} asked under one seed, which is enough where {ENOUGH} others come out the same under two"
            return f"{many} not asked in three wordings under two seeds"
        if metric.id in BYTES and self.blind:
            return f"{self.blind} citations have no bytes to compare with: give --corpus, or offsets in both files"
        if group is not None and group.startswith("type=") and value.undefined and self.corpus:
            return "the types of blocks are known from a corpus: give --corpus"
        if metric.id in ANCHORED and self.anchors:
            return "no question has an anchor section"
        if metric.id in SECTIONED and self.opaque:
            return f"{self.opaque} runs name blocks whose section only a corpus knows: give --corpus"
        return None


def _lacks(filled: Filled, beside: str | None, *, known_corpus: bool) -> _Lacks:
    arm = filled.arm
    runs = [facts for one in arm.asked for facts in one.question.runs.values() if facts.answerable]
    raw = not filled.source.scaled
    on_a_model = {WITHIN: raw, UNSTABLE: raw, FAR: raw, FIRST_WITHIN: probes_are_raw(arm, filled.source)}
    return _Lacks(
        answers=not arm.answers,
        distances=filled.source.missing or far_unknown(arm),
        raw=frozenset(name for name, on in on_a_model.items() if on),
        questions=len(arm.asked),
        short=incomplete(arm),
        single=of_one_seed(arm),
        blind=sum(facts.answered and facts.accurate is None for facts in runs),
        opaque=0 if known_corpus else sum(facts.anchored and facts.opaque for facts in runs),
        anchors=bool(runs) and not any(facts.anchored for facts in runs),
        corpus=not known_corpus,
        others={need: why for need, why in _others(filled, beside).items() if why is not None},
    )


def _others(filled: Filled, beside: str | None) -> dict[str, str | None]:
    """Why there are no distances of results, no lists before reranking and nothing beside the index in use."""
    arm = filled.arm
    short, runs = without_lists(arm)
    lacking = f"{short} of {runs} runs do not hold what was found before reranking (before_rerank)"
    return {
        "probes": why_unprobed(arm, filled.source),
        "before": lacking if short else None,
        "live": beside,
        **lacking_contract(arm),
    }
