"""Templates of a request: texts with `{q}`, `{seed}`, `{knobs.NAME}` in tables and lists, filled with values.

Values are put into the table and not into its text, so that quotes, braces and line ends in a question stay what they
are. A text that is one placeholder and nothing else becomes the value with its type: `"{seed}"` is a number.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

_NAMED = re.compile(r"\{(\{)?([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_-]+)*)(\?)?\}(?(1)\})")
"""`{name}` or `{knobs.name?}`; in doubled braces the name is text. Other braces are text anyway."""
PLACEHOLDERS = ("q", "qid", "seed", "jitter", "knobs", "prompt")


class Placeholder(NamedTuple):
    """What is in braces, and the field in which it does."""

    field: str
    name: str
    optional: bool

    @property
    def knob(self) -> str | None:
        """The knob that it names."""
        return self.name.removeprefix("knobs.") if self.name.startswith("knobs.") else None

    @property
    def variable(self) -> str | None:
        """The environment variable that it names."""
        return self.name.removeprefix("env.") if self.name.startswith("env.") else None

    @property
    def known(self) -> bool:
        """Whether there is such a thing."""
        return self.name in PLACEHOLDERS or self.knob is not None or self.variable is not None


def placeholders(template: Any, field: str) -> Iterator[Placeholder]:
    """Every placeholder of a template, in order.

    >>> [one.name for one in placeholders({"a": ["{q}", {"b": "{{q}} {knobs.k?}"}]}, "body")]
    ['q', 'knobs.k']
    """
    if isinstance(template, str):
        for found in _NAMED.finditer(template):
            if not found[1]:
                yield Placeholder(field, found[2], bool(found[3]))
    elif isinstance(template, dict):
        for name, value in template.items():
            yield from placeholders(name, f"{field}.{name}")
            yield from placeholders(value, f"{field}.{name}")
    elif isinstance(template, list):
        for nth, value in enumerate(template):
            yield from placeholders(value, f"{field}[{nth}]")


class _Absent:
    """Stands for a value that may be left out, and is."""


_ABSENT = _Absent()


def filled(template: Any, values: Mapping[str, Any]) -> Any:
    """A template with its values; a key or an entry whose optional value is not given is left out.

    >>> filled({"n": "{seed}", "t": "Q: {q} {{q}}", "k": "{knobs.k?}"}, {"seed": 3, "q": 'a "b"'})
    {'n': 3, 't': 'Q: a "b" {q}'}
    """
    made = _filled(template, values)
    return None if made is _ABSENT else made


def _filled(template: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(template, str):
        return _text(template, values)
    if isinstance(template, dict):
        pairs = ((text(name, values), _filled(value, values)) for name, value in template.items())
        return {name: value for name, value in pairs if value is not _ABSENT}
    if isinstance(template, list):
        return [one for one in (_filled(value, values) for value in template) if one is not _ABSENT]
    return template


def _text(template: str, values: Mapping[str, Any]) -> Any:
    found = _NAMED.fullmatch(template)
    if found is None or found[1]:
        return text(template, values)
    return values.get(found[2], _ABSENT) if found[3] else values[found[2]]


def text(template: str, values: Mapping[str, Any], written: Callable[[str], str] = str) -> str:
    """A template as a text, its values written as `written` says.

    >>> text("/ask/{q}/{seed}", {"q": "a b", "seed": 1}, lambda value: value.replace(" ", "%20"))
    '/ask/a%20b/1'
    """

    def put(found: re.Match[str]) -> str:
        if found[1]:
            return found[0][1:-1]
        value = values.get(found[2], "") if found[3] else values[found[2]]
        return written(value if isinstance(value, str) else msgspec.json.encode(value).decode())

    return _NAMED.sub(put, template)
