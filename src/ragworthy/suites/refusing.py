"""What makes a claim a refusal besides the exact texts, where settings ask for it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ragworthy.text import trim_fold

if TYPE_CHECKING:
    from ragworthy.metrics.facts.refusals import Refusals


def by_rule_of(settings: Any) -> "Refusals | None":
    """The packs, beginnings and patterns of the settings; loads nothing where there are none."""
    if not settings.refusal_packs and not settings.refusal_starts and not settings.refusal_patterns:
        return None
    from ragworthy.load.refusal_packs import refusals_of

    return refusals_of(settings)


def refuses_of(settings: Any) -> Callable[[str], bool]:
    """A function that tells whether a claim is a refusal, from the claim alone."""
    exact = {trim_fold(text) for text in settings.refusals}
    by_rule = by_rule_of(settings)
    return lambda claim: trim_fold(claim) in exact or (by_rule is not None and by_rule.rule(claim) is not None)
