"""Bundled maps against replies of the APIs that they are for: recorded ones, and samples in the documented shapes."""

import hashlib
import json
import re
from typing import Any

import pytest

from places import SHARED
from ragworthy.adapters.replies import Rules
from ragworthy.adapters.replies import rules as rules_of
from ragworthy.load.map import load_map, read_map
from ragworthy.runner.contract import checked
from ragworthy.runner.targets.extract import Extracted, Reader, Said, Unfit
from ragworthy.runner.targets.streams import values_of

HASHED = f"sha256:{hashlib.sha256(b'Two words.').hexdigest()[:16]}"
NO_ID = "reply.documents: expected a document with an id or a text at sources.0"


def read(name: str, reply: Any) -> Extracted:
    """What a bundled map reads out of a reply; the fields fit the contract."""
    reading = load_map(name).reply
    body = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
    found = Reader(reading).read(values_of(body, reading.stream))
    assert checked(found.fields).error is None
    return found


def brief(found: Extracted) -> tuple[str, list[str], list[str]]:
    answer = found.fields["answer_json"]
    return answer["claim"], answer["citations"], found.fields["retrieved_ids"]


@pytest.mark.data("findings/samples/openai_compatible_rag_response.json")
def test_openai_with_a_recorded_reply() -> None:
    recorded = json.loads((SHARED / "findings/samples/openai_compatible_rag_response.json").read_text())
    said = recorded["choices"][0]["message"]["content"]
    numbers = [int(number) for number in re.findall(r"\[(\d+)\]", said)]
    found = read("openai", recorded)
    assert numbers == [5]
    assert brief(found) == (
        said.removesuffix(" [5]"),
        [recorded["sources"][4]["id"]],
        [one["id"] for one in recorded["sources"]],
    )
    assert found.fields["topk"] == [{"id": one["id"], "score": one["score"]} for one in recorded["sources"]]
    assert found.fields["usage"] == recorded["usage"]


def chat(content: Any, **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": content} | more.pop("message", {})
    return {"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]} | more


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        (chat("Yes [1, 2]", documents=[{"id": "a", "text": "x"}, {"id": "b"}]), ("Yes", ["a", "b"], ["a", "b"])),
        (chat("Yes [2]", citations=["https://a", "https://b"]), ("Yes", ["https://b"], ["https://a", "https://b"])),
        (chat("Yes [1].", message={"sources": ["a#1"]}), ("Yes.", ["a#1"], ["a#1"])),
        (chat([{"type": "text", "text": "Y"}, {"type": "text", "text": "es"}]), ("Yes", [], [])),
        (chat("Yes", sources=None), ("Yes", [], [])),
        (chat("Yes [3]", sources=[{"id": "a"}]), ("Yes", ["[3]"], ["a"])),
        (chat(None, message={"refusal": "I cannot help."}), ("not in context", [], [])),
        (
            chat("On 1 May.", message={"annotations": [
                {"type": "url_citation", "url_citation": {"url": "https://a", "title": "A"}}]}),
            ("On 1 May.", ["https://a"], []),
        ),
    ],
)  # fmt: skip
def test_openai_with_sources_at_the_usual_places(reply: Any, wanted: tuple[str, list[str], list[str]]) -> None:
    assert brief(read("openai", reply)) == wanted


def test_an_error_inside_a_good_reply() -> None:
    for error in ({"message": "over quota", "code": 1}, "over quota"):
        with pytest.raises(Said, match=r"^over quota$"):
            read("openai", {"error": error})
    with pytest.raises(Said, match=r'^{"code":7}$'):
        read("openai", {"error": {"code": 7}})
    assert read("openai", chat("Yes", error=None)).fields["answer_json"]["claim"] == "Yes"


def test_openai_responses() -> None:
    result = {"file_id": "file-1", "filename": "kilns.md", "score": 0.9, "text": "Cone 6 …", "attributes": {}}
    other = result | {"filename": "clay.md", "score": 0.4}
    cited = {"type": "file_citation", "index": 12, "file_id": "file-1", "filename": "kilns.md"}
    reply: dict[str, Any] = {
        "id": "resp_1",
        "object": "response",
        "error": None,
        "output": [
            {"type": "reasoning", "id": "r", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm."}]},
            {
                "type": "file_search_call",
                "id": "f",
                "queries": ["q"],
                "results": [result, result | {"score": 0.5}, other],
            },
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "1222 °C.", "annotations": [cited, cited]}],
            },
        ],
        "usage": {"input_tokens": 900, "output_tokens": 9, "total_tokens": 909},
    }
    found = read("openai-responses", reply)
    assert brief(found) == ("1222 °C.", ["kilns.md"], ["kilns.md", "clay.md"])
    assert found.fields["topk"] == [{"id": "kilns.md", "score": 0.9}, {"id": "clay.md", "score": 0.4}]
    reply["output"][1]["results"] = None  # without include
    assert brief(read("openai-responses", reply)) == ("1222 °C.", ["kilns.md"], [])
    reply["output"][2]["content"] = [{"type": "refusal", "refusal": "No."}]
    assert read("openai-responses", reply).fields["answer_json"]["claim"] == "not in context"


def test_azure_on_your_data() -> None:
    def source(path: str, chunk: str) -> dict[str, Any]:
        return {"content": "…", "title": path, "url": f"https://blob/{path}", "filepath": path, "chunk_id": chunk}

    context = {"citations": [source("a.pdf", "0"), source("a.pdf", "7")], "intent": '["x"]'}
    reply = chat("Up to 250 [doc2]. See [3].", message={"context": context}, usage={"prompt_tokens": 3})
    found = read("azure", reply)
    assert brief(found) == ("Up to 250. See [3].", ["a.pdf@7"], ["a.pdf@0", "a.pdf@7"])
    context["citations"][1].pop("filepath")  # type: ignore[attr-defined]
    with pytest.raises(Unfit) as unfit:
        read("azure", reply)
    assert str(unfit.value) == (
        "reply.id_from: expected filepath at choices.0.message.context.citations.1, got nothing: "
        "it has chunk_id, content, title, url"
    )


def test_cohere() -> None:
    def cited(text: str, *ids: str) -> dict[str, Any]:
        sources = [{"type": "document", "id": one, "document": {"id": one, "snippet": "…"}} for one in ids]
        return {"start": 0, "end": 3, "text": text, "sources": sources, "type": "TEXT_CONTENT"}

    content = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Emperor penguins [sic]."}]
    message = {
        "role": "assistant",
        "content": content,
        "citations": [cited("a", "doc:0"), cited("b", "doc:2", "doc:0")],
    }
    tokens = {"input_tokens": 443, "output_tokens": 12}
    usage = {"billed_units": {"input_tokens": 13, "output_tokens": 12}, "tokens": tokens}
    reply = {"id": "1", "finish_reason": "COMPLETE", "message": message, "usage": usage}
    found = read("cohere", reply)
    assert brief(found) == ("Emperor penguins [sic].", ["doc:0", "doc:2"], ["doc:0", "doc:2"])
    assert found.fields["usage"] == tokens
    del message["citations"]
    assert brief(read("cohere", reply)) == ("Emperor penguins [sic].", [], [])


def test_perplexity() -> None:
    reply = chat(
        "It opened in 1889 [1][3].",
        citations=["https://a", "https://b", "https://c"],
        search_results=[{"title": "A", "url": "https://a", "date": None}],
        usage={"prompt_tokens": 14, "completion_tokens": 70, "total_tokens": 84, "search_context_size": "low"},
    )
    assert brief(read("perplexity", reply)) == (
        "It opened in 1889.",
        ["https://a", "https://c"],
        ["https://a", "https://b", "https://c"],
    )
    del reply["citations"]
    assert brief(read("perplexity", reply)) == ("It opened in 1889.", ["https://a", "[3]"], ["https://a"])


def test_langserve_as_it_was_recorded() -> None:
    """What LangServe 0.3.3 gave for a chain of create_retrieval_chain."""
    documents = [
        {"id": None, "metadata": {"source": "kilns.md", "start_index": 40}, "page_content": "1222", "type": "Document"},
        {"id": None, "metadata": {"source": "clay.md", "start_index": 7}, "page_content": "Ash.", "type": "Document"},
    ]
    output = {"input": "How hot is cone 6?", "context": documents, "answer": "It is 1222 C [1]."}
    reply = {"output": output, "metadata": {"run_id": "df25f575-4154-4fe4-8d87-fa63410ec2a7", "feedback_tokens": []}}
    assert brief(read("langserve", reply)) == ("It is 1222 C.", ["kilns.md@40"], ["kilns.md@40", "clay.md@7"])
    assert brief(read("langserve", {"output": "It is 1222 C."})) == ("It is 1222 C.", [], [])


def test_ollama_as_its_documentation_has_it() -> None:
    """The streamed chat of docs/api.md: pieces, then a last object with the counts and no message."""
    pieces = [
        {"model": "m", "message": {"role": "assistant", "content": text}, "done": False} for text in ("The", " sky")
    ]
    last = {"model": "m", "done": True, "total_duration": 4883583458, "prompt_eval_count": 26, "eval_count": 282}
    found = read("ollama", "\n".join(map(json.dumps, (*pieces, last))).encode())
    assert brief(found) == ("The sky", [], [])
    assert found.fields["usage"] == {"prompt_tokens": 26, "completion_tokens": 282}
    with pytest.raises(Said, match=r"^model 'x' not found$"):
        read("ollama", {"error": "model 'x' not found"})


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ({"answer": "A [2]", "sources": ["x", "y"]}, ("A", ["y"], ["x", "y"])),
        ({"response": "A", "documents": [{"chunk_id": "c", "text": "t"}]}, ("A", [], ["c"])),
        ({"result": "A [1]", "source_documents": [{"page_content": "t", "metadata": {"chunk_id": "m-1"}}]},
         ("A", ["m-1"], ["m-1"])),
        ({"answer": "A", "contexts": ["Two words."]}, ("A", [], [HASHED])),
        ({"answer": "A", "sources": [{"text": "t", "file_name": "a.md", "chunk_index": 3}]}, ("A", [], ["a.md@3"])),
        ({"answer": "Sorry.", "no_answer": True}, ("not in context", [], [])),
    ],
)  # fmt: skip
def test_plain_services(reply: Any, wanted: tuple[str, list[str], list[str]]) -> None:
    assert brief(read("ask", reply)) == wanted


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ({"x": "A"}, "reply.claim: expected a text at answer or response or result, got nothing: the reply has x"),
        ({"answer": 4, "sources": []}, "reply.claim: expected a text at answer, got 4"),
        ({"answer": "A", "sources": [{"url": "u"}]}, f"{NO_ID}, got url: id_from names the fields of an id"),
        ({"answer": "A", "sources": [4]}, f"{NO_ID}, got 4: id_from names the fields of an id"),
    ],
)  # fmt: skip
def test_replies_that_do_not_fit(reply: Any, told: str) -> None:
    with pytest.raises(Unfit) as unfit:
        read("ask", reply)
    assert str(unfit.value) == told


# maps of one's own


def own(lines: str, reply: Any, rules: Rules | None = None) -> Extracted:
    made = read_map(f'[request]\nbody = "{{q}}"\n[reply]\n{lines}\n', "rag.toml")
    return Reader(made.reply, rules).read([reply])


TWO = [{"url": "u1", "metadata": {"page": 3}, "s": 2}, {"url": "u2", "metadata": {"page": 4}, "s": 1}]


@pytest.mark.parametrize(
    ("lines", "reply", "wanted"),
    [
        ("documents = 'd'\nid_from = ['url', 'page']", {"a": "A [2]", "d": TWO}, ("A", ["u2@4"], ["u1@3", "u2@4"])),
        ("ids = 'd.*.url'\nbase = 0", {"a": "A [0] [1]", "d": TWO}, ("A", ["u1", "u2"], ["u1", "u2"])),
        ("ids = 'd.*.url'\nmarker = 'none'", {"a": "A [1]", "d": TWO}, ("A [1]", [], ["u1", "u2"])),
        ("ids = 'd.*.url'\nmarker = '<(\\d)>'", {"a": "A [1] <2>", "d": TWO}, ("A [1]", ["u2"], ["u1", "u2"])),
        ("ids = 'd.*.url'\ncitations = 'c'", {"a": "A [1]", "d": TWO, "c": ["x", 2, 9]},
         ("A", ["x", "u2", "[9]"], ["u1", "u2"])),
        ("ids = 'd.*.url'\ncitations = 'c'", {"a": "A [1]", "d": TWO, "c": []}, ("A", ["u1"], ["u1", "u2"])),
        ("documents = 'd'\nid_from = 'url'\ncitations = 'c'", {"a": "A", "d": TWO, "c": [{"url": "u2"}]},
         ("A", ["u2"], ["u1", "u2"])),
        ("ids = ['no.*.id', 'd.*.url']", {"a": "A", "d": TWO + TWO}, ("A", [], ["u1", "u2"])),
        ("ids = 'd'", {"a": "A", "d": [7, "x"]}, ("A", [], ["7", "x"])),
        ("ids = 'd'", {"a": "A", "d": None}, ("A", [], [])),
        ("texts = 'd'", {"a": "A [1]", "d": ["Two words."]}, ("A", [HASHED], [HASHED])),
    ],
)  # fmt: skip
def test_ids_and_citations(lines: str, reply: Any, wanted: tuple[str, list[str], list[str]]) -> None:
    assert brief(own(f"claim = 'a'\n{lines}", reply)) == wanted


@pytest.mark.parametrize(
    ("lines", "reply", "told"),
    [
        ("ids = 'd.*.url'", {"a": "A"}, "reply.ids: expected a list at d.*.url, got nothing: the reply has a"),
        ("ids = 'd.*.url'", {"a": "A", "d": [{"url": "x"}, {"id": 1}]},
         "reply.ids: expected a list at d.*.url, got nothing: d.1 has id"),
        ("ids = 'd.*.url'", {"a": "A", "d": [{"url": True}]},
         "reply.ids: expected a text or a number at d.0.url, got true"),
        ("ids = 'd.*.url'\nscores = 'd.*.s?'", {"a": "A", "d": [*TWO, {"url": "u3"}]},
         "reply.scores: expected 3 numbers at d.*.s, one for each id, got 2"),
        ("ids = 'd.*.url'\nscores = 'd.*.url'", {"a": "A", "d": TWO},
         'reply.scores: expected a number at d.0.url, got "u1"'),
        ("ids = 'd.*.url'\ntexts = 't'", {"a": "A", "d": TWO, "t": ["x"]},
         "reply.texts: expected 2 texts at t, one for each id, got 1"),
        ("citations = 'c'", {"a": "A"}, "reply.citations: expected a list at c, got nothing: the reply has a"),
        ("parse = 'json'\n[reply.parsed]\nclaim = 'x'", {"a": "A"},
         "reply.claim: expected JSON in the text at a, got A (invalid character (byte 0))"),
        ("parse = 'json'\n[reply.parsed]\nclaim = 'x'", {"a": '{"y": 1}'},
         "reply.parsed.claim: expected a text at x, got nothing: the reply has y"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(lines: str, reply: Any, told: str) -> None:
    with pytest.raises(Unfit) as unfit:
        own(f"claim = 'a'\n{lines}", reply)
    assert str(unfit.value) == told


def test_scores_and_tables() -> None:
    found = own(
        "claim = 'a'\nids = 'd.*.url'\nscores = 'd.*.s'\nstage_ms = 'ms'\n"
        "usage = { prompt_tokens = 'u.in', completion_tokens = 'u.no' }",
        {"a": "A", "d": [TWO[0], TWO[1] | {"s": None}], "u": {"in": 4}, "ms": {"llm": 2}},
    )
    assert found.fields["topk"] == [{"id": "u1", "score": 2.0}, {"id": "u2"}]
    assert (found.fields["usage"], found.fields["stage_ms"]) == ({"prompt_tokens": 4}, {"llm": 2})


def test_the_command_line_goes_before_the_map() -> None:
    lines = "claim = 'a'\ndocuments = 'd'\nid_from = 'url'\nmarker = 'none'"
    rules = rules_of("metadata:page", r"<(\d)>")
    found = own(lines, {"a": "A <2>", "d": [one | {"text": "t"} for one in TWO]}, rules)
    assert brief(found) == ("A", ["4"], ["3", "4"])


# streams


def test_events_and_lines() -> None:
    assert values_of(b'\xef\xbb\xbfdata: {"a":\rdata: 1}\r\revent: end\n\ndata: [DONE]', "sse") == [{"a": 1}]
    assert values_of(b' {"a": 1}', "sse") == [{"a": 1}]
    assert values_of(b'{"a": 1}\r\n\r\n{"a": 2}', "ndjson") == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize(
    ("body", "stream", "told"),
    [
        (b"data: {", "sse", "expected JSON in an event of the stream, got { (Input data was truncated)"),
        (b"", "sse", "expected a stream, got nothing"),
        (b"data: [DONE]\n\n", "sse", "expected a stream, got nothing"),
        (b'{"a": 1}\n<html>', "ndjson",
         "expected JSON in a line of the stream, got <html> (invalid character (byte 0))"),
        (b'data: {"a": 1}\n\n', "none", 'expected JSON, got data: {"a": 1} (events: write stream = "sse" in [reply])'),
        (b'{"a": 1}\n{"a": 2}\n', "none",
         'expected JSON, got {"a": 1} {"a": 2} (one object per line: write stream = "ndjson" in [reply])'),
        (b"<html>", "none", "expected JSON, got <html> (invalid character (byte 0))"),
    ],
)  # fmt: skip
def test_bodies_that_are_no_stream(body: bytes, stream: str, told: str) -> None:
    with pytest.raises(ValueError, match="expected") as error:
        values_of(body, stream)
    assert str(error.value) == told
