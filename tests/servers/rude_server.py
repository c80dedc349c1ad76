"""An HTTP server that does as the address says: answers badly, or tells what it was sent in every way.

    python rude_server.py

prints its port, then serves until it is killed. The first part of the path is what it does, the rest says which service
it is: `…/embeddings`, `…/chat/completions`, anything else is a pipeline. What it was told in secret is what stands
behind `Bearer` in the Authorization header, or the user there.
"""

import base64
import gzip
import json
import re
import socket
import socketserver
import struct
import time
from functools import cache
from typing import Any
from urllib.parse import quote

import zstandard

LARGE = 256 << 20
"""So many bytes come out of a packed body."""


@cache
def packed(how: str) -> bytes:
    whole = b"0" * LARGE
    return gzip.compress(whole, 1) if how == "gzip" else zstandard.compress(whole)


def good(service: str, asked: dict[str, Any], said: str) -> bytes:
    """A reply of a service with a text in it, where it has room for one."""
    if service == "embeddings":
        return json.dumps({"data": [{"embedding": [1.0, 2.0]} for _ in asked["input"]], "model": said}).encode()
    if service == "completions":
        first = re.search(r"^\[(.+?)\]", asked["messages"][1]["content"], re.MULTILINE)
        content = json.dumps({"claim": said, "citations": [first[1] if first else ""]})
        return json.dumps({"choices": [{"message": {"content": content}}], "model": said}).encode()
    answer = {"claim": said, "citations": [said], said: said}
    return json.dumps({"answer_json": answer, "retrieved_ids": [said], "usage": {"model": said}}).encode()


def escaped(text: str) -> str:
    """As JSON may write it: every other letter as an escape."""
    return "".join(f"\\u{ord(letter):04x}" if place % 2 else letter for place, letter in enumerate(text))


class Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        while line := self.rfile.readline():
            path = line.split()[1].decode()
            headers: dict[str, str] = {}
            while (header := self.rfile.readline()) not in (b"\r\n", b""):
                name, _, value = header.decode("latin-1").partition(":")
                headers[name.lower()] = value.strip()
            asked = json.loads(self.rfile.read(int(headers["content-length"])))
            doing, _, service = path.partition("?")[0].strip("/").partition("/")
            scheme, _, key = headers.get("authorization", "").partition(" ")
            if scheme == "Basic":
                key = base64.b64decode(key).decode().partition(":")[0]
            self.headers, self.path = headers, path
            if getattr(self, f"do_{doing.replace('-', '_')}")(service.rpartition("/")[2], asked, key):
                return

    def send(self, body: bytes, status: str = "200 OK", *headers: str) -> None:
        lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
        self.wfile.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    def do_well(self, service: str, asked: dict[str, Any], key: str) -> None:
        self.send(good(service, asked, "fine"))

    def do_headers(self, service: str, asked: dict[str, Any], key: str) -> None:
        self.send(
            good(service, asked, json.dumps(self.headers | {"port": self.client_address[1]})),
            "200 OK",
            "Set-Cookie: seen=1",
        )

    # bodies that end badly, or not at all

    def do_gzip(self, service: str, asked: dict[str, Any], key: str) -> None:
        self.send(packed("gzip"), "200 OK", "Content-Encoding: gzip")

    def do_zstd(self, service: str, asked: dict[str, Any], key: str) -> None:
        self.send(packed("zstd"), "200 OK", "Content-Encoding: zstd")

    def do_broken_gzip(self, service: str, asked: dict[str, Any], key: str) -> None:
        self.send(b"\x1f\x8b\x08 no, not really", "200 OK", "Content-Encoding: gzip")

    def do_packed_error(self, service: str, asked: dict[str, Any], key: str) -> None:
        self.send(packed("gzip"), "400 Bad", "Content-Encoding: gzip")

    def do_endless(self, service: str, asked: dict[str, Any], key: str) -> bool:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
        while True:
            self.wfile.write(b"[" * (1 << 16))

    def do_endless_error(self, service: str, asked: dict[str, Any], key: str) -> bool:
        self.wfile.write(b"HTTP/1.1 400 Bad\r\nConnection: close\r\n\r\nno ")
        while True:
            self.wfile.write(b"." * (1 << 16))

    def do_drip(self, service: str, asked: dict[str, Any], key: str) -> bool:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        while True:
            self.wfile.write(b" ")
            time.sleep(0.05)

    def do_drip_headers(self, service: str, asked: dict[str, Any], key: str) -> bool:
        self.wfile.write(b"HTTP/1.1 200 OK\r\n")
        while True:
            self.wfile.write(b"X: y\r\n")
            time.sleep(0.05)

    def do_half(self, service: str, asked: dict[str, Any], key: str) -> bool:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")
        return True

    def do_reset(self, service: str, asked: dict[str, Any], key: str) -> bool:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")
        self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.request.close()
        return True

    def do_moved(self, service: str, asked: dict[str, Any], key: str) -> None:
        self.send(b"", "307 Moved", f"Location: /well/{service}")

    # whatever it was told, told to others

    def do_plain(self, service: str, asked: dict[str, Any], key: str) -> None:
        self.send(good(service, asked, f"your key is {key}, {key}"))

    def do_escaped(self, service: str, asked: dict[str, Any], key: str) -> None:
        self.send(good(service, asked, "KEY").replace(b"KEY", escaped(key).encode()))

    def do_upper(self, service: str, asked: dict[str, Any], key: str) -> None:
        self.send(good(service, asked, key.upper()))

    def do_no_json(self, service: str, asked: dict[str, Any], key: str) -> None:
        self.send(f"<html>{key} {escaped(key)} {quote(key, safe='')} {''.join(f'%{ord(c):02X}' for c in key)}".encode())

    def do_header(self, service: str, asked: dict[str, Any], key: str) -> None:
        self.send(b"{}", "200 OK", f"Content-Encoding: {key}", f"X-Key: {key}", f"Set-Cookie: k={key}")

    def do_status(self, service: str, asked: dict[str, Any], key: str) -> None:
        forms = [key, key.upper(), escaped(key), key.replace("/", "\\/"), quote(key, safe=""), self.path]
        self.send(json.dumps({"error": f"bad keys {' '.join(forms)}"}).encode(), "401 Who")

    def do_cut(self, service: str, asked: dict[str, Any], key: str) -> None:
        """The key, but for its last two letters, is right before each place where a body may be cut."""
        body = bytearray(b" " * (1 << 15))
        for place in (200, 800, 1 << 14):
            body[place - len(key) + 2 : place + 2] = key.encode()
        self.send(bytes(body), "401 Who")

    def do_words(self, service: str, asked: dict[str, Any], key: str) -> bool:
        """A status line that is none: the library quotes it in what it raises."""
        self.wfile.write(f"HTTP/1.1 {key} {key}\r\n\r\n".encode())
        return True


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has gone is no news."""


if __name__ == "__main__":
    server = Server(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()
