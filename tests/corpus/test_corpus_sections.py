"""The section tree, spans, anchors, and the chunk records that follow from them."""

import hashlib

import pytest

from ragworthy.corpus import assemble, markdown, outline
from ragworthy.corpus.ingest import DEFAULT_LIMIT, ingest
from ragworthy.corpus.model import Document, SourceDocument
from ragworthy.corpus.normalise import fingerprint


def made(text: str, limit: int = DEFAULT_LIMIT) -> Document:
    return assemble.document("d.md", "d.md", markdown.read(text), limit)


@pytest.mark.parametrize(
    ("headings", "paths"),
    [
        (["# A", "## B", "## C", "# D"], ["1", "1.1", "1.2", "2"]),
        (["## A", "## B", "# C"], ["1", "2", "3"]),  # the first heading is at the top whatever its markup
        (["# A", "#### B", "#### C", "## D"], ["1", "1.1", "1.2", "1.3"]),  # one step down at a time
        (["# A", "## A", "## A"], ["1", "1.1", "1.2"]),  # the path tells equal titles apart
        (["# 1 A", "# 1.1 B", "# 1.2 C", "# 2 D"], ["1", "1.1", "1.2", "2"]),  # numbers win over markup
        (["# A", "# 2.3 B", "# 2.4 C"], ["1", "1.1", "1.2"]),
        (["# 1 A", "### 1.1 B", "## 1.1.1 C"], ["1", "1.1", "1.1.1"]),
        (["# Log", "## 2.53.1", "## 2.53.0", "## 2.52.0"], ["1", "1.1", "1.2", "1.3"]),  # releases are not an outline
        (["# A", "## B", "### 1. first", "### 2. second"], ["1", "1.1", "1.1.1", "1.1.2"]),  # steps are not an outline
        (["# A"] + ["#" * n + " x" for n in range(2, 7)], ["1", "1.1", "1.1.1", "1.1.1.1", "1.1.1.1.1", "1.1.1.1.1.1"]),
    ],
)
def test_paths(headings: list[str], paths: list[str]) -> None:
    document = made("\n\n".join(f"{heading}\n\nbody" for heading in headings))
    assert [section.section_id for section in document.sections] == paths
    assert [chunk.section_id for chunk in document.chunks] == paths


def test_numbers_deeper_than_six_stay_at_six() -> None:
    numbers = ["1"] + ["1" + ".1" * n for n in range(1, 9)]
    depths = [place.depth for place in outline.places(outline.levels([(1, f"{n} T") for n in numbers]))]
    assert depths == [1, 2, 3, 4, 5, 6, 6, 6, 6]


def test_spans() -> None:
    text = "Intro.\n\n# A\n\nOne.\n\nTwo.\n\n## B\n\n### C\n\nThree.\n\n# D\n"
    document = made(text)
    assert document.text == text
    spans = {section.section_id: (section.own_span, section.subtree_span) for section in document.sections}
    assert spans == {
        "0": ((0, 6), (0, 6)),
        "1": ((13, 23), (8, 44)),
        "1.1": (None, (25, 44)),
        "1.1.1": ((38, 44), (31, 44)),
        "2": (None, (46, 49)),
    }
    assert text[13:23] == "One.\n\nTwo."
    assert text[8:44].startswith("# A") and text[8:44].endswith("Three.")
    assert text[38:44] == "Three."
    indexes = {s.section_id: (s.first_block_index, s.last_block_index, s.children) for s in document.sections}
    assert indexes == {
        "0": (0, 0, ()),
        "1": (1, 2, ("1.1",)),
        "1.1": (None, None, ("1.1.1",)),
        "1.1.1": (3, 3, ()),
        "2": (None, None, ()),
    }


def test_anchors_skip_tables_code_and_short_lines() -> None:
    document = made(
        "# A\n\n```\ncode here\n```\n\n| a | b |\n|---|---|\n\nOK.\n\n- 1. Buckets — größer — are private. Really.\n\n"
        "# B\n\n```sh\nmake all\n```\n\n# C\n\nshort\n\n# D\n\n| only | table |\n|---|---|\n"
    )
    anchors = {section.section_id: section.anchor for section in document.sections}
    assert anchors == {
        "1": "Buckets — größer — are private.",
        "2": "make all",
        "3": None,
        "4": "| only | table |",
    }
    data = document.text.encode()
    for section in document.sections:
        if section.anchor and section.anchor_offsets:
            assert data[slice(*section.anchor_offsets)].decode() == section.anchor


def test_every_field_of_a_chunk() -> None:
    text = "# Guide\n\n## Sub\n\nBuckets are private. They stay so.\n"
    (chunk,) = made(text).chunks
    body = "Buckets are private. They stay so."
    assert chunk.chunk_id == "d.md|s=1.1|p=000|b=001"
    assert (chunk.doc_id, chunk.section_id, chunk.type) == ("d.md", "1.1", "prose")
    assert chunk.offsets == (17, 17 + len(body))
    assert (chunk.text, chunk.title, chunk.anchor) == (body, "Guide > Sub", "Buckets are private.")
    assert chunk.tokens == 6
    assert chunk.hash == hashlib.sha256(body.encode()).hexdigest()[:16]
    assert chunk.fp == hashlib.sha256(b"bucketsareprivatetheystayso").hexdigest()[:16]
    assert chunk.rev == hashlib.sha1(text.encode()).hexdigest()[:8]


def test_the_fingerprint_survives_small_edits_and_marks_stay_apart() -> None:
    one, two, three, four = made("Buckets, are PRIVATE!\n\nbuckets are private\n\n///\n\n***x\n\n+++\n").chunks[:4]
    assert one.fp == two.fp
    assert one.hash != two.hash
    assert fingerprint(three.text) == ""
    assert len({one.fp, three.fp, four.fp}) == 3


def test_long_prose_is_split_and_code_is_not() -> None:
    sentence = "Größe zählt in Bytes und nicht in Zeichen. "
    long = sentence * 60
    code = "```\n" + "x = 1\n" * 500 + "```"
    table = "| a | b |\n|---|---|\n" + "| cell | other |\n" * 300
    document = made(f"# T\n\nFirst.\n\n{long}\n\n{code}\n\n{table}")
    names = [chunk.name.rpartition("b=")[2] for chunk in document.chunks]
    assert names == ["001", "002a", "002b", "003", "004"]
    parts = document.chunks[1:3]
    assert all(len(part.text.encode()) <= DEFAULT_LIMIT and part.text.endswith("Zeichen.") for part in parts)
    assert " ".join(part.text for part in parts) == long.strip()
    assert document.chunks[3].text == code


def test_more_than_26_parts_get_two_letters() -> None:
    document = made("word. " * 600, limit=64)
    letters = [chunk.name.rpartition("b=001")[2] for chunk in document.chunks]
    assert letters[:3] == ["a", "b", "c"]
    assert letters[25:28] == ["z", "aa", "ab"]
    assert len(letters) == len(set(letters)) > 50


def test_the_limit_counts_bytes_and_is_checked() -> None:
    from ragworthy.errors import UsageError

    source = SourceDocument("a.md", "a.md", "markdown", "電" * 100)
    sizes = [len(chunk.text.encode()) for chunk in ingest([source], limit=100).documents[0].chunks]
    assert sizes == [99, 99, 99, 3]
    with pytest.raises(UsageError, match="expected a limit of at least 64 bytes, got 10"):
        ingest([source], limit=10)
    assert DEFAULT_LIMIT == 2000


def test_the_revision_follows_the_text_and_ids_do_not() -> None:
    one, two = made("# A\n\nOld text.\n"), made("# A\n\nNew text.\n")
    assert one.rev != two.rev
    assert [chunk.name for chunk in one.chunks] == [chunk.name for chunk in two.chunks]
    assert made("# A\r\n\r\nOld\ttext.  \r\n\r\n\r\n").rev == one.rev
