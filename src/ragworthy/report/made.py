"""How the traces of a report were made, for people."""

from collections.abc import Mapping
from typing import Any

from ragworthy.names import MADE
from ragworthy.text import in_words

TITLE = "How it was made"
WIDEST = 200
EACH = 60
"""So long is each of several values."""
_NOUNS = {"index_hash": "index"}


def lines(body: Mapping[str, Any], *, known: bool = False) -> list[str]:
    """What is known of how the traces of a suite were made, one line each; and what nothing says, unless only what is
    `known` is asked for.

    >>> lines({"provenance": {"index_hash": "rw:1", "commit": None, "normaliser": "n/1", "reranker": None,
    ...        "retriever": {"mode": "bm25", "k": 10}}})
    ['index rw:1', 'normaliser n/1', 'retriever mode bm25, k 10', 'not said: commit, reranker']
    >>> lines({"provenance": {**dict.fromkeys(MADE), "differs": {"commit": [{"value": "a", "traces": 2},
    ...        {"value": "b", "traces": 1}]}}})[0]
    'commit: the traces differ: a (2), b (1)'
    """
    made = body.get("provenance") or {}
    if not made.keys() & {*MADE}:
        return []
    differs: Mapping[str, Any] = made.get("differs") or {}
    told = []
    for key in (*MADE, "knobs"):
        noun = _NOUNS.get(key, key)
        if key in differs:
            told.append(f"{noun}: the traces differ: {several(made, key)}")
        elif made.get(key) is not None:
            told.append(f"{noun} {in_words(made[key], WIDEST)}")
    if known:
        return told
    silent = [_NOUNS.get(key, key) for key in MADE if made.get(key) is None and key not in differs]
    return [*told, *([f"not said: {', '.join(silent)}"] if silent else [])]


def several(made: Mapping[str, Any], key: str) -> str:
    """The values that traces of one run differ in, each with how many have it."""
    listed = made["differs"][key]
    told = [f"{in_words(one['value'], EACH)} ({one['traces']:,})" for one in listed]
    more = (made.get("differs_in") or {}).get(key, {}).get("values", 0) - len(listed)
    return ", ".join(told) + (f" and {more:,} more" if more > 0 else "")
