"""The one HTTP client, against a server that does everything wrong, in each of its three uses."""

import asyncio
import base64
import json
import logging
import re
import shutil
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from html import unescape
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest

from conftest import Cli, write_jsonl
from places import SERVERS, TESTS
from ragworthy.errors import DataError, UsageError
from ragworthy.index.endpoint import Endpoint
from ragworthy.pipeline.chat import Chat
from ragworthy.pipeline.endpoint import asking
from ragworthy.pipeline.knobs import Knobs
from ragworthy.records import Chunk
from ragworthy.runner.contract import Ask, Options, Reply
from ragworthy.runner.targets import open_target
from ragworthy.wire.address import parsed, shown
from ragworthy.wire.client import Client
from ragworthy.wire.secret import Secrets, check_without_keys

pytest.importorskip("httpx", reason="SKIPPED: httpx is not installed")

SERVER = SERVERS / "rude_server.py"
SECRET = "sk-Ab/9+Cd-0123\"45'67"
USES = ("chat", "embedding", "target")
SHORT = 1.0


@pytest.fixture(scope="module")
def rude() -> Iterator[str]:
    process = subprocess.Popen([sys.executable, str(SERVER)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGWORTHY_CHAT_KEY", SECRET)
    monkeypatch.setenv("RAGWORTHY_EMBED_KEY", SECRET)
    monkeypatch.setenv("PIPELINE_KEY", f"Bearer {SECRET}")


def asked(use: str, url: str, timeout: float = SHORT) -> str:
    """What comes of one request: what is wrong with it, or what came back."""
    if use == "target":
        reply = replied(url, timeout, "Authorization=PIPELINE_KEY")
        return reply.error or json.dumps(reply.fields)
    try:
        if use == "chat":
            return asyncio.run(_answered(url, timeout))
        return str(Endpoint("m", url, timeout=timeout, wait=lambda _: None).embed(["a", "b"]))
    except DataError as error:
        return error.problems[0].message


async def _answered(url: str, timeout: float) -> str:
    chat = Chat(f"chat:m@{url}", named=True, retries=0)
    await chat.endpoint.open()
    try:
        context = [Chunk(chunk_id="a#1", text="x")]
        found = await chat.answer("what?", context, asking("A1", timeout), seed=0, knobs=Knobs())
        return found.error or str(found)
    finally:
        await chat.endpoint.close()


def replied(url: str, timeout: float = SHORT, *headers: str) -> Reply:
    async def one() -> Reply:
        target = open_target(url, Options(retries=0, headers=headers))
        await target.open()
        try:
            return await target.ask(Ask("A1", "what?"), timeout)
        finally:
            await target.close()

    return asyncio.run(one())


# bodies and endings

TOO_LARGE = {
    "chat": "bad reply: expected a plain chat completion, got more than 1,048,576 bytes",
    "embedding": "expected vectors, got more than 67,108,864 bytes",
    "target": "too large: expected at most 16 MB, got more",
}


def packed(how: str) -> dict[str, str]:
    return {
        "chat": f"bad reply: expected a plain chat completion, got it packed ({how})",
        "embedding": f"expected vectors, got it packed ({how})",
        "target": f"bad reply: expected plain JSON, got it packed ({how})",
    }


def broke(how: str) -> dict[str, str]:
    return {
        "chat": f"died: the connection broke: {how}",
        "embedding": f"expected vectors, got after 4 attempts a connection that broke: {how}",
        "target": f"died: the connection broke: {how}",
    }


def status(how: str) -> dict[str, str]:
    return dict.fromkeys(("chat", "target"), f"status {how}") | {"embedding": f"expected status 200, got status {how}"}


LATE = {
    "chat": "timeout: no reply within 1 s",
    "embedding": "expected vectors, got none within 1 s",
    "target": "timeout: no reply within 1 s",
}
ENDINGS = {
    "gzip": packed("gzip"),
    "zstd": packed("zstd"),
    "broken-gzip": packed("gzip"),
    "packed-error": status("400"),
    "endless": TOO_LARGE,
    "endless-error": status(f"400: no {'.' * 196}…"),
    "drip": LATE,
    "drip-headers": LATE,
    "half": broke("peer closed connection without sending complete message body (received 1 bytes, expected 1000)"),
    "reset": broke("Connection reset by peer"),
    "moved": status("307: redirects are not followed, and this one points to {host}/well"),
}


@pytest.mark.parametrize("doing", ENDINGS)
@pytest.mark.parametrize("use", USES)
def test_a_body_that_is_wrong_ends_in_time_and_with_a_reason(rude: str, use: str, doing: str) -> None:
    begun = time.monotonic()
    ending = ENDINGS[doing][use].replace("{host}", rude)
    got = asked(use, f"{rude}/{doing}", SHORT if ENDINGS[doing] is LATE else 20.0)
    assert re.sub(r"/well/.*$", "/well", got) == ending
    assert time.monotonic() - begun < 15


@pytest.mark.parametrize("use", USES)
def test_a_body_of_any_size_takes_little_memory(rude: str, use: str) -> None:
    code = (
        "import resource, sys\nsys.path[:0] = sys.argv[1:3]\nfrom test_wire import asked\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "for doing in sys.argv[5:]: asked(sys.argv[3], f'{sys.argv[4]}/{doing}')\n"
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10)"
    )
    bodies = ("gzip", "zstd", "packed-error", "endless", "endless-error")
    words = [sys.executable, "-c", code, str(Path(__file__).parent), str(TESTS), use, rude, *bodies]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    assert int(done.stdout) < 150  # MB; the bodies are of 256 and more
    assert done.stderr == ""


def test_a_request_works_while_a_loop_is_running(rude: str) -> None:
    async def notebook() -> str:
        return asked("embedding", f"{rude}/well")

    assert "0.4472136 0.8944272" in asyncio.run(notebook())


def test_one_client_serves_several_threads_at_once(rude: str) -> None:
    model = Endpoint("m", f"{rude}/well", timeout=20)
    rows: list[list[float]] = []
    threads = [threading.Thread(target=lambda: rows.extend(model.embed(["a", "b"]).tolist())) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert rows == [pytest.approx([1 / 5**0.5, 2 / 5**0.5])] * 24


def posts(url: str, count: int) -> list[tuple[dict[str, str], int]]:
    """The headers of some requests of one client, each with the connection it came on."""

    async def all_of_them() -> list[tuple[dict[str, str], int]]:
        client = Client(parsed(url), "a test", most_bytes=1 << 20, key=SECRET)
        await client.open()
        try:
            answers = [await client.post(b"{}", 5) for _ in range(count)]
        finally:
            await client.close()
        seen = [json.loads(json.loads(answer.body)["answer_json"]["claim"]) for answer in answers]
        return [(headers, headers.pop("port")) for headers in seen]

    return asyncio.run(all_of_them())


def test_only_plain_bodies_are_asked_for_and_no_cookie_is_kept_but_the_connection_is(rude: str) -> None:
    seen = posts(f"{rude}/headers", 5)
    for headers, _ in seen:
        assert headers["accept-encoding"] == "identity"
        assert headers["authorization"] == f"Bearer {SECRET}"
        assert "cookie" not in headers
    assert len({port for _, port in seen}) == 1


def test_a_name_that_cannot_be_looked_up_is_unreachable() -> None:
    for host in ("no-such-host.invalid", "a..b", "x" * 80):
        reply = replied(f"http://{host}/")
        assert (reply.unreachable, (reply.error or "").partition(":")[0]) == (True, "unreachable")


# secrets


def holds(text: str, secret: str) -> bool:
    """Whether somebody who reads a text can find a secret in it, or most of its beginning."""
    unescaped = re.sub(r"\\+u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text)
    read = [text, unescaped, unescaped.replace("\\", ""), unquote(text), unquote(unquote(text)), unescape(text)]
    return any(secret[:7].lower() in one.lower() for one in read)


TELLING = ("plain", "escaped", "upper", "no-json", "header", "status", "cut", "words")


@pytest.mark.parametrize("doing", TELLING)
@pytest.mark.parametrize("use", USES)
def test_no_secret_that_comes_back_is_shown_or_written(
    rude: str, use: str, doing: str, tmp_path: Path, cli: Cli
) -> None:
    url = f"{rude}/{doing}"
    docs = write_jsonl(tmp_path / "docs.jsonl", [{"path": "a.md", "text": "# Lock\n\nThe lock is red.\n"}])
    gold = write_jsonl(tmp_path / "gold.jsonl", [{"qid": "Q1", "question": "Which lock is red?", "answerable": True}])
    run: tuple[object, ...]
    if use == "target":
        run = ("--target", f"{url}?token=qSECRETq9", "--header", "Authorization=PIPELINE_KEY", "--retries", 0)
        done = cli("run", *run, "--gold", gold, "--out", tmp_path / "out")
    elif use == "chat":
        assert cli("index", "build", "--docs", docs, "--out", tmp_path / "ix", "--dense", "none").code == 0
        run = ("--target", f"builtin:{tmp_path / 'ix'}", "--knob", f"answerer=chat:m@{url}")
        done = cli("run", *run, "--gold", gold, "--out", tmp_path / "out")
    else:
        done = cli("index", "build", "--docs", docs, "--out", tmp_path / "out", "--dense", f"openai:m@{url}")
    assert done.code in (0, 1, 2)
    written = [file.read_bytes().decode("utf-8", "replace") for file in tmp_path.rglob("*") if file.is_file()]
    assert not [text for text in (done.out, done.err, *written) if holds(text, SECRET) or holds(text, "qSECRETq9")]
    if use != "embedding":
        assert (tmp_path / "out" / "traces.jsonl").exists()


def test_the_test_would_notice_a_secret() -> None:
    for text in (SECRET, SECRET.upper(), json.dumps(SECRET), quote(SECRET, safe=""), f"it is {SECRET[:8]}…"):
        assert holds(text, SECRET)
    assert holds("".join(f"\\u{ord(letter):04X}" for letter in SECRET), SECRET)
    assert not holds("bad key ***", SECRET)


@pytest.mark.parametrize("user", ["sk_live_SECRET1:", "ghp_SECRET12345:x-oauth-basic", "sk_live_SECRET1"])
@pytest.mark.parametrize("doing", ["plain", "status", "upper", "no-json"])
def test_the_user_of_an_address_is_a_secret(rude: str, user: str, doing: str) -> None:
    reply = replied(f"{rude}/{doing}".replace("//", f"//{user}@"))
    assert not holds(str(reply), user.partition(":")[0])
    assert "***" in str(reply)


@pytest.mark.parametrize(
    "written",
    [
        SECRET,
        SECRET.upper(),
        SECRET.swapcase(),
        json.dumps(SECRET)[1:-1],
        json.dumps(SECRET)[1:-1].replace("/", "\\/"),
        json.dumps(json.dumps(SECRET))[3:-3],
        "".join(f"\\u{ord(letter):04x}" for letter in SECRET),
        "".join(f"\\\\u{ord(letter):04X}" for letter in SECRET),
        quote(SECRET, safe=""),
        quote(quote(SECRET, safe=""), safe=""),
        quote(SECRET, safe="").lower(),
        "".join(f"%{ord(letter):02x}" for letter in SECRET),
        SECRET.replace('"', "&quot;").replace("'", "&#x27;"),
        SECRET.replace('"', "&#34;").replace("'", "&#39;"),
        repr(SECRET.encode())[2:-1],
    ],
)
def test_a_secret_is_found_however_it_is_written(written: str) -> None:
    assert Secrets([SECRET]).masked(f"<{written}>") == "<***>"
    assert Secrets([SECRET]).masked_reply(f"<{written}>") == "<***>"


def test_secrets_with_letters_of_other_alphabets() -> None:
    secrets = Secrets(["pässwörd 😀 \\\\"])
    for form in (
        "pässwörd 😀 \\\\",
        "PÄSSWÖRD 😀 \\\\",
        json.dumps("pässwörd 😀 \\\\")[1:-1],
        quote("pässwörd 😀 \\\\"),
    ):
        assert secrets.masked(f"[{form}]") == "[***]"


def test_short_secrets_stay_in_good_replies_and_shorter_ones_inside_words() -> None:
    secrets = Secrets(["seven-7", "me", "longer-than-8"])
    assert secrets.masked("me, some, seven-7, longer-than-8") == "***, some, ***, ***"
    assert secrets.masked_reply("me, some, seven-7, longer-than-8") == "me, some, seven-7, ***"
    assert Secrets([""]).masked("nothing") == "nothing"
    assert not Secrets([])


@pytest.mark.parametrize("length", range(1, 20))
def test_a_secret_that_is_cut_leaves_no_beginning(length: int) -> None:
    for form in (SECRET, "".join(f"\\u{ord(letter):04x}" for letter in SECRET)):
        start = f"{'x' * 500} {form[: length * len(form) // len(SECRET)]}"
        assert re.fullmatch("x+ ?", Secrets([SECRET]).masked_start(start))


@pytest.mark.parametrize("secret", ["\\" * 40, "%" * 40, "'" * 40, "%25" * 20, 'a\\"' * 20])
def test_masking_takes_no_longer_than_reading(secret: str) -> None:
    begun = time.monotonic()
    for text in ("\\" * 20_000, "%25" * 7_000, "'" * 20_000, secret[:-1] * 200, 'a\\\\"' * 5_000):
        Secrets([secret]).masked(text)
    assert time.monotonic() - begun < 5


ODD_KEYS = {
    "é": "sk-sécret-123",
    "inner newline": "sk-secret\n123",
    "inner tab": "sk-\tsecret",
    "control": "sk-\x01secret",
}
"""Keys that cannot be sent."""


@pytest.mark.parametrize("around", ["\n", " ", "\t", "\r\n", " \n"])
@pytest.mark.parametrize("use", USES)
def test_blanks_and_line_ends_around_a_key_are_not_sent(
    rude: str, use: str, around: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RAGWORTHY_CHAT_KEY", "RAGWORTHY_EMBED_KEY", "PIPELINE_KEY"):
        prefix = "Bearer " if name == "PIPELINE_KEY" else ""
        monkeypatch.setenv(name, f"{prefix}{SECRET}{around}")
    assert "***" in asked(use, f"{rude}/status")


@pytest.mark.parametrize("key", ODD_KEYS.values(), ids=ODD_KEYS)
@pytest.mark.parametrize("use", USES)
def test_a_key_that_cannot_be_sent_is_refused_and_not_shown(
    rude: str, use: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {"chat": "RAGWORTHY_CHAT_KEY", "embedding": "RAGWORTHY_EMBED_KEY", "target": "PIPELINE_KEY"}
    monkeypatch.setenv(names[use], key)
    with pytest.raises(UsageError) as caught:
        asked(use, f"{rude}/well")
    (problem,) = caught.value.problems
    flag = "--header Authorization: expected printable ASCII text in PIPELINE_KEY"
    expected = flag if use == "target" else f"{names[use]}: expected printable ASCII text"
    assert problem.message == f"{expected}, got something else"


@pytest.mark.parametrize("value", ["Basic bWU6c2VjcmV0LTEyMw==", "session=secret-123; theme=dark", "Bearer secret-123"])
def test_what_is_inside_a_header_is_a_secret_too(rude: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIPELINE_KEY", value)
    reply = replied(f"{rude}/secret-123", SHORT, "Authorization=PIPELINE_KEY")
    assert (reply.error or "").startswith("died: ")
    reply = replied(f"{rude}/status?say=secret-123", SHORT, "Authorization=PIPELINE_KEY")
    assert "secret" not in str(reply)


def test_keys_of_the_environment_do_not_go_into_what_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-open-0123\n")
    monkeypatch.setenv("RAGWORTHY_EMBED_KEY", "none")
    for text in ("serve --key sk-open-0123", "serve --key=SK-OPEN-0123", '{"key":"\\u0073k-open-0123"}'):
        with pytest.raises(UsageError) as caught:
            check_without_keys(text, "cmd")
        assert caught.value.problems[0].message == (
            "cmd: expected no secret, for this is written to the results, got the one in OPENAI_API_KEY"
        )
    check_without_keys("serve --key none", "cmd")
    monkeypatch.setenv("RAGWORTHY_EMBED_KEY", "none-\udcff-12345")
    check_without_keys("serve", "cmd")


@pytest.mark.parametrize("where", ["cmd", "knob", "file"])
def test_a_run_with_a_key_in_what_is_written_is_refused(where: str, tmp_path: Path, cli: Cli) -> None:
    gold = write_jsonl(tmp_path / "gold.jsonl", [{"qid": "Q1", "question": "a?", "answerable": True}])
    (tmp_path / "knobs.toml").write_text(f"deep = {{ list = [{json.dumps(SECRET)}] }}\n")
    given = {
        "cmd": ("--target", f"cmd:serve --key {SECRET}"),
        "knob": ("--target", f"replay:{gold}", "--knob", f"key={SECRET}"),
        "file": ("--target", f"replay:{gold}", "--knobs", tmp_path / "knobs.toml"),
    }[where]
    done = cli("run", *given, "--gold", gold, "--out", tmp_path / "out")
    what = "cmd" if where == "cmd" else "knobs"
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines()[0].startswith(f"{what}: expected no secret, for this is written to the results, got")
    assert not holds(done.err, SECRET)
    assert not (tmp_path / "out").exists()


def test_addresses_and_what_of_them_may_be_shown() -> None:
    address = parsed("https://me:p%40ss@host:8443/ask?key=a%20b&flag#part")
    assert address.url == "https://host:8443/ask?key=a%20b&flag#part"
    assert address.shown == "https://host:8443/ask"
    assert address.authorization == f"Basic {base64.b64encode(b'me:p@ss').decode()}"
    assert {"me", "p@ss", "a b", "key=a%20b&flag", "part"} <= set(address.secrets)
    assert not address.is_plain
    assert parsed("http://[::1]:80/v1").is_plain
    for wrong in ("http://", "http://:80/", "http://h:99999/", "http://[::1/", "http://h/a b", "http://h:0", "http://é/",
                  "http://a\\@b/", "http://a,b/", "http://h\n/"):  # fmt: skip
        with pytest.raises(ValueError, match="got one "):
            parsed(wrong)
    assert shown("openai:m@https:/u:pw@h") == "openai:…"
    # a user that is anybody tells nothing beside its password; alone it may be all there is
    assert {"user:pw", "pw"} <= set(parsed("http://user:pw@h/").secrets)
    assert "user" not in parsed("http://user:pw@h/").secrets
    assert "user" in parsed("http://user@h/").secrets
    assert "user" in parsed("http://user:@h/").secrets
    assert shown("u:pw@h") == "…"


def test_no_log_shows_an_address(rude: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        assert replied(f"{rude}/well?token=qSECRETq9").error is None
    assert "qSECRETq9" not in caplog.text


# proxies and certificates


class Proxy(BaseHTTPRequestHandler):
    heard: list[str]

    def do_POST(self) -> None:
        self.heard.append(self.path)
        self.send_response(502)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_CONNECT = do_GET = do_POST

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def proxy() -> Iterator[tuple[str, list[str]]]:
    heard: list[str] = []
    server = HTTPServer(("127.0.0.1", 0), type("Heard", (Proxy,), {"heard": heard}))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", heard
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("use", USES)
def test_the_proxy_of_the_environment_hears_nothing(
    rude: str, use: str, proxy: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    import httpx

    address, heard = proxy
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(name, address)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    assert "expected" not in asked(use, f"{rude}/well")
    assert heard == []
    httpx.get(f"{rude}/well")  # a client that follows the environment goes there
    assert heard == [f"{rude}/well"]


class Certified(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        said: dict[str, Any] = {"answer_json": {"claim": "fine"}, "retrieved_ids": []}
        said["data"] = [{"embedding": [1, 0]} for _ in asked.get("input", [])]
        said |= {"choices": [{"message": {"content": '{"claim": "fine", "citations": ["a#1"]}'}}]}
        data = json.dumps(said).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


class Quiet(HTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that does not trust us goes away."""


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A server with a certificate that only its own company knows, and the file of that certificate."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("SKIPPED: openssl is not installed")
    folder = tmp_path_factory.mktemp("company")
    names = ["-subj", "/CN=company", "-addext", "subjectAltName=IP:127.0.0.1"]
    words = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *names]
    subprocess.run([*words, "-keyout", "key.pem", "-out", "ca.pem"], cwd=folder, check=True, capture_output=True)
    (folder / "certs").mkdir()
    hashed = subprocess.run(
        [openssl, "x509", "-hash", "-noout", "-in", "ca.pem"], cwd=folder, check=True, capture_output=True, text=True
    )
    shutil.copy(folder / "ca.pem", folder / "certs" / f"{hashed.stdout.strip()}.0")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "ca.pem", folder / "key.pem")
    server = Quiet(("127.0.0.1", 0), Certified)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"https://127.0.0.1:{server.server_port}", folder
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("use", USES)
def test_certificates_of_a_company_are_trusted_where_the_environment_says_so(
    company: tuple[str, Path], use: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, folder = company
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    assert "certificate verify failed" in asked(use, url)
    for name, value in {"SSL_CERT_FILE": folder / "ca.pem", "SSL_CERT_DIR": folder / "certs"}.items():
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(name, str(value))
            assert "expected" not in asked(use, url)


@pytest.mark.parametrize("use", USES)
def test_a_file_of_certificates_that_cannot_be_used(use: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = "SSL_CERT_FILE: expected a file of certificates, got: "
    (tmp_path / "empty.pem").write_text("")
    for name in ("none.pem", "empty.pem"):
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / name))
        with pytest.raises(UsageError) as caught:
            asked(use, "https://127.0.0.1:9/")
        assert caught.value.problems[0].message.startswith(expected)
        assert "Connection refused" in asked("chat", "http://127.0.0.1:9/")  # needs none
