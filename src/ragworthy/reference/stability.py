"""The stability suite as the sources' own scorer reads it, quirks and all.

It works on plain decoded JSON and stops where that program does, with the built-in error of the same cause. Numbers
are floats, made in its order of operations, so that the printed digits are the same.
"""

import re
import string
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from ragworthy import edits
from ragworthy.names import MIN_SUBSTR, REFUSAL

DEFAULT_LIMITS: Mapping[str, float] = {"acr": 0.95, "cghc": 0.95, "css": 0.70, "ned50": 0.20, "rcr": 0.98}
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def score(gold: Iterable[Any], runs: Iterable[Any], limits: Mapping[str, float] = DEFAULT_LIMITS) -> dict[str, Any]:
    """The printed object of the reference scorer: questions are those that have runs, in the order of the runs.

    A limit on the refusal rate, which that program does not know, is taken as its limit on the consistency of refusals.

    >>> score([], [])["pass"]
    True
    """
    given = {"rcr" if name == "refusal_rate" else name: number for name, number in limits.items()}
    items = {item["qid"]: item for item in gold}
    asked: dict[Any, list[Any]] = {}
    for run in runs:
        asked.setdefault(run["qid"], []).append(run)
    totals = dict.fromkeys(("answerable", "unanswerable", "fail", "pass"), 0)
    details = {}
    for qid, answers in asked.items():
        item = items.get(qid, {})
        answerable = bool(item.get("answerable"))
        numbers = _numbers(item, answers)
        totals["answerable" if answerable else "unanswerable"] += 1
        totals["pass" if _holds(numbers, given, answerable) else "fail"] += 1
        details[qid] = {name: round(one, 4) if isinstance(one, float) else one for name, one in numbers.items()}
    return {"totals": totals, "gates": given, "pass": totals["fail"] == 0, "details": details}


def _numbers(item: Any, runs: Sequence[Any]) -> dict[str, Any]:
    """The six numbers of one question."""
    answers = [run.get("answer_json", {}) for run in runs]
    claims = [answer.get("claim", "") for answer in answers]
    cited = [list(answer.get("citations", []) or []) for answer in answers]
    refused = [_refuses(claim) for claim in claims]
    pieces = item.get("gold_claim_substr")
    contained = [_contains(claim, pieces) for claim in claims]
    hits = [
        _hit(some, item.get("gold_citations"), run.get("retrieved_ids", []) or [])
        for some, run in zip(cited, runs, strict=True)
    ]
    sets = [set(some) for some in cited]
    union = set[Any]().union(*sets)
    said = [canon(claim) for claim in claims if claim and not _refuses(claim)]
    return {
        "acr": sum(contained) / len(runs),
        "cghc": sum(hits) / len(runs),
        "css": len(sets[0].intersection(*sets)) / len(union) if union else 1.0,
        "ned50": _median([_apart(one, other) for one, other in combinations(said, 2)]),
        "rcr": max(sum(refused), len(runs) - sum(refused)) / len(runs),
        "scu_cons": _echoed(item.get("constraints"), answers),
    }


def _holds(numbers: dict[str, Any], limits: dict[str, float], answerable: bool) -> bool:
    """Whether a question passes; limits are looked up in this order, so that a missing one stops at the same place."""
    if not answerable:
        return bool(numbers["rcr"] >= limits["rcr"])
    return (
        numbers["acr"] >= limits["acr"]
        and numbers["cghc"] >= limits["cghc"]
        and numbers["css"] >= limits["css"]
        and numbers["ned50"] <= limits["ned50"]
        and numbers["scu_cons"] in (None, 1)
    )


def _refuses(claim: Any) -> bool:
    return bool((claim or "").strip().lower() == REFUSAL)


def canon(text: str) -> str:
    """Lower case, without ASCII punctuation; a blank that stood before a full stop stays at the end.

    >>> canon("X rejects null keys .")
    'x rejects null keys '
    """
    return re.sub(r"\s+", " ", text.lower().strip().translate(_NO_PUNCTUATION))


def _contains(claim: Any, pieces: Any) -> bool:
    """Whether a piece of five characters or more occurs; no pieces at all is a yes, a piece of signs only as well."""
    said = canon(claim or "")
    return not pieces or any(canon(piece) in said for piece in pieces if piece and len(piece) >= MIN_SUBSTR)


def _hit(cited: list[Any], gold: Any, retrieved: Any) -> bool:
    if not set(cited) <= set(retrieved):
        return False
    return bool(set(cited) & set(gold)) if gold else not cited


def _apart(one: str, other: str) -> float:
    return edits.distance(one, other) / max(len(one), len(other), 1)


def _median(numbers: list[float]) -> float:
    if not numbers:
        return 0.0
    ordered = sorted(numbers)
    below, odd = divmod(len(ordered) - 1, 2)
    return ordered[below] * 0.5 + ordered[below + 1] * 0.5 if odd else ordered[below]


def _echoed(constraints: Any, answers: Sequence[Any]) -> int | None:
    if not constraints:
        return None
    return int(all(set(answer.get("constraints_echo") or []) == set(constraints) for answer in answers))
