"""The settings of the built-in pipeline: their names, what they may be, what they are when nobody says."""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ragworthy.text import described
from ragworthy.wire.address import shown

EXTRACTIVE = "extractive"
CHAT = re.compile(r"chat:(?P<model>[^\s@]+(?:@[^\s@]+)*?)@(?P<url>https?://\S+)")
"""How a chat answerer is named: its model and the base address of the endpoint."""
PLAIN = "answerer: expected chat:MODEL@URL with a plain address such as http://localhost:8080/v1"


class Knobs(NamedTuple):
    """How a question is answered."""

    mode: str = "auto"
    """auto: hybrid where the index has vectors, else bm25."""
    k_lex: int = 20
    """How many chunks lexical search gives."""
    k_sem: int = 20
    """How many chunks search by meaning gives."""
    intersect: bool = False
    """Only chunks that both searches found; all of them where they share none."""
    rerank_depth: int = 10
    """How many of the first candidates are scored again and go on; 0 leaves them as they were found."""
    knee: bool = False
    """Whether candidates after the point where the scores have fallen are dropped."""
    k: int = 5
    """How many chunks the answerer gets at most."""
    max_tokens: int = 2000
    """How many tokens of context the answerer gets at most; the first chunk always goes in."""
    answerer: str = EXTRACTIVE
    """extractive, or chat:MODEL@URL."""
    threshold: float | None = None
    """The least score with which the extractive answerer answers; None: the tuned one, else the default."""
    temperature: float = 0.0
    """For a chat endpoint."""
    reply_tokens: int = 512
    """How many tokens a chat model may write, its thoughts among them."""
    constraints: bool = True
    """Whether the rules in the cited chunks are locked and echoed."""
    timings: bool = True
    """Whether the reply tells how long its stages took; without, equal questions get equal bytes."""


def _one_of(*allowed: str) -> tuple[str, Callable[[Any], bool]]:
    return f"{', '.join(allowed[:-1])} or {allowed[-1]}", lambda value: value in allowed


def _whole(least: int) -> tuple[str, Callable[[Any], bool]]:
    return f"a whole number of at least {least}", lambda value: type(value) is int and value >= least


def _between(least: float, most: float) -> tuple[str, Callable[[Any], bool]]:
    text = f"a number from {least:g} to {most:g}"
    return text, lambda value: type(value) in (int, float) and math.isfinite(value) and least <= value <= most


_FLAG = ("true or false", lambda value: type(value) is bool)


def _is_answerer(value: Any) -> bool:
    return isinstance(value, str) and (value == EXTRACTIVE or CHAT.fullmatch(value) is not None)


def _carries(value: Any) -> bool:
    """Whether the address of an answerer holds a user, a query or a fragment, which may be secret."""
    return isinstance(value, str) and bool(re.search(r"[@?#]", value.partition("://")[2]))


_ALLOWED: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "mode": _one_of("auto", "bm25", "dense", "hybrid"),
    "k_lex": _whole(1),
    "k_sem": _whole(1),
    "intersect": _FLAG,
    "rerank_depth": _whole(0),
    "knee": _FLAG,
    "k": _whole(1),
    "max_tokens": _whole(1),
    "answerer": ("extractive or chat:MODEL@URL", _is_answerer),
    "threshold": _between(0, 1),
    "temperature": _between(0, 2),
    "reply_tokens": _whole(1),
    "constraints": _FLAG,
    "timings": _FLAG,
}


def read(given: Mapping[str, Any], base: Knobs | None = None) -> Knobs:
    """The knobs that were given on top of others; a ValueError names the first that cannot be used.

    >>> read({"k": 3, "mode": "bm25"})[:2], read({"k": 3}).k
    (('bm25', 20), 3)
    >>> read({"k": "3"})
    Traceback (most recent call last):
    ValueError: k: expected a whole number of at least 1, got "3"
    """
    for name, value in given.items():
        if name not in _ALLOWED:
            raise ValueError(f"expected a knob ({', '.join(_ALLOWED)}), got {described(name)}")
        if name == "answerer" and _carries(value):
            raise ValueError(f"{PLAIN}, got one with a user or a query")
        if name == "answerer" and isinstance(value, str) and value.startswith("chat:") and "://" not in value:
            raise ValueError(f"{PLAIN}, got one without {'http://' if '@' in value else '@URL'}")
        expected, fits = _ALLOWED[name]
        if not fits(value):
            got = described(shown(value) if isinstance(value, str) else value)
            raise ValueError(f"{name}: expected {expected}, got {got}")
    knobs = (base or Knobs())._replace(**given)
    if 0 < knobs.rerank_depth < knobs.k:
        raise ValueError(f"rerank_depth: expected 0 or at least k = {knobs.k}, got {knobs.rerank_depth}")
    return knobs
