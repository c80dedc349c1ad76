"""Jitters: small changes to a question that a steady pipeline does not mind. Pure functions, each with a version.

Code between back quotes and addresses of web pages are never changed. Where nothing can be changed safely, a jitter
gives the text back as it is; whoever asks compares.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from ragworthy.errors import usage_error
from ragworthy.ids import config_id
from ragworthy.records import Run
from ragworthy.text import has_cjk

PLAIN = "none"
"""The name for the question as it stands."""

_KEPT = re.compile(r"(`[^`]*`|\S*://\S*\s*|\bwww\.\S+\s*)")
"""What is left alone: code, and addresses with the blank that ends them."""
_COMMA = re.compile(r"\s*,(?!\d)\s*")
_COLON = re.compile(r"(?<=\w)\s+:(?=\s|$)\s*")
_BLANKS = re.compile(r"\s{2,}")
_ASKS = re.compile(r"(?<=[^\s?])(?=\?+(?:\s|$))")
"""The place before the question marks at the end of a word."""
_DASHES = str.maketrans("\u2013\u2014", "--")
_ENDS = frozenset(".!?;:\u037e\u0589\u061f\u0964\u2026\u3002\uff01\uff0e\uff1a\uff1b\uff1f")
"""Signs that end a sentence, in several scripts."""
_CLOSERS = re.compile("[\\s\"'`)\\]}\u00bb\u2019\u201d\u300d\u300f\uff09]+$")
_VERBS = {"explain": "describe", "list": "enumerate", "compare": "contrast", "show": "display"}
_LEADING = re.compile(rf"\s*({'|'.join(_VERBS)})(?=\s)", re.IGNORECASE)
_CITED, _SHORT = r"with\s+citations", r"in\s+one\s+sentence"
_CLAUSES = re.compile(
    rf"(.*?\b)(?:({_CITED})(\W+(?:and\s+)?)({_SHORT})|({_SHORT})(\W+(?:and\s+)?)({_CITED}))(\W*)",
    re.IGNORECASE | re.DOTALL,
)


class Jitter(NamedTuple):
    """A named change; the version moves whenever its result for some text does."""

    name: str
    version: str
    change: Callable[[str], str]
    description: str

    @property
    def id(self) -> str:
        """Name and version, as records keep it."""
        return f"{self.name}@{self.version}"


def _outside(text: str, change: Callable[[str], str]) -> str:
    """The text with everything changed that is neither code nor an address."""
    pieces = _KEPT.split(text)
    pieces[::2] = map(change, pieces[::2])
    return "".join(pieces)


def _none(text: str) -> str:
    return text


def _ws(text: str) -> str:
    def tidy(piece: str) -> str:
        return _BLANKS.sub(" ", _COLON.sub(": ", _COMMA.sub(", ", piece)))

    return _outside(text, tidy).strip() or text


def _punct(text: str) -> str:
    def loosen(piece: str) -> str:
        return _ASKS.sub(" ", piece.translate(_DASHES))

    changed = _outside(text, loosen)
    core = _CLOSERS.sub("", changed)
    if not core or core[-1] in _ENDS:
        return changed
    return changed.rstrip() + ("\uff1f" if has_cjk(core[0] + core[-1]) else " ?")


def _syn(text: str) -> str:
    found = _LEADING.match(text)
    if found is None:
        return text
    verb = found[1]
    other = _VERBS[verb.lower()]
    if verb.isupper():
        other = other.upper()
    elif verb[0].isupper():
        other = other.capitalize()
    return text[: found.start(1)] + other + text[found.end(1) :]


def _order(text: str) -> str:
    found = _CLAUSES.fullmatch(text)
    if found is None:
        return text
    first, between, second = found.group(2, 3, 4) if found[2] else found.group(5, 6, 7)
    return "".join((found[1], second, between, first, found[8]))


JITTERS: dict[str, Jitter] = {
    one.name: one
    for one in (
        Jitter(PLAIN, "1", _none, "the question as it stands"),
        Jitter("ws", "1", _ws, "tidies the spaces around commas and colons, but not within numbers"),
        Jitter("punct", "1", _punct, "sets question marks off, adds one where no end sign stands, plain dashes"),
        Jitter("syn", "1", _syn, "another verb at the start: explain/describe, list/enumerate, compare/contrast …"),
        Jitter("order", "1", _order, 'swaps "with citations" and "in one sentence" at the end'),
    )
}
VERSION_IDS: dict[str, str] = {name: one.id for name, one in JITTERS.items()}


def apply(name: str, text: str) -> str:
    """The text after a jitter.

    >>> apply("ws", "Does A ,B cost 1,000 at 12:30 ?"), apply("syn", "List all keys")
    ('Does A, B cost 1,000 at 12:30 ?', 'Enumerate all keys')
    """
    if name not in JITTERS:
        raise usage_error(f'expected one of the jitters {", ".join(JITTERS)}, got "{name}"')
    return JITTERS[name].change(text)


class Variation(NamedTuple):
    """In which way a question was asked."""

    seed: int | None
    jitter: str
    paraphrase: int
    config: str


def varied(run: Run) -> Variation:
    """In which way a run asked its question."""
    knobs = config_id(run.knobs) if isinstance(run.knobs, dict) and run.knobs else run.knobs or ""
    return Variation(run.seed, run.jitter or PLAIN, run.paraphrase or 0, run.config_id or str(knobs))


def run_id(run: Run) -> str:
    """The id of a run; where it has none, what was varied.

    >>> run_id(Run(qid="q", seed=2, jitter="ws")), run_id(Run(qid="q", paraphrase=1, config_id="ab"))
    ('q#seed=2;j=ws', 'q#seed=-;j=none;p=1;c=ab')
    """
    return run.run_id or id_of(run.name, varied(run))


def id_of(qid: str, how: Variation) -> str:
    """The id of a run of a question that has none of its own."""
    text = f"{qid}#seed={'-' if how.seed is None else how.seed};j={how.jitter}"
    text += f";p={how.paraphrase}" if how.paraphrase else ""
    return f"{text};c={how.config}" if how.config else text
