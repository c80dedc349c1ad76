"""The pages in a real browser: nothing on its console, nothing beyond the width of a phone, forms that work."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import rollouts_laid
import site_laid
from browser import broken_rules, chromium, needs_axe, needs_browser
from conftest import run_cli
from viewer_served import Here, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = needs_browser
TOKEN = "a-token-of-our-own-choice"


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    with chromium() as made:
        yield made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("browser") / "site"
    site_laid.history(made)
    index = made / "index"
    index.mkdir()
    rollouts_laid.lay(index)
    rollouts_laid.judged(index)
    rollouts_laid.begun(index)
    return made


@pytest.fixture
def here(folder: Path, tmp_path: Path) -> Iterator[Here]:
    shutil.copytree(folder, tmp_path / "site")
    words = ("--ledger", "index/rollout.jsonl", "--receipt", "index/b.receipt.json")
    with serving(tmp_path / "site", *words) as made:
        yield made


def opened(browser: "Browser", said: list[str], width: int = 1280, scheme: Any = "light") -> "Page":
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = context.new_page()
    page.on("console", lambda one: said.append(f"{one.type}: {one.text}"))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda one: said.append(one.url) if "127.0.0.1" not in one.url else None)
    return page


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_every_page_opens_without_a_word_on_the_console(
    browser: "Browser", here: Here, tmp_path: Path, width: int, scheme: str
) -> None:
    runs = site_laid.runs_of(tmp_path / "site")
    paths = ["/runs", *(f"/runs/{one}" for one in runs), "/trend", "/trend?metric=answers.precision", "/compare",
             f"/compare?a=main&b={runs[4]}", "/questions", "/questions?suite=answers&qid=H030", "/live", "/rollout",
             "/login"]  # fmt: skip
    said: list[str] = []
    page = opened(browser, said, width, scheme)
    for path in paths:
        reply = page.goto(here.url + path)
        assert reply is not None and reply.status == 200, path
        assert page.locator("h1").count() >= 1
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, f"{path} is {wide} pixels wide"
        dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (dark == "rgb(251, 250, 248)") is (scheme == "light"), dark
    assert said == []


def test_a_run_is_blessed_in_the_browser_and_stands_in_the_history(
    browser: "Browser", here: Here, tmp_path: Path
) -> None:
    site = tmp_path / "site"
    run = site_laid.runs_of(site)[2]
    said: list[str] = []
    page = opened(browser, said)
    page.goto(here.url)
    page.click(f"text={run}")
    page.locator("a.button", has_text="Make it a baseline").click()
    page.fill("input[name=by]", "Grace Hopper")
    page.fill("textarea[name=reason]", "the last of three")
    page.click("text=Bless this run")
    assert page.locator(".banner[role=status]").inner_text().startswith("✓ Blessed.")
    assert page.locator(".strip", has_text="baseline main").count() == 1
    told = json.loads(run_cli("history", "list", "--format", "json", "-c", site / "ragworthy.toml").out)
    last = told["blessings"][-1]
    assert (last["run"], last["by"], last["reason"]) == (run, "Grace Hopper", "the last of three")
    assert said == []


def test_a_form_without_a_name_is_not_sent(browser: "Browser", here: Here, tmp_path: Path) -> None:
    page = opened(browser, [])
    page.goto(f"{here.url}/runs/{site_laid.runs_of(tmp_path / 'site')[2]}#bless")
    page.fill("textarea[name=reason]", "no name")
    page.click("text=Bless this run")
    assert page.url.endswith("#bless") and page.evaluate("document.activeElement.name") == "by"


def test_a_step_is_signed_and_taken_back_in_the_browser(browser: "Browser", here: Here, tmp_path: Path) -> None:
    said: list[str] = []
    page = opened(browser, said)
    page.goto(f"{here.url}/rollout")
    form = page.locator("form[action='/rollout/advance']")
    form.locator("[name=by]").fill("Grace Hopper")
    form.locator("[name=reason]").fill("the gold run")
    form.locator("button").click()
    assert "Moved." in page.locator("[role=status]").inner_text()
    back = page.locator("form[action='/rollout/rollback']")
    back.locator("[name=by]").fill("Ada Byron")
    back.locator("[name=reason]").fill("wrong prices")
    back.locator("button").click()
    states = [one["state"] for one in rollouts_laid.moves(tmp_path / "site/index/rollout.jsonl")]
    assert states == ["shadow", "eligible", "rolled_back"] and said == []


def test_the_token_is_asked_for_once(browser: "Browser", folder: Path) -> None:
    said: list[str] = []
    with serving(folder, "--token-env", "VIEW_TOKEN", env={"VIEW_TOKEN": TOKEN}) as here:
        page = opened(browser, said)
        page.goto(f"{here.url}/trend")
        assert page.url == f"{here.url}/login"
        page.fill("input[name=token]", TOKEN)
        page.click("text=Come in")
        assert page.url == f"{here.url}/runs"
        page.goto(f"{here.url}/trend")
        assert page.locator("h1").inner_text() == "Trend" and page.evaluate("document.cookie") == ""
        page.click("text=Log out")
        assert page.url == f"{here.url}/login"
        page.goto(f"{here.url}/runs")
        assert page.url == f"{here.url}/login"
    assert said == []


def test_another_page_can_neither_send_a_form_nor_read_an_answer(
    browser: "Browser", here: Here, tmp_path: Path
) -> None:
    """A page of another origin tries what pages can try: a form, fetch, and a frame."""
    site = tmp_path / "site"
    run = site_laid.runs_of(site)[2]
    before = run_cli("history", "list", "--format", "json", "-c", site / "ragworthy.toml").out
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{here.url}/runs/{run}")  # the visit has its cookie
    sign = page.locator("input[name=sign] >> nth=0").get_attribute("value")
    evil = (
        f"<form method=post action='{here.url}/runs/{run}/bless'><input name=by value=Eve><input name=reason value=x>"
        f"<input name=sign value={sign}></form><iframe src='{here.url}/runs'></iframe>"
    )
    other = context.new_page()
    other.route("http://evil.example/", lambda route: route.fulfill(content_type="text/html", body=evil))
    other.goto("http://evil.example/")
    read = f"fetch('{here.url}/runs').then(one => one.text()).catch(error => 'refused')"
    assert other.evaluate(read) == "refused"
    post = read.replace("/runs'", f"/runs/{run}/bless', {{method: 'POST', mode: 'no-cors', credentials: 'include'}}")
    other.evaluate(post)
    assert "ragworthy" not in other.frames[-1].content()
    other.evaluate("document.forms[0].submit()")
    other.wait_for_url(f"{here.url}/**")
    assert "expected a form of this server" in other.content() or "form of this visit" in other.content()
    assert run_cli("history", "list", "--format", "json", "-c", site / "ragworthy.toml").out == before


@needs_axe
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_axe_finds_nothing_serious(browser: "Browser", here: Here, width: int, scheme: str) -> None:
    how: Any = {"viewport": {"width": width, "height": 800}, "bypass_csp": True, "color_scheme": scheme}
    page = browser.new_context(**how).new_page()
    pair = "/compare?a=main&b=commit:c3c3c3c3"
    paths = ["/runs", "/runs/main", "/trend", "/trend?metric=answers.precision", pair, "/questions",
             "/questions?suite=answers&qid=H030", "/live", "/rollout", "/login", "/nothing"]  # fmt: skip
    for path in paths:
        page.goto(here.url + path)
        assert broken_rules(page) == [], path
