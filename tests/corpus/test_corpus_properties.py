"""What holds for every text: nothing is lost, nothing overlaps, nothing moves between two runs."""

import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ragworthy.corpus import assemble, html, markdown, plain
from ragworthy.corpus.check import check
from ragworthy.corpus.ingest import ingest
from ragworthy.corpus.model import Corpus, Document, SourceDocument
from ragworthy.corpus.normalise import characters, fingerprint
from ragworthy.corpus.sentences import parts
from ragworthy.errors import DataError

READERS = {"markdown": markdown.read, "html": html.read, "text": plain.read}

# pieces that mean something to one of the readers, so that random documents have structure
# fmt: off
SNIPPETS = st.sampled_from([
    "# A\n", "### B { #b }\n", "Title\n===\n", "1.2 Scope\n", "1. Start\n", "Appendix B\n", "A) Letters\n",
    "Contents\n", "- item\n", "  - inner\n", "12. twelfth\n", "> quoted\n", ">\n", "```py\n", "~~~\n",
    "    indented\n", "\tx\n", "---\n", "| a | b |\n", "|---|---|\n", "a,b,c\n", "1\t2\n", "x; y; z\n",
    "Figure 1: a map\n", "Table 2. rows\n", "![alt](x.png)\n", "$$\nx^2\n$$\n", "[a]: http://b\n", "<div>",
    "</div>\n", "<!-- c -->", "<!--", "<pre>", "</pre>", "<table>", "<tr><th>h", "<tr><td>1<td>2", "</table>",
    "<ul><li>a", "</ul>", "<h2>H</h2>", "<p>p", "<br>", "&shy;", "<img alt=i src=j>", "<figure><figcaption>f",
    "<script>s</script>", "<dl><dt>t<dd>d", "&nbsp;", "<nav>n</nav>", "<a href=x>link</a>", "title: x\n",
    "Sentence one. Two! 三。四？", "exam-\nple ", "UTF-\n8", "\n", "\n\n", " ", "\t", "\u00ad", "\u200b", "e\u0301",
    "\u3000", "\u00a0", "\x0c",
])
# fmt: on
ANY = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=60)
TEXTS = st.lists(SNIPPETS | ANY, max_size=25).map("".join)


def made(kind: str, text: str, limit: int = 64) -> Document:
    return assemble.document("d.md", "d.md", READERS[kind](text), limit)


@pytest.mark.parametrize("kind", sorted(READERS))
@settings(max_examples=300, deadline=None)
@given(text=TEXTS, limit=st.integers(64, 300))
@example(text="- a\n\n      code\n- b\n", limit=64)
@example(text="> - ```\n> x\n", limit=64)
@example(text="<table><caption>c</caption><tr><td><table><th>x", limit=64)
@example(text="<h1><div><h1>a</h1></div>b<ul>", limit=64)
def test_any_text_becomes_a_sound_document(kind: str, text: str, limit: int) -> None:
    document = made(kind, text, limit)
    assert check(Corpus((document,), ())) == []
    data = document.text.encode()
    covered = bytearray(len(data))
    for chunk in document.chunks:
        begin, end = chunk.offsets or (0, 0)
        assert data[begin:end].decode() == chunk.text
        assert not any(covered[begin:end])
        covered[begin:end] = b"\1" * (end - begin)
        assert chunk.type == "code" or chunk.text == chunk.text.strip()
        assert chunk.type != "prose" or end - begin <= limit
    for piece, begin in headings(kind, text):
        end = begin + len(piece.encode())
        assert not any(covered[begin:end])
        covered[begin:end] = b"\1" * (end - begin)
    left = bytes(byte for byte, seen in zip(data, covered, strict=True) if not seen)
    assert left.decode().strip() == ""


def headings(kind: str, text: str) -> list[tuple[str, int]]:
    """The canonical text of each heading and where it begins."""
    found, at = [], 0
    for piece in READERS[kind](text).pieces:
        if piece.type == "heading":
            found.append((piece.text, at))
        at += len(piece.text.encode()) + 2
    return found


@pytest.mark.parametrize("kind", sorted(READERS))
@settings(max_examples=150, deadline=None)
@given(text=TEXTS)
def test_canonical_text_is_normal(kind: str, text: str) -> None:
    document = made(kind, text)
    canonical = document.text
    assert made(kind, text) == document
    assert unicodedata.is_normalized("NFC", canonical)
    assert not any(mark in canonical for mark in "\r\u00ad\u200b\u200c\u200d\ufeff")
    assert canonical == "" or (canonical.endswith("\n") and not canonical.endswith("\n\n"))
    code = [chunk.offsets or (0, 0) for chunk in document.chunks if chunk.type == "code"]
    data = canonical.encode()
    at = data.find(b"\n\n\n")
    while at >= 0:
        assert any(begin <= at < end for begin, end in code)
        at = data.find(b"\n\n\n", at + 1)
    for chunk in document.chunks:
        if chunk.type == "prose":
            assert not any("  " in line.lstrip() for line in chunk.text.split("\n"))


@settings(max_examples=200, deadline=None)
@given(text=st.lists(ANY, max_size=6).map("\n\n".join))
def test_markdown_and_plain_text_lose_no_letter(text: str) -> None:
    """Letters and digits of plain paragraphs are all in the canonical text, in order."""
    source = characters(text)
    for kind in ("markdown", "text"):
        if any(mark in source for mark in "<-*_=[$") or source.lstrip().startswith("---"):
            continue
        assert fingerprint(made(kind, text).text) == fingerprint(source)


@settings(max_examples=300, deadline=None)
@given(text=st.lists(SNIPPETS | ANY, max_size=12).map("".join), limit=st.integers(8, 200))
def test_parts_cover_everything_but_blanks(text: str, limit: int) -> None:
    at = 0
    for begin, end in parts(text, limit):
        assert text[at:begin].strip() == ""
        assert 0 < len(text[begin:end].encode()) <= limit
        assert text[begin:end] == text[begin:end].strip()
        at = end
    assert text[at:].strip() == ""


@settings(max_examples=60, deadline=None)
@given(before=TEXTS, after=TEXTS)
def test_an_edit_in_one_section_leaves_other_ids_alone(before: str, after: str) -> None:
    """Chunks of the second chapter keep ids and text whatever is in the first."""

    def second(text: str) -> list[tuple[str, str]]:
        plain_text = (
            text.replace("#", "").replace("=", "").replace("`", "").replace("~", "").replace("<", "").replace("-", "")
        )
        document = made("markdown", f"# One\n\n{plain_text}\n\n# Two\n\nBody text.\n\n## Sub\n\n- a\n- b\n")
        return [(chunk.name, chunk.text) for chunk in document.chunks if (chunk.section_id or "").startswith("2")]

    assert second(before) == second(after)
    assert [name for name, _ in second(before)] == ["d.md|s=2|p=000|b=001", "d.md|s=2.1|p=000|b=001"]


@settings(max_examples=60, deadline=None)
@given(
    texts=st.lists(TEXTS, min_size=1, max_size=4),
    kinds=st.lists(st.sampled_from(sorted(READERS)), min_size=4, max_size=4),
)
def test_ingesting_twice_gives_the_same(texts: list[str], kinds: list[str]) -> None:
    pairs = enumerate(zip(kinds, texts, strict=False))
    sources = [SourceDocument(f"{n}.x", f"{n}.x", kind, text) for n, (kind, text) in pairs]
    try:
        first = ingest(sources, limit=80)
    except DataError as error:
        assert [problem.code for problem in error.problems] == ["RW-D03"]
        return
    assert ingest(sources, limit=80) == first
    assert check(first) == []
