"""Dense search by cosine: exact, or through an HNSW graph where there are many vectors."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ragworthy.errors import usage_error
from ragworthy.index.models import need
from ragworthy.index.ranking import Floats, Ints, Ranked, at_least, best, rounded

EXACT_UP_TO = 20_000
"""Up to this many vectors every one is looked at, unless a graph is asked for."""
LINKS = 32
BUILD_EFFORT = 200
SEARCH_EFFORT = 256
_HNSW_FLAT = b"IHNf"
"""How the library begins a file with a graph of this kind."""
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


def load_graph(data: bytes, vectors: Floats) -> Any:
    """Read what `save_graph` wrote; a ValueError says what is wrong with it, or does not fit these vectors.

    The library trusts the links of a graph, and would follow a wrong one out of its memory.
    """
    faiss = _faiss()
    graph = _deserialized(faiss, data)
    storage: Any = None if graph.storage is None else faiss.downcast_index(graph.storage)
    kinds = (faiss.IndexHNSWFlat, faiss.IndexFlat)
    if not all(
        isinstance(one, kind) and one.metric_type == faiss.METRIC_INNER_PRODUCT
        for one, kind in zip((graph, storage), kinds, strict=True)
    ):
        raise ValueError("a graph of another kind")
    if (graph.ntotal, graph.d) != vectors.shape:
        raise ValueError(f"a graph of shape {(graph.ntotal, graph.d)} for vectors of shape {vectors.shape}")
    if (storage.ntotal, storage.d, storage.codes.size()) != (*vectors.shape, vectors.nbytes):
        raise ValueError("a graph without its vectors")
    if not np.array_equal(faiss.rev_swig_ptr(storage.get_xb(), vectors.size), vectors.reshape(-1)):
        raise ValueError("a graph of other vectors")
    check_links(faiss, graph.hnsw, len(vectors))
    return graph


def _deserialized(faiss: Any, data: bytes) -> Any:
    """The index in these bytes; nothing in it may claim to be larger than the file."""
    if not data.startswith(_HNSW_FLAT):
        raise ValueError("something that is not a graph")
    with _limited(faiss, len(data)):
        try:
            return faiss.deserialize_index(np.frombuffer(data, dtype=np.uint8))
        except (RuntimeError, MemoryError):
            raise ValueError("something that is not a graph") from None


@contextmanager
def _limited(faiss: Any, size: int) -> Iterator[None]:
    """Have the library refuse arrays of more bytes than this, if it is new enough to know how."""
    if not hasattr(faiss, "set_deserialization_vector_byte_limit"):
        yield
        return
    before = faiss.get_deserialization_vector_byte_limit()
    faiss.set_deserialization_vector_byte_limit(size)
    try:
        yield
    finally:
        faiss.set_deserialization_vector_byte_limit(before)


def check_links(faiss: Any, hnsw: Any, size: int) -> None:
    """Refuse links that lead nowhere, or to a level on which the other end is not."""
    names = ("levels", "offsets", "neighbors", "cum_nneighbor_per_level")
    levels, offsets, links, slots = (faiss.vector_to_array(getattr(hnsw, name)) for name in names)
    offsets = offsets.astype(np.int64)
    sound = (
        len(levels) == size
        and len(offsets) == size + 1
        and len(slots) >= 2
        and slots[0] == 0
        and (np.diff(slots) >= 0).all()
        and ((levels >= 1) & (levels < len(slots))).all()
        and offsets[0] == 0
        and (np.diff(offsets) == slots[levels]).all()
        and offsets[-1] == len(links)
        and ((links >= -1) & (links < size)).all()
        and 0 <= hnsw.entry_point < size
        and hnsw.max_level == levels[hnsw.entry_point] - 1
    )
    for level in range(1, int(levels.max()) if sound else 0):
        there = np.flatnonzero(levels > level)
        own = links[(offsets[there][:, None] + np.arange(slots[level], slots[level + 1])).reshape(-1)]
        sound = sound and bool((levels[own[own >= 0]] > level).all())
    if not sound:
        raise ValueError("a graph with links that lead nowhere")


def _faiss() -> Any:
    return need("faiss", "faiss-cpu", "hnsw", "an HNSW index")
