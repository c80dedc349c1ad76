"""What a metric says about itself, and the list of all of them."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

from ragworthy.metrics.aliases import ALIASES, SHARED, folded
from ragworthy.metrics.fold import KINDS, fold_of
from ragworthy.names import SUITES

FAMILIES = {"latency": ("latency", "cost")}
"""The first parts of a suite's metric ids, where it is not just its own name."""
BORROWED = {"latency": ("answers",)}
"""Suites that report metrics of another suite too, over their own runs."""

Better = Literal["higher", "lower"]
Kind = str
"""How the words of the questions become one number: a key of `fold.KINDS`, or a percentile such as p95."""
Over = Literal["question", "run", "all"]
"""What a metric looks at: the facts of a question, those of one run of it, or everything at once."""
OF_QUESTIONS = ("count", "spread")
"""Kinds whose words are of whole questions, except where every run counts for itself, as in latency."""
Word: TypeAlias = bool | int | float | Fraction | tuple[int, int] | None


class Metric(NamedTuple):
    """A metric with its self-description; `of` maps the facts of one question, or of one run of it, to its word.

    None means that the question is not in the denominator. The word of a question is the mean of those of its runs.
    """

    id: str
    of: Callable[..., Any]
    better: Better
    kind: Kind
    over: Over
    needs: str
    highest: int | None
    """The greatest value there can be, where there is one."""
    at_k: bool
    short: tuple[str, ...]
    cases: str
    event: str
    undefined: str
    source: str
    lowest: int = 0
    """The least value there can be: -1 for correlations and gains."""

    @property
    def names(self) -> tuple[str, ...]:
        """What it is called: its id with and without the suite, its short names, and those that the sources have."""
        local = self.id.partition(".")[2]
        return tuple(dict.fromkeys((self.id, local, *self.short, *ALIASES.get(self.id, ()))))

    @property
    def spellings(self) -> set[str]:
        """The same, the suite before each or not, in the form in which spelling does not matter."""
        names = {*map(folded, self.names)}
        return names | {f"{self.id.partition('.')[0]}.{name}" for name in names}

    @property
    def definition(self) -> str:
        """The first line of the docstring: the sentence that reports show."""
        return (self.of.__doc__ or "").strip().partition("\n")[0]

    @property
    def place(self) -> str:
        """Where the metric is defined, as file:line."""
        code = self.function.__code__
        if self.of.__module__.split(".")[0] == "ragworthy":
            return f"src/{self.of.__module__.replace('.', '/')}.py:{code.co_firstlineno}"
        return f"{code.co_filename}:{code.co_firstlineno}"

    @property
    def function(self) -> Callable[..., Any]:
        """The function as it was written."""
        written: Callable[..., Any] = getattr(self.of, "__wrapped__", self.of)
        return written


_REGISTRY: dict[str, Metric] = {}
Judge = TypeVar("Judge", bound=Callable[..., Any])


def metric(
    *,
    better: Better,
    cases: str,
    event: str,
    undefined: str,
    source: str,
    kind: Kind = "rate",
    over: Over = "question",
    needs: str = "",
    highest: int | None = 1,
    at_k: bool = False,
    short: tuple[str, ...] = (),
    suite: str = "",
    lowest: int = 0,
) -> Callable[[Judge], Judge]:
    """Describe a metric; its id is the address of the decorated function.

    `cases` names what the denominator counts and `event` what the numerator counts, as reports say it; `needs` names
    what traces or gold may lack (answers, runs, orders, distances, probes, before, live, corpus, evidence), or whose
    votes it looks at (pairs, ballots, operators). A metric from outside this package names its `suite`: it is not on
    the list of all metrics, and is known where somebody named its file or package.
    """

    def register(function: Judge) -> Judge:
        if not suite and not function.__module__.startswith("ragworthy.metrics."):
            raise ValueError(f'metric {function.__name__}: expected suite="…", got none')
        identifier = f"{suite or function.__module__.rpartition('.')[2]}.{function.__name__}"
        before = _REGISTRY.get(identifier)
        if before is not None and before.of.__code__.co_filename != function.__code__.co_filename:
            raise ValueError(f"metric {identifier} is defined twice")
        if suite and described(function.__globals__.get(function.__name__)) is not None:
            raise ValueError(f"metric {identifier} is defined twice")
        _check(identifier, function, better=better, kind=kind, over=over, highest=highest)
        top = None if kind == "count" else highest
        made = Metric(
            identifier, function, better, kind, over, needs, top, at_k, short, cases, event, undefined, source, lowest
        )
        if suite:
            vars(function)[_DESCRIBED] = made
        else:
            enter(made)
        return function

    return register


def _check(
    identifier: str, function: Callable[..., Any], *, better: str, kind: str, over: str, highest: int | None
) -> None:
    """Refuse a description that cannot be meant, when it is written and not when it is judged."""
    for name, value, known in (("better", better, ("higher", "lower")), ("over", over, ("question", "run", "all"))):
        if value not in known:
            raise ValueError(f'metric {identifier}: {name}: expected {" or ".join(known)}, got "{value}"')
    try:
        fold_of(kind)
    except KeyError:
        known_kinds = f"{', '.join(KINDS)} or a percentile such as p95"
        raise ValueError(f'metric {identifier}: expected a kind ({known_kinds}), got "{kind}"') from None
    if over == "run" and kind in OF_QUESTIONS and suite_of(identifier) != "latency":
        raise ValueError(f'metric {identifier}: expected over="question" with the kind {kind}, got "run"')
    if highest is not None and not (isinstance(highest, int) and highest >= 1):
        raise ValueError(f"metric {identifier}: highest: expected a whole number from 1 up or None, got {highest}")
    if not (function.__doc__ or "").strip():
        raise ValueError(f"metric {identifier}: expected a docstring, whose first line reports show, got none")


_DESCRIBED = "__ragworthy_metric__"


def described(function: object) -> Metric | None:
    """The metric that a function from outside this package is, where it is one."""
    found = getattr(function, "__dict__", {}).get(_DESCRIBED)
    return found if isinstance(found, Metric) else None


def metrics_in(module: ModuleType) -> Iterator[Metric]:
    """The metrics that a module from outside this package defines, in the order of the file."""
    for one in vars(module).values():
        found = described(one)
        if found is not None:
            yield found


_OUTSIDE: dict[str, str] = {}
"""Suites from other packages, with the module that holds their metrics."""


def enter_suite(name: str, module: str) -> None:
    """Make a suite of another package known, when somebody named it."""
    _OUTSIDE[name] = module


class UnusableError(ValueError):
    """A metric from elsewhere has the name of another one, or a suite that nobody knows."""


_MORE: ContextVar[tuple[Metric, ...]] = ContextVar("metrics", default=())


@contextmanager
def using(more: Iterable[Metric]) -> Iterator[None]:
    """With metrics from outside this package, and only inside the block: they do not leak into other scores."""
    added = tuple(more)
    for nth, one in enumerate(added):
        suite = suite_of(one.id)
        if suite is None:
            every = ", ".join((*SUITES, *_OUTSIDE))
            raise UnusableError(f"metric {one.id}: expected a suite ({every}), got {one.id.partition('.')[0]}")
        for other in (*all_metrics(suite).values(), *added[:nth]):
            if other.function is one.function:
                continue
            names = {other.id, *other.short, other.id.partition(".")[2]}
            if suite_of(other.id) == suite and names & {one.id, *one.short, one.id.partition(".")[2]}:
                raise UnusableError(f"metric {one.id} is defined twice")
    token = _MORE.set((*_MORE.get(), *(one for one in added if one.id not in {more.id for more in _MORE.get()})))
    try:
        yield
    finally:
        _MORE.reset(token)


def enter(made: Metric) -> None:
    """Put a metric that no function of its own defines onto the list."""
    _REGISTRY[made.id] = made


def all_metrics(suite: str | None = None) -> dict[str, Metric]:
    """Every metric by id (or those of one suite), in the order of definition, suite by suite."""
    suites = (*SUITES, *_OUTSIDE) if suite is None else (suite,)
    wanted = [one for name in suites for one in FAMILIES.get(name, (name,))]
    more = [one for name in suites if name in _OUTSIDE for one in metrics_in(import_module(_OUTSIDE[name]))]
    for one in wanted:
        name = f"ragworthy.metrics.{one}"
        if one not in _OUTSIDE and name not in sys.modules:
            import_module(name)
    there = _REGISTRY | {one.id: one for one in (*more, *_MORE.get())}
    return {name: metric for one in wanted for name, metric in there.items() if name.startswith(f"{one}.")}


class _Named(NamedTuple):
    metric: Metric
    k: int | None


class MetricName(_Named):
    """A metric as a gate or a report names it: id without k, and k where it has one."""

    @cached_property  # rows ask for it once for each question
    def id(self) -> str:
        """The full id, e.g. `answers.recall@5`."""
        return self.metric.id if self.k is None else f"{self.metric.id}@{self.k}"

    @property
    def depth(self) -> dict[str, int]:
        """What its function is given besides facts."""
        return {} if self.k is None else {"k": self.k}


def find(
    name: str,
    *,
    default_k: int,
    suite: str | None = None,
    known: Mapping[str, Metric] | None = None,
    among: Iterable[str] = (),
) -> MetricName | None:
    """The metric a text names: an id, a short name, or the name that a source gives it; `@k` stands for the suite's own
    k. None where it names none; or several, so that nobody knows which is meant.

    `known` are the metrics of a suite whose fields a file defines, instead of the usual ones. Of several metrics
    that of the suites `among` is meant.

    >>> find("under", default_k=5).id, find("answers.recall@10", default_k=5).id, find("recall@k", default_k=3).id
    ('answers.under_refusal', 'answers.recall@10', 'answers.recall@3')
    >>> find("CHR", default_k=5).id, find("P@5", default_k=5).id, find("ΔS_med", default_k=5).id
    ('answers.chr', 'retrieval.precision@5', 'retrieval.delta_s_median')
    >>> find("recall", default_k=5) is None, find("Recall@5", default_k=5) is None
    (True, True)
    >>> find("Recall@5", default_k=5, among=["answers", "latency"]).id
    'answers.recall@5'
    """
    found = meant(name, default_k=default_k, suite=suite, known=known)
    if len(found) > 1:
        chosen = set(among)
        found = [one for one in found if suite_of(one.id) in chosen]
    return found[0] if len(found) == 1 else None


def meant(
    name: str, *, default_k: int, suite: str | None = None, known: Mapping[str, Metric] | None = None
) -> list[MetricName]:
    """Every metric that a text may mean. A name as we write it is that of the first suite that has it; another
    spelling, or the name of a source, is that of each suite that has it. Where a source has one name for two metrics
    of a suite, with and without k, it may mean either.

    >>> [one.id for one in meant("Recall@5", default_k=5)]
    ['answers.recall@5', 'retrieval.recall@5']
    >>> [one.id for one in meant("CHR@5", default_k=5)]
    ['answers.chr', 'answers.chr_ceiling@5']
    """
    base, at, depth = name.partition("@")
    choice = _choice(suite or suite_of(base), known).values()
    k = _depth(depth, default_k) if at else None
    if not at or k is not None:
        for one in choice:
            if base in (one.id, one.id.partition(".")[2], *one.short) and one.at_k == bool(at):
                return [MetricName(one, k)]
    loose, whole = folded(base), folded(name)
    found = []
    for one in choice:
        if one.at_k and k is not None and loose in one.spellings:
            found.append(MetricName(one, k))
        elif not one.at_k and whole in one.spellings:
            found.append(MetricName(one, None))
    suites = {suite_of(one.metric.id) for one in found if one.k is not None}
    plain = [one for one in choice if not one.at_k and loose in one.spellings and suite_of(one.id) in suites]
    return [*(MetricName(one, None) for one in plain), *found]


def sharing(name: str, suite: str | None = None) -> list[Metric]:
    """The metrics that share a name of the sources: each is a part of what the page means by it.

    >>> [one.id for one in sharing("λ_observe")][:2], len(sharing("ΔS", "latency")), sharing("CHR")
    (['retrieval.triplet_rate', 'retrieval.convergence'], 1, [])
    """
    begins = next((ids for shared, ids in SHARED.items() if folded(shared) == folded(name)), ())
    return [metric for key, metric in all_metrics(suite).items() if begins and key.startswith(begins)]


def _depth(text: str, default_k: int) -> int | None:
    """The k behind an @; None where it is none."""
    if text in ("k", "K"):
        return default_k
    good = text.isascii() and text.isdigit() and int(text) >= 1 and not text.startswith("0")
    return int(text) if good else None


T = TypeVar("T")


class ByName(dict[str, T]):
    """Something for each metric by id, found by every other name of it too.

    >>> ByName({"answers.chr": 1, "answers.recall@5": 2})["CHR"]
    1
    """

    def __missing__(self, name: str) -> T:
        suites = {suite_of(one) for one in self}
        found = {one.id for suite in suites for one in meant(name, default_k=0, suite=suite) if one.id in self}
        if len(found) == 1:
            return self[found.pop()]
        raise KeyError(f"{name}: expected one of {', '.join(sorted(found))}" if found else name)


def _choice(suite: str | None, known: Mapping[str, Metric] | None) -> Mapping[str, Metric]:
    """The metrics that a name may mean: those of the suite before those it borrows."""
    usual = all_metrics(suite)
    for other in BORROWED.get(suite or "", ()):
        usual |= all_metrics(other)
    if not known:
        return usual
    own = {name.partition(".")[0] for name in known}
    kept = {name: one for name, one in usual.items() if name.partition(".")[0] not in own}
    return kept | {name: one for name, one in known.items() if suite is None or name.startswith(f"{suite}.")}


def suite_of(name: str) -> str | None:
    """The suite that a full id names.

    >>> suite_of("cost.per_correct"), suite_of("answers.chr"), suite_of("chr")
    ('latency', 'answers', None)
    """
    family, dot, _ = name.partition(".")
    every = (*SUITES, *_OUTSIDE)
    return next((suite for suite in every if dot and family in FAMILIES.get(suite, (suite,))), None)


def every_name(suite: str | None = None, known: Mapping[str, Metric] | None = None) -> list[str]:
    """Every name as we write it, for suggestions."""
    names: list[Any] = []
    for one in _choice(suite, known).values():
        suffix = "@k" if one.at_k else ""
        names += [f"{name}{suffix}" for name in (one.id, *one.short)]
    return names
