"""What is watched in live traffic, in which direction it is bad, and what was accepted of it."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from ragworthy.live.dispersion import Dispersion
from ragworthy.live.minutes import FIELDS, Minute, unit_of
from ragworthy.live.sequences import upper_bound

_CELLS = 64
LEAST = 1e-6
"""The smallest distance of a limit from 0 and from 1."""


class Watched(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A number of each record that should not get worse in the mean."""

    field: str
    worse: str = "up"
    """The bad direction: up or down."""
    low: float = 0.0
    high: float = 1.0
    """The range of the field; what lies outside counts as the end next to it."""
    over: float | None = None
    """With a limit the share of records above it is watched: so a time becomes a rate."""
    whole: bool = True
    """Whether the field is 0 or 1."""
    tolerance: float = 0.01
    """How much worse than the baseline is still fine, in the units of the field."""
    drift: float = 0.02
    """The slow change that the CUSUM is made for, beyond the tolerance, in the units of the field."""

    def __post_init__(self) -> None:
        """Refuse what cannot mean anything."""
        if self.field not in FIELDS:
            raise ValueError(f"expected one of {', '.join(FIELDS)}, got {self.field[:60]}")
        if self.worse not in ("up", "down"):
            raise ValueError(f"{self.field}: expected worse to be up or down, got {self.worse[:60]}")
        if self.over is None and self.field.endswith("_ms"):
            raise ValueError(f"{self.field}: expected over, a limit in ms, got none: a mean of times has no bound")
        if not (self.low < self.high and self.tolerance >= 0 and self.drift > 0):
            raise ValueError(f"{self.field}: expected low < high, tolerance >= 0 and drift > 0")

    @property
    def name(self) -> str:
        """The field; of a share above a limit with that limit."""
        return self.field if self.over is None else f"{self.field}>{self.over:g}"

    @property
    def cells(self) -> int:
        """The cells of its grid."""
        return 1 if self.whole or self.over is not None else _CELLS

    def badness(self, value: float) -> float:
        """A value of the field on the scale from 0, good, to 1, bad.

        >>> Watched("tau", "down", low=-1.0).badness(0.5), Watched("e2e_ms", over=2000.0).badness(2001.0)
        (0.25, 1.0)
        """
        if self.over is not None:
            return float(value > self.over)
        share = min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))
        return share if self.worse == "up" else 1 - share

    def value(self, badness: float) -> float:
        """Back from the scale of badness to that of the field, to six decimals."""
        if self.over is not None:
            return round(badness, 6)
        return round(self.low + (badness if self.worse == "up" else 1 - badness) * (self.high - self.low), 6)

    def scaled(self, difference: float) -> float:
        """A difference of the field on the scale of badness."""
        return difference if self.over is not None else difference / (self.high - self.low)

    def counts(self, values: Mapping[int, int]) -> dict[float, int]:
        """The histogram of a minute on the scale of badness."""
        unit, found = unit_of(self.field), dict[float, int]()
        if self.over is not None:  # times have many values: no call for each of them
            least, cases = self.over * unit, sum(values.values())
            bad = sum([times for units, times in values.items() if units > least])
            return {badness: times for badness, times in ((0.0, cases - bad), (1.0, bad)) if times}
        for units, times in values.items():
            badness = self.badness(units / unit)
            found[badness] = found.get(badness, 0) + times
        return found


WATCHED = (
    Watched("coverage", "down"),
    Watched("delta_s", whole=False),
    Watched("diverged"),
    Watched("accurate", "down"),
    Watched("tau", "down", low=-1.0, whole=False, tolerance=0.02, drift=0.04),
    Watched("cited", "down"),
    Watched("error"),
    Watched("empty"),
    Watched("unauthorised"),
    Watched("valid", "down"),
    Watched("refused"),
    Watched("near_refused"),
    Watched("e2e_ms", over=2000.0),
)
"""What is watched where the baseline has it: every rate and bounded mean, and the share of answers over 2 s."""


class Accepted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was accepted of a field: a mean, and how many records or questions it comes from."""

    value: float
    cases: int | None = None
    """None where the value is a promise and not a measurement; then it has no sampling error."""
    variance: float | None = None
    """Of the sample, for means; without it the largest that is possible."""
    dispersion: float = 1.0
    """How clumpy the traffic is: so many records count as one."""

    def __post_init__(self) -> None:
        """Refuse what cannot mean anything."""
        if (self.cases is not None and self.cases < 1) or self.dispersion < 1:
            raise ValueError("expected cases and dispersion from 1 on")


class Baseline(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The accepted state, by the names of watches; of slices by slice and watch."""

    fields: dict[str, Accepted] = {}
    slices: dict[str, dict[str, Accepted]] = {}


def limit_of(watch: Watched, accepted: Accepted, risk: float) -> float:
    """From where on a mean is too bad, on the scale of badness: what the baseline may truly be, and the tolerance."""
    value = accepted.value if watch.over is not None else watch.badness(accepted.value)
    if accepted.cases is not None:
        spread = None if accepted.variance is None else watch.scaled(watch.scaled(accepted.variance))
        value = upper_bound(value, accepted.cases / accepted.dispersion, risk, spread)
    return max(LEAST, value + watch.scaled(watch.tolerance))


def accepted_of(watch: Watched, counts: Mapping[float, int], dispersion: float = 1.0) -> Accepted | None:
    """The mean of accepted traffic, given on the scale of badness; None without a record."""
    values = sorted(counts)
    cases = sum(counts.values())
    if cases == 0:
        return None
    mean = math.fsum(value * counts[value] for value in values) / cases
    if watch.cells == 1:
        return Accepted(watch.value(mean), cases, None, dispersion)
    spread = math.fsum((value - mean) ** 2 * counts[value] for value in values) / max(1, cases - 1)
    return Accepted(watch.value(mean), cases, round(spread * (watch.high - watch.low) ** 2, 9), dispersion)


class Acceptance:
    """Accepted traffic, minute by minute, until it is a baseline: of everything, and of each slice counted apart."""

    def __init__(self, watches: tuple[Watched, ...] = WATCHED, state: Mapping[str, Any] | None = None) -> None:
        self.watches = watches
        self._clumps: dict[tuple[str, str], Dispersion] = {}
        for name, part, kept in state["clumps"] if state else ():
            self._clumps[name, part] = Dispersion(kept)

    def step(self, minute: Minute) -> None:
        """A closed minute."""
        for part, fields in [("", minute.values), *minute.slices.items()]:
            for watch in self.watches:
                counts = watch.counts(fields.get(watch.field, {}))
                if counts:
                    into = self._clumps.setdefault((watch.name, part), Dispersion())
                    values = sorted(counts)
                    total = math.fsum(value * counts[value] for value in values)
                    squares = math.fsum(value * value * counts[value] for value in values)
                    into.add(minute.at, sum(counts.values()), total, squares)

    def baseline(self, whole: Minute) -> Baseline:
        """The baseline, given all minutes together."""
        found: dict[str, dict[str, Accepted]] = {}
        for part, fields in [("", whole.values), *sorted(whole.slices.items())]:
            for watch in self.watches:
                clumps = self._clumps.get((watch.name, part))
                dispersion = 1.0 if clumps is None else clumps.value()
                accepted = accepted_of(watch, watch.counts(fields.get(watch.field, {})), dispersion)
                if accepted is not None:
                    found.setdefault(part, {})[watch.name] = accepted
        return Baseline(found.pop("", {}), found)

    def state(self) -> dict[str, Any]:
        """All it knows, as plain values."""
        return {"clumps": [[*key, self._clumps[key].state()] for key in sorted(self._clumps)]}


def baseline_of(minutes: Iterable[Minute], watches: tuple[Watched, ...] = WATCHED) -> Baseline:
    """The baseline that accepted traffic gives, with that of every slice that its minutes count apart."""
    acceptance, whole = Acceptance(watches), Minute(0)
    for minute in minutes:
        acceptance.step(minute)
        whole.merge(minute)
    return acceptance.baseline(whole)
