"""The stability suite: every question with all its runs is one case."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from ragworthy import gates as g
from ragworthy.load.gold import name_of, read_gold
from ragworthy.metrics import stability as st
from ragworthy.metrics.facts import answers as f
from ragworthy.metrics.facts.errored import said_error
from ragworthy.metrics.facts.jitters import run_id
from ragworthy.metrics.fold import as_number, value_of
from ragworthy.metrics.registry import MetricName, Word
from ragworthy.names import Outcome
from ragworthy.records import NO_ANSWER, Gold, Run
from ragworthy.report.part import Column
from ragworthy.report.sheet import Viewed
from ragworthy.report.show import answered_line, number
from ragworthy.suites.answers.wording import Shown, expected_text, missing_pieces
from ragworthy.suites.clusters import Topic, topic_of
from ragworthy.suites.crowds import Home, home_of
from ragworthy.suites.damage import Damage
from ragworthy.suites.evidence import Bound, Case, Evidence, Extra, Fate, Found, Offender, shown
from ragworthy.suites.in_parts import InParts
from ragworthy.suites.locked import locks_of
from ragworthy.suites.opened import Opened
from ragworthy.suites.parts import Reading
from ragworthy.suites.request import Request
from ragworthy.suites.stability import DECLARED
from ragworthy.suites.stability.advice import SHOWN, lines, steps, warnings
from ragworthy.suites.stability.columns import Again, pass_of, read_runs
from ragworthy.suites.stability.read import (
    Asked,
    Evident,
    ask,
    case_of,
    counts_of,
    design_of,
    distinct,
    known_of,
    telling,
)
from ragworthy.suites.stability.rules import ALWAYS
from ragworthy.suites.stability.shown import NOTHING, proven
from ragworthy.suites.stability.shown import lines as shown_lines

COMPARING = ("stability.failing_questions", "stability.unstable", "stability.css", "stability.rcr")
"""Metrics that are at their best with one run of a question, because there is nothing to compare it with."""
MOST_WORST = 5
_NO_WORD = {
    "stability.ned50": "not answerable, or fewer than two claims",
    "stability.iaa": "fewer than two runs",
    "stability.scu_consistency": "not answerable, or no constraints that are checked",
}


class Stability(InParts):
    """Answers over seeds, jitters and paraphrases."""

    declared = DECLARED
    facts = ("answerable", "missing", "steady", "errored", "contains", "hit", "refused")
    columns = (Column("broken", "json"), Column("runs", "int"), Column("noops", "int"))
    always = ALWAYS

    def reading(self, opened: Opened, request: Request) -> Reading:
        """Every gold question with its runs."""
        gold, runs = opened["gold"], opened["trace"]
        locks = locks_of(request)
        known, records = known_of(opened, request, locks)
        bind = None if known.bound is None else known.bound.bind
        items = read_gold(gold, known.rules, allow_errors=request.allow_gold_errors, bind=bind)
        golds = {name_of(item.record): (nth, item.record) for nth, item in enumerate(items)}
        parts = yield [pass_of(runs, golds, known.says, request.damage)]
        read = read_runs(runs, parts[0])
        limits = dict(one.split("=", 1) for one in request.settings.limits)
        asked = ask([item.record for item in items], read, known, limits)
        counts = counts_of(asked, read)
        return Evidence(
            cases=[case_of(one, item, self.slice_fields(request)) for one, item in zip(asked, items, strict=True)],
            records={"gold": len(items), "trace": counts["runs"], **records},
            counts=counts,
            settings={
                "limits": limits,
                "refusals": list(request.settings.refusals),
                "short_substr": request.settings.short_substr,
                **locks.settings,
                "slices": list(request.settings.slices),
                "allow_gold_errors": request.allow_gold_errors,
            },
            own=Evident(known.rules, known.bound, read, Again(runs, read, request.damage)),
            errored=((counts["errored_runs"], counts["counted_runs"], "runs"),),
            missing=(counts["missing"], "run"),
            gold_sha256=gold.sha256(),
        )

    # the selftest

    def damages(self, request: Request) -> tuple[Damage, ...]:
        """What a selftest does to runs."""
        from ragworthy.suites.stability.damage import damages

        return damages()

    # summarise and judge

    def value(self, name: MetricName, cases: Sequence[Case], words: Sequence[Word]) -> g.Value:
        """One number; its interval rests on different questions, not on runs."""
        counted = [case.own for case, word in zip(cases, words, strict=True) if word is not None]
        different = distinct(counted)
        return value_of(name.metric, words, independent=different if different < len(counted) else None)

    def topics(self, evidence: Evidence, cases: Sequence[Case]) -> Iterable[Topic]:
        """The document of the first gold citation."""
        bound = evidence.own.bound
        return (topic_of(case.own.gold, None if bound is None else bound.docs) for case in cases)

    def times_run(self, case: Case) -> int:
        """The runs that count."""
        return len(case.facts.runs)

    def says(self, name: MetricName, case: Case, evidence: Evidence) -> bool | None:
        """Within its limit where the metric has one, as it should be elsewhere."""
        word, local = self.word(name, case.facts), name.id.partition(".")[2]
        if word is None or local not in evidence.settings["limits"]:
            return super().says(name, case, evidence)
        broken = {one.name for one in case.facts.broken}
        return (local not in broken) is (name.metric.better == "higher")

    def settle(self, judged: list[g.Judged], bound: Bound, evidence: Evidence) -> list[g.Judged]:
        """With one run of a question nothing can be said about its stability: no limit of it is shown to hold."""
        single = sum(len(case.own.runs) == 1 for case in evidence.cases)
        if not single:
            return judged
        waived = {waiver.gate: waiver for waiver in bound.waivers}
        reason = f"{single:,} of {len(evidence.cases):,} questions have one run only: nothing to compare it with"
        return [
            one._replace(outcome=Outcome.UNDECIDED, reason=reason, waiver=waived.get(g.name_of(one.gate)))
            if one.gate.metric in COMPARING and one.outcome is Outcome.PASS
            else one
            for one in judged
        ]

    # describe

    def fate(self, name: MetricName, case: Case, word: Word, value: g.Value) -> Fate:
        """A question with a word counts as scored, errors among its runs or not."""
        if case.fate is not Fate.MISSING and word is not None:
            return Fate.SCORED
        if case.fate in (Fate.MISSING, Fate.ERRORED):
            return case.fate
        refused = case.facts.answerable and all(run.refused for run in case.facts.runs)
        return Fate.REFUSED if refused else Fate.NOT_APPLICABLE

    def undefined(self, name: MetricName, case: Case, value: g.Value) -> str:
        """Why a question is not in a metric's denominator."""
        usual = "answerable" if case.facts.answerable else "not answerable"
        return "no run" if case.facts.missing else _NO_WORD.get(name.id, usual)

    def established(self, case: Case, found: Found) -> dict[str, bool]:
        """What is known of a question: what holds of all its runs."""
        question = case.facts
        return {
            "answerable": question.answerable,
            "missing": question.missing,
            "steady": not question.missing and not question.broken,
            "errored": any(run.errored for run in question.runs),
            "contains": bool(question.runs) and all(run.contains for run in question.runs),
            "hit": bool(question.runs) and all(run.hit for run in question.runs),
            "refused": bool(question.runs) and all(run.refused for run in question.runs),
        }

    def more(self, case: Case, found: Found) -> dict[str, Any]:
        """How many runs there are, and the limits that do not hold."""
        broken = list(map(_broken, case.facts.broken))
        return {"runs": len(case.facts.runs), "noops": len(case.own.noops), "broken": broken}

    def offenders(self, found: Found, most: int) -> list[Offender]:
        """The questions that pull a gate down; the run of each that is shown is read again, all at once."""
        there = (telling(case.own, case.label) for case in shown(found.cases, self.offends, most))
        found.own.again.fetch(one[0] for one in there if one is not None)
        return super().offenders(found, most)

    def offender(self, case: Case, found: Found) -> Offender:
        """A question whose runs do not keep its limits, with the run that shows it best."""
        one: Asked = case.own
        row, says = telling(one, case.label) or (None, None)
        run = None if row is None else found.own.again.run(row)
        answer = (run.answer_json or NO_ANSWER) if run is not None else NO_ANSWER
        limits = list(map(_broken, one.question.broken))
        why, own = _told(case, run, says, found.own.rules)
        return Offender(
            qid=case.qid,
            label=case.label,
            stage=case.stage,
            cause=case.cause,
            why=f"{why}: {', '.join(limits)}" if limits else why,
            question=one.gold.question,
            claim=answer.claim,
            citations=answer.citations if answer.citations is not None else [],
            retrieved_ids=list((run.retrieved_ids if run is not None else None) or []),
            gold_citations=one.gold.gold_citations or [],
            own={
                "runs": len(one.question.runs),
                "run": None if run is None else run_id(run),
                "broken": {
                    broken.name: {"value": float(broken.value), "limit": broken.limit} for broken in one.question.broken
                },
                **own,
            },
        )

    def item(self, case: Case, found: Found) -> Viewed:
        """One question with all its runs."""
        from ragworthy.suites.stability.item import look

        return look(self, case, found)

    def home(self, case: Case, found: Found) -> Home:
        """Where the first gold citation stands, as its id says."""
        return home_of(case.own.gold)

    def extra(self, found: Found) -> Extra:
        """How the questions were asked, and those whose runs agree least."""
        design = design_of([case.own for case in found.cases], found.own.runs)
        limits = found.evidence.settings["limits"]
        return Extra(
            body={"offenders": {"design": design, "worst": _worst(found), "shown": proven(found.cases, limits)}},
            warnings=warnings(found, design),
            steps=steps(found),
        )

    # for people

    def counts_line(self, counts: dict[str, Any]) -> str:
        """How many questions there were, and what became of them."""
        return answered_line(counts)

    def lines(self, body: dict[str, Any]) -> list[str]:
        """How the questions were asked, and those whose runs agree least."""
        return [*lines(body), *shown_lines(body.get("shown", NOTHING), body["settings"]["limits"])]


SUITE = Stability()


def _told(case: Case, run: Run | None, says: st.Said | None, rules: f.Rules) -> tuple[str, dict[str, Any]]:
    """Why a question is named, and what is wrong with the run that is shown. Of errors, the label says how many."""
    gold: Gold = case.own.gold
    shown = Shown(gold.question, None, expected_text(gold))
    if run is None or says is None:
        return shown.told(case.why)
    if says.errored:
        why, own = shown.told(f"{case.why}, e.g. {said_error(run)}")
        return why, own | {"error": said_error(run)}
    if says.claim is not None and run.answer_json is not None:
        lacks = missing_pieces(gold, run, rules) if gold.gold_claim_all and not says.contains else ()
        shown = shown._replace(claim=run.answer_json.claim, missing=lacks)
    return shown.told(case.why)


def _broken(one: st.Broken) -> str:
    """A limit that does not hold, with its number.

    >>> _broken(st.Broken("css", Fraction(0), "0.70")), _broken(st.Broken("ned50", Fraction(7, 26), "0.20"))
    ('css 0.0 < 0.70', 'ned50 0.2692 > 0.20')
    """
    sign = ">" if one.name in st.AT_MOST else "<"
    return f"{one.name} {number(one.value, Fraction(one.limit))} {sign} {one.limit}"


def _worst(found: Found) -> list[dict[str, Any]]:
    """The questions whose runs agree least, those that fail first; none where all runs agree."""
    words = found.summary.words
    alike = [Fraction(1) if word is None else as_number(word) for word in words["stability.iaa"]]
    bad = [nth for nth, case in enumerate(found.cases) if case.facts.broken or alike[nth] < 1]
    bad.sort(key=lambda nth: (not found.cases[nth].facts.broken, alike[nth], nth))
    return [
        {
            "qid": found.cases[nth].qid,
            "runs": len(found.cases[nth].facts.runs),
            "fails": bool(found.cases[nth].facts.broken),
            **{
                name: number(as_number(word)) for name in SHOWN if (word := words[f"stability.{name}"][nth]) is not None
            },
        }
        for nth in bad[:MOST_WORST]
    ]
