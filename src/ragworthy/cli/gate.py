"""`gate`: every suite of a policy."""

import argparse
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from ragworthy import flow
from ragworthy.cli.engines import engine_of
from ragworthy.cli.keep import Keeper, baseline_file, blessed_of, commit_for, eval_outputs, home_of_policy
from ragworthy.cli.outputs import Kept, finish, options
from ragworthy.cli.pages import OwnPage
from ragworthy.cli.say import print
from ragworthy.errors import usage_error
from ragworthy.files import check_inside, check_ours
from ragworthy.history.places import chosen
from ragworthy.names import Exit
from ragworthy.policy.read import find_policy, load_policy
from ragworthy.suites import SUITES

if TYPE_CHECKING:
    from ragworthy.suites.parts import Engine


def gate(given: argparse.Namespace) -> int:
    """Run every suite of the policy."""
    with engine_of(given) as engine:
        return _gate(given, engine)


def _gate(given: argparse.Namespace, engine: "Engine | None") -> int:
    path = find_policy(given.config)
    policy = load_policy(path, SUITES, today=date.today(), packs=given.pack)
    home = home_of_policy(policy)
    chosen(given.store)  # a store without a name is a mistake, also where it would not be needed
    blessed = None if given.baseline else blessed_of(policy, given.store, say=not given.quiet)
    requests = flow.from_policy(policy, blessed=blessed, engine=engine, **options(given))
    flow.check_stale(requests)
    if given.baseline:
        baseline = baseline_file(given.baseline, home, given.store)
        requests = [request.with_baseline(baseline) for request in requests]
    if given.selftest:
        if given.output or given.rows or given.receipt or given.bundle or given.sign:
            raise usage_error("--selftest judges damaged traces: it writes no reports, rows or receipts")
        return _selftest(requests)
    receipt = Path(given.receipt) if given.receipt else _own_receipt(path)
    commit = commit_for(given, policy)
    requests = [request._replace(commit=commit) for request in requests]
    kept = Kept(Keeper(given, policy, commit), eval_outputs(policy, given), OwnPage(given, policy))
    return finish(given, requests, receipt, kept)


def _own_receipt(policy: Path) -> Path:
    """Where the receipt goes when nobody says: beside the policy, never through a link and never over another file."""
    path = policy.parent / ".ragworthy/receipt.json"
    check_inside(path, policy.parent, "the receipt")
    check_ours(path, lambda data: b"ragworthy" in data and data.startswith(b"{"))
    return path


def _selftest(requests: Sequence[flow.Request]) -> int:
    from ragworthy.selftest import selftest

    tried = selftest(requests)
    for one in tried:
        word = "can fail   " if one.fails else "CANNOT FAIL"
        print(f"{word}  {one.gate} {one.rule}: {one.damage} → {one.said}")
    idle = [one for one in tried if not one.fails]
    print(f"selftest: {len(tried) - len(idle)} of {len(tried)} gates can fail (exit {int(bool(idle))})")
    return int(Exit.NO_SHIP if idle else Exit.SHIP)
