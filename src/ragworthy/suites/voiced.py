"""What a suite says to people, from the body of its report alone, so that a report can be rendered again."""

from typing import Any

from ragworthy.policy.declare import Declared
from ragworthy.report.part import Table


class Voiced:
    """The voice of a suite, with the usual answers."""

    declared: Declared

    def looking(self, body: dict[str, Any], policy: str | None, qid: str) -> str:
        """The command that shows one question of a report; nothing where none would show the same."""
        from ragworthy.suites.again import show_command

        return show_command(self.declared, body, policy, qid)

    def counts_line(self, counts: dict[str, Any]) -> str:
        """How many questions there were, and what became of them."""
        return ", ".join(f"{count:,} {name}" for name, count in counts.items())

    def lead(self, body: dict[str, Any]) -> list[str]:
        """What is said first, before the gates: the answer that somebody came for."""
        return []

    def lines(self, body: dict[str, Any]) -> list[str]:
        """What the suite says besides its metrics."""
        return []

    def tables(self, body: dict[str, Any]) -> list[Table]:
        """Tables of its own."""
        return []

    def pulls_down(self, offender: dict[str, Any], metric: str) -> bool:
        """Whether an offender of the report has to do with a metric, by its id."""
        return True

    reference_note = ""
    """What people must know of a report of the profile reference."""
    shows_undefined = False
    """Whether people see metrics without a value too."""
    claims_always = False
    """Whether the claim of an offender is shown although there is none: then its absence says something."""
