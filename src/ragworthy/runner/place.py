"""A folder that stays the same, whatever a target does to the working folder."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ragworthy.errors import RagworthyError


@contextmanager
def kept(given: Path) -> Iterator[Path]:
    """The folder as an absolute path; errors that are raised meanwhile name it as it was given."""
    whole = given.absolute()
    try:
        yield whole
    except RagworthyError as error:
        if whole == given:
            raise
        problems = [
            one._replace(where=_renamed(one.where, whole, given), message=_renamed(one.message, whole, given))
            for one in error.problems
        ]
        raise type(error)(problems, error.total, _renamed(error.advice, whole, given)) from None


def _renamed(text: str, whole: Path, given: Path) -> str:
    """A text with the folder, and what lies in it, as it was given.

    >>> _renamed("/home/me/out/a: no; /home/me/output: no", Path("/home/me/out"), Path("out"))
    'out/a: no; /home/me/output: no'
    """
    for end in (os.sep, ":"):
        text = text.replace(f"{whole}{end}", f"{given}{end}")
    return str(given) if text == str(whole) else text
