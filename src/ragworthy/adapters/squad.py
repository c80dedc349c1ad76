"""SQuAD 1.1 and 2.0, and sets in their form (XQuAD, CMRC, DRCD): paragraphs as chunks, questions as gold."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ragworthy.adapters.model import Adapter, Imported, Record, Skip, stamp
from ragworthy.adapters.objects import read_json
from ragworthy.corpus import sentences
from ragworthy.errors import data_error
from ragworthy.files import sha256_of
from ragworthy.report.show import plural
from ragworthy.text import clip, compiled, described


def read(paths: Sequence[Path], options: Mapping[str, Any]) -> Imported:
    """Every question of the articles."""
    made = _Made()
    for path in paths:
        data = read_json(path)
        articles = data.get("data") if isinstance(data, dict) else None
        if not isinstance(articles, list):
            got = described(data) if not isinstance(data, dict) else "an object without it"
            raise data_error("RW-A03", f"expected a list of articles in data, got {got}", where=str(path))
        made.sha256 = sha256_of(path)
        for nth, article in enumerate(articles):
            made.article(article, f"data.{nth}")
    return Imported(made.gold, [], made.chunks, made.taken, "question", made.skipped, made.notes())


class _Made:
    """What was made so far."""

    def __init__(self) -> None:
        self.gold: list[Record] = []
        self.chunks: list[Record] = []
        self.skipped: list[Skip] = []
        self.taken = 0
        self.sha256 = ""
        self.names: dict[str, int] = {}
        self.seen: set[str] = set()
        self.displaced = 0
        self.absent = 0

    def article(self, article: Any, where: str) -> None:
        """The paragraphs of an article, joined by blank lines: what offsets count bytes of."""
        paragraphs = article.get("paragraphs") if isinstance(article, dict) else None
        if not isinstance(paragraphs, list):
            self._skip(where, "an article without paragraphs")
            return
        title = str(article.get("title") or f"article {len(self.names) + 1}")
        name = self._name(title)
        offset = 0
        for nth, paragraph in enumerate(paragraphs):
            place = f"{where}.paragraphs.{nth}"
            text = paragraph.get("context") if isinstance(paragraph, dict) else None
            if not isinstance(text, str) or not text.strip():
                self._skip(place, "a paragraph without context")
                continue
            size = len(text.encode())
            chunk = {"chunk_id": f"{name}#{nth}", "doc_id": title, "section_id": f"{name}/p{nth:03d}",
                     "offsets": [offset, offset + size], "title": title, "text": text}  # fmt: skip
            offset += size + 2
            self.chunks.append(chunk)
            if not isinstance(paragraph.get("qas", []), list):
                self._skip(place, "qas that are not a list")
            for number, qa in enumerate(_listed(paragraph.get("qas"))):
                self._question(qa, chunk, f"{place}.qas.{number}")

    def _skip(self, where: str, why: str) -> None:
        self.taken += 1
        self.skipped.append(Skip(where, why))

    def _name(self, title: str) -> str:
        """The title as the beginning of ids, each its own."""
        name = compiled(r"\W+|_+").sub("-", title.lower()).strip("-") or "article"
        count = self.names[name] = self.names.get(name, 0) + 1
        return name if count == 1 else f"{name}-{count}"

    def _question(self, qa: Any, chunk: Record, where: str) -> None:
        if not isinstance(qa, dict) or not isinstance(qa.get("question"), str) or not qa["question"].strip():
            return self._skip(where, "no question")
        qid = str(qa.get("id") or f"{chunk['chunk_id']}/{len(self.gold)}")
        if qid in self.seen:
            return self._skip(where, f'its id "{clip(qid, 40)}" is there already')
        answers = [
            one for one in _listed(qa.get("answers")) if isinstance(one, dict) and str(one.get("text", "")).strip()
        ]
        impossible = qa.get("is_impossible", not answers)
        if not isinstance(impossible, bool):
            return self._skip(where, f"is_impossible: expected true or false, got {described(impossible)}")
        if not impossible and not answers:
            return self._skip(where, "no answer, and is_impossible is false")
        self.seen.add(qid)
        self.taken += 1
        item: Record = {"qid": qid, "question": qa["question"].strip(), "answerable": not impossible,
                        "gold_claim_substr": [], "gold_citations": []}  # fmt: skip
        if not impossible:
            item["gold_claim_substr"] = list(dict.fromkeys(str(one["text"]).strip() for one in answers))
            item["gold_citations"] = [chunk["chunk_id"]]
            item["gold_evidence"] = list(self._evidence(answers, chunk["text"]))
            item["gold_source"] = [chunk["doc_id"]]
        self.gold.append({**item, "imported": stamp("squad", self.sha256, where)})
        return None

    def _evidence(self, answers: Sequence[Record], text: str) -> Iterator[str]:
        """The sentence around the first answer that is in the paragraph; the paragraph where none does."""
        places = [(place, str(one["text"])) for one in answers if (place := self._place(one, text)) >= 0]
        if not places:
            yield text
            return
        start, answer = places[0]
        borders = [0, *sentences.ends(text), len(text)]
        begin = max(one for one in borders if one <= start)
        end = min(one for one in borders if one >= start + len(answer))
        yield text[begin:end].strip() or text

    def _place(self, answer: Record, text: str) -> int:
        """Where an answer stands: where it says, or where it is found first; -1 where it is not there."""
        start, said = answer.get("answer_start"), str(answer["text"])
        if isinstance(start, int) and start >= 0 and text[start : start + len(said)] == said:
            return start
        found = text.find(said)
        self.displaced += found >= 0
        self.absent += found < 0
        return found

    def notes(self) -> list[str]:
        """What was found besides."""
        moved = f"{plural(self.displaced, 'answer is', 'answers are')} not where answer_start says"
        are = plural(self.absent, "answer is", "answers are")
        gone = f"{are} nowhere in the paragraph; where a question has no other, its evidence is the whole paragraph"
        return [note for note, count in ((moved, self.displaced), (gone, self.absent)) if count]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


ADAPTER = Adapter("squad", "SQuAD 1.1 or 2.0, and sets in its form", ("gold", "chunks"), (), read)
