"""What many commands take, and what scoring takes: made from what each suite declares.

Imports nothing heavier than the argument parser.
"""

import argparse
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

from ragworthy.safe import terminal
from ragworthy.suites.declare import Declared


class Parser(argparse.ArgumentParser):
    """The argument parser; what it says of an argument cannot steer the terminal."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and end."""
        super().error(terminal(message))

    def _print_message(self, message: str, file: Any = None) -> None:
        """Help and version: a disk that is full is an error, which the usual parser would hide."""
        if message:
            (file or sys.stderr).write(message)


def command(
    group: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, summary: str, run: str | None
) -> argparse.ArgumentParser:
    made = group.add_parser(name, help=summary, description=summary[:1].upper() + summary[1:] + ".", allow_abbrev=False)
    if run is not None:
        made.set_defaults(handler=run)
    return made


def quiet(one: argparse.ArgumentParser) -> None:
    one.add_argument("-q", "--quiet", action="store_true", help="print only the last line")
    one.add_argument("--no-color", action="store_true", help="no colours (also: NO_COLOR)")


def common(one: argparse.ArgumentParser, *, receipt: bool = True) -> None:
    quiet(one)
    suffixes = ".json .md .xml .txt .jsonl .parquet"
    one.add_argument("-o", "--output", action="append", default=[], metavar="FILE",
                     help=f"write a report (repeatable); format by suffix: {suffixes}")  # fmt: skip
    one.add_argument("--format", choices=FORMATS, default="text", help="format of stdout")
    one.add_argument("--rows", metavar="FILE", help="write every row (.jsonl or .parquet)")
    if receipt:
        one.add_argument("--receipt", metavar="FILE", help="write the receipt here")
    one.add_argument("--jobs", type=jobs, metavar="N", help="how many processes (default: one for each core)")
    one.add_argument("--unfrozen", action="store_true", help="score although the gold set is not the frozen one")
    one.add_argument("--allow-gold-errors", action="store_true", help="score although the gold set has lint errors")


class Formats(tuple[str, ...]):
    """The formats that come with ragworthy; those of installed plugins are taken too."""

    def __contains__(self, name: object) -> bool:
        if super().__contains__(name):
            return True
        from ragworthy.load.plugins import REPORTS, installed

        return any(one.name == name for one in installed(REPORTS))


FORMATS = Formats(("text", "json", "markdown", "junit"))


def plugin(one: argparse.ArgumentParser) -> None:
    one.add_argument("--plugin", action="append", default=[], metavar="FILE|NAME",
                     help="metrics of your own: a Python file or an installed plugin; its code is run")  # fmt: skip


def scored(one: argparse.ArgumentParser, suite: Declared) -> None:
    """What scoring a suite takes: its own files and settings, then what every suite takes."""
    own = {flag.names[0]: flag for flag in (*_inputs(suite), *_settings(suite), *ONLY_HERE.get(suite.name, ()))}
    last = [name for name in AFTER if name in own]
    order = [*suite.flags, *(name for name in own if name not in suite.flags and name not in last)]
    for name in order:
        own[name].add(one)
    one.add_argument("--gates", nargs="+", action="extend", metavar="NAME=VALUE",
                     help=f"gates, e.g. {suite.example}, or a TOML file")  # fmt: skip
    one.add_argument("--profile", choices=("default", "reference"), default="default",
                     help="reference: print what the sources' own scorer prints")  # fmt: skip
    one.add_argument("--baseline", metavar="FILE", help="JSON report of an accepted run")
    one.add_argument("--evidence", choices=("point", "interval"), default="point", help="what decides a gate")
    for name in last:
        own[name].add(one)
    one.add_argument("--lock", metavar="FILE", help="the lock file (default: beside the gold set)")
    plugin(one)
    common(one)


class Flag(NamedTuple):
    """A flag before it is added."""

    names: tuple[str, ...]
    how: dict[str, Any]

    def add(self, one: argparse.ArgumentParser) -> None:
        """Add it to a parser."""
        one.add_argument(*self.names, **self.how)


AFTER = ("--refusal", "--slice")
"""Settings that stand among what every suite takes."""
SEVERAL: dict[str, Any] = {"action": "append", "default": []}
ONLY_HERE = {
    "structured": (
        Flag(("--item",), {**SEVERAL, "metavar": "ID",
             "help": "show one item, expected against got, instead of the report (repeatable)"}),
    ),
    "latency": (
        Flag(("--plot",), {**SEVERAL, "metavar": "FILE",
             "help": "draw accuracy against P95 (.png or .svg, repeatable)"}),
    ),
    "agreement": (
        Flag(("--pairs-out",), {"metavar": "FILE", "help": "write the votes on traces as pairs (.jsonl)"}),
    ),
}  # fmt: skip
"""What only the command line has: other views of a score, and files that it writes besides the report."""


def _inputs(suite: Declared) -> Iterator[Flag]:
    """A flag for each file. One that another file can stand in for is not required."""
    for one in suite.inputs:
        if not one.help:
            continue
        how: dict[str, Any] = {"metavar": "DIR|FILE" if one.form == "corpus" else "FILE", "help": one.help}
        if one.form == "files":
            how |= SEVERAL
        elif suite.required(one):
            how["required"] = True
        yield Flag((one.option,), how)


def _settings(suite: Declared) -> Iterator[Flag]:
    for one in suite.fields():
        key = one.key
        if not key.flag:
            continue
        how: dict[str, Any] = {"help": key.help}
        if one.kind is bool:
            how["action"] = "store_true"
        elif key.choices:
            how |= {"choices": key.choices, "default": one.default}
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


def number(text: str, least: int, most: int) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 9 or not least <= int(text) <= most:
        raise argparse.ArgumentTypeError(f"expected a number from {least} to {most}")
    return int(text)


def whole(text: str) -> int:
    return number(text, 1, 1_000_000)


def count(text: str) -> int:
    return number(text, 0, 1_000_000)


def jobs(text: str) -> int:
    return number(text, 1, 256)
