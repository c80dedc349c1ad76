"""What a live record says: unknown is not zero, citations are valid or not, wordings and orders are compared."""

from typing import Any

import msgspec
import pytest

from live_logs import record
from ragworthy.live.minutes import FIELDS, unit_of
from ragworthy.live.records import Memory, Reader, Settings
from ragworthy.live.shapes import Live
from ragworthy.load.refusal_packs import load_refusal_pack
from ragworthy.metrics.facts.refusals import Refusals


def said(given: dict[str, Any], memory: Memory | None = None, settings: Settings | None = None) -> dict[str, float]:
    """The numbers that a record has, by field."""
    reader = Reader(msgspec.convert(given, Live), settings or Settings())
    units = reader.units(memory or Memory())
    return {
        field: value / unit_of(field) for field, value in zip(FIELDS, units, strict=True) if value is not None
    }  # fmt: skip


def test_a_record_of_the_sources() -> None:
    assert said(record(0)) == {
        "coverage": 0.9, "delta_s": 0.2, "diverged": 0, "accurate": 1, "retrieve_ms": 50, "reason_ms": 400,
        "e2e_ms": 450, "cited": 1, "error": 0, "empty": 0, "unauthorised": 0, "valid": 1,
    }  # fmt: skip


def test_what_is_not_said_is_unknown_and_not_zero() -> None:
    assert said({"qid": "q"}) == {"error": 0, "unauthorised": 0}
    assert said({"qid": "q", "retrieval": {"topk": []}})["empty"] == 1
    assert said({"qid": "q", "retrieval": {"topk": []}, "error": "boom"})["empty"] == 1
    assert "coverage" not in said(record(0, answer={"coverage": None}))


@pytest.mark.parametrize(
    ("error", "unauthorised"),
    [
        ("boom", 0),
        ({"status": 401}, 1),
        ({"status": 500}, 0),
        ({"code": "401"}, 1),
        (401, 1),
        ("HTTP 401: no key", 1),
        ("401 Unauthorized", 1),
        ({"message": "Unauthorised (401)"}, 1),
        ("401 chunks missing", 0),
    ],
)
def test_an_error_is_no_answer(error: Any, unauthorised: int) -> None:
    found = said(record(0, error=error))
    assert (found["error"], found["unauthorised"]) == (1, unauthorised)
    assert found.keys().isdisjoint({"coverage", "delta_s", "accurate", "cited", "valid", "refused"})
    assert found["retrieve_ms"] == 50


@pytest.mark.parametrize(
    ("citations", "valid", "cited"),
    [
        (["a#1"], 1, 1),
        (["a#1", "b#1"], 1, 1),
        (["a#1", "z#9"], 0, 1),  # one was not retrieved
        (["z#9"], 0, 0),
        ([], 0, 0),
        ([""], 0, 0),
        ([{"id": "a#1"}], 1, 1),
        ([{"chunk_id": "a#1", "in_scope": False}], 0, 1),
        ([{"snippet_id": "b#1", "in_scope": True}], 1, 1),
    ],
)
def test_citations_resolve_were_retrieved_and_lie_in_scope(citations: Any, valid: int, cited: int) -> None:
    found = said(record(0, answer={"citations": citations}))
    assert (found["valid"], found["cited"], found["accurate"]) == (valid, cited, valid)


def test_a_citation_resolves_where_the_corpus_has_it() -> None:
    found = said(record(0), settings=Settings(known=frozenset(["b#1"])))
    assert (found["valid"], found["cited"]) == (0, 0)


def test_a_record_that_knows_its_accuracy_says_it() -> None:
    found = said(record(0, answer={"accurate": False}))
    assert (found["accurate"], found["valid"]) == (0, 1)


def test_refusals_and_what_reads_like_one() -> None:
    english = Settings(refusals=Refusals(packs=(load_refusal_pack("en"),)))
    texts = {
        "Not in context": (1, 0),
        "I could not find this in the documents.": (0, 1),
        "45 days.": (0, 0),
    }
    for claim, (refused, near) in texts.items():
        found = said(record(0, answer={"claim": claim}))
        assert (found["refused"], found["near_refused"]) == (refused, near)
        assert ("coverage" in found) is not bool(refused)
    found = said(record(0, answer={"claim": "I could not find this in the documents."}), settings=english)
    assert (found["refused"], found["near_refused"]) == (1, 0)
    assert said(record(0, answer={"refused": True}))["refused"] == 1
    assert "near_refused" not in said(record(0, answer={"refused": True}))


def test_the_distance_is_that_of_the_chosen_citation() -> None:
    assert said(record(0, answer={"ΔS": None, "citations": ["b#1"]}))["delta_s"] == 0.5
    assert "delta_s" not in said(record(0, answer={"ΔS": None, "citations": ["z"]}))


@pytest.mark.parametrize("field", ["answer.coverage", "answer.ΔS", "perf.t_reason_ms"])
@pytest.mark.parametrize("value", [-1, 1e12])
def test_a_number_out_of_its_range_is_unknown(field: str, value: float) -> None:
    part, _, name = field.partition(".")
    given = record(0)
    given[part] = given[part] | {name: value}
    reader = Reader(msgspec.convert(given, Live), Settings())
    units = dict(zip(FIELDS, reader.units(Memory()), strict=True))
    assert reader.odd == name
    assert units[{"coverage": "coverage", "ΔS": "delta_s", "t_reason_ms": "reason_ms"}[name]] is None


def test_tau_is_against_the_run_before_by_w48() -> None:
    memory = Memory()
    runs = ("abcd", "abdc", "abdc", "wxyz")
    taus = [said(record(0, retrieval={"topk": list(order)}), memory).get("tau") for order in runs]
    assert taus[0] is None
    assert taus[1] == pytest.approx(0.666667)
    assert taus[2] == 1
    assert taus[3] is not None and taus[3] < 0
    memory = Memory()
    orders = [said(record(0, retrieval={"topk": list(order)}), memory).get("tau") for order in ("abcd", "abce")]
    assert orders == [None, pytest.approx(0.8)]


def test_the_memory_is_bounded_and_goes_on_from_plain_values() -> None:
    memory = Memory()
    for n in range(10_000):
        said(record(0, f"q{n}", paraphrase=0, retrieval={"topk": ["x" * 5000, f"{n}"]}), memory)
    assert len(memory.orders) == len(memory.wordings) == 4096
    state = msgspec.json.encode(memory.state())
    assert len(state) < 1 << 20
    again = Memory.restore(msgspec.json.decode(state))
    assert again.state() == memory.state()


@pytest.mark.parametrize(
    ("cited", "diverged"),
    [
        (["S.4.2.p.Bk1", "S.4.2.p.Bk2", "S.4.2.p.Bk3"], 0),
        (["S.4.2.p.Bk1", "S.4.2.p.Bk2", "S.4.1.p.Bk3"], 1),
        (["c1", "c1", "c1"], 0),
        (["c1", "c1", "c2"], 1),
    ],
)
def test_three_wordings_make_a_triplet(cited: list[str], diverged: int) -> None:
    memory = Memory()
    told = [
        said(record(0, seed=7, paraphrase=n, answer={"citations": [name]}), memory).get("diverged")
        for n, name in enumerate([*cited, *cited])
    ]
    assert told == [None, None, diverged] * 2
    nothing = [
        said(record(0, seed=7, paraphrase=n, answer={"citations": []}), memory).get("diverged") for n in range(3)
    ]
    assert nothing == [None, None, 1]


def test_a_declared_mark_stands_where_no_wordings_are_mirrored() -> None:
    assert said(record(0, answer={"λ_final": "<>"}))["diverged"] == 1
    assert said(record(0, answer={"λ_final": "convergent"}))["diverged"] == 0
    assert "diverged" not in said(record(0, answer={"λ_final": "?"}))


def test_a_record_without_a_whole_time_took_as_long_as_its_stages() -> None:
    assert said(record(0, perf={"t_retrieve_ms": 41, "t_reason_ms": 820}))["e2e_ms"] == 861
    assert said(record(0, perf={"t_retrieve_ms": 41, "t_reason_ms": 820, "e2e_ms": 903}))["e2e_ms"] == 903
    assert "e2e_ms" not in said(record(0, perf={"t_retrieve_ms": None}))


def test_a_trace_of_a_run() -> None:
    trace = {
        "qid": "q", "q": "What?", "retrieved_ids": ["a", "b"], "index_hash": "h", "e2e_ms": 812.5,
        "answer_json": {"claim": "One.", "citations": ["b"]}, "stage_ms": {"retrieval": 12, "llm": 700},
        "started": "2026-03-02T12:00:00+00:00",
    }  # fmt: skip
    found = said(trace)
    assert (found["e2e_ms"], found["retrieve_ms"], found["reason_ms"]) == (812.5, 12, 700)
    assert (found["valid"], found["refused"]) == (1, 0)
    reader = Reader(msgspec.convert(trace, Live), Settings())
    assert reader.time == trace["started"]
    assert reader.built == ("", "h")
    assert reader.question == "What?"


def test_keys_tell_records_apart() -> None:
    def key(at: int = 1, **more: Any) -> int | None:
        return Reader(msgspec.convert(record(0, **more), Live), Settings()).key(at)

    assert key() == key()
    others = [
        key(2), key(question="Else?"), key(retrieval={"index_hash": "h2"}), key(answer={"citations": ["b#1"]}),
        key(context={"client": "d"}), key(qid="q2"), key(paraphrase=1), key(seed=1),
    ]  # fmt: skip
    assert len({key(), *others}) == 9
    assert Reader(msgspec.convert({"ts": 5}, Live), Settings()).key(5) is None
