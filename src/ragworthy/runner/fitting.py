"""Which settings fit a target: how long one question takes, whether several at once take longer, what a seed does.

A server with one slot answers four questions at once no sooner than one after the other, and the last one waits for
all: that is how a run ends in timeouts. So a few questions are asked, alone and together, before all are.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from ragworthy.runner.check import Checked
from ragworthy.runner.contract import Ask, Reply, Target, reason_of
from ragworthy.runner.drive import Asked, Driver
from ragworthy.runner.plan import Planned

QUICK = 300.0
"""A target that replies within so many milliseconds needs no other settings than the usual ones."""
MOST = 7
"""So many more questions are asked at most."""
_LONGER = 1.6
"""From this factor on, twice as many questions at once are no faster than one after the other."""
_SPARE = 4
"""A question may take so many times as long as the slowest that was seen with as many at once."""
_LEAST = 10


class Fit(NamedTuple):
    """What was seen, part by part, and the settings that fit."""

    lines: list[tuple[str, str]]
    concurrency: int
    timeout: int


def worth_fitting(target: str, knobs: dict[str, Any], first: Checked) -> bool:
    """Whether more questions can tell something: the target is one that waits for a model, and it takes its time."""
    scheme = target.partition(":")[0]
    chats = str(knobs.get("answerer", "")).startswith("chat")
    return first.e2e_ms > QUICK and scheme not in ("replay", "cmd") and (scheme != "builtin" or chats)


def fitted(first: Checked, others: Sequence[Planned], target: Target, timeout: float) -> Fit | None:
    """Ask up to seven more questions; None when somebody stopped it."""
    asks = [one.ask for one in others if one.ask.qid != first.ask.qid] or [first.ask]
    more = [asks[place % len(asks)] for place in range(5)]
    other_seed = msgspec.structs.replace(first.ask, seed=first.ask.seed + 1)
    again = _asked(target, [first.ask], timeout)
    two = _asked(target, more[:2], timeout) if again else []
    if not again or not two:
        return None
    at_once = 1 if _slower(two, first.e2e_ms) else 2
    last = _asked(target, [other_seed, *more[2:]] if at_once == 2 else [other_seed], timeout)
    if not last:
        return None
    if at_once == 2 and not _slower(last, _longest(two)):
        at_once = 4
    slowest = max(first.e2e_ms, *(_longest(group) for group in (again, two, last) if len(group) <= at_once))
    seeded = next((one for one in last if one.ask.seed != first.ask.seed), None)
    groups = [two, last] if len(last) > 1 else [two]
    lines = [("at once", _times(first, groups, at_once)), *_usage(first)]
    builtin = target.name.startswith("builtin:")
    told = _seed(first, again[0], seeded, alone=getattr(target, "alone", False), builtin=builtin)
    lines.append(("seed", told))
    return Fit(lines, at_once, rounded(slowest))


def rounded(slowest_ms: float) -> int:
    """Seconds for one question: four times the slowest, in tens.

    >>> rounded(900), rounded(2600), rounded(14000)
    (10, 20, 60)
    """
    return max(_LEAST, 10 * math.ceil(_SPARE * slowest_ms / 10_000))


def _asked(target: Target, asks: Sequence[Ask], timeout: float) -> list[Asked]:
    """The replies to some questions at once; nothing where somebody stopped it."""
    came: list[Asked] = []
    driver = Driver(target, came.append, concurrency=len(asks), timeout=timeout, stopping=lambda: None, keep_going=True)
    driver.run(list(enumerate(asks)), len(asks))
    return came if len(came) == len(asks) else []


def _longest(asked: Sequence[Asked]) -> float:
    return max(one.e2e_ms for one in asked)


def _slower(asked: Sequence[Asked], half: float) -> bool:
    """Whether questions at once fail, or take about as long as one after the other; `half` as many took so long."""
    return any(one.reply.error is not None for one in asked) or _longest(asked) >= _LONGER * half


def _times(first: Checked, groups: Sequence[Sequence[Asked]], at_once: int) -> str:
    told = [f"{_seconds(first.e2e_ms)} alone"]
    for group in groups:
        errors = [reason_of(one.reply.error, one.reply.code) for one in group if one.reply.error is not None]
        told.append(f"{_seconds(_longest(group))} with {len(group)} at once{f' ({errors[0]})' if errors else ''}")
    told.append("it answers one at a time" if at_once == 1 else f"{at_once} at once are fine")
    return ", ".join(told)


def _seconds(ms: float) -> str:
    return f"{ms / 1000:.1f} s"


def _usage(first: Checked) -> list[tuple[str, str]]:
    """Tokens, and in which format a chat model replied, where usage tells."""
    usage = first.reply.fields.get("usage") or {}
    counts = _found(usage, "prompt_tokens", "input_tokens"), _found(usage, "completion_tokens", "output_tokens")
    tokens = [f"{count:,} {way}" for count, way in zip(counts, ("in", "out"), strict=True) if isinstance(count, int)]
    lines = [("tokens", ", ".join(tokens))] if tokens else []
    kind, attempts = _found(usage, "format"), _found(usage, "attempts")
    if isinstance(kind, str):
        tries = f", {attempts} attempts" if isinstance(attempts, int) and attempts > 1 else ""
        lines.append(("format", f"{kind}{tries}"))
    return lines


def _found(usage: dict[str, Any], *names: str) -> Any:
    """The first value under one of these names, in a usage or in a stage of it."""
    places = [usage, *(one for one in usage.values() if isinstance(one, dict))]
    return next((place[name] for place in places for name in names if place.get(name) is not None), None)


def _seed(first: Checked, again: Asked, other: Asked | None, *, alone: bool, builtin: bool) -> str:
    one = _said(first.reply)
    if again.reply.error is not None:
        return f"not told: the second time it replied {reason_of(again.reply.error, again.reply.code)}"
    if _said(again.reply) != one:
        return "ignored: the same seed gave two answers"
    if alone:
        return "not told: the callable takes the question alone"
    if other is None or other.reply.error is not None or _said(other.reply) == one:
        return f"not told: the same answer, whatever the seed{_cold(first.ask.knobs, builtin=builtin)}"
    return "kept: the same seed gave the same answer, another seed another one"


def _said(reply: Reply) -> Any:
    """What is compared of two replies: the answer, or what the model wrote."""
    return reply.fields.get("answer_json", reply.fields.get("raw"))


def _cold(knobs: dict[str, Any], *, builtin: bool) -> str:
    """That a seed changes nothing at temperature 0, where the knobs say so; the built-in pipeline has it by default."""
    given = knobs.get("temperature", 0 if builtin else None)
    is_zero = isinstance(given, int | float) and not isinstance(given, bool) and given == 0
    return " (temperature is 0; --knob temperature=0.8 lets a seed matter)" if is_zero else ""
