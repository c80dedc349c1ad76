"""Rank metrics over judgements and a run, under trec_eval's conventions. Pure functions over columns.

Results are ordered by score as a 32-bit float, descending, and ties by document id, descending in byte order. A grade
of 1 or more is relevant, precision is divided by k, the gain of nDCG is the grade (never below 0). A judged query
without results counts 0, and so do recall and nDCG where nothing is relevant.
"""

import math
import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ragworthy.ids import natural

Ints: TypeAlias = NDArray[np.int64]
Words: TypeAlias = NDArray[np.uint64]
Floats: TypeAlias = NDArray[np.float64]
Singles: TypeAlias = NDArray[np.float32]
Flags: TypeAlias = NDArray[np.bool_]
Rows: TypeAlias = Ints | Flags | slice

WORD = 8
"""Byte strings are compared eight bytes at a time."""
_FIRST_BYTES = np.array([~((1 << 8 * (WORD - kept)) - 1) & (1 << 64) - 1 for kept in range(WORD + 1)], np.uint64)
_SLOTS_PER_KEY = 16


class Texts(NamedTuple):
    """Byte strings inside one buffer; `data` goes on for eight bytes or more after each of them."""

    data: bytes
    begin: Ints
    length: Ints

    def at(self, rows: Rows) -> "Texts":
        """Some of the strings."""
        return Texts(self.data, self.begin[rows], self.length[rows])

    def pieces(self) -> list[bytes]:
        """The strings one by one."""
        data = self.data
        ends = (self.begin + self.length).tolist()
        return [data[begin:end] for begin, end in zip(self.begin.tolist(), ends, strict=True)]

    def words(self, place: int) -> Words:
        """The eight bytes at a place of each string as a number that sorts as they do; zeros after the end."""
        last = len(self.data) - WORD
        bytes_from = np.ndarray((last + 1,), f"V{WORD}", self.data, 0, (1,))
        kept = np.minimum(np.maximum(self.length - WORD * place, 0), WORD)
        found = bytes_from[np.minimum(self.begin + WORD * place, last)].view(">u8").astype(np.uint64)
        found &= _FIRST_BYTES[kept]
        return found


def texts_of(strings: Iterable[str]) -> Texts:
    """Strings as one buffer."""
    pieces = [string.encode() for string in strings]
    length = np.fromiter(map(len, pieces), np.int64, len(pieces))
    return Texts(b"".join(pieces) + bytes(WORD), np.cumsum(length) - length, length)


class Qrels(NamedTuple):
    """Judgements: one row for each (query, document), in the order of the file."""

    qids: list[str]
    query: Ints
    docs: Texts
    keys: Words
    grade: Ints


class Run(NamedTuple):
    """Results: one row for each (query, document), in the order of the file; `extra` lines had text after the tag."""

    qids: list[str]
    query: Ints
    docs: Texts
    keys: Words
    score: Singles
    written: Texts
    tag: str
    extra: int


class Gains(NamedTuple):
    """Relevant documents by query and rank: the query, the rank and the grade of each."""

    query: Ints
    rank: Ints
    grade: Ints

    def among(self, k: int, queries: int) -> Ints:
        """How many are among the first k of each query."""
        return np.bincount(self.query[self.rank <= k], minlength=queries)

    def discounted(self, k: int, queries: int) -> Floats:
        """The discounted gain of the first k of each query, added in the order of the ranks."""
        shown = self.rank <= k
        rank = self.rank[shown]
        discount = np.array([1.0, *(math.log2(at + 1) for at in range(1, int(rank.max(initial=0)) + 1))])
        gains = self.grade[shown] / discount[rank]
        return np.asarray(np.bincount(self.query[shown], weights=gains, minlength=queries), np.float64)


class Ranked(NamedTuple):
    """What was found for every judged query, in natural order of the ids; columns of equal length.

    `found[k]` is the number of relevant documents among the first k, `first` the rank of the first relevant one or 0.
    """

    qids: list[str]
    ks: tuple[int, ...]
    found: dict[int, Ints]
    relevant: Ints
    first: Ints
    returned: Ints
    ndcg: dict[int, Floats]
    unjudged: list[str]
    reached: Gains
    """The relevant documents that were found, by query and rank."""
    ideal: Gains
    """All of them, as the best ranking would show them."""

    def values(self) -> dict[str, Floats]:
        """The value of every metric for every query."""
        table: dict[str, Floats] = {}
        for k in self.ks:
            found = self.found[k]
            table[f"precision@{k}"] = found / k
            table[f"recall@{k}"] = found / np.maximum(self.relevant, 1)
            table[f"hit@{k}"] = (found > 0).astype(np.float64)
            table[f"ndcg@{k}"] = self.ndcg[k]
        table["mrr"] = np.where(self.first > 0, 1 / np.maximum(self.first, 1), 0.0)
        return table

    def means(self) -> dict[str, Fraction | float | None]:
        """The mean of every metric: exact, except nDCG, which is a correctly rounded sum; None without queries."""
        cases = len(self.qids)
        if not cases:
            return dict.fromkeys(self.values())
        table: dict[str, Fraction | float | None] = {}
        for k in self.ks:
            found = self.found[k]
            table[f"precision@{k}"] = Fraction(int(found.sum()), k * cases)
            table[f"recall@{k}"] = _sum_of_ratios(found, self.relevant) / cases
            table[f"hit@{k}"] = Fraction(int((found > 0).sum()), cases)
            table[f"ndcg@{k}"] = math.fsum(self.ndcg[k].tolist()) / cases
        table["mrr"] = _sum_of_ratios((self.first > 0).astype(np.int64), self.first) / cases
        return table


def score(qrels: Qrels, run: Run, ks: Sequence[int]) -> Ranked:
    """Everything the rank metrics need, for every judged query."""
    qids = [qrels.qids[place] for place in natural_order(qrels.qids)]
    number = {qid: at for at, qid in enumerate(qids)}
    queries = len(qids)
    judged = np.array([number[qid] for qid in qrels.qids], np.int64)[qrels.query]
    asked = np.array([number.get(qid, -1) for qid in run.qids], np.int64)
    counts = np.bincount(run.query, minlength=len(run.qids))
    returned = np.zeros(queries, np.int64)
    returned[asked[asked >= 0]] = counts[asked >= 0]
    ideal, reached = _ideal(qrels, judged), _reached(qrels, judged, run, asked[run.query], counts)
    first = np.zeros(queries, np.int64)
    first[reached.query[::-1]] = reached.rank[::-1]
    ndcg = {}
    for k in sorted(set(ks)):
        best = ideal.discounted(k, queries)
        ndcg[k] = np.divide(reached.discounted(k, queries), best, out=np.zeros(queries), where=best > 0)
    unjudged = [qid for qid in run.qids if qid not in number]
    return Ranked(
        qids,
        tuple(ndcg),
        {k: reached.among(k, queries) for k in ndcg},
        np.bincount(ideal.query, minlength=queries),
        first,
        returned,
        ndcg,
        [unjudged[place] for place in natural_order(unjudged)],
        reached,
        ideal,
    )


def _ideal(qrels: Qrels, judged: Ints) -> Gains:
    """The relevant documents as the best ranking would show them."""
    useful = qrels.grade > 0
    order = np.lexsort((-qrels.grade[useful], judged[useful]))
    query = judged[useful][order]
    before = np.searchsorted(query, query)
    return Gains(query, np.arange(1, len(query) + 1) - before, qrels.grade[useful][order])


def _reached(qrels: Qrels, judged: Ints, run: Run, asked: Ints, counts: Ints) -> Gains:
    """The relevant documents as the run shows them."""
    rows, found_at = _relevant_results(qrels, judged, run, asked)
    query, rank = asked[rows], ranks(run, counts)[rows]
    order = np.lexsort((rank, query))
    return Gains(query[order], rank[order], qrels.grade[found_at][order])


def _sum_of_ratios(nums: Ints, dens: Ints) -> Fraction:
    """The exact sum of nums / dens; 0 / 0 counts 0."""
    total = Fraction(0)
    for den in np.unique(dens[nums > 0]).tolist():
        total += Fraction(int(nums[dens == den].sum()), den)
    return total


def natural_order(qids: Sequence[str]) -> list[int]:
    """The places of the ids in natural order; quick where they differ only in the number at their end.

    >>> natural_order(["q10", "q9", "q1"])
    [2, 1, 0]
    """
    shared = len(_common_start(min(qids, default=""), max(qids, default="")).rstrip("0123456789"))
    numbers = [qid[shared:] for qid in qids]
    if all(map(re.compile("[0-9]{1,18}").fullmatch, numbers)):
        return sorted(range(len(qids)), key=[*zip(map(int, numbers), qids, strict=True)].__getitem__)
    return sorted(range(len(qids)), key=[natural(qid) for qid in qids].__getitem__)


def _common_start(one: str, other: str) -> str:
    length = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        length += 1
    return one[:length]


# byte strings


def _mixed(words: Words) -> Words:
    """Words with their bits spread; equal only for equal words."""
    for factor in (0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93):
        words = words * np.uint64(factor)
        words ^= words >> np.uint64(32)
    return words


def hashes(texts: Texts) -> Words:
    """A number for each string: equal strings have equal numbers, others hardly ever."""
    total = _mixed(texts.length.astype(np.uint64) ^ texts.words(0))
    left, place = np.flatnonzero(texts.length > WORD), 1
    while left.size:
        rest = texts.at(left)
        total[left] = _mixed(total[left] ^ rest.words(place))
        place += 1
        left = left[rest.length > WORD * place]
    return total


def pair_keys(qids: Sequence[str], query: Ints, doc_hashes: Words) -> Words:
    """A number for each (query, document), the same in every file."""
    return _mixed(_mixed(hashes(texts_of(qids)))[query] + doc_hashes)


def same(one: Texts, other: Texts) -> Flags:
    """Whether the strings are equal, pair by pair."""
    equal: Flags = (one.length == other.length) & (one.words(0) == other.words(0))
    left, place = np.flatnonzero(equal & (one.length > WORD)), 1
    while left.size:
        rest = one.at(left)
        alike = rest.words(place) == other.at(left).words(place)
        equal[left[~alike]] = False
        place += 1
        left = left[alike & (rest.length > WORD * place)]
    return equal


# results


def ranks(run: Run, counts: Ints) -> Ints:
    """The rank, from 1, of each result under its query."""
    order = ranking(run)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(1, len(order) + 1)
    rank -= (np.cumsum(counts) - counts)[run.query]
    return rank


def ranking(run: Run) -> Ints:
    """The rows by query (in the run's own order), score and, where scores are equal, document id."""
    bits = (run.score + np.float32(0)).view(np.uint32)
    falling = np.where(bits >> 31, bits, ~bits & np.uint32(0x7FFFFFFF))
    keys = run.query.astype(np.uint64) << np.uint64(32) | falling
    order = np.argsort(keys, kind="stable")
    return _ties_by_id(run.docs, order, keys[order])


def _ties_by_id(docs: Texts, order: Ints, keys: Words) -> Ints:
    """The order with the rows of equal keys put in descending order of their ids."""
    tied, group = _repeats(np.arange(len(order)), keys)
    longest = int(docs.length[order[tied]].max(initial=0))
    for place in range(longest // WORD + 1):
        if not tied.size:
            break
        words = ~docs.at(order[tied]).words(place)
        inside = np.lexsort((words, group))
        order[tied] = order[tied[inside]]
        words = words[inside]
        new = np.concatenate([[True], (words[1:] != words[:-1]) | (group[1:] != group[:-1])])
        tied, group = _repeats(tied, np.cumsum(new).astype(np.uint64))
    return order


def _repeats(places: Ints, keys: Words) -> tuple[Ints, Words]:
    """The places, and their keys, whose key is beside an equal one."""
    alike = keys[1:] == keys[:-1]
    keep = np.concatenate([alike, [False]]) | np.concatenate([[False], alike]) if len(keys) else np.zeros(0, np.bool_)
    return places[keep], keys[keep]


def _relevant_results(qrels: Qrels, judged: Ints, run: Run, asked: Ints) -> tuple[Ints, Ints]:
    """The rows of the run that are relevant to their query, and for each the row of its judgement."""
    useful = np.flatnonzero(qrels.grade > 0)
    useful = useful[np.argsort(qrels.keys[useful])]
    keys = qrels.keys[useful]
    rows = _perhaps_among(run.keys, keys)
    at = np.searchsorted(keys, run.keys[rows])
    found: list[tuple[Ints, Ints]] = []
    while rows.size:  # a second time only where different pairs have equal keys
        likely = (at < len(keys)) & (keys[np.minimum(at, len(keys) - 1)] == run.keys[rows])
        rows, at = rows[likely], at[likely]
        right = (asked[rows] == judged[useful[at]]) & same(run.docs.at(rows), qrels.docs.at(useful[at]))
        found.append((rows[right], useful[at[right]]))
        rows, at = rows[~right], at[~right] + 1
    none = np.zeros(0, np.int64)
    return np.concatenate([none, *(one for one, _ in found)]), np.concatenate([none, *(other for _, other in found)])


def _perhaps_among(keys: Words, wanted: Words) -> Ints:
    """The places of keys that may be among the wanted ones; far cheaper than looking for each."""
    bits = min(max((len(wanted) * _SLOTS_PER_KEY).bit_length(), 16), 26)
    slots = np.zeros(1 << bits, np.bool_)
    shift = np.uint64(64 - bits)
    slots[wanted >> shift] = True
    return np.flatnonzero(slots[keys >> shift])
