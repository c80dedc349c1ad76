"""What is wrong with records of a log: counted by its name, with the places where it came first. Nothing is dropped in
silence.
"""

from typing import Any

UNREADABLE, UNTIMED, FUTURE, LATE, TWICE = "unreadable", "untimed", "future", "late", "twice"
ODD, UNCHECKED, SAMPLED, COPIED, UNFINISHED, NO_QUESTION, BUILDS, AHEAD = (
    "odd", "unchecked", "sampled", "copied", "unfinished", "no_question", "builds", "ahead",
)  # fmt: skip
MEANS = {
    UNREADABLE: "no record: broken JSON, or a field of the wrong type",
    UNTIMED: "without a time that can be read",
    FUTURE: "from the future: far ahead of its log, which then went on as before",
    AHEAD: "counted, but more than 5 minutes ahead of the clock of this machine",
    LATE: "of a minute that was already judged",
    TWICE: "here a second time",
    ODD: "counted, with a number out of its range, which is unknown then",
    UNCHECKED: "counted, but too many came in a minute to tell whether some came twice",
    SAMPLED: "left out by --sample",
    COPIED: "log files that are copies of others, read once",
    UNFINISHED: "traces whose outermost span never came",
    NO_QUESTION: "traces that hold no question, or whose spans lost attributes",
    BUILDS: "counted, but of more builds than index_drift tells apart in a minute",
}
"""Every name, and what it means."""
_SHOWN = 3


class Problems:
    """How many of each, and the first places."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.first: dict[str, list[str]] = {}

    def add(self, name: str, place: str, times: int = 1) -> None:
        """Count one."""
        self.counts[name] = self.counts.get(name, 0) + times
        shown = self.first.setdefault(name, [])
        if len(shown) < _SHOWN:
            shown.append(place)

    def state(self) -> dict[str, Any]:
        """As plain values, in the order of their names."""
        return {name: {"count": self.counts[name], "first": self.first[name]} for name in MEANS if name in self.counts}

    def restore(self, state: dict[str, Any]) -> None:
        """From plain values."""
        self.counts = {name: held["count"] for name, held in state.items()}
        self.first = {name: list(held["first"]) for name, held in state.items()}
