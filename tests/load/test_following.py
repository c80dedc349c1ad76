"""A report whose numbers do not follow from its rows is not a baseline; an honest one always is."""

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
from ragworthy.rows import decoded, encoded

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
    """What is said of a report that is not a baseline; nothing where it is one."""
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


def pooled(*runs: list[str]) -> Report:
    """The report of several runs over as many questions as each of them has kinds."""
    case = c.answers(Path(), size=len(runs[0]))
    for nth, kinds in enumerate(runs):
        path = Path(case.files["traces"] if nth == 0 else f"run{nth}.jsonl")
        write_jsonl(path, [one for place, kind in enumerate(kinds) for one in answered(kind, place)])
    more = [word for nth in range(1, len(runs)) for word in ("--trace", f"run{nth}.jsonl")]
    return report_of(case, "--slice", "topic", "--k", "1,5", *more)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), size=st.integers(2, 6), runs=st.integers(2, 3))
def test_whatever_several_runs_say_an_honest_report_is_a_baseline(data: st.DataObject, size: int, runs: int) -> None:
    kinds = st.lists(st.sampled_from(KINDS), min_size=size, max_size=size)
    assert refused(pooled(*(data.draw(kinds) for _ in range(runs))), "answers") == ""


def test_every_number_of_several_runs_is_held_against_the_means() -> None:
    report = pooled(["right", "wrong", "refused"], ["wrong", "uncited", "refused"], ["refused", "right", "right"])
    assert refused(report, "answers") == ""
    body = report["suites"]["answers"]
    sliced = [(f"slices.{one}", each) for one, each in body["slices"].items()]
    for field, group in (("metrics", body["metrics"]), *sliced):
        for metric in body["rows"]["words"]:
            if group.get(metric, {"value": None})["value"] is None:
                continue
            kept = group[metric]
            group[metric] = other(kept)
            said = refused(report, "answers")
            assert said.startswith(f"changed.json: suites.answers.{field}.{metric}: expected numbers that follow"), said
            group[metric] = kept
    assert refused(report, "answers") == ""


ROWS = "expected numbers that follow from the rows"


@pytest.mark.parametrize(
    ("labels", "line"),
    [
        ({"OK": -1, "ANS_NO_CONTAIN": 1}, f"labels: {ROWS}, got 3/6 good where they say 4/6"),
        ({"OK": 1}, f"labels: {ROWS}, got 5/7 good where they say 4/6"),
        ({"OK": -2, "ANS_NO_HIT": 2}, f"labels.OK: {ROWS}, got 0 where they say 1 at least"),
        ({"ANS_NO_HIT": -1, "OVER_REFUSAL": 1}, "metrics.answers.precision: expected numbers that follow from the "
         "labels, got 2/4 (2 against it) where they say 0 to 1"),
    ],
)  # fmt: skip
def test_labels_of_several_runs_are_held_against_how_many_were_good(labels: dict[str, int], line: str) -> None:
    report = pooled(["right", "wrong", "refused"], ["right", "uncited", "refused"])
    told = report["suites"]["answers"]["labels"]
    assert told == {"OK": 2, "REFUSAL_OK": 2, "ANS_NO_HIT": 1, "ANS_NO_CONTAIN": 1}
    for label, more in labels.items():
        told[label] = told.get(label, 0) + more
    assert refused(report, "answers") == f"changed.json: suites.answers.{line} [RW-B02]"


def test_a_number_of_runs_that_the_rows_exceed_is_refused() -> None:
    report = pooled(["right", "wrong"], ["right", "right"])
    del report["suites"]["answers"]["counts"]["runs"]
    line = f"counts.runs: {ROWS}, got 1 where they say 2"
    assert refused(report, "answers") == f"changed.json: suites.answers.{line} [RW-B02]"


def test_the_share_of_good_questions_is_held_against_labels_where_rows_do_not_have_it() -> None:
    """A later gate on it would take what is there for the value of the baseline."""
    report = report_of(c.answers(Path()))
    metrics = report["suites"]["answers"]["metrics"]
    metrics["answers.good"] = metrics["answers.compliance"] | {"num": 1, "den": 3, "value": 1 / 3}
    line = "metrics.answers.good: expected numbers that follow from the rows, got 1/3 where they say 3/3"
    assert refused(report, "answers") == f"changed.json: suites.answers.{line} [RW-B02]"


# without rows

MANY = "200,000 questions: a report keeps the rows of up to 100,000"


@pytest.mark.parametrize("name", ["answers", "retrieval", "structured", "stability", "latency", "trec"])
def test_few_questions_without_rows_are_refused_in_these_words(name: str) -> None:
    case = c.EVERY[name](Path())
    report = report_of(case)
    report["suites"][case.suite]["rows"] = {"none": MANY}
    line = "rows: expected rows, which reports of up to 100,000 questions have, got none of 3"
    assert refused(report, case.suite) == f"changed.json: suites.{case.suite}.{line} [RW-B02]"
    kept = run_cli("history", "add", "changed.json", "--store", "history.db")
    assert (kept.code, Path("history.db").exists()) == (2, False)


def rowless(*, precision: int) -> Report:
    """A report that says that it has more questions than rows are kept of."""
    report = report_of(c.answers(Path()))
    body = report["suites"]["answers"]
    body |= {"rows": {"none": MANY}, "labels": {"OK": 140_000, "ANS_NO_CONTAIN": 10_000, "REFUSAL_OK": 50_000}}
    body["counts"]["gold"] = 200_000
    cases = {"over_refusal": (0, 150_000), "under_refusal": (0, 50_000), "containment": (140_000, 150_000),
             "chr": (150_000, 150_000), "precision": (precision, 150_000)}  # fmt: skip
    for metric, (num, den) in cases.items():
        body["metrics"][f"answers.{metric}"] |= {"num": num, "den": den, "value": num / den}
    return report


def test_many_questions_without_rows_are_held_against_their_labels() -> None:
    assert refused(rowless(precision=140_000), "answers") == ""
    line = "metrics.answers.precision: expected numbers that follow from the labels"
    got = "got 120000/150000 (30000 against it) where they say 0 to 10000 [RW-B02]"
    assert refused(rowless(precision=120_000), "answers") == f"changed.json: suites.answers.{line}, {got}"


def test_a_baseline_without_rows_is_none_of_a_gold_set_that_has_them() -> None:
    case = c.answers(Path())
    refused(rowless(precision=140_000), "answers")
    drop = '[[gate]]\nmetric = "answers.precision"\nmax_drop = 0.5\n'
    Path("gates.toml").write_text(f"version = 1\n{drop}")
    done = run_cli(*c.command(case, "--baseline", "changed.json", "--gates", "gates.toml"))
    assert (done.code, "it says that it has too many questions for rows" in done.out) == (4, True), done


# in these words


def forged(metric: str, codes: str) -> Report:
    """A report with other words of a metric, the number that follows from them and a hash that fits."""
    report = report_of(c.answers(Path()))
    body = report["suites"]["answers"]
    rows = decoded(body["rows"])
    said = tuple({"1": True, "0": False}.get(code) for code in codes)
    body["rows"] = encoded(rows._replace(words={**rows.words, metric: said}))
    num, den = sum(map(bool, said)), sum(word is not None for word in said)
    body["metrics"][metric] |= {"num": num, "den": den, "value": num / den}
    return report


@pytest.mark.parametrize(
    ("metric", "codes", "got"),
    [
        ("answers.precision", "01-", "answers.precision False for q1 where they say OK"),
        ("answers.chr", "10-", "answers.chr False for q2 where they say OK"),
        ("answers.precision", "111", "answers.precision True for q3 where they say REFUSAL_OK"),
        ("answers.under_refusal", "--1", "answers.under_refusal True for q3 where they say REFUSAL_OK"),
        ("answers.over_refusal", "-0-", "answers.over_refusal nothing for q1 where they say OK"),
    ],
)
def test_words_that_a_label_contradicts_are_refused(metric: str, codes: str, got: str) -> None:
    said = refused(forged(metric, codes), "answers").replace(" 0 ", " False ").replace(" 1 ", " True ")
    line = "changed.json: suites.answers.rows: expected words that follow from the labels"
    assert said == f"{line}, got {got} [RW-B02]"


def test_a_report_with_words_as_they_were_is_a_baseline() -> None:
    assert refused(forged("answers.precision", "11-"), "answers") == ""


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
    assert refused(report, "answers") == line.format("0.1.9")  # it has what no report without rows has
    del report["suites"]["answers"]["can_show"]
    assert refused(report, "answers") == ""
    assert load_report(Path("changed.json"), "answers").rowless == NO_ROWS
