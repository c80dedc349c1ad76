"""A minute is the same in whatever order its records come and however they are cut, and stays small."""

import random
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragworthy.live import minutes
from ragworthy.live.minutes import FIELDS, LIMITS, MOST_BUILDS, MOST_HASHES, MOST_VALUES, OTHERS, Minute, kept, unit_of
from ragworthy.live.rules import Sample
from ragworthy.live.watch import Watch

PLACE = {field: place for place, field in enumerate(FIELDS)}


def units(**given: int) -> list[int | None]:
    return [given.get(field) for field in FIELDS]


@settings(deadline=None, derandomize=True, max_examples=12)
@given(st.integers(0, 1 << 30))
def test_many_values_in_any_order_and_any_pieces(seed: int) -> None:
    draw = mixer = random.Random(seed)
    rows = []
    for _ in range(4 * MOST_VALUES):
        took, distance = int(draw.lognormvariate(13, 1)), draw.randrange(10**6)
        rows.append(units(reason_ms=took, delta_s=distance, tau=draw.randrange(-(10**6), 10**6)))
    whole = Minute(1)
    for row in rows:
        whole.take(row)
    mixer.shuffle(rows)
    cut = mixer.randrange(len(rows))
    one, other = Minute(1), Minute(1)
    for n, row in enumerate(rows):
        (one if n < cut else other).take(row)
    one = Minute.restore(one.state())
    one.merge(other)
    assert one.state() == whole.state()
    for field in ("reason_ms", "delta_s", "tau"):
        place = PLACE[field]
        assert len(whole.values[field]) <= MOST_VALUES
        assert whole.count(field) == len(rows)
        assert whole.total(field) == Fraction(sum(row[place] or 0 for row in rows), unit_of(field))
        for limit in LIMITS[field]:
            above = sum((row[place] or 0) > limit for row in rows)
            assert sum(times for value, times in whole.values[field].items() if value > limit) == above


@settings(deadline=None, derandomize=True)
@given(st.integers(-(1 << 40), 1 << 40), st.integers(1, 40), st.integers(1, 40))
def test_fewer_bits_after_more_are_fewer_bits_at_once(value: int, more: int, fewer: int) -> None:
    more, fewer = max(more, fewer), min(more, fewer)
    limits = LIMITS["delta_s"]
    assert kept(kept(value, more, limits), fewer, limits) == kept(value, fewer, limits)
    assert abs(value - kept(value, fewer)) * 2 ** (fewer - 1) <= abs(value)


@pytest.mark.parametrize(
    ("field", "limit", "baseline", "rule"),
    [
        ("e2e_ms", 2_000_000, {}, "e2e_p95"),
        ("reason_ms", 1_300_000, {"reason_ms": Fraction(1000), "retrieve_ms": Fraction(1000)}, "latency"),
        ("delta_s", 450_000, {}, "delta_s_spike"),
    ],
)
def test_just_above_a_limit_with_many_values(field: str, limit: int, baseline: dict[str, Fraction], rule: str) -> None:
    """6 % (of ΔS 60 %) of the values lie a little above the limit, all others far below, and none is like another."""
    few = 60 if field == "delta_s" else 6
    for above in (True, False):
        watch, fired = Watch(baseline=baseline), set()
        for at in range(1, 11):
            minute = Minute(at)
            for n in range(4000):
                value = limit // 3 + 37 * n
                if n % 100 < few:
                    value = limit + 1 + n // 10 if above else limit - n // 10
                minute.take(units(**{field: value} | ({"retrieve_ms": 1} if rule == "latency" else {})))
            assert field in minute.bits
            fired |= {alert.rule for alert in watch.step(minute)}
        assert rule in fired or not above
        assert above or rule == "latency" or rule not in fired  # beside a limit of a baseline values are rounded up


def test_a_few_values_are_kept_as_they_are() -> None:
    minute = Minute(1)
    for n in range(MOST_VALUES):
        minute.take(units(coverage=n))
    assert minute.bits == {}
    assert minute.values["coverage"] == dict.fromkeys(range(MOST_VALUES), 1)


def test_made_up_builds_do_not_hide_a_real_one() -> None:
    minute = Minute(1)
    minute.take(units(), ("zz-real", "h1"))
    for n in range(3 * MOST_BUILDS):
        minute.take(units(), (f"b{n:04d}", "h"))
        minute = Minute.restore(minute.state()) if n == MOST_BUILDS else minute
    minute.take(units(), ("zz-real", "h2"))
    assert len(minute.hashes) == MOST_BUILDS
    assert minute.built["zz-real", "h1"] == minute.built["zz-real", "h2"] == 1
    assert minute.built[OTHERS] == 2 * MOST_BUILDS + 1
    other = Minute(2)
    other.take(units(), OTHERS)
    watch = Watch()
    found = [alert for one in (minute, other) for alert in watch.step(one)]
    assert [(alert.rule, alert.value) for alert in found] == [("index_drift", Fraction(2))]


def test_made_up_hashes_of_a_build_are_a_few() -> None:
    minute = Minute(1)
    for n in range(1000):
        minute.take(units(), ("b", f"h{n}"))
    minute.take(units(), ("c", "h"))
    again = Minute.restore(minute.state())
    again.take(units(), ("b", "new"))
    assert len(minute.built) == len(again.built) == MOST_HASHES + 2
    assert OTHERS not in again.built


def test_slices_are_counted_apart_where_they_are_watched() -> None:
    minute = Minute(1, {"region=eu", "region=other"})
    for region in ("eu", "eu", "us", "xx"):
        minute.add(Sample(Fraction(60), coverage=Fraction(1), slices=(f"region={region}", "client=c")))
    assert {name: part["coverage"] for name, part in minute.slices.items()} == {
        "region=eu": {1_000_000: 2}, "region=other": {1_000_000: 2},
    }  # fmt: skip
    again = Minute.restore(minute.state())
    assert again.state() == minute.state()
    again.merge(minute)
    assert again.slices["region=eu"]["coverage"] == {1_000_000: 4}


def test_minutes_end_at_full_minutes() -> None:
    assert [minutes.minute_of(Fraction(ts)) for ts in (0, 1, 60, 61)] == [0, 1, 1, 2]
