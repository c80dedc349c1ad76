"""Counts of tokens under the names that frameworks and services give them, as the latency suite reads them."""

from collections.abc import Mapping
from typing import Any

from ragworthy.adapters.documents import opened_number

COUNT_NAMES = {
    "prompt_tokens": ("input", "input_tokens", "prompt_tokens", "promptTokens"),
    "completion_tokens": ("output", "output_tokens", "completion_tokens", "completionTokens"),
    "total_tokens": ("total", "total_tokens", "totalTokens"),
}


def count(value: Any) -> int | None:
    """A number of tokens; None where a value is none."""
    number = opened_number(value) if isinstance(value, str) else value
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number < 1e15:
        return None
    return int(number)


def tokens(counts: Mapping[str, Any]) -> dict[str, Any]:
    """The tokens that a mapping counts, under the names of a trace; what is not counted is not there.

    >>> tokens({"input_tokens": 12, "output_tokens": 3, "input_token_details": {}})
    {'prompt_tokens': 12, 'completion_tokens': 3}
    """
    found = {name: [one for key in keys if (one := count(counts.get(key))) is not None]
             for name, keys in COUNT_NAMES.items()}  # fmt: skip
    return {name: values[0] for name, values in found.items() if values}


def together(calls: list[dict[str, Any]]) -> dict[str, Any]:
    """The tokens of several model calls; a count that one of them lacks is left out, and so are different models.

    >>> together([{"prompt_tokens": 5, "model": "m"}, {"prompt_tokens": 7, "model": "m"}])
    {'prompt_tokens': 12, 'model': 'm'}
    """
    total: dict[str, Any] = {
        name: sum(one[name] for one in calls) for name in COUNT_NAMES if calls and all(name in one for one in calls)
    }
    models = {one.get("model") for one in calls}
    return total | {"model": models.pop()} if total and len(models) == 1 and None not in models else total
