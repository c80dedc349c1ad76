"""How the pages of docs/ and design/ become a site: `make site`. It is built and searched without a network.

The source folder is the repository, so that links between docs/ and design/ are the same here as on a code host.
"""

import re
import sys
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "src"))

from ragworthy.names import VERSION  # noqa: E402

project = "Ragworthy"
version = release = VERSION
copyright = "the Ragworthy maintainers"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
include_patterns = ["docs/*.md", "docs/zh-Hant/*.md", "design/*.md", "CHANGELOG.md", "CONTRIBUTING.md"]
exclude_patterns = [".*", "build", "dist", "demo-out", "examples", "src", "tests", "schemas", "benchmarks", "release"]
root_doc = "docs/index"
myst_heading_anchors = 4
html_theme = "furo"
html_title = f"Ragworthy {VERSION}"
html_show_sourcelink = False
html_copy_source = False
html_show_search_summary = False  # from disk a browser lets no page read another one
html_last_updated_fmt = None  # the same pages give the same site
html_favicon = None
# Lines of TOML with `…`, and consoles with output, are not an input of a lexer: shown plain, not a warning.
suppress_warnings = ["misc.highlighting_failure"]

_FENCED = re.compile(r"(^```.*?^```$)", re.M | re.S)
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:)([^)#\s]+)(?:#[^)\s]*)?\)")
_BROKEN = re.compile(r"(?<=[\u3000-\u9fff\uff00-\uffef])\n(?=[\u3000-\u9fff\uff00-\uffef])")
"""A line end inside a Chinese text: a browser would show a blank there."""
_START = '<!doctype html><meta charset="utf-8"><title>Ragworthy</title><meta http-equiv="refresh" content="0; url={0}">'


def _named(app: Sphinx, page: str, source: list[str]) -> None:
    """Links to files that are not pages of the site name the file instead."""
    folder = (ROOT / page).parent

    def link(found: re.Match[str]) -> str:
        path = (folder / found[2]).resolve()
        if not path.is_relative_to(ROOT):
            return found[0]
        name = path.relative_to(ROOT).as_posix()
        if name.removesuffix(".md") in app.env.found_docs or not path.exists():
            return found[0]  # a page, or a mistake that Sphinx warns of
        return f"`{name}` in the repository" if found[1] == name else f"{found[1]} (`{name}` in the repository)"

    parts = _FENCED.split(source[0])
    source[0] = "".join(part if part.startswith("```") else _BROKEN.sub("", _LINK.sub(link, part)) for part in parts)


def _front(app: Sphinx, error: Exception | None) -> None:
    """The first file that somebody opens in the folder leads to the start page."""
    if error is None and app.builder.name == "html":
        (Path(app.outdir) / "index.html").write_text(_START.format("docs/index.html") + "\n", encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", _named)
    app.connect("build-finished", _front)
