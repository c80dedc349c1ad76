"""A move of a rollout as it is kept: who made it, on what evidence, and the hash that seals it."""

import msgspec

from ragworthy.history.entries import canonical, sha256
from ragworthy.rollout.stages import Move, Plan, Stage, State

SCHEMA = "ragworthy.rollout/1"


class Numbers(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One number of both sides, as exact fractions."""

    live: str
    shadow: str


class Basis(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a run was judged against: the gold set and the index in use."""

    gold: str | None = None
    """SHA-256 of the gold set."""
    live_index: str | None = None


class Evidence(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a move rests on: a report, or a receipt or bundle that was derived again."""

    kind: str
    """report, receipt or bundle."""
    path: str
    """From the folder of the ledger."""
    sha256: str
    verdict: str
    verified: bool
    """Whether the verdict was derived again from its inputs when the move was made."""
    eligible: bool | None = None
    """What the checks of the canary say; None where it has no comparison with the index in use."""
    shadow_index: str | None = None
    recall: Numbers | None = None
    flip: Numbers | None = None
    """Share of paraphrase triplets that do not lead to one section."""
    basis: Basis | msgspec.UnsetType = msgspec.UNSET
    """What it was judged against; lines of earlier versions have none."""


class Looked(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `rollout check` said of live traffic when the move was made; the same logs give the same hash again."""

    sha256: str
    decision: str
    until: str


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One move."""

    schema: str = SCHEMA
    number: int
    rollout: str
    """What it is called."""
    move: Move
    state: State
    share: str
    """Of the traffic, after the move."""
    by: str
    reason: str
    at: str
    plan: Plan | None = None
    """Of a start."""
    evidence: Evidence | None = None
    check: Looked | None = None
    previous: str
    """The hash of the line before; empty for the first."""
    hash: str = ""

    @property
    def stage(self) -> Stage:
        """Where the rollout is after it."""
        return Stage(self.state, self.share)


def sealed(entry: Entry) -> Entry:
    """An entry with the hash over all of it but the hash itself."""
    body = msgspec.to_builtins(entry)
    del body["hash"]
    return msgspec.structs.replace(entry, hash=sha256(canonical(body)))
