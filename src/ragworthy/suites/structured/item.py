"""Single items of the structured suite for people: expected against got, field by field, as text and as Markdown."""

import json
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ragworthy import safe
from ragworthy.metrics import grading
from ragworthy.metrics.context import Context, files_of
from ragworthy.metrics.definition import Definition, Field, value_at
from ragworthy.metrics.grading import Known, Scored
from ragworthy.metrics.kinds import COUNTS, Detail
from ragworthy.metrics.kinds.texts import Listed
from ragworthy.names import Label
from ragworthy.records import ContextChunk, StructuredGold, StructuredOutput
from ragworthy.report.sheet import Answered, Expected, Passage, Sheet, Viewed
from ragworthy.report.show import number, padded, plural, width_of
from ragworthy.report.wrapped import broken, fitting
from ragworthy.safe import Markdown, fill, uncommanded
from ragworthy.suites.evidence import Found, Row
from ragworthy.suites.structured.mark import again
from ragworthy.suites.structured.width import marked
from ragworthy.text import clip, visible

if TYPE_CHECKING:
    from ragworthy.suites.protocol import Suite

WIDTH = 100
"""Columns of a terminal that lines stay within."""
RAW = 600
"""Characters of an answer that failed."""
LONGEST = 400
"""Characters of any other text."""
ROWS = 4
"""Lines that one text may take."""
MOST = 40
"""Lines of comparison for one field."""
_GREEN, _RED = "32", "31"


class FieldView(NamedTuple):
    """What one field is worth, and why."""

    name: str
    kind: str
    weight: Fraction
    part: Fraction | None
    """Between 0 and 1; None where the original program gives none."""
    lost: Fraction
    """Points of 100."""
    counts: dict[str, int]
    details: list[Detail]


class View(NamedTuple):
    """Everything that explains the score of one item."""

    qid: str
    question: str | None
    score: Fraction
    good: bool
    label: str
    stage: str | None
    reason: str | None
    detail: str
    repaired: bool
    raw: str | None
    """The beginning of what was written; only where it could not be compared."""
    fields: list[FieldView]
    cause: str | None = None


def look(suite: "Suite", found: Found, ids: Sequence[str]) -> list[Viewed]:
    """Some items by their ids, in the order asked for."""
    job, marked_all = found.own.job, found.own.marked
    place = marked_all.questions.place
    shown = []
    for name, (gold, output) in zip(ids, again(job, marked_all, [place[name] for name in ids]), strict=True):
        known = grading.read(job.definition, output, repair=job.repair)
        one = view(job.definition, gold, output, known, marked_all.items[place[name]], details=not job.reference)
        case = suite.case_of(found.evidence, name)
        if case is not None:
            one = one._replace(cause=None if case.cause is None else case.cause.value)
            shown.append(Viewed(_sheet(one, suite.said(case, found), gold, output), partial(_render, one)))
    return shown


def _render(one: View, form: str, colour: bool) -> str:
    return markdown(one) if form == "markdown" else text(one, colour=colour)


def _sheet(one: View, row: Row, gold: StructuredGold, output: StructuredOutput | None) -> Sheet:
    """The same as data."""
    wanted = files_of((gold.expected or {}).get("source_map"))
    chunks = (output.context or []) if output is not None else []
    lost = ", ".join(f"{each.name} {_lost(each)}" for each in one.fields if each.lost)
    return Sheet(
        suite="structured",
        qid=one.qid,
        good=one.good,
        label=one.label,
        stage=None if one.good else one.stage,
        cause=one.cause,
        why="" if one.good else _reason(one) if one.reason else lost,
        question=one.question,
        expected=Expected(text=json.dumps(gold.expected, ensure_ascii=False), ids=wanted),
        answer=None if output is None else Answered(output.raw, error=None if output.error is None else one.detail),
        passages=[_passage(nth, chunk, wanted) for nth, chunk in enumerate(chunks, 1)],
        metrics=row.metrics,
        undefined=row.undefined,
        own={"score": float(one.score), "fail_reason": one.reason, "fields": list(map(_field, one.fields))},
    )


def _passage(rank: int, chunk: ContextChunk, gold: Sequence[str]) -> Passage:
    name = chunk.source_path or str(chunk.chunk_id or rank)
    return Passage(name, rank, gold=name in gold, text=chunk.text)


def _field(one: FieldView) -> dict[str, Any]:
    """A sub-score as data."""
    details = [{key: getattr(each, key) for key in ("good", "expected", "got", "note")} for each in one.details]
    part = None if one.part is None else float(one.part)
    numbers = {"part": part, "weight": float(one.weight), "lost": float(one.lost), "counts": one.counts}
    return {"name": one.name, "kind": one.kind, **numbers, "details": details}


def view(
    definition: Definition,
    gold: StructuredGold,
    output: StructuredOutput | None,
    known: Known,
    scored: Scored,
    *,
    details: bool = True,
) -> View:
    """One item as people look at it; without `details` only what was counted, for rules that match differently."""
    label = grading.label(scored, definition.good)
    failed = scored.reason is not None and (known.value is None or not details)
    return View(
        gold.name,
        gold.question,
        scored.score,
        label is Label.OK,
        label.value,
        None if scored.stage is None else scored.stage.value,
        None if scored.reason is None else scored.reason.value,
        scored.detail,
        scored.repaired,
        _beginning(output.raw) if failed and output is not None and output.raw is not None else None,
        _fields(definition, gold, output, known, scored, details),
    )


def _beginning(raw: str) -> str:
    return raw if len(raw) <= RAW else raw[:RAW] + "…"


def _fields(
    definition: Definition,
    gold: StructuredGold,
    output: StructuredOutput | None,
    known: Known,
    scored: Scored,
    details: bool,
) -> list[FieldView]:
    context = Context(output.context or [] if output is not None else [])
    wanted = grading.wanted_of(definition, gold.expected)
    worthless = scored.reason is not None and scored.score == 0
    fields = []
    for nth, field in enumerate(definition.fields):
        part = scored.parts[nth] if scored.parts else None
        counts = scored.counts[nth] if scored.counts else ()
        whole = 100 * field.weight
        fields.append(
            FieldView(
                field.name,
                field.kind,
                field.weight,
                part,
                whole if part is None or worthless else whole * (1 - part),
                dict(zip(COUNTS.get(field.kind, ()), counts, strict=False)),
                _details(field, wanted[nth], known.value, context) if details else [],
            )
        )
    return fields


def _details(field: Field, expected: Any, value: dict[str, Any] | None, context: Context) -> list[Detail]:
    """What matched what; without an answer to compare, what was expected."""
    grounding = field.kind == "grounding"
    if value is None:
        return [] if grounding else [Detail(False, one, None) for one in _texts(expected)]
    got = value_at(value, field.at)
    if grounding:
        return field.rules.details(None, [] if grading.none(got) else got, context)
    if grading.none(expected) and grading.none(got):
        return [Detail(True, None, None, "left out, as expected")]
    if isinstance(field.rules, Listed) and not any(_counted_in(field.rules, one) for one in (expected, got)):
        return [Detail(True, None, None, "nothing expected, nothing got")]
    if grading.none(expected):
        return [Detail(False, None, one, "nothing was expected") for one in _texts(got)]
    if grading.none(got):
        return [Detail(False, one, None, "left out") for one in _texts(expected)]
    return marked(field.rules.details(expected, got, context), getattr(field.rules, "form", ""))


def _counted_in(rules: Listed, value: Any) -> int:
    return 0 if grading.none(value) else rules.count(value)


def _texts(value: Any) -> list[str]:
    """A value piece by piece."""
    if grading.none(value):
        return []
    pieces = value if isinstance(value, list) and value else [value]
    return [one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in pieces]


def points(value: Fraction) -> str:
    """Points with a decimal, never rounded to a threshold that is not reached.

    >>> points(Fraction(70)), points(Fraction(200, 3)), points(Fraction(9499999, 100000))
    ('70.0', '66.6667', '94.99999')
    """
    shown = number(value, Fraction(round(value, 2)))
    return shown if "." in shown else f"{shown}.0"


def _part(field: FieldView) -> str:
    return "–" if field.part is None else number(field.part, Fraction(0), Fraction(1))


def _lost(field: FieldView) -> str:
    return f"-{points(field.lost)}" if field.lost else ""


def _counted(field: FieldView) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in field.counts.items())


def _worst(view: View) -> Fraction:
    """The greatest loss of a field; where nothing was compared all is lost, and no field stands out."""
    return Fraction(0) if _failed(view) else max((one.lost for one in view.fields), default=Fraction(0))


def _failed(view: View) -> bool:
    return view.reason is not None and (view.raw is not None or not view.repaired)


def _reason(view: View) -> str:
    return f"{view.reason}: {view.detail}" if view.detail else str(view.reason)


def _remarks(view: View) -> list[tuple[str, str]]:
    """What is to be said before the fields, as (name, text)."""
    remarks = [("question", view.question)] if view.question else []
    if view.reason is not None:
        remarks.append(("failed" if _failed(view) else "wrapped", _reason(view)))
    if view.repaired:
        taken = "the object was taken out of the text around it"
        remarks.append(("repaired", taken if _failed(view) else f"{taken}, and scored"))
    losses = sorted((one for one in view.fields if one.lost), key=lambda one: -one.lost)
    if losses and not _failed(view):
        remarks.append(("lost", ", ".join(f"{one.name} {_lost(one)}" for one in losses)))
    return remarks


def _verdict(view: View) -> str:
    where = ": ".join(filter(None, (view.stage, view.cause)))
    return f"{view.label} ({where})" if where else view.label


def text(view: View, *, colour: bool = False) -> str:
    """An item for the terminal: `=` matches, `-` was expected, `+` was got."""
    code = _GREEN if view.good else _RED
    head = f"{visible(clip(view.qid, 80))}  {points(view.score)} of 100  "
    lines = [head + _paint(_verdict(view), f"1;{code}", colour)]
    for name, remark in _remarks(view):
        first, *rest = _wrapped(remark, WIDTH - 12) or [""]
        lines += [f"  {name:<8}  {first}".rstrip(), *(" " * 12 + one for one in rest)]
    if view.raw is not None:
        lines += ["", "  what was written", *_raw(view.raw)]
    if _failed(view) and any(one.details for one in view.fields):
        lines += ["", "  what was expected"]
    rows = [("field", "kind", "part", "weight", "lost", ""), *(_row(view, one) for one in view.fields)]
    widths = [max(width_of(row[column]) for row in rows) for column in range(5)]
    lines += ["", "  " + _columns(rows[0], widths)]
    for field, row in zip(view.fields, rows[1:], strict=True):
        lines += ["", "  " + _paint(_columns(row, widths), _RED if field.lost else _GREEN, colour)]
        lines += _compared(field.details, colour)
    return "\n".join(map(uncommanded, lines)) + "\n"


def _row(view: View, field: FieldView) -> tuple[str, ...]:
    mark = ["worst"] if field.lost and field.lost == _worst(view) else []
    rest = [*mark, *([_counted(field)] if field.counts else [])]
    names = visible(clip(field.name, 60)), visible(clip(field.kind, 20))
    return *names, _part(field), number(field.weight), _lost(field), "; ".join(rest)


def _columns(row: tuple[str, ...], widths: list[int]) -> str:
    cells = [padded(one, width) for one, width in zip(row, widths, strict=False)]
    return "  ".join([*cells, *row[len(widths) :]]).rstrip()


def _raw(raw: str) -> list[str]:
    """An answer as it was written, line by line, behind a bar."""
    written = (raw if raw.strip() else "(nothing)").split("\n")
    lines = [piece for line in written[:MOST] for piece in broken(visible(line.rstrip()), WIDTH - 4) or [""]]
    more = len(written) - MOST
    shown = [f"  | {line}".rstrip() for line in lines]
    return [*shown, f"  … {plural(more, 'more line')}"] if more > 0 else shown


def _compared(details: list[Detail], colour: bool) -> list[str]:
    """The lines of one field; notes are in a column beside texts of one line, and below longer ones."""
    blocks = [_block(one) for one in details[:MOST]]
    short = [width_of(block[-1]) for block in blocks if len(block) < 3]
    column = min(max(short, default=0), 60)
    lines = []
    for one, block in zip(details, blocks, strict=False):
        note = _wrapped(one.note, WIDTH - 8) if one.expected is not None or one.got is not None else []
        if len(note) == 1 and width_of(block[-1]) <= column and column + width_of(note[0]) + 2 <= WIDTH:
            block[-1] = f"{padded(block[-1], column)}  {note[0]}"
        else:
            block += [" " * 8 + line for line in note]
        lines += [_paint(line, _GREEN if one.good else _RED, colour) for line in block]
    more = len(details) - MOST
    return [*lines, f"    … {more:,} more"] if more > 0 else lines


def _block(one: Detail) -> list[str]:
    """The texts of one comparison behind their signs."""
    if one.expected is None and one.got is None:
        return _signed("=" if one.good else "-", one.note)
    if one.good and one.expected is not None and one.got is not None:
        same = one.expected.split() == one.got.split()
        return _signed("=", one.expected) + ([] if same else _signed(" ", f"got {one.got}"))
    lines = [] if one.expected is None else _signed("=" if one.good else "-", one.expected)
    return lines if one.got is None else lines + _signed("=" if one.good else "+", one.got)


def _signed(sign: str, given: str) -> list[str]:
    first, *rest = _wrapped(given, WIDTH - 6) or ['""']
    return [f"    {sign} {first}", *(" " * 6 + line for line in rest)]


def _paint(line: str, code: str, colour: bool) -> str:
    return f"\x1b[{code}m{line}\x1b[0m" if colour else line


def _wrapped(given: str, room: int) -> list[str]:
    """A text in a few lines, without anything that steers a terminal; cut with an ellipsis where it is longer."""
    lines = broken(visible(clip(given, LONGEST)), room)
    if len(lines) <= ROWS:
        return lines
    last = lines[ROWS - 1]
    return [*lines[: ROWS - 1], last[: fitting(last, room - 1)] + "…"]


def markdown(view: View) -> str:
    """An item for a pull request: a table of the fields, then one of each comparison."""
    head = clip(view.qid, LONGEST), points(view.score), _verdict(view)
    lines: list[str] = [fill("### {}: {} of 100, {}", *head), ""]
    for name, remark in _remarks(view):
        lines += [fill("**{}:** {}", name, clip(remark, LONGEST)), ""]
    if view.raw is not None:
        lines += [*_table(("what was written",), [(view.raw if view.raw.strip() else "(nothing)",)]), ""]
    lines += _table(("field", "kind", "part", "weight", "lost", "counts"), [_cells(view, one) for one in view.fields])
    for field in view.fields:
        if field.details:
            title = f"{clip(field.name, LONGEST)} {_lost(field)}"
            lines += ["", fill("#### {}", title), "", *_comparison(field.details)]
    return "\n".join(lines) + "\n"


def _table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    return [safe.row(cells) for cells in (header, (Markdown("---"),) * len(header), *rows)]


def _cells(view: View, field: FieldView) -> tuple[str, ...]:
    lost = _lost(field)
    if lost and field.lost == _worst(view):
        lost = Markdown(f"**{lost}** worst")
    name, kind = clip(field.name, LONGEST), clip(field.kind, LONGEST)
    return name, kind, _part(field), number(field.weight), lost, _counted(field)


def _comparison(details: list[Detail]) -> list[str]:
    rows: list[tuple[str, ...]] = []
    for one in details[:MOST]:
        sign = "=" if one.good else "+" if one.expected is None and one.got is not None else "-"
        texts = (clip(given or "", LONGEST) for given in (one.expected, one.got, one.note))
        rows.append((Markdown(sign), *texts))
    if len(details) > MOST:
        rows.append(("…", "", "", f"{len(details) - MOST:,} more"))
    return _table(("", "expected", "got", "why"), rows)
