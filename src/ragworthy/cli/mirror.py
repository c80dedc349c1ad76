"""`mirror`: a share of the live questions, asked of the shadow too."""

import argparse
import glob
import os
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

from ragworthy.cli.driven import Shown
from ragworthy.cli.flags import number_of
from ragworthy.cli.outputs import keep_inputs
from ragworthy.cli.say import print, show
from ragworthy.errors import DataError, usage_error
from ragworthy.files import write_whole
from ragworthy.load.lock import lock_path
from ragworthy.mirror import gold, report
from ragworthy.mirror.arms import Limits
from ragworthy.mirror.run import FILES, Asked
from ragworthy.mirror.run import mirror as mirrored
from ragworthy.names import Exit
from ragworthy.runner.contract import Options, Target
from ragworthy.runner.journal import AGAIN
from ragworthy.runner.run import knobs_of, open_target
from ragworthy.safe import json_text

REPORT = "mirror.json"
BUILTIN = "builtin:"


def mirror(given: argparse.Namespace) -> int:
    """Mirror, compare, write, and say what came of it."""
    asked, limits = _asked(given), _limits(given)
    inputs = [*asked.questions, given.gold, given.gold_live, *given.redirects]
    outputs = [*given.output, *(str(asked.out / name) for name in (*FILES, REPORT))]
    keep_inputs(outputs, [one for one in inputs if one and os.path.isfile(one)])  # noqa: PTH113
    for name in given.output:
        if Path(name).suffix not in (".json", ".md", ".txt"):
            raise usage_error(f"{name}: expected .json, .md or .txt")
    shown = Shown(quiet=given.quiet)
    try:
        found = mirrored(asked, limits, resume=given.resume, told=shown.told)
    except DataError as error:
        raise _in_own_flags(error) from None
    finally:
        shown.end()
    body = found.body
    if not found.finished:
        print(f"stopped: what was replied is safe in {asked.out}; {AGAIN} (exit {int(Exit.INTERRUPTED)})")
        return int(Exit.INTERRUPTED)
    forms = {".json": json_text(body), ".md": report.markdown(body), ".txt": _text(body)}
    for path in (asked.out / REPORT, *map(Path, given.output)):
        write_whole(path, forms[path.suffix].encode())
    if given.format != "text":
        show(forms[{"json": ".json", "markdown": ".md"}[given.format]])
        return int(body["exit_code"])
    for line in () if given.quiet else report.lines(body):
        print(line)
    print(f"verdict: {body['verdict']} (exit {body['exit_code']})")
    return int(body["exit_code"])


def _in_own_flags(error: DataError) -> DataError:
    """Errors of the gold set speak of `score`, whose corpus is the one of the shadow here."""

    def own(text: str) -> str:
        return re.sub(r"(?<![\w-])--corpus\b", "--shadow-corpus", text)

    problems = [one._replace(message=own(one.message)) for one in error.problems]
    return DataError(problems, error.total, error.advice, lambda code: own(error.hint(code)))


def _text(body: dict[str, Any]) -> str:
    lines = [*report.lines(body), f"verdict: {body['verdict']} (exit {body['exit_code']})"]
    return "".join(f"{line}\n" for line in lines)


def _asked(given: argparse.Namespace) -> Asked:
    log = os.path.exists(given.live) or bool(glob.glob(given.live))  # noqa: PTH110, PTH207 - a text with any sign in it
    if log and given.questions:
        raise usage_error("--questions: expected a live TARGET besides it, got a log, which has its own")
    if not log and not given.questions:
        message = f"--live: expected a log, or a target with --questions besides it, got {given.live} alone"
        raise usage_error(message)
    knobs = knobs_of(None, given.knob)
    live = None if log else _target(given, given.live)
    shadow = _target(given, given.shadow)
    corpora = {
        "live_corpus": _corpus(given.live_corpus, given.live),
        "corpus": _corpus(given.shadow_corpus, given.shadow),
    }
    asked = Asked(
        questions=(given.live,) if log else tuple(given.questions),
        share=_share("--share", given.share),
        shadow=shadow,
        live=live,
        out=Path(given.out),
        live_corpus=corpora["live_corpus"],
        shadow_corpus=corpora["corpus"],
        builds=(given.live_build, given.shadow_build),
        delta_s=given.delta_s,
        lock=Path(given.lock) if given.lock else lock_path(Path(given.gold)) if given.gold else None,
        knobs=knobs,
        limit=given.limit,
        uncited=_share("--max-uncited", given.max_uncited),
    )
    if not given.gold:
        return asked
    traces = Path(given.gold_live) if given.gold_live else None
    there = {key: path for key, path in corpora.items() if path is not None}
    redirects = tuple(map(Path, given.redirects))
    return asked._replace(gold=gold.Asked(Path(given.gold), shadow, live, traces, there, redirects, knobs))


def _target(given: argparse.Namespace, text: str) -> Target:
    retries = 0 if given.budget or given.spend else given.retries
    return open_target(text, Options(retries=retries, headers=tuple(given.header), knobs=tuple(given.knob)))


def _corpus(named: str | None, target: str) -> Path | None:
    """The corpus that was named, or the index of the built-in pipeline."""
    if named is not None:
        return Path(named)
    return Path(target.removeprefix(BUILTIN)) if target.startswith(BUILTIN) else None


def _share(flag: str, text: str) -> Fraction:
    share = Fraction(number_of(flag, text, "part"))
    if not share and flag == "--share":
        raise usage_error(f"{flag}: expected a share above 0, got {text}")
    return share


def _limits(given: argparse.Namespace) -> Limits:
    if (given.spend is None) != (given.price is None):
        raise usage_error("expected --spend and --price, got one of them")
    spend, price, rate = (
        None if text is None else Fraction(number_of(flag, text, "positive"))
        for flag, text in (("--spend", given.spend), ("--price", given.price), ("--rate", given.rate))
    )
    return Limits(
        concurrency=given.concurrency,
        timeout=given.timeout,
        rate=None if rate is None else float(rate),
        requests=given.budget,
        spend=spend,
        price=price,
        keep_going=given.keep_going,
    )
