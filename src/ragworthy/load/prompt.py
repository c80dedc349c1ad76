"""Prompt files of structured answers: what a model is told, its hash and its version.

The hash is that of the whole file. What goes to the model is the file without its head: front matter between `---`, or
comment lines at its top, which say the version and are not meant for a model.
"""

import hashlib
import re
from pathlib import Path
from typing import NamedTuple

from ragworthy.errors import data_error
from ragworthy.files import read_bytes
from ragworthy.load.definition import BUNDLED
from ragworthy.text import clip, visible

LARGEST = 1 << 20
"""So many bytes a prompt may have: it is sent with every question."""
_VERSION = re.compile(r"^\W*(?:prompt[_-]?)?version\s*[:=]\s*[\"']?([^\s\"'>]+)", re.IGNORECASE | re.MULTILINE)
_FRONT = re.compile(r"\A---[ \t]*\r?\n(.*?)(?:\r?\n)?^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"\A\s*<!--(.*?)-->[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_LINE = re.compile(r"\A\s*(?:#|//)?[ \t]*((?:prompt[_-]?)?version[ \t]*[:=][^\n]*)(?:\n|\Z)", re.IGNORECASE)


class Prompt(NamedTuple):
    """A prompt as it is sent, and what provenance says of it."""

    path: str
    text: str
    """What the model is told: the file without its head."""
    sha256: str
    """The hash of the whole file."""
    version: str

    @property
    def effective_sha256(self) -> str:
        """The hash of what is sent."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def told(self) -> dict[str, str]:
        """What an output says of it."""
        return {
            "prompt_sha256": self.sha256,
            "prompt_version": self.version,
            "effective_prompt_sha256": self.effective_sha256,
        }


def read_prompt(path: Path) -> Prompt:
    """The prompt in a file."""
    return _prompt(read_bytes(path, limit=LARGEST), path.as_posix(), path.stem)


def bundled_prompt() -> Prompt:
    """The prompt for the bundled definition."""
    return _prompt(bundled_text().encode(), f"{BUNDLED}.md", BUNDLED)


def bundled_text() -> str:
    """The bundled prompt as it is written."""
    from importlib import resources

    return (resources.files("ragworthy") / "prompts" / f"{BUNDLED}.md").read_text(encoding="utf-8")


def _prompt(data: bytes, path: str, stem: str) -> Prompt:
    try:
        whole = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"expected UTF-8, got byte 0x{data[error.start]:02x} at offset {error.start}"
        raise data_error("RW-F06", message, where=path) from None
    head, text = taken_apart(whole)
    if not text.strip():
        raise data_error("RW-Q12", f"expected a prompt, got {'its head alone' if head else 'nothing'}", where=path)
    found = _VERSION.search(head)
    version = clip(visible(found[1]), 80) if found else stem
    return Prompt(path, text.strip() + "\n", hashlib.sha256(data).hexdigest(), version)


def taken_apart(whole: str) -> tuple[str, str]:
    """The head of a prompt file, which says its version, and the text.

    >>> taken_apart("---\\nversion: p10\\n---\\nAnswer.")
    ('version: p10', 'Answer.')
    >>> taken_apart("<!-- prompt_version: p10 -->\\nAnswer."), taken_apart("version: 3\\nAnswer.")
    ((' prompt_version: p10 ', 'Answer.'), ('version: 3', 'Answer.'))
    >>> taken_apart("Answer.")
    ('', 'Answer.')
    """
    for pattern in (_FRONT, _COMMENT, _LINE):
        if found := pattern.match(whole):
            return found[1], whole[found.end() :]
    return "", whole
