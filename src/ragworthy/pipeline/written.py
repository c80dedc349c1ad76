"""What a chat model wrote, read: its thoughts left out, the JSON found, numbers mapped back to the passages' ids."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from ragworthy.names import REFUSAL
from ragworthy.records import Chunk
from ragworthy.text import clip, squeeze, trim_fold
from ragworthy.threaded import threaded

_THOUGHT = re.compile(r"<(think|thinking|thought)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_THOUGHT_END = re.compile(r".*</(?:think|thinking|thought)>", re.DOTALL | re.IGNORECASE)
"""Some servers leave the opening tag out."""
_NUMBERS = re.compile(
    r"[\s\[(#]*(?:passages?|chunks?|sources?|context|documents?)?[\s\[(#:]*(?P<numbers>\d+(?:[\s,;&\]\[()]+\d+)*)[\s\]).:]*",
    re.IGNORECASE,
)
"""A number as models cite: 1, [1], (1), 1., #1, passage 1, [1, 2]."""
_ECHO = re.compile(r"^[\s\"']*(?:the )?claim(?: is)?\b[\s:]*")
"""What small models write before the refusal, for they were told what the claim is."""
_TITLED = re.compile(r"\[(?P<name>[^\]]+)\].*", re.DOTALL)
"""A name in brackets with what stood behind it: [1] Locks."""
_MARKER = re.compile(r"(?:(?<=\s)|(?<=[.!?])|^)\[(?P<numbers>\d{1,4}(?:\s*,\s*\d{1,4})*)\]")
"""A citation inside a claim; one that touches a word, as in a[1], is code."""


class Answer(NamedTuple):
    """What a model answered: the claim, and the ids of the passages that it cites."""

    claim: str
    citations: list[str]
    fault: str = ""
    """What a second try should fix, where the answer can be used all the same."""


@threaded
class _Given(msgspec.Struct, frozen=True):
    claim: str
    citations: list[str | int] | str | int | None = None


def thoughtless(text: str) -> str:
    """What a model wrote without the thoughts that a reasoning model puts before it.

    >>> thoughtless("<think>Is it red?</think> {}"), thoughtless("red, then?</think>{}"), thoughtless("<think>It")
    ('{}', '{}', '')
    """
    return _THOUGHT_END.sub("", _THOUGHT.sub("", text)).strip()


def read(text: str, context: Sequence[Chunk]) -> Answer | str:
    """The answer in what a model wrote, or what is wrong with it.

    >>> passages = [Chunk(chunk_id="a#1", text="It is 4."), Chunk(chunk_id="a#2", text="It is not 5.")]
    >>> read('{"claim": "It is 4. [1]", "citations": ["[1]", 2]}', passages)
    Answer(claim='It is 4.', citations=['a#1', 'a#2'], fault='')
    >>> read('{"claim": "It is 4.", "citations": ["7"]}', passages)
    'expected citations from 1 to 2, got "7"'
    >>> read('{"claim": "Not in context.", "citations": ["1"]}', passages)
    Answer(claim='not in context', citations=[], fault='')
    """
    given = _decoded(text)
    if isinstance(given, str):
        return given
    claim, marked = _unmarked(squeeze(given.claim), context)
    if _ECHO.sub("", trim_fold(claim)).strip(" .\"'") == REFUSAL:
        return Answer(REFUSAL, [])
    if not claim:
        return "expected a claim, got an empty one"
    names: dict[str, None] = {}
    for one in _listed(given.citations) or marked:
        found = _cited(one, context)
        if found is None:
            return f'expected citations from 1 to {len(context)}, got "{clip(str(one), 80)}"'
        names |= dict.fromkeys(found)
    return Answer(claim, list(names), "" if names else "expected at least one citation, got none")


def _decoded(text: str) -> _Given | str:
    """The object in a text: all of it, or what is in a code fence or between other words."""
    plain = thoughtless(text)
    reason = ""
    for piece in _pieces(plain):
        try:
            return msgspec.json.decode(piece.encode("utf-8", "replace"), type=_Given)
        except (msgspec.MsgspecError, RecursionError) as error:
            reason = reason or str(error).replace("`", "").removeprefix("JSON is malformed: ")
    return f"expected JSON with claim and citations, got: {clip(reason, 120) if plain else 'nothing'}"


def _pieces(text: str) -> Iterator[str]:
    yield text
    begin, end = text.find("{"), text.rfind("}")
    if 0 <= begin < end and (begin, end) != (0, len(text) - 1):
        yield text[begin : end + 1]


def _listed(citations: Any) -> list[str | int]:
    if citations is None:
        return []
    return [one for one in citations if one != ""] if isinstance(citations, list) else [citations]


def _cited(one: str | int, context: Sequence[Chunk]) -> list[str] | None:
    """The ids that a citation means: by number, or by an id of the context; None where it means none of them."""
    names = [chunk.name for chunk in context]
    text = str(one).strip()
    titled = _TITLED.fullmatch(text)
    for written in (text, titled["name"].strip() if titled else ""):
        numbers = _NUMBERS.fullmatch(written)
        places = [int(number) for number in re.findall(r"\d{1,9}", numbers["numbers"])] if numbers else []
        if places and all(1 <= place <= len(names) for place in places):
            return [names[place - 1] for place in places]
        if written in names:
            return [written]
    return None


def _unmarked(claim: str, context: Sequence[Chunk]) -> tuple[str, list[str | int]]:
    """A claim without the citations inside it, and these; what the context itself writes so stays."""
    marked: list[str | int] = []

    def taken(found: re.Match[str]) -> str:
        places = [int(number) for number in found["numbers"].split(",")]
        if any(place > len(context) or place < 1 for place in places) or any(found[0] in one.text for one in context):
            return found[0]
        marked.extend(places)
        return ""

    left = _MARKER.sub(taken, claim)
    return (squeeze(re.sub(r"\s+([.,;!?])", r"\1", left)) if marked else claim), marked
