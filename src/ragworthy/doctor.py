"""What these files can and cannot show, and why. What is told of a suite, the suite says (`Suite.examined`)."""

from collections.abc import Sequence

from ragworthy import flow
from ragworthy.errors import DataError, RagworthyError
from ragworthy.load.plugins import installed, load_point
from ragworthy.suites import SUITES
from ragworthy.suites.examine import Seen


def examine(requests: Sequence[flow.Request]) -> list[str]:
    """The doctor's findings as lines of text, suite by suite."""
    found = map(_examined, requests)
    return [line for lines in found for line in (*lines, "")][:-1]


def _examined(request: flow.Request) -> list[str]:
    suite = SUITES[request.suite].load()
    run = flow.score(suite.to_examine(request))
    seen = Seen(run.parts[0], run.report["invalid"], _power(_compared(request, run)))
    lines: list[str] = suite.examined(request, seen)
    return lines


def _compared(request: flow.Request, run: flow.Run) -> flow.Run:
    """The run as `gate` would score it where there is a baseline: what is examined may be scored in another way."""
    if request.baseline is None:
        return run
    try:
        return flow.score(request)
    except DataError:
        return run  # its gold set has errors, which are told


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


def _power(run: flow.Run) -> list[str]:
    """What each gate can show with the cases there are, at the rate that was seen, and how many it takes."""
    lines = [
        f"  {'yes' if one['enough'] else 'no '}  {one['gate']}: {one['says']}"
        for part in run.parts
        for one in part.body["can_show"]
    ]
    return lines or ["  nothing to count: no gate on a rate"]
