"""The structured suite from files to verdicts: what is counted, what is judged, what is said, and what always holds."""

import importlib
import json
import math
import os
import random
import subprocess
import sys
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from markdown_it import MarkdownIt
from pyarrow import parquet

import ragworthy as rw
from conftest import G1, G2, G3, T1, T2, T3, run_cli, write_jsonl
from ragworthy.errors import DataError, UsageError
from ragworthy.load.definition import bundled_text, new_text
from ragworthy.names import Failure, Verdict
from structured_case import (
    ELSEWHERE,
    EXPECTED,
    FIELDS,
    META,
    REF,
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

pd: Any = importlib.import_module("pandas")  # it comes without types

HAN = "電梯受困時應先安撫乘客保持鎮靜並立即聯絡維保廠商到場救援嚴禁強行開啟車門以免發生墜落危險"
"""A passage of 44 signs, all of them Chinese: any 9 in a row hold 8 keywords."""


def wilson(share: float, cases: int) -> tuple[float, float]:
    """The score interval at 95 %, written again."""
    z = 1.959963984540054
    middle = (share + z * z / (2 * cases)) / (1 + z * z / cases)
    half = z / (1 + z * z / cases) * math.sqrt(share * (1 - share) / cases + z * z / (4 * cases * cases))
    return middle - half, middle + half


# the worked totals

WORKED: list[tuple[Row, tuple[Fraction | int, ...], float]] = [
    # labels 1,1,0; F1 2/3; 6 of 8 hits; questions 1; 1 of 2 refs: 10 + 10 + 0 + 20 + 15 + 10 + 5
    (
        {
            "sub_topic": "fire drill",
            "detailed_description": [*EXPECTED["detailed_description"][:2], "an alien remark"],
            "original_evidence": "calm passengers then call elevator maintenance",
            "source_map": refs(REF, ELSEWHERE),
        },
        (1, 1, 0, Fraction(2, 3), Fraction(3, 4), 1, Fraction(1, 2)),
        70.0,
    ),
    ({}, (1, 1, 1, 1, 1, 1, 1), 100.0),
    ({"target_audience": "drivers"}, (0, 1, 1, 1, 1, 1, 1), 90.0),
    ({"source_map": refs(REF, ELSEWHERE)}, (1, 1, 1, 1, 1, 1, Fraction(1, 2)), 95.0),
    ({"source_map": []}, (1, 1, 1, 1, 1, 1, 0), 90.0),
    ({"detailed_description": [], "predicted_questions": []}, (1, 1, 1, 0, 1, 0, 1), 60.0),
]


@pytest.mark.parametrize(("changes", "parts", "total"), WORKED)
def test_w35_totals(changes: Row, parts: Sequence[Fraction | int], total: float, tmp_path: Path) -> None:
    ran = scored(tmp_path, [question()], [output(1, answer(**changes))])
    (row,) = ran.rows
    assert row["metrics"]["structured.score"] == total
    assert [row["metrics"][f"structured.{name}"] for name in FIELDS] == [float(part) for part in parts]
    assert (row["schema_ok"], row["fail_reason"], row["fail_detail"]) == (True, None, None)
    assert ran.value("score") == total
    assert [ran.value(name) for name in FIELDS] == [float(part) for part in parts]
    assert ran.done.code == ran.report["exit_code"] == (0 if total >= 95 else 1)
    assert ran.outcomes["structured.score"] == ("pass" if total >= 95 else "fail")
    assert row["label"] == ("OK" if total >= 95 else "LOW_SCORE")


def test_w35_losses_and_blame_of_the_first(tmp_path: Path) -> None:
    ran = scored(tmp_path, [question()], [output(1, answer(**WORKED[0][0]))])
    (one,) = ran.body["offenders"]
    assert one["lost"] == {
        "detailed_description": 10.0,
        "sub_topic": 10.0,
        "original_evidence": 5.0,
        "grounding": 5.0,
    }
    assert one["citations"] == ["manual.md", "elsewhere.md"]
    assert (one["retrieved_ids"], one["gold_citations"]) == (["manual.md"], ["manual.md"])
    assert one["stage"] == ran.rows[0]["stage"] == "generation"
    counts = ran.rows[0]["counts"]
    assert [counts[f"detailed_description.{name}"] for name in ("matched", "expected", "got")] == [2, 3, 3]
    assert [counts[f"original_evidence.{name}"] for name in ("hits", "length")] == [6, 46]
    assert [counts[f"grounding.{name}"] for name in ("ok_refs", "total_refs")] == [1, 2]


def hundred(length: int) -> tuple[list[Row], list[Row]]:
    """98 answers that quote so many characters of their passage, and 2 that are not JSON."""
    questions = [expecting(n, original_evidence=HAN) for n in range(1, 101)]
    outputs = [output(n, answer(original_evidence=HAN[:length])) for n in range(1, 99)]
    return questions, [*outputs, output(99, "{"), output(100, "sorry")]


@pytest.mark.parametrize(
    ("length", "each", "mean", "code"),
    [(32, 96.0, Fraction("94.08"), 1), (34, 97.0, Fraction("95.06"), 0)],  # 80 + 20·32/40, 80 + 20·34/40
)
def test_w38_two_failures_in_a_hundred(length: int, each: float, mean: Fraction, code: int, tmp_path: Path) -> None:
    ran = scored(tmp_path, *hundred(length))
    assert {row["metrics"]["structured.score"] for row in ran.rows[:98]} == {each}
    assert ran.exact("score") == mean == Fraction(98 * Fraction(each), 100)
    assert ran.exact("schema_pass_rate") == Fraction("0.98")
    assert ran.outcomes["structured.schema_pass_rate"] == "pass"
    assert ran.done.code == code
    last = ran.done.out.splitlines()[-1]
    assert last == (f"verdict: NO-SHIP (exit 1): score {float(mean):g} < 95" if code else "verdict: SHIP (exit 0)")
    assert ran.body["fail_counts"] == {"ok": 98, "truncated_json": 1, "parse_failed": 1}


def test_w38_the_reference_leaves_failures_out_of_the_mean(tmp_path: Path) -> None:
    ran = scored(tmp_path, *hundred(20), "--profile", "reference")  # 80 + 20·20/25
    assert (ran.exact("score"), ran.exact("schema_pass_rate")) == (Fraction(96), Fraction("0.98"))
    assert ran.body["metrics"]["structured.score"]["n"] == 98
    assert ran.body["metrics"]["structured.score"]["ledger"]["not_applicable"] == 2
    assert ran.done.code == 0
    assert cli(tmp_path, *hundred(20)).code == 1  # 98 · 90 / 100


def test_w38_with_weights_of_ones_own(tmp_path: Path) -> None:
    definition = tmp_path / "own.toml"
    fields = [("a", "0.96"), ("b", "0.01"), ("c", "0.03")]
    definition.write_text(
        'version = 1\nid = "own"\nexpected = ""\n'
        + "".join(f'[[field]]\nname = "{name}"\nkind = "boolean"\nweight = {weight}\n' for name, weight in fields)
    )
    questions = [question(n, expected={"a": True, "b": True, "c": True}) for n in range(1, 101)]
    for b, mean, code in ((False, "94.08", 1), (True, "95.06", 0)):
        outputs = [output(n, {"a": True, "b": b, "c": False}) for n in range(1, 99)]
        ran = scored(tmp_path, questions, [*outputs, output(99, ""), output(100, "[]")], "--definition", definition)
        assert (ran.exact("score"), ran.done.code) == (Fraction(mean), code)


# means, percentiles and ledgers

FAILURES: list[tuple[Row, str, str, str, str]] = [
    (output(2, error="time out"), "provider_error", "time out", "ERROR", "pipeline"),
    (output(3, '{"target_audience": "x'), "truncated_json", "the object has no end", "NOT_JSON", "generation"),
    (output(4, "I cannot say."), "parse_failed", "no JSON object", "NOT_JSON", "generation"),
    (
        output(5, f"```json\n{json.dumps(answer())}\n```"),
        "code_fence",
        "the object is in a code fence",
        "WRAPPED",
        "generation",
    ),
    (output(6, f"Sure! {json.dumps(answer())}"), "extra_text", "text before the object", "WRAPPED", "generation"),
    (
        output(7, answer(main_topic=" string ")),
        "placeholder_string",
        'main_topic: the placeholder "string"',
        "PLACEHOLDER",
        "generation",
    ),
    (
        output(8, {key: value for key, value in answer().items() if key != "source_map"}),
        "schema_failed",
        "source_map: expected a value, got nothing",
        "SCHEMA_FAILED",
        "generation",
    ),
]


def test_every_failure_has_its_reason_and_counts_as_nothing(tmp_path: Path) -> None:
    questions = [question(n) for n in range(1, 10)]
    ran = scored(tmp_path, questions, [output(1), *(one[0] for one in FAILURES)])
    assert [row["qid"] for row in ran.rows] == [f"Q{n}" for n in range(1, 10)]
    for row, (_, reason, detail, label, stage) in zip(ran.rows[1:8], FAILURES, strict=True):
        assert (row["fail_reason"], row["fail_detail"], row["label"], row["stage"]) == (reason, detail, label, stage)
        assert row["schema_ok"] is row["facts"]["schema_ok"] is False
        assert {name: row["metrics"][f"structured.{name}"] for name in ("score", *FIELDS)} == dict.fromkeys(
            ("score", *FIELDS), 0.0
        )
        assert (row["counts"], row["facts"]["errored"]) == ({}, reason == "provider_error")
    missing = ran.rows[8]
    assert (missing["fail_reason"], missing["label"], missing["stage"]) == ("missing", "MISSING", "pipeline")
    assert missing["facts"]["missing"] is True
    assert ran.body["fail_counts"] == {"ok": 1} | {str(reason): 1 for reason in Failure}
    assert list(ran.body["fail_counts"])[1:] == [str(reason) for reason in Failure]
    assert (ran.exact("score"), ran.exact("schema_pass_rate")) == (Fraction(100, 9), Fraction(1, 9))
    assert all(ran.exact(name) == Fraction(1, 9) for name in FIELDS)
    counts = ran.body["counts"]
    assert counts["valid"] + counts["failed"] + counts["missing"] == counts["gold"] == 9
    assert (counts["missing"], counts["errored"], counts["outputs"]) == (1, 1, 8)
    assert {one["fail_reason"] for one in ran.body["offenders"]} == {str(reason) for reason in Failure}
    assert "failed: missing 1, provider_error 1, truncated_json 1, parse_failed 1, code_fence 1," in ran.done.out


def mixed(count: int) -> tuple[list[Row], list[Row]]:
    """Answers worth many different numbers, a few of them nothing."""
    draw = random.Random(7)
    questions, outputs = [], []
    for n in range(1, count + 1):
        questions.append(expecting(n, original_evidence=HAN, target_audience=draw.choice(["staff", "guests", "all"])))
        length = draw.randrange(9, 44)
        changes = {"original_evidence": HAN[:length], "target_audience": draw.choice(["staff", "guests"])}
        lists = {"detailed_description": EXPECTED["detailed_description"][: draw.randrange(4)]}
        outputs.append(output(n, draw.choice(["no", "{"]) if draw.random() < 0.1 else answer(**changes, **lists)))
    return questions, outputs


def linear(values: Iterable[float], share: Fraction) -> Fraction:
    """The percentile that lies so far along the line through all values in order."""
    ordered = sorted(map(Fraction, values))
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


@pytest.mark.parametrize("count", [1, 2, 19, 20, 43])
def test_means_median_and_p95_worked_out_again(count: int, tmp_path: Path) -> None:
    ran = scored(tmp_path, *mixed(count))
    scores = [row["metrics"]["structured.score"] for row in ran.rows]
    assert ran.value("score") == pytest.approx(math.fsum(scores) / count, abs=6e-4)  # rows have three places
    assert ran.value("score_median") == pytest.approx(float(linear(scores, Fraction(1, 2))), abs=6e-4)
    assert ran.value("score_p95") == pytest.approx(float(linear(scores, Fraction(19, 20))), abs=6e-4)
    assert ran.value("score_p95") == pytest.approx(float(np.percentile(scores, 95)), abs=6e-4)
    assert ran.value("schema_pass_rate") == sum(row["schema_ok"] for row in ran.rows) / count
    for name in FIELDS:
        parts = [row["metrics"][f"structured.{name}"] for row in ran.rows]
        assert ran.value(name) == pytest.approx(math.fsum(parts) / count)
    weights = dict(zip(FIELDS, ("0.1", "0.1", "0.1", "0.3", "0.2", "0.1", "0.1"), strict=True))
    total = sum((100 * Fraction(weight) * ran.exact(name) for name, weight in weights.items()), Fraction(0))
    assert ran.exact("score") == total  # the mean of the sums is the sum of the means


@pytest.mark.parametrize("profile", ["default", "reference"])
def test_the_ledger_of_every_metric_adds_up(profile: str, tmp_path: Path) -> None:
    questions, outputs = mixed(30)
    outputs[3] |= {"error": "down"}
    ran = scored(tmp_path, questions, outputs[:-2], "--profile", profile)
    for name, metric in ran.body["metrics"].items():
        ledger = metric["ledger"]
        parts = ("scored", "refused", "missing", "errored", "not_applicable")
        assert ledger["expected"] == 30 == sum(ledger[part] for part in parts), name
        assert (ledger["missing"], ledger["errored"]) == (2, 1), name
    assert ran.body["metrics"]["structured.score"]["n"] == (30 if profile == "default" else ran.body["counts"]["valid"])


def test_the_interval_counts_a_repeated_question_once(tmp_path: Path) -> None:
    questions, outputs = both(8)
    ran = scored(tmp_path, [one | {"question": f"Same {n % 2}?"} for n, one in enumerate(questions)], outputs)
    metric = ran.body["metrics"]["structured.schema_pass_rate"]
    assert (metric["n"], metric["distinct"]) == (8, 2)
    # Wilson's interval of 2 clean cases: n / (n + z²)
    assert (metric["low"], metric["high"]) == pytest.approx((2 / (2 + 1.959963984540054**2), 1.0))
    assert ran.warned["RW-W41"] == "8 questions, but only 2 different ones"
    assert (ran.body["counts"]["distinct_questions"], ran.body["counts"]["distinct_expected"]) == (2, 1)


# gates


def test_the_default_gates(tmp_path: Path) -> None:
    ran = scored(tmp_path, *both(3))
    rules = [(one["metric"], one["op"], one["threshold"]) for one in ran.report["gates"]]
    assert rules == [
        ("structured.score", ">=", "95"),
        ("structured.schema_pass_rate", ">=", "0.98"),
        ("structured.missing", "<=", "0"),
    ]
    assert (ran.done.code, ran.report["verdict"]) == (0, "SHIP")


def test_one_fence_in_fifty_passes_and_one_in_forty_nine_does_not(tmp_path: Path) -> None:
    for count, outcome in ((50, "pass"), (49, "fail")):
        questions, outputs = both(count)
        outputs[0]["raw"] = f"```{outputs[0]['raw']}```"
        ran = scored(tmp_path, questions, outputs)
        assert ran.outcomes["structured.schema_pass_rate"] == outcome
        assert ran.outcomes["structured.score"] == "pass"


def test_gates_of_the_command_line(tmp_path: Path) -> None:
    questions, outputs = both(2)
    outputs[1] = output(2, answer(source_map=[]))
    for text in (["score=90,grounding=0.5"], ["score=90", "grounding=0.5"], ["structured.score>=90,grounding=0.5"]):
        ran = scored(tmp_path, questions, outputs, "--gates", *text)
        assert ran.outcomes == {
            "structured.score": "pass",
            "structured.grounding": "pass",
            "structured.schema_pass_rate": "pass",
            "structured.missing": "pass",
        }
    strict = scored(tmp_path, questions, outputs, "--gates", "grounding=0.51,eval_score_avg=95")
    assert (strict.done.code, strict.outcomes["structured.grounding"]) == (1, "fail")
    assert strict.outcomes["structured.score"] == "pass"
    gates = tmp_path / "gates.toml"
    gates.write_text("score_p95 = 99.5\nscore_median = 95.1\n")
    ran = scored(tmp_path, questions, outputs, "--gates", gates)  # median 95, p95 90 + 0.95·10
    assert (ran.exact("score_median"), ran.exact("score_p95")) == (Fraction(95), Fraction("99.5"))
    assert ran.outcomes["structured.score_median"] == "fail" and ran.outcomes["structured.score_p95"] == "pass"


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("scor=90", "RW-P04", 'scor: expected a metric, got "scor" (did you mean score?)'),
        (
            "recall@5=0.3",
            "RW-P04",
            'recall@5: expected a metric of structured, got "recall@5" (answers.recall@5 of answers)',
        ),
        (
            "answers.precision=0.8",
            "RW-P04",
            'answers.precision: expected a metric of structured, got "answers.precision" (of answers)',
        ),
        ("score=101", "RW-P05", "score: min = 101 can never pass: the metric is never above 100"),
        ("score=0", "RW-P05", "score: min = 0 can never fail: the metric is never below 0"),
        ("grounding=1.5", "RW-P05", "grounding: min = 1.5 can never pass: the metric is never above 1"),
        ("schema_pass_rate=0", "RW-P05", "schema_pass_rate: min = 0 can never fail: the metric is never below 0"),
        ("score=0.95", "RW-P05", "score: 0.95 is out of scale: the metric goes from 0 to 100, write 95"),
        ("score<=50", "RW-P10", "score: expected >=, got <="),
        (
            "score=95,eval_score_avg=94",
            "RW-P10",
            "eval_score_avg: expected one threshold for structured.score, got two",
        ),
    ],
)
def test_gates_that_are_refused(text: str, code: str, message: str, tmp_path: Path) -> None:
    done = cli(tmp_path, *both(1), "--gates", text)
    assert (done.code, done.out, done.err) == (2, "", said(code, f"--gates: {message}"))


def test_a_score_of_one_point_is_a_threshold_and_less_is_out_of_scale(tmp_path: Path) -> None:
    for text in ("score=1", "score=1.0", "score_median=1,score_p95=100"):
        assert cli(tmp_path, *both(1), "--gates", text).code == 0
    for text, more in (("score=0.999", "99.9"), ("score_median=0.5", "50"), ("score_p95=0.01", "1")):
        name, _, number = text.partition("=")
        message = f"--gates: {name}: {number} is out of scale: the metric goes from 0 to 100, write {more}"
        assert cli(tmp_path, *both(1), "--gates", text).err == said("RW-P05", message)
    path = policy(tmp_path, '[[gate]]\nmetric = "structured.score"\nmin = 0.95\n')
    message = "gate[0].min: 0.95 is out of scale: the metric goes from 0 to 100, write 95"
    assert run_cli("gate", "-c", path).err == said("RW-P05", f"{path}: {message}")


def test_what_fails_beyond_doubt_is_not_called_too_small(tmp_path: Path) -> None:
    questions, outputs = both(12)
    ran = scored(tmp_path, questions, [one | {"raw": "no"} for one in outputs])
    assert [(one["outcome"], one["note"]) for one in ran.report["gates"][:2]] == [("fail", None)] * 2
    assert ran.report["gates"][0]["high"] < 95 and ran.report["gates"][1]["high"] < 0.98
    ran = scored(tmp_path, questions, [outputs[0] | {"raw": "no"}, *outputs[1:]])  # 11 of 12 reaches beyond 0.98
    assert ran.report["gates"][1]["high"] > 0.98
    for one in ran.report["gates"][:2]:
        assert one["outcome"] == "fail" and "; to show that it misses" in one["note"]


def test_slices_are_what_their_questions_are_worth_alone(tmp_path: Path) -> None:
    questions, outputs = mixed(24)
    for n, one in enumerate(questions):
        one |= {"region": "north" if n % 3 else "south", "tags": ["a", "b"] if n % 2 else ["b"]}
    ran = scored(tmp_path, questions, outputs, "--slice", "region", "--slice", "tags", "--slice", "sub_topic")
    slices = ran.body["slices"]
    audiences = {one["expected"]["answer_example"]["target_audience"] for one in questions}
    assert set(slices) == {
        *(f"target_audience={one}" for one in audiences),
        "main_topic=elevator emergency", "sub_topic=trapped passengers",
        "region=north", "region=south", "tags=a", "tags=b",
    }  # fmt: skip
    for name in ("region=south", "tags=a", "target_audience=staff"):
        field, _, wanted = name.partition("=")
        chosen = [
            one
            for one in questions
            if wanted in (one.get(field, []), one["expected"]["answer_example"].get(field))
            or wanted in one.get(field, [])
        ]
        alone = rw.score("structured", questions=chosen, outputs=outputs)
        for metric in ("score", "schema_pass_rate", "score_median", *FIELDS):
            assert slices[name][f"structured.{metric}"]["value"] == alone.metrics[f"structured.{metric}"].value
    assert ran.body["settings"]["slices"] == ["target_audience", "main_topic", "region", "tags", "sub_topic"]


def test_many_strata_are_cut_and_gated_or_asked_for_ones_stay(tmp_path: Path) -> None:
    topics = [f"topic {n}" for n in range(1, 211)]
    asked = [expecting(n, main_topic=topic) | {"code": f"c{n % 2}"} for n, topic in enumerate(topics, 1)]
    write_jsonl(tmp_path / "questions.jsonl", asked)
    outputs = [output(n, answer(main_topic=topic)) for n, topic in enumerate(topics, 1)]
    write_jsonl(tmp_path / "outputs.jsonl", outputs)
    rule = 'slices = ["code"]\n[[gate]]\nmetric = "structured.score"\nmin = 90\nslice = "main_topic=topic 99"\n'
    ran = gated(tmp_path, rule)
    assert len(ran.body["slices"]) == 200
    assert {"target_audience=safety staff", "main_topic=topic 99", "code=c0", "code=c1"} <= set(ran.body["slices"])
    assert ran.warned["RW-W47"] == "13 slices are not shown"  # of 210 topics, one audience and two codes
    assert ran.done.code == 0


def test_strata_that_are_asked_for_are_not_cut(tmp_path: Path) -> None:
    asked = [expecting(n, main_topic=f"topic {n}") for n in range(1, 202)]
    done = cli(tmp_path, asked, both(201)[1], "--slice", "main_topic")
    message = "structured.slices: expected at most 200 slices, got 201: slice by a field with fewer values"
    assert (done.code, done.err) == (2, said("RW-P03", message))


@pytest.fixture
def six(tmp_path: Path) -> Path:
    """Six questions in two regions; the second answer names a wrong audience (90)."""
    questions, outputs = both(6)
    outputs[1] = output(2, answer(target_audience="drivers"))
    regions = [one | {"region": "north" if n % 2 else "south"} for n, one in enumerate(questions)]
    write_jsonl(tmp_path / "questions.jsonl", regions)
    write_jsonl(tmp_path / "outputs.jsonl", outputs)
    return tmp_path


@pytest.mark.parametrize(
    ("gate", "code", "outcome", "reason"),
    [
        ('slice = "region=north"\nmin = 97', 1, "fail", "below the threshold"),  # (90 + 100 + 100) / 3
        ('slice = "region=south"\nmin = 97', 0, "pass", None),
        ('slice = "target_audience=safety staff"\nmin = 98.3', 0, "pass", None),  # 590 / 6
        ('slice = "target_audience=safety staff"\nmin = 98.34', 1, "fail", "below the threshold"),
        ('slice = "region=west"\nmin = 97', 4, "not_measured", "no such number was measured in slice region=west"),
        ('must_pass = ["Q1", "Q2"]', 1, "fail", "must pass, but do not: Q2"),
        ('must_pass = ["Q1", "Q3"]', 0, "pass", "all 2 questions that must pass do"),
        ("min = 50\nmin_n = 7", 3, "undecided", "6 questions are fewer than min_n = 7"),
        ("min = 97\nreview = [98, 99]", 3, "undecided", "in the review band 98 … 99: a person decides"),
        ('min = 90\nevidence = "interval"', 3, "undecided", "the interval straddles the threshold"),
        ('min = 50\nevidence = "interval"', 0, "pass", None),
        ("max_drop = 1", 4, "not_measured", "no baseline was given"),
    ],
)
def test_gates_of_a_policy(gate: str, code: int, outcome: str, reason: str | None, six: Path) -> None:
    ran = gated(six, f'[[gate]]\nmetric = "structured.score"\n{gate}\n')
    first = ran.report["gates"][0]
    assert (ran.done.code, first["outcome"], first["reason"]) == (code, outcome, reason)


def test_the_interval_of_a_mean_of_points(six: Path) -> None:
    ran = gated(six, '[[gate]]\nmetric = "score"\nmin = 90\nevidence = "interval"\n')
    low, high = wilson(590 / 600, 6)
    gate = ran.report["gates"][0]
    assert (gate["low"], gate["high"]) == pytest.approx((100 * low, 100 * high))
    assert gate["low"] < 90 < gate["high"]
    below = gated(six, f'[[gate]]\nmetric = "score"\nmin = {100 * low - 0.01:.4f}\nevidence = "interval"\n')
    assert below.report["gates"][0]["outcome"] == "pass"


@pytest.mark.parametrize(
    ("metric", "failing"),
    [("score", ["Q2"]), ("target_audience", ["Q2"]), ("main_topic", []), ("schema_pass_rate", ["Q3"]), ("missing", [])],
)
def test_must_pass_asks_each_metric_of_each_question(metric: str, failing: list[str], six: Path) -> None:
    outputs = lines_of(six / "outputs.jsonl")
    outputs[2]["raw"] = f"```\n{outputs[2]['raw']}\n```"
    write_jsonl(six / "outputs.jsonl", outputs)
    names = '"Q1", "Q2"' if metric != "schema_pass_rate" else '"Q1", "Q2", "Q3"'
    ran = gated(
        six, f'repair = true\ndefaults = false\n[[gate]]\nmetric = "structured.{metric}"\nmust_pass = [{names}]\n'
    )
    assert ran.report["gates"][0]["failing"] == failing
    assert ran.done.code == (1 if failing else 4 if metric == "missing" else 0)  # that alone decides nothing


def test_must_pass_names_a_question_that_is_there(six: Path) -> None:
    path = policy(six, '[[gate]]\nmetric = "structured.score"\nmust_pass = ["Q77"]\n')
    done = run_cli("gate", "-c", path)
    message = 'structured.score: must_pass: expected a qid of the gold set, got "Q77"'
    assert (done.code, done.err) == (2, said("RW-P09", f"{path}: {message}"))


def test_a_drop_against_a_baseline(six: Path) -> None:
    now = (six / "outputs.jsonl").read_bytes()
    write_jsonl(six / "outputs.jsonl", both(6)[1])
    flags = ("--questions", six / "questions.jsonl", "--outputs", six / "outputs.jsonl", "--slice", "region")
    assert run_cli("score", "structured", *flags, "-o", six / "base.json").code == 0
    (six / "outputs.jsonl").write_bytes(now)
    for drop, north, outcomes in (("1.7", "3.4", ["pass"] * 2), ("1.6", "3.3", ["undecided"] * 2)):
        text = f'[[gate]]\nmetric = "structured.score"\nmax_drop = {drop}\n'
        text += f'[[gate]]\nmetric = "structured.score"\nmax_drop = {north}\nslice = "region=north"\n'
        ran = gated(six, text, head='baseline = "base.json"\n')
        # all: 100 - 590/6 = 1.67; in the north: 100 - 290/3 = 3.33
        assert [one["outcome"] for one in ran.report["gates"][:2]] == outcomes
        assert [one["baseline"] for one in ran.report["gates"][:2]] == [100.0, 100.0]
    ran = gated(six, '[[gate]]\nmetric = "structured.score"\nmax_drop = 1.6\n', "--baseline", six / "base.json")
    reason = "dropped too far, but that is not proven: 1 question changed, and fewer than 5 prove nothing"
    assert (ran.done.code, ran.report["gates"][0]["reason"]) == (3, reason)


def test_a_baseline_of_another_set_definition_or_repair_is_not_compared(six: Path) -> None:
    flags = ("--questions", six / "questions.jsonl", "--outputs", six / "outputs.jsonl")
    own = six / "own.toml"
    own.write_text(bundled_text().replace("good = 95", "good = 90"))
    cases = [
        (("--repair",), "it was scored with another setting of repair"),
        (("--definition", own), "it was scored with another setting of definition"),
        (("--profile", "reference"), "it was scored with another profile"),
    ]
    for more, why in cases:
        run_cli("score", "structured", *flags, *more, "-o", six / "base.json")
        ran = gated(six, '[[gate]]\nmetric = "score"\nmax_drop = 5\n', "--baseline", six / "base.json")
        assert ran.done.code == 4
        assert ran.report["invalid"] == [f"structured.score was not measured: the baseline is not comparable: {why}"]


@pytest.mark.parametrize(
    ("spoilt", "profiles", "verdict", "why"),
    [
        ({"meta": None}, ("default", "default"), "INVALID", "its own evidence was not valid"),
        ({"raw": "no"}, ("default", "default"), "NO-SHIP", None),
        ({}, ("reference", "reference"), "SHIP", None),
        ({"meta": None}, ("reference", "reference"), "SHIP", None),  # there it need not say how it was made
        ({}, ("default", "reference"), "SHIP", "it was scored with another profile"),
    ],
)
def test_baselines_that_can_be_compared(
    spoilt: Row, profiles: tuple[str, str], verdict: str, why: str | None, tmp_path: Path
) -> None:
    questions, outputs = both(6)
    worse = [outputs[0] | spoilt, *(one | ({} if "raw" in spoilt else spoilt) for one in outputs[1:])]
    before = scored(tmp_path, questions, worse, "--profile", profiles[0], "-o", tmp_path / "base.json")
    assert before.report["verdict"] == verdict
    gates = tmp_path / "gates.toml"
    gates.write_text('[[gate]]\nmetric = "score"\nmax_drop = 5\n')
    flags = ("--gates", gates, "--baseline", tmp_path / "base.json", "--profile", profiles[1])
    ran = scored(tmp_path, questions, outputs, *flags)
    told = [f"structured.score was not measured: the baseline is not comparable: {why}"] if why else []
    assert (ran.done.code, ran.report["invalid"]) == (4 if why else 0, told)
    warned = None if verdict == "SHIP" else f"the baseline's verdict is {verdict}"
    assert ran.warned.get("RW-W22") == warned


def test_waivers(six: Path) -> None:
    gate = '[[gate]]\nmetric = "structured.score"\nmin = 99\n'
    waiver = '[[waiver]]\ngate = "structured.score"\nreason = "new corpus"\nowner = "search"\nexpires = '
    assert gated(six, gate).done.code == 1
    ran = gated(six, f"{gate}{waiver}2999-12-31\n")
    assert (ran.done.code, ran.report["gates"][0]["outcome"]) == (0, "fail")
    assert ran.report["gates"][0]["waiver"]["owner"] == "search"
    done = run_cli("gate", "-c", policy(six, f"{gate}{waiver}2001-01-31\n"))
    assert done.code == 2 and "waiver[0].expires: expected a date from" in done.err and "[RW-P06]" in done.err


def test_policy_mistakes(six: Path) -> None:
    path = six / "ragworthy.toml"
    path.write_text('version = 1\n[structured]\nquestions = "questions.jsonl"\nrepairs = true\nrepair = "yes"\n')
    done = run_cli("gate", "-c", path)
    assert done.code == 2
    where = path.as_posix()
    for line in (
        f"{where}: structured.repairs: expected a known key, got an unknown one (did you mean repair?) [RW-P02]",
        f"{where}: structured.outputs: expected a path, got nothing [RW-P11]",
        f'{where}: structured.repair: expected true or false, got "yes" [RW-P03]',
    ):
        assert line in done.err.splitlines()


def test_selftest_shows_that_each_gate_can_fail(six: Path) -> None:
    rules = "".join(f'[[gate]]\nmetric = "structured.{name}"\nmin = 0.5\n' for name in (*FIELDS, "schema_pass_rate"))
    rules += '[[gate]]\nmetric = "structured.score"\nmust_pass = ["Q1"]\n'
    rules += '[[gate]]\nmetric = "structured.score_median"\nmin = 50\nslice = "region=north"\n'
    done = run_cli("gate", "-c", policy(six, rules), "--selftest")
    assert done.code == 0, done.out
    assert done.out.endswith("selftest: 12 of 12 gates can fail (exit 0)\n")
    assert "structured.missing ≤ 0: every output dropped → fail" in done.out
    assert "structured.grounding ≥ 0.5: every answer emptied → fail" in done.out
    idle = '[[gate]]\nmetric = "structured.score"\nmin = 99\n[[waiver]]\ngate = "structured.score"\nreason = "r"\n'
    done = run_cli("gate", "-c", policy(six, f'{idle}owner = "o"\nexpires = 2999-01-01\n'), "--selftest")
    assert done.code == 1 and "CANNOT FAIL  structured.score ≥ 99: every answer emptied → waived" in done.out


def test_one_verdict_over_two_suites(six: Path) -> None:
    write_jsonl(six / "gold.jsonl", [G1(), G2(), G3()])
    write_jsonl(six / "trace.jsonl", [T1(), T2(), T3()])
    head = '[answers]\ngold = "gold.jsonl"\ntraces = "trace.jsonl"\n'
    ran = gated(six, "", "-o", six / "r.md", "-o", six / "r.xml", head=head)
    assert (ran.done.code, list(ran.report["suites"])) == (0, ["answers", "structured"])
    assert [row["qid"] for row in ran.rows] == ["A0001", "A0002", "A0003", *(f"Q{n}" for n in range(1, 7))]
    assert len(ElementTree.fromstring((six / "r.xml").read_text()).findall(".//testcase")) == 8
    receipt = six / ".ragworthy" / "receipt.json"
    assert run_cli("verify", receipt).out.endswith("\nverified: SHIP re-derives byte for byte from 5 inputs (exit 0)\n")
    done = run_cli("gate", "-c", six / "ragworthy.toml", "--selftest")
    assert done.out.endswith("selftest: 8 of 8 gates can fail (exit 0)\n")
    write_jsonl(six / "outputs.jsonl", [output(n, "no") for n in range(1, 7)])
    assert run_cli("verify", receipt).out.startswith("structured.trace: ../outputs.jsonl changed: sha256 was ")
    ran = gated(six, "", head=head)
    assert (ran.done.code, ran.report["verdict"]) == (1, "NO-SHIP")
    assert {one["metric"] for one in ran.report["gates"] if one["outcome"] == "fail"} == {
        "structured.score",
        "structured.schema_pass_rate",
    }


# matches that prove little


def test_matches_on_a_few_characters_are_told(tmp_path: Path) -> None:
    lists = EXPECTED["detailed_description"][:2]
    changes: list[Row] = [
        {"main_topic": "elev"},  # 4 of 18
        {"detailed_description": [*lists, "door"]},  # 4 of 21 without spaces
        {},
        {"sub_topic": "trapped"},  # 7 of 18
        {"detailed_description": [*lists, "never force"]},  # 10 of 21
        {"main_topic": "zzzz"},
    ]
    outputs = [output(n, answer(**one)) for n, one in enumerate(changes, 1)]
    ran = scored(tmp_path, both(6)[0], outputs)
    (warning,) = [one for one in ran.body["warnings"] if one["code"] == "RW-W50"]
    assert (warning["message"], warning["count"], warning["qids"]) == (
        "2 answers with matches on a few characters of a long text", 2, ["Q1", "Q2"],
    )  # fmt: skip
    assert [row["metrics"]["structured.score"] for row in ran.rows] == [100.0] * 5 + [90.0]
    assert "RW-W50" not in scored(tmp_path, both(6)[0], outputs, "--profile", "reference").warned
    assert "RW-W50" not in scored(tmp_path, both(6)[0], outputs[2:]).warned


def test_a_third_of_a_text_is_enough_and_a_quarter_is_not(tmp_path: Path) -> None:
    for length, told in ((9, False), (11, False), (12, True), (13, True)):
        questions = [expecting(1, main_topic="abc", detailed_description=["abc"])]
        long = "abc" + "z" * (length - 3)
        for changes in ({"main_topic": long}, {"detailed_description": [long]}):
            given = answer(**{"main_topic": "abc", "detailed_description": ["abc"]} | changes)
            ran = scored(tmp_path, questions, [output(1, given)])
            assert ran.exact("score") == 100 and ("RW-W50" in ran.warned) is told


# repair


def test_repair_scores_and_never_passes(tmp_path: Path) -> None:
    wrong = answer(target_audience="drivers")
    raws = [json.dumps(answer()), f"```json\n{json.dumps(wrong)}\n```", f"Here: {json.dumps(answer())} Bye", "{"]
    questions, outputs = both(4)[0], [output(n, raw) for n, raw in enumerate(raws, 1)]
    plain = scored(tmp_path, questions, outputs)
    mended = scored(tmp_path, questions, outputs, "--repair")
    assert [row["metrics"]["structured.score"] for row in plain.rows] == [100.0, 0.0, 0.0, 0.0]
    assert [row["metrics"]["structured.score"] for row in mended.rows] == [100.0, 90.0, 100.0, 0.0]
    for ran, used in ((plain, [False] * 4), (mended, [False, True, True, False])):
        assert [row["facts"]["repair_used"] for row in ran.rows] == used
        assert [row["fail_reason"] for row in ran.rows] == [None, "code_fence", "extra_text", "truncated_json"]
        assert [row["schema_ok"] for row in ran.rows] == [True, False, False, False]
        assert ran.exact("schema_pass_rate") == Fraction(1, 4)
        assert ran.body["fail_counts"] == {"ok": 1, "truncated_json": 1, "code_fence": 1, "extra_text": 1}
        assert ran.body["counts"]["repaired"] == sum(used)
    assert (plain.exact("score"), mended.exact("score")) == (Fraction(25), Fraction(290, 4))
    assert mended.warned["RW-W45"] == "2 answers repaired: scored, not passed"
    assert "RW-W45" not in plain.warned
    bare = rw.score("structured", questions=questions, outputs=[output(2, wrong)])
    alone = next(row for row in bare.rows() if row["qid"] == "Q2")
    assert {name: mended.rows[1]["metrics"][f"structured.{name}"] for name in FIELDS} == {
        name: alone["metrics"][f"structured.{name}"] for name in FIELDS
    }
    assert mended.rows[1]["counts"] == alone["counts"]


def test_repair_changes_no_reference_and_no_schema(tmp_path: Path) -> None:
    lost = answer(source_map=refs(ELSEWHERE))
    lacking = {key: value for key, value in answer().items() if key != "main_topic"}
    outputs = [output(1, f"```\n{json.dumps(lost)}\n```"), output(2, f"```\n{json.dumps(lacking)}\n```")]
    ran = scored(tmp_path, both(2)[0], outputs, "--repair")
    assert ran.rows[0]["metrics"]["structured.grounding"] == 0.0
    assert (ran.rows[0]["metrics"]["structured.score"], ran.rows[1]["metrics"]["structured.score"]) == (90.0, 0.0)
    assert (ran.rows[1]["fail_reason"], ran.rows[1]["fail_detail"]) == (
        "code_fence",
        "main_topic: expected a value, got nothing",
    )


# receipts and reports


def test_a_receipt_is_verified_until_an_input_moves(tmp_path: Path) -> None:
    asked = write_jsonl(tmp_path / "questions.jsonl", both(12)[0])
    assert run_cli("gold", "subset", asked, "-o", tmp_path / "dev.json", "--size", "4").code == 0
    (tmp_path / "own.toml").write_text(bundled_text())
    (tmp_path / "made.json").write_text(json.dumps(META))
    receipt = tmp_path / "receipt.json"
    files = {"subset": "dev.json", "definition": "own.toml", "provenance": "made.json"}
    flags = [part for flag, name in files.items() for part in (f"--{flag}", tmp_path / name)]
    gates = ("--slice", "sub_topic", "--gates", "score=90,grounding=0.9", "--receipt", receipt)
    assert cli(tmp_path, *both(12), *flags, *gates).code == 0
    assert run_cli("verify", receipt).out.endswith("\nverified: SHIP re-derives byte for byte from 5 inputs (exit 0)\n")
    for role, name in {"trace": "outputs.jsonl", "gold": "questions.jsonl", **files}.items():
        before = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(before + b"\n")
        done = run_cli("verify", receipt)
        assert done.code == 1
        assert done.out.startswith(f"{role}: {name} changed: sha256 was ") and done.out.count(" changed: ") == 1
        (tmp_path / name).write_bytes(before)
    assert run_cli("verify", receipt).code == 0
    table = json.loads(receipt.read_text())
    table["request"]["settings"]["repair"] = True
    receipt.write_text(json.dumps(table))
    assert run_cli("verify", receipt).code in (1, 2)


def test_every_format(tmp_path: Path) -> None:
    questions, outputs = both(2)
    outputs[1] = output(2, "no | <b>*json*</b>")
    names = ("r.json", "r.md", "r.xml", "r.txt", "r.jsonl", "r.parquet")
    flags = [flag for name in names for flag in ("-o", tmp_path / name)]
    done = cli(tmp_path, questions, outputs, "--full", *flags)
    assert done.code == 1
    rows = lines_of(tmp_path / "r.jsonl")
    table = parquet.read_table(tmp_path / "r.parquet").to_pylist()
    for row, other in zip(rows, table, strict=True):
        assert {**other, "metrics": dict(other["metrics"]), "undefined": dict(other["undefined"]),
                "counts": dict(other["counts"])} == row  # fmt: skip
    assert (tmp_path / "r.txt").read_text() == done.out
    page = (tmp_path / "r.md").read_text()
    assert page.startswith("## ❌ Ragworthy: NO-SHIP: 2 of 3 gates fail\n") and "<b>" not in page
    suite = ElementTree.fromstring((tmp_path / "r.xml").read_text())
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "2", "0")
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["schema"] == "ragworthy.report/1" and list(report["suites"]) == ["structured"]
    assert str(tmp_path) not in (tmp_path / "r.json").read_text()


def junit(text: str) -> dict[str, list[str]]:
    """The ids that each failing gate lists."""
    cases = ElementTree.fromstring(text).iter("testcase")
    found = {case.get("name", "").partition(" ")[0]: case.findtext("failure") for case in cases}
    return {name: [line.split()[0] for line in text.splitlines()] for name, text in found.items() if text is not None}


def test_junit_lists_under_each_gate_what_it_is_about(tmp_path: Path) -> None:
    outputs = [
        output(1, "no"),
        output(2, answer(main_topic="zzz", sub_topic="zzz")),
        output(3, answer(source_map=[], main_topic="zzz")),
        output(4),
    ]
    gates = "score=99,score_median=99,score_p95=100,schema_pass_rate=0.99,grounding=0.99,sub_topic=0.99"
    listed = junit(cli(tmp_path, both(4)[0], outputs, "--gates", gates, "--format", "junit").out)
    assert listed == {
        "structured.score": ["Q1", "Q2", "Q3"],
        "structured.score_median": ["Q1", "Q2", "Q3"],
        "structured.score_p95": ["Q1", "Q2", "Q3"],
        "structured.schema_pass_rate": ["Q1"],
        "structured.grounding": ["Q1", "Q3"],
        "structured.sub_topic": ["Q1", "Q2"],
    }


def test_junit_says_how_it_was_made(tmp_path: Path) -> None:
    made = ElementTree.fromstring(cli(tmp_path, *both(2), "--format", "junit").out).iter("property")
    told = {one.get("name"): one.get("value") for one in made}
    assert {"structured.prompt_sha256", "structured.index_version", "structured.scorer_version"} <= told.keys()


def test_junit_lists_under_each_suite_its_own(six: Path) -> None:
    write_jsonl(six / "gold.jsonl", [G1(), G2(), G3()])
    write_jsonl(six / "trace.jsonl", [T1() | {"answer_json": {"claim": "no", "citations": []}}, T2(), T3()])
    write_jsonl(six / "outputs.jsonl", [output(n, "no") for n in range(1, 7)])
    head = '[answers]\ngold = "gold.jsonl"\ntraces = "trace.jsonl"\n'
    listed = junit(run_cli("gate", "-c", policy(six, "", head), "--format", "junit").out)
    assert listed["answers.precision"] == ["A0001"]
    assert listed["structured.score"] == [f"Q{n}" for n in range(1, 7)]


SUBSET_ONLY = "the dev subset only: the whole set was not scored"
REFERENCE = "profile reference: answers that fail are left out of the means"


def test_the_headline_says_what_the_verdict_rests_on(tmp_path: Path) -> None:
    questions, outputs = both(12)
    outputs[0] |= {"raw": "no"}
    cli(tmp_path, questions, outputs)
    subset = tmp_path / "dev.json"
    assert run_cli("gold", "subset", tmp_path / "questions.jsonl", "-o", subset, "--size", "12").code == 0
    fails = "NO-SHIP: structured.score, structured.schema_pass_rate fail"
    one_fails = "NO-SHIP: structured.schema_pass_rate fails"
    cases: list[tuple[tuple[object, ...], str, list[str]]] = [
        ((), fails, []),
        (("--subset", subset), fails, [SUBSET_ONLY]),
        (("--profile", "reference"), one_fails, [REFERENCE]),
        (("--profile", "reference", "--subset", subset), one_fails, [SUBSET_ONLY, REFERENCE]),
        (("--subset", subset, "--gates", "score=50", "--no-default-gates"), "SHIP: all 2 gates hold", []),
    ]
    for flags, decided, notes in cases:
        short = cli(tmp_path, questions, outputs, *flags).out.splitlines()
        assert short[1 : 1 + len(notes)] == [f"  {note}" for note in notes]
        first = cli(tmp_path, questions, outputs, "--full", *flags).out.splitlines()[0]
        assert first == decided + "".join(f" ({note})" for note in notes)
        page = cli(tmp_path, questions, outputs, *flags, "--format", "markdown").out.splitlines()
        assert page[4 : 4 + len(notes)] == [f"- {note}" for note in notes]
        assert sum(note in line for note in (SUBSET_ONLY, REFERENCE) for line in page) == len(notes)


def test_the_gates_are_a_table_below_the_notes_too(tmp_path: Path) -> None:
    questions, outputs = both(2)
    outputs[0] |= {"raw": "no"}
    page = cli(tmp_path, questions, outputs, "--profile", "reference", "--format", "markdown").out
    assert page.splitlines()[4] == f"- {REFERENCE}"
    tokens = MarkdownIt("commonmark").enable("table").parse(page)
    heads = [tokens[nth + 3].content for nth, token in enumerate(tokens) if token.type == "thead_open"]
    assert heads[0] == "gate"


def test_how_many_offenders_there_are_besides_those_listed(tmp_path: Path) -> None:
    questions, outputs = both(12)
    for count, head in ((9, "Worst offenders"), (10, "Worst offenders"), (11, "Worst offenders (10 of 11)")):
        broken = [one | {"raw": "no"} if n < count else one for n, one in enumerate(outputs)]
        done = cli(tmp_path, questions, broken, "--full")
        assert [line for line in done.out.splitlines() if line.startswith("Worst offenders")] == [head]


def test_a_repeated_question_stands_behind_all_others_among_the_offenders(tmp_path: Path) -> None:
    texts = ["Same?"] * 8 + ["Other?"] * 2 + [f"Own {n}?" for n in range(4)]
    questions = [question(n, question=text) for n, text in enumerate(texts, 1)]
    outputs = [output(n, "no") for n in range(1, 13)] + [output(n, answer(main_topic="zzz")) for n in (13, 14)]
    ran = scored(tmp_path, questions, outputs)
    # first each text once, the worst first; then the second of each, then the third
    assert [one["qid"] for one in ran.body["offenders"]] == [
        "Q1", "Q9", "Q11", "Q12", "Q13", "Q14", "Q2", "Q10", "Q3", "Q4",
    ]  # fmt: skip


def test_inputs_are_never_written_over(tmp_path: Path) -> None:
    questions, outputs = both(1)
    cli(tmp_path, questions, outputs)
    for name in ("questions.jsonl", "outputs.jsonl"):
        before = (tmp_path / name).read_bytes()
        done = cli(tmp_path, questions, outputs, "--rows", tmp_path / name)
        assert done.code == 2 and (tmp_path / name).read_bytes() == before


# the same bytes


def noisy(count: int) -> tuple[list[Row], list[Row]]:
    """Answers of all kinds, some asked twice, some of no question."""
    questions, outputs = mixed(count)
    return questions, [*outputs, output(3), output(count - 2, "no"), *(output(900 + n) for n in range(5))]


@pytest.mark.parametrize("flags", [(), ("--profile", "reference"), ("--repair", "--slice", "sub_topic")])
def test_the_same_bytes_under_any_hash_seed(flags: tuple[str, ...], tmp_path: Path) -> None:
    write_jsonl(tmp_path / "q.jsonl", noisy(20)[0])
    write_jsonl(tmp_path / "o.jsonl", noisy(20)[1])
    made = []
    for seed in ("1", "2"):
        names = [f"seed{seed}.{suffix}" for suffix in ("json", "md", "xml", "txt", "jsonl")]
        files = ("--questions", "q.jsonl", "--outputs", "o.jsonl", "--receipt", f"seed{seed}.rc.json")
        targets = [part for name in names for part in ("-o", name)]
        command = [sys.executable, "-m", "ragworthy", "score", "structured", *files, *flags, *targets]
        environment = os.environ | {"PYTHONHASHSEED": seed}
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False)
        assert done.returncode == 1, done.stderr
        shown = done.stdout.replace(f"seed{seed}.".encode(), b"seed.")
        made.append([shown, *((tmp_path / name).read_bytes() for name in (*names, f"seed{seed}.rc.json"))])
    assert made[0] == made[1]


def test_one_process_and_several_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ragworthy.suites import parts as engine

    monkeypatch.setattr("ragworthy.suites.fork.SMALL", 0)
    asked = write_jsonl(tmp_path / "q.jsonl", noisy(40)[0])
    written = write_jsonl(tmp_path / "o.jsonl", noisy(40)[1])
    parts: list[int] = []
    real = engine._in_processes

    def noted(one: engine.Pass, many: int, tell: engine.Tell) -> Any:
        parts.append(many)
        return real(one, many, tell)

    monkeypatch.setattr(engine, "_in_processes", noted)
    cases: list[Row] = [{}, {"profile": "reference"}, {"repair": True}]
    for flags in cases:
        runs = [rw.score("structured", questions=asked, outputs=written, jobs=jobs, **flags) for jobs in (1, 2, 3)]
        assert runs[0].report == runs[1].report == runs[2].report
        assert [*runs[0].rows()] == [*runs[1].rows()] == [*runs[2].rows()]
        assert runs[0].report["suites"]["structured"]["counts"]["duplicate_traces"] == 2
        assert len(runs[0].report["suites"]["structured"]["offenders"]) == 10
    assert parts == [2, 3] * 3
    with written.open("a") as file:
        file.write('{"id": "Q1", "raw": 5}\n')
    problems = []
    for jobs in (1, 2):
        with pytest.raises(DataError) as caught:
            rw.score("structured", questions=asked, outputs=written, jobs=jobs)
        problems.append(str(caught.value))
    assert problems[0] == problems[1]
    assert problems[0].startswith(f"{written}:48: raw: expected a string, got a whole number [RW-T02]")


def test_what_counts_is_the_last_across_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragworthy.suites.fork.SMALL", 0)
    outputs = [output(n, "no", meta=None, context=[]) for n in range(1, 21)] + both(20)[1]
    asked = write_jsonl(tmp_path / "q.jsonl", both(20)[0])
    for order, mean in ((outputs, 100), (outputs[::-1], 0)):
        written = write_jsonl(tmp_path / "o.jsonl", order)
        runs = [rw.score("structured", questions=asked, outputs=written, jobs=jobs) for jobs in (1, 2, 5)]
        assert runs[0].report == runs[1].report == runs[2].report
        assert runs[0].metrics["structured.score"].value == mean
        # an output that was replaced says nothing of how the others were made
        assert (runs[0].report["invalid"] == []) is (mean == 100)
        warned = [one["code"] for one in runs[0].report["suites"]["structured"]["warnings"]]
        assert "RW-W06" in warned and ("RW-W49" in warned) is (mean == 0)


def test_the_order_of_the_outputs_changes_nothing_but_their_hash(tmp_path: Path) -> None:
    questions, outputs = mixed(30)
    outputs += [output(900 + n) for n in range(5)]
    first = scored(tmp_path, questions, outputs)
    random.Random(3).shuffle(outputs)
    second = scored(tmp_path, questions, outputs)
    assert first.rows == second.rows
    for ran in (first, second):
        ran.body["inputs"][1].pop("sha256")
        ran.body["provenance"].pop("outputs_sha256")
    assert first.report == second.report


# Python


def test_python_takes_records_and_frames(tmp_path: Path) -> None:
    questions, outputs = mixed(12)
    outputs[4] |= {"error": "down"}
    outputs = outputs[:-1]
    result = rw.score("structured", questions=questions, outputs=outputs)
    assert (result.verdict, result.exit_code) == (Verdict.INVALID, 4)
    ran = scored(tmp_path, questions, outputs)
    assert list(result.rows()) == ran.rows
    for name, number in result.metrics.items():
        assert number.value == ran.body["metrics"][name]["value"]
    assert result.metrics["structured.schema_pass_rate"].den == 12
    assert result.metrics["structured.score"].n == 12
    frames = [(pd.DataFrame(questions), pd.DataFrame(outputs)), (pl.DataFrame(questions), pl.DataFrame(outputs))]
    for asked, written in frames:
        again_ = rw.score("structured", questions=asked, outputs=written)
        assert list(again_.rows()) == ran.rows
    paths = rw.score("structured", questions=str(tmp_path / "questions.jsonl"), outputs=tmp_path / "outputs.jsonl")
    paths.write(tmp_path / "p.json")
    assert json.loads((tmp_path / "p.json").read_text())["suites"]["structured"]["metrics"] == ran.body["metrics"]
    assert rw.gate(policy(tmp_path, "")).report["verdict"] == "INVALID"


def test_python_gates_slices_and_mistakes() -> None:
    questions, outputs = both(2)
    outputs[1] = output(2, answer(source_map=[]))
    given: Row = {"questions": questions, "outputs": outputs}
    assert rw.score("structured", **given, gates={"score": 95, "grounding": "0.5"}).verdict is Verdict.SHIP
    assert rw.score("structured", **given, gates="score=95.5").verdict is Verdict.NO_SHIP
    assert rw.score("structured", **given, evidence="interval").verdict is Verdict.INCONCLUSIVE
    sliced = rw.score("structured", **given, slices=("id",)).report["suites"]["structured"]["slices"]
    assert sliced["id=Q2"]["structured.score"]["value"] == 90
    with pytest.raises(UsageError, match="questions: expected a path, records or a data frame, got NoneType"):
        rw.score("structured", outputs=outputs)
    with pytest.raises(UsageError, match="profile: expected default or reference, got 'repo'"):
        rw.score("structured", **given, profile="repo")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"definition": {"version": 1}}, "definition: expected a path, got dict"),
        ({"subset": {"questions": []}}, "subset: expected a path, got dict"),
        ({"provenance": META}, "provenance: expected a path, got dict"),
        ({"slices": "region"}, 'slices: expected a list of texts, got a text: write ["region"]'),
        ({"k": 5}, "k: the structured suite has none"),
    ],
)
def test_python_refuses_what_it_would_misread(given: Row, message: str) -> None:
    questions, outputs = both(1)
    with pytest.raises(UsageError) as caught:
        rw.score("structured", questions=questions, outputs=outputs, **given)
    assert caught.value.lines() == [
        f"{message} [RW-U01]",
        "  usage: The keywords of the call are in docs/python.md.",
    ]
    listed = rw.score("structured", questions=questions, outputs=outputs, slices=["id"])
    assert "id=Q1" in listed.report["suites"]["structured"]["slices"]


# what else knows the suite


def test_doctor_says_what_the_files_cannot_show(tmp_path: Path) -> None:
    questions, outputs = both(6)
    outputs[5] |= {"meta": META | {"model_id": None}}
    cli(tmp_path, questions, outputs[1:])
    done = run_cli("doctor", "--gold", tmp_path / "questions.jsonl", "--trace", tmp_path / "outputs.jsonl")
    assert (done.code, done.err) == (0, "")
    for line in (
        "structured: 6 questions (6 different), 5 valid, 0 failed, 1 missing",
        "  1 question has no output",
        "  the outputs do not say model_id in 1 of 5 outputs",
        "  no   structured.score ≥ 95: 6 cases have a 21 % chance to show that it is missed, about 62 would have 80 % "
        "(at 85.7: one good case added)",
        "  6 different questions: a smoke test needs at least 10 [RW-W15]",
    ):
        assert line in done.out.splitlines()
    array = tmp_path / "array.json"
    array.write_text(json.dumps(questions, indent=2))
    done = run_cli("doctor", "--gold", array, "--trace", tmp_path / "outputs.jsonl")
    assert done.out.startswith("structured: 6 questions")
    done = run_cli("doctor", "-c", policy(tmp_path, ""))
    assert done.out.startswith("structured: 6 questions")


def test_doctor_names_the_slice_of_a_gate(six: Path) -> None:
    rules = '[[gate]]\nmetric = "structured.score"\nmin = 90\nslice = "region=north"\n'
    done = run_cli("doctor", "-c", policy(six, rules))
    line = (
        "  no   structured.score[region=north] ≥ 90: 3 cases cannot show it: that takes at least 35 without a bad one"
    )
    assert line in done.out.splitlines()
    assert "What is in the way of a verdict\n  nothing: every metric is measured\n" in done.out


def test_explain_knows_the_definition_the_formats_and_the_metrics() -> None:
    done = run_cli("explain", "definition")
    assert (done.code, done.out) == (0, new_text())
    for name, title in (("gold.structured", "StructuredGold"), ("outputs.structured", "StructuredOutput")):
        schema = json.loads(run_cli("explain", "schema", name).out)
        assert schema["$id"] == f"ragworthy.{name}/1" and schema["$ref"] == f"#/$defs/{title}"
        assert schema["anyOf"] == [{"required": ["id"]}, {"required": ["qid"]}]
    listed = run_cli("explain").out
    for metric in ("score", "schema_pass_rate", "score_median", "score_p95", "missing", *FIELDS):
        assert f"structured.{metric} " in listed
        assert run_cli("explain", f"structured.{metric}").code == 0
    assert "short names   score, eval_score_avg" in run_cli("explain", "eval_score_avg").out
