"""Debian's Chromium for tests of pages: what it does with a page, and what the page did not get away with."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Browser, Dialog, Page, sync_playwright

from places import ROOT

CHROMIUM = shutil.which("chromium")
AXE = ROOT / ".browser/node_modules/axe-core/axe.min.js"
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium")
needs_axe = pytest.mark.skipif(not AXE.is_file(), reason="no axe-core: make browser")


class Opened(NamedTuple):
    """A page that is open, with what it complained of and what it asked for."""

    page: Page
    errors: list[str]
    """What the console said, and what was thrown."""
    asked: list[str]
    """Every address that was asked for."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser of its own."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(browser: Browser, path: Path, **options: Any) -> Iterator[Opened]:
    """A file, opened from disk."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
    page = context.new_page()
    shown = Opened(page, [], [])
    page.on("console", lambda said: shown.errors.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: shown.errors.append(str(error)))
    page.on("dialog", lambda dialog: _refused(dialog, shown.errors))
    page.on("request", lambda request: shown.asked.append(request.url))
    try:
        page.goto(path.resolve().as_uri())
        yield shown
    finally:
        context.close()


def _refused(dialog: Dialog, errors: list[str]) -> None:
    """A page of ours asks nobody anything."""
    errors.append(f"dialog: {dialog.message}")
    dialog.dismiss()


def broken_rules(page: Page) -> list[str]:
    """What axe-core finds serious or critical, each with the first places."""
    page.evaluate(AXE.read_text(encoding="utf-8") + "; undefined")
    found: dict[str, Any] = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['impact']} {one['id']}: {one['help']}: {[node['html'][:160] for node in one['nodes'][:3]]}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]
