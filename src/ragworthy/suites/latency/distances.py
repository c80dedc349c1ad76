"""ΔS of what each run cites first: by the model that the lock was calibrated with, or as the run records it."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from ragworthy.index.blocks import Corpus
from ragworthy.metrics.facts.distance import Calibration, exact
from ragworthy.metrics.facts.timed import Distance, Far
from ragworthy.records import Run
from ragworthy.suites.opened import Opened
from ragworthy.suites.retrieval.distances import RAW, calibration_of, unseparated

if TYPE_CHECKING:
    from ragworthy.index.measure import Measure

Measured = Callable[[Sequence[str], Sequence[str]], list[Fraction]]
"""Distances of questions and texts at the same places, calibrated."""
UNKNOWN = "no distances are recorded, and none can be worked out: {}"
NO_CORPUS, NO_CALIBRATION = "no corpus was given", "the lock of the gold set has no calibration"


class Distances:
    """How far what is cited lies from its question."""

    def __init__(self, corpus: Corpus | None, measured: Measured | str, *, refused: bool = False) -> None:
        self._corpus, self._measured, self._refused = corpus, measured, refused

    def of(self, run: Run, question: str) -> Distance:
        """The distance of a run, why it is not known, or what it is worked out from; None where nothing is cited."""
        first = _first(run)
        if first is None:
            return None
        if self._corpus is None or isinstance(self._measured, str):
            return self._told(run, _recorded(run, first))
        return Far(question, first)

    def measured(self, pairs: Sequence[Far]) -> list[Fraction]:
        """The distances of questions and what is cited."""
        if not pairs or self._corpus is None or isinstance(self._measured, str):
            return []
        texts = self._corpus.texts
        return self._measured([one.question for one in pairs], [texts.get(one.chunk, "") for one in pairs])

    def _told(self, run: Run, recorded: float | None) -> Fraction | str:
        """A distance as the run records it, where it is on a scale of its own and nothing forbids to measure any."""
        if self._refused:
            return str(self._measured)
        if recorded is None:
            return UNKNOWN.format(self._measured)
        return exact(recorded) if run.delta_s_model is None else RAW


NO_DISTANCES = Distances(None, NO_CORPUS)


def distances_of(opened: Opened, corpus: Corpus | None) -> Distances:
    """By the calibration of the lock, where there is one and a corpus; else as runs record them."""
    calibration = calibration_of(opened.lock)
    if calibration is not None and not calibration.separates:
        return Distances(corpus, unseparated(calibration.model), refused=True)
    if calibration is None or corpus is None:
        return Distances(corpus, NO_CALIBRATION if calibration is None else NO_CORPUS)
    from ragworthy.index.measure import stored

    texts = [lambda: list(corpus.texts.values())]
    measure = stored(calibration.model, calibration.weights, opened.lock_path, texts)
    return Distances(corpus, measure if isinstance(measure, str) else partial(_scaled, measure, calibration))


def _scaled(
    measure: "Measure", calibration: Calibration, questions: Sequence[str], texts: Sequence[str]
) -> list[Fraction]:
    return [calibration.of(exact(float(one))) for one in measure.distances(questions, texts)]


def _recorded(run: Run, first: str) -> float | None:
    """The distance that a run records of what it cites first; of a list that at its place, 1 where it was not returned.

    >>> run = Run(retrieved_ids=["a", "b"], recorded_distance=[0.5, 0.25])
    >>> [_recorded(run, "b"), _recorded(run, "c"), _recorded(Run(recorded_distance=0.5), "a")]
    [0.25, 1.0, 0.5]
    """
    told = run.recorded_distance
    if not isinstance(told, list):
        return told
    returned = run.retrieved_ids or []
    if first not in returned:
        return 1.0
    place = returned.index(first)
    return told[place] if place < len(told) else None


def _first(run: Run) -> str | None:
    """What an answer cites first; None for errors and where nothing is cited."""
    answer = run.answer_json
    cited = None if run.error is not None or answer is None else answer.citations
    first = cited[0] if isinstance(cited, list) and cited else None
    return first if isinstance(first, str) else None
