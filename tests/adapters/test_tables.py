"""import csv, xlsx and jsonl: columns by name, --map, and every way a table can be broken."""

import gzip
import json
import time
import zipfile
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

import ragworthy as rw
from conftest import Done, run_cli, write_jsonl
from ragworthy.adapters.columns import recognise
from ragworthy.adapters.habits import is_sentence
from ragworthy.codes import CATALOGUE
from ragworthy.errors import RagworthyError


def said(code: str, message: str) -> str:
    return f"{message} [{code}]\n  {CATALOGUE[code].name}: {CATALOGUE[code].do}\n"


@pytest.fixture(autouse=True)
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def table(text: str | bytes, name: str = "t.csv", **options: Any) -> Any:
    Path(name).write_bytes(text.encode() if isinstance(text, str) else text)
    return rw.import_file("csv", name, **options)


def failed(*words: object) -> str:
    done = run_cli("import", *words, "--dry-run")
    assert (done.code, done.out) == (2, "")
    return done.err


# columns


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("Frage Antwort Datei Seite", {"question": "Frage", "answer": "Antwort", "source": "Datei", "page": "Seite"}),
        ("问题 标准答案 来源", {"question": "问题", "answer": "标准答案", "source": "来源"}),
        ("Query Answer", {"question": "Query", "answer": "Answer"}),
        # the columns of the first ragas: `answer` beside `ground_truth` is what the pipeline said
        (
            "question answer contexts ground_truth",
            {"question": "question", "answer": "ground_truth", "response": "answer", "retrieved": "contexts"},
        ),
        ("question answer contexts", {"question": "question", "answer": "answer", "evidence": "contexts"}),
        ("input actualOutput sources", {"question": "input", "response": "actualOutput", "retrieved": "sources"}),
        (
            "user_input reference response retrieved_contexts reference_contexts",
            {
                "question": "user_input", "answer": "reference", "response": "response",
                "evidence": "reference_contexts", "retrieved": "retrieved_contexts",
            },
        ),
        ("qid q chunks answer", {"qid": "qid", "question": "q", "response": "answer", "retrieved": "chunks"}),
    ],
)  # fmt: skip
def test_columns_are_recognised_by_the_names_in_use(names: str, expected: dict[str, str]) -> None:
    found = recognise(names.split(), {}, "t.csv")
    assert found.fields == expected
    assert found.others == [name for name in names.split() if name not in expected.values()]


def test_columns_that_are_not_recognised_or_not_clear() -> None:
    Path("t.csv").write_text("Alpha,Beta\nx,y\n")
    assert failed("csv", "t.csv") == said(
        "RW-A01",
        't.csv: expected a column with the question, got the columns "Alpha", "Beta"; say which: --map question=Alpha',
    )
    Path("t.csv").write_text("Question,Beta gamma\nx,y\n")
    assert failed("csv", "t.csv") == said(
        "RW-A01",
        't.csv: expected a column with the expected answer, got the columns "Question", "Beta gamma"; '
        "say which: --map 'question=Question,answer=Beta gamma'",
    )
    Path("t.csv").write_text("Question (EN),Question (DE),Answer\nx,y,z\n")
    assert failed("csv", "t.csv") == said(
        "RW-A01",
        't.csv: expected one column with the question, got "Question (EN)", "Question (DE)"; '
        "say which: --map 'question=Question (EN)'",
    )
    Path("t.csv").write_text("Question,Answer,Answer\nx,y,z\n")
    assert failed("csv", "t.csv") == said(
        "RW-A01",
        't.csv: expected one column with the answer, got "Answer", "Answer (2)"; say which: --map answer=Answer',
    )
    done = run_cli("import", "csv", "t.csv", "--map", "answer=Answer (2)", "--gold-out", "g.jsonl")
    assert done.code == 0
    assert json.loads(Path("g.jsonl").read_text())["gold_claim_substr"] == ["z"]


def test_a_mapping_overrides_and_may_be_a_file() -> None:
    text = "Frage 1;Soll;Datei\nWer?;Ann;a.md\n"
    by_flag = table(text, map="question=Frage 1,answer=Soll,source=Datei")
    Path("m.toml").write_text('question = "Frage 1"\nanswer = "Soll"\nsource = "Datei"\n')
    by_file = table(text, map=["m.toml"])
    Path("m.toml").write_text('[map]\nquestion = "Frage 1"\nanswer = "Soll"\n')
    assert by_flag.gold == by_file.gold == table(text, map=["m.toml"]).gold
    assert table(text, map={"question": "Frage 1", "answer": "Soll"}).gold == by_flag.gold
    assert by_flag.gold[0]["gold_claim_substr"] == ["Ann"]
    without = table("Question,Answer,Source\nWho?,Ann,a.md\n", map="source=").gold[0]
    assert ("gold_source" in without, without["source"]) == (False, "a.md")


@pytest.mark.parametrize(
    ("given", "where", "message"),
    [
        ("qestion=A", "--map", 'expected a field (qid, question, answer, response, gold_claim_all, source, '
         'section, page, evidence, answerable, unanswerable, gold_citations, paraphrases, anchor_section, '
         'negatives, constraints, retrieved, retrieved_ids, citations, error), got "qestion"'),
        ("question", "--map", 'expected FIELD=COLUMN, got "question"'),
        ("question=A,question=B", "--map", "expected each field once, got question again"),
        ("bad.toml", "bad.toml",
         "expected TOML, got: Expected '=' after a key in a key/value pair (at line 1, column 5)"),
        ("list.toml", "list.toml: question", "expected the name of a column, got list"),
    ],
)  # fmt: skip
def test_a_mapping_that_cannot_be_read(given: str, where: str, message: str) -> None:
    Path("t.csv").write_text("A,B\nx,y\n")
    Path("bad.toml").write_text("not toml")
    Path("list.toml").write_text("question = []")
    assert failed("csv", "t.csv", "--map", given) == said("RW-A04", f"{where}: {message}")


def test_paths_lead_into_json() -> None:
    write_jsonl(Path("log.jsonl"), [
        {"request": {"text": "Who?"}, "choices": [{"message": {"content": "Ann [2]."}}],
         "sources": [{"id": "a"}, {"id": "b"}]},
    ])  # fmt: skip
    found = rw.import_file(
        "jsonl",
        "log.jsonl",
        map=["question=request.text", "claim=choices.0.message.content,retrieved_ids=sources.*.id"],
    )
    trace = found.traces[0]
    assert trace["retrieved_ids"] == ["a", "b"]
    assert trace["answer_json"] == {"claim": "Ann.", "citations": ["b"]}
    assert found.gold == []
    fields = ["question=request.text", "claim=choices.0.message.content", "retrieved_ids=sources.*.id"]
    plain = rw.import_file("jsonl", "log.jsonl", marker="none", map=",".join(fields))
    assert plain.traces[0]["answer_json"] == {"claim": "Ann [2].", "citations": []}


# cells


@pytest.mark.parametrize("delimiter", list(",;\t|"))
def test_delimiters_are_found_out(delimiter: str) -> None:
    rows = [
        ["Question", "Expected answer", "Topic"],
        ["Who, if anybody?", "Ann", "a;b"],
        ["What | why?", "1,5", "c\td"],
    ]
    text = "\r\n".join(delimiter.join(f'"{cell}"' for cell in row) for row in rows)
    found = table(text)
    assert [item["question"] for item in found.gold] == ["Who, if anybody?", "What | why?"]
    assert [item["gold_claim_substr"] for item in found.gold] == [["Ann"], ["1,5"]]
    assert table(text, delimiter="tab" if delimiter == "\t" else delimiter).gold == found.gold


def test_cells_over_several_lines_byte_order_marks_and_empty_columns() -> None:
    text = '\ufeffQuestion,Answer,,Unit\n"What is\na bucket?",a box,,\n\n,,,\nWho?,Ann,x,cm\n'
    found = table(text)
    assert [item["question"] for item in found.gold] == ["What is\na bucket?", "Who?"]
    assert [item["imported"]["at"] for item in found.gold] == [2, 6]  # the lines on which the rows begin
    assert found.gold[1]["column_4".replace("4", "3")] == "x"
    assert (found.taken, found.skipped) == (2, [])


def test_several_answers_and_sources_in_a_cell() -> None:
    found = table("Question,Answer,Source,Page\nWho?,Ann; Bob ;,a.md;b.md,7\n", split_on=";")
    assert found.gold[0]["gold_claim_substr"] == ["Ann", "Bob"]
    assert found.gold[0]["gold_source"] == [{"doc": "a.md", "page": 7}, {"doc": "b.md", "page": 7}]


def test_what_counts_as_unanswerable() -> None:
    text = "Question,Answer\nA?,\nB?,n/a\nC?,Not in context\nD?,keine Angabe\nE?,x\n"
    assert [item["answerable"] for item in table(text).gold] == [False, False, False, True, True]
    chosen = table(text, unanswerable=["keine Angabe"]).gold
    assert [item["answerable"] for item in chosen] == [False, True, True, False, True]
    told = table("Question,Answerable,Answer\nA?,yes,\nB?,no,x\nC?,maybe,y\nD?,,z\n")
    assert [(item["qid"], item["answerable"]) for item in told.gold] == [
        ("Q001", True),
        ("Q002", False),
        ("Q004", True),
    ]
    assert [skip.why for skip in told.skipped] == ['answerable: expected yes or no, got "maybe"']
    assert "left out: 1 × answer text of an unanswerable question" in told.notes


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("2011", False),
        ("up to 250", False),
        ("one two three four five six seven", False),
        ("one two three four five six seven eight", True),
        ("It takes up to five days.", True),
        ("It takes five days.", False),  # four words
        ("北京", False),
        ("中" * 24, False),
        ("中" * 25, True),
    ],
)
def test_which_answers_are_sentences(text: str, sentence: bool) -> None:
    assert is_sentence(text) is sentence


def test_ids_of_a_column_and_made_ones() -> None:
    found = table("ID,Question,Answer\nx1,A?,a\n,B?,b\nx1,C?,c\n")
    assert [item["qid"] for item in found.gold] == ["x1", "Q002"]
    assert [tuple(skip) for skip in found.skipped] == [("line 4", 'its id "x1" is that of line 2')]


def test_gold_and_replies_in_one_table() -> None:
    text = 'question,ground_truth,answer,contexts\nWho?,Ann,Ann did [1].,"[""It was Ann."", ""Bob slept.""]"\n'
    found = table(text)
    assert found.gold[0]["gold_claim_substr"] == ["Ann"]
    first, second = found.traces[0]["retrieved_ids"]
    assert found.traces[0]["answer_json"] == {"claim": "Ann did.", "citations": [first]}
    assert found.chunks == [{"chunk_id": first, "text": "It was Ann."}, {"chunk_id": second, "text": "Bob slept."}]


def test_several_files_are_one_set() -> None:
    Path("a.csv").write_text("Question,Answer\nA?,a\n")
    Path("b.csv").write_text("Question;Answer\nB?;b\n;\n;x\n")
    found = rw.import_file("csv", "a.csv", "b.csv")
    assert [item["qid"] for item in found.gold] == ["Q001", "Q002"]
    assert found.gold[0]["imported"]["sha256"] != found.gold[1]["imported"]["sha256"]
    assert found.skipped[0].where == "b.csv: line 4"


# broken tables


@pytest.mark.parametrize(
    ("data", "code", "message"),
    [
        (b"", "RW-F04", "t.csv: expected a table, got an empty file"),
        (b"\n \n", "RW-F04", "t.csv: expected a table, got an empty file"),
        (b"Question,Answer\n", "RW-A02", "t.csv: expected rows, got none"),
        (b"Question,Answer\n,x\n,y\n", "RW-A02",
         "t.csv: expected a row that fits csv, got 2 that do not: 2 × no question"),
        (b"Question,Answer\nx,b\xfcro\n", "RW-A05",
         "t.csv:2: expected UTF-8, got byte 0xfc: add --encoding cp1252 if it was saved by Excel"),
        ("Question,Answer\nx,y\n".encode("utf-16"), "RW-A05",
         "t.csv: expected UTF-8, got UTF-16: add --encoding utf-16"),
        (b"Question,Answer\nx,a\0b\n", "RW-A06", "t.csv:2: expected text, got a NUL byte (UTF-16, or no CSV?)"),
        (b'Question,Answer\nA?,b\nx,"y\nz,w\n', "RW-A06",
         "t.csv:3: expected a row of cells, got: the end of the file inside a quoted cell"),
        (b'Question,Answer\nx,"y"z\n', "RW-A06", "t.csv:2: expected a row of cells, got: ',' expected after '\"'"),
    ],
)  # fmt: skip
def test_broken_csv(data: bytes, code: str, message: str) -> None:
    Path("t.csv").write_bytes(data)
    assert failed("csv", "t.csv") == said(code, message)


def test_other_encodings_are_named() -> None:
    for name in ("cp1252", "utf-16"):
        assert table("Question,Answer\nWo?,Büro\n".encode(name), encoding=name).gold[0]["gold_claim_substr"] == ["Büro"]
    Path("t.csv").write_text("Question,Answer\nx,y\n")
    assert failed("csv", "t.csv", "--encoding", "klingon") == said(
        "RW-A05", '--encoding: expected the name of an encoding, got "klingon"'
    )
    assert failed("csv", "t.csv", "--encoding", "hex") == said(
        "RW-A05", '--encoding: expected the name of an encoding of texts, got "hex"'
    )
    assert failed("csv", "t.csv", "--delimiter", "ab") == said(
        "RW-A06", '--delimiter: expected one character, got "ab"'
    )


def test_ragged_rows() -> None:
    found = table("Question,Answer,Topic\nA?,a\nB?,b,t,,\nC?,c,t,more\n")
    assert [item["qid"] for item in found.gold] == ["Q001", "Q002"]
    assert [tuple(skip) for skip in found.skipped] == [("line 4", "4 cells where the header has 3")]


def test_formulas_stay_text() -> None:
    assert table("Question,Answer\n=1+1?,=HYPERLINK(1)\n").gold[0]["gold_claim_substr"] == ["=HYPERLINK(1)"]


def test_a_hundred_thousand_rows() -> None:
    rows = "".join(f"Question {n}?,answer {n},t{n % 7}\n" for n in range(100_000))
    start = time.perf_counter()
    found = table("Question,Answer,Topic\n" + rows)
    assert len(found.gold) == found.taken == 100_000
    assert found.gold[-1]["qid"] == "Q100000"
    assert time.perf_counter() - start < 60


# workbooks


def workbook(rows: list[list[Any]], name: str = "t.xlsx", **sheets: list[list[Any]]) -> str:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for title, more in sheets.items():
        sheet = book.create_sheet(title)
        for row in more:
            sheet.append(row)
    book.save(name)
    return name


def test_cells_of_a_workbook_are_what_a_person_reads() -> None:
    values = [2011, 2011.0, 0.5, date(2011, 3, 4), datetime(2011, 3, 4, 10, 30), True, " a ", "北京"]
    path = workbook([["Frage", "Antwort"], *([f"Was {n}?", value] for n, value in enumerate(values))])
    found = rw.import_file("xlsx", path)
    answers = [item["gold_claim_substr"][0] for item in found.gold]
    assert answers == ["2011", "2011", "0.5", "2011-03-04", "2011-03-04 10:30", "TRUE", "a", "北京"]
    assert [item["imported"]["at"] for item in found.gold] == list(range(2, 10))


def test_formulas_are_not_calculated() -> None:
    path = workbook([["Question", "Answer"], ["A?", "=1+1"], ["B?", "b"], ["C?", None]])
    found = rw.import_file("xlsx", path)
    assert [(item["qid"], item["answerable"]) for item in found.gold] == [("Q002", True), ("Q003", False)]
    why = "a formula without a result in B2: save the workbook in a spreadsheet program"
    assert [tuple(skip) for skip in found.skipped] == [("row 2", why)]


def test_errors_of_a_workbook_are_not_answers() -> None:
    path = workbook([["Question", "Answer"], ["A?", "#REF!"], ["B?", "b"]])
    found = rw.import_file("xlsx", path)
    assert [tuple(skip) for skip in found.skipped] == [("row 2", "the error #REF! in B2")]


def test_sheets() -> None:
    path = workbook([["Question", "Answer"], ["A?", "a"]], Other=[["Question", "Answer"], ["B?", "b"]])
    assert failed("xlsx", path) == said(
        "RW-A07", "t.xlsx: expected one sheet with cells, got 2; say which: --sheet 'Sheet' or --sheet 'Other'"
    )
    assert rw.import_file("xlsx", path, sheet="Other").gold[0]["question"] == "B?"
    assert failed("xlsx", path, "--sheet", "X") == said(
        "RW-A07", 't.xlsx: --sheet: expected a sheet ("Sheet", "Other"), got "X"'
    )


def test_broken_workbooks() -> None:
    path = Path(workbook([["Question", "Answer"], ["A?", "a"]]))
    whole = path.read_bytes()
    cases: list[tuple[bytes, str]] = [
        (b"Question,Answer\n", "expected .xlsx, got another kind of file"),
        (b"", "expected .xlsx, got another kind of file"),
        (b"\xd0\xcf\x11\xe0" + b"x" * 600, "expected .xlsx, got an old .xls file, or one with a password"),
        (whole[: len(whole) // 2], "expected .xlsx, got another kind of file"),
    ]
    for data, message in cases:
        path.write_bytes(data)
        assert failed("xlsx", path) == said("RW-A07", f"t.xlsx: {message}")
    for place in range(0, len(whole), 97):  # whatever is damaged, it is an error in words
        path.write_bytes(whole[:place] + b"\xff\x00" + whole[place + 2 :])
        done = run_cli("import", "xlsx", path, "--dry-run")
        assert done.code in (0, 2), (place, done)
    assert failed("xlsx", workbook([])) == said("RW-F04", "t.xlsx: expected a table, got a workbook without cells")


def test_a_workbook_that_unpacks_to_too_much() -> None:
    pytest.importorskip("openpyxl")
    with zipfile.ZipFile("t.xlsx", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
        packed.writestr("xl/worksheets/sheet1.xml", b" " * (257 << 20))
    assert failed("xlsx", "t.xlsx") == said(
        "RW-F20", "t.xlsx: expected at most 256 MiB unpacked from a file of this size, got more"
    )


# JSON


@pytest.mark.parametrize(
    "data",
    [
        '{"question": "A?", "expected": "a"}\n{"question": "B?", "expected": "b"}\n',
        '[{"question": "A?", "expected": "a"}, {"question": "B?", "expected": "b"}]',
        '[\n  {"question": "A?", "expected": "a"},\n  {"question": "B?", "expected": "b"}\n]\n',
        '{"name": "x", "items": [\n{"question": "A?", "expected": "a"}, {"question": "B?", "expected": "b"}]}',
        '{\n "items": [\n {"question": "A?", "expected": "a"}, {"question": "B?", "expected": "b"}]\n}\n',
        '\ufeff{"question": "A?", "expected": "a"}\r\n\r\n{"question": "B?", "expected": "b"}',
    ],
)
@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".jsonl.gz"])
def test_json_however_it_is_laid_out(data: str, suffix: str) -> None:
    path = Path(f"t{suffix}")
    path.write_bytes(gzip.compress(data.encode()) if suffix.endswith("gz") else data.encode())
    found = rw.import_file("jsonl", path)
    assert [(item["qid"], item["gold_claim_substr"]) for item in found.gold] == [("Q001", ["a"]), ("Q002", ["b"])]


def test_parquet() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"question": ["A?"], "expected": ["a"], "n": [3]}), "t.parquet")
    found = rw.import_file("jsonl", "t.parquet")
    assert (found.gold[0]["gold_claim_substr"], found.gold[0]["n"]) == (["a"], 3)


def test_the_list_inside_of_a_json_file() -> None:
    Path("t.json").write_text('{"name": "x", "items": [{"question": "A?", "expected": "a"}]}')
    assert rw.import_file("jsonl", "t.json").gold[0]["gold_claim_substr"] == ["a"]
    Path("t.json").write_text('{"question": "A?", "answer": "a", "chunks": [{"id": "x"}]}')  # one record
    assert rw.import_file("jsonl", "t.json").traces[0]["retrieved_ids"] == ["x"]
    Path("t.json").write_text(
        '{"a": {"b": [{"question": "A?", "expected": 2011.0}]}, "c": [{"x": 1}], "d": [{"y": 1}]}'
    )
    assert rw.import_file("jsonl", "t.json", records="a.b").gold[0]["gold_claim_substr"] == ["2011"]
    assert failed("jsonl", "t.json") == said(
        "RW-A03", "t.json: expected one list of records, got 2; say which: --records c or --records d"
    )
    assert failed("jsonl", "t.json", "--records", "a.x") == said(
        "RW-A03", "t.json: expected a list at a.x, got nothing"
    )


@pytest.mark.parametrize(
    ("data", "code", "message"),
    [
        (b"", "RW-F04", "t.json: expected records, got none"),
        (b"[]", "RW-A01", None),
        (b'[{"question": "A?"', "RW-F09",
         "t.json: expected a whole JSON file, got the end of the file in the middle of it"),
        (b'[{"question": "A?",}]', "RW-F07", None),
        (b"7", "RW-A03", "t.json: expected a list of objects, got 7"),
        (b'{"question": "A?", "expected": "a"}\n{"question"', "RW-F09",
         "t.json:2: expected a whole record, got the end of the file in the middle of one"),
        (b'{"question": "A?", "expected": "a"}\n[1]\n', "RW-F08", "t.json:2: expected a JSON object, got a list"),
        (b'{"question": "A?", "expected": "\xfc"}', "RW-F06", "t.json: expected UTF-8, got byte 0xfc at offset 32"),
        (b"[" * 100_000, "RW-F11", "t.json: expected a flat record, got JSON nested too deeply"),
    ],
)  # fmt: skip
def test_broken_json(data: bytes, code: str, message: str | None) -> None:
    Path("t.json").write_bytes(data)
    told = failed("jsonl", "t.json")
    assert f"[{code}]" in told
    if message is not None:
        assert told == said(code, message)


def test_records_of_the_wrong_kind_are_skipped_with_their_places() -> None:
    Path("t.json").write_text('[{"question": "A?", "expected": "a"}, 7, {"question": {"x": 1}, "expected": "b"}]')
    found = rw.import_file("jsonl", "t.json")
    assert [tuple(skip) for skip in found.skipped] == [
        ("record 2", "7 where an object is expected"),
        ("record 3", "an object where a text is expected"),
    ]


def test_objects_in_other_columns_are_left_out_and_said() -> None:
    write_jsonl(Path("t.jsonl"), [{"question": "A?", "expected": "a", "tags": ["x"], "meta": {"a": 1}, "topic": "t"}])
    found = rw.import_file("jsonl", "t.jsonl")
    assert found.read == (
        "columns: question ← question, answer ← expected; kept as they are: tags, topic; "
        "left out, with objects in them: meta",
    )
    assert (found.gold[0]["tags"], found.gold[0]["topic"], "meta" in found.gold[0]) == (["x"], "t", False)


def test_a_file_of_another_format_is_named() -> None:
    Path("t.csv").write_text('{"question": "A?", "expected": "a"}\n{"question": "B?", "expected": "b"}\n')
    reads = "reads it"
    assert failed("csv", "t.csv") == said("RW-A03", f"t.csv: expected CSV, got JSON: 'ragworthy import jsonl' {reads}")
    Path("t.csv").write_bytes(b"PK\x03\x04\xff\xfe")
    assert failed("csv", "t.csv") == said(
        "RW-A03", f"t.csv: expected CSV, got a workbook: 'ragworthy import xlsx' {reads}"
    )
    Path("t.jsonl").write_text('{"qid": "A", "q": "A?", "evidence": "x", "answer_json": {"claim": "a"}}\n')
    assert failed("jsonl", "t.jsonl") == said(
        "RW-A03",
        "t.jsonl: expected records of another tool, got traces with answer_json: score them as they are",
    )
    assert failed("jsonl", "t.csv") == said(
        "RW-A03", f"t.csv: expected JSON, got a table: 'ragworthy import csv' {reads}"
    )


# older shapes


def test_older_shapes_of_gold() -> None:
    Path("a.json").write_text(
        '[{"qid": "Q1", "q": "Null keys?", "answerable": true, "gold_ids": ["p1#2"], "gold_claim": "no null keys"},'
        ' {"qid": "Q2", "q": "Explain Z.", "answerable": false, "gold_ids": []}]'
    )
    first, second = rw.import_file("jsonl", "a.json").gold
    assert (first["gold_citations"], first["gold_claim_substr"], first["gold_claim"]) == (
        ["p1#2"],
        [],
        "no null keys",
    )
    assert second["answerable"] is False
    write_jsonl(Path("b.jsonl"), [{"qid": "Q1", "q": "Null keys?", "gold_ids": ["p1#2"]}])
    found = rw.import_file("jsonl", "b.jsonl")
    assert (found.suite, found.gold[0]["relevant"], found.gold[0]["paraphrases"]) == (
        "retrieval",
        ["p1#2"],
        ["Null keys?"],
    )
    write_jsonl(Path("c.jsonl"), [
        {"id": "Q1", "question": "Null keys?", "answer_ref": "rejects null keys", "expected_doc": "x.md",
         "section_id": "S.4"},
    ])  # fmt: skip
    item = rw.import_file("jsonl", "c.jsonl").gold[0]
    assert (item["qid"], item["gold_claim_substr"]) == ("Q1", ["rejects null keys"])
    assert item["gold_source"] == [{"doc": "x.md", "section": "S.4"}]
    write_jsonl(Path("citations.jsonl"), [
        {"id": "Q1", "snippet_id": "p1#2", "section_id": "S.4", "source_url": "u", "offsets": [3, 9], "tokens": 2},
        {"id": "Q1", "snippet_id": "p1#3", "section_id": "S.4", "source_url": "u", "offsets": [9, 12], "tokens": 1},
    ])  # fmt: skip
    cited = rw.import_file("jsonl", "c.jsonl", citations="citations.jsonl").gold[0]
    assert cited["gold_citations"] == ["p1#2", "p1#3"]
    write_jsonl(Path("citations.jsonl"), [{"id": "Q2", "snippet_id": "p1#2"}])
    assert failed("jsonl", "c.jsonl", "--citations", "citations.jsonl") == said(
        "RW-A03", '--citations: expected ids of c.jsonl, got "Q2"'
    )
    write_jsonl(Path("citations.jsonl"), [{"id": "Q1"}])
    assert failed("jsonl", "c.jsonl", "--citations", "citations.jsonl") == said(
        "RW-A03", "citations.jsonl:1: expected a line with id (of the question) and snippet_id, got another"
    )
    write_jsonl(Path("d.jsonl"), [
        {"qid": "Q1", "question": "Null keys?", "paraphrases": ["a?", "b?", "c?"], "target_section": "S.4",
         "decoy_section": "S.9", "expected_citations": [{"snippet_id": "p1#2", "offsets": [3, 9]}]},
    ])  # fmt: skip
    judged = rw.import_file("jsonl", "d.jsonl").gold[0]
    assert judged["paraphrases"] == ["a?", "b?", "c?"]
    assert (judged["relevant"], judged["relevant_offsets"]) == (["p1#2"], {"p1#2": [3, 9]})
    assert (judged["anchor_section"], judged["decoy_section"]) == ("S.4", "S.9")


def test_the_traceability_payload_loads_as_it_is() -> None:
    payload = {"snippet_id": "p1#2", "section_id": "S.4", "source_url": "u", "offsets": [3, 9], "tokens": 2}
    gold = [{"qid": "Q1", "relevant": ["p1#2"], "relevant_offsets": {"p1#2": [3, 9]}, "anchor_section": "S.4"}]
    ours = [{"qid": "Q1", "topk": [{"id": "p1#2"}], "answer_citations": [{"id": "p1#2", "offsets": [3, 9]}]}]
    older = [{"qid": "Q1", "topk": [payload], "answer_citations": [payload]}]
    numbers = [
        rw.score("retrieval", gold=gold, traces=traces, gates="recall@5=0.5").metrics for traces in (ours, older)
    ]
    assert numbers[0] == {name: one for name, one in numbers[1].items() if name != "retrieval.traceable"}
    assert numbers[1]["retrieval.citation_accuracy"].value == 1.0
    with pytest.raises(RagworthyError, match=r"topk\[0\]\.id: expected a value, got nothing"):
        rw.score("retrieval", gold=gold, traces=[{"qid": "Q1", "topk": [{"score": 1.0}]}])
    answers = [{"qid": "Q1", "question": "?", "answerable": True, "gold_claim_substr": ["null keys"],
                "gold_citations": ["p1#2"]}]  # fmt: skip
    traces = [{"qid": "Q1", "retrieved_ids": ["p1#2"], "answer_json": {"claim": "null keys", "citations": ["p1#2"]}}]
    chunks = [payload | {"text": "It rejects null keys."}]
    result = rw.score("answers", gold=answers, traces=traces, corpus=chunks)
    assert result.metrics["answers.support"].value == 1.0


def test_results_and_answers_of_the_data_contracts() -> None:
    write_jsonl(Path("items.jsonl"), [
        {"schema_version": "1.0.0", "q_id": "Q1", "ranker": "dense", "k": 50,
         "items": [{"chunk_id": "c_00123", "doc_id": "d", "score": 0.812}, {"chunk_id": "c_2", "score": 0.5}]},
    ])  # fmt: skip
    assert run_cli("import", "jsonl", "items.jsonl", "--trace-out", "t.jsonl").out.splitlines()[-1] == (
        "next: ragworthy score retrieval --gold GOLD --trace t.jsonl"
    )
    found = json.loads(Path("t.jsonl").read_text())
    assert (found["qid"], found["retrieved_ids"], "answer_json" in found) == ("Q1", ["c_00123", "c_2"], False)
    write_jsonl(Path("answer.jsonl"), [
        {"q_id": "Q1", "answer_text": "ΔS measures the semantic gap.", "cited_chunks": ["c_00123"], "λ_observe": "→"},
    ])  # fmt: skip
    assert run_cli("import", "jsonl", "answer.jsonl", "--trace-out", "a.jsonl").code == 0
    answer = json.loads(Path("a.jsonl").read_text())["answer_json"]
    assert answer == {"claim": "ΔS measures the semantic gap.", "citations": ["c_00123"]}


def test_words_among_results_are_ids_and_what_is_no_list_is_no_result() -> None:
    rows: list[dict[str, Any]] = [{"qid": "1", "hits": ["a", "b"]}, {"qid": "2", "hits": None}]
    write_jsonl(Path("hits.jsonl"), rows)
    assert run_cli("import", "jsonl", "hits.jsonl", "--trace-out", "t.jsonl").code == 0
    assert [json.loads(line)["retrieved_ids"] for line in Path("t.jsonl").read_text().splitlines()] == [["a", "b"], []]
    write_jsonl(Path("odd.jsonl"), [{"qid": "1", "items": [{"id": "a"}]}, {"qid": "2", "items": 5},
                                    {"qid": "3", "items": {"a": 1}}])  # fmt: skip
    done = run_cli("import", "jsonl", "odd.jsonl", "--trace-out", "t.jsonl")
    assert [json.loads(line)["qid"] for line in Path("t.jsonl").read_text().splitlines()] == ["1"]
    assert "5 where a list of passages is expected" in done.out + done.err
    assert "an object where a list of passages is expected" in done.out + done.err


def test_a_gold_item_without_any_wording_is_left_out() -> None:
    write_jsonl(Path("g.jsonl"), [{"id": "1", "paraphrases": [], "gold_citations": ["a"]},
                                  {"id": "2", "paraphrases": ["what?"], "gold_citations": ["a"]}])  # fmt: skip
    done = run_cli("import", "jsonl", "g.jsonl", "--gold-out", "out.jsonl")
    assert [json.loads(line)["qid"] for line in Path("out.jsonl").read_text().splitlines()] == ["2"]
    assert "no question" in done.out + done.err


def test_hints_name_fields_that_import_then_reads() -> None:
    write_jsonl(Path("gold.jsonl"), [{"qid": "Q1", "question": "?", "relevant": ["a"]}])
    for record, field in (({"results": ["a"]}, "results"), ({"retrieval": {"topk": ["a"]}}, "retrieval.topk")):
        write_jsonl(Path("t.jsonl"), [{"qid": "Q1", **record}])
        done = run_cli("score", "retrieval", "--gold", "gold.jsonl", "--trace", "t.jsonl")
        told = f"import jsonl t.jsonl --map retrieved_ids={field} --trace-out traces.jsonl"
        assert f"read them with 'ragworthy {told}' [RW-T15]" in done.err
        assert run_cli(*told.split()).code == 0
        assert json.loads(Path("traces.jsonl").read_text())["retrieved_ids"] == ["a"]


def test_missing_openpyxl_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    Path("t.xlsx").write_bytes(b"x")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    done = run_cli("import", "xlsx", "t.xlsx", "--dry-run")
    assert done == Done(
        2, "", said("RW-F15", "t.xlsx: reading workbooks needs openpyxl: pip install openpyxl (extra: xlsx)")
    )


def test_what_spreadsheets_leave_in_csv_is_skipped_or_told() -> None:
    found = table("Question,Expected answer\na?,45 days\nb?,#REF!\nc?,=1+2\nd?,=> 5\ne?,-5\n")
    assert [item["gold_claim_substr"] for item in found.gold] == [["45 days"], ["=1+2"], ["=> 5"], ["-5"]]
    assert found.skipped == [("line 3", "the error #REF! in the column Expected answer")]
    formula = "1 row with a formula that is taken as text: export values to have its result"
    assert found.read[0] == f"t.csv: 2 columns, delimiter comma; {formula}"


def test_the_encoding_to_name_is_the_one_that_reads_the_file() -> None:
    text = "Question,Expected answer\nWer?,Böb\n"
    for encoding in ("utf-16", "utf-16-le", "utf-16-be", "cp1252"):
        Path("t.csv").write_bytes(text.encode(encoding))
        told = failed("csv", "t.csv")
        assert f"add --encoding {encoding}" in told
        assert rw.import_file("csv", "t.csv", encoding=encoding).gold[0]["gold_claim_substr"] == ["Böb"]
    Path("t.csv").write_bytes("问题,标准答案\n谁?,北京\x81\n".encode("gb18030", "ignore") + b"\x81\x8d,\x81\n")
    assert "add --encoding with its name (gb18030, big5, cp932 …)" in failed("csv", "t.csv")


def test_merged_cells_and_formats_of_numbers_are_read_as_a_person_does() -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    sheet = book.active
    for row in (["Question", "Expected answer", "Source"], ["How much?", 1234.5, "a.md"], [None, 7, "b.md"],
                ["c?", -0.001, None], ["d?", "x", None]):  # fmt: skip
        sheet.append(row)
    sheet.merge_cells("A2:A3")
    sheet.merge_cells("C4:C5")
    for place, form in (("B2", "#,##0.00"), ("B3", "000"), ("B4", "0.00")):
        sheet[place].number_format = form
    book.save("t.xlsx")
    found = rw.import_file("xlsx", "t.xlsx")
    assert [(item["question"], item["gold_claim_substr"]) for item in found.gold] == [
        ("How much?", ["1,234.50"]), ("How much?", ["007"]), ("c?", ["0.00"]), ("d?", ["x"]),
    ]  # fmt: skip
    assert "gold_source" not in found.gold[3]  # merged, and empty
    assert found.read[0].endswith("; 1 cell below the first of merged cells: the value of the first is taken")


def test_an_array_of_wordings_without_a_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """gold.json of seed001_retrieval_evaluation.md: three wordings and no question; its first wording stands for it."""
    monkeypatch.chdir(tmp_path)
    row = {
        "qid": "Q-0137",
        "paraphrases": ["How does it unlock?", "Explain.", "SCU?"],
        "relevant": ["S.4.2.p.Bk011a"],
    }
    row |= {"anchor_section": "S.4.2", "negatives": ["S.4.1.p.Bk010", "S.4.3.p.Bk014"]}
    Path("gold.json").write_text(json.dumps([row]), encoding="utf-8")
    for suite in ("retrieval", "answers"):
        done = run_cli("import", "jsonl", "gold.json", "--suite", suite, "--gold-out", f"{suite}.jsonl")
        assert done.code == 0, done.err
        written = json.loads(Path(f"{suite}.jsonl").read_text(encoding="utf-8"))
        assert (written["question"], written["paraphrases"]) == (row["paraphrases"][0], row["paraphrases"])
        assert written["negatives"] == row["negatives"]
    assert (json.loads(Path("retrieval.jsonl").read_text())["relevant"]) == row["relevant"]
