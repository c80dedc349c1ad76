"""The latency suite: runs by configuration and load. One configuration is judged; its questions are the cases."""

from collections.abc import Iterable, Sequence
from typing import Any

from ragworthy import gates as g
from ragworthy.metrics.facts.errored import said_error
from ragworthy.metrics.latency import load_name
from ragworthy.metrics.registry import MetricName, Word
from ragworthy.names import DEFAULT_K, HARMLESS, Label
from ragworthy.report.part import Column, Table
from ragworthy.report.sheet import Viewed
from ragworthy.report.show import plural
from ragworthy.rows import MOST, Rows
from ragworthy.suites.answers.missing import fitting
from ragworthy.suites.answers.rules import SCU_GATE
from ragworthy.suites.answers.wording import Shown, expected_text
from ragworthy.suites.clusters import Topic, clusters_of, topic_of
from ragworthy.suites.crowds import Home, home_of
from ragworthy.suites.damage import Damage
from ragworthy.suites.evidence import Bound, Case, Evidence, Extra, Fate, Found, Ledger, Offender, Summary, shown
from ragworthy.suites.in_parts import InParts
from ragworthy.suites.intervals import Part
from ragworthy.suites.kept import counted, rows_of, too_many
from ragworthy.suites.latency import DECLARED, advice, kept, loads
from ragworthy.suites.latency.again import Again
from ragworthy.suites.latency.cases import cases_of, fates_of, label_of, split
from ragworthy.suites.latency.choice import guarded, is_strict
from ragworthy.suites.latency.columns import merged, pass_of
from ragworthy.suites.latency.job import job_of
from ragworthy.suites.latency.measure import (
    Swept,
    configuration_key,
    cost_key,
    counts_of,
    judged_key,
    limits_key,
    names_of,
    slowest_key,
    swept,
)
from ragworthy.suites.latency.rules import ALWAYS
from ragworthy.suites.latency.sweep import Runs, sweep, together, word_of
from ragworthy.suites.latency.variants import variants_key, variants_table
from ragworthy.suites.locked import METRICS as SCU_METRICS
from ragworthy.suites.locked import locks_of
from ragworthy.suites.opened import Opened
from ragworthy.suites.parts import Reading
from ragworthy.suites.request import Request
from ragworthy.suites.slices import fields_of

RESERVED = ("load", "length")
"""Slices that are not fields of the gold set."""
UNKNOWN_LENGTH = "length=unknown"
_LENGTHS = ("length=short", "length=medium", "length=long", UNKNOWN_LENGTH)


class Latency(InParts):
    """Time against accuracy, for each configuration and load."""

    declared = DECLARED
    facts = ("answerable", "answered", "refused", "missing", "errored", "always_good")
    columns = (Column("configuration", "text"), Column("load", "text"), Column("runs", "int"))
    labels = tuple(dict.fromkeys((Label.OK, *Label)))
    always = ALWAYS
    rows_are_questions = False  # they are questions under a load
    reference_note = "profile reference: percentiles are cut to whole milliseconds, and the frontier is the strict one"

    def reading(self, opened: Opened, request: Request) -> Reading:
        """Every run in its cell, every cell with its values, and the configuration that is judged by them."""
        locks = locks_of(request)
        job = job_of(opened, request, locks, self.depths(request) or (DEFAULT_K,), self.slice_fields(request))
        names = names_of(request)
        parts = yield [pass_of(opened["trace"], job, request.damage, whole=any(map(_looks_at_runs, names)))]
        read = merged(opened["trace"], job, request.damage, parts[0])
        judged = any(
            gate.metric.startswith("answers.") and not (gate.optional or gate.kept) for gate in self.gates(request)
        )
        if judged and not any(kind.answers for kind in read.runs.kinds.values):
            from ragworthy.load.bare import stop_if_bare

            stop_if_bare(opened["trace"], "Run", ("answer_json",), "RW-T14", likely=True)
        again = Again(opened["trace"], request.damage)
        found = sweep(job, read.runs)
        found.check(opened["trace"], again, len(read.runs))
        asked = fitting(self.gates(request), job.known)
        own = swept(request, asked, names, job, found, read, again)
        counts = counts_of(job, read, own)
        return Evidence(
            cases=cases_of(job, own),
            records={"gold": len(job.questions), "trace": read.records, **job.records},
            counts=counts,
            settings={
                "profile": request.settings.profile,
                "refusals": list(request.settings.refusals),
                "short_substr": request.settings.short_substr,
                "scu": locks.scu,
                **locks.settings,
                "slices": list(request.settings.slices),
                "allow_gold_errors": request.allow_gold_errors,
            },
            own=own,
            errored=tuple(
                (one.group.errors, len(one.runs.samples), f"runs under load {load_name(one.cell.load)}")
                for one in own.judged
            ),
            missing=(counts["missing"], "measured run"),
            profile=request.settings.profile,
            gold_sha256=opened["gold"].sha256(),
        )

    # the selftest

    def damages(self, request: Request) -> tuple[Damage, ...]:
        """What a selftest does to runs."""
        from ragworthy.suites.latency.damage import damages

        return damages()

    # summarise

    def names(self, request: Request, evidence: Evidence) -> list[MetricName]:
        """Every metric of this suite; of other suites, some on accuracy and those that gates name."""
        return names_of(request)

    def slice_fields(self, request: Request) -> tuple[str, ...]:
        """The gold fields that runs are split by; load and length are not a gold fields."""
        return tuple(field for field in fields_of(request) if field not in RESERVED)

    def own_slices(self, evidence: Evidence) -> tuple[str, ...]:
        """Runs are split by load and by length."""
        return RESERVED

    def word(self, name: MetricName, facts: Runs) -> Word:
        """The value over the runs of a question."""
        return facts.value(name).exact

    def value(self, name: MetricName, cases: Sequence[Case], words: Sequence[Word]) -> g.Value:
        """The value over all runs of some questions: percentiles need every run, not a word for each question."""
        return together(case.facts for case in cases).value(name)

    def whole(self, name: MetricName, cases: Sequence[Case]) -> g.Value:
        """The value of all runs at once."""
        return self.value(name, cases, ())

    def adjust(self, request: Request, evidence: Evidence, summary: Summary) -> Summary:
        """Add values at each load, for each length of questions, and at each load those of slices that gates name.

        A slice of which no question was asked is left out.
        """
        own, cases = evidence.own, evidence.cases
        asked = {None, *(name for case in cases if case.facts.samples for name in case.slices)}
        values = {key: value for key, value in summary.values.items() if key[0] in asked}
        for one in own.judged if own.at.cell.load is not None else ():
            here = str(loads.Spot(None, load_name(one.cell.load)))
            values |= {(here, name): value for name, value in one.values.items()}
        groups = {name: runs for name, runs in split(own.at, cases).items() if name not in asked}
        if asked == {None} and set(groups) == {UNKNOWN_LENGTH}:
            groups = {}  # of no question a length is known: that is not a split
        gated = {loads.Spot.of(gate.slice).questions for gate in request.gates}
        for one in own.judged if len(own.judged) > 1 else ():
            there = split(one, cases)
            groups |= {str(loads.Spot(name, load_name(one.cell.load))): there[name] for name in there if name in gated}
        values |= {(group, name.id): runs.value(name) for group, runs in groups.items() for name in summary.names}
        return summary._replace(values=values)

    def topics(self, evidence: Evidence, cases: Sequence[Case]) -> Iterable[Topic]:
        """The document of the first gold citation."""
        bound = evidence.own.bound
        return (topic_of(case.own.gold, None if bound is None else bound.docs) for case in cases)

    def kept_rows(self, request: Request, evidence: Evidence, summary: Summary) -> Rows | str:
        """A row for each question under each load of the judged configuration; `kept` says how they are named."""
        cases, loads_there = evidence.cases, len(evidence.own.judged)
        if len(cases) * loads_there > MOST:
            return too_many(len(cases) * loads_there)
        clusters = clusters_of([case.qid for case in cases], self.topics(evidence, cases)).by(request.cluster)
        given = list(kept.spoken(evidence))
        names = [name for name in summary.names if name.id in counted(summary)]
        rows = rows_of(
            [
                one.case._replace(
                    qid=one.key,
                    label=one.label,
                    slices=one.slices,
                    good=one.good,
                    cause=one.case.cause if one.highest else None,
                )
                for one in given
            ],
            {name.id: [kept.word(name, one.runs) for one in given] for name in names},
            clusters * loads_there,
            runs=[len(one.runs.samples) for one in given],
        )
        return rows if isinstance(rows, str) else kept.with_loads(rows, given, summary)

    def parts(self, name: MetricName, evidence: Evidence, summary: Summary) -> list[Part]:
        """Every run counts as much as any other."""
        if name.metric.kind == "share":
            return super().parts(name, evidence, summary)
        return [kept.parts(name, one.runs) for one in kept.spoken(evidence)]

    def members(self, rows: Rows, group: str | None) -> list[int]:
        """The rows of a slice under its load; without a load, those of the highest one."""
        return kept.members(rows, group)

    def slice_order(self, groups: Iterable[str]) -> list[str]:
        """Loads from the lowest, lengths from the shortest, then the others."""
        there = list(groups)
        first = [group for group in there if loads.Spot.of(group).questions is None]
        first += [group for group in _LENGTHS if group in there]
        return first + sorted(set(there) - set(first))

    # judge

    def gates(self, request: Request) -> tuple[g.Gate, ...]:
        """The gates asked for, and always one on errors: a pipeline that fails at once must not win by its speed. Where
        constraints are checked, no answer may break one, unless a gate says something else of them.
        """
        there = {(gate.metric, gate.op) for gate in request.gates if gate.slice is None}
        missing = [gate for gate in self.always if (gate.metric, gate.op) not in there]
        if request.settings.scu and not any(gate.metric in SCU_METRICS for gate in request.gates):
            missing.append(SCU_GATE._replace(suite=self.name))
        if request.gates and all(gate.evidence == "interval" for gate in request.gates):
            missing = [gate._replace(evidence="interval") for gate in missing]
        return (*request.gates, *missing)

    def bind(self, request: Request, evidence: Evidence, summary: Summary, baseline: g.Baseline | None) -> Bound:
        """Every gate at every load of the judged configuration; with a baseline the guard too, as a default gate."""
        names = [load_name(one.cell.load) for one in evidence.own.judged]
        before = loads.baseline_at(baseline, names)
        asked = self.gates(request)
        asked = guarded(asked) if before is not None and request.defaults else asked
        gates = loads.gates_at(fitting(asked, evidence.own.known), names, before)
        return Bound(gates, before, loads.waivers_at(request.waivers, gates))

    def judges_one(self, name: MetricName) -> bool:
        """Times and costs have no best value."""
        return name.metric.over != "run" and super().judges_one(name)

    def says(self, name: MetricName, case: Case, evidence: Evidence) -> bool | None:
        """Whether every run of a question is as it should be, at every load."""
        said = [word_of(name, one) for one in case.own.everywhere if one.facts is not None]
        good = bool(said) and all(word is not None and self.good(name, word) for word in said)
        return good == (name.metric.better == "higher")

    # describe

    def ledger(self, name: MetricName, found: Found) -> Ledger:
        """Where every run went, and every question without one."""
        runs: Runs = found.own.at.runs
        counts = fates_of(name, runs.samples)
        counts[Fate.MISSING] = runs.questions - runs.asked
        return Ledger.of(counts)

    def lacks(self, word: Word, value: g.Value) -> bool:
        """Whether a question has no value of its own; that the whole has none does not matter."""
        return word is None

    def undefined(self, name: MetricName, case: Case, value: g.Value) -> str:
        """Why the runs of a question have no value."""
        return case.facts.value(name).undefined or "" if case.facts.samples else "no run"

    def offends(self, case: Case) -> bool:
        """Whether an answer is not as it should be; a question that was not asked has none."""
        return super().offends(case) and bool(case.facts.samples)

    def established(self, case: Case, found: Found) -> dict[str, bool]:
        """What is known of a question: what holds of any of its runs."""
        samples = case.facts.samples
        facts = [one.facts for one in samples if one.facts is not None]
        return {
            "answerable": case.own.gold.answerable,
            "answered": any(one.shipped for one in facts),
            "refused": any(one.refused for one in facts),
            "missing": not samples,
            "errored": any(one.errored for one in samples),
            "always_good": bool(facts) and case.label in HARMLESS,
        }

    def more(self, case: Case, found: Found) -> dict[str, Any]:
        """How many runs there are, and of what."""
        cell = found.own.at.cell
        return {"runs": len(case.facts.samples), "configuration": cell.config, "load": load_name(cell.load)}

    def offenders(self, found: Found, most: int) -> list[Offender]:
        """The questions that pull a gate down; what their worst runs said is read again, all at once."""
        found.own.again.fetch(case.own.worst for case in shown(found.cases, self.offends, most))
        return super().offenders(found, most)

    def offender(self, case: Case, found: Found) -> Offender:
        """A question with the worst of its runs."""
        samples, worst, gold = case.facts.samples, case.own.worst, case.own.gold
        run = found.own.again.run(worst)
        answer = run.answer_json
        bad = sum(label_of(one) not in (None, *HARMLESS) for one in samples)
        runs = plural(len(samples), "run")
        claim = answer.claim if answer is not None and worst.facts is not None and worst.facts.shipped else None
        error = said_error(run) if worst.errored else None
        why, own = Shown(gold.question, claim, expected_text(gold), case.own.missing, error).told(case.why)
        return Offender(
            qid=case.qid,
            label=case.label,
            stage=case.stage,
            cause=case.cause,
            why=why if len(samples) == 1 else f"{why} ({bad} of {runs} not as they should be)",
            question=gold.question,
            claim=answer.claim if answer is not None else None,
            citations=answer.citations if answer is not None and answer.citations is not None else [],
            retrieved_ids=run.retrieved_ids or [],
            gold_citations=gold.gold_citations or [],
            own={"e2e_ms": float(worst.timed.e2e), "runs": len(samples), "bad_runs": bad} | own,
        )

    def item(self, case: Case, found: Found) -> Viewed:
        """One question with its runs under every configuration and load."""
        from ragworthy.suites.latency.item import look

        return look(self, case, found)

    def home(self, case: Case, found: Found) -> Home:
        """Where the first gold citation stands, as its id says."""
        return home_of(case.own.gold)

    def extra(self, found: Found) -> Extra:
        """What was chosen and why, every configuration, the slowest runs, and what all of it cost."""
        own: Swept = found.own
        settings = found.request.settings
        selection = {
            "configuration": settings.configuration,
            "use": settings.use,
            "frontier": "strict" if is_strict(settings) else "usual",
            "batch_p95": settings.batch_p95,
        }
        variants = variants_key(own.at.runs, found.summary.names)
        return Extra(
            body={
                "frozen": {"selection": selection},
                "metrics": {
                    "judged": judged_key(own),
                    "chosen": own.choice.uses,
                    "limits": limits_key(found.judged),
                },
                "labels": {"configurations": list(map(configuration_key, own.measured))},
                "offenders": {"slowest": slowest_key(own, found.cases), "cost": cost_key(own.prices)},
                "slices": {} if variants is None else {"variants": variants},
            },
            warnings=advice.warnings(found),
            steps=advice.steps(found),
            files={"plot": _plot},
        )

    # for people

    def counts_line(self, counts: dict[str, Any]) -> str:
        """How many questions and runs there were."""
        sides = f"{counts['answerable']:,} answerable, {counts['unanswerable']:,} not"
        cells = f"{plural(counts['configurations'], 'configuration')} and {plural(counts['loads'], 'load')}"
        runs = f"{plural(counts['measured'], 'run')} measured in {cells}"
        return f"{plural(counts['gold'], 'question')} ({sides}), {runs}, {plural(counts['errored'], 'error')}"

    def lines(self, body: dict[str, Any]) -> list[str]:
        """What was judged, where the time went, what it cost."""
        return advice.lines(body)

    def tables(self, body: dict[str, Any]) -> list[Table]:
        """Every configuration under every load, and every seed and wording of the judged one."""
        variants = body.get("variants")
        return [advice.table(body), *([variants_table(variants)] if variants else [])]


SUITE = Latency()


def _looks_at_runs(name: MetricName) -> bool:
    """Whether a metric may look at anything of a run: one of a plugin, where it is given runs."""
    return name.metric.over != "question" and not name.metric.of.__module__.startswith("ragworthy.")


def _plot(body: dict[str, Any], suffix: str) -> bytes:
    from ragworthy.suites.latency.plot import drawn

    return drawn(body, suffix)
