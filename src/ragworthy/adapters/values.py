"""What the values of a column show that its name does not: texts where ids should stand, and ids where texts should."""

from collections.abc import Iterator, Mapping
from typing import Any

from ragworthy.adapters.columns import RESULTS, Columns, pick, plain
from ragworthy.adapters.objects import Row, Rows
from ragworthy.adapters.rows import listed
from ragworthy.errors import data_error
from ragworthy.text import clip, has_cjk

LONGEST_ID = 200
"""So many characters an id may have; longer ones are paragraphs."""
_WORDS = 6
"""From so many words a piece on, a long cell with commas in it is not a list of ids."""
_INSTEAD = {
    "gold_citations": "name passages with --map evidence={0}, and map gold_citations to a column of ids, or to none",
    "citations": "map citations to a column of ids, or to none with --map citations=",
    "retrieved_ids": "name passages with --map retrieved={0}, and ids with --map retrieved_ids=COLUMN",
}


def by_values(columns: Columns, table: Rows, given: Mapping[str, str]) -> tuple[Columns, list[str]]:
    """Columns of which texts that were taken as ids are passages, and ids that were taken as passages are ids."""
    fields, notes = dict(columns.fields), list[str]()
    path = fields.get("retrieved_ids")
    if path is not None and "retrieved" not in fields and _paragraph(table, path) is not None:
        fields = {"retrieved" if field == "retrieved_ids" else field: one for field, one in fields.items()}
        notes.append(f"{path} holds texts, not ids: they are read as passages (retrieved), not as retrieved_ids")
    elif "retrieved" in fields and path is None and "retrieved" not in given and _all_ids(table, fields["retrieved"]):
        fields = {"retrieved_ids" if field == "retrieved" else field: one for field, one in fields.items()}
    for field, instead in _INSTEAD.items():
        if field in fields and (found := _paragraph(table, fields[field])) is not None:
            row, text = found
            message = f'expected ids, got a text of {len(text):,} characters ("{clip(text.strip(), 40)}"): '
            where = f"{table.path}: {row.where}"
            raise data_error("RW-A08", message + instead.format(fields[field]), where=where, field=fields[field])
    return columns._replace(fields=fields), notes


def _texts(table: Rows, path: str) -> Iterator[tuple[Row, Any, bool]]:
    """Every value of a column, and whether it is in a list."""
    for row in table.rows:
        value = pick(row.value, path)
        for one in listed(value):
            yield row, one, one is not value


def _paragraph(table: Rows, path: str) -> tuple[Row, str] | None:
    """The first text of a column that is not an id, nor a cell with ids between commas, semicolons or line breaks."""
    for row, value, alone in _texts(table, path):
        if isinstance(value, str) and is_paragraph(value, alone=alone):
            return row, value
    return None


def is_paragraph(text: str, *, alone: bool = True) -> bool:
    """Whether a text is too long to be an id, or has line breaks; where not `alone`, it may be several ids.

    >>> is_paragraph("doc#3"), is_paragraph("One line.\\nAnother."), is_paragraph("a\\nb", alone=False)
    (False, True, False)
    """
    if alone:
        return len(text) > LONGEST_ID or "\n" in text.strip()
    pieces = [piece for line in text.splitlines() for part in line.split(";") for piece in part.split(",")]
    long = sum(len(piece.split()) >= _WORDS for piece in pieces)
    return any(len(piece) > LONGEST_ID for piece in pieces) or (len(text) > LONGEST_ID and 2 * long >= len(pieces))


def looks_like_id(text: str) -> bool:
    """Whether a text may name a passage: one word, not too long, with a sign or digit that words do not have.

    >>> looks_like_id("doc#3"), looks_like_id("45 days"), looks_like_id("第3条规定期限为四十五天。")
    (True, False, False)
    """
    told = any(sign.isdigit() or sign in "#|:/_@-" for sign in text)
    return told and not has_cjk(text) and len(text) <= LONGEST_ID and len(text.split()) == 1


def _all_ids(table: Rows, path: str) -> bool:
    """Whether a column holds ids: words that look like some, or any words where the name says that it lists results."""
    values = [value for _, value, _ in _texts(table, path)]
    is_id = _is_word if plain(path) in RESULTS else looks_like_id
    return bool(values) and all(isinstance(value, str) and is_id(value) for value in values)


def _is_word(text: str) -> bool:
    return len(text.split()) == 1 and not is_paragraph(text)
