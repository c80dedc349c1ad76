"""Real data: SQuAD 2.0 articles cut into chunks of 600 and of 450 characters, one gold set for both.

What a binding should find is known without one: the bytes of every answer, and those of the sentence that it is used.
"""

import gzip
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import pytest

import ragworthy
from places import SHARED

DATA = SHARED / "data" / "squad2" / "dev"
pytestmark = pytest.mark.data("data/squad2/dev")

Row = dict[str, Any]
CUTS = ((600, 100), (450, 75), (300, 50), (600, 0), (450, 0))
EVERY = 8
"""Of the answerable questions every eighth: the numbers of all are in docs/gold.md."""


class Asked(NamedTuple):
    """A question, the sentence that holds its answer, and where both are in the article."""

    qid: str
    question: str
    answers: list[str]
    article: str
    sentence: tuple[int, int]
    answer: tuple[int, int]
    text: str


class Cut(NamedTuple):
    """The articles in chunks: id to article, begin and end in characters."""

    spans: dict[str, tuple[str, int, int]]
    texts: dict[str, str]

    def rows(self) -> list[Row]:
        return [{"id": name, "doc_id": self.spans[name][0], "text": text} for name, text in self.texts.items()]


@cache
def articles() -> tuple[dict[str, str], dict[str, tuple[str, int]]]:
    """Every article, and where each of its paragraphs begins."""
    texts: dict[str, str] = {}
    begins: dict[str, tuple[str, int]] = {}
    for line in (DATA / "corpus.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        name = row["id"].rpartition("#")[0]
        before = f"{texts[name]}\n\n" if name in texts else ""
        begins[row["id"]] = (name, len(before))
        texts[name] = before + row["text"]
    return texts, begins


def read(name: str) -> Iterator[Row]:
    with gzip.open(DATA / name, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


@cache
def asked() -> list[Asked]:
    texts, begins = articles()
    questions = {row["qid"]: row["question"] for row in read("gold.jsonl.gz")}
    found = []
    for row in [row for row in read("meta.jsonl.gz") if row["answers"]][::EVERY]:
        article, begin = begins[row["context_id"]]
        first = row["answers"][0]
        at = begin + first["answer_start"]
        ends = [
            begin,
            *(m.end() for m in re.finditer(r"(?<=[.!?])\s+(?=[A-Z])|\n\n", texts[article])),
            len(texts[article]),
        ]
        left = max(end for end in ends if end <= at)
        right = min(end for end in ends if end > at)
        text = texts[article][left:right].strip()
        span = (left, left + len(text))
        words = [answer["text"] for answer in row["answers"]]
        found.append(Asked(row["qid"], questions[row["qid"]], words, article, span, (at, at + len(words[0])), text))
    return found


@cache
def cut(size: int, overlap: int) -> Cut:
    """As splitters cut: so many characters at most, at a blank, with some characters of the chunk before."""
    found = Cut({}, {})
    for article, text in articles()[0].items():
        begin = 0
        while begin < len(text):
            end = min(begin + size, len(text))
            if end < len(text):
                end = text.rindex(" ", begin, end)
            name = f"{article}@{begin}"
            found.spans[name] = (article, begin, end)
            found.texts[name] = text[begin:end]
            begin = text.index(" ", max(end - overlap, begin + 1)) + 1 if end < len(text) else end
    return found


@cache
def retriever(size: int, overlap: int) -> Callable[[str], list[str]]:
    """BM25, five chunks."""
    texts = cut(size, overlap).texts
    words = {name: re.findall(r"\w+", text.lower()) for name, text in texts.items()}
    postings: dict[str, dict[str, int]] = defaultdict(dict)
    for name, some in words.items():
        for word, count in Counter(some).items():
            postings[word][name] = count
    mean = sum(map(len, words.values())) / len(words)

    def search(question: str) -> list[str]:
        scores: dict[str, float] = defaultdict(float)
        for word in set(re.findall(r"\w+", question.lower())):
            there = postings.get(word, {})
            weight = math.log(1 + (len(words) - len(there) + 0.5) / (len(there) + 0.5))
            for name, count in there.items():
                scores[name] += weight * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * len(words[name]) / mean))
        return sorted(scores, key=lambda name: (-scores[name], name))[:5]

    return search


def traces(size: int, overlap: int) -> list[Row]:
    """A pipeline that cites the first chunk in which an answer occurs, else the first one."""
    texts, search = cut(size, overlap).texts, retriever(size, overlap)
    rows = []
    for one in asked():
        found = search(one.question)
        cited = next((name for name in found if any(answer in texts[name] for answer in one.answers)), found[0])
        answer = {"claim": one.answers[0], "citations": [cited]}
        rows.append({"qid": one.qid, "retrieved_ids": found, "answer_json": answer})
    return rows


def gold(**ids: list[str]) -> list[Row]:
    return [
        {
            "qid": one.qid, "question": one.question, "answerable": True, "gold_claim_substr": one.answers,
            "gold_evidence": [one.text], "gold_citations": ids.get(one.qid, []),
        }
        for one in asked()
    ]  # fmt: skip


def measured(size: int, overlap: int) -> dict[str, float]:
    done = ragworthy.score(
        "answers", gold=gold(), traces=traces(size, overlap), corpus=cut(size, overlap).rows(), short_substr="word"
    )
    body = done.report["suites"]["answers"]
    assert body["binding"]["how"]["unbound"] == 0
    metrics = body["metrics"]
    return {name: metrics[f"answers.{name}"]["value"] for name in ("hit@5", "chr", "recall@5")}


def by_hand(size: int, overlap: int) -> dict[str, float]:
    """The same from the bytes of the answers alone: a chunk is gold when the answer lies in it."""
    spans = cut(size, overlap).spans
    hits = cites = 0
    for one, trace in zip(asked(), traces(size, overlap), strict=True):
        begin, end = one.answer
        holds = {name for name, (article, left, right) in spans.items()
                 if article == one.article and left <= begin and end <= right}  # fmt: skip
        hits += bool(holds.intersection(trace["retrieved_ids"]))
        cites += trace["answer_json"]["citations"][0] in holds
    return {"hit@5": hits / len(asked()), "chr": cites / len(asked())}


def test_chunks_are_what_they_are_said_to_be() -> None:
    texts = articles()[0]
    assert len(asked()) == 409
    for size, overlap in CUTS:
        for name, (article, left, right) in cut(size, overlap).spans.items():
            assert cut(size, overlap).texts[name] == texts[article][left:right]
    assert all(texts[one.article][slice(*one.answer)] == one.answers[0] for one in asked())
    assert sum(one.answers[0] in one.text for one in asked()) >= 407  # the others run over the end of a sentence


@pytest.mark.parametrize(
    ("size", "overlap", "apart"), [(600, 100, 0.01), (450, 75, 0.01), (300, 50, 0.01), (600, 0, 0.03), (450, 0, 0.03)]
)
def test_bound_evidence_says_what_the_bytes_of_the_answers_say(size: int, overlap: int, apart: float) -> None:
    """Without overlap a border may cut the first answer where a shorter one, which counts too, is whole."""
    bound, hand = measured(size, overlap), by_hand(size, overlap)
    assert bound["hit@5"] == pytest.approx(hand["hit@5"], abs=apart)
    assert bound["chr"] == pytest.approx(hand["chr"], abs=apart)


def test_a_new_chunking_moves_the_numbers_no_more_than_it_moves_the_evidence() -> None:
    before, after = measured(600, 100), measured(450, 75)
    hand_before, hand_after = by_hand(600, 100), by_hand(450, 75)
    for name in ("hit@5", "chr"):
        moved, should = after[name] - before[name], hand_after[name] - hand_before[name]
        assert abs(moved) <= abs(should) + 0.005, name


def test_ids_of_another_chunking_are_never_scored_in_silence() -> None:
    spans = cut(600, 100).spans
    stale = {
        one.qid: [name for name, (article, left, right) in spans.items()
                  if article == one.article and left <= one.answer[0] and one.answer[1] <= right]
        for one in asked()
    }  # fmt: skip
    kept = [row for row in gold(**stale) if row["gold_citations"]]
    ids = [{key: value for key, value in row.items() if key != "gold_evidence"} for row in kept]
    files: Row = {"traces": traces(450, 75), "corpus": cut(450, 75).rows(), "short_substr": "word"}
    files |= {"gates": {"precision": 0.5, "chr": 0.5}}
    done = ragworthy.score("answers", gold=ids, **files)
    new = cut(450, 75).spans
    lost = sum(name not in new for row in ids for name in row["gold_citations"])
    total = sum(len(row["gold_citations"]) for row in ids)
    assert lost > 0.8 * total
    assert done.verdict == "INVALID"
    assert any(f"{lost} of {total} gold ids are not in the corpus" in reason for reason in done.report["invalid"])
    with_evidence = ragworthy.score("answers", gold=kept, **files)
    body = with_evidence.report["suites"]["answers"]
    assert with_evidence.verdict != "INVALID"
    differing = [one for one in body["warnings"] if one["code"] == "RW-W86"]
    assert differing[0]["count"] > 0.8 * len(kept)
