"""`/metrics`: closed minutes as OpenMetrics, written by prometheus-client."""

import math
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from ragworthy.errors import missing_extra
from ragworthy.live.minutes import Minute
from ragworthy.live.rules import ENOUGH, LONGEST
from ragworthy.monitor import series
from ragworthy.monitor.problems import MEANS

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
_WINDOW = 5
_MOST_HASHES = 100
"""Labels of builds and hashes that are exported at most; a sender who makes them up must not fill a Prometheus."""


class _Seen(NamedTuple):
    """What windows need of a minute."""

    at: int
    hits: Fraction
    cases: int
    built: dict[tuple[str, str], int]


class Exporter:
    """The numbers of every minute taken so far. Any thread may ask for the text."""

    def __init__(
        self,
        baseline: Mapping[str, Fraction] | None = None,
        problems: Callable[[], Mapping[str, int]] | None = None,
    ) -> None:
        """`problems` says how many records had something wrong, by its name."""
        try:
            import prometheus_client  # noqa: F401 - only to say what is missing, and to say it before anyone asks
        except ImportError:
            raise missing_extra("prometheus-client", "prometheus", "/metrics") from None
        self._lock = Lock()
        self._problems = problems
        self._spreads = series.spreads(baseline)
        self._records = 0
        self._sums = dict.fromkeys([*series.COUNTED, *self._spreads], Fraction(0))
        self._cases = dict.fromkeys(self._sums, 0)
        self._buckets = {field: [0] * (len(spread.bounds) + 1) for field, spread in self._spreads.items()}
        self._bounds = {
            field: [math.floor(bound * series.scale(field)) for bound in spread.bounds]
            for field, spread in self._spreads.items()
        }
        """The bounds in whole units: a value belongs to the first one that it does not exceed."""
        self._slices: dict[tuple[str, str], tuple[Fraction, int]] = {}
        self._seen: deque[_Seen] = deque()
        self._firing: dict[tuple[str, str], bool] = {}
        self._scored: dict[str, float] = {}

    def take(self, minute: Minute) -> None:
        """Count a closed minute; minutes come in their order."""
        with self._lock:
            self._records += minute.records
            for field in self._sums:
                self._sums[field] += minute.total(field)
                self._cases[field] += minute.count(field)
            for field, bounds in self._bounds.items():
                buckets = self._buckets[field]
                for units, times in minute.values[field].items():
                    buckets[bisect_left(bounds, units)] += times
            for name, part in minute.parts.items():
                for field in self._sums:
                    before = self._slices.get((field, name), (Fraction(0), 0))
                    self._slices[field, name] = (before[0] + part.total(field), before[1] + part.count(field))
            self._seen.append(_Seen(minute.at, minute.total("cited"), minute.count("cited"), dict(minute.built)))
            while self._seen[0].at <= minute.at - LONGEST:
                self._seen.popleft()

    def alert(self, told: Mapping[str, Any]) -> None:
        """Note that an alert began or ended, given by the names of its fields."""
        with self._lock:
            self._firing[told["rule"], told["slice"] or ""] = told["state"] == "firing"

    def scored(self, precision: float | None = None, under_refusals: int | None = None) -> None:
        """Note what the last scored run says: the sources push these two from a batch job."""
        with self._lock:
            for name, value in ((series.PRECISION, precision), (series.UNDER, under_refusals)):
                if value is not None:
                    self._scored[name] = float(value)

    def text(self) -> bytes:
        """Everything in the OpenMetrics format."""
        from prometheus_client import CollectorRegistry
        from prometheus_client.openmetrics.exposition import generate_latest

        registry = CollectorRegistry(auto_describe=False)
        registry.register(self)
        with self._lock:
            return bytes(generate_latest(registry))  # type: ignore[no-untyped-call]

    def collect(self) -> Iterator["Metric"]:
        """The families, as prometheus-client asks for them."""
        from prometheus_client.metrics_core import CounterMetricFamily as Counter
        from prometheus_client.metrics_core import GaugeMetricFamily as Gauge

        yield Counter(series.REQUESTS, "Questions", value=self._records)
        yield Counter(series.RETRIEVALS, "Questions that asked the retriever", value=self._records)
        for field, counted in series.COUNTED.items():
            if field == "unauthorised":
                yield self._api_errors()
                continue
            total = self._sums[field]
            value = self._cases[field] - total if field == "tau" else total
            yield Counter(counted.total, counted.about, value=float(value))
            if counted.cases != series.REQUESTS:
                yield Counter(counted.cases, f"{counted.about}: records that say it", value=self._cases[field])
        if self._problems is not None:
            refused = Counter(series.REFUSED, "Records, traces or logs with something wrong, by kind", labels=["kind"])
            told = self._problems()
            for kind in MEANS:
                refused.add_metric([kind], told.get(kind, 0))
            yield refused
        yield from self._histograms()
        yield from self._of_slices()
        rate = Gauge(series.HIT_RATE, "Citation hit rate over 5 minutes, or as many as hold 200 answers")
        value_now = self._hit_rate()
        if value_now is not None:
            rate.add_metric([], float(value_now))
        yield rate
        yield self._hashes()
        firing = Gauge(series.FIRING, "1 while an alert of the monitor fires", labels=["rule", "slice"])
        for (rule, part), fires in sorted(self._firing.items()):
            firing.add_metric([rule, part], float(fires))
        yield firing
        if self._seen:
            yield Gauge(series.CLOCK, "The end of the last minute counted", value=60 * self._seen[-1].at)
        if series.PRECISION in self._scored:
            yield Gauge(series.PRECISION, "Precision of the last scored run", value=self._scored[series.PRECISION])
        if series.UNDER in self._scored:
            yield Counter(series.UNDER, "Under-refusals of the last scored run", value=self._scored[series.UNDER])

    def _api_errors(self) -> "Metric":
        from prometheus_client.metrics_core import CounterMetricFamily

        family = CounterMetricFamily(series.API_ERRORS, series.COUNTED["unauthorised"].about, labels=["code"])
        refused = self._sums["unauthorised"]
        family.add_metric(["401"], float(refused))
        family.add_metric(["other"], float(max(Fraction(0), self._sums["error"] - refused)))
        return family

    def _histograms(self) -> Iterator["Metric"]:
        from prometheus_client.metrics_core import HistogramMetricFamily

        for field, spread in self._spreads.items():
            family = HistogramMetricFamily(spread.name, spread.about)
            so_far, buckets = 0, []
            labels = [*(series.le(bound) for bound in spread.bounds), "+Inf"]
            for label, times in zip(labels, self._buckets[field], strict=True):
                so_far += times
                buckets.append((label, float(so_far)))
            # Minutes give milliseconds, the export seconds.
            seconds = 1000 if field.endswith("_ms") else 1
            family.add_metric([], buckets, sum_value=float(self._sums[field] / seconds))
            yield family

    def _of_slices(self) -> Iterator["Metric"]:
        from prometheus_client.metrics_core import CounterMetricFamily

        total = CounterMetricFamily(series.SLICE_TOTAL, "Sum of a field over a slice", labels=["field", "slice"])
        cases = CounterMetricFamily(series.SLICE_CASES, "Records of a slice with a field", labels=["field", "slice"])
        for (field, part), (value, count) in sorted(self._slices.items()):
            total.add_metric([field, part], float(count - value if field == "tau" else value))
            cases.add_metric([field, part], count)
        yield total
        yield cases

    def _hit_rate(self) -> Fraction | None:
        """Over the window of the rules: 5 minutes, more where they hold fewer than 200 answers, an hour at most."""
        hits, cases = Fraction(0), 0
        for seen in reversed(self._seen):
            if seen.at <= self._seen[-1].at - _WINDOW and cases >= ENOUGH:
                break
            hits, cases = hits + seen.hits, cases + seen.cases
        return hits / cases if cases >= ENOUGH else None

    def _hashes(self) -> "Metric":
        from prometheus_client.metrics_core import GaugeMetricFamily

        labels = ["build", "index_hash"]
        family = GaugeMetricFamily(series.HASHES, "Records of the last 5 minutes by build and hash", labels=labels)
        counts: dict[tuple[str, str], int] = {}
        for seen in self._seen:
            if seen.at > self._seen[-1].at - _WINDOW:
                for built, times in seen.built.items():
                    counts[built] = counts.get(built, 0) + times
        hashes: dict[str, int] = {}
        for build, _ in counts:
            hashes[build] = hashes.get(build, 0) + 1
        # A build with several hashes is what an alert is about: made-up ones must not push it out.
        for built in sorted(counts, key=lambda one: (-hashes[one[0]], one))[:_MOST_HASHES]:
            family.add_metric(list(built), counts[built])
        return family
