"""Charts of a report, where people would rather look than read. Each says below it what its numbers mean."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from ragworthy.glossary import Kind
from ragworthy.metrics.facts.distance import BANDS
from ragworthy.names import HARMLESS
from ragworthy.report.html.charts import bars, histogram, lines, matrix, scatter, stacked
from ragworthy.report.html.charts.scale import ANY, RATE
from ragworthy.report.html.material import Material, Point
from ragworthy.report.html.terms import Terms
from ragworthy.report.show import is_rate, plural
from ragworthy.text import in_words

MOST_TRENDS = 8
MOST_SLICES = 12
MOST_METRICS = 4
BINS = 25
_DEPTHS = ("recall", "hit", "ndcg", "precision")
Json = dict[str, Any]


class Figure(NamedTuple):
    """A chart with what is said below it."""

    title: str
    picture: Markup
    caption: Markup


def figures(material: Material, terms: Terms) -> list[Figure]:
    """Every chart for which there is data."""
    report = material.report
    found = list(_trends(material, terms))
    for suite, body in report["suites"].items():
        rows = [row for row in material.rows if row["suite"] == suite]
        found += _by_k(suite, body, terms)
        found += _slices(suite, body, report["gates"], terms)
        found += _distances(body, rows, terms)
        found += _convergence(body, terms)
        found += _frontier(body, report["gates"], terms)
        found += _jitters(suite, material, terms)
        found += _confusion(body, terms)
    return found


def _joined(terms: Terms, names: Sequence[str]) -> Markup:
    return Markup(", ").join(terms.link(name) for name in names)


# earlier runs


def _trends(material: Material, terms: Terms) -> Iterator[Figure]:
    gates = {gate["metric"]: gate for gate in reversed(material.report["gates"]) if gate["slice"] is None}
    names = sorted(material.trend, key=lambda name: name not in gates)
    for name in [one for one in names if len(material.trend[one]) > 1][:MOST_TRENDS]:
        points = material.trend[name]
        gate = gates.get(name)
        limit = float(gate["threshold"]) if gate is not None and gate["op"] in (">=", "<=") else None
        values = [point.value for point in points]
        rate = all(0 <= one <= 1 for one in values)
        title = f"{terms.name(name)} over {plural(len(points), 'run')}"
        chart = lines.Lines(
            title, _places(points), [lines.Line(terms.name(name), values)], limit, RATE if rate else ANY, "runs"
        )
        first, last = points[0], points[-1]
        caption = Markup("{}, from run {} ({}) to run {}, which is this one.")
        yield Figure(title, lines.picture(chart), caption.format(terms.link(name), first.run, first.when, last.run))


def _places(points: Sequence[Point]) -> list[str]:
    return [point.when[:10] or point.run for point in points]


# depths and slices


def _by_k(suite: str, body: Json, terms: Terms) -> Iterator[Figure]:
    """Recall and its like by k, where there are several."""
    ks = sorted({int(name.partition("@")[2]) for name in body["metrics"] if "@" in name})
    drawn: list[lines.Line] = []
    names = []
    for short in _DEPTHS:
        base = f"{suite}.{short}"
        values = [_value(body["metrics"].get(f"{base}@{k}")) for k in ks]
        if sum(value is not None for value in values) > 1:
            drawn.append(lines.Line(short, values))
            names.append(base)
    if len(ks) > 1 and drawn:
        title = "By depth: the first k results"
        chart = lines.Lines(f"{title} ({suite})", [f"k = {k}" for k in ks], drawn, over="depths")
        yield Figure(title, lines.picture(chart), Markup("{} among the first k.").format(_joined(terms, names)))


def _value(metric: Json | None) -> float | None:
    if metric is None or metric["undefined"] is not None or metric["value"] is None:
        return None
    return float(metric["value"])


def _slices(suite: str, body: Json, gates: Sequence[Json], terms: Terms) -> Iterator[Figure]:
    """Rates of each slice beside that of all questions."""
    gated = dict.fromkeys(gate["metric"] for gate in gates)
    usual = [f"{suite}.recall@5"] if f"{suite}.recall@5" in body["metrics"] else []
    names = [name for name in dict.fromkeys((*gated, *usual)) if _is_share(body["metrics"].get(name))][:MOST_METRICS]
    fields: dict[str, list[str]] = {}
    for group in body["slices"]:
        fields.setdefault(group.partition("=")[0], []).append(group)
    for field, groups in fields.items():
        shown = [one for one in groups if any(_value(body["slices"][one].get(name)) is not None for name in names)]
        if len(shown) < 2 or not names or field == "load":
            continue
        kept = shown[:MOST_SLICES]
        cells = [[_bar(one, body["slices"][one].get(name)) for one in kept] for name in names]
        overall = [_value(body["metrics"][name]) for name in names]
        title = f"By {field}"
        chart = bars.Slices(
            f"{title} ({suite})", [one.partition("=")[2] for one in kept], _shortest(names), cells, overall
        )
        more = f" {plural(len(shown) - len(kept), 'more slice')} not drawn." if len(shown) > len(kept) else ""
        caption = Markup("{}: each slice with its 95 % interval; dashed: all questions.{}")
        yield Figure(title, bars.small_multiples(chart), caption.format(_joined(terms, names), more))


def _shortest(names: Sequence[str]) -> list[str]:
    """Metrics without their suite, where that leaves them apart."""
    short = [name.partition(".")[2] for name in names]
    return short if len(set(short)) == len(short) else list(names)


def _is_share(metric: Json | None) -> bool:
    value = _value(metric)
    return metric is not None and value is not None and is_rate(metric) and 0 <= value <= 1


def _bar(name: str, metric: Json | None) -> bars.Bar:
    value = _value(metric)
    low, high = (None, None) if metric is None else (metric.get("low"), metric.get("high"))
    return bars.Bar(name.partition("=")[2], value, None if low is None or high is None else (low, high))


# retrieval


def _distances(body: Json, rows: Sequence[Json], terms: Terms) -> Iterator[Figure]:
    name = "retrieval.delta_s_mean"
    values = [float(row["metrics"][name]) for row in rows if name in row["metrics"]]
    if len(values) < 2:
        return
    low = 0.0
    bands = []
    told = body.get("delta_s") or {}
    counts = told.get("bands") or {}
    for band, limit in (*BANDS, ("danger", 1)) if told.get("scaled", True) else ():
        bands.append(histogram.Band(band, low, float(limit), band in ("risk", "danger"), counts.get(band)))
        low = float(limit)
    title = "Distance ΔS of question and cited text"
    found = histogram.Histogram(
        title, histogram.bins_of(values, 0, 1, BINS), bands, "ΔS", "questions", RATE._replace(zero=True)
    )
    raw = "" if bands else " These are raw: without a calibration no band says which of them are near."
    caption = Markup("{}: 0 is the same text, 1 has nothing to do with it.{}")
    yield Figure(title, histogram.picture(found), caption.format(terms.word("ΔS", Kind.WORD), raw))


_MARKS = {"→": "→ all cite one section", "←": "← nothing is cited", "<>": "<> some differ", "×": "× all differ"}


def _convergence(body: Json, terms: Terms) -> Iterator[Figure]:
    told = body.get("lambda") or {}
    marks = told.get("marks") or {}
    if not any(marks.values()):
        return
    title = "λ: do other wordings lead to the same section?"
    parts = [_MARKS.get(one, one) for one in marks]
    chart = stacked.Stacked(title, parts, [stacked.Whole("λ", list(marks.values()))])
    caption = Markup("{}, from the wordings and seeds of each question; {} is the share of questions at →.")
    links = terms.word("λ", Kind.WORD), terms.link("retrieval.lambda_rate")
    yield Figure(title, stacked.picture(chart), caption.format(*links))


# latency


def _frontier(body: Json, gates: Sequence[Json], terms: Terms) -> Iterator[Figure]:
    """Accuracy against latency, a picture for each load."""
    y, x = "answers.precision", "latency.p95"
    configurations = body.get("configurations") or []
    loads: dict[Any, list[Json]] = {}
    for one in configurations:
        loads.setdefault(one["load_rps"], []).append(one)
    least = next((float(gate["threshold"]) for gate in gates if gate["metric"] == y and gate["op"] == ">="), None)
    named = _names([one["knobs"] for one in configurations])
    for load, there in loads.items():
        dots = list(_dots(there, x, y, body.get("judged") or {}, named))
        if len(dots) < 2:
            continue
        limit = (body.get("limits") or {}).get(x)
        slowest = max(dot.x for dot in dots)
        near = None if limit is None or float(limit) > 4 * slowest else float(limit)
        title = "Accuracy against latency" + ("" if load is None else f" at {load:g} requests/s")
        chart = scatter.Scatter(title, "P95, ms", "precision", dots, near, least)
        far = f" The gate of P95 is {limit} ms, far to the right." if limit is not None and near is None else ""
        ring = " The ring is the one that the gates judge." if any(dot.judged for dot in dots) else ""
        text = Markup("{} against {}; filled dots are on the {}: nothing beats them in both.{}{}")
        caption = text.format(terms.link(y), terms.link(x), terms.word("frontier", Kind.WORD), ring, far)
        yield Figure(title, scatter.picture(chart), caption)


def _dots(there: Sequence[Json], x: str, y: str, judged: Json, named: Callable[[Json], str]) -> Iterator[scatter.Dot]:
    for one in there:
        slow, right = _value(one["metrics"].get(x)), _value(one["metrics"].get(y))
        if slow is not None and right is not None:
            here = (one["config_id"], one["load_rps"]) == (judged.get("configuration"), judged.get("load_rps"))
            yield scatter.Dot(named(one["knobs"]) or one["config_id"], slow, right, bool(one["frontier"]), here)


def _names(knobs: Sequence[Mapping[str, Any]]) -> Callable[[Mapping[str, Any]], str]:
    """What tells configurations apart: the values of knobs in which they differ; words alone, numbers with names."""
    keys = dict.fromkeys(key for one in knobs for key in one)
    apart = [key for key in keys if len({in_words(one.get(key), 60) for one in knobs}) > 1]

    def named(one: Mapping[str, Any]) -> str:
        told = []
        for key in apart:
            value = in_words(one.get(key), 40)
            told.append(value if isinstance(one.get(key), str) else f"{key.replace('_', ' ')} {value}")
        return ", ".join(told)

    return named


# stability and agreement


def _jitters(suite: str, material: Material, terms: Terms) -> Iterator[Figure]:
    """The share of right runs by the kind of jitter, of the questions whose runs are at hand."""
    right: Counter[str] = Counter()
    every: Counter[str] = Counter()
    questions = 0
    for (name, _), shown in material.sheets.items():
        runs = [run for run in shown.sheet.runs if "jitter" in run] if name == suite else []
        questions += bool(runs)
        for run in runs:
            if str(run["label"]).startswith("not counted"):
                continue
            every[str(run["jitter"])] += 1
            right[str(run["jitter"])] += run["label"] in HARMLESS
    if len(every) < 2:
        return
    title = "Right answers by how the question was changed"
    drawn = [bars.Bar(one, right[one] / count, shown=f"{right[one]}/{count}") for one, count in sorted(every.items())]
    chart = bars.Bars(title, drawn, noun="share of right runs")
    text = Markup("Share of runs that are right by {}, of {}; {} counts questions whose runs differ too much.")
    words = terms.word("jitter", Kind.WORD), plural(questions, "question")
    caption = text.format(*words, terms.link("stability.failing_questions"))
    yield Figure(title, bars.picture(chart), caption)


def _confusion(body: Json, terms: Terms) -> Iterator[Figure]:
    found = body.get("confusion")
    if not found:
        return
    rows = list(found)
    every = dict.fromkeys(label for one in found.values() for label in one)
    columns = [label for label in every if label in rows or any(found[row].get(label) for row in rows)]
    counts = [[found[row].get(label, 0) for label in columns] for row in rows]
    right = frozenset((nth, columns.index(row)) for nth, row in enumerate(rows) if row in columns)
    title = "Which label met which"
    chart = matrix.Matrix(title, rows, columns, counts, "scholar", "auditor", right, "pairs of votes")
    caption = Markup("Votes of both validators; on the framed cells they agree. {} takes agreement by chance away.")
    yield Figure(title, matrix.picture(chart), caption.format(terms.link("agreement.kappa")))
