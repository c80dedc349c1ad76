"""The front door: the bare command, help, slips of the pen, errors in one line."""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import run_cli
from ragworthy.cli import layout
from ragworthy.cli.arguments import parser
from ragworthy.cli.layout import BEGIN

RAGWORTHY = [sys.executable, "-m", "ragworthy"]


def at(columns: int, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": str(columns), "LINES": "24", "PYTHONUTF8": "1"}
    return subprocess.run([*RAGWORTHY, *words], env=environment, capture_output=True, text=True, check=False)


def leaves(one: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    """Every parser: commands, and groups of commands."""
    return [
        one,
        *(leaf for group in layout.groups_of(one) for child in group.choices.values() for leaf in leaves(child)),
    ]


# the bare command


def test_the_bare_command_says_what_it_is_and_fits_a_terminal() -> None:
    done = at(80)
    assert (done.returncode, done.stderr) == (2, "")  # 0 would be SHIP to a script whose variable is empty
    lines = done.stdout.splitlines()
    assert lines[0].startswith("Ragworthy decides whether a RAG pipeline may ship.")
    assert len(lines) <= 24 and max(map(len, lines)) <= 80
    assert all(any(line.strip().startswith(command) for line in lines) for command, _ in BEGIN)


def test_every_command_is_in_one_group_and_the_bare_command_names_it() -> None:
    (commands,) = layout.groups_of(parser())
    grouped = dict(layout.grouped(commands.choices))
    assert grouped["other"] == ["help", "completion"]
    assert sorted(name for names in grouped.values() for name in names) == sorted(commands.choices)
    printed = at(100).stdout
    for title, names in grouped.items():
        assert f"  {title:<14}" in printed and ", ".join(names) in printed


# help


def test_help_is_what_the_flag_prints() -> None:
    for words in ((), ("gate",), ("score", "answers"), ("index",)):
        assert at(80, "help", *words).stdout == at(80, *words, "--help").stdout
        assert at(80, "help", *words).returncode == 0


def test_help_knows_slips_too() -> None:
    done = at(80, "help", "scroe")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[0] == "ragworthy: there is no command scroe: did you mean score? [RW-U01]"


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_every_help_fits(columns: int) -> None:
    for one in leaves(parser()):
        for line in layout.page(one, columns).splitlines():
            # A single name can be wider than a narrow terminal; what is made of words never is.
            assert len(line) <= columns or " " not in line.strip() or line.lstrip().startswith("-"), (one.prog, line)


def test_every_flag_is_in_one_group() -> None:
    for one in leaves(parser()):
        shown = [action for _, actions in layout.sections(one) for action in actions]
        wanted = [
            action
            for action in one._actions
            if action.help != argparse.SUPPRESS and not isinstance(action, argparse._SubParsersAction)
        ]
        assert sorted(map(id, shown)) == sorted(map(id, wanted)), one.prog


def test_many_flags_are_in_groups_and_few_are_not() -> None:
    answers = layout.page(find("score", "answers"), 80)
    titles = [line[:-1] for line in answers.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert titles == ["inputs", "settings", "gates", "comparison", "output", "history", "plugins", "other"]
    assert "gates:\n  --gates NAME=VALUE …" in answers
    few = layout.page(find("sign"), 80)
    assert "arguments:\n" in few and "options:\n" in few and "inputs:" not in few


def test_every_flag_that_is_put_into_a_group_exists() -> None:
    there = {name.lstrip("-") for one in leaves(parser()) for name in one._option_string_actions}
    assert {flag for flags in layout.SECTIONS.values() for flag in flags} <= there


def find(*words: str) -> argparse.ArgumentParser:
    found = parser()
    for word in words:
        (group,) = layout.groups_of(found)
        found = group.choices[word]
    return found


def test_help_is_quick() -> None:
    """Ten times what it takes on a free machine: this catches an import of something heavy, and no slow machine."""
    begun = time.monotonic()
    assert at(80, "--help").returncode == 0
    assert time.monotonic() - begun < 3


# slips


@pytest.mark.parametrize(
    ("words", "line", "see"),
    [
        ("scroe", "ragworthy: there is no command scroe: did you mean score? [RW-U01]", "ragworthy"),
        ("Gate", "ragworthy: there is no command Gate: did you mean gate? [RW-U01]", "ragworthy"),
        ("poetry", "ragworthy: there is no command poetry [RW-U01]", "ragworthy"),
        ("score anwsers", "ragworthy score: there is no suite anwsers: did you mean answers? [RW-U01]", None),
        ("import ragsa", "ragworthy import: there is no format ragsa: did you mean ragas? [RW-U01]", None),
        ("gold lnit", "ragworthy gold: there is no command lnit: did you mean lint? [RW-U01]", None),
        (
            "gate --selftset",
            "ragworthy gate: there is no flag --selftset: did you mean --selftest? [RW-U01]",
            "ragworthy gate",
        ),
        (
            "gate --format jsn",
            "ragworthy gate: --format: expected one of text, json, compact, markdown, junit, github, gitlab, "
            "got jsn: did you mean json? [RW-U01]",
            "ragworthy gate",
        ),
        (
            "verify r.json --expect SHPI",
            "ragworthy verify: --expect: expected one of SHIP, NO-SHIP, INCONCLUSIVE, INVALID, got SHPI: "
            "did you mean SHIP? [RW-U01]",
            None,
        ),
        (
            "score answers",
            "ragworthy score answers: expected --gold and --trace, got nothing [RW-U01]",
            "ragworthy score answers",
        ),
        (
            "gold",
            "ragworthy gold: expected a command (lint, suggest, subset, freeze, verify, bind, rebind, diff), "
            "got nothing [RW-U01]",
            None,
        ),
        ("gate extra", "ragworthy gate: expected no further argument, got extra [RW-U01]", None),
        ("gate --jobs many", "ragworthy gate: --jobs: expected a number from 1 to 256, got many [RW-U01]", None),
    ],
)
def test_a_slip_is_one_line_and_where_to_look(words: str, line: str, see: str | None) -> None:
    done = at(80, *words.split())
    place = see or " ".join(line.partition(":")[0].split())
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [line, f"  see: {place} --help"]


def test_a_slip_cannot_steer_the_terminal_nor_flood_it() -> None:
    done = at(80, "\x1b[31mscore" + "x" * 5000)
    assert done.returncode == 2
    assert "\x1b" not in done.stderr and len(done.stderr) < 300


def test_help_needs_nothing_but_the_standard_library() -> None:
    code = (
        "import sys, contextlib, io\n"
        "from ragworthy.cli.main import main\n"
        "out = io.StringIO()\n"
        "with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):\n"
        "    main([])\n"
        "    main(['help', 'gate'])\n"
        "    try: main(['scroe'])\n"
        "    except SystemExit: pass\n"
        "roots = {name.partition('.')[0] for name in sys.modules}\n"
        "print(sorted(roots - set(sys.stdlib_module_names) - {'ragworthy', '__main__'}))\n"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    loaded = [name for name in json.loads(done.stdout.replace("'", '"')) if not name.startswith("_")]
    assert loaded == []


# completion


@pytest.mark.parametrize("shell", ["fish", "powershell"])
def test_more_shells_complete(shell: str, tmp_path: Path) -> None:
    done = run_cli("completion", shell)
    assert done.code == 0 and "selftest" in done.out
