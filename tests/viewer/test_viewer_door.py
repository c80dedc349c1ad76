"""What is let in: other hosts, forms of other pages, paths that climb and what is too large stay outside."""

import re
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import site_laid
from viewer_served import FORM, SIGN, Here, serving, wait_for

SECRET = "a-token-of-our-own-choice"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("door")
    site_laid.lay(made)
    site_laid.gated(made, "a1" * 20)
    return made


@pytest.fixture(scope="module")
def here(folder: Path) -> Iterator[Here]:
    with serving(folder) as made:
        yield made


@pytest.fixture(scope="module")
def guarded(folder: Path) -> Iterator[Here]:
    with serving(folder, "--token-env", "VIEW_TOKEN", env={"VIEW_TOKEN": SECRET}) as made:
        yield made


@pytest.fixture(autouse=True)
def _stranger(request: pytest.FixtureRequest) -> None:
    for name in ("here", "guarded"):
        if name in request.fixturenames:
            request.getfixturevalue(name).cookies.clear()


# hosts


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST.", "[::1]", "127.0.0.1:1", "localhost:9"])
def test_a_request_to_this_machine_is_answered(here: Here, host: str) -> None:
    assert here.get("/runs", Host=host).status == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1", "[fe80::1]",
     "0.0.0.0", "", "127.0.0.1@evil.example", "evil.example, 127.0.0.1", "2130706433",
     "localhost:80@evil.example", "127.0.0.1:8765.evil.example", "[::1]evil.example", "localhost:²"],
)  # fmt: skip
def test_a_request_by_another_name_is_refused(here: Here, host: str) -> None:
    found = here.get("/runs", Host=host)
    assert found.status == 421
    assert "by its own name" in found.body and "set-cookie" not in {name.lower() for name in found.headers}


def test_a_request_with_two_hosts_or_none_is_refused(here: Here) -> None:
    for hosts in (b"Host: localhost\r\nHost: evil.example\r\n", b""):
        reply = here.raw(b"GET /runs HTTP/1.1\r\n" + hosts + b"Connection: close\r\n\r\n")
        assert reply.split(b" ")[1] in (b"400", b"421"), reply[:100]


def test_a_name_of_ones_own_is_answered_where_it_is_allowed(folder: Path) -> None:
    with serving(folder, "--allow-host", "Eval.example") as here:
        assert here.get("/runs", Host="eval.example:8080").status == 200
        assert here.get("/runs", Host="other.example").status == 421


# forms


def _sign(here: Here) -> str:
    found = SIGN.search(here.get(f"/runs/{_run(here)}").body)
    assert found is not None
    return found[1]


def _run(here: Here) -> str:
    found = re.search(r'href="/runs/([0-9a-f]{12})"', here.get("/runs").body)
    assert found is not None
    return found[1]


def _fields(sign: str) -> dict[str, str]:
    return {"by": "Eve", "reason": "mine now", "single": "yes", "sign": sign}


def test_a_form_without_the_sign_of_this_visit_is_refused(here: Here) -> None:
    run, sign = _run(here), _sign(here)
    other = "0" * 64
    for fields in (_fields(other), {"by": "Eve", "reason": "x", "single": "yes"}, _fields("é" * 64)):
        found = here.post(f"/runs/{run}/bless", fields)
        assert found.status == 403 and "form of this visit" in found.body
    here.cookies.clear()  # a form with the right sign, from a browser that never had it
    assert here.post(f"/runs/{run}/bless", _fields(sign)).status == 403


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"},
     {"Sec-Fetch-Site": "none"}, {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
     {"Origin": "https://127.0.0.1"}, {"Origin": "http://127.0.0.1:1"}],
)  # fmt: skip
def test_a_form_of_another_page_is_refused(here: Here, headers: dict[str, str]) -> None:
    run, sign = _run(here), _sign(here)
    found = here.post(f"/runs/{run}/bless", _fields(sign), headers)
    assert found.status == 403 and "another page" in found.body
    assert "baseline main" not in here.get(f"/runs/{run}").body


@pytest.mark.parametrize("kind", ["application/json", "text/plain", "multipart/form-data; boundary=x", ""])
def test_a_form_of_another_kind_is_refused(here: Here, kind: str) -> None:
    sign = _sign(here)
    body = f"by=Eve&reason=x&single=yes&sign={sign}".encode()
    assert here.ask("POST", f"/runs/{_run(here)}/bless", body, {"Content-Type": kind}).status == 415


def test_signs_are_of_one_server(here: Here, folder: Path) -> None:
    sign, cookies = _sign(here), dict(here.cookies)
    with serving(folder) as other:
        value = next(iter(cookies.values()))
        other.cookies = {f"ragworthy_{other.port}": value}
        assert other.post(f"/runs/{_run(here)}/bless", _fields(sign)).status == 403


# methods


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND", "CONNECT"])
def test_other_methods_are_refused(here: Here, method: str) -> None:
    found = here.ask(method, "/runs")
    assert found.status in (400, 405)
    assert not any(name.lower().startswith("access-control") for name in found.headers)


def test_pages_that_only_show_take_no_form_and_forms_are_not_fetched(here: Here) -> None:
    sign, run = _sign(here), _run(here)
    assert here.post("/runs", _fields(sign)).status == 405
    assert here.post("/rollout", _fields(sign)).status == 405
    for path in (f"/runs/{run}/bless", "/rollout/advance", "/rollout/rollback", "/logout"):
        assert here.get(f"{path}?by=Eve&reason=x&sign={sign}").status in (404, 405), path


# paths


@pytest.mark.parametrize(
    "path",
    ["/../ragworthy.toml", "/runs/../../ragworthy.toml", "/runs/..%2f..%2fragworthy.toml",
     "/runs/%2e%2e/%2e%2e/gold.jsonl",
     "/..%5c..%5cragworthy.toml", "/runs/..%252f..%252fetc%252fpasswd", "//etc/passwd", "/runs/%00",
     "/runs/main%0d%0aX:1",
     "/runs/{run}/..%2f..%2fragworthy.toml", "/runs/{run}/../../../etc/passwd", "/runs/{run}/history.db",
     "/compare?a=/etc/passwd&b=ragworthy.toml", "/compare?a=../../etc/passwd&b={run}",
     "/compare?a={run}&b=eval/last_report.json",
     "/questions?run=/etc/passwd", "/static/../../etc/passwd", "/templates/view.html"],
)  # fmt: skip
def test_no_path_leads_to_a_file(here: Here, path: str) -> None:
    found = here.ask("GET", path.replace("{run}", _run(here)))
    assert found.status in (400, 404), found.status
    assert not any(
        text in found.body for text in ("root:x:0", "gold_claim_substr", "version = 1", "{%", "SQLite format")
    )


# sizes


def test_what_is_too_large_is_refused(here: Here) -> None:
    assert here.get("/runs?commit=" + "a" * 5_000).status == 414
    assert here.get("/runs?commit=" + "a" * 1_500).status == 414
    assert here.get("/" + "a" * 2_000).status == 414
    assert here.get("/runs?" + "&".join(f"a{nth}=1" for nth in range(40))).status == 400
    assert (
        here.raw(b"GET /runs HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 100_000 + b"\r\n\r\n")[:12] != b"HTTP/1.1 200"
    )
    assert here.get("/runs", X="a" * 1_000).status == 200


def test_a_large_form_is_refused_before_it_is_read(here: Here) -> None:
    head = f"POST /runs/{_run(here)}/bless HTTP/1.1\r\nHost: localhost\r\nContent-Type: {FORM}\r\n"
    said = here.raw(f"{head}Content-Length: 10000000000\r\n\r\n".encode() + b"a" * 1000)
    assert b" 413 " in said[:20]
    chunk = b"8000\r\n" + b"a" * 0x8000 + b"\r\n"
    said = here.raw(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + chunk * 3)
    assert b" 413 " in said[:20]
    long = here.post(f"/runs/{_run(here)}/bless", {**_fields(_sign(here)), "reason": "x" * 2_000})
    assert long.status == 413


def test_a_form_that_does_not_come_is_given_up(folder: Path) -> None:
    with serving(folder) as here:
        head = f"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Type: {FORM}\r\nContent-Length: 100\r\n\r\nsign="
        begun = time.monotonic()
        said = here.raw(head.encode(), patience=30)
        assert b" 408 " in said[:20] and time.monotonic() - begun < 20
        assert here.get("/runs").status == 200


def test_a_body_where_none_belongs_is_refused(here: Here) -> None:
    assert here.ask("GET", "/runs", b"x" * 10).status == 413


@pytest.mark.parametrize(
    "query", ["page=-1", "page=999999999999999999999", "page=x", "last=0", "last=-5", "commit=%F0%9F%98%80"]
)
def test_odd_values_are_pages_like_others(here: Here, query: str) -> None:
    for page in ("/runs", "/trend", "/questions"):
        assert here.get(f"{page}?{query}").status == 200, page


@pytest.mark.parametrize("query", ["commit=%ff%fe", "commit=a%00b", "commit=%1b%5b2J", "commit=%0d%0aSet-Cookie:x=1"])
def test_what_is_no_text_is_refused(here: Here, query: str) -> None:
    found = here.get(f"/runs?{query}")
    assert found.status == 400 and "x" not in found.headers.get("Set-Cookie", "")


def test_many_connections_do_not_stop_it(here: Here) -> None:
    idle = [socket.create_connection(("127.0.0.1", here.port)) for _ in range(60)]
    try:
        assert here.get("/runs").status == 200
    finally:
        for one in idle:
            one.close()


def test_connections_that_never_ask_make_room_for_others(folder: Path) -> None:
    with serving(folder) as here:
        idle = [socket.create_connection(("127.0.0.1", here.port)) for _ in range(110)]
        for one in idle[::2]:
            with suppress(OSError):
                one.sendall(b"GET /runs HTTP/1.1\r\nHost: local")
        assert here.get("/runs").status == 503
        assert wait_for(lambda: here.get("/runs").status == 200, 30)
        for one in idle:
            one.close()


# headers


@pytest.mark.parametrize("path", ["/runs", "/nope", "/login", "/runs/zzzz", "/rollout"])
def test_every_answer_has_the_headers_that_protect_it(here: Here, path: str) -> None:
    headers = {name.lower(): value for name, value in here.get(path).headers.items()}
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "form-action 'self'" in policy
    scripts = policy.partition("script-src ")[2].partition(";")[0]
    assert scripts.startswith("'sha256-") and "unsafe" not in scripts
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-frame-options"] == "DENY"
    assert headers["cross-origin-opener-policy"] == headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cache-control"] == "no-store"
    assert "server" not in headers and not any(name.startswith("access-control") for name in headers)


def test_pages_load_nothing_from_elsewhere(here: Here) -> None:
    for path in ("/runs", f"/runs/{_run(here)}", "/trend", "/compare", "/questions", "/live", "/rollout", "/login"):
        body = here.get(path).body
        assert not re.search(r"""<(?:script|link|img|iframe)[^>]+(?:src|href)=["'](?!data:)""", body), path
        assert "@import" not in body and "url(http" not in body
        assert not re.search(r"<[a-z][^>]* on[a-z]+=", body), path


def test_the_cookie_is_kept_from_scripts_and_other_sites(here: Here) -> None:
    line = here.get("/runs").headers["set-cookie"]
    assert re.fullmatch(rf"ragworthy_{here.port}=[\w-]{{43}}; Path=/; HttpOnly; SameSite=Strict", line)


# the token


def test_without_the_token_nothing_is_shown(guarded: Here) -> None:
    for path in ("/", "/runs", "/trend", "/runs/main/report.json", "/nope", "/login/x"):
        found = guarded.get(path)
        assert (found.status, found.headers["location"]) == (303, "/login"), path
        assert "a1a1a1a1" not in found.body
    assert guarded.post("/rollout/rollback", {"by": "Eve", "reason": "x"}).status == 401
    form = guarded.get("/login")
    assert form.status == 200 and "History:" not in form.body.replace("History: <span", "")


def test_a_token_in_an_address_does_not_count_and_is_not_logged(folder: Path) -> None:
    with serving(folder, "--token-env", "VIEW_TOKEN", env={"VIEW_TOKEN": SECRET}) as here:
        for path in (f"/runs?token={SECRET}", f"/login?token={SECRET}", f"/runs?access_token={SECRET}",
                     f"/{SECRET}", f"/runs/{SECRET}/report.html"):  # fmt: skip
            assert here.get(path).status in (200, 303)
        assert here.get(f"/runs?token={SECRET}", Authorization=f"Bearer {SECRET}").status == 200
        assert here.sent("/login", "/login", token=SECRET).status == 303
        code, out, errors = here.ended()
    assert code == 0
    assert SECRET not in out + errors
    assert "GET /runs 303" in errors and "GET /runs 200" in errors and "?" not in errors


def test_the_token_opens_as_a_header_or_once_by_the_form(guarded: Here) -> None:
    assert guarded.get("/runs", Authorization=f"Bearer {SECRET}").status == 200
    guarded.cookies.clear()
    assert guarded.get("/runs", Authorization="Bearer another").status == 401
    assert guarded.sent("/login", "/login", token="another").status == 403
    before = dict(guarded.cookies)
    done = guarded.sent("/login", "/login", token=SECRET)
    assert (done.status, done.headers["location"]) == (303, "/runs")
    assert guarded.cookies != before, "a visit that is let in has a new cookie"
    assert "HttpOnly; SameSite=Strict" in done.headers["set-cookie"] and SECRET not in done.headers["set-cookie"]
    page = guarded.get("/runs")
    assert page.status == 200 and "Log out" in page.body
    kept = dict(guarded.cookies)
    assert guarded.sent("/runs", "/logout").status == 303
    guarded.cookies = kept
    assert guarded.get("/runs").status == 303, "the visit is over on the server too"


def test_a_form_for_the_token_needs_its_sign_too(guarded: Here) -> None:
    assert guarded.post("/login", {"token": SECRET}).status == 403


def test_guesses_are_not_heard_out_for_ever(folder: Path) -> None:
    with serving(folder, "--token-env", "VIEW_TOKEN", env={"VIEW_TOKEN": SECRET}) as here:
        codes = [here.get("/runs", Authorization=f"Bearer guess-{nth}").status for nth in range(12)]
        assert codes == [401] * 10 + [429] * 2
        assert here.get("/runs", Authorization=f"Bearer {SECRET}").status == 429
