"""What a selftest does to the records of a suite. Each suite has its own in `damage.py`; only a selftest loads them."""

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from ragworthy.names import REFUSAL
from ragworthy.records import Answer, Run

WRONG = "ragworthy: damaged on purpose"
"""A claim, or an error, that no gold set expects."""
NOWHERE = "ragworthy:nowhere"
"""A citation that no corpus has."""


class Damage(NamedTuple):
    """One way to spoil what was recorded, so that the gates on some metrics have to fail."""

    what: str
    """What it is called: "every trace dropped"."""
    aimed: tuple[str, ...]
    """The ids of the metrics that it is aimed at; one that is aimed at none is tried where no other is."""
    do: Callable[..., Any]
    """What the reader of the suite calls for each record (`Request.damage`): the record as it is now, None for none."""


def dropped(*known: Any) -> None:
    """Nothing is left of any record."""


def aimed_at(metric: str, damages: tuple[Damage, ...]) -> tuple[Damage, ...]:
    """The damages aimed at a metric; all of them, in their order, where none is.

    >>> some = Damage("every trace dropped", ("brevity.missing",), dropped), Damage("every answer long", (), dropped)
    >>> [one.what for one in aimed_at("brevity.missing", some)]
    ['every trace dropped']
    >>> len(aimed_at("brevity.short", some))
    2
    """
    return tuple(one for one in damages if metric in one.aimed) or damages


# what the suites that read runs have in common


def replied(run: Run, answer: Answer) -> Run:
    """A run with another answer."""
    return msgspec.structs.replace(run, answer_json=answer, noop=False)


def wrong_run(run: Run) -> Run:
    """A run with a wrong claim and a wrong citation."""
    return replied(run, Answer(WRONG, [NOWHERE], None))


def refused_run(run: Run) -> Run:
    """A run that ends in a refusal."""
    return replied(run, Answer(REFUSAL, [], None))
