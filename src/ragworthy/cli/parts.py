"""What many commands take. Imports nothing heavier than the argument parser."""

import argparse
import sys
from typing import Any, NoReturn

from ragworthy.safe import terminal


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
        made.set_defaults(run=run)
    return made


def quiet(one: argparse.ArgumentParser) -> None:
    one.add_argument("-q", "--quiet", action="store_true", help="print only the last line")
    one.add_argument("--no-color", action="store_true", help="no colours (also: NO_COLOR)")


def common(one: argparse.ArgumentParser, *, receipt: bool = True) -> None:
    quiet(one)
    suffixes = ".json .md .xml .txt .jsonl .parquet"
    one.add_argument("-o", "--output", action="append", default=[], metavar="FILE",
                     help=f"write a report (repeatable); format by suffix: {suffixes}")  # fmt: skip
    one.add_argument("--format", choices=("text", "json", "markdown", "junit"), default="text", help="format of stdout")
    one.add_argument("--rows", metavar="FILE", help="write every row (.jsonl or .parquet)")
    if receipt:
        one.add_argument("--receipt", metavar="FILE", help="write the receipt here")
    one.add_argument("--jobs", type=jobs, metavar="N", help="how many processes (default: one for each core)")
    one.add_argument("--unfrozen", action="store_true", help="score although the gold set is not the frozen one")
    one.add_argument("--allow-gold-errors", action="store_true", help="score although the gold set has lint errors")


def scored(one: argparse.ArgumentParser, example: str, *, refusals: bool = True) -> None:
    """What every suite takes."""
    one.add_argument("--gates", nargs="+", action="extend", metavar="NAME=VALUE",
                     help=f"gates, e.g. {example}, or a TOML file")  # fmt: skip
    one.add_argument("--profile", choices=("default", "reference"), default="default",
                     help="reference: print what the sources' own scorer prints")  # fmt: skip
    one.add_argument("--baseline", metavar="FILE", help="JSON report of an accepted run")
    one.add_argument("--evidence", choices=("point", "interval"), default="point", help="what decides a gate")
    if refusals:
        one.add_argument(
            "--refusal", action="append", default=[], metavar="TEXT", help="another refusal text (repeatable)"
        )
    one.add_argument("--slice", action="append", default=[], metavar="FIELD", help="split by a gold field (repeatable)")
    one.add_argument("--lock", metavar="FILE", help="the lock file (default: beside the gold set)")
    common(one)


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
