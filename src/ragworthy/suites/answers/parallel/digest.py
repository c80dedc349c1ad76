"""What one settled part contributes: its tally, the first places of every mark, its worst offenders."""

from array import array
from collections import Counter
from heapq import nsmallest
from itertools import compress, count, islice, repeat
from typing import Any

from ragworthy.collector import without_gc
from ragworthy.errors import MOST_PROBLEMS
from ragworthy.metrics.answers import label
from ragworthy.metrics.facts import answers as f
from ragworthy.metrics.facts.answers import said_error
from ragworthy.names import HARMLESS, SEVERITY
from ragworthy.records import NO_ANSWER, Ints, Trace
from ragworthy.report.part import some_of_each
from ragworthy.suites.answers.broken import broken_in
from ragworthy.suites.answers.parallel.job import Example, Offender, Partial, Tally, Watched
from ragworthy.suites.answers.parallel.shard import Shard
from ragworthy.suites.answers.wording import expected_text, missing_pieces
from ragworthy.suites.reading import Table

PLACES = 3
"""How many places are shown for each kind of mark."""
MOST = {f.NEAR_REFUSAL: 5}
"""Kinds of marks of which more are kept: their texts are shown."""
GOLD_MARKS = f.VACUOUS | f.SHORT_ENTRY | f.NOT_NFC | f.LETTERLESS
TRACE_MARKS = (
    f.NOT_EXACT | f.REFUSED_CITING | f.NEAR_REFUSAL | f.REPEATED | f.NO_RETRIEVED | f.UNKNOWN_CHUNK | f.ERRORED
)


def digest(shard: Shard, claimed: dict[int, bytearray], tables: list[Table], *, keep_rows: bool) -> Partial:
    """Sum up a part. A part with flaws only tells them: nothing of it is scored."""
    with without_gc():
        tally = _tally(shard)
        if any(flags & f.NESTED_CITATION for flags, _, _ in tally):
            _report_nested(shard, tables)
        if shard.flaw_count:
            return _partial(shard, tally, claimed)
        return _partial(shard, tally, claimed)._replace(
            examples=_examples(shard, {flags for flags, _, _ in tally}, tables),
            offenders=_offenders(shard, _worst(shard, tally), tables),
            watched=_watched(shard),
            qids=shard.qids if keep_rows else [],
            flags=shard.flags if keep_rows else array("Q"),
            compared=shard.compared if keep_rows else {},
            slices=shard.slices if keep_rows else [],
        )


def _tally(shard: Shard) -> Tally:
    sliced = shard.job.slice_fields and not shard.flaw_count
    if shard.compared:
        slices = shard.slices if sliced else repeat((), len(shard.flags))
        return Counter(zip(shard.flags, slices, map(shard.compared.get, range(len(shard.flags))), strict=True))
    if sliced:
        return Counter(zip(shard.flags, shard.slices, repeat(None, len(shard.flags)), strict=True))
    return Counter({(flags, (), None): count for flags, count in Counter(shard.flags).items()})


def _watched(shard: Shard) -> dict[str, Watched]:
    find = shard.ids.finder(len(shard.job.watch))
    rows = {qid: row for qid in shard.job.watch if (row := find(qid)) is not None}
    return {qid: Watched(shard.flags[row], shard.compared.get(row)) for qid, row in rows.items()}


def _partial(shard: Shard, tally: Tally, claimed: dict[int, bytearray]) -> Partial:
    flaws = [flaw for role in ("gold", "trace") for flaw in sorted(shard.flaws[role])][:MOST_PROBLEMS]
    return Partial(
        tally, shard.replaced, claimed, flaws, shard.flaw_count, {}, [], {}, [], array("Q"), shard.traces, {}, [],
        shard.told,
    )  # fmt: skip


def _report_nested(shard: Shard, tables: list[Table]) -> None:
    """Citation lists that hold objects or lists: the first ones with their place, in the order of the trace file."""
    rows = [row for row, flags in enumerate(shard.flags) if flags & f.NESTED_CITATION]
    first = sorted(map(shard.place_of, rows))[:MOST_PROBLEMS]
    found: list[tuple[int, str]] = []
    for part in sorted({part for part, _ in first}):
        numbers = [number for of, number in first if of == part]
        places = tables[part].places(shard.job.traces, part, shard.job.parts, numbers)
        for number, trace in tables[part].pick(shard.job.traces, part, shard.job.parts, numbers):
            cited = trace.answer_json.citations
            nth = next(i for i, one in enumerate(cited) if isinstance(one, (dict, list)))
            found.append((places[number], f"answer_json.citations[{nth}]"))
    shard.nested_flaws(found, len(rows))


def _rows(shard: Shard, wanted: set[int]) -> list[int]:
    """The rows whose flags are one of these sets, in gold order."""
    return list(compress(count(), map(wanted.__contains__, shard.flags))) if wanted else []


def _worst(shard: Shard, tally: Tally) -> list[tuple[int, str, int]]:
    """The first rows of each label by qid, as (severity, qid, row): some of every label are shown in the end."""
    alike: dict[int, set[Any]] = {}
    for one in {Watched(flags, compared) for flags, _, compared in tally}:
        what = label(f.unpack(one.flags, (), one.compared))
        if what not in HARMLESS:
            alike.setdefault(SEVERITY[what], set()).add(one if shard.compared else one.flags)
    known: list[Any] | Ints = shard.flags
    if shard.compared:
        known = list(zip(shard.flags, map(shard.compared.get, range(len(shard.flags))), strict=True))
    most = shard.job.most_offenders
    worst: list[tuple[int, str, int]] = []
    for severity, some in sorted(alike.items()):
        found = ((severity, shard.qids[row], row) for row in compress(count(), map(some.__contains__, known)))
        # Of ids that rise the first ones are known as soon as they are met.
        worst += islice(found, most) if shard.ids.rising else nsmallest(most, found)
    return some_of_each(worst, most, lambda one: one[0])


def _examples(shard: Shard, distinct: set[int], tables: list[Table]) -> dict[int, list[Example]]:
    """The first few questions, in gold order, that carry each mark."""
    marked: dict[int, list[int]] = {}
    for row in _rows(shard, {flags for flags in distinct if flags & (GOLD_MARKS | TRACE_MARKS)}):
        left = shard.flags[row] & (GOLD_MARKS | TRACE_MARKS)
        while left:
            mark = left & -left
            left ^= mark
            kept = marked.setdefault(mark, [])
            if len(kept) < MOST.get(mark, PLACES):
                kept.append(row)
    qids = shard.qids
    return {
        mark: [
            Example(qids[row], "gold", _gold_place(shard, row))
            if mark & GOLD_MARKS
            else Example(qids[row], "trace", _trace_place(shard, row, tables), _said(shard, row, mark, tables))
            for row in kept
        ]
        for mark, kept in marked.items()
    }


def _gold_place(shard: Shard, row: int) -> int:
    return shard.gold_table.places(shard.job.gold, shard.part, shard.job.parts, [row])[row]


def _trace_place(shard: Shard, row: int, tables: list[Table]) -> int:
    part, number = shard.place_of(row)
    return tables[part].places(shard.job.traces, part, shard.job.parts, [number])[number]


def _trace(shard: Shard, row: int, tables: list[Table]) -> Trace:
    part, number = shard.place_of(row)
    found: Trace = next(one for _, one in tables[part].pick(shard.job.traces, part, shard.job.parts, [number]))
    return found


def _said(shard: Shard, row: int, mark: int, tables: list[Table]) -> str:
    """What an errored trace says went wrong, and the claim of one that reads like a refusal; nothing for others."""
    if shard.flags[row] & f.ERRORED:
        return said_error(_trace(shard, row, tables))
    answer = _trace(shard, row, tables).answer_json if mark == f.NEAR_REFUSAL else None
    return (answer.claim or "") if answer is not None else ""


def _offenders(shard: Shard, worst: list[tuple[int, str, int]], tables: list[Table]) -> list[Offender]:
    golds = shard.gold_rows([row for _, _, row in worst])
    found: list[Offender] = []
    for severity, qid, row in worst:
        trace = _trace(shard, row, tables) if shard.flags[row] & f.PRESENT else Trace()
        answer, gold = trace.answer_json or NO_ANSWER, golds[row]
        found.append(
            Offender(
                severity,
                qid,
                shard.flags[row],
                answer.claim,
                answer.citations,
                trace.retrieved_ids or [],
                gold.gold_citations or [],
                gold.question,
                said_error(trace) if shard.flags[row] & f.ERRORED else None,
                shard.compared.get(row),
                expected_text(gold),
                missing_pieces(gold, trace, shard.job.rules) if shard.flags[row] & f.ALL_OF else None,
                broken_in(gold, trace, shard.job.rules, shard.flags[row]),
            )
        )
    return found
