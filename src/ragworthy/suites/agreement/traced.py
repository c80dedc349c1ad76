"""Votes that the validators that come with the program give on traces. Traces are read in parts: each part gives the
votes on its last trace of each question.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from ragworthy.errors import DataError, Problem, data_error
from ragworthy.index.blocks import Corpus
from ragworthy.load.decode import Item, each_item, read_items
from ragworthy.load.gold import Bind, name_of, problems_of, resolved
from ragworthy.load.sources import Source
from ragworthy.metrics.facts import answers as f
from ragworthy.metrics.facts.constraints import unruled
from ragworthy.records import Gold, Pair, Trace
from ragworthy.suites.agreement import Agreement
from ragworthy.suites.agreement.read import Asked, Damage, Votes, damaged
from ragworthy.suites.agreement.validators import validators
from ragworthy.suites.locked import Locks
from ragworthy.suites.parts import Pass, of_lines
from ragworthy.suites.reading import nameless
from ragworthy.suites.refusing import by_rule_of
from ragworthy.suites.slices import slices_of


class Golds(NamedTuple):
    """The gold questions, with all their fields and their evidence bound, and what is wrong with them."""

    items: list[Item]
    problems: list[Problem]

    @property
    def by_id(self) -> dict[str, Gold]:
        """Every question by its id, in gold order."""
        return {name_of(item.record): item.record for item in self.items}


class Part(NamedTuple):
    """What one part of the traces gives."""

    votes: dict[str, Pair]
    """The votes on the last trace of each question."""
    errored: set[str]
    """The questions whose last trace is an error, or holds no answer."""
    orphans: dict[str, None]
    """The ids of traces that belong to no question, in their order."""
    records: int
    answers: bool
    """Whether any trace has an answer."""
    problems: list[Problem]


def read_golds(source: Source, rules: f.Rules, *, allow_errors: bool, bind: Bind | None = None) -> Golds:
    """The gold set; what is wrong with it is told before what is wrong with traces."""
    items, problems = read_items(source, Gold)
    problems += problems_of(items, source.at, rules, allow_errors=allow_errors)
    if problems:
        return Golds(items, problems)
    return Golds([item._replace(record=resolved(item.record, bind)) for item in items], [])


def pass_of(source: Source, golds: Golds, rules: f.Rules) -> Pass:
    """The reading of the traces."""
    one = of_lines(source, partial(_part, source, golds, rules), Part, partial(_stop, golds))
    return one._replace(sound=lambda part: not (golds.problems or part.problems))


def _stop(golds: Golds, part: Part) -> None:
    if golds.problems or part.problems:
        raise DataError([*golds.problems, *part.problems])


def _part(source: Source, golds: Golds, rules: f.Rules, part: int, parts: int) -> Part:
    questions = {} if golds.problems else golds.by_id
    votes, errored, orphans = dict[str, Pair](), set[str](), dict[str, None]()
    problems, unnamed = list[Problem](), list[Problem]()
    both, records, answers = validators(rules), 0, False
    for item in each_item(source.numbered(part, parts), source.at, Trace, problems):
        trace: Trace = item.record
        records, answers = records + 1, answers or trace.answer_json is not None
        qid = name_of(trace)
        if not qid:
            unnamed.append(nameless(source.at(item.line)))
        elif qid not in questions:
            orphans[qid] = None
        else:
            votes[qid] = both.vote(questions[qid], trace)
            (errored.add if f.is_error(trace) else errored.discard)(qid)
    if problems and parts == 1:
        from ragworthy.load.foreign import check_gold

        check_gold(source, Trace.__name__, some=bool(records))
    return Part(votes, errored, orphans, records, answers, [*problems, *unnamed])


def rules_of(settings: Agreement, locks: Locks, corpus: Corpus | None) -> f.Rules:
    """How the validators look at an answer; the texts of a corpus let the auditor look citations up."""
    return f.Rules(
        refusals=settings.refusals,
        short_words=settings.short_substr == "word",
        scu=locks.scu,
        contradictions=locks.contradictions,
        by_rule=by_rule_of(settings),
        chunks=corpus.texts if corpus is not None else None,
    )


def vote(
    golds: Golds,
    sources: tuple[Source, Source],
    parts: Sequence[Part],
    rules: f.Rules,
    fields: tuple[str, ...],
    damage: Damage,
) -> Votes:
    """What both validators say of every question, in gold order; raises what is wrong with the files."""
    gold, traces = sources
    _stop(golds, parts[0]._replace(problems=[problem for part in parts for problem in part.problems]))
    if not golds.items:
        raise data_error("RW-G05", "expected gold records, got none", where=gold.given)
    if not any(part.answers for part in parts):
        from ragworthy.load.bare import stop_if_bare

        stop_if_bare(traces, "Trace", ("answer_json",), "RW-T14")
    questions, both = golds.by_id, validators(rules)
    votes: dict[str, Pair] = {}
    errored: set[str] = set()
    orphans: dict[str, None] = {}
    for part in parts:  # the last trace of a question counts
        votes |= part.votes
        errored = errored - part.votes.keys() | part.errored
        orphans |= part.orphans
    records = sum(part.records for part in parts)
    replaced = records - len(votes) - len(orphans)
    asked = Asked(
        questions=questions,
        slices={name_of(item.record): slices_of(item.value, fields) for item in golds.items},
        missing=[qid for qid in questions if qid not in votes],
        errored=sorted(errored),
        orphans=list(orphans),
        unchecked=0 if rules.scu else sum(bool(one.constraints) for one in questions.values()),
        unruled=_unruled(questions, rules),
    )
    pairs = [votes[qid] if qid in votes else both.vote(one, None) for qid, one in questions.items()]
    return Votes(
        records={"gold": len(questions), "trace": records},
        pairs=damaged(pairs, damage),
        replaced=replaced,
        asked=asked,
    )


def _unruled(questions: Mapping[str, Gold], rules: f.Rules) -> int:
    """How many questions have constraints that are checked and that no rule knows."""
    return sum(unruled(one.constraints or (), rules.contradictions) for one in questions.values()) if rules.scu else 0
