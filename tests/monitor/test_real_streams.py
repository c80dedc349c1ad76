"""Answers of real models in the order in which they came, as live traffic: what the monitor says is what is there."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from live_logs import NOON, alerts, told, write
from places import DATA


def stream(records: list[dict[str, Any]], each: float) -> list[dict[str, Any]]:
    """The records, so many seconds apart."""
    return [{**one, "ts": NOON + n * each} for n, one in enumerate(records)]


def traces(path: Path) -> list[dict[str, Any]]:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line) for line in data.splitlines()]


@pytest.mark.data("data/squad2/dev/trace_bert_single.jsonl.gz")
def test_answers_of_bert_and_what_breaks_half_way(tmp_path: Path) -> None:
    """6,608 answers at one a second; from the 4,000th on one of eight cites what was never retrieved."""
    real = traces(DATA / "squad2/dev/trace_bert_single.jsonl.gz")
    shipped = [one for one in real if one["answer_json"]["claim"].strip().lower() != "not in context"]
    found = told(write(tmp_path / "live.jsonl", stream(real, 1.0)), "--alerts", tmp_path / "a.jsonl")
    assert (found["counted"], found["problems"]) == (len(real), {})
    assert found["fields"]["refused"]["mean"] == pytest.approx(1 - len(shipped) / len(real), abs=1e-9)
    valid = [set(one["answer_json"]["citations"]) <= set(one["retrieved_ids"]) for one in shipped]
    cites = [bool(one["answer_json"]["citations"]) for one in shipped]
    good = sum(a and b for a, b in zip(valid, cites, strict=True))
    assert found["fields"]["valid"]["mean"] == pytest.approx(good / len(shipped), abs=1e-9)
    assert alerts(tmp_path / "a.jsonl") == []
    for n, one in enumerate(real):
        if n >= 4000 and n % 8 == 0:
            one["answer_json"]["citations"] = ["nowhere#0"]
    told(write(tmp_path / "drift.jsonl", stream(real, 1.0)), "--alerts", tmp_path / "b.jsonl")
    ((rule, state, at), *_) = alerts(tmp_path / "b.jsonl")
    assert (rule, state) == ("citation_mismatch", "firing")
    assert "13:07" <= at <= "13:20"  # 4,000 seconds are 67 minutes


@pytest.mark.data("data/llm_answers/qwen3_squad2/dev")
def test_four_configurations_of_a_model_one_after_the_other(tmp_path: Path) -> None:
    """The same hundred questions four times: orders of results are compared with those of the run before."""
    folder = DATA / "llm_answers/qwen3_squad2/dev"
    runs = [traces(folder / f"trace.qwen3-8b.config{n}.jsonl") for n in (1, 2, 3, 4)]
    real = [one for some in runs for one in some]
    found = told(write(tmp_path / "live.jsonl", stream(real, 2.0)), "--refusal-pack", "en")
    assert found["counted"] == len(real) == 400
    assert found["fields"]["tau"]["samples"] == sum(
        bool(one["retrieved_ids"]) and bool(before["retrieved_ids"])
        for some, earlier in zip(runs[1:], runs, strict=False)
        for one, before in zip(some, earlier, strict=True)
    )
    assert 0 < found["fields"]["refused"]["mean"] < 0.6
