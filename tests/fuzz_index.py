"""Damage every file of an index, make its manifest fit again, and prove that each command ends in an orderly way.

    python tests/fuzz_index.py [--cases 200] [--seed N]

Bytes are flipped and parts of structures replaced, as somebody would do who can write the hashes too. Every command
must end with exit code 0 … 4 in a moment and in little memory: no exception, no crash of a library, no endless loop.
"""

import argparse
import contextlib
import functools
import hashlib
import importlib
import io
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ragworthy.cli.main import main
from ragworthy.index import embed

ALLOWED = (0, 1, 2, 3, 4)
PATIENCE = 30
"""Seconds after which a command counts as hanging."""
MEMORY = 6 << 30
DOCS = {
    "guide.md": "# Guide\n\nWelcome to the elevator handbook.\n\n## Doors\n\nThe doors close after ten seconds.\n\n"
    "## Limits\n\n| load | people |\n|---|---|\n| 630 kg | 8 |\n\n```python\ndef call():\n    return 1\n```\n",
    "bread.md": "# Bread\n\nSourdough needs flour, water and salt.\n\n## Baking\n\nBake the loaf at 240 degrees.\n\n"
    "## Storing\n\nKeep the loaf in a linen bag. Über Nacht ruht der Teig: 電梯.\n",
}
DOORS = "guide.md|s=1.1|p=000|b=001"
QUESTION = "When do the doors close?"
GOLD = {"qid": "Q1", "paraphrases": [QUESTION, "How long are doors open?", "Which doors close?"], "relevant": [DOORS],
        "anchor_section": "1.1", "negatives": ["bread.md|s=1.1|p=000|b=001"]}  # fmt: skip
ANSWER_GOLD = {"qid": "Q1", "question": QUESTION, "answerable": True, "gold_claim_substr": ["ten seconds"],
               "gold_citations": [DOORS]}  # fmt: skip
ANSWER = {"qid": "Q1", "retrieved_ids": [DOORS], "e2e_ms": 5, "config_id": "a",
          "answer_json": {"claim": "After ten seconds.", "citations": [DOORS]}}  # fmt: skip
VALUES: list[Any] = [
    None, True, -1, 0, 1, 7, 2**31, 2**63, 10**30, -(10**30), 0.5, 1e308, "", " ", "x", "\x00", "é" * 300, DOORS,
    "../../etc/passwd", "chunks.jsonl", "canonical/0000-bread-md.txt", [], {}, [0], [9, 8], [0, 1], [-5, 5],
    [0, 10**30], ["a", "a"], {"a": {"a": {}}}, "hnsw", "flat", "bm25", "wordllama", "minilm", "cosine", "l2",
]  # fmt: skip
DTYPES = ("<f4", ">f4", "<f8", "<i4", ">i8", "<i8", "<u2", "|b1", "<c8", "<U3", "|S4", "<M8[s]", "|V3")


class World(NamedTuple):
    """One folder with documents, three sound indexes, and files that ask about them."""

    root: Path
    docs: Path
    sound: dict[str, Path]

    def commands(self, index: Path) -> list[list[Any]]:
        """Every command that reads an index."""
        root, other = self.root, self.sound["flat"]
        answers = ["--gold", root / "a.jsonl", "--corpus", index]
        return [
            ["index", "check", index, "--gold", root / "g.jsonl"],
            ["index", "check", index, "--docs", self.docs],
            ["index", "search", index, QUESTION, "--mode", "bm25"],
            ["index", "search", index, QUESTION, "--mode", "dense", "--format", "json"],
            ["index", "search", index, QUESTION, "--mode", "hybrid", "--knee"],
            ["index", "ask", index, QUESTION],
            ["retrieve", "--index", index, "--gold", root / "g.jsonl", "-o", root / "out.jsonl"],
            ["retrieve", "--index", index, "--gold", root / "g.jsonl", "-o", root / "out.jsonl", "--mode", "bm25"],
            ["index", "diff", index, other, "--gold", root / "g.jsonl"],
            ["index", "diff", other, index, "--gold", root / "g.jsonl"],
            ["index", "migrate", index, other],
            ["index", "migrate", other, index, "-o", root / "table.json"],
            ["score", "answers", *answers, "--trace", root / "t.jsonl"],
            ["score", "latency", *answers, "--runs", root / "t.jsonl"],
            ["score", "agreement", *answers, "--trace", root / "t.jsonl"],
            ["score", "retrieval", "--gold", root / "g.jsonl", "--trace", root / "r.jsonl", "--corpus", index],
            ["gold", "lint", root / "g.jsonl", "--corpus", index],
            ["index", "build", "--docs", self.docs, "--out", index, "--dense", "none"],
        ]


def make_world(root: Path) -> World:
    """The documents, the indexes and the files."""
    docs = root / "docs"
    docs.mkdir()
    for name, text in DOCS.items():
        (docs / name).write_text(text, encoding="utf-8")
    for name, record in {"g.jsonl": GOLD, "a.jsonl": ANSWER_GOLD, "t.jsonl": ANSWER}.items():
        (root / name).write_text(json.dumps(record, ensure_ascii=False) + "\n", encoding="utf-8")
    kinds = {"flat": [], "bm25": ["--dense", "none"]}
    if find_spec("faiss") is not None:
        kinds["hnsw"] = ["--ann", "hnsw"]
    for name, options in kinds.items():
        done = run(["index", "build", "--docs", docs, "--out", root / name, *options])
        if done.code:
            raise SystemExit(done.err)
    world = World(root, docs, {name: root / name for name in kinds})
    run(["retrieve", "--index", root / "flat", "--gold", root / "g.jsonl", "-o", root / "r.jsonl"])
    return world


class Done(NamedTuple):
    """How a command ended."""

    code: int
    err: str


def run(args: list[Any]) -> Done:
    """One command in this process."""
    out, err = io.StringIO(), io.StringIO()
    signal.alarm(PATIENCE)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main([str(arg) for arg in args])
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 1
    finally:
        signal.alarm(0)
    return Done(code, err.getvalue())


def reseal(folder: Path) -> None:
    """Make the manifest agree with the files again."""
    path = folder / "manifest.json"
    content = json.loads(path.read_bytes())
    for name in content["files"]:
        data = (folder / name).read_bytes()
        content["files"][name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    for document in content["documents"]:
        document |= content["files"][document["file"]]
    path.write_text(json.dumps(content), encoding="utf-8")


# damage


def flip(data: bytes, rng: random.Random) -> bytes:
    """Bytes flipped, put in, left out or cut off; the first ones more often, where headers are."""
    found = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5, 30))):
        at = rng.randrange(len(found) or 1) if rng.random() < 0.6 else rng.randrange(min(200, len(found) or 1))
        what = rng.randrange(5)
        if what == 0:
            found[at : at + 1] = rng.randbytes(1)
        elif what == 1:
            found[at : at + 4] = rng.choice((0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)).to_bytes(4, "little")
        elif what == 2:
            found[at:at] = rng.randbytes(rng.randrange(1, 9))
        elif what == 3:
            del found[at : at + rng.randrange(1, 9)]
        elif rng.random() < 0.3:
            del found[at:]
    return bytes(found)


def other_json(value: Any, rng: random.Random) -> Any:
    """A JSON value with one place in it replaced, removed or doubled."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        if rng.random() < 0.15:
            return {name: one for name, one in value.items() if name != key}
        return value | {key: other_json(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.8:
        at = rng.randrange(len(value))
        if rng.random() < 0.2:
            return rng.choice((value[:at] + value[at + 1 :], [*value, value[at]], list(reversed(value))))
        return [*value[:at], other_json(value[at], rng), *value[at + 1 :]]
    return rng.choice(VALUES)


def other_array(path: Path, rng: random.Random) -> bytes:
    """An array of another type or shape, with other values, or in another kind of file."""
    array = np.load(path)
    what = rng.randrange(7)
    if what == 0:
        with np.errstate(all="ignore"):
            array = array.astype(rng.choice(DTYPES[:9])) if rng.random() < 0.7 else np.zeros(array.shape, "|V3")
    elif what == 1:
        shapes = [(), (0,), (1,), (0, 0), array.shape[::-1], (array.size,), (array.size, 1), (1, array.size)]
        array = np.resize(array, rng.choice(shapes))
    elif what == 2:
        array = array.copy()
        for _ in range(3):
            value = rng.choice((-1, 0, 1, 7, 10**6, 2**31 - 1, np.nan, np.inf, -np.inf, 1e-300, 3e38))
            with np.errstate(all="ignore"):
                array.reshape(-1)[rng.randrange(array.size)] = np.asarray(value).astype(array.dtype)
    elif what == 3:
        array = array[::-1] if rng.random() < 0.5 else np.sort(array, axis=None).reshape(array.shape)
    elif what == 4:
        array = array[: rng.randrange(len(array))]
    file = io.BytesIO()
    if what == 5:
        np.savez(file, array)
    else:
        np.save(file, array, allow_pickle=False)
    data = file.getvalue()
    if what == 6:
        shape = rng.choice(
            (b"(-1,)", b"(99999999999,)", b"(4611686018427387904, 4)", b"()", b"(1e9,)", b"(0,)", b"[5]")
        )
        start = data.index(b"'shape': ") + 9
        end = data.index(b", }", start)
        data = data[:start] + shape + b", }".ljust(end - start + 3 - len(shape)) + data[end + 3 :]
    return data


def other_graph(rng: random.Random) -> bytes:
    """A sound index of the library, but not the one that belongs here."""
    faiss: Any = importlib.import_module("faiss")
    size, width = rng.choice((1, 9, 10, 11)), rng.choice((1, 256))
    rows = np.random.default_rng(rng.randrange(9)).normal(size=(size, width)).astype(np.float32)
    kinds = [
        faiss.IndexFlatIP(width), faiss.IndexFlatL2(width), faiss.IndexHNSWFlat(width, 32),
        faiss.IndexHNSWFlat(width, 32, faiss.METRIC_INNER_PRODUCT), faiss.IndexIDMap(faiss.IndexFlatIP(width)),
        faiss.IndexHNSWSQ(width, faiss.ScalarQuantizer.QT_8bit, 32), faiss.IndexLSH(width, 16),
    ]  # fmt: skip
    graph = rng.choice(kinds)
    graph.train(rows)
    if isinstance(graph, faiss.IndexIDMap):
        graph.add_with_ids(rows, np.arange(size))
    elif rng.random() < 0.9:
        graph.add(rows)
    return bytes(faiss.serialize_index(graph).tobytes())


def damage(folder: Path, rng: random.Random) -> str:
    """Change one file of an index; says which."""
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    name = rng.choice(files)
    path = folder / name
    if rng.random() < 0.35:
        path.write_bytes(flip(path.read_bytes(), rng))
    elif name.endswith(".npy"):
        path.write_bytes(other_array(path, rng))
    elif name.endswith(".jsonl"):
        lines = [json.loads(line) for line in path.read_bytes().splitlines()]
        lines = other_json(lines, rng)
        lines = lines if isinstance(lines, list) else [lines]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    elif name.endswith(".json"):
        path.write_text(json.dumps(other_json(json.loads(path.read_bytes()), rng)), encoding="utf-8")
    elif name.endswith(".faiss"):
        path.write_bytes(other_graph(rng))
    else:
        path.write_bytes(rng.choice((b"", b"\xff\xfe\x00", b"x" * 5, path.read_bytes()[::-1])))
    if name != "manifest.json":
        reseal(folder)
    return name


# the loop


def fuzz(world: World, cases: int, seed: int) -> list[str]:
    """What went wrong, in words."""
    endings: Counter[int] = Counter()
    wrong: list[str] = []
    index = world.root / "ix"
    for number in range(cases):
        rng = random.Random(f"{seed}/{number}")
        shutil.rmtree(index, ignore_errors=True)
        kind = rng.choice(list(world.sound))
        shutil.copytree(world.sound[kind], index)
        for _ in range(rng.choice((1, 1, 1, 2))):
            with contextlib.suppress(ValueError, KeyError, TypeError, OSError, AttributeError):
                name = damage(index, rng)  # a second damage may not find what it looks for
        for command in world.commands(index):
            done = run(command)
            endings[done.code] += 1
            if done.code not in ALLOWED or "Traceback" in done.err:
                shown = " ".join(str(arg) for arg in command)
                wrong.append(f"case {number} ({kind}, {name}): exit {done.code}: {shown}\n  {done.err.strip()}")
    print(f"fuzz: seed {seed}, {cases} cases, " + ", ".join(f"exit {c}: {n}" for c, n in sorted(endings.items())))
    return wrong


def _hang(*_: object) -> None:
    raise SystemExit(99)


def entry() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Damage indexes at random and use them.")
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=None, help="default: a new one each time, printed at the end")
    given = parser.parse_args()
    seed = given.seed if given.seed is not None else random.SystemRandom().randrange(1 << 32)
    signal.signal(signal.SIGALRM, _hang)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    embed.load = functools.cache(embed.load)  # the model is large, and the same each time
    home = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="ragworthy-fuzz-index-") as folder:
        os.chdir(folder)
        wrong = fuzz(make_world(Path(folder)), given.cases, seed)
        os.chdir(home)
    print("\n".join(wrong))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(entry())
