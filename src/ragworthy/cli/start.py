"""`init` and `demo`."""

import argparse
from pathlib import Path

from ragworthy import flow, goldcare, receipts, starter
from ragworthy.load.policy import load_policy
from ragworthy.names import Exit
from ragworthy.report import receipt
from ragworthy.report import write as writing


def init(given: argparse.Namespace) -> int:
    """Lay down the files to start from."""
    laid = starter.init(Path(given.folder))
    for path in (laid.policy, laid.gold, *laid.traces):
        print(f"wrote {path}")
    where = "" if given.folder == "." else f" -c {laid.policy}"
    print(f"next: ragworthy gate{where}")
    return int(Exit.SHIP)


def demo(given: argparse.Namespace) -> int:
    """Gate both runs of the bundled example, write the reports, and show what a person would look at."""
    folder = Path(given.out)
    laid = starter.demo(folder)
    goldcare.freeze(laid.gold, signers=["demo"], reason="the bundled gold set", now="2026-01-01T00:00:00Z")
    verdicts = {}
    for name in ("regressed", "candidate"):
        request = flow.from_policy(load_policy(folder / f"{name}.toml", today=None), keep_rows=True)
        run = flow.score(request)
        for suffix in ("md", "json", "xml"):
            writing.write(folder / f"{name}.report.{suffix}", run.report, run.rows)
        receipt.write(folder / f"{name}.receipt.json", receipts.make(run, request, folder))
        verdicts[name] = run.verdict
        if not given.quiet:
            print(f"── {name}: {folder / f'runs/{name}.jsonl'}\n")
            print(writing.render(run.report, "text"))
    print(f"reports: {folder / 'candidate.report.md'} and {folder / 'regressed.report.md'}")
    print(f"check one yourself: ragworthy verify {folder / 'candidate.receipt.json'}")
    print(f"verdict: candidate {verdicts['candidate']}, regressed {verdicts['regressed']} (exit 0)")
    return int(Exit.SHIP)
