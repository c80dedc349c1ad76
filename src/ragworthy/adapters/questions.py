"""The questions of a gold set, to find the one that a trace asks; and the ids that its evidence has."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from ragworthy.errors import MOST_PROBLEMS, DataError, Problem
from ragworthy.load.chunks import read_lines

_IDS = ("gold_citations", "relevant")


class Questions(NamedTuple):
    """The wordings of every question, as they are and with case and spaces evened out."""

    qids: frozenset[str] = frozenset()
    exact: dict[str, set[str]] = {}  # noqa: RUF012 - never written to
    folded: dict[str, set[str]] = {}  # noqa: RUF012
    ids: frozenset[str] = frozenset()
    """The ids that the gold set cites."""
    texts: dict[str, str] = {}  # noqa: RUF012
    """The first wording of each question."""

    def asked(self, text: str) -> set[str]:
        """The qids of the questions with this wording: exactly, or but for case and spaces."""
        return self.exact.get(text.strip()) or self.folded.get(_folded(text)) or set()


def questions(path: Path) -> Questions:
    """The questions of a gold set of answers or retrieval."""
    return from_records(records(path))


def from_records(items: Iterable[dict[str, Any]]) -> Questions:
    """The questions of gold items."""
    exact: dict[str, set[str]] = {}
    folded: dict[str, set[str]] = {}
    qids: set[str] = set()
    ids: set[str] = set()
    texts: dict[str, str] = {}
    for record in items:
        qid = record.get("qid") or record.get("q_id")
        if not isinstance(qid, str):
            continue
        qids.add(qid)
        for text in _wordings(record):
            texts.setdefault(qid, text)
            exact.setdefault(text.strip(), set()).add(qid)
            folded.setdefault(_folded(text), set()).add(qid)
        ids.update(one for key in _IDS for one in _listed(record.get(key)))
    return Questions(frozenset(qids), exact, folded, frozenset(ids), texts)


def chunk_ids(path: Path) -> Iterable[str]:
    """The ids of a file of chunks."""
    for record in records(path):
        name = record.get("chunk_id") or record.get("id")
        if isinstance(name, str):
            yield name


def records(path: Path) -> list[dict[str, Any]]:
    """The objects of a file of JSON lines."""
    problems: list[Problem] = []
    found = [line.record for line in read_lines(path, problems)]
    if problems:
        raise DataError(problems[:MOST_PROBLEMS], len(problems))
    return found


def _wordings(record: dict[str, Any]) -> list[str]:
    return [*_listed([record.get("question"), record.get("query")]), *_listed(record.get("paraphrases"))]


def _listed(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str) and one] if isinstance(value, list) else []


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
