"""What each suite says to people besides its metrics."""

from collections.abc import Callable
from typing import Any

from ragworthy.report.show import plural
from ragworthy.suites.retrieval import lines as retrieved
from ragworthy.text import clip


def details(suite: str, body: dict[str, Any]) -> list[str]:
    """The lines of one suite."""
    return _OWN[suite](body)


def table(suite: str, body: dict[str, Any]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """A table of one suite's own: the header and its rows; no rows where it has none."""
    if suite != "latency":
        return (), []
    from ragworthy.suites.latency import advice as latency_advice

    return latency_advice.table(body)


def _structured(body: dict[str, Any]) -> list[str]:
    lines = []
    failed = {name: count for name, count in body["fail_counts"].items() if name != "ok"}
    if failed:
        lines.append("failed: " + ", ".join(f"{name} {count:,}" for name, count in failed.items()))
    step = body["subset"]
    if step is not None:
        first = f"dev subset of {plural(step['questions'], 'question')}: {step['verdict']}"
        then = "the whole set was not scored" if step["scored"] == "subset" else "then the whole set was scored"
        lines.append(f"{first}; {then}")
    made = body["provenance"]
    keys = ("model_id", "adapter_id", "prompt_version", "index_version")
    known = [f"{key} {clip(made[key], 60)}" for key in keys if made[key]]
    scorer = f"scored by {made['scorer_version']} ({made['scorer_profile']}, {made['definition']})"
    lines.append("; ".join([", ".join(known), scorer] if known else [scorer]))
    return lines


def _stability(body: dict[str, Any]) -> list[str]:
    from ragworthy.suites.stability import describe as stability

    return stability.details(body)


def _agreement(body: dict[str, Any]) -> list[str]:
    from ragworthy.suites.agreement import describe as agreement

    return agreement.details(body)


def _latency(body: dict[str, Any]) -> list[str]:
    from ragworthy.suites.latency import advice as latency_advice

    return latency_advice.details(body)


_OWN: dict[str, Callable[[dict[str, Any]], list[str]]] = {
    "answers": lambda body: [],
    "retrieval": retrieved.details,
    "structured": _structured,
    "stability": _stability,
    "latency": _latency,
    "agreement": _agreement,
}
