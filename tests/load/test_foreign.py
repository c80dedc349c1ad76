"""Files of other tools, and of ours in the wrong place: every command says in one line what they are."""

import contextlib
import gzip
import io
import json
import os
import re
import shlex
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ragworthy as rw
from places import BROKEN, SHARED
from ragworthy.adapters import ADAPTERS
from ragworthy.cli.main import main
from ragworthy.errors import RagworthyError
from ragworthy.load import foreign
from ragworthy.load.foreign import misfit
from ragworthy.load.shapes import SHAPES
from ragworthy.load.sources import open_source

Row = dict[str, Any]
SAMPLES = SHARED / "findings/samples"
EXAMPLES = Path(rw.__file__).parent / "examples"


class Done(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def line(self) -> str:
        """The one error line; the line below it says what to do."""
        first, second = self.err.splitlines()
        assert second.startswith("  ")
        return first


def run_cli(*words: object) -> Done:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(word) for word in words])
    return Done(code, out.getvalue(), err.getvalue())


def write_jsonl(path: Path, rows: list[Row]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


GOLD = [
    {"qid": f"A{n}", "question": f"Question {n}?", "answerable": True, "gold_claim_substr": [f"answer {n}"],
     "gold_citations": [f"doc#{n}"]}
    for n in range(1, 13)
]  # fmt: skip
TRACES = [
    {"qid": f"A{n}", "retrieved_ids": [f"doc#{n}"], "answer_json": {"claim": f"answer {n}", "citations": [f"doc#{n}"]}}
    for n in range(1, 13)
]
RETRIEVAL_GOLD = [{"qid": f"A{n}", "paraphrases": [f"Question {n}?"], "relevant": [f"doc#{n}"]} for n in range(1, 13)]
QUESTIONS = [{"id": f"A{n}", "question": f"Question {n}?", "expected": {"answer_example": {}}} for n in range(1, 4)]


Write = Callable[[Path], object]


def as_csv(text: str) -> Write:
    return lambda path: path.write_text(text, encoding="utf-8")


def as_json(value: Any, indent: int | None = 1) -> Write:
    return lambda path: path.write_text(json.dumps(value, indent=indent), encoding="utf-8")


def as_lines(*rows: Row) -> Write:
    return lambda path: write_jsonl(path, list(rows))


def as_xlsx(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("xl/workbook.xml", "<workbook/>")


def as_ods(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")


SHEET = 'Question,Expected answer,Source,Owner\nWho proved it?,Bob,a.md,Ann\n"When, then?",2011,b.md,Ann\n'

# what is given as a gold set, and what is said of it
GIVEN_AS_GOLD: dict[str, tuple[str, Write, str]] = {
    "csv": (
        "gold.csv",
        as_csv(SHEET),
        "gold.csv: this is a CSV file (columns Question, Expected answer, Source, Owner): read it with "
        "'ragworthy import csv gold.csv --gold-out gold.jsonl' [RW-F22]",
    ),
    "csv under another name": (
        "gold.jsonl",
        as_csv(SHEET),
        "gold.jsonl: this is a CSV file (columns Question, Expected answer, Source, Owner): read it with "
        "'ragworthy import csv gold.jsonl --gold-out new-gold.jsonl' [RW-F22]",
    ),
    "csv with semicolons": (
        "fragen und antworten.csv",
        as_csv("Frage;Antwort\nWer?;Bob, wer sonst\n"),
        "fragen und antworten.csv: this is a CSV file (columns Frage, Antwort): read it with "
        "'ragworthy import csv 'fragen und antworten.csv' --gold-out gold.jsonl' [RW-F22]",
    ),
    "csv in UTF-16, as a spreadsheet saves it": (
        "gold.txt",
        lambda path: path.write_bytes("Frage\tAntwort\nWer?\tBöb\n".encode("utf-16")),
        "gold.txt: this is a TSV file (columns Frage, Antwort): read it with "
        "'ragworthy import csv gold.txt --encoding utf-16 --gold-out gold.jsonl' [RW-F22]",
    ),
    "csv in UTF-16 without a mark of it": (
        "gold.csv",
        lambda path: path.write_bytes("Frage,Antwort\nWer?,Böb\n".encode("utf-16-le")),
        "gold.csv: this is a CSV file (columns Frage, Antwort): read it with "
        "'ragworthy import csv gold.csv --encoding utf-16-le --gold-out gold.jsonl' [RW-F22]",
    ),
    "csv as Excel saves it in Europe": (
        "gold.csv",
        lambda path: path.write_bytes("Frage;Antwort\nWer?;Böb\n".encode("cp1252")),
        "gold.csv: this is a CSV file (columns Frage, Antwort): read it with "
        "'ragworthy import csv gold.csv --encoding cp1252 --gold-out gold.jsonl' [RW-F22]",
    ),
    "one column": (
        "gold.csv",
        as_csv("Question\nWho?\n"),
        "gold.csv: this is a CSV file (column Question): read it with "
        "'ragworthy import csv gold.csv --gold-out gold.jsonl' [RW-F22]",
    ),
    "xlsx": (
        "gold.xlsx",
        as_xlsx,
        "gold.xlsx: this is an Excel file (.xlsx): read it with "
        "'ragworthy import xlsx gold.xlsx --gold-out gold.jsonl' [RW-F22]",
    ),
    "ods": (
        "gold.ods",
        as_ods,
        "gold.ods: this is an OpenDocument spreadsheet (.ods): save it as .xlsx or .csv, and import that [RW-F22]",
    ),
    "gzip under another name": (
        "gold.jsonl",
        lambda path: path.write_bytes(b"\x1f\x8b\x08\x00rest"),
        "gold.jsonl: this is a gzip file: give it a name that ends with .gz [RW-F22]",
    ),
    "array of our own": (
        "gold.json",
        as_json(GOLD),
        "gold.json: this is a JSON array, and not one object per line: read it with "
        "'ragworthy import jsonl gold.json --gold-out gold.jsonl' [RW-F22]",
    ),
    "array of our own, an element a line": (  # the last one can be read by itself, since no comma follows it
        "gold.json",
        lambda path: path.write_text("[\n" + ",\n".join(map(json.dumps, [*GOLD, GOLD[0] | {"qid": "last"}])) + "\n]\n"),
        "gold.json: this is a JSON array, and not one object per line: read it with "
        "'ragworthy import jsonl gold.json --gold-out gold.jsonl' [RW-F22]",
    ),
    "one object over several lines": (
        "gold.json",
        as_json(GOLD[0]),
        "gold.json: this is one JSON object over several lines, and not one object per line: read it with "
        "'ragworthy import jsonl gold.json --gold-out gold.jsonl' [RW-F22]",
    ),
    "squad": (
        "dev.json",
        as_json({"version": "v2.0", "data": [{"title": "T", "paragraphs": [{"context": "c", "qas": []}]}]}, None),
        "dev.json: these are questions of SQuAD (version, data): read them with "
        "'ragworthy import squad dev.json --gold-out gold.jsonl' [RW-F22]",
    ),
    "beir queries": (
        "queries.jsonl",
        as_lines({"_id": "1", "text": "a"}, {"_id": "2", "text": "b"}),
        "queries.jsonl: this is a file of a BEIR data set (_id, text): read the folder with "
        "'ragworthy import beir . --gold-out gold.jsonl' [RW-F22]",
    ),
    "beir judgements": (
        "test.tsv",
        as_csv("query-id\tcorpus-id\tscore\n1\td1\t1\n"),
        "test.tsv: these are judgements of a BEIR data set: read the folder with "
        "'ragworthy import beir . --gold-out gold.jsonl' [RW-F22]",
    ),
    "trec judgements": (
        "qrels.txt",
        as_csv("1 0 d1 1\n1 0 d2 0\n"),
        "qrels.txt: these are judgements of TREC: score them with 'ragworthy score retrieval --qrels QRELS --run RUN', "
        "where this is --qrels, or turn them into records with 'ragworthy import trec' [RW-F22]",
    ),
    "trec run": (
        "run.txt",
        as_csv("1 Q0 d1 1 2.5 tag\n1 Q0 d2 2 1e-3 tag\n"),
        "run.txt: this is a run of TREC: score them with 'ragworthy score retrieval --qrels QRELS --run RUN', "
        "where this is --run, or turn them into records with 'ragworthy import trec' [RW-F22]",
    ),
    "promptfoo": (
        "results.json",
        as_json({"evalId": "e", "results": {"version": 3, "results": [], "stats": {}}}),
        "results.json: these are results of promptfoo (evalId, results): read them with "
        "'ragworthy import promptfoo results.json --gold-out gold.jsonl' [RW-F22]",
    ),
    "langsmith examples": (
        "examples.jsonl",
        as_lines({"id": "1", "inputs": {"q": "?"}, "outputs": {"a": "!"}, "dataset_id": "d"}),
        "examples.jsonl: these are examples of LangSmith (id, inputs, outputs, dataset_id): read them with "
        "'ragworthy import langsmith examples.jsonl --gold-out gold.jsonl' [RW-F22]",
    ),
    "langfuse items": (
        "items.json",
        as_json([{"id": "1", "input": "?", "expectedOutput": "!", "datasetId": "d"}]),
        "items.json: this is an export of Langfuse (id, input, expectedOutput, datasetId): read it with "
        "'ragworthy import langfuse items.json --gold-out gold.jsonl' [RW-F22]",
    ),
    "mlflow table": (
        "table.json",
        as_json({"columns": ["inputs", "targets"], "data": [["?", "!"]]}),
        "table.json: this is a table of MLflow (columns, data): read it with "
        "'ragworthy import mlflow table.json --gold-out gold.jsonl' [RW-F22]",
    ),
    "phoenix": (
        "spans.jsonl",
        as_lines({"name": "r", "context": {"trace_id": "1", "span_id": "2"}, "span_kind": "LLM", "attributes": {}}),
        "spans.jsonl: these are spans of Phoenix (name, context, span_kind, attributes): read them with "
        "'ragworthy import phoenix spans.jsonl --trace-out traces.jsonl', which gives traces [RW-F22]",
    ),
    "ragas of old": (
        "old.jsonl",
        as_lines({"question": "?", "answer": "!", "contexts": ["c"], "ground_truth": "!"}),
        "old.jsonl: these are samples of ragas (question, answer, contexts, ground_truth): read them with "
        "'ragworthy import ragas old.jsonl --gold-out gold.jsonl --trace-out traces.jsonl --chunks-out chunks.jsonl' "
        "[RW-F22]",
    ),
    "traces": (
        "traces.jsonl",
        as_lines(*TRACES),
        "traces.jsonl: these are traces of a pipeline (qid, retrieved_ids, answer_json), and gold questions of the "
        "answers suite are expected here: did the gold set and the traces change places? [RW-F23]",
    ),
    "retrieval gold": (
        "retrieval.jsonl",
        as_lines(*RETRIEVAL_GOLD),
        "retrieval.jsonl: these are gold questions of the retrieval suite (qid, paraphrases, relevant), and gold "
        "questions of the answers suite are expected here: 'ragworthy score retrieval' takes these [RW-F23]",
    ),
    "retrieval gold that says answerable": (
        "retrieval.jsonl",
        as_lines(*({"qid": one["qid"], "answerable": True, "relevant": one["relevant"]} for one in RETRIEVAL_GOLD)),
        "retrieval.jsonl: these are gold questions of the retrieval suite (qid, answerable, relevant), and gold "
        "questions of the answers suite are expected here: 'ragworthy score retrieval' takes these [RW-F23]",
    ),
    "report": (
        "report.json",
        as_json({"schema": "ragworthy.report/1", "verdict": "SHIP"}),
        "report.json: this is a report of Ragworthy, and not gold questions of the answers suite [RW-F23]",
    ),
    "chunks": (
        "chunks.jsonl",
        as_lines({"chunk_id": "a", "text": "x"}, {"chunk_id": "b", "text": "y"}),
        "chunks.jsonl: these are chunks of a corpus (chunk_id, text), and gold questions of the answers suite are "
        "expected here [RW-F23]",
    ),
    "other names": (
        "gold.jsonl",
        as_lines(*({"id": one["qid"], "question": one["question"], "expected_answer": "x"} for one in GOLD)),
        "gold.jsonl: no item has qid or answerable; 12 of 12 have id, question, expected_answer: read them with "
        "'ragworthy import jsonl gold.jsonl --map qid=id,answer=expected_answer --gold-out new-gold.jsonl' [RW-F24]",
    ),
    "objects over several lines": (
        "gold.jsonl",
        lambda path: path.write_text("\n".join(json.dumps(one, indent=2) for one in GOLD)) and None,
        "gold.jsonl: these are JSON objects over several lines each, and not one object per line: 'jq -c . gold.jsonl "
        "> gold.lines.jsonl' writes them so [RW-F22]",
    ),
    "no answerable": (
        "gold.jsonl",
        as_lines(*({"qid": one["qid"], "question": one["question"], "gold_citations": ["d"]} for one in GOLD)),
        "gold.jsonl: no item has answerable; 12 of 12 have qid, question, gold_citations: read them with "
        "'ragworthy import jsonl gold.jsonl --gold-out new-gold.jsonl' [RW-F24]",
    ),
}


@pytest.mark.parametrize("case", GIVEN_AS_GOLD)
def test_a_gold_set_that_is_something_else(lab: Path, case: str) -> None:
    name, write, message = GIVEN_AS_GOLD[case]
    write(lab / name)
    good = write_jsonl(lab / "good.jsonl", TRACES)
    done = run_cli("score", "answers", "--gold", name, "--trace", good)
    assert (done.code, done.line, done.out) == (2, message, "")


def test_lint_calls_lines_of_an_object_no_items(lab: Path) -> None:
    (lab / "gold.jsonl").write_text("\n".join(json.dumps(one, indent=2) for one in GOLD))
    done = run_cli("gold", "lint", "gold.jsonl")
    assert (done.code, done.out, "[RW-F22]" in done.line) == (2, "", True)


EVERYWHERE = {
    "score answers": ("score", "answers", "--gold", "gold.csv", "--trace", "t.jsonl"),
    "score retrieval": ("score", "retrieval", "--gold", "gold.csv", "--trace", "t.jsonl", "--gates", "recall@5=0.5"),
    "score stability": ("score", "stability", "--gold", "gold.csv", "--runs", "t.jsonl"),
    "score latency": ("score", "latency", "--gold", "gold.csv", "--runs", "t.jsonl"),
    "score structured": ("score", "structured", "--questions", "gold.csv", "--outputs", "t.jsonl"),
    "score agreement": ("score", "agreement", "--gold", "gold.csv", "--trace", "t.jsonl"),
    "doctor": ("doctor", "--gold", "gold.csv", "--trace", "t.jsonl"),
    "doctor on a gold set alone": ("doctor", "--gold", "gold.csv"),
    "gold bind": ("gold", "bind", "gold.csv", "--corpus", "c.jsonl", "-o", "o.jsonl"),
    "gate": ("gate", "-c", "ragworthy.toml"),
    "run": ("run", "--target", "cmd:cat", "--gold", "gold.csv", "--out", "out"),
    "gold lint": ("gold", "lint", "gold.csv"),
    "gold freeze": ("gold", "freeze", "gold.csv", "--signer", "Ann", "--reason", "first"),
    "gold diff": ("gold", "diff", "gold.csv", "gold.csv"),
    "export": ("export", "trec", "--gold", "gold.csv", "--qrels-out", "q.txt"),
}


@pytest.mark.parametrize("command", EVERYWHERE)
def test_every_command_says_so_in_one_line(lab: Path, command: str) -> None:
    (lab / "gold.csv").write_text(SHEET * 200, encoding="utf-8")
    write_jsonl(lab / "t.jsonl", TRACES)
    write_jsonl(lab / "c.jsonl", [{"chunk_id": "a", "text": "x"}])
    (lab / "ragworthy.toml").write_text(
        'version = 1\n[answers]\ngold = "gold.csv"\ntraces = "t.jsonl"\n[[gate]]\nmetric = "answers.chr"\nmin = 0.5\n'
    )
    done = run_cli(*EVERYWHERE[command])
    assert done.code == 2
    assert "gold.csv: this is a CSV file (columns Question, Expected answer, Source, Owner): read it with " in done.line
    assert "gold.csv --gold-out gold.jsonl' [RW-F22]" in done.line


TOOLS = {
    "deepeval_goldens.json": "deepeval",
    "deepeval_goldens_head.csv": "deepeval",
    "deepeval_latest_test_run.json": "deepeval",
    "langchain_run_tree.json": "langsmith",
    "langfuse_otlp.jsonl": "otel",
    "langsmith_runs.jsonl": "langsmith",
    "mlflow_trace.json": "mlflow",
    "openinference_haystack_otlp.jsonl": "otel",
    "openinference_haystack_sdk_trace.json": "otel",
    "openinference_langchain_otlp.jsonl": "otel",
    "openinference_langchain_sdk_trace.json": "otel",
    "openinference_llamaindex_otlp.jsonl": "otel",
    "openinference_llamaindex_sdk_trace.json": "otel",
    "openllmetry_langchain_otlp.jsonl": "otel",
    "ragas_evaluationdataset.jsonl": "ragas",
    "ragas_evaluationdataset_head.csv": "ragas",
}
NO_IMPORT = {
    "haystack_generated_answer.json": "this is an answer of Haystack (data, query, documents, meta): ",
    "llamaindex_source_node.json": "this is an answer of LlamaIndex (node, score, class_name): ",
    "openai_compatible_rag_response.json": "this is a reply of an OpenAI-compatible service (id, object, ",
}
TRACE_OUT = " --trace-out traces.jsonl"
ALL_OUT = f" --gold-out gold.jsonl{TRACE_OUT} --chunks-out chunks.jsonl"
BOTH = {
    "deepeval_goldens.json": ALL_OUT,
    "deepeval_goldens_head.csv": ALL_OUT,
    "ragas_evaluationdataset.jsonl": ALL_OUT,
    "ragas_evaluationdataset_head.csv": ALL_OUT,
}
"""Files that hold questions and what a pipeline answered: one command writes all of it."""


@pytest.mark.data("findings/samples")
@pytest.mark.parametrize("name", [*TOOLS, *NO_IMPORT])
def test_real_files_of_other_tools_as_traces(lab: Path, name: str) -> None:
    (lab / name).write_bytes((SAMPLES / name).read_bytes())
    gold = write_jsonl(lab / "g.jsonl", GOLD)
    done = run_cli("score", "answers", "--gold", gold, "--trace", name)
    assert done.code == 2
    if name in NO_IMPORT:
        assert done.line.startswith(f"{name}: {NO_IMPORT[name]}a trace is {{qid, answer_json") or "…" in done.line
    else:
        assert f"'ragworthy import {TOOLS[name]} {name}{BOTH.get(name, TRACE_OUT)}' [RW-F22]" in done.line


@pytest.mark.data("findings/samples")
@pytest.mark.parametrize("name", [name for name in TOOLS if not name.endswith("_head.csv")])  # those are cut off
def test_the_command_that_is_named_reads_the_file(lab: Path, name: str) -> None:
    (lab / name).write_bytes((SAMPLES / name).read_bytes())
    done = run_cli("score", "answers", "--gold", write_jsonl(lab / "g.jsonl", GOLD), "--trace", name)
    words = shlex.split(re.findall(r"'(ragworthy import .*?)'", done.line)[0])
    assert (run_cli(*words[1:]).code, "traces.jsonl" in words) == (0, True)
    traces = [json.loads(line) for line in (lab / "traces.jsonl").read_text(encoding="utf-8").splitlines()]
    assert traces and misfit(open_source("trace", "traces.jsonl"), "Trace") is None


@pytest.mark.data("findings/samples")
@pytest.mark.parametrize("name", [name for name in (*TOOLS, *NO_IMPORT) if name.endswith(".json")])
def test_lint_names_what_score_names(lab: Path, name: str) -> None:
    (lab / name).write_bytes((SAMPLES / name).read_bytes())
    linted = run_cli("gold", "lint", name)
    scored = run_cli("score", "answers", "--gold", name, "--trace", write_jsonl(lab / "t.jsonl", TRACES))
    assert (linted.code, linted.err) == (2, scored.err)
    assert "[RW-F22]" in linted.err
    assert ("ragworthy import" in linted.err) == (name in TOOLS)


@pytest.mark.data("findings/samples")
@pytest.mark.parametrize("name", TOOLS)
def test_an_import_that_does_not_read_a_file_names_the_one_that_does(lab: Path, name: str) -> None:
    (lab / name).write_bytes((SAMPLES / name).read_bytes())
    if name.endswith(".csv"):
        return
    other = "squad" if TOOLS[name] == "otel" else "otel"
    done = run_cli("import", other, name, "--dry-run")
    assert done.code == 2
    assert (
        f"read {'it' if 'this is' in done.line else 'them'} with 'ragworthy import {TOOLS[name]} {name} --" in done.line
    )


@pytest.mark.data("findings/samples")
def test_a_mapping_of_fields_reads_neither_spans_nor_answers_of_frameworks(lab: Path) -> None:
    spans = gzip.compress((SAMPLES / "openinference_langchain_otlp.jsonl").read_bytes())
    (lab / "s.jsonl.gz").write_bytes(spans)
    done = run_cli("import", "jsonl", "s.jsonl.gz", "--gold-out", "g.jsonl")
    assert done.line == (
        "s.jsonl.gz: these are OpenTelemetry spans in OTLP JSON (resourceSpans): read them with "
        "'ragworthy import otel s.jsonl.gz --trace-out traces.jsonl' [RW-F22]"
    )
    for name, told in NO_IMPORT.items():
        (lab / name).write_bytes((SAMPLES / name).read_bytes())
        done = run_cli("import", "jsonl", name, "--gold-out", "g.jsonl")
        assert done.code == 2 and done.line.startswith(f"{name}: {told}")
        assert "the import named" not in done.err
    done = run_cli("import", "jsonl", name, "--map", "question=id", "--gold-out", "g.jsonl")
    assert "[RW-F22]" not in done.err


def test_the_commands_for_tables_and_other_names_work(lab: Path) -> None:
    (lab / "gold.csv").write_text(SHEET, encoding="utf-8")
    write_jsonl(lab / "t.jsonl", [{"id": one["qid"], "response": "x", "citations": []} for one in GOLD])
    for words, out in (
        (("gold", "lint", "gold.csv"), "gold.jsonl"),
        (("score", "answers", "--gold", write_jsonl(lab / "g.jsonl", GOLD), "--trace", "t.jsonl"), "traces.jsonl"),
    ):
        said = re.findall(r"'(ragworthy import .*?)'", run_cli(*words).line)[0]
        assert run_cli(*shlex.split(said)[1:]).code == 0
        assert (lab / out).stat().st_size > 0


def test_what_an_import_is_said_to_give_it_gives() -> None:
    for shape in SHAPES:
        assert not shape.reads or {*shape.gives} <= {*ADAPTERS[shape.reads].gives}, shape.what


@pytest.mark.data("findings/samples")
def test_every_sample_is_known(lab: Path) -> None:
    assert {path.name for path in SAMPLES.iterdir()} == {*TOOLS, *NO_IMPORT}
    (lab / "s.jsonl.gz").write_bytes(gzip.compress((SAMPLES / "langsmith_runs.jsonl").read_bytes()))
    found = misfit(open_source("trace", "s.jsonl.gz"), "Trace")
    assert found is not None and "import langsmith s.jsonl.gz --trace-out" in found.message


def test_doctor_on_traces_alone(lab: Path) -> None:
    write_jsonl(lab / "runs.jsonl", [{"id": "1", "run_type": "chain", "inputs": {"input": "?"}, "outputs": {}}])
    assert run_cli("doctor", "--trace", "runs.jsonl").line == (
        "runs.jsonl: these are runs of LangSmith or LangChain (id, run_type, inputs, outputs): read them with "
        "'ragworthy import langsmith runs.jsonl --trace-out traces.jsonl' [RW-F22]"
    )
    (lab / "t.csv").write_text(SHEET, encoding="utf-8")
    assert (
        "'ragworthy import csv t.csv --trace-out traces.jsonl' [RW-F22]" in run_cli("doctor", "--trace", "t.csv").line
    )


def test_traces_that_are_something_else(lab: Path) -> None:
    gold = write_jsonl(lab / "gold.jsonl", GOLD)
    expected = {
        gold: "gold.jsonl: these are gold questions of the answers suite (qid, question, answerable, "
        "gold_claim_substr, gold_citations), and traces of a pipeline are expected here: did the gold set and the "
        "traces change places? [RW-F23]",
        write_jsonl(lab / "out.jsonl", [{"id": "A1", "raw": "{}"}, {"id": "A2", "raw": "{}"}]): "out.jsonl: these are "
        "structured outputs (id, raw), and traces of a pipeline are expected here [RW-F23]",
        write_jsonl(
            lab / "t.jsonl", [{"id": one["qid"], "response": "x", "citations": []} for one in GOLD]
        ): "t.jsonl: "
        "no trace has qid; 12 of 12 have id, response, citations: read them with 'ragworthy import jsonl t.jsonl "
        "--map qid=id,claim=response --trace-out traces.jsonl' [RW-F24]",
    }
    for path, message in expected.items():
        done = run_cli("score", "answers", "--gold", gold, "--trace", path.name)
        assert (done.code, done.line.replace(str(lab) + os.sep, "")) == (2, message)


def test_the_qrels_of_beir_in_the_place_of_trecs(lab: Path) -> None:
    (lab / "qrels").mkdir()
    (lab / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\n1\td1\t1\n")
    (lab / "run.txt").write_text("1 Q0 d1 1 2.5 tag\n")
    done = run_cli("score", "retrieval", "--qrels", "qrels/test.tsv", "--run", "run.txt", "--gates", "recall@5=0.5")
    assert done.line == (
        "qrels/test.tsv: these are judgements of a BEIR data set: read the folder with "
        "'ragworthy import beir . --gold-out gold.jsonl' [RW-F22]"
    )
    done = run_cli("score", "retrieval", "--qrels", "run.txt", "--run", "run.txt", "--gates", "recall@5=0.5")
    assert done.line.startswith("run.txt: this is a run of TREC: ")


def test_large_files_are_known_by_their_head(lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign, "WHOLE", 4096)
    monkeypatch.setattr(foreign, "HEAD", 2048)
    as_json([{"input": "?", "actual_output": "x"}] * 500)(lab / "goldens.json")
    as_json({"version": 1, "columns": ["a"], "resourceSpans": [{"x": "y" * 50}] * 500})(lab / "spans.json")
    (lab / "gold.csv").write_text(SHEET * 500, encoding="utf-8")
    for name, what in (("goldens.json", "DeepEval"), ("spans.json", "OpenTelemetry"), ("gold.csv", "CSV file")):
        found = misfit(open_source("gold", name), "Gold")
        assert found is not None and what in found.message, name


# from Python


def test_records_of_other_tools_from_python() -> None:
    samples = [{"user_input": "?", "retrieved_contexts": ["c"], "response": "!", "reference": "!"}] * 3
    with pytest.raises(RagworthyError) as caught:
        rw.score("answers", gold=samples, traces=TRACES)
    assert str(caught.value).splitlines()[0] == (
        "<gold>: these are samples of ragas (user_input, retrieved_contexts, response, reference): read them with "
        "'ragworthy import ragas FILE --gold-out gold.jsonl --trace-out traces.jsonl --chunks-out chunks.jsonl' "
        "[RW-F22]"
    )


# files of our own keep their messages


@pytest.mark.parametrize("name", sorted(path.name for path in BROKEN.glob("gold-*.jsonl")))
def test_a_broken_gold_set_is_no_foreign_file(name: str) -> None:
    assert misfit(open_source("gold", BROKEN / name), "Gold") is None


@pytest.mark.parametrize("name", sorted(path.name for path in BROKEN.glob("trace-*.jsonl")))
def test_broken_traces_are_no_foreign_file(name: str) -> None:
    assert misfit(open_source("trace", BROKEN / name), "Trace") is None


@pytest.mark.parametrize(
    ("path", "record"),
    [
        ("gold.jsonl", "Gold"),
        ("retrieval_gold.jsonl", "RetrievalGold"),
        ("runs/candidate.jsonl", "Trace"),
    ],
)
def test_the_bundled_files_are_what_they_are(path: str, record: str) -> None:
    assert misfit(open_source("gold", EXAMPLES / path), record) is None


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=300), st.sampled_from(["Gold", "Trace", "RetrievalGold", "Vote", "StructuredGold", "Qrels"]))
def test_any_bytes_are_told_or_left_alone(tmp_path_factory: pytest.TempPathFactory, data: bytes, record: str) -> None:
    path = tmp_path_factory.getbasetemp() / "any.bin"
    path.write_bytes(data)
    found = misfit(open_source("gold", path), record)
    assert found is None or found.code in ("RW-F22", "RW-F23", "RW-F24")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(GOLD), min_size=2), st.integers(0, 400), st.binary(min_size=1, max_size=3))
def test_a_damaged_gold_set_is_still_one(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Row], place: int, junk: bytes
) -> None:
    """Bytes written over a sound file damage a line or two; the file stays a gold set."""
    whole = "".join(json.dumps(row) + "\n" for row in rows * 3).encode()
    place %= len(whole)
    path = tmp_path_factory.getbasetemp() / "damaged.jsonl"
    path.write_bytes(whole[:place] + junk + whole[place + len(junk) :] if place else whole)
    assert misfit(open_source("gold", path), "Gold") is None
