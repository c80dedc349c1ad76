"""Drive a pipeline over a gold set: plan every question, ask, journal, and write the traces."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from ragworthy.adapters.questions import from_records
from ragworthy.errors import MOST_PROBLEMS, DataError, PolicyError, Problem, usage_error
from ragworthy.files import read_text
from ragworthy.gold.lint import identities
from ragworthy.gold.lint_retrieval import Question
from ragworthy.ids import config_id
from ragworthy.load.checker import parse_toml
from ragworthy.load.decode import read_items
from ragworthy.load.sources import Source, open_source
from ragworthy.load.values import endless
from ragworthy.metrics.facts.jitters import JITTERS
from ragworthy.records import RetrievalGold
from ragworthy.runner import plan as planning
from ragworthy.runner import results
from ragworthy.runner.contract import Options, Reply, Target, about
from ragworthy.runner.drive import Asked, Driver
from ragworthy.runner.ended import Header
from ragworthy.runner.journal import AGAIN, OUTPUTS, REPLIES, Journal, check_free, clear, entry
from ragworthy.runner.plan import Plan, Wordings
from ragworthy.runner.results import kept
from ragworthy.runner.targets import check_http_only
from ragworthy.runner.targets import open_target as plain_target
from ragworthy.text import described
from ragworthy.wire.secret import check_without_keys

HowMany = int | Literal["all", "auto"]
"""How many wordings of a question are asked; `auto`: the question alone, or every wording where there is none."""


class Progress(NamedTuple):
    """How far a run is."""

    done: int
    total: int
    here: int
    """How many of them were asked by this run, and not by an earlier one that it goes on from."""
    errors: int
    stopping: bool = False


class RunOptions(NamedTuple):
    """How a run is made."""

    out: Path
    resume: bool = False
    concurrency: int = 4
    timeout: float = 60.0
    told: Callable[[Progress], None] | None = None
    retry_errors: bool = False
    """Whether what the journal has as an error is asked again; the error stays until there is a reply."""
    keep_going: bool = False
    """Whether everything is asked, even when all replies make the same mistake."""
    retries: int = 2
    """Above 0, what failed because the target was away is asked once more when the others are done."""
    refuses: results.Refuses = results.is_token
    """What counts as a refusal; for the numbers that are told, not for the traces."""
    first: "First | None" = None
    """What is asked first, and has to pass before the rest is asked; None: everything at once."""


class First(NamedTuple):
    """A dev subset: its places in the plan, and who judges its outputs."""

    places: tuple[int, ...]
    passes: Callable[[Path], bool]


class Ran(NamedTuple):
    """How a run ended."""

    total: int
    finished: bool
    """Whether every question is done and the results are written; else somebody stopped it."""
    counts: results.Counts
    notes: tuple[str, ...] = ()
    """What the target noticed once that holds for all its replies."""
    left_running: int = 0
    """How many calls went on long after their time was up."""
    stopped: bool = False
    """Whether what was asked first did not pass, so that the rest was not asked."""
    lacking: tuple[str, ...] = ()
    """What the outputs of structured questions do not say of how they were made."""


def open_target(text: str, options: Options, tuning: Path | None = None) -> Target:
    """The target that a text names, the built-in pipeline among them."""
    scheme, _, folder = text.partition(":")
    if scheme == "builtin" and folder:
        from ragworthy.runner.targets.builtin import Builtin

        check_http_only(options)
        named = knobs_of(None, options.knobs).get("answerer")
        return Builtin(folder, tuning, named=named, retries=options.retries, making=options.making)
    if tuning is not None:
        raise usage_error("--pipeline: expected the target builtin:INDEX, got another one")
    return plain_target(text, options)


def check_knobs(text: str, knobs: dict[str, Any], file: Path | None = None, pairs: Iterable[str] = ()) -> None:
    """Refuse knobs that the built-in pipeline does not have before the first question; other targets know theirs.

    Where the fault is not in the pairs alone, a message names the file. Keys of the environment are refused for all.
    """
    check_without_keys(msgspec.json.encode(knobs).decode(), "knobs")
    if not text.startswith("builtin:"):
        return
    wrong = _wrong(knobs)
    if wrong:
        origin = "--knob" if file is None or _wrong(knobs_of(None, pairs)) == wrong else file
        raise usage_error(f"{origin}: {wrong}")


def check_knobs_of(target: Target, knobs: dict[str, Any]) -> None:
    """Let a target that knows its knobs refuse others before the first question."""
    check: Callable[[dict[str, Any]], None] | None = getattr(target, "check_knobs", None)
    if check is not None:
        check(knobs)


def _wrong(knobs: dict[str, Any]) -> str:
    from ragworthy.pipeline.knobs import read

    try:
        read(knobs, None)
    except ValueError as error:
        return str(error)
    return ""


def knobs_of(file: Path | None, pairs: Iterable[str]) -> dict[str, Any]:
    """The knobs of a TOML file, then those given one by one; values are JSON, or else text."""
    knobs: dict[str, Any] = {}
    if file is not None:
        try:
            knobs |= msgspec.to_builtins(parse_toml(read_text(file), str(file), decimals=False))
        except PolicyError as error:
            reason = error.problems[0].message.removeprefix("expected TOML, ")
            raise usage_error(f"{file}: expected knobs as TOML, {reason}") from None
        if wrong := endless(knobs):
            raise usage_error(f"{file}: {wrong}")
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not name.strip() or not equals:
            raise usage_error(f'--knob: expected NAME=VALUE, got "{pair}"')
        try:
            knobs[name.strip()] = msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError):
            knobs[name.strip()] = value
    return knobs


def plan(
    gold: str | Path | Source,
    *,
    seeds: Sequence[int] = (0,),
    jitters: Sequence[str] = ("none",),
    paraphrases: HowMany = "auto",
    knobs: dict[str, Any] | None = None,
    limit: int | None = None,
) -> Plan:
    """Every question of a gold set in every variation, in the order of the file."""
    for name in jitters:
        if name not in JITTERS:
            raise usage_error(f'expected one of the jitters {", ".join(JITTERS)}, got "{name}"')
    source = open_source("gold", gold)
    items, problems = read_items(source, RetrievalGold)
    questions = [Question(*item) for item in items]
    problems += [one.problem for one in identities(questions, source.given)] if not problems else []
    asked = [_wordings(one, paraphrases, source.given, problems) for one in questions]
    if problems:
        raise DataError(problems[:MOST_PROBLEMS], len(problems))
    return planning.make(
        source.label,
        source.sha256(),
        asked[:limit],
        seeds=seeds,
        jitters=jitters,
        knobs=knobs or {},
        settings={
            "seeds": ",".join(map(str, seeds)),
            "jitters": ",".join(jitters),
            "paraphrases": str(paraphrases),
            "limit": "none" if limit is None else str(limit),
        },
    )


def gold_ids(gold: str | Path | Source) -> frozenset[str]:
    """The ids that a gold set cites: where they are random UUIDs, those of documents are taken as they are."""
    items, _ = read_items(open_source("gold", gold), RetrievalGold)
    return from_records(Question(*item).value for item in items).ids


def _wordings(item: Question, paraphrases: HowMany, label: str, problems: list[Problem]) -> Wordings:
    """The wordings to ask: the question first, then its paraphrases."""
    where = f"{label}:{item.line}"
    question = item.value.get("question")
    if question is not None and not isinstance(question, str):
        problems.append(Problem("RW-G03", f"expected a string, got {described(question)}", where, "question"))
        return Wordings(item.qid, ())
    worded = (text for text in (question, *(item.gold.paraphrases or ())) if text and text.strip())
    texts = list(dict.fromkeys(worded))  # a wording that is twice is asked once
    if not texts:
        problems.append(Problem("RW-G16", "expected a text to ask, got nothing", where, "question"))
    if paraphrases == "auto":
        paraphrases = 1 if question else "all"
    return Wordings(item.qid, tuple(texts if paraphrases == "all" else texts[:paraphrases]))


def run(plan: Plan, target: Target, options: RunOptions) -> Ran:
    """Ask everything that has no reply yet, and write the results when all is done."""
    check_knobs(target.name, plan.knobs)
    check_knobs_of(target, plan.knobs)
    known = about(target) | plan.about
    plan = plan._replace(config_id=config_id(plan.knobs | known))
    header = Header(
        target=target.name,
        gold_sha256=plan.gold_sha256,
        config_id=plan.config_id,
        plan_sha256=plan.sha256,
        asks=len(plan.asks),
        about=known,
        settings=plan.settings,
    )
    with kept(options.out) as out:
        check_free(out, (*results.files_of(plan), *((results.DEV,) if options.first else ())))
        journal = Journal(out, header, resume=options.resume, kind=REPLIES if plan.making is None else OUTPUTS)
        try:
            return _run(plan, target, options, journal)
        finally:
            journal.close()


def _run(plan: Plan, target: Target, options: RunOptions, journal: Journal) -> Ran:
    """Ask what has to pass first, then the rest, and write the results."""
    total, first, places = len(plan.asks), options.first, range(len(plan.asks))
    asked, left, out = frozenset[int](), 0, journal.path.parent

    def unfinished(*, stopped: bool = False) -> Ran:
        counts = _counted(plan, options, journal)
        return Ran(total, False, counts, _notes(target), left, stopped, results.lacking_in(plan, journal))

    if first is not None and plan.making is not None and journal.done.keys() < set(places):
        asked = frozenset(first.places)
        finished, left = _drive(plan, target, options, journal, first.places)
        if not finished:
            return unfinished()
        if not first.passes(results.write_dev(out, plan, plan.making, journal, first.places)):
            return unfinished(stopped=True)
    finished, more = _drive(plan, target, options, journal, [n for n in places if n not in asked])
    left += more
    if not finished:
        return unfinished()
    counts = _written(plan, target, out, journal, options.refuses)
    return Ran(total, True, counts, _notes(target), left, lacking=results.lacking_in(plan, journal))


def _counted(plan: Plan, options: RunOptions, journal: Journal) -> results.Counts:
    if plan.making is not None:
        return results.counted_outputs(journal)
    return results.counted(journal, options.refuses)


def _notes(target: Target) -> tuple[str, ...]:
    return tuple(getattr(target, "notes", ()))


def _drive(
    plan: Plan, target: Target, options: RunOptions, journal: Journal, places: Sequence[int]
) -> tuple[bool, int]:
    """Ask what is left of some places; whether all was asked, and how many calls were left running."""
    again = set(journal.failed) if options.retry_errors else set()
    left = [(n, plan.asks[n].ask) for n in places if n not in journal.done or n in again]
    done = errors = 0
    fresh = _Fresh()

    def tell(stopping: bool = False) -> None:
        if options.told is not None:
            options.told(Progress(len(places) - len(left) + done, len(places), done, errors, stopping))

    def record(asked: Asked) -> None:
        nonlocal done, errors
        journal.add(entry(asked.n, fresh.only(asked.reply), asked.e2e_ms, asked.started))
        done += 1
        errors += asked.reply.error is not None
        tell()

    if not left:
        return True, 0
    clear(journal.path.parent, results.files_of(plan))
    driver = Driver(
        target,
        record,
        concurrency=options.concurrency,
        timeout=options.timeout,
        stopping=lambda: tell(stopping=True),
        keep_going=options.keep_going,
        again=options.retries > 0,
    )
    try:
        driver.run(left, len(left))
    except DataError as error:
        if journal.done and error.problems[0].code in _GIVEN_UP:
            safe = f"  {journal.safe()} in {journal.path}"
            raise DataError(error.problems, error.total, f"{error.advice}\n{safe}".lstrip("\n")) from None
        raise
    return done == len(left), driver.left_running


_GIVEN_UP = ("RW-J06", "RW-J09", "RW-J23", "RW-J24")
"""Errors of a target that ended a run, whose journal holds what was asked before."""


class _Fresh:
    """Texts of documents that the journal has, so that each is written once."""

    def __init__(self) -> None:
        self._seen: set[bytes] = set()

    def only(self, reply: Reply) -> Reply:
        """The reply with what was not there before."""
        lines = {msgspec.json.encode(chunk, order="deterministic"): chunk for chunk in reply.chunks}
        new = tuple(chunk for line, chunk in lines.items() if line not in self._seen)
        self._seen |= lines.keys()
        return reply if len(new) == len(reply.chunks) else msgspec.structs.replace(reply, chunks=new)


def _written(plan: Plan, target: Target, out: Path, journal: Journal, refuses: results.Refuses) -> results.Counts:
    try:
        return results.write(out, plan, target, journal, refuses)
    except DataError as error:
        advice = f"{journal.safe()} in {journal.path}: {AGAIN}"
        raise DataError(error.problems, error.total, advice) from None
