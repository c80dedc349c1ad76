"""The page: its sections in the order in which they are read. A section without data is absent."""

from typing import NamedTuple

from markupsafe import Markup

from ragworthy.report import panel, tested
from ragworthy.report.html import changed, drawn, numbers, questions, verdict, wrong
from ragworthy.report.html.env import fragment
from ragworthy.report.html.env import render as filled
from ragworthy.report.html.material import Material
from ragworthy.report.html.terms import Terms

SCRIPTS = ("theme.js", "report.js", "questions.js")


class Section(NamedTuple):
    """A part of the page."""

    id: str
    title: str
    html: Markup
    """Everything below the title."""


class Parts(NamedTuple):
    """What is on the page, for whoever has a frame of his own."""

    banner: Markup
    sections: list[Section]


def parts(material: Material) -> Parts:
    """The verdict, and every section that has something to show."""
    terms = Terms(material.report["suites"])
    banner = verdict.banner(material, terms)
    every = [*_sections(material, terms), Section("glossary", "What the words mean", _glossary(terms))]
    return Parts(banner, [one for one in every if one.html])


def render(material: Material) -> str:
    """The whole page."""
    banner, sections = parts(material)
    return filled("report.html", report=material.report, banner=banner, sections=sections, scripts=SCRIPTS)


def _sections(material: Material, terms: Terms) -> list[Section]:
    figures = drawn.figures(material, terms)
    charts = fragment("charts.html", figures=figures) if figures else Markup()
    return [
        Section("gates", "Gates", verdict.gates(material, terms)),
        Section("tested", tested.TITLE, _tested(material)),
        Section("changed", "What changed", changed.changed(material, terms)),
        Section("wrong", "Where it went wrong", wrong.wrong(material, terms)),
        Section("charts", "Charts", charts),
        Section("questions", "All questions", questions.questions(material, terms)),
        Section("numbers", "All numbers", numbers.numbers(material, terms)),
        Section("limits", panel.TITLE, _limits(material)),
    ]


def _tested(material: Material) -> Markup:
    return fragment("tested.html", facts=tested.facts(material.report))


def _limits(material: Material) -> Markup:
    """What this evidence cannot show: always there."""
    suites = material.report["suites"].items()
    return fragment("limits.html", suites=[(suite, panel.lines(suite, body)) for suite, body in suites])


def _glossary(terms: Terms) -> Markup:
    return fragment("glossary.html", metrics=terms.metrics(), words=terms.words())
