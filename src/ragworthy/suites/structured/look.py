"""Single items of the structured suite, expected against got."""

from collections.abc import Sequence

from ragworthy.errors import usage_error
from ragworthy.metrics import grading
from ragworthy.suites.request import Request
from ragworthy.suites.structured import item
from ragworthy.suites.structured.mark import again
from ragworthy.suites.structured.suite import opened


def look(request: Request, ids: Sequence[str]) -> list[item.View]:
    """Some items by their ids, in the order asked for."""
    job, marked, definition = opened(request)
    unknown = [name for name in ids if name not in marked.questions.place]
    if unknown:
        raise usage_error(f'--item: expected an id of the question set, got "{unknown[0]}"')
    places = [marked.questions.place[name] for name in ids]
    views = []
    for place, (gold, output) in zip(places, again(job, marked, places), strict=True):
        known = grading.read(definition, output, repair=job.repair)
        views.append(item.view(definition, gold, output, known, marked.items[place], details=not job.reference))
    return views


def render(views: Sequence[item.View], form: str, *, colour: bool = False) -> str:
    """Items one after another, as text or Markdown."""
    made = [item.markdown(one) if form == "markdown" else item.text(one, colour=colour) for one in views]
    return "\n".join(made)
