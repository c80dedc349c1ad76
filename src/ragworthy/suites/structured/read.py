"""The files of the structured suite become cases: every question with what its output is worth."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from ragworthy.errors import data_error, usage_error
from ragworthy.load.definition import bundled, load_definition
from ragworthy.metrics.definition import Definition
from ragworthy.metrics.grading import Scored, label
from ragworthy.metrics.kinds import COUNTS
from ragworthy.names import HARMLESS, Cause, Failure, Stage
from ragworthy.records import StructuredGold, StructuredOutput
from ragworthy.suites.evidence import Case, Fate
from ragworthy.suites.opened import Opened
from ragworthy.suites.reading import Flaws, reader
from ragworthy.suites.request import Request
from ragworthy.suites.slices import MOST_SLICES, Slice, fields_of
from ragworthy.suites.structured import mark
from ragworthy.suites.structured.mark import Job, Marked
from ragworthy.suites.structured.provenance import Told


class Cut(NamedTuple):
    """What is split by although nobody asked for it."""

    free: tuple[str, ...]
    """Fields that questions need not have, and that may have any number of values."""
    left_out: frozenset[str]
    """Slices by these fields that are not shown, because there are so many."""


class Columns(NamedTuple):
    """The names that the rows of one definition have, worked out once for all of them."""

    fields: list[str]
    """The metric of each field."""
    counts: list[list[str]]
    """What each field is counted from, e.g. `detailed_description.matched`."""

    @classmethod
    def of(cls, definition: Definition) -> "Columns":
        """The names for the fields of a definition, in their order."""
        return cls(
            [f"structured.{field.name}" for field in definition.fields],
            [[f"{field.name}.{name}" for name in COUNTS.get(field.kind, ())] for field in definition.fields],
        )


class Graded(NamedTuple):
    """What only this suite knows of its evidence."""

    job: Job
    marked: Marked
    told: Told
    cut: Cut
    columns: Columns

    @property
    def definition(self) -> Definition:
        """What an answer looks like."""
        return self.job.definition


def check_profile(request: Request) -> None:
    """The original program has one definition, and takes no repaired answers."""
    settings = request.settings
    if settings.profile == "reference" and (request.get("definition") is not None or settings.repair):
        raise usage_error("the profile reference has its own definition and repairs nothing")


def job_of(opened: Opened, request: Request) -> Job:
    """What there is to be marked, and by which rules."""
    check_profile(request)
    settings, given, outputs = request.settings, request.get("definition"), opened["trace"]
    definition = load_definition(given) if given is not None else bundled()
    return Job(
        questions=reader(opened["gold"], StructuredGold),
        outputs=reader(outputs, StructuredOutput),
        definition=definition,
        reference=settings.profile == "reference",
        repair=settings.repair,
        slice_fields=tuple(dict.fromkeys((*definition.strata, *fields_of(request)))),
        allow_gold_errors=request.allow_gold_errors,
        damage=request.damage,
    )


class Asked(NamedTuple):
    """The questions, before outputs are read, and what is wrong with them."""

    questions: mark.Questions
    flaws: Flaws


def asked_of(job: Job, opened: Opened) -> Asked:
    """Every question; raises that there are none."""
    flaws = Flaws()
    questions = mark.read_questions(job, flaws)
    if not flaws.count and not questions.names:
        raise data_error("RW-G05", "expected questions, got none", where=opened["gold"].given)
    return Asked(questions, flaws)


def mark_all(job: Job, opened: Opened, asked: Asked, parts: Sequence[mark.Gathered]) -> Marked:
    """Every question with what its output is worth; raises what is wrong with the files."""
    outputs = opened["trace"]
    marked = mark.marked_of(job, asked.questions, asked.flaws, parts)
    asked.flaws.stop(opened.sources)
    if 0 < marked.gaps["raw"] == marked.meta.outputs:
        message = "expected a string, got nothing in every output"
        raise data_error("RW-T02", message, where=outputs.given, field="raw")
    return marked


def cut_of(job: Job, slices: Sequence[tuple[str, ...]], request: Request, *, of_subset: bool) -> Cut:
    """The strata of a definition are split by unasked: their largest slices fill what others leave of those shown.

    Slices that gates name are always shown. A subset need not have the fields that only other questions have.
    """
    asked = request.settings.slices
    strata = tuple(name for name in job.definition.strata if name not in asked)
    sizes = Counter(name for some in slices for name in some)
    fields = {name: Slice(name).field for name in sizes}
    absent = tuple(name for name in asked if of_subset and name not in fields.values())
    unasked = [name for name in sizes if fields[name] in strata]
    unasked.sort(key=lambda name: (-sizes[name], name))
    gated = {gate.slice for gate in request.gates}.intersection(unasked)
    room = MOST_SLICES - len(sizes) + len(unasked) - len(gated)
    rest = [name for name in unasked if name not in gated]
    return Cut((*strata, *absent), frozenset(rest[max(room, 0) :]))


_FATES: dict[Failure | None, Fate] = {Failure.MISSING: Fate.MISSING, Failure.PROVIDER_ERROR: Fate.ERRORED}


_CAUSES = {
    Stage.RETRIEVAL: Cause.NOT_RETRIEVED,
    Stage.CITATION: Cause.NOT_CITED,
    Stage.GENERATION: Cause.CLAIM_WRONG,
}
"""What a stage of a structured answer amounts to: context that was not there, grounding, wrong or broken values."""


def _cause(item: Scored) -> Cause | None:
    if item.reason is Failure.MISSING:
        return Cause.MISSING
    if item.reason is Failure.PROVIDER_ERROR:
        return Cause.TARGET_ERROR
    return None if item.stage is None else _CAUSES.get(item.stage)


def cases_of(marked: Marked, definition: Definition, left_out: frozenset[str]) -> list[Case]:
    """Every question as a case, in gold order; what only the suite knows of it is the number of its text."""
    questions, cases = marked.questions, []
    for nth, item in enumerate(marked.items):
        what, slices = label(item, definition.good), questions.slices[nth]
        cases.append(
            Case(
                qid=questions.names[nth],
                facts=item,
                fate=_FATES.get(item.reason, Fate.SCORED),
                label=what,
                stage=item.stage,
                cause=None if what in HARMLESS else _cause(item),
                slices=tuple(Slice(name) for name in slices if name not in left_out),
                own=questions.text_ids[nth],
            )
        )
    return cases


def counts_of(marked: Marked, *, of_subset: bool) -> dict[str, int]:
    """Questions first, then outputs; for a subset, those of the other questions are not strays."""
    items: Sequence[Scored] = marked.items
    reasons = Counter(item.reason for item in items)
    return {
        "gold": len(items),
        "distinct_questions": marked.questions.distinct,
        "distinct_expected": marked.questions.distinct_expected,
        "outputs": marked.outputs,
        "valid": reasons[None],
        "failed": len(items) - reasons[None] - reasons[Failure.MISSING],
        "missing": reasons[Failure.MISSING],
        "errored": reasons[Failure.PROVIDER_ERROR],
        "repaired": sum(item.repaired for item in items),
        "over_limit": sum(bool(item.over) for item in items),
        "duplicate_traces": marked.replaced,
        "orphan_traces": 0 if of_subset else marked.orphans,
    }
