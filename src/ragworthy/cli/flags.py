"""What many commands take, and what scoring takes, made from what each suite declares.

Imports nothing heavier than the argument parser.
"""

import argparse
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from ragworthy.comparison.likeness import HELD
from ragworthy.policy.declare import Declared

if TYPE_CHECKING:
    from ragworthy.adapters.model import Adapter


def quiet(one: argparse.ArgumentParser) -> None:
    one.add_argument("-q", "--quiet", action="store_true", help="print only the last line")
    one.add_argument("--no-color", action="store_true", help="no colours (also: NO_COLOR)")


def common(one: argparse.ArgumentParser, *, receipt: bool = True) -> None:
    reported(one, receipt=receipt)
    one.add_argument("--jobs", type=jobs, metavar="N", help="how many processes (default: one for each core)")
    one.add_argument("--unfrozen", action="store_true", help="score although the gold set is not the frozen one")
    one.add_argument("--allow-gold-errors", action="store_true", help="score although the gold set has lint errors")


def engine(one: argparse.ArgumentParser) -> None:
    """Who reads the traces."""
    one.add_argument("--engine", choices=("local", "spark"), default="local",
                     help="who reads the traces: processes of this machine, or Spark")  # fmt: skip
    one.add_argument("--master", metavar="URL",
                     help="with --engine spark: local[4], spark://host:7077, … (default: Spark's own)")  # fmt: skip


def reported(one: argparse.ArgumentParser, *, receipt: bool = True) -> None:
    """Where a report goes, and in which form."""
    quiet(one)
    suffixes = ".html .json .md .xml .txt .jsonl .parquet .csv"
    one.add_argument("-o", "--output", action="append", default=[], metavar="FILE",
                     help=f"write a report (repeatable); format by suffix: {suffixes}")  # fmt: skip
    one.add_argument("--format", choices=FORMATS, default="text", help="format of stdout")
    one.add_argument(
        "--full",
        action="store_true",
        help="the whole text report: all numbers and notes, and what this evidence cannot show",
    )
    one.add_argument("--rows", metavar="FILE", help="write every row (.jsonl, .parquet or .csv)")
    if receipt:
        one.add_argument("--receipt", metavar="FILE", help="write the receipt here")
        one.add_argument("--bundle", metavar="FILE",
                         help="write a zip with the receipt and all that it rests on, for verify")  # fmt: skip
        one.add_argument("--sign", metavar="KEY", help="sign the receipt and the bundle with this SSH key")


class Formats(tuple[str, ...]):
    """The formats that come with ragworthy; those of installed plugins are taken too."""

    def __contains__(self, name: object) -> bool:
        if super().__contains__(name):
            return True
        from ragworthy.load.plugins import REPORTS, installed

        return any(one.name == name for one in installed(REPORTS))


FORMATS = Formats(("text", "json", "compact", "markdown", "junit", "github", "gitlab"))


def plugin(one: argparse.ArgumentParser) -> None:
    one.add_argument("--plugin", action="append", default=[], metavar="FILE|NAME",
                     help="metrics of your own: a Python file or an installed plugin; its code is run")  # fmt: skip


def scored(one: argparse.ArgumentParser, suite: Declared) -> None:
    """What scoring a suite takes: its own files and settings, then what every suite takes."""
    own = {flag.names[0]: flag for flag in (*_inputs(suite), *_settings(suite), *_views(suite))}
    last = [name for name in AFTER if name in own]
    order = [*suite.flags, *(name for name in own if name not in suite.flags and name not in last)]
    for name in order:
        own[name].add(one)
    one.add_argument("--gates", nargs="+", action="extend", metavar="NAME=VALUE",
                     help=f"gates, e.g. {suite.example}, or a TOML file")  # fmt: skip
    one.add_argument("--pack", action="append", default=[], metavar="NAME", help="a gate pack, e.g. ship (repeatable)")
    one.add_argument("--no-default-gates", action="store_true", help="only the gates named by --gates and --pack")
    one.add_argument("--profile", choices=("default", "reference"), default="default", type=suite.profile_named,
                     help=f"reference, or {suite.program}: what that program of the sources prints"
                     if suite.program else "reference: print what the sources' own scorer prints")  # fmt: skip
    one.add_argument("--baseline", metavar="FILE|history:NAME", help="JSON report of an accepted run, or a blessed one")
    one.add_argument("--allow", action="append", default=[], metavar="NAME", choices=HELD,
                     help="let normaliser, reranker or retriever differ from the baseline or live")  # fmt: skip
    one.add_argument("--evidence", choices=("point", "interval"), default="point",
                     help="what decides a gate on one number; those that compare are decided by questions")  # fmt: skip
    one.add_argument("--alpha", metavar="RATE", help="how often a loss may be called proven by luck (default 0.05)")
    one.add_argument("--cluster", choices=("document", "question"), help="which questions stand or fall together")
    one.add_argument("--seed", type=count, metavar="N", help="where chance begins when losses are tested (default 0)")
    one.add_argument("--commit", metavar="SHA", help="the commit that is judged, for report and receipt")
    for name in last:
        own[name].add(one)
    one.add_argument("--lock", metavar="FILE", help="the lock file (default: beside the gold set)")
    plugin(one)
    one.add_argument("--shard", metavar="I/N",
                     help="read only part I of N and write it to -o FILE.json, for 'merge'")  # fmt: skip
    engine(one)
    common(one)


def shown(one: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """What showing questions takes: where they stand, or the files and settings of the suite that is named."""
    one.add_argument("qids", nargs="+", metavar="QID", help="the questions")
    policy = "the policy (default: ragworthy.toml or pyproject.toml); plugins that it names are run"
    one.add_argument("-c", "--config", metavar="FILE", help=policy)
    one.add_argument("--suite", dest="suite_name", metavar="SUITE",
                     help="only this suite; its files and settings are taken as 'score SUITE' takes them")  # fmt: skip
    earlier = "an earlier run: its receipt, its JSON report, or history:ID; plugins that it names are run"
    one.add_argument("--run", metavar="FILE|history:ID", help=earlier)
    one.add_argument("--store", metavar="FILE|URL", help="the history (default: that of the policy)")
    suite = _suite_in(words)
    own = [*_inputs(suite), *_settings(suite)] if suite is not None else []
    for flag in own or _FILES:
        if flag.names[0] != "--run":
            flag._replace(how=flag.how | {"required": False}).add(one)
    one.add_argument("--full", action="store_true", help="whole texts, every run")
    one.add_argument("--format", choices=("text", "markdown", "json"), default="text", help="format of stdout")
    one.add_argument("-o", "--output", metavar="FILE", help="write it (.txt, .md or .json)")
    one.add_argument("--allow-gold-errors", action="store_true", help="look although the gold set has lint errors")
    quiet(one)


def _suite_in(words: Sequence[str]) -> Declared | None:
    """The suite that `--suite` names."""
    from ragworthy.suites import SUITES

    named = [word.partition("=")[2] for word in words if word.startswith("--suite=")]
    named += [after for word, after in pairwise(words) if word == "--suite"]
    SUITES.also(named[-1:])
    return SUITES.get(named[-1]) if named else None


class Flag(NamedTuple):
    """A flag before it is added."""

    names: tuple[str, ...]
    how: dict[str, Any]

    def add(self, one: argparse.ArgumentParser) -> None:
        """Add it to a parser."""
        one.add_argument(*self.names, **self.how)


_FILES = (
    Flag(("--gold",), {"metavar": "FILE", "help": "the gold set, where there is no policy"}),
    Flag(("--trace",), {"metavar": "FILE", "help": "the traces"}),
    Flag(("--corpus",), {"metavar": "DIR|FILE", "help": "the index or its chunks"}),
)
AFTER = ("--refusal", "--refusal-pack", "--refusal-start", "--refusal-pattern", "--slice")
"""Settings that are among what every suite takes."""
SEVERAL: dict[str, Any] = {"action": "append", "default": []}


def _inputs(suite: Declared) -> Iterator[Flag]:
    """A flag for each file. One that another file can stand in for is not required."""
    for one in suite.inputs:
        if not one.help:
            continue
        how: dict[str, Any] = {"metavar": "DIR|FILE" if one.form == "corpus" else "FILE", "help": one.help}
        if one.several:
            how |= SEVERAL
        elif suite.required(one):
            how["required"] = True
        if one.more:
            how["action"] = _further(one.more)
        yield Flag((one.option,), how)


def _further(dest: str) -> type[argparse.Action]:
    """A flag that may be repeated: the first stays where it was, `dest` takes the others."""

    class Further(argparse.Action):
        def __call__(self, parser: Any, given: argparse.Namespace, value: Any, option: str | None = None) -> None:
            if getattr(given, self.dest, None) is None:
                setattr(given, self.dest, value)
            else:
                setattr(given, dest, [*getattr(given, dest, ()), value])

    return Further


def _views(suite: Declared) -> Iterator[Flag]:
    """What only the command line has: another view of a score."""
    if suite.items:
        yield Flag(("--item",), {**SEVERAL, "metavar": "ID", "help": suite.items})


def _settings(suite: Declared) -> Iterator[Flag]:
    for one in suite.fields():
        key = one.key
        if not key.flag:
            continue
        how: dict[str, Any] = {"help": key.help}
        if one.kind is bool:
            how["action"] = "store_true"
        elif key.choices:
            how |= {"choices": key.choices, "default": None if key.reference else one.default}
        elif key.reads == "ks":
            how |= {"metavar": key.metavar, "default": ",".join(map(str, one.default))}
        elif key.reads == "limits":
            how |= {"metavar": key.metavar, "nargs": "+", "action": "extend", "default": []}
        elif one.kind == tuple[str, ...]:
            how |= {"metavar": key.metavar, **SEVERAL}
        else:
            how |= {"metavar": key.metavar, "default": one.default}
        yield Flag(tuple(key.flag.split()), how)


def value_of(given: argparse.Namespace, flag: str) -> Any:
    """What was given for a flag, by its first spelling."""
    return getattr(given, flag.split()[0].lstrip("-").replace("-", "_"))


def number_of(flag: str, text: str, reads: str) -> str:
    """A number as it was written, of a kind that a policy knows too."""
    from decimal import Decimal, InvalidOperation
    from fractions import Fraction

    from ragworthy.errors import usage_error
    from ragworthy.load.checker import written
    from ragworthy.policy.sections import NUMBERS

    expected, fits = NUMBERS[reads]
    try:
        number = written(Decimal(text))
    except InvalidOperation:
        number = None
    if number is None or not fits(Fraction(number)):
        raise usage_error(f"{flag}: expected {expected}, got {text}")
    return number


def depths(text: str) -> tuple[int, ...]:
    """The numbers given to --k."""
    from ragworthy.load.checker import Checker
    from ragworthy.policy.gate_text import parse_ks

    check = Checker("--k")
    numbers = [int(part) if part.strip().isdecimal() else part for part in text.split(",")]
    ks = parse_ks(check, numbers, "")
    check.stop()
    return ks


def number(text: str, least: int, most: int) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 9 or not least <= int(text) <= most:
        raise argparse.ArgumentTypeError(f"expected a number from {least} to {most}")
    return int(text)


def above_zero(text: str, most: float, expected: str) -> float:
    """A number above 0 and up to another one; `expected` says so."""
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found <= most:
        raise argparse.ArgumentTypeError(f"expected {expected}")
    return found


def whole(text: str) -> int:
    return number(text, 1, 1_000_000)


def count(text: str) -> int:
    return number(text, 0, 1_000_000)


def jobs(text: str) -> int:
    return number(text, 1, 256)


WRITTEN = {"gold": "the gold set to write", "trace": "the traces to write", "chunks": "the texts to write, as chunks"}


def imported(one: argparse.ArgumentParser, adapter: "Adapter") -> None:
    """What importing a format takes: its files, its own options, then what every import takes."""
    if adapter.inputs:
        one.add_argument("files", nargs="+", metavar=adapter.inputs, help="what to read")
    one.set_defaults(files=[])
    for own in adapter.options:
        how: dict[str, Any] = {"dest": f"option_{own.key}", "help": own.help, "default": own.default}
        if own.several:
            how |= SEVERAL
        if own.metavar:
            how |= {"metavar": own.metavar, "required": own.required}
        elif own.choices:
            how |= {"choices": own.choices}
        else:
            how["action"] = "store_true"
        one.add_argument(own.name, **how)
    for name in adapter.gives:
        one.add_argument(f"--{name}-out", required=name in adapter.needs, metavar="FILE", help=WRITTEN[name])
    for other in sorted(WRITTEN.keys() - {*adapter.gives}):
        one.add_argument(f"--{other}-out", metavar="FILE", help=argparse.SUPPRESS)
    one.add_argument("--dry-run", action="store_true", help="only show how it is read; write nothing")
    one.add_argument("--strict", action="store_true", help="write nothing and exit 1 where something was skipped")
