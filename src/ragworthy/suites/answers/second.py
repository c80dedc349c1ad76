"""The gold set once more, where it is small: what each question is about, and where its first evidence stands."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ragworthy.load.decode import Decoder
from ragworthy.load.gold import resolved
from ragworthy.load.sources import Source
from ragworthy.metrics.facts.wanted import place_of
from ragworthy.records import Gold
from ragworthy.suites.answers.bound import Bindings
from ragworthy.suites.answers.fit import UP_TO
from ragworthy.suites.clusters import About, document_of
from ragworthy.suites.crowds import NO_HOME, Home, Placed, home_at
from ragworthy.suites.fork import without_gc


class Look(NamedTuple):
    """What is known of every question by its gold item; nothing of sets that are too large."""

    golds: Sequence[Gold] = ()
    topics: Sequence[About] = ()
    homes: Sequence[Home] = ()


def look_at(source: Source, bound: Bindings | None, placed: Placed) -> Look:
    """The gold items of a set of up to 32 MiB."""
    if source.size > UP_TO:
        return Look()
    with without_gc():
        golds: list[Gold] = []
        decoder = Decoder(Gold)
        for block in source.blocks():
            golds += decoder.records(block)
        topics, homes = places_of(golds, bound, placed)
    return Look(golds, topics, homes)


def places_of(golds: Iterable[Gold], bound: Bindings | None, placed: Placed) -> tuple[list[About], list[Home]]:
    """What each question is about, and where its first evidence stands: what the corpus says, else what ids say."""
    bind, docs = (bound.bind, bound.docs) if bound is not None else (None, None)
    by_id = placed is place_of and not docs
    topics: list[About] = []
    homes: list[Home] = []
    for given in golds:
        gold = resolved(given, bind)
        cited = gold.gold_citations
        if cited and by_id and not gold.gold_source:  # the usual question: only its first id says it
            place = place_of(cited[0])
            topics.append((gold.question, gold.cluster, place.doc))
            homes.append(home_at(place))
        else:
            topics.append((gold.question, gold.cluster, document_of(cited or (), gold.gold_source, docs)))
            homes.append(home_at(placed(cited[0])) if cited else NO_HOME)
    return topics, homes
