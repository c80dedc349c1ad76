"""ΔS of everything that was returned, where the log has it; traces without answers have it too."""

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

from ragworthy.metrics.facts.convergence import Arm, Asked, RunKey, with_facts
from ragworthy.metrics.facts.distance import exact
from ragworthy.metrics.facts.returned import Found
from ragworthy.metrics.facts.runs import Facts, Reading
from ragworthy.report.show import plural
from ragworthy.stats import percentile
from ragworthy.suites.retrieval.distances import Source, recorded_by

NONE = "no trace holds the distances of its results (ΔS)"


def with_probes(arm: Arm, source: Source) -> Arm:
    """The same arm with what is known of the results of every run: median, 90th percentile, the first of them."""
    if why_unprobed(arm, source) is not None:
        return arm
    calibration = source.calibration if _calibrated(arm, source) else None

    def scaled(value: float) -> Fraction:
        raw = exact(value)
        return raw if calibration is None else calibration.of(raw)

    @lru_cache(maxsize=1 << 10)  # another seed mostly finds the same results
    def of(distances: tuple[float | None, ...]) -> tuple[Fraction, Fraction] | None:
        ordered = sorted([one for one in distances if one is not None])
        return (percentile(ordered, 50, scaled), percentile(ordered, 90, scaled)) if ordered else None

    def first(reading: Reading) -> Fraction | None:
        there = reading.distances[0] if reading.distances else None
        return None if there is None else scaled(there)

    def probed(one: Asked, key: RunKey, facts: Facts) -> Found:
        return {"probes": of(tuple(one.runs[key].distances)), "top": first(one.runs[key])}

    return with_facts(arm, probed)


def why_unprobed(arm: Arm, source: Source) -> str | None:
    """Why nothing can be said of the results' distances; None where they were recorded on one scale that is known."""
    if not has_distances(arm):
        return NONE
    if len(arm.models) > 1:
        return "the recorded distances come from several models"
    if source.results is not None:
        return source.results
    bare, runs = _undistanced_runs(arm)
    if bare:
        have = "have" if bare > 1 else "has"
        return f"{bare:,} of {plural(runs, 'run')} with results {have} no distance of the first of them (ΔS)"
    model = recorded_by(arm)
    if arm.answers and source.mode in ("calibrated", "raw") and source.model is not None and model != source.model:
        return f"the distances of results were recorded by another model than {source.model[0]}"
    return None


def probes_are_raw(arm: Arm, source: Source) -> bool:
    """Whether the distances of results are measured on the scale of some model, where thresholds mean nothing."""
    return why_unprobed(arm, source) is None and recorded_by(arm) is not None and not _calibrated(arm, source)


def has_distances(arm: Arm) -> bool:
    """Whether the traces have distances of results."""
    return any(reading.distances for reading in _readings(arm))


def far_unknown(arm: Arm) -> str | None:
    """Why nothing can be said of what is cited: some of it has no distance, where other citations have one."""
    answered = [
        [facts.delta_s for facts in one.question.facts if facts.answered] for one in arm.asked if one.wanted.answerable
    ]
    asked = [one for one in answered if one]
    bare = sum(None in one for one in asked)
    if not bare or not any(value is not None for one in asked for value in one):
        return None
    have = "have" if bare > 1 else "has"
    return f"{bare:,} of {plural(len(asked), 'answered question')} {have} a citation without a distance (ΔS)"


def undistanced(arm: Arm) -> int:
    """How many results have no distance, where others have one."""
    return sum(
        len(reading.names) - sum(one is not None for one in reading.distances)
        for reading in _readings(arm)
        if reading.names
    )


def _undistanced_runs(arm: Arm) -> tuple[int, int]:
    """How many runs do not know how far their first result is, and how many have results."""
    found = [reading for reading in _readings(arm) if reading.names]
    return sum(not reading.distances or reading.distances[0] is None for reading in found), len(found)


def _readings(arm: Arm) -> Iterator[Reading]:
    return (reading for one in arm.asked if one.wanted.answerable for reading in one.runs.values())


def _calibrated(arm: Arm, source: Source) -> bool:
    """Whether the distances of results are put on the scale of the bands."""
    return source.mode == "calibrated" and recorded_by(arm) == source.model
