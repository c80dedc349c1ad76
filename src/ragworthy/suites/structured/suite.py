"""The structured suite: every question with what its JSON answer is worth, field by field, is one case."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from fractions import Fraction
from functools import partial, update_wrapper
from typing import Any

from ragworthy import gates as g
from ragworthy.collector import without_gc
from ragworthy.load.questions import open_questions
from ragworthy.load.sources import Source
from ragworthy.metrics import reference_structured
from ragworthy.metrics.answer_json import parse
from ragworthy.metrics.context import files_of
from ragworthy.metrics.definition import Definition
from ragworthy.metrics.fold import value_of
from ragworthy.metrics.grading import Scored, losses, why
from ragworthy.metrics.registry import MetricName, Word
from ragworthy.metrics.structured import metrics_of, part
from ragworthy.names import HARMLESS, SEVERITY, Failure, Label
from ragworthy.records import StructuredGold, StructuredOutput
from ragworthy.report.part import Column, Part
from ragworthy.report.sheet import Viewed
from ragworthy.suites.clusters import Topic
from ragworthy.suites.damage import Damage
from ragworthy.suites.evidence import Case, Evidence, Extra, Found, Offender, Row, Step, Summary
from ragworthy.suites.examine import Seen, usual
from ragworthy.suites.in_parts import InParts
from ragworthy.suites.opened import Opened
from ragworthy.suites.parts import Reading
from ragworthy.suites.request import Request
from ragworthy.suites.structured import DECLARED, WHOLE, provenance
from ragworthy.suites.structured.advice import counts_line, fail_counts, lines, steps, warnings
from ragworthy.suites.structured.mark import again
from ragworthy.suites.structured.passes import pass_of
from ragworthy.suites.structured.read import (
    Columns,
    Graded,
    asked_of,
    cases_of,
    check_profile,
    counts_of,
    cut_of,
    job_of,
    mark_all,
)
from ragworthy.suites.structured.rules import ALWAYS
from ragworthy.suites.structured.subset import in_two_steps
from ragworthy.text import visible

SCORES = ("structured.score", "structured.score_median", "structured.score_p95")
"""Metrics of the score: of one question alone all three say the same, so that a row has only the first."""
OF_ANSWER = (*SCORES, "structured.schema_pass_rate", "structured.missing")
"""Metrics of the whole answer."""
PLACES = 3
"""An item's score is reported to so many places."""
QUOTED = 300
"""Characters of an answer that an offender shows."""


class Structured(InParts):
    """JSON answers against expected fields."""

    declared = DECLARED
    facts = ("schema_ok", "missing", "errored", "repair_used", "over_limit")
    columns = (
        Column("schema_ok", "bool"),
        Column("fail_reason", "text"),
        Column("fail_detail", "text"),
        Column("counts", "counts"),
    )
    always = ALWAYS
    reference_note = "profile reference: answers that fail are left out of the means"

    def open(self, key: str, role: str, given: Any) -> Source:
        """Questions may be an array or a subset, too."""
        return open_questions(role, given)

    def steps(self, request: Request, score: Callable[[Request], Part]) -> Step | Part:
        """The subset first where there is one, and the whole set only when that passes."""
        check_profile(request)  # before any file is opened
        return Step(request) if request.get("subset") is None else in_two_steps(request, score)

    def during(self) -> AbstractContextManager[None]:
        """There are many answers, and nothing of them goes in circles."""
        return without_gc()

    def reading(self, opened: Opened, request: Request) -> Reading:
        """Every question with what its output is worth."""
        job = job_of(opened, request)
        made = provenance.read(request.get("provenance"), request.get("prompt"))
        asked = asked_of(job, opened)
        parts = yield [pass_of(job, asked.questions, opened["trace"], asked.flaws, opened.sources)]
        marked = mark_all(job, opened, asked, parts[0])
        whole = request.get(WHOLE, opened["gold"])
        of_subset = whole is not opened["gold"]
        told = provenance.told(made, opened, marked, job.definition, request)
        cut = cut_of(job, marked.questions.slices, request, of_subset=of_subset)
        counts = counts_of(marked, of_subset=of_subset)
        return Evidence(
            cases=cases_of(marked, job.definition, cut.left_out),
            records={"gold": counts["gold"], "trace": counts["outputs"]},
            counts=counts,
            settings={
                "definition": {"id": job.definition.id, "sha256": job.definition.sha256},
                "repair": job.repair,
                "slices": list(dict.fromkeys((*job.definition.strata, *request.settings.slices))),
                "allow_gold_errors": request.allow_gold_errors,
            },
            own=Graded(job, marked, told, cut, Columns.of(job.definition)),
            errored=((counts["errored"], counts["gold"], "questions"),),
            missing=(counts["missing"], "output"),
            invalid=tuple(told.invalid),
            profile=request.settings.profile,
            gold_sha256=whole.sha256(),
            provenance=told.fields,
        )

    # the doctor and the selftest

    def examined(self, request: Request, seen: Seen) -> list[str]:
        """The usual, without metrics that have no value: why there are none is said above them."""
        return usual(seen, self.counts_line(seen.body["counts"]), idle=False)

    def in_full(self, request: Request) -> Request:
        """Without the dev subset: what is gated is the whole set."""
        return request.with_given(subset=None)

    def damages(self, request: Request) -> tuple[Damage, ...]:
        """What a selftest does to outputs."""
        from ragworthy.suites.structured.damage import damages

        return damages()

    # summarise

    def names(self, request: Request, evidence: Evidence) -> list[MetricName]:
        """The metrics of the whole answer, then one for each field of the definition."""
        definition: Definition = evidence.own.definition
        metrics = metrics_of(definition)
        for nth, field in enumerate(definition.fields):  # all fields share one function, which asks for the number
            of = update_wrapper(partial(part, nth=nth), part)
            metrics[_id(field.name)] = metrics[_id(field.name)]._replace(of=of)
        return [MetricName(metric, None) for metric in metrics.values()]

    def own_slices(self, evidence: Evidence) -> tuple[str, ...]:
        """The strata of the definition, unless they were asked for."""
        free: tuple[str, ...] = evidence.own.cut.free
        return free

    def word(self, name: MetricName, facts: Scored) -> Word:
        """What a metric says of the one answer that a question has."""
        word: Word = name.metric.of(facts) if name.metric.over != "all" else None
        return word

    def value(self, name: MetricName, cases: Sequence[Case], words: Sequence[Word]) -> g.Value:
        """One number; its interval rests on different questions, not on repeated ones."""
        different = len({case.own for case in cases})
        return value_of(name.metric, words, independent=different if different < len(cases) else None)

    def topics(self, evidence: Evidence, cases: Sequence[Case]) -> Iterable[Topic]:
        """The first file that a right answer names; a question that is asked again is the same one."""
        topics: list[Topic] = evidence.own.marked.questions.topics
        return topics

    def adjust(self, request: Request, evidence: Evidence, summary: Summary) -> Summary:
        """The original program takes the 95th percentile in its own way."""
        if evidence.profile != "reference":
            return summary
        values, groups = dict(summary.values), self.groups(evidence.cases)
        for name in (one for one in summary.names if one.metric.kind == "p95" and one.id in summary.words):
            words = summary.words[name.id]
            for group, members in groups.items():
                counted: list[Any] = [words[nth] for nth in members if words[nth] is not None]
                if counted:
                    last, usual = reference_structured.p95(counted), values[group, name.id]
                    values[group, name.id] = usual._replace(num=last.numerator, den=last.denominator, interval=None)
        return summary._replace(values=values)

    # judge

    def case_of(self, evidence: Evidence, qid: str) -> Case | None:
        """A question by its id."""
        place = evidence.own.marked.questions.place.get(qid)
        return None if place is None else evidence.cases[place]

    def says(self, name: MetricName, case: Case, evidence: Evidence) -> bool | None:
        """What a question says alone: a good score, a valid answer, a field that is worth all it can be."""
        item: Scored = case.facts
        fields = evidence.own.columns.fields
        if name.id in fields:
            return bool(item.parts) and item.parts[fields.index(name.id)] == 1
        if name.id == "structured.schema_pass_rate":
            return item.ok
        if name.id == "structured.missing":
            return item.reason is Failure.MISSING
        if name.id in SCORES:
            return bool(item.score >= evidence.own.definition.good)
        return super().says(name, case, evidence)

    # describe

    def rows(self, found: Found) -> Iterator[Row]:
        """Every question's row, in gold order; it has all its own numbers from the answer."""
        said = {name.id: found.summary.words.get(name.id) for name in _others(found)}
        for nth, case in enumerate(found.cases):
            yield self.row(case, {name: None if words is None else words[nth] for name, words in said.items()}, found)

    def row(self, case: Case, words: Mapping[str, Word], found: Found) -> Row:
        """The row of one question: its score and its parts, also where they do not count; then metrics of others."""
        item: Scored = case.facts
        fields = found.own.columns.fields
        whole = {
            "structured.score": points(item.score),
            "structured.schema_pass_rate": float(item.ok),
            "structured.missing": float(item.reason is Failure.MISSING),
        }
        others = [name for name in found.summary.names if name.id in words] if words else []
        metrics, undefined = self.numbers(others, case, words, found)
        return Row(
            qid=case.qid,
            label=None if case.label is None else case.label.value,
            stage=None if case.stage is None else case.stage.value,
            cause=None if case.cause is None else case.cause.value,
            metrics=whole | dict(zip(fields, map(float, item.parts), strict=False)) | metrics,
            undefined=dict.fromkeys(fields[len(item.parts) :], "the answer has no parts") | undefined,
            facts=self.established(case, found),
            own=self.more(case, found),
        )

    def undefined(self, name: MetricName, case: Case, value: g.Value) -> str:
        """Why a question has no value of a metric."""
        missing = case.facts.reason is Failure.MISSING
        return "no output" if missing else super().undefined(name, case, value)

    def established(self, case: Case, found: Found) -> dict[str, bool]:
        """What is known of an answer."""
        item: Scored = case.facts
        return {
            "schema_ok": item.ok,
            "missing": item.reason is Failure.MISSING,
            "errored": item.reason is Failure.PROVIDER_ERROR,
            "repair_used": item.repaired,
            "over_limit": bool(item.over),
        }

    def more(self, case: Case, found: Found) -> dict[str, Any]:
        """Why an answer fails, and what its parts were counted from."""
        item: Scored = case.facts
        return {
            "schema_ok": item.ok,
            "fail_reason": _reason(item),
            "fail_detail": item.detail or None,
            "counts": _counted(found.own.columns, item),
        }

    def offenders(self, found: Found, most: int) -> list[Offender]:
        """The questions that pull a gate down, worst first; repeated questions come after all different ones."""
        bad = [nth for nth, case in enumerate(found.cases) if case.label not in HARMLESS]
        bad.sort(key=lambda nth: _badness(found.cases[nth]))  # equal ones stay in gold order
        seen: Counter[int] = Counter()
        turn: dict[int, int] = {}
        for nth in bad:
            text = found.cases[nth].own
            turn[nth] = seen[text]
            seen[text] += 1
        chosen = sorted(bad, key=turn.__getitem__)[:most]
        records = again(found.own.job, found.own.marked, chosen)
        return [
            _offender(found.cases[nth], found.own.definition, gold, output)
            for nth, (gold, output) in zip(chosen, records, strict=True)
        ]

    def extra(self, found: Found) -> Extra:
        """Why answers failed, and how they were made."""
        return Extra(
            body={
                "metrics": {"fail_counts": fail_counts(found)},
                "warnings": {"subset": None},
            },
            warnings=warnings(found),
            steps=steps(found),
        )

    def known(self, found: Found) -> Iterable[str]:
        """The id of every question."""
        place: Mapping[str, int] = found.own.marked.questions.place
        return place

    def items(self, found: Found, names: Sequence[str]) -> list[Viewed]:
        """Single answers, field by field."""
        from ragworthy.suites.structured.item import look

        return look(self, found, names)

    def said(self, case: Case, found: Found) -> Row:
        """The row of one question, with what metrics of others say of it."""
        nth = found.own.marked.questions.place[case.qid]
        words = {name.id: found.summary.words.get(name.id) for name in _others(found)}
        return self.row(case, {name: None if said is None else said[nth] for name, said in words.items()}, found)

    # for people

    def counts_line(self, counts: dict[str, Any]) -> str:
        """How many questions there were, and what became of them."""
        return counts_line(counts)

    def pulls_down(self, offender: dict[str, Any], metric: str) -> bool:
        """An answer of the right shape has nothing to do with the share of those, nor a field that lost nothing."""
        name = metric.removeprefix("structured.")
        if name == "schema_pass_rate":
            return offender["fail_reason"] is not None
        return "lost" not in offender or name.startswith(("score", "schema_pass_rate")) or name in offender["lost"]

    def lines(self, body: dict[str, Any]) -> list[str]:
        """Why answers failed, what the subset said, and how the answers were made."""
        return lines(body)


SUITE = Structured()


def _others(found: Found) -> list[MetricName]:
    """The metrics that come from elsewhere: neither of the whole answer nor of a field."""
    own = {*OF_ANSWER, *found.own.columns.fields}
    return [name for name in found.summary.names if name.id not in own]


def _id(field: str) -> str:
    return f"structured.{field}"


def _reason(item: Scored) -> str | None:
    return None if item.reason is None else item.reason.value


def points(score: Fraction) -> float:
    """A score as it is reported: three places, half to even.

    >>> points(Fraction(200, 3)), points(Fraction(100))
    (66.667, 100.0)
    """
    scale: int = 10**PLACES
    whole, rest = divmod(score.numerator * scale, score.denominator)  # rounding a fraction takes ten times as long
    up = 2 * rest > score.denominator or (2 * rest == score.denominator and whole % 2 == 1)
    return (whole + 1 if up else whole) / scale


def _counted(columns: Columns, item: Scored) -> dict[str, int]:
    """What the parts were counted from, e.g. `detailed_description.matched`."""
    named: dict[str, int] = {}
    for names, counts in zip(columns.counts, item.counts, strict=False):
        named.update(zip(names, counts, strict=False))
    return named


def _badness(case: Case) -> tuple[int, Fraction]:
    """The worst label first, of equal ones the lowest score."""
    return SEVERITY[case.label or Label.OK], case.facts.score


def _offender(case: Case, definition: Definition, gold: StructuredGold, output: StructuredOutput | None) -> Offender:
    """A question whose answer is not good, with what was expected and what was written."""
    item: Scored = case.facts
    raw, chunks = (output.raw, output.context or []) if output is not None else (None, [])
    answer = (parse(raw or "").value or {}) if output is not None else {}
    return Offender(
        qid=case.qid,
        label=case.label,
        stage=case.stage,
        cause=case.cause,
        why=visible(why(definition, item)),
        question=gold.question,
        claim=None if raw is None else raw[:QUOTED],
        citations=files_of(answer.get("source_map")),
        retrieved_ids=list(dict.fromkeys(chunk.source_path for chunk in chunks if chunk.source_path)),
        gold_citations=files_of((gold.expected or {}).get("source_map")),
        own={
            "score": points(item.score),
            "lost": {one.field.name: points(one.points) for one in losses(definition, item)} if item.parts else {},
            "fail_reason": _reason(item),
        },
    )
