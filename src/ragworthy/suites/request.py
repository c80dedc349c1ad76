"""What one suite is asked to score: what, against what, by which rules."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ragworthy import gates as g
from ragworthy.load.extras import suites_in
from ragworthy.policy.settings import (
    SUITE_OF,
    Agreement,
    Answers,
    Latency,
    Retrieval,
    Settings,
    Stability,
    Structured,
)

if TYPE_CHECKING:
    from ragworthy.metrics.facts.redirects import Table

Progress = Callable[[int, int], None]


class Request(NamedTuple):
    """One suite to score: what, against what, by which rules."""

    gold: Any
    traces: Any
    settings: Settings
    gates: tuple[g.Gate, ...]
    corpus: Any = None
    definition: Path | None = None
    """What a structured answer looks like, where it is not the bundled definition."""
    subset: Path | None = None
    """The questions that must pass before the whole set is scored."""
    made: Path | None = None
    """How the outputs were made, where they do not say it themselves."""
    second: Any = None
    """What the second validator says, where each has a file of its own."""
    prices: Path | None = None
    """What tokens cost."""
    live: Any = None
    live_corpus: Any = None
    redirects: "tuple[Path | Table, ...]" = ()
    """From the ids of the gold set to those of the traces."""
    live_redirects: "tuple[Path | Table, ...]" = ()
    """The same for the traces of the index in use, where these have other ids."""
    trec: bool = False
    """Whether gold and traces are TREC qrels and run files."""
    waivers: tuple[g.Waiver, ...] = ()
    baseline: Path | None = None
    baseline_override: bool = False
    regression: bool = False
    """Whether the usual rules against the baseline were asked for."""
    lock: Path | None = None
    packs: Mapping[str, Path] = MappingProxyType({})
    """Where rule packs stand, when it is not the policy's folder."""
    signers: tuple[str, ...] = ()
    policy: Path | None = None
    today: date | None = None
    """The day on which waivers were judged; a receipt keeps it where there are any."""
    unfrozen: bool = False
    allow_gold_errors: bool = False
    jobs: int | None = None
    keep_rows: bool = False
    most_offenders: int = 10
    damage: Any = None

    @property
    def suite(self) -> str:
        """Which kind of evaluation this is."""
        return SUITE_OF[type(self.settings)]

    @property
    def stability(self) -> Stability:
        """The settings of the stability suite."""
        if not isinstance(self.settings, Stability):
            raise TypeError("a request of another suite")
        return self.settings

    @property
    def latency(self) -> Latency:
        """The settings of the latency suite."""
        if not isinstance(self.settings, Latency):
            raise TypeError("a request of another suite")
        return self.settings

    @property
    def agreement(self) -> Agreement:
        """The settings of the agreement suite."""
        if not isinstance(self.settings, Agreement):
            raise TypeError("a request of another suite")
        return self.settings

    @property
    def structured(self) -> Structured:
        """The settings of the structured suite."""
        if not isinstance(self.settings, Structured):
            raise TypeError("a request of another suite")
        return self.settings

    @property
    def retrieval(self) -> Retrieval:
        """The settings of the retrieval suite."""
        if not isinstance(self.settings, Retrieval):
            raise TypeError("a request of another suite")
        return self.settings

    @property
    def answers(self) -> Answers:
        """The settings of the answers suite."""
        if not isinstance(self.settings, Answers):
            raise TypeError("a request of another suite")
        return self.settings

    def with_baseline(self, path: Path) -> "Request":
        """The same with another baseline than the policy's."""
        return self._replace(baseline=path, baseline_override=True).with_known(suites_in(path))

    def with_known(self, suites: Sequence[str]) -> "Request":
        """Without a baseline where that has other suites only and no gate of this one needs it."""
        needed = self.live is None and any(gate.op in g.AGAINST for gate in self.gates)
        return self if self.suite in suites or needed else self._replace(baseline=None)
