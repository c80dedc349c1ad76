"""How the pages of docs/ become a site: `make site`. Everything is built and searched without a network."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "src"))

from ragworthy.names import VERSION  # noqa: E402

project = "Ragworthy"
version = release = VERSION
copyright = "the Ragworthy maintainers"  # noqa: A001 - the name that Sphinx reads
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["site", "sources", "sources.py", "generate.py"]
myst_heading_anchors = 4
myst_enable_extensions = ["html_image"]
html_theme = "furo"
html_title = f"Ragworthy {VERSION}"
html_static_path: list[str] = []
html_show_sourcelink = False
html_copy_source = False
html_last_updated_fmt = None  # the same pages give the same site

_OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./([^)#\s]+)(?:#[^)\s]*)?\)")


def _inside(_app: object, _page: str, source: list[str]) -> None:
    """Files of the repository that are no pages: named, as a site cannot link to them."""
    source[0] = _OUTSIDE.sub(lambda link: f"{link[1]} (`{link[2]}` in the repository)", source[0])


def setup(app: object) -> None:
    """Called by Sphinx."""
    app.connect("source-read", _inside)  # type: ignore[attr-defined]
