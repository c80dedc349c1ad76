"""Two sides with different numbers of runs: what is fixed and what is broken goes by the share of good runs."""

import json
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import pytest

from conftest import run_cli, write_jsonl
from ragworthy.comparison.compared import Run, compare
from ragworthy.comparison.records import Suite
from ragworthy.metrics.registry import all_metrics
from ragworthy.report.changes import _way
from ragworthy.rows import GOOD_RUNS, Rows

GOOD = "answers.good"
BAD = "ANS_NO_CONTAIN"


def rows(runs: Sequence[Sequence[int]]) -> Rows:
    """Questions with the runs that were good; of two equal halves the wrong one gives the label, as in a report."""
    many = len(runs[0])
    qids = tuple(f"q{nth}" for nth in range(len(runs)))
    labels = tuple("OK" if 2 * sum(one) > many else BAD for one in runs)
    causes = tuple(None if label == "OK" else "claim_wrong" for label in labels)
    words = {GOOD: tuple(Fraction(sum(one), many) for one in runs)} if many > 1 else {}
    return Rows(qids, qids, labels, causes, (many,) * len(qids), ((),) * len(qids), words)


def compared(a: Sequence[Sequence[int]], b: Sequence[Sequence[int]]) -> Suite:
    return compare(Run(rows(a)), Run(rows(b)), all_metrics("answers"))


def test_a_question_is_broken_where_fewer_of_its_runs_are_good() -> None:
    """Three runs against two: 2/3 → 1/2, 1/3 → 1/2, 1/2 has no match in three, 1 → 1, 0 → 0, 2/3 → 1."""
    a = [(1, 1, 0), (1, 0, 0), (1, 1, 1), (0, 0, 0), (1, 1, 0)]
    b = [(1, 0), (0, 1), (1, 1), (0, 0), (1, 1)]
    found = compared(a, b)
    assert [one.qid for one in found.broken] == ["q0"]
    assert [one.qid for one in found.fixed] == ["q1", "q4"]
    assert (found.moved, found.changed) == ([], 3)
    number = found.metrics[GOOD]
    assert (number.fixed, number.broken) == (len(found.fixed), len(found.broken))


def test_as_many_good_runs_are_neither_fixed_nor_broken() -> None:
    found = compared([(1, 1, 0, 0)], [(1, 0)])
    assert (found.fixed, found.broken, found.moved, found.changed) == ([], [], [], 0)


def test_the_same_pipeline_is_not_broken_by_being_asked_less_often() -> None:
    """Every question is right half of the time: by labels alone nothing could ever be fixed."""
    a = [[int(nth >> bit & 1) for bit in range(3)] for nth in range(8) for _ in range(4)]
    b = [[int(nth >> bit & 1) for bit in range(2)] for _ in range(8) for nth in range(4)]
    found = compared(a, b)
    by_label = Counter(zip(rows(a).labels, rows(b).labels, strict=True))
    assert (by_label[BAD, "OK"], by_label["OK", BAD]) == (4, 12)
    assert len(found.fixed) == len(found.broken) == 15


def test_one_run_is_put_beside_the_share_of_several() -> None:
    found = compared([(1,), (0,), (1,)], [(1, 0), (1, 0), (1, 1)])
    assert ([one.qid for one in found.broken], [one.qid for one in found.fixed]) == (["q0"], ["q1"])
    broken, fixed = found.broken[0], found.fixed[0]
    assert (broken.good_a, broken.good_b, fixed.good_a, fixed.good_b) == (1.0, 0.5, 0.0, 0.5)


def shared(labels: Sequence[str], runs: int, shares: Sequence[str | None]) -> Run:
    """Rows of suites whose label is not a majority of the runs: the worst of them, or whether limits are kept."""
    qids = tuple(f"q{nth}" for nth in range(len(labels)))
    causes = tuple(None if label == "OK" else "claim_wrong" for label in labels)
    own = {GOOD_RUNS: tuple(shares)} if any(shares) else {}
    return Run(Rows(qids, qids, tuple(labels), causes, (runs,) * len(qids), ((),) * len(qids), {}, own))


def test_the_share_of_good_runs_is_told_where_the_label_is_that_of_the_worst() -> None:
    a, b = shared(["OK", BAD, "OK"], 4, ["1", "1/4", "1"]), shared([BAD, BAD, "UNSTABLE"], 2, ["1/2", "1/2", "1"])
    found = compare(a, b, all_metrics("stability"))
    assert [(one.qid, one.good_a, one.good_b) for one in found.broken] == [("q0", 1.0, 0.5), ("q2", 1.0, 1.0)]
    assert [(one.qid, one.good_a, one.good_b) for one in found.fixed] == [("q1", 0.25, 0.5)]


def test_an_older_report_says_only_what_labels_say() -> None:
    """It does not know the shares: then none is told, and none is put beside a label."""
    a, b = shared(["OK", BAD], 4, [None, None]), shared([BAD, BAD], 4, ["1/2", "1/2"])
    found = compare(a, b, all_metrics("stability"))
    assert [(one.qid, one.good_a, one.good_b) for one in found.broken] == [("q0", None, None)]
    assert found.fixed == []


def _said(qid: str, seed: int, claim: str) -> dict[str, object]:
    answer = {"claim": claim, "citations": ["c"]}
    return {"qid": qid, "seed": seed, "retrieved_ids": ["c"], "answer_json": answer, "e2e_ms": 100}


@pytest.mark.parametrize("suite", ["stability", "latency"])
def test_the_claim_shown_is_that_of_a_bad_run(suite: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wrong run is the first of four: the last one, and most of them, are right in both files."""
    monkeypatch.chdir(tmp_path)
    gold = {"question": "q?", "answerable": True, "gold_claim_substr": ["gold text"], "gold_citations": ["c"]}
    write_jsonl(Path("gold.jsonl"), [{"qid": qid, **gold} for qid in ("q0", "q1")])
    for name, first in (("a", "the gold text"), ("b", "other words")):
        claims = [first, *["the gold text"] * 3]
        runs = [_said(qid, seed, claim) for qid in ("q0", "q1") for seed, claim in enumerate(claims)]
        write_jsonl(Path(f"{name}.jsonl"), runs)
        run_cli("score", suite, "--gold", "gold.jsonl", "--runs", f"{name}.jsonl", "-q", "-o", f"{name}.json")
    done = run_cli("compare", "a.json", "b.json", "--format", "json")
    broken = json.loads(done.out)["suites"][suite]["broken"]
    told = [(one["qid"], one["good_a"], one["good_b"], one["claim_a"], one["claim_b"]) for one in broken]
    assert told == [(qid, 1.0, 0.75, "the gold text", "other words") for qid in ("q0", "q1")]


def test_the_way_of_a_question_names_the_share() -> None:
    told = {"label_a": "OK", "cause_a": None, "label_b": "OK", "cause_b": None, "good_a": 1.0, "good_b": 2 / 3}
    assert _way(told) == "OK, good in 100 → 67 % of runs"
    told |= {"label_b": BAD, "cause_b": "claim_wrong", "good_a": None, "good_b": None}
    assert _way(told) == "OK → ANS_NO_CONTAIN: claim_wrong"
