"""Charts in a browser, with the fonts that it has: no text is cut, and none is printed over another."""

from collections.abc import Iterator
from pathlib import Path

from browser import chromium, needs_browser, opened
from ragworthy.report.html.charts import bars, gate, histogram, lines, matrix, scatter, stacked
from ragworthy.report.html.charts.scale import RATE
from ragworthy.report.html.env import file

NAMES = (
    "WWWWWWWW MMMMMMMM a name that is far longer than the room there is for it",
    "中文問題類型名稱很長很長很長很長很長",
    "שאלות ארוכות מאוד מאוד",
    "أسئلة طويلة جدا عن الفواتير",
    "short",
)
LOOK = """() => [...document.querySelectorAll('svg.chart')].flatMap((svg, chart) => {
  const { width, height } = svg.viewBox.baseVal;
  const boxes = [...svg.querySelectorAll('text')].map((one) => [one.textContent, one.getBBox()]);
  const found = [];
  boxes.forEach(([said, box], nth) => {
    // The box of a font is taller than its letters: these begin about 2 pixels below its top.
    if (box.x < -1 || box.x + box.width > width + 1 || box.y < -3 || box.y + box.height > height + 3)
      found.push([chart, 'cut', said]);
    for (const [other, next] of boxes.slice(nth + 1))
      if (box.x < next.x + next.width - 1 && next.x < box.x + box.width - 1 &&
          box.y + 3 < next.y + next.height - 3 && next.y + 3 < box.y + box.height - 3)
        found.push([chart, said, other]);
  });
  return found;
})"""


def charts() -> Iterator[str]:
    """One of every kind, with names that are hard to place."""
    values = [(0.4, 0.61, 0.82), (0.41, 0.6, 0.81), (0.4, 0.62, 0.8), (0.39, 0.6, 0.79), (0.1, 0.2, 0.3)]
    every = [lines.Line(name, value) for name, value in zip(NAMES, values, strict=True)]
    yield lines.picture(lines.Lines("recall by type", ["k = 1", "k = 5", "k = 10"], every, 0.8))
    yield lines.picture(lines.Lines("runs", list(NAMES), [lines.Line(NAMES[0], [0.1, 0.2, None, 0.3, 0.35])]))
    bands = [histogram.Band(name, nth / 5, (nth + 1) / 5, nth == 4, 1_000 * nth) for nth, name in enumerate(NAMES)]
    bins = histogram.bins_of([nth / 97 for nth in range(97)], 0, 1, 20)
    yield histogram.picture(histogram.Histogram("ΔS", bins, bands, NAMES[1], limits=RATE))
    yield stacked.picture(stacked.Stacked("λ", NAMES, [stacked.Whole(name, [12345, 1, 9, 0, 70]) for name in NAMES]))
    some = [bars.Bar(name, nth / 5, (nth / 10, 0.9), outcome="fail") for nth, name in enumerate(NAMES)]
    yield bars.picture(bars.Bars("by jitter", some, 0.97))
    yield bars.small_multiples(bars.Slices("slices", NAMES, NAMES, [some] * 5, [0.5] * 5))
    steps = [bars.Step(name, 90_000 - 9_000 * nth, 9_000, NAMES[0]) for nth, name in enumerate(NAMES)]
    yield bars.waterfall(bars.Waterfall("lost", steps))
    counts = [[12345, 0, 3, 4, 5]] * 5
    yield matrix.picture(matrix.Matrix("m", NAMES, NAMES, counts, NAMES[0], NAMES[1], frozenset({(0, 0)})))
    yield matrix.picture(matrix.Matrix("m", ["a", "b"], ["c", "d"], [[1, 2], [3, 4]], "gold set", "pipeline"))
    dots = [scatter.Dot(name, 400 + 9 * nth, 0.6 + nth / 100, nth % 2 == 0) for nth, name in enumerate(NAMES * 3)]
    yield scatter.picture(scatter.Scatter("frontier", "P95, ms", "precision", dots, 500, 0.65))
    yield gate.picture(gate.Gate(NAMES[0], "fail", "0.80", 0.617, "0.617", "≥ 0.80", True, (0.457, 0.755), "-0.183"))
    yield gate.picture(gate.Gate(NAMES[0], "pass", "120000", 12_345.0, "12345", "≤ 120000", at_least=False, whole=True))


@needs_browser
def test_no_text_is_cut_or_over_another(tmp_path: Path) -> None:
    path = tmp_path / "charts.html"
    style = f"<style>{file('style.css')}{file('charts/charts.css')}</style>"
    path.write_text(f"<!doctype html><meta charset=utf-8>{style}{''.join(charts())}", encoding="utf-8")
    with chromium() as browser, opened(browser, path) as shown:
        assert shown.page.locator("svg.chart").count() == 12
        assert shown.page.evaluate(LOOK) == []
        assert shown.errors == []
