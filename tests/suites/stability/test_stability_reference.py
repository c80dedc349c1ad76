"""The reference profile of the stability suite against what the original program printed, byte for byte."""

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import Row, run_cli, write_jsonl
from places import SHARED
from ragworthy.reference.stability import DEFAULT_LIMITS, canon, score

DATA = SHARED / "data" / "reference_runs" / "stability"
CASES = range(5)


def expected(nth: int) -> dict[str, str]:
    cases: list[dict[str, str]] = json.loads((DATA / "expected.json").read_text(encoding="utf-8"))
    assert len(cases) == len(CASES)
    return cases[nth]


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


@pytest.mark.parametrize("nth", CASES)
@pytest.mark.data("data/reference_runs/stability")
def test_it_prints_the_bytes_of_the_original(nth: int) -> None:
    case = expected(nth)
    printed = json.dumps(score(lines(DATA / case["gold"]), lines(DATA / case["runs"])), indent=2) + "\n"
    assert printed == case["stdout"]


@pytest.mark.parametrize("nth", CASES)
@pytest.mark.data("data/reference_runs/stability")
def test_so_does_the_command_line(nth: int) -> None:
    case = expected(nth)
    done = run_cli(
        *("score", "stability", "--profile", "reference"),
        *("--gold", DATA / case["gold"], "--runs", DATA / case["runs"]),
    )
    assert done.out == case["stdout"]
    assert done.code == (0 if json.loads(case["stdout"])["pass"] else 1)


GOLD: Row = {
    "qid": "q1",
    "question": "Explain how X treats null keys?",
    "answerable": True,
    "gold_claim_substr": ["rejects null keys"],
    "gold_citations": ["p1#2"],
}
NONE: Row = {"qid": "q2", "question": "What is Z?", "answerable": False, "gold_claim_substr": [], "gold_citations": []}


def run(qid: str, seed: int, claim: str, *cited: str, **more: Any) -> Row:
    answer = {"claim": claim, "citations": list(cited)} | more
    retrieved = ["p1#1", "p1#2", "p2#1"]
    return {"qid": qid, "seed": seed, "jitter": "none", "answer_json": answer, "retrieved_ids": retrieved}


def test_w43_numbers() -> None:
    runs = [
        run("q1", 0, "X rejects null keys.", "p1#2"),
        run("q1", 1, "X rejects null keys", "p1#2"),
        run("q1", 2, "X always rejects null keys.", "p1#2", "p2#1"),
        run("q1", 3, "not in context"),
    ]
    found = score([GOLD], runs)
    # 3 of 4 contain and hit; a refusal empties the intersection; distances 0, 7/26, 7/26, the median is 0.26923.
    numbers = {"acr": 0.75, "cghc": 0.75, "css": 0.0, "ned50": 0.2692, "rcr": 0.75, "scu_cons": None}
    assert found["details"] == {"q1": numbers}
    assert found["totals"] == {"answerable": 1, "unanswerable": 0, "fail": 1, "pass": 0}
    assert found["pass"] is False


def test_w43_a_blank_before_the_full_stop_counts_there() -> None:
    claims = ["X rejects null keys."] * 3 + ["X rejects null keys ."]
    found = score([GOLD], [run("q1", seed, claim, "p1#2") for seed, claim in enumerate(claims)])
    # Three pairs are 0 apart and three 1/20: the median of 0, 0, 0, 1/20, 1/20, 1/20 is 1/40.
    assert len(canon(claims[3])) == 20
    assert found["details"]["q1"]["ned50"] == 0.025
    assert found["pass"] is True


def test_w44_always_answering_passes_there() -> None:
    always = score([NONE], [run("q2", seed, "Z is a thing") for seed in range(5)])
    assert (always["details"]["q2"]["rcr"], always["pass"]) == (1.0, True)
    mostly = score([NONE], [run("q2", seed, "not in context" if seed else "Z is a thing") for seed in range(5)])
    assert (mostly["details"]["q2"]["rcr"], mostly["pass"]) == (0.8, False)


def test_its_other_quirks() -> None:
    strange = score([GOLD], [run("other", 0, "anything")])
    assert strange["totals"] == {"answerable": 0, "unanswerable": 1, "fail": 0, "pass": 1}
    assert list(strange["details"]) == ["other"]
    signs = GOLD | {"gold_claim_substr": ["?!?!?"]}
    assert score([signs], [run("q1", 0, "wrong", "p1#2")])["details"]["q1"]["acr"] == 1.0
    wide = score([GOLD], [run("q1", 0, "X rejects null keys。", "p1#2"), run("q1", 1, "X rejects null keys", "p1#2")])
    assert wide["details"]["q1"]["ned50"] == 0.05
    locked = GOLD | {"constraints": ["a", "b"]}
    echoed = [run("q1", 0, "X rejects null keys", "p1#2", constraints_echo=["b", "a", "a"])]
    assert score([locked], echoed)["details"]["q1"]["scu_cons"] == 1
    assert score([locked], [*echoed, run("q1", 1, "X rejects null keys", "p1#2")])["details"]["q1"]["scu_cons"] == 0


def test_a_limit_on_the_refusal_rate_is_its_limit_on_consistency() -> None:
    limits = {"acr": 0.95, "cghc": 0.95, "css": 0.70, "ned50": 0.20, "refusal_rate": 0.98}
    assert score([], [], limits) == score([], [])
    assert list(score([], [], limits)["gates"]) == list(DEFAULT_LIMITS)


def test_where_the_original_stops_the_command_says_so(tmp_path: Path) -> None:
    gold = write_jsonl(tmp_path / "gold.jsonl", [GOLD])
    runs = write_jsonl(tmp_path / "runs.jsonl", [{"qid": "q1", "answer_json": None}])
    done = run_cli("score", "stability", "--profile", "reference", "--gold", gold, "--runs", runs)
    assert (done.code, done.out) == (2, "")
    assert "the reference scorer stops on this input (AttributeError: " in done.err
    assert "[RW-U02]" in done.err


def test_an_error_beside_an_answer_is_not_looked_at() -> None:
    """As in the original: only the usual profile takes an error for an empty answer."""
    runs = [run("q1", seed, "X rejects null keys.", "p1#2") for seed in (0, 1)]
    assert score([GOLD], [runs[0], runs[1] | {"error": "timeout"}]) == score([GOLD], runs)
