"""Every word of reports and policies with its meaning and an example: one list, for `explain`, reports and the docs."""

import re
import unicodedata
from collections.abc import Iterator

from ragworthy.glossary.causes import CAUSES
from ragworthy.glossary.deciding import DECIDING
from ragworthy.glossary.entry import Entry, Kind
from ragworthy.glossary.judged import JUDGED
from ragworthy.glossary.labels import FAILURES, LABELS
from ragworthy.glossary.words import WORDS

__all__ = [
    "ENTRIES",
    "PAGE",
    "Entry",
    "Kind",
    "anchor",
    "entry",
    "find",
    "folded",
    "heading",
    "names",
    "others",
    "spellings",
]

PAGE = "docs/glossary.md"
"""Where all of it can be read."""
ENTRIES = tuple(
    sorted((*JUDGED, *LABELS, *CAUSES, *FAILURES, *WORDS, *DECIDING), key=lambda entry: list(Kind).index(entry.kind))
)
"""Every entry, by kind."""


def entry(name: str, kind: Kind) -> Entry:
    """The entry of a word that reports write.

    >>> entry("SHIP", Kind.VERDICT).means
    'Every gate passes on valid evidence; exit code 0.'
    """
    return next(found for found in ENTRIES if found.name == name and found.kind is kind)


def find(word: str) -> list[Entry]:
    """What a word may mean: what is written exactly so, before what differs in case and signs.

    >>> [found.name for found in find("lambda")], [found.name for found in find("delta_s")]
    (['λ'], ['ΔS'])
    >>> [(found.name, found.kind.value) for found in find("not cited")]
    [('NOT_CITED', 'label of a question'), ('not_cited', 'cause')]
    """
    found = [one for one in ENTRIES if folded(word) in set(map(folded, spellings(one)))]
    return sorted(found, key=lambda one: word not in spellings(one))


def spellings(one: Entry) -> tuple[str, ...]:
    """Every way to write a word."""
    return (one.name, *one.also)


def others(one: Entry) -> list[str]:
    """The other names of a word, other ways to write the same name apart."""
    return [name for name in one.also if folded(name) != folded(one.name)]


def names() -> Iterator[str]:
    """Every word, once."""
    yield from dict.fromkeys(spelling for one in ENTRIES for spelling in spellings(one))


def heading(one: Entry) -> str:
    """What an entry is called on the page: a word may be a label and a cause.

    >>> heading(find("NOT_CITED")[0]), heading(find("not_cited")[0])
    ('NOT_CITED (label)', 'not_cited (cause)')
    """
    return f"{one.name} ({one.kind.value.split()[0]})"


def anchor(one: Entry) -> str:
    """Where an entry is on the page.

    >>> anchor(find("NOT_CITED")[0]), anchor(find("exit code")[0]), anchor(find("NO-SHIP")[0])
    ('not_cited-label', 'exit-code-word', 'no-ship-verdict')
    """
    return re.sub(r"[^\w -]", "", heading(one).lower()).replace(" ", "-")


def folded(word: str) -> str:
    """A word without case, spaces, dashes and underscores.

    >>> folded("Not cited") == folded("NOT_CITED"), folded("\\u2206S") == folded("\\u0394S")
    (True, True)
    """
    plain = unicodedata.normalize("NFKC", word).replace("\u2206", "\u0394").casefold()
    return re.sub(r"[\s_-]+", "", plain)
