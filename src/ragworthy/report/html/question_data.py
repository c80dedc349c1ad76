"""What the table of all questions is made from: every question once, each text once, within a budget of bytes."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ragworthy.names import HARMLESS, SEVERITY, Label
from ragworthy.report.html.env import island
from ragworthy.report.html.material import Key, Material
from ragworthy.report.part import to_look
from ragworthy.report.sheet import Answered, Passage, Sheet, Viewed
from ragworthy.report.sheet_text import cell, cut, grouped, values_of
from ragworthy.rows import UnreadableError, decoded
from ragworthy.text import clip

Json = dict[str, Any]
NONE = -1
"""Is where a question has no such value."""
PLACEHOLDER = "RAGWORTHY-QID"
"""Is in a command for the id of a question."""
WAYS = ("broken", "fixed", "moved")
"""What may have become of a question against the baseline, in the words of a report."""


class Budget(NamedTuple):
    """How many bytes the page may spend on single questions: with 500 of them it stays below 2 MB as a whole."""

    all: int = 1_300_000
    """On everything; the texts behind ids get what the others leave."""
    sheets: int = 700_000
    """On questions, answers and what is said of them."""
    views: int = 100_000
    """On what only one suite shows of a question."""
    rows: int = 200_000
    """On questions and answers that have only a row; and `a_row` more for every row."""
    a_row: int = 100


class Lengths(NamedTuple):
    """Characters that are shown of a text; `ragworthy show --full` has all of it."""

    question: int = 4_000
    claim: int = 6_000
    passage: int = 1_500
    """Of a text behind an id, where the question is wrong."""
    of_good: int = 500
    """The same where the question is as it should be."""
    note: int = 800
    view: int = 6_000
    row: int = 1_000
    """Of a question and a claim that have only a row, and fewer once the room for these is filled."""
    short: int = 60


BUDGET, LENGTHS = Budget(), Lengths()
MOST_RUNS, MOST_PASSAGES = 20, 30


class Listed:
    """Values that are told once and named by their place from then on."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._places: dict[Any, int] = {}

    def known(self, key: Any) -> int | None:
        """Where a value stands, if it was told."""
        return self._places.get(key)

    def place(self, value: Any, key: Any = None) -> int:
        """Where a value stands; it is added where it is new. None is nowhere."""
        if value is None:
            return NONE
        key = value if key is None else key
        if key not in self._places:
            self._places[key] = len(self.values)
            self.values.append(value)
        return self._places[key]


class Told:
    """The data of a page while it is put together."""

    def __init__(self, material: Material, budget: Budget, lengths: Lengths) -> None:
        self.material, self.lengths = material, lengths
        self.left = budget._replace(rows=budget.rows + budget.a_row * len(material.rows))
        self.texts, self.ids = Listed(), Listed()
        self.sheets: list[Json] = []
        self.places: dict[Key, int] = {}
        self.without_texts = 0
        """Questions of which a text was left out for want of room."""

    def sheet(self, key: Key, shown: Viewed) -> None:
        """Everything that is known of a question, as far as there is room."""
        told = _told(shown.sheet, self.lengths)
        size = _size(told)
        if size > self.left.sheets:
            return
        self.left = self.left._replace(sheets=self.left.sheets - size, all=self.left.all - size)
        told |= self._view(shown)
        self.places[key] = len(self.sheets)
        self.sheets.append(told)

    def row(self, row: Mapping[str, Any]) -> list[str]:
        """Question and claim of a question that has only a row."""
        said = [clip(row.get(name) or "", self.lengths.row) for name in ("question", "claim")]
        size = _size(said)
        if size > self.left.rows:
            return [clip(one, self.lengths.short) for one in said]
        self.left = self.left._replace(rows=self.left.rows - size)
        return said

    def _view(self, shown: Viewed) -> Json:
        if shown.view is None:
            return {}
        said = _clipped(shown.view("text", False), self.lengths.view)
        size = _size(said)
        if size > self.left.views:
            return {}
        self.left = self.left._replace(views=self.left.views - size, all=self.left.all - size)
        return {"view": said}

    def passages(self, key: Key, sheet: Sheet) -> None:
        """Ids with their ranks and marks; the text of each once, while there is room."""
        if key in self.places:
            most = self.lengths.of_good if sheet.good else self.lengths.passage
            self.sheets[self.places[key]] |= self._listed(sheet.passages, most)

    def _listed(self, passages: Sequence[Passage], most: int) -> Json:
        told: list[list[int]] = []
        lost = False
        for one in passages[:MOST_PASSAGES]:
            place = NONE
            if one.text is not None:
                place, fits = self._text(one.id, one.text, most)
                lost = lost or not fits
            told.append([self.ids.place(one.id), one.rank or 0, one.gold + 2 * one.cited, place])
        self.without_texts += lost
        more = len(passages) - MOST_PASSAGES
        return _some({"p": told, "p_more": max(more, 0), "left_out": lost})

    def _text(self, name: str, text: str, most: int) -> tuple[int, bool]:
        """Where a text stands, and whether there was room for it."""
        key = name, text
        known = self.texts.known(key)
        if known is not None:
            return known, True
        said = _clipped(text, most)
        size = _size(said)
        if size > self.left.all:
            return NONE, False
        self.left = self.left._replace(all=self.left.all - size)
        return self.texts.place(said, key), True


def data_of(material: Material, budget: Budget = BUDGET, lengths: Lengths = LENGTHS) -> Json:
    """The data of the table and of the pages for single questions; what is wrong comes first where room is short."""
    told = Told(material, budget, lengths)
    for key, shown in material.sheets.items():
        told.sheet(key, shown)
    for key, shown in material.sheets.items():
        told.passages(key, shown.sheet)
    facets = {name: Listed() for name in ("suites", "labels", "stages", "causes", "slices")}
    profiles, ways, slices = Listed(), ways_of(material), _slices_of(material)
    rows = []
    for row in material.rows:
        key = row["suite"], row["qid"]
        sheet = told.places.get(key, NONE)
        labelled = (facets[f"{name}s"].place(row.get(name)) for name in ("label", "stage", "cause"))
        way = WAYS.index(ways[key]) if key in ways else NONE
        marks = [facets["slices"].place(one) for one in slices.get(key, ())]
        head = [facets["suites"].place(row["suite"]), row["qid"], *labelled, way, marks]
        rows.append([*head, _profile(row, profiles), sheet, *([] if sheet != NONE else told.row(row))])
    named = {name: one.values for name, one in facets.items()}
    return {
        **named,
        "ranks": [rank_of(label) for label in facets["labels"].values],
        "show": [to_look(material.report, suite, material.voices, PLACEHOLDER) for suite in named["suites"]],
        "compared": bool(ways),
        "before": _before(material, lengths),
        "profiles": profiles.values,
        "ids": told.ids.values,
        "texts": told.texts.values,
        "sheets": told.sheets,
        "without_texts": told.without_texts,
        "rows": rows,
    }


def rank_of(label: str | None) -> int:
    """Where a label stands from worst to best; 0 says that it is as it should be, or that there is none.

    >>> rank_of("OK"), rank_of("HALLUCINATION") > rank_of("OVER_REFUSAL") > rank_of("NEW_LABEL") > 0
    (0, True)
    """
    if label is None or label in HARMLESS:
        return 0
    return len(SEVERITY) + 1 - SEVERITY[Label(label)] if label in SEVERITY else 1


def ways_of(material: Material) -> dict[Key, str]:
    """What became of each question against the baseline, of those that changed."""
    return {
        (suite, one["qid"]): way
        for suite, body in material.report["suites"].items()
        for way in WAYS
        for one in (body.get("compared") or {}).get(way) or ()
    }


def _before(material: Material, lengths: Lengths) -> Json:
    """What became of questions in the baseline, and what was answered there, by the place of their rows."""
    told: dict[Key, list[Any]] = {}
    for suite, body in material.report["suites"].items():
        for way in WAYS:
            for one in (body.get("compared") or {}).get(way) or ():
                claim = one.get("claim_a") or material.claims.get((suite, one["qid"])) or ""
                label = ": ".join(filter(None, (one["label_a"], one["cause_a"])))
                told[suite, one["qid"]] = [label, _clipped(claim, lengths.note)]
    keys = ((row["suite"], row["qid"]) for row in material.rows)
    return {str(nth): told[key] for nth, key in enumerate(keys) if key in told}


def _slices_of(material: Material) -> dict[Key, Sequence[str]]:
    """The slices of each question, as far as the report holds rows."""
    found: dict[Key, Sequence[str]] = {}
    for suite, body in material.report["suites"].items():
        try:
            rows = decoded(body.get("rows"))
        except UnreadableError:
            continue  # a report may hold none: it was made without them, or has too many
        found |= {(suite, qid): rows.slices[nth] for nth, qid in enumerate(rows.qids)}
    return found


def _profile(row: Mapping[str, Any], profiles: Listed) -> int:
    """Where it is told what the metrics say of a question, in the words of `ragworthy show`. Many questions have the
    same, so these words are only looked for once.
    """
    metrics, undefined = row.get("metrics") or {}, row.get("undefined") or {}
    key = tuple(metrics.items()), tuple(undefined.items())
    known = profiles.known(key)
    if known is not None:
        return known
    silent = [f"{names}: {why}" for why, names in grouped(undefined).items()]
    return profiles.place([[list(one) for one in values_of(metrics)], silent], key)


# a question


def _told(sheet: Sheet, lengths: Lengths) -> Json:
    """A question without the texts behind ids."""
    expected = sheet.expected
    return _some(
        {
            "question": _clipped(sheet.question or "", lengths.question),
            "refusal": expected.refusal,
            "expected": _clipped(expected.text, lengths.note),
            "evidence": [_clipped(one, lengths.note) for one in expected.evidence[:MOST_PASSAGES]],
            "gold": expected.ids[:MOST_PASSAGES],
            **_answered(sheet.answer, lengths),
            "why": _clipped(sheet.why, lengths.note),
            "remarks": sheet.remarks,
            "runs": _runs(sheet),
            "notes": [_clipped(one, lengths.note) for one in sheet.notes],
            "past": [[one.run, one.when, one.label or "–", one.cause or ""] for one in sheet.past],
            "go": sheet.commands,
        }
    )


def _answered(answer: Answered | None, lengths: Lengths) -> Json:
    if answer is None:
        return {}
    claim, more = cut(answer.claim or "", lengths.claim)
    cited = answer.citations if isinstance(answer.citations, list) else [answer.citations]
    return {
        "claim": _pieces(claim, answer.matches),
        "claim_more": more,
        "answered": answer.claim is not None,
        "lacks": [_clipped(one, lengths.note) for one in answer.lacks],
        "cites": [clip(str(one), lengths.note) for one in cited[:MOST_PASSAGES] if one is not None],
        "error": _clipped(answer.error or "", lengths.note),
    }


def _pieces(claim: str, matches: Sequence[tuple[int, int]]) -> list[str]:
    """A claim in pieces: every second one is gold text. Places in characters would not be those of a script.

    >>> _pieces("It is 45 days.", [(6, 13)]), _pieces("no", [])
    (['It is ', '45 days', '.'], ['no'])
    """
    pieces, last = [], 0
    for begin, end in matches:
        if end <= len(claim):
            pieces += [claim[last:begin], claim[begin:end]]
            last = end
    return [*pieces, claim[last:]] if claim else []


def _runs(sheet: Sheet) -> Json:
    """Runs or votes as a table."""
    if not sheet.runs:
        return {}
    head = list(sheet.runs[0])
    body = [[clip(cell(run.get(name)), 200) for name in head] for run in sheet.runs[:MOST_RUNS]]
    return {"head": head, "rows": body, "more": max(0, len(sheet.runs) - MOST_RUNS)}


def _clipped(text: str, most: int) -> str | list[Any]:
    """A text; where it is cut, with how many characters there are more.

    >>> _clipped("four", 4), _clipped("a word", 4)
    ('four', ['a wo', 2])
    """
    kept, more = cut(text, most)
    return [kept, more] if more else kept


def _some(told: Json) -> Json:
    """Only what there is something of."""
    return {name: value for name, value in told.items() if value}


def _size(value: Any) -> int:
    """How many bytes a value takes in the page, escapes with it."""
    return len(str(island("", value)).encode())
