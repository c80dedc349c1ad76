"""Gold ids that name other texts by now: whether the chunks of a question's ids hold what a right answer says.

An id is only a name. After the corpus was cut again `doc-7` may stand for another piece of the document, and nothing
about the id shows it; the gold text, which stood in the chunk when the id was written down, does.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ragworthy.load.gold import name_of
from ragworthy.metrics.facts.pieces import every_piece, tells
from ragworthy.records import Gold
from ragworthy.report.part import plain
from ragworthy.report.show import plural
from ragworthy.text import fold

CODE, CERTAIN = "RW-W89", "RW-G21"
TELLING = 5
"""A piece of fewer characters is in other chunks by chance; of a script without spaces two are enough."""
MOST = 200
"""So many questions are looked up in the whole corpus."""
CAUSE = "were they cut again? say what the evidence is (gold_evidence)"


class Stale(NamedTuple):
    """Questions whose ids name chunks without the gold text."""

    checked: int = 0
    """How many questions have ids of the corpus and a gold text."""
    qids: Sequence[str] = ()
    looked_up: int = 0
    """Of how many of them the gold text was looked for in all chunks, and in how many cases it was there."""
    elsewhere: int = 0

    @property
    def most(self) -> bool:
        """Whether it is more than half of the questions."""
        return 2 * len(self.qids) > self.checked

    @property
    def certain(self) -> bool:
        """Whether the ids are of another chunking for certain: the texts are there, in other chunks."""
        return self.most and 2 * self.elsewhere > self.looked_up

    @property
    def said(self) -> str:
        """The finding in words."""
        share = f"{len(self.qids):,} of {plural(self.checked, 'question')}"
        return f"{share}: the chunks that gold_citations names do not hold the gold text"

    @property
    def invalid(self) -> list[str]:
        """Why metrics of citations say nothing here."""
        return [f"{self.said}, which is in other chunks: {CAUSE} [{CERTAIN}]"] if self.certain else []

    def warnings(self) -> list[dict[str, Any]]:
        """The finding, with the first questions."""
        if not self.qids:
            return []
        message = f"{self.said}, e.g. {self.qids[0]}; {CAUSE}"
        return [plain(CODE, message, len(self.qids), list(self.qids[:3]))]

    def steps(self) -> list[tuple[str, str]]:
        """What to do where it is most of the questions."""
        return [(self.said, CAUSE)] if self.qids and self.most else []


def stale(items: Iterable[Gold], texts: Mapping[str, str]) -> Stale:
    """Questions with ids of the corpus, compared with the folded texts of these chunks."""
    checked, lacking = 0, list[tuple[str, list[str]]]()
    for gold in items:
        pieces = [fold(piece) for piece in every_piece(gold) if tells(piece)]
        named = [texts[name] for name in gold.gold_citations or () if name in texts]
        if not gold.answerable or not pieces or not named:
            continue
        checked += 1
        if not any(piece in text for piece in pieces for text in named):
            lacking.append((name_of(gold), pieces))
    found = Stale(checked, [qid for qid, _ in lacking])
    if not found.most:
        return found
    every = "\n".join(texts.values())
    telling = [[piece for piece in pieces if _tells(piece)] for _, pieces in lacking[:MOST]]
    there = sum(any(piece in every for piece in pieces) for pieces in telling)
    return found._replace(looked_up=len(telling), elsewhere=there)


def _tells(piece: str) -> bool:
    return len(piece) >= TELLING or (not piece.isascii() and len(piece) > 1)
