"""Services with an API of their own, driven by a map: real server processes on loopback, asked by the command line."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ragworthy
from conftest import Cli, Done, write_jsonl
from places import SERVERS
from ragworthy.codes import CATALOGUE

RAG = """\
[request]
method = "GET"
path = "/ask"
query = { q = "{q}", n = "{seed}", tag = ["a", "{qid}"] }

[reply]
claim = "answer"
documents = "sources"
"""


class Service(NamedTuple):
    """A running service and what it was asked."""

    url: str
    log: Path

    def asked(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    log = tmp_path_factory.mktemp("service") / "asked.jsonl"
    words = [sys.executable, str(SERVERS / "rag_server.py"), str(log)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield Service(f"http://127.0.0.1:{int(process.stdout.readline())}", log)
        process.kill()


@pytest.fixture
def service(running: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Service:
    monkeypatch.chdir(tmp_path)
    running.log.write_text("")
    gold("How hot?")
    return running


def gold(*questions: str) -> None:
    write_jsonl(
        Path("gold.jsonl"), [{"qid": f"Q{n}", "question": q, "answerable": True} for n, q in enumerate(questions)]
    )


def drive(cli: Cli, target: str, given_map: str, *more: object) -> Done:
    return cli("run", "--target", target, "--map", given_map, "--gold", "gold.jsonl", "--out", "out", *more)


def check(cli: Cli, target: str, given_map: str, *more: object) -> Done:
    return cli("run", "--check", "--target", target, "--map", given_map, "--gold", "gold.jsonl", *more)


def traces() -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path("out/traces.jsonl").read_text().splitlines()]


def test_a_chat_service_by_name(cli: Cli, service: Service) -> None:
    done = drive(cli, service.url, "openai", "--seed", 5, "--knob", "temperature=0.5")
    assert (done.code, done.err) == (0, "")
    (trace,) = traces()
    assert trace["answer_json"] == {"claim": "How hot?", "citations": ["kiln-2"]}
    assert trace["retrieved_ids"] == ["kiln-2", "glaze-0"]
    assert trace["topk"] == [{"id": "kiln-2", "score": 3.5}, {"id": "glaze-0", "score": 1.25}]
    assert trace["usage"] == {"prompt_tokens": 40, "completion_tokens": 7, "total_tokens": 47}
    (asked,) = service.asked()
    assert (asked["method"], asked["path"]) == ("POST", "/v1/chat/completions")
    assert asked["body"] == {
        "model": "default",
        "messages": [{"role": "user", "content": "How hot?"}],
        "seed": 5,
        "temperature": 0.5,
    }


def test_a_stream_gives_the_same_trace(cli: Cli, service: Service) -> None:
    gold("How hot?", "Läuft {Asche}? [2]")
    assert drive(cli, service.url, "openai").code == 0
    whole = [{**one, "knobs": {}, "config_id": ""} for one in traces()]
    streamed = ["--knob", "stream=true", "--knob", 'stream_options={"include_usage": true}']
    done = cli("run", "--target", service.url, "--map", "openai", "--gold", "gold.jsonl", "--out", "other", *streamed)
    assert (done.code, done.err) == (0, "")
    assert service.asked()[-1]["body"]["stream"] is True
    pieces = [json.loads(line) for line in Path("other/traces.jsonl").read_text().splitlines()]
    assert [{**one, "knobs": {}, "config_id": ""} for one in pieces] == whole


def test_a_stream_that_was_cut_short_is_an_error(cli: Cli, service: Service) -> None:
    gold("cut it")
    done = check(cli, service.url, "openai", "--knob", "stream=true")
    assert done.code == 2
    assert done.err.splitlines()[0] == (
        f"{service.url}/v1/chat/completions: reply.done: expected a stream with an end at choices.0.finish_reason, "
        "got one that was cut short [RW-J18]"
    )


def test_ollama_streamed_and_whole(cli: Cli, service: Service) -> None:
    for stream in ("false", "true"):
        done = check(cli, service.url, "ollama", "--knob", "model=m", "--knob", f"stream={stream}")
        assert done.code == 0, done.err
        assert '  claim          "How hot?"  ← message.content' in done.out.splitlines()
        assert "  retrieved_ids  2: kiln-2, glaze-0  ← sources.*" in done.out.splitlines()
    done = drive(cli, service.url, "ollama", "--knob", "model=m", "--knob", "stream=true")
    assert traces()[0]["usage"] == {"prompt_tokens": 26, "completion_tokens": 290}


def test_a_question_by_get(cli: Cli, service: Service) -> None:
    Path("rag.toml").write_text(RAG)
    gold('a "b" & c=d? {q} ä\n/x')
    done = drive(cli, f"{service.url}?key=hidden-key", "rag.toml", "--seed", 2)
    assert (done.code, done.err) == (0, "")
    (asked,) = service.asked()
    assert (asked["method"], asked["body"]) == ("GET", None)
    assert asked["query"] == {"key": ["hidden-key"], "q": ['a "b" & c=d? {q} ä\n/x'], "n": ["2"], "tag": ["a", "Q0"]}
    assert traces()[0]["retrieved_ids"] == ["kiln-2", "glaze-0"]
    assert "hidden-key" not in Path("out/run.json").read_text() + Path("out/journal.jsonl").read_text()


def test_a_path_with_placeholders(cli: Cli, service: Service) -> None:
    Path("rag.toml").write_text(RAG.replace('"/ask"', '"/{knobs.version}/{q}"'))
    gold("a/b c?")
    done = check(cli, service.url, "rag.toml", "--knob", "version=v1")
    assert done.out.splitlines()[0] == f"asked: GET {service.url}/v1/a%2Fb%20c%3F?q=a%2Fb+c%3F&n=0&tag=a&tag=Q0 "[:-1]
    assert service.asked()[0]["path"] == "/v1/a%2Fb%20c%3F"


def test_json_in_the_text(cli: Cli, service: Service) -> None:
    Path("rag.toml").write_text(
        '[request]\nbody = { q = "{q}" }\n[reply]\nclaim = "text"\nparse = "json"\ntexts = "passages"\nbase = 0\n'
        '[reply.parsed]\nclaim = "reply"\ncitations = "used"\n'
    )
    done = drive(cli, f"{service.url}/json", "rag.toml")
    assert (done.code, done.err) == (0, "")
    (trace,) = traces()
    assert trace["answer_json"]["claim"] == "How hot? done"
    assert trace["answer_json"]["citations"] == trace["retrieved_ids"][:1]
    assert all(one.startswith("sha256:") for one in trace["retrieved_ids"])
    kept = [json.loads(line) for line in Path("out/chunks.jsonl").read_text().splitlines()]
    assert {one["chunk_id"]: one["text"] for one in kept} == dict(
        zip(trace["retrieved_ids"], ["Cone 6 is 1222 °C.", "Ash runs."], strict=True)
    )


def test_a_service_that_says_that_it_has_no_answer(cli: Cli, service: Service) -> None:
    gold("How hot?", "none")
    done = drive(cli, f"{service.url}/ask", "ask")
    assert done.out.splitlines()[0] == "asked 2 = answered 1 + refused 1 + errored 0"
    assert traces()[1]["answer_json"] == {"claim": "not in context", "citations": [], "said": "none"}
    assert traces()[0]["stage_ms"] == {"llm": 3.5}


def test_errors_keep_their_reasons(cli: Cli, service: Service) -> None:
    gold("said so", "status 500", "none", "flaky 2", "status 429 1")
    done = drive(cli, service.url, "openai", "--retries", 2, "--timeout", 5)
    assert done.out.splitlines()[:2] == [
        "asked 5 = answered 1 + refused 0 + errored 4",
        "errors: bad reply 1, error in reply 1, status 429 1, status 500 1",
    ]
    told = [one.get("error") for one in traces()]
    assert told == [
        "error in reply: the index is gone",
        'status 500: {"error": {"message": "no"}}',
        "bad reply: reply.claim: expected a text at choices.0.message.content.[type=text].text or "
        "choices.0.message.content or choices.0.delta.content, got null or nothing: "
        "if this is a refusal, refusal in [reply] names what says so",
        None,
        'status 429: {"error": {"message": "no"}}',
    ]
    attempts = [json.loads(line)["attempts"] for line in Path("out/timings.jsonl").read_text().splitlines()]
    assert attempts[:4] == [1, 3, 1, 3]
    assert attempts[4] >= 3  # a busy server is asked until the time is up
    kept = traces()[2]
    assert (kept["retrieved_ids"], kept["usage"]["prompt_tokens"]) == (["kiln-2", "glaze-0"], 40)
    assert kept["raw"].startswith('{"id": "c-1", "object": "chat.completion"')
    assert traces()[0]["raw"] == '{"error": {"message": "the index is gone", "code": 17}}'


def test_a_path_that_leads_nowhere(cli: Cli, service: Service) -> None:
    Path("rag.toml").write_text(
        '[request]\nbody = { q = "{q}" }\n[reply]\nclaim = "choices.0.message.content"\nids = "choices.*.id"\n'
    )
    done = check(cli, f"{service.url}/broken", "rag.toml")
    assert (done.code, done.err.splitlines()) == (
        2,
        [
            f"{service.url}/broken: reply.claim: expected a text at choices.0.message.content, got nothing: "
            "choices.0 has delta, index [RW-J18]",
            f"  map_unfit: {CATALOGUE['RW-J18'].do}",
        ],
    )
    assert done.out.splitlines() == [
        f'asked: POST {service.url}/broken {{"q":"How hot?"}}',
        'got: {"id": "c-1", "choices": [{"index": 0, "delta": {}}]}',
        "check: the reply cannot be used (exit 2)",
    ]
    gold(*(f"q{n}" for n in range(12)))
    done = drive(cli, f"{service.url}/broken", "rag.toml", "--concurrency", 1)
    assert done.code == 2
    assert done.err.splitlines()[2:] == [
        f'  asked: POST {service.url}/broken {{"q":"q0"}}',
        '  got: {"id": "c-1", "choices": [{"index": 0, "delta": {}}]}',
    ]


def test_what_is_shown_of_a_good_reply(cli: Cli, service: Service) -> None:
    done = check(cli, f"{service.url}/ask", "ask")
    lines = ["  time" if line.startswith("  time ") else line for line in done.out.splitlines()]
    assert lines == [
        f'asked: POST {service.url}/ask {{"question":"How hot?","query":"How hot?"}}',
        'got: {"answer": "How hot? [1]", "sources": ["kiln-2", "glaze-0"], "no_answer": false, "usage": '
        '{"prompt_tokens": 40, "completion_tokens": 7, "total_tokens": 47}, "stage_ms": {"llm": 3.5}}',
        "read as:",
        '  claim          "How hot?"  ← answer',
        "  citations      1: kiln-2  ← markers in answer",
        "  retrieved_ids  2: kiln-2, glaze-0  ← sources.*",
        "  stage_ms       given  ← stage_ms",
        "  usage          given  ← usage",
        "  refused        no",
        "  time",
        "  no topk: ranks and scores of results cannot be measured",
        "check: the reply can be read (exit 0)",
    ]


def test_secrets_come_from_the_environment_and_are_never_shown(
    cli: Cli, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("rag.toml").write_text(
        '[request]\nbody = { q = "{q}", key = "{env.BODY_KEY}" }\n'
        'headers = { Authorization = "Bearer {env.RAG_KEY}" }\n'
        '[reply]\nclaim = "answer"\nids = "sources"\n'
    )
    done = check(cli, f"{service.url}/keyed", "rag.toml")
    assert [line for line in done.err.splitlines() if line.startswith("rag")] == [
        "rag.toml: request.headers.Authorization: expected an environment variable that is set, got RAG_KEY, which is "
        "not [RW-J19]",
        "rag.toml: request.body.key: expected an environment variable that is set, got BODY_KEY, which is not [RW-J19]",
    ]
    assert service.asked() == []
    monkeypatch.setenv("RAG_KEY", "sk-rag-12345678")
    monkeypatch.setenv("BODY_KEY", "bk-abcdefghij")
    done = check(cli, f"{service.url}/keyed", "rag.toml")
    assert (done.code, done.err) == (0, "")
    (asked,) = service.asked()
    assert (asked["headers"]["Authorization"], asked["body"]["key"]) == ("Bearer sk-rag-12345678", "bk-abcdefghij")
    assert done.out.splitlines()[0] == f'asked: POST {service.url}/keyed {{"q":"How hot?","key":"***"}}'
    assert drive(cli, f"{service.url}/keyed", "rag.toml").code == 0
    assert traces()[0]["answer_json"]["claim"] == "let in with *** ***"
    written = "".join(path.read_text() for path in Path("out").iterdir())
    assert "12345678" not in done.out + written
    assert "bk-abc" not in done.out + written
    monkeypatch.setenv("RAG_KEY", "sk\nnew")
    done = check(cli, f"{service.url}/keyed", "rag.toml")
    assert done.err.splitlines()[0] == (
        "rag.toml: request.headers.Authorization: expected printable ASCII text in its environment variable, got "
        "something else [RW-J19]"
    )


def test_a_header_of_the_command_line_goes_before_that_of_the_map(
    cli: Cli, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("rag.toml").write_text(
        '[request]\nbody = { q = "{q}" }\nheaders = { authorization = "Bearer {env.OLD?}" }\n'
        '[reply]\nclaim = "answer"\nids = "sources"\n'
    )
    done = check(cli, f"{service.url}/keyed", "rag.toml")  # the variable may be absent: no header is sent
    assert done.err.splitlines()[0].startswith(f"{service.url}/keyed: expected a reply, got status 401: ")
    assert done.err.splitlines()[2].startswith("A key is sent with --header Authorization=VARIABLE")
    monkeypatch.setenv("OLD", "old-old-old")
    monkeypatch.setenv("NEW", "Bearer new-new-new")
    assert check(cli, f"{service.url}/keyed", "rag.toml", "--header", "Authorization=NEW").code == 0
    assert [one["headers"].get("Authorization") for one in service.asked()] == [None, "Bearer new-new-new"]


def test_knobs_that_are_not_given_or_not_sent(cli: Cli, service: Service) -> None:
    Path("rag.toml").write_text(
        '[request]\nbody = { q = "{q}", k = "{knobs.k}", m = "{knobs.model}" }\n[knobs]\nmodel = "m"\n'
        '[reply]\nclaim = "answer"\n'
    )
    for args in (["run", "--check"], ["run", "--out", "o"], ["experiment", "stability", "--out", "s"],
                 ["experiment", "latency", "--out", "l", "--loads", "50"]):  # fmt: skip
        done = cli(*args, "--target", f"{service.url}/ask", "--map", "rag.toml", "--gold", "gold.jsonl",
                   "--knob", "top=3")  # fmt: skip
        assert (done.code, done.err.splitlines()) == (
            2,
            [
                "rag.toml: request.body.k: expected a value for {knobs.k}, got none: give --knob k=VALUE [RW-J19]",
                f"  map_without_value: {CATALOGUE['RW-J19'].do}",
                'rag.toml: knobs: expected a knob that the map sends (k, model), got "top" [RW-J19]',
            ],
        )
    assert service.asked() == []
    check(cli, f"{service.url}/ask", "rag.toml", "--knob", "k=7")
    assert service.asked()[0]["body"] == {"q": "How hot?", "k": 7, "m": "m"}


def test_the_experiments_take_maps(cli: Cli, service: Service) -> None:
    args = ["--target", f"{service.url}/ask", "--map", "ask", "--gold", "gold.jsonl"]
    done = cli("experiment", "stability", *args, "--out", "s", "--seeds", "0,1", "--jitters", "none")
    assert (done.code, done.err) == (0, "")
    done = cli("experiment", "latency", *args, "--out", "l", "--loads", "50", "--requests", 4, "--warmup", 0)
    assert (done.code, done.err) == (0, "")
    about = json.loads(Path("l/latency.json").read_text())["about"] if Path("l/latency.json").exists() else None
    assert about is None or about["map"] == "ask"


def test_a_run_is_not_resumed_with_another_map(cli: Cli, service: Service) -> None:
    Path("rag.toml").write_text(RAG)
    assert drive(cli, f"{service.url}/ask", "rag.toml").code == 0
    summary = json.loads(Path("out/run.json").read_text())
    assert summary["about"]["map"] == "rag.toml"
    assert len(summary["about"]["map_sha256"]) == 64
    was = summary["about"]["map_sha256"][:12]
    assert drive(cli, f"{service.url}/ask", "rag.toml", "--resume").code == 0
    Path("rag.toml").write_text(RAG + "# changed\n")
    done = drive(cli, f"{service.url}/ask", "rag.toml", "--resume")
    assert done.code == 2
    assert done.err.splitlines()[0].startswith(
        f"out/journal.jsonl: map: expected the run that the journal was begun with (rag.toml, {was}), got another "
        "(rag.toml, "
    )
    assert done.err.splitlines()[0].endswith("[RW-J02]")


def test_from_python(service: Service) -> None:
    Path("rag.toml").write_text(RAG)
    items = [{"qid": "A1", "question": "How hot?", "answerable": True, "gold_citations": ["kiln-2"]}]
    for named in ("ask", Path("rag.toml")):
        ran = ragworthy.run(f"{service.url}/ask", items, map=named)
        assert (ran.errors, ran.traces[0]["answer_json"]["citations"]) == ({}, ["kiln-2"])
        assert ran.summary["about"]["map"] == str(named)
    with pytest.raises(ragworthy.RagworthyError, match="map: expected a target that is an http address"):
        ragworthy.run(lambda question: {}, items, map="ask")


def test_a_map_is_never_overwritten_and_is_for_addresses_only(cli: Cli, service: Service) -> None:
    Path("out").mkdir()
    Path("out/run.json").write_text(RAG)
    done = drive(cli, f"{service.url}/ask", "out/run.json")
    assert done.code == 2
    assert Path("out/run.json").read_text() == RAG
    done = drive(cli, "replay:gold.jsonl", "ask")
    assert done.err.splitlines()[0] == "--map: expected a target that is an http address, got another one [RW-U01]"


@pytest.mark.parametrize(
    ("path", "name"), [("/v1/chat/completions", "openai"), ("/broken", "openai"), ("/nowhere", None)]
)
def test_without_a_map_a_service_that_is_known_is_named(
    cli: Cli, service: Service, path: str, name: str | None
) -> None:
    done = cli("run", "--check", "--target", f"{service.url}{path}", "--gold", "gold.jsonl")
    assert done.code == 2
    hint = f"This looks like a service for --map {name} (docs/http.md): ragworthy explain map {name}"
    assert (hint in done.err.splitlines()) is (name is not None)
    gold(*(f"q{n}" for n in range(12)))
    done = cli("run", "--target", f"{service.url}{path}", "--gold", "gold.jsonl", "--out", "out", "--concurrency", 1)
    assert (f"  {hint}" in done.err.splitlines()) is (name is not None)


def test_an_address_with_a_path_is_taken_as_it_is(cli: Cli, service: Service) -> None:
    done = check(cli, f"{service.url}/v1", "openai")
    assert done.err.splitlines()[-1] == (
        "An address with a path is taken as it is; a map adds its own path only to one without."
    )
    assert service.asked()[0]["path"] == "/v1"


def test_bundled_maps_are_printed(cli: Cli) -> None:
    listed = cli("explain", "map").out.splitlines()
    assert listed[0].split()[0] == "openai"
    assert len(listed) == 8
    printed = cli("explain", "map", "azure").out
    assert printed.startswith("# Azure OpenAI On Your Data")
    assert "id_from = " in printed
    assert cli("explain", "map", "azur").err.splitlines()[0].endswith("(did you mean azure?) [RW-J16]")


HARD = ['"', "\\", "{q}", "{{q}}", '{"a": "b"}', "line\nline", "a\ttab", "é́ 你 🫖", "' OR 1=1", "[1]", "a\u2028b"]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(question=st.text(min_size=1).filter(lambda text: text.strip() and text.isprintable()) | st.sampled_from(HARD))
def test_any_question_arrives_unchanged(cli: Cli, service: Service, question: str) -> None:
    service.log.write_text("")
    gold(question)
    check(cli, service.url, "openai")
    assert service.asked()[0]["body"]["messages"][0]["content"] == question


DELTAS = """\
[request]
path = "/deltas"
body = { question = "{q}" }

[reply]
claim = "delta"
documents = "sources"
stream = "sse"
done = "end"
"""


@pytest.mark.parametrize("question", ["drop 1", "drop 1 event"])
def test_a_stream_that_broke_off_is_asked_for_again(cli: Cli, service: Service, question: str) -> None:
    gold(f"{question}", "Is it?")
    Path("rag.toml").write_text(DELTAS)
    done = drive(cli, service.url, "rag.toml")
    assert (done.code, done.err) == (0, "")
    assert [one["answer_json"]["claim"] for one in traces()] == ["It is.", "It is."]
    assert len(service.asked()) == 3


def test_a_stream_that_breaks_off_each_time_died(cli: Cli, service: Service) -> None:
    gold("drop 99")
    Path("rag.toml").write_text(DELTAS)
    done = drive(cli, service.url, "rag.toml", "--retries", 1)
    assert done.code == 1
    (trace,) = traces()
    assert trace["error"] == "died: the connection broke: the stream ended without end"
    assert trace["retrieved_ids"] == ["a"]
    assert len(service.asked()) == 4  # each of the two times it is asked, once again
    done = check(cli, service.url, "rag.toml", "--retries", 0)
    assert done.code == 2
    assert "got died: the connection broke: the stream ended without end [RW-J12]" in done.err
    assert "If this was the whole stream, done in [reply] names what never comes: docs/http.md." in done.err


def test_an_error_in_a_stream_is_no_broken_connection() -> None:
    from ragworthy.runner.targets.streams import broken_off

    for body in (b"<html>x</html>", b'{"a": 1}', b"data: {\n\n", b'data: {"a": 1}\n\ndata: [DONE]\n\n', b""):
        assert broken_off(body, "sse", lambda _: False) is None, body
    assert broken_off(b'{"a": 1}', "ndjson", lambda _: False) is None
    assert broken_off(b'{"a": 1}\n{"a": 2}\n', "ndjson", lambda _: False) == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize("given_map", [None, "rag.toml"])
def test_a_redirect_is_not_followed_and_stops_a_run(
    cli: Cli, service: Service, given_map: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_KEY", "Bearer sk-rag-12345678")
    gold(*(f"Question {n}?" for n in range(14)))
    Path("rag.toml").write_text(DELTAS)
    more = ["--map", given_map] if given_map else []
    asked = ["--target", f"{service.url}/moved", "--gold", "gold.jsonl", "--header", "Authorization=RAG_KEY", *more]
    done = cli("run", *asked, "--out", "out", "--concurrency", 1)
    assert done.code == 2
    assert done.err.splitlines()[0] == (
        f"{service.url}/moved: expected replies that can be read, got in 10 questions: status 307: "
        "redirects are not followed, and this one points to http://127.0.0.1:9/other/*** [RW-J09]"
    )
    assert "Give the address that it points to as --target, if you trust it with your key." in done.err
    assert len(service.asked()) == 10
    written = "".join(file.read_text() for file in Path("out").iterdir())
    for secret in ("zzz-loc", "pass-word", "12345678"):
        assert secret not in done.out + done.err + written


def test_a_key_that_is_not_taken_is_named_by_its_header(
    cli: Cli, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    gold("status 403")
    done = check(cli, service.url, "ask")
    assert "A key is sent with --header Authorization=VARIABLE" in done.err
    monkeypatch.setenv("RAG_KEY", "sk-rag-12345678")
    done = check(cli, service.url, "ask", "--header", "X-Api-Key=RAG_KEY")
    assert "--header Authorization" not in done.err
    assert "The header X-Api-Key was sent, and the service does not take it: look at its name" in done.err
    done = check(cli, service.url.replace("//", "//me:it@"), "ask")
    assert "The header Authorization was sent" in done.err


def test_knobs_in_the_path_are_filled_in_what_is_shown(cli: Cli, service: Service) -> None:
    Path("rag.toml").write_text(RAG.replace('"/ask"', '"/{knobs.version}/{knobs.part}/{q}"') + "[knobs]\npart = 3\n")
    done = check(cli, service.url, "rag.toml", "--knob", "version=a b")
    assert done.err.startswith(f"{service.url}/a%20b/3/{{q}}: expected a reply, got status 404")
