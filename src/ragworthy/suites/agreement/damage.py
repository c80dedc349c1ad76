"""What a selftest does to the votes of the agreement suite: to pairs, or to the ratings of several raters."""

import hashlib
from collections.abc import Callable

import msgspec

from ragworthy.records import Mark, Pair, Rating, Vote
from ragworthy.suites.damage import Damage

_OF_VOTES = (
    "agreement.percent",
    "agreement.kappa",
    "agreement.pairwise",
    "agreement.fleiss",
    "agreement.audit_reproducibility",
)
Voted = Pair | Rating | Mark
"""What a selftest finds: a pair, or the record of an operator, then its vote."""
_SPLITS = range(8)
"""Which raters there are is not known: several ways to split them."""


def damages() -> tuple[Damage, ...]:
    """Every damage; those that split the raters are aimed at whatever no other is."""
    return (
        Damage("every second vote made another", _OF_VOTES, _disputed),
        Damage("every vote an abstention", ("agreement.abstain",), _abstained),
        Damage("every rater made the same one", ("agreement.raters",), _one_voice),
        Damage("every distance made another", ("agreement.delta_s_drift",), _elsewhere),
        *(Damage("some raters made to find everything wrong", (), _partisan(bit)) for bit in _SPLITS),
    )


def _disputed(voted: Voted) -> Voted:
    """The auditor, or every rater, says something of its own."""
    if isinstance(voted, Pair):
        label = "REJECT" if voted.scholar is None or voted.scholar.label != "REJECT" else "VALID"
        return msgspec.structs.replace(voted, auditor=Vote(label))
    return msgspec.structs.replace(voted, label=f"{voted.label} {voted.rater}") if isinstance(voted, Rating) else voted


def _abstained(voted: Voted) -> Voted:
    return msgspec.structs.replace(voted, scholar=Vote("ABSTAIN")) if isinstance(voted, Pair) else voted


def _one_voice(voted: Voted) -> Voted:
    return msgspec.structs.replace(voted, rater="one") if isinstance(voted, Rating) else voted


def _elsewhere(voted: Voted) -> Voted:
    """Everybody records a distance of their own, whoever looks again a greater one than all of them."""
    if not isinstance(voted, Mark) or voted.distance is None:
        return voted
    own = hashlib.sha256(voted.operator.encode()).digest()[0] / 512
    return msgspec.structs.replace(voted, delta_s=1.0 if voted.auditor is not None else own)


def _partisan(bit: int) -> Callable[[Voted], Voted]:
    """Some raters, by a bit of the hash of their names, never say that anything is correct."""

    def damage(voted: Voted) -> Voted:
        if not isinstance(voted, Rating) or not hashlib.sha256(voted.rater.encode()).digest()[0] >> bit & 1:
            return voted
        return msgspec.structs.replace(voted, label="wrong")

    return damage
