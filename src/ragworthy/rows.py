"""The rows of a run as a baseline keeps them: what every metric says of every question, in columns, with a hash.

A report holds them, so that a later run can be compared with it question by question. A column with few different
values is written as those values and one character per question:

    "answers.precision": {"values": ["0", "1"], "codes": "11-01"}      a dash: the question is not counted
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import msgspec

from ragworthy.names import HARMLESS
from ragworthy.stats import ratio

SCHEMA = "ragworthy.rows/1"
"""
1  first version
"""
MOST = 100_000
"""A report of more questions holds no rows: it would be larger than the traces."""
_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_NONE = "-"

Number = bool | int | float | Fraction
Word = Number | tuple[Number, Number] | None
"""What a metric says of one question: a number, a part of a whole, or None where it does not count for the metric."""
GOOD = "good"
"""The second half of the name of the metric that can be read off labels."""
GOOD_RUNS = "good runs"
"""The column in `own` that has the share of good runs of every question with several; of a single one the label says
it."""
GONE = ("ERROR", "MISSING")
"""Labels of questions that were not answered."""
RUNS = "runs:"
"""Is in `own` before the metrics whose column it is, each id after a blank: what they say of every single run."""


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

    alike: Sequence[int] = ()
    """Questions with the same number say the same in `words`; the numbers count from 0. No file has them, and where
    nobody knows them there are none.
    """

    def words_at(self, places: Sequence[int]) -> "Rows":
        """These rows with the words of some questions only."""
        words = {name: tuple([column[nth] for nth in places]) for name, column in self.words.items()}
        return self._replace(words=words)

    def places(self) -> dict[str, int]:
        """Where each question stands."""
        return {qid: nth for nth, qid in enumerate(self.qids)}

    def of_runs(self, metric: str) -> tuple[tuple[Word, ...], ...]:
        """What a metric says of every run of each question, for percentiles; its word where there is one for all.

        >>> rows = Rows(("a", "b"), ("a", "b"), (None, None), (None, None), (2, 0), ((), ()), {"m": (1, 0)})
        >>> rows.of_runs("m"), rows._replace(own={"runs: m n": ("4 1/2", None)}).of_runs("m")
        (((1,), (0,)), ((4, Fraction(1, 2)), ()))
        """
        for name, column in self.own.items():
            if name.startswith(RUNS) and metric in name.split(" ")[1:]:
                return tuple(tuple(map(word_of, text.split(" "))) if text else () for text in column)
        return tuple(() if word is None else (word,) for word in self.words.get(metric, (None,) * len(self.qids)))


class Pairs(NamedTuple):
    """The questions that two runs share."""

    old: Rows
    new: Rows
    both: tuple[tuple[int, int], ...]
    """Where each of them is in both runs, in the order of the new one."""
    only_old: tuple[str, ...]
    only_new: tuple[str, ...]
    regrouped: int = 0
    """How many questions stand or fall with others in the one run than in the other."""

    def of(self, members: Collection[int]) -> "Pairs":
        """Those that are at some places of the new run."""
        return self._replace(both=tuple(one for one in self.both if one[1] in members))


def pair(old: Rows, new: Rows) -> Pairs:
    """Join two runs by the ids of their questions. Where they do not group these alike, the new one has the finer
    groups of both: nobody should make a loss look like one toss of a coin by a corpus with a single document.
    """
    there, here = old.places(), new.places()
    both = tuple((there[qid], nth) for nth, qid in enumerate(new.qids) if qid in there)
    clusters, regrouped = list(new.clusters), 0
    finer = together([old.clusters[nth] for nth, _ in both], [new.clusters[nth] for _, nth in both])
    for (_, nth), (name, moved) in zip(both, finer, strict=True):
        clusters[nth], regrouped = name, regrouped + moved
    return Pairs(
        old,
        new._replace(clusters=tuple(clusters)),
        both,
        tuple(qid for qid in old.qids if qid not in here),
        tuple(qid for qid in new.qids if qid not in there),
        regrouped,
    )


def together(old: Sequence[str], new: Sequence[str]) -> list[tuple[str, bool]]:
    """The cluster of every question, two of them in one only where both runs say so, and whether one says otherwise.

    >>> together(["a", "a", "b"], ["x", "y", "y"])
    [('x', True), ('y and a', True), ('y and b', True)]
    >>> together(["q1", "q2"], ["all", "all"]), together(["a", "a"], ["b", "b"])
    ([('all and q1', True), ('all and q2', True)], [('b', False), ('b', False)])
    """
    pairs = list(zip(old, new, strict=True))
    sizes = Counter(pairs)
    wholes = Counter(old), Counter(new)
    return [
        (
            other if sizes[one, other] == wholes[1][other] else f"{other} and {one}",
            not sizes[one, other] == wholes[0][one] == wholes[1][other],
        )
        for one, other in pairs
    ]


def words_of(rows: Rows, metric: str) -> Sequence[Word] | None:
    """What a metric says of every question; whether it is good can be read off its label."""
    if metric in rows.words:
        return rows.words[metric]
    if metric.partition(".")[2] == GOOD and any(rows.labels):
        return [None if label is None else label in HARMLESS for label in rows.labels]
    return None


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
        "slices": _column(rows.slices, _listed),
        "words": _words(rows),
        "own": {name: _column(column, str) for name, column in rows.own.items()},
    }
    return body | {"sha256": _hash(body)}


def _words(rows: Rows) -> dict[str, dict[str, Any]]:
    """The columns of all metrics; where rows know which of them are alike, only different ones are looked at."""
    if not rows.alike:
        return {name: _column(words, text_of) for name, words in rows.words.items()}
    place = dict(zip(rows.alike, range(len(rows.alike)), strict=True))
    some = rows.words_at([place[number] for number in range(len(place))])
    columns = {name: _column(words, text_of) for name, words in some.words.items()}
    for column in columns.values():
        codes = list(map(column["codes"].__getitem__, rows.alike))
        column["codes"] = "".join(codes) if isinstance(column["codes"], str) else codes
    return columns


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
        tuple(_plain(given["slices"], size, lambda text: tuple(msgspec.json.decode(text, type=list[str])))),
        {name: tuple(_plain(column, size, word_of)) for name, column in given["words"].items()},
        {name: tuple(_plain(column, size, str)) for name, column in given["own"].items()},
    )


def text_of(word: Any) -> str:
    """A word as a file has it.

    >>> [text_of(word) for word in (True, Fraction(2, 3), 0.25, (3, 4))]
    ['1', '2/3', '0.25', '3:4']
    """
    if isinstance(word, tuple):
        return ":".join(map(text_of, word))
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
    return (_number(part), _number(whole)) if colon else _number(text)


def _number(text: str) -> Number:
    if "/" in text:
        found = ratio(text)
        if found is None:
            raise ValueError(f"no number: {text[:40]}")
        return found
    return int(text) if text.lstrip("-").isdigit() else float(text)


def _listed(names: Sequence[str]) -> str:
    return msgspec.json.encode(names).decode()


def _column(given: Sequence[Any], write: Callable[[Any], str]) -> dict[str, Any]:
    """Values once, and which of them each question has: a text where one character is enough."""
    # Most are the same objects again: to hash each fraction once more would take longest. A text keeps its hash.
    keys: list[Any] = list(given) if write is str else list(map(id, given))
    same = dict(zip(keys, given, strict=True))
    texts = {one: write(one) for one in dict.fromkeys(same.values()) if one is not None}
    order = sorted(set(texts.values()))  # the same values give the same bytes, whichever question came first
    rank = {text: nth for nth, text in enumerate(order)}
    if len(order) > len(_ALPHABET):
        places = {key: None if one is None else rank[texts[one]] for key, one in same.items()}
        return {"values": order, "codes": list(map(places.__getitem__, keys))}
    letters = {key: _NONE if one is None else _ALPHABET[rank[texts[one]]] for key, one in same.items()}
    return {"values": order, "codes": "".join(map(letters.__getitem__, keys))}


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
