"""Gold that says what its evidence is, or nothing about it: worked examples with the arithmetic beside them."""

import json
from pathlib import Path
from typing import Any

import pytest

import ragworthy
from conftest import run_cli, write_jsonl
from ragworthy.corpus.binding import HOW
from ragworthy.errors import DataError
from ragworthy.metrics.facts.answers import Rules, trace_flags
from ragworthy.records import Answer, Gold, Trace
from ragworthy.result import Result
from ragworthy.suites.answers.bound import STEPS

Row = dict[str, Any]

CHUNKS = [
    {"id": "b1", "doc_id": "buckets.md", "text": "A bucket holds at most 5 GB. Names are unique."},
    {"id": "b2", "doc_id": "buckets.md", "text": "Names are unique. Keys have 64 characters at most."},
    {"id": "k1", "doc_id": "keys.md", "text": "Keys are rotated every 90 days by the key service."},
]


def item(qid: str, piece: str, **fields: Any) -> Row:
    return {"qid": qid, "question": f"{qid}?", "answerable": True, "gold_claim_substr": [piece]} | fields


def closed(qid: str) -> Row:
    return {"qid": qid, "question": f"{qid}?", "answerable": False}


def trace(qid: str, claim: str, retrieved: list[str], cited: list[str] | None = None) -> Row:
    answer = {"claim": claim, "citations": retrieved[:1] if cited is None else cited}
    return {"qid": qid, "retrieved_ids": retrieved, "answer_json": answer}


def score(gold: list[Row], traces: list[Row], corpus: list[Row] | None = None, **more: Any) -> Result:
    given: Row = {} if corpus is None else {"corpus": corpus}
    return ragworthy.score("answers", gold=gold, traces=traces, short_substr="word", **given, **more)


def body(done: Result) -> Row:
    found: Row = done.report["suites"]["answers"]
    return found


def ratios(done: Result, *names: str) -> list[tuple[int, int]]:
    metrics = body(done)["metrics"]
    return [(metrics[f"answers.{name}"]["num"], metrics[f"answers.{name}"]["den"]) for name in names]


def warned(done: Result) -> dict[str, str]:
    return {one["code"]: one["message"] for one in body(done)["warnings"]}


EVIDENCED = [
    item("size", "5 GB", gold_evidence=["A bucket holds at most 5 GB."]),
    item("names", "unique", gold_evidence=["names are UNIQUE"]),  # in b1 and in b2
    item("both", "64 characters", gold_evidence=["Keys have 64 characters at most.", "rotated every 90 days"]),
    item("doc", "days", gold_source=["docs/Keys.md"]),
    closed("none"),
]
TRACES = [
    trace("size", "It holds 5 GB", ["b1", "k1"]),
    trace("names", "They are unique", ["b2"]),
    trace("both", "64 characters", ["b2", "b1"]),
    trace("doc", "90 days", ["k1", "b1"]),
    trace("none", "not in context", ["b1"], []),
]


def test_evidence_is_bound_and_alternatives_count() -> None:
    done = score(EVIDENCED, TRACES, CHUNKS)
    # recall: size, names (b2 is as good as b1), doc; of both's two pieces only one was retrieved
    assert ratios(done, "recall@5", "hit@5", "chr", "precision") == [(3, 4), (4, 4), (4, 4), (4, 4)]
    assert body(done)["binding"] == {
        "items": 4,
        "how": {"exact": 3, "normalised": 1, "overlap": 0, "parts": 0, "source": 1, "unbound": 0},
        "unbound": [],
    }
    assert tuple(body(done)["binding"]["how"]) == STEPS == HOW
    assert body(done)["labels"] == {"OK": 4, "REFUSAL_OK": 1}


def test_every_process_and_every_k_says_the_same() -> None:
    one = score(EVIDENCED, TRACES, CHUNKS, k=[1, 5])
    # first places: b1 holds size, b2 names, k1 doc; b2 holds half of both
    assert ratios(one, "recall@1", "hit@1", "recall@5", "hit@5") == [(3, 4), (4, 4), (3, 4), (4, 4)]


def test_ids_beside_evidence_are_only_where_it_lay() -> None:
    stale = [one | {"gold_citations": ["old#1"]} if one["answerable"] else one for one in EVIDENCED]
    done = score(stale, TRACES, CHUNKS)
    assert ratios(done, "recall@5", "chr") == [(3, 4), (4, 4)]
    assert warned(done)["RW-W86"] == (
        "4 gold items whose ids are not the chunks that hold the evidence: the evidence counts"
    )
    assert "RW-G13" not in warned(done)
    without = score(stale, TRACES)
    assert ratios(without, "recall@5", "chr") == [(0, 4), (0, 4)]  # without a corpus ids are all there is


def test_evidence_without_a_corpus_is_not_measured() -> None:
    done = score(EVIDENCED, TRACES)
    assert done.verdict == "INVALID"
    reasons = [f"answers.{name} was not measured: give --corpus to bind the evidence" for name in ("precision", "chr")]
    assert done.report["invalid"] == reasons
    assert body(done)["metrics"]["answers.recall@5"]["value"] is None
    assert warned(done)["RW-W87"] == "4 gold items name evidence and no ids: give --corpus to bind the evidence"
    assert next(row["undefined"]["answers.chr"] for row in done.rows()) == "give --corpus to bind the evidence"


def test_unbound_evidence_is_listed_and_decides_nothing() -> None:
    gold = [*EVIDENCED, item("lost", "7 GB", gold_evidence=["A volume holds at most 7 GB in all of its parts."])]
    traces = [*TRACES, trace("lost", "7 GB", ["b1"])]
    done = score(gold, traces, CHUNKS)
    assert done.verdict == "INVALID"
    assert done.report["invalid"] == [
        "1 of 6 pieces of gold evidence are in no chunk, e.g. that of lost: no chunk holds it [RW-G17]"
    ]
    assert ratios(done, "recall@5", "chr") == [(3, 5), (4, 5)]  # it stays in the denominator
    assert body(done)["binding"]["unbound"] == [
        {"qid": "lost", "text": "A volume holds at most 7 GB in all of its parts.", "why": "no chunk holds it"}
    ]
    assert body(done)["stages"] == {"index": 1}
    refusals = score(gold, traces, CHUNKS, gates={"over": 0.1}, defaults=False)
    assert not [reason for reason in refusals.report["invalid"] if "RW-G17" in reason]
    assert "RW-G17" in warned(refusals)


@pytest.mark.parametrize("claim", ["7 GB", "not in context"])
def test_what_a_run_did_not_retrieve_may_be_in_its_index(claim: str) -> None:
    """The chunks that a run wrote down are not an index: what they lack was not retrieved, and more is not known."""
    gold = [*EVIDENCED, item("lost", "7 GB", gold_evidence=["A volume holds at most 7 GB in all of its parts."])]
    traces = [*TRACES, trace("lost", claim, ["b1"])]
    done = score(gold, traces, [one | {"attrs": {"retrieved": True}} for one in CHUNKS], gates={"chr": 0.95})
    assert (done.verdict, body(done)["stages"]) == ("NO-SHIP", {"retrieval": 1})
    assert {row["qid"]: row["stage"] for row in done.rows() if row["stage"]} == {"lost": "retrieval"}
    refused = claim == "not in context"
    (offender,) = [one for one in body(done)["offenders"] if one["qid"] == "lost"]
    assert offender["why"].startswith("refused, and no gold evidence" if refused else "no gold evidence was retrieved")
    steps = {one["pattern"]: one["do"] for one in done.report["next"]}
    assert steps["retrieval, 1 of 6 questions"] == (
        f"1 {'refused' if refused else 'answered'} without gold evidence: none was retrieved: raise k, or look at the "
        "search and its ranking, then for index or manifest drift"
    )


def test_ids_that_the_corpus_does_not_have_are_not_scored_in_silence() -> None:
    gold = [item("a", "5 GB", gold_citations=["b1"]), item("b", "5 GB", gold_citations=["b9", "b8"]), closed("c")]
    traces = [trace("a", "5 GB", ["b1"]), trace("b", "5 GB", ["b1"]), trace("c", "not in context", [], [])]
    done = score(gold, traces, CHUNKS)
    assert (done.verdict, done.report["invalid"]) == (
        "INVALID", ["2 of 3 gold ids are not in the corpus, e.g. b9 [RW-G13]"],
    )  # fmt: skip
    assert score(gold, traces).verdict == "NO-SHIP"


def test_a_source_elsewhere_is_noted() -> None:
    gold = [item("a", "5 GB", gold_evidence=["at most 5 GB"], gold_source=["keys.md"]), closed("c")]
    done = score(gold, [trace("a", "5 GB", ["b1"]), trace("c", "not in context", [], [])], CHUNKS)
    assert ratios(done, "chr") == [(1, 1)]
    assert warned(done)["RW-W85"] == (
        "1 gold item whose evidence is not just where its source says, e.g. a (found outside keys.md)"
    )


# groups that were written down


def flags(gold: Gold, retrieved: list[str]) -> int:
    one = Trace(qid="q", retrieved_ids=retrieved, answer_json=Answer(claim="x", citations=[]))
    return trace_flags(Rules(ks=(2,)))(gold, one) >> 32


@pytest.mark.parametrize(
    ("retrieved", "bits"),
    [(["a", "c"], 3), (["b", "c"], 3), (["a", "b"], 2), (["x", "c"], 2), (["x", "y"], 0), (["x", "y", "a", "c"], 0)],
)
def test_any_id_of_a_group_will_do_and_every_group_is_needed(retrieved: list[str], bits: int) -> None:
    gold = Gold(answerable=True, gold_groups=[["a", "b"], ["c"]], gold_citations=["a", "b", "c"])
    assert flags(gold, retrieved) == bits


def test_written_groups_count_without_a_corpus() -> None:
    gold = [item("a", "5 GB", gold_groups=[["b1", "b2"]], gold_citations=["b1", "b2"]), closed("c")]
    traces = [trace("a", "5 GB", ["b2"]), trace("c", "not in context", [], [])]
    assert ratios(score(gold, traces), "recall@5", "chr") == [(1, 1), (1, 1)]
    plain = [{key: value for key, value in one.items() if key != "gold_groups"} for one in gold]
    assert ratios(score(plain, traces), "recall@5", "chr") == [(0, 1), (1, 1)]
    lost = [item("a", "5 GB", gold_groups=[["b2"], []]), closed("c")]
    done = score(lost, traces)
    assert ratios(done, "recall@5", "hit@5") == [(0, 1), (1, 1)]
    assert done.report["invalid"] == ["1 question has evidence that was bound to no chunk [RW-G17]"]


# gold without any evidence


TEXT = [item("a", "5 GB"), item("b", "64 characters"), item("c", "90 days"), closed("d"), closed("e")]
SAID = [
    trace("a", "It holds 5 GB", ["b1"], ["not retrieved"]),
    trace("b", "No idea", ["b2"]),
    trace("c", "not in context", ["k1"], []),
    trace("d", "not in context", [], []),
    trace("e", "It is 12", ["b1"]),
]


def test_text_alone_measures_containment_and_refusals_and_nothing_else() -> None:
    done = score(TEXT, SAID)
    metrics = body(done)["metrics"]
    for name in ("precision", "chr", "recall@5", "hit@5", "chr_ceiling@5"):
        one = metrics[f"answers.{name}"]
        assert (one["value"], one["undefined"]) == (None, "no gold evidence"), name
        ledger = one["ledger"]
        assert ledger["scored"] == 0
        assert ledger["expected"] == sum(ledger.values()) - ledger["expected"] == 5
    assert ratios(done, "containment", "under_refusal", "over_refusal") == [(0, 3), (1, 2), (1, 3)]  # a cites astray
    assert body(done)["labels"] == {
        "OUT_OF_SCOPE": 1, "REFUSAL_OK": 1, "HALLUCINATION": 1, "ANS_NO_CONTAIN": 1, "OVER_REFUSAL": 1,
    }  # fmt: skip
    assert body(done)["stages"] == {"citation": 1, "generation": 1, "refusal": 2}
    assert warned(done)["RW-W88"] == (
        "3 gold items without evidence: containment and refusals are measured; precision, CHR, recall and hit are not, "
        "and answers.containment is judged in their place"
    )


def test_the_usual_gates_on_citations_give_way_and_named_ones_do_not() -> None:
    done = score(TEXT, SAID)
    assert done.verdict == "NO-SHIP"
    assert [(one["metric"], one["threshold"], one["outcome"]) for one in done.gates] == [
        ("answers.containment", "0.80", "fail"),
        ("answers.under_refusal", "0.05", "fail"),
        ("answers.over_refusal", "0.10", "fail"),
        ("answers.missing", "0", "pass"),
    ]
    named = score(TEXT, SAID, gates={"precision": 0.8})
    assert named.verdict == "INVALID"
    assert "answers.precision was not measured: no gold evidence" in named.report["invalid"]
    own = score(TEXT, SAID, gates={"containment": 0.3})
    assert [one["threshold"] for one in own.gates if one["metric"] == "answers.containment"] == ["0.3"]


def test_in_a_mixed_set_questions_without_evidence_are_no_case() -> None:
    gold = [item("a", "5 GB", gold_citations=["b1"]), *TEXT[1:]]
    done = score(gold, [trace("a", "It holds 5 GB", ["b1"]), *SAID[1:]])
    # shipped: a (right), b (no case), e (unanswerable, so not right)
    assert ratios(done, "precision", "chr", "recall@5") == [(1, 2), (1, 2), (1, 1)]
    ledger = body(done)["metrics"]["answers.precision"]["ledger"]
    assert (ledger["scored"], ledger["not_applicable"], ledger["refused"]) == (2, 1, 2)
    rows = {row["qid"]: row["undefined"] for row in done.rows()}
    assert rows["b"]["answers.precision"] == "no gold evidence"
    assert warned(done)["RW-W88"].startswith("2 of 3 answerable gold items without evidence: not counted in precision")


MIXED = [item("a", "5 GB", gold_citations=["b1"]), item("b", "64 characters")]
CITED = trace("a", "It holds 5 GB", ["b1"])


def test_a_wrong_answer_without_evidence_counts_in_a_mixed_set() -> None:
    done = score(MIXED, [CITED, trace("b", "No idea at all", ["b2"], ["b2"])])
    assert done.verdict != "SHIP"
    assert [(one["metric"], one["outcome"]) for one in done.gates][:3] == [
        ("answers.precision", "pass"),
        ("answers.chr", "pass"),
        ("answers.containment", "fail"),
    ]
    assert warned(done)["RW-W88"] == (
        "1 of 2 answerable gold items without evidence: not counted in precision, CHR, recall and hit; "
        "answers.containment judges their text"
    )
    named = score(MIXED, [CITED, trace("b", "No idea at all", ["b2"])], gates={"precision": 0.8}, defaults=False)
    assert "answers.containment" not in [one["metric"] for one in named.gates]
    assert warned(named)["RW-W88"].endswith("no gate judges their text (gate answers.containment)")


@pytest.mark.parametrize(
    "named",
    [
        {"gates": {"precision": 0.8, "chr": 0.75, "under_refusal": 0.05, "over_refusal": 0.1}},
        {"gates": "precision=0.80,chr=0.75,under=0.05,over=0.10"},
        {"packs": ["ship"]},
    ],
)
def test_naming_the_gates_on_citations_does_not_take_the_one_on_the_text_away(named: dict[str, Any]) -> None:
    gold, silent = [*MIXED, closed("u")], trace("u", "not in context", ["b1"], [])
    wrong = [CITED, trace("b", "No idea at all", ["b2"], ["b2"]), silent]
    done = score(gold, wrong, **named)
    text = next(one for one in done.gates if one["metric"] == "answers.containment")
    assert (text["outcome"], text["threshold"], text["kept"], text["judged"]) == ("fail", "0.80", True, True)
    assert done.verdict == "NO-SHIP"
    assert [one["num"] for one in done.gates if one["metric"] == "answers.precision"] == [1]
    alone = score(gold, wrong, **named, defaults=False)
    assert "answers.containment" not in [one["metric"] for one in alone.gates]
    throughout = score([gold[0], gold[2]], [CITED, silent], **named)
    assert "answers.containment" not in [one["metric"] for one in throughout.gates]


def test_a_policy_and_its_receipt_keep_the_gate_on_the_text_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_jsonl(Path("gold.jsonl"), [*MIXED, closed("u")])
    wrong = trace("b", "No idea at all", ["b2"], ["b2"])
    write_jsonl(Path("trace.jsonl"), [CITED, wrong, trace("u", "not in context", ["b1"], [])])
    gates = "".join(
        f'[[gate]]\nmetric = "{name}"\nmin = {least}\n' for name, least in (("precision", 0.8), ("chr", 0.7))
    )
    files = 'version = 1\n[answers]\ngold = "gold.jsonl"\ntraces = "trace.jsonl"\n'
    Path("ragworthy.toml").write_text(files + gates)
    done = run_cli("gate", "--full", "--unfrozen", "--no-history", "--receipt", "one.json")
    assert (done.code, "NO-SHIP: answers.containment fails" in done.out) == (1, True)
    assert run_cli("verify", "one.json").code == 0
    flags = ("--gates", "precision=0.8", "chr=0.7", "under=0.1", "over=0.1")
    args = ("--gold", "gold.jsonl", "--trace", "trace.jsonl", "-q", "--receipt", "two.json")
    assert run_cli("score", "answers", "--full", *args, *flags).code == 1
    asked = json.loads(Path("two.json").read_text())["request"]["gates"]
    assert [gate.get("replaces", False) for gate in asked] == [True, True, False, False]
    assert run_cli("verify", "two.json").code == 0


def test_a_set_with_evidence_throughout_has_no_gate_on_the_text() -> None:
    assert "answers.containment" not in [one["metric"] for one in score(MIXED[:1], [CITED]).gates]


def test_scope_is_checked_without_evidence_where_a_trace_lists_what_was_retrieved() -> None:
    stray = trace("b", "It has 64 characters", ["b2"], ["zzz"])
    done = score(MIXED, [CITED, stray])
    assert body(done)["labels"] == {"OK": 1, "OUT_OF_SCOPE": 1}
    steps = [(one["step"], one["left"], one["lost"], one["unknown"]) for one in body(done)["waterfall"]["steps"]]
    assert steps == [
        ("asked", 2, 0, 0), ("retrieved", 2, 0, 1), ("in_top", 2, 0, 1), ("in_scope", 1, 1, 0), ("cited", 1, 0, 0),
        ("right", 1, 0, 0),
    ]  # fmt: skip
    assert body(score(MIXED, [CITED, stray | {"retrieved_ids": None}]))["labels"] == {"OK": 2}


def test_citing_what_was_not_retrieved_fails_the_gate_on_the_text_in_every_suite() -> None:
    gold = [item("b", "64 characters")]
    for cited, verdict, right in ((["b2"], "SHIP", 1), (["zzz"], "NO-SHIP", 0)):
        one = trace("b", "It has 64 characters", ["b2"], cited)
        done = score(gold, [one], gates={"containment": 0.8}, defaults=False)
        assert (done.verdict, ratios(done, "containment")) == (verdict, [(right, 1)])
        timed = ragworthy.score("latency", gold=gold, runs=[one | {"e2e_ms": 100.0}], gates={"containment": 0.8})
        assert timed.report["suites"]["latency"]["metrics"]["answers.containment"]["num"] == right
        runs = [one | {"seed": seed} for seed in (0, 1)]
        stable = ragworthy.score("stability", gold=gold, runs=runs)
        assert stable.report["suites"]["stability"]["metrics"]["stability.acr"]["num"] == 2 * right
        assert stable.verdict == verdict
    found = stable.report["suites"]["stability"]
    assert found["labels"] == {"OUT_OF_SCOPE": 1}
    assert found["offenders"][0]["why"].startswith("cites an id that was not retrieved in 2 of 2 runs")
    with_evidence = score(MIXED[:1], [trace("a", "It holds 5 GB", ["b1"], ["b1", "zzz"])], gates={"containment": 0.8})
    assert ratios(with_evidence, "containment", "chr") == [(1, 1), (0, 1)]


def test_nothing_to_judge_by_stops_scoring() -> None:
    with pytest.raises(DataError) as caught:
        score([item("a", "x") | {"gold_claim_substr": []}], SAID[:1])
    assert "expected gold text or evidence for an answerable question, got neither [RW-G06]" in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"gold_evidence": "text"}, 'gold_evidence: expected a list of texts, got "text"'),
        ({"gold_evidence": [1]}, "gold_evidence[0]: expected a string, got 1"),
        ({"gold_source": "a.md"}, 'gold_source: expected a list of documents, got "a.md"'),
        ({"gold_source": [7]}, "gold_source[0]: expected a name or {doc, section?, page?}, got 7"),
        ({"gold_source": [{"page": 1}]},
         "gold_source[0].doc: expected a name or {doc, section?, page?}: a value, got nothing"),
        ({"gold_source": [{"doc": "a", "line": 1}]},
         "gold_source[0]: expected a name or {doc, section?, page?}: object contains unknown field line"),
        ({"gold_groups": ["a"]}, 'gold_groups[0]: expected a list of ids, got "a"'),
    ],
)  # fmt: skip
def test_wrong_shapes_are_named(fields: Row, message: str) -> None:
    with pytest.raises(DataError) as caught:
        score([item("a", "5 GB", **fields)], SAID[:1])
    assert str(caught.value).splitlines()[0] == f"<gold>:1: {message} [RW-G03]"


# other suites, receipts


def test_a_receipt_of_bound_evidence_verifies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, rows in (("gold", EVIDENCED), ("trace", TRACES), ("chunks", CHUNKS), ("text", TEXT), ("said", SAID)):
        write_jsonl(Path(f"{name}.jsonl"), rows)
    flags = ("--short-substr", "word", "-q", "--receipt")
    args = ("--gold", "gold.jsonl", "--trace", "trace.jsonl", "--corpus", "chunks.jsonl")
    run_cli("score", "answers", *args, *flags, "one.json")
    done = run_cli("verify", "one.json")
    assert (done.code, "verified: " in done.out) == (0, True)
    run_cli("score", "answers", "--gold", "text.jsonl", "--trace", "said.jsonl", *flags, "two.json")
    asked = json.loads(Path("two.json").read_text())["request"]["gates"]
    assert [gate.get("usual", False) for gate in asked] == [True, True, False, False]
    assert run_cli("verify", "two.json").code == 0
    write_jsonl(Path("chunks.jsonl"), CHUNKS[1:])
    assert run_cli("verify", "one.json").code == 1


def test_agreement_and_stability_judge_text_alone_by_its_text() -> None:
    done = ragworthy.score("agreement", gold=TEXT, traces=SAID, short_substr="word")
    votes = {row["qid"]: row["scholar"]["label"] for row in done.rows()}
    assert (votes["a"], votes["b"]) == ("VALID", "REJECT")
    runs = [trace("a", "It holds 5 GB", ["b1"]) | {"seed": seed} for seed in (0, 1)]
    stable = ragworthy.score("stability", gold=TEXT[:1], runs=runs, short_substr="word")
    metrics = stable.report["suites"]["stability"]["metrics"]
    assert metrics["stability.cghc"]["value"] is None
    assert metrics["stability.acr"]["value"] == 1
    assert metrics["stability.failing_questions"]["value"] == 0


def test_latency_judges_text_alone_by_its_text_and_binds_evidence() -> None:
    timed = [one | {"e2e_ms": 100.0} for one in SAID]
    done = ragworthy.score("latency", gold=TEXT, runs=timed, short_substr="word")
    metrics = done.report["suites"]["latency"]["metrics"]
    assert (metrics["answers.precision"]["value"], metrics["answers.precision"]["undefined"]) == (
        None, "no gold evidence",
    )  # fmt: skip
    judged = [one["metric"] for one in done.gates]
    assert "answers.containment" in judged
    assert "answers.precision" not in judged
    bound = [one | {"e2e_ms": 100.0} for one in TRACES]
    with_corpus = ragworthy.score("latency", gold=EVIDENCED, runs=bound, corpus=CHUNKS, short_substr="word")
    assert with_corpus.report["suites"]["latency"]["metrics"]["answers.chr"]["value"] == 1
