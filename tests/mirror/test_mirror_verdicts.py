"""What a mirror may ship on: a shadow that answers nothing, little, or less than live."""

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import Done, run_cli, write_jsonl
from ragworthy.names import REFUSAL

GOOD = {"claim": "It is.", "citations": ["a"]}
REFUSED = {"claim": REFUSAL, "citations": []}


def held(folder: Path, live: list[bool], shadow: list[bool], *more: object) -> tuple[Done, dict[str, Any]]:
    """A mirror of so many questions; False is a refusal."""
    rows = [{"qid": f"q{nth}", "question": f"What is {nth}?", "retrieval": {"topk": ["a"]},
             "answer": GOOD if good else REFUSED} for nth, good in enumerate(live)]  # fmt: skip
    traces = [{"qid": f"q{nth}", "q": f"What is {nth}?", "retrieved_ids": ["a"],
               "answer_json": GOOD if good else REFUSED} for nth, good in enumerate(shadow)]  # fmt: skip
    write_jsonl(folder / "log.jsonl", rows)
    write_jsonl(folder / "traces.jsonl", traces)
    done = run_cli("mirror", "--live", folder / "log.jsonl", "--shadow", f"replay:{folder / 'traces.jsonl'}",
                   "--share", "1", "--out", folder / "out", *more)  # fmt: skip
    return done, json.loads((folder / "out" / "mirror.json").read_text(encoding="utf-8"))


def test_a_shadow_that_refuses_everything_was_not_judged(tmp_path: Path) -> None:
    done, body = held(tmp_path, [True] * 30, [False] * 30, "-o", tmp_path / "page.md")
    assert (done.code, body["verdict"]) == (4, "INVALID")
    assert body["invalid"] == ["no answer of the shadow was judged: 30 refused, 0 errored"]
    assert body["answers"] == {"compared": 30, "live": 30, "shadow": 0, "only_live": 30, "only_shadow": 0}
    assert done.out.startswith("INVALID: no answer of the shadow was judged: 30 refused, 0 errored\n")
    assert "- INVALID: no answer of the shadow" in (tmp_path / "page.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("asked", "code"), [(1, 3), (14, 3), (15, 0)])
def test_a_budget_that_left_most_unasked_is_no_evidence(tmp_path: Path, asked: int, code: int) -> None:
    done, body = held(tmp_path, [True] * 30, [True] * 30, "--budget", asked)
    assert (done.code, body["asked"]["shadow"]["asked"]) == (code, asked)
    why = [f"more than half of the questions were not asked: {30 - asked} of 30"]
    assert body["inconclusive"] == (why if code else [])


@pytest.mark.parametrize(
    ("lost", "gained", "code"),
    [
        (2, 0, 0),  # 2 points of 100
        (4, 0, 0),  # 4 points, by luck 1 in 16
        (5, 0, 3),  # 5 points, by luck 1 in 32
        (6, 1, 0),  # 5 points, by luck 8 in 128
        (40, 30, 0),  # 10 points, by luck more often than 1 in 20
        (41, 30, 3),  # 11 points need no proof
        (0, 40, 0),  # more than live
    ],
)
def test_a_shadow_that_answers_less_than_live(tmp_path: Path, lost: int, gained: int, code: int) -> None:
    live = [True] * (100 - gained) + [False] * gained
    shadow = [False] * lost + [True] * (100 - lost)
    done, body = held(tmp_path, live, shadow)
    assert done.code == code, done.out
    why = (f"the shadow answers fewer questions than live: {100 - lost} and {100 - gained} of 100, {lost} answered by "
           "live alone")  # fmt: skip
    assert body["inconclusive"] == ([why] if code else [])
    assert (f"INCONCLUSIVE: {why}\n" in done.out) is bool(code)


def test_what_breaks_the_rule_is_no_ship_whatever_is_left_open(tmp_path: Path) -> None:
    done, body = held(tmp_path, [True] * 20, [True] * 10 + [False] * 10)
    assert (done.code, body["verdict"]) == (3, "INCONCLUSIVE")
    rows = [json.loads(line) for line in (tmp_path / "traces.jsonl").read_text(encoding="utf-8").splitlines()]
    write_jsonl(tmp_path / "traces.jsonl", [{**rows[0], "answer_json": {"claim": "x", "citations": []}}, *rows[1:]])
    done = run_cli("mirror", "--live", tmp_path / "log.jsonl", "--shadow", f"replay:{tmp_path / 'traces.jsonl'}",
                   "--share", "1", "--out", tmp_path / "again")  # fmt: skip
    assert done.code == 1 and done.out.endswith("verdict: NO-SHIP (exit 1)\n")
