"""Whose answers a table holds, whether a column holds ids or texts, and what habits of tables are named."""

import json
from pathlib import Path
from typing import Any

import pytest

import ragworthy as rw
from conftest import run_cli, write_jsonl
from ragworthy.adapters.columns import recognise
from ragworthy.adapters.habits import NO_ANSWERS, is_sentence
from ragworthy.adapters.values import is_paragraph, looks_like_id
from ragworthy.codes import CATALOGUE
from ragworthy.errors import RagworthyError

PASSAGE = "The name of a deleted bucket stays blocked.\nIt is free again after 45 days, and not before."
TRACES = [
    {"id": f"Q{nth}", "question": f"How long is {nth}?", "answer": f"It is {nth} days [1].",
     "contexts": [f"{nth}: {PASSAGE}", "Another passage, which is about something else."]}
    for nth in range(6)
]  # fmt: skip
GOLD = [
    {"qid": f"Q{nth}", "question": f"How long is {nth}?", "answerable": True, "gold_claim_substr": [f"{nth} days"],
     "gold_evidence": [f"{nth}: The name of a deleted bucket stays blocked."]}
    for nth in range(6)
]  # fmt: skip


@pytest.fixture(autouse=True)
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_jsonl(Path("mine.jsonl"), TRACES)
    write_jsonl(Path("gold.jsonl"), GOLD)
    return tmp_path


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(name).read_text(encoding="utf-8").splitlines()]


def said(code: str, message: str) -> str:
    return f"{message} [{code}]\n  {CATALOGUE[code].name}: {CATALOGUE[code].do}\n"


# ids or texts


@pytest.mark.parametrize("qid", ["id", "qid"])
def test_the_command_that_a_refused_trace_file_prints_leads_to_numbers(qid: str) -> None:
    write_jsonl(Path("traces.jsonl"), [{qid: one["id"], **{k: one[k] for k in one if k != "id"}} for one in TRACES])
    refused = run_cli("score", "answers", "--gold", "gold.jsonl", "--trace", "traces.jsonl")
    assert refused.code == 2
    command = refused.err.split("read them with '")[1].split("'")[0].split()
    pairs = ["qid=id"] * (qid == "id") + ["claim=answer", "retrieved=contexts"]
    out = ["--trace-out", "new-traces.jsonl", "--chunks-out", "chunks.jsonl"]
    assert command == ["ragworthy", "import", "jsonl", "traces.jsonl", "--map", ",".join(pairs), *out]
    done = run_cli(*command[1:])
    assert done.code == 0
    scored = rw.score("answers", gold="gold.jsonl", traces="new-traces.jsonl", corpus="chunks.jsonl", k=[5])
    assert scored.metrics["answers.hit@5"].value == 1.0
    assert scored.metrics["answers.containment"].value == 1.0


def test_ids_stay_ids_in_the_command_and_in_the_import() -> None:
    write_jsonl(Path("t.jsonl"), [{**one, "contexts": ["doc#1", "doc#2"]} for one in TRACES])
    refused = run_cli("score", "answers", "--gold", "gold.jsonl", "--trace", "t.jsonl")
    assert "--map qid=id,claim=answer,retrieved_ids=contexts --trace-out traces.jsonl'" in refused.err
    assert run_cli("import", "jsonl", "t.jsonl", "--trace-out", "out.jsonl").code == 0
    assert lines("out.jsonl")[0]["retrieved_ids"] == ["doc#1", "doc#2"]


def test_texts_that_are_mapped_as_ids_are_read_as_passages_and_this_is_said() -> None:
    done = run_cli("import", "jsonl", "mine.jsonl", "--map", "claim=answer,retrieved_ids=contexts",
                   "--trace-out", "t.jsonl", "--chunks-out", "c.jsonl")  # fmt: skip
    assert (
        "note: contexts holds texts, not ids: they are read as passages (retrieved), not as retrieved_ids" in done.out
    )
    first = lines("t.jsonl")[0]
    assert first["retrieved_ids"][0].startswith("sha256:")
    assert first["answer_json"]["citations"] == first["retrieved_ids"][:1]
    assert {one["chunk_id"]: one["text"] for one in lines("c.jsonl")}[first["retrieved_ids"][0]] == f"0: {PASSAGE}"


@pytest.mark.parametrize(
    ("field", "instead"),
    [
        ("citations", "map citations to a column of ids, or to none with --map citations="),
        ("gold_citations",
         "name passages with --map evidence=cited, and map gold_citations to a column of ids, or to none"),
    ],
)  # fmt: skip
def test_paragraphs_are_no_citations(field: str, instead: str) -> None:
    text = "word " * 50
    write_jsonl(Path("t.jsonl"), [{"question": "a?", "response": "x", "cited": [text]}])
    done = run_cli("import", "jsonl", "t.jsonl", "--map", f"{field}=cited", "--trace-out", "o.jsonl")
    shown = "word " * 7 + "word…"
    message = f't.jsonl: line 1: cited: expected ids, got a text of 250 characters ("{shown}"): {instead}'
    assert (done.code, done.err) == (2, said("RW-A08", message))
    assert not Path("o.jsonl").exists()


def test_what_is_a_paragraph_and_what_an_id() -> None:
    assert [is_paragraph("x" * size) for size in (200, 201)] == [False, True]
    assert is_paragraph("one\ntwo")
    assert not is_paragraph("a#1; a#2\na#3, a#4" * 30, alone=False)
    assert is_paragraph("Six words or more in each, as sentences have them with commas. " * 5, alone=False)
    assert all(map(looks_like_id, ("doc#1", "a|p=2", "https://x.test/a", "7", "c_1")))
    assert not any(map(looks_like_id, ("", "Bucket", "45 days", "四十五天内不可用", "x#" * 101)))


# whose answers


def test_answers_are_the_pipelines_where_traces_are_asked_for_and_expected_where_gold_is() -> None:
    assert run_cli("import", "jsonl", "mine.jsonl", "--gold", "gold.jsonl", "--trace-out", "t.jsonl").code == 0
    assert run_cli("import", "jsonl", "mine.jsonl", "--trace-out", "u.jsonl").code == 0
    assert lines("t.jsonl") == lines("u.jsonl")
    assert lines("t.jsonl")[3]["answer_json"]["claim"] == "It is 3 days."
    assert len(lines("t.jsonl")[3]["retrieved_ids"]) == 2
    assert run_cli("import", "jsonl", "mine.jsonl", "--gold-out", "g.jsonl").code == 0
    assert lines("g.jsonl")[3]["gold_reference"] == "It is 3 days [1]."
    assert lines("g.jsonl")[3]["gold_evidence"] == TRACES[3]["contexts"]


def test_one_column_of_answers_for_gold_and_traces_is_not_clear() -> None:
    done = run_cli("import", "jsonl", "mine.jsonl", "--gold-out", "g.jsonl", "--trace-out", "t.jsonl")
    message = (
        'mine.jsonl: expected the answers and those of the pipeline, got one column "answer"; '
        "say which: --map answer=answer or --map response=answer"
    )
    assert (done.code, done.err) == (2, said("RW-A01", message))


@pytest.mark.parametrize(
    ("names", "expected", "given"),
    [
        ("Question|Expected answer|Answer", 1, 2),
        ("Question|Answer|Reference", 2, 1),
        ("Question|Answer|Response", 1, 2),
        ("Frage|Soll-Antwort|Antwort", 1, 2),
        ("Frage|Antwort|Bot-Antwort", 1, 2),
        ("Frage|Ist-Antwort|Musterlösung", 2, 1),
        ("Question|Réponse attendue|Réponse", 1, 2),
        ("Question|Réponse du bot|Réponse", 2, 1),
        ("Pregunta|Respuesta esperada|Respuesta", 1, 2),
        ("Pregunta|Respuesta|Respuesta del bot", 1, 2),
        ("问题|标准答案|回答", 1, 2),
        ("问题|答案|模型回答", 1, 2),
        ("質問|正解|回答", 1, 2),
        ("質問|回答|ボットの回答", 1, 2),
    ],
)
def test_two_columns_of_answers(names: str, expected: int, given: int) -> None:
    columns = names.split("|")
    for role in ("", "both", "trace"):
        found = recognise(columns, {}, "t.csv", role).fields
        assert found == {"question": columns[0], "answer": columns[expected], "response": columns[given]}


def test_two_columns_that_could_be_either_are_an_error_with_the_line_to_type() -> None:
    Path("t.csv").write_text("Frage,Antwort,Answer\nx,y,z\n")
    done = run_cli("import", "csv", "t.csv", "--gold-out", "g.jsonl")
    message = (
        't.csv: expected one column with the answer, got "Answer", "Antwort"; '
        "say which: --map answer=Answer,response=Antwort"
    )
    assert (done.code, done.err) == (2, said("RW-A01", message))


@pytest.mark.parametrize("name", ["context", "contexts", "passages", "documents", "sources"])
def test_beside_answers_of_a_pipeline_passages_are_what_was_retrieved(name: str) -> None:
    found = recognise(["question", "answer", name], {}, "t", "trace").fields
    assert found == {"question": "question", "response": "answer", "retrieved": name}


def test_a_column_of_the_mapping_that_is_not_there_shows_the_nearest() -> None:
    with pytest.raises(RagworthyError) as caught:
        rw.import_file("jsonl", "mine.jsonl", map="claim=anwser")
    message = '--map: response: expected a column of mine.jsonl, got "anwser"; nearest: --map response=answer'
    assert str(caught.value) == said("RW-A09", message).rstrip("\n")
    with pytest.raises(RagworthyError, match=r'got "zzz\.text": it has "id", "question", "answer", "contexts"'):
        rw.import_file("jsonl", "mine.jsonl", map="claim=zzz.text")
    assert rw.import_file("jsonl", "mine.jsonl", map="claim=answer,retrieved=contexts.*").traces


# the next command


def test_the_next_command_names_the_corpus_where_evidence_has_no_ids() -> None:
    with_chunks = run_cli("import", "jsonl", "mine.jsonl", "--gold", "gold.jsonl", "--trace-out", "t.jsonl",
                          "--chunks-out", "c.jsonl")  # fmt: skip
    scoring = "next: ragworthy score answers --gold gold.jsonl --trace t.jsonl --corpus"
    gate = "--gates containment=0.80"  # no question is unanswerable: that gate is not measured
    assert with_chunks.out.splitlines()[-1] == f"{scoring} c.jsonl {gate}"
    without = run_cli("import", "jsonl", "mine.jsonl", "--gold", "gold.jsonl", "--trace-out", "t.jsonl")
    assert without.out.splitlines()[-1] == f"{scoring} CHUNKS.jsonl {gate}"
    write_jsonl(Path("ids.jsonl"), [{**one, "gold_citations": ["c"]} for one in GOLD])
    with_ids = run_cli("import", "jsonl", "mine.jsonl", "--gold", "ids.jsonl", "--trace-out", "t.jsonl")
    assert with_ids.out.splitlines()[-1] == f"next: ragworthy score answers --gold ids.jsonl --trace t.jsonl {gate}"
    assert run_cli(*with_chunks.out.splitlines()[-1].split()[2:]).code == 0
    unknown = {"qid": "U", "question": "Who?", "answerable": False, "gold_claim_substr": [], "gold_citations": []}
    write_jsonl(Path("both.jsonl"), [*GOLD, unknown])
    both = run_cli("import", "jsonl", "mine.jsonl", "--gold", "both.jsonl", "--trace-out", "t.jsonl")
    assert "--gates" not in both.out.splitlines()[-1]


def test_so_does_a_run_and_the_advice_of_a_score_without_it() -> None:
    Path("whose_bot.py").write_text(
        "def answer(qid, q, seed, jitter, knobs):\n"
        "    return {'answer_json': {'claim': '45 days', 'citations': []}, 'retrieved_ids': []}\n"
    )
    ran = run_cli("run", "--target", "whose_bot:answer", "--gold", "gold.jsonl", "--out", "runs")
    assert (
        "next: ragworthy score answers --gold gold.jsonl --trace runs/traces.jsonl --corpus CHUNKS.jsonl "
        "--gates containment=0.80" in ran.out.splitlines()
    )
    scored = run_cli("score", "answers", "--gold", "gold.jsonl", "--trace", "runs/traces.jsonl",
                     "--gates", "precision=0.5", "--full")  # fmt: skip
    assert scored.code == 4
    assert (
        "  evidence is bound to no chunk: 6 questions name evidence or sources and no ids: "
        "add --corpus CHUNKS.jsonl (or the index)\n"
    ) in scored.out
    assert "give it cases" not in scored.out


# habits of tables


def notes(*answers: str, **options: Any) -> list[str]:
    rows = "".join(f'q{nth},"{text}"\n' for nth, text in enumerate(answers))
    Path("t.csv").write_text(f"Question,Expected answer\n{rows}", encoding="utf-8")
    return rw.import_file("csv", "t.csv", **options).notes


def test_answers_that_say_there_is_none_are_named_with_the_option() -> None:
    told = notes("keine Angabe", "45 days", "keine Angabe", "–")
    assert told[0] == (
        "2 answers are 'keine Angabe', 1 answer is '–': --unanswerable 'keine Angabe' --unanswerable '–' "
        "if there is no answer"
    )
    asked = notes("keine Angabe", "45 days", "N/A")
    assert "--unanswerable 'keine Angabe' --unanswerable N/A if there is no answer" in asked[1]
    done = notes("keine Angabe", "45 days", unanswerable=["keine Angabe"])
    assert not any("if there is no answer" in one for one in done)
    assert all(one == one.casefold() for one in NO_ANSWERS - {"weiß nicht"})


@pytest.mark.parametrize("text", ["k. A.", "k.A.", "-", "?", "n.a.", "none", "Unknown", "weiß nicht", "weiss nicht",
                                  "sin datos", "inconnu", "无", "不知道", "なし", "不明"])  # fmt: skip
def test_words_for_no_answer_in_several_languages(text: str) -> None:
    assert any(one.startswith(f"1 answer is '{text}'") for one in notes("45 days", text))


def test_several_answers_in_one_cell_are_named_with_the_option() -> None:
    told = notes("45 days; 46 days", "red; green", "one / two", "three / four", "a|b", "x\ny", "z\nw")
    assert told[:3] == [
        "2 answers hold ';': --split-on ';' if these are several answers",
        "2 answers hold ' / ': --split-on ' / ' if these are several answers",
        "2 answers hold line breaks: --split-on '\\n' if these are several answers",
    ]
    assert not any("--split-on" in one for one in notes("a; b", "c; d", split_on=";"))
    found = rw.import_file("csv", "t.csv", split_on=";").gold
    assert found[0]["gold_claim_substr"] == ["a", "b"]
    notes("x\ny", "z\nw")
    assert rw.import_file("csv", "t.csv", split_on="\\n").gold[0]["gold_claim_substr"] == ["x", "y"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Mental Health (Care and Treatment) (Scotland) Act 2003", False),
        ("Verordnung (EU) 2016/679 des Europäischen Parlaments und des Rates", False),
        ("The Name of the Wind and the Wise Man's Fear and More of It", True),  # 14 words
        ("the name of a bucket stays blocked for 45 days", True),
        ("Der Name bleibt nach dem Löschen 45 Tage gesperrt", True),
        ("Names stay blocked for 45 days.", True),
    ],
)
def test_a_name_without_a_full_stop_is_a_piece(text: str, sentence: bool) -> None:
    assert is_sentence(text) is sentence
