"""Questions about one document are a cluster: which those are, and what they make of an interval."""

import gzip
import json
import math
import random
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from scipy import stats as scipy_stats

import cases as c
import ragworthy as rw
from conftest import run_cli, write_jsonl
from places import DATA
from ragworthy import flow
from ragworthy.load.baseline import load_report
from ragworthy.paired.clusters import alike, design_effect, spread, totals, wilson_clustered
from ragworthy.records import Gold, GoldSource
from ragworthy.rows import Rows
from ragworthy.stats import wilson
from ragworthy.suites.clusters import Topic, clusters_of, document_of, topic_of
from structured_case import both


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)


# which document


@pytest.mark.parametrize(
    ("cited", "sources", "docs", "wanted"),
    [
        (["c1"], None, {"c1": "a.md"}, "a.md"),
        (["a.md|r=8c1e9a02|s=1|p=000|b=001"], None, {"a.md|s=1|p=000|b=001": "guide"}, "guide"),
        (["c1"], ["b.md"], {"c1": "a.md"}, "a.md"),
        (["guide#4"], ["b.md"], None, "b.md"),
        ([], [GoldSource("b.md", section="2")], None, "b.md"),
        (["c9"], [], {"c1": "a.md"}, None),
        (["guide#4", "other#1"], None, None, "guide"),
        (["S.4.2.p.Bk011a"], None, None, None),
        ([], None, {"c1": "a.md"}, None),
    ],
)
def test_the_document_is_taken_from_what_knows_it_best(
    cited: list[str], sources: Any, docs: dict[str, str] | None, wanted: str | None
) -> None:
    assert document_of(cited, sources, docs) == wanted


def test_a_gold_item_names_its_cluster_outright() -> None:
    golds = [
        Gold(answerable=True, question="a", gold_citations=["x#1"], cluster="mine"),
        Gold(answerable=True, question="b", gold_citations=["x#2"], cluster=0),
        Gold(answerable=True, question="c", gold_citations=["x#3"], cluster=""),
        Gold(answerable=True, question="d", gold_citations=["y#3"]),
        Gold(answerable=False, question="e", cluster="mine"),
    ]
    found = clusters_of(list("12345"), map(topic_of, golds))
    assert found.documents == ("cluster=mine", "cluster=0", "doc=x", "doc=y", "cluster=mine")
    assert found.by("question") == tuple("12345")  # "question" means each of them, whatever the gold set names


@pytest.mark.parametrize(("given", "got"), [('["x"]', "a list"), ("1.5", "1.5"), ("true", "true")])
def test_a_cluster_of_another_type_is_refused_in_these_words(given: str, got: str) -> None:
    Path("gold.jsonl").write_text(f'{{"qid": "A", "answerable": false, "cluster": {given}}}\n')
    write_jsonl(Path("traces.jsonl"), [{"qid": "A", "answer_json": {"claim": "not in context"}}])
    done = run_cli("score", "answers", "--gold", "gold.jsonl", "--trace", "traces.jsonl")
    assert done.code == 2
    assert done.err.splitlines()[0] == (
        f"gold.jsonl:1: cluster: expected a string or a whole number, got {got} [RW-G03]"
    )


def test_where_all_is_about_one_document_each_question_stands_for_itself() -> None:
    topics = [Topic("a", None, "x"), Topic("b", None, "x"), Topic("c")]
    assert clusters_of(["1", "2", "3"], topics).documents == ("1", "2", "3")


def test_a_document_never_has_the_name_of_a_question() -> None:
    topics = [Topic("a", None, "2"), Topic("b"), Topic("c", None, "3")]
    assert len({*clusters_of(["1", "2", "3"], topics).documents}) == 3


def test_the_same_question_under_two_ids_is_one() -> None:
    topics = [Topic("How  big?"), Topic("how big?"), Topic("Why?")]
    assert clusters_of(["1", "2", "3"], topics).documents == ("1", "1", "3")


# through the command line


def written(docs: int, each: int, wrong: Sequence[int] = (), **more: Any) -> c.Case:
    """Questions on so many documents, so many on each; those of some documents are answered wrongly."""
    golds, traces = [], []
    for doc in range(docs):
        for nth in range(each):
            qid, chunk = f"d{doc}q{nth}", f"guide{doc}#{nth}"
            golds.append(
                {
                    "qid": qid,
                    "question": f"{qid}?",
                    "answerable": True,
                    "gold_claim_substr": [f"answer {qid}"],
                    "gold_citations": [chunk],
                }
                | more
            )
            claim = f"It is answer {qid}." if doc not in wrong else "Something else."
            traces.append({"qid": qid, "retrieved_ids": [chunk], "answer_json": {"claim": claim, "citations": [chunk]}})
    write_jsonl(Path("gold.jsonl"), golds)
    write_jsonl(Path("traces.jsonl"), traces)
    return c.Case("answers", "answers", {"gold": "gold.jsonl", "traces": "traces.jsonl"}, "answers.precision", "gold")


def precision(case: c.Case, *more: object) -> tuple[dict[str, Any], str]:
    done = run_cli(*c.command(case, "-o", "report.json", *more))
    report = json.loads(Path("report.json").read_text())
    return report["suites"]["answers"]["metrics"]["answers.precision"], done.out


def test_whole_documents_that_fail_make_the_interval_as_wide_as_theory_says() -> None:
    metric, out = precision(written(12, 5, wrong=(0, 1, 2)), "--full")
    # x̄ = 3/4, s_g = 5/4 for nine documents and −15/4 for three: Σs² = 225/4, deff = 12/11 · (225/4)/60² / (3/16/60)
    deff = 12 / 11 * (225 / 4) / 60**2 / (3 / 16 / 60)
    n, z, p = 60 / deff, scipy_stats.t.ppf(0.975, 11), 0.75
    centre, spread = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    assert metric["deff"] == pytest.approx(deff, abs=1e-12)
    assert deff == pytest.approx(60 / 11)
    assert metric["clusters"] == 12
    ends = [(centre - spread) / (1 + z * z / n), (centre + spread) / (1 + z * z / n)]
    assert [metric["low"], metric["high"]] == pytest.approx(ends, abs=1e-9)
    gate = next(line for line in out.splitlines() if line.startswith("  answers.precision"))
    assert gate.split() == [
        "answers.precision", "fail", "0.75", "45/60",
        f"{ends[0]:.3f}", "…", f"{ends[1]:.3f}", "(deff", "5.5)", "≥", "0.80", "-0.05",
    ]  # fmt: skip


def test_markdown_shows_the_design_effect_too() -> None:
    run_cli(*c.command(written(12, 5, wrong=(0, 1, 2)), "-o", "report.md"))
    rows = [line for line in Path("report.md").read_text().splitlines() if "precision" in line]
    assert all("(deff 5.5)" in line for line in rows if line.startswith("|"))
    assert len(rows) >= 2


@pytest.mark.parametrize(
    ("docs", "each", "more"),
    [(12, 1, {}), (1, 12, {})],
    ids=["one question each", "one document"],
)
def test_without_clusters_the_interval_is_the_plain_one_to_the_bit(docs: int, each: int, more: dict[str, Any]) -> None:
    metric, out = precision(written(docs, each, **more))
    plain = wilson(metric["num"], metric["den"])
    assert plain is not None
    assert (metric["low"], metric["high"]) == plain
    assert "deff" not in metric
    assert "deff" not in out


def test_one_cluster_that_the_gold_set_names_leaves_no_interval() -> None:
    case = written(3, 4, cluster="all")
    gate = '[[gate]]\nmetric = "answers.precision"\nmin = 0.5\n'
    (request,) = flow.requests_of(c.write_policy(case, gate + 'evidence = "interval"\n'), today=None)
    report = flow.score(request).report
    metric, judged = report["suites"]["answers"]["metrics"]["answers.precision"], report["gates"][0]
    assert (metric["value"], metric["low"], metric["high"]) == (1.0, None, None)
    assert judged["outcome"] == "undecided"
    assert judged["reason"] == "it has no interval: all questions are in one cluster"
    assert flow.score(request._replace(cluster="question")).report["gates"][0]["outcome"] == "pass"
    (request,) = flow.requests_of(c.write_policy(case, gate), today=None)
    judged = flow.score(request).report["gates"][0]
    assert (judged["outcome"], judged["note"]) == ("pass", "it has no interval: all questions are in one cluster")


def test_the_example_of_the_sources_keeps_its_interval() -> None:
    """Two right of two, about one document: 0.3424 to 1."""
    metric, _ = precision(written(1, 2))
    assert (round(metric["low"], 4), metric["high"]) == (0.3424, 1.0)


def test_a_request_may_ask_for_questions_in_the_place_of_documents() -> None:
    case = written(12, 5, wrong=(0, 1, 2))
    policy = c.write_policy(case, '[[gate]]\nmetric = "answers.precision"\nmin = 0.5\n')
    (request,) = flow.requests_of(policy, today=None)
    by_document, by_question = (
        flow.score(request._replace(cluster=what)).report["suites"]["answers"]["metrics"]["answers.precision"]
        for what in ("document", "question")
    )
    assert by_document["clusters"] == 12
    assert "clusters" not in by_question
    assert (by_question["low"], by_question["high"]) == wilson(45, 60)


def test_the_documents_of_a_corpus_are_known_where_ids_say_nothing() -> None:
    case = written(4, 3, wrong=(0,))
    for name in ("gold.jsonl", "traces.jsonl"):
        Path(name).write_text(Path(name).read_text().replace("#", "_"))
    chunks = [
        {"chunk_id": f"guide{doc}_{nth}", "doc_id": f"{doc}.md", "text": f"It is answer d{doc}q{nth}."}
        for doc in range(4)
        for nth in range(3)
    ]
    write_jsonl(Path("chunks.jsonl"), chunks)
    assert "deff" not in precision(case)[0]
    assert precision(case, "--corpus", "chunks.jsonl")[0]["clusters"] == 4


def test_a_slice_has_its_own_clusters() -> None:
    case = written(6, 4, wrong=(0, 1))
    golds = [json.loads(line) for line in Path("gold.jsonl").read_text().splitlines()]
    write_jsonl(Path("gold.jsonl"), [one | {"topic": "ab"[one["qid"] > "d3"]} for one in golds])
    run_cli(*c.command(case, "-o", "report.json", "--slice", "topic"))
    slices = json.loads(Path("report.json").read_text())["suites"]["answers"]["slices"]
    found = {name: one["answers.precision"] for name, one in slices.items()}
    assert {name: one["clusters"] for name, one in found.items()} == {"topic=a": 3, "topic=b": 3}
    assert found["topic=b"]["deff"] == 1.0
    assert found["topic=a"]["deff"] == design_effect(alike({"0": (0, 4), "1": (0, 4), "2": (4, 4)}))


def test_repeated_questions_are_worth_no_more_than_different_ones() -> None:
    """Six questions in stability, four times each, all steady: the interval is one of six cases at most.

    About one document it is that; about two documents it is less, with t of one degree for z.
    """
    metric = _steady(["z#1"] * 6)
    assert (metric["low"], metric["high"]) == wilson(6, 6)
    assert "deff" not in metric
    metric, z = _steady(["y#1"] * 3 + ["z#1"] * 3), scipy_stats.t.ppf(0.975, 1)
    assert (metric["n"], metric["distinct"], metric["clusters"], metric["deff"]) == (24, 6, 2, 4.0)
    assert metric["low"] == pytest.approx(6 / (6 + z * z), abs=1e-9)


def _steady(cited: Sequence[str]) -> dict[str, Any]:
    """What stability says of questions that are each there four times, under ids of their own."""
    golds = [
        one | {"qid": f"{one['qid']}-{copy}", "gold_citations": [chunk]}
        for copy in range(4)
        for one, chunk in zip(c.answers_gold(len(cited) + 1, 1), cited, strict=False)
    ]
    runs = [
        c.trace(one["qid"], seed=seed, answer_json={"claim": one["gold_claim_substr"][0], "citations": ["y#1"]})
        for one in golds
        for seed in (0, 1)
    ]
    write_jsonl(Path("gold.jsonl"), golds)
    write_jsonl(Path("runs.jsonl"), runs)
    case = c.Case("stability", "stability", {"gold": "gold.jsonl", "runs": "runs.jsonl"}, "stability.acr", "gold")
    run_cli(*c.command(case, "-o", "report.json"))
    metrics: dict[str, dict[str, Any]] = json.loads(Path("report.json").read_text())["suites"]["stability"]["metrics"]
    return metrics["stability.acr"]


def test_the_profile_reference_knows_no_clusters() -> None:
    asked, made = both(12)
    for nth, one in enumerate(asked):
        one["expected"]["source_map"] = [{"refs": [{"file": f"{nth % 3}.pdf"}]}]
    write_jsonl(Path("questions.jsonl"), asked)
    write_jsonl(Path("outputs.jsonl"), made)
    found = {}
    for profile in ("default", "reference"):
        run_cli("score", "structured", "--questions", "questions.jsonl", "--outputs", "outputs.jsonl",
                "--profile", profile, "-o", f"{profile}.json")  # fmt: skip
        body = json.loads(Path(f"{profile}.json").read_text())["suites"]["structured"]
        found[profile] = body["metrics"]["structured.schema_pass_rate"].get("clusters")
    assert found == {"default": 3, "reference": None}


def test_how_many_questions_are_about_nothing_is_no_chance() -> None:
    """Answers to unanswerable questions pull precision down: that there are so many of them somebody chose."""
    found = {f"d{nth}": (9 + nth % 2, 10) for nth in range(10)} | {f"u{nth}": (0, 1) for nth in range(20)}
    apart = {name for name in found if name.startswith("u")}
    # Documents differ by ±1/2 around 9.5 right of 10 and the others not at all: 10/9 · 10 · (1/2)² / 120²
    x = Fraction(95, 120)
    wanted = Fraction(10, 9) * 10 * Fraction(1, 4) / 120**2 / (x * (1 - x) / 120)
    assert wanted < 1
    assert spread(alike(found, apart)) == (Fraction(10, 9) * 10 * Fraction(1, 4) / 120**2, 9)
    assert design_effect(alike(found, apart)) == 1.0
    assert design_effect(alike(found)) > 2
    found["d0"] = (0, 10)
    assert design_effect(alike(found, apart)) < design_effect(alike(found))


# real data


def drawn(rng: random.Random, words: dict[str, list[int]], clusters: int, each: int) -> tuple[list[int], list[str]]:
    values, names = [], []
    for nth in range(clusters):
        some = words[rng.choice(sorted(words))]
        values += rng.choices(some, k=each)
        names += [str(nth)] * each
    return values, names


@pytest.mark.data("data/squad2/dev")
def test_intervals_cover_the_true_rate_where_sets_are_drawn_by_article() -> None:
    """Articles of SQuAD drawn at random, questions of each: the plain interval misses far more often than it says."""
    gold, traces = DATA / "squad2/dev/gold.jsonl.gz", DATA / "squad2/dev/trace_bert_single.jsonl.gz"
    result = rw.score("answers", gold=gold, traces=traces, allow_gold_errors=True)
    with gzip.open(DATA / "squad2/dev/meta.jsonl.gz", "rt") as lines:
        articles = {one["qid"]: one["article"] for one in map(json.loads, lines)}
    for metric, most in (("answers.under_refusal", 0.78), ("answers.precision", 0.90)):
        words: dict[str, list[int]] = {}
        for row in result.rows():
            if metric in row["metrics"]:
                words.setdefault(articles[row["qid"]], []).append(int(row["metrics"][metric]))
        truth = sum(Fraction(sum(some), len(some)) for some in words.values()) / len(words)
        for clusters, each in ((10, 20), (20, 25)):
            rng, sets = random.Random(f"{metric} {clusters} {each}"), 1000
            covered = plain = 0
            for _ in range(sets):
                values, names = drawn(rng, words, clusters, each)
                low, high = wilson_clustered(totals(values, names)) or (0.0, 0.0)
                covered += low <= truth <= high
                low, high = wilson(sum(values), len(values)) or (0.0, 0.0)
                plain += low <= truth <= high
            assert covered / sets >= 0.93, (metric, clusters, each, covered / sets)
            assert plain / sets <= most, (metric, clusters, each, plain / sets)


@pytest.mark.data("data/squad2/dev")
def test_every_answerable_question_of_squad_is_in_the_cluster_of_its_article() -> None:
    gold, traces = DATA / "squad2/dev/gold.jsonl.gz", DATA / "squad2/dev/trace_bert_single.jsonl.gz"
    done = run_cli("score", "answers", "--gold", gold, "--trace", traces, "-o", "report.json", "--allow-gold-errors")
    assert done.code in (0, 1)
    rows: Rows | None = load_report(Path("report.json"), "answers").rows
    assert rows is not None
    with gzip.open(DATA / "squad2/dev/meta.jsonl.gz", "rt") as lines:
        articles = {one["qid"]: one["article"] for one in map(json.loads, lines)}
    metric = json.loads(Path("report.json").read_text())["suites"]["answers"]["metrics"]["answers.precision"]
    assert metric["clusters"] == 18 + 594  # articles, and unanswerable questions that were answered
    assert metric["deff"] == pytest.approx(3.565, abs=1e-3)
    known = [(qid, one) for qid, one in zip(rows.qids, rows.clusters, strict=True) if one.startswith("doc=")]
    assert len(known) == 3266
    assert all(one == f"doc={articles[qid]}" for qid, one in known)
