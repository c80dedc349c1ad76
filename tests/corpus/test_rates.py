"""Rates of the chunking checklists, by hand and against another implementation."""

from fractions import Fraction
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from conftest import run_cli, write_jsonl
from ragworthy.corpus.proofread import HEADINGS, Proof, hyphens, proofread
from ragworthy.corpus.rates import Rate, bleed, character_errors, overlap, repeated_lines, word_errors
from ragworthy.records import Chunk


def chunk(name: str, section: str, begin: int, text: str, **more: object) -> Chunk:
    end = begin + len(text.encode())
    return Chunk(chunk_id=name, doc_id="d", section_id=section, offsets=(begin, end), text=text, **more)  # type: ignore[arg-type]


def test_bleed_is_what_a_window_takes_from_the_next_section() -> None:
    text = "one two three four five six"  # section 1 is "one two three ", section 2 the rest
    windows = [chunk("a", "1", 0, text[:18]), chunk("b", "2", 14, text[14:])]
    # "one two three four" has four words, one of them of section 2; "four five six" has three of its own
    assert bleed(windows) == Rate(1, 7)
    clean = [chunk("a", "1", 0, text[:14]), chunk("b", "2", 14, text[14:])]
    assert bleed(clean) == Rate(0, 6)
    assert Rate(0, 0).share == 0


def test_a_line_on_three_of_five_pages_is_a_header() -> None:
    def page(n: int, *lines: str) -> Chunk:
        return chunk(f"d|r=00000000|s=1|p={n:03d}|b=001", "1", n * 100, "\n".join(lines))

    pages = [page(n, f"Annual report, page {n}" if n < 4 else "Appendix", f"Only {chr(96 + n)}") for n in range(1, 6)]
    assert [(one.text, one.pages) for one in repeated_lines(pages)] == [("Annual report, page 1", Rate(3, 5))]
    assert repeated_lines(pages[:2]) == []  # two pages show nothing
    counting = [page(n, "ACME", f"Body text number {n} of the page with words.", f"{n} / 9") for n in range(1, 6)]
    assert [one.text for one in repeated_lines(counting)] == ["ACME", "1 / 9"]
    inside = [page(n, *(f"{chr(96 + n) * m}" for m in range(2, 5)), "See below", *"xyz"[:n], *"uvw") for n in (1, 2, 3)]
    assert [one.text for one in repeated_lines(inside)] == ["u", "v", "w"]  # the rest is in the middle of pages
    assert repeated_lines([chunk("a", "1", 0, "x\nx")]) == []  # no pages


def distance(one: list[str], other: list[str]) -> int:
    """Wagner and Fischer, as in the book."""
    row = list(range(len(other) + 1))
    for i, left in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, right in enumerate(other, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (left != right))
    return row[-1]


words = st.lists(st.sampled_from(["a", "b", "ab", "ä"]), max_size=8)


@given(words, words)
def test_errors_are_those_of_the_book(one: list[str], other: list[str]) -> None:
    assert word_errors(" ".join(one), "  ".join(other)) == Rate(distance(one, other), len(other))
    left, right = " ".join(one), " ".join(other)
    assert character_errors(left, right) == Rate(distance([*left], [*right]), len(right))


def test_what_stands_where_nothing_should_be_is_all_wrong() -> None:
    assert character_errors("Title", "").share == word_errors("a word", "").share == 1
    assert character_errors("", "").share == 0


def test_index_check_prints_the_rates(tmp_path: Path) -> None:
    words = " ".join(f"word{n}" for n in range(99))
    for folder, text in (("docs", f"# Keys\n\n{words} last\n"), ("good", f"# Keys\n\n{words} 1ast\n"),
                         ("bad", f"# Kevs\n\n{words} more than that was here\n")):  # fmt: skip
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.md").write_text(text)
    index = tmp_path / "index"
    assert run_cli("index", "build", "--docs", tmp_path / "docs", "--out", index, "--dense", "none").code == 0
    good = run_cli("index", "check", index, "--reference", tmp_path / "good")
    assert good.code == 0
    assert good.out.splitlines()[1:] == [
        "chunk sizes: 100 to 100 tokens, median 100",
        "a.md: WER 0.0100 (1 of 100 words), CER of headings and captions 0.0000 (0 of 4 characters)",
        "headings found: 1.0000 (1 of 1 headings), 0 spurious on 1 page",
        "check: sound (exit 0)",
    ]
    bad = run_cli("index", "check", index, "--reference", tmp_path / "bad")
    assert bad.code == 1
    assert Fraction(5, 104) > Fraction(25, 1000)
    assert bad.out.splitlines()[2:] == [
        "a.md: WER 0.0481 (5 of 104 words) (the target is at most 0.025), "
        "CER of headings and captions 0.2500 (1 of 4 characters) (the target is at most 0.01)",
        "headings found: 0.0000 (0 of 1 headings) (the target is at least 0.95), 1 spurious on 1 page",
        "check: sound, but 2 targets are missed (exit 1)",
    ]
    (tmp_path / "good" / "a.md").rename(tmp_path / "good" / "b.md")
    other = run_cli("index", "check", index, "--reference", tmp_path / "good")
    assert other.code == 2
    assert "--reference: expected a text of a document of the index, got others, e.g. b.md" in other.err


# against what documents should say


def paged(count: int, *lines: str, title: str = "Keys") -> list[Chunk]:
    """A document with the same lines, and one of its own, on every page."""
    name = "d|r=00000000|s=1|p={:03d}|b=001"
    return [
        chunk(name.format(n), "1", n * 100, "\n".join([*lines, f"Only {chr(96 + n) * 9} here"]), title=title)
        for n in range(1, count + 1)
    ]


def headed(*names: str) -> list[Chunk]:
    return [chunk(f"c{nth}", str(nth), nth * 10, "text", title=name) for nth, name in enumerate(names)]


def test_nineteen_of_twenty_headings_are_enough_and_one_too_many_in_twenty_pages() -> None:
    """title_hierarchy.md: visible headings found ≥ 0.95; at most one spurious in 20 pages."""
    names = [f"Section {chr(97 + n) * 6}" for n in range(20)]
    proof = proofread(headed(*names[:19], "Page 17 of 40"), headed(*names), {})
    assert (proof.headings, proof.spurious) == (Rate(19, 20), Rate(1, 1))
    assert proof.headings.share >= HEADINGS > Fraction(18, 20)
    spurious = {(extra, pages): Proof(*[Rate(0, 0)] * 6)._replace(spurious=Rate(extra, pages)).too_many_spurious
                for extra, pages in [(0, 1), (1, 1), (1, 20), (2, 20), (2, 21), (2, 40), (3, 40), (3, 41)]}  # fmt: skip
    assert [key for key, many in spurious.items() if many] == [(2, 20), (3, 40)]


def test_a_heading_with_a_letter_misread_is_found_once() -> None:
    proof = proofread(headed("lntroduction", "Keys", "Keys"), headed("Introduction", "Keys", "Values"), {})
    assert (proof.headings, proof.spurious.part) == (Rate(2, 3), 1)


def test_a_table_counts_where_its_header_row_is_known_as_one() -> None:
    def table(nth: int, rows: int, text: str) -> Chunk:
        return chunk(f"t{nth}", "1", nth * 100, text, type="table", attrs={"header_rows": rows})

    meant = [table(n, 1, f"| key {n} | value |\n| a | b |") for n in range(10)]
    read = [table(0, 0, meant[0].text), *meant[1:]]  # taken for a data row
    assert proofread(read, meant, {}).tables == Rate(9, 10)
    assert proofread(meant, meant, {}).tables == Rate(10, 10)
    assert proofread(meant, [table(0, 0, "| a | b |")], {}).tables == Rate(0, 0)


def test_words_cut_at_the_end_of_a_line_come_out_as_in_the_reference() -> None:
    source = "an exam-\nple of well-\n known re-  \nuse, state-of-the-\nart, and un-\nclear"
    meant = "an example of well-known reuse, state-of-the-art"  # and says nothing of the last one
    assert hyphens(source, "an example of well-known reuse, state-of-the-art, unclear", meant) == Rate(4, 4)
    assert hyphens(source, "an exam-ple of wellknown reuse, state-of-theart", meant) == Rate(1, 4)
    assert hyphens(source, "nothing", f"{meant} wellknown") == Rate(0, 3)  # both forms: it shows nothing


def test_headers_that_were_left_and_lines_that_were_removed() -> None:
    """pdf_layouts_and_ocr.md: FP ≤ 0.01 and FN ≤ 0.03 on 30 pages."""
    left = proofread(paged(5, "Annual report"), paged(5), {})
    assert (left.left, left.removed) == (Rate(5, 5), Rate(0, 5))
    kept = proofread(paged(5, "Annual report"), paged(5, "Annual report"), {})
    assert (kept.left, kept.removed) == (Rate(0, 5), Rate(0, 10))
    removed = proofread(paged(5), paged(5, "The same rule holds here"), {})
    assert removed.removed == Rate(5, 10)
    misread = paged(5, "The sarne rule holds here")
    assert proofread(misread, paged(5, "The same rule holds here"), {}).removed == Rate(0, 10)


def test_index_check_prints_what_proofreading_counts(tmp_path: Path) -> None:
    read = "# Keys\n\nHardware keys are re-\nquired; a well-\nknown rule.\n\n## Page 2\n\nAll of them.\n"
    meant = "# Keys\n\nHardware keys are required; a well-known rule.\n\nAll of them.\n\n## Limits\n\n"
    meant += "| n | m |\n|---|---|\n| 1 | 2 |\n"
    for folder, text in (("docs", read), ("meant", meant)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.md").write_text(text)
    index = tmp_path / "index"
    assert run_cli("index", "build", "--docs", tmp_path / "docs", "--out", index, "--dense", "none").code == 0
    done = run_cli("index", "check", index, "--docs", tmp_path / "docs", "--reference", tmp_path / "meant")
    assert done.code == 1
    assert done.out.splitlines()[3:] == [
        "headings found: 0.5000 (1 of 2 headings) (the target is at least 0.95), 1 spurious on 1 page",
        "header rows of tables found: 0.0000 (0 of 1 tables) (the target is at least 0.95)",
        "words cut at the end of a line put together rightly: 0.5000 (1 of 2 words) (the target is at least 0.98)",
        "lines of the reference removed: 0.6000 (3 of 5 lines) (the target is at most 0.01)",
        "check: sound, but 5 targets are missed (exit 1)",
    ]


def test_overlap_is_what_two_sections_share() -> None:
    def chunk(name: str, section: str, begin: int, end: int, doc: str = "d") -> Chunk:
        return Chunk(chunk_id=name, doc_id=doc, section_id=section, offsets=(begin, end), text="x" * (end - begin))

    windows = [chunk("a", "1", 0, 50), chunk("b", "1", 40, 100)]
    assert overlap(windows) == Rate(0, 100)  # both are of one section
    assert overlap([*windows, chunk("c", "2", 100, 200)]) == Rate(0, 200)
    assert overlap([*windows, chunk("c", "2", 97, 200), chunk("d", "3", 45, 48)]) == Rate(6, 200)
    assert overlap([*windows, chunk("c", "2", 0, 100, "e")]) == Rate(0, 200)  # another document


def test_windows_that_bleed_are_told_and_leave_the_index_sound(tmp_path: Path) -> None:
    text = "one two three four five six"
    blocks = [
        {"chunk_id": "a", "doc_id": "d", "section_id": "1", "offsets": [0, 18], "text": text[:18]},
        {"chunk_id": "b", "doc_id": "d", "section_id": "2", "offsets": [14, 27], "text": text[14:]},
    ]
    write_jsonl(tmp_path / "blocks.jsonl", blocks)
    index = tmp_path / "index"
    assert run_cli("index", "build", "--docs", tmp_path / "blocks.jsonl", "--out", index, "--dense", "none").code == 0
    done = run_cli("index", "check", index)
    assert done.code == 0
    told = "bleed: 0.1429 (1 of 7 tokens) belong to another section than their chunk (the target is at most 0.1)"
    assert told in done.out.splitlines()
    shared = "overlap: 0.1481 (4 of 27 bytes) are in chunks of two sections (the target is at most 0.02)"
    assert shared in done.out.splitlines()
