"""Latency over seeds and wordings: what is asked, the numbers of each variant, ΔS of what is cited, the picture."""

import json
import statistics
from pathlib import Path
from typing import Any

import pytest

import ragworthy as rw
from conftest import run_cli, write_jsonl
from ragworthy import starter
from ragworthy.experiments import latency
from ragworthy.suites.latency.plot import spec

Row = dict[str, Any]
QUESTIONS = ("a", "b", "c", "d")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    gold = [
        {"qid": qid, "question": f"What about {qid}?", "paraphrases": [f"Tell of {qid}.", f"And {qid}?"],
         "answerable": True, "gold_claim_substr": [f"answer {qid}"], "gold_citations": [f"d#{qid}"]}
        for qid in QUESTIONS
    ]  # fmt: skip
    write_jsonl(tmp_path / "gold.jsonl", gold)


def lay(**fields: Any) -> None:
    """Two seeds × three wordings; one wording under one seed is wrong, and every wording takes its own time."""
    write_jsonl(
        Path("runs.jsonl"),
        [
            {"qid": qid, "seed": seed, "paraphrase": wording, "e2e_ms": 100 * (wording + 1) + 10 * seed,
             "retrieved_ids": [f"d#{qid}"],
             "answer_json": {"claim": "no" if (seed, wording) == (1, 2) else f"answer {qid}",
                             "citations": [f"d#{qid}"]}, **fields}
            for qid in QUESTIONS for seed in (0, 1) for wording in (0, 1, 2)
        ],
    )  # fmt: skip


def scored(**more: Any) -> Row:
    found: Row = rw.score("latency", gold="gold.jsonl", runs="runs.jsonl", **more).report["suites"]["latency"]
    return found


def test_every_question_is_asked_under_every_seed_and_in_every_wording() -> None:
    sweep = latency.plan(Path("gold.jsonl"), [{}], loads=[5.0], requests=30, seeds=(0, 1), paraphrases=3)
    assert (sweep.questions, sweep.variations, sweep.passes, len(sweep.asks)) == (4, 24, 2, 48)
    assert len({(one.qid, one.seed, one.paraphrase) for one in sweep.asks[:24]}) == 24
    assert {one.q for one in sweep.asks if one.qid == "a"} == {"What about a?", "Tell of a.", "And a?"}
    assert sweep.settings["seeds"] == "0,1"


def test_a_wording_that_stands_twice_is_asked_once() -> None:
    """As `import` writes a set without a question: the first paraphrase is the question too."""
    wordings = ["Tell of a.", "And a?", "What of a?"]
    item = {"qid": "a", "question": wordings[0], "paraphrases": wordings, "answerable": True,
            "gold_claim_substr": ["x"], "gold_citations": ["d#a"]}  # fmt: skip
    write_jsonl(Path("gold.jsonl"), [item])
    sweep = latency.plan(Path("gold.jsonl"), [{}], loads=[5.0], requests=3, seeds=(0,), paraphrases=3)
    assert sorted(one.q for one in sweep.asks[:3]) == sorted(wordings)


def test_mean_and_deviation_over_seeds_and_wordings() -> None:
    lay()
    found = scored()
    by = {(one["seed"], one["paraphrase"]): one for one in found["variants"]["by"]}
    assert by[1, 2] | {"n": 4, "latency.p50": 310.0, "answers.precision": 0.0} == by[1, 2]
    times = [one["latency.p50"] for one in by.values()]
    assert found["variants"]["mean"]["latency.p50"] == statistics.mean(times) == 205.0
    assert found["variants"]["deviation"]["latency.p50"] == pytest.approx(statistics.pstdev(times), abs=1e-6)
    right = [one["answers.precision"] for one in by.values()]
    assert found["variants"]["deviation"]["answers.precision"] == pytest.approx(statistics.pstdev(right), abs=1e-6)
    spread = statistics.pstdev(times) / statistics.mean(times)
    assert found["metrics"]["latency.spread"]["value"] == pytest.approx(spread, abs=1e-6)
    told = run_cli("score", "latency", "--gold", "gold.jsonl", "--runs", "runs.jsonl", "--full").out
    assert any(line.split()[:3] == ["1", "2", "4"] for line in told.splitlines())
    assert any(line.split()[:2] == ["mean", "205"] for line in told.splitlines())


def test_one_variant_is_no_table() -> None:
    lay()
    runs = [json.loads(line) for line in Path("runs.jsonl").read_text().splitlines()]
    write_jsonl(Path("runs.jsonl"), [one for one in runs if (one["seed"], one["paraphrase"]) == (0, 0)])
    found = scored()
    assert "variants" not in found
    assert found["metrics"]["latency.spread"]["undefined"] == "needs runs under several seeds or paraphrases"


def test_recorded_distances_within_the_limit() -> None:
    """0.45 is within, 0.4501 is not; an error counts against it, a run that cites nothing is not a case."""
    lay()
    runs = [json.loads(line) for line in Path("runs.jsonl").read_text().splitlines()][:5]
    for one, distance in zip(runs, (0.1, 0.45, 0.4501, 0.2, 0.3), strict=True):
        one["ΔS"] = distance
    runs[3] |= {"error": "timeout"}
    runs[4]["answer_json"] = {"claim": "not in context", "citations": []}
    write_jsonl(Path("runs.jsonl"), runs)
    number = scored()["metrics"]["latency.delta_s_within"]
    assert (number["num"], number["den"]) == (2, 4)


def test_recorded_distances_of_a_named_model_are_raw() -> None:
    lay(ΔS=0.1, delta_s_model={"name": "mine", "weights": "0" * 64})
    assert "distances are raw" in scored()["metrics"]["latency.delta_s_within"]["undefined"]


def test_where_the_model_of_the_lock_does_not_separate_recorded_distances_are_not_measured_either() -> None:
    lay(ΔS=0.1)
    chunks = [
        {"chunk_id": f"d{n}#{qid}", "doc_id": f"d{n}", "text": f"one text for all {n}"}
        for n, qid in enumerate(QUESTIONS)
    ]
    write_jsonl(Path("chunks.jsonl"), chunks)
    gold = [json.loads(line) for line in Path("gold.jsonl").read_text().splitlines()]
    cited = [one["chunk_id"] for one in chunks]
    write_jsonl(Path("gold.jsonl"), [one | {"gold_citations": [name]} for one, name in zip(gold, cited, strict=True)])
    frozen = run_cli("gold", "freeze", "gold.jsonl", "--corpus", "chunks.jsonl", "--signer", "A", "--reason", "b")
    assert frozen.code == 0 and "does not separate" in frozen.out
    why = scored()["metrics"]["latency.delta_s_within"]["undefined"]
    assert "does not tell relevant from unrelated text here" in why


def test_distances_of_a_whole_list_are_those_of_what_is_cited_first() -> None:
    """As retrieval traces have them: 0.9 of the first result does not matter where the second, at 0.3, is cited."""
    lay()
    runs = [json.loads(line) for line in Path("runs.jsonl").read_text().splitlines()][:3]
    for one, listed in zip(runs, ([0.9, 0.3], [0.3, 0.9], [0.3]), strict=True):
        cited = one["answer_json"]["citations"][0]
        one |= {"retrieved_ids": ["other", cited], "ΔS": listed}
    write_jsonl(Path("runs.jsonl"), runs[:2])
    number = scored()["metrics"]["latency.delta_s_within"]
    assert (number["num"], number["den"]) == (1, 2)
    write_jsonl(Path("runs.jsonl"), runs)  # the third has no distance at its place: nothing is left out unseen
    assert "no distances are recorded" in scored()["metrics"]["latency.delta_s_within"]["undefined"]


def test_without_distances_nothing_is_measured() -> None:
    lay()
    why = scored()["metrics"]["latency.delta_s_within"]["undefined"]
    said = "no distances are recorded, and none can be worked out: the lock of the gold set has no calibration"
    assert why == said


def test_distances_by_the_calibration_of_the_lock() -> None:
    """Right citations of the example are near their questions, and those of another document are not."""
    example = Path(starter.__file__).parent / "examples"
    assert run_cli("index", "build", "--docs", example / "corpus", "--out", "live").code == 0
    gold = [json.loads(line) for line in (example / "answers_gold.jsonl").read_text().splitlines()]
    write_jsonl(Path("gold.jsonl"), gold)
    done = run_cli("gold", "freeze", "gold.jsonl", "--corpus", "live", "--signer", "A", "--reason", "b")
    assert done.code == 0, done.err
    known = [one for one in gold if one.get("gold_citations")]
    share = {}
    for name, shift in (("right", 0), ("wrong", len(known) // 2)):
        cited = [known[(nth + shift) % len(known)]["gold_citations"][:1] for nth in range(len(known))]
        write_jsonl(
            Path("runs.jsonl"),
            [
                {"qid": one["qid"], "e2e_ms": 5, "retrieved_ids": ids, "answer_json": {"claim": "x", "citations": ids}}
                for one, ids in zip(known, cited, strict=True)
            ],
        )
        share[name] = scored(corpus="live")["metrics"]["latency.delta_s_within"]["value"]
    assert share["right"] > 0.8 > 0.5 > share["wrong"]


def test_the_picture_has_p99_and_chr() -> None:
    lay()
    runs = [json.loads(line) for line in Path("runs.jsonl").read_text().splitlines()]
    for one in runs[::3]:
        one["answer_json"]["citations"] = ["x"]
        one["retrieved_ids"] = ["x"]
    write_jsonl(Path("runs.jsonl"), [one | {"load_rps": 5} for one in runs])
    found = scored()
    (only,) = found["configurations"]
    drawn = spec(found)
    values = [value for layer in drawn["layer"] for value in layer.get("data", {}).get("values", [])]
    assert any(value.get("tail") == only["metrics"]["latency.p99"]["value"] for value in values)
    assert any(value.get("right") == only["metrics"]["answers.chr"]["value"] for value in values)
    assert "whisker: to P99; small diamond: CHR" in drawn["title"]["subtitle"][1]
