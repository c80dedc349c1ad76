"""The scholar and the auditor: what each of them looks at, and what they say of real answers."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from conftest import G1, G2, T1, T2, run_cli, write_jsonl
from places import DATA
from ragworthy.load.sources import open_source
from ragworthy.metrics.agreement import kappa
from ragworthy.metrics.facts.answers import Rules
from ragworthy.metrics.facts.arbitration import arbitrate, voted_of
from ragworthy.metrics.facts.raters import NoValue
from ragworthy.records import Answer, Gold, Pair, Trace
from ragworthy.suites.agreement.traced import pass_of, read_golds
from ragworthy.suites.agreement.validators import content_words, validators

GOLD = Gold(answerable=True, qid="q", gold_claim_substr=["rejects null keys"], gold_citations=["d#2"])
CLOSED = Gold(answerable=False, qid="q", gold_claim_substr=[], gold_citations=[])
RIGHT = "X rejects null keys."


def trace(claim: Any = RIGHT, citations: Any = ("d#2",), **fields: Any) -> Trace:
    given = list(citations) if isinstance(citations, tuple) else citations
    answer = Answer(claim, given, fields.get("echo"))
    return Trace(
        qid="q",
        retrieved_ids=fields.get("retrieved_ids", ["d#1", "d#2"]),
        answer_json=answer,
        error=fields.get("error"),
    )


def vote(gold: Gold, given: Trace | None, rules: Rules | None = None) -> Pair:
    return validators(rules or Rules()).vote(gold, given)


def said(pair: Pair) -> tuple[str, str]:
    assert pair.scholar is not None
    assert pair.auditor is not None
    return pair.scholar.label, pair.auditor.label


@pytest.mark.parametrize(
    ("gold", "given", "scholar", "auditor"),
    [
        (GOLD, trace(), "VALID", "VALID"),
        (GOLD, trace("X takes null keys."), "REJECT", "VALID"),
        (GOLD, trace(citations=("d#1",)), "REJECT", "VALID"),
        (GOLD, trace(citations=("d#9",)), "REJECT", "REJECT"),
        (GOLD, trace(citations=("d#2", "d#9")), "REJECT", "REJECT"),
        (GOLD, trace(citations=()), "REJECT", "REJECT"),
        (GOLD, trace(citations="d#2"), "REJECT", "REJECT"),
        (GOLD, trace(retrieved_ids=None), "REJECT", "REJECT"),
        (GOLD, trace("not in context", ()), "NOT_IN_CONTEXT", "NOT_IN_CONTEXT"),
        (GOLD, trace("not in context", ("d#2",)), "NOT_IN_CONTEXT", "REJECT"),
        (GOLD, trace("", ()), "ABSTAIN", "REJECT"),
        (GOLD, trace(None), "ABSTAIN", "REJECT"),
        (GOLD, trace(error="timeout"), "ABSTAIN", "REJECT"),
        (GOLD, None, "ABSTAIN", "ABSTAIN"),
        (CLOSED, trace("not in context", ()), "NOT_IN_CONTEXT", "NOT_IN_CONTEXT"),
        (CLOSED, trace(), "REJECT", "VALID"),
    ],
)
def test_what_they_say(gold: Gold, given: Trace | None, scholar: str, auditor: str) -> None:
    assert said(vote(gold, given)) == (scholar, auditor)


def test_every_vote_has_a_reason() -> None:
    pair = vote(GOLD, trace("not in context", ()))
    assert pair.scholar is not None
    assert pair.scholar.reason == "refused, although the evidence was retrieved"
    pair = vote(GOLD, trace(citations=("d#9",)))
    assert pair.auditor is not None
    assert pair.auditor.reason == "cites what was not retrieved"


def test_the_auditor_never_looks_at_the_gold_text_nor_at_the_evidence() -> None:
    other = Gold(answerable=False, qid="q", gold_claim_substr=["something else"], gold_citations=["z#1"])
    for given in (trace(), trace("no"), trace(citations=("d#9",)), trace("not in context", ()), None):
        assert vote(GOLD, given).auditor == vote(other, given).auditor


def test_constraints_are_checked_where_they_are_enforced() -> None:
    locked = Gold(answerable=True, qid="q", gold_claim_substr=["null keys"], gold_citations=["d#2"], constraints=["A."])
    enforced = Rules(scu=True)
    assert said(vote(locked, trace(echo=["A."]), enforced)) == ("VALID", "VALID")
    broken = vote(locked, trace(echo=["B."]), enforced)
    assert said(broken) == ("VALID", "REJECT")
    assert broken.flags == {"provenance_violation": False, "constraints_mismatch": True}
    assert arbitrate(voted_of(broken)).why == "hard_flag"
    assert said(vote(locked, trace(echo=["B."]))) == ("VALID", "VALID")


@pytest.mark.parametrize("citations", [("d#9",), "d#2", ({"id": 1},), ("d#2",), ()])
def test_what_an_errored_trace_cites_does_not_decide(citations: Any) -> None:
    pair = vote(GOLD, trace(citations=citations, error="timeout"))
    final = arbitrate(voted_of(pair))
    assert (said(pair), pair.answer_json) == (("ABSTAIN", "REJECT"), None)
    assert (final.label, final.why) == ("REJECT", "auditor_veto")


CHUNKS = {"d#1": "Other things.", "d#2": "The map X rejects null keys at once."}


def test_with_a_corpus_citations_are_looked_up() -> None:
    rules = Rules(chunks=CHUNKS)
    assert said(vote(GOLD, trace(), rules)) == ("VALID", "VALID")
    gone = vote(GOLD, trace(citations=("d#7",), retrieved_ids=["d#7"]), rules)
    assert gone.flags == {"provenance_violation": True, "constraints_mismatch": False}
    assert gone.auditor is not None
    assert gone.auditor.reason == "cites d#7, which the corpus does not have"
    assert arbitrate(voted_of(gone)).why == "hard_flag"


def test_a_revision_in_an_id_is_no_other_chunk() -> None:
    rules = Rules(chunks={"docA|s=1.2|p=002|b=007": "It rejects null keys."})
    cited = "docA|r=8c1e9a02|s=1.2|p=002|b=007"
    pair = vote(GOLD, trace("rejects null keys", (cited,), retrieved_ids=[cited]), rules)
    assert said(pair)[1] == "VALID"


def test_half_of_the_content_words_must_be_in_the_cited_chunks() -> None:
    rules = Rules(chunks=CHUNKS)
    half = trace("rejects keys before breakfast")
    less = trace("rejects anything before breakfast")
    assert said(vote(GOLD, half, rules))[1] == "VALID"  # rejects, keys of rejects, keys, before, breakfast
    pair = vote(GOLD, less, rules)
    assert pair.auditor is not None
    assert (pair.auditor.label, pair.auditor.reason) == (
        "REJECT",
        "fewer than 1/2 of its content words are in the chunks it cites",
    )
    assert pair.flags == {"provenance_violation": False, "constraints_mismatch": False}


@pytest.mark.parametrize("text", ["", " \n", "—…!"])
def test_the_auditor_abstains_where_there_is_no_text_to_look_at(text: str) -> None:
    rules = Rules(chunks={"d#1": "Other things.", "d#2": text})
    pair = vote(GOLD, trace(), rules)
    assert pair.auditor is not None
    assert (pair.auditor.label, pair.auditor.reason) == ("ABSTAIN", "the chunks it cites have no text")
    assert pair.flags == {"provenance_violation": False, "constraints_mismatch": False}
    both = vote(GOLD, trace(citations=("d#1", "d#2")), rules)
    assert said(both)[1] == "REJECT"  # one of them has a text, and it is about something else


def test_content_words_of_other_scripts() -> None:
    assert content_words("他住在北京") == {"他住", "住在", "在北", "北京"}
    assert content_words("in at") == {"in", "at"}
    assert content_words("at 7 am") == {"7"}


# through the whole suite


@pytest.fixture
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def score(*args: object) -> tuple[int, dict[str, Any], dict[str, Any]]:
    done = run_cli("score", "agreement", *args, "--format", "json")
    assert done.err == ""
    report = json.loads(done.out)
    return done.code, report, report["suites"]["agreement"]


@pytest.mark.usefixtures("_folder")
def test_an_error_of_a_trace_without_a_question_is_no_error_of_a_question() -> None:
    gold = write_jsonl(Path("gold.jsonl"), [G1(), G2()])
    traces = write_jsonl(Path("trace.jsonl"), [T1(), T2(), {"qid": "stray", "error": "boom"}])
    code, _, body = score("--gold", gold, "--trace", traces)
    assert (code, body["counts"]["errored"], body["counts"]["orphan_traces"]) == (0, 0, 1)
    ledger = body["metrics"]["agreement.percent"]["ledger"]
    assert (ledger["expected"], ledger["scored"], ledger["errored"]) == (2, 2, 0)


@pytest.mark.usefixtures("_folder")
def test_votes_on_traces_are_pairs_that_score_the_same() -> None:
    gold = write_jsonl(Path("gold.jsonl"), [G1() | {"topic": "keys"}, G2() | {"topic": "z"}])
    traces = write_jsonl(Path("trace.jsonl"), [T2(), T1(), T1(), {"qid": "stray", "answer_json": {}}])
    code, report, body = score("--gold", gold, "--trace", traces, "--pairs-out", "pairs.jsonl", "--slice", "topic")
    assert (code, report["verdict"]) == (0, "SHIP")
    assert [(one["role"], one["records"]) for one in body["inputs"]] == [("gold", 2), ("trace", 4)]
    assert body["finals"] == {"VALID": 1, "NOT_IN_CONTEXT": 1}
    assert (body["counts"]["duplicates"], body["counts"]["orphan_traces"]) == (1, 1)
    assert {one["code"] for one in body["warnings"]} >= {"RW-W06", "RW-W07", "RW-W13", "RW-W14"}
    assert list(body["slices"]) == ["topic=keys", "topic=z"]
    assert body["slices"]["topic=z"]["agreement.percent"]["num"] == 1
    _, _, again = score("--pairs", "pairs.jsonl")
    for key in ("finals", "why", "confusion", "disagreements", "labels"):
        assert again[key] == body[key]
    assert again["metrics"]["agreement.kappa"]["exact"] == body["metrics"]["agreement.kappa"]["exact"] == "1/1"


@pytest.mark.usefixtures("_folder")
def test_a_question_without_a_trace_is_an_abstention_and_no_evidence() -> None:
    gold, traces = write_jsonl(Path("gold.jsonl"), [G1(), G2()]), write_jsonl(Path("trace.jsonl"), [T1()])
    code, report, body = score("--gold", gold, "--trace", traces)
    assert (code, report["invalid"]) == (4, ["1 question has no trace"])
    assert (body["counts"]["missing"], body["counts"]["abstained"]) == (1, 1)
    assert body["metrics"]["agreement.percent"]["ledger"]["missing"] == 1


@pytest.mark.usefixtures("_folder")
def test_a_row_gives_the_error_of_a_trace_as_the_reason_not_what_it_cites() -> None:
    gold = write_jsonl(Path("gold.jsonl"), [G1()])
    answer = {"claim": "X rejects null keys.", "citations": ["nowhere#1"]}
    whys = []
    for error in (None, "timeout"):
        traces = write_jsonl(Path("trace.jsonl"), [T1() | {"answer_json": answer, "error": error}])
        _, _, body = score("--gold", gold, "--trace", traces)
        whys.append(body["why"])
    assert whys == [{"citation_out_of_scope": 1}, {"auditor_veto": 1}]


@pytest.mark.usefixtures("_folder")
def test_a_receipt_over_traces_and_corpus_verifies() -> None:
    gold, traces = write_jsonl(Path("gold.jsonl"), [G1(), G2()]), write_jsonl(Path("trace.jsonl"), [T1(), T2()])
    corpus = write_jsonl(Path("chunks.jsonl"), [{"chunk_id": "p1#2", "text": "X rejects null keys."}])
    args = ("--gold", gold, "--trace", traces, "--corpus", corpus, "--receipt", "r.json")
    _, _, body = score(*args)
    assert body["inputs"][-1]["role"] == "corpus"
    assert run_cli("verify", "r.json").code == 0
    write_jsonl(Path("chunks.jsonl"), [{"chunk_id": "p1#2", "text": "Nothing of the kind."}])
    assert run_cli("verify", "r.json").code == 1
    assert score(*args)[2]["disagreements"][0]["why"] == "auditor_veto"


@pytest.mark.usefixtures("_folder")
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([G1(), G1()], 'gold.jsonl:2: qid: expected a unique id, got "A0001" again [RW-G02]'),
        ([G1() | {"qid": ""}], "gold.jsonl:1: qid: expected a non-empty string, got nothing [RW-G01]"),
        (
            [G1() | {"gold_citations": [], "gold_claim_substr": []}],
            "gold.jsonl:1: gold_citations: "
            "expected gold text or evidence for an answerable question, got neither [RW-G06]",
        ),
        ([], "gold.jsonl: expected gold records, got none [RW-G05]"),
    ],
)
def test_a_wrong_gold_set_stops_the_vote(rows: list[dict[str, Any]], message: str) -> None:
    gold, traces = write_jsonl(Path("gold.jsonl"), rows), write_jsonl(Path("trace.jsonl"), [T1()])
    done = run_cli("score", "agreement", "--gold", gold, "--trace", traces)
    assert (done.code, done.err.splitlines()[0]) == (2, message)


@pytest.mark.usefixtures("_folder")
def test_a_trace_without_an_id_stops_the_vote() -> None:
    gold, traces = write_jsonl(Path("gold.jsonl"), [G1()]), write_jsonl(Path("trace.jsonl"), [T1() | {"qid": ""}])
    done = run_cli("score", "agreement", "--gold", gold, "--trace", traces)
    assert done.err.splitlines()[0] == "trace.jsonl:1: qid: expected a non-empty string, got nothing [RW-T01]"


@pytest.mark.usefixtures("_folder")
def test_slices_need_a_field_of_the_gold_set() -> None:
    gold, traces = write_jsonl(Path("gold.jsonl"), [G1()]), write_jsonl(Path("trace.jsonl"), [T1()])
    done = run_cli("score", "agreement", "--gold", gold, "--trace", traces, "--slice", "topic")
    assert done.code == 2
    assert 'agreement.slices: expected a field that gold items have, got "topic" [RW-P03]' in done.err


@pytest.mark.usefixtures("_folder")
def test_slices_by_a_field_with_too_many_values_are_refused() -> None:
    gold = write_jsonl(Path("gold.jsonl"), [G1() | {"qid": f"q{nth}", "topic": nth} for nth in range(201)])
    traces = write_jsonl(Path("trace.jsonl"), [T1() | {"qid": f"q{nth}"} for nth in range(201)])
    done = run_cli("score", "agreement", "--gold", gold, "--trace", traces, "--slice", "topic")
    assert done.code == 2
    message = "expected at most 200 slices, got 201: slice by a field with fewer values [RW-P03]"
    assert f"agreement.slices: {message}" in done.err


# real answers


def real(name: str) -> list[Pair]:
    """The votes on one file of real answers to SQuAD 2.0 questions."""
    folder = DATA / "squad2" / "dev"
    path = folder / name if (folder / name).is_file() else DATA / "llm_answers" / "qwen3_squad2" / "dev" / name
    rules = Rules(short_words=True)
    gold, traces = open_source("gold", folder / "gold.jsonl.gz"), open_source("trace", path)
    golds = read_golds(gold, rules, allow_errors=True)
    votes = pass_of(traces, golds, rules).work(0, 1, None).votes
    return [votes[qid] for qid in golds.by_id if qid in votes]


@pytest.mark.data("data/squad2/dev")
def test_real_answers_of_a_reader() -> None:
    """BERT on 6,608 questions: every refusal is exact, and the auditor cannot see a wrong span."""
    pairs = [voted_of(pair) for pair in real("trace_bert_single.jsonl.gz")]
    counts = {
        both: sum((one.scholar, one.auditor) == both for one in pairs)
        for both in {(p.scholar, p.auditor) for p in pairs}
    }
    assert counts == {("NOT_IN_CONTEXT", "NOT_IN_CONTEXT"): 3157, ("VALID", "VALID"): 2677, ("REJECT", "VALID"): 774}
    found = kappa(pairs)
    assert isinstance(found, Fraction)
    assert round(float(found), 4) == 0.7909
    assert {arbitrate(one).why for one in pairs} == {"agreed_refusal", "auditor_ok", "incoherent_pair"}


@pytest.mark.data("data/squad2/dev", "data/llm_answers/qwen3_squad2/dev")
def test_real_answers_that_cite_nothing_are_rejected_by_both() -> None:
    """These files have no citations, so complete agreement says nothing of the claims: only that none may ship."""
    pairs = [voted_of(pair) for pair in real("trace.qwen3-0.6b.config1.jsonl")]
    assert {(one.scholar, one.auditor) for one in pairs} == {("REJECT", "REJECT")}
    assert {one.reasons[1] for one in pairs} == {"cites nothing"}
    assert len(pairs) == 100
    assert kappa(pairs) is NoValue.ONE_LABEL
