"""The answers suite: a case stands for all questions with the same flags, so there are few of them in any gold set."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragworthy import gates as g
from ragworthy.metrics.answers import NO_PIECES, OF_PIECES, by_reference_only, cases_with
from ragworthy.metrics.facts import answers as f
from ragworthy.metrics.fold import value_of, value_of_all
from ragworthy.metrics.registry import MetricName, Word
from ragworthy.report.part import Column, noted
from ragworthy.report.show import answered_line, counted
from ragworthy.rows import Rows
from ragworthy.stats import wilson
from ragworthy.suites.answers import DECLARED
from ragworthy.suites.answers.advice import warnings
from ragworthy.suites.answers.kept import rows_of_flags
from ragworthy.suites.answers.missing import (
    NO_TEXT,
    SUPPORT,
    evidence_lines,
    evidence_steps,
    evidence_warnings,
    fitting,
    for_references,
    invalid,
    no_case,
    of_shipped,
    textless,
    told,
    unmeasured,
)
from ragworthy.suites.answers.offenders import case_of, offender_of, remarks_of
from ragworthy.suites.answers.read import Alike, How, Kept, Runs, how_of, passes_of, read_runs, roles_of, texts_of
from ragworthy.suites.answers.reruns import asked_in, copied, parts_of, runs_in
from ragworthy.suites.answers.rules import ALWAYS, SCU_GATE
from ragworthy.suites.answers.steps import steps
from ragworthy.suites.answers.taken import with_errors
from ragworthy.suites.answers.tallied import cases_of, counts_of, entries_of
from ragworthy.suites.answers.wording import READS_LIKE
from ragworthy.suites.crowds import Crowd, Home, add_homes, add_to, wrong_with
from ragworthy.suites.damage import Damage
from ragworthy.suites.evidence import Bound, Case, Evidence, Extra, Fate, Found, Offender, Row, Summary
from ragworthy.suites.examine import Seen
from ragworthy.suites.fork import processes
from ragworthy.suites.id_clashes import id_clashes
from ragworthy.suites.in_parts import InParts
from ragworthy.suites.intervals import Part
from ragworthy.suites.kept import too_many
from ragworthy.suites.locked import METRICS as SCU_METRICS
from ragworthy.suites.locked import locks_of
from ragworthy.suites.opened import Opened
from ragworthy.suites.parts import Reading
from ragworthy.suites.refusing import by_rule_of
from ragworthy.suites.request import Progress, Request

if TYPE_CHECKING:
    from ragworthy.report.sheet import Viewed

GOOD = "answers.good"
SEVERAL = 6
"""So many times as large as the gold set are traces that ask each question several times."""
COUNTED = ("rate", "count")
"""Kinds of metrics that are a number of questions, or a share of it, where every word is a yes or a no."""


def _ask_again(opened: Opened, request: Request) -> bool:
    """Whether there are several processes, and traces ask the same questions again and again. Then each process reads
    the whole gold set: of a share of it most traces would belong to another process.
    """
    gold, traces = opened["gold"], opened["trace"]
    return processes(request.jobs, traces.size, traces.splits) > 1 and gold.size * SEVERAL < traces.size


class Answers(InParts):
    """What a pipeline answers, cites and refuses."""

    declared = DECLARED
    facts = (
        "answerable", "answered", "refused", "missing", "errored", "contains", "hit", "in_scope", "constraints_kept",
    )  # fmt: skip
    always = ALWAYS
    shows_undefined = True
    claims_always = True
    columns = (
        Column("run", "int"),
        Column("refusal_rule", "text"),
        Column("claim_all", "json"),
        Column("constraints", "json"),
        Column("remarks", "json"),
    )

    def read(self, opened: Opened, request: Request, progress: Progress | None) -> Evidence:
        """A tally: how many questions there are of each set of flags and slices, by processes that tell each other."""
        if request.parts is not None or request.engine is not None or _ask_again(opened, request):
            return super().read(opened, request, progress)
        how = how_of(opened, request, self.depths(request), self.slice_fields(request))
        read = read_runs(opened, request, how, progress, roles_of(opened, request))
        return self._evidence(opened, request, how, read)

    def reading(self, opened: Opened, request: Request) -> Reading:
        """The same where parts are read apart."""
        how = how_of(opened, request, self.depths(request), self.slice_fields(request))
        roles = roles_of(opened, request)
        parts = yield passes_of(opened, request, how, roles)
        return self._evidence(opened, request, how, read_runs(opened, request, how, None, roles, parts))

    def _evidence(self, opened: Opened, request: Request, how: How, read: Runs) -> Evidence:
        (found, own, traces), rules, corpus = read, how.rules, how.corpus
        settings, locks = request.settings, locks_of(request)
        cases = cases_of(found.tally, rules.ks, corpus.whole)
        counts = counts_of(cases, found, runs := len(own.runs))
        records = {"gold": counts["gold"], **traces}
        return Evidence(
            cases=cases,
            records=records if corpus.texts is None else records | {"corpus": len(corpus.texts)},
            counts=counts,
            settings={
                "k": list(rules.ks),
                "refusals": list(rules.refusals),
                "short_substr": settings.short_substr,
                "scu": locks.scu,
                "rule_packs": locks.told,
                "slices": list(settings.slices),
                "allow_gold_errors": request.allow_gold_errors,
                "support": corpus.texts is not None,
            },
            own=own,
            errored=((counts["errored"], asked_in(counts), "questions" if runs == 1 else "answers"),),
            missing=(counts["missing"], "trace" if runs == 1 else "trace in one of the runs"),
            invalid=_invalid(own, opened),
            gold_sha256=opened["gold"].sha256(),
            runs=runs,
            told=own.told,
        )

    # the doctor and the selftest

    def to_examine(self, request: Request) -> Request:
        """With gold items that cannot be scored: they are counted."""
        return request._replace(allow_gold_errors=True)

    def examined(self, request: Request, seen: Seen) -> list[str]:
        """What can be measured, gold items that cannot, and claims that may be refusals."""
        from ragworthy.suites.answers.doctor import examined

        return examined(request, seen)

    def suggested(self, traces: Path) -> dict[str, tuple[Any, str]]:
        """Settings that traces suggest, for a first policy, each with the reason."""
        from ragworthy.suites.answers.doctor import suggested

        return suggested(traces)

    def damages(self, request: Request) -> tuple[Damage, ...]:
        """What a selftest does to traces."""
        from ragworthy.suites.answers.damage import damages

        return damages(request.settings.refusals[0])

    # summarise

    def names(self, request: Request, evidence: Evidence) -> list[MetricName]:
        """Metrics of references only where the gold set has some, or a gate asks for them; that of all labels only
        where a gate does.
        """
        asked = {gate.metric for gate in request.gates}
        every = [name for name in super().names(request, evidence) if name.id != GOOD or name.id in asked]
        if any(case.own.compared is not None for case in evidence.cases):
            return every
        return [name for name in every if name.metric.needs != "references" or name.id in asked]

    def value(self, name: MetricName, cases: Sequence[Case], words: Sequence[Word]) -> g.Value:
        """The share of questions, each case counted as often as there are questions of it."""
        metric = name.metric
        if metric.id in OF_PIECES and by_reference_only(case.facts for case in cases):
            return value_of(metric._replace(undefined=NO_PIECES), [])
        if metric.id == SUPPORT and textless(case.facts for case in cases if case.weight):
            return value_of(metric._replace(undefined=NO_TEXT), [])
        pairs = [(word, case.weight) for word, case in zip(words, cases, strict=True) if word is not None]
        if metric.kind not in COUNTED or not all(isinstance(word, bool) for word, _ in pairs):
            return value_of(metric, (word for word, weight in pairs for _ in range(weight)))
        num, den = sum(weight for word, weight in pairs if word), sum(weight for _, weight in pairs)
        errors = sum(
            case.weight for word, case in zip(words, cases, strict=True) if word is not None and case.facts.errored
        )
        over = cases_with(errors, metric.cases)
        value = g.Value(num, den, better=metric.better, cases=over, event=metric.event)
        if metric.needs == "evidence" and (why := unmeasured(cases)):
            return value._replace(num=0, den=0, undefined=why)
        if metric.kind == "count":
            return value._replace(den=None, most=den)
        if not den:
            apart = " that did not end in an error" if any(case.facts.errored for case in cases) else ""
            return value._replace(undefined=f"{metric.undefined}{apart}")
        return value._replace(interval=wilson(num, den))

    def whole(self, name: MetricName, cases: Sequence[Case]) -> g.Value:
        """From pairs of facts and the number of questions that have them: a million questions are a few hundred."""
        facts = [(case.facts, case.weight) for case in cases]
        return value_of_all(name.metric, name.metric.of(facts, **name.depth), sum(weight for _, weight in facts))

    def kept_rows(self, request: Request, evidence: Evidence, summary: Summary) -> Rows | str:
        """Every question from its flags; what the same flags say is worked out once."""
        own: Kept = evidence.own
        if own.clusters is None:
            return too_many(evidence.counts["gold"])
        return rows_of_flags(self, own, summary, own.clusters.by(request.cluster))

    def parts(self, name: MetricName, evidence: Evidence, summary: Summary) -> list[Part]:
        """What each question adds: of several runs, how many are good, and how many are cases."""
        if evidence.runs == 1 or summary.rows is None:
            return super().parts(name, evidence, summary)
        return parts_of(summary.rows.words[name.id], evidence.runs)

    def within(self, case: Case, group: str | None) -> Case:
        """A case with the number of its questions that belong to the group."""
        return case if group is None else case._replace(weight=case.own.slices[group])

    def slice_order(self, groups: Iterable[str]) -> list[str]:
        """The slices by their texts."""
        return sorted(groups)

    # judge

    def gates(self, request: Request) -> tuple[g.Gate, ...]:
        """Where constraints are checked, no answer may break one, unless a gate says something else of them."""
        gates = request.gates
        if request.settings.scu and not any(gate.metric in SCU_METRICS for gate in gates):
            gates += (SCU_GATE,)
        return super().gates(request._replace(gates=gates))

    def bind(self, request: Request, evidence: Evidence, summary: Summary, baseline: g.Baseline | None) -> Bound:
        """Where no question has evidence, the usual gates on citations give way to one on the text; to those on
        references, where there is no text to look for. Where some have none, the one on the text is judged as well.
        """
        bound = super().bind(request, evidence, summary, baseline)
        bound = bound._replace(gates=fitting(bound.gates, [case.facts for case in evidence.cases if case.weight]))
        if by_reference_only(case.facts for case in evidence.cases):
            bound = bound._replace(gates=for_references(bound.gates))
        return bound

    def case_of(self, evidence: Evidence, qid: str) -> Case | None:
        """A question that must pass: the reader keeps the flags of these."""
        own: Kept = evidence.own
        known = own.watched.get(qid)
        return None if known is None else case_of(Alike(known.flags, compared=known.compared), own.ks, qid, own.whole)

    def again(self, evidence: Evidence, qid: str) -> Sequence[Case]:
        """The same in further runs."""
        own: Kept = evidence.own
        known = [one.watched[qid] for one in own.reruns if qid in one.watched]
        return [case_of(Alike(one.flags, compared=one.compared), own.ks, qid, own.whole) for one in known]

    def settle(self, judged: list[g.Judged], bound: Bound, evidence: Evidence) -> list[g.Judged]:
        """Gates whose cases errors took away are not measured."""
        return with_errors(judged, evidence, self.word)

    # describe

    def fate(self, name: MetricName, case: Case, word: Word, value: g.Value) -> Fate:
        """A refusal is not a shipped answer; of other metrics it is a case, or it is not."""
        if word is not None and value.undefined in (NO_PIECES, NO_TEXT) and case.fate is Fate.SCORED:
            return Fate.NOT_APPLICABLE
        usual = super().fate(name, case, word, value)
        if usual is Fate.SCORED and value.undefined is not None and name.metric.needs == "evidence":
            return Fate.NOT_APPLICABLE
        refused = usual is Fate.NOT_APPLICABLE and case.fate is Fate.REFUSED and of_shipped(name)
        return Fate.REFUSED if refused else usual

    def undefined(self, name: MetricName, case: Case, value: g.Value) -> str:
        """Why a question is not in a metric's denominator."""
        return no_case(name, case, value) or super().undefined(name, case, value)

    def established(self, case: Case, found: Found) -> dict[str, bool]:
        """What is known of a question."""
        facts: f.Facts = case.facts
        return {
            "answerable": facts.answerable,
            "answered": facts.shipped,
            "refused": facts.refused,
            "missing": facts.missing,
            "errored": facts.errored,
            "contains": facts.contains and not facts.by_reference,
            "hit": facts.hit,
            "in_scope": facts.in_scope,
            "constraints_kept": facts.kept or not facts.shipped,
        }

    def rows(self, found: Found) -> Iterator[Row]:
        """Every question's row, in gold order; where there are several runs, one run after another."""
        own: Kept = found.own
        if not own.reruns:
            yield from self._rows(found, own)
            return
        for nth, (flags, compared) in enumerate(own.runs, start=1):
            only = own if nth == 1 else own._replace(rules={}, parts={}, locks={}, fit=own.others[nth - 2])
            for row in self._rows(found, only._replace(flags=flags, compared=compared)):
                yield row._replace(own={"run": nth, **row.own})

    def _rows(self, found: Found, own: Kept) -> Iterator[Row]:
        """The rows of one run. What the same flags say is worked out once."""
        by_rule, remarks = by_rule_of(found.request.settings) is not None, remarks_of(own)
        alike: dict[Any, tuple[Any, ...]] = {}
        for nth, (qid, flags) in enumerate(zip(own.qids, own.flags, strict=True)):
            compared = own.compared.get(nth)
            known = flags if compared is None else (flags, compared)
            rest = alike.get(known)
            if rest is None:
                case = case_of(Alike(flags, compared=compared), own.ks, whole=own.whole)
                words = {name.id: self.word(name, case.facts) for name in found.summary.names}
                rest = alike[known] = self.row(case, words, found)[1:]
            row = Row._make((qid, *rest))
            more: dict[str, Any] = {"refusal_rule": own.rules.get(qid)} if by_rule else {}
            if flags & f.ALL_OF:
                more["claim_all"] = own.parts.get(qid)
            if qid in own.locks:
                more["constraints"] = own.locks[qid]
            if said := [*([READS_LIKE] if flags & f.NEAR_REFUSAL else ()), *remarks.get(qid, ())]:
                more["remarks"] = said
            yield row._replace(own=more) if more else row

    def crowd(self, found: Found) -> Crowd:
        """What became of the questions of every slice; of every document, section and type where it is known."""
        own: Kept = found.own
        wrong = {case.own[::2]: wrong_with(case) for case in found.cases if self.offends(case)}
        crowd: Crowd = {}
        known = list(zip(own.flags, map(own.compared.get, range(len(own.flags))), strict=True))
        if own.reruns:  # of several runs the first one: a question that fails in all of them is not a crowd
            for (names, what), count in Counter(zip(own.slices, map(wrong.get, known), strict=False)).items():
                add_to(crowd, Home(), names, what, count)
        for case in found.cases if wrong and not own.reruns else ():
            for name, count in case.own.slices.items():
                add_to(crowd, Home(), (name,), wrong.get(case.own[::2]), count)
        if wrong:
            add_homes(crowd, zip(own.homes, map(wrong.get, known), strict=False))
        return crowd

    def offenders(self, found: Found, most: int) -> list[Offender]:
        """The questions that pull a gate down, worst first: the reader keeps the worst of each part."""
        own: Kept = found.own
        return [offender_of(one, own) for one in own.offenders[:most]]

    def extra(self, found: Found) -> Extra:
        """A receipt keeps the tally: from it every number can be had again."""
        own: Kept = found.own
        rules = dict(sorted(Counter(own.rules.values()).items()))
        return Extra(
            body={"metrics": told(own.bindings), "labels": {"refusal_rules": rules} if rules else {}},
            warnings=[*warnings(found), *_of_copies(found), *evidence_warnings(found, own.bindings, own.unchecked)],
            steps=[*evidence_steps(own.bindings), *steps(found)],
            invalid=invalid(found, own.bindings),
            texts=cache(partial(texts_of, found.opened, claims=not own.reruns)),
            kept={"tally": entries_of(own.tally)},
        )

    def known(self, found: Found) -> Iterator[str]:
        """The id of every question; they are read once more."""
        from ragworthy.suites.answers.item import known

        return known(found.opened["gold"])

    def items(self, found: Found, names: Sequence[str]) -> "list[Viewed]":
        """Single questions: their records are read once more, and no others are kept."""
        from ragworthy.suites.answers.item import look

        return look(self, found, names)

    def said(self, case: Case, found: Found) -> Row:
        """The row of one question, from its flags."""
        return self.row(case, {name.id: self.word(name, case.facts) for name in found.summary.names}, found)

    # for people

    def counts_line(self, counts: dict[str, Any]) -> str:
        """How many questions there were, and what became of them."""
        runs = runs_in(counts)
        return answered_line(counts, f" in {runs} runs" if runs > 1 else "")

    def lines(self, body: dict[str, Any]) -> list[str]:
        """How the evidence of the gold set was bound, and the rules by which claims are refusals."""
        rules = body.get("refusal_rules")
        return [*evidence_lines(body), *([f"refused by rule: {counted(rules)}"] if rules else [])]


SUITE = Answers()


def _invalid(own: Kept, opened: Opened) -> tuple[str, ...]:
    """Why the traces do not support a verdict, of every run."""
    every = zip((own.fit, *own.others), ("trace", *(one.role for one in own.reruns)), strict=True)
    return tuple(dict.fromkeys(why for fit, role in every for why in (*fit.invalid, *id_clashes(opened[role]))))


def _of_copies(found: Found) -> list[dict[str, Any]]:
    own: Kept = found.own
    return noted([copied(found.opened, own.copies)])
