"""Live logs as the minutes of both sides."""

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from ragworthy.errors import data_error
from ragworthy.live.minutes import Minute
from ragworthy.live.shapes import Live
from ragworthy.monitor.intake import Intake, Keep, Options
from ragworthy.monitor.logs import found
from ragworthy.monitor.problems import FUTURE, LATE, MEANS, NO_QUESTION, ODD, UNFINISHED, UNREADABLE, UNTIMED
from ragworthy.monitor.reading import closing, now, opened
from ragworthy.report.show import plural
from ragworthy.rollout.stages import Plan

UNCOUNTED = (UNREADABLE, UNTIMED, FUTURE, LATE, ODD, UNFINISHED, NO_QUESTION)
"""What keeps a record, or a number of it, from being counted."""
MOST = Fraction(1, 100)
"""Of the records of a side that may have such problems."""


class Logs(NamedTuple):
    """Where live records are."""

    both: tuple[str, ...] = ()
    live: tuple[str, ...] = ()
    canary: tuple[str, ...] = ()


class Sides(NamedTuple):
    """The minutes of the live side and of the canary, and what was wrong with records, by its name."""

    live: list[Minute]
    canary: list[Minute]
    problems: dict[str, int]
    doubt: str = ""
    """Why too many records could not be counted to say anything of a side."""

    @property
    def end(self) -> int | None:
        """The last minute that has a record."""
        return max((one.at for one in (*self.live, *self.canary)), default=None)


def sides(logs: Logs, plan: Plan) -> Sides:
    """Both sides of logs. In a log of both the build of a record says whose it is."""
    problems: dict[str, int] = {}
    made, doubts = [], []
    for name, build, alone in (("live side", plan.live, logs.live), ("canary", plan.shadow, logs.canary)):
        amiss: Counter[str] = Counter()
        mine = [*_read(alone, None, problems, amiss), *_read(logs.both, _of(build), problems, amiss)]
        made.append(sorted(mine, key=lambda one: one.at))
        doubts.append(_doubt(name, sum(one.records for one in mine), amiss))
    told = {name: problems[name] for name in MEANS if name in problems}
    return Sides(made[0], made[1], told, next((one for one in reversed(doubts) if one), ""))


def _doubt(name: str, counted: int, amiss: Mapping[str, int]) -> str:
    """Records that cannot be counted may be the bad ones. Nobody can say whose an unreadable line of both is: it counts
    against either.
    """
    counts = {name: amiss[name] for name in UNCOUNTED if amiss.get(name)}
    bad = sum(counts.values())
    if bad <= MOST * (counted + bad):
        return ""
    listed = ", ".join(f"{count} {name}" for name, count in counts.items())
    return f"{bad} of {counted + bad} records of the {name} have problems ({listed})"


def _read(paths: tuple[str, ...], keep: Keep | None, problems: dict[str, int], amiss: Counter[str]) -> list[Minute]:
    if not paths:
        return []
    intake = Intake(Options(keep=keep))
    minutes = list(closing(opened(intake, found(paths), whole=True), now()))
    if not intake.records and (lines := intake.problems.counts.get(UNREADABLE)):
        message = f"expected live records, got a log without one ({plural(lines, 'unreadable line')})"
        raise data_error("RW-O01", message, where=paths[0])
    amiss.update(intake.problems.counts)
    for name, count in intake.problems.counts.items():
        problems[name] = max(problems.get(name, 0), count) if keep else problems.get(name, 0) + count
    return minutes


def _of(build: str) -> Keep:
    def mine(record: Live) -> bool:
        return record.context is not None and str(record.context.build) == build

    return mine
