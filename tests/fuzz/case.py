"""A case: which sound files, which edits, which commands, and what is asked of the ending. All of it is plain JSON."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

Edit = dict[str, Any]

ALLOWED = (0, 1, 2, 3, 4)
"""The exit codes that commands have; 70 is a defect."""


class Case(NamedTuple):
    """One case; `garbage` asks that nothing ships."""

    kind: str
    scenario: str
    commands: list[list[str]]
    edits: list[Edit]
    garbage: bool = False
    expect: Sequence[int] = ALLOWED
    never: Sequence[str] = ()
    """Texts that must not be in what is printed."""
    wrong: str = ""
    """What was wrong when the case was kept."""
    about: str = ""
    """What should happen, for people who read a kept case."""

    def text(self) -> str:
        """The case as a JSON file."""
        return json.dumps(self._asdict(), indent=1, ensure_ascii=True) + "\n"


def from_json(body: dict[str, Any]) -> Case:
    """A case out of its JSON."""
    return Case(**body)


def load(path: Path) -> Case:
    """A kept case."""
    return from_json(json.loads(path.read_text(encoding="utf-8")))
