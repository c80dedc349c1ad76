"""A structured question set as a plan: every question once, checked before the first one is paid for."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ragworthy.errors import DataError
from ragworthy.gold.commands import suite_of
from ragworthy.gold.structured import scorable
from ragworthy.load.questions import BrokenArray, open_questions
from ragworthy.load.sources import Source
from ragworthy.runner import plan as planning
from ragworthy.runner.outputs import Making
from ragworthy.runner.plan import Plan, Wordings
from ragworthy.suites.structured.subset import check_subset


def questions_in(gold: Any) -> Source | None:
    """The source of a gold set whose questions have structured answers; None for all others.

    A file that cannot be opened is none of them, either: whoever reads it says what is wrong.
    """
    try:
        source = open_questions("gold", gold)
    except BrokenArray:
        raise
    except DataError:
        return None
    return source if suite_of(source) == "structured" else None


def plan(
    source: Source,
    making: Making,
    *,
    seeds: Sequence[int] = (0,),
    knobs: Mapping[str, Any] | None = None,
    limit: int | None = None,
) -> Plan:
    """Every question of a set, in its order; one that no answer could be scored against is refused now."""
    questions = scorable(source, making.definition)
    made = planning.make(
        source.label,
        source.sha256(),
        [Wordings(one.qid, (one.gold.question or "",)) for one in questions[:limit]],
        seeds=seeds,
        jitters=("none",),
        knobs=knobs or {},
        settings={"seeds": ",".join(map(str, seeds)), "limit": "none" if limit is None else str(limit)},
    )
    prompt = None if making.prompt is None else making.prompt.text
    asks = tuple(one._replace(ask=msgspec.structs.replace(one.ask, prompt=prompt)) for one in made.asks)
    return made._replace(asks=asks, making=making)


def dev_places(path: Path, source: Source, made: Plan) -> tuple[int, ...]:
    """The places of the plan that a dev subset asks first; one that is not a subset of the questions is refused."""
    names = check_subset(path, source)
    return tuple(n for n, one in enumerate(made.asks) if one.ask.qid in names)
