"""Which history a command means, and what `gate` keeps in it. Whatever happens there, the verdict stays."""

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragworthy import flow
from ragworthy.cli.say import print
from ragworthy.errors import RagworthyError, lacking
from ragworthy.history import keeping, open_store
from ragworthy.history.commit import commit_of, spelled
from ragworthy.history.home import Home, blessed_file, fetched, is_stored, why_unblessed
from ragworthy.history.places import is_off
from ragworthy.history.sealing import last_of, sealed
from ragworthy.policy.kept import BLESSED
from ragworthy.policy.read import Policy
from ragworthy.proof.stored import counted

if TYPE_CHECKING:
    from ragworthy.history.store import Added, Store
    from ragworthy.report.html.material import History
    from ragworthy.suites.request import Attempts


# what gate does


def baseline_file(written: str, home: Home, store: str | None = None) -> Path:
    """A baseline as a file: a run of the history is fetched from that."""
    return fetched(written, home, store) if is_stored(written) else Path(written)


def blessed_of(policy: Policy, store: str | None = None, *, say: bool = False) -> Path | None:
    """The report of the blessed run that a policy names as its baseline; None where it names none, or none is blessed,
    and that is said on stderr.
    """
    if policy.baseline is None or not policy.baseline.startswith(BLESSED):
        return None
    home = home_of_policy(policy)
    found = blessed_file(policy.baseline, home, store)
    if found is None and say:
        print(why_unblessed(policy.baseline, home, store), file=sys.stderr)
    return found


def home_of_policy(policy: Policy) -> Home:
    """What a policy that was read says of the history."""
    return Home(policy.path or Path("ragworthy.toml"), policy.history.store, policy.history.eval, policy.baseline)


def eval_outputs(policy: Policy, given: argparse.Namespace) -> list[Path]:
    """What a gate writes besides, where the policy names a folder for it."""
    if _off(given) or policy.history.eval is None or policy.path is None:
        return []
    return keeping.eval_files(policy.path, policy.history.eval)


def commit_for(given: argparse.Namespace, policy: Policy) -> str:
    """The commit that is judged: what was given, else what the build server or git says."""
    return spelled(given.commit if given.commit is not None else commit_of(policy.folder))


class Keeper:
    """Keeps the run of a gate: the run itself before its receipt is made, since the receipt counts the attempts, then
    the rest. What goes wrong here is told on stderr and changes no verdict.
    """

    def __init__(self, given: argparse.Namespace, policy: Policy, commit: str) -> None:
        self._given, self._policy, self._commit = given, policy, commit
        self._kept: tuple[Store, Added] | None = None
        """The store, and what became of the run in it."""
        self._entry: Callable[[Added], dict[str, Any]] = lambda _: {}
        """The line of the run, where a file gets one."""
        self._counted: Attempts | None = None

    def attempts(self, run: "flow.Run") -> "Attempts | None":
        """Keep the run; how often this was tried, itself included, or None where nobody knows."""
        if not _off(self._given):
            with warned():
                self._add(run)
        return self._counted

    def _add(self, run: "flow.Run") -> None:
        given, policy = self._given, self._policy
        store = open_store(home_of_policy(policy).place(given.store))
        at = store.now()
        paths, folder = eval_outputs(policy, given), policy.history.eval
        if paths and folder is not None:
            previous = last_of(paths[-1])
            self._entry = lambda added: keeping.entry_of(run.report, added, at, previous)
            line, seal = keeping.line_place(folder), lambda added: sealed(self._entry(added))
            added = store.add(run.report, commit=self._commit, at=at, line=line, seal=seal)
        else:
            added = store.add(run.report, commit=self._commit, at=at)
        self._kept = store, added
        if not given.quiet:
            print(keeping.line_of(added), file=sys.stderr)
        self._counted = counted(store, added.attempt)

    def told(self, run: "flow.Run") -> "History | None":
        """What the runs before this one tell; nothing where it was not kept."""
        if self._kept is not None:
            from ragworthy.history.course import history_of

            with warned("history: earlier runs are not shown"):
                return history_of(self._kept[0], run.report, self._kept[1].run)
        return None

    def rest(self, run: "flow.Run", receipt: bytes | None) -> None:
        """Keep the receipt, and write the last report."""
        if self._kept is None:
            return
        store, added = self._kept
        with warned():
            if receipt is not None:
                store.keep_receipt(added.run, receipt + b"\n")  # as the file has it
            if paths := eval_outputs(self._policy, self._given):
                entry = keeping.with_ledger(self._entry(added), store) if added.new else None
                keeping.write_eval(paths, run.report, flow.render(run.report, "markdown"), entry)


@contextmanager
def warned(what: str = "history: this run was not kept") -> Iterator[None]:
    """Whatever goes wrong inside is told on stderr, after what it means."""
    try:
        yield
    except RagworthyError as error:
        _warn(what, str(error.problems[0]))
    except ModuleNotFoundError as error:
        missing = lacking(error)
        if missing is None:
            raise
        _warn(what, f"{missing.problems[0]}; --no-history leaves it out")
    except Exception as error:  # noqa: BLE001 - a defect of what is beside the verdict is not a reason to lose it
        _warn(what, f"a defect of ragworthy: {type(error).__name__}: {' '.join(str(error).split())[:200]}")


def _off(given: argparse.Namespace) -> bool:
    """Whether nothing is to be kept: said on the command line, or in the environment where no store is named."""
    return is_off(given.store) or bool(given.no_history)


def _warn(what: str, why: str) -> None:
    print(f"{what}: {why}", file=sys.stderr)
