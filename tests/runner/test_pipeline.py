"""The built-in pipeline: knobs, retrieval, the extractive answerer, refusals, constraints, and its example gold set."""

import json
import math
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ragworthy
from conftest import run_cli
from ragworthy.errors import DataError
from ragworthy.index import build as indexing
from ragworthy.index import ranking
from ragworthy.index.store import Index, open_index
from ragworthy.pipeline import Pipeline, extract, retrieve
from ragworthy.pipeline.asked import ask
from ragworthy.pipeline.knobs import Knobs, read
from ragworthy.pipeline.retrieve import Found
from ragworthy.pipeline.shelf import Shelf
from ragworthy.pipeline.units import Unit, locked, units
from ragworthy.records import Chunk
from ragworthy.runner.contract import checked
from ragworthy.text import squeeze

EXAMPLES = Path(ragworthy.__file__).parent / "examples"
GOLD = [json.loads(line) for line in (EXAMPLES / "answers_gold.jsonl").read_text(encoding="utf-8").splitlines()]
LOCK = """# Lock

The lock of the harbour is red. It opens at noon. The keeper is called Ada Byron.

## Tides

High tide comes twice a day. Boats must wait at the buoy. Boats longer than 20 m cannot enter at low tide.

| Season | Water level |
|---|---|
| summer | 3 m |
| winter | 5 m |

## Fees

- A boat pays 4 EUR.
- A raft pays 2 EUR.
"""


@pytest.fixture(scope="module")
def harbor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of the example, with vectors."""
    out = tmp_path_factory.mktemp("pipeline") / "harbor"
    indexing.build(EXAMPLES / "corpus", out, dense="wordllama")
    return out


@pytest.fixture(scope="module")
def lock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small index without vectors."""
    root = tmp_path_factory.mktemp("lock")
    (root / "docs").mkdir()
    (root / "docs" / "lock.md").write_text(LOCK, encoding="utf-8")
    indexing.build(root / "docs", root / "ix", dense="none")
    return root / "ix"


def answer(pipeline: Pipeline, q: str, **knobs: Any) -> dict[str, Any]:
    reply: dict[str, Any] = pipeline(qid="1", q=q, knobs=knobs)["answer_json"]
    return reply


# knobs


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"depth": 3}, 'expected a knob (mode, k_lex, k_sem, intersect, rerank_depth, knee, k, max_tokens, answerer, '
                       'threshold, temperature, reply_tokens, constraints, timings), got "depth"'),
        ({"mode": "sparse"}, 'mode: expected auto, bm25, dense or hybrid, got "sparse"'),
        ({"mode": ["bm25"]}, "mode: expected auto, bm25, dense or hybrid, got a list"),
        ({"k_lex": 0}, "k_lex: expected a whole number of at least 1, got 0"),
        ({"k_sem": 2.0}, "k_sem: expected a whole number of at least 1, got 2.0"),
        ({"k": True}, "k: expected a whole number of at least 1, got true"),
        ({"intersect": 1}, "intersect: expected true or false, got 1"),
        ({"rerank_depth": -1}, "rerank_depth: expected a whole number of at least 0, got -1"),
        ({"rerank_depth": 3}, "rerank_depth: expected 0 or at least k = 5, got 3"),
        ({"knee": "yes"}, 'knee: expected true or false, got "yes"'),
        ({"max_tokens": None}, "max_tokens: expected a whole number of at least 1, got null"),
        ({"answerer": "gpt"}, 'answerer: expected extractive or chat:MODEL@URL, got "gpt"'),
        ({"answerer": "chat:m@ftp://x"}, 'answerer: expected extractive or chat:MODEL@URL, got "chat:…"'),
        ({"answerer": "chat:m@https:/u:pw@x"},
         "answerer: expected chat:MODEL@URL with a plain address such as http://localhost:8080/v1, got one without "
         "http://"),
        ({"threshold": 1.5}, "threshold: expected a number from 0 to 1, got 1.5"),
        ({"threshold": math.nan}, "threshold: expected a number from 0 to 1, got nan"),
        ({"temperature": -1}, "temperature: expected a number from 0 to 2, got -1"),
        ({"reply_tokens": 0}, "reply_tokens: expected a whole number of at least 1, got 0"),
        ({"constraints": 0}, "constraints: expected true or false, got 0"),
        ({"timings": None}, "timings: expected true or false, got null"),
    ],
)  # fmt: skip
def test_knobs_that_cannot_be_used(given: dict[str, Any], message: str, lock: Path) -> None:
    with pytest.raises(ValueError) as caught:
        read(given)
    assert str(caught.value) == message
    with pytest.raises(ValueError):
        Pipeline(lock)(qid="1", q="x", knobs=given)


def test_knobs_on_top_of_others() -> None:
    assert read({}) == Knobs()
    assert read({"k": 2, "threshold": 1}, Knobs(mode="bm25", k=9)) == Knobs(mode="bm25", k=2, threshold=1)
    assert read({"answerer": "chat:org/m:free@https://h/v1"}).answerer == "chat:org/m:free@https://h/v1"


# units


def test_units_of_every_kind() -> None:
    text = (
        "First one. It goes\non here! Then:\n\n1. one\n   more of it\n2) two\n* three\n\n"
        "```sh\n$ a. B\n```\n\n| A | |\n|---|:-:|\n| x \\| y | z |\n| | |\n| only |\nThe end"
    )
    assert units(text) == [
        Unit("First one.", "sentence"),
        Unit("It goes on here!", "sentence"),
        Unit("Then:", "sentence"),
        Unit("one more of it", "item"),
        Unit("two", "item"),
        Unit("three", "item"),
        Unit("```sh\n$ a. B\n```", "code"),
        Unit("A: x | y; z", "row"),
        Unit("A: only", "row"),
        Unit("The end", "sentence"),
    ]
    assert units("a. B\nc", "code") == [Unit("a. B\nc", "code")]
    assert units("| a | b |\n| c | d |") == [Unit("a; b", "row"), Unit("c; d", "row")]
    assert units("```\nopen. To the end") == [Unit("```\nopen. To the end", "code")]
    assert units(" \n\n") == units("", "code") == []
    assert units("他住在北京。她呢？") == [Unit("他住在北京。", "sentence"), Unit("她呢？", "sentence")]


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("ab. !?\n-*1`#。好"), max_size=60))
def test_units_lose_no_letter_and_invent_none(text: str) -> None:
    letters = [character for unit in units(text) for character in unit.text if character in "ab好"]
    assert sorted(letters) == sorted(character for character in text if character in "ab好")
    assert all(unit.text == unit.text.strip() and unit.text for unit in units(text))


@settings(max_examples=100, deadline=None)
@given(st.text(st.sampled_from("ab. !?\n"), max_size=60))
def test_sentences_of_plain_text_are_the_text(text: str) -> None:
    assert squeeze(" ".join(unit.text for unit in units(text))) == squeeze(text)


# questions


def test_coverage_by_hand() -> None:
    question = ask("When does the Lock open at noon?", {"lock": 3.0, "open": 2.0, "noon": 5.0}.__getitem__)
    assert (question.total, question.wants) == (10.0, "date")
    assert question.coverage({"lock", "noon", "other"}) == 0.8
    assert question.coverage(()) == 0.0
    assert question.missing({"open"}) == ["noon", "Lock"]
    assert ask("", len).coverage({"x"}) == 0.0


@pytest.mark.parametrize(
    ("question", "text", "cue"),
    [
        ("How many boats?", "There are 4.", 1.0),
        ("How many boats?", "There are seven.", 1.0),
        ("How many boats?", "There are some.", 0.0),
        ("In which year was it built?", "In 1901.", 1.0),
        ("When is it open?", "On Mondays and every Tuesday", 1.0),
        ("When is it open?", "Never", 0.0),
        ("Who keeps it?", "The keeper is Ada.", 1.0),
        ("Who keeps it?", "The keeper keeps it.", 0.0),
        ("Who keeps it?", "Ada Byron does.", 1.0),
        ("Where is it?", "It is in Cork.", 1.0),
        ("Which country is it in?", "in the far north", 0.0),
        ("What is it?", "In Cork, 1901.", None),
        ("它在哪里?", "1901", None),
    ],
)
def test_cues(question: str, text: str, cue: float | None) -> None:
    assert ask(question, len).cue(text) == cue


def test_weights_of_terms(lock: Path) -> None:
    """`boat` is in 2 of 4 chunks, `zebra` in none."""
    shelf = Shelf(lock)
    size = len(shelf.index.chunks)
    holding = sum("boat" in chunk.text.lower() for chunk in shelf.index.chunks)
    assert (size, holding) == (4, 2)
    assert shelf.weight("boat") == math.log(1 + (size - holding + 0.5) / (holding + 0.5))
    assert shelf.weight("zebra") == math.log(1 + (size + 0.5) / 0.5)


# retrieval


def test_one_list_as_it_was_found(lock: Path) -> None:
    shelf = Shelf(lock)
    hits = shelf.index.search("boat tide", 2, "bm25")
    found = retrieve.search(shelf, "boat tide", Knobs(k_lex=2))
    assert [(one.chunk.name, one.score) for one in found] == [(hit.chunk.name, hit.score) for hit in hits]


def test_two_lists_are_fused(harbor: Path) -> None:
    shelf, question = Shelf(harbor), "How long is a trust grant valid?"
    lists = [[hit.chunk.name for hit in shelf.index.search(question, 7, mode)] for mode in ("bm25", "dense")]
    both = [one.chunk.name for one in retrieve.search(shelf, question, Knobs(k_lex=7, k_sem=7))]
    assert sorted(both) == sorted({*lists[0], *lists[1]})
    assert both[0] == ranking.rrf(lists)[0][0]
    shared = [one.chunk.name for one in retrieve.search(shelf, question, Knobs(k_lex=7, k_sem=7, intersect=True))]
    assert sorted(shared) == sorted(set(lists[0]) & set(lists[1]))
    assert 0 < len(shared) < len(both)


def test_an_empty_intersection_gives_the_union(harbor: Path) -> None:
    shelf = Shelf(harbor)
    for row in GOLD:
        knobs = Knobs(k_lex=1, k_sem=1)
        union = retrieve.search(shelf, row["question"], knobs)
        if len(union) == 2:
            assert retrieve.search(shelf, row["question"], knobs._replace(intersect=True)) == union
            return
    pytest.fail("no question for which both searches disagree")


def test_reranking_by_hand(lock: Path) -> None:
    shelf = Shelf(lock)
    question = shelf.ask("boat tide zebra")
    found = retrieve.search(shelf, question.text, Knobs())
    again = retrieve.rerank(shelf, question, None, found, 10)
    best = max(one.score for one in found)
    for one in again:
        words = {term for term in ("boat", "tid") if term in one.chunk.text.lower() + (one.chunk.title or "").lower()}
        share = sum(shelf.weight(term) for term in words) / sum(map(shelf.weight, ("boat", "tid", "zebra")))
        first = next(other.score for other in found if other.chunk == one.chunk)
        assert one.score == pytest.approx(0.6 * share + 0.4 * first / best, abs=2e-6)
    assert [one.score for one in again] == sorted((one.score for one in again), reverse=True)
    assert len(retrieve.rerank(shelf, question, None, found, 1)) == 1
    assert retrieve.rerank(shelf, question, None, [], 5) == []


def test_reranking_counts_meaning_where_there_are_vectors(harbor: Path) -> None:
    shelf, text = Shelf(harbor), "With which cipher are backup blocks encrypted?"
    question, vector = shelf.ask(text), shelf.embedded(text)
    found = retrieve.search(shelf, text, Knobs())
    like = {hit.chunk.name: hit.score for hit in shelf.index.search(text, 157, "dense")}
    for one in retrieve.rerank(shelf, question, vector, found, 10):
        expected = 0.6 * question.coverage(shelf.parts(one.chunk).every) + 0.4 * max(0.0, like[one.chunk.name])
        assert one.score == pytest.approx(expected, abs=2e-6)


def test_cuts() -> None:
    found = [Found(Chunk(id=str(n), text="x", tokens=100), score) for n, score in enumerate((9, 8.9, 8.8, 1, 0.9, 0.8))]
    assert [one.chunk.name for one in retrieve.cut(found, Knobs(knee=True))] == ["0", "1", "2"]
    assert len(retrieve.cut(found, Knobs())) == 5
    assert len(retrieve.cut(found, Knobs(k=2))) == 2
    assert len(retrieve.cut(found, Knobs(max_tokens=300))) == 3
    assert len(retrieve.cut(found, Knobs(max_tokens=299))) == 2
    assert len(retrieve.cut(found, Knobs(max_tokens=1))) == 1
    assert retrieve.tokens_of(Chunk(text="one two two three")) == 3


# the extractive answerer


def test_answers_from_prose_lists_and_tables(lock: Path) -> None:
    pipeline = Pipeline(lock)
    assert answer(pipeline, "How often does high tide come?") == {
        "claim": "High tide comes twice a day.",
        "citations": ["lock.md|s=1.1|p=000|b=001"],
        "constraints_echo": ["Boats must wait at the buoy.", "Boats longer than 20 m cannot enter at low tide."],
    }
    level = answer(pipeline, "What is the water level in winter?")
    assert (level["claim"], level["citations"]) == ("Season: winter; Water level: 5 m", ["lock.md|s=1.1|p=000|b=002"])
    assert level["constraints_echo"] == answer(pipeline, "How often does high tide come?")["constraints_echo"]
    assert answer(pipeline, "How much does a raft pay?")["claim"] == "A raft pays 2 EUR."
    assert answer(pipeline, "How often does high tide come?", constraints=False)["constraints_echo"] == []


def test_a_neighbour_that_clearly_helps(lock: Path) -> None:
    """`boats`, `wait`, `buoy` are in one sentence and `longer`, `20` in the next."""
    claim = answer(Pipeline(lock), "Do boats longer than 20 m wait at the buoy?")["claim"]
    assert claim == "Boats must wait at the buoy. Boats longer than 20 m cannot enter at low tide."


def test_refusals_are_exact_and_explained(lock: Path) -> None:
    pipeline = Pipeline(lock)
    question = "Which zebra repaired the lock with granite?"
    reply = pipeline(qid="1", q=question, knobs={})
    assert reply["answer_json"] == {"claim": "not in context", "citations": [], "constraints_echo": []}
    assert reply["retrieved_ids"]
    why = pipeline.explain(question)
    assert (why["refused"], why["claim"], why["threshold"], why["threshold_from"]) == (
        True, "not in context", extract.THRESHOLD, "default",
    )  # fmt: skip
    own = why["terms"]["lock"] / sum(why["terms"].values())
    best = why["sentences"][0]
    assert best["features"]["own"] == pytest.approx(own, abs=1e-6)
    assert why["why"] == (
        f"refused: the best sentence scores {best['score']:.2f}, below the threshold 0.50; it covers {own:.2f} of the "
        "question's weight; missing: 'zebra', 'repaired', 'granite'"
    )
    assert answer(pipeline, question, threshold=0.0)["claim"] == best["text"]


def test_nothing_found_is_a_refusal(lock: Path) -> None:
    pipeline = Pipeline(lock)
    reply = pipeline(qid="1", q="Zanzibar?", knobs={"threshold": 0})
    assert (reply["answer_json"]["claim"], reply["retrieved_ids"], reply["topk"]) == ("not in context", [], [])
    assert pipeline.attempt("Zanzibar?") == (0.0, "not in context", [])
    why = "refused: nothing in the index shares a word or a meaning with the question"
    assert pipeline.explain("Zanzibar?")["why"] == why
    assert answer(pipeline, "")["claim"] == answer(pipeline, "  ")["claim"] == "not in context"


def test_explaining_an_answer(harbor: Path) -> None:
    why = Pipeline(harbor).explain("With which cipher are backup blocks encrypted?", {"threshold": 0.2})
    first = why["sentences"][0]
    weights = {"own": 0.4, "near": 0.3, "likeness": 0.2}
    assert list(first["features"]) == list(weights)
    mean = sum(weights[name] * value for name, value in first["features"].items()) / sum(weights.values())
    assert first["score"] == pytest.approx(mean, abs=1e-6)
    assert (why["mode"], why["threshold_from"], why["refused"]) == ("hybrid", "knob", False)
    assert why["why"].startswith(
        f"answered: the best sentence scores {first['score']:.2f}, not below the threshold 0.20"
    )
    scores = [one["score"] for one in why["sentences"]]
    assert scores == sorted(scores, reverse=True)
    with pytest.raises(ValueError, match="answerer: expected extractive, which can be explained, got chat:m@http://h"):
        Pipeline(harbor).explain("x", {"answerer": "chat:m@http://h"})


def test_a_full_score_needs_every_feature() -> None:
    assert extract.score(dict.fromkeys(extract.WEIGHTS, 1.0)) == 1.0
    assert extract.score(dict.fromkeys(extract.WEIGHTS, 0.0)) == 0.0
    assert math.isclose(sum(extract.WEIGHTS.values()), 1.0)


# the whole


def test_replies_keep_the_contract(harbor: Path) -> None:
    pipeline = Pipeline(harbor)
    texts = [text for row in GOLD for text in (row["question"], *row["paraphrases"])]
    shipped = 0
    for text in texts:
        reply = pipeline(qid="1", q=text, knobs={})
        assert checked(reply).error is None
        found = reply["answer_json"]
        shipped += found["claim"] != "not in context"
        assert set(found["citations"]) <= set(reply["retrieved_ids"])
        assert bool(found["citations"]) == (found["claim"] != "not in context")
        assert [one["id"] for one in reply["topk"]] == reply["retrieved_ids"]
        scores = [one["score"] for one in reply["topk"]]
        assert scores == sorted(scores, reverse=True)
        assert list(reply["stage_ms"]) == ["retrieval", "rerank", "llm", "guard"]
        assert all(one >= 0 for one in reply["stage_ms"].values())
    assert 0 < shipped < len(texts)


def test_threads_get_what_one_gets(harbor: Path) -> None:
    texts = [row["question"] for row in GOLD] * 3
    alone = Pipeline(harbor)
    expected = [alone(qid="1", q=text, knobs={"timings": False}) for text in texts]
    shared = Pipeline(harbor)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda text: shared(qid="1", q=text, knobs={"timings": False}), texts))
    assert found == expected


def test_seed_and_jitter_change_nothing(lock: Path) -> None:
    pipeline = Pipeline(lock)
    knobs = {"timings": False}
    one = pipeline(qid="1", q="How often does high tide come?", knobs=knobs)
    assert pipeline(qid="2", q="How often does high tide come?", seed=9, jitter="ws", knobs=knobs) == one
    assert "stage_ms" not in one


def test_same_bytes_in_every_process(harbor: Path) -> None:
    code = (
        "import json, sys; from pathlib import Path; from ragworthy.pipeline import Pipeline\n"
        "p = Pipeline(Path(sys.argv[1])); rows = map(json.loads, Path(sys.argv[2]).read_text('utf-8').splitlines())\n"
        "for row in rows: print(json.dumps([p(qid='1', q=row['question'], knobs={'timings': False}),"
        " p.explain(row['question'])]))"
    )
    outputs = set()
    for seed, locale in (("0", "C"), ("1", "C.UTF-8"), ("77", "C")):
        env = os.environ | {"PYTHONHASHSEED": seed, "LC_ALL": locale}
        command = [sys.executable, "-c", code, str(harbor), str(EXAMPLES / "answers_gold.jsonl")]
        done = subprocess.run(command, env=env, capture_output=True, check=True)
        outputs.add(done.stdout)
    assert len(outputs) == 1
    assert outputs.pop().count(b"\n") == 72


@pytest.mark.parametrize("mode", ["bm25", "dense", "hybrid"])
def test_modes(harbor: Path, mode: str) -> None:
    found = Pipeline(harbor).explain("With which cipher are backup blocks encrypted?", {"mode": mode})
    assert found["mode"] == mode
    assert found["claim"] == "Blocks are encrypted on the server before they leave it, with AES-256-GCM."
    assert ("likeness" in found["sentences"][0]["features"]) == (mode != "bm25")


def test_an_index_without_vectors_cannot_search_by_meaning(lock: Path) -> None:
    pipeline = Pipeline(lock)
    assert pipeline.explain("tide")["mode"] == "bm25"
    with pytest.raises(DataError, match="expected an index with vectors, got one for lexical search only"):
        pipeline(qid="1", q="tide", knobs={"mode": "dense"})


def test_no_index_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="expected an index, got nothing at this path"):
        Pipeline(tmp_path / "none")


# constraints


def test_locked_rules() -> None:
    text = (
        "Before you start, the following must be true:\n\n- The valve is shut.\n- You must not smoke.\n\n"
        "It may take long. It may not be opened. Never mind. You can not enter, and you cannot leave.\n\n"
        "| Rule |\n|---|\n| must not |\n\n```\nmust\n```\n\nMustard is fine. Drinks are forbidden. 不得入内。"
    )
    assert locked([Chunk(text=text), Chunk(text="Drinks are forbidden.")]) == [
        "You must not smoke.",
        "It may not be opened.",
        "You can not enter, and you cannot leave.",
        "Drinks are forbidden.",
        "不得入内。",
    ]


def test_echoes_of_the_example(harbor: Path) -> None:
    """Rules of the cited sections against those of the gold set: equal for 20 of 21; H016 has one more."""
    shelf = Shelf(harbor)
    index = shelf.index
    wrong = []
    constrained = [row for row in GOLD if row.get("constraints")]
    for row in constrained:
        cited = [one for name in row["gold_citations"] for one in shelf.section(index.by_id[name])]
        if sorted(locked(cited)) != sorted(row["constraints"]):
            wrong.append(row["qid"])
    assert (len(constrained), wrong) == (21, ["H016"])


# the example gold set


def test_the_example_is_the_gold_set_with_ids_of_the_index(harbor: Path) -> None:
    index: Index = open_index(harbor)
    first = [json.loads(line) for line in (EXAMPLES / "gold.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["qid"] for row in GOLD] == [row["qid"] for row in first]
    for row, other in zip(GOLD, first, strict=True):
        own = {"gold_citations", "paraphrases"}
        assert {k: v for k, v in row.items() if k not in own} == {k: v for k, v in other.items() if k not in own}
        chunks = [index.by_id[name] for name in row["gold_citations"]]
        documents = [name.partition("#")[0] + ".md" for name in other["gold_citations"]]
        assert [chunk.doc_id for chunk in chunks] == documents
        if row["answerable"]:
            text = "\n".join(chunk.text.lower() for chunk in chunks)
            assert any(piece.lower() in text for piece in row["gold_claim_substr"])


def test_paraphrases_of_the_example() -> None:
    texts = [text for row in GOLD for text in (row["question"], *row["paraphrases"])]
    assert len(texts) == len({text.casefold() for text in texts}) == 216
    assert all(len(row["paraphrases"]) == 2 for row in GOLD)
    assert all(text == squeeze(text) and text.endswith("?") for text in texts)
    for row in GOLD:  # no wording gives the answer away
        for text in row["paraphrases"]:
            assert not any(piece.lower() in text.lower() for piece in row["gold_claim_substr"]), row["qid"]


def test_the_example_gold_set_is_sound(harbor: Path, tmp_path: Path) -> None:
    pipeline = Pipeline(harbor)
    traces = tmp_path / "traces.jsonl"
    rows = [{"qid": row["qid"], **pipeline(qid=row["qid"], q=row["question"], knobs={})} for row in GOLD]
    traces.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    done = run_cli("score", "answers", "--gold", EXAMPLES / "answers_gold.jsonl", "--trace", traces, "-q")
    assert done.code in (0, 1, 3)
    assert done.err == ""
