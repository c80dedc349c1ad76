"""LlamaIndex' citation engine cuts retrieved nodes into numbered sources: the prompt says what the model was given."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ragworthy.adapters.documents import Document
from ragworthy.adapters.recorded import numbered_sources
from ragworthy.adapters.spans import Span

_BEGINNING = 15
"""So many first characters of a source are in a document for it to be that document's, or all of its first line."""


class Sources(NamedTuple):
    """The documents as the model saw them, and their places in the order of the prompt's numbers."""

    documents: list[Document]
    order: list[int]


class _Piece(NamedTuple):
    """Where a source stands: the document, and from where to where in its text without doubled spaces."""

    place: int
    start: int
    end: int


def numbered(calls: Sequence[Span], documents: Sequence[Document], *, keep_ids: bool = False) -> Sources:
    """The documents by the numbers of the prompt; a node that was cut is there as its pieces.

    Pieces have no id of their own, as that of their node would name them all; `keep_ids` lets it.
    """
    plain = Sources(list(documents), list(range(len(documents))))
    sources = [source for span in calls for source in numbered_sources(span)]
    texts = [_evened(found.text) for found in documents] if sources else []
    pieces: dict[int, _Piece] = {}
    for number, text in sources:
        found = _piece(text, texts)
        if found is not None and (number not in pieces or _length(found) > _length(pieces[number])):
            pieces[number] = found
    if not pieces or sorted(pieces) != list(range(1, len(pieces) + 1)):
        return plain
    order = [pieces[number] for number in sorted(pieces)]
    often = Counter(one.place for one in order)
    if not any(often[one.place] > 1 and _length(one) < len(texts[one.place]) for one in order):
        return plain._replace(order=[one.place for one in order])
    made = [
        _cut(documents[one.place], texts[one.place], one, keep_id=keep_ids)
        if often[one.place] > 1
        else documents[one.place]
        for one in order
    ]
    return Sources(made, list(range(len(made))))


def _evened(text: str) -> str:
    return " ".join(text.split())


def _length(piece: _Piece) -> int:
    return piece.end - piece.start


def _piece(source: str, texts: Sequence[str]) -> _Piece | None:
    """The longest piece of a document that a source begins with; what follows it in the prompt is not part of it."""
    line = _evened(source.lstrip().partition("\n")[0])
    source = _evened(source)
    found: _Piece | None = None
    for start in dict.fromkeys((source[:_BEGINNING], line[:_BEGINNING])):
        for place, text in enumerate(texts):
            for at in _occurrences(start, text):
                length = _alike(source, text[at : at + len(source)])
                long = length >= _BEGINNING or length >= len(line)
                if long and (found is None or length > _length(found)):
                    found = _Piece(place, at, at + length)
        if found is not None:
            break
    return found


def _occurrences(start: str, text: str) -> Iterator[int]:
    at = text.find(start) if start else -1
    while at >= 0:
        yield at
        at = text.find(start, at + 1)


def _alike(source: str, text: str) -> int:
    """How many first characters two texts share, up to the end of a word of the source."""
    unlike = next((nth for nth, both in enumerate(zip(source, text, strict=False)) if both[0] != both[1]), len(source))
    shared = source[: min(unlike, len(text))]
    if len(shared) < len(source) and source[len(shared)] != " ":
        shared = shared[: shared.rfind(" ") + 1]
    return len(shared.rstrip())


def _cut(found: Document, text: str, piece: _Piece, *, keep_id: bool) -> Document:
    """A piece of a document, with its spaces and line breaks; one that is all of it stays as it is."""
    if _length(piece) == len(text):
        return found
    places = [nth for nth, letter in enumerate(found.text) if not letter.isspace()]
    first = len(text[: piece.start].replace(" ", ""))
    last = len(text[: piece.end].replace(" ", "")) - 1
    return found._replace(id=found.id if keep_id else "", text=found.text[places[first] : places[last] + 1])
