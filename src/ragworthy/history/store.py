"""A store: runs are added, looked up, blessed and pruned; whatever changes is sealed in the ledger."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
from sqlalchemy import Connection, Engine, delete, insert, select

from ragworthy.errors import data_error
from ragworthy.history import engine as database
from ragworthy.history import tables as t
from ragworthy.history.checked import blessed_problems, foreign, problems
from ragworthy.history.commit import spelled
from ragworthy.history.entries import (
    LEAST,
    Attempt,
    Blessing,
    Link,
    Run,
    Signature,
    Summary,
    link,
    next_attempt,
    sha256,
)
from ragworthy.history.lines import Written
from ragworthy.history.places import Place, place_of
from ragworthy.history.taken import Taken, gold_of, golds_of, packed, take, together, unpacked
from ragworthy.history.tries import attempts_on, tried
from ragworthy.rows import Rows, decoded


def clock() -> str:
    """Now, as a store writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


Made = TypeVar("Made")


class Added(NamedTuple):
    """What became of a run that was added."""

    run: str
    attempt: Attempt
    new: bool
    """False where the store had it already."""


class Store:
    """Earlier runs. `now` gives the time for whatever is written."""

    def __init__(self, place: Place, engine: Engine, now: Callable[[], str]) -> None:
        self.place, self.engine, self.now = place, engine, now

    # writing

    def add(
        self,
        report: Mapping[str, Any],
        *,
        commit: str = "",
        receipt: bytes | None = None,
        at: str | None = None,
        line: str = "",
        seal: Callable[[Added], str] | None = None,
    ) -> Added:
        """Keep a run. When this returns, it is there to stay; the same run again changes nothing. `line` names the file
        that gets a line of it, where one does, and `seal` the hash of that line.
        """
        taken = take(report, commit=spelled(commit), where="report")
        with database.explained(self.place), database.writing(self.engine) as connection:
            groups = tried(connection, taken.gold_sha256, taken.golds, taken.commit)
            mine = [(one, group) for group in groups for one in group if one.report_sha256 == taken.report_sha256]
            known, earlier = mine[0] if mine else (None, groups[0] if groups else [])
            if known is not None and connection.scalar(select(t.RUNS.c.id).where(t.RUNS.c.id == known.run)):
                self._late_receipt(connection, known.run, receipt)
                return Added(known.run, known, new=False)
            attempt = next_attempt(
                earlier,
                gold_sha256=earlier[0].gold_sha256 if earlier else taken.gold_sha256,
                commit=earlier[0].commit if earlier else taken.commit,
                report_sha256=taken.report_sha256,
                verdict=taken.verdict,
                run=taken.id,
            )
            added = Added(taken.id, attempt, new=True)
            made = {"at": at or self.now(), **({"line": line} if line else {})}
            made |= {"said": seal(added)} if seal is not None else {}
            self._insert(connection, taken, (attempt, known is None), receipt, made)
        return added

    def _insert(
        self,
        connection: Connection,
        taken: Taken,
        tried: tuple[Attempt, bool],
        receipt: bytes | None,
        made_at: Mapping[str, str],
    ) -> None:
        (attempt, first), at = tried, made_at["at"]
        body = taken.facts() | {**made_at, "attempt": attempt.hash, "receipt": sha256(receipt) if receipt else None}
        signed = [Signature(taken.id, "gold", name, lock, at) for name, lock in taken.signers]
        made = _append(connection, "run", body | {"signed": [list(one) for one in signed]})
        run = Run(
            taken.id, made.number, at, taken.verdict, taken.suites, taken.gold_sha256, taken.gold_label,
            taken.policy_sha256, taken.commit, taken.index_hash, taken.report_sha256,
        )  # fmt: skip
        values = run._asdict() | {"suites": json.dumps(run.suites), "commit_id": run.commit}
        connection.execute(insert(t.RUNS).values({key: one for key, one in values.items() if key != "commit"}))
        _all(connection, t.SUMMARIES, [{"run": taken.id, **one._asdict()} for one in taken.summaries])
        rows = taken.rows.items()
        _all(connection, t.ROWS, [{"run": taken.id, "suite": suite, **_rows(body)} for suite, body in rows])
        connection.execute(insert(t.REPORTS).values(run=taken.id, body=taken.body))
        if receipt is not None:
            connection.execute(insert(t.RECEIPTS).values(run=taken.id, sha256=sha256(receipt), body=packed(receipt)))
        if first:
            values = attempt._asdict() | {"commit_id": attempt.commit}
            connection.execute(insert(t.ATTEMPTS).values({key: one for key, one in values.items() if key != "commit"}))
        _sign(connection, made.number, signed)

    def _late_receipt(self, connection: Connection, run: str, receipt: bytes | None) -> None:
        """A receipt for a run that came without one."""
        has = connection.scalar(select(t.RECEIPTS.c.sha256).where(t.RECEIPTS.c.run == run))
        if receipt is None or has is not None:
            return
        _append(connection, "receipt", {"run": run, "receipt": sha256(receipt)})
        connection.execute(insert(t.RECEIPTS).values(run=run, sha256=sha256(receipt), body=packed(receipt)))

    def keep_receipt(self, run: str, receipt: bytes) -> None:
        """Keep the receipt of a run that was added without one: it is made when its attempt is known."""
        with database.explained(self.place), database.writing(self.engine) as connection:
            self._late_receipt(connection, run, receipt)

    def bless(
        self,
        run: str,
        *,
        name: str,
        by: str,
        reason: str,
        runs: Sequence[str] = (),
        flips: Mapping[str, str] = {},
        line: str = "",
        seal: Callable[[str], str] | None = None,
    ) -> Blessing:
        """Make a run the baseline of a name. `line` names the file that gets a line of it, where one does, and `seal`
        the hash of that line by its time.
        """
        at = self.now()
        with database.explained(self.place), database.writing(self.engine) as connection:
            before = _blessed(connection, name)
            previous = before.run if before is not None else None
            made = Blessing(0, name, run, by, reason, at, previous, tuple(runs), dict(flips))
            told = made._asdict() | {"number": None} | ({"line": line} if line else {})
            told |= {"said": seal(at)} if seal is not None else {}
            number = _append(connection, "bless", told).number
            values = made._asdict() | {"number": number, "runs": json.dumps(runs), "flips": _sorted(flips)}
            connection.execute(insert(t.BASELINES).values(blessed_by=values.pop("by"), **values))
            _sign(connection, number, [Signature(run, "blessing", by, reason, at)])
        return made._replace(number=number)

    def prune(self, runs: Iterable[str]) -> list[str]:
        """Remove runs, blessed ones apart; attempts stay, and the ledger says what was removed."""
        with database.explained(self.place), database.writing(self.engine) as connection:
            kept = set(connection.scalars(select(t.BASELINES.c.run)))
            known = set(connection.scalars(select(t.RUNS.c.id)))
            gone = [one for one in dict.fromkeys(runs) if one in known and one not in kept]
            if gone:
                _append(connection, "prune", {"runs": gone, "at": self.now()})
                connection.execute(delete(t.RUNS).where(t.RUNS.c.id.in_(gone)))
        return gone

    # reading

    def runs(self, *, gold: str | None = None, commit: str | None = None, suite: str | None = None) -> list[Run]:
        """Runs, oldest first."""
        asked = select(t.RUNS).order_by(t.RUNS.c.created_at, t.RUNS.c.number)
        if gold is not None:
            asked = asked.where(t.RUNS.c.gold_sha256 == gold)
        if commit is not None:
            asked = asked.where(t.RUNS.c.commit_id == commit)
        found = self._each(asked, _run)
        return [one for one in found if suite is None or suite in one.suites]

    def find(self, named: str) -> Run:
        """The run that an id (or its beginning), `history:ID`, a name of a baseline or `commit:SHA` means."""
        text = named.removeprefix("history:")
        if text.startswith("commit:"):
            return self._of_commit(text.removeprefix("commit:"))
        blessed = self.baseline(text)
        wanted = blessed.run if blessed is not None else text
        found = [one for one in self.runs() if one.id.startswith(wanted)] if len(wanted) >= LEAST else []
        if len(found) == 1:
            return found[0]
        got = "none" if not found else f"{len(found)} that begin so"
        message = f"expected the id of a run, the name of a baseline or commit:SHA, got {got} for {text[:60]}"
        raise data_error("RW-H07", message, where=str(self.place))

    def _of_commit(self, commit: str) -> Run:
        """The last run of a commit."""
        found = [one for one in self.runs() if commit and one.commit.startswith(commit)]
        found = [one for one in found if one.commit == commit] or found
        if len({one.commit for one in found}) == 1:
            return found[-1]
        got = "none" if not found else "several"
        raise data_error("RW-H07", f"expected runs of one commit, got {got} for {commit[:60]}", where=str(self.place))

    def report(self, run: str, *, rows: bool = True) -> dict[str, Any]:
        """The report of a run, as it was added; without its rows where nobody needs them."""
        asked = select(t.ROWS.c.suite, t.ROWS.c.body).where(t.ROWS.c.run == run)
        with database.explained(self.place), database.reading(self.engine) as connection:
            body = connection.scalar(select(t.REPORTS.c.body).where(t.REPORTS.c.run == run))
            if body is None:
                raise data_error("RW-H07", f"expected a run with its report, got none for {run}", where=str(self.place))
            kept = connection.execute(asked).all() if rows else []
            return together(body, {suite: msgspec.json.decode(unpacked(one)) for suite, one in kept})

    def rows(self, run: str, suite: str) -> Rows | None:
        """The rows of a suite of a run; None where it was added without."""
        asked = select(t.ROWS.c.body).where(t.ROWS.c.run == run, t.ROWS.c.suite == suite)
        with database.explained(self.place), database.reading(self.engine) as connection:
            body = connection.scalar(asked)
            return decoded(msgspec.json.decode(unpacked(body))) if body is not None else None

    def receipt(self, run: str) -> bytes | None:
        """The receipt of a run."""
        with database.explained(self.place), database.reading(self.engine) as connection:
            body = connection.scalar(select(t.RECEIPTS.c.body).where(t.RECEIPTS.c.run == run))
            return unpacked(body) if body is not None else None

    def sealed_receipts(self, run: str) -> set[str]:
        """The hashes of receipts that the ledger has of a run, also of one that was pruned."""
        ledger = t.LEDGER.c
        asked = select(ledger.body).where(ledger.kind.in_(("run", "receipt")), ledger.body.contains(run))
        said = self._each(asked, lambda one: json.loads(one[0]))
        return {one["receipt"] for one in said if one["run"] == run and one["receipt"]}

    def summaries(self, run: str) -> list[Summary]:
        """The numbers of a run."""
        s = t.SUMMARIES.c
        asked = select(t.SUMMARIES).where(s.run == run).order_by(s.suite, s.slice, s.metric)
        return self._each(asked, lambda one: Summary(*one[1:]))

    def attempts(self, gold_sha256: str, commit: str) -> list[Attempt]:
        """Every attempt on a gold set and a commit, in order; each one seals the one before it."""
        with database.explained(self.place), database.reading(self.engine) as connection:
            return attempts_on(connection, gold_sha256, commit)

    def attempts_with(self, run: str) -> list[Attempt]:
        """The attempts that a run is one of, in order; none where it is not known."""
        with database.explained(self.place), database.reading(self.engine) as connection:
            found = connection.execute(select(t.ATTEMPTS).where(t.ATTEMPTS.c.run == run)).first()
            return [] if found is None else attempts_on(connection, found.gold_sha256, found.commit_id)

    def tried(self, report: Mapping[str, Any], commit: str) -> list[list[Attempt]]:
        """The attempts on any gold set of a report and a commit, however either is spelled; most of them first."""
        with database.explained(self.place), database.reading(self.engine) as connection:
            return tried(connection, gold_of(report), golds_of(report), spelled(commit))

    def baseline(self, name: str) -> Blessing | None:
        """What a name stands for now."""
        with database.explained(self.place), database.reading(self.engine) as connection:
            return _blessed(connection, name)

    def blessings(self) -> list[Blessing]:
        """Every blessing, oldest first."""
        return self._each(select(t.BASELINES).order_by(t.BASELINES.c.number), _blessing)

    def signatures(self, run: str) -> list[Signature]:
        """Who is behind a run."""
        s = t.SIGNATURES.c
        asked = select(s.run, s.what, s.signed_by, s.reason, s.at).where(s.run == run).order_by(s.number, s.nth)
        return self._each(asked, lambda one: Signature(*one))

    def root(self) -> str:
        """The hash of the first entry of the ledger, by which a store is known; empty where nothing was kept."""
        first = select(t.LEDGER.c.hash).order_by(t.LEDGER.c.number).limit(1)
        with database.explained(self.place), database.reading(self.engine) as connection:
            return str(connection.scalar(first) or "")

    def head(self) -> str:
        """The hash of the last entry of the ledger; empty for a new store."""
        with database.explained(self.place), database.reading(self.engine) as connection:
            return _last(connection)[1]

    def check(self, written: Sequence[Written] = ()) -> list[str]:
        """What is wrong with the store: rows that were changed, attempts that were removed, blessings that were moved.

        `written` are lines that were written down elsewhere: the ledger must say what they do.
        """
        with database.explained(self.place), database.reading(self.engine) as connection:
            return problems(connection, written)

    def strangers(self, written: Sequence[Written]) -> list[str]:
        """The lines of files that other stores wrote, counted: of these the ledger says nothing."""
        with database.explained(self.place), database.reading(self.engine) as connection:
            return foreign(connection, written)

    def check_blessed(self, run: str) -> list[str]:
        """What is wrong with the blessings, or with a run that is to be compared with; the rest is not looked at."""
        with database.explained(self.place), database.reading(self.engine) as connection:
            return blessed_problems(connection, run)

    def _each(self, asked: Any, make: Callable[[Any], Made]) -> list[Made]:
        with database.explained(self.place), database.reading(self.engine) as connection:
            return [make(one) for one in connection.execute(asked)]


def open_store(
    where: str | Path | Place, *, create: bool = True, now: Callable[[], str] = clock, reads: bool = False
) -> Store:
    """Open a store, or make one; an older schema is migrated. With `reads`, nothing is written, whatever is there."""
    place = where if isinstance(where, Place) else place_of(where)
    return Store(place, database.connect(place, now=now, create=create and not reads, reads=reads), now)


# one table or another


def _last(connection: Connection) -> tuple[int, str]:
    newest = select(t.LEDGER.c.number, t.LEDGER.c.hash).order_by(t.LEDGER.c.number.desc()).limit(1)
    found = connection.execute(newest).first()
    return (found[0], found[1]) if found is not None else (0, "")


def _append(connection: Connection, kind: str, body: Mapping[str, Any]) -> Link:
    number, previous = _last(connection)
    made = link(number + 1, kind, body, previous)
    connection.execute(insert(t.LEDGER).values(made._asdict()))
    return made


def _sign(connection: Connection, number: int, signed: Sequence[Signature]) -> None:
    values = [one._asdict() | {"number": number, "nth": nth} for nth, one in enumerate(signed)]
    _all(connection, t.SIGNATURES, [{"signed_by": one.pop("by"), **one} for one in values])


def _all(connection: Connection, table: Any, values: list[dict[str, Any]]) -> None:
    if values:
        connection.execute(insert(table), values)


def _rows(body: Mapping[str, Any]) -> dict[str, Any]:
    return {"sha256": body["sha256"], "body": packed(msgspec.json.encode(body))}


def _blessed(connection: Connection, name: str) -> Blessing | None:
    b = t.BASELINES.c
    found = connection.execute(select(t.BASELINES).where(b.name == name).order_by(b.number.desc()).limit(1)).first()
    return _blessing(found) if found is not None else None


def _blessing(given: Any) -> Blessing:
    number, name, run, by, reason, at, previous, runs, flips = given
    return Blessing(number, name, run, by, reason, at, previous, tuple(json.loads(runs)), json.loads(flips))


def _run(given: Any) -> Run:
    found = Run(*given)
    return found._replace(suites=tuple(json.loads(str(given[4]))))


def _sorted(flips: Mapping[str, str]) -> str:
    return json.dumps(flips, sort_keys=True)
