"""When live traffic lets a canary go on, takes it back or makes it wait: every rule at its edge, exact."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest

from ragworthy.live.minutes import Minute
from ragworthy.rollout.entries import Basis, Evidence, Numbers
from ragworthy.rollout.reads import Held
from ragworthy.rollout.rules import Check, Decision, check
from ragworthy.rollout.stages import ALERTS, Plan, Stage, State
from rollouts_laid import minute, shares

PLAN = Plan(live="v1", shadow="v2")
CANARY = Stage(State.CANARY, "0.05")
SINCE = 1000
GOLD = Evidence(
    kind="receipt", path="r.json", sha256="0" * 64, verdict="SHIP", verified=True, eligible=True, shadow_index="h2",
    recall=Numbers("45/50", "44/50"), flip=Numbers("5/100", "5/100"),
)  # fmt: skip
GOOD: dict[str, Any] = {
    "coverage": "1", "accurate": "1", "delta_s": "0.3", "e2e_ms": "450", "retrieve_ms": "40", "reason_ms": "400",
}  # fmt: skip


def steady(count: int = 10, minutes: int = 60, since: int = SINCE, **fields: Any) -> list[Minute]:
    return [minute(since + nth, count, built=("v2", "h2"), **GOOD | fields) for nth in range(1, minutes + 1)]


def looked(canary: Sequence[Minute], live: Sequence[Minute] | None = None, **given: Any) -> Check:
    how: dict[str, Any] = {"plan": PLAN, "known": [GOLD], "stage": CANARY, **given}
    sides = (steady(20) if live is None else live, canary)
    return check(how["plan"], how["stage"], SINCE, sides, how["known"], how.get("until"))


def held(found: Check, rule: str) -> Held:
    return next(one.held for one in (*found.back, *found.on) if one.rule == rule)


def test_a_good_hour_goes_on() -> None:
    found = looked(steady())
    assert found.decision is Decision.GO_ON
    assert {one.held for one in found.on} == {Held.HOLDS}
    assert {one.held for one in found.back} == {Held.HOLDS}
    assert [one.rule for one in found.on] == [
        "coverage", "citation_accuracy", "delta_s_median", "recall_drop", "lambda_flip",
    ]  # fmt: skip
    assert [one.rule for one in found.back] == [
        "alert_windows", "index_drift", "judged_index", "p95_over_target", "empty_rate", "error_rate",
    ]  # fmt: skip


# promotion: right at the limit, and one step beyond


def last_hour(field: str, values: Sequence[str]) -> list[Minute]:
    """600 samples in an hour with these values of a field."""
    return [
        minute(SINCE + 1 + nth, 10, built=("v2", "h2"), **GOOD | {field: values[nth * 10 : nth * 10 + 10]})
        for nth in range(60)
    ]


@pytest.mark.parametrize(
    ("rule", "field", "values", "expected"),
    [
        ("citation_accuracy", "accurate", shares(570, 600), Held.HOLDS),  # 0.95
        ("citation_accuracy", "accurate", shares(569, 600), Held.FAILS),
        ("delta_s_median", "delta_s", ["0.40"] * 600, Held.HOLDS),
        ("delta_s_median", "delta_s", ["0.3", "0.5"] * 300, Held.HOLDS),  # the mean of both is 0.40
        ("delta_s_median", "delta_s", ["0.3", "0.500002"] * 300, Held.FAILS),
    ],
)
def test_limits_of_the_canary_alone(rule: str, field: str, values: list[str], expected: Held) -> None:
    found = looked(last_hour(field, values))
    assert held(found, rule) is expected
    assert found.decision is (Decision.GO_ON if expected is Held.HOLDS else Decision.WAIT)


def test_coverage_is_held_against_live_exactly() -> None:
    live = [minute(SINCE + 1 + nth, 10, coverage=shares(9, 10)) for nth in range(60)]  # 540 of 600
    assert held(looked(last_hour("coverage", shares(540, 600)), live), "coverage") is Held.HOLDS
    assert held(looked(last_hour("coverage", shares(539, 600)), live), "coverage") is Held.FAILS


def test_recall_may_drop_by_two_points_and_no_more() -> None:
    for shadow, expected in (("44/50", Held.HOLDS), ("0.8799999", Held.FAILS), ("1", Held.HOLDS)):
        known = [GOLD, Evidence(**{**_fields(GOLD), "recall": Numbers("0.90", shadow)})]
        assert held(looked(steady(), known=known), "recall_drop") is expected, shadow
    assert held(looked(steady(), known=[]), "recall_drop") is Held.NOT_MEASURED


def _fields(one: Evidence) -> dict[str, Any]:
    return {name: getattr(one, name) for name in one.__struct_fields__}


def test_lambda_comes_from_traffic_where_it_is_known_there() -> None:
    live = [minute(SINCE + 1 + nth, 10, **GOOD, diverged=shares(1, 10)) for nth in range(60)]  # 60 of 600
    for ones, expected in ((60, Held.HOLDS), (61, Held.FAILS)):
        found = looked(last_hour("diverged", shares(ones, 600)), live)
        assert held(found, "lambda_flip") is expected
    read = looked(steady()).on[-1]
    assert (read.rule, read.source, read.value) == ("lambda_flip", "the gold set", Fraction(1, 20))
    worse = Evidence(**{**_fields(GOLD), "flip": Numbers("5/100", "6/100")})
    assert held(looked(steady(), known=[worse]), "lambda_flip") is Held.FAILS
    assert held(looked(steady(), known=[]), "lambda_flip") is Held.NOT_MEASURED


def test_too_few_samples_and_too_little_time_wait() -> None:
    assert looked(steady(minutes=59), until=SINCE + 59).decision is Decision.WAIT
    assert looked(steady(minutes=59), until=SINCE + 59).early == "59 of 60 minutes passed"
    few = [minute(SINCE + 1 + nth, 10, built=("v2", "h2"), **GOOD) for nth in range(20)]  # 200 samples
    assert held(looked(few, until=SINCE + 60), "coverage") is Held.HOLDS
    few = [*few[:-1], minute(SINCE + 20, 9, built=("v2", "h2"), **GOOD)]  # 199
    found = looked(few, until=SINCE + 60)
    assert held(found, "coverage") is Held.TOO_FEW and found.decision is Decision.WAIT
    assert looked([]).decision is Decision.WAIT


def test_records_before_the_stage_and_in_its_first_minute_do_not_count() -> None:
    old = [minute(SINCE - nth, 100, built=("v2", "old"), **GOOD | {"coverage": "0"}) for nth in range(3)]
    found = looked([*old, *steady()])
    assert found.decision is Decision.GO_ON and found.records == (1200, 600)


def test_a_field_that_no_record_has_is_not_measured() -> None:
    bare = [minute(SINCE + 1 + nth, 10, built=("v2", "h2"), coverage="1") for nth in range(60)]
    found = looked(bare)
    assert held(found, "citation_accuracy") is Held.NOT_MEASURED and found.decision is Decision.WAIT


# rollback


def at_minutes(bad: Sequence[int], **fields: Any) -> list[Minute]:
    """250 samples a minute; those of some minutes, counted from the first one, say something else."""
    return [
        minute(SINCE + nth, 250, built=("v2", "h2"), **GOOD | (fields if nth in bad else {})) for nth in range(1, 61)
    ]


def test_w49_two_hashes_of_one_build_roll_back_at_once() -> None:
    canary = steady()
    canary[29].built["v2", "h3"] = 1
    found = looked(canary)
    assert found.decision is Decision.ROLL_BACK
    drift = next(one for one in found.back if one.rule == "index_drift")
    assert (drift.held, drift.at, drift.value) == (Held.FAILS, SINCE + 30, Fraction(2))
    # at that very tick, and for good: what is looked at later still says so
    assert looked(canary[:30], until=SINCE + 30).decision is Decision.ROLL_BACK
    assert looked(canary[:29], until=SINCE + 29).decision is Decision.WAIT
    assert looked(canary, until=SINCE + 60).decision is Decision.ROLL_BACK


def test_two_builds_with_a_hash_each_are_no_drift() -> None:
    canary = steady()
    canary[29].built["v3", "h3"] = 1
    assert looked(canary).decision is Decision.GO_ON


def test_two_alert_windows_in_a_row_roll_back_and_one_does_not() -> None:
    """Coverage is bad from minute 11 on. The five minutes before tick t hold t − 10 bad ones, so their mean is below
    0.70 from tick 12 on (3/5); it alerts at the fifth such tick, 16, and the window that adjoins it ends at 21.
    """
    bad = at_minutes(range(11, 61), coverage="0")
    found = looked(bad)
    twice = found.back[0]
    assert (twice.rule, twice.held, twice.at, twice.why) == (
        "alert_windows", Held.FAILS, SINCE + 21, "coverage_drop, then coverage_drop",
    )  # fmt: skip
    assert looked(bad, until=SINCE + 20).decision is Decision.WAIT
    # bad for seven minutes: true at ticks 12 … 20, so it alerts at 16 … 20 and never five minutes apart
    assert held(looked(at_minutes(range(11, 18), coverage="0")), "alert_windows") is Held.HOLDS
    assert held(looked(at_minutes(range(11, 20), coverage="0")), "alert_windows") is Held.FAILS


def test_another_alert_in_the_next_window_counts_too() -> None:
    bad = [
        minute(SINCE + nth, 250, built=("v2", "h2"), **GOOD
               | ({"coverage": "0"} if 11 <= nth <= 16 else {}) | ({"delta_s": "0.9"} if 17 <= nth <= 22 else {}))
        for nth in range(1, 61)
    ]  # fmt: skip
    twice = looked(bad).back[0]
    assert twice.held is Held.FAILS and twice.why == "coverage_drop, then delta_s_spike"


def test_only_the_alerts_of_the_plan_count() -> None:
    bad = at_minutes(range(1, 61), coverage="0")
    without = Plan(live="v1", shadow="v2", alerts=tuple(name for name in ALERTS if name != "coverage_drop"))
    assert held(looked(bad, plan=without), "alert_windows") is Held.HOLDS
    odd = at_minutes(range(1, 61), unauthorised="1")  # no alert of the page that says "two windows"
    assert held(looked(odd), "alert_windows") is Held.HOLDS
    assert held(looked(odd, plan=Plan(live="v1", shadow="v2", alerts=("auth_failure",))), "alert_windows") is Held.FAILS


def test_p95_over_target_for_ten_minutes() -> None:
    """The window of five minutes is over the target from the first slow minute on: a fifth of it is slow."""
    assert held(looked(at_minutes(range(11, 17), e2e_ms="2001")), "p95_over_target") is Held.FAILS  # ticks 11 … 20
    assert held(looked(at_minutes(range(11, 16), e2e_ms="2001")), "p95_over_target") is Held.HOLDS  # ticks 11 … 19
    assert held(looked(at_minutes(range(1, 61), e2e_ms="2000")), "p95_over_target") is Held.HOLDS
    lax = Plan(live="v1", shadow="v2", p95_ms="2001")
    assert held(looked(at_minutes(range(1, 61), e2e_ms="2001"), plan=lax), "p95_over_target") is Held.HOLDS


def errors(ones: int, count: int) -> list[str]:
    return shares(ones, count)


def test_errors_over_three_times_those_of_live() -> None:
    live = [minute(SINCE + nth, 100, **GOOD, error=errors(1, 100)) for nth in range(1, 61)]  # 1 %
    for ones, expected in ((30, Held.HOLDS), (31, Held.FAILS)):  # of 1,000 in five minutes
        canary = [minute(SINCE + nth, 200, built=("v2", "h2"), **GOOD, error=errors(ones if nth == 5 else 0, 200))
                  for nth in range(1, 6)]  # fmt: skip
        assert held(looked(canary, live, until=SINCE + 5), "error_rate") is expected
    fixed = Plan(live="v1", shadow="v2", error_rate="0.02")
    canary = [minute(SINCE + nth, 200, built=("v2", "h2"), **GOOD, error=errors(12, 200)) for nth in range(1, 6)]
    assert held(looked(canary, [], plan=fixed, until=SINCE + 5), "error_rate") is Held.HOLDS  # 6 % is three times 2 %
    assert held(looked(canary, live), "error_rate") is Held.FAILS
    assert held(looked(canary, []), "error_rate") is Held.NOT_MEASURED


def test_where_live_has_no_error_in_n_the_limit_is_three_in_n() -> None:
    live = [minute(SINCE + nth, 10, **GOOD) for nth in range(1, 61)]  # 0 of 600: the limit is 3/600
    for ones, expected in ((1, Held.HOLDS), (2, Held.FAILS)):  # of 200; the window grows until it has them
        canary = [minute(SINCE + 1, 200, built=("v2", "h2"), **GOOD, error=errors(ones, 200))]
        assert held(looked(canary, live), "error_rate") is expected


def test_empty_retrieval_over_one_percent() -> None:
    for ones, expected in ((10, Held.HOLDS), (11, Held.FAILS)):
        canary = [minute(SINCE + 1, 1000, built=("v2", "h2"), **GOOD, empty=shares(ones, 1000))]
        assert held(looked(canary), "empty_rate") is expected


def test_what_was_promoted_is_watched_for_rollback_only() -> None:
    promoted = Stage(State.PROMOTED, "1")
    before = steady(20, since=SINCE - 60)  # all of the traffic is the new build's now
    found = looked(steady(), before, stage=promoted)
    assert found.decision is Decision.GO_ON and found.on == () and found.records == (0, 600)
    assert looked([], before, stage=promoted, until=SINCE + 60).decision is Decision.WAIT
    assert held(looked(steady(), [], stage=promoted), "error_rate") is Held.NOT_MEASURED
    assert looked(steady(), [], stage=promoted).decision is Decision.WAIT
    drifted = steady()
    drifted[3].built["v2", "h3"] = 1
    assert looked(drifted, [], stage=promoted).decision is Decision.ROLL_BACK


def test_minutes_in_any_pieces_give_the_same_check() -> None:
    canary = steady()
    halves = [minute(one.at, 5, built=("v2", "h2"), **GOOD) for one in canary for _ in range(2)]
    assert looked(canary) == looked(sorted(halves, key=lambda one: one.at))


# which index answers


def test_two_indexes_of_the_canary_are_drift_however_far_apart() -> None:
    canary = steady()
    for one in canary[20:30]:
        one.built.clear()  # ten minutes that name none
    for one in canary[30:]:
        one.built.clear()
        one.built["v2", "h3"] = 10
    known = [GOLD, Evidence(**{**_fields(GOLD), "basis": Basis(live_index="h3")})]
    drift = next(one for one in looked(canary, known=known).back if one.rule == "index_drift")
    assert (drift.held, drift.at) == (Held.FAILS, SINCE + 31)


def of_index(index: str | None, minutes: int = 60) -> list[Minute]:
    built = None if index is None else ("v2", index)
    return [minute(SINCE + nth, 10, built=built, **GOOD) for nth in range(1, minutes + 1)]


def test_an_index_that_nobody_judged_rolls_back_and_the_one_in_use_waits() -> None:
    live = [minute(SINCE + nth, 20, built=("v1", "h1"), **GOOD) for nth in range(1, 61)]
    assert looked(of_index("h2"), live).decision is Decision.GO_ON
    found = looked(of_index("ffff"), live)
    judged = next(one for one in found.back if one.rule == "judged_index")
    assert (found.decision, judged.at) == (Decision.ROLL_BACK, SINCE + 1)
    assert judged.why == "answers come from ffff, and h2 was judged"
    for index, why in (("h1", "600 of 600 records come from the index in use"),
                       (None, "600 of 600 records name no index")):  # fmt: skip
        found = looked(of_index(index), live)
        judged = next(one for one in found.back if one.rule == "judged_index")
        assert (found.decision, judged.held, judged.why) == (Decision.WAIT, Held.NOT_MEASURED, why)


# only what was known by then


def test_what_comes_later_takes_no_rollback_back() -> None:
    """Live has 1 error in 100 for half an hour, and 10 in 100 after it; the canary has 4 in 100 throughout."""
    live = [minute(SINCE + n, 100, **GOOD, error=shares(1 if n <= 30 else 10, 100)) for n in range(1, 61)]
    canary = [minute(SINCE + n, 100, built=("v2", "h2"), **GOOD, error=shares(4, 100)) for n in range(1, 61)]
    early = next(one for one in looked(canary, live, until=SINCE + 30).back if one.rule == "error_rate")
    late = next(one for one in looked(canary, live).back if one.rule == "error_rate")
    assert early == late and (late.held, late.at, late.limit) == (Held.FAILS, SINCE + 2, Fraction(3, 100))


def test_the_slowness_of_live_is_that_up_to_the_minute() -> None:
    live = [minute(SINCE + n, 100, **GOOD | {"retrieve_ms": "40" if n <= 30 else "400"}) for n in range(1, 61)]
    canary = [minute(SINCE + n, 100, built=("v2", "h2"), **GOOD | {"retrieve_ms": "60"}) for n in range(1, 61)]
    early, late = looked(canary, live, until=SINCE + 30).back[0], looked(canary, live).back[0]
    assert early == late and (late.held, late.why) == (Held.FAILS, "latency, then latency")


# what was not measured


@pytest.mark.parametrize(("field", "rule"), [("e2e_ms", "p95_over_target"), ("empty", "empty_rate")])
def test_a_rule_of_rollback_that_was_not_measured_waits(field: str, rule: str) -> None:
    canary = steady()
    for one in canary:
        one.values[field].clear()
    found = looked(canary)
    assert held(found, rule) is Held.NOT_MEASURED and found.decision is Decision.WAIT


def test_a_canary_that_fell_silent_waits() -> None:
    """Live goes on until minute 60."""
    live = steady(20)
    assert looked(steady(minutes=56), live).decision is Decision.GO_ON
    found = looked(steady(minutes=55), live)
    assert found.decision is Decision.WAIT
    assert found.waits == ("no record of the canary in the last 5 minutes, and the live side goes on",)
    assert looked(steady(), live, until=SINCE + 70).decision is Decision.GO_ON
    found = looked(steady(), live, until=SINCE + 71)
    assert found.waits == ("the log ended 11 minutes before the end",) and found.decision is Decision.WAIT


# refusals


def refusing(ones: int, count: int = 100) -> list[Minute]:
    return [minute(SINCE + n, count, built=("v2", "h2"), **GOOD, refused=shares(ones, count)) for n in range(1, 61)]


@pytest.mark.parametrize(
    ("ones", "expected"),
    [(5, Decision.GO_ON), (7, Decision.GO_ON), (8, Decision.WAIT), (15, Decision.WAIT), (16, Decision.ROLL_BACK)],
)
def test_a_canary_refuses_hardly_more_than_live(ones: int, expected: Decision) -> None:
    """Live refuses 5 of 100: up to 7 go on, more than 15 are taken back."""
    assert looked(refusing(ones), refusing(5)).decision is expected


def test_refusals_that_one_side_alone_tells_wait() -> None:
    assert looked(refusing(0), steady(20)).decision is Decision.WAIT
    assert held(looked(steady(), refusing(0)), "refusals") is Held.NOT_MEASURED
