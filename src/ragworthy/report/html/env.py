"""The templates, and how text of others gets onto a page: always as text. Jinja2 is loaded when a page is made."""

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragworthy.names import VERSION
from ragworthy.text import compiled

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

FOLDER = Path(__file__).parent
_STEERING = (
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff\ufffe\uffff]"
)
"""Controls, directions, ends of lines, halves of characters. A tab and a line feed stay as they are."""
_ISLAND = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


@cache
def environment() -> "Environment":
    """The templates of this package. What is missing in one is an error, and every value is escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalised,
    )
    made.filters["alone"] = alone
    made.globals |= {"file": file, "island": island, "content_policy": content_policy, "version": VERSION}
    return made


def render(template: str, **values: Any) -> str:
    """A template of this package, filled."""
    return environment().get_template(template).render(**values)


def fragment(template: str, **values: Any) -> "Markup":
    """A part of a page, to be put into another template as it is."""
    from markupsafe import Markup

    return Markup(render(template, **values))  # noqa: S704 - the template has escaped every value


def _finalised(value: Any) -> Any:
    """Every text that a template shows, with signs that steer shown as escapes."""
    return steerless(str(value)) if isinstance(value, str) and not hasattr(value, "__html__") else value


def steerless(text: str) -> str:
    r"""A text in which nothing steers: controls and marks of direction are shown as escapes.

    >>> steerless("a\u202eb\x1b[31m"), steerless("two\nlines \u05d0")
    ('a\\u202eb\\x1b[31m', 'two\nlines א')
    """
    if text.isprintable():
        return text
    return compiled(_STEERING).sub(lambda found: found[0].encode("unicode_escape", "backslashreplace").decode(), text)


def alone(text: Any) -> "Markup":
    """A text of somebody else inside a sentence: its direction is its own and does not leave it."""
    from markupsafe import Markup

    return Markup("<bdi>{}</bdi>").format(steerless(str(text)))


@cache
def file(name: str) -> "Markup":
    """A style sheet or script of this package, to be inside the page."""
    from markupsafe import Markup

    return Markup((FOLDER / name).read_text(encoding="utf-8"))  # noqa: S704 - a file of ours


def island(name: str, value: Any) -> "Markup":
    r"""Data for a script of the page: JSON that cannot end the element it is in, and holds no sign that steers.

    A script takes it with `JSON.parse(document.getElementById(name).textContent)` and shows texts of it with
    `textContent`.

    >>> print(island("data", ["</script><!--", "\u2028"]))
    <script type="application/json" id="data">["\u003c/script\u003e\u003c!--","\u2028"]</script>
    """
    import json

    from markupsafe import Markup

    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).translate(_ISLAND)
    safe = compiled(_STEERING).sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    return Markup('<script type="application/json" id="{}">{}</script>').format(name, Markup(safe))  # noqa: S704


def content_policy(scripts: Sequence[str]) -> str:
    """What a browser lets the page do: run these scripts, show its own styles and pictures, and nothing else."""
    return (
        f"default-src 'none'; script-src {script_hashes(scripts)}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def script_hashes(scripts: Sequence[str]) -> str:
    """The scripts of a page as a content security policy names them."""
    return " ".join(f"'sha256-{_hash(str(file(name)))}'" for name in scripts) or "'none'"


def _hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
