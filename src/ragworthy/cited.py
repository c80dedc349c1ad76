"""What a retrieval trace returns and cites: blocks by id, with the traceability payload where it is written."""

from typing import Any

import msgspec


class Result(msgspec.Struct, frozen=True, gc=False):
    """One retrieved block, in rank order."""

    id: str
    score: float | None = None
    offsets: tuple[int, int] | None = None
    type: str | None = None
    unit: str | None = None


class Citation(msgspec.Struct, frozen=True, gc=False):
    """One cited block, with the bytes that were meant where the pipeline says so.

    The rest is the payload of retrieval-traceability.md: loosely typed, because what is wrong in it is a finding.
    """

    id: str
    offsets: tuple[int, int] | None = None
    unit: str | None = None
    """What the offsets count, where they were written as {start, end, unit}: bytes, unless it says otherwise."""
    section_id: Any = None
    source_url: Any = None
    tokens: Any = None
    index_hash: Any = None
    embed_model: Any = None
    analyzer: Any = None
    rev: Any = None
    score_raw: Any = None
    score_norm: Any = None
