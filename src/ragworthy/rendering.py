"""Reports for people: the voices of the suites, handed to the renderers, which are below them."""

from typing import TYPE_CHECKING, Any

from ragworthy.report import write as writing
from ragworthy.report.part import Voice
from ragworthy.suites import SUITES

if TYPE_CHECKING:
    from ragworthy.report.screen import Screen
    from ragworthy.report.short import Around


def voice_of(suite: str) -> Voice:
    """What a suite says to people, from the body of its report alone."""
    SUITES.also([suite])
    voice: Voice = SUITES[suite].load()
    return voice


def render(report: dict[str, Any], form: str, screen: "Screen | None" = None) -> str:
    """A whole report in one of the formats text, json, markdown, junit; text for a file, unless a screen is named."""
    return writing.render(report, form, voice_of, screen)


def short(report: dict[str, Any], screen: "Screen", around: "Around | None" = None) -> str:
    """What fits a terminal: the decision with its numbers, the gates, the first offenders, what to do."""
    from ragworthy.report import short as page

    return page.render(report, voice_of, screen, around or page.Around())


def brief(report: dict[str, Any], form: str) -> str:
    """The decision, the gates and the first offenders, as text or Markdown."""
    if form == "markdown":
        from ragworthy.report import markdown

        return markdown.brief(report, voice_of)
    from ragworthy.report.screen import FILE, PIPE, Screen
    from ragworthy.report.short import Around

    return short(report, Screen(PIPE), Around(more="text(full=True)", named=True, last=FILE))
