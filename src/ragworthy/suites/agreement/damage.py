"""What a selftest does to the votes of the agreement suite: to pairs, or to the ratings of several raters."""

import hashlib
from collections.abc import Callable

import msgspec

from ragworthy.records import Pair, Rating, Vote
from ragworthy.suites.damage import Damage

_OF_VOTES = ("agreement.percent", "agreement.kappa", "agreement.pairwise", "agreement.fleiss")
_SPLITS = range(8)
"""Which raters there are is not known: several ways to split them."""


def damages() -> tuple[Damage, ...]:
    """Every damage; those that split the raters are aimed at whatever no other is."""
    return (
        Damage("every second vote made another", _OF_VOTES, _disputed),
        Damage("every vote an abstention", ("agreement.abstain",), _abstained),
        Damage("every rater made the same one", ("agreement.raters",), _one_voice),
        *(Damage("some raters made to find everything wrong", (), _partisan(bit)) for bit in _SPLITS),
    )


def _disputed(voted: Pair | Rating) -> Pair | Rating:
    """The auditor, or every rater, says something of its own."""
    if isinstance(voted, Pair):
        label = "REJECT" if voted.scholar is None or voted.scholar.label != "REJECT" else "VALID"
        return msgspec.structs.replace(voted, auditor=Vote(label))
    return msgspec.structs.replace(voted, label=f"{voted.label} {voted.rater}")


def _abstained(voted: Pair | Rating) -> Pair | Rating:
    return msgspec.structs.replace(voted, scholar=Vote("ABSTAIN")) if isinstance(voted, Pair) else voted


def _one_voice(voted: Pair | Rating) -> Pair | Rating:
    return voted if isinstance(voted, Pair) else msgspec.structs.replace(voted, rater="one")


def _partisan(bit: int) -> Callable[[Pair | Rating], Pair | Rating]:
    """Some raters, by a bit of the hash of their names, never say that anything is correct."""

    def damage(voted: Pair | Rating) -> Pair | Rating:
        if isinstance(voted, Pair) or not hashlib.sha256(voted.rater.encode()).digest()[0] >> bit & 1:
            return voted
        return msgspec.structs.replace(voted, label="wrong")

    return damage
