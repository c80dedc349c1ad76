"""Which stage is to blame, as far as the texts of chunks show it, and which offenders are shown."""

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from conftest import Row, run_cli, write_jsonl
from places import DATA
from ragworthy.report.part import some_of_each

CHUNKS = {"a": "Copies are kept for 45 days.", "b": "harbor sync copies a folder.", "c": "Something else."}


def item(qid: str, piece: str, *gold: str) -> Row:
    return {
        "qid": qid, "question": f"What of {qid}?", "answerable": True, "gold_claim_substr": [piece],
        "gold_citations": list(gold),
    }  # fmt: skip


def trace(qid: str, claim: str, cited: str, *retrieved: str) -> Row:
    return {"qid": qid, "retrieved_ids": list(retrieved), "answer_json": {"claim": claim, "citations": [cited]}}


GOLD = [
    item("part", "harbor sync", "a", "b"),
    item("there", "harbor sync", "a", "b"), item("words", "by copying", "a", "b"),
    item("right", "45 days", "a"), item("both", "45 days", "a"), item("refused", "harbor sync", "a", "b"),
    item("unknown", "harbor sync", "a", "b"),
]  # fmt: skip
TRACES = [
    trace("part", "harbor cp", "a", "a", "c"),  # one gold chunk was retrieved, the text is in the other
    trace("there", "harbor cp", "a", "a", "b"),
    trace("words", "with a command", "a", "a", "c"),  # no gold chunk says it in these words: nothing is known
    trace("right", "For 45 days.", "c", "a", "c"),
    trace("both", "For 30 days.", "c", "a", "c"),
    trace("refused", "not in context", "a", "a", "c"),
    trace("unknown", "harbor cp", "a", "a", "elsewhere"),  # a retrieved chunk whose text is not known
]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_jsonl(Path("gold.jsonl"), GOLD)
    write_jsonl(Path("traces.jsonl"), TRACES)
    write_jsonl(Path("chunks.jsonl"), [{"chunk_id": name, "text": text} for name, text in CHUNKS.items()])


def stages(*flags: str) -> dict[str, tuple[str, str]]:
    files = ("--gold", "gold.jsonl", "--trace", "traces.jsonl", "--rows", "rows.jsonl")
    run_cli("score", "answers", *files, *flags, "-q")
    return {
        row["qid"]: (row["label"], row["stage"]) for row in map(json.loads, Path("rows.jsonl").read_text().splitlines())
    }


def test_text_that_was_never_retrieved_is_no_fault_of_the_model() -> None:
    assert stages("--corpus", "chunks.jsonl") == {
        "part": ("ANS_NO_CONTAIN", "retrieval"),
        "there": ("ANS_NO_CONTAIN", "generation"),
        "words": ("ANS_NO_CONTAIN", "generation"),
        "right": ("ANS_NO_HIT", "citation"),
        "both": ("ANS_NO_HIT", "citation"),
        "refused": ("OVER_REFUSAL", "retrieval"),
        "unknown": ("ANS_NO_CONTAIN", "generation"),
    }


def test_without_texts_the_ids_decide() -> None:
    found = stages()
    assert found["part"] == found["there"] == ("ANS_NO_CONTAIN", "generation")
    assert found["refused"] == ("OVER_REFUSAL", "refusal")
    assert (found["right"][1], found["both"][1]) == ("citation", "citation")


def test_numbers_are_the_same_with_and_without_texts() -> None:
    files = ("--gold", "gold.jsonl", "--trace", "traces.jsonl", "--format", "json")
    plain, known = (
        json.loads(run_cli("score", "answers", *files, *more).out)["suites"]["answers"]
        for more in ((), ("--corpus", "chunks.jsonl"))
    )
    for name, metric in plain["metrics"].items():
        if name != "answers.support":
            assert known["metrics"][name] == metric
    assert plain["labels"] == known["labels"]


def test_what_to_do_tells_the_stages_apart() -> None:
    out = run_cli(
        "score", "answers", "--gold", "gold.jsonl", "--trace", "traces.jsonl", "--corpus", "chunks.jsonl", "--full"
    ).out  # fmt: skip
    assert "retrieval, 2 of 7 questions: 1 citing gold evidence, without the chunk that has the text, " in out
    assert "1 refused without the chunk that has the text: a part of the evidence was not retrieved" in out
    assert "neither citing the gold evidence that was retrieved nor saying what it says" in out


# some of each


def test_offenders_of_every_label_are_shown() -> None:
    gold: list[Row] = [{"qid": f"u{nth:02d}", "question": f"{nth}?", "answerable": False} for nth in range(30)]
    gold += [item(f"n{nth:02d}", "45 days", "a") for nth in range(8)] + [item("x", "45 days", "a")]
    traces = [trace(one["qid"], "Something.", "c", "a", "c") for one in gold[:-1]]
    traces.append(trace("x", "For 30 days.", "a", "a"))
    write_jsonl(Path("gold.jsonl"), gold)
    write_jsonl(Path("traces.jsonl"), traces)
    done = run_cli("score", "answers", "--gold", "gold.jsonl", "--trace", "traces.jsonl", "--format", "json")
    offenders: list[dict[str, Any]] = json.loads(done.out)["suites"]["answers"]["offenders"]
    # 10 places: one of each of 3 labels, again one of the two that have more, and so on: 5 + 4 + 1.
    assert Counter(one["label"] for one in offenders) == {"HALLUCINATION": 5, "ANS_NO_HIT": 4, "ANS_NO_CONTAIN": 1}
    assert [one["qid"] for one in offenders] == [
        *(f"u{nth:02d}" for nth in range(5)),
        *(f"n{nth:02d}" for nth in range(4)),
        "x",
    ]


def test_one_label_fills_all_places() -> None:
    assert some_of_each([f"a{nth}" for nth in range(9)], 4, lambda one: one[0]) == ["a0", "a1", "a2", "a3"]
    assert some_of_each([], 4, lambda one: one) == []


@pytest.mark.data("data/squad2/dev/gold.jsonl.gz", "data/llm_answers/qwen3_squad2/dev")
def test_answers_of_a_real_model_are_told_apart_by_what_they_say() -> None:
    """None of these answers cites anything: those with the gold text lack only citations, the others are wrong too."""
    traces = DATA / "llm_answers/qwen3_squad2/dev/trace.qwen3-0.6b.config1.jsonl"
    said = {one["qid"]: one for one in map(json.loads, traces.read_text(encoding="utf-8").splitlines())}
    with gzip.open(DATA / "squad2/dev/gold.jsonl.gz", "rt", encoding="utf-8") as lines:
        golds = [one for one in map(json.loads, lines) if one["qid"] in said]
    write_jsonl(Path("gold.jsonl"), golds)
    Path("traces.jsonl").write_bytes(traces.read_bytes())
    found = stages("--corpus", str(DATA / "squad2/dev/corpus.jsonl"))
    rows = {row["qid"]: row for row in map(json.loads, Path("rows.jsonl").read_text().splitlines())}
    both = 0
    for gold in golds:
        one = said[gold["qid"]]
        if not gold["answerable"] or one["answer_json"]["citations"]:
            continue
        holds = any(piece.lower() in one["answer_json"]["claim"].lower() for piece in gold["gold_claim_substr"])
        there = bool(set(gold["gold_citations"]) & set(one["retrieved_ids"]))
        stage = "citation" if there else "retrieval"
        assert found[gold["qid"]] == ("ANS_NO_HIT", stage), gold["question"]
        assert rows[gold["qid"]]["facts"]["contains"] is holds
        both += there and not holds
    assert both == 8
