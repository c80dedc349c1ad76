"""What a metric says about itself, and the list of all of them."""

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, Literal, NamedTuple

SUITES = ("answers",)

Better = Literal["higher", "lower"]
Kind = Literal["rate", "count"]


class Metric(NamedTuple):
    """A metric with its self-description; `of` maps the facts of one question to True, False or None.

    None means that the question is not in the denominator.
    """

    id: str
    of: Callable[..., bool | None]
    better: Better
    kind: Kind
    at_k: bool
    short: tuple[str, ...]
    cases: str
    event: str
    undefined: str
    source: str

    @property
    def definition(self) -> str:
        """The first line of the docstring: the sentence that reports show."""
        return (self.of.__doc__ or "").strip().partition("\n")[0]

    @property
    def place(self) -> str:
        """Where the metric is defined, as file:line."""
        module = self.of.__module__.replace(".", "/")
        return f"src/{module}.py:{self.of.__code__.co_firstlineno}"


_REGISTRY: dict[str, Metric] = {}


def metric(
    *,
    better: Better,
    cases: str,
    event: str,
    undefined: str,
    source: str,
    kind: Kind = "rate",
    at_k: bool = False,
    short: tuple[str, ...] = (),
) -> Callable[[Callable[..., bool | None]], Callable[..., bool | None]]:
    """Register a metric under the address of the decorated function.

    `cases` names what the denominator counts and `event` what the numerator counts, as reports say it.
    """

    def register(function: Callable[..., bool | None]) -> Callable[..., bool | None]:
        identifier = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        known = _REGISTRY.get(identifier)
        if known is not None and known.of.__code__.co_filename != function.__code__.co_filename:
            raise ValueError(f"metric {identifier} is defined twice")
        _REGISTRY[identifier] = Metric(identifier, function, better, kind, at_k, short, cases, event, undefined, source)
        return function

    return register


def all_metrics() -> dict[str, Metric]:
    """Every metric by id, in the order of definition, suite by suite."""
    for suite in SUITES:
        name = f"ragworthy.metrics.{suite}"
        if name not in sys.modules:
            import_module(name)
    return dict(_REGISTRY)


class MetricName(NamedTuple):
    """A metric as a gate or a report names it: id without k, and k where it has one."""

    metric: Metric
    k: int | None

    @property
    def id(self) -> str:
        """The full id, e.g. `answers.recall@5`."""
        return self.metric.id if self.k is None else f"{self.metric.id}@{self.k}"


def find(name: str, *, default_k: int, suite: str | None = None) -> MetricName | None:
    """The metric a text names: an id, or a short name; `@k` stands for the suite's own k.

    >>> find("under", default_k=5).id, find("answers.recall@10", default_k=5).id, find("recall@k", default_k=3).id
    ('answers.under_refusal', 'answers.recall@10', 'answers.recall@3')
    >>> find("recall", default_k=5) is None
    True
    """
    base, at, depth = name.partition("@")
    k: int | None = None
    if at:
        if depth in ("k", "K"):
            k = default_k
        elif depth.isascii() and depth.isdigit() and int(depth) >= 1 and not depth.startswith("0"):
            k = int(depth)
        else:
            return None
    for known in all_metrics().values():
        if suite is not None and not known.id.startswith(f"{suite}."):
            continue
        local = known.id.partition(".")[2]
        if base in (known.id, local, *known.short) and known.at_k == bool(at):
            return MetricName(known, k)
    return None


def every_name() -> list[str]:
    """Every spelling `find` takes, for suggestions."""
    names: list[Any] = []
    for known in all_metrics().values():
        suffix = "@k" if known.at_k else ""
        names += [f"{name}{suffix}" for name in (known.id, *known.short)]
    return names
