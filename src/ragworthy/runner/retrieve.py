"""Every paraphrase and seed of a retrieval gold set against an index, as traces."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import msgspec

from ragworthy.errors import MOST_PROBLEMS, DataError, data_error, usage_error
from ragworthy.files import write_whole
from ragworthy.gold.lint import identities
from ragworthy.gold.lint_retrieval import Question
from ragworthy.ids import section_key, stable
from ragworthy.index.embed import distance
from ragworthy.index.store import Hit, Index
from ragworthy.load.decode import read_items
from ragworthy.load.sources import open_source
from ragworthy.metrics.facts.convergence import Seen, run_marks
from ragworthy.metrics.facts.judgements import ids_of, wordings_of
from ragworthy.metrics.facts.wanted import place_of, qualified
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
            raise data_error("RW-G12", message, where=f"{source.given}:{item.line}", field=field)
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


def search(index: Index, queries: Sequence[str], how: How) -> list[list[Hit]]:
    """The results of each query."""
    fusion = cast(Literal["rrf", "intersection", "union"], how.fusion)
    return index.search_many(queries, how.k, mode_of(index, how.mode), fusion=fusion, knee=how.knee)


def traces(index: Index, asked: Sequence[Asked], how: How) -> Iterator[dict[str, Any]]:
    """One trace for each wording and seed, question by question.

    Searching an index takes no chances, so every seed gets the same results; a pipeline under test may not.
    """
    found = search(index, [one.query for one in asked], how)
    distances = _distances(index, asked, found)
    by_question: dict[str, list[int]] = {}
    for nth, one in enumerate(asked):
        by_question.setdefault(one.qid, []).append(nth)
    manifest = index.manifest
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
                    trace["cited_by"] = "rank"
                trace |= {
                    "anchor": one.anchor,
                    "index_hash": manifest.index_hash,
                    "normaliser_id": manifest.text_preproc.normaliser,
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
        cut = [min(1.0, max(0.0, value)) for value in raw]
        entry: dict[str, Any] = {"ΔS": cut}
        if cut != raw:
            entry["ΔS_raw"] = raw
        anchor = anchors[nth]
        if anchor is not None and hits:
            entry["ΔS_anchor"] = distance(index.vectors[[anchor] * len(hits)], results).tolist()
        table.append(entry | {"delta_s_model": {"name": model.model, "weights": model.weights}})
    return table


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
