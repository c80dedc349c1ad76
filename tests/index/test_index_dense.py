"""Dense search: exact against numpy, the graph against exact."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragworthy.errors import MissingExtra, UsageError
from ragworthy.index import dense, ranking
from ragworthy.index.ranking import unit_rows
from ragworthy.records import Chunk


def vectors_of(count: int, seed: int, size: int = 32) -> ranking.Floats:
    """Clustered vectors, as texts give them."""
    random = np.random.Generator(np.random.PCG64(seed))
    centres = random.normal(size=(20, size))
    rows = centres[random.integers(0, 20, count)] + 0.6 * random.normal(size=(count, size))
    return unit_rows(rows.astype(np.float32))


def in_order(count: int) -> ranking.Ints:
    return np.arange(count)


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 300), st.integers(1, 20), st.integers(0, 10**6))
def test_exact_search_is_a_full_sort(size: int, count: int, seed: int) -> None:
    vectors, queries = vectors_of(size, seed), vectors_of(3, seed + 1)
    for query, found in zip(queries, dense.exact(vectors, queries, count, in_order(size)), strict=True):
        scores = [round(float(row @ query.astype(float)), 6) for row in vectors.astype(float)]
        expected = sorted(range(size), key=lambda n: (-scores[n], n))[:count]
        assert [n for n, _ in found] == expected
        assert [score for _, score in found] == pytest.approx([scores[n] for n in expected], abs=1.1e-6)


def test_one_by_one_and_all_at_once_are_the_same() -> None:
    vectors, queries = vectors_of(500, 1, 256), vectors_of(150, 2, 256)
    together = dense.exact(vectors, queries, 10, in_order(500))
    assert together == [dense.exact(vectors, queries[n : n + 1], 10, in_order(500))[0] for n in range(150)]


def test_equal_vectors_keep_the_order_of_sections_and_ids() -> None:
    names = [("2", "d#1"), ("1.10", "d#2"), ("1.9", "d#10"), ("1.9", "d#9")]
    chunks = [Chunk(chunk_id=name, section_id=section, text="x") for section, name in names]
    vectors = np.repeat(vectors_of(1, 3), 4, axis=0)
    found = dense.exact(vectors, vectors[:1], 3, ranking.places(chunks))[0]
    assert [chunks[n].chunk_id for n, _ in found] == ["d#9", "d#10", "d#2"]
    assert {score for _, score in found} == {1.0}


def test_a_question_without_tokens_finds_nothing() -> None:
    vectors = vectors_of(5, 4)
    assert dense.exact(vectors, np.zeros((1, 32), dtype=np.float32), 3, in_order(5)) == [[]]


def test_the_graph_finds_what_exact_search_finds() -> None:
    pytest.importorskip("faiss", reason="SKIPPED: faiss is not installed")
    vectors, queries = vectors_of(5000, 5, 64), vectors_of(200, 6, 64)
    graph = dense.build_graph(vectors)
    exact = dense.exact(vectors, queries, 10, in_order(5000))
    near = dense.approximate(graph, vectors, queries, 10, in_order(5000))
    shared = sum(len({n for n, _ in one} & {n for n, _ in other}) for one, other in zip(exact, near, strict=True))
    assert shared / 2000 >= 0.99
    for one, other in zip(exact, near, strict=True):  # what both find has the same score
        scores = dict(one)
        assert all(scores[n] == score for n, score in other if n in scores)


def test_the_same_vectors_give_the_same_graph(tmp_path: Path) -> None:
    pytest.importorskip("faiss", reason="SKIPPED: faiss is not installed")
    vectors = vectors_of(2000, 7)
    for name in ("one", "two"):
        dense.save_graph(dense.build_graph(vectors), tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    loaded = dense.load_graph((tmp_path / "one").read_bytes(), vectors)
    queries = vectors_of(5, 8)
    assert dense.approximate(loaded, vectors, queries, 5, in_order(2000)) == dense.approximate(
        dense.build_graph(vectors), vectors, queries, 5, in_order(2000)
    )


def test_links_are_looked_at_before_the_library_follows_them() -> None:
    """Newer versions of the library refuse such files themselves; older ones read beyond their memory."""
    faiss: Any = pytest.importorskip("faiss", reason="SKIPPED: faiss is not installed")
    vectors = vectors_of(2000, 7)

    def altered(field: str, change: Callable[[Any], object]) -> None:
        graph = dense.build_graph(vectors)
        values = faiss.vector_to_array(getattr(graph.hnsw, field))
        change(values)
        faiss.copy_array_to_vector(values, getattr(graph.hnsw, field))
        dense.check_links(faiss, graph.hnsw, 2000)

    graph = dense.build_graph(vectors)
    levels, offsets = (faiss.vector_to_array(getattr(graph.hnsw, name)) for name in ("levels", "offsets"))
    low, high = int(np.argmin(levels)), int(np.argmax(levels))
    assert (levels[low], levels[high]) == (1, 3)
    upper = int(offsets[high]) + 2 * dense.LINKS  # where the links of the second level begin
    dense.check_links(faiss, graph.hnsw, 2000)
    altered("neighbors", lambda values: values.__setitem__(upper, -1))  # no link there: that is allowed
    changes: list[tuple[str, int, int]] = [
        ("neighbors", upper, low), ("neighbors", 0, 2000), ("neighbors", 0, -2), ("levels", low, 2), ("levels", low, 0),
        ("levels", low, 99), ("offsets", 5, 2**63), ("offsets", 2000, 7), ("cum_nneighbor_per_level", 1, 10**9),
    ]  # fmt: skip
    for field, place, value in changes:
        with pytest.raises(ValueError, match="a graph with links that lead nowhere"):
            altered(field, lambda values, place=place, value=value: values.__setitem__(place, value))  # type: ignore[misc]


def test_a_graph_needs_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingExtra) as caught:
        dense.build_graph(vectors_of(3, 9))
    assert caught.value.lines()[0] == "an HNSW index needs faiss-cpu: pip install faiss-cpu (extra: hnsw) [RW-F15]"


def test_the_graph_is_for_many_vectors_or_on_demand() -> None:
    assert [dense.kind("auto", size) for size in (1, 20_000, 20_001)] == ["flat", "flat", "hnsw"]
    assert dense.kind("hnsw", 1) == "hnsw"
    assert dense.kind("flat", 10**6) == "flat"
    with pytest.raises(UsageError, match='expected auto, flat or hnsw, got "ivf"'):
        dense.kind("ivf", 1)
