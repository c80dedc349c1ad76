"""`run`: drive a pipeline over a gold set."""

import argparse
from pathlib import Path

from ragworthy.cli.driven import Shown, folder_of, guard_run, open_given, told
from ragworthy.runner import results
from ragworthy.runner import run as running
from ragworthy.runner.place import kept


def run(given: argparse.Namespace) -> int:
    """Ask every question, and say what became of them."""
    guard_run(given, results.FILES)
    with kept(folder_of(given.out)) as out:
        file = Path(given.knobs) if given.knobs else None
        knobs = running.knobs_of(file, given.knob)
        running.check_knobs(given.target, knobs, file, given.knob)
        plan = running.plan(Path(given.gold), seeds=(given.seed,), knobs=knobs, limit=given.limit)
        target = open_given(given)
        shown = Shown(quiet=given.quiet)
        options = running.RunOptions(out, given.resume, given.concurrency, given.timeout, shown.told)
        try:
            ran = running.run(plan, target, options)
        finally:
            shown.end()
    return told(ran, Path(given.out), quiet=given.quiet)
