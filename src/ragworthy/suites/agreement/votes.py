"""Votes on answers: of two validators, of several raters, of operators; and the traces that the validators vote on."""

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from functools import partial
from typing import Any, NamedTuple, TypeVar

import msgspec

from ragworthy.errors import DataError, Problem, data_error
from ragworthy.load.decode import Decoder, Item, numbered, read_items
from ragworthy.load.gold import name_of, problems_of
from ragworthy.load.sources import FileSource, Source
from ragworthy.metrics.facts import answers as f
from ragworthy.metrics.facts.arbitration import LABELS, RENAMED
from ragworthy.metrics.facts.raters import Mark, Rating
from ragworthy.records import Gold, Pair, Trace, Vote, explained
from ragworthy.text import described

Voice = TypeVar("Voice", Pair, Rating, Mark, "LabelRow")
Found = tuple[str, str, str]
Damage = Callable[[Any], Any] | None
"""What a selftest does to every record."""


class LabelRow(msgspec.Struct, frozen=True, gc=False):
    """What one validator says of one answer, in a file of its own."""

    label: str
    qid: str | None = None
    q_id: str | None = None
    reason: str | None = None

    @property
    def name(self) -> str:
        """The id, under whichever key it was written."""
        return self.qid or self.q_id or ""


class Votes(NamedTuple):
    """What was read; which lists are filled depends on the form."""

    inputs: list[tuple[Source, int]]
    """The files with how many records each holds."""
    pairs: Sequence[Pair] = ()
    ratings: Sequence[Rating] = ()
    marks: Sequence[Mark] = ()
    replaced: int = 0
    """Records whose place a later one took."""
    renamed: int = 0
    """Labels of other programs that were taken for ours."""
    unpaired: tuple[Sequence[str], Sequence[str]] = ((), ())
    """The ids that only the scholar's file has, and those that only the auditor's has."""

    def check_unchanged(self) -> None:
        """Raise when a file changed while it was being read."""
        for source, _ in self.inputs:
            if isinstance(source, FileSource):
                source.check_unchanged()


# records


class _Decoder(Decoder[Any]):
    """Decodes the lines of one kind of vote."""

    def __init__(self, kind: type) -> None:  # the kinds of votes explain themselves all in the same way
        self._one = msgspec.json.Decoder(kind).decode
        self._explain = partial(_explain, kind)
        self._mend = partial(msgspec.convert, type=kind)
        self.faults = []


_WORDS = {
    "str": "a string",
    "float": "a number",
    "int": "a whole number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


def _explain(kind: type, value: dict[str, Any]) -> list[Found]:
    """What does not fit, in plain words."""
    if found := _no_name(value):
        return found
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        field, message = explained(error)
        expected, _, got = message.removeprefix("expected ").partition(", got ")
        if expected == "a value":
            return [("RW-V02", field, f"expected {_needed(field)}, got nothing")]
        types = [_WORDS.get(one.strip(), one.strip()) for one in expected.split("|") if one.strip() != "null"]
        return [("RW-V02", field, f"expected {' or '.join(types)}, got {_WORDS.get(got, got)}")]
    return []


def _needed(field: str) -> str:
    return "true or false" if field.endswith("correct") else "a string"


def _no_name(value: dict[str, Any]) -> list[Found]:
    """That there is no id, or that it is not a text."""
    given = [(key, value[key]) for key in ("qid", "q_id") if value.get(key) is not None]
    if not given:
        return [("RW-V01", "qid", "expected a non-empty string, got nothing")]
    return [("RW-V02", key, f"expected a string, got {described(one)}") for key, one in given if type(one) is not str]


class _Line(NamedTuple):
    """A record and where it stands."""

    where: str
    record: Any


def _lines(source: Source, kind: type[Voice], check: Callable[[Voice], list[Found]]) -> list[_Line]:
    """Every record of a file; raises what is wrong with it, line by line."""
    decoder = _Decoder(kind)
    found: list[_Line] = []
    problems: list[Problem] = []
    for number, line in numbered(source):
        if not line.strip():
            continue
        where = f"{source.given}:{number}"
        record = decoder.read(line, 0)
        faults = [(fault.code, fault.field, fault.message) for fault in decoder.faults]
        decoder.faults.clear()
        if record is not None:
            faults = check(record) if record.name else [("RW-V01", "qid", "expected a non-empty string, got nothing")]
            found.append(_Line(where, record))
        problems += [Problem(code, message, where, field) for code, field, message in faults]
    if problems:
        raise DataError(problems)
    if not found:
        raise data_error("RW-F04", "expected votes, got none", where=source.given)
    return found


def _last(lines: Iterable[_Line], key: Callable[[Any], Any]) -> dict[Any, Any]:
    """The last record of each, in the order of the first."""
    return {key(line.record): line.record for line in lines}


def _name(record: Any) -> str:
    return str(record.name)


def _damaged(records: Iterable[Any], damage: Damage) -> list[Any]:
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
    return [("RW-V03", field, f"expected {', '.join(LABELS[:-1])} or {LABELS[-1]}, got {described(label)}{hint}")]


def _check_pair(pair: Pair) -> list[Found]:
    found = []
    for field, vote in (("scholar", pair.scholar), ("auditor", pair.auditor)):
        if vote is None:
            found.append(("RW-V02", field, "expected an object with a label, got nothing"))
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
    lines = _lines(source, Pair, _check_pair)
    kept = _last(lines, _name)
    pairs = [
        msgspec.structs.replace(one, scholar=_ours(one.scholar), auditor=_ours(one.auditor)) for one in kept.values()
    ]
    labels = [vote.label for one in kept.values() for vote in (one.scholar, one.auditor) if vote is not None]
    return Votes(
        inputs=[(source, len(lines))],
        pairs=_damaged(pairs, damage),
        replaced=len(lines) - len(kept),
        renamed=sum(label in RENAMED for label in labels),
    )


def read_files(scholar: Source, auditor: Source, damage: Damage) -> Votes:
    """Pairs from two files, joined by id and sorted by it; ids that only one file has are listed."""
    both = [_lines(source, LabelRow, _check_row) for source in (scholar, auditor)]
    first, second = (_last(lines, _name) for lines in both)
    pairs = [
        Pair(qid=qid, scholar=_ours(first[qid]), auditor=_ours(second[qid])) for qid in sorted(first) if qid in second
    ]
    return Votes(
        inputs=[(scholar, len(both[0])), (auditor, len(both[1]))],
        pairs=_damaged(pairs, damage),
        replaced=sum(map(len, both)) - len(first) - len(second),
        renamed=sum(row.label in RENAMED for rows in (first, second) for row in rows.values()),
        unpaired=(
            [qid for qid in sorted(first) if qid not in second],
            [qid for qid in sorted(second) if qid not in first],
        ),
    )


# raters and operators


def _check_rating(rating: Rating) -> list[Found]:
    texts = (("rater", rating.rater), ("label", rating.label))
    return [("RW-V02", field, 'expected a non-empty string, got ""') for field, text in texts if not text.strip()]


def _by_rater(rating: Rating) -> tuple[str, str]:
    return rating.name, rating.rater


def read_ratings(source: Source, damage: Damage) -> Votes:
    """The votes of several raters; of several on one item by one rater the last counts."""
    lines = _lines(source, Rating, _check_rating)
    kept = _last(lines, _by_rater)
    ratings = _damaged(kept.values(), damage)
    return Votes(inputs=[(source, len(lines))], ratings=ratings, replaced=len(lines) - len(kept))


def _check_mark(mark: Mark, fixes: tuple[str, ...]) -> list[Found]:
    found: list[Found] = []
    if not mark.operator.strip():
        found.append(("RW-V02", "operator", 'expected a non-empty string, got ""'))
    if mark.cost_usd is not None and mark.cost_usd < 0:
        found.append(("RW-V02", "cost_usd", f"expected a number from 0, got {mark.cost_usd:g}"))
    for fix in mark.fixes if fixes else ():
        if fix not in fixes:
            found.append(("RW-V04", "fix", f"expected one of the fixes {', '.join(fixes)}, got {described(fix)}"))
    return found


def _by_operator(mark: Mark) -> tuple[str, str]:
    return mark.name, mark.operator


def read_marks(source: Source, fixes: tuple[str, ...], damage: Damage) -> Votes:
    """The records of operators; where `fixes` are given, no record may name another one."""
    lines = _lines(source, Mark, partial(_check_mark, fixes=fixes))
    kept = _last(lines, _by_operator)
    ratings = _damaged([mark.rating for mark in kept.values()], damage)
    return Votes([(source, len(lines))], ratings=ratings, marks=list(kept.values()), replaced=len(lines) - len(kept))


# traces, for validators to vote on


class Asked(NamedTuple):
    """Gold questions with the last trace of each."""

    items: list[Item]
    """The gold questions, with all their fields."""
    traces: dict[str, Trace]
    records: int
    replaced: int
    orphans: list[str]
    """Traces that belong to no question."""


def read_asked(gold: Source, traces: Source, rules: f.Rules, *, allow_gold_errors: bool) -> Asked:
    """Gold and traces; raises what is wrong with them, gold first."""
    items, problems = read_items(gold, Gold)
    problems += problems_of(items, gold.given, rules, allow_errors=allow_gold_errors)
    given, wrong = read_items(traces, Trace)
    nameless = [item.line for item in given if not name_of(item.record)]
    missing = "expected a non-empty string, got nothing"
    problems += [*wrong, *(Problem("RW-T01", missing, f"{traces.given}:{line}", "qid") for line in nameless)]
    if problems:
        raise DataError(problems)
    if not items:
        raise data_error("RW-G05", "expected gold records, got none", where=gold.given)
    last = {name_of(item.record): item.record for item in given}
    there = {name_of(item.record) for item in items}
    orphans = [qid for qid in last if qid not in there]
    return Asked(items, last, len(given), len(given) - len(last), orphans)
