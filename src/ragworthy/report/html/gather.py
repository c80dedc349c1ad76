"""What a page is made of, from what was just scored, or from a report alone."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ragworthy.files import write_whole
from ragworthy.names import HARMLESS, SEVERITY, Label
from ragworthy.report.html.material import Key, Material, Trend
from ragworthy.report.part import Part, Voices
from ragworthy.report.sheet import Viewed

MOST = 600
"""So many questions have a page of their own with all texts; of the others the table has a row."""


def write(path: Path, report: dict[str, Any], parts: Sequence[Part], voices: Voices, trend: Trend | None) -> None:
    """Write the page of a run that was just scored."""
    from ragworthy.report.html.page import render

    write_whole(path, render(gather(report, parts, voices)._replace(trend=trend or {})).encode())


def gather(report: dict[str, Any], parts: Sequence[Part], voices: Voices) -> Material:
    """Everything that is known of a run that was just scored."""
    rows = [row for part in parts for row in _rows(part)]
    share = MOST // max(1, sum(part.look is not None for part in parts))
    sheets: dict[Key, Viewed] = {}
    for part in parts:
        if part.look is not None:
            names = _worst_first([row for row in rows if row["suite"] == part.suite], part.body)[:share]
            sheets |= {(part.suite, one.sheet.qid): one for one in part.look(names)}
    return Material(report, voices, rows, sheets)


def _rows(part: Part) -> Iterator[dict[str, Any]]:
    """The rows of a suite with the texts of each question."""
    texts = part.texts() if part.texts is not None else {}
    for row in part.rows():
        yield {**row, "suite": part.suite, **texts.get(row["qid"], {})}


def _worst_first(rows: Sequence[dict[str, Any]], body: dict[str, Any]) -> list[str]:
    """The ids of questions: what is wrong, the worst kind first, then what changed, then the rest in gold order."""
    compared = body.get("compared") or {}
    flipped = {one["qid"] for word in ("broken", "fixed", "moved") for one in compared.get(word, ())}

    def rank(row: dict[str, Any]) -> tuple[int, int]:
        label = row["label"]
        if label is None or label in HARMLESS:
            return (1 if row["qid"] in flipped else 2), 0
        return 0, SEVERITY[Label(label)] if label in SEVERITY else len(SEVERITY)

    return list(dict.fromkeys(row["qid"] for row in sorted(rows, key=rank)))


def of_report(report: dict[str, Any], voices: Voices) -> Material:
    """What a report alone knows: its offenders, and what its rows say of every other question."""
    rows = [row for suite, body in report["suites"].items() for row in _kept(suite, body)]
    return Material(report, voices, rows)


def _kept(suite: str, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The rows that a report holds, with the texts that its offenders have."""
    from ragworthy.metrics.fold import as_number, of_nothing
    from ragworthy.rows import decoded

    kept = body.get("rows") or {}
    if "qid" not in kept:
        return
    offenders = {one["qid"]: one for one in body["offenders"]}
    rows = decoded(kept)
    for nth, qid in enumerate(rows.qids):
        words = {
            name: word
            for name, column in rows.words.items()
            if (word := column[nth]) is not None and not of_nothing(word)
        }
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
