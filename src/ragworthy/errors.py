"""The exceptions that carry the codes of `codes`.

RagworthyError            somebody has to do something; exit 2
├── DataError             fix the gold set, the traces or another input file
├── PolicyError           fix the policy or the gates
├── UsageError            fix the command line or the call
└── MissingExtra          install an optional part
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from ragworthy.text import visible

MOST_PROBLEMS = 20


class Problem(NamedTuple):
    """One thing to fix: where, what was expected, what was found."""

    code: str
    message: str
    where: str = ""
    field: str = ""

    def __str__(self) -> str:
        parts = [part for part in (self.where, self.field, self.message) if part]
        return visible(f"{': '.join(parts)} [{self.code}]")


def _remedy(code: str) -> str:
    """What to do, as the catalogue says it."""
    from ragworthy.codes import CATALOGUE

    return CATALOGUE[code].do


class RagworthyError(Exception):
    """Something that stops the work and that a person can fix."""

    def __init__(
        self,
        problems: Iterable[Problem],
        total: int | None = None,
        advice: str = "",
        hint: Callable[[str], str] | None = None,
    ) -> None:
        """`hint` says what to do about a code, where the catalogue, which speaks of commands, does not fit; an empty
        one leaves that to `advice`.
        """
        self.problems = list(problems)
        self.advice = advice
        self.hint = hint or _remedy
        self.total = len(self.problems) if total is None else total
        super().__init__("\n".join(self.lines()))

    def lines(self) -> list[str]:
        """The problems, each with what to do the first time its code appears."""
        from ragworthy.codes import CATALOGUE  # here, as most commands end well

        lines: list[str] = []
        seen: set[str] = set()
        for problem in self.problems[:MOST_PROBLEMS]:
            lines.append(str(problem))
            if problem.code not in seen:
                seen.add(problem.code)
                hint = self.hint(problem.code)
                lines += [f"  {CATALOGUE[problem.code].name}: {hint}"] if hint else []
        hidden = self.total - min(len(self.problems), MOST_PROBLEMS)
        if hidden > 0:
            lines.append(f"… and {hidden:,} more")
        if self.advice:
            lines += self.advice.split("\n")
        return lines


class DataError(RagworthyError):
    """An input file has to be fixed."""


class PolicyError(RagworthyError):
    """The policy or the gates have to be fixed."""


class UsageError(RagworthyError):
    """The command line or the call has to be fixed."""


class MissingExtra(RagworthyError):
    """An optional part has to be installed."""


def data_error(code: str, message: str, *, where: str = "", field: str = "") -> DataError:
    """A DataError with one problem."""
    return DataError([Problem(code, message, where, field)])


def policy_error(code: str, message: str, *, where: str = "", field: str = "") -> PolicyError:
    """A PolicyError with one problem."""
    return PolicyError([Problem(code, message, where, field)])


def usage_error(message: str, *, code: str = "RW-U01") -> UsageError:
    """A UsageError with one problem."""
    return UsageError([Problem(code, message)])


def missing_extra(package: str, extra: str, needed_for: str) -> MissingExtra:
    """The error for a package that is not installed; without an extra it belongs to every installation.

    The line names the package and not `ragworthy[extra]`: that would ask an index for ragworthy, which is on none.
    """
    part_of = f" (extra: {extra})" if extra else ""
    packages = RETRIEVAL if extra == "retrieval" else package
    return MissingExtra([Problem("RW-F15", f"{needed_for} needs {package}: pip install {packages}{part_of}")])


class Part(NamedTuple):
    """A package that may be missing: under which name it is installed, and what brings it."""

    package: str
    extra: str = ""
    """Empty for what every installation has."""
    needed_for: str = "ragworthy"


RETRIEVAL = "numpy bm25s wordllama tokenizers safetensors markdown-it-py selectolax rapidfuzz sqlalchemy zstandard"
"""What the extra `retrieval` brings: whoever lacks one of them most likely lacks the others."""
_SEARCH = "an index, ΔS or a TREC file"
_DOCUMENTS = "cutting documents into chunks"
PARTS = {
    "jinja2": Part("jinja2"),
    "markupsafe": Part("markupsafe"),
    "msgspec": Part("msgspec"),
    "regex": Part("regex"),
    "rfc8785": Part("rfc8785"),
    "sqlalchemy": Part("sqlalchemy", "history", "the history of runs"),
    "zstandard": Part("zstandard", "zstd", "a .zst file"),
    "bm25s": Part("bm25s", "retrieval", _SEARCH),
    "markdown_it": Part("markdown-it-py", "retrieval", _DOCUMENTS),
    "numpy": Part("numpy", "retrieval", _SEARCH),
    "rapidfuzz": Part("rapidfuzz", "retrieval", "comparing a document with its proofread text"),
    "safetensors": Part("safetensors", "retrieval", _SEARCH),
    "selectolax": Part("selectolax", "retrieval", _DOCUMENTS),
    "tokenizers": Part("tokenizers", "retrieval", _SEARCH),
    "wordllama": Part("wordllama", "retrieval", _SEARCH),
}
"""The packages of every installation and of the extras that much of the code needs, by the name they are imported as.
The other extras are imported in one place each, which says what is missing.
"""


def lacking(error: ModuleNotFoundError, needed_for: str = "") -> MissingExtra | None:
    """The error for a package of ours that is not installed; None for any other module: that is a defect."""
    part = PARTS.get((error.name or "").partition(".")[0])
    if part is None:
        return None
    return missing_extra(part.package, part.extra, needed_for or part.needed_for)


@contextmanager
def needing(needed_for: str = "") -> Iterator[None]:
    """Imports that say what to install where a package of ours is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        missing = lacking(error, needed_for)
        if missing is None:
            raise
        raise missing from None


def explained(error: Exception) -> tuple[str, str]:
    """What the decoder says of a small file, as field and message.

    >>> import msgspec
    >>> try: msgspec.json.decode(b'{"a": {"b": "x"}}', type=dict[str, dict[str, int]])
    ... except msgspec.ValidationError as error: explained(error)
    ('[...][...]', 'expected int, got str')
    """
    text = str(error).replace("`", "")
    reason, _, place = text.partition(" - at ")
    field = place.removeprefix("key in ").removeprefix("$").removeprefix(".")
    missing = reason.removeprefix("Object missing required field ")
    if missing != reason:
        return f"{field}.{missing}".removeprefix("."), "expected a value, got nothing"
    return field, reason if reason.startswith("JSON") else reason[:1].lower() + reason[1:]
