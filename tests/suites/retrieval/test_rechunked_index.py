"""The same documents in two chunkings with overlap, as splitters make them: build, check, migrate, rebind, compare."""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from conftest import run_cli, write_jsonl
from places import ROOT
from ragworthy.corpus.recut import cover

Row = dict[str, Any]
DOCS = ROOT / "src/ragworthy/examples/corpus"


def windows(size: int, overlap: int) -> list[Row]:
    """Every document in windows of so many characters, with offsets in characters, as splitters write them."""
    rows = []
    for path in sorted(DOCS.rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        for at in range(0, max(1, len(text) - overlap), size - overlap):
            piece = text[at : at + size]
            place = {"chunk_id": f"{path.name}@{at}", "doc_id": path.name, "offsets": [at, at + len(piece)]}
            rows.append(place | {"text": piece})
    return rows


class World(NamedTuple):
    live: Path
    shadow: Path
    chunks: dict[str, list[Row]]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("rechunked")
    chunks = {"live": windows(600, 60), "shadow": windows(450, 45)}
    for name, rows in chunks.items():
        write_jsonl(folder / f"{name}.jsonl", rows)
        docs, out = folder / f"{name}.jsonl", folder / name
        done = run_cli("index", "build", "--docs", docs, "--out", out, "--dense", "none")
        assert done.code == 0, done.err
        done = run_cli("index", "check", out, "--docs", docs)
        assert (done.code, done.out.splitlines()[-1]) == (0, "check: sound (exit 0)")
    return World(folder / "live", folder / "shadow", chunks)


def test_an_index_of_overlapping_chunks_has_their_bytes(world: World) -> None:
    manifest = json.loads((world.live / "manifest.json").read_text(encoding="utf-8"))
    texts = {one["doc_id"]: (world.live / one["file"]).read_bytes() for one in manifest["documents"]}
    lines = (world.live / "chunks.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(world.chunks["live"])
    for line in lines:
        chunk = json.loads(line)
        begin, end = chunk["offsets"]
        assert texts[chunk["doc_id"]][begin:end].decode() == chunk["text"]
    for path in DOCS.rglob("*.md"):
        assert texts[path.name].decode() == path.read_text(encoding="utf-8")
    assert run_cli("index", "search", world.live, "deleted file", "--k", "1").out.startswith("1. ")


def test_a_rechunk_is_called_one_and_every_block_is_found_by_its_bytes(world: World, tmp_path: Path) -> None:
    table = tmp_path / "moves.json"
    done = run_cli("index", "migrate", world.live, world.shadow, "-o", table)
    assert (done.code, done.out.splitlines()[-1]) == (0, "migration: re-chunked, every target is reached (exit 0)")
    assert "n/a     one_to_one >= 0.95: " in done.out
    assert "re-chunked: the documents are the same and cut differently, so one_to_one is no target here" in done.out
    new = {row["chunk_id"]: row for row in world.chunks["shadow"]}
    old = {row["chunk_id"]: row for row in world.chunks["live"]}
    rows = [row for one in json.loads(table.read_text())["documents"] for row in one["mappings"]]
    assert len(rows) == len(old)
    for row in rows:
        text = old[row["old_block_id"]]["text"]
        parts = [new[part["id"]]["text"] for part in row["new_parts"]] if "new_parts" in row else []
        joined = "".join(parts) or new[row["new_block_id"]]["text"]
        words = text.split()[1:-1]  # a cut may go through the first and the last
        assert sum(word in joined for word in words) >= 0.85 * len(words)


def test_a_review_list_has_the_texts(world: World, tmp_path: Path) -> None:
    table = tmp_path / "moves.json"
    run_cli("index", "migrate", world.live, world.shadow, "-o", table)
    first = world.chunks["live"][0]
    gold = write_jsonl(
        tmp_path / "gold.jsonl", [{"qid": "1", "question": "What is it?", "relevant": [first["chunk_id"]]}]
    )
    corpora = ("--old", world.live, "--new", world.shadow)
    done = run_cli("gold", "rebind", gold, "--redirects", table, "-o", tmp_path / "new.jsonl", *corpora)
    assert done.code == 1
    assert done.out.splitlines()[-2] == (
        "next: gold_evidence or gold_source instead of ids needs no rebinding: see docs/gold.md, 'gold bind'"
    )
    [row] = [json.loads(line) for line in (tmp_path / "new.review.jsonl").read_text().splitlines()]
    assert (row["why"], row["question"], row["text"]) == ("split into 2 parts", "What is it?", first["text"])
    new = {one["chunk_id"]: one["text"] for one in world.chunks["shadow"]}
    assert [one["text"] for one in row["candidates"]] == [new[one["id"]] for one in row["candidates"]]
    assert len(row["candidates"]) == 2


def test_evidence_is_compared_over_two_chunkings(world: World, tmp_path: Path) -> None:
    """Sentences that stand whole in chunks of both: each side is held against its own, and stale ids are INVALID."""
    sentences = [
        ("buckets.md", "name of a deleted bucket", "bucket"),
        ("backup.md", "backup plan", "agent on each server does the work"),
    ]
    gold = []
    for nth, (doc, question, wanted) in enumerate(sentences):
        text = (DOCS / doc).read_text(encoding="utf-8")
        line = next(line for line in re.split(r"(?<=\.)\s", text) if wanted in line and 30 < len(line) < 300)
        gold.append({"qid": str(nth), "question": question, "gold_evidence": [line.strip()], "gold_source": [doc]})
    path = write_jsonl(tmp_path / "gold.jsonl", gold)
    done = run_cli("index", "diff", world.live, world.shadow, "--gold", path, "--format", "json")
    report = json.loads(done.out)
    assert report["invalid"] == [] and report["verdict"] in ("SHIP", "NO-SHIP")
    live = report["suites"]["retrieval"]["live"]
    for side, k in (("live", 10), ("shadow", 10)):
        found = 0.0
        index = world.live if side == "live" else world.shadow
        for one in gold:
            hits = json.loads(run_cli("index", "search", index, one["question"], "--k", k, "--format", "json").out)
            squeezed = [" ".join(hit["text"].split()) for hit in hits]
            evidence = " ".join(one["gold_evidence"][0].split())
            found += any(evidence in text for text in squeezed)
        assert live["deltas"]["retrieval.hit@10"][side] == pytest.approx(found / len(gold))
    ids = [one | {"relevant": ["buckets.md@1"]} for one in gold]
    for one in ids:
        del one["gold_evidence"], one["gold_source"]
    stale = write_jsonl(tmp_path / "ids.jsonl", ids)
    done = run_cli("index", "diff", world.live, world.shadow, "--gold", stale)
    assert done.code == 4 and "[RW-G13]" in done.out


def test_a_cover_is_the_fewest_pieces() -> None:
    class Cut(NamedTuple):
        begin: int
        end: int

    assert cover(0, 10, [Cut(0, 4), Cut(0, 10), Cut(8, 12)]) == [(1, 0, 10)]
    assert cover(0, 10, [Cut(0, 4), Cut(5, 10)]) == [(0, 0, 4), (1, 5, 10)]  # a line end between them
    assert cover(0, 10, [Cut(0, 8)]) == []  # 0.8 is too little
