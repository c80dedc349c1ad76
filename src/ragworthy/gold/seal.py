"""Freezing a gold set, and what has changed since."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from ragworthy.names import LOCK_SCHEMA


def item_hash(value: Mapping[str, Any]) -> str:
    """The SHA-256 of an item as canonical JSON (sorted keys, no blanks).

    >>> item_hash({"b": 1, "a": "é"}) == item_hash({"a": "é", "b": 1})
    True
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


class Change(NamedTuple):
    """What happened to one qid, and what it means for comparing runs."""

    qid: str
    kind: str
    fields: tuple[str, ...]
    meaning: str


_MEANINGS = (
    ("answerable", "the question changed sides: its earlier results cannot be compared"),
    ("question", "another question under the same qid: give it a new qid instead"),
    ("expected", "another answer is right now: scores of the question are not comparable"),
    ("gold_claim_substr", "other claims are right now: precision and containment are not comparable"),
    ("gold_citations", "other evidence counts now: precision, CHR and recall are not comparable"),
    ("paraphrases", "other wordings are asked now: results of the question are not comparable"),
    ("relevant", "other blocks are relevant now: rank metrics and coverage are not comparable"),
    ("anchor_section", "another section should answer now: coverage and anchor metrics are not comparable"),
    ("grades", "other grades count now: nDCG is not comparable"),
    ("negatives", "other hard negatives: only the numbers about them move"),
    ("relevant_offsets", "other bytes count now: citation accuracy is not comparable"),
    ("constraints", "other constraints are locked now: SCU is not comparable"),
)


def changes(old: Mapping[str, Mapping[str, Any]], new: Mapping[str, Mapping[str, Any]]) -> list[Change]:
    """Added, removed and changed items between two gold sets, by qid."""
    found = []
    for qid in sorted(old.keys() | new.keys()):
        if qid not in old:
            found.append(Change(qid, "added", (), "a new question: totals are over another set"))
        elif qid not in new:
            found.append(Change(qid, "removed", (), "a question less: totals are over another set"))
        elif old[qid] != new[qid]:
            fields = tuple(
                sorted(key for key in old[qid].keys() | new[qid].keys() if old[qid].get(key) != new[qid].get(key))
            )
            meaning = next((text for field, text in _MEANINGS if field in fields), "not scored: nothing moves")
            found.append(Change(qid, "changed", fields, meaning))
    return found


def lock_changes(locked: Mapping[str, str], now: Mapping[str, str]) -> dict[str, list[str]]:
    """Which qids were added, removed or changed since the lock was made."""
    return {
        "added": sorted(now.keys() - locked.keys()),
        "removed": sorted(locked.keys() - now.keys()),
        "changed": sorted(qid for qid in now.keys() & locked.keys() if now[qid] != locked[qid]),
    }


def seal(
    *,
    gold: str,
    sha256: str,
    items: Mapping[str, str],
    signers: list[str],
    reason: str,
    frozen_at: str,
    previous: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """The lock of a gold set; an earlier lock goes into its history with what changed."""
    history: list[dict[str, Any]] = list(previous["history"]) if previous else []
    entry: dict[str, Any] = {"when": frozen_at, "signers": signers, "reason": reason, "new_sha256": sha256}
    if previous:
        entry["old_sha256"] = previous["sha256"]
        entry |= lock_changes(previous["item_sha256"], items)
    history.append(entry)
    return {
        "schema": LOCK_SCHEMA,
        "gold": gold,
        "sha256": sha256,
        "items": len(items),
        "frozen_at": frozen_at,
        "signers": signers,
        "reason": reason,
        "item_sha256": dict(items),
        "history": history,
    }
