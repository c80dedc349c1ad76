"""What timed runs are compared with: the gold set, and the corpus and the prices where they are given."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ragworthy.index.blocks import load_corpus
from ragworthy.load.gold import name_of, read_gold
from ragworthy.metrics.cost import Prices
from ragworthy.metrics.facts import answers as f
from ragworthy.records import Gold
from ragworthy.suites.answers.bound import Bindings, bound_to
from ragworthy.suites.latency.distances import NO_DISTANCES, Distances, distances_of
from ragworthy.suites.latency.prices import load_prices
from ragworthy.suites.locked import Locks
from ragworthy.suites.opened import Opened
from ragworthy.suites.refusing import by_rule_of
from ragworthy.suites.request import Request
from ragworthy.suites.slices import Slice, slices_of
from ragworthy.text import fold


class Question(NamedTuple):
    """One gold question, as far as runs are compared with it."""

    qid: str
    gold: Gold
    flags: int
    slices: tuple[Slice, ...]


class Job(NamedTuple):
    """Everything that decides the result besides the runs."""

    questions: Sequence[Question]
    rules: f.Rules
    prices: Prices | None = None
    tokens: Mapping[str, int] | None = None
    """How many tokens each chunk of the corpus has."""
    records: Mapping[str, int] = {}
    """How many chunks and prices there are, where they were given."""
    bound: Bindings | None = None
    distances: Distances = NO_DISTANCES

    place: Mapping[str, int] = {}
    """The place of each question by its id."""

    @property
    def gold_ids(self) -> frozenset[str]:
        """Every id that any question wants to be retrieved."""
        return frozenset(name for one in self.questions for name in one.gold.gold_citations or ())

    @property
    def known(self) -> list[f.Facts]:
        """What the gold set alone says of each question: whether it has evidence."""
        return [f.unpack(one.flags, ()) for one in self.questions]


def job_of(opened: Opened, request: Request, locks: Locks, ks: tuple[int, ...], fields: Iterable[str]) -> Job:
    """The gold set, with the corpus and the prices where they are given."""
    settings, given, priced = request.settings, request.get("corpus"), request.get("prices")
    corpus = None if given is None else opened.enter_corpus(load_corpus(given))
    prices = None if priced is None else load_prices(opened.enter_file("prices", Path(priced)))
    rules = f.Rules(
        ks=ks,
        refusals=settings.refusals,
        short_words=settings.short_substr == "word",
        scu=locks.scu,
        contradictions=locks.contradictions,
        by_rule=by_rule_of(settings),
        chunks=None if corpus is None else {name: fold(text) for name, text in corpus.texts.items()},
    )
    flags_of = f.gold_flags(rules)
    bound = None if given is None else bound_to(opened["gold"], given)
    bind = None if bound is None else bound.bind
    records = {} if corpus is None else {"corpus": len(corpus.texts)}
    questions = [
        Question(name_of(one.record), one.record, flags_of(one.record), slices_of(one.value, fields))
        for one in read_gold(opened["gold"], rules, allow_errors=request.allow_gold_errors, bind=bind)
    ]
    return Job(
        questions=questions,
        rules=rules,
        prices=prices,
        tokens=None if corpus is None else {name: place.tokens or 0 for name, place in corpus.places.items()},
        records=records | ({} if prices is None else {"prices": len(prices.prices)}),
        bound=bound,
        distances=distances_of(opened, corpus),
        place={question.qid: nth for nth, question in enumerate(questions)},
    )
