"""What a page is made of, from what was just scored, or from a report alone."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ragworthy.files import write_whole
from ragworthy.names import HARMLESS, SEVERITY, Label
from ragworthy.report.html.material import History, Key, Material
from ragworthy.report.part import Part, Voices
from ragworthy.report.sheet import Viewed

MOST = 600
"""So many questions have a page of their own with all texts; of the others the table has a row."""
MANY = 20_000
"""From so many questions on a page holds its offenders only: rows are files (`--rows`)."""


def write(path: Path, report: dict[str, Any], parts: Sequence[Part], voices: Voices, history: History) -> None:
    """Write the page of a run that was just scored."""
    from ragworthy.report.html.page import render

    write_whole(path, render(with_history(gather(report, parts, voices), history)).encode())


def with_history(material: Material, history: History) -> Material:
    """The same with what earlier runs tell: of the numbers, and of single questions."""
    sheets = material.sheets
    if history.past is not None:
        sheets = {key: one.having(past=list(history.past(*key))) for key, one in sheets.items()}
    return material._replace(trend=history.trend, sheets=sheets)


def gather(report: dict[str, Any], parts: Sequence[Part], voices: Voices) -> Material:
    """Everything that is known of a run that was just scored."""
    if sum(part.body["counts"].get("gold", 0) for part in parts) > MANY:
        return of_report(report, voices)
    rows = [row for part in parts for row in _rows(part)]
    share = MOST // max(1, sum(part.look is not None for part in parts))
    sheets: dict[Key, Viewed] = {}
    for part in parts:
        if part.look is not None:
            names = _worst_first([row for row in rows if row["suite"] == part.suite], part.body)[:share]
            sheets |= {(part.suite, one.sheet.qid): one for one in part.look(names)}
    claims = {(part.suite, qid): claim for part in parts for qid, claim in _claims_before(part).items()}
    return Material(report, voices, rows, sheets, claims=claims)


def _claims_before(part: Part) -> Mapping[str, str]:
    """What was answered in the baseline to questions that changed."""
    flipped = _flipped(part.body)
    return part.before(list(flipped)) if part.before is not None and flipped else {}


def _flipped(body: dict[str, Any]) -> dict[str, None]:
    compared = body.get("compared") or {}
    return dict.fromkeys(one["qid"] for word in ("broken", "fixed", "moved") for one in compared.get(word, ()))


def _rows(part: Part) -> Iterator[dict[str, Any]]:
    """The rows of a suite with the texts of each question."""
    texts = part.texts() if part.texts is not None else {}
    for row in part.rows():
        yield {**row, "suite": part.suite, **texts.get(row["qid"], {})}


def _worst_first(rows: Sequence[dict[str, Any]], body: dict[str, Any]) -> list[str]:
    """The ids of questions: what is wrong, the worst kind first, then what changed, then the rest in gold order."""
    flipped = _flipped(body)

    def rank(row: dict[str, Any]) -> tuple[int, int]:
        label = row["label"]
        if label is None or label in HARMLESS:
            return (1 if row["qid"] in flipped else 2), 0
        return 0, SEVERITY[Label(label)] if label in SEVERITY else len(SEVERITY)

    return list(dict.fromkeys(row["qid"] for row in sorted(rows, key=rank)))


Look = Callable[[str, Sequence[str]], Sequence[Viewed]]
"""Everything that is known of some questions of a suite."""


def of_report(report: dict[str, Any], voices: Voices, look: Look | None = None) -> Material:
    """What a report alone knows: its offenders, and what its rows say of every other question. `look` knows more, where
    the files of the report are at hand.
    """
    rows = [row for suite, body in report["suites"].items() for row in _kept(suite, body)]
    sheets: dict[Key, Viewed] = {}
    for suite, body in report["suites"].items() if look is not None and len(rows) <= MANY else ():
        names = _worst_first([row for row in rows if row["suite"] == suite], body)[: MOST // len(report["suites"])]
        sheets |= {(suite, one.sheet.qid): one for one in look(suite, names)} if look is not None else {}
    return Material(report, voices, [_with_texts(row, sheets.get((row["suite"], row["qid"]))) for row in rows], sheets)


def _with_texts(row: dict[str, Any], shown: Viewed | None) -> dict[str, Any]:
    """A row with what was asked and answered, where that is known."""
    if shown is None:
        return row
    sheet = shown.sheet
    claim = sheet.answer.claim if sheet.answer is not None else None
    told = {"stage": sheet.stage, "question": sheet.question, "claim": claim}
    return row | {key: said for key, said in told.items() if said is not None}


def _kept(suite: str, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The rows that a report holds, with the texts that its offenders have."""
    from ragworthy.metrics.fold import as_number, of_nothing
    from ragworthy.rows import UnreadableError, decoded

    kept = body.get("rows") or {}
    offenders = {one["qid"]: one for one in body["offenders"]}
    try:
        rows = decoded(kept) if 0 < len(kept.get("qid", ())) <= MANY else None
    except UnreadableError:
        rows = None
    if rows is None:
        yield from ({**one, "suite": suite, "metrics": {}, "undefined": {}} for one in body["offenders"])
        return
    for nth, qid in enumerate(rows.qids):
        there = ((name, column[nth]) for name, column in rows.words.items())
        words: Any = {name: word for name, word in there if word is not None and not of_nothing(word)}
        told = offenders.get(qid, {})
        yield {
            "qid": qid,
            "label": rows.labels[nth],
            "stage": told.get("stage"),
            "cause": rows.causes[nth],
            "metrics": {name: float(as_number(word)) for name, word in words.items()},
            "undefined": {},
            "cluster": rows.clusters[nth],
            "suite": suite,
            **{key: told[key] for key in ("question", "claim") if told.get(key)},
        }
