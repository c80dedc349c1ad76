"""The bundled refusal packs, one file for each language, and the rules that settings ask for."""

from functools import cache
from typing import Any

from ragworthy.files import sha256_of
from ragworthy.load.checker import load_toml
from ragworthy.metrics.facts.refusals import Pack, Refusals, Rule, pattern_of
from ragworthy.names import REFUSAL_PACKS
from ragworthy.text import fold


def names_of(given: tuple[str, ...]) -> tuple[str, ...]:
    """The packs that are named, each once; "zh" stands for both scripts.

    >>> names_of(("zh", "en", "zh-Hans"))
    ('zh-Hans', 'zh-Hant', 'en')
    """
    return tuple(dict.fromkeys(one for name in given for one in REFUSAL_PACKS[name]))


@cache
def load_refusal_pack(name: str) -> Pack:
    """A bundled pack."""
    from importlib import resources

    with resources.as_file(resources.files("ragworthy") / "packs" / f"refusals-{name}.toml") as path:
        table, sha256 = load_toml(path), sha256_of(path)
    words: dict[str, str] = table.get("words", {})

    def filled(pattern: str) -> str:
        for word, meaning in words.items():
            pattern = pattern.replace(f"<{word}>", f"(?:{meaning})")
        return pattern

    return Pack(
        id=table["id"],
        sha256=sha256,
        hints=tuple(table["hints"]),
        lead=filled(table["lead"]),
        turns=filled(table["turns"]),
        concedes=filled(table["concedes"]),
        harmless=filled(table["harmless"]),
        about=filled(table["about"]),
        guesses=filled(table["guesses"]),
        rules=tuple(Rule(one["name"], filled(one["pattern"]), one.get("after", False)) for one in table["rule"]),
    )


def refusals_of(settings: Any) -> Refusals | None:
    """The rules that the settings of a suite ask for besides exact texts; None where they ask for none."""
    packs, starts, patterns = settings.refusal_packs, settings.refusal_starts, settings.refusal_patterns
    if not packs and not starts and not patterns:
        return None
    return Refusals(
        packs=tuple(map(load_refusal_pack, names_of(packs))),
        starts=tuple(fold(start.strip()) for start in starts),
        patterns=tuple(map(pattern_of, patterns)),
    )


def told(names: tuple[str, ...]) -> list[dict[str, str]]:
    """Packs as a report names them: two runs are comparable only where the rules were the same."""
    return [{"id": pack.id, "sha256": pack.sha256} for pack in map(load_refusal_pack, names_of(names))]
