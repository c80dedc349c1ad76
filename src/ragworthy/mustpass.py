"""Questions that must pass: one failure may be luck, so two of three runs decide.

Where each of ten such questions fails in one run of a hundred by chance, every tenth verdict of one run is a false
NO-SHIP. By two of three runs it is three verdicts in a thousand.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ragworthy.names import Outcome

ENOUGH = 3
"""From so many runs on the majority decides."""
Said = bool | None | tuple[bool | None, ...]
"""What a metric says of one question, yes or no; of several runs, what it says of each."""

Each = Mapping[tuple[str, str], Said]
"""The same by metric and question."""


class Asked(NamedTuple):
    """A question that must pass, and how often it did not."""

    qid: str
    bad: int
    runs: int = 1
    was: bool | None = None
    """Whether it ever passed in the baseline; None where that is not known."""

    @classmethod
    def of(cls, qid: str, said: Said, good: bool, was: bool | None) -> "Asked":
        """From what a metric says of it, and what it should say."""
        runs = said if isinstance(said, tuple) else (said,)
        return cls(qid, sum(one is not good for one in runs), len(runs), was)

    def outcome(self, rerun: bool) -> Outcome:
        """What becomes of it. With one run it fails, unless it passed before or the gate says `rerun`: then it is asked
        again.

        >>> [Asked("q", bad, runs).outcome(False).value for bad, runs in ((1, 1), (1, 2), (2, 2), (1, 3), (2, 3))]
        ['fail', 'undecided', 'fail', 'pass', 'fail']
        >>> Asked("q", 1).outcome(True).value, Asked("q", 1, was=True).outcome(False).value
        ('undecided', 'undecided')
        """
        if not self.bad:
            return Outcome.PASS
        if self.runs == 1:
            return Outcome.UNDECIDED if self.was or (rerun and self.was is None) else Outcome.FAIL
        if 2 * self.bad > self.runs:
            return Outcome.FAIL
        return Outcome.UNDECIDED if self.runs < ENOUGH or 2 * self.bad == self.runs else Outcome.PASS

    def __str__(self) -> str:
        return self.qid if self.runs == 1 else f"{self.qid} ({self.bad} of {self.runs} runs)"


def passing(asked: Sequence[Asked], rerun: bool) -> tuple[Outcome, str, tuple[str, ...]]:
    """The outcome of a gate on some questions, the reason, and those that do not pass."""
    failing = [one for one in asked if one.outcome(rerun) is Outcome.FAIL]
    unsure = [one for one in asked if one.outcome(rerun) is Outcome.UNDECIDED]
    names = tuple(one.qid for one in (*failing, *unsure))
    if failing:
        return Outcome.FAIL, f"must pass, but do not: {_listed(failing)}{_never(failing)}", names
    if unsure:
        told = ", although they did in the baseline" if all(one.was for one in unsure) else ""
        return Outcome.UNDECIDED, f"must pass, but did not{told}: {_listed(unsure)}; two of three runs decide", names
    lucky = [one for one in asked if one.bad]
    but = f", though not in every run: {_listed(lucky)}" if lucky else ""
    return Outcome.PASS, f"all {len(asked)} questions that must pass do{but}", ()


def _listed(some: Sequence[Asked]) -> str:
    return ", ".join(map(str, some))


def _never(failing: Sequence[Asked]) -> str:
    """That some never passed: then it is the policy that asks for what was never there."""
    never = [one.qid for one in failing if one.was is False]
    told = "; they did not in the baseline either, so the policy asks for what was never there: "
    return f"{told}{', '.join(never)}" if never else ""
