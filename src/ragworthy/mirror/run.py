"""A mirror from one end to the other: choose, ask, hold both sides against each other, write."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragworthy.errors import data_error
from ragworthy.files import write_whole
from ragworthy.mirror import arms, compare, report
from ragworthy.mirror import gold as daily
from ragworthy.mirror.answers import Answer, as_record, of_entry, of_record
from ragworthy.mirror.distances import AUTO, Scale, measured, scale_of
from ragworthy.mirror.evidence import Matcher, Shelf
from ragworthy.mirror.questions import Question, Sample, sample
from ragworthy.runner.contract import Target, about
from ragworthy.runner.run import Progress

LIVE, SHADOW, ROWS = "live.jsonl", "shadow.jsonl", "questions.jsonl"
FILES = (LIVE, SHADOW, ROWS)


class Asked(NamedTuple):
    """What is mirrored, to whom, and how."""

    questions: tuple[str, ...]
    """Logs, gold sets or lists of texts."""
    share: Fraction
    shadow: Target
    live: Target | None
    """None where the answers of the live side are in the log."""
    out: Path
    live_corpus: Path | None = None
    shadow_corpus: Path | None = None
    builds: tuple[str, str] = ("live", "shadow")
    delta_s: str = AUTO
    lock: Path | None = None
    """Whose calibration says what distances mean."""
    knobs: Mapping[str, Any] = {}
    limit: int | None = None
    uncited: Fraction = Fraction(0)
    """The share of answers that may break the rule to cite first."""
    gold: daily.Asked | None = None


class Mirrored(NamedTuple):
    """How it ended."""

    body: dict[str, Any]
    """The report; empty where somebody stopped it."""
    finished: bool


def mirror(given: Asked, limits: arms.Limits, *, resume: bool, told: Callable[[Progress], None] | None) -> Mirrored:
    """Mirror a share of the questions.

    The live side is asked first, and to its end, before the shadow gets its first question: nothing that the shadow
    does can slow it down.
    """
    found = sample(given.questions, given.share, given.limit)
    if not found.questions:
        message = f"expected questions to mirror, got none of {found.records} records"
        raise data_error("RW-Z06", message, where=", ".join(given.questions))
    shelves = Shelf(given.live_corpus), Shelf(given.shadow_corpus)
    scale = scale_of(given.delta_s, given.lock, shelves)  # what is wrong with it is told before anything is asked
    judged = live_side = None
    left = limits
    if given.gold is not None:
        judged = daily.judged(given.gold, given.out / "gold", left, resume=resume, told=told)
        left = arms.less(left, judged.sent, judged.spent)
        if not judged.finished:
            return Mirrored({}, False)
    asks = arms.planned(found.questions, given.knobs)
    if given.live is None:
        live = [_logged(one) for one in found.questions]
    else:
        live_side = arms.ask(asks, given.live, given.knobs, given.out / "live", left, resume=resume, told=told)
        left = arms.less(left, live_side.sent, live_side.spent)
        if not live_side.finished:
            return Mirrored({}, False)
        live = _answers(live_side, given.live, given.builds[0])
    shadow_side = arms.ask(asks, given.shadow, given.knobs, given.out / "shadow", left, resume=resume, told=told)
    if not shadow_side.finished:
        return Mirrored({}, False)
    shadow = _answers(shadow_side, given.shadow, given.builds[1])
    sides = report.Sides(found, live_side, shadow_side, judged)
    return Mirrored(_held(given, sides, (live, shadow), shelves, scale), True)


def _logged(question: Question) -> Answer | None:
    answer = of_record(question.record) if question.record is not None else None
    return answer if answer is not None and answer.there else None


def _answers(side: arms.Side, target: Target, build: str) -> list[Answer | None]:
    index_hash = about(target).get("index_hash")
    return [None if one is None else of_entry(one, index_hash, build) for one in side.entries]


def _held(
    given: Asked,
    sides: report.Sides,
    answered: tuple[list[Answer | None], list[Answer | None]],
    shelves: tuple[Shelf, Shelf],
    scale: Scale | None,
) -> dict[str, Any]:
    """Both sides compared with each other, written as records and as a report."""
    questions = sides.sample.questions
    told: dict[str, Any] = {}
    made = []
    for answers, shelf in zip(answered, shelves, strict=True):
        for one in answers:
            shelf.learn(one.texts if one is not None else {})
    for name, answers, shelf, build in zip(("live", "shadow"), answered, shelves, given.builds, strict=True):
        near = measured(list(zip(questions, answers, strict=True)), shelf, scale)
        marked, states, flips = compare.marked(list(zip(questions, near.answers, strict=True)), shelf)
        told[name] = report.Told(near.source, near.without_text, flips)
        made.append(marked)
        _write(given.out / f"{name}.jsonl", _records(sides.sample, marked, states, build))
    pairs = [compare.Pair(*one) for one in zip(questions, *made, strict=True)]
    matcher = Matcher(*shelves)
    rows = compare.rows(pairs, matcher, shelves)
    _write(given.out / ROWS, (msgspec.json.encode(one._asdict()) for one in rows))
    return report.body(
        given.share, (given.live.name if given.live is not None else None, given.shadow.name), sides, pairs,
        report.Held(rows, matcher, shelves, told), given.uncited,
    )  # fmt: skip


def _records(found: Sample, answers: list[Answer | None], states: Mapping[int, list[str]], build: str) -> Any:
    for nth, (question, answer) in enumerate(zip(found.questions, answers, strict=True)):
        if answer is not None:
            yield msgspec.json.encode(as_record(question, answer, build, states.get(nth, [])))


def _write(path: Path, lines: Any) -> None:
    write_whole(path, b"".join(line + b"\n" for line in lines))


__all__ = ["FILES", "Asked", "Mirrored", "Question", "mirror"]
