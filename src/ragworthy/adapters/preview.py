"""How an import was read, for a person to look over before trusting it."""

from collections.abc import Iterator, Sequence
from typing import Any

from ragworthy.adapters.model import Imported, Record
from ragworthy.adapters.remarks import grouped
from ragworthy.metrics.facts import pieces
from ragworthy.report.show import plural
from ragworthy.text import clip, squeeze

ROWS = 3
_WIDE = 88
_PLACES = 5


def preview(found: Imported) -> list[str]:
    """The first three questions (or traces, or chunks) as they were understood."""
    shown = [*_questions(found)] or [("", _chunk(chunk)) for chunk in found.chunks]
    lines = [*found.read]
    lines.append(f"the first {min(ROWS, len(shown))} of {len(shown)}, as they were read:")
    for name, fields in shown[:ROWS]:
        pad = len(name) + 2 if name else 0
        for nth, (label, text) in enumerate(fields):
            head = f"{name}  " if nth == 0 and name else " " * pad
            lines.append(f"  {head}{label}: {clip(squeeze(text), _WIDE)}")
    return lines


def ledger(found: Imported) -> list[str]:
    """In = written + skipped, and the reasons with places."""
    lines = [f"in {found.taken} = written {found.taken - len(found.skipped)} + skipped {len(found.skipped)}"]
    for why, places in grouped(found).items():
        more = f" and {len(places) - _PLACES} more" if len(places) > _PLACES else ""
        lines.append(f"  skipped {len(places)}: {why} ({', '.join(places[:_PLACES])}{more})")
    return [*lines, *(f"note: {note}" for note in found.notes)]


def _questions(found: Imported) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Each gold item with the first trace of its question; traces alone where there is no gold."""
    traces: dict[str, Record] = {}
    for trace in found.traces:
        traces.setdefault(trace["qid"], trace)
    for item in found.gold:
        yield item["qid"], [*_gold(item), *_trace(traces.get(item["qid"], {}))]
    if not found.gold:
        for trace in found.traces:
            asked = str(trace.get("q") or trace.get("query") or trace.get("question") or "")
            yield trace["qid"], [("question", asked or "(not in the data)"), *_trace(trace)]


def _gold(item: Record) -> Iterator[tuple[str, str]]:
    wordings = [item["question"]] if item.get("question") else item.get("paraphrases") or ["(not in the data)"]
    yield "question", _listed(wordings)
    if item.get("answerable") is False:
        yield "answer", "(unanswerable)"
    elif item.get("gold_reference"):
        yield "reference", item["gold_reference"]
    elif item.get("gold_claim_substr"):
        yield "answer", _listed(item["gold_claim_substr"])
    if item.get("gold_claim_all"):
        yield "all of", "; ".join(map(pieces.named, pieces.grouped(item["gold_claim_all"])))
    for label, key in (("evidence", "gold_evidence"), ("source", "gold_source"), ("gold ids", "gold_citations"),
                       ("relevant", "relevant")):  # fmt: skip
        if item.get(key):
            yield label, _listed(item[key])
    others = {key: value for key, value in item.items() if key not in _KNOWN}
    if others:
        yield "kept", ", ".join(f"{key}={value}" for key, value in others.items())


_KNOWN = {
    "qid", "question", "paraphrases", "answerable", "gold_reference", "gold_claim_substr", "gold_claim_all",
    "gold_evidence", "gold_source", "gold_citations", "relevant", "imported", "negatives", "grades", "anchor_section",
    "relevant_offsets",
}  # fmt: skip


def _trace(trace: Record) -> Iterator[tuple[str, str]]:
    reply = trace.get("answer_json") or {}
    if trace.get("error") is not None:
        yield "error", str(trace["error"])
    if reply:
        yield "reply", reply.get("claim") or "(empty)"
    if reply.get("citations"):
        yield "cites", _listed(reply["citations"])
    got: list[Any] = trace.get("retrieved_ids") or [one["id"] for one in trace.get("topk") or ()]
    if got:
        yield "retrieved", _listed(got)


def _chunk(chunk: Record) -> list[tuple[str, str]]:
    return [(str(chunk.get("chunk_id") or chunk.get("id")), str(chunk.get("text")))]


def _listed(values: Sequence[Any]) -> str:
    first = values[0]
    if isinstance(first, dict):
        first = " ".join(f"{key} {value}" for key, value in first.items())
    return f"{first} (and {plural(len(values) - 1, 'other')})" if len(values) > 1 else str(first)
