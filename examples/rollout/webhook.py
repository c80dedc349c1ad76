"""What Flagger asks, answered by the file of the rollout: 200 for yes, 403 for no. A yes to more traffic is a move in
that file first, so the file is never behind the traffic.

python webhook.py PORT rollout.jsonl --log logs --receipt gold/receipt.json --until now

POST /go       more traffic: moves to the next share; at the last share, whether it may go on to /promote
POST /promote  promotion: moves from the last share, and from no other
POST /back     rollback: yes when a rule takes it back, or when it was taken back; the file is told
POST /ended    after the rollout: one that Flagger ended as Failed is taken back in the file, too
HOST (default 127.0.0.1) is where it listens, AT is a time for the moves instead of now.
"""

import json
import os
import socket
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

GO_ON, ROLL_BACK, WAIT = 0, 1, 3
MORE = ("/go", "/promote")


class Rollout:
    """The file of a rollout, and what it is asked with."""

    def __init__(self, ledger: str, flags: list[str]) -> None:
        self.ledger, self.flags = ["--ledger", ledger], flags
        self.at = ["--at", os.environ["AT"]] if os.environ.get("AT") else []
        self.owed = ""
        """The move that was made while nobody waited for the answer any more."""

    def run(self, verb: str, *words: str) -> tuple[int, bytes]:
        words = (sys.executable, "-m", "ragworthy", "rollout", verb, *self.ledger, *words)
        done = subprocess.run(words, capture_output=True)
        return done.returncode, done.stdout or done.stderr

    def status(self) -> dict[str, Any]:
        """Where it stands; nothing where the file cannot be read or was changed."""
        code, said = self.run("status", "--format", "json")
        return json.loads(said) if code == 0 else {}

    def check(self) -> tuple[int, bytes]:
        return self.run("check", "-q", *self.flags)

    def advance(self) -> tuple[bool, bytes]:
        code, said = self.run("advance", *self.flags, *self.at, "--by", "flagger", "--reason", "asked for more traffic")
        return code == 0, said

    def back(self, reason: str) -> tuple[bool, bytes]:
        if self.status().get("state") == "rolled_back":
            return True, b"it was rolled back\n"
        return True, self.run("rollback", *self.at, "--by", "flagger", "--reason", reason)[1]

    def answer(self, path: str, phase: str) -> tuple[bool, bytes]:
        if path == "/ended":
            return self.back("flagger: the canary failed") if phase == "Failed" else (True, b"")
        if path == "/back":
            code, said = self.check()
            return self.back("rollout check: roll back") if code == ROLL_BACK else (False, said)
        now = self.status()
        to, owed = (now.get("next") or {}).get("state"), bool(self.owed) and self.owed == now.get("head")
        if (path == "/go" and to == "canary" and not owed) or (path == "/promote" and to == "promoted"):
            return self.advance()
        if (path == "/go" and (to == "promoted" or owed)) or (path in MORE and now.get("state") == "promoted"):
            code, said = self.check()  # nothing to move
            return code == GO_ON or (owed and code == WAIT), said
        return False, f"not at {now.get('state')}\n".encode()


def main() -> None:
    rollout = Rollout(sys.argv[2], sys.argv[3:])

    class Asked(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(min(int(self.headers.get("Content-Length") or 0), 1 << 20))
            yes, said = rollout.answer(self.path, str(json.loads(body or b"{}").get("phase")))
            if self.path == "/go" and yes:
                rollout.owed = rollout.status().get("head", "") if self.gone() else ""
            self.send_response(200 if yes else 403)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def gone(self) -> bool:
            """Whether Flagger hung up: it will ask again for what was moved already."""
            self.connection.setblocking(False)
            try:
                return self.connection.recv(1, socket.MSG_PEEK) == b""
            except BlockingIOError:
                return False
            except OSError:
                return True
            finally:
                self.connection.setblocking(True)

    server = HTTPServer((os.environ.get("HOST", "127.0.0.1"), int(sys.argv[1])), Asked)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
