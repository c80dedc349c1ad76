"""The lint of any suite, and its findings as people read them."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from ragworthy.codes import CATALOGUE
from ragworthy.errors import usage_error
from ragworthy.gold import commands
from ragworthy.gold import lint as rules
from ragworthy.report.show import plural

EXAMPLES = 3
LEVELS = ("error", "warning", "note")


def linted(
    path: Path,
    suite: str | None = None,
    *,
    corpus: Path | None = None,
    definition: Path | None = None,
    short_words: bool = False,
) -> commands.Linted:
    """What the lint of the right suite finds; a definition says that answers are structured."""
    suite = suite or ("structured" if definition else commands.suite_of(commands.open_gold(path)))
    if suite == "retrieval":
        from ragworthy.gold import retrieval

        return retrieval.lint(path, corpus)
    if corpus and suite == "structured":
        raise usage_error("--corpus: a set of structured answers is not compared with a corpus")
    if suite == "structured":
        from ragworthy.gold import structured

        return structured.lint(path, definition)
    return commands.lint(path, short_words=short_words, corpus=corpus)


def lines(linted: commands.Linted) -> list[str]:
    """One block for each code, errors first: three examples, how often it is, what to do; then the counts."""
    told = [line for block in _blocks(linted.findings) for line in (*block, "")]
    if linted.rescued:
        told.append(f'short_substr = "word" would make {plural(linted.rescued, "item")} scorable')
    if linted.distinct is not None:
        texts = plural(linted.distinct.questions, "distinct question text")
        told.append(f"{texts}, {plural(linted.distinct.expected, 'distinct expected object')}")
    warnings = sum(finding.level == "warning" for finding in linted.findings)
    notes = len(linted.findings) - warnings - linted.errors
    summary = f"{plural(linted.errors, 'error')}, {plural(warnings, 'warning')}, {plural(notes, 'note')}"
    return [*told, f"lint: {plural(linted.items, 'item')}, {summary} (exit {int(bool(linted.errors))})"]


def _blocks(findings: Sequence[rules.Finding]) -> Iterator[list[str]]:
    """What is said of each code."""
    groups: dict[tuple[int, str], list[rules.Finding]] = {}
    for one in findings:
        groups.setdefault((LEVELS.index(one.level), one.problem.code), []).append(one)
    for (level, code), found in sorted(groups.items()):
        more = len(found) - EXAMPLES
        yield [
            *(f"{LEVELS[level]}: {one.problem}" for one in found[:EXAMPLES]),
            *([f"… and {more:,} more of {code} (--format json lists all)"] if more > 0 else []),
            f"{code} {CATALOGUE[code].name}: {plural(len(found), 'time')}. {CATALOGUE[code].do}",
        ]
