"""The sections of suites in a policy, read by what each suite declares; and what must hold for settings everywhere."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec

from ragworthy.errors import policy_error
from ragworthy.load.checker import Checker, shown, written
from ragworthy.load.keys import KEYS
from ragworthy.metrics.registry import all_metrics
from ragworthy.names import REFUSAL_PACKS
from ragworthy.policy.declare import Declared, Input, Setting
from ragworthy.policy.gate_text import DEFAULTS, parse_ks
from ragworthy.records import explained
from ragworthy.stats import exact

LOCK = "lock"


class Suites(Protocol):
    """Every suite that is known, by name."""

    def __getitem__(self, name: str, /) -> Declared: ...
    def __iter__(self) -> Iterator[str]: ...
    def items(self) -> Iterable[tuple[str, Declared]]: ...
    def also(self, named: Iterable[str], /) -> None:
        """Make the suites of other packages known, where one of these names is one."""


class Section(NamedTuple):
    """The section of one suite."""

    suite: str
    settings: Any
    given: Mapping[str, Any]
    """The paths of its inputs, as they were written."""
    lock: str | None = None
    defaults: bool | None = None
    """Whether the default gates hold beside those that are named; None while only the policy as a whole says so."""

    @property
    def there(self) -> dict[str, Any]:
        """The inputs that are really there: an empty path names none."""
        return {key: paths for key, paths in self.given.items() if paths}


def paths_of(given: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Paths as they were written, one or several for each key, from the folder that they are relative to."""
    return {
        key: folder / one if isinstance(one, str) else tuple(folder / each for each in one)
        for key, one in given.items()
    }


# keys


def every_key(suites: Suites) -> dict[str, dict[str, str]]:
    """Every key that a policy or a definition takes, section by section, with what it means."""
    top: dict[str, str] = {}
    for key, meaning in KEYS[""].items():
        top[key] = meaning
        if key == "baseline":
            top |= {name: f"the {name} suite" for name in suites}
    return {"": top} | {name: keys_of(suite) for name, suite in suites.items()} | {k: v for k, v in KEYS.items() if k}


def keys_of(suite: Declared) -> dict[str, str]:
    """The keys of a suite's section: its files, the lock, its settings, whether its default gates hold."""
    files = {one.key: one.meaning for one in suite.inputs if one.meaning}
    for one in [one for one in suite.inputs if one.receipt_role == "gold"][:1]:
        files |= {LOCK: f"path of the lock file; default: beside the {one.key.removesuffix('s')} set"}
    settings = {one.name: one.key.meaning for one in suite.fields() if one.key.meaning}
    return files | settings | {DEFAULTS: "the same as at the top, for the gates of this suite"}


# reading


def sections(check: Checker, table: dict[str, Any], suites: Suites) -> tuple[Section, ...]:
    """The sections of suites, in the order of the report."""
    found = {name: check.take(table, name, dict, "", "a table") for name in suites}
    return tuple(_section(check, section, suites[name]) for name, section in found.items() if section is not None)


def _section(check: Checker, table: dict[str, Any], suite: Declared) -> Section:
    path = f"{suite.name}."
    check.known(table, keys_of(suite), path)
    inputs = [one for one in suite.inputs if one.meaning]
    for one in inputs:
        if one.needed and one.key not in table:
            check.say("RW-P11", f"{path}{one.key}", "expected a path, got nothing")
    given: dict[str, Any] = {}
    for one in (one for one in inputs if not one.several):
        given |= _files(check, table, one, path)
    lock = check.take(table, LOCK, str, path, "a path")
    given |= {one.key: check.strings(table, one.key, path) for one in inputs if one.several}
    defaults = check.take(table, DEFAULTS, bool, path, "true or false")
    found = Section(suite.name, None, {key: paths for key, paths in given.items() if paths is not None}, lock, defaults)
    settings = {"form": _form(check, found.there, suite)} if suite.forms else {}
    settings |= {one.field: _setting(check, table, one, suite) for one in suite.fields() if one.key.meaning}
    return found._replace(settings=suite.settings(**settings))


def _files(check: Checker, table: dict[str, Any], one: Input, path: str) -> dict[str, Any]:
    """The path of an input; of several, where each is a run of the same questions, the first and the others."""
    if not one.more or not isinstance(table.get(one.key), list):
        return {one.key: check.take(table, one.key, str, path, "a path")}
    first, *others = check.strings(table, one.key, path) or ("",)
    if not first and not check.problems:
        check.say("RW-P11", f"{path}{one.key}", "expected a path, got an empty list")
    return {one.key: first, one.more: tuple(others)}


def _form(check: Checker, given: Mapping[str, Any], suite: Declared) -> str:
    form = suite.form_of(given)
    if form is None:
        wanted = "; ".join(" and ".join(files) for files in suite.forms.values())
        check.say("RW-P11", suite.name, f"expected the files of one form ({wanted}), got another choice")
    return form or next(iter(suite.forms))


def _setting(check: Checker, table: dict[str, Any], one: Setting, suite: Declared) -> Any:
    """The value of one setting; its default where the table has none, or none that can be meant."""
    path, name, reads = f"{suite.name}.", one.name, one.key.reads
    if one.key.choices:
        return check.choice(table, name, one.key.choices, path, one.default)
    if reads == "ks":
        return parse_ks(check, table[name], f"{path}{name}") if name in table else one.default
    if reads == "limits":
        limits = check.take(table, name, dict, path, "a table") or {}
        return parse_limits(check, limits, f"{path}{name}.", one.default, suite.name)
    if reads in NUMBERS:
        return _number(check, table, one, path)
    if one.kind is bool:
        return bool(check.take(table, name, bool, path, "true or false"))
    if one.kind == tuple[str, ...]:
        found = check.strings(table, name, path)
        if found == () and reads == "refusals":
            check.say("RW-P03", f"{path}{name}", "expected at least one text, got an empty list")
        return found or one.default
    return check.take(table, name, str, path, "a text")


NUMBERS: dict[str, tuple[str, Callable[[Fraction], bool]]] = {
    "positive": ("a number above 0", lambda number: number > 0),
    "share": ("a number from 0 to below 1", lambda number: 0 <= number < 1),
    "part": ("a number from 0 to 1", lambda number: 0 <= number <= 1),
}
"""Settings that are numbers, kept as the text they were written in: what is expected, and whether a number is that."""


def _number(check: Checker, table: dict[str, Any], one: Setting, path: str) -> Any:
    if one.name not in table:
        return one.default
    expected, fits = NUMBERS[one.key.reads]
    number = written(table[one.name])
    if number is None or not fits(Fraction(number)):
        check.say("RW-P03", f"{path}{one.name}", f"expected {expected}, got {shown(table[one.name])}")
    return number or one.default


def parse_limits(
    check: Checker, given: Mapping[str, Any], path: str, usual: Iterable[str], suite: str
) -> tuple[str, ...]:
    """The limits of each question, those that are not given as they usually are."""
    limits = dict(one.split("=") for one in usual)
    for name, value in given.items():
        number = written(value)
        if name not in limits:
            known = ", ".join(limits)
            check.say("RW-P02", f"{path}{name}", f"expected a known key, got an unknown one (one of: {known})")
        elif number is None or not 0 <= Fraction(number) <= 1:
            check.say("RW-P03", f"{path}{name}", f"expected a number from 0 to 1, got {shown(value)}")
        elif Fraction(number) == (all_metrics(suite)[f"{suite}.{name}"].better == "lower"):
            check.say("RW-P05", f"{path}{name}", f"{name} = {number} can never fail")
        else:
            limits[name] = number
    return tuple(f"{name}={number}" for name, number in limits.items())


# checking


def check_settings(settings: Any, suite: Declared, where: str) -> None:
    """What must hold for the settings of every suite, whether a flag, a policy, Python or a receipt gives them."""
    check = Checker(where)
    try:
        msgspec.convert(tuple(settings), suite.settings, strict=True)
    except msgspec.ValidationError as error:
        place, message = explained(error)  # [3] or [3][0]
        field = settings._fields[int(place[1:].partition("]")[0])] if place.startswith("[") else place
        raise policy_error("RW-P03", message, where=where, field=field) from None
    for one in suite.fields():
        _check_setting(check, one, getattr(settings, one.field), suite)
    check.stop()


def _check_setting(check: Checker, one: Setting, value: Any, suite: Declared) -> None:
    name, reads = one.name, one.key.reads
    if one.key.choices:
        check.choice({name: value}, name, one.key.choices, "", one.default)
    elif reads == "ks":
        parse_ks(check, list(value), name)
    elif reads == "limits":
        _check_limits(check, one, value, suite.name)
    elif reads == "refusals" and (not value or not all(text.strip() for text in value)):
        check.say("RW-P03", name, "expected at least one text, none of them empty")
    elif reads in NUMBERS and value is not None:
        number, (expected, fits) = exact(value), NUMBERS[reads]
        if number is None or not fits(number):
            check.say("RW-P03", name, f"expected {expected}, got {value}")
    elif reads in ("packs", "starts", "patterns") and value:
        _check_refusing(check, name, reads, value)


def _check_refusing(check: Checker, name: str, reads: str, given: tuple[str, ...]) -> None:
    """What must hold for the rules by which a claim is a refusal."""
    from ragworthy.metrics.facts.refusals import wrong_pattern  # few settings have any

    for text in given:
        if reads == "packs" and text not in REFUSAL_PACKS:
            check.say("RW-P18", name, f'expected one of {", ".join(REFUSAL_PACKS)}, got "{text}"')
        elif reads == "starts" and not text.strip():
            check.say("RW-P03", name, "expected texts, got an empty one, with which every claim begins")
        elif reads == "patterns" and (bad := wrong_pattern(text)):
            check.say("RW-P17", name, f"{bad}: {text}")


def _check_limits(check: Checker, one: Setting, given: tuple[str, ...], suite: str) -> None:
    """The limits as they are kept: every name once, with a number that can fail."""
    pairs = dict(text.partition("=")[::2] for text in given)
    numbers = {name: Decimal(text) if exact(text) is not None else text for name, text in pairs.items()}
    if parse_limits(check, numbers, f"{one.name}.", one.default, suite) != given and not check.problems:
        check.say("RW-P03", one.name, f"expected every limit once, got {', '.join(given)}")
