"""Packs of contradiction rules, bundled or your own."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ragworthy.errors import DataError, PolicyError, data_error
from ragworthy.files import sha256_of, shown_path
from ragworthy.load.checker import load_toml
from ragworthy.metrics.facts.constraints import Contradictions, Pattern, limited
from ragworthy.text import described

BUNDLED_PACKS = ("wfgy-neg-4",)


class Pack(NamedTuple):
    """Contradiction rules: where the first pattern matches a lock, the second must not match the claim."""

    id: str
    rules: Contradictions
    sha256: str


def load_pack(name: str, path: Path) -> Pack:
    """A bundled pack by name, else the TOML file at the path."""
    if name in BUNDLED_PACKS:
        from importlib import resources

        with resources.as_file(resources.files("ragworthy") / "packs" / f"{name}.toml") as bundled:
            return _read_pack(bundled, name)
    return _read_pack(path, shown_path(path))


def _read_pack(path: Path, label: str) -> Pack:
    def wrong(message: str, field: str = "") -> DataError:
        return data_error("RW-K01", message, where=label, field=field)

    try:
        table = load_toml(path)
    except PolicyError as error:
        raise wrong(error.problems[0].message) from None
    if not isinstance(table.get("id"), str):
        raise wrong(f"expected a text, got {described(table['id']) if 'id' in table else 'nothing'}", "id")
    given = table.get("rule", [])
    if not isinstance(given, list) or not given:
        raise wrong(
            "expected [[rule]] tables, got none" if not given else "expected [[rule]] tables, got another value"
        )
    rules = []
    for i, rule in enumerate(given):
        patterns = []
        for key in ("locked", "claim"):
            field = f"rule[{i}].{key}"
            text = rule.get(key) if isinstance(rule, dict) else None
            if not isinstance(text, str):
                raise wrong(f"expected a pattern, got {'nothing' if text is None else described(text)}", field)
            patterns.append(_pattern(text, partial(wrong, field=field)))
        rules.append((patterns[0], patterns[1]))
    return Pack(table["id"], tuple(rules), sha256_of(path))


def _pattern(text: str, wrong: Callable[[str], DataError]) -> Pattern:
    """A pattern of a pack. It may come from somebody else, so it is run by an engine that knows a time limit."""
    try:
        return limited(text)
    except ValueError as error:
        raise wrong(str(error)) from None
