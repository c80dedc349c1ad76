"""`ragworthy compare`: what two runs of real files show, what is refused, and what broken input says."""

import gzip
import json
import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
import pytest
from scipy.stats import binomtest

import ragworthy as rw
from conftest import run_cli, write_jsonl
from places import DATA
from ragworthy import starter
from ragworthy.cli.main import main
from ragworthy.comparison.records import Compared

Say = Callable[..., tuple[int, str, str]]
Row = dict[str, Any]


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Say:
    def run(*words: object) -> tuple[int, str, str]:
        code = main([str(word) for word in words])
        told = capsys.readouterr()
        return code, told.out, told.err

    return run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The starter with a report, and traces in which one answer is wrong, one refused and one cites nothing."""
    starter.init(tmp_path)
    monkeypatch.chdir(tmp_path)
    traces = read(tmp_path / "runs/latest/traces.jsonl")
    traces[1]["answer_json"]["claim"] = "Harbor keeps every version."
    traces[2]["answer_json"] = {"claim": "not in context", "citations": []}
    write(tmp_path / "after.jsonl", traces)
    score("before.json", "runs/latest/traces.jsonl")
    score("after.json", "after.jsonl")
    return tmp_path


def read(path: Path) -> list[Row]:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line) for line in data.splitlines()]


def write(path: Path, records: list[Row]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def score(output: str, traces: str, **more: Any) -> rw.Result:
    result = rw.score("answers", gold="gold/answers.jsonl", traces=traces, **more)
    result.write(output)
    return result


# what is said


def test_two_reports(folder: Path, say: Say) -> None:
    code, out, _ = say("compare", "before.json", "after.json")
    assert code == 0
    assert "answers: 12 questions compared, 2 changed: 0 fixed, 2 broken" in out
    # 8 of 8 shipped answers become 6 of 7: one right → wrong, one right → no case.
    assert "  answers.precision      1.0    0.8571  -0.1429 " in out
    assert "p is two-sided (gates test one side: worse), of the paired test, not corrected for " in out
    assert " metrics that changed; after Holm's correction none is below" in out
    # (2 + 1) / 14 flip; Connor's formula gives 59 points for 12 questions, the exact test needs a tenth more.
    assert "  12 questions of which 17 % were fixed or broken find a loss of 64.9 points in four of five; about " in out
    assert "  H002  OK → ANS_NO_CONTAIN" in out and "      is         Harbor keeps every version." in out
    assert out.splitlines()[-1] == "compared: 0 fixed, 2 broken; nothing is proven (exit 0)"
    assert say("compare", "before.json", "after.json", "-q")[1] == out.splitlines()[-1] + "\n"


def test_json_is_what_the_schema_says_and_the_same_twice(folder: Path, say: Say) -> None:
    code, out, _ = say("compare", "before.json", "after.json", "--format", "json", "-o", "c.json", "-o", "c.md")
    found = msgspec.json.decode(out, type=Compared)
    assert code == 0 and found.schema == "ragworthy.compare/1" and found.comparable
    one = json.loads(out)["metrics"]["answers.precision"]
    assert {"a", "b", "difference", "low", "high", "p", "fixed", "broken"} <= one.keys()
    assert (one["a"], one["b"], one["fixed"], one["broken"]) == (1.0, 6 / 7, 0, 2)
    # R = 14/15. Right → wrong weighs 1, right → no case 1/15: both for the worse is one of four ways, and twice that ½.
    assert one["p"] == 0.5
    assert found.metrics == found.suites["answers"].metrics
    assert [flip.qid for flip in found.suites["answers"].broken] == ["H002", "H005"]
    assert Path("c.json").read_text() == out == say("compare", "before.json", "after.json", "--format", "json")[1]
    assert "| `H002` | OK → ANS_NO_CONTAIN: claim_wrong |" in Path("c.md").read_text()


def test_nothing_changed(folder: Path, say: Say) -> None:
    code, out, _ = say("compare", "before.json", "before.json")
    assert code == 0 and "answers: 12 questions compared, no question changed" in out
    assert out.splitlines()[-1] == "compared: no question changed (exit 0)"


def test_traces_and_folders_are_scored_first(folder: Path, say: Say) -> None:
    reports = json.loads(say("compare", "before.json", "after.json", "--format", "json")[1])
    words = "compare", "runs/latest", "after.jsonl", "--gold", "gold/answers.jsonl", "--format", "json"
    code, out, _ = say(*words)
    assert code == 0 and json.loads(out)["metrics"] == reports["metrics"]
    mixed = json.loads(say("compare", "before.json", *words[2:])[1])
    assert mixed["suites"] == reports["suites"] | {"answers": reports["suites"]["answers"] | {}}


def test_the_gold_set_of_a_run_is_found_where_it_has_not_changed(folder: Path, say: Say) -> None:
    target = folder / "rag.py"
    reply = {"answer_json": {"claim": "not in context", "citations": []}, "retrieved_ids": []}
    target.write_text(f"def answer(q):\n    return {reply}\n")
    assert say("run", "--target", "rag.py:answer", "--gold", "gold/answers.jsonl", "--out", "one")[0] == 0
    shutil.copytree("one", "two")
    assert say("compare", "one", "two")[:2] == (0, say("compare", "one", "two", "--gold", "gold/answers.jsonl")[1])
    with Path("gold/answers.jsonl").open("a") as file:
        file.write("\n")
    code, _, err = say("compare", "one", "two")
    assert code == 2 and err.startswith("one: expected --gold GOLD besides traces, to score them, got none [RW-Y01]\n")


def test_a_report_with_a_baseline_begins_with_what_changed(folder: Path, say: Say) -> None:
    words = "score", "answers", "--gold", "gold/answers.jsonl", "--trace"
    _, out, _ = say(*words, "after.jsonl", "--baseline", "before.json", "--full", "-o", "r.json", "-o", "r.md")
    lines = out.splitlines()
    assert lines[2].startswith("  against before.json: 0 fixed, 2 broken; precision 1.0 → 0.8571, -14.3 points (")
    assert (
        lines[3]
        == "    broken: H002 (OK → ANS_NO_CONTAIN: claim_wrong), H005 (OK → OVER_REFUSAL: refused_with_evidence)"
    )
    body = json.loads(Path("r.json").read_text())["suites"]["answers"]
    compared = json.loads(say("compare", "before.json", "after.json", "--format", "json")[1])["suites"]["answers"]
    assert body["compared"]["metrics"] == compared["metrics"] and body["compared"]["against"] == "before.json"
    assert [one["qid"] for one in body["compared"]["broken"]] == ["H002", "H005"]
    assert "- against `before.json`: 0 fixed, 2 broken" in Path("r.md").read_text()
    _, same, _ = say(*words, "runs/latest/traces.jsonl", "--baseline", "before.json")
    assert "  against before.json: no question changed (12 compared)\n" in same


def test_a_receipt_with_a_baseline_is_verified_from_wherever_it_is_seen(
    folder: Path, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = "score", "answers", "--gold", "gold/answers.jsonl", "--trace", "after.jsonl", "--baseline", "before.json"
    assert say(*words, "-q", "--receipt", "receipt.json")[0] == 1
    monkeypatch.chdir(folder / "gold")
    code, out, _ = say("verify", "../receipt.json")
    assert code == 0 and "re-derives byte for byte" in out


def test_a_baseline_that_is_not_comparable_is_not_compared(folder: Path) -> None:
    result = score("x.json", "after.jsonl", baseline="before.json", short_substr="reject")
    compared = result.report["suites"]["answers"]["compared"]
    assert compared["unlike"] == ["it was scored with another setting of short_substr"] and compared["metrics"] == {}
    assert "against before.json: not compared: it was scored with another setting of short_substr" in result.text()


# what is refused


@pytest.mark.parametrize(
    ("change", "reason", "allow"),
    [
        ({"k": 3}, "answers: another setting of k (5 and 3)", "k"),
        ({"refusals": ["pass"]}, "answers: another setting of refusals (not in context and pass)", "refusals"),
    ],
)
def test_other_settings_are_refused_unless_that_is_what_is_tried(
    folder: Path, say: Say, change: Row, reason: str, allow: str
) -> None:
    score("other.json", "after.jsonl", **change)
    code, out, _ = say("compare", "before.json", "other.json")
    assert code == 4 and out.splitlines()[-1] == "compared: not comparable, INVALID (exit 4)"
    assert out.splitlines()[3:7] == [
        "not comparable",
        f"  {reason}",
        "",
        f"compare them all the same, where that is what you try: --allow {allow}",
    ]
    found = json.loads(say("compare", "before.json", "other.json", "--format", "json")[1])
    assert (found["comparable"], found["unlike"], found["metrics"]) == (False, [reason], {})
    code, out, _ = say("compare", "before.json", "other.json", "--allow", allow)
    assert code == 0 and f"they differ, as asked for: {reason.removeprefix('answers: ')}" in out


def test_another_gold_set_is_refused_and_with_leave_only_common_questions_count(folder: Path, say: Say) -> None:
    gold = read(Path("gold/answers.jsonl"))
    write(Path("gold/answers.jsonl"), [*gold[1:], gold[0] | {"qid": "NEW"}])
    score("other.json", "after.jsonl")
    code, out, _ = say("compare", "before.json", "other.json")
    assert code == 4 and "  answers: another gold set (" in out
    code, out, _ = say("compare", "before.json", "other.json", "--allow", "gold")
    assert code == 0 and "answers: 11 questions compared, 2 changed" in out
    assert "only in A: 1 question: H001" in out and "only in B: 1 question: NEW" in out
    assert "questions with the same id are taken for the same question" in out


def retrieval(name: str, **marks: str) -> None:
    gold = [{"qid": "Q1", "relevant": ["S.4.2.p.Bk011a"], "anchor_section": "S.4.2"}]
    traces = [{"qid": "Q1", "topk": [{"id": "S.4.2.p.Bk011a"}], **marks}]
    rw.score("retrieval", gold=gold, traces=traces, gates="recall@5=0.5").write(name)


@pytest.mark.parametrize("mark", ["normaliser_id", "reranker_id"])
def test_another_normaliser_or_reranker_is_refused(
    mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, say: Say
) -> None:
    monkeypatch.chdir(tmp_path)
    name = mark.partition("_")[0]
    retrieval("a.json")
    retrieval("b.json", **{mark: "other-1"})
    code, out, _ = say("compare", "a.json", "b.json")
    assert code == 4 and f"  retrieval: another {name} (none and other-1)" in out
    assert say("compare", "a.json", "b.json", "--allow", name)[0] == 0


# broken input


BROKEN = {
    ("none.json",): "none.json: expected a file, got nothing at this path [RW-F01]",
    ("after.jsonl",): "after.jsonl: expected --gold GOLD besides traces, to score them, got none [RW-Y01]",
    ("gold",): "gold: expected the folder of a run, with traces.jsonl: there is none in it [RW-Y02]",
    ("bad.json",): "bad.json: schema: expected a value, got nothing [RW-B01]",
    ("forged.json",): "forged.json: suites.answers.rows: expected rows with the hash beside them, "
    "got rows that were changed [RW-B02]",
    ("retrieval.json",): "before.json, retrieval.json: expected a suite that both have, "
    "got answers and retrieval [RW-Y03]",
    ("after.json", "--allow", "rerankr"): "--allow: expected something that may differ (gold, profile, loads, "
    "normaliser, reranker, retriever, k, "
    'refusals, short_substr, scu, rule_packs, allow_gold_errors, support), got "rerankr" [RW-Y04]',
    ("after.json", "-o", "before.json"): "before.json: expected a new file, got one that is read [RW-U01]",
    ("after.json", "-o", "c.xml"): "c.xml: expected one of .json .md .txt, got .xml [RW-F17]",
}


@pytest.mark.parametrize(("words", "said"), BROKEN.items(), ids=str)
def test_broken_input(folder: Path, say: Say, words: tuple[str, ...], said: str) -> None:
    report = json.loads(Path("before.json").read_text())
    Path("bad.json").write_text("{}")
    labels = report["suites"]["answers"]["rows"]["label"]
    labels["codes"] = labels["codes"][::-1]
    Path("forged.json").write_text(json.dumps(report))
    retrieval("retrieval.json")
    before = Path("before.json").read_bytes()
    code, out, err = say("compare", "before.json", *words)
    assert (code, out, err.splitlines()[0]) == (2, "", said)
    assert Path("before.json").read_bytes() == before


def test_a_report_of_an_older_version_has_values_only(folder: Path, say: Say) -> None:
    report = json.loads(Path("before.json").read_text())
    for key in ("rows", "can_show"):
        del report["suites"]["answers"][key]
    report["tool"]["version"] = "0.1.0"
    Path("old.json").write_text(json.dumps(report))
    code, out, _ = say("compare", "old.json", "after.json")
    assert code == 0 and "answers: values only\n" in out
    assert "old.json: it was written by an earlier version, which kept no rows" in out
    assert out.splitlines()[-1] == "compared: values only, question by question nothing is known (exit 0)"
    body = score("x.json", "after.jsonl", baseline="old.json").report["suites"]["answers"]
    assert body["compared"]["metrics"]["answers.precision"]["difference"] == pytest.approx(-1 / 7)


def test_texts_cannot_steer_a_terminal(folder: Path, say: Say) -> None:
    traces = read(Path("runs/latest/traces.jsonl"))
    traces[0]["answer_json"]["claim"] = "\x1b[31m::error::no | way"
    write(Path("bad.jsonl"), traces)
    words = "compare", "runs/latest/traces.jsonl", "bad.jsonl", "--gold", "gold/answers.jsonl"
    assert "\x1b" not in say(*words)[1] and r"\x1b[31m::error::no | way" in say(*words)[1]
    assert r"`\x1b[31m::error::no` \| way" in say(*words, "--format", "markdown")[1]


# from Python


def test_results_are_compared_as_their_reports_are(folder: Path) -> None:
    one, other = score("x.json", "runs/latest/traces.jsonl"), score("y.json", "after.jsonl")
    found, written = rw.compare(one, other), rw.compare("x.json", "y.json")
    assert found.metrics == written.metrics and found.fixed == []
    assert [flip.qid for flip in found.broken] == ["H002", "H005"]
    assert found.metrics["answers.missing"].a == 0 and isinstance(found.metrics["answers.missing"].a, int)
    assert repr(found) == "<ragworthy compared: 0 fixed, 2 broken; nothing is proven (exit 0)>"
    assert "| `answers.precision` | 1.0 | 0.8571 | -0.1429 |" in found._repr_markdown_()
    written.write("c.txt")
    assert Path("c.txt").read_text() == written.text(full=True)
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(found)
    with pytest.raises(rw.RagworthyError, match=r"expected a new file"):
        written.write("x.json")
    with pytest.raises(rw.RagworthyError, match="allow: expected a list of names"):
        rw.compare("x.json", "y.json", allow="k")


# real data


@pytest.mark.data("data/squad2/dev")
def test_real_systems_are_compared_as_scipy_does(tmp_path: Path) -> None:
    """BERT against NLNet on SQuAD 2.0: flips counted from the rows, the exact test from scipy."""
    squad = DATA / "squad2/dev"
    gold = read(squad / "gold.jsonl.gz")[:1500]
    results = [
        rw.score("answers", gold=gold, traces=read(squad / f"trace_{name}.jsonl.gz"), allow_gold_errors=True)
        for name in ("bert_single", "nlnet_single")
    ]
    found = rw.compare(*results)
    rows = [{row["qid"]: row for row in result.rows()} for result in results]
    for metric, good in (("answers.containment", 1), ("answers.over_refusal", 0), ("answers.under_refusal", 0)):
        pairs = [
            (rows[0][qid]["metrics"][metric] == good, rows[1][qid]["metrics"][metric] == good)
            for qid in rows[0]
            if metric in rows[0][qid]["metrics"] and metric in rows[1][qid]["metrics"]
        ]
        worse, better = pairs.count((True, False)), pairs.count((False, True))
        one = found.metrics[metric]
        assert (one.broken, one.fixed) == (worse, better) and worse + better > 50
        if one.method == "mcnemar":
            assert one.p == pytest.approx(binomtest(worse, worse + better).pvalue, rel=1e-9)
    assert found.metrics["answers.under_refusal"].method == "mcnemar"


@pytest.mark.data("data/trec/robust03")
def test_two_trec_runs(say: Say) -> None:
    """InexpC2 against Sel50: means as the reference values per query have them, and p from their signs."""
    trec = DATA / "trec/robust03/dev"
    runs = [trec / f"run.{name}.txt.gz" for name in ("InexpC2", "Sel50")]
    code, out, _ = say("compare", "--qrels", trec / "qrels.txt", *runs, "--format", "json")
    found = json.loads(out)
    assert code == 0
    scored = [rw.score("retrieval", qrels=trec / "qrels.txt", run=run) for run in runs]
    for metric in ("retrieval.precision@10", "retrieval.ndcg@10", "retrieval.hit@5"):
        columns = [[row["metrics"][metric] for row in one.rows()] for one in scored]
        one = found["metrics"][metric]
        assert one["a"] == pytest.approx(sum(columns[0]) / len(columns[0]), abs=1e-12)
        assert one["difference"] == pytest.approx(sum(columns[1]) / 54 - sum(columns[0]) / 54, abs=1e-12)
        moved = [new - old for old, new in zip(*columns, strict=True)]
        assert (one["fixed"], one["broken"]) == (sum(x > 0 for x in moved), sum(x < 0 for x in moved))
    hits = found["metrics"]["retrieval.hit@5"]
    expected = binomtest(hits["broken"], hits["broken"] + hits["fixed"]).pvalue
    assert hits["p"] == pytest.approx(expected, rel=1e-9)


# equal bytes


def test_two_chunkings_at_equal_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, say: Say) -> None:
    """Six sentences a chunk against two: at 2,000 bytes three large chunks count, or seven to eight small ones."""
    monkeypatch.chdir(tmp_path)
    gold, one, other, large, small = (list[Row]() for _ in range(5))
    ending = "units: see the table of numbers there."
    for nth in range(8):
        said = [f"In document {nth} value {i:02} of this machine is {nth * 100 + i:03} {ending}" for i in range(24)]
        for i in range(0, 24, 6):
            large.append({"chunk_id": f"a{nth}-{i // 6}", "doc_id": f"d{nth}.md", "text": " ".join(said[i : i + 6])})
        for i in range(0, 24, 2):
            small.append({"chunk_id": f"b{nth}-{i // 2}", "doc_id": f"d{nth}.md", "text": " ".join(said[i : i + 2])})
        gold.append(
            {"qid": f"q{nth}", "question": f"Value 13 of {nth}?", "gold_evidence": [said[13]], "answerable": True}
        )
        one.append({"qid": f"q{nth}", "topk": [{"id": f"a{nth}-{i}"} for i in (0, 1, 3, 2)]})
        other.append({"qid": f"q{nth}", "topk": [{"id": f"b{nth}-{i}"} for i in (0, 1, 2, 3, 4, 5, 6, 7)]})
    for name, records in (("g", gold), ("a", one), ("b", other), ("ca", large), ("cb", small)):
        write(Path(f"{name}.jsonl"), records)
    size = len(large[0]["text"]), len(small[0]["text"])
    code, out, err = say(
        "compare", "a.jsonl", "b.jsonl", "--gold", "g.jsonl", "--suite", "retrieval",
        "--corpus-a", "ca.jsonl", "--corpus-b", "cb.jsonl", "--format", "json",
    )  # fmt: skip
    assert (code, err) == (0, "")
    suite = json.loads(out)["suites"]["retrieval"]
    # Of the first five results A has found all (its fourth holds the evidence), B none (its seventh does).
    assert suite["metrics"]["retrieval.recall@5"]["difference"] == -1
    context = suite["context"]
    assert (context["bytes_a"], context["bytes_b"]) == (4 * size[0], 5 * size[1])
    assert 3 * size[0] < 2000 < 4 * size[0] and 7 * size[1] < 2000
    two, four = context["recall"]
    assert (two["budget"], two["a"], two["b"], two["fixed"], two["broken"]) == (2000, 0.0, 1.0, 8, 0)
    assert two["p"] == float(Fraction(2, 256))
    assert (four["a"], four["b"], four["difference"]) == (1.0, 1.0, 0.0)


def test_a_suite_that_only_one_side_has_is_named(folder: Path, say: Say) -> None:
    """The reports are the same as far as both go: that is not all of it."""
    gold = [{"qid": "r1", "question": "Which?", "relevant": ["a"]}]
    write(folder / "retrieval.jsonl", gold)
    write(folder / "topk.jsonl", [{"qid": "r1", "retrieved_ids": ["a"]}])
    policy = (
        'version = 1\n[answers]\ngold = "gold/answers.jsonl"\ntraces = "runs/latest/traces.jsonl"\n'
        '[retrieval]\ngold = "retrieval.jsonl"\ntraces = "topk.jsonl"\n'
    )
    (folder / "both.toml").write_text(policy)
    say("gate", "-c", "both.toml", "--no-history", "-q", "-o", "both.json")
    last = "compared: no question changed in answers; only in A, not compared: retrieval (exit 0)\n"
    assert say("compare", "both.json", "before.json", "-q")[:2] == (0, last)
    told = say("compare", "before.json", "both.json")[1]
    assert "\nonly in B, not compared: retrieval\n" in told
    assert (
        "⚠️ only in B, not compared: retrieval" in say("compare", "before.json", "both.json", "--format", "markdown")[1]
    )
    body = json.loads(say("compare", "both.json", "before.json", "--format", "json")[1])
    assert (body["only_a"], body["only_b"], body["comparable"]) == (["retrieval"], [], True)
    alone = say("compare", "both.json", "before.json", "--suite", "answers", "-q")[1]
    assert alone == "compared: no question changed (exit 0)\n"


def test_what_is_not_there_is_said_to_be_missing(folder: Path, say: Say) -> None:
    code, _, err = say("compare", "before.json", "nope")
    assert (code, err.splitlines()[0]) == (2, "nope: expected a file, got nothing at this path [RW-F01]")


def test_questions_without_a_trace_stand_in_the_head(folder: Path, say: Say) -> None:
    write(folder / "some.jsonl", read(folder / "runs/latest/traces.jsonl")[:9])
    told = say("compare", "runs/latest/traces.jsonl", "some.jsonl", "--gold", "gold/answers.jsonl")[1]
    assert "\nanswers: 12 questions compared (3 without a trace in one of the runs), 3 changed: " in told


def test_a_corpus_on_one_side_only_is_called_so(folder: Path, say: Say) -> None:
    write(folder / "chunks.jsonl", [{"chunk_id": "a", "text": "b"}])
    score("corpus.json", "runs/latest/traces.jsonl", corpus="chunks.jsonl")
    told = say("compare", "before.json", "corpus.json")[1]
    assert "  answers: another setting of support (a corpus was given to one of them only)\n" in told


def test_traces_that_cannot_carry_a_verdict_say_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    gold = [{"qid": f"q{nth}", "question": "?", "answerable": False} for nth in range(3)]
    told = [{"qid": f"q{nth}", "retrieved_ids": [], "answer_json": {"claim": "not in context"}} for nth in range(3)]
    write_jsonl(Path("gold.jsonl"), gold)
    write_jsonl(Path("a.jsonl"), [told[0], *({"qid": one["qid"], "error": "timeout"} for one in told[1:])])
    write_jsonl(Path("b.jsonl"), told)
    done = run_cli("compare", "a.jsonl", "b.jsonl", "--gold", "gold.jsonl")
    why = "its own evidence was not valid (2 of 3 questions ended in an error"
    assert (done.code, why in done.out) == (0, True), done  # a note: people look at broken runs too
