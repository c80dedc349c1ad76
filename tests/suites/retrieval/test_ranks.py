"""TREC files under the suite protocol: one definition for each metric, however quickly it is worked out."""

import json
import random
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragworthy import flow
from ragworthy.metrics.facts.runs import Facts
from ragworthy.metrics.registry import find
from ragworthy.suites import SUITES
from ragworthy.suites.request import Request
from ragworthy.suites.retrieval import Retrieval
from ragworthy.suites.retrieval.rank_facts import BeyondRanksError, RankFacts, facts_of, word_of
from ragworthy.suites.retrieval.ranks import ONLY_RANKS, Queries
from ragworthy.trec.ranking import Ranked, score
from ragworthy.trec.read import read_qrels, read_run

KS = (1, 2, 3, 5, 10)
SCORES = ["1", "1.0", "1.00000001", "-3", "16777216", "16777217", "0", "-0.0", "1e-46", "7e3"]
DOCS = ["d1", "d2", "d10", "D2", "d1é", "a-document-id-of-thirty-two-bytes", "a-document-id-of-thirty-two-bytez"]


def files(folder: Path, judged: dict[tuple[str, str], int], results: dict[tuple[str, str], str]) -> tuple[Path, Path]:
    qrels, run = folder / "qrels.txt", folder / "run.txt"
    qrels.write_text("".join(f"{q} 0 {d} {grade}\n" for (q, d), grade in judged.items()), encoding="utf-8")
    run.write_text("".join(f"{q} Q0 {d} 0 {text} tag\n" for (q, d), text in results.items()), encoding="utf-8")
    return qrels, run


def ranked_of(judged: dict[tuple[str, str], int], results: dict[tuple[str, str], str]) -> Ranked:
    with tempfile.TemporaryDirectory() as folder:
        qrels, run = files(Path(folder), judged, results)
        return score(read_qrels(qrels), read_run(run), KS)


PAIRS = st.tuples(st.sampled_from(["1", "2", "10", "q1"]), st.sampled_from(DOCS))
JUDGED = st.dictionaries(PAIRS, st.integers(-2, 4), min_size=1, max_size=20)
RESULTS = st.dictionaries(PAIRS, st.sampled_from(SCORES), min_size=1, max_size=25)


@given(JUDGED, RESULTS)
@settings(max_examples=200, deadline=None)
def test_columns_equal_the_one_definition_of_each_metric(
    judged: dict[tuple[str, str], int], results: dict[tuple[str, str], str]
) -> None:
    ranked = ranked_of(judged, results)
    queries, facts = Queries(ranked, ()), list(facts_of(ranked))
    for identifier, column in queries.quick.items():
        name = find(identifier, default_k=5, suite="retrieval")
        assert name is not None
        words: list[Any] = [word_of(name, endless(one, name.k or 1)) for one in facts]
        if identifier.startswith("retrieval.ndcg"):  # sums of floats, in another order
            assert column.tolist() == pytest.approx(words, abs=1e-12)
        else:
            assert column.tolist() == [float(word) for word in words], identifier
            if identifier != "retrieval.missing":  # a count has no mean
                exact = queries.value(name).exact
                assert exact == sum(map(Fraction, words), Fraction(0)) / len(words)


def endless(facts: RankFacts, k: int) -> RankFacts:
    """As trec_eval looks at a list: it goes on with documents that are not relevant, so precision divides by k."""
    return facts._replace(returned=max(k, facts.returned))


def test_facts_of_ranks_say_what_was_returned() -> None:
    judged = {("q1", "d1"): 1, ("q1", "d2"): 3, ("q2", "d1"): 1, ("q3", "d9"): 0}
    results = {("q1", "d5"): "9", ("q1", "d2"): "8", ("q3", "d9"): "1"}
    # q1: two results, d2 at rank 2, d1 not found; q2: no result; q3: one result, and nothing is relevant
    assert list(facts_of(ranked_of(judged, results))) == [
        RankFacts(2, (2, 0), (2,), (3,), (3, 1)),
        RankFacts(0, (0,), (), (), (1,)),
        RankFacts(1, (0,), (), (), ()),
    ]


def test_facts_of_ranks_are_facts() -> None:
    assert set(RankFacts._fields) < set(Facts._fields)
    facts = RankFacts(5, (1, 0), (1,), (1,), (1, 1))
    with pytest.raises(BeyondRanksError):
        _ = facts.anchored
    with pytest.raises(AttributeError):  # a typo is not taken for a lack of the files
        _ = facts.anchord


# a metric that nobody thought of here

TRIAL = '''
import json, sys
from fractions import Fraction
from pathlib import Path
from ragworthy import flow
from ragworthy.gates import Gate
from ragworthy.metrics.registry import metric
from ragworthy.report import model
from ragworthy.suites import SUITES
from ragworthy.suites.request import Request


def retrieval(function):
    """Register a function as if it stood in metrics/retrieval.py."""
    function.__module__ = "ragworthy.metrics.retrieval"
    return metric(
        better="higher", kind="mean", over="run", cases="trial cases", event="trial", undefined="none", source="trial"
    )(function)


@retrieval
def average_precision(facts):
    """Mean of the precision at the rank of each relevant block."""
    if not facts.answerable or not facts.blocks:
        return None
    found = sum((Fraction(nth, rank) for nth, rank in enumerate(facts.relevant, 1)), Fraction(0))
    return found / len(facts.blocks)


@retrieval
def last_rank(facts):
    """One over the rank of the last relevant block, where there are two or more."""
    return Fraction(1, max(facts.relevant)) if len(facts.relevant) > 1 else None


@retrieval
def nearness(facts):
    """Something of the text."""
    return None if not facts.relevant else facts.delta_s


suite = SUITES["retrieval"].load()
files = {"qrels": Path(sys.argv[1]), "run": Path(sys.argv[2])}
gates = (Gate("retrieval.average_precision", ">=", "0.01", must_pass=()),)
part = flow.score_suite(suite, Request("retrieval", files, SUITES["retrieval"].settings(), gates))
print(json.dumps({"report": model.assemble([part]), "rows": list(part.rows())}))
'''


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    rng = random.Random(11)
    judged = {(f"q{q}", f"d{d}"): rng.randrange(4) for q in range(60) for d in range(12) if rng.random() < 0.4}
    results = {
        (f"q{q}", f"d{d}"): f"{rng.randrange(6) / 2}"
        for q in range(70)
        for d in range(20)
        if q % 9 and rng.random() < 0.6
    }
    return files(tmp_path_factory.mktemp("trec"), judged, results)


@pytest.fixture(scope="module")
def trial(pair: tuple[Path, Path]) -> dict[str, Any]:
    done = subprocess.run([sys.executable, "-c", TRIAL, *map(str, pair)], capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_new_rank_metric_is_computed_from_trec_files_too(trial: dict[str, Any], pair: tuple[Path, Path]) -> None:
    qrels, run = (str(path) for path in pair)
    peer: Any = ir_measures
    measured = peer.iter_calc([peer.AP], list(peer.read_trec_qrels(qrels)), list(peer.read_trec_run(run)))
    theirs = {one.query_id: one.value for one in measured}
    ours = {row["qid"]: row["metrics"]["retrieval.average_precision"] for row in trial["rows"]}
    assert len(theirs) == len(ours) > 50
    assert ours == pytest.approx(theirs, abs=1e-9)
    whole = trial["report"]["suites"]["retrieval"]["metrics"]["retrieval.average_precision"]
    assert whole["value"] == pytest.approx(sum(theirs.values()) / len(theirs))
    assert whole["ledger"]["scored"] == whole["n"] == len(ours)
    assert [gate["outcome"] for gate in trial["report"]["gates"]] == ["pass"]


def test_queries_that_a_metric_does_not_count_are_in_its_ledger(trial: dict[str, Any]) -> None:
    whole = trial["report"]["suites"]["retrieval"]["metrics"]["retrieval.last_rank"]
    rows = trial["rows"]
    counted = [row["metrics"]["retrieval.last_rank"] for row in rows if "retrieval.last_rank" in row["metrics"]]
    without = [row["undefined"]["retrieval.last_rank"] for row in rows if "retrieval.last_rank" in row["undefined"]]
    assert whole["ledger"]["scored"] == len(counted) > 0
    assert whole["ledger"]["not_applicable"] == len(without) > 0
    assert set(without) == {"not among the trial cases"}
    assert whole["ledger"]["expected"] == len(rows) == len(counted) + len(without)


def test_a_metric_that_needs_more_says_so(trial: dict[str, Any]) -> None:
    metrics = trial["report"]["suites"]["retrieval"]["metrics"]
    lacking = {name for name, one in metrics.items() if one["undefined"] == ONLY_RANKS}
    assert {"retrieval.nearness", "retrieval.coverage", "retrieval.anchor_hit@5", "retrieval.collapsed"} <= lacking
    assert not any(name.startswith(("retrieval.recall", "retrieval.average")) for name in lacking)
    for row in trial["rows"]:
        assert row["undefined"]["retrieval.nearness"] == ONLY_RANKS


def test_trec_files_are_a_variant_of_the_suite(pair: tuple[Path, Path]) -> None:
    suite, usual = SUITES["retrieval"].load(), Retrieval()
    trec = Request("retrieval", {"qrels": pair[0], "run": pair[1]}, usual, ())
    assert suite.variant(trec) is not suite
    assert suite.variant(trec._replace(given={"gold": "g.jsonl", "traces": "t.jsonl"})) is suite
    assert flow.score_suite(suite, trec).body["counts"]["gold"] == 58
