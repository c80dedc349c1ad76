"""Whatever a log holds, a mirror reads it or says why not."""

import json
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import run_cli, write_jsonl
from ragworthy.mirror.answers import as_record, of_record
from ragworthy.mirror.compare import Pair, churn, cite_first, cited, lost, marked, rows, spread
from ragworthy.mirror.evidence import Matcher, Shelf
from ragworthy.mirror.questions import Question

LEAVES = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-2, 2) | st.sampled_from(["", "a", "b#1", "→", "x"])
INNER = ("id", "chunk_id", "text", "citations", "topk", "claim", "ΔS", "λ_final", "index_hash", "build")
ODD = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "chunk_id", "text", "citations", "topk", "claim", "ΔS", "λ_final"]), inner
        )
    ),
    max_leaves=8,
)
KEYS = ("retrieval", "answer", "answer_json", "topk", "retrieved_ids", "perf", "context", "error", "ts", "ΔS",
        "stage_ms", "answer_citations", "index_hash", "e2e_ms")  # fmt: skip
RECORDS = st.dictionaries(st.sampled_from(KEYS), ODD, max_size=8)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(RECORDS, RECORDS), max_size=4))
def test_odd_records_are_compared_all_the_same(given: list[tuple[dict[str, object], dict[str, object]]]) -> None:
    asked = [Question(str(nth // 3), f"wording {nth}?", nth % 3, 0, None, True) for nth in range(len(given))]
    sides = [[of_record(one) for one in side] for side in zip(*given, strict=True)] or [[], []]
    shelves = Shelf(), Shelf()
    made = []
    for side, shelf in zip(sides, shelves, strict=True):
        answers, states, _ = marked(list(zip(asked, side, strict=True)), shelf)
        made.append(answers)
        for nth, (question, answer) in enumerate(zip(asked, answers, strict=True)):
            assert answer is not None
            json.dumps(as_record(question, answer, "b", states.get(nth, [])))
    pairs = [Pair(*one) for one in zip(asked, *made, strict=True)]
    matcher = Matcher(*shelves)
    found = rows(pairs, matcher, shelves)
    assert all(0 <= one.overlap <= 1 and 0 <= one.rbo <= 1 and -1 <= one.tau <= 1 for one in found)
    json.dumps([churn(found), cited(found, matcher), lost(pairs, found, shelves)])
    told = cite_first((one.question, one.shadow) for one in pairs)
    assert told["kept"] + sum(told["broken"].values()) == told["answers"] <= len(pairs)
    spread(one.live.delta_s for one in pairs if one.live is not None)


def test_a_side_against_itself_changes_nothing(tmp_path: Path) -> None:
    live = [
        {"qid": f"{nth}", "q": f"Question {nth}?", "retrieved_ids": [f"d{nth}#1", f"d{nth}#2", "d0#9"],
         "answer_json": {"claim": "x", "citations": [f"d{nth}#1"]}}
        for nth in range(1, 30)
    ]  # fmt: skip
    path = write_jsonl(tmp_path / "traces.jsonl", live)
    words = ("mirror", "--live", path, "--shadow", f"replay:{path}", "--share", "1", "--out", tmp_path / "out")
    assert run_cli(*words).code == 0
    body = json.loads((tmp_path / "out" / "mirror.json").read_text(encoding="utf-8"))
    assert body["churn"] | {"most_changed": []} == {
        "questions": 29, "identical": 29, "overlap_mean": 1.0, "rbo_mean": 1.0, "tau_mean": 1.0, "most_changed": [],
    }  # fmt: skip
    assert body["lost"]["documents"] == 0 and body["citations"]["first_same"] == 29


def test_records_without_an_answer_are_told(tmp_path: Path) -> None:
    log = write_jsonl(tmp_path / "log.jsonl", [{"qid": "1", "question": "one?"}, {"qid": "2", "question": "two?",
                      "retrieval": {"topk": ["a"]}, "answer": {"citations": ["a"]}}])  # fmt: skip
    reply = {"retrieved_ids": ["a"], "answer_json": {"claim": "x", "citations": ["a"]}}
    asked = [{"qid": "1", "q": "one?", **reply}, {"qid": "2", "q": "two?", **reply}]
    traces = write_jsonl(tmp_path / "t.jsonl", asked)
    done = run_cli("mirror", "--live", log, "--shadow", f"replay:{traces}", "--share", "1", "--out", tmp_path / "out")
    assert done.code == 0 and "the live side has an answer to 1 of them\n" in done.out
    assert len((tmp_path / "out" / "live.jsonl").read_text(encoding="utf-8").splitlines()) == 1


@pytest.mark.parametrize("percent", [50, 90])
def test_distances_are_those_of_numpy(percent: int) -> None:
    import numpy as np

    values = [round(float(one), 6) for one in np.random.default_rng(3).random(101)]
    found = spread(values)
    expected = round(float(np.percentile(values, percent)), 6)
    assert abs(Fraction(str(found["median" if percent == 50 else "p90"])) - Fraction(str(expected))) <= Fraction(
        1, 10**6
    )
