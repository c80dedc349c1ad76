"""Recorded answers of real models and people: every file scores, and our numbers are compared with their labels."""

import gzip
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import ragworthy
from places import DATA
from ragworthy.errors import DataError
from ragworthy.text import looks_like_refusal, trim_fold

ANSWERS = DATA / "llm_answers"
QWEN = ANSWERS / "qwen3_squad2" / "dev"
SQUAD = DATA / "squad2" / "dev"
SUPPORT = ("Complete", "Partial", "Incomplete", "Missing")
CONFIGS = [f"qwen3-{size}.config{n}" for size in ("0.6b", "8b") for n in (1, 2, 3, 4)]

pytestmark = pytest.mark.data("data/llm_answers")

Row = dict[str, Any]


def read(path: Path) -> list[Row]:
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


class Table(NamedTuple):
    """Two yes-or-no labels of the same things: both, only ours, only theirs, neither."""

    both: int
    ours: int
    theirs: int
    neither: int

    @property
    def agreement(self) -> Fraction:
        return Fraction(self.both + self.neither, sum(self))

    @property
    def kappa(self) -> Fraction:
        size = sum(self)
        ours, theirs = Fraction(self.both + self.ours, size), Fraction(self.both + self.theirs, size)
        chance = ours * theirs + (1 - ours) * (1 - theirs)
        return (self.agreement - chance) / (1 - chance)


def table(pairs: Iterable[tuple[bool, bool]]) -> Table:
    """How often ours (first) and theirs (second) coincide."""
    found = Counter(pairs)
    return Table(found[True, True], found[True, False], found[False, True], found[False, False])


def auc(yes: Sequence[float], no: Sequence[float]) -> float:
    """How often a number of the first list is above one of the second; a tie is a half."""
    wins = sum((one > other) + 0.5 * (one == other) for one in yes for other in no)
    return wins / (len(yes) * len(no))


# Qwen3 on a hundred questions of SQuAD 2.0, in eight configurations


@pytest.fixture(scope="module")
def asked() -> dict[str, Row]:
    """The gold of the hundred questions."""
    qids = {row["qid"] for row in read(QWEN / f"trace.{CONFIGS[0]}.jsonl")}
    return {row["qid"]: row for row in read(SQUAD / "gold.jsonl.gz") if row["qid"] in qids}


class Answered(NamedTuple):
    """One recorded answer with its gold, its recorded labels and its scored row."""

    gold: Row
    claim: str
    label: Row
    row: Row


@pytest.fixture(scope="module")
def qwen(asked: dict[str, Row]) -> list[Answered]:
    """All 800 answers, scored."""
    found = []
    for name in CONFIGS:
        traces = read(QWEN / f"trace.{name}.jsonl")
        done = ragworthy.score("answers", gold=list(asked.values()), traces=traces, short_substr="word")
        assert done.report["suites"]["answers"]["counts"]["missing"] == 0
        rows = {row["qid"]: row for row in done.rows()}
        found += [
            Answered(asked[one["qid"]], one["answer_json"]["claim"] or "", one["label"], rows[one["qid"]])
            for one in traces
        ]
    return found


def test_every_configuration_scores(asked: dict[str, Row], qwen: list[Answered]) -> None:
    """Only seven of the answers cite anything, so hardly one counts as right; none drops out."""
    assert (len(asked), len(qwen)) == (100, 800)
    assert sum(one["answerable"] for one in asked.values()) == 45
    assert Counter(one.row["label"] for one in qwen) == {"HALLUCINATION": 440, "ANS_NO_HIT": 355, "OK": 5}


def test_refusals_are_never_exact_and_nearly_all_of_them_are_noticed(qwen: list[Answered]) -> None:
    assert not any(one.row["facts"]["refused"] for one in qwen)
    found = table((looks_like_refusal(trim_fold(one.claim)), one.label["pattern_refusal"]) for one in qwen)
    assert found == Table(both=190, ours=3, theirs=13, neither=594)
    assert round(float(found.kappa), 3) == 0.946


def test_containment_goes_along_with_the_recorded_overlap(qwen: list[Answered]) -> None:
    """Long answers hold the gold text without being it: containment is kinder than exact match, never harsher."""
    answerable = [one for one in qwen if one.gold["answerable"]]
    assert len(answerable) == 360
    overlaps: dict[bool, list[float]] = {True: [], False: []}
    for one in answerable:
        overlaps[one.row["facts"]["contains"]].append(one.label["source_f1"])
    assert (len(overlaps[True]), len(overlaps[False])) == (210, 150)
    assert round(auc(overlaps[True], overlaps[False]), 3) == 0.921
    exact = table((one.row["facts"]["contains"], one.label["source_em"] == 1) for one in answerable)
    assert exact == Table(both=20, ours=190, theirs=0, neither=150)
    some = table((one.row["facts"]["contains"], one.label["source_f1"] > 0) for one in answerable)
    assert some == Table(both=197, ours=13, theirs=17, neither=133)


@pytest.mark.parametrize("size", ["0.6b", "8b"])
def test_what_they_retrieved_scores_as_counted_by_hand(asked: dict[str, Row], size: str) -> None:
    gold = [
        {"qid": qid, "paraphrases": [one["question"]], "relevant": one["gold_citations"], "answerable": True}
        for qid, one in asked.items()
        if one["answerable"]
    ]
    traces = [one for one in read(QWEN / f"retrieval.qwen3-{size}.jsonl") if asked[one["qid"]]["answerable"]]
    done = ragworthy.score("retrieval", gold=gold, traces=traces, k=[1, 2])
    for k in (1, 2):
        top = {one["qid"]: {found["id"] for found in one["topk"][:k]} for one in traces}
        hits = sum(bool(top[qid] & set(asked[qid]["gold_citations"])) for qid in top)
        metric = done.metrics[f"retrieval.hit@{k}"]
        assert (metric.num, metric.den) == (hits, 45)


# three systems on 6,608 questions of SQuAD 2.0


@pytest.mark.parametrize(
    ("system", "found", "agreement"),
    [
        ("bert_single", Table(5225, 200, 13, 1170), 0.968),
        ("nlnet_single", Table(5066, 184, 16, 1342), 0.970),
        ("bidaf_selfattn_elmo", Table(4340, 119, 14, 2135), 0.980),
    ],
)
def test_right_answers_and_the_official_exact_match(system: str, found: Table, agreement: float) -> None:
    traces = SQUAD / f"trace_{system}.jsonl.gz"
    done = ragworthy.score("answers", gold=SQUAD / "gold.jsonl.gz", traces=traces, short_substr="word")
    right = {row["qid"]: row["label"] in ("OK", "REFUSAL_OK") for row in done.rows()}
    assert table((right[one["qid"]], one["label"]["squad_em"] == 1) for one in read(traces)) == found
    assert round(float(found.agreement), 3) == agreement


# ExpertQA: experts on the support of 1,386 claims


@pytest.fixture(scope="module")
def experts() -> list[tuple[str, str, str]]:
    """What the experts say of the support of each claim, and what the auditor says of it and why."""
    folder = ANSWERS / "expertqa" / "dev"
    gold, traces, support = [], [], []
    for nth, one in enumerate(read(folder / "trace.jsonl")):
        for place, claim in enumerate(one["label"]["claims"]):
            cited, qid = claim["citations"], f"{nth}.{place}"
            support.append(str(claim["support"]))
            gold.append(
                {"qid": qid, "question": one["q"], "answerable": True, "gold_citations": cited or ["nothing"]},
            )
            answer = {"claim": claim["text"], "citations": cited}
            traces.append({"qid": qid, "retrieved_ids": [*one["retrieved_ids"], *cited], "answer_json": answer})
    corpus = read(folder / "evidence_corpus.jsonl")
    done = ragworthy.score("agreement", gold=gold, traces=traces, corpus=corpus)
    votes = [row["auditor"] for row in done.rows()]
    return [(said, vote["label"], vote["reason"]) for said, vote in zip(support, votes, strict=True)]


def test_the_auditor_leans_the_way_of_the_experts_and_is_a_weak_check(experts: list[tuple[str, str, str]]) -> None:
    assert len(experts) == 1386
    counts = Counter((said, vote) for said, vote, _ in experts)
    valid = {said: (counts[said, "VALID"], counts[said, "REJECT"], counts[said, "ABSTAIN"]) for said, _, _ in experts}
    assert {said: valid[said] for said in SUPPORT} == {
        "Complete": (310, 303, 179),  # 0.391 of all, 0.506 of those with a text to look at
        "Partial": (20, 28, 14),  # 0.323, 0.417
        "Incomplete": (52, 120, 47),  # 0.237, 0.302
        "Missing": (0, 260, 0),
    }
    judged = [(vote == "VALID", said == "Complete") for said, vote, _ in experts if said in SUPPORT]
    assert round(float(table(judged).kappa), 2) == 0.23


def test_the_auditor_abstains_where_there_is_no_text(experts: list[tuple[str, str, str]]) -> None:
    reasons = Counter((vote, reason) for _, vote, reason in experts)
    assert reasons == {
        ("REJECT", "fewer than 1/2 of its content words are in the chunks it cites"): 462,
        ("VALID", "made by the rules"): 399,
        ("ABSTAIN", "the chunks it cites have no text"): 265,
        ("REJECT", "cites nothing"): 260,
    }


# ClapNQ: people's answers, without gold text


def test_answers_of_people_without_gold_text() -> None:
    folder = ANSWERS / "clapnq" / "dev"
    files: Row = {
        "gold": folder / "gold.jsonl",
        "traces": folder / "trace.human.jsonl",
        "corpus": folder / "corpus.jsonl",
    }
    done = ragworthy.score("answers", **files)
    body = done.report["suites"]["answers"]
    assert (done.verdict, body["labels"]) == ("SHIP", {"OK": 139, "REFUSAL_OK": 134})
    assert done.metrics["answers.support"].value is None  # no gold text to look for in the chunks
    assert "RW-W08" in {one["code"] for one in body["warnings"]}
    votes = ragworthy.score("agreement", **files)
    counts = Counter((row["scholar"]["label"], row["auditor"]["label"]) for row in votes.rows())
    assert counts == {("VALID", "VALID"): 139, ("NOT_IN_CONTEXT", "NOT_IN_CONTEXT"): 134}


# TREC RAG 2024: what three models cite


@pytest.mark.parametrize(
    ("system", "covered", "cited"), [("command-r-plus", 45, 29), ("gpt-4o", 44, 39), ("llama31-70b", 45, 30)]
)
def test_citations_of_three_models(system: str, covered: int, cited: int) -> None:
    """One of 49 judged topics has nothing relevant, which only `allow_gold_errors` lets through."""
    folder = ANSWERS / "rag24" / "dev"
    files: Row = {"gold": folder / "retrieval_gold.jsonl", "traces": folder / f"trace.{system}.jsonl"}
    with pytest.raises(DataError, match=r"retrieval_gold.jsonl:44: relevant: expected at least one id"):
        ragworthy.score("retrieval", **files)
    done = ragworthy.score("retrieval", allow_gold_errors=True, **files)
    counts = done.report["suites"]["retrieval"]["counts"]
    assert (counts["gold"], counts["answered"], counts["orphan_traces"]) == (49, 49, 121)
    relevant = {one["qid"]: set(one["relevant"]) for one in read(files["gold"])}
    there = [
        bool(relevant[one["qid"]] & set(one["retrieved_ids"]))
        for one in read(files["traces"])
        if one["qid"] in relevant
    ]
    assert sum(there) == covered
    metrics = done.metrics
    assert (metrics["retrieval.coverage"].num, metrics["retrieval.citation_accuracy"].num) == (covered, cited)
