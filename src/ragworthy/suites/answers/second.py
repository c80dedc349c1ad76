"""The gold set once more, where it is small: what each question is about, and where its first evidence stands."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ragworthy.collector import without_gc
from ragworthy.load.decode import Decoder
from ragworthy.load.gold import name_of, resolved
from ragworthy.load.sources import Source
from ragworthy.metrics.facts.placed import first_of, place_of
from ragworthy.records import Gold
from ragworthy.rows import MOST
from ragworthy.suites.answers.bound import Bindings
from ragworthy.suites.answers.fit import UP_TO
from ragworthy.suites.clusters import About, Clusters, clusters_of, document_of
from ragworthy.suites.crowds import NO_HOME, Home, Placed, home_at


class Look(NamedTuple):
    """What is known of every question by its gold item; nothing of sets that are too large."""

    golds: Sequence[Gold] = ()
    clusters: Clusters | None = None
    homes: Sequence[Home] = ()


def look_at(source: Source, bound: Bindings | None, placed: Placed, *, all_rows: bool) -> Look:
    """The gold items of a set of up to 32 MiB; where they belong, if rows are kept of so many or of `all_rows`."""
    if source.size > UP_TO:
        return Look()
    with without_gc():
        golds = list(_items(source))
        if len(golds) > MOST and not all_rows:
            return Look(golds)
        topics, homes = places_of(golds, bound, placed)
        return Look(golds, clusters_of(list(map(name_of, golds)), topics), homes)


def clusters_in(
    qids: Sequence[str], source: Source, look: Look, bound: Bindings | None, placed: Placed
) -> Clusters | None:
    """Where every question belongs; nothing of more questions than rows are kept of."""
    if not qids or len(qids) > MOST:
        return None
    return look.clusters or clusters_of(qids, places_of(_items(source), bound, placed)[0])


def _items(source: Source) -> Iterator[Gold]:
    decoder = Decoder(Gold)
    for block in source.blocks():
        yield from decoder.records(block)


def places_of(golds: Iterable[Gold], bound: Bindings | None, placed: Placed) -> tuple[list[About], list[Home]]:
    """What each question is about, and where its first evidence stands: what the corpus says, else what ids say."""
    bind, docs = (bound.bind, bound.docs) if bound is not None else (None, None)
    by_id = placed is place_of and not docs
    known: dict[str, tuple[str | None, Home]] = {}
    topics: list[About] = []
    homes: list[Home] = []
    for given in golds:
        gold = given if bind is None and given.gold_groups is None else resolved(given, bind)
        cited = gold.gold_citations
        if not cited or not by_id or gold.gold_source:
            document = document_of(cited or (), gold.gold_source, docs)
            home = home_at(placed(cited[0])) if cited else NO_HOME
        else:  # the usual question: only its first id says it, and thousands of ids say the same
            first = first_of(cited[0])
            found = known.get(first)
            if found is None:
                place = place_of(first)
                found = known[first] = place.doc, home_at(place)
            document, home = found
        topics.append((gold.question, gold.cluster, document))
        homes.append(home)
    return topics, homes
