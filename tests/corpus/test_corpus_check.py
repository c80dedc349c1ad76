"""Every check of a corpus passes on a sound one and fails on the damage it is there for."""

from collections.abc import Callable

import msgspec
import pytest

from ragworthy.corpus.check import check
from ragworthy.corpus.ingest import ingest
from ragworthy.corpus.model import Corpus, Document, SourceDocument

TEXT = (
    "Preface of the text.\n\n# One\n\nFirst paragraph here.\n\n![map](m.png)\n\nFigure 1: The map.\n\n"
    "## Deep\n\nSecond paragraph here.\n\n# Two\n\nThird paragraph here.\n\nFourth paragraph here.\n"
)


def sound() -> Document:
    return ingest([SourceDocument("a.md", "a.md", "markdown", TEXT)]).documents[0]


def with_chunk(index: int, **changes: object) -> Document:
    document = sound()
    chunks = list(document.chunks)
    chunks[index] = msgspec.structs.replace(chunks[index], **changes)
    return document._replace(chunks=tuple(chunks))


def with_section(index: int, **changes: object) -> Document:
    document = sound()
    sections = list(document.sections)
    sections[index] = sections[index]._replace(**changes)  # type: ignore[arg-type]
    return document._replace(sections=tuple(sections))


def swapped() -> Document:
    document = sound()
    *rest, one, two = document.chunks
    one, two = (
        msgspec.structs.replace(one, chunk_id=two.chunk_id),
        msgspec.structs.replace(two, chunk_id=one.chunk_id),
    )
    return document._replace(chunks=(*rest, one, two))


def found(*documents: Document) -> list[tuple[str, str]]:
    return [(finding.check, finding.where) for finding in check(Corpus(documents, ()))]


def test_a_sound_corpus_has_no_findings() -> None:
    assert found(sound()) == []
    assert [chunk.type for chunk in sound().chunks] == [
        "prose",
        "prose",
        "figure",
        "caption",
        "prose",
        "prose",
        "prose",
    ]


PREFACE, ONE, TWO = "a.md|s=0|p=000|b=001", "a.md|s=1|p=000|b=001", "a.md|s=2|p=000|b=001"
LATER = "a.md|s=2|p=000|b=002"
REVISED = "a.md|r=01234567|s=0|p=000|b=001"
DAMAGE: list[tuple[Callable[[], Document], list[tuple[str, str]]]] = [
    (lambda: with_chunk(1, chunk_id=PREFACE), [("unique_ids", PREFACE)]),
    (lambda: with_chunk(1, chunk_id=REVISED), [("unique_ids", REVISED)]),
    (swapped, [("id_order", TWO)]),
    (lambda: with_chunk(0, text="Preface of the test."), [("offsets", PREFACE)]),
    (lambda: with_chunk(0, hash="0" * 16), [("hash", PREFACE)]),
    (lambda: with_chunk(6, offsets=(170, 9999)), [("offsets", LATER), ("orphan", LATER)]),
    (lambda: with_chunk(1, section_id="7"), [("orphan", ONE)]),
    (lambda: with_chunk(1, section_id="2"), [("orphan", ONE)]),
    (lambda: with_section(1, own_span=(5, 85)), [("section_overlap", "1")]),
    (lambda: with_section(2, depth=4), [("outline", "1.1")]),
    (lambda: with_section(2, depth=7), [("outline", "1.1"), ("outline", "1.1")]),
    (lambda: with_section(1, children=()), [("outline", "1.1")]),
    (
        lambda: with_section(3, section_id="1", own_span=None, anchor=None),
        [("orphan", f"a.md|s={place}") for place in ("1|p=000|b=001", "1|p=000|b=002", "1|p=000|b=003")]
        + [("orphan", TWO), ("orphan", LATER), ("outline", "1")],
    ),
    (lambda: with_section(1, anchor_offsets=(0, 20)), [("anchor", "1")]),
    (lambda: with_section(1, anchor="Something else."), [("anchor", "1")]),
    (lambda: with_chunk(3, attrs={"target": TWO}), [("caption", "a.md|s=1|p=000|b=003")]),
]


@pytest.mark.parametrize(("damaged", "expected"), DAMAGE)
def test_damage_is_found(damaged: Callable[[], Document], expected: list[tuple[str, str]]) -> None:
    assert found(damaged()) == expected


def test_overlapping_chunks_are_found() -> None:
    document = sound()
    first = document.chunks[0]
    longer = msgspec.structs.replace(first, offsets=(0, 30))
    assert ("overlap", "a.md|s=1|p=000|b=001") in found(document._replace(chunks=(longer, *document.chunks[1:])))


def test_ids_are_unique_over_the_whole_corpus() -> None:
    document = sound()
    again = document._replace(doc_id="b.md")
    assert [name for name, _ in found(document, again)] == ["unique_ids"] * 7


def test_a_given_caption_needs_something_to_belong_to() -> None:
    alone = with_chunk(0, type="caption", attrs=None)
    assert found(alone) == [("caption", "a.md|s=0|p=000|b=001")]
    beside = with_chunk(1, type="caption", attrs=None)
    assert found(beside) == []


def test_opaque_ids_have_no_order() -> None:
    document = sound()
    chunks = [
        msgspec.structs.replace(c, chunk_id=f"c_{9 - n}") for n, c in enumerate(document.chunks) if c.type == "prose"
    ]
    assert found(document._replace(chunks=tuple(chunks))) == []
