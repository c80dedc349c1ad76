"""The rules on minutes say what the plain evaluation over all samples says, at every tick, for every rule."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragworthy.live.minutes import Minute, minute_of
from ragworthy.live.rules import ENOUGH, LONGEST, RULES, Rule, Sample, State, Tick, evaluate
from ragworthy.live.watch import FIRING, RESOLVED, Alert, Watch

BASELINE = {"retrieve_ms": Fraction(100), "reason_ms": Fraction(1000)}
BY_NAME = {rule.name: rule for rule in RULES}


def minutes_of(samples: list[Sample]) -> list[Minute]:
    made: dict[int, Minute] = {}
    for sample in samples:
        at = minute_of(sample.ts)
        made.setdefault(at, Minute(at)).add(sample)
    return [made[at] for at in sorted(made)]


def watched(
    samples: list[Sample], last: int, rules: tuple[Rule, ...] = RULES
) -> tuple[dict[str, list[Tick]], list[Alert]]:
    """Every tick of every rule, and the alerts."""
    watch = Watch(rules, BASELINE)
    ticks: dict[str, list[Tick]] = {rule.name: [] for rule in rules}
    look = watch.ticks

    def seen() -> list[tuple[Rule, Tick]]:
        found = look()
        for rule, tick in found:
            ticks[rule.name].append(tick)
        return found

    watch.ticks = seen  # type: ignore[method-assign]
    alerts = [alert for minute in minutes_of(samples) for alert in watch.step(minute)]
    return ticks, [*alerts, *watch.until(last)]


SHARES = st.sampled_from([None, Fraction(0), Fraction("0.45"), Fraction("0.6"), Fraction("0.7"), Fraction(1)])
FLAGS = st.sampled_from([None, Fraction(0), Fraction(1)])
TIMES = st.sampled_from([None, Fraction(50), Fraction(130), Fraction(131), Fraction(1301), Fraction(2001)])
BUILT = st.sampled_from([None, ("a", "x"), ("a", "y"), ("b", "x")])


@st.composite
def traffic(draw: Any) -> list[Sample]:
    """Bursts of samples alike, some minutes empty, some windows too small."""
    samples: list[Sample] = []
    at = 0
    for _ in range(draw(st.integers(1, 9))):
        at += draw(st.sampled_from([1, 1, 1, 2, 5, 30, 61]))
        sample = Sample(
            Fraction(at * 60 - draw(st.sampled_from([0, 1, 59]))),
            draw(SHARES), draw(SHARES), draw(FLAGS), draw(FLAGS), draw(SHARES), draw(TIMES), draw(TIMES), draw(TIMES),
            draw(FLAGS), draw(st.sampled_from([Fraction(0), Fraction(1)])), draw(st.sampled_from([Fraction(0)] * 4
            + [Fraction(1)])), draw(st.sampled_from([Fraction(0)] * 4 + [Fraction(1)])), draw(BUILT),
        )  # fmt: skip
        samples += [sample] * draw(st.sampled_from([1, 2, 25, 26, 51, 100, 199, 200]))
    return samples


@settings(deadline=None, derandomize=True, max_examples=30)
@given(traffic())
def test_every_rule_at_every_tick_is_that_of_the_plain_evaluation(samples: list[Sample]) -> None:
    first, last = minute_of(samples[0].ts), minute_of(samples[-1].ts)
    ticks, alerts = watched(samples, last)
    for rule in RULES:
        expected = {tick.at: tick for tick in evaluate(rule, samples, first, last, BASELINE)}
        assert ticks[rule.name] == [expected[tick.at] for tick in ticks[rule.name]]
        left_out = [tick for at, tick in expected.items() if at not in {one.at for one in ticks[rule.name]}]
        assert not any(tick.fires for tick in left_out)
        told = [(alert.at, alert.state) for alert in alerts if alert.rule == rule.name]
        fires = [False, *(tick.fires for tick in expected.values())]
        assert told == [
            (at, FIRING if now else RESOLVED)
            for at, before, now in zip(expected, fires, fires[1:], strict=False)
            if before != now
        ]


def test_a_silence_of_years_is_not_counted_through() -> None:
    samples = [Sample(Fraction(60), unauthorised=Fraction(1)), Sample(Fraction(60 * 30_000_000))]
    ticks, alerts = watched(samples, 30_000_000)
    assert len(ticks["auth_failure"]) < 2 * LONGEST
    assert [(alert.rule, alert.at, alert.state) for alert in alerts] == [
        ("auth_failure", 1, "firing"),
        ("auth_failure", 6, "resolved"),
    ]


def test_w49_on_minutes() -> None:
    samples = []
    for at in range(1, 16):
        covered = 690 if 6 <= at <= 10 else 710
        samples += [Sample(Fraction(at * 60), coverage=Fraction(n < covered)) for n in range(1000)]
    _, alerts = watched(samples, 15, (BY_NAME["coverage_drop"]._replace(window=1),))
    assert [(alert.at, alert.state, alert.value, alert.samples) for alert in alerts] == [
        (10, "firing", Fraction("0.69"), 1000),
        (11, "resolved", Fraction("0.71"), 1000),
    ]


def test_of_two_conditions_the_alert_names_the_one_that_is_bad() -> None:
    samples = [
        Sample(Fraction(at * 60), delta_s=Fraction("0.46" if n > 90 else "0.1")) for at in (1, 2, 3) for n in range(200)
    ]
    _, alerts = watched(samples, 3)
    (alert,) = [one for one in alerts if one.rule == "delta_s_spike"]
    assert (alert.value, alert.limit, alert.sign) == (Fraction("0.46"), Fraction("0.45"), ">")


def test_a_state_goes_on_where_it_ended() -> None:
    samples = [
        Sample(Fraction(at * 60), coverage=Fraction(0 if at > 3 else 1)) for at in range(1, 20) for _ in range(50)
    ]
    one = Watch()
    whole = [alert for minute in minutes_of(samples) for alert in one.step(minute)]
    cut: list[Alert] = []
    state, held = Watch().state(), list[Minute]()
    for minute in minutes_of(samples):
        again = Watch()
        again.restore(state, held)
        cut += again.step(minute)
        state, held = again.state(), [Minute.restore(kept.state()) for kept in again.held]
    assert cut == whole
    assert whole


@pytest.mark.parametrize(("covered", "spent"), [(140, Fraction(1)), (200, Fraction(0)), (0, Fraction(10, 3))])
def test_the_error_budget_is_what_an_hour_may_lack(covered: int, spent: Fraction) -> None:
    watch = Watch()
    samples = [Sample(Fraction(60 + n * 15), coverage=Fraction(n < covered)) for n in range(ENOUGH)]
    for minute in minutes_of(samples):
        list(watch.step(minute))
    budgets = {one.field: one for one in watch.budgets()}
    assert budgets["coverage"].spent == spent
    assert budgets["accurate"].spent is None
    list(watch.until(minute_of(samples[-1].ts) + LONGEST))
    assert watch.budgets()[0].samples == 0


def test_without_a_baseline_latency_is_not_judged() -> None:
    watch = Watch()
    samples = [Sample(Fraction(60), retrieve_ms=Fraction(1), reason_ms=Fraction(1))] * ENOUGH
    for minute in minutes_of(samples):
        list(watch.step(minute))
    assert {rule.name: tick.state for rule, tick in watch.said}["latency"] is State.NO_BASELINE
