"""The rows of a run as a baseline keeps them: what every metric says of every question, in columns, with a hash.

A report holds them, so that a later run can be compared with it question by question. A column with few different
values is written as those values and one character a question:

    "answers.precision": {"values": ["0", "1"], "codes": "11-01"}      a dash: the question is no case of the metric
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import msgspec

from ragworthy.stats import ratio

SCHEMA = "ragworthy.rows/1"
"""
1  first version
"""
MOST = 100_000
"""A report of more questions holds no rows: it would be larger than the traces."""
_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_NONE = "-"

Word = bool | int | float | Fraction | tuple[int, int] | None
"""What a metric says of one question: a number, a part of a whole, or None where it is no case of the metric."""


class Rows(NamedTuple):
    """Every question of a run, in gold order. All columns are as long as `qids`."""

    qids: tuple[str, ...]
    clusters: tuple[str, ...]
    """The questions that stand or fall together have the same one: their document, or the question itself."""
    labels: tuple[str | None, ...]
    causes: tuple[str | None, ...]
    """What is to blame for each; None where nothing is wrong."""
    runs: tuple[int, ...]
    """How many runs of the question the words are the mean of; 0 where there is none."""
    slices: tuple[tuple[str, ...], ...]
    words: Mapping[str, tuple[Word, ...]]
    """By the id of the metric, each k for itself. Metrics that look at all questions at once have none."""
    own: Mapping[str, tuple[str | None, ...]] = {}
    """What metrics of all questions at once look at, by a name of the suite: the votes of two raters, for example."""

    def places(self) -> dict[str, int]:
        """Where each question stands."""
        return {qid: nth for nth, qid in enumerate(self.qids)}


class UnreadableError(ValueError):
    """Rows that are not what was written: the message says what was expected."""


def encoded(rows: Rows) -> dict[str, Any]:
    """The rows as a report has them.

    >>> rows = Rows(("a", "b"), ("d", "d"), ("OK", None), (None, None), (1, 1), ((), ()), {"m": (True, None)})
    >>> encoded(rows)["words"]
    {'m': {'values': ['1'], 'codes': '0-'}}
    """
    body = {
        "schema": SCHEMA,
        "qid": list(rows.qids),
        "cluster": _column(rows.clusters, str),
        "label": _column(rows.labels, str),
        "cause": _column(rows.causes, str),
        "runs": _column(rows.runs, str),
        "slices": _column(rows.slices, lambda names: "\n".join(names)),
        "words": {name: _column(words, text_of) for name, words in rows.words.items()},
        "own": {name: _column(column, str) for name, column in rows.own.items()},
    }
    return body | {"sha256": _hash(body)}


def decoded(body: Any) -> Rows:
    """The rows of a report; whoever changed one of them is found out."""
    if not isinstance(body, dict) or body.get("schema") != SCHEMA:
        raise UnreadableError(f'expected "{SCHEMA}", got {"other" if isinstance(body, dict) else "no"} rows')
    given = {key: value for key, value in body.items() if key != "sha256"}
    if _hash(given) != body.get("sha256"):
        raise UnreadableError("expected rows with the hash beside them, got rows that were changed")
    try:
        return _read(given)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise UnreadableError(f"expected columns of one length, got: {type(error).__name__}: {error}") from None


def _read(given: dict[str, Any]) -> Rows:
    qids = tuple(given["qid"])
    if len(set(qids)) != len(qids) or not all(isinstance(qid, str) for qid in qids):
        raise UnreadableError("expected every question once")
    size = len(qids)
    return Rows(
        qids,
        tuple(_plain(given["cluster"], size, str)),
        tuple(_plain(given["label"], size, str)),
        tuple(_plain(given["cause"], size, str)),
        tuple(_plain(given["runs"], size, int)),
        tuple(tuple(text.split("\n")) if text else () for text in _plain(given["slices"], size, str)),
        {name: tuple(_plain(column, size, word_of)) for name, column in given["words"].items()},
        {name: tuple(_plain(column, size, str)) for name, column in given["own"].items()},
    )


def text_of(word: Any) -> str:
    """A word as a file has it.

    >>> [text_of(word) for word in (True, Fraction(2, 3), 0.25, (3, 4))]
    ['1', '2/3', '0.25', '3:4']
    """
    if isinstance(word, tuple):
        return f"{word[0]}:{word[1]}"
    if isinstance(word, float):
        return repr(word)
    number = Fraction(word)
    return str(number)


def word_of(text: str) -> Word:
    """A word that was written.

    >>> [word_of(text) for text in ("1", "2/3", "0.25", "3:4")]
    [1, Fraction(2, 3), 0.25, (3, 4)]
    """
    part, colon, whole = text.partition(":")
    if colon:
        return int(part), int(whole)
    if "/" in text:
        found = ratio(text)
        if found is None:
            raise ValueError(f"no number: {text[:40]}")
        return found
    return int(text) if text.lstrip("-").isdigit() else float(text)


def _column(given: Sequence[Any], write: Callable[[Any], str]) -> dict[str, Any]:
    """Values once, and which of them each question has: a text where one character is enough."""
    places: dict[str, int] = {}
    codes = [None if one is None else places.setdefault(write(one), len(places)) for one in given]
    order = sorted(places)  # the same values give the same bytes, whichever question came first
    rank = {places[text]: nth for nth, text in enumerate(order)}
    ranked = [None if code is None else rank[code] for code in codes]
    if len(order) > len(_ALPHABET):
        return {"values": order, "codes": ranked}
    return {"values": order, "codes": "".join(_NONE if code is None else _ALPHABET[code] for code in ranked)}


def _plain(column: Any, size: int, read: Callable[[str], Any]) -> list[Any]:
    values, codes = [read(text) for text in column["values"]], column["codes"]
    if len(codes) != size:
        raise UnreadableError(f"expected {size} codes, got {len(codes)}")
    if isinstance(codes, str):
        known = {_ALPHABET[nth]: value for nth, value in enumerate(values)} | {_NONE: None}
        return [known[code] for code in codes]
    if any(code is not None and (not isinstance(code, int) or code < 0) for code in codes):
        raise UnreadableError("expected places of values")
    return [None if code is None else values[code] for code in codes]


def _hash(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(msgspec.json.encode(body, order="deterministic")).hexdigest()
