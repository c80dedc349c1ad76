"""How help looks: what a command is for, its usage in one line, its flags in groups. Standard library only.

The layout is made here and not by argparse, which lays help out differently from one Python to the next. `--help` and
docs/cli.md print the same lines.
"""

import argparse
from collections.abc import Iterable, Iterator
from typing import Any

WIDEST = 100
NARROWEST = 60
COLUMN, NARROW = 30, 14
"""Flags have so many characters, and commands; what they do begins behind them."""
FEW = 9
"""Up to so many flags stay in one list: headings would be longer than what is below them."""

WHAT = """\
Ragworthy decides whether a RAG pipeline may ship. It scores recorded answers and retrievals against a gold set, \
checks the scores against the gates of a policy, and gives one verdict, an exit code and a receipt that anyone can \
check.
"""
BEGIN = (
    ("ragworthy demo", "a release that ships, a defect that is caught; ten seconds"),
    ("ragworthy init", "a policy for your files, or an example to start from"),
)
"""The two commands to begin with."""
MORE = "ragworthy help lists them with what they do, ragworthy help COMMAND their flags, ragworthy explain WORD a term."

COMMANDS: dict[str, tuple[str, ...]] = {
    "start": ("init", "demo", "doctor", "explain", "import", "export"),
    "judge": ("gate", "score", "merge", "verify", "sign", "receipt"),
    "look": ("show", "report", "compare", "history", "view"),
    "measure": ("run", "experiment", "retrieve"),
    "indexes": ("index",),
    "gold": ("gold",),
    "live": ("mirror", "rollout", "monitor"),
}
"""The commands in the order in which a project needs them. What is in no group is listed last."""
OTHER = "other"

SECTIONS: dict[str, tuple[str, ...]] = {
    "inputs": (
        "config", "gold", "trace", "runs", "questions", "outputs", "provenance", "pairs", "corpus", "target", "index",
        "docs", "reference", "qrels", "run", "live", "live-run", "live-corpus", "shadow", "shadow-corpus", "gold-live",
        "live-build", "shadow-build", "corpus-a", "corpus-b", "redirects", "definition", "subset", "prompt", "prices",
        "scholar", "auditor", "raters", "operators", "audit", "suite", "queries", "lock", "inputs", "cited", "old",
        "new", "rule-pack", "topics", "log", "live-log", "canary-log", "report", "ledger", "alerts",
    ),
    "asking": (
        "concurrency", "timeout", "retries", "header", "map", "knob", "knobs", "answerer", "limit", "pipeline",
        "doc-id", "marker", "check", "qid", "resume", "retry-errors", "keep-going", "seeds", "jitters", "paraphrases",
        "loads", "requests", "warmup", "poisson", "share", "rate", "budget", "spend", "price", "mode", "fusion",
        "knee", "until",
    ),
    "settings": (),
    "gates": (
        "gates", "pack", "no-default-gates", "profile", "evidence", "alpha", "cluster", "selftest", "canary",
        "unfrozen", "allow-gold-errors", "max-uncited", "shares", "hold", "p95-ms", "error-rate", "expect",
    ),
    "comparison": ("baseline", "against-live", "max-drop", "allow"),
    "output": (
        "output", "out", "format", "full", "all", "item", "rows", "receipt", "bundle", "sign", "plot", "tsv",
        "pairs-out", "gold-out", "trace-out", "chunks-out", "dry-run", "strict",
        "engine", "master", "jobs", "shard", "quiet", "no-color",
    ),
    "history": ("store", "no-history", "commit"),
    "plugins": ("plugin",),
}  # fmt: skip
"""The groups of flags, in the order of the help. A flag that is named nowhere is a setting."""
_SECTION = {flag: title for title, flags in SECTIONS.items() for flag in flags}


def width() -> int:
    """How wide help is: the terminal, within reason."""
    import shutil  # here, as `_wrap` imports below: a command that prints no help has no use for it

    return max(NARROWEST, min(WIDEST, shutil.get_terminal_size().columns))


def groups_of(one: argparse.ArgumentParser) -> Iterator["argparse._SubParsersAction[argparse.ArgumentParser]"]:
    """The subcommands of a parser, where it has any."""
    for action in one._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield action


def overview(top: argparse.ArgumentParser, columns: int) -> str:
    """What Ragworthy is, its commands, and where to begin: what somebody sees who types `ragworthy` alone."""
    column = max(len(name) for name, _ in BEGIN) + 4
    lines = [*_wrap(WHAT, columns), "", "begin with:"]
    lines += [f"{f'  {name}':<{column}}{about}" for name, about in BEGIN]
    lines += ["", "commands:"]
    for group in groups_of(top):
        for title, names in grouped(group.choices):
            lines += _row(title, ", ".join(names), columns, column)
    return "\n".join([*lines, "", *_wrap(MORE, columns)]) + "\n"


def page(one: argparse.ArgumentParser, columns: int) -> str:
    """The help of one command."""
    lines = [*_wrap(one.description or "", columns), "", *block(one, columns)]
    for group in groups_of(one):
        lines += ["", *listed(group, columns)]
    if one.epilog:
        lines += ["", *_wrap(one.epilog, columns)]
    return "\n".join(lines) + "\n"


def block(one: argparse.ArgumentParser, columns: int) -> list[str]:
    """Usage, then the arguments and flags in groups."""
    lines = usage(one, columns)
    for title, actions in sections(one):
        lines += ["", f"{title}:"]
        for action in actions:
            lines += _row(_name(action), _about(action), columns)
    return lines


def usage(one: argparse.ArgumentParser, columns: int) -> list[str]:
    """The command line with what it cannot do without."""
    shown = _shown(one)
    words = [one.prog]
    if any(action.option_strings and not action.required for action in shown):
        words.append("[options]")
    words += [f"{action.option_strings[-1]} {_value(action)}" for action in shown if _needed(action)]
    words += [_positional(action) for action in shown if not action.option_strings]
    words += [f"{group.metavar} …" for group in groups_of(one)]
    return _wrap(f"usage: {' '.join(words)}", columns, subsequent_indent="       ", break_on_hyphens=False)


def sections(one: argparse.ArgumentParser) -> Iterator[tuple[str, list[argparse.Action]]]:
    """The arguments, then the flags: a few in one list, many in groups."""
    shown = _shown(one)
    if arguments := [action for action in shown if not action.option_strings]:
        yield "arguments", arguments
    flags = [action for action in shown if action.option_strings]
    own = [action for action in flags if action.dest not in ("help", "version")]
    if len(own) <= FEW:
        yield "options", flags
        return
    for title in SECTIONS:
        if those := [action for action in own if section_of(action) == title]:
            yield title, those
    yield OTHER, [action for action in flags if action not in own]


def section_of(action: argparse.Action) -> str:
    """The group of a flag."""
    return _SECTION.get(action.option_strings[-1].lstrip("-"), "settings")


def listed(group: "argparse._SubParsersAction[argparse.ArgumentParser]", columns: int) -> list[str]:
    """The subcommands with what they do; the commands of the program itself are in groups."""
    about = {action.dest: action.help or "" for action in group._choices_actions}
    own = [("commands" if group.dest == "verb" else f"{str(group.metavar).lower()}s", list(group.choices))]
    lines: list[str] = []
    for title, names in grouped(group.choices) if group.dest == "command" else own:
        lines += [f"{title}:", *(line for name in names for line in _row(name, about.get(name, ""), columns, NARROW))]
    return lines


def grouped(names: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """The commands by group, in the order of the groups.

    >>> list(grouped(["gate", "poetry", "demo"]))
    [('start', ['demo']), ('judge', ['gate']), ('other', ['poetry'])]
    """
    left = list(names)
    for title, those in COMMANDS.items():
        if there := [name for name in those if name in left]:
            yield title, there
        left = [name for name in left if name not in those]
    if left:
        yield OTHER, left


def _shown(one: argparse.ArgumentParser) -> list[argparse.Action]:
    """What is not a secret, subcommands apart."""
    return [
        action
        for action in one._actions
        if action.help != argparse.SUPPRESS and not isinstance(action, argparse._SubParsersAction)
    ]


def _row(name: str, about: str, columns: int, behind: int = COLUMN) -> list[str]:
    """A flag or a command, and what it does behind it or, where its name is long, below it."""
    wrapped = _wrap(about, columns - behind, break_on_hyphens=False) or [""]
    head = f"  {name}"
    lines = [] if len(head) + 2 <= behind else [head]
    first = f"{'' if lines else head:<{behind}}{wrapped[0]}".rstrip()
    return [*lines, *([first] if first else []), *[" " * behind + more for more in wrapped[1:]]]


def _wrap(text: str, columns: int, **how: Any) -> list[str]:
    import textwrap

    return textwrap.wrap(text, columns, **how)


def _needed(action: argparse.Action) -> bool:
    return bool(action.option_strings) and action.required


def _value(action: argparse.Action) -> str:
    if action.nargs == 0:
        return ""
    if action.metavar is None and action.choices is not None:
        return "|".join(str(choice) for choice in action.choices)
    name = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    return f"{name} …" if action.nargs == "+" else name


def _positional(action: argparse.Action) -> str:
    return {"?": f"[{_value(action)}]", "*": f"[{_value(action)} …]"}.get(str(action.nargs), _value(action))


def _name(action: argparse.Action) -> str:
    if not action.option_strings:
        return _value(action)
    return f"{', '.join(action.option_strings)} {_value(action)}".rstrip()


def _about(action: argparse.Action) -> str:
    about = "this text" if action.dest == "help" else " ".join((action.help or "").split()).replace("%%", "%")
    return f"{about} (required)" if _needed(action) else about
