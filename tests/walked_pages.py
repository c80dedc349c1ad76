"""Pages whose commands need more than the tests have by themselves: walked block by block, in one folder."""

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from example_folders import shown_in
from places import ROOT

ELSEWHERE = (
    "docs/from-deepeval.md",
    "docs/from-promptfoo.md",
    "docs/gallery.md",
    "docs/from-ragas.md",
    "docs/real-model.md",
)
"""The pages that `walk` is for; tests/cli/test_docs.py leaves their console blocks alone."""


class Command(NamedTuple):
    """A command of a page, the lines that it is said to print, and the exit code that it is said to have."""

    text: str
    expected: list[str]
    code: int


def commands(page: str) -> list[Command]:
    """Every command of a page; each console block is marked `<!-- run: exit N -->`, the code of its last command."""
    text = (ROOT / page).read_text(encoding="utf-8")
    marked = re.findall(r"^<!-- run: exit (\d+) -->\n```console\n(.*?)^```$", text, re.M | re.S)
    assert len(marked) == text.count("```console\n"), f"{page}: a console block without <!-- run: exit N -->"
    found: list[Command] = []
    for code, block in marked:
        first = len(found)
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append(Command(line[2:], [], 0))
            else:
                found[-1].expected.append(line)
        assert len(found) > first, page
        found[-1] = found[-1]._replace(code=int(code))
    return found


_SERVERS = ("CI", "BUILD_NUMBER")
"""Where these are set, pytest does not shorten its lines; pages show what a person sees."""


def carry_out(command: Command, folder: Path, environment: Mapping[str, str], seconds: int = 300) -> str:
    """Run one command of a page in a folder; it ends and prints as the page says. Gives what it printed."""
    done = subprocess.run(
        ["bash", "-c", command.text],
        cwd=folder,
        env={key: value for key, value in environment.items() if key not in _SERVERS},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=seconds,
    )
    assert done.returncode == command.code, f"exit {done.returncode}: $ {command.text}\n{done.stdout}"
    assert shown_in(command.expected, done.stdout), f"$ {command.text}\n{done.stdout}"
    return done.stdout
