"""Worked examples of the retrieval suite (W-22 … W-34, W-48, W-50, W-52), with the arithmetic shown."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import ragworthy as rw
from conftest import Done, run_cli, write_jsonl
from ragworthy import gates as g
from ragworthy.ids import parse, section_of, stable, tree_distance
from ragworthy.index.embed import delta_s
from ragworthy.metrics.facts.convergence import Seen, flips, mark, run_marks
from ragworthy.metrics.facts.distance import band, exact, verdict
from ragworthy.metrics.facts.orders import kendall_tau_b
from ragworthy.metrics.facts.spans import gap
from ragworthy.names import Outcome, Verdict
from ragworthy.suites.retrieval.rules import LIVE_GATE, RETRIEVAL_GATES
from ragworthy.suites.retrieval.units import byte_range

Row = dict[str, Any]

GOLD: Row = {
    "qid": "Q-0137",
    "paraphrases": [
        "How does SCU unlock safety refusals?",
        "Explain symbolic constraint unlock.",
        "SCU: what is it and when to use?",
    ],
    "relevant": ["S.4.2.p.Bk011a", "S.4.2.p.Bk011b"],
    "anchor_section": "S.4.2",
    "negatives": ["S.4.1.p.Bk010", "S.4.3.p.Bk014"],
    "relevant_offsets": {"S.4.2.p.Bk011a": [204611, 205279]},
}
FIRST: Row = {"id": "S.4.2.p.Bk011a", "score": 0.83, "offsets": [204611, 205279], "type": "prose"}
SECOND: Row = {"id": "S.4.1.p.Bk010", "score": 0.79, "offsets": [198002, 199112], "type": "prose"}
TRACE: Row = {
    "qid": "Q-0137",
    "query": "Explain symbolic constraint unlock.",
    "topk": [FIRST, SECOND],
    "ΔS": [0.31, 0.59],
    "λ_state": "→",
    "anchor": "S.4.2",
    "index_hash": "faiss:v3:hnsw:cos",
    "ts": "2025-08-27T12:30:22Z",
    "answer_citations": [{"id": "S.4.2.p.Bk011a", "offsets": [204611, 205279]}],
}


def score(gold: list[Row], traces: list[Row], **options: Any) -> rw.Result:
    return rw.score("retrieval", gold=gold, traces=traces, **options)


def value(result: rw.Result, metric: str) -> float | None:
    return result.metrics[f"retrieval.{metric}"].value


def reference(tmp_path: Path, gold: list[Row], traces: list[Row], *flags: object) -> tuple[Row, Done]:
    write_jsonl(tmp_path / "gold.jsonl", gold)
    write_jsonl(tmp_path / "trace.jsonl", traces)
    done = run_cli(
        "score", "retrieval", "--gold", tmp_path / "gold.jsonl", "--trace", tmp_path / "trace.jsonl",
        "--profile", "reference", *flags,
    )  # fmt: skip
    return json.loads(done.out) if done.out else {}, done


def test_w22_precision_and_recall() -> None:
    result = score([GOLD], [TRACE])
    # k 1: one of one returned is relevant, one of two relevant blocks is found
    assert value(result, "precision@1") == 1 and value(result, "recall@1") == 0.5
    for k in (3, 5, 10):  # two items were returned, so the denominator is 2 and not k
        assert value(result, f"precision@{k}") == 0.5
        assert value(result, f"recall@{k}") == 0.5
    assert value(result, "anchor_hit@1") == 1


def test_w23_delta_s_of_the_citation_passes_the_canary_and_that_of_the_list_does_not(tmp_path: Path) -> None:
    result = score([GOLD], [TRACE], gates="delta_s_median=0.40,delta_s_p90=0.55")
    assert value(result, "delta_s_median") == 0.31 and value(result, "delta_s_p90") == 0.31
    assert result.verdict is Verdict.SHIP
    printed, done = reference(tmp_path, [GOLD], [TRACE])
    assert printed["ΔS_med"] == 0.44999999999999996  # (0.31 + 0.59) / 2 in floats
    assert printed["ΔS_p90"] == pytest.approx(0.31 + 0.9 * 0.28, abs=1e-12)
    assert done.code == 1  # over 0.40 and over 0.55


def test_w24_duplicates_and_unanswered(tmp_path: Path) -> None:
    trace = TRACE | {"topk": [FIRST, FIRST, SECOND], "ΔS": [0.31, 0.31, 0.59]}
    result = score([GOLD], [trace])
    assert value(result, "precision@5") == pytest.approx(1 / 3)  # one distinct relevant id over three items
    assert value(result, "recall@5") == 0.5
    second = GOLD | {"qid": "Q-2"}
    empty = {"qid": "Q-2", "topk": [], "ΔS": [], "answer_citations": []}
    result = score([GOLD, second], [TRACE, empty])
    assert value(result, "precision@5") == 0.25 and value(result, "recall@5") == 0.25  # (1/2 + 0) / 2
    assert result.metrics["retrieval.coverage"][:3] == (0.5, 1, 2)
    assert result.metrics["retrieval.citation_accuracy"][:3] == (1.0, 1, 1)
    printed, _ = reference(tmp_path, [GOLD, second], [TRACE, empty])
    assert printed["coverage"] == 0.5 and printed["citation_accuracy"] == 0.5


def test_w25_any_or_first_citation(tmp_path: Path) -> None:
    citations = [{"id": "S.9.p.Bk001", "offsets": [1, 9]}, {"id": "S.4.2.p.Bk011a", "offsets": [204611, 205279]}]
    trace = TRACE | {"answer_citations": citations}
    result = score([GOLD], [trace])
    assert value(result, "coverage") == 1 and value(result, "citation_accuracy") == 0
    printed, _ = reference(tmp_path, [GOLD], [trace])
    assert printed["coverage"] == 0 and printed["citation_accuracy"] == 0


@pytest.mark.parametrize(
    ("cited", "distance", "accurate"),
    [
        ((1050, 1200), 0, True),
        ((1100, 1200), 0, True),
        ((1130, 1200), 30, True),
        ((1131, 1200), 31, False),
        ((900, 970), 30, True),
        ((0, 969), 31, False),
    ],
)
def test_w26_window(cited: tuple[int, int], distance: int, accurate: bool) -> None:
    assert gap(cited, (1000, 1100)) == distance
    gold = GOLD | {"relevant": ["S.4.2.p.Bk011a"], "relevant_offsets": {"S.4.2.p.Bk011a": [1000, 1100]}}
    trace = TRACE | {"answer_citations": [{"id": "S.4.2.p.Bk011a", "offsets": list(cited)}]}
    assert value(score([gold], [trace]), "citation_accuracy") == float(accurate)


@pytest.mark.parametrize(("cited", "both"), [((1020, 1125), True), ((1031, 1100), False), ((1000, 1131), False)])
def test_w26_both_edges(cited: tuple[int, int], both: bool) -> None:
    gold = GOLD | {"relevant": ["S.4.2.p.Bk011a"], "relevant_offsets": {"S.4.2.p.Bk011a": [1000, 1100]}}
    trace = TRACE | {"answer_citations": [{"id": "S.4.2.p.Bk011a", "offsets": list(cited)}]}
    assert value(score([gold], [trace]), "citation_exact") == float(both)


def test_w27_tree_distance() -> None:
    pairs = {("S.4.2", "S.4.2"): 0, ("S.4", "S.4.2"): 1, ("S.4.2.1", "S.4.2"): 1, ("S.4.1", "S.4.2"): 2}
    pairs |= {("S.4.10", "S.4.1"): 2, ("S.5", "S.4.2"): 3}
    assert {pair: tree_distance(*pair) for pair in pairs} == pairs
    # 0, 2 and 3 steps: the mean is 5/3
    gold = [GOLD | {"qid": f"Q{n}"} for n in range(3)]
    sections = ("S.4.2.p.Bk011a", "S.4.1.p.Bk001", "S.5.p.Bk001")
    traces = [TRACE | {"qid": f"Q{n}", "answer_citations": [{"id": name}]} for n, name in enumerate(sections)]
    assert score(gold, traces).metrics["retrieval.anchor_distance"].value == pytest.approx(5 / 3)


def test_w28_delta_s_from_vectors_and_bands() -> None:
    assert delta_s([1, 0], [1, 0]) == (0.0, 0.0)
    assert delta_s([1, 0], [0, 1]) == (1.0, 1.0)
    assert delta_s([3, 4], [4, 3]) == (0.04, 0.04)  # 1 − 24/25
    assert delta_s([1, 0], [1, 1])[1] == pytest.approx(0.2929, abs=1e-4)
    assert delta_s([1, 0], [-1, 0]) == (2.0, 1.0)
    assert delta_s([0, 0], [1, 0])[1] == 1.0
    seen = {number: (band(exact(number)), verdict(exact(number))) for number in (0.39, 0.40, 0.45, 0.4501, 0.60, 0.85)}
    assert seen == {
        0.39: ("stable", "accept"),
        0.40: ("transitional", "accept"),
        0.45: ("transitional", "accept"),
        0.4501: ("transitional", "review"),
        0.60: ("risk", "block"),
        0.85: ("danger", "block"),
    }


def found_in(count: int, total: int, index: str) -> list[Row]:
    """Traces of `total` questions, of which `count` find the one relevant block."""
    return [
        {"qid": f"Q{n}", "topk": [{"id": "S.1.p.Bk001" if n < count else "S.2.p.Bk001"}], "index_hash": index}
        for n in range(total)
    ]


ONE_BLOCK = [{"qid": f"Q{n}", "relevant": ["S.1.p.Bk001"], "anchor_section": "S.1"} for n in range(50)]


@pytest.mark.parametrize(("shadow", "verdict"), [(44, Verdict.SHIP), (43, Verdict.INCONCLUSIVE)])
def test_w29_two_points_exactly_are_allowed(tmp_path: Path, shadow: int, verdict: Verdict) -> None:
    assert 0.90 - 0.88 > 0.02  # in floats the allowed drop would fail
    policy = tmp_path / "ragworthy.toml"
    for name, rows in (("gold", ONE_BLOCK), ("live", found_in(45, 50, "a")), ("shadow", found_in(shadow, 50, "b"))):
        write_jsonl(tmp_path / f"{name}.jsonl", rows)
    policy.write_text(
        'version = 1\n[retrieval]\ngold = "gold.jsonl"\ntraces = "shadow.jsonl"\nlive = "live.jsonl"\n'
        '[[gate]]\nmetric = "retrieval.recall@5"\nmax_drop = 0.02\n'
    )
    assert rw.gate(policy).verdict is verdict


def runs_of(*keys: str) -> list[Seen]:
    return [Seen(key, (f"{key}#1",) if key else ()) for key in keys]


def test_w30_marks() -> None:
    assert mark(runs_of(*["4.2"] * 6)) == "→"
    assert mark(runs_of(*["4.2"] * 5, "4.1")) == "<>"
    assert mark(runs_of(*[""] * 6)) == "←"
    assert mark(runs_of(*[""] * 3, *["1"] * 3)) == "←"  # 2 · 3 ≥ 6
    assert mark(runs_of(*(f"{n}" for n in range(6)))) == "×"
    assert run_marks(runs_of(*["4.2"] * 5, "")) == ["→"] * 5 + ["←"]
    assert flips(["→", "→", "<>", "→", "×", "→"]) == Fraction(4, 5)


def test_w30_the_sample_of_the_page_fails() -> None:
    """lambda_observe.md: → → <> → × → converges in 4 of 6 runs, less than 0.80."""
    home, near, far = ["S.4.2.p.Bk011a"], ["S.4.1.p.Bk001", "S.4.2.p.Bk011a"], ["S.9.p.Bk001"]
    assert run_marks([Seen(name[0].split(".p.")[0], tuple(name)) for name in (home, home, near, home, far, home)]) == [
        "→", "→", "<>", "→", "×", "→",
    ]  # fmt: skip
    traces = [
        {"qid": "Q-0137", "paraphrase": nth % 3, "seed": nth // 3, "topk": [], "answer_citations": cited}
        for nth, cited in enumerate((home, home, near, home, far, home))
    ]
    result = score([GOLD], traces, packs=["lambda-smoke"], defaults=False)
    assert result.metrics["retrieval.convergence"].value == pytest.approx(4 / 6)
    assert (result.verdict, value(result, "collapsed")) == (Verdict.NO_SHIP, 0)


def asked(keys: dict[tuple[int, int], str], qid: str = "Q-0137") -> list[Row]:
    return [
        {"qid": qid, "paraphrase": p, "seed": s, "topk": [], "answer_citations": [f"S.{key}.p.Bk001"] if key else []}
        for (p, s), key in keys.items()
    ]


def test_w30_triplets() -> None:
    keys = {(0, 1): "4.2", (1, 1): "4.2", (2, 1): "4.2", (0, 2): "4.2", (1, 2): "4.1", (2, 2): "4.2"}
    result = score([GOLD], asked(keys))
    assert result.metrics["retrieval.triplet_rate"][:3] == (0.5, 1, 2)
    assert value(result, "convergence") == pytest.approx(5 / 6)
    assert result.report["suites"]["retrieval"]["lambda"]["marks"] == {"→": 0, "←": 0, "<>": 1, "×": 0}
    assert value(result, "collapsed") == 0


def test_w31_hard_negatives() -> None:
    result = score([GOLD], [TRACE])
    assert value(result, "negatives@5") == 1 and value(result, "negative_first@5") == 0
    swapped = score([GOLD], [TRACE | {"topk": [SECOND, FIRST], "ΔS": [0.59, 0.31]}])
    assert value(swapped, "negative_first@5") == 1


def test_w32_by_type(tmp_path: Path) -> None:
    types = {"a": "prose", "x": "prose", "t": "table", "c": "code", "y": "code", "z": "prose"}
    corpus = [{"chunk_id": name, "type": kind, "text": name, "section_id": "1"} for name, kind in types.items()]
    gold = [{"qid": "Q1", "relevant": ["a", "t"]}, {"qid": "Q2", "relevant": ["c"]}]
    traces = [
        {"qid": "Q1", "topk": [{"id": name, "type": types[name]} for name in "axt"]},
        {"qid": "Q2", "topk": [{"id": name, "type": types[name]} for name in "yz"]},
    ]
    result = score(gold, traces, corpus=corpus)
    assert value(result, "precision@5") == pytest.approx(1 / 3)  # (2/3 + 0) / 2
    assert value(result, "recall@5") == 0.5
    slices = result.report["suites"]["retrieval"]["slices"]
    recall = {kind: slices[f"type={kind}"]["retrieval.recall@5"] for kind in ("prose", "table", "code", "figure")}
    assert {kind: (one["num"], one["den"]) for kind, one in recall.items()} == {
        "prose": (1, 1), "table": (1, 1), "code": (0, 1), "figure": (0, 0),
    }  # fmt: skip
    precision = {kind: slices[f"type={kind}"]["retrieval.precision@5"] for kind in ("prose", "table", "code")}
    assert {kind: (one["num"], one["den"]) for kind, one in precision.items()} == {
        "prose": (1, 3), "table": (1, 1), "code": (0, 1),
    }  # fmt: skip


def test_w34_ids_and_offsets() -> None:
    parsed = parse("S.4.2.p.Bk011a")
    assert (parsed.section, parsed.type, parsed.block, parsed.part) == ("S.4.2", "p", 11, "a")
    assert section_of("docA|r=8c1e9a02|s=1.2.3|p=002|b=007") == "1.2.3"
    assert section_of("p1#2") == "p1"
    assert stable("docA|r=8c1e9a02|s=1.2.3|p=002|b=007") == "docA|s=1.2.3|p=002|b=007"


def test_w34_characters_become_bytes(tmp_path: Path) -> None:
    """W-34: of "Ünï 電梯", 6 characters and 12 bytes, the word 電梯 is characters 4–6 and bytes [6, 12)."""
    assert byte_range("Ünï 電梯".encode(), (4, 6)) == (6, 12)
    # behind a hundred letters of two bytes each: characters 104–106, bytes [206, 212), too far apart to be mixed up
    text = "Ü" * 100 + "Ünï 電梯"
    block = {"chunk_id": "S.1.p.Bk001", "doc_id": "d", "section_id": "S.1", "text": text, "offsets": [0, 212]}
    index, docs = tmp_path / "index", write_jsonl(tmp_path / "blocks.jsonl", [block])
    assert run_cli("index", "build", "--docs", docs, "--out", index, "--dense", "none").code == 0
    gold = {"qid": "Q", "paraphrases": ["?"], "relevant": ["S.1.p.Bk001"],
            "relevant_offsets": {"S.1.p.Bk001": [206, 212]}}  # fmt: skip
    for unit, right in (("char", 1), ("byte", 0)):
        cited = {"snippet_id": "S.1.p.Bk001", "offsets": {"start": 104, "end": 106, "unit": unit}}
        trace = {"qid": "Q", "topk": [{"id": "S.1.p.Bk001"}], "answer": {"citations": [cited], "answer": "x"}}
        found = score([gold], [trace], corpus=str(index), gates="missing=0", defaults=False)
        assert value(found, "citation_exact") == right, unit


def test_w48_kendall() -> None:
    assert kendall_tau_b("abcd", "abdc", 4) == pytest.approx(4 / 6)  # 5 concordant, 1 discordant
    assert kendall_tau_b("abcd", "abce", 4) == pytest.approx(0.8)
    assert kendall_tau_b("abc", "cba", 3) == -1
    assert kendall_tau_b("abc", "xyz", 3) == -0.75


def canary(triplets: int) -> list[g.Judged]:
    ratios = {
        "coverage": (70, 100),
        "citation_accuracy": (95, 100),
        "delta_s_median": (40, 100),
        "delta_s_p90": (55, 100),
        "triplet_rate": (triplets, 100),
        "recall@5": (44, 50),
    }
    values: dict[tuple[str | None, str], g.Value] = {
        (None, f"retrieval.{name}"): g.Value(num, den) for name, (num, den) in ratios.items()
    }
    values[None, "retrieval.collapsed"] = g.Value(0, None)
    live = g.Baseline({(None, "retrieval.recall@5"): Fraction(45, 50)}, {})
    return g.judge((*RETRIEVAL_GATES, LIVE_GATE), values, baseline=live)


def test_w50_canary_gate_at_the_edges() -> None:
    assert {one.outcome for one in canary(95)} == {Outcome.PASS}
    missed = [one.gate.metric for one in canary(94) if one.outcome is not Outcome.PASS]
    assert missed == ["retrieval.triplet_rate"]
