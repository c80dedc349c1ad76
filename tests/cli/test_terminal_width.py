"""At a terminal every line fits, with a hanging indent; on a pipe each fact stays on one line."""

import os
import pty
import struct
import subprocess
import sys
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ

import pytest

from conftest import run_cli
from ragworthy import starter
from ragworthy.report.show import width_of
from ragworthy.report.wrapped import hanging

COMMANDS = (
    ("explain", "chr"),
    ("explain", "λ"),
    ("explain", "pack", "canary"),
    ("explain", "RW-G06"),
    ("doctor",),
    ("show", "H001"),
    ("gold", "lint", "gold/answers.jsonl"),
    ("score", "answers", "--gold", "nowhere.jsonl", "--trace", "nowhere.jsonl"),
)


def at_terminal(folder: Path, columns: int, *words: str) -> list[str]:
    """What a command shows at a terminal of so many columns."""
    ours, theirs = pty.openpty()
    ioctl(theirs, TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR")}
    command = [sys.executable, "-m", "ragworthy", *words]
    child = subprocess.Popen(
        command, cwd=folder, env={**environment, "TERM": "dumb", "PYTHONUTF8": "1"}, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    told = b""
    while True:
        try:
            piece = os.read(ours, 1 << 16)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        told += piece
    child.wait(timeout=60)
    os.close(ours)
    return told.decode().splitlines()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("terminal")
    starter.init(made)
    return made


@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_lines_fit_the_terminal_and_lose_no_word(
    words: tuple[str, ...], columns: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = at_terminal(folder, columns, *words)
    too_wide = [line for line in shown if width_of(line) > columns and "ragworthy " not in line and " " in line.strip()]
    assert too_wide == [] and len(shown) > 1
    monkeypatch.chdir(folder)
    piped = run_cli(*words)
    plain = " ".join(f"{piped.out} {piped.err}".replace("|", " ").split())
    assert " ".join(" ".join(shown).replace("|", " ").split()) == plain


def test_what_goes_on_is_below_the_text_and_commands_stay_whole() -> None:
    assert hanging("  no   answers.scu: constraints are not checked", 30) == [
        "  no   answers.scu:",
        "       constraints are not",
        "       checked",
    ]
    command = "next: ragworthy gold freeze gold/answers.jsonl --signer 'YOUR NAME' --reason 'first set'"
    assert hanging(command, 40) == [command]
    path = "wrote /a/very/long/path/that/somebody/wants/to/copy/whole.jsonl"
    assert hanging(path, 30) == ["wrote", f"  {path.removeprefix('wrote ')}"]


def test_chinese_text_is_broken_by_columns() -> None:
    lines = hanging("  題目  儲存桶刪除之後名稱要保留多久才能再用", 20)
    assert max(map(width_of, lines)) <= 20
    assert lines[0] == "  題目  儲存桶刪除之"
    assert "".join(line.strip() for line in lines) == "題目  儲存桶刪除之後名稱要保留多久才能再用"
