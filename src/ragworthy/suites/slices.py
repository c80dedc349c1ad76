"""Which slices a gold item belongs to: one for each value of the fields the policy splits by."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import msgspec


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
