"""What a finished run leaves: traces, timings and a summary, each written whole, in the order of the plan."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragworthy.files import sha256_of, write_whole, write_with
from ragworthy.names import REFUSAL
from ragworthy.runner.contract import Target, about, reason_of
from ragworthy.runner.journal import Entry, Journal
from ragworthy.runner.plan import Plan, Planned
from ragworthy.text import trim_fold

SCHEMA = "ragworthy.run/1"
TRACES, TIMINGS, SUMMARY = "traces.jsonl", "timings.jsonl", "run.json"
FILES = (TRACES, TIMINGS, SUMMARY)


class Counts(NamedTuple):
    """The ledger of a run: asked = answered + refused + errored."""

    asked: int
    answered: int
    refused: int
    errored: int
    reasons: dict[str, int]
    """How often each kind of error came, by its stable word."""
    first: str | None = None
    """The first error, in full."""


def counted(journal: Journal) -> Counts:
    """What became of the questions that are done."""
    refused = 0
    reasons: Counter[str] = Counter()
    first: str | None = None
    for n in sorted(journal.done):
        one = journal.read(n)
        if one.error is not None:
            reasons[reason_of(one.error)] += 1
            first = first or one.error
        elif trim_fold(one.fields["answer_json"]["claim"]) == REFUSAL:
            refused += 1
    asked, errored = len(journal.done), reasons.total()
    return Counts(asked, asked - refused - errored, refused, errored, dict(sorted(reasons.items())), first)


def trace(one: Planned, config_id: str, fields: dict[str, Any], error: str | None) -> dict[str, Any]:
    """The trace of one question; it holds no clock but the target's own."""
    ask = one.ask
    told: dict[str, Any] = {
        "qid": ask.qid,
        "run_id": one.run_id,
        "q": ask.q,
        "seed": ask.seed,
        "jitter": ask.jitter,
        "paraphrase": ask.paraphrase,
        "noop": one.noop,
        "knobs": ask.knobs,
        "config_id": config_id,
    }
    if error is not None:
        return told | {"retrieved_ids": [], "answer_json": None, "error": error}
    return told | fields


def write(folder: Path, plan: Plan, target: Target, journal: Journal) -> Counts:
    """Write every result of a run whose questions are all done."""

    def traces(one: Planned, entry: Entry) -> dict[str, Any]:
        return trace(one, plan.config_id, entry.fields, entry.error)

    def timings(one: Planned, entry: Entry) -> dict[str, Any]:
        times = {"started": entry.started, "e2e_ms": entry.e2e_ms, "attempts": entry.attempts}
        return {"run_id": one.run_id, "qid": one.ask.qid, **times}

    counts = counted(journal)
    _write_lines(folder / TRACES, plan, journal, traces)
    _write_lines(folder / TIMINGS, plan, journal, timings)
    summary = {
        "schema": SCHEMA,
        "target": target.name,
        "about": about(target),
        "gold": {"path": plan.gold, "sha256": plan.gold_sha256},
        "plan_sha256": plan.sha256,
        "questions": plan.questions,
        "seeds": plan.seeds,
        "jitters": plan.jitters,
        "knobs": plan.knobs,
        "config_id": plan.config_id,
        "counts": {name: getattr(counts, name) for name in ("asked", "answered", "refused", "errored")},
        "reasons": counts.reasons,
        "traces_sha256": sha256_of(folder / TRACES),
    }
    write_whole(folder / SUMMARY, msgspec.json.format(msgspec.json.encode(summary), indent=2) + b"\n")
    return counts


def _write_lines(path: Path, plan: Plan, journal: Journal, line: Callable[[Planned, Entry], dict[str, Any]]) -> None:
    encode = msgspec.json.Encoder().encode

    def lines() -> Iterator[bytes]:
        for n, one in enumerate(plan.asks):
            yield encode(line(one, journal.read(n))) + b"\n"

    def fill(beside: Path) -> None:
        with beside.open("wb") as file:
            file.writelines(lines())

    write_with(path, fill)
