"""What these files can and cannot show, and why. What is told of a suite, the suite says (`Suite.examined`)."""

from collections.abc import Sequence

from ragworthy import flow
from ragworthy.errors import DataError, RagworthyError
from ragworthy.load.plugins import installed, load_point
from ragworthy.report import model
from ragworthy.report.part import Part
from ragworthy.suites import SUITES
from ragworthy.suites.examine import Seen


def examine(requests: Sequence[flow.Request]) -> list[str]:
    """The doctor's findings as lines of text, suite by suite. All suites are scored together, as `gate` does it: their
    gates are one family.
    """
    suites = [SUITES[request.suite].load() for request in requests]
    run = flow.score_all([suite.to_examine(request) for suite, request in zip(suites, requests, strict=True)])
    gated = _gated(requests) or run
    found = []
    for suite, request, part, judged in zip(suites, requests, run.parts, gated.parts, strict=True):
        lines: list[str] = suite.examined(request, Seen(part, model.assemble([part])["invalid"], _power(judged)))
        found += [*lines, ""]
    return found[:-1]


def _gated(requests: Sequence[flow.Request]) -> flow.Run | None:
    """All suites as `gate` would score them, where there is a baseline: what is examined may be scored in another way.
    None where there is none, or where gold sets have errors, which are told.
    """
    if all(request.baseline is None for request in requests):
        return None
    try:
        return flow.score_all(requests)
    except DataError:
        return None


def plugins() -> list[str]:
    """What other packages announce, each loaded once to see whether it can be; nothing where none is installed."""
    lines = []
    for one in installed():
        try:
            load_point(one.group, one.name)
            state = "can be loaded"
        except RagworthyError as error:
            state = error.lines()[0]
        lines.append(f"  {one.name} ({one.group} of {one.package} {one.version}): {state}")
    return ["Plugins", *lines] if lines else []


def _power(part: Part) -> list[str]:
    """What each gate can show with the cases there are, at the rate that was seen, and how many it takes."""
    lines = [f"  {'yes' if one['enough'] else 'no '}  {one['gate']}: {one['says']}" for one in part.body["can_show"]]
    return lines or ["  nothing to count: no gate on a rate"]
