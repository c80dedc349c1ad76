"""What takes a canary back. Looked at for every minute of the share, and only by what was known at that minute: what
comes later takes no rollback back.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from ragworthy.live.minutes import Minute, unit_of
from ragworthy.live.rules import ENOUGH, RULES, At, Condition, Rule, Tick, mean
from ragworthy.live.watch import Watch, percentile_of
from ragworthy.rollout.entries import Evidence
from ragworthy.rollout.reads import Held, Read
from ragworthy.rollout.stages import Plan

WINDOW = 5
"""Minutes of a window: two are consecutive where the second begins where the first ends."""
TIMES, EMPTY, MORE_REFUSED = 3, "0.01", "0.10"
LONG = 10
"""Minutes that the slowest twentieth may be over its target, but one."""
UNNAMED = Fraction(1, 100)
"""So many records may name no index."""
_SOURCE = "ProblemMap/ops/deployment_checklist.md"
_HELD = (
    Rule("error_rate", (Condition("error", mean, ">", "0"),), 1, _SOURCE),
    Rule("refusal_rate", (Condition("refused", mean, ">", "0"),), 1, "ours"),
)
"""What is compared with the live side: the limit of each minute is worked out here."""


class Seen(NamedTuple):
    """The minutes of both sides, and from when until when."""

    live: Sequence[Minute]
    canary: Sequence[Minute]
    since: int
    last: int


class Looked(NamedTuple):
    """What every rule says at each minute, and what the live side had said until then."""

    ticks: Mapping[str, Sequence[Tick]]
    errors: Mapping[int, Fraction | None]
    refused: Mapping[int, Fraction | None]


def taken_back(plan: Plan, seen: Seen, known: Sequence[Evidence]) -> Iterator[Read]:
    """Every rule that takes back."""
    own = own_rules(plan)
    looked = _looked((*RULES, *own, *_HELD), plan, seen)
    if seen.canary:
        yield _twice({name: looked.ticks[name] for name in plan.alerts})
    else:
        yield Read("alert_windows", Held.NOT_MEASURED, sign=">=", limit=Fraction(2))
    yield _drift(seen.canary)
    yield _judged(plan, seen, known)
    for rule in own:
        yield _fired(rule, looked.ticks[rule.name])
    yield _against("error_rate", looked.ticks["error_rate"], looked.errors)
    if all(any(one.count("refused") for one in side) for side in (seen.live, seen.canary)):
        yield _against("refusal_rate", looked.ticks["refusal_rate"], looked.refused)


def own_rules(plan: Plan) -> tuple[Rule, ...]:
    """The rules of the deployment checklist whose limits are fixed."""
    return (
        Rule("p95_over_target", (Condition("e2e_ms", At(95), ">", plan.p95_ms),), LONG, _SOURCE),
        Rule("empty_rate", (Condition("empty", mean, ">", EMPTY),), 1, _SOURCE),
    )


def _looked(rules: Iterable[Rule], plan: Plan, seen: Seen) -> Looked:
    """What rules say at every full minute of the stage."""
    watch = Watch(rules)
    watch.at = seen.since
    found: dict[str, list[Tick]] = {rule.name: [] for rule in watch.rules}
    errors: dict[int, Fraction | None] = {}
    refused: dict[int, Fraction | None] = {}
    coming = {one.at: one for one in _together(seen.canary)}
    there = _together(seen.live)
    so_far, nth = Minute(seen.since), 0
    for minute in range(seen.since + 1, seen.last + 1):
        heard = nth
        while nth < len(there) and there[nth].at <= minute:
            so_far.merge(there[nth])
            nth += 1
        if nth > heard:
            watch.baseline = dict(_slow(so_far))
        if minute in coming:
            watch.held.append(coming[minute])
        elif not watch.held and minute < seen.last:
            watch.in_a_row = {}  # nothing to look at for an hour: no rule is true
            continue
        watch.at = minute
        errors[minute], refused[minute] = _errors(plan, so_far), _refused(so_far)
        for rule, tick in watch.ticks():
            found[rule.name].append(tick)
    return Looked(found, errors, refused)


def _together(minutes: Iterable[Minute]) -> list[Minute]:
    """Each minute once, in order, however many pieces of it there are."""
    found: dict[int, Minute] = {}
    for one in minutes:
        found.setdefault(one.at, Minute(one.at)).merge(one)
    return [found[at] for at in sorted(found)]


# the live side so far


def _slow(live: Minute) -> Iterator[tuple[str, Fraction]]:
    for field in ("retrieve_ms", "reason_ms"):
        if (said := live.count(field)) >= ENOUGH:
            yield field, percentile_of(sorted(live.values[field].items()), said, 95, unit_of(field))


def _errors(plan: Plan, live: Minute) -> Fraction | None:
    """From where on there are too many errors. Where the live side had none in n records the limit is 3/n: so many
    none in n cannot rule out.
    """
    if plan.error_rate is not None:
        return TIMES * Fraction(plan.error_rate)
    said = live.count("error")
    return TIMES * max(live.total("error"), Fraction(1)) / said if said else None


def _refused(live: Minute) -> Fraction | None:
    said = live.count("refused")
    return live.total("refused") / said + Fraction(MORE_REFUSED) if said >= ENOUGH else None


# rules


def _twice(ticks: Mapping[str, Sequence[Tick]]) -> Read:
    """Two windows in a row at whose ends an alert fires, the same or another."""
    firing: dict[int, list[str]] = {}
    for name, found in ticks.items():
        for tick in found:
            if tick.fires:
                firing.setdefault(tick.at, []).append(name)
    for minute in sorted(firing):
        if minute - WINDOW in firing:
            both = f"{', '.join(firing[minute - WINDOW])}, then {', '.join(firing[minute])}"
            return Read("alert_windows", Held.FAILS, Fraction(2), ">=", Fraction(2), at=minute, why=both)
    return Read("alert_windows", Held.HOLDS, Fraction(min(1, len(firing))), ">=", Fraction(2))


def _drift(canary: Sequence[Minute]) -> Read:
    """One build with two indexes since the share began, however far apart."""
    found: dict[str, set[str]] = {}
    said = 0
    for minute in _together(canary):
        for build, index in minute.built:
            found.setdefault(build, set()).add(index)
        said += sum(minute.built.values())
        if (most := max(map(len, found.values()), default=0)) > 1:
            return Read("index_drift", Held.FAILS, Fraction(most), ">", Fraction(1), said, at=minute.at)
    if not said:
        return Read("index_drift", Held.NOT_MEASURED, None, ">", Fraction(1), why="no record names its index")
    return Read("index_drift", Held.HOLDS, Fraction(1), ">", Fraction(1), said)


def _judged(plan: Plan, seen: Seen, known: Sequence[Evidence]) -> Read:
    """Whether the canary answers from the index that was judged. From one that nobody judged: back. From the one in
    use, or from one that records do not name: its traffic says nothing.
    """
    wanted = next((one.shadow_index for one in reversed(known) if one.shadow_index is not None), None)
    if wanted is None:
        return _unknown("no evidence so far names the index")
    in_use = {index for minute in seen.live for build, index in minute.built if build in (plan.live, "")}
    in_use |= {one.basis.live_index for one in known if one.basis and one.basis.live_index is not None}
    records = named = mine = 0
    for minute in _together(seen.canary):
        records += minute.records
        named += sum(minute.built.values()) + int(minute.total("error"))
        for (build, index), times in minute.built.items():
            if build not in (plan.shadow, "") or index == wanted:
                continue
            if index not in in_use:
                why = f"answers come from {index[:12]}, and {wanted[:12]} was judged"
                return Read("judged_index", Held.FAILS, Fraction(times), ">", Fraction(0), at=minute.at, why=why)
            mine += times
    if mine:
        return _unknown(f"{mine} of {records} records come from the index in use")
    if records - named > UNNAMED * records or not records:
        return _unknown(f"{max(records - named, 0)} of {records} records name no index")
    return Read("judged_index", Held.HOLDS, Fraction(0), ">", Fraction(0), records)


def _unknown(why: str) -> Read:
    return Read("judged_index", Held.NOT_MEASURED, None, ">", Fraction(0), why=why)


def _fired(rule: Rule, ticks: Sequence[Tick]) -> Read:
    """A rule at the first tick at which it fires; else at the last one."""
    condition = rule.conditions[0]
    limit = Fraction(condition.limit)
    tick = next((one for one in ticks if one.fires), ticks[-1] if ticks else None)
    reading = tick.readings[0] if tick is not None else None
    if tick is not None and reading is not None and tick.fires:
        ending = f" for {rule.ticks} minutes" if rule.ticks > 1 else ""
        return Read(
            rule.name, Held.FAILS, reading.value, condition.sign, limit, reading.samples, at=tick.at, why=ending
        )
    if reading is None or reading.value is None:
        return _few(rule.name, reading.samples if reading is not None else 0, limit)
    return Read(rule.name, Held.HOLDS, reading.value, condition.sign, limit, reading.samples)


def _few(rule: str, samples: int, limit: Fraction | None) -> Read:
    why = f"the canary has {samples} samples of {ENOUGH}" if samples else "no record of the canary says it"
    return Read(rule, Held.TOO_FEW if samples else Held.NOT_MEASURED, None, ">", limit, samples, why=why)


def _against(rule: str, ticks: Sequence[Tick], limits: Mapping[int, Fraction | None]) -> Read:
    """A rule whose limit is that of the live side up to each tick."""
    found = _few(rule, 0, None)
    for tick in ticks:
        reading, limit = tick.readings[0], limits[tick.at]
        if limit is None:
            why = "the live side has too few records to hold it against"
            found = Read(rule, Held.NOT_MEASURED, None, ">", None, reading.samples, why=why)
        elif reading.value is None:
            found = _few(rule, reading.samples, limit)
        elif reading.value > limit:
            return Read(rule, Held.FAILS, reading.value, ">", limit, reading.samples, at=tick.at)
        else:
            found = Read(rule, Held.HOLDS, reading.value, ">", limit, reading.samples)
    return found
