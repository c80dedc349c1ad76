"""The report that fits a terminal of 24 lines: the verdict with its numbers, the gates, three questions, what to do."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ragworthy import gates as g
from ragworthy.names import HARMLESS, Cause
from ragworthy.report.changes import lead
from ragworthy.report.headline import decided, heading
from ragworthy.report.last import not_valid, now, short_name, verdict_line
from ragworthy.report.part import Voices, blamed, partial_notes, steps, to_look
from ragworthy.report.screen import Piece, Said, Screen, Span
from ragworthy.report.show import counted, default_notes, gate_notes, plural, width_of

Json = dict[str, Any]
GATES, REASONS, QUESTIONS, LEADS, STEPS = 8, 5, 3, 4, 2
"""So many of each are shown."""
SIZE = "RW-W15"
HEIGHT = 24
"""Lines of a terminal, with one for what is typed next."""
UNLIKE = "how the pipeline does with questions that are not like these"
_MARKS = {"pass": "✓", "fail": "✗", "undecided": "?", "not_measured": "–"}
_WAIVED, _NOT_JUDGED = "!", "·"


class Around(NamedTuple):
    """What a report does not know of itself."""

    more: str = "--full"
    """How to see the rest; nothing where there is no way."""
    written: Sequence[str] = ()
    """The files that were written, as they were named."""

    named: bool = False
    """Whether the first line names the gates that decided: where it is all that a list of failed tests shows."""
    last: Screen | None = None
    """Where the last line is shown, where that is wider than the rest."""

    def rest(self, what: str) -> str:
        """What is not shown, and how to see it."""
        return f"{what}: {self.more}" if self.more else what


def render(report: Json, voices: Voices, screen: Screen, around: Around = Around()) -> str:  # noqa: B008 - a constant
    """The short report; the last line is the verdict with the numbers that decided."""
    rest = [*_limits(report, screen), *_rest(report, screen, around), verdict_line(report, around.last or screen)]
    for most in (STEPS, 1):
        questions = _questions(report, voices, screen) + _steps(report, voices, screen, around, most)
        parts = (_head(report, voices, screen, around), _gates(report, screen, around), questions, rest)
        text = "\n\n".join("\n".join(part) for part in parts if part) + "\n"
        if text.count("\n") < HEIGHT:
            break
    return text


# what was decided, on what


def _head(report: Json, voices: Voices, screen: Screen, around: Around) -> list[str]:
    verdict = report["verdict"]
    told = decided(report) if around.named else heading(report).removeprefix(verdict)
    lines = [screen.line(Span(verdict, verdict), Span(told, "head"))]
    if not around.named:
        lines = screen.hung([Span(verdict, verdict)], told, "head", indent=4)
    for note in partial_notes(report, voices):
        lines += screen.hung(["  "], note, "label", indent=4)
    for suite, body in report["suites"].items():
        head = [f"{suite}: "] if len(report["suites"]) > 1 else []
        lines += screen.hung(head, voices(suite).counts_line(body["counts"]), indent=2, most=1)
    lines += _leads(report, voices, screen)
    reasons = not_valid(report)
    for reason in reasons[:REASONS]:
        lines += screen.hung([Span("  not valid: ", "INVALID")], reason, indent=4, most=2)
    if len(reasons) > REASONS:
        lines.append(screen.line(f"  … and {plural(len(reasons) - REASONS, 'more reason')}"))
    return lines


def _leads(report: Json, voices: Voices, screen: Screen) -> list[str]:
    """What the suites say before anything else, the first of them in two lines at most, the others in one."""
    lines: list[str] = []
    for suite, body in report["suites"].items():
        for line in (*lead(body), *voices(suite).lead(body)):
            if len(lines) < LEADS:
                lines += screen.hung(["  "], line, indent=4, most=1 if lines else 2)
    return lines[:LEADS]


# the gates


def _gates(report: Json, screen: Screen, around: Around) -> list[str]:
    """Every gate that does not hold, and those that hold as far as there is room."""
    gates = report["gates"]
    open_ones = [nth for nth, gate in enumerate(gates) if gate["outcome"] != "pass" or "waiver" in gate]
    holding = [nth for nth in range(len(gates)) if nth not in open_ones]
    shown = sorted([*open_ones[:GATES], *holding[: max(0, GATES - len(open_ones))]])
    lines = _rows(report, [gates[nth] for nth in shown], screen)
    if len(open_ones) > GATES:
        lines.append(screen.line(around.rest(f"  … {len(open_ones) - GATES} more that do not hold")))
    if rest := [short_name(report, gates[nth]) for nth in holding if nth not in shown]:
        lines += screen.hung(["  ", Span("✓", "pass"), f"  {len(rest)} more hold: "], ", ".join(rest), indent=5, most=1)
    return lines


def _rows(report: Json, gates: Sequence[Json], screen: Screen) -> list[str]:
    """A line for each gate: its numbers, what it asks for, and why; of one that does not hold, what is said of it."""
    rows = []
    for gate in gates:
        mark, role = _mark(gate)
        value = Span(now(gate), role if gate["outcome"] != "pass" else "")
        cells = (Span(mark, role), short_name(report, gate), value, gate["shown"]["cases"], gate["shown"]["rule"])
        rows.append(Said(cells, *_said(gate)))
    return screen.rows(rows)


def _mark(gate: Json) -> tuple[str, str]:
    if "waiver" in gate:
        return _WAIVED, "waived"
    if not gate.get("judged", True):
        return _NOT_JUDGED, "dim"
    return _MARKS[gate["outcome"]], str(gate["outcome"])


def _said(gate: Json) -> tuple[str, int]:
    """What is behind the numbers, and in how many lines at most."""
    notes = gate_notes(gate)
    told = bool(notes) and notes[0] != gate["note"] and (gate["outcome"] != "pass" or "waiver" in gate)
    if told:
        return notes[0], 3
    return gate["why"] or "", 1 if gate["outcome"] == "pass" else 2


# the questions, and what to do


def _questions(report: Json, voices: Voices, screen: Screen) -> list[str]:
    """The first offenders, of each label in turn, with why and with their questions."""
    counts = [(suite, _bad(body)) for suite, body in report["suites"].items() if _bad(body)]
    offenders = blamed(report, voices, QUESTIONS)
    if not counts and not offenders:
        return []
    several = len(report["suites"]) > 1
    told = "; ".join(f"{suite}: {counted(bad)}" if several else counted(bad) for suite, bad in counts)
    title = "Worst" if offenders else "Not right, within the gates"
    look = next(filter(None, (to_look(report, *at) for at in _first(report, voices, offenders))), "")
    see = f"see one: {look}" if look else ""
    line = f"{told}; {see}" if told and see else told or see
    fits = screen.width is None or width_of(f"{title}: {line}") <= screen.width
    lines = screen.hung([Span(f"{title}: ", "head")], line if fits else told, indent=2, most=2 if several else 1)
    for one in offenders[:QUESTIONS]:
        lines += _question(one, screen)
    return lines if fits or not see else [*lines, screen.line(f"  {see}")]  # a command that is broken cannot be copied


def _bad(body: Json) -> dict[str, int]:
    return {label: count for label, count in body["labels"].items() if label not in HARMLESS}


def _first(report: Json, voices: Voices, offenders: Sequence[Json]) -> list[tuple[str, Voices, str]]:
    """Where the first offender is."""
    return [
        (suite, voices, one["qid"])
        for one in offenders[:1]
        for suite, body in report["suites"].items()
        if any(other is one for other in body["offenders"])
    ]


def _question(one: Json, screen: Screen) -> list[str]:
    score = f" {one['score']:g} of 100" if one.get("score") is not None else ""
    qid = screen.cut(one["qid"], 24)
    head: list[Piece] = [f"  {qid}  ", Span(f"{one['label']}{score}", "label"), ": "]
    lines = screen.hung(head, _why(one), indent=6, most=1)
    text = one["question"] or one["claim"]
    return lines + (screen.hung(["      "], text, "dim", indent=6, most=1) if text else [])


def _why(one: Json) -> str:
    """Why it is named, with the ids that were not retrieved where that is why."""
    cited = one.get("citations")
    if one.get("cause") != Cause.OUT_OF_SCOPE or not isinstance(cited, list):
        return str(one["why"])
    lost = [str(name) for name in cited if name not in (one.get("retrieved_ids") or ())]
    return f"{one['why']}: {', '.join(lost)}" if lost else str(one["why"])


def _steps(report: Json, voices: Voices, screen: Screen, around: Around, most: int) -> list[str]:
    todo = steps(report, voices)
    lines = []
    for step in todo[:most]:
        told = f"{step['pattern']}: {step['do']}"
        lines += screen.hung([Span("Do: ", "head")], told, indent=4, most=2 if most > 1 and len(todo) > 1 else 3)
    if len(todo) > most:
        lines.append(screen.line(around.rest(f"    … and {len(todo) - most} more to do")))
    return lines


# what it rests on


def _limits(report: Json, screen: Screen) -> list[str]:
    """One line on what this evidence cannot show."""
    gates = report["gates"]
    unsettled = sum(map(_unsettled, gates))
    sizes = [one["message"] for body in report["suites"].values() for one in body["warnings"] if one["code"] == SIZE]
    told = [*dict.fromkeys(sizes)]
    if unsettled or not told:
        head, certain = "Cannot show ", UNLIKE
        if unsettled:
            head, certain = "Too few cases ", f"to prove {unsettled} of {plural(len(gates), 'gate')}"
        return screen.hung([Span(head, "head")], "; ".join([certain, *told]), indent=4, most=1)
    return screen.hung([Span("Small set: ", "head")], "; ".join(told), indent=4, most=1)


def _unsettled(gate: Json) -> bool:
    """Whether its cases do not show on which side of its threshold it is."""
    return bool(gate["note"]) and gate["op"] not in (*g.AGAINST, g.EACH) and gate.get("judged", True)


def _rest(report: Json, screen: Screen, around: Around) -> list[str]:
    """How many notes there are that are not shown, and which files were written."""
    gates = report["gates"]
    warnings = [one for body in report["suites"].values() for one in body["warnings"] if one["code"] != SIZE]
    count = len(warnings) + sum(len(gate_notes(gate)) for gate in gates) + len(default_notes(gates))
    notes = around.rest(f"{plural(count, 'note')}" if count else "all numbers")
    files = ", ".join(around.written)
    both = f"{notes}; wrote {files}"
    if files and (screen.width is None or width_of(both) <= screen.width):
        return [screen.line(both)]
    return [screen.line(notes), *(screen.hung(["wrote "], files, indent=6) if files else [])]
