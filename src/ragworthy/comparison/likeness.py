"""Whether two runs may be compared: the one place that says so, for baselines, trends, live indexes and `compare`."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

SHOWN = 60
OTHER_GOLD = "it was scored on another gold set"
FREE = ("slices",)
"""Settings that never matter."""
FREE_OF_BASELINES = ("k", "reranker", "loads")
"""What a run that is held against a baseline may have otherwise."""
TOLD_APART = ("normaliser", "reranker")
"""Settings that earlier reports do not have: where one of two lacks them, nobody knows, and nothing is said."""


class Made(NamedTuple):
    """How a run was made, as far as that decides what it can be compared with."""

    gold: str | None
    """The hash of its gold set; None where there is none."""
    profile: str
    settings: Mapping[str, Any]
    frozen: str = ""
    verdict: str = ""
    loads: tuple[str, ...] = ()


class Unlike(NamedTuple):
    """One reason why two runs cannot be compared."""

    what: str
    """gold, profile, frozen, evidence, loads, or the name of a setting."""
    text: str


def unlike(a: Made, b: Made) -> list[Unlike]:
    """Every reason why two runs cannot be compared; empty when they can."""
    found = []
    if a.gold != b.gold:
        found.append(Unlike("gold", f"another gold set ({_hash(a.gold)} and {_hash(b.gold)})"))
    if a.profile != b.profile:
        found.append(Unlike("profile", f"another profile ({a.profile} and {b.profile})"))
    if a.loads != b.loads:
        found.append(Unlike("loads", f"other loads ({_text(list(a.loads))} and {_text(list(b.loads))})"))
    return found + [
        Unlike(key, f"another setting of {key} ({_text(one)} and {_text(other)})")
        for key, one, other in moved(a.settings, b.settings)
    ]


def unsound(made: Made) -> list[Unlike]:
    """Why a run is nothing to compare others with."""
    found = []
    if made.frozen in ("unfrozen", "broken"):
        found.append(Unlike("frozen", "its gold set was not the frozen one"))
    if made.verdict == "INVALID":
        found.append(Unlike("evidence", "its own evidence was not valid"))
    return found


def moved(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Every setting that differs."""
    for key in {**b, **a}:
        if key in FREE or (key in TOLD_APART and not (key in a and key in b)):
            continue
        if a.get(key) != b.get(key):
            yield key, a.get(key), b.get(key)


def of_baseline(earlier: Made, now: Made) -> str | None:
    """Why a run cannot be held against an earlier one, in a few words; None where it can.

    Numbers carry their k in their names, so that another list of k takes nothing away; and a new reranker is a change
    that somebody wants judged.
    """
    reasons = [one.what for one in unlike(earlier, now)]
    if "gold" in reasons:
        return OTHER_GOLD
    if "profile" in reasons:
        return "it was scored with another profile"
    if weak := unsound(earlier):
        return weak[0].text
    changed = [what for what in reasons if what not in FREE_OF_BASELINES]
    return f"it was scored with another setting of {', '.join(changed)}" if changed else None


def kept(reasons: Sequence[Unlike], allowed: Collection[str]) -> list[Unlike]:
    """The reasons that nobody asked to let pass."""
    return [one for one in reasons if one.what not in allowed]


def differing(what: str, a: Collection[str], b: Collection[str], named: tuple[str, str]) -> str | None:
    """Why two lists of names that traces carry do not belong together; None where they are the same.

    >>> differing("reranker", ["bge"], [], ("live", "shadow"))
    'they used different rerankers: live bge, shadow none named'
    """
    if a == b:
        return None
    before, after = (", ".join(names) or "none named" for names in (a, b))
    return f"they used different {what}s: {named[0]} {before}, {named[1]} {after}"


def _hash(sha256: str | None) -> str:
    return sha256[:8] if sha256 else "none"


def _text(value: Any) -> str:
    """A setting in a few words."""
    if isinstance(value, list | tuple):
        text = ", ".join(map(_text, value)) or "none"
    elif isinstance(value, dict):
        text = ", ".join(f"{key} {_text(one)}" for key, one in value.items())
    else:
        text = "none" if value is None else str(value)
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
