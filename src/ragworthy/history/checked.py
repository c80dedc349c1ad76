"""Whether a store is what its ledger says: every change that did not go through it is named."""

import json
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, select

from ragworthy.history import tables as t
from ragworthy.history.entries import Attempt, Link, Summary, broken_attempts, link_hash, sha256
from ragworthy.history.lines import Written, differences, strangers
from ragworthy.history.taken import summaries_hash, unpacked
from ragworthy.rows import UnreadableError, decoded


def problems(connection: Connection, written: Sequence[Written] = ()) -> list[str]:
    """Everything that is wrong, in the order of the ledger; then where files of lines say otherwise."""
    links = [Link(*one) for one in connection.execute(select(t.LEDGER).order_by(t.LEDGER.c.number))]
    known = {one.hash for one in links}
    found = list(_chain(links))
    said = _said(links)  # others are named above
    heads = [head for one in written for head in one.of(said).heads if head not in known]
    found += [f"ledger: expected the entry {head[:12]} that was written down elsewhere, got none" for head in heads]
    return [
        *found,
        *_runs(connection, said, {one.id: one for one in connection.execute(select(t.RUNS))}),
        *_attempts(connection, said),
        *_blessings(connection, said),
        *_signatures(connection, said),
        *(told for one in written for told in differences(connection, said, one)),
    ]


def foreign(connection: Connection, written: Sequence[Written]) -> list[str]:
    """The lines of files that other stores wrote, counted."""
    said = _said([Link(*one) for one in connection.execute(select(t.LEDGER).order_by(t.LEDGER.c.number))])
    return [told for one in written for told in strangers(said, one)]


def _said(links: Sequence[Link]) -> "Said":
    """Entries that are what their hash covers, read."""
    return [(one, json.loads(one.body)) for one in links if link_hash(*one[:4]) == one.hash]


def blessed_problems(connection: Connection, run: str) -> list[str]:
    """What is wrong with the ledger, with any blessing, or with one run."""
    links = [Link(*one) for one in connection.execute(select(t.LEDGER).order_by(t.LEDGER.c.number))]
    said = _said(links)
    mine = [(entry, body) for entry, body in said if run in (body.get("run"), *body.get("runs", ()))]
    rows = connection.execute(select(t.RUNS).where(t.RUNS.c.id == run))
    return [*_chain(links), *_blessings(connection, said), *_runs(connection, mine, {one.id: one for one in rows})]


def _chain(links: Sequence[Link]) -> Iterator[str]:
    previous = ""
    for nth, one in enumerate(links, 1):
        what = f"ledger: entry {one.number} ({one.kind})"
        if one.number != nth:
            yield f"{what}: expected entry {nth}: one was removed"
            return
        if one.previous != previous:
            yield f"{what}: expected the hash of the entry before it, got another"
        if link_hash(one.number, one.kind, one.body, one.previous) != one.hash:
            yield f"{what}: expected what its hash covers, got something that was changed"
        previous = one.hash


Said = list[tuple[Link, dict[str, Any]]]


def _runs(connection: Connection, said: Said, there: dict[str, Any]) -> Iterator[str]:
    gone = {run for entry, body in said if entry.kind == "prune" for run in body["runs"]}
    again = {body["run"]: entry.number for entry, body in said if entry.kind == "run"}  # pruned, then added again
    late: dict[str, str] = {body["run"]: body["receipt"] for entry, body in said if entry.kind == "receipt"}
    last_pruned = {run: entry.number for entry, body in said if entry.kind == "prune" for run in body["runs"]}
    for entry, body in said:
        if entry.kind != "run" or again[body["run"]] != entry.number:
            continue
        run = body["run"]
        pruned = run in gone and last_pruned[run] > entry.number
        if pruned and run in there:
            yield f"run {run}: expected a run that was pruned, got one that is there"
        elif not pruned and run not in there:
            yield f"run {run}: expected a run, got none: it was removed"
        elif not pruned:
            yield from _run(connection, entry, body, there[run], body["receipt"] or late.get(run))
    yield from (f"run {run}: expected an entry of the ledger, got none: it was added" for run in there.keys() - again)


def _run(connection: Connection, entry: Link, body: dict[str, Any], row: Any, receipt: str | None) -> Iterator[str]:
    run = body["run"]
    now = {
        "number": row.number, "at": row.created_at, "verdict": row.verdict, "suites": row.suites,
        "gold": row.gold_sha256, "label": row.gold_label, "policy": row.policy_sha256, "commit": row.commit_id,
        "index": row.index_hash, "report": row.report_sha256,
    }  # fmt: skip
    expected = {**body, "number": entry.number, "suites": json.dumps(body["suites"])}
    yield from (f"run {run}: {key} was changed" for key, value in now.items() if expected.get(key) != value)
    s = t.SUMMARIES.c
    numbers = tuple(Summary(*one[1:]) for one in connection.execute(select(t.SUMMARIES).where(s.run == run)))
    if summaries_hash(numbers) != body["summaries"]:
        yield f"run {run}: a number was changed"
    yield from _rows(connection, run, body["rows"])
    packed = connection.scalar(select(t.REPORTS.c.body).where(t.REPORTS.c.run == run))
    if not isinstance(packed, bytes) or sha256(packed) != body["body"]:
        yield f"run {run}: the report was {'removed' if packed is None else 'changed'}"
    kept = connection.execute(select(t.RECEIPTS).where(t.RECEIPTS.c.run == run)).first()
    now_there = {None} if kept is None else {_hash(kept.body), kept.sha256}
    if now_there != {receipt}:
        yield f"run {run}: the receipt was {'removed' if kept is None else 'changed'}"


def _hash(kept: bytes) -> str:
    """The hash of packed bytes; a text that is none where they cannot be unpacked."""
    try:
        return sha256(unpacked(kept))
    except (ValueError, TypeError, zlib.error):
        return ""


def _rows(connection: Connection, run: str, expected: dict[str, str]) -> Iterator[str]:
    r = t.ROWS.c
    kept = {one.suite: one for one in connection.execute(select(t.ROWS).where(r.run == run))}
    for suite in expected.keys() | kept.keys():
        one = kept.get(suite)
        if one is None or suite not in expected:
            yield f"run {run}: the rows of {suite} were {'removed' if one is None else 'added'}"
            continue
        try:
            body = msgspec.json.decode(unpacked(one.body))
            decoded(body)
            same = body["sha256"] == one.sha256 == expected[suite]
        except (ValueError, TypeError, UnreadableError, LookupError, zlib.error):
            same = False
        if not same:
            yield f"run {run}: a row of {suite} was changed"


def _attempts(connection: Connection, said: Said) -> Iterator[str]:
    a = t.ATTEMPTS.c
    groups: dict[tuple[str, str], list[Attempt]] = {}
    for one in connection.execute(select(t.ATTEMPTS).order_by(a.gold_sha256, a.commit_id, a.number)):
        made = Attempt(*one)
        groups.setdefault((made.gold_sha256, made.commit), []).append(made)
    for attempts in groups.values():
        yield from broken_attempts(attempts)
    there = {one.hash: one for attempts in groups.values() for one in attempts}
    sealed = {body["attempt"]: body["run"] for entry, body in said if entry.kind == "run"}
    for sealed_hash, run in sealed.items():
        if sealed_hash not in there:
            yield f"attempt of run {run}: expected an attempt, got none: it was removed or changed"
    for found in there.values():
        if found.hash not in sealed:
            yield f"attempt {found.number} (run {found.run}): expected an entry of the ledger, got none: it was added"


def _blessings(connection: Connection, said: Said) -> Iterator[str]:
    there = {one.number: one for one in connection.execute(select(t.BASELINES))}
    for entry, body in said:
        if entry.kind != "bless":
            continue
        row = there.pop(entry.number, None)
        what = f"blessing of {body['run']} as {body['name']}"
        if row is None:
            yield f"{what}: expected a blessing, got none: it was removed"
            continue
        now = [row.name, row.run, row.blessed_by, row.reason, row.at, row.previous, row.runs, row.flips]
        before = [body[key] for key in ("name", "run", "by", "reason", "at", "previous")]
        if now != [*before, json.dumps(body["runs"]), json.dumps(body["flips"], sort_keys=True)]:
            moved = f"moved to {row.run}" if row.run != body["run"] else "changed"
            yield f"{what}: it was {moved}"
    yield from (f"blessing of {one.run} as {one.name}: no entry of the ledger: it was added" for one in there.values())


def _signatures(connection: Connection, said: Said) -> Iterator[str]:
    s = t.SIGNATURES.c
    there: dict[int, list[list[str]]] = {}
    for one in connection.execute(select(t.SIGNATURES).order_by(s.number, s.nth)):
        mine = there.setdefault(one.number, [])
        mine.append(
            [one.run, one.what, one.signed_by, one.reason, one.at, *([] if one.nth == len(mine) else [one.nth])]
        )
    kept = set(connection.scalars(select(t.RUNS.c.number)))
    for entry, body in said:
        if entry.kind == "run" and entry.number in kept and there.pop(entry.number, []) != body.get("signed", []):
            yield f"run {body['run']}: a signature was changed"
        if entry.kind == "bless":
            mine = [[body["run"], "blessing", body["by"], body["reason"], body["at"]]]
            if there.pop(entry.number, []) != mine:
                yield f"blessing of {body['run']} as {body['name']}: the signature was changed"
    yield from (f"a signature of run {one[0][0]}: no entry of the ledger: it was added" for one in there.values())
