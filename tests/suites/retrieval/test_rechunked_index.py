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
    assert "re-chunked: the documents are the same and cut differently, so one_to_one is not a target here" in done.out
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
    """Sentences that stand whole in chunks of both: each side is compared with its own, and stale ids are INVALID."""
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
    assert report["invalid"] == [] and report["verdict"] in ("SHIP", "INCONCLUSIVE", "NO-SHIP")
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


def of_chunks(folder: Path, rows: list[Row], every: int = 3) -> Path:
    """A gold set that has only ids: some chunks, each asked for by words of its own."""
    picked = [row for row in rows[::every] if len(row["text"].split()) > 20]
    gold = [
        {"qid": f"{nth:02d}", "question": " ".join(row["text"].split()[3:12]), "relevant": [row["chunk_id"]]}
        for nth, row in enumerate(picked)
    ]
    return write_jsonl(folder / "ids.jsonl", gold)


@pytest.mark.parametrize(("own", "other"), [("live", "shadow"), ("shadow", "live")])
def test_ids_of_one_chunking_do_not_compare_it_with_another(world: World, tmp_path: Path, own: str, other: str) -> None:
    """A block in two parts is found with either of them: whoever has the parts would win."""
    renamed = {"live": "L", "shadow": "S"}
    for side in renamed:
        rows = [row | {"chunk_id": f"{renamed[side]}-{row['chunk_id']}"} for row in world.chunks[side]]
        docs = write_jsonl(tmp_path / f"{side}.jsonl", rows)
        assert run_cli("index", "build", "--docs", docs, "--out", tmp_path / side, "--dense", "none").code == 0
    rows = [json.loads(line) for line in (tmp_path / f"{own}.jsonl").read_text(encoding="utf-8").splitlines()]
    gold = of_chunks(tmp_path, rows)
    first = json.loads(gold.read_text(encoding="utf-8").splitlines()[0])["relevant"][0]
    done = run_cli("index", "diff", "--full", tmp_path / "live", tmp_path / "shadow", "--gold", gold)
    assert done.code == 4
    [why] = [line for line in done.out.splitlines() if line.endswith("[RW-G25]")]
    assert f" gold ids are blocks of {own} that {other} cuts differently, e.g. {first}: any part of them " in why
    assert why.endswith(
        "say what answers each question as gold_evidence and check it with 'ragworthy gold bind' [RW-G25]"
    )
    report = json.loads(
        run_cli(
            "index", "diff", "--full", tmp_path / "live", tmp_path / "shadow", "--gold", gold, "--format", "json"
        ).out
    )
    outcomes = {gate["metric"]: gate["outcome"] for gate in report["gates"]}
    assert outcomes.pop("retrieval.missing") == "pass" and {*outcomes.values()} == {"not_measured"}
    assert "better," not in done.out  # no headline of numbers that mean nothing
    assert report["suites"]["retrieval"]["live"]["canary"]["eligible"] is False
    same = run_cli("index", "diff", "--full", tmp_path / own, tmp_path / own, "--gold", gold)
    assert "RW-G25" not in same.out and "RW-G26" not in same.out


def test_a_tie_about_whose_ids_they_are_is_no_verdict(world: World, tmp_path: Path) -> None:
    """Both indexes number their chunks alike; a lock on one of them settles it, an edit that leaves them alone too."""
    for side in ("live", "shadow"):
        seen: dict[str, int] = {}
        rows = []
        for row in world.chunks[side]:
            number = seen[row["doc_id"]] = seen.get(row["doc_id"], -1) + 1
            rows.append(row | {"chunk_id": f"{row['doc_id']}-{number}"})
        docs = write_jsonl(tmp_path / f"{side}.jsonl", rows)
        assert run_cli("index", "build", "--docs", docs, "--out", tmp_path / side, "--dense", "none").code == 0
    gold = write_jsonl(tmp_path / "gold.jsonl", [{"qid": "1", "question": "bucket", "relevant": ["buckets.md-1"]}])
    diff = ("index", "diff", "--full", tmp_path / "live", tmp_path / "shadow", "--gold", gold)
    done = run_cli(*diff)
    assert done.code == 4
    assert (
        "not valid: 1 of 1 gold ids name one text in live and another in shadow, e.g. buckets.md-1, and nothing says "
        "whose they are: freeze the gold set on its index ('ragworthy gold freeze GOLD --corpus INDEX'), or say what "
        "answers each question as gold_evidence [RW-G26]\n"
    ) in done.out
    marked = json.loads((tmp_path / "live/manifest.json").read_text(encoding="utf-8"))["index_hash"]
    write_jsonl(gold, [{"qid": "1", "question": "bucket", "relevant": ["buckets.md-1"], "index_hash": marked}])
    assert "RW-G26" not in run_cli(*diff).out


def test_scores_over_redirects_to_another_chunking_say_so_beside_the_verdict(world: World, tmp_path: Path) -> None:
    table, traces, gold = tmp_path / "moves.json", tmp_path / "traces.jsonl", of_chunks(tmp_path, world.chunks["live"])
    run_cli("index", "migrate", world.live, world.shadow, "-o", table)
    assert run_cli("retrieve", "--index", world.shadow, "--gold", gold, "-o", traces, "--seeds", "0").code == 0
    given = ("--gold", gold, "--trace", traces, "--corpus", world.shadow, "--redirects", table)
    done = run_cli("score", "retrieval", "--full", *given, "--gates", "recall@5=0.1", "--no-default-gates")
    total = len(gold.read_text(encoding="utf-8").splitlines())
    assert done.out.splitlines()[0] == (
        f"SHIP: all 2 gates hold ({total} of {total} gold ids lead to blocks that are cut differently: any part of a "
        "block counts as the block, so these numbers may be too high)"
    )
    assert done.out.count("[RW-W93]") == 1


def test_ids_of_neither_index_are_called_that(world: World, tmp_path: Path) -> None:
    gold = write_jsonl(tmp_path / "gold.jsonl", [{"qid": "1", "question": "bucket", "relevant": ["elsewhere#1"]}])
    done = run_cli("index", "diff", "--full", world.live, world.shadow, "--gold", gold)
    assert done.code == 4
    assert "not valid: 1 of 1 gold ids are of neither index, e.g. elsewhere#1 [RW-G13]\n" in done.out
    assert "they are ids of neither index: take the gold set of these documents" in done.out
    assert "their text is gone" not in done.out and "(was 0.0)" not in done.out
    gates = [line.split()[1] for line in done.out.splitlines() if " drop ≤ 0.02" in line]
    assert gates == ["not_measured"] * 3


def test_the_reason_is_that_no_question_has_an_anchor_section(world: World, tmp_path: Path) -> None:
    gold, traces = of_chunks(tmp_path, world.chunks["live"]), tmp_path / "traces.jsonl"
    run_cli("retrieve", "--index", world.live, "--gold", gold, "-o", traces)
    done = run_cli("score", "retrieval", "--gold", gold, "--trace", traces, "--corpus", world.live, "--format", "json")
    metrics = json.loads(done.out)["suites"]["retrieval"]["metrics"]
    for name in ("anchor_hit@5", "anchor_distance", "token_coverage"):
        assert metrics[f"retrieval.{name}"]["undefined"] == "no question has an anchor section"


@pytest.mark.parametrize("way", [("live", "shadow"), ("shadow", "live")])
def test_between_chunkings_every_byte_of_a_block_is_led_to_and_no_new_block_is_left(
    world: World, tmp_path: Path, way: tuple[str, str]
) -> None:
    table = tmp_path / "moves.json"
    old, new = ({row["chunk_id"]: row for row in world.chunks[side]} for side in way)
    done = run_cli("index", "migrate", *(getattr(world, side) for side in way), "-o", table)
    assert done.code == 0 and f"{len(new):,} new blocks: 0 without an old one" in done.out
    for row in (row for one in json.loads(table.read_text())["documents"] for row in one["mappings"]):
        ids = [part["id"] for part in row["new_parts"]] if "new_parts" in row else [row["new_block_id"]]
        begin, end = old[row["old_block_id"]]["offsets"]
        held = {at for name in ids for at in range(*new[name]["offsets"])}
        assert held >= {*range(begin, end)}, row["old_block_id"]
        assert row["conf"] == 1.0


def test_a_cover_is_the_fewest_pieces() -> None:
    class Cut(NamedTuple):
        begin: int
        end: int

    assert cover(0, 10, [Cut(0, 4), Cut(0, 10), Cut(8, 12)]) == [(1, 0, 10)]
    assert cover(0, 10, [Cut(0, 4), Cut(5, 10)]) == [(0, 0, 4), (1, 5, 10)]  # a line end between them
    assert cover(0, 10, [Cut(0, 8)]) == []  # 0.8 is too little
