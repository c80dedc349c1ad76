"""All parts together: one process or several, the same result."""

import functools
from array import array
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ragworthy.records import Ints
from ragworthy.report.part import some_of_each
from ragworthy.suites.answers.parallel.digest import MOST, PLACES, digest
from ragworthy.suites.answers.parallel.job import Example, Job, Joined, Measured, Partial, Strays, Tally, Told, Watched
from ragworthy.suites.answers.parallel.shard import OutOfOrderError, Shard
from ragworthy.suites.fork import UnexpectedError, answer, tell, workers

if TYPE_CHECKING:
    from ragworthy.metrics.facts.compared import Compared

ORPHANS_SHOWN = 3


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
        return together or measure(job._replace(parts=1), progress, meanwhile)
    if meanwhile is not None:
        meanwhile()
    shard = Shard(job, 0)
    joined = shard.join(progress)
    tables = [joined.table]
    partial = digest(shard, shard.settle([], tables), tables, keep_rows=keeps(job, joined.questions))
    return merge([partial], [joined.strays], job.most_offenders)


def keeps(job: Job, questions: int) -> bool:
    """Whether flags are kept question by question: where they are wanted, and where there are few enough."""
    return job.keep_rows or questions <= job.up_to


def _worker(job: Job, report: bool, part: int, pipe: Any) -> None:
    """One part in a process of its own, in step with the others."""
    try:
        shard = Shard(job, part)
        pipe.send(("joined", shard.join((lambda size: pipe.send(("progress", size))) if report else None)))
        others, tables, distinct, keep_rows = pipe.recv()
        if not distinct:
            pipe.send(("hashes", shard.hashes()))
        pipe.send(("settled", digest(shard, shard.settle(others, tables), tables, keep_rows=keep_rows)))
    except OutOfOrderError:
        tell(pipe, "out of order")


def _in_processes(
    job: Job, progress: Callable[[int], None] | None, meanwhile: Callable[[], None] | None
) -> Measured | None:
    """The merged result of one process a part; None where something is wrong with the files or with a process."""
    try:
        with workers(functools.partial(_worker, job, progress is not None), job.parts) as pipes:
            if meanwhile is not None:
                meanwhile()
            return _in_step(job, pipes, progress)
    except (EOFError, OSError):  # a process died, or the system has no room for another one
        return None


def _in_step(job: Job, pipes: list[Any], progress: Callable[[int], None] | None) -> Measured | None:
    """Lead the workers through both steps; None where something is wrong with the files."""
    joined: list[Joined] = [_answer(pipe, "joined", progress) for pipe in pipes]
    strays, tables = [one.strays for one in joined], [one.table for one in joined]
    distinct = _rise([one.span for one in joined])
    keep_rows = keeps(job, sum(one.questions for one in joined))
    for part, pipe in enumerate(pipes):
        pipe.send(
            (
                [one for one in strays if one.part != part],
                tables,
                distinct,
                keep_rows,
            )
        )
    repeated = not distinct and _in_two([_answer(pipe, "hashes", None) for pipe in pipes])
    partials: list[Partial] = [_answer(pipe, "settled", None) for pipe in pipes]
    if repeated or any(partial.flaw_count for partial in partials):
        return None
    if job.wide:
        if sum(one.placed for one in joined) < partials[0].traces:
            return None  # some belong to no question; one process finds out which
        partials[1:] = [partial._replace(traces=0) for partial in partials[1:]]
    return merge(partials, strays, job.most_offenders)


def _answer(pipe: Any, wanted: str, progress: Callable[[int], None] | None) -> Any:
    try:
        return answer(pipe, wanted, progress)
    except UnexpectedError:
        raise OutOfOrderError from None


def _rise(spans: list[tuple[str, str] | None]) -> bool:
    """Whether the ids rise strictly from part to part, so that none can be in two."""
    known = [span for span in spans if span is not None]
    return len(known) == len(spans) and all(one[1] < other[0] for one, other in pairwise(known))


def _in_two(hashes: list[Ints]) -> bool:
    """Whether an id may be in more than one part (equal hashes; one process then looks closely)."""
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


def merge(partials: list[Partial], strays: list[Strays], most: int) -> Measured:
    tally: Tally = Counter()
    examples: dict[int, list[Example]] = {}
    flags: Ints = array("Q")
    qids: list[str] = []
    watched: dict[str, Watched] = {}
    compared: dict[int, Compared] = {}
    slices: list[tuple[str, ...]] = []
    told: Told = Counter()
    for partial in partials:
        told.update(partial.told)
        compared.update((len(qids) + row, one) for row, one in partial.compared.items())
        tally.update(partial.tally)
        for mark, some in partial.examples.items():
            examples[mark] = (examples.get(mark, []) + some)[: MOST.get(mark, PLACES)]
        flags.extend(partial.flags)
        qids.extend(partial.qids)
        slices.extend(partial.slices)
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
        examples=examples,
        offenders=some_of_each(
            sorted(one for partial in partials for one in partial.offenders), most, lambda one: one.severity
        ),
        watched=watched,
        qids=qids,
        flags=flags,
        compared=compared,
        slices=slices,
        told=told,
    )
