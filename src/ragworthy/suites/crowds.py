"""Where what went wrong is crowded: documents, sections, types and slices that hold more than their share of it."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from ragworthy.ids import natural
from ragworthy.metrics.facts.placed import Place, kind_of
from ragworthy.metrics.facts.placed import place_of as place_of
from ragworthy.names import HARMLESS
from ragworthy.records import Chunk, Gold
from ragworthy.suites.evidence import Case, Found
from ragworthy.suites.slices import Slice

MOST = 3
"""So many groups are named of each kind."""
LEAST = 3
"""Fewer questions that went wrong are not a crowd."""
_RARE = 0.01
"""How often any of the groups of a kind may be named by chance."""

Crowd: TypeAlias = dict[tuple[str, str], dict[str | None, int]]
"""What became of the questions of a group, by its kind and its name: what went wrong with each, or None."""


Placed: TypeAlias = Callable[[str], Place]
"""Where a chunk stands, by its id."""


class Home(NamedTuple):
    """Where the first evidence of a question stands, as far as somebody says so."""

    document: str | None = None
    section: str | None = None
    type: str | None = None

    def groups(self) -> Iterator[tuple[str, str]]:
        """The groups of a question by their kind."""
        for kind, name in zip(self._fields, self, strict=True):
            if name:
                yield kind, name


NO_HOME = Home()


@lru_cache(maxsize=1 << 16)
def home_at(place: Place) -> Home:
    """The home of a question whose first evidence is here. A section that is all of its document is none."""
    doc, section = place.doc, place.section
    within = section if section is None or doc is None or section.startswith(doc) else f"{doc} {section}"
    return Home(doc, within if within != doc else None, kind_of(place.type) or None)


def home_of(gold: Gold, placed: Placed = place_of) -> Home:
    """Where the first gold citation stands: what the corpus says, else what its id says.

    >>> home_of(Gold(answerable=True, gold_citations=["guide.md|s=1.2|p=000|b=001"]))
    Home(document='guide.md', section='guide.md 1.2', type=None)
    """
    return home_at(placed(gold.gold_citations[0])) if gold.gold_citations else NO_HOME


def placed_by(chunks: Iterable[Chunk]) -> Placed:
    """A function that tells where a chunk stands."""
    known = {one.name: Place(one.doc_id, one.section_id, one.type) for one in chunks}

    def place(name: str) -> Place:
        said, given = place_of(name), known.get(name) or Place(None, None)
        return Place(given.doc or said.doc, given.section or said.section, given.type or said.type)

    return place


def wrong_with(case: Case) -> str:
    """What went wrong with a question, as it is counted: the cause, else what it is called."""
    named = case.cause or case.label
    return named.value if named is not None else "other"


def add_to(crowd: Crowd, home: Home, slices: Iterable[str], what: str | None, count: int = 1) -> None:
    """Count questions in each of their groups; a field of the gold set comes before what ids say under its name."""
    groups = [(Slice(one).field, Slice(one).value) for one in slices]
    fields = {field for field, _ in groups}
    for group in (*(one for one in home.groups() if one[0] not in fields), *dict.fromkeys(groups)):
        counts = crowd.setdefault(group, {})
        counts[what] = counts.get(what, 0) + count


def add_homes(crowd: Crowd, homes: Iterable[tuple[Home, str | None]]) -> None:
    """Count questions in the groups of their homes: thousands of them have the same."""
    by_home: dict[Home, dict[str | None, int]] = {}
    for (home, what), count in Counter(homes).items():
        by_home.setdefault(home, {})[what] = count
    for home, found in by_home.items():
        for group in home.groups():
            counts = crowd.setdefault(group, {})
            for what, count in found.items():
                counts[what] = counts.get(what, 0) + count


def telling(crowd: Mapping[tuple[str, str], Mapping[str | None, int]]) -> list[dict[str, Any]]:
    """The groups that hold more than their share of what went wrong, those with most of it first.

    >>> crowd = {("type", "table"): Counter(below_k=9, ok=0), ("type", "prose"): Counter({None: 90, "not_cited": 1})}
    >>> [(one["name"], one["wrong"], one["cases"], one["cause"]) for one in telling(crowd)]
    [('table', 9, 9, 'below_k')]
    """
    kinds: dict[str, list[tuple[str, int, int]]] = {}
    for (kind, name), what in crowd.items():
        cases = sum(what.values())
        kinds.setdefault(kind, []).append((name, cases - what.get(None, 0), cases))
    found = []
    for kind, groups in kinds.items():
        whole, bad = sum(cases for _, _, cases in groups), sum(wrong for _, wrong, _ in groups)
        crowded = [one for one in groups if _is_crowded(one[1], one[2], bad, whole, len(groups))]
        crowded.sort(key=lambda one: (-one[1], one[2], natural(one[0])))
        found += [
            {"by": kind, "name": name, "wrong": wrong, "cases": cases, "of_all": bad, "cause": _main(crowd[kind, name])}
            for name, wrong, cases in crowded[:MOST]
        ]
    return found


def _main(what: Mapping[str | None, int]) -> str:
    """What went wrong most often."""
    return max((one for one in what if one is not None), key=lambda one: (what[one], one), default="")


def _is_crowded(wrong: int, cases: int, bad: int, whole: int, groups: int) -> bool:
    """Whether so many of its cases would hardly have gone wrong by chance, had every question the same lot.

    >>> _is_crowded(9, 9, 10, 100, 2), _is_crowded(3, 20, 10, 100, 5), _is_crowded(8, 20, 10_000, 100_000, 5_000)
    (True, False, False)
    """
    more = wrong >= LEAST and wrong * whole > cases * bad
    return more and _chance(wrong, cases, bad, whole) * groups <= _RARE


def _chance(wrong: int, cases: int, bad: int, whole: int) -> float:
    """How probable it is that so many or more of these cases are among the bad ones of the whole (hypergeometric).

    Each number of them weighs so much more than the one before; the weights are summed. Nothing but products and
    quotients of floats, which are the same on every machine.

    >>> round(_chance(2, 2, 2, 4), 12), round(_chance(1, 2, 2, 4), 12)  # 1 of 6 draws, 5 of 6 draws
    (0.166666666667, 0.833333333333)
    """
    least, most = max(0, cases - (whole - bad)), min(cases, bad)
    above = weight = 1.0
    for k in range(wrong, most):
        weight *= (bad - k) * (cases - k) / ((k + 1) * (whole - bad - cases + k + 1))
        above += weight
    below, weight = 0.0, 1.0
    for k in range(wrong - 1, least - 1, -1):
        weight *= (k + 1) * (whole - bad - cases + k + 1) / ((bad - k) * (cases - k))
        below += weight
    return above / (above + below)


class Blaming:
    """What a suite says of questions that are not as they should be, unless it says otherwise."""

    def offends(self, case: Case) -> bool:
        """Whether something is wrong with a question, so that a stage is to blame for it."""
        return case.label is not None and case.label not in HARMLESS

    def home(self, case: Case, found: Found) -> Home:
        """Where the first evidence of a question stands, as far as somebody says so."""
        return Home()

    def crowd(self, found: Found) -> Crowd:
        """What became of the questions of every document, section, type and slice."""
        crowd: Crowd = {}
        for case in found.cases:
            what = wrong_with(case) if self.offends(case) else None
            add_to(crowd, self.home(case, found), case.slices, what, case.weight)
        return crowd
