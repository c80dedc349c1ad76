"""Retrieval gold that judges documents, texts and questions in one wording: what people have, without chunk ids."""

import gzip
import json
import math
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ragworthy as rw
from conftest import Done, run_cli, write_jsonl
from places import DATA
from ragworthy.codes import CATALOGUE
from ragworthy.errors import DataError
from ragworthy.names import Verdict

Row = dict[str, Any]
RANKS = ("precision", "recall", "hit", "ndcg")
CHUNKS = [
    {"chunk_id": name, "doc_id": doc, "text": text}
    for name, doc, text in [
        ("a1", "a.md", "Keys are kept for ninety days."),
        ("a2", "a.md", "After that they are rotated by the service itself."),
        ("b1", "b.md", "A bucket name is free again after a day."),
        ("c1", "c.md", "Invoices are sent on the first of the month."),
        ("c2", "c.md", "A bucket name is free again after a day."),
        ("c3", "c.md", "Refunds take a week."),
    ]
]


def score(gold: list[Row], traces: list[Row], **options: Any) -> rw.Result:
    return rw.score("retrieval", gold=gold, traces=traces, **{"corpus": CHUNKS, "gates": "recall@5=0.1"} | options)


def rows_of(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def values(result: rw.Result) -> dict[str, float | None]:
    return {name: metric.value for name, metric in result.metrics.items()}


def codes(result: rw.Result) -> list[str]:
    return [one["code"] for one in result.report["suites"]["retrieval"]["warnings"]]


def asked(*ids: str, qid: str = "Q1") -> list[Row]:
    return [{"qid": qid, "topk": [{"id": one} for one in ids]}]


def test_documents_are_groups_worked_out() -> None:
    """Documents a (grade 2) and b are wanted; results a2, c1, a1, b1."""
    gold = [{"qid": "Q1", "question": "?", "gold_source": ["a.md", "b.md"], "grades": {"a.md": 2}}]
    found = values(score(gold, asked("a2", "c1", "a1", "b1"), k=[1, 3, 5]))
    assert [found[f"retrieval.recall@{k}"] for k in (1, 3, 5)] == [0.5, 0.5, 1.0]
    assert [found[f"retrieval.hit@{k}"] for k in (1, 3, 5)] == [1, 1, 1]
    assert [found[f"retrieval.precision@{k}"] for k in (1, 3, 5)] == [1.0, pytest.approx(2 / 3), 0.75]
    assert found["retrieval.mrr"] == 1.0
    ideal = 2 / math.log2(2) + 1 / math.log2(3)
    got = 2 / math.log2(2) + 0 + 1 / math.log2(5)  # a1 at rank 3 gains nothing more
    assert found["retrieval.ndcg@5"] == pytest.approx(got / ideal, abs=1e-12)
    assert found["retrieval.ndcg@1"] == 1.0


def test_evidence_in_two_chunks_is_one_thing_to_find() -> None:
    """The sentence is in b1 and c2: either will do, and the other is not a loss."""
    gold = [{"qid": "Q1", "question": "?", "gold_evidence": ["A bucket name is free again after a day."]}]
    for first in ("b1", "c2"):
        found = values(score(gold, asked(first, "c1")))
        assert (found["retrieval.recall@5"], found["retrieval.ndcg@5"]) == (1.0, 1.0)
    named = [gold[0] | {"gold_source": ["c.md"]}]  # of one document only its own chunk counts
    assert values(score(named, asked("b1")))["retrieval.recall@5"] == 0.0
    assert values(score(named, asked("c2")))["retrieval.recall@5"] == 1.0


def test_a_section_or_page_of_a_document() -> None:
    chunks = [one | {"section_id": str(nth)} for nth, one in enumerate(CHUNKS)]
    gold = [{"qid": "Q1", "question": "?", "gold_source": [{"doc": "c.md", "section": "5"}]}]
    assert values(score(gold, asked("c1", "c3"), corpus=chunks))["retrieval.mrr"] == 0.5


def test_documents_named_in_the_place_of_ids_are_recognised_and_said() -> None:
    gold: list[Row] = [
        {"qid": "Q1", "question": "?", "relevant": ["a.md", "c3"], "negatives": ["b.md"], "grades": {"a.md": 3}},
        {"qid": "Q2", "question": "?", "relevant": ["b1"]},
    ]
    result = score(gold, [*asked("b1", "a2", "c3"), *asked("b1", qid="Q2")])
    found = values(result)
    assert found["retrieval.recall@5"] == 1.0 and found["retrieval.negative_first@5"] == 1.0
    [note] = [one for one in result.report["suites"]["retrieval"]["warnings"] if one["code"] == "RW-W90"]
    assert note["message"] == "1 question judges documents: any chunk of a document counts as the document"
    assert (note["count"], note["qids"]) == (1, ["Q1"])


@pytest.mark.parametrize("stale", ["a.md|s=1|p=000|b=007", "a#7", "a.md#1", "a9"])
def test_a_stale_id_never_passes_for_its_document(stale: str) -> None:
    result = score([{"qid": "Q1", "question": "?", "relevant": [stale, "a1"]}], asked("a1"))
    assert result.verdict is Verdict.INVALID
    assert result.report["invalid"] == [f"50 % of gold ids (1 of 2) are not in this index, e.g. {stale} [RW-G13]"]
    assert "gold_evidence" in CATALOGUE["RW-G13"].do


def test_sources_that_are_nowhere_are_counted_as_not_found() -> None:
    gold = [{"qid": "Q1", "question": "?", "gold_source": ["a.md", "gone.md"]}]
    result = score(gold, asked("a1"))
    assert values(result)["retrieval.recall@5"] == 0.5 and result.verdict is Verdict.SHIP
    [note] = [one for one in result.report["suites"]["retrieval"]["warnings"] if one["code"] == "RW-W91"]
    assert note["message"] == (
        "1 source or evidence text is in no chunk of this index and counted as not found, "
        "e.g. gone.md (Q1): no chunk is of a document named gone.md"
    )


def test_a_question_whose_evidence_is_nowhere_is_invalid() -> None:
    gold = [
        {"qid": "Q1", "question": "?", "gold_source": ["gone.md"]},
        {"qid": "Q2", "question": "?", "gold_source": ["a.md"]},
    ]
    result = score(gold, [*asked("a1"), *asked("a1", qid="Q2")])
    assert (result.verdict, result.report["invalid"]) == (
        Verdict.INVALID,
        ["1 question has no evidence in this index, e.g. Q1: no chunk is of a document named gone.md [RW-G24]"],
    )


def test_evidence_without_an_index_is_an_error() -> None:
    gold = [{"qid": "Q1", "question": "?", "gold_source": ["a.md"]}]
    with pytest.raises(DataError) as caught:
        rw.score("retrieval", gold=gold, traces=asked("a1"), gates="recall@5=0.1")
    assert str(caught.value.problems[0]) == (
        "<gold>:1: gold_source: expected the index whose chunks hold it (--corpus INDEX), got none [RW-G23]"
    )
    with pytest.raises(DataError) as caught:  # the same of all questions is said once
        rw.score("retrieval", gold=[gold[0] | {"qid": str(nth)} for nth in range(30)], traces=asked("a1"))
    assert list(map(str, caught.value.problems)) == [
        "<gold>:1: gold_source: expected the index whose chunks hold it (--corpus INDEX), got none "
        "(30 questions) [RW-G23]"
    ]
    bound = [gold[0] | {"relevant": ["a1", "a2"]}]  # as 'gold bind' writes it: ids do where there is no index
    assert (
        values(rw.score("retrieval", gold=bound, traces=asked("a1"), gates="recall@5=0.1"))["retrieval.recall@5"] == 0.5
    )


def test_groups_that_were_bound_do_without_an_index() -> None:
    """As 'gold bind' writes them: b1 or c2 holds the evidence."""
    gold = [{"qid": "Q1", "question": "?", "relevant": ["b1", "c2"], "gold_groups": [["b1", "c2"]]}]
    found = values(rw.score("retrieval", gold=gold, traces=asked("c2", "a1"), gates="recall@5=0.1"))
    assert (found["retrieval.recall@5"], found["retrieval.ndcg@5"]) == (1.0, 1.0)


def test_ids_beside_evidence_are_those_of_another_day() -> None:
    gold = [{"qid": "Q1", "question": "?", "gold_source": ["a.md"], "relevant": ["old-1", "old-2"]}]
    result = score(gold, asked("a2"))
    assert (result.verdict, values(result)["retrieval.recall@5"]) == (Verdict.SHIP, 1.0)


IDS = [f"d{n}" for n in range(8)]


@settings(max_examples=40, deadline=None)
@given(
    found=st.lists(st.lists(st.sampled_from(IDS), max_size=8), min_size=1, max_size=4),
    wanted=st.lists(st.lists(st.sampled_from(IDS), min_size=1, max_size=4, unique=True), min_size=4, max_size=4),
    grades=st.dictionaries(st.sampled_from(IDS), st.integers(0, 3)),
)
def test_with_one_chunk_a_document_everything_is_as_with_ids(
    found: list[list[str]], wanted: list[list[str]], grades: dict[str, int]
) -> None:
    """Groups of one member: every metric equals that of plain ids, to the last bit."""
    chunks = [{"chunk_id": f"{name}-1", "doc_id": name, "text": f"text of {name}", "section_id": "1"} for name in IDS]
    traces = [
        {"qid": f"Q{nth}", "topk": [{"id": f"{one}-1"} for one in ids], "answer_citations": [f"{one}-1" for one in ids]}
        for nth, ids in enumerate(found)
    ]
    by_id, by_source, by_name = [], [], []
    for nth in range(len(found)):
        mine = wanted[nth]
        shared = {"qid": f"Q{nth}", "question": "?"}
        by_id.append(
            shared | {"relevant": [f"{one}-1" for one in mine], "grades": {f"{k}-1": v for k, v in grades.items()}}
        )
        by_source.append(shared | {"gold_source": mine, "grades": grades})
        by_name.append(shared | {"relevant": mine, "grades": grades})
    how = {"corpus": chunks, "delta_s": "recorded"}
    expected = values(score(by_id, traces, **how))
    assert values(score(by_source, traces, **how)) == expected
    assert values(score(by_name, traces, **how)) == expected


def test_a_chunk_that_holds_two_things_gains_both_and_no_more_than_the_best() -> None:
    gold = [
        {
            "qid": "Q1",
            "question": "?",
            "gold_evidence": [
                "A bucket name is free again after a day.",
                "Invoices are sent on the first of the month.",
            ],
        }
    ]
    chunks: list[Row] = [
        *CHUNKS,
        {"chunk_id": "d1", "doc_id": "d.md", "text": CHUNKS[2]["text"] + " " + CHUNKS[3]["text"]},
    ]
    found = values(score(gold, asked("d1"), corpus=chunks))
    assert (found["retrieval.recall@1"], found["retrieval.ndcg@1"]) == (1.0, 1.0)


# an answers gold set as it is


ANSWERS = [
    {
        "qid": "A1",
        "question": "How long are keys kept?",
        "answerable": True,
        "gold_claim_substr": ["ninety days"],
        "gold_citations": ["a1"],
    },
    {"qid": "A2", "question": "Who owns the moon?", "answerable": False},
]


def test_an_answers_gold_set_is_one_of_retrieval_too() -> None:
    result = score(ANSWERS, [*asked("c1", "a1", qid="A1"), *asked("c1", qid="A2")])
    assert values(result)["retrieval.mrr"] == 0.5
    counts = result.report["suites"]["retrieval"]["counts"]
    assert (counts["answerable"], counts["unanswerable"]) == (1, 1)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    write_jsonl(folder / "chunks.jsonl", CHUNKS)
    cut = [
        one | {"chunk_id": f"{one['chunk_id']}{half}", "text": text}
        for one in CHUNKS
        for half, text in zip("xy", halves(one["text"]), strict=True)
    ]
    write_jsonl(folder / "cut.jsonl", cut)
    for name, docs in (("live", "chunks.jsonl"), ("shadow", "cut.jsonl")):
        assert run_cli("index", "build", "--docs", folder / docs, "--out", folder / name, "--dense", "none").code == 0
    return folder


def halves(text: str) -> tuple[str, str]:
    words = text.split()
    return " ".join(words[: len(words) // 2]), " ".join(words[len(words) // 2 :])


def test_commands_take_an_answers_gold_set(built: Path, tmp_path: Path) -> None:
    gold = write_jsonl(tmp_path / "gold.jsonl", ANSWERS)
    done = run_cli("index", "check", built / "live", "--gold", gold)
    assert (done.code, done.out.splitlines()[2]) == (0, "gold: all 1 ids are in this index")
    done = run_cli("retrieve", "--index", built / "live", "--gold", gold, "-o", tmp_path / "t.jsonl")
    assert done.code == 0
    assert done.out.splitlines()[-1] == (
        f"next: ragworthy score retrieval --gold {gold} --trace {tmp_path / 't.jsonl'} --corpus {built / 'live'}"
    )
    done = run_cli("index", "diff", built / "live", built / "shadow", "--gold", gold)
    assert done.code == 4 and "[RW-G25]" in done.out  # the shadow has each chunk in two halves


def judged(tmp_path: Path) -> Path:
    rows = [
        {"qid": "1", "question": "keys rotated by the service", "gold_source": ["a.md"]},
        {"qid": "2", "question": "bucket name free again", "gold_source": ["b.md", "c.md"]},
    ]
    return write_jsonl(tmp_path / "docs_gold.jsonl", rows)


def test_index_diff_after_a_rechunk_needs_no_rebinding(built: Path, tmp_path: Path) -> None:
    """One wording, documents judged, two chunkings: a verdict against live, first line first."""
    done = run_cli("index", "diff", "--full", built / "live", built / "shadow", "--gold", judged(tmp_path))
    lines = done.out.splitlines()
    assert done.code == 0, done.out + done.err
    assert lines[0] == "SHIP: all 4 gates hold"
    assert lines[2] == "  recall@5   live 1.0, shadow 1.0 (no difference): 0 questions better, 0 worse, 2 the same"
    gates = [line.split()[0] for line in lines if line.startswith("  retrieval.") and " drop ≤ 0.02 " in line]
    assert gates == ["retrieval.recall@5", "retrieval.hit@5", "retrieval.ndcg@5"]
    assert "eligible" not in done.out and "RW-W30" not in done.out
    [stricter] = [line for line in lines if "stricter checks, not part of this verdict: " in line]
    assert stricter.endswith("hold; not measured: delta_s_median, delta_s_p90, triplet_rate, collapsed")
    assert "--canary" not in done.out  # which could not be measured with one wording
    judgement, _, limits = done.out.partition("What this evidence cannot show")
    assert judgement.count("three wordings under two seeds") == 1 and limits
    assert lines[-1] == "verdict: SHIP (exit 0)"
    assert lines[-3].startswith(f"  next: ragworthy index diff {built / 'live'} {built / 'shadow'} --gold ")


def test_the_canary_is_the_verdict_or_no_part_of_it(built: Path, tmp_path: Path) -> None:
    done = run_cli("index", "diff", built / "live", built / "shadow", "--gold", judged(tmp_path), "--canary",
                   "--full")  # fmt: skip
    assert done.code == 4 and "canary: not eligible: " in done.out
    assert "not part of this verdict" not in done.out


def test_max_drop_says_how_much_worse_is_too_much(built: Path, tmp_path: Path) -> None:
    """Live finds a.md for question 1; a shadow without it loses half of the recall."""
    shadow = tmp_path / "less"
    write_jsonl(tmp_path / "less.jsonl", [one for one in CHUNKS if one["doc_id"] != "a.md"])
    run_cli("index", "build", "--docs", tmp_path / "less.jsonl", "--out", shadow, "--dense", "none")

    def diff(*flags: object) -> Done:
        return run_cli("index", "diff", "--full", built / "live", shadow, "--gold", judged(tmp_path), *flags)

    done = diff()
    assert done.code == 3  # beyond the tolerance, and one question proves nothing
    assert done.out.startswith("INCONCLUSIVE: retrieval.recall@5, retrieval.hit@5, retrieval.ndcg@5 are undecided\n")
    assert "(-0.5): 0 questions better, 1 worse, 1 the same" in done.out
    assert diff("--max-drop", "0.5").code == 0
    named = diff("--gates", "recall@5=0.4")  # a limit of its own takes no comparison away
    undecided = "retrieval.recall@5 (drop ≤ 0.02), retrieval.hit@5, retrieval.ndcg@5"
    assert named.out.startswith(f"INCONCLUSIVE: {undecided} are undecided\n")
    wrong = diff("--max-drop", "-0.1")
    assert (wrong.code, wrong.err.splitlines()[0]) == (
        2,
        "--max-drop: expected a number from 0 to below 1, got -0.1 [RW-U01]",
    )


def test_recall_at_equal_bytes(tmp_path: Path) -> None:
    """Ten documents of one large chunk, or of ten small ones: five small chunks are a tenth of the bytes."""
    texts = {f"d{n}.md": [f"topic{n} part{m} " + "word " * 80 for m in range(10)] for n in range(10)}
    large = [{"chunk_id": doc, "doc_id": doc, "text": "\n".join(parts)} for doc, parts in texts.items()]
    small = [
        {"chunk_id": f"{doc}.{m}", "doc_id": doc, "text": part}
        for doc, parts in texts.items()
        for m, part in enumerate(parts)
    ]
    for name, chunks in (("live", large), ("shadow", small)):
        write_jsonl(tmp_path / f"{name}.jsonl", chunks)
        run_cli("index", "build", "--docs", tmp_path / f"{name}.jsonl", "--out", tmp_path / name, "--dense", "none")
    question = {"qid": "1", "question": "topic1 topic2 topic3", "gold_source": ["d1.md", "d2.md", "d3.md"]}
    gold = write_jsonl(tmp_path / "gold.jsonl", [question])
    done = run_cli("index", "diff", tmp_path / "live", tmp_path / "shadow", "--gold", gold, "--format", "json")
    context = json.loads(done.out)["suites"]["retrieval"]["live"]["context"]
    assert context["bytes"]["live"] > 5 * context["bytes"]["shadow"]
    two = context["recall"]["2000"]
    assert two["live"] == pytest.approx(1 / 3)  # one chunk of 4 kB: the first result, and no more fits
    assert two["shadow"] >= two["live"]
    same = run_cli("index", "diff", tmp_path / "live", tmp_path / "live", "--gold", gold, "--format", "json")
    assert json.loads(same.out)["suites"]["retrieval"]["live"]["context"] is None


# Cranfield: 225 queries, judged by document


@pytest.fixture(scope="module")
def cranfield(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("cranfield")
    source = DATA / "ir_corpora/cranfield"
    with gzip.open(source / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        docs = [json.loads(line) for line in lines]
    kept = [one for one in docs if int(one["id"].partition("-")[2]) <= 500 and one["text"].strip()]
    write_jsonl(folder / "docs.jsonl", [{"path": f"{one['id']}.txt", "text": one["text"]} for one in kept])
    names = {one["id"] for one in kept}
    judged: dict[str, dict[str, int]] = {}
    for line in (source / "qrels.txt").read_text(encoding="utf-8").splitlines():
        qid, _, doc, grade = line.split()
        if int(grade) > 0 and doc in names:
            judged.setdefault(qid, {})[f"{doc}.txt"] = int(grade)
    queries = [json.loads(line) for line in (source / "queries.jsonl").read_text(encoding="utf-8").splitlines()]
    gold = [
        {
            "qid": one["qid"],
            "question": one["query"],
            "gold_source": [*judged[one["qid"]]],
            "grades": judged[one["qid"]],
        }
        for one in queries
        if one["qid"] in judged
    ]
    write_jsonl(folder / "gold.jsonl", gold)
    options = ("--dense", "none", "--limit", "300")
    assert run_cli("index", "build", "--docs", folder / "docs.jsonl", "--out", folder / "index", *options).code == 0
    yield folder
    shutil.rmtree(folder)


def by_hand(ids: list[str], grades: dict[str, int], k: int) -> dict[str, float]:
    """Recall, hit, precision and nDCG of the first k chunks, each taken for its document; one counts its first time."""
    docs = [one.partition("|")[0] for one in ids[:k]]
    gain, seen = 0.0, set[str]()
    for rank, doc in enumerate(docs, 1):
        if doc in grades and doc not in seen:
            gain += grades[doc] / math.log2(rank + 1)
            seen.add(doc)
    best = sum(grade / math.log2(rank + 1) for rank, grade in enumerate(sorted(grades.values(), reverse=True)[:k], 1))
    return {
        "recall": len(seen) / len(grades),
        "hit": float(bool(seen)),
        "precision": sum(doc in grades for doc in docs) / max(1, len(docs)),
        "ndcg": gain / best,
    }


@pytest.mark.data("data/ir_corpora")
def test_cranfield_judged_by_document_equals_a_calculation_by_hand(cranfield: Path) -> None:
    traces = cranfield / "traces.jsonl"
    args = ("--index", cranfield / "index", "--gold", cranfield / "gold.jsonl", "--seeds", "0", "--cite", "0")
    assert run_cli("retrieve", *args, "-o", traces).code == 0
    gold = {row["qid"]: row["grades"] for row in rows_of(cranfield / "gold.jsonl")}
    found = {row["qid"]: [one["id"] for one in row["topk"]] for row in rows_of(traces)}
    assert len(gold) == 140 and found.keys() == gold.keys()
    assert any(len({one.partition("|")[0] for one in ids[:5]}) < 5 for ids in found.values())
    result = rw.score(
        "retrieval",
        gold=cranfield / "gold.jsonl",
        traces=traces,
        corpus=cranfield / "index",
        gates="recall@5=0.1",
    )
    for k in (1, 3, 5, 10):
        each = [by_hand(found[qid], grades, k) for qid, grades in gold.items()]
        for name in RANKS:
            mean = math.fsum(one[name] for one in each) / len(each)
            assert result.metrics[f"retrieval.{name}@{k}"].value == pytest.approx(mean, abs=1e-9), (name, k)
    firsts = [
        next((1 / rank for rank, one in enumerate(found[qid], 1) if one.partition("|")[0] in grades), 0.0)
        for qid, grades in gold.items()
    ]
    assert result.metrics["retrieval.mrr"].value == pytest.approx(math.fsum(firsts) / len(firsts), abs=1e-9)
