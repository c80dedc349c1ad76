"""Reading the one JSON object a model should have written: every reason it fails for, in order, and nothing crashes."""

import json
import re
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragworthy.load.definition import bundled
from ragworthy.metrics import grading, reference_structured
from ragworthy.metrics.answer_json import DEEPEST, LONGEST_NUMBER, Parsed, decode, parse, span
from ragworthy.metrics.context import Context
from ragworthy.names import Failure
from ragworthy.records import ContextChunk, StructuredOutput

FENCE = "```"
TEN_MB = 10_000_000
QUICK = 10.0
"""Seconds of work that ten megabytes may take on a slow machine; what is not linear takes minutes."""

Json = Any


def answer(**changes: Json) -> dict[str, Json]:
    """A sound answer of the bundled definition; a field given as `...` is left out."""
    value: dict[str, Json] = {
        "target_audience": "guards",
        "main_topic": "lifts",
        "sub_topic": "people stuck",
        "detailed_description": ["calm the passengers", "call the vendor"],
        "original_evidence": "calm passengers then call elevator maintenance vendor immediately never force door",
        "source_map": [{"part": "sub_topic", "refs": [{"file": "a.xlsx", "anchors": ["never force"]}]}],
        "predicted_questions": ["Who is called?"],
    } | changes
    return {key: one for key, one in value.items() if one is not ...}


def read(raw: str | None, *, repair: bool = False, error: Any = None) -> grading.Known:
    return grading.read(bundled(), StructuredOutput(id="q", raw=raw, error=error), repair=repair)


def why(raw: str | None, *, error: Any = None) -> tuple[Failure | None, str]:
    known = read(raw, error=error)
    assert (known.value is None) == (known.reason is not None)
    assert not known.repaired
    return known.reason, known.detail


SOUND = json.dumps(answer())


# The reasons, in the order in which they are looked for.


def test_a_sound_answer_has_no_reason() -> None:
    assert read(SOUND) == grading.Known(answer())
    assert read(f"\n\t \u3000{SOUND}\u00a0\r\n") == grading.Known(answer())


REASONS = [
    ("provider", Failure.PROVIDER_ERROR, "429 too many requests"),
    ('{"target_audience": "guards", "main_topic": "li', Failure.TRUNCATED_JSON, "the object has no end"),
    ("I cannot help with that.", Failure.PARSE_FAILED, "no JSON object"),
    (f"{FENCE}json\n{SOUND}\n{FENCE}", Failure.CODE_FENCE, "the object is in a code fence"),
    (f"Sure! {SOUND}", Failure.EXTRA_TEXT, "text before the object"),
    (json.dumps(answer(main_topic="string")), Failure.PLACEHOLDER_STRING, 'main_topic: the placeholder "string"'),
    (json.dumps(answer(sub_topic=...)), Failure.SCHEMA_FAILED, "sub_topic: expected a value, got nothing"),
]


@pytest.mark.parametrize(("raw", "reason", "detail"), REASONS)
def test_every_reason(raw: str, reason: Failure, detail: str) -> None:
    error = detail if reason is Failure.PROVIDER_ERROR else None
    assert why(raw, error=error) == (reason, detail)
    scored = grading.score(
        bundled(), grading.wanted_of(bundled(), {"answer_example": answer()}), read(raw), Context([])
    )
    assert scored.score == 0
    assert not scored.ok
    assert not any(scored.parts)


def test_the_reasons_stand_in_the_order_in_which_they_are_looked_for() -> None:
    assert [reason for _, reason, _ in REASONS] == [one for one in Failure if one is not Failure.MISSING]


def test_no_output_at_all_is_missing() -> None:
    assert grading.read(bundled(), None) == grading.Known(None, Failure.MISSING, "no output")
    assert grading.read(bundled(), None, repair=True).reason is Failure.MISSING


def test_the_first_reason_wins() -> None:
    """Each text has the fault of its line and of all lines after it."""
    holder = json.dumps(answer(main_topic=" string ", sub_topic=...))
    assert why(f"Sure: {FENCE}{holder[:-1]}", error={"code": 500}) == (Failure.PROVIDER_ERROR, '{"code": 500}')
    assert why(f"Sure: {FENCE}{holder[:-1]}{FENCE}")[0] is Failure.TRUNCATED_JSON
    assert why(f"Sure: {FENCE}{holder.replace(': ', ' ')}{FENCE}")[0] is Failure.PARSE_FAILED
    assert why(f"Sure: {FENCE}{holder}{FENCE} Bye")[0] is Failure.CODE_FENCE
    assert why(f"Sure: {holder} Bye")[0] is Failure.EXTRA_TEXT
    assert why(holder) == (Failure.PLACEHOLDER_STRING, 'main_topic: the placeholder "string"')


@pytest.mark.parametrize(
    ("error", "detail"),
    [
        ("x" * 200, "x" * 200),
        ("x" * 500, "x" * 199 + "…"),
        ("over\n  quota", "over quota"),
        ({"status": 500, "code": "電"}, '{"code": "電", "status": 500}'),
        (["a", None], '["a", null]'),
        (True, "true"),
        (503, "503"),
    ],
)
def test_an_error_is_shown_on_one_line(error: Any, detail: str) -> None:
    assert why(SOUND, error=error) == (Failure.PROVIDER_ERROR, detail)
    assert program(SOUND, error=error)[3:5] == (Failure.PROVIDER_ERROR, detail)


@pytest.mark.parametrize("error", [None, "", False, 0, {}, []])
def test_an_empty_error_is_none(error: Any) -> None:
    assert why(SOUND, error=error) == (None, "")
    assert program(SOUND, error=error).reason is None


def test_no_text_is_empty() -> None:
    for raw in ("", " \n\t", "\u3000"):
        assert why(raw) == (Failure.PARSE_FAILED, "empty")
    assert why(None) == (Failure.PARSE_FAILED, "no raw text")


# Around the object.


@pytest.mark.parametrize(
    ("raw", "detail"),
    [
        ('Sure: {"a": 1}', "text before the object"),
        ('{"a": 1} Done.', "text after the object"),
        ('Sure: {"a": 1} Done.', "text before and after the object"),
        ('[{"a": 1}]', "text before and after the object"),
        ('[{"a": 1}, {"b": 2}]', "text before and after the object"),
        ('{"a": 1} {"b": 2}', "text after the object"),
        ('{"a": 1}{"a": 1}', "text after the object"),
        ('{"a": 1},', "text after the object"),
        ('{"a": 1}}', "text after the object"),
        ('\ufeff{"a": 1}', "text before the object"),
        ('\u200b{"a": 1}', "text before the object"),
        ('"{"a": 1}"', "text before and after the object"),
        ('`{"a": 1}`', "text before and after the object"),
    ],
)
def test_other_text_is_refused_and_the_object_kept(raw: str, detail: str) -> None:
    assert parse(raw) == Parsed({"a": 1}, Failure.EXTRA_TEXT, detail)


@pytest.mark.parametrize(
    "raw",
    [
        f'{FENCE}json\n{{"a": 1}}\n{FENCE}',
        f'{FENCE}{{"a": 1}}{FENCE}',
        f'Here you are:\n{FENCE}json\n{{"a": 1}}\n{FENCE}\nAnything else?',
        f'{FENCE}json\n{{"a": 1}}',
        f'{{"a": 1}}\n{FENCE}',
        f'`{FENCE}{{"a": 1}}',
    ],
)
def test_a_fence_is_told_apart_from_other_text(raw: str) -> None:
    assert parse(raw) == Parsed({"a": 1}, Failure.CODE_FENCE, "the object is in a code fence")


def test_a_fence_inside_a_value_is_a_value() -> None:
    value = {"a": f"run\n{FENCE}sh\nls\n{FENCE}", FENCE: [FENCE]}
    assert parse(json.dumps(value)) == Parsed(value)
    assert parse(f"So: {json.dumps(value)}") == Parsed(value, Failure.EXTRA_TEXT, "text before the object")


def test_the_first_brace_counts_even_in_prose() -> None:
    assert parse('Fill in {name}: {"a": 1}') == Parsed(None, Failure.PARSE_FAILED, "not JSON from character 10 on")
    assert parse('Use { first. {"a": 1}') == Parsed(None, Failure.TRUNCATED_JSON, "the object has no end")


@pytest.mark.parametrize("raw", ["null", "true", "7", '"text"', "[]", "[1, 2]", "}", "no", '"a": 1', "]}"])
def test_what_is_no_object_is_refused(raw: str) -> None:
    assert parse(raw) == Parsed(None, Failure.PARSE_FAILED, "no JSON object")


def test_an_object_written_into_a_string_is_no_object() -> None:
    assert parse(json.dumps("{}")).reason is Failure.EXTRA_TEXT
    assert parse(json.dumps(json.dumps({"a": 1}))) == Parsed(None, Failure.TRUNCATED_JSON, "the object has no end")


# Inside the object.


@pytest.mark.parametrize(
    ("raw", "detail"),
    [
        ("{'a': 1}", "not JSON from character 2 on"),
        ("{a: 1}", "not JSON from character 2 on"),
        ('{"a": 1,}', "not JSON from character 8 on"),
        ('{"a": [1, 2,]}', "not JSON from character 12 on"),
        ('{"a": 1 "b": 2}', "not JSON from character 8 on"),
        ('{"a": undefined}', "not JSON from character 6 on"),
        ('{"a": 01}', "not JSON from character 8 on"),
        ('{"a": .5}', "not JSON from character 6 on"),
        ('{"a": "\x01"}', "not JSON from character 8 on"),
        ('{"a": "one\ntwo"}', "not JSON from character 11 on"),
        ('{"a": "\\x41"}', "not JSON from character 8 on"),
        ('{"a": "\\u12"}', "not JSON from character 9 on"),
        ('{"a": 1 /* one */}', "not JSON from character 8 on"),
        ('{"a"\u00a0: 1}', "not JSON from character 5 on"),
        ('{"a": NaN}', "NaN is not JSON"),
        ('{"a": [Infinity]}', "Infinity is not JSON"),
        ('{"a": -Infinity}', "-Infinity is not JSON"),
        ('{"a": 1e999}', "the number 1e999 is too large"),
        ('{"a": [-1E+400]}', "the number -1E+400 is too large"),
        ('{"a": 1, "a": 1}', 'the key "a" is twice'),
        ('{"a": 1, "b": 2, "b": 3, "a": 4}', 'the key "a" is twice'),
        ('{"a": {"b": 1, "c": [{"d": 1, "d": 2}]}}', 'the key "d" is twice'),
        ('{"a": 1, "\\u0061": 2}', 'the key "a" is twice'),
        ('{"a": "\\ud83d"}', "half of a surrogate pair"),
        ('{"a": ["\\uDE00"]}', "half of a surrogate pair"),
        ('{"\\uD83D": 1}', "half of a surrogate pair"),
        ('{"a": "\\ude00\\ud83d"}', "half of a surrogate pair"),
        ('{"a": "\\ud83d\\ud83d\\ude00"}', "half of a surrogate pair"),
        ('{"a": "\\ud83d \\ude00"}', "half of a surrogate pair"),
    ],
)
def test_what_is_no_sound_json_is_refused(raw: str, detail: str) -> None:
    assert parse(raw) == Parsed(None, Failure.PARSE_FAILED, detail)
    moved = re.sub(r"character (\d+)", lambda found: f"character {int(found[1]) + 10}", detail)
    assert parse(f"Sure:\n{FENCE}\n{raw}\n{FENCE}") == Parsed(None, Failure.PARSE_FAILED, moved)


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ('{"a": "\\ud83d\\ude00"}', "\U0001f600"),
        ('{"a": "\\uD83D\\uDE00\\ud840\\udc00"}', "\U0001f600\U00020000"),
        ('{"a": "\\\\ud83d"}', "\\ud83d"),
        ('{"a": "\\u0000\\u001b\\u007f"}', "\0\x1b\x7f"),
        ('{"a": "\x7f\u0085\u2028\ufeff"}', "\x7f\u0085\u2028\ufeff"),
        ('{"a": 1e308}', 1e308),
        ('{"a": 1e-999}', 0.0),
        ('{"a": -0.0}', 0.0),
        ('{"a": "}{\\"}{"}', '}{"}{'),
        ('{"a": {"a": {"a": 1}}}', {"a": {"a": 1}}),
        ('{"a": "NaN"}', "NaN"),
        ("{\r\n\t\"a\"\n:\t''}".replace("''", '""'), ""),
    ],
)
def test_what_is_sound_is_read(raw: str, value: Json) -> None:
    assert parse(raw) == Parsed({"a": value})


def test_the_empty_key_and_the_empty_object_are_sound() -> None:
    assert parse("{}") == Parsed({})
    assert parse('{"": {}, " ": []}') == Parsed({"": {}, " ": []})


def test_a_key_of_an_inner_object_may_be_one_of_the_outer() -> None:
    assert parse('{"a": {"a": 1}, "b": [{"a": 1}, {"a": 2}]}').reason is None


@pytest.mark.parametrize("sign", ["", "-"])
def test_whole_numbers_must_fit_into_a_float_and_have_up_to_four_hundred_digits(sign: str) -> None:
    longest = f"{sign}{'7' * LONGEST_NUMBER}"
    assert LONGEST_NUMBER == 400
    assert parse(f'{{"a": {sign}{"7" * 308}}}') == Parsed({"a": int(f"{sign}{'7' * 308}")})
    shown = f"{sign}{'7' * 400}"[:40]
    for large in (f"{sign}{'7' * 309}", longest):
        assert parse(f'{{"a": {large}}}').detail == f"the number {shown} is too large"
    assert parse(f'{{"a": {longest}7}}') == Parsed(None, Failure.PARSE_FAILED, "a number of 401 digits")
    assert parse(f'{{"a": {sign}{"7" * 5000}}}') == Parsed(None, Failure.PARSE_FAILED, "a number of 5,000 digits")


def test_decimals_have_up_to_four_hundred_digits() -> None:
    assert parse(f'{{"a": 0.{"3" * 399}}}') == Parsed({"a": 1 / 3})
    assert parse(f'{{"a": 0.{"3" * 400}}}') == Parsed(None, Failure.PARSE_FAILED, "a number of 401 digits")
    assert parse(f'{{"a": {"3" * 5000}.0}}').detail == "a number of 5,001 digits"
    assert parse(f'{{"a": {"3" * 398}.0}}').detail == f"the number {'3' * 40} is too large"


# Depth.


def nest(opening: str, closing: str, depth: int, inner: str = "") -> str:
    return opening * depth + inner + closing * depth


def test_a_hundred_levels_are_read_and_one_more_is_not() -> None:
    assert DEEPEST == 100
    objects, lists = nest('{"a":', "}", 99, "{}"), '{"a":' + nest("[", "]", 99) + "}"
    mixed = nest('{"a":[', "]}", 50)
    wide_too = '{"b":[[],[]],"a":' + nest("[", "]", 99) + "}"
    for text in (objects, lists, mixed, wide_too):
        assert parse(text) == Parsed(json.loads(text))
    too_deep = Parsed(None, Failure.PARSE_FAILED, "nested deeper than 100")
    assert parse(nest('{"a":', "}", 100, "{}")) == too_deep
    assert parse('{"a":' + nest("[", "]", 100) + "}") == too_deep
    assert parse(nest('{"a":[', "]}", 50, "[]")) == too_deep
    assert parse(nest('{"a":', "}", 100_000, "1")) == too_deep


def test_what_is_wide_or_only_written_is_not_deep() -> None:
    wide = {"a": [[] for _ in range(1000)], "b": [{"c": []}] * 1000, "d": "[" * 1000 + '{"' * 1000}
    assert parse(json.dumps(wide)) == Parsed(wide)
    assert parse("[" * 500 + "]" * 500 + ' {"a": 1}') == Parsed({"a": 1}, Failure.EXTRA_TEXT, "text before the object")
    assert parse("}" * 500 + '{"a": ' + "[" * 200) == Parsed(None, Failure.TRUNCATED_JSON, "the object has no end")


# Size.


def _keys(count: int) -> str:
    return ",".join(f'"key {nth}":{nth}' for nth in range(count))


@pytest.mark.parametrize(
    ("head", "body", "tail", "reason"),
    [
        ('{"a": "', "x", '"}', None),
        ('{"a": "', "\\n", '"}', None),
        ('{"a": [', "1,", "1]}", None),
        ('{"a": [', "{},", "1]}", None),
        ("{", "", "}", None),
        ("", "{", "", Failure.TRUNCATED_JSON),
        ("", '{"a":', "", Failure.TRUNCATED_JSON),
        ('{"a": ', "[", "", Failure.TRUNCATED_JSON),
        ('{"a": "', "x", "", Failure.TRUNCATED_JSON),
        ('{"a": "', '\\"', "", Failure.TRUNCATED_JSON),
        ("{" * 200 + '"', '\\"', "", Failure.TRUNCATED_JSON),
        ('{"a": [' + "[]," * 200 + '"', '\\"', "", Failure.TRUNCATED_JSON),
        ("{", '"', '"', Failure.TRUNCATED_JSON),
        ("", "[", "", Failure.PARSE_FAILED),
        ("", "x", "", Failure.PARSE_FAILED),
        ("", "\u00a0", "", Failure.PARSE_FAILED),
        ('{"a": ', "7", "}", Failure.PARSE_FAILED),
        ('{"a": "', "\\ud83d", '"}', Failure.PARSE_FAILED),
        ("", "`", "{}", Failure.CODE_FENCE),
        ("", "x", "{}", Failure.EXTRA_TEXT),
        ("{}", "}", "", Failure.EXTRA_TEXT),
    ],
)
def test_ten_megabytes_are_judged_in_seconds(head: str, body: str, tail: str, reason: Failure | None) -> None:
    raw = head + (body * (TEN_MB // len(body)) if body else _keys(500_000)) + tail
    begin = time.process_time()
    parsed = parse(raw)
    assert time.process_time() - begin < QUICK
    assert parsed.reason is reason


def test_a_key_that_stands_twice_is_found_among_many_in_seconds() -> None:
    raw = "{" + _keys(300_000) + ',"key 299999":1}'
    begin = time.process_time()
    assert parse(raw) == Parsed(None, Failure.PARSE_FAILED, 'the key "key 299999" is twice')
    assert time.process_time() - begin < QUICK


# Placeholders and shape.


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        ({"target_audience": "string"}, 'target_audience: the placeholder "string"'),
        ({"sub_topic": "\n string\u3000"}, 'sub_topic: the placeholder "string"'),
        ({"original_evidence": "string"}, 'original_evidence: the placeholder "string"'),
        ({"detailed_description": ["fine", "string"]}, 'detailed_description: the placeholder "string"'),
        ({"predicted_questions": ["x"] * 11 + ["string"]}, 'predicted_questions: the placeholder "string"'),
        ({"target_audience": "string", "main_topic": ...}, 'target_audience: the placeholder "string"'),
        ({"main_topic": 7, "predicted_questions": [1, "string"]}, 'predicted_questions: the placeholder "string"'),
    ],
)
def test_placeholders(changes: dict[str, Json], detail: str) -> None:
    assert why(json.dumps(answer(**changes))) == (Failure.PLACEHOLDER_STRING, detail)


@pytest.mark.parametrize(
    "changes",
    [
        {"target_audience": "String"},
        {"target_audience": "strings"},
        {"original_evidence": "a string"},
        {"detailed_description": ["x"] * 12 + ["string"]},
        {"extra": "string"},
        {"source_map": [{"part": "string", "refs": [{"file": "string", "anchors": ["string"]}]}]},
        {"source_map": ["string"]},
    ],
)
def test_what_is_no_placeholder(changes: dict[str, Json]) -> None:
    assert why(json.dumps(answer(**changes))) == (None, "")


@pytest.mark.parametrize("key", list(answer()))
def test_every_key_must_be_there(key: str) -> None:
    assert why(json.dumps(answer(**{key: ...}))) == (Failure.SCHEMA_FAILED, f"{key}: expected a value, got nothing")


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        ({"target_audience": None}, "target_audience: expected a string, got null"),
        ({"main_topic": ["lifts"]}, "main_topic: expected a string, got a list"),
        ({"sub_topic": 7}, "sub_topic: expected a string, got 7"),
        ({"original_evidence": {"text": "x"}}, "original_evidence: expected a string, got an object"),
        ({"detailed_description": "one"}, 'detailed_description: expected a list of strings, got "one"'),
        ({"detailed_description": None}, "detailed_description: expected a list of strings, got null"),
        ({"detailed_description": ["a", 7]}, "detailed_description: expected strings only, got 7 at [1]"),
        ({"predicted_questions": [True]}, "predicted_questions: expected strings only, got true at [0]"),
        ({"predicted_questions": ["a"] * 20 + [None]}, "predicted_questions: expected strings only, got null at [20]"),
        ({"source_map": {"refs": []}}, "source_map: expected a list, got an object"),
        ({"source_map": None}, "source_map: expected a list, got null"),
        ({"sub_topic": ..., "target_audience": 1}, "target_audience: expected a string, got 1"),
    ],
)
def test_every_field_must_be_of_its_kind(changes: dict[str, Json], detail: str) -> None:
    assert why(json.dumps(answer(**changes))) == (Failure.SCHEMA_FAILED, detail)


def test_keys_that_are_not_asked_for_and_empty_values_are_no_fault_of_the_shape() -> None:
    empty: dict[str, Json] = {"target_audience": "", "detailed_description": [], "source_map": []}
    assert why(json.dumps(answer(note=None, confidence=0.5, **empty))) == (None, "")


# Repair.


def wanted() -> tuple[Any, ...]:
    return grading.wanted_of(bundled(), {"answer_example": answer()})


@pytest.mark.parametrize(
    ("raw", "reason", "detail"),
    [
        (f"{FENCE}json\n{SOUND}\n{FENCE}", Failure.CODE_FENCE, "the object is in a code fence"),
        (f"Sure: {SOUND}", Failure.EXTRA_TEXT, "text before the object"),
        (f"[{SOUND}]", Failure.EXTRA_TEXT, "text before and after the object"),
        (f"{SOUND}{SOUND}", Failure.EXTRA_TEXT, "text after the object"),
    ],
)
def test_repair_scores_the_object_unchanged_and_keeps_the_reason(raw: str, reason: Failure, detail: str) -> None:
    context = Context([ContextChunk("a.xlsx", "You must never force a door.")])
    known = read(raw, repair=True)
    assert known == grading.Known(answer(), reason, detail, repaired=True)
    repaired = grading.score(bundled(), wanted(), known, context)
    sound = grading.score(bundled(), wanted(), read(SOUND), context)
    assert (repaired.score, repaired.parts, repaired.counts) == (sound.score, sound.parts, sound.counts)
    assert sound.score == 100
    assert (sound.ok, sound.repaired) == (True, False)
    assert (repaired.ok, repaired.repaired, repaired.reason) == (False, True, reason)
    assert grading.score(bundled(), wanted(), read(raw), context).score == 0


def test_repair_leaves_what_is_sound_alone() -> None:
    assert read(SOUND, repair=True) == read(SOUND) == grading.Known(answer())


@pytest.mark.parametrize("raw", ["", "no", SOUND[:-1], "{'a': 1}", '{"a": NaN}', '{"a": 1, "a": 2}', SOUND[:-1] + ",}"])
def test_repair_never_mends_the_json_itself(raw: str) -> None:
    assert read(raw, repair=True) == read(raw)
    assert read(raw).reason in (Failure.PARSE_FAILED, Failure.TRUNCATED_JSON)
    fenced = f"{FENCE}\n{raw}\n{FENCE}"
    assert read(fenced, repair=True).value is None


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        ({"main_topic": "string"}, 'main_topic: the placeholder "string"'),
        ({"main_topic": ...}, "main_topic: expected a value, got nothing"),
        ({"source_map": "a"}, 'source_map: expected a list, got "a"'),
    ],
)
def test_repair_does_not_excuse_what_is_wrong_inside(changes: dict[str, Json], detail: str) -> None:
    known = read(f"{FENCE}{json.dumps(answer(**changes))}{FENCE}", repair=True)
    assert known == grading.Known(None, Failure.CODE_FENCE, detail, repaired=True)
    assert grading.score(bundled(), wanted(), known, Context([])).score == 0


# The original program.


@pytest.mark.parametrize(
    ("raw", "value", "reason"),
    [
        ("", None, Failure.PARSE_FAILED),
        ("no", None, Failure.PARSE_FAILED),
        ('{"a": 1', None, Failure.TRUNCATED_JSON),
        ("{'a': 1}", None, Failure.PARSE_FAILED),
        ('[{"a": 1}]', {"a": 1}, Failure.EXTRA_TEXT),
        ('{"a": 1} {"b": 2}', {"a": 1}, Failure.EXTRA_TEXT),
        (f'{FENCE}json\n{{"a": 1}}\n{FENCE}', {"a": 1}, Failure.CODE_FENCE),
        (f'Sure: {FENCE}{{"a": 1}}', {"a": 1}, Failure.CODE_FENCE),
        (f'{{"a": "x{FENCE}y"}}', {"a": "x"}, Failure.CODE_FENCE),
        ('{"a": "string"}', {"a": "string"}, Failure.SCHEMA_FAILED),
        ('{"main_topic": "string"}', {"main_topic": "string"}, Failure.PLACEHOLDER_STRING),
        ('{"main_topic": "String"}', {"main_topic": "String"}, Failure.SCHEMA_FAILED),
        ('{"a": 1, "a": 2}', {"a": 2}, Failure.SCHEMA_FAILED),
        ('{"a": Infinity}', {"a": float("inf")}, Failure.SCHEMA_FAILED),
        ("{" * 100_000 + "}" * 100_000, None, Failure.PARSE_FAILED),
        (nest('{"a":', "}", 100_000, "1"), None, Failure.PARSE_FAILED),
        (f'{{"a": {"7" * 5000}}}', None, Failure.PARSE_FAILED),
        (SOUND, answer(), None),
    ],
)
def test_what_the_program_reads(raw: str, value: Json, reason: Failure | None) -> None:
    assert reference_structured.find(raw) == (value, reason)


def test_the_program_takes_a_number_that_is_none() -> None:
    found = reference_structured.find(SOUND.replace('"guards"', "NaN"))
    assert found.reason is None
    assert found.value is not None
    assert found.value["target_audience"] != found.value["target_audience"]


def program(raw: str | None, *, error: Any = None) -> grading.Scored:
    context = [ContextChunk("a.xlsx", "You must never force a door.")]
    return reference_structured.score(answer(), StructuredOutput(id="q", raw=raw, context=context, error=error))


def test_the_program_counts_only_what_it_finds_sound() -> None:
    sound = program(SOUND)
    assert sound.score == 100
    assert (sound.counted, sound.ok, len(sound.parts)) == (True, True, 7)
    for raw in (f"{FENCE}{SOUND}{FENCE}", f"Sure: {SOUND}"):
        wrapped = program(raw)
        assert wrapped.score == 0
        assert (wrapped.counted, wrapped.ok, wrapped.parts) == (False, False, sound.parts)
    for raw in ("no", "{}", json.dumps(answer(detailed_description="one"))):
        failed = program(raw)
        assert failed.score == 0
        assert (failed.counted, failed.ok, failed.parts) == (False, False, ())
    assert program(SOUND, error="timeout")[3:5] == (Failure.PROVIDER_ERROR, "timeout")
    assert reference_structured.score(answer(), None)[3:5] == (Failure.MISSING, "no output")


def test_a_list_that_is_null_fails_in_the_runner_of_the_program_and_is_worth_nothing_to_its_scorer() -> None:
    item = program(json.dumps(answer(detailed_description=None)))
    assert item.reason is Failure.SCHEMA_FAILED
    assert item.score == item.parts[3] == 0
    assert item.parts[0] == 1


# Any text.

SCALARS = st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(max_size=8) | st.sampled_from([FENCE, "}", "{", '"', "\\", '\\"', "NaN", "\\ud83d", "\U0001f600"])
VALUES = st.recursive(
    SCALARS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(TEXTS, VALUES, max_size=5)


@settings(max_examples=200, deadline=None)
@given(OBJECTS, st.booleans(), st.sampled_from([None, 2]))
def test_any_object_is_read_as_it_was_written(value: dict[str, Json], ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert parse(text) == Parsed(value)
    assert json.dumps(parse(text).value) == json.dumps(value)
    assert decode(text) == value
    assert span(text) == (0, len(text))


PROSE = st.text(st.characters(exclude_characters="{`", exclude_categories=["Cs"]), max_size=20)


@settings(max_examples=150, deadline=None)
@given(OBJECTS, PROSE, PROSE)
def test_any_object_in_other_text_or_a_fence_is_found(value: dict[str, Json], before: str, after: str) -> None:
    text = json.dumps(value)
    fenced = parse(f"{before}{FENCE}json\n{text}\n{FENCE}{after}")
    assert (fenced.value, fenced.reason) == (value, Failure.CODE_FENCE)
    sides = ["before"] * bool(before.strip()) + ["after"] * bool(after.strip())
    expected = Parsed(value, Failure.EXTRA_TEXT, f"text {' and '.join(sides)} the object") if sides else Parsed(value)
    assert parse(before + text + after) == expected


@settings(max_examples=200, deadline=None)
@given(OBJECTS, st.data())
def test_an_object_cut_off_anywhere_is_cut_off(value: dict[str, Json], data: st.DataObject) -> None:
    text = json.dumps(value, ensure_ascii=data.draw(st.booleans()))
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    parsed = parse(cut)
    assert parsed.value is None
    assert parsed.reason is (Failure.TRUNCATED_JSON if cut else Failure.PARSE_FAILED)


def _mutated(text: str, data: st.DataObject) -> str:
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        length = data.draw(st.integers(0, 3))
        piece = data.draw(
            st.sampled_from(['"', "\\", "{", "}", "[", "]", ",", ":", "", FENCE, "\\ud83d", "1e999", "\0"])
        )
        text = text[:at] + piece + text[at + length :]
    return text


def _judged(raw: str) -> Parsed:
    """What is always true of a judgement, whatever the text."""
    parsed = parse(raw)
    wrapped = parsed.reason in (Failure.CODE_FENCE, Failure.EXTRA_TEXT)
    assert (parsed.value is not None) == (parsed.reason is None or wrapped)
    assert bool(parsed.detail) == (parsed.reason is not None)
    if parsed.value is not None:
        json.dumps(parsed.value, ensure_ascii=False, allow_nan=False).encode()
    if parsed.reason is None:
        assert json.loads(raw.strip()) == parsed.value
    return parsed


@settings(max_examples=300, deadline=None)
@given(st.text() | st.text('{}[]",:\\ab1 \n`', max_size=40))
def test_no_text_is_too_strange(raw: str) -> None:
    _judged(raw)
    read(raw, repair=True)
    reference_structured.find(raw)


@settings(max_examples=200, deadline=None)
@given(OBJECTS, st.data())
def test_no_damage_is_too_strange(value: dict[str, Json], data: st.DataObject) -> None:
    _judged(_mutated(json.dumps(value), data))


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_damaged_answers_are_worth_between_0_and_100(data: st.DataObject) -> None:
    raw = _mutated(SOUND, data)
    item = grading.score(bundled(), wanted(), read(raw, repair=data.draw(st.booleans())), Context([]))
    assert 0 <= item.score <= 100
    assert item.ok == (read(raw).reason is None)
    reference = reference_structured.score(answer(), StructuredOutput(id="q", raw=raw))
    assert 0 <= reference.score <= 100


# The place of the object.


def scanned(text: str) -> tuple[int | None, int | None]:
    """The first object by its braces, one character after the other."""
    depth, begin, quoted, escaped = 0, None, False, False
    for nth, sign in enumerate(text):
        if begin is None:
            if sign == "{":
                begin, depth = nth, 1
        elif quoted:
            quoted = escaped or sign != '"'
            escaped = not escaped and sign == "\\"
        elif sign == '"':
            quoted = True
        elif sign in "{}":
            depth += 1 if sign == "{" else -1
            if depth == 0:
                return begin, nth + 1
    return begin, None


@settings(max_examples=500, deadline=None)
@given(st.text('{}[]"\\a \n', max_size=30) | st.text('{}"\\', max_size=14))
def test_the_place_of_the_object_is_what_a_plain_scan_finds(text: str) -> None:
    assert span(text) == scanned(text)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", (None, None)),
        ("}", (None, None)),
        ("{", (0, None)),
        ("{}", (0, 2)),
        ("}{}", (1, 3)),
        ('" {}', (2, 4)),
        ('{"}"}', (0, 5)),
        ('{"\\"}"}', (0, 7)),
        ('{"\\\\"}', (0, 6)),
        ('{"\\"}', (0, None)),
        ('{"a', (0, None)),
        ('{"a\\', (0, None)),
        ('{\\"}', (0, None)),
        ("{]}", (0, 3)),
        ("{{}", (0, None)),
        ("{} {}", (0, 2)),
    ],
)
def test_the_place_of_the_object(text: str, place: tuple[int | None, int | None]) -> None:
    assert span(text) == place == scanned(text)
