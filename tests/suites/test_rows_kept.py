"""Rows in reports: every suite keeps them, a baseline reads them back, and they say what `--rows` says."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import cases as c
from conftest import run_cli, write_jsonl
from ragworthy import rows as r
from ragworthy.load.baseline import NO_ROWS, as_baseline, load_report
from ragworthy.suites import SUITES
from ragworthy.suites.answers.parallel import measure
from ragworthy.suites.answers.parallel.job import Job


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)


def scored(case: c.Case, *more: object) -> tuple[r.Rows, list[dict[str, Any]]]:
    """The rows of a report, read as a baseline, and the rows of `--rows`."""
    done = run_cli(*c.command(case, "-q", "-o", "report.json", "--rows", "rows.jsonl", *more))
    assert done.code in (0, 1, 3, 4), done
    rows = load_report(Path("report.json"), case.suite).rows
    assert rows is not None
    return rows, [json.loads(line) for line in Path("rows.jsonl").read_text().splitlines()]


def number(word: Any) -> float:
    return float(Fraction(*word) if isinstance(word, tuple) else Fraction(word))


@pytest.mark.parametrize("name", c.EVERY)
def test_a_baseline_has_the_rows_that_were_written_beside_it(name: str) -> None:
    case = c.EVERY[name](Path())
    rows, written = scored(case)
    own = rows.own.get("question")  # of latency, whose rows are questions under a load
    assert list(own or rows.qids) == [one["qid"] for one in written]
    assert list(rows.labels) == [one["label"] for one in written]
    for metric, words in rows.words.items():
        said = [None if word is None else number(word) for word in words]
        there = [one["metrics"].get(metric) for one in written]
        if metric.startswith("structured.score_"):  # of one question alone they are the score, which is there once
            there = [one["metrics"]["structured.score"] for one in written]
        assert said == pytest.approx(there, abs=1e-3), metric


@pytest.mark.parametrize("name", c.EVERY)
def test_rows_are_the_last_key_and_the_same_twice(name: str) -> None:
    case = c.EVERY[name](Path())
    scored(case)
    first = Path("report.json").read_bytes()
    scored(case)
    assert Path("report.json").read_bytes() == first
    body = json.loads(first)["suites"][case.suite]
    assert list(body)[-1] == "rows"


def test_every_suite_was_tried() -> None:
    assert {c.EVERY[name](Path()).suite for name in c.EVERY} == set(SUITES)


# old ones, large ones, changed ones


def report_of(case: c.Case) -> dict[str, Any]:
    done = run_cli(*c.command(case, "-q", "-o", "report.json"))
    assert done.code in (0, 3, 4), done
    found: dict[str, Any] = json.loads(Path("report.json").read_text())
    return found


def test_a_report_of_an_earlier_version_compares_by_its_numbers() -> None:
    case = c.answers(Path())
    report = report_of(case)
    for key in ("rows", "can_show"):
        del report["suites"]["answers"][key]
    report["tool"]["version"] = "0.1.0"
    Path("old.json").write_text(json.dumps(report))
    baseline = as_baseline(load_report(Path("old.json"), "answers"), None)
    assert (baseline.rows, baseline.rowless) == (None, NO_ROWS)
    gate = 'version = 1\n[[gate]]\nmetric = "answers.precision"\nmax_drop = 0.01\n'
    Path("gates.toml").write_text(gate)
    done = run_cli(*c.command(case, "-q", "--baseline", "old.json", "--gates", "gates.toml"))
    assert (done.code, done.out) == (0, "verdict: SHIP (exit 0)\n")


def test_rows_that_somebody_changed_are_refused_in_these_words() -> None:
    case = c.answers(Path())
    report = report_of(case)
    report["suites"]["answers"]["rows"]["words"]["answers.precision"]["codes"] = "0--"
    Path("forged.json").write_text(json.dumps(report))
    done = run_cli(*c.command(case, "--baseline", "forged.json"))
    assert done.code == 2
    assert done.err.splitlines()[0] == (
        "forged.json: suites.answers.rows: expected rows with the hash beside them, got rows that were changed [RW-B02]"
    )


def test_rows_of_a_later_version_are_refused_in_these_words() -> None:
    case = c.answers(Path())
    report = report_of(case)
    report["suites"]["answers"]["rows"]["schema"] = "ragworthy.rows/9"
    Path("later.json").write_text(json.dumps(report))
    done = run_cli(*c.command(case, "--baseline", "later.json"))
    assert done.err.splitlines()[0] == (
        'later.json: suites.answers.rows: expected "ragworthy.rows/1", got other rows [RW-B02]'
    )


@pytest.mark.parametrize("name", ["answers", "retrieval", "trec", "latency"])
def test_a_report_of_too_many_questions_says_that_it_has_no_rows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    suites = ("protocol", "answers.read", "retrieval.ranks", "latency.suite")
    for module in ("rows", "load.baseline", *(f"suites.{one}" for one in suites)):
        monkeypatch.setattr(f"ragworthy.{module}.MOST", 2)
    case = c.EVERY[name](Path())
    body = report_of(case)["suites"][case.suite]
    assert body["rows"] == {"none": "3 questions: a report keeps the rows of up to 2"}
    earlier = load_report(Path("report.json"), case.suite)
    assert earlier.rows is None
    assert earlier.rowless == "it has no rows (3 questions: a report keeps the rows of up to 2)"


def test_flags_are_kept_by_the_number_of_questions_whatever_the_number_of_processes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = c.answers(Path(), size=40)
    alone, _ = scored(case, "--jobs", 1)
    first = Path("report.json").read_bytes()
    monkeypatch.setattr("ragworthy.suites.fork.SMALL", 1, raising=False)
    again, _ = scored(case, "--jobs", 3)
    assert (again, Path("report.json").read_bytes()) == (alone, first)


def test_parts_say_together_whether_there_are_few_enough() -> None:
    job = Job(None, None, None, up_to=10)  # type: ignore[arg-type]
    assert measure.keeps(job, 6 + 4)
    assert not measure.keeps(job, 6 + 5)
    assert measure.keeps(job._replace(keep_rows=True), 6 + 5)


# what only some suites have


def test_rows_of_retrieval_know_how_often_a_question_was_asked() -> None:
    case = c.retrieval(Path())
    traces = [one | {"paraphrase": nth} for one in c.retrieval_traces(3) for nth in range(2)]
    write_jsonl(Path(case.files["traces"]), traces[:-1])
    rows, _ = scored(case)
    assert rows.runs == (2, 2, 1)


def test_rows_of_agreement_have_the_votes_of_each() -> None:
    rows, _ = scored(c.pairs(Path()))
    assert rows.own == {"vote:auditor": ("VALID", "VALID", "REJECT"), "vote:scholar": ("VALID",) * 3}
    rows, _ = scored(c.raters(Path()))
    assert rows.own == {"vote:ada": ("good",) * 3, "vote:bob": ("good",) * 3}


def timed(load: float | None, *times: tuple[str, float]) -> list[dict[str, Any]]:
    loads = {} if load is None else {"load_rps": load}
    return [c.trace(qid, e2e_ms=ms, seed=nth, run_id=f"{load} {nth}", **loads) for nth, (qid, ms) in enumerate(times)]


def test_a_row_of_latency_is_a_question_under_a_load_with_the_time_of_every_run() -> None:
    case = c.latency(Path())
    low = timed(5, ("q1", 100), ("q1", 120.5), ("q2", 90))
    write_jsonl(Path(case.files["runs"]), [*low, *timed(10, ("q1", 300), ("q2", 310), ("q3", 50))])
    done = run_cli(*c.command(case, "-q", "-o", "report.json"))
    assert done.code == 4, done  # q3 was not asked at 5/s
    rows = load_report(Path("report.json"), "latency").rows
    assert rows is not None
    assert rows.qids == ("q1 at 5/s", "q2 at 5/s", "q3 at 5/s", "q1 at 10/s", "q2 at 10/s", "q3 at 10/s")
    assert rows.own["question"] == ("q1", "q2", "q3") * 2
    assert rows.own["load"] == ("5",) * 3 + ("10",) * 3
    assert rows.runs == (2, 1, 0, 1, 1, 1)
    assert rows.of_runs("latency.p95") == ((100, Fraction(241, 2)), (90,), (), (300,), (310,), (50,))
    assert rows.of_runs("latency.p50") == rows.of_runs("latency.p95")
    suite: Any = SUITES["latency"].load()
    assert suite.members(rows, None) == [3, 4, 5]
    assert suite.members(rows, "load=5") == [0, 1, 2]
    assert suite.members(rows, "load=10") == [3, 4, 5]


def test_without_a_load_a_row_of_latency_is_a_question() -> None:
    case = c.latency(Path())
    write_jsonl(Path(case.files["runs"]), timed(None, ("q1", 100), ("q2", 200), ("q3", 50)))
    rows, _ = scored(case, "--slice", "topic")
    suite: Any = SUITES["latency"].load()
    assert rows.qids == ("q1", "q2", "q3")
    assert suite.members(rows, "topic=t0") == [0, 2]
    assert rows.of_runs("answers.precision")[:2] == ((1,), (1,))


def test_a_value_of_a_slice_may_hold_anything() -> None:
    case = c.answers(Path())
    gold = c.answers_gold(3, 2)
    gold[0]["topic"] = "a\nb, c=d"
    write_jsonl(Path(case.files["gold"]), gold)
    rows, _ = scored(case, "--slice", "topic")
    assert rows.slices == (("topic=a\nb, c=d",), ("topic=t1",), ("topic=t0",))
