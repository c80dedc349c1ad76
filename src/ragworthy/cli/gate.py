"""`gate`: every suite of a policy. `history trend`: how several reports move."""

import argparse
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from ragworthy import flow
from ragworthy.cli.outputs import finish, keep_inputs, options
from ragworthy.cli.say import print, show
from ragworthy.errors import usage_error
from ragworthy.files import check_inside, check_ours, write_whole
from ragworthy.names import Exit
from ragworthy.policy.read import find_policy, load_policy
from ragworthy.report.show import plural
from ragworthy.safe import json_text
from ragworthy.suites import SUITES


def gate(given: argparse.Namespace) -> int:
    """Run every suite of the policy."""
    path = find_policy(given.config)
    policy = load_policy(path, SUITES, today=date.today())
    requests = flow.from_policy(policy, **options(given))
    flow.check_stale(requests)
    if given.baseline:
        requests = [request.with_baseline(Path(given.baseline)) for request in requests]
    if given.selftest:
        if given.output or given.rows or given.receipt or given.bundle or given.sign:
            raise usage_error("--selftest judges damaged traces: it writes no reports, rows or receipts")
        return _selftest(requests)
    return finish(given, requests, Path(given.receipt) if given.receipt else _own_receipt(path))


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


# reports over time


def trend(given: argparse.Namespace) -> int:
    """How the numbers of several reports move; exit 1 on an alert, 4 where they cannot be compared."""
    from ragworthy.history import trend as trending

    keep_inputs([given.output], given.reports)
    found = trending.trend([Path(name) for name in given.reports], suite=given.suite_name, repeated=given.repeated)
    text = json_text(trending.as_json(found))
    if given.output:
        write_whole(Path(given.output), text.encode())
    code = Exit.INVALID if found.unlike else Exit.NO_SHIP if found.alerts else Exit.SHIP
    if given.format == "json":
        show(text)
        return int(code)
    for line in trending.as_text(found):
        print(line)
    said = "not comparable" if found.unlike else plural(found.alerts, "alert")
    print(f"trend: {said} (exit {int(code)})")
    return int(code)
