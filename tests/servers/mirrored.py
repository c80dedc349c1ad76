"""A pipeline behind HTTP for mirrors: answers by the question's hash, waits so long, and notes every request.

python mirrored.py NOTES DELAY [BROKEN]   prints its port first
"""

import hashlib
import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


def reply(asked: dict[str, object], broken: str) -> dict[str, object]:
    """Ten results of twenty documents, the first of which is cited."""
    seed = int(hashlib.sha256(str(asked["q"]).encode()).hexdigest(), 16)
    ids = [f"doc{(seed + 7 * nth) % 20}#{nth % 3}" for nth in range(10)]
    citations = [] if broken == "uncited" and seed % 2 else ["elsewhere#1"] if broken == "elsewhere" else ids[:1]
    return {
        "answer_json": {"claim": f"It is {seed % 97}.", "citations": citations},
        "retrieved_ids": ids,
        "stage_ms": {"retrieve": 3.0, "reason": 5.0},
        "usage": {"total_tokens": 500},
    }


def main() -> None:
    notes, delay = Path(sys.argv[1]), float(sys.argv[2])
    broken = sys.argv[3] if len(sys.argv) > 3 else ""
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock, notes.open("a") as file:
                file.write(f"{time.monotonic():.6f} {asked['qid']}\n")
            time.sleep(delay)
            data = json.dumps(reply(asked, broken)).encode()
            self.send_response(500 if broken == "errors" else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *words: object) -> None:
            """Nothing on stderr."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

        def handle_error(self, *words: object) -> None:
            """Whoever asks may be killed meanwhile."""

    server = Server(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
