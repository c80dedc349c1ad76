"""`ragworthy show` of a policy, a receipt and a report; and the command with which offenders of a report end."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import msgspec
import pytest

import cases as c
from conftest import run_cli, write_jsonl
from ragworthy import rows
from ragworthy.report.sheet import Page

POLICY = """\
version = 1

[answers]
gold = "gold.jsonl"
traces = "traces.jsonl"

[retrieval]
gold = "retrieval.jsonl"
traces = "topk.jsonl"

[stability]
gold = "gold.jsonl"
runs = "runs.jsonl"

[latency]
gold = "gold.jsonl"
runs = "runs.jsonl"
"""


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four suites over the same questions; q1 is answered wrongly, and retrieval has a question of its own."""
    monkeypatch.chdir(tmp_path)
    wrong = {"answer_json": {"claim": "no idea", "citations": ["z#1"]}}
    write_jsonl(Path("gold.jsonl"), [row | {"constraints": []} for row in c.answers_gold(3, 2)])
    write_jsonl(Path("traces.jsonl"), [one | wrong if one["qid"] == "q1" else one for one in c.answers_traces(3)])
    write_jsonl(Path("runs.jsonl"), [one | wrong if one["qid"] == "q1" else one for one in c.runs(3)])
    write_jsonl(Path("retrieval.jsonl"), c.retrieval_gold(4, 2))
    write_jsonl(Path("topk.jsonl"), c.retrieval_traces(4))
    write_jsonl(Path("pairs.jsonl"), c.pair_votes(3))
    Path("ragworthy.toml").write_text(POLICY)


def page(*words: str) -> Page:
    done = run_cli("show", *words, "--format", "json")
    assert done.code in (0, 1), done.err
    return msgspec.json.decode(done.out, type=Page)


def seen(found: Page) -> list[tuple[str, str, bool]]:
    return [(one.suite, one.qid, one.good) for one in found.questions]


# a policy


def test_a_question_in_every_suite_that_has_it() -> None:
    wrong = [("answers", "q1", False), ("retrieval", "q1", True), ("stability", "q1", False), ("latency", "q1", False)]
    assert seen(page("q1")) == wrong
    assert page("q1").source == "policy ragworthy.toml"
    assert seen(page("q4", "q1", "-c", "ragworthy.toml")) == [("retrieval", "q4", True), *wrong]
    assert seen(page("q1", "--suite", "latency")) == wrong[3:]
    text = run_cli("show", "q1")
    assert [line for line in text.out.splitlines() if line.startswith("──")] == [
        "── answers", "── retrieval", "── stability", "── latency",
    ]  # fmt: skip
    assert text.out.endswith("\nquestions: 1 of 4 good (exit 1)\n")
    assert "## stability\n" in run_cli("show", "q1", "--format", "markdown").out
    unknown = run_cli("show", "q99")
    message = 'expected a question of answers or retrieval or stability or latency, got "q99"'
    assert (unknown.code, unknown.err.partition(" [RW-U13]")[0].partition(":")[0]) == (2, message)


def test_a_suite_that_cannot_be_read_does_not_hide_the_others() -> None:
    Path("runs.jsonl").unlink()
    found = page("q1")
    assert seen(found) == [("answers", "q1", False), ("retrieval", "q1", True)]
    assert [line.partition(" [")[0] for line in found.not_shown] == [
        "stability: runs.jsonl: expected a file, got nothing at this path",
        "latency: runs.jsonl: expected a file, got nothing at this path",
    ]
    assert "not shown: stability: runs.jsonl: " in run_cli("show", "q1").out
    assert run_cli("show", "q1", "--suite", "latency").code == 2


def test_a_suite_that_the_policy_does_not_have() -> None:
    done = run_cli("show", "q1", "--suite", "agreement")
    message = "--suite: expected a suite of ragworthy.toml (answers, retrieval, stability, latency), got agreement"
    assert (done.code, done.err.splitlines()[0]) == (2, f"{message} [RW-U01]")


# a receipt


def test_a_receipt_leads_to_the_files_of_its_run() -> None:
    run_cli("gate", "-q", "--receipt", "receipt.json")
    found = page("q1", "--run", "receipt.json")
    assert seen(found) == seen(page("q1")) and found.source == "run receipt.json"
    scored = (
        "score",
        "answers",
        "--gold",
        "gold.jsonl",
        "--trace",
        "traces.jsonl",
        "--k",
        "1",
        "--receipt",
        "one.json",
    )
    run_cli(*scored, "-q")
    assert "answers.recall@1" in page("q1", "--run", "one.json").questions[0].metrics


def test_a_receipt_whose_inputs_are_gone_says_which() -> None:
    run_cli("gate", "-q", "--receipt", "receipt.json")
    Path("traces.jsonl").rename("elsewhere.jsonl")
    assert seen(page("q1", "--run", "receipt.json"))[0] == ("answers", "q1", False)  # moved: found by its bytes
    Path("elsewhere.jsonl").unlink()
    done = run_cli("show", "q1", "--run", "receipt.json")
    message = "answers.trace: traces.jsonl: expected a file, got nothing at this path"
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines()[0] == f"receipt.json: expected the inputs as they were, got: {message} [RW-U14]"


# a report


def test_a_report_leads_to_the_files_of_its_run() -> None:
    run_cli("gate", "-q", "-o", "report.json")
    assert seen(page("q1", "--run", "report.json")) == seen(page("q1"))
    assert seen(page("q1", "--run", "report.json", "--suite", "stability")) == [("stability", "q1", False)]


@pytest.mark.parametrize(
    ("words", "metric"),
    [
        (("answers", "--gold", "gold.jsonl", "--trace", "traces.jsonl", "--k", "1,2"), "answers.recall@2"),
        (("retrieval", "--gold", "retrieval.jsonl", "--trace", "topk.jsonl", "--k", "2"), "retrieval.recall@2"),
        (("stability", "--gold", "gold.jsonl", "--runs", "runs.jsonl", "--limits", "acr=0.5"), "stability.acr"),
        (("latency", "--gold", "gold.jsonl", "--runs", "runs.jsonl"), "latency.p95"),
        (("agreement", "--gold", "gold.jsonl", "--trace", "traces.jsonl"), "agreement.percent"),
    ],
)
def test_a_report_of_score_holds_what_it_was_asked(words: tuple[str, ...], metric: str) -> None:
    Path("reports").mkdir()
    run_cli("score", *words, "-q", "-o", "reports/report.json")
    found = page("q1", "--run", "reports/report.json")
    assert [one.suite for one in found.questions] == [words[0]] and metric in found.questions[0].metrics


def test_a_report_whose_files_changed_tells_what_it_knows() -> None:
    run_cli("score", "answers", "--gold", "gold.jsonl", "--trace", "traces.jsonl", "-q", "-o", "report.json")
    report: dict[str, Any] = json.loads(Path("report.json").read_text())
    body = report["suites"]["answers"]
    body.pop("rows", None)
    Path("bare.json").write_text(json.dumps(report))
    with Path("traces.jsonl").open("a") as file:
        file.write("\n")
    done = run_cli("show", "q1", "--run", "bare.json")
    assert done.code == 1 and done.out.startswith("q1  ANS_NO_HIT (")
    assert "  claim      no idea\n" in done.out
    sheet = page("q1", "--run", "bare.json").questions[0]
    assert sheet.notes == [
        "from the report alone: trace: traces.jsonl: it is not there, or it is another file by now",
        "the report holds no rows, so what metrics say of the question is not known",
    ]
    lost = run_cli("show", "q2", "--run", "bare.json")
    assert lost.err.splitlines()[0] == (
        'bare.json: expected the inputs as they were, or a report that tells of "q2", got: answers: trace: '
        "traces.jsonl: it is not there, or it is another file by now [RW-U14]"
    )
    kept = rows.Rows(
        ("q1", "q2"), ("q1", "q2"), ("ANS_NO_HIT", "OK"), ("not_cited", None), (1, 1), ((), ()),
        {"answers.precision": (False, True), "answers.under_refusal": (None, None)},
    )  # fmt: skip
    body["rows"] = rows.encoded(kept)
    Path("rows.json").write_text(json.dumps(report))
    one, two = page("q1", "q2", "--run", "rows.json").questions
    assert (one.label, one.cause, one.metrics) == ("ANS_NO_HIT", "not_cited", {"answers.precision": 0.0})
    assert (two.label, two.good, two.metrics) == ("OK", True, {"answers.precision": 1.0})


def test_a_policy_that_changed_is_not_taken_for_the_one_of_the_report() -> None:
    run_cli("gate", "-q", "-o", "report.json")
    Path("ragworthy.toml").write_text(POLICY.replace("traces.jsonl", "others.jsonl"))
    found = page("q1", "--run", "report.json", "--suite", "answers")
    assert found.questions[0].answer is not None and found.questions[0].answer.claim == "no idea"


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"schema": "other/1"}', '{"schema": "ragworthy.report/1"}', "\x00", '"x"']
)
def test_what_is_no_run(text: str) -> None:
    Path("run.json").write_text(text)
    done = run_cli("show", "q1", "--run", "run.json")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("run.json: ") and "[RW-U15]" in done.err


def test_the_message_of_another_schema() -> None:
    Path("run.json").write_text('{"schema": "other/1"}')
    assert run_cli("show", "q1", "--run", "run.json").err.splitlines()[0] == (
        'run.json: schema: expected "ragworthy.receipt/1" or "ragworthy.report/1", got "other/1" [RW-U15]'
    )


def test_settings_that_no_command_wrote_lead_to_no_defect() -> None:
    run_cli("score", "answers", "--gold", "gold.jsonl", "--trace", "traces.jsonl", "-q", "-o", "report.json")
    report: dict[str, Any] = json.loads(Path("report.json").read_text())
    odd: list[dict[str, Any]] = [{"k": "x"}, {"k": [0]}, {"refusals": 3}, {"rule_packs": [1]}, {"short_substr": {}}]
    for settings in odd:
        body = report["suites"]["answers"] | {"settings": settings}
        Path("odd.json").write_text(json.dumps(report | {"suites": {"answers": body}}))
        done = run_cli("show", "q1", "--run", "odd.json")
        assert done.code in (1, 2) and "RW-X70" not in done.err, (settings, done.err)


# the command with which offenders end


def command_in(text: str) -> list[str]:
    found = re.findall(r"(?:verything about one of them|see one): `?(ragworthy show [^`\n]+)", text)
    assert len(found) == 1, text
    return shlex.split(found[0])[1:]


@pytest.mark.parametrize(
    "words",
    [
        ("answers", "--gold", "gold.jsonl", "--trace", "traces.jsonl", "--k", "1", "--refusal", "keine Ahnung"),
        ("stability", "--gold", "gold.jsonl", "--runs", "runs.jsonl", "--limits", "acr=0.99", "css=0.5"),
        ("latency", "--gold", "gold.jsonl", "--runs", "runs.jsonl", "--gates", "answers.precision=1"),
        ("agreement", "--pairs", "pairs.jsonl"),
    ],
)
@pytest.mark.parametrize("form", ["text", "markdown"])
def test_offenders_of_a_score_end_with_a_command_that_works(words: tuple[str, ...], form: str) -> None:
    text = run_cli("score", *words, "--format", form).out
    command = command_in(text)
    assert command[2:4] == ["--suite", words[0]]
    done = run_cli(*command)
    assert done.code == 1 and done.out.startswith(f"{command[1]}  "), (command, done.err)


def test_the_command_has_the_settings_of_the_score() -> None:
    words = (
        "--gold",
        "gold.jsonl",
        "--trace",
        "traces.jsonl",
        "--k",
        "1",
        "--refusal",
        "keine Ahnung",
        "--scu-enforced",
    )
    command = command_in(run_cli("score", "answers", *words, "--slice", "topic").out)
    assert command == ["show", "q1", "--suite", "answers", *words]


def test_offenders_of_a_policy_lead_to_the_policy() -> None:
    text = run_cli("gate").out + run_cli("gate", "--full").out
    found = re.findall(r"(?:everything about one of them|see one): (.+)", text)
    assert len(found) > 1 and set(found) == {"ragworthy show q1 -c ragworthy.toml"}


def test_no_command_is_offered_that_would_not_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_cli("score", "answers", "--gold", "gold.jsonl", "--trace", "traces.jsonl", "-q", "-o", "report.json")
    Path("else").mkdir()
    monkeypatch.chdir("else")
    words = ("score", "answers", "--gold", tmp_path / "gold.jsonl", "--trace", tmp_path / "traces.jsonl")
    whole, short = run_cli(*words, "--full").out, run_cli(*words).out
    assert "Worst offenders" in whole and "everything about one of them" not in whole
    assert "Worst: " in short and "see one" not in short


# the history


def test_the_past_of_a_question_and_a_run_of_the_history(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sqlalchemy")
    monkeypatch.delenv("RAGWORTHY_STORE", raising=False)
    Path("ragworthy.toml").write_text(POLICY.split("[retrieval]")[0])
    run_cli("gate", "-q")
    right = Path("traces.jsonl").read_text()
    write_jsonl(Path("traces.jsonl"), c.answers_traces(3))
    run_cli("gate", "-q")
    newest, oldest = page("q1").questions[0].past
    assert (newest.label, oldest.label) == ("OK", "ANS_NO_HIT") and newest.run != oldest.run
    assert oldest.when <= newest.when
    assert f"  {newest.run}  " in run_cli("show", "q1").out.split("  its past\n")[1]
    sheet = page("q1", "--run", f"history:{oldest.run}").questions[0]
    assert (sheet.label, sheet.good) == ("ANS_NO_HIT", False) and "answers.precision" in sheet.metrics
    assert sheet.notes[0].startswith("from the report alone: trace: traces.jsonl: it is another file by now")
    Path("traces.jsonl").write_text(right)
    assert page("q1", "--run", f"history:{oldest.run}").source == f"run history:{oldest.run}"


def test_a_history_that_cannot_be_read_hides_no_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAGWORTHY_STORE", raising=False)
    Path(".ragworthy").mkdir()
    Path(".ragworthy/history.db").write_text("no database")
    found = page("q2", "--suite", "answers")
    assert found.questions[0].good and found.not_shown[0].startswith("its past: ")


def test_of_several_runs_every_one_is_shown_and_the_worst_in_full() -> None:
    """Right in the first run and wrong in two: that is not a good question."""
    right = {"qid": "q1", "answer_json": {"claim": "the answer to q1: 7 days", "citations": ["a#1"]}}
    gold = [{"qid": "q1", "question": "How long?", "answerable": True, "gold_claim_substr": ["7 days"],
             "gold_citations": ["a#1"]}]  # fmt: skip
    wrong = {"qid": "q1", "answer_json": {"claim": "9 weeks", "citations": ["a#1"]}}
    write_jsonl(Path("gold.jsonl"), gold)
    for name, one in (("one", right), ("two", wrong), ("three", wrong | {"seed": 3})):
        write_jsonl(Path(f"{name}.jsonl"), [one | {"retrieved_ids": ["a#1"]}])
    names = ["one.jsonl", "two.jsonl", "three.jsonl"]
    Path("ragworthy.toml").write_text(f'version = 1\n[answers]\ngold = "gold.jsonl"\ntraces = {json.dumps(names)}\n')
    (sheet,) = page("q1").questions
    assert not sheet.good and sheet.label == "ANS_NO_CONTAIN" and sheet.answer is not None
    assert sheet.answer.claim == "9 weeks" and sheet.metrics["answers.precision"] == 0
    assert [(one["run"], one["file"], one["label"]) for one in sheet.runs] == [
        (1, "one.jsonl", "OK"), (2, "two.jsonl", "ANS_NO_CONTAIN"), (3, "three.jsonl", "ANS_NO_CONTAIN"),
    ]  # fmt: skip
    assert sheet.notes[0] == "good in 1 of 3 runs; above and in the numbers is run 2"
    assert "ragworthy explain answers.precision" in sheet.commands
    done = run_cli("show", "q1")
    assert done.code == 1 and "questions: 0 of 1 good (exit 1)" in done.out
    assert "| 2 | `two.jsonl` | ANS_NO_CONTAIN" in run_cli("show", "q1", "--format", "markdown").out


def test_what_was_not_looked_at_is_not_said_to_be_good() -> None:
    sheet = next(one for one in page("q2").questions if one.suite == "answers")
    assert sheet.undefined["answers.scu"] == "constraints were not checked (scu = false)"
    assert sheet.undefined["answers.support"] == "no chunk texts to look into (--corpus)"
