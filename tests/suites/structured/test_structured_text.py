"""Structured answers in every script, and what must hold for any answer at all."""

import json
import os
import subprocess
import sys
import unicodedata
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragworthy.load.definition import bundled
from ragworthy.metrics import grading
from ragworthy.metrics.context import Context
from ragworthy.metrics.definition import Definition, Field, value_at
from ragworthy.metrics.grading import Scored
from ragworthy.metrics.kinds import Kind
from ragworthy.metrics.kinds.grounding import Grounding
from ragworthy.metrics.kinds.texts import Keywords, Label, Listed, keywords
from ragworthy.records import ContextChunk, StructuredOutput
from ragworthy.text import letters, pairs_of, squeeze, unspaced

Json = Any
Row = dict[str, Json]
F = Fraction
NOWHERE = Context([])
FORMS: tuple[Any, ...] = ("exact", "nfkc", "folded", "letters")
NAMES = [field.name for field in bundled().fields]


def score(
    gold: Row, got: Row, chunks: Sequence[ContextChunk], definition: Definition | None = None, *, plain: bool = False
) -> Scored:
    """One answer from its text to its score."""
    made = definition or bundled()
    wanted = grading.wanted_of(made, {"answer_example": gold})
    known = grading.read(made, StructuredOutput(id="q", raw=json.dumps(got, ensure_ascii=not plain)))
    assert known.reason is None, known.detail
    return grading.score(made, wanted, known, Context(chunks))


def worth(rules: Kind, gold: Json, got: Json, context: Context = NOWHERE) -> Fraction:
    return rules.compare(gold, got, context).score


# How text is compared, form by form.


@pytest.mark.parametrize(
    ("gold", "got", "points"),
    [
        # Full-width, half-width and other compatible forms are one text from nfkc on.
        ("ＡＢＣ１２３", "ABC123", "0111"),
        ("ｴﾚﾍﾞｰﾀｰ", "エレベーター", "0111"),
        ("\ufb01re", "fire", "0111"),
        ("①②", "12", "0111"),
        ("Ⅳ", "IV", "0111"),
        ("㍿", "株式会社", "0111"),
        ("\uf9f4", "\u6797", "0111"),
        ("⼈事", "人事", "0111"),
        ("ﻻ", "لا", "0111"),
        # Simplified and traditional are never converted into each other.
        ("机电组", "機電組", "0000"),
        ("安管組", "安管组", "0000"),
        ("消防安全设备检查", "消防安全設備檢查", "0000"),
        ("消防安全管理人員組", "消防安全管理人員组", "1111"),
        # Punctuation counts, except where only letters and numbers do.
        ("安管，機電", "安管,機電", "0111"),
        ("安管、機電", "安管,機電", "0001"),
        ("「安管」", "安管", "1111"),
        ("。", "。", "1110"),
        ("（一）安管", "(一)安管", "0111"),
        # Letter case, also of other alphabets.
        ("GPT-4模型", "gpt-4模型", "0011"),
        ("ΟΔΟΣ", "οδος", "0010"),  # letters are lowered one by one: no final sigma
        ("ЛИФТ", "лифт", "0011"),
        ("İZ", "iz", "0000"),
        # Look-alikes of another script are other letters.
        ("p\u0430ssword", "password", "0000"),
        # Marks: composed and decomposed forms are one text from nfkc on.
        ("caf\u00e9", "cafe\u0301", "0111"),
        ("\ud55c\uae00", "\u1112\u1161\u11ab\u1100\u1173\u11af", "0111"),
        ("q\u0323\u0307", "q\u0307\u0323", "0111"),
        ("caf\u00e9", "cafe", "0000"),
        ("x\u0302", "x", "1111"),
        # Right to left: the order of the signs in the text counts, not how it is drawn.
        ("مرحبا بالعالم", "مرحبا", "1111"),
        ("שלום", "םולש", "0000"),
        ("\u200fمرحبا", "مرحبا", "1111"),
        ("مَرحبا", "مرحبا", "0001"),
        # Signs without width are signs, except where only letters and numbers count.
        ("安\u200b管", "安管", "0001"),
        ("a\u200db\u2060c", "abc", "0001"),
        ("co\u00adop", "coop", "0001"),
        ("\ufeff安管", "安管", "1111"),
        ("\u200b", "\u200b", "1110"),
        # Emoji are sequences of signs.
        ("👨\u200d👩\u200d👧", "👨\u200d👩\u200d👧", "1110"),
        ("👨\u200d👩\u200d👧", "👩\u200d👧", "1110"),
        ("👨\u200d👩\u200d👧", "👨👩👧", "0000"),
        ("👍", "👍🏽", "1110"),
        ("❤\ufe0f", "❤", "1110"),
        ("🇩🇪", "🇪🇩", "0000"),
        ("🇩🇪", "🇩🇰", "0000"),
        ("🇩🇪", "🇪🇸", "0000"),
        ("安管👷", "安管", "1111"),
        # Characters beyond the first plane are one sign each, not two halves.
        ("𠀀", "𠀁", "0000"),
        ("𠀀𠀁", "𠀁", "1111"),
        ("𠀀𠀁𠀂𠀃𠀄𠀅𠀆𠀇", "𠀀𠀁𠀂𠀃𠀄𠀅𠀆𠀈", "1111"),
        ("𝐀𝐁", "AB", "0111"),
    ],
)  # fmt: skip
def test_labels_and_items_by_form(gold: str, got: str, points: str) -> None:
    for rules in (Label, Listed):
        one, other = ([gold], [got]) if rules is Listed else (gold, got)
        if rules is Listed and not letters(gold + got):  # then both lists are empty
            points = points[:3] + "1"
        assert "".join(str(worth(rules(form=form), one, other)) for form in FORMS) == points
        assert "".join(str(worth(rules(form=form), other, one)) for form in FORMS) == points


def test_the_likeness_of_texts_in_two_writings_is_what_it_is() -> None:
    """The pairs of 消防安全 are the same, those behind it are not: 3 of 7 + 7 - 3."""
    assert len(pairs_of("消防安全设备检查") & pairs_of("消防安全設備檢查")) == 3
    (line,) = Label().details("消防安全设备检查", "消防安全設備檢查", NOWHERE)
    assert line.note == "likeness 3/11 = 0.273, needs 0.72"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ＧＰＴ－４ ｖ１．２", []),
        ("GPT-4．", ["gpt-4"]),
        ("エレベーター ｴﾚﾍﾞｰﾀｰ", []),
        ("한국어 텍스트", []),
        ("النص العربي", []),
        ("ЛИФТ лифт", []),
        ("café naïve résumé", ["caf", "sum"]),
        ("cafe\u0301s", ["cafe"]),
        ("人々", []),
        ("安\u200b管", []),
        ("安\n管", []),
        ("安管，機電", ["安管", "機電"]),
        ("安管abc機電", ["abc", "安管", "機電"]),
        ("安管a機電", ["安管", "機電"]),
        ("安全a安全", ["安全"]),
        ("\u3400\u3401", []),
        ("\u4e00\u9fff", ["\u4e00\u9fff"]),
        ("\u4dff\u4e00", []),
        ("\u9fff\ua000", []),
        ("𠀀𠀁", []),
        ("\uf9f4\uf9f5", []),
        ("机电組", ["机电", "电組"]),
        ("👷安管👷", ["安管"]),
        ("K8s K8S k8s", ["k8s"]),
        ("a.b _abc -abc .abc", ["a.b", "abc"]),
        ("ＡＢabc", ["abc"]),
        ("\u0130abc", ["abc"]),
        ("\u212aabc", ["abc"]),
    ],
)
def test_keywords_of_every_script(text: str, found: list[str]) -> None:
    assert keywords(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "엘리베이터에 갇힌 승객을 진정시키고 즉시 업체에 연락하십시오. 문을 열지 마십시오.",
        "لا تفتح باب المصعد بالقوة واتصل بالشركة فورا وطمئن الركاب",
    ],
)
def test_a_passage_without_latin_or_chinese_text_has_no_keywords_and_no_worth(text: str) -> None:
    assert len(text) > 40
    assert Keywords().compare(text, text, NOWHERE).score == 0


@pytest.mark.parametrize(
    ("text", "anchor", "points"),
    [
        ("切勿強行開門。", "切勿強行開門", "1111"),
        ("切勿強行開門。", "切勿强行开门", "0000"),
        ("切勿，強行開門", "切勿,強行", "0111"),
        ("切勿 強行", "切勿強行", "0001"),
        ("切勿\u3000\n強行", "切勿 強行", "1111"),
        ("caf\u00e9 rules", "cafe\u0301 rules", "0111"),
        ("ＣＡＬＬ", "call", "0011"),
        ("安\u200b管", "安管", "0001"),
        ("👨\u200d👩\u200d👧", "👩", "1110"),
        ("مرحبا بالعالم", "بالعالم", "1111"),
        ("𠀀𠀁𠀂", "𠀁", "1111"),
        ("…", "…", "1110"),
    ],
)
def test_anchors_by_form(text: str, anchor: str, points: str) -> None:
    context = Context([ContextChunk("a", text)])
    entries = [{"refs": [{"file": "a", "anchors": [anchor]}]}]
    assert "".join(str(worth(Grounding(form=form), None, entries, context)) for form in FORMS) == points


def test_files_are_compared_sign_by_sign() -> None:
    context = Context([ContextChunk("caf\u00e9.pdf", "text"), ContextChunk("電梯.xlsx", "text")])
    for file, points in [("caf\u00e9.pdf", 1), ("cafe\u0301.pdf", 0), ("電梯.xlsx", 1), ("电梯.xlsx", 0)]:
        entries = [{"refs": [{"file": file, "anchors": ["text"]}]}]
        assert {worth(Grounding(form=form), None, entries, context) for form in FORMS} == {points}


# Blanks.

BLANKS = [
    *range(0x09, 0x0E), *range(0x1C, 0x21), 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F,
    0x3000,
]  # fmt: skip
NO_BLANKS = [0x00, 0xAD, 0x034F, 0x180E, 0x200B, 0x200C, 0x200D, 0x200E, 0x2060, 0x3164, 0xFEFF, 0xFFFD, 0xE0020]


def test_the_list_of_blanks_is_whole() -> None:
    spaces = [code for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) in ("Zs", "Zl", "Zp")]
    assert set(spaces) < set(BLANKS)
    assert [code for code in range(sys.maxunicode + 1) if not unspaced(chr(code))] == BLANKS


EVIDENCE = "calm passengers then call elevator maintenance vendor immediately never force door"


def plain_gold(**changes: Json) -> Row:
    return {
        "target_audience": "guards",
        "main_topic": "lifts",
        "sub_topic": "people stuck",
        "detailed_description": ["calm the passengers"],
        "original_evidence": EVIDENCE,
        "predicted_questions": [],
    } | changes


CHUNKS = [ContextChunk("a.xlsx", EVIDENCE)]
SOURCES = [{"part": "sub_topic", "refs": [{"file": "a.xlsx", "anchors": ["never force"]}]}]


@pytest.mark.parametrize("code", BLANKS)
def test_every_blank_is_a_blank_everywhere(code: int) -> None:
    blank = chr(code)
    assert squeeze(f"{blank}a{blank}{blank} b{blank}") == "a b"
    got = plain_gold(
        target_audience=f"{blank}guards{blank}",
        sub_topic=f"people{blank}{blank}stuck",
        detailed_description=[blank, f"c{blank}alm the{blank}passengers"],
        predicted_questions=[blank * 3],
        original_evidence=EVIDENCE.replace(" ", blank),
        source_map=[{"refs": [{"file": "a.xlsx", "anchors": [f"{blank}never{blank} {blank}force"]}]}],
    )
    chunks = [ContextChunk("a.xlsx", EVIDENCE.replace(" ", blank * 2))]
    assert score(plain_gold(), got, chunks).score == 100
    assert worth(Label("exact"), "people stuck", f"people{blank}stuck") == 1
    assert worth(Label(), blank, blank) == 0
    assert Keywords().compare("x", f"{blank}ab{blank}{blank}c", NOWHERE).counts == (0, 4)
    known = grading.read(bundled(), StructuredOutput(raw=f"{blank}{json.dumps(got)}{blank}"))
    assert (known.value, known.reason) == (got, None)


@pytest.mark.parametrize("code", NO_BLANKS)
def test_what_only_looks_like_a_blank_is_a_sign(code: int) -> None:
    sign = chr(code)
    assert worth(Label("exact"), "ab", f"a{sign}b") == 0
    assert worth(Label("exact"), "ab", f"{sign}ab") == 0
    assert worth(Label(), sign, sign) == 1
    assert Listed().compare([], [sign], NOWHERE).counts == (0, 0, 1)
    assert Keywords().compare("x", sign * 5, NOWHERE).counts == (0, 5)


# Any answer.

SIGNS = st.characters(exclude_categories=["Cs", "Co"])
"""Everything but private characters, of which the junk below is made."""
WORDS = st.text(SIGNS, max_size=12) | st.text("安管機電組abcAB é\u0301　", max_size=12)
JUNK = "\ue000\ue001\ue002\ue003"
FILES = ("a.xlsx", "b.pdf", "電梯.xlsx")


def filled(text: str) -> bool:
    return bool(text.strip()) and text.strip() != "string"


LABELS = WORDS.filter(lambda text: text.strip() != "string")
TEXT_LISTS = st.lists(LABELS, max_size=14)
REFS = st.fixed_dictionaries({"file": st.sampled_from([*FILES, "zzz"]), "anchors": st.lists(WORDS, max_size=7)})
ENTRIES = st.fixed_dictionaries({"part": st.just("sub_topic"), "refs": st.lists(REFS, max_size=7)})
ODD = st.sampled_from([None, 7, "x", {}, {"refs": None}, {"refs": [1, {}]}])
ANSWERS = st.fixed_dictionaries(
    {
        "target_audience": LABELS,
        "main_topic": LABELS,
        "sub_topic": LABELS,
        "detailed_description": TEXT_LISTS,
        "original_evidence": LABELS,
        "source_map": st.lists(ENTRIES | ODD, max_size=14),
        "predicted_questions": TEXT_LISTS,
    }
)
CONTEXTS = st.lists(
    st.builds(ContextChunk, st.none() | st.sampled_from(FILES), st.none() | st.text(SIGNS, max_size=30)), max_size=4
)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Row, Row, list[ContextChunk]]:
    """An expected object, an answer with parts of it, and a context with some of its anchors."""
    gold: Row = draw(ANSWERS)
    got: Row = dict(draw(ANSWERS))
    chunks = draw(CONTEXTS)
    for name in draw(st.sets(st.sampled_from(sorted(gold)))):
        got[name] = gold[name]
    quoted = [anchor for entry in got["source_map"] if isinstance(entry, dict) and entry.get("part")
              for ref in entry["refs"] for anchor in ref["anchors"]]  # fmt: skip
    if quoted:
        chunks.append(ContextChunk(draw(st.sampled_from(FILES)), f"x {draw(st.sampled_from(quoted))} y"))
    return gold, got, chunks


@settings(max_examples=120, deadline=None)
@given(pairs(), st.booleans())
def test_every_part_and_the_score_stay_within_their_bounds(
    case: tuple[Row, Row, list[ContextChunk]], plain: bool
) -> None:
    gold, got, chunks = case
    item = score(gold, got, chunks, plain=plain)
    assert all(type(part) is Fraction and 0 <= part <= 1 for part in item.parts)
    assert 0 <= item.score <= 100
    weights = ["0.1", "0.1", "0.1", "0.3", "0.2", "0.1", "0.1"]
    assert item.score == 100 * sum((F(weight) * part for weight, part in zip(weights, item.parts, strict=True)), F(0))
    assert item.score + sum((one.points for one in grading.losses(bundled(), item)), F(0)) == 100


@st.composite
def perfect(draw: st.DrawFn) -> tuple[Row, Row, list[ContextChunk]]:
    """An expected object that can be met in full, the answer that meets it, and its context."""
    labels = WORDS.filter(filled)
    words = draw(st.lists(st.from_regex(r"[a-z]{3,8}", fullmatch=True), min_size=8, max_size=40, unique=True))
    evidence = f"{draw(labels)} {' '.join(words)} ".ljust(50, "。")
    gold: Row = {
        **{name: draw(labels) for name in NAMES[:3]},
        "detailed_description": draw(st.lists(labels, max_size=12)),
        "original_evidence": evidence,
        "predicted_questions": draw(st.lists(labels, max_size=10)),
    }
    chunks = [ContextChunk(file, draw(st.text(SIGNS, min_size=1, max_size=20).filter(filled))) for file in FILES]
    entries = []
    for _ in range(draw(st.integers(1, 12))):
        places = draw(st.lists(st.sampled_from(chunks), min_size=1, max_size=6))
        entries.append({"part": "sub_topic", "refs": [_quote(chunk, draw) for chunk in places]})
    return gold, gold | {"source_map": entries}, chunks


def _quote(chunk: ContextChunk, draw: st.DrawFn) -> Row:
    text = chunk.text or ""
    begin = draw(st.integers(0, len(text) - 1))
    anchor = text[begin : draw(st.integers(begin + 1, len(text)))]
    return {"file": chunk.source_path, "anchors": [JUNK, anchor if anchor.strip() else text]}


@settings(max_examples=90, deadline=None)
@given(perfect(), st.booleans())
def test_a_perfect_answer_is_worth_exactly_100(case: tuple[Row, Row, list[ContextChunk]], plain: bool) -> None:
    gold, got, chunks = case
    item = score(gold, got, chunks, plain=plain)
    assert item.parts == (F(1),) * 7
    assert item.score == 100
    assert grading.losses(bundled(), item) == []


@settings(max_examples=90, deadline=None)
@given(pairs(), st.sampled_from(["detailed_description", "predicted_questions"]), st.data())
def test_junk_in_a_list_never_pays(case: tuple[Row, Row, list[ContextChunk]], name: str, data: st.DataObject) -> None:
    gold, got, chunks = case
    before = score(gold, got, chunks)
    at = data.draw(st.sampled_from([0, len(got[name])]) | st.integers(0, len(got[name])))
    padded = got | {name: [*got[name][:at], JUNK, *got[name][at:]]}
    after = score(gold, padded, chunks)
    assert after.score <= before.score
    cap = 12 if name == "detailed_description" else 10
    if at < cap and before.parts[NAMES.index(name)]:
        assert after.score < before.score or len(got[name]) >= cap


@settings(max_examples=90, deadline=None)
@given(pairs(), st.data())
def test_junk_references_never_pay(case: tuple[Row, Row, list[ContextChunk]], data: st.DataObject) -> None:
    gold, got, chunks = case
    before = score(gold, got, chunks)
    junk = data.draw(st.sampled_from([{"file": JUNK, "anchors": [JUNK]}, {"file": FILES[0], "anchors": [JUNK]}, None]))
    entries: list[Json] = got["source_map"]
    attempts = [[*entries, {"refs": [junk]}]]
    if len(entries) < 12:
        attempts.append([{"refs": [junk]}, *entries])
    for nth, entry in enumerate(entries):
        if isinstance(entry, dict) and isinstance(entry.get("refs"), list):
            for refs in ([*entry["refs"], junk], [junk, *entry["refs"]]):
                attempts.append([*entries[:nth], entry | {"refs": refs}, *entries[nth + 1 :]])
    for padded in attempts:
        assert score(gold, got | {"source_map": padded}, chunks).score <= before.score


def test_one_bad_entry_may_push_a_worse_one_over_the_cap() -> None:
    """Only the first twelve entries are looked at, so what comes first decides; this is how the cap is written."""
    good, bad = {"file": "a.xlsx", "anchors": ["never force"]}, {"file": "zzz", "anchors": ["x"]}
    entries = [{"refs": [good]}] * 11 + [{"refs": [bad] * 6}]
    before = score(plain_gold(), plain_gold(source_map=entries), CHUNKS)
    after = score(plain_gold(), plain_gold(source_map=[{"refs": [bad]}, *entries]), CHUNKS)
    assert (before.parts[-1], after.parts[-1]) == (F(11, 17), F(11, 12))


def test_a_blank_item_may_push_a_wrong_one_over_the_cap() -> None:
    """Blank items are dropped after the cap."""
    gold = plain_gold(detailed_description=["calm the passengers"])
    got = ["calm the passengers", *[str(nth) * 5 for nth in range(9)], "xxxxx", "yyyyy"]
    before = score(gold, plain_gold(detailed_description=got, source_map=SOURCES), CHUNKS)
    after = score(gold, plain_gold(detailed_description=["", *got], source_map=SOURCES), CHUNKS)
    assert (before.parts[3], after.parts[3]) == (F(2, 13), F(2, 12))


@settings(max_examples=70, deadline=None)
@given(pairs(), st.randoms(use_true_random=False))
def test_the_order_of_keys_and_of_fields_changes_nothing(case: tuple[Row, Row, list[ContextChunk]], rng: Any) -> None:
    gold, got, chunks = case
    item = score(gold, got, chunks)
    keys = list(got)
    rng.shuffle(keys)
    assert score(gold, {key: got[key] for key in keys}, chunks) == item
    assert score({key: gold[key] for key in keys}, got, chunks) == item
    order = list(range(7))
    rng.shuffle(order)
    mixed = bundled()._replace(fields=tuple(bundled().fields[nth] for nth in order))
    other = score(gold, got, chunks, mixed)
    assert other.score == item.score
    assert other.parts == tuple(item.parts[nth] for nth in order)
    assert other.counts == tuple(item.counts[nth] for nth in order)
    assert sorted(other.over) == sorted(item.over)


@settings(max_examples=70, deadline=None)
@given(pairs(), st.text(SIGNS, max_size=8), st.none() | st.text(max_size=5) | st.lists(st.just("string"), max_size=2))
def test_a_key_that_is_not_asked_for_changes_nothing(
    case: tuple[Row, Row, list[ContextChunk]], key: str, value: Json
) -> None:
    gold, got, chunks = case
    if key in got:
        return
    assert (
        score(gold, {key: value} | got, chunks) == score(gold, got | {key: value}, chunks) == score(gold, got, chunks)
    )
    assert score(gold | {key: value}, got, chunks) == score(gold, got, chunks)


def details(gold: Row, got: Row, chunks: Sequence[ContextChunk]) -> bytes:
    """Everything that people are told about an answer."""
    context = Context(chunks)
    lines = []
    for field, wanted in zip(bundled().fields, grading.wanted_of(bundled(), {"answer_example": gold}), strict=True):
        expected = None if field.kind == "grounding" else wanted
        lines.append(field.rules.details(expected, value_at(got, field.at), context))
    return json.dumps(lines, ensure_ascii=False).encode()


@settings(max_examples=90, deadline=None)
@given(pairs())
def test_what_people_are_told_agrees_with_the_score(case: tuple[Row, Row, list[ContextChunk]]) -> None:
    gold, got, chunks = case
    text = details(gold, got, chunks)
    assert text == details(gold, got, list(chunks))
    item = score(gold, got, chunks)
    lines = dict(zip(NAMES, json.loads(text), strict=True))
    for nth, name in enumerate(NAMES):
        good = sum(line[0] for line in lines[name])
        kind = bundled().fields[nth].kind
        if kind == "label":
            assert good == item.parts[nth]
        elif kind == "list":
            found, wanted, given_ = item.counts[nth]
            assert good == found + (wanted == given_ == 0)
            assert sum(line[1] is not None for line in lines[name]) == wanted
            late = sum("not looked at" in line[3] for line in lines[name])
            assert sum(line[2] is not None for line in lines[name]) == given_ + late
        elif kind == "grounding":
            assert good == item.counts[nth][0]
            notes = [line[3] for line in lines[name]]
            assert (
                len([note for note in notes if note != "no reference" and "looked at" not in note])
                == item.counts[nth][1]
            )


HASHED = """
import json
from ragworthy.metrics.kinds.texts import Keywords, Label, Listed
from ragworthy.metrics.kinds.grounding import Grounding
from ragworthy.metrics.context import Context
from ragworthy.records import ContextChunk
context = Context([ContextChunk("a", "one two"), ContextChunk("b", "three")])
gold, got = ["安撫乘客保持鎮靜", "call the vendor", "wait"], ["先安撫乘客保持", "call a vendor", "wait", "wait here"]
refs = [{"refs": [{"file": "a", "anchors": ["three", "zzz"]}, {"file": "c", "anchors": ["one"]}, 7]}]
print(json.dumps([
    Label().details(gold[0], got[0], context), Listed().details(gold, got, context),
    Keywords().details(" ".join(gold), " ".join(got), context), Grounding().details(None, refs, context),
]))
"""


def test_what_people_are_told_does_not_depend_on_hash_seeds() -> None:
    runs = [
        subprocess.run(
            [sys.executable, "-c", HASHED],
            env=os.environ | {"PYTHONHASHSEED": seed, "LC_ALL": locale},
            capture_output=True,
            check=True,
        ).stdout
        for seed, locale in (("0", "C"), ("1", "C.UTF-8"), ("12345", "C"))
    ]
    assert len(json.loads(runs[0])) == 4
    assert runs[0] == runs[1] == runs[2]


# Exact sums.


@settings(max_examples=120, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 1000), st.fractions(0, 1, max_denominator=997)), min_size=1, max_size=9))
def test_the_weighted_sum_is_exact(rows: list[tuple[int, Fraction]]) -> None:
    whole = sum(weight for weight, _ in rows)
    fields = tuple(
        Field(f"f{nth}", "label", Label(), F(weight, whole), (f"f{nth}",)) for nth, (weight, _) in enumerate(rows)
    )
    parts = tuple(part for _, part in rows)
    exact = sum((field.weight * part for field, part in zip(fields, parts, strict=True)), F(0))
    total = grading.weighted(Definition("own", fields), parts)
    assert total == exact
    assert type(total) is Fraction
    assert 0 <= total <= 1


def test_thirds_add_up() -> None:
    fields = tuple(Field(name, "label", Label(), F(1, 3), (name,)) for name in "abc")
    assert grading.weighted(Definition("own", fields), (F(1), F(1), F(1))) == 1
    assert grading.weighted(Definition("own", fields), (F(0), F(0), F(0))) == 0
    assert sum([0.1] * 3) != 0.3  # what floats would make of the three labels
    item = score(plain_gold(), plain_gold(source_map=[], original_evidence="", detailed_description=[]), CHUNKS)
    assert item.score == 40


# The text helpers underneath.


@settings(max_examples=120, deadline=None)
@given(st.text(max_size=20))
def test_helpers_against_character_by_character(text: str) -> None:
    bare = "".join(sign for sign in text if not sign.isspace())
    assert unspaced(text) == bare
    assert pairs_of(bare) == {bare[nth : nth + 2] for nth in range(len(bare) - 1)}
    kept = "".join(
        sign for sign in unicodedata.normalize("NFKC", text) if unicodedata.category(sign).startswith(("L", "N"))
    )
    assert letters(text) == kept.lower()
    assert unspaced(squeeze(text)) == bare
    assert squeeze(squeeze(text)) == squeeze(text)
