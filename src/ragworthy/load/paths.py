"""Places in a JSON value: `choices.0.message.content`, `sources.*.id`, `output.[type=message].content`."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from ragworthy.text import clip

_KEYS = 12
"""So many keys are named of what is there."""
_STEP = re.compile(
    r"""\[(?P<where>[^\]="']+)=(?P<equal>[^\]]*)\]"""
    r"""|\[(?P<nth>-?[0-9]{1,9}|\*)\]"""
    r"""|\[?"(?P<double>[^"]*)"\]?|\[?'(?P<single>[^']*)'\]?"""
    r"""|(?P<name>[^.\[\]"'?]+)"""
)
_EXPECTED = "expected a path such as choices.0.message.content or sources.*.id"


class Step(NamedTuple):
    """One step: a key or the place in a list, every entry of a list, or those that have a value."""

    name: str
    each: bool = False
    equal: str | None = None
    """With a value, `name` is the key that has it in the entries that are meant."""
    quoted: bool = False


class Path(NamedTuple):
    """A path as it was written, and its steps."""

    text: str
    steps: tuple[Step, ...]
    optional: bool = False
    """Whether it may lead to nothing: written with a question mark at its end."""


class At(NamedTuple):
    """A value, and where it stands."""

    place: str
    value: Any


class Lost(Exception):
    """A path that leads to nothing; the text says how far it led and what is there."""

    def __init__(self, at: At, inside: bool) -> None:
        super().__init__(f"{at.place or 'the reply'} {_has(at.value)}")
        self.inside = inside
        """Whether other entries of the same list have it."""
        self.depth = at.place.count(".") + bool(at.place)


def parsed(text: str) -> Path:
    """A path as people write it; a ValueError says what is wrong with it.

    >>> [step.name for step in parsed('$.sources[0]."a.b"').steps], parsed("usage?").optional
    (['sources', '0', 'a.b'], True)
    """
    rest = text.strip()
    optional = rest.endswith("?")
    rest = rest.removesuffix("?")
    if rest == "$":
        return Path(text, (), optional)
    rest = rest.removeprefix("$").removeprefix(".") if rest.startswith(("$.", "$[")) else rest
    steps: list[Step] = []
    place = 0
    while place < len(rest):
        found = _STEP.match(rest, place)
        if found is None:
            raise ValueError(f"{_EXPECTED}, got one that cannot be read from {rest[place:]!r} on")
        steps.append(_step(found))
        place = found.end()
        if rest.startswith(".", place):
            place += 1
            if place == len(rest):
                raise ValueError(f"{_EXPECTED}, got one that ends with a dot")
        elif place < len(rest) and rest[place] != "[":
            raise ValueError(f"{_EXPECTED}, got one that cannot be read from {rest[place:]!r} on")
    if not steps:
        raise ValueError(f"{_EXPECTED}, got nothing")
    return Path(text, tuple(steps), optional)


def _step(found: re.Match[str]) -> Step:
    quoted = found["double"] if found["double"] is not None else found["single"]
    if quoted is not None:
        return Step(quoted, quoted=True)
    if found["where"] is not None:
        return Step(found["where"].strip(), equal=found["equal"].strip().strip("\"'"))
    name = found["nth"] or found["name"].strip()
    return Step(name, each=name == "*")


def find(value: Any, path: Path) -> list[At]:
    """What is at a path, in order; raises Lost where that is nothing, unless it may be.

    >>> find({"a": [{"b": 1}, {"b": 2}]}, parsed("a.*.b"))
    [At(place='a.0.b', value=1), At(place='a.1.b', value=2)]
    >>> find({"a": None}, parsed("a.*.b"))
    []
    """
    found = [At("", value)]
    many = False
    for step in path.steps:
        following: list[At] = []
        for one in found:
            try:
                following += _next(one, step, many)
            except Lost:
                if not path.optional:
                    raise
        found = following
        many = many or step.each or step.equal is not None
    return found


def _next(at: At, step: Step, many: bool) -> Iterator[At]:
    if step.each or step.equal is not None:
        if at.value is None:
            return
        if not isinstance(at.value, list):
            raise Lost(at, many)
        for nth, one in enumerate(at.value):
            if step.each or (isinstance(one, dict) and str(one.get(step.name)) == step.equal):
                yield At(_under(at.place, str(nth)), one)
        return
    if isinstance(at.value, dict) and step.name in at.value:
        yield At(_under(at.place, step.name), at.value[step.name])
        return
    index = _index(step)
    if isinstance(at.value, list) and index is not None and -len(at.value) <= index < len(at.value):
        yield At(_under(at.place, str(index % len(at.value))), at.value[index])
        return
    raise Lost(at, many)


def _index(step: Step) -> int | None:
    return int(step.name) if not step.quoted and re.fullmatch(r"-?[0-9]{1,9}", step.name, re.ASCII) else None


def _under(place: str, name: str) -> str:
    shown = f'"{name}"' if re.search(r"[.\[\]]", name) else name
    return f"{place}.{shown}" if place else shown


def _has(value: Any) -> str:
    """What is there instead.

    >>> _has({"index": 0, "delta": {}}), _has([1]), _has("x"), _has({})
    ('has delta, index', 'is a list of 1', 'is a text', 'has no keys')
    """
    if isinstance(value, dict):
        names = [clip(str(name), 40) for name in sorted(value, key=str)]
        more = f" and {len(names) - _KEYS} more" if len(names) > _KEYS else ""
        return f"has {', '.join(names[:_KEYS])}{more}" if names else "has no keys"
    if isinstance(value, list):
        return f"is a list of {len(value):,}" if value else "is an empty list"
    if isinstance(value, bool):
        return f"is {str(value).lower()}"
    return "is null" if value is None else "is a text" if isinstance(value, str) else "is a number"
