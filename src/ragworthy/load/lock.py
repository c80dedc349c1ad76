"""The lock of a frozen gold set, and what of an item is frozen.

An item that says what its evidence is, or where it stands, is frozen by that: the chunks that hold it on a given day
may be written into it and replaced without touching the seal. All other items are frozen as they are.
"""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ragworthy.errors import data_error
from ragworthy.files import read_text, shown_path
from ragworthy.load.sources import Source
from ragworthy.names import LOCK_SCHEMA
from ragworthy.records import SchemaOnly, explained


class Lock(msgspec.Struct, frozen=True, kw_only=True):
    """The seal of a frozen gold set."""

    schema: str
    gold: str
    sha256: str
    items: int
    item_sha256: dict[str, str]
    frozen_at: str
    signers: list[str]
    reason: str
    history: list[dict[str, Any]]
    calibration: dict[str, Any] | None = None
    corpus: dict[str, Any] | None = None
    evidence_sha256: str | None = None
    """The hash of all items as they are frozen, in their order; only where an item names evidence."""
    label: str | None = None
    """What people call this version of the set."""


BOUND = frozenset({"gold_citations", "gold_groups", "relevant", "relevant_offsets", "index_hash", "bound"})
"""What follows from evidence and a corpus."""


def carries_evidence(value: Mapping[str, Any]) -> bool:
    """Whether an item says what its evidence is, or where it stands."""
    return bool(value.get("gold_evidence") or value.get("gold_source"))


def item_hash(value: Mapping[str, Any]) -> str:
    """The SHA-256 of an item as canonical JSON (sorted keys, no spaces).

    >>> item_hash({"b": 1, "a": "é"}) == item_hash({"a": "é", "b": 1})
    True
    """
    import json  # here, as most sets have no lock

    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def frozen_hash(value: Mapping[str, Any]) -> str:
    """The hash of what is frozen of an item: all of it, but not the chunks that its evidence was bound to.

    >>> one = {"qid": "a", "gold_evidence": ["text"], "gold_citations": ["c1"]}
    >>> frozen_hash(one) == frozen_hash(one | {"gold_citations": ["c2", "c3"]})
    True
    >>> frozen_hash(one) == frozen_hash(one | {"gold_evidence": ["another text"]})
    False
    """
    if not carries_evidence(value):
        return item_hash(value)
    return item_hash({key: one for key, one in value.items() if key not in BOUND})


def evidence_hash(values: Iterable[Mapping[str, Any]]) -> str | None:
    """The hash of a whole set as it is frozen; None where no item names evidence: then its bytes are frozen."""
    digest, named = hashlib.sha256(), False
    for value in values:
        named = named or carries_evidence(value)
        digest.update(f"{frozen_hash(value)}\n".encode())
    return digest.hexdigest() if named else None


def is_frozen(lock: Lock, source: Source) -> bool:
    """Whether a gold file is the frozen one, apart from the chunks that its evidence was bound to."""
    if lock.sha256 == source.sha256():
        return True
    if lock.evidence_sha256 is None:
        return False
    try:
        values = [msgspec.json.decode(line) for _, line in source.numbered()]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return all(isinstance(one, dict) for one in values) and evidence_hash(values) == lock.evidence_sha256


def lock_path(gold: Path) -> Path:
    """Where the lock of a gold file stands: beside it, with the suffix .lock.

    >>> lock_path(Path("eval/gold.jsonl.gz")).as_posix()
    'eval/gold.lock'
    """
    name = gold.name
    for suffix in (".gz", ".zst", ".jsonl", ".json", ".parquet"):
        name = name.removesuffix(suffix)
    return gold.with_name(f"{name}.lock")


def weights_path(lock: Path) -> Path:
    """Where the weights of the model `ngram` stand that a lock was calibrated with: beside it, with the suffix .ngrams.

    >>> [weights_path(Path(name)).as_posix() for name in ("eval/gold.lock", "gold.v1")]
    ['eval/gold.ngrams', 'gold.v1.ngrams']
    """
    return lock.with_name(f"{lock.name.removesuffix('.lock')}.ngrams")


def weights_there(lock: Path) -> Path | None:
    """The weights beside a lock; an earlier version put those of gold.v1 into gold.ngrams."""
    return next((path for path in (weights_path(lock), lock.with_suffix(".ngrams")) if path.is_file()), None)


def load_lock(path: Path) -> Lock:
    """Read a lock file."""
    where = shown_path(path)
    try:
        text = read_text(path)
        schema = msgspec.json.decode(text, type=SchemaOnly).schema
        if schema != LOCK_SCHEMA:
            raise data_error("RW-L01", f'expected "{LOCK_SCHEMA}", got "{schema}"', where=where, field="schema")
        return msgspec.json.decode(text, type=Lock)
    except msgspec.MsgspecError as error:
        field, message = explained(error)
        raise data_error("RW-L01", message, where=where, field=field) from None
    except RecursionError:
        raise data_error("RW-L01", "expected a lock file, got JSON nested too deeply", where=where) from None
