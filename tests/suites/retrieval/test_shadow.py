"""Shadow against live: `score retrieval --live`, `index diff`, and policies that gate on both suites."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import ragworthy as rw
from conftest import G1, G2, G3, T1, T2, T3, Done, run_cli, write_jsonl
from ragworthy.codes import CATALOGUE
from ragworthy.names import Verdict

Row = dict[str, Any]
RUNS = [(paraphrase, seed) for seed in (1, 2) for paraphrase in (0, 1, 2)]


def said(code: str, message: str) -> str:
    return f"{message} [{code}]\n  {CATALOGUE[code].name}: {CATALOGUE[code].do}\n"


def tree(path: Path) -> dict[str, bytes]:
    return {one.relative_to(path).as_posix(): one.read_bytes() for one in sorted(path.rglob("*")) if one.is_file()}


# two arms made by hand: question n is answered by block 1 of section n


def block(section: int, number: int = 1) -> str:
    return f"S.{section}.p.Bk{number:03d}"


def questions(count: int) -> list[Row]:
    return [
        {
            "qid": f"Q{n}",
            "paraphrases": [f"wording {nth} of Q{n}" for nth in range(3)],
            "relevant": [block(n)],
            "anchor_section": f"S.{n}",
            "relevant_offsets": {block(n): [1000, 1100]},
            "topic": "odd" if n % 2 else "even",
        }
        for n in range(1, count + 1)
    ]


def perfect(count: int, index: str, **extra: Any) -> list[Row]:
    """Every run finds its block first, cites it, and is near to it."""
    return [
        {
            "qid": f"Q{n}",
            "paraphrase": paraphrase,
            "seed": seed,
            "query": f"wording {paraphrase} of Q{n}",
            "topk": [{"id": block(n)}, {"id": block(99, n)}],
            "ΔS": [0.3, 0.7],
            "answer_citations": [{"id": block(n), "offsets": [1000, 1100]}],
            "index_hash": index,
            "normaliser_id": "norm/1",
            "reranker_id": "none",
            **extra,
        }
        for n in range(1, count + 1)
        for paraphrase, seed in RUNS
    ]


def changed(traces: list[Row], qid: str, **change: Any) -> list[Row]:
    return [one | change if one["qid"] == qid else one for one in traces]


def compare(gold: list[Row], live: list[Row], shadow: list[Row], **options: Any) -> rw.Result:
    return rw.score("retrieval", gold=gold, traces=shadow, live=live, **options)


def against_live(result: rw.Result) -> Row:
    live: Row = result.report["suites"]["retrieval"]["live"]
    return live


def test_the_comparison_has_these_keys() -> None:
    live = against_live(compare(questions(2), perfect(2, "a"), perfect(2, "b")))
    assert {
        "comparable", "unlike", "live_index", "shadow_index", "deltas", "canary", "gained", "lost", "churn",
    } <= live.keys()  # fmt: skip
    assert (live["comparable"], live["unlike"], live["live_index"], live["shadow_index"]) == (True, [], "a", "b")
    numbers = {"live", "shadow", "delta", "up", "down", "same", "only_one"}
    assert all(numbers <= delta.keys() for delta in live["deltas"].values())
    assert {"eligible", "checks"} <= live["canary"].keys()
    assert {"queries", "identical", "jaccard_mean", "rbo_mean", "most_changed"} <= live["churn"].keys()


def test_deltas_and_blocks_gained_and_lost() -> None:
    nothing = {"topk": [{"id": block(99)}], "ΔS": [0.9], "answer_citations": []}
    live = changed(perfect(4, "a"), "Q4", **nothing)  # Q1 … Q3 found
    shadow = changed(changed(perfect(4, "b"), "Q1", **nothing), "Q2", **nothing)  # Q3 and Q4 found
    found = against_live(compare(questions(4), live, shadow))
    delta = found["deltas"]["retrieval.recall@5"]
    wanted = {"live": 0.75, "shadow": 0.5, "delta": -0.25, "up": 1, "down": 2, "same": 1, "only_one": 0}
    assert delta | wanted == delta
    assert found["deltas"]["retrieval.coverage"]["delta"] == -0.25
    # distances only of answered questions: Q3 has one on both sides, Q1, Q2 and Q4 on one side only
    delta = found["deltas"]["retrieval.delta_s_mean"]
    assert (delta["live"], delta["shadow"], delta["delta"]) == (0.3, 0.3, 0.0)
    assert (delta["same"], delta["only_one"]) == (1, 3)
    assert found["gained"] == [{"qid": "Q4", "blocks": [block(4)]}]
    assert found["lost"] == [{"qid": "Q1", "blocks": [block(1)]}, {"qid": "Q2", "blocks": [block(2)]}]


def test_a_block_lost_in_one_of_six_runs_is_lost() -> None:
    shadow = perfect(2, "b")
    shadow[0] = shadow[0] | {"topk": [{"id": block(99, n)} for n in range(5)] + [{"id": block(1)}], "ΔS": [0.5] * 6}
    found = against_live(compare(questions(2), perfect(2, "a"), shadow))
    assert found["lost"] == [{"qid": "Q1", "blocks": [block(1)]}] and found["gained"] == []
    assert found["deltas"]["retrieval.recall@5"]["shadow"] == pytest.approx((5 / 6 + 1) / 2)
    assert found["deltas"]["retrieval.recall@10"]["delta"] == 0  # still among the first ten


def test_churn_counts_queries_and_shows_the_most_changed_first() -> None:
    swapped = [{"id": block(99, 1)}, {"id": block(1)}]
    other = [{"id": block(50)}, {"id": block(51)}]
    shadow = perfect(3, "b")
    shadow[0] = shadow[0] | {"topk": swapped}  # Q1, the same set in another order
    shadow[6] = shadow[6] | {"topk": other}  # Q2, nothing in common
    churn = against_live(compare(questions(3), perfect(3, "a"), shadow))["churn"]
    # three questions in three wordings; a seed that changes nothing counts once, those of Q1 and Q2 differ
    assert (churn["queries"], churn["identical"]) == (11, 9)
    assert churn["jaccard_mean"] == round(10 / 11, 6)  # ten times the same set, once nothing in common
    worst, next_worst = churn["most_changed"]
    assert (worst["qid"], worst["jaccard"], worst["rbo"]) == ("Q2", 0.0, 0.0)
    assert worst["query"] == "wording 0 of Q2"
    assert (worst["live"], worst["shadow"]) == ([block(2), block(99, 2)], [block(50), block(51)])
    assert next_worst["qid"] == "Q1" and next_worst["jaccard"] == 1 and 0 < next_worst["rbo"] < 1


def test_the_order_of_trace_files_does_not_matter() -> None:
    live, shadow = perfect(3, "a"), changed(perfect(3, "b"), "Q2", topk=[{"id": block(99)}], ΔS=[0.9])
    one = against_live(compare(questions(3), live, shadow))
    assert against_live(compare(questions(3), live[::-1], shadow[5:] + shadow[:5])) == one


Damage = Callable[[list[Row]], list[Row]]


def among(first: int, change: Row) -> Damage:
    """Change every run of the first questions."""
    names = [f"Q{n}" for n in range(1, first + 1)]
    return lambda rows: [one | change if one["qid"] in names else one for one in rows]


def off_target(rows: list[Row]) -> list[Row]:
    """Two of twenty cite their block 31 bytes too late: 0.90 are accurate."""
    for n in (1, 2):
        rows = changed(rows, f"Q{n}", answer_citations=[{"id": block(n), "offsets": [1131, 1200]}])
    return rows


def torn(rows: list[Row]) -> list[Row]:
    """One wording of three questions cites nothing: 34 of 40 triplets are left."""
    return [
        one | {"answer_citations": []} if one["qid"] in ("Q1", "Q2", "Q3") and not one["paraphrase"] else one
        for one in rows
    ]


BROKEN: dict[str, tuple[Damage, float]] = {
    "retrieval.coverage": (among(7, {"answer_citations": []}), 0.65),
    "retrieval.citation_accuracy": (off_target, 0.9),
    "retrieval.delta_s_median": (among(20, {"ΔS": [0.41, 0.7]}), 0.41),
    "retrieval.delta_s_p90": (among(3, {"ΔS": [0.9, 0.9]}), 0.9),
    "retrieval.triplet_rate": (torn, 0.85),
}


def test_a_perfect_shadow_is_eligible_for_canary() -> None:
    result = compare(questions(20), perfect(20, "a"), perfect(20, "b"))
    canary = against_live(result)["canary"]
    assert result.verdict is Verdict.SHIP
    assert canary["eligible"] is True
    assert [(one["metric"], one["op"], one["threshold"]) for one in canary["checks"]] == [
        ("retrieval.coverage", ">=", "0.70"),
        ("retrieval.citation_accuracy", ">=", "0.95"),
        ("retrieval.delta_s_median", "<=", "0.40"),
        ("retrieval.delta_s_p90", "<=", "0.55"),
        ("retrieval.triplet_rate", ">=", "0.95"),
        ("retrieval.collapsed", "<=", "0"),
        ("retrieval.recall@5", "drop<=", "0.02"),
    ]
    assert {one["outcome"] for one in canary["checks"]} == {"pass"}


@pytest.mark.parametrize("metric", BROKEN)
def test_one_broken_check_makes_it_not_eligible(metric: str) -> None:
    damage, value = BROKEN[metric]
    result = compare(questions(20), perfect(20, "a"), damage(perfect(20, "b")))
    canary = against_live(result)["canary"]
    assert canary["judged"] is True
    check = next(one for one in canary["checks"] if one["metric"] == metric)
    assert (check["value"], check["outcome"], canary["eligible"]) == (value, "fail", False)
    assert result.verdict is Verdict.NO_SHIP


def test_collapsed_and_a_drop_of_recall_make_it_not_eligible() -> None:
    shadow = perfect(20, "b")
    for n, one in enumerate(shadow[:6]):
        shadow[n] = one | {"answer_citations": [block(60 + n)]}
    canary = against_live(compare(questions(20), perfect(20, "a"), shadow))["canary"]
    checks = {one["metric"]: one for one in canary["checks"]}
    assert checks["retrieval.collapsed"]["value"] == 1 and checks["retrieval.collapsed"]["outcome"] == "fail"
    shadow = changed(perfect(20, "b"), "Q1", topk=[{"id": block(99)}], ΔS=[0.3])
    canary = against_live(compare(questions(20), perfect(20, "a"), shadow))["canary"]
    checks = {one["metric"]: one for one in canary["checks"]}
    assert checks["retrieval.recall@5"]["value"] == 0.95  # 19 of 20: a drop of five points
    assert checks["retrieval.recall@5"]["outcome"] == "undecided" and canary["eligible"] is False


def test_the_canary_is_shown_whatever_the_gates_are() -> None:
    shadow = changed(perfect(20, "b"), "Q1", topk=[{"id": block(99)}], ΔS=[0.3])
    result = compare(questions(20), perfect(20, "a"), shadow, gates="recall@5=0.5", defaults=False)
    assert result.verdict is Verdict.SHIP and against_live(result)["canary"]["eligible"] is False


# what must not be compared


def unlike(live: list[Row], shadow: list[Row], **options: Any) -> tuple[rw.Result, list[str]]:
    result = compare(questions(2), live, shadow, **options)
    assert (result.verdict, result.exit_code) == (Verdict.INVALID, 4)
    return result, against_live(result)["unlike"]


UNLIKE: dict[str, tuple[list[Row], list[Row], str]] = {
    "same index": (perfect(2, "a"), perfect(2, "a"), "both come from the same index, a"),
    "normaliser": (
        perfect(2, "a"),
        perfect(2, "b", normaliser_id="norm/2"),
        "they used different normalisers: live norm/1, shadow norm/2",
    ),
    "unnamed normaliser": (
        perfect(2, "a"),
        perfect(2, "b", normaliser_id=None),
        "they used different normalisers: live norm/1, shadow none named",
    ),
    "reranker": (
        perfect(2, "a", reranker_id="cross/1"),
        perfect(2, "b"),
        "they used different rerankers: live cross/1, shadow none",
    ),
    "retriever": (
        perfect(2, "a", retriever={"mode": "bm25", "k": 10}),
        perfect(2, "b", retriever={"mode": "dense", "k": 10}),
        "they used different retrievers: live mode bm25, shadow mode dense",
    ),
    "rerankers in both": (
        [*perfect(2, "a")[:-1], perfect(2, "a", reranker_id="cross/1")[-1]],
        [perfect(2, "b")[0], *perfect(2, "b", reranker_id="cross/1")[1:]],
        "several rerankers in one run (cross/1, none)",
    ),
    "normalisers in both": (
        [*perfect(2, "a")[:-1], perfect(2, "a", normaliser_id="norm/2")[-1]],
        [*perfect(2, "b")[:-1], perfect(2, "b", normaliser_id="norm/2")[-1]],
        "several normalisers in one run (norm/1, norm/2)",
    ),
    "runs": (
        perfect(2, "a")[:-1],
        perfect(2, "b"),
        "1 questions were not asked in the same wordings and seeds, e.g. Q2",
    ),
    "mixed live": (
        [*perfect(2, "a")[:-1], perfect(2, "z")[-1]],
        perfect(2, "b"),
        "the live traces come from several indexes",
    ),
    "answers": (
        [{key: value for key, value in one.items() if key != "answer_citations"} for one in perfect(2, "a")],
        perfect(2, "b"),
        "only one of them carries answers",
    ),
    "models": (
        perfect(2, "a", delta_s_model={"name": "m", "weights": "1"}),
        perfect(2, "b", delta_s_model={"name": "m", "weights": "2"}),
        "their distances come from different models",
    ),
}


@pytest.mark.parametrize("name", UNLIKE)
def test_arms_that_cannot_be_compared(name: str) -> None:
    live, shadow, reason = UNLIKE[name]
    result, reasons = unlike(live, shadow)
    assert reasons == [reason]
    assert f"live and shadow cannot be compared: {reason}" in result.report["invalid"]
    drop = next(gate for gate in result.gates if gate["op"] == "drop<=")
    assert drop["outcome"] == "not_measured"
    assert drop["reason"] == f"the live index is not comparable: {reason}"
    assert against_live(result)["comparable"] is False
    assert against_live(result)["canary"]["eligible"] is False


@pytest.mark.parametrize(("key", "name"), [("reranker_id", "reranker"), ("normaliser_id", "normaliser")])
def test_what_is_tried_can_be_asked_for(key: str, name: str) -> None:
    live, shadow = perfect(2, "a", **{key: "x/1"}), perfect(2, "b", **{key: "x/2"})
    refused, _ = unlike(live, shadow)
    ask = f"make both with the same {name}; if that is what you try, say so: --allow {name}"
    assert {"pattern": "live and shadow were made in different ways", "do": ask} in refused.report["next"]
    found = compare(questions(2), live, shadow, allow=[name])
    assert against_live(found)["comparable"] is True
    assert against_live(found)["allowed"] == [f"they used different {name}s: live x/1, shadow x/2"]
    assert not any("cannot be compared" in reason for reason in found.report["invalid"])


def nameless(rows: list[Row]) -> list[Row]:
    return [{key: value for key, value in one.items() if key != "index_hash"} for one in rows]


def test_the_same_file_twice_is_not_compared(tmp_path: Path) -> None:
    rows = nameless(perfect(20, "a"))
    done = score(tmp_path, questions(20), rows, rows, "--format", "json")
    report = json.loads(done.out)
    assert (done.code, report["verdict"]) == (4, "INVALID")
    assert "live and shadow cannot be compared: both are the same file" in report["invalid"]
    assert report["suites"]["retrieval"]["live"]["canary"]["eligible"] is False


@pytest.mark.parametrize(
    ("live", "shadow", "who"),
    [
        (perfect(20, "a"), nameless(perfect(20, "b")), "shadow"),
        (nameless(perfect(20, "a")), perfect(20, "b"), "live"),
        (nameless(perfect(20, "a")), nameless(perfect(20, "b", commit="c2")), "live and shadow"),
    ],
)
def test_without_an_index_hash_nothing_shows_two_indexes(live: list[Row], shadow: list[Row], who: str) -> None:
    result = compare(questions(20), live, shadow)
    canary = against_live(result)["canary"]
    why = f"nothing shows that these are two indexes: no index_hash in the traces of {who}"
    assert {one["outcome"] for one in canary["checks"]} == {"pass"}
    assert (canary["eligible"], canary["not_two"]) == (False, why)
    assert [one["message"] for one in result.report["suites"]["retrieval"]["warnings"] if one["code"] == "RW-W180"] == [
        why
    ]
    assert f"canary: not eligible: {why}" in result.text(full=True)


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("reranker", {"reranker_id": "x/1"}, {"reranker_id": "x/2"}),
        ("retriever", {"retriever": {"mode": "bm25"}}, {"retriever": {"mode": "dense"}}),
    ],
)
def test_another_reranker_is_tried_on_the_same_index(name: str, one: Row, other: Row) -> None:
    live, shadow = perfect(20, "a", **one), perfect(20, "a", **other)
    assert "both come from the same index, a" in against_live(compare(questions(20), live, shadow))["unlike"]
    found = compare(questions(20), live, shadow, allow=[name])
    told = against_live(found)
    assert (found.verdict, told["comparable"], told["unlike"]) == (Verdict.SHIP, True, [])
    assert (told["canary"]["eligible"], told["canary"]["not_two"]) == (False, "both come from the same index, a")
    assert "canary: not eligible: both come from the same index, a" in found.text(full=True)
    same = against_live(compare(questions(20), live, live, allow=[name]))
    assert same["unlike"] == ["both come from the same index, a"]


def test_every_reason_is_named() -> None:
    shadow = perfect(2, "a", normaliser_id="norm/2", reranker_id="other")
    _, reasons = unlike(perfect(2, "a"), shadow)
    assert len(reasons) == 3


def test_a_shadow_of_several_indexes_names_their_lines_and_is_not_eligible(tmp_path: Path) -> None:
    shadow = perfect(2, "b")
    shadow[4] = shadow[4] | {"index_hash": "c"}
    done = score(tmp_path, questions(2), shadow, perfect(2, "a"), "--format", "json")
    report = json.loads(done.out)
    assert (done.code, done.err) == (4, "")
    wanted = 'the traces come from several indexes: "b" (line 1), "c" (line 5) [RW-T05]'
    assert wanted in report["invalid"]
    assert report["suites"]["retrieval"]["live"]["canary"]["eligible"] is False


def test_a_shadow_of_another_index_than_the_corpus_is_invalid() -> None:
    corpus = [{"chunk_id": block(n), "text": f"text {n}", "section_id": str(n)} for n in (1, 2)]
    result = compare(questions(2), perfect(2, "a"), perfect(2, "b"), corpus=corpus[:1])
    assert result.verdict is Verdict.INVALID
    assert f"50 % of gold ids (1 of 2) are not in this index, e.g. {block(2)} [RW-G13]" in result.report["invalid"]
    assert against_live(result)["canary"]["eligible"] is False


# on the command line


def score(folder: Path, gold: list[Row], shadow: list[Row], live: list[Row] | None, *flags: object) -> Done:
    write_jsonl(folder / "gold.jsonl", gold)
    write_jsonl(folder / "shadow.jsonl", shadow)
    args: list[object] = ["--gold", folder / "gold.jsonl", "--trace", folder / "shadow.jsonl"]
    if live is not None:
        args += ["--live", write_jsonl(folder / "live.jsonl", live)]
    return run_cli("score", "retrieval", "--full", *args, *flags)


def test_the_report_for_people_shows_the_comparison(tmp_path: Path) -> None:
    late = [*({"id": block(99, n)} for n in range(5)), {"id": block(2)}]
    shadow = changed(perfect(4, "b"), "Q2", topk=late, ΔS=[0.7] * 5 + [0.3])
    done = score(tmp_path, questions(4), shadow, perfect(4, "a"), "--full", "-o", tmp_path / "r.md")
    assert done.code == 3
    for text in (done.out, (tmp_path / "r.md").read_text()):
        for wanted in (
            "shadow against live",
            "-0.25",
            "canary: not eligible: retrieval.recall@5 undecided",
            "lost relevant blocks in the first 5: 1 question: Q2",
            "9 of 12 queries identical",
        ):
            assert wanted in text.replace("`", ""), wanted
    assert done.out.splitlines()[-1].startswith("verdict: INCONCLUSIVE (exit 3): recall@5 ")


def test_without_live_a_drop_cannot_be_judged(tmp_path: Path) -> None:
    gates = tmp_path / "gates.toml"
    gates.write_text('[[gate]]\nmetric = "retrieval.recall@5"\nmax_drop = 0.02\n')
    done = score(tmp_path, questions(2), perfect(2, "b"), None, "--gates", gates)
    assert done.code == 4 and "retrieval.recall@5 was not measured: no baseline was given" in done.out


def test_a_drop_in_one_slice_is_held_against_the_same_slice_of_live(tmp_path: Path) -> None:
    gates = tmp_path / "gates.toml"
    gates.write_text(
        "".join(
            f'[[gate]]\nmetric = "retrieval.recall@5"\nmax_drop = 0.02\nslice = "topic={topic}"\n'
            for topic in ("odd", "even")
        )
    )
    shadow = changed(perfect(4, "b"), "Q2", topk=[{"id": block(99)}], ΔS=[0.3])
    done = score(tmp_path, questions(4), shadow, perfect(4, "a"), "--gates", gates, "--format", "json")
    outcomes = {
        gate["slice"]: (gate["outcome"], gate["value"], gate.get("baseline")) for gate in json.loads(done.out)["gates"]
    }
    assert outcomes["topic=odd"] == ("pass", 1.0, 1.0)
    assert outcomes["topic=even"] == ("undecided", 0.5, 1.0)  # one of Q2 and Q4 is left
    assert done.code == 1  # by a gate of the canary


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ('{"qid": ""}', "RW-T01", "{}:2: qid: expected a non-empty string, got nothing"),
        ('{"qid": "Q1", "topk": [{"id": 4}]}', "RW-T02", "{}:2: topk[0].id: expected a string, got a whole number"),
        (
            '{"qid": "Q1", "topk": [{"id": "a", "offsets": [9, 3]}]}',
            "RW-T03",
            "{}:2: topk[0].offsets: expected begin < end, got [9, 3]",
        ),
        (
            '{"qid": "Q1", "topk": [{"id": "a"}], "ΔS": []}',
            "RW-T04",
            "{}:2: ΔS: expected 1 numbers, one for each result, got 0",
        ),
    ],
)
def test_a_broken_live_file_is_named(tmp_path: Path, line: str, code: str, message: str) -> None:
    score(tmp_path, questions(2), perfect(2, "b"), perfect(2, "a"))
    live = tmp_path / "live.jsonl"
    live.write_text("\n" + line + "\n", encoding="utf-8")
    args = ["--gold", tmp_path / "gold.jsonl", "--trace", tmp_path / "shadow.jsonl", "--live", live]
    done = run_cli("score", "retrieval", *args, "-o", tmp_path / "r.json")
    assert (done.code, done.out, done.err) == (2, "", said(code, message.format(live)))
    assert not (tmp_path / "r.json").exists()


def test_a_live_file_that_is_not_there(tmp_path: Path) -> None:
    score(tmp_path, questions(2), perfect(2, "b"), None)
    nope = tmp_path / "nope.jsonl"
    done = run_cli(
        "score", "retrieval", "--gold", tmp_path / "gold.jsonl", "--trace", tmp_path / "shadow.jsonl", "--live", nope
    )  # fmt: skip
    assert (done.code, done.err) == (2, said("RW-F01", f"{nope}: expected a file, got nothing at this path"))


# redirects between the arms, by hand


def table(rows: list[Row], added: list[str] | None = None) -> Row:
    document = {"doc_id": "d", "from_version": "r1", "to_version": "r2", "mappings": rows}
    return {
        "schema": "ragworthy.redirects/1",
        "from_version": "v1",
        "to_version": "v2",
        "documents": [document],
        "added": added or [],
        "numbers": {},
    }


def shift(old: str, new: str, at: int = 0, move: str = "shift") -> Row:
    return {
        "old_block_id": old, "new_block_id": new, "move": move, "old_off": [at, at + 9], "new_off": [at, at + 9],
        "conf": 1.0,
    }  # fmt: skip


def redirected(tmp_path: Path, rows: list[Row], relevant: list[str], live: list[str], shadow: list[str]) -> Row:
    (tmp_path / "table.json").write_text(json.dumps(table(rows)))
    gold = [{"qid": "Q1", "relevant": relevant}]
    arms = [
        [{"qid": "Q1", "topk": [{"id": name} for name in names], "index_hash": version}]
        for names, version in ((live, "v1"), (shadow, "v2"))
    ]
    result = compare(gold, *arms, redirects=(tmp_path / "table.json",))
    delta: Row = against_live(result)["deltas"]["retrieval.recall@5"]
    return delta


def test_live_results_are_followed_to_the_ids_of_the_shadow(tmp_path: Path) -> None:
    rows = [shift("old1", "new1"), shift("old2", "new2", 10)]
    delta = redirected(tmp_path, rows, ["old1"], ["old2", "old1"], ["new1"])
    assert (delta["live"], delta["shadow"]) == (1.0, 1.0)


def test_an_old_block_that_was_split_is_found_by_the_live_index(tmp_path: Path) -> None:
    parts = [{"id": "newA", "off": [0, 5]}, {"id": "newB", "off": [5, 9]}]
    rows = [shift("old1", "newA", move="split") | {"new_parts": parts}]
    rows[0].pop("new_off")
    delta = redirected(tmp_path, rows, ["old1"], ["old1"], ["newB"])
    assert (delta["live"], delta["shadow"]) == (1.0, 1.0)  # a hit on any part counts


def test_an_old_id_that_now_names_another_text_is_no_hit(tmp_path: Path) -> None:
    """Block 1 was deleted and its id given to what was block 2: live returned the deleted text, not block 2."""
    gone = {"old_block_id": "d#1", "new_block_id": None, "move": "unmapped", "old_off": [0, 9], "conf": 0.0}
    rows = [gone, shift("d#2", "d#1", 10)]
    delta = redirected(tmp_path, rows, ["d#2"], ["d#1"], ["d#1"])
    assert (delta["live"], delta["shadow"]) == (0.0, 1.0)


def test_blocks_merged_into_one_are_both_found_with_it(tmp_path: Path) -> None:
    rows = [shift("old1", "new", move="merge"), shift("old2", "new", 10, move="merge")]
    delta = redirected(tmp_path, rows, ["old1", "old2"], ["old1", "old2"], ["new"])
    assert (delta["live"], delta["shadow"]) == (1.0, 1.0)


def test_an_anchor_with_a_document_follows_the_document_that_was_renamed(tmp_path: Path) -> None:
    old, new = "old.md|s=1.2|p=000|b=001", "new.md|s=1.2|p=000|b=001"
    (tmp_path / "table.json").write_text(json.dumps(table([shift(old, new)], ["new.md|s=1.2|p=000|b=002"])))
    gold = [{"qid": "Q1", "relevant": [old], "anchor_section": "old.md|s=1.2"}]
    traces = [
        {"qid": "Q1", "topk": [{"id": new}], "answer_citations": ["new.md|s=1.2|p=000|b=002"], "index_hash": "v2"}
    ]
    result = rw.score("retrieval", gold=gold, traces=traces, redirects=(tmp_path / "table.json",))
    assert result.metrics["retrieval.anchor_hit@1"].value == 1
    assert result.metrics["retrieval.coverage"].value == 1  # another block of the anchor section is cited


# two real indexes: the shadow has a chapter more, so that every id of the guide after it moved

GUIDE = """# Guide

Welcome to the elevator handbook.

## Doors

The doors close after ten seconds. A light barrier keeps them open while somebody is between them.

## Alarm

Press the yellow bell button for three seconds to call the control centre.

## Limits

The cabin carries eight people or six hundred and thirty kilograms at once.
"""
BREAD = """# Bread

Sourdough needs flour, water and salt.

## Baking

Bake the loaf at 240 degrees for twenty minutes, then at 200 degrees for half an hour.

## Storing

Keep the loaf in a linen bag; never in the fridge.
"""
NEW_GUIDE = GUIDE.replace("## Doors", "## History\n\nThe first elevator was hauled by an ox.\n\n## Doors")
LIVE_IDS = {
    "doors": "guide.md|s=1.1|p=000|b=001",
    "alarm": "guide.md|s=1.2|p=000|b=001",
    "limits": "guide.md|s=1.3|p=000|b=001",
    "baking": "bread.md|s=1.1|p=000|b=001",
    "storing": "bread.md|s=1.2|p=000|b=001",
}
SHADOW_IDS = LIVE_IDS | {
    "doors": "guide.md|s=1.2|p=000|b=001",
    "alarm": "guide.md|s=1.3|p=000|b=001",
    "limits": "guide.md|s=1.4|p=000|b=001",
}
ASKED = {
    "doors": ["When do the doors close?", "How long do the doors stay open?", "What keeps the doors open?"],
    "alarm": ["How do I press the yellow bell button?", "Call the control centre", "bell button seconds"],
    "limits": ["How many people does the cabin carry?", "kilograms in the cabin", "cabin people at once"],
    "baking": ["How hot is the loaf baked?", "How many degrees to bake the loaf?", "Bake the loaf for how long?"],
    "storing": ["How to keep the loaf in a linen bag?", "linen bag or fridge for the loaf", "keep the loaf"],
}


def gold_of(ids: dict[str, str], index: Path | None = None) -> list[Row]:
    """Questions with the ids of an index, which they name where it is given."""
    of = {} if index is None else {"index_hash": json.loads((index / "manifest.json").read_text())["index_hash"]}
    return [
        {"qid": name, "paraphrases": ASKED[name], "relevant": [one], "anchor_section": one.partition("|p=")[0]} | of
        for name, one in ids.items()
    ]


class Pair(NamedTuple):
    root: Path
    live: Path
    shadow: Path
    plain: Path


def build(folder: Path, name: str, docs: dict[str, str], *flags: object) -> Path:
    source = write_jsonl(folder / f"{name}.docs.jsonl", [{"path": path, "text": docs[path]} for path in sorted(docs)])
    done = run_cli("index", "build", "--docs", source, "--out", folder / name, *flags)
    assert (done.code, done.err) == (0, "")
    return folder / name


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    root = tmp_path_factory.mktemp("pair")
    new = {"guide.md": NEW_GUIDE, "bread.md": BREAD}
    live = build(root, "live", {"guide.md": GUIDE, "bread.md": BREAD})
    return Pair(root, live, build(root, "shadow", new), build(root, "plain", new, "--dense", "none"))


def diff(pair: Pair, *flags: object) -> Done:
    return run_cli("index", "diff", pair.live, pair.shadow, *flags)


GATES = ("--gates", "recall@5=1,coverage=1,citation_accuracy=1")


@pytest.mark.parametrize("side", ["live", "shadow"])
def test_a_gold_set_of_either_index_scores_on_both(pair: Pair, tmp_path: Path, side: str) -> None:
    ids, index = (LIVE_IDS, pair.live) if side == "live" else (SHADOW_IDS, pair.shadow)
    gold = write_jsonl(tmp_path / "gold.jsonl", gold_of(ids, index))
    done = diff(pair, "--gold", gold, *GATES, "--format", "json")
    assert (done.code, done.err) == (0, "")
    live = json.loads(done.out)["suites"]["retrieval"]["live"]
    for metric in ("recall@5", "coverage", "citation_accuracy", "anchor_hit@5"):
        delta = live["deltas"][f"retrieval.{metric}"]
        assert (delta["live"], delta["shadow"], delta["same"]) == (1.0, 1.0, 5), metric
    assert (live["gained"], live["lost"], live["comparable"]) == ([], [], True)
    # results are compared under the ids of one index: the two doors blocks are the same block
    assert all(row["live"][0] == row["shadow"][0] for row in live["churn"]["most_changed"])
    assert sorted(tree(tmp_path)) == ["gold.jsonl"]  # nothing is written that was not asked for


def test_the_lock_says_whose_ids_a_gold_set_has(pair: Pair, tmp_path: Path) -> None:
    """Every id of this gold set is an id in both indexes, of other text: only the lock can tell."""
    ids = {"doors": LIVE_IDS["doors"], "alarm": LIVE_IDS["alarm"]}
    gold = write_jsonl(tmp_path / "gold.jsonl", gold_of(ids))
    frozen = run_cli("gold", "freeze", gold, "--signer", "Ada", "--reason", "x", "--corpus", pair.live)
    assert frozen.code == 0
    assert diff(pair, "--gold", gold, *GATES).code == 0
    ids = {"doors": SHADOW_IDS["doors"]}
    gold = write_jsonl(tmp_path / "gold.jsonl", gold_of(ids))
    frozen = run_cli("gold", "freeze", gold, "--signer", "Ada", "--reason", "x", "--corpus", pair.shadow)
    assert frozen.code == 0
    done = diff(pair, "--gold", gold, *GATES)
    assert done.code == 0, done.out


def test_the_canary_with_calibrated_distances_lets_a_good_shadow_take_traffic(pair: Pair, tmp_path: Path) -> None:
    gold = write_jsonl(tmp_path / "gold.jsonl", gold_of(LIVE_IDS))
    assert run_cli("gold", "freeze", gold, "--signer", "Ada", "--reason", "x", "--corpus", pair.live).code == 0
    done = diff(pair, "--gold", gold, "-o", tmp_path / "r.json", "--rows", tmp_path / "rows.jsonl", "--canary")
    report = json.loads((tmp_path / "r.json").read_text())
    assert done.code == report["exit_code"] == 0, done.out
    body = report["suites"]["retrieval"]
    assert body["delta_s"]["source"] == "calibrated" and body["live"]["canary"]["eligible"] is True
    assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == 5
    again = diff(pair, "--full", "--gold", gold, "-o", tmp_path / "r2.json", "--canary")
    assert "canary: eligible, every check holds" in again.out
    assert (tmp_path / "r2.json").read_bytes() == (tmp_path / "r.json").read_bytes()


def test_a_shadow_without_a_document_loses_what_was_in_it(pair: Pair, tmp_path: Path) -> None:
    gold = write_jsonl(tmp_path / "gold.jsonl", gold_of(LIVE_IDS))
    shadow = build(tmp_path, "half", {"guide.md": NEW_GUIDE})
    done = run_cli("index", "diff", pair.live, shadow, "--gold", gold, "--format", "json")
    report = json.loads(done.out)
    assert done.code == 4
    lost = "40 % of gold ids (2 of 5) are not in this index, e.g. "
    assert any(one.startswith(lost) and one.endswith(" [RW-G13]") for one in report["invalid"])
    live = report["suites"]["retrieval"]["live"]
    assert live["deltas"]["retrieval.recall@5"]["delta"] == pytest.approx(-0.4)
    assert [one["qid"] for one in live["lost"]] == ["baking", "storing"]


def test_paragraphs_joined_in_the_shadow_lose_no_recall(pair: Pair, tmp_path: Path) -> None:
    """Live has two paragraphs, the shadow one: both gold blocks are in it."""
    two = "# Kites\n\nA kite needs a strong tail in heavy wind.\n\nPaper kites tear quickly when the rain comes down.\n"
    one = two.replace("wind.\n\nPaper", "wind. Paper")
    live = build(tmp_path, "two", {"bread.md": BREAD, "kites.md": two})
    shadow = build(tmp_path, "one", {"bread.md": BREAD, "kites.md": one})
    blocks = ["kites.md|s=1|p=000|b=001", "kites.md|s=1|p=000|b=002"]
    item = {"qid": "K", "paraphrases": ["kite tail wind", "paper kites rain", "kites"], "relevant": blocks}
    gold = write_jsonl(tmp_path / "gold.jsonl", [item])
    done = run_cli("index", "diff", live, shadow, "--gold", gold, "--gates", "recall@5=1", "--format", "json")
    delta = json.loads(done.out)["suites"]["retrieval"]["live"]["deltas"]["retrieval.recall@5"]
    assert (delta["live"], delta["shadow"], done.code) == (1.0, 1.0, 0)


def test_the_same_index_twice_is_refused(pair: Pair, tmp_path: Path) -> None:
    gold = write_jsonl(tmp_path / "gold.jsonl", gold_of(LIVE_IDS))
    done = run_cli("index", "diff", pair.live, pair.live, "--gold", gold)
    manifest = json.loads((pair.live / "manifest.json").read_text())
    assert done.code == 4
    assert f"both come from the same index, {manifest['index_hash']}" in done.out


def test_settings_in_which_the_indexes_differ_are_listed(pair: Pair, tmp_path: Path) -> None:
    gold = write_jsonl(tmp_path / "gold.jsonl", gold_of(LIVE_IDS, pair.live))
    done = run_cli("index", "diff", pair.live, pair.plain, "--gold", gold, *GATES, "--format", "json")
    body = json.loads(done.out)["suites"]["retrieval"]
    assert done.code == 0
    assert any(one.startswith("embedding") for one in body["live"]["settings"])
    ways = "they used different retrievers: live fusion rrf, mode hybrid, shadow fusion none, mode bm25"
    assert body["live"]["allowed"] == [ways]  # both were asked alike
    assert body["delta_s"]["source"] == "raw"  # one model for both sides


def test_the_knee_shortens_the_lists_of_both_arms(pair: Pair, tmp_path: Path) -> None:
    gold = write_jsonl(tmp_path / "gold.jsonl", gold_of(LIVE_IDS))
    whole, cut = (
        json.loads(diff(pair, "--gold", gold, *GATES, *flags, "--format", "json").out)["suites"]["retrieval"]["metrics"]
        for flags in ([], ["--knee"])
    )
    # one block is relevant: a shorter list is a more precise one
    assert cut["retrieval.precision@10"]["value"] > whole["retrieval.precision@10"]["value"]


def queries(folder: Path) -> Path:
    path = folder / "queries.txt"
    path.write_text("loaf in the fridge\n\n" + json.dumps({"qid": "u1", "query": "history of the elevator ox"}) + "\n")
    return path


def test_queries_alone_show_churn_and_judge_nothing(pair: Pair, tmp_path: Path) -> None:
    asked = queries(tmp_path)
    done = diff(pair, "--queries", asked)
    lines = done.out.splitlines()
    assert (done.code, done.err) == (0, "")
    assert re.fullmatch(
        rf"unlabelled queries of {re.escape(str(asked))}: [01] of 2 queries identical, "
        r"mean overlap \d\.\d{3} \(Jaccard\), \d\.\d{3} \(rank-biased\), mean ρ -?\d\.\d{3} \(Spearman\)",
        lines[0],
    )
    assert lines[1].startswith("most changed: u1 'history of the elevator ox': rank-biased overlap 0.")
    assert lines[-1] == "no gold set: nothing was judged (exit 0)"


def test_queries_alone_write_the_file_that_was_asked_for_or_refuse_it(pair: Pair, tmp_path: Path) -> None:
    done = diff(pair, "--queries", queries(tmp_path), "-o", tmp_path / "r.json")
    assert (tmp_path / "r.json").exists() or done.code == 2


def test_queries_beside_a_gold_set_are_in_the_report(pair: Pair, tmp_path: Path) -> None:
    gold = write_jsonl(tmp_path / "gold.jsonl", gold_of(LIVE_IDS, pair.live))
    done = diff(pair, "--full", "--gold", gold, "--queries", queries(tmp_path), *GATES, "-o", tmp_path / "r.json")
    found = json.loads((tmp_path / "r.json").read_text())["suites"]["retrieval"]["live"]["queries"]
    assert done.code == 0 and "unlabelled queries: " in done.out
    assert found["queries"] == 2
    assert [one["qid"] for one in found["most_changed"]][:1] == ["u1"]


@pytest.mark.parametrize(
    ("content", "code", "message"),
    [
        (None, "RW-F01", "{}: expected a file, got nothing at this path"),
        ("\n \n", "RW-F04", "{}: expected queries, got none"),
        (
            'a\n{"query": 3}\n',
            "RW-F07",
            "{}:2: expected a query or an object with query, got: Expected `str | null`, got `int` - at `$.query`",
        ),
        ('{"query": ""}\n', "RW-F07", "{}:1: query: expected a query, got none"),
        ('{"quest": "x"}\n', "RW-F07", "{}:1: query: expected a query, got none"),
    ],
)
def test_query_files_that_cannot_be_read(
    pair: Pair, tmp_path: Path, content: str | None, code: str, message: str
) -> None:
    path = tmp_path / "q.txt"
    if content is not None:
        path.write_text(content)
    done = diff(pair, "--queries", path)
    assert (done.code, done.out, done.err) == (2, "", said(code, message.format(path)))


def test_wrong_usage_of_diff(pair: Pair, tmp_path: Path) -> None:
    assert diff(pair) == Done(2, "", said("RW-U01", "expected --gold, --queries or both"))
    gold = write_jsonl(tmp_path / "gold.jsonl", gold_of(LIVE_IDS))
    done = diff(pair, "--gold", gold, "--k", "0")
    message = "--k: expected whole numbers from 1 up (at most 8, all different), got [0]"
    assert (done.code, done.err) == (2, said("RW-P03", message))
    done = diff(pair, "--gold", gold, "-o", tmp_path / "r.docx")
    assert done.code == 2 and "RW-F17" in done.err
    done = diff(pair, "--gold", tmp_path / "nope.jsonl", "-o", tmp_path / "r.json")
    assert done.code == 2 and "RW-F01" in done.err
    assert sorted(tree(tmp_path)) == ["gold.jsonl"]


# policies


def lay(pair: Pair, folder: Path, *, live_corpus: bool = False) -> Path:
    """A folder with both suites: answers, and a shadow index whose ids moved since the gold set was written."""
    for name in ("live", "shadow"):
        shutil.copytree(getattr(pair, name), folder / name)
    gold = write_jsonl(folder / "gold.jsonl", gold_of(LIVE_IDS))
    for name in ("live", "shadow"):
        done = run_cli("retrieve", "--index", folder / name, "--gold", gold, "-o", folder / f"{name}.jsonl")
        assert done.code == 0
    assert run_cli("index", "migrate", folder / "live", folder / "shadow", "-o", folder / "table.json").code in (0, 1)
    assert run_cli("gold", "freeze", gold, "--signer", "Ada", "--reason", "x", "--corpus", folder / "live").code == 0
    write_jsonl(folder / "answers.gold.jsonl", [G1(), G2(), G3()])
    write_jsonl(folder / "answers.jsonl", [T1(), T2(), T3()])
    extra = 'live_corpus = "live"\n' if live_corpus else ""
    policy = folder / "ragworthy.toml"
    policy.write_text(
        "version = 1\ndefaults = false\n"
        '[answers]\ngold = "answers.gold.jsonl"\ntraces = "answers.jsonl"\n'
        '[retrieval]\ngold = "gold.jsonl"\ntraces = "shadow.jsonl"\nlive = "live.jsonl"\n'
        f'corpus = "shadow"\nredirects = ["table.json"]\n{extra}'
        '[[gate]]\nmetric = "answers.precision"\nmin = 0.80\n'
        '[[gate]]\nmetric = "retrieval.recall@5"\nmin = 0.90\nmax_drop = 0.02\n'
        '[[gate]]\nmetric = "retrieval.coverage"\nmin = 0.70\n'
        '[[gate]]\nmetric = "retrieval.citation_accuracy"\nmin = 0.95\n'
        '[[gate]]\nmetric = "retrieval.delta_s_median"\nmax = 0.45\n'
        '[[gate]]\nmetric = "retrieval.triplet_rate"\nmin = 0.95\n'
        '[[gate]]\nmetric = "retrieval.collapsed"\nmax = 0\n'
    )
    return policy


@pytest.fixture(scope="module")
def laid(pair: Pair, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lay(pair, tmp_path_factory.mktemp("policy"))


@pytest.fixture
def policy(laid: Path, tmp_path: Path) -> Path:
    shutil.copytree(laid.parent, tmp_path / "p")
    return tmp_path / "p/ragworthy.toml"


@pytest.mark.parametrize("live_corpus", [False, True])
def test_a_policy_with_live_corpus_and_redirects(pair: Pair, tmp_path: Path, live_corpus: bool) -> None:
    path = lay(pair, tmp_path, live_corpus=live_corpus)
    done = run_cli("gate", "-c", path, "--format", "json")
    report = json.loads(done.out)
    assert (done.code, done.err, report["verdict"]) == (0, "", "SHIP")
    assert list(report["suites"]) == ["answers", "retrieval"]
    delta = report["suites"]["retrieval"]["live"]["deltas"]["retrieval.recall@5"]
    assert (delta["live"], delta["shadow"]) == (1.0, 1.0)
    drop = next(gate for gate in report["gates"] if gate["op"] == "drop<=")
    assert (drop["outcome"], drop["baseline"], drop["value"]) == ("pass", 1.0, 1.0)
    suites = [gate["metric"].partition(".")[0] for gate in report["gates"]]
    assert suites == sorted(suites)  # every suite's gates together, its missing gate among them
    assert {"answers.missing", "retrieval.missing"} <= {gate["metric"] for gate in report["gates"]}


def test_a_live_document_that_is_longer_than_its_successor(pair: Pair, tmp_path: Path) -> None:
    """The offsets of live traces belong to the live text, also where only the corpus of the shadow is given."""
    long = "# Long\n\n" + "A sentence that was taken out later on. " * 8 + "\n\n## Tides\n\nTides follow the moon.\n"
    short = "# Long\n\n## Tides\n\nTides follow the moon.\n"
    live = build(tmp_path, "live", {"bread.md": BREAD, "long.md": long}, "--dense", "none")
    shadow = build(tmp_path, "shadow", {"bread.md": BREAD, "long.md": short}, "--dense", "none")
    item = {"qid": "T", "paraphrases": ["tides moon", "moon tides", "tides"], "relevant": ["long.md|s=1.1|p=000|b=001"]}
    gold = write_jsonl(tmp_path / "gold.jsonl", [item])
    for name, index in (("live", live), ("shadow", shadow)):
        assert run_cli("retrieve", "--index", index, "--gold", gold, "-o", tmp_path / f"{name}.jsonl").code == 0
    run_cli("index", "migrate", live, shadow, "-o", tmp_path / "table.json")
    done = run_cli(
        "score", "retrieval", "--gold", gold, "--trace", tmp_path / "shadow.jsonl", "--live", tmp_path / "live.jsonl",
        "--corpus", shadow, "--redirects", tmp_path / "table.json", "--gates", "recall@5=1", "--format", "json",
    )  # fmt: skip
    assert (done.code, done.err) == (0, "")
    delta = json.loads(done.out)["suites"]["retrieval"]["live"]["deltas"]["retrieval.recall@5"]
    assert (delta["live"], delta["shadow"]) == (1.0, 1.0)


def test_traces_of_another_index_than_the_corpus_are_invalid(policy: Path) -> None:
    folder = policy.parent
    done = run_cli(
        "score", "retrieval", "--gold", folder / "gold.jsonl", "--trace", folder / "live.jsonl",
        "--corpus", folder / "shadow", "--gates", "recall@5=0.1", "--format", "json",
    )  # fmt: skip
    hashes = [json.loads((folder / name / "manifest.json").read_text())["index_hash"] for name in ("live", "shadow")]
    assert done.code == 4
    wanted = f"the traces come from the index {hashes[0]}, but the corpus is {hashes[1]}"
    assert wanted in json.loads(done.out)["invalid"]


def test_rows_of_both_suites_follow_one_another(policy: Path) -> None:
    rows = policy.parent / "rows.jsonl"
    assert run_cli("gate", "-c", policy, "--rows", rows).code == 0
    found = [json.loads(line) for line in rows.read_text(encoding="utf-8").splitlines()]
    assert [row["qid"] for row in found] == ["A0001", "A0002", "A0003", *LIVE_IDS]
    suites = [{name.partition(".")[0] for name in row["metrics"]} for row in found]
    assert suites == [{"answers"}] * 3 + [{"retrieval"}] * 5


def test_one_verdict_over_both_suites(policy: Path) -> None:
    folder = policy.parent
    wrong = [T1() | {"answer_json": {"claim": "No idea.", "citations": ["zz#1"]}}, T2(), T3()]
    write_jsonl(folder / "answers.jsonl", wrong)
    done = run_cli("gate", "-c", policy, "--format", "json")
    report = json.loads(done.out)
    assert (done.code, report["verdict"]) == (1, "NO-SHIP")
    assert [gate["metric"] for gate in report["gates"] if gate["outcome"] == "fail"] == ["answers.precision"]
    traces = (folder / "shadow.jsonl").read_text(encoding="utf-8").splitlines()
    (folder / "shadow.jsonl").write_text("\n".join(traces[6:]) + "\n", encoding="utf-8")  # all of "doors" is gone
    done = run_cli("gate", "-c", policy, "--format", "json")
    report = json.loads(done.out)
    assert (done.code, report["verdict"]) == (4, "INVALID")
    assert "1 question has no trace" in report["invalid"]


def test_the_receipt_re_derives_and_every_changed_input_is_noticed(policy: Path) -> None:
    folder = policy.parent
    assert run_cli("gate", "-c", policy).code == 0
    receipt = folder / ".ragworthy/receipt.json"
    roles = [one["role"] for one in json.loads(receipt.read_text())["inputs"]]
    assert sorted(roles) == [
        "answers.gold", "answers.trace", "policy", "retrieval.corpus", "retrieval.corpus/chunks.jsonl",
        "retrieval.gold", "retrieval.live", "retrieval.lock", "retrieval.redirects:0", "retrieval.trace",
    ]  # fmt: skip
    done = run_cli("verify", receipt)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[-1] == "verified: SHIP re-derives byte for byte from 10 inputs (exit 0)"
    changes = {
        "gold.jsonl": "retrieval.gold",
        "shadow.jsonl": "retrieval.trace",
        "live.jsonl": "retrieval.live",
        "table.json": "retrieval.redirects:0",
        "gold.lock": "retrieval.lock",
        "shadow/manifest.json": "retrieval.corpus",
        "shadow/chunks.jsonl": "retrieval.corpus/chunks.jsonl",
        "ragworthy.toml": "policy",
        "answers.gold.jsonl": "answers.gold",
        "answers.jsonl": "answers.trace",
    }
    for name, role in changes.items():
        path = folder / name
        kept = path.read_bytes()
        path.write_bytes(kept + b"\n")
        done = run_cli("verify", receipt)
        assert done.code == 1 and done.out.startswith(f"{role}: "), name
        path.write_bytes(kept)
    # a file of the index that the receipt does not list: the manifest vouches for it
    path = next((folder / "shadow/canonical").iterdir())
    kept = path.read_bytes()
    path.write_bytes(kept.upper())
    done = run_cli("verify", receipt)
    assert done.code == 1 and "[RW-I02]" in done.out
    path.write_bytes(kept)
    assert run_cli("verify", receipt).code == 0


def test_the_receipt_of_score_verifies_with_live_corpus_and_redirects(policy: Path) -> None:
    folder = policy.parent
    done = run_cli(
        "score", "retrieval", "--gold", folder / "gold.jsonl", "--trace", folder / "shadow.jsonl",
        "--live", folder / "live.jsonl", "--corpus", folder / "shadow", "--live-corpus", folder / "live",
        "--redirects", folder / "table.json", "--receipt", folder / "r/receipt.json",
    )  # fmt: skip
    assert done.code == 0, done.out
    assert run_cli("verify", folder / "r/receipt.json").code == 0
    manifest = folder / "live/manifest.json"
    manifest.write_bytes(manifest.read_bytes() + b" ")
    done = run_cli("verify", folder / "r/receipt.json")
    assert done.code == 1 and done.out.startswith("live_corpus: ")


def test_every_gate_of_the_policy_can_fail(policy: Path) -> None:
    done = run_cli("gate", "-c", policy, "--selftest")
    lines = done.out.splitlines()
    assert (done.code, done.err) == (0, "")
    assert len(lines) == 11 and all(line.startswith("can fail") for line in lines[:-1])
    assert lines[-1] == "selftest: 10 of 10 gates can fail (exit 0)"
    assert not (policy.parent / ".ragworthy").exists()


def test_every_metric_of_the_retrieval_suite_can_be_made_to_fail(policy: Path) -> None:
    """One gate on each metric, at a threshold that these traces reach."""
    gold = [one | {"negatives": [LIVE_IDS["alarm" if one["qid"] == "doors" else "doors"]]} for one in gold_of(LIVE_IDS)]
    write_jsonl(policy.parent / "gold.jsonl", gold)
    higher = ["precision@1", "recall@5", "hit@5", "ndcg@5", "mrr", "anchor_hit@5", "coverage", "citation_accuracy",
              "citation_exact", "triplet_rate", "convergence", "token_coverage"]  # fmt: skip
    lower = ["delta_s_median", "delta_s_p90", "delta_s_mean", "collapsed", "missing", "negative_first@5"]
    limits = {"delta_s_median": "0.9", "delta_s_p90": "0.9", "delta_s_mean": "0.9"}
    lines = ["version = 1", "[retrieval]", 'gold = "gold.jsonl"', 'traces = "shadow.jsonl"', 'corpus = "shadow"',
             'redirects = ["table.json"]']  # fmt: skip
    for metric in higher:
        lines += ["[[gate]]", f'metric = "retrieval.{metric}"', "min = 0.9"]
    for metric in lower:
        lines += ["[[gate]]", f'metric = "retrieval.{metric}"', f"max = {limits.get(metric, '0')}"]
    policy.write_text("\n".join(lines) + "\n")
    assert run_cli("gate", "-c", policy, "--unfrozen").code == 0
    done = run_cli("gate", "-c", policy, "--unfrozen", "--selftest")
    assert [line for line in done.out.splitlines() if line.startswith("CANNOT")] == []
    assert done.out.endswith("selftest: 18 of 18 gates can fail (exit 0)\n")


def test_a_policy_of_one_suite_needs_no_other(policy: Path) -> None:
    text = policy.read_text()
    policy.write_text(text.replace('[answers]\ngold = "answers.gold.jsonl"\ntraces = "answers.jsonl"\n', ""))
    done = run_cli("gate", "-c", policy)
    message = f"{policy.as_posix()}: answers: expected a section [answers] for the gate on answers.precision, got none"
    assert (done.code, done.err) == (2, said("RW-P11", message))
    policy.write_text(policy.read_text().replace('[[gate]]\nmetric = "answers.precision"\nmin = 0.80\n', ""))
    assert run_cli("gate", "-c", policy).code == 0


@pytest.mark.parametrize(
    ("before", "after", "code", "message"),
    [
        ('live = "live.jsonl"', "live = 3", "RW-P03", "retrieval.live: expected a path, got 3"),
        ('redirects = ["table.json"]', 'redirects = "table.json"', "RW-P03",
         'retrieval.redirects: expected a list of strings, got "table.json"'),
        ('corpus = "shadow"', 'corpora = "shadow"', "RW-P02",
         "retrieval.corpora: expected a known key, got an unknown one (did you mean corpus?)"),
        ("max_drop = 0.02", "max_drop = 1", "RW-P05", None),
    ],
)  # fmt: skip
def test_mistakes_in_the_retrieval_section(
    policy: Path, before: str, after: str, code: str, message: str | None
) -> None:
    policy.write_text(policy.read_text().replace(before, after))
    done = run_cli("gate", "-c", policy)
    assert done.code == 2 and f"[{code}]" in done.err
    if message is not None:
        assert done.err == said(code, f"{policy.as_posix()}: {message}")
    assert not (policy.parent / ".ragworthy").exists()


def test_a_redirect_table_that_cannot_be_read(policy: Path) -> None:
    table = policy.parent / "table.json"
    table.write_text("{}")
    done = run_cli("gate", "-c", policy)
    assert done.code == 2 and done.err.startswith(f"{table}") and "[RW-M01]" in done.err
    table.unlink()
    done = run_cli("gate", "-c", policy)
    assert (done.code, done.err) == (2, said("RW-F01", f"{table}: expected a file, got nothing at this path"))


def test_results_of_live_that_are_gone_are_said(tmp_path: Path) -> None:
    """A redirect that leads nowhere lowers the live numbers: the reader has to know before the drop looks small."""
    table = {
        "schema": "ragworthy.redirects/1",
        "from_version": "v1",
        "to_version": "v2",
        "documents": [
            {
                "doc_id": "d",
                "from_version": None,
                "to_version": None,
                "mappings": [
                    {"old_block_id": "d#1", "new_block_id": None, "move": "unmapped", "old_off": [0, 9], "conf": 0.0},
                    {"old_block_id": "d#2", "new_block_id": "d#5", "move": "shift", "old_off": [10, 19],
                     "new_off": [0, 9], "conf": 1.0},
                ],
            }
        ],
    }  # fmt: skip
    moves = tmp_path / "moves.json"
    moves.write_text(json.dumps(table))
    gold = write_jsonl(tmp_path / "gold.jsonl", [{"qid": "Q1", "paraphrases": ["a"], "relevant": ["d#2"]}])
    live = write_jsonl(
        tmp_path / "live.jsonl", [{"qid": "Q1", "topk": [{"id": "d#1"}, {"id": "d#2"}], "index_hash": "v1"}]
    )  # fmt: skip
    shadow = write_jsonl(tmp_path / "shadow.jsonl", [{"qid": "Q1", "topk": [{"id": "d#5"}], "index_hash": "v2"}])
    done = run_cli(
        "score", "retrieval", "--full", "--gold", gold, "--trace", shadow, "--live", live, "--redirects", moves,
        "--gates", "recall@5=0.5", "-o", tmp_path / "r.json",
    )  # fmt: skip
    assert done.code == 0
    assert "1 result of live has no block here: its numbers are understated" in done.out
    body = json.loads((tmp_path / "r.json").read_text())["suites"]["retrieval"]["live"]
    assert body["gone"] == 1 and body["deltas"]["retrieval.recall@5"]["live"] == 1


# what questions of one document, and of another cut, say of live and shadow

CUTS = {
    "live": {"a.md": ["one two", "three four"], "b.md": ["five six", "seven eight"]},
    "shadow": {"a.md": ["one", "two three four"], "b.md": ["five", "six seven eight"]},
}


def cut_corpus(folder: Path, name: str) -> str:
    chunks = [
        {"chunk_id": f"{doc}#{nth}", "doc_id": doc, "text": text}
        for doc, texts in CUTS[name].items()
        for nth, text in enumerate(texts)
    ]
    return str(write_jsonl(folder / f"{name}_chunks.jsonl", chunks))


def found(qid: str, ident: str, index: str) -> Row:
    return {"qid": qid, "query": qid, "topk": [{"id": ident}], "index_hash": index}


def judged(folder: Path, gold: list[Row], live: list[Row], shadow: list[Row], *more: str) -> rw.Result:
    """The verdict on a drop of recall against live, with the corpus of the shadow and whatever else is said."""
    for name, rows in (("gold", gold), ("live", live), ("shadow", shadow)):
        write_jsonl(folder / f"{name}.jsonl", rows)
    top = [line for line in more if not line.startswith("live_corpus")]
    lines = ["version = 1", "defaults = false", *top, "[retrieval]", 'gold = "gold.jsonl"', 'traces = "shadow.jsonl"']
    lines += ['live = "live.jsonl"', f'corpus = "{cut_corpus(folder, "shadow")}"', *(set(more) - set(top))]
    gate = ["[[gate]]", 'metric = "retrieval.recall@5"', "max_drop = 0.1"]
    (folder / "ragworthy.toml").write_text("\n".join([*lines, *gate]))
    return rw.gate(folder / "ragworthy.toml")


@pytest.mark.parametrize(("cluster", "clusters", "outcome"), [("document", 2, "undecided"), ("question", 16, "fail")])
def test_questions_of_one_document_are_one_toss_of_a_coin_against_live_too(
    cluster: str, clusters: int, outcome: str, tmp_path: Path
) -> None:
    gold: list[Row] = [
        {"qid": f"{doc}{nth}", "paraphrases": [f"Which {doc} is {nth}?"], "relevant": [f"{doc}.md#0"]}
        for doc in "ab"
        for nth in range(8)
    ]
    live = [found(one["qid"], one["relevant"][0], "v1") for one in gold]
    shadow = [found(one["qid"], "b.md#0", "v2") for one in gold]
    corpus = f'live_corpus = "{cut_corpus(tmp_path, "live")}"'
    result = judged(tmp_path, gold, live, shadow, f'cluster = "{cluster}"', corpus)
    gate = next(one for one in result.report["gates"] if one["metric"] == "retrieval.recall@5")
    assert (gate["outcome"], gate["paired"]["clusters"], gate["paired"]["worse"]) == (outcome, clusters, 8)


def test_evidence_that_was_looked_up_in_the_shadow_says_nothing_of_live_ids(tmp_path: Path) -> None:
    gold = [{"qid": "Q1", "paraphrases": ["Which?"], "gold_evidence": ["two three"], "gold_source": ["a.md"]}]
    live, shadow = [found("Q1", "a.md#0", "v1")], [found("Q1", "a.md#1", "v2")]
    result = judged(tmp_path, gold, live, shadow)
    assert result.verdict == Verdict.INVALID
    assert any("give the corpus of the live index, too" in reason for reason in result.report["invalid"])
    both = judged(tmp_path, gold, live, shadow, f'live_corpus = "{cut_corpus(tmp_path, "live")}"')
    assert not any("give the corpus" in reason for reason in both.report["invalid"])
