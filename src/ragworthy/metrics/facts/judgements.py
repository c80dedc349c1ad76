"""What a gold question of the retrieval suite asks and names, under whichever keys it was written."""

from ragworthy.records import RetrievalGold


def wordings_of(gold: RetrievalGold) -> list[str]:
    """What is asked: the paraphrases; where they are fewer than three, the question before them.

    >>> wordings_of(RetrievalGold(question="a")), wordings_of(RetrievalGold(question="a", paraphrases=["b", "c", "d"]))
    (['a'], ['b', 'c', 'd'])
    """
    given = gold.paraphrases or []
    if gold.question is None or len(given) >= 3 or gold.question in given:
        return given
    return [gold.question, *given]


def ids_of(gold: RetrievalGold) -> list[str]:
    """The relevant ids; those of an answers gold set are its citations."""
    return (gold.relevant if gold.relevant is not None else gold.gold_citations) or []


def is_named(gold: RetrievalGold) -> bool:
    """Whether it names evidence or sources, which every index has in chunks of its own."""
    return bool(gold.gold_evidence or gold.gold_source)
