"""JSON as it is written: numbers keep their text, objects may have a key twice."""

import json
from collections.abc import Iterator
from typing import Any

Path = list[str | int]


class Raw(str):
    """A piece of JSON text that stands for itself: `1e999999999`, `NaN`, `[[[[`."""

    __slots__ = ()


class Pairs(list[list[Any]]):
    """An object as a list of [key, value]."""


_DECODER = json.JSONDecoder(
    object_pairs_hook=lambda pairs: Pairs([list(pair) for pair in pairs]),
    parse_float=Raw,
    parse_int=Raw,
    parse_constant=Raw,
)


def parse(text: str) -> Any:
    """The value that a text holds; ValueError or RecursionError when it is not JSON."""
    return _DECODER.decode(text)


def dump(value: Any, *, plain: bool = False) -> str:
    """A value as compact JSON; `plain` escapes everything beyond ASCII."""
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, Pairs):
        members = (f"{json.dumps(key, ensure_ascii=plain)}:{dump(inner, plain=plain)}" for key, inner in value)
        return f"{{{','.join(members)}}}"
    if isinstance(value, list):
        return f"[{','.join(dump(inner, plain=plain) for inner in value)}]"
    return json.dumps(value, ensure_ascii=plain)


def places(value: Any, here: Path | None = None) -> Iterator[Path]:
    """The path of every value inside; of two members with one key, the path means the first."""
    here = here or []
    if isinstance(value, Pairs):
        for key, inner in value:
            yield [*here, key]
            yield from places(inner, [*here, key])
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield [*here, at]
            yield from places(inner, [*here, at])


def _slot(holder: Any, key: str | int) -> int | None:
    """Where in its container a key is; None when it is not there."""
    if isinstance(holder, Pairs):
        return next((at for at, pair in enumerate(holder) if pair[0] == key), None)
    if isinstance(holder, list) and isinstance(key, int) and 0 <= key < len(holder):
        return key
    return None


def at(value: Any, path: Path) -> Any:
    """The value at a path, or None."""
    for key in path:
        slot = _slot(value, key)
        if slot is None:
            return None
        value = value[slot][1] if isinstance(value, Pairs) else value[slot]
    return value


def change(value: Any, path: Path, act: str, new: str) -> Any:
    """The tree with one place changed: `set`, `drop`, `twice`, `rename` or `add`; a path that leads nowhere is left.

    >>> dump(change(parse('{"a": [1, 2]}'), ["a", 1], "set", "1e999"))
    '{"a":[1,1e999]}'
    >>> dump(change(parse('{"a": 1}'), ["a"], "twice", "2"))
    '{"a":1,"a":2}'
    """
    if not path:
        return Raw(new) if act == "set" else value
    holder = at(value, path[:-1])
    if act == "add":
        if isinstance(holder, Pairs):
            holder.append([path[-1], Raw(new)])
        return value
    slot = _slot(holder, path[-1])
    if slot is None:
        return value
    member = isinstance(holder, Pairs)
    if act == "drop":
        del holder[slot]
    elif act == "twice":
        holder.insert(slot + 1, [path[-1], Raw(new)] if member else holder[slot])
    elif act == "rename" and member:
        holder[slot][0] = new
    elif act == "set":
        if member:
            holder[slot][1] = Raw(new)
        else:
            holder[slot] = Raw(new)
    return value
