"""Votes on answers: read from files, or given on traces by the validators that come with the program."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from typing import Any, NamedTuple, TypeVar

import msgspec

from ragworthy.errors import DataError, Problem, data_error
from ragworthy.load.decode import Decoder, Explain, Found, Item, explain_by_type, read_items
from ragworthy.load.gold import name_of
from ragworthy.load.memory import as_lines
from ragworthy.load.sources import Source
from ragworthy.metrics.facts.arbitration import LABELS, RENAMED
from ragworthy.metrics.facts.audits import record_of
from ragworthy.metrics.facts.raters import fixes_of, rating_of
from ragworthy.records import Gold, LabelRow, Mark, Pair, Rating, Vote
from ragworthy.suites.reading import NAMELESS
from ragworthy.suites.slices import Slice
from ragworthy.text import described

Voice = TypeVar("Voice", Pair, Rating, Mark, LabelRow)
Key = TypeVar("Key")
Damage = Callable[[Any], Any] | None
"""What a selftest does to every record."""


SEVERAL = ("raters", "operators")
"""The forms in which several people vote, and not two validators."""


class Asked(NamedTuple):
    """What only votes on traces have: a gold set."""

    questions: Mapping[str, Gold]
    """The gold questions by id, in gold order."""
    slices: Mapping[str, tuple[Slice, ...]]
    missing: Sequence[str] = ()
    """Questions without a trace; the validators abstain there."""
    errored: Sequence[str] = ()
    """Questions whose trace is an error, or holds no answer."""
    orphans: Sequence[str] = ()
    """Traces that belong to no question."""
    unchecked: int = 0
    """Gold items with constraints that nobody looked at."""
    unruled: int = 0
    """Those with constraints that are checked and that no rule knows."""


class Votes(NamedTuple):
    """What was read; which lists are filled depends on the form."""

    records: Mapping[str, int]
    """How many records each file holds, by its role."""
    pairs: Sequence[Pair] = ()
    ratings: Sequence[Rating] = ()
    marks: Sequence[Mark] = ()
    audits: Sequence[Mark] = ()
    """Second looks at some of these."""
    stale: Sequence[str] = ()
    """What of them was drawn from another file."""
    replaced: int = 0
    """Records whose place a later one took."""
    renamed: int = 0
    """Labels of other programs that were taken for ours."""
    scholar_only: Sequence[str] = ()
    """The ids that only the scholar's file has."""
    auditor_only: Sequence[str] = ()
    asked: Asked | None = None
    docs: Mapping[str, str] = {}
    """The documents of chunks, where a corpus is given."""

    @property
    def unpaired(self) -> int:
        """How many ids only one of two files has."""
        return len(self.scholar_only) + len(self.auditor_only)


def pairs_of(votes: Votes) -> bytes:
    """The votes of two validators as the lines of a file of pairs."""
    records = [msgspec.to_builtins(pair) for pair in votes.pairs]
    return as_lines(({key: value for key, value in one.items() if value is not None} for one in records), "pairs")


# records


_NAMELESS = Found("RW-V01", "qid", NAMELESS)


def _explain(kind: type) -> Explain:
    """What does not fit a vote; all kinds of votes explain themselves in the same way."""
    return explain_by_type(kind, "RW-V02", _no_name, null="null", needed=_needed)


def _needed(field: str) -> str:
    return "true or false" if field.endswith("correct") else "a string"


def _no_name(value: dict[str, Any]) -> list[Found]:
    """That there is no id, or that it is not a text."""
    given = [(key, value[key]) for key in ("qid", "q_id") if value.get(key) is not None]
    if not given:
        return [_NAMELESS]
    return [
        Found("RW-V02", key, f"expected a string, got {described(one)}") for key, one in given if type(one) is not str
    ]


def _records(source: Source, kind: type[Voice], check: Callable[[Voice], list[Found]]) -> list[Voice]:
    """Every record of a file; raises what is wrong with it, line by line."""
    decoder = Decoder(kind, _explain(kind))
    found: list[Voice] = []
    problems: list[Problem] = []
    for number, line in source.numbered():
        if not line.strip():
            continue
        record = decoder.read(line, 0)
        faults = [Found(fault.code, fault.field, fault.message) for fault in decoder.faults]
        decoder.faults.clear()
        if record is not None:
            faults = check(record) if record.name else [_NAMELESS]
            found.append(record)
        where = source.at(number)
        problems += [Problem(fault.code, fault.message, where, fault.field) for fault in faults]
    if problems:
        raise DataError(problems)
    if not found:
        raise data_error("RW-F04", "expected votes, got none", where=source.given)
    return found


def _last(records: Iterable[Voice], key: Callable[[Voice], Key]) -> dict[Key, Voice]:
    """The last record of each, in the order of the first."""
    return {key(record): record for record in records}


def _name(record: Pair | LabelRow) -> str:
    return record.name


def damaged(records: Iterable[Any], damage: Damage) -> list[Any]:
    """The records as a selftest leaves them; those that it drops are gone."""
    if damage is None:
        return list(records)
    return [after for one in records if (after := damage(one)) is not None]


# labels of validators


def _check_label(label: str, field: str) -> list[Found]:
    """That a label is one of ours, or one that has the place of one."""
    if label in LABELS or label in RENAMED:
        return []
    close = get_close_matches(label.strip().upper().replace(" ", "_").replace("-", "_"), LABELS, n=1)
    hint = f" (did you mean {close[0]}?)" if close else ""
    return [Found("RW-V03", field, f"expected {', '.join(LABELS[:-1])} or {LABELS[-1]}, got {described(label)}{hint}")]


def _check_pair(pair: Pair) -> list[Found]:
    found = []
    for field, vote in (("scholar", pair.scholar), ("auditor", pair.auditor)):
        if vote is None:
            found.append(Found("RW-V02", field, "expected an object with a label, got nothing"))
        else:
            found += _check_label(vote.label, f"{field}.label")
    return found


def _check_row(row: LabelRow) -> list[Found]:
    return _check_label(row.label, "label")


def _ours(vote: Vote | LabelRow | None) -> Vote:
    """A vote with a label of ours."""
    label = vote.label if vote is not None else ""
    return Vote(RENAMED.get(label, label), vote.reason if vote is not None else None)


def read_pairs(source: Source, damage: Damage) -> Votes:
    """Pairs of votes from one file; of several with one id the last counts."""
    given = _records(source, Pair, _check_pair)
    kept = _last(given, _name)
    pairs = [
        msgspec.structs.replace(one, scholar=_ours(one.scholar), auditor=_ours(one.auditor)) for one in kept.values()
    ]
    labels = [vote.label for one in kept.values() for vote in (one.scholar, one.auditor) if vote is not None]
    return Votes(
        records={source.role: len(given)},
        pairs=damaged(pairs, damage),
        replaced=len(given) - len(kept),
        renamed=sum(label in RENAMED for label in labels),
    )


def read_files(scholar: Source, auditor: Source, damage: Damage) -> Votes:
    """Pairs from two files, joined by id and sorted by it; ids that only one file has are listed."""
    both = [_records(source, LabelRow, _check_row) for source in (scholar, auditor)]
    first, second = (_last(rows, _name) for rows in both)
    pairs = [
        Pair(qid=qid, scholar=_ours(first[qid]), auditor=_ours(second[qid])) for qid in sorted(first) if qid in second
    ]
    return Votes(
        records={scholar.role: len(both[0]), auditor.role: len(both[1])},
        pairs=damaged(pairs, damage),
        replaced=sum(map(len, both)) - len(first) - len(second),
        renamed=sum(row.label in RENAMED for rows in (first, second) for row in rows.values()),
        scholar_only=[qid for qid in sorted(first) if qid not in second],
        auditor_only=[qid for qid in sorted(second) if qid not in first],
    )


# raters and operators


def _check_rating(rating: Rating) -> list[Found]:
    texts = (("rater", rating.rater), ("label", rating.label))
    return [Found("RW-V02", field, 'expected a non-empty string, got ""') for field, text in texts if not text.strip()]


def _by_rater(rating: Rating) -> tuple[str, str]:
    return rating.name, rating.rater


def read_ratings(source: Source, damage: Damage) -> Votes:
    """The votes of several raters; of several on one item by one rater the last counts."""
    given = _records(source, Rating, _check_rating)
    kept = _last(given, _by_rater)
    ratings = damaged(kept.values(), damage)
    return Votes({source.role: len(given)}, ratings=ratings, replaced=len(given) - len(kept))


def _check_mark(mark: Mark, fixes: tuple[str, ...], known: frozenset[str] | None = None) -> list[Found]:
    found: list[Found] = []
    if known is not None and mark.name not in known:
        found.append(Found("RW-T11", "qid", f"expected a qid of the gold set, got {described(mark.name)}"))
    if not mark.operator.strip():
        found.append(Found("RW-V02", "operator", 'expected a non-empty string, got ""'))
    if mark.cost_usd is not None and mark.cost_usd < 0:
        found.append(Found("RW-V02", "cost_usd", f"expected a number from 0, got {mark.cost_usd:g}"))
    for fix in fixes_of(mark) if fixes else ():
        if fix not in fixes:
            found.append(Found("RW-V04", "fix", f"expected one of the fixes {', '.join(fixes)}, got {described(fix)}"))
    return found


def _by_operator(mark: Mark) -> tuple[str, str]:
    return mark.name, mark.operator


def read_marks(
    source: Source, fixes: tuple[str, ...], damage: Damage, audit: Source | None = None, gold: Source | None = None
) -> Votes:
    """The records of operators; where `fixes` are given, no record may name another one. With a gold set they are about
    its questions, and with a second look that is about them.
    """
    known = None if gold is None else frozenset(name_of(one.record) for one in _golds(gold))
    given = _records(source, Mark, partial(_check_mark, fixes=fixes, known=known))
    kept = _last(given, _by_operator)
    audits = [] if audit is None else list(_audits(audit, kept).values())
    marks: list[Mark] = damaged(kept.values(), damage)
    stale = [one.name for one in audits if one.records not in (None, source.sha256())]
    records = {"gold": len(known) if known is not None else None, source.role: len(given), "audit": len(audits) or None}
    return Votes(
        {role: count for role, count in records.items() if count is not None},
        ratings=damaged(map(rating_of, marks), damage),
        marks=marks,
        replaced=len(given) - len(kept),
        audits=damaged(audits, damage),
        stale=stale,
    )


def _golds(source: Source) -> list[Item]:
    items, problems = read_items(source, Gold)
    if problems:
        raise DataError(problems)
    return items


def _audits(source: Source, marks: Mapping[tuple[str, str], Mark]) -> dict[tuple[str, str], Mark]:
    """The second looks; each is about a record that is there and says what it said when it was drawn."""

    def check(one: Mark) -> list[Found]:
        found = _check_mark(one, ())
        if not (one.auditor or "").strip():
            found.append(Found("RW-V02", "auditor", NAMELESS))
        mark = marks.get(_by_operator(one))
        if mark is None:
            got = f"{one.name} by {one.operator}"
            found.append(Found("RW-V05", "qid", f"expected a record of the operators, got {got}"))
        elif one.record is not None and one.record != (now := record_of(mark)):
            got = f"{one.record[:12]}…"
            found.append(Found("RW-V05", "record", f"expected the record as it is now ({now[:12]}…), got {got}"))
        return found

    return _last(_records(source, Mark, check), _by_operator)
