"""Alarms with a known number of false ones: sums over all paths, simulation, another library, replays in pieces."""

import itertools
import json
import math
import random
from fractions import Fraction
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragworthy.live.alarms import MONTH, Alarms, Config, Event, alert
from ragworthy.live.cusum import Batch, Cusum, Detector, batch, bets, drift_bet, earnings
from ragworthy.live.minutes import FIELDS, Minute
from ragworthy.live.rules import Sample
from ragworthy.live.sequences import MeanSequence, log_mixture, rate_interval, upper_bound
from ragworthy.live.watched import WATCHED, Acceptance, Accepted, Baseline, Watched, baseline_of, limit_of

ONE = 1_000_000


def ones(bad: int, good: int) -> Batch:
    return Batch(bad + good, float(bad), (float(good), float(bad)))


def minute(at: int, field: str, bad: int, good: int) -> Minute:
    made = Minute(at)
    made.records = bad + good
    made.values[field] |= {value: times for value, times in ((ONE, bad), (0, good)) if times}
    return made


# confidence sequences


def test_the_mixture_is_that_of_confseq() -> None:
    # confseq 0.0.11, beta_binomial_log_mixture, two-sided, at 1/2 with the v_opt that makes its prior uniform.
    for successes, cases, expected in [
        (9, 10, 2.230991439807), (60, 100, -0.090964877981), (480, 1000, -2.429422423732),
        (560, 1000, 3.981297047376), (5210, 10000, 4.442258363117),
    ]:  # fmt: skip
        assert log_mixture(successes, cases, 0.5) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("share", [0.02, 0.3, 0.5, 0.97])
def test_the_mixture_has_expectation_one_at_the_true_share(share: float) -> None:
    cases = 40
    whole = math.fsum(
        math.comb(cases, n) * share**n * (1 - share) ** (cases - n) * math.exp(log_mixture(n, cases, share))
        for n in range(cases + 1)
    )
    assert whole == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("share", [0.03, 0.2, 0.5])
def test_a_rate_leaves_its_sequence_at_any_look_in_one_of_ten_streams_at_most(share: float) -> None:
    draw, streams, left = random.Random(7), 400, 0
    for _ in range(streams):
        successes, out = 0, False
        for cases in range(1, 401):
            successes += draw.random() < share
            out = out or log_mixture(successes, cases, share) >= math.log(10)
        left += out
    assert left / streams <= 0.10 + 2 * math.sqrt(0.09 / streams)


def test_the_interval_of_a_rate_ends_where_the_evidence_is_enough() -> None:
    low, high = rate_interval(820, 1000, 0.05)
    assert [log_mixture(820, 1000, end) for end in (low, high)] == pytest.approx([math.log(20)] * 2, abs=1e-6)
    assert rate_interval(0, 50, 0.05).low == 0.0
    assert rate_interval(50, 50, 0.05).high == 1.0


WAVE = [((n * n * 37 + 11 * n) % 101) / 100 * 0.6 + 0.1 for n in range(1, 2001)]


def test_the_sequence_of_a_mean_is_the_formula_of_the_paper_and_near_that_of_confseq() -> None:
    sequence = MeanSequence(0.05)
    found = {}
    for place, value in enumerate(WAVE, 1):
        sequence.add(1, value, value * value)
        found[place] = sequence.interval()
    # Waudby-Smith and Ramdas, equations of the predictable plug-in, worked out in numpy.
    assert found[100] == pytest.approx((0.3127833870079554, 0.4810966129920444), abs=1e-12)
    assert found[2000] == pytest.approx((0.3816408025847745, 0.40741813312641584), abs=1e-12)
    # confseq 0.0.11, predmix_empbern_twosided_cs; it expects 0 before the first number where the paper expects 1/2.
    assert found[100] == pytest.approx((0.312219595, 0.482525704), abs=2e-3)
    assert found[1000] == pytest.approx((0.376421448, 0.41262744), abs=5e-4)
    assert found[2000] == pytest.approx((0.381584134, 0.407561951), abs=5e-4)


def test_a_mean_stays_in_its_sequence_with_minutes_of_any_size() -> None:
    draw, streams, left = random.Random(8), 300, 0
    for _ in range(streams):
        sequence, out = MeanSequence(0.1), False
        for _ in range(60):
            values = [draw.betavariate(2, 3) for _ in range(draw.randrange(8))]
            sequence.add(len(values), sum(values), sum(value * value for value in values))
            low, high = sequence.interval()
            out = out or not low <= 0.4 <= high
        left += out
    assert left / streams <= 0.10 + 2 * math.sqrt(0.09 / streams)


@pytest.mark.parametrize(("share", "cases"), [(0.05, 60), (0.2, 200), (0.5, 40), (0.95, 100)])
def test_the_bound_of_a_baseline_is_wrong_with_its_risk_at_most(share: float, cases: int) -> None:
    for risk in (0.05, 0.001):
        missed = math.fsum(
            math.comb(cases, n) * share**n * (1 - share) ** (cases - n)
            for n in range(cases + 1)
            if upper_bound(n / cases, cases, risk) < share
        )
        assert missed <= risk


def test_the_bound_of_a_mean_uses_its_variance_and_holds() -> None:
    draw, wrong, trials, size = random.Random(9), 0, 2000, 300
    for _ in range(trials):
        values = [draw.betavariate(8, 12) for _ in range(size)]
        mean = sum(values) / size
        variance = sum((value - mean) ** 2 for value in values) / (size - 1)
        wrong += upper_bound(mean, size, 0.05, variance) < 0.4
    assert wrong / trials <= 0.05
    assert upper_bound(0.4, 6608, 0.001, 0.0114) < upper_bound(0.4, 6608, 0.001)


# detectors: sums over every path, so no chance is involved


def paths(length: int, share: float) -> list[tuple[float, tuple[int, ...]]]:
    return [
        (math.prod(share if bad else 1 - share for bad in path), path)
        for path in itertools.product((0, 1), repeat=length)
    ]


@pytest.mark.parametrize("limit", [0.1, 0.3, 0.6])
def test_the_money_expected_at_the_limit_is_the_number_of_steps(limit: float) -> None:
    expected = 0.0
    for chance, path in paths(9, limit):
        detector = Detector(limit, 1)
        for at, bad in enumerate(path, 1):
            detector.step(at, ones(bad, 1 - bad))
        expected += chance * math.expm1(detector.evidence)
    assert expected == pytest.approx(9, rel=1e-9)


@pytest.mark.parametrize("threshold", [1.5, 4.0, 12.0])
@pytest.mark.parametrize("true", [0.1, 0.3])
def test_no_more_false_alarms_are_expected_than_steps_over_threshold(threshold: float, true: float) -> None:
    limit, length = 0.3, 11
    for kind in ("anytime", "cusum"):
        expected = 0.0
        for chance, path in paths(length, true):
            detector: Detector | Cusum = Detector(limit, 1) if kind == "anytime" else Cusum(limit, 1.5, 1)
            alarms = 0
            for at, bad in enumerate(path, 1):
                detector.step(at * (1 if kind == "anytime" else 60), ones(bad, 1 - bad))
                if detector.above(threshold):
                    alarms += 1
                    detector = Detector(limit, 1) if kind == "anytime" else Cusum(limit, 1.5, 1)
            expected += chance * alarms
        assert expected <= length / threshold


def test_false_alarms_in_a_long_stream_at_the_limit_stay_below_the_bound() -> None:
    draw, threshold, steps, streams = random.Random(11), 100.0, 600, 60
    alarms = 0
    for _ in range(streams):
        detector = Detector(0.2, 1)
        for at in range(steps):
            bad = sum(draw.random() < 0.2 for _ in range(5))
            detector.step(at, ones(bad, 5 - bad))
            if detector.above(threshold):
                alarms += 1
                detector = Detector(0.2, 1)
    assert 20 < alarms <= streams * steps / threshold  # neither too many nor so few that the bound says nothing


def test_a_bet_on_a_rate_is_the_likelihood_ratio() -> None:
    low, high = earnings(drift_bet(0.2, 0.05), 0.2, 1)
    assert (math.exp(low), math.exp(high)) == pytest.approx((0.75 / 0.8, 0.25 / 0.2))


@settings(deadline=None, derandomize=True, max_examples=80)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.floats(0.02, 0.9), st.sampled_from([1, 4, 64]))
def test_the_grid_never_overstates_what_a_bet_earns_and_keeps_the_mean(
    values: list[float], limit: float, cells: int
) -> None:
    counts = {value: values.count(value) for value in values}
    seen = batch(counts, cells)
    assert seen.cases == len(values)
    assert seen.total == pytest.approx(sum(values))
    assert sum(n / cells * weight for n, weight in enumerate(seen.weights)) == pytest.approx(sum(values), abs=1e-9)
    for bet in bets(limit):
        exact = sum(math.log1p(bet * (value - limit)) for value in values)
        on_grid = sum(weight * each for weight, each in zip(seen.weights, earnings(bet, limit, cells), strict=True))
        assert on_grid <= exact + 1e-9


def test_the_cusum_counts_an_hour_when_it_is_over_even_if_its_last_minute_is_missing() -> None:
    whole, gap = Cusum(0.2, 1.0, 1), Cusum(0.2, 1.0, 1)
    for at in range(1, 60):
        whole.step(at, ones(3, 2))
        gap.step(at, ones(3, 2))
    assert whole.evidence == 0.0
    whole.step(60, ones(0, 0))
    gap.step(61, ones(0, 0))
    assert whole.evidence == gap.evidence == pytest.approx(59 * (3 * math.log(1.8) + 2 * math.log(0.8)))
    assert whole.stretch() == (1, 295, 177.0)


# the whole


ERRORS = Watched("error")
BOTH = Config(watches=(ERRORS, Watched("coverage", "down")))
GIVEN = Baseline({"error": Accepted(0.02, 50_000), "coverage": Accepted(0.8, 50_000)})


def errors(shares: list[float], size: int = 100, first: int = 1) -> list[Minute]:
    draw = random.Random(5)
    made = []
    for at, share in enumerate(shares, first):
        bad = sum(draw.random() < share for _ in range(size))
        made.append(minute(at, "error", bad, size - bad))
    return made


def events(alarms: Alarms, minutes: list[Minute]) -> list[Event]:
    return [event for one in minutes for event in alarms.step(one)]


def test_a_drop_fires_says_since_when_and_resolves() -> None:
    stream = errors([0.02] * 300 + [0.10] * 60 + [0.02] * 400)
    fired = events(Alarms(BOTH, GIVEN), stream)
    fast = [event for event in fired if event.rule == "anytime:error"]
    assert [event.state for event in fast] == ["firing", "resolved"]
    assert 300 < fast[0].at <= 310
    assert abs(fast[0].at - fast[0].minutes + 1 - 301) <= 3
    assert fast[0].value == pytest.approx(0.10, abs=0.03)
    assert fast[0].limit == pytest.approx(limit_of(ERRORS, GIVEN.fields["error"], 0.005), abs=1e-6)
    assert (fast[0].sign, fast[0].slice, fast[0].moved) == (">", None, ())
    assert fast[1].at > 360


def test_a_slow_rise_is_seen_by_the_cusum_at_the_end_of_an_hour() -> None:
    stream = errors([0.02] * 600 + [0.02 + 0.06 * n / 3000 for n in range(3000)], size=40)
    slow = [event for event in events(Alarms(BOTH, GIVEN), stream) if event.rule == "cusum:error"]
    assert slow[0].state == "firing"
    assert slow[0].at % 60 == 0
    assert slow[0].at - slow[0].minutes > 600


def test_what_gets_better_or_stays_within_the_tolerance_never_fires() -> None:
    assert events(Alarms(BOTH, GIVEN), errors([0.02] * 500 + [0.0] * 500 + [0.029] * 1000)) == []


def test_the_budget_is_divided_among_all_that_is_watched() -> None:
    alarms = Alarms(BOTH, GIVEN)
    each = 0.1 / 4
    thresholds = {stream.rule: stream.threshold for stream in alarms._streams}
    assert thresholds == {
        "anytime:error": pytest.approx(MONTH / each), "cusum:error": pytest.approx(MONTH / 60 / each),
        "anytime:coverage": pytest.approx(MONTH / each), "cusum:coverage": pytest.approx(MONTH / 60 / each),
    }  # fmt: skip
    parts = {f"region={n}": {"error": Accepted(0.02, 5000)} for n in range(4)}
    shared = Alarms(BOTH, Baseline(GIVEN.fields, parts))
    spent = sum((MONTH if "anytime" in one.rule else MONTH / 60) / one.threshold for one in shared._streams)
    assert spent == pytest.approx(0.1)


def test_a_baseline_from_200_questions_does_not_cry_wolf_where_its_bare_number_would() -> None:
    draw, true, bare, held = random.Random(3), 0.2, 0, 0
    config = Config(watches=(Watched("error", tolerance=0.0),))
    for _ in range(40):
        seen = sum(draw.random() < true for _ in range(200)) / 200
        stream = errors([true] * 150, size=400)
        bare += bool(events(Alarms(config, Baseline({"error": Accepted(seen)})), stream))
        held += bool(events(Alarms(config, Baseline({"error": Accepted(seen, 200)})), stream))
    assert bare >= 10  # the sample was lucky in nearly half of the cases, and then live looks worse for ever
    assert held == 0


def test_a_baseline_too_small_to_say_anything_is_named_and_not_watched() -> None:
    alarms = Alarms(BOTH, Baseline({"error": Accepted(0.5, 2), "coverage": Accepted(0.9, 900), "tone": Accepted(1.0)}))
    assert [(blind.name, blind.why.split(":")[0]) for blind in alarms.blind] == [
        ("tone", "nothing watches it"), ("error", "too few cases"),
    ]  # fmt: skip
    assert {stream.rule for stream in alarms._streams} == {"anytime:coverage", "cusum:coverage"}


def test_bounded_means_and_shares_of_times_fire_in_their_bad_direction() -> None:
    given = Baseline(
        {"delta_s": Accepted(0.30, 20_000, 0.01), "tau": Accepted(0.8, 20_000, 0.02), "e2e_ms>2000": Accepted(0.03)}
    )
    draw = random.Random(2)

    def stream(delta_s: float, tau: float, slow: float) -> list[Event]:
        alarms, found = Alarms(Config(), given), []
        for at in range(1, 90):
            made = Minute(at)
            for _ in range(40):
                made.add(
                    Sample(
                        Fraction(60 * at),
                        delta_s=Fraction(round(draw.betavariate(20 * delta_s, 20 * (1 - delta_s)), 4)),
                        tau=Fraction(round(min(1, max(-1, draw.gauss(tau, 0.1))), 4)),
                        e2e_ms=Fraction(2500 if draw.random() < slow else 900),
                    )
                )
            found += alarms.step(made)
        return [event for event in found if event.rule.startswith("anytime")]

    assert stream(0.30, 0.8, 0.03) == []
    fired = {event.rule: event for event in stream(0.40, 0.6, 0.20)}
    assert set(fired) == {"anytime:delta_s", "anytime:tau", "anytime:e2e_ms>2000"}
    assert [fired[rule].sign for rule in sorted(fired)] == [">", ">", "<"]
    assert fired["anytime:tau"].value == pytest.approx(0.6, abs=0.03)
    assert fired["anytime:tau"].limit < 0.78
    assert stream(0.20, 0.9, 0.0) == []


def sliced(at: int, bad: dict[str, float], draw: random.Random, watched: frozenset[str]) -> Minute:
    made = Minute(at, watched)
    for part, share in bad.items():
        for _ in range(40):
            made.add(Sample(Fraction(60 * at), error=Fraction(draw.random() < share), slices=(part,)))
    return made


REGIONS = frozenset({"region=eu", "region=us", "region=asia", "region=other"})


def test_the_slice_that_moved_fires_and_is_named() -> None:
    draw = random.Random(4)
    usual = {"region=eu": 0.02, "region=us": 0.02, "region=asia": 0.10, "region=zz": 0.02}
    accepted = baseline_of((sliced(at, usual, draw, REGIONS) for at in range(1, 1500)), (ERRORS,))
    assert set(accepted.slices) == REGIONS
    assert accepted.slices["region=asia"]["error"].value == pytest.approx(0.10, abs=0.01)
    alarms, found = Alarms(Config(watches=(ERRORS,)), accepted), []
    assert alarms.slices == REGIONS
    for at in range(1500, 1700):
        found += alarms.step(sliced(at, usual | {"region=eu": 0.30} if at >= 1600 else usual, draw, REGIONS))
    fast = [event for event in found if event.rule == "anytime:error"]
    assert {(event.slice, event.state) for event in fast} == {("region=eu", "firing"), (None, "firing")}
    assert min(event.at for event in fast) >= 1600
    (whole,) = [event for event in fast if event.slice is None]
    assert [moved.slice for moved in whole.moved] == ["region=eu"]
    assert alert(whole).slice is None


def test_values_that_nobody_watches_cost_nothing() -> None:
    made = Minute(1, REGIONS)
    for n in range(1000):
        made.add(Sample(Fraction(60), error=Fraction(1), slices=(f"region=r{n}", f"client={n}")))
    assert list(made.slices) == ["region=other"]
    assert made.slices["region=other"]["error"] == {ONE: 1000}


def test_taking_the_state_as_json_after_any_minute_changes_nothing() -> None:
    draw = random.Random(6)
    usual = {"region=eu": 0.02, "region=us": 0.05}
    watched = frozenset(usual)
    worse = {"region=eu": 0.12, "region=us": 0.05}
    stream = [sliced(at, worse if 90 < at < 150 else usual, draw, watched) for at in range(1, 420)]
    given = Baseline({"error": Accepted(0.03, 9000)}, {part: {"error": Accepted(0.05, 4000)} for part in watched})
    config = Config(watches=(ERRORS,))
    alarms = Alarms(config, given)
    whole = events(alarms, stream)
    pieces, again = Alarms(config, given), list[Event]()
    for one in stream:
        pieces = Alarms.restore(config, given, json.loads(json.dumps(pieces.state(), allow_nan=False)))
        again += pieces.step(one)
    assert again == whole
    assert {event.state for event in whole} == {"firing", "resolved"}
    assert pieces.state() == alarms.state()


def test_the_order_of_records_in_a_minute_changes_no_bit() -> None:
    draw = random.Random(12)
    samples = [Sample(Fraction(60), delta_s=Fraction(draw.randrange(9999), 10_000)) for _ in range(500)]
    states = []
    for _ in range(3):
        draw.shuffle(samples)
        made = Minute(1)
        for sample in samples:
            made.add(sample)
        alarms = Alarms(Config(), Baseline({"delta_s": Accepted(0.5, 1000, 0.1)}))
        alarms.step(made)
        states.append(json.dumps(alarms.state()))
    assert len(set(states)) == 1


def test_today_has_an_interval_that_begins_anew_at_midnight() -> None:
    alarms = Alarms(BOTH, GIVEN)
    for one in errors([0.02] * 200, first=1440 - 99):
        alarms.step(one)
    low, high = alarms.intervals()["error"]
    assert low < 0.02 < high
    assert alarms._today["error"].sequence.cases == 100 * 100  # minutes 1441 … 1540
    assert alarms.intervals()["coverage"] == (0.0, 1.0)


def test_an_event_becomes_an_alert_with_exact_numbers() -> None:
    (event, *_) = events(Alarms(BOTH, GIVEN), errors([0.5] * 9))
    made = alert(event)
    assert (made.rule, made.state, made.sign, made.slice) == ("anytime:error", "firing", ">", None)
    assert made.limit == Fraction(str(event.limit))
    assert (made.rollback, made.source) == (False, "docs/alarms.md")


def test_config_and_baseline_come_from_json_and_refuse_unknown_keys() -> None:
    text = '{"budget": 0.5, "watches": [{"field": "error", "tolerance": 0.02}]}'
    assert msgspec.json.decode(text, type=Config) == Config(budget=0.5, watches=(Watched("error", tolerance=0.02),))
    with pytest.raises(msgspec.ValidationError, match="unknown field `budgets`"):
        msgspec.json.decode('{"budgets": 1}', type=Config)


def test_every_rate_and_bounded_mean_of_a_sample_is_watched() -> None:
    times = {field for field in FIELDS if field.endswith("_ms")}
    assert {watch.field for watch in WATCHED} >= set(FIELDS) - times


def test_minutes_without_a_record_change_nothing() -> None:
    alarms = Alarms(BOTH, GIVEN)
    before: Any = alarms.state()["streams"]
    for at in range(1, 2000):
        assert alarms.step(Minute(at)) == []
    after = alarms.state()["streams"]
    assert {name: one for name, one in after.items() if "anytime" in name} == {
        name: one for name, one in before.items() if "anytime" in name
    }


# clumps


def clumpy(draw: random.Random, minutes: int, share: float, alike: int) -> list[Minute]:
    """Minutes of 60 records that come in runs with one fate."""
    made = []
    for at in range(1, minutes + 1):
        bad = sum(alike for _ in range(60 // alike) if draw.random() < share)
        made.append(minute(at, "error", bad, 60 - bad))
    return made


@pytest.mark.parametrize("alike", [1, 6, 20])
def test_the_dispersion_is_the_length_of_the_runs(alike: int) -> None:
    accepted = baseline_of(clumpy(random.Random(1), 2000, 0.1, alike), (ERRORS,)).fields["error"]
    assert accepted.cases == 120_000
    assert accepted.dispersion == pytest.approx(alike, rel=0.25)


def test_clumps_longer_than_a_minute_are_seen_too() -> None:
    draw, stream = random.Random(2), list[Minute]()
    while len(stream) < 3000:
        share = draw.choice([0.05, 0.15])
        for _ in range(15):
            bad = sum(draw.random() < share for _ in range(40))
            stream.append(minute(len(stream) + 1, "error", bad, 40 - bad))
    # Of 600 records in a block the share varies by 0.05: 1 + 599 · 0.05² / 0.09 = 17.6; hours see some of it too.
    assert 10 < baseline_of(stream, (ERRORS,)).fields["error"].dispersion < 25


def test_clumpy_traffic_that_does_not_change_stays_quiet_where_independence_would_alarm() -> None:
    draw = random.Random(3)
    accepted = baseline_of(clumpy(draw, 1500, 0.1, 20), (ERRORS,)).fields["error"]
    stream = clumpy(draw, 1500, 0.1, 20)
    config = Config(watches=(ERRORS,))
    assert events(Alarms(config, Baseline({"error": accepted})), stream) == []
    as_if = Accepted(accepted.value, accepted.cases)
    assert events(Alarms(config, Baseline({"error": as_if})), stream) != []


def test_false_alarms_on_clumps_at_the_limit_stay_below_the_bound_once_the_dispersion_is_known() -> None:
    draw, threshold, steps, streams = random.Random(13), 100.0, 500, 30
    alarms = 0
    for _ in range(streams):
        detector = Detector(0.2, 1, dispersion=4.0)
        for at in range(steps):
            bad = sum(4 for _ in range(5) if draw.random() < 0.2)
            detector.step(at, ones(bad, 20 - bad))
            if detector.above(threshold):
                alarms += 1
                detector = Detector(0.2, 1, dispersion=4.0)
    assert alarms <= streams * steps / threshold


def test_what_was_accepted_goes_on_from_its_state() -> None:
    stream = clumpy(random.Random(4), 200, 0.1, 6)
    whole, pieces, all_of_it = Acceptance((ERRORS,)), Acceptance((ERRORS,)), Minute(0)
    for one in stream:
        whole.step(one)
        pieces = Acceptance((ERRORS,), json.loads(json.dumps(pieces.state())))
        pieces.step(one)
        all_of_it.merge(one)
    assert pieces.baseline(all_of_it) == whole.baseline(all_of_it) == baseline_of(stream, (ERRORS,))
