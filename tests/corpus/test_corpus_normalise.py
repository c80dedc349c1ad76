"""Canonical text step by step, the fingerprint form, words, sentences and parts."""

import pytest

from ragworthy.corpus import normalise, sentences
from ragworthy.corpus.normalise import characters, code_line, count_tokens, fingerprint, indented, prose, table_line


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("\ufeffa\r\nb\rc\n", "a\nb\nc\n"),
        ("e\u0301", "\u00e9"),
        ("soft\u00adly", "softly"),
        ("z\u200be\u200cr\u200do\ufeff", "zero"),
        ("a\u200b\u0301", "\u00e1"),  # what removing brings together is composed too
        ("\ufb01 \u2126", "\ufb01 \u03a9"),  # form C: a ligature stays, the ohm sign does not
        ("plain", "plain"),
    ],
)
def test_characters(source: str, expected: str) -> None:
    assert characters(source) == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["one", "two"], "one two"),
        (["  one \t two  ", "three  "], "one two three"),
        (["an exam-", "ple"], "an example"),
        (["version v-", "2 of"], "version v2 of"),  # right piece starts with a digit
        (["Saxe-", "Coburg"], "Saxe- Coburg"),  # right piece starts with a capital
        (["UTF-", "8"], "UTF- 8"),  # left piece ends in a capital
        (["IPv-", "6"], "IPv- 6"),  # a known acronym
        (["2-", "fold"], "2- fold"),  # left piece ends in a digit
        (["a -", "b"], "a - b"),  # a dash, no broken word
        (["a--", "b"], "a-- b"),
        (["straß-", "ßen-", "lampe"], "straßßenlampe"),
        (["no\u00a0break \u3000 wide"], "no break wide"),
        (["中文", "中文"], "中文 中文"),
        ([""], ""),
    ],
)
def test_prose_lines_are_joined(lines: list[str], expected: str) -> None:
    assert prose(lines) == expected


def test_code_and_tables_keep_what_matters() -> None:
    assert code_line("\tif a:  b\t# c  ") == "    if a:  b    # c"
    assert table_line("|  a   b | c-  |  ") == "| a b | c- |"
    assert table_line("|\ta\t|") == "| a |"
    assert table_line(" a \t\t b  c ", tabs=True) == "a\t\tb c"
    assert indented("  \t* a   b  ") == "      * a b"
    assert indented("   ") == ""


def test_fingerprint() -> None:
    assert fingerprint("The `max_size` — 10 %, e.g. “ten”.") == "themaxsize10egten"
    assert fingerprint("北京，上海。") == "北京上海"
    assert fingerprint("naïve CAFÉ") == "naïvecafé"
    assert fingerprint("हिन्दी") == "हिन्दी"  # vowel signs are part of the word
    assert fingerprint("///\n---") == ""


def test_tokens() -> None:
    assert count_tokens("It's 3.5 GB") == 5
    assert count_tokens("使用 FastAPI 框架") == 5
    assert count_tokens("///") == 0


def test_the_rules_have_a_name() -> None:
    assert normalise.NORMALISER == "ragworthy-norm/1"


def cut(text: str) -> list[str]:
    out, at = [], 0
    for end in sentences.ends(text):
        out.append(text[at:end].strip())
        at = end
    return out


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("Dr. Smith met J. Doe. They left.", ["Dr. Smith met J. Doe.", "They left."]),
        ("See Fig. 3, e.g. Mars, etc. And more.", ["See Fig. 3, e.g. Mars, etc. And more."]),
        ("Version 2.0 is out. 3.5 follows.", ["Version 2.0 is out.", "3.5 follows."]),
        ("He said “Stop.” Then left.", ["He said “Stop.”", "Then left."]),
        ("not. a border", ["not. a border"]),
        ("第一句。第二句！“第三句？”他说；完", ["第一句。", "第二句！", "“第三句？”", "他说；", "完"]),
        ("位于 URL 的 `?` 之后。Use `x`. Then", ["位于 URL 的 `?` 之后。", "Use `x`.", "Then"]),
        ("- a\n- b. C", ["- a", "- b.", "C"]),
        ("Wait... What? Yes.", ["Wait...", "What?", "Yes."]),
        ("", []),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert cut(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("No. It depends. More.", "No. It depends."),
        ("STRICT\n- WITHOUT ROWID", "STRICT"),
        ("", ""),
        ("Long enough", "Long enough"),
    ],
)
def test_first_sentence(text: str, expected: str) -> None:
    begin, end = sentences.first(text, 0, 8)
    assert text[begin:end] == expected


def test_parts_end_with_sentences() -> None:
    text = "A first sentence here. A second one there. And the third."
    assert [text[a:b] for a, b in sentences.parts(text, 45)] == [
        "A first sentence here. A second one there.",
        "And the third.",
    ]
    assert [text[a:b] for a, b in sentences.parts(text, 1000)] == [text]


def test_parts_count_bytes_and_do_not_cut_characters() -> None:
    text = "漢" * 10 + "。" + "字" * 10
    pieces = [text[a:b] for a, b in sentences.parts(text, 12)]
    assert "".join(pieces) == text
    assert pieces == ["漢漢漢漢", "漢漢漢漢", "漢漢。", "字字字字", "字字字字", "字字"]


def test_a_long_sentence_is_cut_at_blanks_then_anywhere() -> None:
    text = "alpha beta gamma " + "x" * 25 + " end"
    assert [text[a:b] for a, b in sentences.parts(text, 12)] == ["alpha beta", "gamma", "x" * 12, "x" * 12, "x end"]
