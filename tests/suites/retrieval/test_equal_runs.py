"""The fast ways of the retrieval suite against the plain definitions, on generated runs."""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragworthy.cited import Citation, Result
from ragworthy.ids import all_stable, stable
from ragworthy.metrics.facts.convergence import Asked, Question
from ragworthy.metrics.facts.orders import alike, alike_by_tau, kendall_tau_b
from ragworthy.metrics.facts.runs import Facts, Reading, missing, read
from ragworthy.metrics.facts.wanted import Rules, wanted_of
from ragworthy.metrics.fold import mean, value_of
from ragworthy.metrics.registry import MetricName, Word, all_metrics
from ragworthy.records import RetrievalGold, RetrievalTrace
from ragworthy.suites.evidence import Case, Evidence, Found, Summary
from ragworthy.suites.protocol import Suite
from ragworthy.suites.retrieval.cases import case_of
from ragworthy.suites.retrieval.equal_runs import CITATIONS, HOME, RANKS, knows
from ragworthy.suites.retrieval.numbers import _Lists, _pooled
from ragworthy.suites.retrieval.suite import SUITE
from ragworthy.suites.retrieval.units import are_whole, ranged
from ragworthy.suites.summarise import values_of

IDS = [f"d{doc}.md|s={section}.1|p=000|b={block:03d}" for doc in range(2) for section in (1, 2) for block in (1, 2)]
NAMES = st.sampled_from([*IDS, "c_1", "c_2", "S.1.1.t.Bk001", "g#3"])
RULES = Rules(ks=(1, 3, 5, 10))
KS = (1, 3, 10)


def tau_by_pairs(one: Sequence[str], other: Sequence[str]) -> float | None:
    """The definition: all pairs of items, tied where a list lacks both."""
    ranks = [
        tuple(some.index(item) if item in some else len(some) for some in (one, other))
        for item in dict.fromkeys((*one, *other))
    ]
    untied = [0, 0]
    balance = 0
    for (x, y), (v, w) in combinations(ranks, 2):
        untied[0] += x != v
        untied[1] += y != w
        balance += (x != v and y != w) * (1 if (x > v) == (y > w) else -1)
    return balance / math.sqrt(untied[0] * untied[1]) if all(untied) else None


LISTS = st.lists(st.sampled_from("abcdefghijkl"), max_size=12)


@settings(max_examples=500)
@given(LISTS, LISTS, st.integers(1, 12))
def test_tau_is_the_same_number_as_over_all_pairs(a: list[str], b: list[str], k: int) -> None:
    one, other = (list(dict.fromkeys(some))[:k] for some in (a, b))
    assert kendall_tau_b(a, b, k) == tau_by_pairs(one, other)
    assert alike_by_tau(one, other) == alike(kendall_tau_b, a, b, k)


@given(st.lists(st.one_of(st.booleans(), st.integers(0, 3), st.fractions(0, 1, max_denominator=30)), min_size=1))
def test_a_mean_is_the_sum_of_fractions_over_their_count(words: list[Any]) -> None:
    assert mean(words) == sum(map(Fraction, words), Fraction(0)) / len(words)


@st.composite
def golds(draw: st.DrawFn) -> RetrievalGold:
    relevant = draw(st.lists(NAMES, max_size=3, unique=True))
    return RetrievalGold(
        answerable=bool(relevant) and draw(st.booleans()),
        qid="q",
        question="why?",
        relevant=relevant,
        grades={name: draw(st.integers(0, 3)) for name in relevant},
        negatives=draw(st.lists(NAMES.filter(lambda name: name not in relevant), max_size=2)),
        anchor_section=draw(st.sampled_from([None, "1.1", "S.2.1", "d0.md|s=2.1"])),
    )


@st.composite
def traces(draw: st.DrawFn) -> RetrievalTrace:
    top = draw(st.lists(NAMES, max_size=8))
    cited = draw(st.one_of(st.none(), st.lists(NAMES, max_size=3)))
    return RetrievalTrace(
        qid="q",
        topk=[Result(name, type=draw(st.sampled_from([None, "table"]))) for name in top],
        answer_citations=None if cited is None else [Citation(name) for name in cited],
        answer=draw(st.sampled_from([None, "forty-two", "not in context"])),
        error=draw(st.sampled_from([None, None, None, "timeout"])),
    )


@st.composite
def asked(draw: st.DrawFn) -> Asked:
    """A question with its runs: several wordings, under seeds that often change nothing."""
    wanted = wanted_of(draw(golds()), RULES, lambda _: 7, ())
    runs: dict[tuple[int, int], Reading] = {}
    for wording in range(draw(st.integers(0, 3))):
        for seed in range(2):
            same = seed == 1 and draw(st.booleans())
            runs[wording, seed] = runs[wording, 0] if same else read(wanted, draw(traces()), RULES)
    question = Question.of({key: reading.facts for key, reading in runs.items()}, lambda: missing(wanted))
    return Asked(wanted, runs, question)


def names_of_metrics() -> list[MetricName]:
    metrics = all_metrics("retrieval").values()
    return [MetricName(metric, k) for metric in metrics for k in (KS if metric.at_k else (None,))]


def plain(cases: Sequence[Case], names: Sequence[MetricName]) -> dict[str, list[Word]]:
    """Every metric asked about every run."""
    return Suite.words(SUITE, names, cases)


@settings(deadline=None)
@given(st.lists(asked(), max_size=6))
def test_equal_runs_say_the_same(questions: list[Asked]) -> None:
    cases = [case_of(one) for one in questions]
    names = names_of_metrics()
    assert SUITE.words(names, cases) == plain(cases, names)


def test_metrics_of_plugins_are_asked_about_every_run() -> None:
    usual = names_of_metrics()
    assert sum(map(knows, usual)) > 20
    own = next(name for name in usual if knows(name))

    def of(facts: Facts) -> bool:
        return "c_1" in facts.names

    assert of.__module__ != HOME
    assert not knows(own._replace(metric=own.metric._replace(of=of)))


class Only:
    """The facts of a run that are said to be looked at, and of what is relevant and cited only how much it is."""

    def __init__(self, facts: Facts, fields: Sequence[str]) -> None:
        told = {name: getattr(facts, name) for name in fields}
        some = {"blocks": range(len(facts.blocks)), "cited": range(len(facts.cited))}
        vars(self).update(told if fields is RANKS else some | told)


@settings(deadline=None)
@given(asked())
def test_metrics_look_at_nothing_else_of_a_run(one: Asked) -> None:
    for name in filter(knows, names_of_metrics()):
        fields = CITATIONS if name.metric.needs else RANKS
        for facts in one.question.facts:
            seen: Any = Only(facts, fields)
            assert name.metric.of(seen, **name.depth) == name.metric.of(facts, **name.depth)


def found_of(questions: Sequence[Asked]) -> Found:
    """What is said of questions, without any file."""
    cases = [case_of(one) for one in questions]
    names = names_of_metrics()
    words = SUITE.words(names, cases)
    values = values_of(SUITE, names, cases, words, {None: range(len(cases))})
    nothing: Any = None
    evidence = Evidence(cases, {}, {}, {"k": list(KS)})
    return Found(nothing, nothing, evidence, Summary(names, values, words), [], nothing)


@settings(deadline=None)
@given(st.lists(asked(), max_size=8))
def test_rows_and_ledgers_of_equal_questions_are_those_of_each_alone(questions: list[Asked]) -> None:
    found = found_of(questions)
    assert list(SUITE.rows(found)) == list(Suite.rows(SUITE, found))
    assert SUITE.ledgers(found) == {name.id: Suite.ledger(SUITE, name, found) for name in found.summary.names}


def test_rows_with_the_same_numbers_do_not_share_them() -> None:
    wanted = wanted_of(RetrievalGold(qid="q", question="why?", relevant=["c_1"]), RULES, lambda _: 0, ())
    reading = read(wanted, RetrievalTrace(qid="q", topk=[Result("c_1")]), RULES)
    one = Asked(wanted, {(0, 0): reading}, Question.of({(0, 0): reading.facts}, lambda: missing(wanted)))
    first, second = SUITE.rows(found_of([one, one]))
    before = dict(second.metrics)
    first.metrics.clear()
    assert second.metrics == before


@settings(deadline=None)
@given(st.lists(asked(), max_size=6), st.sampled_from(["recall", "precision"]), st.sampled_from(KS))
def test_blocks_are_counted_one_by_one(questions: list[Asked], which: str, k: int) -> None:
    name = next(name for name in names_of_metrics() if name.id == f"retrieval.{which}@{k}")
    words: dict[str, list[tuple[int, int]]] = {}
    for one in (one for one in questions if one.wanted.answerable):
        counts: dict[str, tuple[int, int]] = {}
        for facts in one.question.facts:
            ranks = facts.blocks if which == "recall" else [rank for rank, _ in enumerate(facts.types[:k], 1)]
            types = one.wanted.types if which == "recall" else facts.types[:k]
            for rank, kind in zip(ranks, types, strict=True):
                good = 0 < rank <= k if which == "recall" else rank in facts.relevant
                part, whole = counts.get(kind, (0, 0))
                counts[kind] = part + good, whole + 1
        for kind, count in counts.items():
            words.setdefault(kind, []).append(count)
    found = _pooled(_Lists.of([one for one in questions if one.wanted.answerable]), name)
    share = name.metric._replace(kind="share")
    assert {kind: value_of(share, one.words) for kind, one in found.items()} == {
        kind: value_of(share, some) for kind, some in words.items()
    }


@settings(deadline=None)
@given(golds(), traces())
def test_ranks_of_a_run_are_those_of_its_list(gold: RetrievalGold, trace: RetrievalTrace) -> None:
    wanted = wanted_of(gold, RULES, lambda _: 7, ())
    facts = read(wanted, trace, RULES).facts
    names = [one.id for one in trace.topk or ()]
    first = {name: names.index(name) + 1 for name in names}
    assert facts.relevant == tuple(sorted(first[name] for name in first if name in wanted.ids))
    assert facts.blocks == tuple(
        min((first.get(name, 99) for name in block), default=99) % 99 for block in wanted.blocks
    )
    assert facts.negative == min((first[name] for name in first if name in wanted.negatives), default=0)
    held = [wanted.anchor is not None and wanted.anchor.holds(RULES.place(name)) for name in names]
    assert facts.anchor == (held.index(True) + 1 if True in held else 0)
    assert sum(facts.gains) == sum(grade for grade, rank in zip(wanted.grades, facts.blocks, strict=True) if rank), (
        "every block that was found gives its grade once"
    )


@pytest.mark.parametrize("name", ["c_1", "a.b", "g#3", "x|y", "doc|s=1.2", "S.4.2.p.Bk011a", "a|s=1.2|p=002|b=007"])
def test_an_id_has_the_form_that_its_pattern_says(name: str) -> None:
    from ragworthy.ids import _FORMS, _pattern, parse, spot_of

    forms = [form for form, _, pattern in _FORMS if _pattern(pattern).fullmatch(name)]
    assert parse(name).form == (forms[0] if forms else "opaque")
    spot = spot_of(name)
    assert (spot and tuple(spot)) == (parse(name)[1:4] if forms else None)


@given(st.lists(st.sampled_from(["c_1", "a|r=8c1e9a02|s=1.2|p=002|b=007", "a|r=x|s=1", "g#3"]), max_size=5))
def test_many_ids_lose_their_revisions_as_each_does(names: list[str]) -> None:
    assert all_stable(names) == tuple(map(stable, names))


SPANS = st.one_of(st.none(), st.tuples(st.integers(-2, 3), st.integers(-2, 3)))


@given(st.lists(SPANS, max_size=3), st.lists(SPANS, max_size=3))
def test_ranges_are_whole_where_none_of_them_is_odd(returned: list[Any], cited: list[Any]) -> None:
    trace = RetrievalTrace(
        topk=[Result("a", offsets=one) for one in returned],
        answer_citations=["b", *(Citation("c", one) for one in cited)],
    )
    assert are_whole(trace) == all(0 <= begin < end for _, _, (begin, end) in ranged(trace))
