"""The structured suite: the same steps as the others, twice where a dev subset must pass first."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragworthy import gates as g
from ragworthy.errors import DataError, PolicyError, Problem, data_error, policy_error, usage_error
from ragworthy.load.definition import bundled, load_definition
from ragworthy.load.extras import Earlier, Lock, load_lock, load_report
from ragworthy.load.questions import open_questions, question_lines, read_subset
from ragworthy.load.sources import FileSource, Source
from ragworthy.metrics import reference_structured
from ragworthy.metrics.definition import Definition
from ragworthy.metrics.grading import Scored
from ragworthy.metrics.registry import Metric
from ragworthy.metrics.structured import metrics_of, part
from ragworthy.names import Failure, Verdict
from ragworthy.records import StructuredGold, StructuredOutput
from ragworthy.report.part import Part
from ragworthy.suites import common as evidence
from ragworthy.suites.fold import value_of
from ragworthy.suites.fork import processes, without_gc
from ragworthy.suites.reading import Flaws
from ragworthy.suites.request import Progress, Request
from ragworthy.suites.structured import describe, provenance
from ragworthy.suites.structured import mark as engine
from ragworthy.suites.structured.graded import Graded, Step
from ragworthy.suites.structured.rules import ALWAYS

MOST_SLICES = 200


class Inputs(NamedTuple):
    """Everything that is read, opened."""

    gold: Source
    outputs: Source
    definition: Definition
    lock: Lock | None
    lock_path: Path | None
    earlier: Earlier | None
    made: provenance.Made
    whole: str | None = None
    """The hash of the whole set, where these are the questions of a subset."""

    def check_unchanged(self) -> None:
        """Raise when a file changed while it was being read."""
        for source in (self.gold, self.outputs):
            if isinstance(source, FileSource):
                source.check_unchanged()


def score(request: Request, progress: Progress | None = None) -> Part:
    """Score the structured suite: the subset first where there is one, and the whole set only when that passes."""
    with without_gc():
        return _steps(request, progress)


def _steps(request: Request, progress: Progress | None) -> Part:
    if request.get("subset") is None:
        return _score(request, _open(request, request.get("questions")), progress)
    whole = _open(request, request.get("questions"))
    _check_subset(request.get("subset"), whole)
    subset = open_questions("gold", request.get("subset"))
    inputs = whole._replace(gold=subset, earlier=None, whole=whole.gold.sha256())
    first = _score(request._replace(gates=_of_whole(request.gates)), inputs, None)
    verdict = g.verdict(first.judged, first.invalid)
    step = Step(str(verdict), first.body["counts"]["gold"], {one.gate.metric: one.outcome for one in first.judged})
    if verdict is not Verdict.SHIP:
        return describe.stopped(first, step)
    return _score(request, whole, progress, step)


def _of_whole(gates: Sequence[g.Gate]) -> tuple[g.Gate, ...]:
    """The gates that a subset is judged by: those that need neither a baseline nor one slice or question."""
    return tuple(gate for gate in gates if gate.op in (g.MIN, g.MAX) and gate.slice is None)


def _score(request: Request, inputs: Inputs, progress: Progress | None, step: Step | None = None) -> Part:
    job = job_of(request, inputs)
    marked = _mark(job, inputs, progress)
    metrics = metrics_of(inputs.definition)
    _check_slices(request, inputs, marked)
    values, cut = _summarise(request, marked, metrics, inputs.definition)
    gold_sha256 = inputs.gold.sha256()
    settings = _settings(request, inputs)
    judged = g.judge(
        _gates(request),
        values,
        baseline=evidence.baseline(inputs.earlier, gold_sha256, settings, request.settings.profile),
        waivers=request.waivers,
        each=_each(request, marked, inputs.definition),
    )
    told = provenance.told(inputs.made, marked, inputs.gold, inputs.outputs, inputs.definition, request)
    found = Graded(
        **_marked(marked, some=inputs.whole is not None),
        definition=inputs.definition,
        names=list(metrics),
        values=values,
        judged=judged,
        inputs=_listed(inputs, marked),
        settings=settings,
        frozen=evidence.frozen(request, inputs.lock, inputs.whole or gold_sha256),
        baseline_verdict=inputs.earlier.verdict if inputs.earlier else None,
        provenance=told.fields,
        lacking=told.lacking,
        doubtful=told.doubtful,
        invalid=told.invalid,
        step=step,
        slices_cut=cut,
        shown=partial(engine.again, job, marked),
        most_offenders=request.most_offenders,
    )
    return describe.part(
        found,
        provenance=evidence.provenance(request, inputs.lock, inputs.lock_path, inputs.earlier),
        evidence={"rows_sha256": evidence.rows_hash(describe.rows(found)), "provenance": told.fields},
    )


def _marked(marked: engine.Marked, *, some: bool) -> dict[str, Any]:
    """What the report needs of what the engine found; of `some` questions, the outputs of the others are no strays."""
    return {
        "qids": marked.questions.names,
        "items": marked.items,
        "distinct": marked.questions.distinct,
        "distinct_expected": marked.questions.distinct_expected,
        "outputs": marked.outputs,
        "replaced": marked.replaced,
        "orphans": 0 if some else marked.orphans,
        "orphan_ids": [] if some else marked.orphan_ids,
        "text_ids": marked.questions.text_ids,
        "gaps": marked.gaps,
    }


# load


def _open(request: Request, questions: Any) -> Inputs:
    definition = request.get("definition")
    if request.settings.profile == "reference" and (definition is not None or request.settings.repair):
        raise usage_error("the profile reference has its own definition and repairs nothing")
    lock_path = evidence.lock_of(request)
    return Inputs(
        gold=open_questions("gold", questions),
        outputs=open_questions("trace", request.get("outputs")),
        definition=load_definition(definition) if definition is not None else bundled(),
        lock=load_lock(lock_path) if lock_path is not None else None,
        lock_path=lock_path,
        earlier=load_report(request.baseline, "structured") if request.baseline is not None else None,
        made=provenance.read(request.get("provenance")),
    )


def opened(request: Request) -> tuple[engine.Job, engine.Marked, Definition]:
    """Everything scored, for a look at single items."""
    inputs = _open(request, request.get("questions"))
    job = job_of(request, inputs)
    return job, _mark(job, inputs, None), inputs.definition


def job_of(request: Request, inputs: Inputs) -> engine.Job:
    """What the engine is asked to do."""
    return engine.Job(
        questions=evidence.reader(inputs.gold, StructuredGold),
        outputs=evidence.reader(inputs.outputs, StructuredOutput),
        definition=inputs.definition,
        reference=request.settings.profile == "reference",
        repair=request.settings.repair,
        parts=processes(request.jobs, inputs.outputs.size, inputs.outputs.splits),
        slice_fields=tuple(dict.fromkeys((*inputs.definition.strata, *evidence.slice_fields(request)))),
        allow_gold_errors=request.allow_gold_errors,
        damage=request.damage,
    )


def _mark(job: engine.Job, inputs: Inputs, progress: Progress | None) -> engine.Marked:
    flaws = Flaws()
    questions = engine.read_questions(job, flaws)
    if not flaws.count and not questions.names:
        raise data_error("RW-G05", "expected questions, got none", where=inputs.gold.given)
    marked = engine.mark(job, questions, flaws, evidence.told(progress, inputs.outputs.size))
    if flaws.count:
        by_role = {"gold": inputs.gold, "trace": inputs.outputs}
        raise DataError(list(evidence.problems(flaws, by_role)), flaws.count)
    if 0 < marked.gaps["raw"] == marked.meta.outputs:
        message = "expected a string, got nothing in every output"
        raise data_error("RW-T02", message, where=inputs.outputs.given, field="raw")
    inputs.check_unchanged()
    return marked


def _check_subset(path: Path, whole: Inputs) -> None:
    """A subset must have been drawn from the very file that is scored after it."""
    subset = read_subset(path)
    now = whole.gold.sha256()
    if subset.parent.sha256 != now:
        message = f"expected a subset of {whole.gold.given} (sha256 {now}), got one of {subset.parent.sha256}"
        raise data_error("RW-Q04", message, where=str(path), field="parent.sha256")
    size = min(subset.size, subset.parent.distinct)
    if len(subset.questions) != size:
        message = f"expected {size} questions, as were drawn, got {len(subset.questions)}"
        raise data_error("RW-Q04", message, where=str(path), field="questions")
    drawn = {_id(row): row for row in subset.questions}
    for number, line in question_lines(whole.gold):
        try:
            row = msgspec.json.decode(line) if line.strip() else {}
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            message = "expected the JSON of a question, got what cannot be read"
            raise data_error("RW-F07", message, where=f"{whole.gold.given}:{number}") from None
        if isinstance(row, dict) and drawn.get(_id(row)) == row:
            del drawn[_id(row)]
    if drawn:
        message = f'expected the questions as {whole.gold.given} has them, got another "{next(iter(drawn))}"'
        raise data_error("RW-Q04", message, where=str(path), field="questions")


def _id(row: dict[str, Any]) -> str:
    return str(row.get("id") or row.get("qid") or "")


# summarise

Values = dict[tuple[str | None, str], g.Value]


def _check_slices(request: Request, inputs: Inputs, marked: engine.Marked) -> None:
    """Every field to split by must be one of the questions; a subset need not have those of the other questions."""
    there = {name for slices in marked.questions.slices for name in slices}
    for field in request.settings.slices if inputs.whole is None else ():
        if not any(name.startswith(f"{field}=") for name in there):
            raise policy_error(
                "RW-P03",
                f'expected a field that questions have, got "{field}"',
                where=str(request.policy or ""),
                field="slices",
            )


def _summarise(
    request: Request, marked: engine.Marked, metrics: dict[str, Metric], definition: Definition
) -> tuple[Values, int]:
    """Every metric for all questions and for each slice, and how many slices were left out."""
    groups: dict[str | None, list[int]] = {None: list(range(len(marked.items)))}
    for nth, slices in enumerate(marked.questions.slices):
        for name in slices:
            groups.setdefault(name, []).append(nth)
    kept, cut = _largest(groups, {gate.slice for gate in request.gates})
    reference = request.settings.profile == "reference"
    values: Values = {}
    for group, members in kept.items():
        different = len({marked.questions.text_ids[nth] for nth in members})
        independent = different if different < len(members) else None
        items = [marked.items[nth] for nth in members]
        for name, metric in metrics.items():
            words = _words(metric, items, definition)
            value = value_of(metric, words, independent=independent)
            if reference and metric.kind == "p95" and value.undefined is None:
                last = reference_structured.p95([word for word in words if word is not None])
                value = value._replace(num=last.numerator, den=last.denominator, interval=None)
            values[group, name] = value
    return values, cut


def _largest(groups: dict[str | None, list[int]], gated: set[str | None]) -> tuple[dict[str | None, list[int]], int]:
    """At most so many slices, those that gates name among them."""
    if len(groups) - 1 <= MOST_SLICES:
        return groups, 0
    order = sorted(groups, key=lambda name: (name is not None, name not in gated, -len(groups[name]), name or ""))
    kept = set(order[: MOST_SLICES + 1])
    return {name: members for name, members in groups.items() if name in kept}, len(groups) - len(kept)


def _words(metric: Metric, items: Sequence[Scored], definition: Definition) -> list[Any]:
    if metric.of is not part:
        return [metric.of(item) for item in items]
    nth = [f"structured.{field.name}" for field in definition.fields].index(metric.id)
    return [part(item, nth=nth) for item in items]


# judge


def _gates(request: Request) -> tuple[g.Gate, ...]:
    (always,) = ALWAYS
    there = any(gate.metric == always.metric for gate in request.gates)
    return request.gates if there else (*request.gates, always)


def _each(request: Request, marked: engine.Marked, definition: Definition) -> dict[tuple[str, str], bool | None]:
    """What each must_pass question says: a good score, a valid answer, a field that is worth all it can be."""
    said: dict[tuple[str, str], bool | None] = {}
    fields = {f"structured.{field.name}": nth for nth, field in enumerate(definition.fields)}
    for gate in request.gates:
        for qid in gate.must_pass:
            if qid not in marked.questions.place:
                message = f'expected a qid of the gold set, got "{qid}"'
                where = str(request.policy or "")
                raise PolicyError([Problem("RW-P09", message, where, f"{gate.metric}: must_pass")])
            item = marked.items[marked.questions.place[qid]]
            if gate.metric in fields:
                said[gate.metric, qid] = bool(item.parts) and item.parts[fields[gate.metric]] == 1
            elif gate.metric == "structured.schema_pass_rate":
                said[gate.metric, qid] = item.ok
            elif gate.metric == "structured.missing":
                said[gate.metric, qid] = item.reason is Failure.MISSING
            else:
                said[gate.metric, qid] = item.score >= definition.good
    return said


# what goes into the report besides numbers


def _settings(request: Request, inputs: Inputs) -> dict[str, Any]:
    return {
        "definition": {"id": inputs.definition.id, "sha256": inputs.definition.sha256},
        "repair": request.settings.repair,
        "slices": list(dict.fromkeys((*inputs.definition.strata, *request.settings.slices))),
        "allow_gold_errors": request.allow_gold_errors,
    }


def _listed(inputs: Inputs, marked: engine.Marked) -> list[dict[str, Any]]:
    counts = ((inputs.gold, len(marked.items)), (inputs.outputs, marked.outputs))
    return [
        {"role": source.role, "path": source.label, "sha256": source.sha256(), "records": count}
        for source, count in counts
    ]
