"""`ragworthy help`. Standard library only."""

import argparse

from ragworthy.cli import layout
from ragworthy.cli.arguments import parser
from ragworthy.cli.parser import find
from ragworthy.cli.say import show
from ragworthy.names import Exit


def help_of(given: argparse.Namespace) -> int:
    """The help of a command, or of all."""
    words = [str(word) for word in given.topic]
    top = parser(words or ("--help",))
    found = top
    for nth, word in enumerate(words):
        groups = list(layout.groups_of(found))
        if not groups:
            break
        for group in groups:
            found._check_value(group, word)
        found = find(top, words[: nth + 1])
    show(found.format_help())
    return int(Exit.SHIP)
