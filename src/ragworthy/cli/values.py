"""What was given on the command line, as a suite takes it: files by their keys, settings by their fields."""

import argparse
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from ragworthy.cli.flags import value_of
from ragworthy.errors import usage_error
from ragworthy.load.checker import Checker, written
from ragworthy.policy.gate_text import parse_ks
from ragworthy.policy.sections import parse_limits
from ragworthy.suites.declare import Declared, Setting


def inputs_of(given: argparse.Namespace, suite: Declared) -> dict[str, Any]:
    """The files that were given, by the keys of the suite."""
    found: dict[str, Any] = {}
    for one in suite.inputs:
        value = value_of(given, one.option) if one.help else None
        if value or (suite.required(one) and value is not None):
            found[one.key] = tuple(map(Path, value)) if one.form == "files" else Path(value)
    return found


def settings_of(given: argparse.Namespace, suite: Declared, **known: Any) -> Any:
    """The settings that were given; `known` are those that follow from something else."""
    own = {one.field: _setting(given, one, suite) for one in suite.fields() if one.key.flag}
    return suite.settings(**own, **known)


def _setting(given: argparse.Namespace, one: Setting, suite: Declared) -> Any:
    value, reads = value_of(given, one.key.flag), one.key.reads
    if reads == "ks":
        return depths(value)
    if reads == "limits":
        return limits_of(value, one, suite)
    if reads == "positive":
        return _positive(one.key.flag, value) if value is not None else None
    if reads == "refusals":
        return (*one.default, *value)
    return tuple(value) if isinstance(value, list) else value


def depths(text: str) -> tuple[int, ...]:
    """The numbers given to --k."""
    check = Checker("--k")
    numbers = [int(part) if part.strip().isdecimal() else part for part in text.split(",")]
    ks = parse_ks(check, numbers, "")
    check.stop()
    return ks


def limits_of(given: list[str], one: Setting, suite: Declared) -> tuple[str, ...]:
    """Limits by name, as texts with an equals sign."""
    check = Checker(one.key.flag)
    pairs: dict[str, Any] = {}
    for item in " ".join(given).replace(",", " ").split():
        name, sign, text = item.partition("=")
        if not sign:
            check.say("RW-P10", "", f'expected name=value, got "{item}"')
            continue
        if name in pairs:
            check.say("RW-P10", name, "expected each name once, got it twice")
        try:
            pairs[name] = Decimal(text)
        except InvalidOperation:
            check.say("RW-P10", name, f'expected a number, got "{text}"')
    limits = parse_limits(check, pairs, "", one.default, suite.name)
    check.stop()
    return limits


def _positive(flag: str, text: str) -> str:
    try:
        number = written(Decimal(text))
    except InvalidOperation:
        number = None
    if number is None or Decimal(number) <= 0:
        raise usage_error(f"{flag}: expected a number above 0, got {text}")
    return number
