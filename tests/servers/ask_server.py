"""A pipeline behind HTTP, on loopback: answers by the question, well or badly, and logs every request.

    python ask_server.py LOG [PORT]

prints its port, then serves until it is killed. What it does is in the question: `slow 0.2`, `drop`, `status 500`,
`status 429 1` (Retry-After), `flaky 2` (fails so many times, then answers), `json` (not JSON), `huge`, `shape`, `hang`,
`echo` (repeats the Authorization header), `die` (the server ends), `packed`, `moved`, `nothttp`.
"""

import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

LOCK = threading.Lock()
SEEN: dict[str, int] = {}


def reply(asked: dict[str, Any]) -> dict[str, Any]:
    """A good answer, which depends on what was asked and on nothing else."""
    claim = "not in context" if asked["q"].startswith("refuse") else f"{asked['q']} (seed {asked['seed']})"
    return {
        "answer_json": {"claim": claim, "citations": [f"{asked['qid']}#1"]},
        "retrieved_ids": [f"{asked['qid']}#1", "p1#2"],
        "stage_ms": {"retrieval": 1.5, "llm": 2.5},
        "usage": {"prompt_tokens": len(asked["q"])},
        "private": "left out of the trace",
    }


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with LOCK:
            SEEN[asked["qid"]] = count = SEEN.get(asked["qid"], 0) + 1
            with open(sys.argv[1], "a") as log:
                log.write(json.dumps({"qid": asked["qid"], "asked": sorted(asked)}) + "\n")
        verb, _, rest = asked["q"].partition(" ")
        getattr(self, f"do_{verb}", self.well)(asked, rest, count)

    def send(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def well(self, asked: dict[str, Any], rest: str, count: int) -> None:
        self.send(200, json.dumps(reply(asked)).encode())

    def do_slow(self, asked: dict[str, Any], rest: str, count: int) -> None:
        time.sleep(float(rest.split()[0]))
        self.well(asked, rest, count)

    def do_drop(self, asked: dict[str, Any], rest: str, count: int) -> None:
        self.close_connection = True

    def do_status(self, asked: dict[str, Any], rest: str, count: int) -> None:
        status, _, after = rest.partition(" ")
        self.send(int(status), b"so sorry", **({"Retry_After": after} if after else {}))

    def do_flaky(self, asked: dict[str, Any], rest: str, count: int) -> None:
        if count <= int(rest):
            self.send((429, 500, 503)[count % 3], b"again")
        else:
            self.well(asked, rest, count)

    def do_json(self, asked: dict[str, Any], rest: str, count: int) -> None:
        self.send(200, b"<html>no</html>")

    def do_shape(self, asked: dict[str, Any], rest: str, count: int) -> None:
        self.send(200, b'{"answer_json": {"claim": 4}, "retrieved_ids": []}')

    def do_huge(self, asked: dict[str, Any], rest: str, count: int) -> None:
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        while True:  # for as long as somebody listens
            self.wfile.write(b"[" * (1 << 20))

    def do_hang(self, asked: dict[str, Any], rest: str, count: int) -> None:
        time.sleep(3600)

    def do_echo(self, asked: dict[str, Any], rest: str, count: int) -> None:
        told = f"{self.headers['Authorization']} {self.path}"
        if rest == "error":
            self.send(403, f"no entry for {told}".encode())
        elif rest == "wrong":
            self.send(200, told.encode())
        else:
            answer = reply(asked)
            answer["answer_json"]["claim"] = told
            self.send(200, json.dumps(answer).encode())

    def do_packed(self, asked: dict[str, Any], rest: str, count: int) -> None:
        self.send(200, b"\x1f\x8b", Content_Encoding="gzip")

    def do_moved(self, asked: dict[str, Any], rest: str, count: int) -> None:
        self.send(302, b"", Location="/elsewhere")

    def do_nothttp(self, asked: dict[str, Any], rest: str, count: int) -> None:
        self.wfile.write(b"\x00\x01 what is this\r\n\r\n")
        self.close_connection = True

    def do_die(self, asked: dict[str, Any], rest: str, count: int) -> None:
        os._exit(3)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has gone is no news."""


if __name__ == "__main__":
    Path(sys.argv[1]).touch()
    server = Server(("127.0.0.1", int(sys.argv[2]) if len(sys.argv) > 2 else 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
