"""The retrieval suite: every gold question with all its runs is one case, alone and against the index in use."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ragworthy import gates as g
from ragworthy.comparison.likeness import kept, told_of
from ragworthy.metrics.causes import depth_of
from ragworthy.metrics.facts.convergence import MARKS, Arm, Question
from ragworthy.metrics.facts.distance import BLOCK
from ragworthy.metrics.facts.runs import Facts
from ragworthy.metrics.registry import MetricName, Word
from ragworthy.names import Label
from ragworthy.proving import Tested
from ragworthy.report.part import Column, Table
from ragworthy.report.sheet import Viewed
from ragworthy.suites.clusters import Topic, clusters_of
from ragworthy.suites.comparing import tested_alone
from ragworthy.suites.crowds import Home, home_at
from ragworthy.suites.damage import Damage
from ragworthy.suites.describe import broken
from ragworthy.suites.evidence import Bound, Case, Evidence, Extra, Fate, Found, Ledger, Offender, Row, Summary
from ragworthy.suites.examine import Seen
from ragworthy.suites.in_parts import InParts
from ragworthy.suites.kept import counted, rows_of
from ragworthy.suites.made import Beside, provenance, said_by
from ragworthy.suites.opened import Opened
from ragworthy.suites.parts import Reading
from ragworthy.suites.protocol import Suite
from ragworthy.suites.request import Request
from ragworthy.suites.retrieval import DECLARED, TREC, advice, alike, compared, contract, distances, shadow
from ragworthy.suites.retrieval.alike import is_answered
from ragworthy.suites.retrieval.arms import Arms, Side, invalid, open_sides, read_arms, read_elsewhere, why_moot
from ragworthy.suites.retrieval.asked import asked_of
from ragworthy.suites.retrieval.cases import case_of, counts_of, established, incomplete, offender_of
from ragworthy.suites.retrieval.cuts import moot, moot_live
from ragworthy.suites.retrieval.equal_runs import EqualRuns, knows
from ragworthy.suites.retrieval.numbers import BYTES, completed, types_of
from ragworthy.suites.retrieval.passes import pass_of
from ragworthy.suites.retrieval.probes import has_distances
from ragworthy.suites.retrieval.reranked import lists_of
from ragworthy.suites.retrieval.rules import ALWAYS, reported
from ragworthy.suites.retrieval.shadow import Live
from ragworthy.suites.retrieval.steps import next_steps
from ragworthy.suites.summarise import values_of
from ragworthy.text import visible

BY_TYPE = "type"
"""The field that this suite splits by itself: the type of the first relevant block."""


class Retrieval(InParts):
    """What an index finds, ranks and lets answers cite."""

    declared = DECLARED
    facts = ("answerable", "answered", "missing", "covered", "accurate", "hit")
    columns = (Column("runs", "int"), Column("lambda", "text"))
    labels = tuple(Label)
    always = ALWAYS

    def variant(self, request: Request) -> Suite:
        """TREC files hold ids and ranks alone, and are read by other rules."""
        if all(request.get(key) is None for key in TREC):
            return self
        from ragworthy.suites.retrieval.ranks import RANKS  # needs NumPy

        return RANKS

    def reading(self, opened: Opened, request: Request) -> Reading:
        """Every gold question with its runs; those of the index in use beside them."""
        ks = self.depths(request)
        sides = open_sides(opened, request, ks)
        asked = asked_of(opened, request, sides, self.slice_fields(request))
        parts = yield [pass_of(one, opened[role], opened.sources) for role, one in asked.items()]
        arms = read_arms(opened, request, sides, asked, parts)
        arm, counts = arms.arm, counts_of(arms.arm)
        live = {"live": arms.live.arm.traces} if arms.live is not None else {}
        corpora = {role: len(corpus.places) for role, corpus in sides.corpora.items()}
        settings = request.settings
        return Evidence(
            cases=_cases(arm, sides.shadow, ks),
            records={"gold": len(arm.asked), "trace": arm.traces, **live, **corpora},
            counts=counts,
            settings={
                "k": list(ks),
                "delta_s": arms.source.as_setting,
                "anchor_scope": settings.anchor_scope,
                "refusals": list(settings.refusals),
                "slices": list(settings.slices),
                "redirects": len(request.get("redirects") or ()),
                "corpus": sides.shadow.corpus is not None,
            },
            own=arms,
            errored=((arm.errored, arm.runs, "runs"),),
            missing=(counts["missing"], "trace"),
            invalid=(*invalid(opened, arms), *arms.fit.invalid, *_offsets_apart(arm, request)),
            gold_sha256=opened["gold"].sha256(),
            provenance={} if arms.live is None else {"live": _made_live(opened, request)},
        )

    # the doctor and the selftest

    def examined(self, request: Request, seen: Seen) -> list[str]:
        """What these files cannot show is a warning here."""
        lines = [f"retrieval: {self.counts_line(seen.body['counts'])}", "", "What these files cannot show"]
        missing = [warning["message"] for warning in seen.body["warnings"] if warning["code"] in ("RW-W26", "RW-W15")]
        lines += [f"  {visible(message)}" for message in missing] or ["  nothing: every metric is measured"]
        return [*lines, "", "What the gates can show", *seen.power]

    def damages(self, request: Request) -> tuple[Damage, ...]:
        """What a selftest does to traces."""
        from ragworthy.suites.retrieval.damage import damages

        return damages()

    # summarise

    def names(self, request: Request, evidence: Evidence) -> list[MetricName]:
        """What takes more than most traces have is reported where they have it, or where it is gated."""
        arms: Arms = evidence.own
        there = {
            "live": arms.live is not None,
            "before": bool(lists_of(arms.arm)),
            "probes": has_distances(arms.arm),
            **contract.there(arms.arm),
            "orders": any(len(one.runs) > 1 for one in arms.arm.asked),
        }
        return reported(super().names(request, evidence), request.gates, there)

    def runs(self, facts: Question) -> Iterable[Facts]:
        """The runs of a question; where there is none, the facts of a missing run."""
        return facts.facts

    def words(self, names: Iterable[MetricName], cases: Sequence[Case]) -> dict[str, list[Word]]:
        """What every metric says of every case; of equal runs once."""
        given = list(names)
        equal = EqualRuns([case.facts for case in cases])
        usual = super().words([name for name in given if not knows(name)], cases)
        return {
            name.id: equal.words(name) if knows(name) else usual[name.id] for name in given if name.metric.over != "all"
        }

    def slice_fields(self, request: Request) -> tuple[str, ...]:
        """The gold fields that cases are split by; the type of a block is none of them."""
        return tuple(field for field in super().slice_fields(request) if field != BY_TYPE)

    def own_slices(self, evidence: Evidence) -> tuple[str, ...]:
        """The type of a block."""
        return (BY_TYPE,)

    def groups(self, cases: Sequence[Case]) -> dict[str | None, list[int]]:
        """The members of every slice; every type of block is one, even without members."""
        found = super().groups(cases)
        return {f"{BY_TYPE}={kind}": [] for kind in types_of(cases)} | found

    def topics(self, evidence: Evidence, cases: Sequence[Case]) -> Iterable[Topic]:
        """The document of the first relevant block; all wordings of a question are one question."""
        for case in cases:
            wanted = case.own.wanted
            yield Topic(wanted.question or next(iter(wanted.wordings), None), wanted.cluster, wanted.document)

    def times_run(self, case: Case) -> int:
        """Every wording under every seed."""
        return len(case.facts.runs)

    def adjust(self, request: Request, evidence: Evidence, summary: Summary) -> Summary:
        """Count blocks one by one, put reasons where nothing can be measured, and do the same for the index in use."""
        arms: Arms = evidence.own
        corpus = arms.sides.shadow.corpus
        beside = shadow.UNSEEN if arms.live is None else None
        judged = completed(summary, evidence.cases, arms.shadow, known_corpus=corpus is not None, beside=beside)
        if arms.live is None:
            return judged
        cases = _cases(arms.live.arm, arms.sides.live, self.depths(request))
        words = self.words(summary.names, cases)
        values = values_of(self, summary.names, cases, words, self.groups(cases))
        live_corpus = arms.sides.live.corpus
        live = completed(
            Summary(summary.names, values, words),
            cases,
            arms.live,
            known_corpus=live_corpus is not None,
            beside="it is the index in use",
        )
        clusters = clusters_of([case.qid for case in cases], self.topics(evidence, cases)).by(request.cluster)
        rows = rows_of(cases, counted(live), clusters, runs=list(map(self.times_run, cases)))
        live = live._replace(rowless=rows) if isinstance(rows, str) else live._replace(rows=rows)
        made = told_of({"provenance": evidence.provenance["live"]}), told_of({"provenance": evidence.provenance})
        apart = shadow.made_unlike(arms.live.arm, arms.arm, made)
        refused = kept(apart, request.allowed)
        allowed = [one.text for one in apart if one not in refused]
        unlike = shadow.why_unlike(
            arms.live.arm,
            arms.arm,
            recorded=arms.source.mode == "recorded",
            same_file=arms.same_file,
            varied=any(one.what in shadow.VARIED for one in apart if one not in refused),
        )
        unlike += [*read_elsewhere(arms), *(one.text for one in refused)]
        not_two = shadow.not_two(arms.live.arm, arms.arm)
        return judged._replace(own=Live(arms.live.arm, live, unlike, allowed, refused, not_two))

    # judge

    def bind(self, request: Request, evidence: Evidence, summary: Summary, baseline: g.Baseline | None) -> Bound:
        """Where there is an index in use, that is the baseline."""
        live: Live | None = summary.own
        return super().bind(request, evidence, summary, baseline if live is None else live.baseline)

    def settle(self, judged: list[g.Judged], bound: Bound, evidence: Evidence) -> list[g.Judged]:
        """A limit on distances is not judged where it means nothing for the model, nor one on λ that one seed cannot
        show; and no gate is where the gold ids mean nothing to both indexes.
        """
        nothing = why_moot(evidence.own)
        return moot(judged, nothing) if nothing is not None else shadow.meant(judged, evidence.own.shadow)

    # describe

    def fate(self, name: MetricName, case: Case, word: Word, value: g.Value) -> Fate:
        """Scored where question and metric have a value; unanswered is refused, for metrics of answered questions."""
        if case.fate in (Fate.MISSING, Fate.ERRORED):
            return case.fate
        if word is not None and value.undefined is None:
            return Fate.SCORED
        if name.metric.cases.startswith("answered") and not is_answered(case):
            return Fate.REFUSED
        return Fate.NOT_APPLICABLE

    def ledgers(self, found: Found) -> dict[str, Ledger]:
        """The ledger of every metric, from what questions of one fate have in common."""
        return alike.ledgers(self, found)

    def undefined(self, name: MetricName, case: Case, value: g.Value) -> str:
        """Why a question has no value of a metric."""
        if case.fate is Fate.MISSING:
            return "no trace"
        if value.undefined is not None:
            return value.undefined
        if not case.own.wanted.answerable:
            return "unanswerable"
        if name.metric.needs == "distances" and is_answered(case):
            return "no distance is known"
        return f"not among the {name.metric.cases}"

    def rows(self, found: Found) -> Iterator[Row]:
        """Every question's row, in gold order; those with the same words have the same numbers."""
        return alike.rows(self, found)

    def established(self, case: Case, found: Found) -> dict[str, bool]:
        """What holds of the worst of its runs."""
        return established(case, depth_of(found.evidence.settings["k"]))

    def more(self, case: Case, found: Found) -> dict[str, Any]:
        """How many runs there are, and whether they lead to the same place."""
        return {"runs": len(case.facts.runs), "lambda": case.own.marked}

    def offender(self, case: Case, found: Found) -> Offender:
        """A question with the run that went worst."""
        return offender_of(case, depth_of(found.evidence.settings["k"]))

    def home(self, case: Case, found: Found) -> Home:
        """Where the first relevant block stands."""
        return next((home_at(place) for _, place in case.own.wanted.spots), Home())

    def item(self, case: Case, found: Found) -> Viewed:
        """One question with all its runs."""
        from ragworthy.suites.retrieval.item import look

        return look(self, case, found)

    def extra(self, found: Found) -> Extra:
        """Convergence, distances, symptoms, and the comparison with the index in use."""
        arms: Arms = found.own
        live: Live | None = found.summary.own
        unlike = [f"live and shadow cannot be compared: {why}" for why in live.unlike] if live is not None else []
        made = live.steps(policy=found.request.policy is not None) if live is not None else []
        diagnosis = advice.diagnose(found)
        against = None
        if live is not None:
            tested = self._against_live(live, found)
            showed = shadow.compare(live, arms.shadow, found.summary, arms.renamed, found.request.gates, tested)
            against = shadow.as_json(showed, found.summary, sound=not broken(found) and not unlike)
            nothing = why_moot(arms)
            against = against if nothing is None else moot_live(against, nothing)
        body = {
            "bad_qids": _unjustified(found),
            "lambda": _marks(found),
            "delta_s": distances.described(arms.shadow, _distances(found)),
            "diagnosis": [one._asdict() for one in diagnosis],
            "contract": contract.counted(arms.arm),
            "canary": shadow.unfinished(found.judged) if live is None else None,
            "live": against,
        }
        return Extra(
            body={"warnings": body},
            warnings=advice.warnings(found),
            steps=[*made, *next_steps(found, diagnosis)],
            invalid=unlike,
        )

    def _against_live(self, live: Live, found: Found) -> Tested | None:
        """What the questions say of the check against the index in use: as in the verdict, where it is part of it."""
        gate = shadow.AGAINST_LIVE
        for one in found.judged:
            if (one.gate.metric, one.gate.op, one.gate.threshold, one.gate.slice) == gate[:4]:
                return one.tested
        return tested_alone(self, gate, live.baseline, found.summary, found.request.proving)

    # for people

    def counts_line(self, counts: dict[str, Any]) -> str:
        """How many questions there were, and what became of them."""
        return advice.counts_line(counts)

    def lead(self, body: dict[str, Any]) -> list[str]:
        """What changes against the index in use."""
        return compared.lead(body)

    def lines(self, body: dict[str, Any]) -> list[str]:
        """Convergence, distances, symptoms."""
        return advice.lines(body)

    def tables(self, body: dict[str, Any]) -> list[Table]:
        """Shadow against live."""
        return compared.tables(body)


SUITE = Retrieval()


def _offsets_apart(arm: Arm, request: Request) -> list[str]:
    """Why bytes cannot be compared: the traces of one run come from texts that were normalised in several ways."""
    judged = [gate.metric for gate in request.gates if gate.metric in BYTES]
    if len(arm.normalisers) < 2 or not judged:
        return []
    return [f"{judged[0]} compares bytes, and the traces come from several normalisers: {', '.join(arm.normalisers)}"]


def _made_live(opened: Opened, request: Request) -> dict[str, Any]:
    """How the traces of the index in use were made."""
    return provenance(said_by([opened["live"]], request.jobs, request.parts), Beside(corpus=request.get("live_corpus")))


def _cases(arm: Arm, side: Side, ks: Sequence[int]) -> list[Case]:
    """Every question of an arm; what its corpus does not have is in no index, where the traces come from it."""
    known = side.corpus.places if side.corpus is not None and side.its_own else None
    return [case_of(one, depth_of(ks), whole=side.whole, known=known) for one in arm.asked]


def _distances(found: Found) -> list[Any]:
    """The distance of every question that has one."""
    return [word for word in found.summary.words["retrieval.delta_s_mean"] if word is not None]


def _unjustified(found: Found) -> list[str]:
    """Questions that nothing justifies: no run is covered, or the citation is as far as unrelated text."""
    arms: Arms = found.own
    if not arms.arm.answers:
        return []
    words: Any = found.summary.words
    covered, far = words["retrieval.coverage"], words["retrieval.delta_s_mean"]
    return [
        case.qid
        for case, word, distance in zip(found.cases, covered, far, strict=True)
        if word == 0 or (arms.source.scaled and distance is not None and distance >= BLOCK)
    ]


def _marks(found: Found) -> dict[str, Any]:
    """How many questions have each mark of convergence."""
    marks = Counter(case.own.marked for case in found.cases if case.own.marked is not None)
    counted, steady = marks.total(), found.own.arm.steady
    return {
        "marks": {mark: marks[mark] for mark in MARKS},
        "questions": counted,
        "incomplete": incomplete(found.own.arm),
        "question_rate": marks["→"] / counted if counted else None,
        "one_seed": {"questions": steady.questions, "why": steady.why} if steady.questions else None,
    }
