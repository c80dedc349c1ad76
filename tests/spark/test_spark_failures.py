"""What fails on the way is tried again by Spark, or is an error that says what to do: never fewer rows."""

import os
import signal
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

import pytest

import spark_running as spark
from conftest import Done, run_cli
from places import TESTS
from ragworthy.names import VERSION
from sets_of_every_suite import made_retrieval

FAILING = str(TESTS / "spark" / "inside" / "failing")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def words() -> list[str]:
    """A score of retrieval, in the working folder."""
    return ["score", *made_retrieval(Path()), "-q"]


def failing(how: str, times: int) -> dict[str, str]:
    """The environment in which tasks fail."""
    Path("marks").mkdir()
    path = os.pathsep.join((FAILING, spark.environment()["PYTHONPATH"]))
    return {"FAILING": how, "TIMES": str(times), "MARKS": str(Path("marks").absolute()), "PYTHONPATH": path}


def read_by_spark(words: list[str], master: str, *settings: str, **more: str) -> Done:
    asked = [Path().absolute(), *words, "--engine", "spark", "-o", "spark.json"]
    return spark.commands(master, [asked], *settings, **more)[0]


def command(words: list[str], master: str = "local[2]", **more: str) -> Done:
    """A command of its own, which starts its session itself."""
    asked = [sys.executable, "-m", "ragworthy", *words, "--engine", "spark", "--master", master]
    environment = spark.environment(**more)
    done = subprocess.run(asked, env=environment, capture_output=True, encoding="utf-8", timeout=120, check=False)
    return Done(done.returncode, done.stdout, done.stderr)


def report_of_one(words: list[str]) -> bytes:
    assert run_cli(*words, "--jobs", "1", "-o", "one.json").code == 4
    return Path("one.json").read_bytes()


def test_a_command_that_starts_spark_prints_what_it_always_prints(words: list[str]) -> None:
    assert command([*words, "-o", "spark.json"]) == run_cli(*words, "-o", "one.json")
    assert Path("spark.json").read_bytes() == Path("one.json").read_bytes()


def test_a_task_that_fails_twice_is_tried_again(words: list[str]) -> None:
    done = read_by_spark(words, "local[2,4]", **failing("die", 2))
    assert (done.code, done.err, len(list(Path("marks").iterdir()))) == (4, "", 2)
    assert Path("spark.json").read_bytes() == report_of_one(words)


def test_a_task_that_fails_too_often_is_an_error(words: list[str]) -> None:
    done = read_by_spark(words, "local[2]", **failing("raise", 1))
    assert (done.code, Path("spark.json").exists()) == (2, False)
    said = "expected Spark to read every part, got: no more memory for this task (RuntimeError) [RW-S05]"
    assert done.err.splitlines()[0] == said


def test_an_executor_that_dies_loses_nothing(words: list[str], master: str) -> None:
    settings = [f"spark.executorEnv.{key}={value}" for key, value in failing("kill the executor", 1).items()]
    done = read_by_spark(words, master, *settings)
    assert (done.code, done.err, len(list(Path("marks").iterdir()))) == (4, "", 1)
    assert Path("spark.json").read_bytes() == report_of_one(words)


def test_a_driver_that_dies_is_an_error(words: list[str]) -> None:
    """On one machine the executor is the process of the driver."""
    done = command([*words, "-o", "spark.json"], **failing("kill the executor", 1))
    assert (done.code, Path("spark.json").exists()) == (2, False)
    first = done.err.splitlines()[0]
    assert first.startswith("expected Spark to read every part, got: ") and first.endswith(" [RW-S05]")
    log = first.rpartition("(its log: ")[2].partition(")")[0]
    assert Path(log).is_file() and "Traceback" not in done.err
    Path(log).unlink()


def test_what_is_no_master_is_named(words: list[str]) -> None:
    """Spark takes a minute to give up on one that does not answer; that it is no URL it says at once."""
    done = command([*words, "-o", "spark.json"], master="foo")
    first = done.err.splitlines()[0]
    assert (done.code, Path("spark.json").exists()) == (2, False)
    assert first.startswith("expected a master that runs applications, got: Master must either be yarn")
    assert "[RW-S09]" in first
    Path(first.rpartition("(its log: ")[2].partition(")")[0]).unlink()


def test_an_interrupted_run_says_so_and_leaves_nothing(words: list[str]) -> None:
    logs = Path(tempfile.gettempdir())
    before = set(logs.glob("ragworthy-spark-*.log"))
    asked = [sys.executable, "-m", "ragworthy", *words, "-o", "spark.json", "--engine", "spark", "--master", "local[2]"]
    environment = spark.environment(**failing("wait", 1))
    with subprocess.Popen(asked, env=environment, stderr=subprocess.PIPE, encoding="utf-8") as process:
        for _ in range(600):  # until a task is at work
            if list(Path("marks").iterdir()):
                break
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said, Path("spark.json").exists()) == (130, "interrupted\n", False)
    assert set(logs.glob("ragworthy-spark-*.log")) - before == set()


def test_results_that_are_too_large_are_an_error(words: list[str]) -> None:
    done = read_by_spark(words, "local[2]", "spark.driver.maxResultSize=1k")
    assert (done.code, Path("spark.json").exists()) == (2, False)
    assert "[RW-S05]" in done.err.splitlines()[0] and "spark.driver.maxResultSize" in done.err


def test_an_executor_without_the_packages_is_named(words: list[str]) -> None:
    venv.create("bare", symlinks=True)
    bare = str(Path("bare/bin/python").absolute())
    done = read_by_spark(words, "local[2]", PYSPARK_PYTHON=bare, PYSPARK_DRIVER_PYTHON=sys.executable)
    assert (done.code, done.err.splitlines()[0]) == (
        2, "expected msgspec on every executor, got a Python without it [RW-S08]",
    )  # fmt: skip


def test_an_executor_of_another_version_is_named(words: list[str]) -> None:
    path = os.pathsep.join((FAILING, spark.environment()["PYTHONPATH"]))
    done = read_by_spark(words, "local[2]", OTHER_VERSION="0.1.0", PYTHONPATH=path)
    said = f"expected version {VERSION} on every executor, got 0.1.0 [RW-S08]"
    assert (done.code, done.err.splitlines()[0]) == (2, said)


def test_without_java_it_says_what_to_install(words: list[str]) -> None:
    done = command(words, JAVA_HOME="/nowhere")
    first, second = done.err.splitlines()[:2]
    assert (done.code, first.partition(", got: ")[0]) == (2, "expected Java 17 or later")
    assert "[RW-S07]" in first and "openjdk-17-jre-headless" in second


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--master", "local[2]"], "--master: expected --engine spark besides it"),
        (["--engine", "spark", "--shard", "1/2", "-o", "p.json"],
         "--shard: expected --engine local, got spark: it cuts the input by itself"),
        (["--rows", "hdfs://nn/rows.parquet"],
         "--rows: expected a .parquet folder and --engine spark for a URI, got hdfs://nn/rows.parquet"),
        (["--engine", "spark", "--rows", "hdfs://nn/rows.jsonl"],
         "--rows: expected a .parquet folder and --engine spark for a URI, got hdfs://nn/rows.jsonl"),
        (["--engine", "spark", "-o", "s3a://b/r.json"], "--output: expected a path on this machine, got s3a://b/r.json"),
        (["--engine", "spark", "--corpus", "s3a://b/chunks.jsonl"],
         "--corpus: expected a path on this machine, got s3a://b/chunks.jsonl"),
    ],
)  # fmt: skip
def test_what_does_not_go_together(words: list[str], more: list[str], said: str) -> None:
    done = run_cli(*words, *more)
    assert (done.code, done.err.partition(" [RW-")[0]) == (2, said)


def test_a_uri_without_spark(words: list[str]) -> None:
    done = run_cli("score", "retrieval", "--gold", "gold.jsonl", "--trace", "s3a://logs/traces.jsonl")
    assert done.code == 2
    assert done.err.startswith("s3a://logs/traces.jsonl: expected a path on this machine, got a URI [RW-S06]\n")


def test_a_uri_is_refused_by_commands_that_cannot_write_there(words: list[str]) -> None:
    """Rows that nobody writes would be missed only later."""
    for nth in (1, 2):
        assert run_cli(*words[:-1], "--shard", f"{nth}/2", "-o", f"part{nth}.json").code == 0
    done = run_cli("merge", "part1.json", "part2.json", "--rows", "hdfs://nn/rows.parquet", "-o", "merged.json")
    said = "--rows: expected a path on this machine, got hdfs://nn/rows.parquet"
    assert (done.code, done.err.partition(" [RW-")[0], Path("merged.json").exists()) == (2, said, False)
