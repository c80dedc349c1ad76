"""docs/gallery.md: every command on it, on the real data that it is about."""

import re
import shutil
import sys
from pathlib import Path

import pytest

from example_folders import FOLDER, LEFT, environment
from places import DATA, ROOT
from walked_pages import carry_out, commands

PAGE = "docs/gallery.md"
LINES = 25
"""What an example may take on the page, without its picture."""


@pytest.mark.data
def test_every_command_of_the_gallery_does_what_it_says(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(FOLDER / "gallery", tmp_path / "gallery", ignore=LEFT))
    seen = environment(sys.executable, tmp_path / "made") | {"DATA": str(DATA), "COLUMNS": "100"}
    for command in commands(PAGE):
        carry_out(command, folder, seen)


def test_every_example_of_the_gallery_is_short_and_ends_with_what_one_learns() -> None:
    parts = re.split(r"^## .+\n", (ROOT / PAGE).read_text(encoding="utf-8"), flags=re.M)[1:]
    assert len(parts) == 6
    for part in parts:
        told = [line for line in part.splitlines() if line and not line.startswith("![")]
        assert len(told) <= LINES, part
        assert re.search(r"^\*\*(SHIP|NO-SHIP|INCONCLUSIVE|INVALID)\.\*\* ", part, re.M), part
