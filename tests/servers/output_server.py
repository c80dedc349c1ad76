"""A structured pipeline behind HTTP, on loopback: answers by the question, well or badly, and logs every request.

    python output_server.py LOG

prints its port, then serves until it is killed. What it does is in the question: `slow 0.2`, `status 500`, `text`
(not JSON), `object` (raw is an object), `fenced`, `answers` (a reply of the other contract), `another` (names another
question), `other prompt`, `control` (signs that a terminal obeys), `huge`, `error` (says itself that it failed),
`documents` (an answer with documents).
"""

import hashlib
import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LOCK = threading.Lock()
CHUNK = {"chunk_id": "c1", "score": 0.9, "source_path": "manual.md", "text": "First press the alarm button."}
MADE = {"model_id": "m1", "adapter_id": "none", "index_version": "i1"}


def output(asked: dict[str, Any], raw: Any) -> dict[str, Any]:
    seen = {"saw": hashlib.sha256(asked.get("prompt", "").encode()).hexdigest()}
    return {"raw": raw, "context": [CHUNK], "meta": MADE | seen, "usage": {"prompt_tokens": 7}, "qid": asked["qid"]}


def good(asked: dict[str, Any]) -> str:
    return json.dumps({"topic": asked["q"].split()[-1]})


REPLIES: dict[str, Any] = {
    "text": lambda asked: "<html>no</html>",
    "object": lambda asked: output(asked, {"topic": "x"}),
    "fenced": lambda asked: output(asked, f"```json\n{good(asked)}\n```"),
    "answers": lambda asked: {"answer_json": {"claim": "x"}, "retrieved_ids": []},
    "another": lambda asked: output(asked, good(asked)) | {"qid": "elsewhere"},
    "other": lambda asked: output(asked, good(asked)) | {"meta": MADE | {"prompt_sha256": "ab" * 32}},
    "control": lambda asked: output(asked, '{"topic": "\x1b[2J\x07\u202e owned"}') | {"meta": MADE | {"x": "\x1b[31m"}},
    "huge": lambda asked: output(asked, "x" * (17 << 20)),
    "error": lambda asked: {"error": "truncated: 512 tokens", "error_code": "E7", "raw": "{", "context": [CHUNK]},
    "documents": lambda asked: {
        "answer": good(asked),
        "documents": [{"id": "c1", "text": "First press.", "metadata": {"source": "manual.md"}}],
        "meta": MADE,
    },
}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with LOCK, open(sys.argv[1], "a") as log:
            log.write(json.dumps(asked) + "\n")
        verb, _, rest = asked["q"].partition(" ")
        if verb == "slow":
            time.sleep(float(rest.split()[0]))
        made = REPLIES.get(verb, lambda one: output(one, good(one)))(asked)
        body = (made if isinstance(made, str) else json.dumps(made)).encode()
        self.send_response(500 if verb == "status" else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:  # nobody waits for it any more
            self.close_connection = True

    def log_message(self, *_: Any) -> None:
        """Nothing on stderr."""


class Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that was closed in the middle is what some tests are about."""


if __name__ == "__main__":
    server = Server(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()
