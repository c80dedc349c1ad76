"""The pages for users of ragas and DeepEval: every command on them, in an environment that has both tools."""

from pathlib import Path

import pytest

from peers_python import copied
from walked_pages import carry_out, commands


@pytest.mark.parametrize("name", ["from-deepeval", "from-ragas"])
def test_every_command_of_the_page_does_what_it_says(name: str, tmp_path: Path) -> None:
    folder, seen = copied(name, tmp_path)
    for command in commands(f"docs/{name}.md"):
        carry_out(command, folder, seen)
