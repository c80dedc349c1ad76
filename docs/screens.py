"""Takes the pictures of the HTML report for the docs: wide and narrow, light and dark. `make screens`."""

import contextlib
import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from ragworthy.cli.main import main

FOLDER = Path(__file__).parent / "screens"
WIDTHS = {"wide": (1280, 1000), "narrow": (400, 860)}


def made(folder: Path) -> Path:
    """The page of the bundled run with a defect, compared with the one before it."""
    with contextlib.chdir(folder), contextlib.redirect_stdout(sys.stderr):
        main(["demo", "--out", "demo"])
        with contextlib.chdir("demo"):
            main(["gate", "-q", "-c", "candidate.toml", "--store", "off", "-o", "before.json"])
            words = ["gate", "-q", "-c", "regressed.toml", "--store", "off", "--baseline", "before.json"]
            main([*words, "-o", "page.html"])
    return folder / "demo/page.html"


def taken(browser: Browser, page: Path) -> None:
    """Every picture."""
    for size, (width, height) in WIDTHS.items():
        for scheme in ("light", "dark"):
            context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
            tab = context.new_page()
            tab.goto(page.as_uri())
            tab.screenshot(path=FOLDER / f"report-{size}-{scheme}.png")
            context.close()
    tab = browser.new_page(viewport={"width": 1280, "height": 1000})
    tab.goto(f"{page.as_uri()}#wrong")
    tab.screenshot(path=FOLDER / "report-wrong.png")
    tab.evaluate("location.hash = document.querySelector('#changed table.flips a.id').hash")
    tab.wait_for_timeout(300)
    tab.screenshot(path=FOLDER / "report-question.png")


def all_of_them() -> None:
    """Make the page and take the pictures."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        taken(browser, made(Path(folder)))
        browser.close()


if __name__ == "__main__":
    all_of_them()
