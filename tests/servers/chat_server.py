"""An OpenAI-compatible chat endpoint in a process of its own: what it does is chosen by the name of the model.

It prints its port, then serves until it is ended. Every request is kept and can be read back at GET /requests; GET
/flight says how many are being answered now, and were at most.
"""

import json
import os
import select
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

REQUESTS: list[dict[str, Any]] = []
HUGE = 3 << 20
SLOW = 5.0
LOCK = threading.Lock()
FLIGHT = {"now": 0, "most": 0, "left": 0}
OPEN: set[socket.socket] = set()
"""The connections of the requests that are being answered."""
SEEN: dict[str, int] = {}
"""How often each request came, by model and question."""
GOOD = json.dumps({"citations": ["1"], "claim": "It is as the first chunk says."})
WRITTEN = {
    "bad": "Sure! The answer is 42.",
    "outside": json.dumps({"citations": ["1", "7"], "claim": "From elsewhere."}),
    "uncited": json.dumps({"citations": [], "claim": "Trust me."}),
    "empty": json.dumps({"citations": ["1"], "claim": " "}),
    "refuses": json.dumps({"citations": ["1"], "claim": " Not in Context. "}),
    "brackets": json.dumps({"citations": ["[1]", "2."], "claim": "It is as the first chunk says. [1]"}),
    "thinks": f"<think>It may be {{red}}.</think>\n```json\n{GOOD}\n```",
    "nothing": None,
    "parts": [{"type": "text", "text": GOOD[:20]}, {"type": "text", "text": GOOD[20:]}],
    **dict.fromkeys(("truncated", "talks", "uncounted"), GOOD[:30]),
    "echoes": json.dumps({"citations": ["1"], "claim": "The claim is not in context."}),
}
CUT = ("truncated", "talks", "uncounted")
"""Models that are cut: by the server, at max_tokens, and by one that does not count tokens."""
"""What models write; NAME-once writes it the first time, and something good the second time."""


def seen(body: dict[str, Any]) -> int:
    """How often this question came to this model, with this time."""
    name = body["model"] + body["messages"][1]["content"]
    with LOCK:
        SEEN[name] = SEEN.get(name, 0) + 1
        return SEEN[name]


def gone(connection: socket.socket) -> bool:
    """Whether whoever asked has closed the connection; the thread that answers may not have noticed yet."""
    ready, _, _ = select.select([connection], [], [], 0)
    return bool(ready) and not connection.recv(1, socket.MSG_PEEK)


def refusal(model: str, body: dict[str, Any]) -> str:
    """What of a request a server does not take."""
    held = body.get("response_format", {})
    if model == "no-schema" and held.get("type") == "json_schema":
        return "response_format.type must be json_object or text"
    if model == "no-limits" and "maxLength" in json.dumps(held):
        return "Invalid schema for response_format 'answer': 'maxLength' is not permitted."
    if model == "no-json" and held:
        return "response_format is not supported"
    if model == "new" and "max_tokens" in body:
        return "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens'."
    if model == "new" and "seed" in body:
        return "Unsupported parameter: 'seed'."
    return "the request exceeds the available context size" if model == "too-long" else ""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self.send(200, json.dumps(FLIGHT if self.path.endswith("/flight") else REQUESTS).encode())

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        key = self.headers.get("Authorization")
        REQUESTS.append({"path": self.path, "key": key, "body": body, "at": time.monotonic()})
        with LOCK:
            OPEN.add(self.connection)
            FLIGHT["now"] = sum(not gone(one) for one in OPEN)
            FLIGHT["most"] = max(FLIGHT["most"], FLIGHT["now"])
        try:
            self.answer(body["model"], body, key)
        finally:
            self.leave()

    def leave(self) -> None:
        """Count this request as answered: before whoever asked can know, and send the next."""
        with LOCK:
            OPEN.discard(self.connection)
            FLIGHT["now"] = sum(not gone(one) for one in OPEN)

    def answer(self, model: str, body: dict[str, Any], key: str | None) -> None:
        if told := refusal(model, body):
            self.send(400, json.dumps({"error": {"message": told}}).encode())
        elif model == "fails":
            self.send(500, f"overloaded, your header was {key}".encode())
        elif model == "moved":
            self.send(307, b"", {"Location": "/elsewhere"})
        elif model == "busy" and seen(body) % 2:
            self.send(429, b"slow down", {"Retry-After": "1"})
        elif model == "busy-for-long":
            self.send(429, b"slow down", {"Retry-After": "3600"})
        elif model == "loading" and seen({**body, "messages": body["messages"][:1] * 2}) <= 5:
            self.send(503, b'{"error": {"message": "Loading model"}}')
        elif model == "drops" and seen(body) % 2:
            self.send(200, b"{}", {"Content-Length": "100"})
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        elif model.startswith("dies-") and len(REQUESTS) > int(model.removeprefix("dies-")):
            os._exit(0)
        elif model == "slow":
            self.wait(SLOW)
        elif model == "drip":
            self.drip()
        elif model == "huge":
            self.send(200, b"[" + b" " * HUGE + b"]")
        elif model == "no-choices":
            self.send(200, b'{"choices": []}')
        elif model == "not-chat":
            self.send(200, f"<html>Welcome, {key}</html>".encode())
        else:
            self.write(model, body)

    def write(self, model: str, body: dict[str, Any]) -> None:
        """A completion."""
        name = model.removesuffix("-once")
        again = name != model and "JSON object only" in body["messages"][1]["content"]
        written = GOOD if again else WRITTEN.get(name, GOOD)
        message = {"role": "assistant", "content": written}
        choice = {"index": 0, "message": message, "finish_reason": "length" if name in CUT else "stop"}
        wrote = body["max_tokens"] if model == "talks" else 7
        usage = {"prompt_tokens": 100, "completion_tokens": wrote, "total_tokens": 100 + wrote,
                 "prompt_tokens_details": {"cached_tokens": 40}}  # fmt: skip
        counted = {} if model == "uncounted" else {"usage": usage}
        self.send(200, json.dumps({"choices": [choice], **counted}).encode())

    def wait(self, seconds: float) -> None:
        """Answer after a while, unless whoever asked goes away."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(0.02)
            if gone(self.connection):
                with LOCK:
                    FLIGHT["left"] += 1
                self.close_connection = True
                return
        self.write("good", {})

    def drip(self) -> None:
        """One byte at a time, each soon enough, the whole never."""
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        try:
            for _ in range(100):
                self.wfile.write(b" ")
                self.wfile.flush()
                time.sleep(0.05)
        except OSError:
            self.close_connection = True

    def send(self, status: int, data: bytes, headers: dict[str, str] | None = None) -> None:
        self.leave()
        try:
            self.send_response(status)
            for name, value in ({"Content-Length": str(len(data))} | (headers or {})).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)
            self.wfile.flush()
        except OSError:
            self.close_connection = True


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
