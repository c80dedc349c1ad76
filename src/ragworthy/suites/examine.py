"""What `doctor` tells of a suite: what its files can and cannot show, and why."""

from typing import Any, NamedTuple

from ragworthy.report.part import Part
from ragworthy.text import visible


class Seen(NamedTuple):
    """What scoring showed."""

    part: Part
    invalid: list[str]
    """Why there is no verdict."""
    power: list[str]
    """How many cases each gate has and needs, as lines."""

    @property
    def body(self) -> dict[str, Any]:
        """The suite's part of the report."""
        return self.part.body


def usual(seen: Seen, counts_line: str, *, idle: bool = True) -> list[str]:
    """What is told of most suites; `idle` says whether metrics without a value are named."""
    body = seen.body
    lines = [f"{seen.part.suite}: {counts_line}", "", "What is in the way of a verdict"]
    lines += [f"  {visible(reason)}" for reason in seen.invalid] or ["  nothing: every metric is measured"]
    unmeasured = [f"  {name}: {one['undefined']}" for name, one in body["metrics"].items() if one["undefined"]]
    lines += ["", "What these files cannot show", *unmeasured] if unmeasured and idle else []
    lines += ["", "What the gates can show", *seen.power]
    if body["warnings"]:
        lines += ["", "Warnings", *(f"  {visible(one['message'])} [{one['code']}]" for one in body["warnings"])]
    return lines
