"""`run`, and `experiment stability | latency | tune`.

A pipeline is driven over a gold set once, in many variations, or under several loads; or its threshold is chosen.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from ragworthy.cli import checking, driven, structured
from ragworthy.cli.outputs import keep_inputs
from ragworthy.cli.say import print, show
from ragworthy.errors import usage_error
from ragworthy.experiments import latency as sweeping
from ragworthy.experiments import stability as varying
from ragworthy.experiments.configurations import configurations
from ragworthy.experiments.latency import Cell, Measured, Step, Sweep, Swept
from ragworthy.names import Exit
from ragworthy.report.show import counted, plural
from ragworthy.runner import results
from ragworthy.runner import run as running
from ragworthy.runner.journal import AGAIN
from ragworthy.runner.plan import Plan
from ragworthy.runner.questions import questions_in
from ragworthy.runner.results import kept
from ragworthy.runner.run import HowMany
from ragworthy.safe import shell

if TYPE_CHECKING:
    from ragworthy.experiments.tune import Tuned

_EVERY = 0.2
"""So many seconds lie between two lines of progress."""
_FASTEST = 10_000.0


def run(given: argparse.Namespace) -> int:
    """Ask every question, and say what became of them; with --check only one, and how its reply is read."""
    if given.check:
        return checking.check(given)
    if given.qid is not None:
        raise usage_error("--qid: only --check asks one question")
    if given.out is None:
        raise usage_error("--out: expected a folder, got nothing")
    if (source := questions_in(Path(given.gold))) is not None:
        return structured.run(given, source)
    structured.check_flags(given, structured=False)
    driven.guard_run(given, results.FILES)
    with kept(driven.folder_of(given.out)) as out:
        file = Path(given.knobs) if given.knobs else None
        knobs = running.knobs_of(file, given.knob)
        running.check_knobs(given.target, knobs, file, given.knob)
        plan = running.plan(Path(given.gold), seeds=(given.seed,), knobs=knobs, limit=given.limit)
        following = "" if given.limit else driven.next_of(given)
        target = driven.open_given(given)
        shown = driven.Shown(quiet=given.quiet)
        try:
            ran = running.run(plan, target, driven.options_of(given, out, shown))
        finally:
            shown.end()
    return driven.told(ran, given, following)


def stability(given: argparse.Namespace) -> int:
    """Ask every question in every variation, and say how to score what came back."""
    driven.guard_run(given, results.FILES)
    with kept(driven.folder_of(given.out)) as out:
        file = Path(given.knobs) if given.knobs else None
        knobs = running.knobs_of(file, given.knob)
        running.check_knobs(given.target, knobs, file, given.knob)
        plan = varying.plan(
            Path(given.gold),
            seeds=seeds_of(given.seeds),
            jitters=[name.strip() for name in given.jitters.split(",") if name.strip()],
            paraphrases=wordings_of(given.paraphrases),
            knobs=knobs,
            limit=given.limit,
        )
        target = driven.open_given(given)
        if not given.quiet:
            _print_plan(plan)
        shown = driven.Shown(quiet=given.quiet)
        try:
            ran = varying.run(plan, target, driven.options_of(given, out, shown))
        finally:
            shown.end()
    return driven.told(
        ran, given, "" if given.limit else driven.next_line("stability", given.gold, driven.traces(given))
    )


def latency(given: argparse.Namespace) -> int:
    """Measure every configuration under every load, and say how to score what came back."""
    driven.guard_run(given, (sweeping.RUNS, sweeping.SUMMARY))
    with kept(driven.folder_of(given.out)) as out:
        file = Path(given.knobs) if given.knobs else None
        configured = configurations(file, given.knob)
        for knobs in configured:
            running.check_knobs(given.target, knobs, file, given.knob)
        sweep = sweeping.plan(
            Path(given.gold),
            configured,
            loads=loads_of(given.loads),
            requests=given.requests,
            warmup=given.warmup,
            poisson=given.poisson,
            limit=given.limit,
            seeds=seeds_of(given.seeds),
            paraphrases=wordings_of(given.paraphrases),
        )
        target = driven.open_given(given)
        sweep = sweeping.of_target(sweep, target)
        shown = _Shown(sweep, quiet=given.quiet)
        options = sweeping.Options(
            out, given.resume, given.timeout, starts=shown.starts, told=shown.told, keep_going=given.keep_going
        )
        try:
            swept = sweeping.run(sweep, target, options)
        finally:
            shown.end()
    return _ended(swept, given)


def _ended(swept: Swept, given: argparse.Namespace) -> int:
    """Print how an experiment ended; gives the exit code."""
    runs = Path(given.out) / sweeping.RUNS
    if not given.quiet:
        for cell in swept.cells:
            _print_cell(cell)
        if swept.finished:
            print(f"runs: {runs}")
        if swept.finished and given.limit is None:
            print(driven.next_line("latency", given.gold, runs))
    done, errors = sum(cell.requests for cell in swept.cells), sum(cell.errors for cell in swept.cells)
    if not swept.finished:
        code = Exit.INTERRUPTED
        cells = driven.share(len(swept.cells), swept.total, "cell", "cells")
        ending = f"stopped: {cells} safe in {given.out}; {AGAIN}"
    else:
        code = Exit.NO_SHIP if errors else Exit.SHIP
        replies = driven.errors_of(errors, done) if errors else plural(done, "reply", "replies")
        ending = f"latency: {plural(swept.total, 'cell')}, {replies}"
    print(f"{ending} (exit {int(code)})")
    return int(code)


def _print_cell(cell: Measured) -> None:
    """One line for a cell, and a warning where its rate was not held."""
    name = f"{cell.config_id} at {cell.load_rps:g}/s"
    held = "" if cell.held_rps is None else f"held {cell.held_rps:.2f}/s, "
    counts = f"{plural(cell.requests, 'request')}, {plural(cell.errors, 'error')}"
    print(f"{name}: {held}{counts}, at most {cell.most_in_flight:,} in flight")
    if cell.reasons:
        print(f"  errors: {counted(cell.reasons)}")
    if cell.off is not None:
        side = "below" if cell.off < 0 else "above"
        print(
            f"  warning: the rate held is {abs(cell.off):.1%} {side} the rate asked for; repeat it on a freer machine"
        )


class _Shown:
    """What is going to happen; then progress on a terminal, in one line that is written over."""

    def __init__(self, sweep: Sweep, *, quiet: bool) -> None:
        self._sweep, self._quiet = sweep, quiet
        self._live = sys.stderr.isatty() and not quiet
        self._last = 0.0
        self._wrote = False

    def starts(self, left: Sequence[Cell]) -> None:
        """Say what is asked, and how long that will take."""
        if self._quiet:
            return
        sweep = self._sweep
        configs = {cell.config_id: cell.knobs for cell in sweep.cells}
        for name, knobs in configs.items():
            print(f"{name}: {' '.join(f'{key}={value}' for key, value in knobs.items()) or 'no knobs'}")
        loads = plural(len(sweep.cells) // len(configs), "load")
        print(f"{plural(len(configs), 'configuration')} × {loads} = {plural(len(sweep.cells), 'cell')}", end="")
        passes = f"{plural(sweep.questions, 'question')} × {sweep.passes:,}"
        if sweep.variations > sweep.questions:
            passes = f"{passes}, {plural(sweep.variations, 'variation')} by seed and wording"
        print(f", each {sweep.warmup:,} for warm-up and {len(sweep.asks):,} requests ({passes})")
        if len(left) < len(sweep.cells):
            print(f"{plural(len(left), 'cell')} left")
        print(f"this takes {clock(sweep.seconds(left))} and the time of the last replies", flush=True)
        if sweep.warm.measured:
            asked = f"{sweep.warm.measured:,} of {sweep.warmup:,}"
            print(f"warm-up: {asked} are measured later, too, for the gold set has no others (--limit leaves some)")

    def told(self, now: Step) -> None:
        """Show how far it is, now and then."""
        moment = time.monotonic()
        if self._live and (moment - self._last >= _EVERY or now.done == now.total):
            self._last = moment
            self._wrote = True
            show(f"\r{line(now)}\x1b[K", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Leave the line."""
        if self._wrote:
            print(file=sys.stderr, flush=True)
        self._wrote = False


def line(now: Step) -> str:
    """How far an experiment is.

    >>> line(Step(2, 6, 20.0, 17, 35, 8, 0))
    'cell 3/6 at 20/s  17/35 replied  8 in flight  0 errors'
    """
    where = f"cell {now.cell + 1}/{now.cells} at {now.load_rps:g}/s"
    return f"{where}  {now.done}/{now.total} replied  {now.in_flight} in flight  {plural(now.errors, 'error')}"


def clock(seconds: float) -> str:
    """A stretch of time for people.

    >>> clock(7.2), clock(75), clock(3700)
    ('0:08', '1:15', '1:01:40')
    """
    minutes, rest = divmod(int(-(-seconds // 1)), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}" if minutes >= 60 else f"{minutes}:{rest:02d}"


def seeds_of(text: str) -> list[int]:
    """Seeds as they are written: whole numbers from 0, with commas between them.

    >>> seeds_of("0, 7")
    [0, 7]
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdecimal() and len(part) <= 18 for part in parts):
        raise usage_error(f'--seeds: expected whole numbers such as 0,1,2, got "{text}"')
    return [int(part) for part in parts]


def wordings_of(text: str) -> HowMany:
    """How many wordings of a question are asked: a number from 1, or all.

    >>> wordings_of("all"), wordings_of("2")
    ('all', 2)
    """
    if text == "all":
        return "all"
    if not (text.isascii() and text.isdecimal() and len(text) <= 9 and int(text) > 0):
        raise usage_error(f'--paraphrases: expected a number from 1, or all, got "{text}"')
    return int(text)


def loads_of(text: str) -> list[float]:
    """Requests a second as they are written, with commas between them, each once.

    >>> loads_of("1, 2.5")
    [1.0, 2.5]
    """
    try:
        loads = [float(part) for part in text.split(",")]
    except ValueError:
        loads = []
    if not loads or not all(0 < one <= _FASTEST for one in loads) or len(set(loads)) < len(loads):
        expected = f"expected different requests a second such as 1,5,20, each up to {_FASTEST:.0f}"
        raise usage_error(f'--loads: {expected}, got "{text}"')
    return loads


def _print_plan(plan: Plan) -> None:
    """What a stability experiment asks, and what of it is not a variation."""
    print(_planned(plan))
    for one in varying.unchanged(plan):
        print(f"{one.jitter}: leaves {one.noops:,} of {plural(one.wordings, 'wording')} unchanged (noop)")
    sys.stdout.flush()


def _planned(plan: Plan) -> str:
    """What a stability experiment asks, in one line."""
    jitters, seeds = plural(len(plan.jitters), "jitter"), plural(len(plan.seeds), "seed")
    wordings = len(plan.asks) // (len(plan.jitters) * len(plan.seeds))
    texts = f"{plural(plan.questions, 'question')} in {plural(wordings, 'wording')}"
    return f"{texts} × {jitters} × {seeds} = {plural(len(plan.asks), 'run')}"


# the refusal threshold of the built-in pipeline


def tune(given: argparse.Namespace) -> int:
    """Choose the refusal threshold of the built-in pipeline."""
    from ragworthy.experiments import tune as tuning
    from ragworthy.pipeline.tuning import NAME

    out = driven.folder_of(given.out)
    share = _share(given.share)
    keep_inputs([str(out / name) for name in (NAME, tuning.TUNING, tuning.SCORED)], [given.gold, given.index])
    made = tuning.tune(
        Path(given.index),
        Path(given.gold),
        out,
        share=share,
        seed=given.seed,
        knobs=running.knobs_of(None, given.knob),
        short_words=given.short_substr == "word",
    )
    if not given.quiet:
        _tell(made, out)
        files = {"--pipeline": out / NAME, "--gold": out / tuning.SCORED, "--out": out / "run"}
        words = [word for flag, path in files.items() for word in (flag, str(path))]
        print(f"next: {shell(['ragworthy', 'run', '--target', f'builtin:{given.index}', *words])}")
    print(f"threshold {made.chosen.threshold:.6f}: {out / NAME} (exit {int(Exit.SHIP)})")
    return int(Exit.SHIP)


def _tell(made: "Tuned", out: Path) -> None:
    from ragworthy.experiments.tune import SCORED, TUNING

    chosen = made.chosen
    questions = f"{plural(made.tuning, 'question')} ({made.unanswerable:,} unanswerable)"
    print(f"tuned on {questions}, {made.scored:,} left to score")
    print(f"there: {chosen.answered:,} answered, {chosen.right:,} of them right")
    print(f"       {chosen.under:,} unanswerable answered, {chosen.over:,} answerable refused")
    if chosen.net <= 0:
        print("no threshold gives more right answers than wrong ones: this pipeline does not fit these questions")
    print(f"score only {out / SCORED}: {out / TUNING} was tuned on")


def _share(text: str) -> Fraction:
    try:
        share = Fraction(text)
    except (ValueError, ZeroDivisionError):
        share = Fraction(0)
    if not 0 < share < 1:
        raise usage_error(f"--share: expected a number between 0 and 1, got {text}")
    return share
