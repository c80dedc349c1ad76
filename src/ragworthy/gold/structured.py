"""A set of questions with structured answers: lint, and drawing a subset of it."""

from pathlib import Path
from typing import NamedTuple

import msgspec

from ragworthy.errors import MOST_PROBLEMS, DataError, Problem, usage_error
from ragworthy.files import write_whole
from ragworthy.gold import lint_structured as rules
from ragworthy.gold import subset as drawing
from ragworthy.gold.commands import Linted, sound_questions, structured_questions, unreadable
from ragworthy.load.definition import bundled, load_definition
from ragworthy.load.questions import open_questions, question_lines, read_subset
from ragworthy.load.sources import FileSource
from ragworthy.metrics.definition import ABSENT, Definition
from ragworthy.metrics.facts.expected import expected_value, problem_of
from ragworthy.text import squeeze


def definition_of(path: Path | None) -> Definition:
    """The definition at a path, or the bundled one."""
    return load_definition(path) if path is not None else bundled()


def lint(path: Path, definition: Path | None) -> Linted:
    """Every finding about a question file, held against a definition."""
    fields = definition_of(definition)
    source = open_questions("gold", path)
    questions, problems = structured_questions(source)
    findings = unreadable(problems) + rules.lint(questions, source.given, fields)
    findings.sort(key=lambda one: (one.line, one.problem.code))
    return Linted(
        findings,
        len(questions) + len({problem.where for problem in problems}),
        source.given,
        distinct=rules.distinct(questions),
    )


class Written(NamedTuple):
    """A subset that was drawn and written."""

    drawn: drawing.Drawn
    items: int
    parent_sha256: str


def subset(path: Path, out: Path, *, size: int, seed: int, definition: Path | None) -> Written:
    """Draw a subset of a question file, evenly over the strata of its definition, and write it."""
    fields = definition_of(definition)
    source = open_questions("gold", path)
    questions = sound_questions(source)
    problems = []
    for one in questions:
        if found := problem_of(one.gold, fields):
            code, field, message = found
            problems.append(Problem(code, message, f"{source.given}:{one.line}", field))
    if problems:
        raise DataError(problems[:MOST_PROBLEMS], len(problems))
    candidates = [
        drawing.Candidate(one.qid, one.text, _labels(one, fields), place) for place, one in enumerate(questions)
    ]
    if out.exists():
        _check_subset(out)
    drawn = drawing.draw(candidates, size, seed)
    lines = [line for _, line in question_lines(source) if line.strip()]
    sha256 = source.sha256()
    if isinstance(source, FileSource):
        source.check_unchanged()
    parent = {"file": path.name, "sha256": sha256, "items": len(questions), "distinct": drawn.distinct}
    rows = [msgspec.json.format(lines[place], indent=0) for place in drawn.places]
    made = drawing.document(rows, seed=seed, size=size, strata=fields.strata, parent=parent)
    write_whole(out, made, renews=out.exists())  # an earlier subset was read, to see that it is one
    return Written(drawn, len(questions), sha256)


def _check_subset(out: Path) -> None:
    """Only an earlier subset may be written over."""
    try:
        read_subset(out)
    except DataError:
        raise usage_error(f"{out}: already there, and no subset", code="RW-U03") from None


def _labels(question: rules.Question, definition: Definition) -> tuple[str, ...]:
    """The values of the strata as texts; an empty one where there is none."""
    by_name = {field.name: field for field in definition.fields}
    values = [expected_value(question.gold.expected, definition, by_name[name]) for name in definition.strata]
    return tuple("" if value is ABSENT or value is None else _label(value) for value in values)


def _label(value: str | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else squeeze(value)
