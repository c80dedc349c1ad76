"""What `make bench` writes: its arithmetic, its page and charts, and that the page that was committed is one of its."""

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from places import ROOT

FOLDER = ROOT / "benchmarks"


@pytest.fixture(scope="module")
def runner() -> Iterator[Any]:
    sys.path.insert(0, str(FOLDER))
    import runner as module

    yield module
    sys.path.remove(str(FOLDER))


def line(runner: Any, side: str, seconds: float, processor: float, size: int = 100) -> Any:
    return runner.Line(side, size, runner.Ran(seconds, processor, 50.0, ""))


def test_growth_is_the_exponent_between_two_sizes(runner: Any) -> None:
    assert runner.exponent((10, 2.0), (100, 20.0)) == 1.0
    assert runner.exponent((10, 2.0), (100, 200.0)) == 2.0


def test_numbers_agree_or_the_table_says_by_how_much_they_do_not(runner: Any) -> None:
    assert runner.furthest({"a": 0.1 + 0.2}, {"a": 0.3}) == "same"
    assert runner.furthest({"a": 1.0, "b": 2.0}, {"a": 1.5, "b": 2.0}) == "differs by 5.0e-01"
    assert runner.furthest({"a": 1.0}, {"b": 1.0}) == "not the same numbers"


def test_others_are_compared_with_ours_of_the_same_size(runner: Any) -> None:
    ours, small = line(runner, "ragworthy", 2.0, 4.0), line(runner, "ragworthy, few", 1.0, 1.0, 10)
    other, few = line(runner, "x", 8.0, 8.0), line(runner, "y", 3.0, 2.0, 10)
    lines = (ours, other, small, few)
    assert runner.ratios(other, lines) == (4.0, 2.0)
    assert runner.ratios(few, lines) == (3.0, 2.0)
    assert runner.ratios(small, lines) is None
    assert runner.ratios(line(runner, "z", 1.0, 1.0, 7), lines) is None


def test_the_chart_takes_the_clock_on_a_quiet_machine_only(runner: Any) -> None:
    lines = (line(runner, "ragworthy", 2.0, 4.0), line(runner, "x <y>", 8.0, 8.0), line(runner, "floor: z", 1.0, 1.0))
    subjects = [runner.Subject("Answers", "", "questions", lines)]
    quiet, busy = (runner.speed_chart(subjects, quiet=one) for one in (True, False))
    assert "4.0 ×" in quiet and "by the clock" in quiet
    assert "2.0 ×" in busy and "busy machine" in busy
    assert "floor" not in quiet
    texts = [one.text for one in ET.fromstring(quiet).iter() if one.tag.endswith("text")]
    assert "Answers: x <y>" in texts


def test_a_run_writes_the_page_and_the_charts(tmp_path: Path) -> None:
    words = ("--scale", "0.001", "--times", "1", "--only", "4", "9", "11", "--peers", "none", "--out", str(tmp_path))
    subprocess.run([sys.executable, FOLDER / "whole.py", *words], check=True, capture_output=True, timeout=300)
    page = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (.*)$", page, re.M) == ["Stability", "Cold start", "Installed size"]
    assert "**Inputs were scaled by 0.001.**" in page
    assert "Not measured: ragas: make peers." in page
    (packages,) = re.findall(r"^\| ragworthy \| (\d+) \| \d+ \|$", page, re.M)
    assert int(packages) == 6
    assert (tmp_path / "bench-speed.svg").exists() and (tmp_path / "bench-size.svg").exists()


def test_the_charts_show_what_the_page_says() -> None:
    page = (FOLDER / "RESULTS.md").read_text(encoding="utf-8")
    for name in ("speed", "size"):
        tree = ET.parse(ROOT / f"docs/bench-{name}.svg")
        texts = [one.text or "" for one in tree.iter() if one.tag.endswith("text")]
        for text in texts[2::2]:  # after the title, names and values take turns
            number, _, packages = text.replace(" ×", "").replace(" packages", "").partition(" MB, ")
            assert (f"| {packages} | {number} |" if packages else f"| {number} |") in page, text


def test_the_page_has_every_subject() -> None:
    page = (FOLDER / "RESULTS.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (.*)$", page, re.M) == [
        "Answers",
        "Retrieval from TREC files",
        "Retrieval from JSONL",
        "Structured answers",
        "Stability",
        "ΔS",
        "Building an index",
        "Searching",
        "HTML report",
        "Monitor replay",
        "Cold start",
        "Imports",
        "Installed size",
    ]
