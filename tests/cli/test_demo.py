"""The demo: four short acts, each of which is what it says, and the page to open."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import run_cli

RAGWORTHY = [sys.executable, "-m", "ragworthy"]
TITLES = [
    "1  A release that ships",
    "2  The same with a defect planted",
    "3  A new index against the one in use",
    "4  The report to open",
]


def played(folder: Path, *flags: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": "80", "PYTHONUTF8": "1"} | variables
    command = [*RAGWORTHY, "demo", "--out", str(folder), *flags]
    return subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", timeout=300, check=False)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """The demo as somebody runs it first, in a folder with a short name."""
    folder = tmp_path_factory.mktemp("d")
    done = subprocess.run(
        [*RAGWORTHY, "demo"],
        cwd=folder,
        env={**os.environ, "COLUMNS": "80", "PYTHONUTF8": "1"},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    return folder / "demo-out", done


Whole = tuple[Path, subprocess.CompletedProcess[str]]


def verdict_of(folder: Path, name: str) -> str:
    return str(json.loads((folder / f"{name}.report.json").read_text(encoding="utf-8"))["verdict"])


def test_the_demo_is_four_acts_in_sixty_lines(whole: Whole) -> None:
    _, done = whole
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert len(lines) <= 60 and max(map(len, lines)) <= 80
    assert [line for line in lines if re.match(r"\d  ", line)] == TITLES
    assert [line.partition(":")[0] for line in lines if re.match("(NO-)?SHIP", line)] == ["SHIP", "NO-SHIP", "SHIP"]


def test_the_last_line_is_the_path_of_a_page_that_opens(whole: Whole) -> None:
    folder, done = whole
    assert done.stdout.splitlines()[-1] == "demo-out/defect.report.html"
    page = (folder / "defect.report.html").read_text(encoding="utf-8")
    assert page.lower().startswith("<!doctype html>") and "NO-SHIP" in page and "H023" in page
    assert not re.search(r"(?:src|href)=[\"']https?://", page)


def test_each_act_is_what_it_says(whole: Whole) -> None:
    folder, done = whole
    assert {name: verdict_of(folder, name) for name in ("candidate", "defect", "shadow")} == {
        "candidate": "SHIP",
        "defect": "NO-SHIP",
        "shadow": "SHIP",
    }
    for name in ("candidate", "defect", "shadow"):
        for suffix in ("html", "md", "json", "xml"):
            assert (folder / f"{name}.report.{suffix}").is_file()
    right = [json.loads(line) for line in (folder / "runs/candidate.jsonl").read_text().splitlines()]
    wrong = [json.loads(line) for line in (folder / "runs/defect.jsonl").read_text().splitlines()]
    differ = [(one, other) for one, other in zip(right, wrong, strict=True) if one != other]
    known = {json.loads(line)["chunk_id"] for line in (folder / "chunks.jsonl").read_text().splitlines()}
    assert f"every third, {len(differ)} of them, cites the chunk" in " ".join(done.stdout.split())
    for one, other in differ:
        assert one["answer_json"]["claim"] == other["answer_json"]["claim"]
        assert set(other["answer_json"]["citations"]) <= known


def test_the_commands_that_it_offers_work(whole: Whole) -> None:
    folder, done = whole
    offered = re.findall(r"^next: ragworthy (.+)$", done.stdout, re.M)
    assert [words.split()[0] for words in offered] == ["show", "verify"]
    ends = {1: "(exit 1)", 0: "re-derives byte for byte from 5 inputs (exit 0)"}  # show: the question is not right
    for words, (code, ending) in zip(offered, ends.items(), strict=True):
        command = [*RAGWORTHY, *words.split()]
        told = subprocess.run(command, cwd=folder.parent, capture_output=True, encoding="utf-8", check=False)
        assert told.returncode == code and told.stdout.rstrip("\n").endswith(ending), told
    qid = offered[0].split()[1]
    assert f"\n{qid}  OUT_OF_SCOPE: cites an id that was not retrieved\n" in done.stdout


def test_quiet_prints_only_the_path(tmp_path: Path) -> None:
    done = played(tmp_path / "d", "-q", "--recorded")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{tmp_path / 'd/defect.report.html'}\n", "")
    assert not (tmp_path / "d/index").exists()


def test_the_same_bytes_again(tmp_path: Path) -> None:
    first, second = played(tmp_path / "a", "--recorded"), played(tmp_path / "b", "--recorded")
    assert first.stdout.replace(str(tmp_path / "a"), "") == second.stdout.replace(str(tmp_path / "b"), "")
    files = {path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*") if path.is_file()}
    assert files == {path.relative_to(tmp_path / "b") for path in (tmp_path / "b").rglob("*") if path.is_file()}
    named = (Path("defect.report.json"), Path("defect.report.html"), Path("candidate.receipt.json"))
    for path in named:
        one = (tmp_path / "a" / path).read_text(encoding="utf-8").replace(str(tmp_path / "a"), "")
        assert one == (tmp_path / "b" / path).read_text(encoding="utf-8").replace(str(tmp_path / "b"), ""), path


def test_colours_as_in_every_other_output(tmp_path: Path) -> None:
    plain = played(tmp_path / "d", "--recorded").stdout
    coloured = played(tmp_path / "d", "--recorded", FORCE_COLOR="1").stdout
    assert "\x1b" not in plain and "\x1b[1;31mNO-SHIP" in coloured and "\x1b[1;32mSHIP" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == plain
    assert played(tmp_path / "d", "--recorded", "--no-color", FORCE_COLOR="1").stdout == plain


def test_progress_on_a_terminal_where_it_takes_long(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": "80"}
    command = [*RAGWORTHY, "demo", "--out", str(tmp_path / "d")]
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=theirs, check=True, timeout=300)
    os.close(theirs)
    seen = os.read(ours, 65536).decode()
    os.close(ours)
    for step in ("building the live index", "building the shadow index", "asking the shadow index", "comparing both"):
        assert f"\r{step}\x1b[K" in seen
    assert seen.endswith("\r\x1b[K")


def test_all_drives_the_pipeline_too(tmp_path: Path) -> None:
    done = played(tmp_path / "d", "--all")
    assert (done.returncode, done.stderr) == (0, "")
    titles = [line for line in done.stdout.splitlines() if re.match(r"\d  ", line)]
    assert titles == [*TITLES[:3], "4  The pipeline itself", "5  The report to open"]
    report = json.loads((tmp_path / "d/pipeline.report.json").read_text())
    assert report["verdict"] == "NO-SHIP"
    assert list(report["suites"]) == ["answers", "retrieval", "stability", "latency"]
    assert not [gate for gate in report["gates"] if gate["outcome"] == "not_measured"]
    assert report["suites"]["latency"]["counts"]["errored"] == 0
    for suffix, start in (("svg", b"<svg"), ("png", b"\x89PNG")):
        assert (tmp_path / f"d/latency.{suffix}").read_bytes().startswith(start)
    assert run_cli("verify", tmp_path / "d/pipeline.receipt.json").code == 0


def test_recorded_and_all_do_not_go_together(tmp_path: Path) -> None:
    done = played(tmp_path / "d", "--all", "--recorded")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[0] == ("ragworthy demo: --recorded: not allowed with argument --all [RW-U01]")


def test_a_second_demo_takes_away_only_the_runs_of_the_first(tmp_path: Path) -> None:
    from ragworthy.demo.pipeline import clear

    for name, file in (("live", "journal.jsonl"), ("latency", "journal.jsonl"), ("shadow", "mine.txt"), ("x", "y")):
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / file).write_text("")
    clear(tmp_path)
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["shadow", "x"]
