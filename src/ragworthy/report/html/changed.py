"""What changed against the baseline: every number that moved, and the questions that flipped, both ways."""

from typing import Any, NamedTuple

from markupsafe import Markup

from ragworthy.report import changes
from ragworthy.report.html.env import fragment
from ragworthy.report.html.material import Material
from ragworthy.report.html.terms import Terms
from ragworthy.report.part import Table, Voice
from ragworthy.report.show import plural

SHOWN = 20
"""So many questions of a kind are listed; the table of all questions has the others."""


class Flip(NamedTuple):
    """A question that is right in one run and wrong in the other."""

    qid: str
    suite: str
    question: str
    before: str
    after: str
    """What became of it, in both runs."""
    was: str | None
    now: str | None
    """What was answered, where that is known."""


class Flips(NamedTuple):
    """All that went one way."""

    kind: str
    title: str
    flips: list[Flip]
    more: int


class Moved(NamedTuple):
    """What changed in one suite."""

    suite: str
    head: str
    lines: list[str]
    header: tuple[str, ...]
    rows: list[tuple[Markup | str, ...]]
    flips: list[Flips]
    tables: list[Table]
    """Tables of the suite's own: an index against the one in use."""


_TITLES = {
    "broken": ("fail", "Broken: right before, wrong now"),
    "fixed": ("pass", "Fixed: wrong before, right now"),
    "moved": ("muted", "Wrong in another way"),
}


def changed(material: Material, terms: Terms) -> Markup:
    """Every suite that is compared with something."""
    report = material.report
    texts = {(row["suite"], row["qid"]): row for row in material.rows}
    found = []
    for suite, body in report["suites"].items():
        voice = material.voices(suite)
        if body.get("compared"):
            found.append(_against(suite, body["compared"], changes.lead(body), material, texts, terms))
        if body.get("live"):
            found.append(_live(suite, body, voice, terms))
    return fragment("changed.html", suites=found, several=len(report["suites"]) > 1) if found else Markup()


def _against(
    suite: str,
    compared: dict[str, Any],
    lead: list[str],
    material: Material,
    texts: dict[tuple[str, str], dict[str, Any]],
    terms: Terms,
) -> Moved:
    head, *rest = lead
    notes = [line.strip() for line in rest if not line.strip().startswith(("broken:", "fixed:"))]
    if compared["unlike"] or compared["rowless"] is not None:
        return Moved(suite, head, notes, (), [], [], [])
    rows, _ = changes.rows_of(compared, every=False)
    header = ("metric", "was", "is", *changes.HEADER[3:])
    moved = [
        (terms.link(name), *cells) for name, *cells in rows if cells[2] not in ("", "0") or {*cells[5:]} - {"", "0"}
    ]
    below = [*changes.p_lines(compared), *compared["notes"]]
    flips = [_flips(word, compared[word], suite, material, texts) for word in _TITLES if compared[word]]
    return Moved(suite, head, [*notes, *(line for line in below if line not in notes)], header, moved, flips, [])


def _flips(
    word: str,
    listed: list[dict[str, Any]],
    suite: str,
    material: Material,
    texts: dict[tuple[str, str], dict[str, Any]],
) -> Flips:
    kind, title = _TITLES[word]
    flips = []
    for one in listed[:SHOWN]:
        key = suite, one["qid"]
        row, shown = texts.get(key, {}), material.sheets.get(key)
        sheet = shown.sheet if shown is not None else None
        question = one["question"] or row.get("question") or (sheet.question if sheet is not None else None)
        answer = sheet.answer.claim if sheet is not None and sheet.answer is not None else None
        flips.append(
            Flip(
                one["qid"],
                suite,
                question or "",
                _word(one["label_a"], one["cause_a"]),
                _word(one["label_b"], one["cause_b"]),
                one["claim_a"] or material.claims.get(key),
                one["claim_b"] or row.get("claim") or answer,
            )
        )
    return Flips(kind, f"{title} ({plural(len(listed), 'question')})", flips, max(0, len(listed) - SHOWN))


def _word(label: str | None, cause: str | None) -> str:
    return f"{label}: {cause}" if cause else label or "–"


def _live(suite: str, body: dict[str, Any], voice: Voice, terms: Terms) -> Moved:
    """An index against the one in use."""
    head, *rest = voice.lead(body) or ["against the index in use"]
    tables = [
        table._replace(rows=[(terms.link(name), *cells) for name, *cells in table.rows]) for table in voice.tables(body)
    ]
    return Moved(suite, head, [line.strip() for line in rest], (), [], [], tables)
