"""What every command shares that drives a pipeline: its folder, its target, how it shows and ends."""

import argparse
import shlex
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ragworthy.adapters.replies import Rules
from ragworthy.adapters.replies import rules as rules_of
from ragworthy.cli.naming import policy_of
from ragworthy.cli.outputs import keep_inputs
from ragworthy.cli.say import print, show
from ragworthy.errors import usage_error
from ragworthy.gold.following import UNNAMED
from ragworthy.load.sources import open_source
from ragworthy.names import Exit
from ragworthy.policy.declare import REFUSALS
from ragworthy.policy.read import load_policy
from ragworthy.policy.sections import check_settings
from ragworthy.report.show import counted, plural
from ragworthy.runner import run as running
from ragworthy.runner.contract import Options, Target, asking
from ragworthy.runner.ended import CHUNKS, JOURNAL, TRACES
from ragworthy.runner.journal import AGAIN
from ragworthy.runner.results import Counts
from ragworthy.runner.run import Progress, Ran
from ragworthy.suites import SUITES
from ragworthy.suites.refusing import refuses_of
from ragworthy.text import clip

_GATE = "next: ragworthy gate"
_MANY = 0.1
"""From this share on, errors are worth asking again."""
_EVERY = 0.2
"""So many seconds lie between two lines of progress."""


def guard_run(given: argparse.Namespace, written: Iterable[str], read: Iterable[object] = ()) -> None:
    """Refuse a folder in which the results of a run would take the place of what it reads."""
    replayed = given.target.partition(":")[2] if given.target.startswith("replay:") else None
    outputs = [str(Path(given.out) / name) for name in (*written, JOURNAL)]
    keep_inputs([given.out, *outputs], [given.gold, given.knobs, given.pipeline, given.map, replayed, *read])


def folder_of(text: str) -> Path:
    """The folder that --out names."""
    if not text.strip():
        raise usage_error(f'--out: expected a folder, got "{text}"')
    return Path(text)


def open_given(given: argparse.Namespace) -> Target:
    """The target that the flags name."""
    rules = rules_of(given.doc_id, given.marker, running.gold_ids(Path(given.gold)), ("--doc-id", "--marker"))
    knobs = running.knobs_of(Path(given.knobs) if given.knobs else None, given.knob)
    options = target_options(given, rules, knobs)
    return running.open_target(given.target, options, Path(given.pipeline) if given.pipeline else None)


def target_options(given: argparse.Namespace, rules: Rules, knobs: dict[str, Any]) -> Options:
    """How the target is reached, by the flags."""
    return Options(
        given.retries, tuple(given.header), tuple(given.knob), rules, frozenset(knobs), given.map, asking(knobs)
    )


def options_of(given: argparse.Namespace, out: Path, shown: "Shown") -> running.RunOptions:
    """How a run is made, by its flags."""
    if given.retry_errors and not given.resume:
        raise usage_error("--retry-errors: expected --resume with it, for it asks again what an earlier run has asked")
    return running.RunOptions(
        out,
        given.resume,
        given.concurrency,
        given.timeout,
        shown.told,
        retry_errors=given.retry_errors,
        keep_going=given.keep_going,
        retries=given.retries,
        refuses=refuses_of(settings_of(given)),
    )


def settings_of(given: argparse.Namespace) -> Any:
    """What a refusal is, by the policy and the flags."""
    answers = SUITES["answers"]
    settings = answers.settings()
    if given.config:
        sections = load_policy(Path(given.config), SUITES, today=None).suites
        settings = next((one.settings for one in sections if one.suite == "answers"), settings)
    settings = settings._replace(
        refusals=(*settings.refusals, *given.refusal),
        refusal_packs=(*settings.refusal_packs, *given.refusal_pack),
        refusal_starts=(*settings.refusal_starts, *given.refusal_start),
        refusal_patterns=(*settings.refusal_patterns, *given.refusal_pattern),
    )
    check_settings(settings, answers, given.config or "")
    return settings


def traces(given: argparse.Namespace) -> Path:
    """What a run writes."""
    return Path(given.out) / TRACES


def next_of(given: argparse.Namespace) -> str:
    """The command line that judges the traces of a run: by the policy that names them, else by what the gold is for."""
    from ragworthy.gold.commands import suite_of
    from ragworthy.gold.following import flags, items_of

    policy = None if _refusals(given) else policy_of(given.config, traces(given))
    if policy is not None:
        return f"{_GATE} -c {shlex.quote(policy)}"
    source = open_source("gold", Path(given.gold))
    suite = "retrieval" if suite_of(source) == "retrieval" else "answers"
    scheme, _, index = given.target.partition(":")
    more = flags(items_of(source), suite)
    if scheme == "builtin":
        more = more.replace(UNNAMED, shlex.quote(index))
    return next_line(suite, given.gold, traces(given), "--trace") + more + _refusals(given, policy=True)


def _refusals(given: argparse.Namespace, *, policy: bool = False) -> str:
    """What was said of refusals, by flags or also by the policy, so that a score counts them alike."""
    said = settings_of(given) if policy else given
    names = ("refusal", "refusal_pack", "refusal_start", "refusal_pattern")
    told = {f"--{name.replace('_', '-')}": getattr(said, f"{name}s" if policy else name) for name in names}
    said_so = ((flag, value) for flag, values in told.items() for value in values if value not in REFUSALS)
    return "".join(f" {flag} {shlex.quote(value)}" for flag, value in said_so)


def next_line(suite: str, gold: str, runs: Path, flag: str = "--runs") -> str:
    """The command line that scores what was written."""
    return f"next: ragworthy score {suite} --gold {shlex.quote(gold)} {flag} {shlex.quote(str(runs))}"


def told(ran: Ran, given: argparse.Namespace, following: str) -> int:
    """Print how a run ended, and what to do next; gives the exit code."""
    counts = ran.counts
    if not ran.finished:
        code = Exit.INTERRUPTED
        replies = share(counts.asked, ran.total, "reply", "replies")
        ending = f"stopped: {replies} safe in {given.out}; {AGAIN}"
    else:
        code = Exit.NO_SHIP if counts.errored else Exit.SHIP
        errors = errors_of(counts.errored, ran.total)
        ending = f"run: {errors if counts.errored else plural(ran.total, 'reply', 'replies')}"
    if not given.quiet:
        sums = f"answered {counts.answered:,} + refused {counts.refused:,} + errored {counts.errored:,}"
        print(f"asked {counts.asked:,} = {sums}")
        if counts.empty:
            print(f"{plural(counts.empty, 'answer is', 'answers are')} empty: is the text where the target says it is?")
        if counts.near:
            near = plural(counts.near, "answer reads", "answers read")
            print(f'{near} like a refusal, e.g. "{clip(counts.alike[0], 80)}"{_if_so(counts)} (docs/refusals.md)')
        tell_errors(ran, given)
        if ran.finished:
            print(f"traces: {traces(given)}")
            _tell_chunks(counts, given)
        if ran.finished and counts.errored == counts.asked:
            print("next: the same command with --check shows one reply; --resume --retry-errors asks all again")
        elif ran.finished and following:
            for one in _after_errors(_following(following, counts, given), counts):
                print(one)
    print(f"{ending} (exit {int(code)})")
    return int(code)


def tell_errors(ran: Ran, given: argparse.Namespace) -> None:
    """Which errors there were, what the target noticed, and what was left running."""
    if ran.counts.reasons:
        _tell_reasons(ran.counts, finished=ran.finished)
    for note in ran.notes:
        print(f"note: {note}")
    if ran.left_running:
        calls = plural(ran.left_running, "call was", "calls were")
        print(f"{calls} left running: {given.timeout:g} s after a timeout they had not ended, and others took over")
    if ran.counts.reasons.get("timeout", 0) > 1:
        print("timeouts: a lower --concurrency or a longer --timeout may help; --check proposes both")


def _tell_reasons(counts: Counts, *, finished: bool) -> None:
    """How often each error came, and how to ask again where they are many."""
    print(f"errors: {counted(counts.reasons)}")
    print(f"the first: {clip(counts.first or '', 300)}")
    if finished and counts.asked * _MANY < counts.errored <= counts.asked / 2:  # with more, it is the next step
        print("more than a tenth are errors: the same command with --resume --retry-errors asks them again")


def _tell_chunks(counts: Counts, given: argparse.Namespace) -> None:
    """Where the texts of the documents are; and that ids do not name them, where they do not."""
    if counts.nothing:
        print("no reply has a document: does the retriever find anything? Scores count every question as not found")
    if counts.chunks:
        print(f"chunks: {plural(counts.chunks, 'retrieved text')}: {Path(given.out) / CHUNKS}")
    if counts.clashing:
        some = clip(", ".join(counts.clashing[:3]), 120)
        names = plural(len(counts.clashing), "id names", "ids name")
        print(f"{names} several texts ({some}): --doc-id content tells them apart")


def _after_errors(following: str, counts: Counts) -> list[str]:
    """The next command; where most replies are errors, a score would be INVALID, and they are asked again first."""
    if 2 * counts.errored <= counts.asked:
        return [following]
    again = f"--resume --retry-errors asks the {counts.errored:,} errors again; --check shows one reply"
    return [f"next: the same command with {again}", following.replace("next:", "then:", 1)]


def _following(following: str, counts: Counts, given: argparse.Namespace) -> str:
    """The next command; a score gets the texts that this run wrote, where evidence is to be bound to some."""
    if following.startswith(_GATE):
        return following
    chunks = shlex.quote(str(Path(given.out) / CHUNKS))
    return (following.replace(UNNAMED, chunks) if counts.chunks or counts.nothing else following) + _known(counts)


def _known(counts: Counts) -> str:
    """The flags by which answers that read like a refusal would be counted as one."""
    from ragworthy.suites.answers.near import paste

    line = paste(counts.alike)
    if line is not None:
        return "".join(f" --refusal-pack {name}" for name in line.packs)
    return f" --refusal {shlex.quote(counts.alike[0])}" if len(counts.alike) == 1 else ""


def _if_so(counts: Counts) -> str:
    """What would make refusals of answers that read like one: of how many, and what of the others."""
    from ragworthy.suites.answers.near import paste, unknown

    flags = _known(counts).strip()
    if not flags:
        return ": --refusal TEXT"
    line = paste(counts.alike)
    left = unknown(counts.alike, line.packs) if line is not None else []
    often = {claim: times for claim, times in zip(counts.alike, counts.times, strict=True) if claim in left}
    if not left:
        return f"; {flags} makes them refusals, leave it out if they are answers"
    some = f"; {flags} makes {sum(counts.times) - sum(often.values()):,} of them refusals"
    claim = max(often, key=lambda one: often[one])
    more = f"--refusal {shlex.quote(claim)} {often[claim]:,} more" if often[claim] > 1 else "--refusal TEXT the others"
    return f"{some}, {more}; leave out what makes answers refusals"


def errors_of(errors: int, total: int) -> str:
    """How many replies are errors.

    >>> errors_of(1, 12), errors_of(3, 12), errors_of(1, 1)
    ('1 of 12 replies is an error', '3 of 12 replies are errors', '1 of 1 reply is an error')
    """
    return f"{share(errors, total, 'reply', 'replies')} {'an error' if errors == 1 else 'errors'}"


def share(part: int, total: int, one: str, many: str) -> str:
    """So many of all, with the verb that fits.

    >>> share(1, 5, "cell", "cells"), share(0, 1, "cell", "cells")
    ('1 of 5 cells is', '0 of 1 cell are')
    """
    return f"{part:,} of {plural(total, one, many)} {'is' if part == 1 else 'are'}"


class Shown:
    """Progress on a terminal, in one line that is written over."""

    def __init__(self, *, quiet: bool) -> None:
        self._live = sys.stderr.isatty() and not quiet
        self._begun = time.monotonic()
        self._last = 0.0
        self._wrote = False

    def told(self, now: Progress) -> None:
        """Show how far the run is, now and then; that it stops, always."""
        if now.stopping:
            self.end()
            print("stopping when what is in flight is done; Ctrl-C again stops at once", file=sys.stderr, flush=True)
            return
        clock = time.monotonic()
        if self._live and (clock - self._last >= _EVERY or now.done == now.total):
            self._last = clock
            self._wrote = True
            show(f"\r{line(now, clock - self._begun)}\x1b[K", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Leave the line."""
        if self._wrote:
            print(file=sys.stderr, flush=True)
        self._wrote = False


def line(now: Progress, seconds: float) -> str:
    """How far a run is, how fast it goes, and how long it will take.

    >>> line(Progress(120, 500, 120, 3), 5.0)
    'asked 120/500  24.0/s  0:16 left  3 errors'
    """
    rate = now.here / seconds if seconds > 0 else 0.0
    left = round((now.total - now.done) / rate) if rate else 0
    minutes, rest = divmod(left, 60)
    clock = f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}" if minutes >= 60 else f"{minutes}:{rest:02d}"
    return f"asked {now.done}/{now.total}  {rate:.1f}/s  {clock} left  {plural(now.errors, 'error')}"
