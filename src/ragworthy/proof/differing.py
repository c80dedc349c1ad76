"""Two receipts side by side: which input changed, and what became of settings, gates, numbers and the verdict."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ragworthy.errors import data_error
from ragworthy.gates import EACH
from ragworthy.proof import bundle, zipped
from ragworthy.report import receipt
from ragworthy.text import clip

_SHOWN = 80
_NOTHING = object()
_TOLD = ("profile", "settings", "frozen", "counts", "labels", "summary", "provenance")
"""What a receipt says of a suite besides its evidence."""


class Difference(NamedTuple):
    """One thing in which two receipts differ."""

    kind: str
    """input, setting, gate, number, evidence, outcome, tool or part."""
    line: str


def read(path: Path) -> dict[str, Any]:
    """What a receipt says, or that of a bundle."""
    if not zipped.is_zip(path):
        return receipt.read(path)[1]
    with bundle.opened(path) as there:
        there.check()
        return receipt.read(there.folder / bundle.RECEIPT)[1]


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Difference]:
    """Everything in which two receipts differ, inputs first."""
    try:
        found = [*_inputs(old, new), *_settings(old, new), *_gates(old, new), *_suites(old, new), *_outcome(old, new)]
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        message = f"expected a receipt with all of its parts, got one without ({type(error).__name__}: {error})"
        raise data_error("RW-R01", message) from None
    if not found and old != new:
        found = [Difference("part", f"{key} differs") for key, _, _ in _apart(old, new)]
    return found


def _inputs(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Difference]:
    before, after = ({one["role"]: one for one in body["inputs"]} for body in (old, new))
    for role in sorted(before.keys() | after.keys()):
        was, now = before.get(role), after.get(role)
        if was is None or now is None:
            word, one = ("added", now) if was is None else ("removed", was)
            yield Difference("input", f"{role} was {word}: {one['path'] if one else ''}")
        elif was["sha256"] != now["sha256"]:
            yield Difference(
                "input", f"{role} changed: sha256 {was['sha256'][:12]} → {now['sha256'][:12]} ({now['path']})"
            )
        elif was["path"] != now["path"]:
            yield Difference("input", f"{role} moved: {was['path']} → {now['path']}")


def _settings(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Difference]:
    for key, was, now in _apart(old["tool"], new["tool"]):
        yield Difference("tool", f"{key}: {_json(was)} → {_json(now)}")
    for key, was, now in _apart(old["request"], new["request"]):
        if key not in ("settings", "gates", "attempts"):
            yield Difference("setting", f"{key}: {_json(was)} → {_json(now)}")
    for suite, was, now in _pairs(old["suites"], new["suites"]):
        for key, one, other in _apart({**was["settings"], **_kept(was)}, {**now["settings"], **_kept(now)}):
            yield Difference("setting", f"{suite}.{key}: {_json(one)} → {_json(other)}")
        yield from _made(suite, was, now, tuple(body["request"].get("commit") for body in (old, new)))
    for key, was, now in _apart(*(body["request"].get("attempts") or {} for body in (old, new))):
        if key != "chain":
            yield Difference("setting", f"attempts.{key}: {_json(was)} → {_json(now)}")


def _made(suite: str, was: Any, now: Any, commits: tuple[Any, ...]) -> Iterator[Difference]:
    """How the traces were made; a commit that is only the one which was judged is told already."""
    for key, one, other in _apart(was.get("provenance") or {}, now.get("provenance") or {}):
        if key != "commit" or (one, other) != commits:
            yield Difference("setting", f"{suite}: made with {key}: {_json(one)} → {_json(other)}")


def _kept(suite: Mapping[str, Any]) -> dict[str, Any]:
    return {key: suite[key] for key in ("profile", "frozen")}


def _gates(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Difference]:
    before, after = ({(_name(gate), gate["op"]): gate for gate in body["gates"]} for body in (old, new))
    for name, op in [*before, *(key for key in after if key not in before)]:
        was, now = before.get((name, op)), after.get((name, op))
        if was is None or now is None:
            yield Difference("gate", f"{name} {_rule(now or was or {})} was {'added' if was is None else 'removed'}")
            continue
        if _rule(was) != _rule(now):
            yield Difference("gate", f"{name} {_rule(was)} → {_rule(now)}")
        for key in ("evidence", "waiver"):
            if was[key] != now[key]:
                yield Difference("gate", f"{name} {_rule(now)}: {key} {_json(was[key])} → {_json(now[key])}")
        if was["outcome"] != now["outcome"]:
            moved = f"{was['outcome']} ({_value(was)}) → {now['outcome']} ({_value(now)})"
            yield Difference("outcome", f"{name} {_rule(now)}: {moved}")


def _name(gate: Mapping[str, Any]) -> str:
    return f"{gate['metric']}[{gate['slice']}]" if gate["slice"] else str(gate["metric"])


def _rule(gate: Mapping[str, Any]) -> str:
    return "each must pass" if gate["op"] == EACH else f"{gate['op']} {gate['threshold']}"


def _value(gate: Mapping[str, Any]) -> str:
    if gate["num"] is None:
        return "–"
    return str(gate["num"]) if gate["den"] is None else f"{gate['num']} of {gate['den']}"


def _suites(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Difference]:
    for name in sorted(old["suites"].keys() ^ new["suites"].keys()):
        yield Difference("setting", f"suite {name} was {'removed' if name in old['suites'] else 'added'}")
    for suite, was, now in _pairs(old["suites"], new["suites"]):
        for key, one, other in _apart(was["summary"], now["summary"]):
            yield Difference("number", f"{key}: {_number(one)} → {_number(other)}")
        for part in ("counts", "labels"):
            for key, one, other in _apart(was[part], now[part]):
                yield Difference("number", f"{suite}: {key}: {_json(one)} → {_json(other)}")
        evidence = [{key: one for key, one in body.items() if key not in _TOLD} for body in (was, now)]
        if evidence[0] != evidence[1]:
            yield Difference("evidence", f"{suite}: what is known of some questions differs")


def _number(metric: Any) -> str:
    if metric is _NOTHING:
        return "nothing"
    if metric.get("undefined"):
        return f"undefined ({metric['undefined']})"
    if metric.get("num") is not None:
        return _value({"num": metric["num"], "den": metric.get("den")})
    return str(metric.get("exact"))


def _outcome(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Difference]:
    for key in ("invalid", "verdict"):
        if old[key] != new[key]:
            yield Difference("outcome", f"{key}: {_json(old[key])} → {_json(new[key])}")


def _pairs(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    yield from ((name, old[name], new[name]) for name in old if name in new)


def _apart(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    for key in [*old, *(key for key in new if key not in old)]:
        was, now = old.get(key, _NOTHING), new.get(key, _NOTHING)
        if type(was) is not type(now) or was != now:
            yield key, was, now


def _json(value: Any) -> str:
    if value is _NOTHING:
        return "nothing"
    return value if isinstance(value, str) else clip(json.dumps(value, ensure_ascii=False), _SHOWN)
