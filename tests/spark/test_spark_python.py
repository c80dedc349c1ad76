"""Spark from Python: a session that is there, inputs that only Hadoop can name, rows that executors write."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import spark_running as spark
from places import TESTS
from sets_of_every_suite import made_answers

SAID = {
    "broken": "viewfs://eval/logs/month/2/traces.jsonl:12: qid: expected a string, got 7 [RW-T02]",
    "nothing there": "viewfs://eval/logs/none.jsonl: expected a file, got nothing at this URI [RW-F01]",
    "no file system": 'nofs://x/y.jsonl: expected a readable file, got: No FileSystem for scheme "nofs" [RW-S10]',
    "a pattern of nothing": "viewfs://eval/logs/*.none: expected a file, got nothing at this URI [RW-F01]",
    "other files": "viewfs://eval/logs/eval: expected a folder of records (.jsonl, .ndjson, .gz, .zst, .parquet), "
    "got ragworthy.toml in it: name the files by a pattern [RW-F02]",
    "no engine": "viewfs://eval/logs/runs.jsonl: expected a path on this machine, got a URI [RW-S06]",
    "another engine": "engine: expected local or spark, got 'dask' [RW-U01]",
    "no session": "engine: expected a SparkSession of its own process, not one of Spark Connect [RW-U01]",
    "two masters": 'master: expected engine="spark" besides it, got a session, which has its own [RW-U01]',
    "a master alone": 'master: expected engine="spark" besides it [RW-U01]',
    "a corpus": "corpus: expected a path on this machine, got s3a://x/y.jsonl [RW-S06]",
    "a run twice": "answers.traces: expected every run once, got viewfs://eval/logs/runs.jsonl twice [RW-P23]",
    "taken": "viewfs://eval/logs/rows.parquet: expected a new folder, got one that is there [RW-F14]",
}


def test_what_python_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made_answers(tmp_path)
    script = TESTS / "spark" / "inside" / "calls.py"
    done = subprocess.run(
        [sys.executable, str(script), "gold.jsonl", "runs.jsonl"],
        env=spark.environment(),
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert {name: told.pop(name) for name in SAID} == SAID
    same = [
        "a session",
        "its rows",
        "a URI",
        "a folder",
        "a pattern",
        "rows by executors",
        "pages",
        "a policy",
        "two runs",
    ]
    assert told == dict.fromkeys(same, True)
