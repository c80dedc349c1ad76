"""Whether two runs may be compared: the one place that says so, for baselines, trends, live indexes and `compare`."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from ragworthy.text import in_words

SHOWN = 60
OTHER_GOLD = "it was scored on another gold set"
FREE = ("slices",)
"""Settings that never matter."""
FREE_OF_BASELINES = ("k", "loads")
"""What a run that is compared with a baseline may have otherwise."""
MEANS = {"support": "a corpus was given to one of them only"}
"""What it means where a setting differs that nobody sets by its name."""
HELD = ("normaliser", "reranker", "retriever")
"""How traces were made, as far as that must be the same unless somebody asks for the difference. Another index or
commit is what comparisons are for."""
TELLING = ("normaliser", "reranker")
"""What traces that do not name it do without: to name one is a difference. Reports of the first version, which knew
nothing of it, are left alone."""
SWEPT = ("", "latency")
"""Suites whose files hold several configurations: these may differ in how they were made. And where it is not known."""
SHOWN_CHANGES = ("index_hash", "commit", *HELD, "knobs")
"""How traces were made, as far as a comparison says what changed."""

ALIKE = "compare the manifests of the indexes ('ragworthy index check'), and normalise text alike in every environment"
"""What to do about flips from one environment to another."""
GOLD, MADE = "gold", "made"
"""What keeps a run from being compared with a baseline, where something can be done about it: see `of_baseline`."""
OTHERWISE = "what changed: "
"""How a note begins that says what changed in how two runs were made."""


REASONS = 3
"""So many reasons are named."""


class Made(NamedTuple):
    """How a run was made, as far as that decides what it can be compared with."""

    gold: str | None
    """The hash of its gold set; None where there is none."""
    profile: str
    settings: Mapping[str, Any]
    frozen: str = ""
    verdict: str = ""
    loads: tuple[str, ...] = ()
    told: Mapping[str, Any] = MappingProxyType({})
    """How its traces were made: see `told_of`."""
    known: bool = True
    """Whether all this is known: a file of rows says nothing of it."""
    invalid: tuple[str, ...] = ()
    """Why its evidence is not valid, where that is at hand."""


class Unlike(NamedTuple):
    """One reason why two runs cannot be compared."""

    what: str
    """gold, profile, frozen, evidence, loads, the name of a setting, or one of how traces are made (`HELD`)."""
    text: str


def unlike(a: Made, b: Made, suite: str = "") -> list[Unlike]:
    """Every reason why two runs of a suite cannot be compared; empty when they can."""
    if not (a.known and b.known):
        return []
    found = []
    if a.gold != b.gold:
        found.append(Unlike(GOLD, f"another gold set ({_hash(a.gold)} and {_hash(b.gold)})"))
    if a.profile != b.profile:
        found.append(Unlike("profile", f"another profile ({a.profile} and {b.profile})"))
    if a.loads != b.loads:
        found.append(Unlike("loads", f"other loads ({_text(list(a.loads))} and {_text(list(b.loads))})"))
    found += [
        Unlike(key, f"another setting of {key} ({MEANS.get(key) or f'{_text(one)} and {_text(other)}'})")
        for key, one, other in moved(a.settings, b.settings)
    ]
    held = [
        Unlike(key, f"another {key} ({one} and {other})") for key, one, other in changed(a.told, b.told) if key in HELD
    ]
    inside = mixed(a.told, b.told) if suite not in SWEPT else []
    return found + held + [one for one in inside if one.what not in {other.what for other in held}]


def mixed(*told: Mapping[str, Any]) -> list[Unlike]:
    """What differs within a run: the same names in two runs say nothing then of which question was asked how.

    >>> mixed({"reranker": ["bge", "none"]}, {"reranker": "bge"})
    [Unlike(what='reranker', text='several rerankers in one run (bge, none)')]
    """
    found = {key: one[key] for key in TELLING for one in told if isinstance(one.get(key), list)}
    return [Unlike(key, f"several {key}s in one run ({_text(names)})") for key, names in found.items()]


def told_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """How the traces of a suite were made, by the body of its report; where they differ, all values.

    >>> told_of({"settings": {"reranker": ["bge"]}}), told_of({"provenance": {"index_hash": "a", "reranker": None}})
    ({'reranker': 'bge'}, {'index_hash': 'a', 'reranker': None})
    """
    made, settings = body.get("provenance") or {}, body.get("settings") or {}
    found: dict[str, Any] = {}
    for key in SHOWN_CHANGES:
        several = _several(made, key) or (settings.get(key) if key in HELD else None) or []
        several = several if isinstance(several, list) else [several]
        single = len(several) == 1 and key not in (made.get("differs_in") or {})
        value = made[key] if made.get(key) is not None else several[0] if single else several
        if value not in ([], {}, ""):
            found[key] = value
        elif key in TELLING and (key in made or key in settings):
            found[key] = None
    return found


def _several(made: Mapping[str, Any], key: str) -> list[Any]:
    """The values that traces of one run differ in; of more than are listed, how many there are and what they hash to.

    >>> _several({"differs": {"commit": [{"value": "b", "traces": 3}, {"value": "a", "traces": 1}]}}, "commit")
    ['a', 'b']
    """
    if every := (made.get("differs_in") or {}).get(key):
        return [f"{every['values']} values ({every['sha256'][:12]})"]
    listed = (made.get("differs") or {}).get(key, ())
    return sorted((one["value"] for one in listed), key=str)  # which of them is there more often is luck


def changes(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """What differs in how two runs were made, where both say it."""
    return [(key, a[key], b[key]) for key in SHOWN_CHANGES if key in a and key in b and a[key] != b[key]]


def change_lines(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    """The same in words.

    >>> change_lines({"index_hash": "rw:1", "commit": "c1"}, {"index_hash": "rw:2", "commit": "c1"})
    ['index_hash: rw:1 → rw:2']
    """
    return [f"{key}: {one} → {other}" for key, one, other in changed(a, b)]


def changed(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """What differs in how two runs were made, as texts; of a configuration only what differs.

    >>> list(changed({"retriever": {"k": 10, "mode": "bm25"}}, {"retriever": {"k": 10, "mode": "dense"}}))
    [('retriever', 'mode bm25', 'mode dense')]
    """
    for key, one, other in changes(a, b):
        if isinstance(one, dict) and isinstance(other, dict):
            apart = [name for name in {**one, **other} if one.get(name) != other.get(name)]
            one, other = ({name: side.get(name) for name in apart} for side in (one, other))
        yield key, _text(one), _text(other)


def unsound(made: Made) -> list[Unlike]:
    """Why a run is nothing to compare others with."""
    found = []
    if made.frozen in ("unfrozen", "broken"):
        found.append(Unlike("frozen", "its gold set was not the frozen one"))
    if made.verdict == "INVALID":
        why = f" ({'; '.join(made.invalid[:REASONS])})" if made.invalid else ""
        found.append(Unlike("evidence", f"its own evidence was not valid{why}"))
    return found


def moved(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Every setting that differs."""
    for key in {**b, **a}:
        if key in FREE or key in HELD:  # reports of earlier versions have these among their settings: see `told_of`
            continue
        if a.get(key) != b.get(key):
            yield key, a.get(key), b.get(key)


def of_baseline(earlier: Made, now: Made, allowed: Collection[str] = (), suite: str = "") -> Unlike | None:
    """Why a run cannot be compared with an earlier one, in a few words; None where it can.

    Numbers carry their k in their names, so that another list of k takes nothing away.
    """
    found = kept(unlike(earlier, now, suite), allowed)
    reasons = [one.what for one in found]
    if GOLD in reasons:
        return Unlike(GOLD, OTHER_GOLD)
    if "profile" in reasons:
        return Unlike("profile", "it was scored with another profile")
    if weak := unsound(earlier):
        return weak[0]
    settings = [what for what in reasons if what not in (*FREE_OF_BASELINES, *HELD)]
    if settings:
        means = "".join(f" ({MEANS[what]})" for what in settings if what in MEANS)
        return Unlike("settings", f"it was scored with another setting of {', '.join(settings)}{means}")
    held = [one for one in found if one.what in HELD]
    return Unlike(MADE, f"it was made with {', '.join(one.text for one in held)}") if held else None


def asking(names: Sequence[str], *, policy: bool) -> str:
    """How to ask for what differs, in a policy or on the command line.

    >>> asking(["reranker"], policy=False)
    'make both with the same reranker; if that is what you try, say so: --allow reranker'
    """
    listed = ", ".join(f'"{name}"' for name in names)
    flags = " ".join(f"--allow {name}" for name in names)
    both = f"make both with the same {' and '.join(names)}"
    return f"{both}; if that is what you try, say so: {f'allow = [{listed}] in the policy' if policy else flags}"


def not_allowable(name: str) -> str | None:
    """What is wrong with a name of what may differ from a baseline; None where nothing is."""
    return None if name in HELD else f'expected {", ".join(HELD[:-1])} or {HELD[-1]}, got "{name}"'


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
    return in_words(value, SHOWN)
