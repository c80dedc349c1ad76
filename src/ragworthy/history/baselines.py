"""A run becomes the baseline of a name: in the store, in the lines of the last report, and in the policy's own file.

This is the only way to change a baseline; `history bless` and the viewer both come here.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ragworthy.errors import data_error, usage_error
from ragworthy.files import write_whole
from ragworthy.history import keeping
from ragworthy.history.blessing import Ground, ground
from ragworthy.history.entries import Blessing
from ragworthy.history.home import Home, as_baseline, check_replaced
from ragworthy.history.sealing import last_of, sealed
from ragworthy.policy.kept import BLESSED, blessed_path, is_name

if TYPE_CHECKING:
    from ragworthy.history.store import Store


class Wish(NamedTuple):
    """What somebody wants to be a baseline, and who stands behind it."""

    run: str
    """Whatever names a run: its id, history:ID, the name of a baseline, commit:SHA."""
    by: str
    reason: str
    name: str = "main"
    single: bool = False
    """Although fewer than three runs of it are known."""
    errors: bool = False
    """Although more than a tenth of its questions ended in errors."""


class Blessed(NamedTuple):
    """What came of it."""

    made: Blessing
    warnings: tuple[str, ...]
    accepted: str
    """What is accepted besides, where the run was INVALID for want of a baseline."""
    file: Path | None
    """The file that the policy names as its baseline, where it was written."""


def bless(home: Home, store: "Store", wish: Wish) -> Blessed:
    """Make a run the baseline of a name; raises where nobody stands behind it, or the run cannot be one."""
    check(wish)
    run = store.find(wish.run)
    if wrong := store.check_blessed(run.id):
        raise data_error("RW-R07", wrong[0], where=str(store.place))
    found = ground(store, run, single=wish.single, errors=wish.errors)
    before = store.baseline(wish.name)
    if before is not None and before.run == run.id:
        raise usage_error(f"{wish.name} is {run.id} already", code="RW-H13")
    path = _baseline_file(home.baseline, wish.name, home.folder)
    made = _kept(home, store, run.id, wish, found)
    if path is not None:
        write_whole(path, as_baseline(store, run.id, made), renews=True)
    return Blessed(made, found.warnings, found.accepted, path)


def check(wish: Wish) -> None:
    """Refuse a blessing that nobody stands behind, or a name that cannot be a file's."""
    for flag, text in (("--by", wish.by), ("--reason", wish.reason)):
        if not text.strip():
            raise usage_error(f"{flag}: expected a text, got nothing")
    if not is_name(wish.name):
        raise usage_error(f"--name: expected letters, digits, '.', '_' and '-', got {wish.name[:60]}")


def _kept(home: Home, store: "Store", run: str, wish: Wish, found: Ground) -> Blessing:
    """The blessing in the store, with its line beside the last report where the policy names a folder for that."""
    name, by, reason = wish.name, wish.by.strip(), wish.reason.strip()
    if home.eval is None:
        return store.bless(run, name=name, by=by, reason=reason, runs=found.runs, flips=found.flips)
    told = {"name": name, "by": by, "reason": reason}
    lines = keeping.eval_files(home.policy, home.eval)[-1]
    previous = last_of(lines)
    place = keeping.line_place(home.eval)
    seal = lambda at: sealed(keeping.blessing_of(run, at, told, previous))  # noqa: E731
    made = store.bless(run, name=name, by=by, reason=reason, runs=found.runs, flips=found.flips, line=place, seal=seal)
    keeping.append(lines, keeping.with_ledger(keeping.blessing_of(run, made.at, told, previous), store))
    return made


def flip_lines(shares: Mapping[str, str]) -> Iterator[str]:
    """How many questions change from run to run, in words."""
    for name, share in shares.items():
        part, _, whole = share.partition("/")
        if int(part):
            counted = f"{name} in {100 * int(part) / int(whole or 1):.1f} % of the questions"
            yield f"{counted} ({int(part):,} of {int(whole or 1):,}, two runs at a time)"


def _baseline_file(named: str | None, name: str, folder: Path) -> Path | None:
    """The file that the policy names as its baseline, where it is the one of this name."""
    if named is None:
        return None
    if named.startswith(BLESSED):
        path = blessed_path(folder, name) if named == f"{BLESSED}{name}" else None
    else:
        path = folder / named if name == "main" else None
    if path is not None:
        check_replaced(path, folder)
    return path
