"""What the structured suite is given: questions, outputs, where they come from, subsets, definitions, single items."""

import gzip
import hashlib
import json
import re
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ragworthy as rw
from conftest import run_cli, write_jsonl
from ragworthy.codes import CATALOGUE
from ragworthy.errors import RagworthyError, UsageError
from ragworthy.load.definition import bundled_text
from ragworthy.metrics.definition import ABSENT
from ragworthy.names import Verdict
from ragworthy.suites.structured import provenance
from structured_case import (
    CONTEXT,
    ELSEWHERE,
    EXPECTED,
    FIELDS,
    META,
    REF,
    Ran,
    Row,
    answer,
    both,
    cli,
    expecting,
    gated,
    lines_of,
    output,
    policy,
    question,
    refs,
    said,
    scored,
)

# questions


def with_(row: Row, **changes: Any) -> Row:
    """The row with other values; ABSENT takes a key away."""
    return {key: value for key, value in {**row, **changes}.items() if value is not ABSENT}


BAD_QUESTIONS: list[tuple[Any, str, str]] = [
    (question(1), "RW-G02", 'id: expected a unique id, got "Q1" again'),
    (with_(question(2), id=ABSENT), "RW-G01", "id: expected a non-empty string, got nothing"),
    (question(2, id=""), "RW-G01", "id: expected a non-empty string, got nothing"),
    (question(2, id=5), "RW-Q01", "id: expected a string, got 5"),
    (question(2, question=5), "RW-Q01", "question: expected a string, got a whole number"),
    (question(2, question=" \t"), "RW-Q03", "question: expected a text, got an empty one"),
    (with_(question(2), question=ABSENT), "RW-Q03", "question: expected a text, got nothing"),
    (
        question(2, expected={"must_include": ["a"], "keywords": ["b"]}),
        "RW-Q02",
        "expected: expected answer_example, got the old form with must_include and keywords",
    ),
    (question(2, expected=None), "RW-Q01", "expected: expected an object, got nothing"),
    (question(2, expected="x"), "RW-Q01", "expected: expected an object, got a string"),
    (question(2, expected={}), "RW-Q01", "expected.answer_example: expected an object, got nothing"),
    (
        question(2, expected={"answer_example": [1]}),
        "RW-Q01",
        "expected.answer_example: expected an object, got a list",
    ),
    (
        expecting(2, target_audience=5),
        "RW-Q01",
        "expected.answer_example.target_audience: expected a string, got 5",
    ),
    (
        expecting(2, sub_topic=" "),
        "RW-Q01",
        "expected.answer_example.sub_topic: expected a text, got an empty one",
    ),
    (
        expecting(2, detailed_description="x"),
        "RW-Q01",
        'expected.answer_example.detailed_description: expected a list of strings, got "x"',
    ),
    (
        expecting(2, predicted_questions=["a", None]),
        "RW-Q01",
        "expected.answer_example.predicted_questions: expected strings only, got null at [1]",
    ),
    (
        expecting(2, original_evidence=None),
        "RW-Q01",
        "expected.answer_example.original_evidence: expected a string, got null",
    ),
    ([1], "RW-F08", "expected a JSON object, got a list"),
]


@pytest.mark.parametrize("form", ["lines", "array"])
@pytest.mark.parametrize(("bad", "code", "message"), BAD_QUESTIONS)
def test_questions_that_are_refused(form: str, bad: Any, code: str, message: str, tmp_path: Path) -> None:
    path, rows = tmp_path / "questions.json", [question(1), bad, question(3)]
    pretty = json.dumps(rows, indent=1)
    path.write_text(pretty if form == "array" else "".join(f"{json.dumps(row)}\n" for row in rows))
    # of an array of one, the closing bracket is where the second element of this one begins
    line = 2 if form == "lines" else len(json.dumps(rows[:1], indent=1).splitlines())
    written = write_jsonl(tmp_path / "outputs.jsonl", both(3)[1])
    done = run_cli("score", "structured", "--questions", path, "--outputs", written)
    assert (done.code, done.out, done.err) == (2, "", said(code, f"{path}:{line}: {message}"))
    allowed = run_cli("score", "structured", "--questions", path, "--outputs", written, "--allow-gold-errors")
    assert allowed.code == (0 if code == "RW-Q03" else 2)


@pytest.mark.parametrize("text", ["", "\n\n", "[]", " [ ]\n"])
def test_no_questions_at_all(text: str, tmp_path: Path) -> None:
    path = tmp_path / "questions.json"
    path.write_text(text)
    done = run_cli("score", "structured", "--questions", path, "--outputs", write_jsonl(tmp_path / "o.jsonl", []))
    assert (done.code, done.err) == (2, said("RW-G05", f"{path}: expected questions, got none"))


def test_every_problem_of_both_files_is_told_at_once_up_to_twenty(tmp_path: Path) -> None:
    questions = [question(n, question="") for n in range(1, 31)]
    done = cli(tmp_path, questions, [output(1, raw=5)])
    assert done.code == 2
    lines = done.err.splitlines()
    assert [line for line in lines if line.endswith("[RW-Q03]")] == [
        f"{tmp_path / 'questions.jsonl'}:{n}: question: expected a text, got an empty one [RW-Q03]"
        for n in range(1, 21)
    ]
    assert lines[-1] == "… and 11 more"


def test_questions_without_text_count_as_different_ones(tmp_path: Path) -> None:
    questions = [question(n, question="") for n in (1, 2)]
    ran = scored(tmp_path, questions, both(2)[1], "--allow-gold-errors")
    assert (ran.done.code, ran.body["counts"]["distinct_questions"]) == (0, 2)
    assert ran.body["settings"]["allow_gold_errors"] is True


def test_lines_arrays_and_packed_files_give_the_same(tmp_path: Path) -> None:
    questions, outputs = both(5)
    outputs[1] = output(2, "no")
    write_jsonl(tmp_path / "outputs.jsonl", outputs)
    forms = {
        "a.jsonl": "".join(f"{json.dumps(one)}\n" for one in questions),
        "b.json": json.dumps(questions),
        "c.json": json.dumps(questions, indent=2, ensure_ascii=False),
    }
    found = []
    for name, text in forms.items():
        (tmp_path / name).write_text(text)
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
        for path in (tmp_path / name, tmp_path / f"{name}.gz"):
            result = rw.score("structured", questions=path, outputs=tmp_path / "outputs.jsonl")
            found.append((list(result.rows()), result.metrics, result.report["gates"]))
    assert all(one == found[0] for one in found)


def test_a_number_out_of_range_in_a_field_that_is_not_read_is_taken_as_a_text(tmp_path: Path) -> None:
    asked, written = tmp_path / "q.jsonl", write_jsonl(tmp_path / "o.jsonl", both(3)[1])
    rows = [question(1, code="?", tags=["a"]), question(2, code=2), question(3)]
    asked.write_text("".join(f"{json.dumps(row)}\n" for row in rows).replace('"?"', "1e999"))
    assert run_cli("score", "structured", "--questions", asked, "--outputs", written).code == 0
    result = rw.score("structured", questions=asked, outputs=written, slices=["code", "tags"])
    slices = result.report["suites"]["structured"]["slices"]
    assert [name for name in slices if name.startswith(("code=", "tags="))] == ["code=1e999", "code=2", "tags=a"]
    assert slices["code=1e999"]["structured.score"]["n"] == 1


# outputs that are there or not


def test_a_question_without_an_output_counts_as_nothing_and_makes_the_evidence_invalid(tmp_path: Path) -> None:
    ran = scored(tmp_path, both(4)[0], both(3)[1])
    assert (ran.done.code, ran.report["verdict"]) == (4, "INVALID")
    assert ran.report["invalid"] == ["1 question has no output"]
    assert ran.exact("score") == 75 and ran.exact("schema_pass_rate") == Fraction(3, 4)
    assert ran.exact("grounding") == Fraction(3, 4)
    assert ran.outcomes["structured.missing"] == "fail"
    assert ran.report["next"][0]["pattern"] == "questions without an output"
    assert ran.rows[3]["fail_detail"] == "no output"


def test_outputs_of_no_question_are_never_scored(tmp_path: Path) -> None:
    strays = [output(n, "no") for n in (12, 11, 9, 10, 9)]
    ran = scored(tmp_path, both(2)[0], [*both(2)[1], *strays])
    assert (ran.done.code, ran.exact("score"), len(ran.rows)) == (0, Fraction(100), 2)
    assert ran.warned["RW-W07"] == "5 traces belong to no gold question, e.g. Q10, Q11, Q12"
    assert (ran.body["counts"]["orphan_traces"], ran.body["counts"]["outputs"]) == (5, 7)


def test_of_several_outputs_the_last_counts(tmp_path: Path) -> None:
    first, last = output(1, "no"), output(1)
    for order, worth in (([first, last], 100.0), ([last, first], 0.0), ([last, first, first], 0.0)):
        ran = scored(tmp_path, both(1)[0], order)
        assert ran.rows[0]["metrics"]["structured.score"] == worth
        many = len(order) - 1
        assert ran.warned["RW-W06"] == f"{many} output{'s were' if many > 1 else ' was'} replaced by a later one"


def test_no_outputs_at_all(tmp_path: Path) -> None:
    ran = scored(tmp_path, both(2)[0], [])
    assert (ran.done.code, ran.report["verdict"], ran.exact("score")) == (4, "INVALID", Fraction(0))
    assert ran.report["invalid"][0] == "2 questions have no output"
    done = run_cli(
        "score", "structured", "--questions", tmp_path / "questions.jsonl", "--outputs", tmp_path / "no.jsonl"
    )
    assert (done.code, done.err.splitlines()[0]) == (
        2,
        f"{tmp_path / 'no.jsonl'}: expected a file, got nothing at this path [RW-F01]",
    )


def test_ids_under_either_key(tmp_path: Path) -> None:
    questions = [{"qid" if key == "id" else key: value for key, value in question(1).items()}, question(2)]
    outputs = [output(1), {"qid" if key == "id" else key: value for key, value in output(2).items()}]
    assert scored(tmp_path, questions, outputs).exact("score") == 100


def test_outputs_may_be_an_array_too(tmp_path: Path) -> None:
    asked, written = write_jsonl(tmp_path / "q.jsonl", both(2)[0]), tmp_path / "o.json"
    written.write_text(json.dumps(both(2)[1], indent=1))
    files = ("--questions", asked, "--outputs", written)
    assert run_cli("score", "structured", *files).code == 0
    packed = written.with_name("o.json.gz")
    for text in (written.read_bytes(), "".join(f"{json.dumps(one)}\n" for one in both(2)[1]).encode()):
        packed.write_bytes(gzip.compress(text))
        assert run_cli("score", "structured", "--questions", asked, "--outputs", packed).code == 0
    written.write_text(json.dumps([output(1), output(2, raw=5)], indent=1))
    line = len(json.dumps([output(1)], indent=1).splitlines())
    message = f"{written}:{line}: raw: expected a string, got a whole number"
    done = run_cli("score", "structured", *files)
    assert (done.code, done.err) == (2, said("RW-T02", message))


def test_outputs_of_which_none_has_raw_text_are_another_kind_of_file(tmp_path: Path) -> None:
    bare = [with_(one, raw=ABSENT) for one in both(2)[1]]
    done = cli(tmp_path, both(2)[0], bare)
    message = f"{tmp_path / 'outputs.jsonl'}: raw: expected a string, got nothing in every output"
    assert (done.code, done.err) == (2, said("RW-T02", message))
    assert scored(tmp_path, both(2)[0], [bare[0], output(2)]).exact("score") == 50


# outputs that are broken

LINE = json.dumps(output(2)).encode()
BAD_LINES: list[tuple[bytes, str, str]] = [
    (b'{"raw": "x"}', "RW-T01", "id: expected a non-empty string, got nothing"),
    (b'{"id": "", "raw": "x"}', "RW-T01", "id: expected a non-empty string, got nothing"),
    (b'{"id": 2, "raw": "x"}', "RW-T02", "id: expected a string, got 2"),
    (b'{"id": "Q2", "raw": 5}', "RW-T02", "raw: expected a string, got a whole number"),
    (b'{"id": "Q2", "raw": {"a": 1}}', "RW-T02", "raw: expected a string, got an object"),
    (b'{"id": "Q2", "context": "x"}', "RW-T02", "context: expected a list, got a string"),
    (b'{"id": "Q2", "context": {"text": "x"}}', "RW-T02", "context: expected a list, got an object"),
    (b'{"id": "Q2", "context": ["x"]}', "RW-T02", "context[0]: expected an object, got a string"),
    (b'{"id": "Q2", "context": [{"text": 5}]}', "RW-T02", "context[0].text: expected a string, got a whole number"),
    (
        b'{"id": "Q2", "context": [{}, {"source_path": ["a"]}]}',
        "RW-T02",
        "context[1].source_path: expected a string, got a list",
    ),
    (b'{"id": "Q2", "meta": "x"}', "RW-T02", "meta: expected an object, got a string"),
    (b'["Q2"]', "RW-F08", "expected a JSON object, got a list"),
    (b'{"id": "Q2", "raw": "\\ud800"}', "RW-F07", "expected JSON, got half of a surrogate pair (\\ud8xx)"),
    (b'{"id": "Q2", "raw": "\\ud83d"}', "RW-F07", "expected JSON, got half of a surrogate pair (\\ud8xx)"),
    (b'{"id": "Q2", "raw": "\xe9"}', "RW-F06", "expected UTF-8, got byte 0xe9 at column 22"),
    (b'{"id": "Q2", "raw": "\x00"}', "RW-F10", "expected JSON, got a NUL byte at column 22"),
    (
        b'{"id": "Q2", "meta": {"a": NaN}}',
        "RW-F07",
        'expected a JSON object, got {"id": "Q2", "meta": {"a": NaN}} (invalid character (byte 27))',
    ),
    (
        b'{"id": "Q2", "meta": {"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}}",
        "RW-F11",
        "expected a flat record, got JSON nested too deeply",
    ),
    (
        b'{"id": "Q2", "raw": "' + b"x" * (33 << 20) + b'"}',
        "RW-F05",
        "expected lines of at most 32 MiB, got a longer one",
    ),
]


@pytest.mark.parametrize(
    ("line", "code", "message"), BAD_LINES, ids=[f"{one[1]}-{n}" for n, one in enumerate(BAD_LINES)]
)
def test_lines_that_are_refused(line: bytes, code: str, message: str, tmp_path: Path) -> None:
    asked, written = write_jsonl(tmp_path / "q.jsonl", both(3)[0]), tmp_path / "o.jsonl"
    written.write_bytes(b"\n".join([json.dumps(output(1)).encode(), line, json.dumps(output(3)).encode(), b""]))
    report = tmp_path / "report.json"
    done = run_cli("score", "structured", "--questions", asked, "--outputs", written, "-o", report)
    assert (done.code, done.out, done.err) == (2, "", said(code, f"{written}:2: {message}"))
    assert not report.exists()


def test_a_file_that_was_cut_off(tmp_path: Path) -> None:
    asked, written = write_jsonl(tmp_path / "q.jsonl", both(2)[0]), tmp_path / "o.jsonl"
    written.write_bytes(LINE + b"\n" + LINE[:200])
    done = run_cli("score", "structured", "--questions", asked, "--outputs", written)
    message = "expected a whole record, got the end of the file in the middle of one"
    assert (done.code, done.err) == (2, said("RW-F09", f"{written}:2: {message}"))


def deep(levels: int) -> str:
    return '{"a": ' + "[" * levels + "]" * levels + "}"


BAD_RAWS: list[tuple[str | None, str, str]] = [
    (None, "parse_failed", "no raw text"),
    ("", "parse_failed", "empty"),
    (" \n\t", "parse_failed", "empty"),
    ("null", "parse_failed", "no JSON object"),
    ("[1, 2]", "parse_failed", "no JSON object"),
    ("{'a': 1}", "parse_failed", "not JSON from character 2 on"),
    ('{"a": "\\ud800"}', "parse_failed", "half of a surrogate pair"),
    (deep(100), "parse_failed", "nested deeper than 100"),
    (deep(100_000), "parse_failed", "nested deeper than 100"),
    ('{"a": 1e999}', "parse_failed", "the number 1e999 is too large"),
    ('{"a": ' + "9" * 309 + "}", "parse_failed", f"the number {'9' * 40} is too large"),
    ('{"a": ' + "9" * 5000 + "}", "parse_failed", "a number of 5,000 digits"),
    ('{"a": {"b": 1, "b": 1}}', "parse_failed", 'the key "b" is twice'),
    ('{"a": NaN}', "parse_failed", "NaN is not JSON"),
    ('{"a": -Infinity}', "parse_failed", "-Infinity is not JSON"),
    ('{"a": "\x01"}', "parse_failed", "not JSON from character 8 on"),
    ("\x00\x1b[31m\x07", "parse_failed", "no JSON object"),
    ("{" * 1_000_000, "truncated_json", "the object has no end"),
    ('{"a": "' + "x" * 10_000_000, "truncated_json", "the object has no end"),
    ('{"a": "' + "x" * 10_000_000 + '"}', "schema_failed", "target_audience: expected a value, got nothing"),
    ("\ufeff" + json.dumps(answer()), "extra_text", "text before the object"),
    (f"[{json.dumps(answer())}]", "extra_text", "text before and after the object"),
    (f"``{json.dumps(answer())}``", "extra_text", "text before and after the object"),
    (json.dumps(answer()) * 2, "extra_text", "text after the object"),
    (json.dumps(answer(detailed_description=None)), "schema_failed",
     "detailed_description: expected a list of strings, got null"),
    (json.dumps(answer(predicted_questions=["a", 1])), "schema_failed",
     "predicted_questions: expected strings only, got 1 at [1]"),
    (json.dumps(answer(main_topic=["string"])), "schema_failed", "main_topic: expected a string, got a list"),
    (json.dumps(answer(source_map={})), "schema_failed", "source_map: expected a list, got an object"),
    (json.dumps(answer(predicted_questions=["string"])), "placeholder_string",
     'predicted_questions: the placeholder "string"'),
    (json.dumps(answer(target_audience="string", main_topic=5)), "placeholder_string",
     'target_audience: the placeholder "string"'),
]  # fmt: skip


def test_whatever_was_written_has_a_reason_and_breaks_nothing(tmp_path: Path) -> None:
    count = len(BAD_RAWS)
    ran = scored(tmp_path, both(count + 1)[0], [output(n, raw=raw) for n, (raw, *_) in enumerate(BAD_RAWS, 1)] +
                 [with_(output(count + 1), raw=ABSENT)], "-o", tmp_path / "r.md", "-o", tmp_path / "r.xml")  # fmt: skip
    for row, (raw, reason, detail) in zip(ran.rows, [*BAD_RAWS, BAD_RAWS[0]], strict=True):
        assert (row["fail_reason"], row["fail_detail"]) == (reason, detail), (raw or "")[:60]
        assert row["metrics"]["structured.score"] == 0.0
    assert (ran.done.code, ran.done.err, ran.exact("score")) == (1, "", Fraction(0))
    assert len(ran.done.out) < 20_000
    fine = scored(tmp_path, both(1)[0], [output(1, json.dumps(answer(more=json.loads(deep(98)))))])
    assert fine.exact("score") == 100


@pytest.mark.parametrize("error", ["down", {"code": 503}, ["x"], 7, True])
def test_an_output_with_an_error_is_one_of_the_provider(error: Any, tmp_path: Path) -> None:
    ran = scored(tmp_path, both(1)[0], [output(1, error=error, context=None)])
    row = ran.rows[0]
    detail = error if isinstance(error, str) else json.dumps(error)
    assert (row["fail_reason"], row["fail_detail"], row["stage"]) == ("provider_error", detail, "pipeline")
    assert ran.body["metrics"]["structured.score"]["ledger"]["errored"] == 1
    assert "RW-W49" not in ran.warned  # nothing was retrieved because nothing was done
    nothing: tuple[Any, ...] = (None, "", False, 0, {})
    for none in nothing:
        assert scored(tmp_path, both(1)[0], [output(1, error=none)]).exact("score") == 100


def test_an_error_of_several_parts_is_shown_as_json(tmp_path: Path) -> None:
    error = {"message": "over\nquota", "code": 429}
    shown = 'provider_error: {"code": 429, "message": "over\\nquota"}'
    done = cli(tmp_path, both(1)[0], [output(1, error=error)], "--full")
    assert f"  Q1  ERROR  0 of 100  (pipeline, target_error: {shown})" in done.out.splitlines()
    assert f"failed    {shown}" in cli(tmp_path, both(1)[0], [output(1, error=error)], "--item", "Q1").out


def test_outputs_without_context_cannot_be_borne_out(tmp_path: Path) -> None:
    outputs = [output(1, context=None), output(2, context=[]), with_(output(3), context=ABSENT), output(4)]
    ran = scored(tmp_path, both(4)[0], outputs)
    assert [row["metrics"]["structured.grounding"] for row in ran.rows] == [0.0, 0.0, 0.0, 1.0]
    assert ran.warned["RW-W49"] == "3 outputs without context: no reference can hold"
    assert {row["stage"] for row in ran.rows[:3]} == {"citation"}  # what was not stored proves nothing


def test_chunks_without_paths_or_texts_are_told_and_prove_nothing(tmp_path: Path) -> None:
    poor = answer(original_evidence="something else")
    chunks: list[list[Row]] = [[{"text": "x"}], [{"source_path": "manual.md"}, {"text": ""}], [{}], CONTEXT]
    outputs = [output(n, poor, context=context) for n, context in enumerate(chunks, 1)]
    ran = scored(tmp_path, both(4)[0], outputs)
    assert [one["message"] for one in ran.body["warnings"] if one["code"] == "RW-W49"] == [
        "2 outputs whose chunks have no source_path: no reference can hold",
        "2 outputs whose chunks have no text: no reference can hold",
    ]
    # a text that lacks the passage shows that it was not retrieved; no text at all shows nothing
    assert [row["stage"] for row in ran.rows] == ["retrieval", "generation", "generation", "generation"]
    assert [row["metrics"]["structured.grounding"] for row in ran.rows] == [0.0, 0.0, 0.0, 1.0]
    mixed = [CONTEXT[0], {"source_path": "b.md"}, {"text": "b"}]
    assert "RW-W49" not in scored(tmp_path, both(1)[0], [output(1, context=mixed)]).warned


def test_lists_over_their_limit_warn_and_are_scored_up_to_the_cap(tmp_path: Path) -> None:
    more = [f"an alien remark {n:04d}" for n in range(30)]
    lists = {"detailed_description": EXPECTED["detailed_description"] + more}
    ran = scored(tmp_path, both(1)[0], [output(1, answer(**lists))])
    assert ran.rows[0]["metrics"]["structured.detailed_description"] == 0.4  # 2·3 / (3 + 12)
    assert ran.rows[0]["schema_ok"] is ran.rows[0]["facts"]["over_limit"] is True
    assert ran.warned["RW-W44"] == "1 answer has lists longer than allowed"


def test_twelve_items_of_a_million_characters_are_scored_in_seconds(tmp_path: Path) -> None:
    huge = [chr(0x4E00 + n) + "abcdefghijklmnopqrstuvwxyz" * 38_462 for n in range(12)]
    begun = time.perf_counter()
    ran = scored(tmp_path, both(1)[0], [output(1, answer(detailed_description=huge))])
    assert time.perf_counter() - begun < 10
    assert ran.exact("score") == 70 and ran.rows[0]["counts"]["detailed_description.got"] == 12


STEERING = "\x1b[31m\x1b]0;owned\x07\x00\r\x9b31m\u202e"


def unsafe(text: str) -> set[str]:
    return {sign for sign in text if sign != "\n" and not sign.isprintable()}


def test_nothing_in_the_data_steers_a_terminal(tmp_path: Path) -> None:
    qid = f"Q1{STEERING}"
    fields = dict.fromkeys(("main_topic", "target_audience", "original_evidence"), f"x{STEERING}")
    questions = [
        question(1, id=qid, question=f"why{STEERING}", region=STEERING),
        expecting(6, **fields) | {"id": f"Q6{STEERING}"},  # the first that can be read
        *(expecting(n, **fields) for n in range(2, 6)),
    ]
    meta = {key: f"{value}{STEERING}" for key, value in META.items()}
    wrong = answer(main_topic=STEERING, source_map=refs({"file": STEERING, "anchors": [STEERING]}))
    context = [{"source_path": f"f{STEERING}", "text": STEERING}]
    outputs = [
        output(1, f"no{STEERING}", id=qid, meta=meta),
        output(2, error=f"down{STEERING}", meta=meta),
        output(3, wrong, meta=meta, context=context),
        output(4, answer(detailed_description=[{STEERING: 1}]), meta=meta),
        output(5, json.dumps({**answer(), "main_topic": None, STEERING: 1}), meta=meta),
        output(6, wrong, id=f"Q6{STEERING}", meta=meta),
        output(7, id=f"stray{STEERING}"),
    ]
    for flags in ((), ("--format", "markdown"), ("--repair",), ("--slice", "region")):
        done = cli(tmp_path, questions, outputs, *flags)
        assert done.code == 1 and not unsafe(done.out), flags
    names = [flag for name in (qid, "Q2", "Q3", "Q4", "Q5") for flag in ("--item", name)]
    for form in ("text", "markdown"):
        done = cli(tmp_path, questions, outputs, *names, "--format", form)
        assert done.code == 1 and not unsafe(done.out)
    assert not unsafe(cli(tmp_path, questions, outputs, "--item", STEERING).err)
    invalid = cli(tmp_path, questions, [*outputs, output(3)])  # two makers
    assert invalid.code == 4 and not unsafe(invalid.out)
    other = META | {"eval_set_version": f"{STEERING}@sha256:{'0' * 64}"}
    invalid = cli(tmp_path, both(1)[0], [output(1, meta=other)])
    assert invalid.code == 4 and not unsafe(invalid.out)
    bad = [question(1, id=qid), question(1, id=qid), expecting(2, main_topic=[STEERING])]
    refused = cli(tmp_path, bad, [output(1, id=qid, context=STEERING)])
    assert refused.code == 2 and refused.err.count("[RW-") == 3 and not unsafe(refused.err)
    cli(tmp_path, questions, outputs)
    files = ("--gold", tmp_path / "questions.jsonl", "--trace", tmp_path / "outputs.jsonl")
    assert not unsafe(run_cli("doctor", *files).out)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["file", "refs", "anchors", "part"]), inner, max_size=3)
    ),
    max_leaves=8,
)
ANSWERS = st.dictionaries(st.sampled_from([*EXPECTED, "source_map"]), JSON).map(lambda one: json.dumps(answer(**one)))
WRITTEN = st.text() | ANSWERS | ANSWERS.flatmap(lambda text: st.integers(0, len(text)).map(lambda end: text[:end]))


@settings(max_examples=60, deadline=None)
@given(raws=st.lists(WRITTEN, min_size=1, max_size=4), repair=st.booleans())
def test_any_text_is_scored_between_0_and_100(raws: list[str], repair: bool) -> None:
    count = len(raws)
    result = rw.score(
        "structured", questions=both(count)[0], outputs=[output(n, raw) for n, raw in enumerate(raws, 1)], repair=repair
    )
    rows = list(result.rows())
    assert len(rows) == count and result.exit_code in (0, 1)
    for row in rows:
        assert 0 <= row["metrics"]["structured.score"] <= 100
        assert all(0 <= row["metrics"][f"structured.{name}"] <= 1 for name in FIELDS)
        assert row["schema_ok"] is (row["fail_reason"] is None)
        assert row["schema_ok"] or row["facts"]["repair_used"] or row["metrics"]["structured.score"] == 0
    counts = result.report["suites"]["structured"]["fail_counts"]
    assert sum(counts.values()) == count


RECORDS = st.fixed_dictionaries(
    {"id": st.sampled_from(["Q1", "Q2", ""]) | JSON, "raw": st.none() | WRITTEN | JSON},
    optional={"context": JSON | st.lists(st.fixed_dictionaries({"text": JSON, "source_path": JSON})), "meta": JSON,
              "error": JSON},
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(questions=st.lists(st.fixed_dictionaries({"id": JSON, "question": JSON, "expected": JSON}), max_size=2),
       outputs=st.lists(RECORDS, max_size=3))  # fmt: skip
def test_any_records_are_scored_or_refused_in_words(questions: list[Row], outputs: list[Row]) -> None:
    for asked in (questions, both(2)[0]):
        try:
            result = rw.score("structured", questions=asked, outputs=outputs)
        except RagworthyError as error:
            assert all(problem.code in CATALOGUE for problem in error.problems)
            continue
        assert len(list(result.rows())) == len(asked)


# how the outputs were made

REQUIRED = tuple(META)


def made(ran: Ran) -> Row:
    found: Row = ran.body["provenance"]
    return found


@pytest.mark.parametrize("key", REQUIRED)
@pytest.mark.parametrize("without", [ABSENT, None, ""])
def test_a_run_that_does_not_say_how_it_was_made_is_invalid(key: str, without: Any, tmp_path: Path) -> None:
    meta = with_(META, **{key: without})
    ran = scored(tmp_path, both(2)[0], [one | {"meta": meta} for one in both(2)[1]])
    assert (ran.done.code, ran.report["verdict"]) == (4, "INVALID")
    assert ran.report["invalid"] == [f"the outputs do not say {key}"]
    assert made(ran)[key] is None and {made(ran)[other] for other in REQUIRED if other != key} == {
        META[other] for other in REQUIRED if other != key
    }
    save = f'save {{"{key}": "…"}} as provenance.json and give --provenance provenance.json'
    assert ran.report["next"][0]["do"] == f"{save}, or write it into meta"
    one = scored(tmp_path, both(2)[0], [output(1), output(2, meta=meta)])
    assert one.report["invalid"] == [f"the outputs do not say {key} in 1 of 2 outputs"]


def test_outputs_without_any_meta(tmp_path: Path) -> None:
    ran = scored(tmp_path, both(1)[0], [with_(output(1), meta=ABSENT)])
    assert ran.report["invalid"] == [f"the outputs do not say {key}" for key in REQUIRED]
    plain = scored(tmp_path, both(1)[0], [with_(output(1), meta=ABSENT)], "--profile", "reference")
    assert (plain.done.code, plain.report["invalid"]) == (0, [])
    assert plain.warned["RW-W48"] == f"the outputs do not say {', '.join(REQUIRED)}"
    assert "RW-W48" not in scored(tmp_path, *both(1), "--profile", "reference").warned


@pytest.mark.parametrize("key", REQUIRED)
def test_two_makers_are_one_too_many(key: str, tmp_path: Path) -> None:
    ran = scored(tmp_path, both(2)[0], [output(1), output(2, meta=META | {key: "other"})])
    first, second = sorted((META[key], "other"))
    assert (ran.done.code, ran.report["invalid"]) == (4, [f'the outputs differ in {key}: "{first}", "{second}"'])
    assert made(ran)[key] is None
    long = scored(tmp_path, both(2)[0], [output(1), output(2, meta=META | {key: "x" * 5000})])
    assert len(long.report["invalid"][0]) < 250


def test_a_registry_id_will_do_for_an_adapter(tmp_path: Path) -> None:
    registered = with_(META, adapter_id=ABSENT, registry_id="r9")
    ran = scored(tmp_path, both(1)[0], [output(1, meta=registered)])
    assert (ran.done.code, made(ran)["adapter_id"]) == (0, "r9")
    ran = scored(tmp_path, both(1)[0], [output(1, meta=META | {"registry_id": "r9"})])  # two names of one thing
    assert (ran.done.code, made(ran)["adapter_id"]) == (0, "a1")
    outputs = [output(n, meta=META | {"registry_id": "a1"}) for n in (1, 2)]
    ran = scored(tmp_path, both(3)[0], [*outputs, output(3, meta=with_(META, adapter_id=ABSENT))])
    assert ran.report["invalid"] == ["the outputs do not say adapter_id in 1 of 3 outputs"]
    mixture = [output(1), output(2, meta=registered)]
    assert scored(tmp_path, both(2)[0], mixture).report["invalid"] == ['the outputs differ in adapter_id: "a1", "r9"']


def test_only_outputs_that_count_say_how_they_were_made(tmp_path: Path) -> None:
    """A call that failed and was made again, and outputs of other questions, spoil nothing."""
    old = META | {"prompt_version": "p9"}
    outputs = [output(1, error="down", meta=None), output(2, meta=old), output(7, meta=old), *both(2)[1]]
    ran = scored(tmp_path, both(2)[0], outputs)
    assert (ran.done.code, ran.report["invalid"], made(ran)["prompt_version"]) == (0, [], "p10")
    ran = scored(tmp_path, both(2)[0], [*both(2)[1], output(2, meta=old)])
    assert ran.report["invalid"] == ['the outputs differ in prompt_version: "p10", "p9"']


def test_a_file_of_its_own_says_how_the_outputs_were_made(tmp_path: Path) -> None:
    path = tmp_path / "made.json"
    path.write_text(json.dumps(META))
    bare = [one | {"meta": None} for one in both(2)[1]]
    for outputs in (bare, [bare[0], output(2)], both(2)[1]):
        ran = scored(tmp_path, both(2)[0], outputs, "--provenance", path)
        assert (ran.done.code, {key: made(ran)[key] for key in REQUIRED}) == (0, META)
    path.write_text(json.dumps({"model_id": "m2"}))
    ran = scored(tmp_path, *both(2), "--provenance", path)
    assert ran.done.code == 4
    assert ran.report["invalid"] == ['the outputs and the provenance file differ in model_id: "m1", "m2"']
    ran = scored(tmp_path, both(2)[0], bare, "--provenance", path)
    assert ran.report["invalid"] == [f"the outputs do not say {key}" for key in REQUIRED if key != "model_id"]
    result = rw.score("structured", questions=both(2)[0], outputs=bare, provenance=path)
    assert result.report["invalid"] == ran.report["invalid"]


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("[1]", "RW-F08", "expected a JSON object, got another value"),
        ('{"model_id": ', "RW-F07", "expected a JSON object, got: Input data was truncated"),
        ("", "RW-F07", "expected a JSON object, got: Input data was truncated"),
        (None, "RW-F01", "expected a file, got nothing at this path"),
    ],
)
def test_a_provenance_file_that_is_refused(text: str | None, code: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "made.json"
    if text is not None:
        path.write_text(text)
    done = cli(tmp_path, *both(1), "--provenance", path)
    assert (done.code, done.err) == (2, said(code, f"{path}: {message}"))


def test_the_version_of_the_question_set(tmp_path: Path) -> None:
    cli(tmp_path, *both(2))
    data = (tmp_path / "questions.jsonl").read_bytes()
    sha1, sha256 = hashlib.sha1(data).hexdigest(), hashlib.sha256(data).hexdigest()
    right = [f"questions.jsonl@sha256:{sha256}", f"question_v2@{sha1}", f"questions.jsonl@{sha1[:12]}",
             f"q@{sha1.upper()}", f"q@sha256:{sha256.upper()}", "the second one"]  # fmt: skip
    wrong = [f"questions.jsonl@sha256:{'0' * 64}", f"q@sha256:{sha1}"]
    doubtful = [f"question_v2@{'0' * 40}", f"questions.jsonl@{'0' * 12}", f"q@{'A' * 40}"]
    for version in (*right, *wrong, *doubtful):
        outputs = [one | {"meta": META | {"eval_set_version": version}} for one in both(2)[1]]
        ran = scored(tmp_path, both(2)[0], outputs)
        told = [f"the outputs were made for another question set: {version}"] if version in wrong else []
        assert (ran.report["invalid"], ran.done.code) == (told, 4 if told else 0), version
        warned = f"the outputs name another question set: {version}" if version in doubtful else None
        assert ran.warned.get("RW-W52") == warned
        assert made(ran)["eval_set_version"] == f"questions.jsonl@sha256:{sha256}"
    one = [output(1), output(2, meta=META | {"eval_set_version": wrong[0]})]
    assert scored(tmp_path, both(2)[0], one).done.code == 4
    path = tmp_path / "made.json"
    path.write_text(json.dumps({"eval_set_version": wrong[1]}))
    assert scored(tmp_path, *both(2), "--provenance", path).done.code == 4


def test_what_a_report_says_of_how_it_was_made_changes_when_it_should(tmp_path: Path) -> None:
    hashes = ("eval_set_version", "scorer_version", "scorer_profile", "scorer_sha256", "definition_sha256",
              "context_sha256", "outputs_sha256")  # fmt: skip
    questions, outputs = both(2)
    first = made(scored(tmp_path, questions, outputs))
    assert all(first[key] for key in hashes)
    assert first["scorer_profile"] == "default" and first["definition"] == "eval-json-v2"
    own = tmp_path / "own.toml"
    own.write_text(bundled_text() + "# mine\n")
    other = [output(1), output(2, context=[*CONTEXT, {"source_path": "b.md", "text": "b"}])]
    spaced = [output(1), output(2, json.dumps(answer(), indent=1))]
    cases: list[tuple[list[Row], list[Row], tuple[object, ...], set[str]]] = [
        (questions, outputs, (), set()),
        (questions, outputs[::-1], (), {"outputs_sha256"}),
        (questions, spaced, (), {"outputs_sha256"}),
        (questions, other, (), {"outputs_sha256", "context_sha256"}),
        (questions[::-1], outputs, (), {"eval_set_version"}),
        (questions, outputs, ("--profile", "reference"), {"scorer_profile"}),
        (questions, outputs, ("--definition", own), {"definition_sha256"}),
        (questions, outputs, ("--repair", "--gates", "score=50"), set()),
    ]
    for asked, written, flags, changed in cases:
        now = made(scored(tmp_path, asked, written, *flags))
        assert {key for key in hashes if now[key] != first[key]} == changed, flags


def test_the_hash_of_the_scorer_is_that_of_every_file_that_decides_a_score(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the modules of the pure part import of their own must be among the files."""
    words = {"names.py", "records.py", "metrics/registry.py"}  # these decide no score, nor does what they import
    seen: set[str] = set()
    left = ["metrics/grading.py", "metrics/structured.py", "metrics/reference_structured.py"]
    root = Path(provenance.__file__).parents[2]
    while left:
        name = left.pop()
        if name in seen | words:
            continue
        seen.add(name)
        for line in (root / name).read_text().splitlines():
            if found := re.match(r"(?:from|import) ragworthy\.([\w.]+)", line):
                path = found[1].replace(".", "/")
                inner = f"{path}.py" if (root / f"{path}.py").is_file() else f"{path}/__init__.py"
                left.append(inner)
    assert seen - {"metrics/kinds/__init__.py"} == set(provenance.SCORER)
    before = provenance.scorer_sha256()
    monkeypatch.setattr(provenance, "SCORER", provenance.SCORER[1:])
    assert provenance.scorer_sha256() != before


def test_what_else_is_kept_where_all_outputs_agree(tmp_path: Path) -> None:
    more = {"retrieval": {"top_k": 5, "max_context_chars": 9000}, "generation": {"temperature": 0}, "latency_ms": 3}
    ran = scored(tmp_path, both(2)[0], [one | {"meta": META | more} for one in both(2)[1]])
    assert json.loads(made(ran)["retrieval"]) == more["retrieval"]
    assert json.loads(made(ran)["generation"]) == more["generation"]
    assert "latency_ms" not in made(ran)
    ran = scored(tmp_path, both(2)[0], [output(1, meta=META | more), output(2)])
    assert ran.done.code == 0 and "retrieval" not in made(ran)


# the dev subset


@pytest.fixture
def drawn(tmp_path: Path) -> tuple[Path, list[str]]:
    """Twelve questions with perfect answers, a subset of four, and its ids."""
    questions, outputs = both(12)
    write_jsonl(tmp_path / "questions.jsonl", questions)
    write_jsonl(tmp_path / "outputs.jsonl", outputs)
    subset = tmp_path / "dev.json"
    assert run_cli("gold", "subset", tmp_path / "questions.jsonl", "-o", subset, "--size", "4").code == 0
    return subset, [one["id"] for one in json.loads(subset.read_text())["questions"]]


def again(subset: Path, outputs: list[Row], *flags: object) -> Ran:
    return scored(subset.parent, lines_of(subset.parent / "questions.jsonl"), outputs, "--subset", subset, *flags)


def test_a_subset_that_fails_stops_the_run(drawn: tuple[Path, list[str]]) -> None:
    subset, ids = drawn
    outputs = [one | {"raw": "no"} if one["id"] in ids else one for one in both(12)[1]]
    ran = again(subset, outputs)
    assert (ran.done.code, ran.report["verdict"]) == (1, "NO-SHIP")
    assert ran.body["subset"] == {
        "verdict": "NO-SHIP",
        "questions": 4,
        "gates": {"structured.score": "fail", "structured.schema_pass_rate": "fail", "structured.missing": "pass"},
        "scored": "subset",
    }
    assert (ran.body["counts"]["gold"], ran.body["counts"]["valid"], ran.exact("score")) == (4, 0, Fraction(0))
    assert [row["qid"] for row in ran.rows] == ids
    assert ran.body["counts"]["orphan_traces"] == 0 and "RW-W07" not in ran.warned
    assert ran.report["next"][0]["do"] == "fix that first: the whole set was not scored"
    assert "dev subset of 4 questions: NO-SHIP; the whole set was not scored" in ran.done.out
    # the eight others are perfect: without the subset the mean is 800/12
    whole = scored(subset.parent, both(12)[0], outputs)
    assert whole.exact("score") == Fraction(800, 12) and whole.body["subset"] is None


def test_a_subset_that_passes_is_followed_by_the_whole_set(drawn: tuple[Path, list[str]]) -> None:
    subset, ids = drawn
    ran = again(subset, both(12)[1])
    assert (ran.done.code, ran.body["counts"]["gold"], len(ran.rows)) == (0, 12, 12)
    assert (ran.body["subset"]["verdict"], ran.body["subset"]["scored"]) == ("SHIP", "whole")
    assert "dev subset of 4 questions: SHIP; then the whole set was scored" in ran.done.out
    worse = [one if one["id"] in ids else one | {"raw": "no"} for one in both(12)[1]]
    ran = again(subset, worse)
    assert (ran.done.code, ran.exact("score"), ran.body["subset"]["verdict"]) == (1, Fraction(400, 12), "SHIP")


def test_outputs_for_the_subset_only_are_not_enough(drawn: tuple[Path, list[str]]) -> None:
    subset, ids = drawn
    ran = again(subset, [one for one in both(12)[1] if one["id"] in ids])
    assert (ran.done.code, ran.report["invalid"]) == (4, ["8 questions have no output"])
    assert (ran.body["subset"]["verdict"], ran.body["subset"]["scored"]) == ("SHIP", "whole")
    alone = run_cli(
        "score", "structured", "--full", "--questions", subset, "--outputs", subset.parent / "outputs.jsonl"
    )
    assert alone.code == 0 and "structured: 4 questions" in alone.out


def test_a_subset_of_another_set_is_refused(drawn: tuple[Path, list[str]]) -> None:
    subset, _ = drawn
    parent = json.loads(subset.read_text())["parent"]["sha256"]
    done = cli(subset.parent, both(11)[0], both(11)[1], "--subset", subset)
    path = subset.parent / "questions.jsonl"
    assert done.code == 2
    assert done.err.startswith(f"{subset}: parent.sha256: expected a subset of {path} (sha256 ")
    assert f", got one of {parent} [RW-Q04]\n" in done.err


@pytest.mark.parametrize("how", ["easier", "added", "removed", "emptied"])
def test_a_subset_that_was_edited_is_refused(how: str, drawn: tuple[Path, list[str]]) -> None:
    subset, ids = drawn
    table = json.loads(subset.read_text())
    if how == "easier":
        table["questions"][0]["expected"]["answer_example"]["main_topic"] = "e"
    elif how == "added":
        table["questions"].append(question(99))
    else:
        del table["questions"][0 if how == "emptied" else 3 :]
    subset.write_text(json.dumps(table))
    done = cli(subset.parent, *both(12), "--subset", subset)
    message = f'expected the questions as {subset.parent / "questions.jsonl"} has them, got another "{ids[0]}"'
    if how != "easier":
        got = {"added": 5, "removed": 3, "emptied": 0}[how]
        message = f"expected 4 questions, as were drawn, got {got}"
    assert (done.code, done.err) == (2, said("RW-Q04", f"{subset}: questions: {message}"))


def test_a_subset_may_hold_all_there_are(tmp_path: Path) -> None:
    questions = [question(n, question=f"Same {n % 3}?") for n in range(1, 13)]
    asked = write_jsonl(tmp_path / "questions.jsonl", questions)
    assert run_cli("gold", "subset", asked, "-o", tmp_path / "dev.json").code == 0  # 100 asked for, 3 different
    ran = again(tmp_path / "dev.json", both(12)[1])
    assert (ran.done.code, ran.body["subset"]["questions"], ran.body["counts"]["gold"]) == (0, 3, 12)


def test_a_subset_whose_parent_cannot_be_read_is_no_defect_of_ours(tmp_path: Path) -> None:
    for broken in (b'{"id": "Q1",', b'{"id": "\xff"}', b'{"id": "Q1", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"):
        (tmp_path / "q.jsonl").write_bytes(broken)
        parent = {"file": "q.jsonl", "sha256": hashlib.sha256(broken).hexdigest(), "items": 1, "distinct": 1}
        header = {"schema": "ragworthy.subset/1", "algorithm": "x", "seed": 1, "size": 1, "strata": []}
        (tmp_path / "s.json").write_text(json.dumps(header | {"parent": parent, "questions": [question(1)]}))
        write_jsonl(tmp_path / "o.jsonl", [output(1)])
        files = (
            "--questions",
            tmp_path / "q.jsonl",
            "--outputs",
            tmp_path / "o.jsonl",
            "--subset",
            tmp_path / "s.json",
        )
        done = run_cli("score", "structured", *files)
        message = f"{tmp_path / 'q.jsonl'}:1: expected the JSON of a question, got what cannot be read"
        assert (done.code, done.err) == (2, said("RW-F07", message))


def test_a_field_that_only_other_questions_have_does_not_stop_a_subset(drawn: tuple[Path, list[str]]) -> None:
    subset, ids = drawn
    questions, outputs = both(12)
    other = next(one for one in questions if one["id"] not in ids)
    other["region"] = "north"
    asked = write_jsonl(subset.parent / "questions.jsonl", questions)
    assert run_cli("gold", "subset", asked, "-o", subset, "--size", "4").code == 0
    assert other["id"] not in [one["id"] for one in json.loads(subset.read_text())["questions"]]
    ran = again(subset, outputs, "--slice", "region")
    assert ran.done.code == 0 and ran.body["slices"]["region=north"]["structured.score"]["n"] == 1
    done = cli(subset.parent, questions, outputs, "--subset", subset, "--slice", "nix")
    message = 'structured.slices: expected a field that gold items have, got "nix"'
    assert (done.code, done.err) == (2, said("RW-P03", message))


def test_a_subset_of_a_frozen_set(drawn: tuple[Path, list[str]]) -> None:
    subset, ids = drawn
    asked, outputs = subset.parent / "questions.jsonl", both(12)[1]
    assert run_cli("gold", "freeze", asked, "--signer", "ada", "--reason", "first").code == 0
    ran = again(subset, outputs)
    assert (ran.done.code, ran.body["frozen"]) == (0, "frozen") and "RW-W13" not in ran.warned
    stopped = again(subset, [one | {"raw": "no"} for one in outputs])
    assert (stopped.done.code, stopped.body["frozen"], stopped.body["counts"]["gold"]) == (1, "frozen", len(ids))
    assert "RW-W13" not in stopped.warned
    lock = asked.with_name("questions.lock")
    lock.write_text(lock.read_text().replace(hashlib.sha256(asked.read_bytes()).hexdigest(), "0" * 64))
    broken = again(subset, outputs)
    assert (broken.done.code, broken.body["frozen"]) == (4, "broken")
    assert (broken.body["subset"]["verdict"], broken.body["subset"]["scored"]) == ("INVALID", "subset")
    reason = "the gold set is not the frozen one (its SHA-256 differs from the lock)"
    assert broken.report["invalid"] == [reason]
    assert again(subset, outputs, "--unfrozen").done.code == 0


def test_a_policy_names_all_files_beside_it(drawn: tuple[Path, list[str]]) -> None:
    subset, _ = drawn
    folder = subset.parent
    (folder / "made.json").write_text(json.dumps(META))
    (folder / "own.toml").write_text(bundled_text().replace('"eval-json-v2"', '"mine"'))
    write_jsonl(folder / "outputs.jsonl", [one | {"meta": None} for one in both(12)[1]])
    ran = gated(folder, 'subset = "dev.json"\nprovenance = "made.json"\ndefinition = "own.toml"\n')
    assert (ran.done.code, ran.body["subset"]["scored"], ran.body["provenance"]["definition"]) == (0, "whole", "mine")
    assert run_cli("verify", folder / ".ragworthy" / "receipt.json").out.endswith("from 6 inputs (exit 0)\n")


# a definition of one's own

INVOICE = """
version = 1
id = "invoice"
expected = ""
strata = ["kind"]
good = 90
[[field]]
name = "total"
kind = "number"
weight = 0.4
tolerance = 0.01
at = "sum.total"
[[field]]
name = "due"
kind = "date"
weight = 0.2
tolerance_days = 1
[[field]]
name = "kind"
kind = "enum"
weight = 0.2
values = ["invoice", "credit"]
[[field]]
name = "paid"
kind = "boolean"
weight = 0.1
[[field]]
name = "note"
kind = "label"
weight = 0.1
required = false
"""
BILL: Row = {"sum": {"total": 10.5}, "due": "2026-02-28", "kind": "invoice", "paid": False}


def test_numbers_dates_words_truths_and_what_may_be_left_out(tmp_path: Path) -> None:
    definition = tmp_path / "invoice.toml"
    definition.write_text(INVOICE)
    cases: list[tuple[Row, Row, float, str | None]] = [
        ({}, {"sum": {"total": 10.51}, "due": "2026-03-01"}, 100, None),  # a cent and a day off
        ({}, {"sum": {"total": 10.511}}, 60, None),
        ({}, {"due": "2026-03-02"}, 80, None),
        ({}, {"kind": "credit", "paid": True}, 70, None),
        ({}, {"note": "more"}, 90, None),
        ({"note": "thanks"}, {"note": None}, 90, None),
        ({"note": "thanks"}, {"note": "many thanks"}, 100, None),
        ({}, {"note": None, "unknown": [1]}, 100, None),
        ({}, {"kind": "bill"}, 0, 'kind: expected one of invoice, credit, got "bill"'),
        ({}, {"paid": "no"}, 0, 'paid: expected true or false, got "no"'),
        ({}, {"due": "2026-02-30"}, 0, 'due: expected a date like 2026-12-31, got "2026-02-30"'),
        ({}, {"sum": {}}, 0, "sum.total: expected a value, got nothing"),
        ({}, {"sum": {"total": "10.5"}}, 0, 'sum.total: expected a number, got "10.5"'),
        ({}, {"note": 5}, 0, "note: expected a string, got 5"),
    ]
    questions = [question(n, expected=BILL | want) for n, (want, *_) in enumerate(cases)]
    outputs = [output(n, BILL | got) for n, (_, got, *_) in enumerate(cases)]
    ran = scored(tmp_path, questions, outputs, "--definition", definition)
    for row, (_, _, worth, detail) in zip(ran.rows, cases, strict=True):
        assert (row["metrics"]["structured.score"], row["fail_detail"]) == (worth, detail), row["qid"]
        assert row["label"] == ("SCHEMA_FAILED" if detail else "OK" if worth >= 90 else "LOW_SCORE")
    names = [name.partition(".")[2] for name in ran.body["metrics"]]
    assert names == ["score", "schema_pass_rate", "score_median", "score_p95", "missing", "total", "due", "kind",
                     "paid", "note"]  # fmt: skip
    assert ran.exact("total") == Fraction(7, 14) and ran.exact("due") == Fraction(7, 14)
    assert list(ran.body["slices"]) == ["kind=invoice"]
    assert ran.body["settings"]["definition"]["id"] == ran.body["provenance"]["definition"] == "invoice"
    assert "RW-W49" not in ran.warned  # no field refers to the context


def test_how_much_must_be_contained_is_set_in_the_definition(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    lists = ["call the maintenance vendor", "never force the door open", "calm"]  # 4 of 22 without spaces
    outputs = [output(1, answer(main_topic="elev")), output(2, answer(detailed_description=lists))]  # 4 of 18
    for contained, parts in (("0", [1.0, 1.0]), ("0.25", [0.0, 0.667]), ("1", [0.0, 0.667])):
        own.write_text(re.sub(r"(?m)^(kind = \"(?:label|list)\")", rf"\1\ncontained = {contained}", bundled_text()))
        ran = scored(tmp_path, both(2)[0], outputs, "--definition", own)
        got = [ran.rows[0]["metrics"]["structured.main_topic"],
               round(ran.rows[1]["metrics"]["structured.detailed_description"], 3)]  # fmt: skip
        assert got == parts
        assert ("RW-W50" in ran.warned) is (contained == "0")
    for wrong in ("-1", "2", '"x"', "true"):
        text = re.sub(r"(?m)^(kind = \"label\")", rf"\1\ncontained = {wrong}", bundled_text(), count=1)
        own.write_text(text)
        done = cli(tmp_path, both(2)[0], outputs, "--definition", own)
        message = f"field[0].contained: expected a number from 0 to 1, got {wrong}"
        assert (done.code, done.err) == (2, said("RW-P03", f"{own.as_posix()}: {message}"))


def test_gates_on_fields_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "invoice.toml").write_text(INVOICE)
    questions = [question(n, expected=BILL) for n in (1, 2)]
    outputs = [output(1, BILL), output(2, BILL | {"sum": {"total": 11}})]
    flags = ("--definition", tmp_path / "invoice.toml")
    ran = scored(tmp_path, questions, outputs, *flags, "--gates", "structured.total=0.5,due=1,score=80")
    assert ran.done.code == 0
    assert scored(tmp_path, questions, outputs, *flags, "--gates", "total=0.51").done.code == 1
    done = cli(tmp_path, questions, outputs, *flags, "--gates", "grounding=0.5")
    assert (done.code, done.err) == (2, said("RW-P04", '--gates: grounding: expected a metric, got "grounding"'))
    rules = 'definition = "invoice.toml"\n[[gate]]\nmetric = "structured.total"\nmin = 0.6\n'
    assert gated(tmp_path, rules).done.code == 1
    assert run_cli("gate", "-c", policy(tmp_path, rules), "--selftest").code == 0
    result = rw.score(
        "structured", questions=questions, outputs=outputs, definition=flags[1], gates={"structured.total": 0.5}
    )
    assert result.verdict is Verdict.NO_SHIP  # the default gate on the score holds too
    result = rw.score(
        "structured", questions=questions, outputs=outputs, definition=flags[1], gates={"structured.total": 0.5},
        defaults=False,
    )  # fmt: skip
    assert result.verdict is Verdict.SHIP


def test_the_reference_has_its_own_definition_and_repairs_nothing(tmp_path: Path) -> None:
    (tmp_path / "invoice.toml").write_text(INVOICE)
    message = "the profile reference has its own definition and repairs nothing"
    for flags in (("--definition", tmp_path / "invoice.toml"), ("--repair",), ("--repair", "--item", "Q1")):
        done = cli(tmp_path, *both(1), "--profile", "reference", *flags)
        assert (done.code, done.err) == (2, said("RW-U01", message))
    with pytest.raises(UsageError, match=message):
        rw.score("structured", questions=both(1)[0], outputs=both(1)[1], profile="reference", repair=True)
    with pytest.raises(UsageError, match=message):
        own = tmp_path / "invoice.toml"
        rw.score("structured", questions=both(1)[0], outputs=both(1)[1], definition=own, profile="reference")


# one item


SPOILT: Row = {
    "sub_topic": "fire drill",
    "detailed_description": [*EXPECTED["detailed_description"][:2], "an alien remark"],
    "original_evidence": "calm passengers then call elevator maintenance",
    "source_map": refs(REF, ELSEWHERE),
}
"""Worth 10 + 10 + 0 + 20 + 15 + 10 + 5."""


def test_one_item_as_text_and_markdown(tmp_path: Path) -> None:
    questions, outputs = both(2)
    outputs[1] = output(2, answer(**SPOILT))
    good = cli(tmp_path, questions, outputs, "--item", "Q1")
    assert (good.code, good.err) == (0, "")
    assert good.out.startswith("Q1  100.0 of 100  OK\n")
    assert good.out.endswith("items: 1 of 1 good (exit 0)\n")
    bad = cli(tmp_path, questions, outputs, "--item", "Q2")
    assert bad.code == 1
    assert bad.out.startswith("Q2  70.0 of 100  LOW_SCORE (generation: claim_wrong)\n")
    for line in ("    - never force the door open", "    + an alien remark"):
        assert line in bad.out
    both_items = cli(tmp_path, questions, outputs, "--item", "Q2", "--item", "Q1", "--format", "markdown")
    assert both_items.out.index("### Q2: 70.0 of 100") < both_items.out.index("### Q1: 100.0 of 100")
    assert both_items.code == 1


def test_one_item_into_a_file(tmp_path: Path) -> None:
    page, text = tmp_path / "item.md", tmp_path / "item.txt"
    done = cli(tmp_path, *both(1), "--item", "Q1", "-o", page, "-o", text, "-q")
    assert (done.code, done.out) == (0, "items: 1 of 1 good (exit 0)\n")
    assert page.read_text().startswith("### Q1: 100.0 of 100, OK\n")
    assert text.read_text().startswith("Q1  100.0 of 100  OK\n")


def test_an_item_of_a_failure_shows_what_was_written(tmp_path: Path) -> None:
    outputs = [output(1, f"Sure: {json.dumps(answer())}"), output(2, error="down")]
    done = cli(tmp_path, both(3)[0], outputs, "--item", "Q1", "--item", "Q2", "--item", "Q3")
    assert done.code == 1
    assert "failed    extra_text: text before the object" in done.out and '  | Sure: {"target_audience"' in done.out
    assert "failed    provider_error: down" in done.out and "failed    missing: no output" in done.out
    mended = cli(tmp_path, both(3)[0], outputs, "--item", "Q1", "--repair")
    assert mended.code == 1 and "repaired  the object was taken out of the text around it, and scored" in mended.out
    assert mended.out.startswith("Q1  100.0 of 100  WRAPPED (generation: claim_wrong)\n")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--item", "nix"), 'expected a question of structured, got "nix"'),
        (
            ("--item", "Q1", "--format", "json"),
            "--item: shows items as text or markdown, and writes no rows or receipts",
        ),
        (
            ("--item", "Q1", "--rows", "x.jsonl"),
            "--item: shows items as text or markdown, and writes no rows or receipts",
        ),
        (("--item", "Q1", "-o", "x.json"), "--item: expected a .txt or .md file, got x.json"),
    ],
)
def test_items_that_are_refused(flags: tuple[str, ...], message: str, tmp_path: Path) -> None:
    done = cli(tmp_path, *both(1), *flags)
    code = "RW-U13" if "nix" in flags else "RW-U01"
    assert (done.code, done.out, done.err) == (2, "", said(code, message))
    assert not Path("x.json").exists() and not Path("x.jsonl").exists()
