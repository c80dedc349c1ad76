"""Claims that read like a refusal and count as answers: which pack would know them, and the line to paste."""

from collections.abc import Sequence
from typing import NamedTuple

from ragworthy.load.refusal_packs import load_refusal_pack
from ragworthy.metrics.facts.refusals import refusing
from ragworthy.names import REFUSAL_PACKS
from ragworthy.text import trim_fold


class Paste(NamedTuple):
    """A line of a policy, and how many claims it would make refusals."""

    packs: tuple[str, ...]
    caught: int

    @property
    def text(self) -> str:
        """The line itself."""
        listed = ", ".join(f'"{name}"' for name in self.packs)
        return f"refusal_packs = [{listed}]"


def unknown(claims: Sequence[str], packs: Sequence[str]) -> list[str]:
    """The claims that none of these packs knows.

    >>> unknown(["I could not find this in the documentation.", "Ask Bob instead."], ["en"])
    ['Ask Bob instead.']
    """
    loaded = [load_refusal_pack(name) for name in packs]
    return [one for one in claims if not any(refusing(trim_fold(one), pack) for pack in loaded)]


def paste(claims: Sequence[str]) -> Paste | None:
    """The packs that know these claims, as few as do; None where none knows any.

    >>> paste(["I could not find this in the documentation.", "42"])
    Paste(packs=('en',), caught=1)
    """
    left = list(claims)
    names: list[str] = []
    for name, packs in REFUSAL_PACKS.items():
        if packs != (name,) or not left:
            continue
        pack = load_refusal_pack(name)
        rest = [claim for claim in left if refusing(trim_fold(claim), pack) is None]
        names += [name] if len(rest) < len(left) else []
        left = rest
    return Paste(tuple(names), len(claims) - len(left)) if names else None
