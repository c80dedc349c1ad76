"""Which slices a gold item belongs to: one for each value of the fields the policy splits by."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import msgspec

from ragworthy.errors import policy_error
from ragworthy.suites.request import Request

MOST_SLICES = 200


class Slice(str):
    """The questions whose gold item has a value in a field, as gates and reports write it: a text that knows its parts.

    >>> one = Slice.of("topic", "a=b")
    >>> one, one.field, one.value, one == "topic=a=b"
    ('topic=a=b', 'topic', 'a=b', True)
    """

    __slots__ = ()

    @classmethod
    def of(cls, field: str, value: str) -> "Slice":
        """The slice of a value in a field."""
        return cls(f"{field}={value}")

    @property
    def field(self) -> str:
        """The gold field."""
        return self.partition("=")[0]

    @property
    def value(self) -> str:
        """The value in it."""
        return self.partition("=")[2]


def fields_of(request: Request) -> tuple[str, ...]:
    """Every gold field that the numbers are split by: those asked for, and those that gates name."""
    gated = [Slice(gate.slice).field for gate in request.gates if gate.slice]
    return tuple(dict.fromkeys((*request.settings.slices, *gated)))


def slices_of(item: Mapping[str, Any], fields: Iterable[str]) -> tuple[Slice, ...]:
    """The slices of one gold item."""
    return tuple(Slice.of(field, text) for field in fields for text in values_of(item.get(field)))


def check_slices(request: Request, there: Iterable[str | None], free: Sequence[str] = ()) -> None:
    """Every field to split by must be one that gold items have, with not too many values.

    `free` are fields that a suite splits by itself: nobody asked for them, so nobody is told that there are too many.
    """
    where = str(request.policy or "")
    fields = [Slice(name).field for name in there if name is not None]
    known = {*free, *fields}
    asked = [(field, f"{request.suite}.slices") for field in request.settings.slices]
    asked += [(Slice(gate.slice).field, f"{gate.metric}: slice") for gate in request.gates if gate.slice]
    for field, at in asked:
        if field not in known:
            message = f'expected a field that gold items have, got "{field}"'
            raise policy_error("RW-P03", message, where=where, field=at)
    counted = sum(field not in free for field in fields)
    if counted > MOST_SLICES:
        message = f"expected at most {MOST_SLICES} slices, got {counted}: slice by a field with fewer values"
        raise policy_error("RW-P03", message, where=where, field=f"{request.suite}.slices")


def slicer(fields: tuple[str, ...]) -> Callable[[bytes], list[tuple[str, ...]]] | None:
    """A function from a block to the slices each of its gold items belongs to."""
    if not fields:
        return None
    names = [f"f{i}" for i in range(len(fields))]
    renamed = dict(zip(names, fields, strict=True))
    kind = msgspec.defstruct("Sliced", [(name, Any, None) for name in names], rename=renamed)
    decode = msgspec.json.Decoder(kind).decode_lines
    raw = msgspec.defstruct("Raw", [(name, msgspec.Raw, msgspec.Raw(b"null")) for name in names], rename=renamed)
    decode_raw = msgspec.json.Decoder(raw).decode_lines

    def slices(data: bytes) -> list[tuple[str, ...]]:
        return [
            tuple(f"{field}={value}" for name, field in renamed.items() for value in values_of(getattr(record, name)))
            for record in _records(data)
        ]

    def _records(data: bytes) -> list[Any]:
        try:
            return list(decode(data))
        except msgspec.DecodeError:  # a number out of range, which is then taken as it is written
            return [_written(record, names) for record in decode_raw(data)]

    return slices


def _written(record: Any, names: list[str]) -> Any:
    """A record whose fields are decoded one by one; those that cannot be are kept as texts."""
    values = {}
    for name in names:
        given = getattr(record, name)
        try:
            values[name] = msgspec.json.decode(given)
        except msgspec.DecodeError:
            values[name] = bytes(given).decode()
    return SimpleNamespace(**values)


def values_of(value: Any) -> list[str]:
    """The values of a gold field as texts; a list has several."""
    if value is None or isinstance(value, dict):
        return []
    if isinstance(value, list):
        return sorted({text for one in value for text in values_of(one)})
    if isinstance(value, bool):
        return ["true" if value else "false"]
    return [str(value)]
