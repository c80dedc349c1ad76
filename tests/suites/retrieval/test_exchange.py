"""TREC files on the command line: import, export, the way there and back, and scoring them as they are."""

import gzip
import hashlib
import json
import math
from pathlib import Path
from typing import Any

import pytest

from conftest import Done, run_cli, write_jsonl
from ragworthy.codes import CATALOGUE

Row = dict[str, Any]

QRELS = "q1 0 d1 2\nq1 0 d2 0\nq1 0 d3 1\nq2 0 d1 1\nq10 0 d9 1\n"
RUN = "q1 Q0 d2 1 9.5 r\nq1 Q0 d1 2 8 r\nq1 Q0 d3 3 7 r\nq2 Q0 d7 1 3 r\nq2 Q0 d1 2 2 r\nq3 Q0 d1 1 1 r\n"
TOPICS = '{"qid": "q1", "query": "first query"}\n{"qid": "q2", "paraphrases": ["a", "b", "c"]}\n'


def said(code: str, message: str) -> str:
    return f"{message} [{code}]\n  {CATALOGUE[code].name}: {CATALOGUE[code].do}\n"


def tree(path: Path) -> dict[str, bytes]:
    return {one.relative_to(path).as_posix(): one.read_bytes() for one in sorted(path.rglob("*")) if one.is_file()}


def rows_of(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    (tmp_path / "q.txt").write_text(QRELS)
    (tmp_path / "r.txt").write_text(RUN)
    (tmp_path / "topics.jsonl").write_text(TOPICS)
    return tmp_path


def import_trec(lab: Path, *flags: object, qrels: str = "q.txt") -> Done:
    return run_cli("import", "trec", "--qrels", lab / qrels, "--gold-out", lab / "gold.jsonl", *flags)


def export_trec(*flags: object) -> Done:
    return run_cli("export", "trec", *flags)


# import


def test_judgements_become_a_gold_set(lab: Path) -> None:
    done = import_trec(lab)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[-3:] == [
        "in 3 = written 3 + skipped 0",
        f"gold: 3 questions: {lab / 'gold.jsonl'}",
        f"next: ragworthy retrieve --index INDEX --gold {lab / 'gold.jsonl'} -o traces.jsonl",
    ]
    gold = rows_of(lab / "gold.jsonl")
    assert [one["qid"] for one in gold] == ["q1", "q2", "q10"]  # natural order
    assert gold[0] == {
        "qid": "q1",
        "paraphrases": [],
        "relevant": ["d1", "d3"],  # the best grade first
        "anchor_section": "",
        "negatives": ["d2"],
        "grades": {"d1": 2, "d3": 1},
    }


def test_a_run_and_topics_become_traces_with_queries(lab: Path) -> None:
    done = import_trec(
        lab, "--run", lab / "r.txt", "--trace-out", lab / "t.jsonl", "--topics", lab / "topics.jsonl"
    )  # fmt: skip
    assert done.code == 0
    assert done.out.splitlines()[-2] == f"traces: 4 queries: {lab / 't.jsonl'}"
    gold, traces = rows_of(lab / "gold.jsonl"), rows_of(lab / "t.jsonl")
    assert [one["paraphrases"] for one in gold] == [["first query"], ["a", "b", "c"], []]
    assert [(one["qid"], one["query"]) for one in traces] == [
        ("q1", "first query"),
        ("q2", "a"),
        ("q3", ""),
        ("q10", ""),
    ]
    assert traces[3]["topk"] == []  # judged and without results: it counts 0 and does not vanish
    assert traces[0]["topk"] == [{"id": "d2", "score": 9.5}, {"id": "d1", "score": 8.0}, {"id": "d3", "score": 7.0}]
    assert (traces[0]["paraphrase"], traces[0]["seed"], traces[0]["index_hash"]) == (0, 0, "r")


def test_packed_files_are_read(lab: Path) -> None:
    (lab / "q.gz").write_bytes(gzip.compress(QRELS.encode()))
    import_trec(lab)
    plain = (lab / "gold.jsonl").read_bytes()
    assert import_trec(lab, qrels="q.gz").code == 0
    assert (lab / "gold.jsonl").read_bytes() == plain


IMPORT_ERRORS: dict[str, tuple[list[str], str, str]] = {
    "run without traces": (["--run", "{}/r.txt"], "RW-U01", "expected --run and --trace-out together"),
    "traces without run": (["--trace-out", "{}/t.jsonl"], "RW-U01", "expected --run and --trace-out together"),
    "no run": (
        ["--run", "{}/nope", "--trace-out", "{}/t.jsonl"],
        "RW-F01",
        "{}/nope: expected a file, got nothing at this path",
    ),
    "bad run": (
        ["--run", "{}/bad.run", "--trace-out", "{}/t.jsonl"],
        "RW-E01",
        "{}/bad.run:2: score: expected a finite number, got 'high'",
    ),
    "repeated": (
        ["--run", "{}/twice.run", "--trace-out", "{}/t.jsonl"],
        "RW-E02",
        "{}/twice.run:2: document: expected one line for query 'q1' and document 'd1', got another after line 1",
    ),
    "no topics": (["--topics", "{}/nope"], "RW-F01", "{}/nope: expected a file, got nothing at this path"),
    "topics": (
        ["--topics", "{}/two.jsonl"],
        "RW-E03",
        "{}/two.jsonl:2: expected one topic for each query, got 'q1' again",
    ),
    "short line": (
        ["--qrels", "{}/short.txt"],
        "RW-E01",
        "{}/short.txt:1: expected 4 fields (query iteration document grade), got 3",
    ),
    "empty": (
        ["--qrels", "{}/empty.txt"],
        "RW-F04",
        "{}/empty.txt: expected lines 'query iteration document grade', got none",
    ),
}


@pytest.mark.parametrize("name", IMPORT_ERRORS)
def test_an_import_that_fails_leaves_every_file_as_it_was(lab: Path, name: str) -> None:
    flags, code, message = IMPORT_ERRORS[name]
    (lab / "bad.run").write_text("q1 Q0 d1 1 1 r\nq1 Q0 d2 2 high r\n")
    (lab / "twice.run").write_text("q1 Q0 d1 1 1 r\nq1 Q0 d1 2 0 r\n")
    (lab / "two.jsonl").write_text('{"qid": "q1", "query": "a"}\n{"qid": "q1", "query": "b"}\n')
    (lab / "short.txt").write_text("q1 0 d1\n")
    (lab / "empty.txt").write_text("\n")
    (lab / "gold.jsonl").write_text("old gold\n")
    (lab / "t.jsonl").write_text("old traces\n")
    before = tree(lab)
    done = import_trec(lab, *(flag.format(lab) for flag in flags))
    assert done == Done(2, "", said(code, message.format(lab)))
    assert tree(lab) == before


# export


def test_the_way_there_and_back_keeps_what_trec_files_hold(lab: Path) -> None:
    import_trec(lab, "--run", lab / "r.txt", "--trace-out", lab / "t.jsonl")
    done = export_trec(
        "--gold", lab / "gold.jsonl", "--qrels-out", lab / "q2.txt", "--trace", lab / "t.jsonl",
        "--run-out", lab / "r2.txt", "--tag", "r",
    )  # fmt: skip
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        f"qrels: {lab / 'q2.txt'}",
        f"run: {lab / 'r2.txt'} (paraphrase 0, seed 0)",
        "note: 1 queries have no results and are not in the file",
    ]
    for one, other in (("q.txt", "q2.txt"), ("r.txt", "r2.txt")):
        lines = [sorted(line.split() for line in (lab / name).read_text().splitlines()) for name in (one, other)]
        if one == "r.txt":
            lines = [[[*line[:4], str(float(line[4])), line[5]] for line in side] for side in lines]
        assert lines[0] == lines[1]
    again = run_cli(
        "import", "trec", "--qrels", lab / "q2.txt", "--run", lab / "r2.txt", "--gold-out", lab / "g3.jsonl",
        "--trace-out", lab / "t3.jsonl",
    )  # fmt: skip
    assert again.code == 0
    assert (lab / "g3.jsonl").read_bytes() == (lab / "gold.jsonl").read_bytes()
    assert (lab / "t3.jsonl").read_bytes() == (lab / "t.jsonl").read_bytes()


def test_both_ways_to_score_agree_where_conventions_do(lab: Path) -> None:
    """Recall, hit, MRR and nDCG do not depend on the form of the files; precision divides by k in TREC files only."""
    run = "".join(line + "\n" for line in RUN.splitlines() if not line.startswith("q3")) + "q10 Q0 d9 1 1 r\n"
    (lab / "r.txt").write_text(run)
    import_trec(lab, "--run", lab / "r.txt", "--trace-out", lab / "t.jsonl")
    gates = ["--gates", "recall@5=0.1", "--format", "json"]
    one = json.loads(run_cli("score", "retrieval", "--qrels", lab / "q.txt", "--run", lab / "r.txt", *gates).out)
    other = json.loads(
        run_cli("score", "retrieval", "--gold", lab / "gold.jsonl", "--trace", lab / "t.jsonl", *gates).out
    )  # fmt: skip
    for name in ("recall@1", "recall@5", "hit@1", "hit@3", "mrr", "ndcg@3", "ndcg@10"):
        values = [report["suites"]["retrieval"]["metrics"][f"retrieval.{name}"]["value"] for report in (one, other)]
        assert values[0] == pytest.approx(values[1], abs=1e-15), name
    precision = [report["suites"]["retrieval"]["metrics"]["retrieval.precision@5"]["value"] for report in (one, other)]
    assert precision[0] == pytest.approx((2 / 5 + 1 / 5 + 1 / 5) / 3)  # divided by k
    assert precision[1] == pytest.approx((2 / 3 + 1 / 2 + 1) / 3)  # divided by what was returned


def test_what_a_run_cannot_hold_is_noted(lab: Path) -> None:
    traces: list[Row] = [
        {"qid": "q1", "topk": [{"id": "a"}, {"id": "b"}, {"id": "a"}]},
        {"qid": "q1", "paraphrase": 1, "topk": [{"id": "z"}]},
        {"qid": "q2", "topk": []},
    ]
    done = export_trec("--trace", write_jsonl(lab / "t.jsonl", traces), "--run-out", lab / "r.run")
    assert done.code == 0
    assert (lab / "r.run").read_text() == "q1 Q0 a 1 2.0 ragworthy\nq1 Q0 b 2 1.0 ragworthy\n"
    notes = done.out.splitlines()[1:]
    assert [note.partition(" ")[0] for note in notes] == ["note:"] * 4
    assert "note: 1 results repeat an id of their query and were left out" in notes
    assert "note: 1 traces of other paraphrases or seeds, or replaced by a later one, were left out" in notes


def test_the_traces_of_retrieve_can_be_exported(tmp_path: Path) -> None:
    docs = write_jsonl(
        tmp_path / "d.jsonl",
        [{"path": "a.md", "text": "# A\n\nDucks swim.\n"}, {"path": "b.md", "text": "# B\n\nBread.\n"}],
    )
    assert run_cli("index", "build", "--docs", docs, "--out", tmp_path / "i", "--dense", "none").code == 0
    item = {"qid": "Q1", "paraphrases": ["ducks", "swim", "ducks swim"], "relevant": ["a.md|s=1|p=000|b=001"]}
    gold = write_jsonl(tmp_path / "g.jsonl", [item])
    assert run_cli("retrieve", "--index", tmp_path / "i", "--gold", gold, "-o", tmp_path / "t.jsonl").code == 0
    done = export_trec(
        "--gold", gold, "--qrels-out", tmp_path / "q.txt", "--trace", tmp_path / "t.jsonl",
        "--run-out", tmp_path / "r.txt",
    )  # fmt: skip
    assert (done.code, done.err) == (0, "")
    assert (tmp_path / "q.txt").read_text() == "Q1 0 a.md|s=1|p=000|b=001 1\n"
    assert (tmp_path / "r.txt").read_text().startswith("Q1 Q0 a.md|s=1|p=000|b=001 1 ")


def test_questions_under_q_id_are_exported(tmp_path: Path) -> None:
    gold = write_jsonl(tmp_path / "g.jsonl", [{"q_id": "Q1", "relevant": ["a"]}])
    done = export_trec("--gold", gold, "--qrels-out", tmp_path / "q.txt")
    assert (done.code, done.err) == (0, "")
    assert (tmp_path / "q.txt").read_text() == "Q1 0 a 1\n"


def test_plain_ids_are_exported_in_their_order(tmp_path: Path) -> None:
    traces = write_jsonl(tmp_path / "t.jsonl", [{"qid": "Q1", "retrieved_ids": ["a", "b"]}])
    done = export_trec("--trace", traces, "--run-out", tmp_path / "r.txt")
    assert (done.code, done.err) == (0, "")
    assert [line.split()[2] for line in (tmp_path / "r.txt").read_text().splitlines()] == ["a", "b"]


def test_nothing_to_export_is_no_success(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text("")
    done = export_trec("--trace", tmp_path / "t.jsonl", "--run-out", tmp_path / "r.txt")
    assert done.code == 2 and "[RW-F04]" in done.err
    assert sorted(tree(tmp_path)) == ["t.jsonl"]


EXPORT_ERRORS: dict[str, tuple[list[str], str, str]] = {
    "nothing": ([], "RW-U01", "expected --gold with --qrels-out, --trace with --run-out, or both"),
    "half": (["--gold", "{}/g.jsonl"], "RW-U01", "expected --gold with --qrels-out, and --trace with --run-out"),
    "other half": (["--run-out", "{}/r.out"], "RW-U01", "expected --gold with --qrels-out, and --trace with --run-out"),
    "no gold": (
        ["--gold", "{}/nope", "--qrels-out", "{}/q.out"],
        "RW-F01",
        "{}/nope: expected a file, got nothing at this path",
    ),
    "gold type": (
        ["--gold", "{}/bad.jsonl", "--qrels-out", "{}/q.out"],
        "RW-G03",
        "{}/bad.jsonl:1: relevant: expected a list, got a string",
    ),
    "blank in an id": (
        ["--gold", "{}/blank.jsonl", "--qrels-out", "{}/q.out"],
        "RW-E01",
        "{}/q.out: Q1: judged id: expected text without spaces, got 'a b'",
    ),
    "blank in the tag": (
        ["--trace", "{}/t.jsonl", "--run-out", "{}/r.out", "--tag", "my run"],
        "RW-E01",
        "{}/r.out: tag: expected text without spaces, got 'my run'",
    ),
    "traces": (
        ["--gold", "{}/g.jsonl", "--qrels-out", "{}/q.out", "--trace", "{}/bad.jsonl", "--run-out", "{}/r.out"],
        "RW-T02",
        "{}/bad.jsonl:1: topk: expected a list, got a string",
    ),
}


@pytest.mark.parametrize("name", EXPORT_ERRORS)
def test_an_export_that_fails_leaves_every_file_as_it_was(tmp_path: Path, name: str) -> None:
    flags, code, message = EXPORT_ERRORS[name]
    write_jsonl(tmp_path / "g.jsonl", [{"qid": "Q1", "relevant": ["a"]}])
    write_jsonl(tmp_path / "blank.jsonl", [{"qid": "Q1", "relevant": ["a b"]}])
    write_jsonl(tmp_path / "t.jsonl", [{"qid": "Q1", "topk": [{"id": "a"}]}])
    field = "topk" if name == "traces" else "relevant"
    write_jsonl(tmp_path / "bad.jsonl", [{"qid": "Q1", field: "x"}])
    for out in ("q.out", "r.out"):
        (tmp_path / out).write_text("old\n")
    before = tree(tmp_path)
    done = export_trec(*(flag.format(tmp_path) for flag in flags))
    assert (done.code, done.err) == (2, said(code, message.format(tmp_path)))
    assert tree(tmp_path) == before


# scoring TREC files


def score(lab: Path, *flags: object) -> Done:
    return run_cli("score", "retrieval", "--qrels", lab / "q.txt", "--run", lab / "r.txt", *flags)


def test_numbers_by_the_conventions_of_trec_eval(lab: Path) -> None:
    done = score(lab, "--gates", "recall@5=0.5", "--format", "json", "--k", "1,2,5")
    report = json.loads(done.out)
    metrics = {name: one["value"] for name, one in report["suites"]["retrieval"]["metrics"].items()}
    assert done.code == 0
    # q1: d2 d1 d3 with grades 0 2 1; q2: d7 d1 with grades – 1; q10 has no results
    assert metrics["retrieval.precision@2"] == pytest.approx((1 / 2 + 1 / 2 + 0) / 3)
    assert metrics["retrieval.precision@5"] == pytest.approx((2 / 5 + 1 / 5 + 0) / 3)
    assert metrics["retrieval.recall@2"] == pytest.approx((1 / 2 + 1 + 0) / 3)
    assert metrics["retrieval.hit@1"] == 0 and metrics["retrieval.hit@2"] == pytest.approx(2 / 3)
    assert metrics["retrieval.mrr"] == pytest.approx((1 / 2 + 1 / 2 + 0) / 3)
    gain = (2 / math.log2(3) + 1 / math.log2(4)) / (2 + 1 / math.log2(3))
    assert metrics["retrieval.ndcg@5"] == pytest.approx((gain + 1 / math.log2(3) + 0) / 3)
    counts = report["suites"]["retrieval"]["counts"]
    assert (counts["gold"], counts["empty"], counts["orphan_traces"]) == (3, 1, 1)
    warnings = {one["code"]: one["message"] for one in report["suites"]["retrieval"]["warnings"]}
    assert warnings["RW-W32"] == "1 query of the run has no judgements, e.g. q3"
    assert warnings["RW-W05"].endswith("e.g. q10")


@pytest.mark.parametrize(
    ("gate", "code"),
    [("recall@5=0.6", 0), ("recall@5=0.67", 1), ("coverage=0.5", 4), ("delta_s_median=0.4", 4), ("mrr=0.3333", 0)],
)
def test_gates_on_trec_files(lab: Path, gate: str, code: int) -> None:
    done = score(lab, "--gates", gate)
    assert done.code == code
    if code == 4:
        name = gate.partition("=")[0]
        assert f"retrieval.{name} was not measured: TREC files hold ids and ranks only" in done.out


def test_without_gates_nothing_is_judged(lab: Path) -> None:
    """Scored, and nobody asked for a verdict: that is not invalid evidence, and no SHIP either."""
    done = score(lab, "--full")
    assert done.code == 3
    assert done.out.startswith("INCONCLUSIVE: scored, and nothing was judged: there is no gate\n\nretrieval: ")
    wanted = "scored, and nothing was judged: add --gates recall@5=0.80, or --live-run OLD to compare with"
    assert wanted in done.out and "retrieval.recall@k" in done.out and "not valid" not in done.out
    assert "3 judged queries, 1 without results" in done.out and "answered" not in done.out
    assert done.out.endswith("verdict: INCONCLUSIVE (exit 3)\n")


def test_rows_and_ledgers_of_trec_files(lab: Path) -> None:
    done = score(lab, "--gates", "recall@5=0.5", "--rows", lab / "rows.jsonl", "-o", lab / "r.json")
    assert done.code == 0
    rows = rows_of(lab / "rows.jsonl")
    metrics = json.loads((lab / "r.json").read_text())["suites"]["retrieval"]["metrics"]
    assert [row["qid"] for row in rows] == ["q1", "q2", "q10"]
    assert [row["label"] for row in rows] == ["OK", "OK", "NOT_RETRIEVED"]
    for row in rows:
        assert row["metrics"].keys().isdisjoint(row["undefined"])
        assert row["metrics"].keys() | row["undefined"].keys() == metrics.keys()
    for name, metric in metrics.items():
        ledger = metric["ledger"]
        parts = [ledger[key] for key in ("scored", "refused", "missing", "errored", "not_applicable")]
        assert ledger["expected"] == sum(parts) == 3, name
        if name in rows[0]["metrics"] and name != "retrieval.missing":
            mean = math.fsum(row["metrics"][name] for row in rows) / 3
            assert metric["value"] == pytest.approx(mean, abs=1e-15), name


def test_rows_of_trec_files_have_every_number_that_the_summary_has(lab: Path) -> None:
    score(lab, "--gates", "recall@5=0.5", "--rows", lab / "rows.jsonl", "-o", lab / "r.json")
    metrics = json.loads((lab / "r.json").read_text())["suites"]["retrieval"]["metrics"]
    measured = {name for name, one in metrics.items() if one["undefined"] is None}
    assert all(set(row["metrics"]) == measured for row in rows_of(lab / "rows.jsonl"))


def test_the_receipt_of_trec_files_verifies_and_notices_changes(lab: Path) -> None:
    assert score(lab, "--gates", "recall@5=0.5", "--k", "2,5", "--receipt", lab / "receipt.json").code == 0
    done = run_cli("verify", lab / "receipt.json")
    lines = [
        "gate: retrieval.recall@5 >= 0.5: pass (0.6667)",
        "commit: not known",
        f"gold set: sha256 {hashlib.sha256((lab / 'q.txt').read_bytes()).hexdigest()}",
        "attempts: not counted",
        "verified: SHIP re-derives byte for byte from 2 inputs (exit 0)",
    ]
    assert (done.code, done.out.splitlines(), done.err) == (0, lines, "")
    for name, role in (("q.txt", "gold"), ("r.txt", "trace")):
        kept = (lab / name).read_bytes()
        (lab / name).write_bytes(kept + b"\n")
        done = run_cli("verify", lab / "receipt.json")
        assert done.code == 1 and done.out.startswith(f"{role}: {name} changed: ")
        (lab / name).write_bytes(kept)
    assert run_cli("verify", lab / "receipt.json").code == 0


def test_a_baseline_of_trec_files(lab: Path) -> None:
    gates = lab / "gates.toml"
    gates.write_text('[[gate]]\nmetric = "retrieval.recall@5"\nmax_drop = 0.10\n')
    assert score(lab, "--gates", "recall@5=0.5", "-o", lab / "base.json").code == 0
    assert score(lab, "--gates", gates, "--baseline", lab / "base.json").code == 0
    (lab / "r.txt").write_text("q1 Q0 d1 1 1 r\n")
    assert score(lab, "--gates", gates, "--baseline", lab / "base.json").code == 3  # one query proves nothing
    (lab / "q.txt").write_text(QRELS + "q11 0 d1 1\n")
    done = score(lab, "--gates", gates, "--baseline", lab / "base.json")
    assert done.code == 4 and "it was scored on another gold set" in done.out


def test_must_pass_on_trec_files(lab: Path) -> None:
    gates = lab / "gates.toml"
    for qid, code in (("q2", 0), ("q10", 1)):
        gates.write_text(f'[[gate]]\nmetric = "retrieval.recall@5"\nmust_pass = ["{qid}"]\n')
        assert score(lab, "--gates", gates).code == code
    gates.write_text('[[gate]]\nmetric = "retrieval.recall@5"\nmust_pass = ["q99"]\n')
    done = score(lab, "--gates", gates)
    assert done.code == 2 and 'got "q99"' in done.err


@pytest.mark.parametrize(
    ("content", "code", "message"),
    [
        ("q1 Q0 d1 1\n", "RW-E01", "{}:1: expected 6 fields (query Q0 document rank score tag), got 4"),
        ("q1 Q0 d1 1 nan r\n", "RW-E01", "{}:1: score: expected a finite number, got 'nan'"),
        ("", "RW-F04", "{}: expected lines 'query Q0 document rank score tag', got none"),
    ],
)
def test_runs_that_cannot_be_read(lab: Path, content: str, code: str, message: str) -> None:
    (lab / "r.txt").write_text(content)
    before = tree(lab)
    done = score(lab, "--gates", "recall@5=0.5", "-o", lab / "r.json")
    assert done == Done(2, "", said(code, message.format(lab / "r.txt")))
    assert tree(lab) == before


def test_the_reference_profile_reads_no_trec_files(lab: Path) -> None:
    done = score(lab, "--profile", "reference")
    assert done == Done(2, "", said("RW-U01", "--profile reference reads --gold and --trace"))


@pytest.mark.parametrize(
    "flag", [["--corpus", "c"], ["--redirects", "t"], ["--slice", "topic"], ["--live-corpus", "l"]]
)
def test_flags_that_mean_nothing_for_trec_files_are_refused(lab: Path, flag: list[str]) -> None:
    done = score(lab, "--gates", "recall@5=0.5", *flag)
    assert done.code == 2 and flag[0] in done.err


def test_the_order_of_lines_does_not_matter(lab: Path) -> None:
    flags = ["--gates", "recall@5=0.5", "--format", "json"]

    def numbers() -> Row:
        suite: Row = json.loads(score(lab, *flags).out)["suites"]["retrieval"]
        return {key: one for key, one in suite.items() if key != "inputs"}

    before = numbers()
    for name in ("q.txt", "r.txt"):
        (lab / name).write_text("".join(line + "\n" for line in reversed((lab / name).read_text().splitlines())))
    assert numbers() == before
