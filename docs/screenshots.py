"""The pictures of docs/gallery.md, made of the reports that its commands write. Those of docs/html.md: screens.py.

    python -m pytest --basetemp /tmp/gallery tests/examples/test_gallery.py
    python docs/screenshots.py /tmp/gallery/test_every_command_of_the_gall0/gallery

They are kept with few colours, so that the repository stays small.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Page, sync_playwright

PICTURES = Path(__file__).parent / "pictures"
LARGEST = 200_000
"""Bytes of a picture; all of them together stay below 2 MB."""


class Shot(NamedTuple):
    """A picture of a report: its name, and what of the report is on it."""

    name: str
    report: str
    place: str = ""
    """A selector that is scrolled to the top; empty: the top of the page."""


SHOTS = (
    Shot("squad", "squad.html"),
    Shot("drcd", "drcd.html", "#questions"),
    Shot("arabic", "ar.html", "#questions"),
    Shot("trec", "trec.html", "#changed"),
    Shot("prometheus", "prometheus.html"),
    Shot("qwen", "qwen.html", "#wrong"),
)


def taken(page: Page, shot: Shot, folder: Path) -> None:
    """Open a report and keep what is seen."""
    page.goto((folder / shot.report).resolve().as_uri())
    page.wait_for_load_state("networkidle")
    if shot.place:
        page.locator(shot.place).first.evaluate("element => element.scrollIntoView({block: 'start'})")
    page.wait_for_timeout(300)
    path = PICTURES / f"{shot.name}.png"
    page.screenshot(path=path)
    smaller(path)


def smaller(path: Path) -> None:
    """Few colours are enough for text; without pngquant the picture stays as it is."""
    tool = shutil.which("pngquant")
    if tool:
        subprocess.run([tool, "--force", "--output", str(path), "64", str(path)], check=True)
    size = path.stat().st_size
    if size > LARGEST:
        raise SystemExit(f"{path}: {size:,} bytes are more than {LARGEST:,}: install pngquant, or show less")


def main(folder: Path) -> None:
    """Every picture again."""
    chromium = shutil.which("chromium")
    missing = sorted({shot.report for shot in SHOTS if not (folder / shot.report).is_file()})
    if chromium is None or missing:
        raise SystemExit(f"expected chromium and reports, got none of: {', '.join(missing) or 'chromium'}")
    PICTURES.mkdir(exist_ok=True)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for shot in SHOTS:
            page = browser.new_page(viewport={"width": 1280, "height": 620})
            taken(page, shot, folder)
            page.close()
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
