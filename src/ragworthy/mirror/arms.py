"""One side of a mirror: a target is asked what was chosen, each question once, and goes on after any end."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from ragworthy.errors import DataError
from ragworthy.ids import config_id
from ragworthy.mirror.pace import Pace
from ragworthy.mirror.questions import Question
from ragworthy.runner import plan as planning
from ragworthy.runner.contract import Target, about
from ragworthy.runner.drive import Asked, Driver
from ragworthy.runner.ended import Header
from ragworthy.runner.journal import Entry, Journal, entry
from ragworthy.runner.results import Counts, counted, kept
from ragworthy.runner.run import Progress, check_knobs, check_knobs_of


class Limits(NamedTuple):
    """How a target is asked, and how much."""

    concurrency: int = 4
    timeout: float = 60.0
    rate: float | None = None
    requests: int | None = None
    spend: Fraction | None = None
    price: Fraction | None = None
    """Of a thousand tokens."""
    keep_going: bool = False


class Side(NamedTuple):
    """What a target replied; None where it was not asked."""

    entries: tuple[Entry | None, ...]
    counts: Counts
    sent: int
    over: str
    """Which budget is used up."""
    finished: bool
    """Whether nobody stopped it."""
    left_running: int = 0
    spent: Fraction = Fraction(0)


def less(limits: Limits, sent: int, spent: Fraction) -> Limits:
    """What is left of a budget."""
    requests = None if limits.requests is None else max(0, limits.requests - sent)
    spend = None if limits.spend is None else max(Fraction(0), limits.spend - spent)
    return limits._replace(requests=requests, spend=spend)


def planned(questions: Sequence[Question], knobs: Mapping[str, Any]) -> tuple[planning.Planned, ...]:
    """What is asked of mirrored questions."""
    own = dict(knobs)
    return tuple(planning.planned(one.qid, one.text, one.paraphrase, "none", one.seed, own) for one in questions)


def ask(
    asks: Sequence[planning.Planned],
    target: Target,
    knobs: Mapping[str, Any],
    folder: Path,
    limits: Limits,
    *,
    resume: bool,
    told: Callable[[Progress], None] | None = None,
) -> Side:
    """Ask everything that has no reply yet."""
    check_knobs(target.name, dict(knobs))
    check_knobs_of(target, dict(knobs))
    known = about(target)
    fingerprint = planning.fingerprint(asks, (), knobs)
    header = Header(
        target=target.name,
        gold_sha256=fingerprint,
        config_id=config_id({**knobs, **known}),
        plan_sha256=fingerprint,
        asks=len(asks),
        about=known,
    )
    with kept(folder) as out:
        journal = Journal(out, header, resume=resume)
        pace = Pace(out, rate=limits.rate, requests=limits.requests, spend=limits.spend, price=limits.price)
        try:
            finished, left = _drive(asks, target, journal, pace, limits, told)
            entries = tuple(journal.read(n) if n in journal.done else None for n in range(len(asks)))
            return Side(entries, counted(journal), pace.sent, pace.over, finished, left, pace.spent)
        finally:
            pace.close()
            journal.close()


def _drive(
    asks: Sequence[planning.Planned],
    target: Target,
    journal: Journal,
    pace: Pace,
    limits: Limits,
    told: Callable[[Progress], None] | None,
) -> tuple[bool, int]:
    for n in sorted(journal.done):
        one = journal.read(n)
        pace.know(one.fields.get("usage"), errored=one.error is not None)
    left = [(n, one.ask) for n, one in enumerate(asks) if n not in journal.done]
    done = errors = 0

    def tell(stopping: bool = False) -> None:
        if told is not None:
            told(Progress(len(asks) - len(left) + done, len(asks), done, errors, stopping))

    def record(asked: Asked) -> None:
        nonlocal done, errors
        journal.add(entry(asked.n, asked.reply, asked.e2e_ms, asked.started))
        pace.take(asked.reply.fields.get("usage"), errored=asked.reply.error is not None)
        done += 1
        errors += asked.reply.error is not None
        tell()

    if not left:
        return True, 0
    driver = Driver(
        target,
        record,
        concurrency=limits.concurrency,
        timeout=limits.timeout,
        stopping=lambda: tell(stopping=True),
        keep_going=limits.keep_going,
        pace=pace,
    )
    try:
        driver.run(left, len(left))
    except DataError as error:
        safe = f"  {journal.safe()} in {journal.path}" if journal.done else ""
        raise DataError(error.problems, error.total, f"{error.advice}\n{safe}".strip("\n")) from None
    return done == len(left) or bool(pace.over), driver.left_running
