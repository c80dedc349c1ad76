"""The folder of a run, and what a finished run leaves in it: traces, timings and a summary, each written whole, in the
order of the plan.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from ragworthy.errors import RagworthyError, data_error
from ragworthy.files import sha256_of, write_whole, write_with
from ragworthy.metrics.facts.near import reads_like_refusal
from ragworthy.names import AMBIGUOUS_IDS, REFUSAL, TRACED
from ragworthy.runner.contract import Target, about, reason_of
from ragworthy.runner.ended import CHUNKS as CHUNKS
from ragworthy.runner.ended import DEV as DEV
from ragworthy.runner.ended import FILES as FILES
from ragworthy.runner.ended import OUTPUT_FILES as OUTPUT_FILES
from ragworthy.runner.ended import OUTPUTS as OUTPUTS
from ragworthy.runner.ended import SCHEMA
from ragworthy.runner.ended import SUMMARY as SUMMARY
from ragworthy.runner.ended import TIMINGS as TIMINGS
from ragworthy.runner.ended import TRACES as TRACES
from ragworthy.runner.ended import made_by as made_by
from ragworthy.runner.journal import Entry, Journal
from ragworthy.runner.outputs import Making, agreed, lacking
from ragworthy.runner.plan import Plan, Planned
from ragworthy.suites.structured import REQUIRED
from ragworthy.text import trim_fold

if TYPE_CHECKING:
    from ragworthy.adapters.clashes import Clashes


def files_of(plan: Plan) -> tuple[str, ...]:
    """What a run writes besides its journal."""
    return FILES if plan.making is None else OUTPUT_FILES


class Counts(NamedTuple):
    """The ledger of a run: asked = answered + refused + errored."""

    asked: int
    answered: int
    refused: int
    errored: int
    reasons: dict[str, int]
    """How often each kind of error came, by its stable word and its code."""
    first: str | None = None
    """The first error, in full."""
    near: int = 0
    """How many of the answers read like a refusal."""
    alike: tuple[str, ...] = ()
    """The first different ones of these."""
    chunks: int = 0
    """How many texts of retrieved documents were written."""
    clashing: tuple[str, ...] = ()
    """Ids under which several texts were retrieved."""
    nothing: bool = False
    """Whether replies have lists of documents, and none has a document in it."""
    empty: int = 0
    """How many of the answers have no text."""
    times: tuple[int, ...] = ()
    """How often each of those that read like a refusal came."""


SOME = 50
"""So many different answers that read like a refusal are kept."""
Refuses = Callable[[str], bool]
"""Whether a claim is a refusal."""


def is_token(claim: str) -> bool:
    """Whether a claim is the refusal text that everybody has."""
    return trim_fold(claim) == REFUSAL


def counted_outputs(journal: Journal) -> Counts:
    """What became of structured questions that are done: there is no refusal among them."""
    entries = [journal.read(n) for n in sorted(journal.done)]
    errors = [one for one in entries if one.error is not None]
    reasons = Counter(reason_of(one.error or "", one.code) for one in errors)
    empty = sum(one.error is None and not one.fields["raw"].strip() for one in entries)
    first = errors[0].error if errors else None
    sums = len(entries), len(entries) - len(errors), 0, len(errors)
    return Counts(*sums, dict(sorted(reasons.items())), first, empty=empty)


def counted(journal: Journal, refuses: Refuses = is_token) -> Counts:
    """What became of the questions that are done."""
    refused = near = 0
    alike: dict[str, int] = {}
    reasons: Counter[str] = Counter()
    first: str | None = None
    bare = empty = 0
    for n in sorted(journal.done):
        one = journal.read(n)
        bare += one.nothing
        if one.error is not None:
            reasons[reason_of(one.error, one.code)] += 1
            first = first or one.error
        elif refuses(one.fields["answer_json"]["claim"]):
            refused += 1
        elif not str(one.fields["answer_json"]["claim"]).strip():
            empty += 1
        elif reads_like_refusal(trim_fold(claim := one.fields["answer_json"]["claim"])):
            near += 1
            if len(alike) < SOME or claim in alike:
                alike[claim] = alike.get(claim, 0) + 1
    asked, errored = len(journal.done), reasons.total()
    sums = asked, asked - refused - errored, refused, errored
    found = Counts(
        *sums, dict(sorted(reasons.items())), first, near, tuple(alike), empty=empty, times=(*alike.values(),)
    )
    return found._replace(nothing=0 < bare == asked - errored)


def trace(one: Planned, config_id: str, entry: Entry) -> dict[str, Any]:
    """The trace of one question; it holds no clock but the target's own."""
    ask = one.ask
    told: dict[str, Any] = {
        "qid": ask.qid,
        "run_id": one.run_id,
        "q": ask.q,
        "seed": ask.seed,
        "jitter": ask.jitter,
        "paraphrase": ask.paraphrase,
        "noop": one.noop,
        "knobs": ask.knobs,
        "config_id": config_id,
    }
    return told | told_of(entry.fields, entry.error, entry.code)


def told_of(fields: dict[str, Any], error: str | None, code: str | None) -> dict[str, Any]:
    """What a trace has of a reply: its fields; of an error also those that it kept, and what it says."""
    if error is None:
        return fields
    coded = {"error_code": code} if code else {}
    return {"retrieved_ids": [], "answer_json": None} | fields | {"error": error} | coded


def write(folder: Path, plan: Plan, target: Target, journal: Journal, refuses: Refuses = is_token) -> Counts:
    """Write every result of a run whose questions are all done."""
    if plan.making is not None:
        return _write_outputs(folder, plan, plan.making, target, journal)
    made = {key: told for key, told in about(target).items() if key in TRACED.values()}

    def traces(one: Planned, entry: Entry) -> dict[str, Any]:
        told = trace(one, plan.config_id, entry)
        return told | {key: told.get(key, said) for key, said in made.items()} | _ambiguous(entry, clashes)

    counts = counted(journal, refuses)
    found, clashes = _chunks(plan, journal, ruled="doc_id" in about(target))
    _write_lines(folder / TRACES, plan, journal, traces)
    _write_lines(folder / TIMINGS, plan, journal, _timing)
    more = {"traces_sha256": sha256_of(folder / TRACES)}
    if found or counts.nothing:
        write_whole(folder / CHUNKS, b"".join(found[name] + b"\n" for name in sorted(found)))
        more["chunks_sha256"] = sha256_of(folder / CHUNKS)
    _write_summary(folder, plan, target, counts, more)
    return counts._replace(chunks=len(found), clashing=tuple(sorted(clashes.several)))


def _write_outputs(folder: Path, plan: Plan, making: Making, target: Target, journal: Journal) -> Counts:
    """The outputs that `score structured` reads, and what is known of all of them."""
    counts = counted_outputs(journal)
    lines = OutputLines(making, journal)
    _write_lines(folder / OUTPUTS, plan, journal, lines.line)
    _write_lines(folder / TIMINGS, plan, journal, _timing)
    more: dict[str, Any] = {"eval_set_version": making.eval_set_version}
    if making.prompt is not None:
        more["prompt"] = {"path": making.prompt.path, **making.prompt.told()}
    _write_summary(folder, plan, target, counts, more | {"outputs_sha256": sha256_of(folder / OUTPUTS)})
    return counts


class OutputLines:
    """The outputs of a run, line by line; an error has what all replies say of how they were made."""

    def __init__(self, making: Making, journal: Journal) -> None:
        self._making = making
        self._agreed = agreed(journal.read(n).fields.get("meta") or {} for n in sorted(journal.done))

    def line(self, one: Planned, entry: Entry) -> dict[str, Any]:
        """One output; it holds no clock but the target's own."""
        fields = dict(entry.fields)
        replied = fields.pop("meta", None) or {}
        meta = self._making.meta(replied, {} if entry.error is None else self._agreed)
        made = {"id": one.ask.qid, "run_id": one.run_id, "seed": one.ask.seed, **fields, "meta": meta}
        if entry.error is not None:
            made |= {"error": entry.error} | ({"error_code": entry.code} if entry.code else {})
        return made


def write_dev(folder: Path, plan: Plan, making: Making, journal: Journal, places: Iterable[int]) -> Path:
    """The outputs of a dev subset, before the others are asked, in a folder of their own; gives where they are."""
    lines, path = OutputLines(making, journal), folder / DEV
    try:
        path.parent.mkdir(exist_ok=True)
    except OSError as error:
        raise data_error("RW-F14", f"cannot be written: {error.strerror}", where=str(path)) from None
    made = (msgspec.json.encode(lines.line(plan.asks[n], journal.read(n))) + b"\n" for n in places)
    write_whole(path, b"".join(made))
    return path


def lacking_in(plan: Plan, journal: Journal) -> tuple[str, ...]:
    """What the outputs of a run do not say of how they were made, although a score needs it."""
    if plan.making is None:
        return ()
    lines = OutputLines(plan.making, journal)
    metas = (lines.line(plan.asks[n], journal.read(n))["meta"] for n in sorted(journal.done))
    found = {key for meta in metas for key in lacking(meta)}
    return tuple(key for key in REQUIRED if key in found)


def _timing(one: Planned, entry: Entry) -> dict[str, Any]:
    times = {"started": entry.started, "e2e_ms": entry.e2e_ms, "attempts": entry.attempts}
    return {"run_id": one.run_id, "qid": one.ask.qid, **times}


def _write_summary(folder: Path, plan: Plan, target: Target, counts: Counts, more: dict[str, Any]) -> None:
    """What a finished run says of itself: the last file that is written."""
    summary = {
        "schema": SCHEMA,
        "target": target.name,
        "about": about(target),
        "gold": {"path": plan.gold, "sha256": plan.gold_sha256},
        "plan_sha256": plan.sha256,
        "questions": plan.questions,
        "seeds": plan.seeds,
        "jitters": plan.jitters,
        "knobs": plan.knobs,
        "config_id": plan.config_id,
        "counts": {name: getattr(counts, name) for name in ("asked", "answered", "refused", "errored")},
        "reasons": counts.reasons,
    }
    write_whole(folder / SUMMARY, msgspec.json.format(msgspec.json.encode(summary | more), indent=2) + b"\n")


def _ambiguous(entry: Entry, clashes: "Clashes") -> dict[str, list[str]]:
    """The ids of a trace that name several texts, where that spoils them: a score with such is INVALID."""
    told = entry.fields.get(AMBIGUOUS_IDS) or []
    names = dict.fromkeys([*told, *clashes.among(entry.fields.get("retrieved_ids") or ())])
    return {AMBIGUOUS_IDS: list(names)} if names else {}


def _chunks(plan: Plan, journal: Journal, *, ruled: bool) -> tuple[dict[str, bytes], "Clashes"]:
    """The texts of all retrieved documents by id, one for each, and the ids that name several texts."""
    from ragworthy.adapters.clashes import Clashes

    encode = msgspec.json.Encoder(order="deterministic").encode
    found: dict[str, bytes] = {}
    clashes = Clashes(ruled=ruled)
    for n in range(len(plan.asks)):
        for chunk in journal.read(n).chunks:
            name, line = chunk["chunk_id"], encode(chunk)
            found[name] = min(line, found.get(name, line))  # whichever came first: it must not matter
            clashes.take(name, chunk["text"], chunk.get("doc_id", ""))
    return found, clashes


def _write_lines(path: Path, plan: Plan, journal: Journal, line: Callable[[Planned, Entry], dict[str, Any]]) -> None:
    encode = msgspec.json.Encoder().encode

    def lines() -> Iterator[bytes]:
        for n, one in enumerate(plan.asks):
            yield encode(line(one, journal.read(n))) + b"\n"

    def fill(beside: Path) -> None:
        with beside.open("wb") as file:
            file.writelines(lines())

    write_with(path, fill)


# a folder that stays the same, whatever a target does to the working folder


@contextmanager
def kept(given: Path) -> Iterator[Path]:
    """The folder as an absolute path; errors that are raised meanwhile name it as it was given."""
    whole = given.absolute()
    try:
        yield whole
    except RagworthyError as error:
        if whole == given:
            raise
        problems = [
            one._replace(where=_renamed(one.where, whole, given), message=_renamed(one.message, whole, given))
            for one in error.problems
        ]
        raise type(error)(problems, error.total, _renamed(error.advice, whole, given), error.hint) from None


def _renamed(text: str, whole: Path, given: Path) -> str:
    """A text with the folder, and what lies in it, as it was given.

    >>> _renamed("/home/me/out/a: no; /home/me/output: no", Path("/home/me/out"), Path("out"))
    'out/a: no; /home/me/output: no'
    """
    for end in (os.sep, ":"):
        text = text.replace(f"{whole}{end}", f"{given}{end}")
    return str(given) if text == str(whole) else text
