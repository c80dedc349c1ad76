"""Values of Python as JSON has them.

What pipelines and notebooks hand over is rarely made of plain dicts and lists: texts of LangChain are subclasses of
`str`, scores are NumPy scalars, records are dataclasses or models. Everything that comes from Python goes through
`plain`, and what it refuses is named by its field. No library is imported for it: values are known by what they have.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from itertools import chain
from typing import Any, NamedTuple

from ragworthy.text import clip, sound, visible

_LEAVES = frozenset((str, int, float, bool, type(None)))
_PLAIN = _LEAVES | {dict, list}
_DEEP = 100
"""What has more levels is looked at one by one: it may be a circle."""
_WANTED = "expected what JSON can hold"


class _Framework(NamedTuple):
    """An object of a framework that is where an id or a text is wanted."""

    has: tuple[str, ...]
    called: str
    """Its class; any where it is empty."""
    write: str


_FRAMEWORKS = (
    _Framework(("page_content", "metadata"), "", "its id, or its text (page_content)"),
    _Framework(("content", "meta"), "Document", "its id, or its text (content)"),
    _Framework(("node", "score"), "NodeWithScore", "its id (node_id), or its text"),
    _Framework(("node_id", "metadata"), "", "its id (node_id), or its text"),
    _Framework(("response", "source_nodes"), "", "its text, str(response), and ids of source_nodes"),
    _Framework(("data", "query", "documents"), "", "its text (data), and the ids of its documents"),
    _Framework(("content", "response_metadata"), "", "its text (content)"),
)


class Refused(Exception):
    """A value that JSON cannot hold: the field where it stands, and what is wrong with it."""

    def __init__(self, reason: str, place: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.place = place

    def inside(self, step: str) -> "Refused":
        """The same, seen from one level further out."""
        return Refused(self.reason, f"{step}{self.place}")

    @property
    def field(self) -> str:
        """Where it stands, as a message names it."""
        return self.place.removeprefix(".")

    def __str__(self) -> str:
        return f"{self.field}: {self.reason}" if self.place else self.reason


def is_plain(values: Sequence[Any]) -> bool:
    """Whether values are made of what JSON has and of nothing else; keys are not looked at.

    They are looked at level by level and not one by one: there may be a million of them.

    >>> is_plain([{"a": [1, {"b": None}]}]), is_plain([{"a": 1}, {"a": (1, 2)}])
    (True, False)
    """
    for _ in range(_DEEP):
        kinds = set(map(type, values))
        if not kinds <= _PLAIN:
            return False
        inner: list[Any] = []
        if dict in kinds:
            inner += chain.from_iterable(map(dict.values, [one for one in values if type(one) is dict]))
        if list in kinds:
            inner += chain.from_iterable([one for one in values if type(one) is list])
        if not inner:
            return True
        values = inner
    return False


def plain(value: Any) -> Any:
    """A value as JSON has it; raises Refused where it has no such form.

    >>> from typing import NamedTuple
    >>> class Hit(NamedTuple):
    ...     id: str
    ...     score: float
    >>> plain({"topk": (Hit("a", 0.5),)})
    {'topk': [{'id': 'a', 'score': 0.5}]}
    >>> plain({"ids": ["a", {"b"}]})
    Traceback (most recent call last):
    ragworthy.load.values.Refused: ids[1]: expected a list, got a set, which has no order
    """
    kind = type(value)
    if kind in _LEAVES:
        return value
    if kind is dict:
        return _object(value.items())
    if kind is list:
        return _list(value)
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__index__(value)
    if isinstance(value, float):
        return float.__float__(value)
    return _made(value)


def _made(value: Any) -> Any:
    """What is put together of other values."""
    kind = type(value)
    if isinstance(value, (set, frozenset)):
        raise Refused(f"expected a list, got {a(kind.__name__)}, which has no order")
    _check_frameworks(value)
    names = _fields(value)
    if names is not None:
        return _object((shown, getattr(value, name)) for name, shown in names.items())
    if isinstance(value, Mapping):
        return _object(value.items())
    if isinstance(value, (list, tuple)):
        return _list(value)
    if callable(getattr(value, "model_dump", None)):  # pydantic
        return plain(value.model_dump())
    if callable(getattr(value, "tolist", None)):  # NumPy, and what follows it
        return plain(value.tolist())
    return _leaf(value)


def _fields(value: Any) -> dict[str, str] | None:
    """The attributes of a record with the names that JSON gives them; None for what is not a record."""
    kind: Any = type(value)
    if isinstance(value, tuple):
        return {name: name for name in kind._fields} if hasattr(kind, "_fields") else None
    if hasattr(kind, "__struct_fields__"):  # msgspec
        return dict(zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True))
    if hasattr(kind, "__dataclass_fields__"):
        from dataclasses import fields

        return {field.name: field.name for field in fields(value)}
    return None


def _check_frameworks(value: Any) -> None:
    name = type(value).__name__
    for one in _FRAMEWORKS:
        if one.called in ("", name) and all(hasattr(value, part) for part in one.has):
            raise Refused(f"{_WANTED}, got {a(name)}: write {one.write}")


def _leaf(value: Any) -> Any:
    """Times, decimals, UUIDs and the like, as texts; the missing values of pandas."""
    import msgspec

    name = type(value).__name__
    if name in ("NAType", "NaTType") or value is msgspec.UNSET:
        return None
    try:
        return msgspec.to_builtins(value)
    except TypeError:
        if callable(getattr(value, "isoformat", None)):  # times of pandas
            return plain(value.isoformat())
        raise Refused(f"{_WANTED}, got {a(name)}") from None


def _object(items: Iterable[tuple[Any, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in items:
        name = key if type(key) is str else _key(key)
        try:
            made[name] = plain(value)
        except Refused as refused:
            raise refused.inside(f".{clip(name, 80)}") from None
    return made


def _key(key: Any) -> str:
    name = plain(key)
    if type(name) not in (str, int):
        raise Refused(f"expected keys that are texts, got {a(type(key).__name__)}")
    return str(name)


def _list(values: Iterable[Any]) -> list[Any]:
    made: list[Any] = []
    for n, value in enumerate(values):
        try:
            made.append(plain(value))
        except Refused as refused:
            raise refused.inside(f"[{n}]") from None
    return made


def a(name: str) -> str:
    """The name of a type with its article.

    >>> a("Document"), a("AIMessage")
    ('a Document', 'an AIMessage')
    """
    return f"{'an' if name[:1].lower() in ('a', 'e', 'i', 'o', 'u') else 'a'} {clip(visible(name), 80)}"


def taken_apart(given: str) -> str:
    """What is wrong with a text where a list of texts belongs: Python would take it apart into its letters.

    >>> taken_apart("I don't know.")
    'expected a list of texts, got a text: write ["I don\\'t know."]'
    """
    return f'expected a list of texts, got a text: write ["{clip(visible(given), 60)}"]'


def endless(value: Any, place: str = "") -> str:
    """The first number in a plain value that JSON cannot hold: infinity, or none at all.

    >>> endless({"a": [1, {"b": math.inf}]})
    'a[1].b: expected a finite number, got inf'
    """
    if isinstance(value, float) and not math.isfinite(value):
        return f"{clip(place, 80)}: expected a finite number, got {value}"
    inside: Iterable[tuple[str, Any]] = ()
    if isinstance(value, dict):
        inside = ((f"{place}.{name}" if place else str(name), one) for name, one in value.items())
    elif isinstance(value, list):
        inside = ((f"{place}[{n}]", one) for n, one in enumerate(value))
    return next((found for name, one in inside if (found := endless(one, name))), "")


def outline(value: Any, limit: int = 400) -> str:
    """The beginning of a value as a person reads it, without running code of the value: what is not plain is named.

    >>> outline({"answer": "X", "docs": [object(), 4]})
    '{"answer": "X", "docs": [<object>, 4]}'
    """
    pieces: list[str] = []
    _outlined(value, pieces, limit)
    return sound(clip("".join(pieces), limit))


def _outlined(value: Any, pieces: list[str], limit: int, depth: int = 0) -> None:
    kind = type(value)
    if kind is dict and depth < _DEEPEST:
        _sequence([(f"{_word(key)}: ", one) for key, one in _first(value.items())], "{}", pieces, limit, depth)
    elif kind in (list, tuple) and depth < _DEEPEST:
        _sequence([("", one) for one in _first(value)], "[]", pieces, limit, depth)
    elif isinstance(value, str):
        pieces.append(_word(value[:limit]))
    elif value is None or kind is bool:
        pieces.append({None: "null", True: "true", False: "false"}[value])
    else:
        pieces.append(str(value)[:60] if kind in (int, float) else f"<{kind.__name__}>")


_DEEPEST = 6
_MOST = 100


def _first(values: Iterable[Any]) -> list[Any]:
    return [one for _, one in zip(range(_MOST), values, strict=False)]


def _sequence(inner: list[tuple[str, Any]], marks: str, pieces: list[str], limit: int, depth: int) -> None:
    pieces.append(marks[0])
    for n, (name, one) in enumerate(inner):
        if sum(map(len, pieces)) > limit:
            break
        pieces.append(f"{', ' if n else ''}{name}")
        _outlined(one, pieces, limit, depth + 1)
    pieces.append(marks[1])


def _word(text: Any) -> str:
    return f'"{str.__str__(text)}"' if isinstance(text, str) else str(text)[:60] if type(text) is int else "…"
