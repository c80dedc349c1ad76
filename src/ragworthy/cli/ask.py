"""`index ask`: one question to the built-in pipeline, with the reason for what it says."""

import argparse
from pathlib import Path

from ragworthy.cli.say import print, show
from ragworthy.errors import usage_error
from ragworthy.names import Exit
from ragworthy.pipeline import Pipeline
from ragworthy.runner.run import knobs_of
from ragworthy.safe import json_text


def ask(given: argparse.Namespace) -> int:
    """Answer a question from an index, or refuse, and say why."""
    if not given.question.strip():
        raise usage_error("expected a question, got nothing")
    pipeline = Pipeline(Path(given.index), Path(given.pipeline) if given.pipeline else None)
    try:
        found = pipeline.explain(given.question, knobs_of(None, given.knob))
    except ValueError as error:
        raise usage_error(f"--knob: {error}") from None
    if given.format == "json":
        show(json_text(found))
        return int(Exit.SHIP)
    print(found["claim"])
    print(f"cites: {', '.join(found['citations']) or 'nothing'}")
    print(found["why"])
    for one in found["sentences"]:
        parts = ", ".join(f"{name} {value:.2f}" for name, value in one["features"].items())
        print(f"  {one['score']:.3f} ({parts})  {one['id']}: {one['text']}")
    return int(Exit.SHIP)
