"""The configurations that an experiment compares: sets of knobs from a TOML file."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import msgspec

from ragworthy.errors import usage_error
from ragworthy.ids import config_id
from ragworthy.runner import run as running


def configurations(file: Path | None, pairs: Sequence[str]) -> list[dict[str, Any]]:
    """The sets of knobs of a TOML file, each with the knobs given one by one on top.

    A file has [knobs] for all and [[config]] tables or a [grid] of lists; any other file is one set of knobs.
    """
    table = running.knobs_of(file, ())
    extra = running.knobs_of(None, pairs)
    if not {"config", "grid"} & table.keys() and not isinstance(table.get("knobs"), dict):
        return [table | extra]
    where = f"{file}: "
    others = [name for name in table if name not in ("knobs", "config", "grid")]
    if others:
        raise usage_error(f"{where}{others[0]}: expected [knobs], [grid] or [[config]], got another key")
    if {"config", "grid"} <= table.keys():
        raise usage_error(f"{where}expected [grid] or [[config]], got both")
    base = table.get("knobs", {})
    if not isinstance(base, dict):
        raise usage_error(f"{where}knobs: expected a table")
    own = _listed(table["config"], where) if "config" in table else _crossed(table.get("grid", {}), where)
    made = [base | one | extra for one in own]
    ids = [config_id(one) for one in made]
    for place, one in enumerate(ids):
        if one in ids[:place]:
            text = msgspec.json.encode(made[place]).decode()
            raise usage_error(f"{where}expected configurations that differ, got {text} twice")
    return made


def _listed(given: Any, where: str) -> list[dict[str, Any]]:
    if not isinstance(given, list) or not given or not all(isinstance(one, dict) for one in given):
        raise usage_error(f"{where}config: expected [[config]] tables")
    return given


def _crossed(given: Any, where: str) -> list[dict[str, Any]]:
    """Every combination of one value for each name; the last name varies fastest."""
    if not isinstance(given, dict):
        raise usage_error(f"{where}grid: expected a table of lists")
    for name, values in given.items():
        if not isinstance(values, list) or not values:
            raise usage_error(f"{where}grid.{name}: expected a list of values")
    return [dict(zip(given, values, strict=True)) for values in product(*given.values())]
