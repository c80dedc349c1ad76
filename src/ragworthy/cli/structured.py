"""`run` over structured questions: the dev subset first, then the others, and what came of them."""

import argparse
import shlex
from pathlib import Path

from ragworthy import flow
from ragworthy.cli import driven
from ragworthy.cli.naming import policy_of
from ragworthy.cli.say import print, show
from ragworthy.cli.screen import screen
from ragworthy.errors import usage_error
from ragworthy.experiments.structured import FILES, Dev, Job, dev_of, job_of, request_of
from ragworthy.load.sources import Source
from ragworthy.metrics import grading
from ragworthy.names import Exit, exit_code
from ragworthy.records import StructuredOutput
from ragworthy.report.short import Around
from ragworthy.report.show import plural
from ragworthy.runner import results
from ragworthy.runner import run as running
from ragworthy.runner.check import Checked
from ragworthy.runner.contract import Target
from ragworthy.runner.journal import AGAIN
from ragworthy.runner.outputs import Making, lacking
from ragworthy.runner.results import kept
from ragworthy.runner.run import Ran
from ragworthy.text import clip

_OF_ANSWERS = ("doc_id", "marker", "refusal", "refusal_pack", "refusal_start", "refusal_pattern")
"""Flags that say how answers with citations are read."""
_SHOWN = 200
_PATHS = 4


def check_flags(given: argparse.Namespace, *, structured: bool) -> None:
    """Refuse flags that belong to questions of the other kind."""
    for name in _OF_ANSWERS if structured else FILES:
        if getattr(given, name, None):
            kinds = ("a gold set of answers", "structured questions")
            wanted, got = kinds if structured else reversed(kinds)
            raise usage_error(f"--{name.replace('_', '-')}: expected {wanted}, got {got}")
    if structured and given.limit and given.subset:
        raise usage_error("--limit: expected no --subset with it, for a subset is asked first and whole")


def asked_by(given: argparse.Namespace, source: Source) -> tuple[Job, Target]:
    """What is asked, and whom, by the flags and the policy."""
    check_flags(given, structured=True)
    file = Path(given.knobs) if given.knobs else None
    knobs = running.knobs_of(file, given.knob)
    running.check_knobs(given.target, knobs, file, given.knob)
    files = {key: Path(path) for key in FILES if (path := getattr(given, key))}
    request = request_of(Path(given.gold), Path(given.config) if given.config else None, files)
    job = job_of(source, request, given.target, seeds=(given.seed,), knobs=knobs, limit=given.limit)
    options = driven.target_options(given, job.rules, knobs)._replace(making=job.making)
    return job, running.open_target(given.target, options, Path(given.pipeline) if given.pipeline else None)


def run(given: argparse.Namespace, source: Source) -> int:
    """Ask every question, the dev subset first where there is one, and say what became of them."""
    job, target = asked_by(given, source)
    others = [job.request.get(key) for key in FILES]
    driven.guard_run(given, (*results.OUTPUT_FILES, results.DEV), others)
    with kept(driven.folder_of(given.out)) as out:
        dev = None if given.limit else dev_of(job)  # a part of the questions is a try, which nobody judges
        shown = driven.Shown(quiet=given.quiet)
        options = driven.options_of(given, out, shown)._replace(first=None if dev is None else dev.first)
        try:
            ran = running.run(job.plan, target, options)
        finally:
            shown.end()
    return _told(ran, given, job, dev)


def _told(ran: Ran, given: argparse.Namespace, job: Job, dev: Dev | None) -> int:
    """Print how a run ended, and what to do next; gives the exit code."""
    code, ending = _ending(ran, given, dev)
    if not given.quiet:
        counts = ran.counts
        if dev is not None and dev.run is not None:
            _tell_dev(dev, given)
        print(f"asked {counts.asked:,} = written {counts.answered:,} + errored {counts.errored:,}")
        if counts.empty:
            print(f"{plural(counts.empty, 'output is', 'outputs are')} empty: is the text where the target says it is?")
        driven.tell_errors(ran, given)
        if ran.lacking:
            keys = ", ".join(ran.lacking)
            print(f"the outputs do not say {keys}: a score is INVALID until meta of the replies or --provenance does")
        if ran.finished:
            print(f"outputs: {Path(given.out) / results.OUTPUTS}")
        if ran.stopped or (ran.finished and not given.limit):
            print(f"next: {_next(given, job, whole=ran.finished)}")
    print(f"{ending} (exit {int(code)})")
    return int(code)


def _ending(ran: Ran, given: argparse.Namespace, dev: Dev | None) -> tuple[Exit, str]:
    if ran.stopped and dev is not None and dev.run is not None:
        asked = f"dev subset of {plural(len(dev.places), 'question')}: {dev.run.verdict.value}"
        return exit_code(dev.run.verdict), f"run: {asked}{f'; {_others(dev)} not asked' if dev.others else ''}"
    if not ran.finished:
        replies = driven.share(ran.counts.asked, ran.total, "reply", "replies")
        return Exit.INTERRUPTED, f"stopped: {replies} safe in {given.out}; {AGAIN}"
    errors = ran.counts.errored
    told = driven.errors_of(errors, ran.total) if errors else plural(ran.total, "reply", "replies")
    return (Exit.NO_SHIP if errors else Exit.SHIP), f"run: {told}"


def _tell_dev(dev: Dev, given: argparse.Namespace) -> None:
    """What the dev subset came to: all of it where it does not pass."""
    assert dev.run is not None  # noqa: S101 - it was judged
    if dev.run.report["exit_code"]:
        show(flow.short(dev.run.report, screen(given), Around(more="")))
    else:
        rest = f"; then {_others(dev)} asked" if dev.others else ""
        print(f"dev subset of {plural(len(dev.places), 'question')}: SHIP{rest}")


def _others(dev: Dev) -> str:
    return "the other one was" if dev.others == 1 else f"the other {dev.others:,} were"


def _next(given: argparse.Namespace, job: Job, *, whole: bool) -> str:
    """The command line that scores the outputs: all of them, or those of the dev subset that did not pass."""
    outputs = Path(given.out) / (results.OUTPUTS if whole else results.DEV)
    if whole and (policy := policy_of(given.config, outputs)) is not None:
        return f"ragworthy gate -c {shlex.quote(policy)}"
    words = ["ragworthy", "score", "structured", "--questions", given.gold, "--outputs", str(outputs)]
    for key in ("prompt", "definition", "subset"):
        if (path := job.request.get(key)) is not None:
            words += [f"--{key}", str(path)]
    return shlex.join(words)


# one question


def reading(checked: Checked, making: Making) -> list[tuple[str, str]]:
    """How a good reply was read, part by part."""
    fields = checked.reply.fields
    output = StructuredOutput(raw=fields["raw"])
    known = grading.read(making.definition, output)
    valid = "valid" if known.reason is None else f"{known.reason.value}: {clip(known.detail, _SHOWN)}"
    context = fields.get("context") or []
    paths = list(dict.fromkeys(one["source_path"] for one in context if one.get("source_path")))
    named = f": {', '.join(clip(one, 60) for one in paths[:_PATHS])}{', …' if len(paths) > _PATHS else ''}"
    meta = making.meta(fields.get("meta") or {}, {})
    return [
        ("raw", f'"{clip(fields["raw"], _SHOWN)}"'),
        ("answer", f"{valid} by the definition {making.definition.id}"),
        ("context", f"{plural(len(context), 'chunk')}{named if paths else ''}"),
        *((key, clip(str(meta[key]), 80)) for key in ("model_id", "adapter_id", "index_version") if key in meta),
        *((("prompt", f"{making.prompt.version} ({making.prompt.sha256})"),) if making.prompt else ()),
        ("time", f"{checked.e2e_ms:,.0f} ms"),
    ]


def unmeasured(checked: Checked, making: Making) -> list[str]:
    """What a score will miss with replies such as this one."""
    fields = checked.reply.fields
    context = fields.get("context") or []
    found = []
    if missing := lacking(making.meta(fields.get("meta") or {}, {})):
        found.append(f"no {', '.join(missing)}: a score is INVALID until meta of the replies or --provenance says it")
    grounded = any(field.kind == "grounding" for field in making.definition.fields)
    for key in ("source_path", "text"):
        if grounded and not any(one.get(key) for one in context):
            found.append(f"no {key} in the context: no reference can hold")
    return found
