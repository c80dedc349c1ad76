"""A minute of live traffic: what its records said, as counts of whole-number values. Any order of records, and any way
of cutting them into pieces, gives the same minute.

A minute stays small whatever the traffic. A field with more than `MOST_VALUES` different values keeps fewer significant
bits of each, as many as fit, rounded up: which values are kept depends on the set of them alone, never on their order.
Counts, sums and what lies on which side of a fixed limit of a rule stay exact. Percentiles are never too low.
"""

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import Any

from ragworthy.live.rules import MINUTE, RULES, At, HowManyFrom, Sample, ShareBelow

FIELDS = tuple(name for name in Sample._fields if name not in ("ts", "built", "slices"))
"""What a sample may say, besides when, by which build and for whom."""
MOST_VALUES = 1024
"""So many different values of a field a minute tells apart."""
MOST_BUILDS = 512
"""So many builds a minute tells apart: those that came first, with all that they say later. The rest is one pair."""
MOST_HASHES = 8
"""So many index hashes of one build a minute tells apart; all others are one more."""
OTHERS = ("(other builds)", "(other)")
_RATIO, _MILLISECOND = 1_000_000, 1_000
_WIDEST = 64


def unit_of(field: str) -> int:
    """How many units are 1 of a field: shares and distances are kept to six decimals, milliseconds to three.

    >>> unit_of("delta_s"), unit_of("e2e_ms")
    (1000000, 1000)
    """
    return _MILLISECOND if field.endswith("_ms") else _RATIO


def minute_of(ts: Fraction) -> int:
    """The full minute at which a record is counted first: the end of (t − 1 min, t].

    >>> minute_of(Fraction(60)), minute_of(Fraction(61)), minute_of(Fraction(120))
    (1, 2, 2)
    """
    return -int(-ts // MINUTE)


def _limits() -> dict[str, tuple[int, ...]]:
    """For each limit of a rule on single values the largest value below it, or at it where that is not bad yet; in
    units, the smallest first.
    """
    found: dict[str, set[int]] = {field: set() for field in FIELDS}
    for rule in RULES:
        for one in rule.conditions:
            if isinstance(one.statistic, ShareBelow | HowManyFrom):
                found[one.field].add(int(one.statistic.limit * unit_of(one.field)) - 1)
            elif isinstance(one.statistic, At) and not one.times_baseline:
                found[one.field].add(int(Fraction(one.limit) * unit_of(one.field)) - (one.sign == ">="))
    return {field: tuple(sorted(values)) for field, values in found.items()}


LIMITS = _limits()


def kept(value: int, bits: int, limits: tuple[int, ...] = ()) -> int:
    """The value that stands for one where only so many significant bits are kept: the next one up, and never on the
    other side of a limit. Where a rule asks for a percentile, high is bad: so no alert is missed.

    >>> kept(1_234_567, 8), kept(-1_234_567, 8), kept(100, 8), *(kept(n, 4, (599_999,)) for n in (599_123, 600_000))
    (1236992, -1228800, 100, 599999, 655360)
    """
    shift = value.bit_length() - bits
    if shift <= 0:
        return value
    if value < 0:
        return -(-value >> shift << shift)
    made = -(-value >> shift) << shift
    for limit in limits:
        if value <= limit:
            return min(limit, made)
    return made


def kept_slice(name: str, watched: Collection[str]) -> str | None:
    """The name under which a slice is counted: its own, that of the rest of its key, or None where nobody watches it.

    The list of names is fixed beforehand. So a sender who makes up values costs no memory, and which values are kept
    does not depend on which came first.

    >>> [kept_slice(name, {"region=eu", "region=other"}) for name in ("region=eu", "region=xx", "client=app")]
    ['region=eu', 'region=other', None]
    """
    if name in watched:
        return name
    rest = name.partition("=")[0] + "=other"
    return rest if rest in watched else None


class Minute:
    """The records with ts in (60 (at − 1), 60 at]; those of watched slices also apart."""

    __slots__ = ("at", "bits", "built", "hashes", "parts", "records", "sums", "values", "watched")

    def __init__(self, at: int, watched: Collection[str] = ()) -> None:
        self.at = at
        self.watched = watched
        self.parts: dict[str, Minute] = {}
        """The records of each watched slice that occurred."""
        self.records = 0
        self.values: dict[str, dict[int, int]] = {field: {} for field in FIELDS}
        """For each field how often each value occurred, in units."""
        self.built: dict[tuple[str, str], int] = {}
        """How many records each build and index hash has."""
        self.hashes: dict[str, int] = {}
        """How many index hashes each of those builds has."""
        self.bits: dict[str, int] = {}
        """How many significant bits are kept of a field with many values."""
        self.sums: dict[str, int] = {}
        """The exact sums of those fields, in units."""

    def add(self, sample: Sample) -> None:
        """Count one sample."""
        values = (getattr(sample, field) for field in FIELDS)
        units = [
            None if one is None else round(one * unit_of(field)) for field, one in zip(FIELDS, values, strict=True)
        ]
        self.take(units, sample.built, sample.slices)

    def take(
        self, units: Sequence[int | None], built: tuple[str, str] | None = None, slices: Collection[str] = (), *,
        records: int = 1,
    ) -> None:  # fmt: skip
        """Count what one record says: a number of units for each field, or None. `records` is 0 for one that was
        counted already and says something more.
        """
        self.records += records
        if self.watched:
            for name in sorted({kept_slice(one, self.watched) or "" for one in slices} - {""}):
                if name not in self.parts:
                    self.parts[name] = Minute(self.at)
                self.parts[name].take(units, records=records)
        if self.bits:
            units = self._kept(units)
        for counts, value in zip(self.values.values(), units, strict=True):
            if value is not None:
                if value in counts:
                    counts[value] += 1
                else:
                    counts[value] = 1
                    if len(counts) > MOST_VALUES:
                        self._coarsen()
        if built is not None:
            self._build(built, 1)

    def _kept(self, units: Sequence[int | None]) -> list[int | None]:
        made = list(units)
        for field, bits in self.bits.items():
            place = _PLACE[field]
            value = made[place]
            if value is not None:
                self.sums[field] += value
                made[place] = kept(value, bits, LIMITS[field])
        return made

    def _coarsen(self) -> None:
        """Keep fewer bits of fields that have too many values."""
        for field, counts in self.values.items():
            if len(counts) <= MOST_VALUES:
                continue
            bits = self.bits.get(field, _WIDEST)
            if field not in self.sums:
                self.sums[field] = sum(value * times for value, times in counts.items())
                bits = max(value.bit_length() for value in counts)
            while len(counts) > MOST_VALUES:
                bits -= 1
                fewer: dict[int, int] = {}
                for value, times in counts.items():
                    place = kept(value, bits, LIMITS[field])
                    fewer[place] = fewer.get(place, 0) + times
                counts = fewer
            self.bits[field] = bits
            self.values[field] = counts

    def _build(self, built: tuple[str, str], times: int) -> None:
        if built not in self.built and built != OTHERS:
            build, known = built[0], self.hashes.get(built[0], 0)
            if not known and len(self.hashes) >= MOST_BUILDS:
                built = OTHERS
            elif known >= MOST_HASHES:
                built = (build, OTHERS[1])
            else:
                self.hashes[build] = known + 1
        self.built[built] = self.built.get(built, 0) + times

    def merge(self, other: "Minute") -> None:
        """Count everything that another minute counted."""
        self.records += other.records
        for field, counts in other.values.items():
            mine = self.values[field]
            if field in self.sums or field in other.sums:
                self.sums[field] = self._sum(field) + other._sum(field)
                least = min(self.bits.get(field, _WIDEST), other.bits.get(field, _WIDEST))
                self.bits[field] = least
                mine = self.values[field] = _together(mine, {}, least, LIMITS[field])
            _together(counts, mine, self.bits.get(field, _WIDEST), LIMITS[field])
            if len(self.values[field]) > MOST_VALUES:
                self._coarsen()
        for built, times in other.built.items():
            self._build(built, times)
        for name, part in other.parts.items():
            self.parts.setdefault(name, Minute(self.at)).merge(part)

    def _sum(self, field: str) -> int:
        if field in self.sums:
            return self.sums[field]
        return sum(value * times for value, times in self.values[field].items())

    @property
    def slices(self) -> Mapping[str, Mapping[str, Mapping[int, int]]]:
        """For each watched slice that occurred, and each field, how often each value occurred, in units."""
        return {name: part.values for name, part in self.parts.items()}

    def count(self, field: str) -> int:
        """How many records say something of a field."""
        return sum(self.values[field].values())

    def total(self, field: str) -> Fraction:
        """The exact sum over a field; of zeros and ones how many ones there are."""
        return Fraction(self._sum(field), unit_of(field))

    def state(self) -> dict[str, Any]:
        """The minute as plain values, the same for the same minute."""
        said = {field: sorted(counts.items()) for field, counts in self.values.items() if counts}
        made: dict[str, Any] = {"at": self.at, "records": self.records, "values": said}
        if self.built:
            made["built"] = [[*pair, times] for pair, times in sorted(self.built.items())]
        if self.bits:
            made |= {"bits": dict(sorted(self.bits.items())), "sums": dict(sorted(self.sums.items()))}
        if self.parts:
            made["parts"] = {name: part.state() for name, part in sorted(self.parts.items())}
        return made

    @classmethod
    def restore(cls, state: dict[str, Any], watched: Collection[str] = ()) -> "Minute":
        """The minute behind its plain values."""
        made = cls(state["at"], watched)
        made.records = state["records"]
        for field, counts in state["values"].items():
            if field in made.values:
                made.values[field] = dict(counts)
        made.built = {(build, index): times for build, index, times in state.get("built", ())}
        for build, index in made.built:
            if index != OTHERS[1]:
                made.hashes[build] = made.hashes.get(build, 0) + 1
        made.bits, made.sums = dict(state.get("bits", {})), dict(state.get("sums", {}))
        made.parts = {name: cls.restore(part) for name, part in state.get("parts", {}).items()}
        return made


_PLACE = {field: place for place, field in enumerate(FIELDS)}


def _together(counts: dict[int, int], into: dict[int, int], bits: int, limits: tuple[int, ...]) -> dict[int, int]:
    for value, times in counts.items():
        place = kept(value, bits, limits)
        into[place] = into.get(place, 0) + times
    return into
