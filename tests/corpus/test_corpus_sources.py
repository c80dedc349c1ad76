"""Where documents come from, and every error on the way with its exact words."""

import gzip
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from places import DATA
from ragworthy.corpus.check import check
from ragworthy.corpus.ingest import ingest
from ragworthy.corpus.model import Corpus, SourceDocument
from ragworthy.corpus.sources import read_documents
from ragworthy.errors import DataError


def lines(path: Path, *records: Any) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def ingested(path: Path) -> Corpus:
    return ingest(read_documents(path))


def problems(path: Path) -> list[str]:
    with pytest.raises(DataError) as caught:
        ingested(path)
    return [str(problem).replace(str(path.parent) + "/", "") for problem in caught.value.problems]


def test_a_folder_is_read_in_natural_order(tmp_path: Path) -> None:
    for name in ("b10.md", "b2.MD", "a/x.html", "a/y.markdown", "z.txt", "c.htm"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("Some text.", encoding="utf-8")
    (tmp_path / ".hidden.md").write_text("no")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/x.md").write_text("no")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\0")
    (tmp_path / "Makefile").write_text("all:")
    found = read_documents(tmp_path)
    assert [(document.doc_id, document.kind) for document in found if document.kind != "skipped"] == [
        ("a/x.html", "html"),
        ("a/y.markdown", "markdown"),
        ("b2.MD", "markdown"),
        ("b10.md", "markdown"),
        ("c.htm", "html"),
        ("z.txt", "text"),
    ]
    notes = [(note.where.removeprefix(f"{tmp_path}/"), note.message) for note in ingest(found).notes]
    assert notes == [("Makefile", "skipped: no suffix is not read"), ("picture.png", "skipped: .png is not read")]


def test_links_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("secret")
    (tmp_path / "far").mkdir()
    (tmp_path / "far/x.md").write_text("far")
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("text")
    (docs / "b.md").symlink_to(docs / "a.md")
    (docs / "c.md").symlink_to(tmp_path / "secret.md")
    (docs / "d.md").symlink_to(docs / "nothing.md")
    (docs / "e").symlink_to(tmp_path / "far")
    found = read_documents(docs)
    assert [(document.doc_id, document.kind, document.text) for document in found] == [
        ("a.md", "markdown", "text"),
        ("b.md", "markdown", "text"),
        ("c.md", "skipped", "a link that leads out of the folder"),
        ("d.md", "skipped", "not a file"),
    ]


def test_one_file(tmp_path: Path) -> None:
    path = tmp_path / "read.me.md"
    path.write_bytes(b"\xef\xbb\xbf# T\r\n\r\nText.\r\n")
    assert ingested(path).documents[0].text == "# T\n\nText.\n"


@pytest.mark.parametrize("pack", ["", ".gz", ".zst"])
def test_document_records(tmp_path: Path, pack: str) -> None:
    rows = [{"path": "g/a.md", "text": "# A\n\nx y", "extra": 1}, {"path": "b.html", "text": "<h1>B</h1>z"}]
    rows.append({"path": "c.rst", "text": "1.1 Scope\n\nplain"})
    data = ("\ufeff" + "\n\n".join(json.dumps(row) for row in rows)).encode()
    packed = {"": data, ".gz": gzip.compress(data), ".zst": zstandard.compress(data)}[pack]
    path = tmp_path / f"docs.jsonl{pack}"
    path.write_bytes(packed)
    found = read_documents(path)
    assert [(document.doc_id, document.kind, document.where) for document in found] == [
        ("g/a.md", "markdown", f"{path}:1"),
        ("b.html", "html", f"{path}:3"),
        ("c.rst", "text", f"{path}:5"),
    ]
    assert [document.text for document in ingest(found).documents] == [
        "# A\n\nx y\n",
        "# B\n\nz\n",
        "1.1 Scope\n\nplain\n",
    ]
    if pack:
        path.write_bytes(packed[:-7])
        with pytest.raises(DataError, match=rf"expected a whole {pack[1:]} file, got: .* \[RW-F12\]"):
            read_documents(path)


def test_blocks_with_offsets_are_placed_as_they_say(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "b.jsonl",
        {"id": "n#1", "section_id": "n/p001", "title": "N", "text": "zwei", "offsets": [8, 12], "type": "paragraph"},
        {"id": "n#0", "section_id": "n/p000", "title": "N", "text": "größe", "offsets": {"start": 0, "end": 7}},
        {
            "chunk_id": "m|r=0123abcd|s=4.2|p=000|b=001",
            "text": "電梯 x",
            "offsets": {"start": 1, "end": 5, "unit": "char"},
        },
    )
    corpus = ingested(path)
    one, two = corpus.documents
    assert (one.doc_id, one.text, one.title) == ("n", "größe\nzwei", "N")
    assert [(c.chunk_id, c.offsets, c.type, c.section_id) for c in one.chunks] == [
        ("n#0", (0, 7), "prose", "n/p000"),
        ("n#1", (8, 12), "prose", "n/p001"),
    ]
    assert [(s.section_id, s.depth, s.own_span) for s in one.sections] == [
        ("n/p000", 1, (0, 7)),
        ("n/p001", 1, (8, 12)),
    ]
    assert (two.doc_id, two.text) == ("m", "\n電梯 x")
    assert two.chunks[0].offsets == (1, 9)
    assert [(s.section_id, s.depth, s.own_span, s.children) for s in two.sections] == [
        ("4", 1, None, ("4.2",)),
        ("4.2", 2, (1, 9), ()),
    ]
    assert check(corpus) == []


def test_blocks_without_offsets_are_joined(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "guide.jsonl",
        {"block_id": "S.1.p.Bk001", "text": "First  one.\n", "section": "Start"},
        {"block_id": "S.1.t.Bk002", "text": "| a |\n|---|", "type": "table", "attrs": {"rows": 0}},
        {"block_id": "S.1.2.p.Bk001", "text": " "},
        {"id": "doc-7", "title": "Seven", "text": "Alone."},
        {"chunk_id": "x#1", "doc_id": "other", "text": "Given."},
    )
    corpus = ingested(path)
    assert [(d.doc_id, d.text) for d in corpus.documents] == [
        ("guide", "First  one.\n\n\n| a |\n|---|\n\n \n"),
        ("doc-7", "Alone.\n"),
        ("other", "Given.\n"),
    ]
    first, table = corpus.documents[0].chunks
    assert (first.text, first.offsets, first.section_id, first.title) == ("First  one.\n", (0, 12), "S.1", "Start")
    assert (table.type, table.anchor, table.attrs) == ("table", "| a |", {"rows": 0})
    assert corpus.documents[1].chunks[0].section_id == "0"
    assert [note.message for note in corpus.notes] == ['block "S.1.2.p.Bk001" has no text and gives no chunk']
    assert check(corpus) == []


@given(
    text=st.text(st.sampled_from("abc é電😀\n"), min_size=1, max_size=80),
    cuts=st.lists(st.tuples(st.integers(0, 79), st.integers(1, 30)), min_size=1, max_size=8),
    unit=st.sampled_from(["byte", "char", "unsaid"]),
)
def test_chunks_that_overlap_keep_their_bytes(text: str, cuts: list[tuple[int, int]], unit: str) -> None:
    """Any windows over a text: each chunk is the slice of the canonical text, and what they cover is the text."""
    windows = [(min(at, len(text) - 1), min(at + size, len(text))) for at, size in cuts]
    windows = [(begin, max(begin + 1, end)) for begin, end in windows]
    records = []
    for nth, (begin, end) in enumerate(windows):
        offsets: Any = [len(text[:begin].encode()), len(text[:end].encode())]
        if unit == "char":
            offsets = {"start": begin, "end": end, "unit": "char"}
        if unit == "unsaid":
            offsets = [begin, end]
        records.append({"chunk_id": f"d#{nth}", "doc_id": "d", "text": text[begin:end], "offsets": offsets})
    with tempfile.TemporaryDirectory() as folder:
        path = lines(Path(folder) / "a.jsonl", *records)
        if not any(one["text"].strip() for one in records):
            return  # nothing but spaces: no chunk
        corpus = ingested(path)
    (document,) = corpus.documents
    data = document.text.encode()
    assert {chunk.chunk_id for chunk in document.chunks} == {one["chunk_id"] for one in records if one["text"].strip()}
    for chunk in document.chunks:
        assert chunk.offsets is not None and data[slice(*chunk.offsets)].decode() == chunk.text
    covered = {at for begin, end in windows for at in range(begin, end)}
    gaps = ["\n" * (len(char.encode()) if unit == "byte" else 1) for char in text]
    assert document.text == "".join(text[at] if at in covered else gaps[at] for at in range(max(covered) + 1))
    assert not [one for one in check(corpus) if one.check in ("overlap", "section_overlap", "offsets")]


def test_offsets_that_count_characters_are_recognised_and_said(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "a.jsonl",
        {"id": "d#1", "doc_id": "d", "text": "größe", "offsets": [0, 5]},
        {"id": "d#2", "doc_id": "d", "text": "ße ist", "offsets": [3, 9]},
    )
    corpus = ingested(path)
    assert corpus.documents[0].text == "größe ist"
    assert [chunk.offsets for chunk in corpus.documents[0].chunks] == [(0, 7), (4, 11)]
    assert [note.message for note in corpus.notes] == ["the offsets of this document count characters, not bytes"]
    rows = [{"id": f"{n}#1", "doc_id": f"d{n}", "text": "größe", "offsets": [0, 5]} for n in range(30)]
    notes = ingested(lines(tmp_path / "b.jsonl", *rows)).notes
    assert [note.message for note in notes] == ["the offsets of 30 documents count characters, not bytes"]


BROKEN: list[tuple[str, bytes, str]] = [
    ("a.md", b"ok\n\xff\xfe", "a.md: expected UTF-8, got byte 0xff at offset 3 [RW-D01]"),
    ("a.md", "é\0".encode(), "a.md: expected text, got a NUL byte at offset 2 [RW-D01]"),
    (
        "a.jsonl",
        b'{"path": "a.md", "text": "x\\u0000"}',
        "a.jsonl:1: text: expected text, got a NUL character [RW-D01]",
    ),
    ("a.jsonl", b'{"id": "a", "text": "x\\u0000"}', "a.jsonl:1: text: expected text, got a NUL character [RW-D01]"),
    (
        "a.jsonl",
        b'{"path": "a.md", "text": "x"}\n{"path": "a.md", "text": "y"}',
        'a.jsonl:2: expected a new document id, got "a.md" again (first at a.jsonl:1) [RW-D02]',
    ),
    ("a.txt", b"  \n\n", "expected a document with text, got none [RW-D03]"),
    ("a.html", b"<script>x</script>", "expected a document with text, got none [RW-D03]"),
    ("a.pdf", b"%PDF", "a.pdf: expected documents, got none [RW-D03]"),
    ("a.md", b"x" * ((32 << 20) + 1), "a.md: expected at most 33,554,432 bytes, got 33,554,433 [RW-D04]"),
    (
        "a.jsonl",
        b'{"id": "a", "text": "x", "offsets": [99999999, 100000000]}',
        "a.jsonl:1: expected at most 33,554,432 bytes, got 100,000,000 [RW-D04]",
    ),
    ("a.jsonl", b'{"path": "a.md"}', "a.jsonl:1: text: expected a string, got nothing [RW-D05]"),
    ("a.jsonl", b'{"text": "x"}', "a.jsonl:1: path: expected a string, got nothing [RW-D05]"),
    ("a.jsonl", b'{"path": 4, "text": "x"}', "a.jsonl:1: path: expected a string, got 4 [RW-D05]"),
    ("a.jsonl", b'{"id": " ", "text": "x"}', 'a.jsonl:1: id: expected a non-empty string, got "" [RW-D05]'),
    ("a.jsonl", b'{"id": "a", "text": null}', "a.jsonl:1: text: expected a string, got null [RW-D05]"),
    (
        "a.jsonl",
        b'{"id": "a", "text": "x", "type": "poem"}',
        'a.jsonl:1: type: expected one of prose, code, table, figure, caption, formula, got "poem" [RW-D05]',
    ),
    ("a.jsonl", b'{"id": "a", "text": "x", "attrs": []}', "a.jsonl:1: attrs: expected an object, got a list [RW-D05]"),
    ("a.jsonl", b'{"id": "a", "text": "x", "title": true}', "a.jsonl:1: title: expected a string, got true [RW-D05]"),
    (
        "a.jsonl",
        b'{"id": "a", "text": "x", "offsets": [3, 3]}',
        "a.jsonl:1: offsets: expected [begin, end] with 0 <= begin < end, got [3, 3] [RW-D05]",
    ),
    (
        "a.jsonl",
        b'{"id": "a", "text": "x", "offsets": {"start": 0, "end": 1, "unit": "token"}}',
        'a.jsonl:1: offsets.unit: expected "byte" or "char", got "token" [RW-D05]',
    ),
    (
        "a.jsonl",
        b'{"id": "a#1", "text": "x", "offsets": [0, 1]}\n{"id": "a#2", "text": "y"}',
        "a.jsonl:2: offsets: expected offsets on every block of the document or on none, got a block without [RW-D05]",
    ),
    (
        "a.jsonl",
        b'{"path": "a|b.md", "text": "x"}',
        "a.jsonl:1: expected an id without '|' and control characters, got 'a|b.md' [RW-D06]",
    ),
    (
        "a.jsonl",
        b'{"path": "a\\u001b.md", "text": "x"}',
        "a.jsonl:1: expected an id without '|' and control characters, got 'a\\x1b.md' [RW-D06]",
    ),
    (
        "a.jsonl",
        b'{"path": "", "text": "x"}',
        "a.jsonl:1: expected an id without '|' and control characters, got '' [RW-D06]",
    ),
    (
        "a.jsonl",
        b'{"id": "a#1", "text": "x"}\n{"id": "a#1", "text": "y"}',
        'a: expected a new chunk id, got "a#1" again (first in a) [RW-I06]',
    ),
    (
        "a.jsonl",
        b'{"id": "d|s=1|p=000|b=001", "text": "x"}\n{"id": "d|r=0123abcd|s=1|p=000|b=001", "text": "y"}',
        'd: expected a new chunk id, got "d|r=0123abcd|s=1|p=000|b=001" again (first in d) [RW-I06]',
    ),
    (
        "a.jsonl",
        '{"id": "a#1", "text": "größe", "offsets": [0, 6]}'.encode(),
        "a.jsonl:1: offsets: expected 6 bytes of text for [0, 6), got 7 [RW-I07]",
    ),
    (
        "a.jsonl",
        b'{"id": "a#1", "text": "xyz", "offsets": [0, 3]}\n\n{"id": "a#2", "text": "yy", "offsets": [1, 3]}',
        "a.jsonl:3: offsets: expected the text that the chunks before have for [1, 3), got another [RW-I07]",
    ),
    ("a.jsonl", b'{"id": "a"', 'a.jsonl:1: expected a JSON object, got {"id": "a" (Input data was truncated) [RW-F07]'),
    ("a.jsonl", b"[1]", "a.jsonl:1: expected a JSON object, got a list [RW-F08]"),
    ("a.jsonl", b'{"id": "\xff"}', "a.jsonl:1: expected UTF-8, got byte 0xff at column 9 [RW-F06]"),
    ("a.jsonl", b"[" * 100_000, "a.jsonl:1: expected a flat record, got JSON nested too deeply [RW-F11]"),
    ("a.jsonl", b"", "a.jsonl: expected documents, got none [RW-D03]"),
]


@pytest.mark.parametrize(
    ("name", "data", "message"), BROKEN, ids=[f"{n}-{m[-7:-1]}" for n, (_, _, m) in enumerate(BROKEN)]
)
def test_every_error_says_where_and_what(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    assert problems(path) == [message]


def test_missing_paths(tmp_path: Path) -> None:
    for name in ("none.jsonl", "none.md", "none"):
        assert problems(tmp_path / name) == [f"{name}: expected a file, got nothing at this path [RW-F01]"]


def test_a_very_long_line_is_refused_without_reading_on(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"path": "a.md", "text": "' + b"x" * (40 << 20)))
    assert problems(path) == ["a.jsonl.gz:1: expected lines of at most 32 MiB, got a longer one [RW-F05]"]


def test_all_problems_are_collected(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", *({"path": n, "text": "x"} for n in range(50)))
    with pytest.raises(DataError) as caught:
        read_documents(path)
    assert (len(caught.value.problems), caught.value.total) == (20, 50)


def test_an_empty_document_among_others_is_a_note() -> None:
    sources = [SourceDocument("a.md", "a.md", "markdown", " \n"), SourceDocument("b.md", "b.md", "markdown", "text")]
    corpus = ingest(sources)
    assert [(note.where, note.message) for note in corpus.notes] == [("a.md", "the document has no text")]
    assert (corpus.documents[0].text, corpus.documents[0].chunks) == ("", ())


def test_the_same_under_any_hash_seed_and_locale(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\n- x\n- y\n\n| a | b |\n|---|---|\n\nTable 1: t\n", encoding="utf-8")
    page = "<h1>B</h1><div class=menu><a>m</a></div><table><tr><th>é<th>b</table>"
    (tmp_path / "b.html").write_text(page, encoding="utf-8")
    (tmp_path / "c.txt").write_text("1.1 Scope\n\na,b\nc,d\ne,f\n", encoding="utf-8")
    lines(tmp_path / "d.jsonl", {"id": "n#1", "text": "größe"}, {"id": "m#1", "text": "x", "section_id": "4.2"})
    code = (
        "import sys\nfrom pathlib import Path\nfrom ragworthy.corpus.ingest import ingest\n"
        "from ragworthy.corpus.sources import read_documents\nprint(ascii(ingest(read_documents(Path(sys.argv[1])))))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code, str(tmp_path)],
            env={"PYTHONHASHSEED": seed, "LC_ALL": locale, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed, locale in (("0", "C"), ("1", "C.UTF-8"), ("12345", "tr_TR.UTF-8"))
    }
    assert len(outputs) == 1
    assert b"gr\\xf6\\xdfe" in outputs.pop()


@pytest.mark.data("data")
def test_squad_articles_have_the_published_hashes() -> None:
    """The canonical text of each article is the text whose hash its publisher gives; all offsets are theirs."""
    folder = DATA / "squad2" / "dev"
    rows = [json.loads(line) for line in (folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines()]
    articles = {
        row["article"]: row
        for row in map(json.loads, (folder / "articles.jsonl").read_text(encoding="utf-8").splitlines())
    }
    corpus = ingested(folder / "corpus.jsonl")
    assert len(corpus.documents) == len(articles) == 18
    for document in corpus.documents:
        data = document.text.encode()
        assert hashlib.sha256(data).hexdigest() == articles[document.doc_id]["sha256"]
        assert len(data) == articles[document.doc_id]["bytes"]
    chunks = {chunk.name: chunk for document in corpus.documents for chunk in document.chunks}
    assert len(chunks) == len(rows) == 684
    for row in rows:
        chunk = chunks[row["id"]]
        assert (list(chunk.offsets or ()), chunk.text, chunk.section_id) == (
            row["offsets"],
            row["text"],
            row["section_id"],
        )
    assert check(corpus) == []


@pytest.mark.data("data")
def test_cranfield_has_two_empty_documents() -> None:
    corpus = ingested(DATA / "ir_corpora" / "cranfield" / "corpus.jsonl.gz")
    assert len(corpus.documents) == 1400
    assert sum(len(document.chunks) for document in corpus.documents) == 1398
    assert [note.message for note in corpus.notes] == [
        'block "cran-471" has no text and gives no chunk',
        'block "cran-995" has no text and gives no chunk',
    ]
    assert corpus.documents[0].chunks[0].name == "cran-1"
