"""Replies of an answer with its documents, from every kind of target, and what a run makes of them."""

import json
import shlex
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import ragworthy as rw
from conftest import Cli, Done, write_jsonl

TEXTS = {"a.md@0": "Names are free after 45 days.", "b.md@0": "Parts are 5 GB."}
REPLY: dict[str, Any] = {
    "answer": "After 45 days [1], and 5 GB (2).",
    "documents": [
        {"page_content": text, "metadata": {"source": name.partition("@")[0], "start_index": 0}, "score": 0.5}
        for name, text in TEXTS.items()
    ],
    "usage": {"prompt_tokens": 3},
    "stage_ms": {"llm": 1.5},
}
GOLD = [
    {
        "qid": f"Q{n}",
        "question": f"How long, {n}?",
        "answerable": True,
        "gold_claim_substr": ["45 days"],
        "gold_evidence": [TEXTS["a.md@0"]],
    }
    for n in range(3)
]


class _Answering(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        body = json.dumps(REPLY).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    served = ThreadingHTTPServer(("127.0.0.1", 0), _Answering)
    threading.Thread(target=served.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{served.server_port}/ask"
    served.shutdown()
    served.server_close()


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_jsonl(Path("gold.jsonl"), GOLD)
    Path("reply.json").write_text(json.dumps(REPLY))
    Path("replying.py").write_text(
        "import json, pathlib\ndef answer(question):\n    return json.loads(pathlib.Path('reply.json').read_text())\n"
    )
    Path("command.py").write_text(
        "import json, sys\nfor line in sys.stdin:\n    print(json.dumps(json.load(open('reply.json'))), flush=True)\n"
    )


def run(cli: Cli, target: str, out: str, *flags: str) -> Done:
    return cli("run", "--target", target, "--gold", "gold.jsonl", "--out", out, *flags)


def traces(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(out, "traces.jsonl").read_text("utf-8").splitlines()]


COMMAND = f"cmd:{shlex.quote(sys.executable)} command.py"


def test_every_kind_of_target_gives_the_same_traces(cli: Cli, address: str) -> None:
    for name, target in (("call", "replying.py:answer"), ("cmd", COMMAND), ("http", address)):
        done = run(cli, target, name)
        assert done.code == 0, done.err
        (first, *_) = traces(name)
        assert first["answer_json"] == {"claim": "After 45 days, and 5 GB (2).", "citations": ["a.md@0"]}
        assert first["retrieved_ids"] == ["a.md@0", "b.md@0"]
        assert first["topk"] == [{"id": "a.md@0", "score": 0.5}, {"id": "b.md@0", "score": 0.5}]
        assert (first["usage"], first["stage_ms"]) == ({"prompt_tokens": 3}, {"llm": 1.5})
        assert Path(name, "traces.jsonl").read_bytes() == Path("call", "traces.jsonl").read_bytes()
        assert Path(name, "chunks.jsonl").read_bytes() == Path("call", "chunks.jsonl").read_bytes()


def test_ids_and_markers_by_flags_for_every_kind_of_target(cli: Cli, address: str) -> None:
    for name, target in (("call", "replying.py:answer"), ("cmd", COMMAND), ("http", address)):
        run(cli, target, name, "--doc-id", "metadata:source", "--marker", r"\((\d)\)")
        (first, *_) = traces(name)
        assert first["answer_json"] == {"claim": "After 45 days [1], and 5 GB.", "citations": ["b.md"]}
        assert first["retrieved_ids"] == ["a.md", "b.md"]
        about = json.loads(Path(name, "run.json").read_text())["about"]
        assert about == {"doc_id": "metadata:source", "marker": r"\((\d)\)"}
    done = run(cli, "replying.py:answer", "call", "--resume")
    assert (done.code, "RW-J02" in done.err) == (2, True)
    done = run(cli, "replying.py:answer", "new", "--marker", "none")
    assert traces("new")[0]["answer_json"] == {"claim": REPLY["answer"], "citations": []}
    assert run(cli, "replying.py:answer", "x", "--doc-id", "source").err.splitlines()[0] == (
        '--doc-id: expected id, content or metadata:KEY,KEY, got "source" [RW-U01]'
    )


def test_a_random_uuid_is_an_id_where_the_gold_set_has_such_ids(cli: Cli) -> None:
    uuid = "ff0a9ff2-7603-48b9-8b04-109597ec1156"
    Path("reply.json").write_text(json.dumps({"answer": "x", "documents": [{"id": uuid, "text": "x"}]}))
    run(cli, "replying.py:answer", "by-text")
    assert traces("by-text")[0]["retrieved_ids"][0].startswith("sha256:")
    write_jsonl(Path("gold.jsonl"), [one | {"gold_citations": [uuid]} for one in GOLD])
    run(cli, "replying.py:answer", "by-id")
    assert traces("by-id")[0]["retrieved_ids"] == [uuid]


def test_check_shows_how_the_reply_was_read(cli: Cli) -> None:
    done = cli("run", "--check", "--target", "replying.py:answer", "--gold", "gold.jsonl")
    assert done.code == 0
    read = "  from           answer and 2 documents of documents; ids: 2 by metadata; citations: markers"
    assert read in done.out.splitlines()
    Path("reply.json").write_text(json.dumps({"answer": "x", "documents": [{"text": "y"}, {"title": "z"}]}))
    done = cli("run", "--check", "--target", "replying.py:answer", "--gold", "gold.jsonl")
    told = "replying.py:answer: documents[1]: expected a document with a text or an id, got an object [RW-J10]"
    assert (done.code, done.err.splitlines()[0]) == (2, told)


def test_what_rw_reply_cannot_read_is_a_bad_reply_with_its_field(cli: Cli) -> None:
    Path("glue.py").write_text("import ragworthy as rw\ndef answer(question):\n    return rw.reply('x', [4])\n")
    done = cli("run", "--check", "--target", "glue.py:answer", "--gold", "gold.jsonl")
    told = "glue.py:answer: documents[0]: expected a document with a text or an id, got 4 [RW-J10]"
    assert (done.code, done.err.splitlines()[0]) == (2, told)


def test_evidence_is_bound_to_what_was_retrieved_and_nothing_else_is_needed(cli: Cli) -> None:
    done = run(cli, "replying.py:answer", "out")
    command = done.out.splitlines()[-2]
    assert command == (
        "next: ragworthy score answers --gold gold.jsonl --trace out/traces.jsonl --corpus out/chunks.jsonl "
        "--gates containment=0.80"
    )
    chunks = [json.loads(line) for line in Path("out/chunks.jsonl").read_text().splitlines()]
    assert chunks == [
        {"chunk_id": name, "text": text, "doc_id": name.partition("@")[0], "attrs": {"retrieved": True}}
        for name, text in TEXTS.items()
    ]
    result = rw.score("answers", gold="gold.jsonl", traces="out/traces.jsonl", corpus="out/chunks.jsonl")
    assert (result.metrics["answers.precision"].num, result.metrics["answers.hit@5"].num) == (3, 3)


def test_evidence_that_was_never_retrieved_is_not_found_and_not_invalid(cli: Cli) -> None:
    lost = {**GOLD[2], "gold_evidence": ["An invoice is due after 14 days."]}
    write_jsonl(Path("gold.jsonl"), [*GOLD[:2], lost])
    run(cli, "replying.py:answer", "out")
    gates = {"hit@5": 0.60, "precision": 0.60}
    given: dict[str, Any] = {"gold": "gold.jsonl", "traces": "out/traces.jsonl", "gates": gates, "defaults": False}
    result = rw.score("answers", corpus="out/chunks.jsonl", **given)
    assert result.verdict == "SHIP"
    hit = result.metrics["answers.hit@5"]
    assert (hit.num, hit.den) == (2, 3)
    told = [one["message"] for one in result.report["suites"]["answers"]["warnings"] if one["code"] == "RW-G17"]
    assert told == [
        "1 piece of gold evidence in nothing that was retrieved and counted as not found, "
        "e.g. that of Q2: no chunk holds it"
    ]
    whole = [json.loads(line) | {"attrs": {}} for line in Path("out/chunks.jsonl").read_text().splitlines()]
    assert rw.score("answers", corpus=whole, **given).verdict == "INVALID"


def test_chunks_survive_a_stop_and_do_not_depend_on_the_order(cli: Cli) -> None:
    Path("varied.py").write_text(
        "import time\ndef answer(question):\n"
        "    n = int(question[-2])\n    time.sleep((3 - n) / 50)\n"
        "    return {'answer': 'x', 'documents': [{'id': 'same', 'text': 'Same.', 'metadata': {'page': n}},"
        " {'id': f'own{n}', 'text': f'Own {n}.'}]}\n"
    )
    run(cli, "varied.py:answer", "one", "--concurrency", "1")
    run(cli, "varied.py:answer", "many", "--concurrency", "3")
    wanted = Path("one/chunks.jsonl").read_bytes()
    assert Path("many/chunks.jsonl").read_bytes() == wanted
    assert [json.loads(line)["chunk_id"] for line in wanted.splitlines()] == ["own0", "own1", "own2", "same"]
    for name in ("chunks.jsonl", "traces.jsonl", "run.json"):
        Path("many", name).unlink()
    journal = Path("many/journal.jsonl")
    journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:-1]))
    assert run(cli, "varied.py:answer", "many", "--resume").code == 0
    assert Path("many/chunks.jsonl").read_bytes() == wanted


def test_ids_that_name_several_texts_are_told(cli: Cli) -> None:
    found = [{"text": "A.", "metadata": {"file": "x"}}, {"text": "B.", "metadata": {"file": "x"}}]
    Path("reply.json").write_text(json.dumps({"answer": "x", "documents": found}))
    done = run(cli, "replying.py:answer", "out", "--doc-id", "metadata:file")
    assert "1 id names several texts (x): --doc-id content tells them apart" in done.out.splitlines()


def test_a_place_that_begins_anew_on_every_page_never_ships(cli: Cli) -> None:
    """Two pages of a file whose loader does not say which is which: the wrong one would count as the right one."""
    pages = [{"text": "45 days.", "metadata": {"source": "a.pdf", "start_index": 0}}]
    pages += [{"text": "Imprint.", "metadata": {"source": "a.pdf", "start_index": 0}}]
    Path("pages.py").write_text(
        f"PAGES = {pages!r}\n"
        "def answer(question):\n"
        "    return {'answer': 'After 45 days [1].', 'documents': [PAGES[0 if '0' in question else 1]]}\n"
    )
    gold = [one | {"gold_evidence": ["45 days."]} for one in GOLD]
    write_jsonl(Path("pages.jsonl"), gold)
    done = cli("run", "--target", "pages.py:answer", "--gold", "pages.jsonl", "--out", "out")
    assert "1 id names several texts (a.pdf@0): --doc-id content tells them apart" in done.out.splitlines()
    score = ("score", "answers", "--gold", "pages.jsonl", "--trace", "out/traces.jsonl", "--corpus", "out/chunks.jsonl")
    scored = cli(*score)
    assert scored.code == 4
    assert "1 id names several texts (a.pdf@0): make the traces again with --doc-id content" in scored.out
    cli("run", "--target", "pages.py:answer", "--gold", "pages.jsonl", "--out", "right", "--doc-id", "content")
    found = rw.score("answers", gold="pages.jsonl", traces="right/traces.jsonl", corpus="right/chunks.jsonl")
    assert found.metrics["answers.hit@5"].value == pytest.approx(1 / 3)  # the page was found once
    assert "several texts" not in found.text()


def test_a_reply_that_was_made_with_an_id_for_two_texts_says_so() -> None:
    place = {"source": "a.pdf", "start_index": 0}
    documents = [{"text": "45 days.", "metadata": place}, {"text": "Imprint.", "metadata": place}]
    assert rw.reply("45 days [1].", documents)["ambiguous_ids"] == ["a.pdf@0"]
    paged = [one | {"metadata": place | {"page": n}} for n, one in enumerate(documents)]
    assert "ambiguous_ids" not in rw.reply("45 days [1].", paged)
    assert rw.reply("45 days [1].", paged)["retrieved_ids"] == ["a.pdf@p0@0", "a.pdf@p1@0"]


# objects, known by their methods


class Engine:
    def query(self, question: str) -> Any:
        return type("Response", (), {"response": "45 days [1]", "source_nodes": [{"id": "a", "text": "45 days"}]})()

    async def aquery(self, question: str) -> Any:
        raise AssertionError


def test_run_of_python_takes_an_engine_and_rules() -> None:
    ran = rw.run(Engine(), GOLD)
    assert ran.traces[0]["answer_json"] == {"claim": "45 days", "citations": ["a"]}
    assert ran.chunks == [{"chunk_id": "a", "text": "45 days", "attrs": {"retrieved": True}}]
    assert ran.score(corpus=ran.chunks).metrics["answers.containment"].num == 3
    other = rw.run(Engine(), GOLD, doc_id=lambda one: f"own-{one['id']}", marker="none")
    assert other.traces[0]["answer_json"] == {"claim": "45 days [1]", "citations": []}
    assert other.traces[0]["retrieved_ids"] == ["own-a"]


def test_a_class_and_a_function_are_no_engines(cli: Cli) -> None:
    Path("mine.py").write_text(
        "def answer(question):\n    return {'answer': question, 'documents': []}\n"
        "answer.query = answer.aquery = print\n"
    )
    assert run(cli, "mine.py:answer", "out").code == 0
    assert traces("out")[0]["answer_json"]["claim"] == "How long, 0?"


def test_the_empty_response_of_llamaindex_is_named(cli: Cli) -> None:
    Path("reply.json").write_text(json.dumps({"answer": "Empty Response", "documents": []}))
    done = run(cli, "replying.py:answer", "out")
    assert (
        "3 answers read like a refusal, e.g. \"Empty Response\"; --refusal 'Empty Response' makes them refusals, "
        "leave it out if they are answers (docs/refusals.md)"
    ) in done.out.splitlines()
