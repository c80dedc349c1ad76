"""`run --check`: one question, how its reply is read, and nothing written; the same for every kind of target."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli, Done, run_cli, write_jsonl
from places import SERVERS
from ragworthy import starter

SHAPE = (
    '{"answer_json": {"claim": "…", "citations": ["id", …]}, "retrieved_ids": ["id", …]}'
    ' or {"answer": "… [1]", "documents": [{"id": "…", "text": "…"}, …]}'
)
UNFIT = f"  reply_unfit: Reply with {SHAPE}: docs/run.md."


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    write_jsonl(
        tmp_path / "gold.jsonl",
        [{"qid": f"Q{n}", "question": f"what {n}?", "answerable": True} for n in range(3)],
    )
    yield
    for name in ("mine", "unfit_callables"):
        sys.modules.pop(name, None)


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    log = tmp_path_factory.mktemp("server") / "asked.jsonl"
    words = [sys.executable, str(SERVERS / "ask_server.py"), str(log)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/ask"
        process.kill()


def check(cli: Cli, target: str, *more: object) -> Done:
    before = sorted(Path().rglob("*.json*"))
    done = cli("run", "--check", "--target", target, "--gold", "gold.jsonl", *more)
    assert sorted(Path().rglob("*.json*")) == before  # nothing is written
    return done


def untimed(text: str) -> list[str]:
    return ["  time" if line.startswith("  time ") else line for line in text.splitlines()]


def replies(value: Any) -> str:
    """A target that is a file and always replies the same."""
    sys.modules.pop("mine", None)
    Path("mine.py").write_text(f"def answer(*, q, **rest):\n    return {value!r}\n")
    return "mine.py:answer"


def test_a_good_reply_over_http(cli: Cli, server: str) -> None:
    done = check(cli, server)
    assert (done.code, done.err) == (0, "")
    assert untimed(done.out) == [
        'asked: {"qid":"Q0","q":"what 0?","seed":0,"jitter":"none","knobs":{}}',
        'got: {"answer_json": {"claim": "what 0? (seed 0)", "citations": ["Q0#1"]}, '
        '"retrieved_ids": ["Q0#1", "p1#2"], "stage_ms": {"retrieval": 1.5, "llm": 2.5}, '
        '"usage": {"prompt_tokens": 7}, "private": "left out of the trace"}',
        "read as:",
        '  claim          "what 0? (seed 0)"',
        "  citations      1: Q0#1",
        "  retrieved_ids  2: Q0#1, p1#2",
        "  stage_ms       given",
        "  usage          given",
        "  refused        no",
        "  time",
        "  no topk: ranks and scores of results cannot be measured",
        "check: the reply can be read (exit 0)",
    ]


def test_another_question_with_knobs_and_a_seed(cli: Cli, server: str) -> None:
    done = check(cli, server, "--qid", "Q2", "--seed", 3, "--knob", "k=5", "-q")
    assert done == Done(0, "check: the reply can be read (exit 0)\n", "")
    done = check(cli, server, "--qid", "Q2", "--seed", 3, "--knob", "k=5")
    assert done.out.splitlines()[0] == 'asked: {"qid":"Q2","q":"what 2?","seed":3,"jitter":"none","knobs":{"k":5}}'
    done = check(cli, server, "--qid", "Q9")
    assert done.err.splitlines()[0] == '--qid: expected a question of the gold set, got "Q9" [RW-U01]'
    done = cli("run", "--target", server, "--gold", "gold.jsonl", "--out", "o", "--qid", "Q1")
    assert done.err.splitlines()[0] == "--qid: only --check asks one question [RW-U01]"


def test_what_would_be_missing(cli: Cli) -> None:
    done = check(cli, replies({"answer_json": {"claim": "I cannot answer that."}, "retrieved_ids": []}))
    assert untimed(done.out)[2:] == [
        "read as:",
        '  claim          "I cannot answer that."',
        "  citations      none",
        "  retrieved_ids  none",
        "  refused        no, though it reads like a refusal: add its text to refusals in the policy if it is one",
        "  time",
        "  no retrieved_ids: recall, hit and citation checks cannot be measured",
        "  no citations: precision and chr count such an answer as one without evidence",
        "  no topk, stage_ms, usage: ranks and scores of results, times of stages, costs cannot be measured",
        "check: the reply can be read (exit 0)",
    ]
    done = check(cli, replies({"answer_json": {"claim": "Not in context"}, "retrieved_ids": []}))
    assert "  refused        yes" in done.out.splitlines()
    assert "  no citations" not in done.out
    done = check(cli, replies({"answer_json": {"claim": "x", "citations": ["b", "a"]}, "retrieved_ids": ["a"]}))
    assert "  cited, but not among retrieved_ids: 1: b: such citations do not count" in done.out.splitlines()


@pytest.mark.parametrize(
    ("value", "problems"),
    [
        (
            {"answer": "X", "sources": ["a"]},
            ["mine.py:answer: documents: expected a list of documents, got nothing [RW-J10]", UNFIT],
        ),
        (
            {"text": "X", "sources": ["a"]},
            [
                "mine.py:answer: answer_json.claim: expected a text, got nothing [RW-J10]",
                UNFIT,
                "mine.py:answer: retrieved_ids: expected a list of texts, got nothing [RW-J10]",
            ],
        ),
        (
            {"answer_json": {"claim": 4, "citations": "a"}, "retrieved_ids": [1], "usage": [], "stage_ms": {"llm": -1}},
            [
                "mine.py:answer: answer_json.claim: expected str, got int [RW-J10]",
                UNFIT,
                'mine.py:answer: answer_json.citations: expected a list of texts, got a text: write ["a"] [RW-J10]',
                "mine.py:answer: retrieved_ids[0]: expected str, got int [RW-J10]",
                "mine.py:answer: stage_ms[...]: expected float >= 0.0 [RW-J10]",
                "mine.py:answer: usage: expected object | null, got array [RW-J10]",
            ],
        ),
        (
            {"answer_json": {"claim": 4}, "retrieved_ids": ["a", 1], "usage": [], "stage_ms": {"llm": -1}},
            [
                "mine.py:answer: answer_json.claim: expected str, got int [RW-J10]",
                UNFIT,
                "mine.py:answer: retrieved_ids[1]: expected str, got int [RW-J10]",
                "mine.py:answer: stage_ms[...]: expected float >= 0.0 [RW-J10]",
                "mine.py:answer: usage: expected object | null, got array [RW-J10]",
            ],
        ),
        ("just a text", ['mine.py:answer: expected an object, got "just a text" [RW-J10]', UNFIT]),
        ({"a", "b"}, ["mine.py:answer: expected a list, got a set, which has no order [RW-J10]", UNFIT]),
    ],
)
def test_a_reply_that_does_not_fit_is_told_field_by_field(cli: Cli, value: Any, problems: list[str]) -> None:
    done = check(cli, replies(value))
    assert (done.code, done.err.splitlines()) == (2, problems)
    assert done.out.splitlines()[-1] == "check: the reply cannot be used (exit 2)"


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("status 404", "expected a reply, got status 404: so sorry [RW-J12]"),
        ("hang", "expected a reply, got timeout: no reply within 0.5 s [RW-J12]"),
        ("json", "expected JSON, got <html>no</html> (invalid character (byte 0)) [RW-J10]"),
    ],
)
def test_no_reply_or_none_that_can_be_read(cli: Cli, server: str, question: str, told: str) -> None:
    write_jsonl(Path("gold.jsonl"), [{"qid": "Q0", "question": question}])
    done = check(cli, server, "--timeout", "0.5", "--retries", 0)
    assert (done.code, done.err.splitlines()[0]) == (2, f"{server}: {told}")


def test_nothing_there(cli: Cli) -> None:
    done = check(cli, "cmd:no-such-program-x")
    assert (done.code, done.err.splitlines()[0]) == (
        2,
        "cmd:no-such-program-x: expected a reply, got unreachable: no-such-program-x cannot be started: "
        "No such file or directory [RW-J06]",
    )


def test_the_other_kinds_of_target(cli: Cli) -> None:
    done = check(cli, f"cmd:{sys.executable} {SERVERS / 'line_target.py'}")
    assert (done.code, '  claim          "Q0: what 0?"' in done.out.splitlines()) == (0, True)
    trace = {"qid": "Q0", "answer_json": {"claim": "kept"}, "retrieved_ids": ["a"]}
    Path("t.txt").write_text(json.dumps(trace) + "\n")
    done = check(cli, "replay:t.txt")
    assert (done.code, '  claim          "kept"' in done.out.splitlines()) == (0, True)
    done = check(cli, "replay:t.txt", "--qid", "Q1")
    assert done.err.splitlines()[0] == "replay:t.txt: expected a reply, got no recorded trace [RW-J12]"


def test_the_built_in_pipeline(cli: Cli, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("# Buckets\n\nA bucket is a place for objects. Its name is what 0 knows.\n")
    assert cli("index", "build", "--docs", docs, "--out", tmp_path / "index", "--dense", "none").code == 0
    for concurrency in (1, 4):
        done = check(cli, f"builtin:{tmp_path / 'index'}", "--concurrency", concurrency)
        assert (done.code, done.err) == (0, "")


def test_a_callable_shows_where_it_raised_and_what_helps(cli: Cli) -> None:
    target = f"{SERVERS / 'unfit_callables.py'}:found"
    done = check(cli, target)
    assert done.code == 2
    assert done.out.splitlines()[0] == 'asked: "what 0?"'
    assert done.out.splitlines()[1].startswith(f"raised at: {SERVERS / 'unfit_callables.py'}, line ")
    assert done.err.splitlines()[-1] == "With --concurrency 1 a callable is called in the main thread."
    assert check(cli, target, "--concurrency", 1).code == 0


def test_a_reply_cannot_steer_the_terminal(cli: Cli) -> None:
    claim = "\x1b[2J\x1b[31mred\u202e\nverdict: SHIP"
    for value in ({"answer_json": {"claim": claim}, "retrieved_ids": [claim]}, {"answer": claim}, claim):
        done = check(cli, replies(value))
        assert "\x1b" not in done.out + done.err
        assert not [line for line in (done.out + done.err).splitlines() if line.startswith("verdict")]


def test_out_is_needed_where_something_is_written(cli: Cli) -> None:
    done = cli("run", "--target", "mine.py:answer", "--gold", "gold.jsonl")
    assert (done.code, done.err.splitlines()[0]) == (2, "--out: expected a folder, got nothing [RW-U01]")


# how a callable is found and called


def usage(cli: Cli, name: str) -> list[str]:
    done = check(cli, f"{SERVERS / 'unfit_callables.py'}:{name}")
    assert (done.code, done.out) == (2, "")
    return [line.replace(str(SERVERS), "…") for line in done.err.splitlines()]


ADAPTER = [
    "  callable_signature: Write a function around it that takes the question, or all five fields of the request:",
    "  def answer(*, q, **rest):",
    "      text, documents = my_pipeline(q)",
    '      return {"answer": text, "documents": documents}',
]


def test_callables_that_cannot_be_called_show_what_can(cli: Cli) -> None:
    wanted = "expected a callable that takes the question, or qid, q, seed, jitter and knobs, got one with: "
    assert usage(cli, "two") == [
        f"…/unfit_callables.py:two: {wanted}missing a required argument: 'question' [RW-J11]",
        *ADAPTER,
    ]
    assert usage(cli, "an_id") == [
        f"…/unfit_callables.py:an_id: {wanted}got an unexpected keyword argument 'q' [RW-J11]",
        *ADAPTER,
    ]
    assert usage(cli, "chain") == [
        "…/unfit_callables.py:chain: expected a callable, a chain, a query engine or a pipeline, got Chain [RW-J14]",
        "  target_object: Name the chain, engine or pipeline itself, or write these lines around it:",
        "  import ragworthy as rw",
        "  def answer(question):",
        "      return rw.reply(text, documents)  # of chain",
    ]
    assert usage(cli, "none_such")[0] == "…/unfit_callables.py:none_such: expected a callable, got nothing [RW-U01]"


def test_the_adapter_that_is_shown_works(cli: Cli) -> None:
    lines = [line.removeprefix("  ") for line in ADAPTER[1:]]
    Path("mine.py").write_text(
        "class D:\n    id = 'a'\ndef my_pipeline(q):\n    return q, [D()]\n" + "\n".join(lines) + "\n"
    )
    assert check(cli, "mine:answer").code == 0


@pytest.mark.parametrize(
    "code",
    [
        "def answer(question): return reply(question)",
        "def answer(text, k=5): return reply(text)",
        "def answer(prompt, /): return reply(prompt)",
        "def answer(input, **more): return reply(input)",
        "async def answer(question): return reply(question)",
        "class Bot:\n    def __call__(self, anything): return reply(anything)\nanswer = Bot()",
        "class Bot:\n    def ask(self, q): return reply(q)\nanswer = Bot().ask",
        "import functools\ndef two(k, question): return reply(question)\nanswer = functools.partial(two, 5)",
        "def answer(*, q, **rest): return reply(q)",
        "def answer(q, **rest): return reply(q)",
    ],
)
def test_a_callable_may_take_the_question_alone(cli: Cli, code: str) -> None:
    reply = "def reply(q): return {'answer_json': {'claim': q}, 'retrieved_ids': []}\n"
    Path("mine.py").write_text(f"{reply}{code}\n")
    done = check(cli, "mine.py:answer")
    assert (done.code, '  claim          "what 0?"' in done.out.splitlines()) == (0, True), done.err


def test_files_as_targets(cli: Cli, tmp_path: Path) -> None:
    deep = tmp_path / "a b"
    deep.mkdir()
    (deep / "beside.py").write_text("NAME = 'beside'\n")
    (deep / "json.py").write_text(
        "import beside\n"
        "class Bot:\n"
        "    @staticmethod\n"
        "    def ask(q): return {'answer_json': {'claim': beside.NAME}, 'retrieved_ids': []}\n"
    )
    done = check(cli, f"{deep / 'json.py'}:Bot.ask")  # a name that another module has
    assert (done.code, '  claim          "beside"' in done.out.splitlines()) == (0, True)
    assert sys.modules["json"] is json
    sys.modules.pop("beside")
    sys.modules.pop("_target_json")
    done = check(cli, "nowhere.py:answer")
    assert done.err.splitlines()[0] == "nowhere.py: expected a file, got nothing at this path [RW-F01]"
    (deep / "broken.py").write_text("raise RuntimeError('no model')\n")
    done = check(cli, f"{deep / 'broken.py'}:answer")
    assert done.err.splitlines()[0] == (
        f"{deep / 'broken.py'}: expected a file that can be imported, got RuntimeError: no model [RW-U01]"
    )


def test_what_cannot_be_imported_is_told_by_its_own_line(cli: Cli, tmp_path: Path) -> None:
    """No word of --help, which does not help: the line of the file, or the names that it has."""
    (tmp_path / "lacking.py").write_text("import json\n\nfrom no_such_library import thing\n")
    (tmp_path / "torn.py").write_text("import json\ndef answer(:\n")
    (tmp_path / "named.py").write_text(
        "from json import loads\n\nclass Kind: ...\n\ndef answer(q): ...\ndef _own(q): ...\n\n"
        "other = answer\nlimit = 3\n"
    )
    (tmp_path / "bare.py").write_text("limit = 3\n")
    told = {
        name: check(cli, f"{tmp_path / name}.py:reply").err.splitlines()
        for name in ("lacking", "torn", "named", "bare")
    }
    missing = "got ModuleNotFoundError: No module named 'no_such_library' [RW-U01]"
    assert told["lacking"] == [
        f"{tmp_path / 'lacking.py'}: expected a file that can be imported, {missing}",
        f"  raised at: {tmp_path / 'lacking.py'}, line 3",
    ]
    assert told["torn"][1:] == [f"  raised at: {tmp_path / 'torn.py'}, line 2"]
    assert told["named"] == [
        f"{tmp_path / 'named.py'}:reply: expected a callable, got nothing [RW-U01]",
        "  it has answer, other",
    ]
    assert told["bare"][1:] == ["  it has nothing that could be asked"]
    assert check(cli, "no_such_module_y:reply").err.splitlines()[1:] == [
        "  looked for in the working folder and where Python looks: is the name right, and the environment?"
    ]


def test_the_starter_files(cli: Cli, tmp_path: Path) -> None:
    laid = starter.init(tmp_path / "start")
    done = cli("run", "--check", "--target", f"replay:{laid.traces[0]}", "--gold", laid.gold)
    assert (done.code, done.out.splitlines()[-1]) == (0, "check: the reply can be read (exit 0)")


def test_what_a_refusal_is_comes_from_the_flags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_jsonl(tmp_path / "g.jsonl", [{"qid": "a", "question": "Wann?", "answerable": False}])
    reply = {"answer_json": {"claim": "Dazu habe ich leider nichts gefunden.", "citations": []}, "retrieved_ids": []}
    (tmp_path / "bot.py").write_text(f"def answer(question):\n    return {reply!r}\n", encoding="utf-8")
    asked = ("run", "--check", "--target", "bot.py:answer", "--gold", "g.jsonl")
    assert "refused        no, though it reads like a refusal" in run_cli(*asked).out
    assert "refused        yes\n" in run_cli(*asked, "--refusal-pack", "de").out
    assert "refused        yes\n" in run_cli(*asked, "--refusal-start", "Dazu habe ich").out
    done = run_cli("run", "--target", "bot.py:answer", "--gold", "g.jsonl", "--out", "r", "--refusal-pack", "de")
    assert "refused 1" in done.out and done.out.count(" --refusal-pack de\n") == 1
