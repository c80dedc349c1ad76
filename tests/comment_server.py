"""The part of GitHub's and GitLab's interfaces that keeps comments, over HTTP on this machine, with pages of two."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

PAGE = 2


class Comments(NamedTuple):
    """What the server holds and was asked."""

    address: str
    kept: list[dict[str, Any]]
    asked: list[str]
    """Method, path and token of every request."""

    def add(self, body: str, author: str) -> None:
        self.kept.append(comment(len(self.kept) + 1, body, author))


def comment(number: int, body: str, author: str) -> dict[str, Any]:
    return {"id": number, "body": body, "user": {"login": author}, "author": {"id": author}}


@contextmanager
def serving(me: str, *, refuses: bool = False) -> Iterator[Comments]:
    """A server on a free port; `me` is whose token is used, who is refused where `refuses` says so."""
    kept: list[dict[str, Any]] = []
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path, query = self._told()
            if path.endswith("/user"):
                self._reply({"id": me})
                return
            page = int(query.get("page", ["1"])[0])
            more = page * PAGE < len(kept)
            following = f'<{address}{path}?per_page=100&page={page + 1}>; rel="next"'
            headers = {"Link": following, "X-Next-Page": str(page + 1)} if more else {"X-Next-Page": ""}
            self._reply(kept[(page - 1) * PAGE : page * PAGE], headers)

        def do_POST(self) -> None:
            self._told()
            kept.append(comment(len(kept) + 1, self._body(), me))
            self._reply(kept[-1], code=201)

        def do_PATCH(self) -> None:
            path, _ = self._told()
            number = int(path.rpartition("/")[2])
            kept[number - 1]["body"] = self._body()
            self._reply(kept[number - 1])

        do_PUT = do_PATCH

        def _told(self) -> tuple[str, dict[str, list[str]]]:
            address = urlsplit(self.path)
            token = self.headers.get("Authorization") or self.headers.get("PRIVATE-TOKEN") or ""
            asked.append(f"{self.command} {address.path} {token}")
            return address.path, parse_qs(address.query)

        def _body(self) -> str:
            data = self.rfile.read(int(self.headers["Content-Length"])).decode()
            if data.startswith("{"):
                return str(json.loads(data)["body"])
            return parse_qs(data, keep_blank_values=True)["body"][0]

        def _reply(self, told: Any, headers: dict[str, str] | None = None, code: int = 200) -> None:
            data = json.dumps(told).encode()
            self.send_response(403 if refuses else code)
            for name, value in {**(headers or {}), "Content-Type": "application/json"}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: what was asked is kept."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield Comments(address, kept, asked)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
