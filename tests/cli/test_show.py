"""`ragworthy show`: one question of every suite, from files, with everything known of it."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import msgspec
import pytest

import cases as c
from conftest import run_cli, write_jsonl
from places import ROOT
from ragworthy.report.sheet import Page


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def page(*words: str) -> Page:
    """What JSON says, which must fit its type."""
    done = run_cli("show", *words, "--format", "json")
    assert done.code in (0, 1), done.err
    return msgspec.json.decode(done.out, type=Page)


FILES = ("--gold", "gold.jsonl", "--trace", "traces.jsonl")


def answers() -> None:
    """A question whose gold chunk is not retrieved, a right one, and one without an answer."""
    gold = c.answers_gold(3, 2)
    gold[0] |= {"gold_claim_substr": ["Answer Q1"], "gold_claim_all": [["45 days", "forty-five days"], "in Bonn"]}
    traces = c.answers_traces(3)
    said = {"claim": "It is answer q1,\nfor forty-five days.", "citations": ["z#1"]}
    traces[0] |= {"retrieved_ids": ["z#1", "y#2"], "answer_json": said}
    write_jsonl(Path("gold.jsonl"), gold)
    write_jsonl(Path("traces.jsonl"), traces)


CHUNKS = [
    {"chunk_id": "d#q1", "text": "Answer Q1: 45 days, in Bonn."},
    {"chunk_id": "z#1", "text": "Something\nelse."},
    {"chunk_id": "y#2", "text": "你好，世界"},
    {"chunk_id": "not wanted", "text": "never shown"},
]


def test_an_answer_with_its_texts() -> None:
    answers()
    write_jsonl(Path("corpus.jsonl"), CHUNKS)
    done = run_cli("show", "q1", *FILES, "--corpus", "corpus.jsonl")
    assert (done.code, done.err) == (1, "")
    assert (
        done.out
        == """\
q1  ANS_NO_HIT (retrieval: not_retrieved)
  question   What about q1?
  expected   Answer Q1; and 45 days or forty-five days; and in Bonn
  claim      It is ⟦answer q1⟧,
           | for ⟦forty-five days⟧.
  lacks      in Bonn
  cites      z#1
  gold       d#q1 (not retrieved)
  retrieved  1 z#1 (cited), 2 y#2
  why        no gold evidence was retrieved; missing: in Bonn

  –  d#q1  (gold, not retrieved)
     | Answer Q1: 45 days, in Bonn.
  1  z#1  (cited)
     | Something
     | else.
  2  y#2
     | 你好，世界

  metric                 this question
  answers.precision      0.0
  answers.chr            0.0
  answers.over_refusal   0.0
  answers.recall@5       0.0
  answers.hit@5          0.0
  answers.chr_ceiling@5  0.0
  answers.compliance     1.0
  answers.containment    0.0
  answers.support        0.0
  answers.missing        0.0
    no value: answers.under_refusal: not among the unanswerable questions
    no value: answers.scu, answers.scu_violations: constraints were not checked (scu = false)

  to go on
    ragworthy explain not_retrieved
    ragworthy gold lint gold.jsonl --corpus corpus.jsonl
    ragworthy explain answers.precision
    ragworthy explain answers.chr
    ragworthy explain answers.recall
questions: 0 of 1 good (exit 1)
"""
    )


def test_a_run_of_the_retrieval_suite_by_wording_and_seed() -> None:
    write_jsonl(Path("gold.jsonl"), c.retrieval_gold(1, 1))
    good = c.retrieval_traces(1)[0]
    bad = good | {"topk": good["topk"][::-1], "answer_citations": [good["topk"][1]]}
    runs = [
        (bad if (wording, seed) == (1, 0) else good)
        | {"paraphrase": wording, "seed": seed, "query": f"wording {wording}"}
        for wording in range(3)
        for seed in range(2)
    ]
    write_jsonl(Path("traces.jsonl"), [run | {"ΔS": [0.125, 0.5]} for run in runs])
    done = run_cli("show", "q1", *FILES)
    assert (done.code, done.err) == (1, "")
    assert done.out.startswith("""\
q1  NOT_COVERED (citation: not_cited)
  question   wording 1
  cites      S.2.p.z
  gold       S.1.p.q1 (rank 2)
  retrieved  1 S.2.p.z (cited), 2 S.1.p.q1 (gold)
  why        a relevant block is among the first 5, but another section is cited (in 1 of 6 runs)

  wording  seed  query      label        ranks       returned  cites     ΔS     λ
  0        0     wording 0  OK           S.1.p.q1 1  2         S.1.p.q1  0.125  →
  0        1     wording 0  OK           S.1.p.q1 1  2         S.1.p.q1  0.125  →
  1        0     wording 1  NOT_COVERED  S.1.p.q1 2  2         S.2.p.z   0.125  ×
  1        1     wording 1  OK           S.1.p.q1 1  2         S.1.p.q1  0.125  →
  2        0     wording 2  OK           S.1.p.q1 1  2         S.1.p.q1  0.125  →
  2        1     wording 2  OK           S.1.p.q1 1  2         S.1.p.q1  0.125  →

  metric                         this question
""")
    # recall@1 is the mean over six runs, of which one has the block second: 5/6.
    assert "  retrieval.recall               @1 0.8333, @3 1.0, @5 1.0, @10 1.0\n" in done.out
    sheet = page("q1", *FILES).questions[0]
    assert sheet.own["lambda"] == "<>" and sheet.runs[2]["ranks"] == {"S.1.p.q1": 2}


def test_trec_files_have_ids_and_ranks() -> None:
    Path("qrels.txt").write_text("q1 0 a 1\nq1 0 b 2\nq1 0 c 0\n")
    Path("run.txt").write_text("q1 Q0 c 1 0.5 t\nq1 Q0 b 2 0.5 t\nq1 Q0 x 3 0.9 t\n")
    sheet = page("q1", "--suite", "retrieval", "--qrels", "qrels.txt", "--run", "run.txt").questions[0]
    # x has the best score; c and b are tied, and ties go by id, descending.
    assert [(one.id, one.rank, one.gold) for one in sheet.passages] == [
        ("a", None, True), ("x", 1, False), ("c", 2, False), ("b", 3, True),
    ]  # fmt: skip
    assert sheet.metrics["retrieval.mrr"] == pytest.approx(1 / 3)


def test_every_run_of_stability_and_latency() -> None:
    write_jsonl(Path("gold.jsonl"), [row | {"constraints": []} for row in c.answers_gold(2, 1)])
    runs = [run | {"stage_ms": {"retrieval": 20, "llm": 70}, "jitter": "none"} for run in c.runs(2)]
    runs[1] |= {"answer_json": {"claim": "no idea", "citations": []}, "knobs": {"k": 9}}
    write_jsonl(Path("runs.jsonl"), runs)
    files = ("--gold", "gold.jsonl", "--runs", "runs.jsonl")
    stable = page("q1", "--suite", "stability", *files).questions[0]
    assert [(run["seed"], run["jitter"], run["label"], run["claim"], run["cites"]) for run in stable.runs] == [
        (0, "none", "OK", "It is answer q1.", ["d#q1"]),
        (1, "none", "ANS_NO_HIT", "no idea", []),
    ]
    assert stable.answer is not None and stable.answer.claim == "no idea" and not stable.good
    timed = page("q1", "--suite", "latency", *files).questions[0]
    assert {(run["load"], run["e2e_ms"], str(run["stages_ms"])) for run in timed.runs} == {
        ("5", 100.0, "{'retrieval': 20.0, 'llm': 70.0}"),
        ("5", 101.0, "{'retrieval': 20.0, 'llm': 70.0}"),
    }
    assert len({run["configuration"] for run in timed.runs}) == 2


def test_a_question_that_was_never_asked() -> None:
    answers()
    write_jsonl(Path("traces.jsonl"), c.answers_traces(3)[1:])
    done = run_cli("show", "q1", *FILES)
    assert (done.code, done.out.splitlines()[0]) == (1, "q1  MISSING (pipeline: missing)")
    assert "claim" not in done.out.split("metric")[0]
    write_jsonl(Path("runs.jsonl"), c.runs(3)[2:])
    for suite, label in (("stability", "MISSING"), ("latency", "MISSING")):
        sheet = page("q1", "--suite", suite, "--gold", "gold.jsonl", "--runs", "runs.jsonl").questions[0]
        assert (sheet.label, sheet.good, sheet.runs) == (label, False, [])


@pytest.mark.parametrize(
    ("name", "votes"),
    [
        ("pairs", [("scholar", "VALID"), ("auditor", "REJECT"), ("final", "REJECT")]),
        ("two_files", [("scholar", "VALID"), ("auditor", "REJECT"), ("final", "REJECT")]),
        ("raters", [("ada", "good"), ("bob", "good")]),
        ("operators", [("ada", "correct"), ("bob", "correct"), ("cyd", "correct")]),
    ],
)
def test_every_vote(name: str, votes: list[tuple[str, str]]) -> None:
    case = getattr(c, name)(Path())
    flags = [word for key, file in case.files.items() for word in (f"--{key}", file)]
    sheet = page("q3", "--suite", "agreement", *flags).questions[0]
    assert [(run.get("who") or run.get("rater"), run["vote"]) for run in sheet.runs] == votes
    assert sheet.good is (name in ("raters", "operators"))


def test_votes_on_traces_come_with_the_answer() -> None:
    c.agreement(Path())
    sheet = page("q1", "--suite", "agreement", *FILES).questions[0]
    assert sheet.answer is not None and sheet.answer.matches == [(6, 15)] and sheet.expected.text == "answer q1"
    assert [run["who"] for run in sheet.runs] == ["scholar", "auditor", "final"]


def test_a_structured_answer_field_by_field() -> None:
    c.structured(Path())
    outputs = c.outputs(3)
    outputs[1] |= {"raw": '{"total": 7}', "context": [{"source_path": "a.md", "text": "The total is one."}]}
    write_jsonl(Path("outputs.jsonl"), outputs)
    files = ("--questions", "questions.jsonl", "--outputs", "outputs.jsonl", "--definition", "definition.toml")
    sheet = page("q2", "--suite", "structured", *files).questions[0]
    assert (sheet.own["score"], sheet.own["fields"][0]["name"], sheet.own["fields"][0]["part"]) == (0.0, "total", 0.0)
    assert sheet.passages[0].text == "The total is one." and not sheet.good
    done = run_cli("show", "q2", "--suite", "structured", *files)
    assert done.out.startswith("q2  0.0 of 100  LOW_SCORE (generation: claim_wrong)\n") and "    - 1" in done.out


# texts


def test_texts_beside_the_traces_are_found_and_their_lack_is_told() -> None:
    answers()
    without = page("q1", *FILES).questions[0]
    assert without.notes == [
        "no texts: give the index or its chunks (corpus, --corpus), or lay chunks.jsonl of the run beside the traces "
        "('ragworthy run' writes it)"
    ]
    assert {one.text for one in without.passages} == {None}
    write_jsonl(Path("chunks.jsonl"), CHUNKS[1:])
    beside = page("q1", *FILES).questions[0]
    assert beside.notes == ["not in chunks.jsonl beside the traces, so without a text: d#q1"]
    assert {one.id: one.text for one in beside.passages} == {
        "d#q1": None,
        "z#1": "Something\nelse.",
        "y#2": "你好，世界",
    }
    Path("chunks.jsonl").write_text("{\n")
    assert page("q1", *FILES).questions[0].notes[0].startswith("not in chunks.jsonl beside the traces")


def test_long_texts_are_wrapped_and_cut_and_shown_whole_on_demand() -> None:
    answers()
    claim = "Es ist kein Wort zu viel. " * 60
    traces = c.answers_traces(3)
    traces[0] |= {"answer_json": {"claim": claim, "citations": []}}
    write_jsonl(Path("traces.jsonl"), traces)
    write_jsonl(Path("chunks.jsonl"), [{"chunk_id": "d#q1", "text": "汉" * 500}])
    short = run_cli("show", "q1", *FILES).out
    assert "… 560 more characters (--full)\n" in short  # 26 · 60 − 1,000
    assert "… 100 more characters (--full)\n" in short
    # A sign of Chinese takes two columns: no line is wider than 100.
    assert max(len(line) + sum(ord(sign) > 0x2E80 for sign in line) for line in short.splitlines()) <= 100
    whole = run_cli("show", "q1", *FILES, "--full").out
    assert whole.count("汉") == 500 and whole.count("kein") == 60 and "--full" not in whole


def test_control_characters_are_shown_and_right_to_left_text_stays() -> None:
    answers()
    traces = c.answers_traces(3)
    traces[0] |= {"answer_json": {"claim": "\x1b[31mred\n::error::שלום עולם\u202e", "citations": ["d#q1"]}}
    write_jsonl(Path("traces.jsonl"), traces)
    for form in ("text", "markdown", "json"):
        out = run_cli("show", "q1", *FILES, "--format", form).out
        assert "\x1b" not in out and "\u202e" not in out and "שלום עולם" in out
        assert not re.search(r"^\s*::error", out, re.M)


# ids, formats, exit codes


def test_unknown_questions_are_answered_with_near_ones() -> None:
    gold = [row | {"qid": f"library-{nth}"} for nth, row in enumerate(c.answers_gold(3, 1), 7)]
    write_jsonl(Path("gold.jsonl"), gold)
    write_jsonl(Path("traces.jsonl"), [])
    Path("traces.jsonl").write_text('{"qid": "library-7", "answer_json": {"claim": "x"}}\n')
    done = run_cli("show", "libary-8", *FILES)
    assert (done.code, done.out) == (2, "")
    first = done.err.splitlines()[0]
    assert first.startswith('expected a question of answers, got "libary-8": did you mean library-8 or ')
    assert first.endswith("? [RW-U13]")
    assert run_cli("show", "?", *FILES).err.splitlines()[0] == 'expected a question of answers, got "?" [RW-U13]'


def test_several_questions_in_the_order_asked_for() -> None:
    answers()
    both = page("q3", "q1", "q3", *FILES)
    assert [one.qid for one in both.questions] == ["q3", "q1"]
    assert run_cli("show", "q3", "q2", *FILES).out.endswith("questions: 2 of 2 good (exit 0)\n")
    assert run_cli("show", "q3", "q1", *FILES).code == 1
    assert run_cli("show", "q3", *FILES, "-q").out == "questions: 1 of 1 good (exit 0)\n"


def test_files_are_written_and_inputs_never_replaced() -> None:
    answers()
    for name, begin in (("q.txt", "q1  ANS"), ("q.md", "### q1"), ("q.json", "{")):
        assert run_cli("show", "q1", *FILES, "-o", name, "-q").code == 1
        assert Path(name).read_text().startswith(begin)
    before = Path("gold.jsonl").read_bytes()
    Path("link.txt").symlink_to("gold.jsonl")
    done = run_cli("show", "q1", *FILES, "-o", "link.txt")
    assert (done.code, Path("gold.jsonl").read_bytes()) == (2, before)
    done = run_cli("show", "q1", *FILES, "-o", "q.pdf")
    assert done.err.splitlines()[0] == "-o: expected a .txt, .md, .json file, got q.pdf [RW-U01]"


def test_wrong_usage() -> None:
    answers()
    for words, message in (
        (("--gold", "gold.jsonl"), "expected --gold and --trace, or --suite SUITE with its files [RW-U01]"),
        ((*FILES, "-c", "x.toml"), "expected files, or -c, or --run, got two of them [RW-U01]"),
        (
            ("--suite", "answer"),
            "--suite: expected one of answers, retrieval, structured, stability, latency, agreement",
        ),
    ):
        done = run_cli("show", "q1", *words)
        assert done.code == 2 and done.err.startswith(message), done.err


def test_broken_input_is_an_error_with_its_line() -> None:
    answers()
    with Path("traces.jsonl").open("a") as file:
        file.write("{broken\n")
    done = run_cli("show", "q2", *FILES)
    assert done.code == 2 and done.err.startswith("traces.jsonl:4: ") and "[RW-F07]" in done.err


def test_the_published_schema_is_that_of_the_page() -> None:
    answers()
    schema = json.loads((ROOT / "schemas/show.json").read_text())
    assert schema["$id"] == "ragworthy.show/1"
    shown: dict[str, Any] = json.loads(run_cli("show", "q1", *FILES, "--format", "json").out)
    assert shown["schema"] == schema["$id"]
    sheet = schema["$defs"]["Sheet"]["properties"]
    assert list(shown["questions"][0]) == list(sheet)
    assert list(shown) == list(schema["$defs"]["Page"]["properties"])


# commands to go on


def test_every_command_to_go_on_works(tmp_path: Path) -> None:
    Path("docs").mkdir()
    Path("docs/a.md").write_text("# Loans\n\nAdults may borrow 12 books.\n\n# Fees\n\nEach day costs 10 cents.\n")
    assert run_cli("index", "build", "--docs", "docs", "--out", "my index", "--dense", "none").code == 0
    ids = [json.loads(line)["chunk_id"] for line in Path("my index/chunks.jsonl").read_text().splitlines()]
    gold = c.answers_gold(2, 1)
    gold[0] |= {"question": "How many books?", "gold_evidence": ["Adults may borrow 12 books."], "gold_citations": []}
    write_jsonl(Path("gold.jsonl"), gold)
    write_jsonl(
        Path("traces.jsonl"), [c.trace("q1", retrieved_ids=ids[1:], answer_json={"claim": "No.", "citations": []})]
    )
    sheet = page("q1", *FILES, "--corpus", "my index").questions[0]
    assert sheet.commands[:4] == [
        f"ragworthy explain {sheet.cause}",
        "ragworthy index search 'my index' 'How many books?'",
        "ragworthy gold lint gold.jsonl --corpus 'my index'",
        "ragworthy gold bind gold.jsonl --corpus 'my index' -o gold.bound.jsonl",
    ]
    for command in sheet.commands:
        done = run_cli(*shlex.split(command)[1:])
        assert done.code in (0, 1), (command, done.err)
    assert any(one.gold and one.text == "Adults may borrow 12 books." for one in sheet.passages)
