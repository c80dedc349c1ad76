"""Which attempts belong together: those on the same gold set and commit, however somebody spells them."""

import json
from collections.abc import Sequence

from sqlalchemy import Connection, func, select

from ragworthy.history import tables as t
from ragworthy.history.commit import SHORTEST, same_commit
from ragworthy.history.entries import Attempt


def attempts_on(connection: Connection, gold: str, commit: str) -> list[Attempt]:
    """The attempts that a gold set and a commit, as the first of them has these, stand for."""
    a = t.ATTEMPTS.c
    asked = select(t.ATTEMPTS).where(a.gold_sha256 == gold, a.commit_id == commit).order_by(a.number)
    return [Attempt(*one) for one in connection.execute(asked)]


def tried(connection: Connection, gold: str, golds: Sequence[str], commit: str) -> list[list[Attempt]]:
    """The attempts on a commit that share a gold set with a run, most of them first. The ledger knows the gold sets of
    each run, also of those that were pruned.
    """
    a = t.ATTEMPTS.c
    begins = func.lower(a.commit_id).startswith(commit[:SHORTEST].lower(), autoescape=True)
    asked = select(a.gold_sha256, a.commit_id).where(begins).distinct().order_by(a.gold_sha256, a.commit_id)
    keys = [(str(one[0]), str(one[1])) for one in connection.execute(asked)]
    groups = [attempts_on(connection, *key) for key in keys if same_commit(key[1], commit)]
    if not groups:
        return []
    known = _golds(connection, commit)
    mine = {gold, *golds}
    found = [
        group
        for group in groups
        if group[0].gold_sha256 == gold or any(mine & known.get(one.hash, set()) for one in group)
    ]
    return sorted(found, key=len, reverse=True)


def _golds(connection: Connection, commit: str) -> dict[str, set[str]]:
    """What the gold sets of each attempt on a commit are known by, as the ledger has it."""
    ledger = t.LEDGER.c
    named = func.lower(ledger.body).contains(f'"commit":"{commit[:SHORTEST].lower()}', autoescape=True)
    found: dict[str, set[str]] = {}
    for body in connection.scalars(select(ledger.body).where(ledger.kind == "run", named)):
        said = json.loads(body)
        found.setdefault(said["attempt"], set()).update(said.get("golds", ()), [said["gold"]] if said["gold"] else [])
    return found
