"""The file that holds a tuned threshold: what it was tuned on, with which knobs, and how well it did there."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragworthy.errors import DataError, PolicyError, data_error
from ragworthy.files import read_text
from ragworthy.load.checker import parse_toml
from ragworthy.pipeline.knobs import Knobs, read

SCHEMA = "ragworthy.pipeline/1"
NAME = "pipeline.toml"
MARK = b"# Written by 'ragworthy experiment tune'."
"""How a tuning file of ours begins."""
_FIXED = frozenset(("answerer", "threshold", "temperature", "reply_tokens", "timings"))
"""Knobs that a tuning file does not set: it is about the extractive answerer and asks no address."""


class _File(msgspec.Struct, frozen=True):
    schema: str
    threshold: float
    index_hash: str
    gold_sha256: str
    knobs: dict[str, Any]


class Tuning(NamedTuple):
    """A threshold and the knobs it was found with."""

    threshold: float
    knobs: Knobs
    index_hash: str


def tunable(given: Mapping[str, Any]) -> Knobs:
    """The knobs that a threshold is tuned with; a ValueError names the first that cannot be used."""
    if fixed := [name for name in given if name in _FIXED]:
        raise ValueError(f"expected no {fixed[0]} here, got one")
    return read(given)


def load(path: Path, index_hash: str) -> Tuning:
    """A tuning file for this index."""
    try:
        file = msgspec.convert(parse_toml(read_text(path), str(path), decimals=False), _File)
        if file.schema != SCHEMA:
            raise _error(path, f'expected "{SCHEMA}", got "{file.schema}"', "schema")
        if not 0 <= file.threshold <= 1:
            raise _error(path, f"expected a number from 0 to 1, got {file.threshold:g}", "threshold")
        knobs = tunable(file.knobs)
    except PolicyError as error:
        raise _error(path, error.problems[0].message) from None
    except msgspec.ValidationError as error:
        reason, _, place = str(error).replace("`", "").partition(" - at ")
        raise _error(path, reason[:1].lower() + reason[1:], place.removeprefix("$.")) from None
    except ValueError as error:
        raise _error(path, str(error), "knobs") from None
    if file.index_hash != index_hash:
        message = f"expected a threshold tuned on the index {index_hash}, got one tuned on {file.index_hash}"
        raise data_error("RW-N02", message, where=str(path))
    return Tuning(file.threshold, knobs, file.index_hash)


def _error(path: Path, message: str, field: str = "") -> DataError:
    return data_error("RW-N01", message, where=str(path), field=field)


def dump(threshold: float, knobs: Knobs, origin: dict[str, Any], tables: dict[str, Any]) -> bytes:
    """The bytes of a tuning file: the threshold, where it comes from, its knobs, then whatever was measured."""
    chosen = {name: value for name, value in knobs._asdict().items() if name not in _FIXED and value is not None}
    lines = [f"{MARK.decode()} The questions it was tuned on must not be scored."]
    top = {"schema": SCHEMA, "threshold": threshold, **origin}
    lines += [f"{name} = {_value(value)}" for name, value in top.items()]
    for title, table in {"knobs": chosen, **tables}.items():
        lines += ["", f"[{title}]", *(f"{name} = {_value(value)}" for name, value in table.items())]
    return ("\n".join(lines) + "\n").encode()


def _value(value: Any) -> str:
    if isinstance(value, list):
        return "[\n" + "".join(f"  {_value(item)},\n" for item in value) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {_value(item)}" for name, item in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)
