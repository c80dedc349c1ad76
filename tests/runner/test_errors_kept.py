"""A reply that is an error keeps what is known: what was retrieved, what was used, what the model wrote."""

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli, Row, write_jsonl
from ragworthy.runner.contract import checked, without_success
from ragworthy.wire.secret import Secrets

FAILED = {
    "error": "truncated: 512 tokens were used up",
    "error_code": "RW-N04",
    "retrieved_ids": ["p1#2", "p1#3"],
    "topk": [{"id": "p1#2", "score": 0.5}],
    "usage": {"prompt_tokens": 400, "completion_tokens": 512},
    "stage_ms": {"llm": 812.5},
    "raw": '{"claim": "Buckets are' + "x" * 500,
}
KEPT = {name: FAILED[name] for name in ("retrieved_ids", "topk", "usage", "stage_ms")}
GOOD = {"answer_json": {"claim": "X rejects null keys.", "citations": ["p1#2"]}, "retrieved_ids": ["p1#2"]}


def gold_of(folder: Path, count: int) -> Path:
    rows = [
        {"qid": f"Q{n}", "question": f"What about {n}?", "answerable": True, "gold_claim_substr": ["null keys"],
         "gold_citations": ["p1#2"]}
        for n in range(count)
    ]  # fmt: skip
    return write_jsonl(folder / "gold.jsonl", rows)


def lines(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_an_error_keeps_what_is_known() -> None:
    reply = checked(FAILED)
    assert (reply.error, reply.code, reply.unreachable) == ("truncated: 512 tokens were used up", "RW-N04", False)
    raw = reply.fields.pop("raw")
    assert reply.fields == KEPT
    assert len(raw) == 400
    assert raw.startswith('{"claim": "Buckets are')


@pytest.mark.parametrize(
    ("given", "error", "code"),
    [
        ({"error": "unreachable: no route to host"}, "unreachable: no route to host", None),
        ({"error": "The model at 12:03 was tired"}, "reported: The model at 12:03 was tired", None),
        ({"error": {"message": "too long", "code": "context_length"}}, "too long", "context_length"),
        ({"error": ["a", 1]}, 'reported: ["a",1]', None),
        ({"error": ValueError("no idea")}, "raised: ValueError: no idea", None),
        ({"error": "timeout", "error_code": "what is this, a sentence?"}, "timeout", None),
        (GOOD | {"error": "timeout: of the guard"}, "timeout: of the guard", None),
    ],
)
def test_errors_in_many_words(given: dict[str, Any], error: str, code: str | None) -> None:
    reply = checked(given)
    assert (reply.error, reply.code, reply.reported) == (error, code, True)
    assert reply.unreachable == error.startswith("unreachable")
    assert "answer_json" not in reply.fields


@pytest.mark.parametrize("empty", [None, "", False, {}])
def test_an_empty_error_is_none(empty: Any) -> None:
    assert checked(GOOD | {"error": empty}).error is None


def test_what_does_not_fit_is_left_out_and_the_error_stays() -> None:
    given = FAILED | {"retrieved_ids": "p1#2", "usage": {"prompt_tokens": -1}, "stage_ms": {"llm": float("nan")}}
    reply = checked(given)
    assert reply.error == FAILED["error"]
    assert set(reply.fields) == {"topk", "raw"}


def test_an_error_of_another_question_keeps_nothing() -> None:
    reply = checked(FAILED | {"qid": "A1"}, qid="A2")
    assert (reply.fields, reply.error) == ({}, 'bad reply: qid: expected "A2", got "A1"')


def test_a_reply_of_the_wrong_shape_keeps_what_fits() -> None:
    reply = checked({"answer": "X", "retrieved_ids": ["p1#2"], "usage": {"total_tokens": 9}})
    assert reply.error == "bad reply: object missing required field answer_json"
    raw = reply.fields.pop("raw")
    assert reply.fields == {"retrieved_ids": ["p1#2"], "usage": {"total_tokens": 9}}
    assert raw.startswith('{"answer": "X"')


def test_keys_are_hidden_in_what_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1234567890")
    raw = "x" * 395 + "sk-1234567890"  # would be cut in its middle
    reply = checked({"error": "raised: with sk-1234567890", "raw": raw})
    assert (reply.error, reply.fields["raw"]) == ("raised: with ***", "x" * 395 + "***")
    told = without_success("status 500: x", json.dumps(FAILED | {"raw": "key: hush-hush"}).encode(), 1,
                           Secrets(["hush-hush"]))  # fmt: skip
    assert told.fields["raw"] == "key: ***"


class _Server(BaseHTTPRequestHandler):
    """Fails for odd questions: with 200 or with 500, and always with what it knows."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        number = int(asked["qid"][1:])
        body = json.dumps(GOOD if number % 2 == 0 else FAILED).encode()
        self.send_response(400 if number % 4 == 3 else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/ask"
    server.shutdown()
    server.server_close()


def test_over_http_by_body_or_by_status(url: str, tmp_path: Path, cli: Cli) -> None:
    gold, out = gold_of(tmp_path, 8), tmp_path / "out"
    done = cli("run", "--target", url, "--gold", gold, "--out", out)
    assert done.out.splitlines()[1] == "errors: status 400 RW-N04 2, truncated RW-N04 2"
    assert json.loads((out / "run.json").read_text())["reasons"] == {"status 400 RW-N04": 2, "truncated RW-N04": 2}
    for trace in lines(out / "traces.jsonl")[1::2]:
        assert {name: trace[name] for name in KEPT} == KEPT
        assert (trace["error_code"], trace["answer_json"], len(trace["raw"])) == ("RW-N04", None, 400)


def test_hit_counts_what_was_retrieved_before_an_error(url: str, tmp_path: Path, cli: Cli) -> None:
    """All eight retrieved p1#2 first, four of them failed after that: hit@5 is 8/8, precision 4/8."""
    gold, out = gold_of(tmp_path, 8), tmp_path / "out"
    cli("run", "-q", "--target", url, "--gold", gold, "--out", out)
    report = tmp_path / "report.json"
    cli("score", "answers", "--gold", gold, "--trace", out / "traces.jsonl", "-o", report)
    told = json.loads(report.read_text())["suites"]["answers"]
    values = {name: (one["num"], one["den"]) for name, one in told["metrics"].items() if one.get("den")}
    assert values["answers.hit@5"] == values["answers.recall@5"] == (8, 8)
    assert values["answers.precision"] == values["answers.chr"] == (4, 8)
    assert told["counts"]["errored"] == 4
    assert "truncated: 512 tokens were used up [RW-N04]" in json.dumps(told)


def test_replay_gives_the_errors_back(url: str, tmp_path: Path, cli: Cli) -> None:
    gold, first, again = gold_of(tmp_path, 8), tmp_path / "first", tmp_path / "again"
    cli("run", "-q", "--target", url, "--gold", gold, "--out", first)
    cli("run", "-q", "--target", f"replay:{first / 'traces.jsonl'}", "--gold", gold, "--out", again)
    assert (again / "traces.jsonl").read_bytes() == (first / "traces.jsonl").read_bytes()


PIPELINE = f"""
class Truncated(Exception):
    pass

def given(question):
    return {FAILED!r}

def raised(question):
    error = Truncated("too long")
    error.reply = {{"error_code": "E7", "retrieved_ids": ["p1#2"], "usage": {{"total_tokens": 3}}}}
    raise error

def refused(question):
    try:
        raise ConnectionRefusedError(111, "Connection refused")
    except ConnectionRefusedError as error:
        raise RuntimeError("the model is away") from error
"""


@pytest.mark.parametrize(
    ("name", "error", "code", "ids"),
    [
        ("given", FAILED["error"], "RW-N04", ["p1#2", "p1#3"]),
        ("raised", "raised: Truncated: too long", "E7", ["p1#2"]),
    ],
)
def test_callables_may_give_or_raise_it(
    tmp_path: Path, cli: Cli, name: str, error: str, code: str, ids: list[str]
) -> None:
    (tmp_path / "mine.py").write_text(PIPELINE)
    gold, out = gold_of(tmp_path, 3), tmp_path / "out"
    cli("run", "-q", "--target", f"{tmp_path / 'mine.py'}:{name}", "--gold", gold, "--out", out)
    for trace in lines(out / "traces.jsonl"):
        assert (trace["error"], trace["error_code"], trace["retrieved_ids"]) == (error, code, ids)


def test_a_callable_that_reaches_nothing_stops_the_run(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "mine.py").write_text(PIPELINE)
    target = f"{tmp_path / 'mine.py'}:refused"
    done = cli("run", "--target", target, "--gold", gold_of(tmp_path, 30), "--out", tmp_path / "out")
    assert done.code == 2
    assert done.err.splitlines()[0] == (
        f"{target}: expected a target that can be reached, got in 10 questions: "
        "unreachable: RuntimeError: the model is away [RW-J06]"
    )


def test_a_process_that_reports_an_error_is_kept(tmp_path: Path, cli: Cli) -> None:
    """The next reply counts on: it comes from the same process."""
    program = tmp_path / "lines.py"
    program.write_text(
        "import json, sys\n"
        "for n, line in enumerate(sys.stdin):\n"
        f"    good = {GOOD!r} | {{'usage': {{'asked': n}}}}\n"
        f"    print(json.dumps(good if n != 1 else {FAILED!r}), flush=True)\n"
    )
    out = tmp_path / "out"
    target = f"cmd:{sys.executable} {program}"
    cli("run", "-q", "--target", target, "--gold", gold_of(tmp_path, 3), "--out", out, "--concurrency", 1)
    traces = lines(out / "traces.jsonl")
    assert [trace.get("error_code") for trace in traces] == [None, "RW-N04", None]
    assert traces[2]["usage"] == {"asked": 2}
