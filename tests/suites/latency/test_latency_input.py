"""What the latency suite reads: tables and JSON lines alike, every mistake with its place."""

import gzip
import json
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import write_jsonl
from ragworthy.errors import DataError
from ragworthy.ids import config_id
from ragworthy.load.gold import read_gold
from ragworthy.load.sources import Source, open_source
from ragworthy.metrics.facts.answers import Rules
from ragworthy.metrics.facts.timed import exact
from ragworthy.records import Run
from ragworthy.suites.latency.columns import merged, part_of
from ragworthy.suites.latency.job import Job
from ragworthy.suites.latency.read import Damage, Reader, Recorded, knobs_of

HEADER = "ts,qid,e2e_ms,retrieval_ms,rerank_ms,llm_ms,guard_ms,knobs\n"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


class FileRuns(NamedTuple):
    """What a file holds, and the same counts from its columns."""

    timed: list[Recorded]
    records: int
    repeated: int
    headers: int


def read_runs(source: Source, damage: Damage = None) -> FileRuns:
    job = Job([], Rules())
    counted = merged(source, job, damage, [part_of(source, job, damage, False)])
    reader = Reader(source, damage=damage)
    runs = FileRuns(list(reader), reader.records, reader.repeated, reader.headers)
    assert runs[1:] == (counted.records, counted.repeated, counted.headers)
    assert [one.line for one in runs.timed] == list(counted.runs.line)
    return runs


def table(text: str | bytes, name: str = "runs.csv") -> FileRuns:
    data = text.encode() if isinstance(text, str) else text
    Path(name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return read_runs(open_source("trace", Path(name)))


def lines(*rows: Mapping[str, Any]) -> FileRuns:
    return read_runs(open_source("trace", write_jsonl(Path("runs.jsonl"), rows)))


def wrong(text: str | bytes) -> list[str]:
    with pytest.raises(DataError) as caught:
        table(text)
    return [line for line in caught.value.lines() if not line.startswith("  ")]


def wrong_lines(*rows: Mapping[str, Any]) -> list[str]:
    with pytest.raises(DataError) as caught:
        lines(*rows)
    return [line for line in caught.value.lines() if not line.startswith("  ")]


def test_a_table_with_the_usual_columns() -> None:
    runs = table(HEADER + '1,q1,120.5,20,5,90,3,"{""k_lex"": 20, ""knee"": ""a,b""}"\n2,q2,80,,,,,\n')
    first, second = runs.timed
    assert (first.line, first.run.name, first.e2e) == (2, "q1", 120.5)
    assert first.stages == {"retrieval": 20, "rerank": 5, "llm": 90, "guard": 3}
    assert first.knobs == {"k_lex": 20, "knee": "a,b"}
    assert first.config == config_id({"knee": "a,b", "k_lex": 20})
    assert (second.stages, second.knobs, second.config, second.run.load_rps) == ({}, {}, config_id({}), None)
    assert (runs.records, runs.headers, runs.repeated) == (2, 0, 0)


def test_every_other_field_of_a_run_may_be_a_column() -> None:
    text = (
        "qid,e2e_ms,config_id,load_rps,warmup,answer_json,retrieved_ids,usage,error,seed,paraphrase,parse_ms,lag_ms,x\n"
        'q1,5,c1,0.5,TRUE,"{""claim"": ""a, b"", ""citations"": [""d#1""]}","[""d#1""]",'
        '"{""total_tokens"": 4}",,1,2,7,3,y\n'
        "q1,6,c1,20,no,,,,timeout,,,,,\n"
    )
    first, second = (one.run for one in table(text).timed)
    assert first.answer_json is not None
    assert (first.answer_json.claim, first.retrieved_ids, first.usage) == ("a, b", ["d#1"], {"total_tokens": 4})
    assert (first.config_id, first.load_rps, first.warmup, first.error) == ("c1", 0.5, True, None)
    assert (first.seed, first.paraphrase) == (1, 2)
    assert (second.warmup, second.error, second.answer_json, second.load_rps) == (False, "timeout", None, 20)
    assert [one.stages for one in table(text).timed] == [{"parse": 7}, {}]


def test_repeated_headers_and_blank_lines_are_skipped_and_counted() -> None:
    text = f"{HEADER}1,a,10,,,,,\n\n{HEADER}2,b,20,,,,,\n,,,,,,,\n{HEADER}"
    runs = table(text)
    assert [(one.run.name, one.line) for one in runs.timed] == [("a", 2), ("b", 5)]
    assert (runs.records, runs.headers) == (2, 2)


@pytest.mark.parametrize("name", ["runs.csv", "runs.CSV", "runs.csv.gz"])
def test_bom_crlf_and_compression(name: str) -> None:
    text = b"\xef\xbb\xbf" + (HEADER + "1,a,10,,,,,k=1\n2,b,20,,,,,k=1\n").replace("\n", "\r\n").encode()
    runs = table(text, name)
    assert [(one.line, one.run.name, one.e2e, one.knobs) for one in runs.timed] == [
        (2, "a", 10, {"k": 1}),
        (3, "b", 20, {"k": 1}),
    ]


def test_lines_are_counted_through_cells_with_line_ends() -> None:
    text = 'qid,e2e_ms,q\na,1,"two\nlines"\nb,x,\n'
    assert wrong(text) == ['runs.csv:4: e2e_ms: expected a number from 0, got "x" [RW-T10]']


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("a,x", 'runs.csv:2: e2e_ms: expected a number from 0, got "x" [RW-T10]'),
        ("a,nan", 'runs.csv:2: e2e_ms: expected a number from 0, got "nan" [RW-T10]'),
        ("a,inf", 'runs.csv:2: e2e_ms: expected a number from 0, got "inf" [RW-T10]'),
        ("a,1e999", 'runs.csv:2: e2e_ms: expected a number from 0, got "1e999" [RW-T10]'),
        ("a,-1", 'runs.csv:2: e2e_ms: expected a number from 0, got "-1" [RW-T10]'),
        ("a,1_000", 'runs.csv:2: e2e_ms: expected a number from 0, got "1_000" [RW-T10]'),
        ("a,", "runs.csv:2: e2e_ms: expected a number from 0, got nothing [RW-T10]"),
        (",5", "runs.csv:2: qid: expected a non-empty string, got nothing [RW-T01]"),
        ("a,5,6", "runs.csv:2: expected 2 cells, got 3 [RW-T12]"),
        ("a", "runs.csv:2: expected 2 cells, got 1 [RW-T12]"),
        ("e2e_ms,qid", "runs.csv:2: expected the columns of the first header again, got others [RW-T12]"),
        ('a,"5', "runs.csv:2: expected CSV, got: unexpected end of data [RW-T12]"),
    ],
)
def test_mistakes_in_a_table(row: str, message: str) -> None:
    assert wrong(f"qid,e2e_ms\n{row}\n") == [message]


@pytest.mark.parametrize(
    ("column", "cell", "message"),
    [
        ("llm_ms", "fast", 'llm_ms: expected a number from 0, got "fast" [RW-T10]'),
        ("parse_ms", "-2", 'parse_ms: expected a number from 0, got "-2" [RW-T10]'),
        ("load_rps", "five", 'load_rps: expected a number above 0, got "five" [RW-T02]'),
        ("load_rps", "0", "load_rps: expected a number above 0, got 0 [RW-T02]"),
        ("warmup", "perhaps", 'warmup: expected true or false, got "perhaps" [RW-T02]'),
        ("seed", "1.5", 'seed: expected a whole number, got "1.5" [RW-T02]'),
        ("answer_json", "yes", 'answer_json: expected JSON, got "yes" [RW-T02]'),
        ("answer_json", "3", "answer_json: expected an object, got a whole number [RW-T02]"),
        ("knobs", "fast", 'knobs: expected an object, its JSON text or a=1;b=2, got "fast" [RW-T13]'),
        ("knobs", "{1}", 'knobs: expected an object, its JSON text or a=1;b=2, got "{1}" [RW-T13]'),
    ],
)
def test_mistakes_in_a_cell(column: str, cell: str, message: str) -> None:
    assert wrong(f"qid,e2e_ms,{column}\na,5,{cell}\n") == [f"runs.csv:2: {message}"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "runs.csv: expected runs, got none [RW-F04]"),
        ("qid,e2e_ms\n", "runs.csv: expected runs, got none [RW-F04]"),
        ("\n\na,b\n", "runs.csv:3: expected a header with qid and e2e_ms, got a, b [RW-T12]"),
        ("qid,e2e_ms,qid\n", 'runs.csv:1: expected every column once, got "qid" twice [RW-T12]'),
        (b"qid,e2e_ms\na,5\n\xff,5\n", "runs.csv:3: expected UTF-8, got byte 0xff [RW-F06]"),
        (b"qid,e2e_ms\na\0,5\n", "runs.csv:2: expected text, got a NUL byte [RW-F10]"),
    ],
)
def test_what_is_no_table(text: str | bytes, message: str) -> None:
    assert wrong(text) == [message]


def test_mistakes_come_in_the_order_of_the_lines() -> None:
    found = wrong("qid,e2e_ms\n,5\na,x\na,5,6\na,\n")
    assert [line.partition(": ")[0] for line in found] == [f"runs.csv:{n}" for n in (2, 3, 4, 5)]


def test_json_lines() -> None:
    runs = lines(
        {"qid": "a", "e2e_ms": 0.1, "t_retrieve_ms": 5, "stage_ms": {"reason": 7, "parse": 1}, "load_rps": 5},
        {"q_id": "b", "e2e_ms": 3, "knobs": {"model": "m"}, "retrieval_ms": 4, "stage_ms": {"retrieve": 4.0}},
        {"q_id": "b", "e2e_ms": 3, "knobs": '{"model": "m"}'},
        {"q_id": "b", "e2e_ms": 3, "knobs": "model=m"},
    )
    first, second, third, fourth = runs.timed
    assert exact(first.e2e) == Fraction(1, 10)  # as it was written, not the nearest binary number
    assert first.stages == {"retrieval": 5, "llm": 7, "parse": 1}
    assert (first.run.load_rps, second.run.load_rps) == (5, None)
    assert second.stages == {"retrieval": 4}
    assert second.model == "m"
    assert second.config == third.config == fourth.config == config_id({"model": "m"})


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"qid": "a"}, "e2e_ms: expected a number from 0, got nothing [RW-T10]"),
        ({"qid": "a", "error": "timeout"}, "e2e_ms: expected a number from 0, got nothing [RW-T10]"),
        ({"qid": "a", "e2e_ms": -1}, "e2e_ms: expected a number from 0, got -1 [RW-T10]"),
        ({"qid": "a", "e2e_ms": "5"}, "e2e_ms: expected a number, got a string [RW-T02]"),
        ({"qid": "", "e2e_ms": 1}, "qid: expected a non-empty string, got nothing [RW-T01]"),
        ({"e2e_ms": 1}, "qid: expected a non-empty string, got nothing [RW-T01]"),
        ({"qid": "a", "e2e_ms": 1, "load_rps": -2}, "load_rps: expected a number above 0, got -2 [RW-T02]"),
        ({"qid": "a", "e2e_ms": 1, "stage_ms": {"llm": -3}},
         "stage_ms.llm: expected a number from 0, got -3 [RW-T10]"),
        ({"qid": "a", "e2e_ms": 1, "llm_ms": 5, "t_reason_ms": 6},
         "t_reason_ms: expected the time llm has already (5), got 6 [RW-T10]"),
    ],
)  # fmt: skip
def test_mistakes_in_json_lines(row: Mapping[str, Any], message: str) -> None:
    assert wrong_lines(row) == [f"runs.jsonl:1: {message}"]


def test_one_configuration_has_one_set_of_knobs() -> None:
    rows = [{"qid": "a", "e2e_ms": 1, "config_id": "c", "knobs": {"k": k}} for k in (1, 1, 2)]
    assert wrong_lines(*rows) == ["runs.jsonl:3: knobs: expected the knobs that c has in line 1, got others [RW-T13]"]
    without = lines(rows[0], {"qid": "a", "e2e_ms": 1, "config_id": "c"})
    assert [one.config for one in without.timed] == ["c", "c"]


def test_a_run_that_stands_there_twice_counts_once() -> None:
    row = {"ts": "2026-01-01T00:00:00Z", "qid": "a", "e2e_ms": 1}
    runs = lines(row, row, row | {"e2e_ms": 2})
    assert ([one.line for one in runs.timed], runs.repeated, runs.records) == ([1, 3], 1, 3)
    alike = {"qid": "a", "e2e_ms": 1}  # nothing says that these are one run
    assert len(lines(alike, alike).timed) == 2


def test_when_a_run_was_sent() -> None:
    stamps = ["2026-01-01T00:00:01.500Z", "2026-01-01T01:00:02+01:00", 1767225603, "1767225604000", None, "soon"]
    runs = lines(*({"ts": ts, "qid": "a", "e2e_ms": n} for n, ts in enumerate(stamps)))
    assert [one.at for one in runs.timed] == [1767225601.5, 1767225602.0, 1767225603.0, 1767225604.0, None, None]


def test_damage_changes_or_drops_runs_before_anything_is_made_of_them() -> None:
    path = write_jsonl(Path("runs.jsonl"), [{"qid": "a", "e2e_ms": 1}, {"qid": "b", "e2e_ms": 2}])

    def damage(run: Run) -> Run | None:
        return None if run.name == "a" else msgspec.structs.replace(run, e2e_ms=900.0)

    runs = read_runs(open_source("trace", path), damage=damage)
    assert [(one.run.name, one.e2e) for one in runs.timed] == [("b", 900)]


@pytest.mark.parametrize(
    ("text", "knobs"),
    [
        ("", {}),
        ("k=1;", {"k": 1}),
        (" k = 1 ; on=true;name=a=b ", {"k": 1, "on": True, "name": "a=b"}),
        ('{"k": [1]}', {"k": [1]}),
        ("[1]", None),
        ("=1", None),
        ('{"k": 1', None),
    ],
)
def test_knobs(text: str, knobs: dict[str, Any] | None) -> None:
    assert knobs_of(text) == knobs


cells = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)


@settings(max_examples=150)
@given(st.lists(st.lists(cells, min_size=3, max_size=4), max_size=4))
def test_no_table_ends_in_anything_but_runs_or_a_data_error(rows: list[list[str]]) -> None:
    import csv
    import io

    out = io.StringIO()
    csv.writer(out).writerows([["qid", "e2e_ms", "knobs"], *rows])
    try:
        runs = table(out.getvalue())
    except DataError as error:
        assert all(problem.where.startswith("runs.csv") for problem in error.problems)
    else:
        assert len(runs.timed) == runs.records >= 1


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 10**6)), min_size=1, max_size=8))
def test_a_table_and_json_lines_say_the_same(rows: list[tuple[str, int]]) -> None:
    written = "".join(f"{qid},{ms / 100},{ms}\n" for qid, ms in rows)
    of_table = table(f"qid,e2e_ms,llm_ms\n{written}").timed
    of_lines = lines(*({"qid": qid, "e2e_ms": ms / 100, "llm_ms": ms} for qid, ms in rows)).timed
    assert [one._replace(line=0) for one in of_table] == [one._replace(line=0) for one in of_lines]
    assert [exact(one.e2e) for one in of_table] == [Fraction(ms, 100) for _, ms in rows]


def gold(*rows: Mapping[str, Any], allow: bool = False) -> list[str]:
    path = write_jsonl(Path("gold.jsonl"), rows)
    try:
        items = read_gold(open_source("gold", path), Rules(), allow_errors=allow)
    except DataError as error:
        return [line for line in error.lines() if not line.startswith("  ")]
    return [item.record.qid or item.record.q_id for item in items]


def test_the_gold_set_is_checked_as_for_answers() -> None:
    good = {"qid": "a", "answerable": True, "gold_claim_substr": ["long enough"], "gold_citations": ["d#1"]}
    assert gold(good, good | {"qid": "b"}) == ["a", "b"]
    assert gold(good, good) == ['gold.jsonl:2: qid: expected a unique id, got "a" again [RW-G02]']
    assert gold(good | {"qid": ""}) == ["gold.jsonl:1: qid: expected a non-empty string, got nothing [RW-G01]"]
    assert gold() == ["gold.jsonl: expected gold records, got none [RW-G05]"]
    bare = {"qid": "a", "answerable": True}
    message = "gold_citations: expected gold text or evidence for an answerable question, got neither [RW-G06]"
    assert gold(bare) == [f"gold.jsonl:1: {message}"]
    assert gold(bare, allow=True) == ["a"]
    assert json.loads(Path("gold.jsonl").read_text())["qid"] == "a"
