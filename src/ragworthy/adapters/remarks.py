"""What is said of every import, whatever the format: what the data does not hold, and what follows from that."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ragworthy.adapters.model import Imported, Record
from ragworthy.errors import DataError, data_error
from ragworthy.files import sha256_of
from ragworthy.names import REFUSAL


def check(name: str, paths: Sequence[Path], found: Imported) -> None:
    """Raise where nothing fits: an import never succeeds with nothing."""
    if found.gold or found.traces or found.chunks:
        return
    where = ", ".join(map(str, paths))
    if not found.skipped:
        raise data_error("RW-A02", f"expected {found.unit}s, got none", where=where)
    reasons = "; ".join(f"{len(places)} × {why}" for why, places in grouped(found).items())
    message = f"expected a {found.unit} that fits {name}, got {found.taken} that do not: {reasons}"
    raise data_error("RW-A02", message, where=where)


def once(paths: Sequence[Path]) -> tuple[list[Path], list[str]]:
    """The files without those that are another one again, and what to say of these."""
    seen: dict[str, Path] = {}
    notes: list[str] = []
    different: list[Path] = []
    for path in paths:
        digest = sha256_of(path) if len(paths) > 1 and path.is_file() else ""
        if digest and digest in seen:
            same = "was given twice" if path == seen[digest] else f"has the same bytes as {seen[digest]}"
            notes.append(f"{path} {same}: read once")
            continue
        seen[digest] = path
        different.append(path)
    return different, notes


def other_format(name: str, paths: Sequence[Path], *, surely: bool = False) -> None:
    """Raise what a file is where another import reads it, or none does."""
    from ragworthy.load.foreign import elsewhere
    from ragworthy.load.sources import open_source

    for path in paths:
        if path.is_file() and (problem := elsewhere(open_source("file", str(path)), name, surely=surely)) is not None:
            raise DataError([problem])


def grouped(found: Imported) -> dict[str, list[str]]:
    """The places of what was skipped, by reason; the most frequent reason first."""
    places: dict[str, list[str]] = {}
    for where, why in found.skipped:
        places.setdefault(why, []).append(where)
    return dict(sorted(places.items(), key=lambda one: -len(one[1])))


def remarks(found: Imported) -> list[str]:
    """What the records do not hold, and what that means for scoring."""
    if found.suite != "answers":
        return []
    unbound = any(item.get(key) for item in found.gold for key in _BOUND) and not found.chunks
    binds = "sources and evidence are bound to chunks: score with --corpus (an index, or its chunks)"
    again = [*_repeated(found.gold, "question", _GOLD_SAYS), *_repeated(found.traces, "query", ("answer_json",))]
    return [*again[:1], *_of_gold(found.gold), *_of_traces(found.traces), *([binds] if unbound else [])]


def _repeated(records: Sequence[Record], asked: str, says: Sequence[str]) -> Iterator[str]:
    """Whether questions come again with the same answer under another qid."""
    qids: dict[str, set[str]] = {}
    for record in records:
        if record.get(asked) and any(record.get(key) for key in says):
            what = repr([record[asked], *(record.get(key) for key in says)])
            qids.setdefault(what, set()).add(str(record.get("qid")))
    again = [names for names in qids.values() if len(names) > 1]
    if again:
        some = ", ".join(sorted(again[0])[:2])
        more = sum(len(names) - 1 for names in again)
        yield f"{more} of {len(records)} are there again, the same question with the same answer (for example {some})"


def _of_gold(gold: Sequence[Record]) -> Iterator[str]:
    if not gold:
        return
    answerable = [item for item in gold if item.get("answerable")]
    sentences = sum("gold_reference" in item for item in answerable)
    silent = sum(not any(item.get(key) for key in _TEXTS) for item in answerable)
    placed = sum(any(item.get(key) for key in _PLACES) for item in answerable)
    if sentences:
        are = "1 reference is a sentence" if sentences == 1 else f"{sentences} references are sentences"
        yield f"{are}: scored by answers.reference_f1, not by containment"
    if silent:
        yield f"{silent} of {len(answerable)} answerable questions have no answer text: any claim counts as right"
    if answerable and not placed:
        yield "no evidence and no source in the gold set: containment and refusals are measured, citations are not"
    elif placed < len(answerable):
        yield f"{len(answerable) - placed} of {len(answerable)} answerable questions name no evidence and no source"
    if len(answerable) == len(gold):
        yield "no unanswerable question: under-refusal is not measured; add some, or leave its gate out"


_TEXTS = ("gold_claim_substr", "gold_claim_all", "gold_reference")
_GOLD_SAYS = (*_TEXTS, "gold_evidence")
_BOUND = ("gold_evidence", "gold_source")
_PLACES = ("gold_citations", "gold_evidence", "gold_source")


def _of_traces(traces: Sequence[Record]) -> Iterator[str]:
    if not traces:
        return
    errors = sum(trace.get("error") is not None for trace in traces)
    answered = [trace for trace in traces if _claim(trace) not in ("", REFUSAL)]
    if errors:
        yield f"{errors} of {len(traces)} traces have an error instead of an answer"
    if not answered:
        yield "no trace has an answer: retrieval can be scored, answers cannot"
    elif not any((trace.get("answer_json") or {}).get("citations") for trace in answered):
        yield f"none of {len(answered)} answers cites anything: gate on containment and hit@k, not on precision and CHR"
    if not any(trace.get("retrieved_ids") or trace.get("topk") for trace in traces):
        yield "no trace says what was retrieved: hit@k and recall@k are not measured"


def _claim(trace: dict[str, Any]) -> str:
    return str((trace.get("answer_json") or {}).get("claim") or "").strip().casefold()
