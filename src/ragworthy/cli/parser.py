"""The argument parser: help in groups, errors in one line, and what may have been meant. Standard library only."""

import argparse
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, NoReturn

from ragworthy.cli import layout
from ragworthy.safe import terminal
from ragworthy.text import clip

_REQUIRED = "the following arguments are required: "
_CODE = "RW-U01"
_LONGEST = 60
"""So many characters of what was written are shown again."""
_MOST = 10
"""More choices than this are listed by the help only."""


class Parser(argparse.ArgumentParser):
    """The argument parser; what it says of an argument cannot steer the terminal."""

    def __init__(self, **how: Any) -> None:
        # argparse makes a formatter for every flag, to check it. Without a width each would ask the terminal.
        super().__init__(formatter_class=partial(argparse.HelpFormatter, width=layout.WIDEST), **how)

    def error(self, message: str) -> NoReturn:
        """Say in one line what is wrong, and where to look, and end."""
        if message.startswith(_REQUIRED):
            message = self._lacking(message.removeprefix(_REQUIRED))
        text = message.removeprefix("argument ")
        self.exit(2, f"{terminal(f'{self.prog}: {text} [{_CODE}]')}\n  see: {self.prog} --help\n")

    def format_help(self) -> str:
        """The help of the command, as wide as the terminal."""
        return layout.page(self, layout.width())

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; what nobody knows is told by the command that was meant."""
        words = sys.argv[1:] if args is None else list(args)
        given, left = self.parse_known_args(words, namespace)
        if left:
            _refuse(find(self, words), left)
        return given

    def _lacking(self, names: str) -> str:
        """What is missing: of subcommands all that there are."""
        for group in layout.groups_of(self):
            if group.metavar == names:
                return f"expected a {_kind(group)} ({', '.join(group.choices)}), got nothing"
        return f"expected {' and '.join(names.split(', '))}, got nothing"

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse what is not among the choices, and say what may have been meant."""
        if action.choices is None or value in action.choices:
            return
        choices = [str(choice) for choice in action.choices]
        near, shown = near_to(str(value), choices), clip(str(value), _LONGEST)
        if isinstance(action, argparse._SubParsersAction):
            self.error(f"there is no {_kind(action)} {shown}{meant(near) or _choice(choices)}")
        raise argparse.ArgumentError(action, f"expected one of {', '.join(choices)}, got {shown}{meant(near)}")

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """Read one value; an error says what it got."""
        try:
            return super()._get_value(action, arg_string)
        except argparse.ArgumentError as error:
            if error.message.startswith("expected ") and ", got " not in error.message:
                error.message += f", got {clip(arg_string, _LONGEST) or 'nothing'}"
            raise

    def _print_message(self, message: str, file: Any = None) -> None:
        """Help and version: a disk that is full is an error, which the usual parser would hide."""
        if message:
            (file or sys.stderr).write(message)


def _refuse(one: argparse.ArgumentParser, left: Sequence[str]) -> NoReturn:
    """Say which flag or argument nobody knows."""
    flag = next((word.partition("=")[0] for word in left if word.startswith("-") and len(word) > 1), None)
    if flag is None:
        one.error(f"expected no further argument, got {clip(' '.join(left), _LONGEST)}")
    known = {name.lstrip("-"): name for name in one._option_string_actions}
    near = [known[name] for name in near_to(flag.lstrip("-"), known)]
    one.error(f"there is no flag {clip(flag, _LONGEST)}{meant(near)}")


def find(top: argparse.ArgumentParser, words: Iterable[str]) -> argparse.ArgumentParser:
    """The parser of the command that some words begin with."""
    found = top
    for word in words:
        for group in layout.groups_of(found):
            found = group.choices.get(word, found)
    return found


def near_to(word: str, words: Iterable[str]) -> list[str]:
    """What a word may be a slip of, or the beginning of.

    >>> near_to("scroe", ["score", "show", "sign"]), near_to("Gate", ["gate"]), near_to("poetry", ["score"])
    (['score'], ['gate'], [])
    >>> near_to("rep", ["repeated", "last"])
    ['repeated']
    """
    from difflib import get_close_matches

    known = {each.lower(): each for each in words}
    begun = [each for each in known if word and each.startswith(word.lower())]
    close = begun if len(begun) == 1 else get_close_matches(word.lower(), known, n=1)
    return [known[near] for near in close]


def meant(near: Sequence[str]) -> str:
    """The end of an error, where something is close to what was written."""
    return f": did you mean {near[0]}?" if near else ""


def command(
    group: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, summary: str, run: str | None
) -> argparse.ArgumentParser:
    """Add a command; `run` is the module below `cli` and its function."""
    sentence = summary[:1].upper() + summary[1:] + ("" if summary.endswith("?") else ".")
    made = group.add_parser(name, help=summary, description=sentence, allow_abbrev=False)
    if run is not None:
        made.set_defaults(handler=run)
    return made


def _choice(choices: Sequence[str]) -> str:
    """What there is, where that fits into a line."""
    return f" (one of: {', '.join(choices)})" if len(choices) <= _MOST else ""


def _kind(group: argparse.Action) -> str:
    """What the subcommands of a group are called."""
    kind = str(group.metavar).lower()
    return "command" if kind == "verb" else kind
