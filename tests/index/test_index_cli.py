"""`index build | search | check | migrate` and `retrieve` on the command line, over a few documents of our own."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import ragworthy
from conftest import Done, run_cli, write_jsonl
from ragworthy.codes import CATALOGUE

Row = dict[str, Any]

GUIDE = """# Guide

Welcome to the elevator handbook.

## Doors

The doors close after ten seconds. A light barrier keeps them open while somebody is between them.

## Alarm

Press the yellow bell button for three seconds to call the control centre.

```python
def call() -> str:
    return "bell"
```

## Limits

| load | people |
|---|---|
| 630 kg | 8 |
| 1000 kg | 13 |
"""
BREAD = """# Bread

Sourdough needs flour, water and salt.

## Baking

Bake the loaf at 240 degrees for twenty minutes, then at 200 degrees for half an hour.

## Storing

Keep the loaf in a linen bag; never in the fridge. Über Nacht ruht der Teig: 電梯.
"""
DOCS = {"bread.md": BREAD, "guide.md": GUIDE}
DOORS, ALARM = "guide.md|s=1.1|p=000|b=001", "guide.md|s=1.2|p=000|b=001"
BAKING, STORING = "bread.md|s=1.1|p=000|b=001", "bread.md|s=1.2|p=000|b=001"
GOLD: list[Row] = [
    {
        "qid": "Q1",
        "paraphrases": ["When do the doors close?", "How long do doors stay open?", "What keeps the doors open?"],
        "relevant": [DOORS],
        "anchor_section": "1.1",
        "negatives": [ALARM],
    },
    {
        "qid": "Q2",
        "paraphrases": ["How hot is the loaf baked?", "Degrees for baking the loaf?", "Baking minutes of a loaf?"],
        "relevant": [BAKING],
        "anchor_section": "bread.md|s=1.1",
        "negatives": [STORING],
    },
]


class World(NamedTuple):
    """One folder with documents, an index with vectors, one without, and a gold set."""

    root: Path
    docs: Path
    dense: Path
    plain: Path
    gold: Path


def write_docs(folder: Path, docs: dict[str, str]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in docs.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    root = tmp_path_factory.mktemp("world")
    docs = write_docs(root / "docs", DOCS)
    assert run_cli("index", "build", "--docs", docs, "--out", root / "index").code == 0
    assert run_cli("index", "build", "--docs", docs, "--out", root / "plain", "--dense", "none").code == 0
    return World(root, docs, root / "index", root / "plain", write_jsonl(root / "gold.jsonl", GOLD))


def tree(path: Path) -> dict[str, bytes]:
    """Every file below a folder (hidden ones too) with its bytes."""
    return {one.relative_to(path).as_posix(): one.read_bytes() for one in sorted(path.rglob("*")) if one.is_file()}


def said(code: str, message: str) -> str:
    """What stderr holds for one problem."""
    return f"{message} [{code}]\n  {CATALOGUE[code].name}: {CATALOGUE[code].do}\n"


def refused(done: Done, code: str, message: str) -> None:
    assert (done.code, done.err) == (2, said(code, message))


# build


def test_a_folder_becomes_an_index_that_anyone_can_check(world: World, tmp_path: Path) -> None:
    done = run_cli("index", "build", "--docs", world.docs, "--out", tmp_path / "made")
    manifest = json.loads((tmp_path / "made/manifest.json").read_text())
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "2 documents, 8 chunks (code 1, prose 6, table 1)\n"
        "dense model: wordllama\n"
        f"index: {tmp_path / 'made'} ({manifest['index_hash']})\n"
        f"next: ragworthy index search {tmp_path / 'made'} Bread\n"
    )
    texts = {one["doc_id"]: (tmp_path / "made" / one["file"]).read_bytes() for one in manifest["documents"]}
    chunks = [json.loads(line) for line in (tmp_path / "made/chunks.jsonl").read_text().splitlines()]
    for chunk in chunks:
        begin, end = chunk["offsets"]
        assert texts[chunk["doc_id"]][begin:end].decode() == chunk["text"]
    assert {chunk["type"] for chunk in chunks} == {"prose", "code", "table"}
    assert next(chunk for chunk in chunks if chunk["chunk_id"] == STORING)["text"].endswith("電梯.")


def test_json_lines_and_a_folder_with_the_same_documents_give_the_same_bytes(world: World, tmp_path: Path) -> None:
    rows = [{"path": name, "text": text} for name, text in sorted(DOCS.items())]
    done = run_cli(
        "index", "build", "--docs", write_jsonl(tmp_path / "docs.jsonl", rows), "--out", tmp_path / "made"
    )  # fmt: skip
    assert done.code == 0
    assert tree(tmp_path / "made") == tree(world.dense)


def test_block_records_become_chunks(tmp_path: Path) -> None:
    rows = [
        {
            "block_id": "d|s=1|p=000|b=001",
            "doc_id": "d",
            "type": "prose",
            "section_id": "1",
            "text": "First block about ducks.",
        },
        {"block_id": "d|s=1.1|p=000|b=001", "doc_id": "d", "type": "code", "section_id": "1.1", "text": "quack()"},
    ]
    done = run_cli(
        "index", "build", "--docs", write_jsonl(tmp_path / "b.jsonl", rows), "--out", tmp_path / "i", "--dense", "none"
    )
    assert done.code == 0, done.err
    chunks = [json.loads(line) for line in (tmp_path / "i/chunks.jsonl").read_text().splitlines()]
    assert [(one["section_id"], one["type"]) for one in chunks] == [("1", "prose"), ("1.1", "code")]
    assert [(one["chunk_id"], one["text"]) for one in chunks] == [(row["block_id"], row["text"]) for row in rows]


def test_without_a_model_there_are_no_vectors_and_a_limit_splits_long_prose(world: World, tmp_path: Path) -> None:
    done = run_cli(
        "index", "build", "--docs", world.docs, "--out", tmp_path / "i", "--dense", "none", "--limit", 80
    )  # fmt: skip
    assert done.code == 0
    assert "dense model: none (BM25 only)\n" in done.out
    assert not (tmp_path / "i/vectors.npy").exists()
    chunks = [json.loads(line) for line in (tmp_path / "i/chunks.jsonl").read_text().splitlines()]
    parts = [one["chunk_id"] for one in chunks if one["chunk_id"].startswith(DOORS)]
    assert parts == [f"{DOORS}a", f"{DOORS}b"]  # two sentences, of which both do not fit
    assert max(len(one["text"].encode()) for one in chunks if one["type"] == "prose") <= 80


def test_what_is_passed_over_is_said_on_stderr_and_at_most_twenty_times(tmp_path: Path) -> None:
    docs = write_docs(tmp_path / "docs", {"a.md": "# A\n\nText of a.\n"} | {f"{n:02}.pdf": "%PDF" for n in range(23)})
    done = run_cli("index", "build", "--docs", docs, "--out", tmp_path / "i", "--dense", "none")
    lines = done.err.splitlines()
    assert done.code == 0
    assert lines[0] == f"note: {docs / '00.pdf'}: skipped: .pdf is not read"
    assert len(lines) == 21 and lines[-1] == "note: … and 3 more"


def test_building_again_replaces_the_index_and_leaves_nothing_beside_it(world: World, tmp_path: Path) -> None:
    for name in ("index", "plain"):
        shutil.copytree(world.root / name, tmp_path / name)
    docs = write_docs(tmp_path / "docs", {"new.txt": "Nothing but one sentence about tides."})
    assert run_cli("index", "build", "--docs", docs, "--out", tmp_path / "index").code == 0
    assert sorted(one.name for one in tmp_path.iterdir()) == ["docs", "index", "plain"]
    assert "new.txt" in run_cli("index", "search", tmp_path / "index", "tides").out
    assert tree(tmp_path / "plain") == tree(world.plain)


BUILD_ERRORS: dict[str, tuple[list[str], str, str]] = {
    "missing": (["--docs", "{}/nope"], "RW-F01", "{}/nope: expected a file, got nothing at this path"),
    "empty": (["--docs", "{}/empty"], "RW-D03", "{}/empty: expected documents, got none"),
    "binary": (["--docs", "{}/bin.md"], "RW-D01", "{}/bin.md: expected UTF-8, got byte 0xff at offset 0"),
    "nul": (["--docs", "{}/nul.txt"], "RW-D01", "{}/nul.txt: expected text, got a NUL byte at offset 1"),
    "shape": (["--docs", "{}/bad.jsonl"], "RW-D05", "{}/bad.jsonl:2: path: expected a string, got 3"),
    "json": (
        ["--docs", "{}/cut.jsonl"],
        "RW-F07",
        '{}/cut.jsonl:1: expected a JSON object, got {{"path": "a" (Input data was truncated)',
    ),
    "twice": (
        ["--docs", "{}/twice.jsonl"],
        "RW-D02",
        '{0}/twice.jsonl:2: expected a new document id, got "a.md" again (first at {0}/twice.jsonl:1)',
    ),
    "model": (
        ["--docs", "{}/docs", "--dense", "gpt"],
        "RW-U01",
        'expected a model (wordllama, minilm or openai:MODEL@URL), got "gpt"',
    ),
}


@pytest.fixture
def bench(world: World, tmp_path: Path) -> Path:
    """A folder with an index in use and several things that cannot be indexed."""
    shutil.copytree(world.plain, tmp_path / "index")
    shutil.copytree(world.docs, tmp_path / "docs")
    (tmp_path / "empty").mkdir()
    (tmp_path / "bin.md").write_bytes(b"\xff\xfe")
    (tmp_path / "nul.txt").write_bytes(b"a\0b")
    (tmp_path / "bad.jsonl").write_text('{"path": "a.md", "text": "x"}\n{"path": 3, "text": "x"}\n')
    (tmp_path / "cut.jsonl").write_text('{"path": "a"')
    (tmp_path / "twice.jsonl").write_text('{"path": "a.md", "text": "x"}\n{"path": "a.md", "text": "y"}\n')
    (tmp_path / "file").write_text("mine\n")
    return tmp_path


@pytest.mark.parametrize("name", BUILD_ERRORS)
def test_a_build_that_fails_leaves_the_index_in_use(bench: Path, name: str) -> None:
    args, code, message = BUILD_ERRORS[name]
    before = tree(bench)
    done = run_cli("index", "build", *(arg.format(bench) for arg in args), "--out", bench / "index")
    refused(done, code, message.format(bench))
    assert done.out == ""
    assert tree(bench) == before


@pytest.mark.parametrize(
    ("out", "code", "message"),
    [
        ("file", "RW-I09", "{}: expected an index or nothing, got a file"),
        ("docs", "RW-I09", "{}: expected an index or nothing, got a folder with bread.md"),
        ("file/index", "RW-F14", "{}: cannot be written: File exists"),
    ],
)
def test_nothing_but_an_index_is_replaced(bench: Path, out: str, code: str, message: str) -> None:
    before = tree(bench)
    done = run_cli("index", "build", "--docs", bench / "docs", "--dense", "none", "--out", bench / out)
    refused(done, code, message.format(bench / out))
    assert tree(bench) == before


def test_an_index_with_a_file_of_somebody_else_is_not_replaced(bench: Path) -> None:
    (bench / "index/notes.txt").write_text("do not lose me")
    before = tree(bench)
    done = run_cli("index", "build", "--docs", bench / "docs", "--dense", "none", "--out", bench / "index")
    refused(done, "RW-I09", f"{bench / 'index'}: expected only the files of an index, got notes.txt too")
    assert tree(bench) == before


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--limit", "0"], "--limit: expected a number from 1 to 1000000, got 0"),
        (["--limit", "x"], "--limit: expected a number from 1 to 1000000, got x"),
        (["--ann", "fast"], "--ann: expected one of auto, flat, hnsw, got fast: did you mean flat?"),
    ],
)
def test_wrong_flags_of_build(bench: Path, args: list[str], message: str) -> None:
    before = tree(bench)
    done = run_cli("index", "build", "--docs", bench / "docs", "--out", bench / "index", *args)
    assert done.code == 2
    assert done.err.splitlines()[0] == f"ragworthy index build: {message} [RW-U01]"
    assert tree(bench) == before


def test_a_killed_build_leaves_an_index_that_can_be_used(world: World, tmp_path: Path) -> None:
    index = tmp_path / "index"
    shutil.copytree(world.plain, index)
    docs = write_docs(tmp_path / "many", {f"d{n}.md": f"# D{n}\n\n## Part\n\n{GUIDE}\n{BREAD}" for n in range(120)})
    command = [sys.executable, "-m", "ragworthy", "index", "build", "--docs", str(docs), "--out", str(index)]
    old = json.loads((index / "manifest.json").read_text())["index_hash"]
    killed = 0
    for pause in (0.25, 0.45, 0.6):
        child = subprocess.Popen([*command, "--dense", "none"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(pause)
        child.send_signal(signal.SIGKILL)
        killed += child.wait() == -signal.SIGKILL
        done = run_cli("index", "check", index)
        assert (done.code, done.err) == (0, "")
        assert "1. " in run_cli("index", "search", index, "doors").out
    assert killed > 0
    done = run_cli("index", "build", "--docs", docs, "--out", index, "--dense", "none")
    assert done.code == 0
    assert json.loads((index / "manifest.json").read_text())["index_hash"] != old
    assert sorted(one.name for one in tmp_path.iterdir()) == ["index", "many"]


# search


def found(done: Done) -> list[Row]:
    assert (done.code, done.err) == (0, "")
    listed: list[Row] = json.loads(done.out)
    return listed


def search(index: Path, query: str, *flags: object) -> list[Row]:
    return found(run_cli("index", "search", index, query, "--format", "json", *flags))


def test_search_shows_rank_id_score_type_bytes_section_and_text(world: World) -> None:
    done = run_cli("index", "search", world.dense, "When do the doors close?", "--k", 2)
    lines = done.out.splitlines()
    assert (done.code, done.err, len(lines)) == (0, "", 6)
    # first in both lists: 1/61 + 1/61 by reciprocal rank fusion
    assert lines[0] == f"1. {DOORS}  {2 / 61:.4f}  prose  bytes 54–152"
    assert lines[1] == "   section 1.1: Guide > Doors"
    assert lines[2].startswith("   The doors close after ten seconds.")
    assert lines[3].startswith("2. ")


def test_search_as_json_has_the_chunk_record(world: World) -> None:
    listed = search(world.dense, "When do the doors close?", "--k", 3)
    assert [one["rank"] for one in listed] == [1, 2, 3]
    assert listed[0]["score"] == round(2 / 61, 6)
    chunk = next(
        json.loads(line) for line in (world.dense / "chunks.jsonl").read_text().splitlines() if DOORS in line
    )  # fmt: skip
    assert {key: value for key, value in listed[0].items() if key not in ("rank", "score")} == chunk


@pytest.mark.parametrize("mode", ["bm25", "dense", "hybrid", "auto"])
def test_every_mode_finds_the_block_and_sorts_by_score(world: World, mode: str) -> None:
    listed = search(world.dense, "yellow bell button", "--mode", mode, "--k", 8)
    assert listed[0]["chunk_id"] == ALARM
    scores = [one["score"] for one in listed]
    assert scores == sorted(scores, reverse=True)
    assert len({one["chunk_id"] for one in listed}) == len(listed) <= 8


def test_auto_is_hybrid_with_vectors_and_bm25_without(world: World) -> None:
    query = "open doors"
    assert search(world.dense, query) == search(world.dense, query, "--mode", "hybrid")
    assert search(world.plain, query) == search(world.plain, query, "--mode", "bm25")


def test_lexical_search_gives_only_blocks_that_share_a_word(world: World) -> None:
    assert [one["chunk_id"] for one in search(world.dense, "fridge", "--mode", "bm25")] == [STORING]
    done = run_cli("index", "search", world.dense, "zeppelin", "--mode", "bm25")
    assert done == Done(0, "nothing found\n", "")
    assert search(world.dense, "zeppelin", "--mode", "bm25") == []


def test_fusions(world: World) -> None:
    query = "loaf doors"
    one, other = (
        {hit["chunk_id"] for hit in search(world.dense, query, "--mode", mode, "--k", 8)} for mode in ("bm25", "dense")
    )
    both = {hit["chunk_id"] for hit in search(world.dense, query, "--fusion", "intersection", "--k", 8)}
    either = {hit["chunk_id"] for hit in search(world.dense, query, "--fusion", "union", "--k", 8)}
    assert both == one & other
    assert either == one | other
    assert len(both) < len(either)


def test_the_knee_keeps_the_head_of_the_list(world: World) -> None:
    whole = search(world.dense, "doors", "--k", 8)
    head = search(world.dense, "doors", "--k", 8, "--knee")
    assert head == whole[: len(head)]
    assert 0 < len(head) < len(whole)


def test_texts_of_documents_cannot_steer_the_terminal(tmp_path: Path) -> None:
    docs = write_docs(tmp_path / "docs", {"a.md": "# Bad \x1b[31m title\n\nA sentence with \x1b[2J a trick.\n"})
    assert run_cli("index", "build", "--docs", docs, "--out", tmp_path / "i", "--dense", "none").code == 0
    done = run_cli("index", "search", tmp_path / "i", "trick")
    assert "a trick." in done.out and "\x1b" not in done.out


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nope", "expected an index, got nothing at this path"),
        ("docs", "expected an index, got a folder without manifest.json"),
        ("gold.jsonl", "expected an index, got a file"),
    ],
)
@pytest.mark.parametrize("verb", ["search", "check", "migrate", "diff", "retrieve"])
def test_what_is_no_index(world: World, tmp_path: Path, path: str, message: str, verb: str) -> None:
    given = world.root / path
    args: dict[str, list[object]] = {
        "search": ["index", "search", given, "doors"],
        "check": ["index", "check", given],
        "migrate": ["index", "migrate", given, world.plain, "-o", tmp_path / "table.json"],
        "diff": ["index", "diff", world.plain, given, "--gold", world.gold],
        "retrieve": ["retrieve", "--index", given, "--gold", world.gold, "-o", tmp_path / "t.jsonl"],
    }
    done = run_cli(*args[verb])
    refused(done, "RW-I01", f"{given}: {message}")
    assert done.out == "" and tree(tmp_path) == {}


@pytest.mark.parametrize("mode", ["dense", "hybrid"])
def test_a_mode_the_index_does_not_have(world: World, tmp_path: Path, mode: str) -> None:
    wanted = f"{world.plain}: expected an index with vectors, got one for lexical search only"
    refused(run_cli("index", "search", world.plain, "doors", "--mode", mode), "RW-I10", wanted)
    out = tmp_path / "t.jsonl"
    out.write_text("old\n")
    done = run_cli("retrieve", "--index", world.plain, "--gold", world.gold, "--mode", mode, "-o", out)
    refused(done, "RW-I10", wanted)
    assert tree(tmp_path) == {"t.jsonl": b"old\n"}


@pytest.mark.parametrize("k", ["0", "-1", "1000001", "five"])
def test_wrong_k(world: World, k: str) -> None:
    done = run_cli("index", "search", world.dense, "doors", "--k", k)
    assert done.code == 2
    assert done.err.splitlines()[0] == (
        f"ragworthy index search: --k: expected a number from 1 to 1000000, got {k} [RW-U01]"
    )


# check


def test_a_sound_index(world: World) -> None:
    assert run_cli("index", "check", world.dense) == Done(
        0, "2 documents, 8 chunks: 0 faults\nchunk sizes: 5 to 18 tokens, median 10.5\ncheck: sound (exit 0)\n", ""
    )


@pytest.mark.parametrize("name", ["chunks.jsonl", "vectors.npy", "bm25.scores.npy", "canonical/0000-bread-md.txt"])
def test_an_altered_file_is_named(world: World, tmp_path: Path, name: str) -> None:
    index = tmp_path / "index"
    shutil.copytree(world.dense, index)
    data = bytearray((index / name).read_bytes())
    data[-2] ^= 1
    (index / name).write_bytes(data)
    for args in (["check", index], ["search", index, "doors"]):
        done = run_cli("index", *args)
        assert (done.code, done.out) == (2, "")
        assert re.fullmatch(
            rf"{re.escape(str(index / name))}: expected SHA-256 [0-9a-f]{{12}}…, got [0-9a-f]{{12}}… \[RW-I02\]\n"
            r"  index_altered: Build the index again\.\n",
            done.err,
        )


def test_a_cut_off_and_a_missing_file(world: World, tmp_path: Path) -> None:
    index = tmp_path / "index"
    shutil.copytree(world.dense, index)
    size = (index / "chunks.jsonl").stat().st_size
    os.truncate(index / "chunks.jsonl", size - 10)
    message = f"{index / 'chunks.jsonl'}: expected {size} bytes, got {size - 10}"
    refused(run_cli("index", "check", index), "RW-I02", message)
    (index / "chunks.jsonl").unlink()
    message = f"{index / 'chunks.jsonl'}: expected a file, got nothing at this path"
    refused(run_cli("index", "check", index), "RW-I02", message)
    (index / "manifest.json").write_text("{")
    done = run_cli("index", "check", index)
    assert done.code == 2 and done.err.startswith(f"{index / 'manifest.json'}: ") and "[RW-I03]" in done.err


def test_a_forged_chunk_is_a_fault(world: World, tmp_path: Path) -> None:
    """Text, hash and manifest changed together: only the canonical text gives it away."""
    import hashlib

    index = tmp_path / "index"
    shutil.copytree(world.plain, index)
    chunks = (index / "chunks.jsonl").read_bytes().replace(b"after ten seconds. A", b"after two seconds. A")
    (index / "chunks.jsonl").write_bytes(chunks)
    manifest = json.loads((index / "manifest.json").read_text())
    manifest["files"]["chunks.jsonl"] = {"bytes": len(chunks), "sha256": hashlib.sha256(chunks).hexdigest()}
    (index / "manifest.json").write_text(json.dumps(manifest))
    done = run_cli("index", "check", index)
    assert (done.code, done.err) == (1, "")
    assert f"{index / 'chunks.jsonl'}:5" in done.out and "[RW-I07]" in done.out
    assert done.out.endswith("check: not sound (exit 1)\n")


def test_a_gold_set_that_the_index_has(world: World) -> None:
    done = run_cli("index", "check", world.dense, "--gold", world.gold)
    assert done == Done(
        0,
        "2 documents, 8 chunks: 0 faults\n"
        "chunk sizes: 5 to 18 tokens, median 10.5\n"
        "gold: all 2 ids are in this index\n"
        "gold: 2 of 7 sections are asked about (gold_section_coverage 0.2857; the target is at least 0.80)\n"
        "check: sound (exit 0)\n",
        "",
    )


def test_gold_ids_that_the_index_does_not_have(world: World, tmp_path: Path) -> None:
    lost = ["guide.md|s=9|p=000|b=001", "other.md|s=1|p=000|b=001"]
    gold = [*GOLD, {**GOLD[0], "qid": "Q3", "relevant": [DOORS, *lost], "negatives": []}]
    done = run_cli("index", "check", world.dense, "--gold", write_jsonl(tmp_path / "gold.jsonl", gold))
    assert (done.code, done.err) == (4, "")
    # four different ids are named, two of them are lost
    assert f"50 % of gold ids (2 of 4) are not in this index, e.g. {', '.join(lost)} [RW-G13]\n" in done.out
    assert done.out.endswith("check: sound, but the gold set is not for this index (exit 4)\n")


ANSWERS: list[Row] = [
    {"qid": "A1", "question": "When do the doors close?", "answerable": True, "gold_claim_substr": ["ten seconds"],
     "gold_citations": [DOORS]},
    {"qid": "A2", "question": "Who built it?", "answerable": False},
]  # fmt: skip


def test_the_bundled_answers_gold_belongs_to_the_bundled_corpus(tmp_path: Path) -> None:
    examples = Path(ragworthy.__path__[0]) / "examples"
    gold = examples / "answers_gold.jsonl"
    items = [json.loads(line) for line in gold.read_text(encoding="utf-8").splitlines()]
    assert all(item["paraphrases"] for item in items)
    cited = {name for item in items for name in item.get("gold_citations", [])}
    assert (
        run_cli("index", "build", "--docs", examples / "corpus", "--out", tmp_path / "ix", "--dense", "none").code == 0
    )
    done = run_cli("index", "check", tmp_path / "ix", "--gold", gold)
    assert (done.code, done.err) == (0, "")
    assert f"gold: all {len(cited)} ids are in this index\n" in done.out


def test_a_gold_set_of_answers_is_held_against_the_index_too(world: World, tmp_path: Path) -> None:
    gold = write_jsonl(tmp_path / "gold.jsonl", ANSWERS)
    done = run_cli("index", "check", world.dense, "--gold", gold)
    assert (done.code, done.err) == (0, "")
    assert "gold: all 1 ids are in this index\n" in done.out
    lost = "guide.md|s=9|p=000|b=001"
    write_jsonl(gold, [ANSWERS[0] | {"gold_citations": [DOORS, lost]}, ANSWERS[1]])
    done = run_cli("index", "check", world.dense, "--gold", gold)
    assert (done.code, done.err) == (4, "")
    assert f"50 % of gold ids (1 of 2) are not in this index, e.g. {lost} [RW-G13]\n" in done.out


def test_a_gold_set_that_cites_nothing_cannot_be_checked(world: World, tmp_path: Path) -> None:
    gold = write_jsonl(tmp_path / "gold.jsonl", ANSWERS[1:])
    refused(
        run_cli("index", "check", world.dense, "--gold", gold),
        "RW-F04",
        f"{gold}: expected records that cite blocks, got none",
    )


def test_a_revision_in_a_gold_id_does_not_matter(world: World, tmp_path: Path) -> None:
    gold = [GOLD[0] | {"relevant": ["guide.md|r=0123abcd|s=1.1|p=000|b=001"]}]
    done = run_cli("index", "check", world.dense, "--gold", write_jsonl(tmp_path / "gold.jsonl", gold))
    assert done.code == 0 and "gold: all 1 ids are in this index\n" in done.out


def freeze(gold: Path, *flags: object) -> Row:
    done = run_cli("gold", "freeze", gold, "--signer", "Ada", "--reason", "first", *flags)
    assert (done.code, done.err) == (0, "")
    lock: Row = json.loads(gold.with_suffix(".lock").read_text())
    return lock


def test_calibrate_stores_in_the_lock_and_changes_nothing_else_in_it(world: World, tmp_path: Path) -> None:
    gold = write_jsonl(tmp_path / "gold.jsonl", GOLD)
    unlocked = run_cli("index", "check", world.dense, "--gold", gold, "--calibrate")
    assert unlocked.code == 0
    assert "not stored: the gold set has no lock; freeze it first\n" in unlocked.out
    assert sorted(tree(tmp_path)) == ["gold.jsonl"]
    before = freeze(gold)
    assert before.get("calibration") is None
    done = run_cli("index", "check", world.dense, "--gold", gold, "--calibrate")
    assert (done.code, done.err) == (0, "")
    assert f"calibration stored in {tmp_path / 'gold.lock'}\n" in done.out
    after = json.loads((tmp_path / "gold.lock").read_text())
    manifest = json.loads((world.dense / "manifest.json").read_text())
    assert after["calibration"]["model"] == "wordllama"
    assert after["calibration"]["weights"] == manifest["embedding"]["weights"]
    assert after["corpus"]["index_hash"] == manifest["index_hash"]
    kept = {key: value for key, value in after.items() if key not in ("calibration", "corpus")}
    assert kept == {key: value for key, value in before.items() if key not in ("calibration", "corpus")}
    assert run_cli("gold", "verify", gold).code == 0
    # freezing with the same corpus computes the same numbers
    assert freeze(gold, "--corpus", world.dense)["calibration"] == after["calibration"]


def test_errors_of_check(world: World, tmp_path: Path) -> None:
    refused(run_cli("index", "check", world.dense, "--calibrate"), "RW-U01", "--calibrate needs --gold")
    nope = tmp_path / "nope.jsonl"
    message = f"{nope}: expected a file, got nothing at this path"
    refused(run_cli("index", "check", world.dense, "--gold", nope), "RW-F01", message)
    gold = write_jsonl(tmp_path / "gold.jsonl", [GOLD[0] | {"relevant": "x"}, GOLD[1]])
    message = f"{gold}:1: relevant: expected a list, got a string"
    refused(run_cli("index", "check", world.dense, "--gold", gold), "RW-G03", message)
    gold = write_jsonl(tmp_path / "gold.jsonl", GOLD)
    done = run_cli("index", "check", world.dense, "--gold", gold, "--calibrate", "--dense", "gpt")
    refused(done, "RW-U01", 'expected a model (ngram, wordllama, minilm or openai:MODEL@URL), got "gpt"')


def test_calibration_needs_known_blocks_and_a_second_document(world: World, tmp_path: Path) -> None:
    gold = write_jsonl(tmp_path / "gold.jsonl", [GOLD[0] | {"relevant": ["x|s=1|p=000|b=001"]}])
    done = run_cli("index", "check", world.dense, "--gold", gold, "--calibrate")
    refused(done, "RW-G13", f"{gold}: expected questions with relevant blocks of this corpus, got none")
    docs = write_docs(tmp_path / "one", {"guide.md": GUIDE})
    assert run_cli("index", "build", "--docs", docs, "--out", tmp_path / "i", "--dense", "none").code == 0
    gold = write_jsonl(tmp_path / "gold.jsonl", GOLD[:1])
    done = run_cli("index", "check", tmp_path / "i", "--gold", gold, "--calibrate")
    message = f"{tmp_path / 'i'}: expected a corpus of at least two documents: unrelated text comes from another one"
    refused(done, "RW-D03", message)


# migrate


@pytest.fixture(scope="module")
def moved(world: World, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documents after an edit: a chapter on top of the guide, the alarm gone."""
    root = tmp_path_factory.mktemp("moved")
    guide = GUIDE.replace("## Doors", "## History\n\nThe first elevator was hauled by an ox.\n\n## Doors")
    guide = re.sub(r"## Alarm.*?## Limits", "## Limits", guide, flags=re.DOTALL)
    docs = write_docs(root / "docs", {"bread.md": BREAD, "guide.md": guide})
    assert run_cli("index", "build", "--docs", docs, "--out", root / "index", "--dense", "none").code == 0
    return root / "index"


def rows_of(table: Path) -> dict[str, Row]:
    documents = json.loads(table.read_text())["documents"]
    return {row["old_block_id"]: row for document in documents for row in document["mappings"]}


def test_an_index_moves_to_itself_one_to_one(world: World, tmp_path: Path) -> None:
    done = run_cli("index", "migrate", world.plain, world.plain, "-o", tmp_path / "t.json", "--same-source")
    assert (done.code, done.err) == (0, "")
    assert "8 old blocks: 8 shift, 0 split, 0 merge, 0 unmapped\n" in done.out
    assert done.out.endswith(
        f"0 rows to look at (unmapped, or conf below 0.90)\ntable: {tmp_path / 't.json'}\n"
        "migration: every target is reached (exit 0)\n"
    )
    assert all(row["new_block_id"] == old for old, row in rows_of(tmp_path / "t.json").items())


def test_moves_after_an_edit(world: World, moved: Path, tmp_path: Path) -> None:
    done = run_cli("index", "migrate", world.plain, moved, "-o", tmp_path / "t.json")
    assert (done.code, done.err) == (1, "")  # the alarm and its code are gone
    table = json.loads((tmp_path / "t.json").read_text())
    hashes = [json.loads((one / "manifest.json").read_text())["index_hash"] for one in (world.plain, moved)]
    assert [table["from_version"], table["to_version"]] == hashes
    rows = rows_of(tmp_path / "t.json")
    assert rows[DOORS]["new_block_id"] == "guide.md|s=1.2|p=000|b=001"
    assert rows[ALARM]["move"] == "unmapped" and rows[ALARM]["new_block_id"] is None
    assert rows[BAKING]["new_block_id"] == BAKING and rows[BAKING]["new_off"] == rows[BAKING]["old_off"]
    text = next((moved / "canonical").glob("*guide*")).read_bytes()
    begin, end = rows[DOORS]["new_off"]
    assert text[begin:end].decode().startswith("The doors close after ten seconds.")
    assert "missed: redirect_coverage, one_to_one (exit 1)" in done.out.splitlines()[-1]
    again = run_cli("index", "migrate", world.plain, moved, "-o", tmp_path / "t2.json")
    assert again.out == done.out.replace("t.json", "t2.json")
    assert (tmp_path / "t2.json").read_bytes() == (tmp_path / "t.json").read_bytes()


def test_a_drift_after_an_insertion_is_in_the_last_line(world: World, tmp_path: Path) -> None:
    added = "# Guide\n\nA paragraph that nobody had before, at the very top of the page.\n"
    docs = write_docs(tmp_path / "docs", {"bread.md": BREAD, "guide.md": GUIDE.replace("# Guide\n", added, 1)})
    assert run_cli("index", "build", "--docs", docs, "--out", tmp_path / "new", "--dense", "none").code == 0
    done = run_cli("index", "migrate", world.plain, tmp_path / "new")
    told = "migration: every target but offset_drift, which edits explain, is reached (exit 0)"
    assert (done.code, done.out.splitlines()[-1]) == (0, told)
    same = run_cli("index", "migrate", world.plain, tmp_path / "new", "--same-source")
    assert (same.code, same.out.splitlines()[-1]) == (1, "migration: missed: offset_drift (exit 1)")


def test_without_o_nothing_is_written(
    world: World, moved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run_cli("index", "migrate", world.plain, moved)
    assert done.code == 1 and "table:" not in done.out
    assert tree(tmp_path) == {}


def test_coverage_is_over_the_cited_ids_when_they_are_given(world: World, moved: Path, tmp_path: Path) -> None:
    gold = write_jsonl(tmp_path / "gold.jsonl", GOLD)
    done = run_cli("index", "migrate", world.plain, moved, "--cited", gold)
    assert "pass    redirect_coverage >= 0.995: 2 of 2 = 1.0000\n" in done.out
    assert done.out.endswith("migration: missed: one_to_one (exit 1)\n")
    traces = [{"qid": "Q1", "answer_citations": [{"id": ALARM}, DOORS]}]
    done = run_cli("index", "migrate", world.plain, moved, "--cited", write_jsonl(tmp_path / "t.jsonl", traces))
    assert "fail    redirect_coverage >= 0.995: 1 of 2 = 0.5000\n" in done.out


def test_a_drift_fails_only_for_the_same_source(world: World, tmp_path: Path) -> None:
    guide = GUIDE.replace("Welcome to the elevator handbook.", "Welcome to the elevator handbook of the town.")
    docs = write_docs(tmp_path / "docs", {"bread.md": BREAD, "guide.md": guide})
    assert run_cli("index", "build", "--docs", docs, "--out", tmp_path / "i", "--dense", "none").code == 0
    edited = run_cli("index", "migrate", world.plain, tmp_path / "i")
    assert "warning offset_drift" in edited.out and edited.code == 0
    same = run_cli("index", "migrate", world.plain, tmp_path / "i", "--same-source")
    assert "fail    offset_drift" in same.out
    assert same.out.endswith("migration: missed: offset_drift (exit 1)\n") and same.code == 1


def test_errors_of_migrate_leave_the_old_table(world: World, moved: Path, tmp_path: Path) -> None:
    out = tmp_path / "t.json"
    out.write_text("old\n")
    nope = tmp_path / "nope.jsonl"
    done = run_cli("index", "migrate", world.plain, moved, "-o", out, "--cited", nope)
    refused(done, "RW-F01", f"{nope}: expected a file, got nothing at this path")
    assert tree(tmp_path) == {"t.json": b"old\n"}


def test_cited_ids_must_be_there(world: World, moved: Path, tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "empty.jsonl", [{"qid": "Q1"}])
    done = run_cli("index", "migrate", world.plain, moved, "--cited", path)
    refused(done, "RW-F04", f"{path}: expected records that cite blocks, got none")
    path.write_text('{"qid": "Q1", "relevant": ["a"]}\n[1]\n')
    done = run_cli("index", "migrate", world.plain, moved, "--cited", path)
    assert done.code == 2 and done.err.startswith(f"{path}:2: expected a JSON object, got ")


def test_the_table_cannot_be_written(world: World, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    out = tmp_path / "file/t.json"
    done = run_cli("index", "migrate", world.plain, world.plain, "-o", out)
    refused(done, "RW-F14", f"{out}: cannot be written: File exists")


# retrieve


def retrieve(world: World, out: Path, *flags: object, index: Path | None = None, gold: Path | None = None) -> list[Row]:
    done = run_cli("retrieve", "--index", index or world.dense, "--gold", gold or world.gold, "-o", out, *flags)
    assert (done.code, done.err) == (0, "")
    traces = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    manifest = json.loads(((index or world.dense) / "manifest.json").read_text())
    questions = len({one["qid"] for one in traces})
    told = f"{len(traces)} traces of {questions} questions from {manifest['index_hash']}: {out}\n"
    files = f"--gold {gold or world.gold} --trace {out} --corpus {index or world.dense}"
    assert done.out == f"{told}next: ragworthy score retrieval {files}\n"
    return traces


def test_a_trace_for_every_paraphrase_and_seed_has_the_whole_contract(world: World, tmp_path: Path) -> None:
    traces = retrieve(world, tmp_path / "t.jsonl", "--k", 4)
    keys = [(one["qid"], one["seed"], one["paraphrase"]) for one in traces]
    assert keys == [(qid, seed, n) for qid in ("Q1", "Q2") for seed in (1, 2) for n in (0, 1, 2)]
    manifest = json.loads((world.dense / "manifest.json").read_text())
    texts = {one["doc_id"]: (world.dense / one["file"]).read_bytes() for one in manifest["documents"]}
    chunks = {
        one["chunk_id"]: one for one in map(json.loads, (world.dense / "chunks.jsonl").read_text().splitlines())
    }  # fmt: skip
    wordings = {one["qid"]: one for one in GOLD}
    for one in traces:
        gold = wordings[one["qid"]]
        assert one["query"] == gold["paraphrases"][one["paraphrase"]]
        assert one["anchor"] == gold["anchor_section"]
        assert one["index_hash"] == manifest["index_hash"]
        assert one["normaliser_id"] == manifest["text_preproc"]["normaliser"]
        assert one["delta_s_model"] == {"name": "wordllama", "weights": manifest["embedding"]["weights"]}
        assert one["ts"] == "1970-01-01T00:00:00Z"
        assert one["λ_state"] in ("→", "←", "<>", "×")
        assert one["cited_by"] == "rank"
        assert 0 < len(one["topk"]) <= 4 and len(one["ΔS"]) == len(one["topk"])
        assert all(0 <= value <= 1 and value == round(value, 6) for value in one["ΔS"])
        assert "ΔS_anchor" not in one or len(one["ΔS_anchor"]) == len(one["topk"])
        first = one["topk"][0]
        assert one["answer_citations"] == [{"id": first["id"], "offsets": first["offsets"]}]
        for result in one["topk"]:
            chunk = chunks[result["id"]]
            begin, end = result["offsets"]
            assert texts[chunk["doc_id"]][begin:end].decode() == chunk["text"]
            assert result["type"] == chunk["type"]
        scores = [result["score"] for result in one["topk"]]
        assert scores == sorted(scores, reverse=True)


def test_recorded_distances_are_those_of_the_texts(world: World, tmp_path: Path) -> None:
    from ragworthy.index.embed import load, text_distances

    trace = retrieve(world, tmp_path / "t.jsonl", "--k", 3)[0]
    chunks = {one["chunk_id"]: one["text"] for one in search(world.dense, "the", "--mode", "dense", "--k", 8)}
    texts = [chunks[one["id"]] for one in trace["topk"]]
    assert trace["ΔS"] == [float(one) for one in text_distances(load(), [trace["query"]] * 3, texts)]


def test_every_seed_finds_the_same_and_the_same_bytes_come_twice(world: World, tmp_path: Path) -> None:
    traces = retrieve(world, tmp_path / "a.jsonl", "--seeds", "7,3,11")
    assert [one["seed"] for one in traces[::3]] == [7, 3, 11] * 2
    assert all(
        {**one, "seed": 0} == {**other, "seed": 0} for one, other in zip(traces[:3], traces[3:6], strict=True)
    )  # fmt: skip
    retrieve(world, tmp_path / "b.jsonl", "--seeds", "7,3,11")
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


def test_the_same_bytes_in_another_process(world: World, tmp_path: Path) -> None:
    retrieve(world, tmp_path / "a.jsonl")
    for seed, locale in (("1", "C"), ("4242", "C.UTF-8")):
        env = os.environ | {"PYTHONHASHSEED": seed, "LC_ALL": locale, "TZ": "Asia/Tokyo"}
        args = ["retrieve", "--index", world.dense, "--gold", world.gold, "-o", tmp_path / f"{seed}.jsonl"]
        subprocess.run(
            [sys.executable, "-m", "ragworthy", *map(str, args)], env=env, check=True, stdout=subprocess.DEVNULL
        )
        assert (tmp_path / f"{seed}.jsonl").read_bytes() == (tmp_path / "a.jsonl").read_bytes()


def test_cite(world: World, tmp_path: Path) -> None:
    none = retrieve(world, tmp_path / "t.jsonl", "--cite", 0)
    assert all(not {"answer_citations", "cited_by", "λ_state"} & one.keys() for one in none)
    two = retrieve(world, tmp_path / "t.jsonl", "--cite", 2)
    assert all([c["id"] for c in one["answer_citations"]] == [r["id"] for r in one["topk"][:2]] for one in two)


@pytest.mark.parametrize("cite", ["-1", "two"])
def test_a_senseless_number_of_citations(world: World, tmp_path: Path, cite: str) -> None:
    done = run_cli("retrieve", "--index", world.dense, "--gold", world.gold, "-o", tmp_path / "t", "--cite", cite)
    assert done.code == 2 and "--cite" in done.err
    assert tree(tmp_path) == {}


def test_ts(world: World, tmp_path: Path) -> None:
    assert {one["ts"] for one in retrieve(world, tmp_path / "t.jsonl", "--ts", "2025-08-27T12:30:22Z")} == {
        "2025-08-27T12:30:22Z"
    }
    (now,) = {one["ts"] for one in retrieve(world, tmp_path / "t.jsonl", "--ts", "now")}
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", now)


def test_an_index_without_vectors_records_no_distances(world: World, tmp_path: Path) -> None:
    traces = retrieve(world, tmp_path / "t.jsonl", index=world.plain)
    assert all(not {"ΔS", "delta_s_model"} & one.keys() for one in traces)
    assert traces[0]["topk"][0]["id"] == DOORS


def test_a_question_that_finds_nothing_still_has_its_traces(world: World, tmp_path: Path) -> None:
    gold = [GOLD[0] | {"paraphrases": ["zeppelin", "quasar", "doors"]}]
    traces = retrieve(
        world, tmp_path / "t.jsonl", index=world.plain, gold=write_jsonl(tmp_path / "g.jsonl", [*gold, GOLD[1]])
    )
    assert [len(one["topk"]) > 0 for one in traces[:3]] == [False, False, True]
    assert [one["answer_citations"] == [] for one in traces[:3]] == [True, True, False]
    assert [one["λ_state"] for one in traces[:3]] == ["←", "←", "→"]


@pytest.mark.parametrize("seeds", ["", "1,", "a", "1,1", "-1", "1.5", "1,01"])
def test_wrong_seeds(world: World, tmp_path: Path, seeds: str) -> None:
    done = run_cli(
        "retrieve", "--index", world.dense, "--gold", world.gold, "-o", tmp_path / "t.jsonl", f"--seeds={seeds}"
    )  # fmt: skip
    refused(done, "RW-U01", f"--seeds: expected different whole numbers, e.g. 1,2, got {seeds}")
    assert tree(tmp_path) == {}


NO_WORDING = "paraphrases: expected at least one non-empty wording, got none"
GOLD_ERRORS: dict[str, tuple[str, str, str]] = {
    "none": ("", "RW-G05", "{}: expected gold items, got none"),
    "json": ('{"qid": "Q1"\n', "RW-F07", '{}:1: expected a JSON object, got {{"qid": "Q1" (Input data was truncated)'),
    "array": ("[]\n", "RW-F08", "{}:1: expected a JSON object, got a list"),
    "type": ('{"qid": "Q1", "paraphrases": "x"}\n', "RW-G03", "{}:1: paraphrases: expected a list, got a string"),
    "no wording": (
        '\n{"qid": "Q1", "paraphrases": []}\n',
        "RW-G12",
        "{}:2: question: expected at least one non-empty wording, got none",
    ),
    "blank": ('{"qid": "Q1", "paraphrases": ["a", " "]}\n', "RW-G12", f"{{}}:1: {NO_WORDING}"),
    "no qid": ('{"qid": "", "paraphrases": ["a"]}\n', "RW-G01", "{}:1: qid: expected a non-empty string, got nothing"),
    "twice": (
        '{"qid": "Q1", "paraphrases": ["a"]}\n{"qid": "Q1", "paraphrases": ["b"]}\n',
        "RW-G02",
        '{}:2: qid: expected a unique id, got "Q1" again',
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GOLD_ERRORS)
def test_gold_sets_that_cannot_be_asked(world: World, tmp_path: Path, name: str) -> None:
    text, code, message = GOLD_ERRORS[name]
    gold, out = tmp_path / "gold.jsonl", tmp_path / "t.jsonl"
    gold.write_text(text)
    out.write_text("old\n")
    done = run_cli("retrieve", "--index", world.plain, "--gold", gold, "-o", out)
    refused(done, code, message.format(gold))
    assert (out.read_text(), done.out) == ("old\n", "")


def test_traces_that_cannot_be_written(world: World, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    out = tmp_path / "file/t.jsonl"
    done = run_cli("retrieve", "--index", world.plain, "--gold", world.gold, "-o", out)
    refused(done, "RW-F14", f"{out}: cannot be written: File exists")
    (tmp_path / "folder").mkdir()
    done = run_cli("retrieve", "--index", world.plain, "--gold", world.gold, "-o", tmp_path / "folder")
    refused(done, "RW-F14", f"{tmp_path / 'folder'}: cannot be written: Is a directory")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["file", "folder"]


def test_the_traces_of_retrieve_can_be_scored_as_they_are(world: World, tmp_path: Path) -> None:
    retrieve(world, tmp_path / "t.jsonl")
    done = run_cli(
        "score", "retrieval", "--gold", world.gold, "--trace", tmp_path / "t.jsonl", "--corpus", world.dense,
        "--gates", "recall@5=1,coverage=1,citation_accuracy=1,triplet_rate=1", "--format", "json",
    )  # fmt: skip
    body = json.loads(done.out)["suites"]["retrieval"]
    assert (done.code, done.err) == (0, "")
    assert body["counts"]["runs"] == 12 and body["lambda"]["marks"]["→"] == 2
    assert "RW-W27" in [one["code"] for one in body["warnings"]]  # citations are the first results


def test_our_own_marks_are_not_called_wrong(world: World, tmp_path: Path) -> None:
    """Two wordings lead to the doors and one to the bread: the runs are marked →, → and ×, the question <>."""
    gold = write_jsonl(
        tmp_path / "g.jsonl", [GOLD[0] | {"paraphrases": ["When do the doors close?", "doors open", "bake the loaf"]}]
    )
    traces = retrieve(world, tmp_path / "t.jsonl", gold=write_jsonl(tmp_path / "g2.jsonl", [*_items(gold), GOLD[1]]))
    assert [one["λ_state"] for one in traces[:3]] == ["→", "→", "×"]
    done = run_cli(
        "score", "retrieval", "--gold", tmp_path / "g2.jsonl", "--trace", tmp_path / "t.jsonl", "--format", "json"
    )  # fmt: skip
    body = json.loads(done.out)["suites"]["retrieval"]
    assert body["lambda"]["marks"] == {"→": 1, "←": 0, "<>": 1, "×": 0}
    assert "RW-W28" not in [one["code"] for one in body["warnings"]]


def _items(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_an_index_is_held_against_its_documents(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("# One\n\nFirst paragraph.\n\nSecond paragraph.\n")
    assert run_cli("index", "build", "--docs", docs, "--out", tmp_path / "index", "--dense", "none").code == 0
    done = run_cli("index", "check", tmp_path / "index", "--docs", docs)
    assert (done.code, done.err) == (0, "")
    (docs / "a.md").write_text("# One\n\nFirst paragraph.\n\nAnother paragraph.\n")
    done = run_cli("index", "check", tmp_path / "index", "--docs", docs)
    assert done.code == 1
    assert done.out.splitlines()[0] == (
        "a.md|s=1|p=000|b=002: expected the chunk that the documents give now, got another [re-ingest]"
    )


# ask


def test_asking_appends_traces_that_can_be_scored(world: World, tmp_path: Path) -> None:
    text = next(iter(DOCS.values())).split("\n\n")[1].split(".")[0]
    traces = tmp_path / "runs" / "trace.jsonl"
    ask = ["index", "ask", world.dense, f"{text}?", "--trace", traces]
    first, second = run_cli(*ask, "--qid", "Q1"), run_cli(*ask)
    assert (first.code, second.code) == (0, 0)
    one, other = (json.loads(line) for line in traces.read_text(encoding="utf-8").splitlines())
    assert first.err == f"trace: Q1: {traces}\n"
    assert (one["qid"], other["qid"][:4], one["query"]) == ("Q1", "ask-", f"{text}?")
    assert {key: value for key, value in one.items() if key != "qid"} == {
        key: value for key, value in other.items() if key != "qid"
    }
    assert [hit["id"] for hit in one["topk"]] == one["retrieved_ids"]
    manifest = json.loads((world.dense / "manifest.json").read_text(encoding="utf-8"))
    assert len(one["ΔS"]) == len(one["topk"]) and one["index_hash"] == manifest["index_hash"]
    gold = write_jsonl(
        tmp_path / "gold.jsonl", [{"qid": "Q1", "question": f"{text}?", "relevant": one["retrieved_ids"]}]
    )
    done = run_cli("score", "retrieval", "--gold", gold, "--trace", traces, "--gates", "recall@10=1",
                   "--no-default-gates")  # fmt: skip
    assert done.code == 0


def test_asking_appends_to_traces_only_and_never_to_half_a_line(world: World, tmp_path: Path) -> None:
    for name, text in (("gold", '{"qid": "A1", "q": "x", "answerable": true}\n'), ("notes", "some notes\n")):
        path = tmp_path / f"{name}.jsonl"
        path.write_text(text)
        done = run_cli("index", "ask", world.dense, "doors?", "--trace", path)
        refused(done, "RW-U03", f"{path}: expected a new file, or one of ours, got another file")
        assert path.read_text() == text
    path.write_text('{"qid": "A1", "retrieved_ids": []}')  # without the end of the line
    assert run_cli("index", "ask", world.dense, "doors?", "--trace", path, "--qid", "A2").code == 0
    assert [one["qid"] for one in _items(path)] == ["A1", "A2"]


def test_traces_of_asking_replace_nothing_that_is_read(world: World, tmp_path: Path) -> None:
    inside = run_cli("index", "ask", world.dense, "x?", "--trace", world.dense / "chunks.jsonl")
    assert (inside.code, "expected a new file, got one that is read" in inside.err) == (2, True)
    alone = run_cli("index", "ask", world.dense, "x?", "--qid", "Q1")
    assert (alone.code, alone.err.splitlines()[0]) == (2, "--qid: expected --trace FILE beside it, got none [RW-U01]")
