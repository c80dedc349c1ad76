"""Collecting what is wrong with something people wrote, and TOML with exact numbers."""

from collections.abc import Collection, Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

from ragworthy.errors import PolicyError, Problem, policy_error
from ragworthy.files import read_text

_LONGEST_NUMBER = 30
_LARGEST_INT = 10**_LONGEST_NUMBER


class Checker:
    """Collects every problem of a policy instead of stopping at the first."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.problems: list[Problem] = []

    def say(self, code: str, field: str, message: str) -> None:
        """Note a problem."""
        self.problems.append(Problem(code, message, self.where, field))

    def stop(self) -> None:
        """Raise when there are problems."""
        if self.problems:
            raise PolicyError(self.problems)

    def known(self, table: dict[str, Any], keys: Collection[str], path: str) -> None:
        """Every key must exist."""
        for key in table:
            if key not in keys:
                close = closest(key, keys, n=1)
                hint = f" (did you mean {close[0]}?)" if close else f" (one of: {', '.join(keys)})"
                self.say("RW-P02", f"{path}{key}", f"expected a known key, got an unknown one{hint}")

    def take(self, table: dict[str, Any], key: str, kind: type, path: str, what: str) -> Any:
        """The value of a key when it has the right type, else None."""
        value = table.get(key)
        if value is None:
            return None
        if type(value) is not kind:
            self.say("RW-P03", f"{path}{key}", f"expected {what}, got {shown(value)}")
            return None
        return value

    def strings(self, table: dict[str, Any], key: str, path: str) -> tuple[str, ...] | None:
        """A list of non-empty strings, else None."""
        value = self.take(table, key, list, path, "a list of strings")
        if value is None:
            return None
        for i, one in enumerate(value):
            if not isinstance(one, str) or not one.strip():
                self.say("RW-P03", f"{path}{key}[{i}]", f"expected a non-empty string, got {shown(one)}")
                return None
        return tuple(value)

    def choice(self, table: dict[str, Any], key: str, choices: tuple[str, ...], path: str, default: str) -> str:
        """One of a few words."""
        value = table.get(key, default)
        if value not in choices:
            self.say("RW-P03", f"{path}{key}", f"expected {' or '.join(map(shown, choices))}, got {shown(value)}")
            return default
        return str(value)


def load_toml(path: Path) -> dict[str, Any]:
    """A TOML file with its decimals kept exactly."""
    return parse_toml(read_text(path), path.as_posix())


def parse_toml(text: str, where: str, *, decimals: bool = True) -> dict[str, Any]:
    """TOML as a table; numbers that nothing could be done with are refused here, once for every kind of file."""
    import tomllib

    try:
        table = tomllib.loads(text, parse_float=Decimal if decimals else float)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise policy_error("RW-P01", f"expected TOML, got: {error}", where=where) from None
    except (ValueError, ArithmeticError):  # numbers that Python itself refuses
        raise policy_error("RW-P01", _TOO_LONG, where=where) from None
    if not _writable(table):
        raise policy_error("RW-P01", _TOO_LONG, where=where)
    return table


_TOO_LONG = "expected TOML, got a number with too many digits"


def _writable(value: Any) -> bool:
    """Whether every whole number in it can be written out; 0xfff… can be longer than Python agrees to print."""
    if isinstance(value, dict):
        return all(map(_writable, value.values()))
    if isinstance(value, list):
        return all(map(_writable, value))
    return not isinstance(value, int) or abs(value) <= _LARGEST_INT


def written(value: Any) -> str | None:
    """A finite number as the decimal text it was written in."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) <= _LONGEST_NUMBER:
        return f"{value:f}"
    return None


def shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return f"[{', '.join(map(shown, value))}]"
    return str(value)


def closest(word: str, words: Iterable[str], n: int, cutoff: float = 0.6) -> list[str]:
    from difflib import get_close_matches

    return get_close_matches(word, list(words), n=n, cutoff=cutoff)
