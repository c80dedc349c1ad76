"""docs/sources.md: every line of the sources has a status, a command that shows it or a reason, and its own words.

The page is written from docs/sources/*.toml, and that is what is looked at here; tests/cli/test_docs.py proves that
the page is what these files say.
"""

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from conftest import run_cli
from joined_commands import carried_out
from places import ROOT, SHARED
from ragworthy.policy.packs import load_pack, pack_names, rules_of

Row = dict[str, Any]
FILES = sorted((ROOT / "docs/sources").glob("*.toml"))
SEEDS = {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in FILES}
BASH = shutil.which("bash") or ""
AND = " && "


def rows_of(seed: str) -> list[tuple[str, Row]]:
    """The lines of a source with their numbers on the page."""
    found = [row for part in SEEDS[seed]["part"] for row in part["row"]]
    return [(f"{SEEDS[seed]['name']}-{number:02d}", row) for number, row in enumerate(found, 1)]


ALL = [(seed, number, row) for seed in SEEDS for number, row in rows_of(seed)]


@pytest.mark.parametrize(("seed", "number", "row"), ALL, ids=[number for _, number, _ in ALL])
def test_a_line_has_a_status_and_a_command_or_a_reason(seed: str, number: str, row: Row) -> None:
    status = row.get("status", "works")
    assert status in ("works", "deviates"), status
    assert set(row) <= {"says", "status", "does", "why", "run", "exit", "shows", "page"}
    assert row["says"].strip()
    assert "page" in row
    if status == "works":
        assert row["run"] and row["shows"] and row["does"] and "why" not in row
    else:
        assert len(row["why"]) > 40


class Ran(NamedTuple):
    code: int
    out: str


def environment() -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GITHUB_")}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return kept | {"PATH": path, "PYTHONUTF8": "1", "LC_ALL": "C", "RAGWORTHY_STORE": "off"}


def in_shell(command: str, folder: Path) -> Ran:
    done = subprocess.run(
        [BASH, "-c", command],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=120,
    )
    return Ran(done.returncode, done.stdout)


def in_process(command: str, folder: Path) -> Ran:
    with contextlib.chdir(folder):
        done = run_cli(*shlex.split(command)[1:])
    return Ran(done.code, done.out + done.err)


def plain(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.skipif(not BASH, reason="needs bash")
@pytest.mark.parametrize("seed", SEEDS)
def test_commands_end_and_print_as_the_page_says(seed: str, tmp_path: Path) -> None:
    """In one folder, in the order of the page; a command that the page has twice is run once."""
    if setup := SEEDS[seed].get("setup"):
        done = in_shell(f"set -e\n{setup}", tmp_path)
        assert done.code == 0, done.out
    ran: dict[str, Ran] = {}
    wrong = []
    for number, row in rows_of(seed):
        if "run" not in row:
            continue
        command = row["run"]
        if command not in ran:
            here, shell = (partial(one, folder=tmp_path) for one in (in_process, in_shell))
            ran[command] = Ran(*carried_out(command, here, shell))
        code, out = ran[command]
        shown = row.get("shows", [])
        texts = [shown] if isinstance(shown, str) else shown
        absent = [text for text in texts if plain(text) not in plain(out)]
        if code != row.get("exit", 0) or absent:
            wrong.append(f"{number}: $ {command}\nexit {code}, not shown: {absent}\n{out}")
    assert not wrong, f"{len(wrong)} lines\n" + "\n\n".join(wrong)


@pytest.mark.parametrize("name", pack_names())
def test_every_gate_pack_has_a_line_with_its_rules_that_passes_one_run_and_fails_another(name: str) -> None:
    (row,) = [row for _, row in rows_of("packs") if f"The pack `{name}`." in row["does"]]
    pack = load_pack(name)
    if name != "regression":  # its rules are of every suite
        assert row["says"] == ", ".join(rules_of(pack))
    assert pack.source in row["does"]
    passing, failing = row["run"].split(AND)
    for command in (passing, failing):
        assert f" --pack {name} --no-default-gates -q" in command
    assert row["exit"] == 1
    assert row["shows"] == ["verdict: SHIP (exit 0)", "verdict: NO-SHIP (exit 1)"]


def test_the_page_counts_what_is_there() -> None:
    page = (ROOT / "docs/sources.md").read_text(encoding="utf-8")
    total: Counter[str] = Counter()
    for seed in SEEDS.values():
        found = Counter(row.get("status", "works") for part in seed["part"] for row in part["row"])
        total += found
        numbers = [sum(found.values()), found["works"], found["deviates"]]
        assert f": {seed['file']} | {' | '.join(map(str, numbers))} |" in page
    numbers = [sum(total.values()), total["works"], total["deviates"]]
    assert f"| all | {' | '.join(map(str, numbers))} |" in page
    assert page.count("| **WORKS** ") == total["works"]


def test_the_page_says_how_many_packages_are_declared() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    page = (ROOT / "docs/sources.md").read_text(encoding="utf-8")
    assert page.count(f" {len(declared)} packages are declared") == page.count("packages are declared") == 2


def test_code_on_the_page_stands_as_it_is_typed() -> None:
    page = (ROOT / "docs/sources.md").read_text(encoding="utf-8")
    assert [code for code in re.findall(r"`[^`\n]*`", page) if "&lt;" in code] == []
    assert "`question_v2@<sha1>`" in page and "short &lt; 50" in page  # only text outside of code is escaped


# against the sources themselves

READ = {name: seed["file"].split(", ") for name, seed in SEEDS.items() if seed["file"].startswith("seed")}
ENDS = "Quick-Start Downloads"
"""From here on a source advertises itself; one line of the page speaks for it."""

LEAD = re.compile(r"\s*(?:#.*|---.*|\*\*[^*]+\*\*:?|[\w ()'-]{1,40}[:：]|Let)\s*$")
"""Headings, rules, and what only leads to the next line."""


def bare(text: str) -> str:
    """Text without the marks of Markdown, with single spaces."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return plain(re.sub(r"[*`\\_>]|^#+ |^\s*(?:\d+\.|\d\)|[-•]) ", " ", text, flags=re.M)).replace(" ", "")


def units(text: str) -> list[str]:
    """What a source says: its lines, and each block of code as one; without headings and rules."""
    found: list[str] = []
    for nth, piece in enumerate(re.split(r"^`{3,}\w*$", text.partition(ENDS)[0], flags=re.M)):
        lines = [piece] if nth % 2 else [line for line in piece.splitlines() if not LEAD.match(line)]
        found += [bare(line) for line in lines if re.search(r"\w", line)]
    return found


def quoted(seed: str) -> list[str]:
    """The pieces that the page quotes of a source; an ellipsis is between two."""
    return [bare(piece) for _, row in rows_of(seed) for piece in row["says"].split("…") if piece.strip()]


@pytest.mark.data("seeds")
@pytest.mark.parametrize("seed", READ)
def test_every_quotation_is_in_the_source(seed: str) -> None:
    for name in READ[seed]:
        text = bare((SHARED / "seeds" / name).read_text(encoding="utf-8"))
        assert [piece for piece in quoted(seed) if piece not in text] == [], name


@pytest.mark.data("seeds")
@pytest.mark.parametrize("seed", READ)
def test_every_line_of_the_source_is_on_the_page(seed: str) -> None:
    text = (SHARED / "seeds" / READ[seed][-1]).read_text(encoding="utf-8")
    pieces = [piece for piece in quoted(seed) if len(piece) > 5]
    assert [unit for unit in units(text) if not any(piece in unit or unit in piece for piece in pieces)] == []
