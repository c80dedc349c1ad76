"""`ragworthy.run`: the runner of the command, for whoever asks from Python: a notebook, a test, a script."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from ragworthy import api
from ragworthy.adapters.replies import DocId
from ragworthy.adapters.replies import rules as rules_of
from ragworthy.errors import Problem, RagworthyError, UsageError, usage_error
from ragworthy.experiments.structured import Job, job_of, request_of
from ragworthy.files import Read, note_paths, read_bytes, remembering
from ragworthy.given import flag, in_python, in_words
from ragworthy.gold.following import UNNAMED, flags, items_of
from ragworthy.load.sources import Source, open_source
from ragworthy.load.values import Refused, plain
from ragworthy.report.show import counted, plural
from ragworthy.result import Result
from ragworthy.runner import results
from ragworthy.runner import run as running
from ragworthy.runner.aside import aside, loop_runs, signals_kept
from ragworthy.runner.contract import Options, Target, asking
from ragworthy.runner.questions import questions_in
from ragworthy.runner.targets import FORMS
from ragworthy.text import clip

_RUNS = {"stability": "runs", "latency": "runs", "structured": "outputs"}
"""What suites call the traces, where it is not traces."""


class Ran:
    """A pipeline that was asked every question of a gold set: what it replied."""

    def __init__(self, folder: Path, gold: str | Path | Source, *, kept: bool) -> None:
        """`kept`: whether the folder stays; else what it holds is read now."""
        self.out: Path | None = folder if kept else None
        """The folder of the run; None where it had none of its own."""
        self.summary: dict[str, Any] = msgspec.json.decode(read_bytes(folder / results.SUMMARY))
        """What `run.json` says: target, gold set, seeds, knobs, counts and reasons."""
        self._gold = gold
        self._lines = None if kept else _Lines(folder)
        self._traces: list[dict[str, Any]] | None = None

    @property
    def traces(self) -> list[dict[str, Any]]:
        """Every trace, as in `traces.jsonl`, or every output of structured questions, in the order of the gold set."""
        if self._traces is None:
            self._traces = self._read(self._made)
        return self._traces

    @property
    def _made(self) -> str:
        return results.made_by(self.summary)

    @property
    def _suite(self) -> str:
        return "structured" if self._made == results.OUTPUTS else "answers"

    @property
    def path(self) -> Path:
        """Where the traces stand; only for a run that has a folder."""
        if self.out is None:
            raise AttributeError("a run without out= keeps no files: take ran.traces")
        return self.out / self._made

    @property
    def timings(self) -> list[dict[str, Any]]:
        """When each question was asked and how long it took, as in `timings.jsonl`."""
        return self._read(results.TIMINGS)

    @property
    def chunks(self) -> list[dict[str, Any]]:
        """The texts that were retrieved, as in `chunks.jsonl`; none where the replies hold ids and no documents."""
        return self._read(results.CHUNKS)

    @property
    def errors(self) -> dict[str, int]:
        """How often each kind of error came, by its stable first words."""
        return dict(self.summary["reasons"])

    def score(self, suite: str | None = None, **given: Any) -> Result:
        """Score the traces against the gold set that was asked; more keywords are those of `ragworthy.score`."""
        suite = self._suite if suite is None else suite
        with in_python():
            if (suite == "structured") != (self._suite == "structured"):
                wrote = "outputs" if self._suite == "structured" else "traces"
                raise usage_error(f"suite: expected one that scores {wrote}, got {suite}")
        made: Any = self.out / self._made if self.out is not None else self.traces
        if "corpus" not in given and self.chunks and _binds(self._gold, suite):
            given["corpus"] = self.chunks
        if suite == "latency":
            made = [one | {"e2e_ms": time["e2e_ms"]} for one, time in zip(self.traces, self.timings, strict=True)]
        return api.score(suite, gold=self._gold, **{_RUNS.get(suite, "traces"): made}, **given)

    def gate(self, policy: str | Path | None = None, **given: Any) -> Result:
        """Judge the traces by a policy, instead of those that it names; keywords are those of `ragworthy.gate`."""
        made: Any = self.out / self._made if self.out is not None else self.traces
        return api.gate_of(policy, [api.Fresh(self.summary["gold"]["sha256"], made, self.chunks)], **given)

    def _read(self, name: str) -> list[dict[str, Any]]:
        data = self._lines.of[name] if self._lines is not None else _bytes(self.out, name)
        return [msgspec.json.decode(line) for line in data.splitlines()]

    def __len__(self) -> int:
        return int(self.summary["counts"]["asked"])

    def __bool__(self) -> bool:
        raise TypeError(
            "a run is neither true nor false: judge it with ran.score(...).assert_ship() or "
            "ran.gate(...).assert_ship(), or compare ran.errors with {}"
        )

    def __repr__(self) -> str:
        counts = self.summary["counts"]
        told = ", ".join(f"{counts[name]:,} {name}" for name in ("answered", "refused", "errored"))
        reasons = f" ({counted(self.errors)})" if self.errors else ""
        return f"<ragworthy run of {self.summary['target']}: {plural(counts['asked'], 'question')}, {told}{reasons}>"


class _Lines:
    """What a folder that goes away held."""

    def __init__(self, folder: Path) -> None:
        names = (results.TRACES, results.OUTPUTS, results.TIMINGS, results.CHUNKS)
        self.of = {name: _bytes(folder, name) for name in names}


def _bytes(folder: Path | None, name: str) -> bytes:
    path = (folder or Path()) / name
    return path.read_bytes() if name == results.TIMINGS or path.is_file() else b""


def _binds(gold: Any, suite: str) -> bool:
    """Whether the gold set says what its evidence is and names no ids: then texts are needed to find it."""
    return UNNAMED in flags(items_of(open_source("gold", gold)), suite)


Told = Callable[[int, int, int], object]
"""What hears of progress: how many are done, how many there are, how many are errors."""


def run(
    target: Any,
    gold: Any,
    *,
    out: str | Path | None = None,
    resume: bool = False,
    retry_errors: bool = False,
    keep_going: bool = False,
    timeout: float = 60.0,
    concurrency: int = 4,
    retries: int = 2,
    seeds: int | Sequence[int] = 0,
    jitters: Sequence[str] = ("none",),
    paraphrases: int | str = "auto",
    knobs: Mapping[str, Any] | None = None,
    limit: int | None = None,
    headers: Mapping[str, str] | Sequence[str] = (),
    map: str | Path | None = None,
    pipeline: str | Path | None = None,
    doc_id: DocId = None,
    marker: str | re.Pattern[str] | None = None,
    prompt: str | Path | None = None,
    definition: str | Path | None = None,
    provenance: str | Path | None = None,
    progress: bool | Told = False,
) -> Ran:
    """Ask a pipeline every question of a gold set, as the command `ragworthy run` does.

    `target`: a callable, sync or async, that takes the question or the whole request; a chain of LangChain, an engine
    of LlamaIndex, a pipeline of Haystack; or the text of `--target`. `gold`: a path, an iterable of dicts or a data
    frame. `doc_id` and `marker` are those of `ragworthy.reply`. With `out` the folder is that of the command, journal
    included, and `resume=True` goes on after any end; without, nothing stays on the disk. It prints nothing unless
    `progress` is True (a line on stderr) or a function that is called with done, total and errors. `prompt`,
    `definition` and `provenance` are files for structured questions.

    >>> def answer(question):
    ...     return {"answer_json": {"claim": "not in context"}, "retrieved_ids": []}
    >>> ran = run(answer, [{"qid": "A1", "question": "Explain Z.", "answerable": False}])
    >>> ran.traces[0]["answer_json"], ran.errors, ran.score().metrics["answers.under_refusal"].value
    ({'claim': 'not in context'}, {}, 0.0)
    """
    with in_python(), in_words(), remembering(Read()) as read:
        asked = gold if isinstance(gold, (str, Path)) else open_source("gold", gold)
        note_paths(read, (gold, pipeline, map, prompt, definition, provenance))
        own, most = _knobs(knobs), None if limit is None else _whole("limit", limit)
        files = {"prompt": prompt, "definition": definition, "provenance": provenance}
        job = _structured(asked, files, str(target), seeds=_seeds(seeds), knobs=own, limit=most)
        if job is not None:
            plan, rules = job.plan, job.rules
        else:
            plan = running.plan(
                asked,
                seeds=_seeds(seeds),
                jitters=tuple(jitters) if not isinstance(jitters, str) else (jitters,),
                paraphrases=_wordings(paraphrases),
                knobs=own,
                limit=most,
            )
            rules = rules_of(doc_id, marker, running.gold_ids(asked))
        options = Options(_whole("retries", retries, least=0), _headers(headers), _pairs(own), rules, frozenset(own))
        if map is not None and not isinstance(target, str):
            raise usage_error("map: expected a target that is an http address, got another one")
        options = options._replace(map=None if map is None else str(map), asks=asking(own), making=plan.making)
        made = _target(target, options, Path(pipeline) if pipeline is not None else None)
        if isinstance(target, str):
            running.check_knobs(target, own)
        how = running.RunOptions(
            Path(),
            flag("resume", resume),
            _whole("concurrency", concurrency),
            _seconds(timeout),
            _told(progress),
            retry_errors=_again(retry_errors, resume=resume),
            keep_going=flag("keep_going", keep_going),
            retries=options.retries,
        )
        with _folder(out, resume=resume) as folder:
            _driven(plan, made, how._replace(out=folder), kept=out is not None)
            return Ran(folder, asked, kept=out is not None)


def _structured(gold: Any, files: Mapping[str, Any], target: str, **how: Any) -> Job | None:
    """A run over structured questions; None where the gold set is of another kind."""
    source = questions_in(gold)
    given = {name: Path(path) for name, path in files.items() if path is not None}
    if source is None:
        for name in given:
            raise usage_error(f"{name}: expected structured questions, got a gold set of answers")
        return None
    return job_of(source, request_of(gold, None, given), target, **how)


def _driven(plan: Any, target: Target, how: running.RunOptions, *, kept: bool) -> None:
    """Run it; beside a loop that runs already, as in a notebook, in a thread of its own."""
    with signals_kept():
        if loop_runs():
            ran = aside(target, lambda stoppable: running.run(plan, stoppable, how))
        else:
            ran = running.run(plan, target, how)
    if ran is not None and ran.finished:
        return
    told = "the same call with resume=True goes on" if kept else "nothing is kept without out="
    replies = "" if ran is None else f"{ran.counts.asked:,} of {plural(ran.total, 'reply', 'replies')}; "
    raise KeyboardInterrupt(f"stopped: {replies}{told}")


@contextmanager
def _folder(out: str | Path | None, *, resume: bool) -> Iterator[Path]:
    """The folder of a run: the one given, or one that is there for so long."""
    if out is not None:
        if not str(out).strip():
            raise usage_error(f'out: expected a folder, got "{out}"')
        yield Path(out)
        return
    if resume:
        raise usage_error("resume: expected out with it, the folder of an earlier run")
    with TemporaryDirectory(prefix="ragworthy-") as made:
        try:
            yield Path(made)
        except RagworthyError as error:
            lines = [line for line in error.advice.split("\n") if made not in line]  # what is safe there is gone
            raise type(error)(error.problems, error.total, "\n".join(lines)) from None


# what is asked


def _target(given: Any, options: Options, pipeline: Path | None) -> Target:
    """The pipeline under test, however it is given."""
    if isinstance(given, str):
        return running.open_target(given, options, pipeline)
    if options.headers:
        raise usage_error("headers: expected a target that is an http address, got another one")
    if pipeline is not None:
        raise usage_error("pipeline: expected the target builtin:INDEX, got another one")
    if all(hasattr(given, name) for name in ("name", "open", "ask", "close")):
        target: Target = given
        return target
    from ragworthy.runner.targets.callables import Called, call_of

    call = None if given is None else call_of(given, name_of(given), options)
    if call is not None:
        return Called(name_of(given), call, options=options)
    got = "nothing" if given is None else clip(repr(given), 80)
    message = f"expected a callable, a chain, an engine, a pipeline, or a text such as {FORMS}, got {got}"
    raise UsageError([Problem("RW-U07", message, "target")])


def name_of(call: Any) -> str:
    """What a callable is called in results: its module and its name.

    >>> name_of(len), name_of(lambda question: None)[-8:]
    ('builtins:len', '<lambda>')
    """
    named = call if hasattr(call, "__qualname__") else type(call)
    return f"{getattr(named, '__module__', None) or '?'}:{named.__qualname__}"


def _knobs(given: Mapping[str, Any] | None) -> dict[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise usage_error(f"knobs: expected names with values, got {type(given).__name__}")
    try:
        return dict(plain(dict(given)))
    except Refused as refused:
        raise UsageError([Problem("RW-U05", refused.reason, "knobs", refused.field)]) from None


def _pairs(knobs: Mapping[str, Any]) -> tuple[str, ...]:
    """Knobs as the command line writes them."""
    return tuple(f"{name}={msgspec.json.encode(value).decode()}" for name, value in knobs.items())


def _headers(given: Mapping[str, str] | Sequence[str]) -> tuple[str, ...]:
    if isinstance(given, Mapping):
        return tuple(f"{name}={variable}" for name, variable in given.items())
    if isinstance(given, str):
        raise usage_error('headers: expected names with environment variables: {"Authorization": "VARIABLE"}')
    return tuple(given)


# numbers


def _whole(name: str, value: Any, *, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise usage_error(f"{name}: expected a whole number from {least}, got {value!r}")
    return value


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 86_400:
        raise usage_error(f"timeout: expected seconds, above 0 and up to 86400, got {value!r}")
    return float(value)


def _seeds(given: Any) -> tuple[int, ...]:
    several = given if isinstance(given, (list, tuple, range)) else (given,)
    found = tuple(_whole("seeds", one, least=0) for one in several)
    if not found or len(set(found)) < len(found):
        raise usage_error(f"seeds: expected different whole numbers, got {given!r}")
    return found


def _wordings(given: Any) -> running.HowMany:
    if given == "auto":
        return "auto"
    return "all" if given == "all" else _whole("paraphrases", given)


def _again(given: Any, *, resume: bool) -> bool:
    if flag("retry_errors", given) and not resume:
        raise usage_error("retry_errors: expected resume=True with it, for it asks again what was asked before")
    return bool(given)


# what is told


def _told(given: bool | Told) -> Callable[[running.Progress], None] | None:
    """What hears of every reply."""
    if given is False or given is None:
        return None
    if given is True:
        return _line
    if not callable(given):
        raise usage_error(f"progress: expected True, False or a function, got {given!r}")
    hears = given
    return lambda now: None if now.stopping else _hear(hears, now)


def _hear(hears: Told, now: running.Progress) -> None:
    hears(now.done, now.total, now.errors)


def _line(now: running.Progress) -> None:
    """How far it is, on a line of stderr that is written over."""
    import sys

    if not now.stopping:
        end = "\n" if now.done == now.total else ""
        print(f"\rasked {now.done}/{now.total}  {plural(now.errors, 'error')}", end=end, file=sys.stderr, flush=True)
