"""`run --check`: one question, and how its reply is read."""

import argparse
from collections.abc import Callable
from pathlib import Path

import msgspec

from ragworthy.cli import driven
from ragworthy.cli.say import print
from ragworthy.names import Exit
from ragworthy.runner import check as checks
from ragworthy.runner import run as running
from ragworthy.suites.refusing import refuses_of
from ragworthy.text import clip


def check(given: argparse.Namespace) -> int:
    """Ask one question as a run would, and show what was asked, what came back and how it was read."""
    file = Path(given.knobs) if given.knobs else None
    knobs = running.knobs_of(file, given.knob)
    running.check_knobs(given.target, knobs, file, given.knob)
    plan = running.plan(Path(given.gold), seeds=(given.seed,), knobs=knobs)
    one = checks.chosen(plan, given.qid)
    refuses = refuses_of(driven.settings_of(given))
    target = driven.open_given(given)
    checked = checks.ask_one(one, target, concurrency=given.concurrency, timeout=given.timeout)
    if checked is None:
        print(f"check: stopped (exit {int(Exit.INTERRUPTED)})")
        return int(Exit.INTERRUPTED)
    wrong = checks.problems(checked, target.name)
    if not given.quiet:
        _print(checked, refuses, alone=getattr(target, "alone", False))
    if wrong is not None:
        print(f"check: the reply cannot be used (exit {int(Exit.USAGE)})", flush=True)
        raise wrong
    print(f"check: the reply can be read (exit {int(Exit.SHIP)})")
    return int(Exit.SHIP)


def _print(checked: checks.Checked, refuses: Callable[[str], bool], *, alone: bool) -> None:
    """What was asked, what came back, how it was read; `alone`: the target takes the question and nothing else."""
    reply = checked.reply
    asked = checked.ask.q if alone else checked.ask.request()
    print(f"asked: {clip(msgspec.json.encode(asked).decode(), 400)}")
    if reply.raw:
        print(f"{'raised at' if (reply.error or '').startswith('raised') else 'got'}: {checked.raw}")
    if reply.error is not None:
        return
    print("read as:")
    for name, value in checks.reading(checked, refuses):
        print(f"  {name:<14} {value}")
    for line in checks.unmeasured(checked, refuses):
        print(f"  {line}")
