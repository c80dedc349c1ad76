"""Question files: JSON lines, arrays and subsets give the same records, each with the line it is on."""

import gzip
import hashlib
import json
import os
import random
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from ragworthy.errors import DataError, RagworthyError
from ragworthy.load import questions as module
from ragworthy.load.decode import Decoder, record_offsets
from ragworthy.load.questions import ArrayFile, Parent, open_questions, read_questions, read_subset
from ragworthy.load.sources import FileSource, Source
from ragworthy.records import StructuredGold, StructuredOutput

Row = dict[str, Any]
ROWS: list[Row] = [
    {"id": "a", "question": "Où?", "expected": {"answer_example": {"x": [1, {"y": "]},\n{"}]}}},
    {"id": "b", "question": "首都は？", "expected": {}},
    {"qid": "c", "question": '\\"[', "expected": {"n": 1.50}, "grading": None},
]
HEADER: Row = {
    "schema": "ragworthy.subset/1",
    "algorithm": "stratified-sha256/1",
    "seed": 42,
    "size": 100,
    "strata": ["topic"],
    "parent": {"file": "q.json", "sha256": "0" * 64, "items": 9, "distinct": 3},
}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def opened(text: str | bytes, name: str = "q.json") -> Source:
    Path(name).write_bytes(text.encode() if isinstance(text, str) else text)
    return open_questions("gold", name)


def rows(source: Source) -> list[tuple[int, Row]]:
    """Every record with its line, read one by one."""
    items, problems = read_questions(source)
    assert problems == []
    return [(item.line, item.value) for item in items]


def by_block(source: Source) -> tuple[list[StructuredGold], list[int], list[str]]:
    """Records, lines and faults as the engine reads them."""
    decoder = Decoder(StructuredGold)
    records, offsets = [], []
    for block in source.blocks():
        records += decoder.records(block)
        offsets += record_offsets(StructuredGold, block)
        assert source.block_at(block.offset, len(block.data), 0, 1) == block
    lines = source.lines_at([*offsets, *(fault.offset for fault in decoder.faults)])
    faults = [f"{lines[one.offset]}: {one.field}: {one.message} [{one.code}]" for one in decoder.faults]
    return records, [lines[offset] for offset in offsets], faults


def problem(text: str | bytes, name: str = "q.json") -> str:
    with pytest.raises(RagworthyError) as caught:
        opened(text, name)
    assert isinstance(caught.value, DataError)
    [only] = caught.value.problems
    return str(only)


def lines_with(text: str, line: str) -> list[int]:
    """The numbers of the lines that are exactly this one."""
    return [number for number, one in enumerate(text.split("\n"), 1) if one == line]


PRETTY = json.dumps(ROWS, indent=2, ensure_ascii=False)
FORMS: dict[str, tuple[str, list[int]]] = {
    "JSON lines": ("".join(json.dumps(row) + "\n" for row in ROWS), [1, 2, 3]),
    "JSON lines with blank ones": ("\n" + "\n\n".join(json.dumps(row) for row in ROWS), [2, 4, 6]),
    "one line": (json.dumps(ROWS), [1, 1, 1]),
    "no spaces": (json.dumps(ROWS, separators=(",", ":")), [1, 1, 1]),
    "one row a line": ("[\n" + ",\n".join(json.dumps(row) for row in ROWS) + "\n]\n", [2, 3, 4]),
    "pretty": (PRETTY, lines_with(PRETTY, "  {")),
    "blank lines before it": ("\n \r\n" + json.dumps(ROWS) + "\n\n", [3, 3, 3]),
    "commas first": ("[" + "\n,".join(json.dumps(row) for row in ROWS) + "]", [1, 2, 3]),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize(
    ("suffix", "pack"),
    [
        ("", bytes),
        (".gz", gzip.compress),
        (".zst", zstandard.ZstdCompressor().compress),
    ],
)
def test_every_form_gives_the_same_records(form: str, bom: bytes, suffix: str, pack: Callable[[bytes], bytes]) -> None:
    text, lines = FORMS[form]
    data = pack(bom + text.encode())
    source = opened(data, f"q.json{suffix}")
    assert rows(source) == list(zip(lines, ROWS, strict=True))
    records, found, faults = by_block(source)
    assert (found, faults) == (lines, [])
    assert [(one.name, one.question) for one in records] == [("a", "Où?"), ("b", "首都は？"), ("c", '\\"[')]
    assert source.sha256() == hashlib.sha256(data).hexdigest()
    assert (source.label, source.given, source.role) == (f"q.json{suffix}", f"q.json{suffix}", "gold")


blank = st.text(" \t\r\n", max_size=3)
value = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
row = st.fixed_dictionaries({"id": st.text(min_size=1, max_size=4), "expected": st.dictionaries(st.text(), value)})


@st.composite
def arrays(draw: st.DrawFn) -> tuple[str, list[Row], list[int]]:
    """An array with any spaces in any place, its rows, and the lines on which they start, counted as it is made."""
    text, found, lines = draw(blank) + "[", [], []
    count = draw(st.integers(0, 6))
    for nth in range(count):
        text += draw(blank)
        one = draw(row)
        lines.append(text.count("\n") + 1)
        written = json.dumps(one, ensure_ascii=draw(st.booleans()), indent=draw(st.sampled_from([None, 0, 2])))
        text += written + draw(blank) + ("," if nth + 1 < count else "")
        found.append(one)
    return text + draw(blank) + "]" + draw(blank), found, lines


@settings(deadline=None, max_examples=150)
@given(made=arrays(), size=st.sampled_from([1, 7, 64, 1 << 17]))
def test_arrays_and_json_lines_give_the_same(made: tuple[str, list[Row], list[int]], size: int) -> None:
    text, found, lines = made
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK", size)
        source = opened(text)
        assert isinstance(source, ArrayFile)
        assert rows(source) == list(zip(lines, found, strict=True))
        records, placed, faults = by_block(source)
        assert (placed, faults) == (lines, [])
        same = opened("".join(json.dumps(one) + "\n" for one in found), "q.jsonl")
        assert (records, list(range(1, len(found) + 1)), []) == by_block(same)


@settings(deadline=None, max_examples=150)
@given(made=arrays(), cut=st.floats(0, 1), junk=st.binary(max_size=4))
def test_damaged_arrays_end_in_an_orderly_way(made: tuple[str, list[Row], list[int]], cut: float, junk: bytes) -> None:
    data = made[0].encode()
    at = int(cut * len(data))
    damaged = data[:at] + junk + data[at + 1 :]
    last = damaged.count(b"\n") + 1
    try:
        source = opened(damaged)
        _, _, faults = by_block(source)
        lines = [int(one.partition(":")[0]) for one in faults]
    except DataError as error:
        lines = [int(one.where.rpartition(":")[2]) for one in error.problems]
    assert all(1 <= line <= last for line in lines)


@pytest.mark.parametrize("text", ["[]", " [ \n ] \n", "\ufeff[]", "", "\n\n"])
def test_nothing_is_no_error_here(text: str) -> None:
    source = opened(text)
    assert (rows(source), by_block(source), source.lines_at([])) == ([], ([], [], []), {})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[\n{"id": "a"}\n', ":3: expected a whole JSON array, got the end of the file in the middle of it [RW-F09]"),
        ('[{"id": "a', ":1: expected a whole JSON array, got the end of the file in the middle of it [RW-F09]"),
        ('["\\ud83d', ":1: expected a whole JSON array, got the end of the file in the middle of it [RW-F09]"),
        ('[\n{"id": "a"},\n]', ":3: expected a JSON array, got ] (trailing comma in array) [RW-F07]"),
        ('[{"id": "a"}\n{"id": 2}]', """:2: expected a JSON array, got {"id": 2}] (expected ',' or ']') [RW-F07]"""),
        ('[{"id": "a"}]\n{"id": "b"}', ':2: expected a JSON array, got {"id": "b"} (trailing characters) [RW-F07]'),
        ("[]\n\n]", ":3: expected a JSON array, got ] (trailing characters) [RW-F07]"),
        ("[\n{'id': 1}]", """:2: expected a JSON array, got 'id': 1}] (expected '"') [RW-F07]"""),
        ("[1,\nNaN]", ":2: expected a JSON array, got NaN] (invalid character) [RW-F07]"),
        ('[\n"\\udc00"]', ":2: expected JSON, got half of a surrogate pair (\\ud8xx) [RW-F07]"),
        ('[\n"\\ud83d"]', ":2: expected JSON, got half of a surrogate pair (\\ud8xx) [RW-F07]"),
        ('["C:\\\\ud83d",\n', ":2: expected a whole JSON array, got the end of the file in the middle of it [RW-F09]"),
        ("[1,\n \x00]", ":2: expected JSON, got a NUL byte at column 2 [RW-F10]"),
        (b'[1,\n"a\xff"]', ":2: expected UTF-8, got byte 0xff at column 3 [RW-F06]"),
        (b'[1,\n"\xe4\xb8', ":2: expected UTF-8, got byte 0xe4 at column 2 [RW-F06]"),
        ("[" * 100_000, ":1: expected flat records, got JSON nested too deeply [RW-F11]"),
        ('\n{\n"id": "a"\n}\n',
         ":2: expected a JSON array or one record per line, got one object over several lines [RW-F07]"),
    ],
)  # fmt: skip
def test_broken_arrays(text: str | bytes, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert problem(text) == f"q.json{said}"
    assert problem(text) == f"q.json{said}"


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_a_wrong_byte_is_named_wherever_blocks_end(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", size)
    assert problem('[\n"首都'.encode() + b"\xe9\x20" + '都"]'.encode()) == (
        "q.json:2: expected UTF-8, got byte 0xe9 at column 8 [RW-F06]"
    )


def test_elements_that_are_no_questions() -> None:
    source = opened('[null, [1],\n"x", {"id": 5},\n{"id": "a", "expected": []}, {"question": 1}, {"id": "ok"}]')
    records, _, faults = by_block(source)
    assert [one.name for one in records] == ["ok"]
    assert faults == [
        "1: : expected a JSON object, got null [RW-F08]",
        "1: : expected a JSON object, got a list [RW-F08]",
        '2: : expected a JSON object, got "x" [RW-F08]',
        "2: id: expected a string, got 5 [RW-Q01]",
        "3: expected: expected an object, got a list [RW-Q01]",
        "3: id: expected a string, got nothing [RW-G01]",
    ]
    assert [f"{one.where}: {one.field}: {one.message} [{one.code}]" for one in read_questions(source)[1]] == [
        f"q.json:{one}" for one in faults
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"raw": 1}', "id: expected a string, got nothing [RW-T01]"),
        ('{"id": null, "raw": 1}', "id: expected a string, got null [RW-T01]"),
        ('{"id": 4}', "id: expected a string, got 4 [RW-T02]"),
        ('{"qid": []}', "qid: expected a string, got a list [RW-T02]"),
        ('{"id": "a", "raw": {}}', "raw: expected a string, got an object [RW-T02]"),
        ('{"id": "a", "context": "x"}', "context: expected a list, got a string [RW-T02]"),
        ('{"id": "a", "context": [{"text": 1}]}', "context[0].text: expected a string, got a whole number [RW-T02]"),
        ('{"id": "a", "meta": []}', "meta: expected an object, got a list [RW-T02]"),
    ],
)
def test_outputs_of_the_wrong_type(line: str, said: str) -> None:
    decoder = Decoder(StructuredOutput)
    assert decoder.read(line.encode(), 0) is None
    assert [f"{one.field}: {one.message} [{one.code}]" for one in decoder.faults] == [said]


def test_outputs_are_read() -> None:
    decoder = Decoder(StructuredOutput)
    line = b'{"qid": "a", "raw": "{}", "context": [{"chunk_id": 3, "text": "t"}], "meta": {"m": 1}, "more": 0}'
    found = decoder.read(line, 0)
    assert found is not None and found.context is not None
    assert (found.name, found.raw, found.context[0].chunk_id, found.meta) == ("a", "{}", 3, {"m": 1})


def test_a_long_line_of_many_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST_LINE", 200)
    many = [{"id": str(nth)} for nth in range(100)]
    assert len(rows(opened(json.dumps(many)))) == 100
    text = json.dumps([many[0], {"id": "x" * 200}], indent=1)
    assert problem(text) == "q.json:5: expected records of at most 0 MiB, got a longer one [RW-F05]"


def test_one_long_record_is_a_line_of_json_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", 4)
    monkeypatch.setattr(module, "LONGEST_LINE", 10)
    one = {"id": "a", "question": "q" * 50}
    source = opened(json.dumps(one))
    assert not isinstance(source, ArrayFile)
    assert rows(source) == [(1, one)]


def test_a_large_array_is_held_once_and_not_kept() -> None:
    one = json.dumps({"id": "a", "question": "q" * 2000})
    Path("q.json").write_text("[" + ", ".join([one] * 10_000) + "]")  # 20 MB on one line
    tracemalloc.start()
    source = open_questions("gold", Path("q.json"))
    assert tracemalloc.get_traced_memory()[1] < 50 << 20  # the pieces, then the whole
    tracemalloc.reset_peak()
    count = sum(block.data.count(b"\n") for block in source.blocks())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 10_000
    assert peak < 5 << 20


def test_an_array_larger_than_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST_ARRAY", 1 << 20)
    Path("q.json").write_text("[" + " " * (2 << 20) + "]")
    with pytest.raises(DataError) as caught:
        open_questions("gold", Path("q.json"))
    assert str(caught.value.problems[0]) == "q.json: expected a file of at most 1 MiB, got more [RW-F19]"


def test_a_file_that_changes_is_noticed() -> None:
    source = opened('[{"id": "a"},\n{"id": "b"}]')
    assert isinstance(source, FileSource)
    source.check_unchanged()
    Path("q.json").write_text("[]")
    os.utime("q.json", (1, 1))
    with pytest.raises(DataError) as caught:
        source.check_unchanged()
    assert str(caught.value.problems[0]) == "q.json: the file changed while it was being read [RW-F16]"
    with pytest.raises(DataError) as caught:
        list(source.blocks())
    assert str(caught.value.problems[0]) == "q.json: the file changed while it was being read [RW-F16]"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("none.json", "none.json: expected a file, got nothing at this path [RW-F01]"),
        (".", ".: expected a file, got a folder [RW-F02]"),
    ],
)
def test_files_that_are_not_there(name: str, said: str) -> None:
    with pytest.raises(DataError) as caught:
        open_questions("gold", name)
    assert str(caught.value.problems[0]) == said


def test_damaged_compression() -> None:
    text = problem(gzip.compress(json.dumps(ROWS).encode())[:-12], "q.json.gz")
    assert text.startswith("q.json.gz: expected a whole gz file, got: ")
    assert text.endswith("[RW-F12]")


def test_records_in_memory_and_data_frames() -> None:
    class Frame:
        def to_dicts(self) -> list[Row]:
            return ROWS

    for given_rows in (ROWS, iter(ROWS), Frame()):
        source = open_questions("gold", given_rows)
        assert rows(source) == list(enumerate(ROWS, 1))
        assert source.label == "<gold>"
    with pytest.raises(RagworthyError) as caught:
        open_questions("gold", {"id": "a"})
    assert str(caught.value.problems[0]) == "gold: expected a path, records or a data frame, got dict [RW-U01]"


# subsets


def subset(**changes: Any) -> Row:
    return {**HEADER, "questions": ROWS, **changes}


PRETTY_SUBSET = json.dumps(subset(), indent=1, ensure_ascii=False)
SUBSETS = {
    "one question a line": (
        json.dumps(HEADER)[:-1] + ', "questions": [\n' + ",\n".join(map(json.dumps, ROWS)) + "\n]}\n",
        [2, 3, 4],
    ),
    "one line": (json.dumps(subset()), [1, 1, 1]),
    "pretty": (PRETTY_SUBSET, lines_with(PRETTY_SUBSET, "  {")),
    "keys sorted": (json.dumps(dict(sorted(subset().items()))), [1, 1, 1]),
    "byte order mark": ("\ufeff\n" + json.dumps(subset()), [2, 2, 2]),
}


@pytest.mark.parametrize("form", SUBSETS)
def test_a_subset_yields_its_questions(form: str) -> None:
    text, lines = SUBSETS[form]
    source = opened(text)
    assert rows(source) == list(zip(lines, ROWS, strict=True))
    assert by_block(source)[1:] == (lines, [])
    assert source.sha256() == hashlib.sha256(text.encode()).hexdigest()
    found = read_subset(Path("q.json"))
    assert (found.schema, found.algorithm, found.seed, found.size, found.strata) == (
        "ragworthy.subset/1", "stratified-sha256/1", 42, 100, ["topic"],
    )  # fmt: skip
    assert found.parent == Parent("q.json", "0" * 64, 9, 3)
    assert found.questions == ROWS


def test_a_packed_subset() -> None:
    Path("s.json.gz").write_bytes(gzip.compress(SUBSETS["pretty"][0].encode()))
    assert read_subset(Path("s.json.gz")).questions == ROWS
    assert [line for line, _ in open_questions("gold", "s.json.gz").numbered()] == SUBSETS["pretty"][1]


def test_an_empty_subset() -> None:
    assert rows(opened(json.dumps(subset(strata=[], questions=[])))) == []


def test_rows_that_only_look_like_a_subset_are_rows() -> None:
    found = [{"id": "a", "schema": "mine", "question": "ragworthy.subset/1?"}]
    assert rows(opened(json.dumps(found[0]))) == [(1, found[0])]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (json.dumps(subset(schema="ragworthy.subset/2")),
         ': schema: expected "ragworthy.subset/1", got "ragworthy.subset/2" [RW-Q05]'),
        (json.dumps({**HEADER}), ": questions: expected a value, got nothing [RW-Q05]"),
        (json.dumps(subset(seed="42")), ": seed: expected int, got str [RW-Q05]"),
        (json.dumps(subset(parent={"file": "x"})), ": parent.sha256: expected a value, got nothing [RW-Q05]"),
        (PRETTY_SUBSET[:-9], f":{len(PRETTY_SUBSET[:-9].splitlines())}: "
         "expected a whole JSON object, got the end of the file in the middle of it [RW-F09]"),
        (PRETTY_SUBSET + "x", f":{len(PRETTY_SUBSET.splitlines())}: "
         "expected a JSON object, got x (trailing characters) [RW-F07]"),
    ],
)  # fmt: skip
def test_broken_subsets(text: str, said: str) -> None:
    assert problem(text) == f"q.json{said}"
    with pytest.raises(DataError) as caught:
        read_subset(Path("q.json"))
    assert str(caught.value.problems[0]) == f"q.json{said}"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("q.json", "[]", "expected object, got array [RW-Q05]"),
        ("q.json", '{"id": "a"}', "schema: expected a value, got nothing [RW-Q05]"),
        ("q.parquet", "PAR1", "expected a subset file, got another kind of file [RW-Q05]"),
        ("q.json", '{"schema": "ragworthy.subset/1"}', "algorithm: expected a value, got nothing [RW-Q05]"),
    ],
)
def test_what_is_no_subset(name: str, text: str, said: str) -> None:
    Path(name).write_text(text)
    with pytest.raises(DataError) as caught:
        read_subset(Path(name))
    assert str(caught.value.problems[0]) == f"{name}: {said}"


def test_a_question_of_a_subset_that_is_no_object() -> None:
    faults = by_block(opened(json.dumps(subset(questions=[1, ROWS[0]]))))[2]
    assert faults == ["1: : expected a JSON object, got 1 [RW-F08]"]


def test_lines_of_many_offsets_in_any_order() -> None:
    many = [{"id": str(nth), "question": "\n" * (nth % 3)} for nth in range(3000)]
    source = opened(json.dumps(many, indent=1))
    _, lines, _ = by_block(source)
    assert lines == list(range(2, 2 + 4 * 3000, 4))
    offsets = [offset for block in source.blocks() for offset in record_offsets(StructuredGold, block)]
    mixed = random.Random(1).sample(offsets, len(offsets))
    assert source.lines_at(mixed) == dict(zip(offsets, lines, strict=True))
