"""`ragworthy monitor --once`: logs of every kind, the worked example, what is wrong with records, exit codes."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import zstandard

from live_logs import alerts, at, lines, record, run, told, traffic, write
from ragworthy.monitor.replay import minutes


def bad_coverage(first: int, last: int) -> list[dict[str, Any]]:
    """A quarter of an hour in which coverage is bad for some minutes, so much that each window of five is, too."""
    log = []
    for minute in range(1, 31):
        log += traffic(minute, minute, 200, answer={"coverage": 0.0 if first <= minute <= last else 1.0})
    return log


def test_w49_from_the_command_line(tmp_path: Path) -> None:
    """All is bad from 12:05 on: two of five minutes are at 12:06, which is below 0.70 for the first time."""
    log = write(tmp_path / "live.jsonl", bad_coverage(5, 14))
    done = run(log, "--once", "--alerts", tmp_path / "alerts.jsonl")
    assert done.returncode == 1, done.stderr
    found = [one for one in alerts(tmp_path / "alerts.jsonl") if one[0] == "coverage_drop"]
    assert found == [("coverage_drop", "firing", "12:10"), ("coverage_drop", "resolved", "12:18")]
    assert "2026-03-02T12:10:00Z firing coverage_drop: 0 < 0.7000, 1,000 samples in 5 min" in done.stdout
    first = (tmp_path / "alerts.jsonl").read_text(encoding="utf-8").splitlines()[1]
    assert first == (
        '{"schema":"ragworthy.alert/1","rule":"coverage_drop","at":"2026-03-02T12:10:00Z","state":"firing","value":0,'
        '"limit":0.7,"sign":"<","samples":1000,"minutes":5,"source":"Chunking/live_monitoring_rag.md",'
        '"rollback":false,"slice":null}'
    )


def test_w49_two_hashes_of_one_build(tmp_path: Path) -> None:
    log = [*traffic(1, 3, 10), record(at(3.5), "x", retrieval={"index_hash": "h2"}), *traffic(5, 12, 10)]
    done = run(write(tmp_path / "live.jsonl", log), "--once", "--alerts", tmp_path / "a.jsonl")
    assert alerts(tmp_path / "a.jsonl") == [("index_drift", "firing", "12:04"), ("index_drift", "resolved", "12:09")]
    assert json.loads((tmp_path / "a.jsonl").read_text(encoding="utf-8").splitlines()[0])["rollback"] is True
    assert "take the index back" in done.stdout


@pytest.mark.parametrize("form", ["plain", "gz", "zst", "parquet", "folder", "glob", "three"])
def test_every_kind_of_log_gives_the_same_minutes(tmp_path: Path, form: str) -> None:
    log = bad_coverage(5, 14)
    data = lines(log)
    expected = [one.state() for one in minutes([write(tmp_path / "plain.jsonl", log)])]
    folder = tmp_path / "logs"
    folder.mkdir()
    given: list[Path | str] = [folder / f"live.jsonl.{form}"]
    if form == "plain":
        given = [write(folder / "live.jsonl", log)]
    elif form == "gz":
        Path(given[0]).write_bytes(gzip.compress(data))
    elif form == "zst":
        Path(given[0]).write_bytes(zstandard.compress(data))
    elif form == "parquet":
        pyarrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        given = [folder / "live.parquet"]
        parquet.write_table(pyarrow.Table.from_pylist(log), given[0])
    elif form in ("folder", "glob"):
        for n in range(3):
            write(folder / f"live.jsonl.{n}", log[n * 2000 : (n + 1) * 2000])
        given = [folder] if form == "folder" else [str(folder / "live.jsonl.*")]
    else:  # three servers that share the traffic
        given = [write(folder / f"{n}.jsonl", log[n::3]) for n in range(3)]
    assert [one.state() for one in minutes(given)] == expected


def test_what_is_wrong_is_counted_and_named(tmp_path: Path) -> None:
    good = traffic(1, 10, 30)
    broken = [
        b'{"qid": "q", "ts": "2026-03-02T12:00:30Z", "answer": {"coverage": "high"}}\n',
        b"{nonsense\n",
        b'{"resourceSpans": 5}\n',
        lines([{"qid": "no time"}]),
        lines([record("soon", "no such time")]),
        lines([record("2199-01-01T00:00:00Z", "from the future")]),
        lines([record(at(5), "late")]),
        lines([good[-1]]),
        lines([record(at(9.99), "odd", perf={"t_reason_ms": -4}, answer={"coverage": 1.5})]),
    ]
    log = tmp_path / "live.jsonl"
    log.write_bytes(lines(good) + b"".join(broken))
    found = told(log)
    assert {name: one["count"] for name, one in found["problems"].items()} == {
        "unreadable": 3, "untimed": 2, "future": 1, "late": 1, "twice": 1, "odd": 1,
    }  # fmt: skip
    assert found["problems"]["late"]["first"] == [f"{log.name}:307"]
    named = "answer.coverage: expected bool | float | null, got str [RW-O01]"
    assert found["problems"]["unreadable"]["first"][0] == f"{log.name}:301: {named}"
    assert found["problems"]["unreadable"]["first"][2].endswith(":303: expected a list of objects, got 5")
    assert found["counted"] == 301
    assert found["records"] == 306
    assert found["fields"]["coverage"]["samples"] == 300
    text = run(log, "--once").stdout
    assert f"1 late: of a minute that was already judged (first: {log.name}:307)" in text


def test_a_record_far_ahead_of_its_log_is_from_the_future(tmp_path: Path) -> None:
    log = [*traffic(1, 3, 30), record(at(60 * 24 * 7), "next week"), *traffic(4, 9, 30)]
    found = told(write(tmp_path / "live.jsonl", log))
    assert found["problems"] == {"future": {"count": 1, "first": ["live.jsonl:91"]}}
    assert found["counted"] == len(log) - 1


def test_a_night_without_traffic_is_no_error(tmp_path: Path) -> None:
    log = [*traffic(1, 3, 30), *traffic(600, 603, 30)]
    found = told(write(tmp_path / "live.jsonl", log))
    assert found["problems"] == {}
    assert found["counted"] == len(log)


def test_the_same_question_of_two_people_is_not_the_same_record(tmp_path: Path) -> None:
    one = record(at(1), "q", context={"client": "ann"})
    other = record(at(1), "q", context={"client": "bob"})
    later = record(at(2), "q", context={"client": "ann"})
    found = told(write(tmp_path / "live.jsonl", [one, other, later, one, other]))
    assert (found["counted"], found["problems"]["twice"]["count"]) == (3, 2)


def test_a_record_of_two_logs_counts_once_and_is_a_run_of_both(tmp_path: Path) -> None:
    """Whichever log is read first: each has its own runs before it, and its own wordings."""

    def asked(second: int, order: str, qid: str = "q", **more: Any) -> dict[str, Any]:
        return record(at(1, second), qid, retrieval={"topk": list(order)}, **more)

    both = [asked(10, "abcd"), *(asked(11 + n, "xy", "p", paraphrase=n, seed=1) for n in range(3))]
    one = [asked(1, "abdc"), *both, asked(20, "abcd"), asked(20, "abcd"), both[0]]
    other = [asked(2, "dcba"), *both, asked(21, "bacd"), both[3], asked(30, "xy", "p", paraphrase=0, seed=1)]
    found = []
    for name, pair in (("as they are", (one, other)), ("the other way", (other, one))):
        (tmp_path / name).mkdir()
        for n, log in enumerate(pair):
            write(tmp_path / name / f"{n}.jsonl", log)
        found.append(told(tmp_path / name))
    assert found[0]["fields"] == found[1]["fields"]
    assert (found[0]["counted"], found[0]["problems"]["twice"]["count"]) == (9, 7)
    fields = found[0]["fields"]
    assert fields["tau"]["samples"] == 2 + 3  # two runs of q after another in each log, and one of p in the other
    assert fields["diverged"]["samples"] == 5 + 2  # as five runs of q say, and a triplet in each log
    assert fields["e2e_ms"]["samples"] == 9


def test_copies_of_a_log_are_read_once(tmp_path: Path) -> None:
    log = traffic(1, 5, 20)
    paths = [write(tmp_path / name, log) for name in ("a.jsonl", "b.jsonl")]
    (tmp_path / "c.jsonl.gz").write_bytes(gzip.compress(lines(log)))
    found = told(*paths, tmp_path / "c.jsonl.gz")
    assert (found["counted"], found["problems"]["copied"]["count"]) == (100, 2)


def test_logs_that_begin_alike_and_go_on_differently_are_two(tmp_path: Path) -> None:
    log = traffic(1, 5, 20)
    paths = [write(tmp_path / f"{n}.jsonl", [{"service": "rag"}, *log[n::2]]) for n in range(2)]
    found = told(*paths)
    assert (found["counted"], found["problems"]["untimed"]["count"]) == (100, 2)


@pytest.mark.parametrize(
    ("log", "code", "last"),
    [
        (traffic(1, 10, 100), 0, "nothing fires (exit 0)"),
        (traffic(1, 10, 10), 3, "too few samples to judge (exit 3)"),
        ([*traffic(1, 10, 10), record(at(10.5), error={"status": 401})], 1, "1 alert fired (exit 1)"),
        ([], 3, "too few samples to judge (exit 3)"),
    ],
)
def test_exit_codes(tmp_path: Path, log: list[dict[str, Any]], code: int, last: str) -> None:
    done = run(write(tmp_path / "live.jsonl", log), "--once", "-q")
    assert (done.returncode, done.stdout) == (code, last + "\n")


def test_wrong_usage_is_told(tmp_path: Path) -> None:
    log = write(tmp_path / "live.jsonl", traffic(1, 2, 2))
    nowhere = run(tmp_path / "nothing.jsonl", "--once")
    assert nowhere.returncode == 2
    assert nowhere.stderr.splitlines()[0] == (
        f"{tmp_path}/nothing.jsonl: expected a file, got nothing at this path [RW-F01]"
    )
    none = run("--once")
    assert (none.returncode, none.stderr.splitlines()[0]) == (
        2, "expected log files, folders or patterns, or --listen HOST:PORT, got neither [RW-U01]",
    )  # fmt: skip
    both = run(log, "--once", "--follow")
    assert "expected either --once, or --follow and --listen, got both [RW-U01]" in both.stderr
    few = run(log, "--once", "--days", "7")
    assert few.returncode == 2
    assert "expected a number from 30 to 90" in few.stderr
    (tmp_path / "b.json").write_text('{"fields": {}}', encoding="utf-8")
    wrong = run(log, "--once", "--baseline", tmp_path / "b.json")
    assert wrong.stderr.splitlines()[0] == (
        f"{tmp_path}/b.json: expected one of retrieve_ms, reason_ms, e2e_ms, got none [RW-O02]"
    )


def test_an_accepted_run_is_the_baseline_of_the_next(tmp_path: Path) -> None:
    accepted = run(write(tmp_path / "old.jsonl", traffic(1, 10, 100)), "--once", "--format", "json").stdout
    (tmp_path / "accepted.json").write_text(accepted, encoding="utf-8")
    assert json.loads(accepted)["fields"]["reason_ms"]["p95"] == 400
    for milliseconds, code in ((520, 0), (520.01, 1)):  # 1.30 times 400 ms is accepted
        log = write(tmp_path / "new.jsonl", traffic(1, 10, 100, perf={"t_reason_ms": milliseconds}))
        done = run(log, "--once", "--baseline", tmp_path / "accepted.json", "--alerts", tmp_path / "a.jsonl")
        assert done.returncode == code
    (alert,) = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text(encoding="utf-8").splitlines()]
    assert (alert["rule"], alert["value"], alert["limit"]) == ("latency", 520.01, 520)


def test_a_sample_is_the_same_share_whenever_it_is_drawn(tmp_path: Path) -> None:
    log = write(tmp_path / "live.jsonl", traffic(1, 10, 400))
    found = told(log, "--sample", "0.25")
    assert 850 < found["counted"] < 1150
    assert found["counted"] + found["problems"]["sampled"]["count"] == 4000
    assert told(log, "--sample", "0.25") == found


def test_the_alerts_of_a_folder_are_no_log_of_it(tmp_path: Path) -> None:
    write(tmp_path / "live.jsonl", [*traffic(1, 3, 10), record(at(3.5), "x", error={"status": 401})])
    for _ in range(2):
        found = told(tmp_path, "--alerts", tmp_path / "alerts.jsonl")
        assert (found["records"], found["problems"]) == (31, {})
    assert alerts(tmp_path / "alerts.jsonl") == [("auth_failure", "firing", "12:04")]


def test_latency_shows_the_stage_that_was_told(tmp_path: Path) -> None:
    """Nobody measures retrieval: the row is about reasoning."""
    write(tmp_path / "live.jsonl", traffic(1, 10, 100, perf={"t_retrieve_ms": None}))
    (tmp_path / "b.json").write_text('{"reason_ms": 400}', encoding="utf-8")
    rows = {one["rule"]: one for one in told(tmp_path / "live.jsonl", "--baseline", tmp_path / "b.json")["rules"]}
    row = rows["latency"]
    assert (row["state"], row["value"], row["limit"], row["samples"]) == ("false", 400, 520, 500)
    rows = {one["rule"]: one for one in told(tmp_path / "live.jsonl")["rules"]}
    assert (rows["latency"]["state"], rows["latency"]["samples"]) == ("no baseline", 500)
