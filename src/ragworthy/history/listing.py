"""Many runs at once, as a list shows them: their numbers, which attempts they are, and what they are blessed as."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import func, select

from ragworthy.history import engine as database
from ragworthy.history import tables as t
from ragworthy.history.entries import Run, Summary

if TYPE_CHECKING:
    from ragworthy.history.store import Store


class Listed(NamedTuple):
    """A run with what a list says of it."""

    run: Run
    numbers: Mapping[str, Summary]
    """Those of all questions, by metric."""
    attempt: int
    """Which try on its gold set and commit it is; 0 where that is not known."""
    attempts: int
    """How many there were."""
    names: tuple[str, ...]
    """The baselines that it is now."""


def listed(store: "Store", runs: Sequence[Run], metrics: Collection[str] = ()) -> list[Listed]:
    """Runs with these numbers, each asked for once and not run by run."""
    ids = [one.id for one in runs]
    s, a, b = t.SUMMARIES.c, t.ATTEMPTS.c, t.BASELINES.c
    asked = select(t.SUMMARIES).where(s.run.in_(ids), s.slice == "", s.metric.in_(list(metrics)))
    counted = select(a.gold_sha256, a.commit_id, func.count()).group_by(a.gold_sha256, a.commit_id)
    with database.explained(store.place), database.reading(store.engine) as connection:
        numbers: dict[str, dict[str, Summary]] = {}
        for run, *rest in connection.execute(asked) if ids and metrics else ():
            numbers.setdefault(run, {})[rest[1]] = Summary(*rest)
        mine = select(a.run, a.number, a.gold_sha256, a.commit_id).where(a.run.in_(ids))
        tried = {one[0]: (one[1], (one[2], one[3])) for one in connection.execute(mine)} if ids else {}
        every = {(gold, commit): count for gold, commit, count in connection.execute(counted)} if ids else {}
        now = dict(connection.execute(select(b.name, b.run).order_by(b.number)).tuples().all())
    found = []
    for one in runs:
        nth, key = tried.get(one.id, (0, ("", "")))
        names = tuple(sorted(name for name, run in now.items() if run == one.id))
        found.append(Listed(one, numbers.get(one.id, {}), nth, every.get(key, 0), names))
    return found


def gold_of(run: Run) -> str:
    """What its gold set is called, as short as people need it."""
    return run.gold_label or run.gold_sha256[:8]


def gates_of(store: "Store", run: str) -> list[str]:
    """The metrics that the gates of a run look at, in their order, each once; slices apart."""
    report = store.report(run, rows=False)
    return list(dict.fromkeys(gate["metric"] for gate in report["gates"] if not gate.get("slice")))
