"""Definition files: which fields a structured answer has and how each is scored. Every mistake is named by its key."""

import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from ragworthy.files import sha256_of
from ragworthy.load.checker import Checker, load_toml, shown
from ragworthy.load.keys import KEYS
from ragworthy.metrics.definition import Definition, Field
from ragworthy.metrics.kinds import KINDS, Kind
from ragworthy.metrics.registry import Metric
from ragworthy.metrics.structured import metrics_of

VERSIONS = (1, 2)
BUNDLED = "eval-json-v2"
RESERVED = ("score", "schema_pass_rate", "score_median", "score_p95", "missing")
"""Names of metrics that are not a field's."""
STRATA = ("label", "enum", "boolean")
"""Kinds of field with few enough values to split by."""
FORM = "nfkc"
"""How a definition of version 2 makes texts comparable where it does not say: full-width and half-width characters are
the same. Version 1 compares them as they are written, and keeps doing so."""
FROM_ZERO = ("limit", "tolerance_days")
"""Whole numbers that may be 0; the others start at 1."""
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_LONGEST = 30


@cache
def bundled() -> Definition:
    """The definition that is used where none is named."""
    from importlib import resources

    with resources.as_file(resources.files("ragworthy") / "definitions" / f"{BUNDLED}.toml") as path:
        return load_definition(path)


def bundled_text() -> str:
    """The bundled definition as it is written."""
    from importlib import resources

    return (resources.files("ragworthy") / "definitions" / f"{BUNDLED}.toml").read_text(encoding="utf-8")


def new_text() -> str:
    """The bundled definition as the start of one's own: of the newest version, kind to full-width characters."""
    said = (
        "version = 2      # label, list and grounding compare under NFKC, keywords as written; version = 1: as written"
    )
    return bundled_text().replace("version = 1", said, 1).replace(f'"{BUNDLED}"', '"my-answers"', 1)


def load_definition(path: Path) -> Definition:
    """Read and check a definition file."""
    return parse_definition(load_toml(path), path.as_posix())._replace(sha256=sha256_of(path))


def metrics_in(path: Path | None) -> Mapping[str, Metric] | None:
    """The metrics that gates may name because of a definition file; None where it is the bundled one."""
    return None if path is None else metrics_of(load_definition(path))


def parse_definition(table: dict[str, Any], where: str) -> Definition:
    """A definition from its table."""
    check = Checker(where)
    check.known(table, KEYS["definition"], "")
    _needed(check, table, ("version", "id", "field"), "", {"version": "1 or 2", "field": "[[field]] tables"})
    version = table.get("version", 1)
    if version not in VERSIONS or type(version) is not int:
        check.say("RW-P03", "version", f"expected 1 or 2, got {shown(version)}")
    fields = tuple(_in_form(field, written, version) for field, written in _fields(check, table.get("field")))
    placeholders = check.strings(table, "placeholders", "")
    definition = Definition(
        id=_text(check, table, "id", ""),
        fields=fields,
        expected=_keys(check, table, "expected", "", ("answer_example",), empty=True),
        placeholders=placeholders if placeholders is not None else ("string",),
        strata=_strata(check, table, fields),
        good=_number(check, table, "good", "", Fraction(95), "a number above 0 and up to 100", lambda n: 0 < n <= 100),
    )
    check.stop()
    return definition


def _needed(check: Checker, table: dict[str, Any], keys: Iterable[str], path: str, what: dict[str, str]) -> None:
    for key in keys:
        if key not in table:
            check.say("RW-P11", f"{path}{key}", f"expected {what.get(key, 'a text')}, got nothing")


def _text(check: Checker, table: dict[str, Any], key: str, path: str) -> str:
    text = check.take(table, key, str, path, "a text")
    if text is not None and not text.strip():
        check.say("RW-P03", f"{path}{key}", f"expected a text, got {shown(text)}")
    return text or ""


def _keys(
    check: Checker, table: dict[str, Any], key: str, path: str, default: tuple[str, ...], *, empty: bool = False
) -> tuple[str, ...]:
    """Keys with dots between them."""
    text = check.take(table, key, str, path, "keys with dots between them")
    if text is None:
        return default
    keys = tuple(text.split(".")) if text or not empty else ()
    if not all(one.strip() for one in keys):
        check.say("RW-P03", f"{path}{key}", f"expected keys with dots between them, got {shown(text)}")
    return keys


def _number(
    check: Checker,
    table: dict[str, Any],
    key: str,
    path: str,
    default: Fraction,
    what: str,
    fits: Callable[[Fraction], bool],
) -> Fraction:
    """A number exactly as it is written."""
    value = table.get(key)
    if value is None:
        return default
    number = _exact(value)
    if number is None or not fits(number):
        check.say("RW-P03", f"{path}{key}", f"expected {what}, got {shown(value)}")
        return default
    return number


def _exact(value: Any) -> Fraction | None:
    """A whole or decimal number of a size that can be worked with."""
    if type(value) is int:
        return Fraction(value)
    if isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) <= _LONGEST:
        return Fraction(value)
    return None


def _in_form(field: Field, written: Mapping[str, Any], version: Any) -> Field:
    """A field whose texts are compared as the version of the definition says, unless the field says it itself."""
    if version == 1 or "form" in written or not hasattr(field.rules, "form"):
        return field
    return field._replace(rules=field.rules._replace(form=FORM))  # type: ignore[attr-defined]  # every kind is a tuple


def _fields(check: Checker, given: Any) -> list[tuple[Field, dict[str, Any]]]:
    """The fields, each with its table."""
    if given is None:
        return []
    if not isinstance(given, list) or not given:
        got = "an empty list" if given == [] else shown(given)
        check.say("RW-P03", "field", f"expected [[field]] tables, got {got}")
        return []
    found: list[tuple[Field, dict[str, Any]]] = []
    for nth, table in enumerate(given):
        if isinstance(table, dict):
            found.append((_field(check, table, f"field[{nth}]."), table))
        else:
            check.say("RW-P03", f"field[{nth}]", f"expected a table, got {shown(table)}")
    fields = [field for field, _ in found]
    seen: set[str] = set()
    for nth, field in enumerate(fields):
        if field.name in seen:
            check.say("RW-P03", f"field[{nth}].name", f'expected each name once, got "{field.name}" again')
        seen.update({field.name} - {""})
    total = sum((field.weight for field in fields), Fraction(0))
    if total != 1 and len(fields) == len(given) and all(field.weight for field in fields):
        check.say("RW-P14", "weight", f"expected weights that sum to 1, got {_decimal(total)}")
    return found


def _decimal(number: Fraction) -> str:
    """A sum of decimals, written out."""
    with localcontext(prec=40 * _LONGEST):
        return f"{(Decimal(number.numerator) / number.denominator).normalize():f}"


def _field(check: Checker, table: dict[str, Any], path: str) -> Field:
    """One field; what is wrong with it is noted, and its weight is 0 when it has none."""
    _needed(check, table, ("name", "kind", "weight"), path, {"kind": "a kind", "weight": "a number"})
    kind = check.take(table, "kind", str, path, "a kind")
    if kind is not None and kind not in KINDS:
        check.say(
            "RW-P03", f"{path}kind", f"expected one of {', '.join(KINDS)}, got {shown(kind)}{_close(kind, KINDS)}"
        )
        kind = None
    _known(check, table, kind, path)
    required = check.take(table, "required", bool, path, "true or false")
    name = _name(check, table, path)
    return Field(
        name=name,
        kind=kind or "",
        rules=_rules(check, table, kind or "boolean", path),
        weight=_number(check, table, "weight", path, Fraction(0), "a number above 0", lambda n: n > 0),
        at=_keys(check, table, "at", path, (name,)),
        required=required is not False,
    )


def _name(check: Checker, table: dict[str, Any], path: str) -> str:
    name = check.take(table, "name", str, path, "a text")
    if name is None:
        return ""
    if not _NAME.fullmatch(name):
        check.say("RW-P03", f"{path}name", f"expected small letters, digits and _, got {shown(name)}")
    if name in RESERVED:
        check.say("RW-P03", f"{path}name", f"expected another name than {', '.join(RESERVED)}, got {shown(name)}")
    return str(name)


def _known(check: Checker, table: dict[str, Any], kind: str | None, path: str) -> None:
    """Every key must be one that all fields have, or one of this kind."""
    kinds = [kind] if kind is not None else list(KINDS)
    own = [key for one in kinds for key in KEYS[f"field.{one}"]]
    for key in table:
        if key in KEYS["field"] or key in own:
            continue
        hint = _close(key, [*KEYS["field"], *own])
        if kind is not None and (not hint or any(key in KEYS[f"field.{one}"] for one in KINDS)):
            hint = (
                f" (a field of kind {kind} takes {', '.join(own)})"
                if own
                else f" (a field of kind {kind} takes no other key)"
            )
        check.say("RW-P02", f"{path}{key}", f"expected a known key, got an unknown one{hint}")


def _close(word: str, words: Iterable[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(word, list(words), n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def _rules(check: Checker, table: dict[str, Any], kind: str, path: str) -> Kind:
    """The settings of a kind, each as its type says."""
    made: Any = KINDS[kind]
    settings: dict[str, Any] = {}
    for key, hint in get_type_hints(made).items():
        settings[key] = _setting(check, table, key, hint, made._field_defaults[key], path)
    if kind == "enum":
        _values(check, table, settings["values"], path)
    if kind == "keywords" and settings["hits"] > settings["first"]:
        message = f"expected no more than first ({settings['first']}), got {settings['hits']}"
        check.say("RW-P03", f"{path}hits", message)
    rules: Kind = made(**settings)
    return rules


def _setting(check: Checker, table: dict[str, Any], key: str, hint: Any, default: Any, path: str) -> Any:
    if get_origin(hint) is Literal:
        return check.choice(table, key, get_args(hint), path, default)
    if hint is Fraction:
        if key == "threshold":
            return _number(check, table, key, path, default, "a number above 0 and up to 1", lambda n: 0 < n <= 1)
        if key == "contained":
            return _number(check, table, key, path, default, "a number from 0 to 1", lambda n: 0 <= n <= 1)
        return _number(check, table, key, path, default, "a number from 0 up", lambda n: n >= 0)
    if hint is int:
        least = 0 if key in FROM_ZERO else 1
        value = table.get(key, default)
        if type(value) is int and value >= least:
            return value
        check.say("RW-P03", f"{path}{key}", f"expected a whole number from {least} up, got {shown(value)}")
        return default
    strings = check.strings(table, key, path)
    return default if strings is None else strings


def _values(check: Checker, table: dict[str, Any], values: tuple[str, ...], path: str) -> None:
    """The texts of an enum: at least one, all different."""
    if "values" not in table:
        check.say("RW-P11", f"{path}values", "expected a list of strings, got nothing")
    elif table["values"] == []:
        check.say("RW-P03", f"{path}values", "expected at least one text, got an empty list")
    for nth, value in enumerate(values):
        if value in values[:nth]:
            check.say("RW-P03", f"{path}values[{nth}]", f"expected each text once, got {shown(value)} again")


def _strata(check: Checker, table: dict[str, Any], fields: tuple[Field, ...]) -> tuple[str, ...]:
    strata = check.strings(table, "strata", "") or ()
    kinds = {field.name: field.kind for field in fields}
    able = [name for name, kind in kinds.items() if kind in STRATA]
    for nth, name in enumerate(strata):
        if kinds.get(name) == "":
            continue  # its kind is wrong, which has been said
        if name not in able:
            hint = f", a field of kind {kinds[name]}" if name in kinds else _close(name, able)
            check.say("RW-P03", f"strata[{nth}]", f"expected a label, enum or boolean field, got {shown(name)}{hint}")
        elif name in strata[:nth]:
            check.say("RW-P03", f"strata[{nth}]", f"expected each field once, got {shown(name)} again")
    return strata
