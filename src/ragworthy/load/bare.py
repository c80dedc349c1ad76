"""Records that can be read, and of which none holds what is scored."""

from collections.abc import Sequence
from typing import Any

import msgspec

from ragworthy.errors import data_error
from ragworthy.load.foreign import check
from ragworthy.load.misnamed import as_told, fields_of, guessed
from ragworthy.load.sources import Source
from ragworthy.records import RetrievalTrace, Run, Trace

_IDS = ("qid", "q_id")
_LEAST = 5
"""So many records that all lack something are not an accident."""


def stop_if_bare(source: Source, record: str, fields: Sequence[str], code: str, *, likely: bool = False) -> None:
    """Raise when no record of a source has one of the fields, nor an error; to be called when nothing was found in any.

    The first record that has one, be it null, ends it: a file that is merely bad costs no second reading. Where records
    need no answer, `likely` says to stop only if another field looks like one.
    """
    count = 0
    shared: dict[str, Any] = {}
    for block in source.blocks():
        for line in block.data.split(b"\n"):
            one = _decoded(line)
            if not isinstance(one, dict):
                continue
            if any(name in one for name in (*fields, "error")):
                return
            shared = one if not count else {name: value for name, value in shared.items() if name in one}
            count += 1
    if not count or (likely and "claim" not in guessed(("claim",), list(shared))):
        return
    if count < _LEAST and _ours(record).issuperset(shared):
        return  # a few traces that just hold no answer
    check(source, record)
    named = " or ".join((", ".join(fields[:-1]), fields[-1]) if len(fields) > 1 else fields)
    others = {name: value for name, value in shared.items() if name not in _IDS} or shared
    rest = as_told(source, record, shared)
    message = f"no trace has {named}; {count:,} of {count:,} have {fields_of(others, 8)}: {rest}"
    raise data_error(code, message, where=source.given)


def stop_if_claimless(source: Source) -> None:
    """Raise when no answer of a source has a claim, and all have the same other fields; called when none was found."""
    count = 0
    shared: set[str] = set()
    for block in source.blocks():
        for line in block.data.split(b"\n"):
            one = _decoded(line)
            answer = one.get("answer_json") if isinstance(one, dict) else None
            if not isinstance(answer, dict):
                continue
            if "claim" in answer:
                return
            shared = set(answer) if not count else shared & set(answer)
            count += 1
    other = guessed(("claim",), sorted(shared - {"citations", "constraints_echo"})).get("claim")
    if count < _LEAST and other is None:
        return  # a few answers that just say nothing
    have = f"; {count:,} of {count:,} have {other}" if other is not None else ""
    message = f"no answer_json has claim{have}: write the text of the answer to answer_json.claim"
    raise data_error("RW-T14", message, where=source.given)


def _ours(record: str) -> set[str]:
    """The fields that a trace of this kind may have."""
    kinds = (RetrievalTrace, Run) if record == "RetrievalTrace" else (Trace, Run)
    names = {field.encode_name for kind in kinds for field in msgspec.structs.fields(kind)}
    return names | {"ts", "ok", "notes", "imported", "question", "query"}


def _decoded(line: bytes) -> Any:
    try:
        return msgspec.json.decode(line) if line.strip() else None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
