"""A report whose numbers do not follow from its rows is no baseline; an honest one always is."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cases as c
from conftest import run_cli, write_jsonl
from ragworthy.errors import DataError
from ragworthy.load.baseline import NO_ROWS, load_report
from ragworthy.load.following import FOLDED
from ragworthy.metrics.registry import find

Report = dict[str, Any]
SLICED = ("answers", "retrieval", "latency", "stability", "structured")
"""Cases whose gold set has topics."""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)


def report_of(case: c.Case, *more: object) -> Report:
    done = run_cli(*c.command(case, "-q", "-o", "report.json", *more))
    assert done.code in (0, 1, 3, 4), done
    found: Report = json.loads(Path("report.json").read_text())
    return found


def refused(report: Report, suite: str) -> str:
    """What is said of a report that is no baseline; nothing where it is one."""
    Path("changed.json").write_text(json.dumps(report))
    try:
        load_report(Path("changed.json"), suite)
    except DataError as error:
        return error.lines()[0]
    return ""


def other(number: Report) -> Report:
    """A number that is another one, and as sound in itself."""
    if number["num"] is None:
        moved = Fraction(number["exact"]) + Fraction(1, 7)
        return number | {"exact": str(moved), "value": float(moved)}
    num = number["num"] - 1 if number["num"] else 1
    return number | {"num": num, "value": num / number["den"] if number["den"] else num}


@pytest.mark.parametrize("name", c.EVERY)
def test_every_number_that_words_fold_to_is_held_against_them(name: str) -> None:
    case = c.EVERY[name](Path())
    report = report_of(case, *(("--slice", "topic") if name in SLICED else ()))
    assert refused(report, case.suite) == ""
    body = report["suites"][case.suite]
    sliced = [one for group, one in body["slices"].items() if not group.startswith("type=")]  # these count blocks
    for group in (body["metrics"], *sliced):
        for metric in body["rows"]["words"]:
            known = find(metric, default_k=1, suite=case.suite)
            if known is None or known.metric.kind not in FOLDED or group[metric]["value"] is None:
                continue
            kept = group[metric]
            group[metric] = other(kept)
            said = refused(report, case.suite)
            assert ("expected numbers that follow from the rows, got " in said) is (case.suite != "latency"), metric
            assert case.suite == "latency" or f".{metric}: " in said
            group[metric] = kept
    assert refused(report, case.suite) == ""


KINDS = ("right", "wrong", "refused", "uncited", "error", "none")


def answered(kind: str, nth: int) -> list[Report]:
    """The trace of a question that went in one of so many ways; none, for some."""
    cited = f"d#q{nth + 1}"
    told = {
        "claim": f"answer q{nth + 1}" if kind != "wrong" else "no",
        "citations": [] if kind == "uncited" else [cited],
    }
    if kind == "refused":
        told = {"claim": c.REFUSAL, "citations": []}
    trace: Report = {"qid": f"q{nth + 1}", "retrieved_ids": [cited] if nth % 3 else ["d#x", cited], "answer_json": told}
    return [] if kind == "none" else [{"qid": trace["qid"], "error": "timeout"} if kind == "error" else trace]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kinds=st.lists(st.sampled_from(KINDS), min_size=2, max_size=9))
def test_whatever_happened_to_the_questions_an_honest_report_is_a_baseline(kinds: list[str]) -> None:
    case = c.answers(Path(), size=len(kinds))
    write_jsonl(Path(case.files["traces"]), [one for nth, kind in enumerate(kinds) for one in answered(kind, nth)])
    for suite in (case, case._replace(name="agreement", suite="agreement")):
        more = ("--slice", "topic", "--k", "1,5") if suite is case else ()
        assert refused(report_of(suite, *more), suite.suite) == ""


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kinds=st.lists(st.lists(st.sampled_from(KINDS[:4]), min_size=1, max_size=3), min_size=2, max_size=5))
def test_whatever_runs_of_a_question_say_an_honest_report_is_a_baseline(kinds: list[list[str]]) -> None:
    case = c.stability(Path(), size=len(kinds))
    traces = [
        one | {"seed": seed, "run_id": f"r{seed}"}
        for nth, each in enumerate(kinds)
        for seed, kind in enumerate(each)
        for one in answered(kind, nth)
    ]
    write_jsonl(Path(case.files["runs"]), traces)
    assert refused(report_of(case, "--slice", "topic"), "stability") == ""


def test_several_runs_of_the_same_questions_are_a_baseline() -> None:
    """Rates are over all answers, rows have the mean of a question: 1 of 2 answers, and 1 of 1 where one refused."""
    case = c.answers(Path())
    write_jsonl(Path("again.jsonl"), [*answered("wrong", 0), *answered("refused", 1), *answered("refused", 2)])
    report = report_of(case, "--trace", "again.jsonl")
    assert refused(report, "answers") == ""
    assert report["suites"]["answers"]["metrics"]["answers.precision"]["den"] == 3


# in these words


def changed(key: str, **numbers: Any) -> Report:
    report = report_of(c.answers(Path()), "--slice", "topic")
    group: Report = report["suites"]["answers"]
    *way, last = key.split("/")
    for name in way:
        group = group[name]
    group[last] = group[last] | numbers if numbers else group[last] + 1
    return report


@pytest.mark.parametrize(
    ("report", "line"),
    [
        (("metrics/answers.precision", {"num": 1, "value": 0.5}),
         "metrics.answers.precision: expected numbers that follow from the rows, got 1/2 where they say 2/2"),
        (("metrics/answers.missing", {"num": 4, "value": 4}),
         "metrics.answers.missing: expected numbers that follow from the rows, got 4 where they say 0"),
        (("slices/topic=t0/answers.recall@5", {"den": 2, "value": 0.5}),
         "slices.topic=t0.answers.recall@5: expected numbers that follow from the rows, got 1/2 where they say 1/1"),
        (("labels/OK", {}), "labels.OK: expected numbers that follow from the rows, got 3 where they say 2"),
    ],
)  # fmt: skip
def test_a_changed_number_is_refused_in_these_words(report: tuple[str, Report], line: str) -> None:
    assert refused(changed(report[0], **report[1]), "answers") == f"changed.json: suites.answers.{line} [RW-B02]"


def test_a_changed_number_is_refused_wherever_reports_are_read() -> None:
    case = c.answers(Path())
    refused(changed("metrics/answers.precision", num=1, value=0.5), "answers")
    line = (
        "changed.json: suites.answers.metrics.answers.precision: expected numbers that follow from the rows, got 1/2 "
    )
    commands = (
        c.command(case, "--baseline", "changed.json"),
        ["compare", "changed.json", "report.json"],
        ["compare", "report.json", "changed.json"],
        ["history", "add", "changed.json", "--store", "history.db"],
        ["history", "trend", "report.json", "changed.json"],
    )
    for command in commands:
        done = run_cli(*command)
        assert (done.code, done.err.startswith(line)) == (2, True), (command, done)
    assert not Path("history.db").exists()


def test_a_report_of_this_version_without_rows_is_refused_in_these_words() -> None:
    report = report_of(c.answers(Path()))
    del report["suites"]["answers"]["rows"]
    version = report["tool"]["version"]
    line = "changed.json: suites.answers.rows: expected rows in a report of version {}, got none [RW-B02]"
    assert refused(report, "answers") == line.format(version)
    report["tool"]["version"] = "1.0.0"
    assert refused(report, "answers") == line.format("1.0.0")
    report["tool"]["version"] = "0.1.9"
    assert refused(report, "answers") == ""
    assert load_report(Path("changed.json"), "answers").rowless == NO_ROWS
