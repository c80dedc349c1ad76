"""`demo`: four short acts, each with a sentence, and the report to open."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ragworthy import flow, showing, starter
from ragworthy.cli.say import print, show
from ragworthy.cli.screen import screen
from ragworthy.demo import acts
from ragworthy.names import Exit
from ragworthy.report.screen import Screen, Span
from ragworthy.safe import shell

INTRO = (
    "Harbor is an invented storage service, and its support bot answers from a handbook. 72 questions, written and "
    "signed by people, say what a right answer contains and cites."
)
SHIPS = "The answers of the bot as it is to be released, recorded, and checked against six gates."
PLANTED = (
    "The same answers with one defect: every third, {answers} of them, cites the chunk after the one that it used. "
    "What they say is as right as before, so nobody sees it by reading."
)
INDEXES = (
    "The handbook was rewritten. The new index is asked the same questions as the one in use, and may not find less."
)
PIPELINE = (
    "The built-in pipeline on both indexes: answers, retrieval, wordings, and load on three configurations, under one "
    "policy."
)
READ = "For whoever signs: one file that works without a network, with every question, what changed, and why."


def demo(given: argparse.Namespace) -> int:
    """Play the acts, write the reports, and end with the path of the one to open."""
    folder = Path(given.out)
    starter.check_demo(folder)
    stage = Stage(given)
    stage.says(INTRO)
    acts.lay(folder)
    files: list[Path] = []
    stage.begins("A release that ships", SHIPS)
    released = acts.release(folder)
    stage.shows(released.run)
    stage.begins("The same with a defect planted", "")
    planted = acts.defect(folder)
    stage.says(PLANTED.format(answers=planted.answers))
    stage.shows(planted.act.run)
    stage.question(planted)
    files += [*released.files, *planted.act.files]
    if not given.recorded:
        stage.begins("A new index against the one in use", INDEXES)
        with stage.busy() as tell:
            compared = acts.shadow(folder, tell)
        stage.shows(compared.run)
        files += compared.files
    if given.all:
        files += _pipeline(folder, stage)
    page = next(path for path in planted.act.files if path.suffix == ".html")
    stage.begins("The report to open", READ)
    stage.ends(folder, files, planted)
    print(str(page))
    return int(Exit.SHIP)


def _pipeline(folder: Path, stage: "Stage") -> list[Path]:
    """The long part: drive the built-in pipeline on both indexes, under load too."""
    from ragworthy.demo import pipeline

    stage.begins("The pipeline itself", PIPELINE)
    with stage.busy() as tell:
        made = pipeline.pipeline(folder, tell)
    stage.shows(made.run)
    return [*made.files, *made.plots]


class Stage:
    """Where the acts are played: a terminal, a pipe, or nowhere with --quiet."""

    def __init__(self, given: argparse.Namespace) -> None:
        self._quiet = bool(given.quiet)
        self._screen: Screen = screen(given)
        self._act = 0
        self._live = sys.stderr.isatty() and not self._quiet

    def begins(self, title: str, sentence: str) -> None:
        """The heading of an act, and what it is about."""
        self._act += 1
        self._lines("", self._screen.line(Span(f"{self._act}  {title}", "head")))
        if sentence:
            self.says(sentence)

    def says(self, sentence: str) -> None:
        """A sentence, as wide as the terminal."""
        self._lines(*self._screen.hung([], sentence, indent=0))

    def shows(self, run: flow.Run) -> None:
        """The short report as far as its gates: what was decided in a line, and what each gate says."""
        head, gates, *_ = flow.short(run.report, self._screen).split("\n\n")
        self._lines(head.splitlines()[0], "", *gates.splitlines())

    def question(self, planted: acts.Planted) -> None:
        """One question that the defect broke, in a few lines of what `show` has."""
        (seen,) = showing.look(planted.act.requests, [planted.qid], source="demo").shown
        sheet, screen = seen.sheet, self._screen
        self._lines("", screen.line(f"{sheet.qid}  ", Span(str(sheet.label), "label"), f": {sheet.why}"))
        texts = [("asked", sheet.question or ""), ("claim", sheet.answer.claim or "" if sheet.answer else "")]
        texts += [(f"cites {one.id}", one.text or "") for one in sheet.passages if one.cited]
        texts += [(f"right {one.id}", _from(one.text or "", sheet.expected.text)) for one in sheet.passages if one.gold]
        for name, text in texts:
            self._lines(*screen.hung([f"  {name:<18} "], text, indent=21, most=1))

    def ends(self, folder: Path, files: list[Path], planted: acts.Planted) -> None:
        """Which files there are, and two commands to go on with."""
        names = ", ".join(dict.fromkeys(path.name.partition(".")[0] for path in files))
        kinds = ", ".join(f".report.{suffix}" for suffix in acts.SUFFIXES)
        self.says(f"wrote {folder}: for {names} each {kinds} and .receipt.json")
        policy, proof = folder / f"{planted.act.name}.toml", folder / f"{acts.RELEASE}.receipt.json"
        for words in (["show", planted.qid, "-c", str(policy)], ["verify", str(proof)]):
            self._lines(f"next: {shell(['ragworthy', *words])}")  # never broken: it is there to be copied

    @contextmanager
    def busy(self) -> Iterator[acts.Told]:
        """What is being done, in one line on a terminal that is written over; nothing on a pipe."""

        def tell(line: str) -> None:
            if self._live:
                show(f"\r{self._screen.cut(line, self._screen.width)}\x1b[K", file=sys.stderr, flush=True)

        try:
            yield tell
        finally:
            if self._live:
                show("\r\x1b[K", file=sys.stderr, flush=True)

    def _lines(self, *lines: str) -> None:
        for line in lines:
            self._show(f"{line}\n")

    def _show(self, text: str) -> None:
        if not self._quiet:
            show(text, flush=True)


def _from(text: str, wanted: str) -> str:
    """A text from the sentence on that holds what is wanted.

    >>> _from("Each name is unique. It is free again after 45 days.", "45 days")
    'It is free again after 45 days.'
    """
    at = text.find(wanted)
    return text[text.rfind(". ", 0, at) + 2 :] if at > 0 and ". " in text[:at] else text
