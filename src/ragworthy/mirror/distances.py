"""ΔS of both sides by one model, where the texts are at hand; else as the answers have it.

The limits of rules mean something on the calibrated scale only, which the lock of a gold set keeps.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ragworthy.errors import usage_error
from ragworthy.load.lock import load_lock
from ragworthy.metrics.facts.distance import Calibration
from ragworthy.mirror.answers import Answer
from ragworthy.mirror.evidence import Shelf
from ragworthy.mirror.questions import Question
from ragworthy.names import DEFAULT_MODEL

if TYPE_CHECKING:
    from ragworthy.index.measure import Measure

RECORDED, CALIBRATED, AUTO = "recorded", "calibrated", "auto"


class Measured(NamedTuple):
    """The answers of a side with their distances, and where those come from."""

    answers: list[Answer | None]
    source: str
    """The name of the model, or `recorded`."""
    without_text: int
    """Answers that cite something whose text is not at hand."""


class Scale(NamedTuple):
    """What measures distances, and what they mean."""

    model: "Measure"
    calibration: Calibration | None = None

    @property
    def name(self) -> str:
        """As a report has it."""
        return self.model.name if self.calibration is None else f"{self.model.name}, {CALIBRATED}"

    def distances(self, left: Sequence[str], right: Sequence[str]) -> list[float]:
        """ΔS of each left text and the right one at the same place."""
        raw = self.model.distances(left, right).tolist()
        if self.calibration is None:
            return [min(1.0, max(0.0, value)) for value in raw]
        return [float(self.calibration.of(Fraction(f"{value:.6f}"))) for value in raw]


def scale_of(wish: str, lock: Path | None, shelves: Sequence[Shelf]) -> Scale | None:
    """The scale that was asked for: `auto` is that of the lock, where it has one that can be had; None is recorded."""
    if wish == RECORDED:
        return None
    from ragworthy.index.measure import measure, stored

    def texts() -> list[str]:
        return [text for shelf in shelves for text in _texts(shelf)]

    if wish not in (AUTO, CALIBRATED):
        return Scale(measure(wish, texts))
    kept = load_lock(lock).calibration if lock is not None and lock.is_file() else None
    found = Calibration.from_json(kept) if kept else None
    why = "no lock with a calibration (--lock, or beside --gold)"
    if found is not None:
        model = stored(found.model, found.weights, lock, [partial(_texts, shelf) for shelf in shelves])
        if not isinstance(model, str) and model.weights == found.weights and found.separates:
            return Scale(model, found)
        why = model if isinstance(model, str) else f"a calibration of {found.model} that cannot be used here"
    if wish == CALIBRATED:
        raise usage_error(f"--delta-s calibrated: expected a calibration, got {why}")
    return Scale(measure(DEFAULT_MODEL, texts))


def _texts(shelf: Shelf) -> list[str]:
    return list(shelf.texts.values())


def measured(sides: Sequence[tuple[Question, Answer | None]], shelf: Shelf, model: Scale | None) -> Measured:
    """Distances of every result and of the chosen citation. A side is measured wholly by the model, or not at all."""
    answers = [answer for _, answer in sides]
    if model is None or not shelf.texts:
        return Measured(answers, RECORDED, 0)
    wanted: dict[tuple[str, str], None] = {}
    for question, answer in sides:
        for name in (*answer.ids, *answer.citations[:1]) if answer is not None else ():
            text = shelf.text(name)
            if text is not None:
                wanted[question.text, text] = None
    pairs = list(wanted)
    values = model.distances([one for one, _ in pairs], [text for _, text in pairs]) if pairs else []
    known = dict(zip(pairs, values, strict=True))
    made: list[Answer | None] = []
    without = 0
    for question, answer in sides:
        if answer is None:
            made.append(None)
            continue
        listed = tuple(_near(known, question, shelf, name) for name in answer.ids)
        chosen = _near(known, question, shelf, answer.citations[0]) if answer.citations else None
        without += bool(answer.citations) and chosen is None
        made.append(answer._replace(distances=listed, delta_s=chosen))
    return Measured(made, model.name, without)


def _near(known: dict[tuple[str, str], float], question: Question, shelf: Shelf, name: str) -> float | None:
    text = shelf.text(name)
    return None if text is None else known.get((question.text, text))
