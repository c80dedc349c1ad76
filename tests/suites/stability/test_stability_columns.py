"""What is kept of runs that are compared: what each says, once for all that say the same."""

import json
import tracemalloc
import unicodedata
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import run_cli, write_jsonl
from ragworthy import edits
from ragworthy.load.sources import open_source
from ragworthy.metrics import stability as m
from ragworthy.metrics.causes import Steps
from ragworthy.metrics.facts.answers import Rules
from ragworthy.records import Gold
from ragworthy.suites.stability.columns import Part, pass_of, read_runs

GOLD = {f"q{nth}": (nth, Gold(qid=f"q{nth}", answerable=True, gold_claim_substr=["42"])) for nth in range(3)}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def said(claim: str | None, cited: str = "", *, errored: bool = False) -> m.Said:
    return m.Said(
        refused=claim is None and not errored,
        errored=errored,
        claim=None if errored else claim,
        contains=False,
        hit=False,
        echoed=True,
        cited=frozenset(cited),
        found=False,
        retrieved=(),
        steps=Steps(answerable=True),
    )


runs_of = st.lists(
    st.builds(
        said,
        st.sampled_from([None, "the cat sat", "the cat sits", "a dog", "a dog barks at night"]),
        st.sampled_from(["", "a", "ab"]),
        errored=st.sampled_from([False, False, False, True]),
    ),
    max_size=9,
)


@given(runs_of)
def test_pairs_of_runs_are_counted_as_if_one_after_another(runs: list[m.Said]) -> None:
    question = m.Question(answerable=True, constrained=False, runs=tuple(runs))
    pairs = list(combinations(runs, 2))
    alike = sum(not a.errored and not b.errored and (a.refused, a.claim, a.cited) == (b.refused, b.claim, b.cited)
                for a, b in pairs)  # fmt: skip
    assert m.iaa(question) == (Fraction(alike, len(pairs)) if pairs else None)
    claims = [None if one.errored else one.claim for one in runs if one.errored or one.claim is not None]
    apart = [
        Fraction(1) if a is None or b is None else Fraction(edits.distance(a, b), max(len(a), len(b)))
        for a, b in combinations(claims, 2)
    ]
    assert m.ned50(question) == (median(apart) if apart else None)


@given(st.text(st.characters(codec="utf-8"), max_size=40))
def test_claims_lose_the_punctuation_of_every_script(text: str) -> None:
    plain = unicodedata.normalize("NFKC", text).lower()
    kept = "".join(sign for sign in plain if not unicodedata.category(sign).startswith("P"))
    assert m.canon(text).split() == kept.split()


def run(nth: int, claim: str, **more: Any) -> dict[str, Any]:
    answer = {"claim": claim, "citations": ["d#1"]}
    return {"qid": f"q{nth % 3}", "run_id": f"r{nth}", "retrieved_ids": ["d#1"], "answer_json": answer} | more


def parts_of(path: Path, of: int) -> list[Part]:
    one = pass_of(open_source("trace", path), GOLD, m.said_by(Rules()))
    return [one.unpack(one.pack(one.work(nth, of, None))) for nth in range(of)]


def test_parts_are_the_whole() -> None:
    texts = (None, "a")
    rows = [run(n, f"It is {n % 2}", seed=n % 4, warmup=n == 5, q=texts[n % 2]) for n in range(20)]
    path = write_jsonl(Path("runs.jsonl"), rows)
    source = open_source("trace", path)
    one, three = (read_runs(source, parts_of(path, of)) for of in (1, 3))
    assert (one.warmups, list(one.line), list(one.question)) == (
        1, [n + 1 for n in range(20) if n != 5], [n % 3 for n in range(20) if n != 5],
    )  # fmt: skip
    assert [one.said[row].claim for row in range(4)] == ["it is 0", "it is 1"] * 2
    assert len(one.said.values) == 2
    for name in ("question", "line", "known", "ids", "warmups", "answers"):
        assert getattr(one, name) == getattr(three, name)
    for name in ("said", "varied", "text"):
        assert [*map(getattr(one, name).__getitem__, range(19))] == [*map(getattr(three, name).__getitem__, range(19))]


def test_what_is_kept_of_a_run_does_not_grow_with_its_texts() -> None:
    """Runs of some kilobytes that mostly say the same take less than 200 bytes."""
    size, text = 2000, "word " * 200
    chunks = [f"d#{nth}" for nth in range(60)]
    rows = [run(nth, f"{nth % 5} {text}", seed=nth % 7, retrieved_ids=chunks, error=None) for nth in range(2 * size)]
    write_jsonl(Path("all.jsonl"), rows)
    write_jsonl(Path("half.jsonl"), rows[:size])
    kept = []
    tracemalloc.start()
    for name in ("half", "all"):
        before = tracemalloc.get_traced_memory()[0]
        part = parts_of(Path(f"{name}.jsonl"), 1)[0]
        kept.append(tracemalloc.get_traced_memory()[0] - before)
        assert len(part.runs) == size * len(kept)
    tracemalloc.stop()
    assert (kept[1] - kept[0]) / size < 200


def test_what_is_shown_of_a_run_is_read_from_its_line() -> None:
    write_jsonl(Path("gold.jsonl"), [{"qid": "q1", "answerable": True, "gold_claim_substr": ["42"]}])
    rows = [run(1, claim, run_id=f"r{nth}") for nth, claim in enumerate(("It is 42.", "It's 41!", "42"))]
    write_jsonl(Path("runs.jsonl"), rows)
    done = run_cli("score", "stability", "--gold", "gold.jsonl", "--runs", "runs.jsonl", "-o", "r.json", "-q")
    assert done.code == 1
    shown = json.loads(Path("r.json").read_text())["suites"]["stability"]["offenders"][0]
    assert (shown["run"], shown["claim"], shown["retrieved_ids"]) == ("r1", "It's 41!", ["d#1"])
