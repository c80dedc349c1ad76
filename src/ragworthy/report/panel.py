"""What this evidence cannot show: the limits of a gold set, said once for the whole report."""

from collections.abc import Iterator
from typing import Any

from ragworthy.names import RELEASE
from ragworthy.report.show import cases_of, is_rate, plural

TITLE = "What this evidence cannot show"
SHOWN = 6
"""So many names are in one line."""
_DELTA = "delta_s"


def lines(suite: str, body: dict[str, Any]) -> list[str]:
    """The limits of one suite: its size, its gates, its slices, what it did not measure."""
    return [
        _size(suite, body),
        *(f"{one['gate']}: {one['says']}" for one in body.get("can_show", ())),
        *_slices(body),
        *_unmeasured(body),
        *_distances(body),
    ]


def _size(suite: str, body: dict[str, Any]) -> str:
    """How many questions there are, and what clusters leave of them."""
    counts = body["counts"]
    told = f"{plural(counts['gold'], 'question')} " if "gold" in counts else ""
    clustered = {name: one for name, one in body["metrics"].items() if (one.get("deff") or 1) > 1}
    if clustered:
        name, worst = max(clustered.items(), key=lambda one: float(one[1]["deff"]))
        told += f"in {plural(worst['clusters'], 'cluster')}, for {name} worth up to {worst['deff']:.1f} times fewer"
    return f"{suite}: {f'{told.rstrip()}; ' if told else ''}nothing is known about questions unlike these"


def _slices(body: dict[str, Any]) -> Iterator[str]:
    """Slices that are too small to say anything."""
    small = []
    for name, metrics in body["slices"].items():
        rates = [one for one in metrics.values() if is_rate(one) and not one["undefined"]]
        asked = [one["n"] for one in rates if one["den"] is None and one.get("n")]  # questions, not runs of them
        most = max(asked or map(cases_of, rates), default=0)
        if most < RELEASE:
            small.append(f"{name} ({most})")
    if small:
        yield f"slices of fewer than {RELEASE} cases show hardly anything: {_some(small)}"


def _unmeasured(body: dict[str, Any]) -> Iterator[str]:
    """What has no number at all, by the reason."""
    reasons: dict[str, list[str]] = {}
    for name, one in body["metrics"].items():
        if one["undefined"]:
            reasons.setdefault(one["undefined"], []).append(name)
    for reason, names in reasons.items():
        yield f"not measured: {_some(names)}: {reason}"


def _distances(body: dict[str, Any]) -> Iterator[str]:
    """What ΔS does not see."""
    if any(_DELTA in name and not one["undefined"] for name, one in body["metrics"].items()):
        yield (
            "ΔS does not see citations of the nearest wrong block: all of them may be, and it stays low; of the same "
            "document it sees them from about a fifth on, of other documents from about a tenth on"
        )


def _some(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
