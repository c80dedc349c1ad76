"""Both sides of a comparison on the same terms: documents that only one of them knows, losses that nobody judges."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import run_cli, write_jsonl
from ragworthy.rows import Rows, pair, together

Report = dict[str, Any]
QUESTIONS = 60


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def lay(wrong: int) -> None:
    """Questions about sixty chunks, and traces of which the first ones are wrong."""
    gold = [
        {"qid": f"q{nth}", "question": f"question {nth}", "answerable": True, "gold_claim_substr": [f"value {nth:03}"],
         "gold_citations": [f"c{nth}"]} for nth in range(QUESTIONS)
    ]  # fmt: skip
    write_jsonl(Path("gold.jsonl"), gold)
    traces = [
        {"qid": f"q{nth}", "retrieved_ids": [f"c{nth}"],
         "answer_json": {"claim": "something else" if nth < wrong else f"value {nth:03}", "citations": [f"c{nth}"]}}
        for nth in range(QUESTIONS)
    ]  # fmt: skip
    write_jsonl(Path("traces.jsonl"), traces)


def corpus(name: str, lumped: int) -> None:
    """The chunks, of which the first ones are of one document, and each other one of its own."""
    chunks = [
        {"chunk_id": f"c{nth}", "doc_id": "lump" if nth < lumped else f"d{nth}", "text": f"value {nth:03}"}
        for nth in range(QUESTIONS)
    ]
    write_jsonl(Path(name), chunks)


SCORE = ("score", "answers", "--gold", "gold.jsonl", "--trace", "traces.jsonl")
EASY = ("-q", "--gates", "precision=0.01", "--no-default-gates")


def based(lumped: int, wrong: int = 7) -> None:
    """A baseline with a corpus, and a run in which some questions are wrong."""
    lay(0)
    corpus("old.jsonl", lumped)
    assert run_cli(*SCORE, "--corpus", "old.jsonl", "-o", "base.json", *EASY).code == 0
    lay(wrong)


def policy(more: str = "", gate: str = '[[gate]]\nmetric = "precision"\nmax_drop = 0.02\n') -> None:
    files = '[answers]\ngold = "gold.jsonl"\ntraces = "traces.jsonl"\ncorpus = "new.jsonl"\n'
    Path("ragworthy.toml").write_text(f'version = 1\nbaseline = "base.json"\ndefaults = false\n{more}{files}{gate}')


def gated() -> tuple[int, Report, list[str]]:
    done = run_cli("gate", "--format", "json")
    report: Report = json.loads(done.out)
    warned = [one["message"] for one in report["suites"]["answers"]["warnings"] if one["code"] == "RW-W149"]
    return done.code, report["gates"][0]["paired"], warned


TOLD = "7 questions are of one document in one run and not in the other: they are taken together only where both say so"


@pytest.mark.parametrize(("before", "now", "warned"), [(0, 7, [TOLD]), (7, 0, [TOLD]), (0, 0, [])])
def test_questions_are_of_one_document_only_where_both_runs_say_so(before: int, now: int, warned: list[str]) -> None:
    """Seven of seven are worse: 2⁻⁷, whichever side lumps them together. One toss of a coin would be 0.5."""
    based(before)
    corpus("new.jsonl", now)
    policy()
    code, paired, said = gated()
    assert (code, paired["p"], paired["clusters"]) == (1, pytest.approx(2**-7), QUESTIONS)
    assert said == warned


def test_where_both_lump_them_it_is_one_toss_as_before() -> None:
    based(7)
    corpus("new.jsonl", 7)
    policy()
    code, paired, said = gated()
    assert (code, paired["p"], said) == (3, 0.5, [])
    policy('cluster = "question"\n')  # asked for: nothing to be warned of
    code, paired, said = gated()
    assert (code, paired["p"], said) == (1, pytest.approx(2**-7), [])


def test_compare_takes_the_finer_documents_too_and_says_so() -> None:
    based(0)
    corpus("new.jsonl", 7)
    run_cli(*SCORE, "--corpus", "new.jsonl", "-o", "after.json", *EASY)
    body = json.loads(run_cli("compare", "base.json", "after.json", "--format", "json").out)
    assert body["metrics"]["answers.precision"]["p"] == pytest.approx(2**-6)
    assert body["suites"]["answers"]["notes"] == [TOLD]
    for form in ("text", "markdown"):
        assert TOLD in run_cli("compare", "base.json", "after.json", "--format", form).out


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz")), max_size=12))
def test_two_questions_are_together_exactly_where_both_runs_have_them_so(groups: list[tuple[str, str]]) -> None:
    old, new = [one for one, _ in groups], [other for _, other in groups]
    found = together(old, new)
    peers = [{nth for nth, other in enumerate(found) if other[0] == one[0]} for one in found]
    for nth, (one, other) in enumerate(groups):
        before, after = (
            {at for at, name in enumerate(side) if name == mine} for side, mine in ((old, one), (new, other))
        )
        assert peers[nth] == before & after and found[nth][1] is (before != after)


def test_questions_of_one_run_only_keep_their_documents() -> None:
    def rows(qids: str, clusters: str) -> Rows:
        size = len(qids)
        return Rows(tuple(qids), tuple(clusters), (None,) * size, (None,) * size, (1,) * size, ((),) * size, {})

    joined = pair(rows("abc", "xxx"), rows("bcd", "yzz"))
    assert joined.new.clusters == ("y", "z", "z") and joined.regrouped == 2  # b and c are of one document before


# a loss that no gate looks at


def test_a_proven_loss_that_no_gate_judges_stands_beside_the_verdict() -> None:
    based(0, wrong=15)
    corpus("new.jsonl", 0)
    policy(gate='[[gate]]\nmetric = "precision"\nmin = 0.5\n')
    told = "a loss against the baseline is proven, and no gate judges it: answers.precision, answers.containment"
    done = run_cli("gate", "--full")
    assert done.code == 0 and done.out.startswith(f"SHIP: all 2 gates hold ({told})\n") and "[RW-W150]" in done.out
    assert f"- {told}\n" in run_cli("gate", "--full", "--format", "markdown").out.split("|")[0].replace("`", "")
    lay(0)
    done = run_cli("gate", "--full")
    assert done.out.startswith("SHIP: all 2 gates hold\n") and "[RW-W108]" in done.out and "RW-W150" not in done.out


# one loss, two bounds


def test_the_interval_of_a_report_excludes_no_loss_that_its_gate_does_not(tmp_path: Path) -> None:
    """Three documents: z² / (n + z²) is 47.4 points one-sided (z = 1.645), and 56.2 two-sided (z = 1.960)."""
    chunks = [{"chunk_id": f"c{nth}", "doc_id": f"d{nth % 3}", "text": f"value {nth:03}"} for nth in range(QUESTIONS)]
    lay(0)
    write_jsonl(Path("new.jsonl"), chunks)
    run_cli(*SCORE, "--corpus", "new.jsonl", "-o", "base.json", *EASY)
    lay(4)
    policy()
    report = json.loads(run_cli("gate", "--format", "json").out)
    gate, compared = report["gates"][0]["paired"], report["suites"]["answers"]["compared"]["metrics"]
    assert gate["upper"] == pytest.approx(1.6449**2 / (3 + 1.6449**2), abs=1e-4)
    assert -compared["answers.precision"]["low"] == pytest.approx(1.96**2 / (3 + 1.96**2), abs=1e-4)
    assert "-6.7 points (-56.1 … " in run_cli("gate").out
