"""The refusal threshold of the built-in pipeline, chosen on a part of the gold set that is then not scored."""

import hashlib
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from ragworthy.errors import MOST_PROBLEMS, DataError, Problem, usage_error
from ragworthy.files import write_whole
from ragworthy.ids import stable
from ragworthy.load.decode import items_of
from ragworthy.load.gold import name_of, problems_of
from ragworthy.load.sources import Source, open_source
from ragworthy.metrics.facts import answers as f
from ragworthy.metrics.facts.pieces import contains
from ragworthy.pipeline import Pipeline
from ragworthy.pipeline.knobs import Knobs
from ragworthy.pipeline.tuning import MARK, NAME, dump, tunable
from ragworthy.records import Gold
from ragworthy.text import fold

TUNING, SCORED = "gold.tuning.jsonl", "gold.scored.jsonl"
SHARE = Fraction(3, 10)
OBJECTIVE = "right answers - wrong answers; a refusal counts 0; among equals the higher threshold"
_STEPS = 20
"""The curve has this many steps from 0 to 1."""


class Case(NamedTuple):
    """A question of the gold set and the line it is on."""

    line: int
    raw: bytes
    gold: Gold

    @property
    def qid(self) -> str:
        """Its id, under whichever key it was written."""
        return name_of(self.gold)


class Outcome(NamedTuple):
    """What the pipeline would have answered: with which score, and whether that is right."""

    score: float
    right: bool
    answerable: bool


class Point(NamedTuple):
    """What a threshold leads to."""

    threshold: float
    answered: int
    right: int
    under: int
    """Unanswerable questions that are answered."""
    over: int
    """Answerable questions that are refused."""

    @property
    def net(self) -> int:
        """Right answers less wrong ones."""
        return 2 * self.right - self.answered

    def table(self) -> dict[str, Any]:
        """As it is written."""
        precision = {"precision": round(self.right / self.answered, 6)} if self.answered else {}
        return {**self._asdict(), "net": self.net, **precision}


class Tuned(NamedTuple):
    """What was chosen, and on what."""

    chosen: Point
    tuning: int
    scored: int
    unanswerable: int
    folder: Path


def tune(
    index: Path,
    gold: Path,
    out: Path,
    *,
    share: Fraction = SHARE,
    seed: int = 0,
    knobs: Mapping[str, Any] | None = None,
    short_words: bool = True,
) -> Tuned:
    """Split the gold set, choose the threshold on one part, and write both parts and the pipeline's settings."""
    chosen_knobs = _tunable(knobs or {})
    source = open_source("gold", gold)
    pipeline = Pipeline(index)
    cases = read_cases(source, f.Rules(short_words=short_words))
    _check_citations(cases, pipeline, source)
    tuning, scored = split(cases, share, seed)
    outcomes = [judge(pipeline, case.gold, knobs or {}, short_words=short_words) for case in tuning]
    chosen = best(outcomes)
    origin = {"index_hash": pipeline.index_hash, "gold_sha256": source.sha256()}
    tables = {
        "split": {"seed": seed, "share": float(share), "tuning": len(tuning), "scored": len(scored)},
        "tuning": {
            "objective": OBJECTIVE,
            "unanswerable": _unanswerable(tuning),
            "short_substr": "word" if short_words else "reject",
            **chosen.table(),
        },
        "curve": {"points": [one.table() for one in curve(outcomes)]},
    }
    _check_out(out)
    write_whole(out / TUNING, b"".join(case.raw for case in tuning))
    write_whole(out / SCORED, b"".join(case.raw for case in scored))
    write_whole(out / NAME, dump(chosen.threshold, chosen_knobs, origin, tables))
    return Tuned(chosen, len(tuning), len(scored), _unanswerable(tuning), out)


def _check_out(out: Path) -> None:
    """Refuse a folder with files of these names that no earlier tuning wrote."""
    ours = (out / NAME).is_file() and (out / NAME).read_bytes().startswith(MARK)
    there = [out / name for name in (NAME, TUNING, SCORED) if (out / name).exists()]
    if there and not ours:
        raise usage_error(f"{there[0]}: expected a new folder, got one with this file", code="RW-U03")


def _tunable(knobs: Mapping[str, Any]) -> Knobs:
    try:
        return tunable(knobs)
    except ValueError as error:
        raise usage_error(f"--knob: {error}") from None


def _unanswerable(cases: Sequence[Case]) -> int:
    return sum(not case.gold.answerable for case in cases)


def read_cases(source: Source, rules: f.Rules) -> list[Case]:
    """Every question with its line as it stands; one without a text cannot be asked.

    What no answer can get right is refused as everywhere: it would teach the wrong threshold.
    """
    lines = list(source.numbered())
    items, problems = items_of(lines, source.at, Gold)
    problems = problems or problems_of(items, source.at, rules)
    if not problems:
        problems = [
            Problem("RW-G16", "expected a text to ask, got nothing", source.at(item.line), "question")
            for item in items
            if not (item.record.question or "").strip()
        ]
    if problems:
        raise DataError(problems[:MOST_PROBLEMS], len(problems))
    raw = dict(lines)
    return [Case(item.line, raw[item.line].rstrip(b"\n") + b"\n", item.record) for item in items]


def _check_citations(cases: Sequence[Case], pipeline: Pipeline, source: Source) -> None:
    """Refuse a gold set whose evidence has other ids than the index."""
    problems = [
        Problem("RW-G13", f'expected a block of the index, got "{name}"', source.at(case.line), "gold_citations")
        for case in cases
        for name in case.gold.gold_citations or ()
        if not pipeline.holds(name)
    ]
    if problems:
        raise DataError(problems[:MOST_PROBLEMS], len(problems))


def split(cases: Sequence[Case], share: Fraction, seed: int) -> tuple[list[Case], list[Case]]:
    """The questions to tune on and those to score, both in the order of the file.

    Of the answerable and of the unanswerable ones the same share is drawn: those with the lowest hashes of the seed
    and the qid, whatever their order in the file.
    """
    if not 0 < share < 1:
        raise ValueError(f"expected a share between 0 and 1, got {float(share):g}")
    drawn: set[str] = set()
    for answerable in (True, False):
        group = sorted((_place(case.qid, seed), case.qid) for case in cases if case.gold.answerable is answerable)
        drawn.update(qid for _, qid in group[: round(share * len(group))])
    tuning = [case for case in cases if case.qid in drawn]
    scored = [case for case in cases if case.qid not in drawn]
    if not any(case.gold.answerable for case in tuning) or not scored:
        message = f"expected enough questions for two parts, with answerable ones in the first, got {len(cases)}"
        raise usage_error(message)
    return tuning, scored


def _place(qid: str, seed: int) -> str:
    return hashlib.sha256(f"{seed}\n{qid}".encode()).hexdigest()


def judge(pipeline: Pipeline, gold: Gold, knobs: Mapping[str, Any], *, short_words: bool) -> Outcome:
    """The answer that the pipeline would give if it never refused; right: the gold text, from gold evidence."""
    attempt = pipeline.attempt(gold.question or "", knobs)
    evidence = set(map(stable, gold.gold_citations or ()))
    cited = any(stable(name) in evidence for name in attempt.citations)
    right = gold.answerable and cited and contains(gold, fold(attempt.claim), short_words=short_words)
    return Outcome(attempt.score, right, gold.answerable)


def point(outcomes: Sequence[Outcome], threshold: float) -> Point:
    """What a threshold leads to.

    >>> point([Outcome(0.9, True, True), Outcome(0.8, False, False), Outcome(0.1, False, True)], 0.5)
    Point(threshold=0.5, answered=2, right=1, under=1, over=1)
    """
    answered = [one for one in outcomes if one.score >= threshold]
    under = sum(not one.answerable for one in answered)
    over = sum(one.answerable and one.score < threshold for one in outcomes)
    return Point(threshold, len(answered), sum(one.right for one in answered), under, over)


def best(outcomes: Sequence[Outcome]) -> Point:
    """The threshold with the most right answers less wrong ones, among those that answer anything."""
    points = [point(outcomes, threshold) for threshold in sorted({one.score for one in outcomes})]
    return max(points, key=lambda one: (one.net, one.threshold))


def curve(outcomes: Sequence[Outcome]) -> list[Point]:
    """What thresholds from 0 to 1 lead to."""
    return [point(outcomes, step / _STEPS) for step in range(_STEPS + 1)]
