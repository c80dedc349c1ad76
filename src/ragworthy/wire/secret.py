"""Secrets: where they come from, and how they are kept out of everything that is shown or written."""

import html
import os
import re
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import quote

from ragworthy.errors import usage_error

MASK = "***"
TELLING = 8
"""A secret from this length up is also hidden where a good reply repeats it: hardly an answer holds it by chance."""
_WORD = 4
"""A secret below this length is hidden only where it is alone: inside other words it tells nothing."""
_WIDEST = 9
"""So many characters one character of a secret takes at most, as it is looked for: u0041 behind four backslashes."""
WITHHELD = "not shown, for a secret is in it in pieces"
_LOOKED_AT = 1 << 16
"""So many characters of what came back are looked at for a secret in pieces: its beginning is all that is shown."""
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"(\s*:)?')
"""A text in JSON, with the colon that makes it a name."""
_KEYS = re.compile(r"RAGWORTHY_\w+_KEY|OPENAI_API_KEY")


class Secrets:
    """What is never shown, in whatever way it is written: plain, escaped, percent-encoded, in other letter case."""

    def __init__(self, values: Iterable[str]) -> None:
        self._values = sorted({value for value in values if value}, key=lambda value: (-len(value), value))

    def __bool__(self) -> bool:
        return bool(self._values)

    def masked(self, text: str) -> str:
        """A text without any of the secrets.

        >>> Secrets(["sk/7", "me"]).masked("sk/7 SK%2f7 sk\\\\/7 \\\\u0073k/7, me and some")
        '*** *** *** ***, *** and some'
        """
        for value in self._values:
            text = _pattern(value).sub(MASK, text)
        return text

    def masked_reply(self, text: str) -> str:
        """A text of a good reply, without the secrets that it cannot hold by chance."""
        for value in self._values:
            if len(value) >= TELLING:
                text = _pattern(value).sub(MASK, text)
        return text

    def masked_body(self, text: str) -> str:
        """What came back, without any of the secrets; nothing of it where one is spread over several texts of its JSON.

        >>> Secrets(["sk-12345678"]).masked_body('{"delta": "sk-12"} {"delta": "345678"}') == WITHHELD
        True
        """
        return WITHHELD if self.in_pieces(text) else self.masked(text)

    def in_pieces(self, text: str) -> bool:
        """Whether the texts under one name of some JSON, put together, hold a secret, as events of a stream do."""
        told: dict[str, list[str]] = {}
        name = ""
        for found in _STRING.finditer(self.masked_reply(text[:_LOOKED_AT])) if self._values else ():
            if found[2]:
                name = found[1]
            else:
                told.setdefault(name, []).append(found[1])
        joined = ("".join(pieces) for pieces in told.values() if len(pieces) > 1)
        return any(self.masked_reply(one) != one for one in joined)

    def masked_start(self, text: str) -> str:
        """The beginning of a longer text; what may be the beginning of a secret is not left at its end."""
        longest = len(self._values[0]) if self._values else 0
        masked = self.masked(text)
        return masked[: max(0, len(masked) - _WIDEST * longest)]


@lru_cache(maxsize=64)
def _pattern(value: str) -> re.Pattern[str]:
    """What finds a secret however it is written.

    Each character may be escaped on its own, so that a mixture is found too. The alternatives begin with letters and
    not with sets, and case is spelled out: `re` then skips quickly to where one of them can begin.
    """
    found = "".join(map(_written, re.findall(r"\\+|[^\\]", value)))
    return re.compile(found if len(value) >= _WORD else rf"(?<![^\W_]){found}(?![^\W_])")


@lru_cache(maxsize=1024)
def _written(char: str) -> str:
    """A pattern for one character: itself, or as JSON, addresses and HTML write it, up to three times over.

    Backslashes come as a whole run: one by one, each with a choice of lengths, they would take for ever not to match.
    """
    if char.startswith("\\"):
        return rf"(?:\\{{{len(char)},{4 * len(char)}}}|(?:%(?:25){{0,2}}5[cC]|\\{{1,4}}u005[cC]){{{len(char)}}})"
    cases = sorted({char, char.lower(), char.upper()} if len(char.upper()) == len(char.lower()) == 1 else {char})
    forms = [re.escape(one) for one in cases]
    if char in "\"'/":
        forms.append(rf"\\\\{{0,3}}{char}")
    elif char == " ":
        forms.append(r"\+")
    if html.escape(char) != char:
        forms += [re.escape(html.escape(char)), f"&#{ord(char)};"]
    for one in cases:
        units = one.encode("utf-16-be")
        codes = (units[place : place + 2].hex() for place in range(0, len(units), 2))
        forms.append("".join(rf"\\\\{{0,3}}u{_hex(code)}" for code in codes))
        octets = quote(one, safe="") if not one.isascii() else f"%{ord(one):02x}"
        forms.append("".join(f"%(?:25){{0,2}}{_hex(code)}" for code in octets[1:].split("%")))
    return f"(?:{'|'.join(forms)})"


def _hex(digits: str) -> str:
    """A pattern for a hexadecimal number in either letter case."""
    return "".join(digit if digit.isdigit() else f"[{digit.lower()}{digit.upper()}]" for digit in digits)


def sendable(value: str) -> bool:
    """Whether a text can be sent in a header: printable ASCII, and not nothing."""
    return bool(value) and value.isascii() and value.isprintable()


def key_in(variable: str) -> str | None:
    """The secret in an environment variable, without the spaces and line ends around it; None where there is none."""
    value = os.environ.get(variable, "").strip()
    if value and not sendable(value):
        raise usage_error(f"{variable}: expected printable ASCII text, got something else")
    return value or None


def in_environment() -> Secrets:
    """The keys of the environment, which nothing that is shown may hold."""
    keys = (value.strip() for name, value in os.environ.items() if _KEYS.fullmatch(name))
    return Secrets(key for key in keys if len(key) >= TELLING and sendable(key))


def check_without_keys(text: str, what: str) -> None:
    """Refuse a text that is written to the results if it holds the value of a key in the environment."""
    for name, value in os.environ.items():
        key = value.strip()
        telling = _KEYS.fullmatch(name) and len(key) >= TELLING and sendable(key)
        if telling and Secrets([key]).masked(text) != text:
            raise usage_error(f"{what}: expected no secret, for this is written to the results, got the one in {name}")
