"""What somebody sees who types `ragworthy` alone, and `ragworthy help`. Standard library only."""

import argparse
import textwrap

from ragworthy.cli import layout
from ragworthy.cli.arguments import parser
from ragworthy.cli.parser import find
from ragworthy.cli.say import show
from ragworthy.names import Exit

WHAT = """\
Ragworthy decides whether a RAG pipeline may ship. It scores recorded answers and retrievals against a gold set, holds \
the numbers against the gates of a policy, and ends with one verdict, an exit code and a receipt that anybody can check.
"""
BEGIN = (
    ("ragworthy demo", "a release that ships, a defect that is caught: half a minute"),
    ("ragworthy init", "a policy for your files, or an example to start from"),
)
"""The two commands to begin with."""
MORE = "ragworthy help lists them with what they do, ragworthy help COMMAND their flags, ragworthy explain WORD a term."


def bare() -> int:
    """What Ragworthy is, its commands, and where to begin. Not 0: for a script that means SHIP."""
    width = layout.width()
    column = max(len(name) for name, _ in BEGIN) + 4
    lines = [*textwrap.wrap(WHAT, width), "", "begin with:"]
    lines += [f"{f'  {name}':<{column}}{about}" for name, about in BEGIN]
    lines += ["", "commands:"]
    (commands,) = layout.groups_of(parser(("help",)))
    for title, names in layout.grouped(commands.choices):
        lines.append(f"{f'  {title}':<{column}}{', '.join(names)}")
    lines += ["", *textwrap.wrap(MORE, width)]
    show("\n".join(lines) + "\n")
    return int(Exit.USAGE)


def help_of(given: argparse.Namespace) -> int:
    """The help of a command, or of all."""
    words = [str(word) for word in given.topic]
    top = parser(words)
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
