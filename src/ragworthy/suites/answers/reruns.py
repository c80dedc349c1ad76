"""Several runs over the same gold set: they are pooled, none replaces another.

Counts add up, so every rate is over all answers of all runs. A question is in the rows once, with the mean over its
runs: it is one question however often it was asked, and intervals and proofs count it once.
"""

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from ragworthy.errors import policy_error
from ragworthy.files import shown_path
from ragworthy.load.sources import Source, open_source
from ragworthy.load.uri import Uri
from ragworthy.records import Ints
from ragworthy.report.part import Note, some_of_each
from ragworthy.report.show import plural
from ragworthy.suites.answers.parallel.digest import MOST, PLACES
from ragworthy.suites.answers.parallel.job import Example, Measured, Tally, Watched
from ragworthy.suites.opened import Opened
from ragworthy.suites.request import Request

if TYPE_CHECKING:
    from ragworthy.metrics.facts.compared import Compared

TRACE, RUNS = "trace", "runs"
"""The role of the first run, and how counts name how many there are; one run is not counted."""
ADDED = ("count", "sum")
"""Kinds of metrics that are added up and not divided by anything."""


class Rerun(NamedTuple):
    """What is kept of the questions in one more run."""

    role: str
    flags: Ints
    compared: "Mapping[int, Compared]"
    watched: Mapping[str, Watched]


def open_reruns(opened: Opened, request: Request) -> list[str]:
    """The roles of all runs, the further ones opened now; the same file twice is not a second run."""
    given = [request.get("traces"), *request.get("reruns", ())]
    names = [one.resolve() if isinstance(one, Path) else one.text for one in given if isinstance(one, (Path, Uri))]
    for nth, name in enumerate(names):
        if name in names[:nth]:
            message = f"expected every run once, got {shown_path(name) if isinstance(name, Path) else name} twice"
            raise policy_error("RW-P23", message, where=str(request.policy or ""), field="answers.traces")
    roles = [TRACE]
    for nth, path in enumerate(given[1:], start=1):
        role = f"{TRACE}:{nth}"
        known = request.engine.opened(role, path) if request.engine is not None else None
        roles.append(opened.enter(known or open_source(role, path)).role)
    return roles


def pooled(runs: Sequence[Measured], roles: Sequence[str], most: int) -> Measured:
    """All runs as one: what is counted is added up, and of each question the worst run is an offender."""
    tally: Tally = Counter()
    examples: dict[int, list[Example]] = {}
    for one, role in zip(runs, roles, strict=True):
        tally.update(one.tally)
        for mark, some in one.examples.items():
            placed = [each._replace(role=role) if each.role == TRACE else each for each in some]
            known = {(each.qid, each.offset, each.role) for each in examples.get(mark, ())}
            more = [each for each in placed if (each.qid, each.offset, each.role) not in known]
            examples[mark] = (examples.get(mark, []) + more)[: MOST.get(mark, PLACES)]
    worst = {one.qid: one for one in sorted((one for run in runs for one in run.offenders), reverse=True)}
    return runs[0]._replace(
        tally=tally,
        traces_replaced=sum(one.traces_replaced for one in runs),
        orphans=sum(one.orphans for one in runs),
        orphan_ids=sorted({name for one in runs for name in one.orphan_ids})[: len(max(runs, key=_orphans).orphan_ids)],
        examples=examples,
        offenders=some_of_each(sorted(worst.values()), most, lambda one: one.severity),
    )


def _orphans(run: Measured) -> int:
    return len(run.orphan_ids)


def rerun_of(role: str, run: Measured) -> Rerun:
    """What is kept of one more run."""
    return Rerun(role, run.flags or array("Q"), run.compared, run.watched)


def runs_in(counts: Mapping[str, int]) -> int:
    """How many runs there are.

    >>> runs_in({"gold": 12}), runs_in({"gold": 12, "runs": 3})
    (1, 3)
    """
    return counts.get(RUNS, 1)


def asked_in(counts: Mapping[str, int]) -> int:
    """How many answers there should be: one for every question in every run."""
    return counts["gold"] * runs_in(counts)


def together(kind: str, words: Iterable[Any]) -> Any:
    """What a metric says of a question over all its runs: the mean.

    Where some runs do not count for the metric (precision counts shipped answers), part and whole are both given, as
    means over all runs: so the questions of a set add up to the rate over all answers.

    >>> together("rate", [True, False, True])
    Fraction(2, 3)
    >>> together("rate", [True, None, True]), together("rate", [None, None])
    ((Fraction(2, 3), Fraction(2, 3)), None)
    """
    every = list(words)
    pairs = [word if isinstance(word, tuple) else (word, 1) for word in every if word is not None]
    if not pairs:
        return None
    part, whole = (Fraction(sum(map(Fraction, some)), len(every)) for some in zip(*pairs, strict=True))
    return part if kind in ADDED or whole == 1 else (part, whole)


def parts_of(words: Sequence[Any], runs: int) -> list[tuple[Any, Any] | None]:
    """The sum over the runs of each question, and how many of them are cases; equal words are one object mostly.

    >>> parts_of([Fraction(2, 3), None, (Fraction(1, 3), Fraction(2, 3))], 3)
    [(2, 3), None, (1, 2)]
    """
    known: dict[int, tuple[Any, Any] | None] = {id(None): None}
    for word in words:
        if id(word) not in known:
            part, whole = (one * runs for one in (word if isinstance(word, tuple) else (word, Fraction(1))))
            known[id(word)] = (int(part) if part.denominator == 1 else part, int(whole))
    return [known[id(word)] for word in words]


class Copy(NamedTuple):
    """A run that holds what an earlier one holds, so that it says nothing new."""

    role: str
    of: str


def copies(opened: Opened, runs: Mapping[str, Measured]) -> list[Copy]:
    """The runs that repeat an earlier one; only those that come to the same numbers are read once more."""
    first: dict[str, str] = {}
    found = []
    for role, one in runs.items():
        if sum(one.tally == other.tally for other in runs.values()) > 1:
            earlier = first.setdefault(_content(opened[role]), role)
            if earlier != role:
                found.append(Copy(role, earlier))
    return found


def _content(source: Source) -> str:
    """A hash of all records, whatever their order and however their JSON is spelled."""
    lines = (line for block in source.blocks() for line in block.data.splitlines() if line.strip())
    return hashlib.sha256(b"".join(sorted(map(_record, lines)))).hexdigest()


def _record(line: bytes) -> bytes:
    try:
        line = msgspec.json.encode(msgspec.json.decode(line), order="sorted")
    except (msgspec.DecodeError, RecursionError):  # nested too deeply in a field that nobody reads
        line = line.strip()
    return hashlib.sha256(line).digest()


def copied(opened: Opened, found: Sequence[Copy]) -> Note:
    """That some runs are not runs of their own."""
    same = ", ".join(f"{opened[one.role].label} is {opened[one.of].label}" for one in found[:3])
    runs = plural(len(found), "run repeats another: it holds", "runs repeat others: they hold")
    return Note("RW-W118", len(found), f"{runs} what another one holds: {same}")
