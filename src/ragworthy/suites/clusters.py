"""Which questions stand or fall together: those about one document, and those that ask the same thing again."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from ragworthy.ids import stable
from ragworthy.metrics.facts.placed import place_of
from ragworthy.records import Gold, GoldSource
from ragworthy.text import fold

DOCUMENT, QUESTION = "document", "question"
"""What a cluster is: all questions about a document, or a question with whatever asks the same."""
NAMED = "cluster="
"""How a cluster begins that the gold set names itself."""


About: TypeAlias = tuple[str | None, str | int | None, str | None]
"""What a `Topic` says, field by field."""


class Topic(NamedTuple):
    """What is known of where a question belongs."""

    question: str | None = None
    """Its text."""
    named: str | int | None = None
    """The cluster that the gold item names itself."""
    document: str | None = None
    """The document of its first gold citation, where that is known."""


class Clusters(NamedTuple):
    """The cluster of every question, taken in two ways."""

    documents: tuple[str, ...]
    questions: tuple[str, ...]

    def by(self, what: str) -> tuple[str, ...]:
        """Those by `document` or those by `question`."""
        return self.questions if what == QUESTION else self.documents


def clusters_of(qids: Sequence[str], topics: Iterable[About]) -> Clusters:
    """The clusters of questions in gold order.

    What a gold item names (`cluster=…`) wins over its document (`doc=…`); a question is written by its own id, and one
    that repeats the text of an earlier one by the id of that. By `question` nothing but the text counts. Where all
    questions are about one document there is nothing to compare it with: then each question stands for itself.

    >>> topics = [Topic("Why?", None, "a.md"), Topic("How?", None, "b.md"), Topic("How?", None, "a.md"), Topic()]
    >>> clusters_of(["q1", "q2", "q3", "q4"], topics)
    Clusters(documents=('doc=a.md', 'doc=b.md', 'doc=a.md', 'q4'), questions=('q1', 'q2', 'q2', 'q4'))
    """
    known = list(topics)
    first: dict[str, str] = {}
    # What `squeeze` and `fold` do: two calls for each question would be noticed.
    texts = [" ".join((text.lower() if text.isascii() else fold(text)).split()) if text else "" for text, _, _ in known]
    questions = [first.setdefault(text, qid) if text else qid for qid, text in zip(qids, texts, strict=True)]
    there = {document for _, _, document in known if document}
    about = {document: f"doc={document}" for document in there} if len(there) > 1 else {}
    documents = [
        f"{NAMED}{named}" if named is not None and named != "" else about.get(document or "", own)
        for (_, named, document), own in zip(known, questions, strict=True)
    ]
    return Clusters(tuple(documents), tuple(questions))


def topic_of(gold: Gold, docs: Mapping[str, str] | None = None) -> Topic:
    """Where a gold item belongs; `docs` are the documents of chunks by their ids, where a corpus is given.

    >>> topic_of(Gold(answerable=True, gold_citations=["guide.md|s=1.2|p=000|b=001"])).document
    'guide.md'
    """
    cited = gold.gold_citations or [name for group in gold.gold_groups or () for name in group]
    return Topic(gold.question, gold.cluster, document_of(cited, gold.gold_source, docs))


def document_of(
    cited: Sequence[str], sources: Sequence[str | GoldSource] | None, docs: Mapping[str, str] | None
) -> str | None:
    """The document of the first gold citation: as the corpus says, as the gold item says, as the id says.

    >>> document_of(["c_17"], None, {"c_17": "a.md"}), document_of(["c_17"], ["b.md"], None)
    ('a.md', 'b.md')
    >>> document_of(["docA#s03#p002"], None, None), document_of(["c_17"], None, None)
    ('docA', None)
    """
    if not docs and not sources:
        return place_of(cited[0]).doc if cited else None
    first = cited[0] if cited else None
    if docs and first is not None and (known := docs.get(first) or docs.get(stable(first))):
        return known
    for source in sources or ():
        return source.doc if isinstance(source, GoldSource) else source
    return place_of(first).doc if first is not None else None
