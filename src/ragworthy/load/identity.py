"""Ids of gold items: every item has one, and no two the same. The check and its words are the same for every suite."""

from collections.abc import Container
from typing import NamedTuple


class Wrong(NamedTuple):
    """What is wrong with a record, without its place."""

    code: str
    field: str
    message: str


def wrong_id(name: str | None, seen: Container[str], field: str = "qid") -> Wrong | None:
    """What is wrong with an id, given those that came before it; `field` is the key that it stands under.

    >>> wrong_id("", set()).code, wrong_id("q1", {"q1"}, "id").message, wrong_id("q2", {"q1"})
    ('RW-G01', 'expected a unique id, got "q1" again', None)
    """
    if not name:
        return Wrong("RW-G01", field, "expected a non-empty string, got nothing")
    if name in seen:
        return Wrong("RW-G02", field, f'expected a unique id, got "{name}" again')
    return None
