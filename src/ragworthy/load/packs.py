"""Packs of contradiction rules, bundled or your own."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ragworthy.errors import DataError, PolicyError, data_error
from ragworthy.files import sha256_of, shown_path
from ragworthy.load.checker import load_toml
from ragworthy.metrics.facts.constraints import Contradictions, Pattern, Rule, limited
from ragworthy.text import described

BUNDLED_PACKS = ("opposites-en", "wfgy-neg-4")
NO_PACK = "none"
"""The name that stands for no rule at all."""
WITHOUT_FILE = (*BUNDLED_PACKS, NO_PACK)
"""The names that are no path."""


class Pack(NamedTuple):
    """Contradiction rules: where the first pattern matches a lock, the second must not match the claim.

    The second may repeat what a named group of the first matched, as `(?P=name)`.
    """

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
        texts = []
        for key in ("locked", "claim"):
            text = rule.get(key) if isinstance(rule, dict) else None
            if not isinstance(text, str):
                got = "nothing" if text is None else described(text)
                raise wrong(f"expected a pattern, got {got}", f"rule[{i}].{key}")
            texts.append(text)
        name = rule.get("name", f"rule {i + 1}")
        if not isinstance(name, str):
            raise wrong(f"expected a text, got {described(name)}", f"rule[{i}].name")
        made = _rule(texts[0], texts[1], partial(wrong), f"rule[{i}]")
        rules.append(made._replace(name=f"{table['id']}: {name}"))
    return Pack(table["id"], tuple(rules), sha256_of(path))


def _rule(locked: str, claim: str, wrong: Callable[..., DataError], field: str) -> Rule:
    """One rule. A claim that repeats a group of the lock is looked for in both texts at once, a line for each."""
    first = _pattern(locked, partial(wrong, field=f"{field}.locked"))
    repeats = any(f"(?P={name})" in claim for name in first.groupindex)
    text = rf"\A[^\n]*?(?:{locked})[^\n]*\n(?s:.*?)(?:{claim})" if repeats else claim
    return Rule(first, _pattern(text, partial(wrong, field=f"{field}.claim")), repeats)


def _pattern(text: str, wrong: Callable[[str], DataError]) -> Pattern:
    """A pattern of a pack. It may come from somebody else, so it is run by an engine that knows a time limit."""
    try:
        return limited(text)
    except ValueError as error:
        raise wrong(str(error)) from None
