"""Sheets for people at a terminal. Nothing of the data steers it; colours are added when that is done."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from ragworthy.report.sheet import Answered, Page, Sheet, Style, Viewed
from ragworthy.report.show import columns_of, number, padded, width_of
from ragworthy.report.wrapped import broken, fitting
from ragworthy.safe import uncommanded
from ragworthy.text import clip, visible

LONGEST, PASSAGE = 1_000, 400
"""Characters of a text, and of a passage, that are shown unless everything is asked for."""
CELL = 12
"""Columns of a table that no cell is cut below."""
MANY = 20
"""Runs and passages that are shown unless everything is asked for."""
_NAME = 11
_GREEN, _RED = "32", "31"


def render(shown: Sequence[Viewed], page: Page, style: Style) -> str:
    """Every sheet, one after another; where there are several suites, each with the name of its own."""
    several = len({one.sheet.suite for one in shown}) > 1
    parts = [text(one, style, named=several) for one in shown]
    if page.not_shown:
        parts.append("".join(uncommanded(visible(f"not shown: {line}")) + "\n" for line in page.not_shown))
    return "\n".join(parts)


def text(shown: Viewed, style: Style, *, named: bool = False) -> str:
    """One question in one suite."""
    sheet = shown.sheet
    lines = [f"── {sheet.suite}"] if named else []
    if shown.view is not None:
        lines += shown.view("text", style.colour).splitlines()
    else:
        lines += [_head(sheet, style), *_told(sheet, style)]
    notes = [line for note in sheet.notes for line in _named("note", note, style)]
    to_go_on = ["  to go on", *(f"    {visible(one)}" for one in sheet.commands)] if sheet.commands else []
    parts = (
        _runs(sheet.runs, style),
        _passages(sheet, style),
        _metrics(sheet, style),
        _past(sheet, style),
        notes,
        to_go_on,
    )
    for part in filter(None, parts):
        lines += ["", *part]
    return "\n".join(map(uncommanded, lines)) + "\n"


def verdict(sheet: Sheet) -> str:
    """The label with where to look.

    >>> verdict(Sheet(suite="answers", qid="q", good=False, label="ANS_NO_HIT", stage="ranking", cause="below_k"))
    'ANS_NO_HIT (ranking: below_k)'
    """
    where = ": ".join(filter(None, (sheet.stage, sheet.cause)))
    return f"{sheet.label or '–'} ({where})" if where else sheet.label or "–"


def _head(sheet: Sheet, style: Style) -> str:
    said = verdict(sheet)
    if style.colour:
        said = f"\x1b[1;{_GREEN if sheet.good else _RED}m{said}\x1b[0m"
    return f"{visible(clip(sheet.qid, 80))}  {said}"


def told(sheet: Sheet) -> list[tuple[str, str]]:
    """What is said of a question, as (name, text), in the order in which it is read."""
    lines = [("question", sheet.question or "")]
    expected = sheet.expected
    lines.append(("expected", "a refusal" if expected.refusal else expected.text))
    lines += [("evidence", one) for one in expected.evidence]
    if sheet.answer is not None:
        lines += _answered(sheet.answer)
    if sheet.answer is not None or sheet.passages or expected.ids:
        lines += [("gold", _ids(sheet, expected.ids)), ("retrieved", _retrieved(sheet))]
    lines += [("why", sheet.why), ("remarks", ", ".join(sheet.remarks))]
    return [(name, said) for name, said in lines if said]


def _answered(answer: Answered) -> list[tuple[str, str]]:
    cited = answer.citations if isinstance(answer.citations, list) else [answer.citations]
    return [
        ("error", answer.error or ""),
        ("claim", marked(answer)),
        ("lacks", "; ".join(answer.lacks)),
        ("cites", ", ".join(str(one) for one in cited if one is not None) or "none"),
    ]


def marked(answer: Answered) -> str:
    """The claim with the gold text in it between brackets.

    >>> marked(Answered("It is 45 days.", [(6, 13)]))
    'It is ⟦45 days⟧.'
    """
    claim, pieces, last = answer.claim or "", list[str](), 0
    for begin, end in answer.matches:
        pieces += [claim[last:begin], "⟦", claim[begin:end], "⟧"]
        last = end
    return "".join([*pieces, claim[last:]])


def _ids(sheet: Sheet, gold: Sequence[str]) -> str:
    """The gold ids, each with its rank."""
    ranks = {one.id: one.rank for one in sheet.passages}
    return ", ".join(f"{name} ({f'rank {rank}' if (rank := ranks.get(name)) else 'not retrieved'})" for name in gold)


def _retrieved(sheet: Sheet) -> str:
    found = [one for one in sheet.passages if one.rank is not None]
    return ", ".join(f"{one.rank} {one.id}{f' ({one.marks})' if one.marks else ''}" for one in found) or "none"


def _told(sheet: Sheet, style: Style) -> list[str]:
    return [line for name, said in told(sheet) for line in _named(name, said, style)]


def _named(name: str, said: str, style: Style, most: int = LONGEST) -> list[str]:
    """A text behind its name; what it goes on with is behind a bar, so that no line of the data passes for ours."""
    first, *rest = folded(said, style.width - _NAME - 2, style, most)
    return [f"  {name:<{_NAME}}{first}".rstrip(), *(f"{' ' * _NAME}| {line}".rstrip() for line in rest)]


def folded(said: str, room: int, style: Style, most: int) -> list[str]:
    """A text in lines that fit; where it is cut, the last one says how much there is."""
    kept, more = (said, 0) if style.full else cut(said, most)
    lines = [piece for line in kept.replace("\r\n", "\n").split("\n") for piece in broken(visible(line), room) or [""]]
    return [*lines, f"… {more:,} more characters (--full)"] if more else lines


def cut(said: str, most: int) -> tuple[str, int]:
    """At most so many characters, and how many are left; a letter keeps the marks that are on it.

    >>> cut("cafe\\u0301s", 4)[1], cut("cafes", 4)
    (1, ('cafe', 1))
    """
    while 0 < most < len(said) and not columns_of(said[most]):
        most += 1
    return (said, 0) if len(said) <= most else (said[:most], len(said) - most)


def _passages(sheet: Sheet, style: Style) -> list[str]:
    """Gold, cited and retrieved texts side by side, as far as texts are known."""
    known = [one for one in sheet.passages if one.text is not None]
    shown = known if style.full else known[:MANY]
    lines = []
    for one in shown:
        head = f"{'–' if one.rank is None else one.rank}  {visible(clip(one.id, 70))}"
        lines.append(f"  {head}  ({one.marks})" if one.marks else f"  {head}")
        lines += [f"     | {line}".rstrip() for line in folded(one.text or '""', style.width - 7, style, PASSAGE)]
    if len(known) > len(shown):
        lines.append(f"  … {len(known) - len(shown):,} more texts (--full)")
    return lines


def _runs(runs: Sequence[Mapping[str, Any]], style: Style) -> list[str]:
    """Runs or votes as a table."""
    if not runs:
        return []
    shown = runs if style.full else runs[:MANY]
    lines = table(tuple(shown[0]), [[cell(value) for value in one.values()] for one in shown], style)
    if len(runs) > len(shown):
        lines.append(f"  … {len(runs) - len(shown):,} more (--full)")
    return lines


def cell(value: Any) -> str:
    """A value of a run as people read it.

    >>> cell(None), cell(["a", "b"]), cell({"llm": 3.0}), cell(True), cell(0.25)
    ('–', 'a, b', 'llm 3', 'yes', '0.25')
    """
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{key} {cell(one)}" for key, one in value.items()) or "none"
    return str(value)


def table(header: Sequence[str], rows: Iterable[Sequence[str]], style: Style) -> list[str]:
    """Rows in columns, two spaces apart; the widest columns are cut to fit unless everything is asked for."""
    cells = [list(header), *([visible(" ".join(one.split())) for one in row] for row in rows)]
    widths = [max(width_of(row[nth]) for row in cells) for nth in range(len(header))]
    while not style.full and sum(widths) + 2 * len(widths) > style.width and max(widths) > CELL:
        widths[widths.index(max(widths))] -= 1
    return [
        "  " + "  ".join(padded(_short(one, width), width) for one, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]


def _short(line: str, width: int) -> str:
    return line if width_of(line) <= width else line[: fitting(line, width - 1)] + "…"


def _metrics(sheet: Sheet, style: Style) -> list[str]:
    """What each metric says of the question, and why others say nothing."""
    if not sheet.metrics and not sheet.undefined:
        return []
    lines = table(("metric", "this question"), values_of(sheet.metrics), Style(full=True)) if sheet.metrics else []
    for why, names in grouped(sheet.undefined).items():
        lines += [f"    {line}" for line in broken(visible(f"no value: {names}: {why}"), style.width - 4)]
    return lines


def values_of(metrics: Mapping[str, float]) -> list[tuple[str, str]]:
    """What each metric says of one question; of one at several depths on one line.

    >>> values_of({"r.mrr": 1.0, "r.hit@1": 0.0, "r.hit@3": 1.0})
    [('r.mrr', '1.0'), ('r.hit', '@1 0.0, @3 1.0')]
    """
    depths: dict[str, list[tuple[str, float]]] = {}
    for name, value in metrics.items():
        base, _, k = name.partition("@")
        depths.setdefault(base, []).append((k, value))
    rows = []
    for base, said in depths.items():
        if len(said) == 1:
            k, value = said[0]
            rows.append((f"{base}@{k}" if k else base, value_of(value)))
        else:
            rows.append((base, ", ".join(f"@{k} {value_of(value)}" for k, value in said)))
    return rows


def value_of(value: float) -> str:
    """A value of one question.

    >>> value_of(1.0), value_of(0.6666666666666666), value_of(250.0)
    ('1.0', '0.6667', '250')
    """
    return number(Fraction(value))


def grouped(undefined: Mapping[str, str]) -> dict[str, str]:
    """Metrics by the reason why they say nothing, as a list in words.

    >>> grouped({"r.hit@1": "no trace", "r.hit@3": "no trace", "r.mrr": "no trace"})
    {'no trace': 'r.hit@1, @3, r.mrr'}
    """
    found: dict[str, list[str]] = {}
    last: dict[str, str] = {}
    for name, why in undefined.items():
        base, sign, k = name.partition("@")
        found.setdefault(why, []).append(f"{sign}{k}" if sign and last.get(why) == base else name)
        last[why] = base
    return {why: ", ".join(names) for why, names in found.items()}


def _past(sheet: Sheet, style: Style) -> list[str]:
    if not sheet.past:
        return []
    rows = [(one.run, one.when, one.label or "–", one.cause or "") for one in sheet.past]
    return [
        "  its past",
        *(f"  {line}" for line in table(("run", "when", "label", "cause"), rows, Style(width=style.width - 2))),
    ]
