"""The view of one structured item: expected against got, as text and as Markdown."""

import gzip
import json
import re
import unicodedata
from fractions import Fraction
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from places import SHARED
from ragworthy.metrics import grading, reference_structured
from ragworthy.metrics.context import Context
from ragworthy.metrics.definition import Definition, Field
from ragworthy.metrics.kinds import KINDS, Detail, Kind
from ragworthy.metrics.kinds.grounding import Grounding
from ragworthy.metrics.kinds.texts import Keywords, Label, Listed
from ragworthy.metrics.kinds.values import Boolean, Date, Enum, Number
from ragworthy.records import ContextChunk, StructuredGold, StructuredOutput
from ragworthy.suites.structured import item

DATA = SHARED / "data" / "graphrag" / "dev"


def field(name: str, kind: str, rules: Kind, weight: str, *, at: str = "", required: bool = True) -> Field:
    return Field(name, kind, rules, Fraction(weight), (at or name,), required)


BUNDLED = Definition(
    "eval-json-v2",
    (
        field("target_audience", "label", Label(), "0.10"),
        field("main_topic", "label", Label(), "0.10"),
        field("sub_topic", "label", Label(), "0.10"),
        field("detailed_description", "list", Listed(cap=12, limit=8), "0.30"),
        field("original_evidence", "keywords", Keywords(), "0.20"),
        field("predicted_questions", "list", Listed(cap=10, limit=5), "0.10"),
        field("grounding", "grounding", Grounding(), "0.10", at="source_map"),
    ),
)
LISTS = Definition("lists", (field("points", "list", Listed(), "1"),))

EVIDENCE = "calm passengers then call elevator maintenance vendor immediately never force door"


def expected() -> dict[str, Any]:
    return {
        "target_audience": "安管/機電組",
        "main_topic": "緊急應變",
        "sub_topic": "緊急應變處置",
        "detailed_description": ["安撫乘客", "聯絡廠商", "禁止扳門"],
        "original_evidence": EVIDENCE,
        "predicted_questions": ["電梯多久保養一次？"],
    }


def answer() -> dict[str, Any]:
    """W-35: labels 1, 1, 0; description 2/3; evidence 0.75; questions 1; grounding 1/2; 70 points."""
    refs = [{"file": "a.doc", "anchors": ["電梯"]}, {"file": "b.doc", "anchors": ["電梯"]}]
    return {
        "target_audience": "安管",
        "main_topic": "緊急應變",
        "sub_topic": "緊急應變處理",
        "detailed_description": ["安撫乘客", "聯絡廠商", "全新內容"],
        "original_evidence": "calm passengers then call elevator maintenance",
        "predicted_questions": ["電梯多久保養一次？"],
        "source_map": [{"part": "detailed_description", "refs": refs}],
    }


def seen(
    definition: Definition,
    wanted: dict[str, Any],
    raw: str | None,
    *,
    repair: bool = False,
    qid: str = "Q0001",
    question: str | None = "電梯困人怎麼辦？",
    error: str | None = None,
) -> item.View:
    """An item read, scored, blamed and viewed the way a run does it; without raw and error there is no output."""
    gold = StructuredGold(id=qid, question=question, expected={"answer_example": wanted})
    context = [ContextChunk(source_path="a.doc", text="電梯 停在兩樓之間")]
    output = None if raw is None and error is None else StructuredOutput(id=qid, raw=raw, context=context, error=error)
    known = grading.read(definition, output, repair=repair)
    values = grading.wanted_of(definition, gold.expected)
    scored = grading.score(definition, values, known, Context(context))
    if grading.label(scored, definition.good) != "OK":
        stage = grading.blame(definition, values, frozenset(), scored, Context(context))
        scored = scored._replace(stage=stage)
    return item.view(definition, gold, output, known, scored)


def answered(definition: Definition, wanted: dict[str, Any], got: dict[str, Any], **more: Any) -> item.View:
    return seen(definition, wanted, json.dumps(got, ensure_ascii=False), **more)


def listed(wanted: list[str], got: list[str]) -> item.View:
    return answered(LISTS, {"points": wanted}, {"points": got}, question=None)


def tokens(text: str) -> list[Token]:
    """What another program makes of the Markdown."""
    found = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(text)
    return [one for token in found for one in (token, *(token.children or []))]


def tables(text: str) -> list[list[list[str]]]:
    """The tables of a Markdown text as a renderer reads them: rows of cells of plain text."""
    made: list[list[list[str]]] = []
    parsed = MarkdownIt("commonmark", {"html": True}).enable("table").parse(text)
    for nth, token in enumerate(parsed):
        if token.type == "table_open":
            made.append([])
        elif token.type == "tr_open":
            made[-1].append([])
        elif token.type in ("th_open", "td_open"):
            made[-1][-1].append("".join(one.content for one in parsed[nth + 1].children or []))
    return made


def columns(line: str) -> int:
    """The width of a line by the bytes of a Chinese code page, which takes two for each wide sign."""
    return len(line.encode("cp950"))


def test_the_worked_example_reads_at_a_glance() -> None:
    assert item.text(answered(BUNDLED, expected(), answer())) == (
        """\
Q0001  70.0 of 100  LOW_SCORE (retrieval)
  question  電梯困人怎麼辦？
  lost      sub_topic -10.0, detailed_description -10.0, original_evidence -5.0, grounding -5.0

  field                 kind       part    weight  lost

  target_audience       label      1.0     0.1
    = 安管/機電組
      got 安管  one contains the other

  main_topic            label      1.0     0.1
    = 緊急應變  equal

  sub_topic             label      0.0     0.1     -10.0  worst
    - 緊急應變處置
    + 緊急應變處理  likeness 2/3 = 0.667, needs 0.72

  detailed_description  list       0.6667  0.3     -10.0  worst; matched 2, expected 3, got 3
    = 安撫乘客  equal
    = 聯絡廠商  equal
    - 禁止扳門  nothing like it
    + 全新內容  not expected

  original_evidence     keywords   0.75    0.2     -5.0   hits 6, length 46
    - calm passengers then call elevator maintenance vendor immediately never force door
    + calm passengers then call elevator maintenance          6 of 11 keywords, 8 needed
    = has calm, passengers, then, call, elevator, maintenance
    - lacks vendor, immediately, never, force, door

  predicted_questions   list       1.0     0.1            matched 1, expected 1, got 1
    = 電梯多久保養一次？  equal

  grounding             grounding  0.5     0.1     -5.0   ok_refs 1, total_refs 2
    = a.doc: 電梯  in the context
    + b.doc: 電梯  the file is not in the context
"""
    )


def test_the_worked_example_as_values() -> None:
    made = answered(BUNDLED, expected(), answer())
    assert made.score == 70
    assert (made.good, made.label, made.stage) == (False, "LOW_SCORE", "retrieval")
    assert (made.reason, made.detail, made.repaired, made.raw) == (None, "", False, None)
    assert [one.lost for one in made.fields] == [0, 0, 10, 10, 5, 0, 5]
    description = made.fields[3]
    assert (description.kind, description.weight, description.part) == ("list", Fraction(3, 10), Fraction(2, 3))
    assert description.counts == {"matched": 2, "expected": 3, "got": 3}
    assert [(one.expected, one.got) for one in description.details] == [
        ("安撫乘客", "安撫乘客"),
        ("聯絡廠商", "聯絡廠商"),
        ("禁止扳門", None),
        (None, "全新內容"),
    ]
    assert made.fields[6].counts == {"ok_refs": 1, "total_refs": 2}


def test_the_worked_example_as_markdown() -> None:
    text = item.markdown(answered(BUNDLED, expected(), answer()))
    assert text.startswith("### Q0001: 70.0 of 100, LOW_SCORE (retrieval)\n\n**question:** 電梯困人怎麼辦？\n")
    summary, *rest = tables(text)
    assert summary[0] == ["field", "kind", "part", "weight", "lost", "counts"]
    assert summary[4] == [
        "detailed_description",
        "list",
        "0.6667",
        "0.3",
        "-10.0 worst",
        "matched 2, expected 3, got 3",
    ]
    assert len(rest) == 7
    assert rest[3] == [
        ["", "expected", "got", "why"],
        ["=", "安撫乘客", "安撫乘客", "equal"],
        ["=", "聯絡廠商", "聯絡廠商", "equal"],
        ["-", "禁止扳門", "", "nothing like it"],
        ["+", "", "全新內容", "not expected"],
    ]


def test_a_good_answer_loses_nothing() -> None:
    got = answer() | expected()
    got["source_map"][0]["refs"].pop()
    made = answered(BUNDLED, expected(), got)
    assert made.score == 100
    assert (made.good, made.label, made.stage) == (True, "OK", None)
    text = item.text(made)
    assert text.startswith("Q0001  100.0 of 100  OK\n")
    assert "lost  " not in text.replace("weight  lost", "") and "worst" not in text
    assert not re.search(r"^    [-+] ", text, re.MULTILINE)


def test_a_likeness_is_shown_as_ratio_and_number() -> None:
    made = listed(["abcdefgh"], ["abcdefgx"])
    assert made.fields[0].details == [Detail(True, "abcdefgh", "abcdefgx", "likeness 3/4 = 0.750")]
    assert "    = abcdefgh\n      got abcdefgx  likeness 3/4 = 0.750\n" in item.text(made)


def test_items_whose_match_is_taken_say_so() -> None:
    assert [one.note for one in listed(["安撫乘客", "安撫乘客"], ["安撫乘客"]).fields[0].details] == [
        "equal",
        "matched by another already: 安撫乘客",
    ]
    assert [one.note for one in listed(["安撫乘客"], ["安撫乘客", "安撫乘客"]).fields[0].details] == [
        "equal",
        "one more than expected",
    ]


@pytest.mark.parametrize(
    ("wanted", "got", "part", "lines"),
    [
        ([], [], 1, ["    = nothing expected, nothing got"]),
        (["a b"], [], 0, ["    - a b  nothing like it"]),
        ([], ["a b"], 0, ["    + a b  not expected"]),
        ([], ["", " "], 1, ["    = nothing expected, nothing got"]),
    ],
)
def test_empty_lists(wanted: list[str], got: list[str], part: int, lines: list[str]) -> None:
    made = listed(wanted, got)
    assert made.fields[0].part == part
    assert item.text(made).splitlines()[-1:] == lines
    assert len(tables(item.markdown(made))) == 2


def test_items_beyond_the_cap_and_long_lists_are_counted() -> None:
    made = listed(["x"], [f"item {nth:03}" for nth in range(100)])
    assert made.fields[0].counts == {"matched": 0, "expected": 1, "got": 12}
    text = item.text(made)
    assert "    + item 012  beyond the first 12: not looked at\n" in text
    assert text.endswith("    … 61 more\n")  # one expected and a hundred got, forty shown
    assert len(re.findall("^    [-+] ", text, re.MULTILINE)) == 40
    shown = tables(item.markdown(made))[1]
    assert len(shown) == 42 and shown[-1] == ["…", "", "", "61 more"]


def test_notes_stand_in_one_column_beside_chinese_and_latin_texts() -> None:
    lines = item.text(listed(["安撫乘客", "call the vendor", "ISO 9001認證"], ["ISO 9001認證", "call the vendor"]))
    rows = [line for line in lines.splitlines() if re.match("    [-=+] ", line)]
    notes = ["nothing like it", "equal", "equal"]
    assert len(rows) == 3
    assert {columns(row.removesuffix(note)) for row, note in zip(rows, notes, strict=True)} == {23}


def test_long_chinese_texts_are_wrapped_to_the_width_and_cut() -> None:
    long = "社區經理每日批閱九大簿冊，" * 60
    rows = [line for line in item.text(listed([long], [])).splitlines() if "社區" in line or "批閱" in line]
    assert len(rows) == item.ROWS
    assert all(columns(row.replace("…", "~")) <= item.WIDTH for row in rows)
    assert columns(rows[0]) >= item.WIDTH - 3
    assert rows[-1].endswith("…")


def test_no_line_begins_with_a_closing_sign() -> None:
    room = item.WIDTH // 2 - 3  # wide signs beside an indent of four, a sign and a blank
    text = item.text(listed(["甲" * room + "，" + "乙" * 9], []))
    assert f"    - {'甲' * (room - 1)}\n      甲，{'乙' * 9}" in text


def test_combining_marks_take_no_column() -> None:
    text = unicodedata.normalize("NFC", item.text(listed(["cafe\u0301s", "x y"], ["x y"])))
    assert "    - cafés  nothing like it\n    = x y    equal\n" in text


def test_latin_texts_are_broken_between_words() -> None:
    words = " ".join(f"word{nth}" for nth in range(30))
    text = item.text(listed([words], [words]))
    assert re.findall(r"word\d+", text) == words.split()


def test_an_answer_that_is_cut_off() -> None:
    made = seen(BUNDLED, expected(), '{"main_topic": "緊急\x1b[2J\n  應變')
    assert (made.label, made.stage, made.reason) == ("NOT_JSON", "generation", "truncated_json")
    assert sum(one.lost for one in made.fields) == 100
    text = item.text(made)
    assert text.startswith("Q0001  0.0 of 100  NOT_JSON (generation)\n")
    assert "  failed    truncated_json: the object has no end\n" in text
    assert '  what was written\n  | {"main_topic": "緊急\\x1b[2J\n  |   應變\n\n  what was expected\n' in text
    assert "    - 安撫乘客\n    - 聯絡廠商\n    - 禁止扳門\n" in text
    assert "worst" not in text
    markdown = item.markdown(made)
    assert "**failed:** truncated_json: the object has no end\n" in markdown
    assert tables(markdown)[0] == [["what was written"], ['{"main_topic": "緊急\\x1b[2J 應變']]
    assert tables(markdown)[5][1:] == [["-", one, "", ""] for one in expected()["detailed_description"]]


def test_only_the_beginning_of_a_failed_answer_is_shown() -> None:
    made = seen(BUNDLED, expected(), "x" * 601)
    assert made.raw == "x" * 600 + "…"
    assert seen(BUNDLED, expected(), "x" * 600).raw == "x" * 600
    text = item.text(seen(BUNDLED, expected(), "a\n" * 300))
    assert text.splitlines().count("  | a") == 40
    assert "  … 261 more lines\n" in text  # the last of the 301 is empty


def test_no_output_and_an_empty_one() -> None:
    missing = seen(BUNDLED, expected(), None)
    assert (missing.label, missing.stage, missing.raw) == ("MISSING", "pipeline", None)
    text = item.text(missing)
    assert text.startswith("Q0001  0.0 of 100  MISSING (pipeline)\n")
    assert "  failed    missing: no output\n" in text and "what was written" not in text
    assert "    - 安管/機電組\n" in text
    assert "  what was written\n  | (nothing)\n" in item.text(seen(BUNDLED, expected(), " \n"))
    assert tables(item.markdown(seen(BUNDLED, expected(), "")))[0][1] == ["(nothing)"]


def test_an_error_of_the_provider_cannot_steer_the_terminal() -> None:
    text = item.text(seen(BUNDLED, expected(), None, error="429 \x1b]0;owned\x07 try later"))
    assert "  failed    provider_error: 429 \\x1b]0;owned\\x07 try later\n" in text
    assert "(pipeline)" in text


def test_a_repaired_answer_says_so_and_is_compared() -> None:
    raw = f"```json\n{json.dumps(answer(), ensure_ascii=False)}\n```"
    made = seen(BUNDLED, expected(), raw, repair=True)
    assert made.score == 70
    assert (made.label, made.repaired, made.raw) == ("WRAPPED", True, None)
    text = item.text(made)
    assert "  wrapped   code_fence: the object is in a code fence\n" in text
    assert "  repaired  the object was taken out of the text around it, and scored\n" in text
    assert "    + 全新內容  not expected\n" in text
    assert "**repaired:** the object was taken out" in item.markdown(made)


def test_a_repaired_answer_that_fails_all_the_same() -> None:
    made = seen(BUNDLED, expected(), '```\n{"main_topic": 1}\n```', repair=True)
    assert made.repaired and made.score == 0
    text = item.text(made)
    assert "  failed    code_fence: target_audience: expected a value, got nothing\n" in text
    assert "  repaired  the object was taken out of the text around it\n" in text
    assert '  | ```\n  | {"main_topic": 1}\n  | ```\n' in text


HOSTILE = (
    "\x1b[31mred\x07 | a*b*_c_ <script>alert(1)</script>\n# head\n- [x](javascript:1) `tick` ~~s~~ \u202eevil &lt;"
)


def hostile() -> item.View:
    wanted = expected() | {"sub_topic": HOSTILE, "detailed_description": [HOSTILE, "乙"]}
    got = answer() | {"main_topic": HOSTILE, "detailed_description": ["丙" + HOSTILE, "|", "\n\n"]}
    got["source_map"] = [HOSTILE, {"refs": [HOSTILE, {"file": HOSTILE, "anchors": [HOSTILE]}]}]
    return answered(BUNDLED, wanted, got, qid=HOSTILE, question=HOSTILE)


def test_hostile_text_stays_text_on_a_terminal() -> None:
    text = item.text(hostile())
    assert all(line.isprintable() for line in text.split("\n"))
    assert "\\x1b[31mred\\x07 | a*b*_c_ <script>" in text
    coloured = item.text(hostile(), colour=True)
    assert re.sub(r"\x1b\[(?:1;)?(?:0|31|32)m", "", coloured) == text


def test_hostile_text_stays_text_in_markdown() -> None:
    for made in (hostile(), seen(BUNDLED, expected(), HOSTILE, qid=HOSTILE, question=HOSTILE)):
        text = item.markdown(made)
        kinds = {token.type for token in tokens(text)}
        assert not kinds & {"html_block", "html_inline", "link_open", "em_open", "s_open", "image", "fence"}
        assert not kinds & {"bullet_list_open", "hr", "blockquote_open", "code_block"}
        assert "<" not in text and "\x1b" not in text
        for table in tables(text):
            assert len({len(row) for row in table}) == 1
    shown = " ".join(HOSTILE.split()).replace("\x1b", "\\x1b").replace("\x07", "\\x07").replace("\u202e", "\\u202e")
    assert tables(item.markdown(hostile()))[4][1][1] == shown


def test_colours_only_where_asked_for() -> None:
    made = answered(BUNDLED, expected(), answer())
    assert "\x1b" not in item.text(made)
    text = item.text(made, colour=True)
    assert "\x1b[1;31mLOW_SCORE (retrieval)\x1b[0m\n" in text
    assert "\x1b[32m    = 安撫乘客  equal\x1b[0m\n" in text
    assert "\x1b[31m    - 禁止扳門  nothing like it\x1b[0m\n" in text


CUSTOM = Definition(
    "invoice",
    (
        field("total", "number", Number(tolerance=Fraction("0.05")), "0.4"),
        field("due", "date", Date(tolerance_days=1), "0.2"),
        field("currency", "enum", Enum(("EUR", "USD")), "0.2"),
        field("paid", "boolean", Boolean(), "0.1"),
        field("remark", "label", Label(), "0.1", required=False),
    ),
)
INVOICE = {"total": 100.5, "due": "2026-12-31", "currency": "EUR", "paid": True}


def test_numbers_dates_words_and_truth() -> None:
    got = {"total": 100.6, "due": "2027-01-01", "currency": "USD", "paid": False}
    made = answered(CUSTOM, INVOICE, got)
    assert [one.details for one in made.fields] == [
        [Detail(False, "100.5", "100.6", "off by 0.1, 0.05 allowed")],
        [Detail(True, "2026-12-31", "2027-01-01", "off by 1 day, 1 allowed")],
        [Detail(False, "EUR", "USD", "not equal")],
        [Detail(False, "true", "false", "not equal")],
        [Detail(True, None, None, "left out, as expected")],
    ]
    assert [one.lost for one in made.fields] == [40, 0, 20, 10, 0]
    text = item.text(made)
    assert "    - 100.5\n    + 100.6  off by 0.1, 0.05 allowed\n" in text
    assert "    = 2026-12-31\n      got 2027-01-01  off by 1 day, 1 allowed\n" in text
    assert "    = left out, as expected\n" in text
    right = answered(CUSTOM, INVOICE, INVOICE)
    assert [one.details[0].note for one in right.fields[:4]] == ["equal"] * 4


def test_a_very_large_number_is_shown_and_one_too_large_for_a_float_refused() -> None:
    got = json.dumps(INVOICE).replace("100.5", "9" * 308)
    note = seen(CUSTOM, INVOICE, got).fields[0].details[0].note
    assert note == "off by over 1e+300, 0.05 allowed"
    refused = seen(CUSTOM, INVOICE, got.replace("9" * 308, "9" * 309))
    assert (refused.reason, refused.detail) == ("parse_failed", f"the number {'9' * 40} is too large")


@pytest.mark.parametrize("absent", [{}, {"remark": None}])
def test_fields_left_out(absent: dict[str, Any]) -> None:
    lacking = answered(CUSTOM, INVOICE | {"remark": "net"}, INVOICE | absent)
    assert lacking.fields[4].details == [Detail(False, "net", None, "left out")]
    assert lacking.fields[4].part == 0 and lacking.fields[4].lost == 10
    assert "    - net  left out\n" in item.text(lacking)
    more = answered(CUSTOM, INVOICE | absent, INVOICE | {"remark": "net"})
    assert more.fields[4].details == [Detail(False, None, "net", "nothing was expected")]
    both = answered(CUSTOM, INVOICE | absent, INVOICE)
    assert both.fields[4].details == [Detail(True, None, None, "left out, as expected")]


def test_optional_lists_and_references_left_out() -> None:
    definition = Definition(
        "optional",
        (
            field("points", "list", Listed(), "0.5", required=False),
            field("grounding", "grounding", Grounding(), "0.5", required=False),
        ),
    )
    made = answered(definition, {"points": ["a", "b"]}, {})
    assert made.fields[0].details == [Detail(False, "a", None, "left out"), Detail(False, "b", None, "left out")]
    assert made.fields[0].counts == {"matched": 0, "expected": 2, "got": 0}
    assert made.fields[1].details == [Detail(False, None, None, "no reference")]
    assert made.score == 0 and "    - no reference\n" in item.text(made)


@pytest.mark.parametrize(("wanted", "got"), [({"points": []}, {}), ({}, {"points": []}), ({"points": [" "]}, {})])
def test_a_list_left_out_where_an_empty_one_is_right_is_no_fault(wanted: dict[str, Any], got: dict[str, Any]) -> None:
    definition = Definition("optional", (field("points", "list", Listed(), "1", required=False),))
    made = answered(definition, wanted, got)
    assert made.score == 100 and made.fields[0].lost == 0
    assert all(one.good for one in made.fields[0].details)


def test_a_failed_answer_shows_expected_values_of_every_kind() -> None:
    made = seen(CUSTOM, INVOICE | {"remark": None}, "no")
    assert [[one.expected for one in field.details] for field in made.fields] == [
        ["100.5"],
        ["2026-12-31"],
        ["EUR"],
        ["true"],
        [],
    ]


def test_points_never_reach_a_threshold_by_rounding() -> None:
    assert item.points(Fraction(95)) == "95.0"
    assert item.points(Fraction("94.999999")) == "94.999999"
    assert item.points(Fraction("97.4999999")) == "97.4999999"
    assert item.points(Fraction(0)) == "0.0"


TEXTS = st.text(st.characters(codec="utf-8"), max_size=60)


@given(TEXTS, TEXTS, st.lists(TEXTS, max_size=4), st.lists(TEXTS, max_size=15), TEXTS)
@settings(max_examples=60, deadline=None)
def test_whatever_is_written(label: str, other: str, wanted: list[str], got: list[str], evidence: str) -> None:
    gold = expected() | {"sub_topic": label, "detailed_description": wanted, "original_evidence": evidence}
    given_answer = answer() | {"sub_topic": other, "detailed_description": got, "original_evidence": label}
    given_answer["source_map"] = [{"refs": [{"file": other, "anchors": [label, evidence]}]}, evidence]
    made = answered(BUNDLED, gold, given_answer, qid=label or "q", question=evidence)
    assert sum(one.lost for one in made.fields) == 100 - made.score
    text, markdown = item.text(made), item.markdown(made)
    assert (text, markdown) == (item.text(made), item.markdown(made))
    assert all(line.isprintable() for line in text.split("\n"))
    for line in text.splitlines()[1:]:
        wide = sum(unicodedata.east_asian_width(sign) in "WF" for sign in line)
        marks = sum(unicodedata.category(sign) in ("Mn", "Me") for sign in line)
        assert len(line) + wide - marks <= item.WIDTH
    assert not {token.type for token in tokens(markdown)} & {"html_block", "html_inline", "em_open", "link_open"}
    found = tables(markdown)
    assert len(found) == 1 + sum(bool(one.details) for one in made.fields)
    for table, field_view in zip(found[1:], [one for one in made.fields if one.details], strict=True):
        assert len(table) == 1 + len(field_view.details)


def test_every_kind_has_been_looked_at() -> None:
    assert {one.kind for one in (*BUNDLED.fields, *CUSTOM.fields)} == set(KINDS)


@pytest.fixture(scope="module")
def golds() -> dict[str, StructuredGold]:
    rows = map(json.loads, (DATA / "gold.jsonl").read_text(encoding="utf-8").splitlines())
    return {row["key"]: StructuredGold(row["key"], None, row["question"], row["expected"]) for row in rows}


def cases(every: int) -> list[dict[str, Any]]:
    with gzip.open(DATA / "cases.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for nth, line in enumerate(lines) if nth % every == 0]


def output_of(case: dict[str, Any]) -> StructuredOutput:
    chunks = msgspec.convert(case["context_chunks"], list[ContextChunk])
    return StructuredOutput(id=case["question_key"], raw=case["raw_output"], context=chunks)


@pytest.mark.data("data/graphrag/dev")
def test_real_answers_add_up(golds: dict[str, StructuredGold]) -> None:
    for case in cases(7):
        gold, output = golds[case["question_key"]], output_of(case)
        known = grading.read(BUNDLED, output)
        wanted = grading.wanted_of(BUNDLED, gold.expected)
        scored = grading.score(BUNDLED, wanted, known, Context(output.context or []))
        made = item.view(BUNDLED, gold, output, known, scored)
        assert sum(one.lost for one in made.fields) == 100 - made.score, case["case"]
        for one in made.fields[3:6:2]:
            if one.counts:
                matched = sum(detail.good and detail.expected is not None for detail in one.details)
                assert matched == one.counts["matched"], case["case"]
                missing = sum(detail.got is None and detail.expected is not None for detail in one.details)
                assert missing == one.counts["expected"] - matched, case["case"]
        references = made.fields[6]
        if references.counts:
            assert sum(detail.good for detail in references.details) == references.counts["ok_refs"], case["case"]
        assert (made.raw is None) == (scored.reason is None), case["case"]
        assert all(line.isprintable() for line in item.text(made).split("\n")), case["case"]
        assert all(len({len(row) for row in table}) == 1 for table in tables(item.markdown(made))), case["case"]


@pytest.mark.data("data/graphrag/dev")
def test_the_original_program_gives_parts_and_counts_only(golds: dict[str, StructuredGold]) -> None:
    reasons = set()
    for case in cases(13):
        gold, output = golds[case["question_key"]], output_of(case)
        scored = reference_structured.score((gold.expected or {})["answer_example"], output)
        known = grading.read(BUNDLED, output, repair=True)
        made = item.view(BUNDLED, gold, output, known, scored, details=False)
        assert not any(one.details for one in made.fields)
        assert [one.part for one in made.fields] == list(scored.parts or [None] * 7)
        if scored.reason is not None:
            assert made.score == 0 and sum(one.lost for one in made.fields) == 100, case["case"]
            reasons.add(scored.reason.value)
        text = item.text(made)
        assert ("–" in text) == (not scored.parts), case["case"]
        assert ("what was written" in text) == (scored.reason is not None), case["case"]
        assert "what was expected" not in text
    assert {"code_fence", "schema_failed", "parse_failed"} <= reasons
