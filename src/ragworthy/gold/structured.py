"""A set of questions with structured answers: lint, and drawing a smaller set that stands for it.

The draw is even over groups and the same for everybody. It depends on the questions, the size and the number given, and
on nothing else: not on the order of the rows, the machine or the process.
"""

import hashlib
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragworthy.errors import MOST_PROBLEMS, DataError, Problem, usage_error
from ragworthy.files import write_whole
from ragworthy.gold import lint_structured as rules
from ragworthy.gold.commands import Linted, sound_questions, structured_questions, unreadable
from ragworthy.load.definition import bundled, load_definition
from ragworthy.load.questions import open_questions, read_subset
from ragworthy.load.sources import FileSource, Source
from ragworthy.metrics.definition import ABSENT, Definition
from ragworthy.metrics.facts.expected import expected_value, problem_of
from ragworthy.names import SUBSET_SCHEMA
from ragworthy.text import squeeze

ALGORITHM = "stratified-sha256/1"


def definition_of(path: Path | None) -> Definition:
    """The definition at a path, or the bundled one."""
    return load_definition(path) if path is not None else bundled()


def lint(path: Path, definition: Path | None) -> Linted:
    """Every finding about a question file, compared with a definition."""
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


# a smaller set that stands for a large one


class Candidate(NamedTuple):
    """A question that may be drawn: its id, what tells it apart from others, its group, and its place in the file."""

    id: str
    text: str
    labels: tuple[str, ...]
    place: int


class Drawn(NamedTuple):
    """The places of the questions taken, in the order of the file, and what they were taken from."""

    places: list[int]
    distinct: int
    groups: int
    groups_taken: int


def draw(candidates: Sequence[Candidate], size: int, seed: int) -> Drawn:
    """A sample of so many questions, each text once, every group with its share.

    Each group gives one, the largest first; the rest is shared out by size, rounded down, and what is left over goes
    to the largest groups. Where a group has no more to give, the others give instead.
    """
    groups = _groups(candidates, seed)
    order = sorted(groups, key=lambda labels: (-len(groups[labels]), labels))
    total = sum(map(len, groups.values()))
    quota = dict.fromkeys(order[:size], 1)
    rest = min(size, total) - len(quota)
    if rest > 0:
        shares = {labels: rest * len(groups[labels]) // total for labels in order}
        for labels in order[: rest - sum(shares.values())]:
            shares[labels] += 1
        quota = {labels: quota[labels] + shares[labels] for labels in order}
    taken = [one for labels, count in quota.items() for one in groups[labels][:count]]
    pool = sorted(one for labels, count in quota.items() for one in groups[labels][count:])
    _shuffle(pool, seed, "pool")
    taken += pool[: min(size, total) - len(taken)]
    return Drawn(sorted(one.place for one in taken), total, len(groups), len(quota))


def _groups(candidates: Sequence[Candidate], seed: int) -> dict[tuple[str, ...], list[Candidate]]:
    """The questions of each group in the order in which they are taken; a text counts once, under its first id."""
    first: dict[str, Candidate] = {}
    for one in sorted(candidates):
        first.setdefault(one.text, one)
    groups: dict[tuple[str, ...], list[Candidate]] = {}
    for one in first.values():
        groups.setdefault(one.labels, []).append(one)
    for labels, members in groups.items():
        _shuffle(members, seed, *labels)
    return groups


def _shuffle(members: list[Candidate], seed: int, *labels: str) -> None:
    digest = hashlib.sha256("|".join((str(seed), *labels)).encode()).digest()
    random.Random(int.from_bytes(digest[:8], "big")).shuffle(members)  # noqa: S311 - a seeded sample, nothing secret


def document(rows: Sequence[bytes], *, seed: int, size: int, strata: Sequence[str], parent: dict[str, Any]) -> bytes:
    """A subset file: how it was drawn, then one question per line."""
    header = {
        "schema": SUBSET_SCHEMA,
        "algorithm": ALGORITHM,
        "seed": seed,
        "size": size,
        "strata": list(strata),
        "parent": parent,
    }
    start = json.dumps(header, ensure_ascii=False).removesuffix("}").encode("utf-8", "replace")
    return start + b', "questions": [\n' + b",\n".join(rows) + b"\n]}\n"


class Written(NamedTuple):
    """A subset that was drawn and written."""

    drawn: Drawn
    items: int
    parent_sha256: str


def scorable(source: Source, definition: Definition) -> list[rules.Question]:
    """The questions of a set; one that no answer could be scored against is refused."""
    questions = sound_questions(source)
    problems = []
    for one in questions:
        if found := problem_of(one.gold, definition):
            code, field, message = found
            problems.append(Problem(code, message, source.at(one.line), field))
    if problems:
        raise DataError(problems[:MOST_PROBLEMS], len(problems))
    return questions


def subset(path: Path, out: Path, *, size: int, seed: int, definition: Path | None) -> Written:
    """Draw a subset of a question file, evenly over the strata of its definition, and write it."""
    fields = definition_of(definition)
    source = open_questions("gold", path)
    questions = scorable(source, fields)
    candidates = [Candidate(one.qid, one.text, _labels(one, fields), place) for place, one in enumerate(questions)]
    if out.exists():
        _check_subset(out)
    drawn = draw(candidates, size, seed)
    lines = [line for _, line in source.numbered() if line.strip()]
    sha256 = source.sha256()
    if isinstance(source, FileSource):
        source.check_unchanged()
    parent = {"file": path.name, "sha256": sha256, "items": len(questions), "distinct": drawn.distinct}
    rows = [msgspec.json.format(lines[place], indent=0) for place in drawn.places]
    made = document(rows, seed=seed, size=size, strata=fields.strata, parent=parent)
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
