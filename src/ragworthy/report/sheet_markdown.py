"""Sheets for a pull request."""

from collections.abc import Sequence

from ragworthy.report.sheet import Page, Sheet, Style, Viewed
from ragworthy.report.sheet_text import LONGEST, MANY, PASSAGE, cell, cut, grouped, told, values_of, verdict
from ragworthy.safe import Markdown, code, fill, row
from ragworthy.text import clip


def render(shown: Sequence[Viewed], page: Page, style: Style) -> str:
    """Every sheet, one after another."""
    several = len({one.sheet.suite for one in shown}) > 1
    parts = [markdown(one, style, named=several) for one in shown]
    if page.not_shown:
        parts.append("".join(fill("- not shown: {}", line) + "\n" for line in page.not_shown))
    return "\n".join(parts)


def markdown(shown: Viewed, style: Style, *, named: bool = False) -> str:
    """One question in one suite."""
    sheet = shown.sheet
    lines: list[str] = [fill("## {}", sheet.suite), ""] if named else []
    if shown.view is not None:
        lines += [*shown.view("markdown", False).splitlines(), ""]
    else:
        lines += [fill("### {}: {}", clip(sheet.qid, 400), verdict(sheet)), ""]
        for name, said in told(sheet):
            lines += [fill("**{}:** {}", name, _short(said, LONGEST, style)), ""]
    lines += [*_runs(sheet, style), *_passages(sheet, style), *_metrics(sheet)]
    if sheet.past:
        rows = [(one.run, one.when, one.label or "–", one.cause or "") for one in sheet.past]
        lines += [*_table(("earlier run", "when", "label", "cause"), rows), ""]
    lines += [fill("- {}", note) for note in sheet.notes]
    lines += [fill("- {}", code(one)) for one in sheet.commands]
    return "\n".join(lines).rstrip("\n") + "\n"


def _short(said: str, most: int, style: Style) -> str:
    if style.full:
        return said
    kept, more = cut(said, most)
    return f"{kept} … {more:,} more characters (--full)" if more else kept


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [row(header), row((Markdown("---"),) * len(header)), *map(row, rows)]


def _runs(sheet: Sheet, style: Style) -> list[str]:
    if not sheet.runs:
        return []
    shown = sheet.runs if style.full else sheet.runs[:MANY]
    rows = [[_short(cell(value), PASSAGE, style) for value in one.values()] for one in shown]
    more = len(sheet.runs) - len(shown)
    return [*_table(tuple(shown[0]), rows), *([f"\n… {more:,} more (--full)"] if more else []), ""]


def _passages(sheet: Sheet, style: Style) -> list[str]:
    known = [one for one in sheet.passages if one.text is not None]
    if not known:
        return []
    shown = known if style.full else known[:MANY]
    rows = [
        ("–" if one.rank is None else str(one.rank), code(one.id), one.marks, _short(one.text or "", PASSAGE, style))
        for one in shown
    ]
    more = len(known) - len(shown)
    return [*_table(("rank", "id", "", "text"), rows), *([f"\n… {more:,} more texts (--full)"] if more else []), ""]


def _metrics(sheet: Sheet) -> list[str]:
    lines = []
    if sheet.metrics:
        lines += _table(("metric", "this question"), values_of(sheet.metrics))
    if sheet.undefined:
        lines += ["", *(fill("- {}: no value: {}", names, why) for why, names in grouped(sheet.undefined).items())]
    return [*lines, ""] if lines else []
