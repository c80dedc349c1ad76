"""The rule table as recording and alerting rules of Prometheus, for teams whose alerts live there already.

What is exact and what is not:

- Counters change when a minute closes, so a difference of two instants is a window of whole minutes, without the
  extrapolation of increase(), which is used only after a restart and until a whole window has been scraped.
- A percentile is compared with its limit through the share of values beyond that limit: "p95 > 2 s" becomes "more than
  5 % took over 2 s". At the very edge the two may differ by one record, since a percentile interpolates.
- A window that holds fewer than 200 samples grows to the next of a few lengths, not minute by minute.
- A rule with F ticks has `for:` F − 1 minutes, because Prometheus counts from the first evaluation that is true.
"""

import json
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from ragworthy.live.rules import ENOUGH, RULES, At, Condition, HowManyFrom, Rule, ShareBelow, mean
from ragworthy.monitor import series

WINDOWS = (5, 10, 15, 20, 30, 45, 60)
"""Minutes to which a window grows until it holds 200 samples."""
_PAGES = {"coverage_drop", "index_drift", "e2e_p95", "errors", "auth_failure"}
"""Alerts for which the sources wake somebody up, and the two that need no second look."""
_HEAD = """\
# Written by `ragworthy monitor export prometheus-rules` from the table of its own rules.
# Windows begin with 5 minutes and grow to {windows} minutes until they hold {enough} samples; the monitor grows
# them minute by minute. A percentile is compared with its limit through the share of values beyond it.
"""


class Term(NamedTuple):
    """A counter of the exporters, and the name under which its growth over a window is recorded."""

    name: str
    selector: str

    def over(self, minutes: int) -> str:
        """The recorded growth over a window."""
        return f"ragworthy:{self.name}:delta{minutes}m"

    def growth(self, minutes: int, by: tuple[str, ...]) -> str:
        """The growth over a window, added up over all exporters."""
        counter, window = self.selector, f"{minutes}m"
        # A restart makes the difference negative; before a whole window has been scraped it is not there.
        return f"sum{_by(by)}(({counter} - {counter} offset {window}) >= 0 or increase({counter}[{window}]))"


class Reading(NamedTuple):
    """A condition: an expression over its terms at one window, and from where on it is bad."""

    terms: tuple[Term, ...]
    value: str
    """With {0}, {1} … for the terms."""
    samples: Term | None
    """What has to grow by 200; None where the window stays as it is."""
    sign: str
    limit: str


def _by(labels: tuple[str, ...]) -> str:
    return f" by ({', '.join(labels)}) " if labels else ""


def _named(bound: Fraction) -> str:
    return series.le(bound).replace(".", "_")


def reading(condition: Condition, baseline: Mapping[str, Fraction]) -> Reading | None:
    """How a condition is asked of Prometheus; None where it compares with a baseline that is not there."""
    field, statistic = condition.field, condition.statistic
    spread = series.spreads(baseline).get(field)
    if spread is None:
        counted = series.COUNTED[field]
        label = '{code="401"}' if field == "unauthorised" else ""
        total, cases = (
            Term(counted.total, f"{counted.total}_total{label}"),
            Term(counted.cases, f"{counted.cases}_total"),
        )
        if condition.counts:
            return Reading((total,), "{0}", None, condition.sign, condition.limit)
        value = "1 - {0} / {1}" if field == "tau" else "{0} / {1}"
        return Reading((total, cases), value, cases, condition.sign, condition.limit)
    count = Term(f"{spread.name}_count", f"{spread.name}_count")
    if statistic is mean:
        total = Term(f"{spread.name}_sum", f"{spread.name}_sum")
        return Reading((total, count), "{0} / {1}", count, condition.sign, condition.limit)
    bound = series.edge(condition, baseline)
    if bound is None:
        return None
    below = Term(f"{spread.name}_to_{_named(bound)}", f'{spread.name}_bucket{{le="{series.le(bound)}"}}')
    if isinstance(statistic, HowManyFrom):
        return Reading((count, below), "{0} - {1}", None, condition.sign, condition.limit)
    if isinstance(statistic, ShareBelow):
        return Reading((below, count), "{0} / {1}", count, condition.sign, condition.limit)
    if not isinstance(statistic, At):
        raise TypeError(f"no expression for {statistic}")
    beyond = str(float(1 - Fraction(statistic.percent, 100)))
    return Reading((count, below), "({0} - {1}) / {0}", count, ">", beyond)


def expression(asked: Reading) -> str:
    """The number of a condition: over the first window that holds 200 samples, or over 5 minutes where it counts."""
    rungs = []
    for minutes in WINDOWS:
        value = asked.value.format(*(term.over(minutes) for term in asked.terms))
        if asked.samples is None:
            return value
        rungs.append(f"(({value}) and {asked.samples.over(minutes)} >= {ENOUGH})")
    return " or ".join(rungs)


def camel(name: str) -> str:
    """The name of an alert.

    >>> camel("coverage_drop")
    'RagworthyCoverageDrop'
    """
    return "Ragworthy" + "".join(part.capitalize() for part in name.split("_"))


def _drift(by: tuple[str, ...]) -> str:
    """The most hashes that one build has had in 5 minutes. The exporters keep that window themselves."""
    inner = ", ".join((*by, "build", "index_hash"))
    outer = ", ".join((*by, "build"))
    return f"max{_by(by)}(count by ({outer}) (sum by ({inner}) ({series.HASHES}) > 0))"


class Recorded(NamedTuple):
    """A recording rule."""

    record: str
    expr: str


def recordings(baseline: Mapping[str, Fraction] | None = None, by: tuple[str, ...] = ()) -> list[Recorded]:
    """First how much each counter grew over each window, then the number of each condition."""
    growth: dict[str, str] = {}
    values: dict[str, str] = {}
    for rule in RULES:
        for place, condition in enumerate(rule.conditions, 1):
            if condition.field == "built":
                values[f"ragworthy:{rule.name}:value{place}"] = _drift(by)
                continue
            asked = reading(condition, baseline or {})
            if asked is None:
                continue
            for minutes in WINDOWS if asked.samples else WINDOWS[:1]:
                growth |= {term.over(minutes): term.growth(minutes, by) for term in asked.terms}
            values[f"ragworthy:{rule.name}:value{place}"] = expression(asked)
    return [Recorded(record, expr) for record, expr in (growth | values).items()]


def _alert(rule: Rule, baseline: Mapping[str, Fraction]) -> dict[str, Any] | None:
    parts = []
    for place, condition in enumerate(rule.conditions, 1):
        sign, limit = condition.sign, condition.limit
        if condition.field != "built":
            asked = reading(condition, baseline)
            if asked is None:
                continue
            sign, limit = asked.sign, asked.limit
        parts.append(f"ragworthy:{rule.name}:value{place} {sign} {limit}")
    if not parts:
        return None
    return {
        "alert": camel(rule.name),
        "expr": " or ".join(parts),
        "for": f"{rule.ticks - 1}m",
        "labels": {
            "severity": "page" if rule.name in _PAGES else "ticket",
            "rule": rule.name,
            "rollback": str(rule.rollback).lower(),
        },
        "annotations": {"summary": f"{rule.name}: {{{{ $value }}}}", "source": rule.source},
    }


def alerts(baseline: Mapping[str, Fraction] | None = None) -> list[dict[str, Any]]:
    """An alerting rule for each rule that can be asked, and one for what the monitor itself says."""
    made = [alert for rule in RULES if (alert := _alert(rule, baseline or {})) is not None]
    own = {
        "alert": "RagworthyAlarm",
        "expr": f'max by (rule, slice) ({series.FIRING}{{rule=~"(anytime|cusum):.*"}}) == 1',
        "for": "0m",
        "labels": {"severity": "page"},
        "annotations": {"summary": "{{ $labels.rule }} {{ $labels.slice }}", "source": "docs/alarms.md"},
    }
    return [*made, own]


def _lines(rule: Mapping[str, Any]) -> Iterator[str]:
    """A rule as YAML. A text in double quotes means the same in YAML and in JSON."""
    dash = "-"
    for key, value in rule.items():
        if isinstance(value, Mapping):
            yield f"      {dash} {key}:"
            yield from (f"          {inner}: {json.dumps(text, ensure_ascii=False)}" for inner, text in value.items())
        else:
            yield f"      {dash} {key}: {json.dumps(value, ensure_ascii=False)}"
        dash = " "


def rules_file(baseline: Mapping[str, Fraction] | None = None, by: tuple[str, ...] = ()) -> str:
    """The file that Prometheus loads: one group with an evaluation each minute."""
    windows = ", ".join(str(minutes) for minutes in WINDOWS[1:])
    lines = ["groups:", '  - name: "ragworthy"', '    interval: "1m"', "    rules:"]
    for recorded in recordings(baseline, by):
        lines += _lines(recorded._asdict())
    for alert in alerts(baseline):
        lines += _lines(alert)
    return _HEAD.format(windows=windows, enough=ENOUGH) + "\n".join(lines) + "\n"
