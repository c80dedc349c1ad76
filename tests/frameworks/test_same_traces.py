"""One pipeline, several ways to its traces: a target of `run`, the callback, the span processor, an import of spans.

All 72 questions of the bundled gold set, real documents, each framework's own splitter and BM25. Whatever way the
traces take, they say the same and give the same report.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import run_cli, write_jsonl
from framework_scripts import script
from places import ROOT, TESTS

EXAMPLES = ROOT / "src" / "ragworthy" / "examples"
WAYS = TESTS / "frameworks" / "ways"
SAID = ("retrieved_ids", "answer_json", "error")
COUNTS = ("prompt_tokens", "completion_tokens")
Row = dict[str, Any]


def rows(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def said(path: Path) -> dict[str, Row]:
    """What each trace says, by question; that no question has two is a part of it."""
    found = rows(path)
    by_qid = {one["qid"]: {key: one.get(key) for key in SAID} for one in found}
    assert len(by_qid) == len(found)
    return by_qid


def used(path: Path) -> dict[str, list[int]]:
    return {one["qid"]: [one["usage"][key] for key in COUNTS] for one in rows(path) if "usage" in one}


def gold(path: Path) -> Path:
    """The questions with the documents that answer them; the ids of the bundled chunks are none of these pipelines."""
    made = []
    for one in rows(EXAMPLES / "answers_gold.jsonl"):
        sources = sorted({cited.partition("|")[0] for cited in one["gold_citations"]})
        kept = {key: one[key] for key in ("qid", "question", "answerable", "gold_claim_substr", "topic")}
        made.append(kept | ({"gold_source": sources} if sources else {}))
    assert len(made) == 72
    return write_jsonl(path, made)


def report(gold_file: Path, traces: Path, chunks: Path, out: Path) -> Row:
    """The report as JSON, without the names and hashes of the files."""
    flags = ("--gold", gold_file, "--trace", traces, "--corpus", chunks, "--refusal-pack", "en", "-o", out)
    done = run_cli("score", "answers", *flags, "-q")
    assert done.err == ""
    whole: Row = json.loads(out.read_text(encoding="utf-8"))
    (suite,) = whole["suites"].values()
    assert suite["counts"]["missing"] == 0
    assert suite["counts"]["answered"] > 20
    suite["inputs"] = [one["role"] for one in suite["inputs"]]
    del whole["provenance"]
    bare: Row = json.loads(json.dumps(whole).replace(str(traces), "TRACES").replace(traces.name, "TRACES"))
    return bare


@pytest.mark.parametrize("name", ["langchain", "llamaindex", "haystack"])
def test_every_way_gives_the_same_traces_and_the_same_report(name: str, tmp_path: Path) -> None:
    asked = gold(tmp_path / "asked.jsonl")
    environment = {"CORPUS": str(EXAMPLES / "corpus"), "GOLD": str(asked)}
    script(WAYS / f"{name}_ways.py", tmp_path, cwd=tmp_path, **environment)
    target = f"{WAYS / name}_target.py:answer"
    script("-m", "ragworthy", "run", "--target", target, "--gold", asked, "--out", "run", cwd=tmp_path, **environment)
    flags = ("--trace-out", tmp_path / "imported.jsonl", "--chunks-out", tmp_path / "chunks.jsonl")
    assert run_cli("import", "otel", tmp_path / "otlp.jsonl", *flags).code == 0

    ways = {"run": tmp_path / "run" / "traces.jsonl"}
    names = ["spans", "imported"]
    names += ["callback", "batch", "abatch", "threads", "gold"] if name == "langchain" else []
    ways |= {one: tmp_path / f"{one}.jsonl" for one in names}
    first = said(ways["run"])
    assert len(first) == 72
    assert sum(bool(one["answer_json"]["citations"]) for one in first.values()) > 20
    for one, path in ways.items():
        assert said(path) == first, one
    assert used(ways["spans"]) == used(ways["imported"])
    for one in names[2:]:
        assert used(ways[one]) == used(ways["imported"]), one
    if name == "haystack":
        assert used(ways["run"]) == used(ways["imported"])
    assert len(used(ways["imported"])) == (0 if name == "llamaindex" else 72)

    reports = {one: report(asked, path, tmp_path / "chunks.jsonl", tmp_path / "r.json") for one, path in ways.items()}
    for one, made in reports.items():
        assert made == reports["run"], one


def test_nodes_that_a_citation_engine_cuts_are_the_same_by_every_way(tmp_path: Path) -> None:
    """Nodes of 160 tokens, cut into sources of 48: what the model saw, and may cite, are the pieces."""
    asked = gold(tmp_path / "asked.jsonl")
    environment = {"CORPUS": str(EXAMPLES / "corpus"), "GOLD": str(asked), "CITATION_CHUNK": "48"}
    script(WAYS / "llamaindex_ways.py", tmp_path, cwd=tmp_path, **environment)
    target = f"{WAYS / 'llamaindex'}_rag.py:engine"
    script("-m", "ragworthy", "run", "--target", target, "--gold", asked, "--out", "run", cwd=tmp_path, **environment)
    flags = ("--trace-out", tmp_path / "imported.jsonl", "--chunks-out", tmp_path / "chunks.jsonl")
    assert run_cli("import", "otel", tmp_path / "otlp.jsonl", *flags).code == 0
    first = said(tmp_path / "run" / "traces.jsonl")
    assert max(len(one["retrieved_ids"]) for one in first.values()) > 5  # five nodes were retrieved
    for way in ("spans", "imported"):
        assert said(tmp_path / f"{way}.jsonl") == first, way
    texts = {one["chunk_id"]: one["text"].split() for one in rows(tmp_path / "chunks.jsonl")}
    run = {one["chunk_id"]: one["text"].split() for one in rows(tmp_path / "run" / "chunks.jsonl")}
    assert texts == run
