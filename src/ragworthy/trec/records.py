"""TREC judgements and results as gold and trace records, and back."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from ragworthy.errors import MOST_PROBLEMS, DataError, Problem, data_error
from ragworthy.files import write_whole
from ragworthy.ids import natural
from ragworthy.records import explained
from ragworthy.text import clip
from ragworthy.trec.fields import packed, unpacked
from ragworthy.trec.ranking import Ints, Qrels, Run, natural_order, ranking

Record = dict[str, Any]
_SHOWN = 60
_SECTION = re.compile(r"<(num|title|desc|narr)>(.*?)(?=<(?:num|title|desc|narr)>|$)", re.DOTALL | re.IGNORECASE)
_LABEL = re.compile(r"\s*(?:number|topic|description|narrative)\s*:", re.IGNORECASE)


class Records(NamedTuple):
    """Gold and trace records of the retrieval suite."""

    gold: list[Record]
    traces: list[Record]


class Topic(msgspec.Struct, frozen=True):
    """A line of a topics file: a query text, or several wordings."""

    qid: str
    query: str | None = None
    paraphrases: list[str] | None = None


# to records


def to_records(qrels: Qrels, run: Run, topics: Mapping[str, Sequence[str]] | None = None) -> Records:
    """Judgements and results as records, by natural order of the queries; `topics` holds the wordings of each query."""
    wordings = topics or {}
    return Records(list(gold_records(qrels, wordings)), list(trace_records(run, wordings)))


def gold_records(qrels: Qrels, topics: Mapping[str, Sequence[str]]) -> Iterator[Record]:
    """Judgements as gold records."""
    for qid, rows in _by_query(qrels.qids, qrels.query, np.argsort(qrels.query, kind="stable")):
        ids = [piece.decode() for piece in qrels.docs.at(rows).pieces()]
        grades = dict(sorted(zip(ids, qrels.grade[rows].tolist(), strict=True), key=_best_first))
        relevant = [one for one, grade in grades.items() if grade > 0]
        record = {
            "qid": qid,
            "paraphrases": list(topics.get(qid, ())),
            "relevant": relevant,
            "anchor_section": "",
            "negatives": [one for one, grade in grades.items() if grade <= 0],
            "grades": {one: grade for one, grade in grades.items() if grade},
        }
        yield record if relevant else record | {"answerable": False}


def _best_first(judged: tuple[str, int]) -> Any:
    return -judged[1], natural(judged[0])


def trace_records(run: Run, topics: Mapping[str, Sequence[str]]) -> Iterator[Record]:
    """Results as traces."""
    for qid, rows in _by_query(run.qids, run.query, ranking(run)):
        results = zip(run.docs.at(rows).pieces(), run.written.at(rows).pieces(), strict=True)
        yield {
            "qid": qid,
            "query": next(iter(topics.get(qid, ())), ""),
            "topk": [{"id": document.decode(), "score": float(score)} for document, score in results],
            "index_hash": run.tag,
            "paraphrase": 0,
            "seed": 0,
        }


def _by_query(qids: Sequence[str], query: Ints, order: Ints) -> Iterator[tuple[str, Ints]]:
    """Each query, in natural order, with its rows; `order` has the rows of a query side by side."""
    ends = np.cumsum(np.bincount(query, minlength=len(qids))).tolist()
    for place in natural_order(qids):
        yield qids[place], order[ends[place - 1] if place else 0 : ends[place]]


# topics


def read_topics(path: Path) -> dict[str, list[str]]:
    """The wordings of each query: JSON lines with qid and query (or paraphrases), or TREC's `<top>` topics."""
    try:
        text = unpacked(path).decode()
    except UnicodeDecodeError as error:
        message = f"expected UTF-8, got byte 0x{error.object[error.start]:02x} at offset {error.start}"
        raise data_error("RW-F06", message, where=str(path)) from None
    tagged = text.lstrip().startswith("<")
    topics: dict[str, list[str]] = {}
    for line, qid, wordings in _tagged_topics(text, path) if tagged else _json_topics(text, path):
        if qid in topics:
            message = f"expected one topic for each query, got '{clip(qid, _SHOWN)}' again"
            raise data_error("RW-E03", message, where=f"{path}:{line}")
        topics[qid] = wordings
    if not topics:
        raise data_error("RW-F04", "expected topics, got none", where=str(path))
    return topics


def _json_topics(text: str, path: Path) -> Iterator[tuple[int, str, list[str]]]:
    decode = msgspec.json.Decoder(Topic).decode
    for line, record in enumerate(text.split("\n"), 1):
        if not record.strip():
            continue
        try:
            topic = decode(record)
        except msgspec.ValidationError as error:
            field, message = explained(error)
            raise data_error("RW-E03", message, where=f"{path}:{line}", field=field) from None
        except msgspec.DecodeError:
            message = f"expected a JSON object, got {clip(record, _SHOWN)}"
            raise data_error("RW-F07", message, where=f"{path}:{line}") from None
        yield line, topic.qid, topic.paraphrases or ([topic.query] if topic.query else [])


def _tagged_topics(text: str, path: Path) -> Iterator[tuple[int, str, list[str]]]:
    """Title, description and narrative of each topic; older files leave the closing tags out."""
    for found in re.finditer(r"<top>(.*?)</top>", text, re.DOTALL | re.IGNORECASE):
        parts = {name.lower(): _section_text(part) for name, part in _SECTION.findall(found[1])}
        line = text.count("\n", 0, found.start()) + 1
        if not parts.get("num"):
            raise data_error("RW-E03", "expected a topic with <num>, got none", where=f"{path}:{line}")
        yield line, parts["num"], [parts[name] for name in ("title", "desc", "narr") if parts.get(name)]


def _section_text(part: str) -> str:
    return " ".join(re.sub(r"</\w+>", " ", _LABEL.sub("", part, count=1)).split())


# from records


def write_qrels(gold: Iterable[Mapping[str, Any]], path: Path) -> list[str]:
    """Write gold records as judgements; the notes say what the file cannot show.

    A relevant id has its grade from `grades`, else 1; a negative id has its grade from there, else 0.
    """
    lines: list[str] = []
    problems: list[Problem] = []
    empty = 0
    for record in gold:
        qid, grades = record["qid"], record.get("grades") or {}
        judged = dict.fromkeys(record.get("negatives") or (), 0) | dict.fromkeys(record.get("relevant") or (), 1)
        judged = {one: grades.get(one, grade) for one, grade in judged.items()}
        _check_tokens(problems, path, [("qid", qid), *((f"{qid}: judged id", one) for one in judged)])
        for one, grade in judged.items():
            if not isinstance(grade, int) or isinstance(grade, bool):
                message = f"expected an integer, got {_shown(grade)}"
                problems.append(Problem("RW-E01", message, str(path), f"{qid}: grades.{one}"))
        empty += not judged
        lines += [f"{qid} 0 {one} {grade}\n" for one, grade in judged.items()]
    _write(path, lines, problems)
    return [f"{empty} questions have no judged id and are not in the file"] if empty else []


def write_run(
    traces: Iterable[Mapping[str, Any]], path: Path, tag: str, *, paraphrase: int = 0, seed: int = 0
) -> list[str]:
    """Write the traces of one paraphrase and seed as a run; the notes say what was changed or left out.

    The scores are the traces' own where they lead trec_eval to the same order (32-bit floats, ties by id descending);
    else the query's results get n, n - 1, … 1.
    """
    lines: list[str] = []
    problems: list[Problem] = []
    _check_tokens(problems, path, [("tag", tag)])
    chosen, others = _chosen(traces, paraphrase, seed)
    rewritten, repeated, empty = 0, 0, 0
    for qid, record in chosen.items():
        topk = record.get("topk") or ()
        named = [(f"{qid}: topk[{place}].id", item["id"]) for place, item in enumerate(topk)]
        _check_tokens(problems, path, [("qid", qid), *named])
        if problems:
            continue
        best = {item["id"]: _number(item.get("score")) for item in reversed(topk)}
        scores = {item["id"]: best[item["id"]] for item in topk}
        if not _keeps_order(scores):
            scores = {one: float(len(scores) - place) for place, one in enumerate(scores)}
            rewritten += 1
        repeated += len(topk) - len(scores)
        empty += not scores
        lines += [f"{qid} Q0 {one} {at} {score!r} {tag}\n" for at, (one, score) in enumerate(scores.items(), 1)]
    _write(path, lines, problems)
    told = (
        (rewritten, "queries have new scores, because their own would not keep the order"),
        (repeated, "results repeat an id of their query and were left out"),
        (empty, "queries have no results and are not in the file"),
        (others, "traces of other paraphrases or seeds, or replaced by a later one, were left out"),
    )
    return [f"{count} {what}" for count, what in told if count]


def _chosen(
    traces: Iterable[Mapping[str, Any]], paraphrase: int, seed: int
) -> tuple[dict[str, Mapping[str, Any]], int]:
    """The last trace of each query for a paraphrase and seed, and how many others there are."""
    chosen: dict[str, Mapping[str, Any]] = {}
    total = 0
    for record in traces:
        total += 1
        if (record.get("paraphrase") or 0, record.get("seed") or 0) == (paraphrase, seed):
            chosen[record["qid"]] = record
    return chosen, total - len(chosen)


def _number(score: Any) -> float | None:
    if not isinstance(score, int | float) or isinstance(score, bool) or abs(score) > 1e300:
        return None
    return float(score) if math.isfinite(score) else None


def _keeps_order(scores: Mapping[str, float | None]) -> bool:
    """Whether trec_eval would show the ids in this order."""
    if None in scores.values():
        return False
    with np.errstate(over="ignore"):
        rounded = np.array(list(scores.values()), np.float64).astype(np.float32).tolist()
    keys = [(score, one.encode()) for score, one in zip(rounded, scores, strict=True)]
    return all(better > worse for better, worse in pairwise(keys))


def _check_tokens(problems: list[Problem], path: Path, given: Iterable[tuple[str, Any]]) -> None:
    """Note what cannot be between spaces."""
    for field, text in given:
        if not isinstance(text, str) or text.split() != [text] or not _is_plain(text):
            message = f"expected text without spaces, got {_shown(text)}"
            problems.append(Problem("RW-E01", message, str(path), field))


def _is_plain(text: str) -> bool:
    try:
        return "\0" not in text and bool(text.encode())
    except UnicodeEncodeError:
        return False


def _shown(value: Any) -> str:
    return f"'{clip(value, _SHOWN)}'" if isinstance(value, str) else clip(str(value), _SHOWN)


def _write(path: Path, lines: Sequence[str], problems: Sequence[Problem]) -> None:
    if problems:
        raise DataError(problems[:MOST_PROBLEMS], total=len(problems))
    if not lines:
        raise data_error("RW-F04", "expected something to write, got nothing", where=str(path))
    write_whole(path, packed(path, "".join(lines).encode()))
