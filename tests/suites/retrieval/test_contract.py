"""The traceability contract: payloads as the pages write them, what its validator finds, answers that cite first."""

import json
from pathlib import Path
from typing import Any

import pytest

import ragworthy as rw
from conftest import run_cli, write_jsonl
from ragworthy.codes import CATALOGUE
from ragworthy.metrics.facts.contract import MEANS
from ragworthy.suites.retrieval.units import byte_range

Row = dict[str, Any]
PAYLOAD: Row = {
    "doc_id": "handbook_2024",
    "section_id": "S.4",
    "snippet_id": "S.4.p.Bk001",
    "source_url": "https://example.org/handbook#security-keys",
    "offsets": {"start": 2310, "end": 2688, "unit": "byte"},
    "tokens": 188,
    "index_hash": "faiss:2f7d",
    "embed_model": "bge-large-en-v1.5:mean",
    "analyzer": "lowercase+ascii_fold",
    "rev": "3b91f2a",
    "score_raw": 0.8421,
    "score_norm": 0.78,
}
"""The JSON shape of GlobalFixMap/Retrieval/retrieval-traceability.md, with an id that says its section."""
GOLD = [{"qid": "Q1", "relevant": ["S.4.p.Bk001"], "anchor_section": "S.4",
         "relevant_offsets": {"S.4.p.Bk001": [2310, 2688]}}]  # fmt: skip


def trace(*citations: Row | str, qid: str = "Q1", claim: str = "Hardware keys are required.", **more: Any) -> Row:
    """The auditable answer format of the page."""
    answer = {"citations": list(citations), "answer": claim, "ΔS": 0.37, "λ": "convergent"}
    return {"qid": qid, "topk": [{"id": "S.4.p.Bk001"}], "index_hash": "faiss:2f7d", "answer": answer, **more}


def scored(*traces: Row, gold: list[Row] = GOLD, **more: Any) -> Any:
    return rw.score("retrieval", gold=gold, traces=list(traces), gates="recall@5=0.5", defaults=False, **more)


def body(result: Any) -> Row:
    found: Row = result.report["suites"]["retrieval"]
    return found


def without(*names: str) -> Row:
    return {key: value for key, value in PAYLOAD.items() if key not in names}


BROKEN = {
    "empty_citations": [trace()],
    "missing_section_id": [trace(without("section_id"))],
    "missing_source_url": [trace(without("source_url"))],
    "missing_offsets": [trace(without("offsets"))],
    "missing_tokens": [trace(without("tokens"))],
    "bad_offsets": [trace(PAYLOAD | {"offsets": {"start": 0, "end": 0}})],
    "cross_section_reuse": [trace(PAYLOAD, PAYLOAD | {"snippet_id": "S.5.p.Bk001", "section_id": "S.5"})],
    "missing_score": [trace(without("score_raw", "score_norm"))],
    "mismatch_index_hash": [trace(PAYLOAD | {"index_hash": "faiss:other"})],
    "analyzer_mismatch": [trace(PAYLOAD, analyzer="icu")],
}


def test_every_code_of_the_validator_has_a_case() -> None:
    assert [*BROKEN] == [*MEANS]


@pytest.mark.parametrize("code", BROKEN)
def test_what_breaks_the_contract_is_counted_and_named(code: str) -> None:
    # a second question keeps the contract, so that the file speaks it
    other = GOLD[0] | {"qid": "Q2"}
    result = scored(*BROKEN[code], trace(PAYLOAD, qid="Q2"), gold=[*GOLD, other])
    assert body(result)["contract"] == {"ok": 1, code: 1}
    found = [one for one in body(result)["warnings"] if one["code"] == "RW-W143"]
    assert [(one["count"], one["message"]) for one in found] == [(1, f"{code}: 1 answer: {MEANS[code]}")]
    traceable = result.metrics["retrieval.traceable"]
    assert (traceable.num, traceable.den) == (1, 2)


def test_what_the_log_says_need_not_be_repeated() -> None:
    bare = without("score_raw", "score_norm", "index_hash", "analyzer", "embed_model", "rev", "doc_id")
    logged = trace(bare, topk=[{"snippet_id": "S.4.p.Bk001", "score_raw": 0.8}])
    several = trace(PAYLOAD, PAYLOAD | {"section_id": "S.5"}, allow_cross_section=True)
    assert body(scored(logged))["contract"] == {"ok": 1}
    assert body(scored(several))["contract"] == {"ok": 1}


def test_a_payload_scores_as_plain_ids_and_bytes_do() -> None:
    plain = scored(trace({"id": "S.4.p.Bk001", "offsets": [2310, 2688]}))
    whole = scored(trace(PAYLOAD))
    other = {name: one for name, one in whole.metrics.items() if name != "retrieval.traceable"}
    assert plain.metrics == other
    assert other["retrieval.citation_exact"].value == 1
    assert "retrieval.traceable" not in plain.metrics and body(plain)["contract"] is None


def test_answers_that_cite_first_are_a_gate_and_a_row(tmp_path: Path) -> None:
    gold = [GOLD[0] | {"qid": f"Q{n}"} for n in range(1, 6)]
    traces = [
        trace("S.4.p.Bk001", qid="Q1"),  # cites
        trace(qid="Q2"),  # claims, and cites nothing
        trace(qid="Q3", claim="not in context"),  # a refusal is not an answer
        trace("S.4.p.Bk001", qid="Q4", claim=""),  # cites, and leaves the rest to the reader
        {"qid": "Q5", "topk": [], "error": "timeout"},  # an error counts against it
    ]
    write_jsonl(tmp_path / "gold.jsonl", gold)
    write_jsonl(tmp_path / "trace.jsonl", traces)
    done = run_cli("score", "retrieval", "--gold", tmp_path / "gold.jsonl", "--trace", tmp_path / "trace.jsonl",
                   "--gates", "cite_first=1", "--no-default-gates", "--full",
                   "--rows", tmp_path / "rows.jsonl")  # fmt: skip
    assert done.code == 1
    assert "retrieval.cite_first  fail     0.5    2/4" in done.out
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert {row["qid"]: row["metrics"].get("retrieval.cite_first") for row in rows} == {
        "Q1": 1, "Q2": 0, "Q3": None, "Q4": 1, "Q5": 0,
    }  # fmt: skip


def test_without_claims_nobody_can_tell_who_cites_first() -> None:
    bare = {"qid": "Q1", "topk": [{"id": "S.4.p.Bk001"}], "answer_citations": ["S.4.p.Bk001"]}
    result = rw.score("retrieval", gold=GOLD, traces=[bare], packs=["cite-first"], defaults=False)
    assert [(one["metric"], one["outcome"], one["reason"]) for one in result.gates[:2]] == [
        ("retrieval.cite_first", "not_measured", "no trace holds what was answered (answer_json.claim)"),
        ("retrieval.traceable", "not_measured",
         "no citation carries the traceability payload (section_id, source_url, offsets, tokens)"),
    ]  # fmt: skip
    near = [trace(PAYLOAD) | {"ΔS": [0.2]}]
    assert rw.score("retrieval", gold=GOLD, traces=near, packs=["cite-first"], defaults=False).verdict == "SHIP"


def test_errors_count_against_the_contract() -> None:
    gold = [GOLD[0] | {"qid": f"Q{n}"} for n in range(1, 11)]
    traces = [trace(PAYLOAD, qid=f"Q{n}") for n in range(1, 7)]
    traces += [{"qid": f"Q{n}", "topk": [], "error": "timeout"} for n in range(7, 11)]
    result = rw.score("retrieval", gold=gold, traces=traces, packs=["cite-first"], defaults=False)
    assert [(one["metric"], one["outcome"], one["value"]) for one in result.gates[:2]] == [
        ("retrieval.cite_first", "fail", 0.6),
        ("retrieval.traceable", "fail", 0.6),
    ]


# characters, tokens


TEXT = "# Käse\n\nÖl und Käse stehen im Kühlschrank, sagte Zoë gestern.\n\nWein steht im Keller.\n"


def test_characters_become_bytes_through_the_canonical_text(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text(TEXT, encoding="utf-8")
    build = ("index", "build", "--docs", tmp_path / "docs", "--out", tmp_path / "index", "--dense", "none")
    assert run_cli(*build).code == 0
    chunks = [json.loads(line) for line in (tmp_path / "index" / "chunks.jsonl").read_text().splitlines()]
    wine = next(one for one in chunks if one["text"].startswith("Wein"))
    name, begin = wine["chunk_id"], TEXT.index("Wein")
    gold = [{"qid": "Q1", "question": "Where is the wine?", "relevant": [name]}]
    cited = {"snippet_id": name, "offsets": {"start": begin, "end": begin + 21, "unit": "char"}}
    asked = {"qid": "Q1", "topk": [{"id": name}], "answer_citations": [cited]}
    assert (begin, begin + 21) != tuple(wine["offsets"])
    result = scored(asked, gold=gold, corpus=tmp_path / "index")
    assert result.metrics["retrieval.citation_exact"].value == 1
    assert "RW-W144" not in {one["code"] for one in body(result)["warnings"]}
    alone = scored(asked, gold=gold)
    warning = next(one for one in body(alone)["warnings"] if one["code"] == "RW-W144")
    assert warning["message"] == "1 range was left out: characters, of a text that is not at hand"


@pytest.mark.parametrize("span", [(0, 0), (0, 1), (2, 9), (1, len(TEXT)), (len(TEXT), len(TEXT))])
def test_a_range_of_characters_cuts_the_same_text_from_the_bytes(span: tuple[int, int]) -> None:
    found = byte_range(TEXT.encode(), span)
    assert found is not None
    assert TEXT.encode()[slice(*found)].decode() == TEXT[slice(*span)]


def test_tokens_are_refused(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "gold.jsonl", GOLD)
    write_jsonl(tmp_path / "trace.jsonl", [trace(PAYLOAD | {"offsets": {"start": 1, "end": 9, "unit": "token"}})])
    done = run_cli("score", "retrieval", "--gold", tmp_path / "gold.jsonl", "--trace", tmp_path / "trace.jsonl")
    place = f"{tmp_path / 'trace.jsonl'}:1: answer.citations[0].offsets.unit"
    code = CATALOGUE["RW-T20"]
    assert (done.code, done.err) == (
        2, f'{place}: expected "byte" or "char", got "token" [RW-T20]\n  {code.name}: {code.do}\n'
    )  # fmt: skip


# answers


@pytest.mark.parametrize("jobs", [1, 2])
def test_answers_take_payloads_by_their_snippet_id(jobs: int) -> None:
    gold = [{"qid": f"A{n}", "answerable": True, "gold_claim_substr": ["required"], "gold_citations": ["S.4.p.Bk001"]}
            for n in range(40)]  # fmt: skip
    answer = {"claim": "Keys are required.", "citations": [PAYLOAD]}
    traces = [{"qid": f"A{n}", "retrieved_ids": ["S.4.p.Bk001"], "answer_json": answer} for n in range(40)]
    plain = [one | {"answer_json": answer | {"citations": ["S.4.p.Bk001"]}} for one in traces]
    found, wanted = (rw.score("answers", gold=gold, traces=some, jobs=jobs).metrics for some in (traces, plain))
    assert found == wanted and found["answers.precision"].value == 1


@pytest.mark.parametrize(
    "offsets", [[200, 100], [100, 100], {"start": 200, "end": 100}, {"start": 200, "end": 100, "unit": "char"}]
)
def test_a_range_that_is_none_is_a_finding_of_its_answer_and_no_error_of_the_file(offsets: Any) -> None:
    gold = [GOLD[0], GOLD[0] | {"qid": "Q2"}]
    found = scored(trace(PAYLOAD | {"offsets": offsets}), trace(PAYLOAD, qid="Q2"), gold=gold)
    counts = body(found)["contract"]
    assert counts["bad_offsets"] == 1 and counts["ok"] == 1
    metrics = body(found)["metrics"]
    assert metrics["retrieval.traceable"]["value"] == metrics["retrieval.citation_accuracy"]["value"] == 0.5


def test_where_all_answers_refuse_nothing_has_to_cite_first() -> None:
    found = rw.score(
        "retrieval", gold=GOLD, traces=[trace(claim="not in context")], gates="cite_first=1", defaults=False
    )
    assert body(found)["metrics"]["retrieval.cite_first"]["undefined"] == (
        "every answer is a refusal, which needs no citation"
    )


def test_answers_that_cite_nothing_at_all_break_the_contract() -> None:
    result = rw.score("retrieval", gold=GOLD, traces=[trace()], packs=["cite-first"], defaults=False)
    assert [(one["metric"], one["outcome"]) for one in result.gates[:2]] == [
        ("retrieval.cite_first", "fail"),
        ("retrieval.traceable", "fail"),
    ]
    assert body(result)["contract"] == {"empty_citations": 1}
