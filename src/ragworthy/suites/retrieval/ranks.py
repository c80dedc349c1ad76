"""Rank metrics straight from TREC files, by the conventions of trec_eval: the same suite over ids and ranks alone.

These conventions are facts here, not formulas, so that no metric has a second definition: every judged query is
answerable, and one without relevant documents has one that nobody can find. Only the column of precision divides by k
however few were returned, as if every list of results went on with documents that are not relevant.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import repeat
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ragworthy import gates as g
from ragworthy.metrics.fold import as_number, of_nothing, value_of, value_of_all
from ragworthy.metrics.registry import MetricName, Word
from ragworthy.names import Cause, Label, Stage
from ragworthy.policy.declare import Input
from ragworthy.report.part import Frozen, Note, noted
from ragworthy.report.sheet import Viewed
from ragworthy.report.show import plural
from ragworthy.rows import MOST, Rows
from ragworthy.stats import wilson_mean
from ragworthy.suites.evidence import Bound, Case, Evidence, Extra, Fate, Found, Ledger, Row, Summary
from ragworthy.suites.kept import too_many
from ragworthy.suites.opened import Opened
from ragworthy.suites.protocol import Suite
from ragworthy.suites.request import Progress, Request
from ragworthy.suites.retrieval import DECLARED, LIVE_RUN, TREC
from ragworthy.suites.retrieval.rank_facts import BeyondRanksError, RankFacts, asked_of, facts_of, question_of, word_of
from ragworthy.suites.retrieval.rules import reported
from ragworthy.suites.retrieval.two_runs import Pair
from ragworthy.suites.rowing import WHOLE
from ragworthy.trec.ranking import Floats, Ranked, Run, score
from ragworthy.trec.read import read_qrels, read_run

ONLY_RANKS = "TREC files hold ids and ranks only"
NO_GATE = ("scored, and nothing was judged", "add --gates recall@5=0.80, or --live-run OLD to compare with")
CASES = "judged queries"


class Queries:
    """What every metric says of every judged query.

    The usual ones are read off columns, which takes a hundredth of the time; all others are worked out query by query
    by the one function that defines them.
    """

    def __init__(self, ranked: Ranked, names: Sequence[MetricName]) -> None:
        self.ranked = ranked
        self.quick = {f"retrieval.{name}": column for name, column in ranked.values().items()}
        self.quick["retrieval.missing"] = np.zeros(len(ranked.qids))  # a judged query without results counts 0
        self.others = {name.id: words for name in names if (words := self._words(name)) is not None}
        """The words of metrics that have no column, as far as ids and ranks are enough for them."""
        self.wholes = {name.id: value for name in names if (value := self._whole(name)) is not None}
        """The values of metrics of all queries at once, as far as ids and ranks are enough for them."""

    def __len__(self) -> int:
        return len(self.ranked.qids)

    @cached_property
    def _first(self) -> RankFacts:
        return next(facts_of(self.ranked))

    @cached_property
    def _facts(self) -> list[RankFacts]:
        return list(facts_of(self.ranked))

    def _words(self, name: MetricName) -> list[Word] | None:
        if name.id in self.quick or name.metric.needs or name.metric.over == "all":
            return None
        try:
            word_of(name, self._first)  # most that need more say so at once
            words = [word_of(name, facts) for facts in self._facts]
        except BeyondRanksError:
            return None
        return words if any(word is not None for word in words) else None

    def _whole(self, name: MetricName) -> g.Value | None:
        if name.metric.over != "all" or name.metric.needs:
            return None
        try:
            found = asked_of(name, list(map(question_of, self._facts)))
        except BeyondRanksError:
            return None
        return value_of_all(name.metric, found, len(self))

    def word(self, name: str, nth: int) -> Word:
        """What a metric says of one query."""
        if name in self.quick:
            return float(self.quick[name][nth])
        return self.others[name][nth] if name in self.others else None

    def value(self, name: MetricName) -> g.Value:
        """What a metric says of all queries."""
        metric = name.metric
        base = g.Value(0, 0, better=metric.better, cases=CASES, event=metric.event)
        if name.id in self.wholes:
            return self.wholes[name.id]
        if name.id in self.others:
            return value_of(metric, self.others[name.id])._replace(cases=CASES)
        if metric.id == "retrieval.missing":
            return base._replace(num=0, den=None)
        if name.id not in self.quick:
            return base._replace(undefined=ONLY_RANKS)
        exact = Fraction(self._means[name.id.partition(".")[2]] or 0)
        interval = wilson_mean(exact, len(self))
        return base._replace(num=exact.numerator, den=exact.denominator, n=len(self), counts=False, interval=interval)

    @cached_property
    def _means(self) -> dict[str, Fraction | float | None]:
        return self.ranked.means()


class Some(NamedTuple):
    """Queries that the same metrics have a word for; the first stands for all."""

    queries: Queries
    first: int


class Read(NamedTuple):
    """What only this form of the suite knows."""

    queries: Queries
    extra: int
    """How many lines of the run had text after the tag."""
    run: Run
    older: Run | None = None
    """The run in use, where it is given."""
    live: Queries | None = None

    def columns(self, name: str) -> tuple[Floats, Floats] | None:
        """What a metric says of every query, under the run in use and under the other."""
        if self.live is None or name not in self.queries.quick:
            return None
        return self.live.quick[name], self.queries.quick[name]


class Ranks(Suite):
    """Judgements and a run: every judged query counts, with 0 where the run has no results for it."""

    declared = DECLARED
    rows_are_questions = False  # they are judged queries

    def inputs(self, request: Request) -> tuple[Input, ...]:
        """Judgements and a run, or two."""
        return tuple(one for one in self.declared.inputs if one.key in (*TREC, LIVE_RUN))

    def names(self, request: Request, evidence: Evidence) -> list[MetricName]:
        """What takes more than ids and ranks is not there; most metrics that do are listed as not measured."""
        return reported(super().names(request, evidence), request.gates, {})

    def read(self, opened: Opened, request: Request, progress: Progress | None) -> Evidence:
        """Judgements and results as columns, and a tally of the queries."""
        qrels = read_qrels(opened.enter_file("gold", Path(request.get("qrels"))))
        run = read_run(opened.enter_file("trace", Path(request.get("run"))))
        ks = self.depths(request)
        ranked = score(qrels, run, ks)
        live = request.get(LIVE_RUN)
        older = read_run(opened.enter_file(LIVE_RUN, Path(live))) if live is not None else None
        more = {LIVE_RUN: len(older.query)} if older is not None else {}
        evidence = Evidence(
            cases=(),
            records={"gold": len(qrels.query), "trace": len(run.query), **more},
            counts=_counts(ranked),
            settings={"k": list(ks), "conventions": "trec_eval", "slices": []},
            gold_sha256=opened.listed["gold"].sha256(),
        )
        names = self.names(request, evidence)
        queries = Queries(ranked, names)
        old = Queries(score(qrels, older, ks), names) if older is not None else None
        return evidence._replace(cases=_tally(queries), own=Read(queries, run.extra, run, older, old))

    def told(self, request: Request, evidence: Evidence) -> Evidence:
        """Of the settings only k means something for ids and ranks."""
        return evidence

    def word(self, name: MetricName, facts: Some) -> Word:
        """What a metric says of the first of some queries."""
        return facts.queries.word(name.id, facts.first)

    def value(self, name: MetricName, cases: Sequence[Case], words: Sequence[Word]) -> g.Value:
        """The mean over all judged queries."""
        queries: Queries = cases[0].facts.queries
        return queries.value(name)

    def whole(self, name: MetricName, cases: Sequence[Case]) -> g.Value:
        """All judged queries at once."""
        return self.value(name, cases, ())

    def adjust(self, request: Request, evidence: Evidence, summary: Summary) -> Summary:
        """The same numbers of the run in use, where it is given."""
        read: Read = evidence.own
        if read.live is None or read.older is None:
            return summary
        values: dict[tuple[str | None, str], g.Value] = {
            (None, name.id): read.live.value(name) for name in summary.names
        }
        rows, older = queries_of(read.live), Summary(summary.names, values, {})
        older = older._replace(rowless=rows) if isinstance(rows, str) else older._replace(rows=rows)
        return summary._replace(own=Pair(read.older, read.run, older, read.columns))

    def bind(self, request: Request, evidence: Evidence, summary: Summary, baseline: g.Baseline | None) -> Bound:
        """Where there is a run in use, that is the baseline."""
        pair: Pair | None = summary.own
        return super().bind(request, evidence, summary, baseline if pair is None else pair.baseline)

    def ledger(self, name: MetricName, found: Found) -> Ledger:
        """Where every query went; nowhere, for metrics that need more than ids and ranks."""
        queries: Queries = found.own.queries
        if name.metric.over == "all" and name.id not in queries.wholes:
            return Ledger.of(Counter({Fate.NOT_APPLICABLE: len(queries)}))
        return super().ledger(name, found)

    def frozen(self, opened: Opened, evidence: Evidence) -> Frozen:
        """Judgements have no lock."""
        return Frozen("unlocked", "TREC judgements have no lock")

    def case_of(self, evidence: Evidence, qid: str) -> Case | None:
        """A judged query by its id."""
        queries: Queries = evidence.own.queries
        if qid not in queries.ranked.qids:
            return None
        return Case(qid, Some(queries, queries.ranked.qids.index(qid)), Fate.SCORED, None)

    def known(self, found: Found) -> Sequence[str]:
        """The id of every judged query."""
        queries: Queries = found.own.queries
        return queries.ranked.qids

    def items(self, found: Found, names: Sequence[str]) -> list[Viewed]:
        """Queries with what the run returned for them."""
        from ragworthy.suites.retrieval.ranked_item import look

        wanted = set(names)
        rows = {row.qid: row for row in self.rows(found) if row.qid in wanted}
        return [look(rows[name], found) for name in names]

    def rows(self, found: Found) -> Iterator[Row]:
        """Every judged query's row, in natural order."""
        queries: Queries = found.own.queries
        columns = {name: column.tolist() for name, column in queries.quick.items()}
        others = [name for name in found.summary.names if name.id in queries.others]
        never = {name.id: ONLY_RANKS for name in found.summary.names if name.id not in columns}
        never = {name: why for name, why in never.items() if name not in queries.others}
        never |= dict.fromkeys(queries.wholes, WHOLE)
        ranked, relevant, first = queries.ranked, queries.ranked.relevant.tolist(), queries.ranked.first.tolist()
        for nth, qid in enumerate(ranked.qids):
            metrics = {name: column[nth] for name, column in columns.items()}
            undefined = dict(never)
            for name in others:
                word = queries.word(name.id, nth)
                if word is None or of_nothing(word):
                    undefined[name.id] = f"not among the {name.metric.cases}"
                else:
                    metrics[name.id] = float(as_number(word))
            hit = first[nth] > 0
            yield Row(
                qid=qid,
                label=(Label.OK if hit else Label.NOT_RETRIEVED).value,
                stage=None if hit else Stage.RETRIEVAL.value,
                cause=None if hit else Cause.NOT_RETRIEVED.value,
                metrics=metrics,
                undefined=undefined,
                facts={"answerable": relevant[nth] > 0, "answered": False, "missing": False, "hit": hit},
                own={},
            )

    def kept_rows(self, request: Request, evidence: Evidence, summary: Summary) -> Rows | str:
        """Every judged query for itself: judgements do not say which of them are about the same document."""
        return queries_of(evidence.own.queries)

    def extra(self, found: Found) -> Extra:
        """What is odd about the run, how it differs from the one in use, and that nothing was judged without a gate."""
        read: Read = found.own
        pair: Pair | None = found.summary.own
        compared = pair.as_json(read.queries.ranked.qids, found.summary.names, found.summary) if pair else None
        return Extra(
            body={"warnings": {"live": compared}} if compared else {},
            warnings=noted(_notes(read)),
            steps=() if found.judged else (NO_GATE,),
            kept={"per_query": _hash(read.queries)},
        )


RANKS = Ranks()


def queries_of(queries: Queries) -> Rows | str:
    """What every metric says of every judged query, as a report keeps it; of the run in use too."""
    ranked = queries.ranked
    if len(queries) > MOST:
        return too_many(len(queries))
    hits = [first > 0 for first in ranked.first.tolist()]
    qids = tuple(ranked.qids)
    return Rows(
        qids=qids,
        clusters=qids,
        labels=tuple((Label.OK if hit else Label.NOT_RETRIEVED).value for hit in hits),
        causes=(None,) * len(qids),
        runs=(1,) * len(qids),
        slices=((),) * len(qids),
        words={name: tuple(column.tolist()) for name, column in queries.quick.items()}
        | {name: tuple(words) for name, words in queries.others.items()},
    )


def _tally(queries: Queries) -> list[Case]:
    """Queries that the same metrics have something to say of, counted together."""
    lacking = zip(*([word is None for word in words] for words in queries.others.values()), strict=True)
    alike: Counter[tuple[bool, ...]] = Counter()
    first: dict[tuple[bool, ...], int] = {}
    for nth, pattern in enumerate(lacking if queries.others else repeat((), len(queries))):
        alike[pattern] += 1
        first.setdefault(pattern, nth)
    return [
        Case("", Some(queries, first[pattern]), Fate.SCORED, None, weight=count) for pattern, count in alike.items()
    ]


def _counts(ranked: Ranked) -> dict[str, int]:
    cases = len(ranked.qids)
    return {
        "gold": cases,
        "runs": cases,
        "answered": 0,
        "missing": 0,
        "empty": int((ranked.returned == 0).sum()),
        "errored": 0,
        "answerable": int((ranked.relevant > 0).sum()),
        "unanswerable": int((ranked.relevant == 0).sum()),
        "duplicate_traces": 0,
        "orphan_traces": len(ranked.unjudged),
    }


def _notes(read: Read) -> list[Note]:
    ranked, extra = read.queries.ranked, read.extra
    unjudged, some = len(ranked.unjudged), ", ".join(ranked.unjudged[:3])
    empty = [qid for qid, count in zip(ranked.qids, ranked.returned.tolist(), strict=True) if not count]
    first = next(iter(empty), "")
    return [
        Note("RW-W32", unjudged,
             f"{plural(unjudged, 'query of the run has', 'queries of the run have')} no judgements, e.g. {some}",
             ranked.unjudged),
        Note("RW-W05", len(empty),
             f"{plural(len(empty), 'judged query has', 'judged queries have')} no results and count 0, e.g. {first}",
             empty),
        Note("RW-W04", extra, f"{plural(extra, 'line has', 'lines have')} text after the tag"),
    ]  # fmt: skip


def _hash(queries: Queries) -> str:
    """The hash of everything that was counted."""
    ranked, digest = queries.ranked, hashlib.sha256()
    digest.update("\n".join(ranked.qids).encode())
    for k in ranked.ks:
        digest.update(ranked.found[k].astype("<i8").tobytes())
    for column in (ranked.relevant, ranked.first, ranked.returned):
        digest.update(column.astype("<i8").tobytes())
    for name, words in queries.others.items():
        digest.update(f"\n{name} {list(map(str, words))}".encode())
    for name, value in queries.wholes.items():
        digest.update(f"\n{name} {value.exact}".encode())
    return digest.hexdigest()
