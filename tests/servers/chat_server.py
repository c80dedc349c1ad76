"""An OpenAI-compatible chat endpoint in a process of its own: what it does is chosen by the name of the model.

It prints its port, then serves until it is ended. Every request is kept and can be read back at GET /requests.
"""

import json
import re
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

REQUESTS: list[dict[str, Any]] = []
HUGE = 3 << 20
SLOW = 5.0


def first_id(messages: list[dict[str, str]]) -> str:
    """The id of the first chunk of the context."""
    found = re.search(r"^\[(.+?)\]", messages[1]["content"], re.MULTILINE)
    return found[1] if found else ""


def good(messages: list[dict[str, str]]) -> str:
    claim = "It is as the first chunk says."
    return json.dumps({"citations": [first_id(messages)], "claim": claim, "constraints_echo": ["made up"]})


def content(model: str, messages: list[dict[str, str]]) -> str:
    """What the model of this name writes."""
    retried = len(messages) > 2
    if model in ("bad-once", "outside-once", "uncited-once") and retried:
        return good(messages)
    if model in ("bad-once", "bad"):
        return "Sure! The answer is 42."
    if model in ("outside", "outside-once"):
        return json.dumps({"citations": [first_id(messages), "nowhere#1"], "claim": "From elsewhere."})
    if model == "uncited-once":
        return json.dumps({"citations": [], "claim": "Trust me."})
    if model == "refuses":
        return json.dumps({"citations": [first_id(messages)], "claim": " Not in Context. "})
    return good(messages)


class Handler(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self.send(200, json.dumps(REQUESTS).encode())

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        key = self.headers.get("Authorization")
        REQUESTS.append({"path": self.path, "key": key, "body": body})
        model = body["model"]
        if model == "fails":
            self.send(500, f"overloaded, your header was {key}".encode())
        elif model == "moved":
            self.send(307, b"", {"Location": "/elsewhere"})
        elif model == "slow":
            time.sleep(SLOW)
            self.send(200, b"{}")
        elif model == "drip":
            self.drip()
        elif model == "huge":
            self.send(200, b"[" + b" " * HUGE + b"]")
        elif model == "no-choices":
            self.send(200, b'{"choices": []}')
        elif model == "not-chat":
            self.send(200, b"<html>")
        else:
            written = content(model, body["messages"])
            usage = {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107, "details": {"cached": 0}}
            choice = {"index": 0, "message": {"role": "assistant", "content": written}, "finish_reason": "stop"}
            self.send(200, json.dumps({"choices": [choice], "usage": usage}).encode())

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
        try:
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)
        except OSError:
            self.close_connection = True


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
