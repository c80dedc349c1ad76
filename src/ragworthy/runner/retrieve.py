"""Every paraphrase and seed of a retrieval gold set against an index, as traces."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import msgspec

from ragworthy.errors import MOST_PROBLEMS, DataError, MissingExtra, UsageError, data_error, usage_error
from ragworthy.files import shown_path, write_whole
from ragworthy.gold.lint import identities
from ragworthy.gold.lint_retrieval import Question
from ragworthy.ids import section_key, stable
from ragworthy.index.blocks import load_corpus
from ragworthy.index.embed import distance, endpoint_url
from ragworthy.index.measure import Measure, stored
from ragworthy.index.store import Hit, Index
from ragworthy.load.decode import read_items
from ragworthy.load.lock import load_lock, lock_path
from ragworthy.load.sources import open_source
from ragworthy.metrics.facts.convergence import Seen, run_marks
from ragworthy.metrics.facts.judgements import ids_of, wordings_of
from ragworthy.metrics.facts.placed import place_of, qualified
from ragworthy.records import RetrievalGold

EPOCH = "1970-01-01T00:00:00Z"
"""The time that traces carry when nobody says another: the same index then gives the same bytes."""
SEEDS = (1, 2)
Mode = Literal["bm25", "dense", "hybrid"]


class How(NamedTuple):
    """How an index is asked."""

    k: int = 10
    mode: str = "auto"
    fusion: str = "rrf"
    knee: bool = False
    seeds: tuple[int, ...] = SEEDS
    cite: int = 1
    """How many of the first results stand for the citations of an answer; 0 writes none."""
    ts: str = EPOCH


class Asked(NamedTuple):
    """One wording of a question."""

    qid: str
    paraphrase: int
    query: str
    anchor: str
    relevant: tuple[str, ...] = ()


def wordings(gold: Path) -> list[Asked]:
    """Every paraphrase of every question, in the order of the file."""
    source = open_source("gold", gold)
    items, problems = read_items(source, RetrievalGold)
    if not problems:
        problems = [one.problem for one in identities([Question(*item) for item in items], source.given)]
    if problems:
        raise DataError(problems[:MOST_PROBLEMS], len(problems))
    asked = []
    for item in items:
        one: RetrievalGold = item.record
        texts = wordings_of(one)
        if not texts or not all(text.strip() for text in texts):
            message = "expected at least one non-empty wording, got none"
            field = "paraphrases" if one.paraphrases else "question"
            raise data_error("RW-G12", message, where=source.at(item.line), field=field)
        relevant = tuple(map(stable, ids_of(one)))
        asked += [Asked(one.name, nth, text, one.anchor_section or "", relevant) for nth, text in enumerate(texts)]
    return asked


def mode_of(index: Index, asked: str) -> Mode:
    """The mode that was asked for; hybrid where the index has vectors and none was."""
    if asked == "auto":
        return "hybrid" if index.manifest.embedding is not None else "bm25"
    if asked not in ("bm25", "dense", "hybrid"):
        raise usage_error(f'expected bm25, dense or hybrid, got "{asked}"')
    return cast(Mode, asked)


def retriever_of(index: Index, how: How) -> dict[str, Any]:
    """How an index is asked, as traces say it."""
    mode = mode_of(index, how.mode)
    fusion = {"fusion": how.fusion} if mode == "hybrid" else {}
    return {"mode": mode, **fusion, "k": how.k, "knee": how.knee}


def search(index: Index, queries: Sequence[str], how: How) -> list[list[Hit]]:
    """The results of each query."""
    fusion = cast(Literal["rrf", "intersection", "union"], how.fusion)
    return index.search_many(queries, how.k, mode_of(index, how.mode), fusion=fusion, knee=how.knee)


def measure_for(gold: Path, index: Index) -> Measure | None:
    """The model of distances that the lock of a gold set names; None where it is the index's, asked over a network, or
    has lost its weights. One that is not installed is an error that names the lock.
    """
    beside = lock_path(gold)
    kept = load_lock(beside).calibration if beside.exists() else None
    name, weights = ((kept or {}).get(key) for key in ("model", "weights"))
    if not isinstance(name, str) or not isinstance(weights, str) or endpoint_url(name) is not None:
        return None
    own = index.manifest.embedding
    if own is not None and (own.model, own.weights) == (name, weights):
        return None
    try:
        found = stored(name, weights, beside, [lambda: list(load_corpus(index.root).texts.values())])
    except (MissingExtra, UsageError) as error:
        told = error.problems[0]
        message = f"it was calibrated with the model {name}: {told.message}"
        raise type(error)([told._replace(message=message, where=shown_path(beside))]) from None
    return None if isinstance(found, str) else found


def traces(index: Index, asked: Sequence[Asked], how: How, measure: Measure | None = None) -> Iterator[dict[str, Any]]:
    """One trace for each wording and seed, question by question; with distances of this model, else of the index's own.

    Searching an index is not random, so every seed gets the same results; a pipeline under test may not.
    """
    found = search(index, [one.query for one in asked], how)
    distances = _measured(index, asked, found, measure) if measure is not None else _distances(index, asked, found)
    by_question: dict[str, list[int]] = {}
    for nth, one in enumerate(asked):
        by_question.setdefault(one.qid, []).append(nth)
    manifest, retriever = index.manifest, retriever_of(index, how)
    for numbers in by_question.values():
        marks = run_marks([_seen(found[nth], how.cite) for nth in numbers])
        for seed in how.seeds:
            for nth, mark in zip(numbers, marks, strict=True):
                one, hits = asked[nth], found[nth]
                trace: dict[str, Any] = {
                    "qid": one.qid,
                    "paraphrase": one.paraphrase,
                    "seed": seed,
                    "query": one.query,
                    "topk": [_result(hit) for hit in hits],
                }
                if distances is not None:
                    trace |= distances[nth]
                if how.cite:
                    cited = hits[: how.cite]
                    trace["λ_state"] = mark
                    trace["answer_citations"] = [{"id": hit.chunk.name, "offsets": hit.chunk.offsets} for hit in cited]
                    trace |= {"cited_by": "rank", "deterministic": True}
                trace |= {
                    "anchor": one.anchor,
                    "index_hash": manifest.index_hash,
                    "normaliser_id": manifest.text_preproc.normaliser,
                    "retriever": retriever,
                    "ts": how.ts,
                }
                yield trace


def _result(hit: Hit) -> dict[str, Any]:
    chunk = hit.chunk
    return {"id": chunk.name, "score": round(hit.score, 6), "offsets": chunk.offsets, "type": chunk.type or "prose"}


def _seen(hits: Sequence[Hit], cite: int) -> Seen:
    cited = hits[: max(1, cite)]
    if not cited:
        return Seen("", ())
    first = cited[0].chunk
    place = place_of(first.name)
    section = place._replace(doc=first.doc_id or place.doc, section=first.section_id or place.section)
    return Seen(qualified(section) or first.name, tuple(hit.chunk.name for hit in cited))


def _distances(index: Index, asked: Sequence[Asked], found: Sequence[Sequence[Hit]]) -> list[dict[str, Any]] | None:
    """The distances of each trace: results to the query, and to the section that should answer; None without vectors.

    Those that leave the range from 0 to 1 are cut to it, and kept beside as they were.
    """
    model = index.manifest.embedding
    if model is None:
        return None
    rows = {chunk.name: row for row, chunk in enumerate(index.chunks)}
    queries = index.embedder().embed([one.query for one in asked])
    anchors = _anchor_rows(index, asked)
    table = []
    for nth, hits in enumerate(found):
        results = index.vectors[[rows[hit.chunk.name] for hit in hits]]
        raw = distance(queries[[nth] * len(hits)], results).tolist() if hits else []
        anchor = anchors[nth]
        to_anchor = None
        if anchor is not None and hits:
            to_anchor = distance(index.vectors[[anchor] * len(hits)], results).tolist()
        table.append(_entry(raw, to_anchor, model.model, model.weights))
    return table


def distances_of(index: Index, question: str, names: Sequence[str]) -> dict[str, Any]:
    """What a trace says of the distances of its results; nothing where the index has no vectors."""
    hits = [Hit(index.by_id[name], 0.0, nth) for nth, name in enumerate(names, 1)]
    found = _distances(index, [Asked("", 0, question, "", ())], [hits])
    return found[0] if found else {}


def _measured(
    index: Index, asked: Sequence[Asked], found: Sequence[Sequence[Hit]], measure: Measure
) -> list[dict[str, Any]]:
    """The same with a model that is not the index's, from the texts."""
    table = []
    for one, hits, anchor in zip(asked, found, _anchor_rows(index, asked), strict=True):
        texts = [hit.chunk.text for hit in hits]
        raw = measure.distances([one.query] * len(texts), texts).tolist()
        to_anchor = None
        if anchor is not None and hits:
            to_anchor = measure.distances([index.chunks[anchor].text] * len(texts), texts).tolist()
        table.append(_entry(raw, to_anchor, measure.name, measure.weights))
    return table


def _entry(raw: list[float], to_anchor: list[float] | None, model: str, weights: str) -> dict[str, Any]:
    cut = [min(1.0, max(0.0, value)) for value in raw]
    entry: dict[str, Any] = {"ΔS": cut}
    if cut != raw:
        entry["ΔS_raw"] = raw
    if to_anchor is not None:
        entry["ΔS_anchor"] = to_anchor
    return entry | {"delta_s_model": {"name": model, "weights": weights}}


def _anchor_rows(index: Index, asked: Sequence[Asked]) -> list[int | None]:
    """For each wording the first block of its anchor section, in a document of its relevant blocks."""
    first: dict[tuple[str, str], int] = {}
    for row, chunk in enumerate(index.chunks):
        first.setdefault((chunk.doc_id or "", chunk.section_id or ""), row)
    found: list[int | None] = []
    for one in asked:
        doc, _, path = section_key(one.anchor).rpartition("|s=")
        homes = [doc] if doc else [index.by_id[name].doc_id or "" for name in one.relevant if name in index.by_id]
        found.append(next((first[home, path] for home in homes if (home, path) in first), None))
    return found


def write_traces(path: Path, records: Iterable[dict[str, Any]]) -> int:
    """Write traces as JSON lines, whole or not at all; gives their number back."""
    encode = msgspec.json.Encoder().encode
    lines = [encode(record) for record in records]
    write_whole(path, b"\n".join(lines) + b"\n")
    return len(lines)
