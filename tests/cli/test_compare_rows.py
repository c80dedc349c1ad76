"""`ragworthy compare` of files of rows: the same numbers as of the reports they were written beside."""

import json
from pathlib import Path
from typing import Any

import pytest

import cases as c
import ragworthy as rw
from ragworthy import starter
from ragworthy.cli.main import main
from ragworthy.comparing.row_files import ALONE, LABELS, TAKEN_FOR_GRANTED

NUMBERS = ("a", "b", "difference", "low", "high", "p", "fixed", "broken", "cases", "clusters")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two runs of the starter, the second with a wrong claim and a refusal, each as a report and as rows."""
    starter.init(tmp_path)
    monkeypatch.chdir(tmp_path)
    traces = [json.loads(line) for line in Path("runs/latest/traces.jsonl").read_text(encoding="utf-8").splitlines()]
    traces[1]["answer_json"]["claim"] = "Harbor keeps every version."
    traces[2]["answer_json"] = {"claim": "not in context", "citations": []}
    Path("after.jsonl").write_text("".join(json.dumps(one) + "\n" for one in traces), encoding="utf-8")
    for name, traced in (("before", "runs/latest/traces.jsonl"), ("after", "after.jsonl")):
        result = rw.score("answers", gold="gold/answers.jsonl", traces=traced, scu=True)
        for suffix in ("json", "jsonl", "parquet", "csv"):
            result.write(f"{name}_rows.{suffix}" if suffix != "json" else f"{name}.json")
    return tmp_path


def metrics(a: str, b: str, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = rw.compare(a, b, **more).report
    return found


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_rows_say_what_reports_say(folder: Path, suffix: str) -> None:
    reports = metrics("before.json", "after.json")
    rows = metrics(f"before_rows.{suffix}", f"after_rows.{suffix}")
    assert [one["qid"] for one in rows["suites"]["answers"]["broken"]] == ["H002", "H005"]
    for name, number in reports["metrics"].items():
        assert {key: rows["metrics"][name][key] for key in NUMBERS} == {key: number[key] for key in NUMBERS}, name


def test_a_report_against_rows(folder: Path) -> None:
    found = metrics("before.json", "after_rows.jsonl")
    assert found["comparable"]
    assert found["metrics"]["answers.precision"]["broken"] == 2
    assert f"after_rows.jsonl: {TAKEN_FOR_GRANTED}" in found["suites"]["answers"]["notes"]


def test_rows_without_clusters_say_so(folder: Path) -> None:
    rows = [json.loads(line) for line in Path("after_rows.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {row.pop("cluster")[:4] for row in rows if row["label"] == "OK"} == {"doc="}
    rows = [{key: value for key, value in row.items() if key != "cluster"} for row in rows]
    Path("bare.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    found = metrics("before_rows.jsonl", "bare.jsonl")
    assert f"bare.jsonl: {ALONE}" in found["suites"]["answers"]["notes"]
    assert found["metrics"]["answers.precision"]["clusters"] == found["metrics"]["answers.precision"]["cases"]


def test_metrics_that_do_not_follow_from_rows_are_named(folder: Path) -> None:
    rows = [
        {
            "qid": f"q{nth}",
            "label": "OK",
            "metrics": {"latency.p95": 100.0, "latency.e2e": 1.0, "answers.precision": 1.0},
            "undefined": {},
        }
        for nth in range(3)
    ]
    Path("l.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    found = metrics("l.jsonl", "l.jsonl")["suites"]["latency"]
    assert "latency.p95" not in found["metrics"]
    told = "not in its rows as one number per question: latency.p95, latency.e2e"
    assert any(told in note for note in found["notes"])


def test_a_report_and_its_own_rows_are_the_same(folder: Path) -> None:
    gold = c.retrieval_gold(60, 3)
    for nth, one in enumerate(gold):  # a third of what is relevant is found, or a half, or all
        one["relevant"] = [one["relevant"][0], "S.9.p.x", "S.9.p.y"][: 1 + nth % 3]
        one.pop("relevant_offsets", None)
    Path("g.jsonl").write_text("".join(json.dumps(one) + "\n" for one in gold))
    Path("t.jsonl").write_text("".join(json.dumps(one) + "\n" for one in c.retrieval_traces(60)))
    files = ["--gold", "g.jsonl", "--trace", "t.jsonl", "-q", "-o", "r.json", "--rows", "r.jsonl"]
    main(["score", "retrieval", *files])
    found = metrics("r.json", "r.jsonl")
    assert found["suites"]["retrieval"]["changed"] == 0
    assert {one["difference"] for one in found["metrics"].values()} == {0}
    assert found["metrics"]["retrieval.recall@5"]["a"] not in (0, 1)


ROW = {"qid": "a", "label": "OK", "metrics": {"answers.precision": 1.0}, "undefined": {}}
IMPOSSIBLE = [
    ({"undefined": 5}, "expected a row as --rows writes it"),
    ({"undefined": "abc"}, "expected a row as --rows writes it"),
    ({"undefined": [1]}, "expected a row as --rows writes it"),
    ({"suite": "os"}, 'expected a suite (answers, retrieval, structured, stability, latency, agreement), got "os"'),
    ({"metrics": {"answers.precision": -3.7}}, "metrics.answers.precision: expected a number from 0 to 1, got -3.7"),
    ({"metrics": {"answers.precision": 1e17}}, "metrics.answers.precision: expected a number from 0 to 1, got 1e+17"),
    ({"metrics": {"mine": 1e308}}, "metrics.mine: expected a number from -1000000000000000 to 1000000000000000"),
    ({"runs": -1}, "expected 1 run or more, got -1"),
]


@pytest.mark.parametrize(("change", "message"), IMPOSSIBLE)
def test_rows_that_cannot_be(
    change: dict[str, object], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("odd.jsonl").write_text("".join(json.dumps(one) + "\n" for one in (ROW, ROW | {"qid": "b"} | change)))
    assert main(["compare", "odd.jsonl", "odd.jsonl"]) == 2
    told = capsys.readouterr().err.splitlines()[0]
    assert told.startswith(f"odd.jsonl:2: {message}") and told.endswith("[RW-Y05]")


def test_broken_rows(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = Path("before_rows.jsonl").read_text(encoding="utf-8").splitlines()
    Path("twice.jsonl").write_text("\n".join([*lines[:3], lines[0]]), encoding="utf-8")
    assert main(["compare", "twice.jsonl", "after_rows.jsonl"]) == 2
    assert 'twice.jsonl:4: expected every question once, got "H001" again [RW-Y05]' in capsys.readouterr().err
    Path("odd.jsonl").write_text(lines[0] + '\n{"qid": "b", "metrics": 5}\n', encoding="utf-8")
    assert main(["compare", "odd.jsonl", "after_rows.jsonl"]) == 2
    expected = (
        "odd.jsonl:2: expected a row as --rows writes it, got: Expected `object | array`, got `int` - at `$.metrics`"
    )
    assert expected in capsys.readouterr().err
    assert main(["compare", "before_rows.csv", "after_rows.jsonl"]) == 2
    expected = "before_rows.csv: expected rows as .jsonl or .parquet: a table for people is not read again [RW-Y02]"
    assert expected in capsys.readouterr().err


def test_rows_that_show_another_k_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = ["--gold", "gold/answers.jsonl", "--trace", "after.jsonl", "-q"]
    main(["score", "answers", *files, "--k", "3", "--rows", "k3.jsonl"])
    for earlier in ("before.json", "before_rows.jsonl"):
        capsys.readouterr()
        assert main(["compare", earlier, "k3.jsonl"]) == 4
        assert "answers: another setting of k (5 and 3)" in capsys.readouterr().out
    notes = metrics("before_rows.jsonl", "k3.jsonl", allow=["k"])["suites"]["answers"]["notes"]
    assert "only B has numbers of answers.chr_ceiling@3, answers.hit@3, answers.recall@3" in notes
    assert "they differ, as asked for: another setting of k (5 and 3)" in notes


def changed_rows(name: str, change: Any) -> str:
    """The rows of the run before, each changed; their file."""
    rows = [json.loads(line) for line in Path("before_rows.jsonl").read_text(encoding="utf-8").splitlines()]
    Path(name).write_text("".join(json.dumps(one) + "\n" for one in change(rows)), encoding="utf-8")
    return name


def test_rows_that_show_another_gold_set_are_refused(folder: Path) -> None:
    fewer = changed_rows("fewer.jsonl", lambda rows: rows[1:])
    found = rw.compare("before_rows.jsonl", fewer)
    assert found.unlike == ["answers: another gold set (1 question in one of them only)"]
    assert found.report["allow"] == ["gold"]
    assert rw.compare("before_rows.jsonl", fewer, allow=["gold"]).report["suites"]["answers"]["only_a"] == ["H001"]

    def turn(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        refused = rows[0]["metrics"].pop("answers.over_refusal")
        rows[0]["metrics"]["answers.under_refusal"] = 1.0 - refused
        return rows

    found = rw.compare("before.json", changed_rows("turned.jsonl", turn))
    assert found.unlike == ["answers: another gold set (1 question answerable in one of them only)"]


def test_rows_without_a_metric_in_common_are_no_comparison(folder: Path) -> None:
    other = changed_rows("other.jsonl", lambda rows: [one | {"metrics": {"mine.own": 1.0}} for one in rows])
    assert rw.compare("before_rows.jsonl", other).unlike == ["answers: they have no metric in common"]


def test_constraints_that_nobody_checked_are_in_no_table(folder: Path) -> None:
    main(["score", "answers", "--gold", "gold/answers.jsonl", "--trace", "after.jsonl", "-q", "-o", "unchecked.json"])
    for a, b in (("before_rows.jsonl", "unchecked.json"), ("unchecked.json", "before_rows.jsonl")):
        found = metrics(a, b)["suites"]["answers"]
        assert "answers.scu" not in found["metrics"]
        assert not [note for note in found["notes"] if note.startswith("only ")]


def test_rows_of_several_runs_say_that_labels_decide(folder: Path) -> None:
    rows = [
        {"qid": f"q{nth}", "label": "OK", "metrics": {"stability.css": 1.0}, "undefined": {}, "runs": 3}
        for nth in range(3)
    ]
    Path("s.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert f"s.jsonl: {LABELS}" in metrics("s.jsonl", "s.jsonl")["suites"]["stability"]["notes"]


def test_numbers_of_all_items_at_once_are_named(folder: Path) -> None:
    voted = [("VALID", "REJECT" if nth % 3 else "VALID") for nth in range(9)]
    votes = [{"qid": f"q{n}", "scholar": {"label": a}, "auditor": {"label": b}} for n, (a, b) in enumerate(voted)]
    Path("p.jsonl").write_text("".join(json.dumps(one) + "\n" for one in votes), encoding="utf-8")
    main(["score", "agreement", "--pairs", "p.jsonl", "-q", "--rows", "v.jsonl"])
    notes = metrics("v.jsonl", "v.jsonl")["suites"]["agreement"]["notes"]
    assert "v.jsonl: not in its rows as one number per question: agreement.kappa" in notes
