"""The answers suite as the sources' own scorer reads it, quirks and all.

It works on plain decoded JSON, because that program gives a meaning to values that the records refuse. Where it stops
with an error, so does this: with the built-in error of the same cause.
"""

from collections.abc import Iterable
from typing import Any

from ragworthy.names import MIN_SUBSTR, REFUSAL

DEFAULT_GATES = "precision=0.80,chr=0.75,under=0.05,over=0.10"


def score(gold: Iterable[Any], traces: Iterable[Any], k: int, gates: str) -> dict[str, Any]:
    """The printed object of the reference scorer; a missing trace is an empty answer, and the last line wins.

    >>> score([], [], 5, DEFAULT_GATES)["pass"]
    True
    """
    items = {item["qid"]: item for item in gold}
    last: dict[Any, Any] = {}
    for trace in traces:
        qid = trace.get("qid") or trace.get("q_id")
        if qid:
            last[qid] = trace
    count = dict.fromkeys(("answered", "refused", "answerable", "unanswerable"), 0)
    right = hits = under = over = found = wanted = 0
    for qid, item in items.items():
        answerable = item.get("answerable")
        claim, cited, retrieved = _answer(last.get(qid, {}))
        shipped = claim.lower() != REFUSAL
        count["answerable" if answerable else "unanswerable"] += 1
        count["answered" if shipped else "refused"] += 1
        if shipped:
            contains = _contains(claim, item.get("gold_claim_substr"))
            hit = _hit(cited, item.get("gold_citations"), retrieved)
            under += answerable == False  # noqa: E712 - 0 counts as false there
            if answerable != False:  # noqa: E712
                hits += hit
                right += contains and hit
        else:
            over += answerable == True  # noqa: E712 - 1 counts as true there
        if answerable == True:  # noqa: E712
            wanted += 1
            found += set(item.get("gold_citations") or []) <= set(retrieved[:k])
    shipped_count = count["answered"]
    rates = {
        "precision": right / shipped_count if shipped_count else 1.0,
        "chr": hits / shipped_count if shipped_count else 1.0,
        "under_refusal": under / count["unanswerable"] if count["unanswerable"] else 0.0,
        "over_refusal": over / count["answerable"] if count["answerable"] else 0.0,
        "recall@k": found / wanted if wanted else 0.0,
    }
    limits = dict(part.split("=") for part in gates.split(","))
    return {
        **count,
        **{name: round(value, 4) for name, value in rates.items()},
        "k": k,
        "gates": limits,
        "pass": _passes(rates, limits),
    }


def _answer(trace: Any) -> tuple[str, Any, Any]:
    answer = trace.get("answer_json") or {}
    claim = (answer.get("claim") or "").strip()
    return claim, answer.get("citations") or [], trace.get("retrieved_ids") or []


def _contains(claim: str, pieces: Any) -> bool:
    """Whether a piece of five characters or more occurs; no pieces at all ([] and nothing else) is a yes."""
    folded = claim.lower()
    lowered = [] if not pieces else (piece.lower() for piece in pieces)
    return any(len(piece) >= MIN_SUBSTR and piece in folded for piece in lowered) or pieces == []


def _hit(cited: Any, gold: Any, retrieved: Any) -> bool:
    if not isinstance(cited, list) or not set(cited) <= set(retrieved):
        return False
    return bool(set(cited) & set(gold)) if gold else cited == []


def _passes(rates: dict[str, float], limits: dict[str, str]) -> bool:
    """The four gates in the order that decides which bad threshold is met first."""
    return (
        rates["precision"] >= float(limits["precision"])
        and rates["chr"] >= float(limits["chr"])
        and rates["under_refusal"] <= float(limits["under"])
        and rates["over_refusal"] <= float(limits["over"])
    )
