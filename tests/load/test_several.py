"""Several files as one input: a folder or a pattern gives what one file with the same records gives, in every suite."""

import gzip
import hashlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import zstandard
from pyarrow import parquet

import ragworthy as rw
from cases import SUITES, Case, answers
from conftest import Row, run_cli, write_jsonl
from ragworthy.errors import DataError
from ragworthy.files import sha256_of
from ragworthy.load.decode import record_offsets
from ragworthy.load.sources import open_source
from ragworthy.records import Trace


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def rows_in(path: str) -> list[Row]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def spread(name: str, folder: str) -> Path:
    """The records of a file over files of every kind, in their order, with a marker and a file that ends early."""
    rows, home = rows_in(name), Path(folder)
    (home / "day=2").mkdir(parents=True)
    lines = [json.dumps(row).encode() for row in rows]
    (home / "day=1.jsonl").write_bytes(lines[0])  # without a line end
    (home / "day=2" / "a.jsonl.gz").write_bytes(gzip.compress(lines[1] + b"\n"))
    (home / "day=2" / "b.jsonl.zst").write_bytes(zstandard.compress(b"\xef\xbb\xbf\n" + b"\n".join(lines[2:3])))
    (home / "day=3.jsonl").write_bytes(b"")
    (home / "day=4.jsonl").write_bytes(b"\n".join(lines[3:]) + b"\n")
    (home / "_SUCCESS").write_bytes(b"")
    (home / ".day=1.jsonl.crc").write_bytes(b"crc")
    return home


def told(report: dict[str, Any]) -> dict[str, Any]:
    """A report without how its inputs are named."""
    for suite in report["suites"].values():
        for one in suite["inputs"]:
            del one["path"], one["sha256"]
        suite.pop("provenance", None)
        suite.pop("frozen", None)
    del report["provenance"]
    text = json.dumps(report)
    for name in ("gold.jsonl", "traces.jsonl", "runs.jsonl", "outputs.jsonl", "questions.jsonl"):
        text = text.replace(f'"{name}', '"one')
    body: dict[str, Any] = json.loads(text)
    return body


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("form", ["folder", "pattern"])
def test_every_suite_reads_several_files_as_one(suite: str, form: str, tmp_path: Path) -> None:
    case: Case = SUITES[suite](tmp_path, 6)
    whole = score(case, case.files)
    home = spread(case.files[case.runs], "logs")
    given = "logs" if form == "folder" else "logs/**/*.*"
    parts = score(case, case.files | {case.runs: given})
    assert home.is_dir() and told(parts) == told(whole)
    if case.gold is not None:
        spread(case.files[case.gold], "golds")
        assert told(score(case, case.files | {case.gold: "golds", case.runs: given})) == told(
            score(case, case.files | {case.runs: given})
        )


def score(case: Case, files: dict[str, Any]) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(json.dumps(rw.score(case.suite, **files).report))
    return report


def test_the_hash_of_several_is_the_one_that_shell_commands_give() -> None:
    Path("logs/b").mkdir(parents=True)
    Path("logs/a.jsonl").write_text("{}\n")
    Path("logs/b/c.jsonl").write_text('{"x": 1}\n')
    shell = "cd logs && find . -type f | sed 's:^./::' | LC_ALL=C sort | xargs sha256sum | sha256sum"
    expected = subprocess.run(["/bin/sh", "-c", shell], capture_output=True, text=True, check=True).stdout.split()[0]
    assert sha256_of(Path("logs")) == expected
    assert sha256_of(Path("logs/**/*.jsonl")) == expected
    only = hashlib.sha256(Path("logs/a.jsonl").read_bytes()).hexdigest()
    assert sha256_of(Path("logs/*.jsonl")) == hashlib.sha256(f"{only}  a.jsonl\n".encode()).hexdigest()
    assert open_source("trace", "logs").sha256() == expected


@pytest.mark.parametrize("suite", SUITES)
def test_an_error_names_the_file_and_its_line(suite: str, tmp_path: Path) -> None:
    case: Case = SUITES[suite](tmp_path, 6)
    spread(case.files[case.runs], "logs")
    last = Path("logs/day=4.jsonl")
    lines = last.read_text().splitlines()
    last.write_text("\n".join([lines[0], "", '{"qid": ', *lines[2:]]) + "\n")
    with pytest.raises(DataError) as caught:
        score(case, case.files | {case.runs: "logs"})
    assert [one.where for one in caught.value.problems] == ["logs/day=4.jsonl:3"]
    assert caught.value.problems[0].code == "RW-F07"


def test_problems_of_several_files_come_in_their_order(tmp_path: Path) -> None:
    case = SUITES["latency"](tmp_path, 6)
    spread(case.files["runs"], "logs")
    for name in ("logs/day=4.jsonl", "logs/day=1.jsonl"):
        row = json.loads(Path(name).read_text().splitlines()[0])
        Path(name).write_text("\n\n" + json.dumps(row | {"e2e_ms": -1}) + "\n{}x\n")
    with pytest.raises(DataError) as caught:
        score(case, case.files | {"runs": "logs"})
    assert [one.where for one in caught.value.problems] == [
        "logs/day=1.jsonl:3", "logs/day=1.jsonl:4", "logs/day=4.jsonl:3", "logs/day=4.jsonl:4",
    ]  # fmt: skip


BROKEN: dict[str, tuple[Callable[[], Any], str]] = {
    "nothing": (lambda: None, "logs/*.jsonl: expected files, got a pattern that fits none [RW-F01]"),
    "folder": (
        lambda: Path("logs/x.jsonl").mkdir(parents=True),
        "logs/x.jsonl: expected a file, got a folder [RW-F02]",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_patterns_that_lead_nowhere(name: str) -> None:
    make, said = BROKEN[name]
    make()
    with pytest.raises(DataError) as caught:
        open_source("trace", "logs/*.jsonl")
    assert [str(one) for one in caught.value.problems] == [said]


def test_a_folder_with_other_files_names_one() -> None:
    Path("logs/b").mkdir(parents=True)
    with pytest.raises(DataError, match=r"^logs: expected a file, got a folder \[RW-F02\]"):
        open_source("trace", "logs")
    Path("logs/b/notes.md").write_text("x")
    Path("logs/a.jsonl").write_text("{}\n")
    with pytest.raises(DataError) as caught:
        open_source("trace", "logs")
    assert str(caught.value.problems[0]) == (
        "logs: expected a folder of records (.jsonl, .ndjson, .gz, .zst, .parquet), got b/notes.md in it: "
        "name the files by a pattern [RW-F02]"
    )


def test_a_name_with_a_star_in_it_is_a_file() -> None:
    Path("a*.jsonl").write_text('{"qid": "x"}\n')
    Path("ab.jsonl").write_text('{"qid": "y"}\n')
    source = open_source("trace", "a*.jsonl")
    assert b"".join(block.data for block in source.blocks()) == b'{"qid": "x"}\n'


def test_parts_hold_every_line_once_and_places_lead_back_to_it() -> None:
    Path("logs").mkdir()
    rows = [{"qid": f"q{nth}", "retrieved_ids": ["x" * (nth % 50)]} for nth in range(400)]
    write_jsonl(Path("logs/a.jsonl"), rows[:150])
    Path("logs/b.jsonl.gz").write_bytes(
        gzip.compress("".join(json.dumps(one) + "\n" for one in rows[150:200]).encode())
    )
    parquet.write_table(pa.Table.from_pylist(rows[200:300]), "logs/c.parquet", row_group_size=30)
    Path("logs/d.jsonl").write_text("\n".join(json.dumps(one) for one in rows[300:]))
    source = open_source("trace", "logs")
    for parts in (1, 2, 3, 7, 50):
        found: list[str] = []
        for part in range(parts):
            for block in source.blocks(part, parts):
                offsets = record_offsets(Trace, block)
                again = source.block_at(block.offset, len(block.data), part, parts)
                assert again == block
                lines = source.lines_at(offsets)
                for offset, data in zip(offsets, block.data.splitlines(), strict=True):
                    qid = json.loads(data)["qid"]
                    nth = int(qid[1:])
                    first, name = max(one for one in STARTS if one[0] <= nth)
                    assert source.at(lines[offset]) == f"logs/{name}:{nth - first + 1}"
                    found.append(qid)
        assert found == [one["qid"] for one in rows]


STARTS = ((0, "a.jsonl"), (150, "b.jsonl.gz"), (200, "c.parquet"), (300, "d.jsonl"))


def test_a_receipt_of_several_files_verifies_until_one_more_appears(tmp_path: Path) -> None:
    answers(tmp_path, 6)
    spread("traces.jsonl", "logs")
    done = run_cli("score", "answers", "--gold", "gold.jsonl", "--trace", "logs", "--receipt", "r.json", "-q")
    assert done.code in (0, 1, 3), done
    assert run_cli("verify", "r.json").code == 0
    bundled = run_cli("score", "answers", "--gold", "gold.jsonl", "--trace", "logs", "--bundle", "b.zip", "-q")
    assert bundled.code == 2
    assert bundled.err.startswith("logs: expected single files for a bundle, got several: join them into one")
    write_jsonl(Path("logs/day=9.jsonl"), rows_in("traces.jsonl")[:1])
    again = run_cli("verify", "r.json")
    assert again.code == 1 and "trace: logs changed" in again.out


def test_no_output_replaces_one_of_several_files(tmp_path: Path) -> None:
    answers(tmp_path, 6)
    spread("traces.jsonl", "logs")
    for given in ("logs", "logs/**/*.*"):
        command = ["score", "answers", "--gold", "gold.jsonl", "--trace", given, "-o", "logs/day=4.jsonl", "-q"]
        before = Path("logs/day=4.jsonl").read_bytes()
        done = run_cli(*command)
        assert (done.code, done.err.splitlines()[0]) == (
            2, "logs/day=4.jsonl: expected a new file, got one that is read [RW-U01]",
        )  # fmt: skip
        assert Path("logs/day=4.jsonl").read_bytes() == before


def test_runs_of_several_files_each_are_pooled(tmp_path: Path) -> None:
    """A repeated --trace is another run, also where each run is a folder."""
    answers(tmp_path, 6)
    spread("traces.jsonl", "first")
    spread("traces.jsonl", "second")
    rows = rows_in("second/day=4.jsonl")
    rows[0]["answer_json"] = {"claim": "not in context", "citations": []}
    write_jsonl(Path("second/day=4.jsonl"), rows)
    given = ["--gold", "gold.jsonl", "--trace", "first", "--trace", "second", "--format", "json"]
    report = json.loads(run_cli("score", "answers", *given).out)["suites"]["answers"]
    assert report["counts"]["runs"] == 2
    assert [(one["role"], one["path"], one["records"]) for one in report["inputs"]] == [
        ("gold", "gold.jsonl", 6), ("trace", "first", 6), ("trace:1", "second", 6),
    ]  # fmt: skip
    assert report["metrics"]["answers.over_refusal"]["num"] == 1
