"""A pipeline that replies what is in replies.jsonl of the working folder: as a callable, and behind an address.

A line is the reply as text. For the callable it is a Python literal or JSON; `!TEXT` raises with the text. For the
address it is the body; `!STATUS HEADER: VALUE` in front of a tab gives status and one header.
"""

import ast
import http.server
import json
import os
import threading
from typing import Any


def _line(qid: str) -> str:
    try:
        with open("replies.jsonl", encoding="utf-8", errors="surrogateescape", newline="\n") as file:
            lines = file.read().split("\n")
    except OSError:
        return ""
    order = ["S1", "S2", "S3", "S4", "S5", "N1", "N2", "N3"]
    at = order.index(qid) if qid in order else 0
    return lines[at] if at < len(lines) else ""


def answer(*, qid: str, q: str, seed: int, jitter: str, knobs: dict[str, Any]) -> Any:
    """The reply to one question."""
    line = _line(qid)
    if line.startswith("!"):
        raise ValueError(line[1:])
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(line)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return line


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        qid = json.loads(self.rfile.read(size)).get("qid", "")
        line, head = _line(qid), ""
        if line.startswith("!"):
            head, _, line = line[1:].partition("\t")
        status, _, header = head.partition(" ")
        body = line.encode("utf-8", "surrogateescape")
        self.send_response(int(status) if status.isdigit() and 200 <= int(status) < 600 else 200)
        name, colon, value = header.partition(": ")
        if colon and name.isascii() and name.replace("-", "").isalnum() and value.isprintable() and value.isascii():
            self.send_header(name, value)
        if name.lower() != "content-length":
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the output of the case is looked at."""


def serve() -> int:
    """Start the address in a thread; its port."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ.pop("http_proxy", None)
    return int(server.server_address[1])
