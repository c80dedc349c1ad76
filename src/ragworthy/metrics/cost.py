"""Metrics of the cost family, and what a run costs: exact, or not known with the reason; never silently cheaper."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from ragworthy.metrics.answers import precision
from ragworthy.metrics.latency import Sample, stage_name
from ragworthy.metrics.registry import metric

SOURCE = "ProblemMap Eval/eval_cost_reporting.md"
NO_PRICES = "no prices were given (--prices)"
NOTHING_CORRECT = "nothing was correct"
ALERT_AT = Fraction(11, 10)
"""Spending is on its way out of the budget above this share of the cap."""
_COUNTS = {"prompt_tokens": "in", "input_tokens": "in", "completion_tokens": "out", "output_tokens": "out",
           "total_tokens": "all"}  # fmt: skip
"""How usage names its token counts, and what they count."""


class Price(NamedTuple):
    """What a thousand tokens cost; one that names neither model nor stage is for all others."""

    model: str | None
    stage: str | None
    into: Fraction
    out: Fraction

    @property
    def flat(self) -> bool:
        """Whether every token costs the same."""
        return self.into == self.out


class Budget(NamedTuple):
    """What may be spent in a month, and what was spent so far."""

    cap: Fraction
    spent: Fraction
    day: int
    days: int


class Prices(NamedTuple):
    """A price list."""

    currency: str
    prices: tuple[Price, ...]
    budget: Budget | None = None


def price_of(prices: Iterable[Price], model: str | None, stage: str) -> Price | None:
    """The price that fits best: one that names the model before one that names the stage before one for all."""
    fitting = [one for one in prices if one.model in (None, model) and one.stage in (None, stage)]
    return max(fitting, key=lambda one: (one.model is not None, one.stage is not None), default=None)


def spend_of(
    usage: Mapping[str, Any] | None, prices: Prices | None, model: str | None = None, *, errored: bool = False
) -> Fraction | str:
    """What one run cost by its usage, or why that is not known; `model` answers where the usage does not say which.

    A stage of an error that does not say what it used adds nothing: the suite warns of it (RW-W97).

    >>> flat = Prices("USD", (Price(None, None, Fraction("0.006"), Fraction("0.006")),))
    >>> spend_of({"total_tokens": 3770}, flat) == Fraction("0.02262")
    True
    >>> spend_of(None, flat)
    'usage is not recorded'
    >>> spend_of({"model": "m", "attempts": 0}, flat, errored=True)
    Fraction(0, 1)
    """
    if prices is None:
        return NO_PRICES
    if not usage:
        return Fraction(0) if errored else "usage is not recorded"
    total = Fraction(0)
    for stage, counts in _stages_of(usage):
        if errored and not _counted(counts):
            continue
        named = counts.get("model") or ((usage.get("model") or model) if stage == "llm" else None)
        spend = _spend(counts, prices, named if isinstance(named, str) else None, stage)
        if isinstance(spend, str):
            return spend
        total += spend
    return total


def unpriced(usage: Mapping[str, Any] | None, *, errored: bool) -> bool:
    """Whether nobody knows what a run used, or what a stage of it did, because it ended in an error."""
    return errored and not all(_counted(counts) for _, counts in _stages_of(usage or {}))


def _counted(counts: Mapping[str, Any]) -> bool:
    """Whether counts say anything of tokens."""
    return any(counts.get(name) is not None for name in _COUNTS)


_CACHED = ("cached_tokens", "prompt_cache_hit_tokens", "cache_read_input_tokens")


class Prompt(NamedTuple):
    """The tokens of a prompt, and how many of them came out of the server's cache."""

    tokens: int
    cached: int


def prompt_of(usage: Mapping[str, Any] | None) -> Prompt | None:
    """What usage tells of a run's prompt and the cache; None where it does not.

    >>> prompt_of({"llm": {"prompt_tokens": 420, "cached_tokens": 20}}), prompt_of({"prompt_tokens": 420})
    (Prompt(tokens=420, cached=20), None)
    """
    prompt = cached = 0
    told = False
    for _, counts in _stages_of(usage or {}):
        details = counts.get("prompt_tokens_details") or counts.get("input_tokens_details")
        places = [counts, details] if isinstance(details, dict) else [counts]
        found = [_count(place, name) for place in places for name in _CACHED]
        told = told or any(one is not None for one in found)
        cached += max((one for one in found if one is not None), default=0)
        prompt += _count(counts, "prompt_tokens") or _count(counts, "input_tokens") or 0
    return Prompt(prompt, cached) if told else None


def shared_start(prompts: Sequence[Prompt]) -> int:
    """How many tokens the prompts begin with alike, so that the cache always has them: the instructions.

    It is the least that came out of the cache, a tenth of the runs apart, which may have met it cold. A prompt of which
    nearly all was there says nothing of that.

    >>> shared_start([Prompt(147, 90), Prompt(183, 94), Prompt(198, 197)]), shared_start([Prompt(420, 414)] * 5)
    (90, 0)
    """
    partly = sorted(one.cached for one in prompts if 20 * one.cached < 19 * one.tokens)
    return partly[len(partly) // 10] if partly else 0


def from_cache(prompt: Prompt, shared: int) -> bool:
    """Whether at least half of a prompt came out of the server's cache, what all prompts begin with apart.

    >>> from_cache(Prompt(147, 90), 90), from_cache(Prompt(183, 94), 90), from_cache(Prompt(176, 162), 90)
    (False, False, True)
    """
    return prompt.cached > shared and 2 * (prompt.cached - shared) >= prompt.tokens - shared


def _count(counts: Mapping[str, Any], name: str) -> int | None:
    given = counts.get(name)
    return given if isinstance(given, int) and not isinstance(given, bool) else None


def _stages_of(usage: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """The counts of each stage; counts that are alone are those of the model's stage."""
    if any(name in usage for name in _COUNTS):
        return [("llm", usage)]
    nested: list[tuple[str, Mapping[str, Any]]]
    nested = [(stage_name(name), counts) for name, counts in usage.items() if isinstance(counts, dict)]
    return nested or [("llm", usage)]


def _spend(counts: Mapping[str, Any], prices: Prices, model: str | None, stage: str) -> Fraction | str:
    found: dict[str, int] = {}
    for name, kind in _COUNTS.items():
        count = counts.get(name)
        if count is None:
            continue
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            return f"usage has a {name} that is not a whole number from 0"
        found[kind] = count
    if not found:
        return f"usage has no token counts for the stage {stage}"
    price = price_of(prices.prices, model, stage)
    if price is None:
        return f"no price for the model {model}" if model else f"no price for the stage {stage}, and no model is named"
    return _priced(found, price)


def _priced(found: Mapping[str, int], price: Price) -> Fraction | str:
    """Counts at a price; the third of in, out and all follows from the other two."""
    total, into, out = found.get("all"), found.get("in"), found.get("out")
    if price.flat and total is not None:
        return max(total, (into or 0) + (out or 0)) * price.into / 1000
    if into is None and total is not None and out is not None:
        into = total - out
    if out is None and total is not None and into is not None:
        out = total - into
    if into is None or out is None:
        return "usage does not tell tokens in from tokens out"
    if into < 0 or out < 0:
        return "usage has fewer tokens in all than in one direction"
    return (into * price.into + out * price.out) / 1000


def projected(budget: Budget) -> Fraction:
    """What a month will have cost, going on as so far.

    >>> projected(Budget(Fraction(100), Fraction(60), 15, 30))
    Fraction(120, 1)
    """
    return budget.spent / budget.day * budget.days


def over_budget(budget: Budget) -> bool:
    """Whether the month is on its way beyond 110 % of its cap.

    >>> [over_budget(Budget(Fraction(100), Fraction(spent), 15, 30)) for spent in (55, 56)]
    [False, True]
    """
    return projected(budget) > ALERT_AT * budget.cap


def correct(sample: Sample) -> bool:
    """Whether a run gave a right, properly cited answer that keeps its constraints."""
    return sample.facts is not None and precision(sample.facts) is True


@metric(
    better="lower",
    kind="ratio",
    over="run",
    highest=None,
    cases="runs",
    event="spent for each correct answer",
    undefined=NOTHING_CORRECT,
    source=SOURCE,
)
def per_correct(sample: Sample) -> tuple[Fraction | str, int]:
    """Money spent on all runs for each run that was right, properly cited and kept its constraints."""
    return sample.spend, correct(sample)


@metric(
    better="lower",
    kind="sum",
    over="run",
    highest=None,
    cases="runs",
    event="spent",
    undefined="no run was measured",
    source=SOURCE,
)
def total(sample: Sample) -> Fraction | str:
    """Money spent on all runs."""
    return sample.spend


@metric(
    better="lower",
    kind="spread",
    over="run",
    highest=None,
    cases="seeds and paraphrases",
    event="deviation over mean",
    undefined="needs runs under several seeds or paraphrases",
    source=SOURCE,
)
def variation(sample: Sample) -> tuple[tuple[int, int], Fraction | str]:
    """How much the spend moves from one seed and paraphrase to another: standard deviation over mean."""
    return sample.variant, sample.spend


@metric(
    better="higher",
    kind="share",
    over="run",
    needs="corpus",
    cases="tokens of the context",
    event="belonging to gold evidence that was cited",
    undefined="needs chunk texts and answers",
    source=SOURCE,
)
def token_efficiency(sample: Sample) -> tuple[int, int] | str:
    """Share of the context's tokens that belong to gold evidence the answer cites."""
    return sample.tokens
