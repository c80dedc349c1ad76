"""Words that are explained at the end of the page, each linked to its meaning wherever it is named."""

from typing import Any, NamedTuple

from markupsafe import Markup

from ragworthy.glossary import ENTRIES, Entry, Kind, anchor
from ragworthy.metrics.registry import Metric, all_metrics
from ragworthy.report.html.env import steerless

_LONGEST_NAME = 40
_BETTER = {"higher": "more is better", "lower": "less is better"}


class Definition(NamedTuple):
    """A metric as the glossary has it."""

    id: str
    says: str
    counts: str
    """What is counted of what."""
    better: str
    undefined: str
    """Where it has no value; empty where it always has one."""
    also: str
    """Its name spelled out, where the id is an abbreviation."""


class Terms:
    """What a page has named so far, and the links to what it means."""

    def __init__(self, suites: Any) -> None:
        self._short = len(suites) == 1
        self._known = all_metrics()
        self._metrics: set[str] = set()
        self._words: set[tuple[str, Kind]] = set()

    def name(self, metric: str) -> str:
        """A metric as the page names it: without its suite, where there is one suite only."""
        return metric.partition(".")[2] or metric if self._short else metric

    def link(self, metric: str, shown: str | None = None) -> Markup:
        """A metric by its id, as a link to its definition; plain where nothing defines it."""
        said = steerless(shown if shown is not None else self.name(metric))
        base = metric.partition("@")[0]
        if base not in self._known:
            return Markup("<span>{}</span>").format(said)
        self._metrics.add(base)
        return Markup('<a class="term" href="#def-{}">{}</a>').format(base, said)

    def interval(self, said: str) -> Markup:
        """An interval, with a link to what its design effect means, where it has one."""
        ends, told, effect = said.partition("(deff ")
        if not told:
            return Markup("{}").format(said)
        return Markup("{}({} {}").format(ends, self.word("deff", Kind.WORD), effect)

    def word(self, name: str, kind: Kind, shown: str = "") -> Markup:
        """A label, a cause, a stage or another word, as a link to what it means; plain where nothing says it."""
        found = self.entry(name, kind)
        if found is None:
            return Markup("<span>{}</span>").format(steerless(shown or name))
        self._words.add((name, kind))
        return Markup('<a class="term" href="#def-{}">{}</a>').format(anchor(found), steerless(shown or name))

    def entry(self, name: str, kind: Kind) -> Entry | None:
        """What the glossary knows of a word."""
        return next((one for one in ENTRIES if one.name == name and one.kind is kind), None)

    def metrics(self) -> list[Definition]:
        """The metrics that were named, in the order of the registry."""
        return [_defined(metric) for name, metric in self._known.items() if name in self._metrics]

    def words(self) -> list[tuple[str, Entry]]:
        """The other words that were named, each with its place, in the order of the glossary."""
        return [(anchor(one), one) for one in ENTRIES if (one.name, one.kind) in self._words]


def spelled(metric: str) -> str:
    """What the id of a metric stands for, where it is an abbreviation.

    >>> spelled("answers.chr_ceiling@5"), spelled("answers.chr"), spelled("retrieval.mrr")
    ('', 'citation hit rate', 'mean reciprocal rank')
    """
    short = metric.partition(".")[2].partition("@")[0]
    entry = next((one for one in ENTRIES if one.kind is Kind.WORD and one.name.lower() == short), None)
    head, told, _ = entry.means.partition(":") if entry is not None else ("", "", "")
    return head[:1].lower() + head[1:] if told and len(head) <= _LONGEST_NAME else ""


def _defined(metric: Metric) -> Definition:
    rate = metric.kind in ("rate", "share", "ratio") and metric.event and metric.cases
    return Definition(
        metric.id,
        metric.definition,
        f"{metric.cases} {metric.event}, of all {metric.cases}" if rate else metric.cases,
        _BETTER[metric.better],
        "" if metric.undefined.startswith("never") else metric.undefined,
        spelled(metric.id),
    )
