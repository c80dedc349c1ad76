"""Command lines of pages: what only joins plain calls by && and ; is called piece by piece, the rest in a shell.

A start of Python for each call takes longer than most of the calls.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

QUOTED = r"'[^']*'|\"[^\"$`\\]*\""
"""Text in which a shell finds nothing to do."""
PIECE = re.compile(rf"\s*((?:{QUOTED}|[^'\";&])*?)\s*(;|&&|$)")
TOGETHER = re.compile(r"[(){}\n]|(?<!&)&(?!&)|(?:^|[;&|] *)(?:for|while|if|cd|set|export|unset|\w+=\S*(?=;|&|$))\b")
"""Outside of quotes: what makes one of several pieces, or changes what the next one sees."""
ACTIVE = re.compile(r"[|<>;&$`*?~\\'\"#\[]")
"""Outside of quotes: what only a shell understands."""

Ran = tuple[int, str]
Carried = Callable[[str], Ran]


class Joined(NamedTuple):
    """A piece of a command line, and whether it is left out where the one before it failed."""

    text: str
    needs: bool


def bare(text: str) -> str:
    """A command line without what it quotes.

    >>> bare("ragworthy score --gates 'a>=1' > x")
    'ragworthy score --gates Q > x'
    """
    return re.sub(QUOTED, "Q", text)


def pieces(command: str) -> list[Joined]:
    """What a command line joins; one piece where only a shell can tell.

    >>> pieces("sed 's/a;b/c/' x > y; ragworthy gold lint y && cat y")
    [Joined(text="sed 's/a;b/c/' x > y", needs=False), Joined(text='ragworthy gold lint y', needs=False), \
Joined(text='cat y', needs=True)]
    >>> len(pieces("cd x; ls")), len(pieces("(a; b) > c")), len(pieces("A=1; b"))
    (1, 1, 1)
    """
    found, at, joint = list[Joined](), 0, ""
    if TOGETHER.search(bare(command)):
        return [Joined(command, False)]
    while at < len(command):
        match = PIECE.match(command, at)
        if match is None or not match[1]:
            return [Joined(command, False)]
        found.append(Joined(match[1], joint == "&&"))
        at, joint = match.end(), match[2]
    return found


def plain(text: str) -> bool:
    """Whether a piece is a call of ragworthy and nothing else.

    >>> plain("ragworthy gate --gates 'a>=1'"), plain("ragworthy gate > x"), plain('ragworthy show "$A"')
    (True, False, False)
    """
    return text.startswith("ragworthy ") and not ACTIVE.search(bare(text))


def carried_out(command: str, here: Carried, shell: Carried) -> Ran:
    """The exit code and the output of a command line, as one shell would have them."""
    code, out = 0, ""
    for one in pieces(command):
        if one.needs and code:
            continue
        code, more = (here if plain(one.text) else shell)(one.text)
        out += more
    return code, out
