"""The latency experiment: every configuration under every load, in an open loop.

A cell is one configuration under one load. Every cell asks every question equally often and in the same order, so
that cells can be compared. A cell goes into the journal when it is complete; a resumed experiment repeats the others.
"""

import asyncio
import hashlib
import random
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragworthy.errors import DataError
from ragworthy.experiments.warmup import WarmUp, warm_up, with_knobs
from ragworthy.files import write_whole, write_with
from ragworthy.ids import config_id
from ragworthy.runner import run as running
from ragworthy.runner.contract import Ask, Target, about, reason_of
from ragworthy.runner.drive import on_signals
from ragworthy.runner.ended import Header
from ragworthy.runner.faults import SURE, give_up
from ragworthy.runner.journal import AGAIN, Entry, Journal, Kind, check_free, clear
from ragworthy.runner.openloop import Fired, Shot, fire
from ragworthy.runner.results import kept, told_of
from ragworthy.runner.run import HowMany

SCHEMA = "ragworthy.latency/1"
RUNS, SUMMARY = "latency.jsonl", "latency.json"
LOADS = (1.0, 5.0, 20.0)
WARMUP = 5
OFF = 0.02
"""A held rate that differs from the one asked for by more than this share is warned about."""
_KEPT = ("stage_ms", "usage", "retrieved_ids", "answer_json", "raw")


class Cell(NamedTuple):
    """One configuration under one load."""

    knobs: dict[str, Any]
    config_id: str
    load_rps: float


class Sweep(NamedTuple):
    """Everything an experiment does, in order."""

    gold: str
    gold_sha256: str
    cells: tuple[Cell, ...]
    asks: tuple[Ask, ...]
    """What each cell asks, without knobs."""
    questions: int
    variations: int
    """How many asks one pass has: questions × wordings × seeds."""
    warmup: int
    poisson: bool
    sha256: str
    settings: dict[str, str]
    """What was chosen by hand, as a message shows it."""
    warm: WarmUp = WarmUp((), 0)
    """What each cell asks first, without knobs."""

    @property
    def passes(self) -> int:
        """How often each cell asks every question under every seed and in every wording."""
        return len(self.asks) // self.variations

    def seconds(self, cells: Sequence[Cell]) -> float:
        """How long the schedule of some cells is."""
        return sum((self.warmup + len(self.asks)) / cell.load_rps for cell in cells)


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one cell; counts and the held rate leave the warm-up out."""

    config_id: str
    knobs: dict[str, Any]
    load_rps: float
    held_rps: float | None
    requests: int
    warmup: int
    errors: int
    reasons: dict[str, int]
    warmup_errors: int
    overloaded: int
    retried: int
    most_in_flight: int
    most_lag_ms: float

    @property
    def off(self) -> float | None:
        """By which share the held rate differs from the one asked for; None where it holds or cannot be told."""
        if self.held_rps is None:
            return None
        share = round(self.held_rps / self.load_rps - 1, 6)
        return share if abs(share) > OFF else None


class _Kept(msgspec.Struct, frozen=True):
    """What the journal holds of a complete cell."""

    cell: Measured
    records: list[dict[str, Any]]


CELLS = Kind("cell", "cells", lambda entry: msgspec.convert(entry.fields, _Kept))


class Step(NamedTuple):
    """How far an experiment is."""

    cell: int
    cells: int
    load_rps: float
    done: int
    total: int
    in_flight: int
    errors: int


class Options(NamedTuple):
    """How an experiment is made."""

    out: Path
    resume: bool = False
    timeout: float = 60.0
    most_in_flight: int = 1000
    starts: Callable[[Sequence[Cell]], None] | None = None
    """Hears which cells are left, before the first question."""
    told: Callable[[Step], None] | None = None
    keep_going: bool = False
    """Whether everything is asked, even when nothing can be reached or all replies make the same mistake."""


class Swept(NamedTuple):
    """How an experiment ended."""

    total: int
    finished: bool
    """Whether every cell is there and the results are written; else somebody stopped it."""
    cells: list[Measured]


def plan(
    gold: Path,
    configs: Sequence[dict[str, Any]],
    *,
    loads: Sequence[float] = LOADS,
    requests: int | None = None,
    warmup: int = WARMUP,
    poisson: bool = False,
    limit: int | None = None,
    seeds: Sequence[int] = (0,),
    paraphrases: HowMany = 1,
) -> Sweep:
    """Configurations × loads; requests are rounded up to whole passes over questions × wordings × seeds."""
    run = running.plan(gold, seeds=seeds, paraphrases=paraphrases, limit=limit)
    every = run if limit is None else running.plan(gold, seeds=seeds, paraphrases=paraphrases)
    asks = tuple(_shuffled([one.ask for one in run.asks], requests))
    warm = warm_up(warmup, asks, [one.ask for one in every.asks[len(run.asks) :]])
    cells = tuple(Cell(knobs, config_id(knobs), load) for load in loads for knobs in configs)
    whole = [run.sha256, [[cell.config_id, cell.load_rps] for cell in cells], [ask.qid for ask in asks], warmup]
    sha256 = hashlib.sha256(msgspec.json.encode([*whole, poisson])).hexdigest()
    settings = {
        "loads": ",".join(f"{load:g}" for load in loads),
        "knobs": ",".join(config_id(knobs) for knobs in configs),
        "requests": "none" if requests is None else str(requests),
        "warmup": str(warmup),
        "poisson": "on" if poisson else "off",
        "limit": run.settings["limit"],
    }
    if len(run.asks) > run.questions:
        settings |= {name: run.settings[name] for name in ("seeds", "paraphrases")}
    counts = run.questions, len(run.asks)
    return Sweep(run.gold, run.gold_sha256, cells, asks, *counts, warmup, poisson, sha256, settings, warm)


def _shuffled(asks: list[Ask], requests: int | None) -> Iterator[Ask]:
    """Whole passes over the questions, each in an order of its own, the same every time."""
    draw = random.Random("ragworthy.latency:0")  # noqa: S311 - an order, not a secret
    for _ in range(max(1, -(-(requests or 0) // len(asks)))):
        yield from draw.sample(asks, len(asks))


def of_target(sweep: Sweep, target: Target) -> Sweep:
    """The sweep with configurations named by what decides the answers besides knobs, too."""
    made = about(target)
    return sweep._replace(cells=tuple(cell._replace(config_id=config_id(cell.knobs | made)) for cell in sweep.cells))


def run(sweep: Sweep, target: Target, options: Options) -> Swept:
    """Measure every cell that is not in the journal yet, and write the results when all are there."""
    sweep = of_target(sweep, target)
    for cell in sweep.cells:
        running.check_knobs(target.name, cell.knobs)
        running.check_knobs_of(target, cell.knobs)
    header = Header(
        target=target.name,
        gold_sha256=sweep.gold_sha256,
        config_id="*",
        plan_sha256=sweep.sha256,
        asks=len(sweep.cells),
        about=about(target),
        settings=sweep.settings,
    )
    with kept(options.out) as out:
        check_free(out, (RUNS, SUMMARY))
        journal = Journal(out, header, resume=options.resume, kind=CELLS)
        try:
            return _sweep(sweep, target, options._replace(out=out), journal)
        finally:
            journal.close()


def _sweep(sweep: Sweep, target: Target, options: Options, journal: Journal) -> Swept:
    """Measure what is left, and write the results."""
    left = {n: cell for n, cell in enumerate(sweep.cells) if n not in journal.done}
    if options.starts is not None:
        options.starts(list(left.values()))
    try:
        if left:
            clear(options.out, (RUNS, SUMMARY))
            asyncio.run(_measure(sweep, left, target, options, journal))
        cells = _measured(journal)
        _write(sweep, cells, target, options.out, journal)
        return Swept(len(sweep.cells), True, cells)
    except (KeyboardInterrupt, asyncio.CancelledError):
        return Swept(len(sweep.cells), False, _measured(journal))


async def _measure(sweep: Sweep, left: Mapping[int, Cell], target: Target, options: Options, journal: Journal) -> None:
    """One cell after the other, each into the journal as soon as it is complete; a signal stops at once."""
    work = asyncio.create_task(_all_of_them(sweep, left, target, options, journal))
    with on_signals(lambda: work.cancelling() or work.cancel(), signal.SIGINT, signal.SIGTERM):
        await work


async def _all_of_them(
    sweep: Sweep, left: Mapping[int, Cell], target: Target, options: Options, journal: Journal
) -> None:
    await target.open()
    try:
        for n, cell in left.items():
            journal.add(await _one(sweep, n, cell, target, options))
    finally:
        await target.close()


async def _one(sweep: Sweep, n: int, cell: Cell, target: Target, options: Options) -> Entry:
    """Fire one cell; gives what the journal keeps of it."""
    total = sweep.warmup + len(sweep.asks)
    tell = options.told

    def told(done: int, flying: int, errors: int) -> None:
        if tell is not None:
            tell(Step(n, len(sweep.cells), cell.load_rps, done, total, flying, errors))

    fired = await fire(
        target,
        with_knobs(sweep.asks, cell.knobs),
        cell.load_rps,
        options.timeout,
        most_in_flight=options.most_in_flight,
        warm=with_knobs(sweep.warm.asks, cell.knobs),
        poisson=0 if sweep.poisson else None,
        told=told,
        keep_going=options.keep_going,
    )
    if fired.hopeless:
        first = fired.shots[0]
        raise give_up(target.name, first.ask, first.reply, qids=[one.ask.qid for one in fired.shots[:SURE]])
    records = [_record(cell, place, shot) for place, shot in enumerate(fired.shots)]
    took = max(shot.at * 1000 + shot.e2e_ms for shot in fired.shots) - fired.shots[0].at * 1000
    kept = _Kept(_summed(cell, fired), records)
    return Entry(n=n, fields=msgspec.to_builtins(kept), e2e_ms=round(took, 3), attempts=1, started=records[0]["ts"])


def _record(cell: Cell, place: int, shot: Shot) -> dict[str, Any]:
    """One question as `score latency` reads it."""
    ask, reply = shot.ask, shot.reply
    wording = f";p={ask.paraphrase}" if ask.paraphrase else ""
    sent = datetime.fromtimestamp(shot.at + shot.lag_ms / 1000, UTC)
    told: dict[str, Any] = {
        "ts": sent.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "run_id": f"{ask.qid}#seed={ask.seed};j={ask.jitter}{wording};c={cell.config_id};r={cell.load_rps:g};n={place}",
        "qid": ask.qid,
        "q": ask.q,
        "seed": ask.seed,
        "jitter": ask.jitter,
        "paraphrase": ask.paraphrase,
        "knobs": cell.knobs,
        "config_id": cell.config_id,
        "load_rps": cell.load_rps,
        "warmup": shot.warmup,
        "e2e_ms": shot.e2e_ms,
        "lag_ms": shot.lag_ms,
    }
    kept = {name: reply.fields[name] for name in _KEPT if name in reply.fields}
    return told | told_of(kept, reply.error, reply.code)


def _summed(cell: Cell, fired: Fired) -> Measured:
    """What became of a cell, in numbers."""
    counted = [shot for shot in fired.shots if not shot.warmup]
    reasons = Counter(reason_of(shot.reply.error, shot.reply.code) for shot in counted if shot.reply.error is not None)
    return Measured(
        config_id=cell.config_id,
        knobs=cell.knobs,
        load_rps=cell.load_rps,
        held_rps=None if fired.held_rate is None else round(fired.held_rate, 4),
        requests=len(counted),
        warmup=len(fired.shots) - len(counted),
        errors=reasons.total(),
        reasons=dict(sorted(reasons.items())),
        warmup_errors=sum(shot.warmup and shot.reply.error is not None for shot in fired.shots),
        overloaded=fired.overloaded,
        retried=sum(shot.reply.attempts > 1 for shot in counted),
        most_in_flight=fired.most_in_flight,
        most_lag_ms=max(shot.lag_ms for shot in counted),
    )


def _measured(journal: Journal) -> list[Measured]:
    """The cells that are complete, in the order of the experiment."""
    return [_kept(journal, n).cell for n in sorted(journal.done)]


def _kept(journal: Journal, n: int) -> _Kept:
    return msgspec.convert(journal.read(n).fields, _Kept)


def _write(sweep: Sweep, cells: list[Measured], target: Target, out: Path, journal: Journal) -> None:
    """Write the runs and the summary, each whole or not at all."""
    encode = msgspec.json.Encoder().encode

    def fill(beside: Path) -> None:
        with beside.open("wb") as file:
            for n in range(len(sweep.cells)):
                file.writelines(encode(one) + b"\n" for one in _kept(journal, n).records)

    summary = {
        "schema": SCHEMA,
        "target": target.name,
        "about": about(target),
        "gold": {"path": sweep.gold, "sha256": sweep.gold_sha256},
        "plan_sha256": sweep.sha256,
        "questions": sweep.questions,
        "variations": sweep.variations,
        "passes": sweep.passes,
        "warmup": sweep.warmup,
        "warmup_measured": sweep.warm.measured,
        "gaps": "poisson" if sweep.poisson else "fixed",
        "cells": [msgspec.to_builtins(one) | {"rate_off": one.off} for one in cells],
    }
    try:
        write_with(out / RUNS, fill)
        write_whole(out / SUMMARY, msgspec.json.format(msgspec.json.encode(summary), indent=2) + b"\n")
    except DataError as error:
        advice = f"{journal.safe()} in {journal.path}: {AGAIN}"
        raise DataError(error.problems, error.total, advice) from None
