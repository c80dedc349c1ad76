"""`run --check`: one question, and how its reply is read."""

import argparse
import shlex
from collections.abc import Callable
from pathlib import Path

import msgspec

from ragworthy.cli import driven, structured
from ragworthy.cli.say import print
from ragworthy.experiments.structured import FILES
from ragworthy.names import Exit
from ragworthy.runner import check as checks
from ragworthy.runner import run as running
from ragworthy.runner.contract import Ask, Target
from ragworthy.runner.fitting import MOST, fitted, worth_fitting
from ragworthy.runner.outputs import Making
from ragworthy.runner.plan import Plan
from ragworthy.runner.questions import questions_in
from ragworthy.suites.refusing import refuses_of
from ragworthy.text import clip
from ragworthy.wire.secret import in_environment


def check(given: argparse.Namespace) -> int:
    """Ask one question as a run would, and show what was asked, what came back and how it was read."""
    plan, target = _opened(given)
    knobs = plan.knobs
    one = checks.chosen(plan, given.qid)
    refuses = refuses_of(driven.settings_of(given))
    running.check_knobs_of(target, knobs)
    checked = checks.ask_one(one, target, concurrency=given.concurrency, timeout=given.timeout)
    if checked is None:
        print(f"check: stopped (exit {int(Exit.INTERRUPTED)})")
        return int(Exit.INTERRUPTED)
    wrong = checks.problems(checked, target.name)
    if checked.reply.unreachable and wrong is not None:
        raise wrong
    if not given.quiet:
        _print(checked, refuses, _asked(target, one.ask), plan.making)
        if wrong is None and worth_fitting(given.target, knobs, checked) and not _fit(checked, plan, target, given):
            print(f"check: stopped (exit {int(Exit.INTERRUPTED)})")
            return int(Exit.INTERRUPTED)
    if wrong is not None:
        print(f"check: the reply cannot be used (exit {int(Exit.USAGE)})", flush=True)
        raise wrong
    print(f"check: the reply can be read (exit {int(Exit.SHIP)})")
    return int(Exit.SHIP)


def _opened(given: argparse.Namespace) -> tuple[Plan, Target]:
    """What a run would ask, and whom."""
    if (source := questions_in(Path(given.gold))) is not None:
        job, target = structured.asked_by(given, source)
        return job.plan, target
    structured.check_flags(given, structured=False)
    file = Path(given.knobs) if given.knobs else None
    knobs = running.knobs_of(file, given.knob)
    running.check_knobs(given.target, knobs, file, given.knob)
    plan = running.plan(Path(given.gold), seeds=(given.seed,), knobs=knobs)
    return plan, driven.open_given(given)


def _fit(checked: checks.Checked, plan: Plan, target: Target, given: argparse.Namespace) -> bool:
    """Ask a few more questions, and say which settings fit; False when somebody stopped it."""
    print(f"asking up to {MOST} more questions, alone and several at once", flush=True)
    found = fitted(checked, plan.asks, target, given.timeout)
    if found is None:
        return False
    for name, value in found.lines:
        print(f"  {name:<14} {value}")
    print(f"next: {_command(target, given)} --concurrency {found.concurrency} --timeout {found.timeout}")
    return True


def _command(target: Target, given: argparse.Namespace) -> str:
    """The run that was checked, as a command line without secrets."""
    words = ["ragworthy", "run", "--target", target.name, "--gold", given.gold, "--out", given.out or "runs/1"]
    for flag in ("knob", "header", "refusal", "refusal_pack", "refusal_start", "refusal_pattern"):
        words += [word for value in getattr(given, flag) for word in (f"--{flag.replace('_', '-')}", value)]
    for flag in ("knobs", "pipeline", "config", "map", "doc_id", "marker", *FILES):
        value = getattr(given, flag, None)
        words += [f"--{flag.replace('_', '-')}", value] if isinstance(value, str) and value else []
    return shlex.join(words)


def _asked(target: Target, ask: Ask) -> str:
    """What was sent: a map's own request, the question and nothing else, or the request of the contract."""
    sent: Callable[[Ask], str] | None = getattr(target, "sent", None)
    if sent is not None:
        return in_environment().masked(sent(ask))
    asked = ask.q if getattr(target, "alone", False) else ask.request()
    return clip(msgspec.json.encode(asked).decode(), 400)


def _print(checked: checks.Checked, refuses: Callable[[str], bool], asked: str, making: Making | None) -> None:
    """What was asked, what came back, how it was read."""
    reply = checked.reply
    print(f"asked: {asked}")
    if reply.raw:
        print(f"{'raised at' if (reply.error or '').startswith('raised') else 'got'}: {checked.raw}")
    if reply.error is not None:
        return
    print("read as:")
    read = checks.reading(checked, refuses) if making is None else structured.reading(checked, making)
    for name, value in read:
        place = dict(reply.places).get(name)
        print(f"  {name:<14} {value}{f'  ← {place}' if place else ''}")
    lost = checks.unmeasured(checked, refuses) if making is None else structured.unmeasured(checked, making)
    for line in lost:
        print(f"  {line}")
