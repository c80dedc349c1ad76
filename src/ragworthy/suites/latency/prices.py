"""Price lists of the latency suite: `currency`, [[price]] tables, and [budget] where there is one."""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from ragworthy.errors import DataError, PolicyError, data_error
from ragworthy.files import shown_path
from ragworthy.load.checker import load_toml, written
from ragworthy.metrics.cost import Budget, Price, Prices
from ragworthy.metrics.latency import stage_name
from ragworthy.text import described

Wrong = Callable[[str, str], DataError]
"""An error of a price list from a message and a field."""


def load_prices(path: Path) -> Prices:
    """A price list: `currency`, [[price]] tables, and [budget] where there is one."""
    where = shown_path(path)

    def wrong(message: str, field: str = "") -> DataError:
        return data_error("RW-K02", message, where=where, field=field)

    try:
        table = load_toml(path)
    except PolicyError as error:
        raise wrong(error.problems[0].message) from None
    _known(table, ("currency", "price", "budget"), "", wrong)
    currency = table.get("currency", "USD")
    if not isinstance(currency, str) or not currency.strip():
        raise wrong(f"expected a text, got {_toml(currency)}", "currency")
    given = table.get("price", [])
    if not isinstance(given, list) or not given or not all(isinstance(one, dict) for one in given):
        raise wrong(f"expected [[price]] tables, got {'none' if not given else 'another value'}", "price")
    prices = tuple(_price(one, f"price[{i}].", wrong) for i, one in enumerate(given))
    names = [(one.model, one.stage) for one in prices]
    for i, name in enumerate(names):
        if name in names[:i]:
            raise wrong("expected one price for each model and stage, got two", f"price[{i}]")
    budget = table.get("budget")
    return Prices(currency, prices, _budget(budget, wrong) if budget is not None else None)


def _price(table: dict[str, Any], here: str, wrong: Wrong) -> Price:
    _known(table, ("model", "stage", "per_1k", "input_per_1k", "output_per_1k"), here, wrong)
    for key in ("model", "stage"):
        if key in table and (not isinstance(table[key], str) or not table[key].strip()):
            raise wrong(f"expected a non-empty text, got {_toml(table[key])}", f"{here}{key}")
    one, two = "per_1k" in table, "input_per_1k" in table and "output_per_1k" in table
    if one == two or (one and ("input_per_1k" in table or "output_per_1k" in table)):
        raise wrong("expected per_1k, or input_per_1k and output_per_1k, got another choice", here[:-1])
    keys = ("per_1k", "per_1k") if one else ("input_per_1k", "output_per_1k")
    into, out = (_amount(table, key, here, wrong) for key in keys)
    stage = table.get("stage")
    return Price(table.get("model"), stage_name(stage) if stage else None, into, out)


def _amount(table: dict[str, Any], key: str, here: str, wrong: Wrong) -> Fraction:
    number = written(table.get(key))
    if number is None or Fraction(number) < 0:
        raise wrong(f"expected a number from 0, got {_toml(table.get(key))}", f"{here}{key}")
    return Fraction(number)


def _budget(table: Any, wrong: Wrong) -> Budget:
    if not isinstance(table, dict):
        raise wrong(f"expected a table, got {_toml(table)}", "budget")
    _known(table, ("cap", "spent", "day", "days"), "budget.", wrong)
    cap, spent, day, days = (_amount(table, key, "budget.", wrong) for key in ("cap", "spent", "day", "days"))
    if cap == 0:
        raise wrong("expected a number above 0, got 0", "budget.cap")
    for key, number, most in (("days", days, 31), ("day", day, days)):
        if number.denominator != 1 or not 1 <= number <= most:
            raise wrong(f"expected a whole number from 1 to {most}, got {_toml(table[key])}", f"budget.{key}")
    return Budget(cap, spent, int(day), int(days))


def _known(table: dict[str, Any], keys: tuple[str, ...], here: str, wrong: Wrong) -> None:
    for key in table:
        if key not in keys:
            raise wrong(f"expected a known key (one of: {', '.join(keys)}), got an unknown one", f"{here}{key}")


def _toml(value: Any) -> str:
    """A value of a TOML file as an error message shows it."""
    return "nothing" if value is None else str(value) if isinstance(value, Decimal) else described(value)
