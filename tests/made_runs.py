"""A small pipeline on paper: questions with one right answer each, and traces that are wrong where they are told to."""

import json
from collections.abc import Collection
from pathlib import Path

from conftest import Done, run_cli, write_jsonl

POLICY = """version = 1
{more}
[answers]
gold = "gold.jsonl"
traces = "traces.jsonl"

[[gate]]
metric = "answers.precision"
min = 0.5
"""


def lay(folder: Path, questions: int = 40, more: str = "") -> None:
    """A policy and a gold set; every question has a document of its own."""
    gold = [
        {"qid": f"q{nth:03}", "q": f"What is number {nth}?", "answerable": True,
         "gold_claim_substr": [f"value-{nth:03}"], "gold_citations": [f"doc{nth:03}|s1|c1"]}
        for nth in range(questions)
    ]  # fmt: skip
    write_jsonl(folder / "gold.jsonl", gold)
    (folder / "ragworthy.toml").write_text(POLICY.format(more=more))


def answer(folder: Path, wrong: Collection[int] = (), *, run: str = "") -> None:
    """Traces in which these questions have a wrong answer; `run` makes the bytes those of another run."""
    count = len((folder / "gold.jsonl").read_text().splitlines())
    traces = [
        {"qid": f"q{nth:03}", "retrieved_ids": [f"doc{nth:03}|s1|c1"], "note": run,
         "answer_json": {"claim": "something else" if nth in wrong else f"it is value-{nth:03}",
                         "citations": [f"doc{nth:03}|s1|c1"]}}
        for nth in range(count)
    ]  # fmt: skip
    write_jsonl(folder / "traces.jsonl", traces)


def failed(folder: Path, errors: Collection[int], wrong: Collection[int] = ()) -> None:
    """The same with errors instead of some answers."""
    answer(folder, wrong)
    lines = [json.loads(line) for line in (folder / "traces.jsonl").read_text().splitlines()]
    asked = [{"qid": one["qid"], "error": "timeout"} if nth in errors else one for nth, one in enumerate(lines)]
    write_jsonl(folder / "traces.jsonl", asked)


def gated(folder: Path, wrong: Collection[int] = (), *more: object, run: str = "", code: int = 0) -> Done:
    """One run of the pipeline and its gate."""
    answer(folder, wrong, run=run)
    done = run_cli("gate", "-c", folder / "ragworthy.toml", *more)
    assert done.code == code, done.err + done.out
    return done


def ids(folder: Path) -> list[str]:
    """The runs that are kept, oldest first."""
    done = run_cli("history", "list", "--format", "json", "-c", folder / "ragworthy.toml")
    assert done.code == 0, done.err
    return [one["run"] for one in json.loads(done.out)["runs"]]
