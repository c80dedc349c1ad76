"""Dense search by cosine: exact, or through an HNSW graph where there are many vectors."""

from pathlib import Path
from typing import Any

import numpy as np

from ragworthy.errors import usage_error
from ragworthy.index.extra import need
from ragworthy.index.ranking import Floats, Ints, Ranked, at_least, best, rounded

EXACT_UP_TO = 20_000
"""Up to this many vectors every one is looked at, unless a graph is asked for."""
LINKS = 32
BUILD_EFFORT = 200
SEARCH_EFFORT = 256
_QUERIES = 64
_MARGIN = 1e-5
"""More than single precision can be wrong by: candidates are scored again in double precision."""


def kind(ann: str, size: int) -> str:
    """Which search an index gets: flat or hnsw."""
    if ann == "auto":
        return "flat" if size <= EXACT_UP_TO else "hnsw"
    if ann in ("flat", "hnsw"):
        return ann
    raise usage_error(f'expected auto, flat or hnsw, got "{ann}"')


def exact(vectors: Floats, queries: Floats, count: int, place: Ints) -> list[Ranked]:
    """For each query the chunks with the highest cosine; none for a query without tokens."""
    found: list[Ranked] = []
    for start in range(0, len(queries), _QUERIES):
        part = queries[start : start + _QUERIES]
        for query, rough in zip(part, part @ vectors.T, strict=True):
            found.append(_rescored(vectors, query, at_least(rough, count, _MARGIN), count, place))
    return found


def approximate(graph: Any, vectors: Floats, queries: Floats, count: int, place: Ints) -> list[Ranked]:
    """As `exact`, but only the chunks to which the graph leads are looked at."""
    graph.hnsw.efSearch = max(SEARCH_EFFORT, 2 * count)
    wanted = min(len(vectors), max(2 * count, count + 16))
    _, near = graph.search(np.ascontiguousarray(queries), wanted)
    return [
        _rescored(vectors, query, row[row >= 0].astype(np.intp), count, place)
        for query, row in zip(queries, near, strict=True)
    ]


def _rescored(vectors: Floats, query: Floats, candidates: Ints, count: int, place: Ints) -> Ranked:
    if not query.any():
        return []
    scores = rounded(np.einsum("ij,j->i", vectors[candidates], query, dtype=np.float64, casting="safe"))
    return best(candidates, scores, place, count)


def build_graph(vectors: Floats) -> Any:
    """An HNSW graph over the vectors; built by one thread, so that the same vectors give the same bytes."""
    faiss = _faiss()
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        graph = faiss.IndexHNSWFlat(vectors.shape[1], LINKS, faiss.METRIC_INNER_PRODUCT)
        graph.hnsw.efConstruction = BUILD_EFFORT
        graph.add(np.ascontiguousarray(vectors))
    finally:
        faiss.omp_set_num_threads(threads)
    return graph


def save_graph(graph: Any, path: Path) -> None:
    """Write the graph with its vectors."""
    path.write_bytes(_faiss().serialize_index(graph).tobytes())


def load_graph(path: Path, shape: tuple[int, ...]) -> Any:
    """Read what `save_graph` wrote; a ValueError says what does not fit the vectors of this shape."""
    try:
        graph = _faiss().deserialize_index(np.fromfile(path, dtype=np.uint8))
    except RuntimeError:
        raise ValueError("something that is not a graph") from None
    if (graph.ntotal, graph.d) != shape:
        raise ValueError(f"a graph of shape {(graph.ntotal, graph.d)} for vectors of shape {shape}")
    return graph


def _faiss() -> Any:
    return need("faiss", "faiss-cpu", "hnsw", "an HNSW index")
