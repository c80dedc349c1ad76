"""What a policy says of earlier runs: where they are kept, and which of them is the baseline."""

import os
import re
from pathlib import Path
from typing import Any, NamedTuple

from ragworthy.load.checker import Checker, shown
from ragworthy.load.keys import KEYS

BLESSED = "history:"
"""A baseline that begins so is the name of a blessed run."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Kept(NamedTuple):
    """Where earlier runs are kept, as the policy has it."""

    store: str | None = None
    eval: str | None = None


def parse_kept(check: Checker, table: dict[str, Any]) -> Kept:
    """The table of the history."""
    given = check.take(table, "history", dict, "", "a table") or {}
    check.known(given, KEYS["history"], "history.")
    return Kept(*[check.take(given, key, str, "history.", "a path") for key in Kept._fields])


def parse_baseline(check: Checker, table: dict[str, Any]) -> str | None:
    """A path, or the name of a blessed run."""
    baseline: str | None = check.take(table, "baseline", str, "", "a path")
    if baseline is not None and baseline.startswith(BLESSED) and not is_name(baseline.removeprefix(BLESSED)):
        check.say("RW-P03", "baseline", f"expected history: and the name of a baseline, got {shown(baseline)}")
    return baseline


def is_name(text: str) -> bool:
    """Whether a baseline may be called so; it becomes the name of a file.

    >>> is_name("main"), is_name("../main"), is_name("")
    (True, False, False)
    """
    return _NAME.fullmatch(text) is not None


def unblessed(name: str) -> str:
    """Why there is nothing to compare with where a policy names a baseline that no run was blessed as, and what to do.

    >>> unblessed("main")
    'no run is blessed as main yet (ragworthy history bless RUN --by NAME --reason TEXT)'
    """
    named = "" if name == "main" else f" --name {name}"
    return f"no run is blessed as {name} yet (ragworthy history bless RUN{named} --by NAME --reason TEXT)"


def is_unblessed(reason: str) -> bool:
    """Whether that is why."""
    return reason.startswith("no run is blessed as ") and " yet (ragworthy history bless RUN" in reason


def blessed_path(folder: Path, name: str) -> Path:
    """Where the report of a blessed run lies for those who do not ask the store."""
    return folder / ".ragworthy/baselines" / f"{name}.json"


def is_own(said: Any, *, policy: str, baseline: str) -> bool:
    """Whether a baseline is where its policy says, by the paths in a receipt: so no baseline of a command line is
    passed off as the policy's. Of an absolute path the end is compared.
    """
    if not isinstance(said, str):
        return False
    if said.startswith(BLESSED):
        said = blessed_path(Path(), said.removeprefix(BLESSED)).as_posix()
    if Path(said).is_absolute():
        rest = [part for part in Path(baseline).parts if part != ".."]
        return list(Path(os.path.normpath(said)).parts[-len(rest) :]) == rest
    return _same_place(os.path.normpath(Path(policy).parent / said), baseline)


def _same_place(one: str, other: str) -> bool:
    """Whether two paths, seen from one folder, lead to one place; the name of a folder above it may be anything, for a
    receipt does not say where it stands.

    >>> _same_place("../.ragworthy/baselines/main.json", "baselines/main.json")
    True
    >>> _same_place("../eval/a.json", "b.json"), _same_place("eval/a.json", "a.json")
    (False, False)
    """
    below, above = sorted((Path(one).parts, Path(other).parts), key=lambda parts: parts.count(".."))
    up, least = above.count(".."), below.count("..")
    return above[up + up - least :] == below[least:]
