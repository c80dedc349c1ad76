"""The retrieval suite as the evaluator of its source page reads it: one log a question, the first citation only.

It works on plain decoded JSON and floats, as that evaluator does; where it stops with an error, so does this.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ragworthy.metrics.facts.cites import WINDOW
from ragworthy.metrics.facts.spans import gap

KEYS = ("ΔS", "ΔS_list", "delta_s", "deltaS", "dS", "∆S", "Î”S", "ŒîS")
"""Every spelling under which distances are written."""


def score(
    gold: Iterable[Any],
    logs: Iterable[Any],
    k: int,
    *,
    section_of: Callable[[str], str],
    gold_offsets: Callable[[Any, str], Sequence[int]],
) -> dict[str, Any]:
    """What the evaluator returns; the last log of a question counts."""
    by_qid = {log["qid"]: log for log in logs}
    precisions, recalls, medians, nineties = [], [], [], []
    covered = accurate = questions = 0
    for question in gold:
        questions += 1
        log = by_qid[question["qid"]]
        items = log["topk"][:k]
        got, relevant = {item["id"] for item in items}, set(question["relevant"])
        precisions.append(len(got & relevant) / max(1, len(items)))
        recalls.append(len(got & relevant) / max(1, len(relevant)))
        distances: list[float] = next((log[key] for key in KEYS if key in log), [])[:k]
        if distances:
            medians.append(percentile(distances, 50))
            nineties.append(percentile(distances, 90))
        answer = log.get("answer_citations", [])
        if answer:
            cited, offsets = answer[0]["id"], answer[0]["offsets"]
            covered += cited in relevant or section_of(cited) == section_of(question["anchor_section"])
            if cited in relevant:
                accurate += gap(tuple(offsets), _pair(gold_offsets(question, cited))) <= WINDOW
    return {
        "P@k": sum(precisions) / len(precisions),
        "R@k": sum(recalls) / len(recalls),
        "coverage": covered / questions,
        "citation_accuracy": accurate / questions,
        "ΔS_med": percentile(medians, 50) if medians else None,
        "ΔS_p90": percentile(nineties, 50) if nineties else None,
    }


def _pair(offsets: Sequence[int]) -> tuple[int, int]:
    begin, end = offsets
    return begin, end


def percentile(values: Sequence[float], percent: int) -> float:
    """The usual percentile, linear between neighbours; of two values, their mean in floats.

    >>> percentile([0.31, 0.59], 50), round(percentile([0.31, 0.59], 90), 6)
    (0.44999999999999996, 0.562)
    """
    ordered = sorted(values)
    position = percent / 100 * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    if percent == 50 and below != above and position - below == 0.5:
        return (ordered[below] + ordered[above]) / 2
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def passes(found: dict[str, Any]) -> bool | None:
    """Whether the gates of the page hold (those it can tell from one run); None where a distance is missing."""
    if found["ΔS_med"] is None or found["ΔS_p90"] is None:
        return None
    return bool(
        found["coverage"] >= 0.70
        and found["citation_accuracy"] >= 0.95
        and found["ΔS_med"] <= 0.40
        and found["ΔS_p90"] <= 0.55
    )
