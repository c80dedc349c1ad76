"""Evidence for rollouts: two arms made by hand, of which the shadow is eligible unless it is told otherwise."""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

from conftest import run_cli, write_jsonl
from ragworthy.live.minutes import Minute
from ragworthy.live.rules import Sample

Row = dict[str, Any]
RUNS = [(paraphrase, seed) for seed in (1, 2) for paraphrase in (0, 1, 2)]


def block(section: int, number: int = 1) -> str:
    return f"S.{section}.p.Bk{number:03d}"


def lay(folder: Path, *, count: int = 20, shadow: str = "b", change: Mapping[int, Row] = {}) -> None:
    """A gold set, and traces of both indexes; `change` is what the shadow does otherwise, by question."""
    gold = [
        {"qid": f"Q{n}", "paraphrases": [f"wording {nth} of Q{n}" for nth in range(3)], "relevant": [block(n)],
         "anchor_section": f"S.{n}", "relevant_offsets": {block(n): [1000, 1100]}}
        for n in range(1, count + 1)
    ]  # fmt: skip
    write_jsonl(folder / "gold.jsonl", gold)
    write_jsonl(folder / "live.jsonl", traces(count, "a", {}))
    write_jsonl(folder / f"{shadow}.jsonl", traces(count, shadow, change))


def traces(count: int, index: str, change: Mapping[int, Row]) -> list[Row]:
    return [
        {"qid": f"Q{n}", "paraphrase": paraphrase, "seed": seed, "query": f"wording {paraphrase} of Q{n}",
         "topk": [{"id": block(n)}, {"id": block(99, n)}], "ΔS": [0.3, 0.7],
         "answer_citations": [{"id": block(n), "offsets": [1000, 1100]}], "index_hash": index,
         "normaliser_id": "norm/1", "reranker_id": "none", **change.get(n, {})}
        for n in range(1, count + 1)
        for paraphrase, seed in RUNS
    ]  # fmt: skip


def judged(folder: Path, *more: object, shadow: str = "b", code: int = 0) -> tuple[Path, Path]:
    """The report and the receipt of the shadow against live."""
    report, receipt = folder / f"{shadow}.report.json", folder / f"{shadow}.receipt.json"
    done = run_cli(
        "score", "retrieval", "-q", "--gold", folder / "gold.jsonl", "--trace", folder / f"{shadow}.jsonl",
        "--live", folder / "live.jsonl", "-o", report, "--receipt", receipt, *more,
    )  # fmt: skip
    assert done.code == code, done.out + done.err
    return report, receipt


# minutes


def minute(at: int, count: int, built: tuple[str, str] | None = None, **fields: str | Iterable[str]) -> Minute:
    """So many samples in one minute. A field is one number for all of them, or a number for each."""
    made = Minute(at)
    listed = {key: [value] * count if isinstance(value, str) else list(value) for key, value in fields.items()}
    for nth in range(count):
        said: dict[str, Any] = {key: Fraction(values[nth]) for key, values in listed.items()}
        made.add(Sample(Fraction(at * 60), built=built, **said))
    return made


def shares(ones: int, count: int) -> list[str]:
    """Zeros and ones, so many of them ones."""
    return ["1"] * ones + ["0"] * (count - ones)


# a log of both builds


def record(at: datetime, build: str, nth: int, **change: Any) -> Row:
    """A good answer of a build."""
    body: Row = {
        "qid": f"{build}-{at:%H%M%S}-{nth}", "question": f"question {nth} at {at:%H:%M:%S} to {build}",
        "retrieval": {"topk": [f"doc{nth % 7}#1", "doc9#2"], "metric": "cosine", "analyzer": "none",
                      "index_hash": {"v1": "a", "v2": "b"}.get(build, build), "embed_model": "m",
                      "ΔS_list": [0.3, 0.6], "λ_states": []},
        "answer": {"citations": [f"doc{nth % 7}#1"], "coverage": 1.0, "ΔS": 0.3, "λ_final": "→"},
        "perf": {"t_retrieve_ms": 40, "t_reason_ms": 400, "e2e_ms": 450},
        "context": {"client": "web", "build": build, "region": "eu"},
        "ts": at.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }  # fmt: skip
    for key, value in change.items():
        body[key] = body[key] | value if isinstance(value, dict) and key in body else value
    return body


def log(path: Path, since: datetime, minutes: int, canary: Mapping[str, Any] = {}, build: str = "v2") -> Path:
    """So many minutes of traffic after a time: 20 records a minute of v1 and 5 of the new build."""
    rows = []
    for nth in range(minutes):
        start = since + timedelta(minutes=nth)
        rows += [record(start + timedelta(seconds=1 + n), "v1", n) for n in range(20)]
        rows += [record(start + timedelta(seconds=30 + n), build, n, **canary) for n in range(5)]
    return write_jsonl(path, rows)


NOON = datetime(2026, 11, 2, 12, 0, tzinfo=UTC)


def moves(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


# commands

SIGNED = ("--by", "Ada Byron", "--reason", "new chunker")


def begun(folder: Path, *more: object, name: str = "docs-2") -> Path:
    ledger = folder / "rollout.jsonl"
    done = run_cli("rollout", "start", name, "--live", "v1", "--shadow", "v2", *SIGNED, "--ledger", ledger, *more)
    assert done.code == 0, done.err + done.out
    return ledger


def advanced(ledger: Path, *more: object) -> tuple[int, str]:
    done = run_cli("rollout", "advance", *SIGNED, "--ledger", ledger, *more)
    return done.code, done.out + done.err


def rolled_back(ledger: Path) -> None:
    assert run_cli("rollout", "rollback", *SIGNED, "--ledger", ledger).code == 0


def verified(ledger: Path, *more: object) -> tuple[int, str]:
    done = run_cli("rollout", "status", "--verify", "--ledger", ledger, *more)
    return done.code, done.out + done.err
