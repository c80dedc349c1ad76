"""Indexes whose files were forged together with their hashes: refused with a reason, whatever they hold."""

import contextlib
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import Done, run_cli, write_jsonl
from places import TESTS
from ragworthy.errors import DataError
from ragworthy.index import manifest, store
from ragworthy.index.arrays import read_array
from soak import SOAK

DOCS = {
    "bread.md": "# Bread\n\nSourdough needs flour and salt.\n\n## Baking\n\nBake the loaf at 240 degrees.\n",
    "guide.md": "# Guide\n\nWelcome to the handbook.\n\n## Doors\n\nThe doors close after ten seconds.\n",
}
CHUNKS = 4
QUERY = "When do the doors close?"
DOORS = "guide.md|s=1.1|p=000|b=001"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents, and one index with vectors and a graph over them."""
    root = tmp_path_factory.mktemp("built")
    (root / "docs").mkdir()
    for name, text in DOCS.items():
        (root / "docs" / name).write_text(text)
    library()
    assert run_cli("index", "build", "--docs", root / "docs", "--out", root / "index", "--ann", "hnsw").code == 0
    write_jsonl(
        root / "gold.jsonl",
        [{"qid": "Q1", "paraphrases": [QUERY, "Which doors close?", "When do doors close?"], "relevant": [DOORS]}],
    )
    return root


@pytest.fixture
def index(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built / "index", tmp_path / "index"))


def reseal(folder: Path, change: Callable[[dict[str, Any]], object] = lambda _: None) -> None:
    """Make the manifest agree with the files again, as somebody who edits an index by hand would."""
    content = json.loads((folder / "manifest.json").read_bytes())
    for name in content["files"]:
        data = (folder / name).read_bytes()
        content["files"][name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    for document in content["documents"]:
        document |= content["files"][document["file"]]
    change(content)
    (folder / "manifest.json").write_text(json.dumps(content), encoding="utf-8")


def said(done: Done) -> str:
    """The one line of the problem, after the folder."""
    assert done.code == 2, done
    return done.err.splitlines()[0].partition("/index/")[2]


def searched(index: Path, mode: str) -> str:
    return said(run_cli("index", "search", index, QUERY, "--mode", mode))


def saved(array: Any, save: Callable[..., None] = np.save) -> bytes:
    file = io.BytesIO()
    save(file, array)
    return file.getvalue()


def header(shape: str, descr: str = "'<f4'", body: bytes = b"\0" * 16) -> bytes:
    """A file that claims to be an array."""
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".ljust(117).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + body


# arrays

NOT_SAVED = "something that is not an array as NumPy saves it"
NO_ARRAYS: list[tuple[bytes, str]] = [
    (b"", NOT_SAVED),
    (b"\x93NUMPY\x01\x00", NOT_SAVED),
    (saved(np.zeros(4, "<f4"), np.savez), NOT_SAVED),
    (saved(np.float32(1)), NOT_SAVED),  # no dimension
    (saved(np.array(["a", "b"])), "values of type <U1 where <f4 belongs"),
    (saved(np.array([b"a"])), "values of type |S1 where <f4 belongs"),
    (saved(np.zeros(2, [("a", "<f4")])), NOT_SAVED),  # records
    (saved(np.array([{}]), lambda file, array: np.save(file, array, allow_pickle=True)),
     "values of type |O where <f4 belongs"),
    (saved(np.zeros(4, ">f4")), "values of type >f4 where <f4 belongs"),
    (saved(np.zeros(4, "<f8")), "values of type <f8 where <f4 belongs"),
    (saved(np.zeros(4, "<c8")), "values of type <c8 where <f4 belongs"),
    (saved(np.zeros((2, 2), "<f4")), "2 × 2 values where any belong"),
    (saved(np.zeros((4, 3), "<f4", order="F")), NOT_SAVED),
    (header("(-1,)"), NOT_SAVED),
    (header("(4.0,)"), NOT_SAVED),
    (header("()"), NOT_SAVED),
    (header("(10**9,)"), NOT_SAVED),
    (header("(999999999999,)"), "16 bytes where an array of shape 999999999999 has 3999999999996"),
    (header("(999999999999999999,)"), "16 bytes where an array of shape 999999999999999999 has 3999999999999999996"),
    (header("(9999999999999999999999999,)"), NOT_SAVED),
    (header("(3,)"), "16 bytes where an array of shape 3 has 12"),
    (header("(4,)", "'|O'"), "values of type |O where <f4 belongs"),
    (header("(4,)", "__import__('os').system('false')"), NOT_SAVED),
    (saved(np.zeros(4, "<f4"))[:-1], "15 bytes where an array of shape 4 has 16"),
    (saved(np.array([0, np.nan], "<f4")), "values from nan, where none may be below 0"),
    (saved(np.array([0, np.inf], "<f4")), "values up to inf, where none may be above 1"),
    (saved(np.array([-1, 0], "<f4")), "values from -1.0, where none may be below 0"),
    (saved(np.array([1, 0], "<f4")), "values that fall, where each is at least the one before"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "message"), NO_ARRAYS, ids=range(len(NO_ARRAYS)))
def test_an_array_is_what_it_must_be_or_refused(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "a.npy").write_bytes(data)
    for source in (data, tmp_path / "a.npy"):
        with pytest.raises(ValueError, match=re.escape(message)):
            read_array(source, "<f4", (None,), low=0, high=1, rising=True)


@pytest.mark.parametrize("array", [np.zeros(0, "<f4"), np.array([0, 0.5, 1], "<f4"), np.arange(70_000, dtype="<f4")])
def test_an_array_that_numpy_saved_is_read_as_it_was(tmp_path: Path, array: np.ndarray[Any, Any]) -> None:
    np.save(tmp_path / "a.npy", array)
    for source in ((tmp_path / "a.npy").read_bytes(), tmp_path / "a.npy"):
        assert read_array(source, "<f4", (len(array),), low=0, rising=True).tolist() == array.tolist()
    wide = array.reshape(1, -1)
    assert read_array(saved(wide), "<f4", (1, None)).tolist() == wide.tolist()


@pytest.mark.parametrize(
    ("name", "make", "message"),
    [
        ("bm25.scores.npy", lambda a: a * np.float32(np.nan), "values from nan, where none may be below 0"),
        ("bm25.scores.npy", lambda a: a[:-1], None),
        ("bm25.scores.npy", lambda a: -a, None),
        ("bm25.chunks.npy", lambda a: a + 9, "values up to 12, where none may be above 3"),
        ("bm25.chunks.npy", lambda a: a - 1, "values from -1, where none may be below 0"),
        ("bm25.chunks.npy", lambda a: a.astype("<i8"), "values of type <i8 where <i4 belongs"),
        ("bm25.starts.npy", lambda a: a[::-1], "values that fall, where each is at least the one before"),
        ("bm25.starts.npy", lambda a: a - 5, "values from -5, where none may be below 0"),
        ("bm25.starts.npy", lambda a: np.maximum(a, 1), "ranges that are not those of words in 4 chunks"),
        ("bm25.starts.npy", lambda a: np.where(a > 0, a[-1], 0), "ranges that are not those of words in 4 chunks"),
        ("bm25.starts.npy", lambda a: a[:1], None),
    ],
)
def test_scores_that_cannot_be_those_of_words(
    index: Path, name: str, make: Callable[[Any], Any], message: str | None
) -> None:
    array = np.load(index / name)
    (index / name).write_bytes(saved(make(array)))
    reseal(index)
    for mode in ("bm25", "hybrid"):
        problem = searched(index, mode)
        assert problem.startswith(f"{name}: expected a file as it was built, got: {message or ''}")
        assert problem.endswith("[RW-I02]")
    done = run_cli("index", "ask", index, QUERY)
    assert said(done) == problem
    done = run_cli("index", "check", index)
    assert done.code == 1 and f"/index/{problem}\n" in done.out


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'["door", "door"]', "words that are listed twice"),
        (b'{"door": 1}', "Expected `array`, got `object`"),
        (b"[1]", "Expected `str`, got `int` - at `$[0]`"),
        (b"[" * 100_000, "Expected `str`, got `array` - at `$[0]`"),
        (b'["\xff"]', "Invalid UTF-8"),
        (b"", "Input data was truncated"),
    ],
)
def test_words_that_are_none(index: Path, content: bytes, message: str) -> None:
    (index / "bm25.words.json").write_bytes(content)
    reseal(index)
    problem = searched(index, "bm25")
    assert problem.startswith("bm25.words.json: expected a file as it was built, got: ") and "[RW-I02]" in problem
    assert message in problem or message == "Invalid UTF-8"


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda a: a[:3], "vectors.npy: expected a vector for each of the 4 chunks, got 3 [RW-I02]"),
        (lambda a: a * 2, "vectors.npy: row 0: expected unit length, got 2.0000 [RW-I12]"),
        (lambda a: a * np.float32(np.nan), "vectors.npy: row 0: expected unit length, got nan [RW-I12]"),
        (lambda a: np.full_like(a, 3e38), None),
        (lambda a: a[:, :255], "vectors.npy: expected a file as it was built, got: 4 × 255 values where any × 256"),
        (lambda a: a.astype(">f4"), "vectors.npy: expected a file as it was built, got: values of type >f4"),
        (lambda a: a[0], "vectors.npy: expected a file as it was built, got: 256 values where any × 256 belong"),
    ],
)
def test_vectors_that_no_model_gave(index: Path, make: Callable[[Any], Any], problem: str | None, built: Path) -> None:
    (index / "vectors.npy").write_bytes(saved(make(np.load(index / "vectors.npy"))))
    reseal(index)
    for mode in ("dense", "hybrid"):
        found = searched(index, mode)
        assert found.startswith(problem or "vectors.npy: row 0: expected unit length, got ")
    out = index.parent / "traces.jsonl"  # distances are worked out from the vectors whatever the mode
    done = run_cli("retrieve", "--index", index, "--gold", built / "gold.jsonl", "-o", out, "--mode", "bm25")
    assert said(done) == found
    assert run_cli("index", "search", index, QUERY, "--mode", "bm25").code == 0
    assert run_cli("index", "check", index).code in (1, 2)


# the graph

LEAD_NOWHERE = ("a graph with links that lead nowhere", "something that is not a graph")
"""What we say, and what we say when the library notices it first, as newer versions do."""


def library() -> Any:
    return pytest.importorskip("faiss", reason="SKIPPED: faiss is not installed")


@contextlib.contextmanager
def graph_of(index: Path) -> Iterator[Any]:
    """The graph of an index, to be altered and saved again."""
    faiss = library()
    graph = faiss.deserialize_index(np.fromfile(index / "hnsw.faiss", dtype=np.uint8))
    yield graph
    (index / "hnsw.faiss").write_bytes(faiss.serialize_index(graph).tobytes())
    reseal(index)


def refused_graph(index: Path) -> str:
    assert run_cli("index", "search", index, QUERY, "--mode", "bm25").code == 0
    found = {searched(index, mode) for mode in ("dense", "hybrid")}
    checked = run_cli("index", "check", index)
    assert checked.code == 1 and all(f"/index/{problem}\n" in checked.out for problem in found)
    assert len(found) == 1
    return found.pop().removeprefix("hnsw.faiss: expected a file as it was built, got: ").removesuffix(" [RW-I02]")


def test_a_graph_of_another_kind(index: Path) -> None:
    faiss = library()
    vectors = np.load(index / "vectors.npy")
    other = faiss.IndexHNSWFlat(256, 32, faiss.METRIC_L2)
    other.add(vectors)
    flat = faiss.IndexFlatIP(256)
    flat.add(vectors)
    rough = faiss.IndexHNSWSQ(256, faiss.ScalarQuantizer.QT_8bit, 32, faiss.METRIC_INNER_PRODUCT)
    rough.train(vectors)
    rough.add(vectors)
    made: dict[str, list[Any]] = {"a graph of another kind": [other], "something that is not a graph": [flat, rough]}
    for message, graphs in made.items():
        for graph in graphs:
            (index / "hnsw.faiss").write_bytes(faiss.serialize_index(graph).tobytes())
            reseal(index)
            assert refused_graph(index) == message


def test_a_graph_of_other_vectors(index: Path) -> None:
    faiss = library()
    vectors = np.load(index / "vectors.npy")
    for rows, message in (
        (vectors[::-1].copy(), "a graph of other vectors"),
        (vectors[:2], "a graph of shape (2, 256) for vectors of shape (4, 256)"),
    ):
        graph = faiss.IndexHNSWFlat(256, 32, faiss.METRIC_INNER_PRODUCT)
        graph.add(rows)
        (index / "hnsw.faiss").write_bytes(faiss.serialize_index(graph).tobytes())
        reseal(index)
        assert refused_graph(index) == message


@pytest.mark.parametrize(
    ("field", "place", "value"),
    [
        ("neighbors", 0, 4),
        ("neighbors", 0, 2**31 - 1),
        ("neighbors", 0, -2),
        ("levels", 0, 0),
        ("levels", 0, 6),
        ("levels", 0, -1),
        ("offsets", 1, 10**15),
        ("offsets", 0, 1),
        ("cum_nneighbor_per_level", 1, 10**9),
        ("cum_nneighbor_per_level", 0, 1),
    ],
)
def test_a_graph_with_links_that_lead_nowhere(index: Path, field: str, place: int, value: int) -> None:
    faiss = library()
    with graph_of(index) as graph:
        array = faiss.vector_to_array(getattr(graph.hnsw, field))
        array[place] = value
        faiss.copy_array_to_vector(array, getattr(graph.hnsw, field))
    assert refused_graph(index) in LEAD_NOWHERE


@pytest.mark.parametrize(("field", "value"), [("entry_point", 4), ("entry_point", -1), ("max_level", 5)])
def test_a_graph_that_starts_nowhere(index: Path, field: str, value: int) -> None:
    with graph_of(index) as graph:
        setattr(graph.hnsw, field, value)
    assert refused_graph(index) in LEAD_NOWHERE


def test_a_graph_that_claims_to_be_larger_than_its_file(index: Path) -> None:
    path = index / "hnsw.faiss"
    data = path.read_bytes()
    at = data.index((6).to_bytes(8, "little"))  # the length of the first list in it
    for size in (1 << 33, 1 << 39, (1 << 64) - 1):  # 64 GB and more
        path.write_bytes(data[:at] + size.to_bytes(8, "little") + data[at + 8 :])
        reseal(index)
        assert refused_graph(index) == "something that is not a graph"


# chunks and documents


def lines_of(index: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (index / "chunks.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda rows: rows[1].update(chunk_id=rows[0]["chunk_id"]), "got: a chunk without an id of its own in line 2"),
        (lambda rows: rows[1].update(chunk_id=""), "got: a chunk without an id of its own in line 2"),
        (lambda rows: rows[1].update(offsets=[9, 8]), "got: a chunk without bytes of its document in line 2"),
        (lambda rows: rows[1].update(offsets=[-9, 8]), "got: a chunk without bytes of its document in line 2"),
        (lambda rows: rows[1].update(offsets=[0, 10**30]), "got: a chunk without bytes of its document in line 2"),
        (lambda rows: rows[1].pop("offsets"), "got: a chunk without bytes of its document in line 2"),
        (lambda rows: rows[1].update(doc_id="gone.md"), "got: a chunk without bytes of its document in line 2"),
        (lambda rows: rows[1].update(text=None), "got: Expected `str`, got `null` - at `$[1].text`"),
        (lambda rows: rows.append([]), "got: Expected `object`, got `array` - at `$[4]`"),
    ],
)
def test_chunks_that_no_build_writes(index: Path, change: Callable[[list[Any]], object], problem: str) -> None:
    rows: list[Any] = lines_of(index)
    change(rows)
    write_jsonl(index / "chunks.jsonl", rows)
    reseal(index, lambda content: content["counts"].update(chunks=len(rows)))
    for mode in ("bm25", "dense"):
        found = searched(index, mode)
        assert found.startswith(f"chunks.jsonl: expected a file as it was built, {problem}"), found
        assert found.endswith("[RW-I02]")
    assert run_cli("index", "check", index).code in (1, 2)


@pytest.mark.parametrize("count", [0, 3, 5])
def test_more_or_fewer_chunks_than_the_manifest_says(index: Path, count: int) -> None:
    reseal(index, lambda content: content["counts"].update(chunks=count))
    assert searched(index, "bm25") == f"manifest.json: counts.chunks: expected {count}, got 4 [RW-I11]"


def test_an_index_without_a_chunk(index: Path) -> None:
    (index / "chunks.jsonl").write_bytes(b"")
    reseal(index, lambda content: content["counts"].update(chunks=0))
    assert searched(index, "bm25") == "chunks.jsonl: expected a file as it was built, got: no chunk [RW-I02]"


def test_a_chunk_nested_too_deeply(index: Path) -> None:
    deep = b'{"chunk_id": "a", "text": "b", "attrs": {"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}}\n"
    (index / "chunks.jsonl").write_bytes(deep)
    reseal(index, lambda content: content["counts"].update(chunks=1))
    assert searched(index, "bm25") == (
        "chunks.jsonl: expected a file as it was built, got: JSON nested too deeply [RW-I02]"
    )


def test_a_canonical_text_that_is_none_is_a_fault(index: Path) -> None:
    path = next((index / "canonical").iterdir())
    path.write_bytes(b"\xff\xfe" + b"\0" * (path.stat().st_size - 2))
    reseal(index)
    done = run_cli("index", "check", index)
    assert done.code == 1 and "[RW-I07]" in done.out


# the manifest

NEEDED = [
    "chunks.jsonl", "bm25.scores.npy", "bm25.chunks.npy", "bm25.starts.npy", "bm25.words.json", "vectors.npy",
    "hnsw.faiss",
]  # fmt: skip


@pytest.mark.parametrize("name", NEEDED)
def test_a_manifest_lists_every_file_that_the_index_needs(index: Path, name: str) -> None:
    reseal(index, lambda content: content["files"].pop(name))
    message = f"manifest.json: files: expected {name} among the files of this index, got none [RW-I03]"
    assert searched(index, "bm25") == message
    assert said(run_cli("index", "check", index)) == message


def test_a_manifest_need_not_list_what_the_index_has_no_use_for(built: Path, tmp_path: Path) -> None:
    for name, options in {"plain": ("--dense", "none"), "flat": ("--ann", "flat")}.items():
        assert run_cli("index", "build", "--docs", built / "docs", "--out", tmp_path / name, *options).code == 0
        files = manifest.read(tmp_path / name / "manifest.json").files
        assert set(NEEDED) - set(files) == {"plain": {"vectors.npy", "hnsw.faiss"}, "flat": {"hnsw.faiss"}}[name]
        assert run_cli("index", "check", tmp_path / name).code == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m["documents"][0].update(file="canonical/none.txt"),
         'documents: expected a file listed under files, got "canonical/none.txt"'),
        (lambda m: m["documents"][0].update(file="chunks.jsonl"),
         'documents: expected a file listed under files, got "chunks.jsonl"'),
        (lambda m: m["documents"][0].update(bytes=10**9),
         "documents: expected the size and hash that canonical/0000-bread-md.txt has under files, got others"),
        (lambda m: m["documents"][0].update(sha256="0" * 64),
         "documents: expected the size and hash that canonical/0000-bread-md.txt has under files, got others"),
        (lambda m: m["documents"][1].update(doc_id="bread.md"),
         'documents: expected another doc_id for each document, got "bread.md" again'),
        (lambda m: m["documents"].append(m["documents"][0] | {"doc_id": "other.md"}),
         'documents: expected another file for each document, got "canonical/0000-bread-md.txt" again'),
        (lambda m: m.update(index_type="ivf"),
         'index_type: expected flat or hnsw for an index with vectors, got "ivf"'),
        (lambda m: m.update(embedding=None), 'index_type: expected bm25 for an index without vectors, got "hnsw"'),
        (lambda m: m["embedding"].update(dimension=0), "embedding.dimension: expected int >= 1"),
        (lambda m: m["counts"].update(chunks=-1), "counts.chunks: expected int >= 0"),
        (lambda m: m["chunker"].update(limit=-5), "chunker.limit: expected int >= 1"),
    ],
)  # fmt: skip
def test_a_manifest_that_contradicts_itself(
    index: Path, change: Callable[[dict[str, Any]], object], message: str
) -> None:
    reseal(index, change)
    assert searched(index, "bm25") == f"manifest.json: {message} [RW-I03]"


def test_a_model_whose_vectors_do_not_fit(index: Path) -> None:
    (index / "vectors.npy").write_bytes(saved(np.eye(4, dtype="<f4")))
    reseal(index, lambda content: content["embedding"].update(dimension=4) or content.update(index_type="flat"))
    message = "manifest.json: embedding.dimension: expected a model with 4 numbers in a vector, got one with 256"
    assert searched(index, "dense") == f"{message} [RW-I04]"
    assert said(run_cli("index", "ask", index, QUERY)) == f"{message} [RW-I04]"


def test_a_pipe_where_a_file_should_be_is_not_read(index: Path) -> None:
    for name in ("chunks.jsonl", "manifest.json"):
        (index / name).unlink()
        os.mkfifo(index / name)
        done = run_cli("index", "search", index, QUERY)
        assert done.code == 2 and ("[RW-I02]" in done.err or "[RW-I01]" in done.err)
    done = run_cli("index", "build", "--docs", index.parent, "--out", index, "--dense", "none")
    assert done.code == 2


def test_what_is_used_has_the_hash_also_when_the_file_changes_after_it_was_opened(index: Path) -> None:
    opened = store.open_index(index)
    data = (index / "chunks.jsonl").read_bytes()
    (index / "chunks.jsonl").write_bytes(data.replace(b"ten seconds", b"two seconds"))
    with pytest.raises(DataError) as caught:
        opened.search(QUERY, 1, "bm25")
    assert "chunks.jsonl: expected SHA-256" in str(caught.value) and "[RW-I02]" in str(caught.value)


# everything at random


def test_indexes_damaged_at_random_are_used_in_an_orderly_way() -> None:
    """In a process of its own, with little memory: a library that crashes must not take the other tests along."""
    script, cases = TESTS / "fuzz_index.py", "40" if SOAK else "12"
    done = subprocess.run(
        [sys.executable, str(script), "--cases", cases, "--seed", "20260101"],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout.startswith(f"fuzz: seed 20260101, {cases} cases, ")
