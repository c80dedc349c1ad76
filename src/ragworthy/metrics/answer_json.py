"""From the text a model wrote to the one JSON object it should be, or to the one reason why it is not."""

import json
import math
import re
from collections import Counter
from typing import Any, NamedTuple

from ragworthy.names import Failure

DEEPEST = 100
"""Objects and lists may be nested this deep; deeper ones are refused, on every version of Python alike."""
LONGEST_NUMBER = 400
_SAFE = 300
"""Whole numbers of so many digits fit into a float."""
_FENCE = "```"
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|["{}\[\]]', re.DOTALL)
"""A whole string, a quotation mark that opens a string without an end, or a bracket."""
_SURROGATE = re.compile(r"\\u[dD][89abAB]|\\u[dD][c-fC-F]")


class Parsed(NamedTuple):
    """The object, or why there is none. One that had to be taken out of other text has both."""

    value: dict[str, Any] | None
    reason: Failure | None = None
    detail: str = ""


class _Unsound(ValueError):
    """JSON that is not to be trusted, in words."""


def parse(raw: str) -> Parsed:
    """The object that a text is; strict: nothing before or after it, each key once, only finite numbers.

    >>> parse('{"a": 1}').value, parse('{"a": 1').reason, parse('Sure: {"a": 1}').reason
    ({'a': 1}, <Failure.TRUNCATED_JSON: 'truncated_json'>, <Failure.EXTRA_TEXT: 'extra_text'>)
    """
    text = raw.strip()
    lead = raw.find(text)
    try:
        value = decode(text)
        if isinstance(value, dict):
            return Parsed(value)
    except _Unsound:
        pass  # the text may hold an object all the same: see below what is wrong with it
    begin, end = span(text)
    if begin is None:
        return Parsed(None, Failure.PARSE_FAILED, "no JSON object" if text else "empty")
    if end is None:
        return Parsed(None, Failure.TRUNCATED_JSON, "the object has no end")
    try:
        inner = decode(text[begin:end], lead + begin)
    except _Unsound as error:
        return Parsed(None, Failure.PARSE_FAILED, str(error))
    if _FENCE in text[:begin] or _FENCE in text[end:]:
        return Parsed(inner, Failure.CODE_FENCE, "the object is in a code fence")
    where = " and ".join(["before"] * bool(text[:begin].strip()) + ["after"] * bool(text[end:].strip()))
    return Parsed(inner, Failure.EXTRA_TEXT, f"text {where} the object")


def span(text: str) -> tuple[int | None, int | None]:
    """Where the first object of a text begins and ends; no end where it is cut off.

    >>> span('x {"a": "}"} y'), span('{"a"'), span("x")
    ((2, 12), (0, None), (None, None))
    """
    begin = text.find("{")
    if begin < 0:
        return None, None
    depth = 0
    for token in _TOKEN.finditer(text, begin):
        sign = token.group()
        if sign == "{":
            depth += 1
        elif sign == "}":
            depth -= 1
            if depth == 0:
                return begin, token.end()
        elif sign == '"':
            break
    return begin, None


def decode(text: str, before: int = 0) -> Any:
    """A JSON text as a value; raises where it is none, or where it says something twice.

    `before` is how many characters are before the text, for messages that name a place.
    """
    if text.count("{") + text.count("[") > DEEPEST and _too_deep(text):
        raise _Unsound(f"nested deeper than {DEEPEST}")
    try:
        value = json.loads(
            text, object_pairs_hook=_unique, parse_constant=_refused, parse_int=_whole, parse_float=_finite
        )
    except json.JSONDecodeError as error:
        # Versions of Python differ in whether they point at or behind a comma too many.
        place = before + len(text[: error.pos].rstrip(" \t\r\n,")) + 1
        raise _Unsound(f"not JSON from character {place:,} on") from None
    if _SURROGATE.search(text):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise _Unsound("half of a surrogate pair") from None
    return value


def _too_deep(text: str) -> bool:
    depth = 0
    for token in _TOKEN.finditer(text):
        sign = token.group()
        if sign in ("{", "["):
            depth += 1
            if depth > DEEPEST:
                return True
        elif sign in ("}", "]"):
            depth -= 1
        elif sign == '"':  # a string without an end: nothing behind it is read
            break
    return False


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        times = Counter(key for key, _ in pairs)
        twice = next(key for key in times if times[key] > 1)
        raise _Unsound(f'the key "{twice[:40]}" is twice')
    return value


def _refused(word: str) -> Any:
    raise _Unsound(f"{word} is not JSON")


def _whole(text: str) -> int:
    _check_digits(text)
    number = int(text)
    if len(text) > _SAFE:
        _finite(text)
    return number


def _finite(text: str) -> float:
    _check_digits(text)
    number = float(text)
    if math.isinf(number):
        raise _Unsound(f"the number {text[:40]} is too large")
    return number


def _check_digits(text: str) -> None:
    if len(text) > LONGEST_NUMBER:
        digits = sum(map(str.isdigit, text))
        if digits > LONGEST_NUMBER:
            raise _Unsound(f"a number of {digits:,} digits")
