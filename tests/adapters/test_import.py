"""What every import does, whatever the format: help, preview, ledger, outputs that replace nothing, the same bytes."""

import contextlib
import csv
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ragworthy as rw
from conftest import Done, run_cli, write_jsonl
from places import TESTS
from ragworthy.adapters import ADAPTERS, SUMMARIES
from ragworthy.adapters.csv import ERRORS
from ragworthy.codes import CATALOGUE
from ragworthy.errors import RagworthyError

FILES = TESTS / "adapters" / "files"
TABLE = """Question,Expected answer,Source,Owner
"Who may delete it, and when?",the owner,access.md,ann
What year?,2011,buckets.md,bob
Is there a zeppelin?,N/A,,ann
,something,,
How long does it take?,It takes up to five working days.,support.md,ann
"""


def said(code: str, message: str) -> str:
    return f"{message} [{code}]\n  {CATALOGUE[code].name}: {CATALOGUE[code].do}\n"


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("gold.csv").write_text(TABLE)
    return tmp_path


def rows_of(path: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def test_help_lists_every_format_and_the_options_of_one() -> None:
    listed = run_cli("import", "--help").out
    for name, summary in SUMMARIES.items():
        assert re.search(rf"^ +{name}  ", listed, re.M), listed
        assert ADAPTERS[name].name == name
        assert ADAPTERS[name].summary == summary
        shown = run_cli("import", name, "--help")
        assert shown.code == 0
        for option in ADAPTERS[name].options:
            assert option.name in shown.out


def test_a_spreadsheet_becomes_a_gold_set(lab: Path) -> None:
    done = run_cli("import", "csv", "gold.csv", "--gold-out", "gold.jsonl")
    assert done == Done(
        0,
        "gold.csv: 4 columns, delimiter comma\n"
        "columns: question ← Question, answer ← Expected answer, source ← Source; kept as they are: Owner\n"
        "the first 3 of 4, as they were read:\n"
        "  Q001  question: Who may delete it, and when?\n"
        "        answer: the owner\n"
        "        source: access.md\n"
        "        kept: owner=ann\n"
        "  Q002  question: What year?\n"
        "        answer: 2011\n"
        "        source: buckets.md\n"
        "        kept: owner=bob\n"
        "  Q003  question: Is there a zeppelin?\n"
        "        answer: (unanswerable)\n"
        "        kept: owner=ann\n"
        "in 5 = written 4 + skipped 1\n"
        "  skipped 1: no question (line 5)\n"
        'note: 1 question is taken as unanswerable: "N/A"\n'
        "note: 1 reference is a sentence: scored by answers.reference_f1, not by containment\n"
        "note: sources and evidence are bound to chunks: score with --corpus (an index, or its chunks)\n"
        "gold: 4 questions: gold.jsonl\n"
        "next: ragworthy run --target YOURS --gold gold.jsonl --out runs/1\n",
        "",
    )
    gold = rows_of("gold.jsonl")
    stamps = [item.pop("imported") for item in gold]
    assert gold == [
        {
            "qid": "Q001", "question": "Who may delete it, and when?", "answerable": True,
            "gold_claim_substr": ["the owner"], "gold_citations": [], "gold_source": ["access.md"], "owner": "ann",
        },
        {
            "qid": "Q002", "question": "What year?", "answerable": True, "gold_claim_substr": ["2011"],
            "gold_citations": [], "gold_source": ["buckets.md"], "owner": "bob",
        },
        {
            "qid": "Q003", "question": "Is there a zeppelin?", "answerable": False, "gold_claim_substr": [],
            "gold_citations": [], "owner": "ann",
        },
        {
            "qid": "Q005", "question": "How long does it take?", "answerable": True, "gold_claim_substr": [],
            "gold_citations": [], "gold_reference": "It takes up to five working days.",
            "gold_source": ["support.md"], "owner": "ann",
        },
    ]  # fmt: skip
    import hashlib

    sha256 = hashlib.sha256(TABLE.encode()).hexdigest()
    assert stamps == [{"format": "csv", "sha256": sha256, "at": line} for line in (2, 3, 4, 6)]


def test_a_dry_run_writes_nothing_and_strict_refuses_what_was_skipped(lab: Path) -> None:
    dry = run_cli("import", "csv", "gold.csv", "--gold-out", "g.jsonl", "--dry-run")
    assert (dry.code, dry.out.splitlines()[-1]) == (0, "dry run: nothing written")
    strict = run_cli("import", "csv", "gold.csv", "--gold-out", "g.jsonl", "--strict")
    assert (strict.code, strict.err) == (1, "nothing written: --strict, and 1 row skipped\n")
    assert sorted(path.name for path in lab.iterdir()) == ["gold.csv"]
    Path("whole.csv").write_text("Question,Answer\nA?,b\n")
    assert run_cli("import", "csv", "whole.csv", "--gold-out", "g.jsonl", "--strict").code == 0


def test_the_same_file_gives_the_same_bytes(lab: Path) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        assert run_cli("import", "csv", "gold.csv", "--gold-out", name).code == 0
    assert Path("a.jsonl").read_bytes() == Path("b.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("csv gold.csv", "expected --gold-out or --trace-out or --chunks-out, or --dry-run to look first"),
        ("csv gold.csv --gold-out gold.csv", "gold.csv: expected a new file, got one that is read"),
        (
            "csv gold.csv --gold-out a.jsonl --trace-out a.jsonl",
            "a.jsonl: expected a file for each output, got the same for two",
        ),
        ("csv gold.csv --gold-out g.jsonl.gz", "g.jsonl.gz: expected a .jsonl file"),
        ("csv gold.csv --trace-out t.jsonl", "--trace-out: expected traces in the data, got only gold"),
        ("csv gold.csv --map m.toml --gold-out m.toml", "m.toml: expected a new file, got one that is read"),
    ],
)
def test_outputs_that_cannot_be_meant(lab: Path, words: str, message: str) -> None:
    Path("m.toml").write_text('question = "Question"\n')
    before = {path.name: path.read_bytes() for path in lab.iterdir()}
    done = run_cli("import", *words.split())
    assert (done.code, done.err) == (2, said("RW-U01", message))
    assert {path.name: path.read_bytes() for path in lab.iterdir()} == before


def test_a_file_that_is_given_twice_is_read_once(lab: Path) -> None:
    Path("copy.csv").write_text(TABLE)
    Path("more.csv").write_text("Question,Expected answer\nHow many?,250\n")
    once = run_cli("import", "csv", "gold.csv", "more.csv", "--gold-out", "once.jsonl")
    for again, told in (
        ("gold.csv", "gold.csv was given twice"),
        ("copy.csv", "copy.csv has the same bytes as gold.csv"),
    ):
        done = run_cli("import", "csv", "gold.csv", again, "more.csv", "--gold-out", "again.jsonl")
        assert f"note: {told}: read once\n" in done.out
        assert Path("again.jsonl").read_bytes() == Path("once.jsonl").read_bytes()
        assert done.out.replace("again.jsonl", "once.jsonl").replace(f"note: {told}: read once\n", "") == once.out
    ragas = FILES / "ragas.jsonl"
    assert len(rw.import_file("ragas", ragas, ragas).traces) == len(rw.import_file("ragas", ragas).traces) > 0


def test_a_question_that_comes_again_with_its_answer_is_said(lab: Path) -> None:
    Path("t.csv").write_text("qid,question,answer\nA,How long?,45 days\nB,How long?,46 days\nC,How long?,45 days\n")
    done = run_cli("import", "csv", "t.csv", "--gold-out", "g.jsonl")
    assert "in 3 = written 3 + skipped 0\n" in done.out
    told = "note: 1 of 3 are there again, the same question with the same answer (for example A, C)\n"
    assert told in done.out
    Path("t.csv").write_text("qid,question,answer\nA,How long?,45 days\nB,How long?,46 days\n")
    assert "are there again" not in run_cli("import", "csv", "t.csv", "--gold-out", "h.jsonl").out


def test_files_are_whole_when_nobody_reads_the_report(lab: Path) -> None:
    """A pipe without a reader, as `| head` leaves it, and a report that is larger than any buffer."""
    names = ",".join(f"{'column' * 30}{number}" for number in range(2000))
    Path("t.csv").write_text(f"question,answer,{names}\nHow long?,45 days{',x' * 2000}\n")
    code = "import sys; from ragworthy.cli.main import entry; sys.argv[0] = 'ragworthy'; entry()"
    words = [sys.executable, "-c", code, "import", "csv", "t.csv", "--gold-out", "g.jsonl"]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(words, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")
    assert [one["question"] for one in rows_of("g.jsonl")] == ["How long?"]


def test_what_is_found_and_not_asked_for_is_said(lab: Path) -> None:
    done = run_cli("import", "ragas", FILES / "ragas.jsonl", "--gold-out", "g.jsonl")
    lines = done.out.splitlines()
    assert "note: 6 traces found and not written: add --trace-out FILE" in lines
    assert [line for line in lines if "chunks found and not written: add --chunks-out FILE" in line]


def test_text_of_the_data_cannot_steer_the_terminal(lab: Path) -> None:
    Path("x.csv").write_text("Question,Answer,Note\n\x1b[31mred?,b,::error::x\n::error::y,c,\n")
    done = run_cli("import", "csv", "x.csv", "--dry-run")
    assert "\x1b" not in done.out
    assert r"\x1b[31mred?" in done.out


def test_from_python(lab: Path) -> None:
    found = rw.import_file("csv", "gold.csv", unanswerable=["2011"])
    assert [item["qid"] for item in found.gold if not item["answerable"]] == ["Q002"]
    assert [(skip.where, skip.why) for skip in found.skipped] == [("line 5", "no question")]
    assert found.taken == len(found.gold) + len(found.skipped)
    result = rw.score("answers", gold=found.gold[:2], traces=[], allow_gold_errors=True)
    assert result.report["suites"]["answers"]["counts"]["gold"] == 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rw.import_file("pdf", "x"), f'expected a format ({", ".join(SUMMARIES)}), got "pdf"'),
        (
            lambda: rw.import_file("squad", "x", color=1),
            "color: expected an option of import squad (it has none)",
        ),
        (lambda: rw.import_file("trec"), "qrels: expected a value, got nothing"),
        (lambda: rw.import_file("csv"), "import csv: expected FILE, got 0 paths"),
    ],
)
def test_calls_from_python_that_cannot_be_meant(call: object, message: str) -> None:
    with pytest.raises(RagworthyError) as caught:
        call()  # type: ignore[operator]
    assert str(caught.value) == said("RW-U01", message).rstrip("\n")


cells = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)


@settings(deadline=None)
@given(st.lists(st.tuples(cells, cells, cells), max_size=12))
def test_every_row_is_written_or_skipped_and_survives_as_it_was(rows: list[tuple[str, str, str]]) -> None:
    import tempfile

    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["question", "expected answer", "topic"])
    writer.writerows(rows)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        path.write_bytes(text.getvalue().encode())
        blank = [row for row in rows if not any(cell.strip() for cell in row)]
        errors = [row for row in rows if any(cell.strip() in ERRORS for cell in row)]
        asked = [row for row in rows if row[0].strip() and row not in errors]
        if not asked:
            with contextlib.suppress(RagworthyError):
                rw.import_file("csv", path)
                pytest.fail("an import of nothing succeeded")
            return
        found = rw.import_file("csv", path)
    assert found.taken == len(rows) - len(blank) == len(found.gold) + len(found.skipped)
    assert [item["question"] for item in found.gold] == [row[0].strip() for row in asked]
    assert [item.get("topic", "") for item in found.gold] == [row[2].strip() for row in asked]
    for item, row in zip(found.gold, asked, strict=True):
        answer = row[1].strip()
        kept = [*item["gold_claim_substr"], *([item["gold_reference"]] if "gold_reference" in item else [])]
        assert item["answerable"] == (answer not in ("",) and answer.casefold() not in ("n/a", "not in context"))
        if item["answerable"] and not answer.startswith("["):
            assert kept == [answer]


def test_answers_of_a_pipeline_get_the_qids_of_the_gold_set(lab: Path) -> None:
    gold = write_jsonl(lab / "g.jsonl", [{"qid": "A", "question": "What  year?", "answerable": True}])
    write_jsonl(lab / "log.jsonl", [
        {"q": "what year?", "chunks": [{"id": "p1#2", "score": 0.4}], "answer": "2011. citations: [p1#2]", "ok": True},
        {"q": "Who?", "chunks": [], "answer": "x"},
    ])  # fmt: skip
    found = rw.import_file("jsonl", lab / "log.jsonl", gold=str(gold))
    assert [(one["qid"], one["retrieved_ids"], one["answer_json"]) for one in found.traces] == [
        ("A", ["p1#2"], {"claim": "2011.", "citations": ["p1#2"]})
    ]
    assert [skip.why for skip in found.skipped] == ["its question is not in the gold set"]


@pytest.mark.parametrize(
    ("answer", "claim", "cited"),
    [
        ('{"claim": "Since 2011.", "citations": ["p1#2"]} citations: [p9]', "Since 2011.", ["p1#2"]),
        ('{"claim": "Since 2011.", "citations": ["p1#2"]}\n', "Since 2011.", ["p1#2"]),
        ('{"claim": "Since 2011.", "citations": []} citations: [p9]', "Since 2011.", []),
        ("Since 2011. Citations: [p9, p1#2]", "Since 2011.", ["p9", "p1#2"]),
        ('{"claim": "x", "citations": ["a"]} and more', '{"claim": "x", "citations": ["a"]} and more', []),
        ('{"claim": "x"', '{"claim": "x"', []),
    ],
)
def test_a_json_list_of_citations_in_an_answer_stands_before_one_in_brackets(
    lab: Path, answer: str, claim: str, cited: list[str]
) -> None:
    write_jsonl(
        lab / "log.jsonl", [{"qid": "A", "q": "When?", "chunks": [{"id": "p1#2"}, {"id": "p9"}], "answer": answer}]
    )
    found = rw.import_file("jsonl", lab / "log.jsonl")
    assert found.traces[0]["answer_json"] == {"claim": claim, "citations": cited}


@pytest.mark.parametrize("found", [{"id": "S.1.p.Bk001", "score": 0.9}, "S.1.p.Bk001"])
def test_a_record_of_live_traffic_is_read_as_the_hint_says(tmp_path: Path, found: Any) -> None:
    """What was found is an object inside an object, and the answer only cites."""
    answer = {"citations": [{"id": "S.1.p.Bk001"}]}
    record = {"qid": "a", "question": "w?", "retrieval": {"topk": [found]}, "answer": answer}
    write_jsonl(tmp_path / "live.jsonl", [record])
    out = tmp_path / "t.jsonl"
    given = [tmp_path / "live.jsonl", "--map", "retrieved_ids=retrieval.topk", "--trace-out", out]
    assert run_cli("import", "jsonl", *given).code == 0
    trace = json.loads(out.read_text())
    assert trace["retrieved_ids"] == trace["answer_json"]["citations"] == ["S.1.p.Bk001"]
