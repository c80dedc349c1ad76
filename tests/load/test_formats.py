"""The same records in every format in give the same result; every format out is written whole or not at all."""

import contextlib
import gzip
import importlib
import io
import json
import os
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pyarrow as pa
import pytest
import zstandard
from pyarrow import parquet

import ragworthy as rw
from ragworthy.cli.main import main
from ragworthy.errors import DataError, UsageError

pd: Any = importlib.import_module("pandas")  # it comes without types

Json = dict[str, Any]

GOLD: list[Json] = [
    {"qid": "A1", "question": "Does X allow null keys?", "answerable": True, "topic": "keys",
     "gold_claim_substr": ["rejects null keys"], "gold_citations": ["p1#2"]},
    {"qid": "A2", "question": "How big may a part be?", "answerable": True, "topic": "limits",
     "gold_claim_substr": ["5 gigabytes", "5 GB"], "gold_citations": ["p2#1", "p2#2"], "constraints": ["Never guess."]},
    {"qid": "A3", "question": "Où est le café?", "answerable": True, "topic": "limits",
     "gold_claim_substr": ["au cafe\u0301"], "gold_citations": ["p3#1"]},
    {"qid": "A4", "question": "首都はどこですか", "answerable": True, "topic": "keys",
     "gold_claim_substr": ["東京都です、はい"], "gold_citations": ["p4#1"]},
    {"qid": "A5", "question": "Which port?", "answerable": True, "gold_claim_substr": [], "gold_citations": ["p5#1"]},
    {"qid": "A6", "question": "Which host?", "answerable": True, "gold_claim_substr": None,
     "gold_citations": ["p6#1"]},
    {"qid": "N1", "question": "Who wrote Z?", "answerable": False, "gold_claim_substr": [], "gold_citations": []},
    {"qid": "N2", "question": "Quotes \" and \\ and \n?", "answerable": False},
    {"qid": "N3", "question": "Emoji \U0001f600?", "answerable": False, "topic": "keys"},
]  # fmt: skip
TRACES: list[Json] = [
    {"qid": "A1", "ts": 1, "retrieved_ids": ["p1#2", "p1#3"],
     "answer_json": {"claim": "X rejects null keys.", "citations": ["p1#2"]}},
    {"qid": "A2", "retrieved_ids": ["p9#9"], "answer_json": {"claim": "No idea.", "citations": []}},
    {"qid": "A3", "retrieved_ids": ["p3#1"], "answer_json": {"claim": "Il est au café.", "citations": ["p3#1"]}},
    {"qid": "A4", "retrieved_ids": ["p4#2"],
     "answer_json": {"claim": "東京都です、はい", "citations": ["p4#1"], "constraints_echo": []}},
    {"qid": "A5", "retrieved_ids": ["p5#1"], "answer_json": {"claim": " Not in Context\u00a0", "citations": ["p5#1"]}},
    {"qid": "A2", "retrieved_ids": ["p2#2", "p2#1"],
     "answer_json": {"claim": "5 gigabytes.", "citations": ["p2#1", "p2#1"], "constraints_echo": ["Never guess."]}},
    {"qid": "A6", "retrieved_ids": None, "answer_json": None, "error": "timeout"},
    {"qid": "N1", "retrieved_ids": [], "answer_json": {"claim": "not in context", "citations": []}},
    {"qid": "N2", "retrieved_ids": ["p1#1"], "answer_json": {"claim": "Bob \U0001f600 did.", "citations": None}},
    {"qid": "N3", "retrieved_ids": ["p1#1"], "answer_json": {"claim": None, "citations": ["p1#1"]}},
    {"qid": "Z9", "retrieved_ids": ["p1#1"], "answer_json": {"claim": "Nobody asked.", "citations": ["p1#1"]}},
]  # fmt: skip


def as_jsonl(records: list[Json]) -> bytes:
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in records).encode()


def in_frames(data: bytes, size: int = 300) -> bytes:
    """Several zstd frames, one behind the other, cut anywhere."""
    compressor = zstandard.ZstdCompressor(write_checksum=True)
    return b"".join(compressor.compress(data[i : i + size]) for i in range(0, len(data), size))


def streamed(data: bytes) -> bytes:
    """A zstd frame that does not tell its size."""
    out = io.BytesIO()
    with zstandard.ZstdCompressor().stream_writer(out, closefd=False) as stream:
        for i in range(0, len(data), 100):
            stream.write(data[i : i + 100])
    return out.getvalue()


def written(suffix: str, pack: Callable[[bytes], bytes]) -> Callable[[list[Json], Path], Any]:
    def make(records: list[Json], path: Path) -> Path:
        target = path.with_name(path.name + suffix)
        target.write_bytes(pack(as_jsonl(records)))
        return target

    return make


def as_table(records: list[Json]) -> Any:
    """An Arrow table with nested columns; `from_pylist` alone would only know the fields of the first record."""
    fields = dict.fromkeys(field for one in records for field in one)
    return pa.Table.from_pylist([{field: one.get(field) for field in fields} for one in records])


def as_parquet(records: list[Json], path: Path, **options: Any) -> Path:
    target = path.with_name(f"{path.name}.parquet")
    parquet.write_table(as_table(records), target, **options)
    return target


MAKERS: dict[str, Callable[[list[Json], Path], Any]] = {
    "jsonl as text": lambda records, path: str(written(".jsonl", bytes)(records, path)),
    "jsonl": written(".jsonl", bytes),
    "jsonl without a last line end": written(".jsonl", lambda data: data.rstrip(b"\n")),
    "gzip": written(".jsonl.gz", gzip.compress),
    "gzip, two members": written(".jsonl.gz", lambda data: gzip.compress(data[:700]) + gzip.compress(data[700:])),
    "zstd": written(".jsonl.zst", zstandard.ZstdCompressor().compress),
    "zstd, many frames": written(".jsonl.zst", in_frames),
    "zstd, size unknown": written(".jsonl.zst", streamed),
    "parquet": as_parquet,
    "parquet, small row groups": lambda records, path: as_parquet(records, path, row_group_size=2, compression="zstd"),
    "list": lambda records, path: records,
    "tuple": lambda records, path: tuple(records),
    "generator": lambda records, path: (one for one in records),
    "pandas": lambda records, path: pd.DataFrame(records),
    "polars": lambda records, path: pl.DataFrame(records),
    "pyarrow": lambda records, path: as_table(records),
}


def content(result: rw.Result) -> Json:
    """All that must not depend on the format: everything but paths, hashes and places."""
    report = json.loads(json.dumps(result.report))
    suite = report["suites"]["answers"]
    suite["inputs"] = [(one["role"], one["records"]) for one in suite["inputs"]]
    for warning in suite["warnings"]:
        for place in ("where", "places"):
            warning.pop(place, None)
    return {"report": report, "rows": list(result.rows()), "metrics": result.metrics}


@pytest.fixture(scope="module")
def plain() -> Json:
    return content(rw.score("answers", gold=GOLD, traces=TRACES, scu=True, slices=("topic",), k=[1, 5]))


def test_the_records_are_worth_comparing(plain: Json) -> None:
    suite = plain["report"]["suites"]["answers"]
    assert suite["counts"] == {
        "gold": 9, "answered": 6, "refused": 2, "missing": 0, "errored": 1, "answerable": 6, "unanswerable": 3,
        "duplicate_traces": 1, "orphan_traces": 1,
    }  # fmt: skip
    labels = {"OK": 3, "REFUSAL_OK": 1, "HALLUCINATION": 2, "OUT_OF_SCOPE": 1, "ERROR": 1, "OVER_REFUSAL": 1}
    assert suite["labels"] == labels
    assert set(suite["slices"]) == {"topic=keys", "topic=limits"}


@pytest.mark.parametrize("form", MAKERS)
def test_every_format_in_gives_the_same(form: str, plain: Json, tmp_path: Path) -> None:
    gold, traces = MAKERS[form](GOLD, tmp_path / "gold"), MAKERS[form](TRACES, tmp_path / "trace")
    result = rw.score("answers", gold=gold, traces=traces, scu=True, slices=("topic",), k=[1, 5])
    assert content(result) == plain


def test_formats_can_be_mixed(plain: Json, tmp_path: Path) -> None:
    gold, traces = pl.DataFrame(GOLD), MAKERS["zstd, many frames"](TRACES, tmp_path / "trace")
    assert content(rw.score("answers", gold=gold, traces=traces, scu=True, slices=("topic",), k=[1, 5])) == plain


@pytest.mark.parametrize("form", ["jsonl", "gzip", "zstd, many frames", "parquet", "parquet, small row groups"])
def test_places_are_those_of_the_records(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In Parquet and compressed files, too, a place is the nth record."""
    monkeypatch.chdir(tmp_path)
    gold, traces = MAKERS[form](GOLD, Path("gold")), MAKERS[form](TRACES, Path("trace"))
    warnings = rw.score("answers", gold=gold, traces=traces).report["suites"]["answers"]["warnings"]
    places = {one["code"]: one["places"] for one in warnings if one["where"]}
    assert places["RW-W04"] == [f"{traces.name}:6"]
    assert places["RW-W24"] == [f"{traces.name}:7"]
    assert places["RW-W08"] == [f"{gold.name}:5", f"{gold.name}:6"]


@pytest.mark.parametrize("form", [form for form in MAKERS if form != "jsonl as text"])
def test_faults_are_the_same_in_every_format(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    broken = [{**one, "qid": nth} for nth, one in enumerate(GOLD)]
    with pytest.raises(DataError) as caught:
        rw.score("answers", gold=MAKERS[form](broken, Path("gold")), traces=TRACES)
    said = [str(problem).partition(":")[2] for problem in caught.value.problems]
    assert said == [f"{i + 1}: qid: expected a string, got {i} [RW-G03]" for i in range(len(GOLD))]


def test_parquet_text_that_is_not_utf8(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gold.jsonl").write_bytes(as_jsonl(GOLD))
    bad = pa.StringArray.from_buffers(
        2, pa.py_buffer(bytes([0, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0])), pa.py_buffer(b"A1\xff\xfe")
    )
    parquet.write_table(pa.table({"qid": bad}), "trace.parquet")
    code, out, err = called(*ARGS[:-1], "trace.parquet")
    assert (code, out) == (2, "")
    assert err.startswith("trace.parquet")
    assert "[RW-F06]" in err or "[RW-F13]" in err


def many(count: int) -> tuple[list[Json], list[Json]]:
    gold = [
        {"qid": f"q{i}", "question": f"Number {i}?", "answerable": True, "gold_claim_substr": [f"answer {i}"],
         "gold_citations": [f"d#{i}"]}
        for i in range(count)
    ]  # fmt: skip
    traces = [
        {"qid": f"q{i}", "retrieved_ids": [f"d#{i - i % 3}"],
         "answer_json": {"claim": f"answer {i - i % 7}", "citations": [f"d#{i}"]}}
        for i in range(count - 5)
    ]  # fmt: skip
    return gold, traces


@pytest.mark.parametrize("form", ["gzip", "zstd, many frames", "parquet", "pandas", "polars", "generator"])
def test_many_records(form: str, tmp_path: Path) -> None:
    """More records than fit one block or one batch."""
    gold, traces = many(6_000)
    expected = content(rw.score("answers", gold=gold, traces=traces))
    made = MAKERS[form](gold, tmp_path / "gold"), MAKERS[form](traces[::-1], tmp_path / "trace")
    assert content(rw.score("answers", gold=made[0], traces=made[1])) == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (b"gold.jsonl", "gold: expected a path, records or a data frame, got bytes [RW-U01]"),
        ({"qid": "A1"}, "gold: expected a path, records or a data frame, got dict [RW-U01]"),
        (None, "gold: expected a path, records or a data frame, got NoneType [RW-U01]"),
        (5, "gold: expected a path, records or a data frame, got int [RW-U01]"),
        ([{"qid": object()}], "<gold>:1: qid: expected what JSON can hold, got an object [RW-U05]"),
    ],
)
def test_what_is_no_input(given: Any, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        rw.score("answers", gold=given, traces=TRACES)
    assert str(caught.value).splitlines()[0] == message


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "<gold>: expected gold records, got none [RW-G05]"),
        (pd.DataFrame(), "<gold>: expected gold records, got none [RW-G05]"),
        (["A1"], '<gold>:1: expected a JSON object, got "A1" [RW-F08]'),
        ([GOLD[0], {"qid": float("nan")}], "<gold>:2: answerable: expected true or false, got nothing [RW-G04]"),
        ([GOLD[0], GOLD[0]], '<gold>:2: qid: expected a unique id, got "A1" again [RW-G02]'),
    ],
)
def test_faults_of_records_in_memory(given: Any, message: str) -> None:
    with pytest.raises(DataError) as caught:
        rw.score("answers", gold=given, traces=TRACES)
    assert message in str(caught.value).splitlines()


# rows


def from_parquet(path: Path) -> list[Json]:
    """Rows of a Parquet file as the JSON objects they stand for."""
    rows: list[Json] = parquet.read_table(path).to_pylist()
    return [row | {"metrics": dict(row["metrics"]), "undefined": dict(row["undefined"])} for row in rows]


def without_rule(row: Json) -> Json:
    """A row of a file whose column of refusal rules is empty, because none were asked for."""
    assert row["refusal_rule"] is None
    return {key: value for key, value in without_remarks(row).items() if key != "refusal_rule"}


def without_remarks(row: Json) -> Json:
    """A row of a file whose columns for runs, answers in several parts and remarks are empty: there are none."""
    silent = ("run", "claim_all", "constraints", "remarks")
    assert [row[key] for key in silent] == [None] * 4
    return {key: value for key, value in row.items() if key not in silent}


@pytest.mark.parametrize("count", [None, 25_000])
def test_rows_are_the_same_in_both_formats(count: int | None, tmp_path: Path) -> None:
    gold, traces = (GOLD, TRACES) if count is None else many(count)
    result = rw.score("answers", gold=gold, traces=traces)
    for suffix in ("jsonl", "parquet"):
        result.write(tmp_path / f"rows.{suffix}")
    lines = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()]
    assert lines == [without_rule(row) for row in from_parquet(tmp_path / "rows.parquet")] == list(result.rows())
    assert [row["qid"] for row in lines] == [one["qid"] for one in gold]


def test_rules_of_refusals_are_in_both_formats(tmp_path: Path) -> None:
    refused = TRACES[0] | {"answer_json": {"claim": "I don't know.", "citations": []}}
    result = rw.score("answers", gold=GOLD, traces=[refused, *TRACES[1:]], refusal_starts=["I don't know"])
    for suffix in ("jsonl", "parquet"):
        result.write(tmp_path / f"rows.{suffix}")
    lines = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()]
    assert lines == [without_remarks(row) for row in from_parquet(tmp_path / "rows.parquet")] == list(result.rows())
    assert [row["qid"] for row in lines if row["refusal_rule"]] == [refused["qid"]]


def test_maps_are_maps_in_parquet(tmp_path: Path) -> None:
    rw.score("answers", gold=GOLD, traces=TRACES).write(tmp_path / "rows.parquet")
    schema = parquet.read_schema(tmp_path / "rows.parquet")
    assert schema.field("metrics").type == pa.map_(pa.string(), pa.float64())
    assert schema.field("undefined").type == pa.map_(pa.string(), pa.string())
    assert pa.types.is_struct(schema.field("facts").type)
    assert schema.names == [
        "qid",
        "label",
        "stage",
        "cause",
        "cluster",
        "metrics",
        "undefined",
        "facts",
        "run",
        "refusal_rule",
        "claim_all",
        "constraints",
        "remarks",
    ]


ASKED: list[Json] = [
    {"qid": "q1", "question": "How are null keys treated?", "answerable": True,
     "gold_claim_substr": ["rejects null keys"], "gold_citations": ["p#1"]},
    {"qid": "q2", "question": "Who wrote Z?", "answerable": False},
]  # fmt: skip


def answered(qid: str, claim: str, *cited: str, **more: Any) -> Json:
    return {"qid": qid, "retrieved_ids": ["p#1"], "answer_json": {"claim": claim, "citations": list(cited)}, **more}


SEEDS: list[Json] = [
    answered("q1", "X rejects null keys.", "p#1", seed=1),
    answered("q1", "X takes „anything“.", "p#2", seed=2),
    answered("q2", "not in context", seed=1),
    answered("q2", "not in context", seed=2),
    answered("q2", "not in context", seed=2, jitter="reorder", noop=True),
]
TIMED = [one | {"e2e_ms": 100.5 + nth, "knobs": {"k": 3}, "load_rps": 5} for nth, one in enumerate(SEEDS[:3])]
PAIRS: list[Json] = [
    {"qid": "q1", "scholar": {"label": "VALID", "reason": "says “yes”"}, "auditor": {"label": "REJECT"}},
    {"qid": "q2", "scholar": {"label": "NOT_IN_CONTEXT"}, "auditor": {"label": "NOT_IN_CONTEXT"}},
]
RATINGS = [
    {"qid": qid, "rater": f"r{nth}", "label": label}
    for qid, labels in (("q1", "gg"), ("q2", "gb"))
    for nth, label in enumerate(labels)
]
OWN: dict[str, tuple[tuple[str, Json], tuple[str, ...]]] = {
    "stability": (("stability", {"gold": ASKED, "runs": SEEDS}), ("runs", "noops", "broken")),
    "latency": (("latency", {"gold": ASKED, "runs": TIMED}), ("runs", "configuration", "load")),
    "pairs": (("agreement", {"pairs": PAIRS}), ("scholar", "auditor", "final", "why")),
    "raters": (("agreement", {"raters": RATINGS}), ("votes",)),
}
AS_TEXT = ("broken", "scholar", "auditor", "votes")
"""Objects and lists, which are JSON text in Parquet."""


def present(row: Json) -> Json:
    """What a row holds; Parquet has a null for each key of the others."""
    facts = {name: value for name, value in row["facts"].items() if value is not None}
    return {name: value for name, value in row.items() if value is not None} | {"facts": facts}


def unpacked(path: Path) -> list[Json]:
    """Rows of a Parquet file of any suite as the JSON objects they stand for."""
    rows = [present(row) for row in from_parquet(path)]
    return [row | {name: json.loads(row[name]) for name in AS_TEXT if name in row} for row in rows]


def both(result: rw.Result, folder: Path) -> tuple[list[Json], list[Json]]:
    for suffix in ("jsonl", "parquet"):
        result.write(folder / f"rows.{suffix}")
    lines = (folder / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines], unpacked(folder / "rows.parquet")


@pytest.mark.parametrize("form", OWN)
def test_rows_of_the_other_suites_are_the_same_in_both_formats(form: str, tmp_path: Path) -> None:
    (suite, files), keys = OWN[form]
    lines, packed = both(rw.score(suite, **files), tmp_path)
    assert [present(row) for row in lines] == packed
    assert [row["qid"] for row in lines] == ["q1", "q2"]
    for row in packed:
        assert [name for name in keys if name not in row] == []
        assert "suite" not in row
    stored = {field.name: field.type for field in parquet.read_schema(tmp_path / "rows.parquet")}
    assert {str(stored[name]) for name in keys} <= {"string", "int64"}


POLICY = """\
version = 1
[answers]
gold = "gold.jsonl"
traces = "traces.jsonl"
[retrieval]
gold = "blocks.jsonl"
traces = "found.jsonl"
[stability]
gold = "gold.jsonl"
runs = "seeds.jsonl"
[latency]
gold = "gold.jsonl"
runs = "timed.jsonl"
[agreement]
pairs = "pairs.jsonl"
"""


def test_rows_of_several_suites_name_their_suite(tmp_path: Path) -> None:
    blocks = [{"qid": "q1", "relevant": ["S.1.p.B1"], "anchor_section": "S.1"}]
    found = [{"qid": "q1", "topk": [{"id": "S.1.p.B1"}]}]
    files = {"gold": ASKED, "traces": SEEDS[:1], "blocks": blocks, "found": found, "seeds": SEEDS, "timed": TIMED}
    for name, records in {**files, "pairs": PAIRS}.items():
        (tmp_path / f"{name}.jsonl").write_bytes(as_jsonl(records))
    (tmp_path / "ragworthy.toml").write_text(POLICY, encoding="utf-8")
    lines, packed = both(rw.gate(tmp_path / "ragworthy.toml"), tmp_path)
    assert [(row["suite"], row["qid"]) for row in lines] == [
        ("answers", "q1"), ("answers", "q2"), ("retrieval", "q1"), ("stability", "q1"), ("stability", "q2"),
        ("latency", "q1"), ("latency", "q2"), ("agreement", "q1"), ("agreement", "q2"),
    ]  # fmt: skip
    assert [present(row) for row in lines] == packed
    assert [row.get("runs") for row in packed] == [None, None, 1, 2, 2, 2, 1, None, None]
    assert [row.get("noops") for row in packed] == [None, None, None, 0, 1, None, None, None, None]


# the command line: every suffix is written, whole or not at all

SUFFIXES = ("json", "md", "xml", "txt", "jsonl", "parquet")
ARGS = ["score", "answers", "--gold", "gold.jsonl", "--trace", "trace.jsonl"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the two files."""
    (tmp_path / "gold.jsonl").write_bytes(as_jsonl(GOLD))
    (tmp_path / "trace.jsonl").write_bytes(as_jsonl(TRACES))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def called(*args: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([*args] if args[:1] == ("score",) else [*ARGS, *args])
    return code, out.getvalue(), err.getvalue()


def left_behind(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*") if ".part" in path.name or path.name.startswith(".")]


def check_file(path: Path, report: Json) -> None:
    """The file is what its suffix says, and holds this report."""
    if path.suffix == ".parquet":
        assert [row["qid"] for row in from_parquet(path)] == [one["qid"] for one in GOLD]
        return
    text = path.read_text(encoding="utf-8")
    assert text.endswith("\n")
    if path.suffix == ".json":
        assert json.loads(text) == report
    elif path.suffix == ".jsonl":
        assert [json.loads(line)["qid"] for line in text.splitlines()] == [one["qid"] for one in GOLD]
    elif path.suffix == ".xml":
        assert ElementTree.fromstring(text).tag == "testsuites"
    elif path.suffix == ".txt":
        assert text.splitlines()[-1].startswith(f"verdict: {report['verdict']} (exit {report['exit_code']}): ")
    else:
        assert text.startswith("#")
        assert report["verdict"] in text


def test_every_suffix_is_written(here: Path) -> None:
    names = [f"out/new/report.{suffix}" for suffix in SUFFIXES]
    code, out, err = called("--format", "json", *(part for name in names for part in ("-o", name)))
    assert (code, err) == (1, "")
    assert sorted(os.listdir("out/new")) == sorted(f"report.{suffix}" for suffix in SUFFIXES)
    for name in names:
        check_file(Path(name), json.loads(out))
        assert stat.S_IMODE(Path(name).stat().st_mode) == 0o666 & ~umask()
    assert left_behind(here) == []


def umask() -> int:
    current = os.umask(0o022)
    os.umask(current)
    return current


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_old_file_is_replaced(suffix: str, here: Path) -> None:
    target = Path(f"report.{suffix}")
    target.write_text("old " * 100_000)
    code, out, err = called("--format", "json", "-o", target.name)
    assert (code, err) == (1, "")
    check_file(target, json.loads(out))
    assert left_behind(here) == []


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_rows_and_receipt_are_written(suffix: str, here: Path) -> None:
    code, _, err = called("--rows", f"rows.{suffix}", "--receipt", "receipt.json", "-q")
    assert (code, err) == (1, "")
    check_file(Path(f"rows.{suffix}"), {})
    assert json.loads(Path("receipt.json").read_text())["schema"] == "ragworthy.receipt/1"
    assert left_behind(here) == []


def test_the_same_bytes_twice(here: Path) -> None:
    for folder in ("one", "two"):
        assert called("-q", *(part for suffix in SUFFIXES for part in ("-o", f"{folder}/r.{suffix}")))[0] == 1
    for suffix in SUFFIXES:
        assert Path(f"one/r.{suffix}").read_bytes() == Path(f"two/r.{suffix}").read_bytes()


UNWRITABLE = "  cannot_write: Check the folder, its permissions and the free space; the old file is untouched.\n"


@pytest.mark.parametrize("flag", ["-o", "--rows", "--receipt"])
def test_a_folder_in_the_way(flag: str, here: Path) -> None:
    Path("out.jsonl").mkdir()
    expected = f"out.jsonl: cannot be written: Is a directory [RW-F14]\n{UNWRITABLE}"
    assert called(flag, "out.jsonl") == (2, "", expected)
    assert left_behind(here) == []


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_in_place_of_the_folder(suffix: str, here: Path) -> None:
    Path("out").write_text("a file")
    code, out, err = called("-o", f"out/report.{suffix}")
    assert (code, out) == (2, "")
    assert err in [
        f"out/report.{suffix}: cannot be written: {why} [RW-F14]\n{UNWRITABLE}"
        for why in ("Not a directory", "File exists")
    ]
    assert Path("out").read_text() == "a file"


PREPARED = """
import contextlib, io, os, resource, sys
from ragworthy.cli.main import main
args = sys.argv[2:]
with contextlib.redirect_stdout(io.StringIO()):  # everything is imported before rights are given up
    for suffix in ("json", "md", "xml", "txt", "jsonl", "parquet"):
        main(["score", "answers", "--gold", "gold.jsonl", "--trace", "trace.jsonl", "-o", f"warm/up.{suffix}",
              "--receipt", "warm/up.receipt.json"])
if sys.argv[1] == "nobody" and os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
if sys.argv[1] == "full":
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
sys.exit(main(args))
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder anybody may enter (those of pytest are private)."""
    folder = Path(tempfile.mkdtemp(prefix="ragworthy-open-"))
    try:
        folder.chmod(0o755)
        (folder / "gold.jsonl").write_bytes(as_jsonl(GOLD))
        (folder / "trace.jsonl").write_bytes(as_jsonl(TRACES))
        (folder / "out").mkdir()
        yield folder
    finally:
        (folder / "out").chmod(0o755)
        shutil.rmtree(folder)


def prepared(how: str, folder: Path, *args: str) -> tuple[int, str, str]:
    line = [sys.executable, "-c", PREPARED, how, *ARGS, *args]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.skipif(not hasattr(os, "setuid"), reason="needs POSIX users")
@pytest.mark.parametrize(("flag", "suffix"), [*(("-o", suffix) for suffix in SUFFIXES), ("--receipt", "json")])
def test_a_folder_without_permission(flag: str, suffix: str, open_folder: Path) -> None:
    target = open_folder / f"out/report.{suffix}"
    target.write_text("old")
    (open_folder / "out").chmod(0o555)
    expected = f"out/report.{suffix}: cannot be written: Permission denied [RW-F14]\n{UNWRITABLE}"
    assert prepared("nobody", open_folder, flag, f"out/report.{suffix}") == (2, "", expected)
    assert target.read_text() == "old"
    assert os.listdir(open_folder / "out") == [target.name]


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit on the size of files")
@pytest.mark.parametrize(("flag", "suffix"), [*(("-o", suffix) for suffix in SUFFIXES), ("--receipt", "json")])
def test_a_disk_that_is_full(flag: str, suffix: str, open_folder: Path) -> None:
    """A limit of 100 bytes a file stands for the full disk: the write fails in the middle."""
    target = open_folder / f"out/report.{suffix}"
    target.write_text("old")
    code, out, err = prepared("full", open_folder, flag, f"out/report.{suffix}")
    assert (code, out) == (2, "")
    assert err.startswith(f"out/report.{suffix}: cannot be written: ")
    assert err.endswith(f"File too large [RW-F14]\n{UNWRITABLE}")
    assert target.read_text() == "old"
    assert os.listdir(open_folder / "out") == [target.name]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("buffered", [True, False])
@pytest.mark.parametrize("form", ["text", "json", "markdown", "junit"])
def test_a_full_stdout_is_an_error(form: str, buffered: bool, here: Path) -> None:
    """Where the report cannot be printed, nobody may take the exit code for a verdict."""
    env = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    line = [sys.executable, *([] if buffered else ["-u"]), "-m", "ragworthy", *ARGS, "--format", form]
    with open("/dev/full", "w") as full:
        done = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, env=env, check=False)
    assert "Traceback" not in done.stderr
    assert "No space left on device [RW-F14]" in done.stderr
    assert done.returncode == 2


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_stream_is_no_defect(closed: str, here: Path) -> None:
    """Whoever closes stdout or stderr wants the exit code only."""
    line = f"{shlex.join([sys.executable, '-m', 'ragworthy', *ARGS])} {closed}"
    done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, timeout=60, check=False)
    assert "Traceback" not in done.stderr
    assert done.returncode == 1


def test_nothing_is_written_when_the_input_is_broken(here: Path) -> None:
    Path("gold.jsonl").write_text("{\n")
    Path("report.json").write_text("old")
    outputs = [part for suffix in SUFFIXES for part in ("-o", f"report.{suffix}")]
    code, out, _ = called(*outputs, "--rows", "rows.parquet", "--receipt", "receipt.json")
    assert (code, out) == (2, "")
    assert sorted(os.listdir()) == ["gold.jsonl", "report.json", "trace.jsonl"]
    assert Path("report.json").read_text() == "old"
