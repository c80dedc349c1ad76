"""The short report: what fits a terminal of 24 lines, in its width, its colours and its signs."""

import io
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import run_cli, write_jsonl
from ragworthy import starter
from ragworthy.cli.main import main
from ragworthy.report.screen import Said, Screen
from ragworthy.report.show import width_of

LAST = "verdict: NO-SHIP (exit 1): precision 0.625 < 0.80, chr 0.625 < 0.75"


@pytest.fixture(autouse=True)
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example of `init`, which cites ids of another form."""
    monkeypatch.chdir(tmp_path)
    laid = starter.init(tmp_path)
    traces = laid.traces[0].read_text(encoding="utf-8")
    laid.traces[0].write_text(traces.replace('"citations": ["buckets#', '"citations": ["bucket-'), encoding="utf-8")


@pytest.mark.parametrize("columns", [80, 120])
def test_a_run_that_may_not_ship_fits_24_lines(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = run_cli("gate").out.splitlines()
    assert len(lines) <= 24
    assert max(map(width_of, lines)) <= columns
    assert lines[0] == "NO-SHIP: 2 of 5 gates fail"
    assert "  ✗  precision      0.625  5/8  ≥ 0.80  what we ship must be right and cited" in lines
    assert [line[2:6] for line in lines if "OUT_OF_SCOPE: " in line] == ["H001", "H002", "H011"]
    assert "  H001  OUT_OF_SCOPE: cites an id that was not retrieved: bucket-2" in lines
    assert "Too few cases to prove 4 of 5 gates; 12 questions: a release needs at least 30" in lines
    assert lines[-2:] == ["7 notes: --full; wrote .ragworthy/receipt.json, .ragworthy/report.html", LAST]


def test_a_run_that_ships_fits_24_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "good").mkdir()
    starter.init(tmp_path / "good")
    lines = run_cli("gate", "-c", "good/ragworthy.toml").out.splitlines()
    assert len(lines) <= 24
    assert max(map(width_of, lines)) <= 80
    assert (lines[0], lines[-1]) == ("SHIP: all 5 gates hold", "verdict: SHIP (exit 0)")


def test_quiet_prints_the_last_line_and_full_has_every_number() -> None:
    assert run_cli("gate", "-q").out == f"{LAST}\n"
    full = run_cli("gate", "--full", "-o", "r.txt").out
    assert full == Path("r.txt").read_text(encoding="utf-8")
    assert full.splitlines()[-1] == LAST
    assert "  answers.containment    1.0    8/8    0.441 … 1.000\n" in full
    assert "What this evidence cannot show\n" in full


@pytest.mark.parametrize("columns", ["40", "60", "80"])
def test_the_whole_report_fits_the_terminal_too(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run_cli("gate", "--full").out
    monkeypatch.setenv("COLUMNS", columns)
    narrow = run_cli("gate", "--full").out
    assert max(map(width_of, narrow.splitlines())) <= int(columns)
    assert ("margin" in whole, "margin" in narrow.partition("Worst")[0].partition("\n\n")[2][:200]) == (True, False)
    for word in ("0.076 … 0.971 (deff", "webhooks#2,", "RW-W82", "write ids in one form"):
        assert word in whole
        assert " ".join(word.split()) in " ".join(narrow.split())


def test_a_width_that_is_none_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = run_cli("gate").out
    for columns in ("0", "-3", "wide", ""):
        monkeypatch.setenv("COLUMNS", columns)
        assert run_cli("gate").out == usual
    assert 80 < max(map(width_of, usual.splitlines())) <= 100


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("on_terminal", "set_to", "flags", "coloured"),
    [
        (True, {}, [], True),
        (True, {"TERM": "dumb"}, [], False),
        (True, {"NO_COLOR": "1"}, [], False),
        (True, {"NO_COLOR": ""}, [], True),
        (True, {"FORCE_COLOR": "0"}, [], False),
        (False, {}, [], False),
        (False, {"FORCE_COLOR": "1"}, [], True),
        (False, {"FORCE_COLOR": "1", "TERM": "dumb"}, [], True),
        (False, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, [], False),
        (True, {"FORCE_COLOR": "1"}, ["--no-color"], False),
    ],
)
def test_colours_where_they_are_wanted(
    on_terminal: bool, set_to: dict[str, str], flags: list[str], coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for name, value in set_to.items():
        monkeypatch.setenv(name, value)
    for form in ([], ["--full"], ["-q"]):
        out = Terminal() if on_terminal else io.StringIO()
        monkeypatch.setattr(sys, "stdout", out)
        assert main(["gate", *form, *flags]) == 1
        shown = out.getvalue()
        assert ("verdict: \x1b[1;31mNO-SHIP\x1b[0m (exit 1)" in shown) is coloured
        assert ("\x1b" in shown) is coloured
        assert re.sub(r"\x1b\[[\d;]*m", "", shown).splitlines()[-1] == LAST


def test_signs_that_a_stream_cannot_take_are_spelled() -> None:
    def printed(encoding: str) -> bytes:
        environment = {"PYTHONIOENCODING": encoding, "COLUMNS": "80", "RAGWORTHY_STORE": "off"}
        command = [sys.executable, "-m", "ragworthy", "gate"]
        return subprocess.run(command, env=environment, capture_output=True, check=False, timeout=60).stdout

    plain = printed("ascii").decode("ascii")
    assert "  x   precision      0.625  5/8  >= 0.80  what we ship must be right and cited\n" in plain
    assert "  ok  under_refusal  0.0    0/4  <= 0.05  no answer where the corpus has none\n" in plain
    assert "\\u" not in plain
    assert max(map(len, plain.splitlines())) <= 80
    assert "  ✗  precision" in printed("utf-8").decode()
    assert printed("latin-1").decode("latin-1") == plain


def test_chinese_questions_keep_columns_and_are_cut_by_width(monkeypatch: pytest.MonkeyPatch) -> None:
    gold = [{"qid": f"人事-{nth}", "question": "请假制度由哪个部门负责？" * 6, "answerable": True,
             "gold_claim_substr": ["人事部门负责"], "gold_citations": ["制度#1"]} for nth in range(4)]  # fmt: skip
    traces = [{"qid": one["qid"], "retrieved_ids": ["制度#1"],
               "answer_json": {"claim": "财务部门", "citations": ["制度#1"]}} for one in gold]  # fmt: skip
    write_jsonl(Path("zh.jsonl"), gold)
    write_jsonl(Path("zh_traces.jsonl"), traces)
    monkeypatch.setenv("COLUMNS", "60")
    command = ("score", "answers", "--gold", "zh.jsonl", "--trace", "zh_traces.jsonl")
    short = run_cli(*command).out
    assert "  人事-0  ANS_NO_CONTAIN: " in short
    assert any(line.lstrip().startswith("请假制度") and line.endswith("…") for line in short.splitlines())
    for shown in (short, run_cli(*command, "--full").out):
        prose = [line for line in shown.splitlines() if "ragworthy show" not in line]  # commands are not broken
        assert max(map(width_of, prose)) <= 60


def test_a_gate_that_compares_shows_what_was_and_what_is() -> None:
    shutil.copytree("runs", "before")
    starter_traces = Path("before/latest/traces.jsonl")
    starter_traces.write_text(starter_traces.read_text().replace('"bucket-', '"buckets#'))
    command = ["score", "answers", "--gold", "gold/answers.jsonl", "--short-substr", "word"]
    assert run_cli(*command, "--trace", str(starter_traces), "-q", "-o", "was.json").code == 0
    Path("gates.toml").write_text('[[gate]]\nmetric = "answers.precision"\nmax_drop = 0.02\nevidence = "point"\n')
    done = run_cli(*command, "--trace", "runs/latest/traces.jsonl", "--baseline", "was.json",
                   "--gates", "gates.toml", "--no-default-gates")  # fmt: skip
    assert "  ✗  precision  1.0 → 0.625  5/8  drop ≤ 0.02" in done.out
    assert done.out.splitlines()[-1] == "verdict: NO-SHIP (exit 1): precision 1.0 → 0.625 (drop ≤ 0.02)"


def test_a_table_that_does_not_fit_gives_way_in_order() -> None:
    header = ("gate", "value", "margin")
    rows = [("cran-401.md|s=1|p=000|b=001f", "0.5", "+0.1")]
    assert Screen(46).table(header, rows, drop=("margin",))[1] == "  cran-401.md|s=1|p=000|b=001f  0.5    +0.1"
    assert Screen(38).table(header, rows, drop=("margin",))[1] == "  cran-401.md|s=1|p=000|b=001f  0.5"
    assert Screen(30).table(header, rows, drop=("margin",))[1] == "  cran-401.m…000|b=001f  0.5"
    wide = Screen(40).table(("id", *"abcdef"), [("x", *["123456789"] * 6)])
    assert wide == [
        "  id  a          b          c",
        "  x   123456789  123456789  123456789",
        "",
        "  id  d          e          f",
        "  x   123456789  123456789  123456789",
    ]


def test_texts_behind_rows_go_below_where_there_is_no_room() -> None:
    rows = [
        Said(("✗", "answers.precision", "0.5"), "what we ship must be right", 2),
        Said(("✓", "chr", "1.0"), "so", 1),
    ]
    assert Screen(40).rows(rows) == [
        "  ✗  answers.precision  0.5",
        "     what we ship must be right",
        "  ✓  chr                1.0",
    ]
