"""Real data: Chinese (DRCD) and English (XQuAD) articles cut by character, evidence compared with known positions."""

import json
import re
from functools import cache
from typing import Any, NamedTuple

import pytest

import ragworthy
from places import SHARED

Row = dict[str, Any]
ENDS = {"drcd": r"(?<=[\u3002\uff01\uff1f])", "xquad_en": r"(?<=[.!?])\s+(?=[A-Z\"'(0-9])"}
EVERY = {"drcd": 16, "xquad_en": 3}


class Asked(NamedTuple):
    """A question, its answer, the sentence around it, and where the answer is in the article."""

    qid: str
    question: str
    answer: str
    sentence: str
    article: str
    begin: int


class Piece(NamedTuple):
    """A chunk, and where it stands."""

    name: str
    article: str
    begin: int
    text: str


def rows(data: str, name: str) -> list[Row]:
    text = (SHARED / "data" / data / "dev" / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@cache
def articles(data: str) -> tuple[dict[str, str], dict[str, tuple[str, int, str]]]:
    texts: dict[str, str] = {}
    places: dict[str, tuple[str, int, str]] = {}
    for row in rows(data, "corpus.jsonl"):
        article = row["section_id"].split("/")[0]
        before = f"{texts[article]}\n\n" if article in texts else ""
        places[row["id"]] = (article, len(before), row["text"])
        texts[article] = before + row["text"]
    return texts, places


@cache
def asked(data: str) -> list[Asked]:
    questions = {row["qid"]: row["question"] for row in rows(data, "gold.jsonl")}
    found = []
    for row in rows(data, "meta.jsonl")[:: EVERY[data]]:
        article, begin, text = articles(data)[1][row["context_id"]]
        answer = row["answers"][0]
        at, end = answer["answer_start"], answer["answer_start"] + len(answer["text"])
        cuts = [0, *(match.end() for match in re.finditer(ENDS[data], text)), len(text)]
        left, right = max(cut for cut in cuts if cut <= at), min(cut for cut in cuts if cut >= end)
        sentence = text[left:right].strip()
        found.append(Asked(row["qid"], questions[row["qid"]], answer["text"], sentence, article, begin + at))
    return found


@cache
def cut(data: str, size: int, overlap: int) -> list[Piece]:
    found = []
    for article, text in articles(data)[0].items():
        for begin in range(0, max(len(text) - overlap, 1), size - overlap):
            found.append(Piece(f"{article}@{begin}", article, begin, text[begin : begin + size]))
    return found


def gold(data: str, *, typo: bool = False) -> list[Row]:
    return [
        {"qid": one.qid, "question": one.question, "answerable": True, "gold_claim_substr": [one.answer],
         "gold_evidence": [swapped(one.sentence, one.answer) if typo else one.sentence]}
        for one in asked(data)
    ]  # fmt: skip


def swapped(text: str, answer: str) -> str:
    """Two letters of the longest word outside the answer change places."""
    words = [word for word in re.findall(r"[A-Za-z]{4,}", text) if word not in answer]
    if not words:
        return text
    word = max(words, key=len)
    return text.replace(word, word[:2] + word[3] + word[2] + word[4:], 1)


def holding(data: str, size: int, overlap: int) -> dict[str, set[str]]:
    """The chunks in which each answer lies, by its position alone."""
    return {
        one.qid: {
            piece.name
            for piece in cut(data, size, overlap)
            if piece.article == one.article
            and piece.begin <= one.begin
            and one.begin + len(one.answer) <= piece.begin + len(piece.text)
        }
        for one in asked(data)
    }


def chunks(data: str, size: int, overlap: int) -> list[Row]:
    return [{"id": one.name, "doc_id": one.article, "text": one.text} for one in cut(data, size, overlap)]


def bound(data: str, size: int, overlap: int, *, typo: bool = False) -> tuple[dict[str, set[str]], dict[str, str]]:
    from ragworthy.corpus.binding import Binder
    from ragworthy.records import Chunk

    binder = Binder([Chunk(**row) for row in chunks(data, size, overlap)])
    names: dict[str, set[str]] = {}
    how: dict[str, str] = {}
    for row in gold(data, typo=typo):
        found = binder.bind(row["gold_evidence"], (), row["gold_claim_substr"])
        names[row["qid"]] = set[str]().union(*found.groups)
        how[row["qid"]] = found.how[0]
    return names, how


CUTS = [
    pytest.param(data, size, overlap, marks=pytest.mark.data(f"data/{data}/dev"))
    for data, size, overlap in (
        ("drcd", 300, 50), ("drcd", 150, 25), ("xquad_en", 600, 100), ("xquad_en", 450, 75),
    )
]  # fmt: skip


@pytest.mark.parametrize(("data", "size", "overlap"), CUTS)
def test_bound_chunks_are_those_in_which_the_answer_lies(data: str, size: int, overlap: int) -> None:
    truth = holding(data, size, overlap)
    found, how = bound(data, size, overlap)
    assert len(truth) >= 190
    right = sum(len(found[qid] & names) for qid, names in truth.items())
    assert right >= 0.97 * sum(map(len, found.values()))
    assert right >= 0.98 * sum(map(len, truth.values()))
    article = {one.name: one.article for one in cut(data, size, overlap)}
    assert all(article[name] == one.article for one in asked(data) for name in found[one.qid])
    texts = {one.name: one.text for one in cut(data, size, overlap)}
    for one in asked(data):
        if how[one.qid] == "exact":
            assert any(one.sentence in texts[name] for name in found[one.qid])
            assert all(one.answer in texts[name] for name in found[one.qid]), one.qid


@pytest.mark.data("data/xquad_en/dev")
@pytest.mark.parametrize(("size", "overlap"), [(600, 100), (450, 75)])
def test_a_swapped_letter_does_not_move_evidence_away_from_the_answer(size: int, overlap: int) -> None:
    truth = holding("xquad_en", size, overlap)
    found, how = bound("xquad_en", size, overlap, typo=True)
    assert sum(step == "unbound" for step in how.values()) <= 0.02 * len(how)
    right = sum(len(found[qid] & names) for qid, names in truth.items())
    assert right >= 0.96 * sum(map(len, found.values()))
    assert right >= 0.88 * sum(map(len, truth.values()))


def run(data: str, size: int, overlap: int) -> list[Row]:
    """A pipeline that retrieves the chunks sharing most pairs of characters with the question, and cites the first."""
    pieces = [(one.name, pairs(one.text)) for one in cut(data, size, overlap)]
    found = []
    for one in asked(data):
        wanted = pairs(one.question)
        top = [name for name, mine in sorted(pieces, key=lambda piece: -len(wanted & piece[1]))[:5]]
        answer = {"claim": one.answer, "citations": top[:1]}
        found.append({"qid": one.qid, "retrieved_ids": top, "answer_json": answer})
    return found


def pairs(text: str) -> set[str]:
    low = text.lower()
    return {low[at : at + 4] for at in range(len(low) - 3)} | {low[at : at + 2] for at in range(len(low) - 1)}


@pytest.mark.parametrize(("data", "size", "overlap"), [CUTS[0], CUTS[3]])
def test_reports_of_answers_and_retrieval_agree_with_the_positions(data: str, size: int, overlap: int) -> None:
    truth, traces = holding(data, size, overlap), run(data, size, overlap)
    files: Row = {"gold": gold(data), "traces": traces, "corpus": chunks(data, size, overlap)}
    answers = ragworthy.score("answers", **files).report["suites"]["answers"]["metrics"]
    retrieval = ragworthy.score("retrieval", **files).report["suites"]["retrieval"]["metrics"]
    hits = sum(bool(truth[row["qid"]].intersection(row["retrieved_ids"])) for row in traces)
    cited = sum(row["retrieved_ids"][0] in truth[row["qid"]] for row in traces)
    assert answers["answers.hit@5"]["value"] == pytest.approx(hits / len(traces), abs=0.01)
    assert answers["answers.chr"]["value"] == pytest.approx(cited / len(traces), abs=0.01)
    assert retrieval["retrieval.hit@5"]["value"] == answers["answers.hit@5"]["value"]
