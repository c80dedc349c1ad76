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
from ragworthy.runner.contract import Ask, Target
from ragworthy.suites.refusing import refuses_of
from ragworthy.text import clip
from ragworthy.wire.secret import in_environment


def check(given: argparse.Namespace) -> int:
    """Ask one question as a run would, and show what was asked, what came back and how it was read."""
    file = Path(given.knobs) if given.knobs else None
    knobs = running.knobs_of(file, given.knob)
    running.check_knobs(given.target, knobs, file, given.knob)
    plan = running.plan(Path(given.gold), seeds=(given.seed,), knobs=knobs)
    one = checks.chosen(plan, given.qid)
    refuses = refuses_of(driven.settings_of(given))
    target = driven.open_given(given)
    running.check_knobs_of(target, knobs)
    checked = checks.ask_one(one, target, concurrency=given.concurrency, timeout=given.timeout)
    if checked is None:
        print(f"check: stopped (exit {int(Exit.INTERRUPTED)})")
        return int(Exit.INTERRUPTED)
    wrong = checks.problems(checked, target.name)
    if not given.quiet:
        _print(checked, refuses, _asked(target, one.ask))
    if wrong is not None:
        print(f"check: the reply cannot be used (exit {int(Exit.USAGE)})", flush=True)
        raise wrong
    print(f"check: the reply can be read (exit {int(Exit.SHIP)})")
    return int(Exit.SHIP)


def _asked(target: Target, ask: Ask) -> str:
    """What was sent: a map's own request, the question and nothing else, or the request of the contract."""
    sent: Callable[[Ask], str] | None = getattr(target, "sent", None)
    if sent is not None:
        return in_environment().masked(sent(ask))
    asked = ask.q if getattr(target, "alone", False) else ask.request()
    return clip(msgspec.json.encode(asked).decode(), 400)


def _print(checked: checks.Checked, refuses: Callable[[str], bool], asked: str) -> None:
    """What was asked, what came back, how it was read."""
    reply = checked.reply
    print(f"asked: {asked}")
    if reply.raw:
        print(f"{'raised at' if (reply.error or '').startswith('raised') else 'got'}: {checked.raw}")
    if reply.error is not None:
        return
    print("read as:")
    for name, value in checks.reading(checked, refuses):
        place = dict(reply.places).get(name)
        print(f"  {name:<14} {value}{f'  ← {place}' if place else ''}")
    for line in checks.unmeasured(checked, refuses):
        print(f"  {line}")
