"""`compare`: what changed from one run to another."""

import argparse
from pathlib import Path

from ragworthy.cli.outputs import keep_inputs
from ragworthy.cli.say import print, show
from ragworthy.cli.screen import screen
from ragworthy.comparing.compare import Asked, compared
from ragworthy.comparing.result import Comparison, form_of
from ragworthy.comparing.sides import Given
from ragworthy.files import Read, check_writable, write_whole
from ragworthy.report.changes import last_line


def compare(given: argparse.Namespace) -> int:
    """Exit 0 when the two were compared, whatever came of it, and 4 when they cannot be."""
    corpora = given.corpus_a, given.corpus_b
    keep_inputs(given.output, [given.a, given.b, given.gold, given.qrels, *corpora])
    for name in given.output:
        form_of(Path(name))
        check_writable(Path(name))
    more = Given(given.suite, _path(given.gold), _path(given.qrels), given.store, given.config, given.jobs)
    asked = Asked(more, (_path(corpora[0]), _path(corpora[1])), tuple(given.allow))
    found = Comparison(compared(given.a, given.b, asked), Read())
    for name in given.output:
        write_whole(Path(name), found.render(form_of(Path(name)), full=True).encode())
    if given.quiet and given.format == "text":
        print(last_line(found.report))
    elif given.format == "text":
        show(found.text(full=given.all, screen=screen(given, full=True)))
    else:
        show(found.render(given.format, full=given.all))
    return found.exit_code


def _path(given: str | None) -> Path | None:
    return Path(given) if given else None
