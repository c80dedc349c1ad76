"""All questions: a table that can be searched, a page for each of them, and a plain list of what is wrong."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from markupsafe import Markup

from ragworthy.glossary import Kind, anchor
from ragworthy.report.html.env import fragment
from ragworthy.report.html.material import Material
from ragworthy.report.html.question_data import data_of, rank_of, ways_of
from ragworthy.report.html.terms import Terms
from ragworthy.report.part import to_look
from ragworthy.report.sheet import Sheet
from ragworthy.text import clip

SCRIPT, STYLE = "questions.js", "questions.css"
MOST_LISTED = 60
"""So many questions are listed for print, and for people without a script."""
LONGEST = 500


_KINDS = {"labels": Kind.LABEL, "stages": Kind.STAGE, "causes": Kind.CAUSE}


class Wrong(NamedTuple):
    """A question that is wrong, in a few lines."""

    key: str
    """What a link to it ends with."""
    qid: str
    suite: str
    label: str
    where: str
    """The stage and the cause."""
    way: str
    question: str
    expected: str
    claim: str
    error: str
    why: str
    command: str


def questions(material: Material, terms: Terms) -> Markup:
    """The table of all questions with everything behind it; nothing where no question is known."""
    if not material.rows:
        return Markup()
    wrong = list(_wrong(material))
    data = data_of(material)
    data["anchors"] = _anchors(data, terms)
    return fragment(
        "questions.html",
        data=data,
        count=len(material.rows),
        wrong=wrong[:MOST_LISTED],
        more=len(wrong) - MOST_LISTED,
        several=len(material.report["suites"]) > 1,
        without=len(material.rows) - len(data["sheets"]),
        without_texts=data["without_texts"],
    )


def _anchors(data: dict[str, Any], terms: Terms) -> dict[str, list[str]]:
    """Where the page says what each label, stage and cause means; metrics are explained under their own names."""
    for metric in {name for row in data["profiles"] for name, _ in row[0]}:
        terms.link(metric)
    found: dict[str, list[str]] = {}
    for name, kind in _KINDS.items():
        known = [(one, terms.entry(one, kind)) for one in data[name]]
        found[name] = ["" if entry is None else anchor(entry) for _, entry in known]
        for one, _ in known:
            terms.word(one, kind)
    return found


def _wrong(material: Material) -> Iterator[Wrong]:
    """What is wrong, the worst first."""
    bad = [row for row in material.rows if rank_of(row["label"])]
    ways = ways_of(material)
    for row in sorted(bad, key=lambda one: -rank_of(one["label"])):
        suite, qid = row["suite"], row["qid"]
        shown = material.sheets.get((suite, qid))
        sheet = shown.sheet if shown is not None else None
        yield Wrong(
            key=f"q={suite}/{qid}",
            qid=qid,
            suite=suite,
            label=row["label"],
            where=": ".join(filter(None, (row.get("stage"), row.get("cause")))),
            way=ways.get((suite, qid), ""),
            **_texts(row, sheet),
            command=to_look(material.report, suite, material.voices, qid),
        )


def _texts(row: dict[str, Any], sheet: Sheet | None) -> dict[str, str]:
    """What was asked, expected and answered, cut to a few lines."""
    answer = sheet.answer if sheet is not None else None
    told = {
        "question": (sheet.question if sheet is not None else None) or row.get("question"),
        "expected": None if sheet is None else "a refusal" if sheet.expected.refusal else sheet.expected.text,
        "claim": (answer.claim if answer is not None else None) or row.get("claim"),
        "error": answer.error if answer is not None else None,
        "why": sheet.why if sheet is not None else None,
    }
    return {name: clip(text or "", LONGEST) for name, text in told.items()}
