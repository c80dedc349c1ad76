"""Files of rows (`--rows`) as a side of a comparison: what every metric says of every question, and nothing else."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from math import isfinite
from pathlib import Path

import msgspec

from ragworthy.comparison.likeness import GOLD, Unlike
from ragworthy.errors import DataError, Problem, RagworthyError
from ragworthy.load.sources import open_source
from ragworthy.metrics.fold import percent_of
from ragworthy.metrics.registry import find
from ragworthy.rows import Rows
from ragworthy.suites import SUITES
from ragworthy.suites.rowing import WHOLE
from ragworthy.text import described

PLAIN = ("rate", "mean", "count", "sum")
"""Kinds of metrics that are a plain fold of one number per question."""
_FINEST = 10**6
"""Metrics that are not a ratio of counts are rounded to six places."""
_MOST = 10**15
"""No number of a question is larger: floats count whole numbers up to here."""
TAKEN_FOR_GRANTED = "a file of rows names neither gold set nor settings: that they are the same is taken for granted"
ALONE = "its rows name no documents: every question stands for itself"


LABELS = "it does not say in how many of its runs a question is good: labels decide what is fixed and broken"
NO_METRIC = "they have no metric in common"
_REFUSALS = ("answers.over_refusal", "answers.under_refusal")
"""The first is of answerable questions, the second of unanswerable ones."""


class Row(msgspec.Struct, frozen=True):
    """What a comparison needs of a row."""

    qid: str
    metrics: dict[str, float] | list[tuple[str, float]]
    """By the id of the metric; pairs where a Parquet file holds them."""
    label: str | None = None
    cause: str | None = None
    cluster: str | None = None
    suite: str | None = None
    runs: int | None = None
    undefined: dict[str, str | None] | list[tuple[str, str | None]] | None = None


def is_rows(path: Path) -> bool:
    """Whether a file holds rows: its first record says what metrics say of a question, which no trace does."""
    try:
        _, first = next(open_source("rows", path).numbered(), (0, b""))
        record = msgspec.json.decode(first)
    except (RagworthyError, OSError, msgspec.MsgspecError):
        return False
    return isinstance(record, dict) and record.keys() >= {"qid", "label", "metrics", "undefined"}


class Told:
    """One suite of a file of rows."""

    def __init__(self, suite: str, rows: Sequence[Row]) -> None:
        self.several = any((row.runs or 1) > 1 for row in rows)
        said = [dict(row.metrics) for row in rows]
        names = list(dict.fromkeys(name for one in said for name in one))
        self.left_out = [name for name in names if not self._folds(suite, name)]
        """Metrics whose number does not follow from one number per question."""
        whole = dict.fromkeys(name for row in rows for name, why in dict(row.undefined or {}).items() if why == WHOLE)
        self.left_out += [name for name in whole if name not in self.left_out]
        self.alone = all(row.cluster is None for row in rows)
        self.rows = Rows(
            qids=tuple(row.qid for row in rows),
            clusters=tuple(row.qid if row.cluster is None else row.cluster for row in rows),
            labels=tuple(row.label for row in rows),
            causes=tuple(row.cause for row in rows),
            runs=tuple(1 if row.runs is None else row.runs for row in rows),
            slices=((),) * len(rows),
            words={name: tuple(_word(one.get(name)) for one in said) for name in names if name not in self.left_out},
        )

    def _folds(self, suite: str, name: str) -> bool:
        """Whether the number of a metric follows from the rows; a percentile does where each question has one run."""
        found = find(name, default_k=1, suite=suite)
        if found is None:
            return False
        kind = found.metric.kind
        return kind in PLAIN or (percent_of(kind) is not None and not self.several and suite != "latency")

    @property
    def notes(self) -> list[str]:
        """What has to be said of it."""
        left_out = [f"not in its rows as one number per question: {', '.join(self.left_out)}"] if self.left_out else []
        return [TAKEN_FOR_GRANTED, *([ALONE] if self.alone else []), *([LABELS] if self.several else []), *left_out]


class Ranges(dict[tuple[str, str], tuple[float, float]]):
    """What each metric of a suite may be, looked up once per file: to find a metric by its name takes its time."""

    def __missing__(self, key: tuple[str, str]) -> tuple[float, float]:
        suite, name = key
        found = find(name, default_k=1, suite=suite)
        low, high = (found.metric.lowest, found.metric.highest) if found is not None else (-_MOST, None)
        self[key] = (low, _MOST if high is None else high)
        return self[key]


def suites_of(path: Path, asked: str | None) -> dict[str, Told]:
    """The suites of a file of rows."""
    found: dict[str, list[Row]] = {}
    ranges = Ranges()
    for line, row in _rows(path):
        suite = row.suite or asked or _suite(row)
        if wrong := _wrong(row, suite, ranges):
            raise _unfit(path, line, wrong)
        found.setdefault(suite, []).append(row)
    return {suite: Told(suite, rows) for suite, rows in found.items()}


def told_apart(a: Rows, b: Rows) -> list[Unlike]:
    """What rows themselves show of other gold sets and settings: nothing else can, where one side is a file of rows."""
    found = []
    alone = len(set(a.qids) ^ set(b.qids))
    turned = len((_cases(a, 0) & _cases(b, 1)) | (_cases(a, 1) & _cases(b, 0)))
    if alone:
        found.append(Unlike(GOLD, f"another gold set ({in_questions(alone)} in one of them only)"))
    elif turned:
        found.append(Unlike(GOLD, f"another gold set ({in_questions(turned)} answerable in one of them only)"))
    one, other = _depths(a), _depths(b)
    for name in (name for name in one if name in other and one[name] != other[name]):
        depths = (", ".join(map(str, sorted(each[name]))) for each in (one, other))
        return [*found, Unlike("k", f"another setting of k ({' and '.join(depths)})")]
    return found


def lone_metrics(a: Rows, b: Rows) -> list[str]:
    """A line for each side that names the metrics only it speaks of: they are in no table."""
    said = [{name for name, words in rows.words.items() if any(word is not None for word in words)} for rows in (a, b)]
    sides = (("A", said[0] - said[1]), ("B", said[1] - said[0]))
    return [f"only {side} has numbers of {', '.join(sorted(names))}" for side, names in sides if names]


def in_questions(count: int) -> str:
    return f"{count:,} question{'' if count == 1 else 's'}"


def _cases(rows: Rows, which: int) -> set[str]:
    """The questions that are cases of one of the metrics of refusals."""
    words = rows.words.get(_REFUSALS[which], ())
    return {qid for qid, word in zip(rows.qids, words, strict=False) if word is not None}


def _depths(rows: Rows) -> dict[str, set[int]]:
    """Every k of each metric that has one."""
    found: dict[str, set[int]] = {}
    for name in rows.words:
        base, at, depth = name.partition("@")
        if at and depth.isdecimal():
            found.setdefault(base, set()).add(int(depth))
    return found


def _rows(path: Path) -> Iterator[tuple[int, Row]]:
    """Every row once; a second one of a question would count it twice."""
    seen: set[tuple[str | None, str]] = set()
    for line, data in open_source("rows", path).numbered():
        try:
            row = msgspec.json.decode(data, type=Row)
        except msgspec.MsgspecError as error:
            raise _unfit(path, line, f"expected a row as --rows writes it, got: {error}") from None
        if (row.suite, row.qid) in seen:
            raise _unfit(path, line, f'expected every question once, got "{row.qid}" again')
        seen.add((row.suite, row.qid))
        yield line, row


def _suite(row: Row) -> str:
    """The suite that a row is of, by its metrics; rows of latency have those of answers besides."""
    named = {name.partition(".")[0] for name in (*dict(row.metrics), *dict(row.undefined or {}))}
    return next((suite for suite in ("latency", *SUITES) if suite in named), "answers")


@lru_cache(maxsize=4096)
def _word(number: float | None) -> Fraction | float | None:
    """A number as rows in a report have it: where it was written from a fraction, that fraction.

    >>> _word(2 / 3), _word(1.0), _word(0.6309297535714575)
    (Fraction(2, 3), Fraction(1, 1), 0.6309297535714575)
    """
    if number is None:
        return None
    near = Fraction(number).limit_denominator(_FINEST)
    return near if float(near) == number else number


def _wrong(row: Row, suite: str, ranges: Ranges) -> str:
    """What cannot be, although it is the shape of a row: a suite that there is none of, a number out of its range."""
    if suite not in SUITES:
        return f"expected a suite ({', '.join(SUITES)}), got {described(row.suite)}"
    if row.runs is not None and row.runs < 1:
        return f"expected 1 run or more, got {row.runs}"
    for name, value in dict(row.metrics).items():
        low, high = ranges[suite, name]
        if not (isfinite(value) and low <= value <= high):
            return f"metrics.{name}: expected a number from {low} to {high}, got {value:g}"
    return ""


def _unfit(path: Path, line: int, message: str) -> DataError:
    return DataError([Problem("RW-Y05", message, f"{path}:{line}")])
