"""What the command that scores a gold set needs besides the traces, by what the gold set holds."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from ragworthy.load.decode import lines_of
from ragworthy.load.sources import Source

_EVIDENCE = ("gold_evidence", "gold_source")
UNNAMED = "CHUNKS.jsonl"
"""What stands for the file of chunks where none is known."""
_IDS = ("gold_citations", "relevant")


def items_of(source: Source) -> Iterator[dict[str, Any]]:
    """The gold items that can be read."""
    for block in source.blocks():
        for line in lines_of(block.data):
            try:
                item = msgspec.json.decode(line)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                continue  # whoever scores it says what is wrong
            if isinstance(item, dict):
                yield item


def flags(items: Iterable[dict[str, Any]], suite: str, chunks: str = "") -> str:
    """The flags: chunks where evidence has to be bound to them, and a gate where a usual one cannot be measured."""
    held = list(items)
    bound = any(any(item.get(key) for key in _EVIDENCE) and not any(item.get(key) for key in _IDS) for item in held)
    corpus = f" --corpus {chunks or UNNAMED}" if bound or (chunks and suite == "answers") else ""
    return corpus + (_gates(held) if suite == "answers" else "")


def _gates(items: list[dict[str, Any]]) -> str:
    """Without an unanswerable question, a gate of one's own: the usual one on these is then not judged."""
    if not items or any(item.get("answerable") is not True for item in items):
        return ""
    if any(item.get("gold_claim_substr") or item.get("gold_claim_all") for item in items):
        return " --gates containment=0.80"
    return " --gates reference_f1=0.50" if any(item.get("gold_reference") for item in items) else ""
