"""What each suite says to people besides its metrics."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from ragworthy.report.part import Column, Table, Voice
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


def _latency(body: dict[str, Any]) -> list[str]:
    from ragworthy.suites.latency import advice as latency_advice

    return latency_advice.details(body)


_OWN: dict[str, Callable[[dict[str, Any]], list[str]]] = {
    "answers": lambda body: [],
    "retrieval": retrieved.details,
    "structured": _structured,
    "latency": _latency,
}


def counts_line(suite: str, counts: dict[str, Any]) -> str:
    """How many questions there were, and what became of them."""
    if suite == "agreement":
        return _votes(counts)
    if suite == "structured":
        ends = f"{counts['valid']:,} valid, {counts['failed']:,} failed, {counts['missing']:,} missing"
        return f"{plural(counts['gold'], 'question')} ({counts['distinct_questions']:,} different), {ends}"
    sides = f"{counts['answerable']:,} answerable, {counts['unanswerable']:,} not"
    if suite == "latency":
        cells = f"{plural(counts['configurations'], 'configuration')} and {plural(counts['loads'], 'load')}"
        runs = f"{plural(counts['measured'], 'run')} measured in {cells}"
        return f"{plural(counts['gold'], 'question')} ({sides}), {runs}, {counts['errored']:,} errors"
    if suite == "retrieval":
        runs = "" if counts["runs"] == counts["gold"] else f" in {plural(counts['runs'], 'run')}"
        fate = f"{counts['answered']:,} answered, {counts['missing']:,} missing"
    else:
        runs = ""
        fate = f"{counts['answered']:,} answered, {counts['refused']:,} refused, {counts['missing']:,} missing"
    errored = counts.get("errored_questions", counts.get("errored", 0))  # of retrieval `errored` counts runs
    errors = f", {errored:,} errored" if errored else ""
    return f"{plural(counts['gold'], 'question')} ({sides}){runs}, {fate}{errors}"


def _votes(counts: dict[str, Any]) -> str:
    """How many votes there were, and how far they agree."""
    apart = f"{counts['agreed']:,} agreed, {counts['disagreements']:,} not"
    if "pairs" in counts:
        return f"{plural(counts['pairs'], 'pair')}: {apart}, {counts['abstained']:,} with an abstention"
    items = f"{plural(counts['items'], 'item')}, {plural(counts['raters'], 'rater')}"
    return f"{items}, {plural(counts['votes'], 'vote')}: {apart}, {counts['single']:,} with one vote only"


_REFERENCE = {
    "structured": "profile reference: answers that fail are left out of the means",
    "latency": "profile reference: percentiles are cut to whole milliseconds, and the frontier is the strict one",
}


class Old:
    """The voice of a suite that has none of its own yet."""

    def __init__(self, suite: str) -> None:
        self.suite = suite
        self.reference_note = _REFERENCE.get(suite, "")
        self.shows_undefined = suite == "answers"
        self.facts: tuple[str, ...] = ()
        self.columns: tuple[Column, ...] = ()

    def counts_line(self, counts: dict[str, Any]) -> str:
        """How many questions there were."""
        return counts_line(self.suite, counts)

    def lines(self, body: dict[str, Any]) -> list[str]:
        """Lines of its own."""
        return details(self.suite, body)

    def tables(self, body: dict[str, Any]) -> list[Table]:
        """Tables of its own."""
        header, rows = table(self.suite, body)
        found = [Table(header, rows)] if rows else []
        if body.get("live"):
            live = body["live"]
            found.append(
                Table(retrieved.DELTA_HEADER, retrieved.delta_rows(live), tuple(retrieved.live_lines(live)), last=True)
            )
        return found


def voice_of(suite: str) -> Voice:
    """The voice of a suite."""
    found = getattr(import_module(f"ragworthy.suites.{suite}.suite"), "SUITE", None)
    return found if found is not None else Old(suite)
