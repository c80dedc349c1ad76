"""Manifest against runtime: every field of a real index is changed in turn, and `index check` names it."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import run_cli

DOCS = {
    "bread.md": "# Bread\n\nSourdough needs flour and salt.\n\n## Baking\n\nBake the loaf at 240 degrees.\n",
    "guide.md": "# Guide\n\n## Doors\n\nThe doors close after ten seconds. A light barrier keeps them open.\n",
}
WORDLLAMA = "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5"
HASH = "index_hash: expected rw:"
FILES = ("bm25.chunks.npy", "bm25.scores.npy", "bm25.starts.npy", "bm25.words.json", "canonical/0000-bread-md.txt",
         "canonical/0001-guide-md.txt", "chunks.jsonl", "vectors.npy")  # fmt: skip
RUNTIME: dict[str, tuple[Any, str]] = {
    "metric": ("dot", 'metric: expected "cosine", got "dot" [RW-I13]'),
    "embedding.model": ("other", 'embedding.model: expected "wordllama", got "other" [RW-I13]'),
    "embedding.dimension": (64, "embedding.dimension: expected 256, got 64 [RW-I13]"),
    "embedding.normalized": (False, "embedding.normalized: expected true, got false [RW-I13]"),
    "embedding.weights": ("0" * 64, f'embedding.weights: expected "{WORDLLAMA}", got "{"0" * 64}" [RW-I13]'),
    "chunker.version": ("blocks/9", 'chunker.version: expected "ragworthy-blocks/1", got "blocks/9" [RW-I13]'),
    "text_preproc.unicode_norm": ("NFD", 'text_preproc.unicode_norm: expected "NFC", got "NFD" [RW-I13]'),
    "text_preproc.lowercase": (True, "text_preproc.lowercase: expected false, got true [RW-I13]"),
    "text_preproc.language": ("de", 'text_preproc.language: expected null, got "de" [RW-I13]'),
    "text_preproc.normaliser": ("n/2", 'text_preproc.normaliser: expected "ragworthy-norm/1", got "n/2" [RW-I13]'),
    "analyzer": ("words/2", 'analyzer: expected "ragworthy-words/1", got "words/2" [RW-I13]'),
}
"""What this version works with."""
BUILT: dict[str, tuple[Any, str]] = {
    "schema": ("ragworthy.index/9", "schema: expected ragworthy.index/1, got ragworthy.index/9 [RW-I03]"),
    "index_hash": ("rw:0", HASH),
    "index_type": ("hnsw", 'index_type: expected "flat", got "hnsw" [RW-I13]'),
    "counts.documents": (3, "counts.documents: expected 2, which the files have, got 3 [RW-I11]"),
    "counts.chunks": (9, "counts.chunks: expected 3, which the files have, got 9 [RW-I11]"),
    "counts.vectors": (9, "counts.vectors: expected 3, which the files have, got 9 [RW-I11]"),
    "documents.0.doc_id": ("x", 'doc_id: expected a document of the index, got "bread.md" [RW-I07]'),
    "documents.0.rev": ("0" * 8, ', which the text gives, got "00000000" [RW-I13]'),
    "documents.0.file": ("canonical/x.txt", "documents: expected a file listed under files"),
    "documents.0.bytes": (1, "documents: expected the size and hash that canonical/0000-bread-md.txt has under files"),
    "documents.0.sha256": ("0", "documents: expected the size and hash that canonical/0000-bread-md.txt has under"),
    **{f"files.{name}.bytes": (1, "RW-I0") for name in FILES},
    **{f"files.{name}.sha256": ("0", "RW-I0") for name in FILES},
}
"""What its own files say."""
DOCUMENTS: dict[str, tuple[Any, str]] = {
    "chunker.limit": (64, "expected the chunk that the documents give now, got another [re-ingest]"),
    "documents.0.path": ("b.md", 'expected "bread.md", where the document lies, got "b.md" [RW-I13]'),
}
"""What only the documents can tell."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("manifest")
    (root / "docs").mkdir()
    for name, text in DOCS.items():
        (root / "docs" / name).write_text(text)
    assert run_cli("index", "build", "--docs", root / "docs", "--out", root / "index").code == 0
    return root


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Every field, as a path; of a list its first item."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from leaves(one, (*path, key))
    elif isinstance(value, list):
        for one in value[:1]:
            yield from leaves(one, (*path, "0"))
    else:
        yield ".".join(path)


def changed(root: Path, tmp_path: Path, field: str, *value: Any) -> Path:
    """A copy of the index with another value of a field; without the field where no value is given."""
    copy = Path(shutil.copytree(root / "index", tmp_path / "index"))
    manifest = json.loads((copy / "manifest.json").read_text())
    first, *rest = field.split(".")
    if first == "files":  # names of files have dots
        name, _, last = field.removeprefix("files.").rpartition(".")
        manifest["files"][name][last] = value[0]
    else:
        place, keys = manifest, [first, *rest]
        for key in keys[:-1]:
            place = place[int(key)] if isinstance(place, list) else place[key]
        if value:
            place[keys[-1]] = value[0]
        else:
            del place[keys[-1]]
    (copy / "manifest.json").write_text(json.dumps(manifest))
    return copy


def test_every_field_of_the_manifest_is_among_those_below(built: Path) -> None:
    assert {*leaves(json.loads((built / "index/manifest.json").read_text()))} == {*RUNTIME, *BUILT, *DOCUMENTS}
    assert run_cli("index", "check", built / "index", "--docs", built / "docs").out.endswith("check: sound (exit 0)\n")


@pytest.mark.parametrize("field", RUNTIME)
def test_a_field_that_this_version_does_not_work_with_is_named_with_both_values(
    built: Path, tmp_path: Path, field: str
) -> None:
    value, said = RUNTIME[field]
    done = run_cli("index", "check", changed(built, tmp_path, field, value))
    assert (done.code, done.err) == (1, "")
    assert f"manifest.json: {said}\n" in done.out, done.out
    assert done.out.endswith("check: not sound (exit 1)\n")


@pytest.mark.parametrize("field", BUILT)
def test_a_field_that_the_files_do_not_bear_out_is_found(built: Path, tmp_path: Path, field: str) -> None:
    value, said = BUILT[field]
    done = run_cli("index", "check", changed(built, tmp_path, field, value))
    assert done.code in (1, 2)
    assert said in done.out + done.err


@pytest.mark.parametrize("field", DOCUMENTS)
def test_a_field_that_only_the_documents_tell_is_found_with_them(built: Path, tmp_path: Path, field: str) -> None:
    value, said = DOCUMENTS[field]
    done = run_cli("index", "check", changed(built, tmp_path, field, value), "--docs", built / "docs")
    assert done.code == 1
    assert said in done.out


def test_every_differing_field_is_named_at_once_and_missing_is_not_false(built: Path, tmp_path: Path) -> None:
    folder = changed(built, tmp_path, "text_preproc.lowercase")
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest |= {"metric": "dot", "chunker": {"version": "blocks/9"}}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    done = run_cli("index", "check", folder)
    home = f"{folder}/manifest.json"
    assert done.out.splitlines() == [
        f'{home}: metric: expected "cosine", got "dot" [RW-I13]',
        f'{home}: chunker.version: expected "ragworthy-blocks/1", got "blocks/9" [RW-I13]',
        f"{home}: chunker.limit: expected 2000, got missing [RW-I13]",
        f"{home}: text_preproc.lowercase: expected false, got missing [RW-I13]",
        "2 documents, 3 chunks: 4 faults",
        "chunk sizes: 5 to 12 tokens, median 6",
        "check: not sound (exit 1)",
    ]


def test_every_field_that_is_added_removed_or_changed_is_listed(built: Path, tmp_path: Path) -> None:
    copy = changed(built, tmp_path, "index_type", "ivf")
    manifest = json.loads((copy / "manifest.json").read_text())
    del manifest["metric"], manifest["analyzer"], manifest["counts"]["vectors"]
    manifest["embedding"]["normalized"] = False
    manifest |= {"shards": 3}
    (copy / "manifest.json").write_text(json.dumps(manifest))
    done = run_cli("index", "check", copy)
    named = [line.removeprefix(f"{copy / 'manifest.json'}: ") for line in done.out.splitlines()]
    assert (done.code, done.err) == (1, "")
    assert named == [
        'index_type: expected "flat", got "ivf" [RW-I13]',
        'metric: expected "cosine", got missing [RW-I13]',
        "embedding.normalized: expected true, got false [RW-I13]",
        'analyzer: expected "ragworthy-words/1", got missing [RW-I13]',
        "shards: expected no such field, got 3 [RW-I13]",
        "counts.vectors: expected a value, got missing [RW-I13]",
        "check: not sound (exit 1)",
    ]
    (copy / "manifest.json").write_text("{")
    assert run_cli("index", "check", copy).code == 2
