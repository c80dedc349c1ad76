"""TREC files: strict reading, trec_eval's own numbers on real runs, records and back."""

import gzip
import json
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pytest
import zstandard
from hypothesis import example, given, settings
from hypothesis import strategies as st

from places import DATA
from ragworthy.errors import DataError
from ragworthy.trec import fields
from ragworthy.trec.ranking import Ranked, score
from ragworthy.trec.read import read_qrels, read_run, read_topics, to_records, write_qrels, write_run

Row = dict[str, Any]
KS = (1, 3, 5, 10)
theirs_qrels: Callable[[str], Any] = ir_measures.read_trec_qrels
theirs_run: Callable[[str], Any] = ir_measures.read_trec_run
OTHER_NAMES = {"P": "precision", "R": "recall", "nDCG": "ndcg", "RR": "mrr", "Success": "hit"}
SCORED = [name @ k for name in (ir_measures.P, ir_measures.R, ir_measures.nDCG, ir_measures.Success) for k in KS]
SCORED.append(ir_measures.RR)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def data() -> Path:
    return DATA / "trec"


def write(name: str, content: str | bytes) -> Path:
    path = Path(name)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def ours(name: str) -> str:
    """Our name of a metric that others write as P@5, R@5, nDCG@5, RR, Success@5."""
    metric, at, k = name.partition("@")
    return OTHER_NAMES[metric] + at + k


def values(ranked: Ranked) -> dict[str, dict[str, float]]:
    """Metric by metric, query by query."""
    return {name: dict(zip(ranked.qids, one.tolist(), strict=True)) for name, one in ranked.values().items()}


def problems(read: Any, content: str | bytes, name: str = "f.txt") -> list[str]:
    with pytest.raises(DataError) as caught:
        read(write(name, content))
    return [str(problem) for problem in caught.value.problems]


# real runs

DEV = [("robust03", run) for run in
       ("InexpC2", "MU03rob01", "NLPR03vb10", "SABIR03BASE", "Sel50", "THUIRr0301", "humR03dc", "pircRBa1",
        "rutcor03100", "uic0301")] + [("scifact", "vsm_tfidf")]  # fmt: skip


def dev_files(data: Path, folder: str, run: str) -> tuple[Path, Path]:
    found = list((data / folder / "dev").glob(f"run.{run}.txt*"))
    assert len(found) == 1
    return data / folder / "dev" / "qrels.txt", found[0]


@pytest.mark.parametrize(("folder", "run"), DEV)
@pytest.mark.data("data/trec")
def test_real_runs_have_the_reference_values(data: Path, folder: str, run: str) -> None:
    qrels, results = dev_files(data, folder, run)
    ranked = score(read_qrels(qrels), read_run(results), KS)
    reference = json.loads((data / folder / "dev" / f"ref.{run}.json").read_text())
    assert set(ranked.qids) == set(reference["per_query"])
    assert [qid for qid, size in zip(ranked.qids, ranked.returned, strict=True) if not size] == sorted(
        reference["missing_queries"], key=int
    )
    found, means = values(ranked), ranked.means()
    compared = 0
    for qid, row in reference["per_query"].items():
        for name, value in row.items():
            if name != "AP":
                assert found[ours(name)][qid] == pytest.approx(value, abs=1e-9), (qid, name)
                compared += 1
    assert compared == 10 * len(ranked.qids)
    for name, value in reference["mean"].items():
        if name != "AP":
            mean = means[ours(name)]
            assert mean is not None
            assert float(mean) == pytest.approx(value, abs=1e-9), name


@pytest.mark.parametrize(("folder", "run"), DEV)
@pytest.mark.data("data/trec")
def test_real_runs_equal_ir_measures(data: Path, folder: str, run: str) -> None:
    qrels, results = dev_files(data, folder, run)
    ranked = score(read_qrels(qrels), read_run(results), KS)
    text = gzip.decompress(results.read_bytes()) if results.suffix == ".gz" else results.read_bytes()
    plain = str(write("run.txt", text))
    found, means = values(ranked), ranked.means()
    judged = list(theirs_qrels(str(qrels)))
    rows = list(ir_measures.iter_calc(SCORED, judged, theirs_run(plain)))
    assert len(rows) == len(SCORED) * len(ranked.qids)
    for row in rows:
        assert found[ours(str(row.measure))][row.query_id] == pytest.approx(row.value, abs=1e-9), row
    for name, value in ir_measures.calc_aggregate(SCORED, judged, theirs_run(plain)).items():
        mean = means[ours(str(name))]
        assert mean is not None
        assert float(mean) == pytest.approx(value, abs=1e-9), name


@pytest.mark.parametrize("run", ["MU03rob01", "rutcor03100"])
@pytest.mark.data("data/trec")
def test_ties_are_not_broken_by_the_rank_column(data: Path, run: str) -> None:
    qrels, results = dev_files(data, "robust03", run)
    reference = json.loads((data / "robust03" / "dev" / f"ref.{run}.json").read_text())
    mean = score(read_qrels(qrels), read_run(results), (10,)).means()["precision@10"]
    assert mean is not None
    assert reference["queries_with_ties_in_top11"]
    assert float(mean) == pytest.approx(reference["mean"]["P@10"], abs=1e-9)
    if run == "MU03rob01":
        assert float(mean) != pytest.approx(reference["mean_ordered_by_rank_column"]["P@10"], abs=1e-4)


C_NAMES = {"P": "precision", "recall": "recall", "ndcg_cut": "ndcg", "success": "hit"}


@pytest.mark.parametrize(
    ("qrels", "results", "output", "wanted"),
    [
        ("qrels.test", "results.test", "out.test.aq", ("P", "recall", "ndcg_cut", "success", "recip_rank")),
        ("qrels.test", "results.trunc", "out.test.aqc", ("P", "recall", "ndcg_cut", "success", "recip_rank")),
        ("qrels.rel_level", "results.test", "out.test.aql", ("ndcg_cut",)),  # relevant from grade 2 there
    ],
)
@pytest.mark.data("data/trec")
def test_the_c_program_prints_the_same(
    data: Path, qrels: str, results: str, output: str, wanted: tuple[str, ...]
) -> None:
    folder = data / "trec_eval_test"
    ranked = score(read_qrels(folder / qrels), read_run(folder / results), (1, 5, 10, 15, 20, 30, 100, 200, 500, 1000))
    found, means = values(ranked), ranked.means()
    compared = 0
    for line in (folder / output).read_text().splitlines():
        name, qid, text = line.split(maxsplit=2)
        metric, _, k = name.rpartition("_")
        if name == "recip_rank" and name in wanted:
            mine = "mrr"
        elif metric in wanted and k.isdigit():
            mine = f"{C_NAMES[metric]}@{k}"
        elif name in ("num_rel", "num_ret") and len(wanted) > 1 and qid != "all":
            column = ranked.relevant if name == "num_rel" else ranked.returned
            assert str(column[ranked.qids.index(qid)]) == text
            continue
        else:
            continue
        value = means[mine] if qid == "all" else found[mine][qid]
        assert value is not None
        assert f"{float(value):.4f}" == text, line
        compared += 1
    assert compared == {"out.test.aql": 36}.get(output, 124)


@pytest.mark.data("data/trec")
def test_graded_and_negative_judgements_equal_ir_measures(data: Path) -> None:
    folder = data / "trec_eval_test"
    for qrels in ("qrels.test", "qrels.rel_level"):
        found = values(score(read_qrels(folder / qrels), read_run(folder / "results.test"), KS))
        judged = theirs_qrels(str(folder / qrels))
        rows = list(ir_measures.iter_calc(SCORED, judged, theirs_run(str(folder / "results.test"))))
        assert len(rows) == len(SCORED) * 3
        for row in rows:
            assert found[ours(str(row.measure))][row.query_id] == pytest.approx(row.value, abs=1e-9), row


@pytest.mark.parametrize("folder", ["cranfield", "vaswani"])
@pytest.mark.parametrize("engine", ["bm25s_lucene", "rank_bm25_okapi"])
@pytest.mark.data("data/trec")
def test_test_collections_have_the_reference_values(data: Path, folder: str, engine: str) -> None:
    corpus = data.parent / "ir_corpora" / folder
    lists = [json.loads(line) for line in (corpus / f"ref_top20.{engine}.jsonl").read_text().splitlines()]
    lines = [f"{one['qid']} Q0 {item['id']} 1 {item['score']!r} {engine}\n" for one in lists for item in one["topk"]]
    ranked = score(read_qrels(corpus / "qrels.txt"), read_run(write("run.txt", "".join(lines))), KS)
    found = values(ranked)
    reference = json.loads((corpus / "ref_metrics.json").read_text())[engine]["per_query"]
    assert set(reference) == set(ranked.qids)
    for qid, row in reference.items():
        for name, value in row.items():
            if name != "AP":
                assert found[ours(name)][qid] == pytest.approx(value, abs=1e-8), (qid, name)


# reading


def test_what_a_file_may_look_like() -> None:
    text = "\n  7\tQ0  d1 x 1.5 tag\r\n\n7 Q0 d2 1 -2e0 tag more of it \n8\x0bQ0 dé 0 +.5 tag"
    plain = read_run(write("run.txt", b"\xef\xbb\xbf" + text.encode()))
    assert plain.qids == ["7", "8"]
    assert plain.docs.pieces() == [b"d1", b"d2", "dé".encode()]
    assert plain.score.tolist() == [1.5, -2.0, 0.5]
    assert (plain.tag, plain.extra) == ("tag", 1)
    for name, packed in (
        ("run.txt.gz", gzip.compress(text[:20].encode(), mtime=0) + gzip.compress(text[20:].encode(), mtime=0)),
        ("run.txt.zst", zstandard.compress(text[:20].encode()) + zstandard.compress(text[20:].encode())),
    ):
        other = read_run(write(name, packed))
        assert (other.qids, other.score.tolist(), other.keys.tolist()) == (
            plain.qids,
            plain.score.tolist(),
            plain.keys.tolist(),
        )
    qrels = read_qrels(write("qrels.txt", "q 0 d +1\nq 0 e -002\nq 0 f 0"))
    assert qrels.grade.tolist() == [1, -2, 0]


RUN_FIELDS = "expected 6 fields (query Q0 document rank score tag), got"
QRELS_FIELDS = "expected 4 fields (query iteration document grade), got"
GRADE = "grade: expected an integer of at most 9 digits, got"
SCORE = "score: expected a finite number, got"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("q Q0 d 1 0.5", f"{RUN_FIELDS} 5"),
        ("q Q0 a document 1 0.5 tag", f"{RUN_FIELDS} 7"),
        ("q Q0 a b c 1 0.5 tag", f"{RUN_FIELDS} 8"),
        ('{"qid": "q"}', f"{RUN_FIELDS} 2"),
        ("q Q0 d 1 nan tag", f"{SCORE} 'nan'"),
        ("q Q0 d 1 -inf tag", f"{SCORE} '-inf'"),
        ("q Q0 d 1 1e400 tag", f"{SCORE} '1e400'"),
        ("q Q0 d 1 1_000 tag", f"{SCORE} '1_000'"),
        ("q Q0 d 1 0x1p3 tag", f"{SCORE} '0x1p3'"),
        ("q Q0 d 1 1,5 tag", f"{SCORE} '1,5'"),
        ("q Q0 d 1 ١ tag", f"{SCORE} '١'"),
        ("q Q0 d 1 . tag", f"{SCORE} '.'"),
        ("q Q0 d 1 - tag", f"{SCORE} '-'"),
        ("q Q0 d 1 1.2.3 tag", f"{SCORE} '1.2.3'"),
        ("q Q0 d 1 1-2 tag", f"{SCORE} '1-2'"),
        ("q Q0 d 1 " + "x" * 99 + " tag", f"{SCORE} '{'x' * 59}…'"),
        (b"q Q0 d\xff 1 0.5 tag", "expected UTF-8, got byte 0xff"),
        (b"q Q0 \xc3 1 0.5 tag", "expected UTF-8, got byte 0xc3"),
    ],
)
def test_broken_run_lines(line: str | bytes, message: str) -> None:
    broken = line.encode() if isinstance(line, str) else line
    good = b"1 Q0 a 1 2 tag\n"
    assert problems(read_run, good + b"\n" + broken + b"\n" + good.replace(b"a", b"b")) == [
        f"f.txt:3: {message} [RW-E01]"
    ]
    assert problems(read_run, broken) == [f"f.txt:1: {message} [RW-E01]"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("q 0 d", f"{QRELS_FIELDS} 3"),
        ("q 0 d 1 more", f"{QRELS_FIELDS} 5"),
        ("q 0 d 1.0", f"{GRADE} '1.0'"),
        ("q 0 d high", f"{GRADE} 'high'"),
        ("q 0 d 1e0", f"{GRADE} '1e0'"),
        ("q 0 d 1000000000", f"{GRADE} '1000000000'"),
        ("q 0 d " + "9" * 40, f"{GRADE} '{'9' * 40}'"),
        ("q 0 d --1", f"{GRADE} '--1'"),
        ("q 0 d -", f"{GRADE} '-'"),
    ],
)
def test_broken_qrels_lines(line: str, message: str) -> None:
    assert problems(read_qrels, f"1 0 a 1\n{line}\n1 0 b 1\n") == [f"f.txt:2: {message} [RW-E01]"]


def test_fields_are_counted_line_by_line() -> None:
    short, long = "q Q0 d 1 0.5\n", "q Q0 e 1 0.5 tag more\n"
    assert problems(read_run, short + long) == [f"f.txt:1: {RUN_FIELDS} 5 [RW-E01]"]
    assert problems(read_run, long + short) == [f"f.txt:2: {RUN_FIELDS} 5 [RW-E01]"]
    assert problems(read_run, "q Q0 d\n1 0.5 tag\n") == [f"f.txt:{line}: {RUN_FIELDS} 3 [RW-E01]" for line in (1, 2)]


@pytest.mark.parametrize("size", [1, 30, 100, 1 << 20])
def test_lines_are_numbered_through_the_whole_file(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fields, "BLOCK", size)
    lines = [f"q Q0 d{number} 1 {number} tag" for number in range(50)]
    lines[20], lines[30], lines[40] = "q Q0 d20 1 x tag", "", "q Q0 d5 1 7 tag"
    assert [text.partition(": ")[0] for text in problems(read_run, "\n".join(lines))] == ["f.txt:21", "f.txt:41"]


def test_a_nul_byte_has_its_own_code() -> None:
    assert problems(read_run, b"q Q0 d 1 2 t\nq Q0 e\0 1 2 t\n") == ["f.txt:2: expected text, got a NUL byte [RW-F10]"]


def test_repeated_lines_name_both() -> None:
    run = "q Q0 d 1 3 t\nr Q0 d 1 3 t\n\nq Q0 e 2 2 t\nq Q0 d 3 1 t\nq Q0 d 4 0 t\n"
    told = "document: expected one line for query 'q' and document 'd', got another after line 1 [RW-E02]"
    assert problems(read_run, run) == [f"f.txt:5: {told}", f"f.txt:6: {told}"]
    assert problems(read_qrels, "q 0 d 1\nq 0 d 0\n") == [f"f.txt:2: {told}"]


def test_problems_come_in_the_order_of_the_lines_and_twenty_at_most() -> None:
    mixed = "q Q0 d 1 3 t\nq Q0 d 1 3 t\nq Q0 e 1 x t\nshort\n"
    assert [text.split(": ")[0] for text in problems(read_run, mixed)] == ["f.txt:2", "f.txt:3", "f.txt:4"]
    for bad in ("short\n", "q Q0 d 1 x t\n", "q Q0 d 1 1 t\n"):
        found = problems(read_run, "a Q0 d 1 1 t\n" + bad * 50)
        assert len(found) == 20
        assert found[0].startswith("f.txt:3:" if bad.endswith("1 t\n") else "f.txt:2:")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("f.txt", b"", "f.txt: expected lines 'query Q0 document rank score tag', got none [RW-F04]"),
        ("f.txt", b"\n \n\r\n", "f.txt: expected lines 'query Q0 document rank score tag', got none [RW-F04]"),
        ("f.gz", b"q Q0 d 1 2 t\n", "f.gz: expected a whole gz file, got: Not a gzipped file (b'q ') [RW-F12]"),
        (
            "f.gz",
            gzip.compress(b"q Q0 d 1 2 t\n", mtime=0)[:-9],
            "f.gz: expected a whole gz file, got: Compressed file ended before the end-of-stream marker was reached "
            "[RW-F12]",
        ),
        (
            "f.zst",
            b"q Q0 d 1 2 t\n",
            "f.zst: expected a whole zst file, got: zstd decompressor error: Unknown frame descriptor [RW-F12]",
        ),
        (
            "f.zst",
            zstandard.compress(b"q Q0 d 1 2 t\n" * 9)[:-3],
            "f.zst: expected a whole zst file, got: the end of the file in the middle of a frame [RW-F12]",
        ),
    ],
)
def test_files_that_hold_nothing(name: str, content: bytes, message: str) -> None:
    assert problems(read_run, content, name) == [message]


def test_files_that_are_not_there() -> None:
    for read in (read_run, read_qrels, read_topics):
        with pytest.raises(DataError, match=r"^none: expected a file, got nothing at this path \[RW-F01\]"):
            read(Path("none"))


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_blank_lines_extra_text_and_blocks_change_nothing(draw: st.DataObject) -> None:
    rng = random.Random(draw.draw(st.integers(0, 10**6)))
    lines = [
        f"q{rng.randrange(6)} Q0 d{number} 0 {rng.uniform(-9, 9):.{rng.randrange(9)}f} tag" for number in range(40)
    ]
    untidy = "".join(
        line.replace(" ", rng.choice([" ", "\t", "  "]))
        + rng.choice(["", " ", " extra text", "\r"])
        + rng.choice(["\n", "\n\n"])
        for line in lines
    )
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder) / "run.txt"
        path.write_text("\n".join(lines))
        tidy = read_run(path)
        path.write_text(untidy, newline="")
        patch.setattr(fields, "BLOCK", draw.draw(st.integers(1, 300)))
        other = read_run(path)
    assert other.qids == tidy.qids
    for name in ("query", "score", "keys"):
        assert getattr(other, name).tolist() == getattr(tidy, name).tolist()
    assert other.docs.pieces() == tidy.docs.pieces()
    assert other.written.pieces() == tidy.written.pieces()


NUMBERS = st.from_regex(r"[+-]?([0-9]{1,22}|[0-9]{0,22}\.[0-9]{0,22})(e[+-]?[0-9]{1,2})?", fullmatch=True)


@given(st.lists(NUMBERS | st.floats().map(repr) | st.text("0123456789+-.eE_x", min_size=1, max_size=12), min_size=1))
@example(["3.36810123920440674", "7.63862109184265137", "-0.90688374638557434"])  # between two 32-bit floats
@settings(max_examples=300, deadline=None)
def test_numbers_are_read_as_c_reads_them(texts: list[str]) -> None:
    block = " ".join(texts).encode()
    end = np.cumsum([len(text) + 1 for text in texts]) - 1
    begin = end - np.array([len(text) for text in texts])
    found, good = fields.singles(block, begin, end)
    whole, is_whole = fields.integers(block, begin, end, 9)
    for row, text in enumerate(texts):
        try:
            value = float(text) if "_" not in text else float("nan")
        except ValueError:
            value = float("nan")
        assert good[row] == np.isfinite(value), text
        if good[row]:
            with np.errstate(over="ignore"):
                assert found[row] == np.float64(value).astype(np.float32), text
        digits = text.lstrip("+-") if len(text) - len(text.lstrip("+-")) <= 1 else "-"
        assert is_whole[row] == (digits.isdigit() and len(digits) <= 19 and int(digits) < 10**9), text
        assert not is_whole[row] or whole[row] == int(text)


# records


def test_records_of_a_small_collection() -> None:
    qrels = read_qrels(write("q", "10 0 d2 1\n2 0 d10 1\n2 0 d9 1\n2 0 x 3\n2 0 n -1\n2 0 m 0\n10 0 d3 0\n5 0 z 0\n"))
    run = read_run(write("r", "10 Q0 a 9 0.25 t1\n10 Q0 b 8 0.25 t1\n10 Q0 c 7 1e1 t1\n77 Q0 d 1 3 t2\n"))
    gold, traces = to_records(qrels, run, {"10": ["ten", "10?", "x"]})
    assert gold == [
        {
            "qid": "2",
            "paraphrases": [],
            "relevant": ["x", "d9", "d10"],
            "anchor_section": "",
            "negatives": ["m", "n"],
            "grades": {"x": 3, "d9": 1, "d10": 1, "n": -1},
        },
        {
            "qid": "5",
            "paraphrases": [],
            "relevant": [],
            "anchor_section": "",
            "negatives": ["z"],
            "grades": {},
            "answerable": False,
        },
        {
            "qid": "10",
            "paraphrases": ["ten", "10?", "x"],
            "relevant": ["d2"],
            "anchor_section": "",
            "negatives": ["d3"],
            "grades": {"d2": 1},
        },
    ]
    ten = [{"id": "c", "score": 10.0}, {"id": "b", "score": 0.25}, {"id": "a", "score": 0.25}]
    assert traces == [
        {"qid": "10", "query": "ten", "topk": ten, "index_hash": "t1", "paraphrase": 0, "seed": 0},
        {
            "qid": "77",
            "query": "",
            "topk": [{"id": "d", "score": 3.0}],
            "index_hash": "t1",
            "paraphrase": 0,
            "seed": 0,
        },
    ]


@pytest.mark.parametrize(("folder", "run"), [("robust03", "MU03rob01"), ("scifact", "vsm_tfidf")])
@pytest.mark.data("data/trec")
def test_real_collections_as_records(data: Path, folder: str, run: str) -> None:
    qrels, results = dev_files(data, folder, run)
    given_gold = [json.loads(line) for line in (qrels.parent / "retrieval_gold.jsonl").read_text().splitlines()]
    given_traces = [json.loads(line) for line in (qrels.parent / f"trace.{run}.jsonl").read_text().splitlines()]
    topics = read_topics(qrels.parent / "retrieval_gold.jsonl")
    gold, traces = to_records(read_qrels(qrels), read_run(results), topics)
    by_qid = {row["qid"]: row for row in gold}
    assert len(gold) == len(given_gold)
    for row in given_gold:
        assert by_qid[row["qid"]]["paraphrases"] == row["paraphrases"]
        assert sorted(by_qid[row["qid"]]["relevant"]) == sorted(row["relevant"])
        assert set(row["negatives"]) <= set(by_qid[row["qid"]]["negatives"])
    lists = {row["qid"]: [item["id"] for item in row["topk"]] for row in traces}
    shown = [row for row in given_traces if row["topk"]]
    assert len(shown) == len(traces)
    for row in shown:
        assert lists[row["qid"]][: len(row["topk"])] == [item["id"] for item in row["topk"]]


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_import_export_import_keeps_the_metrics(draw: st.DataObject) -> None:
    ids = st.sampled_from(["d1", "d2", "d10", "é", "x" * 20])
    grades = draw.draw(st.dictionaries(st.tuples(st.sampled_from("123"), ids), st.integers(-2, 3), min_size=1))
    texts = st.sampled_from(["1", "1.00000001", "-0.0", "0", "1e39", "2e39"]) | st.floats(-9, 9).map(repr)
    scores = draw.draw(st.dictionaries(st.tuples(st.sampled_from("124"), ids), texts, min_size=1))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "q").write_text("".join(f"{q} 0 {d} {grade}\n" for (q, d), grade in grades.items()))
        (folder / "r").write_text("".join(f"{q} Q0 {d} 0 {text} tag\n" for (q, d), text in scores.items()))
        qrels, run = read_qrels(folder / "q"), read_run(folder / "r")
        gold, traces = to_records(qrels, run)
        assert write_qrels(gold, folder / "q2.gz") == []
        notes = write_run(traces, folder / "r2.zst", run.tag)
        again, rerun = read_qrels(folder / "q2.gz"), read_run(folder / "r2.zst")
        assert notes == []
        assert to_records(again, rerun) == (gold, traces)
        assert values(score(again, rerun, KS)) == values(score(qrels, run, KS))
        first = (folder / "r2.zst").read_bytes()
        write_run(traces, folder / "r2.zst", run.tag)
        assert (folder / "r2.zst").read_bytes() == first


SCORES = (
    st.none() | st.sampled_from([0, 1, 1.00000001, -1.5, float("nan"), float("inf"), 10**400, "7", True]) | st.floats()
)


@given(st.lists(st.tuples(st.sampled_from("abcdefgé"), SCORES), min_size=1, max_size=8, unique_by=lambda item: item[0]))
@settings(max_examples=200, deadline=None)
def test_exported_runs_keep_any_order(items: list[tuple[str, Any]]) -> None:
    topk = [{"id": one} if text is None else {"id": one, "score": text} for one, text in items]
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "run.txt"
        notes = write_run([{"qid": "q", "topk": topk}], path, "tag")
        qrels = Path(name) / "qrels.txt"
        qrels.write_text("q 0 a 1\n")
        trace = to_records(read_qrels(qrels), read_run(path)).traces[0]
        theirs = list(theirs_run(str(path)))
    assert [item["id"] for item in trace["topk"]] == [one for one, _ in items]
    assert [row.doc_id for row in theirs] == [one for one, _ in items]
    with np.errstate(over="ignore"):
        keys = [(np.float32(row.score), row.doc_id.encode()) for row in theirs]
    assert keys == sorted(keys, reverse=True)
    if notes:
        assert notes == ["1 queries have new scores, because their own would not keep the order"]
        assert [item["score"] for item in trace["topk"]] == list(range(len(items), 0, -1))
    else:
        assert [item["score"] for item in trace["topk"]] == [text for _, text in items]


def test_what_an_export_leaves_out_is_said() -> None:
    one: Row = {"qid": "q", "topk": [{"id": "a", "score": 2}, {"id": "b", "score": 1}, {"id": "a", "score": 0.5}]}
    traces: list[Row] = [
        {"qid": "q", "topk": []},
        one,
        {"qid": "r", "topk": []},
        {**one, "seed": 1},
        {**one, "paraphrase": 2},
    ]
    assert write_run(traces, Path("run.txt"), "tag") == [
        "1 results repeat an id of their query and were left out",
        "1 queries have no results and are not in the file",
        "3 traces of other paraphrases or seeds, or replaced by a later one, were left out",
    ]
    assert Path("run.txt").read_text() == "q Q0 a 1 2.0 tag\nq Q0 b 2 1.0 tag\n"
    assert write_run(traces, Path("run.txt"), "tag", paraphrase=2)[-1].startswith("4 traces")
    assert write_qrels([{"qid": "q", "relevant": ["a"], "negatives": ["n"]}, {"qid": "e"}], Path("q.txt")) == [
        "1 questions have no judged id and are not in the file"
    ]
    assert Path("q.txt").read_text() == "q 0 n 0\nq 0 a 1\n"


def refused(*args: Any) -> list[str]:
    with pytest.raises(DataError) as caught:
        (write_run if len(args) == 3 else write_qrels)(*args)
    return [str(problem) for problem in caught.value.problems]


def test_what_cannot_be_exported() -> None:
    kept = write("out.txt", "old")
    trace = {"qid": "q", "topk": [{"id": "ok"}, {"id": "a b"}, {"id": ""}, {"id": "x\u00a0y"}, {"id": "\ud800"}]}
    assert refused([trace], kept, "tag")[:3] == [
        "out.txt: q: topk[1].id: expected text without spaces, got 'a b' [RW-E01]",
        "out.txt: q: topk[2].id: expected text without spaces, got '' [RW-E01]",
        "out.txt: q: topk[3].id: expected text without spaces, got 'x y' [RW-E01]",
    ]
    assert len(refused([trace], kept, "tag")) == 4
    assert refused([{"qid": "q 1", "topk": []}], kept, "my tag") == [
        "out.txt: tag: expected text without spaces, got 'my tag' [RW-E01]",
        "out.txt: qid: expected text without spaces, got 'q 1' [RW-E01]",
    ]
    assert refused([{"qid": 7, "relevant": ["a b"], "grades": {"a b": 1.5}}], kept) == [
        "out.txt: qid: expected text without spaces, got 7 [RW-E01]",
        "out.txt: 7: judged id: expected text without spaces, got 'a b' [RW-E01]",
        "out.txt: 7: grades.a b: expected an integer, got 1.5 [RW-E01]",
    ]
    assert refused([], kept, "tag") == ["out.txt: expected something to write, got nothing [RW-F04]"]
    assert kept.read_text() == "old"


# topics

TAGGED = """<top>

<num> Number: 303
<title> Hubble Telescope
Achievements
<desc> Description:
Identify positive accomplishments.
<narr> Narrative:
Documents are relevant.
</top>
<top><num>Number: 304</num><title>Endangered Species</title></top>
"""


def test_topics_in_both_forms() -> None:
    assert read_topics(write("topics.txt", TAGGED)) == {
        "303": ["Hubble Telescope Achievements", "Identify positive accomplishments.", "Documents are relevant."],
        "304": ["Endangered Species"],
    }
    lines = '{"qid": "1", "query": "one"}\n\n{"qid": "2", "paraphrases": ["a", "b"], "other": 1}\n{"qid": "3"}\n'
    assert read_topics(write("topics.jsonl.gz", gzip.compress(lines.encode()))) == {
        "1": ["one"],
        "2": ["a", "b"],
        "3": [],
    }


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "t: expected topics, got none [RW-F04]"),
        ("<top>\n<title> none\n</top>", "t:1: expected a topic with <num>, got none [RW-E03]"),
        ('{"qid": "1"}\n{"qid": 2}', "t:2: qid: expected str, got int [RW-E03]"),
        ('{"query": "?"}', "t:1: qid: expected a value, got nothing [RW-E03]"),
        ('{"qid": "1"}\nnonsense', "t:2: expected a JSON object, got nonsense [RW-F07]"),
        ('{"qid": "1"}\n\n{"qid": "1"}', "t:3: expected one topic for each query, got '1' again [RW-E03]"),
        (b'{"qid": "\xff"}', "t: expected UTF-8, got byte 0xff at offset 9 [RW-F06]"),
    ],
)
def test_broken_topics(content: str | bytes, message: str) -> None:
    assert problems(read_topics, content, "t") == [message]


@pytest.mark.data("data/trec")
def test_cranfield_queries_are_topics(data: Path) -> None:
    corpus = data.parent / "ir_corpora" / "cranfield"
    topics = read_topics(corpus / "queries.jsonl")
    assert len(topics) == 225
    assert topics["3"] == ["what problems of heat conduction in composite slabs have been solved so far ."]
