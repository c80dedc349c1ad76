"""What makes a claim a refusal besides the exact texts, where settings ask for it."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ragworthy.metrics.facts.refusals import Refusals


def by_rule_of(settings: Any) -> "Refusals | None":
    """The packs, beginnings and patterns of the settings; loads nothing where there are none."""
    if not settings.refusal_packs and not settings.refusal_starts and not settings.refusal_patterns:
        return None
    from ragworthy.load.refusal_packs import refusals_of

    return refusals_of(settings)
