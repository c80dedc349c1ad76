"""Indexes on disk: what is written, what is refused, what is found."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from places import TESTS
from ragworthy.errors import DataError, RagworthyError, UsageError
from ragworthy.index import embed, manifest, store
from ragworthy.records import Chunk

TEXTS = {
    "guide.md": "The wing heats the boundary layer.\n\nOxygen is a chemical element.\n\nÜnï 電梯 stops.\n",
    "../../etc/passwd": "Normandy is a region in France.\n\nThe Normans came from Denmark.\n",
}


def corpus(texts: dict[str, str] | None = None) -> tuple[list[Chunk], list[store.CanonicalText]]:
    """A chunk for each paragraph."""
    chunks, documents = [], []
    for doc, text in (texts or TEXTS).items():
        documents.append(store.CanonicalText(doc, doc, hashlib.sha1(text.encode()).hexdigest()[:8], text))
        at = 0
        for number, piece in enumerate(text.removesuffix("\n").split("\n\n")):
            size = len(piece.encode())
            chunks.append(
                Chunk(
                    chunk_id=f"{doc}#{number}",
                    doc_id=doc,
                    section_id=f"{doc}/p{number}",
                    type="prose",
                    offsets=(at, at + size),
                    text=piece,
                )
            )
            at += size + 2
    return chunks, documents


@pytest.fixture(scope="module")
def model() -> embed.Embedder:
    return embed.load()


def make(out: Path, model: embed.Embedder | None = None, texts: dict[str, str] | None = None, **more: Any) -> Any:
    chunks, documents = corpus(texts)
    options = {"normaliser": "plain/1", "chunker": "paragraphs/1", "limit": 400, "embedder": model, **more}
    return store.build(out, **{"chunks": chunks, "documents": documents, **options})


def tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def problem(run: Callable[[], object]) -> str:
    with pytest.raises(RagworthyError) as caught:
        run()
    return str(caught.value.problems[0])


def edit(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    content = json.loads(path.read_bytes())
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")


def reseal(folder: Path) -> None:
    """Make the manifest agree with the files again, as somebody who edits an index by hand would."""

    def change(content: dict[str, Any]) -> None:
        for name in content["files"]:
            data = (folder / name).read_bytes()
            content["files"][name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}

    edit(folder / "manifest.json", change)


# what is written


def test_an_index_holds_what_anyone_needs_to_check_it(tmp_path: Path, model: embed.Embedder) -> None:
    made = make(tmp_path / "ix", model, notes=["from the tests"])
    content = json.loads((tmp_path / "ix" / "manifest.json").read_text(encoding="utf-8"))
    assert {name: content[name] for name in ("schema", "index_type", "metric", "analyzer", "counts", "notes")} == {
        "schema": "ragworthy.index/1",
        "index_type": "flat",
        "metric": "cosine",
        "analyzer": "ragworthy-words/1",
        "counts": {"documents": 2, "chunks": 5, "vectors": 5},
        "notes": ["from the tests"],
    }
    assert content["embedding"] == {
        "model": "wordllama",
        "dimension": 256,
        "normalized": True,
        "weights": "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
    }
    assert content["chunker"] == {"version": "paragraphs/1", "limit": 400}
    assert content["text_preproc"] == {
        "unicode_norm": "NFC",
        "lowercase": False,
        "language": None,
        "normaliser": "plain/1",
    }
    assert [document["file"] for document in content["documents"]] == [
        "canonical/0000-guide-md.txt",
        "canonical/0001-etc-passwd.txt",
    ]
    files = tree(tmp_path / "ix")
    assert set(files) == {*content["files"], "manifest.json"}
    for name, said in content["files"].items():
        assert said == {"bytes": len(files[name]), "sha256": hashlib.sha256(files[name]).hexdigest()}
    rows = [json.loads(line) for line in files["chunks.jsonl"].splitlines()]
    for row in rows:
        document = next(one for one in content["documents"] if one["doc_id"] == row["doc_id"])
        begin, end = row["offsets"]
        assert files[document["file"]][begin:end].decode() == row["text"]
        assert {"chunk_id", "doc_id", "section_id", "type", "offsets", "text"} <= set(row)
    assert manifest.read(tmp_path / "ix" / "manifest.json") == made
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ix"]


def test_the_same_input_gives_the_same_bytes(tmp_path: Path, model: embed.Embedder) -> None:
    make(tmp_path / "one", model)
    make(tmp_path / "deep" / "er" / "two", model)
    make(tmp_path / "one", model)  # over itself
    assert tree(tmp_path / "one") == tree(tmp_path / "deep" / "er" / "two")


SCRIPT = """
import sys
from pathlib import Path
sys.path[:0] = {folders!r}
import test_index_store as t
print(t.make(Path({out!r}), t.embed.load(), ann="hnsw").index_hash)
"""


def test_the_same_bytes_in_another_process_with_other_settings(tmp_path: Path, model: embed.Embedder) -> None:
    pytest.importorskip("faiss", reason="SKIPPED: faiss is not installed")
    hashes = set()
    for seed, locale in (("1", "C"), ("77", "C.UTF-8")):
        out = tmp_path / seed / "ix"
        code = SCRIPT.format(folders=[str(Path(__file__).parent), str(TESTS)], out=str(out))
        env = {**os.environ, "PYTHONHASHSEED": seed, "LC_ALL": locale, "TZ": "Asia/Tokyo", "OMP_NUM_THREADS": seed[0]}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
        assert done.stderr == ""
        hashes.add(done.stdout)
    assert len(hashes) == 1
    assert tree(tmp_path / "1" / "ix") == tree(tmp_path / "77" / "ix")


def test_the_index_hash_names_the_content_and_not_the_place(tmp_path: Path, model: embed.Embedder) -> None:
    base = make(tmp_path / "a", model).index_hash
    assert base.startswith("rw:") and len(base) == 19
    chunks, documents = corpus()
    moved = [document._replace(path="/elsewhere/" + document.path) for document in documents]
    assert make(tmp_path / "b", model, documents=moved, notes=["x"]).index_hash == base
    typed = [msgspec.structs.replace(chunks[0], type="code"), *chunks[1:]]
    others = [
        make(tmp_path / "c", None).index_hash,
        make(tmp_path / "c", model, normaliser="plain/2").index_hash,
        make(tmp_path / "c", model, chunks=typed).index_hash,
        make(tmp_path / "c", model, chunks=chunks[::-1]).index_hash,
        make(tmp_path / "c", model, texts={**TEXTS, "guide.md": TEXTS["guide.md"].replace("wing", "ring")}).index_hash,
    ]
    assert len({base, *others}) == 6


def test_an_id_under_the_key_id_is_written_as_chunk_id(tmp_path: Path) -> None:
    chunks, _ = corpus()
    renamed = [msgspec.structs.replace(chunk, id=chunk.chunk_id, chunk_id=None) for chunk in chunks]
    make(tmp_path / "one", chunks=renamed)
    make(tmp_path / "two")
    assert tree(tmp_path / "one") == tree(tmp_path / "two")


# searching


def names(hits: list[store.Hit]) -> list[str]:
    return [hit.chunk.name for hit in hits]


def test_searching(tmp_path: Path, model: embed.Embedder) -> None:
    make(tmp_path / "ix", model)
    index = store.open_index(tmp_path / "ix")
    for mode in ("bm25", "dense", "hybrid"):
        hits = index.search("Where is the region Normandy?", 3, mode)
        assert hits[0].chunk is index.by_id["../../etc/passwd#0"]
        assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert names(index.search("電梯", 5, "bm25")) == ["guide.md#2"]
    assert index.search("zebra", 5, "bm25") == []
    assert index.search("", 5, "hybrid") == []
    assert len(index.search("zebra", 2, "dense")) == 2
    assert index.canonical("guide.md") == TEXTS["guide.md"].encode()
    assert index.vectors.shape == (5, 256)
    assert isinstance(index.vectors, np.memmap)


def test_many_questions_at_once_find_what_each_alone_finds(tmp_path: Path, model: embed.Embedder) -> None:
    make(tmp_path / "ix", model)
    index = store.open_index(tmp_path / "ix")
    queries = ["wing", "chemical element", "", "Normans from Denmark", "電梯"]
    for mode in ("bm25", "dense", "hybrid"):
        together = index.search_many(queries, 3, mode)
        assert together == [index.search(query, 3, mode) for query in queries]


def test_hybrid_search_fuses_both_lists(tmp_path: Path, model: embed.Embedder) -> None:
    make(tmp_path / "ix", model)
    index = store.open_index(tmp_path / "ix")
    query = "the chemical wing"
    lexical, dense = names(index.search(query, 5, "bm25")), names(index.search(query, 5, "dense"))
    fused = {hit.chunk.name: hit.score for hit in index.search(query, 5, "hybrid")}
    assert set(fused) == {*lexical, *dense}
    for name, score in fused.items():
        ranks = [one.index(name) + 1 for one in (lexical, dense) if name in one]
        assert score == pytest.approx(sum(1 / (60 + rank) for rank in ranks), abs=1e-12)
    both = set(lexical) & set(dense)
    assert set(names(index.search(query, 5, "hybrid", fusion="intersection"))) == both
    assert names(index.search(query, 5, "hybrid", fusion="union"))[0] in (lexical[0], dense[0])


def test_a_question_in_capitals_is_understood(tmp_path: Path, model: embed.Embedder) -> None:
    make(tmp_path / "ix", model)
    index = store.open_index(tmp_path / "ix")
    assert index.search("OXYGEN IS A CHEMICAL", 3, "dense") == index.search("oxygen is a chemical", 3, "dense")


def test_the_knee_cuts_what_has_fallen_off(tmp_path: Path) -> None:
    texts = {"d": "\n\n".join(["wing heat wing", "wing heat heat", "heat", "heat it", "heat it so", "heat it so far"])}
    make(tmp_path / "ix", texts=texts)
    index = store.open_index(tmp_path / "ix")
    assert names(index.search("wing heat", 6, "bm25", knee=True)) == ["d#0", "d#1"]
    assert len(index.search("wing heat", 6, "bm25")) == 6
    assert len(index.search("wing heat", 1, "bm25", knee=True)) == 1


def test_a_graph_searches_as_exact_search_does(tmp_path: Path, model: embed.Embedder) -> None:
    pytest.importorskip("faiss", reason="SKIPPED: faiss is not installed")
    assert make(tmp_path / "graph", model, ann="hnsw").index_type == "hnsw"
    make(tmp_path / "flat", model, ann="flat")
    graph, flat = store.open_index(tmp_path / "graph"), store.open_index(tmp_path / "flat")
    for query in ("wing", "region of France", ""):
        assert graph.search(query, 3, "dense") == flat.search(query, 3, "dense")


def test_senseless_calls_are_refused(tmp_path: Path) -> None:
    make(tmp_path / "ix")
    index = store.open_index(tmp_path / "ix")
    calls: list[tuple[Callable[[], object], str]] = [
        (lambda: index.search("x", 0, "bm25"), "expected k and depth of at least 1, got 0 [RW-U01]"),
        (lambda: index.search("x", 1, "magic"), 'expected bm25, dense or hybrid, got "magic" [RW-U01]'),  # type: ignore[arg-type]
        (
            lambda: index.search("x", 1, "hybrid", fusion="sum"),  # type: ignore[arg-type]
            'expected rrf, intersection or union, got "sum" [RW-U01]',
        ),
        (lambda: index.canonical("nowhere"), 'expected a document of the index, got "nowhere" [RW-U01]'),
        (
            lambda: index.search("x", 1, "dense"),
            f"{tmp_path / 'ix'}: expected an index with vectors, got one for lexical search only [RW-I10]",
        ),
        (
            lambda: index.vectors,
            f"{tmp_path / 'ix'}: expected an index with vectors, got one for lexical search only [RW-I10]",
        ),
    ]
    for call, message in calls:
        assert problem(call) == message


LAZY = """
import sys
from pathlib import Path
from ragworthy.index import store
hits = store.open_index(Path({out!r})).search("wing", 3, "bm25")
assert hits[0].chunk.name == "guide.md#0"
heavy = {{"tokenizers", "safetensors", "wordllama", "bm25s", "numba", "scipy", "faiss", "httpx", "torch"}}
print(sorted(heavy & set(sys.modules)))
"""


def test_lexical_search_loads_neither_models_nor_libraries(tmp_path: Path, model: embed.Embedder) -> None:
    make(tmp_path / "ix", model)
    code = LAZY.format(out=str(tmp_path / "ix"))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")


# what is refused


def test_what_is_not_an_index(tmp_path: Path) -> None:
    assert problem(lambda: store.open_index(tmp_path / "no")) == (
        f"{tmp_path / 'no'}: expected an index, got nothing at this path [RW-I01]"
    )
    (tmp_path / "file").write_text("x")
    assert problem(lambda: store.open_index(tmp_path / "file")) == (
        f"{tmp_path / 'file'}: expected an index, got a file [RW-I01]"
    )
    (tmp_path / "empty").mkdir()
    assert problem(lambda: store.open_index(tmp_path / "empty")) == (
        f"{tmp_path / 'empty'}: expected an index, got a folder without manifest.json [RW-I01]"
    )


@pytest.mark.parametrize(
    "name",
    ["chunks.jsonl", "canonical/0000-guide-md.txt", "bm25.scores.npy", "bm25.words.json", "vectors.npy"],
)
def test_an_altered_or_missing_file_is_named(tmp_path: Path, model: embed.Embedder, name: str) -> None:
    make(tmp_path / "ix", model)
    path = tmp_path / "ix" / name
    data = bytearray(path.read_bytes())
    data[-2] ^= 1
    path.write_bytes(data)
    assert problem(lambda: store.open_index(tmp_path / "ix")).startswith(f"{path}: expected SHA-256 ")
    store.open_index(tmp_path / "ix", verify=False)
    path.write_bytes(data[:-1])
    message = f"{path}: expected {len(data)} bytes, got {len(data) - 1} [RW-I02]"
    assert problem(lambda: store.open_index(tmp_path / "ix")) == message
    assert problem(lambda: store.open_index(tmp_path / "ix", verify=False)) == message
    path.unlink()
    assert problem(lambda: store.open_index(tmp_path / "ix")) == (
        f"{path}: expected a file, got nothing at this path [RW-I02]"
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.update(schema="ragworthy.index/9"), "schema: expected ragworthy.index/1, got ragworthy.index/9"),
        (lambda m: m.pop("schema"), "schema: expected ragworthy.index/1, got None"),
        (lambda m: m.pop("counts"), "counts: expected a value, got nothing"),
        (lambda m: m["counts"].update(chunks="5"), "counts.chunks: expected int, got str"),
        (
            lambda m: m["files"].update({"../secret": {"bytes": 1, "sha256": ""}}),
            'files: expected a file name inside the index, got "../secret"',
        ),
        (
            lambda m: m["files"].update({"/etc/passwd": {"bytes": 1, "sha256": ""}}),
            'files: expected a file name inside the index, got "/etc/passwd"',
        ),
        (
            lambda m: m["documents"][0].update(file="../x"),
            'documents: expected a file listed under files, got "../x"',
        ),
    ],
)
def test_a_manifest_that_is_wrong(tmp_path: Path, change: Callable[[dict[str, Any]], object], message: str) -> None:
    make(tmp_path / "ix")
    path = tmp_path / "ix" / "manifest.json"
    edit(path, change)
    assert problem(lambda: store.open_index(tmp_path / "ix")) == f"{path}: {message} [RW-I03]"


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff", b'{"schema": "\xff"}', b"[" * 5000, b"null"])
def test_a_manifest_that_cannot_be_read(tmp_path: Path, content: bytes) -> None:
    make(tmp_path / "ix")
    (tmp_path / "ix" / "manifest.json").write_bytes(content)
    assert problem(lambda: store.open_index(tmp_path / "ix")).endswith("[RW-I03]")


def test_files_that_were_forged_with_their_hashes_are_refused_when_they_are_read(
    tmp_path: Path, model: embed.Embedder
) -> None:
    make(tmp_path / "ix", model)
    home = tmp_path / "ix"
    np.save(home / "vectors.npy", np.zeros((5, 200), dtype=np.float32))
    (home / "bm25.words.json").write_bytes(b'["one"]')
    reseal(home)
    index = store.open_index(home)
    assert problem(lambda: index.search("x", 1, "dense")) == (
        f"{home / 'vectors.npy'}: expected a file as it was built, got: 5 × 200 values where any × 256 belong [RW-I02]"
    )
    assert problem(lambda: index.search("x", 1, "bm25")) == (
        f"{home / 'bm25.starts.npy'}: expected a file as it was built, got: 22 values where 2 belong [RW-I02]"
    )
    (home / "chunks.jsonl").write_bytes(b'{"text": 4}\n')
    reseal(home)
    assert problem(lambda: store.open_index(home).chunks) == (
        f"{home / 'chunks.jsonl'}: expected a file as it was built, got:"
        " Expected `str`, got `int` - at `$[0].text` [RW-I02]"
    )


def test_a_vector_for_each_chunk(tmp_path: Path, model: embed.Embedder) -> None:
    make(tmp_path / "ix", model)
    home = tmp_path / "ix"
    np.save(home / "vectors.npy", np.load(home / "vectors.npy")[:4])
    reseal(home)
    index = store.open_index(home)
    assert problem(lambda: index.search("x", 1, "dense")) == (
        f"{home / 'vectors.npy'}: expected a vector for each of the 5 chunks, got 4 [RW-I02]"
    )
    assert [str(finding.problem) for finding in store.check(index)] == [
        f"{home / 'manifest.json'}: counts.vectors: expected 4, which the files have, got 5 [RW-I11]",
        f"{home / 'manifest.json'}: counts.vectors: expected a vector for each of the 5 chunks, got 4 [RW-I11]",
    ]


def test_a_graph_that_is_none_or_anothers(tmp_path: Path, model: embed.Embedder) -> None:
    pytest.importorskip("faiss", reason="SKIPPED: faiss is not installed")
    make(tmp_path / "ix", model, ann="hnsw")
    make(tmp_path / "other", model, ann="hnsw", texts={"d": "other\n"})
    path = tmp_path / "ix" / "hnsw.faiss"
    for content, message in (
        (b"nothing of the kind", "something that is not a graph"),
        (
            (tmp_path / "other" / "hnsw.faiss").read_bytes(),
            "a graph of shape (1, 256) for vectors of shape (5, 256)",
        ),
    ):
        path.write_bytes(content)
        reseal(tmp_path / "ix")
        assert problem(lambda: store.open_index(tmp_path / "ix").search("x", 1, "dense")) == (
            f"{path}: expected a file as it was built, got: {message} [RW-I02]"
        )


def test_an_index_made_for_another_way_of_searching(tmp_path: Path, model: embed.Embedder) -> None:
    make(tmp_path / "ix", model)
    path = tmp_path / "ix" / "manifest.json"
    edit(path, lambda content: content.update(analyzer="ragworthy-words/0", metric="l2"))
    index = store.open_index(tmp_path / "ix")
    assert problem(lambda: index.search("x", 1, "bm25")) == (
        f"{path}: analyzer: expected ragworthy-words/1, got ragworthy-words/0 [RW-I03]"
    )
    assert problem(lambda: index.search("x", 1, "dense")) == f"{path}: metric: expected cosine, got l2 [RW-I03]"


def test_an_index_may_not_choose_whom_we_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(store.PERMIT, raising=False)
    make(tmp_path / "ix", embed.load())
    path = tmp_path / "ix" / "manifest.json"
    edit(path, lambda content: content["embedding"].update(model="openai:m@http://evil.example/v1"))
    message = (
        f"{path}: embedding.model: expected RAGWORTHY_EMBED_URL=http://evil.example/v1 in the environment,"
        " without which no index may make us ask an address [RW-I04]"
    )
    assert problem(lambda: store.open_index(tmp_path / "ix").embedder()) == message
    monkeypatch.setenv(store.PERMIT, "http://localhost/v1")
    assert problem(lambda: store.open_index(tmp_path / "ix").embedder()) == message


def test_other_weights_than_those_of_the_build_are_refused(tmp_path: Path, model: embed.Embedder) -> None:
    make(tmp_path / "ix", model)
    path = tmp_path / "ix" / "manifest.json"
    edit(path, lambda content: content["embedding"].update(weights="0" * 64))
    assert problem(lambda: store.open_index(tmp_path / "ix").search("x", 1, "dense")) == (
        f"{path}: embedding.weights: expected weights 000000000000…, got 64b47a2dc493… [RW-I04]"
    )


def test_nothing_of_others_is_replaced(tmp_path: Path) -> None:
    out = tmp_path / "ix"
    out.mkdir()
    (out / "thesis.tex").write_text("years of work")
    assert problem(lambda: make(out)) == (f"{out}: expected an index or nothing, got a folder with thesis.tex [RW-I09]")
    (out / "thesis.tex").rename(tmp_path / "thesis.tex")
    make(out)  # an empty folder is nobody's
    (out / "canonical" / "notes.txt").write_text("mine")
    before = tree(out)
    assert problem(lambda: make(out)) == (
        f"{out}: expected only the files of an index, got canonical/notes.txt too [RW-I09]"
    )
    assert tree(out) == before
    assert problem(lambda: make(tmp_path / "thesis.tex")) == (
        f"{tmp_path / 'thesis.tex'}: expected an index or nothing, got a file [RW-I09]"
    )
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_an_index_behind_a_link_is_replaced_where_it_lies(tmp_path: Path) -> None:
    make(tmp_path / "real")
    (tmp_path / "link").symlink_to("real")
    make(tmp_path / "link", texts={"d": "other\n"})
    assert (tmp_path / "link").is_symlink()
    assert store.open_index(tmp_path / "real").chunks[0].text == "other"


def test_chunks_that_do_not_fit_their_documents_are_refused(tmp_path: Path) -> None:
    chunks, documents = corpus()
    first = chunks[0]

    def built(**changes: Any) -> str:
        changed = msgspec.structs.replace(first, **changes)
        return problem(lambda: make(tmp_path / "ix", chunks=[changed, *chunks[1:]]))

    assert built(text="Something else entirely, really.") == (
        "guide.md#0: text: expected the bytes [0, 34) of the canonical text, got another text [RW-I07]"
    )
    assert built(offsets=(0, 999)) == (
        "guide.md#0: offsets: expected a range inside the 87 bytes of the text, got [0, 999) [RW-I07]"
    )
    assert built(offsets=(5, 5)) == (
        "guide.md#0: offsets: expected [begin, end) with 0 <= begin < end, got [5, 5) [RW-I07]"
    )
    assert built(offsets=(-3, 5)).endswith("got [-3, 5) [RW-I07]")
    assert built(offsets=None) == "guide.md#0: offsets: expected a value, got nothing [RW-C01]"
    assert built(doc_id="x.md") == 'guide.md#0: doc_id: expected a document of the index, got "x.md" [RW-I07]'
    assert built(chunk_id=None) == "chunk_id: expected a non-empty string, got nothing [RW-C01]"
    assert built(chunk_id="guide.md#1") == (
        'guide.md#1: chunk_id: expected a unique id, got "guide.md#1" again [RW-I06]'
    )
    assert problem(lambda: make(tmp_path / "ix", chunks=[])) == "expected chunks, got none [RW-D03]"
    assert problem(lambda: make(tmp_path / "ix", documents=[*documents, documents[0]])) == (
        'guide.md: doc_id: expected a unique id, got "guide.md" again [RW-D02]'
    )
    assert problem(lambda: make(tmp_path / "ix", documents=[documents[0]._replace(text="a\ud800")])) == (
        "guide.md: expected text, got a lone surrogate at character 1 [RW-D01]"
    )
    assert problem(lambda: make(tmp_path / "ix", documents=[documents[0]._replace(path="\udcff"), documents[1]])) == (
        f"{tmp_path / 'ix'}: expected ids and paths that can be written in UTF-8, got a lone surrogate [RW-D06]"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    out = tmp_path / "file" / "ix"
    assert problem(lambda: make(out)) == f"{out}: cannot be written: File exists [RW-F14]"


# two indexes


def test_drift_names_every_field_that_differs(tmp_path: Path, model: embed.Embedder) -> None:
    one = make(tmp_path / "one", model)
    assert store.drift(one, one) == []
    assert store.drift(one, make(tmp_path / "two", model, texts={"d": "other\n"})) == []
    assert store.drift(one, make(tmp_path / "two", None, chunker="blocks/2", normaliser="plain/2")) == [
        'index_type: "flat" against "bm25"',
        'metric: "cosine" against null',
        'embedding.model: "wordllama" against missing',
        "embedding.dimension: 256 against missing",
        "embedding.normalized: true against missing",
        'embedding.weights: "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5" against missing',
        'chunker.version: "paragraphs/1" against "blocks/2"',
        'text_preproc.normaliser: "plain/1" against "plain/2"',
    ]


def test_missing_is_neither_false_nor_null(tmp_path: Path, model: embed.Embedder) -> None:
    make(tmp_path / "ix", model)
    path = tmp_path / "ix" / "manifest.json"

    def read(change: Callable[[dict[str, Any]], object]) -> manifest.Manifest:
        edit(path, change)
        return manifest.read(path)

    false = read(lambda content: content["embedding"].update(normalized=False))
    missing = read(lambda content: (content["embedding"].pop("normalized"), content["text_preproc"].pop("language")))
    assert store.drift(false, missing) == [
        "embedding.normalized: false against missing",
        "text_preproc.language: null against missing",
    ]


# checking


def test_a_sound_index_has_no_findings(tmp_path: Path, model: embed.Embedder) -> None:
    make(tmp_path / "ix", model)
    assert store.check(store.open_index(tmp_path / "ix")) == []


def test_check_finds_what_was_changed_with_its_hashes(tmp_path: Path, model: embed.Embedder) -> None:
    make(tmp_path / "ix", model)
    home = tmp_path / "ix"
    rows = [json.loads(line) for line in (home / "chunks.jsonl").read_text(encoding="utf-8").splitlines()]
    rows[1]["text"] = "Oxygen is a chemical elephant"
    rows[2]["offsets"] = [9, 8]
    rows[3]["chunk_id"] = "guide.md#0"
    rows[4]["doc_id"] = "gone.md"
    (home / "chunks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    vectors = np.load(home / "vectors.npy")
    vectors[0] *= 2
    vectors[1] = 0  # a text without tokens
    vectors[2] = np.nan
    np.save(home / "vectors.npy", vectors)
    edit(home / "manifest.json", lambda content: content.update(counts={"documents": 3, "chunks": 6, "vectors": 5}))
    reseal(home)
    found = store.check(store.open_index(home))
    lines, whole = home / "chunks.jsonl", home / "manifest.json"
    named = [finding for finding in found if finding.problem.field == "index_hash"]
    assert [(one.problem.code, one.problem.where) for one in named] == [("RW-I03", str(whole))]
    found = [finding for finding in found if finding not in named]
    assert [str(finding.problem) for finding in found] == [
        f"{lines}:2: text: expected the bytes [36, 65) of the canonical text, got another text [RW-I07]",
        f"{lines}:3: offsets: expected [begin, end) with 0 <= begin < end, got [9, 8) [RW-I07]",
        f'{lines}:4: chunk_id: expected a unique id, got "guide.md#0" again [RW-I06]',
        f'{lines}:5: doc_id: expected a document of the index, got "gone.md" [RW-I07]',
        f"{whole}: counts.documents: expected 2, which the files have, got 3 [RW-I11]",
        f"{whole}: counts.chunks: expected 5, which the files have, got 6 [RW-I11]",
        f"{home / 'vectors.npy'}: row 0: expected unit length, got 2.0000 [RW-I12]",
        f"{home / 'vectors.npy'}: row 2: expected unit length, got nan [RW-I12]",
    ]
    assert [finding.chunk_id for finding in found][:4] == [
        "guide.md#1",
        "guide.md#2",
        "guide.md#0",
        "../../etc/passwd#1",
    ]


def test_an_index_can_be_copied(tmp_path: Path, model: embed.Embedder) -> None:
    make(tmp_path / "ix", model)
    shutil.copytree(tmp_path / "ix", tmp_path / "copy")
    assert store.check(store.open_index(tmp_path / "copy")) == []


def test_errors_are_of_the_right_kind(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        store.open_index(tmp_path / "no")
    with pytest.raises(UsageError):
        make(tmp_path / "ix", ann="ivf")
