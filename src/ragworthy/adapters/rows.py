"""Rows of a table, or records with the same fields, as gold items, traces and chunks."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ragworthy.adapters.columns import Columns, pick
from ragworthy.adapters.documents import DocIds, Markers, content_id, doc_ids, document, markers
from ragworthy.adapters.habits import ENDING, answered, is_sentence
from ragworthy.adapters.model import Imported, Option, Record, Skip, stamp
from ragworthy.adapters.objects import Row, Rows
from ragworthy.adapters.questions import Questions, questions
from ragworthy.names import REFUSAL
from ragworthy.text import clip, compiled, described

UNANSWERABLE = ("N/A", REFUSAL)
_SAID = ("answer", "response", "answerable", "unanswerable")
_YES = {"yes", "true", "1", "y", "t", "ja", "x", "是", "sí", "oui", "はい"}
_NO = {"no", "false", "0", "n", "f", "nein", "否", "不是", "non", "いいえ"}
_RESERVED = {
    "qid", "q_id", "question", "answerable", "gold_claim_substr", "gold_claim_all", "gold_reference", "gold_evidence",
    "gold_source", "gold_citations", "constraints", "imported", "paraphrases", "relevant", "negatives", "grades",
    "anchor_section", "relevant_offsets", "index_hash", "q", "retrieved_ids", "answer_json", "error",
}  # fmt: skip

MARKER = Option("--marker", "how answers cite what was retrieved: a regular expression, or none (default: [1])",
                "REGEX")  # fmt: skip
DOC_ID = Option("--doc-id", "what names a passage: id, content, or metadata:KEY,KEY (default: the first there is)",
                "RULE")  # fmt: skip
SPLIT = Option("--split-on", "what is between several answers or sources in one cell, e.g. ';'", "TEXT")
NO_ANSWER = Option(
    "--unanswerable",
    "what an answer says where there is none (repeatable; default: N/A and 'not in context'; an empty one always)",
    "TEXT",
    several=True,
)


class Settings(NamedTuple):
    """How cells become values."""

    form: str
    columns: Columns
    markers: Markers
    ids: DocIds
    split_on: str = ""
    unanswerable: tuple[str, ...] = UNANSWERABLE
    known: Questions | None = None
    """The gold set that the rows are answers to."""
    suite: str = "answers"

    @classmethod
    def of(cls, form: str, columns: Columns, options: Mapping[str, Any]) -> "Settings":
        """Those that the options of a format give."""
        refused = options.get("unanswerable") or ()
        refused = (refused,) if isinstance(refused, str) else tuple(refused)
        return cls(
            form,
            columns,
            markers(options.get("marker")),
            doc_ids(options.get("doc_id")),
            (options.get("split_on") or "").replace("\\n", "\n"),
            refused or UNANSWERABLE,
            questions(Path(options["gold"])) if options.get("gold") else None,
            options.get("suite") or _suite(columns),
        )


def _suite(columns: Columns) -> str:
    """Rows that judge or list passages and say nothing of answers are for retrieval."""
    there = columns.fields.keys()
    found = {"retrieved", "retrieved_ids"} & there and not {*_GOLD, "citations"} & there
    about = (found or {"gold_citations", "anchor_section"} & there) and there.isdisjoint(_SAID)
    return "retrieval" if about else "answers"


class _Unfit(Exception):
    """A row that gives no record, and why."""


def convert(files: Iterable[tuple[Rows, Settings]], read: Sequence[str] = ()) -> Imported:
    """Every row as a gold item, a trace, or both; qids are made where the rows have none, the same ones every time."""
    made = _Made()
    taken = 0
    suite = "answers"
    for nth, (table, settings) in enumerate(files):
        suite = settings.suite
        for row in table.rows:
            taken += 1
            where = row.where if nth == 0 else f"{table.path}: {row.where}"
            try:
                if row.broken:
                    raise _Unfit(row.broken)
                made.take(row, settings, stamp(settings.form, table.sha256, row.at), taken, where)
            except _Unfit as why:
                made.skipped.append(Skip(where, str(why)))
    chunks = [{"chunk_id": name, "text": text} for name, text in made.texts.items()]
    return Imported(made.gold, made.traces, chunks, taken, "row", made.skipped, made.notes(), tuple(read), suite)


class _Made:
    """What was made so far."""

    def __init__(self) -> None:
        self.gold: list[Record] = []
        self.traces: list[Record] = []
        self.skipped: list[Skip] = []
        self.texts: dict[str, str] = {}
        self.seen: dict[str, str] = {}
        self.left: dict[str, int] = {}
        """How many values of each kind were left out."""
        self.strays = 0
        self.unnamed = 0
        self.refused: set[str] = set()

    def take(self, row: Row, how: Settings, made: Record, nth: int, where: str) -> None:
        """One row."""
        cells = {field: pick(row.value, path) for field, path in how.columns.fields.items()}
        question = text_of(cells.get("question")) or next(iter(texts_of(cells.get("paraphrases"), "")), "")
        qid = text_of(cells.get("qid"))
        if not question and (not qid or {"question", "paraphrases"} & how.columns.fields.keys()):
            raise _Unfit("no question")
        qid = _known(qid, question, how.known) if how.known is not None else qid or f"Q{nth:03d}"
        is_gold = bool(_GOLD & how.columns.fields.keys())
        if is_gold and qid in self.seen:  # several traces of one question are several runs of it
            raise _Unfit(f'its id "{clip(qid, 40)}" is that of {self.seen[qid]}')
        item = (_judged(cells, how) if how.suite == "retrieval" else self._gold(cells, how)) if is_gold else None
        trace = self._trace(cells, how, question) if _TRACE & how.columns.fields.keys() else None
        self.seen[qid] = where
        kept = dict(_kept(row.value, how.columns.others))
        if item is not None:
            self.gold.append({"qid": qid, "question": question, **item, **kept, "imported": made})
        if trace is not None:
            self.traces.append({"qid": qid, **trace, **({} if item is not None else kept), "imported": made})

    def _gold(self, cells: Mapping[str, Any], how: Settings) -> Record:
        answers = texts_of(cells.get("answer"), how.split_on)
        refused = {one.strip().casefold() for one in how.unanswerable}
        said = [one for one in answers if one.casefold() not in refused]
        groups = _groups(cells.get("gold_claim_all"), how.split_on)
        silent = not {"answer", "gold_claim_all"} & how.columns.fields.keys()
        answerable = _answerable(cells, bool(said or groups) or silent)
        if not answerable and not said and "answer" in how.columns.fields:
            self.refused.add(f'"{answers[0]}"' if answers else "an empty answer")
        item: Record = {"answerable": answerable, "gold_claim_substr": [], "gold_citations": []}
        places: dict[str, list[Any]] = {
            "gold_evidence": texts_of(cells.get("evidence"), ""),
            "gold_source": list(_sources(cells, how.split_on)),
            "gold_citations": _ids(cells.get("gold_citations"), how.split_on),
            "negatives": _ids(cells.get("negatives"), how.split_on),
        }
        if not answerable:
            self._count("answer text of an unanswerable question", len(said) + len(groups))
            self._count("source or evidence of an unanswerable question", sum(map(len, places.values())))
            return item
        long = [one for one in said if is_sentence(one)]
        item["gold_claim_substr"] = [one for one in said if not is_sentence(one)]
        if long:
            item["gold_reference"] = long[0]
            self._count("further reference of a question that has one", len(long) - 1)
        more = {key: texts_of(cells.get(key), how.split_on) for key in ("paraphrases", "constraints")} | places
        more |= {"gold_claim_all": groups}
        return item | {key: value for key, value in more.items() if value}

    def _trace(self, cells: Mapping[str, Any], how: Settings, question: str) -> Record:
        ids = _ids(cells.get("retrieved_ids"), how.split_on)
        found = cells.get("retrieved")
        if not isinstance(found, str | list | tuple | None) and document(found) is None:
            raise _Unfit(f"{described(found)} where a list of passages is expected")
        passages = listed(found)
        named = self._passages(passages, ids, how)
        ids = ids or named
        trace: Record = {"q": question} if question else {}
        trace["retrieved_ids"] = ids
        if error := text_of(cells.get("error")):
            return trace | {"error": error}
        if how.columns.fields.keys().isdisjoint(("response", "citations")):
            return trace  # found, and not answered
        said, beside = answered(cells.get("response"))
        claim, ending = _split_off(text_of(said))
        cited = how.markers.read(claim, ids)
        named = _ids(cells.get("citations") or beside, how.split_on)
        citations = list(dict.fromkeys([*(named or ending), *cited.citations]))
        self.strays += cited.outside
        return trace | {"answer_json": {"claim": cited.claim, "citations": citations}}

    def _passages(self, passages: Sequence[Any], ids: Sequence[str], how: Settings) -> list[str]:
        """The ids of retrieved passages; their texts become chunks."""
        names = []
        for nth, value in enumerate(passages):
            found = document(value)
            if found is None:
                self._count("retrieved passage without id and text", 1)
                continue
            name = ids[nth] if len(ids) == len(passages) else how.ids.named(found).id
            names.append(name)
            if found.text and name not in self.texts:
                self.texts[name] = found.text
                self.unnamed += name == content_id(found.text)
        return names

    def _count(self, what: str, count: int) -> None:
        if count:
            self.left[what] = self.left.get(what, 0) + count

    def notes(self) -> list[str]:
        """What was left out of rows that were taken."""
        notes = [f"left out: {count} × {what}" for what, count in self.left.items()]
        if self.refused:
            count = sum(not item.get("answerable", True) for item in self.gold)
            are = "1 question is" if count == 1 else f"{count} questions are"
            notes.append(f"{are} taken as unanswerable: {', '.join(sorted(self.refused))}")
        if self.unnamed:
            notes.append(f"{self.unnamed} passages have no id: each is named by a hash of its text")
        if self.strays:
            notes.append(f"{self.strays} markers name no passage: each counts as a citation of nothing")
        return notes


_GOLD = {"answer", "gold_claim_all", "evidence", "source", "gold_citations", "answerable", "unanswerable",
         "anchor_section"}  # fmt: skip
_TRACE = {"response", "retrieved", "retrieved_ids", "citations", "error"}


def _known(qid: str, question: str, known: Questions) -> str:
    """The id of a question in the gold set that was given: its own, or by its wording."""
    if qid in known.qids:
        return qid
    found = known.asked(question)
    if len(found) != 1:
        raise _Unfit(
            "its question is not in the gold set" if not found else "its question is that of several gold items"
        )
    return next(iter(found))


def _judged(cells: Mapping[str, Any], how: Settings) -> Record:
    """A gold item of retrieval: the wordings, and what answers them."""
    question = text_of(cells.get("question"))
    wordings = texts_of(cells.get("paraphrases"), "") or ([question] if question else [])
    found = [one for one in listed(cells.get("gold_citations")) if isinstance(one, dict) and one.get("offsets")]
    item: Record = {
        "paraphrases": wordings,
        "relevant": _ids(cells.get("gold_citations"), how.split_on),
        "anchor_section": text_of(cells.get("anchor_section")),
    }
    more = {
        "relevant_offsets": {_ids([one], "")[0]: one["offsets"] for one in found if _ids([one], "")},
        "gold_evidence": texts_of(cells.get("evidence"), ""),
        "gold_source": list(_sources(cells, how.split_on)),
        "negatives": _ids(cells.get("negatives"), how.split_on),
    }
    return item | {key: value for key, value in more.items() if value}


def _split_off(text: str) -> tuple[str, list[str]]:
    """An answer that ends with `citations: [a, b]`: what is before, and the ids.

    >>> _split_off("X rejects null keys.\\nCitations: [p1#2 p1#3]")
    ('X rejects null keys.', ['p1#2', 'p1#3'])
    """
    found = compiled(ENDING, re.IGNORECASE).search(text)
    if found is None:
        return text, []
    return text[: found.start()].strip(), [one for one in re.split(r"[,\s]+", found[1]) if one]


# cells


def text_of(value: Any) -> str:
    """A value as a person reads it.

    >>> text_of(2011.0), text_of(" a "), text_of(None), text_of(True), text_of(0.25)
    ('2011', 'a', '', 'true', '0.25')
    """
    if isinstance(value, str):
        return value.strip()
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else format(value, ".15g")
    if isinstance(value, int):
        return str(value)
    raise _Unfit(f"{described(value)} where a text is expected")


def texts_of(value: Any, split_on: str) -> list[str]:
    """The texts of a cell or a list; `split_on` is between those of one cell."""
    texts = [text_of(one) for one in listed(value)]
    if split_on:
        texts = [piece.strip() for text in texts for piece in text.split(split_on)]
    return list(dict.fromkeys(text for text in texts if text))


def _groups(value: Any, split_on: str) -> list[str | list[str]]:
    """What an answer has all of: the texts of a cell, and lists of texts of which any will do."""
    found: list[str | list[str]] = []
    for one in listed(value):
        found += [texts_of(one, "")] if isinstance(one, list) else texts_of(one, split_on)
    return [one for one in found if one]


def listed(value: Any) -> list[Any]:
    """A value as a list; JSON text of a list counts as one."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        import msgspec

        try:
            found = msgspec.json.decode(value)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            return [value]  # a text that begins with a bracket
        return found if isinstance(found, list) else [value]
    if isinstance(value, list | tuple):
        return list(value)
    return [] if value is None or value == "" else [value]


def _ids(value: Any, split_on: str) -> list[str]:
    """Ids, plain or as objects of a citation; without `split_on` they may be between commas or semicolons."""
    found: list[str] = []
    for one in listed(value):
        if isinstance(one, dict):
            name = next((one[key] for key in ("snippet_id", "chunk_id", "id", "doc_id") if one.get(key)), None)
            if name is None:
                raise _Unfit("a citation without an id")
            found.append(text_of(name))
        else:
            text = text_of(one)
            pieces = (
                text.split(split_on) if split_on else re.split(r"[;,\n]", text) if isinstance(value, str) else [text]
            )
            found += [piece.strip() for piece in pieces]
    return list(dict.fromkeys(one for one in found if one))


def _sources(cells: Mapping[str, Any], split_on: str) -> Iterator[str | Record]:
    section, page = text_of(cells.get("section")), text_of(cells.get("page"))
    for one in listed(cells.get("source")):
        if isinstance(one, dict):
            doc = next((text_of(one[key]) for key in ("doc", "source", "file", "id", "url") if one.get(key)), "")
            if not doc:
                raise _Unfit("a source without a document")
            yield {"doc": doc} | {key: text_of(one[key]) for key in ("section", "page") if one.get(key)}
            continue
        for name in texts_of(one, split_on):
            place: Record = {"section": section} if section else {}
            place |= {"page": int(page) if compiled(r"[0-9]{1,9}").fullmatch(page) else page} if page else {}
            yield {"doc": name, **place} if place else name


def _answerable(cells: Mapping[str, Any], told: bool) -> bool:
    for field, means in (("answerable", True), ("unanswerable", False)):
        word = text_of(cells.get(field)).casefold()
        if word in _YES:
            return means
        if word in _NO:
            return not means
        if word:
            raise _Unfit(f'{field}: expected yes or no, got "{clip(word, 40)}"')
    return told


def without_objects(columns: Columns, found: Rows) -> Columns:
    """Columns of which those with objects in them are told apart: they are not fields to split by, and are left out."""
    nested = tuple(name for name in columns.others if any(_holds_objects(row.value.get(name)) for row in found.rows))
    return columns._replace(others=[name for name in columns.others if name not in nested], nested=nested)


def _holds_objects(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(isinstance(one, dict | list) for one in value))


def _kept(record: Mapping[str, Any], names: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """Columns that are kept under their own names, to split numbers by."""
    taken: set[str] = set()
    for name in names:
        value = record.get(name)
        if value is None or value == "" or value == []:
            continue
        key = slice_name(name)
        while key in _RESERVED or key in taken:
            key += "_"
        taken.add(key)
        yield key, value.strip() if isinstance(value, str) else value


def slice_name(name: str) -> str:
    """A column as a field that a policy can name.

    >>> slice_name("Owner / Team "), slice_name("部门"), slice_name("runDuration")
    ('owner_team', '部门', 'run_duration')
    """
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", unicodedata.normalize("NFKC", name))
    return re.sub(r"\W+", "_", words.lower()).strip("_") or "column"
