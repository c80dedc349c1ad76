"""The page: its sections in the order in which they are read. A section without data is absent."""

from typing import NamedTuple

from markupsafe import Markup

from ragworthy.report.html.env import render as filled
from ragworthy.report.html.material import Material

SCRIPTS = ("theme.js",)


class Section(NamedTuple):
    """A part of the page."""

    id: str
    title: str
    html: Markup
    """Everything below the title."""


def render(material: Material) -> str:
    """The whole page."""
    return filled("report.html", report=material.report, sections=[], scripts=SCRIPTS)
