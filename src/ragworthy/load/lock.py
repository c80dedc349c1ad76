"""The lock of a frozen gold set."""

from pathlib import Path
from typing import Any

import msgspec

from ragworthy.errors import data_error
from ragworthy.files import read_text, shown_path
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


def lock_path(gold: Path) -> Path:
    """Where the lock of a gold file stands: beside it, with the suffix .lock.

    >>> lock_path(Path("eval/gold.jsonl.gz")).as_posix()
    'eval/gold.lock'
    """
    name = gold.name
    for suffix in (".gz", ".zst", ".jsonl", ".json", ".parquet"):
        name = name.removesuffix(suffix)
    return gold.with_name(f"{name}.lock")


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
