"""Gold sets and traces rewritten for a new version of the corpus."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragworthy.gold.rebind import Change, Review, rebind_gold, rebind_traces
from ragworthy.metrics.facts.redirects import SCHEMA, DocumentRedirects, Part, Redirect, Redirects, Table

Row = dict[str, Any]


def row(old: str, move: str, *new: str, conf: float = 1.0, off: tuple[int, int] = (0, 10), **fields: Any) -> Redirect:
    """A redirect whose blocks are ten bytes long; the first new one begins at byte 100, the next at 200."""
    has: Row = {
        "old_block_id": old,
        "new_block_id": new[0] if new else None,
        "move": move,
        "old_off": off,
        "conf": conf,
    }
    if move == "split":
        runs = [((off[0] + 5 * n, 100 * (n + 1), 5),) for n in range(len(new))]
        has["new_parts"] = tuple(Part(id, (100 * (n + 1), 100 * (n + 1) + 5), runs[n]) for n, id in enumerate(new))
    elif new:
        has["new_off"] = (100, 110)
    return Redirect(**has | fields)


ROWS = (
    row("S.4.2.p.Bk011a", "shift", "S.5.1.p.Bk003"),
    row("S.4.2.p.Bk011b", "split", "S.5.1.p.Bk004a", "S.5.1.p.Bk004b"),
    row("S.4.1.p.Bk010", "unmapped", conf=0.0),
    row("S.4.3.p.Bk014", "shift", "S.4.3.p.Bk014", conf=0.88),
    row("S.4.3.p.Bk015", "merge", "S.5.1.p.Bk003", conf=0.97, runs=((0, 104, 6),)),
)
NEW = {"S.5.1.p.Bk003", "S.5.1.p.Bk004a", "S.5.1.p.Bk004b", "S.4.3.p.Bk014"}


def redirects(*rows: Redirect) -> Redirects:
    return Redirects.from_tables([Table(SCHEMA, "1", "2", (DocumentRedirects("d", None, None, rows or ROWS),))])


def item(**fields: Any) -> Row:
    """The example of the retrieval page, Q-0137."""
    return {
        "qid": "Q-0137",
        "paraphrases": ["a", "b", "c"],
        "relevant": ["S.4.2.p.Bk011a", "S.4.2.p.Bk011b"],
        "anchor_section": "S.4.2",
        "negatives": ["S.4.1.p.Bk010", "S.4.3.p.Bk014"],
        "notes": {"kept": ["as", "it", "is"]},
    } | fields


def test_a_retrieval_item() -> None:
    rebound = rebind_gold([item()], redirects(), NEW)
    assert rebound.items == [item(
        relevant=["S.5.1.p.Bk003", "S.5.1.p.Bk004a", "S.5.1.p.Bk004b"],
        anchor_section="S.5.1",
        negatives=["S.4.3.p.Bk014"],
        gold_groups=[["S.5.1.p.Bk003"], ["S.5.1.p.Bk004a", "S.5.1.p.Bk004b"]],
    )]  # fmt: skip
    assert list(rebound.items[0]) == [*item(), "gold_groups"]
    split_to = ["S.5.1.p.Bk004a", "S.5.1.p.Bk004b"]
    assert rebound.log == [
        Change("Q-0137", "relevant", "S.4.2.p.Bk011a", ["S.5.1.p.Bk003"], "shift", 1.0, "the block moved"),
        Change("Q-0137", "relevant", "S.4.2.p.Bk011b", split_to, "split", 1.0, "split into 2 parts"),
        Change("Q-0137", "anchor_section", "S.4.2", "S.5.1", "shift", 1.0, "the section of S.5.1.p.Bk003"),
        Change("Q-0137", "negatives", "S.4.1.p.Bk010", [], "unmapped", 0.0, "no new block holds its text"),
        Change("Q-0137", "gold_groups", None, [["S.5.1.p.Bk003"], split_to], "split", None,
               "any part of a split will do"),
    ]  # fmt: skip
    assert rebound.review == [
        Review("Q-0137", "relevant", "S.4.2.p.Bk011b", "split into 2 parts"),
        Review("Q-0137", "negatives", "S.4.1.p.Bk010", "unmapped: no new block holds its text"),
        Review("Q-0137", "negatives", "S.4.3.p.Bk014", "conf 0.880 is below 0.90"),
    ]
    assert rebound.anchors == {"Q-0137": ("S.4.2", "S.5.1")}
    assert rebound.log[0].row() == {
        "qid": "Q-0137", "field": "relevant", "from": "S.4.2.p.Bk011a", "to": ["S.5.1.p.Bk003"],
        "move": "shift", "conf": 1.0, "why": "the block moved",
    }  # fmt: skip
    assert rebound.review[0].row()["why"] == "split into 2 parts"


def test_an_answers_item() -> None:
    gold = {
        "q_id": "A1",
        "answerable": True,
        "gold_citations": ["S.4.2.p.Bk011a", "other#1"],
        "gold_claim_substr": ["x"],
    }
    rebound = rebind_gold([gold], redirects(), NEW | {"other#1"})
    assert rebound.items == [gold | {"gold_citations": ["S.5.1.p.Bk003", "other#1"]}]
    assert [change.qid for change in rebound.log] == ["A1"]
    assert rebound.review == []


def test_parts_of_a_split_are_alternatives() -> None:
    """One id that was split is still one piece of evidence: any of its parts will do."""
    gold = {"qid": "A1", "answerable": True, "gold_citations": ["S.4.2.p.Bk011b"], "gold_claim_substr": ["x"]}
    parts = ["S.5.1.p.Bk004a", "S.5.1.p.Bk004b"]
    assert rebind_gold([gold], redirects(), NEW).items == [gold | {"gold_citations": parts, "gold_groups": [parts]}]


def test_groups_are_rewritten() -> None:
    gold = {
        "qid": "A1",
        "answerable": True,
        "gold_citations": ["S.4.2.p.Bk011a", "S.4.2.p.Bk011b", "S.4.1.p.Bk010"],
        "gold_groups": [["S.4.2.p.Bk011a", "S.4.2.p.Bk011b"], ["S.4.1.p.Bk010"]],
        "bound": {"corpus_sha256": "0" * 64},
    }
    rebound = rebind_gold([gold], redirects(), NEW)
    parts = ["S.5.1.p.Bk003", "S.5.1.p.Bk004a", "S.5.1.p.Bk004b"]
    assert rebound.items == [
        {
            "qid": "A1",
            "answerable": True,
            "gold_citations": parts,
            "gold_groups": [parts, []],
        }
    ]
    assert ("gold_groups", "nothing is left of a group") in [(one.field, one.why) for one in rebound.review]


def test_what_became_empty_is_named() -> None:
    lost = item(relevant=["S.4.1.p.Bk010"], negatives=[])
    rebound = rebind_gold([lost], redirects(), NEW)
    assert (rebound.items[0]["relevant"], rebound.items[0]["anchor_section"]) == ([], "S.4.2")
    assert [(entry.field, entry.why) for entry in rebound.review] == [
        ("relevant", "unmapped: no new block holds its text"),
        ("relevant", "nothing is left of it"),
        ("anchor_section", "no block that lives on was in this section: check it by hand"),
    ]


def test_a_negative_merged_with_a_relevant_block() -> None:
    rebound = rebind_gold([item(relevant=["S.4.2.p.Bk011a"], negatives=["S.4.3.p.Bk015"])], redirects(), NEW)
    assert (rebound.items[0]["relevant"], rebound.items[0]["negatives"]) == (["S.5.1.p.Bk003"], [])
    why = "relevant and a negative after the move: kept as relevant"
    assert rebound.review == [Review("Q-0137", "negatives", "S.5.1.p.Bk003", why)]
    assert rebound.log[-1] == Change("Q-0137", "negatives", "S.5.1.p.Bk003", [], "merge", None, why)


def test_relevant_blocks_merged_into_one_are_named_once() -> None:
    both = item(
        relevant=["S.4.2.p.Bk011a", "S.4.3.p.Bk015"],
        relevant_offsets={"S.4.2.p.Bk011a": [0, 3], "S.4.3.p.Bk015": [1, 10]},
    )
    new = rebind_gold([both], redirects(), NEW).items[0]
    assert new["relevant"] == ["S.5.1.p.Bk003"]
    assert new["relevant_offsets"] == {"S.5.1.p.Bk003": [100, 110]}  # [100, 103) and [105, 110)


def test_offsets_of_relevant_blocks() -> None:
    ranges = {
        "S.4.2.p.Bk011a": [2, 4],
        "S.4.2.p.Bk011b": [3, 7],
        "S.4.1.p.Bk010": [0, 10],
        "x": [5, 9],
        "S.4.3.p.Bk014": [9, 9],
    }
    rebound = rebind_gold([item(relevant_offsets=ranges)], redirects(), NEW)
    assert rebound.items[0]["relevant_offsets"] == {
        "S.5.1.p.Bk003": [102, 104],
        "S.5.1.p.Bk004a": [103, 105],
        "S.5.1.p.Bk004b": [200, 202],
        "x": [5, 9],
        "S.4.3.p.Bk014": [9, 9],  # names no bytes: left as it is
    }
    logged = [change for change in rebound.log if change.field == "relevant_offsets"]
    assert logged[0].before == {"S.4.2.p.Bk011a": [2, 4]}
    assert logged[0].after == {"S.5.1.p.Bk003": [102, 104]}
    assert (logged[2].before, logged[2].after, logged[2].move) == ({"S.4.1.p.Bk010": [0, 10]}, {}, "unmapped")


def test_offsets_that_cannot_be_carried_over_are_widened_and_named() -> None:
    longer = row("a#1", "shift", "a#2", conf=0.9, new_off=(100, 150))
    rebound = rebind_gold([{"qid": "q", "relevant_offsets": {"a#1": [2, 4]}}], redirects(longer), {"a#2"})
    assert rebound.items[0]["relevant_offsets"] == {"a#2": [100, 150]}
    why = "the cited bytes are not in a#2 as they were: widened to the block"
    assert rebound.review == [Review("q", "relevant_offsets", "a#1", why)]


def test_ids_that_the_new_version_does_not_have() -> None:
    rebound = rebind_gold([{"qid": "q", "gold_citations": ["who", "S.4.2.p.Bk011a"]}], redirects(), set())
    assert rebound.items[0]["gold_citations"] == ["who", "S.5.1.p.Bk003"]
    assert [entry.why for entry in rebound.review] == [
        "who is not in the new version", "S.5.1.p.Bk003 is not in the new version",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("anchor", "old", "new", "expected"),
    [
        ("4.2", "S.4.2.p.Bk001", "S.4.10.p.Bk001", "S.4.10"),
        ("S.4.2", "g.md|s=4.2|p=000|b=001", "g.md|s=5|p=000|b=001", "S.5"),
        ("4.2", "g.md|s=4.2|p=000|b=001", "g.md|s=5|p=000|b=001", "5"),
        ("g.md|s=4.2", "g.md|s=4.2|p=000|b=001", "h.md|s=4.2|p=000|b=001", "h.md|s=4.2"),
        ("4.2", "g.md|s=4.2|p=000|b=001", "g.md|s=4.2|p=000|b=009", "4.2"),
        ("p1", "p1#2", "p7#2", "p7"),
        ("4", "S.4.2.p.Bk001", "S.5.2.p.Bk001", "4"),  # a parent section: nobody can tell
        ("4.2", "c_1", "c_2", "4.2"),  # opaque ids
    ],
)
def test_anchors_follow_the_first_relevant_block(anchor: str, old: str, new: str, expected: str) -> None:
    gold = [{"qid": "q", "relevant": [old], "anchor_section": anchor}]
    rebound = rebind_gold(gold, redirects(row(old, "shift", new)), {new})
    assert rebound.items[0]["anchor_section"] == expected
    unsure = anchor == "4" or old == "c_1"
    assert [entry.field for entry in rebound.review] == (["anchor_section"] if unsure else [])


def test_sections_of_opaque_ids_can_be_given() -> None:
    gold = [{"qid": "q", "relevant": ["c_1"], "anchor_section": "4.2"}]
    sections = {"old_sections": {"c_1": "4.2"}, "new_sections": {"c_2": "4.3"}}
    assert (
        rebind_gold(gold, redirects(row("c_1", "shift", "c_2")), {"c_2"}, **sections).items[0]["anchor_section"]
        == "4.3"
    )


def trace(**fields: Any) -> Row:
    return {
        "qid": "Q-0137",
        "query": "q",
        "topk": [
            {"id": "S.4.2.p.Bk011a", "score": 0.83, "offsets": [0, 10], "type": "prose"},
            {"id": "S.4.1.p.Bk010", "score": 0.79, "offsets": [0, 10], "type": "prose"},
        ],
        "ΔS": [0.31, 0.59],
        "λ_state": "→",
        "anchor": "S.4.2",
        "index_hash": "faiss:v3:hnsw:cos",
    } | fields


def test_a_retrieval_trace() -> None:
    rebound = rebind_traces([trace()], redirects(), NEW)
    assert rebound.items == [trace(
        topk=[
            {"id": "S.5.1.p.Bk003", "id_prev": "S.4.2.p.Bk011a", "score": 0.83, "offsets": [100, 110], "type": "prose"},
            trace()["topk"][1] | {"id": "gone:S.4.1.p.Bk010", "id_prev": "S.4.1.p.Bk010"},
        ],
        anchor="S.5.1",
    )]  # fmt: skip
    assert list(rebound.items[0]) == list(trace())
    assert list(rebound.items[0]["topk"][0]) == ["id", "id_prev", "score", "offsets", "type"]


def test_parts_of_a_split_result_stand_in_its_place_with_its_distance() -> None:
    topk = [{"id": "S.4.2.p.Bk011b", "score": 0.9}, {"id": "S.4.3.p.Bk014", "score": 0.8}]
    new = rebind_traces([trace(topk=topk, delta_s=[0.1, 0.2])], redirects(), NEW).items[0]
    assert [entry["id"] for entry in new["topk"]] == ["S.5.1.p.Bk004a", "S.5.1.p.Bk004b", "S.4.3.p.Bk014"]
    assert (new["delta_s"], new["ΔS"]) == ([0.1, 0.1, 0.2], [0.31, 0.31, 0.59])
    assert new["topk"][2] == topk[1]  # the same id: no id_prev


def test_results_that_a_merge_made_the_same_are_kept_once() -> None:
    ids = ["S.4.2.p.Bk011a", "S.4.3.p.Bk015", "S.4.2.p.Bk011a"]
    new = rebind_traces([{"qid": "q", "topk": ids, "dS": [1, 2, 3], "retrieved_ids": ids}], redirects(), NEW)
    assert new.items[0]["retrieved_ids"] == ["S.5.1.p.Bk003", "S.5.1.p.Bk003"]  # a repetition of the run stays one
    assert new.items[0]["dS"] == [1, 3]
    assert [change.why for change in new.log if not change.after] == ["already there from S.4.2.p.Bk011a"] * 2


def test_an_answers_trace() -> None:
    answer = {"claim": "c", "citations": ["S.4.2.p.Bk011b", "S.4.1.p.Bk010"], "constraints_echo": []}
    record = {"qid": "q", "retrieved_ids": ["S.4.2.p.Bk011b", "S.4.1.p.Bk010", "z"], "answer_json": answer, "ok": 1}
    new = rebind_traces([record], redirects(), NEW | {"z"}).items[0]
    cited = ["S.5.1.p.Bk004a", "S.5.1.p.Bk004b", "gone:S.4.1.p.Bk010"]
    assert new == record | {"retrieved_ids": [*cited, "z"], "answer_json": answer | {"citations": cited}}
    assert set(new["answer_json"]["citations"]) <= set(new["retrieved_ids"])  # what was in scope stays in scope


def test_citations_with_offsets_go_to_the_part_that_holds_them() -> None:
    record = {"qid": "q", "answer_citations": [{"id": "S.4.2.p.Bk011b", "offsets": [6, 9]}], "anchor": "S.4.2"}
    new = rebind_traces([record], redirects(), NEW).items[0]
    cited = [{"id": "S.5.1.p.Bk004b", "id_prev": "S.4.2.p.Bk011b", "offsets": [201, 204]}]
    assert new == {"qid": "q", "answer_citations": cited, "anchor": "S.5.1"}
    live = {"qid": "q", "answer": {"citations": [{"id": "S.4.2.p.Bk011a", "id_prev": "older"}]}}
    assert rebind_traces([live], redirects(), NEW).items[0]["answer"]["citations"] == [
        {"id": "S.5.1.p.Bk003", "id_prev": "S.4.2.p.Bk011a"},
    ]  # fmt: skip


def test_the_anchor_of_a_trace_is_that_of_its_question() -> None:
    anchors = rebind_gold([item()], redirects(), NEW).anchors
    other = trace(topk=[{"id": "z"}])
    assert rebind_traces([other], redirects(), NEW, anchors=anchors).items[0]["anchor"] == "S.5.1"
    assert rebind_traces([other], redirects(), NEW).items[0]["anchor"] == "S.4.2"


@pytest.mark.parametrize(
    "odd",
    [
        {"qid": 7, "relevant": "S.4.2.p.Bk011a", "negatives": None, "relevant_offsets": [], "anchor_section": 3},
        {"relevant": [1, None, {"x": 1}], "gold_citations": {"S.4.2.p.Bk011a": 1}, "anchor_section": ""},
        {"qid": "q", "topk": "S.4.2.p.Bk011a", "retrieved_ids": None, "answer_json": [], "anchor": None, "ΔS": [1]},
        {"qid": "q", "topk": [3, {"id": 4}], "answer_json": {"citations": "S.4.2.p.Bk011a"}},
    ],
)
def test_what_is_not_an_id_is_left_alone(odd: Row) -> None:
    assert rebind_gold([odd], redirects(), NEW)[:3] == ([odd], [], [])
    assert rebind_traces([odd], redirects(), NEW)[:3] == ([odd], [], [])


IDS = st.sampled_from([one.old_block_id for one in ROWS] + ["z", "S.5.1.p.Bk003"])


@given(st.lists(IDS, max_size=6), st.lists(IDS, max_size=6))
def test_nothing_is_edited_in_place_and_no_old_id_stays(first: list[str], second: list[str]) -> None:
    gold = item(relevant=first, negatives=second, gold_citations=second)
    record = trace(topk=[{"id": id, "offsets": [0, 10]} for id in first], retrieved_ids=second, answer_citations=first)
    before = copy.deepcopy((gold, record))
    rebound = rebind_gold([gold], redirects(), NEW).items + rebind_traces([record], redirects(), NEW).items
    assert (gold, record) == before
    for new, old in zip(rebound, before, strict=True):
        assert [key for key in new if key != "gold_groups"] == list(old)
    moved = {one.old_block_id for one in ROWS} - NEW
    lists = [rebound[0][key] for key in ("relevant", "negatives", "gold_citations")]
    lists += rebound[0].get("gold_groups", [])
    lists += [rebound[1]["retrieved_ids"], rebound[1]["answer_citations"], [one["id"] for one in rebound[1]["topk"]]]
    assert not moved & {id for ids in lists for id in ids}
    assert json.dumps(rebound)
