"""The agreement suite: every pair of two validators' votes, or every ballot of several raters, is one case."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ragworthy import gates as g
from ragworthy.comparison.likeness import Unlike, of_baseline
from ragworthy.index.blocks import Corpus, load_corpus
from ragworthy.load.baseline import as_baseline
from ragworthy.metrics.facts import raters as r
from ragworthy.metrics.facts.arbitration import REJECT, Voted
from ragworthy.metrics.registry import MetricName, Word, all_metrics, find
from ragworthy.names import Outcome, Stage
from ragworthy.proving import INTERVAL
from ragworthy.report.part import Column
from ragworthy.report.sheet import Viewed
from ragworthy.report.show import plural
from ragworthy.suites.agreement import DECLARED
from ragworthy.suites.agreement.advice import counts_line, lines, of_pairs, of_raters, steps, tsv_of, warnings
from ragworthy.suites.agreement.audit import spot_check
from ragworthy.suites.agreement.cases import WORST, agreed, cases_of, counts_of
from ragworthy.suites.agreement.read import (
    SEVERAL,
    Votes,
    pairs_of,
    read_files,
    read_marks,
    read_pairs,
    read_ratings,
)
from ragworthy.suites.agreement.rules import ALWAYS
from ragworthy.suites.agreement.traced import pass_of, read_golds, rules_of, vote
from ragworthy.suites.answers.bound import bound_to
from ragworthy.suites.clusters import Topic, topic_of
from ragworthy.suites.damage import Damage
from ragworthy.suites.evidence import Bound, Case, Evidence, Extra, Fate, Found, Offender, Row, Summary
from ragworthy.suites.locked import locks_of
from ragworthy.suites.opened import Listed, Opened
from ragworthy.suites.parts import Reading
from ragworthy.suites.parts import read as in_parts
from ragworthy.suites.protocol import Suite
from ragworthy.suites.request import Progress, Request
from ragworthy.suites.rowing import WHOLE

MEASURED = {"raters": ("ballots",), "operators": ("ballots", "operators")}
"""Whose votes metrics look at, by the form; in all others at the pairs of two validators."""
KAPPA, AUDIT, DRIFT = "agreement.kappa", "agreement.audit_reproducibility", "agreement.delta_s_drift"
RELEASE_GATE = g.Gate("agreement.raters", g.MIN, str(r.RELEASE_RATERS))
"""What a release asks of operators besides the other gates."""
VOTE = "vote:"
"""Is before the name of a rater in the columns of rows."""
SHARED = tuple(
    f"agreement.{name}" for name in ("percent", "kappa", "pairwise", "fleiss", "raters", "operator_variance")
)
"""Metrics that say of one item alone whether there is agreement on it."""


class Agreement(Suite):
    """What two validators, several raters or operators agree on."""

    declared = DECLARED
    facts = ("agreed", "abstained", "red_flag", "label_conflict", "complete", "escalated")
    columns = (
        Column("scholar", "json"),
        Column("auditor", "json"),
        Column("final", "text"),
        Column("why", "text"),
        Column("votes", "json"),
    )
    labels = tuple(reversed(WORST))
    always = ALWAYS

    # read

    def read(self, opened: Opened, request: Request, progress: Progress | None) -> Evidence:
        """Every pair or ballot, from the files of one form."""
        if request.settings.form == "traces":
            return in_parts(self._on_traces(opened, request), request, progress)
        evidence = self._evidence(opened, request, self._votes(opened, request))
        if progress is not None:
            progress(1, 1)
        return evidence

    def reading(self, opened: Opened, request: Request) -> Reading:
        """Traces are read in parts; votes that people wrote are few, and are read in one piece."""
        on_traces = request.settings.form == "traces"
        return self._on_traces(opened, request) if on_traces else super().reading(opened, request)

    def _evidence(self, opened: Opened, request: Request, votes: Votes) -> Evidence:
        cases = cases_of(votes)
        counts = counts_of(votes, cases, several=request.settings.form in SEVERAL)
        asked = votes.asked
        return Evidence(
            cases=cases,
            records=votes.records,
            counts=counts,
            settings=_settings(request, cases),
            own=votes,
            errored=() if asked is None else ((len(asked.errored), len(asked.questions), "questions"),),
            missing=(0 if asked is None else len(asked.missing), "trace"),
            left_out=votes.unpaired,
            invalid=(*_rejected(cases), *_unpaired(votes)),
            gold_sha256=None if request.get("gold") is None else opened["gold"].sha256(),
        )

    def _votes(self, opened: Opened, request: Request) -> Votes:
        form, damage = request.settings.form, request.damage
        if form == "files":
            return read_files(opened["scholar"], opened["auditor"], damage)
        if form == "raters":
            return read_ratings(opened["raters"], damage)
        if form == "operators":
            beside = (opened[key] if request.get(key) is not None else None for key in ("audit", "gold"))
            votes = read_marks(opened["operators"], request.settings.fixes, damage, *beside)
            return _with_corpus(votes, opened, _corpus_of(request))
        return read_pairs(opened["pairs"], damage)

    def _on_traces(self, opened: Opened, request: Request) -> Reading:
        """The votes of the two validators that come with the program."""
        given, corpus = request.get("corpus"), _corpus_of(request)
        rules = rules_of(request.settings, locks_of(request), corpus)
        bound = None if given is None else bound_to(opened["gold"], given)
        golds = read_golds(
            opened["gold"],
            rules,
            allow_errors=request.allow_gold_errors,
            bind=None if bound is None else bound.bind,
        )
        parts = yield [pass_of(opened["trace"], golds, rules)]
        sources = opened["gold"], opened["trace"]
        votes = vote(golds, sources, parts[0], rules, self.slice_fields(request), request.damage)
        votes = votes if bound is None else votes._replace(docs=bound.docs)
        return self._evidence(opened, request, _with_corpus(votes, opened, corpus))

    # the selftest

    def damages(self, request: Request) -> tuple[Damage, ...]:
        """What a selftest does to votes."""
        from ragworthy.suites.agreement.damage import damages

        return damages()

    # summarise

    def names(self, request: Request, evidence: Evidence) -> list[MetricName]:
        """The metrics that votes of this form are measured by; those that name no form take all of them."""
        wanted = ("", *MEASURED.get(request.settings.form, ("pairs",)))
        return [MetricName(metric, None) for metric in all_metrics(self.name).values() if metric.needs in wanted]

    def whole(self, name: MetricName, cases: Sequence[Case]) -> g.Value:
        """Worked out from all items at once; of operators it is they who are counted."""
        value = super().whole(name, cases)
        if name.id == KAPPA and value.undefined is None:
            return _with_interval(value, cases)
        if name.id == DRIFT:
            return value._replace(n=sum(len(case.facts.moved) for case in cases))
        if name.metric.needs != "operators" or value.n is None:
            return value
        return value._replace(n=len(r.raters_of(case.facts for case in cases)))

    def topics(self, evidence: Evidence, cases: Sequence[Case]) -> Iterable[Topic]:
        """The document of the first gold citation, where votes are on traces; else nothing is known of an item."""
        docs = evidence.own.docs
        for case in cases:
            gold = case.own.gold if isinstance(case.facts, Voted) else None
            yield Topic() if gold is None else topic_of(gold, docs)

    def votes(self, cases: Sequence[Case]) -> dict[str, list[str | None]]:
        """A column for each of them: the label that it gives every item, None where it gives none."""
        ballots = [_ballot_of(case.facts) for case in cases]
        everybody = dict.fromkeys(rater for ballot in ballots for rater in ballot)
        return {f"{VOTE}{rater}": [ballot.get(rater) for ballot in ballots] for rater in sorted(everybody)}

    # judge

    def gates(self, request: Request) -> tuple[g.Gate, ...]:
        """A release of operators needs enough of them."""
        gates, settings = super().gates(request), request.settings
        if not settings.release or settings.form != "operators":
            return gates
        return gates if any(gate.metric == RELEASE_GATE.metric for gate in gates) else (*gates, RELEASE_GATE)

    def baseline(self, opened: Opened, evidence: Evidence) -> g.Baseline | None:
        """An earlier run over the same gold set, or over votes on the same items."""
        earlier, settings = opened.earlier, evidence.settings
        if earlier is None or evidence.gold_sha256 is not None:
            return super().baseline(opened, evidence)
        others = settings["items_sha256"] != earlier.suite.settings.get("items_sha256")
        if others and earlier.verdict != "INVALID":
            return as_baseline(earlier, Unlike("items", "its votes are about other items"))
        return as_baseline(earlier, of_baseline(earlier.made, earlier.made._replace(settings=settings)))

    def an_id(self, evidence: Evidence) -> str:
        """Without a gold set, only votes have ids."""
        return super().an_id(evidence) if evidence.gold_sha256 is not None else "the qid of a vote"

    def judges_one(self, name: MetricName) -> bool:
        """Numbers of all items at once ask of one item whether there is agreement on it."""
        return name.id in SHARED or super().judges_one(name)

    def says(self, name: MetricName, case: Case, evidence: Evidence) -> bool | None:
        """Whether there is agreement on an item, for metrics of agreement; what the metric says, for all others."""
        if name.id not in SHARED:
            return super().says(name, case, evidence)
        return agreed(case.facts) is (name.metric.better == "higher")

    def settle(self, judged: list[g.Judged], bound: Bound, evidence: Evidence) -> list[g.Judged]:
        """Where κ has no value because there is one label only, agreement is complete and decides in its place."""
        waived = {waiver.gate: waiver for waiver in bound.waivers}
        return [
            _complete(one, waived.get(g.name_of(one.gate)))
            if one.gate.op != g.MAX and _one_label(one, evidence)
            else one
            for one in judged
        ]

    # describe

    def fate(self, name: MetricName, case: Case, word: Word, value: g.Value) -> Fate:
        """Every metric takes every item, except that not every record is looked at again."""
        return Fate.NOT_APPLICABLE if name.id == AUDIT and word is None else case.fate

    def undefined(self, name: MetricName, case: Case, value: g.Value) -> str:
        """Why an item has no value of a metric."""
        return "no record of it was looked at again" if name.id == AUDIT else "fewer than two votes"

    def established(self, case: Case, found: Found) -> dict[str, bool]:
        """What is known of an item."""
        if not isinstance(case.facts, Voted):
            return {"agreed": agreed(case.facts), "complete": case.own.complete, "escalated": case.own.escalated}
        return {
            "agreed": case.facts.agreed,
            "abstained": case.facts.abstained,
            "red_flag": case.own.flagged,
            "label_conflict": case.facts.conflict,
        }

    def more(self, case: Case, found: Found) -> dict[str, Any]:
        """Who said what, and how it ends."""
        voted = case.facts
        if not isinstance(voted, Voted):
            return {"votes": dict(voted.votes)}
        return {
            "scholar": {"label": voted.scholar, "reason": voted.reasons[0]},
            "auditor": {"label": voted.auditor, "reason": voted.reasons[1]},
            "final": case.own.final.label,
            "why": case.own.final.why,
        }

    def row(self, case: Case, words: Mapping[str, Word], found: Found) -> Row:
        """The usual row; of what is undefined, metrics of all items at once come first."""
        row = super().row(case, words, found)
        return row._replace(undefined=dict(sorted(row.undefined.items(), key=lambda one: one[1] != WHOLE)))

    def offender(self, case: Case, found: Found) -> Offender:
        """An item that pulls agreement down, with what everybody says of it."""
        voted = case.facts if isinstance(case.facts, Voted) else Voted(case.qid, "", "")
        gold = case.own.gold if isinstance(case.facts, Voted) else None
        return Offender(
            qid=case.qid,
            label=case.label,
            stage=case.stage or Stage.VOTES,
            cause=case.cause,
            why=case.why,
            question=gold.question if gold is not None else None,
            claim=voted.claim,
            citations=voted.citations if voted.citations is not None else [],
            retrieved_ids=list(voted.retrieved),
            gold_citations=(gold.gold_citations if gold is not None else None) or [],
            own={},
        )

    def item(self, case: Case, found: Found) -> Viewed:
        """One question with every vote on it."""
        from ragworthy.suites.agreement.item import look

        return look(self, case, found)

    def extra(self, found: Found) -> Extra:
        """The form, how each of them voted, every disagreement, and what somebody has to look at."""
        several = found.request.settings.form in SEVERAL
        escalations = _escalations(found.request, found.evidence, found.summary)
        return Extra(
            body={
                "inputs": {"form": found.request.settings.form},
                "warnings": of_raters(found, escalations) if several else of_pairs(found),
            },
            warnings=warnings(found, escalations),
            steps=steps(found),
            files={
                "tsv": lambda body, suffix: tsv_of(body).encode(),
                "pairs_out": lambda body, suffix: pairs_of(found.own),
                "spot_check": lambda body, suffix: spot_check(found),
            },
        )

    # for people

    def counts_line(self, counts: dict[str, Any]) -> str:
        """How many votes there were, and how far they agree."""
        return counts_line(counts)

    def lines(self, body: dict[str, Any]) -> list[str]:
        """Who said what, how it ends, and why κ has no value where it has none."""
        return lines(body)


SUITE = Agreement()


def _corpus_of(request: Request) -> Corpus | None:
    given = request.get("corpus")
    return load_corpus(given) if given is not None else None


def _with_corpus(votes: Votes, opened: Opened, corpus: Corpus | None) -> Votes:
    """The votes of a run that names its corpus: the report keeps the hash of it."""
    if corpus is None:
        return votes
    sha256 = corpus.sha256
    opened.listed["corpus"] = Listed(corpus.label, lambda: sha256)
    return votes._replace(records={**votes.records, "corpus": len(corpus.texts)})


def _with_interval(value: g.Value, cases: Sequence[Case]) -> g.Value:
    """κ with its interval: what leaving out each pair in turn does to it, and what so few pairs leave open."""
    from ragworthy.paired.kappa import interval

    found = interval([(case.facts.scholar, case.facts.auditor) for case in cases])
    if found is None:
        return value._replace(boundless="without one of the pairs it has no value")
    return value._replace(interval=found)


def _ballot_of(facts: Voted | r.Ballot) -> dict[str, str]:
    if isinstance(facts, Voted):
        return {"auditor": facts.auditor, "scholar": facts.scholar}
    return dict(facts.votes)


def _settings(request: Request, cases: Sequence[Case]) -> dict[str, Any]:
    """The settings of the form; without a gold set, the hash of the items that votes are about."""
    given = request.settings
    settings: dict[str, Any] = {"form": given.form}
    if given.form == "traces":
        return settings | {
            "refusals": list(given.refusals),
            "short_substr": given.short_substr,
            "scu": given.scu,
            **locks_of(request).settings,
            "support": request.get("corpus") is not None,
            "slices": list(given.slices),
            "allow_gold_errors": request.allow_gold_errors,
        }
    if given.form == "operators":
        settings |= {"release": given.release, "baseline_cost": given.baseline_cost, "fixes": list(given.fixes)}
    items = "\n".join(sorted(case.qid for case in cases))
    return settings | {"items_sha256": hashlib.sha256(items.encode()).hexdigest()}


def _rejected(cases: Sequence[Case]) -> tuple[str, ...]:
    """That the validators agree on every pair, and what they agree on is that nothing may ship."""
    pairs = [case for case in cases if isinstance(case.facts, Voted)]
    if not pairs or not all(case.facts.agreed and case.own.final.label == REJECT for case in pairs):
        return ()
    return (f"all {plural(len(pairs), 'pair ends', 'pairs end')} as REJECT: nothing may ship",)


def _unpaired(votes: Votes) -> tuple[str, ...]:
    """That two files are not about the same answers."""
    both = len(votes.pairs)
    return (f"{votes.unpaired:,} qids have one vote only, and {both:,} have both",) if votes.unpaired > both else ()


def _one_label(one: g.Judged, evidence: Evidence) -> bool:
    """Whether a gate has no value because every vote has the same label."""
    name = find(one.gate.metric, default_k=1)
    if name is None or name.metric.over != "all" or one.value is None or one.value.undefined is None:
        return False
    facts = [case.facts for case in evidence.cases if one.gate.slice is None or one.gate.slice in case.slices]
    return name.metric.of(facts) is r.NoValue.ONE_LABEL


def _complete(one: g.Judged, waiver: g.Waiver | None) -> g.Judged:
    """Complete agreement on one label. How sure that is nobody can say: an interval is lacking."""
    reason = "every label is the same: agreement is complete"
    if one.gate.evidence != INTERVAL or one.gate.op == g.EACH:
        return one._replace(outcome=Outcome.PASS, reason=reason)
    return one._replace(outcome=Outcome.UNDECIDED, reason=f"{reason}, but it has no interval", waiver=waiver)


def _escalations(request: Request, evidence: Evidence, summary: Summary) -> list[r.Escalation]:
    """What of the work of operators somebody else has to look at."""
    if request.settings.form != "operators":
        return []
    shared = summary.values[None, "agreement.pairwise"].exact
    return r.escalations(evidence.own.marks, shared, request.settings.baseline_cost)
