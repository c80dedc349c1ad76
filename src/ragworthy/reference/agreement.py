"""The agreement of two validators as the sources' own program counts it, quirks and all.

It works on plain decoded JSON. Pairs with an unknown label are left out of every rate and still listed as
disagreements, pairs are not checked for repeated ids, only the scholar's abstentions count, and κ is 0 where it has no
value.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ragworthy.metrics.facts.arbitration import ABSTAIN, FLAGS, HEADER, LABELS, NOT_IN_CONTEXT, REJECT, VALID

GATES = {"pa": 0.9, "kappa": 0.75, "abstain": 0.02}
_NOTHING = 1e-12
_PLACES = 4


def score(pairs: Sequence[Any], gates: Mapping[str, float] = GATES) -> dict[str, Any]:
    """The printed object of the original program.

    >>> score([])["pass"]
    False
    """
    known = [both for both in map(_labels, pairs) if both[0] in LABELS and both[1] in LABELS]
    agreed, kappa, abstained = _rates(known)
    return {
        "n": len(known),
        "percent_agreement": round(agreed, _PLACES),
        "kappa": round(kappa, _PLACES),
        "abstain_rate": round(abstained, _PLACES),
        "disagreements": len(_disagreements(pairs)),
        "gates": {name: gates[name] for name in GATES},
        "pass": agreed >= gates["pa"] and kappa >= gates["kappa"] and abstained <= gates["abstain"],
    }


def _labels(pair: Any) -> tuple[Any, Any]:
    return pair["scholar"]["label"], pair["auditor"]["label"]


def _rates(known: list[tuple[Any, Any]]) -> tuple[float, float, float]:
    """Percent agreement, κ and the scholar's abstentions, in floating point as the original has them."""
    total = len(known)
    if total == 0:
        return 0.0, 0.0, 0.0
    scholar, auditor = (Counter(side) for side in zip(*known, strict=True))
    agreed = sum(one == other for one, other in known) / total
    by_chance = sum((scholar[label] / total) * (auditor[label] / total) for label in LABELS)
    left = 1 - by_chance
    kappa = (agreed - by_chance) / left if left > _NOTHING else 0.0
    return agreed, kappa, scholar[ABSTAIN] / total


def _disagreements(pairs: Iterable[Any]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for pair in pairs:
        scholar, auditor = _labels(pair)
        if scholar != auditor:
            rows.append((pair["qid"], scholar, auditor, *_final(pair, scholar, auditor)))
    return rows


def _final(pair: Any, scholar: Any, auditor: Any) -> tuple[str, str]:
    flags = pair.get("flags", {})
    if any(flags.get(name) for name in FLAGS):
        return REJECT, "hard_flag"
    cited = set((pair.get("answer_json") or {}).get("citations") or [])
    if not cited <= set(pair.get("retrieved_ids") or []):
        return REJECT, "citation_out_of_scope"
    if auditor != VALID:
        return REJECT, "auditor_veto"
    return (VALID, "auditor_ok") if scholar in (VALID, NOT_IN_CONTEXT) else (REJECT, "incoherent_pair")


def tsv(pairs: Iterable[Any]) -> str:
    """The table of disagreements; nothing at all when there is none, as the original writes no file then."""
    rows = _disagreements(pairs)
    return "".join("\t".join(row) + "\n" for row in (HEADER, *rows)) if rows else ""


def joined(scholar: Iterable[Any], auditor: Iterable[Any]) -> list[dict[str, Any]]:
    """Pairs from two files: the ids that both have, sorted; the last row of an id counts."""
    first, second = ({row["qid"]: row for row in rows} for rows in (scholar, auditor))
    return [
        {"qid": qid, "scholar": {"label": first[qid]["label"]}, "auditor": {"label": second[qid]["label"]}}
        for qid in sorted(first.keys() & second.keys())
    ]
