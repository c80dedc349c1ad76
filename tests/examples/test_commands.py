"""Every example: the commands of its README.md, carried out in a copy, print and write what the folder says."""

from pathlib import Path

import pytest

from example_folders import NAMES, check


@pytest.mark.parametrize("name", NAMES)
def test_the_commands_give_the_report(name: str, tmp_path: Path) -> None:
    check(name, tmp_path)
