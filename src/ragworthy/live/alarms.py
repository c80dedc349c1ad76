"""Alarms whose number of false ones is known: every rate and bounded mean of live traffic against what was accepted.

The question asked is not "is live worse than the baseline's number?" but "is live worse than the baseline can truly
have been, by more than the tolerance?". The baseline's number comes from a sample; its limit is the upper bound of that
sample's mean (all bounds together are wrong with `baseline_risk`) plus the tolerance. Against that limit two detectors
run for each field: `anytime` minute by minute, for changes of any size, and `cusum` hour by hour, for slow ones. The
budget of false alarms per month is divided evenly among all of them.
"""

import hashlib
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import msgspec

from ragworthy.live.cusum import Batch, Cusum, Detector, Stretch, batch, drift_bet
from ragworthy.live.minutes import Minute
from ragworthy.live.sequences import MeanSequence, rate_interval
from ragworthy.live.watch import Alert
from ragworthy.live.watched import LEAST, WATCHED, Baseline, Watched, limit_of
from ragworthy.stats import Interval

MONTH = 30 * 24 * 60
"""Minutes."""
_HOURS = MONTH // 60
_ALL_CLEAR = MONTH
"""While a field stays bad, at most one false all-clear is expected per month."""
_STRONG = 20.0
"""Evidence, after correction for the slices and the coins of a day, from which a slice is named as moved."""
_DAY = 24 * 60


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is watched, and how many false alarms are acceptable."""

    budget: float = 0.1
    """False alarms per 30 days that may be expected, over everything that is watched."""
    baseline_risk: float = 0.01
    """The chance that the bound of some baseline value is wrong; it is taken once, not every month."""
    slice_share: float = 0.5
    """The part of the budget for slices, where the baseline has some."""
    slices: tuple[str, ...] = ()
    """Slices to count apart, such as region=eu and region=other; each is judged where the baseline has it."""
    watches: tuple[Watched, ...] = WATCHED

    def __post_init__(self) -> None:
        """Refuse what cannot mean anything."""
        if not 0 < self.budget <= MONTH or not 0 < self.baseline_risk < 1 or not 0 <= self.slice_share < 1:
            raise ValueError("expected budget > 0, baseline_risk between 0 and 1, slice_share from 0 to below 1")
        if not self.watches:
            raise ValueError("expected watches, got an empty list: nothing would be watched")
        names = [watch.name for watch in self.watches]
        if twice := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"expected each watch once, got {min(twice)} twice")
        if any("=" not in part for part in self.slices):
            raise ValueError("expected slices such as region=eu, got one without =")


class Moved(NamedTuple):
    """A slice that moved: its evidence, divided by the number of slices of the field and the minutes of a day.

    On a day on which nothing changes, a slice passes 20 by mistake with a chance of 1 in 20.
    """

    slice: str
    evidence: float
    """As its natural logarithm."""


class Event(NamedTuple):
    """An alarm that begins or ends."""

    rule: str
    at: int
    """The minute at whose end it is known."""
    state: str
    value: float
    """The mean of the field since the change seems to have begun."""
    limit: float
    sign: str
    samples: int
    minutes: int
    """How long ago the change seems to have begun."""
    slice: str | None
    moved: tuple[Moved, ...]
    """Of an alarm on all traffic the slices that moved most, strongest first."""


LACKING = "not in the baseline"


class Blind(NamedTuple):
    """Something that is not watched, and why; the name * is every field of a slice."""

    name: str
    slice: str | None
    why: str


class _Stream:
    """A field, of all traffic or of a slice, with one detector; while it fires, another one waits for the all-clear."""

    def __init__(
        self, watch: Watched, part: str | None, limit: float, threshold: float, bet: float, clumps: float
    ) -> None:
        self.rule, self.watch, self.slice = f"{'cusum' if bet else 'anytime'}:{watch.name}", watch, part
        self.limit, self.bet, self.threshold, self.clumps = limit, bet, threshold, clumps
        self.detector: Detector | Cusum = self._new()
        self.clear: Detector | None = None

    def _new(self, state: Any = None) -> Detector | Cusum:
        if self.bet:
            return Cusum(self.limit, self.bet, self.watch.cells, self.clumps, state)
        return Detector(self.limit, self.watch.cells, self.clumps, state)

    def _back(self, state: Any = None) -> Detector:
        """What waits for the all-clear."""
        return Detector(1 - self.limit, self.watch.cells, self.clumps, state)

    def step(self, at: int, seen: Batch) -> Event | None:
        if self.clear is not None:
            mirrored = Batch(seen.cases, seen.cases - seen.total, seen.weights[::-1])
            self.clear.step(at, mirrored)
            if not self.clear.above(_ALL_CLEAR):
                return None
            stretch = self.clear.stretch()
            self.clear, self.detector = None, self._new()
            return self._event("resolved", at, stretch._replace(total=stretch.cases - stretch.total))
        self.detector.step(at, seen)
        if not self.detector.above(self.threshold):
            return None
        stretch = self.detector.stretch()
        self.clear = self._back()
        return self._event("firing", at, stretch)

    def _event(self, state: str, at: int, stretch: Stretch) -> Event:
        down = self.watch.worse == "down" and self.watch.over is None
        value, limit = self.watch.value(stretch.total / stretch.cases), self.watch.value(self.limit)
        lasted = at - stretch.since + 1
        return Event(self.rule, at, state, value, limit, "<" if down else ">", stretch.cases, lasted, self.slice, ())

    def state(self) -> dict[str, Any]:
        return {"detector": self.detector.state(), "clear": self.clear.state() if self.clear else None}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.detector = self._new(state["detector"])
        self.clear = self._back(state["clear"]) if state["clear"] else None


class _Today:
    """The confidence sequence of a field since midnight: what a person looks at, not what fires."""

    def __init__(self, watch: Watched, alpha: float, state: list[Any] | None = None) -> None:
        self.watch, self.alpha = watch, alpha
        self.day: int = state[0] if state else 0
        self.sequence = MeanSequence(alpha, state[1]) if state else MeanSequence(alpha)

    def step(self, at: int, counts: Mapping[float, int]) -> None:
        day = -(-at // _DAY)
        if day != self.day:
            self.day, self.sequence = day, MeanSequence(self.alpha)
        values = sorted(counts)
        cases = sum(counts[value] for value in values)
        total = math.fsum(value * counts[value] for value in values)
        self.sequence.add(cases, total, math.fsum(value * value * counts[value] for value in values))

    def interval(self) -> Interval:
        """On the scale of the field."""
        if self.watch.cells == 1 and float(self.sequence.total).is_integer():
            low, high = rate_interval(int(self.sequence.total), int(self.sequence.cases), self.alpha)
        else:
            low, high = self.sequence.interval()
        ends = sorted((self.watch.value(low), self.watch.value(high)))
        return Interval(ends[0], ends[1])


class Alarms:
    """All alarms of a live service. Feed it the closed minutes in order."""

    TODAY = 0.05

    def __init__(self, config: Config, baseline: Baseline) -> None:
        self.config, self.baseline = config, baseline
        self.watches = [watch for watch in config.watches if watch.name in baseline.fields]
        self.blind: list[Blind] = []
        """What nobody judges: it is in the baseline and cannot be watched, or is to be watched and not there."""
        known = {watch.name for watch in config.watches}
        for part, fields in [(None, baseline.fields), *sorted(baseline.slices.items())]:
            self.blind += [Blind(name, part, "nothing watches it") for name in fields if name not in known]
        self.blind += [
            Blind(watch.name, None, LACKING) for watch in config.watches if watch.name not in baseline.fields
        ]
        self.blind += [Blind("*", part, LACKING) for part in sorted({*config.slices} - {*baseline.slices})]
        self._streams = self._made()
        self._today = {watch.name: _Today(watch, self.TODAY) for watch in self.watches}

    @property
    def slices(self) -> frozenset[str]:
        """The slices that minutes have to count apart."""
        return frozenset(self.baseline.slices) | frozenset(self.config.slices)

    def _made(self) -> list[_Stream]:
        """The streams, with the budget and the risk of the baseline divided evenly."""
        whole = [(watch, None, self.baseline.fields[watch.name]) for watch in self.watches]
        parts = [
            (watch, part, fields[watch.name])
            for part, fields in sorted(self.baseline.slices.items())
            for watch in self.config.watches
            if watch.name in fields
        ]
        risk = self.config.baseline_risk / max(1, len(whole) + len(parts))
        share = self.config.slice_share if parts else 0.0
        each = self.config.budget * (1 - share) / max(1, 2 * len(whole))
        made = []
        for watch, part, accepted in [*whole, *parts]:
            limit = limit_of(watch, accepted, risk)
            if limit >= 1 - LEAST:
                self.blind.append(Blind(watch.name, part, "too few cases: the baseline may be as bad as can be"))
                continue
            if part is None:
                spread = None if accepted.variance is None else watch.scaled(watch.scaled(accepted.variance))
                slow = drift_bet(limit, watch.scaled(watch.drift), spread)
                made.append(_Stream(watch, None, limit, MONTH / each, 0.0, accepted.dispersion))
                made.append(_Stream(watch, None, limit, _HOURS / each, slow, accepted.dispersion))
            else:
                budget = self.config.budget * share / len(parts)
                made.append(_Stream(watch, part, limit, MONTH / budget, 0.0, accepted.dispersion))
        return made

    def step(self, minute: Minute) -> list[Event]:
        """What a closed minute changes, in the order of the watches."""
        seen: dict[tuple[str, str | None], Batch] = {}
        found = []
        for watch in self.config.watches:
            counts = watch.counts(minute.values.get(watch.field, {}))
            seen[watch.name, None] = batch(counts, watch.cells)
            if watch.name in self._today:
                self._today[watch.name].step(minute.at, counts)
            for part in self.baseline.slices:
                values = minute.slices.get(part, {}).get(watch.field, {})
                seen[watch.name, part] = batch(watch.counts(values), watch.cells)
        for stream in self._streams:
            event = stream.step(minute.at, seen[stream.watch.name, stream.slice])
            if event is not None:
                found.append(event)
        return [self._named(event) for event in found]

    def _named(self, event: Event) -> Event:
        """An alarm on all traffic with the slices that moved."""
        if event.slice is not None or event.state != "firing":
            return event
        name = event.rule.partition(":")[2]
        parts = [stream for stream in self._streams if stream.slice is not None and stream.watch.name == name]
        return event._replace(moved=_moved(parts))

    def intervals(self) -> dict[str, Interval]:
        """For each field where today's mean lies with 95 % confidence, at all looks of the day at once."""
        return {name: today.interval() for name, today in self._today.items()}

    @property
    def detectors(self) -> int:
        """How many run; 0 where nothing at all is watched."""
        return len(self._streams)

    def firing(self) -> list[tuple[str, str | None]]:
        """The rules that fire, each with its slice."""
        return [(stream.rule, stream.slice) for stream in self._streams if stream.clear is not None]

    def state(self) -> dict[str, Any]:
        """All that is known, as plain JSON values."""
        streams = {f"{stream.rule}@{stream.slice or ''}": stream.state() for stream in self._streams}
        return {
            "of": self._mark(),
            "streams": streams,
            "today": {name: [today.day, today.sequence.state()] for name, today in self._today.items()},
        }

    @classmethod
    def restore(cls, config: Config, baseline: Baseline, state: Mapping[str, Any]) -> "Alarms":
        """Go on where a state was taken. With other settings or another baseline everything begins again: evidence
        against one limit is none against another.
        """
        alarms = cls(config, baseline)
        if state["of"] != alarms._mark():
            return alarms
        for stream in alarms._streams:
            stream.restore(state["streams"][f"{stream.rule}@{stream.slice or ''}"])
        for watch in alarms.watches:
            alarms._today[watch.name] = _Today(watch, cls.TODAY, state["today"][watch.name])
        return alarms

    def _mark(self) -> str:
        """What the state belongs to."""
        return hashlib.sha256(msgspec.json.encode([self.config, self.baseline], order="sorted")).hexdigest()


def _moved(parts: list[_Stream]) -> tuple[Moved, ...]:
    """The slices with enough evidence after correction, at most five."""
    correction = math.log(max(1, len(parts)) * _DAY)
    found = [Moved(stream.slice or "", round(stream.detector.evidence - correction, 6)) for stream in parts]
    strong = [moved for moved in found if moved.evidence >= math.log(_STRONG)]
    return tuple(sorted(strong, key=lambda moved: (-moved.evidence, moved.slice))[:5])


def alert(event: Event) -> Alert:
    """The event as an alert.

    >>> str(alert(Event("anytime:error", 29_000_000, "firing", 0.08, 0.02, ">", 900, 9, None, ())).value)
    '2/25'
    """
    return Alert(
        event.rule,
        event.at,
        event.state,
        Fraction(str(event.value)),
        Fraction(str(event.limit)),
        event.sign,
        event.samples,
        event.minutes,
        "docs/alarms.md",
        slice=event.slice,
    )
