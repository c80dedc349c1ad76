"""What these files can and cannot show, and why. What is told of a suite, the suite says (`Suite.examined`)."""

from collections.abc import Sequence
from fractions import Fraction

from ragworthy import flow
from ragworthy.errors import RagworthyError
from ragworthy.gates import MAX, MIN, name_of
from ragworthy.load.plugins import installed, load_point
from ragworthy.stats import cases_needed
from ragworthy.suites import SUITES
from ragworthy.suites.examine import Seen


def examine(requests: Sequence[flow.Request]) -> list[str]:
    """The doctor's findings as lines of text, suite by suite."""
    found = map(_examined, requests)
    return [line for lines in found for line in (*lines, "")][:-1]


def _examined(request: flow.Request) -> list[str]:
    suite = SUITES[request.suite].load()
    run = flow.score(suite.to_examine(request))
    lines: list[str] = suite.examined(request, Seen(run.parts[0], run.report["invalid"], _power(run)))
    return lines


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
    """How many cases each gate has, and how many it needs to mean anything with 95 % confidence."""
    lines = []
    for judged in run.judged:
        gate, value = judged.gate, judged.value
        if gate.op not in (MIN, MAX) or value is None or value.den is None or not value.rate:
            continue
        needed = cases_needed(gate.op, Fraction(gate.threshold) / value.top)
        if needed is None:
            continue
        enough = (value.size or 0) >= needed.to_pass
        sign = "≥" if gate.op == MIN else "≤"
        lines.append(
            f"  {'yes' if enough else 'no '}  {name_of(gate)} {sign} {gate.threshold}: has {value.size or 0:,} cases, "
            f"needs {needed.to_pass:,} clean ones to be shown with 95 % confidence"
        )
    return lines or ["  nothing to count: no gate on a rate"]
