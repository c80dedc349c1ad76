"""Six sets of real documentation against the structure that an independent parser found in the same files."""

import gzip
import json
import time
from collections import Counter
from functools import cache
from typing import Any

import pytest

from places import SHARED
from ragworthy.corpus.check import check
from ragworthy.corpus.dom import flattened
from ragworthy.corpus.ingest import ingest
from ragworthy.corpus.model import Corpus, Document, SourceDocument
from ragworthy.corpus.outline import clean_title
from ragworthy.corpus.sources import read_documents

DATA = SHARED / "data" / "docs_ingest"
pytestmark = pytest.mark.data("data/docs_ingest")

MARKDOWN = (
    "fastapi_en_live_2025-08",
    "fastapi_en_shadow_2026-08",
    "fastapi_zh_2026-08",
    "prometheus_live_2025-02",
    "prometheus_shadow_2026-08",
)
SETS = (*MARKDOWN, "sqlite_html")


@cache
def corpus(name: str) -> Corpus:
    return ingest(read_documents(DATA / name / "dev.jsonl.gz"))


@cache
def records(name: str) -> dict[str, dict[str, Any]]:
    with gzip.open(DATA / name / "dev.jsonl.gz", "rt", encoding="utf-8") as file:
        return {record["path"]: record for record in map(json.loads, file)}


def pairs(name: str) -> list[tuple[Document, dict[str, Any], dict[str, Any]]]:
    """Each document with its source record and the structure found by the other parser."""
    assert [document.doc_id for document in corpus(name).documents] == list(records(name))
    return [(d, records(name)[d.doc_id], records(name)[d.doc_id]["structure"]) for d in corpus(name).documents]


def count(document: Document, type_: str) -> int:
    return sum(chunk.type == type_ for chunk in document.chunks)


@pytest.mark.parametrize(
    ("name", "documents", "sections", "types"),
    [
        ("fastapi_en_live_2025-08", 57, 496, {"prose": 2485, "code": 165, "table": 1, "figure": 56}),
        ("fastapi_en_shadow_2026-08", 63, 525, {"prose": 2596, "code": 170, "table": 1, "figure": 57}),
        ("fastapi_zh_2026-08", 63, 525, {"prose": 2595, "code": 170, "table": 1, "figure": 57}),
        ("prometheus_live_2025-02", 36, 340, {"prose": 1067, "code": 110, "table": 12, "figure": 16}),
        ("prometheus_shadow_2026-08", 43, 450, {"prose": 1397, "code": 162, "table": 16, "figure": 17}),
        ("sqlite_html", 37, 452, {"prose": 2209, "code": 317, "table": 27, "figure": 58, "caption": 22}),
    ],
)
def test_figures(name: str, documents: int, sections: int, types: dict[str, int]) -> None:
    found = corpus(name)
    assert len(found.documents) == documents
    assert sum(len(document.sections) for document in found.documents) == sections
    assert Counter(chunk.type for document in found.documents for chunk in document.chunks) == types


@pytest.mark.parametrize("name", SETS)
def test_every_check_holds_and_every_chunk_is_its_slice(name: str) -> None:
    assert check(corpus(name)) == []
    for document in corpus(name).documents:
        data = document.text.encode()
        for chunk in document.chunks:
            begin, end = chunk.offsets or (0, 0)
            assert data[begin:end].decode() == chunk.text


@pytest.mark.parametrize("name", SETS)
def test_ingesting_again_gives_the_same(name: str) -> None:
    assert ingest(read_documents(DATA / name / "dev.jsonl.gz")) == corpus(name)


@pytest.mark.parametrize("name", SETS)
def test_headings_are_those_of_the_other_parser(name: str) -> None:
    """All titles in order, no exception; only attributes in braces and link targets are not part of a title."""
    for document, _, structure in pairs(name):
        titles = [section.title for section in document.sections if section.section_id != "0"]
        assert titles == [clean_title(heading[1]) for heading in structure["headings"]], document.doc_id


@pytest.mark.parametrize("name", SETS)
def test_depths_follow_the_levels_of_the_other_parser(name: str) -> None:
    """The depth is the number of headings a heading lies under, worked out here from the other parser's levels."""
    for document, _, structure in pairs(name):
        expected: list[int] = []
        above: list[int] = []
        for level, *_ in structure["headings"]:
            above = [other for other in above if other < level] + [level]
            expected.append(len(above))
        depths = [section.depth for section in document.sections if section.section_id != "0"]
        assert depths == expected, document.doc_id


@pytest.mark.parametrize("name", MARKDOWN)
def test_code_and_tables_are_those_of_the_other_parser(name: str) -> None:
    """One table more: the one that a Prometheus page writes in HTML, which the other parser does not look at."""
    more: list[str] = []
    for document, record, structure in pairs(name):
        assert count(document, "code") == len(structure["code"]), document.doc_id
        html_tables = [c for c in document.chunks if c.type == "table" and (c.attrs or {})["grid_kind"] == "html"]
        more += [document.doc_id] * len(html_tables)
        assert count(document, "table") - len(html_tables) == len(structure["tables"]), document.doc_id
        data = record["text"].encode()
        sources = ["".join(data[begin:end].decode().split()) for begin, end in structure["code"]]
        assert sources == ["".join(c.text.split()) for c in document.chunks if c.type == "code"], document.doc_id
    assert more == (["introduction/release-cycle.md"] if name == "prometheus_live_2025-02" else [])


def test_html_code_and_tables_are_those_of_the_other_parser() -> None:
    """Three `pre` are in cells of data tables, 22 tables of one page only frame code, one has its header below."""
    fewer_code: dict[str, int] = {}
    fewer_tables: dict[str, int] = {}
    fewer_headers: dict[str, int] = {}
    for document, _, structure in pairs("sqlite_html"):
        headers = sum(1 for c in document.chunks if c.type == "table" and (c.attrs or {})["header_rows"])
        for missing, expected, got in (
            (fewer_code, structure["pre"], count(document, "code")),
            (fewer_tables, structure["tables"], count(document, "table")),
            (fewer_headers, structure["data_tables_with_th"], headers),
        ):
            if got != expected:
                missing[document.doc_id] = expected - got
    assert fewer_code == {"fts5.html": 1, "stricttables.html": 2}
    assert fewer_tables == {"queryplanner.html": 22}
    assert fewer_headers == {"lang_altertable.html": 1}


@pytest.mark.parametrize("name", MARKDOWN)
def test_no_word_is_lost(name: str) -> None:
    """Every word of the source is in the canonical text; only front matter, comments and bare tags are dropped."""
    import re

    for document, record, _ in pairs(name):
        source = re.sub(r"\A---\n.*?\n---\n", "", record["text"], count=1, flags=re.DOTALL)
        source = re.sub(r"<!--.*?-->", "", source, flags=re.DOTALL)
        source = re.sub(r"</?div[^>]*>|</details>", "", source)
        kept = re.sub(r"</?div[^>]*>|</details>", "", document.text)
        assert Counter(re.findall(r"\w+", kept)) == Counter(re.findall(r"\w+", source)), document.doc_id


def test_no_real_page_is_flattened() -> None:
    assert all(flattened(record["text"]) == record["text"] for record in records("sqlite_html").values())


@pytest.mark.parametrize("name", ["fastapi_zh_2026-08", "prometheus_live_2025-02"])
def test_canonical_text_is_read_as_it_was_written(name: str) -> None:
    """Canonical Markdown is Markdown: ingested again it gives the same text, except where comments parted two lists."""
    changed = []
    for document in corpus(name).documents:
        if document.chunks:
            again = ingest([SourceDocument(document.doc_id, document.path, "markdown", document.text)]).documents[0]
            assert again.text == document.text
            if [c.name for c in again.chunks] != [c.name for c in document.chunks]:
                changed.append(document.doc_id)
    assert changed == (["specs/remote_write_spec_2_0.md"] if name.startswith("prometheus") else [])


def seconds_of(source: SourceDocument) -> float:
    begin = time.process_time()
    ingest([source])
    return time.process_time() - begin


def test_time_grows_with_the_text() -> None:
    """Four times the text takes about four times as long, for every format."""
    texts = {
        "markdown": "\n\n".join(record["text"] for record in records("prometheus_shadow_2026-08").values()),
        "html": "\n".join(record["text"] for record in records("sqlite_html").values() if record["bytes"] < 60_000),
    }
    texts["text"] = texts["markdown"]
    for kind, text in texts.items():
        seconds = []
        for times in (1, 4):
            source = SourceDocument("big", "big", kind, text * times)
            seconds.append(min(seconds_of(source) for _ in range(3)))
        assert seconds[1] < 8 * seconds[0] + 0.5, (kind, seconds)
