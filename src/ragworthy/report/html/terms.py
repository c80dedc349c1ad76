"""Words that are explained at the end of the page: metrics, each linked to its definition wherever it is named."""

from typing import Any, NamedTuple

from markupsafe import Markup, escape

from ragworthy.metrics.registry import Metric, all_metrics
from ragworthy.report.html.env import steerless

_BETTER = {"higher": "more is better", "lower": "less is better"}


class Definition(NamedTuple):
    """A metric as the glossary has it."""

    id: str
    says: str
    counts: str
    """What is counted of what."""
    better: str
    undefined: str
    source: str


class Terms:
    """Which metrics a page has named so far, and the links to what they mean."""

    def __init__(self, suites: Any) -> None:
        self._short = len(suites) == 1
        self._used: dict[str, Metric] = {}
        self._known = all_metrics()

    def name(self, metric: str) -> str:
        """A metric as the page names it: without its suite, where there is one suite only."""
        return metric.partition(".")[2] or metric if self._short else metric

    def link(self, metric: str, shown: str | None = None) -> Markup:
        """A metric by its id, as a link to its definition; plain where nothing defines it."""
        said = steerless(shown if shown is not None else self.name(metric))
        base = metric.partition("@")[0]
        known = self._known.get(base)
        if known is None:
            return Markup('<span class="term">{}</span>').format(said)
        self._used[base] = known
        return Markup('<a class="term" href="#def-{}">{}</a>').format(base, said)

    def used(self) -> list[Definition]:
        """What was named, in the order of the registry."""
        return [_defined(self._known[name]) for name in self._known if name in self._used]


def _defined(metric: Metric) -> Definition:
    rate = metric.kind in ("rate", "share", "ratio") and metric.event and metric.cases
    return Definition(
        metric.id,
        metric.definition,
        f"{metric.cases} {metric.event}, of all {metric.cases}" if rate else metric.cases,
        _BETTER[metric.better],
        metric.undefined,
        metric.source,
    )


def lines(texts: list[str]) -> Markup:
    """Sentences as a list; nothing where there is none."""
    if not texts:
        return Markup()
    return Markup("<ul>{}</ul>").format(Markup("").join(Markup("<li>{}</li>").format(steerless(one)) for one in texts))


def plain(text: str) -> Markup:
    """A text of somebody else, escaped."""
    return escape(steerless(text))
