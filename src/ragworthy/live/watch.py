"""The rules on a stream of minutes: what each says at every full minute, and the alerts that begin and end there.

The same as `rules.evaluate` over all samples, from the counts of at most an hour of minutes: exact, whatever the order
of the records was.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from ragworthy.live.minutes import OTHERS, Minute, unit_of
from ragworthy.live.rules import (
    ENOUGH,
    LONGEST,
    RULES,
    SIGNS,
    At,
    Condition,
    HowManyFrom,
    Reading,
    Rule,
    ShareBelow,
    State,
    Tick,
    total,
)

SCHEMA = "ragworthy.alert/1"
FIRING, RESOLVED = "firing", "resolved"
BUDGETS = {"coverage": Fraction("0.70"), "accurate": Fraction("0.95")}
"""What one rolling hour must hold on average. What it may lack is the error budget."""


class Alert(NamedTuple):
    """An alert that begins or ends at a full minute."""

    rule: str
    at: int
    """Minutes since the epoch."""
    state: str
    value: Fraction | None
    limit: Fraction
    sign: str
    samples: int
    minutes: int
    source: str
    rollback: bool = False
    slice: str | None = None


class Budget(NamedTuple):
    """How much of the error budget of one rolling hour is spent: 1 is all of it; None without enough samples."""

    field: str
    spent: Fraction | None
    samples: int


class Window(NamedTuple):
    """The minutes that a condition looks at."""

    minutes: Sequence[Minute]
    samples: int
    length: int


class Watch:
    """Rules on minutes that come in order; minutes without records are left out by whoever gives them."""

    def __init__(self, rules: Iterable[Rule] = RULES, baseline: Mapping[str, Fraction] | None = None) -> None:
        self.rules = tuple(rules)
        self.baseline = dict(baseline or {})
        self.at: int | None = None
        """The last full minute that was looked at."""
        self.held: deque[Minute] = deque()
        """The minutes of the last hour that have records."""
        self.in_a_row: dict[str, int] = {}
        """At how many ticks in a row a rule was true."""
        self.firing: dict[str, int] = {}
        """Since which tick a rule fires."""
        self._fields = tuple(dict.fromkeys(one.field for rule in self.rules for one in rule.conditions))
        self._counts: dict[int, dict[str, int]] = {}
        """How many records of each held minute say something of those fields."""

    def step(self, minute: Minute) -> Iterator[Alert]:
        """The alerts that begin or end up to a new minute."""
        yield from self.until(minute.at - 1)
        self.held.append(minute)
        self.at = minute.at
        yield from self._look()

    def until(self, at: int) -> Iterator[Alert]:
        """The alerts that begin or end up to a full minute, when nothing more came until then."""
        while self.at is not None and self.at < at:
            self.at += 1
            yield from self._look()
            if not self.held and not self.firing:
                self.at, self.in_a_row = at, {}  # nothing can change until a record comes

    def _look(self) -> Iterator[Alert]:
        for rule, tick in self.ticks():
            name = rule.name
            if tick.fires and name not in self.firing:
                self.firing[name] = tick.at
                yield self.alert(rule, tick, FIRING)
            elif not tick.fires and name in self.firing:
                del self.firing[name]
                yield self.alert(rule, tick, RESOLVED)

    def ticks(self) -> list[tuple[Rule, Tick]]:
        """Every rule at the present minute; counts how often each was true in a row."""
        if self.at is None:
            return []
        while self.held and self.held[0].at <= self.at - LONGEST:
            self._counts.pop(self.held.popleft().at, None)
        made = []
        counted = _Counted(self.held, [self._counted(minute) for minute in self.held], self.at)
        for rule in self.rules:
            readings = tuple(self._reading(one, rule.window, counted) for one in rule.conditions)
            state = next(state for state in State if any(one.state is state for one in readings))
            row = self.in_a_row.get(rule.name, 0) + 1 if state is State.TRUE else 0
            self.in_a_row[rule.name] = row
            made.append((rule, Tick(self.at, state, row >= rule.ticks, readings)))
        self.said = made
        return made

    said: Sequence[tuple[Rule, Tick]] = ()
    """What every rule said at the last tick."""

    def _counted(self, minute: Minute) -> dict[str, int]:
        """How many records of a held minute say something of each field: worked out once, and not at each tick."""
        known = self._counts.get(minute.at)
        if known is None:
            known = self._counts[minute.at] = {field: _said(minute, field) for field in self._fields}
        return known

    def limit(self, condition: Condition) -> Fraction | None:
        """From where on a condition is bad; None where that takes a baseline, and there is none."""
        limit = Fraction(condition.limit)
        if not condition.times_baseline:
            return limit
        return limit * self.baseline[condition.field] if condition.field in self.baseline else None

    def _reading(self, condition: Condition, window: int, counted: "_Counted") -> Reading:
        seen = counted.window(condition.field, window, grows=not condition.counts)
        if not condition.counts and seen.samples < ENOUGH:
            return Reading(State.INSUFFICIENT, None, seen.samples, seen.length)
        limit = self.limit(condition)
        if limit is None:
            return Reading(State.NO_BASELINE, None, seen.samples, seen.length)
        value = counted.statistic(condition, seen)
        bad = SIGNS[condition.sign](value, limit)
        return Reading(State.TRUE if bad else State.FALSE, value, seen.samples, seen.length)

    def alert(self, rule: Rule, tick: Tick, state: str) -> Alert:
        """The alert of a rule, by the condition that tells most."""
        nth = telling(tick)
        condition, reading = rule.conditions[nth], tick.readings[nth]
        limit = self.limit(condition)
        return Alert(
            rule.name, tick.at, state, reading.value, Fraction(condition.limit) if limit is None else limit,
            condition.sign, reading.samples, reading.minutes, rule.source, rule.rollback,
        )  # fmt: skip

    def budgets(self) -> list[Budget]:
        """The error budgets of the last hour."""
        found = []
        for field, target in BUDGETS.items():
            samples = sum(minute.count(field) for minute in self.held)
            spent = None
            if samples >= ENOUGH:
                mean = sum((minute.total(field) for minute in self.held), Fraction(0)) / samples
                spent = (1 - mean) / (1 - target)
            found.append(Budget(field, spent, samples))
        return found

    def state(self) -> dict[str, Any]:
        """What is known besides the minutes of the last hour, as plain values."""
        return {"at": self.at, "in_a_row": dict(self.in_a_row), "firing": dict(self.firing)}

    def restore(self, state: Mapping[str, Any], held: Iterable[Minute]) -> None:
        """Go on from an earlier state, with the minutes of the hour before it."""
        self.at = state["at"]
        self.in_a_row, self.firing = dict(state["in_a_row"]), dict(state["firing"])
        self.held = deque(held)
        self._counts = {}


def telling(tick: Tick) -> int:
    """Which condition is shown: the first that is true, else the first of those with the most samples."""
    return max(range(len(tick.readings)), key=lambda nth: _rank(tick.readings[nth]))


def _rank(reading: Reading) -> tuple[bool, int]:
    true = reading.state is State.TRUE
    return true, 0 if true else reading.samples


class _Counted:
    """The minutes of an hour at one tick; what several rules ask for is worked out once."""

    def __init__(self, held: Sequence[Minute], counts: Sequence[Mapping[str, int]], at: int) -> None:
        """`counts` has for each minute how many of its records say something of each field."""
        self._held = list(held)
        self._counts = counts
        self._at = at
        self._sorted: dict[tuple[str, int], list[tuple[int, int]]] = {}

    def window(self, field: str, length: int, *, grows: bool) -> Window:
        first, samples = len(self._held), 0
        while first and self._held[first - 1].at > self._at - length:
            first -= 1
            samples += self._counts[first][field]
        while grows and samples < ENOUGH and length < LONGEST:
            if not first:
                length = LONGEST
                break
            first -= 1
            before = self._at - self._held[first].at + 1
            if before > LONGEST:
                length = LONGEST
                first += 1
                break
            length = before
            samples += self._counts[first][field]
        if grows and samples < ENOUGH:
            length = LONGEST
        return Window(self._held[first:], samples, length)

    def statistic(self, condition: Condition, seen: Window) -> Fraction:
        field, statistic = condition.field, condition.statistic
        if field == "built":
            return Fraction(_most_hashes(seen.minutes))
        if isinstance(statistic, At):
            return percentile_of(self._values(field, seen), seen.samples, statistic.percent, unit_of(field))
        if isinstance(statistic, ShareBelow | HowManyFrom):
            limit = statistic.limit * unit_of(field)
            below = sum(times for value, times in self._values(field, seen) if value < limit)
            return (
                Fraction(below, seen.samples) if isinstance(statistic, ShareBelow) else Fraction(seen.samples - below)
            )
        found = sum((minute.total(field) for minute in seen.minutes), Fraction(0))
        return found if statistic is total else found / seen.samples

    def _values(self, field: str, seen: Window) -> list[tuple[int, int]]:
        """How often each value occurs, in order."""
        key = (field, len(seen.minutes))
        if key not in self._sorted:
            together: dict[int, int] = {}
            for minute in seen.minutes:
                for value, times in minute.values[field].items():
                    together[value] = together.get(value, 0) + times
            self._sorted[key] = sorted(together.items())
        return self._sorted[key]


def _said(minute: Minute, field: str) -> int:
    return sum(minute.built.values()) if field == "built" else minute.count(field)


def _most_hashes(minutes: Iterable[Minute]) -> int:
    """The most index hashes that one build has; 0 where no record names a build."""
    hashes: dict[str, set[str]] = {}
    for minute in minutes:
        for build, index in minute.built:
            hashes.setdefault(build, set()).add(index)
    if hashes.get(OTHERS[0]):  # many builds, which nobody tells apart
        hashes[OTHERS[0]] = {OTHERS[1]}
    return max(map(len, hashes.values()), default=0)


def percentile_of(values: Sequence[tuple[int, int]], count: int, percent: int, unit: int) -> Fraction:
    """The percentile as `stats.percentile` has it, from values with how often each occurs."""
    place, part = divmod(percent * (count - 1), 100)
    low = high = None
    before = 0
    for value, times in values:
        before += times
        if low is None and before > place:
            low = value
        if before > place + 1:
            high = value
            break
    low = low or 0
    high = low if high is None else high
    return Fraction(low, unit) + Fraction(part, 100) * Fraction(high - low, unit)
