"""Runs that are read one after another, where much is worked out once, against each run read on its own."""

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from ragworthy.cited import Citation, Result
from ragworthy.metrics.facts.convergence import Arm, Asked, Question, Steady, with_facts
from ragworthy.metrics.facts.placed import Place, place_of
from ragworthy.metrics.facts.runs import KEPT, Facts, Runs, missing, read
from ragworthy.metrics.facts.wanted import Rules, wanted_of
from ragworthy.records import RetrievalGold, RetrievalTrace
from ragworthy.suites.fork import SMALL, processes
from ragworthy.suites.retrieval.units import Ranged, are_whole, has_units

IDS = ("d.md|s=1.1|p=000|b=001", "d.md|s=1.1|p=000|b=002", "d.md|s=2.1|p=000|b=001", "e.md|s=1.1|p=000|b=001", "c_1")
REVISED = {IDS[0]: ("d.md|r=8c1e9a02|s=1.1|p=000|b=001", "d.md|r=8c1e9a03|s=1.1|p=000|b=001")}
"""The same blocks as other revisions of their document name them."""
NAMES = st.sampled_from([*IDS, *REVISED[IDS[0]]])
KINDS = st.sampled_from([None, "table"])
SPANS = st.sampled_from([None, None, (0, 40), (20, 60), (90, 95), (7, 7), (9, 3)])
TEXTS = dict(zip(IDS, ("it is blue", "it is red", "blue", "green", "of any colour"), strict=True))


def with_corpus() -> Rules:
    """Rules with a corpus: bytes of every block, pages, and texts that a claim is compared with."""
    places = {name: place_of(name)._replace(span=(10 * nth, 10 * nth + 30), page="2.1") for nth, name in enumerate(IDS)}
    return Rules(ks=(1, 3), place=lambda name: places.get(name, Place(None, None)), texts=TEXTS)


def rules_of(kind: str) -> Rules:
    usual = Rules(ks=(1, 3), refusals=frozenset({"not in context"}))
    return {"usual": usual, "subtree": usual._replace(subtree=True), "corpus": with_corpus()}[kind]


GOLD = RetrievalGold(
    qid="q",
    question="which colour?",
    relevant=[IDS[0], IDS[4]],
    grades={IDS[4]: 3},
    negatives=[IDS[3]],
    anchor_section="1.1",
    relevant_offsets={IDS[0]: (5, 30)},
    gold_claim_substr=["blue"],
)


@st.composite
def traces(draw: st.DrawFn) -> RetrievalTrace:
    """Traces that are alike in much, and differ in what a reader could overlook."""
    cited: Any = st.one_of(
        NAMES,
        st.builds(Citation, NAMES, offsets=SPANS),
        st.builds(Citation, NAMES, offsets=SPANS, section_id=st.sampled_from(["1.1", "9.9"]), tokens=st.just(3)),
        st.builds(Citation, NAMES, unit=st.just("char")),
    )
    results = draw(st.lists(st.builds(Result, NAMES, offsets=SPANS, type=KINDS), max_size=3))
    given_as = draw(st.sampled_from(["topk", "ids", "nothing"]))
    answer = draw(st.sampled_from([None, None, "it is blue", "it is grey", "not in context", " "]))
    return RetrievalTrace(
        qid="q",
        topk=results if given_as == "topk" else None,
        retrieved_ids=[one.id for one in results] if given_as == "ids" else None,
        answer_citations=draw(st.one_of(st.none(), st.lists(cited, max_size=2))),
        answer=answer,
        cited_by=draw(st.sampled_from([None, "rank"])),
        error=draw(st.sampled_from([None, None, None, "timeout"])),
        before_rerank=[IDS[4], IDS[0]] if draw(st.integers(0, 3)) == 3 else None,
        delta_s=[0.25] * len(results) if draw(st.booleans()) else None,
    )


FIELDS = ("answer_citations", "answer", "cited_by", "error", "before_rerank", "delta_s", "topk", "retrieved_ids")


@st.composite
def variants(draw: st.DrawFn) -> list[RetrievalTrace]:
    """A trace, and others that differ from it in one or two fields, or only in the bytes or types of its results."""
    first = draw(traces())
    several = [first]
    for _ in range(draw(st.integers(1, 4))):
        other = draw(traces())
        changed = {field: getattr(other, field) for field in draw(st.sets(st.sampled_from(FIELDS), max_size=2))}
        if first.topk and draw(st.booleans()):
            changed["topk"] = [
                Result(draw(st.sampled_from([one.id, *REVISED.get(one.id, ())])), offsets=draw(SPANS), type=draw(KINDS))
                for one in first.topk
            ]
        trace = msgspec.structs.replace(first, **changed)
        results = len(trace.retrieved_ids or []) if trace.topk is None else len(trace.topk)
        distances = None if trace.delta_s is None else [0.25] * results  # others are refused before they are read
        several.append(msgspec.structs.replace(trace, delta_s=distances))
    return several


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(["usual", "subtree", "corpus"]), variants())
def test_runs_read_in_turn_are_those_read_alone(kind: str, several: list[RetrievalTrace]) -> None:
    rules = rules_of(kind)
    wanted, reader = wanted_of(GOLD, rules, lambda _: 7, ()), Runs(rules)
    alone = [read(wanted, trace, rules) for trace in several]
    assert [reader.read(wanted, trace) for trace in several] == alone
    assert [reader.read(wanted, trace) for trace in reversed(several)] == alone[::-1]


def test_the_same_results_and_citations_share_their_facts() -> None:
    rules = rules_of("usual")
    wanted, reader = wanted_of(GOLD, rules, lambda _: 0, ()), Runs(rules)
    first = RetrievalTrace(qid="q", seed=1, query="a", retrieved_ids=[IDS[0]], answer_citations=[IDS[0]])
    again = msgspec.structs.replace(first, seed=2, query="b", lambda_state="→")
    other = RetrievalTrace(qid="q", seed=2, retrieved_ids=[IDS[0]], answer_citations=[IDS[3]])
    one, two, three = (reader.read(wanted, trace).facts for trace in (first, again, other))
    assert one is two
    assert three is not one
    assert three.blocks is one.blocks, "the order of the results is looked at once"


def test_results_of_another_revision_are_other_results() -> None:
    """A citation with bytes is held against those of the result that it names to the letter."""
    rules = rules_of("usual")
    wanted, reader = wanted_of(GOLD, rules, lambda _: 0, ()), Runs(rules)
    block, old, new = IDS[0], *REVISED[IDS[0]]
    wanted = wanted._replace(spots=((block, place_of(block)),))
    cited = [Citation(new, (500, 600))]
    said = [
        reader.read(wanted, RetrievalTrace(qid="q", topk=[Result(name, offsets=(0, 10))], answer_citations=list(cited)))
        for name in (old, new)
    ]
    assert [one.facts.accurate for one in said] == [True, False]


def test_no_more_than_some_questions_are_kept() -> None:
    rules = rules_of("usual")
    reader = Runs(rules)
    for nth in range(3 * KEPT):
        wanted = wanted_of(RetrievalGold(qid=f"q{nth}", relevant=[IDS[0]]), rules, lambda _: 0, ())
        reader.read(wanted, RetrievalTrace(qid=f"q{nth}", retrieved_ids=list(IDS)))
        assert len(reader._known) <= KEPT


def test_facts_that_are_shared_stay_shared_when_more_is_known_of_them() -> None:
    rules = rules_of("usual")
    wanted = wanted_of(GOLD, rules, lambda _: 0, ())
    reading = read(wanted, RetrievalTrace(qid="q", retrieved_ids=[IDS[0]], answer_citations=[IDS[0]]), rules)
    runs = {(0, seed): reading for seed in range(3)}
    question = Question.of({key: one.facts for key, one in runs.items()}, lambda: missing(wanted))
    arm = Arm([Asked(wanted, runs, question)], 3, 0, 0, [], True, {}, [], [], [], 0, 0, [], [], 0, [], Steady())

    def more(one: Asked, key: tuple[int, int], facts: Facts) -> dict[str, Any]:
        return {"far": key[1] == 2}

    changed = with_facts(arm, more).asked[0].question.facts
    assert [facts.far for facts in changed] == [False, False, True]
    assert changed[0] is changed[1]
    assert changed[2] == changed[0]._replace(far=True)


def without_nulls(value: Any) -> Any:
    """A record as people write it: without the keys that say nothing."""
    if isinstance(value, dict):
        return {key: without_nulls(one) for key, one in value.items() if one is not None}
    return [without_nulls(one) for one in value] if isinstance(value, list) else value


@given(st.lists(traces(), max_size=3))
def test_a_block_without_the_keys_has_no_ranges(several: list[RetrievalTrace]) -> None:
    may = Ranged.of(b"\n".join(msgspec.json.encode(without_nulls(msgspec.to_builtins(one))) for one in several))
    assert may.units or not any(map(has_units, several))
    assert may.ranges or all(map(are_whole, several))


def test_a_key_may_be_written_with_escapes() -> None:
    line = rb'{"qid": "q", "topk": [{"id": "a", "\u006fffsets": [9, 3], "\u0075nit": "char"}]}'
    trace = msgspec.json.decode(line, type=RetrievalTrace)
    assert has_units(trace)
    assert not are_whole(trace)
    assert Ranged.of(line) == (True, True)
    assert Ranged.of(rb'{"qid": "q", "retrieved_ids": ["a"]}') == (False, False)


def test_heavier_bytes_are_worth_a_second_process_sooner() -> None:
    assert processes(2, SMALL - 1, splits=True) == 1
    assert processes(2, SMALL, splits=True) == 2
    assert processes(2, SMALL // 4, splits=True, weight=4) == 2
    assert processes(2, SMALL // 4 - 1, splits=True, weight=4) == 1
