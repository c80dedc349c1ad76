"""What a structured answer must look like and how it is scored, as data."""

from fractions import Fraction
from typing import Any, NamedTuple

from ragworthy.metrics.kinds import Kind


class Field(NamedTuple):
    """One scored field: its name in reports, where it is in the answer, its kind and its weight."""

    name: str
    kind: str
    rules: Kind
    weight: Fraction
    at: tuple[str, ...]
    """The keys that lead to the value, in the answer and in the expected object alike."""
    required: bool = True

    @property
    def key(self) -> str:
        """The place as people write it."""
        return ".".join(self.at)


class Definition(NamedTuple):
    """The fields of an answer, and what else decides its score."""

    id: str
    fields: tuple[Field, ...]
    expected: tuple[str, ...] = ("answer_example",)
    """The keys that lead from a question's `expected` to the expected fields."""
    placeholders: tuple[str, ...] = ("string",)
    """Texts that show that a template was copied instead of filled in."""
    strata: tuple[str, ...] = ()
    """Fields that results are split by and that a subset is drawn evenly over."""
    good: Fraction = Fraction(95)
    """The score from which one item counts as good."""
    sha256: str = ""
    """The hash of the file it was read from."""


ABSENT = object()
"""No value at all, which is something else than null."""


def value_at(value: Any, keys: tuple[str, ...]) -> Any:
    """The value that keys lead to, or ABSENT.

    >>> value_at({"a": {"b": None}}, ("a", "b")), value_at({"a": 1}, ("a", "b")) is ABSENT
    (None, True)
    """
    for key in keys:
        if not isinstance(value, dict) or key not in value:
            return ABSENT
        value = value[key]
    return value
