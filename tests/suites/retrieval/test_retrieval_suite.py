"""The retrieval suite from files to reports: what is read, what is counted, what is said, and what always holds."""

import json
import math
import os
import random
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ragworthy as rw
from conftest import Done, run_cli, write_jsonl
from ragworthy.codes import CATALOGUE
from ragworthy.metrics.facts.convergence import Seen, mark, run_marks
from ragworthy.names import Verdict

Row = dict[str, Any]
SIGNED = ("retrieval.rank_tau",)
RUNS = [(paraphrase, seed) for seed in (1, 2) for paraphrase in (0, 1, 2)]


def block(section: object, number: int = 1) -> str:
    return f"S.{section}.p.Bk{number:03d}"


def gold(n: int = 1, **extra: Any) -> Row:
    return {
        "qid": f"Q{n}",
        "paraphrases": ["wording 0", "wording 1", "wording 2"],
        "relevant": [block(n)],
        "anchor_section": f"S.{n}",
        "relevant_offsets": {block(n): [1000, 1100]},
        **extra,
    }


def run(n: int = 1, paraphrase: int = 0, seed: int = 1, **extra: Any) -> Row:
    return {
        "qid": f"Q{n}",
        "paraphrase": paraphrase,
        "seed": seed,
        "query": f"wording {paraphrase}",
        "topk": [{"id": block(n)}, {"id": block(n + 50)}],
        "ΔS": [0.25, 0.5],
        "answer_citations": [{"id": block(n), "offsets": [1000, 1100]}],
        **extra,
    }


def runs(n: int = 1, /, **extra: Any) -> list[Row]:
    return [run(n, *key, **extra) for key in RUNS]


def score(questions: list[Row], traces: list[Row], **options: Any) -> rw.Result:
    return rw.score("retrieval", gold=questions, traces=traces, **options)


def body(result: rw.Result) -> Row:
    found: Row = result.report["suites"]["retrieval"]
    return found


def value(result: rw.Result, metric: str) -> float | None:
    return result.metrics[f"retrieval.{metric}"].value


def codes(result: rw.Result) -> list[str]:
    return [one["code"] for one in body(result)["warnings"]]


def said(code: str, message: str) -> str:
    return f"{message} [{code}]\n  {CATALOGUE[code].name}: {CATALOGUE[code].do}\n"


def cli(folder: Path, questions: list[Row], traces: list[Row], *flags: object) -> Done:
    write_jsonl(folder / "gold.jsonl", questions)
    write_jsonl(folder / "trace.jsonl", traces)
    return run_cli(
        "score", "retrieval", "--full", "--gold", folder / "gold.jsonl", "--trace", folder / "trace.jsonl", *flags
    )


def exact(number: float) -> Fraction:
    """The fraction behind a number of a row: runs, blocks and decimals make small denominators only."""
    return Fraction(number).limit_denominator(10**7)


# spellings


def damaged(text: str) -> list[str]:
    """UTF-8 read as Windows-1252 (with its holes filled as browsers do) and as Mac Roman."""
    western = "".join(
        bytes([byte]).decode("cp1252", "ignore") or bytes([byte]).decode("latin-1") for byte in text.encode()
    )
    return [western, text.encode().decode("mac_roman")]


DISTANCE_KEYS = ["ΔS", "delta_s", "deltaS", "ΔS_list", "dS", "∆S", *damaged("ΔS")]
STATE_KEYS = ["λ_state", "lambda_state", "λ", "λ_final", *damaged("λ_state")]
STATES = {
    "→": ["→", "->", "convergent", "Convergent", *damaged("→")],
    "←": ["←", "<-", "divergent", *damaged("←")],
    "<>": ["<>", "recursive"],
    "×": ["×", "x", "X", "chaotic", *damaged("×")],
}


def test_damaged_spellings_are_those_of_the_sources() -> None:
    assert damaged("ΔS") == ["Î”S", "ŒîS"]
    assert damaged("→")[0] == "â†’" and damaged("λ_state")[0] == "Î»_state"


@pytest.mark.parametrize("key", DISTANCE_KEYS)
def test_distances_under_every_key_give_the_same_numbers(key: str) -> None:
    wanted = score([gold()], runs())
    traces = [{key if name == "ΔS" else name: one for name, one in trace.items()} for trace in runs()]
    found = score([gold()], traces)
    assert value(found, "delta_s_median") == 0.25
    assert found.metrics == wanted.metrics
    assert body(found)["delta_s"] == body(wanted)["delta_s"]


@pytest.mark.parametrize("key", STATE_KEYS)
def test_states_under_every_key_are_read(key: str) -> None:
    assert "RW-W28" not in codes(score([gold()], runs(**{key: "→"})))
    wrong = score([gold()], runs(**{key: "×"}))
    assert "RW-W28" in codes(wrong)
    assert body(wrong)["lambda"]["marks"]["→"] == 1  # the computed one counts


@pytest.mark.parametrize(("state", "spelling"), [(state, one) for state, all_ in STATES.items() for one in all_])
def test_every_spelling_of_a_state_means_the_same(state: str, spelling: str) -> None:
    """Each question shows exactly this mark, in every run and as a whole."""
    cites: dict[str, Callable[[int], list[str]]] = {
        "→": lambda n: [block(1)],
        "←": lambda n: [],
        "×": lambda n: [block(70 + n)],
    }
    if state == "<>":  # no run of a split question is marked so as a whole; a declared → is what differs
        traces = [run(1, *key, answer_citations=[block(1 if n else 2)]) for n, key in enumerate(RUNS)]
    else:
        traces = [run(1, *key, answer_citations=cites[state](n)) for n, key in enumerate(RUNS)]
    found = score([gold()], [trace | {"λ_state": spelling} for trace in traces])
    assert body(found)["lambda"]["marks"][state] == 1
    same = score([gold()], [trace | {"λ_state": state} for trace in traces])
    assert codes(found) == codes(same)


# what traces may carry


def test_traces_without_answers_are_scored_by_rank_and_the_rest_is_named() -> None:
    traces = [{key: one for key, one in trace.items() if key != "answer_citations"} for trace in runs()]
    found = score([gold()], traces, gates="recall@5=1,hit@1=1,mrr=1")
    assert found.verdict is Verdict.SHIP
    assert [value(found, name) for name in ("recall@5", "precision@5", "mrr", "anchor_hit@1")] == [1, 0.5, 1, 1]
    reason = "the traces carry no answers (answer_citations)"
    needing = ["coverage", "citation_accuracy", "citation_exact", "citation_precision", "citation_recall",
               "anchor_distance", "delta_s_median", "delta_s_p90", "delta_s_mean", "delta_s_within",
               "triplet_rate", "convergence", "lambda_rate", "collapsed"]  # fmt: skip
    for name in needing:
        number = found.metrics[f"retrieval.{name}"]
        assert (number.value if name != "collapsed" else None, number.undefined) == (None, reason), name
    warning = next(one for one in body(found)["warnings"] if one["code"] == "RW-W26" and reason in one["message"])
    assert warning["message"] == f"not measured: {', '.join(needing)}: {reason}"
    assert body(found)["bad_qids"] == []


@pytest.mark.parametrize("metric", ["coverage", "delta_s_median", "triplet_rate", "collapsed"])
def test_a_gate_on_what_was_not_measured_makes_the_evidence_invalid(metric: str) -> None:
    traces = [{key: one for key, one in trace.items() if key != "answer_citations"} for trace in runs()]
    limit = {"coverage": "0.5", "triplet_rate": "0.5", "delta_s_median": "0.5", "collapsed": "0"}[metric]
    found = score([gold()], traces, gates=f"recall@5=1,{metric}={limit}")
    assert (found.verdict, found.exit_code) == (Verdict.INVALID, 4)
    reason = "the traces carry no answers (answer_citations)"
    assert found.report["invalid"] == [f"retrieval.{metric} was not measured: {reason}"]
    gate = next(one for one in found.gates if one["metric"] == f"retrieval.{metric}")
    assert (gate["outcome"], gate["value"], gate["reason"]) == ("not_measured", None, reason)


def test_traces_of_the_answers_suite_are_scored_too() -> None:
    questions = [{"qid": "Q1", "relevant": ["p1#2"]}, {"qid": "Q2", "relevant": ["p2#1"]}]
    traces = [
        {"qid": "Q1", "retrieved_ids": ["p1#1", "p1#2"], "answer_json": {"claim": "yes", "citations": ["p1#2"]}},
        {"qid": "Q2", "retrieved_ids": ["p1#1"], "answer_json": {"claim": "not in context", "citations": []}},
    ]
    found = score(questions, traces, gates="recall@5=0.5")
    assert value(found, "recall@5") == 0.5 and value(found, "mrr") == 0.25
    assert found.metrics["retrieval.coverage"][:3] == (0.5, 1, 2)
    assert body(found)["counts"]["answered"] == 1
    live = {"qid": "Q2", "topk": [{"id": "p2#1"}], "answer": {"claim": "x", "citations": [{"id": "p2#1"}]}}
    assert value(score(questions, [traces[0], live]), "coverage") == 1


def test_ids_under_q_id() -> None:
    question = {("q_id" if key == "qid" else key): one for key, one in gold().items()}
    traces = [{("q_id" if key == "qid" else key): one for key, one in trace.items()} for trace in runs()]
    assert value(score([question], traces), "recall@5") == 1


def test_a_revision_in_an_id_does_not_matter() -> None:
    question = {"qid": "Q1", "relevant": ["d|r=0123abcd|s=1|p=000|b=001"]}
    found = score([question], [{"qid": "Q1", "topk": [{"id": "d|r=ffffffff|s=1|p=000|b=001"}]}])
    assert value(found, "recall@1") == 1


def test_refusals_are_no_citations() -> None:
    refused: Row = {"answer": {"claim": " Not in Context ", "citations": [{"id": block(1)}]}}
    traces = [{key: one for key, one in trace.items() if key != "answer_citations"} | refused for trace in runs()]
    found = score([gold()], [*traces, *runs(2)])
    assert value(score([gold(), gold(2)], [*traces, *runs(2)]), "coverage") == 0.5
    assert body(found)["counts"]["answered"] == 0
    assert body(found)["lambda"]["marks"]["←"] == 1
    custom = [trace | {"answer": {"claim": "Keine Ahnung", "citations": [block(1)]}} for trace in traces]
    assert value(score([gold()], custom), "coverage") == 1
    assert value(score([gold()], custom, refusals=("keine ahnung",)), "coverage") == 0
    beside = [trace | {"answer": "not in context"} for trace in runs()]  # with answer_citations beside it
    assert value(score([gold()], beside), "coverage") == 0


def test_an_error_is_an_empty_answer_and_is_counted() -> None:
    errors = [{"qid": "Q1", "paraphrase": p, "seed": s, "error": "timeout"} for p, s in RUNS]
    found = score([gold(), gold(2)], [*errors, *runs(2)])
    assert (value(found, "recall@5"), value(found, "coverage")) == (0.5, 0.5)
    assert body(found)["counts"]["errored"] == 6 and "RW-W24" in codes(found)
    assert body(found)["metrics"]["retrieval.recall@5"]["ledger"]["errored"] == 1


def test_what_was_retrieved_before_an_error_counts_as_retrieved() -> None:
    """Q1 found its block first and then failed, Q2 found a hard negative first and failed, Q3 failed at once."""
    failed = {"error": "truncated: 512 tokens", "answer_json": None}
    questions = [gold(n, negatives=[block(n, 2)]) for n in (1, 2, 3)]
    found = {1: [block(1)], 2: [block(2, 2), block(2)], 3: []}
    traces = [{"qid": f"Q{n}", "retrieved_ids": ids, **failed} for n, ids in found.items()]
    done = score(questions, traces)
    assert [value(done, name) for name in ("recall@5", "recall@1")] == [pytest.approx(2 / 3), pytest.approx(1 / 3)]
    assert value(done, "negatives@5") == pytest.approx(2 / 3)  # Q2, and Q3, of which nothing is known
    assert value(done, "negative_first@5") == pytest.approx(2 / 3)
    assert body(done)["counts"]["errored"] == 3
    assert set(body(done)["labels"]) == {"ERROR"}


def test_the_last_trace_of_a_run_counts() -> None:
    bad = run(topk=[{"id": block(9)}], ΔS=[0.9], answer_citations=[])
    for traces, recall in (([bad, run()], 1), ([run(), bad], 0)):
        found = score([gold()], traces)
        assert value(found, "recall@5") == recall
        assert body(found)["counts"]["duplicate_traces"] == 1 and body(found)["counts"]["runs"] == 1
        assert "RW-W06" in codes(found)
    # another seed or wording is another run
    found = score([gold()], [bad, run(paraphrase=1), run(seed=2)])
    assert value(found, "recall@5") == pytest.approx(2 / 3) and body(found)["counts"]["duplicate_traces"] == 0


def test_a_trace_that_was_replaced_leaves_nothing_behind() -> None:
    found = score([gold()], [run(error="timeout", cited_by="rank"), run()])
    assert body(found)["counts"]["errored"] == 0
    assert not {"RW-W24", "RW-W27"} & set(codes(found))


def test_orphans_are_left_out_and_named() -> None:
    found = score([gold()], [*runs(), *(run(n) for n in (7, 8, 9, 10))])
    assert found.metrics == score([gold()], runs()).metrics
    assert body(found)["counts"]["orphan_traces"] == 4
    warning = next(one for one in body(found)["warnings"] if one["code"] == "RW-W07")
    assert warning["message"] == "4 traces belong to no gold question, e.g. Q10, Q7, Q8"


def test_a_question_without_a_trace_makes_the_evidence_invalid() -> None:
    found = score([gold(), gold(2), gold(3)], runs(), gates="recall@5=0.1")
    assert (found.verdict, found.exit_code) == (Verdict.INVALID, 4)
    assert found.report["invalid"] == ["2 questions have no trace"]
    assert value(found, "recall@5") == pytest.approx(1 / 3)  # they count as not found
    assert body(found)["metrics"]["retrieval.recall@5"]["ledger"] == {
        "expected": 3, "scored": 1, "refused": 0, "missing": 2, "errored": 0, "not_applicable": 0,
    }  # fmt: skip
    assert [row["label"] for row in found.rows()] == ["OK", "MISSING", "MISSING"]


def test_unanswerable_questions_are_in_no_denominator() -> None:
    lost = {"qid": "U1", "paraphrases": ["a", "b", "c"], "answerable": False}
    traces = [{"qid": "U1", "paraphrase": p, "seed": s, "topk": [], "answer_citations": []} for p, s in RUNS]
    found = score([gold(), lost], [*runs(), *traces])
    alone = score([gold()], runs())
    assert {name: one for name, one in found.metrics.items() if one != alone.metrics[name]} == {}
    counts = body(found)["counts"]
    assert (counts["gold"], counts["answerable"], counts["unanswerable"]) == (2, 1, 1)
    row = list(found.rows())[1]
    assert (row["label"], row["stage"]) == ("UNANSWERABLE", None)
    assert set(row["metrics"]) <= {"retrieval.missing"}
    assert row["undefined"]["retrieval.recall@5"] == "unanswerable"


def test_incomplete_runs_leave_convergence_unmeasured() -> None:
    found = score([gold(), gold(2)], [*runs(), *runs(2)[:5]])
    reason = "1 of 2 questions were not asked in three wordings under two seeds"
    for name in ("triplet_rate", "convergence", "collapsed"):
        assert found.metrics[f"retrieval.{name}"].undefined == reason
    assert body(found)["counts"]["incomplete"] == 1 and "RW-W30" in codes(found)
    assert found.verdict is Verdict.INVALID  # the gates of the canary are among the usual ones
    named = score([gold(), gold(2)], [*runs(), *runs(2)[:5]], gates="recall@5=0.1")
    assert named.verdict is Verdict.SHIP  # another gate was named, and nobody asked for convergence
    asked = score([gold(), gold(2)], [*runs(), *runs(2)[:5]], gates="triplet_rate=0.95,recall@5=0.1")
    assert asked.verdict is Verdict.INVALID


# sections and bytes


def test_one_wording_asked_three_times_is_one_wording() -> None:
    """λ is about wordings: the same query under three numbers shows nothing of it."""
    same = [one | {"query": text} for one, text in zip(runs(), ["How  big?", "How big?", " How big?"] * 2, strict=True)]
    found = score(
        [gold(paraphrases=["How big?", "What size?", "Size?"])], same, gates="triplet_rate=0.95", defaults=False
    )
    assert found.verdict is Verdict.INVALID
    assert found.metrics["retrieval.triplet_rate"].undefined == (
        "1 of 1 questions were not asked in three wordings under two seeds"
    )
    assert [one["message"] for one in body(found)["warnings"] if one["code"] == "RW-W182"] == [
        "1 question has the same wording under several numbers, which counts as one, e.g. Q1"
    ]
    # nor does one that the gold set itself has three times, with the query in the traces or without
    for texts, counts in (
        (["How big?", "How big? ", "How  big?"], False),
        (["How big?", "How big?", "What size?"], True),
    ):
        own = [one | {"query": text} for one, text in zip(runs(), texts * 2, strict=True)]
        for asked in (own, [{key: one[key] for key in one if key != "query"} for one in own]):
            found = score([gold(paraphrases=texts)], asked)
            assert (found.metrics["retrieval.triplet_rate"].undefined is None) is counts
            assert ("RW-W182" not in codes(found)) is counts
    # a fourth number that says the first again changes nothing of the three that differ
    more = [*runs(), *(run(1, 3, seed, query="wording 0", answer_citations=[]) for seed in (1, 2))]
    assert value(score([gold()], more), "triplet_rate") == 1


def test_a_wording_that_the_gold_set_does_not_have_is_named() -> None:
    bare = [{key: one[key] for key in one if key != "query"} for one in runs()]
    found = score([gold()], [one | {"paraphrase": 7} if one["paraphrase"] == 2 else one for one in bare])
    assert [one["message"] for one in body(found)["warnings"] if one["code"] == "RW-W183"] == [
        "1 question has runs of a wording (paraphrase) that the gold set does not have, e.g. Q1"
    ]
    assert "RW-W183" not in codes(score([gold()], bare))
    # one wording in the gold set, and three numbers without a text: nobody knows whether the question was worded again
    one_text = [{key: value for key, value in gold().items() if key != "paraphrases"} | {"question": "How big?"}]
    found = score(one_text, bare)
    assert "RW-W183" in codes(found)
    assert {"triplet_rate", "lambda_rate", "convergence", "collapsed"} <= {
        name.partition(".")[2] for name, one in found.metrics.items() if one.undefined is not None
    }
    assert value(score(one_text, runs()), "triplet_rate") == 1  # these say how they asked


@pytest.mark.parametrize(("begin", "accurate"), [(1000, 1), (1130, 1), (1131, 0), (9000, 0)])
def test_a_citation_without_bytes_points_at_those_of_its_result(begin: int, accurate: int) -> None:
    """The block is relevant at [1000, 1100); what was retrieved under its id may begin up to 30 bytes behind that."""
    results = [{"id": block(1), "score": 0.9, "offsets": [begin, begin + 100]}]
    asked = gold(relevant=[block(1)], relevant_offsets={block(1): [1000, 1100]})
    traces = runs(topk=results, answer_citations=[{"id": block(1)}])
    found = score([asked], [{key: value for key, value in one.items() if key != "ΔS"} for one in traces])
    assert value(found, "citation_accuracy") == accurate
    assert "RW-W181" not in codes(found)


def test_a_failing_canary_leads_back_to_chunk_boundaries_and_typed_blocks() -> None:
    """seed001: if any fail, return to chunk boundary checks and typed block lifting."""
    wrong = score([gold()], runs(answer_citations=[{"id": block(51), "offsets": [0, 9]}]))
    step = {one["pattern"]: one["do"] for one in wrong.report["next"]}["a check of the canary fails"]
    assert "section boundaries" in step and "typed blocks" in step
    named = score([gold()], runs(answer_citations=[]), gates="coverage=0.7", defaults=False)
    assert named.verdict is Verdict.NO_SHIP
    assert "a check of the canary fails" not in [one["pattern"] for one in named.report["next"]]


def test_a_mark_that_is_none_is_named() -> None:
    found = score([gold()], [run(1, *key, λ_state="??" if key == (0, 1) else "→") for key in RUNS])
    assert [one["message"] for one in body(found)["warnings"] if one["code"] == "RW-W184"] == [
        "1 run declares a λ that is none of the four marks, e.g. '??'"
    ]
    assert "RW-W184" not in codes(score([gold()], runs(λ_state="->")))


def qualified(doc: str, section: str, number: int = 1) -> str:
    return f"{doc}|s={section}|p=000|b={number:03d}"


def test_the_same_section_number_in_another_document_is_another_section() -> None:
    for anchor in ("a.md|s=1.2", "1.2"):  # written with the document, or taken from the relevant block
        question = {"qid": "Q1", "relevant": [qualified("a.md", "1.2")], "anchor_section": anchor}
        same, other = (
            score([question], [{"qid": "Q1", "topk": [{"id": name}], "answer_citations": [name]}])
            for name in (qualified("a.md", "1.2", 7), qualified("b.md", "1.2", 7))
        )
        assert (value(same, "anchor_hit@1"), value(same, "coverage"), value(same, "anchor_distance")) == (1, 1, 0)
        assert (value(other, "anchor_hit@1"), value(other, "coverage")) == (0, 0)
        assert value(other, "anchor_distance") is None and body(other)["counts"]["cross_doc"] == 1
        assert value(other, "citation_accuracy") == 0


def test_runs_that_cite_the_same_number_in_two_documents_do_not_agree() -> None:
    question = {"qid": "Q1", "relevant": [qualified("a.md", "1.2")], "anchor_section": "a.md|s=1.2"}
    names = [qualified("a.md" if n % 2 else "b.md", "1.2") for n in range(6)]
    traces = [run(1, *key, answer_citations=[name]) for key, name in zip(RUNS, names, strict=True)]
    assert body(score([question], traces))["lambda"]["marks"] == {"→": 0, "←": 0, "<>": 1, "×": 0}


def test_anchor_scope() -> None:
    question = {"qid": "Q1", "relevant": [qualified("a.md", "2.1")], "anchor_section": "2"}
    names = {"2": 1, "2.1": 1, "2.1.4": 1, "21": 0, "3.2": 0}
    for section, inside in names.items():
        cited = qualified("a.md", section, 9)
        traces = [{"qid": "Q1", "topk": [{"id": cited}], "answer_citations": [cited]}]
        narrow, wide = (score([question], traces, anchor_scope=scope) for scope in ("section", "subtree"))
        assert value(wide, "anchor_hit@1") == value(wide, "coverage") == inside, section
        assert value(narrow, "anchor_hit@1") == value(narrow, "coverage") == (section == "2"), section
    assert body(wide)["settings"]["anchor_scope"] == "subtree"


def test_opaque_ids_have_no_section_to_share() -> None:
    """Nobody knows where c_2 stands: bytes like those of c_1 do not make it the right text."""
    question = {"qid": "Q1", "relevant": ["c_1"], "relevant_offsets": {"c_1": [0, 100]}}
    traces = [{"qid": "Q1", "topk": [{"id": "c_1"}], "answer_citations": [{"id": "c_2", "offsets": [0, 100]}]}]
    assert value(score([question], traces), "citation_accuracy") != 1


def test_token_coverage() -> None:
    """Ten tokens in section 2 itself, thirty in its subsection."""
    tokens = {qualified("d", "2", 1): 4, qualified("d", "2", 2): 6, qualified("d", "2.1"): 30, qualified("e", "2"): 9}
    corpus = [
        {"chunk_id": name, "doc_id": name[0], "section_id": name.split("|")[1][2:], "text": "x", "tokens": count}
        for name, count in tokens.items()
    ]
    question = {"qid": "Q1", "relevant": [qualified("d", "2", 1)], "anchor_section": "2"}

    def covered(*names: str, scope: str = "section") -> float | None:
        traces = [{"qid": "Q1", "topk": [{"id": name} for name in names]}]
        return value(score([question], traces, corpus=corpus, anchor_scope=scope), "token_coverage")

    assert covered(qualified("d", "2", 1)) == 0.4
    assert covered(qualified("d", "2", 1), qualified("d", "2", 1)) == 0.4  # a repeated block covers nothing more
    assert covered(qualified("d", "2", 2), qualified("d", "2.1"), qualified("e", "2")) == 0.6
    assert covered(qualified("d", "2.1"), scope="subtree") == 0.75  # 30 of the 40 tokens of the subtree
    assert covered(qualified("d", "2", 1), qualified("d", "2", 2), scope="subtree") == 0.25


CORPUS: list[Row] = [
    {"chunk_id": block(n), "doc_id": "d", "section_id": str(n), "type": "prose", "offsets": [1000 * n, 1000 * n + 100],
     "text": f"text number {n} about {word}"}
    for n, word in ((1, "doors"), (2, "bread"), (3, "tides"))
]  # fmt: skip


def test_ids_that_the_corpus_does_not_have() -> None:
    found = score([gold()], runs(), corpus=CORPUS)
    warning = next(one for one in body(found)["warnings"] if one["code"] == "RW-W31")
    assert warning["message"] == f"the traces name blocks that the corpus does not have, e.g. {block(51)}"
    assert found.verdict is not Verdict.INVALID
    found = score([gold(), gold(8)], [*runs(), *runs(8)], corpus=CORPUS)
    assert found.verdict is Verdict.INVALID
    assert f"50 % of gold ids (1 of 2) are not in this index, e.g. {block(8)} [RW-G13]" in found.report["invalid"]


def test_types_that_differ_from_the_corpus_are_named() -> None:
    topk = [{"id": block(1), "type": "code"}, {"id": block(2), "type": "paragraph"}]
    found = score([gold()], runs(topk=topk), corpus=CORPUS)
    warning = next(one for one in body(found)["warnings"] if one["code"] == "RW-W29")
    assert warning["message"] == f"the traces and the corpus give different types, e.g. to {block(1)}"


@pytest.mark.parametrize(
    ("offsets", "message"),
    [
        ([50, 3101], "expected at most 3100, the length of the text, got 3101"),
        ([90, 50], "expected begin < end, got [90, 50]"),
        ([-1, 5], "expected begin < end, got [-1, 5]"),
        ([7, 7], "expected begin < end, got [7, 7]"),
    ],
)
@pytest.mark.parametrize("field", ["topk[1]", "answer_citations[0]"])
def test_offsets_outside_the_text(tmp_path: Path, offsets: list[int], message: str, field: str) -> None:
    name, place = field[:-3], int(field[-2])
    entries: list[Row] = [{"id": block(2)}, {"id": block(1)}][: place + 1]
    entries[place] = entries[place] | {"offsets": offsets}
    wrong = {key: one for key, one in run().items() if key != "ΔS"} | {name: entries}
    write_jsonl(tmp_path / "corpus.jsonl", CORPUS)
    done = cli(tmp_path, [gold()], [run(paraphrase=1), wrong], "--corpus", tmp_path / "corpus.jsonl")
    wanted = said("RW-T03", f"{tmp_path / 'trace.jsonl'}:2: {field}.offsets: {message}")
    assert (done.code, done.out, done.err) == (2, "", wanted)


def test_offsets_up_to_the_end_of_the_text_are_inside() -> None:
    traces = runs(answer_citations=[{"id": block(3), "offsets": [3000, 3100]}])
    question = gold(3) | {"qid": "Q1", "relevant_offsets": None}
    assert value(score([question], traces, corpus=CORPUS), "citation_accuracy") == 1


@pytest.mark.parametrize(("key", "numbers"), [("ΔS", [0.1]), ("delta_s", [0.1, 0.2, 0.3]), ("dS", [])])
def test_distances_of_another_length_than_the_results(tmp_path: Path, key: str, numbers: list[float]) -> None:
    wrong = {name: one for name, one in run().items() if name != "ΔS"} | {key: numbers}
    done = cli(tmp_path, [gold()], [run(paraphrase=1), wrong])
    message = f"{tmp_path / 'trace.jsonl'}:2: ΔS: expected 2 numbers, one for each result, got {len(numbers)}"
    assert (done.code, done.out, done.err) == (2, "", said("RW-T04", message))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"paraphrase": "0"}, "paraphrase: expected a whole number, got a string"),
        ({"topk": [{"score": 1}]}, "topk[0].id: expected a value, got nothing"),
        ({"topk": [{"id": "a", "score": "x"}]}, "topk[0].score: expected a number, got a string"),
        (
            {"answer_citations": [{"id": "a"}, 3]},
            "answer_citations[1]: expected a string or an object, got a whole number",
        ),
        ({"answer": 3}, "answer: expected a string or an object, got a whole number"),
        ({"retrieved_ids": "a"}, "retrieved_ids: expected a list, got a string"),
        ({"index_hash": 3}, "index_hash: expected a string, got a whole number"),
    ],
)
def test_traces_of_the_wrong_shape(tmp_path: Path, change: Row, message: str) -> None:
    done = cli(tmp_path, [gold()], [run(), run(seed=2) | change])
    assert (done.code, done.out, done.err) == (2, "", said("RW-T02", f"{tmp_path / 'trace.jsonl'}:2: {message}"))


def test_a_distance_that_was_not_recorded_does_not_vanish() -> None:
    """Half of the answers carry no distance: the numbers over the other half must not stand for all."""
    why = "1 of 2 answered questions has a citation without a distance (ΔS)"
    once = runs(2)
    del once[0]["ΔS"]  # one run of six is enough
    for lacking in (runs(2, ΔS=[None, None]), runs(2, ΔS=None), once):
        found = score([gold(), gold(2)], [*runs(), *lacking], gates="delta_s_within=1", defaults=False)
        assert found.verdict is Verdict.INVALID
        for name in ("median", "p90", "mean", "within"):
            value = found.metrics[f"retrieval.delta_s_{name}"]
            assert (value.value, value.undefined) == (None, why)
    # what is not answered has no distance, and nothing lacks
    silent = score([gold(), gold(2)], [*runs(), *runs(2, answer_citations=[], ΔS=None)])
    assert silent.metrics["retrieval.delta_s_median"].n == 1


@pytest.mark.parametrize(("number", "shown"), [(-1, "-1"), (-0.001, "-0.001"), (2.5, "2.5")])
def test_a_number_that_is_no_distance_is_refused(tmp_path: Path, number: float, shown: str) -> None:
    done = cli(tmp_path, [gold()], [run(), run(seed=2, ΔS=[0.2, number])])
    message = f"{tmp_path / 'trace.jsonl'}:2: ΔS[1]: expected a distance, 1 − cos, from 0 to 2, got {shown}"
    assert (done.code, done.out, done.err) == (2, "", said("RW-T21", message))


def test_a_distance_beyond_one_is_kept_raw_and_judged_as_one() -> None:
    found = score([gold()], runs(ΔS=[1.5, -0.0000001]))
    assert value(found, "delta_s_median") == 1
    assert body(found)["delta_s"]["raw"] == {"median": 1.5, "p90": 1.5}


def test_distances_of_which_some_name_no_model_are_of_several_models() -> None:
    named = runs(2, delta_s_model={"name": "wordllama", "weights": "x"})
    found = score([gold(), gold(2)], [*runs(), *named])
    assert found.metrics["retrieval.delta_s_median"].undefined == "the recorded distances come from several models"


GOLD_ERRORS: dict[str, tuple[Row, str, str]] = {
    "no qid": (gold() | {"qid": ""}, "RW-G01", "qid: expected a non-empty string, got nothing"),
    "twice": (gold(), "RW-G02", 'qid: expected a unique id, got "Q1" again'),
    "type": (gold(2, relevant="x"), "RW-G03", "relevant: expected a list, got a string"),
    "nothing relevant": (gold(2, relevant=[]), "RW-G10", "relevant: expected at least one id, got none"),
    "negative": (gold(2, negatives=[block(2)]), "RW-G11", f'negatives: expected no relevant id, got "{block(2)}"'),
    "offsets": (
        gold(2, relevant_offsets={block(2): [5, 5]}),
        "RW-G14",
        f"relevant_offsets.{block(2)}: expected begin < end, got [5, 5]",
    ),
}


@pytest.mark.parametrize("name", GOLD_ERRORS)
def test_gold_sets_that_cannot_be_scored(tmp_path: Path, name: str) -> None:
    question, code, message = GOLD_ERRORS[name]
    done = cli(tmp_path, [gold(), question], runs(), "-o", tmp_path / "r.json")
    wanted = said(code, f"{tmp_path / 'gold.jsonl'}:2: {message}")
    assert (done.code, done.out, done.err) == (2, "", wanted)
    assert not (tmp_path / "r.json").exists()


def test_several_problems_come_together_and_in_both_files(tmp_path: Path) -> None:
    done = cli(tmp_path, [gold(), gold()], [run(ΔS=[1.0])] * 30)
    lines = done.err.splitlines()
    assert done.code == 2
    assert lines[0].startswith(f"{tmp_path / 'gold.jsonl'}:2: ")
    assert sum("[RW-T04]" in line for line in lines) == 19 and lines[-1] == "… and 11 more"


@pytest.mark.parametrize(
    ("flags", "code", "message"),
    [
        ([], "RW-U01", "expected --gold and --trace, or --qrels and --run"),
        (["--gold", "g"], "RW-U01", "expected --gold and --trace, or --qrels and --run"),
        (["--gold", "g", "--run", "r"], "RW-U01", "expected --gold and --trace, or --qrels and --run, got a mixture"),
        (["--qrels", "q"], "RW-U01", "expected --gold and --trace, or --qrels and --run, got a mixture"),
        (["--qrels", "q", "--run", "r", "--live", "l"], "RW-U01",
         "expected --gold and --trace, or --qrels and --run, got a mixture"),
        (["--gold", "g", "--trace", "t", "--k", "x"], "RW-P03",
         '--k: expected whole numbers from 1 up (at most 8, all different), got ["x"]'),
        (["--gold", "g", "--trace", "t", "--gates", "recal@5=1"], "RW-P04", None),
        (["--gold", "g", "--trace", "t", "--gates", "answers.precision=1"], "RW-P04", None),
        (["--gold", "g", "--trace", "t", "--gates", "recall@5=0"], "RW-P05", None),
        (["--gold", "g", "--trace", "t"], "RW-F01", "g: expected a file, got nothing at this path"),
    ],
)  # fmt: skip
def test_wrong_usage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: list[str], code: str, message: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run_cli("score", "retrieval", *flags, "-o", "r.json")
    assert (done.code, done.out) == (2, "") and f"[{code}]" in done.err
    if message is not None:
        assert done.err == said(code, message)
    assert list(tmp_path.iterdir()) == []


# slices


def test_slices_by_a_gold_field() -> None:
    questions = [gold(n, topic="odd" if n % 2 else "even") for n in (1, 2, 3)]
    traces = [*runs(1), *runs(2, topk=[{"id": block(9)}], ΔS=[0.9], answer_citations=[block(9)]), *runs(3)]
    slices = body(score(questions, traces, slices=("topic",)))["slices"]
    odd, even = slices["topic=odd"], slices["topic=even"]
    assert (odd["retrieval.coverage"]["num"], odd["retrieval.coverage"]["den"]) == (2, 2)
    assert (even["retrieval.coverage"]["num"], even["retrieval.coverage"]["den"]) == (0, 1)
    assert odd["retrieval.recall@5"]["value"] == 1 and even["retrieval.recall@5"]["value"] == 0


def test_types_are_always_there_and_a_gold_field_of_that_name_counts_nothing_twice() -> None:
    found = body(score([gold(type="prose")], runs()))["slices"]
    assert list(found) == ["type=code", "type=figure", "type=prose", "type=table"]
    sliced = body(score([gold(type="prose")], runs(), slices=("type",)))["slices"]
    one, other = (slices["type=prose"]["retrieval.coverage"] for slices in (found, sliced))
    assert (other["num"], other["den"]) == (one["num"], one["den"]) == (1, 1)


def test_a_gate_on_a_type(tmp_path: Path) -> None:
    gates = tmp_path / "gates.toml"
    gates.write_text('[[gate]]\nmetric = "retrieval.recall@5"\nmin = 0.9\nslice = "type=prose"\n')
    done = cli(tmp_path, [gold(type="table")], runs(), "--gates", gates, "--format", "json")
    gate = json.loads(done.out)["gates"][0]
    assert (done.code, gate["slice"], gate["outcome"]) == (0, "type=prose", "pass")
    assert (gate["num"], gate["den"]) == (6, 6)  # one block in six runs


# must_pass, waivers, baselines


def judged(tmp_path: Path, questions: list[Row], traces: list[Row], rules: str) -> tuple[Done, Row]:
    write_jsonl(tmp_path / "gold.jsonl", questions)
    write_jsonl(tmp_path / "trace.jsonl", traces)
    policy = tmp_path / "ragworthy.toml"
    policy.write_text(f'version = 1\n[retrieval]\ngold = "gold.jsonl"\ntraces = "trace.jsonl"\n{rules}')
    if "[[gate]]" in rules:  # these tests are about the gates that they name
        policy.write_text(policy.read_text().replace("[retrieval]", "[retrieval]\ndefaults = false"))
    done = run_cli("gate", "-c", policy, "--format", "json")
    return done, json.loads(done.out) if done.out else {}


HALF: list[Row] = [*runs()[:5], run(1, 2, 2, topk=[{"id": block(9)}], ΔS=[0.9], answer_citations=[])]
"""Five of six runs find the block."""


@pytest.mark.parametrize(
    ("metric", "traces", "outcome"),
    [
        ("recall@5", runs(), "pass"),
        ("recall@5", HALF, "fail"),
        ("coverage", runs(), "pass"),
        ("coverage", HALF, "fail"),
        ("triplet_rate", runs(), "pass"),
        ("triplet_rate", HALF, "fail"),
        ("convergence", runs(), "pass"),
        ("negatives@5", runs(), "pass"),
        ("negatives@5", [*runs()[:5], run(1, 2, 2, topk=[{"id": block(3)}, {"id": block(1)}])], "fail"),
        ("collapsed", runs(), "pass"),
    ],
)
def test_must_pass(tmp_path: Path, metric: str, traces: list[Row], outcome: str) -> None:
    rules = f'[[gate]]\nmetric = "retrieval.{metric}"\nmust_pass = ["Q1"]\n'
    done, report = judged(tmp_path, [gold(negatives=[block(3)])], traces, rules)
    gate = report["gates"][0]
    assert (gate["op"], gate["outcome"]) == ("each", outcome)
    assert done.code == (0 if outcome == "pass" else 1)
    assert gate["failing"] == ([] if outcome == "pass" else ["Q1"])


def test_must_pass_names_a_question_that_is_there(tmp_path: Path) -> None:
    done, _ = judged(tmp_path, [gold()], runs(), '[[gate]]\nmetric = "retrieval.recall@5"\nmust_pass = ["Q9"]\n')
    where = f"{tmp_path / 'ragworthy.toml'}: retrieval.recall@5: must_pass"
    message = f'{where}: expected a qid of the gold set, got "Q9"'
    assert (done.code, done.err) == (2, said("RW-P09", message))


def test_a_waiver(tmp_path: Path) -> None:
    rules = '[[gate]]\nmetric = "retrieval.recall@5"\nmin = 0.95\n'
    assert judged(tmp_path, [gold()], HALF, rules)[0].code == 1
    rules += '[[waiver]]\ngate = "retrieval.recall@5"\nreason = "new corpus"\nowner = "Ada"\nexpires = 2999-12-31\n'
    done, report = judged(tmp_path, [gold()], HALF, rules)
    assert (done.code, report["verdict"]) == (0, "SHIP")
    assert report["gates"][0]["outcome"] == "fail" and report["gates"][0]["waiver"]["owner"] == "Ada"


def test_a_baseline(tmp_path: Path) -> None:
    base = tmp_path / "base.json"
    gates = tmp_path / "gates.toml"
    gates.write_text('[[gate]]\nmetric = "retrieval.recall@5"\nmax_drop = 0.10\n')
    assert cli(tmp_path, [gold()], runs(), "--gates", "recall@5=0.9", "-o", base).code == 0
    for traces, code in ((runs(), 0), (HALF, 1)):
        done = cli(tmp_path, [gold()], traces, "--gates", gates, "--baseline", base, "--format", "json")
        gate = json.loads(done.out)["gates"][0]
        assert (done.code, gate["baseline"]) == (code, 1.0)
    assert gate["value"] == pytest.approx(5 / 6) and gate["margin"] == pytest.approx(0.10 - 1 / 6)
    moved = cli(tmp_path, [gold(topic="x")], runs(), "--gates", gates, "--baseline", base)
    assert moved.code == 4 and "the baseline is not comparable: it was scored on another gold set" in moved.out
    other = cli(tmp_path, [gold()], runs(), "--gates", gates, "--baseline", base, "--anchor-scope", "subtree")
    assert other.code == 4
    assert "the baseline is not comparable: it was scored with another setting of anchor_scope" in other.out


def test_a_frozen_gold_set_that_changed_is_invalid(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "gold.jsonl", [gold()])
    assert run_cli("gold", "freeze", tmp_path / "gold.jsonl", "--signer", "Ada", "--reason", "x").code == 0
    assert cli(tmp_path, [gold()], runs()).code == 0
    done = cli(tmp_path, [gold(topic="x")], runs())
    assert done.code == 4 and "the gold set is not the frozen one" in done.out
    assert cli(tmp_path, [gold(topic="x")], runs(), "--unfrozen").code == 0


# labels, rows, ledgers


def mixed() -> tuple[list[Row], list[Row]]:
    """One question for each fate."""
    far = [{"id": block(90 + n)} for n in range(5)]
    made: dict[int, Row] = {
        1: {},
        2: {"answer_citations": []},
        3: {"answer_citations": [block(77)], "topk": [{"id": block(77)}, {"id": block(3)}]},
        4: {"answer_citations": [{"id": block(4), "offsets": [2000, 2100]}]},
        5: {"topk": [*far, {"id": block(5)}], "ΔS": [0.25] * 6},
        6: {"ΔS": [0.6, 0.9]},
        7: {"error": "timeout", "topk": [], "ΔS": [], "answer_citations": []},
    }
    questions = [gold(n, topic=f"t{n % 2}", negatives=[block(n, 2)]) for n in (*made, 8)]
    questions.append({"qid": "U1", "paraphrases": ["a", "b", "c"], "answerable": False})
    traces = [one for n, change in made.items() for one in runs(n, **change)]
    traces += [{"qid": "U1", "paraphrase": p, "seed": s, "topk": [], "answer_citations": []} for p, s in RUNS]
    return questions, traces


FATES = {
    "Q1": ("OK", None),
    "Q2": ("NOT_CITED", "citation"),
    "Q3": ("NOT_COVERED", "citation"),
    "Q4": ("OFF_TARGET", "citation"),
    "Q5": ("NOT_RETRIEVED", "ranking"),
    "Q6": ("FAR_OFF", "index"),
    "Q7": ("ERROR", "pipeline"),
    "Q8": ("MISSING", "pipeline"),
    "U1": ("UNANSWERABLE", None),
}


def test_every_question_has_a_label_and_a_stage_to_blame() -> None:
    found = score(*mixed())
    rows = list(found.rows())
    assert {row["qid"]: (row["label"], row["stage"]) for row in rows} == FATES
    assert body(found)["labels"]["NOT_CITED"] == 1 and sum(body(found)["labels"].values()) == 9
    assert body(found)["stages"] == {"pipeline": 2, "index": 1, "ranking": 1, "citation": 3}
    worst = [(one["qid"], one["label"]) for one in body(found)["offenders"]]
    assert worst[:2] == [("Q7", "ERROR"), ("Q8", "MISSING")] and worst[-1] == ("Q6", "FAR_OFF") and len(worst) == 7
    # nothing justifies these: no run is covered, or the citation is as far as unrelated text
    assert body(found)["bad_qids"] == ["Q2", "Q3", "Q6", "Q7", "Q8"]


def test_every_ledger_adds_up() -> None:
    for result in (score(*mixed()), score([gold(), gold(2)], runs()), score([gold()], [])):
        metrics = body(result)["metrics"]
        assert len(metrics) > 30
        for name, metric in metrics.items():
            ledger = metric["ledger"]
            parts = [ledger[key] for key in ("scored", "refused", "missing", "errored", "not_applicable")]
            assert ledger["expected"] == sum(parts) == body(result)["counts"]["gold"], name
    ledger = body(score(*mixed()))["metrics"]["retrieval.recall@5"]["ledger"]
    assert (ledger["missing"], ledger["not_applicable"]) == (1, 1)  # Q8 has no trace, U1 no answer


def rows_of(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_rows_are_one_a_question_and_name_every_metric_once(tmp_path: Path) -> None:
    questions, traces = mixed()
    done = cli(tmp_path, questions, traces, "--rows", tmp_path / "rows.jsonl", "-o", tmp_path / "r.json")
    rows = rows_of(tmp_path / "rows.jsonl")
    metrics = json.loads((tmp_path / "r.json").read_text())["suites"]["retrieval"]["metrics"]
    assert done.code == 4
    assert [row["qid"] for row in rows] == [one["qid"] for one in questions]
    for row in rows:
        assert row["metrics"].keys().isdisjoint(row["undefined"])
        assert row["metrics"].keys() | row["undefined"].keys() == metrics.keys()
        assert all(reason for reason in row["undefined"].values())
    assert rows[7]["undefined"]["retrieval.citation_accuracy"] == "no trace"
    assert rows[1]["undefined"]["retrieval.citation_accuracy"] == "not among the answered questions"


def test_parquet_rows_say_what_json_rows_say(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    cli(tmp_path, *mixed(), "--rows", tmp_path / "rows.jsonl", "-o", tmp_path / "rows.parquet")
    rows = rows_of(tmp_path / "rows.jsonl")
    table = parquet.read_table(tmp_path / "rows.parquet").to_pylist()
    assert [row["qid"] for row in table] == [row["qid"] for row in rows]
    for one, other in zip(table, rows, strict=True):
        assert dict(one["metrics"]) == other["metrics"] and dict(one["undefined"]) == other["undefined"]
        assert (one["label"], one["stage"]) == (other["label"], other["stage"])


def test_parquet_rows_keep_the_facts_of_this_suite(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    cli(tmp_path, *mixed(), "--rows", tmp_path / "rows.jsonl", "-o", tmp_path / "rows.parquet")
    for one, other in zip(
        parquet.read_table(tmp_path / "rows.parquet").to_pylist(), rows_of(tmp_path / "rows.jsonl"), strict=True
    ):
        given = {key: fact for key, fact in one["facts"].items() if fact is not None}
        assert given == other["facts"]
        assert (one.get("runs"), one.get("lambda")) == (other["runs"], other["lambda"])


def rederived(name: str, metric: Row, numbers: list[float]) -> None:
    """The summary of a metric from its rows alone."""
    local = name.removeprefix("retrieval.").partition("@")[0]
    if metric["undefined"] is not None:
        assert numbers == [], name
    elif local in ("collapsed", "missing"):
        assert metric["num"] == sum(numbers), name
    elif local == "triplet_rate":  # every question has as many triplets
        assert Fraction(metric["num"], metric["den"]) == sum(map(exact, numbers)) / len(numbers), name
    elif local in ("delta_s_median", "delta_s_p90", "delta_s_topk_median", "delta_s_topk_p90"):
        place = Fraction(90 if local == "delta_s_p90" else 50, 100) * (len(numbers) - 1)
        low, ordered = math.floor(place), sorted(map(exact, numbers))
        wanted = ordered[low] + (place - low) * (ordered[min(low + 1, len(numbers) - 1)] - ordered[low])
        assert Fraction(metric["exact"]) == wanted and metric["n"] == len(numbers), name
    elif local == "ndcg":
        assert metric["value"] == pytest.approx(math.fsum(numbers) / len(numbers), abs=1e-15), name
    else:
        wanted = sum(map(exact, numbers), Fraction(0)) / len(numbers)
        found = Fraction(metric["exact"]) if "exact" in metric else Fraction(metric["num"], metric["den"])
        assert found == wanted and metric["n"] == len(numbers), name
        assert metric["value"] == float(wanted), name


def test_the_summary_re_derives_from_the_rows() -> None:
    for traces in (mixed(), ([gold(), gold(2)], [*HALF, *runs(2)])):
        result = score(*traces)
        rows = list(result.rows())
        for name, metric in body(result)["metrics"].items():
            rederived(name, metric, [row["metrics"][name] for row in rows if name in row["metrics"]])


# determinism


def varied() -> tuple[list[Row], list[Row]]:
    """Questions whose runs differ, with orphans."""
    draw = random.Random(7)
    names = [block(n) for n in range(1, 15)]
    questions = [gold(n, topic=f"t{n % 3}", negatives=[block(n + 1)]) for n in range(1, 12)]
    traces = []
    for n in range(1, 14):
        for key in RUNS:
            picked = draw.sample(names, 6)
            traces.append(
                run(n, *key, topk=[{"id": one} for one in picked], ΔS=[round(draw.random(), 6) for _ in picked],
                    answer_citations=picked[:2])
            )  # fmt: skip
    return questions, traces


def told(report: Row) -> Row:
    """A report without what must differ when only the order of the traces differs: the hash of the file."""
    suite = report["suites"]["retrieval"]
    inputs = [one | {"sha256": None} for one in suite["inputs"]]
    warnings = [one | {"where": None} for one in suite["warnings"]]
    return report | {"suites": {"retrieval": suite | {"inputs": inputs, "warnings": warnings}}}


def test_a_shuffled_trace_file_gives_the_same_report(tmp_path: Path) -> None:
    questions, traces = varied()
    reports, rows = [], []
    for seed in range(4):
        shuffled = random.Random(seed).sample(traces, len(traces)) if seed else traces
        done = cli(tmp_path, questions, shuffled, "-o", tmp_path / "r.json", "--rows", tmp_path / "rows.jsonl")
        assert done.code in (0, 1, 4)
        reports.append(told(json.loads((tmp_path / "r.json").read_text())))
        rows.append((tmp_path / "rows.jsonl").read_bytes())
    assert reports[0]["suites"]["retrieval"]["counts"]["orphan_traces"] == 12
    assert all(report == reports[0] for report in reports) and len(set(rows)) == 1


def test_a_shuffled_trace_file_shows_the_same_unknown_ids_and_types() -> None:
    questions, traces = varied()
    for trace in traces:
        trace["topk"] = [one | {"type": "code"} for one in trace["topk"]]
    reports = [
        told(score(questions, shuffled, corpus=CORPUS).report)
        for shuffled in (traces, traces[::-1], traces[40:] + traces[:40])
    ]
    assert reports[0] == reports[1] == reports[2]


def test_the_same_bytes_in_other_processes(tmp_path: Path) -> None:
    questions, traces = varied()
    write_jsonl(tmp_path / "corpus.jsonl", CORPUS)
    write_jsonl(tmp_path / "gold.jsonl", questions)
    write_jsonl(tmp_path / "trace.jsonl", traces)
    flags = ["--gold", "gold.jsonl", "--trace", "trace.jsonl", "--slice", "topic", "--corpus", "corpus.jsonl"]
    made = set()
    for seed, locale, jobs in (("0", "C", "1"), ("1", "C.UTF-8", "2"), ("4242", "POSIX", "1")):
        env = os.environ | {"PYTHONHASHSEED": seed, "LC_ALL": locale, "TZ": "Asia/Kolkata"}
        outputs = ["-o", "r.json", "-o", "r.md", "-o", "r.xml", "-o", "r.txt", "--rows", "rows.jsonl"]
        outputs += ["--receipt", "receipt.json", "--jobs", jobs]
        done = subprocess.run(
            [sys.executable, "-m", "ragworthy", "score", "retrieval", *flags, *outputs],
            env=env, cwd=tmp_path, capture_output=True, check=False,
        )  # fmt: skip
        assert done.returncode == 4 and done.stderr == b""  # gold ids that the corpus does not have
        names = ("r.json", "r.md", "r.xml", "r.txt", "rows.jsonl", "receipt.json")
        made.add((done.stdout, *((tmp_path / name).read_bytes() for name in names)))
    assert len(made) == 1


# what people read


def test_the_text_says_what_a_person_needs(tmp_path: Path) -> None:
    done = cli(tmp_path, *mixed(), "--gates", "coverage=0.70,recall@5=0.9,triplet_rate=0.95")
    lines = done.out.splitlines()
    assert lines[0] == "INVALID: there is not enough valid evidence for a verdict"
    assert lines[-1].startswith("verdict: INVALID (exit 4): 1 question has no trace, ") and done.code == 4
    for wanted in (
        "not valid: 1 question has no trace",
        "retrieval: 9 questions (8 answerable, 1 not) in 48 runs",
        "retrieval.recall@k",
        "k = 10",
        "stages to blame: pipeline 2",
        "λ: → ",
        "ΔS recorded: ",
        "Worst offenders",
        "Q8  MISSING  (pipeline, missing: no trace was written for this question)",
        "What to do next",
        "questions without a trace: run every paraphrase and seed over the whole gold set again",
        "[RW-W26]",
    ):
        assert wanted in done.out, wanted


def test_the_markdown_says_what_a_reviewer_needs(tmp_path: Path) -> None:
    done = cli(tmp_path, [gold()], HALF, "--gates", "recall@5=0.95,triplet_rate=0.95", "--format", "markdown")
    text = done.out.replace("`", "")
    assert done.code == 1 and text.startswith("## ❌ Ragworthy: NO-SHIP: 2 of 8 gates fail\n")
    for wanted in (
        "| retrieval.recall@5 | ❌ fail | 0.8333 |",
        "| retrieval.triplet_rate | ❌ fail | 0.5 | 1/2 |",
        "### Worst offenders",
        "1 of 6 runs",
        "verdict **NO-SHIP** (exit 1)",
    ):
        assert wanted in text, wanted


def test_the_junit_file_has_a_case_a_gate(tmp_path: Path) -> None:
    done = cli(
        tmp_path,
        [gold()],
        HALF,
        "--gates",
        "recall@5=0.95,coverage=0.5,token_coverage=0.5",
        "--no-default-gates",
        "--format",
        "junit",
    )
    root = ElementTree.fromstring(done.out)
    cases = {one.get("name"): [child.tag for child in one] for one in root.iter("testcase")}
    assert cases == {
        "retrieval.recall@5 ≥ 0.95": ["failure"],
        "retrieval.coverage ≥ 0.5": [],
        "retrieval.token_coverage ≥ 0.5": ["error"],
        "retrieval.missing ≤ 0": [],
    }
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("4", "1", "1")
    failure = next(root.iter("failure"))
    assert "0.8333, expected ≥ 0.95" in str(failure.get("message")) and "Q1 NOT_CITED" in str(failure.text)


def test_untrusted_text_stays_text(tmp_path: Path) -> None:
    evil = "Q|<img src=x>`\x1b[31m"
    question = gold() | {"qid": evil, "topic": "a|b<br>"}
    traces = [one | {"qid": evil, "query": "line\nbreak | **bold** <b>\x1b[2J"} for one in HALF]
    flags = ["--gates", "recall@5=1", "--slice", "topic"]
    text = cli(tmp_path, [question], traces, *flags).out
    assert "\x1b" not in text
    markdown = cli(tmp_path, [question], traces, *flags, "--format", "markdown").out
    assert "<img" not in markdown and "<b>" not in markdown and "<br>" not in markdown and "\x1b" not in markdown
    rows = [line for line in markdown.splitlines() if "NOT" in line and "img" in line]
    assert rows and all(line.replace("\\|", "").count("|") == 5 for line in rows)  # four cells
    ElementTree.fromstring(cli(tmp_path, [question], traces, *flags, "--format", "junit").out)


def test_quiet_prints_the_last_line_only(tmp_path: Path) -> None:
    done = cli(tmp_path, [gold()], runs(), "--gates", "recall@5=1", "-q")
    assert done == Done(0, "verdict: SHIP (exit 0)\n", "")


def test_the_report_has_the_keys_of_the_design(tmp_path: Path) -> None:
    done = cli(tmp_path, [gold()], runs(), "--format", "json")
    report = json.loads(done.out)
    assert report["schema"] == "ragworthy.report/1"
    assert {"verdict", "exit_code", "suites", "gates", "provenance", "tool"} <= report.keys()
    suite = report["suites"]["retrieval"]
    assert {"profile", "inputs", "counts", "metrics", "slices", "labels", "offenders", "warnings"} <= suite.keys()
    assert [one["role"] for one in suite["inputs"]] == ["gold", "trace"]
    assert {"value", "num", "den", "low", "high", "undefined", "ledger"} <= suite["metrics"]["retrieval.mrr"].keys()
    ids = {name.partition("@")[0] for name in suite["metrics"]}
    listed = ["precision", "recall", "hit", "ndcg", "mrr", "anchor_hit", "coverage", "citation_accuracy",
              "citation_exact", "anchor_distance", "delta_s_median", "delta_s_p90", "delta_s_mean", "triplet_rate",
              "convergence", "collapsed", "negatives", "negative_first", "token_coverage"]  # fmt: skip
    assert {f"retrieval.{name}" for name in listed} <= ids
    assert str(tmp_path) not in done.out  # no absolute paths


# what always holds

NAMES = [block(n) for n in range(8)]
RANKINGS = st.lists(st.sampled_from(NAMES), max_size=8)
RELEVANT = st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True)
KEYS = st.lists(st.sampled_from(RUNS), min_size=1, max_size=6, unique=True)
DEPTHS = [1, 2, 3, 5, 8]


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[Row], list[Row]]:
    """A few questions with a few runs each."""
    questions, traces = [], []
    for n in range(draw(st.integers(1, 3))):
        relevant = draw(RELEVANT)
        grades = {name: draw(st.integers(1, 3)) for name in relevant}
        spare = [name for name in NAMES if name not in relevant]
        section = draw(st.sampled_from(relevant)).removesuffix(".p.Bk001")
        questions.append(
            {"qid": f"Q{n}", "relevant": relevant, "grades": grades, "negatives": spare[:2], "anchor_section": section}
        )
        for paraphrase, seed in draw(KEYS):
            ranking = draw(RANKINGS)
            distances = draw(st.lists(st.floats(0, 2), min_size=len(ranking), max_size=len(ranking)))
            traces.append(
                {
                    "qid": f"Q{n}", "paraphrase": paraphrase, "seed": seed, "topk": [{"id": one} for one in ranking],
                    "ΔS": distances, "answer_citations": draw(st.lists(st.sampled_from(NAMES), max_size=2)),
                }
            )  # fmt: skip
    return questions, traces


@settings(max_examples=60, deadline=None)
@given(worlds())
def test_rank_metrics_are_in_order(world: tuple[list[Row], list[Row]]) -> None:
    found = score(*world, k=DEPTHS)
    rows = list(found.rows())
    for numbers in [{name: one.value for name, one in found.metrics.items()}, *(row["metrics"] for row in rows)]:
        of = {name.removeprefix("retrieval."): number for name, number in numbers.items()}
        for k, deeper in pairwise(DEPTHS):
            assert of[f"recall@{k}"] <= of[f"recall@{deeper}"]
            assert of[f"hit@{k}"] <= of[f"hit@{deeper}"]
            assert of[f"anchor_hit@{k}"] <= of[f"anchor_hit@{deeper}"]
            assert of[f"negatives@{k}"] <= of[f"negatives@{deeper}"]
        for k in DEPTHS:
            assert of[f"hit@{k}"] >= of[f"recall@{k}"] - 1e-12
            assert of[f"negative_first@{k}"] <= of[f"negatives@{k}"]
        assert of["hit@1"] <= of["mrr"] + 1e-12 and of["mrr"] <= of["hit@8"] + 1e-12
        assert of["precision@1"] == of["hit@1"]


@settings(max_examples=60, deadline=None)
@given(worlds())
def test_every_number_is_in_its_range(world: tuple[list[Row], list[Row]]) -> None:
    found = score(*world, k=DEPTHS)
    for name, one in found.metrics.items():
        if one.value is None or name.partition("@")[0] in ("retrieval.anchor_distance", "retrieval.collapsed"):
            continue
        assert (-1 if name in SIGNED else 0) <= one.value <= 1, name
        if one.low is not None and one.high is not None:
            assert 0 <= one.low <= one.value <= one.high <= 1, name
    for row in found.rows():
        for name, number in row["metrics"].items():
            least = -1 if name in SIGNED else 0
            assert number >= least and (number <= 1 or name == "retrieval.anchor_distance"), name


@settings(max_examples=60, deadline=None)
@given(RELEVANT, RANKINGS)
def test_an_irrelevant_item_at_the_end_never_helps(relevant: list[str], ranking: list[str]) -> None:
    def numbers(names: list[str]) -> dict[str, Any]:
        traces = [{"qid": "Q1", "topk": [{"id": one} for one in names]}]
        return score([{"qid": "Q1", "relevant": relevant}], traces, k=DEPTHS, gates="mrr=0.5").metrics

    before, after = numbers(ranking), numbers([*ranking, block(99)])
    for k in DEPTHS:
        one, other = before[f"retrieval.precision@{k}"].value, after[f"retrieval.precision@{k}"].value
        assert other <= one and (k > len(ranking) or other == one)
        for name in ("recall", "hit", "ndcg"):
            assert before[f"retrieval.{name}@{k}"] == after[f"retrieval.{name}@{k}"]
    assert before["retrieval.mrr"] == after["retrieval.mrr"]


@settings(max_examples=60, deadline=None)
@given(worlds())
def test_means_re_derive_exactly_from_rows(world: tuple[list[Row], list[Row]]) -> None:
    found = score(*world)
    rows = list(found.rows())
    for name, metric in body(found)["metrics"].items():
        if "delta_s" not in name:  # these have decimals of their own, see below
            rederived(name, metric, [row["metrics"][name] for row in rows if name in row["metrics"]])


SEEN = st.lists(
    st.builds(
        lambda key, ids: Seen(key, tuple(dict.fromkeys(ids)) if key else ()),
        st.sampled_from(["", "1", "2", "2.1", "10"]),
        st.lists(st.sampled_from("abcdef"), min_size=1, max_size=3),
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=200, deadline=None)
@given(SEEN, st.randoms(use_true_random=False))
def test_marks_do_not_depend_on_the_order_of_runs(seen: list[Seen], draw: random.Random) -> None:
    order = draw.sample(range(len(seen)), len(seen))
    shuffled = [seen[n] for n in order]
    assert mark(shuffled) == mark(seen)
    marks = run_marks(seen)
    assert run_marks(shuffled) == [marks[n] for n in order]
    assert (mark(seen) == "→") == (set(marks) == {"→"})
    assert (mark(seen) == "←") <= ("←" in marks)


@settings(max_examples=30, deadline=None)
@given(worlds(), st.randoms(use_true_random=False))
def test_the_order_of_traces_does_not_matter(world: tuple[list[Row], list[Row]], draw: random.Random) -> None:
    questions, traces = world
    shuffled = draw.sample(traces, len(traces))
    one, other = score(questions, traces), score(questions, shuffled)
    assert told(one.report) == told(other.report)
    assert list(one.rows()) == list(other.rows())


# what a trace says of itself


def test_a_trace_cannot_talk_its_distance_down(tmp_path: Path) -> None:
    """With the texts at hand distances are worked out, whatever the traces claim and whichever model they name."""
    from ragworthy.index.embed import load

    corpus = [{"chunk_id": block(n), "text": f"Elevator number {n} stops at every floor."} for n in range(1, 10)]
    told = {"delta_s_model": {"name": "wordllama", "weights": load().weights}}
    honest = score([gold()], [run(query="tax law")], corpus=corpus, delta_s="raw")
    trace = run(query="tax law", ΔS=[0.0] * len(run()["topk"])) | told
    claimed = score([gold()], [trace], corpus=corpus, delta_s="raw")
    assert value(honest, "delta_s_median") == value(claimed, "delta_s_median")
    assert (value(honest, "delta_s_median") or 0) > 0.3


def test_an_errored_run_cites_nothing() -> None:
    found = score([gold()], [run(error="timeout")])
    assert value(found, "coverage") == 0 and body(found)["labels"] == {"ERROR": 1}


@pytest.mark.parametrize("field", ["answer", "answer_json"])
def test_offsets_of_every_kind_of_citation_are_checked(field: str) -> None:
    answer = {"claim": "x", "citations": [{"id": block(1), "offsets": [500, 10]}]}
    trace = run(answer_citations=None) | {field: answer}
    with pytest.raises(rw.RagworthyError, match=rf"{field}.citations\[0\].offsets: expected begin < end"):
        score([gold()], [trace])


def test_revisions_never_count() -> None:
    """The revision in an id is stripped in grades, in the anchor and when negatives are compared."""
    old, other = "docB|r=8c1e9a02|s=5|p=000|b=014", "docB|r=8c1e9a02|s=5|p=000|b=015"
    item = {
        "qid": "Q1",
        "relevant": [old, other],
        "grades": {old: 1, other: 3},
        "anchor_section": "docB|r=11111111|s=5",
    }
    trace = {"qid": "Q1", "topk": [{"id": "docB|s=5|p=000|b=014"}], "answer_citations": ["docB|s=5|p=000|b=014"]}
    found = score([item], [trace])
    ideal = 3 + 1 / math.log2(3)
    assert value(found, "ndcg@5") == pytest.approx(1 / ideal) and value(found, "anchor_hit@1") == 1
    with pytest.raises(rw.RagworthyError, match="RW-G11"):
        score([item | {"negatives": ["docB|s=5|p=000|b=014"]}], [trace])


def test_a_repeated_question_is_an_error_whatever_is_allowed() -> None:
    with pytest.raises(rw.RagworthyError, match="RW-G02"):
        score([gold(), gold() | {"relevant": []}], [run()], allow_gold_errors=True)


def test_bytes_of_one_block_say_nothing_of_another() -> None:
    item = gold() | {"relevant": ["S.1.p.Bk001", "S.1.p.Bk002"], "relevant_offsets": {"S.1.p.Bk002": [0, 50]}}
    far = [{"id": "S.1.p.Bk001", "offsets": [900, 950]}]
    assert value(score([item], [run(answer_citations=far)]), "citation_accuracy") == 1
    third = score([item], [run(answer_citations=[{"id": "S.1.p.Bk003", "offsets": [900, 950]}])])
    assert value(third, "citation_accuracy") is None


def test_sections_of_opaque_ids_are_not_guessed() -> None:
    item = {"qid": "Q1", "relevant": ["c_1"], "anchor_section": "4.2"}
    trace = {"qid": "Q1", "topk": [{"id": "c_2"}], "answer_citations": ["c_2"]}
    found = score([item], [trace])
    assert value(found, "anchor_hit@5") is None and value(found, "coverage") is None
    corpus = [{"chunk_id": f"c_{n}", "text": "x", "section_id": "4.2"} for n in (1, 2)]
    found = score([item], [trace], corpus=corpus)
    assert value(found, "anchor_hit@5") == 1 and value(found, "coverage") == 1


# one index throughout


def frozen_pair(tmp_path: Path) -> tuple[Path, Path, Path]:
    """A gold set frozen on one index, traces of another that has the same texts, and that other index."""
    docs = tmp_path / "docs"
    docs.mkdir()
    for name in ("bread", "boats"):
        text = "\n\n".join(f"The {name} of day {day} is described in this paragraph." for day in range(4))
        (docs / f"{name}.md").write_text(f"# {name}\n\n{text}\n")
    for out, flags in (("one", ()), ("two", ("--dense", "none"))):
        assert run_cli("index", "build", "--docs", docs, "--out", tmp_path / out, *flags).code == 0
    block_id = "bread.md|s=1|p=000|b=002"
    words = [f"bread of day 1 {word}" for word in ("please", "now", "today")]
    item = {"qid": "Q1", "paraphrases": words, "relevant": [block_id], "anchor_section": "1"}
    path = write_jsonl(tmp_path / "gold.jsonl", [item])
    assert run_cli("gold", "freeze", path, "--signer", "A", "--reason", "r", "--corpus", tmp_path / "one").code == 0
    assert run_cli("retrieve", "--index", tmp_path / "two", "--gold", path, "-o", tmp_path / "t.jsonl").code == 0
    return path, tmp_path / "t.jsonl", tmp_path / "two"


def test_traces_of_another_index_than_the_frozen_one_need_its_corpus(tmp_path: Path) -> None:
    path, traces, index = frozen_pair(tmp_path)
    flags = ("score", "retrieval", "--gold", path, "--trace", traces, "--gates", "recall@5=0.5")
    done = run_cli(*flags)
    assert done.code == 4 and "not valid: the gold set was frozen on the index rw:" in done.out
    assert run_cli(*flags, "--corpus", index).code == 0
    done = run_cli(*flags, "--corpus", tmp_path / "one")
    assert done.code == 4 and "but the corpus is rw:" in done.out


def test_an_anchor_section_that_the_index_does_not_have_is_not_valid(tmp_path: Path) -> None:
    path, traces, index = frozen_pair(tmp_path)
    item = json.loads(path.read_text()) | {"anchor_section": "9.9"}
    other = write_jsonl(tmp_path / "other.jsonl", [item])
    flags = ("--corpus", index, "--gates", "recall@5=0.5")
    done = run_cli("score", "retrieval", "--gold", other, "--trace", traces, *flags)
    assert done.code == 4
    assert "not valid: 1 of 1 anchor sections are not in this index, e.g. that of Q1 [RW-G13]" in done.out


def test_no_command_replaces_what_it_reads(tmp_path: Path) -> None:
    path, traces, index = frozen_pair(tmp_path)
    before = {one: one.read_bytes() for one in (path, traces, index / "chunks.jsonl")}
    for args in (
        ("retrieve", "--index", index, "--gold", path, "-o", path),
        ("retrieve", "--index", index, "--gold", path, "-o", tmp_path / "t.jsonl.gz"),
        ("score", "retrieval", "--gold", path, "--trace", traces, "--rows", traces),
        ("score", "retrieval", "--gold", path, "--trace", traces, "-o", index / "x.json", "--corpus", index),
        ("index", "migrate", index, tmp_path / "one", "-o", index / "chunks.jsonl"),
        ("gold", "lint", path, "-o", path),
        ("index", "build", "--docs", tmp_path / "docs", "--out", tmp_path / "docs" / "index"),
    ):
        done = run_cli(*args)
        assert (done.code, done.out) == (2, ""), args
        assert done.err.splitlines()[0].endswith("[RW-U01]")
    assert {one: one.read_bytes() for one in before} == before
