"""The alarms of a monitor: their settings and their baseline from files, their events as alerts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ragworthy.errors import data_error
from ragworthy.files import read_bytes
from ragworthy.live.alarms import Alarms, Config, Event, alert
from ragworthy.live.watched import Baseline
from ragworthy.monitor.alerts import Told, fields

T = TypeVar("T")


def config(path: Path) -> Config:
    """The settings of the alarms."""
    return _decoded(path, read_bytes(path), Config, "RW-O20")


def accepted(path: Path) -> Baseline:
    """What was accepted: that part of a summary of the monitor, or a file of its own. Nothing where it has none."""
    data = read_bytes(path)
    whole = _decoded(path, data, dict[str, Any], "RW-O21")
    if "accepted" not in whole:
        return Baseline()
    return _decoded(path, msgspec.json.encode(whole["accepted"]), Baseline, "RW-O21")


def _decoded(path: Path, data: bytes, kind: type[T], code: str) -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as error:
        message, _, place = str(error).partition(" - at ")
        field = place.strip("`").removeprefix("$.")
        raise data_error(code, f"{message[:1].lower()}{message[1:]}", where=str(path), field=field) from None
    except msgspec.DecodeError as error:
        raise data_error(code, f"expected JSON, got: {error}", where=str(path)) from None


def told(event: Event) -> Told:
    """An event as an alert; one on all traffic names the slices that moved, where there are any."""
    made = fields(alert(event))
    return made | {"moved": [moved.slice for moved in event.moved]} if event.moved else made


def summary(alarms: Alarms) -> Mapping[str, Any]:
    """What the alarms know: what fires, what cannot be watched, and today's intervals."""
    return {
        "budget": alarms.config.budget,
        "watched": alarms.detectors,
        "firing": [{"rule": rule, "slice": part} for rule, part in alarms.firing()],
        "blind": [{"field": one.name, "slice": one.slice, "why": one.why} for one in alarms.blind],
        "today": {name: list(interval) for name, interval in alarms.intervals().items()},
    }
