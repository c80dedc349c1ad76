"""What a person needs to decide about an id that a new index does not have as it was."""

from collections.abc import Sequence
from typing import Any

from ragworthy.gold.rebind import Review
from ragworthy.ids import stable
from ragworthy.metrics.facts.redirects import Redirects, Table


class Shown:
    """What a person needs beside an entry to review: the question, the old text, and the blocks it may have become."""

    def __init__(
        self,
        records: Sequence[dict[str, Any]],
        redirects: Redirects,
        tables: Sequence[Table],
        old: dict[str, str],
        new: dict[str, str],
    ) -> None:
        self._questions = {one.get("qid") or one.get("q_id"): _wording(one) for one in records}
        self._redirects, self._old, self._new = redirects, old, new
        self._rows = {row.old_block_id: row for table in tables for row in table.rows}

    def row(self, one: Review) -> dict[str, Any]:
        """The entry as it is written: texts where the indexes were given, else as much as the table keeps."""
        row = self._rows.get(one.id)
        names = list(self._redirects.resolve(one.id)) if one.id else []
        if not names and row is not None and row.best is not None:
            names = [row.best.id]
        more: dict[str, Any] = {
            "question": self._questions.get(one.qid),
            "text": self._old.get(stable(one.id)) or (row.old_text if row is not None else None),
            "candidates": [{"id": name, "text": self._new.get(stable(name))} for name in names],
        }
        return one.row() | {key: value for key, value in more.items() if value}


def _wording(record: dict[str, Any]) -> Any:
    wordings = record.get("paraphrases")
    return record.get("question") or (wordings[0] if isinstance(wordings, list) and wordings else None)
