"""A run over structured questions: what its flags and its policy name, and the dev subset that has to pass first."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ragworthy import flow
from ragworthy.adapters.replies import Rules
from ragworthy.load.definition import BUNDLED, bundled, load_definition
from ragworthy.load.prompt import bundled_prompt, read_prompt
from ragworthy.load.sources import Source
from ragworthy.names import Verdict
from ragworthy.runner import questions
from ragworthy.runner.outputs import Making
from ragworthy.runner.plan import Plan
from ragworthy.runner.run import First
from ragworthy.suites import SUITES
from ragworthy.suites.structured.provenance import said_in, version_of
from ragworthy.suites.structured.subset import first_step

FILES = ("definition", "subset", "prompt", "provenance")
"""What a run can be given besides the questions; a policy names them under the same keys."""


def request_of(gold: Any, policy: Path | None, files: Mapping[str, Path | None]) -> flow.Request:
    """How the outputs will be judged: by the policy, where it has structured answers, and else by the usual gates."""
    named = {key: path for key, path in files.items() if path is not None} | {"questions": gold}
    asked = [] if policy is None else flow.requests_of(policy, today=None)
    for one in asked:
        if one.suite == "structured":
            there = {key: one.given[key] for key in FILES if key in one.given}
            return one._replace(given=there | named)
    declared = SUITES["structured"]
    settings = declared.settings()
    return flow.Request("structured", named, settings, declared.default_gates(settings, named))


def making_of(request: flow.Request, source: Source, target: str) -> Making:
    """What all outputs of a run have in common. The built-in pipeline has a prompt for the bundled definition."""
    given, written = request.get("definition"), request.get("prompt")
    definition = bundled() if given is None else load_definition(Path(given))
    prompt = None if written is None else read_prompt(Path(written))
    if prompt is None and target.startswith("builtin:") and definition.id == BUNDLED:
        prompt = bundled_prompt()
    said = {key: value for key, value in said_in(request.get("provenance")).items() if key != "eval_set_version"}
    return Making(version_of(source), definition, prompt, said)


class Job(NamedTuple):
    """A run over structured questions: how it is judged, what its outputs have in common, what is asked."""

    source: Source
    request: flow.Request
    making: Making
    plan: Plan

    @property
    def rules(self) -> Rules:
        """How replies are read."""
        return Rules(instead=self.making.checked)


def job_of(source: Source, request: flow.Request, target: str, **how: Any) -> Job:
    """Everything that is asked for, checked before the first question; `how` goes to the plan."""
    making = making_of(request, source, target)
    return Job(source, request, making, questions.plan(source, making, **how))


class Dev:
    """A dev subset that is asked and judged before the others are."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self.places = questions.dev_places(Path(job.request.get("subset")), job.source, job.plan)
        self.others = len(job.plan.asks) - len(self.places)
        self.run: flow.Run | None = None
        """What its outputs came to; None while they are not there."""

    @property
    def first(self) -> First:
        """What the runner asks first."""
        return First(self.places, self._passes)

    def _passes(self, outputs: Path) -> bool:
        self.run = flow.score(first_step(self._job.request.with_given(outputs=outputs), self._job.source))
        return self.run.verdict is Verdict.SHIP


def dev_of(job: Job) -> Dev | None:
    """The dev subset of a run; None where there is none."""
    return None if job.request.get("subset") is None else Dev(job)
