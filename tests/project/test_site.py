"""The pages of docs/ as a site: every page has its place, and the site builds without a warning or a network."""

import re
import subprocess
from pathlib import Path

import pytest

from browser import chromium, needs_browser, opened
from places import ROOT
from ragworthy.names import VERSION

DOCS = ROOT / "docs"
PAGES = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")} - {"index.md"}
DESIGN = {f"../design/{path.name}" for path in (ROOT / "design").glob("*.md")}
SPHINX = ROOT / ".venv-site/bin/sphinx-build"


def in_toctrees(page: str) -> list[str]:
    """Every page that the toctrees of a page name, relative to docs/."""
    trees = re.findall(
        r"^```{toctree}\n(?::[^\n]*\n)*(.*?)^```$", (DOCS / page).read_text(encoding="utf-8"), re.M | re.S
    )
    return [f"{line}.md" for tree in trees for line in tree.split()]


def test_every_page_stands_once_in_the_tree_of_the_site() -> None:
    assert sorted(in_toctrees("index.md")) == sorted(PAGES | {"../CONTRIBUTING.md", "../CHANGELOG.md"})
    assert sorted(in_toctrees("architecture.md")) == sorted(DESIGN)


def test_every_page_is_listed_once_on_the_start_page() -> None:
    listed = (DOCS / "index.md").read_text(encoding="utf-8").split("## All pages\n")[1]
    linked = re.findall(r"^\| \[[^]]*\]\(([^)#]+)\) \| .", listed, re.M)
    assert sorted(linked) == sorted(PAGES | {"../CONTRIBUTING.md", "../CHANGELOG.md"})


def test_what_the_page_on_architecture_names_is_there() -> None:
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    named = re.findall(r"`(src/ragworthy/[\w/.]+)`", text)
    assert len(named) >= 6
    assert [path for path in named if not (ROOT / path.replace("NAME/", "answers/")).exists()] == []
    layers = re.findall(r"^\| [0-5] \| .* \| (`.*`) \|$", text, re.M)
    modules = [name for line in layers for name in re.findall(r"`(\w+)`", line)]
    assert len(layers) == 6
    source = ROOT / "src/ragworthy"
    assert [name for name in modules if not ((source / name).is_dir() or (source / f"{name}.py").is_file())] == []


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make site` builds it, without a network."""
    if not SPHINX.exists():
        pytest.skip("SKIPPED: no Sphinx: make site")
    out = tmp_path_factory.mktemp("site")
    command = [
        "--quiet",
        "--fail-on-warning",
        "--keep-going",
        "-b",
        "html",
        "-c",
        "docs/site",
        "-d",
        str(out / "cache"),
    ]
    nowhere = {"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        [SPHINX, *command, ".", out / "html"], cwd=ROOT, env=nowhere, capture_output=True, encoding="utf-8", timeout=400
    )
    assert (done.returncode, done.stderr) == (0, "")
    return out / "html"


def test_the_site_has_every_page_the_version_and_a_search(site: Path) -> None:
    for page in PAGES | DESIGN:
        assert (site / "docs" / page).resolve().with_suffix(".html").is_file(), page
    start = (site / "docs/index.html").read_text(encoding="utf-8")
    assert f"Ragworthy {VERSION}" in start
    assert "docs/index.html" in (site / "index.html").read_text(encoding="utf-8")
    assert (site / "searchindex.js").read_text(encoding="utf-8").startswith("Search.setIndex(")
    assert 'href="stability.html"' in start


@needs_browser
def test_the_search_works_from_disk(site: Path) -> None:
    with chromium() as browser, opened(browser, site / "search.html") as shown:
        for word, page in (("must_pass", "Policy"), ("題庫", "快速上手")):
            shown.page.goto(f"{(site / 'search.html').as_uri()}?q={word}")
            shown.page.wait_for_selector("#search-results li")
            assert page in "\n".join(shown.page.locator("#search-results li").all_inner_texts())
        assert shown.errors == []
        assert [address for address in shown.asked if not address.startswith("file:")] == []


def test_chinese_lines_are_joined_without_a_space(site: Path) -> None:
    text = re.sub(r"<pre>.*?</pre>", "", (site / "docs/zh-Hant/start.html").read_text(encoding="utf-8"), flags=re.S)
    assert re.findall(r"[\u4e00-\u9fff，。]\n[\u4e00-\u9fff]", text) == []


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        loaded = re.findall(r'<(?:script|img|iframe|source)\b[^>]*?\bsrc="([^"]+)"', text)
        loaded += re.findall(r'<link\b[^>]*?\brel="(?:stylesheet|preload|icon)"[^>]*?\bhref="([^"]+)"', text)
        assert [address for address in loaded if re.match(r"(https?:)?//", address)] == [], path.name


def test_files_that_are_no_pages_are_named_and_not_linked(site: Path) -> None:
    text = (site / "docs/from-ragas.html").read_text(encoding="utf-8")
    said = re.sub(r"<[^>]+>", "", text)
    assert "The files are in examples/from-ragas in the repository." in " ".join(said.split())
    assert 'href="../examples' not in text


def test_pictures_are_small_and_each_is_shown() -> None:
    pictures = [path for folder in ("pictures", "screens") for path in (DOCS / folder).glob("*.png")]
    sizes = [path.stat().st_size for path in pictures]
    assert max(sizes) < 200_000
    assert sum(sizes) < 2_000_000
    shown = "\n".join(path.read_text(encoding="utf-8") for path in DOCS.glob("*.md"))
    assert [path.name for path in pictures if f"{path.parent.name}/{path.name}" not in shown] == []
