"""`experiment tune`."""

import argparse
from fractions import Fraction
from pathlib import Path

from ragworthy.cli.driven import folder_of
from ragworthy.cli.outputs import keep_inputs
from ragworthy.cli.say import print
from ragworthy.errors import usage_error
from ragworthy.experiments import tune as tuning
from ragworthy.experiments.tune import SCORED, TUNING
from ragworthy.names import Exit
from ragworthy.pipeline.tuning import NAME
from ragworthy.report.show import plural
from ragworthy.runner.run import knobs_of


def tune(given: argparse.Namespace) -> int:
    """Choose the refusal threshold of the built-in pipeline."""
    out = folder_of(given.out)
    share = _share(given.share)
    keep_inputs([str(out / name) for name in (NAME, TUNING, SCORED)], [given.gold, given.index])
    made = tuning.tune(
        Path(given.index),
        Path(given.gold),
        out,
        share=share,
        seed=given.seed,
        knobs=knobs_of(None, given.knob),
        short_words=given.short_substr == "word",
    )
    if not given.quiet:
        _tell(made, out)
    print(f"threshold {made.chosen.threshold:.6f}: {out / NAME} (exit {int(Exit.SHIP)})")
    return int(Exit.SHIP)


def _tell(made: tuning.Tuned, out: Path) -> None:
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
