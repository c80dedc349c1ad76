"""Gold questions of the answers suite, read and checked alike by every suite that takes them."""

from collections.abc import Sequence

from ragworthy.errors import DataError, Problem, data_error
from ragworthy.load.decode import Item, read_items
from ragworthy.load.sources import Source
from ragworthy.metrics.facts import answers as f
from ragworthy.records import Gold, Trace


def name_of(record: Gold | Trace) -> str:
    """The id, under whichever key it was written."""
    return record.qid or record.q_id or ""


def problems_of(items: Sequence[Item], given: str, rules: f.Rules, *, allow_errors: bool = False) -> list[Problem]:
    """What is wrong with gold questions: ids, and what no answer could satisfy unless that is allowed."""
    flags_of = f.gold_flags(rules)
    seen: set[str] = set()
    problems: list[Problem] = []
    for item in items:
        where, qid = f"{given}:{item.line}", name_of(item.record)
        if not qid:
            problems.append(Problem("RW-G01", "expected a non-empty string, got nothing", where, "qid"))
        elif qid in seen:
            problems.append(Problem("RW-G02", f'expected a unique id, got "{qid}" again', where, "qid"))
        seen.add(qid)
        flags = 0 if allow_errors else flags_of(item.record)
        problems += [Problem(code, text, where, field) for mark, (code, field, text) in f.LINT.items() if flags & mark]
    return problems


def read_gold(source: Source, rules: f.Rules, *, allow_errors: bool) -> list[Item]:
    """Every gold question in the order of the file; raises what is wrong with them."""
    items, problems = read_items(source, Gold)
    problems += problems_of(items, source.given, rules, allow_errors=allow_errors)
    if problems:
        raise DataError(problems)
    if not items:
        raise data_error("RW-G05", "expected gold records, got none", where=source.given)
    return items
