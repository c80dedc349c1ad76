"""Dashboards for Grafana, one file per board of the sources, from the same names and rules as everything else."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from ragworthy.live.rules import RULES
from ragworthy.monitor import series
from ragworthy.monitor.prometheus import Term, reading

_WIDTH, _HEIGHT = 12, 8
_SCHEMA = 38
"""Of Grafana 10; later versions bring a file up to date when they load it."""


class Line(NamedTuple):
    """One line of a panel."""

    expr: str
    legend: str


class Panel(NamedTuple):
    """A graph over time, with the limits of rules drawn in."""

    title: str
    lines: tuple[Line, ...]
    unit: str = "percentunit"
    limits: tuple[float, ...] = ()


class Board(NamedTuple):
    """A dashboard."""

    name: str
    title: str
    panels: tuple[Panel, ...]


def _rate(counter: str) -> str:
    return f"sum(rate({counter}[5m]))"


def _share(field: str) -> str:
    """A mean of the last five minutes over all exporters."""
    spread = series.spreads().get(field)
    if spread is not None:
        return f"{_rate(spread.name + '_sum')} / {_rate(spread.name + '_count')}"
    counted = series.COUNTED[field]
    share = f"{_rate(counted.total + '_total')} / {_rate(counted.cases + '_total')}"
    return f"1 - {share}" if field == "tau" else share


def _quantile(field: str, percent: int) -> Line:
    name = series.spreads()[field].name
    return Line(f"histogram_quantile({percent / 100}, sum by (le) (rate({name}_bucket[5m])))", f"p{percent}")


def _limits(rule_name: str) -> tuple[float, ...]:
    """The limits of a rule, where they are not multiples of a baseline. Times are drawn in seconds."""
    (rule,) = [rule for rule in RULES if rule.name == rule_name]
    return tuple(
        float(Fraction(one.limit) / (1000 if one.field.endswith("_ms") else 1))
        for one in rule.conditions
        if not one.times_baseline
    )


def _of_slices(field: str, key: str) -> Line:
    """A mean by slice, for the slices of one key."""
    kept = f'{{field="{field}", slice=~"{key}=.*"}}'
    total, cases = (f"{name}_total{kept}" for name in (series.SLICE_TOTAL, series.SLICE_CASES))
    return Line(
        f"sum by (slice) (rate({total}[5m])) / sum by (slice) (rate({cases}[5m]))",
        "{{slice}}",
    )


def boards(baseline: Mapping[str, Fraction] | None = None) -> tuple[Board, ...]:
    """The boards that the sources ask for, as far as live records can fill them."""
    return (_slo(), _service(), _index(), _rerank(), _latency(baseline or {}), _slices())


def _slo() -> Board:
    return Board(
        "slo",
        "SLO board",
        (
            Panel("Coverage", (Line(_share("coverage"), "coverage"),), limits=_limits("coverage_drop")),
            Panel("Citation accuracy", (Line(_share("accurate"), "accuracy"),), limits=_limits("citation_mismatch")),
            Panel("ΔS", (_quantile("delta_s", 50), _quantile("delta_s", 90)), "none", _limits("delta_s_spike")),
            Panel("λ flip rate", (Line(_share("diverged"), "flips"),), limits=_limits("lambda_flip")),
            Panel("Citation hit rate", (Line(_share("cited"), "CHR"),), limits=_limits("chr_floor")),
            Panel("Alerts", (Line(f"max by (rule, slice) ({series.FIRING})", "{{rule}} {{slice}}"),), "none"),
        ),
    )


def _service() -> Board:
    return Board(
        "service",
        "Requests and errors",
        (
            Panel("Requests per second", (Line(_rate(series.REQUESTS + "_total"), "requests"),), "reqps"),
            Panel("Error rate", (Line(_share("error"), "errors"),)),
            Panel("Empty retrievals", (Line(_share("empty"), "empty"),)),
            Panel("Refusals", (Line(_share("refused"), "refused"), Line(_share("near_refused"), "near refusals"))),
            Panel("Precision shipped", (Line(f"max({series.PRECISION})", "precision"),)),
            Panel(
                "Model API errors", (Line(f"sum by (code) (rate({series.API_ERRORS}_total[5m]))", "{{code}}"),), "reqps"
            ),
        ),
    )


def _index() -> Board:
    return Board(
        "index",
        "Index integrity",
        (
            Panel(
                "Records by build and index hash",
                (Line(f"sum by (build, index_hash) ({series.HASHES})", "{{build}} {{index_hash}}"),),
                "none",
            ),
            Panel(
                "Hashes of one build",
                (Line(f"count by (build) (sum by (build, index_hash) ({series.HASHES}) > 0)", "{{build}}"),),
                "none",
                _limits("index_drift"),
            ),
        ),
    )


def _rerank() -> Board:
    return Board(
        "rerank",
        "Rerank",
        (
            Panel("τ of consecutive top tens", (Line(_share("tau"), "τ"),), "none", _limits("rerank_instability")),
            Panel("Recall proxy: valid citations", (Line(_share("valid"), "valid"),)),
        ),
    )


def _latency(baseline: Mapping[str, Fraction]) -> Board:
    panels = [
        Panel(
            title,
            (_quantile(field, 50), _quantile(field, 95), _quantile(field, 99)),
            "s",
            _limits("e2e_p95") if field == "e2e_ms" else (),
        )
        for field, title in (("e2e_ms", "End to end"), ("retrieve_ms", "Retrieve"), ("reason_ms", "Reason"))
    ]
    (rule,) = [rule for rule in RULES if rule.name == "latency"]
    for condition in rule.conditions:
        asked = reading(condition, baseline)
        if asked is not None:
            count, below = asked.terms
            share = f"1 - {_growth(below)} / {_growth(count)}"
            title = f"Share above 1.3 × baseline: {condition.field.removesuffix('_ms')}"
            panels.append(Panel(title, (Line(share, "share"),), limits=(float(asked.limit),)))
    return Board("latency", "Latency", tuple(panels))


def _growth(term: Term) -> str:
    return f"sum(increase({term.selector}[5m]))"


def _slices() -> Board:
    """Content types, regions, clients and builds side by side, where the monitor watches such slices."""
    return Board(
        "slices",
        "Content types and other slices",
        tuple(
            Panel(f"{title} by {key}", (_of_slices(field, key),))
            for key in ("type", "region", "client", "build")
            for field, title in (("coverage", "Coverage"), ("accurate", "Citation accuracy"))
        ),
    )


def _panel(place: int, panel: Panel) -> dict[str, Any]:
    source = {"type": "prometheus", "uid": "${datasource}"}
    steps: list[dict[str, Any]] = [{"color": "green", "value": None}]
    steps += [{"color": "red", "value": limit} for limit in sorted(panel.limits)]
    return {
        "id": place + 1,
        "type": "timeseries",
        "title": panel.title,
        "datasource": source,
        "gridPos": {
            "h": _HEIGHT,
            "w": _WIDTH,
            "x": _WIDTH * (place % 2),
            "y": _HEIGHT * (place // 2),
        },
        "targets": [
            {"refId": chr(ord("A") + n), "datasource": source, "expr": line.expr, "legendFormat": line.legend}
            for n, line in enumerate(panel.lines)
        ],
        "fieldConfig": {
            "defaults": {
                "unit": panel.unit,
                "custom": {"thresholdsStyle": {"mode": "line" if panel.limits else "off"}},
                "thresholds": {"mode": "absolute", "steps": steps},
            },
            "overrides": [],
        },
        "options": {},
    }


def dashboard(board: Board) -> dict[str, Any]:
    """A board as the JSON that Grafana imports; it asks for its data source."""
    return {
        "uid": f"ragworthy-{board.name}",
        "title": f"Ragworthy: {board.title}",
        "tags": ["ragworthy"],
        "schemaVersion": _SCHEMA,
        "editable": True,
        "refresh": "1m",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [{"name": "datasource", "type": "datasource", "query": "prometheus"}]},
        "panels": [_panel(place, panel) for place, panel in enumerate(board.panels)],
    }
