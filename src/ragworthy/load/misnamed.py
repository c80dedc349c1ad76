"""Records whose fields have other names: which of them may be ours, and how they become ours."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ragworthy.load.memory import Memory
from ragworthy.load.sources import Source
from ragworthy.text import clip, visible

_FIELDS = 5
_MAPPED = {
    "Gold": ("qid", "question", "answer", "source"),
    "RetrievalGold": ("qid", "question", "relevant"),
    "Trace": ("qid", "question", "claim", "citations", "retrieved_ids"),
    "Run": ("qid", "question", "claim", "citations", "retrieved_ids"),
    "RetrievalTrace": ("qid", "question", "retrieved_ids"),
}
"""What an import can make a record from."""
_NAMES = {
    "qid": ("id", "question_id", "query_id", "qn_id", "uid", "uuid", "example_id", "key"),
    "question": ("question", "query", "user_input", "input", "q", "prompt"),
    "claim": ("claim", "answer", "response", "actual_output", "output", "completion", "prediction", "result", "text",
              "answer_text"),
    "citations": ("citations", "sources", "cited_ids", "references", "source_ids", "cited_chunks"),
    "retrieved_ids": ("retrieved_ids", "retrieved_context_ids", "context_ids", "doc_ids", "document_ids", "contexts",
                      "documents", "retrieved_contexts", "retrieval_context", "context", "chunks", "ids",
                      "results", "hits", "items", "topk"),
    "answer": ("answer", "expected_answer", "expected", "reference", "ground_truth", "expected_output", "gold"),
    "source": ("source", "sources", "document", "doc", "doc_id", "file", "url", "contexts", "citations"),
    "relevant": ("relevant", "relevant_ids", "relevant_docs", "positives", "gold_ids", "qrels", "doc_ids"),
    "topk": ("topk", "results", "hits", "retrieved", "documents", "retrieved_ids", "ids", "contexts"),
}  # fmt: skip
"""Under which names other programs write what we need, the likeliest first."""


def guessed(wanted: tuple[str, ...], there: list[str]) -> dict[str, str]:
    """Which of the fields that are there may be those that are needed; each is taken once.

    >>> guessed(("claim", "citations"), ["qid", "answer", "sources"])
    {'claim': 'answer', 'citations': 'sources'}
    >>> guessed(("claim",), ["answer_json.claim"])
    {'claim': 'answer_json.claim'}
    """
    plain = {name.rpartition(".")[2].lower().replace(" ", "_").replace("-", "_"): name for name in reversed(there)}
    found: dict[str, str] = {}
    for field in wanted:
        for name in _NAMES[field]:
            given = plain.get(name)
            if given is not None and given not in found.values():
                found[field] = given
                break
    return found


def role_of(record: str) -> str:
    """Whether a record type is a question, what a pipeline did, or a vote."""
    if record in ("Gold", "RetrievalGold", "StructuredGold", "Qrels"):
        return "gold"
    return "trace" if record in ("Trace", "RetrievalTrace", "Run", "StructuredOutput", "TrecRun") else "vote"


_OUT = {"gold": "gold.jsonl", "trace": "traces.jsonl", "chunks": "chunks.jsonl"}


def command(source: Source, name: str, roles: str | Sequence[str], more: str = "") -> str:
    """An import as it is typed; what it writes never has the name of what it reads."""
    given = "FILE" if isinstance(source, Memory) else source.given
    outs = [(role, _OUT[role]) for role in ([roles] if isinstance(roles, str) else roles)]
    flags = [f"--{role}-out {f'new-{out}' if Path(given).name == out else out}" for role, out in outs]
    return f"ragworthy import {name} {shlex.quote(given)}{more} {' '.join(flags)}"


def fields_of(record: dict[str, Any], most: int = _FIELDS) -> str:
    """The names of the first fields of a record."""
    names = ", ".join(clip(visible(name), 40) for name in list(record)[:most])
    return f"{names} …" if len(record) > most else names


def have(records: Sequence[dict[str, Any]], count: int) -> str:
    """Which fields the records have: those that all have, and how many that are.

    >>> have([{"qid": "1", "answer": "x"}, {"qid": "2", "answer": "y"}], 2)
    '2 of 2 have qid, answer'
    """
    shared = [name for name in records[0] if all(name in one for one in records)]
    names = dict.fromkeys(shared or list(records[0]))
    return f"{count:,} of {count:,} have {fields_of(names, 8)}"


def mapping(record: str, first: dict[str, Any]) -> str:
    """The option that tells an import which field is which; empty where no name is known."""
    flat = _flat(first) if record == "RetrievalTrace" else first
    found = _as_values(guessed(_MAPPED.get(record, ()), list(flat)), flat)
    pairs = [f"{ours}={theirs}" for ours, theirs in found.items() if ours != theirs]
    return f" --map {shlex.quote(','.join(pairs))}" if pairs else ""


def _flat(first: dict[str, Any]) -> dict[str, Any]:
    """The fields of a record, and those of the objects in it under a path.

    >>> _flat({"qid": "q", "retrieval": {"topk": []}})
    {'qid': 'q', 'retrieval': {'topk': []}, 'retrieval.topk': []}
    """
    inner = {f"{name}.{key}": one for name, value in first.items() if isinstance(value, dict)
             for key, one in value.items()}  # fmt: skip
    return first | inner


def _as_values(found: dict[str, str], first: dict[str, Any]) -> dict[str, str]:
    """The same with texts called texts: passages instead of their ids, evidence instead of its source."""
    texts = {"retrieved_ids": "retrieved", "source": "evidence"}
    return {texts.get(ours, ours) if _is_text(first.get(name)) else ours: name for ours, name in found.items()}


def _is_text(value: Any) -> bool:
    """Whether a value, or one of a list, is a text or a passage and not an id: long, with line breaks or many words.

    >>> _is_text(["doc#3"]), _is_text(["Names stay blocked for 45 days."]), _is_text([{"id": "a", "text": "…"}])
    (False, True, True)
    """
    if isinstance(value, list):
        return any(map(_is_text, value))
    if isinstance(value, dict):
        return not value.keys().isdisjoint(_TEXTS)
    return isinstance(value, str) and (len(value) > _LONGEST_ID or "\n" in value.strip() or value.count(" ") >= _BLANKS)


_TEXTS = ("text", "content", "page_content", "passage", "body")
_LONGEST_ID = 200
_BLANKS = 4


def as_told(source: Source, record: str, first: dict[str, Any]) -> str:
    """How records with other names become ours: the import with its mapping, or the lines of Python."""
    if not isinstance(source, Memory):
        mapped = mapping(record, first)
        texts = " --chunks-out chunks.jsonl" if "retrieved=" in mapped else ""
        unnamed = role_of(record) == "trace" and first.keys().isdisjoint(("qid", "q_id")) and "qid=" not in mapped
        by_text = " --gold GOLD" if unnamed and guessed(("question",), list(first)) else ""
        return f"read them with '{command(source, 'jsonl', role_of(record), mapped + by_text)}{texts}'"
    found = {"qid": "qid"} | _as_values(guessed(_MAPPED.get(record, ()), list(first)), first)
    taken = {ours: f'one["{theirs}"]' for ours, theirs in found.items()}
    if "retrieved" in taken:
        taken["retrieved_ids"] = "…"  # texts have no ids yet
    if role_of(record) == "gold":
        inner = f'"answerable": True, "gold_claim_substr": [{taken.get("answer", "…")}]'
        inner = inner if record == "Gold" else f'"relevant": {taken.get("relevant", "…")}'
        return f'give {{"qid": {taken["qid"]}, {inner}}} for each of them'
    if record == "RetrievalTrace":
        return f'give {{"qid": {taken["qid"]}, "retrieved_ids": {taken.get("retrieved_ids", "…")}}} for each of them'
    answer = f'{{"claim": {taken.get("claim", "…")}, "citations": {taken.get("citations", "[]")}}}'
    ids = f', "retrieved_ids": {taken["retrieved_ids"]}' if "retrieved_ids" in taken else ""
    return f'give {{"qid": {taken["qid"]}, "answer_json": {answer}{ids}}} for each of them'
