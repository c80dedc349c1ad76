"""Spark gives the bytes that one process gives: two threads of this machine, and a cluster of two workers."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import spark_running as spark
from conftest import Done, run_cli
from sets_of_every_suite import MADE, RUNS, SQUAD, broken, runs_of, strange

SUITES = tuple(RUNS)
ENGINE = ("--engine", "spark")


def ended(done: Done, folder: Path, name: str) -> tuple[Done, bytes | None, bytes | None]:
    """How a command ended, with the report and the rows that it wrote."""
    files = [folder / f"{name}{suffix}" for suffix in (".json", ".jsonl")]
    report, rows = (one.read_bytes() if one.exists() else None for one in files)
    return done, report, rows


def of_one_process(folder: Path, words: list[str], monkeypatch: pytest.MonkeyPatch) -> tuple[Done, object, object]:
    monkeypatch.chdir(folder)
    done = run_cli("score", *words, "--jobs", "1", "-q", "-o", "one.json", "--rows", "one.jsonl")
    return ended(done, folder, "one")


def gzipped(words: list[str]) -> list[str]:
    """The same command on a packed file."""
    path = runs_of(words)
    packed = path.with_suffix(".jsonl.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    return [str(packed) if word == str(path) else word for word in words]


def as_table(words: list[str]) -> list[str]:
    """The same command on a Parquet file of several row groups."""
    path = runs_of(words)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    parquet.write_table(pa.Table.from_pylist(rows), path.with_suffix(".parquet"), row_group_size=50)
    return [str(path.with_suffix(".parquet")) if word == str(path) else word for word in words]


def as_folder(words: list[str]) -> list[str]:
    """The same command on a folder of plain and packed files."""
    path = runs_of(words)
    lines, folder = path.read_bytes().splitlines(keepends=True), path.with_name("logs")
    folder.mkdir()
    for nth in range(3):
        some = b"".join(lines[nth * len(lines) // 3 : (nth + 1) * len(lines) // 3])
        (folder / f"{nth}.jsonl").write_bytes(some) if nth else (folder / "0.jsonl.gz").write_bytes(gzip.compress(some))
    return [str(folder) if word == str(path) else word for word in words]


def odd_ends(words: list[str]) -> list[str]:
    """The same command on a file with a byte order mark, blank lines, line ends of Windows, and no last line end."""
    path = runs_of(words)
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\xef\xbb\xbf\r\n\n" + b"\r\n".join(lines[:40]) + b"\n \n\n" + b"\n".join(lines[40:]))
    return words


def no_utf8(words: list[str]) -> list[str]:
    """The same command, once a line in the middle is not UTF-8, and another has a zero byte."""
    path = runs_of(words)
    lines = path.read_bytes().splitlines()
    lines[30], lines[50] = b'{"qid": "\xff\xfe"}', b'{"qid": "\x00"}'
    path.write_bytes(b"\n".join(lines) + b"\n")
    return words


Change = Callable[[list[str]], list[str]]
CASES: dict[str, tuple[str, dict[str, Callable[[Path], list[str]]], Change | None]] = {
    **{f"{suite}, made": (suite, MADE, None) for suite in SUITES},
    **{f"{suite}, SQuAD": (suite, SQUAD, None) for suite in SUITES},
    **{f"{suite}, broken": (suite, MADE, broken) for suite in SUITES},
    **{f"{suite}, strange": (suite, MADE, strange) for suite in ("stability", "latency")},
    "answers, packed": ("answers", MADE, gzipped),
    "retrieval, a table": ("retrieval", MADE, as_table),
    "structured, a folder": ("structured", MADE, as_folder),
    "latency, odd ends": ("latency", MADE, odd_ends),
    "stability, a folder of broken lines": ("stability", MADE, lambda words: as_folder(broken(words))),
    "answers, no UTF-8": ("answers", MADE, no_utf8),
    "retrieval, packed and broken": ("retrieval", MADE, lambda words: gzipped(broken(words))),
}


@pytest.mark.data("data/squad2/dev")
@pytest.mark.parametrize("where", ["local[2]", "two workers"])
def test_every_suite_is_the_same(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """All in one session: starting one takes seconds."""
    url = where if where == "local[2]" else request.getfixturevalue("master")
    said, asked = {}, []
    for nth, (name, (suite, sets, change)) in enumerate(CASES.items()):
        folder = tmp_path / str(nth)
        folder.mkdir()
        words = sets[suite](folder)
        words = change(words) if change else words
        said[name] = of_one_process(folder, words, monkeypatch)
        reports = ("-o", "spark.json", "--rows", "spark.jsonl")
        asked.append([folder, "score", *words, *ENGINE, "-q", *reports])
    done = spark.commands(url, asked)
    for nth, name in enumerate(CASES):
        assert ended(done[nth], tmp_path / str(nth), "spark") == said[name], name
        assert done[nth].code == (2 if "broken" in name or "strange" in name or "UTF-8" in name else done[nth].code)
