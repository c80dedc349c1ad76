"""How differences are proven, as people write it: alpha, seed and cluster, in a policy, as flags or as keywords."""

from decimal import Decimal
from typing import Any, NamedTuple

from ragworthy.load.checker import Checker, shown, written
from ragworthy.proving import Proving
from ragworthy.stats import exact

LEAST_ALPHA, MOST_ALPHA = "0.001", "0.5"
"""Below, no number of changed questions proves anything, as 9,999 swaps are made; beyond, luck is the likelier cause.
"""
MOST_SEED = 2**53
CLUSTERS = ("document", "question")
"""What stands or falls together: the questions about one document, or each question for itself."""


class HowProven(NamedTuple):
    """How differences are tested, and what changes sides as one."""

    proving: Proving
    cluster: str


def parse_proving(check: Checker, table: dict[str, Any]) -> HowProven:
    """The keys of a policy, or of whatever else has them."""
    usual = Proving()
    alpha = written(table["alpha"]) if "alpha" in table else usual.alpha
    if alpha is None or bad_alpha(alpha):
        check.say(
            "RW-P21", "alpha", f"expected a number from {LEAST_ALPHA} up to {MOST_ALPHA}, got {shown(table['alpha'])}"
        )
        alpha = usual.alpha
    seed = check.take(table, "seed", int, "", "a whole number")
    if seed is not None and not 0 <= seed < MOST_SEED:
        check.say("RW-P21", "seed", f"expected a whole number from 0 up, got {seed}")
        seed = None
    return HowProven(Proving(alpha, seed or 0), check.choice(table, "cluster", CLUSTERS, "", CLUSTERS[0]))


def bad_alpha(text: str) -> bool:
    """Whether a text is not a rate of false alarms that somebody could mean."""
    number = exact(text)
    return number is None or not (exact(LEAST_ALPHA) or 0) <= number <= (exact(MOST_ALPHA) or 0)


def proving_of(given: dict[str, Any], where: str = "") -> HowProven:
    """The same from flags or keywords, in which a number may be a text; what is None was not given."""
    check = Checker(where)
    table = {key: value for key, value in given.items() if value is not None}
    if isinstance(table.get("alpha"), (str, float)):
        number = exact(str(table["alpha"]))
        table["alpha"] = table["alpha"] if number is None else Decimal(str(table["alpha"]))
    found = parse_proving(check, table)
    check.stop()
    return found
