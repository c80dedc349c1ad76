"""Rank metrics against plain arithmetic, ir_measures (which runs trec_eval's own code) and trec_eval's conventions."""

import math
import tempfile
from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ragworthy.ids import natural
from ragworthy.trec import ranking
from ragworthy.trec.ranking import Gains, Ranked, Texts, hashes, natural_order, same, score, texts_of
from ragworthy.trec.read import read_qrels, read_run

KS = (1, 2, 3, 5, 10)
Judged = list[tuple[str, str, int]]
Results = list[tuple[str, str, str]]


def files(folder: Path, judged: Judged, results: Results) -> tuple[Path, Path]:
    """A qrels file and a run file."""
    qrels, run = folder / "qrels.txt", folder / "run.txt"
    qrels.write_text("".join(f"{qid} 0 {doc} {grade}\n" for qid, doc, grade in judged), encoding="utf-8")
    run.write_text("".join(f"{qid} Q0 {doc} 0 {text} tag\n" for qid, doc, text in results), encoding="utf-8")
    return qrels, run


def scored(judged: Judged, results: Results, ks: tuple[int, ...] = KS) -> Ranked:
    with tempfile.TemporaryDirectory() as folder:
        qrels, run = files(Path(folder), judged, results)
        return score(read_qrels(qrels), read_run(run), ks)


def plain(judged: Judged, results: Results) -> dict[str, dict[str, Fraction | float]]:
    """The metrics of every judged query, written down once more as simply as they can be."""
    grades: dict[str, dict[str, int]] = defaultdict(dict)
    lists: dict[str, list[tuple[Any, bytes, str]]] = defaultdict(list)
    for qid, doc, grade in judged:
        grades[qid][doc] = grade
    for qid, doc, text in results:
        lists[qid].append((np.float32(float(text)), doc.encode(), doc))
    table: dict[str, dict[str, Fraction | float]] = {}
    for qid, known in grades.items():
        shown = [doc for _, _, doc in sorted(lists[qid], reverse=True)]
        right = [known.get(doc, 0) >= 1 for doc in shown]
        total = sum(grade >= 1 for grade in known.values())
        gains = [max(0, known.get(doc, 0)) for doc in shown]
        best = sorted((max(0, grade) for grade in known.values()), reverse=True)
        row: dict[str, Fraction | float] = {"mrr": Fraction(1, right.index(True) + 1) if any(right) else Fraction(0)}
        for k in KS:
            found = sum(right[:k])
            row[f"precision@{k}"] = Fraction(found, k)
            row[f"recall@{k}"] = Fraction(found, total) if total else Fraction(0)
            row[f"hit@{k}"] = Fraction(int(found > 0))
            reached, ideal = (math.fsum(g / math.log2(at + 2) for at, g in enumerate(x[:k])) for x in (gains, best))
            row[f"ndcg@{k}"] = reached / ideal if ideal else 0.0
        table[qid] = row
    return table


MEASURES = {"precision": ir_measures.P, "recall": ir_measures.R, "ndcg": ir_measures.nDCG, "hit": ir_measures.Success}


def measure(name: str) -> Any:
    """The same metric in ir_measures."""
    metric, _, k = name.partition("@")
    return MEASURES[metric] @ int(k) if k else ir_measures.RR


# every value, against two independent ways

DOCS = [
    "d1",
    "d2",
    "d10",
    "D2",
    "d1é",
    "漢字-7",
    "a-document-id-of-thirty-two-bytes",
    "a-document-id-of-thirty-two-bytez",
]
SCORES = ["1", "1.0", "1.00000001", "0.99999999", "-3", "-2.5e0", "16777216", "16777217", "0", "-0.0", "1e-46", "7e3"]


@st.composite
def collections(draw: st.DrawFn) -> tuple[Judged, Results]:
    """Small judgements and runs, full of ties; every judged query has a grade of 0 or more (peers crash without)."""
    scores = st.sampled_from(SCORES) | st.floats(-1e30, 1e30).map(repr)
    qids = st.sampled_from(["1", "2", "10", "q1", "q-unjudged"])
    pairs = st.tuples(qids, st.sampled_from(DOCS))
    judged = draw(st.dictionaries(pairs, st.integers(-2, 4), min_size=1, max_size=20))
    judged |= {(qid, "never"): 0 for qid, _ in judged if qid != "q-unjudged"}
    results = draw(st.dictionaries(pairs, scores, min_size=1, max_size=30))
    known = [(qid, doc, grade) for (qid, doc), grade in judged.items() if qid != "q-unjudged"]
    return known or [("1", "d1", 1)], draw(st.permutations([(*pair, text) for pair, text in results.items()]))


@given(collections())
@settings(max_examples=150, deadline=None)
def test_every_value_equals_plain_arithmetic_and_ir_measures(given_: tuple[Judged, Results]) -> None:
    judged, results = given_
    ranked = scored(judged, results)
    values, expected = ranked.values(), plain(judged, results)
    assert ranked.qids == sorted(expected, key=natural)
    for name, column in values.items():
        wanted = [float(expected[qid][name]) for qid in ranked.qids]
        assert column.tolist() == pytest.approx(wanted, abs=1e-12), name
        exact = ranked.means()[name]
        assert exact is not None
        if not name.startswith("ndcg"):
            assert exact == sum((Fraction(expected[qid][name]) for qid in ranked.qids), Fraction(0)) / len(expected)
        assert float(exact) == pytest.approx(math.fsum(wanted) / len(wanted), abs=1e-12)

    qrels: dict[str, dict[str, int]] = defaultdict(dict)
    run: dict[str, dict[str, float]] = defaultdict(dict)
    for qid, doc, grade in judged:
        qrels[qid][doc] = grade
    for qid, doc, text in results:
        run[qid][doc] = float(text)
    names = {str(measure(name)): name for name in values}
    seen = 0
    for row in ir_measures.iter_calc([measure(name) for name in values], dict(qrels), dict(run)):
        place = ranked.qids.index(row.query_id)
        assert values[names[str(row.measure)]][place] == pytest.approx(row.value, abs=1e-9), (row, judged, results)
        seen += 1
    assert seen == len(values) * len(ranked.qids)
    assert ranked.unjudged == sorted({qid for qid, _, _ in results} - set(ranked.qids), key=natural)
    sizes = {qid: sum(one == qid for one, _, _ in results) for qid in ranked.qids}
    assert ranked.returned.tolist() == [sizes[qid] for qid in ranked.qids]


@given(collections(), st.sampled_from([0, 1, 7]))
@settings(max_examples=60, deadline=None)
def test_values_do_not_rest_on_good_hashes(given_: tuple[Judged, Results], kept: int) -> None:
    judged, results = given_
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking, "_mixed", lambda words: words & np.uint64(kept))
        poor = scored(judged, results)
    assert {name: column.tolist() for name, column in poor.values().items()} == {
        name: column.tolist() for name, column in scored(judged, results).values().items()
    }


# the conventions, one by one


def test_ties_go_by_document_id_descending_in_byte_order() -> None:
    judged = [("q", "b", 1)]
    for others, rank in ((["a", "c"], 2), (["B", "c"], 2), (["ba", "é"], 3), (["a", "B"], 1)):
        assert scored(judged, [("q", doc, "0.5") for doc in [*others, "b"]]).first.tolist() == [rank], others
    long = [f"the-same-first-sixteen-{end}" for end in ("a", "b", "c", "cc")]
    ranked = scored([("q", doc, grade) for grade, doc in enumerate(long, 1)], [("q", doc, "1") for doc in long])
    assert ranked.ndcg[5].tolist() == [1.0]


def test_scores_that_differ_only_beyond_32_bits_are_ties() -> None:
    judged = [("q", "b", 1)]
    assert scored(judged, [("q", "b", "0.30000000"), ("q", "c", "0.300000001")]).first.tolist() == [2]
    assert scored(judged, [("q", "b", "0.300000001"), ("q", "c", "0.30000000")]).first.tolist() == [2]
    assert scored(judged, [("q", "b", "0.300001"), ("q", "c", "0.3")]).first.tolist() == [1]
    assert scored(judged, [("q", "b", "-0.0"), ("q", "a", "0.0")]).first.tolist() == [1]


def test_grades_missing_queries_and_short_lists() -> None:
    judged = [("1", "a", 2), ("1", "b", 1), ("1", "c", 0), ("1", "d", -1), ("2", "a", 1), ("3", "a", 0), ("4", "z", -1)]
    results = [("1", "d", "9"), ("1", "a", "8"), ("9", "a", "1"), ("3", "a", "1"), ("4", "z", "1")]
    ranked = scored(judged, results, (1, 5))
    assert ranked.qids == ["1", "2", "3", "4"]
    assert ranked.unjudged == ["9"]
    assert ranked.relevant.tolist() == [2, 1, 0, 0]
    assert ranked.returned.tolist() == [2, 0, 1, 1]
    assert ranked.first.tolist() == [2, 0, 0, 0]
    assert {k: found.tolist() for k, found in ranked.found.items()} == {1: [0, 0, 0, 0], 5: [1, 0, 0, 0]}
    assert ranked.ndcg[5].tolist() == [2 / math.log2(3) / (2 + 1 / math.log2(3)), 0, 0, 0]
    means = ranked.means()
    assert means["precision@5"] == Fraction(1, 20)
    assert means["recall@5"] == Fraction(1, 8)
    assert means["mrr"] == Fraction(1, 8)
    assert means["hit@1"] == 0


def test_means_are_exact_fractions() -> None:
    judged = [(str(q), str(d), 1) for q in (3, 7, 11) for d in range(q)]
    ranked = scored(judged, [(str(q), "0", "1") for q in (3, 7, 11)], (1,))
    assert ranked.means()["recall@1"] == (Fraction(1, 3) + Fraction(1, 7) + Fraction(1, 11)) / 3


def test_no_queries_no_mean() -> None:
    empty = np.zeros(0, np.int64)
    none = Gains(empty, empty, empty)
    ranked = Ranked([], (5,), {5: empty}, empty, empty, empty, {5: np.zeros(0)}, [], none, none)
    assert set(ranked.means().values()) == {None}


def test_the_order_of_the_lines_does_not_matter() -> None:
    judged = [(f"q{q}", f"d{d}", (q + d) % 3) for q in range(20) for d in range(9)]
    results = [(f"q{q}", f"d{d}", str((q * d) % 5)) for q in range(25) for d in range(4, 14)]
    one, other = scored(judged, results), scored(judged[::-1], results[::-1])
    assert one.qids == other.qids == [f"q{q}" for q in range(20)]
    assert one.unjudged == other.unjudged == [f"q{q}" for q in range(20, 25)]
    for name, column in one.values().items():
        assert column.tobytes() == other.values()[name].tobytes()


# parts


@given(st.lists(st.sampled_from(["q", "Q0", "x-"]).flatmap(lambda a: st.integers(0, 200).map(lambda n: f"{a}{n:02d}"))))
@example([])
@example(["10", "9", "09", "1"])
@example(["q1", "q"])
def test_natural_order_is_that_of_ids(qids: list[str]) -> None:
    assert [qids[place] for place in natural_order(qids)] == sorted(qids, key=natural)


@given(st.lists(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=30)))
def test_words_sort_and_compare_as_bytes(strings: list[str]) -> None:
    texts: Texts = texts_of(strings)
    rows = np.arange(len(strings))
    assert texts.pieces() == [string.encode() for string in strings]
    words = [texts.words(place).tolist() for place in range(16)]
    keys = list(zip(*words, strict=True))
    by_words = sorted(range(len(strings)), key=keys.__getitem__)
    assert [strings[row] for row in by_words] == sorted(strings, key=str.encode)
    if strings:
        other = np.roll(rows, 1)
        assert same(texts, texts.at(other)).tolist() == [
            strings[a] == strings[b] for a, b in zip(rows, other, strict=True)
        ]
        assert [hashes(texts)[row] == hashes(texts)[0] for row in rows] == [text == strings[0] for text in strings]
