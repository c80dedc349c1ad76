"""What the monitor knows, as plain values: for JSON, for the view, and as the baseline of a later run."""

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec

from ragworthy.errors import data_error
from ragworthy.files import read_bytes
from ragworthy.live.minutes import FIELDS, Minute, unit_of
from ragworthy.live.rules import Rule, State, Tick
from ragworthy.live.watch import Watch, percentile_of, telling
from ragworthy.monitor import alarming
from ragworthy.monitor.alerts import number
from ragworthy.monitor.running import Monitor
from ragworthy.monitor.times import written

SCHEMA = "ragworthy.monitor/1"
_PERCENTS = (50, 90, 95)
_TIMES = ("retrieve_ms", "reason_ms", "e2e_ms")


def summary(monitor: Monitor) -> dict[str, Any]:
    """Everything, in the order in which people ask."""
    watch, intake = monitor.watch, monitor.intake
    budgets = {one.field: {"spent": number(one.spent), "samples": one.samples} for one in watch.budgets()}
    return {
        "schema": SCHEMA,
        "exit_code": monitor.code,
        "records": intake.records,
        "counted": monitor.whole.records,
        "waiting": intake.held + sum(one.minute.records for one in intake.open.values()),
        "first": None if monitor.first is None else written(monitor.first),
        "last": None if watch.at is None else written(watch.at),
        "fired": dict(sorted(monitor.fired.items())),
        "firing": {rule: written(since) for rule, since in sorted(watch.firing.items())},
        "rules": [rule_told(rule, tick, watch) for rule, tick in watch.said],
        "budgets": budgets,
        "webhook": None if monitor.webhook is None else monitor.webhook.counts._asdict(),
        "problems": intake.problems.state(),
        "blind": None if intake.run.blind is None else intake.run.blind._asdict(),
        "fields": {field: _field(monitor.whole, field) for field in FIELDS if monitor.whole.values[field]},
        "accepted": msgspec.to_builtins(monitor.acceptance.baseline(monitor.whole)),
    } | ({} if monitor.alarms is None else {"alarms": alarming.summary(monitor.alarms)})


def rule_told(rule: Rule, tick: Tick, watch: Watch) -> dict[str, Any]:
    """What a rule says at a minute."""
    alert = watch.alert(rule, tick, str(tick.state))
    state = tick.readings[telling(tick)].state
    told = {"rule": rule.name, "state": str(state), "firing": rule.name in watch.firing}
    limit = None if state is State.NO_BASELINE else number(alert.limit)
    return told | {
        "value": number(alert.value), "sign": alert.sign, "limit": limit, "samples": alert.samples,
        "minutes": alert.minutes,
    }  # fmt: skip


def _field(whole: Minute, field: str) -> dict[str, Any]:
    samples = whole.count(field)
    made: dict[str, Any] = {"samples": samples, "mean": number(whole.total(field) / samples)}
    values = sorted(whole.values[field].items())
    return made | {
        f"p{percent}": number(percentile_of(values, samples, percent, unit_of(field))) for percent in _PERCENTS
    }


def baseline(path: Path) -> dict[str, Fraction]:
    """The times that were accepted, from a summary or a file of numbers: P95 in milliseconds."""
    try:
        held = msgspec.json.decode(read_bytes(path))
    except msgspec.DecodeError as error:
        raise data_error("RW-O02", f"expected JSON, got: {error}", where=str(path)) from None
    fields = held.get("fields", held) if isinstance(held, Mapping) else None
    if not isinstance(fields, Mapping):
        raise data_error("RW-O02", "expected an object, got something else", where=str(path))
    found: dict[str, Fraction] = {}
    for name in _TIMES:
        given = fields.get(name)
        value = given.get("p95") if isinstance(given, Mapping) else given
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            raise data_error("RW-O02", f"expected milliseconds, got {value!r:.60}", where=str(path), field=name)
        found[name] = Fraction(str(value))
    if not found and "accepted" not in held:  # a summary of traffic without times still is a baseline of alarms
        raise data_error("RW-O02", f"expected one of {', '.join(_TIMES)}, got none", where=str(path))
    return found
