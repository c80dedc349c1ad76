"""Structured question sets: lint, freeze, verify, diff, and subsets that are the same for everybody."""

import gzip
import hashlib
import json
import os
import random
import re
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import listed
from conftest import run_cli as ragworthy
from places import SHARED
from ragworthy.errors import DataError
from ragworthy.gold import structured as drawing
from ragworthy.gold.structured import Candidate, draw
from ragworthy.load.definition import bundled
from ragworthy.load.questions import read_subset
from ragworthy.metrics.definition import Definition, Field
from ragworthy.metrics.facts.expected import problem_of, problems_of
from ragworthy.metrics.kinds.grounding import Grounding
from ragworthy.metrics.kinds.texts import Keywords, Label, Listed
from ragworthy.metrics.kinds.values import Boolean, Enum, Number
from ragworthy.records import StructuredGold

Row = dict[str, Any]
DATA = SHARED / "data" / "graphrag" / "dev" / "gold.jsonl"
EVIDENCE = "The night guard writes every round into the log book before the shift ends at six."
SIGNED = "--signer 'YOUR NAME' --reason 'first set'"
SMALL = "warning: q.json: {} questions: a smoke test needs at least 10 [RW-W15]"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def row(name: str, /, question: str | None = None, **fields: Any) -> Row:
    """A sound question; fields of the answer given as None are left out."""
    answer = {
        "target_audience": "guards",
        "main_topic": "rounds",
        "sub_topic": "log book",
        "detailed_description": ["write every round down"],
        "original_evidence": EVIDENCE,
        "predicted_questions": [],
    } | fields
    answer = {key: value for key, value in answer.items() if value is not None}
    refs = [{"file": "a.doc", "page": 1, "anchors": ["log book"]}]
    return {
        "id": name,
        "question": f"What about {name}?" if question is None else question,
        "expected": {"answer_example": answer, "source_map": [{"part": "main_topic", "refs": refs}]},
    }


def mapped(name: str, source_map: Any) -> Row:
    made = row(name)
    made["expected"]["source_map"] = source_map
    return made


def write(rows: list[Any], name: str = "q.json", indent: int | None = None) -> Path:
    """A question file: JSON lines, or an array with one row per line, or a pretty one."""
    if name.endswith(".jsonl"):
        text = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in rows)
    elif indent is not None:
        text = json.dumps(rows, indent=indent, ensure_ascii=False)
    else:
        text = "[\n" + ",\n".join(json.dumps(one, ensure_ascii=False) for one in rows) + "\n]\n"
    Path(name).write_text(text, encoding="utf-8")
    return Path(name)


def lint(*rows: Any, args: tuple[str, ...] = ()) -> tuple[int, list[str]]:
    """Exit code and findings; the rows are on lines 2, 3, …"""
    write(list(rows))
    done = ragworthy("gold", "lint", "q.json", "--format", "json", *args)
    assert done.err == ""
    return done.code, listed(done.out)


# what makes a question unscorable


FIELDS = Definition(
    "d",
    (
        Field("topic", "label", Label(), Fraction(1, 2), ("deep", "topic")),
        Field("level", "enum", Enum(("low", "high")), Fraction(1, 4), ("level",), required=False),
        Field("refs", "grounding", Grounding(), Fraction(1, 4), ("source_map",)),
    ),
    expected=(),
)


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        ({"deep": {"topic": "x"}}, None),
        ({"deep": {"topic": "x"}, "level": None}, None),
        ({"deep": {"topic": "x"}, "level": "low", "keywords": {}}, None),
        (None, ("RW-Q01", "expected", "expected an object, got nothing")),
        ({"deep": {}}, ("RW-Q01", "expected.deep.topic", "expected a string, got nothing")),
        ({"deep": {"topic": None}}, ("RW-Q01", "expected.deep.topic", "expected a string, got null")),
        ({"deep": {"topic": " "}}, ("RW-Q01", "expected.deep.topic", "expected a text, got an empty one")),
        ({"deep": {"topic": "x"}, "level": "mid"},
         ("RW-Q01", "expected.level", 'expected one of low, high, got "mid"')),
        ({"keywords": {}},
         ("RW-Q02", "expected", "expected the fields of the definition, got the old form with keywords")),
    ],
)  # fmt: skip
def test_what_makes_a_question_unscorable(expected: Row | None, found: tuple[str, str, str] | None) -> None:
    assert problem_of(StructuredGold(id="a", question="Q?", expected=expected), FIELDS) == found


def test_a_question_without_text_comes_last() -> None:
    assert problem_of(StructuredGold(expected={"deep": {"topic": "x"}}), FIELDS) == (
        "RW-Q03", "question", "expected a text, got nothing",
    )  # fmt: skip
    both = list(problems_of(StructuredGold(question=" ", expected={"deep": {"topic": 1}, "level": 2}), FIELDS))
    assert [(code, message) for code, _, message in both] == [
        ("RW-Q01", "expected a string, got 1"),
        ("RW-Q01", "expected one of low, high, got 2"),
        ("RW-Q03", "expected a text, got an empty one"),
    ]


keys = st.sampled_from(["answer_example", "target_audience", "keywords", "source_map", "x"])
leaves = st.none() | st.booleans() | st.integers() | st.text()


@given(st.recursive(leaves, lambda inner: st.lists(inner) | st.dictionaries(keys, inner), max_leaves=12))
def test_any_expected_object_gets_an_answer(value: Any) -> None:
    expected = value if isinstance(value, dict) else {"answer_example": value}
    for definition in (bundled(), FIELDS):
        found = problem_of(StructuredGold(question="Q?", expected=expected), definition)
        assert found is None or (found[0] in ("RW-Q01", "RW-Q02") and found[1].startswith("expected"))
        assert found is None or found[2].startswith("expected ")


# lint


def test_a_sound_set_has_only_its_size_to_tell() -> None:
    assert lint(row("a"), row("b")) == (0, [SMALL.format(2)])
    assert ragworthy("gold", "lint", "q.json").out.splitlines()[-5:] == [
        "RW-W15 small_gold_set: 1 time. Smoke tests need 10 questions, a release 30, a release of an index 200, "
        "a regression gate 100.",
        "",
        "2 distinct question texts, 1 distinct expected object",
        f"next: ragworthy gold freeze q.json {SIGNED}",
        "lint: 2 items, 0 errors, 1 warning, 0 notes (exit 0)",
    ]


@pytest.mark.parametrize(
    ("bad", "finding"),
    [
        ("x", 'expected a JSON object, got "x" [RW-F08]'),
        (row("") | {"id": 7}, "id: expected a string, got 7 [RW-Q01]"),
        (row(""), "id: expected a non-empty string, got nothing [RW-G01]"),
        (row("ok"), 'id: expected a unique id, got "ok" again [RW-G02]'),
        (row("x") | {"question": 1}, "question: expected a string, got a whole number [RW-Q01]"),
        (row("x", " \u3000"), "question: expected a text, got an empty one [RW-Q03]"),
        ({"id": "x", "question": "Q?"}, "expected: expected an object, got nothing [RW-Q01]"),
        (row("x") | {"expected": []}, "expected: expected an object, got a list [RW-Q01]"),
        (row("x") | {"expected": {"source_map": []}},
         "expected.answer_example: expected an object, got nothing [RW-Q01]"),
        (row("x") | {"expected": {"answer_example": "x"}},
         'expected.answer_example: expected an object, got "x" [RW-Q01]'),
        (row("x") | {"expected": {"must_include": [], "keywords": {}}},
         "expected: expected answer_example, got the old form with must_include and keywords [RW-Q02]"),
        (row("x", target_audience=None),
         "expected.answer_example.target_audience: expected a string, got nothing [RW-Q01]"),
        (row("x", main_topic=""), "expected.answer_example.main_topic: expected a text, got an empty one [RW-Q01]"),
        (row("x", sub_topic=["a"]), "expected.answer_example.sub_topic: expected a string, got a list [RW-Q01]"),
        (row("x", detailed_description="a"),
         'expected.answer_example.detailed_description: expected a list of strings, got "a" [RW-Q01]'),
        (row("x", predicted_questions=["a", 2]),
         "expected.answer_example.predicted_questions: expected strings only, got 2 at [1] [RW-Q01]"),
        (row("x", original_evidence={}),
         "expected.answer_example.original_evidence: expected a string, got an object [RW-Q01]"),
    ],
)  # fmt: skip
def test_errors(bad: Any, finding: str) -> None:
    code, findings = lint(row("ok", "First?"), bad)
    errors = [one for one in findings if one.startswith("error")]
    assert (code, errors) == (1, [f"error: q.json:3: {finding}"])


def test_an_empty_set_is_an_error() -> None:
    write([])
    done = ragworthy("gold", "lint", "q.json", "--definition", definition())
    assert (done.code, done.out.splitlines()[0]) == (1, "error: q.json: expected gold items, got none [RW-G05]")


def test_every_field_that_is_wrong_is_told() -> None:
    assert lint(row("a", main_topic=1, sub_topic=None, question=""))[1] == [
        "warning: q.json: 0 distinct questions: a smoke test needs at least 10 [RW-W15]",
        "error: q.json:2: expected.answer_example.main_topic: expected a string, got 1 [RW-Q01]",
        "error: q.json:2: expected.answer_example.sub_topic: expected a string, got nothing [RW-Q01]",
        "error: q.json:2: question: expected a text, got an empty one [RW-Q03]",
    ]


@pytest.mark.parametrize(
    ("doubtful", "finding"),
    [
        (row("x", original_evidence="short text of few words, padded with: a b c d"),
         "expected.answer_example.original_evidence: "
         "6 of the 8 keywords that full marks need: no answer can get them [RW-W42]"),
        (row("x", original_evidence="ones twos three four five six seven nine"), None),
        (row("x", original_evidence="one  two three four five six seven  nine"),
         "expected.answer_example.original_evidence: "
         "38 of the 40 characters that full marks need: quoting it is not enough [RW-W42]"),
        (row("x", detailed_description=[f"item {n}" for n in range(12)] + [" "]), None),
        (row("x", detailed_description=[f"item {n}" for n in range(13)]),
         "expected.answer_example.detailed_description: "
         "13 items, of which an answer can match 12: none can get full marks [RW-W51]"),
        (row("x", predicted_questions=[f"item {n}" for n in range(11)]),
         "expected.answer_example.predicted_questions: "
         "11 items, of which an answer can match 10: none can get full marks [RW-W51]"),
        (row("x", "Cafe\u0301?"), "text that is not in Unicode form NFC [RW-W10]"),
        (row("x", detailed_description=["cafe\u0301"]), "text that is not in Unicode form NFC [RW-W10]"),
        (row("x") | {"grading": {"coverage_weight": 1}},
         "grading: weights that are not used, in 1 of 2 questions [RW-W46]"),
    ],
)  # fmt: skip
def test_warnings(doubtful: Row, finding: str | None) -> None:
    code, findings = lint(row("ok"), doubtful)
    expected = [f"warning: q.json:3: {finding}"] if finding else []
    assert (code, findings) == (0, [SMALL.format(2), *expected])


REF: Row = {"file": "a.doc"}


@pytest.mark.parametrize(
    ("source_map", "finding"),
    [
        ([], None),
        ([{"part": "sub_topic", "refs": [REF]}], None),
        ([{"part": "sub_topic", "refs": [REF | {"sheet": "S", "row": 1, "page": 2, "anchors": ["x"]}]}], None),
        (None, ": expected a list, got null"),
        ({}, ": expected a list, got an object"),
        (["x"], '[0]: expected an object, got "x"'),
        ([{"refs": [REF]}], "[0].part: expected one of target_audience, main_topic, sub_topic, "
         "detailed_description, original_evidence, got nothing"),
        ([{"part": "predicted_questions", "refs": [REF]}], "[0].part: expected one of target_audience, main_topic, "
         'sub_topic, detailed_description, original_evidence, got "predicted_questions"'),
        ([{"part": ["a"], "refs": [REF]}], "[0].part: expected one of target_audience, main_topic, "
         "sub_topic, detailed_description, original_evidence, got a list"),
        ([{"part": "sub_topic"}], "[0].refs: expected a list of references, got nothing"),
        ([{"part": "sub_topic", "refs": []}], "[0].refs: expected a list of references, got an empty list"),
        ([{"part": "sub_topic", "refs": [REF, 1]}], "[0].refs[1]: expected an object, got 1"),
        ([{"part": "sub_topic", "refs": [{}]}], "[0].refs[0].file: expected a file name, got nothing"),
        ([{"part": "sub_topic", "refs": [{"file": " "}]}], '[0].refs[0].file: expected a file name, got ""'),
        ([{"part": "sub_topic", "refs": [REF | {"sheet": ""}]}], '[0].refs[0].sheet: expected a text, got ""'),
        ([{"part": "sub_topic", "refs": [REF | {"row": 0}]}],
         "[0].refs[0].row: expected a whole number from 1 up, got 0"),
        ([{"part": "sub_topic", "refs": [REF | {"page": True}]}],
         "[0].refs[0].page: expected a whole number from 1 up, got true"),
        ([{"part": "sub_topic", "refs": [REF | {"anchors": []}]}],
         "[0].refs[0].anchors: expected a list of texts, got an empty list"),
        ([{"part": "sub_topic", "refs": [REF | {"anchors": "x"}]}],
         '[0].refs[0].anchors: expected a list of texts, got "x"'),
        ([{"part": "sub_topic", "refs": [REF | {"anchors": ["x", " "]}]}],
         '[0].refs[0].anchors[1]: expected a text, got ""'),
    ],
)  # fmt: skip
def test_the_shape_of_a_source_map(source_map: Any, finding: str | None) -> None:
    expected = [f"warning: q.json:2: expected.source_map{finding} [RW-W43]"] if finding else []
    assert lint(mapped("a", source_map)) == (0, ["warning: q.json: 1 question: a smoke test needs at least 10 [RW-W15]",
                                                 *expected])  # fmt: skip


def definition(text: str = "") -> str:
    """A definition without grounding, with a field that may be absent."""
    Path("mine.toml").write_text(
        text
        or 'version = 1\nid = "mine"\nexpected = ""\nstrata = ["open"]\n'
        '[[field]]\nname = "open"\nkind = "boolean"\nweight = 0.5\n'
        '[[field]]\nname = "price"\nkind = "number"\nweight = 0.5\nrequired = false\n'
    )
    return "mine.toml"


def test_a_definition_of_ones_own() -> None:
    rows = [
        {"qid": "a", "question": "A?", "expected": {"open": True, "price": 3, "source_map": "not looked at"}},
        {"qid": "b", "question": "B?", "expected": {"open": False}},
        {"qid": "c", "question": "C?", "expected": {"open": "yes", "price": None}},
    ]
    assert lint(*rows, args=("--definition", definition())) == (1, [
        SMALL.format(3),
        'error: q.json:4: expected.open: expected true or false, got "yes" [RW-Q01]',
    ])  # fmt: skip


def test_parts_of_a_source_map_are_the_fields_of_the_definition() -> None:
    text = (
        'version = 1\nid = "m"\nexpected = ""\n[[field]]\nname = "price"\nkind = "number"\nweight = 0.5\n'
        '[[field]]\nname = "refs"\nkind = "grounding"\nweight = 0.5\nat = "sources"\n'
    )
    sources = [{"part": "price", "refs": [REF]}, {"part": "refs", "refs": [REF]}]
    code, findings = lint(
        {"id": "a", "question": "A?", "expected": {"price": 1, "sources": sources}},
        args=("--definition", definition(text)),
    )
    assert (code, findings[1:]) == (0, [
        'warning: q.json:2: expected.sources[1].part: expected one of price, got "refs" [RW-W43]',
    ])  # fmt: skip


def test_repeated_questions_are_told_once_for_each_text() -> None:
    rows = [row("a", "Same?"), row("b", "Other?"), row("c", " Same? "), row("d", "Same?"), row("e", "Other?")]
    assert lint(*rows) == (0, [
        "warning: q.json: 2 distinct questions: a smoke test needs at least 10 [RW-W15]",
        "warning: q.json:2: question: 3 questions have this text, the first is a [RW-W41]",
        "warning: q.json:3: question: 2 questions have this text, the first is b [RW-W41]",
    ])  # fmt: skip


@pytest.mark.parametrize(("count", "said"), [(9, "a smoke test needs at least 10"), (10, "a release needs at least 30"),
                                             (29, "a release needs at least 30"), (30, "")])  # fmt: skip
def test_the_size_of_a_set(count: int, said: str) -> None:
    found = lint(*(row(str(nth)) for nth in range(count)))[1]
    assert found == ([f"warning: q.json: {count} questions: {said} [RW-W15]"] if said else [])


def test_lines_of_pretty_arrays_lines_and_packed_files() -> None:
    rows = [row("a"), row("b", main_topic=3), row("b")]
    said = [
        "expected.answer_example.main_topic: expected a string, got 3 [RW-Q01]",
        'id: expected a unique id, got "b" again [RW-G02]',
    ]
    text = write(rows, "pretty.json", indent=2).read_text()
    starts = [number for number, line in enumerate(text.splitlines(), 1) if line == "  {"]
    write(rows, "q.jsonl")
    Path("pretty.json.gz").write_bytes(gzip.compress(text.encode()))
    for name, lines in (("pretty.json", starts), ("pretty.json.gz", starts), ("q.jsonl", [1, 2, 3])):
        out = listed(ragworthy("gold", "lint", name, "--format", "json").out)
        assert [line for line in out if line.startswith("error")] == [
            f"error: {name}:{lines[1]}: {said[0]}", f"error: {name}:{lines[2]}: {said[1]}",
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[{"id": "a"},\n]', "q.json:2: expected a JSON array, got ] (trailing comma in array) [RW-F07]"),
        ('{\n"id": "a"}', "q.json:1: expected a JSON array or one record per line, got one object over several lines "
         "[RW-F07]"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_taken_apart(text: str, said: str) -> None:
    Path("q.json").write_text(text)
    for args in ((), ("--definition", definition())):
        done = ragworthy("gold", "lint", "q.json", *args)
        assert (done.code, done.err, done.out.splitlines()[0]) == (1, "", f"error: {said}")
    done = ragworthy("gold", "freeze", "q.json", "--signer", "Ada", "--reason", "why")
    assert (done.code, done.err.splitlines()[0]) == (2, said)


def test_a_number_out_of_range_is_told_wherever_it_stands() -> None:
    Path("q.jsonl").write_text(
        json.dumps(row("a") | {"note": "?"}).replace('"?"', "1e999") + f"\n{json.dumps(row('b'))}\n"
    )
    said = 'q.jsonl:1: expected a JSON object, got {"id": "a", "question": "What about a?"… (Number out of range'
    done = ragworthy("gold", "lint", "q.jsonl")
    assert (done.code, done.err) == (1, "")
    first = done.out.splitlines()[0]
    assert first.startswith(f"error: {said}") and first.endswith(") [RW-F07]")
    for verb in (("subset", "-o", "dev.json"), ("freeze", "--signer", "Ada", "--reason", "r")):
        done = ragworthy("gold", verb[0], "q.jsonl", *verb[1:])
        assert (done.code, done.out) == (2, "") and done.err.startswith(said)
    assert sorted(os.listdir()) == ["q.jsonl"]


def test_json_and_sarif() -> None:
    lint(row("a", "Same?"), row("b", "Same?", main_topic=1))
    done = ragworthy("gold", "lint", "q.json", "--format", "json")
    body = json.loads(done.out)
    assert (done.code, body["items"], body["errors"]) == (1, 2, 1)
    assert body["distinct"] == {"questions": 1, "expected": 2}
    assert body["findings"][-1] == {
        "level": "error", "code": "RW-Q01", "name": "question_shape", "qid": "b", "where": "q.json:3",
        "field": "expected.answer_example.main_topic", "message": "expected a string, got 1",
    }  # fmt: skip
    results = json.loads(ragworthy("gold", "lint", "q.json", "--format", "sarif").out)["runs"][0]["results"]
    lines = [one["locations"][0]["physicalLocation"]["region"]["startLine"] for one in results]
    assert [(one["ruleId"], one["level"]) for one in results] == [
        ("RW-W15", "warning"), ("RW-W41", "warning"), ("RW-Q01", "error"),
    ]  # fmt: skip
    assert lines == [1, 2, 3]


def test_other_suites_are_told_apart() -> None:
    answers = {"qid": "a", "question": "A?", "answerable": True, "gold_citations": ["d"], "expected": "free text"}
    write([answers], "gold.jsonl")
    assert "distinct" not in ragworthy("gold", "lint", "gold.jsonl").out
    write([answers], "gold.json", indent=1)
    said = "gold.json: this is a JSON array, and not one object "
    assert ragworthy("gold", "lint", "gold.json").err.startswith(said)
    Path("gold.json").write_text(f"[\n{json.dumps(answers)},\n{json.dumps(answers | {'qid': 'b'})}\n]\n")
    for command in (["lint"], ["freeze", "--signer", "A", "--reason", "first"]):  # the last line can be read by itself
        done = ragworthy("gold", command[0], "gold.json", *command[1:])
        assert done.code == 2 and done.err.startswith(said)
    write([{"id": "b", "question": "B?"}, row("a")], "q.jsonl")
    out = ragworthy("gold", "lint", "q.jsonl").out
    assert "error: q.jsonl:1: expected: expected an object, got nothing [RW-Q01]\n" in out


def test_wrong_usage_of_lint() -> None:
    write([row("a")])
    done = ragworthy("gold", "lint", "q.json", "--corpus", "x")
    assert done.err.splitlines()[0] == "--corpus: a set of structured answers is not compared with a corpus [RW-U01]"
    done = ragworthy("gold", "lint", "q.json", "--definition", definition(), "-o", "mine.toml")
    assert done.err.splitlines()[0] == "mine.toml: expected a new file, got one that is read [RW-U01]"


# freeze, verify, diff


@pytest.mark.parametrize(("name", "indent"), [("q.json", None), ("q.json", 2), ("q.jsonl", None)])
def test_freeze_and_verify(name: str, indent: int | None) -> None:
    path = write([row("a"), row("b")], name, indent)
    done = ragworthy("gold", "freeze", name, "--signer", "Ada", "--reason", "first")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    told = f"frozen: 2 items, sha256 {digest}, signed by Ada\nlock: q.lock\nnext: ragworthy gold verify {name}\n"
    assert (done.code, done.out) == (0, told)
    assert ragworthy("gold", "verify", name).code == 0
    write([row("a"), row("b", main_topic="other"), row("c")], name, indent)
    done = ragworthy("gold", "verify", name)
    assert (done.code, done.out.splitlines()[:2]) == (4, ["added: c", "changed: b"])


def test_the_items_of_an_array_and_of_json_lines_have_the_same_hashes() -> None:
    rows = [row("a"), row("b", original_evidence="首都 " * 30)]
    locks = []
    for name, indent in (("q.json", 2), ("q.jsonl", None)):
        write(rows, name, indent)
        assert ragworthy("gold", "freeze", name, "--signer", "A", "--reason", "r", "--lock", f"{name}.lock").code == 0
        locks.append(json.loads(Path(f"{name}.lock").read_text())["item_sha256"])
    assert locks[0] == locks[1]


def test_freezing_needs_readable_items_with_ids() -> None:
    text = write([row("a"), {"question": "Q?", "expected": {}}, row("a")], indent=1).read_text()
    starts = [number for number, line in enumerate(text.splitlines(), 1) if line == " {"]
    done = ragworthy("gold", "freeze", "q.json", "--signer", "Ada", "--reason", "r")
    assert (done.code, [line for line in done.err.splitlines() if line.startswith("q.json")]) == (2, [
        f"q.json:{starts[1]}: id: expected a non-empty string, got nothing [RW-G01]",
        f'q.json:{starts[2]}: id: expected a unique id, got "a" again [RW-G02]',
    ])  # fmt: skip


def test_diff() -> None:
    write([row("a"), row("b"), row("c"), row("d")], "old.json", indent=2)
    write([row("a") | {"note": 1}, row("b", main_topic="x"), row("c", "New?"), row("e")], "new.jsonl")
    done = ragworthy("gold", "diff", "old.json", "new.jsonl")
    assert done.out.splitlines() == [
        "changed: a (note): not scored: nothing moves",
        "changed: b (expected): another answer is right now: scores of the question are not comparable",
        "changed: c (question): another question under the same qid: give it a new qid instead",
        "removed: d: a question less: totals are over another set",
        "added: e: a new question: totals are over another set",
        "1 added, 1 removed, 3 changed",
        "runs over the two sets are not comparable",
    ]


# subsets: the draw


def candidates(groups: dict[tuple[str, ...], int]) -> list[Candidate]:
    found = [(labels, nth) for labels, count in groups.items() for nth in range(count)]
    return [
        Candidate(f"{'/'.join(labels)}{nth:03}", f"text {labels} {nth}", labels, place)
        for place, (labels, nth) in enumerate(found)
    ]


def sizes(items: list[Candidate], size: int, seed: int = 42) -> dict[tuple[str, ...], int]:
    drawn = draw(items, size, seed)
    return dict(Counter(one.labels for one in items if one.place in set(drawn.places)))


def test_quotas_worked_by_hand() -> None:
    # 20 + 6 + 3 + 1 = 30 items, 13 wanted: one each leaves 9; 9·20/30 = 6, 9·6/30 = 1.8, 9·3/30 = 0.9, 9·1/30 = 0.3,
    # rounded down 6 + 1 + 0 + 0, and the two left over go to the two largest groups: 8 + 3 + 1 + 1 in all.
    items = candidates({("a",): 20, ("b",): 6, ("c",): 3, ("d",): 1})
    assert sizes(items, 13) == {("a",): 8, ("b",): 3, ("c",): 1, ("d",): 1}
    # 3 + 2 items, 3 wanted: one each leaves 1, which goes to the larger group whatever the number is.
    items = candidates({("a",): 3, ("b",): 2})
    assert [sizes(items, 3, seed) for seed in range(8)] == [{("a",): 2, ("b",): 1}] * 8


def test_fewer_places_than_groups_go_to_the_largest_then_by_label() -> None:
    items = candidates({("z",): 2, ("b",): 1, ("a",): 1, ("y",): 3})
    assert sizes(items, 3) == {("y",): 1, ("z",): 1, ("a",): 1}
    assert draw(items, 3, 42)[1:] == (7, 4, 3)


def test_where_a_group_has_no_more_the_others_give() -> None:
    # 4 + 5 single items, 8 wanted: one each leaves 2; 2·4/9 is under 1, so the two left over go to "a" and "b"; "b" has
    # no more to give, and only "a" has some left.
    items = candidates({("a",): 4, ("b",): 1, ("c",): 1, ("d",): 1, ("e",): 1, ("f",): 1})
    assert sizes(items, 8) == {("a",): 3, ("b",): 1, ("c",): 1, ("d",): 1, ("e",): 1, ("f",): 1}


def shuffled_by(text: str, ids: list[str]) -> list[str]:
    """Ids in the order that the hash of a text gives them."""
    order = sorted(ids)
    random.Random(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")).shuffle(order)
    return order


def test_the_pool_is_one_and_shuffled_by_its_own_hash() -> None:
    # 3 + 3 + 6 single items, 11 wanted: one each leaves 3; 3·3/12 is under 1, so they go to "a", "b" and "c", which has
    # no more; the pool holds the last one of "a" and the last one of "b".
    for seed in range(6):
        items = candidates({(label,): 3 if label in "ab" else 1 for label in "abcdefgh"})
        by_group = [shuffled_by(f"{seed}|{label}", [f"{label}{nth:03}" for nth in range(3)]) for label in "ab"]
        lost = shuffled_by(f"{seed}|pool", [by_group[0][2], by_group[1][2]])[1]
        taken = {items[place].id for place in draw(items, 11, seed).places}
        assert {one.id for one in items} - taken == {lost}


def test_members_are_chosen_by_the_hash_of_seed_and_labels() -> None:
    items = candidates({("a", "ü"): 9})
    taken = {items[place].id for place in draw(items, 4, 7).places}
    assert taken == set(shuffled_by("7|a|ü", [one.id for one in items])[:4])


def test_a_text_counts_once_under_its_first_id() -> None:
    items = [Candidate("b", "same", ("x",), 0), Candidate("a", "same", ("y",), 1), Candidate("c", "other", ("x",), 2)]
    assert draw(items, 9, 42) == ([1, 2], 2, 2, 2)


groups_of = st.dictionaries(st.tuples(st.sampled_from("abcde"), st.sampled_from("xyz")), st.integers(1, 12), min_size=1)


@given(groups=groups_of, size=st.integers(1, 80), seed=st.integers(0, 9), shuffled=st.randoms(use_true_random=False))
def test_draws(groups: dict[tuple[str, ...], int], size: int, seed: int, shuffled: random.Random) -> None:
    items = candidates(groups)
    drawn = draw(items, size, seed)
    total = len(items)
    assert len(drawn.places) == len(set(drawn.places)) == min(size, total)
    assert drawn.places == sorted(drawn.places)
    assert drawn[1:] == (total, len(groups), min(size, len(groups)))
    taken = sizes(items, size, seed)
    if size >= len(groups):
        assert set(taken) == set(groups)
        for labels, count in groups.items():  # nobody gets less than its share, rounded down
            share = (min(size, total) - len(groups)) * count // total
            assert 1 + share <= taken[labels] <= count
    else:
        least = min(groups[labels] for labels in taken)
        assert all(count <= least for labels, count in groups.items() if labels not in taken)
    moved = items[:]
    shuffled.shuffle(moved)
    again = draw([one._replace(place=place) for place, one in enumerate(moved)], size, seed)
    assert {moved[place].id for place in again.places} == {items[place].id for place in drawn.places}


# subsets: the command


def various(count: int = 60) -> list[Row]:
    return [row(f"q{nth:02}", target_audience="AB"[nth % 2], main_topic=f"t{nth % 5}") for nth in range(count)]


def test_a_subset_is_written_and_says_where_it_comes_from() -> None:
    parent = write(various(), indent=2)
    done = ragworthy("gold", "subset", "q.json", "-o", "dev.json", "--size", 20)
    digest = hashlib.sha256(parent.read_bytes()).hexdigest()
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        f"60 items, 60 distinct questions, 10 groups\ntaken: 20 questions\nparent: sha256 {digest}\nsubset: dev.json\n"
    )
    text = Path("dev.json").read_text(encoding="utf-8")
    lines = text.splitlines()
    assert lines[0] == (
        '{"schema": "ragworthy.subset/1", "algorithm": "stratified-sha256/1", "seed": 42, "size": 20, '
        '"strata": ["target_audience", "main_topic"], '
        f'"parent": {{"file": "q.json", "sha256": "{digest}", "items": 60, "distinct": 60}}, "questions": ['
    )
    assert lines[-1] == "]}"
    taken = [json.loads(line.removesuffix(",")) for line in lines[1:-1]]
    by_id = {one["id"]: one for one in various()}
    assert [by_id[one["id"]] for one in taken] == taken
    assert [one["id"] for one in taken] == sorted(one["id"] for one in taken)
    answers = [one["expected"]["answer_example"] for one in taken]
    assert Counter((one["target_audience"], one["main_topic"]) for one in answers) == Counter(
        {(audience, f"t{nth}"): 2 for audience in "AB" for nth in range(5)}
    )
    assert read_subset(Path("dev.json")).questions == taken


def test_a_subset_can_be_linted_frozen_and_drawn_from() -> None:
    write(various())
    assert ragworthy("gold", "subset", "q.json", "-o", "dev.json", "--size", 12).code == 0
    assert ragworthy("gold", "lint", "dev.json").out.splitlines()[-3:] == [
        "12 distinct question texts, 10 distinct expected objects",
        f"next: ragworthy gold freeze dev.json {SIGNED}",
        "lint: 12 items, 0 errors, 1 warning, 0 notes (exit 0)",
    ]
    assert ragworthy("gold", "freeze", "dev.json", "--signer", "Ada", "--reason", "r").code == 0
    assert ragworthy("gold", "verify", "dev.json").code == 0
    assert ragworthy("gold", "subset", "dev.json", "-o", "less.json", "--size", 3).out.startswith(
        "12 items, 12 distinct"
    )
    assert read_subset(Path("less.json")).parent.sha256 == hashlib.sha256(Path("dev.json").read_bytes()).hexdigest()


def test_too_few_questions_and_too_many_groups_are_said() -> None:
    write([row("a", "Same?"), row("b", "Same?"), row("c", main_topic="other")])
    out = ragworthy("gold", "subset", "q.json", "-o", "dev.json").out.splitlines()
    assert out[:2] == [
        "3 items, 2 distinct questions, 2 groups",
        "taken: 2 questions: all there are, fewer than the 100 asked for",
    ]
    assert [one["id"] for one in read_subset(Path("dev.json")).questions] == ["a", "c"]
    out = ragworthy("gold", "subset", "q.json", "-o", "dev.json", "--size", 1).out.splitlines()
    assert out[1:3] == ["taken: 1 question", "1 group without a question: there are more than 1"]


def test_strata_of_a_definition_of_ones_own() -> None:
    rows = [{"id": str(nth), "question": f"{nth}?", "expected": {"open": nth < 4}} for nth in range(40)]
    write(rows, "q.jsonl")
    ragworthy("gold", "subset", "q.jsonl", "-o", "dev.json", "--size", 2, "--definition", definition())
    found = read_subset(Path("dev.json"))
    assert (found.strata, sorted(one["expected"]["open"] for one in found.questions)) == (["open"], [False, True])


def test_numbers_are_kept_as_they_are_written() -> None:
    Path("q.json").write_text(
        '[\n {"id": "a",\n  "question": "A?",\n "expected": {"open": true,\n "price": 1.50}, '
        '"big": 12345678901234567890123}]'
    )
    ragworthy("gold", "subset", "q.json", "-o", "dev.json", "--definition", definition())
    assert Path("dev.json").read_text().splitlines()[1] == (
        '{"id": "a", "question": "A?", "expected": {"open": true, "price": 1.50}, "big": 12345678901234567890123}'
    )


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("-o", "q.json"), "q.json: expected a new file, got one that is read [RW-U01]"),
        (("-o", "mine.toml", "--definition", "mine.toml"),
         "mine.toml: expected a new file, got one that is read [RW-U01]"),
        (("-o", "dev.json.gz"), "-o: expected a .json file, got dev.json.gz [RW-U01]"),
    ],
)  # fmt: skip
def test_outputs_that_are_refused(args: tuple[str, ...], said: str) -> None:
    before = write(various()).read_bytes()
    definition()
    done = ragworthy("gold", "subset", "q.json", *args)
    assert (done.code, done.err.splitlines()[0]) == (2, said)
    assert Path("q.json").read_bytes() == before


@pytest.mark.parametrize("text", ["", "mine", "{}", '{"schema": "ragworthy.lock/1"}', json.dumps([row("a")])])
def test_only_an_earlier_subset_is_written_over(text: str) -> None:
    write(various())
    Path("dev.json").write_text(text)
    done = ragworthy("gold", "subset", "q.json", "-o", "dev.json", "--size", 5)
    assert (done.code, done.out, Path("dev.json").read_text()) == (2, "", text)
    assert done.err.splitlines()[0] == "dev.json: already there, and no subset [RW-U03]"
    Path("dev.json").unlink()
    for size in (5, 7):
        assert ragworthy("gold", "subset", "q.json", "-o", "dev.json", "--size", size).code == 0
        assert len(read_subset(Path("dev.json")).questions) == size


def test_sets_that_cannot_be_drawn_from() -> None:
    write([row("a"), row("b", main_topic=1), row("c", "")])
    done = ragworthy("gold", "subset", "q.json", "-o", "dev.json")
    assert (done.code, [line for line in done.err.splitlines() if line.startswith("q.json")]) == (2, [
        "q.json:3: expected.answer_example.main_topic: expected a string, got 1 [RW-Q01]",
        "q.json:4: question: expected a text, got an empty one [RW-Q03]",
    ])  # fmt: skip
    write([])
    done = ragworthy("gold", "subset", "q.json", "-o", "dev.json")
    assert (done.code, done.err.splitlines()[0]) == (2, "q.json: expected gold items, got none [RW-G05]")
    assert not Path("dev.json").exists()


def test_the_same_bytes_under_any_hash_seed() -> None:
    write(various())
    written = set()
    for seed in ("0", "1", "4242"):
        command = [sys.executable, "-m", "ragworthy", "gold", "subset", "q.json", "-o", f"{seed}.json", "--size", "25"]
        subprocess.run(command, env=os.environ | {"PYTHONHASHSEED": seed}, check=True, capture_output=True)
        written.add(Path(f"{seed}.json").read_bytes())
    assert len(written) == 1


def test_the_order_of_the_parent_decides_only_the_order_of_the_rows() -> None:
    rows = various()
    mixed = random.Random(3).sample(rows, len(rows))
    taken = []
    for some in (rows, mixed):
        write(some)
        ragworthy("gold", "subset", "q.json", "-o", "dev.json", "--size", 17)
        found = [one["id"] for one in read_subset(Path("dev.json")).questions]
        assert found == [one["id"] for one in some if one["id"] in set(found)]
        taken.append(sorted(found))
    assert taken[0] == taken[1]


def test_another_number_draws_others() -> None:
    write(various())
    taken = []
    for seed in (42, 42, 43):
        ragworthy("gold", "subset", "q.json", "-o", "dev.json", "--size", 17, "--seed", seed)
        taken.append([one["id"] for one in read_subset(Path("dev.json")).questions])
    assert taken[0] == taken[1] != taken[2]


# the real data


@pytest.fixture
def real() -> list[Row]:
    """The distinct questions of the real sets, each with how many ids it is under."""
    return [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]


def repeated(some: list[Row], counts: list[int]) -> list[Row]:
    made = [one for one, count in zip(some, counts, strict=True) for _ in range(count)]
    return [
        {"id": f"Q{nth:04}", "question": one["question"], "expected": one["expected"]}
        for nth, one in enumerate(made, 1)
    ]


@pytest.mark.data("data/graphrag/dev/gold.jsonl")
def test_the_real_questions_are_sound(real: list[Row]) -> None:
    rows = repeated(real, [one["duplicate_ids"] for one in real])
    write(rows, indent=2)
    done = ragworthy("gold", "lint", "q.json", "--format", "json")
    body = json.loads(done.out)
    assert (done.code, body["items"], body["errors"]) == (0, sum(one["duplicate_ids"] for one in real), 0)
    expected = {json.dumps(one["expected"], sort_keys=True) for one in real}
    assert body["distinct"] == {"questions": len({one["question"] for one in real}), "expected": len(expected)}
    codes = Counter(one["code"] for one in body["findings"])
    assert codes["RW-W41"] == len(real)
    assert set(codes) <= {"RW-W15", "RW-W41", "RW-W42"}


@pytest.mark.data("data/graphrag/dev/gold.jsonl")
def test_a_thousand_ids_of_eight_questions(real: list[Row]) -> None:
    # the published set has this shape; the texts are eight of those at hand
    rows = repeated(real[:8], [125] * 8)
    write(rows, indent=2)
    out = ragworthy("gold", "lint", "q.json").out.splitlines()
    assert "8 distinct question texts, 8 distinct expected objects" in out
    assert "warning: q.json: 8 distinct questions: a smoke test needs at least 10 [RW-W15]" in out
    told = [line for line in listed(ragworthy("gold", "lint", "q.json", "--format", "json").out) if "[RW-W41]" in line]
    assert [re.findall(r"(\d+) questions have this text, the first is (Q\d+)", line) for line in told] == [
        [("125", f"Q{1 + 125 * nth:04}")] for nth in range(8)
    ]
    out = ragworthy("gold", "subset", "q.json", "-o", "dev100.json").out.splitlines()
    groups = {
        tuple(one["expected"]["answer_example"][key] for key in ("target_audience", "main_topic")) for one in rows
    }
    assert out[:2] == [
        f"1,000 items, 8 distinct questions, {len(groups)} groups",
        "taken: 8 questions: all there are, fewer than the 100 asked for",
    ]
    found = read_subset(Path("dev100.json"))
    assert (found.parent.items, found.parent.distinct, len(found.questions)) == (1000, 8, 8)


def test_the_kinds_that_lint_looks_into_are_those_of_the_bundled_definition() -> None:
    kinds = {field.kind: type(field.rules) for field in bundled().fields}
    assert kinds == {"label": Label, "list": Listed, "keywords": Keywords, "grounding": Grounding}
    number = Field("n", "number", Number(), Fraction(1, 2), ("n",))
    boolean = Field("b", "boolean", Boolean(), Fraction(1, 2), ("b",))
    gold = StructuredGold(question="Q?", expected={"n": 1, "b": None})
    found = problem_of(gold, Definition("d", (number, boolean), expected=()))
    assert found == ("RW-Q01", "expected.b", "expected true or false, got null")


def test_a_subset_drawn_from_a_file_that_changes_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    from ragworthy.gold import structured

    write(various())

    def meanwhile(*args: Any) -> drawing.Drawn:
        os.utime("q.json", (1, 1))
        return draw(*args)

    monkeypatch.setattr(drawing, "draw", meanwhile)
    with pytest.raises(DataError) as caught:
        structured.subset(Path("q.json"), Path("dev.json"), size=5, seed=42, definition=None)
    assert str(caught.value.problems[0]) == "q.json: the file changed while it was being read [RW-F16]"
    assert not Path("dev.json").exists()
