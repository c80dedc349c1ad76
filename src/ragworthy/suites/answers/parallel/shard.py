"""One part of the work: a slice of the gold set against the traces, in two steps.

Step one (`join`) reads both files side by side. Gold is read only as far ahead of the traces as they ask for, so
memory stays small when both are in the same order, and any order gives the same result. Files are cut at bytes, not at
questions, so near a cut the trace of a question can lie in another part than its gold item: such a trace is a stray. A
part cannot know whose it is, and may not wait for the others; it sets the stray aside by its number, without its text.

Step two (`settle`) begins when every part has told its strays. Each part claims those whose question it has. It also
looks again at questions with several traces, because the last line of a question wins, wherever it stands: only now
is it known which one that is. What nobody claims belongs to no question and is an orphan. Whatever has to be scored
again is read once more from its file, by block and number, which is rare and keeps step one free of records.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter, or_
from typing import TYPE_CHECKING, Any

import msgspec

from ragworthy.collector import without_gc
from ragworthy.errors import MOST_PROBLEMS
from ragworthy.load.gold import are_plain, wrong_id
from ragworthy.metrics.facts import answers as f
from ragworthy.records import Gold, Ints, Trace
from ragworthy.suites.answers.parallel.ids import Ids
from ragworthy.suites.answers.parallel.job import Job, Joined, Strays, Told, Wrong, lint_flaws, spoiled
from ragworthy.suites.reading import NAMELESS, Flaw, Table
from ragworthy.suites.slices import slicer

if TYPE_CHECKING:
    from ragworthy.metrics.facts.compared import Compared
    from ragworthy.suites.answers.parallel.references import References

LOOK_AHEAD = 256
"""How many gold items are read ahead of the traces."""
MOST_WAITING = 20_000
"""How many traces wait for their gold item before the rest of the gold set is read at once."""
_LINT_MASK = sum(f.LINT)
_QID = attrgetter("qid")
_NONE: Ints = array("q", [-1])


class OutOfOrderError(Exception):
    """The traces come in another order than the gold set, so that most belong to another part."""


class Shard:
    """One part, in two steps: `join`, then `settle` with what other parts could not place."""

    def __init__(self, job: Job, part: int) -> None:
        self.job = job
        self.part = part
        self.ids = Ids()
        self.qids = self.ids.all
        self.items: list[Gold | None] = []
        self.flags: Ints = array("Q")
        self.taken: Ints = array("q")
        """The number of the trace that was scored for each row; -1 where there was none."""
        self.origin: dict[int, tuple[int, int]] = {}
        """Rows whose last trace was found in the second step: its part and number."""
        self.compared: dict[int, Compared] = {}
        """What was found of each question with a reference, by its row."""
        self._held: References | None = None
        self._of: Ints = array("q")
        """In which part the trace of each row stands, where parts were read apart; empty where all are of this one."""
        self.slices: list[tuple[str, ...]] = []
        self.gold_table, self.trace_table = Table(), Table()
        self.told: Told = Counter()
        self.traces = 0
        self.replaced = 0
        self.flaws: dict[str, list[Flaw]] = {"gold": [], "trace": []}
        self.flaw_count = 0
        self._nameless: list[int] = []
        self._next = 0
        """The row after the last one scored: usually that of the next trace."""
        self._served: list[str] = []
        self._waiting: dict[str, tuple[int, Trace]] = {}
        self._late: dict[int, int] = {}
        self._strays: dict[str, int] = {}
        self._earlier: dict[str, int] = {}
        facts = f.trace_flags(job.rules)
        self._facts = facts if job.damage is None else spoiled(facts, job.damage)

    # step one

    def join(self, progress: Callable[[int], None] | None = None) -> Joined:
        """Score every trace of this part whose question is here, and set the others aside."""
        with without_gc():
            gold = self._gold_blocks()
            more, matched = not self.job.wide or self._read_all(gold), 0
            for records, first, size in self._trace_blocks():
                enough = matched + LOOK_AHEAD + len(records)
                while more and (self._waiting or len(self.items) < enough):
                    more = next(gold, False)
                    if len(self.items) >= enough:
                        break
                matched += self._serve()
                matched += self._match(records, first, may_wait=more)
                if len(self._waiting) > MOST_WAITING:
                    if self.job.parts > 1:
                        raise OutOfOrderError
                    more = self._read_all(gold)
                    matched += self._serve()
                    self._give_up()
                if progress is not None:
                    progress(size)
            self._read_all(gold)
            self._serve()
            self._give_up()
        strays = Strays(self.part, list(self._strays), array("q", self._strays.values()), self._earlier)
        self._strays = {}
        span = (self.qids[0], self.qids[-1]) if self.ids.rising and self.qids else None
        return Joined(strays, self.trace_table, span, matched + self.replaced, len(self.qids))

    def _read_all(self, gold: Iterator[bool]) -> bool:
        """Read the rest of the gold set, without what scoring no longer needs; nothing more is to come."""
        forget = msgspec.structs.force_setattr
        start = len(self.items)
        for _ in gold:
            for item in self.items[start:]:
                if item is not None:
                    forget(item, "question", None)
                    for name in ("gold_claim_substr", "gold_citations", "constraints"):
                        if not getattr(item, name):
                            forget(item, name, None)
            start = len(self.items)
        return False

    def _gold_blocks(self) -> Iterator[bool]:
        """Take in the gold set, a block at each step."""
        job, decoder = self.job, self.job.gold.decoder()
        sliced = slicer(job.slice_fields)
        gold_flags = f.gold_flags(job.rules)
        for block in job.gold.blocks(self.part, job.parts):
            start = len(self.items)
            self.gold_table.enter(block, start)
            records: list[Gold] = decoder.records(block)
            full = self._take_faults("gold", decoder)
            qids: list[str] = list(map(_QID, records))
            qids = qids if all(qids) else [gold.qid or gold.q_id or "" for gold in records]
            repeated = self.ids.enter(qids)
            if not self.ids.rising:
                if full:
                    self.flaw_count += repeated + ("" in qids and not self.ids.nameless)
                elif repeated or "" in qids:
                    self._gold_flaws(block, self._identity_flaws(qids, start), full)
            self.items += records
            if self._waiting:
                self._served += [qid for qid in qids if qid in self._waiting]
            flags = list(map(gold_flags, records))
            self.flags.extend(flags)
            self.taken += _NONE * len(records)
            if not are_plain(records) and any(gold.gold_reference is not None for gold in records):
                wrong = self._references().enter(records, start)
                self._gold_flaws(block, [Wrong(nth, *flaw) for nth, flaw in wrong], full)
            if sliced is not None:
                self.slices += sliced(block.data) if not self.flaw_count else [()] * len(records)
            if not job.allow_gold_errors and any([one & _LINT_MASK for one in {*flags}]):
                self._gold_flaws(block, lint_flaws(flags), full)
            yield True

    def _trace_blocks(self) -> Iterator[tuple[list[Trace], int, int]]:
        job, decoder = self.job, self.job.traces.decoder()
        for block in job.traces.blocks(0, 1) if job.wide else job.traces.blocks(self.part, job.parts):
            first = self.traces
            self.trace_table.enter(block, first)
            records: list[Trace] = decoder.records(block)
            full = self._take_faults("trace", decoder)
            self.traces += len(records)
            if job.told and not (job.wide and self.part):  # of a file that all parts read, one tells
                self.told.update(job.told(records, block.data))
            yield records, first, len(block.data)
            if self._nameless:
                offsets = [] if full else job.traces.offsets(block)
                places = [-1 if full else offsets[number - first] for number in self._nameless]
                for place in places:
                    self._flaw(Flaw("trace", place, "RW-T01", "qid", NAMELESS), full)
                self._nameless.clear()

    def _match(self, records: list[Trace], first: int, *, may_wait: bool) -> int:
        """Score the traces whose gold item has been read; the number of questions that got their first trace."""
        if self._in_order(records, first):
            return len(records)
        items, flags, taken, facts = self.items, self.flags, self.taken, self._facts
        find, compared, matched = self.ids.finder(len(records)), self.compared, 0
        for number, trace in enumerate(records, first):
            qid = trace.qid or trace.q_id
            row = find(qid)
            if row is None:
                self._set_aside(qid, number, trace, may_wait)
                continue
            gold = items[row]
            if gold is None:
                self._late[row] = number
                self.replaced += 1
                continue
            items[row] = None
            flags[row] |= facts(gold, trace)
            if row in compared:
                self._references().compare(row, gold, trace, flags[row])
            taken[row] = number
            self._next = row + 1
            matched += 1
        return matched

    def _in_order(self, records: list[Trace], first: int) -> bool:
        """Score a whole block at once when its questions are the next ones of the gold set, none scored before."""
        if not records or self._next >= len(self.qids):
            return False
        row = self._next
        qids: list[str | None] = list(map(_QID, records))
        qids = qids if all(qids) else [trace.qid or trace.q_id for trace in records]
        if self.qids[row] != qids[0]:
            found = self.ids.finder(1)(qids[0])
            if found is None:
                return False
            row = found
        end = row + len(records)
        golds = self.items[row:end]
        if self.qids[row:end] != qids or not all(golds):
            return False
        added = map(self._facts, golds, records)  # type: ignore[arg-type]  # none of them is None
        self.flags[row:end] = array("Q", map(or_, self.flags[row:end], added))
        if self.compared:
            self._references().compare_all(row, golds, records, self.flags)
        self.taken[row:end] = array("q", range(first, first + len(records)))
        self.items[row:end] = [None] * len(records)
        self._next = end
        return True

    def _set_aside(self, qid: str | None, number: int, trace: Trace, may_wait: bool) -> None:
        if not qid:
            self._nameless.append(number)
            return
        if self.job.wide:
            return
        if qid in self._waiting or qid in self._strays:
            self._earlier[qid] = self._earlier.get(qid, 0) + 1
        if may_wait:
            self._waiting[qid] = (number, trace)
        else:
            self._strays[qid] = number

    def _serve(self) -> int:
        """Score the waiting traces whose gold item has come."""
        here, self._served = self._served, []
        matched = 0
        for qid in here:
            if qid in self._waiting:
                number, trace = self._waiting.pop(qid)
                matched += self._match([trace], number, may_wait=False)
                self.replaced += self._earlier.pop(qid, 0)
        return matched

    def _give_up(self) -> None:
        """Nothing more of the gold set is to come in this part."""
        # What was set aside at once came later than what has waited: of one question the last one counts.
        self._strays = {qid: number for qid, (number, _) in self._waiting.items()} | self._strays
        self._waiting.clear()

    # parts that were read apart

    def read_gold(self) -> None:
        """Read the gold set alone."""
        self._read_all(self._gold_blocks())
        self._of = array("q", [self.part]) * len(self.qids)

    def take(self, part: int, rows: Sequence[int], flags: Sequence[int], numbers: Sequence[int]) -> None:
        """Take in what a later part shows of some questions."""
        for row, all_of, number in zip(rows, flags, numbers, strict=True):
            self.replaced += self.taken[row] >= 0
            self.flags[row], self.taken[row], self._of[row] = all_of, number, part
            self.items[row] = None

    # step two

    def settle(self, others: list[Strays], tables: list[Table]) -> dict[int, bytearray]:
        """Place what other parts could not and let the last trace of each question win; tells what was placed."""
        with without_gc():
            self.origin.update((row, (self.part, number)) for row, number in self._late.items())
            claimed = {strays.part: self._claim(strays) for strays in others}
            by_part: dict[int, dict[int, int]] = {}
            for row, (part, number) in self.origin.items():
                by_part.setdefault(part, {})[number] = row
            for part, rows in by_part.items():
                self._score_again(part, rows, tables[part])
        return claimed

    def _claim(self, strays: Strays) -> bytearray:
        mine = bytearray(len(strays.qids))
        find = self.ids.finder(len(strays.qids))
        for i, qid in enumerate(strays.qids):
            row = find(qid)
            if row is None:
                continue
            mine[i] = 1
            self.replaced += strays.earlier.get(qid, 0)
            part, number = self.place_of(row)
            if number >= 0:
                self.replaced += 1
            if number < 0 or (strays.part, strays.numbers[i]) > (part, number):
                self.origin[row] = (strays.part, strays.numbers[i])
        return mine

    def hashes(self) -> Ints:
        """The hashes of all ids, to see whether one is in another part too."""
        return array("q", map(hash, self.qids))

    def place_of(self, row: int) -> tuple[int, int]:
        """Part and number of the trace that counts for a row; the number is -1 where there is none."""
        of = self._of[row] if self._of else self.part
        return self.origin.get(row) or (of, self.taken[row])

    def _score_again(self, part: int, rows: dict[int, int], table: Table) -> None:
        """Score the questions whose last trace was not the one scored in step one."""
        again = [row for row in rows.values() if self.items[row] is None]
        golds = self.gold_rows(again)
        gold_flags, facts = f.gold_flags(self.job.rules), self._facts
        for number, trace in table.pick(self.job.traces, part, self.job.parts, rows):
            row = rows[number]
            gold = self.items[row]
            if gold is not None:
                self.flags[row] |= facts(gold, trace)
            else:
                gold = golds[row]
                self.flags[row] = gold_flags(gold) | facts(gold, trace)
            if row in self.compared:
                self._references().compare(row, gold, trace, self.flags[row])

    def gold_rows(self, rows: list[int]) -> dict[int, Gold]:
        """Gold items once more; those already scored were let go to save memory."""
        return dict(self.gold_table.pick(self.job.gold, self.part, self.job.parts, rows))

    def _references(self) -> "References":
        if self._held is None:
            from ragworthy.suites.answers.parallel.references import References

            self._held = References(self.job, self.compared)
        return self._held

    # problems: the first few of each file are kept with their place, all are counted

    def _flaw(self, flaw: Flaw, full: bool) -> None:
        self.flaw_count += 1
        if not full:
            self.flaws[flaw.role].append(flaw)

    def _take_faults(self, role: str, decoder: Any) -> bool:
        """Note what the decoder could not read; tells whether earlier blocks gave enough problems to show."""
        self.flaws[role] = sorted(self.flaws[role])[:MOST_PROBLEMS]
        full = len(self.flaws[role]) == MOST_PROBLEMS
        for fault in decoder.faults:
            self._flaw(Flaw(role, *fault), full)
        decoder.faults.clear()
        return full

    def _gold_flaws(self, block: Any, found: list[Wrong], full: bool) -> None:
        """Note problems of gold items."""
        offsets = [] if full else self.job.gold.offsets(block)
        for one in found:
            place = -1 if full else offsets[one.nth]
            self._flaw(Flaw("gold", place, one.code, one.field, one.message), full)

    def _identity_flaws(self, qids: list[str], start: int) -> list[Wrong]:
        """Ids that are empty or repeated, where they are repeated; the rare case costs a second reading."""
        earlier = self.gold_table.pick(self.job.gold, self.part, self.job.parts, range(start))
        seen = {item.qid or item.q_id for _, item in earlier}
        found: list[Wrong] = []
        for nth, qid in enumerate(qids):
            if wrong := wrong_id(qid, seen):
                found.append(Wrong(nth, *wrong))
            seen.add(qid)
        return found

    def nested_flaws(self, places: list[tuple[int, str]], count: int) -> None:
        """Note citation lists that hold objects, which only the scored traces show: (place, what was found)."""
        self.flaw_count += count
        for place, field in places:
            self.flaws["trace"].append(
                Flaw("trace", place, "RW-T02", field, "expected a string, got an object or a list")
            )
