"""Kinds of fields of a structured answer: the worked examples W-35 … W-38, every table row, every border.

Numbers of the original program (`repo` in the worked examples) come from `metrics/reference_structured`.
"""

import datetime
import json
import time
from collections.abc import Sequence
from difflib import SequenceMatcher
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragworthy.load.definition import bundled, parse_definition
from ragworthy.metrics import grading, reference_structured, structured
from ragworthy.metrics.context import Context
from ragworthy.metrics.definition import ABSENT, Definition, Field, value_at
from ragworthy.metrics.grading import Scored
from ragworthy.metrics.kinds import COUNTS, KINDS, Detail, Kind, Match
from ragworthy.metrics.kinds.grounding import Grounding
from ragworthy.metrics.kinds.texts import LONG, Item, Keywords, Label, Listed, alike, keywords, likeness
from ragworthy.metrics.kinds.values import Boolean, Date, Enum, Number, day, decimal
from ragworthy.names import Failure, Stage
from ragworthy.names import Label as Outcome
from ragworthy.records import ContextChunk, StructuredOutput
from ragworthy.text import described, pairs_of

Json = Any
Row = dict[str, Json]
Pair = tuple[object, object]
NOWHERE = Context([])

EVIDENCE = "calm passengers then call elevator maintenance vendor immediately never force door"
CHUNKS = [ContextChunk("a.xlsx", f"Rule 1: {EVIDENCE}."), ContextChunk("b.pdf", "Second  file\nwith two lines.")]
GOOD_REF: Row = {"file": "a.xlsx", "anchors": ["never force door"]}
BAD_REF: Row = {"file": "unknown.pdf", "anchors": ["never force door"]}
NAMES = [field.name for field in bundled().fields]
F = Fraction


def refs(*each: Json) -> list[Json]:
    """A source map with one entry."""
    return [{"part": "sub_topic", "refs": list(each)}]


def expected(**changes: Json) -> Row:
    return {
        "target_audience": "security guards",
        "main_topic": "elevators",
        "sub_topic": "people stuck",
        "detailed_description": ["calm the passengers", "phone our vendor", "wait outside"],
        "original_evidence": EVIDENCE,
        "predicted_questions": ["Who gets a call?", "What is forbidden?"],
    } | changes


def answer(**changes: Json) -> Row:
    return expected(source_map=refs(GOOD_REF)) | changes


def score(gold: Row, got: Row, chunks: Sequence[ContextChunk] = CHUNKS) -> Scored:
    """One answer from its text to its score, with the bundled definition."""
    wanted = grading.wanted_of(bundled(), {"answer_example": gold})
    known = grading.read(bundled(), StructuredOutput(id="q", raw=json.dumps(got)))
    return grading.score(bundled(), wanted, known, Context(chunks))


def repo(gold: Row, got: Row, chunks: Sequence[ContextChunk] = CHUNKS) -> Scored:
    """The same answer as the original program scores it."""
    return reference_structured.score(gold, StructuredOutput(id="q", raw=json.dumps(got), context=list(chunks)))


def part(name: str, item: Scored) -> Fraction:
    return item.parts[NAMES.index(name)]


def counts(name: str, item: Scored) -> tuple[int, ...]:
    return item.counts[NAMES.index(name)]


def both(name: str, gold: Json, got: Json) -> Pair:
    """What a field is worth by the text and in the original program."""
    changed, given = expected(**{name: gold}), answer(**{name: got})
    return part(name, score(changed, given)), part(name, repo(changed, given))


def grounded(entries: Json, chunks: Sequence[ContextChunk] = CHUNKS) -> Pair:
    got = answer(source_map=entries)
    return part("grounding", score(expected(), got, chunks)), part("grounding", repo(expected(), got, chunks))


def one(kind: Kind, gold: Json, got: Json, context: Context = NOWHERE) -> Fraction:
    return kind.compare(gold, got, context).score


# W-35: the total.


def test_w35_a_mixed_answer_is_worth_70() -> None:
    got = answer(
        sub_topic="zzz",
        detailed_description=["calm the passengers", "phone our vendor", "9876543210"],
        original_evidence="calm passengers then call elevator maintenance",
        source_map=refs(GOOD_REF, BAD_REF),
    )
    item = score(expected(), got)
    assert item.parts == (F(1), F(1), F(0), F(2, 3), F(3, 4), F(1), F(1, 2))
    assert item.score == 10 + 10 + 0 + 30 * F(2, 3) + 20 * F(3, 4) + 10 + 10 * F(1, 2) == 70
    assert item.counts == ((), (), (), (2, 3, 3), (6, 46), (2, 2, 2), (1, 2))
    # The original program asks for 6 keywords and 25 characters only, so that the evidence is worth all 20 points.
    assert repo(expected(), got).score == 75


@pytest.mark.parametrize(
    ("changes", "points"),
    [
        ({}, 100),
        ({"target_audience": "zzz"}, 90),
        ({"source_map": refs(GOOD_REF, BAD_REF)}, 95),
        ({"source_map": []}, 90),
        ({"detailed_description": [], "predicted_questions": []}, 60),
    ],
)
def test_w35_single_faults(changes: Row, points: int) -> None:
    assert score(expected(), answer(**changes)).score == points
    assert repo(expected(), answer(**changes)).score == points


def test_the_weights_are_those_of_the_text_and_sum_to_one() -> None:
    weights = [F(1, 10), F(1, 10), F(1, 10), F(3, 10), F(2, 10), F(1, 10), F(1, 10)]
    assert [field.weight for field in bundled().fields] == weights
    assert [F(str(weight)) for _, weight in reference_structured.FIELDS] == weights
    assert [name for name, _ in reference_structured.FIELDS] == NAMES
    assert sum(weights) == 1 == sum(weight for _, weight in reference_structured.FIELDS)


# W-36: lists.

THREE = ["calm the passengers", "phone our vendor", "wait outside"]
ALIENS = [str(digit) * 9 for digit in range(10)] + ["0246813579"]


def test_w36_two_of_three_and_an_alien() -> None:
    got = [*THREE[:2], ALIENS[0]]
    recall, precision = F(2, 3), F(2, 3)
    f1 = 2 * precision * recall / (precision + recall)
    assert f1 == F(2, 3)
    assert both("detailed_description", THREE, got) == (f1, F("0.6667"))


def test_w36_items_beyond_the_cap_do_not_count() -> None:
    got = [*THREE, *ALIENS]
    assert len(got) == 14
    recall, precision = F(1), F(3, 12)
    f1 = 2 * precision * recall / (precision + recall)
    assert f1 == F(2, 5)
    assert both("detailed_description", THREE, got) == (f1, F("0.4"))
    item = score(expected(detailed_description=THREE), answer(detailed_description=got))
    assert counts("detailed_description", item) == (3, 3, 12)
    assert item.over == ("detailed_description",)


def test_w36_chinese_items_are_like_enough_for_the_program_only() -> None:
    wanted, got = ["安撫乘客保持鎮靜", "聯絡維保廠商"], ["先安撫乘客", "與維保公司聯絡", "其他"]
    ratios = [round(SequenceMatcher(None, a, b).ratio(), 4) for a, b in zip(wanted, got, strict=False)]
    assert ratios == [0.6154, 0.3077]
    assert jaccard(wanted[0], got[0]) == F(3, 8)
    assert jaccard(wanted[1], got[1]) < F(3, 8)
    # 2 of 2 found, 2 of 3 right: F1 = 4/5.
    assert both("detailed_description", wanted, got) == (0, F(4, 5))


def test_w36_greedy_is_not_the_best_matching() -> None:
    wanted, got = ["abcd", "abxd"], ["abcd", "abcz"]
    ratios = [SequenceMatcher(None, a, b).ratio() for a in wanted for b in got]
    assert ratios == [1.0, 0.75, 0.75, 0.5]
    assert reference_structured._listing(wanted, got, 0.6) == (0.5, (1, 2, 2))
    # By the text: "ab" takes the first item that has it, the only one that "abc" could have taken.
    assert Listed().compare(["ab", "abc"], ["abcd", "abyy"], NOWHERE) == Match(F(1, 2), (1, 2, 2))
    assert Listed().compare(["abc", "ab"], ["abcd", "abyy"], NOWHERE) == Match(F(1), (2, 2, 2))


# W-37: evidence, labels, references.


@pytest.mark.parametrize(
    ("got", "hits", "length", "text", "program"),
    [
        (EVIDENCE, 11, 82, F(1), F(1)),
        ("calm passengers vendor", 3, 22, F(3, 8) * F(22, 40), F(3, 6) * F(22, 25)),
        ("calm passengers then call elevator maintenance", 6, 46, F(3, 4), F(1)),
        ("", 0, 0, F(0), F(0)),
    ],
)
def test_w37_evidence(got: str, hits: int, length: int, text: Fraction, program: Fraction) -> None:
    assert len(keywords(EVIDENCE)) == 11
    assert Keywords().compare(EVIDENCE, got, NOWHERE) == Match(text, (hits, length))
    assert both("original_evidence", EVIDENCE, got) == (text, program)


def test_w37_the_numbers_of_the_short_evidence() -> None:
    assert both("original_evidence", EVIDENCE, "calm passengers vendor") == (F("0.20625"), F("0.44"))


def test_w37_keywords() -> None:
    words = ["gpt-4", "v1.2", "xyz_1", "版本", "緊急", "急應", "應變", "變處", "處置"]
    assert keywords("GPT-4 版本 v1.2 與 緊急應變處置 ab xyz_1 GPT-4") == words


@pytest.mark.parametrize(
    ("gold", "got", "text", "program"),
    [
        ("安管", "安管/機電組", 1, 1),
        ("安管/機電組", "安管", 1, 1),
        ("緊急應變處置", "緊急應變處理", 0, 0),
        ("abcdefgh", "abcdefgx", 1, 1),
        ("abcdef", "abcdex", 0, 0),
        ("x", "y", 0, 1),
        ("Alpha", "alpha", 0, 0),
        ("A", "bAnana", 1, 1),
        ("", "x", 0, 0),
        ("x", " \n", 0, 0),
        ("a  b", " a\tb c", 1, 1),
        ("a b c d e f g h", "abcdefgx", 1, 1),
        ("a b", "ab", 1, 1),
        ("x", "yz", 0, 0),
    ],
)
def test_w37_labels(gold: str, got: str, text: int, program: int) -> None:
    assert both("main_topic", gold, got) == (text, program)


@pytest.mark.parametrize("empty", [0, 0.0, False, [], {}, None, ""])
def test_what_is_false_is_an_empty_text_to_the_program(empty: Json) -> None:
    gold = expected(main_topic=str(empty) or "x", original_evidence=f"{empty} and more")
    item = repo(gold, answer(main_topic=empty, original_evidence=empty))
    assert part("main_topic", item) == part("original_evidence", item) == 0
    assert counts("original_evidence", item) == (0, 0)
    assert (item.score, item.reason) == (F(100 - 10 - 20), None)
    assert part("main_topic", repo(gold, answer(main_topic=f"{empty}x"))) == 1


@pytest.mark.parametrize("name", ["detailed_description", "predicted_questions"])
def test_what_is_false_is_an_empty_list_to_the_scorer_of_the_program(name: str) -> None:
    nothing: tuple[Json, ...] = ("", 0, False, {}, None)
    for empty in nothing:
        item = repo(expected(**{name: []}), answer(**{name: empty}))
        assert (item.score, item.reason, item.counted) == (F(0), Failure.SCHEMA_FAILED, False)
        assert (item.parts, counts(name, item)) == ((F(1),) * 7, (0, 0, 0))
        assert part(name, repo(expected(), answer(**{name: empty}))) == 0
    for other in ("x", 7, True, {"a": 1}):
        assert repo(expected(), answer(**{name: other}))[:4] == (F(0), (), (), Failure.SCHEMA_FAILED)


def test_w37_the_likenesses_of_the_labels() -> None:
    assert jaccard("緊急應變處置", "緊急應變處理") == F(4, 6) < F("0.72")
    assert jaccard("abcdefgh", "abcdefgx") == F(6, 8) > F("0.72")


def test_w37_references() -> None:
    assert grounded(refs(BAD_REF)) == (0, 0)
    bare = [ContextChunk(None, EVIDENCE)]
    assert grounded(refs(GOOD_REF), bare) == (0, 1)
    halves = [ContextChunk("a.xlsx", "never force"), ContextChunk("a.xlsx", "door")]
    assert grounded(refs(GOOD_REF), halves) == (0, 1)


def test_a_fence_takes_the_word_behind_it_along_in_the_program() -> None:
    fence = "```"
    for word in ("", "json", "JSON", "Safety", "a-b_9"):
        found = reference_structured.find(f'{fence}{word}\n{{"a": 1}}\n{fence}')
        assert found == ({"a": 1}, Failure.CODE_FENCE)
    got = answer(target_audience=f"{fence}Safety  staff{fence}", main_topic=f"{fence}json.doc", sub_topic=f"a {fence}")
    item = repo(expected(target_audience="staff", main_topic=".doc", sub_topic="a"), got)
    assert (item.score, item.reason, item.parts[:3]) == (F(0), Failure.CODE_FENCE, (F(1),) * 3)
    assert part("target_audience", repo(expected(target_audience="Safety"), got)) == 0


# W-38: the average.


@pytest.mark.parametrize(("points", "mean", "program"), [(96, F("94.08"), F(96)), (97, F("95.06"), F(97))])
def test_w38_failed_answers_enter_the_mean_of_the_text_only(points: int, mean: Fraction, program: Fraction) -> None:
    good = [Scored(F(points), (), ())] * 98
    bad = [grading.score(bundled(), (), grading.read(bundled(), StructuredOutput(raw="no")), NOWHERE)] * 2
    bad_there = [reference_structured.score({}, StructuredOutput(raw="no"))] * 2
    assert _mean([structured.score(item) for item in good + bad]) == mean
    assert _mean([structured.score(item) for item in good + bad_there]) == program
    for items in (good + bad, good + bad_there):
        passed = [structured.schema_pass_rate(item) for item in items]
        assert F(passed.count(True), len(passed)) == F("0.98")


def _mean(values: Sequence[Fraction | None]) -> Fraction:
    known = [value for value in values if value is not None]
    return sum(known, F(0)) / len(known)


def test_the_95th_percentile_of_the_program() -> None:
    nineteen, twenty = [F(n) for n in range(19)], [F(n) for n in range(1, 21)]
    assert reference_structured.p95(nineteen) == 18
    # Twenty values, exclusive: position 0.95 * 21 = 19.95, so 19 + 0.95 * (20 - 19).
    assert reference_structured.p95(twenty) == F("19.95")


# Labels.


def jaccard(one: str, other: str) -> Fraction:
    """Likeness of two texts, the plain way."""
    a, b = ("".join(ch for ch in text if not ch.isspace()) for text in (one, other))
    ours = [a[i : i + 2] for i in range(len(a) - 1)]
    theirs = [b[i : i + 2] for i in range(len(b) - 1)]
    union = set(ours + theirs)
    shared = [pair for pair in union if pair in ours and pair in theirs]
    return F(len(shared), len(union)) if ours and theirs else F(0)


def apart(shared: int, ours: int, theirs: int) -> tuple[str, str]:
    """Two texts with so many pairs in common and so many of their own, neither within the other."""
    signs = iter(chr(0x4E00 + nth) for nth in range(20_000))
    same = "".join(next(signs) for _ in range(shared + 1))
    return same + "".join(next(signs) for _ in range(ours)), same + "".join(next(signs) for _ in range(theirs))


@pytest.mark.parametrize(
    ("shared", "ours", "theirs", "points"),
    [
        (18, 3, 4, 1),  # 18/25 = 0.72
        (36, 10, 4, 1),  # 36/50 = 0.72
        (17, 4, 4, 0),  # 17/25 = 0.68
        (18, 4, 4, 0),  # 18/26
        (71, 14, 14, 0),  # 71/99 = 0.7171…
        (719, 140, 141, 0),  # 719/1000 = 0.719
        (7199, 1400, 1400, 0),  # 7199/9999 = 0.71997…
        (7200, 1400, 1400, 1),  # 7200/10000 = 0.72
    ],
)
def test_labels_at_the_border_of_likeness(shared: int, ours: int, theirs: int, points: int) -> None:
    one_text, other = apart(shared, ours, theirs)
    assert likeness(_pairs(one_text), _pairs(other)) == F(shared, shared + ours + theirs)
    if shared < 1000:
        assert jaccard(one_text, other) == F(shared, shared + ours + theirs)
    assert both("sub_topic", one_text, other) == (points, points)
    assert both("detailed_description", [one_text], [other])[0] == points


def _pairs(text: str) -> Item:
    return Item(text, text)


LETTERS = st.text("abcde  ", max_size=9)


@settings(max_examples=300, deadline=None)
@given(LETTERS, LETTERS, st.sampled_from(["0.72", "0.5", "1", "0.01"]))
def test_labels_against_the_plain_rule(gold: str, got: str, threshold: str) -> None:
    a, b = " ".join(gold.split()), " ".join(got.split())
    good = bool(a and b) and (a in b or b in a or jaccard(gold, got) >= F(threshold))
    rules = Label(threshold=F(threshold))
    assert one(rules, gold, got) == one(rules, got, gold) == good
    assert alike(_pairs(a), _pairs(b), F(threshold)) == (likeness(_pairs(a), _pairs(b)) >= F(threshold))


@pytest.mark.parametrize(
    ("form", "gold", "got", "points"),
    [
        ("exact", "Alpha", "alpha", 0),
        ("exact", "\uff21\uff22", "AB", 0),
        ("nfkc", "\uff21\uff22", "AB", 1),
        ("nfkc", "Alpha", "alpha", 0),
        ("folded", "\uff21lpha", "alpha", 1),
        ("folded", "STRASSE", "straße", 1),
        ("folded", "a-l-p-h-a", "alpha", 0),
        ("letters", "(A)-l.p/h a!", "ALPHA", 1),
        ("letters", "!?", "!?", 0),
        ("letters", "STRASSE", "straße", 0),
        ("letters", "x\u00b2", "X2", 1),
    ],
)
@pytest.mark.parametrize("match", ["fuzzy", "exact"])
def test_forms_of_labels(form: Any, gold: str, got: str, points: int, match: Any) -> None:
    assert one(Label(match, form=form), gold, got) == points
    blank = form == "letters" and gold == "!?"  # then both lists are empty
    assert one(Listed(match=match, form=form), [gold], [got]) == (1 if blank else points)


def test_exact_labels() -> None:
    rules = Label("exact")
    assert one(rules, "a  b ", "\ta b") == 1
    assert one(rules, "ab", "abc") == 0
    assert one(rules, "a b", "ab") == 0
    assert one(rules, "abcdefgh", "abcdefgx") == 0
    assert one(rules, "", "") == one(rules, " ", "\n") == 0


@pytest.mark.parametrize(
    ("contained", "gold", "got", "points"),
    [
        ("0", "x", "x" + "y" * 99, 1),
        ("0.25", "ab", "yyabyyyy", 1),
        ("0.25", "yyabyyyy", "ab", 1),
        ("0.25", "ab", "yyabyyyyy", 0),
        ("0.26", "ab", "yyabyyyy", 0),
        ("1", "ab", "ab", 1),
        ("1", "ab", "abc", 0),
        ("1", "abcdefgh", "abcdefghi", 1),  # not by containment, but 7 of 8 pairs are alike
    ],
)
def test_how_much_of_a_text_must_be_contained(contained: str, gold: str, got: str, points: int) -> None:
    assert one(Label(contained=F(contained)), gold, got) == points
    assert one(Listed(contained=F(contained)), [gold], [got]) == points


@pytest.mark.parametrize(
    ("gold", "got", "thin"),
    [
        ("ab", "abcdefgh", True),
        ("abcdefgh", "gh", True),
        ("ab", "abcdefg", False),
        ("ab", "ab", False),
        ("ab", "zzzzzzzz", False),
        ("", "zzzzzzzz", False),
    ],
)
def test_a_match_of_a_quarter_or_less_is_thin(gold: str, got: str, thin: bool) -> None:
    assert Label().compare(gold, got, NOWHERE).thin is thin
    assert Listed().compare([gold], [got], NOWHERE).thin is thin
    assert Listed().compare(["1234", gold], [got, "1234"], NOWHERE).thin is thin
    for rules in (Label("exact"), Label(contained=F(1, 2))):
        assert not rules.compare(gold, got, NOWHERE).thin
    for listed in (Listed(match="exact"), Listed(contained=F(1, 2))):
        assert not listed.compare([gold], [got], NOWHERE).thin


def test_the_share_that_must_be_contained_is_a_decimal_and_not_a_float() -> None:
    gold, got = "甲" * 7, "甲" * 7 + "".join(chr(0x4E00 + nth) for nth in range(93))
    assert len(gold) < 0.07 * len(got)  # what floats say
    for contained, points in (("0.07", 1), ("0.0700000001", 0)):
        assert one(Label(contained=F(contained)), gold, got) == points
        assert one(Listed(contained=F(contained)), [gold], [got]) == points


def test_a_thin_match_is_noted_in_the_score() -> None:
    assert score(expected(), answer(main_topic="e")).thin
    assert not score(expected(), answer(main_topic="ele")).thin
    assert not score(expected(), answer()).thin


# Lists.


def test_lists_may_match_by_likeness_or_containment_without_blanks() -> None:
    """First row of the table: the rule of labels on texts without spaces; in the program a ratio from 0.13 up."""
    assert both("detailed_description", ["安撫 乘客"], ["安撫乘客"]) == (1, 1)
    assert both("detailed_description", ["call"], ["please c a l l now"]) == (1, 1)
    assert both("detailed_description", ["abcdefgh"], ["abcdefgx"]) == (1, 1)
    assert both("detailed_description", ["abcdef"], ["abcdex"]) == (0, 1)
    assert both("detailed_description", ["Call-Us"], ["callus!"]) == (0, 1)


@pytest.mark.parametrize(("shared", "points"), [(13, 1), (12, 0)])
def test_the_low_threshold_of_the_program(shared: int, points: int) -> None:
    """Two texts of 100 letters with so many in common have a ratio of shared/100."""
    gold, got = "a" * shared + "b" * (100 - shared), "a" * shared + "c" * (100 - shared)
    assert SequenceMatcher(None, gold, got).ratio() == shared / 100
    assert both("detailed_description", [gold], [got]) == (0, points)


@pytest.mark.parametrize(("shared", "points"), [(33, 1), (32, 0)])
def test_questions_of_the_program_must_be_liker(shared: int, points: int) -> None:
    gold, got = "a" * shared + "b" * (100 - shared), "a" * shared + "c" * (100 - shared)
    assert both("predicted_questions", [gold], [got]) == (0, points)
    assert both("detailed_description", [gold], [got]) == (0, 1)


def test_containment_is_worth_less_than_equality_in_the_program() -> None:
    """Otherwise the first expected item would take the equal one from the second."""
    assert both("detailed_description", ["abc", "abcd"], ["abcd", "abc"]) == (1, 1)
    assert reference_structured._ratio("abc", "abcd") == 0.99
    assert reference_structured._ratio("abc", "abc") == 1.0


def test_lists_match_one_to_one() -> None:
    """Second row of the table."""
    assert both("detailed_description", ["call us"], ["call us", "call us"]) == (F(2, 3), F("0.6667"))
    assert both("detailed_description", ["call us", "call us"], ["call us"]) == (F(2, 3), F("0.6667"))
    assert both("detailed_description", ["call us"] * 2, ["call us"] * 2) == (1, 1)


def test_expected_items_are_cut_by_the_program_only() -> None:
    """Third row of the table: 15 expected, 12 found: by the text 2 * 12 / (15 + 12)."""
    many = [chr(0x4E00 + 10 * nth) * 5 for nth in range(15)]
    assert both("detailed_description", many, many[:12]) == (F(24, 27), 1)
    assert both("detailed_description", many, many[3:]) == (F(24, 27), F(9, 12))
    assert both("predicted_questions", many, many[:10]) == (F(20, 25), 1)


def test_empty_lists() -> None:
    """Fourth row of the table."""
    for name in ("detailed_description", "predicted_questions"):
        assert both(name, [], []) == (1, 1)
        assert both(name, ["call"], []) == (0, 0)
        assert both(name, [], ["call"]) == (0, 0)
        assert both(name, [" "], ["", "\u3000"]) == (1, 1)


def test_blank_items_are_dropped_after_the_cap() -> None:
    """Last row of the table."""
    assert both("detailed_description", ["call", " "], ["", "call", "\n"]) == (1, 1)
    blanks = [""] * 11
    assert both("detailed_description", ["call", "wait"], [*blanks, "call", "wait"]) == (F(2, 3), F("0.6667"))
    assert both("predicted_questions", ["call", "wait"], [*blanks[:9], "call", "wait"]) == (F(2, 3), F("0.6667"))


def test_items_without_letters_or_numbers_are_dropped_by_the_program_only() -> None:
    gold, got = ["call", "…!"], ["--", "call", "※", "(?)"]
    assert both("detailed_description", gold, got) == (F(2, 2 + 4), 1)
    item = repo(expected(detailed_description=gold), answer(detailed_description=got))
    assert counts("detailed_description", item) == (1, 1, 1)
    assert both("detailed_description", ["…!"], ["--"]) == (0, 1)
    assert both("detailed_description", ["…!"], ["call"]) == both("detailed_description", ["call"], ["…!"]) == (0, 0)
    # They are dropped after the cap: the thirteenth item is not looked at.
    assert both("detailed_description", ["call"], ["!"] * 12 + ["call"]) == (0, 0)


def test_items_that_a_form_leaves_nothing_of_are_dropped() -> None:
    gold, got = ["call", "—"], ["!!", "call", "…"]
    assert Listed(form="letters").compare(gold, got, NOWHERE) == Match(F(1), (1, 1, 1))
    assert Listed().compare(gold, got, NOWHERE) == Match(F(2, 5), (1, 2, 3))


@pytest.mark.parametrize(("name", "cap"), [("detailed_description", 12), ("predicted_questions", 10)])
def test_the_item_at_the_cap_counts_and_the_next_does_not(name: str, cap: int) -> None:
    aliens = [chr(0x4E00 + 10 * nth) * 5 for nth in range(cap)]
    at, behind = [*aliens[: cap - 1], "call"], [*aliens, "call"]
    assert (len(at), len(behind)) == (cap, cap + 1)
    assert both(name, ["call"], at) == (F(2, 1 + cap), round(F(2, 1 + cap), 4))
    assert both(name, ["call"], behind) == (0, 0)


@pytest.mark.parametrize(("name", "limit"), [("detailed_description", 8), ("predicted_questions", 5)])
def test_too_many_items_are_noted_and_scored(name: str, limit: int) -> None:
    items = [chr(0x4E00 + 10 * nth) * 5 for nth in range(limit + 1)]
    item = score(expected(**{name: items}), answer(**{name: items}))
    assert item.score == 100
    assert (item.over, item.ok) == ((name,), True)
    fewer = score(expected(**{name: items[:-1]}), answer(**{name: items[:-1]}))
    assert fewer.score == 100
    assert fewer.over == ()
    blank = score(expected(**{name: items[:-1]}), answer(**{name: [*items[:-1], ""]}))
    assert blank.over == (name,)


def test_exact_lists() -> None:
    rules = Listed(match="exact")
    assert one(rules, ["a b", "cd"], ["cd", "ab"]) == 1
    assert one(rules, ["ab"], ["abc"]) == 0
    assert one(rules, ["abcdefgh"], ["abcdefgx"]) == 0


ITEMS = st.lists(st.text("abc ", max_size=5), max_size=6)


@settings(max_examples=300, deadline=None)
@given(ITEMS, ITEMS, st.integers(1, 6))
def test_lists_against_the_plain_rule(gold: list[str], got: list[str], cap: int) -> None:
    wanted = ["".join(text.split()) for text in gold if text.strip()]
    given_ = ["".join(text.split()) for text in got[:cap] if text.strip()]
    left, found = list(given_), 0
    for item in wanted:
        for other in left:
            if item in other or other in item or jaccard(item, other) >= F("0.72"):
                left.remove(other)
                found += 1
                break
    match = Listed(cap=cap).compare(gold, got, NOWHERE)
    assert match.counts == (found, len(wanted), len(given_))
    recall, precision = (F(found, len(side)) if side else F(not (wanted or given_)) for side in (wanted, given_))
    assert match.score == (2 * precision * recall / (precision + recall) if precision + recall else 0)


@settings(max_examples=200, deadline=None)
@given(ITEMS, ITEMS, st.sampled_from([0.13, 0.33, 0.6]))
def test_lists_of_the_program_against_the_plain_rule(gold: list[str], got: list[str], threshold: float) -> None:
    wanted = ["".join(text.split()) for text in gold if text.strip()]
    given_ = ["".join(text.split()) for text in got if text.strip()]
    alikes = {
        (i, j): 1.0 if a == b else 0.99 if a in b or b in a else SequenceMatcher(None, a, b).ratio()
        for i, a in enumerate(wanted)
        for j, b in enumerate(given_)
    }
    found = 0
    while alikes and max(alikes.values()) >= threshold:
        best = min(pair for pair in alikes if alikes[pair] == max(alikes.values()))
        alikes = {pair: x for pair, x in alikes.items() if pair[0] != best[0] and pair[1] != best[1]}
        found += 1
    value, numbers = reference_structured._listing(gold, got, threshold)
    assert numbers == (found, len(wanted), len(given_))
    whole = len(wanted) + len(given_)
    assert value == pytest.approx(2 * found / whole if whole else 1)


# Very long items.


@settings(max_examples=100, deadline=None)
@given(st.text("abcdef", min_size=LONG + 1, max_size=LONG + 20), st.integers(0, 40))
def test_pairs_are_counted_before_they_are_kept(text: str, most: int) -> None:
    item = Item(text, text)
    assert item.has_more_than(most) == (len(set(pairwise(text))) > most)
    assert item._pairs is None


def test_pairs_of_very_long_items_are_not_built() -> None:
    long, short = _pairs("".join(map(chr, range(0x4E00, 0x4E00 + 5000))) * 20), _pairs("calm the passengers first")
    assert not alike(long, short, F("0.72")) and not alike(short, long, F("0.72"))
    assert long._pairs is None
    few = _pairs("ab" * 500_000)  # a million characters, two pairs
    assert alike(few, _pairs("babab"), F("0.72")) and len(few.pairs) == 2


def test_twelve_items_of_a_million_characters_are_compared_in_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[int] = []

    def noted(text: str) -> frozenset[str]:
        built.append(len(text))
        return pairs_of(text)

    monkeypatch.setattr("ragworthy.metrics.kinds.texts.pairs_of", noted)
    got = [chr(0x4E00 + nth) + "abcdefghijklmnopqrstuvwxyz" * 38_462 for nth in range(12)]
    wanted = ["calm the passengers", "phone our vendor", "wait outside"]
    begun = time.perf_counter()
    assert Listed().compare(wanted, got, NOWHERE) == Match(F(0), (0, 3, 12))
    assert time.perf_counter() - begun < 5
    assert sorted(built) == sorted(len(text.replace(" ", "")) for text in wanted)


# Quoted passages.


def test_a_full_stop_belongs_to_the_word_before_it() -> None:
    assert keywords("Close the door. Then go-") == ["close", "the", "door.", "then", "go-"]
    assert Keywords().compare("door", "the door.", NOWHERE).counts == (0, 9)


@pytest.mark.parametrize(
    ("hits", "length", "value"),
    [(8, 40, F(1)), (7, 40, F(7, 8)), (8, 39, F(39, 40)), (7, 39, F(273, 320)), (9, 41, F(1)), (0, 40, F(0))],
)
def test_passages_at_the_borders(hits: int, length: int, value: Fraction) -> None:
    wanted = " ".join(f"k{nth:02}" for nth in range(12))
    got = " ".join(f"k{nth:02}" for nth in range(hits)).ljust(length, "。")
    assert Keywords().compare(wanted, got, NOWHERE) == Match(value, (hits, length))
    assert both("original_evidence", wanted, got)[0] == value


@pytest.mark.parametrize(
    ("hits", "length", "value"), [(6, 25, "1"), (5, 25, "0.8333"), (6, 24, "0.96"), (5, 24, "0.8")]
)
def test_passages_of_the_program_at_the_borders(hits: int, length: int, value: str) -> None:
    wanted = " ".join(f"k{nth:02}" for nth in range(12))
    got = " ".join(f"k{nth:02}" for nth in range(hits)).ljust(length, "。")
    assert both("original_evidence", wanted, got)[1] == F(value)


def test_blanks_of_a_passage_are_counted_once() -> None:
    assert Keywords().compare("abc", "  abc \n\t\u3000 d ", NOWHERE) == Match(F(1, 8) * F(5, 40), (1, 5))


def test_only_the_first_thirty_keywords_count() -> None:
    wanted = " ".join(f"k{nth:02}" for nth in range(40))
    last_ten = " ".join(f"k{nth:02}" for nth in range(30, 40))
    assert Keywords().compare(wanted, last_ten, NOWHERE).counts == (0, 39)
    assert Keywords().compare(wanted, f"k29 {last_ten}", NOWHERE).counts == (1, 43)
    assert Keywords().compare(wanted, wanted, NOWHERE).counts[0] == 30


def test_keywords_that_are_got_are_cut_by_the_program_only() -> None:
    wanted = " ".join(f"k{nth:02}" for nth in range(8))
    noise = " ".join(f"n{nth:02}" for nth in range(80))
    assert both("original_evidence", wanted, f"{noise} {wanted}") == (1, 0)
    assert both("original_evidence", wanted, f"{noise[:-4]} {wanted}") == (1, round(F(1, 6), 4))


def test_fewer_than_eight_keywords_can_never_be_enough() -> None:
    text = "one two three four five six seven, and so on ……………………"
    short = "one two three four five six seven ………………………………………………"
    assert len(keywords(short)) == 7
    assert one(Keywords(), short, short) == F(7, 8)
    assert one(Keywords(), text, text) == 1


def plain_keywords(text: str) -> list[str]:
    """Keywords of a text, one character after the other."""
    ascii_word = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
    found, run = [], ""
    for sign in f"{text}\n":
        if sign in ascii_word or (run and sign in "._-"):
            run += sign
            continue
        if len(run) >= 3:
            found.append(run.lower())
        run = ""
    for left, right in pairwise(text):
        if all(0x4E00 <= ord(sign) <= 0x9FFF for sign in (left, right)):
            found.append(left + right)
    return sorted(set(found), key=found.index)


@settings(max_examples=300, deadline=None)
@given(st.text("aZ9._- 一丁丂\u9fff\u3400\u4dffé。", max_size=25) | st.text(max_size=25))
def test_keywords_against_a_plain_scan(text: str) -> None:
    assert keywords(text) == plain_keywords(text)


@settings(max_examples=150, deadline=None)
@given(st.text("ab1. 一丁丂", max_size=60), st.text("ab1. 一丁丂", max_size=60))
def test_passages_against_the_plain_rule(gold: str, got: str) -> None:
    hits = len([word for word in plain_keywords(gold)[:30] if word in plain_keywords(got)])
    length = len(" ".join(got.split()))
    penalty = F(1) if length >= 40 else F(length, 40)
    assert Keywords().compare(gold, got, NOWHERE) == Match(min(F(1), F(hits, 8)) * penalty, (hits, length))


# References.


def test_anchors_are_looked_for_word_for_word() -> None:
    """First row of the table: exact, spaces aside, within a chunk; in the program letters only, over all chunks."""
    assert grounded(refs({"file": "b.pdf", "anchors": [" Second\nfile  with "]})) == (1, 1)
    assert grounded(refs({"file": "b.pdf", "anchors": ["second file"]})) == (0, 1)
    assert grounded(refs({"file": "b.pdf", "anchors": ["Second, file"]})) == (0, 1)
    assert grounded(refs({"file": "b.pdf", "anchors": ["\uff33econd file"]})) == (0, 1)
    assert grounded(refs({"file": "b.pdf", "anchors": ["Secondfile"]})) == (0, 1)
    assert grounded(refs({"file": "b.pdf", "anchors": ["door. Second"]})) == (0, 1)
    assert grounded(refs({"file": "b.pdf", "anchors": ["third file"]})) == (0, 0)


def test_anchors_may_stand_in_another_file_unless_forbidden() -> None:
    """Second row of the table."""
    elsewhere = refs({"file": "b.pdf", "anchors": ["never force door"]})
    assert grounded(elsewhere) == (1, 1)
    assert one(Grounding(anchor_scope="file"), None, elsewhere, Context(CHUNKS)) == 0
    assert one(Grounding(anchor_scope="file"), None, refs(GOOD_REF), Context(CHUNKS)) == 1
    two = [*CHUNKS, ContextChunk("b.pdf", "never force door")]
    assert one(Grounding(anchor_scope="file"), None, elsewhere, Context(two)) == 1


def test_references_without_known_files() -> None:
    """Third row of the table."""
    for path in (None, ""):
        assert grounded(refs(GOOD_REF), [ContextChunk(path, EVIDENCE)]) == (0, 1)
    assert grounded(refs({"file": "", "anchors": ["never"]}), [ContextChunk("", "never")]) == (0, 0)
    assert grounded(refs(GOOD_REF), [ContextChunk(None, EVIDENCE), ContextChunk("a.xlsx", None)]) == (1, 1)
    assert grounded(refs(GOOD_REF), []) == (0, 0)
    assert grounded(refs(GOOD_REF), [ContextChunk("a.xlsx", None)]) == (0, 0)


@pytest.mark.parametrize("odd", [None, 7, "a.xlsx", ["a.xlsx"], True])
def test_what_is_no_reference_counts_as_a_failed_one(odd: Json) -> None:
    """Fourth row of the table; the program skips it."""
    assert grounded([*refs(GOOD_REF), odd]) == (F(1, 2), 1)
    assert grounded(refs(GOOD_REF, odd)) == (F(1, 2), 1)
    assert grounded([odd]) == grounded(refs(odd)) == (0, 0)


@pytest.mark.parametrize("entry", [{}, {"refs": None}, {"refs": "a"}, {"refs": {"file": "a.xlsx"}}, {"part": "x"}])
def test_an_entry_without_a_list_of_refs_counts_as_a_failed_one(entry: Row) -> None:
    assert grounded([*refs(GOOD_REF), entry]) == (F(1, 2), 1)
    assert Grounding().compare(None, [entry], Context(CHUNKS)) == Match(F(0), (0, 1))


def test_an_entry_with_an_empty_list_of_refs_counts_nothing() -> None:
    assert grounded([*refs(GOOD_REF), {"refs": []}]) == (1, 1)
    assert Grounding().compare(None, [{"refs": []}], Context(CHUNKS)) == Match(F(0), (0, 0))


@pytest.mark.parametrize("anchors", [..., None, [], "never force door", [""], [" \n\u3000"], [None], [7], {}])
def test_a_reference_without_anchors_fails(anchors: Json) -> None:
    """Fifth row of the table."""
    ref = {"file": "a.xlsx"} | ({} if anchors is ... else {"anchors": anchors})
    assert Grounding().compare(None, refs(GOOD_REF, ref), Context(CHUNKS)) == Match(F(1, 2), (1, 2))
    assert grounded(refs(GOOD_REF, ref))[1] == F(1, 2)


@pytest.mark.parametrize("file", [None, 7, ["a.xlsx"], "A.xlsx", "a.xlsx ", "x/a.xlsx"])
def test_a_reference_must_name_the_file_as_it_is(file: Json) -> None:
    """The program takes spaces around it for nothing."""
    program = 1 if file == "a.xlsx " else F(1, 2)
    assert grounded(refs({"file": file, "anchors": ["never force door"]}, GOOD_REF)) == (F(1, 2), program)


@pytest.mark.parametrize(
    ("path", "file", "program"),
    [
        (" a  b.doc\n", "a b.doc", 1),
        ("a b.doc", "\u3000a\tb.doc ", 1),
        ("a b.doc", "ab.doc", 0),
        ("a b.doc", "A b.doc", 0),
        (" \n", "a.doc", 1),  # a blank path is none, and without any no file is asked after
    ],
)
def test_blanks_of_paths_count_once_in_the_program(path: str, file: str, program: int) -> None:
    ref = {"file": file, "anchors": ["never"]}
    assert grounded(refs(ref), [ContextChunk(path, "never")]) == (0, program)


@pytest.mark.parametrize("file", [..., None, "", " \n", 0, False, []])
def test_a_reference_without_a_file_fails_even_where_no_path_is_known(file: Json) -> None:
    ref = {"anchors": ["never force door"]} | ({} if file is ... else {"file": file})
    assert grounded(refs(ref), [ContextChunk(None, EVIDENCE)]) == (0, 0)
    assert grounded(refs(ref | {"file": "any"}), [ContextChunk(None, EVIDENCE)]) == (0, 1)


def test_an_anchor_that_is_null_is_the_word_none_to_the_program() -> None:
    chunks = [ContextChunk("a.xlsx", "None of these.")]
    assert grounded(refs({"file": "a.xlsx", "anchors": [None]}), chunks) == (0, 1)
    assert grounded(refs({"file": "a.xlsx", "anchors": None}), chunks) == (0, 0)
    assert grounded(refs({"file": "a.xlsx", "anchors": [None]})) == (0, 0)


def test_letters_are_lowered_one_by_one() -> None:
    """A word as a whole would end in another sigma."""
    assert "ΟΔΟΣ".lower() == "οδος"
    ref = {"file": "a.xlsx", "anchors": ["ΟΔΟΣ"]}
    assert grounded(refs(ref), [ContextChunk("a.xlsx", "οδοσ")]) == (0, 1)
    assert grounded(refs(ref), [ContextChunk("a.xlsx", "οδος")]) == (0, 0)
    assert one(Label("exact", form="letters"), "ΟΔΟΣ", "οδοσ") == 1


@pytest.mark.parametrize("entries", [{}, "x", None, 7, {"refs": [GOOD_REF]}])
def test_a_source_map_that_is_no_list_fails_the_shape(entries: Json) -> None:
    """Last row of the table."""
    item, program = score(expected(), answer(source_map=entries)), repo(expected(), answer(source_map=entries))
    assert item.score == program.score == part("grounding", program) == 0
    assert item.reason is program.reason is Failure.SCHEMA_FAILED


def test_twelve_entries_of_six_refs_with_six_anchors_count() -> None:
    entry, bad_entry = refs(GOOD_REF)[0], refs(BAD_REF)[0]
    assert grounded([bad_entry] * 11 + [entry]) == (F(1, 12), F("0.0833"))
    assert grounded([bad_entry] * 12 + [entry]) == (0, 0)
    assert grounded(refs(*[BAD_REF] * 5, GOOD_REF)) == (F(1, 6), F("0.1667"))
    assert grounded(refs(*[BAD_REF] * 6, GOOD_REF)) == (0, 0)
    assert grounded(refs({"file": "a.xlsx", "anchors": ["zzz"] * 5 + ["never"]})) == (1, 1)
    assert grounded(refs({"file": "a.xlsx", "anchors": ["zzz"] * 6 + ["never"]})) == (0, 0)
    assert grounded(refs({"file": "a.xlsx", "anchors": [None] * 6 + ["never"]})) == (0, 0)
    most = score(expected(), answer(source_map=refs(*[GOOD_REF] * 9) * 20))
    assert counts("grounding", most) == (72, 72)


def test_limits_of_references_can_be_set() -> None:
    context = Context(CHUNKS)
    assert Grounding(entries=1).compare(None, [*refs(GOOD_REF), *refs(BAD_REF)], context).counts == (1, 1)
    assert Grounding(refs=1).compare(None, refs(GOOD_REF, BAD_REF), context).counts == (1, 1)
    late = refs({"file": "a.xlsx", "anchors": ["zzz", "never"]})
    assert Grounding(anchors=1).compare(None, late, context).counts == (0, 1)
    shouted = refs({"file": "a.xlsx", "anchors": ["NEVER, force!"]})
    assert one(Grounding(form="folded"), None, shouted, context) == 0
    assert one(Grounding(form="letters"), None, shouted, context) == 1
    wide = refs({"file": "a.xlsx", "anchors": ["\uff4eever"]})
    assert [one(Grounding(form=form), None, wide, context) for form in ("exact", "nfkc")] == [0, 1]
    assert one(Grounding(form="folded"), None, refs({"file": "a.xlsx", "anchors": ["NEVER"]}), context) == 1


# Numbers.


@pytest.mark.parametrize(
    ("tolerance", "relative", "gold", "got", "points"),
    [
        ("0.01", "0", 1.00, 1.01, 1),
        ("0.01", "0", 1.00, 0.99, 1),
        ("0.01", "0", 1.00, 1.0100000000000002, 0),
        ("0.01", "0", 1, 1.011, 0),
        ("0", "0", 0.1, 0.1, 1),
        ("0", "0", 3, 3.0, 1),
        ("0", "0", 0.0, -0.0, 1),
        ("0", "0", 10**17, 10**17 + 1, 0),
        ("0", "0", 1e17, 10**17, 1),
        ("1", "0", 10**17, 10**17 + 1, 1),
        ("0", "0.01", 200, 202, 1),
        ("0", "0.01", 200, 202.0000001, 0),
        ("0", "0.01", -200, -198, 1),
        ("0", "0.01", -200, 200, 0),
        ("0", "0.01", 0, 1e-300, 0),
        ("0", "0.01", 0, 0, 1),
        ("0", "0.1", 0.3, 0.33, 1),
        ("0", "0.1", 0.33, 0.3, 1),
        ("0", "0.1", 0.3, 0.3300000000000001, 0),
        ("5", "0.01", 200, 205, 1),
        ("1", "0.01", 200, 202, 1),
        ("0.1", "0", 0.2, 0.3, 1),
        ("0", "0", 5e-324, 5e-324, 1),
        ("0", "0", 5e-324, 0, 0),
        ("0", "1", 5e-324, 1e-323, 1),
        ("0", "0", 1.7976931348623157e308, 1.7976931348623157e308, 1),
        ("0", "2", 1e308, -1e308, 1),
        ("0", "1.99", 1e308, -1e308, 0),
        ("0", "0.5", 10**399, 15 * 10**398, 1),
        ("0", "0.5", 10**399, 15 * 10**398 + 1, 0),
    ],
)
def test_numbers(tolerance: str, relative: str, gold: float, got: float, points: int) -> None:
    rules = Number(F(tolerance), F(relative))
    assert one(rules, gold, got) == points
    (line,) = rules.details(gold, got, NOWHERE)
    assert line.good == bool(points)


def test_floats_alone_would_get_the_border_wrong() -> None:
    assert abs(1.01 - 1.00) > 0.01
    assert (decimal(1.01) - decimal(1.0), decimal(7), decimal(1e-7)) == (F(1, 100), F(7), F(1, 10**7))


@settings(max_examples=200, deadline=None)
@given(st.integers(-(10**6), 10**6), st.integers(-(10**6), 10**6), st.integers(0, 10**6), st.integers(0, 2000))
def test_numbers_with_three_places_against_whole_numbers(gold: int, got: int, tolerance: int, relative: int) -> None:
    """Everything in thousandths, where it is whole."""
    rules = Number(F(tolerance, 1000), F(relative, 1000))
    right = abs(gold - got) * 1000 <= max(tolerance * 1000, relative * abs(gold))
    assert one(rules, gold / 1000, got / 1000) == right


@pytest.mark.parametrize("value", [True, False, None, "7", [7], {}])
def test_what_is_no_number_is_refused(value: Json) -> None:
    assert Number().wrong(value) == Number().unfit(value) == f"expected a number, got {described(value)}"


def test_what_numbers_say() -> None:
    assert Number(F("0.01")).details(1.0, 1.02, NOWHERE) == [Detail(False, "1.0", "1.02", "off by 0.02, 0.01 allowed")]
    assert Number().details(3, 3.0, NOWHERE) == [Detail(True, "3", "3.0", "equal")]
    assert Number(relative=F(1)).details(10**350, 0, NOWHERE)[0].note == "off by over 1e+300, over 1e+300 allowed"


# Dates, closed lists, true and false.


@pytest.mark.parametrize(
    ("gold", "got", "off"),
    [
        ("2024-02-28", "2024-03-01", 2),
        ("2023-02-28", "2023-03-01", 1),
        ("2024-02-29", "2024-02-29", 0),
        ("2000-02-29", "2000-03-01", 1),
        ("1900-02-28", "1900-03-01", 1),
        ("2025-12-31", "2026-01-01", 1),
        ("1969-12-31", "1970-01-01", 1),
        ("0001-01-01", "9999-12-31", 3652058),
    ],
)
def test_dates(gold: str, got: str, off: int) -> None:
    assert one(Date(off), gold, got) == one(Date(off), got, gold) == 1
    if off:
        assert one(Date(off - 1), gold, got) == one(Date(off - 1), got, gold) == 0
        days = "1 day" if off == 1 else f"{off} days"
        assert Date(off - 1).details(gold, got, NOWHERE)[0].note == f"off by {days}, {off - 1} allowed"
    else:
        assert Date().details(gold, got, NOWHERE) == [Detail(True, gold, got, "equal")]


@settings(max_examples=200, deadline=None)
@given(st.dates(), st.dates(), st.integers(0, 400))
def test_dates_against_the_calendar(gold: datetime.date, got: datetime.date, tolerance: int) -> None:
    right = abs((gold - got).days) <= tolerance
    assert one(Date(tolerance), gold.isoformat(), got.isoformat()) == right
    assert day(gold.isoformat()) == (gold - datetime.date(1970, 1, 1)).days


@pytest.mark.parametrize(
    "value",
    [
        "2023-02-29", "1900-02-29", "2026-04-31", "2026-13-01", "2026-00-10", "2026-01-00", "2026-01-32",
        "0000-01-01", "10000-01-01", "2026-1-1", "26-01-01", "20260101", "2026/01/01", "2026-01-01T00:00:00",
        "2026-01-01\n", " 2026-01-01", "+026-01-01", "\uff12\uff10\uff12\uff16-01-01", "٢٠٢٦-٠١-٠١", "", "today",
        20260101, None, True, ["2026-01-01"],
    ],
)  # fmt: skip
def test_what_is_no_date_is_refused(value: Json) -> None:
    assert Date().wrong(value) == Date().unfit(value) == f"expected a date like 2026-12-31, got {described(value)}"


def test_closed_lists() -> None:
    rules = Enum(("low", "high"))
    assert one(rules, "low", "low") == 1
    assert one(rules, "low", "high") == 0
    assert rules.wrong("high") is None
    assert rules.wrong("High") == 'expected one of low, high, got "High"'
    assert rules.wrong("high ") == 'expected one of low, high, got "high"'
    assert rules.unfit(None) == "expected one of low, high, got null"
    assert rules.wrong(["low"]) == "expected one of low, high, got a list"
    assert rules.details("low", "high", NOWHERE) == [Detail(False, "low", "high", "not equal")]
    assert rules.details("low", "low", NOWHERE) == [Detail(True, "low", "low", "equal")]


def test_true_and_false() -> None:
    rules = Boolean()
    assert [one(rules, gold, got) for gold in (True, False) for got in (True, False)] == [1, 0, 0, 1]
    assert (rules.wrong(True), rules.unfit(False)) == (None, None)
    for value, shown in [(0, "0"), (1, "1"), ("true", '"true"'), (None, "null"), (1.0, "1.0")]:
        assert rules.wrong(value) == f"expected true or false, got {shown}"
    assert rules.details(True, False, NOWHERE) == [Detail(False, "true", "false", "not equal")]
    assert rules.details(False, False, NOWHERE) == [Detail(True, "false", "false", "equal")]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "null"), (True, "true"), (False, "false"), (7, "7"), (0.5, "0.5"), ("x", '"x"'), ([], "a list"),
        ({}, "an object"), ("x" * 50, f'"{"x" * 39}…"'), (10**60, "1" + "0" * 38 + "…"),
    ],
)  # fmt: skip
def test_values_are_named_as_json(value: Json, shown: str) -> None:
    assert described(value) == shown


def test_gold_values_must_be_able_to_match() -> None:
    for rules in (Label(), Keywords()):
        assert rules.unfit("\u3000") == "expected a text, got an empty one"
        assert rules.unfit(7) == "expected a string, got 7"
        assert (rules.unfit("x"), rules.wrong("")) == (None, None)
    assert (Listed().unfit([]), Listed().unfit(["", 1])) == (None, "expected strings only, got 1 at [1]")
    assert Grounding().unfit(None) is None


# Fields that may be left out, and definitions of one's own.


def defined(*fields: Field) -> Definition:
    return Definition("own", fields, expected=())


def own(definition: Definition, gold: Row, raw: Row) -> Scored:
    known = grading.read(definition, StructuredOutput(raw=json.dumps(raw)))
    return grading.score(definition, grading.wanted_of(definition, gold), known, Context(CHUNKS))


def field(name: str, rules: Kind, weight: str = "1", *, required: bool = True, at: str = "") -> Field:
    kind = next(kind for kind, made in KINDS.items() if made is type(rules))
    return Field(name, kind, rules, F(weight), tuple((at or name).split(".")), required)


VALUES: list[tuple[Kind, Json, Json]] = [
    (Label(), "low", "high"),
    (Listed(), ["low"], ["high"]),
    (Number(), 1, 2),
    (Date(), "2026-01-01", "2026-01-02"),
    (Enum(("low", "high")), "low", "high"),
    (Boolean(), True, False),
    (Keywords(hits=1, length=1), "low", "high"),
]


@pytest.mark.parametrize(("rules", "right", "other"), VALUES)
def test_a_field_that_may_be_left_out_is_right_where_both_leave_it_out(rules: Kind, right: Json, other: Json) -> None:
    definition = defined(field("x", rules, required=False))
    nothing: list[Row] = [{}, {"x": None}]
    for gold in nothing:
        for got in nothing:
            assert own(definition, gold, got)[:2] == (F(100), (F(1),))
        assert own(definition, gold, {"x": right})[:2] == (F(0), (F(0),))
    for got in nothing:
        assert own(definition, {"x": right}, got)[:2] == (F(0), (F(0),))
    assert own(definition, {"x": right}, {"x": right}).score == 100
    assert own(definition, {"x": right}, {"x": other}).score == 0
    assert all(own(definition, {"x": right}, got).ok for got in nothing)


@pytest.mark.parametrize(("rules", "right", "other"), VALUES)
def test_a_field_that_is_required_must_be_there(rules: Kind, right: Json, other: Json) -> None:
    definition = defined(field("x", rules))
    assert own(definition, {"x": right}, {})[3:5] == (Failure.SCHEMA_FAILED, "x: expected a value, got nothing")
    null = own(definition, {"x": right}, {"x": None})
    assert (null.reason, null.detail) == (Failure.SCHEMA_FAILED, f"x: {rules.wrong(None)}")
    optional = own(defined(field("x", rules, required=False)), {"x": right}, {"x": {"a": 1}})
    assert (optional.reason, optional.detail) == (Failure.SCHEMA_FAILED, f"x: {rules.wrong({})}")


def test_references_that_may_be_left_out_are_worth_nothing_without_any() -> None:
    definition = defined(field("x", Grounding(), required=False))
    assert own(definition, {}, {}).score == own(definition, {}, {"x": None}).score == 0
    assert own(definition, {}, {"x": refs(GOOD_REF)}).score == 100


def test_values_may_stand_deeper() -> None:
    definition = defined(field("year", Number(), "0.25", at="when.year"), field("who", Label(), "0.75"))
    gold = {"when": {"year": 2026}, "who": "me"}
    assert own(definition, gold, gold).score == 100
    assert own(definition, gold, {"when": {"year": 2025}, "who": "me"}).score == 75
    assert own(definition, gold, {"when": 2026, "who": "me"}).detail == "when.year: expected a value, got nothing"
    assert value_at(gold, ("when", "year", "x")) is value_at(None, ("a",)) is value_at([1], ("0",)) is ABSENT
    assert value_at(gold, ()) == gold


def test_where_the_expected_fields_stand() -> None:
    assert grading.wanted_of(bundled(), {"answer_example": expected()})[:2] == ("security guards", "elevators")
    assert set(grading.wanted_of(bundled(), None)) == set(grading.wanted_of(bundled(), expected())) == {ABSENT}
    assert grading.wanted_of(defined(field("x", Label())), {"x": "y"}) == ("y",)


def test_other_placeholders() -> None:
    definition = defined(field("x", Label()))._replace(placeholders=("TODO", "…"))
    assert own(definition, {"x": "y"}, {"x": " TODO "}).detail == 'x: the placeholder "TODO"'
    assert own(definition, {"x": "y"}, {"x": "string"}).reason is None
    assert own(definition._replace(placeholders=()), {"x": "TODO"}, {"x": "TODO"}).score == 100


def test_a_list_that_was_left_out_is_an_empty_one() -> None:
    definition = defined(field("x", Listed(), required=False))
    nothing: list[Row] = [{}, {"x": None}, {"x": []}, {"x": [" "]}]
    for gold in nothing:
        for got in nothing:
            assert own(definition, gold, got)[:3] == (F(100), (F(1),), ((0, 0, 0),))
        assert own(definition, gold, {"x": ["low"]})[:3] == (F(0), (F(0),), ((0, 0, 1),))
        assert own(definition, {"x": ["low"]}, gold)[:3] == (F(0), (F(0),), ((0, 1, 0),))


def test_a_word_of_a_closed_list_is_no_placeholder() -> None:
    definition = defined(field("x", Enum(("string", "number"))))
    assert own(definition, {"x": "string"}, {"x": "string"})[:4] == (F(100), (F(1),), ((),), None)
    assert own(definition, {"x": "number"}, {"x": "string"})[:4] == (F(0), (F(0),), ((),), None)


def test_a_template_word_for_a_value_is_a_placeholder_and_for_references_a_wrong_type() -> None:
    """Dates and numbers are as "string" in a template too; a list that is none has the wrong type."""
    for rules, wanted in ((Date(), "2026-01-01"), (Number(), 1), (Boolean(), True), (Enum(("a",)), "a")):
        assert own(defined(field("x", rules)), {"x": wanted}, {"x": "string"}).reason is Failure.PLACEHOLDER_STRING
    for other in (Listed(), Grounding()):
        assert own(defined(field("x", other)), {"x": []}, {"x": "string"}).reason is Failure.SCHEMA_FAILED


def test_a_placeholder_in_a_list_is_looked_for_in_fields_that_are_lists() -> None:
    label, listed = defined(field("x", Label())), defined(field("x", Listed()))
    assert own(label, {"x": "y"}, {"x": ["string"]})[3:5] == (Failure.SCHEMA_FAILED, "x: expected a string, got a list")
    assert own(listed, {"x": ["y"]}, {"x": ["string"]}).reason is Failure.PLACEHOLDER_STRING
    assert own(listed, {"x": ["y"]}, {"x": "string"}).reason is Failure.SCHEMA_FAILED


def test_settings_of_a_definition_reach_the_rules() -> None:
    def made(**settings: str) -> Definition:
        fields = [{"name": "x", "kind": "label", "weight": 1} | settings]
        return parse_definition({"version": 1, "id": "own", "expected": "", "field": fields}, "own.toml")

    fuzzy, exact = made(), made(match="exact", form="folded")
    assert [own(each, {"x": "AB"}, {"x": "ab"}).score for each in (fuzzy, exact)] == [0, 100]
    assert [own(each, {"x": "AB"}, {"x": "ABC"}).score for each in (fuzzy, exact)] == [100, 0]


def test_every_count_has_a_name() -> None:
    item = score(expected(), answer())
    for field_, numbers in zip(bundled().fields, item.counts, strict=True):
        assert len(numbers) == len(COUNTS.get(field_.kind, ()))


# What became of an item, what it cost, and what is to blame.


def output(raw: str | None, error: Any = None) -> Scored:
    known = grading.read(bundled(), StructuredOutput(raw=raw, error=error))
    return grading.score(bundled(), grading.wanted_of(bundled(), {"answer_example": expected()}), known, NOWHERE)


def blamed(item: Scored, *files: str, chunks: Sequence[ContextChunk] = CHUNKS, gold: Row | None = None) -> Stage:
    wanted = grading.wanted_of(bundled(), {"answer_example": gold or expected()})
    return grading.blame(bundled(), wanted, frozenset(files), item, Context(chunks))


GOOD = F(95)


def test_labels_of_items() -> None:
    reasons = [
        ("", "timeout", Outcome.ERROR),
        ("{", None, Outcome.NOT_JSON),
        ("no", None, Outcome.NOT_JSON),
        (f"```{json.dumps(answer())}```", None, Outcome.WRAPPED),
        (f"Sure: {json.dumps(answer())}", None, Outcome.WRAPPED),
        (json.dumps(answer(main_topic="string")), None, Outcome.PLACEHOLDER),
        ("{}", None, Outcome.SCHEMA_FAILED),
    ]
    assert [grading.label(output(raw, error), GOOD) for raw, error, _ in reasons] == [label for *_, label in reasons]
    missing = grading.score(bundled(), (), grading.read(bundled(), None), NOWHERE)
    assert grading.label(missing, GOOD) is Outcome.MISSING
    assert grading.label(Scored(F(95), (), ()), GOOD) is Outcome.OK
    assert grading.label(Scored(F(95) - F(1, 10**9), (), ()), GOOD) is Outcome.LOW_SCORE
    assert grading.label(Scored(F(100), (), (), Failure.CODE_FENCE, repaired=True), GOOD) is Outcome.WRAPPED


def test_losses_are_listed_dearest_first_and_add_up() -> None:
    got = answer(
        target_audience="zzz",
        main_topic="zzz",
        detailed_description=[*THREE[:2], ALIENS[0]],
        original_evidence="calm passengers then call elevator maintenance",
        source_map=refs(GOOD_REF, BAD_REF),
    )
    item = score(expected(), got)
    lost = grading.losses(bundled(), item)
    assert [(one_.field.name, one_.part, one_.points) for one_ in lost] == [
        ("target_audience", F(0), F(10)),
        ("main_topic", F(0), F(10)),
        ("detailed_description", F(2, 3), F(10)),
        ("original_evidence", F(3, 4), F(5)),
        ("grounding", F(1, 2), F(5)),
    ]
    assert 100 - sum(one_.points for one_ in lost) == item.score == 60
    assert grading.why(bundled(), item) == (
        "target_audience 0 (-10), main_topic 0 (-10), detailed_description 0.666 (-10), "
        "original_evidence 0.75 (-5), grounding 0.5 (-5)"
    )
    assert grading.losses(bundled(), score(expected(), answer())) == []
    assert grading.why(bundled(), score(expected(), answer())) == ""


def test_a_part_below_one_is_never_shown_as_one() -> None:
    item = Scored(F(99), (F(1), F(1), F(1), F(99999, 100000), F(1), F(1), F(1)), ((),) * 7)
    assert grading.why(bundled(), item) == "detailed_description 0.999 (-0.0003)"


def test_why_an_answer_fails() -> None:
    assert grading.why(bundled(), output("no")) == "parse_failed: no JSON object"
    assert grading.why(bundled(), Scored(F(0), (F(0),) * 7, ((),) * 7, Failure.MISSING)) == "missing"


def test_why_a_repaired_answer_fails() -> None:
    wanted = grading.wanted_of(bundled(), {"answer_example": expected()})

    def repaired(got: Row) -> str:
        raw = f"```{json.dumps(got)}```"
        known = grading.read(bundled(), StructuredOutput(raw=raw), repair=True)
        return grading.why(bundled(), grading.score(bundled(), wanted, known, Context(CHUNKS)))

    assert repaired(answer()) == "code_fence"
    assert repaired(answer(main_topic="zzz")) == "code_fence; main_topic 0 (-10)"
    assert repaired(answer(main_topic=7)) == "code_fence: main_topic: expected a string, got 7"


def test_who_is_to_blame() -> None:
    assert blamed(output("", "timeout")) is Stage.PIPELINE
    missing = grading.score(bundled(), (), grading.read(bundled(), None), NOWHERE)
    assert blamed(missing, "zzz") is Stage.PIPELINE
    assert blamed(output("no"), "zzz") is Stage.GENERATION
    wrong = score(expected(), answer(main_topic="zzz"))
    assert blamed(wrong) is blamed(wrong, "a.xlsx") is blamed(wrong, "zzz", "b.pdf") is Stage.GENERATION
    assert blamed(wrong, "zzz", "yyy") is Stage.RETRIEVAL
    assert blamed(wrong, "a.xlsx", chunks=[ContextChunk("zzz")]) is Stage.RETRIEVAL
    assert blamed(wrong, "a.xlsx", chunks=[]) is Stage.GENERATION
    assert blamed(wrong, "a.xlsx", chunks=[ContextChunk(None, EVIDENCE)]) is Stage.GENERATION


def test_evidence_that_was_not_retrieved_is_the_fault_of_retrieval() -> None:
    poor = score(expected(), answer(original_evidence="calm passengers vendor"))
    words = EVIDENCE.split()
    assert blamed(poor) is Stage.GENERATION
    eight = [ContextChunk("a.xlsx", " ".join(words[:5])), ContextChunk(None, " ".join(words[5:8]))]
    assert blamed(poor, chunks=eight) is Stage.GENERATION
    assert blamed(poor, chunks=eight[:1]) is Stage.RETRIEVAL
    assert blamed(poor, chunks=[ContextChunk("a.xlsx", None)]) is blamed(poor, chunks=[]) is Stage.GENERATION
    fine = score(expected(), answer(main_topic="zzz"))
    assert blamed(fine, chunks=eight[:1]) is Stage.GENERATION
    # A passage with fewer keywords than full marks ask for: having all of them is enough.
    few = expected(original_evidence="calm vendor force")
    assert blamed(score(few, answer(original_evidence="zzz")), gold=few) is Stage.GENERATION


def test_references_are_to_blame_where_they_cost_most() -> None:
    assert blamed(score(expected(), answer(source_map=[]))) is Stage.CITATION
    both_ = score(expected(), answer(source_map=[], predicted_questions=[]))
    assert blamed(both_) is Stage.GENERATION
    half = score(expected(), answer(source_map=[], predicted_questions=expected()["predicted_questions"][:1]))
    assert blamed(half) is Stage.CITATION


# What people are told.


def test_what_labels_say() -> None:
    def said(rules: Label, gold: str, got: str) -> Detail:
        (line,) = rules.details(gold, got, NOWHERE)
        return line

    assert said(Label(), "ab", " ab ") == Detail(True, "ab", " ab ", "equal")
    assert said(Label(), "ab", "abc") == Detail(True, "ab", "abc", "one contains the other")
    assert said(Label(), "ab", "") == Detail(False, "ab", "", "empty")
    assert said(Label(), "abcdefgh", "abcdefgx").note == "likeness 3/4 = 0.750, needs 0.72"
    assert said(Label(), "abcdef", "abcdex") == Detail(False, "abcdef", "abcdex", "likeness 2/3 = 0.667, needs 0.72")
    assert said(Label("exact"), "ab", "abc") == Detail(False, "ab", "abc", "not equal")
    assert said(Label("exact", form="folded"), "AB", "ab") == Detail(True, "AB", "ab", "equal")


def test_what_lists_say() -> None:
    gold = ["call us", "abcdefgh", "wait", "wait", "qrstuv", "missing"]
    got = ["call us now", "abcdefgx", "wait", "qrstux", "call us", "padding"]
    assert Listed(cap=6).details(gold, [*got, "late", " "], NOWHERE) == [
        Detail(True, "call us", "call us now", "one contains the other"),
        Detail(True, "abcdefgh", "abcdefgx", "likeness 3/4 = 0.750"),
        Detail(True, "wait", "wait", "equal"),
        Detail(False, "wait", None, "matched by another already: wait"),
        Detail(False, "qrstuv", None, "nearest 2/3 = 0.667 of 0.72: qrstux"),
        Detail(False, "missing", None, "nearest 1/5 = 0.200 of 0.72: padding"),
        Detail(False, None, "qrstux", "not expected"),
        Detail(False, None, "call us", "one more than expected"),
        Detail(False, None, "padding", "not expected"),
        Detail(False, None, "late", "beyond the first 6: not looked at"),
    ]
    assert Listed().details([], [" "], NOWHERE) == [Detail(True, None, None, "nothing expected, nothing got")]
    assert Listed(match="exact").details(["ab"], ["abc"], NOWHERE)[0].note == "nothing like it"


def test_what_passages_say() -> None:
    assert Keywords().details(EVIDENCE, "calm passengers vendor", NOWHERE) == [
        Detail(False, EVIDENCE, "calm passengers vendor", "3 of 11 keywords, 8 needed"),
        Detail(True, None, None, "has calm, passengers, vendor"),
        Detail(False, None, None, "lacks then, call, elevator, maintenance, immediately, never, force, door"),
        Detail(False, None, None, "22 of 40 characters"),
    ]
    assert [line.note for line in Keywords().details(EVIDENCE, EVIDENCE[:-5], NOWHERE)] == [
        "10 of 11 keywords, 8 needed",
        "has calm, passengers, then, call, elevator, maintenance, vendor, immediately, never, force",
    ]
    wanted = " ".join(f"k{nth:02}" for nth in range(40))
    assert Keywords(first=3, hits=2, length=3).details(wanted, "k02 k03", NOWHERE)[1:] == [
        Detail(True, None, None, "has k02"),
        Detail(False, None, None, "lacks k00, k01"),
    ]


def test_what_references_say() -> None:
    entries = [
        *refs(GOOD_REF, BAD_REF, {"file": "a.xlsx", "anchors": ["zzz", 7, "zz"]}, {"file": "a.xlsx"}, "a.xlsx"),
        {"refs": [{"anchors": ["never"]}]},
        7,
    ]
    assert Grounding().details(None, entries, Context(CHUNKS)) == [
        Detail(True, None, "a.xlsx: never force door", "in the context"),
        Detail(False, None, "unknown.pdf: never force door", "the file is not in the context"),
        Detail(False, None, "a.xlsx: zzz, zz", "no anchor is in the context"),
        Detail(False, None, "a.xlsx: ", "no anchor"),
        Detail(False, None, "a.xlsx", "not an object"),
        Detail(False, None, "never", "no file"),
        Detail(False, None, "7", "not an entry with a list of refs"),
    ]
    assert Grounding().details(None, [], Context(CHUNKS)) == [Detail(False, None, None, "no reference")]
    for many in (refs(GOOD_REF) * 13, refs(*[GOOD_REF] * 7)):
        last = Grounding().details(None, many, Context(CHUNKS))[-1]
        assert last == Detail(False, None, None, "only 12 entries with 6 refs each are looked at")
