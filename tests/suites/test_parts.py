"""One process, several, and parts that were read apart and merged: every suite gives the same bytes."""

import gzip
import json
import os
import random
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import cases as c
from conftest import Done, Row, run_cli, write_jsonl
from ragworthy.names import VERSION
from ragworthy.suites import fork, parts
from sets_of_every_suite import BROKEN_LINES, MADE, SQUAD, STRANGE_LINES, broken, runs_of, strange

SUITES = ("answers", "retrieval", "structured", "stability", "latency", "agreement")
"""Every suite that reads in parts."""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def several(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small files are read by several processes, too."""
    monkeypatch.setattr(fork, "SMALL", 1)


def rows_in(path: str) -> list[Row]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def made(suite: str) -> list[str]:
    """The command for a made set, in the working folder."""
    return ["score", *MADE[suite](Path())]


def scored(command: list[str], name: str, *more: str) -> tuple[Done, bytes, bytes]:
    """The report and its rows."""
    done = run_cli(*command, *more, "-o", f"{name}.json", "--rows", f"{name}.jsonl", "-q")
    assert done.err == "", done
    return done, Path(f"{name}.json").read_bytes(), Path(f"{name}.jsonl").read_bytes()


def apart(command: list[str], of: int) -> list[str]:
    """Every part, by hand."""
    names = [f"part{nth}.json" for nth in range(1, of + 1)]
    for nth, name in enumerate(names, start=1):
        done = run_cli(*command, "--shard", f"{nth}/{of}", "-o", name)
        size = Path(name).stat().st_size
        told = f"part {nth} of {of}: {name}, {size:,} bytes; next: ragworthy merge, once all are there\n"
        assert done == (0, told, "")
    return names


def same_everywhere(command: list[str]) -> dict[str, Any]:
    """The report, once it is known to be the same from one process, two, three, and from three parts."""
    one = scored(command, "one", "--jobs", "1")
    for jobs in ("2", "3"):
        assert scored(command, "more", "--jobs", jobs) == one
    names = apart(command, 3)
    assert scored(["merge", names[2], names[0], names[1]], "merged") == one
    report: dict[str, Any] = json.loads(one[1])
    return report


@pytest.mark.parametrize("suite", SUITES)
def test_the_bytes_are_the_same_from_processes_and_from_parts(suite: str, several: None) -> None:
    report = same_everywhere(made(suite))
    counts = report["suites"][suite]["counts"]
    if suite in ("stability", "latency"):  # runs of other questions are an error there
        assert (counts["duplicate_runs"] > 3, counts["missing"] > 1) == (True, True)
    elif suite == "agreement":  # it counts the ids of orphans, and every trace that a later one replaced
        assert (counts["orphan_traces"], counts["duplicates"], counts["missing"]) == (2, 12, 2)
    else:
        assert (counts["orphan_traces"], counts["duplicate_traces"], counts["missing"]) == (5, 9, 2)


@pytest.mark.data("data/squad2/dev")
@pytest.mark.parametrize("suite", SUITES)
def test_squad_is_the_same_everywhere(suite: str, several: None) -> None:
    report = same_everywhere(["score", *SQUAD[suite](Path())])
    counts = report["suites"][suite]["counts"]
    questions = counts["pairs" if suite == "agreement" else "gold"]
    assert (questions > 200, counts["missing"] > 4, counts["errored"] > 4) == (True, True, True)


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("form", ["gz", "parquet", "folder"])
def test_packed_files_tables_and_folders_too(suite: str, form: str, several: None) -> None:
    command = made(suite)
    path = runs_of(command[1:])
    rows = rows_in(str(path))
    given = {"gz": "logs.jsonl.gz", "parquet": "logs.parquet", "folder": "logs"}[form]
    if form == "gz":
        Path(given).write_bytes(gzip.compress(path.read_bytes()))
    elif form == "parquet":
        parquet.write_table(pa.Table.from_pylist(rows), given, row_group_size=7)
    else:
        Path(given).mkdir()
        for nth in range(5):
            write_jsonl(Path(given) / f"{nth}.jsonl", rows[nth::5])
    same_everywhere([given if word == str(path) else word for word in command])


def test_answers_with_references_constraints_a_corpus_and_several_runs(several: None) -> None:
    command = made("answers")
    gold = rows_in("gold.jsonl")
    for row in gold[::2]:
        if row["answerable"]:
            row["gold_reference"] = f"It is answer {row['qid']}, 5 km away."
            row["gold_evidence"] = [f"It is answer {row['qid']}."]
    write_jsonl(Path("gold.jsonl"), gold)
    write_jsonl(Path("chunks.jsonl"), [{"chunk_id": f"d#{q}", "text": f"It is answer {q}."} for q in c.qids(60)])
    traces = rows_in("runs.jsonl")
    random.Random(1).shuffle(traces)
    write_jsonl(Path("again.jsonl"), traces[5:])
    more = ["--trace", "again.jsonl", "--corpus", "chunks.jsonl", "--refusal-pack", "en"]
    report = same_everywhere([*command, *more])
    assert report["suites"]["answers"]["counts"]["runs"] == 2
    assert "answers.reference_f1" in report["suites"]["answers"]["metrics"]


def test_retrieval_against_the_index_in_use(several: None) -> None:
    command = made("retrieval")
    shutil.copy("runs.jsonl", "live.jsonl")
    rows = rows_in("live.jsonl")
    write_jsonl(Path("live.jsonl"), [row | {"index_hash": f"i{nth // 70}"} for nth, row in enumerate(rows)])
    blocks = [c.BLOCKS[0] | {"chunk_id": f"S.1.p.{q}", "offsets": [n, n + 1]} for n, q in enumerate(c.qids(60))]
    write_jsonl(Path("chunks.jsonl"), blocks)
    same_everywhere([*command, "--live", "live.jsonl", "--corpus", "chunks.jsonl", "--delta-s-model", "ngram"])


# what is wrong with files is said in the same words


@pytest.mark.parametrize("suite", SUITES)
def test_problems_have_their_line_whoever_reads(suite: str, several: None) -> None:
    command = ["score", *broken(MADE[suite](Path()))]
    path = str(runs_of(command[1:]))
    one = run_cli(*command, "--jobs", "1")
    assert one.code == 2
    lines = [line for line in one.err.splitlines() if line.startswith(path)]
    assert sorted({int(line.split(":")[1]) for line in lines}) == list(BROKEN_LINES)
    assert run_cli(*command, "--jobs", "3") == one
    told: list[str] = []
    for nth in (1, 2, 3):
        done = run_cli(*command, "--shard", f"{nth}/3", "-o", f"part{nth}.json")
        told += [line for line in done.err.splitlines() if line.startswith(path)]
        assert Path(f"part{nth}.json").exists() == (done.code == 0)
    assert sorted(told) == sorted(lines)


@pytest.mark.parametrize("suite", ["stability", "latency"])
def test_runs_of_other_questions_have_their_line_whoever_reads(suite: str, several: None) -> None:
    command = ["score", *strange(MADE[suite](Path()))]
    one = run_cli(*command, "--jobs", "1")
    said = 'qid: expected a qid of the gold set, got "zz" [RW-T11]'
    assert (one.code, [line for line in one.err.splitlines() if line.startswith("runs.jsonl")]) == (
        2, [f"runs.jsonl:{line}: {said}" for line in STRANGE_LINES],
    )  # fmt: skip
    assert run_cli(*command, "--jobs", "3") == one


@pytest.mark.parametrize("suite", SUITES)
def test_a_worker_that_is_killed_loses_nothing(suite: str, several: None, monkeypatch: pytest.MonkeyPatch) -> None:
    command = made(suite)
    one = scored(command, "one", "--jobs", "1")
    killed = Path("killed")
    plain = fork._run

    def dying(work: Callable[[int, Any], None], part: int, pipe: Any, parents: list[Any]) -> None:
        if part == 1:
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        plain(work, part, pipe, parents)

    monkeypatch.setattr(fork, "_run", dying)
    assert scored(command, "more", "--jobs", "3") == one
    assert killed.exists()


def test_a_file_that_is_cut_off_is_an_error_everywhere(several: None) -> None:
    command = made("retrieval")
    path = Path("runs.jsonl")
    path.write_bytes(path.read_bytes()[:-20])
    said = [run_cli(*command, "--jobs", jobs) for jobs in ("1", "3")]
    assert said[0] == said[1] and said[0].code == 2 and "[RW-F09]" in said[0].err
    assert run_cli(*command, "--shard", "3/3", "-o", "p.json").err == said[0].err


@pytest.mark.parametrize("jobs", ["1", "3"])
def test_a_corrupt_page_of_a_parquet_file_is_an_error(jobs: str, several: None) -> None:
    command = made("retrieval")
    rows = rows_in("runs.jsonl")
    table = pa.Table.from_pylist(rows)
    parquet.write_table(table, "logs.parquet", row_group_size=7, compression="gzip", use_dictionary=False)
    command = ["logs.parquet" if word == "runs.jsonl" else word for word in command]
    data = bytearray(Path("logs.parquet").read_bytes())
    place = len(data) // 2
    data[place : place + 400] = b"\xff" * 400
    Path("logs.parquet").write_bytes(bytes(data))
    done = run_cli(*command, "--jobs", jobs)
    assert (done.code, done.err.split(":")[0], "[RW-F13]" in done.err) == (2, "logs.parquet", True)


# parts that cannot be merged


def merge(*names: str) -> tuple[int, str]:
    done = run_cli("merge", *names, "-o", "merged.json", "-q")
    assert not Path("merged.json").exists()
    return done.code, done.err.splitlines()[0]


def test_a_part_is_missing_or_there_twice() -> None:
    one, two, three = apart(made("answers"), 3)
    assert merge(one, three) == (2, "expected all 3 parts, got 2: 2 missing [RW-S03]")
    shutil.copy(one, "copy.json")
    assert merge(one, two, three, "copy.json") == (
        2, "copy.json: expected every part once, got part 1 of 3 twice: part1.json too [RW-S03]",
    )  # fmt: skip


def change(name: str, **more: Any) -> str:
    body = json.loads(Path(name).read_text())
    for place, value in more.items():
        inner = body
        *steps, last = place.split("__")
        for step in steps:
            inner = inner[int(step) if isinstance(inner, list) else step]
        inner[int(last) if isinstance(inner, list) else last] = value
    Path("changed.json").write_text(json.dumps(body))
    return "changed.json"


def test_parts_of_other_files_settings_or_versions() -> None:
    command = made("answers")
    one, two, three = apart(command, 3)
    assert run_cli(*command, "--k", "3", "--shard", "2/3", "-o", "other.json").code == 0
    assert merge(one, "other.json", three) == (
        2, "other.json: made.request.settings.ks[0]: expected what part1.json was made from (5), got 3 [RW-S02]",
    )  # fmt: skip
    old = change(two, made__version="0.1.0")
    said = f"changed.json: made.version: expected a part of version {VERSION}, got one of 0.1.0 [RW-S02]"
    assert merge(one, old, three) == (2, said)
    assert run_cli(*command, "--shard", "2/4", "-o", "other.json").code == 0
    assert merge(one, "other.json", three) == (
        2, "other.json: made.of: expected what part1.json was made from (3), got 4 [RW-S02]",
    )  # fmt: skip
    write_jsonl(Path("runs.jsonl"), rows_in("runs.jsonl")[1:])
    assert run_cli(*command, "--shard", "2/3", "-o", "other.json").code == 0
    code, said = merge(one, "other.json", three)
    assert code == 2 and said.startswith(
        "other.json: made.inputs[trace].sha256: expected what part1.json was made from"
    )
    code, said = merge(one, two, three)
    assert code == 2 and said.startswith("expected the inputs that parts were made from, got trace: runs.jsonl changed")
    assert said.endswith("[RW-S04]")
    Path("runs.jsonl").unlink()
    code, said = merge(one, two, three)
    assert code == 2 and "runs.jsonl" in said and said.endswith("[RW-S04]")


WRONG: dict[str, tuple[Callable[[str], str], str]] = {
    "another file": (lambda _: "gold.jsonl", "gold.jsonl: expected a part, got:"),
    "an array": (lambda _: write("[]"), "changed.json: expected a part, got:"),
    "a report": (
        lambda _: write('{\n  "schema": "ragworthy.report/1"}'),
        "changed.json: expected a part, got: a report, which 'score' writes without --shard [RW-S01]",
    ),
    "a schema": (
        lambda n: change(n, made__schema="x/1"),
        'changed.json: made.schema: expected "ragworthy.part/1", got',
    ),
    "a number": (lambda n: change(n, nth=9), "changed.json: nth: expected a number from 1 to 3, got 9 [RW-S01]"),
    "a type": (lambda n: change(n, read__trace=[1]), "changed.json: read.trace"),
    "a row": (lambda n: change(n, read__trace__0=far(n)), "part1.json: expected what parts of one score give"),
    "nothing": (
        lambda n: change(n, read={}),
        "changed.json: read.trace: expected a part, got: expected array, got null",
    ),
}


def far(name: str) -> list[int]:
    """Places in the gold set that are beyond its end."""
    return [10_000 + row for row in json.loads(Path(name).read_text())["read"]["trace"][0]]


def write(text: str) -> str:
    Path("changed.json").write_text(text)
    return "changed.json"


@pytest.mark.parametrize("name", WRONG)
def test_files_that_are_no_parts(name: str) -> None:
    one, two, three = apart(made("answers"), 3)
    make, said = WRONG[name]
    code, told = merge(one, make(two), three)
    assert code == 2 and told.startswith(said) and "[RW-S01]" in told


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--shard", "x", "-o", "p.json"], "--shard: expected I/N, e.g. 1/3, got x"),
        (["--shard", "0/3", "-o", "p.json"], "--shard: expected I from 1 to N, and N up to 10,000, got 0/3"),
        (["--shard", "4/3", "-o", "p.json"], "--shard: expected I from 1 to N, and N up to 10,000, got 4/3"),
        (["--shard", "1/3"], "--shard: expected one -o FILE.json besides it, for the part"),
        (["--shard", "1/3", "-o", "p.md"], "--shard: expected one -o FILE.json besides it, for the part"),
        (["--shard", "1/3", "-o", "p.json", "--rows", "r.jsonl"],
         "--rows: expected nothing besides -o FILE.json for a part: 'merge' writes the rest"),
        (["--shard", "1/3", "-o", "p.json", "--profile", "reference"],
         "--profile: expected the default for a part, got reference"),
        (["--shard", "1/3", "-o", "traces.jsonl.json", "-o", "p.json"],
         "--shard: expected one -o FILE.json besides it, for the part"),
    ],
)  # fmt: skip
def test_what_cannot_be_cut(more: list[str], said: str) -> None:
    done = run_cli(*made("answers"), *more)
    assert (done.code, done.err.splitlines()[0]) == (2, f"{said} [RW-U01]")
    assert not list(Path().glob("p.*"))


def test_a_suite_that_reads_whole_cannot_be_cut() -> None:
    c.pairs(Path())
    done = run_cli("score", "agreement", "--pairs", "pairs.jsonl", "--shard", "1/2", "-o", "p.json")
    said = "agreement: expected a suite whose files can be cut into parts, got one that reads whole [RW-U01]"
    assert (done.code, done.err.splitlines()[0]) == (2, said)


def test_merged_from_another_folder_with_a_receipt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The inputs are found where they are beside the parts, and what is merged verifies like any other score."""
    names = apart(made("structured"), 2)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    done = run_cli("merge", *(f"../{name}" for name in names), "--receipt", "r.json", "--bundle", "b.zip", "-q")
    assert (done.code, done.err) == (4, "")
    assert run_cli("verify", "r.json").code == 0
    assert run_cli("verify", "b.zip").code == 0


def test_small_files_start_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(parts, "workers", never)
    command = made("retrieval")
    assert run_cli(*command, "-q").code == 4
