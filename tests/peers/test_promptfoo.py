"""The page for users of promptfoo: every command on it, where promptfoo is installed."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from example_folders import FOLDER, LEFT, environment
from places import ROOT
from walked_pages import carry_out, commands

BIN = Path(os.environ.get("RAGWORTHY_PROMPTFOO") or ROOT / ".promptfoo/node_modules/.bin")
QUIET = {"PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1", "NODE_NO_WARNINGS": "1"}
"""It sends nothing anywhere, and does not look for a newer version."""


@pytest.mark.skipif(not (BIN / "promptfoo").exists(), reason="SKIPPED: promptfoo is absent: make promptfoo")
def test_every_command_of_the_page_does_what_it_says(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(FOLDER / "from-promptfoo", tmp_path / "from-promptfoo", ignore=LEFT))
    seen = environment(sys.executable, tmp_path / "made") | QUIET
    del seen["COLUMNS"]
    seen |= {"PROMPTFOO_CONFIG_DIR": str(tmp_path / "kept"), "PATH": os.pathsep.join([seen["PATH"], str(BIN)])}
    for command in commands("docs/from-promptfoo.md"):
        carry_out(command, folder, seen)
