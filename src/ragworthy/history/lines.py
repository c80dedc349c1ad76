"""The lines of a history.jsonl, compared with the ledger: what was written down there is what the store has."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, select

from ragworthy.errors import data_error
from ragworthy.files import read_text
from ragworthy.history import tables as t
from ragworthy.history.entries import Link
from ragworthy.history.sealing import HEAD, PREVIOUS, STORE, line_hash, sealed
from ragworthy.report.show import plural

Body = Mapping[str, Any]
Said = Sequence[tuple[Link, Body]]
"""Entries of the ledger, read."""


class Line(NamedTuple):
    """One line, and where it stands."""

    where: str
    entry: Body
    hash: str = ""
    """Its hash; a line that was cut off has no more than that."""

    @property
    def key(self) -> tuple[str, Any, Any]:
        """What an entry of the ledger is found by."""
        return ("bless" if "by" in self.entry else "run"), self.entry.get("run"), self.entry.get("at")


class Written(NamedTuple):
    """A history.jsonl."""

    path: Path
    lines: tuple[Line, ...]
    every: tuple[Line, ...] = ()
    """Those of other stores, and what was cut off, included."""

    @property
    def heads(self) -> list[str]:
        """The hashes of the ledger that were written down."""
        return [one.entry[HEAD] for one in self.lines if isinstance(one.entry.get(HEAD), str)]

    def of(self, said: Said) -> "Written":
        """The lines that a store wrote: they name its first entry, or it has what they are about, and no line of its
        own for that. A line that names no store may be of any.
        """
        root = said[0][0].hash if said else ""
        known = {(link.kind, body.get("run"), body.get("at")) for link, body in said}
        known -= {line.key for line in self.lines if line.entry.get(STORE) == root}
        mine = [one for one in self.lines if one.entry.get(STORE) in (None, root) or one.key in known]
        return self._replace(lines=tuple(mine))


def written_in(path: Path) -> Written:
    """A history.jsonl; a line that was cut off is none. A file that names no entry of the ledger proves nothing."""
    found = []
    for nth, line in enumerate(read_text(path).splitlines(), 1):
        try:
            entry = json.loads(line) if line.strip() else {}
        except ValueError:
            entry = {}
        if not isinstance(entry, dict):
            raise data_error("RW-H12", "expected a line of a run, got another", where=f"{path}:{nth}")
        found.append(Line(f"{path}:{nth}", entry, line_hash(line)))
    written = Written(path, tuple(one for one in found if one.entry), tuple(found))
    if not written.heads:
        raise data_error("RW-H12", 'expected lines with "head", the hash of the ledger, got none', where=str(path))
    return written


def differences(connection: Connection, said: Said, written: Written) -> Iterator[str]:
    """What a file says otherwise than the ledger, line by line; then the entries whose line is gone, or moved."""
    mine, found = written.of(said), []
    for line in mine.lines:
        found += [f"{line.where}: {one}" for one in _line(connection, said, line)]
    there = {line.key for line in mine.lines}
    for kind, body in _expected(said, mine):
        if (kind, body["run"], body["at"]) not in there:
            what = f"blessing of {body['run']} as {body['name']}" if kind == "bless" else f"run {body['run']}"
            found.append(
                f"{written.path}: {what}: expected its line, got none: it was removed, or written to another copy"
            )
    if not mine.lines:
        found.append(f"{written.path}: expected lines of this history, got none")
    yield from found or _chain(written)


def _chain(written: Written) -> Iterator[str]:
    """Lines whose predecessor is not before them. Where two copies were merged, two follow the same one."""
    seen: set[str] = set()
    for line in written.every:
        previous = line.entry.get(PREVIOUS)
        if previous is not None and previous not in seen:
            yield f"{line.where}: expected the line {str(previous)[:12]} before it, got none: it was removed or moved"
        seen.add(line.hash)


def strangers(said: Said, written: Written) -> Iterator[str]:
    """How many lines of a file other stores wrote, for people."""
    mine = {line.where for line in written.of(said).lines}
    others = Counter(str(line.entry.get(STORE))[:12] for line in written.lines if line.where not in mine)
    for root, count in others.items():
        yield f"{written.path}: {plural(count, 'line')} of another history ({root}), not looked at"


def _line(connection: Connection, said: Said, line: Line) -> Iterator[str]:
    kind, run, at = line.key
    what = f"run {run}" if kind == "run" else f"blessing of {run} as {line.entry.get('baseline')}"
    mine = [body for link, body in said if link.kind == kind and body["run"] == run]
    body = next((one for one in mine if one["at"] == at), mine[-1] if mine else None)
    if body is None:
        yield f"{what}: expected an entry of the ledger, got none"
        return
    expected = _of_run(connection, body) if kind == "run" else _of_blessing(body)
    told = [
        f"{key}: expected {_short(value)} of the ledger, got {_short(line.entry.get(key))}"
        for key, value in expected.items()
        if line.entry.get(key) != value
    ]
    told += _numbers(connection, run, line.entry.get("metrics")) if kind == "run" else []
    if not told and body.get("said", sealed(line.entry)) != sealed(line.entry):
        told = ["expected the line that was written, got another: something else in it was changed"]
    yield from (f"{what}: {one}" for one in told or _head(said, body, line))


def _head(said: Said, body: Body, line: Line) -> Iterator[str]:
    """That a line names an entry of the ledger that was there before it was written; one that is gone is told apart."""
    numbers = {link.hash: link.number for link, _ in said}
    own = next(link.number for link, one in said if one is body)
    named = numbers.get(line.entry.get(HEAD, ""), own)
    if named < own:
        yield f"{HEAD}: expected entry {own} of the ledger or a later one, got entry {named}"


def _of_blessing(body: Body) -> dict[str, Any]:
    return {"baseline": body["name"], "by": body["by"], "reason": body["reason"], "at": body["at"]}


def _of_run(connection: Connection, body: Body) -> dict[str, Any]:
    """What the line of a run says, as the ledger has it; its attempt is in the store even where the run was pruned."""
    found = {
        "at": body["at"],
        "gold_sha256": body["gold"] or None,
        "gates_sha256": body["policy"],
        "verdict": body["verdict"],
        "pass": body["verdict"] == "SHIP",
        "baseline": None,
    }
    attempt = connection.execute(select(t.ATTEMPTS).where(t.ATTEMPTS.c.hash == body["attempt"])).first()
    if attempt is not None:  # that it was removed is told elsewhere
        found |= {"attempt": attempt.number, "commit": attempt.commit_id or None}
    return found


def _numbers(connection: Connection, run: str, told: Any) -> Iterator[str]:
    """Numbers of all questions that the store has otherwise; of a run that was pruned it has none."""
    s = t.SUMMARIES.c
    kept = connection.execute(select(s.metric, s.num, s.den, s.value).where(s.run == run, s.slice == "")).all()
    known: dict[str, set[tuple[Any, ...]]] = {}
    for metric, *number in kept:
        known.setdefault(metric, set()).add(tuple(number))
    given = told if isinstance(told, dict) else {}
    for metric, numbers in known.items():
        one = given.get(metric)
        got = tuple(one.get(key) for key in ("num", "den", "value")) if isinstance(one, dict) else None
        if got not in numbers:
            kept_one = min(numbers, key=str)
            texts = _counted(kept_one), _counted(got)
            if got is not None and texts[0] == texts[1]:
                texts = f"{texts[0]} = {kept_one[2]}", f"{texts[1]} = {got[2]}"
            yield f"metrics.{metric}: expected {texts[0]} of the store, got {texts[1]}"


def _counted(number: Sequence[Any] | None) -> str:
    if number is None:
        return "nothing"
    num, den, value = number
    return f"{num}/{den}" if num is not None and den is not None else _short(value)


def _short(value: Any) -> str:
    return "nothing" if value is None else str(value)[:40]


def _expected(said: Said, written: Written) -> Iterator[tuple[str, Body]]:
    """The entries up to the last head of a file of which the ledger says that such a file got a line."""
    last = max((link.number for link, _ in said if link.hash in {*written.heads}), default=0)
    golds = {line.entry.get("gold_sha256") for line in written.lines if line.key[0] == "run"}
    mine = {body["run"] for link, body in said if link.kind == "run" and (body["gold"] or None) in golds}
    place = f"/{written.path.resolve().as_posix().lstrip('/')}"
    for link, body in said:
        kept = link.kind in ("run", "bless") and link.number <= last and body["run"] in mine
        if kept and body.get("line") and place.endswith(f"/{body['line']}"):
            yield link.kind, body
