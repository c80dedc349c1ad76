"""`ragworthy show`: single questions with everything known of them, in every suite that has them."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ragworthy import edits, flow
from ragworthy.errors import RagworthyError, UsageError, usage_error
from ragworthy.report.sheet import Page, Style, Viewed, as_dict
from ragworthy.showing.commands import commands_of
from ragworthy.showing.past import Kept, past_of
from ragworthy.showing.past import kept_in as kept_in
from ragworthy.text import clip

NO_PAST = Kept(past_of)
NEAR = 3
"""So many ids are offered in place of one that nobody knows."""


class Seen(NamedTuple):
    """What there is to show."""

    shown: list[Viewed]
    page: Page

    @property
    def good(self) -> int:
        """How many are as they should be."""
        return sum(one.sheet.good for one in self.shown)

    def render(self, form: str, style: Style) -> str:
        """All of it as text, Markdown or JSON."""
        if form == "json":
            from ragworthy.safe import json_text

            return json_text(as_dict(self.page))
        if form == "markdown":
            from ragworthy.report.sheet_markdown import render

            return render(self.shown, self.page, style)
        from ragworthy.report.sheet_text import render

        return render(self.shown, self.page, style)


def look(requests: Sequence[flow.Request], names: Sequence[str], *, source: str, past: Kept = NO_PAST) -> Seen:
    """Some questions in every suite that has them; a suite that cannot be read does not keep the others from it."""
    asked = list(dict.fromkeys(names))
    looked: dict[str, flow.Looked] = {}
    failed: list[tuple[str, RagworthyError]] = []
    for request in requests:
        try:
            flow.check_stale([request])
            looked[request.suite] = flow.look(request, asked)
        except RagworthyError as error:
            failed.append((request.suite, error))
    if not any(one.shown for one in looked.values()) and failed:
        raise failed[0][1]
    shown = [
        _with_commands(one, request, looked[request.suite].bad[one.sheet.qid], past)
        for request in requests
        if request.suite in looked
        for one in looked[request.suite].shown
    ]
    there = {one.sheet.qid for one in shown}
    if unknown := [name for name in asked if name not in there]:
        raise unknown_question(unknown[0], {suite: one.known for suite, one in looked.items()})
    lost = [*(f"{suite}: {error.lines()[0]}" for suite, error in failed), *([past.why] if past.why else [])]
    return seen(shown, asked, source, lost)


def seen(shown: Sequence[Viewed], names: Sequence[str], source: str, not_shown: Sequence[str] = ()) -> Seen:
    """Question by question, each in the order of the suites."""
    ordered = sorted(shown, key=lambda one: list(names).index(one.sheet.qid))
    sheets = [one.sheet for one in ordered]
    return Seen(ordered, Page(source=source, questions=sheets, not_shown=list(not_shown)))


def _with_commands(one: Viewed, request: flow.Request, bad: Sequence[str], past: Kept) -> Viewed:
    sheet = one.sheet
    said = [name for name in bad if name in sheet.metrics]
    return one.having(commands=commands_of(request, sheet, said), past=past.past(sheet.suite, sheet.qid))


def unknown_question(name: str, known: Mapping[str, Callable[[], Any]]) -> UsageError:
    """That no suite has a question, with the ids that are spelled almost like it."""
    ids = dict.fromkeys(each for one in known.values() for each in one())
    near = edits.nearest(name, ids, most=NEAR, least=0.6)
    message = f'expected a question of {" or ".join(known)}, got "{clip(name, 80)}"'
    if near:
        message += f": did you mean {' or '.join(clip(one, 80) for one in near)}?"
    return usage_error(message, code="RW-U13")


def look_back(
    requests: Sequence[flow.Request],
    lost: Mapping[str, Any],
    names: Sequence[str],
    *,
    source: str,
    path: Path,
    past: Kept = NO_PAST,
) -> Seen:
    """The same of a run of which some inputs are gone: what the report itself knows stands in for them."""
    from ragworthy.showing import given_run

    asked = list(dict.fromkeys(names))
    kept = given_run.from_report(lost, asked)
    found: list[Viewed] = []
    for request in requests:
        looked = flow.look(request, asked)
        found += [_with_commands(one, request, looked.bad[one.sheet.qid], past) for one in looked.shown]
    shown = [*found, *(one.having(past=past.past(one.sheet.suite, one.sheet.qid)) for one in kept)]
    there = {one.sheet.qid for one in shown}
    if unknown := [name for name in asked if name not in there]:
        raise given_run.nothing_known(lost, path, unknown[0])
    return seen(shown, asked, source, [past.why] if past.why else [])
