"""How a run was made: in the report of every suite, in comparisons, and in what is refused unless it is asked for."""

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import cases as c
import ragworthy as rw
from conftest import Row, run_cli, write_jsonl
from ragworthy import flow
from ragworthy.comparison.likeness import change_lines, changed, told_of
from ragworthy.errors import RagworthyError
from ragworthy.load.decode import Decoder
from ragworthy.load.sources import Block, open_source
from ragworthy.records import Trace
from ragworthy.report.made import lines
from ragworthy.suites.made import SilentTrace, ToldTrace, mixed, said_by, told_in, told_reader

MADE = ("index_hash", "commit", "normaliser", "reranker", "retriever")
SAID: Row = {
    "index_hash": "rw:1",
    "commit": "4f1c2d3",
    "normaliser_id": "norm/1",
    "reranker_id": "bge/2",
    "retriever": {"mode": "hybrid", "k": 10},
}
TOLD = {"index_hash": "rw:1", "commit": "4f1c2d3", "normaliser": "norm/1", "reranker": "bge/2",
        "retriever": {"k": 10, "mode": "hybrid"}}  # fmt: skip
ASK = "make both with the same {0}; if that is what you try, say so: --allow {0}"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def answers(size: int = 4, *, traces: list[Row] | None = None, **options: Any) -> rw.Result:
    given = c.answers_traces(size, **SAID) if traces is None else traces
    return rw.score("answers", gold=c.answers_gold(size, 1), traces=given, gates="precision=0.5", **options)


def retrieval(size: int = 4, *, gates: Any = "recall@5=0.5", said: Row | None = None, **options: Any) -> rw.Result:
    traces = [row | (SAID if said is None else said) for row in c.retrieval_traces(size)]
    return rw.score("retrieval", gold=c.retrieval_gold(size, 1), traces=traces, gates=gates, defaults=False, **options)


def body(result: rw.Result) -> Row:
    [found] = result.report["suites"].values()
    return dict(found)


@pytest.mark.parametrize("name", [name for name in c.EVERY if name != "trec"])
def test_every_suite_says_how_its_traces_were_made(name: str) -> None:
    case = c.EVERY[name](Path())
    path = Path(case.files[case.runs])
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    write_jsonl(path, [row | SAID for row in rows])
    said = c.score(c.COMMAND, case)
    found = said.report["suites"][case.suite]["provenance"]
    assert {key: found[key] for key in MADE} == TOLD


def test_it_stands_in_every_form_of_a_report_and_in_the_receipt() -> None:
    gold, traces = (
        write_jsonl(Path("g.jsonl"), c.answers_gold(4, 1)),
        write_jsonl(Path("t.jsonl"), c.answers_traces(4, **SAID)),
    )
    given = ("score", "answers", "--gold", gold, "--trace", traces, "-o", "r.md", "--receipt", "r.json", "--full")
    lines = [
        "index rw:1",
        "commit 4f1c2d3",
        "normaliser norm/1",
        "reranker bge/2",
        "retriever k 10, mode hybrid",
    ]
    text = run_cli(*given).out
    assert "\n".join(["How it was made", *(f"  {line}" for line in lines), "", "What this evidence"]) in text
    markdown = Path("r.md").read_text()
    tested = markdown.partition("### What was tested")[2]
    assert "\n".join(["| commit | `4f1c2d3` |", "| index | `rw:1` |", "| normaliser | norm/1 |"]) in tested
    assert "\n".join(["- normaliser norm/1", "- reranker bge/2", "- retriever k 10, mode hybrid"]) in markdown
    kept = json.loads(Path("r.json").read_text())["suites"]["answers"]["provenance"]
    assert kept == TOLD
    assert run_cli("verify", "r.json").code == 0


def test_what_nothing_says_is_null_and_named() -> None:
    found = answers(traces=c.answers_traces(4))
    assert body(found)["provenance"] == dict.fromkeys(MADE)
    text = flow.render(found.report, "text")
    assert "How it was made\n  not said: index, commit, normaliser, reranker, retriever\n" in text


def test_two_indexes_in_one_file_are_shown_counted_and_warned_of() -> None:
    traces = c.answers_traces(4, **SAID)
    traces[0] |= {"index_hash": "rw:2"}
    found = body(answers(traces=traces))
    assert found["provenance"]["index_hash"] is None
    assert found["provenance"]["differs"] == {
        "index_hash": [{"value": "rw:1", "traces": 3}, {"value": "rw:2", "traces": 1}]
    }
    [warning] = [one for one in found["warnings"] if one["code"] == "RW-W129"]
    assert (warning["name"], warning["count"]) == ("provenance_mixed", 2)
    assert warning["message"] == "the traces differ in index_hash: rw:1 (3), rw:2 (1)"
    [step] = [one for one in answers(traces=traces).report["next"] if "different ways" in one["pattern"]]
    assert step == {
        "pattern": "the traces were made in different ways (index_hash)",
        "do": "compare the manifests of the indexes ('ragworthy index check'), and normalise text alike in every "
        "environment",
    }


def test_knobs_are_shown_and_several_are_no_fault() -> None:
    traces = c.answers_traces(4, **SAID, knobs={"k": 3})
    assert body(answers(traces=traces))["provenance"]["knobs"] == {"k": 3}
    traces[0] |= {"knobs": {"k": 5}}
    found = body(answers(traces=traces))
    assert [one["value"] for one in found["provenance"]["differs"]["knobs"]] == [{"k": 3}, {"k": 5}]
    assert "RW-W129" not in {one["code"] for one in found["warnings"]}


def test_values_that_are_hostile_are_shown_escaped() -> None:
    traces = c.answers_traces(4, **SAID | {"reranker_id": "a\x1b[31m|<b>\n# x"})
    write_jsonl(Path("t.jsonl"), traces)
    gold = write_jsonl(Path("g.jsonl"), c.answers_gold(4, 1))
    out = run_cli("score", "answers", "--gold", gold, "--trace", "t.jsonl", "--full", "-o", "r.md").out
    assert "\x1b" not in out
    assert "<b>" not in Path("r.md").read_text()
    assert "\n# x" not in Path("r.md").read_text()


# what a baseline may have otherwise


DROP = {"max_drop": "0.02"}


def against(earlier: Row, now: Row, **options: Any) -> rw.Result:
    retrieval(said=earlier).write("before.json")
    Path("gates.toml").write_text('[[gate]]\nmetric = "recall@5"\nmax_drop = 0.02\n')
    return retrieval(said=now, gates=Path("gates.toml"), baseline="before.json", **options)


@pytest.mark.parametrize(
    ("key", "now", "said"),
    [
        ("normaliser_id", "norm/2", "another normaliser (norm/1 and norm/2)"),
        ("reranker_id", "mini/1", "another reranker (bge/2 and mini/1)"),
        ("reranker_id", None, "another reranker (bge/2 and none)"),
        ("retriever", {"mode": "bm25", "k": 10}, "another retriever (mode hybrid and mode bm25)"),
    ],
)
def test_a_baseline_made_otherwise_is_refused_unless_it_is_asked_for(key: str, now: Any, said: str) -> None:
    name = key.removesuffix("_id")
    found = against(SAID, SAID | {key: now})
    assert found.verdict is rw.Verdict.INVALID
    [gate] = [one for one in found.gates if one["op"] == "drop<="]
    assert gate["reason"] == f"the baseline is not comparable: it was made with {said}"
    assert body(found)["compared"]["unlike"] == [f"it was made with {said}"]
    [step] = [one["do"] for one in found.report["next"] if "made in another way" in one["pattern"]]
    assert step == ASK.format(name)
    allowed = against(SAID, SAID | {key: now}, allow=[name])
    assert (allowed.verdict, body(allowed)["compared"]["unlike"]) == (rw.Verdict.SHIP, [])


def test_runs_with_several_rerankers_are_not_compared() -> None:
    """In both runs there is one trace with another reranker; the same two names do not make them alike."""
    for name, odd in (("before", 0), ("now", -1)):
        rows = [row | SAID for row in c.retrieval_traces(4)]
        rows[odd]["reranker_id"] = "mini/1"
        write_jsonl(Path(f"{name}.jsonl"), rows)
    Path("gates.toml").write_text('[[gate]]\nmetric = "recall@5"\nmax_drop = 0.02\n')

    def score(name: str, **options: Any) -> rw.Result:
        return rw.score("retrieval", gold=c.retrieval_gold(4, 1), traces=f"{name}.jsonl", defaults=False, **options)

    score("before", gates="recall@5=0.5").write("before.json")
    found = score("now", gates=Path("gates.toml"), baseline="before.json")
    said = "it was made with several rerankers in one run (bge/2, mini/1)"
    assert (found.verdict, body(found)["compared"]["unlike"]) == (rw.Verdict.INVALID, [said])
    allowed = score("now", gates=Path("gates.toml"), baseline="before.json", allow=["reranker"])
    assert allowed.verdict is rw.Verdict.SHIP


def test_another_index_and_commit_are_what_baselines_are_for_and_are_shown() -> None:
    found = against(SAID, SAID | {"index_hash": "rw:2", "commit": "5a5a5a5"})
    assert found.verdict is rw.Verdict.SHIP
    assert body(found)["compared"]["notes"] == ["what changed: index_hash: rw:1 → rw:2; commit: 4f1c2d3 → 5a5a5a5"]
    assert "    what changed: index_hash: rw:1 → rw:2; commit: 4f1c2d3 → 5a5a5a5\n" in flow.render(found.report, "text")


def test_a_retriever_that_one_run_does_not_name_refuses_nothing() -> None:
    assert against(SAID | {"retriever": None}, SAID).verdict is rw.Verdict.SHIP


def test_what_may_differ_is_one_of_three_things() -> None:
    with pytest.raises(RagworthyError) as error:
        against(SAID, SAID, allow=["rerankr"])
    wanted = 'expected normaliser, reranker or retriever, got "rerankr" [RW-B06]'
    assert error.value.lines()[0] == f"allow: {wanted}"
    Path("p.toml").write_text('version = 1\nallow = ["gold"]\n[answers]\ngold = "g"\ntraces = "t"\n')
    assert run_cli("gate", "-c", "p.toml").err.splitlines()[0] == (
        'p.toml: allow[0]: expected normaliser, reranker or retriever, got "gold" [RW-B06]'
    )


def test_a_policy_asks_and_its_receipt_verifies() -> None:
    against(SAID, SAID)
    write_jsonl(Path("g.jsonl"), c.retrieval_gold(4, 1))
    write_jsonl(Path("t.jsonl"), [row | SAID | {"reranker_id": "mini/1"} for row in c.retrieval_traces(4)])
    retrieval(gates="recall@5=0.5").write("before.json")
    report = run_cli("score", "retrieval", "--gold", "g.jsonl", "--trace", "t.jsonl", "--gates", "recall@5=0.5",
                     "--no-default-gates", "-o", "same.json")  # fmt: skip
    assert report.code == 0
    Path("before.json").write_text(Path("same.json").read_text().replace("mini/1", "bge/2"))
    policy = (
        'version = 1\nbaseline = "before.json"\ndefaults = false\n[retrieval]\ngold = "g.jsonl"\ntraces = "t.jsonl"\n'
        '[[gate]]\nmetric = "recall@5"\nmax_drop = 0.02\n'
    )
    Path("p.toml").write_text(policy)
    refused = run_cli("gate", "--full", "-c", "p.toml", "--no-history")
    assert refused.code == 4
    ask = 'make both with the same reranker; if that is what you try, say so: allow = ["reranker"] in the policy'
    assert f"  the baseline was made in another way: retrieval.recall@5: {ask}\n" in refused.out
    Path("p.toml").write_text(policy.replace("version = 1", 'version = 1\nallow = ["reranker"]'))
    assert run_cli("gate", "--full", "-c", "p.toml", "--no-history", "--commit", "abcdef1", "-o", "r.json").code == 0
    assert run_cli("verify", ".ragworthy/receipt.json").code == 0
    flags = ("score", "retrieval", "--full", "--gold", "g.jsonl", "--trace", "t.jsonl", "--baseline", "before.json",
             "--gates", "gates.toml", "--no-default-gates", "--receipt", "s.json")  # fmt: skip
    assert run_cli(*flags).code == 4
    assert run_cli(*flags, "--allow", "reranker").code == 0
    assert json.loads(Path("s.json").read_text())["request"]["allow"] == ["reranker"]
    assert run_cli("verify", "s.json").code == 0


def test_the_commit_of_a_gate_is_in_its_report_where_traces_say_none() -> None:
    write_jsonl(Path("g.jsonl"), c.answers_gold(4, 1))
    write_jsonl(Path("t.jsonl"), c.answers_traces(4))
    Path("p.toml").write_text(
        'version = 1\ndefaults = false\n[answers]\ngold = "g.jsonl"\ntraces = "t.jsonl"\n[history]\neval = "eval"\n'
        '[[gate]]\nmetric = "precision"\nmin = 0.5\n'
    )
    assert run_cli("gate", "-c", "p.toml", "--commit", "abcdef1", "--store", "h.db").code == 0
    report = json.loads(Path("eval/last_report.json").read_text())
    assert report["suites"]["answers"]["provenance"]["commit"] == "abcdef1"
    line = json.loads(Path("eval/history.jsonl").read_text())
    assert line["made"]["answers"]["commit"] == "abcdef1"


# comparisons and trends


def test_compare_refuses_says_how_to_ask_and_shows_what_changed() -> None:
    retrieval().write("a.json")
    retrieval(said=SAID | {"reranker_id": "mini/1", "index_hash": "rw:2"}).write("b.json")
    done = run_cli("compare", "a.json", "b.json")
    assert done.code == 4
    assert "  retrieval: another reranker (bge/2 and mini/1)\n" in done.out
    assert "--allow reranker\n" in done.out
    done = run_cli("compare", "a.json", "b.json", "--allow", "reranker")
    assert done.code == 0
    assert "they differ, as asked for: another reranker (bge/2 and mini/1)" in done.out
    assert "what changed: index_hash: rw:1 → rw:2; reranker: bge/2 → mini/1" in done.out


def test_repeated_runs_that_flip_and_were_made_otherwise_get_the_advice_of_the_sources() -> None:
    retrieval().write("a.json")
    traces = [row | SAID | {"index_hash": "rw:2"} for row in c.retrieval_traces(4)]
    traces[0] |= {"topk": [{"id": "S.2.p.z"}]}
    gold = c.retrieval_gold(4, 1)
    rw.score("retrieval", gold=gold, traces=traces, gates="recall@5=0.5", defaults=False).write("b.json")
    advice = (
        "the runs differ in index_hash: compare the manifests of the indexes ('ragworthy index check'), and normalise "
        "text alike in every environment"
    )
    assert f"  {advice}\n" in run_cli("history", "trend", "a.json", "b.json", "--repeated").out
    assert advice not in run_cli("history", "trend", "a.json", "b.json").out
    assert advice not in run_cli("history", "trend", "a.json", "a.json", "--repeated").out


def test_a_trend_with_the_name_of_a_picture_is_drawn() -> None:
    pytest.importorskip("vl_convert")
    retrieval().write("a.json")
    assert run_cli("history", "trend", "a.json", "a.json", "-o", "x.svg").code == 0
    assert Path("x.svg").read_text().startswith("<svg")


# the index


def test_the_manifest_of_an_index_is_in_the_report() -> None:
    Path("docs").mkdir()
    Path("docs/a.md").write_text("# Doors\n\nThe doors close after ten seconds.\n")
    assert run_cli("index", "build", "--docs", "docs", "--out", "index", "--dense", "none").code == 0
    gold = [{"qid": "q1", "question": "When do the doors close?", "gold_evidence": ["after ten seconds"]}]
    write_jsonl(Path("g.jsonl"), gold)
    assert run_cli("retrieve", "--index", "index", "--gold", "g.jsonl", "-o", "t.jsonl").code == 0
    given = ("score", "retrieval", "--gold", "g.jsonl", "--trace", "t.jsonl", "--corpus", "index", "-o", "r.json")
    run_cli(*given)
    found = json.loads(Path("r.json").read_text())["suites"]["retrieval"]["provenance"]
    manifest = json.loads(Path("index/manifest.json").read_text())
    assert found["index_hash"] == manifest["index_hash"]
    assert (found["normaliser"], found["reranker"]) == ("ragworthy-norm/1", None)
    assert found["retriever"] == {"k": 10, "knee": False, "mode": "bm25"}
    keys = ("index_hash", "index_type", "metric", "embedding", "chunker", "text_preproc", "analyzer")
    assert found["index"] == {key: manifest[key] for key in keys}
    shutil.rmtree("index")


# sizes


@pytest.mark.parametrize(
    ("size", "said"),
    [
        (1, "1 question: a smoke test needs at least 10"),
        (50, "50 questions: a release needs at least 200"),
        (199, "199 questions: a release needs at least 200"),
        (200, ""),
    ],
)
def test_the_size_of_a_retrieval_gold_set_is_judged_by_what_its_source_asks(size: int, said: str) -> None:
    found = [one["message"] for one in body(retrieval(size))["warnings"] if one["code"] == "RW-W15"]
    assert found == ([said] if said else [])


def test_the_doctor_says_it_too() -> None:
    write_jsonl(Path("g.jsonl"), c.retrieval_gold(50, 1))
    write_jsonl(Path("t.jsonl"), c.retrieval_traces(50))
    Path("p.toml").write_text('version = 1\n[retrieval]\ngold = "g.jsonl"\ntraces = "t.jsonl"\n')
    out = run_cli("doctor", "-c", "p.toml").out
    assert "  50 questions: a release needs at least 200\n" in out


def test_a_regression_gate_asks_for_a_hundred() -> None:
    write_jsonl(Path("g.jsonl"), c.answers_gold(40, 1))
    write_jsonl(Path("t.jsonl"), c.answers_traces(40))
    Path("p.toml").write_text('version = 1\nregression = true\n[answers]\ngold = "g.jsonl"\ntraces = "t.jsonl"\n')
    out = run_cli("gate", "--full", "-c", "p.toml", "--no-history").out
    assert "  40 questions: a regression gate needs at least 100 [RW-W15]\n" in out


def test_all_of_a_large_file_is_looked_at() -> None:
    traces = c.answers_traces(400, **SAID)
    for one in traces[:2]:
        one["padding"] = "x" * (17 << 20)  # what comes then is far behind
    traces[-2]["reranker_id"], traces[-1]["reranker_id"] = "other/1", "late/1"
    path = write_jsonl(Path("t.jsonl"), traces)
    whole = {key: dict(values) for key, values in said_by([open_source("trace", path)], 1).items()}
    assert whole["reranker"] == {'"bge/2"': 398, '"other/1"': 1, '"late/1"': 1}
    assert {key: dict(values) for key, values in said_by([open_source("trace", path)], 3).items()} == whole


def test_more_values_than_are_listed_are_counted_and_compared() -> None:
    traces = c.answers_traces(24)
    for nth, one in enumerate(traces):
        one["reranker_id"] = f"r/{nth:02}"
    made = body(answers(24, traces=traces))["provenance"]
    assert (len(made["differs"]["reranker"]), made["differs_in"]["reranker"]["values"]) == (10, 24)
    assert lines({"provenance": made})[0].endswith("r/09 (1) and 14 more")
    traces[-1]["reranker_id"] = "z"  # behind the ten that are listed
    moved = body(answers(24, traces=traces))["provenance"]
    assert moved["differs"] == made["differs"]
    before, after = told_of({"provenance": made}), told_of({"provenance": moved})
    [(key, was, now)] = changed(before, after)
    assert (key, was[:10], now[:10]) == ("reranker", "24 values ", "24 values ")
    assert told_of({"provenance": made}) == before


def test_the_order_of_values_is_no_difference() -> None:
    few = {"differs": {"commit": [{"value": "a", "traces": 3}, {"value": "b", "traces": 1}]}}
    many = {"differs": {"commit": [{"value": "b", "traces": 3}, {"value": "a", "traces": 1}]}}
    assert told_of({"provenance": few}) == told_of({"provenance": many})


def test_a_value_reads_the_same_wherever_it_is_shown() -> None:
    ways = [{"mode": "bm25", "exact": True}, {"mode": "dense", "exact": None}]
    made = {"differs": {"retriever": [{"value": one, "traces": 2} for one in ways]}}
    told = "mode bm25, exact true (2), mode dense, exact none (2)"
    assert mixed(made)[0].message == f"the traces differ in retriever: {told}"
    assert lines({"provenance": {**dict.fromkeys(MADE), **made}})[0] == f"retriever: the traces differ: {told}"
    assert change_lines({"retriever": ways[0]}, {"retriever": ways[1]}) == [
        "retriever: mode bm25, exact true → mode dense, exact none"
    ]


@pytest.mark.parametrize("cited", ['"a"', '{"snippet_id": "a"}', "7"])
def test_traces_tell_the_same_whether_they_are_scored_or_only_looked_at(cited: str) -> None:
    told = ['"commit": "a1"', '"knobs": {"k": 5,  "b": 1.0}', '"knobs": null, "index_hash": ""', '"q": "?"']
    lines = [
        f'{{"qid": "q{nth}", "answer_json": {{"claim": "c", "citations": [{cited}]}}, {told[nth // 3 % 4]}}}\n'.encode()
        for nth in range(40)
    ]
    for some in (lines, lines[:3], lines[:1] * 9, []):
        block = Block(0, b"".join(some))
        records = Decoder(Trace, usual=(ToldTrace,)).records(block)
        assert len(records) == len(some)
        found = told_in(records, block.data)
        assert found == told_in([], block.data)
        assert found.total() == len(some)
    assert found == {}
    apart = [json.loads(line) for line in lines]
    expected = Counter(tuple(json.dumps(one.get(key)) for key in ("commit", "knobs", "index_hash")) for one in apart)
    whole = told_in(Decoder(Trace, usual=(ToldTrace,)).records(Block(0, b"".join(lines))), b"".join(lines))
    assert sorted(whole.values()) == sorted(expected.values())


def test_a_block_in_which_no_trace_says_anything_is_known_by_its_type() -> None:
    silent, null = b'{"qid": "q", "answer_json": {"claim": "c"}}\n', b'{"qid": "q", "commit": null}\n'
    said = b'{"qid": "q", "commit": "a1"}\n'
    decoder = told_reader(open_source("trace", [])).decoder()
    for some, kind in (
        ([silent] * 3, SilentTrace),
        ([silent, null], SilentTrace),
        ([silent, said, silent], ToldTrace),
        ([silent], ToldTrace),  # what told once is not asked again whether it does
    ):
        block = Block(0, b"".join(some))
        records = decoder.records(block)
        assert {type(one) for one in records} == {kind}
        found = told_in(records, block.data)
        assert found.total() == len(some)
        assert _values(found) == _values(told_in([], block.data))


def _values(found: Counter[tuple[bytes, ...]]) -> Counter[tuple[bytes, ...]]:
    """Null says as little as nothing."""
    return Counter(tuple(b"" if raw == b"null" else raw for raw in said) for said in found.elements())
