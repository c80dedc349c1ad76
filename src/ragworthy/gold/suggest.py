"""Evidence proposed for questions that have none: places of the corpus that hold the answer. A person accepts them.

No model is asked. A chunk is proposed when it holds a piece of the answer; of several, those come first that share most
with the question (BM25). The evidence is the sentence around the piece, word for word.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from ragworthy.corpus import sentences
from ragworthy.errors import DataError, Problem, data_error
from ragworthy.index import lexical
from ragworthy.index.blocks import chunk_source
from ragworthy.load.chunks import read_chunks
from ragworthy.load.decode import read_items
from ragworthy.load.sources import open_source
from ragworthy.metrics.facts.pieces import every_piece, needed, occurs, tells
from ragworthy.records import Chunk, Gold, explained
from ragworthy.text import fold, words

CANDIDATES = 3
"""So many places are proposed for a question."""
HELD, NEAR = "holds the answer", "shares most with question and answer, but does not hold the answer"
SHORT_WORDS = True
"""A short piece of an answer, such as a year, counts as a whole word."""


class Candidate(NamedTuple):
    """A place that may be evidence."""

    chunk: str
    document: str | None
    evidence: str
    """Of the text of the chunk, the sentence that holds the answer."""
    why: str
    score: float
    """BM25 against question and answer."""


class Suggestion(NamedTuple):
    """What is proposed for one question."""

    qid: str
    question: str
    answers: list[str]
    candidates: list[Candidate]

    @property
    def held(self) -> bool:
        """Whether a candidate holds the answer."""
        return any(one.why == HELD for one in self.candidates)


class Suggested(NamedTuple):
    """All suggestions, and what else there was."""

    suggestions: list[Suggestion]
    bound: int
    """Questions that have evidence already."""
    unanswerable: int
    without_answer: int
    """Answerable questions without any text of an answer."""


def suggest(gold: Path, corpus: Path, *, everything: bool = False, most: int = CANDIDATES) -> Suggested:
    """What can be proposed for the questions of a gold set; with `everything` for those that have evidence too."""
    items, problems = read_items(open_source("gold", gold), Gold)
    if problems:
        raise DataError(problems[:20], len(problems))
    shelf = _Shelf(read_chunks(chunk_source(corpus)))
    suggestions: list[Suggestion] = []
    bound = unanswerable = without = 0
    for item in items:
        record, value = item.record, item.value
        answers = _answers(record, value)
        if not record.answerable:
            unanswerable += 1
        elif _has_evidence(value) and not everything:
            bound += 1
        elif not answers:
            without += 1
        else:
            qid, question = record.qid or record.q_id or "", record.question or ""
            places = shelf.candidates(question, answers, needed(record), most)
            suggestions.append(Suggestion(qid, question, answers, places))
    return Suggested(suggestions, bound, unanswerable, without)


def _answers(gold: Gold, value: Mapping[str, Any]) -> list[str]:
    """The texts that a right answer holds: pieces, else the reference."""
    found = list(dict.fromkeys(filter(tells, every_piece(gold))))
    reference = value.get("gold_reference")
    if not found and reference:
        found = [one for one in ([reference] if isinstance(reference, str) else reference) if isinstance(one, str)]
    return found


def _has_evidence(value: Mapping[str, Any]) -> bool:
    return any(value.get(key) for key in ("gold_citations", "gold_evidence"))


class _Shelf:
    """The chunks, ready to be searched."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self.chunks = chunks
        self.folded = [fold(chunk.text) for chunk in chunks]
        self.index = lexical.build(chunks)
        self.place = np.arange(len(chunks), dtype=np.intp)

    def candidates(self, question: str, answers: list[str], groups: list[list[str]], most: int) -> list[Candidate]:
        """The places to look at, those that hold the answer first, then by what they share with the question."""
        scores = self.index.scores_of(" ".join((question, *answers)))
        held = [n for n, text in enumerate(self.folded) if occurs(answers, text, short_words=SHORT_WORDS)]
        held.sort(key=lambda n: (-scores[n], n))
        held = self._covering(held, groups)
        near = [] if held else [n for n in np.argsort(-scores, kind="stable")[:most].tolist() if scores[n] > 0]
        asked = words(question)
        return [
            Candidate(
                chunk=self.chunks[n].name,
                document=self.chunks[n].doc_id,
                evidence=_sentence(self.chunks[n].text, answers, asked, held=bool(held)),
                why=HELD if held else NEAR,
                score=round(float(scores[n]), 3),
            )
            for n in (held or near)[:most]
        ]

    def _covering(self, held: list[int], groups: list[list[str]]) -> list[int]:
        """The same places, first one for each part of an answer that has several."""
        first: dict[int, None] = {}
        for group in groups if len(groups) > 1 else ():
            holding = [n for n in held if occurs(group, self.folded[n], short_words=SHORT_WORDS)]
            if holding and not first.keys() & set(holding):
                first[holding[0]] = None
        return [*first, *(n for n in held if n not in first)]


def _sentence(text: str, answers: list[str], asked: frozenset[str], *, held: bool) -> str:
    """The sentence that holds the answer and shares most words with the question; without one the whole text."""
    found = [one for one in _sentences(text) if not held or occurs(answers, fold(one), short_words=SHORT_WORDS)]
    return max(found, key=lambda one: len(words(one) & asked), default=text.strip())


def _sentences(text: str) -> Iterator[str]:
    begin = 0
    for end in sentences.ends(text):
        if piece := text[begin:end].strip():
            yield piece
        begin = end


# the file that a person answers in


def lines(suggested: Suggested) -> bytes:
    """One question per line, with `accept` to be filled in: the number of a candidate, several, or 0 for none."""
    encode = msgspec.json.Encoder().encode
    return b"".join(encode(_line(one)) + b"\n" for one in suggested.suggestions)


def _line(one: Suggestion) -> dict[str, Any]:
    candidates = [
        {"number": nth, "chunk": each.chunk, "document": each.document, "evidence": each.evidence, "why": each.why}
        for nth, each in enumerate(one.candidates, 1)
    ]
    return {"qid": one.qid, "question": one.question, "answers": one.answers, "accept": None, "candidates": candidates}


class Accepted(NamedTuple):
    """A gold set with the evidence that was accepted."""

    text: bytes
    accepted: int
    refused: int
    open: int
    """Suggestions that nobody has answered."""


def accept(gold: Path, answered: Path) -> Accepted:
    """Write accepted evidence into a gold set; everything else of an item stays as it is."""
    chosen, problems = _chosen(answered)
    items, broken = read_items(open_source("gold", gold), Gold)
    problems += broken
    known = {item.record.qid or item.record.q_id for item in items}
    problems += [
        Problem("RW-G29", f'expected a qid of the gold set, got "{qid}"', f"{answered}:{one.line}", "qid")
        for qid, one in chosen.items()
        if qid not in known
    ]
    if problems:
        raise DataError(problems[:20], len(problems))
    written = [_with(item.value, chosen.get(item.record.qid or item.record.q_id or "")) for item in items]
    text = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in written).encode()
    said = [one.evidence for one in chosen.values()]
    return Accepted(text, sum(bool(one) for one in said), said.count([]), said.count(None))


class _Choice(NamedTuple):
    line: int
    evidence: list[str] | None
    """The texts accepted; none where all were refused, None where nobody has said anything."""
    sources: list[str]


def _with(value: dict[str, Any], choice: _Choice | None) -> dict[str, Any]:
    if choice is None or not choice.evidence:
        return value
    sources = {"gold_source": choice.sources} if choice.sources and not value.get("gold_source") else {}
    return {**value, "gold_evidence": choice.evidence, **sources}


class _Answered(msgspec.Struct):
    """A line of the file that a person answered in."""

    qid: str
    candidates: list[dict[str, Any]]
    accept: int | list[int] | None = None


def _chosen(path: Path) -> tuple[dict[str, _Choice], list[Problem]]:
    found: dict[str, _Choice] = {}
    problems: list[Problem] = []
    for number, line in open_source("suggestions", path).numbered():
        try:
            one = msgspec.json.decode(line, type=_Answered)
        except msgspec.ValidationError as error:
            field, message = explained(error)
            raise data_error("RW-G29", message, where=f"{path}:{number}", field=field) from None
        except msgspec.DecodeError as error:
            message = f"expected a line of 'gold suggest', got: {error}"
            raise data_error("RW-F07", message, where=f"{path}:{number}") from None
        numbers = [] if one.accept is None or one.accept == 0 else _list(one.accept)
        if wrong := [n for n in numbers if not 1 <= n <= len(one.candidates)]:
            message = f"expected a number from 1 to {len(one.candidates)}, or 0 for none, got {wrong[0]}"
            problems.append(Problem("RW-G29", message, f"{path}:{number}", "accept"))
            continue
        taken = [one.candidates[n - 1] for n in numbers]
        evidence = None if one.accept is None else [str(each["evidence"]) for each in taken]
        found[one.qid] = _Choice(number, evidence, _documents(taken))
    return found, problems


def _list(given: int | list[int]) -> list[int]:
    return given if isinstance(given, list) else [given]


def _documents(taken: Iterable[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(str(one["document"]) for one in taken if one.get("document")))
