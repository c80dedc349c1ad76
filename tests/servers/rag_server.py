"""RAG services behind HTTP, on loopback, each at its path and in its own language; every request is logged.

    python rag_server.py LOG [PORT]

prints its port, then serves until it is killed. `/v1/chat/completions` speaks like OpenAI and adds `sources`; with
`"stream": true` it streams. `/ask` takes GET and POST, `/api/chat` speaks like Ollama, `/json` answers with JSON in
the text, `/broken` and `/keyed` behave badly on purpose, `/pieces` gives the key back in pieces.
What goes wrong is in the question: `status 429 1`, `flaky 2`, `cut` (a stream without its end),
`said` (an error inside a good reply), `none` (no answer).
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

LOCK = threading.Lock()
SEEN: dict[str, int] = {}
SOURCES = [
    {
        "id": "kiln-2",
        "title": "Kilns",
        "url": "https://kb.example/kiln#2",
        "snippet": "Cone 6 is 1222 °C.",
        "score": 3.5,
    },
    {"id": "glaze-0", "title": "Glazes", "url": "https://kb.example/glaze", "snippet": "Ash runs.", "score": 1.25},
]
USAGE = {"prompt_tokens": 40, "completion_tokens": 7, "total_tokens": 47}


def answer(question: str) -> str:
    """The same answer for the same question, with the question in it: what was sent comes back."""
    return f"{question} [1]"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        self.handle_one(json.loads(raw))

    def do_GET(self) -> None:
        self.handle_one(None)

    def handle_one(self, body: Any) -> None:
        place = urlsplit(self.path)
        query = parse_qs(place.query)
        with LOCK, open(sys.argv[1], "a") as log:
            line = {"method": self.command, "path": place.path, "query": query, "body": body}
            log.write(json.dumps(line | {"headers": dict(self.headers)}) + "\n")
        served = {"/v1/chat/completions": self.chat, "/ask": self.ask, "/api/chat": self.ollama, "/json": self.json,
                  "/keyed": self.keyed, "/broken": self.broken,
                  "/pieces": self.pieces, "/pieces/chat/completions": self.parts,
                  "/moved": self.moved, "/deltas": self.deltas}  # fmt: skip
        work = served.get(place.path)
        if work is None:
            self.send(404, b'{"detail": "Not Found"}')
        else:
            work(body, query)

    def failed(self, question: str) -> bool:
        """Do what the question asks for; True where that was not an answer."""
        words = question.split()
        if words[:1] == ["status"]:
            self.send(
                int(words[1]), b'{"error": {"message": "no"}}', **({"Retry_After": words[2]} if words[2:] else {})
            )
            return True
        if words[:1] == ["flaky"]:
            with LOCK:
                SEEN[question] = SEEN.get(question, 0) + 1
            if SEEN[question] <= int(words[1]):
                self.send(503, b"again")
                return True
        if words[:1] == ["said"]:
            self.reply({"error": {"message": "the index is gone", "code": 17}})
            return True
        return False

    def chat(self, body: Any, query: Any) -> None:
        if not isinstance(body, dict) or "messages" not in body:
            detail = {"type": "missing", "loc": ["body", "messages"], "msg": "Field required", "input": body}
            self.send(422, json.dumps({"detail": [detail]}).encode())
            return
        question = body["messages"][-1]["content"]
        if self.failed(question):
            return
        if body.get("stream"):
            self.stream(question, usage=bool(body.get("stream_options")))
            return
        message = {"role": "assistant", "content": None if question == "none" else answer(question), "refusal": None}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        self.reply({"id": "c-1", "object": "chat.completion", "choices": [choice], "usage": USAGE, "sources": SOURCES})

    def stream(self, question: str, *, usage: bool) -> None:
        """The same answer in pieces of three characters, the sources with the first, usage in the last."""
        text = answer(question)
        pieces = [text[begin : begin + 3] for begin in range(0, len(text), 3)]
        chunks: list[Any] = [{"choices": [{"index": 0, "delta": {"role": "assistant"}}], "sources": SOURCES}]
        chunks += [{"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]} for piece in pieces]
        if not question.startswith("cut"):
            chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
            chunks += [{"choices": [], "usage": USAGE}] if usage else []
        events = [": ping", *(f"data: {json.dumps(chunk)}" for chunk in chunks), "data: [DONE]"]
        self.send(200, "\r\n\r\n".join([*events, ""]).encode(), Content_Type="text/event-stream")

    def ask(self, body: Any, query: dict[str, list[str]]) -> None:
        question = query["q"][0] if body is None else body["question"]
        if not self.failed(question):
            self.reply({"answer": answer(question), "sources": [one["id"] for one in SOURCES],
                        "no_answer": question == "none", "usage": USAGE, "stage_ms": {"llm": 3.5}})  # fmt: skip

    def ollama(self, body: Any, query: Any) -> None:
        question = body["messages"][-1]["content"]
        counts = {"prompt_eval_count": 26, "eval_count": 290, "done": True, "sources": SOURCES}
        pieces = [answer(question)] if not body["stream"] else list(answer(question))
        lines = [{"message": {"role": "assistant", "content": piece}, "done": False} for piece in pieces]
        lines[-1] |= counts
        self.send(200, "".join(json.dumps(line) + "\n" for line in lines).encode())

    def json(self, body: Any, query: Any) -> None:
        text = json.dumps({"reply": f"{body['q']} done", "used": [0]})
        self.reply({"text": f"```json\n{text}\n```", "passages": [one["snippet"] for one in SOURCES]})

    def keyed(self, body: Any, query: Any) -> None:
        given = self.headers["Authorization"]
        if not given:
            self.send(401, b'{"error": {"message": "You did not provide an API key"}}')
        else:
            self.reply({"answer": f"let in with {given} {body.get('key')}", "sources": []})

    def broken(self, body: Any, query: Any) -> None:
        self.reply({"id": "c-1", "choices": [{"index": 0, "delta": {}}]})

    def cut(self, cuts: list[int]) -> list[str]:
        """The key of a request, cut at these places."""
        key = self.headers["Authorization"].removeprefix("Bearer ")
        places = [0, *sorted({cut for cut in cuts if 0 < cut < len(key)}), len(key)]
        return [key[begin:end] for begin, end in pairwise(places)]

    def pieces(self, body: Any, query: Any) -> None:
        """The key in deltas, in parts, in parts between others, around a marker, or in what is not an answer."""
        cut, form = self.cut(body["cuts"]), body["form"]
        parts = [{"type": "text", "text": one} for one in ("It is ", *cut, " [1]")]
        if form.startswith("stream"):
            events = [*({"delta": one["text"], "sources": ["a"]} for one in parts), {"end": form != "stream cut"}]
            self.send(200, "".join(f"data: {json.dumps(one)}\n\n" for one in events).encode())
        elif form == "between":
            other = {"type": "thought", "text": "hm"}
            self.reply({"parts": [one for part in parts for one in (part, other)], "sources": ["a"]})
        elif form == "marker":
            self.reply({"parts": [{"type": "text", "text": "[1]".join(cut)}], "sources": ["a"]})
        elif form == "status":
            self.send(500, json.dumps({"parts": parts}).encode())
        else:
            self.reply({"parts": parts, "sources": [1.5] if form == "unfit" else ["a"]})

    def parts(self, body: Any, query: Any) -> None:
        """A chat completion whose content comes in parts, with the key spread over them."""
        cut = self.cut([int(place) for place in body["model"].split("-")])
        texts = ('{"claim": "It is ', *cut, '", "citations": ["1"]}')
        content = [{"type": "text", "text": one} for one in texts]
        self.reply({"choices": [{"message": {"content": content}, "finish_reason": "stop"}]})

    def moved(self, body: Any, query: Any) -> None:
        """Somewhere else, with what may be a secret of that place, and with the key of this one."""
        key = (self.headers["Authorization"] or "").removeprefix("Bearer ")
        self.send(307, b"", Location=f"http://you:pass-word@127.0.0.1:9/other/{key}?token=zzz-loc-secret")

    def deltas(self, body: Any, query: Any) -> None:
        """A stream; one to a question that begins with `drop` breaks off so many times: `drop 1 event`, `drop 9`."""
        words = body["question"].split()
        events = [{"delta": "It "}, {"delta": "is. [1]", "sources": ["a"]}, {"end": True}]
        whole = "".join(f"data: {json.dumps(one)}\n\n" for one in events)
        with LOCK:
            SEEN[body["question"]] = SEEN.get(body["question"], 0) + 1
        if words[0] == "drop" and SEEN[body["question"]] <= int(words[1]):
            whole = whole[:30] if words[2:] == ["event"] else whole.partition('data: {"end"')[0]
        self.send(200, whole.encode())

    def reply(self, value: Any) -> None:
        self.send(200, json.dumps(value).encode())

    def send(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


if __name__ == "__main__":
    Path(sys.argv[1]).touch()
    server = Server(("127.0.0.1", int(sys.argv[2]) if len(sys.argv) > 2 else 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
