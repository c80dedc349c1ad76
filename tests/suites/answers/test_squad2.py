"""Real data: SQuAD 2.0 dev questions, the traces of three real systems, and planted defects."""

import gzip
import json
from collections.abc import Callable
from typing import Any

import pytest

import ragworthy
from places import SHARED
from ragworthy.cli.main import main

DATA = SHARED / "data" / "squad2" / "dev"
SYSTEMS = ("bert_single", "nlnet_single", "bidaf_selfattn_elmo")

pytestmark = pytest.mark.data("data/squad2/dev")

Row = dict[str, Any]


def read(name: str) -> list[Row]:
    with gzip.open(DATA / name, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@pytest.fixture(scope="module")
def gold() -> list[Row]:
    return read("gold.jsonl.gz")


@pytest.fixture(scope="module")
def stats() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((DATA / "stats.json").read_text())
    return loaded


def test_official_questions_load(gold: list[Row], stats: dict[str, Any]) -> None:
    result = ragworthy.score(
        "answers", gold=DATA / "gold.jsonl.gz", traces=DATA / "trace_bert_single.jsonl.gz", short_substr="word"
    )
    counts = result.report["suites"]["answers"]["counts"]
    assert counts["gold"] == stats["questions"] == len(gold) == 6608
    assert (counts["answerable"], counts["unanswerable"]) == (stats["answerable"], stats["unanswerable"])


def test_lint_names_what_the_five_character_rule_makes_unscorable(
    gold: list[Row], stats: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    only_short = {
        item["qid"]
        for item in gold
        if item["answerable"] and all(len(p.lower()) < 5 for p in item["gold_claim_substr"])
    }
    lint = ["gold", "lint", str(DATA / "gold.jsonl.gz")]
    assert main([*lint, "--short-substr", "reject", "--format", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    named = {finding["qid"] for finding in found["findings"] if finding["code"] == "RW-G07"}
    assert named == only_short
    assert len(named) == found["rescued_by_short_substr_word"] == stats["only_short"] == 291
    # The text form names the first three, each with its line, counts the others, and says what would help.
    main([*lint, "--short-substr", "reject"])
    text = capsys.readouterr().out
    assert sum(line.startswith("error: ") and line.endswith("[RW-G07]") for line in text.splitlines()) == 3
    assert "… and 288 more of RW-G07 " in text
    assert 'short_substr = "word" would make 291 items scorable' in text
    # Two annotators marked a full stop: besides these, nothing stops the default.
    assert main([*lint, "--format", "json"]) == 1
    left = [one for one in json.loads(capsys.readouterr().out)["findings"] if one["level"] == "error"]
    assert [(one["code"], one["message"]) for one in left] == [
        ("RW-G30", 'expected a letter or a digit, got "."'),
        ("RW-G30", 'expected a letter or a digit, got "."'),
    ]


def test_scoring_refuses_them_and_names_the_key(capsys: pytest.CaptureFixture[str]) -> None:
    gold_path, trace = str(DATA / "gold.jsonl.gz"), str(DATA / "trace_bert_single.jsonl.gz")
    assert main(["score", "answers", "--gold", gold_path, "--trace", trace, "--short-substr", "reject"]) == 2
    error = capsys.readouterr().err
    assert "[RW-G07]" in error
    assert "… and 271 more" in error
    assert 'short_substr = "word" would make 291 of these items scorable' in error


@pytest.mark.parametrize("system", SYSTEMS)
def test_refusals_of_real_systems_equal_the_official_counts(system: str, stats: dict[str, Any]) -> None:
    result = ragworthy.score(
        "answers", gold=DATA / "gold.jsonl.gz", traces=DATA / f"trace_{system}.jsonl.gz", short_substr="word"
    )
    metrics = result.metrics
    assert metrics["answers.over_refusal"].num == stats[f"{system}_false_refusals"]
    assert metrics["answers.under_refusal"].num == stats[f"{system}_missed_refusals"]
    assert result.report["suites"]["answers"]["counts"]["refused"] == stats[f"{system}_refusals"]


@pytest.mark.parametrize("system", SYSTEMS)
def test_right_answers_and_refusals_lie_near_the_official_scores(system: str, stats: dict[str, Any]) -> None:
    """Containment is a little kinder than exact match ("the Rhine" holds "Rhine"), never harsher than it by much."""
    result = ragworthy.score(
        "answers", gold=DATA / "gold.jsonl.gz", traces=DATA / f"trace_{system}.jsonl.gz", short_substr="word"
    )
    labels = result.report["suites"]["answers"]["labels"]
    right = 100 * (labels["OK"] + labels["REFUSAL_OK"]) / 6608
    assert stats[f"{system}_em"] < right < stats[f"{system}_em"] + 4


def perfect(gold: list[Row]) -> list[Row]:
    """A made-up run that answers, cites and refuses as the gold set asks; one more id is retrieved each time."""
    traces = []
    for item in gold:
        claim = max(item["gold_claim_substr"], key=len) if item["answerable"] else "not in context"
        cited = item["gold_citations"][:1]
        answer = {"claim": claim, "citations": cited, "constraints_echo": []}
        traces.append({"qid": item["qid"], "retrieved_ids": [*cited, "elsewhere#0"], "answer_json": answer})
    return traces


def scored(gold: list[Row], traces: list[Row]) -> ragworthy.Result:
    return ragworthy.score("answers", gold=gold, traces=traces, short_substr="word")


def test_a_perfect_run_ships(gold: list[Row]) -> None:
    result = scored(gold, perfect(gold))
    assert result.verdict == "SHIP"
    for name in ("precision", "chr", "recall@5", "hit@5", "chr_ceiling@5", "containment", "compliance"):
        assert result.metrics[f"answers.{name}"].value == 1.0
    for name in ("under_refusal", "over_refusal"):
        assert result.metrics[f"answers.{name}"].value == 0.0


Defect = Callable[[Row], Row | None]


def _answer(trace: Row, **changes: Any) -> Row:
    return trace | {"answer_json": trace["answer_json"] | changes}


# For each defect: which questions it is planted into, and by how many planted cases (numerator, denominator) each
# metric moves. Metrics that are not named must not move at all.
DEFECTS: dict[str, tuple[bool, Defect, dict[str, tuple[int, int]]]] = {
    "wrong citation": (
        True,
        lambda trace: _answer(trace, citations=["elsewhere#0"]),
        {"precision": (-1, 0), "chr": (-1, 0)},
    ),
    "citation outside the retrieved": (
        True,
        lambda trace: _answer(trace, citations=[*trace["answer_json"]["citations"], "nowhere#9"]),
        {"precision": (-1, 0), "chr": (-1, 0)},
    ),
    "claim changed": (
        True,
        lambda trace: _answer(trace, claim="§§§"),
        {"precision": (-1, 0), "containment": (-1, 0)},
    ),
    "answerable refused": (
        True,
        lambda trace: _answer(trace, claim="not in context", citations=[]),
        {
            "precision": (-1, -1),
            "chr": (-1, -1),
            "chr_ceiling@5": (-1, -1),
            "scu": (-1, -1),
            "over_refusal": (1, 0),
            "containment": (-1, 0),
        },
    ),
    "unanswerable answered": (
        False,
        lambda trace: _answer(trace, claim="In 1492.", citations=["elsewhere#0"]),
        {"precision": (0, 1), "chr": (0, 1), "chr_ceiling@5": (0, 1), "scu": (1, 1), "under_refusal": (1, 0)},
    ),
    "trace dropped": (
        True,
        lambda trace: None,
        {
            "precision": (-1, -1),
            "chr": (-1, -1),
            "chr_ceiling@5": (-1, -1),
            "scu": (-1, -1),
            "compliance": (-1, -1),
            "recall@5": (-1, 0),
            "hit@5": (-1, 0),
            "containment": (-1, 0),
            "missing": (1, 0),
        },
    ),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_one_defect_moves_its_metrics_by_the_planted_count_and_no_other(name: str, gold: list[Row]) -> None:
    answerable, spoil, moves = DEFECTS[name]
    sound = perfect(gold)
    hit = [i for i, item in enumerate(gold) if item["answerable"] is answerable][::10]
    damaged: list[Row | None] = list(sound)
    for i in hit:
        damaged[i] = spoil(sound[i])
    before, after = scored(gold, sound), scored(gold, [trace for trace in damaged if trace is not None])
    for metric, old in before.metrics.items():
        new = after.metrics[metric]
        up, wider = moves.get(metric.removeprefix("answers."), (0, 0))
        assert (new.num or 0) - (old.num or 0) == up * len(hit), metric
        assert (new.den or 0) - (old.den or 0) == wider * len(hit), metric
    # 10 % wrong or uncited answers still hold the default gates; refusals above 5 % and dropped traces do not.
    expected = {"unanswerable answered": "NO-SHIP", "trace dropped": "INVALID", "answerable refused": "NO-SHIP"}
    assert after.verdict == expected.get(name, "SHIP")


def test_support_with_the_real_corpus(gold: list[Row]) -> None:
    result = ragworthy.score(
        "answers", gold=gold, traces=perfect(gold), short_substr="word", corpus=DATA / "corpus.jsonl"
    )
    support = result.metrics["answers.support"]
    assert (support.num, support.den) == (3266, 3266)
