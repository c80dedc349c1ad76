"""Timed runs read again from their lines, where their texts are shown: of most runs no text is kept."""

from collections.abc import Iterable, Iterator

from ragworthy.load.sources import Source
from ragworthy.metrics.facts.timed import Sample
from ragworthy.records import Run
from ragworthy.suites.latency.read import Damage, again


class Again:
    """The runs of one file; those that are fetched are kept."""

    def __init__(self, source: Source, damage: Damage) -> None:
        self._source, self._damage = source, damage
        self._fetched: dict[int, Run] = {}

    def each(self, lines: Iterable[int]) -> Iterator[tuple[int, Run]]:
        """The runs of some lines, in the order of the file, one after another."""
        return again(self._source, lines, self._damage)

    def fetch(self, samples: Iterable[Sample]) -> None:
        """Keep some runs: each fetch goes through the file once."""
        lines = {one.timed.line for one in samples} - self._fetched.keys()
        self._fetched.update(again(self._source, lines, self._damage))

    def run(self, sample: Sample) -> Run:
        """One run."""
        if sample.timed.line not in self._fetched:
            self.fetch([sample])
        return self._fetched[sample.timed.line]
