"""One part of the work: a slice of the gold set against the traces.

Gold is read only as far ahead of the traces as they ask for, so memory stays small when both files are in the same
order, and any order gives the same result. A trace that belongs to another part, and a second trace for a question
already scored, is set aside by number and settled in a second step, because the last line of a question wins.
"""

import gc
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import msgspec

from ragworthy.errors import MOST_PROBLEMS
from ragworthy.metrics import facts as f
from ragworthy.metrics.answers import label
from ragworthy.names import HARMLESS, SEVERITY
from ragworthy.records import NO_ANSWER, Flaw, Gold, Ints, Note, Offender, Tally, Trace

LOOK_AHEAD = 2048
MOST_WAITING = 20_000
PLACES = 3

Damage = Callable[[Gold, Trace], Trace | None]


class Reader(NamedTuple):
    """How the engine reads: given by the caller, so that it does not depend on where lines come from."""

    blocks: Callable[[int, int], Iterator[Any]]
    block_at: Callable[[int, int, int, int], Any]
    decoder: Callable[[], Any]
    offset_of: Callable[[Any, int], int]


class Job(NamedTuple):
    """Everything that decides the result, the same for every part."""

    gold: Reader
    traces: Reader
    rules: f.Rules
    parts: int = 1
    allow_gold_errors: bool = False
    slice_fields: tuple[str, ...] = ()
    watch: frozenset[str] = frozenset()
    keep_rows: bool = False
    most_offenders: int = 10
    damage: Damage | None = None


class Stray(NamedTuple):
    """Traces of one question that this part could not place: the last one's number, and how many there were."""

    qid: str
    part: int
    number: int
    count: int


class Tables(NamedTuple):
    """Where the blocks of one part begin: byte offset, length, number of the first record."""

    offsets: Ints
    lengths: Ints
    firsts: Ints


class Partial(NamedTuple):
    """What one part contributes; exactly mergeable."""

    tally: Tally
    duplicates: int
    claimed: list[int]
    flaws: list[Flaw]
    flaw_count: int
    notes: dict[int, list[Note]]
    offenders: list[Offender]
    watched: dict[str, int]
    qids: list[str]
    flags: Ints
    traces: int


GOLD_MARKS = f.VACUOUS | f.SHORT_ENTRY | f.NOT_NFC
TRACE_MARKS = (
    f.NOT_EXACT
    | f.REFUSED_CITING
    | f.NEAR_REFUSAL
    | f.REPEATED
    | f.NO_RETRIEVED
    | f.UNKNOWN_CHUNK
    | f.ERRORED
)
_LINT_MASK = sum(f.LINT)


class Shard:
    """One part, in two steps: `join`, then `settle` with what other parts could not place."""

    def __init__(self, job: Job, part: int) -> None:
        self.job = job
        self.part = part
        self.index: dict[str, int] = {}
        self.items: list[Gold | None] = []
        self.flags: Ints = array("Q")
        self.taken: Ints = array("q")
        self.slices: list[tuple[str, ...]] = []
        self.gold_table = Tables(array("q"), array("q"), array("q"))
        self.trace_table = Tables(array("q"), array("q"), array("q"))
        self.flaws: list[Flaw] = []
        self.flaw_count = 0
        self.traces = 0
        self.late: dict[int, Stray] = {}
        self.origin: dict[int, Stray] = {}
        self.strays: dict[str, Stray] = {}
        self._facts = f.trace_flags(job.rules)

    # step one

    def join(self, progress: Callable[[int], None] | None = None) -> list[Stray]:
        """Score every trace of this part whose question is here; return those whose question is not."""
        with _without_gc():
            gold = self._gold_blocks()
            waiting: dict[str, tuple[Trace, Stray]] = {}
            more, matched = True, 0
            for records, first, read in self._trace_blocks():
                enough = matched + LOOK_AHEAD + len(records)
                while more and (waiting or len(self.items) < enough):
                    more = next(gold, False)
                    if len(self.items) >= enough:
                        break
                matched += self._serve(waiting)
                matched += self._match(records, first, waiting if more else None)
                if len(waiting) > MOST_WAITING:
                    more = any([False for _ in gold])
                    matched += self._serve(waiting)
                    self._give_up(waiting)
                if progress is not None:
                    progress(read)
            for _ in gold:
                continue
            self._serve(waiting)
            self._give_up(waiting)
        return list(self.strays.values())

    def _gold_blocks(self) -> Iterator[bool]:
        """Take in the gold set, a block at each step."""
        job, decoder = self.job, self.job.gold.decoder()
        sliced = _slicer(job.slice_fields)
        keep_short = job.rules.short_words
        for block in job.gold.blocks(self.part, job.parts):
            start = len(self.items)
            _enter(self.gold_table, block, start)
            records: list[Gold] = decoder.records(block)
            self._take_faults("gold", decoder)
            qids = [gold.qid or gold.q_id or "" for gold in records]
            self.index.update(zip(qids, range(start, start + len(qids)), strict=True))
            self.items += records
            flags = [f.gold_flags(gold, short_words=keep_short) for gold in records]
            self.flags.extend(flags)
            self.taken.extend([-1] * len(records))
            if sliced is not None:
                self.slices += sliced(block.data)
            if len(self.index) != len(self.items) or "" in self.index:
                self._identity_flaws(block, qids, start)
            if not job.allow_gold_errors and any([one & _LINT_MASK for one in flags]):
                self._lint_flaws(block, flags)
            yield True

    def _trace_blocks(self) -> Iterator[tuple[list[Trace], int, int]]:
        job, decoder = self.job, self.job.traces.decoder()
        first = 0
        for block in job.traces.blocks(self.part, job.parts):
            _enter(self.trace_table, block, first)
            records: list[Trace] = decoder.records(block)
            self._take_faults("trace", decoder)
            yield records, first, len(block.data)
            first += len(records)
            self.traces = first

    def _match(
        self, records: list[Trace], number: int, waiting: dict[str, tuple[Trace, Stray]] | None
    ) -> int:
        """Score the traces whose gold item has been read; the number of questions that got their first trace."""
        index, items, flags, taken, facts = self.index, self.items, self.flags, self.taken, self._facts
        damage = self.job.damage
        matched = 0
        for number, trace in enumerate(records, number):  # noqa: B020 - the numbers go on from the block's first
            qid = trace.qid or trace.q_id
            row = index.get(qid) if qid else None
            if row is None:
                self._set_aside(qid, number, trace, waiting)
                continue
            gold = items[row]
            if gold is None:
                self._late(row, Stray(qid or "", self.part, number, 1))
                continue
            items[row] = None
            if damage is None:
                flags[row] |= facts(gold, trace)
            else:
                spoiled = damage(gold, trace)
                if spoiled is not None:
                    flags[row] |= facts(gold, spoiled)
            taken[row] = number
            matched += 1
        return matched

    def _set_aside(
        self, qid: str | None, number: int, trace: Trace, waiting: dict[str, tuple[Trace, Stray]] | None
    ) -> None:
        if not qid:
            self._trace_flaw(number, "RW-T01", "qid", "expected a non-empty string, got nothing")
        elif waiting is None:
            self._stray(Stray(qid, self.part, number, 1))
        else:
            earlier = waiting.get(qid)
            count = 1 if earlier is None else earlier[1].count + 1
            waiting[qid] = (trace, Stray(qid, self.part, number, count))

    def _serve(self, waiting: dict[str, tuple[Trace, Stray]]) -> int:
        """Score the waiting traces whose gold item has come."""
        matched = 0
        for qid in [qid for qid in waiting if qid in self.index]:
            trace, stray = waiting.pop(qid)
            row = self.index[qid]
            matched += self._match([trace], stray.number, None)
            if stray.count > 1:
                self._replaced_before(row, stray)
        return matched

    def _replaced_before(self, row: int, stray: Stray) -> None:
        """Count the traces of a waiting question that a later one replaced before it was scored."""
        known = self.late.get(row)
        if known is None:
            self.late[row] = Stray(stray.qid, stray.part, -1, stray.count - 1)
        else:
            self.late[row] = known._replace(count=known.count + stray.count - 1)

    def _give_up(self, waiting: dict[str, tuple[Trace, Stray]]) -> None:
        for _, stray in waiting.values():
            self._stray(stray)
        waiting.clear()

    def _stray(self, stray: Stray) -> None:
        earlier = self.strays.get(stray.qid)
        self.strays[stray.qid] = (
            stray if earlier is None else stray._replace(count=stray.count + earlier.count)
        )

    def _late(self, row: int, stray: Stray) -> None:
        earlier = self.late.get(row)
        self.late[row] = stray if earlier is None else stray._replace(count=earlier.count + 1)

    # step two

    def settle(self, strays: list[Stray], tables: list[Tables]) -> Partial:
        """Place what other parts could not, let the last trace of each question win, and sum up."""
        if self.flaw_count:
            tally = Counter({(flags, ()): count for flags, count in Counter(self.flags).items()})
            return self._partial([], 0)._replace(tally=tally)
        with _without_gc():
            claimed = [i for i, stray in enumerate(strays) if stray.qid in self.index]
            duplicates = self._choose([strays[i] for i in claimed])
            if self.origin:
                self._score_again(tables)
            return self._sum_up(claimed, duplicates, tables)

    def _choose(self, strays: list[Stray]) -> int:
        """Decide which trace of each question is the last; the number of those it replaces."""
        duplicates = 0
        for row, stray in self.late.items():
            duplicates += stray.count
            if stray.number > self.taken[row]:
                self.origin[row] = stray
        for stray in strays:
            row = self.index[stray.qid]
            known = self.origin.get(row)
            part, number = (self.part, self.taken[row]) if known is None else (known.part, known.number)
            duplicates += stray.count - (number < 0)
            if number < 0 or (stray.part, stray.number) > (part, number):
                self.origin[row] = stray
        return duplicates

    def _score_again(self, tables: list[Tables]) -> None:
        """Score the questions whose last trace was not the one scored in step one."""
        golds = self._gold_rows(self.origin)
        by_part: dict[int, list[int]] = {}
        for stray in self.origin.values():
            by_part.setdefault(stray.part, []).append(stray.number)
        for part, numbers in by_part.items():
            wanted = {(s.part, s.number): row for row, s in self.origin.items() if s.part == part}
            for number, trace, _ in _picked(self.job.traces, self.job.parts, part, tables[part], numbers):
                row = wanted[part, number]
                gold = golds[row]
                spoiled = trace if self.job.damage is None else self.job.damage(gold, trace)
                base = f.gold_flags(gold, short_words=self.job.rules.short_words)
                self.flags[row] = base if spoiled is None else base | self._facts(gold, spoiled)

    def _gold_rows(self, rows: Iterable[int]) -> dict[int, Gold]:
        """Gold items once more; those already scored were let go to save memory."""
        job = self.job
        return {row: gold for row, gold, _ in _picked(job.gold, job.parts, self.part, self.gold_table, rows)}

    # summing up

    def _sum_up(self, claimed: list[int], duplicates: int, tables: list[Tables]) -> Partial:
        job = self.job
        slices: Iterable[tuple[str, ...]] = self.slices if job.slice_fields else ()
        if job.slice_fields:
            tally: Tally = Counter(zip(self.flags, slices, strict=True))
        else:
            tally = Counter({(flags, ()): count for flags, count in Counter(self.flags).items()})
        marks = GOLD_MARKS | TRACE_MARKS | f.NESTED_CITATION
        distinct = {flags for flags, _ in tally}
        severity = {
            flags: SEVERITY[what]
            for flags in distinct
            if (what := label(f.unpack(flags, ()))) not in HARMLESS
        }
        telling = {flags for flags in distinct if flags & marks or flags in severity}
        rows = [row for row, flags in enumerate(self.flags) if flags in telling] if telling else []
        notes = self._notes(rows, tables)
        nested = [row for row in rows if self.flags[row] & f.NESTED_CITATION]
        for row in nested:
            message = "expected a list of strings, got a list holding objects"
            self._flaw(
                Flaw("trace", self._trace_offset(row, tables), "RW-T02", "answer_json.citations", message)
            )
        qids = list(self.index) if job.keep_rows or rows else []
        worst = sorted(
            (severity[self.flags[row]], qids[row], row) for row in rows if self.flags[row] in severity
        )
        return self._partial(claimed, duplicates)._replace(
            tally=tally,
            notes=notes,
            offenders=self._offenders(worst[: job.most_offenders], tables),
            watched={qid: self.flags[self.index[qid]] for qid in job.watch if qid in self.index},
            qids=qids if job.keep_rows else [],
            flags=self.flags if job.keep_rows else array("Q"),
        )

    def _partial(self, claimed: list[int], duplicates: int) -> Partial:
        flaws = sorted(self.flaws)[:MOST_PROBLEMS]
        return Partial(
            Counter(), duplicates, claimed, flaws, self.flaw_count, {}, [], {}, [], array("Q"), self.traces
        )

    def _notes(self, rows: list[int], tables: list[Tables]) -> dict[int, list[Note]]:
        """The first few questions, in gold order, that carry each mark."""
        examples: dict[int, list[int]] = {}
        for row in rows:
            left = self.flags[row] & (GOLD_MARKS | TRACE_MARKS)
            while left:
                mark = left & -left
                left ^= mark
                kept = examples.setdefault(mark, [])
                if len(kept) < PLACES:
                    kept.append(row)
        if not examples:
            return {}
        qids = list(self.index)
        return {
            mark: [
                Note(qids[row], "gold", self._gold_offset(row))
                if mark & GOLD_MARKS
                else Note(qids[row], "trace", self._trace_offset(row, tables))
                for row in kept
            ]
            for mark, kept in examples.items()
        }

    def _gold_offset(self, row: int) -> int:
        job = self.job
        return next(
            o for _, _, o in _picked(job.gold, job.parts, self.part, self.gold_table, [row], placed=True)
        )

    def _trace_place(self, row: int) -> tuple[int, int]:
        stray = self.origin.get(row)
        return (self.part, self.taken[row]) if stray is None else (stray.part, stray.number)

    def _trace_offset(self, row: int, tables: list[Tables]) -> int:
        job = self.job
        part, number = self._trace_place(row)
        return next(
            o for _, _, o in _picked(job.traces, job.parts, part, tables[part], [number], placed=True)
        )

    def _offenders(self, worst: list[tuple[int, str, int]], tables: list[Tables]) -> list[Offender]:
        golds = self._gold_rows([row for _, _, row in worst])
        found: list[Offender] = []
        for severity, qid, row in worst:
            part, number = self._trace_place(row)
            trace = Trace()
            if self.flags[row] & f.PRESENT:
                picked = _picked(self.job.traces, self.job.parts, part, tables[part], [number])
                trace = next(one for _, one, _ in picked)
            answer, gold = trace.answer_json or NO_ANSWER, golds[row]
            found.append(
                Offender(
                    severity,
                    qid,
                    self.flags[row],
                    answer.claim,
                    answer.citations,
                    trace.retrieved_ids or [],
                    gold.gold_citations or [],
                    gold.question,
                )
            )
        return found

    # problems

    def _flaw(self, flaw: Flaw) -> None:
        self.flaw_count += 1
        if len(self.flaws) < MOST_PROBLEMS * 2:
            self.flaws.append(flaw)

    def _take_faults(self, role: str, decoder: Any) -> None:
        for fault in decoder.faults:
            self._flaw(Flaw(role, *fault))
        decoder.faults.clear()

    def _identity_flaws(self, block: Any, qids: list[str], start: int) -> None:
        """Report ids that are empty or repeated; each is reported once, where it is repeated."""
        seen = {qid for qid, row in self.index.items() if row < start}
        for nth, qid in enumerate(qids):
            if not qid:
                offset = self.job.gold.offset_of(block, nth)
                self._flaw(Flaw("gold", offset, "RW-G01", "qid", "expected a non-empty string, got nothing"))
            elif qid in seen or self.index[qid] != start + nth:
                offset = self.job.gold.offset_of(block, nth)
                self._flaw(Flaw("gold", offset, "RW-G02", "qid", f'expected a unique id, got "{qid}" again'))
            seen.add(qid)

    def _lint_flaws(self, block: Any, flags: list[int]) -> None:
        for nth, one in enumerate(flags):
            for bit, (code, field, message) in f.LINT.items():
                if one & bit:
                    self._flaw(Flaw("gold", self.job.gold.offset_of(block, nth), code, field, message))

    def _trace_flaw(self, number: int, code: str, field: str, message: str) -> None:
        table = self.trace_table
        at = bisect_right(table.firsts, number) - 1
        block = self.job.traces.block_at(table.offsets[at], table.lengths[at], self.part, self.job.parts)
        self._flaw(
            Flaw("trace", self.job.traces.offset_of(block, number - table.firsts[at]), code, field, message)
        )


def _enter(table: Tables, block: Any, first: int) -> None:
    table.offsets.append(block.offset)
    table.lengths.append(len(block.data))
    table.firsts.append(first)


def _picked(
    reader: Reader, parts: int, part: int, table: Tables, numbers: Iterable[int], *, placed: bool = False
) -> Iterator[tuple[int, Any, int]]:
    """Records once more, by number: (number, record, byte offset where asked for)."""
    by_block: dict[int, list[int]] = {}
    for number in numbers:
        by_block.setdefault(bisect_right(table.firsts, number) - 1, []).append(number)
    decoder = reader.decoder()
    for at, wanted in sorted(by_block.items()):
        block = reader.block_at(table.offsets[at], table.lengths[at], part, parts)
        records = decoder.records(block)
        for number in wanted:
            nth = number - table.firsts[at]
            yield number, records[nth], reader.offset_of(block, nth) if placed else -1


def _slicer(fields: tuple[str, ...]) -> Callable[[bytes], list[tuple[str, ...]]] | None:
    """A function from a block to the slices each of its gold items belongs to."""
    if not fields:
        return None
    kind = msgspec.defstruct("Sliced", [(f"f{i}", Any, None) for i in range(len(fields))],
                             rename=dict(zip((f"f{i}" for i in range(len(fields))), fields, strict=True)))  # fmt: skip
    decode = msgspec.json.Decoder(kind).decode_lines

    def slices(data: bytes) -> list[tuple[str, ...]]:
        return [
            tuple(
                f"{field}={value}"
                for i, field in enumerate(fields)
                for value in _slice_values(getattr(record, f"f{i}"))
            )
            for record in decode(data)
        ]

    return slices


def _slice_values(value: Any) -> list[str]:
    if value is None or isinstance(value, dict):
        return []
    if isinstance(value, list):
        return sorted({text for one in value for text in _slice_values(one)})
    if isinstance(value, bool):
        return ["true" if value else "false"]
    return [str(value)]


@contextmanager
def _without_gc() -> Iterator[None]:
    """Millions of small objects without cycles: the collector would only walk over them again and again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
