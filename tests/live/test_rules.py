"""Alerts on live traffic: the worked example W-49, the edge of every rule, windows that grow, replays."""

import re
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from places import ROOT
from ragworthy.live.rules import ENOUGH, LONGEST, RULES, Rule, Sample, State, Tick, evaluate

BY_NAME = {rule.name: rule for rule in RULES}
NOON = 12 * 60


def minute(hour_and_minute: str) -> int:
    hour, _, past = hour_and_minute.partition(":")
    return int(hour) * 60 + int(past)


def clock(ticks: list[Tick]) -> list[str]:
    """The minutes at which an alert fires."""
    return [f"{tick.at // 60}:{tick.at % 60:02d}" for tick in ticks if tick.fires]


def samples(at: int, count: int = ENOUGH, **fields: Any) -> list[Sample]:
    """So many samples in the minute that ends at a tick."""
    return [Sample(Fraction(at * 60), **fields) for _ in range(count)]


def covered(shares: dict[int, str]) -> list[Sample]:
    """Each minute has 1,000 samples, so many of them covered that five minutes of it have just that share."""
    return [
        Sample(Fraction(at * 60), coverage=Fraction(n < 1000 * Fraction(share)))
        for at, share in shares.items()
        for n in range(1000)
    ]


def alone(rule: Rule) -> Rule:
    """The rule with a window of one minute, so that each tick sees its own minute alone."""
    return rule._replace(window=1)


# W-49


def test_w49_coverage_below_at_five_ticks_fires_at_the_fifth() -> None:
    bad = {minute(f"12:{n:02d}"): "0.69" if 6 <= n <= 10 else "0.71" for n in range(1, 16)}
    ticks = evaluate(alone(BY_NAME["coverage_drop"]), covered(bad), minute("12:01"), minute("12:15"))
    assert [tick.at - NOON for tick in ticks if tick.state is State.TRUE] == [6, 7, 8, 9, 10]
    assert min(reading.samples for tick in ticks for reading in tick.readings) >= 200
    assert clock(ticks) == ["12:10"]


def test_w49_a_tick_that_is_false_begins_the_count_again() -> None:
    bad = {minute(f"12:{n:02d}"): "0.71" if n == 8 else "0.69" for n in range(6, 15)}
    ticks = evaluate(alone(BY_NAME["coverage_drop"]), covered(bad), minute("12:06"), minute("12:14"))
    assert clock(ticks) == ["12:13", "12:14"]  # 12:09 … 12:13 are the first five in a row


def test_w49_two_hashes_of_one_build_alert_at_that_tick_and_roll_back() -> None:
    rule = BY_NAME["index_drift"]
    seen = [Sample(Fraction(minute("12:03") * 60), built=("b1", "h1"))]
    seen.append(Sample(Fraction(minute("12:05") * 60 - 20), built=("b1", "h2")))
    assert clock(evaluate(rule, seen, minute("12:03"), minute("12:09"))) == ["12:05", "12:06", "12:07"]
    assert rule.rollback
    assert [other.name for other in RULES if other.rollback] == ["index_drift"]
    two_builds = [seen[0], seen[1]._replace(built=("b2", "h2"))]
    assert clock(evaluate(rule, two_builds, minute("12:03"), minute("12:09"))) == []


# every rule, right at its limit and one step beyond


def with_one(sample: Sample, field: str, value: Fraction) -> Sample:
    changed: dict[str, Any] = {field: value}
    return sample._replace(**changed)


def ones(field: str, share: str) -> list[Sample]:
    """1,000 samples, that share of them 1."""
    return [with_one(Sample(Fraction(0)), field, Fraction(n < 1000 * Fraction(share))) for n in range(1000)]


def spread(field: str, low: str, high: str, above: int) -> list[Sample]:
    """201 samples, so many of them high: the median is at place 100 of 0 … 200, p90 at 180, p95 at 190."""
    values = [low] * (201 - above) + [high] * above
    return [with_one(Sample(Fraction(0)), field, Fraction(value)) for value in values]


def timed(field: str, high: str, above: int) -> list[Sample]:
    """The same for one of the two times, the other one short."""
    both = Sample(Fraction(0), retrieve_ms=Fraction(50), reason_ms=Fraction(50))
    return [both] * (201 - above) + [with_one(both, field, Fraction(high))] * above


EDGES: list[tuple[str, list[Sample], list[Sample]]] = [
    ("coverage_drop", ones("coverage", "0.70"), ones("coverage", "0.699")),
    ("delta_s_spike", spread("delta_s", "0.45", "0.599", 80), spread("delta_s", "0.1", "0.60", 21)),
    ("delta_s_spike", spread("delta_s", "0.45", "0.45", 0), spread("delta_s", "0.45", "0.4501", 101)),
    ("lambda_flip", ones("diverged", "0.099"), ones("diverged", "0.10")),
    ("citation_mismatch", ones("accurate", "0.95"), ones("accurate", "0.949")),
    ("rerank_instability", spread("tau", "0.6", "0.6", 0), spread("tau", "0.6", "0.599", 1)),
    ("latency", timed("retrieve_ms", "130", 201), timed("retrieve_ms", "131", 11)),
    ("latency", timed("reason_ms", "1300", 201), timed("reason_ms", "1301", 11)),
    ("e2e_p95", spread("e2e_ms", "2000", "2000", 0), spread("e2e_ms", "50", "2001", 11)),
    ("errors", samples(0, 50, error=Fraction(1)), samples(0, 51, error=Fraction(1))),
    ("empty_retrieval", samples(0, 1, empty=Fraction(1)), samples(0, 2, empty=Fraction(1))),
    ("chr_floor", ones("cited", "0.6"), ones("cited", "0.599")),
    ("auth_failure", samples(0, 300), samples(0, 1, unauthorised=Fraction(1))),
    ("delta_s_query", samples(0, 9, delta_s=Fraction("0.599")), samples(0, 1, delta_s=Fraction("0.60"))),
    ("delta_s_batch", spread("delta_s", "0.50", "0.50", 0), spread("delta_s", "0.50", "0.51", 1)),
    ("coverage_batch", ones("coverage", "0.95"), ones("coverage", "0.949")),
    ("index_drift", samples(0, 9, built=("b", "h")), [Sample(Fraction(0), built=("b", h)) for h in ("h", "i")]),
]
BASELINE = {"retrieve_ms": Fraction(100), "reason_ms": Fraction(1000)}


@pytest.mark.parametrize(("name", "good", "bad"), EDGES, ids=[name for name, _, _ in EDGES])
def test_a_rule_at_its_limit_and_beyond(name: str, good: list[Sample], bad: list[Sample]) -> None:
    states = [evaluate(BY_NAME[name], given, 0, 0, BASELINE)[0].state for given in (good, bad)]
    assert states == [State.FALSE, State.TRUE]


def test_every_rule_has_its_edges_tested() -> None:
    assert {name for name, _, _ in EDGES} == set(BY_NAME)
    assert len(BY_NAME) == len(RULES)


@pytest.mark.parametrize(
    ("name", "ticks"),
    [
        ("coverage_drop", 5), ("delta_s_spike", 3), ("lambda_flip", 5), ("citation_mismatch", 5), ("index_drift", 1),
        ("rerank_instability", 5), ("latency", 1), ("e2e_p95", 5), ("errors", 2), ("empty_retrieval", 5),
        ("chr_floor", 10), ("auth_failure", 1), ("delta_s_query", 1), ("delta_s_batch", 1), ("coverage_batch", 1),
    ],
)  # fmt: skip
def test_a_rule_fires_after_its_ticks_and_not_one_earlier(name: str, ticks: int) -> None:
    (bad,) = [bad for other, _, bad in EDGES if other == name][-1:]
    again = [sample._replace(ts=Fraction(at * 60)) for at in range(ticks) for sample in bad]
    found = evaluate(alone(BY_NAME[name]), again, 0, ticks - 1, BASELINE)
    assert [tick.fires for tick in found] == [False] * (ticks - 1) + [True]


# windows


def test_a_window_is_open_at_its_beginning_and_closed_at_its_end() -> None:
    rule = BY_NAME["auth_failure"]
    seen = [Sample(Fraction(600), unauthorised=Fraction(1))]  # at minute 10
    assert clock(evaluate(rule, seen, 9, 16)) == ["0:10", "0:11", "0:12", "0:13", "0:14"]  # (10, 15] is without it


def test_a_window_grows_by_minutes_until_it_has_200_samples() -> None:
    rule = BY_NAME["coverage_drop"]
    each_minute = [sample for at in range(1, 31) for sample in samples(at, 10, coverage=Fraction(0))]
    found = evaluate(rule, each_minute, 19, 25)
    assert [tick.state for tick in found] == [State.INSUFFICIENT] + [State.TRUE] * 6
    assert [tick.readings[0].minutes for tick in found] == [LONGEST] + [20] * 6
    assert [tick.readings[0].samples for tick in found] == [190] + [200] * 6
    assert clock(found) == ["0:24", "0:25"]  # insufficient counts for nothing


def test_199_samples_in_an_hour_are_insufficient() -> None:
    old = samples(0, 100, coverage=Fraction(0))
    new = samples(60, 199, coverage=Fraction(0))
    (tick,) = evaluate(BY_NAME["coverage_drop"], [*old, *new], 60, 60)  # (0, 60] is without the old ones
    assert (tick.state, tick.readings[0].samples) == (State.INSUFFICIENT, 199)


def test_only_samples_that_have_the_number_count() -> None:
    mixed = [*samples(0, 199, coverage=Fraction(0)), *samples(0, 500)]
    assert evaluate(BY_NAME["coverage_drop"], mixed, 0, 0)[0].readings[0].samples == 199


def test_a_rule_that_counts_does_not_look_further_back() -> None:
    few = samples(0, 51, error=Fraction(1))
    assert [tick.state for tick in evaluate(BY_NAME["errors"], few, 4, 5)] == [State.TRUE, State.FALSE]


def test_without_a_baseline_latency_is_not_judged() -> None:
    (tick,) = evaluate(BY_NAME["latency"], spread("retrieve_ms", "50", "9000", 100), 0, 0)
    assert tick.state is State.INSUFFICIENT  # nobody logged reason_ms
    both = [one._replace(reason_ms=Fraction(1)) for one in spread("retrieve_ms", "50", "9000", 100)]
    assert evaluate(BY_NAME["latency"], both, 0, 0)[0].state is State.NO_BASELINE


@settings(deadline=None, derandomize=True, max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 900), st.booleans()), max_size=60), st.randoms(use_true_random=False))
def test_the_order_of_the_log_changes_nothing(rows: list[tuple[int, bool]], mixer: Any) -> None:
    log = [Sample(Fraction(ts), error=Fraction(bad), delta_s=Fraction(bad)) for ts, bad in rows for _ in range(9)]
    shuffled = list(log)
    mixer.shuffle(shuffled)
    for rule in RULES:
        assert evaluate(rule, log, 0, 15) == evaluate(rule, shuffled, 0, 15)


@settings(deadline=None, derandomize=True, max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 1200), st.booleans()), max_size=80))
def test_a_count_is_that_of_a_plain_search(rows: list[tuple[int, bool]]) -> None:
    log = [Sample(Fraction(ts), empty=Fraction(bad)) for ts, bad in rows]
    for tick in evaluate(BY_NAME["empty_retrieval"], log, 0, 20):
        inside = sum(bad for ts, bad in rows if (tick.at - 5) * 60 < ts <= tick.at * 60)
        assert tick.readings[0].value == inside
        assert (tick.state is State.TRUE) == (inside > 1)


def test_each_rule_names_its_source() -> None:
    assert all(rule.source.endswith(".md") for rule in RULES)


def test_the_page_has_every_rule_with_its_minutes() -> None:
    page = (ROOT / "docs/monitor.md").read_text(encoding="utf-8").split("## Rules")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| .+ \| (\d+) \|$", page, re.M)
    assert rows == [(rule.name, str(rule.ticks)) for rule in RULES]
    assert {rule.window for rule in RULES} == {5}
