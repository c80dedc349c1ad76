"""Redirects between versions of a corpus: the table, and following ids and offsets through one table or several."""

from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from ragworthy.errors import data_error
from ragworthy.ids import stable

SCHEMA = "ragworthy.redirects/1"
COVERAGE_TARGET = Fraction("0.995")
RISKY_BELOW = Fraction("0.90")
SAME_BLOCK = Fraction("0.95")
"""What two blocks of the same document must share to be the same block."""

Offsets: TypeAlias = tuple[int, int]
Run: TypeAlias = tuple[int, int, int]
"""Old byte, new byte and length of a stretch of text that is the same on both sides."""


class Part(msgspec.Struct, frozen=True, omit_defaults=True):
    """A new block that holds a part of an old one."""

    id: str
    off: Offsets
    runs: tuple[Run, ...] = ()


class Best(msgspec.Struct, frozen=True):
    """The new block that comes nearest to an old one that has no successor."""

    id: str
    conf: float


class Redirect(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Where an old block went. `runs` are where offsets inside the block cannot simply be shifted."""

    old_block_id: str
    new_block_id: str | None
    move: Literal["shift", "split", "merge", "unmapped"]
    old_off: Offsets
    new_off: Offsets | None = None
    new_parts: tuple[Part, ...] = ()
    conf: float
    matched: int | None = None
    new_doc_id: str | None = None
    runs: tuple[Run, ...] = ()
    old_text: str | None = None
    best: Best | None = None

    @property
    def targets(self) -> tuple[Part, ...]:
        """The new blocks, in reading order; none for an unmapped block."""
        if self.new_parts or self.new_block_id is None or self.new_off is None:
            return self.new_parts
        return (Part(self.new_block_id, self.new_off, self.runs),)

    @property
    def share(self) -> Fraction:
        """The matched share of the old block, exact where the table says how many bytes matched."""
        size = self.old_off[1] - self.old_off[0]
        if self.matched is None or size <= 0:
            return Fraction(str(self.conf))
        return Fraction(self.matched, size)

    @property
    def risky(self) -> bool:
        """Whether a person should look: unmapped, or less than 0.90 of the text matched."""
        return self.move == "unmapped" or self.share < RISKY_BELOW

    @property
    def unchanged(self) -> bool:
        """Whether the whole text moved as it was."""
        same_size = self.new_off is not None and self.new_off[1] - self.new_off[0] == self.old_off[1] - self.old_off[0]
        return self.move == "shift" and same_size and not self.runs and self.share == 1


class DocumentRedirects(msgspec.Struct, frozen=True, omit_defaults=True):
    """The redirects of one old document; versions are revisions of its text, sizes are bytes."""

    doc_id: str
    from_version: str | None
    to_version: str | None
    mappings: tuple[Redirect, ...]
    from_bytes: int = 0
    to_bytes: int = 0


class Table(msgspec.Struct, frozen=True):
    """All redirects from one version of a corpus to the next, and the new blocks that have no old one."""

    schema: str
    from_version: str
    to_version: str
    documents: tuple[DocumentRedirects, ...]
    added: tuple[str, ...] = ()
    numbers: dict[str, Any] = {}

    @property
    def rows(self) -> list[Redirect]:
        """Every redirect, document by document."""
        return [row for document in self.documents for row in document.mappings]

    @property
    def live(self) -> frozenset[str]:
        """The ids of all blocks of the new version."""
        return frozenset(self.added) | {part.id for row in self.rows for part in row.targets}


def inverted(table: Table) -> Table:
    """The same redirects the other way round: from the new blocks to the old ones; added blocks lead nowhere."""
    found: dict[str, list[tuple[Part, Redirect]]] = {}
    homes: dict[str, DocumentRedirects] = {}
    for document in table.documents:
        for row in document.mappings:
            for part in row.targets:
                found.setdefault(part.id, []).append((part, row))
                homes.setdefault(part.id, document)
    mappings: dict[str, list[Redirect]] = {}
    for name, sources in found.items():
        mappings.setdefault(homes[name].doc_id, []).append(_back(name, sources))
    documents = [
        DocumentRedirects(one.doc_id, one.to_version, one.from_version, tuple(mappings[one.doc_id]))
        for one in table.documents
        if one.doc_id in mappings
    ]
    gone = [
        Redirect(old_block_id=name, new_block_id=None, move="unmapped", old_off=(0, 0), conf=0.0)
        for name in table.added
    ]
    documents += [DocumentRedirects("*", table.to_version, table.from_version, tuple(gone))] if gone else []
    return Table(table.schema, table.to_version, table.from_version, tuple(documents))


def recut(table: Table) -> frozenset[str]:
    """Old blocks that became other blocks because the cuts moved, and not the text.

    In documents that did not change these are all whose bytes are another block's now. Chunks without offsets may show
    no document that did not change: where most blocks of the table were cut up or merged, these are all of them.
    """
    moved = {
        stable(row.old_block_id)
        for document in table.documents
        if document.from_version is not None and document.from_version == document.to_version
        for row in document.mappings
        if row.targets and row.new_doc_id is None and not _stayed(row)
    }
    parted = {stable(row.old_block_id) for row in table.rows if row.move in ("split", "merge")}
    return frozenset(moved | parted if 2 * len(parted) > len(table.rows) else moved)


def _stayed(row: Redirect) -> bool:
    """Whether a block of an unchanged document is one block still, give or take a line end."""
    (begin, end), (first, last) = row.old_off, row.targets[0].off
    shared, both = min(end, last) - max(begin, first), max(end, last) - min(begin, first)
    return len(row.targets) == 1 and Fraction(shared, max(1, both)) >= SAME_BLOCK


def _back(name: str, sources: list[tuple[Part, Redirect]]) -> Redirect:
    """One new block, led back to every old block that it holds."""
    (part, first), several = sources[0], len(sources) > 1
    parts = tuple(Part(row.old_block_id, row.old_off) for _, row in sources) if several else ()
    return Redirect(
        old_block_id=name,
        new_block_id=first.old_block_id,
        move="split" if several else first.move,
        old_off=part.off,
        new_off=None if several else first.old_off,
        new_parts=parts,
        conf=min(row.conf for _, row in sources),
    )


class Followed(NamedTuple):
    """Where an id leads: the live ids, the moves on the way, and the lowest confidence of them."""

    ids: tuple[str, ...]
    moves: tuple[str, ...] = ()
    conf: float | None = None
    risky: bool = False

    @property
    def move(self) -> str:
        """The move that says most about the way: unmapped, then split, merge and shift."""
        return min(self.moves, key=("unmapped", "split", "merge", "shift").index, default="")


class Place(NamedTuple):
    """A range of bytes in a block; `exact` is false where it had to be widened to the whole block."""

    id: str
    offsets: Offsets
    exact: bool


class Redirects:
    """Tables of successive versions, followed one step each.

    An id that a table does not know passes it as it is: it came into the corpus later, or was never part of it.
    """

    def __init__(self, steps: Sequence[dict[str, Redirect]], versions: Sequence[str]) -> None:
        self._steps = steps
        self.versions = tuple(versions)

    @classmethod
    def from_tables(cls, tables: Iterable[Table]) -> "Redirects":
        """Redirects through tables that follow one another, given in any order."""
        chain = _in_order(list(tables))
        steps = [{stable(row.old_block_id): row for row in table.rows} for table in chain]
        versions = [table.from_version for table in chain] + [table.to_version for table in chain[-1:]]
        return cls(steps, versions)

    def resolve(self, id: str) -> tuple[str, ...]:
        """The ids that an old id stands for in the newest version: all parts of a split, none when it is unmapped."""
        return self.follow(id).ids

    def follow(self, id: str) -> Followed:
        """The way of an id through all tables."""
        ids = [id]
        way: list[Redirect] = []
        for step in self._steps:
            found: dict[str, None] = {}
            for one in ids:
                row = step.get(stable(one))
                way += [row] if row else []
                found |= dict.fromkeys([part.id for part in row.targets] if row else [one])
            ids = list(found)
        conf = min((row.conf for row in way), default=None)
        return Followed(tuple(ids), tuple(row.move for row in way), conf, any(row.risky for row in way))

    def places(self, id: str, offsets: Offsets) -> tuple[Place, ...]:
        """The bytes of the newest version that a range of an old block stands for."""
        places = [Place(id, offsets, True)]
        for step in self._steps:
            found: dict[Place, None] = {}
            for place in places:
                row = step.get(stable(place.id))
                found |= dict.fromkeys(_carried(row, place) if row else [place])
            places = list(found)
        return tuple(places)


def _in_order(tables: list[Table]) -> list[Table]:
    """The tables from the oldest version to the newest; one that leaves a version as it was adds no step."""
    steps = [table for table in tables if not _idle(table)]
    by_start = {table.from_version: table for table in steps}
    walks = [_walk(version, by_start) for version in by_start]
    for versions in walks:
        if versions[-1] in versions[:-1]:
            raise _circle(versions)
    longest = max(walks, key=len, default=[])
    if len(longest) <= len(steps) and steps:
        raise _apart(steps)
    return [by_start[version] for version in longest[:-1]] or tables[:1]


def _idle(table: Table) -> bool:
    """Whether a table leads from a version to itself and every id to itself."""
    same = all(row.move == "shift" and row.new_block_id == row.old_block_id for row in table.rows)
    return same and table.from_version == table.to_version


def _walk(version: str, by_start: dict[str, Table]) -> list[str]:
    """The versions from one on, until there is no next one or one comes back."""
    versions = [version]
    while versions[-1] in by_start and versions[-1] not in versions[:-1]:
        versions.append(by_start[versions[-1]].to_version)
    return versions


def _circle(versions: Sequence[str]) -> Exception:
    way = " → ".join(f'"{version}"' for version in versions)
    return data_error("RW-M02", f"expected versions that lead to a newest one, got {way}", where="redirects")


def _apart(tables: Sequence[Table]) -> Exception:
    steps = ", ".join(f'"{table.from_version}" → "{table.to_version}"' for table in tables)
    return data_error("RW-M03", f"expected tables of which each goes on where one ends, got {steps}", where="redirects")


def _carried(row: Redirect, place: Place) -> list[Place]:
    """A range of an old block in the new blocks that hold it; the whole blocks where its text cannot be found."""
    targets = row.targets
    begin, end = max(place.offsets[0], row.old_off[0]), min(place.offsets[1], row.old_off[1])
    if (begin, end) == row.old_off and row.move != "merge":
        return [Place(part.id, part.off, place.exact) for part in targets]
    found = []
    for part in targets:
        offsets = _shifted(row, part, begin, end) if begin < end else None
        if offsets:
            found.append(Place(part.id, offsets, place.exact))
    return found or [Place(part.id, part.off, False) for part in targets]


def _shifted(row: Redirect, part: Part, begin: int, end: int) -> Offsets | None:
    """A range of the old block within one new block, or None when nothing of it is there."""
    runs = part.runs
    if not runs:
        if row.old_off[1] - row.old_off[0] != part.off[1] - part.off[0]:
            return None
        runs = ((row.old_off[0], part.off[0], row.old_off[1] - row.old_off[0]),)
    inside = [
        (max(begin, old) - old + new, min(end, old + length) - old + new)
        for old, new, length in runs
        if old < end and begin < old + length
    ]
    return (inside[0][0], inside[-1][1]) if inside else None


class Coverage(NamedTuple):
    """How many of some old ids lead to a live block, and which do not."""

    num: int
    den: int
    lost: tuple[str, ...]

    @property
    def reached(self) -> bool:
        """Whether the share is at least 0.995, exactly; not reached when there is nothing to follow."""
        return self.den > 0 and Fraction(self.num, self.den) >= COVERAGE_TARGET


def redirect_coverage(redirects: Redirects, ids: Iterable[str], live: Collection[str]) -> Coverage:
    """The share of old ids that resolve to at least one block of the newest version."""
    wanted = list(ids)
    lost = tuple(id for id in wanted if not any(stable(new) in live for new in redirects.resolve(id)))
    return Coverage(len(wanted) - len(lost), len(wanted), lost)
