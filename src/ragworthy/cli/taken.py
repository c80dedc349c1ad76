"""What was given on the command line, as a suite takes it: its files and its settings, for `score` and `show`."""

import argparse
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any

from ragworthy import flow
from ragworthy.cli.flags import depths, number_of, value_of
from ragworthy.errors import usage_error
from ragworthy.load.checker import Checker
from ragworthy.load.uri import path_here, path_or_uri
from ragworthy.policy.declare import Declared, Setting
from ragworthy.policy.sections import NUMBERS, parse_limits


def shown_request(given: argparse.Namespace, suite: Declared) -> flow.Request:
    """The files and settings of one suite, as `show` takes them."""
    inputs = {key: path for key, path in inputs_of(given, suite).items() if key not in suite.written}
    settings = suite_settings(given, suite, check_files(given, suite, inputs))
    gates = suite.default_gates(settings, inputs)
    return flow.Request(suite.name, inputs, settings, gates)


def suite_settings(given: argparse.Namespace, suite: Declared, form: str | None) -> Any:
    """The settings, with what follows from the files and the profile."""
    known = {"form": form} if form is not None else {}
    if "profile" in suite.settings._fields:
        known |= {"profile": given.profile, **suite.of_profile(given.profile)}
    return settings_of(given, suite, **known)


def check_files(given: argparse.Namespace, suite: Declared, inputs: dict[str, Any]) -> str | None:
    """Refuse files that do not belong together; the form that they are, where a suite has several."""
    spelled = _spelled(suite)
    settings = {one.name: value_of(given, one.key.flag) for one in suite.fields() if one.key.flag}
    suite.check({**settings, **inputs, "lock": given.lock}, spelled)
    _check_needed(suite, inputs)
    if not suite.forms:
        return None
    form = suite.form_of(inputs)
    if form is None:
        forms = "; ".join(" and ".join(spelled[key] for key in keys) for keys in suite.forms.values())
        got = [spelled[one.key] for one in suite.inputs if one.key in inputs and not one.written]
        raise usage_error(f"expected the files of one form ({forms}), got {' and '.join(got) or 'none'}")
    return form


def _check_needed(suite: Declared, inputs: Mapping[str, Any]) -> None:
    """Refuse a score without files that it needs, where others can be in their place."""
    needed = [one for one in suite.inputs if one.needed and not suite.required(one)]
    roles = {one.receipt_role for one in needed}
    others = [one for one in suite.inputs if one.receipt_role in roles and not one.needed]
    if any(one.key not in inputs for one in needed) and not any(one.key in inputs for one in others):
        words = (" and ".join(one.option for one in ones) for ones in (needed, others))
        raise usage_error(f"expected {', or '.join(words)}")


def _spelled(suite: Declared) -> dict[str, str]:
    """How the command line names files and settings."""
    flags = {one.name: one.key.flag.partition(" ")[0] for one in suite.fields()}
    return flags | {one.key: one.option for one in suite.inputs} | {"lock": "--lock"}


def inputs_of(given: argparse.Namespace, suite: Declared) -> dict[str, Any]:
    """The files that were given, by the keys of the suite."""
    found: dict[str, Any] = {}
    for one in suite.inputs:
        value = value_of(given, one.option) if one.help else None
        if value or (suite.required(one) and value is not None):
            path: Callable[[str], Any] = partial(path_here, what=one.option)
            if one.written or one.form == "records":  # what is written is named as it was typed
                path = str if one.written else path_or_uri
            found[one.key] = tuple(map(path, value)) if one.several else path(value)
        if one.more and (others := getattr(given, one.more, None)):
            found[one.more] = tuple(map(path_or_uri, others))
    return found


def settings_of(given: argparse.Namespace, suite: Declared, **known: Any) -> Any:
    """The settings that were given; `known` are those that follow from something else."""
    said = [one for one in suite.fields() if one.key.flag and not _unsaid(given, one)]
    return suite.settings(**known | {one.field: _setting(given, one, suite) for one in said})


def _unsaid(given: argparse.Namespace, one: Setting) -> bool:
    """Whether nobody gave a setting whose default depends on the profile."""
    return bool(one.key.reference) and value_of(given, one.key.flag) is None


def _setting(given: argparse.Namespace, one: Setting, suite: Declared) -> Any:
    value, reads = value_of(given, one.key.flag), one.key.reads
    if reads == "ks":
        return depths(value)
    if reads == "limits":
        return limits_of(value, one, suite)
    if reads in NUMBERS:
        return number_of(one.key.flag, value, reads) if value is not None else None
    if reads == "refusals":
        return (*one.default, *value)
    return tuple(value) if isinstance(value, list) else value


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
