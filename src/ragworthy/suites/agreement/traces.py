"""Votes that come from no file: the validators that come with the program vote on traces, question by question."""

from typing import NamedTuple

from ragworthy.errors import DataError, Problem, data_error
from ragworthy.index.blocks import Corpus
from ragworthy.load.decode import Item, read_items
from ragworthy.load.gold import name_of, problems_of
from ragworthy.load.sources import Source
from ragworthy.metrics.facts import answers as f
from ragworthy.records import Gold, Trace
from ragworthy.suites.agreement import Agreement
from ragworthy.suites.agreement.validators import validators
from ragworthy.suites.agreement.votes import Asked, Damage, Votes, damaged
from ragworthy.suites.slices import slices_of


class Traced(NamedTuple):
    """Gold questions with the last trace of each."""

    items: list[Item]
    """The gold questions, with all their fields."""
    traces: dict[str, Trace]
    records: int
    replaced: int
    orphans: list[str]
    """Traces that belong to no question."""


def read_traced(gold: Source, traces: Source, rules: f.Rules, *, allow_gold_errors: bool) -> Traced:
    """Gold and traces; raises what is wrong with them, gold first."""
    items, problems = read_items(gold, Gold)
    problems += problems_of(items, gold.given, rules, allow_errors=allow_gold_errors)
    given, wrong = read_items(traces, Trace)
    nameless = [item.line for item in given if not name_of(item.record)]
    missing = "expected a non-empty string, got nothing"
    problems += [*wrong, *(Problem("RW-T01", missing, f"{traces.given}:{line}", "qid") for line in nameless)]
    if problems:
        raise DataError(problems)
    if not items:
        raise data_error("RW-G05", "expected gold records, got none", where=gold.given)
    last = {name_of(item.record): item.record for item in given}
    there = {name_of(item.record) for item in items}
    orphans = [qid for qid in last if qid not in there]
    return Traced(items, last, len(given), len(given) - len(last), orphans)


def rules_of(settings: Agreement, corpus: Corpus | None) -> f.Rules:
    """How the validators look at an answer; the texts of a corpus let the auditor look citations up."""
    return f.Rules(
        refusals=settings.refusals,
        short_words=settings.short_substr == "word",
        scu=settings.scu,
        chunks=corpus.texts if corpus is not None else None,
    )


def vote(traced: Traced, rules: f.Rules, fields: tuple[str, ...], damage: Damage) -> Votes:
    """What both validators say of every question, in gold order."""
    both = validators(rules)
    golds: dict[str, Gold] = {name_of(item.record): item.record for item in traced.items}
    errored = {qid for qid, trace in traced.traces.items() if f.is_error(trace)}
    asked = Asked(
        questions=golds,
        slices={name_of(item.record): slices_of(item.value, fields) for item in traced.items},
        missing=[qid for qid in golds if qid not in traced.traces],
        errored=sorted(errored & golds.keys()),
        orphans=traced.orphans,
        unchecked=0 if rules.scu else sum(bool(one.constraints) for one in golds.values()),
    )
    return Votes(
        records={"gold": len(golds), "trace": traced.records},
        pairs=damaged([both.vote(one, traced.traces.get(qid)) for qid, one in golds.items()], damage),
        replaced=traced.replaced,
        asked=asked,
    )
