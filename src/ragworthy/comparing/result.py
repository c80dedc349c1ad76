"""Two runs compared, for whoever asked from Python."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from ragworthy.comparing.compare import Asked, compared
from ragworthy.comparing.sides import Given
from ragworthy.comparison.records import Compared, Flip, Number
from ragworthy.errors import usage_error
from ragworthy.files import Read, note_paths, remembering, write_whole
from ragworthy.given import in_python
from ragworthy.metrics.registry import ByName
from ragworthy.report import changes as telling
from ragworthy.report.screen import FILE, Screen
from ragworthy.result import Result
from ragworthy.safe import json_text

FORMS = {".json": "json", ".md": "markdown", ".txt": "text"}


def compare(
    a: str | Path | Result,
    b: str | Path | Result,
    *,
    suite: str | None = None,
    gold: str | Path | None = None,
    qrels: str | Path | None = None,
    corpus_a: str | Path | None = None,
    corpus_b: str | Path | None = None,
    allow: Sequence[str] = (),
    store: str | None = None,
    jobs: int = 1,
) -> "Comparison":
    """What changed from A to B: JSON reports, results of `score` or `gate`, folders of runs, traces (with `gold`), TREC
    runs (with `qrels`), `history:ID`, `history:NAME` or `commit:SHA`.

    `allow` names settings that may differ, because that is what is tried: `allow=["reranker"]`.

    >>> from ragworthy.api import score
    >>> gold = [{"qid": "A1", "question": "Null keys?", "answerable": True,
    ...          "gold_claim_substr": ["rejects null keys"], "gold_citations": ["p1#2"]},
    ...         {"qid": "A2", "question": "Explain Z.", "answerable": False}]
    >>> refused = {"qid": "A2", "retrieved_ids": [], "answer_json": {"claim": "not in context"}}
    >>> old, new = (score("answers", gold=gold, traces=[refused, {"qid": "A1", "retrieved_ids": ["p1#2"],
    ...     "answer_json": {"claim": claim, "citations": ["p1#2"]}}])
    ...     for claim in ("X rejects null keys.", "X takes null keys."))
    >>> found = compare(old, new)
    >>> found.metrics["answers.precision"].difference, [one.qid for one in found.broken]
    (-1.0, ['A1'])
    """
    with in_python(), remembering(Read()) as read:
        note_paths(read, (a, b, gold, qrels, corpus_a, corpus_b))
        given = Given(suite, _path(gold), _path(qrels), store, jobs=jobs)
        return Comparison(compared(a, b, Asked(given, (_path(corpus_a), _path(corpus_b)), names("allow", allow))), read)


def _path(given: str | Path | None) -> Path | None:
    return None if given is None else Path(given)


def names(keyword: str, given: Sequence[str]) -> tuple[str, ...]:
    """Names in a list, and not a text that happens to be one."""
    if isinstance(given, str) or not all(isinstance(name, str) for name in given):
        raise usage_error(f"{keyword}: expected a list of names, got {given!r}")
    return tuple(given)


class Comparison:
    """What changed from one run to another."""

    def __init__(self, found: Compared, read: Read) -> None:
        self._found = found
        self._read = read
        self.report: dict[str, Any] = msgspec.to_builtins(found)
        """The comparison as `ragworthy.compare/1`."""

    @property
    def comparable(self) -> bool:
        """Whether the two may be compared; `unlike` says why not."""
        return self._found.comparable

    @property
    def unlike(self) -> list[str]:
        """Why they cannot be compared."""
        return list(self._found.unlike)

    @property
    def metrics(self) -> dict[str, Number]:
        """Every metric with both values, the difference, its interval, p and how many questions moved."""
        return ByName(self._found.metrics)

    @property
    def fixed(self) -> list[Flip]:
        """The questions that were wrong and are right."""
        return [one for suite in self._found.suites.values() for one in suite.fixed]

    @property
    def broken(self) -> list[Flip]:
        """The questions that were right and are wrong."""
        return [one for suite in self._found.suites.values() for one in suite.broken]

    @property
    def exit_code(self) -> int:
        """What the command line would exit with: 0, or 4 where they cannot be compared."""
        return 0 if self.comparable else 4

    def text(self, *, full: bool = False, screen: Screen = FILE) -> str:
        """The comparison as the command line prints it; `full`: every k and every question."""
        return telling.text(self.report, every=full, screen=screen)

    def markdown(self, *, full: bool = False) -> str:
        """The same as Markdown."""
        return telling.markdown(self.report, every=full)

    def json(self) -> str:
        """The same as JSON."""
        return json_text(self.report)

    def write(self, path: str | Path, *, full: bool = True) -> None:
        """Write it in the format of the suffix: .json, .md or .txt."""
        with remembering(self._read):
            write_whole(Path(path), self.render(form_of(Path(path)), full=full).encode())

    def render(self, form: str, *, full: bool = False) -> str:
        """The comparison as text, json or markdown."""
        if form == "json":
            return self.json()
        return self.markdown(full=full) if form == "markdown" else self.text(full=full)

    def _repr_markdown_(self) -> str:
        """What a notebook shows."""
        return self.markdown()

    def __bool__(self) -> bool:
        raise TypeError("a comparison is neither true nor false: look at its metrics, broken or fixed")

    def __repr__(self) -> str:
        return f"<ragworthy {telling.last_line(self.report)}>"


def form_of(path: Path) -> str:
    """The format that a suffix stands for."""
    if path.suffix not in FORMS:
        message = f"{path}: expected one of {' '.join(FORMS)}, got {path.suffix or 'no suffix'}"
        raise usage_error(message, code="RW-F17")
    return FORMS[path.suffix]
