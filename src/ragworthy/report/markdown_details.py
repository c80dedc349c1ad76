"""What a reader of the Markdown report unfolds: metrics, slices, warnings, inputs."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from ragworthy.report import blamed as blame
from ragworthy.report.made import TITLE as MADE_TITLE
from ragworthy.report.made import lines as made_lines
from ragworthy.report.part import Voice
from ragworthy.report.show import cases, counted, grid, interval, is_rate, number_of, plural, shown_metrics, sliced
from ragworthy.safe import code, fill, row, xml


class Section(NamedTuple):
    """A section: it is shown as a whole or not at all."""

    title: str
    lines: Sequence[str]
    """None where there is nothing to say."""


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table, each cell escaped."""
    return [row(header), "|---" * len(header) + "|", *map(row, rows)]


def details(title: str, lines: Sequence[str]) -> Section:
    """A section that is folded; none where it has no lines. The blank line makes Markdown of what is inside."""
    if not lines:
        return Section(title, [])
    return Section(title, ["<details>", f"<summary>{xml(title)}</summary>", "", *lines, "", "</details>", ""])


def folded(body: dict[str, Any], gated: dict[str, list[Fraction]], name: str) -> list[Section]:
    """The slices, the warnings and the inputs of a suite; `name` tells it from others."""
    warnings = _warnings(body)
    return [
        details(f"Slices{name}: {len(body['slices'])}", _slices(body, gated)),
        details(f"Warnings{name}: {len(warnings)}", warnings),
        details(f"Inputs{name}: {plural(len(body['inputs']), 'file')}", _inputs(body)),
    ]


def metrics(suite: str, body: dict[str, Any], gated: dict[str, list[Fraction]], voice: Voice, name: str) -> Section:
    """Every number of a suite, its labels and stages."""
    lines: list[str] = [fill("{}: {}.", suite, voice.counts_line(body["counts"])), ""]
    header, ranked = grid(body, gated)
    lines += [*table(header, ranked), ""] if ranked else []
    rows: list[tuple[str, ...]] = []
    for metric_id, metric in shown_metrics(body):
        if (ranked and "@" in metric_id) or (not voice.shows_undefined and metric["undefined"]):
            continue
        rests_on = cases(metric["num"], metric["den"], metric.get("n"))
        value = number_of(metric, gated.get(metric_id, []))
        rows.append((metric_id, value, rests_on, metric["undefined"] or interval(metric)))
    lines += [*table(("metric", "value", "cases", "95 % interval"), rows), ""]
    if body["labels"]:
        lines += [fill("Labels: {}", counted(body["labels"])), ""]
    if body["stages"]:
        lines += [fill("Stages to blame: {}", counted(body["stages"])), ""]
    lines += [fill("- {}", line) for line in (*blame.lines(body), *voice.lines(body))]
    for own in voice.tables(body):
        lines += ["", *table(own.header, own.rows), "", *(fill("- {}", line) for line in own.lines)]
    return details(f"Metrics{name}: {len(rows) + len(ranked)}", lines)


def _warnings(body: dict[str, Any]) -> list[str]:
    lines: list[str] = []
    for warning in body["warnings"]:
        said = fill("{} ({})", warning["message"], warning["code"])
        lines.append(fill("- {}: {}", code(warning["where"]), said) if warning["where"] else fill("- {}", said))
    return lines


def _slices(body: dict[str, Any], gated: dict[str, list[Fraction]]) -> list[str]:
    if not body["slices"]:
        return []
    names = [name for name, metric in body["metrics"].items() if is_rate(metric) and not metric["undefined"]]
    rows = [
        (group, *(sliced(of_group[name], gated.get(name, [])) for name in names))
        for group, of_group in body["slices"].items()
    ]
    return table(("slice", *(name.partition(".")[2] for name in names)), rows)


def _inputs(body: dict[str, Any]) -> list[str]:
    lines: list[str] = []
    for one in body["inputs"]:
        records = plural(one["records"], "record")
        lines.append(fill("- {} {}: {}, sha256 {}", one["role"], code(one["path"]), records, code(one["sha256"])))
    lines.append(fill("- gold set: {}", body["frozen"]))
    made = [fill("- {}", line) for line in made_lines(body)] if made_lines(body, known=True) else []
    return [*lines, *(["", f"{MADE_TITLE}:", "", *made] if made else [])]
