"""All parts together: one process or several, the same result."""

import os
import signal
import sys
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from typing import Any

from ragworthy.engine.digest import PLACES, digest
from ragworthy.engine.job import Job, Joined, Partial, Strays
from ragworthy.engine.shard import OutOfOrderError, Shard
from ragworthy.records import Ints, Measured, Note, Tally

SMALL = 16 << 20
"""Below this many bytes a second process costs more than it saves."""
ORPHANS_SHOWN = 3


def processes(asked: int | None, size: int, splits: bool) -> int:
    """How many processes the work is worth: what was asked for, else one for each core when the files are large.

    Only Linux forks safely, and forked processes agree on the hash of a text; elsewhere one process does the work.
    """
    if not splits or size < SMALL or sys.platform != "linux":
        return 1
    return asked if asked is not None else len(os.sched_getaffinity(0))


def measure(
    job: Job, progress: Callable[[int], None] | None = None, meanwhile: Callable[[], None] | None = None
) -> Measured:
    """Run every part of the job and merge what they give.

    `meanwhile` is work of the caller's own that is done while other processes are busy.
    """
    if job.parts > 1:
        try:
            together = _in_processes(job, progress, meanwhile)
        except OutOfOrderError:
            together = _in_processes(job._replace(wide=True), progress, None)
        # With something wrong in the files, one process goes through them again: problems in the order of the file.
        return together or measure(job._replace(parts=1), progress)
    if meanwhile is not None:
        meanwhile()
    shard = Shard(job, 0)
    joined = shard.join(progress)
    tables = [joined.table]
    return _merge([digest(shard, shard.settle([], tables), tables)], [joined.strays], job.most_offenders)


def _worker(job: Job, part: int, pipe: Any, parents: list[Any], report: bool) -> None:
    """One part in a process of its own, in step with the others."""
    for end in parents:
        end.close()  # inherited; while they are open here, the end of the parent would go unnoticed
    try:
        shard = Shard(job, part)
        pipe.send(("joined", shard.join((lambda size: pipe.send(("progress", size))) if report else None)))
        others, tables, distinct = pipe.recv()
        if not distinct:
            pipe.send(("hashes", shard.hashes()))
        pipe.send(("settled", digest(shard, shard.settle(others, tables), tables)))
    except OutOfOrderError:
        _tell(pipe, "out of order")
    except Exception:  # noqa: BLE001 - the parent does the work again and meets the same error itself
        _tell(pipe, "failed")
    os._exit(0)  # the memory goes back at once; taking a million objects apart would be noticed


def _tell(pipe: Any, what: str) -> None:
    """Tell the parent, unless it has gone or no longer listens."""
    with suppress(OSError):
        pipe.send((what, None))


def _in_processes(
    job: Job, progress: Callable[[int], None] | None, meanwhile: Callable[[], None] | None
) -> Measured | None:
    """The merged result of one process a part; None where something is wrong with the files or with a process."""
    import multiprocessing

    context: Any = multiprocessing.get_context("fork")
    pipes: list[Any] = []
    workers: list[Any] = []
    ended = False
    try:
        with _uninterrupted():
            for part in range(job.parts):
                ours, theirs = context.Pipe()
                pipes.append(ours)
                arguments = (job, part, theirs, pipes, progress is not None)
                workers.append(context.Process(target=_worker, args=arguments, daemon=True))
                workers[-1].start()
                theirs.close()
        if meanwhile is not None:
            meanwhile()
        measured = _in_step(job, pipes, progress)
        ended = True
        return measured
    except (EOFError, BrokenPipeError):
        return None
    finally:
        for pipe in pipes:
            pipe.close()
        for worker in workers:
            if not ended:
                worker.terminate()
            worker.join(timeout=10)


def _in_step(job: Job, pipes: list[Any], progress: Callable[[int], None] | None) -> Measured | None:
    """Lead the workers through both steps; None where something is wrong with the files."""
    joined: list[Joined] = [_answer(pipe, "joined", progress) for pipe in pipes]
    strays, tables = [one.strays for one in joined], [one.table for one in joined]
    distinct = _rise([one.span for one in joined])
    for part, pipe in enumerate(pipes):
        pipe.send(([one for one in strays if one.part != part], tables, distinct))
    repeated = not distinct and _in_two([_answer(pipe, "hashes", None) for pipe in pipes])
    partials: list[Partial] = [_answer(pipe, "settled", None) for pipe in pipes]
    if repeated or any(partial.flaw_count for partial in partials):
        return None
    if job.wide:
        if sum(one.placed for one in joined) < partials[0].traces:
            return None  # some belong to no question; one process finds out which
        partials[1:] = [partial._replace(traces=0) for partial in partials[1:]]
    return _merge(partials, strays, job.most_offenders)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C back: no worker is started unnoticed, and workers inherit the block, so that only we are told."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _answer(pipe: Any, wanted: str, progress: Callable[[int], None] | None) -> Any:
    """The next answer of a worker; EOFError where it failed or was killed."""
    while True:
        kind, value = pipe.recv()
        if kind == "failed":
            raise EOFError
        if kind == "out of order":
            raise OutOfOrderError
        if kind == wanted:
            return value
        if progress is not None:
            progress(value)


def _rise(spans: list[tuple[str, str] | None]) -> bool:
    """Whether the ids rise strictly from part to part, so that none can stand in two."""
    known = [span for span in spans if span is not None]
    return len(known) == len(spans) and all(one[1] < other[0] for one, other in pairwise(known))


def _in_two(hashes: list[Ints]) -> bool:
    """Whether an id may stand in more than one part (equal hashes; one process then looks closely)."""
    seen = set(hashes[0])
    for more in hashes[1:]:
        if not seen.isdisjoint(more):
            return True
        if more is not hashes[-1]:
            seen.update(more)
    return False


def _orphans(strays: list[Strays], partials: list[Partial]) -> tuple[int, list[str]]:
    """Traces that no part could place: how many, and the first few of their ids."""
    count = 0
    names: set[str] = set()
    for one in strays:
        masks = [partial.claimed[one.part] for partial in partials if one.part in partial.claimed]
        left = [qid for qid, *claims in zip(one.qids, *masks, strict=True) if not any(claims)]
        count += len(left) + sum(one.earlier.get(qid, 0) for qid in left)
        names.update(sorted(left)[:ORPHANS_SHOWN])
    return count, sorted(names)[:ORPHANS_SHOWN]


def _merge(partials: list[Partial], strays: list[Strays], most: int) -> Measured:
    tally: Tally = Counter()
    notes: dict[int, list[Note]] = {}
    flags: Ints = array("Q")
    qids: list[str] = []
    watched: dict[str, int] = {}
    for partial in partials:
        tally.update(partial.tally)
        for mark, some in partial.notes.items():
            notes[mark] = (notes.get(mark, []) + some)[:PLACES]
        flags.extend(partial.flags)
        qids.extend(partial.qids)
        watched.update(partial.watched)
    orphans, orphan_ids = _orphans(strays, partials)
    return Measured(
        tally=tally,
        traces=sum(partial.traces for partial in partials),
        traces_replaced=sum(partial.replaced for partial in partials),
        orphans=orphans,
        orphan_ids=orphan_ids,
        flaws=[flaw for partial in partials for flaw in partial.flaws],
        flaw_count=sum(partial.flaw_count for partial in partials),
        notes=notes,
        offenders=sorted(one for partial in partials for one in partial.offenders)[:most],
        watched=watched,
        qids=qids,
        flags=flags,
    )
