"""Which history a command means, and what `gate` keeps in it. Whatever happens there, the verdict stays."""

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ragworthy import flow
from ragworthy.cli.say import print
from ragworthy.errors import RagworthyError
from ragworthy.history import find_place, keeping, open_store
from ragworthy.history.commit import commit_of
from ragworthy.history.places import OFF, VARIABLE, named_by
from ragworthy.load.checker import load_toml
from ragworthy.policy.kept import BLESSED
from ragworthy.policy.read import Policy, find_policy

if TYPE_CHECKING:
    from ragworthy.history.store import Store


class Home(NamedTuple):
    """What a policy says of the history; that of no policy is where we stand."""

    policy: Path
    store: str | None = None
    eval: str | None = None
    baseline: str | None = None

    @property
    def folder(self) -> Path:
        """Where the usual store lies."""
        return self.policy.parent


def home_of(given: argparse.Namespace) -> Home:
    """What the policy says. Its gates do not matter here, so one that would not run today is good enough."""
    try:
        path = find_policy(given.config)
    except RagworthyError:
        return Home(Path("ragworthy.toml"))
    table = load_toml(path)
    if path.name == "pyproject.toml":
        table = table.get("tool", {}).get("ragworthy", {})
    kept = table.get("history")
    kept = kept if isinstance(kept, dict) else {}
    said = [
        one if isinstance(one, str) else None for one in (kept.get("store"), kept.get("eval"), table.get("baseline"))
    ]
    return Home(path, *said)


def open_kept(given: argparse.Namespace, *, create: bool = False) -> "Store":
    """The store that a command means."""
    if given.store or named_by(os.environ):
        return open_store(find_place(given.store, Path()), create=create)
    home = home_of(given)
    return open_store(find_place(None, home.folder, home.store), create=create)


# what gate does


def blessed_baseline(written: str, store: str | None, folder: Path, named: str | None = None) -> Path:
    """A baseline as a file: that of a name or a run is fetched from the history."""
    if not written.startswith(BLESSED):
        return Path(written)
    place = find_place(store, folder, named)
    there = place.path is None or place.path.exists()
    return keeping.settle_baseline(
        open_store(place, create=False) if there else None, written.removeprefix(BLESSED), folder
    )


def eval_outputs(policy: Policy, given: argparse.Namespace) -> list[Path]:
    """What a gate writes besides, where the policy names a folder for it."""
    if _off(given) or policy.history.eval is None or policy.path is None:
        return []
    return keeping.eval_files(policy.path, policy.history.eval)


def keep_run(given: argparse.Namespace, policy: Policy, run: "flow.Run", receipt: bytes | None) -> None:
    """Keep a run. What goes wrong here is told on stderr and changes no verdict."""
    if _off(given):
        return
    try:
        _keep(given, policy, run, receipt)
    except RagworthyError as error:
        _warn(str(error.problems[0]))
    except ModuleNotFoundError as error:
        _warn(f"the package {error.name} is not installed")
    except Exception as error:  # noqa: BLE001 - a defect of the history is no reason to lose the verdict
        _warn(f"a defect of ragworthy: {type(error).__name__}: {' '.join(str(error).split())[:200]}")


def _off(given: argparse.Namespace) -> bool:
    """Whether nothing is to be kept: said on the command line, or in the environment where no store is named."""
    return bool(given.no_history) or (not given.store and os.environ.get(VARIABLE) == OFF)


def _keep(given: argparse.Namespace, policy: Policy, run: "flow.Run", receipt: bytes | None) -> None:
    store = open_store(find_place(given.store, policy.folder, policy.history.store))
    commit = given.commit if given.commit is not None else commit_of(policy.folder)
    at = store.now()
    written = None if receipt is None else receipt + b"\n"  # as the file has it
    added = store.add(run.report, commit=commit, receipt=written, at=at)
    if not given.quiet:
        print(keeping.line_of(added), file=sys.stderr)
    if paths := eval_outputs(policy, given):
        entry = keeping.entry_of(run.report, added, at, store.head()) if added.new else None
        keeping.write_eval(paths, run.report, flow.render(run.report, "markdown"), entry)


def _warn(why: str) -> None:
    print(f"history: this run was not kept: {why}", file=sys.stderr)
