"""All parts together: one process or several, the same result."""

import os
import sys
from array import array
from collections import Counter
from collections.abc import Callable
from typing import Any

from ragworthy.engine.shard import Job, Partial, Shard, Stray
from ragworthy.records import Flaw, Ints, Measured, Note, Tally

SMALL = 16 << 20
"""Below this many bytes a second process costs more than it saves."""
ORPHANS_SHOWN = 3


def processes(asked: int | None, size: int, splits: bool) -> int:
    """How many processes the work is worth: what was asked for, else one for each core when the files are large."""
    if not splits or size < SMALL:
        return 1
    return (
        asked
        if asked is not None
        else len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else 1
    )


def measure(
    job: Job, progress: Callable[[int], None] | None = None, meanwhile: Callable[[], None] | None = None
) -> Measured:
    """Run every part of the job and merge what they give.

    `meanwhile` is work of the caller's own that is done while other processes are busy.
    """
    if job.parts > 1:
        return _merge(*_in_processes(job, progress, meanwhile), most=job.most_offenders)
    if meanwhile is not None:
        meanwhile()
    shard = Shard(job, 0)
    strays = shard.join(progress)
    return _merge([shard.settle([], [shard.trace_table])], strays, [], most=job.most_offenders)


def _worker(job: Job, part: int, pipe: Any, report: bool) -> None:
    try:
        shard = Shard(job, part)
        strays = shard.join((lambda size: pipe.send(("progress", size))) if report else None)
        hashes = array("q", map(hash, shard.index))
        pipe.send(("joined", (strays, shard.trace_table, hashes, shard.flaws, shard.flaw_count)))
        others, tables = pipe.recv()
        pipe.send(("settled", shard.settle(others, tables)))
        suspects = pipe.recv()
        pipe.send(
            (
                "named",
                {qid: shard.index[qid] for qid in shard.index if hash(qid) in suspects} if suspects else {},
            )
        )
    except Exception as error:  # noqa: BLE001 - handed to the parent process, which raises it
        pipe.send(("failed", error))


def _in_processes(
    job: Job, progress: Callable[[int], None] | None, meanwhile: Callable[[], None] | None
) -> tuple[list[Partial], list[Stray], list[Flaw]]:
    import multiprocessing

    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    pipes, workers = [], []
    for part in range(job.parts):
        ours, theirs = context.Pipe()
        worker = context.Process(target=_worker, args=(job, part, theirs, progress is not None), daemon=True)
        worker.start()
        theirs.close()
        pipes.append(ours)
        workers.append(worker)
    try:
        if meanwhile is not None:
            meanwhile()
        joined = [_answer(pipe, "joined", progress) for pipe in pipes]
        tables = [one[1] for one in joined]
        for part, pipe in enumerate(pipes):
            pipe.send(([stray for i, one in enumerate(joined) if i != part for stray in one[0]], tables))
        partials: list[Partial] = [_answer(pipe, "settled", None) for pipe in pipes]
        suspects = _in_two([one[2] for one in joined])
        for pipe in pipes:
            pipe.send(suspects)
        named = [_answer(pipe, "named", None) for pipe in pipes]
        return partials, _unplaced(joined, partials), _repeated(named)
    finally:
        for pipe in pipes:
            pipe.close()
        for worker in workers:
            worker.join(timeout=10)
            if worker.is_alive():
                worker.terminate()


def _answer(pipe: Any, wanted: str, progress: Callable[[int], None] | None) -> Any:
    while True:
        try:
            kind, value = pipe.recv()
        except EOFError:
            raise MemoryError("a worker process was killed; try --jobs 1") from None
        if kind == "failed":
            raise value
        if kind == wanted:
            return value
        if progress is not None:
            progress(value)


def _in_two(hashes: list[Ints]) -> frozenset[int]:
    """Hashes of ids that stand in more than one part: usually none."""
    total = sum(map(len, hashes))
    union: set[int] = set()
    union.update(*hashes)
    if len(union) == total:
        return frozenset()
    return frozenset(
        one for one, count in Counter(one for part in hashes for one in part).items() if count > 1
    )


def _repeated(named: list[dict[str, int]]) -> list[Flaw]:
    """Gold ids that really stand in two parts, reported for the later one."""
    seen: set[str] = set()
    flaws: list[Flaw] = []
    for ids in named:
        for qid in ids:
            if qid in seen:
                message = f'expected a unique id, got "{qid}" again'
                flaws.append(Flaw("gold", -1, "RW-G02", "qid", message))
        seen.update(ids)
    return flaws


def _unplaced(joined: list[Any], partials: list[Partial]) -> list[Stray]:
    """Traces that no part could place: their question is not in the gold set."""
    placed: set[str] = set()
    for part, partial in enumerate(partials):
        if partial.claimed:
            offered = [stray.qid for i, one in enumerate(joined) if i != part for stray in one[0]]
            placed.update(offered[at] for at in partial.claimed)
    return [stray for one in joined for stray in one[0] if stray.qid not in placed]


def _merge(partials: list[Partial], orphans: list[Stray], more_flaws: list[Flaw], *, most: int) -> Measured:
    tally: Tally = Counter()
    notes: dict[int, list[Note]] = {}
    flags: Ints = array("Q")
    qids: list[str] = []
    watched: dict[str, int] = {}
    for partial in partials:
        tally.update(partial.tally)
        for mark, some in partial.notes.items():
            notes.setdefault(mark, []).extend(some)
        flags.extend(partial.flags)
        qids.extend(partial.qids)
        watched.update(partial.watched)
    return Measured(
        tally=tally,
        traces=sum(partial.traces for partial in partials),
        traces_replaced=sum(partial.duplicates for partial in partials),
        orphans=sum(stray.count for stray in orphans),
        orphan_ids=sorted({stray.qid for stray in orphans})[:ORPHANS_SHOWN],
        flaws=sorted([flaw for partial in partials for flaw in partial.flaws] + more_flaws),
        flaw_count=sum(partial.flaw_count for partial in partials) + len(more_flaws),
        notes=notes,
        offenders=sorted(o for partial in partials for o in partial.offenders)[:most] if most else [],
        watched=watched,
        qids=qids,
        flags=flags,
    )
