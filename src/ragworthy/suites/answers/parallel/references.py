"""What one part finds of questions with a reference, besides their flags. Sets without any pay nothing for it."""

from collections.abc import Sequence

from ragworthy.load.gold import Wrong, wrong_reference
from ragworthy.metrics.facts.compared import Compared, has_reference
from ragworthy.records import Gold, Ints, Trace
from ragworthy.suites.answers.parallel.job import Job


class References:
    """Claims against references, row by row. What compares texts is loaded with the first reference."""

    def __init__(self, job: Job, compared: dict[int, Compared]) -> None:
        self.compared = compared
        """What was found of each question with a reference, by its row: filled here."""
        self._job = job
        self._alike: dict[Compared, Compared] = {}
        """Each comparison once, however many questions have the same."""

    def enter(self, records: Sequence[Gold], start: int) -> list[tuple[int, Wrong]]:
        """Note what is known of each question without a trace; tells what is wrong with references."""
        from ragworthy.metrics.facts.reference import compare

        wrong: list[tuple[int, Wrong]] = []
        for nth, gold in enumerate(records):
            if has_reference(gold):
                self._note(start + nth, compare(gold, None))
            if not self._job.allow_gold_errors and (flaw := wrong_reference(gold)):
                wrong.append((nth, flaw))
        return wrong

    def compare(self, row: int, gold: Gold, trace: Trace, flags: int) -> None:
        """Hold the claim of a scored trace against the reference of its question."""
        from ragworthy.metrics.facts.reference import compare, compared_by

        given = trace if self._job.damage is None else self._job.damage(gold, trace)
        self._note(row, compare(gold, None) if given is None else compared_by(gold, given, flags))

    def compare_all(self, first: int, golds: Sequence[Gold | None], traces: Sequence[Trace], flags: Ints) -> None:
        """The same for rows that follow each other."""
        for row, (gold, trace) in enumerate(zip(golds, traces, strict=True), first):
            if gold is not None and row in self.compared:
                self.compare(row, gold, trace, flags[row])

    def _note(self, row: int, found: Compared) -> None:
        self.compared[row] = self._alike.setdefault(found, found)
