"""`run` over structured questions: outputs that `score structured` reads, whatever the target does."""

import hashlib
import json
import signal
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import ragworthy as rw
from conftest import Done, run_cli, write_jsonl
from places import SERVERS
from ragworthy.codes import CATALOGUE
from ragworthy.load.definition import bundled
from ragworthy.load.prompt import bundled_prompt
from structured_case import lines_of, question, said

pytest.importorskip("httpx", reason="SKIPPED: httpx is not installed")

Row = dict[str, Any]
TOPIC = """\
version = 1
id = "topic"
expected = ""
good = 100

[[field]]
name = "topic"
kind = "label"
match = "exact"
weight = 1
"""
MINE = """\
import json, sys


def answer(*, q, **_):
    return {"raw": json.dumps({"topic": q.split()[-1]}), "context": [{"source_path": "a.md", "text": "x"}]}


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(answer(**json.loads(line))), flush=True)
"""
PROMPT = "---\nversion: p3\n---\nName the topic as JSON.\n"


class Served(NamedTuple):
    url: str
    log: Path

    def asked(self) -> list[Row]:
        return lines_of(self.log) if self.log.exists() else []


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    log = tmp_path / "asked.jsonl"
    command = [sys.executable, str(SERVERS / "output_server.py"), str(log)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield Served(f"http://127.0.0.1:{int(process.stdout.readline())}/ask", log)
        process.kill()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "topic.toml").write_text(TOPIC)
    (tmp_path / "prompt.md").write_text(PROMPT)
    return tmp_path


def asking(*texts: str) -> list[Row]:
    """Questions whose last word is the topic; the server writes that word."""
    return [
        {"id": f"Q{n}", "question": text, "expected": {"topic": text.split()[-1]}} for n, text in enumerate(texts, 1)
    ]


def array(path: str, rows: list[Row]) -> Path:
    Path(path).write_text(json.dumps(rows, indent=2))
    return Path(path)


def driven(target: str, *more: object, out: str = "out", gold: str = "questions.json") -> Done:
    usual = ("--definition", "topic.toml", "--retries", "0")
    return run_cli("run", "--target", target, "--gold", gold, "--out", out, *usual, *more)


def scored(*more: object, out: str = "out/outputs.jsonl") -> tuple[Done, Row]:
    files = ("--questions", "questions.json", "--outputs", out, "--definition", "topic.toml")
    done = run_cli("score", "structured", *files, "-o", "report.json", *more)
    return done, json.loads(Path("report.json").read_text()) if done.code in (0, 1, 3, 4) else {}


def test_an_array_of_questions_is_asked_and_its_outputs_carry_their_provenance(here: Path, server: Served) -> None:
    rows = asking(*(f"about t{n}" for n in range(12)))
    gold = array("questions.json", rows)
    done = driven(server.url, "--prompt", "prompt.md")
    assert done.code == 0, done.err
    assert done.out == (
        "asked 12 = written 12 + errored 0\n"
        "outputs: out/outputs.jsonl\n"
        "next: ragworthy score structured --questions questions.json --outputs out/outputs.jsonl --prompt prompt.md "
        "--definition topic.toml\n"
        "run: 12 replies (exit 0)\n"
    )
    whole, text = hashlib.sha256(PROMPT.encode()).hexdigest(), hashlib.sha256(b"Name the topic as JSON.\n").hexdigest()
    version = f"questions.json@sha256:{hashlib.sha256(gold.read_bytes()).hexdigest()}"
    outputs = lines_of(Path("out/outputs.jsonl"))
    assert [one["id"] for one in outputs] == [row["id"] for row in rows]
    for one, row in zip(outputs, rows, strict=True):
        assert json.loads(one["raw"]) == row["expected"]
        assert one["context"][0]["source_path"] == "manual.md"
        assert one["meta"] == {
            "adapter_id": "none",
            "effective_prompt_sha256": text,
            "eval_set_version": version,
            "index_version": "i1",
            "model_id": "m1",
            "prompt_sha256": whole,
            "prompt_version": "p3",
            "saw": text,  # what the target was sent is the text without its head
        }
    assert {tuple(sorted(one)) for one in server.asked()} == {("jitter", "knobs", "prompt", "q", "qid", "seed")}
    done, report = scored("--prompt", "prompt.md")
    assert (done.code, report["verdict"]) == (0, "SHIP"), done.out
    made = report["suites"]["structured"]["provenance"]
    assert (made["prompt_sha256"], made["prompt_version"], made["eval_set_version"]) == (whole, "p3", version)


def test_what_a_target_does_wrong_is_an_error_that_counts_and_never_a_missing_output(
    here: Path, server: Served
) -> None:
    verbs = (
        "about",
        "status 500",
        "text",
        "object",
        "fenced",
        "answers",
        "another",
        "huge",
        "error",
        "slow 9",
        "documents",
    )
    array("questions.json", asking(*(f"{verb} t{n}" for n, verb in enumerate(verbs))))
    done = driven(server.url, "--prompt", "prompt.md", "--timeout", "3", "--keep-going")
    assert done.code == 1
    assert "asked 11 = written 3 + errored 8\n" in done.out
    errors = {one["id"]: one.get("error") for one in lines_of(Path("out/outputs.jsonl"))}
    beginnings = {name: error and error.partition(": ")[0] for name, error in errors.items()}
    assert beginnings == {
        "Q1": None, "Q2": "status 500", "Q3": "bad reply", "Q4": "bad reply", "Q5": None, "Q6": "bad reply",
        "Q7": "bad reply", "Q8": "too large", "Q9": "truncated", "Q10": "timeout", "Q11": None,
    }  # fmt: skip
    assert errors["Q4"] == "bad reply: raw: expected what the model wrote as a text, got an object: give it as it came"
    assert errors["Q6"] == "bad reply: raw: expected what the model wrote as a text, got nothing"
    assert errors["Q7"] == 'bad reply: qid: expected "Q7", got "elsewhere"'
    assert lines_of(Path("out/outputs.jsonl"))[8]["context"][0]["chunk_id"] == "c1"  # an error keeps what is known
    done, report = scored()
    body = report["suites"]["structured"]
    assert report["verdict"] == "INVALID"  # most replies are errors; but of how they were made all is known
    assert not any("do not say" in reason for reason in report["invalid"])
    assert body["counts"]["missing"] == 0 and body["counts"]["errored"] == 8
    assert body["metrics"]["structured.score"]["exact"] == "200/11"  # two of eleven questions are right
    assert body["fail_counts"] == {"ok": 2, "provider_error": 8, "code_fence": 1}


def test_documents_beside_an_answer_are_its_context(here: Path, server: Served) -> None:
    array("questions.json", asking("documents t1"))
    assert driven(server.url).code == 0
    context = lines_of(Path("out/outputs.jsonl"))[0]["context"]
    assert context == [{"chunk_id": "c1", "source_path": "manual.md", "text": "First press."}]


def test_signs_that_a_terminal_obeys_are_kept_in_the_outputs_and_escaped_where_shown(
    here: Path, server: Served
) -> None:
    array("questions.json", asking("control t1"))
    done = driven(server.url, "--prompt", "prompt.md")
    assert done.code == 0 and "\x1b" not in done.out
    assert "\x1b[2J" in lines_of(Path("out/outputs.jsonl"))[0]["raw"]
    scored()
    words = ("score", "structured", "--questions", "questions.json", "--outputs", "out/outputs.jsonl", "--full")
    done = run_cli(*words, "--definition", "topic.toml")
    assert "owned" in done.out and "\x1b" not in done.out and "\u202e" not in done.out
    done = run_cli("run", "--check", "--target", server.url, "--gold", "questions.json", "--definition", "topic.toml")
    assert "\x1b" not in done.out and "check: the reply can be read" in done.out


def test_a_reply_made_with_another_prompt_than_the_one_sent_is_an_error(here: Path, server: Served) -> None:
    array("questions.json", asking(*["other t"] * 10))
    done = driven(server.url, "--prompt", "prompt.md")
    sent = hashlib.sha256(PROMPT.encode()).hexdigest()
    told = f'meta.prompt_sha256: expected {sent}, the prompt that was sent, got "{"ab" * 19}a…"'
    assert done.code == 2
    assert (
        f"{server.url}: expected replies that can be read, got in 10 questions: bad reply: {told} [RW-J09]" in done.err
    )
    done = run_cli("run", "--check", "--target", server.url, "--gold", "questions.json", "--definition", "topic.toml",
                   "--prompt", "prompt.md")  # fmt: skip
    assert f"{server.url}: {told} [RW-Q13]\n  prompt_other: {CATALOGUE['RW-Q13'].do}\n" in done.err
    assert driven(server.url, out="own").code == 0  # without a prompt of ours, its own is what counts
    assert lines_of(Path("own/outputs.jsonl"))[0]["meta"]["prompt_sha256"] == "ab" * 32


def test_a_reply_that_is_no_output_is_named_with_what_to_reply(here: Path, server: Served) -> None:
    array("questions.json", asking("answers t1"))
    done = run_cli("run", "--check", "--target", server.url, "--gold", "questions.json", "--definition", "topic.toml")
    told = "raw: expected what the model wrote as a text, got nothing"
    assert done.code == 2
    assert f"{server.url}: {told} [RW-Q11]\n  output_unfit: {CATALOGUE['RW-Q11'].do}\n" in done.err


def test_killed_in_the_middle_a_run_loses_and_repeats_nothing(here: Path, server: Served) -> None:
    array("questions.json", asking(*(f"slow 0.02 t{n}" for n in range(60))))
    array("dev.json", json.loads(Path("questions.json").read_text())[10:20])
    command = [
        sys.executable,
        "-m",
        "ragworthy",
        "run",
        "--target",
        server.url,
        "--gold",
        "questions.json",
        "--out",
        "out",
    ]
    command += ["--definition", "topic.toml", "--prompt", "prompt.md", "--subset", "dev.json"]
    provenance = {"model_id": "m1", "adapter_id": "none", "index_version": "i1"}
    Path("made.json").write_text(json.dumps(provenance))
    for kill_at in (4, 25):
        started = subprocess.Popen([*command, "--resume"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while len(server.asked()) < kill_at and started.poll() is None:
            time.sleep(0.005)
        started.send_signal(signal.SIGKILL)
        started.wait()
        assert not Path("out/run.json").exists()
    done = driven(server.url, "--prompt", "prompt.md", "--subset", "dev.json", "--resume")
    assert done.code == 0, done.err
    times = Counter(one["qid"] for one in server.asked())
    assert set(times) == {f"Q{n}" for n in range(1, 61)}
    assert sum(times.values()) <= 60 + 2 * 4  # what was in flight when it was killed is asked again
    assert [one["qid"] for one in server.asked()[:10]] != [f"Q{n}" for n in range(1, 11)]
    assert {one["qid"] for one in server.asked()[:4]} <= {f"Q{n}" for n in range(11, 21)}  # the dev subset came first
    assert [one["id"] for one in lines_of(Path("out/outputs.jsonl"))] == [f"Q{n}" for n in range(1, 61)]
    alone = driven(server.url, "--prompt", "prompt.md", out="alone", gold="questions.json")
    assert alone.code == 0
    assert Path("alone/outputs.jsonl").read_bytes() == Path("out/outputs.jsonl").read_bytes()


def test_the_rest_is_asked_only_when_the_dev_subset_passes(here: Path, server: Served) -> None:
    rows = asking(*(f"{'fenced' if n == 3 else 'about'} t{n}" for n in range(30)))
    array("questions.json", rows)
    array("dev.json", rows[2:7])
    done = driven(server.url, "--prompt", "prompt.md", "--subset", "dev.json")
    assert done.code == 1
    assert len(server.asked()) == 5
    assert done.out.startswith("NO-SHIP: 2 of 3 gates fail\n")
    assert done.out.endswith(
        "asked 5 = written 5 + errored 0\n"
        "next: ragworthy score structured --questions questions.json --outputs out/dev/outputs.jsonl "
        "--prompt prompt.md --definition topic.toml --subset dev.json\n"
        "run: dev subset of 5 questions: NO-SHIP; the other 25 were not asked (exit 1)\n"
    )
    assert not Path("out/outputs.jsonl").exists() and not Path("out/run.json").exists()
    again = driven(server.url, "--prompt", "prompt.md", "--subset", "dev.json", "--resume")
    assert again.code == 1 and len(server.asked()) == 5  # nothing is asked for the same verdict
    done, report = scored("--prompt", "prompt.md", "--subset", "dev.json", out="out/dev/outputs.jsonl")
    assert (report["verdict"], report["suites"]["structured"]["subset"]["scored"]) == ("NO-SHIP", "subset")
    Path("policy.toml").write_text(
        'version = 1\n[structured]\nquestions = "questions.json"\noutputs = "ship/outputs.jsonl"\n'
        'definition = "topic.toml"\nprompt = "prompt.md"\nsubset = "dev.json"\n'
        '[[gate]]\nmetric = "score"\nmin = 70\n[[gate]]\nmetric = "schema_pass_rate"\nmin = 0.7\n'
    )
    done = run_cli("run", "--target", server.url, "--gold", "questions.json", "--out", "ship", "-c", "policy.toml")
    assert done.code == 0, done.err
    assert done.out == (
        "dev subset of 5 questions: SHIP; then the other 25 were asked\n"
        "asked 30 = written 30 + errored 0\n"
        "outputs: ship/outputs.jsonl\n"
        "next: ragworthy gate -c policy.toml\n"
        "run: 30 replies (exit 0)\n"
    )
    assert run_cli("gate", "-q", "-c", "policy.toml").code == 0
    Path("prompt.md").write_text(PROMPT + "And nothing else.\n")
    done = run_cli("gate", "-c", "policy.toml")
    assert done.code == 4 and "the outputs were made with another prompt than the one given" in done.out


def test_a_dev_subset_without_provenance_stops_the_run_before_it_costs_more(here: Path) -> None:
    Path("mine.py").write_text('def answer(question):\n    return {"raw": "{}"}\n')
    rows = asking(*(f"about t{n}" for n in range(20)))
    array("questions.json", rows)
    array("dev.json", rows[:2])
    done = driven("mine.py:answer", "--subset", "dev.json")
    assert done.code == 4
    keys = "prompt_sha256, prompt_version, index_version, model_id, adapter_id"
    assert (
        f"the outputs do not say {keys}: a score is INVALID until meta of the replies or --provenance does\n"
        in done.out
    )
    assert done.out.endswith("run: dev subset of 2 questions: INVALID; the other 18 were not asked (exit 4)\n")
    array("dev.json", rows)  # all of them
    done = driven("mine.py:answer", "--subset", "dev.json", out="all")
    assert done.out.endswith("run: dev subset of 20 questions: INVALID (exit 4)\n")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "dev.json: expected questions, got none"),
        (asking("about t1")[:1] * 2, 'dev.json:1: expected every id once, got "Q1" twice'),
        ([question(1)], 'dev.json:1: expected question of "Q1" as questions.json has it, got another'),
        ([asking("about t1")[0] | {"expected": {"topic": "x"}}],
         'dev.json:1: expected expected of "Q1" as questions.json has it, got another'),
        ([asking("about t1")[0] | {"id": "Q99"}],
         'dev.json:1: expected questions of questions.json, got "Q99", which it does not have'),
    ],
)  # fmt: skip
def test_a_dev_set_that_is_no_part_of_the_questions_is_refused_before_anything_is_asked(
    here: Path, rows: list[Row], message: str
) -> None:
    array("questions.json", asking("about t1", "about t2"))
    Path("dev.json").write_text(json.dumps(rows))
    done = driven("cmd:false", "--subset", "dev.json")
    assert (done.code, done.out) == (2, "")
    assert done.err == said("RW-Q10", message)
    write_jsonl(Path("outputs.jsonl"), [])
    done, _ = scored("--subset", "dev.json", out="outputs.jsonl")
    assert (done.code, done.err) == (2, said("RW-Q10", message))


def test_a_changed_prompt_is_another_run(here: Path, server: Served) -> None:
    array("questions.json", asking("about t1"))
    assert driven(server.url, "--prompt", "prompt.md").code == 0
    Path("prompt.md").write_text(PROMPT.replace("p3", "p4"))
    done = driven(server.url, "--prompt", "prompt.md", "--resume")
    old, new = (hashlib.sha256(one.encode()).hexdigest()[:12] for one in (PROMPT, PROMPT.replace("p3", "p4")))
    differ = f"expected the run that the journal was begun with (p3, {old}), got another (p4, {new})"
    message = f"out/journal.jsonl: prompt: {differ}"
    assert (done.code, done.err) == (2, said("RW-J02", message))


def test_outputs_that_were_changed_after_their_run_are_refused_by_a_policy(here: Path, server: Served) -> None:
    array("questions.json", asking("about t1"))
    assert driven(server.url, "--prompt", "prompt.md").code == 0
    Path("policy.toml").write_text(
        'version = 1\n[structured]\nquestions = "questions.json"\n'
        'outputs = "out/outputs.jsonl"\ndefinition = "topic.toml"\n'
    )
    assert run_cli("gate", "-q", "-c", "policy.toml").code == 0
    made = Path("out/outputs.jsonl")
    made.write_text(made.read_text().replace('"model_id":"m1"', '"model_id":"m2"'))
    done = run_cli("gate", "-q", "-c", "policy.toml")
    told = "expected what the run in this folder wrote, got other bytes: run again, or take another folder"
    assert (done.code, done.err) == (2, said("RW-J08", f"out/outputs.jsonl: {told}"))


@pytest.mark.parametrize("form", ["callable", "command", "replay"])
def test_every_kind_of_target_gives_the_same_outputs(here: Path, form: str) -> None:
    rows = asking("about t1", "about t2")
    array("questions.json", rows)
    Path("made.json").write_text(
        '{"model_id": "m1", "adapter_id": "none", "index_version": "i1", "prompt_sha256": "ab", "prompt_version": "1"}'
    )
    Path("mine.py").write_text(MINE)
    assert driven("mine.py:answer", "--provenance", "made.json", out="one").code == 0
    target = {
        "callable": "mine.py:answer",
        "command": f"cmd:{sys.executable} mine.py",
        "replay": "replay:one/outputs.jsonl",
    }
    assert driven(target[form], "--provenance", "made.json", out="two").code == 0
    assert Path("two/outputs.jsonl").read_bytes() == Path("one/outputs.jsonl").read_bytes()
    assert scored(out="two/outputs.jsonl")[1]["verdict"] == "SHIP"


def test_a_prompt_that_nobody_would_hear_is_refused(here: Path) -> None:
    array("questions.json", asking("about t1"))
    Path("mine.py").write_text("def alone(question): ...\n\n\ndef older(*, qid, q, seed, jitter, knobs): ...\n")
    wanted = "expected a callable that takes qid, q, seed, jitter, knobs and prompt, got one with"
    done = driven("mine.py:alone", "--prompt", "prompt.md")
    told = f"mine.py:alone: {wanted}: missing a required argument: 'question'"
    assert (done.code, done.err) == (2, said("RW-U16", told))
    done = driven("mine.py:older", "--prompt", "prompt.md")
    assert done.err == said("RW-U16", f"mine.py:older: {wanted}: got an unexpected keyword argument 'prompt'")
    write_jsonl(Path("old.jsonl"), [])
    done = driven("replay:old.jsonl", "--prompt", "prompt.md")
    told = (
        "replay:old.jsonl: expected a target that takes a prompt, got a recording, which was made with one of its own"
    )
    assert done.err == said("RW-U16", told)


def test_a_map_sends_the_prompt_or_says_that_it_does_not(here: Path, server: Served) -> None:
    array("questions.json", asking("documents t1"))
    head = '[request]\nbody = { q = "{q}", qid = "{qid}"'
    tail = ' }\n\n[reply]\nclaim = "answer"\ndocuments = "documents"\n'
    Path("with.toml").write_text(f'{head}, prompt = "{{prompt}}"{tail}')
    Path("without.toml").write_text(head + tail)
    Path("made.json").write_text('{"model_id": "m1", "adapter_id": "none", "index_version": "i1"}')
    done = driven(server.url, "--map", "with.toml", "--prompt", "prompt.md", "--provenance", "made.json")
    assert done.code == 0, done.err
    assert server.asked()[-1]["prompt"] == "Name the topic as JSON.\n"
    made = lines_of(Path("out/outputs.jsonl"))[0]
    assert made["raw"] == '{"topic": "t1"}' and made["context"][0]["source_path"] == "manual.md"
    assert scored("--prompt", "prompt.md")[1]["verdict"] == "SHIP"
    done = driven(server.url, "--map", "without.toml", "--prompt", "prompt.md", out="no")
    told = (
        "without.toml: request.body: expected {prompt} in the request, got none: the service would never see the prompt"
    )
    assert (done.code, done.err) == (2, said("RW-J19", told))
    done = driven(server.url, "--map", "with.toml", out="no")
    told = "with.toml: request.body.prompt: expected a prompt for {prompt}, got none: give --prompt FILE"
    assert (done.code, done.err) == (2, said("RW-J19", told))


def test_flags_of_the_other_kind_of_questions_are_refused(here: Path) -> None:
    array("questions.json", asking("about t1"))
    write_jsonl(Path("gold.jsonl"), [{"qid": "A", "question": "x", "answerable": False}])
    done = driven("cmd:false", "--marker", "none")
    assert "--marker: expected a gold set of answers, got structured questions" in done.err
    done = run_cli("run", "--target", "cmd:false", "--gold", "gold.jsonl", "--out", "o", "--prompt", "prompt.md")
    assert "--prompt: expected structured questions, got a gold set of answers" in done.err
    done = driven("cmd:false", "--limit", "1", "--subset", "questions.json")
    assert "--limit: expected no --subset with it" in done.err


def test_questions_that_no_answer_could_be_scored_against_are_refused_before_they_are_paid_for(here: Path) -> None:
    array("questions.json", [*asking("about t1"), {"id": "Q2", "question": "q", "expected": {"other": 1}}])
    done = driven("cmd:false")
    assert done.code == 2 and "[RW-Q01]" in done.err and not Path("out").exists()


def test_a_prompt_file_without_a_text_is_refused(here: Path) -> None:
    array("questions.json", asking("about t1"))
    Path("empty.md").write_text("---\nversion: 1\n---\n\n")
    done = driven("cmd:false", "--prompt", "empty.md")
    assert (done.code, done.err) == (2, said("RW-Q12", "empty.md: expected a prompt, got its head alone"))


@pytest.fixture
def index(here: Path) -> Path:
    (here / "docs").mkdir()
    (here / "docs/lock.md").write_text("# Lock\n\nThe lock of the pump room is red and must be closed.\n")
    assert run_cli("index", "build", "--docs", "docs", "--out", "ix", "--dense", "none").code == 0
    return here / "ix"


@pytest.fixture
def chat() -> Iterator[str]:
    with subprocess.Popen([sys.executable, str(SERVERS / "chat_server.py")], stdout=subprocess.PIPE, text=True) as one:
        assert one.stdout is not None
        yield f"http://127.0.0.1:{int(one.stdout.readline())}/v1"
        one.kill()


def test_the_built_in_pipeline_needs_a_model_for_structured_questions(index: Path) -> None:
    array("questions.json", [question(1)])
    done = run_cli("run", "--target", "builtin:ix", "--gold", "questions.json", "--out", "o")
    told = "builtin:ix: answerer: expected a chat model for structured questions, got the extractive answerer"
    assert (done.code, done.err) == (2, said("RW-U17", told))


def test_the_built_in_pipeline_asks_a_chat_endpoint_with_the_prompt_and_the_passages(index: Path, chat: str) -> None:
    array("questions.json", [question(1, question="What colour is the lock of the pump room?")])
    for model in ("good", "no-schema", "fails"):
        knobs = ("--knob", f"answerer=chat:{model}@{chat}", "--knob", "timings=false", "--retries", "0")
        done = run_cli("run", "--target", "builtin:ix", "--gold", "questions.json", "--out", model, *knobs)
        assert done.code == (1 if model == "fails" else 0), done.err
    with urllib.request.urlopen(f"{chat}/requests") as reply:
        asked = [one["body"] for one in json.load(reply)]
    prompt = bundled_prompt()
    assert [one["role"] for one in asked[0]["messages"]] == ["system", "user"]
    assert asked[0]["messages"][0]["content"] == prompt.text
    assert asked[0]["messages"][1]["content"] == (
        "file: lock.md\nThe lock of the pump room is red and must be closed.\n\n"
        "Question: What colour is the lock of the pump room?"
    )
    held = asked[0]["response_format"]["json_schema"]["schema"]
    assert held["required"] == [field.key for field in bundled().fields]
    assert held["properties"]["detailed_description"]["maxItems"] == 8
    good, other, failed = (lines_of(Path(model, "outputs.jsonl"))[0] for model in ("good", "no-schema", "fails"))
    assert json.loads(good["raw"])["claim"] and good["raw"] == other["raw"]  # as it came, whatever it is
    assert good["context"][0]["source_path"] == "lock.md"
    meta = good["meta"]
    assert (meta["model_id"], meta["adapter_id"], meta["prompt_version"]) == ("good", "none", prompt.version)
    assert meta["prompt_sha256"] == prompt.sha256
    assert meta["index_version"] == json.loads((index / "manifest.json").read_text())["index_hash"]
    assert meta["generation"] == {"temperature": 0.0, "seed": 0, "max_tokens": 512, "format": "json_schema"}
    assert other["meta"]["generation"]["format"] == "json_object"
    assert failed["error"].startswith("status 500: ") and failed["meta"]["model_id"] == "fails"
    done = run_cli("score", "structured", "--questions", "questions.json", "--outputs", "good/outputs.jsonl",
                   "--full")  # fmt: skip
    assert done.code == 1 and "failed: schema_failed 1" in done.out  # every required key of provenance is there


def test_python_asks_structured_questions_too(here: Path) -> None:
    rows = asking("about t1", "about t2")

    def answer(*, q: str, prompt: str, **_: Any) -> Row:
        assert prompt == "Name the topic as JSON.\n"
        made = {"model_id": "m", "adapter_id": "none", "index_version": "i"}
        return {"raw": json.dumps({"topic": q.split()[-1]}), "meta": made}

    ran = rw.run(answer, rows, prompt="prompt.md", definition="topic.toml")
    assert [json.loads(one["raw"])["topic"] for one in ran.traces] == ["t1", "t2"]
    assert ran.score(definition="topic.toml", prompt="prompt.md").metrics["structured.score"].value == 100
    with pytest.raises(rw.RagworthyError, match="suite: expected one that scores outputs, got answers"):
        ran.score("answers")
    with pytest.raises(rw.RagworthyError, match="prompt: expected structured questions, got a gold set of answers"):
        rw.run(answer, [{"qid": "A", "question": "x", "answerable": False}], prompt="prompt.md")


def test_half_a_surrogate_pair_in_a_reply_is_an_error_and_not_the_end(here: Path) -> None:
    Path("odd.py").write_text(
        'HALF = chr(0xD800)\nREPLIES = {"raw": {"raw": HALF}, "error": {"error": HALF}, "text": HALF,\n'
        '           "prompt": {"raw": "{}", "meta": {"prompt_sha256": HALF}}, "key": {"raw": "{}", HALF: 1}}\n\n\n'
        "def answer(*, q, **_):\n    return REPLIES[q.split()[-1]]\n"
    )
    kinds = ("raw", "error", "text", "prompt", "key")
    array("questions.json", asking(*(f"about {kind}" for kind in kinds)))
    done = driven("odd.py:answer", "--prompt", "prompt.md")
    assert (done.code, done.out.splitlines()[0]) == (1, "asked 5 = written 0 + errored 5"), done.err
    for one in lines_of(Path("out/outputs.jsonl")):
        assert one["error"].startswith("bad reply: "), one
        assert "\\ud800" in one["raw"]
