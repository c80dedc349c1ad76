"""The page in a browser: nothing goes wrong in it, anybody can use it, and it prints."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from browser import broken_rules, chromium, needs_axe, needs_browser, opened
from hostile import EVIL
from pages_laid import lay, page_of

pytestmark = needs_browser

NARROW: dict[str, Any] = {"viewport": {"width": 400, "height": 800}}
DARK: dict[str, Any] = {"color_scheme": "dark"}
UNFOLD = "document.querySelectorAll('main details').forEach(one => { one.open = true; })"
FOREIGN = "main img, main script:not([type='application/json']), main iframe, main [onerror], main [onload]"
WAYS: dict[str, dict[str, Any]] = {"wide": {}, "narrow": NARROW, "dark": DARK}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return page_of(lay(tmp_path_factory.mktemp("release")))


@pytest.mark.parametrize("way", WAYS)
def test_nothing_goes_wrong_and_nothing_is_asked_for(browser: Browser, page: Path, way: str) -> None:
    with opened(browser, page, **WAYS[way]) as shown:
        shown.page.mouse.wheel(0, 20_000)
        assert shown.errors == []
        assert shown.asked == [page.resolve().as_uri()]
        assert shown.page.locator("main h1").inner_text().strip().startswith("NO-SHIP")
        wide = shown.page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
        assert wide[0] <= wide[1]  # the page itself never scrolls sideways


@needs_axe
@pytest.mark.parametrize("way", WAYS)
def test_axe_finds_nothing_serious(browser: Browser, page: Path, way: str) -> None:
    with opened(browser, page, **WAYS[way]) as shown:
        shown.page.evaluate(UNFOLD)
        assert broken_rules(shown.page) == []


@needs_axe
def test_axe_would_find_something(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "bad.html").write_text(
        "<!doctype html><title>t</title><p style='color:#ccc'>faint<img src=''>", "utf-8"
    )
    with opened(browser, tmp_path / "bad.html") as shown:
        found = " ".join(broken_rules(shown.page))
    assert "color-contrast" in found
    assert "image-alt" in found


def test_light_and_dark_follow_the_system_and_the_button(browser: Browser, page: Path) -> None:
    paper = "getComputedStyle(document.body).backgroundColor"
    with opened(browser, page) as shown, opened(browser, page, **DARK) as dark:
        light, night = shown.page.evaluate(paper), dark.page.evaluate(paper)
        assert light != night
        button = shown.page.get_by_role("button", name="Dark")
        button.click()
        assert (shown.page.evaluate(paper), button.get_attribute("aria-pressed")) == (night, "true")
        button.click()
        assert (shown.page.evaluate(paper), button.get_attribute("aria-pressed")) == (light, "false")
        button.click()
        shown.page.reload()
        assert shown.page.evaluate(paper) == light  # nothing is kept


def test_the_keyboard_gets_past_the_bar_and_through_the_page(browser: Browser, page: Path) -> None:
    with opened(browser, page) as shown:
        shown.page.keyboard.press("Tab")
        assert shown.page.evaluate("document.activeElement.className") == "skip"
        shown.page.keyboard.press("Enter")
        assert shown.page.evaluate("document.activeElement.id") == "content"
        shown.page.keyboard.press("Tab")
        outline = "getComputedStyle(document.activeElement).outlineStyle"
        assert shown.page.evaluate(outline) != "none"


def test_a_metric_leads_to_its_definition(browser: Browser, page: Path) -> None:
    with opened(browser, page) as shown:
        shown.page.locator("main h1 a.term", has_text="precision").click()
        place = shown.page.locator("#def-answers\\.precision")
        assert shown.page.url.endswith("#def-answers.precision")
        assert place.is_visible()
        assert "Share of shipped answers" in place.inner_text()


def test_a_flip_leads_to_the_page_of_its_question(browser: Browser, page: Path) -> None:
    with opened(browser, page) as shown:
        link = shown.page.locator("#changed table.flips a.id").first
        qid = link.inner_text()
        link.click()
        shown.page.wait_for_function("document.getElementById('questions').innerText.includes('is kept on shelf')")
        assert qid in shown.page.locator("#questions").inner_text()
        assert shown.errors == []


def test_print_is_light_whole_and_has_no_controls(browser: Browser, page: Path, tmp_path: Path) -> None:
    with opened(browser, page, **DARK) as shown:
        data = shown.page.pdf(path=str(tmp_path / "page.pdf"), format="A4")
        assert 3 <= len(re.findall(rb"/Type\s*/Page\b", data)) <= 40
        shown.page.emulate_media(media="print", color_scheme="dark")
        assert shown.page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
        assert not shown.page.locator("header.bar").is_visible()
        assert not shown.page.locator("nav.toc").is_visible()
        assert shown.page.locator("#limits").is_visible()
        assert shown.errors == []


def test_hostile_text_stays_text(browser: Browser, tmp_path: Path) -> None:
    evil = (
        "</script></style></svg>]]>--><script>window.owned=1</script><img src=x onerror='window.owned=1'>\"'>"
        f"<svg onload='window.owned=1'>{{{{7*7}}}}{EVIL}{'W' * 100_000}"
    )
    with opened(browser, page_of(lay(tmp_path, 8, evil=evil)), **NARROW) as shown:
        shown.page.locator("#changed table.flips a.id").first.click()
        shown.page.wait_for_timeout(200)
        shown.page.evaluate(UNFOLD)
        assert "<script>window.owned=1</script>" in shown.page.locator("#questions").inner_text()
        assert shown.page.evaluate("window.owned") is None
        assert shown.page.locator(FOREIGN).count() == 0
        assert shown.errors == []
        assert len(shown.asked) == 1
        wide = shown.page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
        assert wide[0] <= wide[1]


def test_right_to_left_and_chinese_have_their_own_direction(browser: Browser, tmp_path: Path) -> None:
    folder = lay(tmp_path, 8)
    for name in ("gold.jsonl", "traces.jsonl", "before.jsonl", "base.json"):
        text = (folder / name).read_text(encoding="utf-8")
        text = text.replace("Where is map", "أين الخريطة").replace("somewhere else", "在別的地方")
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "base.json").unlink()
    policy = (folder / "ragworthy.toml").read_text(encoding="utf-8").replace('baseline = "base.json"\n', "")
    policy = policy.replace(
        '[[gate]]\nmetric = "answers.precision"\nmax_drop = 0.02\nwhy = "no worse than last week"\n', ""
    )
    (folder / "ragworthy.toml").write_text(policy, encoding="utf-8")
    with opened(browser, page_of(folder)) as shown:
        assert shown.errors == []
        assert shown.page.evaluate("getComputedStyle(document.documentElement).direction") == "ltr"
        found = shown.page.get_by_text("أين الخريطة").first
        assert found.evaluate("one => getComputedStyle(one).unicodeBidi") in ("plaintext", "isolate")


@pytest.mark.parametrize("count", [10_000])
def test_10_000_questions_open_in_under_2_seconds(browser: Browser, tmp_path: Path, count: int) -> None:
    page = page_of(lay(tmp_path, count))
    with opened(browser, page) as shown:
        took: list[float] = []
        while len(took) < 3 and min(took, default=2_000) >= 2_000:  # other work on this machine may hold one up
            took.append(shown.page.evaluate("performance.timing.loadEventEnd - performance.timing.navigationStart"))
            shown.page.reload()
        print(f"10,000 questions opened in {took} ms, {page.stat().st_size:,} bytes")
        assert min(took) < 2_000
        assert shown.errors == []
        assert "10,000" in shown.page.locator("#questions").inner_text()
